//! Makes sure that a stream that breaks off does not look like one that ended.
//!
//! The exchange ends a stream without an error when the task behind it panics, on either end. Missing rows
//! would look like rows that never existed. So a worker ends itself at a panic
//! ([`super::Worker::ends_at_panic`]), and its connections break. And every stream to the coordinator ends
//! with a seal that says how many rows it had, which the coordinator requires.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, new_null_array};
use datafusion::arrow::compute::{filter_record_batch, is_null};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatchOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, exec_err, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use futures::{StreamExt, stream};
use std::fmt::Formatter;
use std::sync::Arc;

/// What the column of the seal is called. It is the last one, and is found by its place.
const SEAL: &str = "seal";

/// Adds the seal, or takes it off.
#[derive(Debug)]
pub(crate) struct SealExec {
    input: Arc<dyn ExecutionPlan>,
    takes_off: bool,
    properties: Arc<PlanProperties>,
}

impl SealExec {
    /// Ends every part with a seal.
    pub(crate) fn adding(input: Arc<dyn ExecutionPlan>) -> Self {
        // A row of nothing but the seal has no values of other columns.
        let fields = input
            .schema()
            .fields()
            .iter()
            .map(|field| field.as_ref().clone().with_nullable(true))
            .collect::<Vec<_>>();
        let mut fields: Vec<Field> = fields;
        fields.push(Field::new(SEAL, DataType::Int64, true));
        Self::new(input, false, Arc::new(Schema::new(fields)))
    }

    /// The rows of sealed parts, of which each must end with its seal. `schema` is that before they were
    /// sealed.
    pub(crate) fn taking_off(input: Arc<dyn ExecutionPlan>, schema: SchemaRef) -> Self {
        Self::new(input, true, schema)
    }

    fn new(input: Arc<dyn ExecutionPlan>, takes_off: bool, schema: SchemaRef) -> Self {
        let parts = input.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(parts),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            input,
            takes_off,
            properties: Arc::new(properties),
        }
    }

    /// Whether it adds seals: those are on workers.
    pub(crate) fn adds(&self) -> bool {
        !self.takes_off
    }
}

impl DisplayAs for SealExec {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "SealExec: {}",
            if self.takes_off { "checked" } else { "added" }
        )
    }
}

impl ExecutionPlan for SealExec {
    fn name(&self) -> &str {
        "SealExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self::new(input, self.takes_off, self.schema()))),
            _ => internal_err!("a seal has one input"),
        }
    }

    fn execute(&self, part: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(part, context)?;
        let schema = self.schema();
        Ok(match self.takes_off {
            true => checked(input, schema),
            false => sealed(input, schema),
        })
    }
}

/// The rows, and then their number.
fn sealed(input: SendableRecordBatchStream, schema: SchemaRef) -> SendableRecordBatchStream {
    let state = (Some((input, 0i64)), SchemaRef::clone(&schema));
    let rows = stream::unfold(state, |(state, schema)| async move {
        let (mut input, count) = state?;
        match input.next().await {
            Some(Ok(batch)) => {
                let count = count + batch.num_rows() as i64;
                let mut columns = batch.columns().to_vec();
                columns.push(new_null_array(&DataType::Int64, batch.num_rows()));
                let batch = with_rows(&schema, columns, batch.num_rows());
                Some((batch, (Some((input, count)), schema)))
            }
            Some(Err(error)) => Some((Err(error), (None, schema))),
            None => {
                let fields = schema.fields();
                let mut columns: Vec<ArrayRef> = fields
                    .iter()
                    .map(|field| new_null_array(field.data_type(), 1))
                    .collect();
                columns.pop();
                columns.push(Arc::new(Int64Array::from(vec![count])));
                Some((with_rows(&schema, columns, 1), (None, schema)))
            }
        }
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}

/// The rows without the seal; an error at the end if it does not say their number.
fn checked(input: SendableRecordBatchStream, schema: SchemaRef) -> SendableRecordBatchStream {
    let state = (Some((input, 0i64, None)), SchemaRef::clone(&schema));
    let rows = stream::unfold(state, |(state, schema)| async move {
        let (mut input, mut count, mut seal): (SendableRecordBatchStream, i64, Option<i64>) = state?;
        match input.next().await {
            Some(Ok(batch)) => match opened(batch, &schema, &mut count, &mut seal) {
                Ok(batch) => Some((Ok(batch), (Some((input, count, seal)), schema))),
                Err(error) => Some((Err(error), (None, schema))),
            },
            Some(Err(error)) => Some((Err(error), (None, schema))),
            None if seal == Some(count) => None,
            None => Some((
                exec_err!("a worker's rows broke off before their end"),
                (None, schema),
            )),
        }
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}

fn opened(
    batch: RecordBatch,
    schema: &SchemaRef,
    count: &mut i64,
    seal: &mut Option<i64>,
) -> Result<RecordBatch> {
    let Some((seals, _)) = batch.columns().split_last() else {
        return internal_err!("a sealed row has a seal");
    };
    let seals = Arc::clone(seals);
    for said in seals.as_primitive::<Int64Type>().iter().flatten() {
        if seal.replace(said).is_some() {
            return exec_err!("a worker's rows have two ends");
        }
    }
    let rows = match seals.null_count() == seals.len() {
        true => batch,
        false => filter_record_batch(&batch, &is_null(&seals)?)?,
    };
    *count += rows.num_rows() as i64;
    let columns = rows.columns()[..rows.num_columns() - 1].to_vec();
    with_rows(schema, columns, rows.num_rows())
}

/// A batch, also of no columns.
fn with_rows(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(
        SchemaRef::clone(schema),
        columns,
        &options,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::physical_plan::common::collect;

    fn batches(rows: &[&[i64]]) -> (SchemaRef, Vec<Result<RecordBatch>>) {
        let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, false)]));
        let batch = |rows: &&[i64]| {
            let column: ArrayRef = Arc::new(Int64Array::from(rows.to_vec()));
            Ok(RecordBatch::try_new(SchemaRef::clone(&schema), vec![column])?)
        };
        (SchemaRef::clone(&schema), rows.iter().map(batch).collect())
    }

    fn streamed(schema: &SchemaRef, batches: Vec<Result<RecordBatch>>) -> SendableRecordBatchStream {
        Box::pin(RecordBatchStreamAdapter::new(
            SchemaRef::clone(schema),
            stream::iter(batches),
        ))
    }

    async fn sealed_batches(rows: &[&[i64]]) -> (SchemaRef, SchemaRef, Vec<Result<RecordBatch>>) {
        let (schema, batches) = batches(rows);
        let fields = vec![
            Field::new("x", DataType::Int64, true),
            Field::new(SEAL, DataType::Int64, true),
        ];
        let with_seal = Arc::new(Schema::new(fields));
        let sealed = sealed(streamed(&schema, batches), SchemaRef::clone(&with_seal));
        (schema, with_seal, sealed.collect().await)
    }

    #[tokio::test]
    async fn rows_come_back_and_no_seal() {
        for rows in [&[][..], &[&[1, 2][..], &[][..], &[3][..]]] {
            let (schema, with_seal, sealed) = sealed_batches(rows).await;
            let checked = collect(checked(streamed(&with_seal, sealed), schema))
                .await
                .unwrap();
            let found: Vec<i64> = checked
                .iter()
                .flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec())
                .collect();
            assert_eq!(found, rows.concat());
        }
    }

    #[tokio::test]
    async fn what_breaks_off_is_an_error() {
        let (schema, with_seal, sealed) = sealed_batches(&[&[1, 2], &[3]]).await;
        let sealed: Vec<RecordBatch> = sealed.into_iter().map(Result::unwrap).collect();
        for left_out in 0..sealed.len() {
            let some = sealed.iter().enumerate().filter(|(place, _)| *place != left_out);
            let some = some.map(|(_, batch)| Ok(batch.clone())).collect();
            let outcome = collect(checked(streamed(&with_seal, some), SchemaRef::clone(&schema))).await;
            assert!(outcome.is_err(), "{left_out}");
        }
        // Nor is one that says something twice.
        let twice = sealed
            .iter()
            .chain(&sealed)
            .map(|batch| Ok(batch.clone()))
            .collect();
        assert!(
            collect(checked(streamed(&with_seal, twice), schema))
                .await
                .is_err()
        );
    }
}
