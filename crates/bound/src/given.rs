//! Rows that a program holds in memory, as a private table.
//!
//! Of such a table nothing is known but its rows: no order, no key, no statistics, and no filter is pushed into it. What a program could declare of them might be
//! false, and one unit's rows would then decide what happens to those of others. Its rows are also distinguished from public ones, which are in memory as well: a join that
//! holds one side may hold public rows alone.

use super::owner_join::AnyOrderExec;
use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::{MemTable, TableType};
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// A private table of rows in memory.
pub struct GivenRows {
    rows: MemTable,
}

impl std::fmt::Debug for GivenRows {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("GivenRows(..)")
    }
}

impl GivenRows {
    /// These rows, of this schema.
    ///
    /// # Errors
    /// When a batch has another schema.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<Self> {
        Ok(Self {
            rows: MemTable::try_new(schema, vec![batches])?,
        })
    }
}

#[async_trait]
impl TableProvider for GivenRows {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rows = self.rows.scan(state, projection, &[], None).await?;
        Ok(Arc::new(AnyOrderExec::new(rows)))
    }
}
