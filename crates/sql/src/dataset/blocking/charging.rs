//! One release under one charge: found again, finished under an earlier charge, or charged and made.

use super::Dataset;
use crate::Error;
use ledger::{Caps, Once, Session, Store};
use mechanism::{Account, Refusal};
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

impl Dataset {
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
