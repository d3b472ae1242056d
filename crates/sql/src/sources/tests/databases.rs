//! These need a PostgreSQL server.

use super::{count, rows, run, shown, table};
use crate::catalog::{Catalog, Owner, Source};
use crate::draft::{DraftOptions, draft};
use crate::values::facts::Kind;
use tokio_postgres::NoTls;

fn connection() -> String {
    std::env::var("DENIABLE_TEST_POSTGRES").expect(
        "DENIABLE_TEST_POSTGRES is not set: run the tests as `scripts/with-postgres cargo nextest run -p deniable-sql`",
    )
}

fn execute(statements: &str) {
    execute_in(&connection(), statements);
}

fn execute_in(connection: &str, statements: &str) {
    run(async {
        let (client, task) = tokio_postgres::connect(connection, NoTls).await.unwrap();
        tokio::spawn(task);
        client.batch_execute(statements).await.unwrap();
    });
}

fn source(name: &str) -> Source {
    Source::Postgres {
        connection: connection(),
        table: name.to_owned(),
    }
}

#[test]
fn every_type_is_read_and_no_value_raises_an_error() {
    execute(
        r#"
        DROP SCHEMA IF EXISTS "Types.test" CASCADE; CREATE SCHEMA "Types.test";
        CREATE TYPE "Types.test".mood AS ENUM ('sad', 'glad');
        CREATE DOMAIN "Types.test".positive AS int CHECK (value > 0);
        CREATE TABLE "Types.test"."Odd ""name""" (
            "b" bool, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, n numeric, ni numeric, nt numeric, t text, v varchar(9), c char(5),
            u uuid, m "Types.test".mood, p "Types.test".positive, d date, ts timestamp, tz timestamptz, digits text, "Upper Case" int, bytes bytea);
        INSERT INTO "Types.test"."Odd ""name""" VALUES
            (true, 1, 2, 3, 0.5, 1.25, 12.5, 12.9, 1.10, 'x', 'y', 'z', '00000000-0000-0000-0000-000000000001', 'glad', 5,
             '2000-01-01', '2000-01-01 00:00:01', '2020-01-01 02:00:00+02', '7', 8, '\xff'),
            (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
            (false, -1, -2, -9223372036854775808, 'NaN', '-Infinity', '1e400', '1e400', '1e40', '', '', '', NULL, 'sad', NULL,
             'infinity', 'infinity', '-infinity', 'seven', NULL, NULL),
            (false, 0, 0, 9223372036854775807, 'Infinity', 5e-324, '1e-400', 'NaN', 'NaN', 'é', 'é', 'é', NULL, NULL, NULL,
             '5874897-12-31', '294276-12-31 23:59:59', '4713-01-01 BC', '99999999999999999999', NULL, NULL),
            (NULL, NULL, NULL, NULL, NULL, NULL, '-1.5e308', '-9223372036854775808.5', 'Infinity', NULL, NULL, NULL, NULL, NULL, NULL,
             '0001-01-01 BC', '0001-01-01', '1969-12-31 23:59:59.999999+00', NULL, NULL, NULL),
            (NULL, NULL, NULL, NULL, NULL, NULL, '0', '-9223372036854775808', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
        "#,
    );
    let declared = table(
        source(r#""Types.test"."Odd ""name""""#),
        &[
            ("Upper Case", Kind::Int),
            ("b", Kind::Bool),
            ("i2", Kind::Int),
            ("i4", Kind::Float),
            ("i8", Kind::Int),
            ("f4", Kind::Float),
            ("f8", Kind::Float),
            ("n", Kind::Float),
            ("ni", Kind::Int),
            ("nt", Kind::Text),
            ("t", Kind::Text),
            ("v", Kind::Text),
            ("c", Kind::Text),
            ("u", Kind::Text),
            ("m", Kind::Text),
            ("p", Kind::Int),
            ("d", Kind::Date),
            ("ts", Kind::Timestamp),
            ("tz", Kind::Timestamp),
            ("digits", Kind::Int),
        ],
    );
    let found = shown(&rows(&declared).unwrap());
    assert_eq!(
        found,
        [
            "8 true 1 2.0 3 0.5 1.25 12.5 12 1.10 x y z 00000000-0000-0000-0000-000000000001 glad 5 2000-01-01 2000-01-01T00:00:01 2020-01-01T00:00:00 7",
            "- - - - - - - - - - - - - - - - - - - -",
            "- false -1 -2.0 -9223372036854775808 - - - - 10000000000000000000000000000000000000000    - sad - - - - -",
            "- false 0 0.0 9223372036854775807 - 5e-324 0.0 - NaN é é é - - - - - - -",
            "- - - - - - - - - Infinity - - - - - - - 0001-01-01T00:00:00 1969-12-31T23:59:59.999999 -",
            "- - - - - - - 0.0 -9223372036854775808 - - - - - - - - - - -",
        ]
    );
    assert!(count(&declared).contains("| 6 "), "{}", count(&declared));
    let mut moments = declared.clone();
    moments.columns.clear();
    for name in ["d", "ts", "tz"] {
        moments
            .columns
            .push((name.to_owned(), crate::Facts::unknown(Kind::Date)));
    }
    rows(&moments).unwrap();
}

#[test]
fn many_rows_are_streamed() {
    execute(
        "DROP SCHEMA IF EXISTS many CASCADE; CREATE SCHEMA many;
         CREATE TABLE many.rows AS SELECT g AS a, 'row ' || g AS b FROM generate_series(1, 20000) g;",
    );
    let declared = table(source("many.rows"), &[("b", Kind::Text), ("a", Kind::Int)]);
    let found = shown(&rows(&declared).unwrap());
    assert_eq!(found.len(), 20_000);
    assert_eq!(found[12_345], "row 12346 12346");
    assert!(count(&declared).contains("| 20000 "), "{}", count(&declared));
}

/// Three rows that take a second each, and a role whose statements may take two.
#[test]
fn a_timeout_of_the_role_does_not_end_a_scan() {
    execute(
        "DROP SCHEMA IF EXISTS hurried CASCADE; CREATE SCHEMA hurried;
         CREATE VIEW hurried.slow AS SELECT g + length(pg_sleep(1)::text) AS a FROM generate_series(1, 3) g;",
    );
    let hurried = Source::Postgres {
        connection: format!("{}?options=-c%20statement_timeout%3D2000", connection()),
        table: "hurried.slow".to_owned(),
    };
    let found = shown(&rows(&table(hurried, &[("a", Kind::Int)])).unwrap());
    assert_eq!(found, ["1", "2", "3"]);
}

#[test]
fn a_scan_cannot_write() {
    execute(
        "DROP SCHEMA IF EXISTS writing CASCADE; CREATE SCHEMA writing;
         CREATE TABLE writing.log (x int);
         CREATE FUNCTION writing.note() RETURNS int LANGUAGE plpgsql AS
           $$ BEGIN INSERT INTO writing.log VALUES (1); RETURN 1; END $$;
         CREATE VIEW writing.trap AS SELECT writing.note() AS a;",
    );
    let declared = table(source("writing.trap"), &[("a", Kind::Int)]);
    let failed = run(async {
        let session = datafusion::prelude::SessionContext::new();
        let plan =
            crate::sources::typed_scan(&session.state(), "t", &declared, crate::sources::Texts::Canonical)
                .await
                .unwrap();
        datafusion::dataframe::DataFrame::new(session.state(), plan)
            .collect()
            .await
    });
    assert!(failed.unwrap_err().to_string().contains("read-only transaction"));
}

#[test]
fn what_is_missing_is_reported_without_secrets() {
    let asks = |source: Source| {
        let error = rows(&table(source, &[("a", Kind::Int)])).unwrap_err();
        let said = format!("{error} {error:?}");
        assert!(!said.contains("hunter2"), "{said}");
        error.to_string()
    };
    let missing = asks(source("no_such_table"));
    assert!(
        missing.contains("the database has no table \"no_such_table\""),
        "{missing}"
    );
    let schema = asks(source("no_such_schema.x"));
    assert!(schema.contains("the database has no table"), "{schema}");
    let elsewhere = |connection: &str| Source::Postgres {
        connection: connection.to_owned(),
        table: "x".to_owned(),
    };
    let nowhere = asks(elsewhere("postgres://reader:hunter2@127.0.0.1:1/bank"));
    assert!(nowhere.contains("cannot be reached"), "{nowhere}");
    let (_, host) = connection()
        .rsplit_once('@')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let stranger = asks(elsewhere(&format!("postgres://stranger:hunter2@{host}")));
    assert!(stranger.contains("does not let us in"), "{stranger}");
}

#[test]
fn a_database_is_drafted_from_its_schema() {
    execute(
        "DROP SCHEMA IF EXISTS drafted CASCADE; CREATE SCHEMA drafted;
         CREATE TABLE drafted.patients (id int, name text, weight numeric, seen timestamptz);
         INSERT INTO drafted.patients VALUES (424242, 'Ada Lovelace', 424242, now());",
    );
    let password = connection()
        .split(':')
        .nth(2)
        .and_then(|rest| rest.split('@').next())
        .unwrap()
        .to_owned();
    let text = run(draft(
        &[format!("{}#drafted.patients", connection())],
        &DraftOptions::default(),
    ))
    .unwrap();
    assert!(!text.contains("Lovelace") && !text.contains("424242"), "{text}");
    assert!(
        !text.contains(&password) && text.contains("${PGPASSWORD}"),
        "{text}"
    );
    let filled = text.replace("${PGPASSWORD}", &password);
    let catalog = Catalog::parse(&filled, std::path::Path::new("/")).unwrap();
    let patients = catalog.table("patients").unwrap();
    assert_eq!(patients.owner, Owner::Column("id".to_owned()));
    let kinds: Vec<_> = patients.columns.iter().map(|(_, facts)| facts.kind).collect();
    assert_eq!(kinds, [Kind::Int, Kind::Text, Kind::Float, Kind::Timestamp]);
    assert_eq!(shown(&rows(patients).unwrap()).len(), 1);

    // All tables of a database: one of its own, because other tests come and go in this one.
    execute("DROP DATABASE IF EXISTS drafted_whole");
    execute("CREATE DATABASE drafted_whole");
    let server = connection();
    let whole = format!("{}/drafted_whole", server.rsplit_once('/').unwrap().0);
    execute_in(
        &whole,
        "CREATE TABLE users (id int); CREATE SCHEMA \"a.b\"; CREATE VIEW \"a.b\".v AS SELECT 1 AS user_id",
    );
    let all = run(draft(&[whole], &DraftOptions::default())).unwrap();
    let filled = all.replace("${PGPASSWORD}", &password);
    let catalog = Catalog::parse(&filled, std::path::Path::new("/")).unwrap();
    let names: Vec<_> = catalog.tables.keys().map(String::as_str).collect();
    assert_eq!(names, ["users", "v"]);
    assert_eq!(shown(&rows(catalog.table("v").unwrap()).unwrap()), ["1"]);
}

/// A run of training goes on with the rows it began with, although a database has moved them by then.
#[test]
fn examples_are_the_same_wherever_a_database_puts_its_rows() {
    execute(
        "DROP SCHEMA IF EXISTS moved CASCADE; CREATE SCHEMA moved;
         CREATE TABLE moved.visits AS SELECT g % 70 AS id, (g * 7919) % 1000 AS cost, g % 3 = 0 AS urgent FROM generate_series(1, 500) g;",
    );
    let catalog = format!(
        "name = \"clinic\"\n[unit]\nwhose = \"patient\"\n[budget]\nepsilon = 1\ndelta = 1e-6\nledger = \"ledger\"
         [tables.visits]\nsource = \"{}\"\ntable = \"moved.visits\"\nunit = \"id\"
         [tables.visits.columns]\nid = {{ kind = \"int\" }}\ncost = {{ kind = \"int\", bounds = [0, 1000] }}\nurgent = {{ kind = \"bool\" }}",
        connection()
    );
    let catalog = Catalog::parse(&catalog, std::path::Path::new("/")).unwrap();
    let visits = table(source("moved.visits"), &[("id", Kind::Int), ("cost", Kind::Int)]);
    let encoding = crate::encoding(&catalog, "visits", "urgent", &[]).unwrap();
    let dataset = crate::dataset::blocking::Dataset::new(catalog).unwrap();
    let read = || {
        let examples = dataset.read_examples("visits", &encoding).unwrap();
        (
            examples.features,
            examples.labels,
            examples.owners,
            examples.units,
        )
    };
    let (stored, before) = (shown(&rows(&visits).unwrap()), read());
    assert_eq!((before.1.len(), before.3), (500, 70));
    // A row that is written again goes to the end.
    execute("UPDATE moved.visits SET cost = cost WHERE id % 2 = 0");
    assert_ne!(stored, shown(&rows(&visits).unwrap()));
    assert!(before == read());
}

/// A table of which `id` tells whose rows they are, read as this kind.
fn units(name: &str, kind: Kind) -> crate::catalog::Table {
    crate::catalog::Table {
        identifiers: vec!["id".to_owned()],
        ..table(source(name), &[("id", kind)])
    }
}

const KINDS: [Kind; 5] = [Kind::Bool, Kind::Int, Kind::Text, Kind::Date, Kind::Timestamp];

#[test]
fn identifiers_of_a_database_are_kept_or_refused() {
    execute(
        "DROP SCHEMA IF EXISTS named CASCADE; CREATE SCHEMA named;
         CREATE EXTENSION IF NOT EXISTS citext SCHEMA public;
         CREATE COLLATION named.loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
         CREATE TYPE named.mood AS ENUM ('sad', 'glad');
         CREATE DOMAIN named.amount AS numeric;
         CREATE TABLE named.numbers (id numeric); INSERT INTO named.numbers VALUES (1), (1.0), (1.00), (100), (-0.0), (1.5), (1.50), ('NaN'), (1e30), (NULL);
         CREATE TABLE named.amounts AS SELECT id::named.amount FROM named.numbers;
         CREATE TABLE named.chars (id char(4)); INSERT INTO named.chars VALUES ('7'), ('7   '), ('07');
         CREATE TABLE named.bytes (id bytea); INSERT INTO named.bytes VALUES ('\\x07'), ('\\x0007');
         CREATE TABLE named.texts (id text); INSERT INTO named.texts VALUES ('7'), ('07'), ('+7'), (' 7'), ('-3');
         CREATE TABLE named.loose (id text COLLATE named.loose); CREATE TABLE named.floats (id float8); CREATE TABLE named.singles (id float4);
         CREATE TABLE named.ci (id public.citext); CREATE TABLE named.moods (id named.mood); CREATE TABLE named.spans (id interval);
         CREATE TABLE named.documents (id jsonb); CREATE TABLE named.lists (id numeric[]);
         CREATE TABLE named.moments (id timestamp); CREATE VIEW named.seen AS SELECT id FROM named.loose;",
    );
    let read = |name: &str, kind: Kind| shown(&rows(&units(name, kind)).unwrap());
    for numbers in ["named.numbers", "named.amounts"] {
        let found = read(numbers, Kind::Text);
        let expected = [
            "1",
            "1",
            "1",
            "100",
            "0",
            "1.5",
            "1.5",
            "NaN",
            "1000000000000000000000000000000",
            "-",
        ];
        assert_eq!(found, expected, "{numbers}");
        assert_eq!(
            read(numbers, Kind::Int),
            ["1", "1", "1", "100", "0", "-", "-", "-", "-", "-"]
        );
    }
    assert_eq!(read("named.chars", Kind::Text), ["7", "7", "07"]);
    assert_eq!(read("named.chars", Kind::Int), ["7", "7", "-"]);
    assert_eq!(read("named.bytes", Kind::Text), ["07", "0007"]);
    assert_eq!(read("named.texts", Kind::Text), ["7", "07", "+7", " 7", "-3"]);
    assert_eq!(read("named.texts", Kind::Int), ["7", "-", "-", "-", "-3"]);
    for refused in [
        "floats",
        "singles",
        "ci",
        "moods",
        "spans",
        "documents",
        "lists",
        "loose",
        "seen",
    ] {
        for kind in KINDS {
            let error = rows(&units(&format!("named.{refused}"), kind))
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("tells whose rows these are") && error.contains("hint: "),
                "{refused} as {kind}: {error}"
            );
        }
    }
    // Where the database computes, they are refused too, before the charge.
    let catalog = format!(
        "name = \"n\"\n[unit]\nwhose = \"person\"\n[budget]\nepsilon = 1\nledger = \"ledger\"\n[engine]\nkind = \"postgres\"\n[limits]\nrows_per_group = 1
         [tables.t]\nsource = \"{}\"\ntable = \"named.loose\"\nunit = \"id\"\n[tables.t.columns]\nid = {{ kind = \"text\" }}",
        connection()
    );
    let directory = tempfile::tempdir().unwrap();
    let catalog = Catalog::parse(&catalog, directory.path()).unwrap();
    let dataset = crate::dataset::blocking::Dataset::new(catalog).unwrap();
    let ask = crate::QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("0.1").unwrap()),
        ..crate::QueryRequest::new("SELECT COUNT(*) FROM t", "tester")
    };
    let error = dataset.query(&ask).unwrap_err().to_string();
    assert!(error.contains("collation takes different texts"), "{error}");
    assert!(rows(&units("named.moments", Kind::Date)).is_err());
    assert_eq!(read("named.moments", Kind::Timestamp), Vec::<String>::new());
}

/// A foreign key is checked by the equality of the column that it refers to: these take for one person what are several texts or numbers.
#[test]
fn identifiers_that_refer_to_looser_ones_are_refused() {
    execute(
        "DROP SCHEMA IF EXISTS referred CASCADE; CREATE SCHEMA referred;
         CREATE COLLATION referred.any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
         CREATE DOMAIN referred.code AS text;
         CREATE TABLE referred.padded (id char(5) PRIMARY KEY); INSERT INTO referred.padded VALUES ('ann');
         CREATE TABLE referred.by_text (id text REFERENCES referred.padded); INSERT INTO referred.by_text VALUES ('ann'), ('ann ');
         CREATE TABLE referred.folded (id text COLLATE referred.any_case PRIMARY KEY); INSERT INTO referred.folded VALUES ('ann');
         CREATE TABLE referred.by_case (id text REFERENCES referred.folded); INSERT INTO referred.by_case VALUES ('ANN');
         CREATE TABLE referred.floats (id float8 PRIMARY KEY);
         CREATE TABLE referred.by_integer (id int8 REFERENCES referred.floats);
         CREATE TABLE referred.near (id varchar PRIMARY KEY REFERENCES referred.padded);
         CREATE TABLE referred.far (id text REFERENCES referred.near);
         CREATE TABLE referred.whole (id numeric PRIMARY KEY); INSERT INTO referred.whole VALUES (7);
         CREATE TABLE referred.itself (id int4 PRIMARY KEY REFERENCES referred.itself, other int8 REFERENCES referred.whole);
         INSERT INTO referred.itself VALUES (7, 7);
         CREATE TABLE referred.texts (id varchar(9) PRIMARY KEY); INSERT INTO referred.texts VALUES ('ann');
         CREATE TABLE referred.by_domain (id referred.code REFERENCES referred.texts); INSERT INTO referred.by_domain VALUES ('ann');
         CREATE TABLE referred.same (id char(5) REFERENCES referred.padded); INSERT INTO referred.same VALUES ('ann  ');",
    );
    for (table, kind) in [
        ("by_text", Kind::Text),
        ("by_case", Kind::Text),
        ("by_integer", Kind::Int),
        ("far", Kind::Text),
    ] {
        let error = rows(&units(&format!("referred.{table}"), kind))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("refers to a column that takes different values") && error.contains("hint: "),
            "{table}: {error}"
        );
    }
    for (table, kind) in [
        ("itself", Kind::Int),
        ("by_domain", Kind::Text),
        ("same", Kind::Text),
        ("padded", Kind::Text),
    ] {
        assert_eq!(
            rows(&units(&format!("referred.{table}"), kind))
                .unwrap()
                .num_rows(),
            1,
            "{table}"
        );
    }
}

/// Of a `numeric` that names units `init` used to draft an integer, which cuts it.
#[test]
fn a_draft_keeps_the_identifiers_of_a_database() {
    execute(
        "DROP SCHEMA IF EXISTS kept CASCADE; CREATE SCHEMA kept;
         CREATE TABLE kept.patients (id numeric, weight numeric); INSERT INTO kept.patients VALUES (1.5, 70), (1.25, 80);
         CREATE TABLE kept.users (id float8);",
    );
    let drafted = |table: &str| {
        let text = run(draft(
            &[format!("{}#kept.{table}", connection())],
            &DraftOptions::default(),
        ))
        .unwrap();
        let with_password = text.replace("${PGPASSWORD}", connection().split([':', '@']).nth(2).unwrap());
        (Catalog::parse(&with_password, std::path::Path::new("/")), text)
    };
    let (catalog, _) = drafted("patients");
    let catalog = catalog.unwrap();
    let patients = catalog.table("patients").unwrap();
    assert_eq!(patients.column("id").unwrap().kind, Kind::Text);
    assert_eq!(patients.column("weight").unwrap().kind, Kind::Float);
    assert_eq!(shown(&rows(patients).unwrap()), ["1.5 70.0", "1.25 80.0"]);
    let (catalog, text) = drafted("users");
    assert!(
        catalog.is_err() && text.contains("FILL IN whose rows") && text.contains("cannot be the unit"),
        "{text}"
    );
}
