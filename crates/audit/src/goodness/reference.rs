//! Distribution functions to test samplers against, computed by arithmetic that no sampler uses.
//!
//! Each is a float within 1e-12 of the true value, from certified enclosures. They are fast enough to be
//! asked for every value of a large sample, however wide the distribution.

use super::normal::normal;
use crate::exact_audit::Lattice;
use exact::{Interval, Rational, to_f64_nearest};

/// The distribution function of P(k) ∝ e^(−|k|/scale).
///
/// With a = e^(−1/scale): F(k) = a^(−k)/(1+a) for k < 0 and 1 − a^(k+1)/(1+a) for k ≥ 0 (geometric sums).
/// a^m = a^(uB)·a^v for m = uB + v, from two tables of certified powers.
///
/// # Panics
/// If the scale is not positive, or above 10⁹.
pub fn discrete_laplace_cdf(scale: &Rational) -> impl Fn(i64) -> f64 + use<> {
    assert!(*scale > Rational::ZERO, "scale must be positive");
    assert!(
        *scale <= Rational::from(1_000_000_000u64),
        "a scale too large for the reference table"
    );
    // a^m < e^−45 < 3e-20 beyond 45 scales.
    let reach = u64::try_from((scale * Rational::from(45u8)).ceil()).expect("at most 45e9") + 1;
    let block = reach.isqrt() + 1;
    let powers = |step: u64, count: u64| -> Vec<f64> {
        let rate = -Rational::from(step) / scale;
        // Products of certified factors at 128 bits: after n of them off by n units, far below a float's
        // precision.
        let factor = Interval::exp_of(&rate, 160);
        let mut power = Interval::from_integer(1, 160);
        let mut table = Vec::with_capacity(count as usize);
        for _ in 0..count {
            table.push(to_f64_nearest(&power.lower()));
            power = power.mul(&factor);
        }
        table
    };
    let (fine, coarse) = (powers(1, block), powers(block, reach / block + 1));
    let total = 1.0 + to_f64_nearest(&Interval::exp_of(&(-Rational::ONE / scale), 128).lower());
    let tail = move |exponent: u64| -> f64 {
        if exponent >= reach {
            return 0.0;
        }
        coarse[(exponent / block) as usize] * fine[(exponent % block) as usize] / total
    };
    move |k| {
        if k < 0 {
            tail(k.unsigned_abs())
        } else {
            1.0 - tail(k.unsigned_abs() + 1)
        }
    }
}

/// The distribution function of P(k) ∝ e^(−k²/(2·variance)).
///
/// A table of certified sums while σ < 1024. Above, the midpoint rule with its first correction (Euler and
/// Maclaurin): with f(x) = φ(x/σ)/σ, Σ_{j≤k} f(j) = ∫_{−∞}^{k+½} f − f′(k+½)/24 + R, where |R| ≤
/// 7/5760·max|f‴| + 1/720·∫|f⁗| ≤ 0.01/σ⁴ < 1e-14, since max|φ‴| < 1.4 and ∫|He₄ φ| ≤ √4!. So F(k) = Φ(x) + x
/// φ(x)/(24σ²) + R at x = (k+½)/σ. The total of all f(j) is 1 + 2e^(−2π²σ²) + … (Poisson): 1 to any float.
///
/// # Panics
/// If the variance is not positive.
pub fn discrete_gaussian_cdf(variance: &Rational) -> impl Fn(i64) -> f64 + use<> {
    let distribution = Lattice::discrete_gaussian(variance).expect("variance must be positive");
    let sigma = Interval::sqrt_of(variance, 96).to_f64_nearest();
    let table = if sigma < 1024.0 {
        cumulative(&distribution)
    } else {
        (0, Vec::new())
    };
    move |k| {
        let (first, sums) = &table;
        if sums.is_empty() {
            let x = (k as f64 + 0.5) / sigma;
            let (density, cumulative) = normal(x);
            return cumulative + x * density / (24.0 * sigma * sigma);
        }
        if k < *first {
            0.0
        } else {
            sums[((k - first) as usize).min(sums.len() - 1)]
        }
    }
}

/// Running sums of a distribution over the window outside of which it has less than 2⁻⁵⁰, each the float
/// nearest to a certified sum.
fn cumulative(distribution: &Lattice) -> (i64, Vec<f64>) {
    let window = distribution.window(64).expect("a window of moderate width");
    let masses = distribution.masses(window.first, window.last, 96);
    let mut sum = Interval::from_integer(0, 96);
    let sums = masses.iter().map(|mass| {
        sum = sum.add(mass);
        sum.to_f64_nearest()
    });
    (window.first, sums.collect())
}

/// The distribution function of a normal variable with mean 0 and standard deviation σ, rounded to the
/// nearest integer: F(k) = Φ((k+½)/σ).
///
/// # Panics
/// If σ is not positive.
pub fn rounded_gaussian_cdf(sigma: &Rational) -> impl Fn(i64) -> f64 + use<> {
    assert!(*sigma > Rational::ZERO, "sigma must be positive");
    let sigma = to_f64_nearest(sigma);
    move |k| normal((k as f64 + 0.5) / sigma).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use exact::ratio;

    #[test]
    fn laplace_adds_up() {
        for scale in [ratio(1, 20), ratio(1, 2), ratio(3, 1), ratio(40, 1)] {
            let distribution = Lattice::discrete_laplace(&scale).unwrap();
            let cdf = discrete_laplace_cdf(&scale);
            let window = distribution.window(64).unwrap();
            let mut sum = 0.0;
            for k in window.first..=window.last {
                sum += distribution.mass(k, 96).to_f64_nearest();
                assert!((cdf(k) - sum).abs() < 1e-12, "{scale} {k}");
            }
            assert_eq!((cdf(i64::MIN), cdf(i64::MAX)), (0.0, 1.0));
        }
    }

    #[test]
    fn wide_laplace_by_the_formula() {
        let cdf = discrete_laplace_cdf(&ratio(1_000_000, 1));
        for k in [0i64, 1, 999, 12_345, 1_000_000, 7_654_321, 44_000_000] {
            let expected = 0.5 * (-(k as f64 + 0.5) / 1e6).exp();
            assert!((1.0 - cdf(k) - expected).abs() < 1e-12, "{k}");
            assert!((cdf(-k - 1) - expected).abs() < 1e-12, "{k}");
        }
    }

    #[test]
    fn gaussian_formula_and_table_agree() {
        // σ = 1100 is above the border: compare with a table made anyway.
        let variance = ratio(1_210_000, 1);
        let formula = discrete_gaussian_cdf(&variance);
        let (first, sums) = cumulative(&Lattice::discrete_gaussian(&variance).unwrap());
        for (index, sum) in sums.iter().enumerate().step_by(37) {
            assert!((formula(first + index as i64) - sum).abs() < 1e-13);
        }
        // A mutant without the correction would be noticed.
        let wrong = rounded_gaussian_cdf(&ratio(1100, 1));
        assert!((wrong(1100) - formula(1100)).abs() > 1e-9);
    }

    #[test]
    fn small_gaussians() {
        let cdf = discrete_gaussian_cdf(&ratio(1, 1));
        // Z = Σ e^(−k²/2) = 2.506628288042906 (mpmath), so P(0) = 0.3989422...
        assert!((cdf(0) - cdf(-1) - 1.0 / 2.506_628_288_042_906).abs() < 1e-13);
        assert!((cdf(0) + cdf(-1) - 1.0).abs() < 1e-13);
        assert_eq!((cdf(i64::MIN), cdf(1_000_000)), (0.0, 1.0));
        let narrow = discrete_gaussian_cdf(&ratio(1, 100));
        assert!(narrow(0) == 1.0 && narrow(-1) < 1e-20);
    }
}
