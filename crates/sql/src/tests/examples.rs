//! Rows as examples for training: how they are coded comes from the catalog alone, and no row can raise an error.

use crate::{Catalog, Coding, Dataset, Error, encoding};
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
    let examples = dataset.examples("visits", &encoding).unwrap();
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
    let reversed = dataset.examples("visits", &encoding).unwrap();
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
    };
    assert_eq!(encoding.label.1, label);
    let examples = dataset.examples("visits", &encoding).unwrap();
    assert_eq!(examples.labels, [1.0, 0.0, -1.0]);
}

#[test]
fn texts_come_with_their_owners() {
    let directory = tempfile::tempdir().unwrap();
    let dataset = dataset(directory.path());
    let texts = dataset.texts("visits", "NOTES").unwrap();
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
