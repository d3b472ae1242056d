//! Files and directories of files.

use crate::Error;
use crate::catalog::Source;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
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
