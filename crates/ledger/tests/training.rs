//! A run that was charged here goes on after a crash, and no other does.

use accounting::{Budget, Delta, Epsilon, Neighbors, PrivacyUnit, Promise, Ratio};
use ledger::{Place, Rules, Store};
use mechanism::{Account, Error, SampledGaussian, Sampling, SavedTraining, Sensitivity};
use noise::Grid;

#[test]
fn a_run_goes_on_with_the_charge_on_disk() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| Place::File(directory.path().join(name));
    let person = PrivacyUnit::new("person", Neighbors::AddRemove);
    let limit = Promise::Approximate(Epsilon::parse("20").unwrap(), Delta::parse("0.001").unwrap());
    let rules = Rules::new(Budget::new(limit, person));
    let mechanism = |steps| {
        SampledGaussian::new(
            Sampling::Poisson {
                rate: Ratio::parse("1/7").unwrap(),
            },
            &Ratio::parse("1.1").unwrap(),
            steps,
            &Delta::parse("1e-5").unwrap(),
            Sensitivity::scalar(1 << 20).unwrap(),
            Grid::new(-20),
        )
        .unwrap()
    };
    let text = {
        let mut store = Store::open(&place("one.db"), &rules).unwrap();
        let mut account = Account::open(store.session("ann", "a model").unwrap()).unwrap();
        let run = account
            .begin_training(&mechanism(100), "a model", "subject")
            .unwrap();
        run.save().to_secret_text()
    };
    // Another process, later.
    let saved = SavedTraining::from_secret_text(&text).unwrap();
    let mut store = Store::open(&place("one.db"), &rules).unwrap();
    let mut account = Account::open(store.session("ann", "a model").unwrap()).unwrap();
    let mut run = account
        .resume_training(&mechanism(100), &saved, "subject")
        .unwrap();
    assert!(run.step(10).is_ok());
    assert_eq!(
        account
            .resume_training(&mechanism(101), &saved, "subject")
            .unwrap_err(),
        Error::NotCharged
    );
    drop(account);
    assert_eq!(store.charges().unwrap().len(), 1, "charged once");
    // A ledger that never heard of it.
    let mut other = Store::open(&place("two.db"), &rules).unwrap();
    let mut account = Account::open(other.session("ann", "a model").unwrap()).unwrap();
    assert_eq!(
        account
            .resume_training(&mechanism(100), &saved, "subject")
            .unwrap_err(),
        Error::NotCharged
    );
}
