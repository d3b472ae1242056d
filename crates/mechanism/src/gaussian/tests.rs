use super::*;
use crate::trial::black_box;
use crate::trial::person;
use crate::{Account, MemoryLedger, Sensitive};
use accounting::{Budget, Neighbors, epsilon_of_discrete_gaussian};
use audit::black_box::FindingVerdict;
use audit::exact_audit::{self, Distribution, Finite, Lattice, satisfies};
use exact::{Integer, parse_decimal};

fn epsilon(text: &str) -> Epsilon {
    Epsilon::parse(text).unwrap()
}

fn delta(text: &str) -> Delta {
    Delta::parse(text).unwrap()
}

fn scalar(step: i64) -> Sensitivity {
    Sensitivity::scalar(step).unwrap()
}

fn continuous(mean: i64, variance: &Rational) -> Distribution {
    exact_audit::Gaussian::new(&Rational::from(mean), variance)
        .unwrap()
        .into()
}

/// The continuous noise around `mean`, rounded; all beyond ±`end` as one outcome each.
fn rounded(mean: i64, deviation: &Rational, end: i64) -> Distribution {
    let deviation = deviation.clone();
    let distribution = Finite::from_recipe((2 * end + 1) as usize, move |bits| {
        // P[round(mean + Z) ≤ k] = Φ((k + ½ − mean)/σ).
        let work = bits + 8;
        let below = |k: i64| {
            let place = (Rational::from(k - mean) + ratio(1, 2)) / &deviation;
            Interval::from_rational(&place, work).normal_cdf()
        };
        let (none, all) = (Interval::from_integer(0, work), Interval::from_integer(1, work));
        let mut sums = vec![none.clone()];
        sums.extend((-end..end).map(below));
        sums.push(all);
        sums.windows(2)
            .map(|pair| pair[1].sub(&pair[0]).max(&none).with_bits(bits))
            .collect()
    });
    distribution.unwrap().into()
}

#[test]
fn audit_gaussian() {
    let step = 4;
    for (e, d) in [("1", "1e-5"), ("0.5", "0.01")] {
        let classic = Gaussian::classic(epsilon(e), delta(d), scalar(step), Grid::new(0)).unwrap();
        let analytic = Gaussian::analytic(epsilon(e), delta(d), scalar(step), Grid::new(0)).unwrap();
        assert!(analytic.variance() < classic.variance());
        let (e, d) = (parse_decimal(e).unwrap(), parse_decimal(d).unwrap());
        let holds = |variance: &Rational| {
            satisfies(&continuous(0, variance), &continuous(step, variance), &e, &d).unwrap()
        };
        assert!(holds(classic.variance()) && holds(analytic.variance()));
        assert!(!holds(&(analytic.variance() * ratio(95 * 95, 10_000))));
    }
    // The distribution that is drawn from, which is the continuous one rounded.
    let (e, d) = (ratio(1, 2), ratio(1, 100));
    let analytic = Gaussian::analytic(epsilon("0.5"), delta("0.01"), scalar(step), Grid::new(0)).unwrap();
    let deviation = smallest_multiplier(&epsilon("0.5"), &delta("0.01")).unwrap() * Rational::from(step);
    assert_eq!(&deviation * &deviation, *analytic.variance());
    let holds = |deviation: &Rational| {
        satisfies(&rounded(0, deviation, 60), &rounded(step, deviation, 60), &e, &d).unwrap()
    };
    assert!(holds(&deviation) && !holds(&(&deviation * ratio(95, 100))));

    let found = black_box(&analytic, [&0, &step], 200_000, 0.01, |value: &i64| *value);
    assert_eq!(found.verdict(0.5, 0.01), FindingVerdict::Consistent, "{found:?}");
    // The mutant: values move by twice the sensitivity that was stated.
    let found = black_box(&analytic, [&0, &(2 * step)], 200_000, 0.01, |value: &i64| *value);
    assert_eq!(found.verdict(0.5, 0.01), FindingVerdict::Refuted, "{found:?}");
    // A vector whose coordinates move together, seen along the line on which it moves.
    let sensitivity = Sensitivity::vector(4, 2).unwrap();
    let analytic = Gaussian::analytic(epsilon("0.5"), delta("0.01"), sensitivity, Grid::new(0)).unwrap();
    let (still, moved, too_far) = (vec![0i64; 4], vec![2; 4], vec![4; 4]);
    let sum = |values: &Vec<i64>| values.iter().sum();
    let found = black_box(&analytic, [&still, &moved], 100_000, 0.01, sum);
    assert_eq!(found.verdict(0.5, 0.01), FindingVerdict::Consistent, "{found:?}");
    let found = black_box(&analytic, [&still, &too_far], 100_000, 0.01, sum);
    assert_eq!(found.verdict(0.5, 0.01), FindingVerdict::Refuted, "{found:?}");
}

#[test]
fn audit_gaussian_on_integers() {
    let step = 3;
    let rho = Rho::parse("0.5").unwrap();
    let discrete = GaussianOnIntegers::concentrated(rho.clone(), scalar(step), Grid::new(0)).unwrap();
    assert_eq!(*discrete.variance(), ratio(9, 1));
    // Σ P[k]^α·Q[k]^(1−α) = e^((α−1)·D), where D is the Rényi divergence; it is exactly e^(α(α−1)ρ) where αΔ is an integer. What
    // is left out beyond ±40 is a Gaussian tail more than ten deviations out.
    let distribution = Lattice::discrete_gaussian(discrete.variance()).unwrap();
    let masses: Vec<Interval> = (-40 - step..=40).map(|k| distribution.mass(k, 400)).collect();
    for alpha in [2u32, 3] {
        let pairs = masses.iter().skip(step as usize).zip(&masses);
        let terms =
            pairs.map(|(p, q)| (0..alpha - 1).fold(p.clone(), |product, _| product.mul(p).div(q).unwrap()));
        let sum = terms.reduce(|sum, term| sum.add(&term)).unwrap();
        let claimed = |rho: &Rational| Interval::exp_of(&(Rational::from(alpha * (alpha - 1)) * rho), 256);
        let slack = Rational::ONE + ratio(1, 1_000_000_000_000);
        assert!(sum.upper() <= claimed(rho.as_rational()).upper() * slack);
        assert!(sum.lower() > claimed(&(rho.as_rational() * ratio(100, 105))).upper());
    }
    // Its own curve says which (ε, δ) one number has.
    let own = epsilon_of_discrete_gaussian(discrete.variance(), 3, &delta("0.01")).unwrap();
    let found = black_box(&discrete, [&0, &step], 200_000, 0.01, |value: &i64| *value);
    assert_eq!(
        found.verdict(own.to_f64_up(), 0.01),
        FindingVerdict::Consistent,
        "{found:?}"
    );
    // The mutant: values move by twice the sensitivity that was stated.
    let found = black_box(&discrete, [&0, &(2 * step)], 200_000, 0.01, |value: &i64| *value);
    assert_eq!(
        found.verdict(own.to_f64_up(), 0.01),
        FindingVerdict::Refuted,
        "{found:?}"
    );
}

#[test]
fn what_is_refused() {
    let grid = Grid::new(0);
    assert!(Gaussian::classic(epsilon("1.1"), delta("1e-6"), scalar(1), grid).is_err());
    assert!(Gaussian::classic(Epsilon::ZERO, delta("1e-6"), scalar(1), grid).is_err());
    assert!(Gaussian::analytic(epsilon("1.1"), delta("1e-6"), scalar(1), grid).is_ok());
    assert_eq!(
        Gaussian::analytic(epsilon("1"), Delta::ZERO, scalar(1), grid).unwrap_err(),
        Error::NoDelta
    );
    assert!(GaussianOnIntegers::concentrated(Rho::ZERO, scalar(1), grid).is_err());
    // So much noise, or so little, that no event could record it or no sampler make it.
    assert!(Gaussian::analytic(epsilon("1e-200"), delta("1e-290"), scalar(1), grid).is_err());
    assert!(GaussianOnIntegers::concentrated(Rho::parse("1e-250").unwrap(), scalar(1), grid).is_err());
}

#[test]
fn events_say_where_the_noise_lives() {
    let place = |sensitivity: Sensitivity| {
        let rho = Rho::parse("0.1").unwrap();
        let discrete = GaussianOnIntegers::concentrated(rho, sensitivity, Grid::new(0)).unwrap();
        match discrete.terms.event().clone() {
            Event::Gaussian {
                on,
                multiplier_squared,
            } => {
                assert_eq!(*multiplier_squared.as_rational(), ratio(5, 1));
                on
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(place(scalar(7)), NoiseSupport::DiscreteScalar { sensitivity: 7 });
    assert_eq!(place(Sensitivity::vector(2, 7).unwrap()), NoiseSupport::Discrete);
    assert_eq!(
        place(Sensitivity::scalar(ratio(7, 2)).unwrap()),
        NoiseSupport::Discrete
    );
    assert_eq!(
        place(scalar(7).with_norms(&ratio(7, 1), &ratio(40, 1)).unwrap()),
        NoiseSupport::Discrete
    );
    let sensitivity = Sensitivity::vector(9, 2).unwrap();
    let analytic = Gaussian::analytic(epsilon("1"), delta("1e-6"), sensitivity, Grid::new(0)).unwrap();
    let Event::Gaussian {
        multiplier_squared, ..
    } = analytic.terms.event()
    else {
        panic!("Gaussian noise")
    };
    assert_eq!(
        *analytic.variance(),
        multiplier_squared.as_rational() * Rational::from(36u8)
    );
}

#[test]
fn both_kinds_of_points_are_released() {
    let unit = person(Neighbors::AddRemove);
    let limit = Promise::Approximate(epsilon("2"), delta("1e-5"));
    let mut account = Account::open(MemoryLedger::new(Budget::new(limit, unit.clone()))).unwrap();
    let grid = Grid::new(-4);
    let analytic = Gaussian::analytic(epsilon("1"), delta("1e-6"), scalar(16), grid).unwrap();
    let one = Aggregate::claimed(Sensitive::new(1600i64), scalar(16), unit.clone(), grid);
    let release = account.release_by(&analytic, one, "one").unwrap();
    let (low, high) = release.interval(1.0 - 1e-12).unwrap();
    assert!(low < 100.0 && high > 100.0 && high - low < 100.0);
    assert_eq!(
        release.receipt().charge.guarantee.promise(),
        analytic.terms.promise()
    );
    let many = Aggregate::claimed(
        Sensitive::new(vec![1 << 40, 0, -(1 << 40)]),
        scalar(16),
        unit,
        grid,
    );
    let release = account.release_by(&analytic, many, "many").unwrap();
    assert_eq!(release.intervals(0.95).unwrap().len(), 3);
}

/// The bound on the discrete Gaussian's error is that of the rounded one.
#[test]
fn discrete_tails_are_no_heavier() {
    for variance in [
        ratio(1, 20),
        ratio(1, 4),
        ratio(1, 2),
        ratio(1, 1),
        ratio(3, 1),
        ratio(100, 1),
    ] {
        let distribution = Lattice::discrete_gaussian(&variance).unwrap();
        let deviation = Interval::sqrt_of(&variance, 200);
        let mut tail = Interval::from_integer(1, 200);
        for m in 1..40i64 {
            // P[|X| ≥ m] against P[|Z| ≥ m − ½] = 2Φ(−(m−½)/σ).
            let inner = distribution.mass(m - 1, 200);
            tail = tail.sub(&if m == 1 {
                inner
            } else {
                inner.scale(&Integer::from(2))
            });
            let end = Interval::from_rational(&ratio(1 - 2 * m, 2), 200)
                .div(&deviation)
                .unwrap();
            let rounded = end.normal_cdf().scale(&Integer::from(2));
            assert!(tail.lower() <= rounded.upper(), "{variance} at {m}");
            if rounded.lower() > exact::power_of_two(-150) {
                assert!(tail.upper() <= rounded.lower(), "{variance} at {m}");
            }
        }
    }
}
