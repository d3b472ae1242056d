//! What was spent as people and programs read it.

use super::{broken, figure, kept_head, report};
use accounting::{
    Accountant, Budget, Delta, Epsilon, Error, Event, Guarantee, Neighbors, PrivacyUnit, Promise,
};
use ledger::{Entry, Left, More, Rules, Spent, Typical, Used};

fn epsilon(text: &str) -> Epsilon {
    Epsilon::parse(text).unwrap()
}

fn more(count: u64) -> More {
    More {
        count,
        at_least: false,
    }
}

fn entry(number: u64, analyst: &str, price: &str, answered: bool, purpose: &str) -> Entry {
    let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
    Entry {
        number,
        time: 1_700_000_000_000 + number as i64 * 60_000,
        analyst: analyst.to_owned(),
        question: String::new(),
        purpose: purpose.to_owned(),
        event: Event::Pure {
            epsilon: epsilon(price),
        },
        guarantee: Guarantee::new(Promise::Pure(epsilon(price)), unit),
        answered,
    }
}

fn spent() -> Spent {
    let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
    let limit = Promise::Approximate(epsilon("2"), Delta::parse("1e-6").unwrap());
    let mut rules = Rules::new(Budget::new(limit, unit));
    rules.shares.insert("ann".to_owned(), exact::ratio(1, 2));
    Spent {
        dataset: "clinic".to_owned(),
        rules,
        other_rules: None,
        charges: vec![
            entry(2, "ann", "0.25", true, "SELECT COUNT(*) FROM people"),
            entry(
                4,
                "bob",
                "0.5",
                false,
                "SELECT region, AVG(income) FROM people WHERE age >= 40 GROUP BY region",
            ),
            entry(5, "ann", "0.25", true, "SELECT COUNT(*) FROM visits"),
        ],
        analyst: "ann".to_owned(),
        used: Some(Used {
            promise: Some(Promise::Approximate(epsilon("1"), Delta::parse("1e-6").unwrap())),
            reserve: Delta::ZERO,
        }),
        left: Left {
            epsilon: epsilon("0.5"),
            dataset: epsilon("1"),
            share: Some(epsilon("0.5")),
        },
        left_of: [("ann", "0.5"), ("bob", "0")]
            .map(|(name, left)| (name.to_owned(), epsilon(left)))
            .into(),
        typical: Some(Typical {
            epsilon: epsilon("0.25"),
            more: more(2),
            more_of: [("ann", 2), ("bob", 0)]
                .map(|(name, count)| (name.to_owned(), more(count)))
                .into(),
        }),
        accountants: vec![
            (Accountant::Basic, Ok(epsilon("1"))),
            (Accountant::Gaussian, Err(Error::NeedsDelta)),
            (Accountant::Numerical, Ok(epsilon("0.987654321"))),
        ],
        odometer: Ok(epsilon("1")),
        verified: None,
    }
}

#[test]
fn what_was_spent_is_readable() {
    insta::assert_snapshot!(report::text(&spent(), 100, false), @r#"
    clinic: at most ε = 2, δ = 0.000001 for each person, added or removed; 0.5 of it for "ann"
    spent: ε = 1 of 2, by 3 charges, the last on 2023-11-14 22:18 UTC by ann
    left: ε = 0.5 (if spent in one more query by ann, whose share it is; everybody together has ε = 1); about 2 more queries at ε = 0.25, the usual of this catalog

    analyst  charges  spent, as a sum of ε  left, ε of one query  more queries at ε = 0.25  may spend
    ───────  ───────  ────────────────────  ────────────────────  ────────────────────────  ─────────────────
    ann            2                   0.5                   0.5                   about 2  0.5 of the budget
    bob            1                   0.5                     0                        no  none

    charge  when (UTC)        analyst  promises  answered  what for
    ──────  ────────────────  ───────  ────────  ────────  ─────────────────────────────────────────────
         2  2023-11-14 22:15  ann      ε = 0.25  yes       SELECT COUNT(*) FROM people
         4  2023-11-14 22:17  bob      ε = 0.5   no        SELECT region, AVG(income) FROM people WHERE…
         5  2023-11-14 22:18  ann      ε = 0.25  yes       SELECT COUNT(*) FROM visits

    what all charges guarantee together, as each accountant counts it: deniable budget --verbose
    "#);
}

#[test]
fn other_ways_of_counting_are_asked_for() {
    let plain = report::text(&spent(), 100, false);
    let verbose = report::text(&spent(), 100, true);
    for words in ["certified", "odometer", "Rényi divergences", "of what was spent"] {
        assert!(!plain.contains(words), "{words}: {plain}");
        assert!(verbose.contains(words), "{words}: {verbose}");
    }
    assert!(
        verbose.contains("50.0 %") && !verbose.contains("--verbose"),
        "{verbose}"
    );
    // A ledger by itself has no catalog, which would say what is typical.
    let by_itself = Spent {
        typical: None,
        ..spent()
    };
    assert!(!report::text(&by_itself, 100, false).contains("more queries"));
}

#[test]
fn nothing_spent_and_other_rules_are_said() {
    let mut spent = spent();
    spent.charges.clear();
    let mut other = spent.rules.clone();
    other.shares.clear();
    spent.other_rules = Some(other);
    let text = report::text(&spent, 100, true);
    assert!(text.contains("nothing was charged yet"), "{text}");
    assert!(
        text.contains("warning: the catalog states other rules") && text.contains("budget adopt"),
        "{text}"
    );
    assert!(figure::of(&spent, true).is_err());
}

#[test]
fn a_program_gets_decimals() {
    let reported = report::json(&spent());
    assert_eq!(reported["sum"]["epsilon"], "1");
    assert_eq!(reported["accountants"][1]["epsilon"], serde_json::Value::Null);
    assert!(reported["accountants"][1]["why_no_epsilon"].is_string());
    let analysts = reported["analysts"].as_array().unwrap();
    assert_eq!(
        (&analysts[0]["name"], &analysts[0]["sum"]["epsilon"]),
        (&"ann".into(), &"0.5".into())
    );
    assert_eq!(
        (&analysts[0]["charges"], &analysts[0]["share"]),
        (&2.into(), &"0.5".into())
    );
    assert_eq!(analysts[1]["share"], serde_json::Value::Null);
    assert_eq!(reported["charges"][1]["answered"], false);
    assert_eq!(reported["left"]["share"], "0.5");
    assert_eq!(reported["summary"]["releases"], 3);
    assert_eq!(reported["summary"]["epsilon_spent"], "1");
    assert_eq!(reported["summary"]["last"]["number"], 5);
    assert_eq!(reported["analysts"][1]["left"], "0");
    assert_eq!(reported["typical_epsilon"], "0.25");
    assert_eq!(reported["left"]["typical_queries"]["count"], 2);
    assert_eq!(reported["analysts"][1]["typical_queries"]["count"], 0);
}

/// Sums may be above the budget, and the report says which number is not.
#[test]
fn what_is_enforced_is_told_from_other_ways_of_counting() {
    let mut spent = spent();
    spent.charges = (0..40)
        .map(|number| entry(2 * number, "ann", "0.1", true, "SELECT COUNT(*) FROM people"))
        .collect();
    spent.used = Some(Used {
        promise: Some(Promise::Approximate(
            epsilon("1.9"),
            Delta::parse("1e-6").unwrap(),
        )),
        reserve: Delta::ZERO,
    });
    let text = report::text(&spent, 100, true);
    assert!(text.contains("spent: ε = 1.9 of 2, by 40 charges"), "{text}");
    assert!(
        text.contains("sums of what each promised") && text.contains("Only the first number is enforced"),
        "{text}"
    );
    let reported = report::json(&spent);
    assert_eq!(reported["summary"]["epsilon_spent"], "1.9");
    assert_eq!(reported["enforced"]["by"], "renyi");
    assert_eq!(reported["enforced"]["limit"]["epsilon"], "2");

    // Rules that were lowered afterwards.
    spent.used = Some(Used {
        promise: None,
        reserve: Delta::ZERO,
    });
    let text = report::text(&spent, 100, true);
    assert!(
        text.contains("spent: more than the budget allows, under earlier rules"),
        "{text}"
    );
    assert_eq!(report::json(&spent)["enforced"]["over"], true);

    // A budget without δ is a sum, and needs no words.
    let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
    spent.rules = Rules::new(Budget::new(Promise::Pure(epsilon("5")), unit.clone()));
    spent.used = Some(Used {
        promise: Some(Promise::Pure(epsilon("4"))),
        reserve: Delta::ZERO,
    });
    let text = report::text(&spent, 100, true);
    assert!(
        text.contains("spent: ε = 4 of 5") && !text.contains("Rényi divergences"),
        "{text}"
    );
    spent.rules = Rules::new(Budget::new(
        Promise::Concentrated(accounting::Rho::parse("1").unwrap()),
        unit,
    ));
    spent.used = Some(Used {
        promise: Some(Promise::Concentrated(accounting::Rho::parse("0.25").unwrap())),
        reserve: Delta::ZERO,
    });
    assert!(report::text(&spent, 100, true).contains("spent: ρ = 0.25 of 1, by 40 charges"));
}

#[test]
fn spending_is_drawn() {
    let svg = figure::of(&spent(), true).unwrap().to_svg();
    for word in [
        "charges",
        "sums",
        "certified",
        "the ledger enforces",
        "the most that may be spent",
    ] {
        assert!(svg.contains(word), "{word}");
    }
}

#[test]
fn a_broken_ledger_is_a_failed_check() {
    let error = broken(ledger::Error::Broken {
        number: 3,
        what: "its hash is not the hash of what it says".to_owned(),
    });
    assert_eq!(error.code, 4);
    assert!(error.message.contains("entry 3") && error.hint.is_some());
    let unusable = broken(ledger::Error::Unusable {
        what: "it is locked".to_owned(),
        hint: "wait".to_owned(),
    });
    assert_eq!(unusable.code, 2);
}

#[test]
fn a_head_is_read_as_it_was_printed() {
    let hash = "0123456789abcdef".repeat(4);
    let head = kept_head(&format!("12 {hash}")).unwrap();
    assert_eq!((head.number, &head.hash), (12, &hash));
    assert_eq!(kept_head(&head.to_string()).unwrap(), head);
    assert_eq!(kept_head(&format!("12:{}", hash.to_uppercase())).unwrap(), head);
    for text in ["", "12", "12 abc", &format!("x {hash}"), &hash] {
        assert_eq!(kept_head(text).unwrap_err().code, 2, "{text}");
    }
}
