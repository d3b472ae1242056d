//! One row a unit: rows are added to the totals of their groups as they come.

use super::groups::Groups;
use super::totals::{Shape, Totals};
use super::work::{Output, Work, somebodys};
use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use futures::StreamExt;
use std::sync::Arc;

/// One thread for each part of the input.
pub(crate) fn spawn(
    work: &Work,
    context: &Arc<TaskContext>,
    output: &Output,
    tasks: &mut RecordBatchReceiverStreamBuilder,
) -> Result<()> {
    for part in 0..work.input.output_partitioning().partition_count() {
        let worker = Worker {
            shape: Arc::clone(&work.shape),
            groups: work.shape.groups()?,
            totals: Totals::new(&work.shape.registers),
            reservation: MemoryConsumer::new(format!("ContributionBoundExec[{part}]"))
                .register(context.memory_pool()),
            output: output.clone(),
        };
        tasks.spawn(worker.run(work.input.execute(part, Arc::clone(context))?));
    }
    Ok(())
}

/// One thread.
struct Worker {
    shape: Arc<Shape>,
    groups: Groups,
    totals: Totals,
    reservation: MemoryReservation,
    output: Output,
}

impl Worker {
    async fn run(mut self, mut input: SendableRecordBatchStream) -> Result<()> {
        let elapsed = self.output.metrics.elapsed_compute().clone();
        while let Some(batch) = input.next().await {
            let timer = elapsed.timer();
            let batches = self.push(&somebodys(batch?)?)?;
            drop(timer);
            self.output.send(batches).await;
        }
        let batches = self.totals.drain(&self.shape, &self.groups)?;
        self.output.send(batches).await;
        Ok(())
    }

    /// Takes rows in, and gives the totals so far if memory is full: whoever reads them sums them anyway.
    fn push(&mut self, batch: &RecordBatch) -> Result<Vec<RecordBatch>> {
        let keys = self.shape.keys.fields().len();
        let addends = self.shape.registers.of_rows(batch, 1 + keys)?;
        self.groups
            .number(&batch.columns()[1..1 + keys], batch.num_rows())?;
        self.totals.grow(self.groups.len());
        self.totals
            .add_rows(&self.shape.registers, self.groups.numbers(), &addends);
        if self.reservation.try_resize(self.size()).is_ok() {
            return Ok(Vec::new());
        }
        let batches = self.totals.drain(&self.shape, &self.groups)?;
        self.groups.clear()?;
        // Nothing is left that could be given up.
        self.reservation.resize(self.size());
        Ok(batches)
    }

    fn size(&self) -> usize {
        self.groups.size() + self.totals.size()
    }
}
