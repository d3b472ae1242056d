//! Receipts as a reader uses them to find out whether an answer was paid for.

use super::{Folder, stderr};
use serde_json::{Value, json};

const QUESTION: &str = "SELECT city, COUNT(*) AS people FROM people GROUP BY city";

/// An answer with its receipt, in a file.
fn answered(folder: &Folder) -> Value {
    let answer = folder.object(&["query", "--json", QUESTION]);
    folder.write("answer.json", &answer.to_string());
    answer
}

#[test]
fn an_answer_has_a_receipt_that_holds() {
    let folder = Folder::new();
    let answer = answered(&folder);
    let said = folder.stdout(&["receipt", "verify", "answer.json", "--sql", QUESTION]);
    assert!(
        said.starts_with("the receipt holds: entry 2 of the ledger of \"clinic\" charged ε = 0.5"),
        "{said}"
    );
    assert!(!said.contains("not checked"), "{said}");
    let found = folder.object(&["receipt", "verify", "answer.json", "--json", "--sql", QUESTION]);
    assert_eq!(
        (&found["verified"], &found["not_checked"]),
        (&json!(true), &json!([]))
    );
    // A reader who names no query has not learnt which one was answered.
    let found = folder.object(&["receipt", "verify", "answer.json", "--json"]);
    assert_eq!(
        (&found["verified"], &found["not_checked"]),
        (
            &json!(true),
            &json!(["which question it is about: name the one that you expect with --sql"])
        )
    );
    assert!(
        said.contains("the table is what the question makes of that release"),
        "{said}"
    );
    let alone = folder.stdout(&["receipt", "verify", "answer.json", "--ledger", "clinic.ledger"]);
    assert!(
        alone.contains("not checked: whether the table follows"),
        "{alone}"
    );
    // The same question again, in other words: the same entry and release, and a receipt of its own.
    let again = folder.object(&["query", "--json", QUESTION]);
    assert_eq!(again["receipt"], answer["receipt"]);
    let sorted = folder.object(&["query", "--json", &format!("{QUESTION} ORDER BY city DESC")]);
    assert_eq!(sorted["receipt"]["entry"], answer["receipt"]["entry"]);
    assert_eq!(
        sorted["receipt"]["release_sha256"],
        answer["receipt"]["release_sha256"]
    );
    assert_ne!(
        sorted["receipt"]["table_sha256"],
        answer["receipt"]["table_sha256"]
    );
    // For other words of the same release the table is recomputed if they are known.
    folder.write("sorted.json", &sorted.to_string());
    let said = folder.stdout(&["receipt", "verify", "sorted.json"]);
    assert!(said.contains("not checked: whether the table follows"), "{said}");
    let words = format!("{QUESTION} ORDER BY city DESC");
    let said = folder.stdout(&["receipt", "verify", "sorted.json", "--sql", &words]);
    assert!(
        said.contains("the table is what the question makes of that release"),
        "{said}"
    );
    let average = "SELECT AVG(age) AS age FROM people";
    let cheap = folder.object(&["query", "--json", "--epsilon", "0.1", average]);
    folder.write("cheap.json", &cheap.to_string());
    let said = folder.stdout(&["receipt", "verify", "cheap.json"]);
    assert_eq!(said.matches("not checked").count(), 1, "{said}");
    assert!(said.contains("not checked: which question it is about"), "{said}");
    // Nothing is charged for what is public, so there is nothing to sign.
    assert_eq!(
        folder.object(&["query", "--json", "SHOW TABLES"])["receipt"],
        Value::Null
    );
    let key = folder.stdout(&["receipt", "key"]);
    assert_eq!(key.trim(), answer["receipt"]["key"]);
    assert!(
        folder
            .stdout(&["receipt", "key", "--pem"])
            .starts_with("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA")
    );
    assert_eq!(
        folder.object(&["receipt", "key", "--json", "--ledger", "clinic.ledger"])["key"],
        answer["receipt"]["key"]
    );
}

#[test]
fn whoever_has_the_key_needs_no_ledger() {
    let (curators, others) = (Folder::new(), Folder::new());
    let answer = answered(&curators);
    others.write("answer.json", &answer.to_string());
    let key = curators.stdout(&["receipt", "key"]);
    let said = others.stdout(&["receipt", "verify", "answer.json", "--key", key.trim()]);
    assert!(
        said.contains("the key is the one that you named") && said.contains("not checked: the chain"),
        "{said}"
    );
    let said = others.stdout(&["receipt", "verify", "answer.json"]);
    assert!(said.contains("not checked: whose key it is"), "{said}");
    // By itself it is still a receipt.
    others.write("receipt.json", &answer["receipt"].to_string());
    let said = others.stdout(&["receipt", "verify", "receipt.json"]);
    assert!(said.contains("not checked: the table"), "{said}");
    // Another ledger, another key.
    others.stdout(&["query", QUESTION]);
    let said = others.refused(
        &["receipt", "verify", "answer.json", "--ledger", "clinic.ledger"],
        4,
    );
    assert!(
        said.contains("another ledger") && said.contains("another key"),
        "{said}"
    );
    let other = others.stdout(&["receipt", "key"]);
    let said = others.refused(&["receipt", "verify", "answer.json", "--key", other.trim()], 4);
    assert!(said.contains("another key than the one that you named"), "{said}");
    others.refused(&["receipt", "verify", "answer.json", "--key", "12"], 2);
    others.refused(&["receipt", "verify", "people.csv"], 2);
}

#[test]
fn whatever_is_changed_in_it_is_found() {
    let folder = Folder::new();
    let answer = answered(&folder);
    let changes = [
        ("/receipt/dataset", json!("clinics")),
        ("/receipt/ledger", json!("0".repeat(64))),
        ("/receipt/entry/number", json!(3)),
        ("/receipt/entry/hash", json!("0".repeat(64))),
        ("/receipt/sql_sha256", json!("0".repeat(64))),
        ("/receipt/epsilon", json!("0.1")),
        ("/receipt/delta", json!("0.1")),
        ("/receipt/rho", json!("1")),
        ("/receipt/unit/whose", json!("row")),
        ("/receipt/unit/neighbors", json!("change_one")),
        ("/receipt/release_sha256", json!("0".repeat(64))),
        ("/receipt/table_sha256", json!("0".repeat(64))),
        ("/receipt/key", json!("0".repeat(64))),
        ("/receipt/signature", json!("0".repeat(128))),
        ("/rows/0/people/value", json!(1_000_000)),
        ("/rows/0/people/low", json!(-1)),
        ("/columns/1/name", json!("dogs")),
        ("/confidence", json!(0.99)),
    ];
    for (path, value) in changes {
        let mut changed = answer.clone();
        *changed.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = value;
        folder.write("changed.json", &changed.to_string());
        let said = folder.refused(&["receipt", "verify", "changed.json"], 4);
        assert!(said.contains("the receipt does not hold"), "{path}: {said}");
    }
    // What another program makes of the same numbers is the same table.
    let pretty = serde_json::to_string_pretty(&answer)
        .expect("text")
        .replace("0.95", "9.5e-1");
    folder.write("pretty.json", &pretty);
    folder.stdout(&["receipt", "verify", "pretty.json"]);
    let output = folder.run(&["receipt", "verify", "changed.json", "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).expect("an object");
    assert_eq!(found["error"]["exit_code"], 4, "{}", stderr(&output));
    assert_eq!(
        found["error"]["wrong"][0],
        "the table is not the one that was signed"
    );
}

#[test]
fn a_ledger_that_was_cut_or_begun_anew_is_told() {
    let folder = Folder::new();
    folder.stdout(&["query", "SELECT AVG(age) AS age FROM people"]);
    let old = std::fs::read(folder.path("clinic.ledger")).expect("a ledger");
    answered(&folder);
    std::fs::write(folder.path("clinic.ledger"), old).expect("restored");
    let said = folder.refused(&["receipt", "verify", "answer.json"], 4);
    assert!(said.contains("went back"), "{said}");
    // Also where the cut was accepted, the receipt shows what was lost.
    folder.stdout(&["budget", "accept-restored"]);
    let said = folder.refused(&["receipt", "verify", "answer.json"], 4);
    assert!(
        said.contains("is not the one on the receipt, or is gone"),
        "{said}"
    );
}

#[cfg(unix)]
#[test]
fn the_private_key_is_nobodys_but_its_owners() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    answered(&folder);
    let path = folder.path("clinic.ledger.key");
    let mode = path.metadata().expect("a key").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // An answer does not overwrite it, and an answer that was paid for is shown also if nothing can be
    // signed.
    let said = folder.refused(
        &[
            "query",
            "--output",
            "clinic.ledger.key",
            "SELECT COUNT(*) FROM people",
        ],
        2,
    );
    assert!(said.contains("beside the ledger"), "{said}");
    std::fs::write(&path, "no key").expect("written");
    let answer = folder.object(&["query", "--json", QUESTION]);
    assert_eq!(
        (&answer["receipt"], &answer["repeated"]),
        (&Value::Null, &json!(true))
    );
    folder.refused(&["receipt", "key"], 2);
}
