//! How much of a budget is used, as the filter that enforces it counts.

use crate::{Error, Rules};
use accounting::{Delta, Event, Promise};
use std::fmt;

/// How much of a budget is used.
///
/// Several numbers describe the same charges: sums of what each promised, what an accountant proves of them
/// all, what holds whenever one stops. One of them is enforced, and this is it: a charge is admitted if it
/// stays within the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    /// In the currency of the budget: of an (ε, δ) budget, the smallest ε that would have admitted the same
    /// charges at its δ. `None` if more was charged than the budget allows, under earlier rules.
    pub promise: Option<Promise>,
    /// The δ that charges carried, of what was set aside for them.
    pub reserve: Delta,
}

/// Why a charge does not fit: what would be used with it, and how much may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess {
    /// What is used now; `None` if more was charged than the budget allows.
    pub before: Option<Promise>,
    /// What would be used; `None` if there is no such number.
    pub used: Option<Promise>,
    /// How much may be.
    pub limit: Promise,
    /// Whether that is the limit of the analyst's share, and not of the whole budget.
    pub of_share: bool,
}

impl Excess {
    /// Whether no ε would be small enough, because the budget has no δ at all.
    pub fn needs_delta(&self) -> bool {
        let none = match &self.limit {
            Promise::Pure(_) => true,
            Promise::Approximate(_, delta) => *delta == Delta::ZERO,
            Promise::Concentrated(_) => false,
        };
        none && self.before.is_some() && self.used.is_none()
    }
}

impl fmt::Display for Excess {
    /// `the ledger would count ε = 11.3 with it, ε = 0.5 without it, and the budget is ε = 10, δ = 0.000001`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = if self.of_share {
            "your share of the budget"
        } else {
            "the budget"
        };
        let Some(before) = &self.before else {
            return write!(formatter, "more than {whose} is spent already");
        };
        match &self.used {
            Some(with) => write!(
                formatter,
                "the ledger would count {} with it, {} without it, and {whose} is {}",
                in_short(with),
                in_short(before),
                self.limit
            ),
            None if self.needs_delta() => {
                write!(formatter, "it needs a δ, and {whose} has none: {}", self.limit)
            }
            None => write!(
                formatter,
                "the ledger counts {} already, and {whose} is {}",
                in_short(before),
                self.limit
            ),
        }
    }
}

/// The number that is compared with the limit, rounded up. The δ is the limit's.
fn in_short(used: &Promise) -> String {
    const DIGITS: u32 = 4;
    let short = |value| exact::format_decimal(&exact::decimal_at_least(value, DIGITS));
    match used {
        Promise::Pure(epsilon) | Promise::Approximate(epsilon, _) => {
            format!("ε = {}", short(epsilon.as_rational()))
        }
        Promise::Concentrated(rho) => format!("ρ = {}", short(rho.as_rational())),
    }
}

/// How much of the budget was used after the first so many of these events, for each of these numbers, which
/// ascend.
///
/// # Errors
/// When no ledger can keep the rules.
pub fn used_after(rules: &Rules, events: &[&Event], counts: &[usize]) -> Result<Vec<Used>, Error> {
    let mut gate = rules.dataset_gate().map_err(|error| Error::BadRules {
        what: crate::rules::first_line(&error),
        hint: "give a budget such as ε = 1 and δ = 1e-6, and a reserve below its δ".to_owned(),
    })?;
    let (mut charged, mut found) = (0, Vec::new());
    for &count in counts {
        for event in events.iter().take(count).skip(charged) {
            // What does not fit any more closes the filter, which `used` then tells.
            let _ = gate.absorb(event, rules.budget.unit());
        }
        charged = charged.max(count);
        found.push(Used {
            promise: gate.used(),
            reserve: gate.reserve_used(),
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use accounting::{Budget, Epsilon, Neighbors, PrivacyUnit};

    fn at(epsilon: &str) -> Promise {
        Promise::Approximate(Epsilon::parse(epsilon).unwrap(), Delta::parse("1e-6").unwrap())
    }

    #[test]
    fn it_says_which_number_does_not_fit() {
        let excess = Excess {
            before: Some(at("0.5")),
            used: Some(at("11.20311")),
            limit: at("10"),
            of_share: false,
        };
        assert_eq!(
            excess.to_string(),
            "the ledger would count ε = 11.204 with it, ε = 0.5 without it, and the budget is ε = 10, δ = 0.000001"
        );
        let of_share = Excess {
            of_share: true,
            used: None,
            ..excess.clone()
        };
        assert_eq!(
            of_share.to_string(),
            "the ledger counts ε = 0.5 already, and your share of the budget is ε = 10, δ = 0.000001"
        );
        let pure = Excess {
            used: None,
            limit: Promise::Pure(Epsilon::parse("10").unwrap()),
            ..excess.clone()
        };
        assert_eq!(pure.to_string(), "it needs a δ, and the budget has none: ε = 10");
        let shut = Excess {
            before: None,
            ..excess
        };
        assert_eq!(shut.to_string(), "more than the budget is spent already");
    }

    #[test]
    fn the_past_is_counted_anew() {
        let rules = Rules::new(Budget::new(
            at("1"),
            PrivacyUnit::new("person", Neighbors::AddRemove),
        ));
        let event = Event::Pure {
            epsilon: Epsilon::parse("0.4").unwrap(),
        };
        let used = used_after(&rules, &[&event, &event, &event], &[0, 1, 2, 3]).unwrap();
        let promises: Vec<Option<Promise>> = used.into_iter().map(|used| used.promise).collect();
        assert_eq!(promises, [Some(at("0")), Some(at("0.4")), Some(at("0.8")), None]);
    }
}
