//! Rows sorted by unit: no exchange between threads, and no more memory than the result.

use super::runs::{Ends, Runs, joined};
use super::totals::Shape;
use super::work::{Output, Work, somebodys};
use datafusion::arrow::array::RecordBatch;
use datafusion::common::runtime::JoinSet;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use futures::StreamExt;
use std::sync::Arc;

/// One thread for each part of the input, and one that joins them.
pub(crate) fn spawn(
    work: &Work,
    context: Arc<TaskContext>,
    output: Output,
    tasks: &mut RecordBatchReceiverStreamBuilder,
) -> Result<()> {
    let context = reading_in_order(&context);
    let mut parts = JoinSet::new();
    for part in 0..work.input.output_partitioning().partition_count() {
        let worker = Worker {
            shape: Arc::clone(&work.shape),
            runs: Runs::new(Arc::clone(&work.shape), false)?,
            reservation: MemoryConsumer::new(format!("ContributionBoundExec[{part}]"))
                .register(context.memory_pool()),
            output: output.clone(),
        };
        parts.spawn(worker.run(work.input.execute(part, Arc::clone(&context))?));
    }
    tasks.spawn(join(Arc::clone(&work.shape), parts, output));
    Ok(())
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
    output: Output,
}

impl Worker {
    async fn run(mut self, mut input: SendableRecordBatchStream) -> Result<Ends> {
        let elapsed = self.output.metrics.elapsed_compute().clone();
        while let Some(batch) = input.next().await {
            let timer = elapsed.timer();
            let batches = self.push(somebodys(batch?)?)?;
            drop(timer);
            self.output.send(batches).await;
        }
        let (batches, ends) = self.runs.finish()?;
        self.output.send(batches).await;
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

/// When all threads are done: the totals of the units where one part ends and the next begins.
async fn join(shape: Arc<Shape>, mut parts: JoinSet<Result<Ends>>, output: Output) -> Result<()> {
    let mut ends = Vec::new();
    while let Some(end) = parts.join_next().await {
        ends.push(end.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))??);
    }
    let states = joined(&shape, ends)?;
    let keys = shape.keys.fields().len();
    let addends = shape.registers.of_states(&states, 1 + keys);
    let mut runs = Runs::new(Arc::clone(&shape), true)?;
    runs.push(states.column(0), &states.columns()[1..1 + keys], &addends)?;
    output.send(runs.finish()?.0).await;
    Ok(())
}
