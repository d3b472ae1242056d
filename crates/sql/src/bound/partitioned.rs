//! The native operator for rows in any order: the engine sends all rows of a unit to one thread, which keeps the unit's few groups.

use super::runs::Runs;
use super::spill::Spill;
use super::totals::Shape;
use super::units::Units;
use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::compute::{filter_record_batch, is_not_null};
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{Distribution, EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, InputDistributionRequirements,
    PlanProperties,
};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use std::fmt::Formatter;
use std::sync::Arc;

/// Bounds rows that come partitioned by unit.
#[derive(Debug)]
pub(crate) struct PartitionedExec {
    input: Arc<dyn ExecutionPlan>,
    shape: Arc<Shape>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl PartitionedExec {
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, shape: Arc<Shape>) -> Result<Self> {
        let partitions = input.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&shape.totals)),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Ok(Self {
            input,
            shape,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }
}

impl DisplayAs for PartitionedExec {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "PartitionedExec: groups per unit: {:?}",
            self.shape.limit
        )
    }
}

impl ExecutionPlan for PartitionedExec {
    fn name(&self) -> &str {
        "PartitionedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        let unit: Arc<dyn PhysicalExpr> = Arc::new(Column::new("unit", 0));
        InputDistributionRequirements::new(vec![Distribution::KeyPartitioned(vec![unit])])
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = only_child(children)?;
        Ok(Arc::new(Self::new(input, Arc::clone(&self.shape))?))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let reservation = MemoryConsumer::new(format!("PartitionedExec[{partition}]"))
            .with_can_spill(true)
            .register(context.memory_pool());
        let merge = reservation.new_empty();
        let worker = Worker {
            shape: Arc::clone(&self.shape),
            units: Units::new(&self.shape)?,
            spill: Spill::new(&self.shape, &context, &self.metrics, partition, merge),
            reservation,
            metrics: BaselineMetrics::new(&self.metrics, partition),
        };
        let batches = stream::once(worker.run(input)).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.shape.totals),
            batches,
        )))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// The only child of an operator.
pub(crate) fn only_child(mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
    match (children.pop(), children.is_empty()) {
        (Some(child), true) => Ok(child),
        _ => datafusion::common::internal_err!("bounding reads one input"),
    }
}

/// The rows that are somebody's.
pub(crate) fn somebodys(batch: RecordBatch) -> Result<RecordBatch> {
    if batch.column(0).null_count() == 0 {
        return Ok(batch);
    }
    Ok(filter_record_batch(&batch, &is_not_null(batch.column(0))?)?)
}

/// One thread.
struct Worker {
    shape: Arc<Shape>,
    units: Units,
    spill: Spill,
    reservation: MemoryReservation,
    metrics: BaselineMetrics,
}

impl Worker {
    async fn run(
        mut self,
        mut input: SendableRecordBatchStream,
    ) -> Result<impl Stream<Item = Result<RecordBatch>>> {
        let elapsed = self.metrics.elapsed_compute().clone();
        // Before anybody has states, so that there is some.
        self.spill.set_aside();
        while let Some(batch) = input.next().await {
            let _timer = elapsed.timer();
            self.push(somebodys(batch?)?)?;
        }
        drop(input);
        let _timer = elapsed.timer();
        if self.spill.is_empty() {
            let batches = self.units.totals(&self.shape)?;
            return Ok(stream::iter(batches.into_iter().map(Ok)).boxed());
        }
        self.write()?;
        let merge = Merge {
            runs: Runs::new(Arc::clone(&self.shape), true)?,
            states: self.spill.merged(&self.shape, self.metrics.clone())?,
            reservation: self.reservation,
            shape: self.shape,
        };
        Ok(merge.batches().boxed())
    }

    fn push(&mut self, batch: RecordBatch) -> Result<()> {
        let keys = self.shape.keys.fields().len();
        let addends = self.shape.registers.of_rows(&batch, 1 + keys)?;
        self.units
            .push(batch.column(0), &batch.columns()[1..1 + keys], &addends)?;
        let reserved = self.reservation.try_resize(self.units.size());
        if reserved.is_err() || self.units.is_full() {
            self.write()?;
        }
        Ok(())
    }

    /// Moves all states to disk.
    fn write(&mut self) -> Result<()> {
        if !self.units.is_empty() {
            self.spill.write(&self.shape, &mut self.units)?;
        }
        // Nothing is left that could be given up.
        self.reservation.resize(self.units.size());
        self.spill.set_aside();
        Ok(())
    }
}

/// The totals of states that come sorted by unit. Totals are handed on early when memory is full: whoever reads them sums them anyway.
struct Merge {
    shape: Arc<Shape>,
    runs: Runs,
    states: SendableRecordBatchStream,
    reservation: MemoryReservation,
}

impl Merge {
    fn batches(self) -> impl Stream<Item = Result<RecordBatch>> {
        let steps = stream::try_unfold(Some(self), Self::step);
        steps
            .map_ok(|batches: Vec<RecordBatch>| stream::iter(batches.into_iter().map(Ok)))
            .try_flatten()
    }

    /// The totals to hand on after one more batch of states, and what is left to do.
    async fn step(merge: Option<Self>) -> Result<Option<(Vec<RecordBatch>, Option<Self>)>> {
        let Some(mut merge) = merge else {
            return Ok(None);
        };
        let Some(batch) = merge.states.next().await.transpose()? else {
            return Ok(Some((merge.runs.finish()?.0, None)));
        };
        let keys = merge.shape.keys.fields().len();
        let addends = merge.shape.registers.of_states(&batch, 1 + keys);
        merge
            .runs
            .push(batch.column(0), &batch.columns()[1..1 + keys], &addends)?;
        Ok(Some((merge.runs.within(&merge.reservation)?, Some(merge))))
    }
}
