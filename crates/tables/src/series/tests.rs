use super::*;
use accounting::{Budget, Delta, Epsilon, Neighbors, PrivacyUnit, Promise};
use mechanism::{MemoryLedger, Participation, Sensitive, Sensitivity};
use noise::{Grid, Keyed};

fn unit() -> PrivacyUnit {
    PrivacyUnit::new("person", Neighbors::AddRemove)
}

fn account() -> Account<MemoryLedger> {
    let limit = Promise::Approximate(Epsilon::parse("1").unwrap(), Delta::parse("1e-6").unwrap());
    Account::with_entropy(
        MemoryLedger::new(Budget::new(limit, unit())),
        Keyed::new([1; 32], 0),
    )
}

fn mechanism() -> RunningTotals {
    let (epsilon, delta) = (Epsilon::parse("1").unwrap(), Delta::parse("1e-6").unwrap());
    let sensitivity = Sensitivity::vector(2, 1).unwrap();
    RunningTotals::analytic(epsilon, delta, 4, Participation::ONCE, sensitivity, Grid::new(0)).unwrap()
}

fn joined(values: [i64; 2]) -> Aggregate<Vec<i64>> {
    let sensitivity = Sensitivity::vector(2, 1).unwrap();
    Aggregate::claimed(Sensitive::new(values.to_vec()), sensitivity, unit(), Grid::new(0))
}

#[test]
fn a_job_releases_each_month_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("members");
    let (mut account, mechanism) = (account(), mechanism());
    let mut file = SeriesFile::begin(
        &mut account,
        &mechanism,
        "members",
        "members by sex from 2026-01",
        &path,
    )
    .unwrap();
    let first = file.release(0, joined([5_000, 7_000])).unwrap();
    // Somebody else is at it.
    let busy = SeriesFile::resume(&mut account, &mechanism, "members by sex from 2026-01", &path);
    assert_eq!(busy.unwrap_err(), Error::SeriesInUse);
    drop(file);
    // A second run of the same month, with rows that came late: the same numbers.
    let mut file =
        SeriesFile::resume(&mut account, &mechanism, "members by sex from 2026-01", &path).unwrap();
    assert_eq!(file.release(0, joined([5_001, 7_000])).unwrap(), first);
    let second = file.release(1, joined([100, 0])).unwrap();
    let third = file.release(2, joined([0, 100])).unwrap();
    assert_eq!((file.next(), account.ledger().charges().len()), (3, 1));
    for (estimate, truth) in third.estimates().iter().zip([5_100.0, 7_100.0]) {
        assert!((estimate.value - truth).abs() < 9.0 * estimate.deviation());
    }
    // A window is a difference, with the variance of a difference.
    let window = file.window(&third, Some(&first)).unwrap();
    assert_eq!(
        window[0].value,
        third.estimates()[0].value - first.estimates()[0].value
    );
    assert!((window[1].value - 100.0).abs() < 9.0 * window[1].deviation());
    assert!(window[0].variance < third.estimates()[0].variance + first.estimates()[0].variance);
    assert_eq!(file.window(&second, None).unwrap(), second.estimates());
    assert_eq!(
        file.window(&first, Some(&second)).unwrap_err(),
        Error::OtherSeries
    );
    // Nothing begins on top of it, and what is damaged does not go on.
    drop(file);
    let again = SeriesFile::begin(&mut account, &mechanism, "members", "s", &path);
    assert_eq!(again.unwrap_err(), Error::SeriesExists);
    assert_eq!(account.ledger().charges().len(), 1, "nothing was charged");
    std::fs::write(&path, "series-1\n").unwrap();
    let damaged = SeriesFile::resume(&mut account, &mechanism, "members by sex from 2026-01", &path);
    assert_eq!(damaged.unwrap_err(), Error::SeriesDamaged);
}

#[test]
fn what_cannot_be_kept_is_not_released() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("inside");
    std::fs::create_dir(&place).unwrap();
    let (mut account, mechanism) = (account(), mechanism());
    let mut file = SeriesFile::begin(&mut account, &mechanism, "p", "s", &place.join("state")).unwrap();
    std::fs::remove_dir_all(&place).unwrap();
    let refused = file.release(0, joined([1, 1])).unwrap_err();
    assert!(
        matches!(refused, Error::Mechanism(mechanism::Error::NotSaved(_))),
        "{refused}"
    );
    assert_eq!(file.next(), 0);
}
