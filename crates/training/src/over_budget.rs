//! What would fit, if a run costs more than is left.

use crate::{Error, OverBudget};
use accounting::{Epsilon, Event};
use ledger::Store;

/// Whether a run was refused because of how much it costs.
pub(crate) fn is_over_budget(error: &train::Error) -> bool {
    use mechanism::{Error::Refused, Refusal::Budget};
    matches!(
        error,
        train::Error::Mechanism(Refused(Budget(
            accounting::Error::OverBudget { .. } | accounting::Error::NeedsDelta
        )))
    )
}

/// A run that costs more than is left. `refused` is what it is counted as, and `event` what a run for another
/// ε is.
pub(crate) fn over_budget(
    store: &mut Store,
    analyst: &str,
    cost: String,
    refused: Option<&Event>,
    event: impl Fn(&Epsilon) -> Option<Event>,
) -> Error {
    let left = match store.left(analyst) {
        Ok(left) => left,
        Err(error) => return error.into(),
    };
    let excess = refused.map_or(Ok(None), |refused| store.excess(analyst, refused));
    let excess = match excess {
        Ok(excess) => excess,
        Err(error) => return error.into(),
    };
    let fits = sql::largest_fitting(|epsilon| {
        event(epsilon).is_some_and(|event| store.fits(analyst, &event).unwrap_or(false))
    });
    Error::OverBudget(Box::new(OverBudget {
        cost,
        left: left.epsilon,
        excess,
        fits,
    }))
}
