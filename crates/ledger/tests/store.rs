//! What a ledger promises, on SQLite and on PostgreSQL.

mod places;

use accounting::{Event, Guarantee, Neighbors, NoiseSupport, PrivacyUnit, Promise, Ratio};
use exact::ratio;
use ledger::{Error, Place, Store};
use mechanism::{Account, Aggregate, Charge, Laplace, Ledger, Refusal, Sensitive};
use places::{Fresh, approximate_rules, charge, delta, epsilon, person, pure, pure_rules};
use std::path::{Path, PathBuf};

everywhere!(
    a_reopened_store_continues,
    stores_see_each_other,
    an_unanswered_charge_stays_spent,
    answers_are_found_again,
    answers_need_their_own_charge,
    other_rules_are_refused,
    adopted_rules_count_the_past,
    a_running_store_notices_other_rules,
    other_units_never_mix,
    shares_hold_an_analyst_back,
    spellings_of_a_name_have_one_share,
    nobody_else_has_a_share,
    colluding_analysts_have_one_budget,
    asking_spends_nothing,
    delta_comes_from_the_reserve,
    mechanisms_charge_through_a_session,
    what_cannot_be_read_back_is_refused,
    entries_cannot_be_changed,
    nothing_is_made_by_looking,
    many_charges_fit_together,
);

fn a_reopened_store_continues(fresh: &Fresh) {
    let rules = pure_rules("1");
    for expected in 2..=6 {
        let mut store = Store::open(fresh.place(), &rules).unwrap();
        let receipt = store.charge("ann", "q", charge(pure("0.2"))).unwrap();
        assert_eq!(receipt.number, expected);
        assert_eq!(receipt.charge, charge(pure("0.2")));
    }
    let mut store = Store::open_existing(fresh.place()).unwrap().unwrap();
    assert_eq!(*store.rules(), rules);
    assert!(matches!(
        store.charge("ann", "q", charge(pure("1e-9"))),
        Err(Refusal::Budget(_))
    ));
    let verified = store.verify().unwrap();
    assert_eq!((verified.entries, verified.charges), (6, 5));
    assert_eq!(verified.head, store.head().unwrap());
    assert_eq!(store.entry_hash(6).unwrap(), Some(verified.head.hash));
    assert_eq!(store.entry_hash(7).unwrap(), None);
    let charges = store.charges().unwrap();
    assert_eq!(charges.len(), 5);
    assert_eq!(charges[4].number, 6);
    assert_eq!((&*charges[4].analyst, &*charges[4].question), ("ann", "q"));
    assert_eq!(
        (&charges[4].event, &*charges[4].purpose),
        (&pure("0.2"), "a test")
    );
    assert!(charges[4].time > 1_600_000_000_000 && charges.is_sorted_by_key(|entry| entry.number));
}

fn stores_see_each_other(fresh: &Fresh) {
    let rules = approximate_rules("1");
    let mut one = Store::open(fresh.place(), &rules).unwrap();
    let mut other = Store::open(fresh.place(), &rules).unwrap();
    let mut admitted = 0;
    while one.charge("ann", "q", charge(pure("0.05"))).is_ok()
        && other.charge("bob", "q", charge(pure("0.05"))).is_ok()
    {
        admitted += 2;
    }
    // Sums of divergences admit a few more than the twenty that sums of ε would.
    assert!((20..60).contains(&admitted), "{admitted}");
    assert!(!one.fits("ann", &pure("0.05")).unwrap() && !other.fits("ann", &pure("0.05")).unwrap());
    assert_eq!(one.verify().unwrap(), other.verify().unwrap());
}

fn an_unanswered_charge_stays_spent(fresh: &Fresh) {
    let rules = pure_rules("1");
    let mut store = Store::open(fresh.place(), &rules).unwrap();
    let lost = store.charge("ann", "lost", charge(pure("0.75"))).unwrap();
    drop(store);
    let mut store = Store::open(fresh.place(), &rules).unwrap();
    assert_eq!(store.left("ann").unwrap().epsilon, epsilon("0.25"));
    assert!(store.charge("ann", "lost", charge(pure("0.75"))).is_err());
    let charges = store.charges().unwrap();
    assert_eq!(charges.len(), 1);
    assert!(charges[0].number == lost.number && !charges[0].answered);
}

fn answers_are_found_again(fresh: &Fresh) {
    let mut store = Store::open(fresh.place(), &approximate_rules("3")).unwrap();
    assert_eq!(store.stored_answer("q").unwrap(), None);
    let first = store.charge("ann", "q", charge(pure("0.1"))).unwrap();
    let second = store.charge("bob", "q", charge(pure("0.1"))).unwrap();
    store.charge("bob", "other", charge(pure("0.1"))).unwrap();
    store.record_answer(first.number, "q", "ann", "17 ± 3").unwrap();
    let long = "ü".repeat(100_000);
    store.record_answer(second.number, "q", "bob", &long).unwrap();
    let found = store.stored_answer("q").unwrap().unwrap();
    assert_eq!((found.number, &*found.analyst), (6, "bob"));
    assert_eq!((found.charge_number, found.answer), (second.number, long));
    let answered: Vec<bool> = store
        .charges()
        .unwrap()
        .iter()
        .map(|entry| entry.answered)
        .collect();
    assert_eq!(answered, [true, true, false]);
    // Keeping answers costs nothing, and the sums stay those of the chain.
    let left = store.left("ann").unwrap();
    store.verify().unwrap();
    drop(store);
    let mut store = Store::open_existing(fresh.place()).unwrap().unwrap();
    assert_eq!(store.left("ann").unwrap(), left);
    store.charge("ann", "q", charge(pure("0.1"))).unwrap();
    store.verify().unwrap();
}

fn answers_need_their_own_charge(fresh: &Fresh) {
    let mut store = Store::open(fresh.place(), &pure_rules("1")).unwrap();
    let receipt = store.charge("ann", "q", charge(pure("0.1"))).unwrap();
    for (number, question, analyst) in [(1, "", "ann"), (9, "q", "ann"), (2, "r", "ann"), (2, "q", "bob")] {
        let refused = store.record_answer(number, question, analyst, "1").unwrap_err();
        assert!(matches!(refused, Error::NotAnswerable { .. }), "{refused}");
    }
    store.record_answer(receipt.number, "q", "ann", "1").unwrap();
    let refused = store.record_answer(receipt.number, "q", "ann", "2").unwrap_err();
    assert!(
        matches!(refused, Error::NotAnswerable { number: 2, .. }),
        "{refused}"
    );
    assert_eq!(store.stored_answer("q").unwrap().unwrap().answer, "1");
    assert_eq!(store.verify().unwrap().entries, 3);
}

fn other_rules_are_refused(fresh: &Fresh) {
    let rules = pure_rules("1");
    drop(Store::open(fresh.place(), &rules).unwrap());
    let mut shared = rules.clone();
    shared.shares.insert("ann".to_owned(), ratio(1, 2));
    for other in [pure_rules("2"), approximate_rules("1"), shared] {
        let refusal = Store::open(fresh.place(), &other).unwrap_err();
        assert!(matches!(refusal, Error::OtherRules { .. }));
        assert!(refusal.to_string().contains("deniable budget adopt"), "{refusal}");
    }
    Store::open(fresh.place(), &rules).unwrap();
    let mut greedy = rules.clone();
    greedy.shares.insert("ann".to_owned(), ratio(2, 1));
    assert!(matches!(
        Store::adopt(fresh.place(), &greedy),
        Err(Error::BadRules { .. })
    ));
}

fn adopted_rules_count_the_past(fresh: &Fresh) {
    let mut store = Store::open(fresh.place(), &pure_rules("1")).unwrap();
    store.charge("ann", "q", charge(pure("0.5"))).unwrap();
    store.charge("bob", "q", charge(pure("0.25"))).unwrap();
    drop(store);
    // Wider: what was spent counts.
    let mut store = Store::adopt(fresh.place(), &pure_rules("2")).unwrap();
    assert_eq!(store.left("ann").unwrap().epsilon, epsilon("1.25"));
    // Narrower than the past: nothing more, not even something free.
    let mut store = Store::adopt(fresh.place(), &pure_rules("0.7")).unwrap();
    assert_eq!(store.left("ann").unwrap().epsilon, epsilon("0"));
    assert!(!store.fits("ann", &pure("0")).unwrap());
    let refusal = store.charge("ann", "q", charge(pure("1e-9"))).unwrap_err();
    assert!(matches!(refusal, Refusal::Budget(_)));
    store.verify().unwrap();
    // A share that ann has used up already, and bob has not.
    let mut rules = pure_rules("1");
    rules.shares.insert("ann".to_owned(), ratio(1, 4));
    rules.shares.insert("bob".to_owned(), ratio(1, 2));
    let mut store = Store::adopt(fresh.place(), &rules).unwrap();
    assert_eq!(store.left("ann").unwrap().epsilon, epsilon("0"));
    assert_eq!(store.left("bob").unwrap().share, Some(epsilon("0.25")));
    assert_eq!(store.left("cat").unwrap().epsilon, epsilon("0"));
    assert_eq!(store.left_for_all().unwrap(), epsilon("0.25"));
    // Into another currency: the events are counted anew.
    let mut store = Store::adopt(fresh.place(), &approximate_rules("1")).unwrap();
    let left = store.left("ann").unwrap().epsilon;
    assert!(left >= epsilon("0.25") && left < epsilon("0.6"), "{left}");
    store.charge("ann", "q", charge(pure("0.25"))).unwrap();
    // The same rules again change nothing.
    let head = store.head().unwrap();
    let mut store = Store::adopt(fresh.place(), &approximate_rules("1")).unwrap();
    assert_eq!(store.head().unwrap(), head);
    let verified = store.verify().unwrap();
    assert_eq!((verified.entries, verified.charges), (8, 3));
    Store::open(fresh.place(), &approximate_rules("1")).unwrap();
}

fn a_running_store_notices_other_rules(fresh: &Fresh) {
    let mut store = Store::open(fresh.place(), &pure_rules("1")).unwrap();
    let mut reader = Store::open_existing(fresh.place()).unwrap().unwrap();
    Store::adopt(fresh.place(), &pure_rules("0.5")).unwrap();
    let refusal = store.charge("ann", "q", charge(pure("0.1"))).unwrap_err();
    let Refusal::NotRecorded(what) = &refusal else {
        panic!("{refusal}")
    };
    assert!(what.contains("deniable budget adopt"), "{what}");
    assert!(matches!(
        store.fits("ann", &pure("0.1")),
        Err(Error::OtherRules { .. })
    ));
    // A process that did not name rules follows.
    assert!(!reader.fits("ann", &pure("0.6")).unwrap());
    assert_eq!(*reader.rules(), pure_rules("0.5"));
    reader.charge("ann", "q", charge(pure("0.5"))).unwrap();
    assert_eq!(reader.verify().unwrap().charges, 1);
}

fn other_units_never_mix(fresh: &Fresh) {
    let mut store = Store::open(fresh.place(), &approximate_rules("1")).unwrap();
    let row = PrivacyUnit::new("row", Neighbors::AddRemove);
    let foreign = Charge {
        guarantee: Guarantee::new(Promise::Pure(epsilon("0.1")), row),
        ..charge(pure("0.1"))
    };
    let refusal = store.charge("ann", "q", foreign).unwrap_err();
    assert!(matches!(
        refusal,
        Refusal::Budget(accounting::Error::DifferentUnits { .. })
    ));
    assert_eq!(store.head().unwrap().number, 1);
}

fn shares_hold_an_analyst_back(fresh: &Fresh) {
    let mut rules = approximate_rules("1");
    rules.shares.insert("ann".to_owned(), ratio(1, 3));
    rules.shares.insert("bob".to_owned(), ratio(1, 1));
    let mut store = Store::open(fresh.place(), &rules).unwrap();
    let left = store.left("ann").unwrap();
    assert!(left.share == Some(left.epsilon.clone()) && left.epsilon < left.dataset);
    assert!(
        left.epsilon >= epsilon("0.333") && left.epsilon < epsilon("0.34"),
        "{left:?}"
    );
    store.charge("ann", "q", charge(pure("0.3"))).unwrap();
    let refusal = store.charge("ann", "q", charge(pure("0.3"))).unwrap_err();
    assert!(
        refusal.to_string().contains("the share of this analyst"),
        "{refusal}"
    );
    // The refusal spent nothing; bob is not held back by ann's share.
    assert_eq!(store.charges().unwrap().len(), 1);
    store.charge("bob", "q", charge(pure("0.6"))).unwrap();
    // Another process knows it too.
    let mut other = Store::open(fresh.place(), &rules).unwrap();
    assert!(!other.fits("ann", &pure("0.3")).unwrap());
    assert!(other.fits("ann", &pure("0.03")).unwrap());
    let bob = other.left("bob").unwrap();
    assert!(bob.share > Some(bob.dataset), "what ann spent is not bob's");
    other.verify().unwrap();
}

fn spellings_of_a_name_have_one_share(fresh: &Fresh) {
    let mut rules = pure_rules("1");
    rules.shares.insert("Ann Lee".to_owned(), ratio(1, 2));
    let mut store = Store::open(fresh.place(), &rules).unwrap();
    let spellings = [
        "ann lee",
        "ANN LEE",
        " Ann  Lee\t",
        "a\u{200b}nn lee",
        "Ａnn\u{a0}lee\u{feff}",
    ];
    for (number, spelling) in spellings.iter().enumerate() {
        let receipt = store.charge(spelling, "q", charge(pure("0.1"))).unwrap();
        store
            .record_answer(receipt.number, "q", spellings[0], "7")
            .unwrap();
        let left = store.left(spellings[number]).unwrap();
        assert_eq!(left.share, store.left("ann lee").unwrap().share);
    }
    for spelling in spellings {
        assert_eq!(store.left(spelling).unwrap().epsilon, epsilon("0"));
        assert!(!store.fits(spelling, &pure("0.1")).unwrap());
        assert!(store.charge(spelling, "q", charge(pure("0.1"))).is_err());
    }
    assert!(
        store
            .charges()
            .unwrap()
            .iter()
            .all(|entry| entry.analyst == "ann lee")
    );
    assert_eq!(store.stored_answer("q").unwrap().unwrap().analyst, "ann lee");
    assert_eq!(store.rules().share_of("ANN lee"), Some(&ratio(1, 2)));
    store.verify().unwrap();
    // Rules in another spelling are the same rules.
    let mut spelled = pure_rules("1");
    spelled.shares.insert("ann lee".to_owned(), ratio(1, 2));
    assert_eq!(spelled, rules);
    Store::open(fresh.place(), &spelled).unwrap();
    // Two spellings of one name are no rules, and neither is no name.
    spelled.shares.insert("Ann lee".to_owned(), ratio(1, 4));
    let mut nameless = pure_rules("1");
    nameless.shares.insert("\u{200b}".to_owned(), ratio(1, 4));
    for wrong in [spelled, nameless] {
        for refusal in [
            wrong.check().unwrap_err(),
            Store::open(fresh.place(), &wrong).unwrap_err(),
            Store::adopt(fresh.place(), &wrong).unwrap_err(),
        ] {
            assert!(
                matches!(refusal, Error::BadRules { .. } | Error::Nameless),
                "{refusal}"
            );
        }
    }
}

fn nobody_else_has_a_share(fresh: &Fresh) {
    let mut rules = pure_rules("1");
    rules.shares.insert("ann".to_owned(), ratio(1, 2));
    let mut store = Store::open(fresh.place(), &rules).unwrap();
    let head = store.head().unwrap();
    for stranger in ["eve", "\u{430}nn", "ann2"] {
        let refusal = store.session(stranger, "q").unwrap_err();
        assert!(matches!(refusal, Error::NoShare { .. }), "{refusal}");
        assert!(refusal.to_string().contains("\nhint: "), "{refusal}");
        let refusal = store.charge(stranger, "q", charge(pure("0.1"))).unwrap_err();
        assert!(matches!(refusal, Refusal::Budget(_)), "{refusal}");
        assert!(!store.fits(stranger, &pure("1e-9")).unwrap());
        let left = store.left(stranger).unwrap();
        assert_eq!((left.epsilon, left.share), (epsilon("0"), Some(epsilon("0"))));
    }
    assert_eq!(store.head().unwrap(), head);
    assert_eq!(store.left_for_all().unwrap(), epsilon("1"));
    store.session("Ann", "q").unwrap();
}

fn colluding_analysts_have_one_budget(fresh: &Fresh) {
    let mut rules = pure_rules("1");
    for name in ["ann", "bob", "cat"] {
        rules.shares.insert(name.to_owned(), ratio(1, 2));
    }
    let mut store = Store::open(fresh.place(), &rules).unwrap();
    let mut spent = 0;
    for _ in 0..10 {
        for name in ["ann", "bob", "cat"] {
            spent += u32::from(store.charge(name, "q", charge(pure("0.1"))).is_ok());
        }
    }
    assert_eq!(spent, 10);
    for name in ["ann", "bob", "cat", "dan"] {
        assert!(!store.fits(name, &pure("1e-9")).unwrap());
    }
    store.verify().unwrap();
}

fn asking_spends_nothing(fresh: &Fresh) {
    let mut store = Store::open(fresh.place(), &pure_rules("1")).unwrap();
    let head = store.head().unwrap();
    for _ in 0..5 {
        assert!(store.fits("ann", &pure("1")).unwrap());
        assert!(!store.fits("ann", &pure("1.001")).unwrap());
        assert_eq!(store.left("ann").unwrap().epsilon, epsilon("1"));
    }
    assert!(store.charge("ann", "q", charge(pure("1.001"))).is_err());
    assert_eq!(store.head().unwrap(), head);
    store.charge("ann", "q", charge(pure("1"))).unwrap();
    assert!(!store.fits("ann", &pure("1e-9")).unwrap());
}

fn delta_comes_from_the_reserve(fresh: &Fresh) {
    let mut store = Store::open(fresh.place(), &approximate_rules("2")).unwrap();
    let event = |text: &str| Event::Approximate {
        epsilon: epsilon("0.01"),
        delta: delta(text),
    };
    let charge_of = |text: &str| Charge {
        event: event(text),
        guarantee: Guarantee::new(Promise::Approximate(epsilon("0.01"), delta(text)), person()),
        purpose: String::new(),
    };
    store.charge("ann", "q", charge_of("6e-8")).unwrap();
    let refusal = store.charge("ann", "q", charge_of("5e-8")).unwrap_err();
    assert!(matches!(
        refusal,
        Refusal::Budget(accounting::Error::ReserveExceeded { .. })
    ));
    store.charge("ann", "q", charge_of("4e-8")).unwrap();
    assert!(!store.fits("ann", &event("1e-20")).unwrap() && store.fits("ann", &pure("0.01")).unwrap());
}

fn mechanisms_charge_through_a_session(fresh: &Fresh) {
    let mut store = Store::open(fresh.place(), &pure_rules("1")).unwrap();
    let data = Sensitive::new(vec![true, false, true]);
    let count = || Aggregate::count(&data, person());
    let laplace = Laplace::new(epsilon("0.4"), count().sensitivity().clone(), count().grid()).unwrap();
    let mut account = Account::open(store.session("ann", "how many?").unwrap()).unwrap();
    assert_eq!(account.ledger().remaining(), Promise::Pure(epsilon("1")));
    let release = account.release_by(&laplace, count(), "the first").unwrap();
    assert_eq!(release.receipt().number, 2);
    assert_eq!(account.ledger().remaining(), Promise::Pure(epsilon("0.6")));
    account.release_by(&laplace, count(), "the second").unwrap();
    assert!(account.release_by(&laplace, count(), "the third").is_err());
    assert_eq!(account.ledger().budget(), &pure_rules("1").budget);
    let charges = store.charges().unwrap();
    assert_eq!(charges.len(), 2);
    assert_eq!(
        (&*charges[1].purpose, &*charges[1].question),
        ("the second", "how many?")
    );
}

fn what_cannot_be_read_back_is_refused(fresh: &Fresh) {
    let mut store = Store::open(fresh.place(), &approximate_rules("1")).unwrap();
    let mut deep = pure("0.001");
    for _ in 0..40 {
        deep = Event::Composed(vec![deep]);
    }
    let deep = Charge {
        event: deep,
        ..charge(pure("0.001"))
    };
    assert!(matches!(
        store.charge("ann", "q", deep),
        Err(Refusal::NotRecorded(_))
    ));
    for (analyst, question) in [("ann", "q\0"), ("", "q"), (" \u{200b}", "q")] {
        assert!(matches!(
            store.charge(analyst, question, charge(pure("0.1"))),
            Err(Refusal::NotRecorded(_))
        ));
    }
    // Names and purposes may otherwise be anything.
    let odd = Charge {
        purpose: "'; DROP TABLE deniable_entries; -- 🦀\n\u{1}\"".to_owned(),
        ..charge(pure("0.1"))
    };
    store.charge("'; DROP 🦀", "", odd.clone()).unwrap();
    assert_eq!(store.charges().unwrap()[0].purpose, odd.purpose);
    store.verify().unwrap();
}

fn entries_cannot_be_changed(fresh: &Fresh) {
    let mut store = Store::open(fresh.place(), &pure_rules("1")).unwrap();
    store.charge("ann", "q", charge(pure("0.1"))).unwrap();
    store.charge("ann", "q", charge(pure("0.1"))).unwrap();
    let columns = "number, previous, time, kind, analyst, question, purpose, body, tally, hash";
    let mut forbidden = vec![
        "UPDATE deniable_entries SET analyst = 'bob' WHERE number = 2".to_owned(),
        "UPDATE deniable_entries SET number = 9 WHERE number = 3".to_owned(),
        "DELETE FROM deniable_entries WHERE number = 3".to_owned(),
        "DELETE FROM deniable_entries".to_owned(),
        format!(
            "INSERT INTO deniable_entries ({columns}) VALUES (0, '', 0, 'charge', '', '', '', '', '', '')"
        ),
        format!(
            "INSERT INTO deniable_entries ({columns}) VALUES (9, '', 0, 'charge', '', '', '', '', '', '')"
        ),
    ];
    forbidden.push(match fresh {
        Fresh::File { .. } | Fresh::Temporary { .. } => format!(
            "INSERT OR REPLACE INTO deniable_entries ({columns}) VALUES (3, '', 0, 'charge', '', '', '', '', '', '')"
        ),
        Fresh::Schema { .. } => "TRUNCATE deniable_entries".to_owned(),
    });
    for sql in forbidden {
        let refusal = fresh.as_owner(&sql).expect_err(&sql);
        assert!(refusal.contains("entries of a ledger are"), "{sql}: {refusal}");
    }
    assert_eq!(store.verify().unwrap().charges, 2);
}

fn nothing_is_made_by_looking(fresh: &Fresh) {
    assert!(Store::open_existing(fresh.place()).unwrap().is_none());
    if let Place::File(path) = fresh.place() {
        assert!(!path.exists());
    }
    let adopted = Store::adopt(fresh.place(), &pure_rules("1")).unwrap();
    assert_eq!(
        format!("{adopted:?}"),
        "Store(1 entries; at most ε = 1 for each person, added or removed)"
    );
    assert!(Store::open_existing(fresh.place()).unwrap().is_some());
}

fn many_charges_fit_together(fresh: &Fresh) {
    let mut rules = approximate_rules("1");
    rules.shares.insert("ann".to_owned(), ratio(9, 10));
    let mut store = Store::open(fresh.place(), &rules).unwrap();
    let step = Event::Gaussian {
        multiplier_squared: Ratio::parse("2500").unwrap(),
        on: NoiseSupport::Rounded,
    };
    let mut steps = 0;
    while store.charge("ann", "q", charge(step.clone())).is_ok() {
        steps += 1;
        if steps % 20 == 0 {
            store = Store::open(fresh.place(), &rules).unwrap();
        }
    }
    // Sums of (ε, δ) would have allowed fewer than 20.
    assert!(steps > 50, "{steps}");
    assert_eq!(store.verify().unwrap().charges, steps);
}

#[test]
fn what_is_no_ledger_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("other.db");
    rusqlite::Connection::open(&other)
        .unwrap()
        .execute_batch("CREATE TABLE mine (x INTEGER)")
        .unwrap();
    left_alone(&directory, &other, "something else");
    // One that has a log: closed by its owner, and left by an owner that crashed, with all it holds in the
    // log.
    let logged = directory.path().join("logged 100%?.db");
    let owner = rusqlite::Connection::open(&logged).unwrap();
    owner
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE mine (x INTEGER)")
        .unwrap();
    let crashed = directory.path().join("crashed.db");
    for suffix in ["", "-wal"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        std::fs::copy(name(&logged), name(&crashed)).unwrap();
    }
    drop(owner);
    left_alone(&directory, &logged, "something else");

    let text = directory.path().join("notes.txt");
    std::fs::write(&text, "not a database, but a text of some length ".repeat(100)).unwrap();
    left_alone(&directory, &text, "this is no ledger");
    let short = directory.path().join("short.txt");
    std::fs::write(&short, "short").unwrap();
    left_alone(&directory, &short, "this is no ledger");
    let empty = directory.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    let before = files(&directory);
    assert!(Store::open_existing(&Place::File(empty)).unwrap().is_none());
    assert_eq!(files(&directory), before);

    // A crashed process left a log; what is in it stays there.
    let before = [
        std::fs::read(&crashed).unwrap(),
        std::fs::read(log(&crashed)).unwrap(),
    ];
    assert!(
        Store::open_existing(&Place::File(crashed.clone()))
            .unwrap()
            .is_none()
    );
    assert!(Store::open(&Place::File(crashed.clone()), &pure_rules("1")).is_err());
    let after = [
        std::fs::read(&crashed).unwrap(),
        std::fs::read(log(&crashed)).unwrap(),
    ];
    assert!(before == after, "the file or its log changed");

    let nowhere = directory.path().join("no/such/directory/ledger.db");
    let refusal = Store::open(&Place::File(nowhere), &pure_rules("1")).unwrap_err();
    assert!(refusal.to_string().contains("the directory exists"), "{refusal}");
}

/// Every file of a folder, with its bytes.
fn files(directory: &tempfile::TempDir) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

fn log(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}-wal", path.display()))
}

/// No way of opening this file as a ledger works, and none changes a byte of it or leaves a file beside it.
fn left_alone(directory: &tempfile::TempDir, path: &Path, why: &str) {
    let before = files(directory);
    let place = Place::File(path.to_owned());
    match Store::open_existing(&place) {
        Ok(store) => assert!(store.is_none(), "{path:?}"),
        Err(refusal) => assert!(refusal.to_string().contains(why), "{refusal}"),
    }
    for refusal in [
        Store::open(&place, &pure_rules("1")).unwrap_err(),
        Store::adopt(&place, &pure_rules("1")).unwrap_err(),
    ] {
        assert!(refusal.to_string().contains(why), "{refusal}");
        assert!(refusal.to_string().contains("\nhint: "), "{refusal}");
    }
    assert!(
        files(directory) == before,
        "{path:?} was changed, or something was left beside it"
    );
}

/// A ledger is found also while its tables are in its log alone, by other stores of this process and of
/// others.
#[test]
fn a_ledger_is_found_in_its_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.db");
    let mut first = Store::open(&Place::File(path.clone()), &pure_rules("1")).unwrap();
    first.charge("ann", "q", charge(pure("0.5"))).unwrap();
    // As after a crash, or for another process: the same bytes, which nobody here has open.
    let copy = directory.path().join("copy.db");
    for suffix in ["", "-wal"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        std::fs::copy(name(&path), name(&copy)).unwrap();
    }
    let mut copied = Store::open_existing(&Place::File(copy.clone())).unwrap().unwrap();
    assert_eq!(copied.charges().unwrap().len(), 1);
    drop(copied);
    assert!(!log(&copy).exists(), "closed as a ledger is");
    let mut second = Store::open_existing(&Place::File(path)).unwrap().unwrap();
    assert_eq!(second.charges().unwrap().len(), 1);
    second.charge("ann", "q", charge(pure("0.5"))).unwrap();
    assert!(first.charge("ann", "q", charge(pure("0.5"))).is_err());
}

#[test]
fn stores_of_one_temporary_ledger_sign_with_one_key() {
    let (one, other) = (places::temporary(), places::temporary());
    let key = |fresh: &Fresh| {
        let mut store = Store::open(fresh.place(), &pure_rules("1")).unwrap();
        store
            .receipt_key()
            .unwrap()
            .expect("a temporary ledger has a key")
    };
    assert_eq!(key(&one), key(&one));
    assert_ne!(key(&one), key(&other));
}

/// A cleaner of temporary files is not a new budget.
#[test]
fn a_temporary_ledger_that_vanished_is_not_begun_anew() {
    let fresh = places::temporary();
    let Fresh::Temporary { file, .. } = &fresh else {
        unreachable!("it is one")
    };
    let mut store = Store::open(fresh.place(), &pure_rules("1")).unwrap();
    store.charge("ann", "q", charge(pure("1"))).unwrap();
    std::fs::remove_file(file).unwrap();
    for _ in 0..2 {
        let refusal = Store::open(fresh.place(), &pure_rules("1")).unwrap_err();
        assert!(
            refusal.to_string().contains("temporary file is gone"),
            "{refusal}"
        );
        assert!(Store::open_existing(fresh.place()).is_err());
    }
}
