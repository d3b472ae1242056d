//! An account for synthetic data, where there is nobody whom a budget could protect.

use crate::{Account, Charge, Ledger, Receipt, Refusal};
use accounting::{Budget, Epsilon, Neighbors, PrivacyUnit, Promise};
use noise::Seeded;

/// A ledger that takes every charge and keeps none: for audits, simulations and experiments on synthetic data alone.
#[derive(Debug)]
pub struct UnlimitedLedger(Budget);

impl UnlimitedLedger {
    /// For synthetic persons with these neighbours.
    pub fn of_persons(neighbors: Neighbors) -> Self {
        Self::new(PrivacyUnit::new("person", neighbors))
    }

    /// For these units.
    pub fn new(unit: PrivacyUnit) -> Self {
        Self(Budget::new(Promise::Pure(Epsilon::ZERO), unit))
    }

    /// An account for synthetic persons whose noise can be drawn again from its seed, so that a finding can be replayed. It protects nobody.
    pub fn replayable(neighbors: Neighbors, seed: u64) -> Account<Self> {
        Account::with_entropy(Self::of_persons(neighbors), Seeded::new(seed))
    }
}

impl Ledger for UnlimitedLedger {
    fn charge(&mut self, charge: Charge) -> Result<Receipt, Refusal> {
        Ok(Receipt { number: 0, charge })
    }

    fn budget(&self) -> &Budget {
        &self.0
    }

    fn remaining(&self) -> Promise {
        self.0.limit().clone()
    }
}
