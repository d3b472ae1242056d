//! Weights on the orders: the certificate by which several orders together prove more than the best of them.

use super::divergence::Divergence;
use crate::Error;
use exact::{Natural, Rational};
use serde::{Deserialize, Serialize};

/// The sum of all weights.
const ONE: u64 = 1 << 32;

/// Weights in units of 2⁻³² that sum to one. Any such weights prove a bound, so floats may choose them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
pub(super) struct Weights(Vec<u64>);

impl Weights {
    /// All on one order.
    pub(super) fn only(index: usize, count: usize) -> Self {
        Self(
            (0..count)
                .map(|other| if other == index { ONE } else { 0 })
                .collect(),
        )
    }

    /// Near these logarithms of weights, up to a common factor; `None` when none is finite.
    pub(super) fn near(logarithms: &[f64]) -> Option<Self> {
        let largest = (0..logarithms.len()).max_by(|&a, &b| logarithms[a].total_cmp(&logarithms[b]))?;
        if !logarithms[largest].is_finite() {
            return None;
        }
        let relative = |logarithm: &f64| (logarithm - logarithms[largest]).exp();
        let total: f64 = logarithms.iter().map(relative).sum();
        let mut weights: Vec<u64> = logarithms
            .iter()
            .map(|logarithm| (relative(logarithm) / total * ONE as f64) as u64)
            .collect();
        // The largest takes what rounding left, whichever its sign.
        weights[largest] = 0;
        weights[largest] = ONE.checked_sub(weights.iter().sum())?;
        Some(Self(weights))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Where weights are not zero, and what they are.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, Rational)> {
        self.0
            .iter()
            .enumerate()
            .filter(|(_, weight)| **weight > 0)
            .map(|(index, weight)| (index, Rational::from_parts((*weight).into(), Natural::from(ONE))))
    }

    /// The weighted average of the sums; `None` where it is infinite.
    pub(super) fn average(&self, sums: &[Divergence]) -> Option<Rational> {
        let mut average = Rational::ZERO;
        for (index, weight) in self.iter() {
            let sum = sums.get(index).filter(|sum| sum.is_finite())?;
            average += weight * sum.to_rational();
        }
        Some(average)
    }

    /// Whether the weighted average of the sums is certainly at most `budget`. Sums are below 2⁹⁰, so nothing overflows.
    pub(super) fn fit(&self, sums: &[Divergence], budget: Divergence) -> bool {
        let mut total = 0u128;
        for (weight, sum) in self.0.iter().zip(sums).filter(|(weight, _)| **weight > 0) {
            if !sum.is_finite() {
                return false;
            }
            total += u128::from(*weight) * sum.units();
        }
        total <= u128::from(ONE) * budget.units()
    }
}

impl TryFrom<Vec<u64>> for Weights {
    type Error = Error;

    fn try_from(weights: Vec<u64>) -> Result<Self, Error> {
        let total = weights
            .iter()
            .try_fold(0u64, |total, weight| total.checked_add(*weight));
        if total == Some(ONE) {
            return Ok(Self(weights));
        }
        Err(Error::NotAState {
            what: "the weights of the orders do not sum to one".to_owned(),
        })
    }
}

impl From<Weights> for Vec<u64> {
    fn from(weights: Weights) -> Self {
        weights.0
    }
}
