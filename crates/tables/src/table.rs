//! A table that was put together from measurements.

use crate::Shape;
use serde::{Deserialize, Serialize};

/// A number with the variance of its noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number, unbiased.
    pub value: f64,
    /// The variance of its noise.
    pub variance: f64,
    /// Whether the noise is Gaussian, or else Laplace.
    pub gaussian: bool,
}

/// A table: a number for each cell, unbiased, possibly negative or fractional.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    pub(crate) shape: Shape,
    /// How many numbers each axis has.
    pub(crate) sizes: Vec<usize>,
    pub(crate) values: Vec<f64>,
    /// The variance of each cell is the sum over terms of the products of its factors.
    pub(crate) terms: Vec<Term>,
    pub(crate) gaussian: bool,
}

/// One residual's part in the variances of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Term {
    pub(crate) variance: f64,
    /// For each axis, for each of its numbers, the factor.
    pub(crate) factors: Vec<Vec<f64>>,
}

impl Term {
    /// This part of the variance of one cell.
    pub(crate) fn at(&self, cell: &[usize]) -> f64 {
        let factors = self
            .factors
            .iter()
            .zip(cell)
            .map(|(factors, code)| factors[*code]);
        self.variance * factors.product::<f64>()
    }
}

impl Estimate {
    /// An interval that holds the true number with this probability.
    ///
    /// # Panics
    /// If `confidence` is not strictly between 0 and 1.
    pub fn interval(&self, confidence: f64) -> (f64, f64) {
        let half = self.deviation() * deviations(confidence, self.gaussian);
        (self.value - half, self.value + half)
    }

    /// The standard deviation of its noise.
    pub fn deviation(&self) -> f64 {
        self.variance.sqrt()
    }
}

/// How many standard deviations around a number hold the true one with this probability.
///
/// A sum of Laplace noises has tails between those of one and those of a Gaussian of the same variance, so the wider of the two is taken.
///
/// # Panics
/// If `confidence` is not strictly between 0 and 1.
pub fn deviations(confidence: f64, gaussian: bool) -> f64 {
    let normal = mechanism::Accuracy::Gaussian { deviation: 1.0 }
        .half_width(confidence, 1)
        .expect("known before drawing");
    // What `half_width` adds for rounding to whole steps is no part of these numbers.
    let normal = normal - 0.5;
    if gaussian {
        normal
    } else {
        normal.max(-(1.0 - confidence).ln() / std::f64::consts::SQRT_2)
    }
}

impl Table {
    /// Its shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// How many numbers each axis has.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The numbers, in row-major order, the last axis fastest.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The place of a cell, given by its code on each axis.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn place_of(&self, cell: &[usize]) -> usize {
        assert_eq!(cell.len(), self.sizes.len(), "a cell has a code on each axis");
        cell.iter().zip(&self.sizes).fold(0, |place, (code, size)| {
            assert!(code < size, "no such cell");
            place * size + code
        })
    }

    /// The codes of the cell at this place.
    pub fn cell_at(&self, place: usize) -> Vec<usize> {
        let mut rest = place;
        let mut cell: Vec<usize> = self
            .sizes
            .iter()
            .rev()
            .map(|size| {
                let code = rest % size;
                rest /= size;
                code
            })
            .collect();
        cell.reverse();
        cell
    }

    /// The variance of the number at this place.
    pub fn variance(&self, place: usize) -> f64 {
        let cell = self.cell_at(place);
        self.terms.iter().map(|term| term.at(&cell)).sum()
    }

    /// The number at this place, with its variance.
    pub fn estimate(&self, place: usize) -> Estimate {
        Estimate {
            value: self.values[place],
            variance: self.variance(place),
            gaussian: self.gaussian,
        }
    }
}
