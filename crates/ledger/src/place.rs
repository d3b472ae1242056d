//! Where a ledger is.

use crate::head_file::beside;
use std::fmt;
use std::path::PathBuf;

/// Where a ledger is: one file, or a PostgreSQL database that many machines share.
///
/// ```
/// use ledger::Place;
///
/// assert_eq!(Place::named("ledger.db"), Place::File("ledger.db".into()));
/// let shared = Place::named("postgres://curator:secret@db.example/health");
/// // An address may carry a password, so it is never printed.
/// assert_eq!(format!("{shared} {shared:?}"), "a PostgreSQL database Postgres(..)");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub enum Place {
    /// A SQLite file.
    ///
    /// On a disk of this machine: the locks that keep two processes apart do not work on network file systems.
    File(PathBuf),
    /// The address of a PostgreSQL database, `postgres://…`.
    ///
    /// The ledger lives in the first schema of the connection's search path; another schema is another ledger. The connection is
    /// encrypted unless it stays on this machine: see [`Encryption`](crate::Encryption).
    Postgres(String),
    /// The same, and the file on this machine that keeps the last entry that this machine verified, so that entries that vanish are missed.
    PostgresKeepingHead {
        /// The address.
        address: String,
        /// The file.
        head: PathBuf,
    },
}

impl Place {
    /// `postgres://…` and `postgresql://…` are databases, everything else is a file.
    pub fn named(text: &str) -> Self {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            Self::Postgres(text.to_owned())
        } else {
            Self::File(text.into())
        }
    }

    /// The file that keeps the last verified entry: beside a file, and where it is stated for a database.
    pub fn head_file(&self) -> Option<PathBuf> {
        match self {
            Self::File(path) => Some(beside(path, ".head")),
            Self::Postgres(_) => None,
            Self::PostgresKeepingHead { head, .. } => Some(head.clone()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::Postgres(_) | Self::PostgresKeepingHead { .. } => {
                formatter.write_str("a PostgreSQL database")
            }
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "File({path:?})"),
            Self::Postgres(_) | Self::PostgresKeepingHead { .. } => formatter.write_str("Postgres(..)"),
        }
    }
}
