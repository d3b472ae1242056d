//! Accounts' limits, requests that are charged once, documents and the log.

use accounting::{Budget, Epsilon, Event, Guarantee, Neighbors, PrivacyUnit, Promise};
use exact::ratio;
use ledger::{Caps, LogEntry, Once, Place, Rules, Store};
use mechanism::{Charge, Ledger, Refusal};
use std::path::Path;

fn epsilon(text: &str) -> Epsilon {
    Epsilon::parse(text).unwrap()
}

fn rules() -> Rules {
    let person = PrivacyUnit::new("person", Neighbors::AddRemove);
    Rules::new(Budget::new(Promise::Pure(epsilon("10")), person))
}

fn open(folder: &Path) -> Store {
    Store::open(&Place::File(folder.join("ledger.db")), &rules()).unwrap()
}

fn charge(cost: &str) -> Charge {
    Charge {
        guarantee: Guarantee::new(Promise::Pure(epsilon(cost)), rules().budget.unit().clone()),
        event: Event::Pure {
            epsilon: epsilon(cost),
        },
        purpose: String::new(),
    }
}

fn rule_of(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Rule { rule, what } => {
            assert!(what.contains("\nhint: "), "{what}");
            rule
        }
        other => panic!("{other}"),
    }
}

#[test]
fn limits_of_an_account_hold_and_charge_nothing_when_they_refuse() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path());
    let caps = Caps {
        per_question: Some(epsilon("0.5")),
        per_day: Some(epsilon("1")),
    };
    let ask = |store: &mut Store, who: &str, question: &str, cost: &str| {
        let charged = store
            .session(who, question)
            .unwrap()
            .within(&caps)
            .charge(charge(cost));
        charged.map(|receipt| receipt.number)
    };
    assert_eq!(
        rule_of(&ask(&mut store, "ann", "a", "0.6").unwrap_err()),
        "question-cap"
    );
    ask(&mut store, "ann", "b", "0.5").unwrap();
    ask(&mut store, "Ann ", "c", "0.3").unwrap();
    let refusal = ask(&mut store, "ann", "d", "0.21").unwrap_err();
    assert_eq!(rule_of(&refusal), "day-cap");
    assert!(refusal.to_string().contains("0.2 is left"), "{refusal}");
    // To the last bit, and others have limits of their own.
    ask(&mut store, "ann", "e", "0.2").unwrap();
    assert_eq!(
        rule_of(&ask(&mut store, "ann", "f", "1e-9").unwrap_err()),
        "day-cap"
    );
    ask(&mut store, "bob", "f", "0.5").unwrap();
    assert_eq!(store.charges().unwrap().len(), 4);
    assert_eq!(store.verify().unwrap().charges, 4);
}

#[test]
fn a_request_is_charged_once_whatever_became_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path());
    let once = Once::new("ann", "key", "SELECT 1");
    let ask = |store: &mut Store, once: &Once| {
        let since = store.head().unwrap().number;
        let session = store.resumable_session("ann", "q", since).unwrap();
        session
            .once(Some(once))
            .charge(charge("0.1"))
            .map(|receipt| receipt.number)
    };
    let first = ask(&mut store, &once).unwrap();
    // Interrupted before it drew: the same charge pays.
    assert_eq!(ask(&mut store, &once).unwrap(), first);
    // Interrupted after it began to draw, long ago: nothing pays any more, and nothing is charged again.
    store.session("ann", "q").unwrap().begin_drawing(first).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(3200));
    assert_eq!(rule_of(&ask(&mut store, &once).unwrap_err()), "answer-lost");
    assert_eq!(store.charges().unwrap().len(), 1);
    // Another key pays anew; the first for something else is refused.
    let again = ask(&mut store, &Once::new("ann", "another", "SELECT 1")).unwrap();
    assert_ne!(again, first);
    assert!(matches!(
        store.check_request(&Once::new("ann", "key", "SELECT 2")),
        Err(ledger::Error::KeyReused)
    ));
    // Of another account it is another key.
    store.check_request(&Once::new("bob", "key", "SELECT 2")).unwrap();
}

#[test]
fn documents_and_the_log_change_together_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path());
    assert_eq!(store.document("account", "ann").unwrap(), None);
    assert!(store.documents("account").unwrap().is_empty());
    let failed: Result<(), ledger::Error> = store.administer(|administration| {
        administration.keep("account", "ann", "{}")?;
        administration.log(LogEntry::new("account-added", "root", "ann"));
        Err(ledger::Error::Nameless)
    });
    failed.unwrap_err();
    assert_eq!(store.document("account", "ann").unwrap(), None);
    assert!(store.logged().unwrap().is_empty());

    store
        .administer(|administration| {
            administration.keep("account", "ann", "{1}")?;
            administration.log(LogEntry::new("account-added", "root", "ann"));
            administration.log(LogEntry::new("token-made", "root", "default of ann"));
            administration.keep("account", "ann", "{2}")
        })
        .unwrap();
    store.session("ann", "q").unwrap().charge(charge("1")).unwrap();
    store.log([LogEntry::new("login", "ann", "")]).unwrap();
    drop(store);

    // Another process sees all of it, in the chain.
    let mut store = open(folder.path());
    assert_eq!(store.document("account", "ann").unwrap().as_deref(), Some("{2}"));
    let logged = store.logged().unwrap();
    let whats: Vec<&str> = logged.iter().map(|logged| logged.entry.what.as_str()).collect();
    assert_eq!(whats, ["account-added", "token-made", "login"]);
    assert_eq!(store.charges().unwrap().len(), 1);
    let verified = store.verify().unwrap();
    assert_eq!((verified.entries, verified.charges), (5, 1));
}

#[test]
fn a_share_of_an_account_holds_beside_those_of_the_catalog() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::File(folder.path().join("ledger.db"));
    let mut store = open(folder.path());
    store.session("ann", "q").unwrap().charge(charge("1")).unwrap();
    // A second store stays open over the change, as a server does.
    let mut other = open(folder.path());
    store
        .administer(|administration| administration.set_share("Ann", Some(&ratio(1, 4))))
        .unwrap();
    assert_eq!(store.left("ann").unwrap().epsilon, epsilon("1.5"));
    assert_eq!(other.left("ann").unwrap().epsilon, epsilon("1.5"));
    assert!(other.session("bob", "q").is_err());
    // A process that opens it with the catalog's rules, which know of no share, finds it; also after the
    // catalog's rules are adopted again.
    drop((store, other));
    assert_eq!(open(folder.path()).left("ann").unwrap().epsilon, epsilon("1.5"));
    drop(Store::adopt(&place, &rules()).unwrap());
    let mut store = open(folder.path());
    assert_eq!(store.left("ann").unwrap().epsilon, epsilon("1.5"));
    let greedy: Result<(), ledger::Error> =
        store.administer(|administration| administration.set_share("bob", Some(&ratio(3, 2))));
    assert!(greedy.is_err());
    store
        .administer(|administration| administration.set_share("ann", None))
        .unwrap();
    assert_eq!(store.left("ann").unwrap().epsilon, epsilon("9"));
    store.verify().unwrap();
}
