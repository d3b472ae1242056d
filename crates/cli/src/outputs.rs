//! Refuses outputs that would overwrite a file of the command's own dataset.

use crate::terminal::{CliError, fail};

use ledger::Place;
use sql::blocking::Dataset;
use sql::catalog::{Root, Source};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use training::files_of;
use training::places::{self, Named};

/// What is kept beside a ledger: by SQLite, and of it.
const BESIDE: [&str; 6] = ["-wal", "-shm", "-journal", ".head", ".key", ".fingerprints"];

/// What files of a directory that is a table end in.
const ENDINGS: [&str; 3] = ["csv", "tsv", "parquet"];

/// Refuses, before anything is charged, to write over the ledger, the catalog, a table of the catalog or
/// another file that is read; however they are spelled and whatever links lead to them. The folders of what
/// is written must be there.
pub(crate) fn check(
    dataset: &Dataset,
    catalog: &Path,
    read: &[Named<'_>],
    written: &[Named<'_>],
) -> Result<(), CliError> {
    let mut files = ledger_files(&dataset.place());
    let mut folders = Vec::new();
    let mut trees: Vec<PathBuf> = Vec::new();
    for table in dataset.catalog().tables.values() {
        match &table.source {
            Source::Csv(path) | Source::Parquet(path) if path.is_dir() => folders.push(path),
            Source::Csv(path) | Source::Parquet(path) => files.push(("a table of the catalog", path.clone())),
            Source::ParquetTree(tree) => match &tree.root {
                Root::Directory(path) => {
                    // Where links lead out of the tree, so do its rows.
                    let files = files_of(&table.source).into_iter().filter(|file| file.is_file());
                    trees.extend(files.filter_map(|file| file.parent().map(Path::to_owned)));
                    trees.push(path.clone());
                }
                Root::Objects(_) => {}
            },
            Source::Postgres { .. } | Source::Memory(_) => {}
        }
    }
    let mut named: Vec<Named<'_>> = files.iter().map(|(what, path)| (*what, path.as_path())).collect();
    named.push(("the catalog", catalog));
    named.extend(read);
    places::check(&named, written)?;
    for (what, path) in written {
        let ends = |ending: &OsStr| ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known));
        let resolved = places::resolved(path);
        let part_of = |folder: &&PathBuf| resolved.parent() == Some(&places::resolved(folder));
        let below = |tree: &PathBuf| resolved.starts_with(places::resolved(tree));
        let counts = folders.iter().any(part_of) || trees.iter().any(below);
        if resolved.extension().is_some_and(ends) && counts {
            return fail(
                format!(
                    "{what} lies in a folder whose files are a table of the catalog: {}",
                    path.display()
                ),
                "name a file in another folder, or it would count as rows",
            );
        }
    }
    Ok(())
}

/// The same for a ledger by itself.
pub(crate) fn check_ledger(ledger: &Path, written: &[Named<'_>]) -> Result<(), CliError> {
    let files = ledger_files(&Place::File(ledger.to_owned()));
    let named: Vec<Named<'_>> = files.iter().map(|(what, path)| (*what, path.as_path())).collect();
    Ok(places::check(&named, written)?)
}

fn ledger_files(place: &Place) -> Vec<(&'static str, PathBuf)> {
    let Place::File(ledger) = place else {
        return Vec::new();
    };
    let mut files = vec![("the ledger", ledger.clone())];
    // SQLite keeps them beside the file itself, not beside a link to it.
    let ledger = places::resolved(ledger);
    for ending in BESIDE {
        let mut name = ledger.clone().into_os_string();
        name.push(ending);
        files.push(("a file beside the ledger", name.into()));
    }
    files
}
