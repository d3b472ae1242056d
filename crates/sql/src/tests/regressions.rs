//! Ways in which private SQL has been broken elsewhere, each by its name.

use super::movement::{Database, check, question};
use super::neighbours::{Row, Unit, catalog, write};
use crate::QueryRequest;
use crate::dataset::blocking::Dataset;
use bound::Form;

fn row(group: &'static str, x: &'static str, y: &'static str) -> Row {
    Row {
        group,
        other: 1,
        x,
        y,
        day: "2024-03-05",
    }
}

fn unit(rows: Vec<Row>) -> Unit {
    Unit { rows, own: None }
}

/// Twelve ordinary people.
fn ordinary() -> Vec<Unit> {
    (0..12)
        .map(|place| Unit {
            rows: vec![row(["a", "b"][place % 2], "1", "2"), row("c", "2.5", "7")],
            own: Some((["a", "b", "c"][place % 3], "0.5")),
        })
        .collect()
}

/// Holds the query's exact numbers with and without one more unit against its sensitivity.
#[track_caller]
fn withstands(sql: &str, more: Unit) {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let units = ordinary();
    let numbered: Vec<(usize, &Unit)> = units.iter().enumerate().collect();
    write(here.path(), &numbered, 7, 2);
    let mut larger = numbered.clone();
    larger.push((units.len(), &more));
    write(there.path(), &larger, 11, 3);
    let catalogs = [
        &catalog(here.path(), "add_remove"),
        &catalog(there.path(), "add_remove"),
    ];
    let databases = [
        &Database {
            directory: here.path(),
            threads: 1,
            batch: 4,
        },
        &Database {
            directory: there.path(),
            threads: 3,
            batch: 5,
        },
    ];
    assert_eq!(check(sql, catalogs, databases), Ok(()));
}

/// The more texts a query has of a row, the fewer rows are handled at once: otherwise a query could let one person's rows take any amount of memory.
#[test]
fn many_texts_of_a_row_mean_few_rows_at_once() {
    let here = tempfile::tempdir().unwrap();
    let units = ordinary();
    let numbered: Vec<(usize, &Unit)> = units.iter().enumerate().collect();
    write(here.path(), &numbered, 7, 2);
    let catalog = catalog(here.path(), "add_remove");
    let rows = |texts: usize| -> Result<Vec<usize>, crate::Error> {
        let of = |what: &dyn Fn(usize) -> String, between: &str| {
            (0..texts).map(what).collect::<Vec<_>>().join(between)
        };
        let sql = format!(
            "SELECT COUNT(*) FROM (SELECT u, {} FROM t GROUP BY u) AS q WHERE coalesce({}) > ''",
            of(&|place| format!("MAX(g || '{place}') AS m{place}"), ", "),
            of(&|place| format!("m{place}"), ", ")
        );
        let question = question(&sql, &catalog)?;
        let engines = crate::run::engines::Engines::new(datafusion::prelude::SessionConfig::new());
        super::movement::runtime().block_on(async {
            let publics = crate::run::publics::Publics::default();
            let aggregations = &question.split.aggregations[..1];
            let secret = bound::Secret::new("ab").unwrap();
            let asked = crate::run::engine::bounded_plans(aggregations, &[], &secret)?;
            let claims = question.claims(&catalog)?;
            let prepared = crate::run::exact::prepare(asked, &claims, &publics, &engines, &catalog);
            Ok(prepared.await?.batch_sizes())
        })
    };
    assert_eq!(rows(1).unwrap(), [8192]);
    for texts in [10, 100] {
        let rows = rows(texts).unwrap()[0];
        assert!(
            rows >= 1 && rows * texts * bound::MOST_TEXT <= bound::MOST_TEXT_BYTES,
            "{rows}"
        );
    }
    let refused = rows(1100).unwrap_err().to_string();
    assert!(refused.contains("1024"), "{refused}");
}

/// Answers over the ordinary people and `more`, with ε = 10⁵.
fn answers(sql: &str, more: Vec<Unit>) -> Vec<Vec<crate::CellValue>> {
    let here = tempfile::tempdir().unwrap();
    let mut units = ordinary();
    units.extend(more);
    let numbered: Vec<(usize, &Unit)> = units.iter().enumerate().collect();
    write(here.path(), &numbered, 7, 2);
    let mut catalog = catalog(here.path(), "add_remove");
    catalog.budget.epsilon = accounting::Epsilon::parse("1e9").unwrap();
    let dataset = Dataset::new(catalog).unwrap();
    let ask = QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("1e5").unwrap()),
        ..QueryRequest::new(sql, "tester")
    };
    let answer = dataset
        .query(&ask)
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
        .answer;
    let values = |row: Vec<crate::Cell>| row.into_iter().map(|cell| cell.value).collect();
    answer.rows.into_iter().map(values).collect()
}

#[track_caller]
fn refused(sql: &str, because: &str) {
    let here = tempfile::tempdir().unwrap();
    let message = match question(sql, &catalog(here.path(), "add_remove")) {
        Ok(_) => panic!("{sql} was accepted"),
        Err(error) => error.to_string(),
    };
    assert!(message.contains(because), "{sql}: {message}");
    assert!(message.contains("\nhint: "), "{sql}: {message}");
}

#[test]
fn contributions_are_bounded_after_every_filter() {
    // Of this unit's rows two pass; cutting to three rows first could leave none of them, or let the bound go stale.
    let mut rows: Vec<Row> = (0..20).map(|_| row("a", "-9", "1")).collect();
    rows.extend([row("a", "9", "1"), row("a", "8", "1")]);
    let sql = "SELECT COUNT(*) FROM (SELECT * FROM t) AS everything WHERE x > 5";
    withstands(sql, unit(rows.clone()));
    assert_eq!(answers(sql, vec![unit(rows)])[0][0], crate::CellValue::Int(2));
}

#[test]
fn a_cast_that_fails_on_one_value() {
    let sql =
        "SELECT SUM(CAST(g AS INT), contribution_bounds_per_group => (0, 9)), COUNT(CAST(g AS INT)) FROM t";
    withstands(sql, unit(vec![row("7", "1", "1"), row("not a number", "1", "1")]));
    let rows = answers(sql, vec![unit(vec![row("7", "1", "1"), row("zz top", "1", "1")])]);
    assert_eq!((&rows[0][0], &rows[0][1]), (&7.into(), &1.into()));
}

#[test]
fn bins_are_called_the_same_whatever_the_data() {
    let sql = "SELECT width_bucket(y, 0, 100, 10) AS bin, COUNT(*) FROM t GROUP BY width_bucket(y, 0, 100, 10) ORDER BY bin";
    withstands(sql, unit(vec![row("a", "1", "95"), row("a", "1", "-5")]));
    // Another person's values add no bin and rename none.
    let before = answers(sql, vec![]);
    let after = answers(sql, vec![unit(vec![row("a", "1", "95")])]);
    let names = |rows: &[Vec<crate::CellValue>]| rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>();
    assert_eq!(names(&before), names(&after));
    assert_eq!(
        before[1][1],
        crate::CellValue::Int(24),
        "all in the bin from 0 to 10"
    );
    assert_eq!(after[10][1], crate::CellValue::Int(1));
}

#[test]
fn sums_of_floats_in_any_order() {
    let sql = "SELECT SUM(x), AVG(x), VAR_POP(x) FROM t";
    let hostile = [
        "1e300", "1", "-1e300", "1e-320", "2.5", "-3.25", "NaN", "inf", "-inf", "0",
    ];
    withstands(sql, unit(hostile.iter().map(|x| row("a", x, "1")).collect()));
}

#[test]
fn a_group_that_one_unit_has_alone_stays_hidden() {
    let secret = unit(vec![row("é", "1", "1")]);
    withstands("SELECT g, COUNT(*) FROM t GROUP BY g", secret.clone());
    let here = tempfile::tempdir().unwrap();
    let mut units: Vec<Unit> = (0..200).flat_map(|_| ordinary().into_iter().take(1)).collect();
    units.push(secret);
    let numbered: Vec<(usize, &Unit)> = units.iter().enumerate().collect();
    write(here.path(), &numbered, 7, 2);
    let dataset = Dataset::new(catalog(here.path(), "add_remove")).unwrap();
    let ask = QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("2").unwrap()),
        ..QueryRequest::new("SELECT g, COUNT(*) FROM t GROUP BY g", "tester")
    };
    let answer = dataset.query(&ask).unwrap().answer;
    let shown: Vec<&str> = answer
        .rows
        .iter()
        .filter_map(|row| row[0].value.as_str())
        .collect();
    // It is shown with probability δ = 1e-9 at most; the others are shown but for less.
    assert_eq!(shown, ["a", "c"]);
}

#[test]
fn distinct_values_tied_to_the_unit() {
    withstands(
        "SELECT COUNT(DISTINCT u) FROM t",
        unit(vec![row("a", "1", "1"), row("b", "2", "1")]),
    );
    withstands(
        "SELECT COUNT(DISTINCT u + 1) FROM t",
        unit(vec![row("a", "1", "1"), row("b", "2", "1")]),
    );
    withstands(
        "SELECT g, COUNT(DISTINCT CAST(u AS TEXT) || g) FROM t GROUP BY g",
        unit(vec![row("a", "1", "1"), row("a", "2", "1"), row("b", "2", "1")]),
    );
    assert_eq!(
        answers("SELECT COUNT(DISTINCT u + 1) FROM t", vec![])[0][0],
        crate::CellValue::Int(12)
    );
}

#[test]
fn a_join_that_multiplies_rows() {
    let many = unit((0..9).map(|_| row("a", "40", "900")).collect());
    withstands(
        "SELECT COUNT(*), SUM(t.x) FROM t JOIN many ON t.g = many.g",
        many.clone(),
    );
    withstands("SELECT COUNT(*), SUM(t.x) FROM t CROSS JOIN many", many.clone());
    withstands(
        "SELECT COUNT(*), SUM(own.x) FROM own JOIN many ON own.g = many.g",
        many,
    );
}

#[test]
fn division_by_zero_in_a_filter() {
    let sql = "SELECT COUNT(*) FROM t WHERE 10 / (y - 5) > 0 AND y / 0 IS NULL AND 5 % (y - 5) < 9";
    withstands(sql, unit(vec![row("a", "1", "5"), row("a", "1", "6")]));
    assert_eq!(answers(sql, vec![])[0][0], crate::CellValue::Int(12));
}

#[test]
fn self_joins() {
    let sql = "SELECT a.g, COUNT(*) FROM t AS a JOIN t AS b ON a.u = b.u GROUP BY a.g";
    withstands(sql, unit((0..9).map(|_| row("a", "1", "1")).collect()));
    refused(
        "SELECT COUNT(*) FROM t AS a JOIN t AS b ON a.g = b.g",
        "same person",
    );
    refused(
        "SELECT COUNT(*) FROM t AS a JOIN t AS b ON a.u = b.u + 1",
        "same person",
    );
    refused("SELECT COUNT(*) FROM t AS a, t AS b", "same person");
    refused(
        "SELECT COUNT(*) FROM t AS a JOIN t AS b ON a.u = b.u OR a.g = b.g",
        "same person",
    );
}

#[test]
fn a_case_that_isolates_one_person() {
    let sql = "SELECT SUM(CASE WHEN u = 12 THEN 1000000 * x ELSE 0 END, contribution_bounds_per_group => (0, 5)), SUM(CASE WHEN u = 12 THEN 50 ELSE x END) FROM t";
    withstands(sql, unit((0..9).map(|_| row("a", "40", "1")).collect()));
    let grouped = "SELECT CASE WHEN u = 12 THEN 'him' ELSE 'others' END AS who, COUNT(*) FROM t GROUP BY 1";
    withstands(grouped, unit(vec![row("a", "40", "1")]));
    let filtered = "SELECT COUNT(*) FROM t WHERE u = 12";
    withstands(filtered, unit(vec![row("a", "40", "1"); 9]));
}

#[test]
fn order_and_limit_inside_a_subquery() {
    refused(
        "SELECT COUNT(*) FROM (SELECT * FROM t ORDER BY x LIMIT 5) AS few",
        "LIMIT",
    );
    refused("SELECT AVG(x) FROM (SELECT x FROM t LIMIT 1) AS one", "LIMIT");
    refused(
        "SELECT COUNT(*) FROM (SELECT x, ROW_NUMBER() OVER (ORDER BY x) AS n FROM t) AS numbered WHERE n < 3",
        "window",
    );
    withstands(
        "SELECT COUNT(*) FROM (SELECT * FROM t ORDER BY x) AS sorted",
        unit(vec![row("a", "1", "1")]),
    );
}

#[test]
fn an_integer_that_overflows() {
    let largest = "9223372036854775807";
    let sql = "SELECT SUM(y * y), SUM(y + 9223372036854775807), SUM(-y), SUM(abs(y)), COUNT(y % -1) FROM t";
    withstands(
        sql,
        unit(vec![
            row("a", "1", largest),
            row("a", "1", "-9223372036854775808"),
            row("a", "1", "2"),
        ]),
    );
}

#[test]
fn a_time_zone_cast() {
    refused(
        "SELECT COUNT(*) FROM t WHERE day AT TIME ZONE 'America/New_York' > TIMESTAMP '2024-01-01 00:00:00'",
        "hint",
    );
    withstands(
        "SELECT EXTRACT(hour FROM CAST(day AS TIMESTAMP)) AS h, COUNT(*) FROM t GROUP BY 1",
        Unit {
            rows: vec![
                Row {
                    day: "9999-12-31",
                    ..row("a", "1", "1")
                },
                Row {
                    day: "0001-01-01",
                    ..row("a", "1", "1")
                },
                Row {
                    day: "tomorrow",
                    ..row("a", "1", "1")
                },
            ],
            own: None,
        },
    );
}

#[test]
fn what_is_not_understood_is_refused() {
    for sql in [
        "SELECT * FROM t",
        "SELECT x FROM t WHERE u = 3",
        "SELECT u, COUNT(*) FROM t GROUP BY u LIMIT 3",
        "SELECT SUM(x) FROM (SELECT u AS w, 1e9 * y / x AS x FROM t) AS s",
        "SELECT array_agg(x) FROM t",
        "SELECT string_agg(g, ',') FROM t",
        "SELECT SUM(DISTINCT x) FROM t",
        "SELECT COUNT(*) FROM t WHERE x > (SELECT AVG(x) FROM t)",
        "SELECT COUNT(*) FROM t WHERE u IN (SELECT x FROM own)",
        "SELECT COUNT(*) FROM t WHERE random() < 0.5",
        "SELECT COUNT(*) FROM t WHERE now() > day",
        "SELECT first_value(x) FROM t",
        "SELECT COUNT(*) FROM t FULL JOIN own ON t.u = own.u",
        "COPY t TO 'file.csv'",
        "CREATE EXTERNAL TABLE leak STORED AS CSV LOCATION '/etc/passwd'",
        "SELECT 1; SELECT 2",
        "EXPLAIN ANALYZE SELECT COUNT(*) FROM t",
    ] {
        refused(sql, "hint");
    }
}

/// `ANY`, `ALL` and `SOME` hold whole queries, as `IN` does.
#[test]
fn rows_compared_with_any_and_all() {
    refused(
        "SELECT a FROM (VALUES (1), (2)) AS w(a) WHERE a = ANY (SELECT y FROM t WHERE u = 3)",
        "rows of t",
    );
    refused("SELECT w FROM many WHERE w >= ALL (SELECT y FROM t)", "rows of t");
    refused(
        "SELECT g, COUNT(*) FROM t GROUP BY g HAVING COUNT(*) > ANY (SELECT y FROM t)",
        "rows of t",
    );
    // Over results of aggregates they are post-processing.
    let sql = "SELECT w FROM many WHERE w > ALL (SELECT COUNT(*) FROM own WHERE x > 10) ORDER BY w";
    assert_eq!(answers(sql, vec![]).len(), 5);
}

/// A key is used where a private row determines it, not where a public column is compared with itself or with another public one.
#[test]
fn a_key_that_no_private_value_determines() {
    let one = Unit {
        rows: vec![row("a", "1", "1")],
        own: Some(("a", "0.5")),
    };
    for condition in [
        "keyed.g = keyed.g",
        "keyed.g = keyed.c",
        "keyed.g = keyed.g || own.g",
        "keyed.g >= own.g",
        "keyed.g = keyed.c AND own.g = own.g",
    ] {
        withstands(
            &format!("SELECT COUNT(*), SUM(own.x) FROM own JOIN keyed ON {condition}"),
            one.clone(),
        );
        withstands(
            &format!("SELECT own.g, COUNT(*) FROM own LEFT JOIN keyed ON {condition} GROUP BY own.g"),
            one.clone(),
        );
    }
}

#[test]
fn an_integer_key_compared_as_a_float_is_none() {
    let here = tempfile::tempdir().unwrap();
    let catalog = catalog(here.path(), "add_remove");
    let form =
        |sql: &str| crate::run::engine::form(&question(sql, &catalog).unwrap().split.aggregations[0].rows);
    assert_eq!(
        form("SELECT COUNT(*) FROM own JOIN keyed ON keyed.g = own.g"),
        Form::Plain
    );
    for condition in ["keyed.g = CAST(own.x AS TEXT) || keyed.g", "numbered.n = own.x"] {
        let table = condition.split('.').next().unwrap();
        let sql = format!("SELECT COUNT(*) FROM own JOIN {table} ON {condition}");
        assert_eq!(form(&sql), Form::Partitioned, "{sql}");
    }
}

/// Only the catalog's own promise spares the bounding step: what was derived is enforced.
#[test]
fn derived_facts_are_enforced() {
    let here = tempfile::tempdir().unwrap();
    let catalog = catalog(here.path(), "add_remove");
    for (sql, expected) in [
        ("SELECT COUNT(*) FROM own WHERE x > 0", Form::Plain),
        (
            "SELECT COUNT(*) FROM (SELECT u, MAX(x) AS m FROM t GROUP BY u) AS s",
            Form::Partitioned,
        ),
        (
            "SELECT COUNT(*) FROM own AS a JOIN own AS b ON a.u = b.u",
            Form::Partitioned,
        ),
        (
            "SELECT COUNT(*) FROM (SELECT u FROM own UNION ALL SELECT u FROM own) AS s",
            Form::Partitioned,
        ),
    ] {
        let question = question(sql, &catalog).unwrap();
        assert_eq!(
            crate::run::engine::form(&question.split.aggregations[0].rows),
            expected,
            "{sql}"
        );
    }
}

/// Of two equal floats the engine keeps the one that comes first, and whatever comes after a NaN.
#[test]
fn the_largest_of_a_units_floats_in_any_order() {
    let zeros = "SELECT COUNT(*) FROM (SELECT u, MAX(CASE WHEN x > 2 THEN 0.0 ELSE -0.0 END) AS m FROM t GROUP BY u) AS s WHERE CAST(m AS TEXT) LIKE '-%'";
    withstands(zeros, unit(vec![row("a", "5", "1"), row("b", "1", "1")]));
    assert_eq!(answers(zeros, vec![])[0][0], crate::CellValue::Int(0));
    let largest = "SELECT SUM(m, contribution_bounds_per_row => (-10, 50)) FROM (SELECT u, MAX(x) AS m, MIN(x) AS l FROM t GROUP BY u) AS s";
    withstands(
        largest,
        unit(vec![
            row("a", "NaN", "1"),
            row("b", "40", "1"),
            row("c", "NaN", "1"),
        ]),
    );
    let with = |rows: Vec<Row>| answers(largest, vec![unit(rows)])[0][0].as_f64().unwrap();
    let several = [row("a", "NaN", "1"), row("b", "40", "1"), row("c", "3", "1")];
    for order in [[0, 1, 2], [1, 0, 2], [2, 1, 0], [1, 2, 0]] {
        let found = with(order.iter().map(|place| several[*place].clone()).collect());
        assert!((found - (12.0 * 2.5 + 40.0)).abs() < 0.1, "{found}");
    }
    let distinct = "SELECT COUNT(*) FROM (SELECT DISTINCT u, x FROM t) AS s WHERE CAST(x AS TEXT) LIKE '-%'";
    withstands(distinct, unit(vec![row("a", "-0", "1"), row("a", "0", "1")]));
}

/// A left join whose condition looks at the row gives some of a unit's rows a partner and others none.
#[test]
fn left_joins_that_match_some_rows_of_a_unit() {
    let mixed = Unit {
        rows: vec![row("a", "1", "1"), row("b", "30", "1"), row("c", "2", "1")],
        own: Some(("a", "1")),
    };
    let sql = "SELECT c, COUNT(*) FROM (SELECT t.u AS u, own.g AS c FROM t LEFT JOIN own ON t.u = own.u AND t.x < 5) AS e GROUP BY c";
    withstands(sql, mixed.clone());
    let pairs = "WITH e AS (SELECT t.u AS u, own.g AS c FROM t LEFT JOIN own ON t.u = own.u AND t.x < 5), g AS (SELECT u, c, COUNT(*) AS k FROM e GROUP BY u, c) SELECT COUNT(*) FROM g";
    withstands(pairs, mixed);
}

/// What a query says of private rows inside a LATERAL subquery would reach the engine as it is.
#[test]
fn lateral_subqueries() {
    refused(
        "SELECT COUNT(*) FROM t CROSS JOIN LATERAL (SELECT many.w FROM many WHERE many.w = 100 / (t.y - 5)) AS q",
        "LATERAL",
    );
    refused(
        "SELECT COUNT(*) FROM t, LATERAL (SELECT many.w FROM many WHERE many.g = t.g) AS q",
        "LATERAL",
    );
}

/// Whether the engine looks at a public side at all depends on whether there are private rows.
#[test]
fn a_public_side_that_fails() {
    let here = tempfile::tempdir().unwrap();
    let numbered = ordinary();
    let numbered: Vec<(usize, &Unit)> = numbered.iter().enumerate().collect();
    write(here.path(), &numbered, 7, 2);
    let dataset = Dataset::new(catalog(here.path(), "add_remove")).unwrap();
    let ask = |who: &str| QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("1").unwrap()),
        ..QueryRequest::new(
            format!(
                "SELECT COUNT(*) FROM (SELECT u, g FROM t WHERE u = {who}) AS v JOIN (SELECT g, 1 / (w - 1) AS q FROM many) AS q ON q.g = v.g AND q.q >= 0"
            ),
            "tester",
        )
    };
    // Somebody who is there, and nobody.
    for who in ["3", "777"] {
        let message = dataset.query(&ask(who)).unwrap_err().to_string();
        assert!(message.contains("public side"), "{message}");
    }
    assert!(dataset.ledger().unwrap().charges().unwrap().is_empty());
}

/// One row must not become this many that what they take tells that it was there.
#[test]
fn one_row_does_not_become_millions() {
    let here = tempfile::tempdir().unwrap();
    let numbered = ordinary();
    let numbered: Vec<(usize, &Unit)> = numbered.iter().enumerate().collect();
    write(here.path(), &numbered, 7, 2);
    let dataset = Dataset::new(catalog(here.path(), "add_remove")).unwrap();
    let many: Vec<String> = (0..150).map(|value| format!("({value})")).collect();
    let many = many.join(", ");
    let ask = QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("1").unwrap()),
        ..QueryRequest::new(
            format!(
                "SELECT COUNT(*) FROM t CROSS JOIN (VALUES {many}) AS a(n) CROSS JOIN (VALUES {many}) AS b(m)"
            ),
            "tester",
        )
    };
    let message = dataset.query(&ask).unwrap_err().to_string();
    assert!(message.contains("one private row"), "{message}");
}

/// Two questions are the same only if nothing in them differs, however they print.
#[test]
fn different_questions_have_different_digests() {
    let here = tempfile::tempdir().unwrap();
    let numbered = ordinary();
    let numbered: Vec<(usize, &Unit)> = numbered.iter().enumerate().collect();
    write(here.path(), &numbered, 7, 2);
    let catalog = catalog(here.path(), "add_remove");
    let digest = |sql: &str| question(sql, &catalog).unwrap().digest(&catalog);
    let list = |last: &str| {
        format!(
            "SELECT COUNT(*) FROM t JOIN (VALUES (1), (2), (3), (4), (5), (6), (7), ({last})) AS v(n) ON t.y = v.n"
        )
    };
    assert_ne!(digest(&list("8")), digest(&list("9")));
    assert_eq!(digest(&list("8")), digest(&list("8").to_lowercase()));
    assert_ne!(
        digest(r#"SELECT COUNT(*) FROM own WHERE g = 'a") OR own.g = Utf8("b'"#),
        digest("SELECT COUNT(*) FROM own WHERE g = 'a' OR g = 'b'"),
    );
}

#[test]
fn counting_rows_and_people_at_once() {
    let here = tempfile::tempdir().unwrap();
    let sql = "SELECT x, COUNT(*), COUNT(DISTINCT u) FROM own GROUP BY x";
    let question = question(sql, &catalog(here.path(), "add_remove")).unwrap();
    assert_eq!(
        question.prices[0]
            .noise
            .iter()
            .filter(|noise| noise.threshold().is_some())
            .count(),
        1
    );
}
