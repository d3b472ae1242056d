//! States of units on disk, when memory is full: runs sorted by unit, merged at the end into one stream, one unit after the other.

use super::totals::Shape;
use super::units::Units;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr_common::sort_expr::LexOrdering;
use datafusion::physical_plan::SpillManager;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, SpillMetrics};
use datafusion::physical_plan::sorts::streaming_merge::{SortedSpillFile, StreamingMergeBuilder};
use std::sync::Arc;

/// A merge of two runs holds two batches of each, and counts each twice.
const LEAST_BATCHES: usize = 8;

/// The sorted runs of one thread.
pub(crate) struct Spill {
    manager: SpillManager,
    runs: Vec<SortedSpillFile>,
    /// Set aside for the merge before anybody has states, so that there is some.
    reservation: MemoryReservation,
}

impl Spill {
    pub(crate) fn new(
        shape: &Shape,
        context: &TaskContext,
        metrics: &ExecutionPlanMetricsSet,
        partition: usize,
        reservation: MemoryReservation,
    ) -> Self {
        let metrics = SpillMetrics::new(metrics, partition);
        let mut bytes = context
            .session_config()
            .options()
            .execution
            .sort_spill_reservation_bytes;
        while bytes > 0 && reservation.try_grow(bytes).is_err() {
            bytes /= 2;
        }
        Self {
            manager: SpillManager::new(context.runtime_env(), metrics, Arc::clone(&shape.states)),
            runs: Vec::new(),
            reservation,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Writes all states as one run.
    pub(crate) fn write(&mut self, shape: &Shape, units: &mut Units) -> Result<()> {
        let mut file = self.manager.create_in_progress_file("contribution bounding")?;
        let mut largest = 0;
        units.drain(shape, |batch: RecordBatch| {
            largest = largest.max(file.append_batch(&batch)?);
            Ok(())
        })?;
        if let Some(file) = file.finish()? {
            self.runs.push(SortedSpillFile {
                file,
                max_record_batch_memory: largest,
            });
        }
        Ok(())
    }

    /// All states, sorted by unit; a unit's states of different runs follow each other.
    ///
    /// The merge has memory of its own, and takes as many runs at once as fit: what it lets go between two rounds, no other thread can take, so
    /// it always goes on. The reservation that comes with the stream stands for that memory, and is to be kept as long.
    pub(crate) fn merged(
        self,
        shape: &Shape,
        metrics: BaselineMetrics,
    ) -> Result<(SendableRecordBatchStream, MemoryReservation)> {
        let largest = self.runs.iter().map(|run| run.max_record_batch_memory).max();
        let least = largest.unwrap_or_default().saturating_mul(LEAST_BATCHES);
        let bytes = self.reservation.size().max(least);
        self.reservation.resize(bytes);
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(bytes));
        let by_unit = LexOrdering::from([PhysicalSortExpr::new_default(Arc::new(Column::new("unit", 0)))]);
        let states = StreamingMergeBuilder::new()
            .with_schema(Arc::clone(&shape.states))
            .with_sorted_spill_files(self.runs)
            .with_spill_manager(self.manager)
            .with_expressions(&by_unit)
            .with_metrics(metrics)
            .with_batch_size(shape.batch_size)
            .with_reservation(MemoryConsumer::new("merge of states").register(&pool))
            .build()?;
        Ok((states, self.reservation))
    }
}
