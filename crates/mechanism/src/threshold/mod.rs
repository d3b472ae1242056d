//! Groups whose very names are private: release those that many units are in.
//!
//! A histogram over *all possible* names is private with noise alone, but there may be too many of them to list. These
//! mechanisms look only at the names that occur, and pay a δ for it: a name that one single unit brought may appear.

mod gaussian;
mod laplace;
mod optimal;
#[cfg(test)]
mod optimal_tests;
#[cfg(test)]
mod tests;

pub use gaussian::GaussianThreshold;
pub use laplace::LaplaceThreshold;
pub use optimal::OptimalThreshold;

use crate::{Accuracy, Aggregate, Error, Sensitive, Sensitivity, Terms};
use accounting::{Delta, Epsilon, Event, Neighbors, PrivacyUnit, Promise};
use exact::{Interval, Rational, decide, floor_log2, to_f64_nearest};
use noise::Grid;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// What can name a group: types in which equal names are the same name, to the last bit.
///
/// A released name is that of some unit. If equal names could differ, as strings that compare without regard to case can, or zeros of
/// different sign, the one released would tell whose it was. So the list is closed.
pub trait GroupName: Ord + Clone + sealed::Sealed {}

impl<K: Ord + Clone + sealed::Sealed> GroupName for K {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for String {}
    impl Sealed for &'static str {}
    impl Sealed for Vec<u8> {}
    impl Sealed for bool {}
    impl Sealed for char {}
    impl Sealed for u8 {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
    impl Sealed for i32 {}
    impl Sealed for i64 {}
    impl<A: Sealed> Sealed for Option<A> {}
    impl<A: Sealed, B: Sealed> Sealed for (A, B) {}
    impl<A: Sealed, B: Sealed, C: Sealed> Sealed for (A, B, C) {}
}

impl<K: GroupName> Aggregate<Vec<(K, i64)>> {
    /// How many distinct units are in each group, from rows of (unit, group).
    ///
    /// Each unit counts in at most `groups_per_unit` groups: its first ones in the order of names. That rule looks at the unit's own rows
    /// only, so a unit added or removed moves at most that many counts, each by 1; a changed one moves twice as many.
    pub fn groups<U: Ord>(
        rows: &Sensitive<Vec<(U, K)>>,
        groups_per_unit: u64,
        unit: PrivacyUnit,
    ) -> Result<Self, Error> {
        let moved = match unit.neighbors {
            Neighbors::AddRemove => Some(groups_per_unit),
            Neighbors::ChangeOne => groups_per_unit.checked_mul(2),
        };
        let sensitivity = Sensitivity::vector(moved.ok_or(Error::BadSensitivity)?, 1)?;
        let mut units: BTreeMap<&U, BTreeSet<&K>> = BTreeMap::new();
        for (unit, group) in rows.as_ref() {
            units.entry(unit).or_default().insert(group);
        }
        let most = usize::try_from(groups_per_unit).unwrap_or(usize::MAX);
        let mut counts: BTreeMap<&K, i64> = BTreeMap::new();
        for group in units.values().flat_map(|groups| groups.iter().take(most)) {
            *counts.entry(group).or_default() += 1;
        }
        let groups = counts
            .into_iter()
            .map(|(group, count)| (group.clone(), count))
            .collect();
        Ok(Self::claimed(
            Sensitive::new(groups),
            sensitivity,
            unit,
            Grid::new(0),
        ))
    }
}

/// Groups as the proofs see them, a function from names to counts: in the order of names whatever the order of the input, each name once, and
/// none without a unit in it.
fn present<K: GroupName>(mut groups: Vec<(K, i64)>) -> Vec<(K, i64)> {
    groups.sort_by(|a, b| a.0.cmp(&b.0));
    groups.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(later.1);
        }
        same
    });
    groups.retain(|(_, count)| *count > 0);
    groups
}

/// The groups whose noisy count reaches the threshold.
fn reaching<K>(keys: Vec<K>, counts: Vec<i64>, threshold: i64) -> Vec<(K, i64)> {
    keys.into_iter()
        .zip(counts)
        .filter(|(_, count)| *count >= threshold)
        .collect()
}

/// What all of them ask of their parameters.
fn check(epsilon: &Epsilon, delta: &Delta, sensitivity: &Sensitivity) -> Result<(), Error> {
    if *epsilon == Epsilon::ZERO {
        return Err(Error::NoEpsilon);
    }
    if *delta == Delta::ZERO {
        return Err(Error::NoDelta);
    }
    if *sensitivity.l_infinity() > Rational::ONE {
        let what = "what a unit adds to the count of a group";
        return Err(Error::OutOfRange {
            what,
            range: "at most 1: count distinct units, not rows",
        });
    }
    Ok(())
}

/// What all of them state. Accuracy depends on the data: a count that came out is one that the noise did not push below the threshold,
/// and how likely a group is missed is reported by its count alone.
fn terms(event: Event, promise: Promise, sensitivity: Sensitivity) -> Terms {
    Terms::new(sensitivity, event, promise, Accuracy::DependsOnData)
        .on(Grid::new(0))
        .only_for(Neighbors::AddRemove)
}

/// Noise and, beside it, a leak of (0, δ₂): the proofs show the output to be a function of two independent things, the noisy counts of the
/// groups that occur on both sides, and a draw that differs between the sides with probability at most δ₂.
fn with_leak(noise: Event, leak: Delta) -> Event {
    let leak = Event::Approximate {
        epsilon: Epsilon::ZERO,
        delta: leak,
    };
    Event::Composed(vec![noise, leak])
}

/// The least threshold τ ≥ 1 for which `groups` groups of one unit each stay hidden, all of them, with probability 1 − δ or more.
///
/// `tail(m, bits)` encloses P[noise ≥ m], for m ≥ 0. A group of one unit is released when 1 + noise ≥ τ, so its probability is p = tail(τ−1), and
/// some one of them is released with probability 1 − (1−p)^groups. What no precision can decide counts as too likely.
///
/// `near` tells, in floats, where a tail as small as its argument is expected (a logarithm). It only says where to look: a good guess is confirmed by two
/// enclosures, and after a bad one the search goes on in doubling steps.
fn least_threshold(
    groups: u64,
    delta: &Delta,
    tail: impl Fn(i64, u32) -> Interval,
    near: impl Fn(f64) -> f64,
) -> Result<i64, Error> {
    let target = delta.as_rational();
    let start = 96 + groups.ilog2() + floor_log2(target).unsigned_abs();
    let hides = |reach: i64| {
        let order = decide(start, |bits| {
            let one = Interval::from_integer(1, bits);
            let hidden = power(&one.sub(&tail(reach, bits)), groups);
            one.sub(&hidden).compare(target)
        });
        matches!(order, Some(Ordering::Less | Ordering::Equal))
    };
    const FARTHEST: i64 = 1 << 61;
    let logarithm = (to_f64_nearest(target) / groups as f64)
        .max(f64::MIN_POSITIVE)
        .ln();
    // A cast of a float saturates, and makes 0 of what is no number.
    let guess = (near(logarithm).ceil() as i64).clamp(0, FARTHEST);
    // In the end, `low` does not hide, or is −1; `high` does.
    let (mut low, mut high) = (guess - 1, guess);
    let mut step = 1;
    if hides(guess) {
        while low >= 0 && hides(low) {
            high = low;
            low = (low - step).max(-1);
            step *= 2;
        }
    } else {
        low = guess;
        high = guess + step;
        while !hides(high) {
            low = high;
            step *= 2;
            high += step;
            if high > FARTHEST {
                let what = "the noise of a threshold";
                return Err(Error::OutOfRange {
                    what,
                    range: "small enough for a threshold below 2^61",
                });
            }
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if hides(middle) {
            high = middle
        } else {
            low = middle
        }
    }
    Ok(high + 1)
}

/// base^exponent for a base in [0, 1], by squaring.
fn power(base: &Interval, exponent: u64) -> Interval {
    let mut result = Interval::from_integer(1, base.bits());
    for place in (0..64).rev() {
        result = result.square();
        if exponent >> place & 1 == 1 {
            result = result.mul(base);
        }
    }
    result
}

/// P[Z ≥ m] = a^m/(1+a) for m ≥ 0, where P[Z = k] = (1−a)/(1+a)·a^|k| and a = e^−rate.
pub(crate) fn laplace_tail(rate: &Rational, reach: i64, bits: u32) -> Interval {
    let work = bits + 8;
    let ratio = Interval::exp_of(&-rate.clone(), work);
    let power = Interval::exp_of(&-(rate * Rational::from(reach)), work);
    let whole = Interval::from_integer(1, work).add(&ratio);
    power.div(&whole).expect("1 + a ≥ 1").with_bits(bits)
}

/// The least integer m ≥ 0 that discrete Laplace noise of this rate (one over its scale) reaches with probability δ or less.
pub(crate) fn least_reach(rate: &Rational, delta: &Delta) -> Result<i64, Error> {
    let threshold = least_threshold(
        1,
        delta,
        |reach, bits| laplace_tail(rate, reach, bits),
        |logarithm| laplace_reach(rate, logarithm),
    )?;
    Ok(threshold - 1)
}

/// About where the tail of discrete Laplace noise has this logarithm.
fn laplace_reach(rate: &Rational, logarithm: f64) -> f64 {
    let rate = to_f64_nearest(rate);
    -(logarithm + (-rate).exp().ln_1p()) / rate
}
