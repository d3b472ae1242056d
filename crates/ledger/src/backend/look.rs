//! What a file is, reported without changing it.
//!
//! Merely opening a SQLite file may write to it: a ledger has a write-ahead log, and a file is switched to one when it is opened for good. A file that is
//! somebody else's must stay as it is, to the byte, and without a log beside it. So a file is looked at first, as one that nobody writes to
//! (SQLite's `immutable`), which takes no locks and leaves nothing behind.
//!
//! On Unix a process loses all its locks on a file when it closes any descriptor of it, and SQLite does not keep track of one that takes no locks. So a file that
//! this process has open as a ledger is not looked at: it is known what it is.

use super::sqlite::unusable;
use crate::Error;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a file may look damaged before it is: another process may be writing what its log holds to it.
const SETTLING: Duration = Duration::from_secs(2);

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// A database without tables, or a file without bytes.
    Empty,
    /// The same, but a log beside it may hold its tables.
    Logged,
    Ledger,
    /// A database of something else.
    Other,
}

/// Which file, whatever it is called.
#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(not(unix))]
type Identity = PathBuf;

fn identity(path: &Path) -> Option<Identity> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let file = path.metadata().ok()?;
        Some((file.dev(), file.ino()))
    }
    #[cfg(not(unix))]
    path.canonicalize().ok()
}

/// The ledgers that this process has open, and how often.
static OPEN: Mutex<BTreeMap<Identity, usize>> = Mutex::new(BTreeMap::new());

/// The right to look at files and to open them; nobody else in this process does meanwhile.
pub(super) struct Turn(MutexGuard<'static, BTreeMap<Identity, usize>>);

impl Turn {
    pub(super) fn take() -> Self {
        Self(OPEN.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is at this path.
    pub(super) fn look(&self, path: &Path) -> Result<Found, Error> {
        let Some(identity) = identity(path) else {
            return Ok(Found::Nothing);
        };
        if self.0.contains_key(&identity) {
            return Ok(Found::Ledger);
        }
        let deadline = Instant::now() + SETTLING;
        loop {
            match tables(path) {
                Ok((0, _)) if log_of(path).exists() => return Ok(Found::Logged),
                Ok((0, _)) => return Ok(Found::Empty),
                Ok((_, true)) => return Ok(Found::Ledger),
                Ok((_, false)) => return Ok(Found::Other),
                Err(error) if settles(&error) && Instant::now() < deadline => {
                    thread::sleep(Duration::from_millis(20));
                }
                Err(error) => return Err(unusable(&error)),
            }
        }
    }

    /// From now on the file at this path is open.
    pub(super) fn opened(mut self, path: &Path) -> Kept {
        let identity = identity(path);
        if let Some(identity) = &identity {
            *self.0.entry(identity.to_owned()).or_default() += 1;
        }
        Kept(identity)
    }
}

/// A file that is open. It goes after the connection does.
pub(super) struct Kept(Option<Identity>);

impl Drop for Kept {
    fn drop(&mut self) {
        let Some(identity) = &self.0 else { return };
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(identity) {
            *count -= 1;
            if *count == 0 {
                open.remove(identity);
            }
        }
    }
}

/// How many tables there are, and whether one is that of a ledger's entries.
fn tables(path: &Path) -> rusqlite::Result<(u64, bool)> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(immutable(path), flags)?;
    connection.query_row(
        "SELECT count(*), count(*) FILTER (WHERE name = 'deniable_entries') > 0 FROM sqlite_schema WHERE type = 'table'",
        [],
        |row| Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get(1)?)),
    )
}

/// Whether another process that writes may be the reason.
fn settles(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// The file's address for SQLite, as one that nobody writes to.
fn immutable(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut address = String::from("file:");
    if cfg!(windows) {
        address.push('/');
    }
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                address.push(char::from(*byte));
            }
            _ => address.push_str(&format!("%{byte:02x}")),
        }
    }
    address.push_str("?immutable=1");
    address
}

fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}
