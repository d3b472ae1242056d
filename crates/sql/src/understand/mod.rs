//! What a query means: from SQL to private rows with owners (`relation`), the statistics that are asked of them (`aggregation`) and what is left to do with the
//! released ones (`frontier`). Depends on the query and the catalog alone.

pub(crate) mod aggregates;
pub(crate) mod aggregation;
pub(crate) mod counting;
pub(crate) mod dialect;
pub(crate) mod expression;
pub(crate) mod frontier;
pub(crate) mod grouping_sets;
pub(crate) mod groupings;
pub(crate) mod mistakes;
mod outer_public;
pub(crate) mod planner;
pub(crate) mod relation;
pub(crate) mod same;
pub(crate) mod series;
pub(crate) mod spelling;
pub(crate) mod tabulation;
pub(crate) mod today;
pub(crate) mod together;
pub(crate) mod unknown_values;
pub(crate) mod unstated;
