//! Statements that are made to be expensive end with an error.

use std::sync::LazyLock;

use super::super::functions::MOST_STEPS;
use super::super::{Column, ColumnType, Stop, System, Table};
use super::clients::{recorded, system};

/// One for all statements of a test: they leave no trace.
static SYSTEM: LazyLock<System> = LazyLock::new(system);

fn refused(sql: &str) {
    let error = SYSTEM
        .query(sql, "ann", &Stop::default())
        .expect_err("it is refused");
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
        .query("SELECT 1 FROM pg_attribute a, pg_type b", "ann", &Stop::default())
        .expect("an answer");
    assert_eq!(answer.rows.len(), 10_000);
}

/// Texts and patterns that take far longer than they are long: what one call of a function does is counted
/// before or while it is done.
#[test]
fn work_inside_functions_is_counted() {
    let long = "(SELECT repeat('a', 200000) AS t) x";
    let patterns = [
        // Every match begins a search that reads to the end.
        format!("SELECT length(regexp_replace(t, '.*b|a', '', 'g')) FROM {long}"),
        format!("SELECT length(regexp_replace(t, '', 'b', 'g')) FROM {long}"),
        format!("SELECT t ~ '(a|aa){{1,60}}(a|b|ab){{1,60}}c' FROM {long}"),
        format!("SELECT t ~* '(\\w\\W?){{20}}b' FROM {long}"),
        format!("SELECT t LIKE '%' || repeat('a', 100000) || 'b' FROM {long}"),
        "SELECT count(*) FROM pg_attribute a, pg_attribute b WHERE a.attname || b.attname ~ (b.attname || '(x|y)*z')"
            .to_owned(),
        format!("SELECT 'a' ~ '{}'", "\\w".repeat(5_000)),
    ];
    let texts = [
        format!("SELECT array_to_string(string_to_array(t, 'a'), t) FROM {long}"),
        format!(
            "SELECT array_to_string(array_cat(string_to_array(t, NULL), string_to_array(t, NULL)), ',', t) FROM {long}"
        ),
        format!("SELECT count(*) FROM pg_attribute, {long} WHERE string_to_array(t, NULL) @> ARRAY[attname]"),
        format!("SELECT count(DISTINCT lower(t) || attname) FROM pg_attribute a, {long}"),
        // Texts that SQLite itself copies, sorts and keeps.
        format!("SELECT t FROM {long}, pg_attribute a, pg_attribute b ORDER BY 1"),
        format!("SELECT max(t) FROM {long}, pg_attribute a, pg_attribute b GROUP BY a.attnum, b.attname"),
        format!("SELECT upper(t) = lower(t) FROM {long}, pg_attribute a, pg_attribute b"),
        format!(
            "SELECT count(*) FROM json_array_elements((SELECT json_agg(attname) FROM pg_attribute)) a, pg_attribute, {long}"
        ),
        format!("SELECT json_build_array(t, t, t, t) FROM {long}"),
        "WITH RECURSIVE x(t) AS (SELECT 'a' UNION ALL SELECT t || t FROM x) SELECT count(*) FROM x"
            .to_owned(),
        "SELECT concat_ws(repeat('x', 100000), 'a', 'a', 'a', 'a', 'a')".to_owned(),
        "SELECT regexp_replace(repeat('a', 100000), '(.*)', repeat('\\1', 100))".to_owned(),
    ];
    for sql in patterns.iter().chain(&texts) {
        match SYSTEM.query(sql, "ann", &Stop::default()) {
            Err(error) => assert!(error.limit, "{sql}: {error}"),
            Ok(_) => panic!("{sql} took {} steps", SYSTEM.steps()),
        }
    }
    // What SQLite would search and trim in time that grows with the square is linear.
    for sql in [
        format!("SELECT t LIKE repeat('%a', 100000) || 'b' FROM {long}"),
        format!("SELECT t ILIKE repeat('_%', 100000) || 'b' FROM {long}"),
        format!("SELECT position(repeat('a', 100000) || 'b' IN t) FROM {long}"),
        format!("SELECT length(trim(BOTH t || 'b' FROM t)) FROM {long}"),
        format!("SELECT length(replace(t, repeat('a', 1000) || 'b', '')) FROM {long}"),
    ] {
        let answer = SYSTEM.query(&sql, "ann", &Stop::default());
        assert!(answer.is_ok(), "{sql}: {answer:?}");
    }
}

/// If the parser cannot tell what a parenthesis begins, it reads all that is inside again.
#[test]
fn nesting_does_not_double_the_time_of_reading() {
    for (open, inside, close) in [
        ("lower(", "'a'", ")"),
        ("position(", "'a'", ")"),
        ("CAST(", "'a'", " AS text)"),
        ("CAST(", "'a' unreadable", " AS text)"),
        ("ARRAY[", "1", "]"),
        ("1 IN (", "1", ")"),
        ("(SELECT 1 FROM (", "pg_class", "))"),
        ("(SELECT 1 FROM ((SELECT 1) a JOIN (", "SELECT 1", ") b ON true))"),
    ] {
        let sql = format!("SELECT {}{inside}{}", open.repeat(40), close.repeat(40));
        assert!(!SYSTEM.answers(&sql), "{sql}");
        refused(&sql);
    }
    let answer = SYSTEM.query(
        "SELECT lower(upper(lower(upper(lower(upper('A'))))))",
        "ann",
        &Stop::default(),
    );
    assert_eq!(answer.expect("an answer").rows, [[Some("a".to_owned())]]);
}

/// What clients ask needs a small part of what a statement may do, over this many tables and over many more.
#[test]
fn clients_stay_far_from_the_limits() {
    let column = |number: usize| Column {
        name: format!("column_{number}"),
        kind: ColumnType::Text,
        nullable: true,
    };
    let table = |number: usize| Table {
        name: format!("table_{number}"),
        columns: (0..20).map(column).collect(),
        released: None,
    };
    let tables: Vec<Table> = (0..50).map(table).collect();
    for (system, part) in [(system(), 20), (System::new("large", &tables).expect("built"), 2)] {
        let most = recorded().into_iter().map(|(name, sql)| {
            let _ = system.query(&sql, "ann", &Stop::default());
            (system.steps(), name)
        });
        let (steps, name) = most.max().expect("texts");
        assert!(steps < MOST_STEPS / part, "{name} takes {steps} steps");
    }
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
        assert!(system.query(sql, "ann", &Stop::default()).is_err());
        assert_eq!(
            system
                .query("SELECT 1", "ann", &Stop::default())
                .expect("an answer")
                .rows
                .len(),
            1
        );
    }
}
