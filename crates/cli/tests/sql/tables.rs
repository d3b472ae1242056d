//! Planned releases: explained for nothing, charged once whatever happens, and answering questions ever after.

use super::{Folder, command, stderr, text};
use serde_json::Value;
use std::process::Stdio;

const RELEASE: &str = "
[tables.towns]
source = \"towns.csv\"
public = true
[tables.towns.columns]
city = { kind = \"text\" }
land = { kind = \"text\" }
[releases.census]
table = \"people\"
up_to = 2
epsilon = 1
[releases.census.attributes]
city = { hierarchy = \"towns\", levels = [\"land\", \"city\"] }
age = { bins = [0, 18, 65, 101] }
";

fn folder() -> Folder {
    let folder = Folder::new();
    let catalog = std::fs::read_to_string(folder.path("deniable.toml")).expect("a catalog");
    let catalog = catalog
        .replace("epsilon = 2\n", "epsilon = 2\ndelta = 1e-6\n")
        .replace("epsilon = 0.5\n", "epsilon = 0.5\ndelta = 1e-9\n")
        .replace(
            "city = { kind = \"text\",",
            "city = { kind = \"text\", nullable = false,",
        )
        .replace("bounds = [0, 100] }", "bounds = [0, 100], nullable = false }");
    folder.write("deniable.toml", &(catalog + RELEASE));
    folder.write(
        "towns.csv",
        "city,land\nAsh,North\n\"=Bree, \"\"old\"\"\",South\n",
    );
    folder
}

/// The number of rows of a cell of a table, and its interval: the column that has one.
fn cell(table: &Value, place: usize) -> (f64, f64, f64) {
    let row = table["rows"][place].as_object().expect("a row");
    let count = row
        .values()
        .find(|cell| cell.get("low").is_some())
        .expect("a count");
    let number = |name: &str| count[name].as_f64().unwrap_or_else(|| panic!("{name}: {count}"));
    (number("value"), number("low"), number("high"))
}

#[test]
fn explaining_spends_nothing_and_says_how_exact_each_table_will_be() {
    let folder = folder();
    let before = folder.names();
    let planned = folder.stdout(&["tables", "plan"]);
    assert!(
        planned.contains("census: 6 tables of people") && planned.contains("0 to 17, 18 to 64, 65 to 101"),
        "{planned}"
    );
    let explained = folder.stdout(&["tables", "explain"]);
    for word in [
        "land × age",
        "city × age",
        "where the budget goes",
        "nothing was spent",
        "each person counts with one row",
    ] {
        assert!(explained.contains(word), "{word}: {explained}");
    }
    let object = folder.object(&["tables", "explain", "--json"]);
    let names: Vec<&str> = object["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["total", "land", "city", "age", "land × age", "city × age"]
    );
    let shares: f64 = object["shares"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["share"].as_f64().unwrap())
        .sum();
    assert!((shares - 1.0).abs() < 1e-6, "{shares}");
    assert_eq!(object["made_by_charge"], Value::Null);
    // The smallest ε for an error is enough, and a smaller one is not.
    let found = folder.object(&["tables", "explain", "--error", "5", "--json"]);
    let epsilon = found["found_epsilon"].as_str().expect("an ε").to_owned();
    let errors = |epsilon: &str| {
        let object = folder.object(&["tables", "explain", "--epsilon", epsilon, "--json"]);
        let errors = object["tables"].as_array().unwrap().iter();
        errors
            .map(|one| one["expected_error"].as_f64().unwrap())
            .fold(0.0, f64::max)
    };
    let less = format!("{}", epsilon.parse::<f64>().unwrap() * 0.98);
    assert!(errors(&epsilon) <= 5.0 && errors(&less) > 5.0, "{epsilon}");
    assert_eq!(folder.names(), before, "nothing was made by looking");
    folder.refused(&["tables", "show"], 2);
    folder.refused(&["tables", "explain", "nobody"], 2);
    folder.refused(&["tables", "explain", "--error", "1e-9"], 2);
}

#[test]
fn a_release_is_charged_once_and_answers_questions() {
    let folder = folder();
    let query = "SELECT city, COUNT(*) AS people FROM people WHERE age < 65 GROUP BY city";
    let explained = folder.stdout(&["explain", query]);
    assert!(!explained.contains("the release `census`"), "{explained}");
    let first = folder.object(&["tables", "release", "--json"]);
    assert_eq!(
        (&first["repeated"], &first["resumed"]),
        (&Value::Bool(false), &Value::Bool(false))
    );
    let charges = || {
        folder.object(&["budget", "--json"])["charges"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(charges(), 1);
    // The same for nothing, for everybody, with the same numbers.
    let again = folder.object(&["tables", "release", "--json", "--analyst", "bob"]);
    assert_eq!(again["repeated"], true);
    assert_eq!(
        (&first["tables"], &first["measurements"]),
        (&again["tables"], &again["measurements"])
    );
    assert_eq!(charges(), 1);
    let entry = &folder.object(&["budget", "--json"])["charges"][0];
    assert_eq!(entry["purpose"], "release census of people");
    assert_eq!(entry["answered"], true);
    // Tables agree: the cells of each add up to the total.
    let tables = first["tables"].as_array().unwrap();
    let (total, low, high) = cell(&tables[0], 0);
    assert!(
        low < total && total < high && (total - 300.0).abs() < 60.0,
        "{total}"
    );
    for table in tables {
        let rows = table["rows"].as_array().unwrap().len();
        let sum: f64 = (0..rows).map(|place| cell(table, place).0).sum();
        assert!((sum - total).abs() < 1e-6, "{}: {sum}", table["name"]);
    }
    // A question that it tells is answered from it, and one that it does not tell is charged.
    let explained = folder.stdout(&["explain", query]);
    assert!(
        explained.contains("the release `census` (charge") && explained.contains("a fresh answer"),
        "{explained}"
    );
    let told = folder.object(&["query", "--json", query]);
    assert_eq!((&told["repeated"], charges()), (&Value::Bool(true), 1));
    let by_age = folder.object(&["tables", "show", "--by", "age,city", "--json"]);
    let expected = cell(&by_age, 0).0 + cell(&by_age, 1).0;
    let (value, ..) = cell(&told, 0);
    assert!((value - expected).abs() <= 0.5, "{value} {expected}");
    for asked in [
        vec!["query", "--json", "--fresh", query],
        vec!["query", "--json", "SELECT COUNT(*) FROM people WHERE age < 64"],
    ] {
        let before = charges();
        assert_eq!(folder.object(&asked)["repeated"], false);
        assert_eq!(charges(), before + 1, "{asked:?}");
    }
    // What was asked of the data before is given again, and not what the release tells.
    let answered = folder.object(&["query", "--json", query]);
    assert_eq!(answered["repeated"], true);
    folder.refused(&["tables", "show", "--by", "weight"], 2);
}

#[test]
fn tables_are_exported() {
    let folder = folder();
    folder.refused(&["tables", "export", "--output", "out"], 2);
    assert!(folder.run(&["tables", "release", "--quiet"]).status.success());
    folder.stdout(&["tables", "export", "--output", "out"]);
    let csv = std::fs::read_to_string(folder.path("out/land+age.csv")).expect("a table");
    let mut lines = csv.lines();
    let header = lines.next().unwrap_or_default();
    assert!(
        header.starts_with("# release census of people: ε = ") && header.contains("each person"),
        "{header}"
    );
    assert_eq!(lines.next(), Some("land,age,rows,rows_low,rows_high"));
    assert_eq!(lines.count(), 6);
    folder.stdout(&["tables", "export", "--output", "out", "--format", "parquet"]);
    let parquet = std::fs::read(folder.path("out/city.parquet")).expect("a table");
    assert!(parquet.starts_with(b"PAR1"));
    folder.stdout(&["tables", "export", "--output", "census.json"]);
    let object: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path("census.json")).unwrap()).unwrap();
    assert_eq!(object["tables"].as_array().map(Vec::len), Some(6));
    assert!(object["measurements"].is_object() && object["guarantee"].is_string());
    folder.refused(&["tables", "export", "--output", "people.csv"], 2);
    folder.stdout(&["tables", "explain", "--html", "errors.html"]);
    let page = std::fs::read_to_string(folder.path("errors.html")).unwrap();
    assert!(
        page.contains("<svg") && page.contains("land × age"),
        "no heat map"
    );
}

#[test]
fn what_cannot_be_afforded_or_planned_is_refused_before_the_charge() {
    let folder = folder();
    let refusal = folder.refused(&["tables", "release", "--epsilon", "3"], 3);
    assert!(
        refusal.contains("budget") || refusal.contains("left"),
        "{refusal}"
    );
    folder.write(
        "towns.csv",
        "city,land\nAsh,North\nAsh,South\n\"=Bree, \"\"old\"\"\",South\n",
    );
    let refusal = folder.refused(&["tables", "release"], 2);
    assert!(refusal.contains("has two parents"), "{refusal}");
    assert!(folder.stdout(&["budget"]).contains("nothing was charged yet"));
}

#[test]
fn the_sample_has_a_release() {
    let folder = Folder::new();
    std::fs::remove_file(folder.path("deniable.toml")).expect("removed");
    let output = command(&folder.path("."))
        .args(["tables", "explain"])
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = text(&output.stdout);
    assert!(
        said.contains("country × sex") && said.contains("region × education"),
        "{said}"
    );
}
