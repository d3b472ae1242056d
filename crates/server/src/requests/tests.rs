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

fn give_share(store: &mut Store, name: &str, share: &str) {
    let share = exact::parse_decimal(share).unwrap();
    accounts::set(store, "root", name, Some(&share), None, None).unwrap();
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
    // Declined by a curator, or withdrawn by who made it, and by nobody else.
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
