//! Where a search may start: Newton's method in floats.
//!
//! Nothing here is believed. What is found from such a start is certified afterwards, and where floats find nothing there are starts that are proved.

use exact::{Rational, to_f64_nearest};
use std::f64::consts::{PI, SQRT_2};

/// Steps after which a search in floats is given up.
const PATIENCE: usize = 100;
/// A step this small, as a part of what is looked for, is as good as floats get.
const CLOSE: f64 = 1e-12;

/// ln δ(ε) for noise of 1/μ, its slope by μ, and its slope by ε.
fn logarithm(epsilon: f64, mu: f64) -> (f64, f64, f64) {
    let (a, b) = (mu / 2.0 - epsilon / mu, mu / 2.0 + epsilon / mu);
    let density = -a * a / 2.0 - (2.0 * PI).ln() / 2.0;
    let logarithm = if a > 0.0 {
        (-density.exp() * (mills(a) + mills(b))).ln_1p()
    } else {
        density + (mills(-a) - mills(b)).ln()
    };
    let slope = (density - logarithm).exp();
    (logarithm, slope, -slope * mills(b))
}

/// Mills' ratio (1 − Φ(x))/φ(x) for x ≥ 0.
fn mills(x: f64) -> f64 {
    if x < 20.0 {
        (PI / 2.0).sqrt() * (x * x / 2.0).exp() * libm::erfc(x / SQRT_2)
    } else {
        let inverse = 1.0 / (x * x);
        (1.0 - inverse * (1.0 - 3.0 * inverse * (1.0 - 5.0 * inverse))) / x
    }
}

/// A positive solution of ln δ = `aim`, from `start`.
fn newton(start: f64, aim: f64, logarithm_and_slope: impl Fn(f64) -> (f64, f64)) -> Option<Rational> {
    let mut at = start;
    for _ in 0..PATIENCE {
        let (logarithm, slope) = logarithm_and_slope(at);
        let step = (aim - logarithm) / slope;
        if !step.is_finite() || at + step <= 0.0 {
            return None;
        }
        at += step;
        if step.abs() <= CLOSE * at {
            return Rational::try_from(at).ok();
        }
    }
    None
}

/// About the largest μ = Δ/σ for (ε, δ).
pub(super) fn largest_mu(epsilon: &Rational, delta: &Rational) -> Option<Rational> {
    let (epsilon, aim) = (to_f64_nearest(epsilon), to_f64_nearest(delta).ln());
    let twice = -2.0 * aim;
    let concentrated = 2.0 * epsilon / ((twice + 2.0 * epsilon).sqrt() + twice.sqrt());
    let start = concentrated.max(aim.exp() * (2.0 * PI).sqrt());
    newton(start, aim, |mu| {
        let (logarithm, slope, _) = logarithm(epsilon, mu);
        (logarithm, slope)
    })
}

/// About the smallest ε for (ε, δ) with noise of this squared multiplier.
pub(super) fn smallest_epsilon(multiplier_squared: &Rational, delta: &Rational) -> Option<Rational> {
    let (mu, aim) = (
        1.0 / to_f64_nearest(multiplier_squared).sqrt(),
        to_f64_nearest(delta).ln(),
    );
    let start = mu * mu / 2.0 + mu * (-2.0 * aim).sqrt();
    newton(start, aim, |epsilon| {
        let (logarithm, _, slope) = logarithm(epsilon, mu);
        (logarithm, slope)
    })
}

/// Whether δ(0) is more than the target by so much that no rounding explains it.
pub(super) fn is_far_above(multiplier_squared: &Rational, delta: &Rational) -> bool {
    let mu = 1.0 / to_f64_nearest(multiplier_squared).sqrt();
    logarithm(0.0, mu).0 > to_f64_nearest(delta).ln() + 1e-3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delta, Epsilon, epsilon_of_gaussian, smallest_multiplier};
    use exact::parse_decimal;

    // A guess that is off would be found out, and cost only time: nothing else would notice that it became useless.
    #[test]
    fn guesses_are_near() {
        let cases = [
            ("1", "1e-6"),
            ("0.01", "1e-9"),
            ("8", "1e-5"),
            ("0.3", "0.2"),
            ("100", "1e-12"),
            ("0", "1e-4"),
        ];
        for (epsilon, delta) in cases {
            let (epsilon, delta) = (Epsilon::parse(epsilon).unwrap(), Delta::parse(delta).unwrap());
            let multiplier = smallest_multiplier(&epsilon, &delta).unwrap();
            let mu = largest_mu(epsilon.as_rational(), delta.as_rational()).unwrap();
            let off = to_f64_nearest(&(mu * &multiplier)) - 1.0;
            assert!(off.abs() < 1e-7, "μ at {epsilon}, {delta}: {off:e}");
            if epsilon == Epsilon::ZERO {
                continue;
            }
            let squared = &multiplier * &multiplier;
            let exact = epsilon_of_gaussian(&squared, &delta).unwrap();
            let guess = smallest_epsilon(&squared, delta.as_rational()).unwrap();
            let off = to_f64_nearest(&(guess / exact.as_rational())) - 1.0;
            assert!(off.abs() < 1e-7, "ε at {epsilon}, {delta}: {off:e}");
        }
    }

    #[test]
    fn a_target_that_zero_reaches_is_not_far_below() {
        // δ(0) = 2Φ(μ/2) − 1 is 0.0399 at μ = 0.1.
        let squared = parse_decimal("100").unwrap();
        for (delta, far) in [
            ("0.039", true),
            ("0.0399", false),
            ("0.04", false),
            ("0.5", false),
        ] {
            assert_eq!(
                is_far_above(&squared, &parse_decimal(delta).unwrap()),
                far,
                "{delta}"
            );
        }
    }
}
