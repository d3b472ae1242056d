//! Group commit: the transactions of one process on one file wait for the disk together.
//!
//! Writing a transaction to the write-ahead log takes a fraction of a millisecond. Waiting until the disk has
//! it takes several. If each transaction waited while it holds the file, a disk with a delay of 5 ms would
//! admit 200 of them in a second in all. So a transaction is written, lets the next one write, and then
//! waits. One wait, begun after it was written, covers it and every other that was written before. It ends
//! only when the disk has it, as before.
//!
//! # Why what was confirmed is durable
//! The log is one file that is only appended to between two checkpoints. Each frame's checksum covers the
//! frames before it, so a prefix of the log survives a power cut. `fdatasync` of the file, begun after a
//! transaction was written, makes the prefix durable that ends with it. A checkpoint syncs the log before it
//! writes to the database, and the database before the log begins anew. The header of a new log is synced
//! before its first frame. SQLite does so at `synchronous = NORMAL`. So at no time can a transaction that was
//! confirmed be lost, or one that follows it survive alone.
//!
//! Others see a transaction as soon as it is written, some milliseconds before it is durable. No noise is
//! drawn because of something merely seen: before drawing, a process has confirmed an entry of its own, which
//! stands later in the same log. An answer that this process saved is shown after it is durable. One of
//! another process may be shown a moment before, and be lost by a power cut at that moment. It was paid for,
//! and is not drawn again under that charge.
//!
//! A disk that fails to write reports it once and may forget it. So after a failure nothing in this process
//! counts as durable until the process is started again. The first in a process to open the file writes what
//! the log holds to the file before anything is appended to it.

use crate::Error;
use crate::head_file::beside;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What the transactions of this process on one file share.
#[derive(Debug)]
pub(super) struct GroupCommit {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// A transaction has the right to write. The others wait here rather than in SQLite, which would let them
    /// look again at ever longer intervals.
    writing: bool,
    /// How many transactions were written.
    written: u64,
    /// So many of them are on disk.
    durable: u64,
    /// Somebody waits for the disk on behalf of all.
    syncing: bool,
    /// The disk refused once. What it lost it may not report again, so nothing is confirmed any more, by
    /// nobody in this process.
    failed: bool,
    /// The log, as it was last synced.
    log: Option<File>,
    /// What each wait for the disk covered.
    #[cfg(test)]
    syncs: Vec<u64>,
    /// The length of the log when the last of these began.
    #[cfg(test)]
    bytes: u64,
    #[cfg(test)]
    disk_refuses: bool,
}

/// The right to write. A thread that drops it has written nothing.
#[derive(Debug)]
pub(super) struct Writing(Arc<GroupCommit>);

/// A transaction that was written: how many there were with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written(u64);

impl GroupCommit {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, most: Duration) -> MutexGuard<'a, State> {
        let waited = self.changed.wait_timeout(state, most);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits for the right to write. Other processes are excluded by the database.
    pub(super) fn begin(self: &Arc<Self>, patience: Duration) -> Result<Writing, Error> {
        let deadline = Instant::now() + patience;
        let mut state = self.lock();
        while state.writing {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::unusable(
                    "others of this process wrote to it for a minute",
                    "see what the process does, and try again",
                ));
            }
            state = self.wait(state, left);
        }
        state.writing = true;
        Ok(Writing(Arc::clone(self)))
    }

    /// Waits until what was written is on disk, with whatever else was.
    pub(super) fn make_durable(&self, written: Written, log: &Path) -> Result<(), Error> {
        let mut state = self.lock();
        loop {
            if state.durable >= written.0 {
                return Ok(());
            }
            if state.failed {
                return Err(refused());
            }
            if state.syncing {
                state = self.wait(state, Duration::from_secs(1));
                continue;
            }
            state.syncing = true;
            let covered = state.written;
            let kept = state.log.take();
            #[cfg(test)]
            let (refuses, bytes) = (state.disk_refuses, log.metadata().map_or(0, |log| log.len()));
            drop(state);
            let opened = opened(kept, log);
            let synced = opened.as_ref().map(File::sync_data);
            #[cfg(test)]
            let synced = match synced {
                Ok(_) if refuses => Ok(Err(io::Error::other("full"))),
                synced => synced,
            };
            state = self.lock();
            state.syncing = false;
            let unopened = match synced {
                Ok(Ok(())) => {
                    state.durable = covered;
                    #[cfg(test)]
                    {
                        state.syncs.push(covered);
                        state.bytes = bytes;
                    }
                    false
                }
                Ok(Err(_)) => {
                    state.failed = true;
                    false
                }
                // Nothing was asked of the disk, and nothing was lost by it: the next attempt may succeed.
                Err(_) => true,
            };
            state.log = opened.ok();
            self.changed.notify_all();
            if unopened {
                return Err(refused());
            }
        }
    }

    /// Whether the disk refused once.
    pub(super) fn has_failed(&self) -> bool {
        self.lock().failed
    }

    #[cfg(test)]
    pub(super) fn let_the_disk_refuse(&self, refuses: bool) {
        self.lock().disk_refuses = refuses;
    }

    /// So much of the log is on disk, for certain.
    #[cfg(test)]
    pub(super) fn bytes_on_disk(&self) -> u64 {
        self.lock().bytes
    }

    /// Waits until all that this process has written is on disk.
    pub(super) fn settle(&self, log: &Path) -> Result<(), Error> {
        let written = Written(self.lock().written);
        self.make_durable(written, log)
    }
}

impl Writing {
    /// The transaction was written; the next one may be.
    pub(super) fn written(self) -> Written {
        let mut state = self.0.lock();
        state.written += 1;
        Written(state.written)
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.0.lock().writing = false;
        self.0.changed.notify_all();
    }
}

/// The log. It stays open between two waits, since a disk reports what it lost to those who had the file open
/// then.
fn opened(kept: Option<File>, log: &Path) -> io::Result<File> {
    // The last connection that closes deletes the log, and the next one begins another.
    match kept {
        Some(file) if is_at(&file, log) => Ok(file),
        _ => File::options().write(true).open(log),
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), path.metadata()) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    false
}

/// The log of a database. SQLite keeps it beside the file itself, not beside a link to it.
pub(super) fn log_of(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

/// The journal of a database that has no log yet, where making it was interrupted.
pub(super) fn journal_of(path: &Path) -> PathBuf {
    beside(path, "-journal")
}

fn refused() -> Error {
    Error::unusable(
        "the disk did not confirm what was written",
        "check the disk, and whether there is room on it; nothing is charged until the program is started again. What was confirmed before stands",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    fn a_log() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("ledger-wal");
        std::fs::write(&log, "").unwrap();
        (folder, log)
    }

    /// A writer returns after a sync that began after it had written, and many share one.
    #[test]
    fn transactions_wait_for_a_sync_that_began_after_them() {
        let (_folder, log) = a_log();
        let group = GroupCommit::new();
        let inside = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let writing = group.begin(Duration::from_secs(60)).unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "one writes at a time");
                        inside.fetch_sub(1, Ordering::SeqCst);
                        let written = writing.written();
                        group.make_durable(written, &log).unwrap();
                        let state = group.lock();
                        assert!(state.syncs.iter().any(|covered| *covered >= written.0));
                        assert!(state.durable <= state.written);
                    }
                });
            }
        });
        let state = group.lock();
        assert_eq!((state.written, state.durable), (400, 400));
        assert!(state.syncs.len() <= 400 && state.syncs.is_sorted());
    }

    /// A disk does not report a loss twice. So after it refused, nothing counts as durable, also not for
    /// callers that ask again.
    #[test]
    fn after_the_disk_refused_nothing_is_confirmed() {
        let (_folder, log) = a_log();
        let group = GroupCommit::new();
        let before = group.begin(Duration::ZERO).unwrap().written();
        group.make_durable(before, &log).unwrap();
        group.let_the_disk_refuse(true);
        let lost = group.begin(Duration::ZERO).unwrap().written();
        assert!(group.make_durable(lost, &log).is_err());
        group.let_the_disk_refuse(false);
        assert!(group.make_durable(lost, &log).is_err() && group.settle(&log).is_err());
        assert!(group.make_durable(before, &log).is_ok());
    }

    /// One wait stands for many: if it fails, none of them is confirmed.
    #[test]
    fn all_of_a_group_are_refused_together() {
        let (_folder, log) = a_log();
        let group = GroupCommit::new();
        let written: Vec<Written> = (0..8)
            .map(|_| group.begin(Duration::ZERO).unwrap().written())
            .collect();
        group.let_the_disk_refuse(true);
        let (all, log) = (&group, &log);
        thread::scope(|scope| {
            let waiting: Vec<_> = written
                .into_iter()
                .map(|written| scope.spawn(move || all.make_durable(written, log)))
                .collect();
            assert!(
                waiting
                    .into_iter()
                    .all(|waiting| waiting.join().unwrap().is_err())
            );
        });
        assert_eq!(group.lock().durable, 0);
    }

    #[test]
    fn a_log_that_is_gone_confirms_nothing() {
        let (_folder, log) = a_log();
        let group = GroupCommit::new();
        let first = group.begin(Duration::ZERO).unwrap().written();
        group.make_durable(first, &log).unwrap();
        // Another log at the same path is synced in place of the one that was.
        std::fs::remove_file(&log).unwrap();
        std::fs::write(&log, "another").unwrap();
        let second = group.begin(Duration::ZERO).unwrap().written();
        group.make_durable(second, &log).unwrap();
        assert!(is_at(group.lock().log.as_ref().unwrap(), &log));
        std::fs::remove_file(&log).unwrap();
        let third = group.begin(Duration::ZERO).unwrap().written();
        assert!(group.make_durable(third, &log).is_err());
        // The disk was not asked, so it did not refuse.
        assert!(!group.has_failed());
    }

    #[test]
    fn who_writes_nothing_lets_the_next_one_write() {
        let group = GroupCommit::new();
        let writing = group.begin(Duration::ZERO).unwrap();
        assert!(group.begin(Duration::from_millis(5)).is_err());
        drop(writing);
        assert!(group.begin(Duration::ZERO).is_ok());
        assert_eq!(group.lock().written, 0);
    }
}
