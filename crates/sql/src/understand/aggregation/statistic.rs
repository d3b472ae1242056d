//! The numbers that are released: what one unit adds to each, at most.

use super::in_all::InAll;
use crate::understand::mistakes::unplannable;
use crate::values::facts::Kind;
use crate::values::steps::Steps;
use crate::{Error, Range};
use accounting::Neighbors;
use bound::{Partial, on_grid};
use datafusion::logical_expr::{Expr, lit};
use exact::{Integer, Rational};
use mechanism::Sensitivity;

/// Leaves of the tree from which quantiles are read.
pub(crate) const TREE_LEAVES: i64 = 4096;
/// Children of each node.
pub(crate) const TREE_BRANCHES: i64 = 16;
/// Levels below the root, which is not released: with 16 branches three levels have 4096 leaves, and a rank is a sum of at most 45 nodes.
pub(crate) const TREE_LEVELS: u64 = 3;

/// Where a unit's sum is clamped as a whole, its rows are cut here, far outside, so that they may cancel. Half a million rows of this size fit an `i64`; the sum of more wraps around, as every
/// engine computes it, and is clamped all the same.
pub(crate) const UNLIMITED: i64 = 1 << 44;

/// A column of rows as integers on a grid, NULL where there is no number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Argument {
    /// The value.
    pub(crate) value: Expr,
    /// Its kind, a number.
    pub(crate) kind: Kind,
    /// The grid.
    pub(crate) steps: Steps,
    /// Clamped to this many steps.
    pub(crate) low: i64,
    /// Clamped to this many steps.
    pub(crate) high: i64,
    /// Subtracted after clamping, to make both ends equally far from zero.
    pub(crate) centre: i64,
}

impl Argument {
    /// A value clamped to a range, of which one unit may contribute `times`.
    pub(crate) fn new(value: Expr, kind: Kind, range: Range, times: u64) -> Result<Self, Error> {
        let steps = Steps::holding(range, kind, times)?;
        Ok(Self {
            value,
            kind,
            steps,
            low: steps.round(range.low),
            high: steps.round(range.high),
            centre: 0,
        })
    }

    /// The same around the middle of its range.
    pub(crate) fn centred(self) -> Self {
        let centre = self.low + (self.high - self.low) / 2;
        Self { centre, ..self }
    }

    /// The same on a grid that is coarser by this many bits.
    pub(crate) fn coarser(&self, bits: u32) -> Self {
        let coarse = |steps: i64| halved(i128::from(steps), bits);
        Self {
            steps: Steps::of(self.steps.exponent() + bits as i32),
            low: coarse(self.low),
            high: coarse(self.high),
            centre: coarse(self.centre),
            ..self.clone()
        }
    }

    /// The same with ends so many times as far from zero, for a sum that is clamped as a whole.
    pub(crate) fn wider(&self, factor: u64) -> Self {
        let wider = |end: i64| {
            let end = i128::from(end) * i128::from(factor);
            end.clamp(-i128::from(UNLIMITED), i128::from(UNLIMITED)) as i64
        };
        Self {
            low: wider(self.low.min(0)).min(self.low),
            high: wider(self.high.max(0)).max(self.high),
            ..self.clone()
        }
    }

    /// The column. `native`: with the engine's own fast function instead of built-in ones; they agree on every value.
    pub(crate) fn column(&self, native: bool) -> Result<Expr, Error> {
        let exponent = self.steps.exponent();
        let placed = on_grid(
            self.value.clone(),
            self.kind,
            exponent,
            self.low,
            self.high,
            native,
        );
        let placed = placed.map_err(unplannable)?;
        Ok(if self.centre == 0 {
            placed
        } else {
            placed - lit(self.centre)
        })
    }
}

/// This many steps on a grid that is coarser by this many bits: the nearest, upwards in the middle.
pub(crate) fn halved(steps: i128, bits: u32) -> i64 {
    let middle = (1i128 << bits) >> 1;
    ((steps + middle) >> bits) as i64
}

/// What is measured in each group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Measure {
    /// Units.
    Units,
    /// Rows, of a unit at most this many.
    Rows { most: u64 },
    /// Rows where the argument is there, of a unit at most this many.
    Present { argument: Argument, most: u64 },
    /// The sum of the argument, of a unit clamped as a whole.
    Sum { argument: Argument, low: i64, high: i64 },
    /// The sum of the argument, where a unit with more than `most` rows counts as `most` rows of its own average.
    Mean { argument: Argument, most: u64 },
    /// Rows in each bin of a range, and in groups of bins, and in groups of those.
    Tree {
        value: Expr,
        kind: Kind,
        range: Range,
        most: u64,
    },
    /// Rows in each of this many bins; `place` is a row's bin, or NULL.
    Histogram { place: Expr, bins: usize, most: u64 },
    /// Distinct values, of a unit at most this many.
    Distinct { value: Expr, most: u64 },
    /// A number that describes all units, from the pass that gives the totals of another aggregation: see `price::cut`.
    OfAllUnits,
}

/// Between which ends so many rows of an argument lie together, around its centre.
pub(crate) fn ends_of_mean(argument: &Argument, most: u64) -> (i64, i64) {
    let times = |end: i64| (end - argument.centre).saturating_mul(most as i64);
    (times(argument.low).min(0), times(argument.high).max(0))
}

/// A number for each group, in grid steps, and how much one unit can add to it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statistic {
    pub(crate) measure: Measure,
    /// The grid of its values.
    pub(crate) steps: Steps,
    /// One unit adds at least this to a group; at most 0, since it may be absent.
    pub(crate) low: i64,
    /// One unit adds at most this to a group; at least 0.
    pub(crate) high: i64,
    /// What one unit adds to all groups together is at most this far from zero, where that is bounded: see [`super::in_all`].
    pub(crate) in_all: Option<InAll>,
    /// How many outputs wait for it: it gets the more of the budget.
    pub(crate) weight: u32,
    /// For people.
    pub(crate) name: String,
}

impl Statistic {
    /// A number of all units, to which each adds at most this.
    pub(crate) fn of_all_units(most: i64, steps: Steps, weight: u32, name: String) -> Self {
        Self {
            measure: Measure::OfAllUnits,
            steps,
            low: 0,
            high: most,
            in_all: None,
            weight,
            name,
        }
    }

    /// Between which ends what a unit adds to a sum is clamped.
    pub(crate) fn ends_of_sum(&self) -> Option<(i64, i64)> {
        match &self.measure {
            Measure::Sum { low, high, .. } => Some((*low, *high)),
            _ => None,
        }
    }

    /// The most that one unit, added or removed, moves a group's number by.
    pub(crate) fn farthest(&self) -> u64 {
        self.low.unsigned_abs().max(self.high.unsigned_abs())
    }

    fn counting(measure: Measure, most: u64, name: String) -> Self {
        Self {
            measure,
            steps: Steps::ones(),
            low: 0,
            high: most as i64,
            in_all: None,
            weight: 1,
            name,
        }
    }

    pub(crate) fn units() -> Self {
        Self::counting(Measure::Units, 1, "units".to_owned())
    }

    pub(crate) fn rows(most: u64) -> Self {
        Self::counting(Measure::Rows { most }, most, "rows".to_owned())
    }

    pub(crate) fn present(argument: Argument, most: u64, of: &str) -> Self {
        Self::counting(
            Measure::Present { argument, most },
            most,
            format!("rows with {of}"),
        )
    }

    pub(crate) fn distinct(value: Expr, most: u64, of: &str) -> Self {
        Self::counting(Measure::Distinct { value, most }, most, format!("distinct {of}"))
    }

    pub(crate) fn tree(value: Expr, kind: Kind, range: Range, most: u64, of: &str) -> Self {
        let measure = Measure::Tree {
            value,
            kind,
            range,
            most,
        };
        Self::counting(measure, most, format!("ranks of {of}"))
    }

    pub(crate) fn histogram(place: Expr, bins: usize, most: u64, of: &str) -> Self {
        let measure = Measure::Histogram { place, bins, most };
        Self::counting(measure, most, format!("rows by {of}"))
    }

    /// Whether it is counted from single rows, or values of them.
    pub(crate) fn counts_single_rows(&self) -> bool {
        matches!(
            self.measure,
            Measure::Tree { .. } | Measure::Histogram { .. } | Measure::Distinct { .. }
        )
    }

    /// Levels of nodes in which each row is once, for what counts rows by a place of theirs.
    fn levels(&self) -> Option<(u64, u64)> {
        match &self.measure {
            Measure::Tree { most, .. } => Some((TREE_LEVELS, *most)),
            Measure::Histogram { most, .. } => Some((1, *most)),
            _ => None,
        }
    }

    pub(crate) fn sum(argument: Argument, low: i64, high: i64, of: &str) -> Self {
        Self {
            steps: argument.steps,
            measure: Measure::Sum { argument, low, high },
            low: low.min(0),
            high: high.max(0),
            in_all: None,
            weight: 1,
            name: format!("sum of {of}"),
        }
    }

    pub(crate) fn mean(argument: Argument, most: u64, of: &str) -> Self {
        let (low, high) = ends_of_mean(&argument, most);
        Self {
            steps: argument.steps,
            low,
            high,
            measure: Measure::Mean { argument, most },
            in_all: None,
            weight: 1,
            name: format!("deviations of {of}"),
        }
    }

    /// How the bounding step computes it; `None` for what looks at single rows. `place` is where the argument's column is.
    pub(crate) fn partial(&self, place: usize) -> Option<Partial> {
        Some(match &self.measure {
            Measure::Units => Partial::Units,
            Measure::Rows { most } => Partial::Rows { most: *most as i64 },
            Measure::Present { most, .. } => Partial::Present {
                argument: place,
                most: *most as i64,
            },
            Measure::Sum { low, high, .. } => Partial::Sum {
                argument: place,
                low: *low,
                high: *high,
            },
            Measure::Mean { argument, most } => {
                let (low, high) = ends_of_mean(argument, *most);
                Partial::Mean {
                    argument: place,
                    most: *most as i64,
                    low,
                    high,
                }
            }
            Measure::Tree { .. }
            | Measure::Histogram { .. }
            | Measure::Distinct { .. }
            | Measure::OfAllUnits => return None,
        })
    }

    /// The argument that the bounding step needs.
    pub(crate) fn argument(&self) -> Option<&Argument> {
        match &self.measure {
            Measure::Present { argument, .. }
            | Measure::Sum { argument, .. }
            | Measure::Mean { argument, .. } => Some(argument),
            _ => None,
        }
    }

    /// How far the vector of all groups' values moves, in steps.
    ///
    /// # Privacy
    /// Claim: between neighbours, the vector moves by at most this in number of coordinates, ℓ₁, ℓ₂ and ℓ∞.
    /// Proof: let A = max(|low|, |high|) and W = high − low, where low ≤ 0 ≤ high bound what one unit adds to one group (nothing, where it is
    /// absent), and k the groups in which it counts. *Added or removed*: k coordinates move, each by at most A. *Changed*: it leaves k groups and enters
    /// k. A group that it leaves and enters moves by at most W ≤ 2A, any other by at most A. With c groups of the first kind, at most 2(k−c) of the
    /// second: ℓ₁ ≤ cW + 2(k−c)A ≤ 2kA, ℓ₂² ≤ cW² + 2(k−c)A² ≤ k·max(W², 2A²), ℓ∞ ≤ W. Without keys there is one group and no other to move to: one
    /// coordinate, by at most A or W. A tree has each of a unit's rows once in each level: in one level of one group it moves ℓ₁ by at most
    /// `most` and no coordinate by more, so ℓ₂² by at most `most`²; levels and groups add up. A histogram is a tree of one level.
    /// Where what a unit adds to all groups together is at most L from zero ([`InAll`]), it moves ℓ₁ by at most L, or by 2L where it leaves its groups for others; and ℓ₂² is at most ℓ₁·ℓ∞ of any vector. Both hold beside what is said above.
    /// A level of a tree has then at most L rows of a unit, at most `most` of them in a node.
    /// Assumes: the bounding step, which looks at one unit's rows only (`bound`); and that an added person is a new unit, whose rows were nobody else's (`sources::identifier`). Were they
    /// somebody who is there, adding them would be a change of that unit, which moves by W and not by A.
    pub(crate) fn sensitivity(
        &self,
        groups: u64,
        grouped: bool,
        neighbors: Neighbors,
    ) -> Result<Sensitivity, Error> {
        // What is clamped to one number does not move at all; one step keeps its noise well-defined.
        let whole = |value: u128| Rational::from(Integer::from(value.max(1)));
        let most = u128::from(self.farthest());
        let width = (i128::from(self.high) - i128::from(self.low)) as u128;
        let groups_wide = u128::from(groups);
        let sides: u128 = match neighbors {
            Neighbors::AddRemove => 1,
            Neighbors::ChangeOne => 2,
        };
        if let Some((levels, most)) = self.levels() {
            let most = u128::from(most);
            let in_groups = groups_wide * most;
            let in_all = self
                .in_all
                .map_or(in_groups, |in_all| in_groups.min(u128::from(in_all.most)));
            let levels = u128::from(levels) * sides;
            let coordinates = u64::try_from(levels * in_all).unwrap_or(u64::MAX);
            let l1 = whole(levels * in_all);
            let l2_squared = whole(levels * in_all * most);
            return Ok(Sensitivity::vector(coordinates, whole(most))?.with_norms(&l1, &l2_squared)?);
        }
        let in_all = self.in_all.map(|in_all| u128::from(in_all.most) * sides);
        if neighbors == Neighbors::AddRemove {
            let all = Sensitivity::vector(groups, whole(most))?;
            let Some(in_all) = in_all.filter(|in_all| *in_all < groups_wide * most) else {
                return Ok(all);
            };
            let l2_squared = (groups_wide * most * most).min(in_all * most);
            return Ok(all.with_norms(&whole(in_all), &whole(l2_squared))?);
        }
        if !grouped {
            return Ok(Sensitivity::scalar(whole(width))?);
        }
        let coordinates = groups.checked_mul(2).ok_or(mechanism::Error::BadSensitivity)?;
        let mut l1 = 2 * groups_wide * most;
        let mut l2_squared = groups_wide * (width * width).max(2 * most * most);
        if let Some(in_all) = in_all {
            l1 = l1.min(in_all);
            l2_squared = l2_squared.min(in_all * width.max(most));
        }
        let (l1, l2_squared) = (whole(l1), whole(l2_squared));
        Ok(Sensitivity::vector(coordinates, whole(width.max(most)))?.with_norms(&l1, &l2_squared)?)
    }
}
