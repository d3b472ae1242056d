//! Queries and answers.

use super::{Folder, command, stderr, text};
use std::io::Write;
use std::process::Stdio;

const BY_CITY: &str = "SELECT city, COUNT(*) AS n, AVG(age) AS age FROM people GROUP BY city ORDER BY city";

#[test]
fn a_query_may_begin_with_a_comment() {
    let folder = Folder::new();
    let plain = folder.stdout(&["query", "--quiet", "SELECT COUNT(*) AS n FROM people"]);
    for query in [
        "-- how many\nSELECT COUNT(*) AS n FROM people",
        "/* how many */ SELECT COUNT(*) AS n FROM people;",
    ] {
        // The same question is not asked twice.
        assert_eq!(folder.stdout(&["query", "--quiet", query]), plain, "{query}");
    }
    let mistyped = folder.run(&["query", "--epsilno", "1", "SELECT COUNT(*) AS n FROM people"]);
    assert!(stderr(&mistyped).contains("--epsilno"), "{}", stderr(&mistyped));
}

#[test]
fn explain_in_sql_says_what_explain_says_and_spends_nothing() {
    let folder = Folder::new();
    let plan = folder.stdout(&["query", &format!("EXPLAIN {BY_CITY}")]);
    assert_eq!(plan, folder.stdout(&["explain", BY_CITY]));
    assert_eq!(plan, folder.stdout(&["explain", &format!("EXPLAIN {BY_CITY}")]));
    assert!(
        plan.contains("95 % within ±") && plan.contains("\ncost: ε = 0.5"),
        "{plan}"
    );
    let object = folder.object(&["query", "--json", &format!("explain (format json) {BY_CITY}")]);
    let written = object["rows"][0]["QUERY PLAN"]["value"].as_str().expect("text");
    let plan: serde_json::Value = serde_json::from_str(written).expect("JSON");
    assert_eq!(plan["explanation"]["group_size"], 1000);
    assert_eq!(object["cost"], serde_json::Value::Null);
    let refused = folder.run(&["query", "EXPLAIN ANALYZE SELECT COUNT(*) FROM people"]);
    assert!(
        stderr(&refused).contains("hint: write EXPLAIN SELECT"),
        "{}",
        stderr(&refused)
    );
    // A mistake behind it keeps its place, and nothing was charged.
    let wrong = folder.run(&["query", "EXPLAIN\nSELECT COUNT(*) FRM people"]);
    assert!(stderr(&wrong).contains("line 2"), "{}", stderr(&wrong));
    assert!(
        folder.stdout(&["explain", BY_CITY]).contains("left: ε = 2 "),
        "nothing was charged"
    );
}

#[test]
fn a_table_for_people() {
    let folder = Folder::new();
    let output = folder.run(&["query", BY_CITY]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let table = text(&output.stdout);
    let lines: Vec<&str> = table.lines().collect();
    let heading: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(heading, ["city", "n", "±", "age", "±"], "{table}");
    assert!(
        table.contains("\n=Bree, \"old\"") && table.contains("\nAsh"),
        "{table}"
    );
    let said = stderr(&output);
    assert!(
        said.contains("cost: ε = 0.5 for each person, added or removed (charge "),
        "{said}"
    );
    assert!(
        said.contains("left: ε = 1.5 (if spent in one more query)"),
        "{said}"
    );
    assert!(said.contains("age is clamped to 0..100"), "{said}");
    let quiet = folder.run(&["query", "--quiet", BY_CITY]);
    assert_eq!((text(&quiet.stdout), stderr(&quiet)), (table, String::new()));
}

#[test]
fn a_program_gets_values_intervals_and_cost_and_a_repetition_is_free() {
    let folder = Folder::new();
    let first = folder.object(&["query", "--json", BY_CITY]);
    assert_eq!(first["repeated"], false);
    // The price is split in small parts, and none is rounded up.
    let price: f64 = first["cost"]["epsilon"]
        .as_str()
        .expect("text")
        .parse()
        .expect("a number");
    assert!(price <= 0.5 && price > 0.499_999, "{price}");
    assert_eq!(first["left"]["epsilon"], "1.5");
    let rows = first["rows"].as_array().expect("rows");
    let cities: Vec<Option<&str>> = rows.iter().map(|row| row["city"]["value"].as_str()).collect();
    // What is not declared is read as NULL, and has a group of its own.
    assert_eq!(cities, [Some("=Bree, \"old\""), Some("Ash"), None]);
    for row in rows {
        let number = |end: &str| row["n"][end].as_f64().expect("a number");
        assert!(
            number("low") < number("value") && number("value") < number("high"),
            "{row}"
        );
    }
    // 200 of 300: a third of ε is for it, so that it is off by more than 150 with probability e^-25.
    let most = rows[1]["n"]["value"].as_f64().expect("a number");
    assert!((most - 200.0).abs() < 150.0, "{most}");
    // Somebody else asks the same.
    let again = folder.object(&["query", "--format", "json", "--analyst", "bob", BY_CITY]);
    assert_eq!(again["repeated"], true);
    assert_eq!(again["rows"], first["rows"]);
    assert_eq!(again["cost"], first["cost"]);
    let said = stderr(&folder.run(&["query", BY_CITY]));
    assert!(said.contains("free: this was answered before"), "{said}");
    let budget = folder.object(&["budget", "--json"]);
    assert_eq!(budget["charges"].as_array().map(Vec::len), Some(1));
}

#[test]
fn files_in_every_format() {
    let folder = Folder::new();
    let csv = folder.stdout(&["query", "--format", "csv", BY_CITY]);
    assert!(
        csv.starts_with("city,n,n_low,n_high,age,age_low,age_high\n\"=Bree, \"\"old\"\"\","),
        "{csv}"
    );
    folder.stdout(&["query", "--format", "csv", "--output", "answer.csv", BY_CITY]);
    let written = std::fs::read_to_string(folder.path("answer.csv")).expect("written");
    assert_eq!(written, csv, "the same answer, for nothing");
    folder.stdout(&[
        "query",
        "--format",
        "parquet",
        "--output",
        "answer.parquet",
        BY_CITY,
    ]);
    let parquet = std::fs::read(folder.path("answer.parquet")).expect("written");
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    // What is public may be described: the columns are those of the answer.
    folder.stdout(&["init", "answer.parquet", "--public", "--output", "answer.toml"]);
    let described = std::fs::read_to_string(folder.path("answer.toml")).expect("written");
    for column in ["city", "n", "n_low", "n_high", "age", "age_low", "age_high"] {
        assert!(
            described.contains(&format!("\n{column} = {{ kind = ")),
            "{described}"
        );
    }
    let refusal = folder.refused(&["query", "--format", "parquet", BY_CITY], 2);
    assert!(refusal.contains("--output"), "{refusal}");
    folder.refused(&["query", "--output", "no/such/folder.csv", BY_CITY], 2);
    assert!(
        !folder.names().iter().any(|name| name.contains("partial")),
        "{:?}",
        folder.names()
    );
}

#[test]
fn the_query_may_come_from_a_file_or_a_pipe() {
    let folder = Folder::new();
    folder.write("ages.sql", "SELECT AVG(age)\nFROM people\n");
    let from_file = folder.object(&["query", "--json", "--file", "ages.sql"]);
    let mut child = command(&folder.path(""))
        .args(["query", "--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(b"SELECT AVG(age) FROM people").expect("written");
    drop(pipe);
    let output = child.wait_with_output().expect("it ends");
    let piped: serde_json::Value = serde_json::from_slice(&output.stdout).expect("an object");
    assert_eq!(piped["repeated"], true);
    assert_eq!(piped["rows"], from_file["rows"]);
    folder.refused(&["query", "--file", "no.sql"], 2);
    folder.refused(&["query"], 2);
}

#[test]
fn a_budget_ends() {
    let folder = Folder::new();
    let ask = |analyst: &str, age: u32| {
        let query = format!("SELECT COUNT(*) FROM people WHERE age > {age}");
        folder.run(&["query", "--analyst", analyst, &query])
    };
    // A quarter of ε = 2 is one question for bob; ann may spend all of it.
    assert_eq!(ask("bob", 1).status.code(), Some(0));
    let refusal = ask("bob", 2);
    assert_eq!(refusal.status.code(), Some(3), "{}", stderr(&refusal));
    assert!(
        stderr(&refusal).contains("this question costs ε = 0.5, and you have ε = 0 left of your share"),
        "{}",
        stderr(&refusal)
    );
    for age in 3..6 {
        assert_eq!(ask("ann", age).status.code(), Some(0));
    }
    for (analyst, why) in [
        ("ann", "this question costs ε = 0.5, and you have ε = 0 left"),
        ("bob", "this question costs ε = 0.5, and you have ε = 0 left"),
        ("eve", "list who may spend"),
    ] {
        let refusal = ask(analyst, 7);
        let said = stderr(&refusal);
        assert_eq!(refusal.status.code(), Some(3), "{said}");
        assert!(said.starts_with("error: ") && said.contains(why), "{said}");
        assert!(said.contains("\nhint: ") && refusal.stdout.is_empty(), "{said}");
    }
    // What was answered is still answered.
    assert_eq!(ask("eve", 1).status.code(), Some(0));
}

#[test]
fn what_cannot_be_asked_is_refused_and_costs_nothing() {
    let folder = Folder::new();
    let questions = [
        ("SELEC COUNT(*) FROM people", "not"),
        ("SELECT COUNT(*) FROM nobody", "nobody"),
        ("SELECT AVG(shoe_size) FROM people", "shoe_size"),
        ("SELECT * FROM people", "rows"),
        ("SELECT SUM(weight) FROM people", "unbounded"),
        ("DELETE FROM people", "DELETE"),
        ("", "query"),
    ];
    for (query, expected) in questions {
        let said = folder.refused(&["query", query], 2);
        assert!(said.contains(expected), "{query}: {said}");
    }
    let said = folder.refused(&["query", "SELECT SUM(weight) FROM people"], 2);
    assert!(said.contains("hint: declare `bounds`"), "{said}");
    folder.refused(&["query", "--epsilon", "much", "SELECT COUNT(*) FROM people"], 2);
    folder.refused(
        &["query", "--catalog", "no.toml", "SELECT COUNT(*) FROM people"],
        2,
    );
    let budget = folder.object(&["budget", "--json"]);
    assert_eq!(budget["charges"].as_array().map(Vec::len), Some(0));
}

#[test]
fn help_teaches() {
    let folder = Folder::new();
    for name in ["query", "explain", "budget", "init"] {
        let help = folder.stdout(&[name, "--help"]);
        assert!(
            help.contains("Examples:") && help.contains(&format!("deniable {name}")),
            "{help}"
        );
    }
    let help = folder.stdout(&["query", "--help"]);
    assert!(help.contains("stays charged"), "{help}");
}

/// Without a catalog the built-in sample is asked, which is made once.
#[test]
fn the_sample_is_there_when_nothing_else_is() {
    let folder = Folder::new();
    std::fs::remove_file(folder.path("deniable.toml")).expect("removed");
    let ask = ["query", "SELECT COUNT(*) FROM people WHERE age >= 40"];
    let output = folder.run(&ask);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("using the built-in sample in "), "{said}");
    assert!(folder.path("data/deniable/sample/deniable.toml").is_file());
    let again = folder.run(&ask);
    assert!(
        stderr(&again).contains("free: this was answered before"),
        "{}",
        stderr(&again)
    );
    assert_eq!(text(&again.stdout), text(&output.stdout));
}

/// Two spellings of a name have one share, and a name that nobody listed has none.
#[test]
fn a_name_has_one_spelling() {
    let folder = Folder::new();
    let ask = |analyst: &str, age: u32| {
        let query = format!("SELECT COUNT(*) FROM people WHERE age > {age}");
        folder.run(&["query", "--analyst", analyst, &query])
    };
    let first = ask("Bob", 1);
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    assert!(
        stderr(&first).contains("left: ε = 0 (if spent in one more query by bob"),
        "{}",
        stderr(&first)
    );
    for spelling in ["bob", " BOB ", "b\u{200b}ob", "ｂｏｂ"] {
        let refusal = ask(spelling, 2);
        assert_eq!(refusal.status.code(), Some(3), "{spelling:?}");
        assert!(
            stderr(&refusal).contains("left of your share"),
            "{}",
            stderr(&refusal)
        );
    }
    for (stranger, why, code) in [
        ("eve", "list who may spend", 3),
        ("", "no name", 2),
        ("\u{200b}", "no name", 2),
    ] {
        let refusal = ask(stranger, 3);
        let said = stderr(&refusal);
        assert_eq!(refusal.status.code(), Some(code), "{said}");
        assert!(said.contains(why) && said.contains("\nhint: "), "{said}");
    }
    let budget = folder.object(&["budget", "--json", "--analyst", "BOB"]);
    assert_eq!(budget["charges"].as_array().map(Vec::len), Some(1));
    let bob = |analyst: &&serde_json::Value| analyst["name"] == "bob";
    let analysts = budget["analysts"].as_array().expect("a list");
    assert_eq!(analysts.iter().filter(bob).count(), 1, "{budget}");
    assert_eq!(analysts.iter().find(bob).expect("there")["share"], "0.25");
}

/// What is written over would be the ledger, the catalog or the data: refused before anything is charged.
#[test]
fn an_answer_is_written_over_nothing_that_is_read() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("parts")).expect("made");
    folder.write("parts/one.csv", "id,age\n1,30\n");
    let parts = "[tables.parts]\nsource = \"parts\"\nformat = \"csv\"\nunit = \"id\"\nrows_per_unit = 1\n\
                 [tables.parts.columns]\nid = { kind = \"int\" }\nage = { kind = \"int\", bounds = [0, 100] }\n";
    folder.write("deniable.toml", &format!("{}{parts}", super::CATALOG));
    folder.write("ages.sql", "SELECT AVG(age) FROM people");
    folder.stdout(&["query", BY_CITY]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("clinic.ledger", folder.path("link")).expect("linked");
        std::os::unix::fs::symlink(".", folder.path("here")).expect("linked");
    }
    let contents = |names: &[&str]| -> Vec<Vec<u8>> {
        let read = |name: &&str| std::fs::read(folder.path(name)).expect("readable");
        names.iter().map(read).collect()
    };
    let files = ["deniable.toml", "people.csv", "ages.sql", "parts/one.csv"];
    let before = contents(&files);
    let charges = folder.object(&["budget", "--json"])["charges"].clone();
    let absolute = folder.path("clinic.ledger").display().to_string();
    let mut outputs = vec![
        ("clinic.ledger", "the ledger are the same file"),
        ("./parts/../clinic.ledger", "the ledger are the same file"),
        (absolute.as_str(), "the ledger are the same file"),
        ("clinic.ledger-wal", "a file beside the ledger are the same file"),
        ("deniable.toml", "the catalog are the same file"),
        ("people.csv", "a table of the catalog are the same file"),
        ("parts/one.csv", "lies in a folder whose files are a table"),
        ("parts/two.csv", "lies in a folder whose files are a table"),
        ("ages.sql", "--file are the same file"),
        ("parts", "is a folder"),
    ];
    if cfg!(unix) {
        outputs.push(("link", "the ledger are the same file"));
        outputs.push(("here/clinic.ledger", "the ledger are the same file"));
        outputs.push(("here/people.csv", "a table of the catalog are the same file"));
    }
    for (output, why) in &outputs {
        let said = folder.refused(&["query", "--file", "ages.sql", "-o", output], 2);
        assert!(said.contains(why), "{output}: {said}");
    }
    assert_eq!(contents(&files), before);
    assert_eq!(
        folder.object(&["budget", "--json"])["charges"],
        charges,
        "nothing was charged"
    );
    folder.stdout(&["budget", "verify"]);
    // Before there is a ledger, too.
    folder.write("new.toml", &super::CATALOG.replace("clinic.ledger", "new.ledger"));
    let said = folder.refused(
        &["query", "--catalog", "new.toml", "-o", "./new.ledger", BY_CITY],
        2,
    );
    assert!(said.contains("the ledger"), "{said}");
    assert!(!folder.path("new.ledger").exists());
    folder.stdout(&["query", "--file", "ages.sql", "-o", "parts/answer.txt"]);
}

/// A figure and a draft of a catalog are written over nothing that is read either.
#[test]
fn figures_and_drafts_are_written_over_nothing_that_is_read() {
    let folder = Folder::new();
    folder.write(
        "deniable.toml",
        &super::CATALOG.replace("clinic.ledger", "clinic.svg"),
    );
    folder.stdout(&["query", BY_CITY]);
    let said = folder.refused(&["budget", "--plot", "./clinic.svg"], 2);
    assert!(said.contains("the ledger are the same file"), "{said}");
    let said = folder.refused(&["budget", "--ledger", "clinic.svg", "--plot", "clinic.svg"], 2);
    assert!(said.contains("the ledger are the same file"), "{said}");
    folder.stdout(&["budget", "verify"]);
    let people = std::fs::read(folder.path("people.csv")).expect("readable");
    let said = folder.refused(&["init", "people.csv", "--force", "-o", "./people.csv"], 2);
    assert!(said.contains("the same file"), "{said}");
    assert_eq!(
        std::fs::read(folder.path("people.csv")).expect("readable"),
        people
    );
}
