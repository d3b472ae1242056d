//! How much of a unit counts in all groups of a question together.
//!
//! A unit has at most k groups, with at most r rows in each, and nearly nobody has k × r rows. Where the catalog says how many rows of a unit count where there are no groups (`rows` under
//! [limits]), as many count in all groups together: a unit with more is scaled down as a whole, its counts, sums and what averages are made of by the same factor. Then noise need
//! not cover k × r rows.
//!
//! # Privacy
//! Claim: what one unit adds to a statistic in all groups together is at most [`InAll::most`] of its steps from zero.
//! Proof: [`bound::Length`], of which the number whose length is bounded are the rows of the unit, in steps of 1/1024 row; all others go with it. That the bounding step says no more than
//! this is checked when the plan is made ([`RowsInAll::length`]), before the charge.
//! Audited by: `one_unit_more_moves_no_further_than_priced` and the hunter; `a_vector_that_is_not_scaled_is_noticed`.

use super::Groups;
use super::statistic::{Argument, Measure, Statistic, ends_of_mean};
use crate::Error;
use crate::values::steps::Steps;
use bound::{Follower, Length, MOST_GROUPS_OF_A_VECTOR, Norm, Partial};

/// How much of a unit counts of a statistic in all groups together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InAll {
    /// In its steps.
    pub(crate) most: u64,
    /// How much one row may add, in steps of its argument.
    each: u64,
    /// By how many bits the bounding step's steps are finer than those of its argument.
    finer: u32,
}

/// The rows of a unit that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowsInAll {
    /// In all groups together.
    pub(crate) most: u64,
    /// In each group.
    pub(crate) in_group: u64,
}

/// Steps are so many bits finer, where they can be, so that parts of rows count.
pub(crate) const FINER: u32 = 10;

/// More rows of a unit are not told apart in fine steps.
const MOST_ROWS: u64 = 1 << 32;

/// The wide limits of an estimate are at most so many times as many groups.
const WIDE: u64 = 4;

/// Bounds what counts of a unit in all groups together, where that is less than its groups allow.
pub(crate) fn bound(statistics: &mut [Statistic], groups: &Groups, rows: Option<u64>) -> Option<RowsInAll> {
    let most = rows.filter(|rows| *rows <= MOST_ROWS)?;
    let in_group = rows_in_group(statistics)?;
    let of_groups = groups.per_unit.saturating_mul(in_group);
    if most >= of_groups || groups.per_unit > MOST_GROUPS_OF_A_VECTOR / WIDE {
        return None;
    }
    let rows = RowsInAll { most, in_group };
    statistics.iter_mut().for_each(|statistic| rows.bound(statistic));
    Some(rows)
}

/// How many rows count in a group, where all that counts rows says the same.
fn rows_in_group(statistics: &[Statistic]) -> Option<u64> {
    let mut all = statistics
        .iter()
        .filter_map(|statistic| match &statistic.measure {
            Measure::Rows { most } | Measure::Present { most, .. } | Measure::Mean { most, .. } => {
                Some(*most)
            }
            _ => None,
        });
    let first = all.next()?;
    all.all(|most| most == first).then_some(first)
}

/// What one unit adds to a statistic in a group, in steps of its argument.
struct Part {
    steps: Steps,
    low: i64,
    high: i64,
    /// What one row adds.
    each: u64,
}

impl Part {
    /// Nothing where it is not known what a row adds.
    fn of(statistic: &Statistic) -> Option<Self> {
        let each = match &statistic.measure {
            Measure::Rows { .. } | Measure::Present { .. } => 1,
            Measure::Mean { argument, .. } => of_row(ends_of_mean(argument, 1)),
            // Where rows are cut far outside only, the sum of a group is all that is known.
            Measure::Sum { argument, low, high } => {
                let Argument {
                    low: least,
                    high: most,
                    ..
                } = argument;
                of_row((*least, *most)).min(of_row((*low, *high)))
            }
            _ => return None,
        };
        Some(Self {
            steps: statistic.steps,
            low: statistic.low,
            high: statistic.high,
            each,
        })
    }
}

fn of_row((low, high): (i64, i64)) -> u64 {
    low.unsigned_abs().max(high.unsigned_abs())
}

impl RowsInAll {
    /// The same under limits that are so many times as wide, of which so many rows count in a group.
    pub(crate) fn times(self, factor: u64, in_group: u64) -> Self {
        Self {
            most: self.most.saturating_mul(factor).min(MOST_ROWS),
            in_group,
        }
    }

    /// Bounds a statistic, where one row's part in it is known.
    fn bound(self, statistic: &mut Statistic) {
        let Some(part) = Part::of(statistic) else { return };
        let fits = |finer: &u32| Steps::bits_over(self.in_finer_steps(self.farthest(&part), *finer)) == 0;
        let finer = (0..=FINER).rev().find(fits).unwrap_or(0);
        self.put(statistic, &part, finer, 0);
    }

    /// Bounds a statistic under wide limits, between these ends of the argument of the question's own.
    pub(crate) fn bound_wide(self, wide: &mut Statistic, of: &Statistic, (low, high): (i64, i64)) {
        let Some(InAll { each, finer, .. }) = of.in_all else {
            return;
        };
        let steps = Steps::of(of.steps.exponent() + finer as i32);
        let part = Part {
            steps,
            low,
            high,
            each,
        };
        let coarser = Steps::bits_over(self.in_finer_steps(self.farthest(&part), finer));
        self.put(wide, &part, finer, coarser);
    }

    fn put(self, statistic: &mut Statistic, part: &Part, finer: u32, coarser: u32) {
        let all = self.in_all(part);
        let end = |end: i64| {
            let near = i128::from(end).clamp(-all, all);
            // Toward zero.
            (self.in_finer_steps(near.abs(), finer) >> coarser) as i64 * near.signum() as i64
        };
        statistic.steps = Steps::of(part.steps.exponent() - finer as i32 + coarser as i32);
        (statistic.low, statistic.high) = (end(part.low.min(0)), end(part.high.max(0)));
        let most = self.in_finer_steps(all, finer) >> coarser;
        statistic.in_all = Some(InAll {
            most: u64::try_from(most).unwrap_or(u64::MAX),
            each: part.each,
            finer,
        });
    }

    fn in_finer_steps(self, steps: i128, finer: u32) -> i128 {
        steps << finer
    }

    /// What counts in all groups together, in steps of the argument.
    fn in_all(self, part: &Part) -> i128 {
        i128::from(part.each) * i128::from(self.most)
    }

    /// What counts in a group.
    fn farthest(self, part: &Part) -> i128 {
        i128::from(of_row((part.low, part.high))).min(self.in_all(part))
    }

    /// By how many bits steps of the number of rows are finer, given the statistic that counts them, if one does.
    pub(crate) fn finer(self, rows: Option<&Statistic>) -> u32 {
        rows.and_then(|rows| rows.in_all)
            .map_or(FINER, |in_all| in_all.finer)
    }

    /// What counts of the rows themselves, in such steps.
    pub(crate) fn in_steps(self, finer: u32) -> u64 {
        self.most << finer
    }

    /// How the bounding step does it. `numbers`: where each statistic's number is, and by how many bits its steps are coarser in the end; `rows`: where the number of rows is, in
    /// steps that are finer by so many bits.
    ///
    /// # Errors
    /// If a statistic is priced for less than the bounding step lets count.
    pub(crate) fn length<'a>(
        self,
        numbers: impl Iterator<Item = (usize, u32, &'a Statistic)>,
        (rows, finer): (usize, u32),
        unpriced: fn() -> Error,
    ) -> Result<Length, Error> {
        let mut length = Length {
            of: rows,
            norm: Norm::One,
            finer,
            most: self.in_steps(finer),
            with: Vec::new(),
        };
        for (place, coarser, statistic) in numbers {
            let Some(in_all) = statistic.in_all else { continue };
            let follower = Follower {
                place,
                each: in_all.each,
                finer: in_all.finer,
            };
            let counts = match place == rows {
                true => length.most,
                false => length.follows(&follower),
            };
            if counts >> coarser > in_all.most {
                return Err(unpriced());
            }
            if place != rows {
                length.with.push(follower);
            }
        }
        Ok(length)
    }

    /// The rows of a unit in a group.
    pub(crate) fn partial(self) -> Partial {
        Partial::Rows {
            most: self.in_group as i64,
        }
    }
}
