//! Files and directories of files.

use super::tree;
use crate::Error;
use crate::catalog::{Root, Source};
use std::io::Read;
use std::path::{Path, PathBuf};

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

/// Every byte of the files of a source, each file after its name and length, so that no two lists of files are the same bytes.
pub(super) fn read_whole(source: &Source, take: &mut dyn FnMut(&[u8])) -> Result<bool, Error> {
    let (path, extensions): (_, &[&str]) = match source {
        Source::Csv(path) => (path, &super::delimited::EXTENSIONS),
        Source::Parquet(path) => (path, &["parquet"]),
        Source::ParquetTree(tree) => match &tree.root {
            Root::Directory(root) => return read_tree(root, &tree.partitions, take),
            Root::Objects(_) => return Ok(false),
        },
        Source::Postgres { .. } | Source::Memory(_) => return Ok(false),
    };
    for file in files(path, extensions)? {
        let name = file.file_name().unwrap_or_default().as_encoded_bytes();
        read_file(&file, name, take)?;
    }
    Ok(true)
}

/// [`read_whole`] of files in directories, each after its path below the first.
fn read_tree(root: &Path, partitions: &[String], take: &mut dyn FnMut(&[u8])) -> Result<bool, Error> {
    for (file, _) in tree::in_directories(root, partitions)? {
        let below = file.strip_prefix(root).unwrap_or(&file);
        read_file(&file, below.as_os_str().as_encoded_bytes(), take)?;
    }
    Ok(true)
}

fn read_file(file: &Path, name: &[u8], take: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
    let wrong = |error: std::io::Error| Error::File {
        what: format!("{} cannot be read", file.display()),
        why: error.kind(),
        hint: "may you read it, and is nobody replacing it? Try again".to_owned(),
    };
    take(&(name.len() as u64).to_le_bytes());
    take(name);
    let mut opened = std::fs::File::open(file).map_err(wrong)?;
    let mut buffer = vec![0u8; 1 << 20];
    let mut length = 0u64;
    loop {
        let read = opened.read(&mut buffer).map_err(wrong)?;
        if read == 0 {
            break;
        }
        length += read as u64;
        take(&buffer[..read]);
    }
    take(&length.to_le_bytes());
    Ok(())
}
