//! The name of a table, where a physical plan reads it.
//!
//! A plan that is about to run names files, connections and rows in memory, and no table. Whoever checks such a plan has to know which table a scan reads, to ask the catalog whose rows these are.
//! So a scan stands below an operator that hands its rows on and says what the table is called.

use super::GivenRows;
use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::config::ConfigOptions;
use datafusion::datasource::{MemTable, TableType};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use std::fmt::Formatter;
use std::sync::Arc;

/// A table whose scans say what it is called.
#[derive(Debug)]
pub struct Labelled {
    label: Arc<str>,
    table: Arc<dyn TableProvider>,
}

impl Labelled {
    /// This table, under this name.
    pub fn new(label: &str, table: Arc<dyn TableProvider>) -> Self {
        Self {
            label: label.into(),
            table,
        }
    }
}

/// Whether a table's rows are in memory.
pub(crate) fn is_in_memory(table: &dyn TableProvider) -> bool {
    match table.downcast_ref::<Labelled>() {
        Some(labelled) => is_in_memory(labelled.table.as_ref()),
        None => table.is::<MemTable>() || table.is::<GivenRows>(),
    }
}

#[async_trait]
impl TableProvider for Labelled {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn table_type(&self) -> TableType {
        self.table.table_type()
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        self.table.supports_filters_pushdown(filters)
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = self.table.scan(state, projection, filters, limit).await?;
        Ok(Arc::new(LabelExec {
            label: Arc::clone(&self.label),
            input,
        }))
    }
}

/// Hands rows on, and says which table's they are.
#[derive(Debug)]
pub(crate) struct LabelExec {
    label: Arc<str>,
    input: Arc<dyn ExecutionPlan>,
}

impl LabelExec {
    pub(crate) fn label(&self) -> &str {
        &self.label
    }
}

/// The same plan without names of tables: for whoever sends it to another machine.
///
/// # Errors
/// When the engine does not put the plan together again.
pub fn without_labels(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let bare = plan.transform_up(|plan| match plan.downcast_ref::<LabelExec>() {
        Some(named) => Ok(Transformed::yes(Arc::clone(&named.input))),
        None => Ok(Transformed::no(plan)),
    });
    bare.map(|bare| bare.data)
}

impl DisplayAs for LabelExec {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "LabelExec: {}", self.label)
    }
}

impl ExecutionPlan for LabelExec {
    fn name(&self) -> &str {
        "LabelExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

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
            (Some(input), true) => Ok(Arc::new(Self {
                label: Arc::clone(&self.label),
                input,
            })),
            _ => internal_err!("it reads one input"),
        }
    }

    /// A file is cut into parts as if nothing stood above its scan.
    fn repartitioned(&self, parts: usize, config: &ConfigOptions) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let input = self.input.repartitioned(parts, config)?;
        Ok(input.map(|input| {
            let label = Arc::clone(&self.label);
            Arc::new(Self { label, input }) as Arc<dyn ExecutionPlan>
        }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
