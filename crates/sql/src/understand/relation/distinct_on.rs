//! `SELECT DISTINCT ON (person_id, …) … ORDER BY …`: the first row of each person and value. It is `ROW_NUMBER() = 1` over one person's rows, and is read as that.

use super::{Rows, rows};
use crate::Error;
use crate::catalog::Catalog;
use crate::understand::mistakes::unplannable;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{DistinctOn, ExprFunctionExt, LogicalPlanBuilder, lit};

/// The column that numbers the rows of one person and value.
pub(super) const NUMBER: &str = "__deniable_number";

/// Reads a DISTINCT ON as a window, which has to name the unit. Its input is read once, there, so that queries inside of queries take no more than their length.
pub(super) fn first_of_each(on: &DistinctOn, catalog: &Catalog) -> Result<Rows, Error> {
    let number = row_number()
        .partition_by(on.on_expr.clone())
        .order_by(on.sort_expr.clone().unwrap_or_default())
        .build()
        .map_err(unplannable)?;
    let first = LogicalPlanBuilder::from(on.input.as_ref().clone())
        .window([number.alias(NUMBER)])
        .and_then(|plan| plan.filter(super::bare(NUMBER).eq(lit(1i64))))
        .and_then(|plan| plan.project(on.select_expr.clone()))
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)?;
    rows(&first, catalog)
}

/// One whose expressions do not name the unit.
pub(super) fn of_several(whose: &str) -> Error {
    Error::refused(
        format!(
            "DISTINCT ON over private rows keeps one row of several {whose}s, and which one depends on all of them"
        ),
        format!(
            "add the column that names the {whose} to DISTINCT ON, which keeps the first row of each {whose}; or write GROUP BY with MIN, MAX or COUNT(*)"
        ),
    )
}
