use super::gaussian::tail as gaussian_tail;
use super::*;
use crate::trial::{account, person, sample};
use audit::black_box::{Feature, FindingVerdict, Side};
use audit::exact_audit::{Distribution, Finite, satisfies};
use exact::{Integer, ratio, to_f64_nearest};
use noise::{DiscreteLaplace, RoundedGaussian};
use proptest::prelude::*;

pub(super) type Groups = Vec<(i64, i64)>;

pub(super) fn epsilon(text: &str) -> Epsilon {
    Epsilon::parse(text).unwrap()
}

pub(super) fn delta(text: &str) -> Delta {
    Delta::parse(text).unwrap()
}

pub(super) fn in_groups(count: u64) -> Sensitivity {
    Sensitivity::vector(count, 1).unwrap()
}

pub(super) fn aggregate(groups: Groups, sensitivity: &Sensitivity) -> Aggregate<Groups> {
    let unit = person(Neighbors::AddRemove);
    Aggregate::claimed(Sensitive::new(groups), sensitivity.clone(), unit, Grid::new(0))
}

/// One unit more, in the groups 0 and 1: the one grows to `count` + 1, the other appears.
pub(super) fn grown(side: Side, count: i64) -> Groups {
    match side {
        Side::First => vec![(0, count)],
        Side::Second => vec![(1, 1), (0, count + 1)],
    }
}

fn count_of(name: i64) -> impl Fn(&Groups) -> i64 {
    move |groups| {
        groups
            .iter()
            .find(|group| group.0 == name)
            .map_or(-1, |group| group.1)
    }
}

fn features() -> Vec<Feature<Groups>> {
    vec![
        Feature::values("which groups", |groups: &Groups| {
            groups.iter().map(|group| 1 << group.0).sum()
        }),
        Feature::ordered("count of group 0", count_of(0)),
        Feature::ordered("count of group 1", count_of(1)),
        Feature::ordered("sum of counts", |groups: &Groups| {
            groups.iter().map(|group| group.1).sum()
        }),
    ]
}

/// P[Z ≥ m] for any m.
fn whole_tail(rate: &Rational, reach: i64, bits: u32) -> Interval {
    if reach >= 0 {
        return laplace_tail(rate, reach, bits);
    }
    Interval::from_integer(1, bits).sub(&laplace_tail(rate, 1 - reach, bits))
}

/// The distribution of one group of `count` units: not released, the first noisy counts from the threshold on, and all beyond.
fn distribution_of_group(scale: &Rational, threshold: i64, count: i64) -> Finite {
    let span = 12;
    let (scale, rate) = (scale.clone(), Rational::ONE / scale);
    let recipe = move |bits: u32| {
        let one = Interval::from_integer(1, bits);
        if count == 0 {
            let zeros = vec![Interval::from_integer(0, bits); span + 1];
            return [vec![one], zeros].concat();
        }
        let seen = (0..span as i64).map(|place| threshold + place - count);
        let counts = seen.map(|noise| DiscreteLaplace::probability(&scale, &Integer::from(noise), bits));
        let hidden = one.sub(&whole_tail(&rate, threshold - count, bits));
        let beyond = whole_tail(&rate, threshold + span as i64 - count, bits);
        std::iter::once(hidden).chain(counts).chain([beyond]).collect()
    };
    Finite::from_recipe(span + 2, recipe).unwrap()
}

#[test]
fn laplace_threshold_verified_exactly() {
    let mechanism = LaplaceThreshold::new(epsilon("1"), delta("0.01"), in_groups(2)).unwrap();
    let holds = |threshold: i64, before: [i64; 2], after: [i64; 2]| {
        let distribution = |counts: [i64; 2]| {
            let [a, b] = counts.map(|count| distribution_of_group(&mechanism.scale, threshold, count));
            Distribution::from(a.product(&b))
        };
        satisfies(
            &distribution(before),
            &distribution(after),
            &Rational::ONE,
            &ratio(1, 100),
        )
        .unwrap()
    };
    let threshold = mechanism.threshold();
    let counts = [0, 1, 2, threshold - 1, threshold + 3];
    for a in counts {
        for b in counts {
            assert!(holds(threshold, [a, b], [a + 1, b + 1]), "{a} {b}");
            assert!(holds(threshold, [a, b], [a + 1, b]), "{a} {b}");
        }
    }
    assert!(
        !holds(threshold - 1, [0, 0], [1, 1]),
        "the threshold is the least one"
    );
}

#[test]
fn thresholds_are_the_least() {
    for (text_epsilon, text_delta, groups) in [
        ("1", "1e-5", 1),
        ("0.1", "1e-9", 1),
        ("2", "1e-6", 30),
        ("20", "0.3", 4),
    ] {
        let (e, d) = (epsilon(text_epsilon), delta(text_delta));
        let (rate, target) = (e.to_f64_up() / groups as f64, d.to_f64_up());
        let laplace = LaplaceThreshold::new(e.clone(), d.clone(), in_groups(groups)).unwrap();
        let released = |tau: i64| (-rate * (tau - 1) as f64).exp() / (1.0 + (-rate).exp());
        let some = |p: f64| -(groups as f64 * (-p).ln_1p()).exp_m1();
        let tau = laplace.threshold();
        assert!(
            some(released(tau)) <= target * 1.000001 && some(released(tau - 1)) > target,
            "{tau}"
        );

        let gaussian = GaussianThreshold::new(e, &d, in_groups(groups)).unwrap();
        let sigma = to_f64_nearest(gaussian.variance()).sqrt();
        let released = |tau: i64| audit::goodness::normal_cdf(-(tau as f64 - 1.5) / sigma);
        let tau = gaussian.threshold();
        let half = target / 2.0;
        assert!(
            some(released(tau)) <= half * 1.000001 && some(released(tau - 1)) > half,
            "{tau}"
        );
    }
    let known = LaplaceThreshold::new(epsilon("1"), delta("1e-5"), in_groups(1)).unwrap();
    // e^−m/(1+e^−1) ≤ 1e-5 from m = 12 on.
    assert_eq!(known.threshold(), 13);
    assert_eq!(least_reach(&Rational::ONE, &delta("1e-5")).unwrap(), 12);
}

#[test]
fn audit_laplace_threshold() {
    let sensitivity = in_groups(2);
    let mechanism = LaplaceThreshold::new(epsilon("1"), delta("0.01"), sensitivity.clone()).unwrap();
    let count = mechanism.threshold() + 4;
    let find = |mechanism: &LaplaceThreshold| {
        let input = |side| aggregate(grown(side, count), &sensitivity);
        sample(mechanism, Neighbors::AddRemove, input, &features(), 60_000, 0.01)
    };
    assert_eq!(find(&mechanism).verdict(1.0, 0.01), FindingVerdict::Consistent);
    let lower = LaplaceThreshold {
        threshold: mechanism.threshold - 3,
        ..mechanism.clone()
    };
    assert_eq!(find(&lower).verdict(1.0, 0.01), FindingVerdict::Refuted);
}

#[test]
fn audit_gaussian_threshold() {
    let sensitivity = in_groups(2);
    let mechanism = GaussianThreshold::new(epsilon("1"), &delta("0.02"), sensitivity.clone()).unwrap();
    let find = |mechanism: &GaussianThreshold, second: Groups| {
        let input = |side| {
            let first = if second.len() == 2 && second[0].1 > 1 {
                vec![(0, 60), (1, 60)]
            } else {
                vec![(0, 60)]
            };
            let groups = if side == Side::First {
                first
            } else {
                second.clone()
            };
            aggregate(groups, &sensitivity)
        };
        sample(mechanism, Neighbors::AddRemove, input, &features(), 60_000, 0.02)
    };
    let (appears, grows) = (vec![(1, 1), (0, 61)], vec![(1, 61), (0, 61)]);
    assert_eq!(
        find(&mechanism, appears.clone()).verdict(1.0, 0.02),
        FindingVerdict::Consistent
    );
    assert_eq!(
        find(&mechanism, grows.clone()).verdict(1.0, 0.02),
        FindingVerdict::Consistent
    );
    let lower = GaussianThreshold {
        threshold: mechanism.threshold - 3,
        ..mechanism.clone()
    };
    assert_eq!(find(&lower, appears).verdict(1.0, 0.02), FindingVerdict::Refuted);
    let noise = RoundedGaussian::new(&(&mechanism.variance * ratio(1, 4))).unwrap();
    assert_eq!(
        find(&GaussianThreshold { noise, ..mechanism }, grows).verdict(1.0, 0.02),
        FindingVerdict::Refuted
    );
}

#[test]
fn gaussian_tails_add_up() {
    let variance = ratio(9, 4);
    let sum = gaussian_tail(&variance, 3, 128).add(&gaussian_tail(&variance, -2, 128));
    assert!(sum.contains(&Rational::ONE));
}

#[test]
fn order_and_repetition_of_the_input_do_not_show() {
    let sensitivity = in_groups(1);
    let mechanism = LaplaceThreshold::new(epsilon("5"), delta("0.001"), sensitivity.clone()).unwrap();
    let mut account = account(Neighbors::AddRemove);
    let groups = vec![(7, 900), (3, 500), (5, -4), (4, 0), (7, 100), (1, 800)];
    let release = account
        .release_by(&mechanism, aggregate(groups.clone(), &sensitivity), "groups")
        .unwrap();
    let names: Vec<i64> = release.value().iter().map(|group| group.0).collect();
    assert_eq!(names, [1, 3, 7]);
    assert!(release.value()[2].1 > 950);
    let optimal = OptimalThreshold::new(epsilon("5"), delta("0.001"), sensitivity.clone()).unwrap();
    let release = account
        .release_by(&optimal, aggregate(groups, &sensitivity), "groups")
        .unwrap();
    assert_eq!(*release.value(), [1, 3, 7]);
}

#[test]
fn other_neighbours_and_parameters_are_refused() {
    let rows = Sensitive::new(vec![(1, "a"), (1, "b"), (1, "a"), (2, "a"), (2, "c")]);
    let changed = Aggregate::groups(&rows, 2, person(Neighbors::ChangeOne)).unwrap();
    assert_eq!(changed.sensitivity().coordinates(), 4);
    let mechanism =
        LaplaceThreshold::new(epsilon("1"), delta("0.01"), changed.sensitivity().clone()).unwrap();
    let refused = account(Neighbors::ChangeOne)
        .release_by(&mechanism, changed, "groups")
        .unwrap_err();
    assert_eq!(refused, Error::NeighborsMismatch);
    let new = |e: &str, d: &str, s: Sensitivity| OptimalThreshold::new(epsilon(e), delta(d), s);
    assert_eq!(new("0", "0.1", in_groups(1)).unwrap_err(), Error::NoEpsilon);
    assert_eq!(new("1", "0", in_groups(1)).unwrap_err(), Error::NoDelta);
    assert!(new("1", "0.1", Sensitivity::vector(1, 2).unwrap()).is_err());
    assert!(new("1e29", "0.1", in_groups(1)).is_err());
    assert!(new("1e-9", "1e-20", in_groups(1)).is_err());
}

proptest! {
    #[test]
    fn a_unit_moves_as_many_groups_as_stated(
        rows in prop::collection::vec((0u8..5, 0u8..6), 0..25),
        most in 1u64..4,
    ) {
        let count = |rows: Vec<(u8, u8)>| {
            Aggregate::groups(&Sensitive::new(rows), most, person(Neighbors::AddRemove)).unwrap().open()
        };
        let with: BTreeMap<u8, i64> = count(rows.clone()).into_iter().collect();
        let without: BTreeMap<u8, i64> = count(rows.into_iter().filter(|row| row.0 != 0).collect()).into_iter().collect();
        let of = |groups: &BTreeMap<u8, i64>, name: u8| groups.get(&name).copied().unwrap_or(0);
        let moved: Vec<i64> = (0..6).map(|name| of(&with, name) - of(&without, name)).collect();
        prop_assert!(moved.iter().all(|step| (0..=1).contains(step)));
        prop_assert!(moved.iter().sum::<i64>() <= most as i64);
    }
}
