//! What audits by sampling need: an account that never runs dry, and the two sides of a question.

use crate::{Account, Aggregate, Charge, Ledger, Mechanism, Receipt, Refusal};
use accounting::{Budget, Epsilon, Neighbors, PrivacyUnit, Promise};
use audit::black_box::{BlackBox, Feature, Finding, Side};

/// A ledger that takes every charge and keeps none.
pub(crate) struct Endless(Budget);

impl Ledger for Endless {
    fn charge(&mut self, charge: Charge) -> Result<Receipt, Refusal> {
        Ok(Receipt { number: 0, charge })
    }

    fn budget(&self) -> &Budget {
        &self.0
    }

    fn remaining(&self) -> Promise {
        Promise::Pure(Epsilon::ZERO)
    }
}

pub(crate) fn person(neighbors: Neighbors) -> PrivacyUnit {
    PrivacyUnit::new("person", neighbors)
}

pub(crate) fn account(neighbors: Neighbors) -> Account<Endless> {
    let budget = Budget::new(Promise::Pure(Epsilon::ZERO), person(neighbors));
    Account::open(Endless(budget)).unwrap()
}

/// Runs the mechanism through an account on both sides, at a false-alarm rate of 1e-9.
pub(crate) fn sample<I, M: Mechanism<I>>(
    mechanism: &M,
    neighbors: Neighbors,
    input: impl Fn(Side) -> Aggregate<I>,
    features: &[Feature<M::Output>],
    samples_per_side: u64,
    delta: f64,
) -> Finding {
    let mut account = account(neighbors);
    let draw = |side| {
        account
            .release(mechanism, input(side), "audit")
            .unwrap()
            .into_value()
    };
    BlackBox {
        samples_per_side,
        delta,
        confidence: 1.0 - 1e-9,
    }
    .audit(draw, features)
    .unwrap()
}
