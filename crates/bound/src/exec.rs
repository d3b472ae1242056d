//! The native operator: it reads all parts of its input at once and gives one stream of totals, which whoever reads them sums.

use super::Rule;
use super::carried::Carried;
use super::node::Native;
use super::totals::Shape;
use super::work::{Output, Work};
use super::{clustered, partitioned, single};
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

/// Bounds rows, clustered by unit or not.
#[derive(Debug)]
pub(crate) struct BoundExec {
    work: Work,
    rule: Arc<Rule>,
    native: Native,
    properties: Arc<PlanProperties>,
}

impl BoundExec {
    pub(crate) fn new(
        input: Arc<dyn ExecutionPlan>,
        rule: Arc<Rule>,
        shape: Arc<Shape>,
        native: Native,
        threads: usize,
    ) -> Self {
        let schema = match native {
            Native::SortedParts => Arc::clone(Carried::new(&shape).schema()),
            _ => Arc::clone(&shape.totals),
        };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self {
            work: Work {
                input,
                shape,
                threads: threads.max(1),
                metrics: ExecutionPlanMetricsSet::new(),
            },
            rule,
            native,
            properties: Arc::new(properties),
        }
    }

    pub(crate) fn rule(&self) -> &Rule {
        &self.rule
    }

    pub(crate) fn native(&self) -> Native {
        self.native
    }

    /// The same operator over other rows, which may reach it in another way.
    pub(crate) fn over(&self, input: Arc<dyn ExecutionPlan>, native: Native) -> Self {
        let (rule, shape) = (Arc::clone(&self.rule), Arc::clone(&self.work.shape));
        Self::new(input, rule, shape, native, self.work.threads)
    }
}

impl DisplayAs for BoundExec {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{}: {}, groups per unit: {:?}",
            self.name(),
            self.native,
            self.work.shape.limit
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
        vec![&self.work.input]
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
            (Some(input), true) => Ok(Arc::new(self.over(input, self.native))),
            _ => internal_err!("bounding reads one input"),
        }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("bounding has one output");
        }
        let mut tasks = RecordBatchReceiverStream::builder(self.schema(), self.work.threads);
        let output = Output::new(tasks.tx(), BaselineMetrics::new(&self.work.metrics, 0));
        match self.native {
            Native::Single => single::spawn(&self.work, &context, &output, &mut tasks)?,
            Native::Clustered => clustered::spawn(&self.work, &context, output, &mut tasks)?,
            Native::SortedParts => clustered::spawn_parts(&self.work, &context, output, &mut tasks)?,
            Native::JoinedParts => clustered::spawn_joining(&self.work, &context, output, &mut tasks)?,
            Native::Partitioned => partitioned::spawn(&self.work, context, output, &mut tasks)?,
            Native::Dealt => partitioned::spawn_dealt(&self.work, &context, &output, &mut tasks)?,
        }
        Ok(tasks.build())
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.work.metrics.clone_inner())
    }
}
