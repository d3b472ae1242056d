//! One file.

use super::group_commit::{Writing, log_of};
use super::look::{Found, Kept, Turn};
use super::{Access, Backend, PATIENCE, Snapshot, Unconfirmed, statement, stored, unstored};
use crate::chain::Record;
use crate::{Error, Temporary};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, ffi, params};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Entries are added, one after the other, and never changed. The trigger on insertion also stops
/// `INSERT OR REPLACE`, which deletes without asking the one on deletion.
const TABLES: &str = "
CREATE TABLE deniable_entries (
    number INTEGER PRIMARY KEY,
    previous TEXT NOT NULL,
    time INTEGER NOT NULL,
    kind TEXT NOT NULL,
    analyst TEXT NOT NULL,
    question TEXT NOT NULL,
    purpose TEXT NOT NULL,
    body TEXT NOT NULL,
    tally TEXT NOT NULL,
    hash TEXT NOT NULL
) STRICT;
CREATE INDEX deniable_answers ON deniable_entries (question, number) WHERE kind = 'answer';
CREATE INDEX deniable_charges ON deniable_entries (question, number) WHERE kind = 'charge';
CREATE TABLE deniable_snapshot (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    number INTEGER NOT NULL,
    hash TEXT NOT NULL,
    tally TEXT NOT NULL
) STRICT;
CREATE TRIGGER deniable_never_updated BEFORE UPDATE ON deniable_entries
BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never changed'); END;
CREATE TRIGGER deniable_never_deleted BEFORE DELETE ON deniable_entries
BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never deleted'); END;
CREATE TRIGGER deniable_only_appended BEFORE INSERT ON deniable_entries
WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM deniable_entries)
BEGIN SELECT RAISE(ABORT, 'entries of a ledger are only appended'); END;
";

pub(crate) struct Sqlite {
    connection: Connection,
    /// While a transaction may write.
    writing: Option<Writing>,
    log: PathBuf,
    /// Dropped after the connection.
    kept: Kept,
    /// What keeps the folder of a temporary ledger, which waits for no disk. Dropped last.
    temporary: Option<Temporary>,
}

impl Sqlite {
    /// Opens a ledger, or makes it; `None` when there is none and none is to be made. What is no ledger is
    /// not changed.
    pub(crate) fn open(path: &Path, make: bool) -> Result<Option<Self>, Error> {
        let turn = Turn::take();
        let found = turn.look(path)?;
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        match found {
            Found::Ledger | Found::Logged => {}
            Found::Nothing | Found::Empty if make => flags |= OpenFlags::SQLITE_OPEN_CREATE,
            Found::Other if make => return Err(something_else()),
            Found::Nothing | Found::Empty | Found::Other => return Ok(None),
        }
        let first = turn.is_first(path);
        let connection = Connection::open_with_flags(path, flags).map_err(|error| unusable(&error))?;
        let file = Self {
            connection,
            writing: None,
            log: log_of(path),
            kept: turn.opened(path),
            temporary: None,
        };
        file.connection
            .busy_timeout(PATIENCE)
            .map_err(|error| unusable(&error))?;
        if found == Found::Logged && !file.has_a_ledger_in_its_log(make)? {
            return Ok(None);
        }
        prepare(&file.connection)?;
        if first {
            file.write_the_log_to_the_file();
        }
        Ok(Some(file))
    }

    /// If a sync of another process failed, what it left in the log may never have reached the disk, and what
    /// this one appends after it would be lost with it. Written to the file, it is written anew. If there is
    /// no room for that, or others read, it stays where it is.
    fn write_the_log_to_the_file(&self) {
        if self.log.metadata().is_ok_and(|log| log.len() > 0) {
            let _ = self
                .connection
                .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
    }

    /// Opens a ledger that is gone with the process, or makes it.
    pub(crate) fn open_temporary(place: &Temporary, make: bool) -> Result<Option<Self>, Error> {
        let again = place.was_made();
        let Some(mut file) = Self::open(&place.file(), make && !again)? else {
            return match again {
                false => Ok(None),
                true => Err(Error::unusable(
                    "its temporary file is gone",
                    "ask nothing more about these rows: what was spent on them is not known any more. For rows that are asked later, name a file for the ledger before the first question",
                )),
            };
        };
        if make {
            place.is_made();
        }
        file.connection
            .execute_batch("PRAGMA synchronous = OFF;")
            .map_err(|error| unusable(&error))?;
        file.temporary = Some(place.clone());
        Ok(Some(file))
    }

    /// Whether the log holds a ledger, or nothing if one is to be made. If not, what the log holds is not
    /// written to the file by closing it.
    fn has_a_ledger_in_its_log(&self, make: bool) -> Result<bool, Error> {
        let leave = |leave| {
            self.connection
                .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leave)
                .map_err(|error| unusable(&error))
        };
        leave(true)?;
        let ours = self.tables("name = 'deniable_entries'")? > 0;
        let empty = self.tables("true")? == 0;
        if !ours && !empty && make {
            return Err(something_else());
        }
        let usable = ours || empty && make;
        if usable {
            leave(false)?;
        }
        Ok(usable)
    }
}

fn something_else() -> Error {
    Error::unusable(
        "the file is a database of something else",
        "a ledger needs a file of its own. If there was a ledger at this path, release nothing, and put it back; if there never was one, name a path where nothing is",
    )
}

/// Readers do not stop writers, and SQLite keeps the order in which things reach the disk. `group_commit`
/// makes a commit wait for the disk, on every system.
fn prepare(connection: &Connection) -> Result<(), Error> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        // The first change to a log beside the file does not wait for others who do the same.
        let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match mode {
            Ok(mode) if mode == "wal" => break,
            Ok(_) => {
                return Err(Error::unusable(
                    "the file cannot have a write-ahead log",
                    "keep the ledger on a local disk, in a directory that can be written",
                ));
            }
            Err(error) if is_busy(&error) && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(10));
            }
            Err(error) => return Err(unusable(&error)),
        }
    }
    connection
        .execute_batch("PRAGMA synchronous = NORMAL; PRAGMA fullfsync = ON; PRAGMA trusted_schema = OFF;")
        .map_err(|error| unusable(&error))
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// Whether the disk did not take a write. Linux reports a quota, and a limit on the size of files, otherwise
/// than a full disk.
fn has_no_room(failure: &ffi::Error) -> bool {
    failure.code == ErrorCode::DiskFull
        || matches!(
            failure.extended_code,
            ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE
        )
}

/// Whether a commit failed before the log had the frame that completes it, so that no recovery finds it.
/// After that frame comes the index of the log, which may lack room too.
fn left_the_log_incomplete(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqliteFailure(failure, _)
        if failure.code == ErrorCode::DiskFull || failure.extended_code == ffi::SQLITE_IOERR_WRITE)
}

/// If its outcome is unknown, the error does not say that nothing was charged.
fn in_doubt(error: Error) -> Error {
    match error {
        Error::NoRoom { what } => Error::unusable(what, "make room where it is kept"),
        error => error,
    }
}

/// What SQLite calls the failure, and nothing of what was in the statement.
pub(super) fn unusable(error: &rusqlite::Error) -> Error {
    let (what, hint) = match error {
        rusqlite::Error::SqliteFailure(failure, _) if has_no_room(failure) => {
            return Error::NoRoom {
                what: format!("SQLite reports: {failure}"),
            };
        }
        rusqlite::Error::SqliteFailure(failure, _) => {
            let hint = match failure.code {
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                    "another process held the ledger for a minute; see what it does, and try again"
                }
                ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly => {
                    "check that the directory exists, that you may write to it and to the file, and that there is room"
                }
                ErrorCode::NotADatabase => {
                    "this is no ledger. If there was one at this path, release nothing, and find out who wrote to the file"
                }
                ErrorCode::DatabaseCorrupt => {
                    "release nothing, and keep the file, and what lies beside it, as they are: they hold what was charged. Check the disk and its file system, and try again. An older copy in its place forgets what was charged since: it is refused, and no way to go on"
                }
                _ => {
                    "check the disk, and that there is room on it, and try again; this does not mean that the ledger is damaged"
                }
            };
            (format!("SQLite reports: {failure}"), hint)
        }
        _ => (
            "a field is not of the kind that a ledger writes".to_owned(),
            "release nothing: this is no ledger, or somebody wrote to it; find out who",
        ),
    };
    Error::unusable(what, hint)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        number: unstored(row.get(0)?),
        previous: row.get(1)?,
        time: row.get(2)?,
        kind: row.get(3)?,
        analyst: row.get(4)?,
        question: row.get(5)?,
        purpose: row.get(6)?,
        body: row.get(7)?,
        tally: row.get(8)?,
        hash: row.get(9)?,
    })
}

impl Sqlite {
    fn one(&self, sql: &str, values: impl rusqlite::Params) -> rusqlite::Result<Option<Record>> {
        self.connection
            .prepare_cached(sql)?
            .query_row(values, read)
            .optional()
    }

    fn many(&self, sql: &str, values: impl rusqlite::Params) -> rusqlite::Result<Vec<Record>> {
        self.connection
            .prepare_cached(sql)?
            .query_map(values, read)?
            .collect()
    }

    fn write(&self, sql: &str, values: impl rusqlite::Params) -> Result<(), Error> {
        let mut prepared = self
            .connection
            .prepare_cached(sql)
            .map_err(|error| unusable(&error))?;
        prepared.execute(values).map_err(|error| unusable(&error))?;
        Ok(())
    }

    fn run(&self, sql: &str) -> Result<(), Error> {
        self.connection
            .execute_batch(sql)
            .map_err(|error| unusable(&error))
    }

    fn has_documents(&self) -> Result<bool, Error> {
        Ok(self.tables("name = 'deniable_documents'")? > 0)
    }

    fn tables(&self, named: &str) -> Result<i64, Error> {
        let sql = format!("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND {named}");
        self.connection
            .query_row(&sql, [], |row| row.get(0))
            .map_err(|error| unusable(&error))
    }
}

impl Backend for Sqlite {
    fn begin(&mut self, access: Access) -> Result<(), Error> {
        // A transaction that was left open by a panic is not continued.
        self.writing = None;
        if !self.connection.is_autocommit() {
            self.rollback();
        }
        self.writing = match access {
            Access::Read => None,
            Access::Write | Access::Create => Some(self.kept.together.begin(PATIENCE)?),
        };
        let begun = self.run(match access {
            Access::Read => "BEGIN",
            Access::Write | Access::Create => "BEGIN IMMEDIATE",
        });
        if begun.is_err() {
            self.writing = None;
        }
        begun
    }

    fn commit(&mut self) -> Result<(), Unconfirmed> {
        if let Err(error) = self.connection.execute_batch("COMMIT") {
            self.rollback();
            return Err(match left_the_log_incomplete(&error) {
                true => Unconfirmed::Undone(unusable(&error)),
                false => Unconfirmed::Unknown(in_doubt(unusable(&error))),
            });
        }
        match self.writing.take() {
            Some(writing) if self.temporary.is_none() => self
                .kept
                .together
                .make_durable(writing.written(), &self.log)
                .map_err(Unconfirmed::Unknown),
            Some(_) | None => Ok(()),
        }
    }

    fn settle(&mut self) -> Result<(), Error> {
        if self.temporary.is_some() {
            return Ok(());
        }
        self.kept.together.settle(&self.log)
    }

    fn rollback(&mut self) {
        // Some failures have rolled back already. One that cannot be leaves the transaction open, and the
        // next `begin` refuses.
        let _ = self.connection.execute_batch("ROLLBACK");
        self.writing = None;
    }

    fn exists(&mut self) -> Result<bool, Error> {
        Ok(self.tables("name = 'deniable_entries'")? > 0)
    }

    fn create(&mut self) -> Result<(), Error> {
        if self.tables("true")? > 0 {
            return Err(something_else());
        }
        self.run(TABLES)
    }

    fn last(&mut self) -> Result<Option<Record>, Error> {
        self.one(statement::LAST, []).map_err(|error| unusable(&error))
    }

    fn entry(&mut self, number: u64) -> Result<Option<Record>, Error> {
        let number = stored(number)?;
        self.one(statement::ENTRY, [number])
            .map_err(|error| unusable(&error))
    }

    fn entries_after(&mut self, number: u64, most: u32) -> Result<Vec<Record>, Error> {
        let number = stored(number)?;
        self.many(statement::ENTRIES_AFTER, params![number, most])
            .map_err(|error| unusable(&error))
    }

    fn answers(&mut self, question: &str, most: u32) -> Result<Vec<Record>, Error> {
        self.many(statement::ANSWERS, params![question, most])
            .map_err(|error| unusable(&error))
    }

    fn charges(&mut self, question: &str, most: u32) -> Result<Vec<Record>, Error> {
        self.many(statement::CHARGES, params![question, most])
            .map_err(|error| unusable(&error))
    }

    fn append(&mut self, record: &Record) -> Result<(), Error> {
        let number = stored(record.number)?;
        self.write(
            statement::APPEND,
            params![
                number,
                record.previous,
                record.time,
                record.kind,
                record.analyst,
                record.question,
                record.purpose,
                record.body,
                record.tally,
                record.hash
            ],
        )
    }

    fn snapshot(&mut self) -> Result<Option<Snapshot>, Error> {
        let read = |row: &Row<'_>| {
            Ok(Snapshot {
                number: unstored(row.get(0)?),
                hash: row.get(1)?,
                tally: row.get(2)?,
            })
        };
        let mut prepared = self
            .connection
            .prepare_cached(statement::SNAPSHOT)
            .map_err(|error| unusable(&error))?;
        prepared
            .query_row([], read)
            .optional()
            .map_err(|error| unusable(&error))
    }

    fn keep_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        let number = stored(snapshot.number)?;
        self.write(
            statement::KEEP_SNAPSHOT,
            params![number, snapshot.hash, snapshot.tally],
        )
    }

    fn move_snapshot(&mut self, from: u64, number: u64, hash: &str) -> Result<(), Error> {
        let (from, number) = (stored(from)?, stored(number)?);
        self.write(statement::MOVE_SNAPSHOT, params![number, hash, from])
    }

    fn charges_since(&mut self, analyst: &str, time: i64) -> Result<Vec<Record>, Error> {
        self.many(statement::CHARGES_SINCE, params![analyst, time])
            .map_err(|error| unusable(&error))
    }

    fn create_documents(&mut self) -> Result<(), Error> {
        match self.has_documents()? {
            true => Ok(()),
            false => self.run(statement::CREATE_DOCUMENTS),
        }
    }

    fn document(&mut self, collection: &str, name: &str) -> Result<Option<String>, Error> {
        if !self.has_documents()? {
            return Ok(None);
        }
        let read = |connection: &Connection| {
            connection
                .prepare_cached(statement::DOCUMENT)?
                .query_row([collection, name], |row| row.get(0))
                .optional()
        };
        read(&self.connection).map_err(|error| unusable(&error))
    }

    fn documents(&mut self, collection: &str) -> Result<Vec<(String, String)>, Error> {
        if !self.has_documents()? {
            return Ok(Vec::new());
        }
        let read = |connection: &Connection| {
            connection
                .prepare_cached(statement::DOCUMENTS)?
                .query_map([collection], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        read(&self.connection).map_err(|error| unusable(&error))
    }

    fn keep_document(&mut self, collection: &str, name: &str, body: &str) -> Result<(), Error> {
        self.create_documents()?;
        self.write(statement::KEEP_DOCUMENT, params![collection, name, body])
    }

    fn forget_document(&mut self, collection: &str, name: &str) -> Result<(), Error> {
        self.create_documents()?;
        self.write(statement::FORGET_DOCUMENT, params![collection, name])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_waits_for_the_disk() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger.db");
        assert!(Sqlite::open(&path, false).unwrap().is_none());
        let file = Sqlite::open(&path, true).unwrap().unwrap();
        let setting = |name: &str| {
            let value = |row: &Row<'_>| row.get::<_, rusqlite::types::Value>(0);
            file.connection
                .query_row(&format!("PRAGMA {name}"), [], value)
                .unwrap()
        };
        assert_eq!(setting("journal_mode"), "wal".to_owned().into());
        // NORMAL: SQLite keeps the order, and a commit waits for the disk by itself.
        assert_eq!(setting("synchronous"), 1.into());
        assert_eq!(setting("fullfsync"), 1.into());
    }

    /// An empty one in a folder of its own.
    fn a_ledger() -> (tempfile::TempDir, PathBuf, Sqlite) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let mut file = Sqlite::open(&path, true).unwrap().unwrap();
        file.begin(Access::Create).unwrap();
        file.create().unwrap();
        file.commit().unwrap();
        (folder, path, file)
    }

    fn record(number: u64) -> Record {
        Record {
            number,
            previous: String::new(),
            time: 0,
            kind: "charge".to_owned(),
            analyst: String::new(),
            question: String::new(),
            purpose: String::new(),
            body: "x".repeat(300),
            tally: String::new(),
            hash: String::new(),
        }
    }

    #[test]
    fn a_temporary_ledger_waits_for_no_disk_and_goes_with_its_last_user() {
        let place = Temporary::new().unwrap();
        let folder = place.folder().to_owned();
        let mut file = Sqlite::open_temporary(&place, true).unwrap().unwrap();
        drop(place);
        file.begin(Access::Create).unwrap();
        file.create().unwrap();
        file.commit().unwrap();
        file.begin(Access::Write).unwrap();
        file.append(&record(1)).unwrap();
        file.commit().unwrap();
        file.settle().unwrap();
        assert_eq!(file.kept.together.bytes_on_disk(), 0);
        assert!(folder.join("ledger.db").exists());
        drop(file);
        assert!(!folder.exists());
    }

    /// A power cut loses what was not synced. At every moment the synced part of the log must hold all that
    /// was confirmed.
    #[test]
    fn what_is_confirmed_survives_a_power_cut() {
        let (folder, path, _first) = a_ledger();
        let (path, folder) = (&path, folder.path());
        thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    let mut file = Sqlite::open(path, false).unwrap().unwrap();
                    for round in 0..12 {
                        file.begin(Access::Write).unwrap();
                        let number = file.last().unwrap().map_or(0, |last| last.number) + 1;
                        file.append(&record(number)).unwrap();
                        file.commit().unwrap();
                        let synced = file.kept.together.bytes_on_disk();
                        let after = folder.join(format!("cut-{thread}-{round}.db"));
                        std::fs::copy(path, &after).unwrap();
                        let log = std::fs::read(log_of(path)).unwrap();
                        std::fs::write(log_of(&after), &log[..synced as usize]).unwrap();
                        let left = Connection::open(&after).unwrap();
                        let last = left.query_row("SELECT max(number) FROM deniable_entries", [], |row| {
                            row.get::<_, i64>(0)
                        });
                        assert!(unstored(last.unwrap()) >= number);
                    }
                });
            }
        });
    }

    /// What the disk lost may look written to the next process that opens the file.
    #[test]
    fn that_the_disk_refused_is_known_to_those_who_open_the_file_later() {
        let (_folder, path, mut first) = a_ledger();
        first.kept.together.let_the_disk_refuse(true);
        first.begin(Access::Write).unwrap();
        first.append(&record(1)).unwrap();
        assert!(first.commit().is_err());
        first.kept.together.let_the_disk_refuse(false);
        drop(first);
        let mut second = Sqlite::open(&path, false).unwrap().unwrap();
        second.begin(Access::Write).unwrap();
        second.append(&record(2)).unwrap();
        assert!(second.commit().is_err());
    }

    #[test]
    fn a_transaction_that_is_left_lets_others_write() {
        let (_folder, path, mut first) = a_ledger();
        first.begin(Access::Write).unwrap();
        drop(first);
        let mut second = Sqlite::open(&path, false).unwrap().unwrap();
        second.begin(Access::Write).unwrap();
        second.append(&record(1)).unwrap();
        second.rollback();
        let mut third = Sqlite::open(&path, false).unwrap().unwrap();
        third.begin(Access::Write).unwrap();
        assert!(third.last().unwrap().is_none());
        third.append(&record(1)).unwrap();
        third.commit().unwrap();
    }

    #[test]
    fn what_has_no_log_on_disk_is_refused() {
        let Err(refusal) = Sqlite::open(Path::new(":memory:"), true) else {
            panic!("a ledger in memory forgets");
        };
        assert!(refusal.to_string().contains("write-ahead log"), "{refusal}");
    }
}
