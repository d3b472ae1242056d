//! What was charged so far, to everybody and to each analyst with a share.

use crate::chain::digest_of;
use crate::gate::Gate;
use crate::{Error, Excess, Left, Rules, Used};
use accounting::{Event, PrivacyUnit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Sums that another version wrote are not read: it may have known other bounds, or distinguished spellings
/// of one name. They are counted anew.
const MADE_BY: &str = concat!(env!("CARGO_PKG_VERSION"), ", names normalised");

/// All filters of a ledger.
#[derive(Clone)]
pub(crate) struct Tally {
    rules: Rules,
    dataset: Gate,
    /// Only analysts who have a share and asked something, by names in their one spelling, as everywhere
    /// here.
    analysts: BTreeMap<String, Slot>,
}

/// What allowed something that was charged before.
pub(crate) struct Absorbed {
    pub(crate) by_budget: bool,
    pub(crate) by_share: bool,
}

/// The filter of one analyst. As many may have asked, and one asks now, it is read only when it is needed.
#[derive(Clone)]
struct Slot {
    text: String,
    gate: Option<Gate>,
}

/// What is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    made_by: String,
    rules: Rules,
    dataset: Gate,
    analysts: BTreeMap<String, String>,
}

impl Tally {
    /// With nothing charged.
    pub(crate) fn new(rules: &Rules) -> Result<Self, Error> {
        Ok(Self {
            rules: rules.clone(),
            dataset: rules.dataset_gate().map_err(|error| not_rules(&error))?,
            analysts: BTreeMap::new(),
        })
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// As text, and the digest by which the chain vouches for it.
    pub(crate) fn write(&self) -> Result<(String, String), Error> {
        let written = Written {
            made_by: MADE_BY.to_owned(),
            rules: self.rules.clone(),
            dataset: self.dataset.clone(),
            analysts: self
                .analysts
                .iter()
                .map(|(name, slot)| (name.clone(), slot.text.clone()))
                .collect(),
        };
        let text = serde_json::to_string(&written).map_err(|_| unwritable())?;
        let digest = digest_of(&text);
        Ok((text, digest))
    }

    /// What was written; `None` when this version did not write it.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let written: Written = serde_json::from_str(text).ok()?;
        if written.made_by != MADE_BY {
            return None;
        }
        let asleep = |(name, text)| (name, Slot { text, gate: None });
        Some(Self {
            rules: written.rules,
            dataset: written.dataset,
            analysts: written.analysts.into_iter().map(asleep).collect(),
        })
    }

    /// Makes the filter of this analyst ready, if there is one; `false` when what was written cannot be read.
    pub(crate) fn wake(&mut self, analyst: &str) -> bool {
        match self.analysts.get_mut(analyst) {
            Some(slot) if slot.gate.is_none() => {
                slot.gate = serde_json::from_str(&slot.text).ok();
                slot.gate.is_some()
            }
            _ => true,
        }
    }

    /// Whether the rules let this analyst spend anything.
    pub(crate) fn lists(&self, analyst: &str) -> bool {
        self.rules.shares.is_empty() || self.rules.shares.contains_key(analyst)
    }

    /// The filter of an analyst who has a share.
    fn gate_of(&self, analyst: &str) -> Result<Option<Gate>, accounting::Error> {
        match self.analysts.get(analyst) {
            Some(Slot { gate: Some(gate), .. }) => Ok(Some(gate.clone())),
            // Never reached, because the asker is woken first; and it would be refused.
            Some(Slot { gate: None, .. }) => Ok(Some(Gate::Shut(self.rules.budget.clone()))),
            None => self.rules.analyst_gate(analyst).transpose(),
        }
    }

    fn keep(&mut self, analyst: &str, gate: Gate) -> Result<(), Error> {
        let text = serde_json::to_string(&gate).map_err(|_| unwritable())?;
        let slot = Slot {
            text,
            gate: Some(gate),
        };
        self.analysts.insert(analyst.to_owned(), slot);
        Ok(())
    }

    /// Charges `event` to everybody's budget and to the analyst's share, or to neither.
    pub(crate) fn charge(
        &mut self,
        analyst: &str,
        event: &Event,
        unit: &PrivacyUnit,
    ) -> Result<Result<(), accounting::Error>, Error> {
        let mut dataset = self.dataset.clone();
        if let Err(refusal) = dataset.charge(event, unit) {
            return Ok(Err(refusal));
        }
        if !self.lists(analyst) {
            let refusal = Gate::Shut(self.rules.budget.clone()).charge(event, unit);
            return Ok(refusal.map_err(of_the_share));
        }
        let share = match self.gate_of(analyst) {
            Ok(Some(mut gate)) => match gate.charge(event, unit) {
                Ok(()) => Some(gate),
                Err(refusal) => return Ok(Err(of_the_share(refusal))),
            },
            Ok(None) => None,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if let Some(gate) = share {
            self.keep(analyst, gate)?;
        }
        self.dataset = dataset;
        Ok(Ok(()))
    }

    /// Counts what was charged before. If it does not fit, nothing does from now on; says so of the budget
    /// and of the share.
    ///
    /// Earlier versions charged analysts without a share where others had one, so that alone is nothing
    /// wrong.
    pub(crate) fn absorb(
        &mut self,
        analyst: &str,
        event: &Event,
        unit: &PrivacyUnit,
    ) -> Result<Absorbed, Error> {
        let budget = self.dataset.absorb(event, unit);
        let share = match self.gate_of(analyst) {
            Ok(Some(mut gate)) => {
                let fits = gate.absorb(event, unit);
                self.keep(analyst, gate)?;
                fits
            }
            Ok(None) => Ok(()),
            Err(refusal) => Err(refusal),
        };
        Ok(Absorbed {
            by_budget: budget.is_ok(),
            by_share: share.is_ok(),
        })
    }

    /// Whether `event` would be admitted.
    pub(crate) fn fits(&self, analyst: &str, event: &Event) -> bool {
        self.lists(analyst)
            && self.dataset.fits(event)
            && match self.gate_of(analyst) {
                Ok(Some(gate)) => gate.fits(event),
                Ok(None) => true,
                Err(_) => false,
            }
    }

    /// Whether the budget of everybody would admit `event`.
    pub(crate) fn fits_all(&self, event: &Event) -> bool {
        self.dataset.fits(event)
    }

    /// How much of the budget and of the analyst's share would be used with `event`, if that is more than
    /// they allow.
    pub(crate) fn excess(&self, analyst: &str, event: &Event) -> Option<Excess> {
        let share = self.gate_of(analyst).ok().flatten();
        let gates = [(Some(&self.dataset), false), (share.as_ref(), true)];
        let refusing = gates
            .into_iter()
            .find_map(|(gate, of_share)| gate.filter(|gate| !gate.fits(event)).map(|gate| (gate, of_share)));
        let (gate, of_share) = refusing?;
        let limit = gate.budget().limit().clone();
        let used = gate.used_with(event).filter(|used| !limit.covers(used));
        Some(Excess {
            before: gate.used(),
            used,
            limit,
            of_share,
        })
    }

    /// What one further release may cost.
    pub(crate) fn left(&self, analyst: &str) -> Left {
        let share = match self.gate_of(analyst) {
            Ok(gate) if self.lists(analyst) => gate,
            _ => Some(Gate::Shut(self.rules.budget.clone())),
        };
        Left::of(&self.dataset, share.as_ref())
    }

    /// The same after this was charged; `None` if it does not fit.
    pub(crate) fn left_after(&self, analyst: &str, event: &Event) -> Option<Left> {
        let mut after = self.clone();
        let unit = self.rules.budget.unit();
        let charged = after.charge(analyst, event, unit).ok()?;
        charged.ok().map(|()| after.left(analyst))
    }

    /// How much of everybody's budget is used, as its filter counts.
    pub(crate) fn used(&self) -> Used {
        Used {
            promise: self.dataset.used(),
            reserve: self.dataset.reserve_used(),
        }
    }

    /// Whether both counted the same, under the same rules.
    pub(crate) fn counted_as(&self, other: &Self) -> bool {
        let gates = |tally: &Self| -> BTreeMap<String, Option<serde_json::Value>> {
            let read = |slot: &Slot| serde_json::from_str::<Gate>(&slot.text).ok();
            let slots = tally.analysts.iter();
            slots
                .map(|(name, slot)| (name.clone(), read(slot).map(|gate| gate.counted())))
                .collect()
        };
        self.rules == other.rules
            && self.dataset.counted() == other.dataset.counted()
            && gates(self) == gates(other)
    }
}

/// So that a refused analyst knows by which of the two.
fn of_the_share(refusal: accounting::Error) -> accounting::Error {
    match refusal {
        accounting::Error::OverBudget {
            cost,
            remaining,
            limit,
        } => accounting::Error::OverBudget {
            cost,
            remaining,
            limit: format!("{limit}, the share of this analyst"),
        },
        other => other,
    }
}

fn not_rules(error: &accounting::Error) -> Error {
    Error::BadRules {
        what: crate::rules::first_line(error),
        hint: "give a budget such as ε = 1 and δ = 1e-6, and a reserve below its δ".to_owned(),
    }
}

fn unwritable() -> Error {
    Error::unusable(
        "the sums of the ledger cannot be written as text",
        "this is a mistake in the program; report it",
    )
}
