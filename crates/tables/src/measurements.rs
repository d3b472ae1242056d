//! What left: noisy integers, from which every table follows.

use crate::{Domain, Error, Estimate, Shape, Table};
use serde::{Deserialize, Serialize};

/// What was measured, with its noise. Public, and enough by itself: what follows from it costs nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurements {
    domain: Domain,
    wanted: Vec<Shape>,
    values: Vec<Vec<i64>>,
}

impl Measurements {
    /// The domain.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The shapes of the tables that were wanted, in the order of the workload.
    pub fn wanted(&self) -> &[Shape] {
        &self.wanted
    }

    /// The integers, a vector for each residual, in the order of the plan.
    pub fn values(&self) -> &[Vec<i64>] {
        &self.values
    }

    /// Whether a table of this shape follows from them.
    pub fn covers(&self, shape: &Shape) -> bool {
        let _ = shape;
        todo!("under construction")
    }

    /// The table of this shape: unbiased, with the least variance that these measurements allow.
    ///
    /// # Errors
    /// When it does not follow from them.
    pub fn table(&self, shape: &Shape) -> Result<Table, Error> {
        let _ = shape;
        todo!("under construction")
    }

    /// All wanted tables, on as many threads as there are cores.
    pub fn tables(&self) -> Vec<Table> {
        todo!("under construction")
    }

    /// The sum over all rows of the product of one factor for each attribute, by its value at the finest level: counts of any product of
    /// sets, such as `age in 30..40 and sex = 2`. Attributes that are not named have the factor 1.
    ///
    /// # Errors
    /// When it does not follow from the measurements.
    pub fn sum(&self, factors: &[(usize, Vec<f64>)]) -> Result<Estimate, Error> {
        let _ = factors;
        todo!("under construction")
    }

    /// The covariance of two such sums, which a ratio of them needs.
    ///
    /// # Errors
    /// As [`Measurements::sum`].
    pub fn covariance(&self, one: &[(usize, Vec<f64>)], other: &[(usize, Vec<f64>)]) -> Result<f64, Error> {
        let _ = (one, other);
        todo!("under construction")
    }
}
