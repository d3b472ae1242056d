//! Private training on rows and texts that a Python program holds: columns in, a session of the crate
//! `training`, a model's file out.
//!
//! Rows go through a catalog with a table in memory, as rows of files do. Their declarations decide how they
//! become numbers, and the session charges the ledger before its first step.

mod columns;
mod model;
mod session;
mod settings;

use crate::errors::{Class, of_parameter, of_sql};
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    columns::register(module)?;
    session::register(module)?;
    model::register(module)?;
    Ok(())
}

/// What training says, as exceptions.
fn of_training(error: training::Error) -> PyErr {
    use training::Error;
    let class = match &error {
        Error::Sql(_) => {
            let Error::Sql(error) = error else {
                return of_parameter(error);
            };
            return of_sql(error);
        }
        Error::OverBudget(over) => {
            let said = over.to_string();
            let (what, hint) = said.split_once("\nhint: ").unwrap_or((said.as_str(), ""));
            return of_sql(sql::Error::OverBudget(Box::new(sql::OverBudget {
                what: what.to_owned(),
                hint: hint.to_owned(),
                cost: over.cost.clone(),
                left: over.left.clone(),
                fits: over.fits.clone(),
            })));
        }
        Error::UnknownSize { whose } => {
            return of_parameter(format!(
                "about how many {whose}s are there?\nhint: say size=50000, a number that is public anyway and does not come from the data; size=\"public\" if the number in the data is no secret; or neighbors=\"change_one\""
            ));
        }
        Error::CheckpointExists { path } => {
            return Class::File.raise(format!(
                "the checkpoint {} already exists\nhint: fit with resume=True to go on with that run, name another place with checkpoint=, or delete it if it is of no more use; nothing was charged",
                path.display()
            ));
        }
        Error::Device(_) => {
            return Class::Engine.raise(format!("{error}\nhint: device=\"cpu\" computes on the processor"));
        }
        Error::Ledger(_) | Error::OtherUnit { .. } | Error::OtherRules(_) | Error::NoLedger { .. } => {
            Class::Ledger
        }
        Error::Train(train::Error::Mechanism(mechanism::Error::Refused(_))) => Class::Ledger,
        Error::Train(
            train::Error::File { .. } | train::Error::Unreadable { .. } | train::Error::BadFile { .. },
        )
        | Error::ModelExists { .. } => Class::File,
        _ => Class::Parameter,
    };
    class.raise(error)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
