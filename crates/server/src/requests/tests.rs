use super::*;
use crate::accounts::NewAccount;
use accounting::{Budget, Neighbors, PrivacyUnit, Promise};
use ledger::{Place, Rules};

const CATALOG: &str = "name = \"a\"\n[budget]\nepsilon = 4\n";

fn place(folder: &tempfile::TempDir) -> Place {
    Place::File(folder.path().join("ledger"))
}

fn rules(budget: &str) -> Rules {
    let person = PrivacyUnit::new("person", Neighbors::AddRemove);
    Rules::new(Budget::new(Promise::Pure(epsilon(budget)), person))
}

fn store(folder: &tempfile::TempDir) -> Store {
    let mut store = Store::open(&place(folder), &rules("4")).unwrap();
    governance::take_over(&mut store, "root", CATALOG).unwrap();
    for (name, role) in [
        ("carol", Role::Curator),
        ("dan", Role::Curator),
        ("erin", Role::Curator),
        ("ann", Role::Analyst),
    ] {
        accounts::add(&mut store, "root", &NewAccount::new(name, role)).unwrap();
    }
    // A proposal counts for those who were curators in an earlier millisecond.
    std::thread::sleep(std::time::Duration::from_millis(2));
    store
}

fn epsilon(text: &str) -> Epsilon {
    Epsilon::parse(text).unwrap()
}

/// As if it had been given before there were two curators.
fn give_share(store: &mut Store, name: &str, share: &str) {
    let share = exact::format_decimal(&exact::parse_decimal(share).unwrap());
    store
        .administer(|administration| accounts::grant_share(administration, "root", name, &share))
        .unwrap();
}

fn left(store: &mut Store, name: &str) -> String {
    store.left(name).unwrap().epsilon.to_string()
}

fn refused<T: std::fmt::Debug>(done: Result<T, Error>) -> String {
    match done.unwrap_err() {
        Error::Refused { what, .. } => what,
        Error::Accounts(accounts::Error::Refused { what, .. }) => what,
        other => panic!("{other}"),
    }
}

#[test]
fn two_other_curators_move_a_share_and_one_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(&folder);
    give_share(&mut store, "ann", "1/4");
    give_share(&mut store, "carol", "1/4");
    assert_eq!(left(&mut store, "ann"), "1");

    let number = file(&mut store, "ann", epsilon("0.5"), " the spring report ")
        .unwrap()
        .number;
    assert_eq!(list(&mut store).unwrap()[0].reason, "the spring report");
    // Nobody but curators decides, and a request that nobody proposed cannot be approved.
    assert!(refused(propose(&mut store, "ann", number)).contains("only curators"));
    assert!(refused(approve(&mut store, "ann", number)).contains("only curators"));
    assert!(refused(approve(&mut store, "dan", number)).contains("proposed it yet"));
    // One curator alone is not two.
    propose(&mut store, "carol", number).unwrap();
    assert!(refused(propose(&mut store, "dan", number)).contains("decided before"));
    assert!(refused(approve(&mut store, "carol", number)).contains("cannot approve"));
    // Nor is one that was made afterwards.
    accounts::add(&mut store, "root", &NewAccount::new("late", Role::Curator)).unwrap();
    assert!(refused(approve(&mut store, "late", number)).contains("a curator before"));
    assert_eq!(left(&mut store, "ann"), "1");
    approve(&mut store, "dan", number).unwrap();
    assert_eq!(left(&mut store, "ann"), "1.5");
    let account = accounts::find(&mut store, "ann").unwrap().unwrap();
    assert_eq!(account.share.as_deref(), Some("0.375"));
    // Once.
    assert!(refused(approve(&mut store, "erin", number)).contains("decided before"));
    assert!(refused(decline(&mut store, "dan", number)).contains("decided before"));
    assert_eq!(left(&mut store, "ann"), "1.5");
    // What everybody together may spend is what it was.
    assert_eq!(store.left_for_all().unwrap(), epsilon("4"));

    // A curator who asks decides nothing about it, on neither side.
    let own = file(&mut store, "carol", epsilon("1"), "mine").unwrap().number;
    assert!(refused(propose(&mut store, "carol", own)).contains("of their own"));
    propose(&mut store, "dan", own).unwrap();
    assert!(refused(approve(&mut store, "carol", own)).contains("of their own"));
    assert!(refused(approve(&mut store, "dan", own)).contains("cannot approve"));
    assert_eq!(left(&mut store, "carol"), "1");
    approve(&mut store, "erin", own).unwrap();
    assert_eq!(left(&mut store, "carol"), "2");

    let whats: Vec<String> = store
        .logged()
        .unwrap()
        .into_iter()
        .map(|logged| logged.entry.what)
        .collect();
    assert!(
        whats.windows(4).any(|window| window
            == [
                "account-changed",
                "budget-approved",
                "budget-requested",
                "budget-proposed"
            ]),
        "{whats:?}"
    );
    store.verify().unwrap();
}

#[test]
fn what_changed_meanwhile_or_is_too_much_is_not_granted() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(&folder);
    give_share(&mut store, "ann", "1/2");
    let much = file(&mut store, "ann", epsilon("2.5"), "all of it")
        .unwrap()
        .number;
    assert!(refused(propose(&mut store, "carol", much)).contains("more than the whole budget"));
    let some = file(&mut store, "ann", epsilon("1"), "some").unwrap().number;
    propose(&mut store, "carol", some).unwrap();
    give_share(&mut store, "ann", "1/4");
    assert!(refused(approve(&mut store, "dan", some)).contains("another than when"));
    assert_eq!(left(&mut store, "ann"), "1");
    // Declined by a curator, or withdrawn by the analyst who made it, and by nobody else.
    accounts::add(&mut store, "root", &NewAccount::new("bob", Role::Analyst)).unwrap();
    assert!(refused(withdraw(&mut store, "bob", some)).contains("no such request"));
    assert!(refused(decline(&mut store, "ann", some)).contains("only curators"));
    decline(&mut store, "dan", some).unwrap();
    withdraw(&mut store, "ann", much).unwrap();
    assert!(refused(approve(&mut store, "erin", some)).contains("decided before"));
    assert_eq!(left(&mut store, "ann"), "1");
}

/// The same share of another budget is another amount of ε than the one that was agreed to.
#[test]
fn a_share_of_another_budget_is_not_granted() {
    for (budget, left_before, left_after) in [("8", "2", "2.5"), ("2", "0.5", "1")] {
        let folder = tempfile::tempdir().unwrap();
        let mut before = store(&folder);
        give_share(&mut before, "ann", "1/4");
        assert_eq!(left(&mut before, "ann"), "1");
        let number = file(&mut before, "ann", epsilon("0.5"), "some").unwrap().number;
        propose(&mut before, "carol", number).unwrap();
        drop(before);
        // As `deniable budget adopt` does it: the account keeps its share.
        let mut store = Store::adopt(&place(&folder), &rules(budget)).unwrap();
        assert_eq!(left(&mut store, "ann"), left_before);
        assert!(refused(approve(&mut store, "dan", number)).contains("another than when"));
        assert_eq!(left(&mut store, "ann"), left_before);
        let account = accounts::find(&mut store, "ann").unwrap().unwrap();
        assert_eq!(account.share.as_deref(), Some("0.25"));
        // Declined and made again it is about the budget that there is.
        decline(&mut store, "dan", number).unwrap();
        let again = file(&mut store, "ann", epsilon("0.5"), "some").unwrap().number;
        propose(&mut store, "carol", again).unwrap();
        approve(&mut store, "dan", again).unwrap();
        assert_eq!(left(&mut store, "ann"), left_after);
    }
}

#[test]
fn requests_are_few_and_short() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(&folder);
    for reason in ["", "  ", &"x".repeat(LONGEST_REASON + 1), "a\0b"] {
        assert!(refused(file(&mut store, "ann", epsilon("1"), reason)).contains("a reason has"));
    }
    assert!(refused(file(&mut store, "ann", Epsilon::ZERO, "why")).contains("is 0"));
    for _ in 0..MOST_OPEN {
        file(&mut store, "ann", epsilon("1"), &"é".repeat(LONGEST_REASON)).unwrap();
    }
    assert!(refused(file(&mut store, "ann", epsilon("1"), "again")).contains("wait for an answer"));
    file(&mut store, "carol", epsilon("1"), "another's").unwrap();
    withdraw(&mut store, "ann", 1).unwrap();
    assert_eq!(file(&mut store, "ann", epsilon("1"), "again").unwrap().number, 5);
    // Withdrawn ones count too, since they are kept for good.
    for number in 5..5 + (MOST_A_DAY - MOST_OPEN - 1) as u64 {
        withdraw(&mut store, "ann", number).unwrap();
        file(&mut store, "ann", epsilon("1"), "again").unwrap();
    }
    withdraw(&mut store, "ann", 2).unwrap();
    assert!(refused(file(&mut store, "ann", epsilon("1"), "again")).contains("in 24 hours"));
    file(&mut store, "carol", epsilon("1"), "another's").unwrap();
}

#[test]
fn without_shares_a_request_becomes_a_catalog_that_two_others_agree_to() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(&folder);
    let number = file(&mut store, "carol", epsilon("0.5"), "everybody's")
        .unwrap()
        .number;
    assert!(refused(propose(&mut store, "carol", number)).contains("of their own"));
    let State::Proposed {
        change: Change::Catalog { digest },
        ..
    } = propose(&mut store, "dan", number).unwrap().state
    else {
        panic!("it is not proposed");
    };
    let raised = CATALOG.replace("epsilon = 4", "epsilon = 4.5");
    assert_eq!(digest, governance::digest(&raised));
    assert!(governance::take_over(&mut store, "root", &raised).is_err());
    // Neither who asked nor who proposed it, through whichever door.
    for by in ["carol", "dan"] {
        assert!(approve(&mut store, by, number).is_err(), "{by}");
        assert!(governance::approve(&mut store, by, &digest).is_err(), "{by}");
    }
    assert!(refused(governance::propose(&mut store, "carol", &raised)).contains("of their own"));
    // Another request for the same is not confused with it.
    let same = file(&mut store, "ann", epsilon("0.5"), "too").unwrap().number;
    assert!(refused(propose(&mut store, "erin", same)).contains("for request 1"));
    governance::approve(&mut store, "erin", &digest).unwrap();
    assert!(matches!(
        &list(&mut store).unwrap()[0].state,
        State::Granted { first, second, .. } if first == "dan" && second == "erin"
    ));
    governance::take_over(&mut store, "root", &raised).unwrap();
}

#[test]
fn a_catalog_of_a_declined_request_is_not_approved() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(&folder);
    let number = file(&mut store, "ann", epsilon("1"), "more").unwrap().number;
    propose(&mut store, "dan", number).unwrap();
    let raised = CATALOG.replace("epsilon = 4", "epsilon = 5");
    let digest = governance::digest(&raised);
    decline(&mut store, "carol", number).unwrap();
    assert!(refused(governance::approve(&mut store, "erin", &digest)).contains("was declined"));
    // By itself it may be proposed as before.
    governance::propose(&mut store, "dan", &raised).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2));
    governance::approve(&mut store, "erin", &digest).unwrap();
}

#[test]
fn one_curator_gives_shares_and_with_two_it_takes_both() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&place(&folder), &rules("4")).unwrap();
    let share = |text: &str| Some(exact::parse_decimal(text).unwrap());
    let add = |store: &mut Store, name: &str, role: Role, given: &str| {
        add_account(
            store,
            "carol",
            &NewAccount::new(name, role),
            share(given).as_ref(),
        )
    };
    // First of all, alone: it takes one command each.
    accounts::add(&mut store, "root", &NewAccount::new("carol", Role::Curator)).unwrap();
    for name in ["ann", "bob"] {
        let kept = add(&mut store, name, Role::Analyst, "1/4").unwrap();
        assert_eq!((kept.account.share.as_deref(), kept.waits), (Some("0.25"), None));
    }
    assert_eq!(left(&mut store, "ann"), "1");
    assert!(refused(add(&mut store, "audrey", Role::Auditor, "1/4")).contains("asks nothing"));
    assert!(accounts::find(&mut store, "audrey").unwrap().is_none());

    // With a second curator it takes that one.
    accounts::add(&mut store, "root", &NewAccount::new("dan", Role::Curator)).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2));
    let kept = add(&mut store, "eve", Role::Analyst, "1").unwrap();
    let number = kept.waits.unwrap().number;
    assert_eq!(kept.account.share, None);
    assert!(store.left("eve").is_err() || left(&mut store, "eve") == "0");
    assert!(refused(approve(&mut store, "carol", number)).contains("cannot approve"));
    let set = |store: &mut Store, by: &str, name: &str, given: &str| {
        change_account(store, by, name, share(given).as_ref(), &ledger::Caps::default())
    };
    assert!(refused(set(&mut store, "carol", "eve", "1/2")).contains("waits for a curator"));
    approve(&mut store, "dan", number).unwrap();
    assert_eq!(left(&mut store, "eve"), "4");

    // A lower one takes nobody else; a larger one for an account that there is does, and for oneself it takes
    // two others.
    assert_eq!(set(&mut store, "carol", "ann", "1/8").unwrap().waits, None);
    assert_eq!(left(&mut store, "ann"), "0.5");
    let waits = set(&mut store, "carol", "ann", "1/4").unwrap().waits.unwrap();
    assert_eq!(left(&mut store, "ann"), "0.5");
    assert!(refused(set(&mut store, "carol", "carol", "1")).contains("of their own"));
    // What was lowered since is not granted.
    set(&mut store, "dan", "ann", "0").unwrap();
    assert!(refused(approve(&mut store, "dan", waits.number)).contains("another than when"));
    decline(&mut store, "dan", waits.number).unwrap();
    // Limits of a question and a day stay one person's to set.
    let caps = ledger::Caps {
        per_day: Some(epsilon("0.1")),
        ..ledger::Caps::default()
    };
    let kept = change_account(&mut store, "root", "bob", None, &caps).unwrap();
    assert_eq!((kept.account.caps, kept.waits), (caps, None));
    store.verify().unwrap();
}

/// If nobody has a share, everybody may spend everything: the first share takes something away.
#[test]
fn the_first_share_gives_nobody_more() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(&folder);
    assert_eq!(left(&mut store, "ann"), "4");
    let half = exact::parse_decimal("1/2").unwrap();
    let caps = ledger::Caps::default();
    let kept = change_account(&mut store, "carol", "ann", Some(&half), &caps).unwrap();
    assert_eq!(kept.waits, None);
    assert_eq!(left(&mut store, "ann"), "2");
    assert!(
        change_account(&mut store, "carol", "dan", Some(&half), &caps)
            .unwrap()
            .waits
            .is_some()
    );
}

#[test]
fn shares_of_a_budget_in_rho_take_two_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let person = PrivacyUnit::new("person", Neighbors::AddRemove);
    let rho = accounting::Rho::parse("0.5").unwrap();
    let rules = Rules::new(Budget::new(Promise::Concentrated(rho), person));
    let mut store = Store::open(&place(&folder), &rules).unwrap();
    for (name, role) in [
        ("carol", Role::Curator),
        ("dan", Role::Curator),
        ("ann", Role::Analyst),
    ] {
        accounts::add(&mut store, "root", &NewAccount::new(name, role)).unwrap();
    }
    give_share(&mut store, "ann", "1/4");
    std::thread::sleep(std::time::Duration::from_millis(2));
    let half = exact::parse_decimal("1/2").unwrap();
    let kept = change_account(&mut store, "carol", "ann", Some(&half), &ledger::Caps::default()).unwrap();
    let approved = approve(&mut store, "dan", kept.waits.unwrap().number).unwrap();
    let State::Granted { change, .. } = approved.state else {
        panic!("it is not granted");
    };
    assert_eq!(change.to_string(), "share 0.25 of ρ = 0.5 becomes 0.5");
    assert_eq!(
        accounts::find(&mut store, "ann")
            .unwrap()
            .unwrap()
            .share
            .as_deref(),
        Some("0.5")
    );
}
