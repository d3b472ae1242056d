//! Messages of the command line for sessions of training that end without a model.

use crate::dataset::{of_the_ledger, unanswered};
use crate::terminal::{CliError, exit_code, explained};
use training::Error;

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        let hinted = |error: &Error, hint: &str| explained(error).with_hint(hint);
        match error {
            Error::Ledger(error) => of_the_ledger(error),
            Error::Sql(error) => unanswered(error),
            Error::Train(train::Error::Mechanism(mechanism::Error::Refused(_))) => {
                explained(error).with_code(exit_code::REFUSED)
            }
            Error::OverBudget(over) => {
                let hint = match &over.fits {
                    Some(fits) => format!(
                        "--target-epsilon {fits} fits, with more noise. A ledger counts a run by its Rényi divergences, which hold whatever is asked later and are above the ε of the run by itself; a larger --delta does not help. Nothing was charged"
                    ),
                    None if over.needs_delta() => "private training needs a budget with a δ: `delta = 1e-6` in [budget] of the catalog, or --budget-delta for the ledger of a text. Nothing was charged".to_owned(),
                    None => "nothing of the kind fits any more, and nothing was charged; ask the curator for a larger budget, or see `deniable budget`".to_owned(),
                };
                let counted = over.excess.as_ref().and_then(|excess| excess.used.as_ref());
                CliError::bad_input(over.what())
                    .with_hint(hint)
                    .with_code(exit_code::REFUSED)
                    .with_detail("cost", over.cost.clone())
                    .with_detail("left_epsilon", over.left.to_string())
                    .with_detail("counted_epsilon", counted.and_then(ledger::epsilon_of).map(ToString::to_string))
                    .with_detail("fits_epsilon", over.fits.as_ref().map(ToString::to_string))
            }
            Error::UnknownSize { .. } => hinted(
                &error,
                "say it with --size N, a number that is public anyway; of a text, --size-is-public says that it is no secret",
            ),
            Error::PrivateSize => hinted(&error, "say about how many there are with --size N"),
            Error::ModelExists { .. } => hinted(
                &error,
                "name another place with --out, or pass --force to write over it; nothing was charged",
            ),
            Error::CheckpointExists { .. } => hinted(
                &error,
                "resume it with `deniable train resume`, name another place with --checkpoint, or delete it if it is of no more use",
            ),
            Error::OtherUnit { .. } => hinted(
                &error,
                "guarantees for different units do not add up: train on the units that the ledger is about",
            )
            .with_code(exit_code::REFUSED),
            Error::OtherRules(_) => hinted(
                &error,
                "leave out --budget and --budget-delta to charge the ledger that is there; a second ledger for the same people would be a second budget",
            )
            .with_code(exit_code::REFUSED),
            other => explained(other),
        }
    }
}
