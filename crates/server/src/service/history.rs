//! What an account asked before, and the answers.

use super::{Identity, Question, Service};
use crate::accounts::{self, Right};
use crate::failure::{Code, Failure};
use serde::{Deserialize, Serialize};
use sql::Answered;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// Longer questions are not noted for their account's history; those that were paid for are in the ledger all
/// the same.
const LONGEST_NOTED: usize = 16 << 10;
/// The newest questions of an account, as many as its history shows.
const MOST_SHOWN: usize = 500;
/// Significant digits of an ε that people ask with.
const DIGITS: u32 = 6;
/// Requests that are kept so that an answer can be looked up by its number.
const REQUESTS: &str = "question";

/// What was asked under a charge.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptRequest {
    account: String,
    question: Question,
}

/// Queries of an account and their answers, whoever had paid for them.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    time: i64,
    question: Question,
}

/// The notes of one account: a collection of its own, so that its history is read without those of others.
fn notes_of(account: &str) -> String {
    format!("asked by {account}")
}

/// One question of an account.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The number of the charge that paid for the answer.
    pub(crate) charge: u64,
    /// When, in milliseconds since 1970.
    pub(crate) time: i64,
    /// The SQL.
    pub(crate) sql: String,
    /// The ε that it was asked with, if that is known.
    pub(crate) epsilon: Option<String>,
    /// What this account paid for it; `None` if it had been released before.
    pub(crate) cost: Option<String>,
    /// Whether there is an answer.
    pub(crate) answered: bool,
}

/// A saved answer, with the question that it is the answer to.
#[derive(Debug)]
pub(crate) struct Saved {
    pub(crate) question: Question,
    pub(crate) answered: Answered,
    /// The SHA-256 of the charge's entry in the ledger.
    pub(crate) entry: Option<String>,
}

impl Service {
    /// Keeps the query, so that its answer can be looked up by the number of its charge. If this is lost, the
    /// answer is there all the same, and asking again is free.
    pub(super) fn keep_request(&self, charge: u64, who: &Identity, question: &Question) {
        self.journal
            .keep(REQUESTS, charge.to_string(), kept(who, question));
    }

    /// The same as [`Service::ask`], for a page that will open the answer by its number in a moment. The
    /// query is kept before the answer leaves, also if somebody else has paid.
    pub(crate) async fn ask_noted(
        self: &Arc<Self>,
        who: &Identity,
        question: &Question,
        idempotency_key: Option<&str>,
    ) -> Result<Arc<Answered>, Failure> {
        let came = Instant::now();
        let mut outcome = self.answer(who, question, idempotency_key, came).await;
        if let Ok(found) = &outcome.answered
            && let Some(cost) = &found.answer.cost
            && let Err(failure) = self.note(who, question, cost.charge, found.repeated).await
        {
            outcome.answered = Err(failure);
        }
        self.leave(came, outcome).await
    }

    async fn note(
        &self,
        who: &Identity,
        question: &Question,
        charge: u64,
        repeated: bool,
    ) -> Result<(), Failure> {
        let note = Note {
            time: accounts::now(),
            question: question.clone(),
        };
        let note = serde_json::to_string(&note).expect("a question is plain data");
        // A page opens an answer by its number, so a long query that somebody else paid for is refused there,
        // and can be asked by a program.
        let note = (note.len() <= LONGEST_NOTED).then_some(note);
        let (collection, kept) = (notes_of(who.name()), kept(who, question));
        self.on_ledger(move |store| {
            store.administer(|administration| {
                let charge = charge.to_string();
                if !repeated {
                    administration.keep(REQUESTS, &charge, &kept)?;
                }
                if let Some(note) = &note {
                    administration.keep(&collection, &charge, note)?;
                }
                Ok(())
            })
        })
        .await
    }

    /// An answer that this account paid for or was given on a page, by the number of its charge; curators may
    /// look at any ([`Right::ReadAnyAnswer`]). Leaves on the schedule.
    ///
    /// # Errors
    /// When there is none.
    pub async fn saved(&self, who: &Identity, charge: u64) -> Result<Answered, Failure> {
        self.saved_question(who, charge).await.map(|saved| saved.answered)
    }

    /// The signed receipt of an answer that [`Service::saved`] finds.
    ///
    /// # Errors
    /// When there is no such answer, or it could not be signed.
    pub async fn receipt(&self, who: &Identity, charge: u64) -> Result<ledger::Receipt, Failure> {
        let answered = self.saved(who, charge).await?;
        answered.receipt.ok_or_else(unsigned)
    }

    /// The same, with its question.
    pub(crate) async fn saved_question(&self, who: &Identity, charge: u64) -> Result<Saved, Failure> {
        let since = Instant::now();
        let found = self.look_up(who, charge).await;
        self.settings.schedule.hold(since).await;
        found
    }

    async fn look_up(&self, who: &Identity, charge: u64) -> Result<Saved, Failure> {
        self.allow(who, Right::Ask)?;
        let none = || {
            Failure::new(
                Code::NotFound,
                "you have no answer of this number",
                "its number is in the cost of an answer; asking the same again is free",
            )
        };
        let notes = notes_of(who.name());
        let (kept, noted, entry) = self
            .on_ledger(move |store| {
                Ok((
                    store.document(REQUESTS, &charge.to_string())?,
                    store.document(&notes, &charge.to_string())?,
                    store.entry_hash(charge)?,
                ))
            })
            .await?;
        // In the account's own words if it has any.
        let noted = noted.and_then(|body| serde_json::from_str::<Note>(&body).ok());
        let kept = kept.and_then(|body| serde_json::from_str::<KeptRequest>(&body).ok());
        let kept = kept.filter(|kept| kept.account == who.name() || who.may(Right::ReadAnyAnswer));
        let question = noted
            .map(|note| note.question)
            .or(kept.map(|kept| kept.question))
            .ok_or_else(none)?;
        let (dataset, request) = (self.planner(), question.request(who)?);
        let answered = self
            .plan_in_turn(who, async move { dataset.saved(&request).await })
            .await?;
        // After a new version of the data the same words may be another question, with another answer of
        // another charge.
        let answered = answered.filter(|found| {
            found
                .answer
                .cost
                .as_ref()
                .is_none_or(|cost| cost.charge == charge)
        });
        Ok(Saved {
            answered: answered.ok_or_else(none)?,
            question,
            entry,
        })
    }

    /// What this account asked, the newest first: what it paid for through any entrance, and what it was
    /// given again on a page.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub(crate) async fn history(&self, who: &Identity) -> Result<Vec<Asked>, Failure> {
        self.allow(who, Right::Ask)?;
        let name = who.name().to_owned();
        let (charges, notes) = self
            .on_ledger(move |store| {
                let mut charges = store.charges()?;
                charges.retain(|charge| charge.analyst == name);
                Ok((charges, store.documents(&notes_of(&name))?))
            })
            .await?;
        let mut asked: BTreeMap<u64, Asked> = BTreeMap::new();
        for (charge, body) in notes {
            let note: Option<Note> = serde_json::from_str(&body).ok();
            if let (Ok(charge), Some(note)) = (charge.parse(), note) {
                asked.insert(
                    charge,
                    Asked {
                        charge,
                        time: note.time,
                        sql: note.question.sql,
                        epsilon: note.question.epsilon,
                        cost: None,
                        answered: true,
                    },
                );
            }
        }
        for charge in charges {
            let known = asked.remove(&charge.number);
            // What is charged is a little below what was asked with, because no part of it is rounded up.
            let paid = ledger::epsilon_of(charge.guarantee.promise());
            let paid = paid.map(|paid| exact::decimal_at_least(paid.as_rational(), DIGITS));
            asked.insert(
                charge.number,
                Asked {
                    charge: charge.number,
                    time: charge.time,
                    epsilon: paid.map(|paid| exact::format_decimal(&paid)),
                    sql: known.map_or(charge.purpose, |known| known.sql),
                    cost: Some(sql::cost_of(charge.guarantee.promise())),
                    answered: charge.answered,
                },
            );
        }
        let mut asked: Vec<Asked> = asked.into_values().collect();
        asked.sort_by_key(|asked| std::cmp::Reverse((asked.time, asked.charge)));
        asked.truncate(MOST_SHOWN);
        Ok(asked)
    }
}

pub(crate) fn unsigned() -> Failure {
    Failure::new(
        Code::NotFound,
        "this answer has no signed receipt",
        "there is no place for a key beside the ledger, or it cannot be read: the curator can see to that",
    )
}

fn kept(who: &Identity, question: &Question) -> String {
    let kept = KeptRequest {
        account: who.name().to_owned(),
        question: question.clone(),
    };
    serde_json::to_string(&kept).expect("a question is plain data")
}
