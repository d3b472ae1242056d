mod guessed;

use super::{DraftOptions, draft};
use crate::catalog::{Catalog, Owner};
use crate::sources::tests_support::{parquet, run};
use crate::values::facts::{Kind, Range, Value};
use datafusion::arrow::array::{ArrayRef, Int64Array, ListArray, StringArray};
use datafusion::arrow::datatypes::Int64Type;
use std::path::Path;
use std::sync::Arc;

const SECRET: &str = "Ada Lovelace";

fn drafted(directory: &Path, files: &[&str], options: DraftOptions) -> Result<String, crate::Error> {
    let sources: Vec<_> = files
        .iter()
        .map(|file| directory.join(file).to_string_lossy().into_owned())
        .collect();
    let options = DraftOptions {
        directory: directory.to_owned(),
        ..options
    };
    run(draft(&sources, &options))
}

fn people(directory: &Path) {
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(424_242)]), None]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("person_id", Arc::new(Int64Array::from(vec![424_242, 2]))),
        ("Full Name", Arc::new(StringArray::from(vec![SECRET, "Bob"]))),
        ("age", Arc::new(Int64Array::from(vec![36, 424_242]))),
        ("history", Arc::new(lists)),
    ];
    parquet(&directory.join("people.parquet"), columns);
}

#[test]
fn a_parquet_file_is_drafted_from_its_schema() {
    let directory = tempfile::tempdir().unwrap();
    people(directory.path());
    let text = drafted(directory.path(), &["people.parquet"], DraftOptions::default()).unwrap();
    assert!(!text.contains(SECRET) && !text.contains("424242"), "{text}");
    insta::assert_snapshot!(text);
    assert!(text.contains("# history: left out"), "{text}");
    let catalog = Catalog::parse(&text, directory.path()).unwrap();
    assert_eq!(catalog.name, "people");
    assert_eq!(catalog.unit.whose, "person");
    let table = catalog.table("people").unwrap();
    assert_eq!(table.owner, Owner::Column("person_id".to_owned()));
    let kinds: Vec<_> = table
        .columns
        .iter()
        .map(|(name, facts)| (name.as_str(), facts.kind))
        .collect();
    assert_eq!(
        kinds,
        [
            ("person_id", Kind::Int),
            ("Full Name", Kind::Text),
            ("age", Kind::Int)
        ]
    );
}

#[test]
fn a_csv_file_is_drafted_from_its_header() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(
        directory.path().join("orders 2026.csv"),
        format!("Order,CustomerID,\"say \"\"what\"\"\"\n1,2,{SECRET}\n"),
    )
    .unwrap();
    let options = DraftOptions {
        name: Some("shop".to_owned()),
        clustered: true,
        ..DraftOptions::default()
    };
    let text = drafted(directory.path(), &["orders 2026.csv"], options).unwrap();
    assert!(!text.contains(SECRET), "{text}");
    let catalog = Catalog::parse(&text, directory.path()).unwrap();
    assert_eq!(catalog.name, "shop");
    assert_eq!(catalog.unit.whose, "customer");
    let table = catalog.table("orders_2026").unwrap();
    assert_eq!(table.owner, Owner::Column("CustomerID".to_owned()));
    assert!(table.clustered);
    assert!(table.columns.iter().all(|(_, facts)| facts.kind == Kind::Text));
    assert!(table.column("say \"what\"").is_some());
}

/// What a curator may add is written as a comment, and is right when the comment is one no more.
#[test]
fn hints_of_a_draft_can_be_taken() {
    use datafusion::arrow::array::{Date32Array, TimestampMicrosecondArray};
    let directory = tempfile::tempdir().unwrap();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("person_id", Arc::new(Int64Array::from(vec![1, 2]))),
        ("ward", Arc::new(StringArray::from(vec![SECRET, "b"]))),
        ("day", Arc::new(Date32Array::from(vec![1, 2]))),
        ("at", Arc::new(TimestampMicrosecondArray::from(vec![1, 2]))),
    ];
    parquet(&directory.path().join("visits.parquet"), columns);
    std::fs::write(
        directory.path().join("costs.csv"),
        format!("person_id,cost\n1,{SECRET}\n"),
    )
    .unwrap();
    let text = drafted(
        directory.path(),
        &["visits.parquet", "costs.csv"],
        DraftOptions::default(),
    )
    .unwrap();
    assert!(!text.contains(SECRET), "{text}");
    let mut taken = String::new();
    for line in text.lines() {
        let hint = line
            .strip_prefix("# nulls =")
            .or_else(|| line.strip_prefix("# decimal ="));
        if hint.is_some() {
            taken += &line[2..];
        } else if let Some((column, hint)) = line.split_once(" }  # ")
            && let Some((keys, _)) = hint.split_once(" to group by it")
        {
            taken += &format!("{column}, {} }}", keys.replace("\"…\", \"…\"", "\"a\", \"b\""));
        } else {
            taken += line;
        }
        taken += "\n";
    }
    let taken = taken.replace("person_id = { kind = \"text\"", "person_id = { kind = \"int\"");
    let catalog = Catalog::parse(&taken, directory.path()).unwrap();
    let visits = catalog.table("visits").unwrap();
    assert_eq!(visits.other, [("ward".to_owned(), "other".to_owned())]);
    for day in ["day", "at"] {
        assert!(visits.column(day).unwrap().range.is_some(), "{day}: {taken}");
    }
    let csv = &catalog.table("costs").unwrap().csv;
    assert_eq!(csv.nulls, ["", "NA"]);
    assert!(text.matches("# nulls = ").count() == 1, "{text}");
}

#[test]
fn a_unit_that_cannot_be_guessed_must_be_filled_in() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("visits.csv"), "id,minutes\n1,2\n").unwrap();
    let text = drafted(directory.path(), &["visits.csv"], DraftOptions::default()).unwrap();
    // `id` may number the visits: it is not taken for a person.
    let error = Catalog::parse(&text, directory.path()).unwrap_err().to_string();
    assert!(error.contains("tables.visits: whose rows are these?"), "{error}");
    let filled = text.replace("# each_row = true ", "each_row = true ");
    assert_eq!(
        Catalog::parse(&filled, directory.path())
            .unwrap()
            .table("visits")
            .unwrap()
            .owner,
        Owner::EachRow
    );
    // In a table of patients it is.
    std::fs::write(directory.path().join("patients.csv"), "id,minutes\n1,2\n").unwrap();
    let text = drafted(directory.path(), &["patients.csv"], DraftOptions::default()).unwrap();
    let catalog = Catalog::parse(&text, directory.path()).unwrap();
    assert_eq!(catalog.unit.whose, "patient");
    // And anywhere, when it is said.
    let options = DraftOptions {
        unit: Some("id".to_owned()),
        ..DraftOptions::default()
    };
    let text = drafted(directory.path(), &["visits.csv"], options).unwrap();
    let catalog = Catalog::parse(&text, directory.path()).unwrap();
    assert_eq!(
        catalog.table("visits").unwrap().owner,
        Owner::Column("id".to_owned())
    );
}

#[test]
fn a_first_line_of_data_is_not_taken_for_names() {
    let directory = tempfile::tempdir().unwrap();
    for (file, line) in [
        ("a.csv", "Ada Lovelace,36"),
        ("b.csv", "name,ada@lovelace.org"),
        ("c.csv", "name,1815-12-10"),
    ] {
        std::fs::write(directory.path().join(file), format!("{line}\nx,y\n")).unwrap();
        let error = drafted(directory.path(), &[file], DraftOptions::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains("looks like data"), "{error}");
        assert!(!error.to_lowercase().contains("lovelace"), "{error}");
    }
}

#[test]
fn many_tables_make_one_catalog() {
    let directory = tempfile::tempdir().unwrap();
    people(directory.path());
    std::fs::create_dir(directory.path().join("visits")).unwrap();
    for part in ["1.csv", "2.csv"] {
        std::fs::write(
            directory.path().join("visits").join(part),
            "person_id,day\n1,2026-01-01\n",
        )
        .unwrap();
    }
    std::fs::create_dir(directory.path().join("old")).unwrap();
    std::fs::copy(
        directory.path().join("people.parquet"),
        directory.path().join("old/people.parquet"),
    )
    .unwrap();
    let files = ["people.parquet", "old/people.parquet", "visits"];
    let text = drafted(directory.path(), &files, DraftOptions::default()).unwrap();
    let text = text.replace(
        "person_id = { kind = \"text\" }",
        "person_id = { kind = \"int\" }",
    );
    let catalog = Catalog::parse(&text, directory.path()).unwrap();
    let names: Vec<_> = catalog.tables.keys().map(String::as_str).collect();
    assert_eq!(names, ["people", "people_2", "visits"]);
    assert!(text.contains("source = \"visits\"\nformat = \"csv\""), "{text}");
    let error = drafted(directory.path(), &[], DraftOptions::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("no table to write a catalog of"), "{error}");
    let error = drafted(directory.path(), &["none.txt"], DraftOptions::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("no CSV or Parquet file"), "{error}");
}

#[test]
fn public_data_is_looked_at() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(
        directory.path().join("regions.csv"),
        "code,name,share,size,founded,seen,large,color\n\
         7,North, 0.5 ,10,1815-12-10,2020-01-01 10:00:00,true,red\n\
         8,South,1e3,-3,1900-01-01,2021-01-01 11:30:00,false,red\n\
         9,West,,5,2000-02-29,2022-01-01 00:00:00,true,\"blue\"\"\"\n",
    )
    .unwrap();
    let options = DraftOptions {
        public: vec![
            directory
                .path()
                .join("regions.csv")
                .to_string_lossy()
                .into_owned(),
        ],
        ..DraftOptions::default()
    };
    let text = drafted(directory.path(), &["regions.csv"], options).unwrap();
    let catalog = Catalog::parse(&text, directory.path()).unwrap();
    let table = catalog.table("regions").unwrap();
    assert_eq!(table.owner, Owner::Public);
    assert_eq!(table.keys, [["code"], ["name"], ["size"]]);
    let facts = |name: &str| table.column(name).unwrap();
    let kinds: Vec<_> = table.columns.iter().map(|(_, facts)| facts.kind).collect();
    assert_eq!(
        kinds,
        [
            Kind::Int,
            Kind::Text,
            Kind::Float,
            Kind::Int,
            Kind::Date,
            Kind::Timestamp,
            Kind::Bool,
            Kind::Text
        ]
    );
    assert_eq!(facts("share").range, Range::new(0.5, 1000.0));
    assert!(facts("share").nullable && !facts("size").nullable);
    assert_eq!(facts("size").range, Range::new(-3.0, 10.0));
    let text = |text: &str| Value::Text(text.to_owned());
    assert_eq!(
        facts("color").values.as_deref(),
        Some(&[text("blue\""), text("red")][..])
    );
    assert_eq!(facts("name").values, None, "a key is not a list of groups");
}
