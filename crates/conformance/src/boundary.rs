//! Computations on synthetic data through a real account, watched by the grey box.
//!
//! The recorder must see what goes into a mechanism, and only a mechanism takes a private value out of an
//! [`Aggregate`]. No back door is opened for that: the value is read through the front door, by a second
//! release whose noise is zero but for a probability of e⁻¹⁰⁰⁰. That costs an ε in the thousands, which no
//! budget for data of people allows. The data here is synthetic.

use crate::{Error, explained};
use accounting::{Delta, Epsilon, Neighbors, PrivacyUnit, Promise};
use audit::grey_box::{Call, Input, Limits, Recorder};
use exact::Rational;
use mechanism::{
    Account, Aggregate, Laplace, LaplaceThreshold, Mechanism, Points, Sensitive, Sensitivity, Stated,
    UnlimitedLedger,
};
use noise::Grid;
use std::cell::RefCell;

/// Noise of this rate is zero but for a probability of 2e^−rate.
const CERTAIN: u32 = 1000;

/// A real account, and whom it protects.
pub(crate) struct Boundary {
    account: RefCell<Account<UnlimitedLedger>>,
    neighbors: Neighbors,
    /// Those who read, each for one sensitivity and grid: making one takes longer than using it.
    readers: RefCell<Vec<Laplace>>,
}

impl Boundary {
    pub(crate) fn new(neighbors: Neighbors, seed: u64) -> Self {
        Self {
            account: RefCell::new(UnlimitedLedger::replayable(neighbors, seed)),
            neighbors,
            readers: RefCell::new(Vec::new()),
        }
    }

    pub(crate) fn unit(&self) -> PrivacyUnit {
        PrivacyUnit::new("person", self.neighbors)
    }

    /// The account, for what takes more than one release.
    pub(crate) fn account(&self) -> std::cell::RefMut<'_, Account<UnlimitedLedger>> {
        self.account.borrow_mut()
    }

    /// One release.
    pub(crate) fn draw<I, M: Mechanism<I>>(
        &self,
        mechanism: &M,
        input: Aggregate<I>,
    ) -> Result<M::Output, Error> {
        let release = self.account().release_by(mechanism, input, "audit self");
        release.map(|release| release.into_value()).map_err(explained)
    }

    /// What an aggregate holds.
    fn read<T: Points>(&self, aggregate: Aggregate<T>) -> Result<T, Error> {
        let reader = self.reader(aggregate.sensitivity(), aggregate.grid())?;
        self.draw(&reader, aggregate)
    }

    fn reader(&self, sensitivity: &Sensitivity, grid: Grid) -> Result<Laplace, Error> {
        let mut readers = self.readers.borrow_mut();
        let known = readers.iter().find(|reader| {
            reader.terms().sensitivity() == sensitivity && reader.terms().grid() == Some(grid)
        });
        if let Some(reader) = known {
            return Ok(reader.clone());
        }
        let epsilon =
            Epsilon::rounded_up(&(Rational::from(CERTAIN) * sensitivity.l1())).map_err(explained)?;
        let reader = Laplace::new(epsilon, sensitivity.clone(), grid).map_err(explained)?;
        readers.push(reader.clone());
        Ok(reader)
    }

    /// Releases numbers, and shows the recorder what went in. `make` is called twice, once to look and once
    /// to release.
    pub(crate) fn release<T, M>(
        &self,
        recorder: &mut Recorder,
        name: &str,
        mechanism: &M,
        make: impl Fn() -> Result<Aggregate<T>, Error>,
    ) -> Result<M::Output, Error>
    where
        T: Points,
        Input: From<T>,
        M: Mechanism<T>,
        M::Output: Clone + 'static,
    {
        let aggregate = make()?;
        let call = call(name, mechanism)?.moving(limits(aggregate.sensitivity()));
        let input = Input::from(self.read(aggregate)?);
        recorder.draw(call, input, || self.draw(mechanism, make()?))
    }

    /// What an aggregate of groups holds: from one in which every unit occurs twice, so that the threshold,
    /// which cannot be below 2 here, hides no group.
    pub(crate) fn read_groups<U: Ord + Clone>(
        &self,
        rows: &[(U, String)],
        groups_per_unit: u64,
    ) -> Result<Input, Error> {
        let twice: Vec<((U, bool), String)> = rows
            .iter()
            .flat_map(|(unit, group)| [false, true].map(|copy| ((unit.clone(), copy), group.clone())))
            .collect();
        let aggregate =
            Aggregate::groups(&Sensitive::new(twice), groups_per_unit, self.unit()).map_err(explained)?;
        let sensitivity = aggregate.sensitivity().clone();
        let epsilon =
            Epsilon::rounded_up(&(Rational::from(CERTAIN) * sensitivity.l1())).map_err(explained)?;
        let half = Delta::parse("0.5").map_err(explained)?;
        let reader = LaplaceThreshold::new(epsilon, half, sensitivity).map_err(explained)?;
        let groups = self.draw(&reader, aggregate)?;
        Ok(groups
            .into_iter()
            .map(|(name, count)| (name, count / 2))
            .collect())
    }
}

/// What a mechanism states, as a call.
pub(crate) fn call(name: &str, mechanism: &impl Stated) -> Result<Call, Error> {
    let terms = mechanism.terms();
    let (epsilon, delta) = match terms.promise() {
        Promise::Pure(epsilon) => (epsilon.as_rational().clone(), Rational::ZERO),
        Promise::Approximate(epsilon, delta) => (epsilon.as_rational().clone(), delta.as_rational().clone()),
        Promise::Concentrated(_) => {
            return Err(Error::new("the grey box adds up (ε, δ), not ρ"));
        }
    };
    Ok(Call::new(name, epsilon)
        .with_delta(delta)
        .with("event", format!("{:?}", terms.event())))
}

/// All norms of a sensitivity.
pub(crate) fn limits(sensitivity: &Sensitivity) -> Limits {
    Limits::coordinates(sensitivity.coordinates())
        .and(Limits::l1(sensitivity.l1().clone()))
        .and(Limits::l2_squared(sensitivity.l2_squared().clone()))
        .and(Limits::l_infinity(sensitivity.l_infinity().clone()))
}
