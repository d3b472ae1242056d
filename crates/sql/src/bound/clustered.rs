//! The native operator for rows sorted by unit: no exchange between threads, and no more memory than the result.

use super::partitioned::{only_child, somebodys};
use super::runs::{Ends, Runs, joined};
use super::totals::Shape;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::runtime::JoinSet;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use futures::{StreamExt, TryStreamExt, stream};
use std::fmt::Formatter;
use std::sync::Arc;
use tokio::sync::mpsc::{self, Sender};

/// Bounds rows that come sorted by unit, in parts that follow each other.
#[derive(Debug)]
pub(crate) struct ClusteredExec {
    input: Arc<dyn ExecutionPlan>,
    shape: Arc<Shape>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ClusteredExec {
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, shape: Arc<Shape>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&shape.totals)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self {
            input,
            shape,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl DisplayAs for ClusteredExec {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "ClusteredExec: groups per unit: {:?}",
            self.shape.limit
        )
    }
}

impl ExecutionPlan for ClusteredExec {
    fn name(&self) -> &str {
        "ClusteredExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    /// Rows are read in the parts in which they lie; dealing them out anew would tear units apart.
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
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self::new(
            only_child(children)?,
            Arc::clone(&self.shape),
        )))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("clustered bounding has one output");
        }
        let context = reading_in_order(&context);
        let parts = self.input.output_partitioning().partition_count();
        // Totals are few, and a thread that has some may go on while nobody reads them yet.
        let (sender, receiver) = mpsc::channel(parts.max(1));
        let mut threads = JoinSet::new();
        for part in 0..parts {
            let worker = Worker {
                shape: Arc::clone(&self.shape),
                runs: Runs::new(Arc::clone(&self.shape), false)?,
                reservation: MemoryConsumer::new(format!("ClusteredExec[{part}]"))
                    .register(context.memory_pool()),
                metrics: BaselineMetrics::new(&self.metrics, part),
                sender: sender.clone(),
            };
            threads.spawn(worker.run(self.input.execute(part, Arc::clone(&context))?));
        }
        drop(sender);
        let early = stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|batch| (Ok(batch), receiver))
        });
        let late = stream::once(join(Arc::clone(&self.shape), threads))
            .map_ok(|batches| stream::iter(batches.into_iter().map(Ok)))
            .try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.shape.totals),
            early.chain(late),
        )))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// The context for whoever reads files: a part of a file is read where it was assigned, not by the thread that is free first.
fn reading_in_order(context: &TaskContext) -> Arc<TaskContext> {
    let mut config = context.session_config().clone();
    config.options_mut().execution.enable_file_stream_work_stealing = false;
    Arc::new(TaskContext::new(
        context.task_id(),
        context.session_id(),
        config,
        context.scalar_functions().clone(),
        context.higher_order_functions().clone(),
        context.aggregate_functions().clone(),
        context.window_functions().clone(),
        context.runtime_env(),
    ))
}

/// One thread.
struct Worker {
    shape: Arc<Shape>,
    runs: Runs,
    reservation: MemoryReservation,
    metrics: BaselineMetrics,
    sender: Sender<RecordBatch>,
}

impl Worker {
    async fn run(mut self, mut input: SendableRecordBatchStream) -> Result<Ends> {
        while let Some(batch) = input.next().await {
            let elapsed = self.metrics.elapsed_compute().clone();
            let timer = elapsed.timer();
            let batches = self.push(somebodys(batch?)?)?;
            drop(timer);
            send(&self.sender, &self.metrics, batches).await;
        }
        let (batches, ends) = self.runs.finish()?;
        send(&self.sender, &self.metrics, batches).await;
        Ok(ends)
    }

    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let keys = self.shape.keys.fields().len();
        let addends = self.shape.registers.of_rows(&batch, 1 + keys)?;
        self.runs
            .push(batch.column(0), &batch.columns()[1..1 + keys], &addends)?;
        self.runs.within(&self.reservation)
    }
}

async fn send(sender: &Sender<RecordBatch>, metrics: &BaselineMetrics, batches: Vec<RecordBatch>) {
    for batch in batches {
        metrics.record_output(batch.num_rows());
        // Whoever does not listen any more does not want an answer.
        let _ = sender.send(batch).await;
    }
}

/// When all threads are done: the totals of the units where one part ends and the next begins.
async fn join(shape: Arc<Shape>, mut threads: JoinSet<Result<Ends>>) -> Result<Vec<RecordBatch>> {
    let mut ends = Vec::new();
    while let Some(end) = threads.join_next().await {
        ends.push(end.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))??);
    }
    let states = joined(&shape, ends)?;
    let keys = shape.keys.fields().len();
    let addends = shape.registers.of_states(&states, 1 + keys);
    let mut runs = Runs::new(Arc::clone(&shape), true)?;
    runs.push(states.column(0), &states.columns()[1..1 + keys], &addends)?;
    Ok(runs.finish()?.0)
}
