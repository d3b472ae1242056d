use super::*;
use crate::accounts::NewAccount;
use accounting::{Budget, Epsilon, Neighbors, PrivacyUnit, Promise};
use ledger::{Place, Rules};

const BEFORE: &str =
    "name = \"a\"\n[budget]\nepsilon = 2\n[tables.t.columns]\nx = { kind = \"int\", bounds = [0, 10] }\n";

fn store(folder: &tempfile::TempDir) -> Store {
    let person = PrivacyUnit::new("person", Neighbors::AddRemove);
    let rules = Rules::new(Budget::new(Promise::Pure(Epsilon::parse("2").unwrap()), person));
    Store::open(&Place::File(folder.path().join("ledger")), &rules).unwrap()
}

#[test]
fn what_is_not_known_to_tighten_needs_two() {
    let after = |from: &str, to: &str| loosened(BEFORE, &BEFORE.replace(from, to)).unwrap();
    assert!(after("epsilon = 2", "epsilon = 1.5 # less").is_empty());
    assert!(after("name = \"a\"", "name = \"b\"").is_empty());
    assert_eq!(after("epsilon = 2", "epsilon = 2.5"), ["budget.epsilon changes"]);
    assert_eq!(
        after("epsilon = 2", "epsilon = 2\ndelta = 1e-6"),
        ["budget.delta is new"]
    );
    assert_eq!(
        after("[0, 10]", "[0, 100]"),
        ["tables.t.columns.x.bounds changes"]
    );
    assert_eq!(
        after("[tables.t.columns]", "[limits]\ngroups = 9\n[tables.t.columns]"),
        ["limits is new"]
    );
    assert_eq!(
        after(
            "[tables.t.columns]",
            "[tables.t]\nrows_per_unit = 1\n[tables.t.columns]"
        ),
        ["tables.t.rows_per_unit is new"]
    );
    let shared = format!("{BEFORE}[budget.analysts]\nann = \"1/4\"\nbob = 0.5\n");
    let after = |from: &str, to: &str| loosened(&shared, &shared.replace(from, to)).unwrap();
    assert!(after("1/4", "1/5").is_empty());
    assert_eq!(after("0.5", "0.75"), ["budget.analysts.bob changes"]);
    assert_eq!(
        after("bob", "eve"),
        ["budget.analysts.bob is gone", "budget.analysts.eve is new"]
    );
    // Without shares everybody may spend everything.
    assert_eq!(loosened(&shared, BEFORE).unwrap(), ["budget.analysts is gone"]);
}

#[test]
fn what_nobody_can_read_is_not_approved() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(&folder);
    take_over(&mut store, "root", BEFORE).unwrap();
    for name in ["carol", "dan"] {
        accounts::add(&mut store, "root", &NewAccount::new(name, Role::Curator)).unwrap();
    }
    // A proposal counts for those who were curators in an earlier millisecond.
    std::thread::sleep(std::time::Duration::from_millis(2));
    let raised = BEFORE.replace("epsilon = 2", "epsilon = 3");
    let digest = propose(&mut store, "carol", &raised).unwrap().digest;
    // Nothing is kept, or another text.
    for kept in ["", BEFORE] {
        store
            .administer(|administration| administration.keep(TEXTS, &digest, kept))
            .unwrap();
        let Error::Refused { what, hint } = approve(&mut store, "dan", &digest).unwrap_err() else {
            panic!("it was not refused");
        };
        assert!(what.contains("was not kept"), "{what}");
        assert!(hint.contains("propose it again"), "{hint}");
        assert_eq!(proposals(&mut store).unwrap()[0].approved_by, None);
    }
    // A text that can only be shown with what looks like a password in it, proposed now or by an earlier
    // version.
    let unreadable = format!("{raised}values = [\"x'postgres://h:\", \"q@'\"]\n");
    let refused = propose(&mut store, "carol", &unreadable).unwrap_err().to_string();
    assert!(refused.contains("cannot be shown"), "{refused}");
    let kept = self::digest(&unreadable);
    store
        .administer(|administration| {
            let proposal = parse(&administration.document(PROPOSALS, &digest)?.unwrap()).unwrap();
            let proposal = Proposal {
                digest: kept.clone(),
                ..proposal
            };
            administration.keep(PROPOSALS, &kept, &written(&proposal))?;
            administration.keep(TEXTS, &kept, &unreadable)
        })
        .unwrap();
    let refused = approve(&mut store, "dan", &kept).unwrap_err().to_string();
    assert!(refused.contains("cannot be shown"), "{refused}");
    propose(&mut store, "carol", &raised).unwrap();
    approve(&mut store, "dan", &digest).unwrap();
    take_over(&mut store, "root", &raised).unwrap();
}

#[test]
fn shares_in_a_catalog_are_one_curators_to_give_until_there_are_two() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(&folder);
    let with_share = |share: &str| format!("{BEFORE}[budget.analysts]\nann = {share}\n");
    take_over(&mut store, "root", &with_share("0.25")).unwrap();
    accounts::add(&mut store, "root", &NewAccount::new("carol", Role::Curator)).unwrap();
    take_over(&mut store, "root", &with_share("0.5")).unwrap();
    assert!(propose(&mut store, "carol", &with_share("0.75")).is_err());
    accounts::add(&mut store, "root", &NewAccount::new("dan", Role::Curator)).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2));
    let raised = with_share("0.75");
    let Error::NeedsTwo { loosens, digest } = take_over(&mut store, "root", &raised).unwrap_err() else {
        panic!("it was taken over");
    };
    assert_eq!(loosens, ["budget.analysts.ann changes"]);
    assert_eq!(loosened_by(&mut store, &raised).unwrap(), loosens);
    take_over(&mut store, "root", &with_share("0.4")).unwrap();
    propose(&mut store, "carol", &raised).unwrap();
    approve(&mut store, "dan", &digest).unwrap();
    take_over(&mut store, "root", &raised).unwrap();
}

#[test]
fn one_curator_proposes_and_another_approves() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(&folder);
    let raised = BEFORE.replace("epsilon = 2", "epsilon = 3");
    // A person who keeps everything alone is not asked.
    take_over(&mut store, "root", BEFORE).unwrap();
    take_over(&mut store, "root", &raised).unwrap();
    take_over(&mut store, "root", BEFORE).unwrap();

    accounts::add(&mut store, "root", &NewAccount::new("carol", Role::Curator)).unwrap();
    accounts::add(&mut store, "root", &NewAccount::new("dan", Role::Curator)).unwrap();
    let Error::NeedsTwo { loosens, digest } = take_over(&mut store, "root", &raised).unwrap_err() else {
        panic!("it was taken over");
    };
    assert_eq!(loosens, ["budget.epsilon changes"]);
    assert_eq!(propose(&mut store, "carol", &raised).unwrap().digest, digest);
    assert!(take_over(&mut store, "root", &raised).is_err());
    assert!(approve(&mut store, "carol", &digest).is_err());
    assert!(approve(&mut store, "dan", "unknown").is_err());
    approve(&mut store, "dan", &digest).unwrap();
    // Exactly this text, and no other.
    assert!(take_over(&mut store, "root", &raised.replace('3', "4")).is_err());
    take_over(&mut store, "root", &raised).unwrap();
    // Once: what was lowered since is not raised again by the same approval.
    take_over(&mut store, "root", BEFORE).unwrap();
    assert!(take_over(&mut store, "root", &raised).is_err());
    let lower = BEFORE.replace("epsilon = 2", "epsilon = 1");
    take_over(&mut store, "root", &lower).unwrap();
    assert!(take_over(&mut store, "root", &raised).is_err());
    assert!(approve(&mut store, "dan", &digest).is_err());
    // A person who became a curator after the proposal does not count.
    let digest = propose(&mut store, "carol", &raised).unwrap().digest;
    accounts::add(&mut store, "root", &NewAccount::new("late", Role::Curator)).unwrap();
    assert!(approve(&mut store, "late", &digest).is_err());
    let whats: Vec<String> = store
        .logged()
        .unwrap()
        .into_iter()
        .map(|logged| logged.entry.what)
        .collect();
    assert!(
        whats
            .windows(3)
            .any(|window| window == ["catalog-proposed", "catalog-approved", "catalog-in-force"]),
        "{whats:?}"
    );
}
