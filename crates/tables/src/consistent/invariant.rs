//! Totals that are published exactly, and what that does to a promise.

use accounting::Guarantee;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A number that everybody knows because it was published without noise: the population of each state, say.
///
/// Nothing in this project opens a private count. Whoever has published one exactly, elsewhere and for reasons of their own, passes it here as the public number that it is, and names it; then tables add up to it, and every
/// guarantee beside them is [`Conditional`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invariant {
    what: String,
    values: Vec<i64>,
}

impl Invariant {
    /// These numbers were published without noise. `what` says which they are, as in "the number of people in each state".
    pub fn published_exactly(what: impl Into<String>, values: Vec<i64>) -> Self {
        Self {
            what: what.into(),
            values,
        }
    }

    /// Which numbers they are.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The numbers.
    pub fn values(&self) -> &[i64] {
        &self.values
    }
}

/// A guarantee beside numbers that are exact. It is weaker than the same guarantee alone, and does not print without saying so.
///
/// It compares databases that agree on the invariants, and no others (semi-differential privacy, Gong and Meng 2020; Dharangutte et al. 2023). Such databases differ in at least two units where a total is exact: one that leaves
/// and one that comes. And what the exact numbers themselves tell about a unit no ε bounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditional {
    guarantee: Guarantee,
    invariants: Vec<String>,
}

impl Conditional {
    /// `guarantee` for what was released with noise, where these are exact.
    pub fn new(guarantee: Guarantee, invariants: &[Invariant]) -> Self {
        Self {
            guarantee,
            invariants: invariants
                .iter()
                .map(|invariant| invariant.what.clone())
                .collect(),
        }
    }

    /// What holds for everybody, if and only if nothing is exact.
    pub fn unconditional(&self) -> Option<&Guarantee> {
        self.invariants.is_empty().then_some(&self.guarantee)
    }

    /// Which numbers are exact.
    pub fn invariants(&self) -> &[String] {
        &self.invariants
    }
}

impl fmt::Display for Conditional {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.invariants.is_empty() {
            return write!(formatter, "{}", self.guarantee);
        }
        let list = self.invariants.join("; ");
        write!(
            formatter,
            "{}, but only among databases that agree on what is published exactly: {list}. No ε limits what these exact numbers tell about anybody",
            self.guarantee
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use accounting::{Neighbors, PrivacyUnit, Promise, Rho};

    #[test]
    fn what_is_exact_is_said() {
        let promise = Promise::Concentrated(Rho::parse("2.56").unwrap_or(Rho::ZERO));
        let guarantee = Guarantee::new(promise, PrivacyUnit::new("person", Neighbors::AddRemove));
        let alone = Conditional::new(guarantee.clone(), &[]);
        assert_eq!(
            (alone.to_string(), alone.unconditional()),
            (guarantee.to_string(), Some(&guarantee))
        );
        let states = Invariant::published_exactly("the number of people in each state", vec![5_024_279]);
        let weaker = Conditional::new(guarantee, &[states]);
        assert_eq!(weaker.unconditional(), None);
        assert_eq!(
            weaker.to_string(),
            "ρ = 2.56 for each person, added or removed, but only among databases that agree on what is published exactly: the number of people in each state. No ε limits what these exact numbers tell about anybody"
        );
    }
}
