//! States of units on disk, when memory is full: runs sorted by unit, merged at the end into one stream, one unit after the other.

use super::totals::Shape;
use super::units::Units;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr_common::sort_expr::LexOrdering;
use datafusion::physical_plan::SpillManager;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, SpillMetrics};
use datafusion::physical_plan::sorts::streaming_merge::{SortedSpillFile, StreamingMergeBuilder};
use std::sync::Arc;

/// The sorted runs of one thread.
pub(crate) struct Spill {
    manager: SpillManager,
    runs: Vec<SortedSpillFile>,
    /// Set aside for the merge, so that it can begin however much other threads take.
    reservation: MemoryReservation,
    set_aside: usize,
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
        Self {
            manager: SpillManager::new(context.runtime_env(), metrics, Arc::clone(&shape.states)),
            runs: Vec::new(),
            reservation,
            set_aside: context
                .session_config()
                .options()
                .execution
                .sort_spill_reservation_bytes,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Sets memory aside for the merge, as much as there is.
    pub(crate) fn set_aside(&mut self) {
        let mut bytes = self.set_aside.saturating_sub(self.reservation.size());
        while bytes > 0 && self.reservation.try_grow(bytes).is_err() {
            bytes /= 2;
        }
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
    pub(crate) fn merged(self, shape: &Shape, metrics: BaselineMetrics) -> Result<SendableRecordBatchStream> {
        let by_unit = LexOrdering::from([PhysicalSortExpr::new_default(Arc::new(Column::new("unit", 0)))]);
        StreamingMergeBuilder::new()
            .with_schema(Arc::clone(&shape.states))
            .with_sorted_spill_files(self.runs)
            .with_spill_manager(self.manager)
            .with_expressions(&by_unit)
            .with_metrics(metrics)
            .with_batch_size(shape.batch_size)
            .with_reservation(self.reservation)
            .build()
    }
}
