//! Two normal distributions, by Φ.

use super::real::{magnification, positive_part, times};
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

    /// Equal variances, distance D > 0, μ = D/σ. By symmetry let P be above Q: the privacy loss of y drawn from P is
    /// N(μ²/2, μ²), and from Q it is N(−μ²/2, μ²). S = {loss > ε}, so
    /// δ = P(S) − e^ε Q(S) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)   (Balle and Wang 2018, Theorem 8).
    fn equal_variances(&self, distance: &Rational, epsilon: &Rational, work: u32) -> Interval {
        let square = distance * distance / &self.p.variance;
        let half_mu = Interval::sqrt_of(&square, work).scale_by_power_of_two(-1);
        let reach = Interval::sqrt_of(&(epsilon * epsilon / &square), work);
        let above = half_mu.sub(&reach).normal_cdf();
        let below = half_mu.add(&reach).neg().normal_cdf();
        positive_part(&above.sub(&Interval::exp_of(epsilon, work).mul(&below)))
    }

    /// Variances v of P and w of Q, y measured from P's mean, D = mean of Q − mean of P:
    /// ln(p/q)(y) = A y² + B y + C with A = 1/2w − 1/2v, B = −D/w, C = D²/2w + ½ ln(w/v).
    /// S = {A y² + B y + C − ε > 0} lies between the roots when A < 0 and outside of them when A > 0. Without two
    /// roots δ = 0: S is empty, or A > 0 and p > e^ε q everywhere, which no two densities do.
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
        let distance = &self.q.mean - &self.p.mean;
        let value = if self.p.variance != self.q.variance {
            self.unequal_variances(&distance, epsilon, work)
        } else if distance.is_zero() {
            Interval::from_integer(0, work)
        } else {
            self.equal_variances(&distance, epsilon, work)
        };
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
