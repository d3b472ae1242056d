//! The transaction in which a question's statements are planned and run.

use super::super::measured_by;
use super::{READING, connection, execute, why};
use crate::catalog::Catalog;
use crate::tests::movement::{question, runtime};
use tokio_postgres::NoTls;

/// The transaction begins before the charge: nothing that happens between it and the answer is seen, and tables keep their columns.
#[test]
fn what_is_planned_is_what_runs() {
    execute(
        "DROP SCHEMA IF EXISTS held CASCADE; CREATE SCHEMA held; CREATE TABLE held.visits (u int);
         INSERT INTO held.visits SELECT g FROM generate_series(1, 7) g",
    );
    let text = format!(
        "name = \"held\"\n[unit]\nwhose = \"person\"\n[budget]\nepsilon = 9\nledger = \"held.ledger\"\n[engine]\nkind = \"postgres\"\n[limits]\nrows_per_group = 1\n[tables.t]\nsource = \"{}\"\ntable = \"held.visits\"\nunit = \"u\"\n[tables.t.columns]\nu = {{ kind = \"int\" }}",
        connection()
    );
    let catalog = Catalog::parse(&text, std::path::Path::new("/")).unwrap();
    let question = question("SELECT COUNT(*) FROM t", &catalog).unwrap();
    let numbers = |between: &(dyn Fn() + Sync)| {
        let mut statements = 0;
        let found = measured_by(&question, &catalog, READING, &runtime(), &mut |prepared| {
            statements = prepared.statements().len();
            std::thread::scope(|scope| scope.spawn(between).join()).unwrap();
        });
        assert_eq!(statements, 1);
        found.unwrap()
    };
    let before = numbers(&|| ());
    let change = || {
        execute("INSERT INTO held.visits VALUES (8)");
        let refused = runtime().block_on(async {
            let (client, task) = tokio_postgres::connect(&connection(), NoTls).await.unwrap();
            tokio::spawn(task);
            let renamed = "SET lock_timeout = 100; ALTER TABLE held.visits RENAME u TO v";
            client.batch_execute(renamed).await.unwrap_err()
        });
        assert_eq!(
            refused.code(),
            Some(&tokio_postgres::error::SqlState::LOCK_NOT_AVAILABLE)
        );
    };
    assert_eq!(numbers(&change), before);
    assert_ne!(numbers(&|| ()), before);
}

/// A statement that is given up keeps its words: an incident, and nothing of data.
#[test]
fn a_timeout_is_an_incident() {
    execute(
        // Texts of marks alone, which take PostgreSQL some tenths of a second each to put in order.
        "DROP SCHEMA IF EXISTS slow CASCADE; CREATE SCHEMA slow; CREATE TABLE slow.visits (u int, x int, note text);
         INSERT INTO slow.visits SELECT g, g, 'a' || repeat(U&'\\0301', 2048) || repeat(U&'\\0323', 3000) FROM generate_series(1, 24) g",
    );
    let catalog = format!(
        "name = \"slow\"\n[unit]\nwhose = \"person\"\n[budget]\nepsilon = 9\nledger = \"slow.ledger\"\n[engine]\nkind = \"postgres\"\ntimeout = 1\n[limits]\nrows_per_group = 1\n[tables.t]\nsource = \"{}\"\ntable = \"slow.visits\"\nunit = \"u\"\n[tables.t.columns]\nu = {{ kind = \"int\" }}\nx = {{ kind = \"int\", bounds = [0, 9] }}\nnote = {{ kind = \"text\" }}",
        connection()
    );
    let directory = tempfile::tempdir().unwrap();
    let catalog = Catalog::parse(&catalog, directory.path()).unwrap();
    let sql = "SELECT SUM(x) FROM t WHERE note <> 'z'";
    assert!(
        why(sql, &catalog).starts_with("PostgreSQL"),
        "{}",
        why(sql, &catalog)
    );
    let ask = crate::QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("1").unwrap()),
        ..crate::QueryRequest::new(sql, "tester")
    };
    let dataset = crate::dataset::blocking::Dataset::new(catalog.clone()).unwrap();
    let error = dataset.query(&ask).unwrap_err();
    assert!(matches!(error, crate::Error::Engine { .. }), "{error}");
    let spent =
        |dataset: &crate::dataset::blocking::Dataset| dataset.ledger().unwrap().charges().unwrap().len();
    assert_eq!(spent(&dataset), 1, "the charge is kept");
    // Without the timeout the same question goes on under the same charge.
    let mut patient = catalog;
    patient.engine.timeout = None;
    let dataset = crate::dataset::blocking::Dataset::new(patient).unwrap();
    assert!(dataset.query(&ask).unwrap().resumed);
    assert_eq!(spent(&dataset), 1);
}
