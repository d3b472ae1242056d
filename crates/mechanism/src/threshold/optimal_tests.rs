use super::optimal::{KeepDistribution, probabilities};
use super::tests::{aggregate, delta, epsilon, grown, in_groups};
use super::*;
use crate::trial::sample;
use audit::black_box::{Feature, FindingVerdict};
use audit::exact_audit::{Distribution, Finite, smallest_delta_at};
use exact::{power_of_two, ratio};

/// With the rational 3 in the place of e^ε all of it is rational, and equality can be seen.
#[test]
fn optimal_threshold_verified_exactly() {
    let (growth, small) = (ratio(3, 1), ratio(1, 50));
    let allowed = |now: &Rational, next: &Rational| {
        let bounded = |p: &Rational, q: &Rational| *p <= &growth * q + &small;
        let (drop_now, drop_next) = (Rational::ONE - now, Rational::ONE - next);
        bounded(now, next)
            && bounded(next, now)
            && bounded(&drop_now, &drop_next)
            && bounded(&drop_next, &drop_now)
    };
    let interval = |value: &Rational| Interval::from_rational(value, 200);
    let computed: Vec<Interval> =
        probabilities(interval(&growth), interval(&ratio(1, 3)), interval(&small)).collect();
    let mut now = Rational::ZERO;
    for enclosure in &computed {
        let rising = &growth * &now + &small;
        let closing = Rational::ONE - (Rational::ONE - &now - &small) / &growth;
        let next = rising.min(closing).min(Rational::ONE);
        assert!(enclosure.contains(&next) && enclosure.upper() - enclosure.lower() < power_of_two(-180));
        assert!(allowed(&now, &next));
        assert!(
            !allowed(&now, &(&next + power_of_two(-100))),
            "a larger probability is not private"
        );
        now = next;
    }
    assert!(
        computed.len() > 4 && allowed(&now, &Rational::ONE),
        "and then it is 1"
    );

    // The same at ε = ½, in both directions, by the definition of δ(ε).
    let mechanism = OptimalThreshold::new(epsilon("1"), delta("0.01"), in_groups(2)).unwrap();
    let bits = 256;
    let distribution = |count: u64| {
        let mechanism = mechanism.clone();
        let recipe = move |bits: u32| {
            let kept = mechanism.keep_probability(count, bits);
            let dropped = Interval::from_integer(1, bits).sub(&kept);
            vec![kept, dropped]
        };
        Distribution::from(Finite::from_recipe(2, recipe).unwrap())
    };
    for count in 0..=mechanism.table.len() as u64 + 1 {
        let needed =
            smallest_delta_at(&distribution(count), &distribution(count + 1), &ratio(1, 2), bits).unwrap();
        let (least, most) = (
            needed.lower() + power_of_two(-200),
            needed.upper() - power_of_two(-200),
        );
        assert!(most <= ratio(1, 200), "{count}");
        assert!(
            least >= ratio(1, 200) || count + 1 > mechanism.table.len() as u64,
            "{count} is tight"
        );
    }
}

#[test]
fn optimal_threshold_is_a_cut_geometric() {
    let (bits, cut) = (160, 5i64);
    let weight = |noise: i64| Interval::exp_of(&(ratio(-1, 2) * Rational::from(noise.abs())), bits);
    let sum = |noises: std::ops::RangeInclusive<i64>| {
        noises
            .map(weight)
            .fold(Interval::from_integer(0, bits), |sum, term| sum.add(&term))
    };
    let total = sum(-cut..=cut);
    let small = weight(cut).div(&total).unwrap();
    let (growth, shrink) = (Interval::exp_of(&ratio(1, 2), bits), weight(1));
    let optimal: Vec<Interval> = probabilities(growth, shrink, small)
        .take(2 * cut as usize + 1)
        .collect();
    for (count, optimal) in (1..).zip(&optimal) {
        // Kept when count + noise > cut.
        let kept = sum(cut + 1 - count..=cut).div(&total).unwrap();
        let apart = kept.sub(optimal);
        assert!(
            apart.contains(&Rational::ZERO) && apart.upper() < power_of_two(-120),
            "{count}"
        );
    }
    assert_eq!(optimal.len(), 2 * cut as usize + 1);
}

#[test]
fn audit_optimal_threshold() {
    let sensitivity = in_groups(2);
    let mechanism = OptimalThreshold::new(epsilon("1"), delta("0.02"), sensitivity.clone()).unwrap();
    let features = || {
        vec![Feature::values("which groups", |names: &Vec<i64>| {
            names.iter().map(|name| 1 << name).sum()
        })]
    };
    let find = |mechanism: &OptimalThreshold, count: i64| {
        let input = |side| aggregate(grown(side, count), &sensitivity);
        sample(mechanism, Neighbors::AddRemove, input, &features(), 60_000, 0.02)
    };
    for count in [1, 4, 8] {
        assert_eq!(
            find(&mechanism, count).verdict(1.0, 0.02),
            FindingVerdict::Consistent
        );
    }
    let distribution = KeepDistribution {
        delta: &mechanism.distribution.delta * ratio(4, 1),
        ..mechanism.distribution.clone()
    };
    let table = distribution.probabilities(80).collect();
    assert_eq!(
        find(
            &OptimalThreshold {
                distribution,
                table,
                ..mechanism
            },
            1
        )
        .verdict(1.0, 0.02),
        FindingVerdict::Refuted
    );
}
