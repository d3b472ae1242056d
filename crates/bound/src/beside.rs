//! What else is read of each unit in the same pass: its numbers under wider limits, and how much of it the limits leave out.
//!
//! A unit's state is kept in the groups that count under the wider limits, k′ ≥ k of them. The first k of these, in the order in which groups are chosen, are those that count for
//! the totals, because both limits choose by the same order. So one pass over the rows gives both, and four numbers over all units:
//!
//! - *units*: how many there are;
//! - *over*: how many are over a limit, that is, have more than k groups, or a pair of [`Beside::limits`] that differs in one of their groups;
//! - *everything*: the distance from zero of [`Beside::amount`] under its wider limit, added up over the k′ groups;
//! - *cut*: what of it the narrower limit leaves out, in the k groups and by them.
//!
//! # Privacy
//! Claim: one unit, added or removed, moves a number of a group by at most [`Beside::farthest`], in at most k′ groups; *units* and *over* by at most 1; and *everything* and *cut* by at most
//! [`Beside::most`]. A vector whose length is bounded ([`Beside::lengths`]) is no longer than that in its coarser steps, and what is scaled with it likewise ([`super::length`]).
//! Proof: all of them are sums over units of a function of one unit's rows and of the query's key: which groups are kept is such a function (see [`super`]), and so is which of them are the
//! first k. A number of a group is clamped before it is rounded to coarser steps, and rounding keeps the order, so it lies between the rounded ends. A unit adds 1 to *units* and 0 or 1 to *over*.
//! In each of at most k′ groups the distance lies between 0 and A, the larger distance of the wider limit's ends, and so does what is left out of it, which is never taken for negative; rounded
//! to coarser steps both are at most the rounded A. Without keys there is one group.
//! Numbers of a bounded vector are rounded toward zero, so that it grows no longer. Where [`Beside::vector`] is there, *everything* of a unit is cut to [`AmountOfVector::most`], and *cut* is a part of it.
//! In which group's row the four numbers are is not specified: whoever reads them adds them up over all groups, which is a sum over units again.
//! Audited by: `a_pass_gives_what_separate_ones_give`, and in `sql` by the hunter and `an_overview_without_its_clamp_is_noticed`.

use super::length::{Length, LengthReadings, Scaling};
use super::registers::{Place, Reading};
use super::{MOST_GROUPS_OF_A_VECTOR, Partial};
use serde::{Deserialize, Serialize};

/// How many numbers describe all units: units, over, everything, cut.
pub(crate) const NUMBERS: usize = 4;

/// More numbers of the same units, from the same pass. They follow the totals: first those of each group, then the four that are to be added up over all groups.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    /// How many groups of a unit count for these numbers: at least as many as for the totals.
    pub groups: Option<u64>,
    /// Numbers of each group under wider limits.
    pub partials: Vec<Coarse>,
    /// Bounds on lengths of these.
    pub lengths: Vec<Length>,
    /// What counts of a unit in a group, and the same under a wider limit: where they differ, the unit is over its limits.
    pub limits: Vec<(Partial, Partial)>,
    /// Of what is measured how much is left out: what counts of it, and the same under a wider limit.
    pub amount: (Partial, Partial),
    /// Where the vector of what is measured is bounded: how much of a unit's is looked at, and what counts of it.
    pub vector: Option<AmountOfVector>,
    /// Steps of that are rounded to steps that are coarser by this many bits.
    pub bits: u32,
}

/// Of a unit whose vector is bounded, what it has in all groups together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmountOfVector {
    /// Which number of the question counts.
    pub of: usize,
    /// By how many bits its steps are finer than those of its argument.
    pub finer: u32,
    /// No more than this is looked at, in these finer steps.
    pub most: u64,
}

/// A number in steps that are coarser than those of its argument.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coarse {
    /// The number in the argument's own steps.
    pub partial: Partial,
    /// By how many bits its steps are coarser. What a unit adds is rounded to the nearest, upwards in the middle.
    pub bits: u32,
}

impl Beside {
    /// How far one unit, added or removed, can move a number in one group.
    pub fn farthest(&self, place: usize) -> u64 {
        let one = &self.partials[place];
        let (low, high) = one.partial.ends();
        let finer = |length: &Length| {
            let with = length.with.iter().find(|follower| follower.place == place);
            let own = (length.of == place).then_some((length.finer, length.most));
            own.or(with.map(|follower| (follower.finer, length.follows(follower))))
        };
        if let Some((finer, most)) = self.lengths.iter().find_map(finer) {
            let farthest = low.unsigned_abs().max(high.unsigned_abs()) << finer;
            return farthest.min(most) >> one.bits;
        }
        let [low, high] = [low, high].map(|end| coarse(end, one.bits).unsigned_abs());
        low.max(high)
    }

    /// How far one unit, added or removed, can move *everything* and *cut*; `grouped`: whether there are keys.
    pub fn most(&self, grouped: bool) -> u64 {
        if let Some(vector) = &self.vector {
            return coarse(vector.most as i64, self.bits).unsigned_abs();
        }
        let (low, high) = self.amount.1.ends();
        let farthest = low.unsigned_abs().max(high.unsigned_abs()).min(i64::MAX as u64) as i64;
        let groups = if grouped {
            self.groups.unwrap_or(u64::MAX)
        } else {
            1
        };
        coarse(farthest, self.bits).unsigned_abs().saturating_mul(groups)
    }

    /// How many numbers follow the totals.
    pub fn numbers(&self) -> usize {
        self.partials.len() + NUMBERS
    }

    /// All that is read of a unit in a group.
    pub(crate) fn read(&self) -> impl Iterator<Item = &Partial> {
        let pairs = self.limits.iter().chain([&self.amount]);
        let pairs = pairs.flat_map(|(narrow, wide)| [narrow, wide]);
        self.partials.iter().map(|coarse| &coarse.partial).chain(pairs)
    }

    /// Where there are keys, both limits have to be there, so that a unit's groups come in an order.
    pub(crate) fn makes_sense(&self, groups: Option<u64>, lengths: &[Length], grouped: bool) -> bool {
        let own: Vec<Partial> = self.partials.iter().map(|coarse| coarse.partial).collect();
        let few = self
            .groups
            .is_some_and(|groups| groups <= MOST_GROUPS_OF_A_VECTOR);
        let vectors = Length::all_make_sense(&self.lengths, &own)
            && (self.lengths.is_empty() || (few && grouped))
            && self.vector.as_ref().is_none_or(|vector| {
                let counted = |length: &Length| length.of == vector.of && length.finer == vector.finer;
                let (low, high) = self.amount.1.ends();
                few && grouped
                    && lengths.iter().any(counted)
                    && (1..=FARTHEST_OF_A_VECTOR).contains(&vector.most)
                    && low.unsigned_abs().max(high.unsigned_abs()) <= FARTHEST_OF_A_VECTOR >> vector.finer
            });
        let wider = match (groups, self.groups) {
            (Some(narrow), Some(wide)) => narrow <= wide,
            _ => !grouped,
        };
        // Rounding adds half a step, and a distance is a number.
        let fits = |partial: &Partial, bits: u32| {
            let (low, high) = partial.ends();
            bits < MOST_BITS && low >= -FARTHEST && high <= FARTHEST
        };
        let mut partials = self.partials.iter();
        let (narrow, wide) = &self.amount;
        wider
            && vectors
            && partials.all(|coarse| coarse.bits == 0 || fits(&coarse.partial, coarse.bits))
            && fits(narrow, self.bits)
            && fits(wide, self.bits)
    }
}

/// No step is coarser by so many bits.
const MOST_BITS: u32 = 62;
/// No number that is rounded is farther from zero.
const FARTHEST: i64 = 1 << 62;
/// No number is farther from zero of which all groups of a unit are added up.
const FARTHEST_OF_A_VECTOR: u64 = 1 << 52;

/// A number in steps that are coarser by some bits: the nearest, upwards in the middle.
#[inline]
pub(crate) fn coarse(number: i64, bits: u32) -> i64 {
    let middle = (1i64 << bits) >> 1;
    number.wrapping_add(middle) >> bits
}

/// How [`Beside`] is read from registers.
#[derive(Clone, Debug)]
pub(crate) struct BesideReadings {
    partials: Vec<Reading>,
    /// By how many bits the steps of each are coarser.
    coarser: Vec<u32>,
    lengths: LengthReadings,
    limits: Vec<(Reading, Reading)>,
    amount: (Reading, Reading),
    vector: Option<AmountOfVector>,
    bits: u32,
}

/// What is known of one unit when all of its groups were seen.
pub(crate) struct OfUnit {
    /// Whether it is over a limit.
    over: bool,
    /// How much it has, and how much of that counts, where its vector is bounded.
    everything: i64,
    kept: i64,
}

impl OfUnit {
    /// Nothing yet, but whether one of its vectors is too long.
    pub(crate) fn new(over: bool) -> Self {
        Self {
            over,
            everything: 0,
            kept: 0,
        }
    }
}

impl BesideReadings {
    pub(crate) fn new(beside: &Beside, place: &mut Place<'_>) -> Self {
        let mut pair =
            |(narrow, wide): &(Partial, Partial)| (Reading::new(narrow, place), Reading::new(wide, place));
        let limits = beside.limits.iter().map(&mut pair).collect();
        let amount = pair(&beside.amount);
        let partials = beside.partials.iter();
        Self {
            partials: partials
                .map(|coarse| Reading::new(&coarse.partial, place))
                .collect(),
            coarser: beside.partials.iter().map(|coarse| coarse.bits).collect(),
            lengths: LengthReadings::new(&beside.lengths, beside.partials.len()),
            limits,
            amount,
            vector: beside.vector.clone(),
            bits: beside.bits,
        }
    }

    /// How many numbers there are.
    pub(crate) fn len(&self) -> usize {
        self.partials.len() + NUMBERS
    }

    /// Adds what one unit's registers in a group say to the numbers of this group, and to what is known of the unit. `counted`: what counts of it there of each number of the question.
    #[inline]
    pub(crate) fn fold(
        &self,
        registers: &[i64],
        counts: bool,
        norms: &[u128],
        counted: impl Fn(usize) -> i64,
        numbers: &mut [i64],
        unit: &mut OfUnit,
    ) {
        let (of_group, of_all) = numbers.split_at_mut(self.partials.len());
        for (place, total) in of_group.iter_mut().enumerate() {
            let number = self.lengths.scaled(place, &self.partials, registers, norms);
            *total = total.wrapping_add(self.in_coarser_steps(place, number));
        }
        let distance = |reading: &Reading| reading.of(registers).wrapping_abs();
        let everything = distance(&self.amount.1);
        if let Some(vector) = &self.vector {
            let everything = everything.saturating_mul(1 << vector.finer);
            unit.everything = unit.everything.saturating_add(everything);
            unit.kept = unit.kept.saturating_add(counted(vector.of).saturating_abs());
        } else {
            let kept = if counts { distance(&self.amount.0) } else { 0 };
            let cut = everything.wrapping_sub(kept).max(0);
            for (total, added) in of_all[2..].iter_mut().zip([everything, cut]) {
                *total = total.wrapping_add(coarse(added, self.bits));
            }
        }
        let differs = |(narrow, wide): &(Reading, Reading)| narrow.of(registers) != wide.of(registers);
        unit.over |= !counts || self.limits.iter().any(differs);
    }

    /// A number of a vector whose length is bounded is rounded toward zero.
    #[inline]
    fn in_coarser_steps(&self, place: usize, number: i64) -> i64 {
        let bits = self.coarser[place];
        match self.lengths.scaling(place) {
            Scaling::None => coarse(number, bits),
            _ if number < 0 => -(number.wrapping_neg() >> bits),
            _ => number >> bits,
        }
    }

    /// Adds one unit to the numbers that describe all units.
    #[inline]
    pub(crate) fn count(&self, unit: &OfUnit, numbers: &mut [i64]) {
        let of_all = &mut numbers[self.partials.len()..];
        of_all[0] = of_all[0].wrapping_add(1);
        of_all[1] = of_all[1].wrapping_add(i64::from(unit.over));
        if let Some(vector) = &self.vector {
            let everything = unit.everything.min(vector.most as i64);
            let cut = everything.saturating_sub(unit.kept).max(0);
            for (total, added) in of_all[2..].iter_mut().zip([everything, cut]) {
                *total = total.wrapping_add(coarse(added, self.bits));
            }
        }
    }

    /// The bounds on lengths under wider limits.
    pub(crate) fn vectors(&self) -> (&LengthReadings, &[Reading]) {
        (&self.lengths, &self.partials)
    }

    pub(crate) fn vector(&self) -> Option<&AmountOfVector> {
        self.vector.as_ref()
    }

    /// The numbers of a group, each with the bits by which its steps are coarser.
    pub(crate) fn partials(&self) -> impl Iterator<Item = (&Reading, u32)> {
        self.partials.iter().zip(self.coarser.iter().copied())
    }

    pub(crate) fn limits(&self) -> &[(Reading, Reading)] {
        &self.limits
    }

    pub(crate) fn amount(&self) -> (&(Reading, Reading), u32) {
        (&self.amount, self.bits)
    }
}
