//! The limit, and the tally under it.

use crate::{Delta, Epsilon, Rho};
use crate::{Error, Guarantee, PrivacyUnit, Promise};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most that may ever be learnt about a unit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    limit: Promise,
    unit: PrivacyUnit,
}

impl Budget {
    /// At most `limit` about each `unit`.
    pub fn new(limit: Promise, unit: PrivacyUnit) -> Self {
        Self { limit, unit }
    }

    /// The limit.
    pub fn limit(&self) -> &Promise {
        &self.limit
    }

    /// Whom it protects.
    pub fn unit(&self) -> &PrivacyUnit {
        &self.unit
    }

    /// A promise as this budget counts it: a pure cost is turned into ρ on its own under a limit in ρ, because
    /// ε·tanh(ε/2) of a sum is more than the sum of them.
    fn counted(&self, cost: &Promise) -> Result<Promise, Error> {
        // (ε, 0)-DP is ε-DP, and must not turn a tally in one currency into another.
        let cost = match cost {
            Promise::Approximate(epsilon, delta) if *delta == Delta::ZERO => Promise::Pure(epsilon.clone()),
            // Nor must nothing at all.
            Promise::Concentrated(rho) if *rho == Rho::ZERO => Promise::Pure(Epsilon::ZERO),
            other => other.clone(),
        };
        match (&self.limit, cost) {
            (Promise::Concentrated(_), Promise::Pure(epsilon)) => {
                Ok(Promise::Concentrated(epsilon.concentrated()?))
            }
            (_, cost) => Ok(cost),
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "at most {} for {}", self.limit, self.unit)
    }
}

/// What was spent of a [`Budget`]: sums of stated costs, exact, never refunded.
///
/// # Privacy
/// Claim: whatever is asked, also when each question and its cost are chosen after seeing all earlier answers, everything
/// answered while charges fit keeps the limit.
/// Source: basic composition is a valid privacy filter for (ε, δ) (Rogers, Roth, Ullman and Vadhan 2016, "Privacy odometers
/// and filters"), as is the sum of ρ (Feldman and Zrnic 2021, "Individual privacy accounting via a Rényi filter").
/// Assumes: a cost is stated, and charged, before its mechanism runs, and depends on earlier answers only through what was
/// released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spending {
    budget: Budget,
    spent: Promise,
}

impl Spending {
    /// Nothing spent yet.
    pub fn none(budget: Budget) -> Self {
        let spent = match budget.limit {
            Promise::Pure(_) => Promise::Pure(Epsilon::ZERO),
            Promise::Approximate(..) => Promise::Approximate(Epsilon::ZERO, Delta::ZERO),
            Promise::Concentrated(_) => Promise::Concentrated(Rho::ZERO),
        };
        Self { budget, spent }
    }

    /// The budget this is a tally of.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The sum of all charges.
    pub fn spent(&self) -> &Promise {
        &self.spent
    }

    /// The tally after `next`.
    ///
    /// # Errors
    /// When it does not fit, is about another unit, or is in a currency that does not add up with the limit's.
    pub fn after(&self, next: &Guarantee) -> Result<Self, Error> {
        if *next.unit() != self.budget.unit {
            return Err(Error::DifferentUnits {
                left: self.budget.unit.to_string(),
                right: next.unit().to_string(),
            });
        }
        let over = || Error::OverBudget {
            cost: next.promise().to_string(),
            remaining: self.remaining().to_string(),
            limit: self.budget.limit.to_string(),
        };
        let spent = match self.spent.compose(&self.budget.counted(next.promise())?) {
            // δs that reach 1 are beyond every limit.
            Err(Error::DeltaTooLarge { .. }) => return Err(over()),
            other => other?,
        };
        if self.budget.limit.covers(&spent) {
            Ok(Self {
                budget: self.budget.clone(),
                spent,
            })
        } else {
            Err(over())
        }
    }

    /// Whether `next` can be charged.
    pub fn fits(&self, next: &Guarantee) -> bool {
        self.after(next).is_ok()
    }

    /// Adds `next` to the tally, or changes nothing.
    ///
    /// # Errors
    /// As [`Spending::after`].
    pub fn charge(&mut self, next: &Guarantee) -> Result<(), Error> {
        *self = self.after(next)?;
        Ok(())
    }

    /// What is left: the exact difference, which is its own rounding down.
    pub fn remaining(&self) -> Promise {
        match (&self.budget.limit, &self.spent) {
            (Promise::Pure(limit), Promise::Pure(spent)) => {
                Promise::Pure(limit.checked_sub(spent).unwrap_or(Epsilon::ZERO))
            }
            (Promise::Approximate(limit, allowed), Promise::Approximate(spent, delta)) => {
                Promise::Approximate(
                    limit.checked_sub(spent).unwrap_or(Epsilon::ZERO),
                    allowed.checked_sub(delta).unwrap_or(Delta::ZERO),
                )
            }
            (Promise::Concentrated(limit), Promise::Concentrated(spent)) => {
                Promise::Concentrated(limit.checked_sub(spent).unwrap_or(Rho::ZERO))
            }
            // Only a tally that was not made by charging is in another currency: nothing is left of it.
            _ => Promise::Pure(Epsilon::ZERO),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Neighbors;

    fn person() -> PrivacyUnit {
        PrivacyUnit::new("person", Neighbors::AddRemove)
    }

    #[test]
    fn a_delta_of_zero_is_no_other_currency() {
        let one = Epsilon::parse("1").unwrap();
        let mut spending = Spending::none(Budget::new(Promise::Pure(one), person()));
        let half = Epsilon::parse("0.5").unwrap();
        spending
            .charge(&Guarantee::new(
                Promise::Approximate(half.clone(), Delta::ZERO),
                person(),
            ))
            .unwrap();
        assert_eq!(spending.remaining(), Promise::Pure(half));
    }

    #[test]
    fn nothing_costs_nothing_in_every_currency() {
        let mut spending = Spending::none(Budget::new(Promise::Pure(Epsilon::parse("1").unwrap()), person()));
        spending
            .charge(&Guarantee::new(Promise::Concentrated(Rho::ZERO), person()))
            .unwrap();
        spending.charge(&pure("1")).unwrap();
    }

    fn pure(text: &str) -> Guarantee {
        Guarantee::new(Promise::Pure(Epsilon::parse(text).unwrap()), person())
    }

    #[test]
    fn ten_tenths_are_one() {
        let mut spending = Spending::none(Budget::new(Promise::Pure(Epsilon::parse("1").unwrap()), person()));
        for _ in 0..10 {
            spending.charge(&pure("0.1")).unwrap();
        }
        assert_eq!(spending.remaining(), Promise::Pure(Epsilon::ZERO));
        assert!(spending.fits(&pure("0")));
        let before = spending.clone();
        let refusal = spending.charge(&pure("1e-300")).unwrap_err();
        assert!(refusal.to_string().contains("hint:"));
        assert_eq!(spending, before);
    }

    #[test]
    fn other_people_have_other_budgets() {
        let spending = Spending::none(Budget::new(Promise::Pure(Epsilon::parse("1").unwrap()), person()));
        let row = Guarantee::new(
            Promise::Pure(Epsilon::ZERO),
            PrivacyUnit::new("row", Neighbors::AddRemove),
        );
        assert!(matches!(spending.after(&row), Err(Error::DifferentUnits { .. })));
    }

    #[test]
    fn pure_costs_count_one_by_one_under_a_concentrated_limit() {
        let mut spending = Spending::none(Budget::new(
            // A hundred times 0.1·tanh(0.05), each rounded up to 15 digits, exactly.
            Promise::Concentrated(Rho::parse("0.4995837495788").unwrap()),
            person(),
        ));
        for _ in 0..100 {
            spending.charge(&pure("0.1")).unwrap();
        }
        assert_eq!(spending.remaining(), Promise::Concentrated(Rho::ZERO));
        let approximate = Promise::Approximate(Epsilon::ZERO, Delta::parse("1e-9").unwrap());
        assert_eq!(
            spending.after(&Guarantee::new(approximate, person())),
            Err(Error::MixedPromises)
        );
    }

    #[test]
    fn a_pure_limit_allows_no_delta() {
        let spending = Spending::none(Budget::new(Promise::Pure(Epsilon::parse("1").unwrap()), person()));
        let approximate = Promise::Approximate(Epsilon::ZERO, Delta::parse("1e-9").unwrap());
        assert!(!spending.fits(&Guarantee::new(approximate, person())));
    }
}
