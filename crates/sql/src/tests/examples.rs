//! Rows as examples for training: how they are coded comes from the catalog alone, and no row can raise an error.

use crate::dataset::blocking::Dataset;
use crate::{Catalog, Coding, Error, Kind, encoding, left_out, public_file_examples};
use std::path::Path;

const CATALOG: &str = r#"
name = "clinic"
[unit]
whose = "patient"
[budget]
epsilon = 1
delta = 1e-6
ledger = "ledger"
[tables.visits]
source = "visits.csv"
unit = "id"
[tables.visits.columns]
id = { kind = "int" }
age = { kind = "int", bounds = [0, 100] }
ward = { kind = "text", values = ["north", "south"] }
fever = { kind = "bool" }
notes = { kind = "text" }
[tables.wards]
source = "visits.csv"
public = true
[tables.wards.columns]
ward = { kind = "text" }
"#;

const ROWS: &str = "id,age,ward,fever,notes
1,50,north,true,calm
2,,south,false,restless
1,1000,elsewhere,true,
,30,north,true,nobody's
3,abc,north,maybe,\"no label\"
2,0,north,false,slept
";

fn dataset(directory: &Path) -> Dataset {
    std::fs::write(directory.join("visits.csv"), ROWS).unwrap();
    std::fs::write(directory.join("deniable.toml"), CATALOG).unwrap();
    Dataset::new(Catalog::read(directory.join("deniable.toml")).unwrap()).unwrap()
}

#[test]
fn rows_are_coded_by_what_is_declared() {
    let directory = tempfile::tempdir().unwrap();
    let dataset = dataset(directory.path());
    let encoding = encoding(dataset.catalog(), "Visits", "fever", &[]).unwrap();
    let names: Vec<&str> = encoding.features.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["age", "ward"],
        "neither the owner, nor the label, nor text without values"
    );
    assert_eq!(encoding.width(), 4);
    assert_eq!(encoding.classes().unwrap(), ["false", "true"]);
    let examples = dataset.read_examples("visits", &encoding).unwrap();
    assert_eq!(
        examples.features,
        [
            [-1.0, 0.0, 1.0, 0.0],
            [0.0, 1.0, 0.0, 1.0],
            [0.0, 0.0, 1.0, 0.0],
            [1.0, 0.0, 0.0, 0.0],
        ]
        .concat()
    );
    assert_eq!(examples.labels, [0.0, 0.0, 1.0, 1.0]);
    // Rows of one unit are its own wherever they lie; a row of nobody and one without a label are no examples.
    assert_eq!(examples.units, 3, "the third has no label, and is there");
    assert_eq!(examples.owners, [0, 0, 1, 1]);
    // A run of training goes on with the same data, in whatever order they are stored by then.
    let mut lines: Vec<&str> = ROWS.lines().collect();
    lines[1..].reverse();
    std::fs::write(directory.path().join("visits.csv"), lines.join("\n")).unwrap();
    let reversed = dataset.read_examples("visits", &encoding).unwrap();
    assert_eq!(
        (&reversed.features, &reversed.labels, &reversed.owners),
        (&examples.features, &examples.labels, &examples.owners)
    );
}

#[test]
fn numbers_are_learned_too() {
    let directory = tempfile::tempdir().unwrap();
    let dataset = dataset(directory.path());
    let encoding = encoding(dataset.catalog(), "visits", "age", &["ward".to_owned()]).unwrap();
    assert_eq!(encoding.classes(), None);
    let label = Coding::Number {
        low: 0.0,
        high: 100.0,
        nullable: false,
        kind: Kind::Int,
    };
    assert_eq!(encoding.label.1, label);
    let examples = dataset.read_examples("visits", &encoding).unwrap();
    assert_eq!(examples.labels, [1.0, 0.0, -1.0]);
}

#[test]
fn texts_come_with_their_owners() {
    let directory = tempfile::tempdir().unwrap();
    let dataset = dataset(directory.path());
    let texts = dataset.read_texts("visits", "NOTES").unwrap();
    assert_eq!(texts.texts, ["", "calm", "no label", "restless", "slept"]);
    assert_eq!(texts.owners, [0, 0, 1, 2, 2]);
}

#[test]
fn what_the_catalog_does_not_say_is_refused_before_anything_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let dataset = dataset(directory.path());
    std::fs::remove_file(directory.path().join("visits.csv")).unwrap();
    let refused = |table: &str, label: &str, features: &[&str]| {
        let features: Vec<String> = features.iter().map(|name| (*name).to_owned()).collect();
        match encoding(dataset.catalog(), table, label, &features) {
            Err(Error::Refused { what, hint }) => {
                assert!(!hint.is_empty());
                what
            }
            other => panic!("{other:?}"),
        }
    };
    assert!(refused("visits", "nothing", &[]).contains("no column"));
    assert!(refused("nowhere", "fever", &[]).contains("no table"));
    assert!(refused("wards", "ward", &[]).contains("public"));
    assert!(refused("visits", "notes", &[]).contains("becomes numbers"));
    assert!(refused("visits", "fever", &["notes"]).contains("becomes numbers"));
    assert!(refused("visits", "fever", &["fever"]).contains("learned"));
}

/// A header and a catalog may write names as they like: options find them in any case, and models call them as they are declared.
#[test]
fn names_with_capitals_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let rows = ROWS.replacen("id,age,ward,fever,notes", "Id,Age,ward,Fever,Notes", 1);
    let catalog = CATALOG
        .replacen("unit = \"id\"", "unit = \"Id\"", 1)
        .replacen("id = { kind = \"int\" }", "Id = { kind = \"int\" }", 1)
        .replacen("\nage =", "\nAge =", 1)
        .replacen("\nfever =", "\nFever =", 1)
        .replacen("\nnotes =", "\nNotes =", 1);
    let plain = dataset(directory.path());
    let expected = encoding(plain.catalog(), "visits", "fever", &[]).unwrap();
    let expected = plain.read_examples("visits", &expected).unwrap();
    std::fs::write(directory.path().join("visits.csv"), rows).unwrap();
    std::fs::write(directory.path().join("deniable.toml"), catalog).unwrap();
    let dataset = Dataset::new(Catalog::read(directory.path().join("deniable.toml")).unwrap()).unwrap();
    for label in ["Fever", "fever", "FEVER"] {
        for features in [vec![], vec!["AGE".to_owned(), "Ward".to_owned()]] {
            let found = encoding(dataset.catalog(), "visits", label, &features).unwrap();
            assert_eq!(found.label.0, "Fever");
            assert_eq!(found.features[0].0, "Age");
            let examples = dataset.read_examples("VISITS", &found).unwrap();
            assert_eq!(
                (&examples.features, &examples.labels, &examples.owners),
                (&expected.features, &expected.labels, &expected.owners)
            );
        }
    }
    assert_eq!(dataset.read_texts("visits", "notes").unwrap().texts.len(), 5);
}

#[test]
fn what_is_left_out_is_named_with_its_reason() {
    let directory = tempfile::tempdir().unwrap();
    let dataset = dataset(directory.path());
    let reported = |features: &[&str]| -> Vec<(String, &'static str)> {
        let features: Vec<String> = features.iter().map(|name| (*name).to_owned()).collect();
        let encoding = encoding(dataset.catalog(), "visits", "fever", &features).unwrap();
        let left = left_out(dataset.catalog(), "visits", &encoding).unwrap();
        left.into_iter().map(|left| (left.column, left.why)).collect()
    };
    let owner = ("id".to_owned(), "it says whose row it is");
    let text = ("notes".to_owned(), "the catalog does not declare its `values`");
    assert_eq!(reported(&[]), [owner.clone(), text.clone()]);
    let age = (
        "age".to_owned(),
        "it is not among the features that were asked for",
    );
    assert_eq!(reported(&["ward"]), [owner, age, text]);
}

/// A model is measured on public rows, coded as its own were; a private table is refused.
#[test]
fn public_rows_are_coded_as_private_ones() {
    let directory = tempfile::tempdir().unwrap();
    let catalog = format!(
        "{CATALOG}
[tables.held_out]
source = \"held_out.csv\"
public = true
[tables.held_out.columns]
Ward = {{ kind = \"text\" }}
age = {{ kind = \"int\" }}
fever = {{ kind = \"bool\" }}
"
    );
    std::fs::write(
        directory.path().join("held_out.csv"),
        "Ward,age,fever\nnorth,50,true\nsouth,,false\nelsewhere,1000,true\nnorth,12.5,false\nnorth,7,\n",
    )
    .unwrap();
    std::fs::write(directory.path().join("visits.csv"), ROWS).unwrap();
    std::fs::write(directory.path().join("deniable.toml"), catalog).unwrap();
    let dataset = Dataset::new(Catalog::read(directory.path().join("deniable.toml")).unwrap()).unwrap();
    let encoding = encoding(dataset.catalog(), "visits", "fever", &[]).unwrap();
    let table = dataset.public_examples("Held_Out", &encoding).unwrap();
    let file = public_file_examples(&directory.path().join("held_out.csv"), &encoding).unwrap();
    for examples in [&table, &file] {
        // The last row has no label; 12.5 is no whole number, as in training. They are in the order of what is in them.
        let rows: Vec<(&[f32], f32)> = examples
            .features
            .chunks(4)
            .zip(examples.labels.iter().copied())
            .collect();
        let mut rows: Vec<(Vec<f32>, f32)> = rows
            .iter()
            .map(|(features, label)| (features.to_vec(), *label))
            .collect();
        rows.sort_by(|left, right| left.partial_cmp(right).unwrap());
        assert_eq!(
            rows,
            [
                (vec![0.0, 0.0, 1.0, 0.0], 1.0),
                (vec![0.0, 1.0, 0.0, 1.0], 0.0),
                (vec![0.0, 1.0, 1.0, 0.0], 0.0),
                (vec![1.0, 0.0, 0.0, 0.0], 1.0),
            ]
        );
    }
    let refused = |read: Result<crate::Examples, Error>| match read {
        Err(Error::Refused { what, .. }) => what,
        _ => panic!("was read"),
    };
    assert!(refused(dataset.public_examples("visits", &encoding)).contains("is private"));
    assert!(refused(dataset.public_examples("nowhere", &encoding)).contains("no table"));
    assert!(refused(dataset.public_examples("wards", &encoding)).contains("no column"));
    std::fs::write(directory.path().join("short.csv"), "age,fever\n1,true\n").unwrap();
    let short = public_file_examples(&directory.path().join("short.csv"), &encoding);
    assert!(refused(short).contains("no column `ward`"));
    let unknown = public_file_examples(&directory.path().join("deniable.toml"), &encoding);
    assert!(refused(unknown).contains("does not say"));
}
