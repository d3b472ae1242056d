//! One filter: for everybody, or for one analyst.

use accounting::{
    Budget, Delta, Epsilon, Error, Event, Guarantee, PrivacyUnit, Promise, RenyiFilter, RenyiOrders, Spending,
};
use serde::{Deserialize, Serialize};

/// Admits events while a budget certainly holds, also for events that are chosen after seeing earlier
/// answers.
///
/// # Privacy
/// Claim: everything that was admitted keeps the budget. It does not matter who chose it, or how it depends
/// on earlier answers.
/// Source: for (ε, δ) the filter of [`RenyiFilter`], for ε and ρ that of [`Spending`]; the proofs are there.
/// Events decide, never a promise that somebody stated beside them, so that what is asked by [`Gate::fits`]
/// and what is charged cannot differ.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Gate {
    /// (ε, δ) with δ > 0: sums of Rényi divergences.
    Renyi(Box<RenyiFilter>),
    /// ε or ρ: their sums.
    Sums(Spending),
    /// More was charged than this budget allows, under earlier rules: nothing is admitted any more.
    Shut(Budget),
}

impl Gate {
    /// With nothing spent.
    pub(crate) fn new(budget: Budget, reserve: &Delta) -> Result<Self, Error> {
        match budget.limit() {
            Promise::Approximate(epsilon, delta) if *delta == Delta::ZERO => {
                // (ε, 0)-DP is ε-DP.
                let limit = Promise::Pure(epsilon.clone());
                Ok(Self::Sums(Spending::none(Budget::new(
                    limit,
                    budget.unit().clone(),
                ))))
            }
            Promise::Approximate(epsilon, delta) => {
                let free = delta.checked_sub(reserve).ok_or(Error::NeedsDelta)?;
                let orders = RenyiOrders::suited_to(epsilon, &free)?;
                let filter = RenyiFilter::with_reserve(budget, orders, reserve.clone())?;
                Ok(Self::Renyi(Box::new(filter)))
            }
            Promise::Pure(_) | Promise::Concentrated(_) => Ok(Self::Sums(Spending::none(budget))),
        }
    }

    pub(crate) fn budget(&self) -> &Budget {
        match self {
            Self::Renyi(filter) => filter.budget(),
            Self::Sums(spending) => spending.budget(),
            Self::Shut(budget) => budget,
        }
    }

    /// Charges `event`, which is about `unit`; or refuses it, and nothing changed.
    pub(crate) fn charge(&mut self, event: &Event, unit: &PrivacyUnit) -> Result<(), Error> {
        if unit != self.budget().unit() {
            return Err(Error::DifferentUnits {
                left: self.budget().unit().to_string(),
                right: unit.to_string(),
            });
        }
        match self {
            Self::Renyi(filter) => filter.charge(event),
            Self::Sums(spending) => {
                let cost = match spending.budget().limit() {
                    Promise::Concentrated(_) => {
                        event.check_unit(unit)?;
                        Guarantee::new(Promise::Concentrated(event.concentrated()?), unit.clone())
                    }
                    _ => event.guarantee(unit, &Delta::ZERO)?,
                };
                spending.charge(&cost)
            }
            Self::Shut(budget) => Err(Error::OverBudget {
                cost: "a further release".to_owned(),
                remaining: "nothing".to_owned(),
                limit: budget.limit().to_string(),
            }),
        }
    }

    /// Counts `event` whatever it costs. When it does not fit, nothing does from now on.
    pub(crate) fn absorb(&mut self, event: &Event, unit: &PrivacyUnit) -> Result<(), Error> {
        let admitted = self.charge(event, unit);
        if admitted.is_err() {
            *self = Self::Shut(self.budget().clone());
        }
        admitted
    }

    /// Whether `event` would be admitted.
    pub(crate) fn fits(&self, event: &Event) -> bool {
        let unit = self.budget().unit().clone();
        self.clone().charge(event, &unit).is_ok()
    }

    /// How much of the budget is used, in the currency of its limit, as this filter counts; `None` if more
    /// was charged than it allows.
    pub(crate) fn used(&self) -> Option<Promise> {
        match self {
            Self::Renyi(filter) => self.at_the_limits_delta(filter.used()),
            Self::Sums(spending) => Some(spending.spent().clone()),
            Self::Shut(_) => None,
        }
    }

    /// The same with `event` charged as well, whether or not it fits; `None` if there is no such number.
    pub(crate) fn used_with(&self, event: &Event) -> Option<Promise> {
        match self {
            Self::Renyi(filter) => self.at_the_limits_delta(filter.used_with(event).ok()??),
            Self::Sums(spending) => {
                let cost = match spending.budget().limit() {
                    Promise::Concentrated(_) => Promise::Concentrated(event.concentrated().ok()?),
                    _ => event.promise(&Delta::ZERO).ok()?,
                };
                spending.spent().compose(&cost).ok()
            }
            Self::Shut(_) => None,
        }
    }

    fn at_the_limits_delta(&self, epsilon: Epsilon) -> Option<Promise> {
        match self.budget().limit() {
            Promise::Approximate(_, delta) => Some(Promise::Approximate(epsilon, delta.clone())),
            _ => None,
        }
    }

    /// The δ that events carried, of what was set aside for them.
    pub(crate) fn reserve_used(&self) -> Delta {
        match self {
            Self::Renyi(filter) => filter.reserve_used().clone(),
            Self::Sums(_) | Self::Shut(_) => Delta::ZERO,
        }
    }

    /// What was counted, and nothing that merely proves that it fits: the weights by which a filter blends
    /// its orders are a certificate that is checked whenever it is read, and another machine may find other
    /// ones.
    pub(crate) fn counted(&self) -> serde_json::Value {
        let mut counted = serde_json::to_value(self).unwrap_or_default();
        if let Some(state) = counted
            .get_mut("renyi")
            .and_then(serde_json::Value::as_object_mut)
        {
            state.remove("blend");
        }
        counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use accounting::{Neighbors, NoiseSupport, Ratio, Rho, Sampler};

    fn person() -> PrivacyUnit {
        PrivacyUnit::new("person", Neighbors::AddRemove)
    }

    fn epsilon(text: &str) -> Epsilon {
        Epsilon::parse(text).unwrap()
    }

    fn gate(limit: Promise) -> Gate {
        Gate::new(Budget::new(limit, person()), &Delta::ZERO).unwrap()
    }

    fn gaussian(multiplier_squared: &str) -> Event {
        Event::Gaussian {
            multiplier_squared: Ratio::parse(multiplier_squared).unwrap(),
            on: NoiseSupport::Rounded,
        }
    }

    fn pure(text: &str) -> Event {
        Event::Pure {
            epsilon: epsilon(text),
        }
    }

    #[test]
    fn each_currency_has_its_filter() {
        let mut by_epsilon = gate(Promise::Pure(epsilon("1")));
        assert!(by_epsilon.charge(&pure("0.4"), &person()).is_ok());
        assert!(by_epsilon.charge(&pure("0.6"), &person()).is_ok());
        assert!(by_epsilon.charge(&pure("1e-9"), &person()).is_err());
        assert!(by_epsilon.charge(&gaussian("100"), &person()).is_err());

        // ρ = 1/2σ² each, charged by the event: ten of 0.05.
        let mut by_rho = gate(Promise::Concentrated(Rho::parse("0.5").unwrap()));
        for _ in 0..10 {
            by_rho.charge(&gaussian("10"), &person()).unwrap();
        }
        assert!(by_rho.charge(&gaussian("1e9"), &person()).is_err());

        let delta = Delta::parse("1e-6").unwrap();
        let by_renyi = gate(Promise::Approximate(epsilon("1"), delta));
        assert!(matches!(by_renyi, Gate::Renyi(_)) && by_renyi.fits(&gaussian("100")));
        let no_delta = gate(Promise::Approximate(epsilon("1"), Delta::ZERO));
        assert!(matches!(no_delta, Gate::Sums(_)) && no_delta.fits(&pure("1")));
    }

    #[test]
    fn what_is_used_is_in_the_currency_of_the_limit() {
        let delta = Delta::parse("1e-6").unwrap();
        for (limit, event, used, refused) in [
            (Promise::Pure(epsilon("1")), pure("0.4"), "ε = 0.4", pure("0.7")),
            (
                Promise::Concentrated(Rho::parse("0.5").unwrap()),
                gaussian("10"),
                "ρ = 0.05",
                gaussian("1"),
            ),
            (
                Promise::Approximate(epsilon("1"), delta),
                pure("0.4"),
                "ε = 0.4, δ = 0.000001",
                gaussian("1"),
            ),
        ] {
            let mut gate = gate(limit.clone());
            gate.charge(&event, &person()).unwrap();
            assert_eq!(gate.used().unwrap().to_string(), used);
            let over = gate.used_with(&refused).unwrap();
            assert!(!limit.covers(&over) && !gate.fits(&refused), "{over}");
            assert!(gate.absorb(&refused, &person()).is_err());
            assert_eq!(gate.used(), None);
        }
    }

    #[test]
    fn other_units_and_other_neighbours_are_refused() {
        let row = PrivacyUnit::new("row", Neighbors::AddRemove);
        let shuffled = Event::SampledGaussian {
            sampler: Sampler::Shuffled,
            multiplier_squared: Ratio::parse("100").unwrap(),
        };
        for limit in [
            Promise::Pure(epsilon("9")),
            Promise::Concentrated(Rho::parse("9").unwrap()),
            Promise::Approximate(epsilon("9"), Delta::parse("1e-6").unwrap()),
        ] {
            let mut gate = gate(limit);
            assert!(matches!(
                gate.charge(&pure("0.1"), &row),
                Err(Error::DifferentUnits { .. })
            ));
            assert!(gate.charge(&shuffled, &person()).is_err());
        }
    }

    #[test]
    fn what_was_absorbed_beyond_the_budget_shuts_it() {
        let mut gate = gate(Promise::Pure(epsilon("1")));
        gate.absorb(&pure("0.9"), &person()).unwrap();
        assert!(gate.fits(&pure("0.1")));
        gate.absorb(&pure("0.2"), &person()).unwrap_err();
        assert!(!gate.fits(&pure("0")));
        let refusal = gate.charge(&pure("0"), &person()).unwrap_err();
        assert!(
            refusal.to_string().contains("nothing remains of ε = 1"),
            "{refusal}"
        );
    }

    #[test]
    fn states_are_read_back() {
        let delta = Delta::parse("1e-6").unwrap();
        for limit in [
            Promise::Pure(epsilon("1")),
            Promise::Approximate(epsilon("1"), delta),
        ] {
            let mut gate = gate(limit);
            gate.charge(&pure("0.25"), &person()).unwrap();
            let text = serde_json::to_string(&gate).unwrap();
            let read: Gate = serde_json::from_str(&text).unwrap();
            assert_eq!(read.counted(), gate.counted());
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
    }
}
