//! Rules for GROUP BY and rankings: inside of one owner's rows, and the sum over owners.

use super::defect::{Defect, Kind};
use super::expression::{check, is_constant, place, same};
use super::judgement::{
    Bound, Call, Contributions, Judgement, Known, Owned, Owner, Place, Placed, Places, Rows,
};
use super::judgement::{States, Total, Totals};
use super::rows::projected;
use super::rule::Rule;
use datafusion::arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::logical_expr::Volatility;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{Column, IsNullExpr, Literal};
use datafusion::physical_expr::window::{PlainAggregateWindowExpr, StandardWindowExpr, WindowExpr};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::{
    AggregateExec, AggregateInputMode, AggregateMode, AggregateOutputMode,
};
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowUDFExpr};
use std::sync::Arc;

type Expr = Arc<dyn PhysicalExpr>;

/// What is computed of a group, and does not depend on the order of its rows, bit for bit: least and largest of canonical values, and our exact sums and counts of distinct values.
const OTHERS: [&str; 6] = [
    "min",
    "max",
    "count_distinct_within",
    "exact_sum_of_integers",
    "exact_sum_of_floats",
    "exact_average_of_floats",
];

/// Which aggregate this is, over rows of this schema.
fn call(aggregate: &AggregateFunctionExpr, input: &Schema) -> Result<Call, Defect> {
    let refused = |what: &str| {
        Err(Defect::new(
            Kind::Aggregate,
            format!("{} {what}", aggregate.fun().name()),
        ))
    };
    let arguments = aggregate.expressions();
    if aggregate.is_distinct() || !aggregate.order_bys().is_empty() || aggregate.ignore_nulls() {
        return refused("of distinct or ordered values");
    }
    if aggregate.fun().signature().volatility != Volatility::Immutable {
        return refused("is not the same each time");
    }
    arguments
        .iter()
        .try_for_each(|argument| check(argument, input, &[]))?;
    let name = aggregate.fun().name();
    let Some(argument) = arguments.first() else {
        return refused("without an argument");
    };
    let literal = argument.downcast_ref::<Literal>();
    match (name, place(argument), literal) {
        ("count", _, Some(literal)) if !literal.value().is_null() => Ok(Call::Rows),
        ("count", Some(column), _) => Ok(Call::Present(column)),
        // Of floats the sum depends on the order of rows.
        ("sum", column, _) if argument.data_type(input).is_ok_and(|of| of == DataType::Int64) => match column
        {
            Some(column) => Ok(Call::Sum(column)),
            None => Ok(Call::Other(format!("sum of {argument}"))),
        },
        ("count", None, None) => Ok(Call::Other(format!("count of {argument}"))),
        _ if OTHERS.contains(&name) => Ok(Call::Other(format!("{name} of {arguments:?}"))),
        _ => refused("is not on the list"),
    }
}

/// A GROUP BY: a partial one, a final one, or both in one.
pub(crate) fn grouped(plan: &AggregateExec, input: Judgement) -> Result<Judgement, Defect> {
    let wrong = |kind: Kind, what: &str| Err(Defect::new(kind, what));
    if plan.limit_options().is_some() {
        return wrong(Kind::Limit, "a GROUP BY that stops early");
    }
    if plan.group_expr().has_grouping_set() || plan.filter_expr().iter().any(Option::is_some) {
        return wrong(Kind::Aggregate, "grouping sets, or an aggregate of some rows");
    }
    // Groups that are computed are columns behind the others.
    let schema = plan.input_schema();
    let by: Vec<Expr> = plan
        .group_expr()
        .expr()
        .iter()
        .map(|(expr, _)| Arc::clone(expr))
        .collect();
    let input = match by.iter().all(|expr| place(expr).is_some()) {
        true => input,
        false => {
            let column =
                |(place, field): (usize, &FieldRef)| Arc::new(Column::new(field.name(), place)) as Expr;
            let all = schema
                .fields()
                .iter()
                .enumerate()
                .map(column)
                .chain(by.iter().cloned());
            projected(input, &all.collect::<Vec<_>>(), &schema)?
        }
    };
    let width = schema.fields().len();
    let group = |(at, expr): (usize, &Expr)| place(expr).unwrap_or(width + at);
    let groups: Vec<usize> = by.iter().enumerate().map(group).collect();
    let of: Places = groups.iter().copied().collect();
    let mode = *plan.mode();
    let raw = mode.input_mode() == AggregateInputMode::Raw;
    let done = mode.output_mode() == AggregateOutputMode::Final;
    if mode == AggregateMode::PartialReduce {
        return wrong(Kind::Aggregate, "states that become states");
    }
    if done && !input.placed.holds_groups(&of) {
        return wrong(Kind::Place, "a GROUP BY over rows of one group in several places");
    }
    let Judgement { rows, placed, .. } = input;
    let (input, groups, calls) = if raw {
        let calls: Vec<Call> = (plan.aggr_expr().iter())
            .map(|aggregate| call(aggregate, &schema))
            .collect::<Result<_, _>>()?;
        (rows, groups, calls)
    } else {
        let Rows::States(states) = rows else {
            return wrong(Kind::Aggregate, "a final aggregate over no states");
        };
        let States {
            input,
            groups: before,
            calls,
        } = *states;
        // States carry the groups first, and the same aggregates were computed of them. Their arguments are those of the rows before.
        let own: Vec<Call> = (plan.aggr_expr().iter())
            .map(|aggregate| call(aggregate, &schema))
            .collect::<Result<_, _>>()?;
        if groups.iter().copied().ne(0..before.len()) || own != calls {
            return wrong(Kind::Aggregate, "a final aggregate of other states");
        }
        (input, before, calls)
    };
    // In what comes out, the groups are the first columns.
    let after = |of: &Places| -> Option<Places> {
        of.iter()
            .map(|from| groups.iter().position(|group| group == from))
            .collect()
    };
    let placed = Placed {
        single: placed.single,
        together: match raw {
            true => placed.together.as_ref().and_then(after),
            false => placed.together,
        },
        order: Vec::new(),
    };
    if !done {
        let rule = Rule::OwnedPartitioned;
        let rows = Rows::States(Box::new(States { input, groups, calls }));
        return Ok(Judgement { rows, placed, rule });
    }
    let (rows, rule) = match input {
        Rows::Public { .. } => (Rows::Public { unique: Vec::new() }, Rule::PublicProject),
        Rows::Owned(rows) => of_owned(&rows, &groups, &calls)?,
        Rows::Contributions(rows) => (
            Rows::Totals(of_contributions(&rows, &groups, &calls)?),
            Rule::Native,
        ),
        Rows::Values(rows) => (Rows::Totals(of_values(&rows, &groups, &calls)?), Rule::Distincts),
        Rows::Linked(..) => return wrong(Kind::Owner, "a GROUP BY over rows that do not name their owner"),
        Rows::States(_) | Rows::Totals(_) => {
            return wrong(Kind::Totals, "a GROUP BY after the sum over units");
        }
    };
    Ok(Judgement { rows, placed, rule })
}

/// Over owned rows: with the owner among the groups, rows of owners again; else a sum over owners.
fn of_owned(rows: &Owned, groups: &[usize], calls: &[Call]) -> Result<(Rows, Rule), Defect> {
    let of: Places = groups.iter().copied().collect();
    let owners: Places = (0..groups.len())
        .filter(|to| rows.is_owner(groups[*to]))
        .collect();
    if !owners.is_empty() {
        let rest = (0..groups.len()).filter(|to| !owners.contains(to)).collect();
        let mut grouped = Owned {
            named: rows.named,
            ..Owned::by(Owner::Columns(owners), groups.len() + calls.len())
        };
        grouped.add_rows(1, &rest);
        for (known, from) in grouped.columns.iter_mut().zip(groups) {
            known.constant = rows.columns.get(*from).is_some_and(|known| known.constant);
        }
        for (known, call) in grouped.columns.iter_mut().skip(groups.len()).zip(calls) {
            known.between = matches!(call, Call::Rows | Call::Present(_)).then_some((0, i64::MAX));
        }
        return Ok((Rows::Owned(grouped), Rule::OwnedPartitioned));
    }
    if !rows.named {
        return Err(Defect::new(Kind::Nobody, "a sum over rows of nobody"));
    }
    if calls.is_empty() {
        // The distinct values of groups; what is known of rows is known of the columns that stay.
        let (at_most, kinds) = rows.limits(&|from| groups.iter().position(|group| *group == from));
        let values = Owned {
            at_most,
            kinds,
            ..Owned::by(Owner::Hidden, groups.len())
        };
        return Ok((Rows::Values(values), Rule::Distincts));
    }
    let unbounded = |what: &str| Err(Defect::new(Kind::Unbounded, what));
    let (most_groups, most_rows) = (rows.groups_of(&of), rows.rows_in(&of));
    // Rows of a bin: where the last group is the bin, the others are the groups.
    let others: Places = groups.iter().rev().skip(1).copied().collect();
    let bins = match (groups.is_empty(), rows.groups_of(&others), rows.rows_in(&others)) {
        (false, Some(groups), Some(most)) => Some(Bound::Bins {
            groups,
            most,
            all: rows.rows_in(&Places::new()),
        }),
        _ => None,
    };
    let mut columns = vec![Total::Key; groups.len()];
    for call in calls {
        let number = match call {
            Call::Rows | Call::Present(_) => Some((0, 1)),
            Call::Sum(column) => rows.columns.get(*column).and_then(|known| known.between),
            Call::Other(what) => return unbounded(what),
        };
        let Some((low, high)) = number else {
            return unbounded("a sum of numbers that were not clamped");
        };
        let of_groups = most_groups.zip(most_rows).map(|(groups, rows)| Bound::Groups {
            groups,
            low: i128::from(low.min(0)) * i128::from(rows),
            high: i128::from(high.max(0)) * i128::from(rows),
            length: None,
        });
        let of_bins = bins.clone().filter(|_| matches!(call, Call::Rows));
        if of_groups.is_none() && of_bins.is_none() {
            return unbounded("rows of which one unit may have any number");
        }
        columns.push(Total::Number {
            groups: of_groups,
            bins: of_bins,
        });
    }
    let grouped = !groups.is_empty();
    Ok((Rows::Totals(Totals { columns, grouped }), Rule::Sums))
}

/// Over what the bounding operator gives: the sum of each of its numbers, by its keys.
fn of_contributions(rows: &Contributions, groups: &[usize], calls: &[Call]) -> Result<Totals, Defect> {
    if groups.iter().copied().ne(0..rows.keys) {
        return Err(Defect::new(
            Kind::Unbounded,
            "a sum by other groups than were bounded",
        ));
    }
    let mut columns = vec![Total::Key; groups.len()];
    for call in calls {
        let number = match call {
            Call::Sum(column) => column
                .checked_sub(rows.keys)
                .and_then(|place| rows.numbers.get(place)),
            _ => None,
        };
        let Some(bound) = number else {
            return Err(Defect::new(
                Kind::Unbounded,
                "something else than the sum of a bounded number",
            ));
        };
        columns.push(Total::Number {
            groups: Some(bound.clone()),
            bins: None,
        });
    }
    Ok(Totals {
        columns,
        grouped: !groups.is_empty(),
    })
}

/// Over distinct values of groups: how many there are in each.
fn of_values(rows: &Owned, groups: &[usize], calls: &[Call]) -> Result<Totals, Defect> {
    let of: Places = groups.iter().copied().collect();
    let unbounded = |what: &str| Err(Defect::new(Kind::Unbounded, what));
    let (Some(most_groups), Some(most)) = (rows.groups_of(&of), rows.rows_in(&of)) else {
        return unbounded("values of which one unit may have any number");
    };
    let mut columns = vec![Total::Key; groups.len()];
    for call in calls {
        if !matches!(call, Call::Rows | Call::Present(_)) {
            return unbounded("something else than a count of distinct values");
        }
        let bound = Bound::Values {
            groups: most_groups,
            most,
            all: rows.rows_in(&Places::new()),
        };
        columns.push(Total::Number {
            groups: Some(bound),
            bins: None,
        });
    }
    Ok(Totals {
        columns,
        grouped: !groups.is_empty(),
    })
}

/// Windows of built-in functions: places among one owner's rows.
pub(crate) fn windowed(plan: &BoundedWindowAggExec, input: Judgement) -> Result<Judgement, Defect> {
    let wrong = |kind: Kind, what: &str| Err(Defect::new(kind, what));
    let Judgement {
        rows: Rows::Owned(mut rows),
        placed,
        ..
    } = input
    else {
        return wrong(Kind::Window, "a window over rows that nobody owns");
    };
    let schema = plan.input().schema();
    let width = rows.columns.len();
    let mut rule = Rule::OwnedPartitioned;
    for window in plan.window_expr() {
        let within: Option<Places> = window.partition_by().iter().map(place).collect();
        let Some(within) = within.filter(|within| within.iter().any(|column| rows.is_owner(*column))) else {
            return wrong(Kind::Window, "a window that is not partitioned by the owner");
        };
        if !placed.holds_groups(&within) {
            return wrong(
                Kind::Place,
                "a window over rows of one partition in several places",
            );
        }
        window
            .order_by()
            .iter()
            .try_for_each(|order| check(&order.expr, &schema, &[]))?;
        if !is_sorted(&placed, &within, window.order_by(), &rows, &schema) {
            return wrong(Kind::Place, "a window over rows that are not sorted for it");
        }
        // Whether rows that come next to each other in any order could differ.
        let ordered: Places = window
            .order_by()
            .iter()
            .filter_map(|order| place(&order.expr))
            .collect();
        let both: Places = within.union(&ordered).copied().collect();
        let no_ties = rows.rows_in(&both) == Some(1) || (0..width).all(|column| both.contains(&column));
        let rest: Places = within
            .iter()
            .copied()
            .filter(|column| !rows.is_owner(*column))
            .collect();
        let known = match name_of(window.as_ref()) {
            Some("row_number") if no_ties => {
                rule = Rule::OwnedNumbered;
                Known {
                    place: Some(Place::Row(rest)),
                    ..Known::default()
                }
            }
            // All rows of a group have one rank, whatever their order. The ranking is by columns alone.
            Some("dense_rank") if ordered.len() == window.order_by().len() => Known {
                place: rest.is_empty().then_some(Place::Group(ordered)),
                ..Known::default()
            },
            Some("count") if no_ties => Known::default(),
            _ => {
                return wrong(
                    Kind::Window,
                    "a window whose result depends on the order of equal rows",
                );
            }
        };
        rows.columns.push(known);
    }
    Ok(Judgement {
        rows: Rows::Owned(rows),
        placed,
        rule,
    })
}

/// The name of a window function that takes nothing but places or counts.
fn name_of(window: &dyn WindowExpr) -> Option<&str> {
    if let Some(standard) = window.as_any().downcast_ref::<StandardWindowExpr>() {
        let function = standard
            .get_standard_func_expr()
            .as_any()
            .downcast_ref::<WindowUDFExpr>()?;
        return function.args().is_empty().then(|| function.fun().name());
    }
    let aggregate = window.as_any().downcast_ref::<PlainAggregateWindowExpr>()?;
    Some(aggregate.get_aggregate_expr().fun().name()).filter(|name| *name == "count")
}

/// Whether rows come partition by partition, and in each in this order. What is the same in all rows is in any order.
fn is_sorted(
    placed: &Placed,
    within: &Places,
    order: &[PhysicalSortExpr],
    rows: &Owned,
    input: &Schema,
) -> bool {
    let fixed = |expr: &Expr| {
        let asked = expr.downcast_ref::<IsNullExpr>();
        is_constant(expr, &rows.columns)
            || asked.is_some_and(|asked| asked.arg().nullable(input).is_ok_and(|nullable| !nullable))
    };
    let mut sorted = placed.order.iter().peekable();
    let constant = |column: &usize| rows.columns.get(*column).is_some_and(|known| known.constant);
    let mut seen: Places = within.iter().copied().filter(constant).collect();
    while seen != *within {
        match sorted.next().and_then(|(expr, _)| place(expr)) {
            Some(column) if within.contains(&column) => seen.insert(column),
            _ => return false,
        };
    }
    order.iter().all(|wanted| {
        let next = sorted.next_if(|(expr, options)| same(expr, &wanted.expr) && *options == wanted.options);
        next.is_some() || fixed(&wanted.expr)
    })
}
