//! Sums of divergences, order by order.

use super::divergence::Divergence;
use super::orders::RenyiOrders;
use crate::{Delta, Error, Event, PrivacyUnit, Promise, renyi_divergence};
use exact::Rational;

/// This many different simple events are priced once and remembered: a training loop charges the same one a million times.
const REMEMBERED: usize = 16;

/// What an event costs.
pub(super) struct Cost {
    /// Its divergence at each order, and last its pure ε, which is the divergence of order ∞.
    pub(super) divergences: Vec<Divergence>,
    /// The δ that its (ε, δ) parts carry. Their ε is in the divergences, as if they were pure.
    pub(super) own: Rational,
}

/// What was charged so far.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) unit: PrivacyUnit,
    pub(super) orders: RenyiOrders,
    /// One sum an order, and last that of order ∞.
    pub(super) sums: Vec<Divergence>,
    /// Prices of simple events, the latest first. What it holds changes no result.
    known: Vec<(Event, Vec<Divergence>)>,
}

impl PartialEq for Tally {
    fn eq(&self, other: &Self) -> bool {
        (&self.unit, &self.orders, &self.sums) == (&other.unit, &other.orders, &other.sums)
    }
}

impl Tally {
    pub(super) fn new(unit: PrivacyUnit, orders: RenyiOrders) -> Self {
        let sums = vec![Divergence::ZERO; orders.len() + 1];
        Self {
            unit,
            orders,
            sums,
            known: Vec::new(),
        }
    }

    /// With sums that were read.
    pub(super) fn with_sums(
        unit: PrivacyUnit,
        orders: RenyiOrders,
        sums: Vec<Divergence>,
    ) -> Result<Self, Error> {
        if sums.len() != orders.len() + 1 {
            return Err(Error::NotAState {
                what: format!("{} sums for {} orders and the order ∞", sums.len(), orders.len()),
            });
        }
        Ok(Self {
            sums,
            ..Self::new(unit, orders)
        })
    }

    /// Adaptive composition adds divergences up, so an event costs the sum over the simple events in it.
    pub(super) fn cost(&mut self, event: &Event) -> Result<Cost, Error> {
        let mut cost = Cost {
            divergences: vec![Divergence::ZERO; self.sums.len()],
            own: Rational::ZERO,
        };
        for (simple, count) in event.leaves() {
            // More often than 2¹²⁸ times is infinite for whatever costs anything.
            let times = u128::try_from(&count).unwrap_or(u128::MAX);
            match simple {
                Event::Approximate { epsilon, delta } => {
                    cost.own += delta.as_rational() * Rational::from(count);
                    let epsilon = epsilon.clone();
                    self.add(&mut cost, &Event::Pure { epsilon }, times)?;
                }
                simple => self.add(&mut cost, simple, times)?,
            }
        }
        Ok(cost)
    }

    fn add(&mut self, cost: &mut Cost, simple: &Event, count: u128) -> Result<(), Error> {
        for (sum, price) in cost.divergences.iter_mut().zip(self.price(simple)?) {
            *sum = sum.plus(price.times(count));
        }
        Ok(())
    }

    fn price(&mut self, simple: &Event) -> Result<&[Divergence], Error> {
        match self.known.iter().position(|(event, _)| event == simple) {
            Some(place) => self.known[..=place].rotate_right(1),
            None => {
                let price = self.price_anew(simple)?;
                self.known.truncate(REMEMBERED - 1);
                self.known.insert(0, (simple.clone(), price));
            }
        }
        Ok(&self.known[0].1)
    }

    /// An order at which no bound is known counts as infinite, and the others go on. Refused only when there is none at all.
    fn price_anew(&self, simple: &Event) -> Result<Vec<Divergence>, Error> {
        let pure = match simple.promise(&Delta::ZERO) {
            Ok(Promise::Pure(epsilon)) => Divergence::rounded_up(epsilon.as_rational()),
            _ => Divergence::INFINITE,
        };
        let mut reason = None;
        let mut price: Vec<Divergence> = Vec::with_capacity(self.sums.len());
        for &order in self.orders.as_slice() {
            let bound = match renyi_divergence(simple, &self.unit, order) {
                Ok(bound) => Divergence::at_least(bound),
                Err(error) => {
                    reason.get_or_insert(error);
                    Divergence::INFINITE
                }
            };
            // Divergences grow with the order, so that of order ∞ is above them all.
            price.push(bound.min(pure));
        }
        price.push(pure);
        match reason {
            Some(reason) if !price.iter().any(|bound| bound.is_finite()) => Err(reason),
            _ => Ok(price),
        }
    }

    /// The sums after `cost`.
    pub(super) fn after(&self, cost: &Cost) -> Vec<Divergence> {
        self.sums
            .iter()
            .zip(&cost.divergences)
            .map(|(sum, more)| sum.plus(*more))
            .collect()
    }

    /// Σ ε of everything, when all of it was pure.
    pub(super) fn pure(sums: &[Divergence]) -> Divergence {
        sums.last().copied().unwrap_or(Divergence::INFINITE)
    }
}
