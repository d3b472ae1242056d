//! The operator: rows sorted by owner, one owner after the other.

use super::WindowValue;
use super::frames::{Computed, Partition};
use crate::canonical::with_own_texts;
use datafusion::arrow::array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, UInt64Array,
};
use datafusion::arrow::compute::{SortOptions, concat_batches, filter_record_batch, take};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{
    Distribution, EquivalenceProperties, OrderingRequirements, Partitioning, PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_expr_common::sort_expr::LexOrdering;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;
use std::fmt::Formatter;
use std::ops::Range;
use std::sync::Arc;

/// Ascending, NULL last.
const ASCENDING: SortOptions = SortOptions {
    descending: false,
    nulls_first: false,
};

/// What is computed, by places in the input.
#[derive(Clone, Debug)]
pub(crate) struct WindowRule {
    pub(crate) owner: usize,
    pub(crate) partition: Vec<usize>,
    /// The column, whether the largest comes first, and whether NULL does.
    pub(crate) order: Vec<(usize, bool, bool)>,
    pub(crate) values: Vec<(WindowValue, Option<usize>)>,
    pub(crate) most: u64,
    /// What comes out.
    pub(crate) schema: SchemaRef,
}

impl WindowRule {
    /// The order of rows: by owner, partition and the query's order, and then by everything else, so that it is one of values alone.
    fn order(&self, columns: usize) -> Vec<(usize, SortOptions)> {
        let mut order: Vec<(usize, SortOptions)> = Vec::new();
        let keys = std::iter::once(self.owner).chain(self.partition.iter().copied());
        let keys = keys.map(|place| (place, ASCENDING));
        let written = self.order.iter().map(|(place, descending, nulls_first)| {
            let options = SortOptions {
                descending: *descending,
                nulls_first: *nulls_first,
            };
            (*place, options)
        });
        let others = (0..columns).map(|place| (place, ASCENDING));
        for (place, options) in keys.chain(written).chain(others) {
            if !order.iter().any(|(other, _)| *other == place) {
                order.push((place, options));
            }
        }
        order
    }
}

/// Computes functions of one owner's rows in order.
#[derive(Debug)]
pub(crate) struct OwnerWindowExec {
    input: Arc<dyn ExecutionPlan>,
    rule: WindowRule,
    properties: Arc<PlanProperties>,
}

impl OwnerWindowExec {
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, rule: WindowRule) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&rule.schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            input,
            rule,
            properties: Arc::new(properties),
        }
    }

    pub(crate) fn rule(&self) -> &WindowRule {
        &self.rule
    }
}

impl DisplayAs for OwnerWindowExec {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: rows per owner: {}", self.name(), self.rule.most)
    }
}

impl ExecutionPlan for OwnerWindowExec {
    fn name(&self) -> &str {
        "OwnerWindowExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    /// Parts are sorted side by side and merged, as for a join of owners.
    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition]
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        let schema = self.input.schema();
        let order = self.rule.order(schema.fields().len());
        let sorted = order.into_iter().map(|(place, options)| {
            let column = Column::new(schema.field(place).name(), place);
            PhysicalSortExpr::new(Arc::new(column), options)
        });
        vec![LexOrdering::new(sorted).map(OrderingRequirements::from)]
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
            (Some(input), true) => Ok(Arc::new(Self::new(input, self.rule.clone()))),
            _ => internal_err!("windows read one input"),
        }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("windows have one output");
        }
        let mut input = self.input.execute(0, Arc::clone(&context))?;
        let mut owners = Owners::new(self.rule.clone(), &self.input.schema())?;
        let batch_size = context.session_config().batch_size().max(1);
        let mut output = RecordBatchReceiverStream::builder(Arc::clone(&self.rule.schema), 2);
        let sender = output.tx();
        output.spawn(async move {
            let mut ended = false;
            while !ended {
                let complete = match input.next().await.transpose()? {
                    Some(batch) => owners.take(batch)?,
                    None => {
                        ended = true;
                        owners.rest()?
                    }
                };
                let Some(complete) = complete else { continue };
                let computed = owners.compute(&complete)?;
                let mut from = 0;
                while from < computed.num_rows() {
                    let rows = batch_size.min(computed.num_rows() - from);
                    let rows_out = with_own_texts(&computed.slice(from, rows))?;
                    if sender.send(Ok(rows_out)).await.is_err() {
                        // Whoever does not listen any more does not want an answer.
                        return Ok(());
                    }
                    from += rows;
                }
            }
            Ok(())
        });
        Ok(output.build())
    }
}

/// The rows that are held: those of the last owner, of whom more may come.
struct Owners {
    rule: WindowRule,
    input: SchemaRef,
    owners: RowConverter,
    held: Vec<RecordBatch>,
    /// The owner of the last row, and how many of their rows were taken.
    owner: Option<Vec<u8>>,
    taken: u64,
}

fn converter(schema: &SchemaRef, columns: &[(usize, SortOptions)]) -> Result<RowConverter> {
    let field = |(place, options): &(usize, SortOptions)| {
        SortField::new_with_options(schema.field(*place).data_type().clone(), *options)
    };
    Ok(RowConverter::new(columns.iter().map(field).collect())?)
}

impl Owners {
    fn new(rule: WindowRule, input: &SchemaRef) -> Result<Self> {
        Ok(Self {
            owners: converter(input, &[(rule.owner, ASCENDING)])?,
            input: Arc::clone(input),
            rule,
            held: Vec::new(),
            owner: None,
            taken: 0,
        })
    }

    /// Takes the next rows, and returns those of owners of whom no more will come.
    fn take(&mut self, batch: RecordBatch) -> Result<Option<RecordBatch>> {
        let column = batch.column(self.rule.owner);
        let keys = self.owners.convert_columns(std::slice::from_ref(column))?;
        let mut kept = vec![false; batch.num_rows()];
        // How many rows are kept, and how many of them come before the last owner's first row.
        let (mut rows, mut before) = (0, None);
        for (row, kept) in kept.iter_mut().enumerate() {
            if column.is_null(row) {
                // Nobody's.
                continue;
            }
            let owner = keys.row(row);
            if self.owner.as_deref() != Some(owner.as_ref()) {
                self.owner = Some(owner.as_ref().to_vec());
                self.taken = 0;
                before = Some(rows);
            }
            if self.taken < self.rule.most {
                self.taken += 1;
                *kept = true;
                rows += 1;
            }
        }
        let batch = filter_record_batch(&batch, &BooleanArray::from(kept))?;
        let Some(before) = before else {
            self.held.push(batch);
            return Ok(None);
        };
        self.held.push(batch.slice(0, before));
        let complete = self.rest()?;
        self.held.push(batch.slice(before, rows - before));
        Ok(complete)
    }

    /// All rows that are held.
    fn rest(&mut self) -> Result<Option<RecordBatch>> {
        let held = std::mem::take(&mut self.held);
        if held.iter().all(|batch| batch.num_rows() == 0) {
            return Ok(None);
        }
        Ok(Some(concat_batches(&self.input, &held)?))
    }

    /// Rows of whole owners with what is computed of them.
    fn compute(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let keys: Vec<(usize, SortOptions)> = std::iter::once(self.rule.owner)
            .chain(self.rule.partition.iter().copied())
            .map(|place| (place, ASCENDING))
            .collect();
        let order: Vec<(usize, SortOptions)> = self
            .rule
            .order
            .iter()
            .map(|(place, _, _)| (*place, ASCENDING))
            .collect();
        let partitions = runs(0..rows.num_rows(), &self.bytes(rows, &keys)?);
        let ordered = match order.is_empty() {
            true => None,
            false => Some(self.bytes(rows, &order)?),
        };
        let mut peers = Vec::with_capacity(rows.num_rows());
        for partition in &partitions {
            let equal = match &ordered {
                // Without an order all rows are equals.
                None => vec![partition.clone()],
                Some(ordered) => runs(partition.clone(), ordered),
            };
            for run in equal {
                peers.extend(std::iter::repeat_n(run.clone(), run.len()));
            }
        }
        let mut columns = rows.columns().to_vec();
        for (value, place) in &self.rule.values {
            let column = place.map(|place| rows.column(place));
            let bytes = match (value, place) {
                (WindowValue::Least(..) | WindowValue::Largest(..), Some(place)) => {
                    Some(self.bytes(rows, &[(*place, ASCENDING)])?)
                }
                _ => None,
            };
            let mut computed = Computed::of(value);
            for partition in &partitions {
                let partition = Partition {
                    rows: partition.clone(),
                    peers: &peers,
                };
                let column = column.map(|column| column.as_ref() as &dyn Array);
                partition.compute(value, column, bytes.as_ref(), &mut computed);
            }
            columns.push(match (computed, column) {
                (Computed::Numbers(numbers), _) => Arc::new(Int64Array::from(numbers)) as ArrayRef,
                (Computed::Floats(numbers), _) => Arc::new(Float64Array::from(numbers)),
                (Computed::Places(places), Some(column)) => take(column, &UInt64Array::from(places), None)?,
                (Computed::Places(_), None) => return internal_err!("a value is taken from a column"),
            });
        }
        Ok(RecordBatch::try_new(Arc::clone(&self.rule.schema), columns)?)
    }

    fn bytes(&self, rows: &RecordBatch, columns: &[(usize, SortOptions)]) -> Result<Rows> {
        let arrays: Vec<ArrayRef> = columns
            .iter()
            .map(|(place, _)| Arc::clone(rows.column(*place)))
            .collect();
        Ok(converter(&self.input, columns)?.convert_columns(&arrays)?)
    }
}

/// Runs of rows that are equal.
fn runs(rows: Range<usize>, bytes: &Rows) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for row in rows {
        match runs.last_mut() {
            Some(run) if bytes.row(run.start) == bytes.row(row) => run.end = row + 1,
            _ => runs.push(row..row + 1),
        }
    }
    runs
}
