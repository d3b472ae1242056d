//! Finds out what a file is without changing it.
//!
//! Merely opening a SQLite file may write to it: a ledger has a write-ahead log, and a file is switched to
//! one when it is opened for good. A file of another program must stay as it is, to the byte, and without a
//! log beside it. So a file is first opened as one that nobody writes to (SQLite's `immutable`), which takes
//! no locks and leaves nothing behind.
//!
//! Such a look ignores what lies beside the file. In the middle of a checkpoint, and after a crash or a full
//! disk there, a part of the pages is in the file and the rest in its log. The file alone looks damaged, or
//! empty, or like something else; file and log together are whole. So a look may find a ledger. But while a
//! log or a journal lies beside the file, it never concludes that there is none, or that it is damaged: then
//! SQLite decides, which reads both.
//!
//! On Unix a process loses all its locks on a file when it closes any descriptor of it, and SQLite does not
//! keep track of a descriptor that takes no locks. So a file that this process has open as a ledger is not
//! looked at: it is known to be one.

use super::group_commit::{GroupCommit, journal_of, log_of};
use super::sqlite::unusable;
use crate::Error;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a file without a log may look damaged before it is: another process may have written its log to
/// it and deleted the log in this moment.
const SETTLING: Duration = Duration::from_secs(2);

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// A database without tables, or a file without bytes.
    Empty,
    /// No ledger by itself, but what lies beside it decides.
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

    fn has_open(&self, identity: &Identity) -> bool {
        self.0.get(identity).is_some_and(|open| open.times > 0)
    }

    /// Whether nobody of this process has the file open.
    pub(super) fn is_first(&self, path: &Path) -> bool {
        identity(path).is_none_or(|identity| !self.has_open(&identity))
    }

    /// What is at this path.
    pub(super) fn look(&self, path: &Path) -> Result<Found, Error> {
        let Some(identity) = identity(path) else {
            return Ok(Found::Nothing);
        };
        if self.has_open(&identity) {
            return Ok(Found::Ledger);
        }
        let deadline = Instant::now() + SETTLING;
        loop {
            // Before and after: the last process to close the file writes the log to it and deletes the log.
            let unfinished = is_unfinished(path);
            let found = tables(path);
            if !matches!(found, Ok((_, true))) && (unfinished || is_unfinished(path)) {
                check_log_has_its_file(path)?;
                return Ok(Found::Logged);
            }
            match found {
                Ok((_, true)) => return Ok(Found::Ledger),
                Ok((0, _)) => return Ok(Found::Empty),
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
            // The process remembers for its whole life that the disk refused, also if nobody has the file
            // open for a while.
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

/// Whether a log or a journal beside the file holds a part of it.
fn is_unfinished(path: &Path) -> bool {
    let holds = |file: PathBuf| file.metadata().is_ok_and(|file| file.len() > 0);
    holds(log_of(path)) || holds(journal_of(path))
}

/// SQLite deletes the log of a file without bytes. Nobody of us leaves such a file: what is in the log is all
/// that is left of it.
fn check_log_has_its_file(path: &Path) -> Result<(), Error> {
    let bytes = |path: &Path| path.metadata().map_or(0, |file| file.len());
    if bytes(path) > 0 || bytes(&log_of(path)) == 0 {
        return Ok(());
    }
    Err(Error::unusable(
        "the file is empty, and the log beside it is not",
        "release nothing, and keep the log: it holds what was charged last. Somebody emptied the file, or a copy of it did not finish; copy the file again",
    ))
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
