//! Answers that were paid for: saved once each, and found again.

use super::{NOBODY, Store};
use crate::analyst::normalised;
use crate::backend::Access;
use crate::chain::{AnswerBody, Content, Record, RecordKind};
use crate::history::{self, Current};
use crate::writing::{json, now, salt};
use crate::{Analyst, Error, StoredAnswer};

/// Stands where an answer would, from the moment when drawing begins: what was drawn under a charge is never
/// drawn again.
pub(super) const DRAWING: &str = "";

impl Store {
    /// Writes down that drawing under this charge begins now.
    pub(crate) fn begin_drawing(
        &mut self,
        receipt_number: u64,
        question: &str,
        analyst: &str,
    ) -> Result<(), Error> {
        self.record_answer(receipt_number, question, analyst, DRAWING)
    }

    /// Keeps the answer that an earlier charge paid for.
    ///
    /// # Errors
    /// When there is no such charge for this question by this analyst, it has an answer, or the ledger cannot
    /// be used.
    pub fn record_answer(
        &mut self,
        receipt_number: u64,
        question: &str,
        analyst: &str,
        answer: &str,
    ) -> Result<(), Error> {
        let analyst = Analyst::named(analyst)?;
        self.backend.begin(Access::Write)?;
        let appended = self.append_answer(receipt_number, question, analyst.name(), answer);
        self.finish(appended)?;
        Ok(())
    }

    fn append_answer(
        &mut self,
        number: u64,
        question: &str,
        analyst: &str,
        answer: &str,
    ) -> Result<Current, Error> {
        let refused = |what: &str| Error::NotAnswerable {
            number,
            what: what.to_owned(),
        };
        self.load(analyst)?;
        let charge = self
            .backend
            .entry(number)?
            .ok_or_else(|| refused("there is none"))?;
        charge.check_itself()?;
        if charge.kind()? != RecordKind::Charge {
            return Err(refused("it is no charge"));
        }
        if charge.question != question || normalised(&charge.analyst) != analyst {
            return Err(refused(
                "it was charged for another question, or to another analyst",
            ));
        }
        for earlier in self.backend.answers(question, u32::MAX)? {
            let earlier: AnswerBody = earlier.body()?;
            // What was drawn is saved after the word that drawing has begun, once.
            let only_begun = earlier.answer == DRAWING && answer != DRAWING;
            if earlier.charge == number && !only_begun {
                return Err(refused("it has an answer, or is being answered"));
            }
        }
        let last = self.backend.last()?.ok_or_else(history::no_entries)?;
        let current = self.current.take().ok_or_else(history::no_entries)?;
        let content = Content {
            kind: RecordKind::Answer,
            analyst,
            question,
            purpose: "",
            body: json(&AnswerBody {
                charge: number,
                answer: answer.to_owned(),
                salt: salt()?,
            })?,
            tally: last.tally,
        };
        let record = Record::after(Some(&current.head), now(), content);
        self.backend.append(&record)?;
        self.backend
            .move_snapshot(current.head.number, record.number, &record.hash)?;
        Ok(Current {
            head: record.head(),
            tally: current.tally,
        })
    }

    /// The newest answer that was kept for this query, whoever asked it.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn stored_answer(&mut self, question: &str) -> Result<Option<StoredAnswer>, Error> {
        // From a ledger that is not what it was nothing is taken, not even an answer.
        let kept = self.kept()?;
        self.backend.begin(Access::Read)?;
        let found = (|| {
            self.check_kept(kept.as_ref())?;
            self.load(NOBODY)?;
            self.backend.answers(question, u32::MAX)
        })();
        self.backend.rollback();
        for record in found? {
            record.check_itself()?;
            let AnswerBody { charge, answer, .. } = record.body()?;
            if answer != DRAWING {
                // The process that saved it may still wait for the disk, and nothing leaves that is not in
                // the ledger for good.
                self.backend.settle()?;
                return Ok(Some(StoredAnswer {
                    number: record.number,
                    time: record.time,
                    analyst: normalised(&record.analyst),
                    answer,
                    charge_number: charge,
                }));
            }
        }
        Ok(None)
    }
}
