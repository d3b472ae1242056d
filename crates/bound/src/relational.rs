//! Bounding with built-in operators and functions alone, so that a cluster or a database can do it.

use super::registers::{argument_name, clamped};
use super::{Partial, Rule, key_columns, key_name};
use datafusion::common::{Column, Result};
use datafusion::functions_aggregate::expr_fn::sum;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{Expr, ExprFunctionExt, LogicalPlan, LogicalPlanBuilder, SortExpr, when};
use datafusion::prelude::{coalesce, col, lit};

/// What each unit adds to each group it counts in: `key0…`, `partial0…`.
///
/// GROUP BY unit and keys gives the registers; ROW_NUMBER over the unit's groups by hash says which count; then each is clamped.
pub(crate) fn contributions(prepared: LogicalPlan, rule: &Rule) -> Result<LogicalPlan> {
    let registers = rule.registers();
    let mut by = vec![col("unit")];
    by.extend(key_columns(rule));
    let states = LogicalPlanBuilder::from(somebody(prepared)?)
        .aggregate(by, registers.aggregates())?
        .build()?;
    let chosen = match rule.limit() {
        None => states,
        Some(limit) => chosen(states, rule, limit)?,
    };
    let mut columns = key_columns(rule);
    columns.extend(
        (registers.contributions()?.into_iter().enumerate())
            .map(|(place, contribution)| contribution.alias(partial_name(place))),
    );
    LogicalPlanBuilder::from(chosen).project(columns)?.build()
}

/// The rows that are somebody's.
pub(crate) fn somebody(prepared: LogicalPlan) -> Result<LogicalPlan> {
    LogicalPlanBuilder::from(prepared)
        .filter(col("unit").is_not_null())?
        .build()
}

/// Of rows that are one for each unit and group, those whose group counts.
fn chosen(states: LogicalPlan, rule: &Rule, limit: u64) -> Result<LogicalPlan> {
    let ranked = with_hash(states, rule)?;
    let place = row_number()
        .partition_by(vec![col("unit")])
        .order_by(order_of_groups(rule))
        .build()?
        .alias("place");
    LogicalPlanBuilder::from(ranked)
        .window(vec![place])?
        .filter(col("place").lt_eq(lit(limit)))?
        .build()
}

/// Adds the column `hash`: that of the row's group for the row's unit.
pub(crate) fn with_hash(rows: LogicalPlan, rule: &Rule) -> Result<LogicalPlan> {
    let columns: Vec<Expr> = rows.schema().columns().into_iter().map(Expr::Column).collect();
    let with = |expressions: [Expr; 2]| columns.iter().cloned().chain(expressions).collect::<Vec<_>>();
    let keys = key_columns(rule).into_iter().zip(rule.keys.iter().cloned());
    let digests = with([
        rule.secret.of_unit(col("unit"), &rule.unit).alias("unit_digest"),
        rule.secret.of_group(keys)?.alias("group_digest"),
    ]);
    let hash = rule.secret.hash(&col("unit_digest"), &col("group_digest"));
    LogicalPlanBuilder::from(rows)
        .project(digests)?
        .project(with([hash.alias("hash"), col("unit_digest")]))?
        .build()
}

/// Which of a unit's groups comes first: that of smallest hash; of equals, that of smallest name, NULL last.
pub(crate) fn order_of_groups(rule: &Rule) -> Vec<SortExpr> {
    let mut order = vec![col("hash").sort(true, false)];
    order.extend(key_columns(rule).into_iter().map(|key| key.sort(true, false)));
    order
}

/// The sum of contributions over units.
pub(crate) fn totals(contributions: LogicalPlan, keys: &[Column], partials: usize) -> Result<LogicalPlan> {
    let sums = (0..partials)
        .map(|place| sum(col(partial_name(place))).alias(partial_name(place)))
        .collect();
    renamed(contributions, keys, sums)
}

/// What each row adds to its group where each unit has one row: nothing to bound but the values.
pub(crate) fn of_single_rows(prepared: LogicalPlan, rule: &Rule) -> Result<LogicalPlan> {
    let mut columns = key_columns(rule);
    for (place, partial) in rule.partials.iter().enumerate() {
        let argument = |argument: usize| col(argument_name(argument));
        let added = match *partial {
            Partial::Units | Partial::Rows { .. } => lit(1i64),
            Partial::Present { argument: at, .. } => {
                when(argument(at).is_null(), lit(0i64)).otherwise(lit(1i64))?
            }
            Partial::Sum {
                argument: at,
                low,
                high,
            }
            | Partial::Mean {
                argument: at,
                low,
                high,
                ..
            } => clamped(argument(at), low, high)?,
        };
        columns.push(added.alias(partial_name(place)));
    }
    LogicalPlanBuilder::from(somebody(prepared)?)
        .project(columns)?
        .build()
}

/// Aggregates by `key0…` and gives the keys their own names back. Without rows there is one row of zeros if there are no keys.
fn renamed(rows: LogicalPlan, keys: &[Column], totals: Vec<Expr>) -> Result<LogicalPlan> {
    let by: Vec<Expr> = (0..keys.len()).map(|place| col(key_name(place))).collect();
    let partials = totals.len();
    let mut columns = under_own_names(keys);
    columns.extend((0..partials).map(|place| {
        let name = partial_name(place);
        coalesce(vec![col(&name), lit(0i64)]).alias(name)
    }));
    LogicalPlanBuilder::from(rows)
        .aggregate(by, totals)?
        .project(columns)?
        .build()
}

/// `key0…` under the names they came with.
pub(crate) fn under_own_names(keys: &[Column]) -> Vec<Expr> {
    keys.iter()
        .enumerate()
        .map(|(place, key)| col(key_name(place)).alias_qualified(key.relation.clone(), key.name.clone()))
        .collect()
}

pub(crate) fn partial_name(place: usize) -> String {
    format!("partial{place}")
}
