//! Physical plans, changed at random. A changed operator gives columns of the same types, so that what is above it can still be run.

use super::super::Seeded;
use super::expressions::{Expr, changed, column, columns_of, condition, value};
use super::joins::{join, joining};
use bound::Partial;
use bound::operators::{Operator, Way, bounding_over, operator};
use datafusion::arrow::array::{
    ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch, StringViewArray,
};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::WindowFunctionDefinition;
use datafusion::physical_expr::aggregate::AggregateExprBuilder;
use datafusion::physical_expr::window::StandardWindowExpr;
use datafusion::physical_expr::{LexOrdering, Partitioning, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowUDFExpr, create_window_expr};
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};
use datafusion::prelude::SessionContext;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

pub(super) type Plan = Arc<dyn ExecutionPlan>;

/// What a change may use: all operators of the plan, public rows, and a session.
pub(super) struct Material<'a> {
    pub(super) others: Vec<Plan>,
    pub(super) public: Plan,
    session: &'a SessionContext,
}

impl<'a> Material<'a> {
    pub(super) fn of(plan: &Plan, session: &'a SessionContext) -> Self {
        let mut others = Vec::new();
        collect(plan, &mut others);
        Self {
            others,
            public: public_rows(),
            session,
        }
    }
}

/// A few rows of which each has a value of every type that is usual.
fn public_rows() -> Plan {
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "whole",
            Arc::new(Int64Array::from(vec![Some(0), Some(1), Some(1), Some(5), None])),
        ),
        (
            "float",
            Arc::new(Float64Array::from(vec![
                Some(0.0),
                Some(1.0),
                Some(50.0),
                None,
                Some(1.0),
            ])),
        ),
        (
            "text",
            Arc::new(StringViewArray::from(vec![
                Some("a"),
                Some("a"),
                Some(""),
                None,
                Some("n9"),
            ])),
        ),
        (
            "day",
            Arc::new(Date32Array::from(vec![
                Some(0),
                Some(0),
                Some(19_753),
                Some(-1),
                None,
            ])),
        ),
    ];
    let rows = RecordBatch::try_from_iter(columns).unwrap();
    MemorySourceConfig::try_new_exec(&[vec![rows.clone()]], rows.schema(), None).unwrap()
}

type Change = fn(&Plan, &Material<'_>, &mut Seeded) -> Option<Plan>;

/// The changes, each with its name for people. What stands twice is made twice as often.
const CHANGES: &[(&str, Change)] = &[
    ("drop", drop),
    ("swap", swap),
    ("graft", graft),
    ("add to itself", unite),
    ("exchange columns", exchange),
    ("overwrite", overwrite),
    ("overwrite", overwrite),
    ("filter", filter),
    ("expression", expression),
    ("expression", expression),
    ("expression", expression),
    ("group", group),
    ("grouping", grouping),
    ("grouping", grouping),
    ("join", join),
    ("join", join),
    ("joining", joining),
    ("limit", limit),
    ("place", place),
    ("sort", sort),
    ("bounding", bounding),
    ("bounding", bounding),
    ("window", window),
    ("sides", sides),
    ("rename", rename),
];

/// A plan with some operator changed, and how; `None` where the change does not fit. Where joins are asked for, there are no other changes.
pub(super) fn mutated<'a>(
    plan: &Plan,
    material: &dyn Fn(&Plan) -> Material<'a>,
    joins: bool,
    seeded: &mut Seeded,
) -> Option<(Plan, &'static str)> {
    let material = material(plan);
    let wanted = seeded.below(material.others.len());
    let (name, change) = match joins {
        true => ("join", join as Change),
        false => *seeded.pick(CHANGES),
    };
    let by = &mut |one: &Plan| change(one, &material, seeded);
    // What makes an operator may panic where its inputs make no sense.
    let changed = catch_unwind(AssertUnwindSafe(|| replaced(plan, &mut { wanted }, by)));
    let changed = changed.ok()??;
    same_types(&changed.schema(), &plan.schema()).then_some((changed, name))
}

/// All operators. What stands below the name of a table is its scan, and belongs to it.
fn collect(plan: &Plan, into: &mut Vec<Plan>) {
    into.push(Arc::clone(plan));
    if is_table(plan) {
        return;
    }
    plan.children().into_iter().for_each(|child| collect(child, into));
}

/// The plan with its operator of this number, counted from the root, replaced.
fn replaced(plan: &Plan, number: &mut usize, by: &mut dyn FnMut(&Plan) -> Option<Plan>) -> Option<Plan> {
    if *number == 0 {
        *number = usize::MAX;
        return by(plan);
    }
    *number -= 1;
    if is_table(plan) {
        return None;
    }
    let mut children: Vec<Plan> = plan.children().into_iter().cloned().collect();
    for child in &mut children {
        if *number < usize::MAX {
            let before = *number;
            match replaced(child, number, by) {
                Some(other) => {
                    *child = other;
                    return over(plan, children);
                }
                None if *number == usize::MAX => return None,
                None => debug_assert!(*number <= before),
            }
        }
    }
    None
}

fn is_table(plan: &Plan) -> bool {
    matches!(operator(plan.as_ref()), Some(Operator::Label(_)))
}

/// The name of one table over another.
fn rename(plan: &Plan, material: &Material<'_>, seeded: &mut Seeded) -> Option<Plan> {
    let tables: Vec<&Plan> = material.others.iter().filter(|other| is_table(other)).collect();
    let named = (!tables.is_empty()).then(|| Arc::clone(seeded.pick::<&Plan>(&tables)))?;
    let fits = same_types(&named.schema(), &plan.schema());
    fits.then(|| over(&named, vec![Arc::clone(plan)]))?
}

pub(super) fn same_types(one: &Schema, other: &Schema) -> bool {
    let types = |schema: &Schema| {
        schema
            .fields()
            .iter()
            .map(|field| field.data_type().clone())
            .collect::<Vec<_>>()
    };
    types(one) == types(other)
}

/// The same operator over other inputs.
pub(super) fn over(plan: &Plan, inputs: Vec<Plan>) -> Option<Plan> {
    let anew = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Arc::clone(plan).replace_children(inputs, anew).ok()
}

fn only_child(plan: &Plan) -> Option<Plan> {
    match plan.children().as_slice() {
        [child] => Some(Arc::clone(child)),
        _ => None,
    }
}

fn drop(plan: &Plan, _: &Material<'_>, _: &mut Seeded) -> Option<Plan> {
    if is_table(plan) {
        return None;
    }
    let child = only_child(plan)?;
    if same_types(&plan.schema(), &child.schema()) {
        return Some(child);
    }
    // Other columns: the first of each type.
    let schema = child.schema();
    let mut exprs = Vec::new();
    for field in plan.schema().fields() {
        let place = *columns_of(&schema, field.data_type()).first()?;
        exprs.push((column(&schema, place), field.name().clone()));
    }
    Some(Arc::new(ProjectionExec::try_new(exprs, child).ok()?))
}

fn swap(plan: &Plan, _: &Material<'_>, _: &mut Seeded) -> Option<Plan> {
    let child = only_child(plan)?;
    let input = only_child(&child)?;
    let alike = same_types(&plan.schema(), &child.schema()) && same_types(&child.schema(), &input.schema());
    let above = alike.then(|| over(plan, vec![input]))??;
    over(&child, vec![above])
}

/// Another operator of the plan that gives columns of the same types.
fn alike(plan: &Plan, material: &Material<'_>, seeded: &mut Seeded) -> Option<Plan> {
    let fits = |other: &&Plan| same_types(&other.schema(), &plan.schema());
    let others: Vec<&Plan> = material.others.iter().filter(fits).collect();
    (!others.is_empty()).then(|| Arc::clone(seeded.pick::<&Plan>(&others)))
}

fn graft(plan: &Plan, material: &Material<'_>, seeded: &mut Seeded) -> Option<Plan> {
    alike(plan, material, seeded)
}

fn unite(plan: &Plan, material: &Material<'_>, seeded: &mut Seeded) -> Option<Plan> {
    let other = alike(plan, material, seeded)?;
    UnionExec::try_new(vec![Arc::clone(plan), other]).ok()
}

/// The columns of an operator.
fn all(plan: &Plan) -> Vec<(Expr, String)> {
    let schema = plan.schema();
    let fields = schema.fields().iter().enumerate();
    fields
        .map(|(place, field)| (column(&schema, place), field.name().clone()))
        .collect()
}

fn exchange(plan: &Plan, _: &Material<'_>, seeded: &mut Seeded) -> Option<Plan> {
    let mut exprs = all(plan);
    let schema = plan.schema();
    let one = seeded.below(exprs.len().max(1));
    let alike = columns_of(&schema, schema.fields().get(one)?.data_type());
    let other = *seeded.pick(&alike);
    (exprs[one].0, exprs[other].0) = (column(&schema, other), column(&schema, one));
    (one != other).then(|| Some(Arc::new(ProjectionExec::try_new(exprs, Arc::clone(plan)).ok()?) as Plan))?
}

fn overwrite(plan: &Plan, _: &Material<'_>, seeded: &mut Seeded) -> Option<Plan> {
    let mut exprs = all(plan);
    let schema = plan.schema();
    let place = seeded.below(exprs.len().max(1));
    exprs.get_mut(place)?.0 = value(schema.field(place).data_type(), &schema, seeded)?;
    Some(Arc::new(ProjectionExec::try_new(exprs, Arc::clone(plan)).ok()?))
}

fn filter(plan: &Plan, _: &Material<'_>, seeded: &mut Seeded) -> Option<Plan> {
    let condition = condition(&plan.schema(), seeded)?;
    Some(Arc::new(FilterExec::try_new(condition, Arc::clone(plan)).ok()?))
}

/// Another expression in a filter or a projection.
fn expression(plan: &Plan, _: &Material<'_>, seeded: &mut Seeded) -> Option<Plan> {
    let child = only_child(plan)?;
    let schema = child.schema();
    if let Some(filter) = plan
        .downcast_ref::<FilterExec>()
        .filter(|filter| filter.projection().is_none())
    {
        let predicate = changed(filter.predicate(), &schema, seeded)?;
        return Some(Arc::new(FilterExec::try_new(predicate, child).ok()?));
    }
    let projection = plan.downcast_ref::<ProjectionExec>()?;
    let mut exprs: Vec<(Expr, String)> = Vec::new();
    for one in projection.expr() {
        exprs.push((Arc::clone(&one.expr), one.alias.clone()));
    }
    let place = seeded.below(exprs.len().max(1));
    let one = exprs.get_mut(place)?;
    one.0 = changed(&one.0, &schema, seeded)?;
    Some(Arc::new(ProjectionExec::try_new(exprs, child).ok()?))
}

/// A GROUP BY over the rows: by some columns, with the largest value of each other column.
fn group(plan: &Plan, _: &Material<'_>, seeded: &mut Seeded) -> Option<Plan> {
    let schema = plan.schema();
    let width = schema.fields().len();
    let left_out = seeded.below(width.max(1));
    let by: Vec<usize> = (0..width)
        .filter(|place| seeded.once_in(2) || *place != left_out)
        .collect();
    let others: Vec<usize> = (0..width).filter(|place| !by.contains(place)).collect();
    let mut largest = Vec::new();
    for place in &others {
        let of = AggregateExprBuilder::new(max_udaf(), vec![column(&schema, *place)]);
        largest.push(Arc::new(
            of.schema(Arc::clone(&schema))
                .alias(format!("largest{place}"))
                .build()
                .ok()?,
        ));
    }
    let named = |place: &usize| (column(&schema, *place), schema.field(*place).name().clone());
    let groups = PhysicalGroupBy::new_single(by.iter().map(named).collect());
    let input: Plan = match seeded.once_in(4) {
        true => Arc::clone(plan),
        false => Arc::new(CoalescePartitionsExec::new(Arc::clone(plan))),
    };
    let filters = vec![None; largest.len()];
    let grouped = AggregateExec::try_new(
        AggregateMode::Single,
        groups,
        largest,
        filters,
        input,
        Arc::clone(&schema),
    )
    .ok()?;
    let grouped: Plan = Arc::new(grouped);
    // The columns where they were.
    let places: Vec<usize> = by.into_iter().chain(others).collect();
    let back = (0..width).map(|place| {
        let from = places.iter().position(|other| *other == place)?;
        Some((
            column(&grouped.schema(), from),
            schema.field(place).name().clone(),
        ))
    });
    let back: Vec<(Expr, String)> = back.collect::<Option<_>>()?;
    Some(Arc::new(ProjectionExec::try_new(back, grouped).ok()?))
}

/// Another key, function, mode or filter of an aggregate.
fn grouping(plan: &Plan, _: &Material<'_>, seeded: &mut Seeded) -> Option<Plan> {
    let aggregate = plan.downcast_ref::<AggregateExec>()?;
    let schema = aggregate.input_schema();
    let mut groups = aggregate.group_expr().expr().to_vec();
    let mut calls = aggregate.aggr_expr().to_vec();
    let mut filters = aggregate.filter_expr().to_vec();
    let mut mode = *aggregate.mode();
    let mut input = Arc::clone(aggregate.input());
    match seeded.below(6) {
        0 | 1 => {
            let place = seeded.below(groups.len().max(1));
            let of = groups.get(place)?.0.data_type(&schema).ok()?;
            groups.get_mut(place)?.0 = value(&of, &schema, seeded)?;
        }
        2 | 3 => {
            let place = seeded.below(calls.len().max(1));
            let call = Arc::clone(calls.get(place)?);
            let argument = call.expressions().first().cloned()?;
            let of = argument.data_type(&schema).ok()?;
            let function = match seeded.below(5) {
                0 => sum_udaf(),
                1 => count_udaf(),
                2 => max_udaf(),
                3 => min_udaf(),
                _ => Arc::new(call.fun().clone()),
            };
            let argument = match seeded.once_in(3) {
                true => argument,
                false => value(&of, &schema, seeded)?,
            };
            let mut other = AggregateExprBuilder::new(function, vec![argument])
                .schema(Arc::clone(&schema))
                .alias(call.name());
            if seeded.once_in(4) {
                other = other.distinct();
            }
            calls[place] = Arc::new(other.build().ok()?);
        }
        4 => *filters.first_mut()? = Some(condition(&schema, seeded)?),
        _ => {
            mode = *seeded.pick(&[
                AggregateMode::Single,
                AggregateMode::SinglePartitioned,
                AggregateMode::Final,
                AggregateMode::FinalPartitioned,
                AggregateMode::Partial,
            ]);
            if seeded.once_in(3) {
                input = only_child(&input)?;
            }
        }
    }
    let groups = PhysicalGroupBy::new_single(groups);
    let grouped = AggregateExec::try_new(mode, groups, calls, filters, input, schema).ok()?;
    same_types(&grouped.schema(), &plan.schema()).then(|| Arc::new(grouped) as Plan)
}

fn limit(plan: &Plan, _: &Material<'_>, seeded: &mut Seeded) -> Option<Plan> {
    let one: Plan = Arc::new(CoalescePartitionsExec::new(Arc::clone(plan)));
    match seeded.once_in(2) {
        true => Some(Arc::new(GlobalLimitExec::new(one, 0, Some(3)))),
        false => plan.with_fetch(Some(2)),
    }
}

/// Rows in other places.
fn place(plan: &Plan, _: &Material<'_>, seeded: &mut Seeded) -> Option<Plan> {
    let schema = plan.schema();
    let rows = Arc::clone(plan);
    let any = schema.fields().len().max(1);
    match seeded.below(5) {
        0 => Some(Arc::new(CoalescePartitionsExec::new(rows))),
        1 => Some(Arc::new(
            RepartitionExec::try_new(rows, Partitioning::RoundRobinBatch(3)).ok()?,
        )),
        2 => {
            let by = column(&schema, seeded.below(any));
            Some(Arc::new(
                RepartitionExec::try_new(rows, Partitioning::Hash(vec![by], 3)).ok()?,
            ))
        }
        3 => {
            let order = LexOrdering::new([ordered(&schema, seeded.below(any), seeded)])?;
            Some(Arc::new(SortPreservingMergeExec::new(order, rows)))
        }
        _ => {
            // Another exchange in place of this one.
            let exchange = plan.downcast_ref::<RepartitionExec>()?;
            let by = column(&schema, seeded.below(any));
            let other = Partitioning::Hash(vec![by], exchange.partitioning().partition_count());
            Some(Arc::new(
                RepartitionExec::try_new(Arc::clone(exchange.input()), other).ok()?,
            ))
        }
    }
}

fn ordered(schema: &Schema, place: usize, seeded: &mut Seeded) -> PhysicalSortExpr {
    PhysicalSortExpr {
        expr: column(schema, place),
        options: SortOptions {
            descending: seeded.once_in(4),
            nulls_first: seeded.once_in(2),
        },
    }
}

/// A sort, or another order in one.
fn sort(plan: &Plan, _: &Material<'_>, seeded: &mut Seeded) -> Option<Plan> {
    let schema = plan.schema();
    let width = schema.fields().len();
    if let Some(sort) = plan.downcast_ref::<SortExec>()
        && seeded.once_in(2)
    {
        let mut order: Vec<PhysicalSortExpr> = sort.expr().iter().cloned().collect();
        let at = seeded.below(order.len());
        match seeded.below(3) {
            0 => {
                order.remove(at);
            }
            1 => order[at] = ordered(&schema, seeded.below(width), seeded),
            _ => order.swap(0, at),
        }
        let other = SortExec::new(LexOrdering::new(order)?, Arc::clone(sort.input()));
        let preserve = sort.preserve_partitioning() ^ seeded.once_in(4);
        return Some(Arc::new(other.with_preserve_partitioning(preserve)));
    }
    let order = (0..1 + seeded.below(2)).map(|_| ordered(&schema, seeded.below(width.max(1)), seeded));
    let order: Vec<PhysicalSortExpr> = order.collect();
    let sorted = SortExec::new(LexOrdering::new(order)?, Arc::clone(plan));
    Some(Arc::new(sorted.with_preserve_partitioning(seeded.once_in(2))))
}

/// Other bounds of a bounding step.
fn bounding(plan: &Plan, material: &Material<'_>, seeded: &mut Seeded) -> Option<Plan> {
    let Some(Operator::Bounding {
        way,
        keys,
        partials,
        groups,
        lengths,
        beside,
    }) = operator(plan.as_ref())
    else {
        return None;
    };
    if !lengths.is_empty() || beside.is_some() {
        return None;
    }
    let (mut way, mut groups, mut partials) = (way, groups, partials.to_vec());
    match seeded.below(4) {
        0 => way = *seeded.pick(&[Way::OneRow, Way::AllRows, Way::SomeRows]),
        1 => groups = *seeded.pick(&[None, Some(1), Some(3), groups.map(|groups| groups + 1)]),
        _ => {
            let at = seeded.below(partials.len().max(1));
            let other = match *partials.get(at)? {
                Partial::Units => Partial::Rows { most: 2 },
                Partial::Rows { most } => *seeded.pick(&[Partial::Units, Partial::Rows { most: most + 1 }]),
                Partial::Present { argument, most } => *seeded.pick(&[
                    Partial::Present {
                        argument,
                        most: most + 2,
                    },
                    Partial::Rows { most },
                ]),
                Partial::Sum { argument, low, high }
                | Partial::Mean {
                    argument, low, high, ..
                } => *seeded.pick(&[
                    Partial::Sum {
                        argument,
                        low: low - 3,
                        high,
                    },
                    Partial::Sum {
                        argument,
                        low,
                        high: high + 7,
                    },
                    Partial::Mean {
                        argument,
                        most: 2,
                        low,
                        high,
                    },
                    Partial::Present { argument, most: 3 },
                ]),
            };
            partials[at] = other;
        }
    }
    let [input] = plan.children()[..] else { return None };
    bounding_over(
        Arc::clone(input),
        (way, keys, groups),
        partials,
        &material.session.state(),
    )
    .ok()
}

/// Another partition or order of a window.
fn window(plan: &Plan, _: &Material<'_>, seeded: &mut Seeded) -> Option<Plan> {
    let windowed = plan.downcast_ref::<BoundedWindowAggExec>()?;
    let schema = windowed.input().schema();
    let mut windows = windowed.window_expr().to_vec();
    let at = seeded.below(windows.len());
    let one = Arc::clone(&windows[at]);
    let function = one.as_any().downcast_ref::<StandardWindowExpr>()?;
    let function = function
        .get_standard_func_expr()
        .as_any()
        .downcast_ref::<WindowUDFExpr>()?;
    let (mut within, mut order) = (one.partition_by().to_vec(), one.order_by().to_vec());
    let place = seeded.below(schema.fields().len());
    match seeded.below(4) {
        0 => {
            within.pop()?;
        }
        1 => *within.first_mut()? = column(&schema, place),
        2 => {
            order.pop()?;
        }
        _ => order.first_mut()?.expr = column(&schema, place),
    }
    let definition = WindowFunctionDefinition::WindowUDF(Arc::clone(function.fun()));
    let frame = Arc::clone(one.get_window_frame());
    windows[at] = create_window_expr(
        &definition,
        one.name().to_owned(),
        function.args(),
        &within,
        &order,
        frame,
        schema,
        false,
        false,
        None,
    )
    .ok()?;
    let input = Arc::clone(windowed.input());
    let windowed =
        BoundedWindowAggExec::try_new(windows, input, windowed.input_order_mode.clone(), false).ok()?;
    same_types(&windowed.schema(), &plan.schema()).then(|| Arc::new(windowed) as Plan)
}

/// The inputs exchanged.
fn sides(plan: &Plan, _: &Material<'_>, seeded: &mut Seeded) -> Option<Plan> {
    let mut children: Vec<Plan> = plan.children().into_iter().cloned().collect();
    if children.len() < 2 {
        return None;
    }
    let (one, other) = (
        seeded.below(children.len().max(1)),
        seeded.below(children.len().max(1)),
    );
    let alike = one != other && same_types(&children[one].schema(), &children[other].schema());
    alike.then(|| children.swap(one, other));
    if alike { over(plan, children) } else { None }
}

/// Whether a type is one of numbers that are released.
pub(super) fn is_number(of: &DataType) -> bool {
    *of == DataType::Int64
}
