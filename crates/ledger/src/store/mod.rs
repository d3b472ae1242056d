//! The ledger itself.

use crate::backend::{Access, Backend, Unconfirmed};
use crate::chain::{Content, Head, RecordKind, RulesBody};
use crate::head_file::{HeadFile, Kept};
use crate::history::{self, Charges, Current};
use crate::past::past;
use crate::writing::{append, json};
use crate::{Analyst, Entry, Error, Excess, Forecast, Left, More, Past, Rules, Session, Used, Verified};
use accounting::{Epsilon, Event};
use exact::Rational;
use std::collections::BTreeMap;
use std::fmt;

mod administration;
mod answers;
mod charging;
mod opening;
mod receipts;
#[cfg(test)]
mod tests;

pub use administration::{Administration, LogEntry, Logged};
pub(crate) use charging::Conditions;
pub use opening::Accepted;

/// The name of no analyst.
const NOBODY: &str = "";

/// A budget that outlives the process. See the [crate] for what it promises.
///
/// Any number of stores, in any number of processes, may be open on one ledger. With PostgreSQL, calls block
/// on a runtime of their own: make them where blocking is allowed, not inside an asynchronous task.
pub struct Store {
    backend: Box<dyn Backend>,
    /// The rules it was opened with, which must stay in force.
    demanded: Option<Rules>,
    /// The rules in force when the ledger was last read.
    rules: Rules,
    /// The newest entry that was seen. It must never be gone.
    seen: Head,
    /// The sums after it, if they are known.
    current: Option<Current>,
    /// Where the last verified entry is kept.
    head_file: Option<HeadFile>,
    /// Where the key of receipts is kept.
    keys: receipts::Keys,
    /// What signs receipts and the hash of the first entry, once they are known.
    signing: Option<receipts::Signing>,
}

impl fmt::Debug for Store {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Store({} entries; {})", self.seen.number, self.rules)
    }
}

impl Store {
    /// Ends the transaction: commits what was appended, and only then believes it.
    fn finish(&mut self, appended: Result<Current, Error>) -> Result<u64, Error> {
        let current = match appended {
            Ok(current) => current,
            Err(error) => {
                self.backend.rollback();
                return Err(error);
            }
        };
        if let Err(unconfirmed) = self.backend.commit() {
            self.current = None;
            let unknown = matches!(unconfirmed, Unconfirmed::Unknown(_));
            if !(unknown && self.is_there_for_good(&current.head)) {
                return Err(unconfirmed.into());
            }
        }
        self.seen = current.head.clone();
        self.rules = current.tally.rules().clone();
        self.current = Some(current);
        if let Some(file) = &self.head_file {
            // Only now, so that it never leads. If it cannot be written it lags, and the next charge checks
            // the entries since.
            let _ = file.write(&Kept {
                head: self.seen.clone(),
                wrong: None,
            });
        }
        Ok(self.seen.number)
    }

    /// Whether an entry whose commit was not confirmed is in the ledger all the same, for good: the
    /// connection was lost after the database had it. Seeing it there is not enough. It may not be on disk
    /// yet, or on the standby that the server waits for. So something is written after it, and confirmed:
    /// everything before is then where that is.
    fn is_there_for_good(&mut self, head: &Head) -> bool {
        // The database lets nobody write before the transaction in doubt has ended.
        if self.backend.begin(Access::Write).is_err() {
            return false;
        }
        let written = (|| {
            let there = self.backend.entry(head.number)?;
            let snapshot = self.backend.snapshot()?;
            let (Some(_), Some(snapshot)) = (there.filter(|there| there.hash == head.hash), snapshot) else {
                return Ok(false);
            };
            self.backend.keep_snapshot(&snapshot).map(|()| true)
        })();
        match written {
            Ok(true) => self.backend.commit().is_ok(),
            Ok(false) | Err(_) => {
                self.backend.rollback();
                false
            }
        }
    }

    /// What is kept beside the ledger. Read before a transaction begins, so that it cannot be about an entry
    /// that the transaction does not see.
    fn kept(&self) -> Result<Option<Kept>, Error> {
        match &self.head_file {
            Some(file) => file.read(),
            None => Ok(None),
        }
    }

    /// Inside a transaction: the head that is kept beside the ledger, perhaps by another process, is there.
    fn check_kept(&mut self, kept: Option<&Kept>) -> Result<(), Error> {
        check_marked(kept)?;
        let Some(Kept { head, .. }) = kept else {
            return Ok(());
        };
        let there = self.backend.entry(head.number)?;
        if there.is_none_or(|record| record.hash != head.hash) {
            return Err(Error::Rewound { number: head.number });
        }
        Ok(())
    }

    /// Whether `event` would be admitted now. Nothing is spent.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn fits(&mut self, analyst: &str, event: &Event) -> Result<bool, Error> {
        let analyst = Analyst::named(analyst)?;
        let analyst = analyst.name();
        self.refresh(analyst)?;
        Ok(self
            .current
            .as_ref()
            .is_some_and(|current| current.tally.fits(analyst, event)))
    }

    /// Why `event` would not be admitted now; `None` if it would, or if it is not a matter of how much.
    /// Nothing is spent.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn excess(&mut self, analyst: &str, event: &Event) -> Result<Option<Excess>, Error> {
        let analyst = Analyst::named(analyst)?;
        let analyst = analyst.name();
        self.refresh(analyst)?;
        let current = self.current.as_ref();
        Ok(current.and_then(|current| current.tally.excess(analyst, event)))
    }

    /// How many more charges like this one fit, up to `most`. Nothing is spent.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn forecast(&mut self, analyst: &str, event: &Event, most: u64) -> Result<Forecast, Error> {
        let analyst = Analyst::named(analyst)?;
        self.refresh(analyst.name())?;
        let current = self.current.as_ref().ok_or_else(history::no_entries)?;
        Ok(Forecast::of(&current.tally, analyst.name(), event, most))
    }

    /// How many charges like this one fit, up to `most`. Nothing is spent.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn more(&mut self, analyst: &str, event: &Event, most: u64) -> Result<More, Error> {
        let analyst = Analyst::named(analyst)?;
        self.refresh(analyst.name())?;
        let current = self.current.as_ref().ok_or_else(history::no_entries)?;
        let fits = |event: &Event| current.tally.fits(analyst.name(), event);
        Ok(More::of(event, most, fits))
    }

    /// The same for everybody together, for an analyst who has the share for it.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn more_for_all(&mut self, event: &Event, most: u64) -> Result<More, Error> {
        self.refresh(NOBODY)?;
        let current = self.current.as_ref().ok_or_else(history::no_entries)?;
        Ok(More::of(event, most, |event| current.tally.fits_all(event)))
    }

    /// How much of everybody's budget is used, as the ledger enforces it.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn used(&mut self) -> Result<Used, Error> {
        self.refresh(NOBODY)?;
        let current = self.current.as_ref().ok_or_else(history::no_entries)?;
        Ok(current.tally.used())
    }

    /// The largest ε of one further release by this analyst.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn left(&mut self, analyst: &str) -> Result<Left, Error> {
        let analyst = Analyst::named(analyst)?;
        self.refresh(analyst.name())?;
        let current = self.current.as_ref().ok_or_else(history::no_entries)?;
        Ok(current.tally.left(analyst.name()))
    }

    /// The largest ε of one further release that the budget admits, for an analyst who has the share for it.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn left_for_all(&mut self) -> Result<Epsilon, Error> {
        self.refresh(NOBODY)?;
        let current = self.current.as_ref().ok_or_else(history::no_entries)?;
        Ok(current.tally.left(NOBODY).dataset)
    }

    pub(crate) fn left_when_last_seen(&self, analyst: &Analyst) -> Epsilon {
        let current = self.current.as_ref();
        current.map_or(Epsilon::ZERO, |current| {
            current.tally.left(analyst.name()).epsilon
        })
    }

    /// Whether the rules let this analyst spend anything.
    pub(crate) fn check_listed(&mut self, analyst: &Analyst) -> Result<(), Error> {
        self.refresh(analyst.name())?;
        let current = self.current.as_ref().ok_or_else(history::no_entries)?;
        if current.tally.lists(analyst.name()) {
            return Ok(());
        }
        Err(Error::NoShare {
            analyst: analyst.name().to_owned(),
        })
    }

    /// One question of one analyst, as [`mechanism::Account`] wants it.
    ///
    /// # Errors
    /// When the rules list who may spend and this analyst is not listed, or when the ledger cannot be used.
    pub fn session(&mut self, analyst: &str, question: &str) -> Result<Session<'_>, Error> {
        Session::open(self, analyst, question)
    }

    /// The same for a query whose answer is saved before anybody sees it. If this analyst was charged for the
    /// very same query before and no answer was saved, because the run was interrupted, that charge is used,
    /// and nothing is charged again. `since` is the number of the last entry ([`Store::head`]) when a saved
    /// answer was looked for. If an answer was saved after it, the charge is refused, and the answer is there
    /// to be looked up.
    ///
    /// # Privacy
    /// Claim: everything that is ever shown is paid for.
    /// Proof: noise is drawn once under one charge. The caller of such a session calls
    /// [`Session::begin_drawing`] after all data was read and before the first draw, in a transaction that
    /// refuses a second call. A charge for which that was called is never found here again. So a charge that
    /// is found has drawn nothing, and nothing that was seen of earlier runs (their time, their memory, that
    /// they failed) depends on noise. Work after the draws (whatever the analyst's own SQL does with them)
    /// may take long, fail or be stopped as it depends on them. That shows a part of a release that was paid
    /// for, and the next run pays again, or finds what was saved. A run that fails before it draws shows that
    /// it failed. It may be repeated, and shows the same again. That is no part of any charge, now as before,
    /// and says nothing about one unit because no single unit decides whether a run succeeds.
    ///
    /// # Errors
    /// As [`Store::session`].
    pub fn resumable_session(
        &mut self,
        analyst: &str,
        question: &str,
        since: u64,
    ) -> Result<Session<'_>, Error> {
        Session::open(self, analyst, question).map(|session| session.resuming(since))
    }

    /// Every charge, the oldest first.
    ///
    /// # Errors
    /// When the chain is broken, or the ledger cannot be used.
    pub fn charges(&mut self) -> Result<Vec<Entry>, Error> {
        self.reading(history::charges)
    }

    /// Everything that was so when the entry of this number was the last one; without a number, everything
    /// until now.
    ///
    /// # Errors
    /// When there is no such entry, the chain is broken, or the ledger cannot be used.
    pub fn past(&mut self, until: Option<u64>) -> Result<Past, Error> {
        self.reading(|backend| past(backend, until))
    }

    /// Recomputes every hash and every sum from the first entry on.
    ///
    /// # Errors
    /// The first thing that is wrong: an entry, the kept sums, or an entry that was seen and is gone.
    pub fn verify(&mut self) -> Result<Verified, Error> {
        let kept = self.kept()?;
        self.backend.begin(Access::Read)?;
        let verified = (|| {
            let verified = history::verify(&mut *self.backend)?;
            if let Some(Kept { head, .. }) = &kept {
                self.check_kept(Some(&Kept {
                    head: head.clone(),
                    wrong: None,
                }))?;
            }
            self.check_seen(&verified.head)?;
            Ok(verified)
        })();
        self.backend.rollback();
        // Its head is kept elsewhere, where it must not lead.
        let verified = verified.and_then(|verified| self.backend.settle().map(|()| verified));
        if let (Some(file), Some(kept)) = (&self.head_file, kept) {
            let wrong = match &verified {
                Ok(_) => None,
                Err(Error::Broken { number, .. } | Error::Rewound { number }) => Some(*number),
                Err(_) => kept.wrong,
            };
            // From now on nothing is charged, or it is again. If that cannot be written, each charge still
            // checks what it can.
            if wrong != kept.wrong {
                let _ = file.write(&Kept { wrong, ..kept });
            }
        }
        verified
    }

    /// Checks that the entry which is kept beside the ledger is still in it: an older copy that was put in
    /// its place lacks it.
    ///
    /// # Errors
    /// When it is not there any more, a verification found an entry wrong, or the ledger cannot be used.
    pub fn check_not_rewound(&mut self) -> Result<(), Error> {
        let kept = self.kept()?;
        self.backend.begin(Access::Read)?;
        let checked = self.check_kept(kept.as_ref());
        self.backend.rollback();
        checked
    }

    /// The last entry.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn head(&mut self) -> Result<Head, Error> {
        self.refresh(NOBODY)?;
        Ok(self.seen.clone())
    }

    /// The hash of an entry, to compare with a [`Head`] that was kept elsewhere; `None` when there is no such
    /// entry. It stands for all entries before it only after [`Store::verify`].
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn entry_hash(&mut self, number: u64) -> Result<Option<String>, Error> {
        let record = self.reading(|backend| backend.entry(number))?;
        Ok(record.map(|record| record.hash))
    }

    /// The rules in force when the ledger was last read.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    fn reading<T>(&mut self, work: impl FnOnce(&mut dyn Backend) -> Result<T, Error>) -> Result<T, Error> {
        self.backend.begin(Access::Read)?;
        let result = work(&mut *self.backend);
        self.backend.rollback();
        result
    }

    /// Looks at what others wrote since.
    pub(crate) fn refresh(&mut self, analyst: &str) -> Result<(), Error> {
        self.backend.begin(Access::Read)?;
        let loaded = self.load(analyst);
        self.backend.rollback();
        loaded
    }

    /// Inside a transaction: makes `current` the sums after the last entry, with the filter of this analyst
    /// ready.
    fn load(&mut self, analyst: &str) -> Result<(), Error> {
        let last = self.backend.last()?.ok_or_else(|| Error::Rewound {
            number: self.seen.number,
        })?;
        let known = match &mut self.current {
            Some(current) => current.head == last.head() && current.tally.wake(analyst),
            None => false,
        };
        if known {
            return Ok(());
        }
        self.check_seen(&last.head())?;
        let current = history::load(&mut *self.backend, &last, analyst)?;
        let stored = current.tally.rules().clone();
        self.check_rules(&stored)?;
        self.rules = current.tally.rules().clone();
        self.seen = current.head.clone();
        self.current = Some(current);
        Ok(())
    }

    /// Inside a transaction: the newest entry that was seen must still be there, and what was appended since
    /// must follow it link by link.
    fn check_seen(&mut self, head: &Head) -> Result<(), Error> {
        if *head != self.seen && history::check_since(&mut *self.backend, &self.seen)? != *head {
            return Err(Error::broken(
                head.number,
                "it is not the last entry of the chain",
            ));
        }
        Ok(())
    }

    /// Inside a transaction: the rules in force are those that were given, with the shares that accounts
    /// have.
    fn check_rules(&mut self, stored: &Rules) -> Result<(), Error> {
        let Some(given) = self.demanded.clone().filter(|given| given != stored) else {
            return Ok(());
        };
        if with_shares(&given, self.shares_of_accounts()?) == *stored {
            return Ok(());
        }
        Err(Error::OtherRules {
            stored: Box::new(stored.clone()),
            given: Box::new(given),
        })
    }

    /// Inside a transaction: appends other rules.
    fn change_rules(&mut self, rules: &Rules) -> Result<Current, Error> {
        let replay = history::replay(&mut *self.backend, Charges::AsTheyWere)?;
        if replay.tally.rules() == rules {
            return Ok(Current {
                head: replay.head,
                tally: replay.tally,
            });
        }
        let tally = replay.under(rules)?;
        let body = json(&RulesBody { rules: rules.clone() })?;
        let content = |tally| Content {
            kind: RecordKind::Rules,
            analyst: NOBODY,
            question: "",
            purpose: "",
            body,
            tally,
        };
        let head = append(&mut *self.backend, Some(&replay.head), &tally, content)?;
        Ok(Current { head, tally })
    }
}

/// These rules, with shares of accounts in place of those for the same names.
fn with_shares(rules: &Rules, shares: BTreeMap<String, Option<Rational>>) -> Rules {
    let mut rules = rules.normalised();
    for (name, share) in shares {
        match share {
            Some(share) => rules.shares.insert(name, share),
            None => rules.shares.remove(&name),
        };
    }
    rules
}

/// Whether a verification found it wrong, and none found it right since.
fn check_marked(kept: Option<&Kept>) -> Result<(), Error> {
    match kept.and_then(|kept| kept.wrong) {
        Some(number) => Err(Error::broken(
            number,
            "a verification found it so; once it is mended, `deniable budget verify` must find everything right",
        )),
        None => Ok(()),
    }
}
