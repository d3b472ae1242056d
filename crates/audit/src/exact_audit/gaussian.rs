//! Two normal distributions, by Φ.

use super::mills::{mills, root_of_two_pi};
use super::real::{below_precision, magnification, positive_part, times};
use super::{Direction, Gap, Supremum};
use crate::Error;
use exact::{Integer, Interval, Rational};

/// The normal distribution with rational mean and variance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gaussian {
    mean: Rational,
    variance: Rational,
}

impl Gaussian {
    /// N(mean, variance).
    pub fn new(mean: &Rational, variance: &Rational) -> Result<Self, Error> {
        if *variance <= Rational::ZERO {
            return Err(Error::NotPositive {
                parameter: "variance",
            });
        }
        Ok(Self {
            mean: mean.clone(),
            variance: variance.clone(),
        })
    }
}

pub(super) struct GaussianPair<'a> {
    p: &'a Gaussian,
    q: &'a Gaussian,
}

impl<'a> GaussianPair<'a> {
    pub(super) fn new(p: &'a Gaussian, q: &'a Gaussian) -> Self {
        Self { p, q }
    }

    /// Equal variances, distance D > 0, μ = D/σ. By symmetry let P be above Q: the privacy loss of y drawn
    /// from P is N(μ²/2, μ²), and from Q it is N(−μ²/2, μ²). S = {loss > ε}, so δ = P(S) − e^ε Q(S) = Φ(a) −
    /// e^ε Φ(−b) with a = μ/2 − ε/μ, b = μ/2 + ε/μ (Balle and Wang 2018).
    ///
    /// As b² − a² = 2ε, e^ε φ(b) = φ(a): with M = (1 − Φ)/φ, δ = Φ(a) − φ(a)·M(b), and Φ(a) = φ(a)·M(−a). No
    /// e^ε is left in it that would magnify round-off.
    fn equal_variances(&self, distance: &Rational, epsilon: &Rational, bits: u32) -> Interval {
        let square = distance * distance / &self.p.variance;
        let above = &square / Rational::from(2u8) - epsilon;
        let half_a_square = &above * &above / (Rational::from(2u8) * &square);
        let positive = above >= Rational::ZERO;
        if !positive && below_precision(&half_a_square, bits) {
            // δ ≤ Φ(a) ≤ e^(−a²/2).
            return Interval::from_ends(Integer::ZERO, Integer::ONE, bits);
        }
        let work = bits + 64;
        let half_mu = Interval::sqrt_of(&square, work).scale_by_power_of_two(-1);
        let reach = Interval::sqrt_of(&(epsilon * epsilon / &square), work);
        let (a, b) = (half_mu.sub(&reach), half_mu.add(&reach));
        let density = Interval::exp_of(&-half_a_square, work)
            .div(&root_of_two_pi(work))
            .expect("√(2π) > 0");
        let first = if positive {
            a.normal_cdf()
        } else {
            density.mul(&mills(&a.neg()))
        };
        positive_part(&first.sub(&density.mul(&mills(&b))))
    }

    /// Variances v of P and w of Q, y measured from P's mean, D = mean of Q − mean of P: ln(p/q)(y) = A y² +
    /// B y + C with A = 1/2w − 1/2v, B = −D/w, C = D²/2w + ½ ln(w/v). S = {A y² + B y + C − ε > 0} lies
    /// between the roots when A < 0 and outside of them when A > 0. Without two roots δ = 0: S is empty, or A >
    /// 0 and p > e^ε q everywhere, which no two densities do.
    fn unequal_variances(&self, distance: &Rational, epsilon: &Rational, work: u32) -> Interval {
        let (v, w) = (&self.p.variance, &self.q.variance);
        let (one, two) = (Rational::ONE, Rational::from(2u8));
        let a = (&one / w - &one / v) / &two;
        let b = -(distance / w);
        let rational = distance * distance / (&two * w) - epsilon;
        let c = Interval::from_rational(&rational, work)
            .add(&Interval::ln_of(&(w / v), work).scale_by_power_of_two(-1));
        let discriminant =
            Interval::from_rational(&(&b * &b), work).sub(&times(&c, &(Rational::from(4u8) * &a)));
        let zero = Interval::from_integer(0, work);
        if *discriminant.hi() < Integer::ZERO {
            return zero;
        }
        let root = discriminant.sqrt();
        let middle = Interval::from_rational(&-b, work);
        let widen = one / (&two * &a);
        let (first, second) = (
            times(&middle.sub(&root), &widen),
            times(&middle.add(&root), &widen),
        );
        let (low, high) = if a > Rational::ZERO {
            (first, second)
        } else {
            (second, first)
        };
        let within = |mean: &Rational, variance: &Rational| {
            let sigma = Interval::sqrt_of(variance, work);
            let standard = |end: &Interval| {
                end.sub(&Interval::from_rational(mean, work))
                    .div(&sigma)
                    .expect("work bits reach below sigma")
                    .normal_cdf()
            };
            standard(&high).sub(&standard(&low))
        };
        let (mut p, mut q) = (within(&Rational::ZERO, v), within(distance, w));
        if a > Rational::ZERO {
            let whole = Interval::from_integer(1, work);
            (p, q) = (whole.sub(&p), whole.sub(&q));
        }
        let value = positive_part(&p.sub(&Interval::exp_of(epsilon, work).mul(&q)));
        // Not certain that there are two roots: then it may also be zero.
        if *discriminant.lo() <= Integer::ZERO {
            value.hull(&zero)
        } else {
            value
        }
    }
}

impl Direction for GaussianPair<'_> {
    fn delta(&self, epsilon: &Rational, bits: u32) -> Result<Interval, Error> {
        let distance = &self.q.mean - &self.p.mean;
        if self.p == self.q {
            return Ok(Interval::from_integer(0, bits));
        }
        if self.p.variance == self.q.variance {
            return Ok(self.equal_variances(&distance, epsilon, bits).with_bits(bits));
        }
        // A small σ or a small difference of variances magnifies round-off by as many bits as it lacks.
        let size = |value: &Rational| {
            if value.is_zero() {
                0
            } else {
                exact::floor_log2(value).unsigned_abs()
            }
        };
        let spread = {
            let difference = &self.p.variance - &self.q.variance;
            size(&(&difference * &difference)) + 2 * size(&self.p.variance) + 2 * size(&self.q.variance)
        };
        let work = bits + magnification(epsilon) + spread;
        let value = self.unequal_variances(&distance, epsilon, work);
        Ok(value.with_bits(bits))
    }

    fn gap(&self, _: u32) -> Result<Gap, Error> {
        Ok(Gap::Exact(Rational::ZERO))
    }

    fn supremum(&self, bits: u32) -> Result<Supremum, Error> {
        Ok(if self.p == self.q {
            Supremum::Bounded(Interval::from_integer(0, bits))
        } else if self.p.variance >= self.q.variance {
            Supremum::Unbounded
        } else {
            Supremum::Unknown
        })
    }
}
