//! An account that never runs dry, with noise from a seed: for made-up data alone.

use accounting::{Budget, Epsilon, Neighbors, PrivacyUnit, Promise};
use attack::Seeded;
use mechanism::{Account, Charge, Ledger, Receipt, Refusal};

/// A ledger that takes every charge and keeps none.
pub(super) struct Endless(Budget);

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

/// Noise can be drawn again from its seed, so it protects nobody: the data here is made up, and a finding can be replayed.
pub(super) fn endless(neighbors: Neighbors, seed: u64) -> Account<Endless> {
    let unit = PrivacyUnit::new("person", neighbors);
    let budget = Budget::new(Promise::Pure(Epsilon::ZERO), unit);
    Account::with_entropy(Endless(budget), Seeded::new(seed))
}
