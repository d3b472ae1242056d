//! SQL that people ask, over a small table whose answers one can count: with ε so large that the noise is nothing.

use super::movement::question;
use crate::dataset::blocking::Dataset;
use crate::understand::aggregation::Selection;
use crate::{Answer, Catalog, Cell, CellValue, Error, QueryRequest};
use std::path::Path;

const CATALOG: &str = r#"
name = "shop"
[unit]
whose = "customer"
neighbors = "add_remove"
[budget]
epsilon = 1e9
delta = 1e-6
ledger = "ledger"
[budget.query]
delta = 1e-9
[limits]
groups = 6
rows_per_group = 4
[tables.orders]
source = "orders.csv"
unit = "id"
[tables.orders.columns]
id = { kind = "int" }
day = { kind = "date", bounds = ["2023-11-15", "2024-02-10"], nullable = false }
at = { kind = "timestamp", bounds = ["2024-01-01", "2024-01-02"], nullable = false }
billed = { kind = "date", bounds = [2023-11-01, 2024-02-01], periods = "month", nullable = false }
free = { kind = "date" }
colour = { kind = "text", values = ["red", "green"], other = "other", nullable = false }
size = { kind = "text", values = ["S", "M", "L"] }
x = { kind = "float", bounds = [0, 10] }
y = { kind = "int", bounds = [-20, 20] }
note = { kind = "text" }
"#;

const ROWS: &str = "id,day,at,billed,free,colour,size,x,y,note
1,2023-11-20,2024-01-01T00:10:00,2023-11-01,2023-11-20,red,S,1,2,alpha 17
2,2023-12-31,2024-01-01T07:59:59,2023-12-01,2023-12-31,green,M,2,4,Beta
3,2024-01-01,2024-01-01T08:00:00,2024-01-01,2024-01-01,blue,M,3,7,gamma
4,2024-01-15,2024-01-02T23:59:59.999999,2024-01-01,2024-01-15,Red,M,4,8,
5,2024-02-10,2024-01-01T12:00:00,2024-02-01,2024-02-10,,L,5,9,éta-22
6,2025-07-01,2024-01-03T00:00:00,2025-07-01,2025-07-01,mauve,XL,,3,zeta
7,,,,,red,,6,,alpha 18
";

fn catalog(directory: &Path) -> Catalog {
    written(CATALOG, directory)
}

fn written(catalog: &str, directory: &Path) -> Catalog {
    std::fs::write(directory.join("orders.csv"), ROWS).unwrap();
    Catalog::parse(catalog, directory).unwrap()
}

fn ask(sql: &str) -> Result<Answer, Error> {
    ask_of(CATALOG, sql)
}

fn ask_of(catalog: &str, sql: &str) -> Result<Answer, Error> {
    let directory = tempfile::tempdir().unwrap();
    let dataset = Dataset::new(written(catalog, directory.path())).unwrap();
    let ask = QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("1e8").unwrap()),
        ..QueryRequest::new(sql, "tester")
    };
    Ok(dataset.query(&ask)?.answer)
}

fn cells(sql: &str) -> Vec<Vec<Cell>> {
    ask(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).rows
}

/// The rows of an answer, with numbers rounded to a thousandth.
#[track_caller]
fn answers(sql: &str, expected: &[&[&str]]) {
    answers_of(CATALOG, sql, expected);
}

#[track_caller]
fn answers_of(catalog: &str, sql: &str, expected: &[&[&str]]) {
    let show = |value: &CellValue| match value {
        CellValue::Null => "∅".to_owned(),
        CellValue::Int(_) | CellValue::Float(_) => {
            let rounded = (value.as_f64().unwrap() * 1000.0).round() / 1000.0;
            (rounded + 0.0).to_string()
        }
        other => other.to_string(),
    };
    let rows = ask_of(catalog, sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
        .rows;
    let shown: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| show(&cell.value)).collect())
        .collect();
    assert_eq!(shown, expected, "{sql}");
}

#[track_caller]
fn refused(sql: &str, because: &str) {
    let message = match ask(sql) {
        Ok(_) => panic!("{sql} was answered"),
        Err(error) => error.to_string(),
    };
    assert!(message.contains(because), "{sql}: {message}");
    assert!(message.contains("\nhint: "), "{sql}: {message}");
}

/// How many groups are public; `None` where they are selected by δ.
fn listed(sql: &str) -> Option<usize> {
    let directory = tempfile::tempdir().unwrap();
    let question = question(sql, &catalog(directory.path())).unwrap_or_else(|error| panic!("{sql}: {error}"));
    match &question.split.aggregations[0].groups.selection {
        Selection::Listed(groups) => Some(groups.len()),
        Selection::Threshold => None,
    }
}

/// Months, and whatever else is a function of a bounded day, are public: all of them appear, empty ones too, and no δ is spent on their names.
#[test]
fn periods_between_bounds_are_public_groups() {
    answers(
        "SELECT date_trunc('month', day) AS m, COUNT(*) FROM orders GROUP BY m ORDER BY m",
        &[
            &["2023-11-01T00:00:00", "1"],
            &["2023-12-01T00:00:00", "1"],
            &["2024-01-01T00:00:00", "2"],
            &["2024-02-01T00:00:00", "1"],
        ],
    );
    answers(
        "SELECT to_char(day, 'YYYY-MM') AS m, COUNT(*) FROM orders WHERE x < 3 GROUP BY m ORDER BY m",
        &[
            &["2023-11", "1"],
            &["2023-12", "1"],
            &["2024-01", "0"],
            &["2024-02", "0"],
        ],
    );
    for (key, groups) in [
        ("day", Some(88)),
        ("date_trunc('week', day)", Some(13)),
        ("date_trunc('quarter', day)", Some(2)),
        ("EXTRACT(YEAR FROM day)", Some(2)),
        ("to_char(day, 'Mon')", Some(4)),
        ("to_char(day, 'IYYY-IW')", Some(13)),
        ("date_bin(INTERVAL '7 days', day, DATE '2024-01-01')", Some(13)),
        ("CAST(day AS VARCHAR)", Some(88)),
        ("EXTRACT(MONTH FROM day)", Some(4)),
        ("EXTRACT(MONTH FROM day) + 1", Some(4)),
        // Without bounds names come from the data, and cost δ.
        ("date_trunc('month', free)", None),
        ("to_char(free, 'YYYY-MM')", None),
        // Of moments, too many are not listed; steps between bounds are.
        ("at", None),
        ("CAST(at AS DATE)", Some(2)),
        ("date_trunc('day', at)", Some(2)),
        ("date_trunc('hour', at)", Some(48)),
        ("date_trunc('month', at)", Some(1)),
        (
            "date_bin(INTERVAL '8 hours', at, TIMESTAMP '2024-01-01 00:00:00')",
            Some(6),
        ),
        (
            "date_bin(INTERVAL '8 hours', at, TIMESTAMP '2024-01-01 04:00:00')",
            Some(7),
        ),
        ("to_char(at, 'HH24')", Some(24)),
        ("EXTRACT(HOUR FROM at)", Some(24)),
        ("EXTRACT(YEAR FROM at)", Some(1)),
        ("date_trunc('hour', at + INTERVAL '30 minutes')", None),
        ("date_trunc('month', CAST(at AS DATE))", Some(1)),
        // A declared list of periods is a list of values.
        ("billed", Some(4)),
    ] {
        let sql = format!("SELECT {key} AS k, COUNT(*) FROM orders GROUP BY k");
        assert_eq!(listed(&sql), groups, "{key}");
    }
}

#[test]
fn moments_fall_into_their_strides() {
    answers(
        "SELECT date_bin(INTERVAL '8 hours', at, TIMESTAMP '2024-01-01') AS k, COUNT(*) FROM orders GROUP BY k ORDER BY k",
        &[
            &["2024-01-01T00:00:00", "2"],
            &["2024-01-01T08:00:00", "2"],
            &["2024-01-01T16:00:00", "0"],
            &["2024-01-02T00:00:00", "0"],
            &["2024-01-02T08:00:00", "0"],
            &["2024-01-02T16:00:00", "1"],
        ],
    );
    answers(
        "SELECT billed, COUNT(*) FROM orders WHERE billed IS NOT NULL GROUP BY billed HAVING billed IS NOT NULL ORDER BY billed",
        &[
            &["2023-11-01", "1"],
            &["2023-12-01", "1"],
            &["2024-01-01", "2"],
            &["2024-02-01", "1"],
        ],
    );
    // Over released results the same functions run.
    answers(
        "SELECT to_char(m, 'FMMonth') AS name FROM (SELECT date_trunc('month', day) AS m, COUNT(*) AS n FROM orders GROUP BY m) AS q ORDER BY m LIMIT 2",
        &[&["November"], &["December"]],
    );
}

/// Differences and years of bounded days are bounded, so they can be summed.
#[test]
fn days_between_have_a_range() {
    answers(
        "SELECT SUM(day - DATE '2023-11-20'), AVG(EXTRACT(YEAR FROM day)) FROM orders WHERE day < DATE '2024-01-02'",
        &[&["83", "2023.333"]],
    );
    refused(
        "SELECT SUM(free - DATE '2023-11-20') FROM orders",
        "without bounds",
    );
}

#[test]
fn patterns_and_strides_are_constants() {
    for (sql, because) in [
        (
            "SELECT COUNT(*) FROM orders WHERE to_char(day, note) = 'a'",
            "must be a constant",
        ),
        (
            "SELECT COUNT(*) FROM orders WHERE to_char(day, '%Y') = 'a'",
            "mean nothing",
        ),
        (
            "SELECT COUNT(*) FROM orders WHERE to_char(x, 'YYYY') = 'a'",
            "needs a date",
        ),
        (
            "SELECT COUNT(*) FROM orders WHERE date_bin(INTERVAL '1 month', at) IS NULL",
            "not all of one length",
        ),
        (
            "SELECT COUNT(*) FROM orders WHERE date_bin(INTERVAL '1 day', at, at) IS NULL",
            "a constant origin",
        ),
        (
            "SELECT COUNT(*) FROM orders WHERE date_bin(INTERVAL '0 days', at) IS NULL",
            "not between",
        ),
    ] {
        refused(sql, because);
    }
}

/// A value that is not declared counts in the group that the catalog names for it; NULL does not.
#[test]
fn undeclared_values_are_the_other_group() {
    answers(
        "SELECT colour, COUNT(*) FROM orders GROUP BY colour",
        &[&["red", "2"], &["green", "1"], &["other", "4"]],
    );
    answers("SELECT COUNT(*) FROM orders WHERE colour = 'other'", &[&["4"]]);
    answers(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (unknown_values = true) COUNT(*) FROM orders WHERE colour IN ('blue', 'Red')",
        &[&["0"]],
    );
}

/// Without such a value, a row whose value is not declared is in no group, and everything else sees the value as it is.
#[test]
fn undeclared_values_are_in_no_group_and_no_null() {
    answers(
        "SELECT size, COUNT(*) FROM orders GROUP BY size",
        &[&["S", "1"], &["M", "3"], &["L", "1"], &["∅", "0"]],
    );
    answers(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (unknown_values = true) COUNT(*) FROM orders WHERE size = 'XL'",
        &[&["1"]],
    );
    answers(
        "SELECT COUNT(*) FROM orders WHERE size NOT IN ('S', 'M', 'L')",
        &[&["2"]],
    );
    answers("SELECT COUNT(*) FROM orders WHERE size IS NULL", &[&["0"]]);
    answers(
        "SELECT COUNT(size), COUNT(DISTINCT size) FROM orders",
        &[&["7", "5"]],
    );
    // Which groups and bounds there are follows from the declared values alone.
    answers(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (unknown_values = true) CASE WHEN size = 'XL' THEN 'large' ELSE 'small' END AS c, COUNT(*) FROM orders GROUP BY c",
        &[&["small", "6"]],
    );
    // NULL is in no group where the catalog says that there is none.
    answers(
        "SELECT billed, COUNT(*) FROM orders GROUP BY billed",
        &[
            &["2023-11-01", "1"],
            &["2023-12-01", "1"],
            &["2024-01-01", "2"],
            &["2024-02-01", "1"],
        ],
    );
    answers(
        "SELECT COUNT(*) FROM orders WHERE billed > DATE '2024-03-01'",
        &[&["1"]],
    );
}

/// Numbers and days beyond their bounds: sums count the bound, conditions see the number, and no listed group has it.
#[test]
fn what_is_beyond_bounds_counts_as_the_bound_in_sums_alone() {
    let catalog = CATALOG.replace("bounds = [-20, 20]", "bounds = [3, 7]");
    // y is 2, 4, 7, 8, 9, 3 and NULL: 31 within the bounds. What they cut of the sum is estimated, and added.
    for (sql, expected) in [
        (
            "SELECT SUM(y), MAX(y), COUNT(y) FROM orders",
            &[&["33", "7", "6"][..]][..],
        ),
        ("SELECT COUNT(*) FROM orders WHERE y > 7", &[&["2"]]),
        ("SELECT COUNT(*) FROM orders WHERE y = 7", &[&["1"]]),
        (
            "SELECT y, COUNT(*) FROM orders GROUP BY y",
            &[
                &["3", "1"],
                &["4", "1"],
                &["5", "0"],
                &["6", "0"],
                &["7", "1"],
                &["∅", "1"],
            ],
        ),
        // Of days: none is in a month beyond the bounds, and a condition sees it.
        (
            "SELECT COUNT(*) FROM orders WHERE day > DATE '2025-01-01'",
            &[&["1"]],
        ),
        (
            "SELECT date_trunc('quarter', day) AS q, COUNT(*) FROM orders GROUP BY q",
            &[&["2023-10-01T00:00:00", "2"], &["2024-01-01T00:00:00", "3"]],
        ),
    ] {
        answers_of(&catalog, sql, expected);
    }
}

/// NULL is no value, so it is no other value either: in a Parquet file it stays what it is.
#[test]
fn null_is_no_other_value() {
    use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
    let directory = tempfile::tempdir().unwrap();
    let colours: ArrayRef = std::sync::Arc::new(StringArray::from(vec![
        Some("red"),
        None,
        Some("blue"),
        None,
        Some("other"),
    ]));
    let batch = RecordBatch::try_from_iter([("colour", colours)]).unwrap();
    let file = std::fs::File::create(directory.path().join("t.parquet")).unwrap();
    let mut writer = datafusion::parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let text = "name = \"t\"\n[unit]\nwhose = \"row\"\n[budget]\nepsilon = 1e9\nledger = \"ledger\"\n[tables.t]\nsource = \"t.parquet\"\neach_row = true\n[tables.t.columns]\ncolour = { kind = \"text\", values = [\"red\"], other = \"other\" }\n";
    let dataset = Dataset::new(Catalog::parse(text, directory.path()).unwrap()).unwrap();
    let ask = QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("1e6").unwrap()),
        ..QueryRequest::new("SELECT colour, COUNT(*) FROM t GROUP BY colour", "tester")
    };
    let answer = dataset.query(&ask).unwrap().answer;
    let rows: Vec<(CellValue, CellValue)> = answer
        .rows
        .iter()
        .map(|row| (row[0].value.clone(), row[1].value.clone()))
        .collect();
    assert_eq!(
        rows,
        [
            ("red".into(), 1.into()),
            ("other".into(), 2.into()),
            (CellValue::Null, 2.into())
        ]
    );
}

#[test]
fn catalogs_say_what_is_wrong_with_periods_and_others() {
    let parse = |from: &str, to: &str| {
        assert!(CATALOG.contains(from), "{from}");
        Catalog::parse(&CATALOG.replace(from, to), Path::new("."))
            .err()
            .map(|error| error.to_string())
    };
    for (from, to, because) in [
        ("[\"2023-11-15\", \"2024-02-10\"]", "[1, 2]", "expected a day"),
        (
            "[\"2023-11-15\", \"2024-02-10\"]",
            "[\"2023-11-15\"]",
            "expected two days",
        ),
        (
            "[\"2023-11-15\", \"2024-02-10\"]",
            "[\"2025-11-15\", \"2024-02-10\"]",
            "after the second",
        ),
        (
            "[\"2023-11-15\", \"2024-02-10\"]",
            "[\"2023-11-15T01:00:00\", \"2024-02-10\"]",
            "expected a day",
        ),
        ("periods = \"month\"", "periods = \"moon\"", "no such period"),
        (
            "bounds = [2023-11-01, 2024-02-01], periods",
            "periods",
            "need `bounds`",
        ),
        (
            "kind = \"int\", bounds = [-20, 20]",
            "kind = \"int\", bounds = [-20, 20], periods = \"day\"",
            "for dates and timestamps",
        ),
        (
            "[2023-11-01, 2024-02-01], periods = \"month\"",
            "[0001-01-01, 9999-12-31], periods = \"week\"",
            "more than 10000",
        ),
        (
            "note = { kind = \"text\" }",
            "note = { kind = \"text\", other = \"x\" }",
            "declared `values`",
        ),
        ("other = \"other\"", "other = 7", "expected text"),
    ] {
        let said = parse(from, to).unwrap_or_else(|| panic!("{to} was accepted"));
        assert!(said.contains(because) && said.contains("hint: "), "{to}: {said}");
    }
    assert_eq!(
        parse("other = \"other\"", "other = \"green\""),
        None,
        "one of the values may be it"
    );
}

/// Rows 1 to 5 are pairs: x̄ = 3, ȳ = 6, Σ(x−x̄)² = 10, Σ(y−ȳ)² = 34, Σ(x−x̄)(y−ȳ) = 18. In the others one side is NULL.
#[test]
fn aggregates_of_pairs_are_those_of_sql() {
    answers(
        "SELECT REGR_COUNT(y, x), REGR_AVGX(y, x), REGR_AVGY(y, x), REGR_SXX(y, x), REGR_SYY(y, x), REGR_SXY(y, x) FROM orders",
        &[&["5", "3", "6", "10", "34", "18"]],
    );
    answers(
        "SELECT CORR(y, x), COVAR_POP(y, x), COVAR_SAMP(y, x), REGR_SLOPE(y, x), REGR_INTERCEPT(y, x), REGR_R2(y, x) FROM orders",
        &[&["0.976", "3.6", "4.5", "1.8", "0.6", "0.953"]],
    );
    // A filter is a side that is NULL; numbers outside of their bounds count as the bounds.
    answers(
        "SELECT REGR_COUNT(y, x) FILTER (WHERE x < 3), CORR(y, x) FILTER (WHERE x < 3), REGR_AVGX(y, LEAST(x, 2)) FROM orders",
        // LEAST passes over NULL, so the sixth row is a pair here.
        &[&["2", "1", "1.833"]],
    );
    answers(
        "SELECT size, REGR_SLOPE(y, x) FROM orders WHERE size = 'M' GROUP BY size HAVING size = 'M'",
        &[&["M", "2"]],
    );
    for cell in &cells("SELECT CORR(y, x), REGR_SLOPE(y, x), REGR_SXX(y, x), REGR_COUNT(y, x) FROM orders")[0]
    {
        let value = cell.value.as_f64().unwrap();
        let [low, high] = [cell.low.unwrap(), cell.high.unwrap()];
        assert!(
            low <= value && value <= high && high - low < 0.1,
            "{value} in {low}..{high}"
        );
    }
    refused(
        "SELECT CORR(note, x) FROM orders",
        "CORR needs a number, and `note` is text",
    );
    refused("SELECT CORR(LENGTH(note), x) FROM orders", "without bounds");
    refused("SELECT CORR(DISTINCT y, x) FROM orders", "DISTINCT");
}

/// A line with noise around it, 200 points in each of 100 groups: intervals hold the truth as often as they say.
///
/// With a probability of 95 % each, more than 36 of 200 miss with a probability below 1e-9 (Chernoff: exp(−200·KL(0.18‖0.05)) < 3e-10).
#[test]
fn intervals_of_pairs_hold_the_truth() {
    const TRIALS: usize = 200;
    const MISSES: usize = 36;
    let directory = tempfile::tempdir().unwrap();
    let mut seeded = super::hunter::Seeded::new(11);
    let mut text = String::from("k,x,y\n");
    let mut truths = Vec::new();
    for group in 0..100 {
        let mut pairs = Vec::new();
        for _ in 0..200 {
            let x = seeded.below(1000) as f64 / 100.0;
            let y = 0.7 * x + seeded.below(600) as f64 / 100.0 - 3.0 + f64::from(group % 3);
            // What counts is clamped.
            pairs.push((x, y.clamp(-5.0, 10.0)));
            text.push_str(&format!("{group},{x},{y}\n"));
        }
        truths.push(truth(&pairs));
    }
    std::fs::write(directory.path().join("p.csv"), text).unwrap();
    let catalog = "name = \"p\"\n[unit]\nwhose = \"row\"\n[budget]\nepsilon = 1e9\nledger = \"ledger\"\n[tables.p]\nsource = \"p.csv\"\neach_row = true\n[tables.p.columns]\nk = { kind = \"int\", bounds = [0, 99], nullable = false }\nx = { kind = \"float\", bounds = [0, 10] }\ny = { kind = \"float\", bounds = [-5, 10] }\n";
    let dataset = Dataset::new(Catalog::parse(catalog, directory.path()).unwrap()).unwrap();
    let mut missed = [0; 6];
    let mut missed_if_narrower = [0; 6];
    let mut reported = [0; 6];
    for round in 0..TRIALS / 100 {
        let sql = format!(
            "SELECT k, CORR(y, x), COVAR_SAMP(y, x), REGR_SLOPE(y, x), REGR_INTERCEPT(y, x), REGR_SXX(y, x), REGR_AVGY(y, x), COUNT(*) + {round} FROM p GROUP BY k"
        );
        let ask = QueryRequest {
            epsilon: Some(accounting::Epsilon::parse("30").unwrap()),
            ..QueryRequest::new(&sql, "tester")
        };
        for row in dataset.query(&ask).unwrap().answer.rows {
            let truth = truths[row[0].value.as_i64().unwrap() as usize];
            for (place, truth) in truth.into_iter().enumerate() {
                let cell = &row[place + 1];
                let (Some(low), Some(high), Some(value)) = (cell.low, cell.high, cell.value.as_f64()) else {
                    continue;
                };
                reported[place] += 1;
                missed[place] += usize::from(truth < low || truth > high);
                let half = (high - low) / 40.0;
                missed_if_narrower[place] += usize::from((truth - value).abs() > half);
            }
        }
    }
    for place in 0..6 {
        assert!(missed[place] <= MISSES, "{missed:?} of {reported:?}");
        assert!(reported[place] > TRIALS / 2, "intervals are there: {reported:?}");
        assert!(
            missed_if_narrower[place] > MISSES,
            "narrower ones would be caught: {missed_if_narrower:?}"
        );
    }
}

/// CORR, COVAR_SAMP, slope, intercept, Sxx and the average of y.
fn truth(pairs: &[(f64, f64)]) -> [f64; 6] {
    let n = pairs.len() as f64;
    let (x, y) = pairs
        .iter()
        .fold((0.0, 0.0), |(x, y), pair| (x + pair.0 / n, y + pair.1 / n));
    let sum = |of: fn(f64, f64) -> f64| pairs.iter().map(|pair| of(pair.0 - x, pair.1 - y)).sum::<f64>();
    let (xx, yy, xy) = (sum(|x, _| x * x), sum(|_, y| y * y), sum(|x, y| x * y));
    let slope = xy / xx;
    [xy / (xx * yy).sqrt(), xy / (n - 1.0), slope, y - slope * x, xx, y]
}

#[test]
fn regular_expressions_over_private_text() {
    for (condition, rows) in [
        ("note ~ '^[a-z]+ [0-9]{2}$'", "2"),
        ("note ~* '^BETA$'", "1"),
        ("note !~ 'a'", "1"),
        ("note !~* 'B' AND note <> ''", "5"),
        ("note SIMILAR TO '%(eta|mma)'", "3"),
        ("note NOT SIMILAR TO '%a%' ", "1"),
        ("regexp_like(note, 'ALPHA', 'i')", "2"),
        ("regexp_substr(note, '[0-9]+') = '17'", "1"),
        ("regexp_substr(note, '[0-9]+') IS NULL", "4"),
        ("regexp_replace(note, '[^a-z]', '', 'g') = 'alpha'", "2"),
        ("regexp_replace(note, '^(.)(.)', '\\2\\1') = 'eBta'", "1"),
        ("regexp_count(note, 'a') = 2", "3"),
    ] {
        answers(
            &format!("SELECT COUNT(*) FROM orders WHERE {condition}"),
            &[&[rows]],
        );
    }
    // Public values stay public, and a number of matches has a range.
    assert_eq!(
        listed("SELECT regexp_replace(colour, 'e', 'E') AS k, COUNT(*) FROM orders GROUP BY k"),
        Some(3)
    );
    answers("SELECT SUM(regexp_count(colour, 'r')) FROM orders", &[&["7"]]);
    for (condition, because) in [
        ("note ~ size", "must be a constant"),
        ("note ~ '(a)\\1'", "backreferences"),
        ("note ~ '(?=a)'", "look-around"),
        ("note ~ '('", "cannot be read"),
        ("x ~ '1'", "needs text"),
        ("regexp_like(note, 'a', 'x')", "flag x"),
        ("regexp_replace(note, 'a', size) = ''", "must be a constant"),
        ("note SIMILAR TO size", "must be a constant"),
        ("regexp_instr(note, 'a') = 1", "regexp"),
    ] {
        refused(&format!("SELECT COUNT(*) FROM orders WHERE {condition}"), because);
    }
}

#[test]
fn the_mode_is_one_of_the_public_values() {
    answers(
        "SELECT MODE() WITHIN GROUP (ORDER BY size) FROM orders",
        &[&["M"]],
    );
    answers(
        "SELECT MODE(colour) AS m, COUNT(*) FROM orders",
        &[&["other", "7"]],
    );
    answers(
        "SELECT MODE(colour) FILTER (WHERE colour <> 'other') FROM orders",
        &[&["red"]],
    );
    answers(
        "SELECT MODE(y), MODE(floor(x / 4)), MODE(to_char(day, 'YYYY')) FROM orders WHERE x > 3",
        &[&["8", "1", "2024"]],
    );
    answers(
        "SELECT colour, MODE(size) FROM orders WHERE id <> 6 GROUP BY colour HAVING COUNT(*) > 0 ORDER BY colour",
        &[&["green", "M"], &["other", "M"], &["red", "S"]],
    );
    refused("SELECT MODE(note) FROM orders", "declare");
    refused("SELECT MODE(note, size) FROM orders", "MODE takes one value");
    refused("SELECT MODE(DISTINCT size) FROM orders", "MODE takes one value");
}

#[test]
fn approximate_numbers_of_distinct_values_are_numbers_of_distinct_values() {
    answers(
        "SELECT APPROX_COUNT_DISTINCT(colour), COUNT(DISTINCT colour), APPROX_DISTINCT(size) FROM orders",
        &[&["3", "3", "5"]],
    );
}

/// What estimates the cut looks at more of a unit than the question does, and on a coarser grid where that would be too much for a sum of integers.
#[test]
fn no_statistic_takes_more_of_a_unit_than_its_grid_has_room_for() {
    let directory = tempfile::tempdir().unwrap();
    let catalog = catalog(directory.path());
    for bounds in ["(-3, 7)", "(0, 1e6)", "(-1e9, 5e8)", "(0, 4e18)"] {
        let sql = format!(
            "SELECT SUM(y, contribution_bounds_per_row => {bounds}), AVG(y, contribution_bounds_per_row => {bounds}), SUM(x, contribution_bounds_per_row => {bounds}) FROM orders"
        );
        let question = question(&sql, &catalog).unwrap();
        let statistics: Vec<_> = (question.split.aggregations.iter())
            .flat_map(|aggregation| &aggregation.statistics)
            .collect();
        assert!(statistics.len() > 7, "the cut is estimated");
        for statistic in statistics {
            let most = statistic.high.max(-statistic.low);
            assert!(
                most <= (1 << 30) + 4096,
                "{bounds}: {} takes {most} steps",
                statistic.name
            );
        }
    }
}

/// A cast of a list is one of its members: `{1.6, 7.4}::int[]` are 2 and 7.
#[test]
fn lists_are_cast_member_by_member() {
    answers(
        "SELECT COUNT(*) FROM orders WHERE y = ANY (ARRAY[1.6, 7.4]::int[])",
        &[&["2"]],
    );
    answers(
        "SELECT COUNT(*) FROM orders WHERE y = ANY (ARRAY[1.6, 7.4])",
        &[&["0"]],
    );
    assert!(ask("SELECT COUNT(*) FROM orders WHERE y = ANY (ARRAY[1, 7]::text)").is_err());
}
