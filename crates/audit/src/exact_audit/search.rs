//! The two questions, and the precision they need.

use super::distribution::direction;
use super::{Direction, Distribution, Gap, Supremum};
use crate::Error;
use exact::{Interval, Rational, power_of_two};
use std::cell::OnceCell;
use std::cmp::Ordering;

/// Precision starts here and doubles.
const START: u32 = 128;
/// Precision ends here; an answer that is still wide is returned as wide as it is.
const MOST: u32 = 2048;
/// The answer's precision when it is an ε.
const EPSILON_BITS: u32 = 192;
/// From here on it is worth asking for the largest loss first, lest e^ε be computed for nothing.
const LARGE_EPSILON: u32 = 32;
/// A larger ε protects nobody, and e^ε becomes a number of thousands of digits.
const LARGEST_EPSILON: u32 = 4096;

/// The smallest ε for a δ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It lies in this interval.
    Finite(Interval),
    /// No finite ε has so small a δ.
    NoFinite {
        /// The infimum of δ over all finite ε: above it there is an ε, below it there is none.
        smallest_delta: Interval,
    },
}

/// The smallest δ for which both P ≤ e^ε Q + δ and Q ≤ e^ε P + δ on every event, certainly inside the
/// interval.
///
/// The interval is narrower than 1e-12, and than a millionth of δ when δ is above 1e-77, unless 2048 bits do
/// not suffice for that.
pub fn smallest_delta(p: &Distribution, q: &Distribution, epsilon: &Rational) -> Result<Interval, Error> {
    let mut bits = START;
    loop {
        let delta = smallest_delta_at(p, q, epsilon, bits)?;
        if sharp(&delta) || bits >= MOST {
            return Ok(delta);
        }
        bits *= 2;
    }
}

fn sharp(delta: &Interval) -> bool {
    let width = delta.upper() - delta.lower();
    width <= power_of_two(-40)
        && (width <= delta.lower() * power_of_two(-20) || delta.upper() <= power_of_two(-256))
}

/// The same, computed once with about `bits` bits whatever the width.
pub fn smallest_delta_at(
    p: &Distribution,
    q: &Distribution,
    epsilon: &Rational,
    bits: u32,
) -> Result<Interval, Error> {
    if *epsilon < Rational::ZERO {
        return Err(Error::NegativeEpsilon);
    }
    let forward = Asked::new(&*direction(p, q)?).delta(epsilon, bits)?;
    let backward = Asked::new(&*direction(q, p)?).delta(epsilon, bits)?;
    let one = Interval::from_integer(1, bits);
    Ok(forward.max(&backward).min(&one))
}

/// δ(ε) of one direction, by the shortest way.
struct Asked<'a> {
    direction: &'a dyn Direction,
    /// The largest privacy loss where it is bounded, once it was asked for.
    loss: OnceCell<Option<Interval>>,
}

impl<'a> Asked<'a> {
    fn new(direction: &'a dyn Direction) -> Self {
        Self {
            direction,
            loss: OnceCell::new(),
        }
    }

    /// Whether ε is certainly at or above the largest loss: p ≤ e^ε q wherever q is positive, so that δ(ε) is
    /// the gap.
    fn covers_every_loss(&self, epsilon: &Rational) -> bool {
        let loss = self
            .loss
            .get_or_init(|| match self.direction.supremum(EPSILON_BITS) {
                Ok(Supremum::Bounded(loss)) => Some(loss),
                _ => None,
            });
        loss.as_ref().is_some_and(|loss| loss.certainly_at_most(epsilon))
    }

    /// Beyond the largest ε computed with, δ is between the gap and the δ there, because it falls towards the
    /// gap.
    fn delta(&self, epsilon: &Rational, bits: u32) -> Result<Interval, Error> {
        if *epsilon > Rational::from(LARGE_EPSILON) && self.covers_every_loss(epsilon) {
            return Ok(self.direction.gap(bits)?.enclosure(bits));
        }
        let largest = Rational::from(LARGEST_EPSILON);
        if *epsilon <= largest {
            return self.direction.delta(epsilon, bits);
        }
        Ok(self
            .direction
            .gap(bits)?
            .enclosure(bits)
            .hull(&self.direction.delta(&largest, bits)?))
    }
}

/// The smallest ε for which (ε, δ) holds in both directions, or that there is none.
pub fn smallest_epsilon(p: &Distribution, q: &Distribution, delta: &Rational) -> Result<Answer, Error> {
    if *delta < Rational::ZERO || *delta > Rational::ONE {
        return Err(Error::DeltaOutOfRange);
    }
    let (forward, backward) = (direction(p, q)?, direction(q, p)?);
    let (one_way, other_way) = (one_direction(&*forward, delta), one_direction(&*backward, delta));
    // One direction without a finite ε settles the matter, whatever became of the other.
    if matches!(one_way, Ok(None)) || matches!(other_way, Ok(None)) {
        let smallest_delta = forward
            .gap(START)?
            .enclosure(START)
            .max(&backward.gap(START)?.enclosure(START));
        return Ok(Answer::NoFinite { smallest_delta });
    }
    match (one_way?, other_way?) {
        (Some(a), Some(b)) => Ok(Answer::Finite(a.max(&b))),
        _ => Err(Error::NoClosedForm),
    }
}

/// Whether (ε, δ) holds in both directions: a theorem either way, or [`Error::Undecided`].
pub fn satisfies(
    p: &Distribution,
    q: &Distribution,
    epsilon: &Rational,
    delta: &Rational,
) -> Result<bool, Error> {
    let needed = smallest_delta(p, q, epsilon)?;
    if needed.certainly_at_most(delta) {
        return Ok(true);
    }
    if needed.lower() > *delta {
        return Ok(false);
    }
    // δ meets the need to within round-off; at δ = 0 that is the rule, and the largest privacy loss decides.
    match smallest_epsilon(p, q, delta)? {
        Answer::NoFinite { .. } => Ok(false),
        Answer::Finite(least) if least.certainly_at_most(epsilon) => Ok(true),
        Answer::Finite(least) if least.lower() > *epsilon => Ok(false),
        Answer::Finite(_) => Err(Error::Undecided { bits: MOST }),
    }
}

/// The smallest ε of one direction; `None` when there is none.
fn one_direction(direction: &dyn Direction, delta: &Rational) -> Result<Option<Interval>, Error> {
    match compare_gap(direction, delta)? {
        Ordering::Greater => Ok(None),
        // All of δ is used up where q = 0, so nothing may exceed where both are positive: ε is the largest
        // loss.
        Ordering::Equal => match direction.supremum(EPSILON_BITS)? {
            Supremum::Bounded(loss) => Ok(Some(super::real::positive_part(&loss))),
            Supremum::Unbounded => Ok(None),
            Supremum::Unknown => Err(Error::NoClosedForm),
        },
        Ordering::Less => bisect(direction, delta).map(Some),
    }
}

fn compare_gap(direction: &dyn Direction, delta: &Rational) -> Result<Ordering, Error> {
    let mut bits = START;
    while bits <= MOST / 2 {
        match direction.gap(bits)? {
            Gap::Exact(gap) => return Ok(gap.cmp(delta)),
            Gap::Within(gap) => match gap.compare(delta) {
                Some(order) => return Ok(order),
                None => bits *= 2,
            },
        }
    }
    Err(if delta.is_zero() {
        Error::NoClosedForm
    } else {
        Error::Undecided { bits: MOST / 2 }
    })
}

/// δ(ε) against the δ asked for, at growing precision; the precision that sufficed is kept for the next
/// question.
struct Comparison<'a> {
    asked: Asked<'a>,
    delta: &'a Rational,
    bits: u32,
}

impl Comparison<'_> {
    fn at(&mut self, epsilon: &Rational) -> Result<Option<Ordering>, Error> {
        let mut bits = self.bits;
        while bits <= MOST {
            if let Some(order) = self.asked.delta(epsilon, bits)?.compare(self.delta) {
                self.bits = bits;
                return Ok(Some(order));
            }
            bits *= 2;
        }
        Ok(None)
    }
}

/// δ(ε) strictly falls while it is above the gap: its derivative is −e^ε Q(S), and Q(S) = 0 would make δ(ε) =
/// P(S) the gap. So exactly one ε answers, and certain comparisons on both sides of it enclose it.
fn bisect(direction: &dyn Direction, delta: &Rational) -> Result<Interval, Error> {
    let mut comparison = Comparison {
        asked: Asked::new(direction),
        delta,
        bits: START,
    };
    let zero = Rational::ZERO;
    if matches!(comparison.at(&zero)?, Some(Ordering::Less | Ordering::Equal)) {
        return Ok(Interval::from_integer(0, EPSILON_BITS));
    }
    let (mut low, mut high) = (zero, Rational::ONE);
    loop {
        let order = comparison.at(&high)?;
        if order == Some(Ordering::Less) {
            break;
        }
        if high >= Rational::from(LARGEST_EPSILON) {
            return Err(match order {
                Some(_) => Error::EpsilonTooLarge {
                    largest: LARGEST_EPSILON,
                },
                None => Error::Undecided { bits: MOST },
            });
        }
        if order == Some(Ordering::Greater) {
            low = high.clone();
        }
        high *= Rational::from(2u8);
    }
    let width = power_of_two(-44);
    // An undecided point is the answer itself, nearly; two points beside it still bring the ends close.
    'narrow: while &high - &low > width {
        for eighths in [4u8, 3, 5] {
            let point = &low + (&high - &low) * Rational::from(eighths) / Rational::from(8u8);
            match comparison.at(&point)? {
                Some(Ordering::Greater) => low = point,
                Some(Ordering::Less | Ordering::Equal) => high = point,
                None => continue,
            }
            continue 'narrow;
        }
        break;
    }
    Ok(Interval::between(&low, &high, EPSILON_BITS))
}
