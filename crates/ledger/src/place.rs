//! Where a ledger is.

use crate::head_file::beside;
use crate::{Error, SigningKey};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use tempfile::TempDir;

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
    /// On a disk of this machine: the locks that keep two processes apart do not work on network file
    /// systems.
    File(PathBuf),
    /// The address of a PostgreSQL database, `postgres://…`.
    ///
    /// The ledger lives in the first schema of the connection's search path; another schema is another
    /// ledger. The connection is encrypted unless it stays on this machine: see
    /// [`Encryption`](crate::Encryption).
    Postgres(String),
    /// The same, and the file on this machine that keeps the last entry that this machine verified, so that
    /// entries that vanish are missed.
    PostgresKeepingHead {
        /// The address.
        address: String,
        /// The file.
        head: PathBuf,
    },
    /// A ledger that is gone with the last who uses it.
    Temporary(Temporary),
}

/// A folder of its own for a ledger about data that are gone with the process too, such as tables in memory.
/// It is removed with the last clone, and with the last [`Store`](crate::Store) that is open on it.
///
/// Everything is charged, chained and verified as in a file. But nothing waits for the disk, and no head is
/// kept beside it. These protect from a power cut and from an older copy, and either ends the budget together
/// with the ledger in any case. Another one for the same rows has a budget of its own for them;
/// [`Place::File`] is for data that are asked again later.
#[derive(Clone)]
pub struct Temporary(Arc<Shared>);

/// What all share who use it.
struct Shared {
    folder: TempDir,
    /// What signs receipts, once somebody asked for one.
    key: OnceLock<Arc<SigningKey>>,
    /// The file was made. If it is not there any more, it is not made again: nothing would be spent.
    made: AtomicBool,
}

impl Temporary {
    /// An empty folder among the temporary files.
    ///
    /// # Errors
    /// When no folder can be made.
    pub fn new() -> Result<Self, Error> {
        let folder = TempDir::with_prefix("deniable-").map_err(|error| {
            Error::unusable(
                format!("no temporary folder can be made: {}", error.kind()),
                "name a file for the ledger, or set TMPDIR to a folder that you may write to",
            )
        })?;
        Ok(Self(Arc::new(Shared {
            folder,
            key: OnceLock::new(),
            made: AtomicBool::new(false),
        })))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.0.folder.path()
    }

    /// What signs receipts as long as the ledger lasts.
    pub(crate) fn key(&self) -> Result<Arc<SigningKey>, Error> {
        if let Some(key) = self.0.key.get() {
            return Ok(Arc::clone(key));
        }
        let fresh = Arc::new(SigningKey::fresh()?);
        Ok(Arc::clone(self.0.key.get_or_init(|| fresh)))
    }

    pub(crate) fn was_made(&self) -> bool {
        self.0.made.load(Ordering::SeqCst)
    }

    pub(crate) fn is_made(&self) {
        self.0.made.store(true, Ordering::SeqCst);
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder().join("ledger.db")
    }
}

impl PartialEq for Temporary {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Temporary {}

impl fmt::Debug for Temporary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Temporary(..)")
    }
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
            Self::Postgres(_) | Self::Temporary(_) => None,
            Self::PostgresKeepingHead { head, .. } => Some(head.clone()),
        }
    }
}

impl Place {
    /// The file that keeps the key of receipts: beside the head, so that each machine that answers has its
    /// own.
    pub fn key_file(&self) -> Option<PathBuf> {
        self.head_file().map(|head| head.with_extension("key"))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::Postgres(_) | Self::PostgresKeepingHead { .. } => {
                formatter.write_str("a PostgreSQL database")
            }
            Self::Temporary(_) => formatter.write_str("a temporary file"),
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "File({path:?})"),
            Self::Postgres(_) | Self::PostgresKeepingHead { .. } => formatter.write_str("Postgres(..)"),
            Self::Temporary(place) => place.fmt(formatter),
        }
    }
}
