//! The private input of a planned release: how many rows have which values.

use crate::{Aggregate, Error, Sensitive, Sensitivity};
use accounting::{Neighbors, PrivacyUnit};
use noise::Grid;

/// A table of counts: a column of codes for each attribute, and a count for each line. Lines may repeat.
///
/// A code that is not one of its attribute's values, where that attribute is measured, makes its line count nowhere, which is decided by that line alone.
#[derive(Clone, Default)]
pub struct Cells {
    columns: Vec<Vec<u32>>,
    counts: Vec<u32>,
}

impl std::fmt::Debug for Cells {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Cells(..)")
    }
}

impl Cells {
    /// With these columns, one for each attribute, and these counts, one for each line.
    ///
    /// # Panics
    /// If they are not equally long, or longer than 2³¹ − 1, so that no sum of counts is too large for `i64`.
    pub fn new(columns: Vec<Vec<u32>>, counts: Vec<u32>) -> Self {
        assert!(
            columns.iter().all(|column| column.len() == counts.len()),
            "a count for each line of each column"
        );
        assert!(counts.len() < 1 << 31, "at most 2^31 - 1 lines");
        Self { columns, counts }
    }

    /// Rows as they are, each counting once: a column for each attribute.
    ///
    /// # Panics
    /// As [`Cells::new`].
    pub fn of_rows(columns: Vec<Vec<u32>>) -> Self {
        let rows = columns.first().map_or(0, Vec::len);
        Self::new(columns, vec![1; rows])
    }

    pub(crate) fn columns(&self) -> &[Vec<u32>] {
        &self.columns
    }

    pub(crate) fn counts(&self) -> &[u32] {
        &self.counts
    }
}

impl Aggregate<Cells> {
    /// Counts of rows, of which one unit has at most `rows`.
    ///
    /// Under add/remove, neighbours differ by at most `rows` rows that are added, or as many that are removed; under change-one, by at most
    /// `rows` that are removed and at most `rows` that are added. This is a claim that nothing checks: whoever bounded the rows makes it.
    ///
    /// # Errors
    /// When `rows` is zero.
    pub fn of_rows(cells: Sensitive<Cells>, rows: u64, unit: PrivacyUnit) -> Result<Self, Error> {
        let sensitivity = sensitivity_of_rows(rows, unit.neighbors)?;
        Ok(Self::claimed(cells, sensitivity, unit, Grid::new(0)))
    }
}

/// How far `rows` rows move the counts: all may be in one cell.
pub(crate) fn sensitivity_of_rows(rows: u64, neighbors: Neighbors) -> Result<Sensitivity, Error> {
    let count = exact::Rational::from(rows);
    let square = &count * &count;
    // Rows that go and rows that come each move one count by as many as they are.
    let sides = match neighbors {
        Neighbors::AddRemove => 1u64,
        Neighbors::ChangeOne => 2,
    };
    let sides_rational = exact::Rational::from(sides);
    Sensitivity::vector(rows.saturating_mul(sides), count.clone())?
        .with_norms(&(&sides_rational * count), &(sides_rational * square))
}
