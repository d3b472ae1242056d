//! The recorded texts of clients, and PostgreSQL 15's answers to them.

use std::fs;
use std::path::Path;

use super::super::{Column, ColumnType, Stop, System, Table};

/// The tables of `schema.sql`.
pub(super) fn system() -> System {
    let column = |name: &str, kind, nullable| Column {
        name: name.to_owned(),
        kind,
        nullable,
    };
    let tables = [
        Table {
            name: "people".to_owned(),
            columns: vec![
                column("id", ColumnType::Int8, false),
                column("name", ColumnType::Text, true),
                column("born", ColumnType::Date, true),
                column("active", ColumnType::Bool, false),
                column("income", ColumnType::Float8, true),
            ],
            released: None,
        },
        Table {
            name: "visits".to_owned(),
            columns: vec![
                column("person", ColumnType::Int8, false),
                column("at", ColumnType::Timestamp, true),
                column("place", ColumnType::Text, false),
                column("cost", ColumnType::Float8, true),
            ],
            released: None,
        },
        Table {
            name: "Odd Name".to_owned(),
            columns: vec![
                column("Mixed Case", ColumnType::Text, true),
                column("select", ColumnType::Int8, false),
            ],
            released: None,
        },
    ];
    System::new("health", &tables).expect("the catalogs are built")
}

/// Every recorded text, with the name of its file.
pub(super) fn recorded() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let mut texts = Vec::new();
    for client in fs::read_dir(root).expect("the texts are there") {
        let client = client.expect("a folder").path();
        if !client.is_dir() {
            continue;
        }
        for file in fs::read_dir(&client).expect("a folder") {
            let file = file.expect("a file").path();
            let name = format!(
                "{}/{}",
                client.file_name().unwrap_or_default().to_string_lossy(),
                file.file_name().unwrap_or_default().to_string_lossy()
            );
            if name.ends_with(".sql") {
                texts.push((name, fs::read_to_string(&file).expect("a text")));
            }
        }
    }
    texts.sort();
    texts
}

#[test]
fn every_recorded_text_is_answered() {
    let system = system();
    let mut failures = Vec::new();
    for (name, sql) in recorded() {
        if !system.answers(&sql) {
            failures.push(format!("{name}: not taken"));
            continue;
        }
        match (
            system.columns(&sql, "ann", &Stop::default()),
            system.query(&sql, "ann", &Stop::default()),
        ) {
            (Ok(columns), Ok(answer)) => assert_eq!(columns, answer.columns, "{name}"),
            (Err(error), _) | (_, Err(error)) => failures.push(format!("{name}: {error}")),
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// `NN.expected` beside a text is what PostgreSQL 15 answered for equal, empty tables: the names and kinds of
/// the columns, and the rows.
#[test]
fn answers_are_those_of_postgresql() {
    let system = system();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let mut compared = 0;
    for (name, sql) in recorded() {
        let Ok(expected) = fs::read_to_string(root.join(name.replace(".sql", ".expected"))) else {
            continue;
        };
        let answer = system
            .query(&sql, "deniable", &Stop::default())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let head: Vec<String> = answer
            .columns
            .iter()
            .map(|column| format!("{}:{:?}", column.name, column.kind))
            .collect();
        let mut written = head.join("\t") + "\n";
        for row in &answer.rows {
            let row: Vec<String> = row.iter().map(|value| written_value(value.as_deref())).collect();
            written += &(row.join("\t") + "\n");
        }
        assert_eq!(written, expected, "{name}");
        compared += 1;
    }
    assert!(compared > 100, "only {compared} answers were compared");
}

fn written_value(value: Option<&str>) -> String {
    match value {
        None => "\\N".to_owned(),
        Some(value) => value
            .replace('\\', "\\\\")
            .replace('\n', "\\n")
            .replace('\t', "\\t"),
    }
}
