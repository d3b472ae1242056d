//! Parquet files as a table that reads every row.
//!
//! A Parquet file says much about itself: the least and largest value of a part, filters that tell which values are not in it, how it is sorted. An engine
//! that believes such words passes rows over because of what other rows are, or are not: statistics leave out NaN, and a Bloom filter tells −0.0 from 0.0. One person's row
//! then decides whether the rows beside it are read. So this table takes no filter and no limit, and knows neither statistics nor an order: what of a
//! file is read depends on the columns that a query needs, and on nothing else.

use super::files::files;
use super::incident::incident;
use crate::Error;
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
use datafusion::logical_expr::{Expr, TableType};
use datafusion::object_store::{ObjectMeta, ObjectStoreExt};
use datafusion::physical_plan::ExecutionPlan;
use std::path::Path;
use std::sync::Arc;

/// Files of one table.
#[derive(Debug)]
struct Parquet {
    format: Arc<ParquetFormat>,
    store: ObjectStoreUrl,
    files: Vec<ObjectMeta>,
    schema: SchemaRef,
}

/// Parquet files as a table. Text is held in views, the engine's fastest form.
pub(super) async fn parquet(
    state: &SessionState,
    what: &str,
    path: &Path,
) -> Result<Arc<dyn TableProvider>, Error> {
    let engine = |error| incident(what, error);
    let format = ParquetFormat::default()
        .with_options(state.default_table_options().parquet)
        .with_force_view_types(true)
        // Old moments are kept in 96 bits, which reach beyond 64 bits of nanoseconds.
        .with_coerce_int96(Some("us".to_owned()));
    let store_url = ObjectStoreUrl::local_filesystem();
    let store = state.runtime_env().object_store(&store_url).map_err(engine)?;
    let mut found = Vec::new();
    let mut merged: Option<Schema> = None;
    for file in files(path, &["parquet"])? {
        let place = ListingTableUrl::parse(address(&file)?).map_err(engine)?;
        let meta = store
            .head(place.prefix())
            .await
            .map_err(|error| incident(what, error))?;
        let schema = format
            .infer_schema(state, &store, std::slice::from_ref(&meta))
            .await
            .map_err(engine)?;
        merged = Some(match merged {
            None => plain(&schema),
            Some(merged) => together(what, merged, &plain(&schema))?,
        });
        found.push(meta);
    }
    Ok(Arc::new(Parquet {
        format: Arc::new(format),
        store: store_url,
        files: found,
        schema: Arc::new(merged.unwrap_or_else(Schema::empty)),
    }))
}

#[async_trait]
impl TableProvider for Parquet {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    // No filter is taken: that is what the trait does unless told otherwise.

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let source = self.format.file_source(TableSchema::from(&self.schema));
        let files = self.files.iter().cloned().map(PartitionedFile::new_from_meta);
        let groups = FileGroup::new(files.collect()).split_files(state.config().target_partitions());
        let scan = FileScanConfigBuilder::new(self.store.clone(), source)
            .with_file_groups(groups)
            .with_projection_indices(projection.cloned())?
            .build();
        self.format.create_physical_plan(state, scan).await
    }
}

/// The schema without what writers note beside it, in which files of one table may differ.
fn plain(schema: &Schema) -> Schema {
    let fields: Vec<_> = schema
        .fields()
        .iter()
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
