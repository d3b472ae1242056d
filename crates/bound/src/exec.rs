//! The native operator: it reads all parts of its input at once and gives one stream of totals, which whoever reads them sums.

use super::node::Native;
use super::totals::Shape;
use super::{clustered, partitioned, single};
use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::compute::{filter_record_batch, is_not_null};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use std::fmt::Formatter;
use std::sync::Arc;
use tokio::sync::mpsc::Sender;

/// Bounds rows, clustered by unit or not.
#[derive(Debug)]
pub(crate) struct BoundExec {
    pub(crate) input: Arc<dyn ExecutionPlan>,
    pub(crate) shape: Arc<Shape>,
    native: Native,
    /// How many threads work, if rows can be dealt out.
    pub(crate) threads: usize,
    properties: Arc<PlanProperties>,
    pub(crate) metrics: ExecutionPlanMetricsSet,
}

impl BoundExec {
    pub(crate) fn new(
        input: Arc<dyn ExecutionPlan>,
        shape: Arc<Shape>,
        native: Native,
        threads: usize,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&shape.totals)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self {
            input,
            shape,
            native,
            threads: threads.max(1),
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl DisplayAs for BoundExec {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{}: {}, groups per unit: {:?}",
            self.name(),
            self.native,
            self.shape.limit
        )
    }
}

impl ExecutionPlan for BoundExec {
    fn name(&self) -> &str {
        "ContributionBoundExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    /// Rows are read in the parts in which they lie: dealing out rows that are sorted would tear units apart, and others are dealt out here.
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
            (Some(input), true) => {
                let shape = Arc::clone(&self.shape);
                Ok(Arc::new(Self::new(input, shape, self.native, self.threads)))
            }
            _ => internal_err!("bounding reads one input"),
        }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("bounding has one output");
        }
        let mut tasks = RecordBatchReceiverStream::builder(Arc::clone(&self.shape.totals), self.threads);
        let output = Output {
            sender: tasks.tx(),
            metrics: BaselineMetrics::new(&self.metrics, 0),
        };
        match self.native {
            Native::Single => single::spawn(self, &context, &output, &mut tasks)?,
            Native::Clustered => clustered::spawn(self, context, output, &mut tasks)?,
            Native::Partitioned => partitioned::spawn(self, context, output, &mut tasks)?,
        }
        Ok(tasks.build())
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// Where totals go.
#[derive(Clone)]
pub(crate) struct Output {
    sender: Sender<Result<RecordBatch>>,
    pub(crate) metrics: BaselineMetrics,
}

impl Output {
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
