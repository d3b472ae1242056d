//! What all forms of the operator work with: what they read, and where totals go.

use super::totals::Shape;
use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::compute::{filter_record_batch, is_not_null};
use datafusion::common::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet};
use std::sync::Arc;
use tokio::sync::mpsc::Sender;

/// What is to be done, and by how many.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) input: Arc<dyn ExecutionPlan>,
    pub(crate) shape: Arc<Shape>,
    /// How many threads work, if rows can be dealt out.
    pub(crate) threads: usize,
    pub(crate) metrics: ExecutionPlanMetricsSet,
}

/// Where totals go.
#[derive(Clone)]
pub(crate) struct Output {
    sender: Sender<Result<RecordBatch>>,
    pub(crate) metrics: BaselineMetrics,
}

impl Output {
    pub(crate) fn new(sender: Sender<Result<RecordBatch>>, metrics: BaselineMetrics) -> Self {
        Self { sender, metrics }
    }

    pub(crate) async fn send(&self, batches: Vec<RecordBatch>) {
        for batch in batches {
            self.metrics.record_output(batch.num_rows());
            // Whoever does not listen any more does not want an answer.
            let _ = self.sender.send(Ok(batch)).await;
        }
    }
}

/// The rows that are somebody's.
pub(crate) fn somebodys(batch: RecordBatch) -> Result<RecordBatch> {
    if batch.column(0).null_count() == 0 {
        return Ok(batch);
    }
    Ok(filter_record_batch(&batch, &is_not_null(batch.column(0))?)?)
}
