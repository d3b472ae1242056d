//! Synthetic rows: explained for nothing, charged once whatever happens, and made as often as one likes.

use super::{Folder, stderr};
use serde_json::Value;

const WEIGHT: &str = "weight = { kind = \"float\" }";

fn folder(budget: &str) -> Folder {
    let folder = Folder::new();
    let catalog = std::fs::read_to_string(folder.path("deniable.toml")).expect("a catalog");
    let catalog = catalog
        .replace("epsilon = 2\n", "epsilon = BUDGET\ndelta = 1e-6\n")
        .replace("BUDGET", budget)
        .replace("epsilon = 0.5\n", "epsilon = 0.5\ndelta = 1e-9\n")
        .replace(WEIGHT, "weight = { kind = \"float\", bounds = [40, 100], nullable = false }\nnote = { kind = \"text\" }\nborn = { kind = \"date\", bounds = [\"1950-01-01\", \"1999-12-31\"] }");
    folder.write("deniable.toml", &catalog);
    let mut csv = "id,age,city,weight,note,born\n".to_owned();
    for id in 0..300 {
        let city = if id % 3 == 0 {
            "\"=Bree, \"\"old\"\"\""
        } else {
            "Ash"
        };
        // NULL is a value: every fifth age is missing.
        let age = if id % 5 == 0 {
            String::new()
        } else {
            (id % 90).to_string()
        };
        csv += &format!(
            "{id},{age},{city},{}.5,secret {id},19{}-03-01\n",
            40 + id % 60,
            50 + id % 50
        );
    }
    folder.write("people.csv", &csv);
    folder
}

fn charges(folder: &Folder) -> usize {
    let budget = folder.object(&["budget", "--json"]);
    budget["charges"].as_array().map_or(0, Vec::len)
}

#[test]
fn explaining_spends_nothing_and_says_which_columns_there_are() {
    let folder = folder("2");
    let before = folder.names();
    let said = folder.stdout(&["synthesize", "--table", "people", "--epsilon", "1", "--explain"]);
    for word in [
        "cost: ε = 1, δ = ",
        "age: 102 cells, 0 to 100, and NULL (values)",
        "weight: 32 cells",
        "born: 51 cells, 1950 to 1999, and NULL (bins",
        "id: it says whose row it is",
        "note: neither its values nor its bounds are declared",
        "nothing was spent",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(!said.contains("secret"), "{said}");
    let object = folder.object(&[
        "synthesize",
        "--table",
        "people",
        "--explain",
        "--json",
        "--bins",
        "weight=6",
    ]);
    assert!(object["epsilon"].to_string().contains("0.5"), "{object}");
    let weight = object["columns"]
        .as_array()
        .unwrap()
        .iter()
        .find(|column| column["name"] == "weight");
    assert_eq!(weight.unwrap()["cells"], 6);
    assert_eq!(object["made_by_charge"], Value::Null);
    assert_eq!(folder.names(), before);
}

#[test]
fn rows_are_charged_once_and_more_of_them_are_free() {
    // So much that 300 people are seen through the noise.
    let folder = folder("200");
    let ask = |more: &[&str]| -> Value {
        let mut words = vec![
            "synthesize",
            "--table",
            "people",
            "--epsilon",
            "40",
            "--json",
            "--model-cells",
            "20000",
        ];
        words.extend(more);
        folder.object(&words)
    };
    let first = ask(&["--output", "one.csv", "--html", "report.html"]);
    assert_eq!(
        (&first["repeated"], &first["resumed"]),
        (&Value::Bool(false), &Value::Bool(false))
    );
    assert_eq!(charges(&folder), 1);
    let entry = &folder.object(&["budget", "--json"])["charges"][0];
    assert_eq!(
        (&entry["purpose"], &entry["answered"]),
        (&"synthetic rows of people".into(), &true.into())
    );
    let again = ask(&["--output", "two.csv", "--analyst", "bob"]);
    assert_eq!((&again["repeated"], charges(&folder)), (&Value::Bool(true), 1));
    assert_eq!(first["release"], again["release"]);
    let read = |name: &str| std::fs::read_to_string(folder.path(name)).expect("rows");
    assert_eq!(
        read("one.csv"),
        read("two.csv"),
        "the same release gives the same rows"
    );
    let more = ask(&["--output", "more.csv", "--rows", "1000"]);
    assert_eq!((&more["report"]["rows"], charges(&folder)), (&1000.into(), 1));
    ask(&["--output", "more.parquet", "--rows", "50"]);
    assert!(
        std::fs::read(folder.path("more.parquet"))
            .expect("rows")
            .starts_with(b"PAR1")
    );
    // Rows are of their columns, and of nothing else.
    let text = read("more.csv");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("age,city,weight,born"));
    assert_eq!(lines.clone().count(), 1000);
    assert!(!text.contains("secret"));
    let (mut missing, mut bree) = (0, 0);
    for line in lines {
        let (age, rest) = line.split_once(',').expect("columns");
        match age.parse::<i64>() {
            Ok(age) => assert!((0..=100).contains(&age)),
            Err(_) => missing += usize::from(age.is_empty()),
        }
        let (city, rest) = match rest.strip_prefix("\"=Bree, \"\"old\"\"\",") {
            Some(rest) => ("Bree", rest),
            None => rest.split_once(',').expect("a city"),
        };
        bree += usize::from(city == "Bree");
        let weight = rest
            .split(',')
            .next()
            .and_then(|weight| weight.parse::<f64>().ok());
        assert!(
            weight.is_some_and(|weight| (40.0..=100.0).contains(&weight)),
            "{line}"
        );
    }
    // A fifth is missing and a third lives in Bree.
    assert!(
        (100..300).contains(&missing) && (200..450).contains(&bree),
        "{missing} {bree}"
    );
    let report = &first["report"];
    assert_eq!(report["pairs"].as_array().map(Vec::len), Some(6));
    assert!(report["measured"].as_array().unwrap().len() >= 4);
    assert!(read("report.html").contains("<svg"));
    // Something else is another charge.
    ask(&[
        "--output",
        "other.csv",
        "--method",
        "independent",
        "--delta",
        "1e-8",
    ]);
    assert_eq!(charges(&folder), 2);
}

#[test]
fn a_check_is_charged_once_and_the_same_one_is_free() {
    let folder = folder("200");
    let words = |check: &'static str| {
        let words = [
            "synthesize",
            "--table",
            "people",
            "--epsilon",
            "40",
            "--method",
            "independent",
            "--model-cells",
            "20000",
            "--output",
            "rows.csv",
            "--check",
            check,
        ];
        words.to_vec()
    };
    let ask = |check: &'static str| -> Value {
        let mut words = words(check);
        words.push("--json");
        folder.object(&words)
    };
    let explained = folder.stdout(&[&words("10")[..], &["--explain"]].concat());
    assert!(
        explained.contains("--check: ε = 10") && charges(&folder) == 0,
        "{explained}"
    );
    let first = ask("10");
    assert_eq!(charges(&folder), 2);
    let entries = &folder.object(&["budget", "--json"])["charges"];
    let purposes: Vec<&Value> = entries
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["purpose"])
        .collect();
    assert!(
        purposes.contains(&&"synthetic rows of people".into())
            && purposes.contains(&&"check of synthetic rows of people".into())
    );
    let again = ask("10");
    assert_eq!(charges(&folder), 2);
    assert_eq!(again["check"]["repeated"], Value::Bool(true));
    assert_eq!(first["check"]["repeated"], Value::Bool(false));
    assert_eq!(first["check"]["report"], again["check"]["report"]);
    assert_eq!(first["check"]["of_charge"], first["cost"]["charge"]);
    // What promises a ρ is a part of the sum, as an ε of a little more than was asked for both: one sum of ρ.
    let spent = folder.object(&["budget", "--json"]);
    let sum = spent["analysts"][0]["sum"]["epsilon"].to_string();
    let sum: f64 = sum.trim_matches('"').parse().expect("a sum of ε");
    assert!(sum > 5.0 && sum < 60.0, "{sum}");
    let budget = folder.stdout(&["budget"]);
    assert!(
        budget.contains("in sums, all that promises a ρ counts together") && !budget.contains('—'),
        "{budget}"
    );
    // All four tables by three columns are held out, and the interval is one.
    let report = &first["check"]["report"];
    assert_eq!(
        (&report["held_out"], report["tables"].as_array().map(Vec::len)),
        (&4.into(), Some(4))
    );
    let number = |value: &Value| value.as_f64().expect("a number");
    let distance = &report["distance"];
    assert!(
        number(&distance["low"]) <= number(&distance["value"])
            && number(&distance["value"]) <= number(&distance["high"])
    );
    assert!(number(&distance["high"]) > number(&distance["low"]), "{distance}");
    // Another price is another check.
    ask("5");
    assert_eq!(charges(&folder), 3);
    let page = folder.run(&[&words("5")[..], &["--html", "report.html"]].concat());
    let said = super::text(&page.stdout);
    assert!(
        said.contains("checked against the data, for ε = 5 more") && said.contains("score "),
        "{said}"
    );
    assert!(
        stderr(&page).contains("the check was made before"),
        "{}",
        stderr(&page)
    );
    let html = std::fs::read_to_string(folder.path("report.html")).expect("a page");
    assert!(html.contains("Checked against the data"));
    assert_eq!(charges(&folder), 3);
    for wrong in ["0", "-1", "much"] {
        folder.refused(&words(wrong), 2);
    }
    // More than is left: the rows are there, and no check.
    let much = folder.refused(&words("500"), 3);
    assert!(
        much.contains("checking synthetic rows of `people` costs"),
        "{much}"
    );
    assert_eq!(charges(&folder), 3);
    // Where everything that matters was measured, nothing is held out.
    let none = folder.refused(&[&words("1")[..], &["--workload", "age"]].concat(), 2);
    assert!(none.contains("every table that matters was measured"), "{none}");
}

#[test]
fn rows_that_are_declared_impossible_are_never_made() {
    let folder = folder("200");
    let catalog = std::fs::read_to_string(folder.path("deniable.toml")).expect("a catalog");
    let rules = "impossible = [{ age = { below = 18 }, city = \"Ash\" }, { weight = { from = 70.0 }, age = { null = true } }]\nsource = \"people.csv\"";
    folder.write(
        "deniable.toml",
        &catalog.replace("source = \"people.csv\"", rules),
    );
    let words = [
        "synthesize",
        "--table",
        "people",
        "--epsilon",
        "40",
        "--columns",
        "age,city,weight",
        "--output",
        "rows.csv",
        "--rows",
        "5000",
    ];
    let explained = folder.stdout(&[&words[..], &["--explain"]].concat());
    assert!(
        explained.contains(
            "never in the rows, as declared:\n  age below 18 and city Ash\n  weight from 70 and age NULL\n"
        ),
        "{explained}"
    );
    let said = folder.stdout(&words);
    assert!(
        said.contains("no row breaks a rule of the catalog: age below 18 and city Ash;"),
        "{said}"
    );
    let text = std::fs::read_to_string(folder.path("rows.csv")).expect("rows");
    for line in text.lines().skip(1) {
        let (age, rest) = line.split_once(',').expect("columns");
        let weight: f64 = rest
            .rsplit(',')
            .next()
            .and_then(|weight| weight.parse().ok())
            .expect("a weight");
        match age.parse::<i64>() {
            Ok(age) => assert!(age >= 18 || !rest.starts_with("Ash,"), "{line}"),
            Err(_) => assert!(weight < 70.0, "{line}"),
        }
    }
}

#[test]
fn what_people_read_says_what_they_may_conclude() {
    let folder = folder("2");
    let output = folder.run(&[
        "synthesize",
        "--table",
        "people",
        "--epsilon",
        "1.5",
        "--columns",
        "city,weight",
        "--bins",
        "weight=4",
        "--where",
        "age >= 18",
        "--workload",
        "city,weight",
        "--output",
        "rows.csv",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = super::text(&output.stdout);
    for word in [
        "synthetic rows of people",
        "distance",
        "of 1 pairs of columns",
        "do not compute standard errors",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
    let cost = stderr(&output);
    assert!(
        cost.contains("cost: ε = 1.5") && cost.contains("left: ε = ") && cost.contains("wrote "),
        "{cost}"
    );
}

#[test]
fn what_cannot_be_made_is_refused_before_the_charge() {
    let folder = folder("2");
    let refused = |more: &[&str], code: i32| {
        let mut words = vec![
            "synthesize",
            "--table",
            "people",
            "--epsilon",
            "1",
            "--output",
            "rows.csv",
        ];
        words.extend(more);
        folder.refused(&words, code)
    };
    assert!(refused(&["--columns", "note"], 2).contains("no rows can be made with `note`"));
    assert!(refused(&["--columns", "id"], 2).contains("whose row it is"));
    assert!(refused(&["--columns", "nobody"], 2).contains("declares no column"));
    assert!(refused(&["--bins", "city=3"], 2).contains("listed"));
    assert!(refused(&["--workload", "age,note"], 2).contains("of which no rows are made"));
    assert!(refused(&["--delta", "0"], 2).contains("δ above 0"));
    assert!(refused(&["--model-cells", "50"], 2).contains("cells"));
    refused(&["--html", "nowhere/report.html"], 2);
    folder.refused(&["synthesize", "--table", "people", "--output", "rows.txt"], 2);
    folder.refused(&["synthesize", "--table", "people", "--output", "people.csv"], 2);
    folder.refused(&["synthesize", "--table", "nobody", "--output", "rows.csv"], 2);
    let much = folder.refused(
        &[
            "synthesize",
            "--table",
            "people",
            "--epsilon",
            "3",
            "--output",
            "rows.csv",
        ],
        3,
    );
    assert!(much.contains("left") || much.contains("budget"), "{much}");
    assert_eq!(charges(&folder), 0);
    assert!(!folder.names().contains(&"rows.csv".to_owned()));
}
