//! Bounds on the lengths of a unit's vectors, with operators over the rows that are one for each of its groups.

use super::{order_of_groups, there};
use crate::length::{LengthReadings, Scaling};
use crate::registers::Reading;
use crate::{Length, Rule, VectorStep};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{
    Expr, ExprFunctionExt, LogicalPlan, LogicalPlanBuilder, WindowFrame, WindowFrameBound, WindowFrameUnits,
    when,
};
use datafusion::prelude::{col, lit};

/// Adds what lengths are made of: the columns `own0…`, and `wide0…` for those of wider limits.
pub(super) fn measured(chosen: LogicalPlan, rule: &Rule, limit: u64) -> Result<LogicalPlan> {
    let registers = rule.registers();
    let mut sums = Vec::new();
    // Where there are wider limits, more groups are here than count.
    let counts = match (registers.beside(), rule.counted()) {
        (Some(_), Some(counted)) => Some(col("place").lt_eq(lit(counted))),
        _ => None,
    };
    sums.extend(parts(registers.lengths(), counts, "own")?);
    if let Some(beside) = registers.beside() {
        sums.extend(parts(beside.vectors(), None, "wide")?);
    }
    if sums.is_empty() {
        return Ok(chosen);
    }
    summed_over_groups(chosen, rule, limit, sums)
}

fn parts(
    (lengths, readings): (&LengthReadings, &[Reading]),
    counts: Option<Expr>,
    name: &str,
) -> Result<Vec<(Expr, String)>> {
    let parts = lengths.list().iter().enumerate().map(|(place, length)| {
        let mut number = in_finer_steps(&readings[length.of], length)?;
        if let Some(counts) = &counts {
            number = when(counts.clone(), number).otherwise(lit(0i64))?;
        }
        Ok((
            VectorStep::Part(length.norm).call(vec![number]),
            format!("{name}{place}"),
        ))
    });
    parts.collect()
}

/// The number whose length is bounded.
fn in_finer_steps(reading: &Reading, length: &Length) -> Result<Expr> {
    Ok(there(reading)? * lit(1i64 << length.finer))
}

/// Adds the sums of numbers over all groups of a unit, of which there are at most `limit`.
///
/// What is summed has a column of its own, because the engine looks for what windows over each other have in common, and puts it below all of them.
fn summed_over_groups(
    rows: LogicalPlan,
    rule: &Rule,
    limit: u64,
    numbers: Vec<(Expr, String)>,
) -> Result<LogicalPlan> {
    let part = |name: &str| format!("{name}_part");
    let mut columns: Vec<Expr> = rows.schema().columns().into_iter().map(Expr::Column).collect();
    let mut windows = Vec::new();
    for (number, name) in numbers {
        columns.push(number.alias(part(&name)));
        windows.push(over_groups(col(part(&name)), rule, limit)?.alias(name));
    }
    LogicalPlanBuilder::from(rows)
        .project(columns)?
        .window(windows)?
        .build()
}

fn over_groups(number: Expr, rule: &Rule, limit: u64) -> Result<Expr> {
    let groups = ScalarValue::UInt64(Some(limit));
    Expr::from(WindowFunction::new(sum_udaf(), vec![number]))
        .partition_by(vec![col("unit")])
        .order_by(order_of_groups(rule))
        .window_frame(WindowFrame::new_bounds(
            WindowFrameUnits::Rows,
            WindowFrameBound::Preceding(groups.clone()),
            WindowFrameBound::Following(groups),
        ))
        .build()
}

/// Adds what a unit has in all of its groups, and what of it counts: `everything` and `kept`.
pub(super) fn of_unit(
    chosen: LogicalPlan,
    rule: &Rule,
    everything: Expr,
    counted: Expr,
) -> Result<LogicalPlan> {
    let Some(limit) = rule.limit() else {
        return Ok(chosen);
    };
    let kept = when(counted.clone().lt(lit(0i64)), lit(0i64) - counted.clone()).otherwise(counted)?;
    let numbers = vec![(everything, "everything".to_owned()), (kept, "kept".to_owned())];
    summed_over_groups(chosen, rule, limit, numbers)
}

/// Scales the numbers of vectors that are too long, from the columns that [`measured`] adds.
pub(super) fn shortened(
    numbers: &mut [Expr],
    (lengths, readings): (&LengthReadings, &[Reading]),
    name: &str,
) -> Result<()> {
    for (place, number) in numbers.iter_mut().enumerate() {
        let (length, scaled) = match lengths.scaling(place) {
            Scaling::None => continue,
            Scaling::Own { length } => (length, in_finer_steps(&readings[place], &lengths.list()[length])?),
            Scaling::With { length, each, finer } => {
                let most = there(&readings[lengths.list()[length].of])? * lit(each as i64);
                let number = within(there(&readings[place])?, most)?;
                (length, number * lit(1i64 << finer))
            }
        };
        let bound = &lengths.list()[length];
        let step = VectorStep::Shortened(bound.norm, bound.most);
        *number = step.call(vec![scaled, col(format!("{name}{length}"))]);
    }
    Ok(())
}

/// A number that is no farther from zero than another.
fn within(number: Expr, other: Expr) -> Result<Expr> {
    let most = when(other.clone().lt(lit(0i64)), lit(0i64) - other.clone()).otherwise(other)?;
    when(number.clone().gt(most.clone()), most.clone())
        .when(number.clone().lt(lit(0i64) - most.clone()), lit(0i64) - most)
        .otherwise(number)
}

/// Whether a vector is too long.
pub(super) fn too_long(lengths: &[Length]) -> Option<Expr> {
    let one = |(place, length): (usize, &Length)| {
        let step = VectorStep::TooLong(length.norm, length.most);
        step.call(vec![col(format!("own{place}"))]).eq(lit(1i64))
    };
    lengths.iter().enumerate().map(one).reduce(Expr::or)
}
