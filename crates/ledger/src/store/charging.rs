//! Charges a query, or finds that it was charged before.

use super::Store;
use super::answers::DRAWING;
use crate::analyst::normalised;
use crate::backend::Access;
use crate::chain::{AnswerBody, ChargeBody, Content, RecordKind};
use crate::history::{self, Current};
use crate::writing::{append, body_of, check_text, in_one_line, now};
use crate::{Analyst, Caps, Error, Once};
use mechanism::{Charge, Receipt, Refusal};
use std::collections::{BTreeMap, BTreeSet};

/// A run that has drawn saves within this many milliseconds, or counts as dead. This decides which run waits
/// for which, and nothing else.
const DRAWING_LASTS: i64 = 3000;

/// What a charge depends on beside the budget and the share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    /// If a charge without a saved answer is used before a new one is made: the last entry that was there
    /// when the asker looked for a saved answer. An answer that came later is theirs, and they are not
    /// charged.
    pub(crate) resumes: Option<u64>,
    /// What the account may spend.
    pub(crate) caps: Caps,
    /// The request, where it is charged once however often it is sent.
    pub(crate) once: Option<Once>,
}

impl Store {
    /// Charges what is about to run to the budget and to the analyst's share, for good. `question` is a
    /// digest by which the answer can be found again.
    ///
    /// # Errors
    /// When the budget or the share does not admit it, and nothing was spent. Also when the database did not
    /// confirm it: then nothing may run, and it may count as spent.
    pub fn charge(&mut self, analyst: &str, question: &str, charge: Charge) -> Result<Receipt, Refusal> {
        self.charge_or_find(analyst, question, charge, &Conditions::default())
    }

    /// The same under conditions. All is decided in one transaction, so that of several who ask the same at
    /// the same time one is charged.
    pub(crate) fn charge_or_find(
        &mut self,
        analyst: &str,
        question: &str,
        charge: Charge,
        conditions: &Conditions,
    ) -> Result<Receipt, Refusal> {
        let refused = |error: Error| match error {
            Error::AnsweredMeanwhile { .. } | Error::BeingAnswered { .. } => {
                Refusal::Elsewhere(in_one_line(&error))
            }
            Error::NoRoom { .. } => Refusal::NoRoom(format!("{error}. Nothing was charged")),
            error => match error.rule() {
                Some(rule) => Refusal::Rule {
                    rule,
                    what: error.to_string(),
                },
                None => Refusal::NotRecorded(in_one_line(&error)),
            },
        };
        let analyst = Analyst::named(analyst).map_err(refused)?;
        let analyst = analyst.name();
        let body = body_of(&charge).map_err(refused)?;
        for text in [analyst, question, &charge.purpose] {
            check_text(text).map_err(refused)?;
        }
        let kept = self.kept().map_err(refused)?;
        self.backend.begin(Access::Write).map_err(refused)?;
        let found = self
            .check_kept(kept.as_ref())
            .and_then(|()| self.charged_before(analyst, question, &charge, conditions));
        let admitted = match found {
            Ok(None) => self.admit(analyst, question, &charge, body, conditions),
            Ok(Some(number)) => {
                self.keep_request(number, conditions).map_err(refused)?;
                return Ok(Receipt { number, charge });
            }
            Err(error) => Err(error),
        };
        let appended = match admitted {
            Ok(Ok(appended)) => Ok(appended),
            Ok(Err(refusal)) => {
                self.backend.rollback();
                return Err(Refusal::Budget(refusal));
            }
            Err(error) => Err(error),
        };
        let number = self.finish(appended).map_err(refused)?;
        Ok(Receipt { number, charge })
    }

    /// Ends the transaction of a request that an earlier charge pays for: its key belongs to that charge from
    /// now on.
    pub(super) fn keep_request(&mut self, number: u64, conditions: &Conditions) -> Result<(), Error> {
        let Some(once) = &conditions.once else {
            self.backend.rollback();
            return Ok(());
        };
        match once.keep(&mut *self.backend, number) {
            Ok(()) => Ok(self.backend.commit()?),
            Err(error) => {
                self.backend.rollback();
                Err(error)
            }
        }
    }

    /// Inside a transaction: an earlier charge that pays for this, and that nothing was drawn under.
    pub(super) fn charged_before(
        &mut self,
        analyst: &str,
        question: &str,
        charge: &Charge,
        conditions: &Conditions,
    ) -> Result<Option<u64>, Error> {
        let found = match conditions.resumes {
            Some(since) => self.unanswered(analyst, question, charge, since)?,
            None => None,
        };
        if let (None, Some(once)) = (found, &conditions.once)
            && let Some(number) = once.charged(&mut *self.backend)?
        {
            // It was charged under this key, and cannot be finished. Whatever the reason, it is not charged
            // again.
            return Err(Error::Lost { charge: number });
        }
        Ok(found)
    }

    /// Inside a transaction: counts, and appends what was admitted.
    pub(super) fn admit(
        &mut self,
        analyst: &str,
        question: &str,
        charge: &Charge,
        body: String,
        conditions: &Conditions,
    ) -> Result<Result<Current, accounting::Error>, Error> {
        self.load(analyst)?;
        conditions.caps.check(&mut *self.backend, analyst, charge)?;
        // Taken away, so that sums of which nobody knows whether they were committed are never used again.
        let mut current = self.current.take().ok_or_else(history::no_entries)?;
        if let Err(refusal) = current
            .tally
            .charge(analyst, &charge.event, charge.guarantee.unit())?
        {
            self.current = Some(current);
            return Ok(Err(refusal));
        }
        let content = |tally| Content {
            kind: RecordKind::Charge,
            analyst,
            question,
            purpose: &charge.purpose,
            body,
            tally,
        };
        let head = append(&mut *self.backend, Some(&current.head), &current.tally, content)?;
        if let Some(once) = &conditions.once {
            once.keep(&mut *self.backend, head.number)?;
        }
        Ok(Ok(Current {
            head,
            tally: current.tally,
        }))
    }

    /// Inside a transaction: the newest charge of exactly this to this analyst for this question, if no
    /// answer was saved for it.
    pub(super) fn unanswered(
        &mut self,
        analyst: &str,
        question: &str,
        charge: &Charge,
        since: u64,
    ) -> Result<Option<u64>, Error> {
        self.load(analyst)?;
        let (mut begun, mut done) = (BTreeMap::new(), BTreeSet::new());
        for record in self.backend.answers(question, u32::MAX)? {
            let AnswerBody { charge, answer, .. } = record.body()?;
            if answer == DRAWING {
                begun.insert(charge, record.time);
                continue;
            }
            if record.number > since {
                return Err(Error::AnsweredMeanwhile { charge });
            }
            done.insert(charge);
        }
        let drawing = |charge: &u64, time: &i64| !done.contains(charge) && now() - *time < DRAWING_LASTS;
        if let Some((charge, _)) = begun.iter().find(|(charge, time)| drawing(charge, time)) {
            return Err(Error::BeingAnswered { charge: *charge });
        }
        for record in self.backend.charges(question, u32::MAX)? {
            record.check_itself()?;
            let ChargeBody { event, guarantee } = record.body()?;
            if normalised(&record.analyst) == analyst
                && event == charge.event
                && guarantee == charge.guarantee
                && !begun.contains_key(&record.number)
                && !done.contains(&record.number)
            {
                return Ok(Some(record.number));
            }
        }
        Ok(None)
    }

    /// The number of a charge that asking this again finishes, for free: this analyst was charged for exactly
    /// this, and no noise was drawn under it yet. Nothing is spent.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn unfinished(
        &mut self,
        analyst: &str,
        question: &str,
        charge: &Charge,
    ) -> Result<Option<u64>, Error> {
        let analyst = Analyst::named(analyst)?;
        self.backend.begin(Access::Read)?;
        let found = self.unanswered(analyst.name(), question, charge, u64::MAX);
        self.backend.rollback();
        match found {
            // Somebody finishes it now.
            Err(Error::BeingAnswered { .. }) => Ok(None),
            found => found,
        }
    }
}
