//! Which statements are answered from the system catalogs.

use super::super::Stop;
use super::clients::system;

#[test]
fn what_names_a_table_of_the_dataset_is_not_taken() {
    let system = system();
    for sql in [
        "SELECT * FROM people",
        "SELECT * FROM public.people",
        "SELECT * FROM health.public.people",
        "SELECT * FROM PEOPLE p",
        "SELECT * FROM \"Odd Name\"",
        "SELECT 1 FROM pg_class, people",
        "SELECT 1 FROM pg_class JOIN people ON true",
        "SELECT 1 FROM pg_class LEFT JOIN (pg_type JOIN visits ON true) ON true",
        "SELECT (SELECT count(*) FROM people)",
        "SELECT 1 WHERE EXISTS (SELECT FROM people)",
        "SELECT 1 WHERE 1 IN (SELECT id FROM people)",
        "SELECT 1 WHERE 1 = ANY (SELECT id FROM people)",
        "SELECT ARRAY(SELECT name FROM people)",
        "SELECT CASE WHEN true THEN (SELECT 1 FROM people) END",
        "SELECT oid FROM pg_class ORDER BY (SELECT 1 FROM people)",
        "SELECT oid FROM pg_class GROUP BY oid HAVING (SELECT true FROM people)",
        "SELECT oid FROM pg_class LIMIT (SELECT count(*) FROM people)",
        "SELECT count(*) FILTER (WHERE (SELECT true FROM people)) FROM pg_class",
        "SELECT row_number() OVER (ORDER BY (SELECT 1 FROM people)) FROM pg_class",
        "SELECT 1 FROM pg_class JOIN pg_type ON (SELECT true FROM people)",
        "SELECT * FROM unnest(ARRAY(SELECT name FROM people))",
        "SELECT * FROM generate_series(1, (SELECT count(*) FROM people))",
        "SELECT * FROM (SELECT * FROM people) p",
        "SELECT * FROM pg_class, LATERAL (SELECT * FROM people) p",
        "SELECT 1 UNION SELECT id FROM people",
        "SELECT 1 UNION ALL (SELECT 2 EXCEPT SELECT id FROM people)",
        "VALUES ((SELECT id FROM people))",
        "WITH x AS (SELECT * FROM people) SELECT 1",
        "WITH x AS (SELECT 1) SELECT * FROM x, people",
        "WITH people AS (SELECT * FROM people) SELECT * FROM people",
        "WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a",
        "WITH RECURSIVE x AS (SELECT 1 UNION ALL SELECT id FROM people) SELECT * FROM x",
        "SELECT * FROM (WITH x AS (SELECT 1) SELECT * FROM x) y, x",
        "SELECT * FROM pg_class TABLESAMPLE SYSTEM (1), people",
        "TABLE people",
        "SELECT * FROM nothing",
        "SELECT * FROM tables",
        "SELECT * FROM elsewhere.pg_class",
    ] {
        assert!(!system.answers(sql), "{sql}");
        assert!(system.query(sql, "ann", &Stop::default()).is_err(), "{sql}");
        assert!(system.columns(sql, "ann", &Stop::default()).is_err(), "{sql}");
    }
}

#[test]
fn commands_are_not_taken() {
    let system = system();
    for sql in [
        "",
        ";",
        "nonsense",
        "SELECT 1; SELECT 2",
        "INSERT INTO pg_class VALUES (1)",
        "UPDATE pg_class SET relname = 'x'",
        "DELETE FROM pg_class",
        "WITH x AS (INSERT INTO pg_class VALUES (1) RETURNING oid) SELECT * FROM x",
        "WITH x AS (DELETE FROM pg_class RETURNING oid) SELECT * FROM x",
        "SELECT * INTO pg_copy FROM pg_class",
        "CREATE TABLE x AS SELECT 1",
        "DROP TABLE pg_class",
        "TRUNCATE pg_class",
        "COPY pg_class TO STDOUT",
        "EXPLAIN SELECT 1",
        "SET search_path TO public",
        "SHOW search_path",
        "BEGIN",
        "ATTACH DATABASE 'x' AS y",
        "PRAGMA table_info(pg_class)",
        "TABLE pg_class",
    ] {
        assert!(!system.answers(sql), "{sql}");
        assert!(system.query(sql, "ann", &Stop::default()).is_err(), "{sql}");
    }
}

#[test]
fn the_catalogs_and_queries_of_no_table_are_taken() {
    let system = system();
    for sql in [
        "SELECT 1",
        "SELECT 1;",
        "VALUES (1, 'a'), (2, 'b')",
        "SELECT version()",
        "SELECT * FROM pg_class",
        "SELECT * FROM PG_CATALOG.Pg_Class",
        "SELECT * FROM health.pg_catalog.pg_class",
        "SELECT * FROM information_schema.tables t",
        "SELECT * FROM generate_series(1, 3)",
        "WITH x AS (SELECT 1) SELECT * FROM x",
        "WITH people AS (SELECT 1 AS id) SELECT * FROM people",
        "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x WHERE n < 3) SELECT * FROM x",
        "WITH a AS (SELECT 1 AS n), b AS (SELECT * FROM a) SELECT (SELECT n FROM a) FROM b",
        "SELECT * FROM (SELECT oid FROM pg_type) people",
        "SELECT people.oid FROM pg_type AS people",
        "SELECT 1 UNION ALL (SELECT 2 EXCEPT SELECT 3)",
    ] {
        assert!(system.answers(sql), "{sql}");
        system
            .query(sql, "ann", &Stop::default())
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// A table of the dataset may have the name of a catalog: then the name means the table.
#[test]
fn a_table_with_the_name_of_a_catalog_is_the_datasets() {
    let table = super::super::Table {
        name: "pg_stats".to_owned(),
        columns: Vec::new(),
        released: None,
    };
    let system = super::super::System::new("health", &[table]).expect("the catalogs are built");
    assert!(!system.answers("SELECT * FROM pg_stats"));
    assert!(!system.answers("SELECT * FROM Pg_Stats"));
    assert!(system.answers("SELECT * FROM pg_catalog.pg_stats"));
}
