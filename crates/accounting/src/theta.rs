//! Sums of e^(−n²/2σ²) over the integers from m on, to any precision and for any width.

use crate::mills::mills;
use exact::{Integer, Interval, Natural, Rational, ratio};

/// n², as a rational.
pub(crate) fn square(value: &Integer) -> Rational {
    Rational::from(value * value)
}

/// U(m) = Σ_{n≥m} e^((m²−n²)/2σ²) for m ≥ 1.
pub(crate) fn sum_from(m: &Integer, sigma_squared: &Rational, bits: u32) -> Option<Interval> {
    // Term by term when there are few: the terms fall by e^(−m/σ²) at least, and to nothing within a few σ.
    if *sigma_squared < Rational::from(10_000u32) || Rational::from(m.clone()) >= *sigma_squared {
        return Some(sum_by_terms(m, sigma_squared, bits));
    }
    sum_by_euler_maclaurin(m, sigma_squared, bits)
}

/// Term by term. The ratio of terms j and j+1 is e^−x with x = (2m+2j+1)/2σ², and falls, so what follows a term is at most
/// that term times 1/(e^x − 1) ≤ 1/x.
fn sum_by_terms(m: &Integer, sigma_squared: &Rational, bits: u32) -> Interval {
    let work = bits + 32;
    let first_exponent = Rational::from(m * Integer::from(2) + Integer::ONE) / (sigma_squared * ratio(2, 1));
    let mut step = Interval::exp_of(&-first_exponent.clone(), work);
    let shrink = Interval::exp_of(&(-Rational::ONE / sigma_squared), work);
    let mut term = Interval::from_integer(1, work);
    let mut sum = term.clone();
    let mut exponent = first_exponent;
    let growth = Rational::ONE / sigma_squared;
    loop {
        term = term.mul(&step);
        sum = sum.add(&term);
        step = step.mul(&shrink);
        exponent += &growth;
        if *term.hi() <= Integer::ONE {
            let rest = (Rational::from(term.hi().clone()) / &exponent).ceil();
            return sum
                .add(&Interval::from_ends(Integer::ZERO, rest, work))
                .with_bits(bits);
        }
    }
}

/// For wide noise, by the Euler-Maclaurin formula for f(x) = e^((m²−x²)/2σ²):
///
/// U(m) = ∫_m^∞ f + f(m)/2 − Σ_{j=1}^{p} B_{2j}/(2j)!·f^(2j−1)(m) + rest, |rest| ≤ 2ζ(2p)·(2π)^(−2p)·∫_m^∞ |f^(2p)|.
///
/// The integral is σ·R(m/σ). f^(k)(m) = (−1)^k·H_k with H_k = σ^−k·He_k(m/σ), so H_{k+1} = (m·H_k − k·H_{k−1})/σ².
/// 2ζ(2p) < 3.3 and (2π)² > 36. Two bounds on the integral of |f^(2p)|:
/// - The roots of He_n are the eigenvalues of the matrix with √1, …, √(n−1) beside the diagonal, so at most 2√(n−1). If m/σ is above 2√(2p), that is, q = m²/2σ² ≥ 4p, the integral is H_{2p−1}.
/// - Cramér's inequality |He_n(y)| < 1.0865·√(n!)·e^(y²/4), with e^(y²/2)·∫_y^∞ e^(−u²/4) du ≤ √π·e^(y²/4) at y = m/σ, gives
///   1.0865·√π·σ·√((2p)!)·σ^(−2p)·e^(q/2) < 1.94·σ·√((2p)!)·σ^(−2p)·e^(q/2).
fn sum_by_euler_maclaurin(m: &Integer, sigma_squared: &Rational, bits: u32) -> Option<Interval> {
    let q = square(m) / (sigma_squared * ratio(2, 1));
    let work = bits + exact::floor_log2(sigma_squared).unsigned_abs() + 32;
    let sigma = Interval::sqrt_of(sigma_squared, work);
    let half = Interval::from_integer(1, work).scale_by_power_of_two(-1);
    let mut sum = sigma.mul(&mills(&(&q * ratio(2, 1)), work)).add(&half);
    // Far out, where this would be enormous, the other bound is in use.
    let cramer = (q <= Rational::from(4096u16))
        .then(|| Interval::exp_of(&(&q * ratio(1, 2)), 64).upper() * sigma.upper() * ratio(194, 100));
    let inverse = Interval::from_rational(&(Rational::ONE / sigma_squared), work);
    let slope = Interval::from_rational(&(Rational::from(m.clone()) / sigma_squared), work);
    let mut hermite = (Interval::from_integer(1, work), slope.clone());
    let mut bernoulli = Bernoulli::default();
    let mut factorial = Natural::ONE;
    let mut inverse_power = ratio(33, 10);
    let mut variance_power = Rational::ONE;
    for p in 1u32.. {
        factorial *= Natural::from(u64::from(2 * p - 1) * u64::from(2 * p));
        inverse_power *= ratio(1, 36);
        variance_power *= sigma_squared;
        let coefficient = bernoulli.even(p as usize) / Rational::from(factorial.clone());
        sum = sum.add(&Interval::from_rational(&coefficient, work).mul(&hermite.1));
        let integral = if q >= Rational::from(4 * p) {
            hermite.1.upper()
        } else {
            // None: more precision than is left out here was asked for.
            let root = Interval::sqrt_of(&Rational::from(factorial.clone()), 4).upper();
            cramer.as_ref()? * root / &variance_power
        };
        let rest = (&inverse_power * integral * exact::power_of_two(work as i32)).ceil();
        if rest <= Integer::ONE {
            return Some(
                sum.add(&Interval::from_ends(-rest.clone(), rest, work))
                    .with_bits(bits),
            );
        }
        if Rational::from(p) > *sigma_squared {
            // From here on (2p)! grows faster than (36σ²)^p, and more terms help no more.
            return None;
        }
        for k in [2 * p - 1, 2 * p] {
            let next = slope
                .mul(&hermite.1)
                .sub(&inverse.mul(&hermite.0.scale(&Integer::from(k))));
            hermite = (hermite.1, next);
        }
    }
    None
}

/// The Bernoulli numbers B_2, B_4, …, by Σ_{i≤n} C(n+1, i)·B_i = 0.
#[derive(Default)]
struct Bernoulli(Vec<Rational>);

impl Bernoulli {
    /// B_{2j} for j ≥ 1; asked for in order.
    fn even(&mut self, j: usize) -> Rational {
        while self.0.len() < j {
            let n = 2 * (self.0.len() as u64 + 1);
            // C(n+1, 0)·B_0 + C(n+1, 1)·B_1 = 1 − (n+1)/2; odd ones beyond vanish; C(n+1, n) = n + 1.
            let mut sum = Rational::ONE - Rational::from(n + 1) * ratio(1, 2);
            let mut binomial = Natural::from(n + 1);
            for (index, value) in self.0.iter().enumerate() {
                let i = 2 * (index as u64 + 1);
                binomial = binomial * Natural::from(n + 2 - i) / Natural::from(i);
                sum += Rational::from(binomial.clone()) * value;
                binomial = binomial * Natural::from(n + 1 - i) / Natural::from(i + 1);
            }
            self.0.push(-sum / Rational::from(n + 1));
        }
        self.0[j - 1].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bernoulli_numbers() {
        let mut numbers = Bernoulli::default();
        let expected = [
            ratio(1, 6),
            ratio(-1, 30),
            ratio(1, 42),
            ratio(-1, 30),
            ratio(5, 66),
            ratio(-691, 2730),
        ];
        for (index, value) in expected.into_iter().enumerate() {
            assert_eq!(numbers.even(index + 1), value);
        }
    }

    /// Two derivations of one number: near the middle, in the tail (Cramér's bound), and far out (the other bound).
    #[test]
    fn both_ways_to_the_sum_agree() {
        for (m, variance) in [
            (1, 100),
            (7, 100),
            (60, 400),
            (500, 400),
            (2500, 10_000),
            (9000, 10_000),
        ] {
            let (m, variance) = (Integer::from(m), Rational::from(variance));
            let terms = sum_by_terms(&m, &variance, 120);
            let formula = sum_by_euler_maclaurin(&m, &variance, 120).unwrap();
            assert!(
                terms.lower() <= formula.upper() && formula.lower() <= terms.upper(),
                "{m} {variance}"
            );
            assert!(crate::mills::is_precise(&terms, 100) && crate::mills::is_precise(&formula, 100));
        }
    }
}
