//! After the noise: HAVING, ORDER BY, arithmetic over results, outer queries. Free by post-processing; intervals come along where they can.

use crate::aggregation::{Aggregation, Output, Shape};
use crate::catalog::Catalog;
use crate::engine::over_data;
use crate::estimate::Estimate;
use crate::facts::Value;
use crate::frontier::{RELEASED, column_name, reads_rows};
use crate::relation::unplannable;
use crate::{Error, sources};
use datafusion::arrow::array::{ArrayRef, Float64Array, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::default_table_source::provider_as_source;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column, ScalarValue};
use datafusion::datasource::MemTable;
use datafusion::functions::core::expr_fn::{greatest, least};
use datafusion::logical_expr::{
    BinaryExpr, Expr, LogicalPlan, LogicalPlanBuilder, Operator, lit, try_cast, when,
};
use datafusion::prelude::SessionContext;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The four ends of a column's interval: 95 % and, wider, 97.5 %.
const ENDS: [&str; 4] = ["low", "high", "wide_low", "wide_high"];

/// A released table: the keys, the outputs, and the ends of the outputs' intervals as columns `low3` and so on.
pub(crate) fn table(
    aggregation: &Aggregation,
    groups: &[Vec<Value>],
    outputs: &[Vec<Estimate>],
) -> Result<RecordBatch, Error> {
    let keys = aggregation.keys.len();
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    let mut ends: Vec<(Field, ArrayRef)> = Vec::new();
    for (place, Shape { data_type, .. }) in aggregation.shape.iter().enumerate() {
        let array = if place < keys {
            let values: Vec<ScalarValue> = groups
                .iter()
                .map(|group| scalar(&group[place], data_type))
                .collect();
            if values.is_empty() {
                datafusion::arrow::array::new_empty_array(data_type)
            } else {
                ScalarValue::iter_to_array(values).map_err(unplannable)?
            }
        } else {
            let estimates = &outputs[place - keys];
            if let Output::Mode { values, .. } = &aggregation.outputs[place - keys] {
                // Which of the public values it is; they have no intervals.
                let values = estimates.iter().map(|estimate| {
                    let value = estimate.value.and_then(|place| values.get(place as usize));
                    scalar(value.unwrap_or(&Value::Null), data_type)
                });
                fields.push(Field::new(column_name(place), data_type.clone(), true));
                columns.push(match estimates.is_empty() {
                    true => datafusion::arrow::array::new_empty_array(data_type),
                    false => ScalarValue::iter_to_array(values).map_err(unplannable)?,
                });
                for name in ENDS {
                    let none = Float64Array::new_null(estimates.len());
                    ends.push((
                        Field::new(format!("{name}{place}"), DataType::Float64, true),
                        Arc::new(none),
                    ));
                }
                continue;
            }
            let whole = data_type.is_integer();
            let values = estimates.iter().map(|estimate| {
                let value = estimate.value?;
                Some(if whole { value.round() } else { value })
            });
            let values: ArrayRef = Arc::new(Float64Array::from_iter(values));
            let end = |pick: fn(&Estimate) -> Option<f64>| -> ArrayRef {
                Arc::new(Float64Array::from_iter(estimates.iter().map(pick)))
            };
            let four = [
                end(|estimate| estimate.interval.map(|ends| ends.0)),
                end(|estimate| estimate.interval.map(|ends| ends.1)),
                end(|estimate| estimate.wide.map(|ends| ends.0)),
                end(|estimate| estimate.wide.map(|ends| ends.1)),
            ];
            for (name, array) in ENDS.iter().zip(four) {
                ends.push((
                    Field::new(format!("{name}{place}"), DataType::Float64, true),
                    array,
                ));
            }
            cast(&values, data_type).map_err(|error| unplannable(error.into()))?
        };
        fields.push(Field::new(column_name(place), data_type.clone(), true));
        columns.push(array);
    }
    for (field, array) in ends {
        fields.push(field);
        columns.push(array);
    }
    let options = datafusion::arrow::array::RecordBatchOptions::new().with_row_count(Some(groups.len()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
        .map_err(|error| unplannable(error.into()))
}

/// A release of one group that nobody drew: for trying out a plan.
pub(crate) fn made_up(aggregation: &Aggregation) -> Result<RecordBatch, Error> {
    let one = Estimate {
        value: Some(1.0),
        interval: Some((1.0, 1.0)),
        wide: Some((1.0, 1.0)),
    };
    let group = vec![Value::Null; aggregation.keys.len()];
    let outputs = vec![vec![one]; aggregation.outputs.len()];
    table(aggregation, &[group], &outputs)
}

/// A released table as it is, without the rest of the query.
pub(crate) fn unfinished(aggregation: &Aggregation, table: &RecordBatch) -> Finished {
    let shown = aggregation.shape.len();
    let place = |name: String| table.schema().index_of(&name).ok();
    Finished {
        batches: vec![table.clone()],
        shown,
        intervals: (0..shown)
            .map(|at| place(format!("low{at}")).zip(place(format!("high{at}"))))
            .collect(),
        names: aggregation
            .shape
            .iter()
            .map(|column| column.name.clone())
            .collect(),
    }
}

fn scalar(value: &Value, data_type: &DataType) -> ScalarValue {
    let native = match value {
        Value::Null => return ScalarValue::try_from(data_type).unwrap_or(ScalarValue::Null),
        Value::Bool(value) => ScalarValue::Boolean(Some(*value)),
        Value::Int(value) => ScalarValue::Int64(Some(*value)),
        Value::Float(value) => ScalarValue::Float64(Some(*value)),
        Value::Text(value) => ScalarValue::Utf8View(Some(value.clone())),
        Value::Date(value) => ScalarValue::Date32(Some(*value)),
        Value::Timestamp(value) => ScalarValue::TimestampMicrosecond(Some(*value), None),
    };
    // The engine's planner may call the key's type otherwise; where the name does not fit, it is lost rather than wrong.
    native
        .cast_to(data_type)
        .unwrap_or_else(|_| ScalarValue::try_from(data_type).unwrap_or(ScalarValue::Null))
}

/// A result with, for each column, the places of the ends of its interval, if it has one.
pub(crate) struct Finished {
    pub(crate) batches: Vec<RecordBatch>,
    /// As many of the columns are the query's own.
    pub(crate) shown: usize,
    pub(crate) intervals: Vec<Option<(usize, usize)>>,
    pub(crate) names: Vec<String>,
}

/// Runs the rest of the query over released tables.
pub(crate) async fn finish(
    post: &LogicalPlan,
    tables: Vec<RecordBatch>,
    session: &SessionContext,
    catalog: &Catalog,
) -> Result<Finished, Error> {
    let over_releases = over_releases(post, tables)?;
    let shown = over_releases.schema().fields().len();
    let names = over_releases
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    let extended = extend(&over_releases)?;
    let schema = extended.plan.schema().clone();
    let place = |column: &Column| schema.maybe_index_of_column(column);
    let intervals = (0..shown)
        .map(|at| {
            let ends = extended.intervals.get(&at)?;
            Some((place(&ends.columns[0])?, place(&ends.columns[1])?))
        })
        .collect();
    if reads_rows(&extended.plan, catalog) {
        return Err(Error::refused(
            "what comes after the noise would read private rows",
            "this is a defect of Deniable; please report it",
        ));
    }
    let plan = over_data(&extended.plan, session, catalog).await?;
    let frame = session
        .execute_logical_plan(plan)
        .await
        .map_err(|error| after_release(&error))?;
    let batches = frame.collect().await.map_err(|error| after_release(&error))?;
    Ok(Finished {
        batches,
        shown,
        intervals,
        names,
    })
}

/// Whether nothing is computed after the noise: columns are chosen, named and sorted, rows are cut off. Then nothing can fail on a value.
pub(crate) fn only_arranges(post: &LogicalPlan) -> bool {
    fn is_column(expr: &Expr) -> bool {
        match expr {
            Expr::Column(_) => true,
            Expr::Alias(alias) => is_column(&alias.expr),
            _ => false,
        }
    }
    let arranges = match post {
        LogicalPlan::TableScan(scan) => scan.table_name.table().starts_with(RELEASED),
        LogicalPlan::Projection(projection) => projection.expr.iter().all(is_column),
        LogicalPlan::Sort(sort) => sort.expr.iter().all(|key| is_column(&key.expr)),
        LogicalPlan::SubqueryAlias(_) => true,
        _ => false,
    };
    arranges && post.inputs().into_iter().all(only_arranges)
}

/// Errors after the noise depend on released results and on the query; still, a public table's values may be in them.
fn after_release(error: &datafusion::error::DataFusionError) -> Error {
    sources::incident("the released results", error)
}

fn over_releases(post: &LogicalPlan, tables: Vec<RecordBatch>) -> Result<LogicalPlan, Error> {
    let changed = post.clone().transform_down_with_subqueries(|node| {
        let LogicalPlan::TableScan(scan) = &node else {
            return Ok(Transformed::no(node));
        };
        let place = scan
            .table_name
            .table()
            .strip_prefix(RELEASED)
            .and_then(|place| place.parse::<usize>().ok());
        let Some(batch) = place.and_then(|place| tables.get(place)) else {
            return Ok(Transformed::no(node));
        };
        let memory = MemTable::try_new(batch.schema(), vec![vec![batch.clone()]])?;
        let bound = LogicalPlanBuilder::scan(
            scan.table_name.clone(),
            provider_as_source(Arc::new(memory)),
            None,
        )?
        .build()?;
        Ok(Transformed::new(bound, true, TreeNodeRecursion::Jump))
    });
    Ok(changed.map_err(unplannable)?.data)
}

/// The ends of one column's interval.
#[derive(Clone, Debug)]
struct Ends {
    /// Where the four ends are.
    columns: [Column; 4],
    /// Which released columns it depends on: two may fail to hold independently.
    sources: BTreeSet<String>,
}

/// A plan with the ends of intervals as further columns.
struct Extended {
    plan: LogicalPlan,
    /// By place among the columns.
    intervals: BTreeMap<usize, Ends>,
}

/// Carries intervals through what keeps rows as they are. Elsewhere there are none: an honest blank.
fn extend(plan: &LogicalPlan) -> Result<Extended, Error> {
    let none = |plan: &LogicalPlan| Extended {
        plan: plan.clone(),
        intervals: BTreeMap::new(),
    };
    match plan {
        LogicalPlan::TableScan(scan) if scan.table_name.table().starts_with(RELEASED) => {
            let fields = plan.schema().fields();
            let at = |name: String| fields.iter().any(|field| *field.name() == name).then_some(name);
            let mut intervals = BTreeMap::new();
            for place in 0..fields.len() {
                if at(format!("low{place}")).is_some() {
                    let columns =
                        ENDS.map(|end| Column::new(Some(scan.table_name.clone()), format!("{end}{place}")));
                    let source = format!("{}.{place}", scan.table_name);
                    intervals.insert(
                        place,
                        Ends {
                            columns,
                            sources: BTreeSet::from([source]),
                        },
                    );
                }
            }
            Ok(Extended {
                plan: plan.clone(),
                intervals,
            })
        }
        LogicalPlan::Filter(_) | LogicalPlan::Sort(_) | LogicalPlan::Limit(_) => {
            let input = extend(plan.inputs()[0])?;
            let plan = plan
                .with_new_exprs(plan.expressions(), vec![input.plan])
                .map_err(unplannable)?;
            Ok(Extended {
                plan,
                intervals: input.intervals,
            })
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let input = extend(&alias.input)?;
            let plan = LogicalPlanBuilder::from(input.plan)
                .alias(alias.alias.clone())
                .and_then(LogicalPlanBuilder::build)
                .map_err(unplannable)?;
            let requalified = |ends: Ends| Ends {
                columns: ends
                    .columns
                    .map(|column| Column::new(Some(alias.alias.clone()), column.name)),
                ..ends
            };
            let intervals = input
                .intervals
                .into_iter()
                .map(|(place, ends)| (place, requalified(ends)))
                .collect();
            Ok(Extended { plan, intervals })
        }
        LogicalPlan::Projection(projection) => {
            let input = extend(&projection.input)?;
            let mut exprs = projection.expr.clone();
            let mut intervals = BTreeMap::new();
            for (place, expr) in projection.expr.iter().enumerate() {
                let Some(span) = span(expr, &input) else { continue };
                if span.sources.is_empty() {
                    continue;
                }
                let names = ENDS.map(|end| format!("__deniable_{end}_{place}"));
                for (end, name) in span.ends.into_iter().zip(&names) {
                    exprs.push(end.alias(name));
                }
                let columns = names.map(Column::from_name);
                intervals.insert(
                    place,
                    Ends {
                        columns,
                        sources: span.sources,
                    },
                );
            }
            let plan = LogicalPlanBuilder::from(input.plan)
                .project(exprs)
                .and_then(LogicalPlanBuilder::build)
                .map_err(unplannable)?;
            Ok(Extended { plan, intervals })
        }
        other => Ok(none(other)),
    }
}

/// An expression's interval, as expressions.
struct Span {
    ends: [Expr; 4],
    sources: BTreeSet<String>,
}

fn null() -> Expr {
    lit(ScalarValue::Float64(None))
}

/// Interval arithmetic. Of two released columns both must lie in their wide intervals, which happens with the stated probability; of more,
/// nothing is said.
fn span(expr: &Expr, input: &Extended) -> Option<Span> {
    match expr {
        Expr::Alias(alias) => span(&alias.expr, input),
        Expr::Cast(cast) if cast.field.data_type().is_numeric() => span(&cast.expr, input),
        Expr::Column(column) => {
            let place = input.plan.schema().maybe_index_of_column(column)?;
            let ends = input.intervals.get(&place)?;
            Some(Span {
                ends: ends.columns.clone().map(Expr::Column),
                sources: ends.sources.clone(),
            })
        }
        Expr::Literal(value, _) if value.data_type().is_numeric() && !value.is_null() => {
            let value = try_cast(expr.clone(), DataType::Float64);
            Some(Span {
                ends: std::array::from_fn(|_| value.clone()),
                sources: BTreeSet::new(),
            })
        }
        Expr::Negative(inner) => {
            let [low, high, wide_low, wide_high] = span(inner, input)?.ends;
            let negative = |end: Expr| Expr::Negative(Box::new(end));
            Some(Span {
                ends: [
                    negative(high),
                    negative(low),
                    negative(wide_high),
                    negative(wide_low),
                ],
                sources: span(inner, input)?.sources,
            })
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (a, b) = (span(left, input)?, span(right, input)?);
            let sources: BTreeSet<String> = a.sources.union(&b.sources).cloned().collect();
            let joint = sources.len() > a.sources.len().max(b.sources.len());
            if sources.len() > 2 {
                return None;
            }
            let [a_low, a_high, a_wide_low, a_wide_high] = a.ends;
            let [b_low, b_high, b_wide_low, b_wide_high] = b.ends;
            let wide = combine(*op, (a_wide_low, a_wide_high), (b_wide_low, b_wide_high))?;
            let (low, high, wide_low, wide_high) = if joint {
                (wide.0, wide.1, null(), null())
            } else {
                let near = combine(*op, (a_low, a_high), (b_low, b_high))?;
                (near.0, near.1, wide.0, wide.1)
            };
            Some(Span {
                ends: [low, high, wide_low, wide_high],
                sources,
            })
        }
        _ => None,
    }
}

fn combine(op: Operator, a: (Expr, Expr), b: (Expr, Expr)) -> Option<(Expr, Expr)> {
    match op {
        Operator::Plus => Some((a.0 + b.0, a.1 + b.1)),
        Operator::Minus => Some((a.0 - b.1, a.1 - b.0)),
        Operator::Multiply => {
            let corners = corners(&a, &b, |x, y| x * y);
            Some((least(corners.clone()), greatest(corners)))
        }
        Operator::Divide => {
            let zero = || lit(0.0f64);
            let safe = b.0.clone().gt(zero()).or(b.1.clone().lt(zero()));
            let corners = corners(&a, &b, |x, y| x / y);
            let guarded = |end: Expr| when(safe.clone(), end).otherwise(null()).ok();
            Some((guarded(least(corners.clone()))?, guarded(greatest(corners))?))
        }
        _ => None,
    }
}

fn corners(a: &(Expr, Expr), b: &(Expr, Expr), apply: impl Fn(Expr, Expr) -> Expr) -> Vec<Expr> {
    [&a.0, &a.1]
        .into_iter()
        .flat_map(|x| [&b.0, &b.1].map(|y| apply(x.clone(), y.clone())))
        .collect()
}
