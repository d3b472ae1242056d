use crate::{Accuracy, Aggregate, Error, Sensitivity};
use accounting::{Event, Neighbors, Promise};
use noise::Grid;

/// What a mechanism states before it sees data: parameters only.
///
/// Only this crate makes them, in the constructor of a mechanism, beside the proof.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    sensitivity: Sensitivity,
    grid: Option<Grid>,
    requires: Option<Neighbors>,
    event: Event,
    promise: Promise,
    accuracy: Accuracy,
}

impl Terms {
    /// On any grid, for any neighbours.
    pub(crate) fn new(sensitivity: Sensitivity, event: Event, promise: Promise, accuracy: Accuracy) -> Self {
        Self {
            sensitivity,
            grid: None,
            requires: None,
            event,
            promise,
            accuracy,
        }
    }

    /// For inputs on this grid only.
    pub(crate) fn on(self, grid: Grid) -> Self {
        Self {
            grid: Some(grid),
            ..self
        }
    }

    /// For this relation of neighbours only.
    pub(crate) fn only_for(self, neighbors: Neighbors) -> Self {
        Self {
            requires: Some(neighbors),
            ..self
        }
    }

    /// The same with another accuracy.
    pub(crate) fn with_accuracy(self, accuracy: Accuracy) -> Self {
        Self { accuracy, ..self }
    }

    /// What inputs the mechanism was calibrated for: no unit may move an input further than this.
    pub fn sensitivity(&self) -> &Sensitivity {
        &self.sensitivity
    }

    /// The grid its noise lives on, or `None` when the grid of an input does not matter.
    pub fn grid(&self) -> Option<Grid> {
        self.grid
    }

    /// The only relation of neighbours for which its proof holds, or `None` when the sensitivity is all that matters.
    ///
    /// One answer from each unit, for instance, tells how many units there are: that is private only if neighbours have equally many.
    pub fn requires(&self) -> Option<Neighbors> {
        self.requires
    }

    /// What one run is, as data.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// What one run promises.
    pub fn promise(&self) -> &Promise {
        &self.promise
    }

    /// How far the output may be from the truth, known before drawing.
    pub fn accuracy(&self) -> &Accuracy {
        &self.accuracy
    }

    /// Whether an input is one that these terms were stated for.
    pub(crate) fn check<T>(&self, input: &Aggregate<T>) -> Result<(), Error> {
        if !self.sensitivity.covers(input.sensitivity()) {
            return Err(Error::SensitivityMismatch);
        }
        if self.grid.is_some_and(|grid| grid != input.grid()) {
            return Err(Error::GridMismatch);
        }
        if self
            .requires
            .is_some_and(|neighbors| neighbors != input.unit().neighbors)
        {
            return Err(Error::NeighborsMismatch);
        }
        Ok(())
    }
}
