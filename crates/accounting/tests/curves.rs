//! The curves against each other, against brute force, and at the edges; and how long a calibration takes.

use accounting::{
    Delta, Epsilon, Error, delta_of_discrete_gaussian, delta_of_discrete_laplace, delta_of_gaussian,
    epsilon_of_discrete_gaussian, epsilon_of_gaussian, smallest_multiplier,
};
use exact::{Integer, Interval, Rational, parse_decimal, ratio};
use proptest::prelude::*;

fn meet(a: &Interval, b: &Interval) -> bool {
    a.lower() <= b.upper() && b.lower() <= a.upper()
}

/// Σ_x max(0, P(x) − e^ε·P(x − Δ)) from unnormalized weights w(|x|), summed over [−reach, reach].
fn brute_force(
    weight: impl Fn(i64) -> Interval,
    epsilon: &Rational,
    sensitivity: i64,
    reach: i64,
) -> Interval {
    let bits = weight(0).bits();
    let zero = Interval::from_integer(0, bits);
    let growth = Interval::exp_of(epsilon, bits);
    let mut normalizer = zero.clone();
    let mut delta = zero.clone();
    for x in -reach..=reach {
        let here = weight(x);
        let excess = here.sub(&growth.mul(&weight(x - sensitivity)));
        normalizer = normalizer.add(&here);
        delta = delta.add(&excess.max(&zero));
    }
    delta.div(&normalizer).unwrap()
}

#[test]
fn integer_curves_are_the_definition() {
    let bits = 200;
    let close = parse_decimal("1e-40").unwrap();
    for (variance, sensitivity) in [
        (ratio(1, 1), 1u64),
        (ratio(9, 4), 2),
        (ratio(1, 3), 1),
        (ratio(5, 1), 7),
    ] {
        for epsilon in [ratio(0, 1), ratio(1, 4), ratio(1, 1), ratio(5, 2)] {
            let weight = |x: i64| Interval::exp_of(&(-ratio(x * x, 2) / &variance), bits);
            let expected = brute_force(weight, &epsilon, sensitivity as i64, 60);
            let ours = delta_of_discrete_gaussian(&epsilon, &variance, sensitivity, 120);
            assert!(ours.lower() - &close <= expected.upper() && expected.lower() <= ours.upper() + &close);
            let weight = |x: i64| Interval::exp_of(&(-ratio(x.abs(), 1) / &variance), bits);
            let expected = brute_force(weight, &epsilon, sensitivity as i64, 600);
            let ours = delta_of_discrete_laplace(&epsilon, &variance, sensitivity, 120);
            assert!(ours.lower() - &close <= expected.upper() && expected.lower() <= ours.upper() + &close);
        }
    }
}

/// The sum term by term and the Euler-Maclaurin formula meet at σ = 100: just below and just above it the curve is smooth.
#[test]
fn wide_noise_continues_narrow_noise() {
    let close = parse_decimal("1e-9").unwrap();
    for (epsilon, sensitivity) in [("0.01", 3), ("0.1", 3), ("1", 20), ("0", 5), ("0.0001", 1)] {
        let epsilon = parse_decimal(epsilon).unwrap();
        let at = |variance: &str| {
            delta_of_discrete_gaussian(&epsilon, &parse_decimal(variance).unwrap(), sensitivity, 120)
        };
        let (narrow, wide) = (at("9999.99999999"), at("10000"));
        let relative = (narrow.upper() - wide.lower()) / narrow.upper();
        assert!(relative > Rational::ZERO && relative < close, "{epsilon}");
    }
    // Very wide noise on a fine grid is Gaussian noise.
    let (variance, sensitivity) = (parse_decimal("1e18").unwrap(), 1_000_000_000);
    for epsilon in [ratio(0, 1), ratio(1, 2), ratio(4, 1), ratio(10, 1)] {
        let discrete = delta_of_discrete_gaussian(&epsilon, &variance, sensitivity, 100);
        let continuous = delta_of_gaussian(&epsilon, &Rational::ONE, 100);
        let relative = discrete.upper() / continuous.lower() - Rational::ONE;
        assert!(relative < close && relative > -close.clone(), "{epsilon}");
    }
}

#[test]
fn the_epsilon_of_integer_noise_is_tight() {
    let slightly_less = Rational::ONE - parse_decimal("1e-12").unwrap();
    for (variance, sensitivity) in [
        ("1", 1u64),
        ("100", 5),
        ("10000", 3),
        ("0.25", 1),
        ("1e12", 1000),
        ("1e18", 1),
        ("123.456", 1000),
    ] {
        for delta in ["0.1", "1e-6", "1e-30"] {
            let (variance, delta) = (parse_decimal(variance).unwrap(), Delta::parse(delta).unwrap());
            let epsilon = epsilon_of_discrete_gaussian(&variance, sensitivity, &delta).unwrap();
            let at = |epsilon: &Rational| delta_of_discrete_gaussian(epsilon, &variance, sensitivity, 100);
            assert!(at(epsilon.as_rational()).certainly_at_most(delta.as_rational()));
            if epsilon != Epsilon::ZERO {
                let less = epsilon.as_rational() * &slightly_less;
                assert!(
                    at(&less).lower() > *delta.as_rational(),
                    "{variance} {sensitivity} {delta} {epsilon}"
                );
            }
        }
    }
}

#[test]
fn edges() {
    let one = Epsilon::parse("1").unwrap();
    assert_eq!(smallest_multiplier(&one, &Delta::ZERO), Err(Error::NeedsDelta));
    assert_eq!(
        epsilon_of_gaussian(&ratio(0, 1), &Delta::parse("0.1").unwrap()),
        Err(Error::NoNoise)
    );
    assert_eq!(
        delta_of_gaussian(&ratio(3, 1), &ratio(0, 1), 64),
        Interval::from_integer(1, 64)
    );
    // So much noise that δ alone covers it.
    assert_eq!(
        epsilon_of_gaussian(&ratio(1_000_000, 1), &Delta::parse("0.1").unwrap()),
        Ok(Epsilon::ZERO)
    );
    // Nobody uses these; nothing may break at them.
    for (epsilon, delta) in [
        ("0", "0.5"),
        ("0", "1e-30"),
        ("0", "0.999999"),
        ("1e25", "1e-6"),
        ("1e-40", "1e-40"),
        ("2000", "1e-200"),
    ] {
        let (epsilon, delta) = (Epsilon::parse(epsilon).unwrap(), Delta::parse(delta).unwrap());
        let multiplier = smallest_multiplier(&epsilon, &delta).unwrap();
        let reached = delta_of_gaussian(epsilon.as_rational(), &(&multiplier * &multiplier), 80);
        assert!(
            reached.certainly_at_most(delta.as_rational()),
            "{epsilon} {delta}"
        );
    }
    let absurd = delta_of_gaussian(&parse_decimal("1e20").unwrap(), &ratio(1, 1), 64);
    assert!(*absurd.lo() == Integer::ZERO && absurd.upper() < parse_decimal("1e-1000").unwrap());
    let noiseless = delta_of_gaussian(&ratio(1, 1), &parse_decimal("1e-40").unwrap(), 64);
    assert!(noiseless.upper() <= Rational::ONE && noiseless.lower() > ratio(999, 1000));
}

/// A record may hold any parameters. None of them may keep the reader busy for long, or make it promise too little.
#[test]
fn hostile_parameters_are_answered() {
    for multiplier_squared in ["1e-200", "1e-12", "1e-6", "1", "1e6", "1e30", "1e200"] {
        for delta in ["0.9999999999", "1e-3", "1e-300"] {
            let (squared, delta) = (
                parse_decimal(multiplier_squared).unwrap(),
                Delta::parse(delta).unwrap(),
            );
            if let Ok(epsilon) = epsilon_of_gaussian(&squared, &delta) {
                let reached = delta_of_gaussian(epsilon.as_rational(), &squared, 80);
                assert!(
                    reached.certainly_at_most(delta.as_rational()),
                    "{squared} {delta}"
                );
            }
            for sensitivity in [1u64, 1000, 1_000_000_000_000, u64::MAX] {
                let start = std::time::Instant::now();
                let variance = &squared * Rational::from(sensitivity) * Rational::from(sensitivity);
                let answer = epsilon_of_discrete_gaussian(&variance, sensitivity, &delta);
                let time = start.elapsed();
                assert!(
                    time.as_secs() < 20,
                    "{multiplier_squared} {delta} {sensitivity}: {time:?}"
                );
                // The widest noise takes a while to check; one sensitivity is enough for it.
                if let Ok(epsilon) = answer
                    && (multiplier_squared != "1e200" || sensitivity == 1)
                {
                    let reached =
                        delta_of_discrete_gaussian(epsilon.as_rational(), &variance, sensitivity, 80);
                    assert!(
                        reached.certainly_at_most(delta.as_rational()),
                        "{squared} {delta} {sensitivity}"
                    );
                }
            }
        }
    }
}

#[test]
fn calibration_is_quick() {
    let start = std::time::Instant::now();
    let mut count = 0u32;
    for epsilon in ["0.01", "0.1", "1", "8", "100"] {
        for delta in ["1e-3", "1e-6", "1e-12", "1e-30"] {
            smallest_multiplier(&Epsilon::parse(epsilon).unwrap(), &Delta::parse(delta).unwrap()).unwrap();
            count += 1;
        }
    }
    let each = start.elapsed() / count;
    println!("{each:?} for each calibration");
    // A loose alarm for a shared machine without full optimization; the target is 20 ms in release.
    assert!(each.as_millis() < 500);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn more_noise_or_a_larger_epsilon_means_less_delta(
        epsilon in 0u64..5000, more in 1u64..1000, multiplier in 1u64..3000, wider in 1u64..1000,
    ) {
        let (small, large) = (ratio(epsilon as i64, 1000), ratio((epsilon + more) as i64, 1000));
        let (narrow, wide) = (ratio(multiplier as i64, 100), ratio((multiplier + wider) as i64, 100));
        let at = |epsilon: &Rational, multiplier: &Rational| delta_of_gaussian(epsilon, multiplier, 80);
        prop_assert!(at(&large, &narrow).upper() < at(&small, &narrow).lower());
        prop_assert!(at(&small, &wide).upper() < at(&small, &narrow).lower());
    }

    #[test]
    fn the_curve_is_the_formula(epsilon in 0u64..4000, multiplier in 20u64..400) {
        let (epsilon, mu) = (ratio(epsilon as i64, 1000), ratio(100, multiplier));
        let bits = 300;
        let phi = |x: Rational| Interval::from_rational(&x, bits).normal_cdf();
        let (half, quotient) = (&mu * ratio(1, 2), &epsilon / &mu);
        let direct = phi(&half - &quotient).sub(&Interval::exp_of(&epsilon, bits).mul(&phi(-half - quotient)));
        let ours = delta_of_gaussian(&epsilon, &(Rational::ONE / (&mu * &mu)), 100);
        prop_assert!(meet(&direct, &ours));
    }

    #[test]
    fn calibrations_undo_each_other(epsilon in 1u64..20_000, exponent in 1u32..40) {
        let epsilon = Epsilon::parse(&format!("{epsilon}e-3")).unwrap();
        let delta = Delta::parse(&format!("1e-{exponent}")).unwrap();
        let multiplier = smallest_multiplier(&epsilon, &delta).unwrap();
        let back = epsilon_of_gaussian(&(&multiplier * &multiplier), &delta).unwrap();
        let tolerance = parse_decimal("1e-11").unwrap() * epsilon.as_rational();
        prop_assert!(*back.as_rational() <= epsilon.as_rational() + &tolerance);
        prop_assert!(*back.as_rational() >= epsilon.as_rational() - &tolerance - parse_decimal("1e-11").unwrap());
    }
}
