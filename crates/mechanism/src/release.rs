use crate::{Accuracy, Receipt};
use noise::Grid;

/// A public answer: its value, how far it may be off, and the receipt of what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Release<T> {
    value: T,
    accuracy: Accuracy,
    grid: Grid,
    receipt: Receipt,
}

impl<T> Release<T> {
    pub(crate) fn new(value: T, accuracy: Accuracy, grid: Grid, receipt: Receipt) -> Self {
        Self {
            value,
            accuracy,
            grid,
            receipt,
        }
    }

    /// The answer, in grid steps if it is a number.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// The answer alone.
    pub fn into_value(self) -> T {
        self.value
    }

    /// How far it may be from the truth.
    pub fn accuracy(&self) -> &Accuracy {
        &self.accuracy
    }

    /// The grid of its steps.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// What it cost.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// Any function of a release has the guarantee of the release: post-processing (Dwork and Roth 2014, Proposition 2.1). Free.
    ///
    /// What is known of the accuracy does not carry over to an arbitrary function.
    pub fn map<U>(self, process: impl FnOnce(T) -> U) -> Release<U> {
        let accuracy = Accuracy::DependsOnData;
        Release {
            value: process(self.value),
            accuracy,
            grid: self.grid,
            receipt: self.receipt,
        }
    }
}

impl Release<i64> {
    /// The answer as a real number.
    pub fn real(&self) -> f64 {
        self.grid.value(self.value)
    }

    /// An interval around the answer that holds the true value with this probability; `None` when that would depend on the data.
    pub fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let half = self.accuracy.half_width(confidence, 1)? * self.grid.value(1);
        Some((self.real() - half, self.real() + half))
    }
}

impl Release<Vec<i64>> {
    /// The answers as real numbers.
    pub fn reals(&self) -> Vec<f64> {
        self.value.iter().map(|steps| self.grid.value(*steps)).collect()
    }

    /// Intervals that hold all true values together with this probability; `None` when that would depend on the data.
    pub fn intervals(&self, confidence: f64) -> Option<Vec<(f64, f64)>> {
        let half = self.accuracy.half_width(confidence, self.value.len())? * self.grid.value(1);
        Some(
            self.reals()
                .into_iter()
                .map(|real| (real - half, real + half))
                .collect(),
        )
    }
}
