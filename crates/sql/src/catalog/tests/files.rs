use super::{SMALL, WHOLE, read};
use crate::catalog::{Catalog, Engine, EngineKind, LedgerPlace, Limits, Owner, Source};
use crate::values::facts::{Kind, Range, Value};
use accounting::{Delta, Epsilon, Neighbors, PrivacyUnit};
use std::path::PathBuf;

#[test]
fn everything_that_is_said_is_read() {
    let catalog = read(WHOLE).unwrap();
    assert_eq!(catalog.name, "clinic");
    assert_eq!(catalog.unit, PrivacyUnit::new("patient", Neighbors::ChangeOne));
    assert_eq!(
        catalog.limits,
        Limits {
            groups: Some(4),
            rows_per_group: Some(3),
            ..Limits::default()
        }
    );
    assert_eq!(catalog.budget.epsilon, Epsilon::parse("10").unwrap());
    assert_eq!(catalog.budget.delta, Delta::parse("1e-6").unwrap());
    assert_eq!(catalog.budget.query_epsilon, Some(Epsilon::parse("0.1").unwrap()));
    assert_eq!(catalog.budget.query_delta, Delta::parse("1e-9").unwrap());
    assert_eq!(catalog.budget.shares["alice"], exact::ratio(1, 4));
    assert_eq!(catalog.budget.shares["bob"], exact::ratio(1, 3));
    assert_eq!(
        catalog.budget.ledger,
        LedgerPlace::File(PathBuf::from("/catalogs/spent.ledger"))
    );
    let names: Vec<_> = catalog.tables.keys().map(String::as_str).collect();
    assert_eq!(names, ["accounts", "codes", "payments", "people", "votes"]);

    let people = catalog.table("PEOPLE").unwrap();
    assert_eq!(
        people.source,
        Source::Parquet(PathBuf::from("/catalogs/people.parquet"))
    );
    assert_eq!(people.owner, Owner::Column("person_id".to_owned()));
    assert_eq!(people.rows_per_unit, Some(1));
    assert!(people.clustered);
    assert_eq!(people.version.as_deref(), Some("2026-11"));
    assert_eq!(
        people.limits,
        Limits {
            groups: Some(1),
            rows_per_group: None,
            ..Limits::default()
        }
    );
    let columns: Vec<_> = people.columns.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        columns,
        [
            "person_id",
            "zodiac",
            "age",
            "income",
            "rank",
            "member",
            "since",
            "seen"
        ],
        "in the order of the file"
    );

    let accounts = catalog.table("accounts").unwrap();
    assert_eq!(accounts.source, Source::Csv(PathBuf::from("/data/accounts")));
    assert_eq!((accounts.rows_per_unit, accounts.clustered), (None, false));
    let payments = catalog.table("payments").unwrap();
    assert_eq!(
        payments.source,
        Source::Postgres {
            connection: "postgres://reader:hunter2@localhost/bank".to_owned(),
            table: "ledger.payments".to_owned()
        }
    );
    assert_eq!(
        payments.owner,
        Owner::Through {
            column: "from".to_owned(),
            table: "accounts".to_owned(),
            key: "account".to_owned()
        }
    );
    let votes = catalog.table("votes").unwrap();
    assert_eq!((&votes.owner, votes.rows_per_unit), (&Owner::EachRow, Some(1)));
    let codes = catalog.table("codes").unwrap();
    assert_eq!(codes.owner, Owner::Public);
    assert_eq!(
        codes.keys,
        [
            vec!["code".to_owned()],
            vec!["year".to_owned(), "name".to_owned()]
        ]
    );
}

#[test]
fn facts_of_columns() {
    let catalog = read(WHOLE).unwrap();
    let people = catalog.table("people").unwrap();
    let facts = |name: &str| people.column(name).unwrap();
    assert_eq!(facts("age").range, Range::new(0.0, 120.0));
    assert_eq!((facts("age").kind, facts("age").nullable), (Kind::Int, false));
    assert_eq!(facts("income").range, Range::new(-1.5, 2e5));
    assert!(facts("income").nullable);
    // Listed numbers are their own bounds.
    assert_eq!(facts("rank").range, Range::new(-1.0, 3.0));
    let values = |name: &str| facts(name).values.as_deref().unwrap().to_vec();
    assert_eq!(values("rank"), [Value::Int(3), Value::Int(-1), Value::Int(2)]);
    assert_eq!(values("member"), [Value::Bool(true), Value::Bool(false)]);
    assert_eq!(values("since"), [Value::Date(18_262), Value::Date(18_628)]);
    assert_eq!(values("seen"), [Value::Timestamp(1_577_836_801_000_000)]);
    // A value that is not listed is no NULL.
    assert!(!facts("zodiac").nullable);
    assert!(!catalog.table("codes").unwrap().column("code").unwrap().nullable);
    assert_eq!(facts("person_id").values, None);
    assert_eq!(facts("person_id").range, None);
}

#[test]
fn what_is_the_same_in_all_rows_of_a_unit() {
    let catalog = read(WHOLE).unwrap();
    let of_unit = |table: &str, column: &str| catalog.table(table).unwrap().column(column).unwrap().of_unit;
    // One row a unit: everything is.
    assert!(of_unit("people", "age") && of_unit("people", "person_id") && of_unit("votes", "choice"));
    // Many rows a unit: its name is, and what the curator says.
    assert!(of_unit("accounts", "owner") && of_unit("accounts", "country"));
    assert!(!of_unit("accounts", "account"));
    // The column that leads to the unit is not: a unit may have many accounts.
    assert!(!of_unit("payments", "from"));
    assert!(!of_unit("codes", "code"));
}

#[test]
fn what_is_not_said_is_careful() {
    let catalog = read(SMALL).unwrap();
    assert_eq!(catalog.unit.neighbors, Neighbors::AddRemove);
    assert_eq!(catalog.budget.delta, Delta::ZERO);
    assert_eq!(catalog.budget.query_epsilon, None);
    assert_eq!(catalog.limits, Limits::default());
    assert_eq!(
        catalog.budget.ledger,
        LedgerPlace::File(PathBuf::from("/catalogs/deniable.ledger"))
    );
}

#[test]
fn budgets_are_read_exactly() {
    // No float is 0.1; what is written is what is meant.
    let catalog = read(&SMALL.replace("epsilon = 1\n", "epsilon = 0.1\ndelta = 0.000_1\n")).unwrap();
    assert_eq!(*catalog.budget.epsilon.as_rational(), exact::ratio(1, 10));
    assert_eq!(*catalog.budget.delta.as_rational(), exact::ratio(1, 10_000));
    let long = "0.12345678901234567890123456789";
    let catalog = read(&SMALL.replace("epsilon = 1\n", &format!("epsilon = {long}\n"))).unwrap();
    assert_eq!(catalog.budget.epsilon, Epsilon::parse(long).unwrap());
}

#[test]
fn the_version_of_the_data_is_declared() {
    let catalog = read(SMALL).unwrap();
    let table = catalog.tables.values().next().unwrap();
    assert_eq!(catalog.version_of(table), "1");
    let catalog = read(&format!("{SMALL}[data]\nversion = \"2026-11\"\n")).unwrap();
    let mut table = catalog.tables.values().next().unwrap().clone();
    assert_eq!(catalog.version_of(&table), "2026-11");
    table.version = Some("b".to_owned());
    assert_eq!(catalog.version_of(&table), "2026-11, b");
    let daily = read(&format!("{SMALL}[data]\nversion_every = \"day\"\n")).unwrap();
    assert!(daily.version_of(&table).starts_with("1 of 20"));
    let wrong = read(&format!("{SMALL}[data]\nversion_every = \"hour\"\n")).unwrap_err();
    assert!(
        wrong
            .to_string()
            .contains("version_every: there is no such period"),
        "{wrong}"
    );
}

#[test]
fn passwords_are_not_printed() {
    let catalog = read(&WHOLE.replace(
        "\"spent.ledger\"",
        "\"postgresql://writer:${SECRET}@localhost/bank\"",
    ))
    .unwrap();
    assert_eq!(
        catalog.budget.ledger,
        LedgerPlace::Postgres("postgresql://writer:hunter2@localhost/bank".to_owned())
    );
    assert!(!format!("{catalog:?}").contains("hunter2"));
}

#[test]
fn the_engine_is_this_program_unless_another_is_named() {
    let engine = |text: &str| read(&format!("{SMALL}\n{text}")).unwrap().engine;
    assert_eq!(engine(""), Engine::default());
    assert_eq!(engine("[engine]\nkind = \"local\""), Engine::default());
    let named = engine("[engine]\nkind = \"postgres\"\ntimeout = 60\nwork_mem = 8");
    assert_eq!((named.kind, named.work_mem), (EngineKind::Postgres, Some(8)));
    assert_eq!(named.timeout, Some(std::time::Duration::from_secs(60)));
}

#[test]
fn files_are_read_beside_themselves() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deniable.toml");
    std::fs::write(&path, SMALL).unwrap();
    let catalog = Catalog::read(&path).unwrap();
    let expected = std::path::absolute(directory.path().join("people.csv")).unwrap();
    assert_eq!(catalog.tables["people"].source, Source::Csv(expected));
    std::fs::write(&path, SMALL.replace("whose", "who")).unwrap();
    let error = Catalog::read(&path).unwrap_err().to_string();
    assert!(error.contains("deniable.toml, line 3"), "{error}");
    std::fs::write(&path, b"name = \"\xff\"").unwrap();
    assert!(
        Catalog::read(&path)
            .unwrap_err()
            .to_string()
            .contains("this is not text")
    );
    let missing = Catalog::read(directory.path().join("none.toml"))
        .unwrap_err()
        .to_string();
    assert!(missing.contains("deniable init"), "{missing}");
}
