//! Rewrites data so that the rows of a unit lie next to each other: bounding what a unit contributes then needs no memory of the units before.

use super::incident::incident;
use super::{converted, identifier, provider};
use crate::Error;
use crate::catalog::{Root, Source, Table};
use crate::values::facts::{Facts, Kind};
use datafusion::arrow::datatypes::Schema;
use datafusion::common::{Column, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionConfig;
use futures::StreamExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Sorting takes about this much memory; the rest goes to files beside the output.
const MEMORY: usize = 1 << 30;
const ROWS_A_GROUP: usize = 1 << 20;
const BETWEEN_REPORTS: Duration = Duration::from_millis(100);

/// How far rewriting has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Rows read so far. The first row can be written when all have been read.
    pub read: u64,
    /// Rows written so far.
    pub written: u64,
}

/// Writes the rows of a table as one Parquet file, sorted by the column `unit`. Columns that the table declares are written as their kinds, others as they are.
///
/// The output appears whole or not at all. The column `unit` is written as identifiers are read; where its kind is not declared, as the kind that keeps all of them apart.
///
/// # Errors
/// When the table cannot be read, has no such column, or the output cannot be written.
pub async fn cluster(
    table: &Table,
    unit: &str,
    output: &Path,
    progress: impl FnMut(Progress),
) -> Result<Progress, Error> {
    cluster_within(MEMORY, table, unit, output, progress).await
}

/// [`cluster`] in so much memory.
pub(super) async fn cluster_within(
    memory: usize,
    table: &Table,
    unit: &str,
    output: &Path,
    mut progress: impl FnMut(Progress),
) -> Result<Progress, Error> {
    let directory = match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    outside(table, directory)?;
    let wrong = |error: std::io::Error| {
        Error::File {
        what: format!("{} cannot be written", output.display()),
        why: error.kind(),
        hint: "check that the directory exists, that you may write there, and that there is room for a second copy".to_owned(),
    }
    };
    // The engine would make the directory, for files that it spills.
    std::fs::read_dir(directory).map_err(wrong)?;
    let what = "the data to be sorted";
    let engine = |error| incident(what, error);
    let plan = sorted(memory, table, unit, directory).await?;
    let mut file = tempfile::Builder::new()
        .prefix(".sorting-")
        .tempfile_in(directory)
        .map_err(wrong)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROWS_A_GROUP))
        .build();
    let mut writer = ArrowWriter::try_new(file.as_file_mut(), plan.plan.schema(), Some(properties))
        .map_err(|error| incident(what, error))?;
    let mut stream = execute_stream(Arc::clone(&plan.plan), plan.context).map_err(engine)?;
    let mut done = Progress::default();
    loop {
        match tokio::time::timeout(BETWEEN_REPORTS, stream.next()).await {
            Err(_) => {}
            Ok(None) => break,
            Ok(Some(batch)) => {
                let batch = batch.map_err(engine)?;
                writer.write(&batch).map_err(|error| incident(what, error))?;
                done.written += batch.num_rows() as u64;
            }
        }
        done.read = rows_read(plan.plan.as_ref()).max(done.written);
        progress(done);
    }
    writer.close().map_err(|error| incident(what, error))?;
    file.as_file().sync_all().map_err(wrong)?;
    file.persist(output).map_err(|error| wrong(error.error))?;
    // The new name is durable when the directory is.
    std::fs::File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(wrong)?;
    done.read = done.written;
    Ok(done)
}

/// That the output would not become part of the input.
fn outside(table: &Table, directory: &Path) -> Result<(), Error> {
    let (input, with_directories) = match &table.source {
        Source::Csv(input) | Source::Parquet(input) => (input, false),
        Source::ParquetTree(tree) => match &tree.root {
            Root::Directory(input) => (input, true),
            Root::Objects(_) => return Ok(()),
        },
        Source::Postgres { .. } | Source::Memory(_) => return Ok(()),
    };
    let part = |input: &Path, directory: &Path| {
        input == directory || (with_directories && directory.starts_with(input))
    };
    match (input.canonicalize(), directory.canonicalize()) {
        (Ok(input), Ok(directory)) if part(&input, &directory) => Err(Error::refused(
            "the output would lie in the directory that is sorted, and be read as a part of it",
            "write it elsewhere",
        )),
        _ => Ok(()),
    }
}

struct Sorted {
    plan: Arc<dyn ExecutionPlan>,
    context: Arc<datafusion::execution::TaskContext>,
}

async fn sorted(memory: usize, table: &Table, unit: &str, directory: &Path) -> Result<Sorted, Error> {
    let what = "the data to be sorted";
    let engine = |error| incident(what, error);
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(FairSpillPool::new(memory)))
        .with_temp_file_path(directory)
        .build_arc()
        .map_err(engine)?;
    // One sort in one part. Parts that are sorted at once take all memory there is, and leave none to who merges them.
    let state = SessionStateBuilder::new_with_default_features()
        .with_config(SessionConfig::new().with_target_partitions(1))
        .with_runtime_env(runtime)
        .build();
    let name = "data";
    let schema = provider(&state, name, table).await?.schema();
    let Ok(index) = schema.index_of(unit) else {
        return Err(Error::catalog(
            "the data has no such column to sort by",
            "names are compared as written, upper and lower case apart",
        ));
    };
    let mut table = table.clone();
    table.identifiers.push(unit.to_owned());
    if table.column(unit).is_none() {
        let field = schema.field(index);
        let kind = identifier::kind_that_keeps(field)
            .ok_or_else(|| identifier::refused(what, unit, &field.data_type().to_string(), Kind::Text))?;
        table.columns.push((unit.to_owned(), Facts::unknown(kind)));
    }
    let table = &table;
    let rows = provider(&state, name, table).await?;
    let schema = rows.schema();
    let relation = TableReference::bare(name);
    let columns = (0..schema.fields().len())
        .map(|index| match table.column(schema.field(index).name()) {
            Some(facts) => {
                let name = schema.field(index).name();
                let value = converted(what, &schema, index, facts.kind, table)?;
                Ok(value.alias_qualified(Some(relation.clone()), name))
            }
            None => Ok(own(&schema, index, &relation)),
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let by = Expr::Column(Column::new(Some(relation.clone()), unit)).sort(true, false);
    let plan = LogicalPlanBuilder::scan(relation, provider_as_source(rows), None)
        .and_then(|plan| plan.project(columns))
        .and_then(|plan| plan.sort([by]))
        .and_then(|plan| plan.build())
        .map_err(engine)?;
    let plan = state.create_physical_plan(&plan).await.map_err(engine)?;
    Ok(Sorted {
        plan,
        context: state.task_ctx(),
    })
}

fn own(schema: &Schema, index: usize, relation: &TableReference) -> Expr {
    Expr::Column(Column::new(Some(relation.clone()), schema.field(index).name()))
}

/// Rows that have left the leaves of the plan.
fn rows_read(plan: &dyn ExecutionPlan) -> u64 {
    let children = plan.children();
    if children.is_empty() {
        let rows = plan.metrics().and_then(|metrics| metrics.output_rows());
        return rows.unwrap_or(0) as u64;
    }
    children.into_iter().map(|child| rows_read(child.as_ref())).sum()
}
