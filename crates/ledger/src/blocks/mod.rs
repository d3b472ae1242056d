//! Budgets by block of time, in a file of their own.
//!
//! Where a unit is what a person does in one day, no release about Monday says anything of a Tuesday's unit. So each day has a budget of its own: one that was used up last month does not stop this month's report, and a query
//! charges the days that its filter can touch, and no others. Beside that the *lifetime* is counted: what a person loses who has rows in all blocks, over everything that was ever released.
//!
//! # Privacy
//! Claim: for each unit of a block, everything that was ever charged keeps the budget, for queries and blocks that are chosen after seeing earlier answers. And for a person with rows in any blocks, the lifetime's (ε, δ) holds at any time.
//! Proof: take two databases that differ in one unit, of block b. A query that does not charge b does not read its rows, so given the earlier answers its answer has the same distribution on both: a divergence of 0. The others are
//! admitted by the filter of b, which counts all of them, in order. So the claim of that filter holds for this pair, whatever the filters of other blocks do (Lécuyer et al. 2019, block composition; Feldman and Zrnic 2021 for the filter).
//! A query is admitted by all its blocks or by none, and which blocks it charges is decided before it runs and without data. For the person: removing all their rows removes at most one unit in each block, so a query that charges k blocks is an event for a group of k
//! ([`Event::for_group`]), and the odometer counts that.
//! Assumes: a query reads rows of the blocks that it charges alone; a unit's rows are all in one block; the disk does what it promises, and nobody puts an older file back.
//!
//! A charge is durable before [`BlockStore::charge`] returns: the file is written whole and synced, and replaces the old one. A crash leaves the file with the charge or without it; without it nobody has a receipt.

mod state;
#[cfg(test)]
mod tests;

use crate::Error;
use accounting::{Budget, Delta, Epsilon, Event, PrivacyUnit, Promise};
use files::{Readable, Whole};
use mechanism::{Charge, Ledger, Receipt, Refusal};
use serde::{Deserialize, Serialize};
use state::State;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

/// No query charges more blocks than this: 27 years of days.
const MOST_BLOCKS: usize = 10_000;

/// What each block may spend, and how the lifetime is counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockRules {
    budget: Budget,
    reserve: Delta,
    lifetime_delta: Delta,
}

impl BlockRules {
    /// Each block has this budget, whose unit says its period. `reserve` is the part of its δ that events may carry themselves; `lifetime_delta` is the δ at which the lifetime is told.
    ///
    /// # Errors
    /// When the budget's unit has no period, so that there are no blocks, or its filter does not exist.
    pub fn new(budget: Budget, reserve: Delta, lifetime_delta: Delta) -> Result<Self, Error> {
        if budget.unit().period.is_none() {
            return Err(Error::BadRules {
                what: format!("the budget is for {}, which has no period", budget.unit()),
                hint: "budgets by block are for units of one period, such as each day of each person"
                    .to_owned(),
            });
        }
        let rules = Self {
            budget,
            reserve,
            lifetime_delta,
        };
        rules.gate()?;
        Ok(rules)
    }

    /// The budget of each block.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Whose lifetime is counted: the person whose periods the units are.
    pub fn person(&self) -> PrivacyUnit {
        self.budget.unit().for_life()
    }
}

/// Proof that a charge was taken by all its blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockReceipt {
    /// The place of the charge in the file, from 1 on.
    pub number: u64,
    /// The periods that were charged, counted from 1970-01-01.
    pub blocks: BTreeSet<i64>,
    /// What was charged.
    pub event: Event,
    /// What for.
    pub purpose: String,
}

/// Budgets by block, in a file that nobody else charges while this is open.
#[derive(Debug)]
pub struct BlockStore {
    path: PathBuf,
    rules: BlockRules,
    _lock: File,
}

impl BlockStore {
    /// Opens the file, or begins it.
    ///
    /// # Errors
    /// When it cannot be read or written, is damaged, is open elsewhere, or keeps other rules.
    pub fn open(path: &Path, rules: &BlockRules) -> Result<Self, Error> {
        let store = Self {
            path: path.to_owned(),
            rules: rules.clone(),
            _lock: lock(path)?,
        };
        if !path.exists() {
            store.keep(&State::new(rules)?)?;
        }
        store.state()?;
        Ok(store)
    }

    /// Charges all these blocks, or none of them. When this returns a receipt, the charge is on the disk.
    ///
    /// # Errors
    /// When a block does not admit the event, or the charge could not be recorded. Then nothing may run. A charge whose recording failed counts as spent if the file has it.
    pub fn charge(
        &mut self,
        blocks: &BTreeSet<i64>,
        event: &Event,
        purpose: &str,
    ) -> Result<BlockReceipt, Refusal> {
        if blocks.is_empty() || blocks.len() > MOST_BLOCKS {
            return Err(Refusal::Rule {
                rule: "blocks",
                what: format!(
                    "a query charges between 1 and {MOST_BLOCKS} blocks, and this one {}\nhint: filter by a column of time whose values are declared",
                    blocks.len()
                ),
            });
        }
        let not_recorded = |error: Error| Refusal::NotRecorded(crate::rules::first_line(&error));
        // Read anew each time: after a failed write only the disk knows what was charged.
        let mut state = self.state().map_err(not_recorded)?;
        let receipt = state.charge(blocks, event, purpose).map_err(Refusal::Budget)?;
        self.keep(&state).map_err(not_recorded)?;
        Ok(receipt)
    }

    /// How much of its budget a block has used; `None` for a block of which nothing was asked.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn used(&self, block: i64) -> Result<Option<Promise>, Error> {
        Ok(self.state()?.used(block))
    }

    /// What a person has lost who has rows in all blocks: ε at the rules' δ, over everything so far. `None` where no bound is known, because an event carried a δ of its own or has no bound for groups.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn lifetime(&self) -> Result<Option<Epsilon>, Error> {
        Ok(self.state()?.lifetime())
    }

    /// All charges, in order.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn charges(&self) -> Result<Vec<BlockReceipt>, Error> {
        Ok(self.state()?.charges())
    }

    /// A ledger in the sense of [`mechanism`]: what a mechanism charges is charged to these blocks.
    pub fn session(&mut self, blocks: BTreeSet<i64>) -> BlockSession<'_> {
        BlockSession { store: self, blocks }
    }

    fn state(&self) -> Result<State, Error> {
        let text = std::fs::read_to_string(&self.path).map_err(unusable)?;
        State::read(&text, &self.rules)
    }

    fn keep(&self, state: &State) -> Result<(), Error> {
        let text = state.write()?;
        let file = Whole::at(&self.path, Readable::ByOwner);
        file.write(|file| file.write_all(text.as_bytes()))
            .map_err(unusable)
    }
}

/// Some blocks of a store, for one query: see [`BlockStore::session`].
#[derive(Debug)]
pub struct BlockSession<'a> {
    store: &'a mut BlockStore,
    blocks: BTreeSet<i64>,
}

impl Ledger for BlockSession<'_> {
    fn charge(&mut self, charge: Charge) -> Result<Receipt, Refusal> {
        if charge.guarantee.unit() != self.store.rules.budget.unit() {
            return Err(Refusal::Rule {
                rule: "unit",
                what: "the charge is about another unit than the blocks\nhint: state sensitivities for one period of a person".to_owned(),
            });
        }
        let receipt = self.store.charge(&self.blocks, &charge.event, &charge.purpose)?;
        Ok(Receipt {
            number: receipt.number,
            charge,
        })
    }

    fn budget(&self) -> &Budget {
        &self.store.rules.budget
    }

    /// The largest ε of one further release that all these blocks admit; 0 where the file cannot be read.
    fn remaining(&self) -> Promise {
        let left = self.store.state().map(|state| state.left(&self.blocks));
        Promise::Pure(left.unwrap_or(Epsilon::ZERO))
    }
}

/// A lock beside the file, which a process loses when it ends, however it ends.
fn lock(path: &Path) -> Result<File, Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let opened = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(name);
    let file = opened.map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::unusable(
            "another process has it open",
            "wait until that ends, or ask through it",
        )),
        Err(TryLockError::Error(error)) => Err(unusable(error)),
    }
}

fn unusable(error: std::io::Error) -> Error {
    Error::unusable(error.to_string(), "make room or mend the folder, and ask again")
}
