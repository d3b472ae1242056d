//! The last entry that was verified, kept in a small file beside the ledger.
//!
//! A chain of hashes shows a change in its middle. It does not show that its end was taken off, or that all
//! of it is gone: an older copy is a whole chain too. So a process that appends an entry writes its number
//! and hash into a file of its own. The next charge finds that entry again, or charges nothing.
//!
//! - It is written after the commit. So it may lag behind the ledger (after a crash, or when two processes
//!   write it in the other order), and never leads. Entries that were appended since are checked link by
//!   link, so a head that lags costs time and lets nothing pass.
//! - For a ledger in a file it is `LEDGER.head`. Anyone who can write a ledger in PostgreSQL can write the
//!   other tables of that database. So there each machine that charges keeps its own, where
//!   [`Place::PostgresKeepingHead`] says.
//! - It is no secret, and no signature: anyone who can write to the ledger and to this file can forge both.
//!   It shows accidents (a restored backup, a deleted file, an editor), and changes by anyone who can write
//!   to only one of the two.

use crate::chain::Head;
use crate::{Error, Place};
use files::{Readable, Whole};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kept {
    /// The last entry that was verified.
    pub(crate) head: Head,
    /// The first entry that a later verification found wrong: nothing is charged until one finds everything
    /// right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wrong: Option<u64>,
}

/// Where it is kept.
#[derive(Clone, Debug)]
pub(crate) struct HeadFile {
    path: PathBuf,
    /// Beside a file there is room for it, or the file itself could not be written. A machine that may only
    /// read the directory that is named for a database goes without one, and relies on the others.
    needed: bool,
}

impl HeadFile {
    /// Of the ledger at this place; `None` if no place for it is known.
    pub(crate) fn of(place: &Place) -> Option<Self> {
        let needed = matches!(place, Place::File(_));
        place.head_file().map(|path| Self { path, needed })
    }

    /// What is kept; `None` when nothing is.
    pub(crate) fn read(&self) -> Result<Option<Kept>, Error> {
        match std::fs::read_to_string(&self.path) {
            Ok(text) => serde_json::from_str(&text).map(Some).map_err(|_| {
                Error::unusable(
                    "the file beside it that keeps its last verified entry cannot be understood",
                    "where the ledger beside it is the newest there is, let `deniable budget accept-restored` verify it and write this file anew; never put an older ledger in its place",
                )
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Keeps this entry. The file is replaced whole, so nobody ever reads a part of it.
    pub(crate) fn write(&self, kept: &Kept) -> Result<(), Error> {
        let text = serde_json::to_string(kept).map_err(|error| self.failed(&error.into()))?;
        // After a power cut the older one may be there again, which lags behind as after any crash.
        let file = Whole::at(&self.path, Readable::AsBefore).or_the_old_one();
        let written = file.write(|file| file.write_all(text.as_bytes()));
        written.map_err(|error| self.failed(&error))
    }

    /// Keeps the first one. If it must be kept and cannot be, nothing is charged.
    pub(crate) fn begin(&self, head: Head) -> Result<(), Error> {
        let written = self.write(&Kept { head, wrong: None });
        if self.needed { written } else { Ok(()) }
    }

    pub(crate) fn remove(&self) -> Result<(), Error> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(self.failed(&error)),
            _ => Ok(()),
        }
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        let what = format!(
            "{}, which keeps its last verified entry, cannot be read or written ({})",
            self.path.display(),
            error.kind()
        );
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                Error::NoRoom { what }
            }
            _ => Error::unusable(
                what,
                "check that you may write to its directory, and that there is room",
            ),
        }
    }
}

/// The same file name with an ending; beside the file itself rather than beside a link to it.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = resolved(path).into_os_string();
    name.push(ending);
    name.into()
}

fn resolved(path: &Path) -> PathBuf {
    if let Ok(whole) = path.canonicalize() {
        return whole;
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}
