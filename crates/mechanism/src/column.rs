use crate::{Aggregate, Error, Sensitive, Sensitivity};
use accounting::PrivacyUnit;
use noise::Grid;

/// One value of each unit, in grid steps: what quantiles are taken of.
///
/// A type of its own, so that a column of data cannot be mistaken for a vector of aggregates, to which noise would be added as it stands.
/// Its sensitivity counts rows: one unit is one row.
pub struct Column(Vec<i64>);

impl std::fmt::Debug for Column {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Column(..)")
    }
}

impl Column {
    /// Values in grid steps, one of each unit.
    pub fn new(values: Vec<i64>) -> Self {
        Self(values)
    }

    /// The values within bounds, in ascending order: what is left does not depend on the order of rows.
    pub(crate) fn sorted(self, bounds: Bounds) -> Vec<i64> {
        let mut values = self.0;
        for value in &mut values {
            *value = (*value).clamp(bounds.lower, bounds.upper);
        }
        values.sort_unstable();
        values
    }
}

impl Aggregate<Column> {
    /// The values of all units, each put on the grid. NaN counts as zero; what the grid cannot hold becomes its nearest end.
    pub fn column(values: &Sensitive<Vec<f64>>, grid: Grid, unit: PrivacyUnit) -> Self {
        let rounded = values.as_ref().iter().map(|value| grid.round(*value)).collect();
        Self::claimed(Sensitive::new(Column(rounded)), one_row(), unit, grid)
    }
}

/// One unit is one row.
pub(crate) fn one_row() -> Sensitivity {
    Sensitivity::scalar(1).expect("one is positive")
}

/// A public range of grid points, from which an answer is chosen and into which data is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    lower: i64,
    upper: i64,
    grid: Grid,
}

impl Bounds {
    /// The grid points from `lower` to `upper`, both included, in steps of `grid`.
    ///
    /// They must be public knowledge: bounds that were read off the data tell about it.
    pub fn new(lower: i64, upper: i64, grid: Grid) -> Result<Self, Error> {
        let width = i128::from(upper) - i128::from(lower);
        if !(0..=1 << 62).contains(&width) {
            return Err(Error::OutOfRange {
                what: "the bounds of a column",
                range: "in order and at most 2^62 grid steps apart",
            });
        }
        Ok(Self { lower, upper, grid })
    }

    /// The smallest point.
    pub fn lower(self) -> i64 {
        self.lower
    }

    /// The largest point.
    pub fn upper(self) -> i64 {
        self.upper
    }

    /// The grid.
    pub fn grid(self) -> Grid {
        self.grid
    }

    /// How many steps there are from end to end.
    pub(crate) fn width(self) -> i64 {
        self.upper - self.lower
    }
}

/// Data in ascending order between its bounds, and how far changes of a few rows can pull it apart around its median.
///
/// Ranks count from 1. Below the first row stands the lower bound, above the last the upper one, as often as needed.
pub(crate) struct Ordered {
    values: Vec<i64>,
    bounds: Bounds,
}

impl Ordered {
    pub(crate) fn new(column: Column, bounds: Bounds) -> Self {
        Self {
            values: column.sorted(bounds),
            bounds,
        }
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> i64 {
        self.values.len() as i64
    }

    fn at(&self, rank: i64) -> i64 {
        if rank < 1 {
            return self.bounds.lower;
        }
        self.values
            .get(rank as usize - 1)
            .copied()
            .unwrap_or(self.bounds.upper)
    }

    fn middle(&self) -> i64 {
        (self.rows() + 1) / 2
    }

    /// The lower median: the value of rank ⌈n/2⌉. Of no rows at all, the lower bound.
    pub(crate) fn median(&self) -> i64 {
        self.at(self.middle())
    }

    /// A⁽ᵏ⁾ = max over 0 ≤ t ≤ k+1 of x_{m+t} − x_{m+t−k−1}, where m is the rank of the median: how far one more change can move the
    /// median once k rows were changed. Takes k+2 subtractions.
    ///
    /// Three facts carry the proofs of those who use it:
    /// - A⁽⁰⁾ = max(x_m − x_{m−1}, x_{m+1} − x_m) is the local sensitivity: one changed row moves no order statistic past its neighbour.
    /// - A⁽ᵏ⁾ grows with k, since x_{m+t−k−1} ≥ x_{m+t−k−2}; for k ≥ n it is upper − lower (take m+t = n+1).
    /// - A⁽ᵏ⁾(x) ≤ A⁽ᵏ⁺¹⁾(x') for neighbours x, x'. Take j = m+t and i = j−k−1. If a row of x grew, x_j ≤ x'_j and x_i ≥ x'_{i−1}, so
    ///   x_j − x_i ≤ x'_j − x'_{i−1}, which is among the terms of A⁽ᵏ⁺¹⁾(x') at the same t. If it shrank, x_j ≤ x'_{j+1} and x_i ≥ x'_i,
    ///   and x'_{j+1} − x'_i is there at t+1.
    ///
    /// Nissim, Raskhodnikova and Smith 2007.
    pub(crate) fn spread(&self, changes: i64) -> i64 {
        let middle = self.middle();
        let reach = changes + 1;
        (0..=reach)
            .map(|up| self.at(middle + up) - self.at(middle + up - reach))
            .max()
            .expect("there is always a term")
    }

    /// At least A⁽ᵏ⁾, in two look-ups: all its terms lie between x_{m−k−1} and x_{m+k+1}.
    pub(crate) fn spread_at_most(&self, changes: i64) -> i64 {
        self.at(self.middle() + changes + 1) - self.at(self.middle() - changes - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bounds(upper: i64) -> Bounds {
        Bounds::new(0, upper, Grid::new(0)).unwrap()
    }

    fn ordered(values: &[i64]) -> Ordered {
        Ordered::new(Column::new(values.to_vec()), bounds(10))
    }

    #[test]
    fn medians() {
        assert_eq!(ordered(&[9, 1, 5]).median(), 5);
        assert_eq!(ordered(&[9, 1, 5, 6]).median(), 5);
        assert_eq!(ordered(&[99]).median(), 10);
        assert_eq!(ordered(&[]).median(), 0);
        assert_eq!(format!("{:?}", Column::new(vec![1, 2])), "Column(..)");
    }

    #[test]
    fn impossible_bounds_are_refused() {
        assert!(Bounds::new(1, 0, Grid::new(0)).is_err());
        assert!(Bounds::new(i64::MIN, i64::MAX, Grid::new(0)).is_err());
        assert!(Bounds::new(i64::MIN, i64::MIN, Grid::new(0)).is_ok());
    }

    /// By brute force over all data of three or four rows on a small range: A⁽⁰⁾ is the largest move of the median in one change.
    #[test]
    fn spread_is_the_local_sensitivity_some_changes_away() {
        for rows in [1u32, 3, 4] {
            let all: Vec<Vec<i64>> = (0..4i64.pow(rows))
                .map(|code| (0..rows).map(|row| code / 4i64.pow(row) % 4).collect())
                .collect();
            let median = |data: &[i64]| Ordered::new(Column::new(data.to_vec()), bounds(3)).median();
            let distance = |a: &[i64], b: &[i64]| a.iter().zip(b).filter(|(a, b)| a != b).count();
            let local = |data: &[i64]| {
                let moves = all.iter().filter(|other| distance(data, other) <= 1);
                moves
                    .map(|other| (median(other) - median(data)).abs())
                    .max()
                    .unwrap()
            };
            for data in all.iter().step_by(3) {
                for changes in 0..=rows as usize {
                    let near = all.iter().filter(|other| distance(data, other) <= changes);
                    let largest = near.map(|other| local(other)).max().unwrap();
                    let spread = Ordered::new(Column::new(data.clone()), bounds(3)).spread(changes as i64);
                    assert_eq!(spread, largest, "{data:?} after {changes} changes");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn one_change_is_worth_one_step(
            mut values in prop::collection::vec(-3i64..14, 1..9),
            row in 0usize..9,
            other in -3i64..14,
            changes in 0i64..10,
        ) {
            let before = ordered(&values);
            let row = row % values.len();
            values[row] = other;
            let after = ordered(&values);
            prop_assert!((before.median() - after.median()).abs() <= before.spread(0));
            prop_assert!(before.spread(changes) <= after.spread(changes + 1));
            prop_assert!(after.spread(changes) <= before.spread(changes + 1));
            prop_assert!(before.spread(changes) <= before.spread(changes + 1));
            prop_assert!(before.spread(changes) <= before.spread_at_most(changes));
            prop_assert_eq!(before.spread(before.rows()), 10);
        }
    }
}
