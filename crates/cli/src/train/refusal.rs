//! Why a session of training ends without a model, in the words of the command line.

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
                    Some(fits) => format!("--target-epsilon {fits} would fit, with more noise: the many small steps of a run add up to less than one release does. Nothing was charged"),
                    None => "nothing of the kind fits any more, and nothing was charged; ask the curator, or see `deniable budget`".to_owned(),
                };
                CliError::bad_input(over.what())
                    .with_hint(hint)
                    .with_code(exit_code::REFUSED)
                    .with_detail("cost", over.cost.clone())
                    .with_detail("left_epsilon", over.left.to_string())
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
                "guarantees for different units do not add up: name another ledger with --ledger, or train on the same units",
            )
            .with_code(exit_code::REFUSED),
            Error::OtherRules(_) => hinted(
                &error,
                "leave out --budget and --budget-delta to charge the ledger that is there, or name another with --ledger",
            )
            .with_code(exit_code::REFUSED),
            other => explained(other),
        }
    }
}
