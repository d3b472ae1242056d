//! CSV files as a table of text.
//!
//! Every column is read as text; the typed scan above makes kinds of them, so that a value that does not fit becomes NULL. See the crate `records` for what is a
//! record.

use super::files::files;
use crate::Error;
use crate::catalog::Table;
use crate::facts::Kind;
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
use records::{Columns, Record, Records};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the files of a directory of CSV files are called.
pub(super) const EXTENSIONS: [&str; 2] = ["csv", "tsv"];
const CHUNK: usize = 1 << 18;

/// Files of text, as a table.
#[derive(Debug)]
struct Delimited {
    files: Vec<PathBuf>,
    schema: SchemaRef,
    /// Of each column, whether spaces around a value and empty values mean nothing: all kinds but text.
    trimmed: Vec<bool>,
}

/// CSV files as a table whose columns are all text.
pub(super) fn delimited(what: &str, path: &Path, table: &Table) -> Result<Arc<dyn TableProvider>, Error> {
    let files = files(path, &EXTENSIONS)?;
    let names = header(what, &files[0])?;
    for file in &files[1..] {
        let mut others = header(what, file)?;
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
    let trimmed = names
        .iter()
        .map(|name| table.column(name).is_some_and(|facts| facts.kind != Kind::Text))
        .collect();
    let fields: Vec<_> = names
        .into_iter()
        .map(|name| Field::new(name, DataType::Utf8View, true))
        .collect();
    Ok(Arc::new(Delimited {
        files,
        schema: Arc::new(Schema::new(fields)),
        trimmed,
    }))
}

/// The names in the first line of a file.
pub(super) fn header(what: &str, file: &Path) -> Result<Vec<String>, Error> {
    let wrong = |error: std::io::Error| Error::File {
        what: format!("{} cannot be read", file.display()),
        why: error.kind(),
        hint: "check that it is a file and that you may read it".to_owned(),
    };
    let mut record = Record::default();
    let mut records = open(file).map_err(wrong)?;
    if !records.next(&mut record).map_err(wrong)? {
        return Err(Error::catalog(
            format!("{what}: a file is empty"),
            "the first line of a CSV file names its columns",
        ));
    }
    // The first line may be data, so no name is told before the catalog has named it.
    let names = names(&record).ok_or_else(|| {
        Error::catalog(
            format!("{what}: a name in the first line is empty or is no text"),
            "the first line of a CSV file names its columns",
        )
    })?;
    let mut sorted: Vec<_> = names.iter().map(|name| name.to_lowercase()).collect();
    sorted.sort();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Error::catalog(
            format!("{what}: two columns have the same name in the first line"),
            "the first line of a CSV file names its columns, each differently",
        ));
    }
    Ok(names)
}

fn names(record: &Record) -> Option<Vec<String>> {
    (0..record.len())
        .map(|index| {
            let name = record.field(index)?.trim();
            (!name.is_empty()).then(|| name.to_owned())
        })
        .collect()
}

fn open(file: &Path) -> std::io::Result<Records<'static>> {
    let tabs = file.extension().is_some_and(|extension| extension == "tsv");
    let input = BufReader::with_capacity(CHUNK, File::open(file)?);
    Records::new(input, if tabs { b'\t' } else { b',' })
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
        let trimmed: Arc<[bool]> = projection.iter().map(|&column| self.trimmed[column]).collect();
        let groups = state.config().target_partitions().clamp(1, self.files.len());
        let partitions = self
            .files
            .chunks(self.files.len().div_ceil(groups))
            .map(|files| {
                let part: Arc<dyn PartitionStream> = Arc::new(Part {
                    files: files.into(),
                    schema: Arc::clone(&schema),
                    trimmed: Arc::clone(&trimmed),
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
    trimmed: Arc<[bool]>,
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
        let mut records = open(file)?;
        let mut record = Record::default();
        records.next(&mut record)?;
        let names = names(&record).unwrap_or_default();
        let positions = self
            .schema
            .fields()
            .iter()
            .map(|field| names.iter().position(|name| name == field.name()))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| exec_datafusion_err!("the header changed since the table was opened"))?;
        records.limit(names.len());
        let trimmed = self.trimmed.iter().copied();
        Ok(Columns::new(records, positions.into_iter().zip(trimmed)))
    }
}
