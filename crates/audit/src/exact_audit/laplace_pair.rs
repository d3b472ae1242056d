//! Two discrete Laplace distributions on one grid, in closed form: no sum, so no limit on how wide they are.
//!
//! With distance d ≥ 0 between the centres (reflect if it is negative: P is symmetric about its centre), p(k) =
//! c_s e^(−|k|/s) and q(k) = c_t e^(−|k−d|/t). Between the kinks at 0 and d both are a constant times
//! e^(slope·k), so p > e^ε q on one side of a single crossing, and the sum over that side is a geometric
//! series.

use super::real::{from_zero, positive_part, times};
use super::shape::laplace_coefficient;
use super::{Direction, Gap, Supremum};
use crate::Error;
use exact::{Integer, Interval, Rational};

pub(super) struct LaplacePair {
    distance: Integer,
    p_scale: Rational,
    q_scale: Rational,
}

/// `coefficient · e^(slope·k + intercept)`.
struct Curve {
    coefficient: Interval,
    slope: Rational,
    intercept: Rational,
}

impl Curve {
    /// The sum over first..=last, where a missing end is infinite and the curve falls towards it.
    ///
    /// Downhill from k₀, n terms of e^(α k + β) with α < 0 add up to e^(α k₀ + β)·(1 − e^(αn))/(1 − e^α);
    /// uphill is the same read from the other end.
    fn sum(&self, first: Option<&Integer>, last: Option<&Integer>, bits: u32) -> Result<Interval, Error> {
        let count = first.zip(last).map(|(first, last)| last - first + Integer::ONE);
        if count.as_ref().is_some_and(|count| *count <= Integer::ZERO) {
            return Ok(Interval::from_integer(0, bits));
        }
        let one = Interval::from_integer(1, bits);
        if self.slope.is_zero() {
            let count = count.expect("a flat curve is only met between the kinks");
            return Ok(Interval::exp_of(&self.intercept, bits)
                .mul(&self.coefficient)
                .scale(&count));
        }
        let (top, step) = if self.slope < Rational::ZERO {
            (first, self.slope.clone())
        } else {
            (last, -self.slope.clone())
        };
        let top = Rational::from(top.expect("falls towards the infinite end").clone());
        let lead = Interval::exp_of(&(&self.slope * top + &self.intercept), bits);
        let whole = match count {
            None => lead,
            Some(count) => lead.mul(&one.sub(&Interval::exp_of(&(&step * Rational::from(count)), bits))),
        };
        let rest = one.sub(&Interval::exp_of(&step, bits));
        whole
            .mul(&self.coefficient)
            .div(&rest)
            .ok_or(Error::Undecided { bits })
    }
}

impl LaplacePair {
    pub(super) fn new(distance: Integer, p_scale: Rational, q_scale: Rational) -> Self {
        let distance = if distance < Integer::ZERO {
            -distance
        } else {
            distance
        };
        Self {
            distance,
            p_scale,
            q_scale,
        }
    }

    /// Σ max(p − q, 0) over one cell.
    fn cell(
        p: &Curve,
        q: &Curve,
        first: Option<Integer>,
        last: Option<Integer>,
        bits: u32,
    ) -> Result<Interval, Error> {
        let difference = |first: Option<&Integer>, last: Option<&Integer>| -> Result<Interval, Error> {
            Ok(positive_part(
                &p.sum(first, last, bits)?.sub(&q.sum(first, last, bits)?),
            ))
        };
        let incline = &p.slope - &q.slope;
        if incline.is_zero() {
            // One sign throughout, so the positive part of the sum is the sum of positive parts.
            return difference(first.as_ref(), last.as_ref());
        }
        // p > q ⇔ incline·k > ln(c_q/c_p) + intercept_q − intercept_p.
        let quotient = q
            .coefficient
            .div(&p.coefficient)
            .and_then(|quotient| quotient.ln());
        let level = quotient
            .ok_or(Error::Undecided { bits })?
            .add(&Interval::from_rational(&(&q.intercept - &p.intercept), bits));
        let crossing = times(&level, &(Rational::ONE / &incline));
        let (below, above) = (crossing.lower().floor(), crossing.upper().ceil());
        // Beyond the crossing for certain, and the one or two integers that may be on it: there the term is
        // between 0 and p.
        let (from, to, doubt_from, doubt_to) = if incline > Rational::ZERO {
            let from = first.clone().map_or(above.clone(), |first| first.max(above));
            let doubt = first.map_or(below.clone(), |first| first.max(below));
            let doubt_to = bounded_above(&(&from - Integer::ONE), last.as_ref());
            (Some(from), last, doubt, doubt_to)
        } else {
            let to = bounded_above(&below, last.as_ref());
            let doubt = (&to + Integer::ONE).max(first.clone().unwrap_or(&to + Integer::ONE));
            let doubt_to = bounded_above(&above, last.as_ref());
            (first, Some(to), doubt, doubt_to)
        };
        let certain = difference(from.as_ref(), to.as_ref())?;
        let mut doubtful = Interval::from_integer(0, bits);
        let span = &doubt_to - &doubt_from;
        if span < Integer::from(8) {
            let mut k = doubt_from;
            while k <= doubt_to {
                doubtful = doubtful.add(&difference(Some(&k), Some(&k))?);
                k += Integer::ONE;
            }
        } else {
            doubtful = from_zero(&p.sum(Some(&doubt_from), Some(&doubt_to), bits)?);
        }
        Ok(certain.add(&doubtful))
    }
}

fn bounded_above(value: &Integer, bound: Option<&Integer>) -> Integer {
    bound.map_or(value.clone(), |bound| bound.min(value).clone())
}

impl Direction for LaplacePair {
    fn delta(&self, epsilon: &Rational, bits: u32) -> Result<Interval, Error> {
        // The largest loss of equal scales is d/s, exactly (see `supremum`): at or above it nothing exceeds.
        if self.p_scale == self.q_scale && Rational::from(self.distance.clone()) <= epsilon * &self.q_scale {
            return Ok(Interval::from_integer(0, bits));
        }
        // A wide distribution has small masses: keep their bits.
        let widest = (&self.p_scale).max(&self.q_scale);
        let work = bits + 32 + 4 * exact::floor_log2(&(widest + Rational::ONE)).unsigned_abs();
        let (one, zero) = (Rational::ONE, Rational::ZERO);
        let (s, t) = (&one / &self.p_scale, &one / &self.q_scale);
        let far = Rational::from(self.distance.clone()) * &t;
        let p_coefficient = laplace_coefficient(&self.p_scale, work);
        let q_coefficient = laplace_coefficient(&self.q_scale, work);
        // e^ε is part of q's exponent, so it costs no precision.
        let p = |slope: &Rational| Curve {
            coefficient: p_coefficient.clone(),
            slope: slope.clone(),
            intercept: zero.clone(),
        };
        let q = |slope: Rational, intercept: Rational| Curve {
            coefficient: q_coefficient.clone(),
            slope,
            intercept: intercept + epsilon,
        };
        let falling = -s.clone();
        let left = Self::cell(
            &p(&s),
            &q(t.clone(), -far.clone()),
            None,
            Some(Integer::ZERO),
            work,
        )?;
        let middle = Self::cell(
            &p(&falling),
            &q(t.clone(), -far.clone()),
            Some(Integer::ONE),
            Some(self.distance.clone()),
            work,
        )?;
        let right = Self::cell(
            &p(&falling),
            &q(-t, far),
            Some(&self.distance + Integer::ONE),
            None,
            work,
        )?;
        Ok(left.add(&middle).add(&right).with_bits(bits))
    }

    fn gap(&self, _: u32) -> Result<Gap, Error> {
        Ok(Gap::Exact(Rational::ZERO))
    }

    /// ln(p/q)(k) = −|k|/s + |k−d|/t + ln(c_s/c_t). For s ≤ t the slope is ≥ 0 left of 0 and ≤ 0 right of it
    /// (between 0 and d it is −1/s − 1/t), so the largest value is at 0: d/t + ln(c_s/c_t). For s > t it
    /// grows without bound.
    fn supremum(&self, bits: u32) -> Result<Supremum, Error> {
        if self.p_scale > self.q_scale {
            return Ok(Supremum::Unbounded);
        }
        let loss = Rational::from(self.distance.clone()) / &self.q_scale;
        let loss = Interval::from_rational(&loss, bits);
        if self.p_scale == self.q_scale {
            return Ok(Supremum::Bounded(loss));
        }
        let work = bits + 32;
        let quotient =
            laplace_coefficient(&self.p_scale, work).div(&laplace_coefficient(&self.q_scale, work));
        let constant = quotient
            .and_then(|quotient| quotient.ln())
            .ok_or(Error::Undecided { bits })?;
        Ok(Supremum::Bounded(loss.add(&constant.with_bits(bits))))
    }
}
