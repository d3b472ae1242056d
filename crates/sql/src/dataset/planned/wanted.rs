//! The smallest ε whose tables are exact enough.

use super::ReleaseExplanation;
use crate::Error;
use crate::dataset::least_epsilon::{WantedError, smallest};
use accounting::Epsilon;

/// How large an error of a cell is acceptable.
#[derive(Clone, Debug, PartialEq)]
pub struct WantedTableError {
    /// The error: in rows, or as a part of the rows of a cell.
    pub error: WantedError,
    /// How many rows a cell is taken to have.
    pub cell_size: u64,
    /// The names of the tables that count; all of them if it is empty.
    pub tables: Vec<String>,
}

impl WantedTableError {
    /// The most that the expected error of a cell may be, in rows.
    fn most(&self) -> f64 {
        match self.error {
            WantedError::Absolute(rows) => rows,
            WantedError::Relative(part) => part * self.cell_size.max(1) as f64,
        }
    }

    fn is_met(&self, explanation: &ReleaseExplanation) -> Result<bool, Error> {
        let counts = |name: &String| self.tables.is_empty() || self.tables.contains(name);
        let mut counted = explanation
            .tables
            .iter()
            .filter(|table| counts(&table.name))
            .peekable();
        if counted.peek().is_none() {
            return Err(Error::refused(
                "the release has no such table",
                "`deniable tables explain` lists them",
            ));
        }
        Ok(counted.all(|table| table.expected_error <= self.most()))
    }

    /// The smallest ε, to three digits, with which all tables that count are exact enough.
    pub(crate) fn cheapest(
        &self,
        at: &mut dyn FnMut(&Epsilon) -> Result<ReleaseExplanation, Error>,
    ) -> Result<Epsilon, Error> {
        let is_enough = |epsilon: &Epsilon| match at(epsilon) {
            Ok(explanation) => self.is_met(&explanation),
            // An ε so small that there is no noise for it is not enough.
            Err(Error::Mechanism(_) | Error::Quantity { .. } | Error::Refused { .. }) => Ok(false),
            Err(error) => Err(error),
        };
        let found = smallest(is_enough)?;
        found.ok_or_else(|| {
            Error::refused(
                format!(
                    "no ε brings the expected error of a cell down to {} rows",
                    self.most()
                ),
                "accept a larger error, count cells of more rows with --cell-size, or plan fewer tables",
            )
        })
    }
}
