//! Bounding with built-in operators and functions alone, so that a cluster or a database can do it.

mod vectors;

use super::beside::BesideReadings;
use super::length::Scaling;
use super::registers::{Reading, argument_name, clamped};
use super::{Partial, Rule, key_columns, key_name};
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_aggregate::expr_fn::sum;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{
    Expr, ExprFunctionExt, LogicalPlan, LogicalPlanBuilder, SortExpr, WindowFrame, WindowFrameBound,
    WindowFrameUnits, when,
};
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
        Some(limit) => vectors::measured(chosen(states, rule, limit)?, rule, limit)?,
    };
    let mut numbers = registers.contributions()?;
    vectors::shortened(&mut numbers, registers.lengths(), "own")?;
    let Some(beside) = registers.beside() else {
        return named(chosen, rule, numbers);
    };
    if let Some(counted) = rule.counted() {
        let counts = col("place").lt_eq(lit(counted));
        for total in &mut numbers {
            *total = when(counts.clone(), total.clone()).otherwise(lit(0i64))?;
        }
    }
    let chosen = match beside.vector() {
        None => chosen,
        Some(vector) => {
            let everything = distance(&beside.amount().0.1)? * lit(1i64 << vector.finer);
            vectors::of_unit(chosen, rule, everything, numbers[vector.of].clone())?
        }
    };
    numbers.extend(beside_totals(beside, rule)?);
    named(chosen, rule, numbers)
}

/// The keys and these numbers of each row.
fn named(rows: LogicalPlan, rule: &Rule, numbers: Vec<Expr>) -> Result<LogicalPlan> {
    let mut columns = key_columns(rule);
    let numbers = numbers.into_iter().enumerate();
    columns.extend(numbers.map(|(place, number)| number.alias(partial_name(place))));
    LogicalPlanBuilder::from(rows).project(columns)?.build()
}

/// What a unit adds in a group beside the totals, from the columns `register0…`, and `place` and `over` where not all groups count.
fn beside_totals(beside: &BesideReadings, rule: &Rule) -> Result<Vec<Expr>> {
    let mut numbers = Vec::new();
    for (reading, _) in beside.partials() {
        numbers.push(reading.expression()?);
    }
    let (lengths, _) = beside.vectors();
    vectors::shortened(&mut numbers, beside.vectors(), "wide")?;
    for (place, (_, bits)) in beside.partials().enumerate() {
        let number = numbers[place].clone();
        numbers[place] = match lengths.scaling(place) {
            Scaling::None => in_coarser_steps(number, bits),
            _ => toward_zero(number, bits)?,
        };
    }
    let differs = flag(over_in_group(beside)?)?;
    let (first, over) = match rule.counted() {
        Some(counted) => {
            // The first group in which the unit is over a limit stands for the unit, and so does the first that does not count.
            let none_before = col("over").eq(differs.clone());
            let place = || col("place");
            let here = place().lt_eq(lit(counted)).and(differs.eq(lit(1i64)));
            let beyond = place().eq(lit(counted + 1));
            let over = flag(none_before.and(here.or(beyond)))?;
            // A vector that is too long is one in all of its groups.
            let first = || flag(place().eq(lit(1i64)));
            let over = match vectors::too_long(&rule.lengths) {
                Some(too_long) => when(too_long, first()?).otherwise(over)?,
                None => over,
            };
            (first()?, over)
        }
        None => (lit(1i64), differs),
    };
    numbers.extend([first, over]);
    let ((narrow, wide), bits) = beside.amount();
    if let Some(vector) = beside.vector() {
        let most = lit(vector.most as i64);
        let everything = when(col("everything").gt(most.clone()), most).otherwise(col("everything"))?;
        let cut = || everything.clone() - col("kept");
        let cut = when(cut().gt(lit(0i64)), cut()).otherwise(lit(0i64))?;
        for number in [everything, cut] {
            let number = in_coarser_steps(number, bits);
            numbers.push(when(col("place").eq(lit(1i64)), number).otherwise(lit(0i64))?);
        }
        return Ok(numbers);
    }
    let (everything, mut kept) = (distance(wide)?, distance(narrow)?);
    if let Some(counted) = rule.counted() {
        kept = when(col("place").lt_eq(lit(counted)), kept).otherwise(lit(0i64))?;
    }
    let cut = when(everything.clone().gt(kept.clone()), everything.clone() - kept).otherwise(lit(0i64))?;
    numbers.extend([everything, cut].map(|number| in_coarser_steps(number, bits)));
    Ok(numbers)
}

fn flag(condition: Expr) -> Result<Expr> {
    when(condition, lit(1i64)).otherwise(lit(0i64))
}

/// How far a number is from zero.
fn distance(reading: &Reading) -> Result<Expr> {
    let number = there(reading)?;
    when(number.clone().lt(lit(0i64)), lit(0i64) - number.clone()).otherwise(number)
}

/// Whether what counts of a unit in a group differs from what is there.
fn over_in_group(beside: &BesideReadings) -> Result<Expr> {
    let mut over = lit(false);
    for (narrow, wide) in beside.limits() {
        over = over.or(there(narrow)?.not_eq(there(wide)?));
    }
    Ok(over)
}

/// What a reading gives, where nothing is zero.
pub(super) fn there(reading: &Reading) -> Result<Expr> {
    let number = reading.expression()?;
    Ok(match reading {
        Reading::One | Reading::AtMost { .. } => number,
        Reading::Clamped { .. } | Reading::Scaled { .. } => coalesce(vec![number, lit(0i64)]),
    })
}

/// The same as [`super::beside::coarse`].
fn in_coarser_steps(number: Expr, bits: u32) -> Expr {
    match bits {
        0 => number,
        _ => (number + lit((1i64 << bits) >> 1)) >> lit(i64::from(bits)),
    }
}

/// The same, rounded toward zero.
fn toward_zero(number: Expr, bits: u32) -> Result<Expr> {
    let shift = || lit(i64::from(bits));
    Ok(match bits {
        0 => number,
        _ => when(
            number.clone().lt(lit(0i64)),
            lit(0i64) - ((lit(0i64) - number.clone()) >> shift()),
        )
        .otherwise(number >> shift())?,
    })
}

/// The rows that are somebody's.
pub(crate) fn somebody(prepared: LogicalPlan) -> Result<LogicalPlan> {
    LogicalPlanBuilder::from(prepared)
        .filter(col("unit").is_not_null())?
        .build()
}

/// Of rows that are one for each unit and group, those whose group counts, with their `place`; and in how many of them so far the unit is `over` a limit, where that is asked.
fn chosen(states: LogicalPlan, rule: &Rule, limit: u64) -> Result<LogicalPlan> {
    let place = row_number()
        .partition_by(vec![col("unit")])
        .order_by(order_of_groups(rule))
        .build()?
        .alias("place");
    let mut ranked = LogicalPlanBuilder::from(with_hash(states, rule)?).window(vec![place])?;
    if let Some(beside) = rule.registers().beside() {
        let over = when(over_in_group(beside)?, lit(1i64)).end()?;
        let over = Expr::from(WindowFunction::new(count_udaf(), vec![over]))
            .partition_by(vec![col("unit")])
            .order_by(order_of_groups(rule))
            .window_frame(WindowFrame::new_bounds(
                WindowFrameUnits::Rows,
                WindowFrameBound::Preceding(ScalarValue::UInt64(None)),
                WindowFrameBound::CurrentRow,
            ))
            .build()?
            .alias("over");
        ranked = ranked.window(vec![over])?;
    }
    ranked.filter(col("place").lt_eq(lit(limit)))?.build()
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
