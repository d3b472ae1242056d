//! What a file is, reported without changing it.
//!
//! Merely opening a SQLite file may write to it: a ledger has a write-ahead log, and a file is switched to one when it is opened for good. A file that is
//! somebody else's must stay as it is, to the byte, and without a log beside it. So a file is looked at first, as one that nobody writes to
//! (SQLite's `immutable`), which takes no locks and leaves nothing behind.
//!
//! On Unix a process loses all its locks on a file when it closes any descriptor of it, and SQLite does not keep track of one that takes no locks. So a file that
//! this process has open as a ledger is not looked at: it is known what it is.

use super::group_commit::{GroupCommit, log_of};
use super::sqlite::unusable;
use crate::Error;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
type Identity = std::path::PathBuf;

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

/// A ledger that this process has open, or had open when the disk refused.
struct Open {
    times: usize,
    together: Arc<GroupCommit>,
}

/// The ledgers that this process has open.
static OPEN: Mutex<BTreeMap<Identity, Open>> = Mutex::new(BTreeMap::new());

/// The right to look at files and to open them; nobody else in this process does meanwhile.
pub(super) struct Turn(MutexGuard<'static, BTreeMap<Identity, Open>>);

impl Turn {
    pub(super) fn take() -> Self {
        Self(OPEN.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is at this path.
    pub(super) fn look(&self, path: &Path) -> Result<Found, Error> {
        let Some(identity) = identity(path) else {
            return Ok(Found::Nothing);
        };
        if self.0.get(&identity).is_some_and(|open| open.times > 0) {
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
        let Some(known) = &identity else {
            return Kept {
                identity,
                together: GroupCommit::new(),
            };
        };
        let open = self.0.entry(known.to_owned()).or_insert_with(|| Open {
            times: 0,
            together: GroupCommit::new(),
        });
        open.times += 1;
        Kept {
            together: Arc::clone(&open.together),
            identity,
        }
    }
}

/// A file that is open. It goes after the connection does.
pub(super) struct Kept {
    identity: Option<Identity>,
    /// What all in this process share who have it open.
    pub(super) together: Arc<GroupCommit>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        let Some(identity) = &self.identity else { return };
        let mut files = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = files.get_mut(identity) {
            open.times -= 1;
            // That the disk refused is remembered for as long as the process lasts, also where nobody has the file open for a while.
            if open.times == 0 && !open.together.has_failed() {
                files.remove(identity);
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
