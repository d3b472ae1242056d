//! Rows in any order: all rows of a unit are sent to one thread, which keeps the unit's few groups.
//!
//! Whoever reads sends rows to whoever keeps states and never waits for anything else; who keeps states waits for rows alone, and goes to disk
//! when memory is full. So nobody waits in a circle.

use super::integers::spread;
use super::runs::Runs;
use super::spill::Spill;
use super::totals::Shape;
use super::units::Units;
use super::work::{Output, Work, somebodys};
use datafusion::arrow::array::{AsArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::take_record_batch;
use datafusion::arrow::datatypes::Int64Type;
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::physical_plan::metrics::Time;
use datafusion::physical_plan::repartition::BatchPartitioner;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use futures::{Stream, StreamExt};
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::mpsc::{self, Sender};
use tokio_stream::wrappers::ReceiverStream;

/// How many batches may wait for a thread.
const WAITING: usize = 4;
/// One part in this many of the memory is left to others: merging, and summing totals.
const OTHERS: usize = 4;

/// A task for each part of the input, which deals rows out, and a task for each thread, which keeps the states of the units it is dealt.
pub(crate) fn spawn(
    work: &Work,
    context: Arc<TaskContext>,
    output: Output,
    tasks: &mut RecordBatchReceiverStreamBuilder,
) -> Result<()> {
    let mut senders = Vec::new();
    for thread in 0..work.threads {
        let (sender, receiver) = mpsc::channel(WAITING);
        senders.push(sender);
        let worker = Worker::new(work, &context, &output, (thread, work.threads))?;
        tasks.spawn(worker.run(ReceiverStream::new(receiver).map(Ok)));
    }
    for part in 0..work.input.output_partitioning().partition_count() {
        let input = work.input.execute(part, Arc::clone(&context))?;
        let elapsed = output.metrics.elapsed_compute().clone();
        tasks.spawn(deal(input, senders.clone(), work.shape.secret.key(), elapsed));
    }
    Ok(())
}

/// The same where rows come dealt out: a task for each part of the input, which keeps the states of the units in it.
pub(crate) fn spawn_dealt(
    work: &Work,
    context: &Arc<TaskContext>,
    output: &Output,
    tasks: &mut RecordBatchReceiverStreamBuilder,
) -> Result<()> {
    let parts = work.input.output_partitioning().partition_count();
    for part in 0..parts {
        let worker = Worker::new(work, context, output, (part, parts))?;
        let input = work.input.execute(part, Arc::clone(context))?;
        tasks.spawn(worker.run(input.map(|batch| somebodys(batch?))));
    }
    Ok(())
}

/// Sends each row to the thread of its unit.
async fn deal(
    mut input: SendableRecordBatchStream,
    senders: Vec<Sender<RecordBatch>>,
    key: u64,
    elapsed: Time,
) -> Result<()> {
    let unit: Arc<dyn PhysicalExpr> = Arc::new(Column::new("unit", 0));
    let mut partitioner = BatchPartitioner::new_hash_partitioner(vec![unit], senders.len(), elapsed.clone())?;
    while let Some(batch) = input.next().await {
        let batch = somebodys(batch?)?;
        let integers = batch.column(0).as_primitive_opt::<Int64Type>().cloned();
        let dealt = match integers {
            _ if senders.len() == 1 => vec![(0, batch)],
            Some(units) => {
                let _timer = elapsed.timer();
                by_integer(&batch, units.values(), senders.len(), key)?
            }
            None => partitioner.partition_iter(batch)?.collect::<Result<Vec<_>>>()?,
        };
        for (thread, batch) in dealt {
            if senders[thread].send(batch).await.is_err() {
                // That thread failed, and says why.
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The rows of each thread.
fn by_integer(
    batch: &RecordBatch,
    units: &[i64],
    threads: usize,
    key: u64,
) -> Result<Vec<(usize, RecordBatch)>> {
    let mut rows = vec![Vec::with_capacity(units.len() / threads * 2); threads];
    for (row, unit) in units.iter().enumerate() {
        // Lower bits than those that say in which part of a thread the unit is.
        let thread = (u64::from(spread(*unit, key) & 0xffff) * threads as u64) >> 16;
        rows[thread as usize].push(row as u32);
    }
    rows.into_iter()
        .enumerate()
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(thread, rows)| Ok((thread, take_record_batch(batch, &UInt32Array::from(rows))?)))
        .collect()
}

/// One thread.
struct Worker {
    shape: Arc<Shape>,
    units: Units,
    spill: Spill,
    reservation: MemoryReservation,
    /// More memory is not taken, even if there is.
    most_bytes: usize,
    output: Output,
}

impl Worker {
    /// One of several among which the memory is divided evenly.
    fn new(
        work: &Work,
        context: &Arc<TaskContext>,
        output: &Output,
        (place, workers): (usize, usize),
    ) -> Result<Self> {
        let most_bytes = match context.memory_pool().memory_limit() {
            MemoryLimit::Finite(bytes) => bytes / OTHERS * (OTHERS - 1) / workers.max(1),
            _ => usize::MAX,
        };
        // Not as one of those that spill, among which the pool divides memory evenly: the others here hold next to nothing.
        let reservation =
            MemoryConsumer::new(format!("ContributionBoundExec[{place}]")).register(context.memory_pool());
        let merge = reservation.new_empty();
        Ok(Self {
            shape: Arc::clone(&work.shape),
            units: Units::new(&work.shape)?,
            spill: Spill::new(&work.shape, context, &work.metrics, place, merge),
            reservation,
            most_bytes,
            output: output.clone(),
        })
    }

    async fn run(mut self, input: impl Stream<Item = Result<RecordBatch>>) -> Result<()> {
        let mut input = pin!(input);
        let elapsed = self.output.metrics.elapsed_compute().clone();
        while let Some(batch) = input.next().await {
            let _timer = elapsed.timer();
            self.push(batch?)?;
        }
        if self.spill.is_empty() {
            let batches = self.units.totals(&self.shape)?;
            self.output.send(batches).await;
            return Ok(());
        }
        self.write()?;
        let (states, _memory) = self
            .spill
            .merged(&self.shape, self.output.metrics.intermediate())?;
        merge(&self.shape, states, &self.reservation, &self.output).await
    }

    fn push(&mut self, batch: RecordBatch) -> Result<()> {
        let keys = self.shape.keys.fields().len();
        let addends = self.shape.registers.of_rows(&batch, 1 + keys)?;
        self.units
            .push(batch.column(0), &batch.columns()[1..1 + keys], &addends)?;
        if !self.fits(self.most_bytes) {
            // Where units are few, most of it is rows that wait for them. Some room has to be left, or they would wait for a batch at most from here on.
            self.units.settle_all()?;
            if !self.fits(self.most_bytes / 8 * 7) {
                self.write()?;
            }
        }
        Ok(())
    }

    /// Whether there is memory for all units, and as much as this.
    fn fits(&mut self, most_bytes: usize) -> bool {
        let size = self.units.size();
        size <= most_bytes && self.reservation.try_resize(size).is_ok() && !self.units.is_full()
    }

    /// Moves all states to disk.
    fn write(&mut self) -> Result<()> {
        if !self.units.is_empty() {
            self.spill.write(&self.shape, &mut self.units)?;
        }
        // Nothing is left that could be given up.
        self.reservation.resize(self.units.size());
        Ok(())
    }
}

/// The totals of states that come sorted by unit. Totals are handed on early when memory is full: whoever reads them sums them anyway.
async fn merge(
    shape: &Arc<Shape>,
    mut states: SendableRecordBatchStream,
    reservation: &MemoryReservation,
    output: &Output,
) -> Result<()> {
    let mut runs = Runs::new(Arc::clone(shape), true)?;
    let keys = shape.keys.fields().len();
    while let Some(batch) = states.next().await {
        let batch = batch?;
        let addends = shape.registers.of_states(&batch, 1 + keys);
        runs.push(batch.column(0), &batch.columns()[1..1 + keys], &addends)?;
        output.send(runs.within(reservation)?).await;
    }
    output.send(runs.finish()?.0).await;
    Ok(())
}
