use super::tokens::MOST_TOKENS;
use super::*;
use accounting::{Budget, Epsilon, Neighbors, PrivacyUnit, Promise};
use ledger::{Place, Rules};

fn store(folder: &tempfile::TempDir) -> Store {
    let person = PrivacyUnit::new("person", Neighbors::AddRemove);
    let rules = Rules::new(Budget::new(Promise::Pure(Epsilon::parse("1").unwrap()), person));
    Store::open(&Place::File(folder.path().join("ledger")), &rules).unwrap()
}

#[test]
fn a_name_that_there_is_not_looks_like_one_that_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(&folder);
    add(&mut store, "test", &NewAccount::new("ann", Role::Analyst)).unwrap();
    add_token(&mut store, "test", "ann", DEFAULT_TOKEN, None).unwrap();
    let mut salt =
        |login: &str| serde_json::to_value(of_login(&mut store, login).unwrap().0).unwrap()["salt"].clone();
    for name in ["ann", "nobody"] {
        let one = salt(name);
        for other in [
            name.to_uppercase(),
            format!("{name}/default"),
            format!(" {name}\u{200b}"),
        ] {
            assert_eq!(salt(&other), one, "{other:?}");
        }
        assert_ne!(salt(&format!("{name}/other")), one);
    }
}

#[test]
fn tokens_that_are_not_good_any_more_are_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(&folder);
    add(&mut store, "test", &NewAccount::new("ann", Role::Analyst)).unwrap();
    for number in 0..MOST_TOKENS + 5 {
        add_token(&mut store, "test", "ann", &format!("session-{number}"), Some(1)).unwrap();
    }
    let good = add_token(&mut store, "test", "ann", "good", None).unwrap();
    let account = find(&mut store, "ann").unwrap().unwrap();
    assert_eq!(account.tokens.len(), 1);
    let fingerprint = secrets::fingerprint(good.reveal());
    assert!(of_fingerprint(&mut store, &fingerprint).unwrap().is_some());
    revoke(&mut store, "test", "ann", Some("good")).unwrap();
    assert!(of_fingerprint(&mut store, &fingerprint).unwrap().is_none());
    for number in 0..MOST_TOKENS {
        add_token(&mut store, "test", "ann", &format!("kept-{number}"), None).unwrap();
    }
    let refused = add_token(&mut store, "test", "ann", "one-too-many", None).unwrap_err();
    assert!(refused.to_string().contains("tokens at most"), "{refused}");
}
