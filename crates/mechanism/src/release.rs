use crate::{Accuracy, Receipt};
use exact::{Rational, from_f64, to_f64_down, to_f64_up};
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

    /// Any function of a release has the guarantee of the release: post-processing (Dwork and Roth 2014). Free.
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

    /// An interval around the answer that holds the true value with this probability; `None` when that would depend on the data, or when
    /// the answer was cut at the end of what an integer holds.
    pub fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        around(self.value, self.accuracy.half_width(confidence, 1)?, self.grid)
    }
}

impl Release<Vec<i64>> {
    /// The answers as real numbers.
    pub fn reals(&self) -> Vec<f64> {
        self.value.iter().map(|steps| self.grid.value(*steps)).collect()
    }

    /// Intervals that hold all true values together with this probability; `None` when that would depend on the data, or an answer was cut.
    pub fn intervals(&self, confidence: f64) -> Option<Vec<(f64, f64)>> {
        let half = self.accuracy.half_width(confidence, self.value.len())?;
        self.value
            .iter()
            .map(|steps| around(*steps, half, self.grid))
            .collect()
    }
}

/// From `half` steps below to `half` steps above, rounded outward to floats.
fn around(steps: i64, half: f64, grid: Grid) -> Option<(f64, f64)> {
    if steps == i64::MIN || steps == i64::MAX {
        return None;
    }
    let (center, half) = (Rational::from(steps), from_f64(half)?);
    Some((
        to_f64_down(&((&center - &half) * grid.step())),
        to_f64_up(&((center + half) * grid.step())),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_hold_what_floats_cannot() {
        let grid = Grid::new(0);
        let (low, high) = around((1 << 62) + 1, 0.0, grid).unwrap();
        assert!(from_f64(low).unwrap() <= Rational::from((1i64 << 62) + 1));
        assert!(from_f64(high).unwrap() >= Rational::from((1i64 << 62) + 1));
        assert_eq!(around(10, 2.5, Grid::new(-1)), Some((3.75, 6.25)));
        assert_eq!(
            around(i64::MAX, 1.0, grid),
            None,
            "a sum that was cut says nothing of what it was"
        );
    }
}
