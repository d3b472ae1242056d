//! Where entries are kept: the little that differs between a file and a server.

mod group_commit;
mod look;
mod postgresql;
mod sqlite;

use crate::chain::Record;
use crate::writing::in_one_line;
use crate::{Error, Place};
pub(crate) use postgresql::Postgres;
pub(crate) use sqlite::Sqlite;
use std::time::Duration;

/// How long to wait for others before giving up. A charge takes milliseconds, so this is a queue of
/// thousands.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// To read one consistent state.
    Read,
    /// To add an entry; no other transaction does so meanwhile.
    Write,
    /// To make the tables; no other transaction does so meanwhile.
    Create,
}

/// Why a commit was not confirmed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Unconfirmed {
    /// Nothing of the transaction is there, and nothing of it will be.
    Undone(Error),
    /// It may be there or not.
    Unknown(Error),
}

impl From<Unconfirmed> for Error {
    fn from(unconfirmed: Unconfirmed) -> Self {
        match unconfirmed {
            Unconfirmed::Undone(error) => error,
            Unconfirmed::Unknown(error) => Self::unusable(
                format!(
                    "the database did not confirm what was written ({})",
                    in_one_line(&error)
                ),
                "it may or may not be there, and what was charged may count as spent. Ask the same again: a charge that is there and has no answer is used, and not made twice",
            ),
        }
    }
}

/// The sums after an entry, as they are kept.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) number: u64,
    pub(crate) hash: String,
    pub(crate) tally: String,
}

/// Transactions over entries and one snapshot. Everything but `exists` happens inside a transaction.
pub(crate) trait Backend: Send {
    fn begin(&mut self, access: Access) -> Result<(), Error>;
    /// Everything since `begin` lasts as long as the ledger when this is `Ok`, and so does all that was
    /// committed before it: it is on disk, unless the ledger is temporary. The transaction has ended in any
    /// case.
    fn commit(&mut self) -> Result<(), Unconfirmed>;
    /// Waits until whatever this process committed is on disk. Where `commit` lets others see nothing
    /// earlier, there is nothing to wait for.
    fn settle(&mut self) -> Result<(), Error> {
        Ok(())
    }
    /// Forgets everything since `begin`.
    fn rollback(&mut self);
    /// Whether there is a ledger.
    fn exists(&mut self) -> Result<bool, Error>;
    /// Makes an empty one.
    fn create(&mut self) -> Result<(), Error>;
    fn last(&mut self) -> Result<Option<Record>, Error>;
    fn entry(&mut self, number: u64) -> Result<Option<Record>, Error>;
    /// Up to `most` entries after the one with this number, in order.
    fn entries_after(&mut self, number: u64, most: u32) -> Result<Vec<Record>, Error>;
    /// The answers to a question, the newest first.
    fn answers(&mut self, question: &str, most: u32) -> Result<Vec<Record>, Error>;
    /// The charges for a question, the newest first.
    fn charges(&mut self, question: &str, most: u32) -> Result<Vec<Record>, Error>;
    fn append(&mut self, record: &Record) -> Result<(), Error>;
    fn snapshot(&mut self) -> Result<Option<Snapshot>, Error>;
    fn keep_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Error>;
    /// Says of the snapshot that it is also the one after this entry, which changed no sums.
    fn move_snapshot(&mut self, from: u64, number: u64, hash: &str) -> Result<(), Error>;
    /// The charges of an analyst after a moment, in milliseconds since 1970.
    fn charges_since(&mut self, analyst: &str, time: i64) -> Result<Vec<Record>, Error>;
    /// Makes the table of documents, unless it is there. Ledgers of earlier versions have none.
    fn create_documents(&mut self) -> Result<(), Error>;
    /// A document by its name; `None` also if no document was ever kept.
    fn document(&mut self, collection: &str, name: &str) -> Result<Option<String>, Error>;
    /// All documents of a collection with their names, by name.
    fn documents(&mut self, collection: &str) -> Result<Vec<(String, String)>, Error>;
    /// Keeps a document in place of an earlier one of that name.
    fn keep_document(&mut self, collection: &str, name: &str, body: &str) -> Result<(), Error>;
    /// Deletes a document, or empties it where deleting is not allowed.
    fn forget_document(&mut self, collection: &str, name: &str) -> Result<(), Error>;
}

/// Connects; `None` when nothing is to be made and nothing is there.
pub(crate) fn connect(place: &Place, make: bool) -> Result<Option<Box<dyn Backend>>, Error> {
    let boxed = |file: Option<Sqlite>| file.map(|file| Box::new(file) as Box<dyn Backend>);
    Ok(match place {
        Place::File(path) => boxed(Sqlite::open(path, make)?),
        Place::Temporary(place) => boxed(Sqlite::open_temporary(place, make)?),
        Place::Postgres(address) | Place::PostgresKeepingHead { address, .. } => {
            Some(Box::new(Postgres::connect(address)?))
        }
    })
}

/// The statements, which both databases understand.
mod statement {
    macro_rules! columns {
        () => {
            "number, previous, time, kind, analyst, question, purpose, body, tally, hash"
        };
    }

    pub(super) const LAST: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM deniable_entries ORDER BY number DESC LIMIT 1"
    );
    pub(super) const ENTRY: &str = concat!("SELECT ", columns!(), " FROM deniable_entries WHERE number = $1");
    pub(super) const ENTRIES_AFTER: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM deniable_entries WHERE number > $1 ORDER BY number LIMIT $2"
    );
    pub(super) const ANSWERS: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM deniable_entries WHERE kind = 'answer' AND question = $1 ORDER BY number DESC LIMIT $2"
    );
    pub(super) const CHARGES: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM deniable_entries WHERE kind = 'charge' AND question = $1 ORDER BY number DESC LIMIT $2"
    );
    pub(super) const APPEND: &str = concat!(
        "INSERT INTO deniable_entries (",
        columns!(),
        ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
    );
    pub(super) const CHARGES_SINCE: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM deniable_entries WHERE kind = 'charge' AND analyst = $1 AND time > $2 ORDER BY number"
    );
    pub(super) const DOCUMENT: &str =
        "SELECT body FROM deniable_documents WHERE collection = $1 AND name = $2";
    pub(super) const DOCUMENTS: &str =
        "SELECT name, body FROM deniable_documents WHERE collection = $1 ORDER BY name";
    pub(super) const KEEP_DOCUMENT: &str = "INSERT INTO deniable_documents (collection, name, body) VALUES ($1, $2, $3) \
        ON CONFLICT (collection, name) DO UPDATE SET body = excluded.body";
    pub(super) const FORGET_DOCUMENT: &str =
        "DELETE FROM deniable_documents WHERE collection = $1 AND name = $2";
    /// What is kept beside the entries and may change, such as accounts; and what a limit of a day looks up.
    pub(super) const CREATE_DOCUMENTS: &str = "CREATE TABLE deniable_documents (
    collection TEXT NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (collection, name)
);
CREATE INDEX deniable_spending ON deniable_entries (analyst, time) WHERE kind = 'charge';
";
    pub(super) const SNAPSHOT: &str = "SELECT number, hash, tally FROM deniable_snapshot WHERE one = 1";
    pub(super) const KEEP_SNAPSHOT: &str = "INSERT INTO deniable_snapshot (one, number, hash, tally) VALUES (1, $1, $2, $3) \
        ON CONFLICT (one) DO UPDATE SET number = excluded.number, hash = excluded.hash, tally = excluded.tally";
    pub(super) const MOVE_SNAPSHOT: &str =
        "UPDATE deniable_snapshot SET number = $1, hash = $2 WHERE one = 1 AND number = $3";
}

/// A number as databases keep it.
fn stored(number: u64) -> Result<i64, Error> {
    i64::try_from(number).map_err(|_| Error::broken(number, "no ledger has this many entries"))
}

/// A number as it was kept; one that was never kept is that of no entry.
fn unstored(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
