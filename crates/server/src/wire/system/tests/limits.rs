//! Statements that are made to be expensive end with an error.

use super::clients::system;

fn refused(sql: &str) {
    let system = system();
    let error = system.query(sql, "ann").expect_err("it is refused");
    assert!(!error.what.is_empty() && !error.hint.is_empty(), "{error}");
    assert!(error.to_string().contains("\nhint: "), "{error}");
}

#[test]
fn long_and_deep_statements_are_refused() {
    refused(&format!("SELECT '{}'", "x".repeat(100_000)));
    refused(&format!("SELECT {}1", "1 + ".repeat(20_000)));
    refused(&format!("SELECT {}1", "1 + ".repeat(1_400)));
    refused(&format!("SELECT {}1", "- ".repeat(1_400)));
    refused(&format!("SELECT {}1", "NOT ".repeat(1_400)));
    refused(&format!("SELECT 1{}", "::int".repeat(1_400)));
    refused(&format!("SELECT 'now'{}", "::regproc::text".repeat(60)));
    refused(&format!("SELECT {}1{}", "(".repeat(10_000), ")".repeat(10_000)));
    refused(&format!("SELECT 1{}", " UNION SELECT 1".repeat(1_400)));
    refused(&format!("SELECT 1{}", " COLLATE \"C\"".repeat(1_400)));
    refused(&format!("SELECT 1 WHERE true{}", " IS NOT NULL".repeat(700)));
    refused(&format!(
        "SELECT * FROM {}pg_class{}",
        "(SELECT * FROM ".repeat(200),
        ") x".repeat(200)
    ));
    refused(&format!(
        "SELECT pg_class.*{} FROM pg_class",
        ", pg_class.*".repeat(100)
    ));
    let mut recursive = "SELECT 1 AS n UNION ALL SELECT 2".to_owned();
    for _ in 0..30 {
        recursive = format!(
            "WITH RECURSIVE x AS ((SELECT * FROM ({recursive}) y) UNION ALL SELECT 1) SELECT * FROM x"
        );
    }
    refused(&recursive);
}

#[test]
fn statements_that_take_too_long_are_interrupted() {
    refused("SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c");
    refused("WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT count(*) FROM x");
    refused("SELECT repeat('x', 2000000000)");
    refused("SELECT length(repeat(repeat('x', 1000000), 1000))");
    refused("SELECT count(*) FROM generate_series(1, 1000000000)");
    refused("SELECT string_agg(repeat('x', 100000), ',') FROM pg_attribute");
    refused("SELECT max(length(repeat('x', 100000 + attnum))) FROM pg_attribute");
    refused("SELECT replace(repeat('x', 1000000), 'x', repeat('y', 1000))");
    refused("SELECT 'a' ~ '(a{1000}){1000}'");
}

#[test]
fn an_answer_has_at_most_ten_thousand_rows() {
    let system = system();
    let answer = system
        .query("SELECT 1 FROM pg_attribute a, pg_type b", "ann")
        .expect("an answer");
    assert_eq!(answer.rows.len(), 10_000);
}

/// What could reach files or SQLite's own tables is not known.
#[test]
fn sqlite_itself_cannot_be_reached() {
    for sql in [
        "SELECT * FROM sqlite_master",
        "SELECT * FROM pg_catalog.sqlite_master",
        "SELECT load_extension('x')",
        "SELECT readfile('/etc/passwd')",
        "SELECT writefile('/tmp/x', 'y')",
        "SELECT * FROM pragma_table_info('pg_class')",
        "SELECT x_array('a')",
        "SELECT sqlite_version()",
        "SELECT randomblob(1000)",
        "SELECT * FROM fsdir('/')",
        "SELECT pg_read_file('/etc/passwd')",
    ] {
        refused(sql);
    }
}

/// After an interrupted or wrong statement the next one is answered.
#[test]
fn a_refused_statement_leaves_no_trace() {
    let system = system();
    for sql in [
        "SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c",
        "SELECT 'nothing'::regclass",
        "SELECT nothing()",
    ] {
        assert!(system.query(sql, "ann").is_err());
        assert_eq!(system.query("SELECT 1", "ann").expect("an answer").rows.len(), 1);
    }
}
