//! The last verified entry is kept beside a ledger: a ledger that was truncated, put back to an older copy,
//! changed or deleted is not charged any more.

mod places;

use accounting::{Event, NoiseSupport, Ratio};
use ledger::{Error, Place, Store};
use mechanism::Ledger;
use places::{Fresh, approximate_rules, charge, epsilon, pure, pure_rules, sqlite};
use std::path::PathBuf;

fn path(fresh: &Fresh) -> PathBuf {
    match fresh.place() {
        Place::File(path) => path.clone(),
        _ => unreachable!("a file"),
    }
}

/// Charges ε = 0.25 this many times, each by a store of its own, as commands do.
fn ask(fresh: &Fresh, times: usize) {
    for _ in 0..times {
        let mut store = Store::open(fresh.place(), &pure_rules("10")).unwrap();
        store.charge("ann", "q", charge(pure("0.25"))).unwrap();
    }
}

fn opened(fresh: &Fresh) -> Result<Store, Error> {
    Store::open(fresh.place(), &pure_rules("10"))
}

#[test]
fn a_changed_entry_is_refused_without_a_verification() {
    for number in [1, 2, 3, 5] {
        let fresh = sqlite();
        ask(&fresh, 4);
        fresh.tamper(&format!(
            "UPDATE deniable_entries SET purpose = 'another' WHERE number = {number}"
        ));
        let refusal = opened(&fresh).unwrap_err();
        assert!(
            matches!(refusal, Error::Broken { number: found, .. } if found == number),
            "{refusal}"
        );
        assert!(refusal.to_string().contains("release nothing"), "{refusal}");
    }
}

/// Also by a process that has the ledger open, as soon as the entry is one that it did not see yet.
#[test]
fn an_entry_that_does_not_follow_is_refused_by_whoever_is_running() {
    let fresh = sqlite();
    let mut running = opened(&fresh).unwrap();
    ask(&fresh, 2);
    fresh.tamper("UPDATE deniable_entries SET purpose = 'another' WHERE number = 2");
    let refusal = running.charge("ann", "q", charge(pure("0.25"))).unwrap_err();
    assert!(refusal.to_string().contains("entry 2"), "{refusal}");
}

#[test]
fn an_older_copy_is_refused_until_it_is_accepted() {
    let fresh = sqlite();
    ask(&fresh, 2);
    let old = std::fs::read(path(&fresh)).unwrap();
    ask(&fresh, 2);
    std::fs::write(path(&fresh), old).unwrap();
    let refusal = opened(&fresh).unwrap_err();
    assert_eq!(refusal, Error::Rewound { number: 5 });
    assert!(refusal.to_string().contains("accept-restored"), "{refusal}");
    let looked = Store::open_existing(fresh.place()).unwrap().unwrap().verify();
    assert_eq!(looked.unwrap_err(), Error::Rewound { number: 5 });
    let accepted = Store::accept_restored(fresh.place(), false).unwrap();
    assert_eq!((accepted.head.unwrap().number, accepted.lost), (3, 2));
    let mut store = opened(&fresh).unwrap();
    assert_eq!(store.left("ann").unwrap().epsilon, epsilon("9.5"));
}

/// A process that runs while the file is put back to a copy that it has seen and others have outgrown.
#[test]
fn an_older_copy_is_refused_by_whoever_is_running() {
    let fresh = sqlite();
    ask(&fresh, 1);
    let mut running = opened(&fresh).unwrap();
    ask(&fresh, 2);
    fresh.tamper(
        "DELETE FROM deniable_entries WHERE number > 2;
         DELETE FROM deniable_snapshot",
    );
    let refusal = running.charge("ann", "q", charge(pure("0.25"))).unwrap_err();
    assert!(refusal.to_string().contains("went back"), "{refusal}");
}

#[test]
fn a_ledger_that_is_gone_is_no_new_one() {
    let fresh = sqlite();
    ask(&fresh, 2);
    for file in ["", "-wal", "-shm"] {
        let name = format!("{}{file}", path(&fresh).display());
        let _ = std::fs::remove_file(name);
    }
    assert_eq!(opened(&fresh).unwrap_err(), Error::Vanished { entries: 3 });
    // Nor for somebody who only looks.
    let looked = Store::open_existing(fresh.place()).map(|store| store.is_some());
    assert_eq!(looked, Err(Error::Vanished { entries: 3 }));
    assert!(!path(&fresh).exists(), "nothing was made by refusing");
    // A file without a ledger in it is none either.
    std::fs::write(path(&fresh), "").unwrap();
    assert_eq!(opened(&fresh).unwrap_err(), Error::Vanished { entries: 3 });
    let not_meant = Store::accept_restored(fresh.place(), false);
    assert_eq!(not_meant.unwrap_err(), Error::Vanished { entries: 3 });
    let accepted = Store::accept_restored(fresh.place(), true).unwrap();
    assert_eq!((accepted.head, accepted.lost), (None, 3));
    assert_eq!(
        opened(&fresh).unwrap().left("ann").unwrap().epsilon,
        epsilon("10")
    );
}

#[test]
fn what_a_verification_found_wrong_stays_refused_until_one_finds_it_right() {
    let fresh = sqlite();
    ask(&fresh, 3);
    let verify = || Store::open_existing(fresh.place()).unwrap().unwrap().verify();
    let purpose = |text: &str| {
        fresh.tamper(&format!(
            "UPDATE deniable_entries SET purpose = '{text}' WHERE number = 2"
        ));
    };
    purpose("another");
    verify().unwrap_err();
    // Mended, but nobody has verified it.
    purpose("a test");
    assert!(matches!(
        opened(&fresh).unwrap_err(),
        Error::Broken { number: 2, .. }
    ));
    verify().unwrap();
    opened(&fresh).unwrap();
}

/// After a crash between the commit and the writing of the head, and when two processes write it in the other
/// order.
#[test]
fn a_head_that_lags_is_caught_up_with() {
    let fresh = sqlite();
    ask(&fresh, 1);
    let head = fresh.place().head_file().unwrap();
    let early = std::fs::read(&head).unwrap();
    ask(&fresh, 2);
    std::fs::write(&head, &early).unwrap();
    ask(&fresh, 1);
    assert_ne!(std::fs::read(&head).unwrap(), early);
    // What lies behind a head that lags is checked all the same.
    std::fs::write(&head, &early).unwrap();
    fresh.tamper("UPDATE deniable_entries SET purpose = 'another' WHERE number = 4");
    assert!(matches!(
        opened(&fresh).unwrap_err(),
        Error::Broken { number: 4, .. }
    ));
}

/// A ledger of an earlier version has no head beside it: all of it is verified once.
#[test]
fn a_ledger_without_a_head_is_verified_from_its_first_entry() {
    let fresh = sqlite();
    ask(&fresh, 2);
    let head = fresh.place().head_file().unwrap();
    std::fs::remove_file(&head).unwrap();
    opened(&fresh).unwrap();
    assert!(head.exists());
    std::fs::remove_file(&head).unwrap();
    fresh.tamper("UPDATE deniable_entries SET purpose = 'another' WHERE number = 2");
    opened(&fresh).unwrap_err();
    assert!(!head.exists());
}

#[test]
fn many_who_charge_at_once_never_write_a_head_that_leads() {
    let fresh = sqlite();
    ask(&fresh, 1);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..6 {
                    let mut store = opened(&fresh).unwrap();
                    store.charge("ann", "q", charge(pure("0.01"))).unwrap();
                }
            });
        }
    });
    let mut store = opened(&fresh).unwrap();
    assert_eq!(store.verify().unwrap().charges, 25);
}

/// What is kept of a database lies on this machine.
#[test]
fn a_database_that_went_back_is_missed_by_this_machine() {
    let (fresh, folder) = (places::postgres(), tempfile::tempdir().unwrap());
    let Place::Postgres(address) = fresh.place() else {
        unreachable!("a database")
    };
    let place = Place::PostgresKeepingHead {
        address: address.clone(),
        head: folder.path().join("head"),
    };
    let open = || Store::open(&place, &pure_rules("10"));
    open().unwrap().charge("ann", "q", charge(pure("0.25"))).unwrap();
    open().unwrap().charge("ann", "q", charge(pure("0.25"))).unwrap();
    fresh.tamper("DELETE FROM deniable_entries WHERE number > 2; DELETE FROM deniable_snapshot");
    assert_eq!(open().unwrap_err(), Error::Rewound { number: 3 });
    fresh
        .as_owner("DROP TABLE deniable_entries, deniable_snapshot; DROP FUNCTION deniable_never_changed, deniable_only_appended")
        .unwrap();
    assert_eq!(open().unwrap_err(), Error::Vanished { entries: 3 });
    // If it cannot be kept, the database alone is relied on.
    let nowhere = Place::PostgresKeepingHead {
        address: address.clone(),
        head: folder.path().join("not there").join("head"),
    };
    let mut store = Store::open(&nowhere, &pure_rules("10")).unwrap();
    store.charge("ann", "q", charge(pure("0.25"))).unwrap();
}

#[test]
fn a_charge_without_an_answer_is_used_before_a_new_one_is_made() {
    let fresh = sqlite();
    let mut store = opened(&fresh).unwrap();
    let mut charged = |analyst: &str, question: &str, text: &str| {
        let since = store.head().unwrap().number;
        let mut session = store.resumable_session(analyst, question, since).unwrap();
        session.charge(charge(pure(text))).unwrap().number
    };
    assert_eq!(charged("ann", "q", "0.25"), 2);
    // Interrupted: asked again, however often.
    assert_eq!(charged("ann", "q", "0.25"), 2);
    assert_eq!(charged("Ann ", "q", "0.25"), 2);
    // Another price, question or analyst is another charge.
    assert_eq!(charged("ann", "q", "0.5"), 3);
    assert_eq!(charged("ann", "other", "0.25"), 4);
    assert_eq!(charged("bob", "q", "0.25"), 5);
    store.record_answer(2, "q", "ann", "17").unwrap();
    assert!(
        store.record_answer(2, "q", "ann", "18").is_err(),
        "one answer a charge"
    );
    // What was answered does not pay again, and an ordinary session never takes an old charge.
    let since = store.head().unwrap().number;
    let mut session = store.resumable_session("ann", "q", since).unwrap();
    assert_eq!(session.charge(charge(pure("0.25"))).unwrap().number, 7);
    let mut session = store.session("ann", "q").unwrap();
    assert_eq!(session.charge(charge(pure("0.25"))).unwrap().number, 8);
}

/// An answer that was saved after somebody looked for one is theirs: they are not charged.
#[test]
fn who_overlooked_an_answer_is_not_charged() {
    let fresh = sqlite();
    let mut store = opened(&fresh).unwrap();
    let mut other = opened(&fresh).unwrap();
    let since = store.head().unwrap().number;
    let mut session = store.resumable_session("ann", "q", since).unwrap();
    let number = other.charge("bob", "q", charge(pure("0.25"))).unwrap().number;
    other.record_answer(number, "q", "bob", "17").unwrap();
    let refused = session.charge(charge(pure("0.25"))).unwrap_err();
    assert!(refused.to_string().contains("answered meanwhile"), "{refused}");
    assert_eq!(other.charges().unwrap().len(), 1);
    assert!(matches!(refused, mechanism::Refusal::Elsewhere(_)));
    // An analyst who has seen it may still pay for another one.
    let since = other.head().unwrap().number;
    let mut session = other.resumable_session("ann", "q", since).unwrap();
    assert!(session.charge(charge(pure("0.25"))).is_ok());
}

/// A second analyst who asks while the same query is drawn waits, and is not charged. A process that died
/// does not keep others waiting.
#[test]
fn nobody_is_charged_while_the_same_is_drawn() {
    let fresh = sqlite();
    let (mut store, mut other) = (opened(&fresh).unwrap(), opened(&fresh).unwrap());
    let since = store.head().unwrap().number;
    let mut first = store.resumable_session("ann", "q", since).unwrap();
    let number = first.charge(charge(pure("0.25"))).unwrap().number;
    // Not drawn yet: the next analyst who asks the same finishes it.
    let since = other.head().unwrap().number;
    let mut second = other.resumable_session("ann", "q", since).unwrap();
    assert_eq!(second.charge(charge(pure("0.25"))).unwrap().number, number);
    first.begin_drawing(number).unwrap();
    let refused = second.charge(charge(pure("0.25"))).unwrap_err();
    assert!(matches!(refused, mechanism::Refusal::Elsewhere(_)), "{refused}");
    assert!(second.begin_drawing(number).is_err(), "drawn once");
    // After a while nobody waits any more.
    let mut waited = 0;
    let again = loop {
        match second.charge(charge(pure("0.25"))) {
            Ok(receipt) => break receipt.number,
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(100)),
        }
        waited += 1;
        assert!(waited < 600, "it waits for ever");
    };
    assert_ne!(again, number);
}

#[test]
fn a_forecast_is_how_many_are_then_admitted() {
    let gaussian = Event::Gaussian {
        multiplier_squared: Ratio::parse("400").unwrap(),
        on: NoiseSupport::Rounded,
    };
    let several = Event::Composed(vec![pure("0.01"), gaussian.clone()]);
    for (rules, event) in [
        (pure_rules("1"), pure("0.3")),
        (pure_rules("1"), pure("2")),
        (approximate_rules("1"), pure("0.1")),
        (approximate_rules("1"), gaussian),
        (approximate_rules("1"), several),
    ] {
        let fresh = sqlite();
        let mut store = Store::open(fresh.place(), &rules).unwrap();
        store.charge("ann", "q", charge(pure("0.05"))).unwrap();
        let reported = store.forecast("ann", &event, 1000).unwrap();
        assert_eq!(reported.left_after.is_some(), reported.more > 0, "{event:?}");
        let more = store.more("ann", &event, 1000).unwrap();
        assert_eq!((more.count, more.at_least), (reported.more, reported.at_least));
        // Nobody has a share, so everybody together may ask as many.
        assert_eq!(store.more_for_all(&event, 1000).unwrap(), more);
        let mut admitted = 0;
        while store.charge("ann", "q", charge(event.clone())).is_ok() {
            admitted += 1;
            if admitted == 1 {
                let left = store.left("ann").unwrap().epsilon;
                assert_eq!(reported.left_after, Some(left), "{event:?}");
            }
        }
        let used = store.used().unwrap().promise.unwrap();
        assert!(rules.budget.limit().covers(&used), "{used}");
        assert_eq!((reported.more, reported.at_least), (admitted, false), "{event:?}");
        assert_eq!(store.forecast("ann", &event, 1000).unwrap().more, 0);
    }
    let fresh = sqlite();
    let mut store = opened(&fresh).unwrap();
    let reported = store.forecast("ann", &pure("0.001"), 1000).unwrap();
    assert_eq!((reported.more, reported.at_least), (1000, true));
}
