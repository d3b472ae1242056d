//! Tables that were released are read with the rows that they have, and whole or not at all.

use std::sync::Arc;

use super::super::{Cell, Column, ColumnType, Stop, System, SystemKind, Table};

fn column(name: &str, kind: ColumnType) -> Column {
    Column {
        name: name.to_owned(),
        kind,
        nullable: kind == ColumnType::Text,
    }
}

fn released(name: &str, rows: Vec<Vec<Cell>>) -> Table {
    Table {
        name: name.to_owned(),
        columns: vec![
            column("region", ColumnType::Text),
            column("rows", ColumnType::Float8),
            column("rows_low", ColumnType::Float8),
        ],
        released: Some(Arc::new(rows)),
    }
}

fn system() -> System {
    let row = |region: Cell, rows: f64| vec![region, Cell::Float(rows), Cell::Float(rows - 1.5)];
    let text = |text: &str| Cell::Text(text.to_owned());
    let long = (0..10_001).map(|place| row(text(&place.to_string()), 1.0));
    let tables = [
        Table {
            name: "people".to_owned(),
            columns: vec![column("region", ColumnType::Text)],
            released: None,
        },
        released(
            "census_region",
            vec![
                row(text("it's north"), 12.25),
                row(text("south"), -3.5),
                row(Cell::Null, 0.0),
            ],
        ),
        released("census_long", long.collect()),
        released("people", vec![row(text("west"), 5.0)]),
    ];
    System::new("town", &tables).expect("the catalogs are built")
}

fn rows(system: &System, sql: &str) -> Vec<Vec<Option<String>>> {
    assert!(system.answers(sql), "{sql}");
    let answer = system.query(sql, "ann", &Stop::default());
    answer.unwrap_or_else(|error| panic!("{sql}: {error}")).rows
}

fn shown(rows: &[Vec<Option<String>>]) -> Vec<String> {
    let cell = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "NULL".to_owned());
    rows.iter()
        .map(|row| row.iter().map(cell).collect::<Vec<_>>().join("|"))
        .collect()
}

#[test]
fn released_tables_are_read_and_the_datasets_are_not() {
    let system = system();
    let all = "SELECT * FROM releases.census_region";
    assert_eq!(
        shown(&rows(&system, all)),
        ["it's north|12.25|10.75", "south|-3.5|-5", "NULL|0|-1.5"]
    );
    let columns = system.columns(all, "ann", &Stop::default()).expect("columns");
    let kinds: Vec<SystemKind> = columns.iter().map(|column| column.kind).collect();
    assert_eq!(kinds, [SystemKind::Text, SystemKind::Float8, SystemKind::Float8]);
    for (sql, expected) in [
        (
            "SELECT region FROM town.releases.census_region WHERE rows > 0 ORDER BY rows DESC",
            "it's north",
        ),
        (
            "SELECT c.region FROM census_region AS c WHERE c.region = 'south'",
            "south",
        ),
        ("SELECT sum(rows) FROM releases.census_region", "8.75"),
        (
            "SELECT count(*) FROM releases.census_region WHERE region IS NULL",
            "1",
        ),
        ("SELECT region FROM releases.people", "west"),
        (
            "SELECT nspname FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid WHERE c.relname = 'census_region'",
            "releases",
        ),
        ("SELECT 'releases.census_region'::regclass", "census_region"),
        (
            "SELECT data_type FROM information_schema.columns WHERE table_schema = 'releases' AND table_name = 'census_region' AND column_name = 'rows'",
            "double precision",
        ),
    ] {
        assert_eq!(shown(&rows(&system, sql)), [expected], "{sql}");
    }
    // A table of the dataset is asked privately, also beside a released one.
    for sql in [
        "SELECT * FROM people",
        "SELECT * FROM public.people",
        "SELECT * FROM releases.census_region, people",
        "SELECT * FROM releases.census_region WHERE region IN (SELECT region FROM people)",
    ] {
        assert!(!system.answers(sql), "{sql}");
    }
    let none = system.query("SELECT * FROM releases.nothing", "ann", &Stop::default());
    let none = none.expect_err("there is none");
    assert!(none.hint.contains("/v1/releases"), "{none}");
}

#[test]
fn what_is_not_given_whole_is_refused() {
    let system = system();
    let query = |sql: &str| system.query(sql, "ann", &Stop::default());
    let all = query("SELECT * FROM releases.census_long");
    assert!(all.expect_err("it is too long").limit);
    let most = query("SELECT * FROM releases.census_long LIMIT 10000");
    assert_eq!(most.map(|answer| answer.rows.len()), Ok(10_000));
    assert_eq!(
        shown(&rows(&system, "SELECT sum(rows) FROM releases.census_long")),
        ["10001"]
    );
    // A statement over them does no more than one over the catalogs.
    let crossed = query("SELECT count(*) FROM releases.census_long a, releases.census_long b");
    assert!(crossed.expect_err("it does too much").limit);
    // SQLite's own names are nobody's.
    for sql in [
        "SELECT * FROM releases.t1",
        "SELECT c1 FROM releases.census_region",
        "DELETE FROM releases.census_region",
        "SELECT * FROM releases.sqlite_master",
    ] {
        assert!(!system.answers(sql) || query(sql).is_err(), "{sql}");
    }
}

/// Without releases nothing tells that there could be any.
#[test]
fn a_dataset_without_releases_has_no_such_schema() {
    let system = System::new("town", &[]).expect("the catalogs are built");
    let schemas = "SELECT nspname FROM pg_namespace WHERE nspname = 'releases'";
    assert!(rows(&system, schemas).is_empty());
}
