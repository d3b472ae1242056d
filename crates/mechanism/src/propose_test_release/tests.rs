use super::*;
use crate::Sensitive;
use crate::threshold::laplace_tail;
use crate::trial::{account, person, sample};
use audit::black_box::{Feature, FindingVerdict, Side};
use audit::exact_audit::{Distribution, Finite, satisfies};
use exact::{Integer, Interval, ratio};
use noise::Grid;

fn half() -> Epsilon {
    Epsilon::parse("0.5").unwrap()
}

fn propose(upper: i64, proposal: i64, delta: &str) -> ProposeTestRelease {
    let bounds = Bounds::new(0, upper, Grid::new(0)).unwrap();
    ProposeTestRelease::new(&half(), &half(), Delta::parse(delta).unwrap(), proposal, bounds).unwrap()
}

fn aggregate(values: &[i64]) -> Aggregate<Column> {
    let values = Sensitive::new(Column::new(values.to_vec()));
    Aggregate::claimed(values, one_row(), person(Neighbors::ChangeOne), Grid::new(0))
}

/// P[Z ≥ m] for any m.
fn tail(rate: &Rational, reach: i64, bits: u32) -> Interval {
    if reach >= 0 {
        return laplace_tail(rate, reach, bits);
    }
    Interval::from_integer(1, bits).sub(&laplace_tail(rate, 1 - reach, bits))
}

/// No answer, answers below −8, each from there to 8 above the range, and beyond.
fn distribution(mechanism: &ProposeTestRelease, threshold: i64, data: &[i64]) -> Distribution {
    let ordered = Ordered::new(Column::new(data.to_vec()), mechanism.bounds);
    let (distance, median) = (mechanism.distance(&ordered), ordered.median());
    let (first, last) = (-8, mechanism.bounds.upper() + 8);
    let scale = mechanism.scale.clone();
    let recipe = move |bits: u32| {
        let work = bits + 16;
        let rate = Rational::ONE / &scale;
        let passes = tail(half().as_rational(), threshold - distance, work);
        let fails = Interval::from_integer(1, work).sub(&passes);
        let below = tail(&rate, median - first + 1, work);
        let above = tail(&rate, last + 1 - median, work);
        let inside = (first..=last)
            .map(|answer| DiscreteLaplace::probability(&scale, &Integer::from(answer - median), work));
        let answers = std::iter::once(below).chain(inside).chain([above]);
        std::iter::once(fails)
            .chain(answers.map(|probability| probability.mul(&passes)))
            .map(|mass| mass.with_bits(bits))
            .collect()
    };
    Distribution::from(Finite::from_recipe((last - first + 4) as usize, recipe).unwrap())
}

#[test]
fn propose_test_release_verified_exactly() {
    let mechanism = propose(3, 1, "0.01");
    let all = || (0..64i64).map(|code| [code % 4, code / 4 % 4, code / 16]);
    let pairs: Vec<([i64; 3], [i64; 3])> = all()
        .filter(|data| data.is_sorted())
        .flat_map(|data| {
            (0..4)
                .filter(move |other| *other > data[0])
                .map(move |other| (data, [other, data[1], data[2]]))
        })
        .collect();
    let holds = |threshold: i64, first: &[i64], second: &[i64]| {
        let (first, second) = (
            distribution(&mechanism, threshold, first),
            distribution(&mechanism, threshold, second),
        );
        satisfies(&first, &second, &Rational::ONE, &ratio(1, 100)).unwrap()
    };
    for (first, second) in &pairs {
        assert!(holds(mechanism.threshold, first, second), "{first:?} {second:?}");
    }
    // Lowering the threshold by one breaks the bound on passing far from the truth, which is all that δ stands for; the loss itself shows
    // when the medians are far apart, on a wide range.
    let wide = propose(400, 1, "0.01");
    let far = |threshold: i64| {
        let distribution = |data: &[i64]| distribution(&wide, threshold, data);
        satisfies(
            &distribution(&[0, 0, 400]),
            &distribution(&[0, 400, 400]),
            &Rational::ONE,
            &ratio(1, 100),
        )
        .unwrap()
    };
    assert!(far(wide.threshold));
    assert!(!far(wide.threshold - 1));
}

#[test]
fn audit_propose_test_release() {
    let mechanism = propose(1_000, 1, "0.01");
    let features = || {
        vec![
            Feature::values("answered", |answer: &Option<i64>| i64::from(answer.is_some())),
            Feature::ordered("answer", |answer: &Option<i64>| answer.unwrap_or(-1_000_000)),
        ]
    };
    let find = |mechanism: &ProposeTestRelease, first: &[i64], second: &[i64]| {
        let input = |side| aggregate(if side == Side::First { first } else { second });
        sample(mechanism, Neighbors::ChangeOne, input, &features(), 60_000, 0.01)
    };
    let dense: Vec<i64> = (495..520).collect();
    let mut moved = dense.clone();
    moved[0] = 1_000;
    let split = ([0, 0, 0, 1_000, 1_000], [0, 0, 1_000, 1_000, 1_000]);
    assert_eq!(
        find(&mechanism, &dense, &moved).verdict(1.0, 0.01),
        FindingVerdict::Consistent
    );
    assert_eq!(
        find(&mechanism, &split.0, &split.1).verdict(1.0, 0.01),
        FindingVerdict::Consistent
    );
    let untested = ProposeTestRelease {
        threshold: -1_000,
        ..mechanism
    };
    let found = find(&untested, &split.0, &split.1);
    assert_eq!(found.verdict(1.0, 0.01), FindingVerdict::Refuted, "{found:?}");
}

#[test]
fn dense_data_is_answered_and_sparse_is_not() {
    let mechanism = propose(1 << 40, 100, "1e-6");
    let mut account = account(Neighbors::ChangeOne);
    let dense: Vec<i64> = (0..2_001).map(|row| 7_000 + row).collect();
    let answer = account
        .release_by(&mechanism, aggregate(&dense), "median")
        .unwrap()
        .into_value()
        .unwrap();
    // Noise of scale 200 is beyond 6000 with probability under 1e-12; so is a test that fails 100 changes away.
    assert!((answer - 8_000).abs() < 6_000);
    // Passing by chance: 1e-6.
    let sparse = [0, 1 << 20, 1 << 30];
    assert_eq!(
        account
            .release_by(&mechanism, aggregate(&sparse), "median")
            .unwrap()
            .into_value(),
        None
    );
    assert_eq!(
        account
            .release_by(&mechanism, aggregate(&[]), "median")
            .unwrap()
            .into_value(),
        None
    );
}

#[test]
fn distance_counts_changes() {
    let mechanism = propose(100, 10, "0.01");
    let distance =
        |data: &[i64]| mechanism.distance(&Ordered::new(Column::new(data.to_vec()), mechanism.bounds));
    assert_eq!(distance(&[0, 50, 100]), 0);
    assert_eq!(distance(&[50; 5]), 2);
    assert_eq!(distance(&[45, 50, 55]), 1);
    assert_eq!(distance(&[]), 0);
    for data in [vec![50; 9], (0..30).collect(), vec![3, 9, 14, 22, 40, 41, 42]] {
        let ordered = Ordered::new(Column::new(data.clone()), mechanism.bounds);
        let first = (0..).find(|changes| ordered.spread(*changes) > 10).unwrap();
        assert_eq!(distance(&data), first);
    }
}

#[test]
fn impossible_parameters_are_refused() {
    let bounds = Bounds::new(0, 10, Grid::new(0)).unwrap();
    let new = |test: &str, delta: &str, proposal: i64| {
        let (test, delta) = (Epsilon::parse(test).unwrap(), Delta::parse(delta).unwrap());
        ProposeTestRelease::new(&test, &half(), delta, proposal, bounds)
    };
    assert_eq!(new("0", "0.1", 1).unwrap_err(), Error::NoEpsilon);
    assert_eq!(new("1", "0", 1).unwrap_err(), Error::NoDelta);
    assert!(new("1", "0.1", 0).is_err() && new("1", "0.1", 10).is_err() && new("1", "0.1", 9).is_ok());
}
