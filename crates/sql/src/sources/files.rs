//! Files and directories of files.

use super::incident::incident;
use crate::Error;
use crate::catalog::Source;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::execution::SessionState;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// The files of a source in the order of their names: the file itself, or the files of the directory that end in one of `extensions`.
///
/// Directories inside are not looked into, and names that begin with a dot are passed over: writers put unfinished files there.
pub(super) fn files(path: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>, Error> {
    let wrong = |error: std::io::Error| Error::File {
        what: format!("{} cannot be read", path.display()),
        why: error.kind(),
        hint: "check the path of the table's `source`, which starts at the directory of the catalog"
            .to_owned(),
    };
    let metadata = std::fs::metadata(path).map_err(wrong)?;
    if !metadata.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(wrong)? {
        let file = entry.map_err(wrong)?.path();
        let hidden = file
            .file_name()
            .is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
        let fits = file
            .extension()
            .is_some_and(|extension| extensions.iter().any(|wanted| extension == *wanted));
        if fits && !hidden && std::fs::metadata(&file).map_err(wrong)?.is_file() {
            found.push(file);
        }
    }
    if found.is_empty() {
        return Err(Error::catalog(
            format!(
                "the directory {} has no files that end in .{}",
                path.display(),
                extensions.join(" or .")
            ),
            "check the path of the table's `source` and its `format`",
        ));
    }
    found.sort();
    Ok(found)
}

/// What the files of a source are called, how long they are and when they were last written, hashed. Nothing in them is read.
pub(super) fn state(source: &Source) -> Result<Option<String>, Error> {
    let (path, extensions): (_, &[&str]) = match source {
        Source::Csv(path) => (path, &super::delimited::EXTENSIONS),
        Source::Parquet(path) => (path, &["parquet"]),
        Source::Postgres { .. } => return Ok(None),
    };
    let mut hash = Sha256::new();
    for file in files(path, extensions)? {
        let (length, modified) = std::fs::metadata(&file)
            .and_then(|metadata| Ok((metadata.len(), metadata.modified()?)))
            .map_err(|error| Error::File {
                what: format!("{} cannot be looked at", file.display()),
                why: error.kind(),
                hint: "is somebody replacing it? Try again, or declare the table's `version`".to_owned(),
            })?;
        let nanoseconds = match modified.duration_since(UNIX_EPOCH) {
            Ok(after) => i128::try_from(after.as_nanos()).unwrap_or(i128::MAX),
            Err(before) => -i128::try_from(before.duration().as_nanos()).unwrap_or(i128::MAX),
        };
        let name = file.file_name().unwrap_or_default().as_encoded_bytes();
        // Lengths in front: no two lists of files hash the same bytes.
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update(length.to_le_bytes());
        hash.update(nanoseconds.to_le_bytes());
    }
    let hexadecimal = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Some(hexadecimal))
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
    let options = ListingOptions::new(Arc::new(format)).with_file_extension("");
    let mut places = Vec::new();
    let mut merged: Option<Schema> = None;
    for file in files(path, &["parquet"])? {
        let place = ListingTableUrl::parse(address(&file)?).map_err(engine)?;
        let schema = options.infer_schema(state, &place).await.map_err(engine)?;
        merged = Some(match merged {
            None => plain(&schema),
            Some(merged) => together(what, merged, &plain(&schema))?,
        });
        places.push(place);
    }
    let schema: SchemaRef = Arc::new(merged.unwrap_or_else(Schema::empty));
    let configuration = ListingTableConfig::new_with_multi_paths(places)
        .with_listing_options(options)
        .with_schema(schema);
    Ok(Arc::new(ListingTable::try_new(configuration).map_err(engine)?))
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
