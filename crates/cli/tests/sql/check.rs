//! Is the data what the catalog says?

use super::{Folder, stderr, text};
use serde_json::Value;

#[test]
fn data_that_is_as_declared_passes() {
    let folder = Folder::new();
    let reported = folder.stdout(&["check"]);
    assert!(reported.starts_with("NOT PRIVATE: "), "{reported}");
    assert!(
        reported.contains("people: 300 rows of 300 units by id"),
        "{reported}"
    );
    assert!(reported.ends_with("as the catalog says\n"), "{reported}");
    assert_eq!(reported, folder.stdout(&["check", "deniable.toml", "People"]));
    let object = folder.object(&["check", "--json"]);
    assert_eq!(object["as_declared"], true);
    assert_eq!(object["tables"][0]["found"]["rows"], 300);
    // Nothing is charged, and no ledger is made.
    assert_eq!(folder.names(), ["deniable.toml", "people.csv"]);
    let refused = folder.refused(&["check", "nobody"], 2);
    assert!(refused.contains("it has people"), "{refused}");
}

#[test]
fn what_differs_is_reported_without_a_value_of_the_data() {
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
    let reported = text(&output.stdout);
    for expected in [
        "unit `id` is NULL in 1 row (0.33 %), which",
        "1 unit (0.33 %) has more than 1 row, which is what `rows_per_unit` promises",
        "the rows of a unit do not lie next to each other",
        "column `weight`: 1 value (0.33 %) is not of the declared kind",
        "column `age`: 1 value (0.33 %) lies above the bounds: sums and averages count the bound, a WHERE sees it as it is",
        "column `city`: 1 of 3 listed values never occurs: Cove",
        "column `city`: 1 value (0.33 %) is not listed: grouped by it, its row is in no group; a WHERE sees it as it is",
    ] {
        assert!(reported.contains(expected), "{expected}\n{reported}");
    }
    assert!(!reported.contains("Lovelace"), "{reported}");
    let output = folder.run(&["check", "--json"]);
    assert_eq!(output.status.code(), Some(4));
    let object: Value = serde_json::from_slice(&output.stdout).expect("an object");
    assert_eq!(object["as_declared"], false);
    assert_eq!(object["tables"][0]["findings"].as_array().map(Vec::len), Some(7));
    assert!(!text(&output.stdout).contains("Lovelace"));
    // A table that cannot be read as declared is reported too.
    folder.write("deniable.toml", &catalog.replace("weight =", "mass ="));
    let output = folder.run(&["check"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(
        text(&output.stdout).contains("has no column `mass`"),
        "{output:?}"
    );
}

/// A group for all other values makes a catalog right that does not list them.
#[test]
fn values_of_the_other_group_are_as_declared() {
    let folder = Folder::new();
    let catalog = std::fs::read_to_string(folder.path("deniable.toml")).expect("there");
    folder.write(
        "deniable.toml",
        &catalog.replace("old\\\"\"] }", "old\\\"\"], other = \"elsewhere\" }"),
    );
    let reported = folder.stdout(&["check"]);
    // Nobody lives elsewhere yet.
    assert!(
        reported.ends_with("as the catalog says\n") && !reported.contains("note: "),
        "{reported}"
    );
    let csv = std::fs::read_to_string(folder.path("people.csv")).expect("there");
    for (more, expected) in [
        (
            "300,1,Secret,1\n",
            "1 value (0.33 %) is not listed, and is read as",
        ),
        (
            "300,1,Secret,1\n301,1,Secret,1\n",
            "2 values (0.66 %), all the same, are not listed, and are read as",
        ),
        (
            "300,1,Secret,1\n301,1,Hidden,1\n",
            "2 values (0.66 %), 2 different ones, are not listed, and are read as",
        ),
    ] {
        folder.write("people.csv", &format!("{csv}{more}"));
        let reported = folder.stdout(&["check"]);
        assert!(
            reported.contains(&format!("note: column `city`: {expected} `elsewhere`")),
            "{reported}"
        );
        assert!(
            !reported.contains("Secret") && !reported.contains("Hidden"),
            "{reported}"
        );
    }
    let object = folder.object(&["check", "--json"]);
    assert_eq!(object["as_declared"], true);
    assert_eq!(object["tables"][0]["found"]["columns"][2]["other"], "elsewhere");
}

/// A curator who declared the wrong kind is told the right one, and not only that it is wrong.
#[test]
fn a_kind_that_fits_is_proposed() {
    let folder = Folder::new();
    folder.write(
        "people.csv",
        "id,age,city,weight,born,stay,code\n1,44.5,Ash,61.5,1815-12-10,3,007\n2,40,Ash,NA,1906-12-09,12,008\n",
    );
    let catalog = std::fs::read_to_string(folder.path("deniable.toml")).expect("there");
    folder.write(
        "deniable.toml",
        &format!("{catalog}born = {{ kind = \"int\" }}\nstay = {{ kind = \"text\" }}\ncode = {{ kind = \"int\" }}\n")
            .replace("[\"Ash\", \"=Bree, \\\"old\\\"\"]", "[\"Ash\"]"),
    );
    let output = folder.run(&["check"]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let reported = text(&output.stdout);
    for expected in [
        "column `age`: 1 value (50.00 %) is not of the declared kind, and is read as NULL\n  hint: every value is of another kind: declare kind = \"float\"\n",
        "column `weight`: 1 value (50.00 %) is not of the declared kind, and is read as NULL\n  hint: what is left is of that kind if nulls = [\"NA\"] says",
        "column `born`: 2 values (100.00 %) are not of the declared kind, and are read as NULL\n  hint: every value is of another kind: declare kind = \"date\"\n",
        "note: column `stay`: it is declared as text, and every value is of kind int; queries can compute with it if you declare kind = \"int\"\n",
    ] {
        assert!(reported.contains(expected), "{expected}\n{reported}");
    }
    assert!(
        !reported.contains("44.5") && !reported.contains("1815"),
        "{reported}"
    );
    let output = folder.run(&["check", "--json"]);
    let object: Value = serde_json::from_slice(&output.stdout).expect("an object");
    let kinds: Vec<&Value> = object["tables"][0]["found"]["columns"]
        .as_array()
        .expect("columns")
        .iter()
        .map(|column| &column["fitting_kind"])
        .collect();
    let none = Value::Null;
    assert_eq!(
        kinds,
        [
            &none,
            &"float".into(),
            &none,
            &"float".into(),
            &"date".into(),
            &"int".into(),
            &none
        ]
    );
}
