//! One release under one charge: found again, finished under an earlier charge, or charged and made.

use super::Dataset;
use crate::dataset::readable::readable;
use crate::finish::answer::Cost;
use crate::{Error, OverBudget};
use ledger::{Caps, Once, Receipt, Session, Store};
use mechanism::{Account, Charge, Refusal};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// How often, and how long apart, what somebody else makes under the same charge is looked for.
const LOOKS: u32 = 40;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// How often a release is begun, where others who began it do not finish.
const MOST_ATTEMPTS: u32 = 4;

/// What is released, as the ledger knows it, and for whom.
pub(super) struct Wanted<'a> {
    pub(super) digest: &'a str,
    pub(super) analyst: &'a str,
    pub(super) caps: &'a Caps,
    pub(super) once: Option<&'a Once>,
}

/// Where a release is from.
pub(super) enum Made<F, M> {
    /// It was saved before.
    Found(F),
    /// It was made now, under a charge that is new if its number is above `before`.
    Now { made: M, before: u64 },
}

/// A release that the ledger keeps as one text.
pub(super) trait KeptWhole: Serialize + DeserializeOwned {
    /// What paid for it.
    fn cost(&self) -> &Cost;
}

/// A release with its text, as the ledger keeps it.
pub(super) struct Whole<S> {
    pub(super) saved: S,
    pub(super) text: String,
    /// Whether it was made before, so that it cost nothing now.
    pub(super) repeated: bool,
    /// Whether an earlier charge paid for it, whose run was interrupted.
    pub(super) resumed: bool,
}

impl<S: KeptWhole> Whole<S> {
    /// The receipt for it, if it can be signed. `words` says what was asked for, in place of SQL.
    pub(super) fn receipt(&self, dataset: &str, words: &str, store: &mut Store) -> Option<Receipt> {
        let release_sha256 = ledger::sha256_of(&self.text);
        let cost = self.saved.cost();
        let signed = ledger::Released {
            dataset,
            charge: cost.charge,
            guarantee: &cost.guarantee,
            sql_sha256: ledger::sha256_of(words),
            table_sha256: release_sha256.clone(),
            release_sha256,
        };
        store.receipt(signed).ok().flatten()
    }
}

/// What was saved whole; `None` if nothing was, or it cannot be read.
pub(super) fn saved_whole<S: KeptWhole>(digest: &str, store: &mut Store) -> Result<Option<Whole<S>>, Error> {
    let Some(stored) = store.stored_answer(digest)? else {
        return Ok(None);
    };
    let saved = serde_json::from_str::<S>(&stored.answer).ok();
    Ok(saved.map(|saved| Whole {
        saved,
        text: stored.answer,
        repeated: true,
        resumed: false,
    }))
}

impl Dataset {
    /// Finds a release that is kept whole, or makes and saves it.
    ///
    /// # Errors
    /// As [`Dataset::found_or_made`].
    pub(super) fn whole_or_made<S: KeptWhole>(
        &self,
        wanted: &Wanted<'_>,
        store: &mut Store,
        make: impl FnMut(&mut Account<Session<'_>>) -> Result<S, Error>,
    ) -> Result<Whole<S>, Error> {
        let find = |store: &mut Store| saved_whole(wanted.digest, store);
        match self.found_or_made(wanted, store, find, make)? {
            Made::Found(found) => Ok(found),
            Made::Now { made, before } => {
                let text = serde_json::to_string(&made).expect("a release is plain data");
                let charge = made.cost().charge;
                store.record_answer(charge, wanted.digest, wanted.analyst, &text)?;
                Ok(Whole {
                    saved: made,
                    text,
                    repeated: false,
                    resumed: charge <= before,
                })
            }
        }
    }

    /// Why a release does not fit, with what is left; any other error as it is. `what` begins the sentence, with its verb left out: "the release `tables`".
    pub(super) fn in_words_of_budget(
        &self,
        error: Error,
        (analyst, store): (&str, &mut Store),
        charge: Result<Charge, Error>,
        (what, hint): (&str, &str),
    ) -> Error {
        let too_much = matches!(
            &error,
            Error::Mechanism(mechanism::Error::Refused(Refusal::Budget(
                accounting::Error::OverBudget { .. }
            )))
        );
        let (true, Ok(charge), Ok(left)) = (too_much, charge, store.left(analyst)) else {
            return error;
        };
        let cost = readable(&charge.guarantee).to_string();
        Error::OverBudget(Box::new(OverBudget {
            what: format!("{what} costs {cost}, and ε = {} is left", left.epsilon),
            hint: format!("{hint}; nothing was charged"),
            cost,
            left: left.epsilon,
            fits: None,
        }))
    }

    /// Finds what was saved, or makes it: `make` reserves, measures and only then draws (see `Store::resumable_session`).
    ///
    /// # Errors
    /// What `find` and `make` say, and what the ledger says.
    pub(super) fn found_or_made<F, M>(
        &self,
        wanted: &Wanted<'_>,
        store: &mut Store,
        find: impl Fn(&mut Store) -> Result<Option<F>, Error>,
        mut make: impl FnMut(&mut Account<Session<'_>>) -> Result<M, Error>,
    ) -> Result<Made<F, M>, Error> {
        let mut attempts = 0;
        loop {
            // Looked at before the saved answers are, so that none that is saved from now on is overlooked.
            let before = store.head()?.number;
            if let Some(found) = find(store)? {
                return Ok(Made::Found(found));
            }
            let outcome = {
                let session = store
                    .resumable_session(wanted.analyst, wanted.digest, before)?
                    .within(wanted.caps)
                    .once(wanted.once);
                make(&mut Account::open(session)?)
            };
            match outcome {
                Ok(made) => return Ok(Made::Now { made, before }),
                // Somebody else finishes the same charge, draws for the same question, or has answered it meanwhile. Theirs is the answer, and here nothing was drawn.
                Err(
                    error @ (Error::Ledger(ledger::Error::NotAnswerable { .. })
                    | Error::Mechanism(mechanism::Error::Refused(Refusal::Elsewhere(_)))),
                ) => {
                    if let Some(found) = made_by_another(store, &find) {
                        return Ok(Made::Found(found));
                    }
                    // Who drew has died, or cannot be read.
                    attempts += 1;
                    if attempts == MOST_ATTEMPTS {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// What somebody else saved, or is about to.
fn made_by_another<F>(
    store: &mut Store,
    find: &impl Fn(&mut Store) -> Result<Option<F>, Error>,
) -> Option<F> {
    for _ in 0..LOOKS {
        match find(store) {
            Ok(None) => std::thread::sleep(BETWEEN_LOOKS),
            Ok(found) => return found,
            Err(_) => return None,
        }
    }
    None
}
