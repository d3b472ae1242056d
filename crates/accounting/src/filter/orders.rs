//! The grid of Rényi orders, fixed before anything runs.

use crate::error::shown;
use crate::{Delta, Epsilon, Error};
use exact::{Rational, to_f64_nearest};
use serde::{Deserialize, Serialize};

/// More orders cost time with every charge and win nothing.
const MOST: usize = 256;
/// RenyiOrders lie in this range: below it, δ is not worth its logarithm over α − 1; above it, a pure ε says the same.
const RANGE: std::ops::RangeInclusive<f64> = 1.000_001..=1e6;

/// Rényi orders: distinct, ascending, above 1.
///
/// Which orders are tracked is decided before the first answer, since δ is divided among them. They are written as text, because
/// not every reader of floats reads what was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct RenyiOrders(Vec<f64>);

impl RenyiOrders {
    /// These orders, sorted.
    ///
    /// # Errors
    /// When there is none, there are more than 256, two are equal, or one is not between 1.000001 and 10⁶.
    pub fn new(orders: &[f64]) -> Result<Self, Error> {
        if orders.is_empty() || orders.len() > MOST {
            return Err(Error::BadOrders {
                what: format!("{} of them", orders.len()),
            });
        }
        if let Some(odd) = orders.iter().find(|order| !RANGE.contains(order)) {
            return Err(Error::BadOrders {
                what: format!("{odd} is one"),
            });
        }
        let mut sorted = orders.to_vec();
        sorted.sort_by(f64::total_cmp);
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Error::BadOrders {
                what: format!("{} is there twice", pair[0]),
            }),
            None => Ok(Self(sorted)),
        }
    }

    /// A grid for this target: fifteen orders around the one at which Gaussian noise would meet it.
    ///
    /// For n Gaussians, ε = nα/2σ² + ln(1/δ)/(α−1) is smallest where both terms are about ε/2, at α = 1 + 2·ln(1/δ)/ε. What
    /// runs may be something else, so the grid reaches almost five times lower and higher. Any grid is valid; floats may choose it.
    ///
    /// Neighbouring orders help each other, so a grid of fifteen costs little more than one of five. But where divergences explode
    /// above some order, as those of sampled noise below σ ≈ 1 do, and ε is small, a few orders just below it are better: choose these
    /// yourself.
    ///
    /// # Errors
    /// When δ = 0, which no order reaches.
    pub fn suited_to(epsilon: &Epsilon, delta: &Delta) -> Result<Self, Error> {
        if *delta == Delta::ZERO {
            return Err(Error::NeedsDelta);
        }
        let middle =
            -2.0 * to_f64_nearest(delta.as_rational()).ln() / to_f64_nearest(epsilon.as_rational()).max(1e-9);
        let mut orders: Vec<f64> = (-7..=7)
            .map(|step| 1.0 + middle * 1.25f64.powi(step))
            // Whole numbers where they are dense enough: sampled noise has short sums at these.
            .map(|order| {
                if order < 8.0 {
                    (order * 16.0).round() / 16.0
                } else {
                    order.round()
                }
            })
            .map(|order| order.clamp(1.0625, *RANGE.end()))
            .collect();
        orders.dedup();
        Self::new(&orders)
    }

    /// The orders, ascending.
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// α − 1 of each, near it.
    pub(super) fn near_less_one(&self) -> impl Iterator<Item = f64> {
        self.0.iter().map(|order| order - 1.0)
    }

    /// α − 1 of the order at `index`, exactly.
    pub(super) fn less_one(&self, index: usize) -> Rational {
        exact::from_f64(self.0[index]).expect("orders are finite") - Rational::ONE
    }
}

impl TryFrom<Vec<String>> for RenyiOrders {
    type Error = Error;

    fn try_from(texts: Vec<String>) -> Result<Self, Error> {
        let read = |text: &String| {
            text.parse().map_err(|_| Error::BadOrders {
                what: format!("{:?} is one", shown(text)),
            })
        };
        Self::new(&texts.iter().map(read).collect::<Result<Vec<f64>, _>>()?)
    }
}

impl From<RenyiOrders> for Vec<String> {
    fn from(orders: RenyiOrders) -> Self {
        // The shortest text that reads back as the same float.
        orders.0.iter().map(f64::to_string).collect()
    }
}
