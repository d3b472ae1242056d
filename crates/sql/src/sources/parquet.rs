//! Parquet files as a table that reads every row.
//!
//! A Parquet file says much about itself: the least and largest value of a part, filters that tell which values are not in it, how it is sorted. An engine
//! that believes such words passes rows over because of what other rows are, or are not: statistics leave out NaN, and a Bloom filter tells −0.0 from 0.0. One person's row
//! then decides whether the rows beside it are read. So this table takes no limit, and knows neither statistics nor an order: what of a
//! file is read depends on the columns that a query needs, and on nothing else. Whether a file is read at all depends on the query and on the names of the directories it is in ([`super::tree`]).

use super::files::files;
use super::incident::incident;
use super::objects::{self, Store};
use super::tree::{self, Values};
use crate::Error;
use crate::catalog::{ParquetTree, Root};
use async_trait::async_trait;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingTableUrl, PartitionedFile};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use futures::{StreamExt, TryStreamExt, stream};
use std::path::Path;
use std::sync::Arc;

/// So many files are looked at, at once, for their schemas.
const AT_ONCE: usize = 16;

/// Files of one table.
#[derive(Debug)]
struct Parquet {
    format: Arc<ParquetFormat>,
    url: ObjectStoreUrl,
    /// Where the files are, if not on this machine: every session that reads them has to know it.
    store: Option<Store>,
    files: Vec<(ObjectMeta, Values)>,
    /// The columns that directories name, which follow those of the files.
    partitions: Vec<String>,
    table: TableSchema,
}

/// Parquet files of this machine as a table.
pub(super) async fn of_files(
    state: &SessionState,
    what: &str,
    path: &Path,
) -> Result<Arc<dyn TableProvider>, Error> {
    let files = files(path, &["parquet"])?.into_iter();
    local(state, what, files.map(|file| (file, Vec::new())), &[]).await
}

/// Parquet files of an object store, or in directories that are named by values, as a table.
pub(super) async fn of_tree(
    state: &SessionState,
    what: &str,
    tree: &ParquetTree,
) -> Result<Arc<dyn TableProvider>, Error> {
    let address = match &tree.root {
        Root::Directory(root) => {
            let files = tree::in_directories(root, &tree.partitions)?;
            return local(state, what, files, &tree.partitions).await;
        }
        Root::Objects(address) => address,
    };
    let store = objects::store(what, address)?;
    let files = objects::listed(what, address, &tree.partitions, &store).await?;
    let (url, objects) = (store.url.clone(), Arc::clone(&store.objects));
    opened(state, what, (url, objects), Some(store), files, &tree.partitions).await
}

async fn local(
    state: &SessionState,
    what: &str,
    files: impl IntoIterator<Item = (std::path::PathBuf, Values)>,
    partitions: &[String],
) -> Result<Arc<dyn TableProvider>, Error> {
    let url = ObjectStoreUrl::local_filesystem();
    let store = state
        .runtime_env()
        .object_store(&url)
        .map_err(|error| incident(what, error))?;
    let mut found = Vec::new();
    for (file, values) in files {
        let place = ListingTableUrl::parse(address(&file)?).map_err(|error| incident(what, error))?;
        let meta = store
            .head(place.prefix())
            .await
            .map_err(|error| incident(what, error))?;
        found.push((meta, values));
    }
    opened(state, what, (url, store), None, found, partitions).await
}

/// Files as a table, after a look at the schema of each. Text is held in views, the engine's fastest form.
async fn opened(
    state: &SessionState,
    what: &str,
    (url, objects): (ObjectStoreUrl, Arc<dyn ObjectStore>),
    store: Option<Store>,
    files: Vec<(ObjectMeta, Values)>,
    partitions: &[String],
) -> Result<Arc<dyn TableProvider>, Error> {
    let format = ParquetFormat::default()
        .with_options(state.default_table_options().parquet)
        .with_force_view_types(true)
        // Old moments are kept in 96 bits, which reach beyond 64 bits of nanoseconds.
        .with_coerce_int96(Some("us".to_owned()));
    let schemas: Vec<SchemaRef> = stream::iter(&files)
        .map(|(meta, _)| format.infer_schema(state, &objects, std::slice::from_ref(meta)))
        // In a box, so that the whole can be sent to another thread.
        .boxed()
        .buffered(AT_ONCE)
        .try_collect()
        .await
        .map_err(|error| incident(what, error))?;
    let mut merged: Option<Schema> = None;
    for schema in schemas {
        let schema = plain(&schema, partitions);
        merged = Some(match merged {
            None => schema,
            Some(merged) => together(what, merged, &schema)?,
        });
    }
    let schema = Arc::new(merged.unwrap_or_else(Schema::empty));
    Ok(Arc::new(Parquet {
        format: Arc::new(format),
        url,
        store,
        files,
        partitions: partitions.to_vec(),
        table: TableSchema::builder(schema)
            .with_table_partition_cols(tree::fields(partitions))
            .build(),
    }))
}

#[async_trait]
impl TableProvider for Parquet {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.table.table_schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// Only what is decided by the names of directories is taken, and the engine evaluates it again on every row that is read. All else is never looked at here.
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>, DataFusionError> {
        let taken = |filter: &&Expr| match tree::decides(filter, &self.partitions) {
            true => TableProviderFilterPushDown::Inexact,
            false => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(taken).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        if let Some(store) = &self.store {
            let runtime = state.runtime_env();
            runtime.register_object_store(store.url.as_ref(), Arc::clone(&store.objects));
        }
        let values: Vec<&Values> = self.files.iter().map(|(_, values)| values).collect();
        let read = tree::read(&values, &self.partitions, filters, state);
        let files: Vec<PartitionedFile> = self
            .files
            .iter()
            .zip(read)
            .filter(|(_, read)| *read)
            .map(|((meta, values), _)| {
                PartitionedFile::new_from_meta(meta.clone()).with_partition_values(tree::scalars(values))
            })
            .collect();
        if files.is_empty() {
            let schema = match projection {
                Some(columns) => Arc::new(self.schema().project(columns)?),
                None => self.schema(),
            };
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        let source = self.format.file_source(self.table.clone());
        let groups = FileGroup::new(files).split_files(state.config().target_partitions());
        let scan = FileScanConfigBuilder::new(self.url.clone(), source)
            .with_file_groups(groups)
            .with_projection_indices(projection.cloned())?
            .build();
        self.format.create_physical_plan(state, scan).await
    }
}

/// The schema without what writers note beside it, in which files of one table may differ, and without columns that directories name: what these say holds.
fn plain(schema: &Schema, partitions: &[String]) -> Schema {
    let fields: Vec<_> = schema
        .fields()
        .iter()
        .filter(|field| !partitions.contains(field.name()))
        .map(|field| field.as_ref().clone().with_metadata(Default::default()))
        .collect();
    Schema::new(fields)
}

fn together(what: &str, merged: Schema, next: &Schema) -> Result<Schema, Error> {
    for field in next.fields() {
        if let Ok(known) = merged.field_with_name(field.name())
            && known.data_type() != field.data_type()
        {
            return Err(Error::catalog(
                format!(
                    "{what}: its files disagree on the type of column `{}`",
                    field.name()
                ),
                "rewrite them with one schema, or declare a table for each",
            ));
        }
    }
    Schema::try_merge([merged, next.clone()]).map_err(|error| incident(what, error))
}

/// The path as an address, so that characters such as `*` in it are taken as they are.
fn address(path: &Path) -> Result<String, Error> {
    let absolute = std::path::absolute(path).map_err(|error| Error::File {
        what: format!("{} cannot be found", path.display()),
        why: error.kind(),
        hint: "is the working directory still there?".to_owned(),
    })?;
    let mut address = "file://".to_owned();
    for &byte in absolute.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' => {
                address.push(byte.into())
            }
            _ => address.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(address)
}
