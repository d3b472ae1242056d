//! What a ledger keeps beside charges: documents such as accounts, and a log of what happened to them, in the
//! same chain as the charges.

use super::Store;
use crate::backend::Access;
use crate::chain::{Content, LogBody, Record, RecordKind};
use crate::history::{self, Current};
use crate::writing::{check_text, json, now};
use crate::{Analyst, Error, Once, Rules};
use exact::Rational;
use std::collections::BTreeMap;

/// The collection of shares that accounts have.
const SHARES: &str = "share";

/// Something that happened, for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// What happened, by a stable name such as `login`.
    pub what: String,
    /// Who did it.
    pub by: String,
    /// To whom or what; never a secret, and nothing of the data.
    pub about: String,
    /// How often, if one entry stands for several.
    pub times: u64,
}

impl LogEntry {
    /// What happened, who did it, and to whom or what.
    pub fn new(what: impl Into<String>, by: impl Into<String>, about: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            by: by.into(),
            about: about.into(),
            times: 1,
        }
    }
}

/// An entry of the log, as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// The number of the entry in the ledger.
    pub number: u64,
    /// When, in milliseconds since 1970.
    pub time: i64,
    /// What happened.
    pub entry: LogEntry,
}

/// What can be changed in one transaction beside charges: see [`Store::administer`].
pub struct Administration<'a> {
    store: &'a mut Store,
    entries: Vec<LogEntry>,
    shares: Option<Rules>,
}

impl std::fmt::Debug for Administration<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Documents hold hashes of passwords.
        write!(formatter, "Administration({} log entries)", self.entries.len())
    }
}

impl Administration<'_> {
    /// A document by its name.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn document(&mut self, collection: &str, name: &str) -> Result<Option<String>, Error> {
        self.store.backend.document(collection, name)
    }

    /// All documents of a collection, by name.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn documents(&mut self, collection: &str) -> Result<Vec<(String, String)>, Error> {
        self.store.backend.documents(collection)
    }

    /// Keeps a document in place of an earlier one of that name.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn keep(&mut self, collection: &str, name: &str, body: &str) -> Result<(), Error> {
        for text in [collection, name, body] {
            check_text(text)?;
        }
        self.store.backend.keep_document(collection, name, body)
    }

    /// Forgets a document: from now on there is none of that name, or an empty one where the database lets
    /// nobody delete.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn forget(&mut self, collection: &str, name: &str) -> Result<(), Error> {
        self.store.backend.forget_document(collection, name)
    }

    /// The rules in force in this transaction.
    pub fn rules(&self) -> &Rules {
        self.shares.as_ref().unwrap_or(&self.store.rules)
    }

    /// Writes down that something happened. It is in the chain when the transaction is.
    pub fn log(&mut self, entry: LogEntry) {
        self.entries.push(entry);
    }

    /// Gives an analyst a share of the budget, or takes it away. Where anybody has a share, nobody without
    /// one can ask; all that was ever charged counts under the new shares.
    ///
    /// # Errors
    /// When the share is none, or the ledger cannot be used.
    pub fn set_share(&mut self, analyst: &str, share: Option<&Rational>) -> Result<(), Error> {
        let analyst = Analyst::named(analyst)?;
        let mut rules = match self.shares.take() {
            Some(rules) => rules,
            None => self.store.rules.clone(),
        };
        let text = share.map_or_else(String::new, exact::format_decimal);
        self.store.backend.keep_document(SHARES, analyst.name(), &text)?;
        match share {
            Some(share) => rules.shares.insert(analyst.name().to_owned(), share.clone()),
            None => rules.shares.remove(analyst.name()),
        };
        rules.check()?;
        self.shares = Some(rules);
        Ok(())
    }
}

impl Store {
    /// Changes documents and writes the log in one transaction, which excludes all others: all of it is there
    /// afterwards, or nothing.
    ///
    /// # Errors
    /// Whatever the work says, and then nothing has changed; or the ledger cannot be used.
    pub fn administer<T, E: From<Error>>(
        &mut self,
        work: impl FnOnce(&mut Administration<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let kept = self.kept()?;
        self.backend.begin(Access::Write)?;
        if let Err(error) = self
            .check_kept(kept.as_ref())
            .and_then(|()| self.load(super::NOBODY))
        {
            self.backend.rollback();
            return Err(error.into());
        }
        let mut administration = Administration {
            store: self,
            entries: Vec::new(),
            shares: None,
        };
        let done = work(&mut administration);
        let Administration { entries, shares, .. } = administration;
        let done = match done {
            Ok(done) => done,
            Err(error) => {
                self.backend.rollback();
                return Err(error);
            }
        };
        if entries.is_empty() && shares.is_none() {
            self.backend.commit().map_err(Error::from)?;
            return Ok(done);
        }
        let appended = self.append_log(&entries, shares.as_ref());
        self.finish(appended)?;
        Ok(done)
    }

    /// Writes entries of the log, all in one transaction.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn log(&mut self, entries: impl IntoIterator<Item = LogEntry>) -> Result<(), Error> {
        self.administer(|administration| {
            entries.into_iter().for_each(|entry| administration.log(entry));
            Ok(())
        })
    }

    /// A document by its name.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn document(&mut self, collection: &str, name: &str) -> Result<Option<String>, Error> {
        self.reading(|backend| backend.document(collection, name))
    }

    /// All documents of a collection, by name.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn documents(&mut self, collection: &str) -> Result<Vec<(String, String)>, Error> {
        self.reading(|backend| backend.documents(collection))
    }

    /// Checks that a request, if it was charged before, is the same as then.
    ///
    /// # Errors
    /// When its key was used for another request, or the ledger cannot be used.
    pub fn check_request(&mut self, once: &Once) -> Result<(), Error> {
        self.reading(|backend| once.charged(backend).map(|_| ()))
    }

    /// The log, the oldest entry first, every link checked.
    ///
    /// # Errors
    /// When the chain is broken, or the ledger cannot be used.
    pub fn logged(&mut self) -> Result<Vec<Logged>, Error> {
        self.reading(history::logged)
    }

    /// Inside a transaction that has been loaded: appends what happened, and then other shares.
    fn append_log(&mut self, entries: &[LogEntry], shares: Option<&Rules>) -> Result<Current, Error> {
        let last = self.backend.last()?.ok_or_else(history::no_entries)?;
        let mut current = self.current.take().ok_or_else(history::no_entries)?;
        let before = current.head.number;
        for entry in entries {
            for text in [&entry.what, &entry.by, &entry.about] {
                check_text(text)?;
            }
            let content = Content {
                kind: RecordKind::Log,
                analyst: &entry.by,
                question: "",
                purpose: "",
                body: json(&LogBody {
                    what: entry.what.clone(),
                    about: entry.about.clone(),
                    times: entry.times,
                })?,
                tally: last.tally.clone(),
            };
            let record = Record::after(Some(&current.head), now(), content);
            self.backend.append(&record)?;
            current.head = record.head();
        }
        self.backend
            .move_snapshot(before, current.head.number, &current.head.hash)?;
        match shares {
            Some(rules) => self.change_rules(&rules.normalised()),
            None => Ok(current),
        }
    }

    /// Inside a transaction: the shares that accounts have.
    pub(super) fn shares_of_accounts(&mut self) -> Result<BTreeMap<String, Option<Rational>>, Error> {
        let kept = self.backend.documents(SHARES)?;
        kept.into_iter()
            .map(|(name, text)| match text.as_str() {
                "" => Ok((name, None)),
                text => match exact::parse_decimal(text) {
                    Ok(share) => Ok((name, Some(share))),
                    Err(_) => Err(Error::unusable(
                        "the share of an account cannot be read",
                        "perhaps a newer version wrote it: use that one",
                    )),
                },
            })
            .collect()
    }
}
