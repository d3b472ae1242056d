//! CSV files as a table of text.
//!
//! Every column is read as text; the typed scan above makes kinds of them, so that a value that does not fit becomes NULL. See the crate `records` for what is a
//! record, and `header` for how files are written.

use super::files::files;
use super::header::{header, open};
use crate::Error;
use crate::catalog::Table;
use crate::values::facts::Kind;
use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::exec_datafusion_err;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use files::csv::{Cells, Columns};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the files of a directory of CSV files are called.
pub(super) const EXTENSIONS: [&str; 2] = ["csv", "tsv"];

/// Files of text, as a table.
#[derive(Debug)]
struct Delimited {
    files: Vec<PathBuf>,
    schema: SchemaRef,
    /// What each column is made of.
    cells: Vec<Cells>,
    table: Arc<Table>,
}

/// CSV files as a table whose columns are all text.
pub(super) fn delimited(what: &str, path: &Path, table: &Table) -> Result<Arc<dyn TableProvider>, Error> {
    let files = files(path, &EXTENSIONS)?;
    let names = header(what, &files[0], table)?;
    for file in &files[1..] {
        let mut others = header(what, file, table)?;
        others.sort();
        let mut names = names.clone();
        names.sort();
        if names != others {
            return Err(Error::catalog(
                format!("{what}: its files have different columns"),
                "give all files of the directory the same header, or declare a table for each",
            ));
        }
    }
    let cells = |name: &String| match table.column(name).map(|facts| facts.kind) {
        // Identifiers are read as they are written: what means nothing elsewhere could make two persons one.
        Some(_) if table.identifies(name) => Cells::Exact,
        None | Some(Kind::Text) => Cells::Text,
        Some(Kind::Int | Kind::Float) if table.csv.decimal_comma => Cells::DecimalComma,
        Some(_) => Cells::Other,
    };
    let cells = names.iter().map(cells).collect();
    let fields: Vec<_> = names
        .into_iter()
        .map(|name| Field::new(name, DataType::Utf8View, true))
        .collect();
    Ok(Arc::new(Delimited {
        files,
        schema: Arc::new(Schema::new(fields)),
        cells,
        table: Arc::new(table.clone()),
    }))
}

#[async_trait]
impl TableProvider for Delimited {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let all: Vec<usize> = (0..self.schema.fields().len()).collect();
        let projection = projection.unwrap_or(&all);
        let schema = Arc::new(self.schema.project(projection)?);
        let cells: Arc<[Cells]> = projection.iter().map(|&column| self.cells[column]).collect();
        let groups = state.config().target_partitions().clamp(1, self.files.len());
        let partitions = self
            .files
            .chunks(self.files.len().div_ceil(groups))
            .map(|files| {
                let part: Arc<dyn PartitionStream> = Arc::new(Part {
                    files: files.into(),
                    schema: Arc::clone(&schema),
                    cells: Arc::clone(&cells),
                    table: Arc::clone(&self.table),
                });
                part
            })
            .collect();
        let plan = StreamingTableExec::try_new(schema, partitions, None, [], false, limit)?;
        Ok(Arc::new(plan))
    }
}

/// Some of the files, and some of the columns.
#[derive(Clone, Debug)]
struct Part {
    files: Arc<[PathBuf]>,
    schema: SchemaRef,
    cells: Arc<[Cells]>,
    table: Arc<Table>,
}

impl PartitionStream for Part {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let part = self.clone();
        let rows = context.session_config().batch_size();
        let mut builder = RecordBatchReceiverStream::builder(Arc::clone(&self.schema), 2);
        let sender = builder.tx();
        builder.spawn_blocking(move || {
            for file in part.files.iter() {
                let mut columns = part.columns(file)?;
                while let Some((arrays, rows)) = columns.batch(rows)? {
                    let arrays = arrays.into_iter().map(|array| Arc::new(array) as ArrayRef);
                    let options = RecordBatchOptions::new().with_row_count(Some(rows));
                    let schema = Arc::clone(&part.schema);
                    let batch = RecordBatch::try_new_with_options(schema, arrays.collect(), &options)?;
                    if sender.blocking_send(Ok(batch)).is_err() {
                        // Nobody listens any more.
                        return Ok(());
                    }
                }
            }
            Ok(())
        });
        builder.build()
    }
}

impl Part {
    /// The wanted columns of one file.
    fn columns(&self, file: &Path) -> Result<Columns<'static>, DataFusionError> {
        let opened = open(file, &self.table)?;
        let names = opened.names.unwrap_or_default();
        let positions = self
            .schema
            .fields()
            .iter()
            .map(|field| names.iter().position(|name| name == field.name()))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| exec_datafusion_err!("the header changed since the table was opened"))?;
        let fields = positions.into_iter().zip(self.cells.iter().copied());
        Ok(Columns::new(opened.records, fields, self.table.csv.nulls.clone()))
    }
}
