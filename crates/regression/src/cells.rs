//! What was released: a number for each statistic in each cell, with noise whose covariance is known.

use crate::matrix::{Matrix, dot};
use crate::planned::PlannedNoise;
use crate::{Error, Model};

/// Noisy statistics of a model's cells: for each statistic of [`Model::statistics`], a number for each cell.
#[derive(Clone, Debug)]
pub struct Cells {
    pub(crate) numbers: Vec<Vec<f64>>,
    pub(crate) noise: Noise,
}

/// How the noise of numbers varies together.
#[derive(Clone, Debug)]
pub(crate) enum Noise {
    /// Every number has noise of its own, as large as its statistic's.
    Apart { variances: Vec<f64> },
    /// Cells of a planned release.
    Planned(Box<PlannedNoise>),
}

/// A linear combination of the numbers: for each statistic, a factor for each cell.
pub(crate) type Combination = Vec<Vec<f64>>;

impl Cells {
    /// Numbers that each have noise of their own, with the variance of each statistic's noise.
    ///
    /// # Errors
    /// When there is not one list for each statistic and one number for each cell.
    pub fn new(model: &Model, numbers: Vec<Vec<f64>>, variances: Vec<f64>) -> Result<Self, Error> {
        let statistics = model.statistics().len();
        let fits = numbers.len() == statistics
            && variances.len() == statistics
            && numbers.iter().all(|numbers| Some(numbers.len()) == model.cells())
            && variances.iter().all(|variance| *variance >= 0.0);
        match fits {
            true => Ok(Self {
                numbers,
                noise: Noise::Apart { variances },
            }),
            false => Err(Error::OtherCells),
        }
    }

    /// What the combinations come to.
    pub(crate) fn values(&self, combinations: &[Combination]) -> Vec<f64> {
        combinations
            .iter()
            .map(|combination| {
                let pairs = combination.iter().zip(&self.numbers);
                pairs.map(|(factors, numbers)| dot(factors, numbers)).sum()
            })
            .collect()
    }

    /// How their noise varies together.
    pub(crate) fn covariance(&self, combinations: &[Combination]) -> Matrix {
        let mut covariance = Matrix::zero(combinations.len());
        match &self.noise {
            Noise::Apart { variances } => {
                for (row, one) in combinations.iter().enumerate() {
                    for (column, other) in combinations.iter().enumerate().take(row + 1) {
                        let of = one.iter().zip(other).zip(variances);
                        let value: f64 = of
                            .map(|((one, other), variance)| variance * dot(one, other))
                            .sum();
                        covariance.set(row, column, value);
                        covariance.set(column, row, value);
                    }
                }
            }
            Noise::Planned(noise) => {
                let counts: Vec<&[f64]> = combinations.iter().map(|of| of[0].as_slice()).collect();
                covariance = noise.covariance(&counts);
            }
        }
        covariance
    }
}
