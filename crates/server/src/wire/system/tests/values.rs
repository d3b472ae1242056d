//! Values, their types and their names.

use super::super::{Answer, Stop, SystemKind};
use super::clients::system;

fn ask(sql: &str) -> Answer {
    system()
        .query(sql, "ann", &Stop::default())
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn row(sql: &str) -> Vec<Option<String>> {
    ask(sql).rows.into_iter().next().unwrap_or_default()
}

fn texts(values: &[&str]) -> Vec<Option<String>> {
    values.iter().map(|value| Some((*value).to_owned())).collect()
}

#[test]
fn literals_have_the_types_of_postgresql() {
    let answer = ask(
        "SELECT 1 AS a, true, 'x', 'y'::text, 3000000000, 1.5, NULL, 7::int2, 'z'::name, 1::oid, ARRAY['a','b c']",
    );
    let kinds: Vec<SystemKind> = answer.columns.iter().map(|column| column.kind).collect();
    use SystemKind::{Bool, Float8, Int2, Int4, Int8, Name, Oid, Text, TextArray};
    assert_eq!(
        kinds,
        [
            Int4, Bool, Text, Text, Int8, Float8, Text, Int2, Name, Oid, TextArray
        ]
    );
    let names: Vec<&str> = answer.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "a", "bool", "?column?", "text", "?column?", "?column?", "?column?", "int2", "name", "oid",
            "array"
        ]
    );
    let mut expected = texts(&[
        "1",
        "t",
        "x",
        "y",
        "3000000000",
        "1.5",
        "",
        "7",
        "z",
        "1",
        "{a,\"b c\"}",
    ]);
    expected[6] = None;
    assert_eq!(answer.rows, [expected]);
}

#[test]
fn who_and_where() {
    assert_eq!(
        row(
            "SELECT current_user, session_user, user, current_database(), current_schema(), current_schema, version()"
        ),
        texts(&[
            "ann",
            "ann",
            "ann",
            "health",
            "public",
            "public",
            "PostgreSQL 15.0 (Deniable 0.1.0)"
        ])
    );
    assert_eq!(
        row("SELECT rolname FROM pg_roles WHERE rolcanlogin"),
        texts(&["ann"])
    );
    let system = system();
    let of = |user: &str| {
        system.query(
            "SELECT usename, pg_get_userbyid(usesysid) FROM pg_user",
            user,
            &Stop::default(),
        )
    };
    assert_eq!(of("bob").expect("an answer").rows, [texts(&["bob", "bob"])]);
    assert_eq!(
        of("o'hara").expect("an answer").rows,
        [texts(&["o'hara", "o'hara"])]
    );
}

#[test]
fn names_and_numbers() {
    assert_eq!(
        row(
            "SELECT 'people'::regclass, 'people'::regclass::oid, 16385::regclass::text, 'pg_class'::regclass::oid, \
             to_regclass('nothing'), 'int4'::regtype, 20::regtype::text, 'public'::regnamespace::oid, 'now'::regproc"
        ),
        [
            texts(&["people", "16385", "people", "1259"]),
            vec![None],
            texts(&["integer", "bigint", "2200", "now"])
        ]
        .concat()
    );
    assert_eq!(
        row("SELECT '\"Odd Name\"'::regclass::text"),
        texts(&["\"Odd Name\""])
    );
    assert!(
        system()
            .query("SELECT 'nothing'::regclass", "ann", &Stop::default())
            .is_err()
    );
}

#[test]
fn texts_arrays_and_patterns() {
    assert_eq!(
        row(
            "SELECT 'abc' ~ '^A', 'abc' ~* '^A', 'abc' LIKE 'a_c', 'ABC' LIKE 'abc', 'ABC' ILIKE 'a%', 'a' OPERATOR(pg_catalog.~) 'b'"
        ),
        texts(&["f", "t", "t", "f", "t", "f"])
    );
    assert_eq!(
        row(
            "SELECT array_to_string(ARRAY['a','b'], ','), (current_schemas(true))[1], array_length('{a,b,c}'::text[], 1), \
             'b' = ANY('{a,b}'), 'c' <> ALL(ARRAY['a','b']), ARRAY(SELECT nspname FROM pg_namespace ORDER BY 1)"
        ),
        texts(&[
            "a,b",
            "pg_catalog",
            "3",
            "t",
            "t",
            "{information_schema,pg_catalog,pg_toast,public}"
        ])
    );
    assert_eq!(
        row(
            "SELECT true::text || '!', 1 || 'a', format('%I.%s', 'Odd', 2), quote_ident('select'), substring('abc' from 2 for 1), \
             position('b' in 'abc'), split_part('a.b', '.', 2), concat('a', NULL, 1), E'a\\tb', NULL IS DISTINCT FROM 1"
        ),
        texts(&[
            "true!",
            "1a",
            "\"Odd\".2",
            "\"select\"",
            "b",
            "2",
            "b",
            "a1",
            "a\tb",
            "t"
        ])
    );
}

#[test]
fn functions_that_give_rows() {
    let answer =
        ask("SELECT a, b, n FROM unnest('{x,y}'::text[], '{1}'::int[]) WITH ORDINALITY AS u(a, b, n)");
    assert_eq!(answer.rows[0], texts(&["x", "1", "1"]));
    assert_eq!(
        answer.rows[1],
        [texts(&["y"]), vec![None], texts(&["2"])].concat()
    );
    let answer = ask(
        "SELECT unnest('{x,y}'::text[]) AS a, generate_subscripts('{x,y}'::text[], 1) AS n, oid FROM pg_am WHERE oid = 2",
    );
    assert_eq!(answer.rows, [texts(&["x", "1", "2"]), texts(&["y", "2", "2"])]);
    let answer = ask(
        "SELECT (information_schema._pg_expandarray('{7,8}'::int[])).n, s FROM generate_series(3, 1, -2) AS s ORDER BY 2, 1",
    );
    assert_eq!(answer.rows.len(), 4);
    assert_eq!(answer.rows[3], texts(&["2", "3"]));
    assert_eq!(
        row(
            "SELECT string_agg(DISTINCT relkind::text, '+' ORDER BY relkind::text), \
             string_agg(DISTINCT nspname, ',') IS NOT NULL FROM pg_class, pg_namespace"
        ),
        texts(&["r+v", "t"])
    );
    let answer = ask(
        "SELECT DISTINCT ON (nspname) nspname, relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace \
                      WHERE relname ~ '^(people|visits|tables)$' ORDER BY nspname, relname DESC",
    );
    assert_eq!(
        answer.rows,
        [
            texts(&["information_schema", "tables"]),
            texts(&["public", "visits"])
        ]
    );
}

#[test]
fn nothing_depends_on_rows() {
    let answer = ask(
        "SELECT DISTINCT reltuples, relpages, pg_relation_size(oid), pg_total_relation_size(oid), pg_table_size(oid) \
                      FROM pg_class",
    );
    assert_eq!(answer.rows, [texts(&["-1", "0", "0", "0", "0"])]);
    for empty in [
        "pg_stat_user_tables",
        "pg_stat_activity",
        "pg_locks",
        "pg_stats",
        "pg_statistic",
    ] {
        assert_eq!(row(&format!("SELECT count(*) FROM {empty}")), texts(&["0"]));
    }
}

#[test]
fn columns_of_a_statement_with_parameters() {
    let system = system();
    let sql = "SELECT oid, typname FROM pg_type WHERE typname = $1 AND oid = ANY($2) LIMIT $3";
    let columns = system.columns(sql, "ann", &Stop::default()).expect("the columns");
    assert_eq!(
        columns.iter().map(|column| column.kind).collect::<Vec<_>>(),
        [SystemKind::Oid, SystemKind::Name]
    );
    let error = system
        .query(sql, "ann", &Stop::default())
        .expect_err("a parameter without a value");
    assert!(error.to_string().contains("\nhint: "), "{error}");
}

#[test]
fn the_tables_are_listed() {
    let answer = ask(
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns \
                      WHERE table_schema = 'public' ORDER BY table_name, ordinal_position",
    );
    let lines: Vec<String> = answer
        .rows
        .iter()
        .map(|row| {
            row.iter()
                .map(|value| value.as_deref().unwrap_or("-"))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    assert_eq!(
        lines,
        [
            "Odd Name Mixed Case text YES",
            "Odd Name select bigint NO",
            "people id bigint NO",
            "people name text YES",
            "people born date YES",
            "people active boolean NO",
            "people income double precision YES",
            "visits person bigint NO",
            "visits at timestamp without time zone YES",
            "visits place text NO",
            "visits cost double precision YES",
        ]
    );
}

#[test]
fn numbers_at_the_ends_do_no_harm() {
    for number in [
        "9223372036854775807",
        "-9223372036854775808",
        "0",
        "-1",
        "16386",
        "16387",
        "16388",
    ] {
        ask(&format!(
            "SELECT format_type({number}, {number}), ({number})::regclass, ({number})::regtype::text, ({number})::regproc, \
             pg_get_userbyid({number}), pg_table_is_visible({number}), left('abc', {number}), right('abc', {number}), \
             split_part('a.b', '.', {number}), ('{{a,b}}'::text[])[{number}], ('{{a,b}}'::text[])[{number}:{number}], \
             ({number})::regnamespace, ({number})::regrole, substr('abc', {number}, {number})"
        ));
    }
    ask("SELECT * FROM generate_series(9223372036854775806, 9223372036854775807)");
    ask("SELECT * FROM generate_series(-9223372036854775808, 9223372036854775807, 9223372036854775807)");
    ask("SELECT * FROM generate_series(1, -9223372036854775808)");
}

#[test]
fn the_catalogs_are_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&system());
}
