//! After the noise: HAVING, ORDER BY, arithmetic over results, outer queries. Free by post-processing; intervals come along where they can.
//!
//! - `certainty`: a walk that finds what is known of each column of a plan over released tables: exact, within an interval, or noisy and why no interval is reported.
//! - `known`: what it carries along.
//! - `spans`: intervals through expressions.
//! - `simulated`: intervals of what depends on many noisy numbers.

mod certainty;
mod known;
mod simulated;
mod spans;

use self::certainty::{WHICH_ROWS, extend};
use self::known::{Known, Names};
use self::simulated::Simulation;
use crate::catalog::Catalog;
use crate::finish::estimate::Estimate;
use crate::run::scans::{over_data, public_rows};
use crate::understand::aggregation::{Aggregation, Output, Selection, Shape};
use crate::understand::dialect;
use crate::understand::frontier::{RELEASED, column_name, reads_rows};
use crate::understand::mistakes::unplannable;
use crate::values::facts::{Kind, Value};
use crate::{Error, sources};
use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::default_table_source::provider_as_source;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column, ScalarValue};
use datafusion::datasource::MemTable;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Marks, in the description of a column of a released table, that it is noisy although it has no interval.
const NOISY: &str = "deniable.noisy";

/// Why such a column has none: the value beside the mark says which reason it is.
const REASONS: [(&str, &str); 3] = [
    ("mode", "it is the value with the largest noisy count"),
    ("date", "intervals are reported of numbers, and this is a date"),
    ("truth", "it is decided by a noisy count, and is no number itself"),
];

/// Why a column that is marked so has no interval.
fn reason(field: &Field) -> Option<&'static str> {
    let named = field.metadata().get(NOISY)?;
    let (_, reason) = REASONS.iter().find(|(name, _)| name == named)?;
    Some(reason)
}

/// Marks, in the description of a released table, that which groups it has was decided by noise.
const CHOSEN: &str = "deniable.chosen";

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
            if let Some((why, value)) = no_number(&aggregation.outputs[place - keys]) {
                let values = estimates.iter().map(|estimate| {
                    let value = estimate.value.map_or(Value::Null, &value);
                    scalar(&value, data_type)
                });
                columns.push(match estimates.is_empty() {
                    true => datafusion::arrow::array::new_empty_array(data_type),
                    false => ScalarValue::iter_to_array(values).map_err(unplannable)?,
                });
                let without_ends = HashMap::from([(NOISY.to_owned(), why.to_owned())]);
                let field = Field::new(column_name(place), data_type.clone(), true);
                fields.push(field.with_metadata(without_ends));
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
    let chosen = keys > 0 && aggregation.groups.selection == Selection::Threshold;
    let metadata: HashMap<String, String> = chosen
        .then(|| (CHOSEN.to_owned(), String::new()))
        .into_iter()
        .collect();
    let schema = Schema::new_with_metadata(fields, metadata);
    RecordBatch::try_new_with_options(Arc::new(schema), columns, &options)
        .map_err(|error| unplannable(error.into()))
}

/// What the numbers of an output stand for that are no numbers themselves, and why there are no intervals of them.
type Stands<'a> = (&'static str, Box<dyn Fn(f64) -> Value + 'a>);

fn no_number(output: &Output) -> Option<Stands<'_>> {
    match output {
        // Which of the public values it is.
        Output::Mode { values, .. } => {
            let value = move |place: f64| values.get(place as usize).cloned().unwrap_or(Value::Null);
            Some(("mode", Box::new(value)))
        }
        // Within declared bounds, so it fits.
        Output::Quantile { kind: Kind::Date, .. } => {
            Some(("date", Box::new(|days| Value::Date(days.floor() as i32))))
        }
        Output::Quantile {
            kind: Kind::Timestamp,
            ..
        } => Some(("date", Box::new(|moment| Value::Timestamp(moment.floor() as i64)))),
        Output::Truth { .. } => Some(("truth", Box::new(|truth| Value::Bool(truth > 0.5)))),
        _ => None,
    }
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
    let place = |name: String| table.schema().index_of(&name).ok();
    let chosen = table.schema().metadata().contains_key(CHOSEN);
    let columns = aggregation.shape.iter().enumerate().map(|(at, column)| Shown {
        name: column.name.clone(),
        data_type: table.schema().field(at).data_type().clone(),
        certainty: match place(format!("low{at}")).zip(place(format!("high{at}"))) {
            Some((low, high)) => Certainty::Interval { low, high },
            None => match reason(table.schema().field(at)) {
                Some(why) => Certainty::NoInterval(why),
                None if chosen => Certainty::Chosen,
                None => Certainty::Exact,
            },
        },
    });
    Finished {
        batches: vec![table.clone()],
        columns: columns.collect(),
        simulated: Vec::new(),
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

/// A result of the query. After the columns that are shown come the ends of their intervals.
pub(crate) struct Finished {
    pub(crate) batches: Vec<RecordBatch>,
    /// The query's own columns.
    pub(crate) columns: Vec<Shown>,
    /// The names of those whose intervals were found by simulation.
    pub(crate) simulated: Vec<String>,
}

/// A column of the result.
pub(crate) struct Shown {
    pub(crate) name: String,
    pub(crate) data_type: DataType,
    pub(crate) certainty: Certainty,
}

/// How sure the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// They do not depend on noise: names of groups, constants, public tables.
    Exact,
    /// They are such values, and noise decided which of them are there.
    Chosen,
    /// They are noisy, and the ends of their intervals are in these columns.
    Interval { low: usize, high: usize },
    /// They are noisy, and this is why no interval is reported.
    NoInterval(&'static str),
}

impl Certainty {
    /// Why there is no interval around values that noise had a part in.
    pub(crate) fn no_interval(self) -> Option<&'static str> {
        match self {
            Self::Exact | Self::Interval { .. } => None,
            Self::Chosen => Some(WHICH_ROWS),
            Self::NoInterval(why) => Some(why),
        }
    }
}

/// Runs the rest of the query over released tables.
pub(crate) async fn finish(
    post: &LogicalPlan,
    tables: Vec<RecordBatch>,
    session: &SessionContext,
    catalog: &Catalog,
) -> Result<Finished, Error> {
    let (plan, columns) = extended(post, &tables, catalog)?;
    let simulation = Simulation::of(post, &tables, &columns, catalog)?;
    let plan = over_data(&plan, session, catalog).await?;
    let rows = public_rows(&plan, session, catalog).await?;
    let rows = rows.map_err(|error| after_release(&error))?;
    // What only arranges is no larger than what was released.
    let most_text = (!only_arranges(post)).then_some(MOST_TEXT);
    let batches = tokio::time::timeout(LONGEST, collected(rows, most_text)).await;
    let batches = batches.unwrap_or_else(|_| Err(too_much()))?;
    let mut finished = Finished {
        batches,
        columns,
        simulated: Vec::new(),
    };
    if let Some(simulation) = simulation {
        simulation.add(&mut finished, session, catalog).await?;
    }
    Ok(finished)
}

/// The columns that the rest of the query will have, of one that only arranges: nothing has to run for them.
pub(crate) fn arranged(
    post: &LogicalPlan,
    tables: Vec<RecordBatch>,
    catalog: &Catalog,
) -> Result<Finished, Error> {
    let (_, columns) = extended(post, &tables, catalog)?;
    Ok(Finished {
        batches: Vec::new(),
        columns,
        simulated: Vec::new(),
    })
}

/// The rest of the query over released tables, with the ends of intervals, and what is known of its columns.
fn extended(
    post: &LogicalPlan,
    tables: &[RecordBatch],
    catalog: &Catalog,
) -> Result<(LogicalPlan, Vec<Shown>), Error> {
    let over_releases = bind_releases(post, tables)?;
    let extended = extend(&over_releases, &mut Names::default())?;
    let schema = extended.plan.schema().clone();
    let place = |column: &Column| schema.maybe_index_of_column(column);
    let names = over_releases
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone());
    let data_types = over_releases.schema().fields().iter();
    let shown = dialect::as_written(names.collect())
        .into_iter()
        .zip(data_types)
        .zip(&extended.columns);
    let columns = shown
        .map(|((name, field), known)| Shown {
            name,
            data_type: field.data_type().clone(),
            certainty: match known {
                Known::Exact if extended.chosen => Certainty::Chosen,
                Known::Exact => Certainty::Exact,
                Known::Within(ends) => match (place(&ends.columns[0]), place(&ends.columns[1])) {
                    (Some(low), Some(high)) => Certainty::Interval { low, high },
                    _ => Certainty::NoInterval("its ends were lost on the way"),
                },
                Known::Noisy(why) => Certainty::NoInterval(why),
            },
        })
        .collect();
    if reads_rows(&extended.plan, catalog) {
        return Err(Error::refused(
            "what comes after the noise would read private rows",
            "this is a defect of Deniable; please report it",
        ));
    }
    Ok((extended.plan, columns))
}

/// What an analyst's own SQL does with released values may take this long, and make this many rows and bytes of text: it is theirs, and shows nothing of the data.
const LONGEST: Duration = Duration::from_secs(30);
const MOST_ROWS: usize = 1_000_000;
const MOST_TEXT: usize = 32 << 20;
/// What is said where that is not enough.
pub(crate) const TOO_MUCH: &str = "what this query does with its results takes more than 30 seconds, or makes more than a million rows or 32 MiB of text";

async fn collected(
    mut stream: SendableRecordBatchStream,
    most_text: Option<usize>,
) -> Result<Vec<RecordBatch>, Error> {
    let (mut batches, mut rows, mut text) = (Vec::new(), 0, 0);
    while let Some(batch) = stream.next().await {
        let batch = batch.map_err(|error| after_release(&error))?;
        rows += batch.num_rows();
        text += batch.columns().iter().map(bytes_of_text).sum::<usize>();
        if rows > MOST_ROWS || most_text.is_some_and(|most| text > most) {
            return Err(too_much());
        }
        batches.push(batch);
    }
    Ok(batches)
}

/// The bytes of the texts in a column. Rows may share them in memory, and do not where they are sent.
fn bytes_of_text(column: &ArrayRef) -> usize {
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().iter().flatten().map(str::len).sum(),
        DataType::LargeUtf8 => column.as_string::<i64>().iter().flatten().map(str::len).sum(),
        DataType::Utf8View => column.as_string_view().iter().flatten().map(str::len).sum(),
        _ => 0,
    }
}

fn too_much() -> Error {
    Error::refused(
        TOO_MUCH,
        "ask for the aggregates alone, and do the rest elsewhere: what was released is free from now on",
    )
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

/// The plan with each scan of a released table bound to its rows.
fn bind_releases(post: &LogicalPlan, tables: &[RecordBatch]) -> Result<LogicalPlan, Error> {
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
