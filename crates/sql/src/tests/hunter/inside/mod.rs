//! The hunter inside a database: what PostgreSQL computes against what this program computes of the same rows, and against parts of them. These need a PostgreSQL server.

mod transaction;
mod values;

use super::data::{self, Person};
use super::{Ended, LITTLE, Reading, Seeded, Vector, additive, measured, measured_by, queries, question_of};
use crate::catalog::{Catalog, EngineKind};
use crate::mutants::{Mutant, with};
use crate::price::question::Question;
use crate::tests::movement::{question, runtime};
use tokio::runtime::Runtime;
use tokio_postgres::NoTls;

pub(super) fn connection() -> String {
    std::env::var("DENIABLE_TEST_POSTGRES").expect(
        "DENIABLE_TEST_POSTGRES is not set: run the tests as `scripts/with-postgres cargo nextest run -p deniable-sql`",
    )
}

pub(super) fn execute(statements: &str) {
    runtime().block_on(async {
        let (client, task) = tokio_postgres::connect(&connection(), NoTls).await.unwrap();
        tokio::spawn(task);
        client.batch_execute(statements).await.unwrap();
    });
}

const READING: Reading = Reading {
    threads: 2,
    batch: 64,
    attempts: LITTLE,
};

/// The same catalog, whose questions are computed by this engine.
pub(super) fn by(catalog: &Catalog, kind: EngineKind) -> Catalog {
    let mut catalog = catalog.clone();
    catalog.engine.kind = kind;
    catalog
}

/// What an engine computes of a question, and the texts of the statements that a database runs for it.
type Computed = (Vec<(Vector, bool)>, Vec<String>);

fn computed(question: &Question, catalog: &Catalog, runtime: &Runtime) -> Result<Computed, Ended> {
    let mut texts = Vec::new();
    let numbers = measured_by(question, catalog, READING, runtime, &mut |prepared| {
        texts = prepared.statements();
    })?;
    Ok((numbers, texts))
}

/// Whether the database computes a question.
fn is_inside(sql: &str, catalog: &Catalog) -> bool {
    let question = question(sql, catalog).unwrap();
    let (_, texts) = computed(&question, catalog, &runtime()).unwrap();
    !texts.is_empty()
}

/// What explain says of who computes a question.
fn why(sql: &str, catalog: &Catalog) -> String {
    let ask = crate::QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("1").unwrap()),
        ..crate::QueryRequest::new(sql, "tester")
    };
    let dataset = crate::dataset::blocking::Dataset::new(by(catalog, EngineKind::Postgres)).unwrap();
    match dataset.explain(&ask, 1) {
        Ok(explanation) => {
            let parts = explanation.parts.iter();
            let engines: Vec<String> = parts
                .map(|part| part.engine.clone().unwrap_or_default())
                .collect();
            engines.join(" | ")
        }
        Err(error) => error.to_string(),
    }
}

/// One case: whether the database computed it, and whether it is the same; `None` where the query is refused.
fn case(sql: &str, whole: &Catalog, parts: &[Catalog]) -> Option<Result<bool, String>> {
    let question = question(sql, whole).ok()?;
    let runtime = runtime();
    let here = computed(&question, &by(whole, EngineKind::Local), &runtime);
    let there = computed(&question, &by(whole, EngineKind::Postgres), &runtime);
    let ((here, none), (there, texts)) = match (here, there) {
        (Ok(here), Ok(there)) => (here, there),
        (Err(one), Err(other)) if one == other => return None,
        (here, there) => {
            return Some(Err(format!(
                "{sql}\nhere it ends in {:?}, there in {:?}",
                here.err(),
                there.err()
            )));
        }
    };
    assert!(none.is_empty());
    if here != there {
        let place = here.iter().zip(&there).position(|(here, there)| here != there);
        return Some(Err(format!("{sql}\nstatistic {place:?} differs")));
    }
    // The key of all tests.
    if texts.iter().any(|text| text.contains("0123456789abcdef:")) {
        return Some(Err(format!("{sql}\nthe key is in the text")));
    }
    if !texts.is_empty() && !parts.is_empty() {
        let parts: Result<Vec<_>, _> = parts
            .iter()
            .map(|part| measured(&question, &by(part, EngineKind::Postgres), READING, &runtime))
            .collect();
        let Ok(parts) = parts else {
            return Some(Err(format!("{sql}\na part fails, and the whole does not")));
        };
        if let Err(what) = additive(&there, &parts) {
            return Some(Err(format!("{sql}\n{what}")));
        }
    }
    Some(Ok(!texts.is_empty()))
}

/// Whether the database computes every part of a question, those that estimate what is cut among them.
fn is_wholly_inside(sql: &str, catalog: &Catalog) -> bool {
    !why(sql, catalog).contains("this program")
}

/// People in three tables of a schema: all of them, and two parts.
fn people(schema: &str, people: &[Person]) -> (Catalog, Vec<Catalog>, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    data::write_publics(directory.path());
    execute(&format!(
        "DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}"
    ));
    let table = |name: &str, wanted: &dyn Fn(usize) -> bool| {
        let numbered = people.iter().enumerate().filter(|(place, _)| wanted(*place));
        execute(&data::statements(schema, name, numbered));
        data::database_catalog(&connection(), &format!("{schema}.{name}"), directory.path())
    };
    let whole = table("whole", &|_| true);
    let parts = vec![
        table("part0", &|place| place % 3 == 0),
        table("part1", &|place| place % 3 != 0),
    ];
    (whole, parts, directory)
}

/// Hunts through seeds; says how many questions were accepted, how many the database computed, and what was found.
fn hunt(schema: &str, seeds: std::ops::Range<u64>) -> (usize, usize, Option<String>) {
    let mut seeded = Seeded::new(seeds.start);
    let crowd: Vec<Person> = (0..24).map(|_| data::person(&mut seeded)).collect();
    let (whole, parts, _directory) = people(schema, &crowd);
    let known = queries::KNOWN.iter().map(|sql| sql.to_string());
    let generated = seeds.map(|seed| question_of(&mut Seeded::new(seed)));
    let (mut accepted, mut inside) = (0, 0);
    for sql in known.chain(generated) {
        match case(&sql, &whole, &parts) {
            None => {}
            Some(Ok(computed)) => {
                accepted += 1;
                inside += usize::from(computed);
            }
            Some(Err(found)) => return (accepted, inside, Some(found)),
        }
    }
    (accepted, inside, None)
}

#[test]
fn a_database_computes_the_same() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (cases, first) = (
        number("HUNT_CASES").unwrap_or(20),
        number("HUNT_SEED").unwrap_or(0),
    );
    let (accepted, inside, found) = hunt("hunt", first..first.saturating_add(cases));
    eprintln!("{accepted} questions were accepted, and {inside} of them computed in the database");
    assert_eq!(found, None);
    assert!(
        inside * 5 > accepted,
        "only {inside} of {accepted} were computed in the database"
    );
}

/// Defects of what is written, each of which the comparison must find.
#[test]
fn defects_of_statements_are_found() {
    let mut seeded = Seeded::new(7);
    let crowd: Vec<Person> = (0..24).map(|_| data::person(&mut seeded)).collect();
    let (whole, _, _directory) = people("defects", &crowd);
    for (mutant, sql) in [
        (
            Mutant::LostWindowFilter,
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 1, cut_share = 0) s, COUNT(*) FROM t GROUP BY s",
        ),
        (
            Mutant::LostWindowFilter,
            "SELECT MEDIAN(x), COUNT(DISTINCT s) FROM t",
        ),
        (Mutant::NotCanonical, "SELECT s, COUNT(*) FROM t GROUP BY s"),
        (Mutant::NotCanonical, "SELECT COUNT(*) FROM t WHERE x > 5"),
        (
            Mutant::SharedCondition,
            "SELECT COUNT(*) FROM t WHERE x > 5 UNION ALL SELECT COUNT(*) FROM t WHERE x > 0",
        ),
        (Mutant::GroupsOfOne, "SELECT s, COUNT(*) FROM t GROUP BY s"),
    ] {
        assert_eq!(
            case(sql, &whole, &[]),
            Some(Ok(true)),
            "{sql} {}",
            why(sql, &whole)
        );
        let found = with(mutant, || case(sql, &whole, &[]));
        let found = found.and_then(Result::err);
        assert!(found.is_some(), "{mutant:?} was not found by {sql}");
    }
}

/// Every type that is read inside of a database, with values at its ends.
const TYPES: &str = r#"
DROP SCHEMA IF EXISTS "In.side" CASCADE; CREATE SCHEMA "In.side";
CREATE TYPE "In.side".mood AS ENUM ('sad', 'glad');
CREATE TABLE "In.side"."Odd ""$1"" 'name'" (
    id text, b bool, i2 int2, i4 int4, "i8; DROP TABLE x" int8, f4 float4, f8 float8, n numeric, ni numeric, t text COLLATE "C", v varchar(5000), c char(5),
    u uuid, m "In.side".mood, d date, ts timestamp, tz timestamptz, o text);
INSERT INTO "In.side"."Odd ""$1"" 'name'"
SELECT
    (ARRAY['ann', 'bob', 'e' || U&'\0301', 'é', repeat('x', 4096), repeat('x', 4097), '', NULL, 'eve', 'Ann'])[1 + g % 10],
    (ARRAY[true, false, NULL])[1 + g % 3],
    (ARRAY[1, -32768, 32767, NULL]::int2[])[1 + g % 4],
    (ARRAY[1, -2147483648, 2147483647, NULL, 7])[1 + g % 5],
    (ARRAY[0, 1, -1, 9223372036854775807, '-9223372036854775808'::int8, NULL, 42])[1 + g % 7],
    (ARRAY[0.5, 'NaN', 'Infinity', '-Infinity', '-0', 1e-45, 3e38, NULL]::float4[])[1 + g % 8],
    (ARRAY[0.5, 'NaN', 'Infinity', '-Infinity', '-0', 5e-324, 1.7e308, NULL, -2.5, 2.5, 1.5, -0.49999999999999994, 1e-310]::float8[])[1 + g % 13],
    (ARRAY['1e400', '1e-400', 'NaN', '12.5', '-1.5e308', 'Infinity', NULL, '0.1', '-7']::numeric[])[1 + g % 9],
    (ARRAY['1e400', '9223372036854775807', 'NaN', '12.9', '-9223372036854775808.5', NULL, '-12.9']::numeric[])[1 + g % 7],
    (ARRAY['a', 'B', 'b', 'é', 'e' || U&'\0301', U&'\+01D15E', repeat('x', 5000), repeat('é', 3000), repeat(U&'\+01D15E', 2000), '', 'it''s', E'a\\b', E'a\nb', NULL, 'İ',
           U&'\+0105D2\0307', U&'a\+010EFD\0301', U&'e\0301\+010EFD' || 'e' || U&'\0301', U&'\212A', U&'\AC00\11A8', U&'\0344', 'a%_', repeat('a', 4095) || 'é', repeat('a', 4094) || U&'\+01F600'])[1 + g % 24],
    (ARRAY['x', 'X ', NULL, 'ß'])[1 + g % 4],
    (ARRAY['z', 'z  ', NULL, 'y'])[1 + g % 4],
    (ARRAY['00000000-0000-0000-0000-000000000001', NULL]::uuid[])[1 + g % 2],
    (ARRAY['sad', 'glad', NULL]::"In.side".mood[])[1 + g % 3],
    (ARRAY['2000-01-01', 'infinity', '-infinity', '5874897-12-31', '0001-01-01', '0001-12-31 BC', '9999-12-31', '10000-01-01', NULL, '1969-12-31', '2024-02-29']::date[])[1 + g % 11],
    (ARRAY['2000-01-01 00:00:01', 'infinity', '294276-12-31 23:59:59', '0001-01-01', '9999-12-31 23:59:59.999999', NULL, '1969-12-31 23:59:59.999999', '2024-02-29 12:34:56.789', '1700-01-01']::timestamp[])[1 + g % 9],
    (ARRAY['2020-01-01 02:00:00+02', '-infinity', '4713-01-01 BC', '1969-12-31 23:59:59.999999+00', NULL, '0001-01-01 00:30:00+01']::timestamptz[])[1 + g % 6],
    (ARRAY['red', 'green', 'mauve', NULL, ''])[1 + g % 5]
FROM generate_series(0, 399) AS g;
"#;

const TYPED: &str = r#"
name = "inside"
[unit]
whose = "person"
[budget]
epsilon = 1000
delta = 1e-6
ledger = "unused.ledger"
[budget.query]
delta = 1e-9
[engine]
kind = "postgres"
work_mem = 64
timeout = 600
[limits]
groups = 3
rows_per_group = 4
[tables.t]
source = "SOURCE"
table = "\"In.side\".\"Odd \"\"$1\"\" 'name'\""
unit = "id"
[tables.t.columns]
id = { kind = "text" }
b = { kind = "bool" }
i2 = { kind = "int", bounds = [-5, 50] }
i4 = { kind = "float", bounds = [-1e3, 1e3] }
"i8; DROP TABLE x" = { kind = "int", bounds = [-100, 100] }
f4 = { kind = "float", bounds = [-1, 1e30] }
f8 = { kind = "float", bounds = [-2, 3] }
n = { kind = "float", bounds = [-10, 10] }
ni = { kind = "int" }
t = { kind = "text" }
v = { kind = "text" }
c = { kind = "text" }
u = { kind = "text" }
m = { kind = "text" }
d = { kind = "date" }
ts = { kind = "timestamp" }
tz = { kind = "timestamp" }
o = { kind = "text", values = ["red", "green"], other = "red" }
"#;

/// Questions that the database computes.
const INSIDE: &[&str] = &[
    "SELECT COUNT(*), SUM(\"i8; DROP TABLE x\"), AVG(f8), SUM(f4), AVG(n), AVG(i4) FROM t",
    "SELECT t, COUNT(*), SUM(i2) FROM t GROUP BY t",
    "SELECT o, COUNT(*), AVG(i2), SUM(f8) FROM t GROUP BY o",
    "SELECT c, v, COUNT(*) FROM t GROUP BY c, v",
    "SELECT u, m, b, COUNT(*), AVG(f8) FROM t GROUP BY u, m, b",
    "SELECT d, COUNT(*) FROM t GROUP BY d",
    "SELECT ts, COUNT(*) FROM t GROUP BY ts",
    "SELECT tz, COUNT(*) FROM t WHERE tz < TIMESTAMP '2020-01-01 00:00:00.000001' GROUP BY tz",
    "SELECT \"i8; DROP TABLE x\" AS k, COUNT(*) FROM t GROUP BY 1",
    "SELECT ni, COUNT(*) FROM t GROUP BY ni",
    "SELECT b, COUNT(*) FROM t WHERE t = 'it''s' OR t >= 'é' OR t LIKE 'a%b' GROUP BY b",
    "SELECT COUNT(*) FROM t WHERE t IN ('a', E'a\\\\b', '''; DROP TABLE x; --', '$1') OR t NOT LIKE '%x_'",
    "SELECT m, MEDIAN(f8), COUNT(DISTINCT t) FROM t GROUP BY m",
    "SELECT COUNT(DISTINCT d), COUNT(DISTINCT ni), COUNT(DISTINCT id) FROM t",
    "SELECT EXTRACT(year FROM d) AS y, EXTRACT(month FROM ts) AS m, COUNT(*) FROM t GROUP BY 1, 2",
    "SELECT EXTRACT(week FROM d) AS y, EXTRACT(dow FROM ts) AS m, COUNT(*) FROM t GROUP BY 1, 2",
    "SELECT EXTRACT(isoyear FROM d) AS y, EXTRACT(hour FROM ts) AS m, EXTRACT(doy FROM d) AS z, COUNT(*) FROM t GROUP BY 1, 2, 3",
    "SELECT date_trunc('month', ts) AS k, COUNT(*) FROM t GROUP BY 1",
    "SELECT date_trunc('week', d) AS k, date_trunc('hour', tz) AS l, COUNT(*) FROM t GROUP BY 1, 2",
    "SELECT COUNT(*), SUM(\"i8; DROP TABLE x\" + ni, contribution_bounds_per_row => (-9, 9)), SUM(\"i8; DROP TABLE x\" - ni, contribution_bounds_per_row => (-9, 9)) FROM t",
    "SELECT COUNT(*), SUM(\"i8; DROP TABLE x\" * ni, contribution_bounds_per_row => (-9, 9)), SUM(ni / \"i8; DROP TABLE x\", contribution_bounds_per_row => (-9, 9)), SUM(ni % \"i8; DROP TABLE x\", contribution_bounds_per_row => (-9, 9)) FROM t",
    "SELECT ((i2 + i2) * (i2 + i2)) % 7 AS k, COUNT(*) FROM t GROUP BY 1",
    "SELECT CASE WHEN b THEN 'yes' WHEN NOT b THEN t ELSE NULL END AS k, COUNT(*) FROM t GROUP BY 1",
    "SELECT COALESCE(c, v, 'none') AS k, NULLIF(b, true) AS l, COUNT(*) FROM t GROUP BY 1, 2",
    "SELECT t || v AS k, character_length(t) AS l, COUNT(*) FROM t GROUP BY 1, 2",
    "SELECT CAST(ni AS VARCHAR) AS k, CAST(b AS VARCHAR) AS l, COUNT(*) FROM t GROUP BY 1, 2",
    "SELECT GREATEST(i2, ni, 3) AS k, LEAST(d, DATE '2000-01-01') AS l, COUNT(*) FROM t GROUP BY 1, 2",
    "SELECT d - DATE '1999-12-31' AS k, COUNT(*) FROM t GROUP BY 1",
    "SELECT COUNT(*) FROM t WHERE f8 BETWEEN -1 AND 1 AND (n IS DISTINCT FROM 12.5) AND NOT (f4 > 0)",
    "SELECT COUNT(*), SUM(m) FROM (SELECT id, MAX(i2) AS m, MIN(t) AS s, COUNT(*) AS n FROM t GROUP BY id) AS q WHERE s < 'e' OR n > 3",
    "SELECT COUNT(*) FROM (SELECT DISTINCT id, d, t FROM t) AS q",
    "SELECT MEDIAN(f8, contribution_bounds_per_row => (0, 6e292)) FROM t",
    "SELECT COUNT(*), SUM(s, contribution_bounds_per_row => (-9, 900)) FROM (SELECT id, b, SUM(i2) AS s FROM t GROUP BY id, b) AS q",
    "SELECT b, COUNT(*) FROM (SELECT id, b FROM t WHERE i2 > 0 UNION ALL SELECT id, b FROM t) AS q GROUP BY b",
    "SELECT substr(t, 2, 3) AS k, COUNT(*) FROM t WHERE starts_with(t, 'a') OR contains(v, 'X') GROUP BY 1",
];

#[test]
fn every_type_is_computed_inside_to_the_same_bit() {
    execute(TYPES);
    let text = TYPED.replace("SOURCE", &connection());
    let catalog = Catalog::parse(&text, std::path::Path::new("/")).unwrap();
    let wrong: Vec<String> = INSIDE
        .iter()
        .filter_map(|sql| match case(sql, &catalog, &[]) {
            Some(Ok(true)) if is_wholly_inside(sql, &catalog) => None,
            other => Some(format!("{other:?} {}: {sql}", why(sql, &catalog))),
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// One cell of two hundred million bytes does not decide whether there is an answer: nothing that is written takes four bytes for each of them.
#[test]
fn a_huge_cell_decides_nothing() {
    execute(
        "DROP SCHEMA IF EXISTS huge CASCADE; CREATE SCHEMA huge; CREATE TABLE huge.rows (id int, t text);
         INSERT INTO huge.rows VALUES (1, 'a'), (2, repeat('é', 100000000)), (3, repeat('é', 100000000) || U&'\\+010EFD'), (4, repeat('b', 200000000))",
    );
    let catalog = format!(
        "name = \"huge\"\n[unit]\nwhose = \"person\"\n[budget]\nepsilon = 9\ndelta = 1e-6\nledger = \"unused.ledger\"\n[budget.query]\ndelta = 1e-9\n[engine]\nkind = \"postgres\"\n[limits]\ngroups = 1\nrows_per_group = 1\n[tables.t]\nsource = \"{}\"\ntable = \"huge.rows\"\nunit = \"id\"\n[tables.t.columns]\nid = {{ kind = \"int\" }}\nt = {{ kind = \"text\" }}",
        connection()
    );
    let catalog = Catalog::parse(&catalog, std::path::Path::new("/")).unwrap();
    let asked = question("SELECT t, COUNT(*) FROM t GROUP BY t", &catalog).unwrap();
    let (numbers, texts) = computed(&asked, &catalog, &runtime()).unwrap();
    assert!(!texts.is_empty());
    let groups: Vec<i64> = numbers[0].0.values().copied().collect();
    // The two that begin alike are one text when they are cut.
    assert_eq!(groups.iter().sum::<i64>(), 4);
    assert_eq!(groups.len(), 3);
}

/// Rows whose texts differ as the database has them and not in canonical form are in one group, also where all of it is one person's.
#[test]
fn texts_that_are_the_same_are_one_group() {
    execute(
        "DROP SCHEMA IF EXISTS alike CASCADE; CREATE SCHEMA alike; CREATE TABLE alike.rows (id int, t text, x int);
         INSERT INTO alike.rows SELECT g % 3, (ARRAY['é', 'e' || U&'\\0301', 'z', NULL])[1 + g % 4], g FROM generate_series(1, 36) g",
    );
    let catalog = format!(
        "name = \"alike\"\n[unit]\nwhose = \"person\"\n[budget]\nepsilon = 9\ndelta = 1e-6\nledger = \"unused.ledger\"\n[budget.query]\ndelta = 1e-9\n[engine]\nkind = \"postgres\"\n[limits]\ngroups = 2\nrows_per_group = 5\n[tables.t]\nsource = \"{}\"\ntable = \"alike.rows\"\nunit = \"id\"\n[tables.t.columns]\nid = {{ kind = \"int\" }}\nt = {{ kind = \"text\" }}\nx = {{ kind = \"int\", bounds = [0, 40] }}",
        connection()
    );
    let catalog = Catalog::parse(&catalog, std::path::Path::new("/")).unwrap();
    for sql in [
        "SELECT t, COUNT(*), SUM(x) FROM t GROUP BY t",
        "SELECT COUNT(*), SUM(n) FROM (SELECT id, t, MIN(x) AS n FROM t GROUP BY id, t) AS q",
    ] {
        assert_eq!(
            case(sql, &catalog, &[]),
            Some(Ok(true)),
            "{sql} {}",
            why(sql, &catalog)
        );
    }
    let counted = "SELECT t, COUNT(*), SUM(x) FROM t GROUP BY t";
    let found = with(Mutant::LostGroups, || case(counted, &catalog, &[]));
    assert!(found.is_some_and(|found| found.is_err()));
}

/// What the limits cut is read by the statement that computes the numbers, from the rows that it has read.
#[test]
fn a_database_reads_the_rows_once() {
    execute(
        "DROP SCHEMA IF EXISTS passes CASCADE; CREATE SCHEMA passes; CREATE TABLE passes.only_once (id int, t text, x int);
         INSERT INTO passes.only_once SELECT g % 3, 'a', g FROM generate_series(1, 36) g",
    );
    let catalog = format!(
        "name = \"passes\"\n[unit]\nwhose = \"person\"\n[budget]\nepsilon = 9\ndelta = 1e-6\nledger = \"unused.ledger\"\n[budget.query]\ndelta = 1e-9\n[engine]\nkind = \"postgres\"\n[limits]\ngroups = 2\nrows_per_group = 5\n[tables.t]\nsource = \"{}\"\ntable = \"passes.only_once\"\nunit = \"id\"\n[tables.t.columns]\nid = {{ kind = \"int\" }}\nt = {{ kind = \"text\" }}\nx = {{ kind = \"int\", bounds = [0, 40] }}",
        connection()
    );
    let catalog = Catalog::parse(&catalog, std::path::Path::new("/")).unwrap();
    for sql in [
        "SELECT COUNT(*), SUM(x) FROM t",
        "SELECT t, COUNT(*), SUM(x), AVG(x) FROM t GROUP BY t",
    ] {
        let asked = question(sql, &catalog).unwrap();
        assert!(!asked.cuts.is_empty());
        let (_, texts) = computed(&asked, &by(&catalog, EngineKind::Postgres), &runtime()).unwrap();
        let reads = texts.iter().map(|text| text.matches("only_once").count());
        assert_eq!(reads.sum::<usize>(), 1, "{sql}\n{texts:?}");
    }
}

/// What is not on the lists is fetched, and says so.
#[test]
fn what_is_not_on_the_list_is_fetched() {
    execute(TYPES.replace("In.side", "Out.side").as_str());
    let text = TYPED
        .replace("SOURCE", &connection())
        .replace("In.side", "Out.side");
    let catalog = Catalog::parse(&text, std::path::Path::new("/")).unwrap();
    for sql in [
        "SELECT upper(t) AS k, COUNT(*) FROM t GROUP BY 1",
        "SELECT COUNT(*) FROM t WHERE t ILIKE 'a%'",
        "SELECT COUNT(*) FROM t WHERE t LIKE 'a\\%'",
        "SELECT COUNT(*) FROM t WHERE f8 * f4 > 1e300",
        "SELECT STDDEV_POP(f8), VAR_SAMP(i2) FROM t",
        "SELECT COUNT(*), SUM(r) FROM (SELECT id, i2 AS r, ROW_NUMBER() OVER (PARTITION BY id ORDER BY d) AS k FROM t) AS q WHERE k = 1",
    ] {
        assert_eq!(case(sql, &catalog, &[]), Some(Ok(false)), "{sql}");
    }
    // The estimate of what is cut is computed with what is asked, wherever that is.
    let by_float = "SELECT f8, COUNT(*) FROM t GROUP BY f8";
    assert_eq!(case(by_float, &catalog, &[]), Some(Ok(false)));
    let who = why(by_float, &catalog);
    let asked = who.split(" | ").next().unwrap_or_default();
    assert!(asked.contains("this program"), "{who}");
    let plain = "SELECT COUNT(*) FROM t";
    assert!(is_inside(plain, &catalog));
    assert!(!is_inside(plain, &by(&catalog, EngineKind::Local)));
    // A view may hold what looks at more than rows, and what fails on one of them; so may a policy.
    execute(
        "CREATE OR REPLACE VIEW \"Out.side\".some AS SELECT * FROM \"Out.side\".\"Odd \"\"$1\"\" 'name'\";
         CREATE TABLE \"Out.side\".secured AS SELECT * FROM \"Out.side\".some; CREATE TABLE \"Out.side\".copied AS SELECT * FROM \"Out.side\".some;
         ALTER TABLE \"Out.side\".secured ENABLE ROW LEVEL SECURITY",
    );
    for (table, inside) in [("some", false), ("secured", false), ("copied", true)] {
        let other = text.replace(r#"\"Odd \"\"$1\"\" 'name'\""#, table);
        let other = Catalog::parse(&other, std::path::Path::new("/")).unwrap();
        assert_eq!(is_inside(plain, &other), inside, "{table}");
    }
    // The cast of an enum to text may be a function of the schema.
    let by_enum = "SELECT m, COUNT(*) FROM t GROUP BY m";
    assert_eq!(case(by_enum, &catalog, &[]), Some(Ok(true)));
    assert!(is_wholly_inside(by_enum, &catalog), "{}", why(by_enum, &catalog));
    execute(
        "CREATE FUNCTION \"Out.side\".shown(\"Out.side\".mood) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'S' $$;
         CREATE CAST (\"Out.side\".mood AS text) WITH FUNCTION \"Out.side\".shown(\"Out.side\".mood)",
    );
    assert!(!is_wholly_inside(by_enum, &catalog), "{}", why(by_enum, &catalog));
    assert!(matches!(case(by_enum, &catalog, &[]), Some(Ok(_))));
}

const CHAINED: &str = r#"
name = "chained"
[unit]
whose = "customer"
[budget]
epsilon = 1000
delta = 1e-6
ledger = "unused.ledger"
[budget.query]
delta = 1e-9
[engine]
kind = "postgres"
[limits]
groups = 2
rows_per_group = 3
[tables.accounts]
source = "SOURCE"
table = "chained.accounts"
unit = "owner"
[tables.accounts.columns]
account = { kind = "text" }
owner = { kind = "int" }
country = { kind = "text" }
[tables.payments]
source = "SOURCE"
table = "chained.payments"
unit_through = { column = "account", table = "accounts", key = "account" }
[tables.payments.columns]
account = { kind = "text" }
amount = { kind = "float", bounds = [0, 100] }
[tables.votes]
source = "SOURCE"
table = "chained.votes"
each_row = true
[tables.votes.columns]
choice = { kind = "text", values = ["a", "b"] }
weight = { kind = "int", bounds = [0, 9] }
[tables.codes]
source = "SOURCE"
table = "chained.codes"
public = true
keys = [["country"]]
[tables.codes.columns]
country = { kind = "text" }
continent = { kind = "text" }
since = { kind = "date" }
"#;

/// Rows that lead to their owners through a key, one of which the data has twice; public rows, which travel with the statement; rows that are units; and a schema that is found by the search
/// path alone.
#[test]
fn owners_are_found_and_public_rows_are_joined_inside() {
    execute(
        "DROP SCHEMA IF EXISTS chained CASCADE; CREATE SCHEMA chained;
         CREATE TABLE chained.accounts AS SELECT 'acc' || g % 50 AS account, g % 17 AS owner, (ARRAY['A', 'B', NULL, 'é'])[1 + g % 4] AS country FROM generate_series(1, 60) g;
         CREATE TABLE chained.payments AS SELECT 'acc' || g % 70 AS account, (g % 130)::float8 - 10 AS amount FROM generate_series(1, 900) g;
         INSERT INTO chained.payments VALUES (NULL, 1), ('acc1', 'NaN'), ('acc2', NULL), ('acc3', 'Infinity');
         CREATE TABLE chained.votes AS SELECT (ARRAY['a', 'b', 'c', NULL])[1 + g % 4] AS choice, g % 12 AS weight FROM generate_series(1, 200) g;
         CREATE TABLE chained.codes (country text, continent text, since date);
         INSERT INTO chained.codes VALUES ('A', 'east', '2000-01-01'), ('é', 'it''s west', NULL), ('Z', 'none', '9999-12-31');",
    );
    let catalog = CHAINED.replace("SOURCE", &connection());
    let catalog = Catalog::parse(&catalog, std::path::Path::new("/")).unwrap();
    for sql in [
        "SELECT COUNT(*), SUM(amount), AVG(amount) FROM payments",
        "SELECT choice, COUNT(*), SUM(weight) FROM votes GROUP BY choice",
        "SELECT codes.continent, COUNT(*) FROM accounts JOIN codes ON accounts.country = codes.country GROUP BY codes.continent",
        "SELECT codes.continent, codes.since, COUNT(*) FROM accounts LEFT JOIN codes ON accounts.country = codes.country GROUP BY codes.continent, codes.since",
        "SELECT COUNT(*) FROM accounts CROSS JOIN codes WHERE codes.since < DATE '2020-01-01'",
        "SELECT country, COUNT(*), COUNT(DISTINCT account) FROM accounts GROUP BY country",
    ] {
        assert_eq!(
            case(sql, &catalog, &[]),
            Some(Ok(true)),
            "{sql} {}",
            why(sql, &catalog)
        );
    }
    assert!(why("SELECT COUNT(*) FROM votes", &catalog).starts_with("PostgreSQL"));
}

/// A question whose text doubles with each step of it is written, planned and computed all the same, or fetched.
#[test]
fn steps_that_double_do_not_grow_without_limit() {
    execute(TYPES.replace("In.side", "Doub.ling").as_str());
    let text = TYPED
        .replace("SOURCE", &connection())
        .replace("In.side", "Doub.ling");
    let catalog = Catalog::parse(&text, std::path::Path::new("/")).unwrap();
    let mut nested = "SELECT id, i2 AS x FROM t".to_owned();
    let mut tests = "i2".to_owned();
    for level in 0..12 {
        nested = format!("SELECT id, COALESCE(x, GREATEST(x, x)) AS x FROM ({nested}) AS q{level}");
        tests = format!("CASE WHEN ({tests}) IS NOT NULL THEN 1 END");
    }
    let sum = "contribution_bounds_per_row => (-9, 9)";
    for sql in [
        format!("SELECT SUM(x, {sum}) FROM ({nested}) AS q"),
        format!("SELECT COUNT(*), SUM({tests}, {sum}) FROM t"),
        "SELECT i2 IS NOT NULL AND true AS k, COUNT(*) FROM t WHERE i2 IS NOT NULL GROUP BY 1".to_owned(),
    ] {
        assert_eq!(
            case(&sql, &catalog, &[]),
            Some(Ok(true)),
            "{}",
            why(&sql, &catalog)
        );
    }
}

/// The questions of the files in `tests/slt`, over the same data in a database.
#[test]
fn the_questions_of_all_files_are_computed_the_same() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let text = std::fs::read_to_string(folder.join("deniable.toml")).unwrap();
    let mut statements = String::from("DROP SCHEMA IF EXISTS files CASCADE; CREATE SCHEMA files;");
    for (table, columns) in [
        (
            "people",
            "id int, age int, city text, team text, income float8, hours int, smoker bool, born date, note text",
        ),
        ("visits", "id int, day date, ward text, minutes int, cost float8"),
    ] {
        statements += &format!("CREATE TABLE files.{table} ({columns});");
        let rows = std::fs::read_to_string(folder.join(format!("{table}.csv"))).unwrap();
        let mut lines = rows.lines();
        let header = lines.next().unwrap();
        for line in lines.filter(|line| !line.is_empty()) {
            let values: Vec<String> = line
                .split(',')
                .map(|value| match value {
                    "" | "-" => "NULL".to_owned(),
                    value => format!("'{}'", value.trim_matches('"').replace('\'', "''")),
                })
                .collect();
            statements += &format!(
                "INSERT INTO files.{table} ({header}) VALUES ({});",
                values.join(", ")
            );
        }
    }
    execute(&statements);
    let mut catalog = text.replace("\nnulls = [\"-\"]", "");
    for table in ["people", "visits"] {
        let place = format!("source = \"{}\"\ntable = \"files.{table}\"", connection());
        catalog = catalog.replace(&format!("source = \"{table}.csv\""), &place);
    }
    let catalog = Catalog::parse(&catalog, &folder).unwrap();
    let (mut accepted, mut inside) = (0, 0);
    for name in [
        "aggregates",
        "dates",
        "groups",
        "joins",
        "results",
        "rows",
        "texts",
    ] {
        let text = std::fs::read_to_string(folder.join(format!("{name}.slt"))).unwrap();
        for record in text.split("\n\n") {
            let lines = record.lines().skip_while(|line| !line.starts_with("query"));
            let sql: Vec<&str> = lines.skip(1).take_while(|line| *line != "----").collect();
            if sql.is_empty() {
                continue;
            }
            match case(&sql.join("\n"), &catalog, &[]) {
                None => {}
                Some(Ok(computed)) => {
                    accepted += 1;
                    inside += usize::from(computed);
                }
                Some(Err(found)) => panic!("{name}: {found}"),
            }
        }
    }
    eprintln!("{accepted} questions of files were accepted, and {inside} of them computed in the database");
    assert!(accepted > 80, "{accepted} were accepted");
    assert!(
        inside >= 50,
        "{inside} of {accepted} were computed in the database"
    );
}
