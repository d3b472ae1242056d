//! Is the data what the catalog says?

use super::{Folder, stderr, text};
use serde_json::Value;

#[test]
fn data_that_is_as_declared_passes() {
    let folder = Folder::new();
    let told = folder.stdout(&["check"]);
    assert!(told.starts_with("NOT PRIVATE: "), "{told}");
    assert!(told.contains("people: 300 rows of 300 units by id"), "{told}");
    assert!(told.ends_with("as the catalog says\n"), "{told}");
    assert_eq!(told, folder.stdout(&["check", "deniable.toml", "People"]));
    let object = folder.object(&["check", "--json"]);
    assert_eq!(object["as_declared"], true);
    assert_eq!(object["tables"][0]["found"]["rows"], 300);
    // Nothing is charged, and no ledger is made.
    assert_eq!(folder.names(), ["deniable.toml", "people.csv"]);
    let refused = folder.refused(&["check", "nobody"], 2);
    assert!(refused.contains("it has people"), "{refused}");
}

#[test]
fn what_differs_is_told_without_a_value_of_the_data() {
    let folder = Folder::new();
    let mut csv = std::fs::read_to_string(folder.path("people.csv")).expect("there");
    csv += "7,101,Lovelace,x\n,12,Ash,1\n";
    folder.write("people.csv", &csv);
    let catalog = std::fs::read_to_string(folder.path("deniable.toml")).expect("there");
    let catalog = catalog.replace("rows_per_unit = 1", "rows_per_unit = 1\nclustered = true");
    folder.write(
        "deniable.toml",
        &catalog.replace("[\"Ash\", ", "[\"Ash\", \"Cove\", "),
    );
    let output = folder.run(&["check"]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let told = text(&output.stdout);
    for expected in [
        "unit `id` is NULL in 1 (0.33 %) rows",
        "1 (0.33 %) units have more than 1 row, which is what `rows_per_unit` promises",
        "the rows of a unit do not lie next to each other",
        "column `weight`: 1 (0.33 %) values are not of the declared kind",
        "column `age`: 1 (0.33 %) values lie above the bounds",
        "column `city`: 1 of 3 listed values never occur: Cove",
        "column `city`: 1 (0.33 %) values, 1 different ones, are not listed",
    ] {
        assert!(told.contains(expected), "{expected}\n{told}");
    }
    assert!(!told.contains("Lovelace"), "{told}");
    let output = folder.run(&["check", "--json"]);
    assert_eq!(output.status.code(), Some(4));
    let object: Value = serde_json::from_slice(&output.stdout).expect("an object");
    assert_eq!(object["as_declared"], false);
    assert_eq!(object["tables"][0]["findings"].as_array().map(Vec::len), Some(7));
    assert!(!text(&output.stdout).contains("Lovelace"));
    // A table that cannot be read as declared is told too.
    folder.write("deniable.toml", &catalog.replace("weight =", "mass ="));
    let output = folder.run(&["check"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(
        text(&output.stdout).contains("has no column `mass`"),
        "{output:?}"
    );
}
