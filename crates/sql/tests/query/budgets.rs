//! The budget: charged first, shared, never overspent, and free for what was asked before.

use crate::harness::{Bench, CATALOG};
use sql::{Ask, Error, Stage};

fn tight(analysts: &str) -> Bench {
    let catalog = CATALOG
        .replace("EPSILON", "0.4")
        .replace("NEIGHBORS", "add_remove")
        .replace("epsilon = 1000000000\ndelta = 1e-6", "epsilon = 1")
        .replace("[limits]", &format!("{analysts}\n[limits]"))
        .replace("delta = 1e-9", "");
    Bench::with(&catalog)
}

fn ask(bench: &Bench, sql: &str, analyst: &str) -> Result<sql::Answered, Error> {
    bench.dataset.query(&Ask::new(sql, analyst))
}

#[test]
fn a_repeated_question_is_free_for_everybody() {
    let bench = tight("");
    let first = ask(&bench, "SELECT COUNT(*) FROM people", "alice").unwrap();
    assert!(!first.repeated);
    for analyst in ["alice", "bob", "carol"] {
        let again = ask(&bench, "select   count(*)\nfrom people", analyst).unwrap();
        assert!(again.repeated);
        assert_eq!(again.answer, first.answer);
    }
    assert_eq!(bench.dataset.ledger().unwrap().charges().unwrap().len(), 1);
}

/// Who watches sees the charge in the ledger before the data is read, and no charge at all where the answer was stored.
#[test]
fn the_charge_comes_before_the_data() {
    let bench = tight("");
    let charges = || bench.dataset.ledger().unwrap().charges().unwrap().len();
    let mut told = Vec::new();
    for _ in 0..2 {
        let asked = Ask::new(
            "SELECT education, COUNT(*) AS n FROM people GROUP BY education ORDER BY n",
            "alice",
        );
        let mut watch = |stage| told.push((stage, charges()));
        bench.dataset.query_watched(&asked, &mut watch).unwrap();
    }
    use Stage::{Charged, Measured, Understood};
    let once = [(Understood, 0), (Charged, 1), (Measured, 1), (Understood, 1)];
    assert_eq!(told, once);
}

#[test]
fn the_budget_is_shared_and_ends() {
    let bench = tight("");
    assert!(ask(&bench, "SELECT COUNT(*) FROM people", "alice").is_ok());
    assert!(ask(&bench, "SELECT COUNT(*) FROM people WHERE age > 30", "bob").is_ok());
    let third = ask(&bench, "SELECT COUNT(*) FROM people WHERE age > 31", "carol").unwrap_err();
    assert!(third.to_string().contains("hint: "), "{third}");
    assert_eq!(bench.dataset.ledger().unwrap().charges().unwrap().len(), 2);
    let cheap = Ask {
        epsilon: Some(accounting::Epsilon::parse("0.2").unwrap()),
        ..Ask::new("SELECT COUNT(*) FROM people WHERE age > 31", "carol")
    };
    assert!(bench.dataset.query(&cheap).is_ok(), "what is left can be spent");
}

#[test]
fn shares_hold_single_analysts_back() {
    let bench = tight("[budget.analysts]\nAlice = 0.5\nbob = 1");
    assert!(ask(&bench, "SELECT COUNT(*) FROM people", "alice").is_ok());
    assert!(ask(&bench, "SELECT COUNT(*) FROM people WHERE age > 30", "alice").is_err());
    assert!(ask(&bench, "SELECT COUNT(*) FROM people WHERE age > 30", "bob").is_ok());
    let stranger = ask(&bench, "SELECT COUNT(*) FROM people WHERE age > 40", "carol").unwrap_err();
    assert!(stranger.to_string().contains("hint: "), "{stranger}");
}

#[test]
fn a_changed_file_is_another_question() {
    let bench = tight("");
    let first = ask(&bench, "SELECT COUNT(*) FROM people", "alice").unwrap();
    let path = bench.directory.path().join("people.csv");
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("400,30,none,1000,north,true\n");
    std::fs::write(&path, text).unwrap();
    let second = ask(&bench, "SELECT COUNT(*) FROM people", "alice").unwrap();
    assert!(!first.repeated && !second.repeated);
}

#[test]
fn refused_queries_and_failing_engines() {
    let bench = tight("");
    assert!(ask(&bench, "SELECT SUM(person) FROM people", "alice").is_err());
    assert!(
        bench.dataset.ledger().unwrap().charges().unwrap().is_empty(),
        "a refusal costs nothing"
    );
    std::fs::remove_file(bench.directory.path().join("people.csv")).unwrap();
    let gone = ask(&bench, "SELECT COUNT(*) FROM people", "alice").unwrap_err();
    assert!(gone.to_string().contains("hint: "), "{gone}");
}
