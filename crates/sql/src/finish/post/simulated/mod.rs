//! Intervals of what is computed from many released numbers: shares, growth, ranks, running totals.
//!
//! Arithmetic of intervals (`spans`) says nothing where more than two noisy numbers meet. Here the rest of the query is run again over tables like the released one, in which each noisy number
//! is moved as its noise may have moved it, all of them in one plan (`replicas`). The interval of a result is what lies between the outer two per cent of its values.
//! That is post-processing: it reads what was released and nothing else, costs nothing, and the same release has the same intervals, because the moves follow from the released numbers.
//!
//! - Each number moves by itself, normally, as far as its own interval reaches to either side. So a number whose interval includes what limits cut moves further up than down. What is cut is cut
//!   from all numbers of a table together, so half of the tables then move all numbers by the same part of their intervals, and the interval holds both kinds.
//! - Numbers that share noise, as COUNT and AVG of one group do, move as if they did not. Sets of ROLLUP and its relatives that are planned together share it across rows, and nothing is told of what is computed over them: a plan with a union is not simulated.
//! - It suits what changes smoothly with each number. The largest of many noisy numbers, the total of those that noise put first, or the distance of two that are nearly the same are pulled to one
//!   side by noise, and their simulated values by as much again: of those no interval is told. Ranks are told: theirs are wide where groups are close.
//! - Rows are found again by the columns that noise has no part in. Where two rows have the same, nothing is told of either.
//!
//! Audited by: `tests/query/simulated.rs`, which counts how often the intervals hold the truth.

mod moves;
mod replicas;

use self::replicas::{Replicas, Sim};
use super::{Certainty, Finished, Shown, bind_releases, collected, reads_rows};
use crate::Error;
use crate::catalog::Catalog;
use crate::run::scans::{over_data, public_rows};
use crate::understand::mistakes::unplannable;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::prelude::SessionContext;
use std::collections::HashMap;
use std::sync::Arc;

/// Tables that are made of one kind, if they have few rows. With many rows there are fewer, and where fewer than the second number would be left, none.
const TABLES: usize = 400;
const FEWEST_TABLES: usize = 100;
const MOST_ROWS: usize = 400_000;
/// The part of the values that an interval leaves out at each end: a little less than 2.5 %, since there are few of them.
const LEFT_OUT: f64 = 0.02;
/// A result has an interval where it has a value in at least this part of the tables.
const PRESENT: f64 = 0.95;

/// What is run again, and for which columns.
pub(super) struct Simulation {
    plan: LogicalPlan,
    /// Columns that get intervals, by their places in the result.
    targets: Vec<usize>,
    /// Columns that tell rows apart.
    labels: Vec<usize>,
    /// Tables of one kind.
    tables: usize,
}

impl Simulation {
    /// Says which columns get intervals: those that have none, are numbers, and can be simulated. Depends on the query and not on values. `None` where there are none.
    pub(super) fn of(
        post: &LogicalPlan,
        released: &[RecordBatch],
        columns: &[Shown],
        catalog: &Catalog,
    ) -> Result<Option<Self>, Error> {
        let wanted = |column: &Shown| {
            matches!(column.certainty, Certainty::NoInterval(_)) && column.data_type.is_numeric()
        };
        if !columns.iter().any(wanted) {
            return Ok(None);
        }
        let rows: usize = released.iter().map(RecordBatch::num_rows).sum();
        let tables = (MOST_ROWS / rows.max(1)).min(TABLES);
        let tables = if tables < FEWEST_TABLES { 0 } else { tables };
        let moved: Vec<RecordBatch> = moves::moved(released, tables)?;
        let bound = bind_releases(post, &moved)?;
        let Some(replicas) = replicas::of(&bound)? else {
            return Ok(None);
        };
        let Replicas {
            plan,
            replica: Some(replica),
            columns: known,
            ..
        } = replicas
        else {
            return Ok(None);
        };
        let places = |keep: &dyn Fn(usize, &Shown) -> bool| -> Vec<usize> {
            let all = columns.iter().enumerate();
            all.filter(|(place, column)| keep(*place, column))
                .map(|(place, _)| place)
                .collect()
        };
        let targets = places(&|place, column| wanted(column) && known.get(place) == Some(&Sim::Smooth));
        let labels = places(&|place, column| {
            let exact = matches!(column.certainty, Certainty::Exact | Certainty::Chosen);
            exact && known.get(place) == Some(&Sim::Exact)
        });
        if targets.is_empty() {
            return Ok(None);
        }
        let schema = bound.schema();
        let column = |place: &usize| Expr::Column(Column::from(schema.qualified_field(*place)));
        let shown = labels
            .iter()
            .chain(&targets)
            .map(column)
            .chain([Expr::Column(replica)]);
        let named = shown
            .enumerate()
            .map(|(place, expr)| expr.alias(format!("__deniable_shown_{place}")));
        let plan = LogicalPlanBuilder::from(plan)
            .project(named.collect::<Vec<_>>())
            .and_then(LogicalPlanBuilder::build)
            .map_err(unplannable)?;
        if reads_rows(&plan, catalog) {
            return Ok(None);
        }
        Ok(Some(Self {
            plan,
            targets,
            labels,
            tables,
        }))
    }

    /// Adds the intervals to a result.
    pub(super) async fn add(
        self,
        finished: &mut Finished,
        session: &SessionContext,
        catalog: &Catalog,
    ) -> Result<(), Error> {
        // What cannot be computed has no interval; the result is there all the same.
        let values = match self.tables {
            0 => Values::default(),
            _ => self.values(session, catalog).await.unwrap_or_default(),
        };
        let width = finished
            .batches
            .first()
            .map_or(finished.columns.len(), RecordBatch::num_columns);
        for batch in &mut finished.batches {
            *batch = self.with_ends(batch, &values)?;
        }
        for (at, target) in self.targets.iter().enumerate() {
            let low = width + 2 * at;
            finished.columns[*target].certainty = Certainty::Interval { low, high: low + 1 };
            finished.simulated.push(finished.columns[*target].name.clone());
        }
        Ok(())
    }

    /// Of each row, by its labels, the values of the targets in all tables.
    async fn values(&self, session: &SessionContext, catalog: &Catalog) -> Result<Values, Error> {
        let plan = over_data(&self.plan, session, catalog).await?;
        let rows = public_rows(&plan, session, catalog).await?.map_err(unplannable)?;
        let longest = super::LONGEST / 3;
        let batches = tokio::time::timeout(longest, collected(rows, Some(super::MOST_TEXT))).await;
        let batches = batches.unwrap_or_else(|_| Err(super::too_much()))?;
        let mut values = Values::default();
        let labels = self.labels.len();
        for batch in &batches {
            let keys = keys(batch, &(0..labels).collect::<Vec<_>>())?;
            let replica = cast(batch.column(labels + self.targets.len()), &DataType::Int64);
            let replica = replica.map_err(|error| unplannable(error.into()))?;
            let replica = replica.as_primitive::<Int64Type>();
            let targets = (0..self.targets.len()).map(|at| floats(batch.column(labels + at)));
            let targets = targets.collect::<Result<Vec<_>, _>>()?;
            let targets: Vec<_> = targets
                .iter()
                .map(|target| target.as_primitive::<Float64Type>())
                .collect();
            for (row, key) in keys.into_iter().enumerate() {
                let table = usize::try_from(replica.value(row)).unwrap_or(usize::MAX);
                let of_row = values.rows.entry(key).or_insert_with(|| OfRow {
                    seen: vec![false; 2 * self.tables],
                    twice: false,
                    targets: vec![vec![f64::NAN; 2 * self.tables]; self.targets.len()],
                });
                let Some(seen) = of_row.seen.get_mut(table) else {
                    continue;
                };
                of_row.twice |= std::mem::replace(seen, true);
                for (values, target) in of_row.targets.iter_mut().zip(&targets) {
                    values[table] = if target.is_null(row) {
                        f64::NAN
                    } else {
                        target.value(row)
                    };
                }
            }
        }
        Ok(values)
    }

    /// The rows with the ends of their targets' intervals behind them.
    fn with_ends(&self, batch: &RecordBatch, values: &Values) -> Result<RecordBatch, Error> {
        let keys = keys(batch, &self.labels)?;
        let mut fields: Vec<Arc<Field>> = batch.schema().fields().iter().cloned().collect();
        let mut columns = batch.columns().to_vec();
        for (at, target) in self.targets.iter().enumerate() {
            let shown = floats(batch.column(*target))?;
            let shown = shown.as_primitive::<Float64Type>();
            let ends: Vec<Option<(f64, f64)>> = keys
                .iter()
                .zip(shown)
                .map(|(key, value)| {
                    let of_row = values.rows.get(key).filter(|of_row| !of_row.twice)?;
                    interval(&of_row.targets[at], value?)
                })
                .collect();
            for (name, end) in [("low", 0), ("high", 1)] {
                let end = ends
                    .iter()
                    .map(|ends| ends.map(|ends| if end == 0 { ends.0 } else { ends.1 }));
                fields.push(Arc::new(Field::new(
                    format!("__deniable_{name}_of_{at}"),
                    DataType::Float64,
                    true,
                )));
                columns.push(Arc::new(Float64Array::from_iter(end)) as ArrayRef);
            }
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
            .map_err(|error| unplannable(error.into()))
    }
}

/// The simulated values, by what tells rows apart.
#[derive(Default)]
struct Values {
    rows: HashMap<Vec<Option<String>>, OfRow>,
}

struct OfRow {
    /// In which tables the row was seen.
    seen: Vec<bool>,
    /// Whether another row has the same labels.
    twice: bool,
    /// Of each target its value in each table.
    targets: Vec<Vec<f64>>,
}

/// The interval of a value, from its values in tables of both kinds: the first half moved each number by itself, the second all of them together.
fn interval(simulated: &[f64], value: f64) -> Option<(f64, f64)> {
    let (alone, together) = simulated.split_at(simulated.len() / 2);
    let (first, second) = (between(alone)?, between(together)?);
    let low = outward(first.0.min(second.0), f64::floor);
    let high = outward(first.1.max(second.1), f64::ceil);
    Some((value.min(low), value.max(high)))
}

/// Rounded to ten digits: the last digits of a sum of floats depend on the order in which the engine adds them, and the same release is to have the same intervals.
fn outward(end: f64, round: fn(f64) -> f64) -> f64 {
    const DIGITS: f64 = 10.0;
    let scale = 10f64.powf(DIGITS - end.abs().log10().ceil());
    match scale.is_normal() && (end * scale).is_finite() {
        true => round(end * scale) / scale,
        false => end,
    }
}

/// What lies between the outer values.
fn between(values: &[f64]) -> Option<(f64, f64)> {
    let mut present: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    if present.is_empty() || (present.len() as f64) < values.len() as f64 * PRESENT {
        return None;
    }
    present.sort_by(f64::total_cmp);
    let out = (present.len() as f64 * LEFT_OUT) as usize;
    Some((present[out], present[present.len() - 1 - out]))
}

fn floats(column: &ArrayRef) -> Result<ArrayRef, Error> {
    cast(column, &DataType::Float64).map_err(|error| unplannable(error.into()))
}

/// What tells the rows of a batch apart.
fn keys(batch: &RecordBatch, labels: &[usize]) -> Result<Vec<Vec<Option<String>>>, Error> {
    let options = FormatOptions::new();
    let mut keys = vec![Vec::with_capacity(labels.len()); batch.num_rows()];
    for place in labels {
        let column = batch.column(*place);
        let text =
            ArrayFormatter::try_new(column.as_ref(), &options).map_err(|error| unplannable(error.into()))?;
        for (row, key) in keys.iter_mut().enumerate() {
            key.push((!column.is_null(row)).then(|| text.value(row).to_string()));
        }
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_leaves_out_the_outer_values() {
        let alone: Vec<f64> = (0..100).map(f64::from).collect();
        let together = vec![50.0; 100];
        let all = [alone.clone(), together].concat();
        assert_eq!(interval(&all, 50.0), Some((2.0, 97.0)));
        // The value itself is in it, and both kinds count.
        assert_eq!(interval(&all, 99.0), Some((2.0, 99.0)));
        let third = 1.0 / 3.0;
        assert_eq!(outward(third, f64::floor), 0.3333333333);
        assert_eq!(outward(-third, f64::floor), -0.3333333334);
        assert_eq!((outward(0.0, f64::ceil), outward(40.0, f64::ceil)), (0.0, 40.0));
        assert_eq!(outward(f64::INFINITY, f64::ceil), f64::INFINITY);
        let further = [alone.clone(), vec![200.0; 100]].concat();
        assert_eq!(interval(&further, 50.0), Some((2.0, 200.0)));
        // A value that is missing in many tables has none.
        let missing = [alone, vec![f64::NAN; 6], vec![1.0; 94]].concat();
        assert_eq!(interval(&missing, 50.0), None);
    }
}
