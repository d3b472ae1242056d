//! Joins written with commas, subqueries in conditions and as values, unions and windows: what is answered, against the same SQL by the engine over the same rows
//! without privacy, and what is refused.

use super::movement::question;
use crate::QueryRequest;
use crate::catalog::Catalog;
use crate::dataset::blocking::Dataset;
use datafusion::arrow::array::Array;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Float64Type, Schema};
use datafusion::common::cast::as_primitive_array;
use datafusion::prelude::{CsvReadOptions, SessionContext};
use std::fmt::Write;
use std::path::Path;

const CATALOG: &str = r#"
name = "wards"
[unit]
whose = "person"
neighbors = "add_remove"
[budget]
epsilon = 1e9
delta = 1e-6
ledger = "unused.ledger"
[budget.query]
delta = 1e-9
[limits]
groups = 100
rows_per_group = 60
[tables.people]
source = "people.csv"
unit = "person"
rows_per_unit = 1
[tables.people.columns]
person = { kind = "int" }
sex = { kind = "text", values = ["f", "m"] }
year = { kind = "int", bounds = [1900, 2030] }
mark = { kind = "int", bounds = [0, 6] }
[tables.visits]
source = "visits.csv"
unit = "person"
[tables.visits.columns]
person = { kind = "int" }
ward = { kind = "text" }
cost = { kind = "float", bounds = [-100, 100] }
year = { kind = "int", bounds = [1900, 2030] }
n = { kind = "int", bounds = [-50, 50] }
[tables.wards]
source = "wards.csv"
public = true
keys = [["ward"]]
[tables.wards.columns]
ward = { kind = "text" }
level = { kind = "int", bounds = [0, 9] }
[tables.lists]
source = "lists.csv"
public = true
[tables.lists.columns]
ward = { kind = "text" }
year = { kind = "int" }
"#;

/// Thirty people; some without visits, some with many, with NULLs and with rows that are there twice.
fn write(place: &Path) -> Catalog {
    let mut people = "person,sex,year,mark\n".to_owned();
    let mut visits = "person,ward,cost,year,n\n".to_owned();
    for person in 0..30 {
        let sex = ["f", "m"][person % 2];
        let year = 1950 + (person * 7) % 60;
        let mark = if person % 6 == 5 {
            String::new()
        } else {
            (person % 5).to_string()
        };
        writeln!(people, "{person},{sex},{year},{mark}").unwrap();
        for visit in 0..(person * 5) % 8 {
            let ward = ["a", "b", "c", "none", "zz"][(person + visit * visit) % 5];
            let cost = match (person + visit) % 7 {
                0 => String::new(),
                other => (other as f64 * 12.25 - 20.0).to_string(),
            };
            let (year, n) = (2000 + (person + visit * 3) % 4, (person * visit) % 5);
            let row = format!("{person},{ward},{cost},{year},{n}\n");
            visits += &row;
            if visit == 2 {
                visits += &row;
            }
        }
    }
    std::fs::write(place.join("people.csv"), people).unwrap();
    std::fs::write(place.join("visits.csv"), visits).unwrap();
    std::fs::write(place.join("wards.csv"), "ward,level\na,1\nb,2\nc,1\nd,5\n").unwrap();
    std::fs::write(
        place.join("lists.csv"),
        "ward,year\na,2000\na,2001\nb,\nzz,2003\nnone,2000\n",
    )
    .unwrap();
    let text = CATALOG
        .replace("unused.ledger", &place.join("ledger").display().to_string())
        .replace("source = \"", &format!("source = \"{}/", place.display()));
    Catalog::parse(&text, place).unwrap()
}

/// The only row of an answer, as numbers.
fn asked(dataset: &Dataset, sql: &str) -> Result<Vec<Option<f64>>, String> {
    let ask = QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("1e5").unwrap()),
        // An estimate of what is cut has noise of its own, and in one query of twenty it seems to see something.
        cut_estimate: false,
        ..QueryRequest::new(sql, "tester")
    };
    let answer = dataset.query(&ask).map_err(|error| error.to_string())?.answer;
    match answer.rows.as_slice() {
        [row] => Ok(row.iter().map(|cell| cell.value.as_f64()).collect()),
        rows => Err(format!("{} rows", rows.len())),
    }
}

/// The same by the engine, without privacy.
async fn plainly(session: &SessionContext, sql: &str) -> Result<Vec<Option<f64>>, String> {
    let reported = |error: datafusion::error::DataFusionError| format!("the engine: {error}");
    let batches = session
        .sql(sql)
        .await
        .map_err(reported)?
        .collect()
        .await
        .map_err(reported)?;
    let batch = batches.iter().find(|batch| batch.num_rows() > 0).unwrap();
    let numbers = batch
        .columns()
        .iter()
        .map(|column| {
            let column = cast(column, &DataType::Float64).unwrap();
            let column = as_primitive_array::<Float64Type>(&column).unwrap();
            column.is_valid(0).then(|| column.value(0))
        })
        .collect();
    Ok(numbers)
}

async fn session(place: &Path) -> SessionContext {
    let session = SessionContext::new();
    let tables: [(&str, &[(&str, DataType)]); 4] = [
        (
            "people",
            &[
                ("person", DataType::Int64),
                ("sex", DataType::Utf8),
                ("year", DataType::Int64),
                ("mark", DataType::Int64),
            ],
        ),
        (
            "visits",
            &[
                ("person", DataType::Int64),
                ("ward", DataType::Utf8),
                ("cost", DataType::Float64),
                ("year", DataType::Int64),
                ("n", DataType::Int64),
            ],
        ),
        ("wards", &[("ward", DataType::Utf8), ("level", DataType::Int64)]),
        ("lists", &[("ward", DataType::Utf8), ("year", DataType::Int64)]),
    ];
    for (name, columns) in tables {
        let fields: Vec<Field> = columns
            .iter()
            .map(|(name, kind)| Field::new(*name, kind.clone(), true))
            .collect();
        let schema = Schema::new(fields);
        let options = CsvReadOptions::new().schema(&schema).has_header(true);
        let path = place.join(format!("{name}.csv"));
        session
            .register_csv(name, path.to_str().unwrap(), options)
            .await
            .unwrap();
    }
    session
}

/// Each query gives what the engine gives without privacy. Where two texts are written, the second is what the engine is asked.
#[track_caller]
fn agree(queries: &[(&str, Option<&str>)]) {
    let here = tempfile::tempdir().unwrap();
    let dataset = Dataset::new(write(here.path())).unwrap();
    let runtime = super::movement::runtime();
    let session = runtime.block_on(session(here.path()));
    let mut wrong = Vec::new();
    for (sql, same) in queries {
        let expected = runtime.block_on(plainly(&session, same.unwrap_or(sql)));
        let (expected, found) = match (expected, asked(&dataset, sql)) {
            (Ok(expected), Ok(found)) => (expected, found),
            (Err(error), _) | (_, Err(error)) => {
                wrong.push(format!("{sql}: {error}"));
                continue;
            }
        };
        let near = |found: &Option<f64>, expected: &Option<f64>| match (found, expected) {
            (Some(found), Some(expected)) => (found - expected).abs() < 2e-3 * expected.abs().max(1.0),
            // A sum of nothing is zero here.
            (found, None) => found.is_none_or(|found| found.abs() < 1e-3),
            (None, Some(_)) => false,
        };
        if found.len() != expected.len() || !found.iter().zip(&expected).all(|(a, b)| near(a, b)) {
            wrong.push(format!("{sql}: {found:?} instead of {expected:?}"));
        }
        // What is compared should be more than nothing.
        if !expected.iter().flatten().any(|number| *number != 0.0) {
            wrong.push(format!("{sql}: nothing is counted"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[track_caller]
fn refused(sql: &str, because: &str) {
    let here = tempfile::tempdir().unwrap();
    let message = match question(sql, &write(here.path())) {
        Ok(_) => panic!("{sql} was accepted"),
        Err(error) => error.to_string(),
    };
    assert!(message.contains(because), "{sql}: {message}");
    assert!(message.contains("\nhint: "), "{sql}: {message}");
}

#[test]
fn commas_between_tables_are_joins() {
    let of = |sql| (sql, None);
    agree(&[
        of(
            "SELECT COUNT(*) AS n, SUM(v.cost) AS s FROM visits v, people p WHERE v.person = p.person AND p.sex = 'f'",
        ),
        of(
            "SELECT COUNT(*) FROM visits v, people p WHERE p.person = v.person AND v.year > 2001 AND (p.year < 1990 OR v.ward = 'a')",
        ),
        of(
            "SELECT COUNT(*) FROM wards w, people p, visits v WHERE v.ward = w.ward AND p.person = v.person AND w.level = 1",
        ),
        of(
            "SELECT COUNT(*) FROM people p, wards w, visits v WHERE v.ward = w.ward AND p.person = v.person AND p.sex = 'm'",
        ),
        // Which columns name the person follows from two equalities.
        of(
            "SELECT COUNT(*) FROM visits a, visits b, people p WHERE a.n = b.n AND a.person = p.person AND p.person = b.person",
        ),
        of("SELECT COUNT(*) FROM visits a JOIN visits b ON a.n = b.n WHERE a.person = b.person"),
        of(
            "SELECT COUNT(*), SUM(q.y) FROM (SELECT p.year AS y, v.ward AS w, p.mark FROM visits v, people p WHERE v.person = p.person) q WHERE q.w = 'b'",
        ),
        of(
            "SELECT COUNT(*) FROM people p, (SELECT person, COUNT(*) AS k FROM visits GROUP BY person) q WHERE p.person = q.person AND q.k > 3",
        ),
    ]);
    refused(
        "SELECT COUNT(*) FROM visits v, people p",
        "must match rows of the same person",
    );
    refused(
        "SELECT COUNT(*) FROM visits v, people p WHERE v.year = p.year",
        "must match rows of the same person",
    );
    refused(
        "SELECT COUNT(*) FROM visits v, people p WHERE v.person = p.person OR v.n = 1",
        "must match rows of the same person",
    );
}

#[test]
fn whether_a_subquery_has_rows() {
    let of = |sql| (sql, None);
    agree(&[
        of(
            "SELECT COUNT(*), SUM(p.year) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person = p.person AND v.ward = 'a')",
        ),
        of(
            "SELECT COUNT(*) FROM people p WHERE NOT EXISTS (SELECT * FROM visits WHERE visits.person = p.person)",
        ),
        of(
            "SELECT COUNT(*) FROM people WHERE EXISTS (SELECT * FROM visits v WHERE v.person = people.person AND v.year > people.year + 40 AND v.n >= people.mark)",
        ),
        of(
            "SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person = visits.person AND v.year = visits.year AND v.n <> visits.n)",
        ),
        of(
            "SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v, wards w WHERE v.ward = w.ward AND v.person = p.person AND w.level = 2) OR p.mark = 1",
        ),
        of("SELECT COUNT(*) FROM people WHERE person IN (SELECT person FROM visits WHERE cost > 10)"),
        of("SELECT COUNT(*) FROM people WHERE person NOT IN (SELECT person FROM visits WHERE cost > 10)"),
        of(
            "SELECT COUNT(*) FROM people WHERE person IN (SELECT DISTINCT v.person FROM visits v JOIN wards w ON v.ward = w.ward WHERE w.level = 1)",
        ),
        of(
            "SELECT COUNT(*) FROM people WHERE person IN (SELECT person FROM visits GROUP BY person HAVING COUNT(*) > 3)",
        ),
        of(
            "SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT person FROM visits v WHERE v.person = p.person GROUP BY person HAVING SUM(n) > 4)",
        ),
        (
            "SELECT SUM(CASE WHEN EXISTS (SELECT 1 FROM visits v WHERE v.person = p.person) THEN 1 ELSE 0 END), COUNT(*) FROM people p",
            Some("SELECT COUNT(DISTINCT v.person), 30 FROM visits v"),
        ),
        of(
            "SELECT SUM(cost), COUNT(*) FROM visits WHERE person IN (SELECT person FROM people WHERE sex = 'm') AND year = 2001",
        ),
        // A member that is NULL makes everything else unknown.
        of(
            "SELECT COUNT(*) FROM people p WHERE p.mark IN (SELECT v.n FROM visits v WHERE v.person = p.person)",
        ),
        (
            "SELECT COUNT(*) FROM people p WHERE p.mark NOT IN (SELECT v.n FROM visits v WHERE v.person = p.person)",
            Some(
                "SELECT COUNT(*) FROM people p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.person = p.person AND (v.n = p.mark OR v.n IS NULL OR p.mark IS NULL))",
            ),
        ),
        (
            "SELECT COUNT(*) FROM people p WHERE 55 NOT IN (SELECT v.cost FROM visits v WHERE v.person = p.person)",
            Some(
                "SELECT COUNT(*) FROM people p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.person = p.person AND (v.cost = 55 OR v.cost IS NULL))",
            ),
        ),
        (
            "SELECT COUNT(*) FROM people p WHERE (p.mark IN (SELECT v.n FROM visits v WHERE v.person = p.person)) IS NULL",
            Some(
                "SELECT COUNT(*) FROM people p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.person = p.person AND v.n = p.mark) AND EXISTS (SELECT 1 FROM visits v WHERE v.person = p.person AND (v.n IS NULL OR p.mark IS NULL))",
            ),
        ),
        of(
            "SELECT COUNT(*) FROM people p WHERE p.mark > ANY (SELECT v.n FROM visits v WHERE v.person = p.person)",
        ),
        of(
            "SELECT COUNT(*) FROM people p WHERE p.mark >= ALL (SELECT v.n FROM visits v WHERE v.person = p.person)",
        ),
    ]);
    refused(
        "SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM visits WHERE ward = 'a')",
        "must look at rows of the same person",
    );
    refused(
        "SELECT COUNT(*) FROM people WHERE year IN (SELECT year FROM visits)",
        "must look at rows of the same person",
    );
    refused(
        "SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.year = p.year)",
        "must look at rows of the same person",
    );
    refused(
        "SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person = p.person OR v.year = p.year)",
        "must look at rows of the same person",
    );
    refused(
        "SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person = p.person + 1)",
        "must look at rows of the same person",
    );
    refused(
        "SELECT COUNT(*) FROM people p WHERE p.person IN (SELECT v.n FROM visits v)",
        "must look at rows of the same person",
    );
    refused(
        "SELECT COUNT(*) FROM people p WHERE p.mark IN (SELECT v.n FROM visits v WHERE v.person = p.person LIMIT 1)",
        "not understood",
    );
    refused(
        "SELECT COUNT(*) FROM wards w WHERE EXISTS (SELECT 1 FROM visits v WHERE v.ward = w.ward)",
        "as they are",
    );
}

#[test]
fn subqueries_over_public_tables() {
    let of = |sql| (sql, None);
    agree(&[
        of("SELECT COUNT(*), SUM(n) FROM visits WHERE ward IN (SELECT ward FROM wards)"),
        of("SELECT COUNT(*) FROM visits WHERE ward NOT IN (SELECT ward FROM wards WHERE level > 1)"),
        // The list has a NULL.
        of("SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM lists) OR n = 0"),
        (
            "SELECT COUNT(*) FROM visits WHERE (year IN (SELECT year FROM lists)) IS NULL",
            Some("SELECT COUNT(*) FROM visits WHERE year NOT IN (2000, 2001, 2003)"),
        ),
        of("SELECT COUNT(*) FROM people WHERE mark NOT IN (SELECT level FROM wards WHERE level > 7)"),
        of("SELECT COUNT(*) FROM people WHERE mark NOT IN (SELECT level FROM wards WHERE level > 2)"),
        of(
            "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM lists l WHERE l.ward = v.ward AND l.year <= v.year)",
        ),
        of(
            "SELECT COUNT(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM lists l WHERE l.ward = v.ward AND l.year <= v.year)",
        ),
        of("SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM lists) AND v.n > 1"),
        of(
            "SELECT COUNT(*) FROM visits v WHERE v.year > ALL (SELECT l.year FROM lists l WHERE l.year < 2002) AND n > 0",
        ),
        of("SELECT COUNT(*) FROM visits WHERE n > (SELECT MIN(level) FROM wards)"),
        (
            "SELECT COUNT(*), SUM((SELECT w.level FROM wards w WHERE w.ward = v.ward)) FROM visits v",
            Some("SELECT COUNT(*), SUM(w.level) FROM visits v LEFT JOIN wards w ON w.ward = v.ward"),
        ),
        of("SELECT COUNT(*) FROM visits v WHERE (SELECT COUNT(*) FROM lists l WHERE l.ward = v.ward) > 1"),
        of(
            "SELECT COUNT(*) FROM people p, visits v WHERE p.person = v.person AND v.ward IN (SELECT ward FROM wards WHERE level = 1)",
        ),
    ]);
    let here = tempfile::tempdir().unwrap();
    let dataset = Dataset::new(write(here.path())).unwrap();
    let ask = QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("1").unwrap()),
        ..QueryRequest::new(
            "SELECT COUNT(*) FROM visits WHERE n > (SELECT level FROM wards)",
            "tester",
        )
    };
    let error = dataset.query(&ask).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("more than one row"), "{error}");
    refused(
        "SELECT COUNT(*) FROM visits v WHERE (SELECT l.year FROM lists l WHERE l.ward = v.ward) > 1",
        "more than one row",
    );
}

#[test]
fn subqueries_that_stand_for_a_value() {
    let of = |sql| (sql, None);
    agree(&[
        of(
            "SELECT COUNT(*) FROM people p WHERE (SELECT MAX(v.cost) FROM visits v WHERE v.person = p.person) > 20",
        ),
        of(
            "SELECT COUNT(*), SUM(p.year) FROM people p WHERE (SELECT COUNT(*) FROM visits v WHERE v.person = p.person) = 0",
        ),
        of(
            "SELECT COUNT(*) FROM people p WHERE (SELECT COUNT(*) + 1 FROM visits v WHERE v.person = p.person AND v.year = 2001) > p.mark",
        ),
        (
            "SELECT SUM(q.s, contribution_bounds_per_row => (-100, 9000)), COUNT(q.s) FROM (SELECT p.person, (SELECT SUM(v.cost) FROM visits v WHERE v.person = p.person) AS s FROM people p) q",
            Some(
                "SELECT SUM(q.s), COUNT(q.s) FROM (SELECT p.person, (SELECT SUM(v.cost) FROM visits v WHERE v.person = p.person) AS s FROM people p) q",
            ),
        ),
        (
            "SELECT COUNT(*) FROM visits v WHERE (SELECT p.sex FROM people p WHERE p.person = v.person) = 'f'",
            Some("SELECT COUNT(*) FROM visits v JOIN people p ON p.person = v.person WHERE p.sex = 'f'"),
        ),
        // Tied by more than the person: each visit that costs the most of its year.
        of(
            "SELECT COUNT(*) FROM visits v WHERE v.cost = (SELECT MAX(o.cost) FROM visits o WHERE o.person = v.person AND o.year = v.year)",
        ),
        of(
            "SELECT COUNT(*) FROM visits v WHERE (SELECT COUNT(o.cost) FROM visits o WHERE o.person = v.person AND o.n = v.n) > 1",
        ),
    ]);
    // Two texts may be the same number, and then a person would be there twice.
    refused(
        "SELECT COUNT(*) FROM people p WHERE (SELECT w.level FROM wards w WHERE w.ward = p.mark) > 0",
        "more than one row",
    );
    refused(
        "SELECT COUNT(*) FROM people p WHERE (SELECT MAX(w.level) FROM wards w WHERE w.ward = p.mark) > 0",
        "different kinds",
    );
    refused(
        "SELECT COUNT(*) FROM people WHERE year > (SELECT AVG(year) FROM people)",
        "a release of its own",
    );
    refused(
        "SELECT COUNT(*) FROM people p WHERE (SELECT v.cost FROM visits v WHERE v.person = p.person) > 1",
        "more than one row",
    );
    refused(
        "SELECT COUNT(*) FROM people p WHERE (SELECT MAX(v.cost) FROM visits v WHERE v.year = p.year) > 1",
        "must look at rows of the same person",
    );
    refused(
        "SELECT COUNT(*) FROM people p WHERE (SELECT MAX(v.cost) FROM visits v WHERE v.person = p.person AND v.year > p.year) > 1",
        "by equalities alone",
    );
}

#[test]
fn other_ways_to_write_the_same() {
    let of = |sql| (sql, None);
    agree(&[
        of("-- how many\nSELECT COUNT(*) FROM visits"),
        of("/* how many */ SELECT COUNT(*) /* of all */ FROM visits -- all\n;"),
        (
            "SELECT COUNT(*) FROM visits WHERE ward = ANY(ARRAY['a', 'b'])",
            Some("SELECT COUNT(*) FROM visits WHERE ward IN ('a', 'b')"),
        ),
        (
            "SELECT COUNT(*) FROM visits WHERE ward <> ALL(ARRAY['a', 'b'])",
            Some("SELECT COUNT(*) FROM visits WHERE ward NOT IN ('a', 'b')"),
        ),
        (
            "SELECT COUNT(*) FROM visits WHERE n >= ALL(ARRAY[1, 2]) OR n < ANY(ARRAY[0, 1]::BIGINT[])",
            Some("SELECT COUNT(*) FROM visits WHERE n >= 2 OR n < 1"),
        ),
        (
            "SELECT COUNT(*), SUM(n), COUNT(*), count(*) FROM visits",
            Some("SELECT COUNT(*), SUM(n), COUNT(*) + 0, 0 + count(*) FROM visits"),
        ),
        (
            "SELECT COUNT(*) AS n FROM visits ORDER BY n FETCH FIRST 1 ROW ONLY",
            Some("SELECT COUNT(*) AS n FROM visits"),
        ),
        (
            "SELECT COUNT(*) AS n FROM visits ORDER BY n OFFSET 0 ROWS FETCH NEXT ROW ONLY",
            Some("SELECT COUNT(*) AS n FROM visits"),
        ),
    ]);
    let here = tempfile::tempdir().unwrap();
    let dataset = Dataset::new(write(here.path())).unwrap();
    let ask = |sql: &str| QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("1").unwrap()),
        ..QueryRequest::new(sql, "tester")
    };
    let answer = |sql: &str| dataset.query(&ask(sql)).unwrap().answer;
    let names = |sql: &str| -> Vec<String> {
        let columns = answer(sql).columns;
        columns.into_iter().map(|column| column.name).collect()
    };
    assert_eq!(
        names("SELECT COUNT(*), COUNT(*), SUM(n) AS s, COUNT(n) AS s FROM visits"),
        ["count(*)", "count(*)", "s", "s"]
    );
    let limited = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY sex FETCH FIRST 1 ROWS ONLY";
    assert_eq!(answer(limited).rows.len(), 1);
    refused("SELECT COUNT(*) FROM visits FETCH FIRST 1 ROWS WITH TIES", "TIES");
    refused(
        "SELECT COUNT(*) FROM visits WHERE ward = ANY('{a,b}')",
        "ANY and ALL compare with a list",
    );
}

#[test]
fn rows_of_several_tables_together() {
    let of = |sql| (sql, None);
    agree(&[
        of(
            "SELECT COUNT(*), SUM(q.year) FROM (SELECT person, year FROM people UNION ALL SELECT person, year FROM visits) q",
        ),
        of(
            "SELECT COUNT(*) FROM (SELECT person, 'p' AS kind FROM people UNION ALL SELECT person, 'v' FROM visits) q WHERE q.kind = 'v'",
        ),
        // Integers and floats together are floats.
        of(
            "SELECT COUNT(*), SUM(q.x) FROM (SELECT person, year AS x FROM people UNION ALL SELECT person, cost FROM visits) q",
        ),
        of(
            "SELECT COUNT(*) FROM (SELECT person, year FROM people UNION SELECT person, year - 50 FROM visits) q",
        ),
    ]);
    refused(
        "SELECT COUNT(*) FROM (SELECT person, sex AS x FROM people UNION ALL SELECT person, cost FROM visits) q",
        "differ in column 2",
    );
    refused(
        "SELECT COUNT(*) FROM (SELECT person, year FROM people UNION ALL SELECT ward, level FROM wards) q",
        "public rows have no owner",
    );
}

#[test]
fn windows_over_one_persons_rows() {
    let of = |sql| (sql, None);
    agree(&[
        of(
            "SELECT COUNT(*), SUM(q.year) FROM (SELECT person, year, ROW_NUMBER() OVER (PARTITION BY person ORDER BY year, cost, n, ward) AS k FROM visits) q WHERE q.k <= 2",
        ),
        of(
            "SELECT COUNT(*) FROM (SELECT person, RANK() OVER (PARTITION BY person ORDER BY year DESC) AS r, DENSE_RANK() OVER (PARTITION BY person ORDER BY year DESC) AS d FROM visits) q WHERE q.r > 2 AND q.d = 2",
        ),
        of(
            "SELECT COUNT(*), COUNT(q.before) FROM (SELECT person, year, LAG(year) OVER (PARTITION BY person ORDER BY year) AS before, LEAD(year, 2) OVER (PARTITION BY person ORDER BY year) AS after FROM visits) q WHERE q.before < q.year OR q.after = q.year",
        ),
        (
            "SELECT COUNT(q.s), SUM(q.s, contribution_bounds_per_row => (-1000, 1000)) FROM (SELECT person, SUM(cost) OVER (PARTITION BY person ORDER BY year) AS s FROM visits) q",
            Some(
                "SELECT COUNT(q.s), SUM(q.s) FROM (SELECT person, SUM(cost) OVER (PARTITION BY person ORDER BY year) AS s FROM visits) q",
            ),
        ),
        of(
            "SELECT COUNT(*) FROM (SELECT person, n, SUM(n) OVER (PARTITION BY person ORDER BY year, n, cost, ward ROWS UNBOUNDED PRECEDING) AS s FROM visits) q WHERE q.s > 4",
        ),
        of(
            "SELECT COUNT(*) FROM (SELECT person, n, AVG(n) OVER (PARTITION BY person ORDER BY year, n, cost, ward ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS a FROM visits) q WHERE q.a >= 2",
        ),
        of(
            "SELECT COUNT(*) FROM (SELECT person, cost, MIN(cost) OVER (PARTITION BY person) AS least, MAX(cost) OVER (PARTITION BY person, year) AS most FROM visits) q WHERE q.cost = q.least OR q.cost = q.most",
        ),
        of(
            "SELECT COUNT(*) FROM (SELECT person, n, MAX(n) OVER (PARTITION BY person ORDER BY year, n, cost, ward ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) AS m FROM visits) q WHERE q.m > q.n",
        ),
        of(
            "SELECT COUNT(*) FROM (SELECT person, COUNT(*) OVER (PARTITION BY person) AS k, COUNT(cost) OVER (PARTITION BY person ORDER BY year) AS c FROM visits) q WHERE q.k > 4 AND q.c < 3",
        ),
        of(
            "SELECT COUNT(*) FROM (SELECT person, ward, FIRST_VALUE(ward) OVER (PARTITION BY person ORDER BY year, ward, n, cost) AS f, LAST_VALUE(year) OVER (PARTITION BY person ORDER BY year) AS l FROM visits) q WHERE q.f = q.ward AND q.l > 2000",
        ),
        of(
            "SELECT COUNT(*) FROM (SELECT v.person, p.sex, ROW_NUMBER() OVER (PARTITION BY p.person ORDER BY v.cost, v.year, v.n, v.ward) AS k FROM visits v, people p WHERE v.person = p.person) q WHERE q.k = 3 AND q.sex = 'f'",
        ),
    ]);
    refused(
        "SELECT COUNT(*) FROM (SELECT person, ROW_NUMBER() OVER (ORDER BY cost) AS k FROM visits) q WHERE k < 3",
        "partitioned by the person",
    );
    refused(
        "SELECT COUNT(*) FROM (SELECT person, SUM(n) OVER (PARTITION BY ward) AS k FROM visits) q WHERE k < 3",
        "partitioned by the person",
    );
    refused(
        "SELECT COUNT(*) FROM (SELECT person, SUM(n) OVER (PARTITION BY person + 0) AS k FROM visits) q WHERE k < 3",
        "partitioned by the person",
    );
    refused(
        "SELECT COUNT(*) FROM (SELECT person, NTH_VALUE(n, 2) OVER (PARTITION BY person ORDER BY n) AS k FROM visits) q WHERE k < 3",
        "nth_value",
    );
    refused(
        "SELECT COUNT(*) FROM (SELECT person, SUM(n) OVER (PARTITION BY person ORDER BY year RANGE 1 PRECEDING) AS k FROM visits) q WHERE k < 3",
        "frame",
    );
}
