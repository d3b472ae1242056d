//! Data to try things on: invented people, their visits to an invented clinic, and the regions they live in; and a dummy of whatever a catalog declares.
//!
//! The rows are the same for everybody, made by a small generator from a fixed number and by arithmetic that is exact on every machine; and they look like
//! the real thing: incomes grow with education, few people make most of the visits.

mod dummy;
mod people;
mod random;
mod visits;

pub use dummy::{DUMMY_UNITS, dummy, dummy_rows};

use crate::Error;
use crate::sources::incident;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::properties::WriterProperties;
use std::fs::File;
use std::path::{Path, PathBuf};

/// How many people there are.
pub const PEOPLE: u64 = 300_000;
/// How many visits they make together.
pub const VISITS: u64 = 988_904;

pub(crate) const CATALOG: &str = include_str!("deniable.toml");
const REGIONS: &str = include_str!("regions.csv");
const ROWS_A_BATCH: usize = 8192;
const ROWS_A_GROUP: usize = 1 << 16;

/// The sample in this directory, made if it is not there yet: the path of its catalog. `progress` hears how many rows of how many are made.
///
/// Files are made elsewhere and moved into place, the catalog last, so that two who begin at once, or one who is interrupted, leave nothing broken. Files that are there
/// are left as they are.
///
/// # Errors
/// When the directory cannot be written.
pub fn ensure(directory: &Path, mut progress: impl FnMut(u64, u64)) -> Result<PathBuf, Error> {
    let catalog = directory.join("deniable.toml");
    let files = ["people.parquet", "visits.parquet", "regions.csv", "deniable.toml"];
    if files.iter().all(|name| directory.join(name).is_file()) {
        return Ok(catalog);
    }
    let wrong = |error: std::io::Error| Error::File {
        what: format!("the sample data cannot be written to {}", directory.display()),
        why: error.kind(),
        hint: "it needs about 30 MB in a directory that you may write to".to_owned(),
    };
    std::fs::create_dir_all(directory).map_err(wrong)?;
    let workshop = tempfile::Builder::new()
        .prefix(".making-")
        .tempdir_in(directory)
        .map_err(wrong)?;
    let made = |name: &str| workshop.path().join(name);
    let mut visitors = Vec::new();
    let mut people = people::People::new();
    write(&made(files[0]), people::schema(), wrong, || {
        let batch = people.batch(ROWS_A_BATCH, &mut visitors);
        progress(visitors.len() as u64, PEOPLE + VISITS);
        batch
    })?;
    let mut visits = visits::Visits::new(&visitors);
    let mut rows = PEOPLE;
    write(&made(files[1]), visits::schema(), wrong, || {
        let batch = visits.batch(ROWS_A_BATCH);
        rows += batch.as_ref().map_or(0, RecordBatch::num_rows) as u64;
        progress(rows, PEOPLE + VISITS);
        batch
    })?;
    for (name, text) in [(files[2], REGIONS), (files[3], CATALOG)] {
        std::fs::write(made(name), text).map_err(wrong)?;
        File::open(made(name))
            .and_then(|file| file.sync_all())
            .map_err(wrong)?;
    }
    for name in files {
        let place = directory.join(name);
        if !place.exists() {
            std::fs::rename(made(name), place).map_err(wrong)?;
        }
    }
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(wrong)?;
    Ok(catalog)
}

/// Writes batches until there are no more.
fn write(
    path: &Path,
    schema: SchemaRef,
    wrong: impl Fn(std::io::Error) -> Error,
    mut next: impl FnMut() -> Option<RecordBatch>,
) -> Result<(), Error> {
    let engine = |error| incident("the sample data", error);
    let mut file = File::create(path).map_err(&wrong)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROWS_A_GROUP))
        .build();
    let mut writer = ArrowWriter::try_new(&mut file, schema, Some(properties)).map_err(engine)?;
    while let Some(batch) = next() {
        writer.write(&batch).map_err(engine)?;
    }
    writer.close().map_err(engine)?;
    file.sync_all().map_err(wrong)
}

#[cfg(test)]
mod tests;
