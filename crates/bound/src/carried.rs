//! What travels from a worker that reads sorted rows to the coordinator: totals of the units that lie inside of its parts, and what it has of the units at their ends.
//!
//! All of it is rows of one table, since a stream has one schema. The first column says what a row is; the columns of the other kinds are NULL in it.

use super::runs::{Ends, not_sorted};
use super::totals::Shape;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, new_null_array,
};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type, Schema, SchemaRef};
use datafusion::common::{Result, exec_err};
use std::sync::Arc;

/// Totals of a group.
const TOTALS: i64 = 0;
/// The state of a unit in a group, where the unit is the first or the last of a part.
const STATES: i64 = 1;
/// The first unit of a part and the last.
const SPAN: i64 = 2;
/// The rows of a part are not sorted.
const NOT_SORTED: i64 = 3;

/// The rows that travel, and how to read them.
#[derive(Debug)]
pub(crate) struct Carried {
    shape: Arc<Shape>,
    schema: SchemaRef,
}

impl Carried {
    pub(crate) fn new(shape: &Arc<Shape>) -> Self {
        let unit = shape.unit.field(0);
        let mut fields = vec![Field::new("what", DataType::Int64, false)];
        let mut add = |kind: &str, field: &Field| {
            let name = format!("{kind}_{}", field.name());
            fields.push(Field::new(name, field.data_type().clone(), true));
        };
        let all = |schema: &SchemaRef| -> Vec<FieldRef> { schema.fields().iter().cloned().collect() };
        all(&shape.totals).iter().for_each(|field| add("total", field));
        all(&shape.states).iter().for_each(|field| add("state", field));
        add("first", unit);
        add("last", unit);
        Self {
            shape: Arc::clone(shape),
            schema: Arc::new(Schema::new(fields)),
        }
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Where the columns of states and of spans begin; those of totals begin after the first.
    fn places(&self) -> (usize, usize) {
        let states = 1 + self.shape.totals.fields().len();
        (states, states + self.shape.states.fields().len())
    }

    /// Rows of one kind, whose own columns begin at a place.
    fn rows(&self, what: i64, from: usize, own: &[ArrayRef], rows: usize) -> Result<RecordBatch> {
        let column = |(place, field): (usize, &FieldRef)| match place.checked_sub(from) {
            _ if place == 0 => Arc::new(Int64Array::from(vec![what; rows])) as ArrayRef,
            Some(place) if place < own.len() => Arc::clone(&own[place]),
            _ => new_null_array(field.data_type(), rows),
        };
        let columns = self.schema.fields().iter().enumerate().map(column).collect();
        Shape::batch(&self.schema, columns, rows)
    }

    pub(crate) fn of_totals(&self, totals: &RecordBatch) -> Result<RecordBatch> {
        self.rows(TOTALS, 1, totals.columns(), totals.num_rows())
    }

    pub(crate) fn of_ends(&self, ends: &Ends) -> Result<Vec<RecordBatch>> {
        let (states, span) = self.places();
        let mut rows = Vec::new();
        for batch in &ends.states {
            // A unit may have states in many groups, and a message must not be of any size.
            for start in (0..batch.num_rows()).step_by(self.shape.batch_size) {
                let some = batch.slice(start, self.shape.batch_size.min(batch.num_rows() - start));
                rows.push(self.rows(STATES, states, some.columns(), some.num_rows())?);
            }
        }
        if let Some((first, last)) = &ends.units {
            rows.push(self.rows(SPAN, span, &[Arc::clone(first), Arc::clone(last)], 1)?);
        }
        Ok(rows)
    }

    pub(crate) fn of_disorder(&self) -> Result<RecordBatch> {
        self.rows(NOT_SORTED, 1, &[], 1)
    }

    /// The totals among the rows; what they have of ends goes to the ends.
    ///
    /// # Errors
    /// If rows of a worker are not sorted, or these rows are not what a worker sends.
    pub(crate) fn read(&self, batch: &RecordBatch, ends: &mut Vec<Ends>) -> Result<RecordBatch> {
        let kinds = batch.column(0).as_primitive::<Int64Type>();
        if kinds.values().contains(&NOT_SORTED) {
            return not_sorted();
        }
        if kinds.null_count() > 0 || kinds.values().iter().any(|kind| !(TOTALS..=SPAN).contains(kind)) {
            return exec_err!("a worker sent something that is not known here");
        }
        let of = |kind: i64, from: usize, schema: &SchemaRef| -> Result<RecordBatch> {
            let own = BooleanArray::from_iter(kinds.values().iter().map(|row| Some(*row == kind)));
            let own = filter_record_batch(batch, &own)?;
            let columns = own.columns()[from..from + schema.fields().len()].to_vec();
            Shape::batch(schema, columns, own.num_rows())
        };
        let (states, span) = self.places();
        let held = of(STATES, states, &self.shape.states)?;
        if held.num_rows() > 0 {
            ends.push(Ends {
                states: vec![held],
                units: None,
            });
        }
        let unit = self.shape.unit.field(0);
        let named = |name: &str| unit.clone().with_name(name).with_nullable(false);
        let spans = Arc::new(Schema::new(vec![named("first"), named("last")]));
        let spans = of(SPAN, span, &spans)?;
        for row in 0..spans.num_rows() {
            let unit = |column: usize| spans.column(column).slice(row, 1);
            ends.push(Ends {
                states: Vec::new(),
                units: Some((unit(0), unit(1))),
            });
        }
        of(TOTALS, 1, &self.shape.totals)
    }
}
