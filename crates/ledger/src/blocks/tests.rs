use super::*;
use accounting::{Neighbors, NoiseSupport, Period, Ratio, RenyiOdometer, RenyiOrders};
use mechanism::{Account, Aggregate, Error as Refused, Gaussian, Sensitive, Sensitivity};
use noise::Grid;

fn unit() -> PrivacyUnit {
    PrivacyUnit::new("person", Neighbors::AddRemove).in_each(Period::Day)
}

fn rules() -> BlockRules {
    let limit = Promise::Approximate(Epsilon::parse("1").unwrap(), Delta::parse("1e-6").unwrap());
    BlockRules::new(
        Budget::new(limit, unit()),
        Delta::ZERO,
        Delta::parse("1e-6").unwrap(),
    )
    .unwrap()
}

fn gaussian(multiplier_squared: &str) -> Event {
    Event::Gaussian {
        multiplier_squared: Ratio::parse(multiplier_squared).unwrap(),
        on: NoiseSupport::Rounded,
    }
}

fn days(range: std::ops::Range<i64>) -> BTreeSet<i64> {
    range.collect()
}

#[test]
fn blocks_are_charged_together_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blocks");
    let mut store = BlockStore::open(&path, &rules()).unwrap();
    // One day is used up; the others are not touched by that.
    let strong = gaussian("100");
    let mut times = 0;
    while store.charge(&days(5..6), &strong, "monday").is_ok() {
        times += 1;
        assert!(times < 1000, "a budget ends");
    }
    assert!(times > 0);
    let before = (
        store.used(4).unwrap(),
        store.used(5).unwrap(),
        store.charges().unwrap().len(),
    );
    assert_eq!((before.0.is_none(), before.2), (true, times));
    // A week with that day in it is refused, and no day of it has paid.
    assert!(matches!(
        store.charge(&days(0..7), &strong, "week"),
        Err(Refusal::Budget(_))
    ));
    assert_eq!(
        (
            store.used(4).unwrap(),
            store.used(5).unwrap(),
            store.charges().unwrap().len()
        ),
        before
    );
    // Without it, the rest of the week pays, and the day after has its own budget.
    assert_eq!(
        store.charge(&days(0..5), &strong, "week").unwrap().number,
        times as u64 + 1
    );
    assert!(store.used(0).unwrap().is_some());
    assert!(store.charge(&days(6..7), &strong, "tuesday").is_ok());
    // No blocks, or too many, is no charge.
    assert!(store.charge(&BTreeSet::new(), &strong, "nothing").is_err());
    assert!(store.charge(&days(0..10_001), &gaussian("1e12"), "all").is_err());
}

#[test]
fn the_lifetime_counts_a_person_in_all_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = BlockStore::open(&folder.path().join("blocks"), &rules()).unwrap();
    let mut by_hand = RenyiOdometer::new(
        Delta::parse("1e-6").unwrap(),
        rules().person(),
        RenyiOrders::suited_to(&Epsilon::parse("8").unwrap(), &Delta::parse("1e-6").unwrap()).unwrap(),
    );
    for day in 0..30 {
        store
            .charge(&days(day..day + 1), &gaussian("400"), "daily")
            .unwrap();
        by_hand.charge(&gaussian("400")).unwrap();
    }
    assert_eq!(store.lifetime().unwrap(), Some(by_hand.epsilon()));
    // Each day is as it was on the first, and the person has lost more than a day's budget shows.
    let Some(Promise::Approximate(day, _)) = store.used(3).unwrap() else {
        panic!("a day was charged")
    };
    assert!(by_hand.epsilon() > day);
    // Ten days at once move an answer ten times as far: noise counts a hundredth.
    store.charge(&days(0..10), &gaussian("4000"), "ten days").unwrap();
    by_hand.charge(&gaussian("40")).unwrap();
    assert_eq!(store.lifetime().unwrap(), Some(by_hand.epsilon()));
}

#[test]
fn a_crash_leaves_the_charge_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blocks");
    let mut store = BlockStore::open(&path, &rules()).unwrap();
    let busy = BlockStore::open(&path, &rules()).unwrap_err();
    assert!(busy.to_string().contains("another process"), "{busy}");
    store.charge(&days(0..3), &gaussian("400"), "first").unwrap();
    let first = std::fs::read(&path).unwrap();
    store.charge(&days(0..3), &gaussian("400"), "second").unwrap();
    // A file that is only half there, as a crash in the middle of a write could leave it beside the old one, is not used.
    let second = std::fs::read(&path).unwrap();
    for end in [0, 1, second.len() / 2, second.len() - 2] {
        std::fs::write(&path, &second[..end]).unwrap();
        let refused = store.charge(&days(0..1), &gaussian("400"), "third");
        assert!(matches!(refused, Err(Refusal::NotRecorded(_))), "{end}");
    }
    // With either file whole, what it says counts, also after a restart.
    for (file, count) in [(first, 1), (second, 2)] {
        std::fs::write(&path, file).unwrap();
        assert_eq!(store.charges().unwrap().len(), count);
    }
    drop(store);
    let mut store = BlockStore::open(&path, &rules()).unwrap();
    assert_eq!(
        store
            .charge(&days(0..1), &gaussian("400"), "third")
            .unwrap()
            .number,
        3
    );
    // Nothing is given where nothing can be written.
    std::fs::remove_dir_all(folder.path()).unwrap();
    assert!(matches!(
        store.charge(&days(0..1), &gaussian("400"), "fourth"),
        Err(Refusal::NotRecorded(_))
    ));
}

#[test]
fn rules_that_are_none() {
    let limit = Promise::Pure(Epsilon::parse("1").unwrap());
    let forever = Budget::new(limit.clone(), PrivacyUnit::new("person", Neighbors::AddRemove));
    assert!(BlockRules::new(forever, Delta::ZERO, Delta::ZERO).is_err());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blocks");
    drop(BlockStore::open(&path, &rules()).unwrap());
    let other = BlockRules::new(Budget::new(limit, unit()), Delta::ZERO, Delta::ZERO).unwrap();
    assert!(BlockStore::open(&path, &other).is_err());
}

#[test]
fn mechanisms_draw_under_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = BlockStore::open(&folder.path().join("blocks"), &rules()).unwrap();
    let sensitivity = Sensitivity::scalar(1).unwrap();
    let (epsilon, delta) = (Epsilon::parse("0.4").unwrap(), Delta::parse("1e-8").unwrap());
    let noise = Gaussian::analytic(epsilon, delta, sensitivity.clone(), Grid::new(0)).unwrap();
    let count = |unit: PrivacyUnit| {
        Aggregate::claimed(Sensitive::new(100i64), sensitivity.clone(), unit, Grid::new(0))
    };
    let mut account = Account::open(store.session(days(10..12))).unwrap();
    assert!(account.release_by(&noise, count(unit()), "two days").is_ok());
    // A count that is private for a whole life is another thing.
    assert_eq!(
        account
            .release_by(&noise, count(rules().person()), "a life")
            .unwrap_err(),
        Refused::UnitMismatch
    );
    let left = account.ledger().remaining();
    drop(account);
    assert!(
        matches!(left, Promise::Pure(left) if left > Epsilon::ZERO && left < Epsilon::parse("1").unwrap())
    );
    assert_eq!(store.charges().unwrap()[0].blocks, days(10..12));
}
