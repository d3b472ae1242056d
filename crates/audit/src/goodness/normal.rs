//! Φ in floats, from certified values.

use exact::{Interval, ratio};
use std::sync::OnceLock;

/// Nodes lie 1/64 apart on [−9, 9]; Φ(−9) < 2e-19.
const STEPS: i64 = 64;
const REACH: i64 = 9;

/// Φ and φ at the nodes, each the float nearest to a certified enclosure.
fn nodes() -> &'static Vec<(f64, f64)> {
    static NODES: OnceLock<Vec<(f64, f64)>> = OnceLock::new();
    NODES.get_or_init(|| {
        let scale = Interval::pi(96).scale(&2.into()).sqrt();
        (-REACH * STEPS..=REACH * STEPS)
            .map(|node| {
                let x = ratio(node, STEPS as u64);
                let cumulative = Interval::from_rational(&x, 96).normal_cdf().to_f64_nearest();
                let density = Interval::exp_of(&(-(&x * &x) / ratio(2, 1)), 96)
                    .div(&scale)
                    .expect("√2π > 0");
                (cumulative, density.to_f64_nearest())
            })
            .collect()
    })
}

/// φ(x), and Φ(x) with an absolute error below 1e-15.
///
/// Taylor's series at the nearest node x₀, |t| ≤ 1/128: the derivatives of φ are (−1)^n He_n(x₀) φ(x₀) with
/// Hermite's polynomials, He_{n+1} = x·He_n − n·He_{n−1}. Nine terms are summed; |He_9 φ| < 400, so the rest
/// is below 400·2⁻⁷⁰/10!.
pub(super) fn normal(x: f64) -> (f64, f64) {
    if x.is_nan() {
        return (f64::NAN, f64::NAN);
    }
    if x.abs() >= REACH as f64 {
        return (0.0, if x > 0.0 { 1.0 } else { 0.0 });
    }
    let node = (x * STEPS as f64).round();
    let center = node / STEPS as f64;
    let t = x - center;
    let (cumulative, density) = nodes()[(node as i64 + REACH * STEPS) as usize];
    let (mut hermite, mut before) = (1.0, 0.0);
    let (mut power, mut integral, mut slope) = (1.0, 0.0, 0.0);
    for n in 0..9 {
        let order = f64::from(n);
        // Here power = (−t)^n / n!.
        slope += hermite * power;
        integral += hermite * power * t / (order + 1.0);
        power *= -t / (order + 1.0);
        (hermite, before) = (center * hermite - order * before, hermite);
    }
    (density * slope, cumulative + density * integral)
}

/// The standard normal distribution function, with an absolute error below 1e-15.
pub fn normal_cdf(x: f64) -> f64 {
    normal(x).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use exact::from_f64;

    fn certified(x: f64) -> f64 {
        Interval::from_rational(&from_f64(x).unwrap(), 128)
            .normal_cdf()
            .to_f64_nearest()
    }

    #[test]
    fn agrees_with_certified_values() {
        let mut x = -9.5;
        while x < 9.5 {
            assert!((normal_cdf(x) - certified(x)).abs() < 1e-15, "{x}");
            x += 0.037_123;
        }
        assert_eq!(normal_cdf(0.0), 0.5);
        assert!((normal(0.3).0 - 0.381_387_815_460_524).abs() < 1e-15);
    }
}
