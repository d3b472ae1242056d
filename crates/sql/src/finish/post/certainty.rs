//! What is known of each column of a plan over released tables.
//!
//! The walk goes up from the released tables. A column that depends on no noisy number is exact. A noisy one has an interval where the operators and expressions
//! on its way carry one, and otherwise a reason why there is none. A column is never called exact because an interval was lost.
//!
//! Noise also decides which rows are there: in HAVING, in ORDER BY with LIMIT, in joins, in the choice of groups. Then a column of names is no longer a function of the query and
//! public tables, although each of its values is. What the walk promises is about whole rows: **the columns of a result that are called exact, taken together as a bag of rows, are the
//! same whatever the noise was.** So where noise chose the rows, no column is exact. The order of rows is not part of it: who sorts by a noisy number sees an order that is noisy.
//! Audited by: `tests/query/chosen.rs`, which draws other noise and compares.

use super::known::{Ends, Extended, Known, Names, is_noisy, reads_releases};
use super::spans::{self, Part};
use super::{CHOSEN, ENDS, reason};
use crate::Error;
use crate::understand::mistakes::unplannable;
use datafusion::common::{Column, JoinType, ScalarValue, TableReference};
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, Join, LogicalPlan, LogicalPlanBuilder, Projection, TableScan, Union, Window,
    lit,
};
use std::sync::Arc;

const OVER_MANY: &str = "it is computed from the noisy numbers of several rows";
pub(super) const WHICH_ROWS: &str = "it depends on which rows are there, which noise has decided";
const WHICH_ORDER: &str = "it depends on the order of rows, which noise has decided";
const GROUPED_BY: &str = "it groups by noisy numbers, or keeps different ones";
const UNKNOWN: &str = "intervals are not carried through this part of the query";

/// Adds the ends of intervals to a plan.
pub(super) fn extend(plan: &LogicalPlan, names: &mut Names) -> Result<Extended, Error> {
    if !reads_releases(plan) {
        return Ok(as_it_is(plan, &Known::Exact));
    }
    match plan {
        LogicalPlan::TableScan(scan) => Ok(scanned(plan, scan, names)),
        LogicalPlan::Filter(filter) => {
            let input = extend(&filter.input, names)?;
            let chosen = input.chosen || input.is_noisy(&filter.predicate);
            over(plan, input).map(|kept| Extended { chosen, ..kept })
        }
        LogicalPlan::Sort(sort) => {
            let input = extend(&sort.input, names)?;
            let by_noise = sort.expr.iter().any(|key| input.is_noisy(&key.expr));
            // Rows that are equal in exact keys may stay in the order that they had.
            let ties = !input.tells_apart(sort.expr.iter().map(|key| &key.expr));
            let ordered = by_noise || (input.ordered && ties);
            let chosen = input.chosen || (ordered && sort.fetch.is_some());
            over(plan, input).map(|kept| Extended {
                chosen,
                ordered,
                ..kept
            })
        }
        LogicalPlan::Limit(limit) => {
            let input = extend(&limit.input, names)?;
            let mut counts = [&limit.skip, &limit.fetch].into_iter().flatten();
            let by_noise = counts.any(|count| input.is_noisy(count));
            let chosen = input.chosen || input.ordered || by_noise;
            over(plan, input).map(|kept| Extended { chosen, ..kept })
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let input = extend(&alias.input, names)?;
            let plan = LogicalPlanBuilder::from(input.plan)
                .alias(alias.alias.clone())
                .and_then(LogicalPlanBuilder::build)
                .map_err(unplannable)?;
            let columns = input.columns.into_iter();
            Ok(Extended {
                plan,
                columns: columns.map(|known| requalified(known, &alias.alias)).collect(),
                ..input
            })
        }
        LogicalPlan::Projection(projection) => projected(projection, names),
        LogicalPlan::Union(union) => united(union, names),
        LogicalPlan::Join(join) => joined(plan, join, names),
        LogicalPlan::Window(window) => windowed(window, names),
        LogicalPlan::Aggregate(aggregate) => aggregated(aggregate, names),
        LogicalPlan::Distinct(Distinct::All(input)) => distinct(input, names),
        other => Ok(as_it_is(other, &Known::Noisy(UNKNOWN))),
    }
}

fn as_it_is(plan: &LogicalPlan, known: &Known) -> Extended {
    Extended {
        plan: plan.clone(),
        columns: vec![known.clone(); plan.schema().fields().len()],
        chosen: !known.is_exact(),
        ordered: !known.is_exact(),
        named_by: None,
    }
}

/// The same operator over the extended input, of an operator that hands all columns on.
fn over(plan: &LogicalPlan, input: Extended) -> Result<Extended, Error> {
    let plan = plan
        .with_new_exprs(plan.expressions(), vec![input.plan])
        .map_err(unplannable)?;
    Ok(Extended { plan, ..input })
}

fn requalified(known: Known, alias: &TableReference) -> Known {
    match known {
        Known::Within(ends) => {
            let Ends { columns, sources } = *ends;
            Known::within(
                columns.map(|column| Column::new(Some(alias.clone()), column.name)),
                sources,
            )
        }
        other => other,
    }
}

/// A released table holds its own ends already. Each mention of it is distinguished: rows of two mentions meet in joins, and their noise differs.
fn scanned(plan: &LogicalPlan, scan: &TableScan, names: &mut Names) -> Extended {
    let fields = plan.schema().fields();
    let is_end = |name: &str| ENDS.iter().any(|end| name.strip_prefix(end).is_some());
    let shown = fields.iter().filter(|field| !is_end(field.name())).count();
    let columns = (0..shown).map(|place| {
        let ends = ENDS.map(|end| format!("{end}{place}"));
        let there = |name: &String| fields.iter().any(|field| field.name() == name);
        if let Some(why) = reason(&fields[place]) {
            return Known::Noisy(why);
        }
        if !ends.iter().all(there) {
            return Known::Exact;
        }
        Known::within(
            ends.map(|end| Column::new(Some(scan.table_name.clone()), end)),
            names.source(),
        )
    });
    let columns: Vec<Known> = columns.collect();
    // Its exact columns are the keys that it was grouped by, all of them.
    let names = (0..shown).filter(|place| columns[*place].is_exact());
    Extended {
        named_by: Some(names.collect()),
        columns,
        plan: plan.clone(),
        chosen: scan.source.schema().metadata().contains_key(CHOSEN),
        ordered: false,
    }
}

fn projected(projection: &Projection, names: &mut Names) -> Result<Extended, Error> {
    let input = extend(&projection.input, names)?;
    let mut exprs = projection.expr.clone();
    let mut columns = Vec::new();
    for expr in &projection.expr {
        columns.push(match spans::part(expr, &input, names)? {
            Part::Exact => Known::Exact,
            Part::Lost(why) => Known::Noisy(why),
            Part::Span(span) => {
                let ends = names.ends();
                for (end, name) in span.ends.into_iter().zip(&ends) {
                    exprs.push(end.alias(name));
                }
                Known::within(ends.map(Column::from_name), span.sources)
            }
        });
    }
    let kept: Vec<Option<usize>> = projection.expr.iter().map(|expr| input.place(expr)).collect();
    let moved = |place: &usize| kept.iter().position(|kept| *kept == Some(*place));
    let named_by = input.named_by.as_ref();
    let named_by = named_by.and_then(|names| names.iter().map(moved).collect());
    let plan = LogicalPlanBuilder::from(input.plan)
        .project(exprs)
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)?;
    Ok(Extended {
        plan,
        columns,
        chosen: input.chosen,
        ordered: input.ordered,
        named_by,
    })
}

/// A row of a union is a row of one of its sides, so its interval is that side's. Which side that is, and so which noise it depends on, is reported by a name of its own.
fn united(union: &Union, names: &mut Names) -> Result<Extended, Error> {
    let sides = union
        .inputs
        .iter()
        .map(|input| extend(input, names))
        .collect::<Result<Vec<_>, _>>()?;
    let width = union.schema.fields().len();
    let mut columns = Vec::new();
    let mut named: Vec<Option<[String; 4]>> = Vec::new();
    for place in 0..width {
        let knowns = || sides.iter().filter_map(|side| side.columns.get(place));
        let lost = knowns().find_map(|known| match known {
            Known::Noisy(why) => Some(*why),
            _ => None,
        });
        let ends = knowns()
            .any(|known| matches!(known, Known::Within(_)))
            .then(|| names.ends());
        columns.push(match (&ends, lost) {
            (Some(ends), _) => Known::within(ends.clone().map(Column::from_name), names.source()),
            (None, Some(why)) => Known::Noisy(why),
            (None, None) => Known::Exact,
        });
        named.push(ends);
    }
    let chosen = sides.iter().any(|side| side.chosen);
    let ordered = sides.iter().any(|side| side.ordered);
    let mut inputs = Vec::new();
    for side in sides {
        let mut exprs: Vec<Expr> = (0..width)
            .map(|place| Expr::Column(Column::from(side.plan.schema().qualified_field(place))))
            .collect();
        for (known, ends) in side.columns.iter().zip(&named) {
            let Some(ends) = ends else { continue };
            for (at, name) in ends.iter().enumerate() {
                let end = match known {
                    Known::Within(ends) => Expr::Column(ends.columns[at].clone()),
                    Known::Exact | Known::Noisy(_) => lit(ScalarValue::Float64(None)),
                };
                exprs.push(end.alias(name));
            }
        }
        let side = LogicalPlanBuilder::from(side.plan)
            .project(exprs)
            .and_then(LogicalPlanBuilder::build)
            .map_err(unplannable)?;
        inputs.push(Arc::new(side));
    }
    let plan = LogicalPlan::Union(Union::try_new_with_loose_types(inputs).map_err(unplannable)?);
    Ok(Extended {
        plan,
        columns,
        chosen,
        ordered,
        named_by: None,
    })
}

fn joined(plan: &LogicalPlan, join: &Join, names: &mut Names) -> Result<Extended, Error> {
    if !matches!(
        join.join_type,
        JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full
    ) {
        return Ok(as_it_is(plan, &Known::Noisy(UNKNOWN)));
    }
    let (left, right) = (extend(&join.left, names)?, extend(&join.right, names)?);
    let on_noise = join.on.iter().any(|(a, b)| left.is_noisy(a) || right.is_noisy(b));
    let filtered = join
        .filter
        .as_ref()
        .is_some_and(|filter| is_noisy(filter, &[&left, &right]));
    let chosen = left.chosen || right.chosen || on_noise || filtered;
    let ordered = chosen || left.ordered || right.ordered;
    let of_left = left.columns.len();
    // A pair of rows is named by the names of both.
    let pairs = left.named_by.as_ref().zip(right.named_by.as_ref());
    let named_by = pairs.filter(|_| join.join_type == JoinType::Inner);
    let named_by = named_by.map(|(left, right)| {
        let right = right.iter().map(|place| of_left + place);
        left.iter().copied().chain(right).collect()
    });
    let all_left = left.plan.schema().fields().len();
    let places = (0..of_left)
        .chain(all_left..all_left + right.columns.len())
        .collect();
    let columns: Vec<Known> = left.columns.into_iter().chain(right.columns).collect();
    let joined = plan
        .with_new_exprs(plan.expressions(), vec![left.plan, right.plan])
        .map_err(unplannable)?;
    Ok(Extended {
        plan: Extended::arranged(joined, places, columns.clone())?,
        columns,
        chosen,
        ordered,
        named_by,
    })
}

fn windowed(window: &Window, names: &mut Names) -> Result<Extended, Error> {
    let input = extend(&window.input, names)?;
    let by_noise = window.window_expr.iter().any(|expr| input.is_noisy(expr));
    let added = window.window_expr.iter().map(|expr| {
        if input.is_noisy(expr) {
            Known::Noisy(OVER_MANY)
        } else if input.chosen {
            Known::Noisy(WHICH_ROWS)
        } else if input.ordered && !sorted_by(expr).is_some_and(|by| input.tells_apart(by)) {
            // Of rows that a window takes for equal, the first is the one that came first.
            Known::Noisy(WHICH_ORDER)
        } else {
            Known::Exact
        }
    });
    let (shown, all) = (input.columns.len(), input.plan.schema().fields().len());
    let columns: Vec<Known> = input.columns.iter().cloned().chain(added).collect();
    let places = (0..shown).chain(all..all + window.window_expr.len()).collect();
    let plan = Window::try_new(window.window_expr.clone(), Arc::new(input.plan)).map_err(unplannable)?;
    Ok(Extended {
        plan: Extended::arranged(LogicalPlan::Window(plan), places, columns.clone())?,
        columns,
        chosen: input.chosen,
        ordered: input.ordered || by_noise,
        named_by: input.named_by,
    })
}

/// What a window sorts rows by.
fn sorted_by(expr: &Expr) -> Option<Vec<&Expr>> {
    match expr {
        Expr::Alias(alias) => sorted_by(&alias.expr),
        Expr::WindowFunction(function) => {
            let order = function.params.order_by.iter().map(|key| &key.expr);
            Some(function.params.partition_by.iter().chain(order).collect())
        }
        _ => None,
    }
}

/// Aggregates whose value does not depend on the order of rows, but for the last digits of a float.
const IN_ANY_ORDER: [&str; 7] = ["avg", "bool_and", "bool_or", "count", "max", "min", "sum"];

fn in_any_order(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => in_any_order(&alias.expr),
        Expr::AggregateFunction(call) => IN_ANY_ORDER.contains(&call.func.name()),
        _ => false,
    }
}

/// An aggregate over released rows.
fn aggregated(aggregate: &Aggregate, names: &mut Names) -> Result<Extended, Error> {
    let input = extend(&aggregate.input, names)?;
    let by_noise = aggregate.group_expr.iter().any(|expr| input.is_noisy(expr));
    let keys = aggregate.schema.fields().len() - aggregate.aggr_expr.len();
    let of_groups = (0..keys).map(|_| match by_noise {
        true => Known::Noisy(GROUPED_BY),
        false => Known::Exact,
    });
    let of_aggregates = aggregate.aggr_expr.iter().map(|expr| {
        if by_noise || input.is_noisy(expr) {
            Known::Noisy(OVER_MANY)
        } else if input.chosen {
            Known::Noisy(WHICH_ROWS)
        } else if input.ordered && !in_any_order(expr) {
            Known::Noisy(WHICH_ORDER)
        } else {
            Known::Exact
        }
    });
    let columns = of_groups.chain(of_aggregates).collect();
    let plan = Aggregate::try_new(
        Arc::new(input.plan),
        aggregate.group_expr.clone(),
        aggregate.aggr_expr.clone(),
    )
    .map_err(unplannable)?;
    Ok(Extended {
        plan: LogicalPlan::Aggregate(plan),
        columns,
        // Without keys there is one row, whatever is below.
        chosen: keys > 0 && (input.chosen || by_noise),
        ordered: keys > 0 && (input.ordered || input.chosen || by_noise),
        named_by: (!by_noise).then(|| (0..keys).collect()),
    })
}

/// Rows that differ in their ends alone are the same row, so the ends go first.
fn distinct(input: &Arc<LogicalPlan>, names: &mut Names) -> Result<Extended, Error> {
    let input = extend(input, names)?;
    let exact = input.columns.iter().all(Known::is_exact);
    let columns = input.columns.iter().map(|known| match known {
        Known::Within(_) => Known::Noisy(GROUPED_BY),
        other => other.clone(),
    });
    let columns: Vec<Known> = columns.collect();
    let plan = Extended::arranged(input.plan, (0..columns.len()).collect(), columns.clone())?;
    let plan = LogicalPlanBuilder::from(plan)
        .distinct()
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)?;
    Ok(Extended {
        plan,
        chosen: input.chosen || !exact,
        ordered: input.ordered || !exact,
        named_by: exact.then(|| (0..columns.len()).collect()),
        columns,
    })
}
