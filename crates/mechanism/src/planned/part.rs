//! What one attribute contributes to a measurement.

use exact::{Natural, Rational, to_f64_up};

/// What one attribute contributes to a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannedPart {
    /// What each cell has beyond the first cell of its group: the part of a level that its parents do not tell.
    Differences {
        /// For each value of the attribute, its cell.
        cells: Vec<u32>,
        /// For each cell, its group.
        groups: Vec<u32>,
    },
    /// Sums of values with these integer factors: a row a sum, a factor for each value.
    Combinations(Vec<Vec<i32>>),
    /// The cells themselves.
    Cells {
        /// For each value of the attribute, its cell.
        cells: Vec<u32>,
        /// How many cells there are.
        count: u32,
    },
}

/// A numerator and a denominator.
pub(super) type Fraction = (Natural, Natural);

/// Bounds on ⟨p, p'⟩ of what two values of an attribute contribute, after what is never released is projected away.
pub(super) struct Inner {
    /// ⟨p, p⟩ is at most this, for every value.
    pub(super) most: Fraction,
    /// −⟨p, p'⟩ is at most this, for any two values; at most `most`.
    pub(super) opposite: Fraction,
}

impl PlannedPart {
    /// How many values the attribute has.
    pub(super) fn values(&self) -> usize {
        match self {
            PlannedPart::Differences { cells, .. } | PlannedPart::Cells { cells, .. } => cells.len(),
            PlannedPart::Combinations(rows) => rows.first().map_or(0, Vec::len),
        }
    }

    /// How many numbers get noise.
    pub(super) fn noised(&self) -> usize {
        match self {
            PlannedPart::Differences { groups, .. } => groups.len(),
            PlannedPart::Combinations(rows) => rows.len(),
            PlannedPart::Cells { count, .. } => *count as usize,
        }
    }

    /// How many numbers leave.
    pub(super) fn released(&self) -> usize {
        match self {
            PlannedPart::Differences { groups, .. } => groups.len() - sizes(groups).len(),
            _ => self.noised(),
        }
    }

    /// The size of the largest group whose common part is dropped; 1 where nothing is.
    pub(super) fn largest_group(&self) -> u64 {
        match self {
            PlannedPart::Differences { groups, .. } => sizes(groups).into_iter().max().unwrap_or(1),
            _ => 1,
        }
    }

    pub(super) fn is_well_formed(&self) -> bool {
        match self {
            PlannedPart::Differences { cells, groups } => {
                cells.iter().all(|cell| (*cell as usize) < groups.len())
                    && sizes(groups).iter().all(|size| *size > 0)
                    && self.released() > 0
            }
            PlannedPart::Combinations(rows) => {
                let values = self.values();
                values > 0 && rows.iter().all(|row| row.len() == values)
            }
            PlannedPart::Cells { cells, count } => *count > 0 && cells.iter().all(|cell| cell < count),
        }
    }

    /// How far one row moves it, squared, and how far at most two rows move it in opposite directions, as a product of the two:
    /// for people and for planning. What decides is computed exactly.
    pub fn moved(&self) -> (f64, f64) {
        let inner = self.inner();
        let number = |(above, below): Fraction| to_f64_up(&(Rational::from(above) / Rational::from(below)));
        (number(inner.most), number(inner.opposite))
    }

    /// See [`Inner`].
    pub(super) fn inner(&self) -> Inner {
        match self {
            // p = e_c − (sum over the group)/g: ⟨p, p⟩ = 1 − 1/g, ⟨p, p'⟩ = −1/g in one group and 0 between two.
            PlannedPart::Differences { groups, .. } => {
                let sizes = sizes(groups);
                let largest = sizes.iter().copied().max().unwrap_or(1);
                let smallest = sizes.iter().copied().filter(|size| *size > 1).min();
                Inner {
                    most: (Natural::from(largest - 1), Natural::from(largest)),
                    opposite: smallest.map_or((Natural::ZERO, Natural::ONE), |size| {
                        (Natural::ONE, Natural::from(size))
                    }),
                }
            }
            PlannedPart::Combinations(rows) => combined(rows, self.values()),
            PlannedPart::Cells { .. } => Inner {
                most: (Natural::ONE, Natural::ONE),
                opposite: (Natural::ZERO, Natural::ONE),
            },
        }
    }
}

/// ⟨p, p'⟩ is an entry of BᵀB.
fn combined(rows: &[Vec<i32>], values: usize) -> Inner {
    let (mut most, mut least) = (0i128, 0i128);
    for one in 0..values {
        for other in one..values {
            let entry: i128 = rows
                .iter()
                .map(|row| i128::from(row[one]) * i128::from(row[other]))
                .sum();
            most = most.max(entry);
            least = least.min(entry);
        }
    }
    Inner {
        most: (Natural::from(most.unsigned_abs()), Natural::ONE),
        opposite: (Natural::from(least.unsigned_abs()), Natural::ONE),
    }
}

/// How many cells each group has.
pub(super) fn sizes(groups: &[u32]) -> Vec<u64> {
    let count = groups.iter().max().map_or(0, |group| *group as usize + 1);
    let mut sizes = vec![0u64; count];
    for group in groups {
        sizes[*group as usize] += 1;
    }
    sizes
}
