//! Aggregates inside one unit: `GROUP BY` with the unit among the keys. Their rows still have an owner.

use super::repeats::Repeats;
use super::{Name, Rows, UNIT, attached, rows};
use crate::Error;
use crate::catalog::Catalog;
#[cfg(test)]
use crate::mutants::{Mutant, planted};
use crate::understand::expression::Typed;
use crate::understand::mistakes::unplannable;
use crate::values::facts::{Facts, Kind, Range};
use bound::{
    MOST_DISTINCT, canonical, count_distinct_within, exact_average_of_floats, exact_sum_of_floats,
    exact_sum_of_integers,
};
use datafusion::common::ScalarValue;
use datafusion::functions_aggregate::expr_fn;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlanBuilder, cast, lit, when};

/// Reads a GROUP BY that has the unit among its keys.
///
/// Whatever an aggregate does, its value depends on one unit's rows; but it must not depend on their order, which another unit's rows could
/// change. So sums are exact, and the list of functions is closed. Nothing is clamped here: what leaves the unit is.
pub(super) fn aggregated(aggregate: &Aggregate, catalog: &Catalog) -> Result<Rows, Error> {
    let input = rows(&aggregate.input, catalog)?;
    let (input, group_expr) = attached(input, aggregate.group_expr.clone(), catalog)?;
    let (input, aggr_expr) = attached(input, aggregate.aggr_expr.clone(), catalog)?;
    let whose = &catalog.unit.whose;
    if !input.has_unit || !group_expr.iter().any(|expr| input.names_unit(expr)) {
        return Err(Error::refused(
            format!("an aggregate over an aggregate is private only if the inner one groups by the {whose}"),
            format!("add the column that names the {whose} to the inner GROUP BY, or aggregate once"),
        ));
    }
    let names: Vec<Name> = aggregate
        .schema
        .iter()
        .map(|(qualifier, field)| (qualifier.cloned(), field.name().clone()))
        .collect();
    let mut columns = Vec::new();
    let mut unit_columns = Vec::new();
    let mut keys = Vec::new();
    let mut one_each = true;
    for (place, expr) in group_expr.iter().enumerate() {
        let key = input.accept(expr)?;
        if input.names_unit(expr) {
            unit_columns.push(names[place].clone());
        }
        one_each &= key.facts.of_unit;
        keys.push(key.expr.unalias().alias(format!("__key{place}")));
        columns.push((names[place].0.clone(), names[place].1.clone(), key.facts));
    }
    keys.push(input.unit_expr().alias(UNIT));
    let mut sums_inside = input.sums_inside;
    let mut left_out = input.left_out.clone();
    let mut measures = Vec::new();
    let mut results = Vec::new();
    for (place, expr) in aggr_expr.iter().enumerate() {
        let name = &names[group_expr.len() + place];
        let (measure, result, facts) = inner(expr, &input, place)?;
        sums_inside |= calls(expr, &["sum", "avg"]);
        if calls(expr, &["count"]) && is_distinct(expr) && input.may_exceed(MOST_DISTINCT as u64) {
            left_out.push(format!(
                "COUNT(DISTINCT …) within a {whose} counts up to {MOST_DISTINCT}"
            ));
        }
        measures.extend(measure);
        results.push(result.alias_qualified(name.0.clone(), name.1.clone()));
        columns.push((
            name.0.clone(),
            name.1.clone(),
            Facts {
                of_unit: one_each,
                ..facts
            },
        ));
    }
    let shown = group_expr.iter().enumerate().map(|(place, _)| {
        let (qualifier, name) = &names[place];
        super::bare(&format!("__key{place}")).alias_qualified(qualifier.clone(), name.clone())
    });
    let shown: Vec<Expr> = shown.chain(results).chain([super::bare(UNIT)]).collect();
    let plan = LogicalPlanBuilder::from(input.plan.clone())
        .aggregate(keys, measures)
        .and_then(|plan| plan.project(shown))
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)?;
    let mut story = input.story.clone();
    story.push(format!("aggregated within each {whose}"));
    let grouped_by = names[..group_expr.len()].to_vec();
    let mut grouped = Rows {
        plan,
        columns,
        unit_columns,
        promised: false,
        clustered: false,
        whole: input.whole && one_each,
        story,
        sums_inside,
        left_out,
        repeats: Repeats::default(),
        ..input
    };
    grouped.at_most(1, grouped_by);
    Ok(grouped)
}

/// Whether it is a call of one of these.
fn calls(expr: &Expr, names: &[&str]) -> bool {
    matches!(expr.clone().unalias(), Expr::AggregateFunction(call) if names.contains(&call.func.name()))
}

fn is_distinct(expr: &Expr) -> bool {
    matches!(expr.clone().unalias(), Expr::AggregateFunction(call) if call.params.distinct)
}

/// One aggregate: what the engine computes, what the row shows, and what is known of it.
fn inner(expr: &Expr, input: &Rows, place: usize) -> Result<(Vec<Expr>, Expr, Facts), Error> {
    let Expr::AggregateFunction(AggregateFunction { func, params }) = expr.clone().unalias() else {
        return Err(Error::refused(
            "this is no aggregate",
            "use COUNT, SUM, AVG, MIN or MAX",
        ));
    };
    let kept = match &params.filter {
        Some(filter) => Some(input.accept(filter)?.expr),
        None => None,
    };
    let only = |value: Expr, kind: Kind| -> Result<Expr, Error> {
        let Some(kept) = &kept else { return Ok(value) };
        let null = cast(lit(ScalarValue::Null), kind.data_type());
        when(kept.clone(), value).otherwise(null).map_err(unplannable)
    };
    let named = |suffix: &str| format!("__measure{place}{suffix}");
    let unordered = params.order_by.is_empty();
    let argument = |at: usize| -> Result<Typed, Error> {
        let expr = params
            .args
            .get(at)
            .ok_or_else(|| Error::refused(format!("{} needs an argument", func.name()), "name a column"))?;
        let mut typed = input.accept(expr)?;
        typed.expr = only(typed.expr.clone().unalias(), typed.facts.kind)?;
        Ok(typed)
    };
    let number = |typed: &Typed| {
        if typed.facts.kind.is_number() {
            return Ok(());
        }
        Err(Error::refused(
            format!("{} of {} is not understood", func.name(), typed.facts.kind),
            "use it on a number",
        ))
    };
    let known = |kind: Kind, range: Option<Range>, nullable: bool| Facts {
        range,
        nullable,
        ..Facts::unknown(kind)
    };
    match func.name() {
        "count" if unordered => {
            let counts_rows = params
                .args
                .iter()
                .all(|arg| matches!(arg, Expr::Literal(value, _) if !value.is_null()));
            let value = if counts_rows {
                only(lit(1i64), Kind::Int)?
            } else {
                argument(0)?.expr
            };
            let measure = if params.distinct {
                count_distinct_within(value)
            } else {
                expr_fn::count(value)
            };
            let most = match params.distinct {
                true => input.rows_per_unit.map(|most| most.min(MOST_DISTINCT as u64)),
                false => input.rows_per_unit,
            };
            let range = most.and_then(|most| Range::new(0.0, most as f64));
            let facts = Facts {
                at_least: Some(0.0).filter(|_| range.is_none()),
                ..known(Kind::Int, range, false)
            };
            Ok((vec![measure.alias(named(""))], super::bare(&named("")), facts))
        }
        "min" | "max" if unordered => {
            let value = argument(0)?;
            // Values are canonical, so that two equal ones are the same, whichever comes first.
            let measure = if func.name() == "min" {
                expr_fn::min(value.expr)
            } else {
                expr_fn::max(value.expr)
            };
            let facts = known(value.facts.kind, value.facts.range, true);
            Ok((vec![measure.alias(named(""))], super::bare(&named("")), facts))
        }
        "bool_or" | "bool_and" if unordered => {
            let mut value = argument(0)?;
            if value.facts.kind != Kind::Bool {
                return Err(Error::refused(
                    format!("{} needs a condition", func.name()),
                    "compare it with something: bool_or(x > 3)",
                ));
            }
            // Of the numbers 1 and 0: the largest, or the least.
            value.expr = when(value.expr.clone(), lit(1i64))
                .when(!value.expr, lit(0i64))
                .otherwise(lit(ScalarValue::Int64(None)))
                .map_err(unplannable)?;
            let measure = match func.name() {
                "bool_or" => expr_fn::max(value.expr),
                _ => expr_fn::min(value.expr),
            };
            let holds = super::bare(&named("")).eq(lit(1i64));
            Ok((
                vec![measure.alias(named(""))],
                holds,
                known(Kind::Bool, None, true),
            ))
        }
        "sum" | "avg" if unordered && !params.distinct => {
            let value = argument(0)?;
            number(&value)?;
            let (kind, range) = (value.facts.kind, value.facts.range);
            let numeric = kind == Kind::Int || value.facts.numeric;
            #[cfg(test)]
            if planted(Mutant::SumsInOrder) && kind == Kind::Float && func.name() == "sum" {
                let measures = vec![expr_fn::sum(value.expr).alias(named(""))];
                return Ok((measures, super::bare(&named("")), known(kind, None, true)));
            }
            // Of the values as they are. Bounds are for what leaves the unit.
            let (measures, result) = match (func.name(), kind) {
                ("avg", Kind::Int) => {
                    let (sum, count) = (named("sum"), named("count"));
                    let measures = vec![
                        exact_sum_of_integers(value.expr.clone()).alias(sum.clone()),
                        expr_fn::count(value.expr).alias(count.clone()),
                    ];
                    let float = |name: &str| cast(super::bare(name), Kind::Float.data_type());
                    (measures, canonical(float(&sum) / float(&count), Kind::Float))
                }
                ("avg", _) => (
                    vec![exact_average_of_floats(value.expr).alias(named(""))],
                    super::bare(&named("")),
                ),
                (_, Kind::Int) => (
                    vec![exact_sum_of_integers(value.expr).alias(named(""))],
                    super::bare(&named("")),
                ),
                _ => (
                    vec![exact_sum_of_floats(value.expr).alias(named(""))],
                    super::bare(&named("")),
                ),
            };
            if func.name() == "avg" {
                let facts = Facts {
                    numeric,
                    ..known(Kind::Float, range, true)
                };
                return Ok((measures, result, facts));
            }
            let least = range.map(|range| range.low).or(value.facts.at_least);
            let range = range.zip(input.rows_per_unit).and_then(|(range, most)| {
                let most = most as f64;
                Range::new(range.low.min(range.low * most), range.high.max(range.high * most))
            });
            let facts = Facts {
                // Of numbers that are not negative the sum is not either.
                at_least: least.filter(|least| range.is_none() && *least >= 0.0),
                ..known(kind, range, true)
            };
            Ok((measures, result, facts))
        }
        name => Err(Error::refused(
            format!("{name} inside a subquery that groups by the unit is refused"),
            "use COUNT, COUNT(DISTINCT …), SUM, AVG, MIN, MAX, BOOL_AND or BOOL_OR there",
        )),
    }
}
