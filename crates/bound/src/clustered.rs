//! Rows sorted by unit: no exchange between threads or machines, and no more memory than the result.

use super::carried::Carried;
use super::runs::{Ends, Runs, is_not_clustered, joined};
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

/// What is left of parts when all of their rows were read: of each one its ends, and an error where one failed.
type Parts = JoinSet<Result<Vec<Ends>>>;

/// One thread for each part of the input, and one that joins them.
pub(crate) fn spawn(
    work: &Work,
    context: &TaskContext,
    output: Output,
    tasks: &mut RecordBatchReceiverStreamBuilder,
) -> Result<()> {
    let parts = parts(work, context, &output, None)?;
    tasks.spawn(join(Arc::clone(&work.shape), parts, output));
    Ok(())
}

/// One thread for each part of the input, on one of several machines: what belongs together is joined where the parts of all machines are known.
pub(crate) fn spawn_parts(
    work: &Work,
    context: &TaskContext,
    output: Output,
    tasks: &mut RecordBatchReceiverStreamBuilder,
) -> Result<()> {
    let carried = Arc::new(Carried::new(&work.shape));
    let parts = parts(work, context, &output, Some(&carried))?;
    tasks.spawn(hand_on(carried, parts, output));
    Ok(())
}

/// Reads what [`spawn_parts`] gave on several machines, and joins it.
pub(crate) fn spawn_joining(
    work: &Work,
    context: &Arc<TaskContext>,
    output: Output,
    tasks: &mut RecordBatchReceiverStreamBuilder,
) -> Result<()> {
    let carried = Arc::new(Carried::new(&work.shape));
    let mut parts = Parts::new();
    for part in 0..work.input.output_partitioning().partition_count() {
        let input = work.input.execute(part, Arc::clone(context))?;
        parts.spawn(take_in(Arc::clone(&carried), input, output.clone()));
    }
    tasks.spawn(join(Arc::clone(&work.shape), parts, output));
    Ok(())
}

fn parts(
    work: &Work,
    context: &TaskContext,
    output: &Output,
    carried: Option<&Arc<Carried>>,
) -> Result<Parts> {
    let context = reading_in_order(context);
    let mut parts = Parts::new();
    for part in 0..work.input.output_partitioning().partition_count() {
        let worker = Worker {
            shape: Arc::clone(&work.shape),
            runs: Runs::new(Arc::clone(&work.shape), false)?,
            reservation: MemoryConsumer::new(format!("ContributionBoundExec[{part}]"))
                .register(context.memory_pool()),
            carried: carried.cloned(),
            output: output.clone(),
        };
        parts.spawn(worker.run(work.input.execute(part, Arc::clone(&context))?));
    }
    Ok(parts)
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
    /// In what totals leave, if not as they are.
    carried: Option<Arc<Carried>>,
    output: Output,
}

impl Worker {
    async fn run(mut self, mut input: SendableRecordBatchStream) -> Result<Vec<Ends>> {
        let elapsed = self.output.metrics.elapsed_compute().clone();
        while let Some(batch) = input.next().await {
            let timer = elapsed.timer();
            let batches = self.push(somebodys(batch?)?)?;
            drop(timer);
            send(&self.output, self.carried.as_deref(), batches).await?;
        }
        let (batches, ends) = self.runs.finish()?;
        send(&self.output, self.carried.as_deref(), batches).await?;
        Ok(vec![ends])
    }

    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let keys = self.shape.keys.fields().len();
        let addends = self.shape.registers.of_rows(&batch, 1 + keys)?;
        self.runs
            .push(batch.column(0), &batch.columns()[1..1 + keys], &addends)?;
        self.runs.within(&self.reservation)
    }
}

async fn send(output: &Output, carried: Option<&Carried>, totals: Vec<RecordBatch>) -> Result<()> {
    let batches = match carried {
        None => totals,
        Some(carried) => totals
            .iter()
            .map(|batch| carried.of_totals(batch))
            .collect::<Result<_>>()?,
    };
    output.send(batches).await;
    Ok(())
}

/// The ends of the next part that is done; `None` if all are.
async fn next(parts: &mut Parts) -> Option<Result<Vec<Ends>>> {
    let ends = parts.join_next().await?;
    Some(ends.unwrap_or_else(|error| Err(DataFusionError::ExecutionJoin(Box::new(error)))))
}

/// Hands on the ends of all parts of this machine. That rows are not sorted is something to hand on too: an error would lose its meaning on the way.
async fn hand_on(carried: Arc<Carried>, mut parts: Parts, output: Output) -> Result<()> {
    while let Some(ends) = next(&mut parts).await {
        match ends {
            Ok(ends) => {
                for end in &ends {
                    output.send(carried.of_ends(end)?).await;
                }
            }
            Err(error) if is_not_clustered(&error) => {
                output.send(vec![carried.of_disorder()?]).await;
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads what another machine handed on: its totals go on, and its ends are held. They are few units, and whether there is an answer must not depend on what one of them has, so that no memory is
/// asked for that might be refused.
async fn take_in(
    carried: Arc<Carried>,
    mut input: SendableRecordBatchStream,
    output: Output,
) -> Result<Vec<Ends>> {
    let mut ends = Vec::new();
    while let Some(batch) = input.next().await {
        let totals = carried.read(&batch?, &mut ends)?;
        output.send(vec![totals]).await;
    }
    Ok(ends)
}

/// When all parts are done: the totals of the units where one part ends and the next begins.
async fn join(shape: Arc<Shape>, mut parts: Parts, output: Output) -> Result<()> {
    let mut ends = Vec::new();
    while let Some(more) = next(&mut parts).await {
        ends.extend(more?);
    }
    let states = joined(&shape, ends)?;
    let keys = shape.keys.fields().len();
    let addends = shape.registers.of_states(&states, 1 + keys);
    let mut runs = Runs::new(Arc::clone(&shape), true)?;
    runs.push(states.column(0), &states.columns()[1..1 + keys], &addends)?;
    output.send(runs.finish()?.0).await;
    Ok(())
}
