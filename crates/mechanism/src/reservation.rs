//! A question that releases several things is charged once, for all of them, before its data is read.

use crate::{Account, Aggregate, Charge, Error, Ledger, Mechanism, Receipt, Release, Stated, Terms};
use accounting::{Curve, Delta, Epsilon, Event, Guarantee, PrivacyUnit, Promise};

impl Charge {
    /// What running all of these once costs together, with a total δ of at most `delta`. Parameters only.
    ///
    /// The events are composed as they are, so a ledger may count them better than the guarantee tells, which is: sums of ε for what is
    /// pure; one Gaussian for all Gaussians, with what the others leave of δ (their curves compose to one, and parts add up; Dwork and
    /// Roth 2014).
    ///
    /// # Errors
    /// When one of them is proved for other neighbours, or `delta` does not suffice.
    pub fn for_all(
        mechanisms: &[&dyn Stated],
        unit: &PrivacyUnit,
        delta: &Delta,
        purpose: &str,
    ) -> Result<Self, Error> {
        let mut events = Vec::with_capacity(mechanisms.len());
        for mechanism in mechanisms {
            let terms = mechanism.terms();
            if terms
                .requires()
                .is_some_and(|neighbors| neighbors != unit.neighbors)
            {
                return Err(Error::NeighborsMismatch);
            }
            match terms.event() {
                Event::Composed(parts) => events.extend(parts.iter().cloned()),
                event => events.push(event.clone()),
            }
        }
        let promise = together(&events, unit, delta)?;
        Ok(Self {
            event: Event::Composed(events),
            guarantee: Guarantee::new(promise, unit.clone()),
            purpose: purpose.to_owned(),
        })
    }
}

/// The promise of [`Charge::for_all`].
fn together(events: &[Event], unit: &PrivacyUnit, delta: &Delta) -> Result<Promise, Error> {
    let (gaussian, other): (Vec<Event>, Vec<Event>) = events
        .iter()
        .cloned()
        .partition(|event| matches!(event, Event::Gaussian { .. }));
    let other = Event::Composed(other).promise(delta)?;
    if gaussian.is_empty() {
        return Ok(other);
    }
    let (spent, leaked) = match other {
        Promise::Pure(epsilon) => (epsilon, Delta::ZERO),
        Promise::Approximate(epsilon, delta) => (epsilon, delta),
        Promise::Concentrated(_) => return Err(accounting::Error::MixedPromises.into()),
    };
    let left = delta
        .checked_sub(&leaked)
        .filter(|left| *left > Delta::ZERO)
        .ok_or(Error::NoDelta)?;
    let noise = Curve::of(&Event::Composed(gaussian), unit)?.epsilon(&left)?.upper;
    let sum = spent.as_rational() + noise.as_rational();
    Ok(Promise::Approximate(Epsilon::exactly_or_up(&sum)?, delta.clone()))
}

/// What was charged together and not drawn yet: one ticket for each mechanism, in their order, for data that need not have been read when it was charged.
///
/// Nothing is ever paid back: what is not drawn stays spent.
#[derive(Debug)]
pub struct Reservation {
    receipt: Receipt,
    tickets: Vec<Ticket>,
}

impl Reservation {
    /// What was charged.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// The tickets, in the order of the mechanisms.
    pub fn into_tickets(self) -> Vec<Ticket> {
        self.tickets
    }
}

/// Leave to run one mechanism once. It is used up by [`Account::draw`], and cannot be copied.
#[derive(Debug)]
#[must_use = "what is not drawn stays spent"]
pub struct Ticket {
    terms: Terms,
    unit: PrivacyUnit,
    receipt: Receipt,
    process: u32,
}

impl<L: Ledger> Account<L> {
    /// Charges for one run of each mechanism. When this returns, the charge is durable, and the data may be read.
    ///
    /// # Errors
    /// As [`Charge::for_all`], or when the ledger refuses; then nothing was spent.
    pub fn reserve(
        &mut self,
        mechanisms: &[&dyn Stated],
        delta: &Delta,
        purpose: &str,
    ) -> Result<Reservation, Error> {
        let unit = self.ledger().budget().unit().clone();
        let charge = Charge::for_all(mechanisms, &unit, delta, purpose)?;
        let receipt = self.ledger_mut().charge(charge)?;
        let ticket = |mechanism: &&dyn Stated| Ticket {
            terms: mechanism.terms().clone(),
            unit: unit.clone(),
            receipt: receipt.clone(),
            process: std::process::id(),
        };
        Ok(Reservation {
            tickets: mechanisms.iter().map(ticket).collect(),
            receipt,
        })
    }

    /// Draws what the ticket is for. `mechanism` must be the one that was reserved.
    ///
    /// # Errors
    /// When it is not, or the input is about another unit, grid or sensitivity. Nothing was drawn then, and the ticket is gone.
    pub fn draw<I, M: Mechanism<I>>(
        &mut self,
        ticket: Ticket,
        mechanism: &M,
        input: Aggregate<I>,
    ) -> Result<Release<M::Output>, Error> {
        // A forked copy would draw the same thing a second time.
        if ticket.process != std::process::id() {
            return Err(Error::Forked);
        }
        if ticket.terms != *mechanism.terms() {
            return Err(Error::NotReserved);
        }
        if *input.unit() != ticket.unit {
            return Err(Error::UnitMismatch);
        }
        mechanism.terms().check(&input)?;
        let grid = input.grid();
        let value = mechanism.draw(input, self.mint());
        Ok(Release::new(
            value,
            mechanism.terms().accuracy().clone(),
            grid,
            ticket.receipt,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Gaussian, GaussianThreshold, Laplace, MemoryLedger, Sensitive, Sensitivity, SquaredMultiplier,
    };
    use accounting::{Budget, Neighbors};
    use exact::ratio;
    use noise::Grid;

    fn person() -> PrivacyUnit {
        PrivacyUnit::new("person", Neighbors::AddRemove)
    }

    fn account(epsilon: &str, delta: &str) -> Account<MemoryLedger> {
        let limit = Promise::Approximate(Epsilon::parse(epsilon).unwrap(), Delta::parse(delta).unwrap());
        Account::open(MemoryLedger::new(Budget::new(limit, person()))).unwrap()
    }

    fn laplace(epsilon: &str) -> Laplace {
        let one = Sensitivity::scalar(1).unwrap();
        Laplace::new(Epsilon::parse(epsilon).unwrap(), one, Grid::new(0)).unwrap()
    }

    fn count(value: i64) -> Aggregate<i64> {
        Aggregate::claimed(
            Sensitive::new(value),
            Sensitivity::scalar(1).unwrap(),
            person(),
            Grid::new(0),
        )
    }

    #[test]
    fn each_reserved_draw_happens_once() {
        let (one, other) = (laplace("0.5"), laplace("0.25"));
        let mut account = account("1", "1e-6");
        let reservation = account
            .reserve(&[&one, &other], &Delta::ZERO, "two counts")
            .unwrap();
        assert_eq!(
            account.ledger().charges().len(),
            1,
            "charged once, before any data"
        );
        let charged = &reservation.receipt().charge.guarantee;
        assert_eq!(*charged.promise(), Promise::Pure(Epsilon::parse("0.75").unwrap()));
        let [first, second] = <[Ticket; 2]>::try_from(reservation.into_tickets()).unwrap();
        assert!(account.draw(first, &one, count(1)).is_ok());
        // The ticket of one mechanism is none for another.
        let swapped = account.draw(second, &one, count(1));
        assert_eq!(swapped.unwrap_err(), Error::NotReserved);
        assert_eq!(account.ledger().charges().len(), 1);
    }

    #[test]
    fn a_wrong_input_is_not_drawn() {
        let one = laplace("0.25");
        let mut account = account("1", "1e-6");
        let reservation = account
            .reserve(&[&one, &one], &Delta::ZERO, "two counts")
            .unwrap();
        let [first, second] = <[Ticket; 2]>::try_from(reservation.into_tickets()).unwrap();
        let wide = Aggregate::claimed(
            Sensitive::new(1),
            Sensitivity::scalar(2).unwrap(),
            person(),
            Grid::new(0),
        );
        let refused = account.draw(first, &one, wide);
        assert_eq!(refused.unwrap_err(), Error::SensitivityMismatch);
        let other_unit = PrivacyUnit::new("household", Neighbors::AddRemove);
        let stranger = Aggregate::claimed(
            Sensitive::new(1),
            Sensitivity::scalar(1).unwrap(),
            other_unit,
            Grid::new(0),
        );
        let refused = account.draw(second, &one, stranger);
        assert_eq!(refused.unwrap_err(), Error::UnitMismatch);
    }

    #[test]
    fn gaussians_cost_as_one_and_leaks_add_up() {
        let delta = Delta::parse("1e-6").unwrap();
        let counts = Sensitivity::vector(4, 1).unwrap();
        let noise = Gaussian::with_squared_multiplier(
            &SquaredMultiplier::from_square(ratio(50, 1)),
            counts.clone(),
            Grid::new(0),
        )
        .unwrap();
        let pair = Charge::for_all(&[&noise, &noise], &person(), &delta, "").unwrap();
        let single = Gaussian::with_squared_multiplier(
            &SquaredMultiplier::from_square(ratio(25, 1)),
            counts.clone(),
            Grid::new(0),
        )
        .unwrap();
        let single = Charge::for_all(&[&single], &person(), &delta, "").unwrap();
        let epsilon = |charge: &Charge| match charge.guarantee.promise() {
            Promise::Approximate(epsilon, _) => epsilon.to_f64_up(),
            other => panic!("{other}"),
        };
        assert!((epsilon(&pair) - epsilon(&single)).abs() < 1e-9);
        let leak = Delta::parse("4e-7").unwrap();
        let groups = GaussianThreshold::with_squared_multiplier(
            &SquaredMultiplier::from_square(ratio(50, 1)),
            &leak,
            counts,
        )
        .unwrap();
        let all = Charge::for_all(&[&noise, &groups], &person(), &delta, "").unwrap();
        // The same Gaussians with 6e-7 of δ left for them.
        assert!(epsilon(&all) > epsilon(&pair) && epsilon(&all) < 1.03 * epsilon(&pair));
        let nothing_left = Charge::for_all(&[&noise, &groups], &person(), &leak, "");
        assert!(nothing_left.is_err());
    }

    #[test]
    fn a_refused_reservation_spends_nothing() {
        let mut account = account("0.4", "1e-6");
        let one = laplace("0.5");
        assert!(matches!(
            account.reserve(&[&one], &Delta::ZERO, "too much"),
            Err(Error::Refused(_))
        ));
        assert!(account.ledger().charges().is_empty());
        let small = laplace("0.25");
        assert!(account.reserve(&[&small], &Delta::ZERO, "enough").is_ok());
    }
}
