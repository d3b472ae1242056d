//! The operator: two inputs, each sorted by owner, in one pass.

use super::Meeting;
use super::pairs::Pairs;
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{
    Distribution, EquivalenceProperties, OrderingRequirements, Partitioning, PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_expr_common::sort_expr::LexOrdering;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;
use std::fmt::Formatter;
use std::sync::Arc;

/// The order of both inputs: ascending, NULL last.
pub(super) const ORDER: SortOptions = SortOptions {
    descending: false,
    nulls_first: false,
};

/// What is joined, without the inputs.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// The places of the keys in their inputs.
    pub(crate) keys: (usize, usize),
    /// What has to hold of a pair.
    pub(crate) filter: Option<Arc<dyn PhysicalExpr>>,
    pub(crate) meeting: Meeting,
    pub(crate) most_left: u64,
    pub(crate) most_right: u64,
    /// The columns of both sides.
    pub(crate) pairs: SchemaRef,
    /// What comes out.
    pub(crate) schema: SchemaRef,
}

/// Joins rows of the same owner.
#[derive(Debug)]
pub(crate) struct OwnerJoinExec {
    left: Arc<dyn ExecutionPlan>,
    right: Arc<dyn ExecutionPlan>,
    rule: Rule,
    properties: Arc<PlanProperties>,
}

impl OwnerJoinExec {
    pub(crate) fn new(left: Arc<dyn ExecutionPlan>, right: Arc<dyn ExecutionPlan>, rule: Rule) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&rule.schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            left,
            right,
            rule,
            properties: Arc::new(properties),
        }
    }

    pub(crate) fn rule(&self) -> &Rule {
        &self.rule
    }
}

/// Sorted by the key; and by everything else where not all rows of a key may be taken, so that which are taken depends on values alone.
fn order(input: &Arc<dyn ExecutionPlan>, key: usize, most: u64) -> Option<OrderingRequirements> {
    let schema = input.schema();
    let others = (0..schema.fields().len()).filter(|place| *place != key && most != u64::MAX);
    let sorted = |place: usize| {
        let column = Column::new(schema.field(place).name(), place);
        PhysicalSortExpr::new(Arc::new(column), ORDER)
    };
    let ordering = LexOrdering::new(std::iter::once(key).chain(others).map(sorted));
    ordering.map(OrderingRequirements::from)
}

impl DisplayAs for OwnerJoinExec {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{}: rows per owner: {} and {}",
            self.name(),
            self.rule.most_left,
            self.rule.most_right
        )
    }
}

impl ExecutionPlan for OwnerJoinExec {
    fn name(&self) -> &str {
        "OwnerJoinExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.left, &self.right]
    }

    /// Parts are sorted side by side and merged. Rows are not dealt out by owner: that exchange would need memory that it cannot give back.
    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition, Distribution::SinglePartition]
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        let (left, right) = self.rule.keys;
        vec![
            order(&self.left, left, self.rule.most_left),
            order(&self.right, right, self.rule.most_right),
        ]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false, false]
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        match &self.rule.filter {
            Some(filter) => visit(filter),
            None => Ok(TreeNodeRecursion::Continue),
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match <[Arc<dyn ExecutionPlan>; 2]>::try_from(children) {
            Ok([left, right]) => Ok(Arc::new(Self::new(left, right, self.rule.clone()))),
            Err(_) => internal_err!("a join of owners reads two inputs"),
        }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("a join of owners has one output");
        }
        let left = self.left.execute(0, Arc::clone(&context))?;
        let right = self.right.execute(0, Arc::clone(&context))?;
        let batch_size = context.session_config().batch_size();
        let mut pairs = Pairs::new(self.rule.clone(), right, &self.left.schema(), batch_size)?;
        let mut output = RecordBatchReceiverStream::builder(Arc::clone(&self.rule.schema), 2);
        let sender = output.tx();
        output.spawn(async move {
            let mut left = left;
            while let Some(batch) = left.next().await {
                if !pairs.join(&batch?, &sender).await? {
                    // Whoever does not listen any more does not want an answer.
                    break;
                }
            }
            Ok(())
        });
        Ok(output.build())
    }
}
