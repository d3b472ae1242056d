//! Places for ledgers under test: fresh ones, gone afterwards.
#![allow(dead_code, reason = "each test program uses a part of it")]

use accounting::{Budget, Delta, Epsilon, Event, Guarantee, Neighbors, PrivacyUnit, Promise};
use ledger::{Place, Rules, Temporary};
use mechanism::Charge;
use postgres::{Client, NoTls};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// A place that nobody else knows.
pub(crate) enum Fresh {
    File {
        place: Place,
        directory: TempDir,
    },
    Temporary {
        place: Place,
        file: PathBuf,
    },
    Schema {
        place: Place,
        address: String,
        schema: String,
    },
}

impl Fresh {
    pub(crate) fn place(&self) -> &Place {
        match self {
            Self::File { place, .. } | Self::Temporary { place, .. } | Self::Schema { place, .. } => place,
        }
    }

    /// The owner of the file, or none if it is no file.
    fn file(&self) -> Option<rusqlite::Connection> {
        let path = match self {
            Self::File { directory, .. } => directory.path().join("ledger.db"),
            Self::Temporary { file, .. } => file.clone(),
            Self::Schema { .. } => return None,
        };
        Some(rusqlite::Connection::open(path).unwrap())
    }

    /// Does to the database what nobody should: the SQL runs with all triggers off.
    pub(crate) fn tamper(&self, sql: &str) {
        match self.file() {
            Some(connection) => {
                let drop = "DROP TRIGGER IF EXISTS deniable_never_updated; DROP TRIGGER IF EXISTS deniable_never_deleted;
                    DROP TRIGGER IF EXISTS deniable_only_appended;";
                connection.execute_batch(drop).unwrap();
                connection.execute_batch(sql).unwrap();
            }
            None => self
                .as_owner(&format!("SET session_replication_role = replica; {sql}"))
                .unwrap(),
        }
    }

    /// Runs SQL as the owner of the database, triggers included; the error is what the database says.
    pub(crate) fn as_owner(&self, sql: &str) -> Result<(), String> {
        if let Some(connection) = self.file() {
            return connection.execute_batch(sql).map_err(|error| error.to_string());
        }
        match self {
            Self::File { .. } | Self::Temporary { .. } => unreachable!("they are files"),
            Self::Schema { address, schema, .. } => {
                let mut client = Client::connect(address, NoTls).unwrap();
                client
                    .batch_execute(&format!("SET search_path = {schema}"))
                    .unwrap();
                client
                    .batch_execute(sql)
                    .map_err(|error| match error.as_db_error() {
                        Some(error) => error.message().to_owned(),
                        None => error.to_string(),
                    })
            }
        }
    }

    /// One text from the database.
    pub(crate) fn text(&self, sql: &str) -> String {
        if let Some(connection) = self.file() {
            return connection.query_row(sql, [], |row| row.get(0)).unwrap();
        }
        match self {
            Self::File { .. } | Self::Temporary { .. } => unreachable!("they are files"),
            Self::Schema { address, schema, .. } => {
                let mut client = Client::connect(address, NoTls).unwrap();
                client
                    .batch_execute(&format!("SET search_path = {schema}"))
                    .unwrap();
                client.query_one(sql, &[]).unwrap().get(0)
            }
        }
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if let Self::Schema { address, schema, .. } = self
            && let Ok(mut client) = Client::connect(address, NoTls)
        {
            let _ = client.batch_execute(&format!("DROP SCHEMA {schema} CASCADE"));
        }
    }
}

/// A file in a directory of its own.
pub(crate) fn sqlite() -> Fresh {
    let directory = tempfile::tempdir().unwrap();
    Fresh::File {
        place: Place::File(directory.path().join("ledger.db")),
        directory,
    }
}

/// One that is gone with the process.
pub(crate) fn temporary() -> Fresh {
    let place = Temporary::new().unwrap();
    Fresh::Temporary {
        file: place.folder().join("ledger.db"),
        place: Place::Temporary(place),
    }
}

/// A schema of its own in the database that the tests were given.
pub(crate) fn postgres() -> Fresh {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let Ok(address) = std::env::var("DENIABLE_TEST_POSTGRES") else {
        panic!(
            "this test needs a PostgreSQL server, and DENIABLE_TEST_POSTGRES does not name one\nhint: run the tests as `scripts/with-postgres cargo nextest run …`"
        );
    };
    let schema = format!(
        "test_{}_{}",
        std::process::id(),
        COUNTER.fetch_add(1, Ordering::Relaxed)
    );
    let mut client = Client::connect(&address, NoTls).expect("the server of DENIABLE_TEST_POSTGRES answers");
    client
        .batch_execute(&format!(
            "DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}"
        ))
        .unwrap();
    let separator = if address.contains('?') { '&' } else { '?' };
    Fresh::Schema {
        place: Place::Postgres(format!("{address}{separator}options=-csearch_path%3D{schema}")),
        address,
        schema,
    }
}

/// The same tests for both.
#[macro_export]
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[test] fn $name() { super::$name(&super::places::sqlite()) })*
        }
        mod on_postgres {
            $(#[test] fn $name() { super::$name(&super::places::postgres()) })*
        }
    };
}

pub(crate) fn person() -> PrivacyUnit {
    PrivacyUnit::new("person", Neighbors::AddRemove)
}

pub(crate) fn epsilon(text: &str) -> Epsilon {
    Epsilon::parse(text).unwrap()
}

pub(crate) fn delta(text: &str) -> Delta {
    Delta::parse(text).unwrap()
}

/// A budget of ε alone.
pub(crate) fn pure_rules(text: &str) -> Rules {
    Rules::new(Budget::new(Promise::Pure(epsilon(text)), person()))
}

/// A budget of ε and δ = 1e-6, of which a tenth is set aside.
pub(crate) fn approximate_rules(text: &str) -> Rules {
    let limit = Promise::Approximate(epsilon(text), delta("1e-6"));
    let mut rules = Rules::new(Budget::new(limit, person()));
    rules.reserve = delta("1e-7");
    rules
}

pub(crate) fn pure(text: &str) -> Event {
    Event::Pure {
        epsilon: epsilon(text),
    }
}

/// A charge for any event.
pub(crate) fn charge(event: Event) -> Charge {
    let promise = event.promise(&delta("0.01")).unwrap();
    Charge {
        event,
        guarantee: Guarantee::new(promise, person()),
        purpose: "a test".to_owned(),
    }
}

/// The same tests for both, and for a ledger that is gone with the process.
#[macro_export]
macro_rules! everywhere {
    ($($name:ident),* $(,)?) => {
        on_both!($($name),*);
        mod on_temporary {
            $(#[test] fn $name() { super::$name(&super::places::temporary()) })*
        }
    };
}
