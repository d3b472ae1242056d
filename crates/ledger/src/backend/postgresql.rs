//! A server that many machines share.

use super::{Access, Backend, PATIENCE, Snapshot, Unconfirmed, statement, stored, unstored};
use crate::chain::Record;
use crate::{Encryption, Error};
use postgres::config::SslMode;
use postgres::error::{Severity, SqlState};
use postgres::types::ToSql;
use postgres::{Client, Config, NoTls, Row, SimpleQueryMessage};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Entries are added, one after the other, and no connection ever changes one.
const TABLES: &str = "
CREATE TABLE deniable_entries (
    number BIGINT PRIMARY KEY,
    previous TEXT NOT NULL,
    time BIGINT NOT NULL,
    kind TEXT NOT NULL,
    analyst TEXT NOT NULL,
    question TEXT NOT NULL,
    purpose TEXT NOT NULL,
    body TEXT NOT NULL,
    tally TEXT NOT NULL,
    hash TEXT NOT NULL
);
CREATE INDEX deniable_answers ON deniable_entries (md5(question), number) WHERE kind = 'answer';
CREATE INDEX deniable_charges ON deniable_entries (md5(question), number) WHERE kind = 'charge';
CREATE TABLE deniable_snapshot (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    number BIGINT NOT NULL,
    hash TEXT NOT NULL,
    tally TEXT NOT NULL
);
CREATE FUNCTION deniable_never_changed() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'entries of a ledger are never changed or deleted'; END $$;
CREATE FUNCTION deniable_only_appended() RETURNS trigger LANGUAGE plpgsql AS
$$
DECLARE newest BIGINT;
BEGIN
    EXECUTE format('SELECT coalesce(max(number), 0) FROM %I.%I', TG_TABLE_SCHEMA, TG_TABLE_NAME) INTO newest;
    IF NEW.number <> newest + 1 THEN
        RAISE EXCEPTION 'entries of a ledger are only appended';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER deniable_never_changed BEFORE UPDATE OR DELETE ON deniable_entries
FOR EACH ROW EXECUTE FUNCTION deniable_never_changed();
CREATE TRIGGER deniable_never_truncated BEFORE TRUNCATE ON deniable_entries
FOR EACH STATEMENT EXECUTE FUNCTION deniable_never_changed();
CREATE TRIGGER deniable_only_appended BEFORE INSERT ON deniable_entries
FOR EACH ROW EXECUTE FUNCTION deniable_only_appended();
";

/// One of these at a time, by a lock that needs no right to change entries. A commit returns after it is on
/// disk whatever the server's default is. A client that stops in the middle does not stop the others for
/// ever.
const ALONE: &str = "
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SET LOCAL synchronous_commit = on;
SET LOCAL lock_timeout = '60s';
SET LOCAL idle_in_transaction_session_timeout = '30s';
";
/// The lock of the ledger in this schema; the first number marks it as ours.
const LOCK_ENTRIES: &str =
    "SELECT pg_advisory_xact_lock(1145392193, 'deniable_entries'::regclass::oid::integer)";
const LOCK_CREATION: &str = "SELECT pg_advisory_xact_lock(1145392193, 0)";

/// Read from the catalog's table. `to_regclass` asks a cache, which in a transaction that waited for a lock
/// still says what was before.
const EXISTS: &str = "SELECT count(*) > 0 FROM pg_catalog.pg_class \
    WHERE relname = $1::text AND relkind = 'r' AND pg_catalog.pg_table_is_visible(oid)";

const MAY_DELETE: &str = "SELECT pg_catalog.has_table_privilege('deniable_documents', 'DELETE')";

/// The index is on a digest, because a question may be longer than an index allows.
const ANSWERS: &str = "SELECT number, previous, time, kind, analyst, question, purpose, body, tally, hash FROM deniable_entries \
    WHERE kind = 'answer' AND md5(question) = md5($1) AND question = $1 ORDER BY number DESC LIMIT $2";

const CHARGES: &str = "SELECT number, previous, time, kind, analyst, question, purpose, body, tally, hash FROM deniable_entries \
    WHERE kind = 'charge' AND md5(question) = md5($1) AND question = $1 ORDER BY number DESC LIMIT $2";

pub(crate) struct Postgres {
    config: Config,
    encryption: Encryption,
    client: Option<Client>,
    /// Between `begin` and its end.
    inside: bool,
    /// Whether the server has warned of something since this was cleared.
    warned: Arc<AtomicBool>,
}

impl Postgres {
    pub(crate) fn connect(address: &str) -> Result<Self, Error> {
        let encryption = Encryption::of(address)?;
        let mut config: Config = address.parse().map_err(|error| unusable(&error))?;
        if let Encryption::Tls(_) = encryption {
            config.ssl_mode(SslMode::Require);
        }
        if config.get_application_name().is_none() {
            config.application_name("deniable ledger");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(10));
        }
        // A server that vanished without a word is given up, and its answer counts as unknown.
        config.tcp_user_timeout(PATIENCE);
        let warned = Arc::new(AtomicBool::new(false));
        let noticed = Arc::clone(&warned);
        config.notice_callback(move |notice| {
            // By its severity as the protocol has it, which no language of messages changes; servers before
            // 9.6 have none.
            let harmless = [Severity::Notice, Severity::Info, Severity::Log, Severity::Debug];
            if notice
                .parsed_severity()
                .is_none_or(|severity| !harmless.contains(&severity))
            {
                noticed.store(true, Ordering::SeqCst);
            }
        });
        let mut database = Self {
            config,
            encryption,
            client: None,
            inside: false,
            warned,
        };
        database.connected()?;
        Ok(database)
    }

    fn connected(&mut self) -> Result<&mut Client, Error> {
        if self.client.as_ref().is_none_or(Client::is_closed) {
            self.client = None;
            self.inside = false;
            let connected = match &self.encryption {
                Encryption::None => self.config.connect(NoTls),
                Encryption::Tls(tls) => self.config.connect(tls.clone()),
            };
            let mut client = connected.map_err(|error| unusable(&error))?;
            check_durability(&mut client)?;
            self.client = Some(client);
        }
        self.client.as_mut().ok_or_else(lost)
    }

    /// The connection on which a transaction is open. A new one would know nothing of it.
    fn open(&mut self) -> Result<&mut Client, Error> {
        match &mut self.client {
            Some(client) if self.inside => Ok(client),
            _ => Err(lost()),
        }
    }

    fn run(&mut self, sql: &str) -> Result<(), Error> {
        self.open()?.batch_execute(sql).map_err(|error| unusable(&error))
    }

    fn records(&mut self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Record>, Error> {
        let rows = self
            .open()?
            .query(sql, values)
            .map_err(|error| unusable(&error))?;
        rows.iter()
            .map(|row| read(row).map_err(|error| unusable(&error)))
            .collect()
    }

    /// Whether there is a table of this name. (Names of tables are of a type of their own in PostgreSQL, so
    /// the parameter is cast.)
    fn has(&mut self, table: &str) -> Result<bool, Error> {
        let row = self
            .open()?
            .query_one(EXISTS, &[&table])
            .map_err(|error| unusable(&error))?;
        row.try_get(0).map_err(|error| unusable(&error))
    }

    fn write(&mut self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<(), Error> {
        self.open()?
            .execute(sql, values)
            .map_err(|error| unusable(&error))?;
        Ok(())
    }

    fn try_begin(&mut self, access: Access) -> Result<(), Error> {
        let client = self.connected()?;
        let sql = match access {
            Access::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY".to_owned(),
            Access::Write => [ALONE, LOCK_ENTRIES].concat(),
            Access::Create => [ALONE, LOCK_CREATION].concat(),
        };
        let begun = client.batch_execute(&sql).map_err(|error| unusable(&error));
        self.inside = true;
        if begun.is_err() {
            self.rollback();
        }
        begun
    }
}

/// A server that does not write to disk would forget charges.
fn check_durability(client: &mut Client) -> Result<(), Error> {
    let messages = client
        .simple_query("SHOW fsync")
        .map_err(|error| unusable(&error))?;
    let on = messages
        .iter()
        .any(|message| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some("on")));
    if on {
        return Ok(());
    }
    Err(Error::unusable(
        "the PostgreSQL server runs with fsync = off, so it may forget what was charged",
        "set fsync = on in the server's configuration",
    ))
}

fn lost() -> Error {
    Error::unusable(
        "the connection to PostgreSQL was lost",
        "check that the server runs, and try again",
    )
}

/// Whether the server ends the connection with it: by an operator, a crash or a failure of its own, perhaps
/// after it committed.
fn ends_the_connection(code: &SqlState) -> bool {
    ["08", "57", "58", "XX"]
        .iter()
        .any(|class| code.code().starts_with(class))
}

/// The code of the failure, and nothing of what the server says about it: that may quote the statement, or
/// the address.
fn unusable(error: &postgres::Error) -> Error {
    match error.code() {
        Some(code) if *code == SqlState::DISK_FULL => Error::NoRoom {
            what: format!("PostgreSQL reports the error {}: its disk is full", code.code()),
        },
        Some(code) => Error::unusable(
            format!("PostgreSQL reports the error {}", code.code()),
            match code.code() {
                "28P01" | "28000" => "check the user and the password",
                "3D000" => "create the database first",
                "42501" => {
                    "grant the user SELECT and INSERT on deniable_entries, and UPDATE too on deniable_snapshot and deniable_documents"
                }
                "25006" => {
                    "this server is a standby, or lets nobody write: connect to the one that is written to"
                }
                "53300" | "57P01" | "57P02" | "57P03" => {
                    "the server takes no connections now, starts or stops: try again when it is back"
                }
                "55P03" => "another process held the ledger for a minute; see what it does, and try again",
                _ => "look the code up in appendix A of the PostgreSQL manual, and see the server's log",
            },
        ),
        None => lost(),
    }
}

fn read(row: &Row) -> Result<Record, postgres::Error> {
    Ok(Record {
        number: unstored(row.try_get(0)?),
        previous: row.try_get(1)?,
        time: row.try_get(2)?,
        kind: row.try_get(3)?,
        analyst: row.try_get(4)?,
        question: row.try_get(5)?,
        purpose: row.try_get(6)?,
        body: row.try_get(7)?,
        tally: row.try_get(8)?,
        hash: row.try_get(9)?,
    })
}

impl Backend for Postgres {
    fn begin(&mut self, access: Access) -> Result<(), Error> {
        // A transaction that was left open by a panic is not continued.
        if self.inside {
            self.client = None;
        }
        let reused = self.client.is_some();
        let begun = self.try_begin(access);
        // The server may have been started anew since; nothing was done yet, so nothing is done twice.
        if begun.is_err() && reused && self.client.as_ref().is_none_or(Client::is_closed) {
            return self.try_begin(access);
        }
        begun
    }

    fn commit(&mut self) -> Result<(), Unconfirmed> {
        self.warned.store(false, Ordering::SeqCst);
        let committed = match self.open() {
            Ok(client) => client.batch_execute("COMMIT"),
            Err(lost) => return Err(Unconfirmed::Undone(lost)),
        };
        self.inside = false;
        // If somebody cancels a commit that waits for a synchronous standby, it succeeds, with a warning that
        // the standby may lack it: after a failover it would be gone.
        if committed.is_ok() && self.warned.load(Ordering::SeqCst) {
            return Err(Unconfirmed::Unknown(Error::unusable(
                "PostgreSQL committed with a warning, so its standby may lack what was committed",
                "see the server's log: a synchronous standby has to be there again, or to be taken out of synchronous_standby_names",
            )));
        }
        committed.map_err(|error| {
            self.client = None;
            match error.code() {
                // The server lives, and says that it did not commit.
                Some(code) if !ends_the_connection(code) => Unconfirmed::Undone(unusable(&error)),
                _ => Unconfirmed::Unknown(unusable(&error)),
            }
        })
    }

    fn rollback(&mut self) {
        if self.run("ROLLBACK").is_err() {
            self.client = None;
        }
        self.inside = false;
    }

    fn exists(&mut self) -> Result<bool, Error> {
        self.has("deniable_entries")
    }

    fn create(&mut self) -> Result<(), Error> {
        self.run(TABLES)
    }

    fn last(&mut self) -> Result<Option<Record>, Error> {
        Ok(self.records(statement::LAST, &[])?.pop())
    }

    fn entry(&mut self, number: u64) -> Result<Option<Record>, Error> {
        Ok(self.records(statement::ENTRY, &[&stored(number)?])?.pop())
    }

    fn entries_after(&mut self, number: u64, most: u32) -> Result<Vec<Record>, Error> {
        self.records(statement::ENTRIES_AFTER, &[&stored(number)?, &i64::from(most)])
    }

    fn answers(&mut self, question: &str, most: u32) -> Result<Vec<Record>, Error> {
        self.records(ANSWERS, &[&question, &i64::from(most)])
    }

    fn charges(&mut self, question: &str, most: u32) -> Result<Vec<Record>, Error> {
        self.records(CHARGES, &[&question, &i64::from(most)])
    }

    fn append(&mut self, record: &Record) -> Result<(), Error> {
        let number = stored(record.number)?;
        self.write(
            statement::APPEND,
            &[
                &number,
                &record.previous,
                &record.time,
                &record.kind,
                &record.analyst,
                &record.question,
                &record.purpose,
                &record.body,
                &record.tally,
                &record.hash,
            ],
        )
    }

    fn snapshot(&mut self) -> Result<Option<Snapshot>, Error> {
        let row = self
            .open()?
            .query_opt(statement::SNAPSHOT, &[])
            .map_err(|error| unusable(&error))?;
        let read = |row: Row| {
            Ok(Snapshot {
                number: unstored(row.try_get(0)?),
                hash: row.try_get(1)?,
                tally: row.try_get(2)?,
            })
        };
        row.map(read)
            .transpose()
            .map_err(|error: postgres::Error| unusable(&error))
    }

    fn keep_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        let number = stored(snapshot.number)?;
        self.write(
            statement::KEEP_SNAPSHOT,
            &[&number, &snapshot.hash, &snapshot.tally],
        )
    }

    fn move_snapshot(&mut self, from: u64, number: u64, hash: &str) -> Result<(), Error> {
        let (from, number) = (stored(from)?, stored(number)?);
        self.write(statement::MOVE_SNAPSHOT, &[&number, &hash, &from])
    }

    fn charges_since(&mut self, analyst: &str, time: i64) -> Result<Vec<Record>, Error> {
        self.records(statement::CHARGES_SINCE, &[&analyst, &time])
    }

    fn create_documents(&mut self) -> Result<(), Error> {
        // Once it is there, a role that charges does not need the right to make tables.
        match self.has("deniable_documents")? {
            true => Ok(()),
            false => self.run(statement::CREATE_DOCUMENTS),
        }
    }

    fn document(&mut self, collection: &str, name: &str) -> Result<Option<String>, Error> {
        if !self.has("deniable_documents")? {
            return Ok(None);
        }
        let row = self
            .open()?
            .query_opt(statement::DOCUMENT, &[&collection, &name])
            .map_err(|error| unusable(&error))?;
        row.map(|row| row.try_get(0))
            .transpose()
            .map_err(|error| unusable(&error))
    }

    fn documents(&mut self, collection: &str) -> Result<Vec<(String, String)>, Error> {
        if !self.has("deniable_documents")? {
            return Ok(Vec::new());
        }
        let rows = self
            .open()?
            .query(statement::DOCUMENTS, &[&collection])
            .map_err(|error| unusable(&error))?;
        rows.iter()
            .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
            .collect::<Result<_, postgres::Error>>()
            .map_err(|error| unusable(&error))
    }

    fn keep_document(&mut self, collection: &str, name: &str, body: &str) -> Result<(), Error> {
        self.create_documents()?;
        self.write(statement::KEEP_DOCUMENT, &[&collection, &name, &body])
    }

    fn forget_document(&mut self, collection: &str, name: &str) -> Result<(), Error> {
        self.create_documents()?;
        // Servers of an earlier version were told to grant no more than is needed to change documents.
        let row = self
            .open()?
            .query_one(MAY_DELETE, &[])
            .map_err(|error| unusable(&error))?;
        match row.try_get(0).map_err(|error| unusable(&error))? {
            true => self.write(statement::FORGET_DOCUMENT, &[&collection, &name]),
            false => self.write(statement::KEEP_DOCUMENT, &[&collection, &name, &""]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of this connection, inside a transaction that appends.
    fn setting(database: &mut Postgres, name: &str) -> String {
        let rows = database
            .open()
            .unwrap()
            .query(&format!("SHOW {name}"), &[])
            .unwrap();
        rows[0].get(0)
    }

    #[test]
    fn a_commit_waits_for_the_disk_whatever_the_default() {
        let address = std::env::var("DENIABLE_TEST_POSTGRES").unwrap_or_else(|_| {
            panic!(
                "this test needs a PostgreSQL server\nhint: run the tests as `scripts/with-postgres cargo nextest run …`"
            )
        });
        let careless = format!(
            "{address}?options=-csynchronous_commit%3Doff%20-cdefault_transaction_isolation%3Dserializable"
        );
        let mut database = Postgres::connect(&careless).unwrap();
        database.begin(Access::Create).unwrap();
        assert_eq!(setting(&mut database, "synchronous_commit"), "on");
        assert_eq!(setting(&mut database, "transaction_isolation"), "read committed");
        database.rollback();
        database.begin(Access::Read).unwrap();
        assert_eq!(setting(&mut database, "synchronous_commit"), "off");
        assert_eq!(setting(&mut database, "transaction_isolation"), "repeatable read");
    }
}
