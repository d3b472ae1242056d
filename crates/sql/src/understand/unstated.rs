//! What a question groups by, where nobody has said how much one unit may add to that.
//!
//! Limits for one grouping do not suit another: a person has visits in fewer months than days. Where a catalog states none for what a question groups by, they can be
//! found for a share of the question's ε (`dataset::blocking::found_limits`). Which questions these are is told from the query alone (`aggregation::unstated`), so nothing depends on data.

use crate::catalog::Limits;
use accounting::Epsilon;

/// Rows of one table, grouped by one thing or by nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Unstated {
    pub(crate) table: String,
    /// A column of the table, or an expression of its columns, as SQL; `None` without groups.
    pub(crate) grouping: Option<String>,
    /// Columns whose sums a unit's limits may bound.
    pub(crate) sums: Vec<String>,
}

/// Limits that were found for what a question groups by.
#[derive(Clone, Debug)]
pub(crate) struct LimitsFound {
    pub(crate) of: Unstated,
    pub(crate) limits: Limits,
}

/// A search for limits, which a question needs before it is answered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Search {
    pub(crate) of: Unstated,
    /// What it may cost.
    pub(crate) epsilon: Epsilon,
    /// What is left for the question.
    pub(crate) own: Epsilon,
}
