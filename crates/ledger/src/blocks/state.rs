//! The filters of all blocks, and the lifetime.

use super::{BlockReceipt, BlockRules};
use crate::chain::digest_of;
use crate::gate::Gate;
use crate::{Error, Left, rules::first_line};
use accounting::{Delta, Epsilon, Event, Promise, RenyiOdometer, RenyiOrders};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What the file says.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    rules: BlockRules,
    blocks: BTreeMap<i64, Gate>,
    /// `None` once no bound is known.
    lifetime: Option<RenyiOdometer>,
    charges: Vec<BlockReceipt>,
}

impl BlockRules {
    /// The filter of a block of which nothing was asked.
    pub(super) fn gate(&self) -> Result<Gate, Error> {
        Gate::new(self.budget.clone(), &self.reserve).map_err(|error| bad(&error))
    }
}

impl State {
    pub(super) fn new(rules: &BlockRules) -> Result<Self, Error> {
        // An odometer has no target; it reads best near a few times the budget of a block.
        let (target, delta) = (
            Epsilon::parse("8").map_err(|error| bad(&error))?,
            &rules.lifetime_delta,
        );
        let orders_delta = if *delta == Delta::ZERO {
            Delta::parse("1e-9")
        } else {
            Ok(delta.clone())
        };
        let orders = orders_delta.and_then(|delta| RenyiOrders::suited_to(&target, &delta));
        let orders = orders.map_err(|error| bad(&error))?;
        Ok(Self {
            rules: rules.clone(),
            blocks: BTreeMap::new(),
            lifetime: Some(RenyiOdometer::new(delta.clone(), rules.person(), orders)),
            charges: Vec::new(),
        })
    }

    /// The text and its digest, in that order.
    pub(super) fn write(&self) -> Result<String, Error> {
        let text = serde_json::to_string(self).map_err(|_| {
            Error::unusable(
                "its sums cannot be written as text",
                "this is a mistake in the program; report it",
            )
        })?;
        let digest = digest_of(&text);
        Ok(format!("{text}\n{digest}\n"))
    }

    pub(super) fn read(text: &str, rules: &BlockRules) -> Result<Self, Error> {
        let damaged = || {
            Error::unusable(
                "it is damaged",
                "release nothing; put back the newest copy. An older one forgets what was charged since, and then it could be spent twice",
            )
        };
        let (body, digest) = text.trim_end().rsplit_once('\n').ok_or_else(damaged)?;
        if digest_of(body) != digest {
            return Err(damaged());
        }
        let state: Self = serde_json::from_str(body).map_err(|_| damaged())?;
        if state.rules != *rules {
            return Err(Error::BadRules {
                what: "the file of blocks keeps other rules than those given".to_owned(),
                hint:
                    "open it with the rules that it began with; other rules need a file and data of their own"
                        .to_owned(),
            });
        }
        Ok(state)
    }

    /// Counts the event in each block, or in none.
    pub(super) fn charge(
        &mut self,
        blocks: &BTreeSet<i64>,
        event: &Event,
        purpose: &str,
    ) -> Result<BlockReceipt, accounting::Error> {
        let unit = self.rules.budget.unit().clone();
        let fresh = self.rules.gate().map_err(|_| accounting::Error::NeedsDelta)?;
        let mut changed = Vec::with_capacity(blocks.len());
        for block in blocks {
            let mut gate = self.blocks.get(block).unwrap_or(&fresh).clone();
            gate.charge(event, &unit)?;
            changed.push((*block, gate));
        }
        // All of them admit it: from here on nothing fails.
        self.blocks.extend(changed);
        let size = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
        self.lifetime = self.lifetime.take().and_then(|mut odometer| {
            let group = event.for_group(size).ok()?;
            odometer.charge(&group).ok().map(|()| odometer)
        });
        let receipt = BlockReceipt {
            number: self.charges.len() as u64 + 1,
            blocks: blocks.clone(),
            event: event.clone(),
            purpose: purpose.to_owned(),
        };
        self.charges.push(receipt.clone());
        Ok(receipt)
    }

    pub(super) fn used(&self, block: i64) -> Option<Promise> {
        self.blocks.get(&block).and_then(Gate::used)
    }

    /// The largest ε of one further release that all of these admit.
    pub(super) fn left(&self, blocks: &BTreeSet<i64>) -> Epsilon {
        let fresh = self.rules.gate().ok();
        let gates = blocks
            .iter()
            .filter_map(|block| self.blocks.get(block).or(fresh.as_ref()));
        gates
            .map(|gate| Left::of(gate, None).epsilon)
            .min()
            .unwrap_or(Epsilon::ZERO)
    }

    pub(super) fn lifetime(&self) -> Option<Epsilon> {
        self.lifetime.as_ref().map(RenyiOdometer::epsilon)
    }

    pub(super) fn charges(&self) -> Vec<BlockReceipt> {
        self.charges.clone()
    }
}

fn bad(error: &accounting::Error) -> Error {
    Error::BadRules {
        what: first_line(error),
        hint: "give a budget such as ε = 0.1 and δ = 1e-6, and a reserve below its δ".to_owned(),
    }
}
