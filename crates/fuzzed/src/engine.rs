//! Queries and catalogs.

use crate::{check_reported, file};
use ::sql::blocking::Dataset;
use ::sql::{Catalog, QueryRequest};
use std::sync::LazyLock;

/// The catalog of the sample. Its private files are not there: nothing that happens before a charge may need
/// them.
const SAMPLE: &str = include_str!("../../../fuzz/corpus/catalog/sample.toml");
const REGIONS: &str = "region,country,population\nAshford,Northmark,612000\nDunmere,Northmark,398000\nFenwick,Southmark,704000\n";

/// The sample's catalog, and the folder that it is in.
pub(crate) fn sample() -> (tempfile::TempDir, Catalog) {
    let (folder, _) = file("regions.csv", REGIONS.as_bytes());
    let catalog = Catalog::parse(SAMPLE, folder.path()).expect("the sample's catalog");
    (folder, catalog)
}

static DATASET: LazyLock<(tempfile::TempDir, Dataset)> = LazyLock::new(|| {
    let (folder, catalog) = sample();
    let dataset = Dataset::new(catalog).expect("threads");
    (folder, dataset)
});

/// Explains a text as if it were a question: an explanation or a refusal with a hint, and the same one again.
///
/// # Panics
/// When the planner does, or what it says of one text changes.
pub fn sql(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (_, dataset) = &*DATASET;
    if let Err(error) = dataset.describe(&text) {
        check_reported(&error);
    }
    let ask = QueryRequest::new(text, "fuzzer");
    let said = || match dataset.explain(&ask, 1) {
        Ok(explanation) => format!("{explanation:?}"),
        Err(error) => {
            check_reported(&error);
            error.to_string()
        }
    };
    assert_eq!(said(), said(), "two explanations of one text");
}

/// Reads a catalog, and the rules of its budget.
///
/// # Panics
/// When a reader does.
pub fn catalog(bytes: &[u8]) {
    let (_folder, path) = file("deniable.toml", bytes);
    match Catalog::read(&path) {
        Err(error) => check_reported(&error),
        Ok(catalog) => {
            let dataset = Dataset::new(catalog).expect("threads");
            if let Err(error) = dataset.rules() {
                check_reported(&error);
            }
            // Nothing is asked: a table of another database would be looked for.
            let _ = dataset.describe("SHOW TABLES").expect("the tables of a catalog");
        }
    }
}
