use super::*;
use crate::Sensitive;
use crate::trial::{account, person, sample};
use audit::black_box::{Feature, FindingVerdict, Side};
use audit::exact_audit::{Answer, Distribution, Finite, smallest_epsilon};
use noise::Grid;

fn bounds(upper: i64) -> Bounds {
    Bounds::new(0, upper, Grid::new(0)).unwrap()
}

fn smooth(epsilon: &str, upper: i64) -> SmoothMedian {
    SmoothMedian::new(Epsilon::parse(epsilon).unwrap(), bounds(upper)).unwrap()
}

fn aggregate(values: &[i64]) -> Aggregate<Column> {
    let values = Sensitive::new(Column::new(values.to_vec()));
    Aggregate::claimed(values, one_row(), person(Neighbors::ChangeOne), Grid::new(0))
}

/// Noise for the local sensitivity: no change but the first counts.
fn local(mechanism: &SmoothMedian) -> SmoothMedian {
    SmoothMedian {
        decay: Rational::from(1_000),
        ..mechanism.clone()
    }
}

/// P[answer ≤ v] = ½ + arctan((v + ½ − f)/s)/π, but for the ends, where answers are cut.
fn distribution(mechanism: &SmoothMedian, data: &[i64]) -> Finite {
    let ordered = Ordered::new(Column::new(data.to_vec()), mechanism.bounds);
    let (scale, median, upper) = (
        mechanism.scale(&ordered),
        ordered.median(),
        mechanism.bounds.upper(),
    );
    Finite::from_recipe(upper as usize + 1, move |bits| {
        let work = bits + 48;
        let (zero, one) = (Interval::from_integer(0, work), Interval::from_integer(1, work));
        let width = scale.enclose(work);
        let at_most = |value: i64| {
            if value < 0 {
                return zero.clone();
            }
            if value >= upper {
                return one.clone();
            }
            let edge = Interval::from_rational(&(Rational::from(value - median) + ratio(1, 2)), work);
            let turn = edge.div(&width).unwrap().atan().div(&Interval::pi(work)).unwrap();
            turn.add(&one.scale_by_power_of_two(-1))
        };
        (0..=upper)
            .map(|value| at_most(value).sub(&at_most(value - 1)).with_bits(bits))
            .collect()
    })
    .unwrap()
}

fn loss(mechanism: &SmoothMedian, first: &[i64], second: &[i64]) -> Interval {
    let [first, second] = [first, second].map(|data| Distribution::from(distribution(mechanism, data)));
    match smallest_epsilon(&first, &second, &Rational::ZERO).unwrap() {
        Answer::Finite(epsilon) => epsilon.with_bits(128),
        Answer::NoFinite { .. } => unreachable!("every answer is possible"),
    }
}

/// The largest loss over all data of three rows and their neighbours.
fn largest_loss(mechanism: &SmoothMedian) -> Interval {
    let upper = mechanism.bounds.upper();
    let mut largest = Interval::from_integer(0, 128);
    for a in 0..=upper {
        for b in a..=upper {
            for c in b..=upper {
                for other in (0..=upper).filter(|other| *other > a) {
                    largest = largest.max(&loss(mechanism, &[a, b, c], &[other, b, c]));
                }
            }
        }
    }
    largest
}

#[test]
fn smooth_median_verified_exactly() {
    for epsilon in ["1", "0.3"] {
        let mechanism = smooth(epsilon, 3);
        let found = largest_loss(&mechanism);
        let Promise::Pure(promised) = mechanism.terms().promise() else {
            panic!("a pure promise")
        };
        assert!(found.upper() <= *promised.as_rational(), "{}", found.to_f64_up());
    }
    // A finer grid and more rows, where the density or the median changes most.
    let mechanism = smooth("1", 64);
    let pairs = [
        ([32; 7], [32, 32, 32, 32, 32, 32, 0]),
        ([0, 0, 0, 0, 64, 64, 64], [0, 0, 0, 64, 64, 64, 64]),
        ([0, 0, 0, 30, 30, 64, 64], [0, 0, 0, 30, 64, 64, 64]),
        ([0, 0, 32, 32, 32, 64, 64], [0, 0, 0, 32, 32, 64, 64]),
        ([5, 6, 7, 8, 9, 10, 11], [5, 6, 7, 64, 9, 10, 11]),
    ];
    let largest = |mechanism: &SmoothMedian| {
        let losses = pairs.iter().map(|(first, second)| loss(mechanism, first, second));
        losses.reduce(|largest, loss| largest.max(&loss)).unwrap()
    };
    assert!(largest(&mechanism).upper() <= Rational::ONE);
    let factor = &mechanism.factor * ratio(1, 4);
    let quarter = SmoothMedian {
        factor,
        ..mechanism.clone()
    };
    assert!(largest(&quarter).lower() > Rational::ONE);
    assert!(largest(&local(&mechanism)).lower() > Rational::from(10));
}

/// The scale by its definition, over every k.
#[test]
fn no_peak_is_missed() {
    for (epsilon, data) in [
        ("1", vec![0; 5]),
        ("0.1", vec![50; 9]),
        ("0.5", vec![1, 2, 3, 5, 8, 13, 21, 34, 55, 89]),
        ("2", vec![0, 0, 100, 100]),
        ("0.01", vec![10, 20, 30]),
        ("40", vec![50; 40]),
        ("1", vec![]),
    ] {
        let mechanism = smooth(epsilon, 100);
        let ordered = Ordered::new(Column::new(data.clone()), mechanism.bounds);
        let bits = 200;
        let floor = Interval::from_rational(&power_of_two(FLOOR), bits);
        let expected = (0..=ordered.rows() + 2).fold(floor, |largest, changes| {
            let weight = Interval::exp_of(&-(&mechanism.decay * Rational::from(changes)), bits);
            let factor = Interval::from_rational(
                &(&mechanism.factor * Rational::from(ordered.spread(changes))),
                bits,
            );
            largest.max(&weight.mul(&factor))
        });
        let apart = mechanism.scale(&ordered).enclose(bits).sub(&expected);
        assert!(
            apart.contains(&Rational::ZERO) && apart.upper() < power_of_two(-150),
            "{epsilon} {data:?}"
        );
    }
}

fn find(mechanism: &SmoothMedian, first: &[i64], second: &[i64], samples: u64) -> audit::black_box::Finding {
    let input = |side| aggregate(if side == Side::First { first } else { second });
    sample(
        mechanism,
        Neighbors::ChangeOne,
        input,
        &Feature::<i64>::standard(),
        samples,
        0.0,
    )
}

#[test]
fn audit_smooth_median() {
    let mechanism = smooth("1", 4);
    let (first, second) = ([0, 0, 4], [0, 4, 4]);
    assert_eq!(
        find(&mechanism, &first, &second, 1_200).verdict(1.0, 0.0),
        FindingVerdict::Consistent
    );
    let sixteenth = SmoothMedian {
        factor: &mechanism.factor * ratio(1, 16),
        ..mechanism.clone()
    };
    let found = find(&sixteenth, &first, &second, 1_200);
    assert_eq!(found.verdict(1.0, 0.0), FindingVerdict::Refuted, "{found:?}");
    // And the draws follow the distribution that was verified.
    let mut account = account(Neighbors::ChangeOne);
    let draws: Vec<i64> = (0..1_200)
        .map(|_| {
            account
                .release_by(&mechanism, aggregate(&first), "")
                .unwrap()
                .into_value()
        })
        .collect();
    let cumulative = |mechanism: &SmoothMedian| {
        let masses: Vec<f64> = distribution(mechanism, &first)
            .enclose(64)
            .iter()
            .map(Interval::to_f64_nearest)
            .collect();
        move |value: i64| {
            masses
                .iter()
                .take((value + 1).max(0) as usize)
                .sum::<f64>()
                .min(1.0)
        }
    };
    audit::goodness::cdf_test(&draws, cumulative(&mechanism), 1e-9).assert_consistent();
    audit::goodness::cdf_test(&draws, cumulative(&sixteenth), 1e-9).assert_rejected();
}

/// Noise scaled to the local sensitivity names its input: on dense data there is none, one changed row later there is much.
#[test]
fn local_sensitivity_leaks() {
    let mechanism = local(&smooth("1", 1_000));
    let found = find(&mechanism, &[0, 0, 0, 900, 900], &[0, 0, 900, 900, 900], 400);
    assert_eq!(
        found.verdict(1.0, 0.0),
        FindingVerdict::Consistent,
        "where both are sparse nothing shows"
    );
    // The medians are the same; the noise is not.
    let (dense, sparse) = ([500, 500, 500, 500, 1_000], [500, 500, 500, 1_000, 1_000]);
    let found = find(&mechanism, &dense, &sparse, 400);
    assert_eq!(found.verdict(1.0, 0.0), FindingVerdict::Refuted, "{found:?}");
    // Smooth sensitivity repairs it.
    assert_eq!(
        find(&smooth("1", 1_000), &dense, &sparse, 400).verdict(1.0, 0.0),
        FindingVerdict::Consistent
    );
}

#[test]
fn many_rows_and_extremes() {
    let mut account = account(Neighbors::ChangeOne);
    let mechanism = smooth("1", 1 << 40);
    let data: Vec<i64> = (0..20_000).map(|row| (1 << 39) + row).collect();
    let answer = *account
        .release_by(&mechanism, aggregate(&data), "median")
        .unwrap()
        .value();
    // S ≤ 1/β·e^−1 ≈ 1, so s ≈ 2; a Cauchy is beyond 10^9·s with probability under 1e-9.
    assert!((answer - (1 << 39)).abs() < 20_000 + 4_000_000_000);
    for data in [vec![], vec![i64::MAX], vec![7; 5_000]] {
        account
            .release_by(&mechanism, aggregate(&data), "median")
            .unwrap();
    }
    let point = SmoothMedian::new(Epsilon::parse("1").unwrap(), bounds(0)).unwrap();
    assert_eq!(
        *account
            .release_by(&point, aggregate(&[3, 4]), "median")
            .unwrap()
            .value(),
        0
    );
    assert_eq!(
        SmoothMedian::new(Epsilon::ZERO, bounds(1)).unwrap_err(),
        Error::NoEpsilon
    );
}
