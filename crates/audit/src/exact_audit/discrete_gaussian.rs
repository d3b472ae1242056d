//! Two integer Gaussian distributions of one variance on one grid, by their tails: few terms, however wide
//! they are.
//!
//! With distance d > 0 between the centres (reflect if it is negative), p(k) = e^(−k²/2v)/Z and q(k) = p(k −
//! d). The privacy loss ln(p/q)(k) = (d² − 2kd)/2v falls in k, and exceeds ε exactly for k < d/2 − vε/d: for
//! k ≤ m, an integer known exactly. So with the tail T(m) = P(K ≤ m),
//!
//! ```text
//! δ(ε) = T(m) − e^ε T(m − d).
//! ```
//!
//! A tail that ends at k ≤ 0 is T(k) = e^(−k²/2v)·S(k)/Z, where S(k) = Σ_{j≥0} e^(−(j² + 2|k|j)/2v) begins
//! with 1. In this form e^ε is added to an exponent, which stays below zero since the loss at m is above ε;
//! so it costs no precision.

use super::mills::mills;
use super::real::{below_precision, from_zero, positive_part};
use super::shape::gaussian_normalizer;
use super::{Direction, Gap, Supremum};
use crate::Error;
use exact::{Integer, Interval, Rational, ratio};
use std::cell::RefCell;

/// So few terms are summed one by one.
const FEW: u32 = 1024;
/// No more terms than this are summed one by one.
const MOST_TERMS: u32 = 1 << 18;
/// How many corrections Euler and Maclaurin may have.
const MOST_CORRECTIONS: u32 = 256;

pub(super) struct DiscreteGaussianPair {
    distance: Integer,
    variance: Rational,
    bernoulli: RefCell<Bernoulli>,
}

impl DiscreteGaussianPair {
    pub(super) fn new(distance: Integer, variance: Rational) -> Self {
        let distance = if distance < Integer::ZERO {
            -distance
        } else {
            distance
        };
        Self {
            distance,
            variance,
            bernoulli: RefCell::new(Bernoulli::new(0)),
        }
    }

    /// S(k) for k = −from.
    fn series(&self, from: &Rational, work: u32) -> Result<Interval, Error> {
        // The term j is below 2^-work where j² + 2|k|j ≥ 1.4·v·work.
        let square = from * from + &self.variance * Rational::from(work) * ratio(7, 5);
        let count = Interval::sqrt_of(&square, 8).upper() - from;
        if count > Rational::from(FEW)
            && let Some(sum) = self.corrected_integral(from, work)
        {
            return Ok(sum);
        }
        if count > Rational::from(MOST_TERMS) {
            return Err(Error::TooWide);
        }
        self.term_by_term(from, work)
    }

    /// t₀ = 1, t_{j+1} = t_j·r_j and r_{j+1} = r_j·e^(−1/v). From any j on, ratios are at most r_j, so what
    /// is left out is at most t_j/(1 − r_j).
    fn term_by_term(&self, from: &Rational, work: u32) -> Result<Interval, Error> {
        let twice = Rational::from(2u8) * &self.variance;
        let one = Interval::from_integer(1, work);
        let mut factor = Interval::exp_of(&(-(from + from + Rational::ONE) / &twice), work);
        let shrink = Interval::exp_of(&(-Rational::ONE / &self.variance), work);
        let (mut term, mut sum) = (one.clone(), Interval::from_integer(0, work));
        // Round-off is a unit a factor, so that a term stops falling at a few units.
        let small = Integer::from(16);
        for _ in 0..=2 * MOST_TERMS {
            if *term.hi() <= small {
                let rest = term.div(&one.sub(&factor)).ok_or(Error::TooWide)?;
                return Ok(sum.add(&from_zero(&rest)));
            }
            sum = sum.add(&term);
            term = term.mul(&factor);
            factor = factor.mul(&shrink);
        }
        Err(Error::TooWide)
    }

    /// Euler and Maclaurin: with f(t) = e^(−t²/2v), k = −x·σ and c_j = B_{2j}/(2j)!,
    ///
    /// ```text
    /// Σ_{i≤k} f(i) = ∫_{−∞}^k f + f(k)/2 + Σ_{j=1..p} c_j f^(2j−1)(k) + R,   |R| ≤ 2ζ(2p)/(2π)^2p · ∫_{−∞}^k |f^(2p)|.
    /// ```
    ///
    /// Divided by f(k): the integral is σ·M(x). f^(n)/f = (−1)ⁿ He_n(t/σ)/σⁿ, which for odd n at k is h_n =
    /// He_n(x)/σⁿ, and He_{n+1} = x·He_n − n·He_{n−1} makes h_{n+1} = (|k|/v)·h_n − (n/v)·h_{n−1}.
    ///
    /// For R, with n = 2p: |He_n(u)| ≤ H⁺_n(u) = E[(u+Z)ⁿ], the same polynomial with all signs plus (Z is
    /// standard normal), and e^(−((x+s)²−x²)/2) ≤ e^(−s²/2) for s ≥ 0, so that ∫_{−∞}^k |f^(n)| / f(k) ≤
    /// σ^(1−n) ∫_0^∞ H⁺_n(x+s) e^(−s²/2) ds ≤ σ·√(2π)·g_n with g_n = E[(x+√2·Z)ⁿ]/σⁿ, where g_{n+1} =
    /// (|k|/v)·g_n + (2n/v)·g_{n−1} (Stein). With 2ζ(2p) < 4, (2π)² > 39 and 4·√(2π) < 11, R is at most
    /// 11·σ·g_2p/39^p.
    ///
    /// `None` if this many corrections do not make R small: the distribution is narrow.
    fn corrected_integral(&self, from: &Rational, work: u32) -> Option<Interval> {
        let sigma = Interval::sqrt_of(&self.variance, work);
        let x = Interval::sqrt_of(&(from * from / &self.variance), work);
        let half = Interval::from_integer(1, work).scale_by_power_of_two(-1);
        let mut sum = sigma.mul(&mills(&x)).add(&half);

        let incline = Interval::from_rational(&(from / &self.variance), work);
        let curvature = Interval::from_rational(&(Rational::ONE / &self.variance), work);
        let one = Interval::from_integer(1, work);
        // h_{n−1} and h_n; g_{n−1} and g_n; for n = 1.
        let (mut h, mut g) = ((one.clone(), incline.clone()), (one, incline.clone()));
        let bound_of_rest = sigma.scale(&Integer::from(11));
        let mut power = Integer::from(1);
        let mut bernoulli = self.bernoulli.borrow_mut();
        if bernoulli.bits != work {
            *bernoulli = Bernoulli::new(work);
        }
        for j in 1..=MOST_CORRECTIONS {
            // Here n = 2j − 1.
            sum = sum.add(&bernoulli.at(j).mul(&h.1));
            power *= Integer::from(39);
            for n in [2 * j - 1, 2 * j] {
                let (n, twice) = (Integer::from(n), Integer::from(2 * n));
                let next = incline.mul(&h.1).sub(&curvature.mul(&h.0).scale(&n));
                h = (h.1, next);
                let next = incline.mul(&g.1).add(&curvature.mul(&g.0).scale(&twice));
                g = (g.1, next);
            }
            // Here g is (g_2j, g_{2j+1}).
            let rest = bound_of_rest.mul(&g.0).div_integer(&power);
            if *rest.hi() <= Integer::from(256) {
                return Some(sum.add(&rest.hull(&rest.neg())));
            }
        }
        None
    }
}

/// c_j = B_{2j}/(2j)!, as many as were asked for.
struct Bernoulli {
    bits: u32,
    /// 4^j·c_j.
    scaled: Vec<Interval>,
    /// 1/(2j+1)!.
    odd_factorials: Vec<Interval>,
}

impl Bernoulli {
    fn new(bits: u32) -> Self {
        let one = Interval::from_integer(1, bits);
        Self {
            bits,
            scaled: vec![one.clone()],
            odd_factorials: vec![one],
        }
    }

    /// Σ c_j y^2j = (y/2)·coth(y/2), so with y = 2s and C_j = 4^j c_j: (sinh s / s)·Σ C_j s^2j = cosh s.
    /// Coefficient by coefficient, Σ_{i≤j} C_i/(2(j−i)+1)! = 1/(2j)!.
    fn at(&mut self, j: u32) -> Interval {
        while self.scaled.len() <= j as usize {
            let next = self.scaled.len();
            let before = &self.odd_factorials[next - 1];
            let even = before.div_integer(&Integer::from(2 * next));
            self.odd_factorials
                .push(even.div_integer(&Integer::from(2 * next + 1)));
            let known = self.scaled.iter().zip(self.odd_factorials[1..].iter().rev());
            let value = known.fold(even, |value, (scaled, factorial)| {
                value.sub(&scaled.mul(factorial))
            });
            self.scaled.push(value);
        }
        self.scaled[j as usize].scale_by_power_of_two(-2 * j as i32)
    }
}

impl Direction for DiscreteGaussianPair {
    fn delta(&self, epsilon: &Rational, bits: u32) -> Result<Interval, Error> {
        if self.distance == Integer::ZERO {
            return Ok(Interval::from_integer(0, bits));
        }
        let distance = Rational::from(self.distance.clone());
        let twice = Rational::from(2u8) * &self.variance;
        let edge = &distance / Rational::from(2u8) - &self.variance * epsilon / &distance;
        let last = Rational::from(edge.ceil() - Integer::ONE);
        if last < Rational::ZERO && below_precision(&(&last * &last / &twice), bits) {
            // δ ≤ T(m), and as S(m) ≤ S(0) ≤ Z, that is at most e^(−m²/2v).
            return Ok(Interval::from_ends(Integer::ZERO, Integer::ONE, bits));
        }
        // S and Z have the size of σ.
        let size = exact::floor_log2(&(&self.variance + Rational::ONE)).unsigned_abs();
        let work = bits + 64 + size;
        let share = Interval::from_integer(1, work)
            .div(&gaussian_normalizer(&self.variance, work))
            .expect("Z ≥ 1");
        // e^raised·T(−from).
        let tail = |from: &Rational, raised: &Rational| -> Result<Interval, Error> {
            let lead = Interval::exp_of(&(raised - from * from / &twice), work);
            Ok(lead.mul(&self.series(from, work)?).mul(&share))
        };
        let zero = Rational::ZERO;
        let ours = if last <= zero {
            tail(&-&last, &zero)?
        } else {
            Interval::from_integer(1, work).sub(&tail(&(&last + Rational::ONE), &zero)?)
        };
        // m < d/2, so that m − d is below zero.
        let theirs = tail(&(distance - last), epsilon)?;
        Ok(positive_part(&ours.sub(&theirs)).with_bits(bits))
    }

    fn gap(&self, _: u32) -> Result<Gap, Error> {
        Ok(Gap::Exact(Rational::ZERO))
    }

    /// The loss is linear in k, with a slope that is not zero when the centres differ.
    fn supremum(&self, bits: u32) -> Result<Supremum, Error> {
        Ok(if self.distance == Integer::ZERO {
            Supremum::Bounded(Interval::from_integer(0, bits))
        } else {
            Supremum::Unbounded
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact_audit::{Distribution, Lattice, smallest_delta_at};

    fn overlap(a: &Interval, b: &Interval) -> bool {
        a.lower() <= b.upper() && b.lower() <= a.upper()
    }

    fn width(interval: &Interval) -> Rational {
        interval.upper() - interval.lower()
    }

    #[test]
    fn bernoulli_numbers() {
        let mut bernoulli = Bernoulli::new(200);
        // B₂ = 1/6, B₄ = −1/30, B₆ = 1/42, B₈ = −1/30, over 2!, 4!, 6!, 8!.
        for (j, numerator, denominator) in [(4, -1, 30 * 40_320), (1, 1, 12), (2, -1, 720), (3, 1, 42 * 720)]
        {
            let value = bernoulli.at(j);
            assert!(value.contains(&ratio(numerator, denominator)), "{j}");
            assert!(width(&value) < exact::power_of_two(-190));
        }
        // c_j = ±2ζ(2j)/(2π)^2j, near 2/(2π)^80 for j = 40.
        let expected = ratio(2, 1) / ratio(6_283_185, 1_000_000).pow(80);
        let far = Bernoulli::new(400).at(40);
        assert!(far.upper() < Rational::ZERO);
        let quotient = -far.lower() / expected;
        assert!(quotient > ratio(9999, 10_000) && quotient < ratio(10_001, 10_000));
    }

    /// The two ways to the sum are different code: they must agree, at every width where both can go, and
    /// both must be narrow.
    #[test]
    fn the_corrected_integral_agrees_with_the_sum() {
        for (sigma, digits) in [(40, 1), (200, 1), (3001, 7)] {
            let sigma = ratio(sigma, digits);
            let pair = DiscreteGaussianPair::new(Integer::ONE, &sigma * &sigma);
            for deviations in [0, 1, 5, 20] {
                let from = Rational::from((&sigma * ratio(deviations, 1)).floor());
                for work in [160, 320] {
                    let sum = pair.term_by_term(&from, work).expect("few terms");
                    let integral = pair.corrected_integral(&from, work).expect("wide enough");
                    assert!(overlap(&sum, &integral), "σ = {sigma}, {deviations}, {work}");
                    for value in [sum, integral] {
                        // Thousands of terms, each off by as many units as there were factors: the cube of
                        // their number.
                        let most = exact::power_of_two(48 - work as i32);
                        assert!(width(&value) < most, "σ = {sigma}, {deviations}, {work}");
                    }
                }
            }
        }
    }

    /// One correction left out is noticed: the bound on the rest is not slack that hides everything.
    #[test]
    fn a_planted_error_is_noticed() {
        let sigma = ratio(200, 1);
        let pair = DiscreteGaussianPair::new(Integer::ONE, &sigma * &sigma);
        let from = ratio(300, 1);
        let integral = pair.corrected_integral(&from, 200).expect("wide enough");
        let sum = pair.term_by_term(&from, 200).expect("few terms");
        let second = ratio(1, 720) * (ratio(27, 8) - ratio(9, 2)) / (&sigma * &sigma * &sigma);
        let wrong = integral.add(&Interval::from_rational(&second, 200));
        assert!(overlap(&sum, &integral) && !overlap(&sum, &wrong));
    }

    /// Against the sum of the definition over a window, by the rule for any lattice distribution.
    #[test]
    fn tails_agree_with_the_definition() {
        for (sigma, distance) in [(ratio(1, 3), 1), (ratio(5, 2), 3), (ratio(40, 1), 70)] {
            let distribution = Lattice::discrete_gaussian(&(&sigma * &sigma)).expect("positive");
            let (inner, outer) = (distribution.clone(), distribution.clone());
            let custom = Lattice::custom(
                move |k, bits| inner.mass(k, bits),
                move |bits| outer.window(bits).expect("narrow"),
            );
            let shift = ratio(distance, 1);
            for epsilon in [ratio(0, 1), ratio(1, 50), ratio(7, 2)] {
                let tails = smallest_delta_at(
                    &Distribution::from(distribution.clone()),
                    &Distribution::from(distribution.clone().shifted(&shift)),
                    &epsilon,
                    96,
                );
                let terms = smallest_delta_at(
                    &Distribution::from(custom.clone()),
                    &Distribution::from(custom.clone().shifted(&shift)),
                    &epsilon,
                    96,
                );
                let (tails, terms) = (tails.expect("tails"), terms.expect("terms"));
                assert!(overlap(&tails, &terms), "σ = {sigma}, ε = {epsilon}");
                assert!(
                    width(&tails) <= exact::power_of_two(-94),
                    "σ = {sigma}, ε = {epsilon}"
                );
            }
        }
    }
}
