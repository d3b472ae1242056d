//! Who spent what, and whether the ledger is what was written.

use super::{Folder, stderr};
use std::process::Output;

fn ask(folder: &Folder, analyst: &str, age: u32) -> Output {
    let query = format!("SELECT COUNT(*) FROM people WHERE age > {age}");
    folder.run(&["query", "--quiet", "--analyst", analyst, &query])
}

#[test]
fn nothing_is_made_by_looking() {
    let folder = Folder::new();
    let before = folder.names();
    let reported = folder.stdout(&["budget"]);
    assert!(
        reported.contains("at most ε = 2 for each person, added or removed"),
        "{reported}"
    );
    assert!(
        reported.contains("left: ε = 2 (if spent in one more query"),
        "{reported}"
    );
    assert!(reported.contains("nothing was charged yet"), "{reported}");
    let share = folder.object(&["budget", "--json", "--analyst", "bob"]);
    assert_eq!(share["left"]["epsilon"], "0.5");
    assert_eq!(folder.names(), before);
    let refusal = folder.refused(&["budget", "verify"], 2);
    assert!(refusal.contains("there is no ledger"), "{refusal}");
}

#[test]
fn who_spent_what() {
    let folder = Folder::new();
    assert!(ask(&folder, "ann", 1).status.success());
    assert!(ask(&folder, "bob", 2).status.success());
    let plain = folder.stdout(&["budget"]);
    assert!(
        plain.contains("spent: ε = 1 of 2, by 2 charges")
            && plain.contains("about 2 more queries at ε = 0.5"),
        "{plain}"
    );
    assert!(!plain.contains("what 2 charges guarantee"), "{plain}");
    let reported = folder.stdout(&["budget", "--verbose"]);
    for word in [
        "what 2 charges guarantee",
        "sums of what each promised",
        "analyst",
        "bob",
        "0.25 of the budget",
        "50.0 %",
        "WHERE age > 2",
    ] {
        assert!(reported.contains(word), "{word}: {reported}");
    }
    let object = folder.object(&["budget", "--json"]);
    assert_eq!(object["sum"]["epsilon"], "1");
    assert_eq!(object["left"]["epsilon"], "1");
    assert_eq!(object["accountants"][0]["epsilon"], "1");
    assert_eq!(object["typical_epsilon"], "0.5");
    assert_eq!(object["left"]["typical_queries"]["count"], 2);
    // ann has all of the budget for her share, and bob spent his.
    assert_eq!(object["analysts"][0]["typical_queries"]["count"], 2);
    assert_eq!(object["analysts"][1]["typical_queries"]["count"], 0);
    assert_eq!(object["charges"][1]["analyst"], "bob");
    assert_eq!(object["charges"][1]["answered"], true);
    let output = folder.run(&["budget", "--plot", "spent.svg"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let svg = std::fs::read_to_string(folder.path("spent.svg")).expect("drawn");
    assert!(
        svg.starts_with("<svg") && svg.contains("budget") && svg.contains("charges"),
        "{svg}"
    );
    folder.refused(&["budget", "--plot", "spent.png"], 2);
}

#[test]
fn a_whole_ledger_verifies_and_a_changed_one_does_not() {
    let folder = Folder::new();
    assert!(ask(&folder, "ann", 1).status.success());
    let verified = folder.object(&["budget", "verify", "--json"]);
    assert_eq!(verified["charges"], 1);
    let head = format!(
        "{} {}",
        verified["head"]["number"],
        verified["head"]["hash"].as_str().expect("text")
    );
    assert!(ask(&folder, "ann", 2).status.success());
    let reported = folder.stdout(&["budget", "verify", "--head", &head]);
    assert!(
        reported.contains("the ledger is whole") && reported.contains("charges  2"),
        "{reported}"
    );
    let other = format!("2 {}", "0".repeat(64));
    let said = folder.refused(&["budget", "verify", "--head", &other], 4);
    assert!(said.contains("not the one that was kept"), "{said}");
    // Somebody writes to the file.
    let file = rusqlite::Connection::open(folder.path("clinic.ledger")).expect("a database");
    file.execute_batch(
        "DROP TRIGGER deniable_never_updated;
         UPDATE deniable_entries SET analyst = 'eve' WHERE kind = 'charge' AND number = 2;",
    )
    .expect("changed");
    drop(file);
    let said = folder.refused(&["budget", "verify"], 4);
    assert!(said.contains("entry 2 of the ledger is wrong"), "{said}");
}

#[test]
fn a_changed_budget_is_adopted_on_purpose() {
    let folder = Folder::new();
    assert!(ask(&folder, "ann", 1).status.success());
    folder.write(
        "deniable.toml",
        &super::CATALOG.replace("epsilon = 2\n", "epsilon = 3\n"),
    );
    // The ledger refuses, whoever asks and for whatever.
    let refusal = ask(&folder, "ann", 2);
    assert_eq!(refusal.status.code(), Some(3));
    assert!(
        stderr(&refusal).contains("deniable budget adopt"),
        "{}",
        stderr(&refusal)
    );
    let reported = folder.stdout(&["budget"]);
    assert!(
        reported.contains("warning: the catalog states other rules"),
        "{reported}"
    );
    let adopted = folder.stdout(&["budget", "adopt"]);
    assert!(
        adopted.contains("before: at most ε = 2 ") && adopted.contains("from now on: at most ε = 3 "),
        "{adopted}"
    );
    assert!(adopted.contains("ε = 2.5"), "{adopted}");
    assert!(
        folder
            .stdout(&["budget", "adopt"])
            .starts_with("nothing to change")
    );
    assert!(ask(&folder, "ann", 2).status.success());
    assert_eq!(folder.object(&["budget", "--json"])["left"]["epsilon"], "2");
}

/// Whatever is no ledger is left as it is, to the byte, with nothing beside it.
#[test]
fn what_is_no_ledger_is_not_touched() {
    let folder = Folder::new();
    let foreign = rusqlite::Connection::open(folder.path("foreign.db")).expect("a database");
    foreign
        .execute_batch("CREATE TABLE mine (x INTEGER); INSERT INTO mine VALUES (1)")
        .expect("filled");
    drop(foreign);
    let logged = rusqlite::Connection::open(folder.path("logged.db")).expect("a database");
    logged
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE mine (x INTEGER)")
        .expect("filled");
    drop(logged);
    folder.write("notes.txt", "nothing but text");
    folder.write("empty", "");
    let names = folder.names();
    for file in ["foreign.db", "logged.db", "notes.txt", "empty"] {
        let before = std::fs::read(folder.path(file)).expect("readable");
        for command in [
            vec!["budget", "--ledger", file],
            vec!["budget", "verify", "--ledger", file],
        ] {
            folder.refused(&command, 2);
            assert!(
                std::fs::read(folder.path(file)).expect("readable") == before,
                "{file}"
            );
            assert_eq!(folder.names(), names);
        }
        // As the ledger of a catalog, too, where a query would make one: but in an empty file it may.
        if file != "empty" {
            folder.write("other.toml", &super::CATALOG.replace("clinic.ledger", file));
            let said = folder.refused(
                &["query", "--catalog", "other.toml", "SELECT COUNT(*) FROM people"],
                2,
            );
            assert!(said.contains("the ledger cannot be used"), "{said}");
            std::fs::remove_file(folder.path("other.toml")).expect("removed");
            assert!(
                std::fs::read(folder.path(file)).expect("readable") == before,
                "{file}"
            );
            assert_eq!(folder.names(), names);
        }
    }
}
