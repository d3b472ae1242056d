//! What is guessed: kinds, where the curator lets somebody look, and the unit of several tables.

use super::drafted;
use crate::catalog::{Catalog, Owner};
use crate::draft::{DraftOptions, FILL_IN, KindsFrom, marked};
use crate::values::facts::Kind;
use std::path::Path;

/// Persons, their visits and the departments, as CSV files.
fn clinic(folder: &Path) {
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write(
        "patients.csv",
        "id,born,weight,ward\n7,1815-12-10,61.5,eyes\n8,1906-12-09,NA,skin\n",
    );
    write(
        "visits.csv",
        "visit_id,patient_id,employee_id,seen,cost,urgent,zip\n1,7,3,2026-01-01 10:00:00,424242,true,00133\n2,8,3,2026-01-02 11:00:00,12,false,20095\n",
    );
    write("staff.csv", "employee_id,name\n3,Ada Lovelace\n");
    write("departments.csv", "department,beds\neyes,20\nskin,10\n");
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_string_lossy().into_owned()
}

#[test]
fn kinds_are_guessed_from_the_data_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    clinic(folder.path());
    let options = DraftOptions {
        public: vec![path(folder.path(), "departments.csv")],
        kinds: KindsFrom::Data,
        ..DraftOptions::default()
    };
    let files = ["patients.csv", "visits.csv", "departments.csv"];
    let text = drafted(folder.path(), &files, options).unwrap();
    assert!(!text.contains("424242") && !text.contains("61.5"), "{text}");
    assert!(text.contains("# NOT PRIVATE: kinds of CSV columns"), "{text}");
    insta::assert_snapshot!(text);
    let catalog = Catalog::parse(&text, folder.path()).unwrap();
    let kinds = |table: &str| -> Vec<Kind> {
        let columns = &catalog.table(table).unwrap().columns;
        columns.iter().map(|(_, facts)| facts.kind).collect()
    };
    assert_eq!(
        kinds("patients"),
        [Kind::Int, Kind::Date, Kind::Float, Kind::Text]
    );
    assert_eq!(
        kinds("visits"),
        [
            Kind::Int,
            Kind::Int,
            Kind::Int,
            Kind::Timestamp,
            Kind::Int,
            Kind::Bool,
            Kind::Text
        ]
    );
    let facts = |table: &str| catalog.table(table).unwrap().columns.clone();
    for (column, facts) in [facts("patients"), facts("visits")].concat() {
        assert!(
            facts.range.is_none() && facts.values.is_none(),
            "{column}: taken from private data"
        );
    }
    assert_eq!(catalog.table("patients").unwrap().csv.nulls, ["NA"]);
    assert_eq!(catalog.table("departments").unwrap().owner, Owner::Public);
    assert!(
        catalog
            .table("departments")
            .unwrap()
            .column("beds")
            .unwrap()
            .range
            .is_some()
    );
    // Two units to confirm, and the bounds of two columns of numbers that people sum.
    let left: Vec<&str> = marked(&text, FILL_IN).iter().map(|mark| mark.text).collect();
    assert_eq!(left.len(), 4, "{left:#?}");
}

#[test]
fn kinds_are_guessed_from_a_public_sample_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    clinic(folder.path());
    std::fs::write(
        folder.path().join("sample.csv"),
        "patient_id,cost,seen,ward\n1,2.5,2020-01-01 00:00:00,x\n",
    )
    .unwrap();
    let samples = |names: &[&str]| DraftOptions {
        kinds: KindsFrom::Samples(names.iter().map(|name| folder.path().join(name)).collect()),
        ..DraftOptions::default()
    };
    let text = drafted(folder.path(), &["visits.csv"], samples(&["sample.csv"])).unwrap();
    let catalog = Catalog::parse(&text, folder.path()).unwrap();
    let kind = |column: &str| catalog.table("visits").unwrap().column(column).unwrap().kind;
    // The data has whole numbers, and the sample has none.
    assert_eq!(kind("cost"), Kind::Float);
    assert_eq!(kind("seen"), Kind::Timestamp);
    // Identifiers of a sample tell nothing of ours.
    assert_eq!(kind("patient_id"), Kind::Text);
    assert!(
        text.contains("urgent = { kind = \"text\" }  # FILL IN its kind: the sample does not tell"),
        "{text}"
    );
    assert!(!text.contains("NOT PRIVATE"), "{text}");
    // Two samples that disagree tell nothing.
    std::fs::write(folder.path().join("other.csv"), "cost\n7\n").unwrap();
    let text = drafted(
        folder.path(),
        &["visits.csv"],
        samples(&["sample.csv", "other.csv"]),
    )
    .unwrap();
    assert!(
        text.contains("cost = { kind = \"text\" }  # FILL IN its kind"),
        "{text}"
    );
    let error = drafted(folder.path(), &["visits.csv"], samples(&["none.csv"])).unwrap_err();
    assert!(error.to_string().contains("none.csv"), "{error}");
}

/// Whoever protects patients in one table and nurses in the next protects neither.
#[test]
fn one_unit_is_proposed_for_all_tables() {
    let folder = tempfile::tempdir().unwrap();
    clinic(folder.path());
    let files = ["staff.csv", "visits.csv", "patients.csv"];
    let text = drafted(folder.path(), &files, DraftOptions::default()).unwrap();
    assert!(text.contains("whose = \"patient\""), "{text}");
    for unit in ["unit = \"patient_id\"", "unit = \"id\""] {
        assert!(
            text.contains(&format!("{unit}  # FILL IN: confirm that this column"))
                && text.contains("It is in 2 tables."),
            "{unit}: {text}"
        );
    }
    assert!(!text.contains("unit = \"employee_id\""), "{text}");
    // What was said needs no confirmation, and decides.
    let options = DraftOptions {
        unit: Some("employee_id".to_owned()),
        ..DraftOptions::default()
    };
    let text = drafted(folder.path(), &files, options).unwrap();
    assert_eq!(text.matches("\nunit = \"employee_id\"\n").count(), 2, "{text}");
    assert!(
        !text.contains("unit = \"id\"") && text.contains("whose = \"employee\""),
        "{text}"
    );
}

/// A catalog whose tables name the same person in two ways is refused, so none is drafted.
#[test]
fn tables_agree_on_the_kind_of_their_unit() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("a.csv", "person_id,x\n1,2\n");
    write("b.csv", "person_id,x\n007,2\n");
    let options = || DraftOptions {
        kinds: KindsFrom::Data,
        ..DraftOptions::default()
    };
    let kinds = |files: &[&str]| -> Vec<Kind> {
        let text = drafted(folder.path(), files, options()).unwrap();
        let catalog = Catalog::parse(&text, folder.path()).unwrap();
        let unit = |file: &&str| {
            catalog
                .table(&file[..1])
                .unwrap()
                .column("person_id")
                .unwrap()
                .kind
        };
        files.iter().map(unit).collect()
    };
    assert_eq!(kinds(&["a.csv"]), [Kind::Int]);
    assert_eq!(kinds(&["b.csv"]), [Kind::Text]);
    assert_eq!(kinds(&["a.csv", "b.csv"]), [Kind::Text, Kind::Text]);
}

/// Floats name nobody, whatever their column is called.
#[test]
fn a_column_that_cannot_name_a_unit_is_not_proposed() {
    use crate::sources::tests_support::parquet;
    use datafusion::arrow::array::{ArrayRef, Float64Array, StringArray};
    use std::sync::Arc;
    let folder = tempfile::tempdir().unwrap();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("person_id", Arc::new(Float64Array::from(vec![1.5, 2.5]))),
        ("email", Arc::new(StringArray::from(vec!["a", "b"]))),
    ];
    parquet(&folder.path().join("visits.parquet"), columns);
    let text = drafted(folder.path(), &["visits.parquet"], DraftOptions::default()).unwrap();
    assert!(
        text.contains("unit = \"email\"") && !text.contains("unit = \"person_id\""),
        "{text}"
    );
}
