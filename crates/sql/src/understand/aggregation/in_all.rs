//! How much of a unit counts in all groups of a question together.
//!
//! A unit has at most k groups, with at most r rows in each, and nearly nobody has k × r rows. Where the catalog says how many rows of a unit count where there are no groups (`rows` under
//! [limits]), as many count in all groups together: a unit with more is scaled down as a whole, its counts, sums and what averages are made of by the same factor. Where it says how
//! large a unit's sum of a column is without groups (`sums`), sums of this column are scaled by themselves. Statistics that look at single rows, for medians and distinct values, take as
//! many of them. Then noise need not cover what k groups of r rows could hold.
//!
//! # Privacy
//! Claim: what one unit adds to a statistic in all groups together is at most [`InAll::most`] of its steps from zero.
//! Proof: of what looks at single rows, [`bound::RowBounding::in_all`]. Of all others [`bound::Length`], in the sum of distances from zero, of the statistic itself or of the rows of the unit with which it goes. That the bounding step lets no more count than
//! this is checked when the plan is made ([`lengths`]), before the charge.
//! Audited by: `one_unit_more_moves_no_further_than_priced` and the hunter; `a_vector_that_is_not_scaled_is_noticed`.

use super::Groups;
use super::statistic::{Argument, Measure, Statistic, ends_of_mean};
use crate::Error;
use crate::values::facts::Range;
use crate::values::steps::Steps;
use bound::{Follower, Length, MOST_GROUPS_HELD, MOST_GROUPS_OF_A_VECTOR, Norm, Partial};

/// How much of a unit counts of a statistic in all groups together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InAll {
    /// In its steps.
    pub(crate) most: u64,
    /// By how many bits the bounding step's steps are finer than those of its argument.
    finer: u32,
    by: By,
}

/// By what a unit's part is scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// With its rows: this is how much one of them may add, in steps of the argument.
    Rows { each: u64 },
    /// By itself, to this many steps of the argument.
    Itself { most: u64 },
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
const FINER: u32 = 10;

/// More rows of a unit are not told apart in fine steps.
const MOST_ROWS: u64 = 1 << 32;

/// No sum of a unit is larger, in steps of its argument.
const MOST_SUM: u64 = 1 << 40;

/// Bounds what counts of a unit in all groups together, where that is less than its groups allow.
pub(crate) fn bound(statistics: &mut [Statistic], groups: &Groups, rows: Option<u64>) -> Option<RowsInAll> {
    let most = rows.filter(|rows| *rows <= MOST_ROWS)?;
    let in_group = rows_in_group(statistics)?;
    if most >= groups.per_unit.saturating_mul(in_group) || !is_possible(groups) {
        return None;
    }
    let rows = RowsInAll { most, in_group };
    for statistic in statistics {
        if statistic.counts_single_rows() {
            statistic.in_all = Some(InAll {
                most,
                finer: 0,
                by: By::Rows { each: 1 },
            });
        } else if statistic.in_all.is_none()
            && let Some(part) = Part::of(statistic, rows)
        {
            part.put_finely(statistic);
        }
    }
    Some(rows)
}

/// Bounds a sum in all groups together, where that is less than its groups allow.
pub(crate) fn bound_sum(sum: &mut Statistic, groups: &Groups, all: Range) {
    let farthest = [all.low, all.high].map(|end| sum.steps.round(end).unsigned_abs());
    let most = farthest[0].max(farthest[1]);
    let in_groups = groups.per_unit.saturating_mul(sum.farthest());
    if (1..=MOST_SUM).contains(&most) && most < in_groups && is_possible(groups) {
        let by = By::Itself { most };
        let (low, high, steps) = (sum.low, sum.high, sum.steps);
        let all = i128::from(most);
        Part {
            steps,
            low,
            high,
            all,
            by,
        }
        .put_finely(sum);
    }
}

/// Only the native operators scale vectors in plans that can be verified.
fn is_possible(groups: &Groups) -> bool {
    groups.per_unit <= MOST_GROUPS_HELD.min(MOST_GROUPS_OF_A_VECTOR)
}

/// How many rows count in a group, where all that adds up rows says the same.
fn rows_in_group(statistics: &[Statistic]) -> Option<u64> {
    let mut added = statistics
        .iter()
        .filter_map(|statistic| match &statistic.measure {
            Measure::Rows { most } | Measure::Present { most, .. } | Measure::Mean { most, .. } => {
                Some(*most)
            }
            _ => None,
        });
    let Some(first) = added.next() else {
        let single = statistics
            .iter()
            .filter(|statistic| statistic.counts_single_rows());
        return single.map(Statistic::farthest).max();
    };
    added.all(|most| most == first).then_some(first)
}

/// What one unit adds to a statistic, in steps of its argument.
struct Part {
    steps: Steps,
    /// In a group.
    low: i64,
    high: i64,
    /// In all groups together.
    all: i128,
    by: By,
}

impl Part {
    /// What goes with the rows of a unit. Nothing where it is not known what a row adds.
    fn of(statistic: &Statistic, rows: RowsInAll) -> Option<Self> {
        let each = match &statistic.measure {
            Measure::Rows { .. } | Measure::Present { .. } => 1,
            Measure::Mean { argument, .. } => farther(ends_of_mean(argument, 1)),
            // Where rows are cut far outside only, the sum of a group is all that is known.
            Measure::Sum { argument, low, high } => {
                let Argument {
                    low: least,
                    high: most,
                    ..
                } = argument;
                farther((*least, *most)).min(farther((*low, *high)))
            }
            _ => return None,
        };
        Some(Self {
            steps: statistic.steps,
            low: statistic.low,
            high: statistic.high,
            all: i128::from(each) * i128::from(rows.most),
            by: By::Rows { each },
        })
    }

    /// What counts in a group.
    fn farthest(&self) -> i128 {
        i128::from(farther((self.low, self.high))).min(self.all)
    }

    /// In steps that are finer where that leaves numbers of modest size.
    fn put_finely(self, statistic: &mut Statistic) {
        let fits = |finer: &u32| Steps::bits_over(self.farthest() << *finer) == 0;
        let finer = (0..=FINER).rev().find(fits).unwrap_or(0);
        self.put(statistic, finer, 0);
    }

    fn put(&self, statistic: &mut Statistic, finer: u32, coarser: u32) {
        let toward_zero = |end: i64| {
            let near = i128::from(end).clamp(-self.all, self.all);
            let steps = (near.abs() << finer) >> coarser;
            (steps * near.signum()) as i64
        };
        statistic.steps = Steps::of(self.steps.exponent() - finer as i32 + coarser as i32);
        statistic.low = toward_zero(self.low.min(0));
        statistic.high = toward_zero(self.high.max(0));
        let most = (self.all << finer) >> coarser;
        statistic.in_all = Some(InAll {
            most: u64::try_from(most).unwrap_or(u64::MAX),
            finer,
            by: self.by,
        });
    }
}

fn farther((low, high): (i64, i64)) -> u64 {
    low.unsigned_abs().max(high.unsigned_abs())
}

/// Bounds a statistic under limits that are so many times as wide: between these ends of the argument of the question's own in a group, and with so many rows in all.
pub(crate) fn bound_wide(
    wide: &mut Statistic,
    of: &Statistic,
    (low, high): (i64, i64),
    (factor, rows): (u64, Option<RowsInAll>),
) {
    let Some(InAll { finer, by, .. }) = of.in_all else {
        return;
    };
    let (all, by) = match (by, rows) {
        (By::Rows { each }, Some(rows)) => (i128::from(each) * i128::from(rows.most), by),
        (By::Itself { most }, _) => {
            let most = most.saturating_mul(factor).min(MOST_SUM);
            (i128::from(most), By::Itself { most })
        }
        (By::Rows { .. }, None) => return,
    };
    let steps = Steps::of(of.steps.exponent() + finer as i32);
    let part = Part {
        steps,
        low,
        high,
        all,
        by,
    };
    let coarser = Steps::bits_over(part.farthest() << finer);
    part.put(wide, finer, coarser);
}

impl RowsInAll {
    /// The same under limits that are so many times as wide, of which so many rows count in a group.
    pub(crate) fn times(self, factor: u64, in_group: u64) -> Self {
        Self {
            most: self.most.saturating_mul(factor).min(MOST_ROWS),
            in_group,
        }
    }

    /// The rows of a unit in a group.
    pub(crate) fn partial(self) -> Partial {
        Partial::Rows {
            most: self.in_group as i64,
        }
    }
}

/// By how many bits steps of a unit's rows are finer, given the statistic that counts them, if one does; and how much of them counts in all groups together, in these.
pub(crate) fn of_rows(rows: RowsInAll, counted: Option<&Statistic>) -> (u32, u64) {
    let counted = counted.and_then(|counted| counted.in_all);
    let finer = counted.map_or(FINER, |in_all| in_all.finer);
    (finer, rows.most << finer)
}

/// By how many bits steps of a sum are finer that is scaled by itself, and how much of it counts in all groups together, in these.
pub(crate) fn of_itself(statistic: &Statistic) -> Option<(u32, u64)> {
    match statistic.in_all {
        Some(InAll {
            finer,
            by: By::Itself { most },
            ..
        }) => Some((finer, most << finer)),
        _ => None,
    }
}

/// A number of the bounding step: where it is, by how many bits its steps are coarser in the end, and which statistic it is.
pub(crate) type Number<'a> = (usize, u32, &'a Statistic);

/// How the bounding step bounds what counts in all groups together. `rows`: those of the unit, and where their number is.
///
/// # Errors
/// If a statistic is priced for less than the bounding step lets count.
pub(crate) fn lengths<'a>(
    numbers: impl Iterator<Item = Number<'a>> + Clone,
    rows: Option<(RowsInAll, usize)>,
    unpriced: fn() -> Error,
) -> Result<Vec<Length>, Error> {
    let one = |of: usize, (finer, most): (u32, u64)| Length {
        of,
        norm: Norm::One,
        finer,
        most,
        with: Vec::new(),
    };
    let check = |counts: u64, coarser: u32, statistic: &Statistic| match statistic.in_all {
        Some(in_all) if counts >> coarser <= in_all.most => Ok(()),
        _ => Err(unpriced()),
    };
    let mut lengths = Vec::new();
    if let Some((rows, of)) = rows {
        let counted = numbers.clone().find(|(place, _, _)| *place == of);
        let mut length = one(of, of_rows(rows, counted.map(|(_, _, counted)| counted)));
        for (place, coarser, statistic) in numbers.clone() {
            let Some(InAll {
                finer,
                by: By::Rows { each },
                ..
            }) = statistic.in_all
            else {
                continue;
            };
            if place == of {
                check(length.most, coarser, statistic)?;
                continue;
            }
            let follower = Follower { place, each, finer };
            check(length.follows(&follower), coarser, statistic)?;
            length.with.push(follower);
        }
        lengths.push(length);
    }
    for (place, coarser, statistic) in numbers {
        match (statistic.in_all, of_itself(statistic)) {
            (_, Some(length)) => {
                check(length.1, coarser, statistic)?;
                lengths.push(one(place, length));
            }
            (Some(_), None) if rows.is_none() => return Err(unpriced()),
            _ => {}
        }
    }
    Ok(lengths)
}
