//! What an answer costs, and how its budget is split so that the errors are smallest. Parameters only: nothing here sees data.

pub(crate) mod agreeing;
pub(crate) mod bounds;
pub(crate) mod cut;
pub(crate) mod planned;
pub(crate) mod question;
pub(crate) mod synthetic;
pub(crate) mod together;

use crate::Error;
use crate::price::together::SharedNoise;
use crate::understand::aggregation::{Aggregation, Measure, Selection, Statistic};
use accounting::{Delta, Epsilon, PrivacyUnit, smallest_multiplier};
use exact::{Rational, ratio, to_f64_nearest};
use mechanism::{
    Accuracy, Gaussian, GaussianThreshold, Laplace, LaplaceThreshold, Sensitivity, SquaredMultiplier, Stated,
};
use noise::Grid;

/// The noise of one statistic.
#[derive(Clone, Debug)]
pub(crate) enum Noise {
    Laplace(Laplace),
    Gaussian(Gaussian),
    LaplaceThreshold(LaplaceThreshold),
    GaussianThreshold(GaussianThreshold),
    /// That of one of several tables which are planned together.
    Shared(SharedNoise),
}

impl Noise {
    pub(crate) fn stated(&self) -> &dyn Stated {
        match self {
            Self::Laplace(mechanism) => mechanism,
            Self::Gaussian(mechanism) => mechanism,
            Self::LaplaceThreshold(mechanism) => mechanism,
            Self::GaussianThreshold(mechanism) => mechanism,
            Self::Shared(shared) => shared.mechanism.as_ref(),
        }
    }

    /// The distribution of the noise on each number, in steps. For groups that were selected by it, this is how the noise was before the selection.
    pub(crate) fn accuracy(&self) -> Accuracy {
        match self {
            Self::Laplace(mechanism) => mechanism.terms().accuracy().clone(),
            Self::Gaussian(mechanism) => mechanism.terms().accuracy().clone(),
            Self::LaplaceThreshold(mechanism) => Accuracy::Laplace {
                scale: exact::to_f64_up(mechanism.scale()),
            },
            Self::GaussianThreshold(mechanism) => Accuracy::Gaussian {
                deviation: exact::to_f64_up(mechanism.variance()).sqrt() * (1.0 + 1e-12),
            },
            Self::Shared(shared) => shared.accuracy.clone(),
        }
    }

    /// The standard deviation, in steps.
    pub(crate) fn deviation(&self) -> f64 {
        match self.accuracy() {
            Accuracy::Laplace { scale } => scale * std::f64::consts::SQRT_2,
            Accuracy::Gaussian { deviation } => deviation,
            _ => f64::INFINITY,
        }
    }

    /// The number of units from which on a group appears.
    pub(crate) fn threshold(&self) -> Option<i64> {
        match self {
            Self::LaplaceThreshold(mechanism) => Some(mechanism.threshold()),
            Self::GaussianThreshold(mechanism) => Some(mechanism.threshold()),
            _ => None,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Laplace(_) | Self::LaplaceThreshold(_) => "Laplace",
            Self::Gaussian(_) | Self::GaussianThreshold(_) => "Gaussian",
            Self::Shared(shared) if shared.mechanism.is_gaussian() => "shared Gaussian",
            Self::Shared(_) => "shared Laplace",
        }
    }
}

/// The noise of every statistic of an aggregation.
#[derive(Clone, Debug)]
pub(crate) struct Price {
    pub(crate) epsilon: Epsilon,
    pub(crate) delta: Delta,
    pub(crate) noise: Vec<Noise>,
    pub(crate) sensitivities: Vec<Sensitivity>,
    /// The part of the budget that each statistic gets.
    pub(crate) shares: Vec<f64>,
}

impl Price {
    /// How far one unit moves each statistic, and the noise that it gets.
    pub(crate) fn drawn(&self) -> Vec<(&Sensitivity, &dyn Stated)> {
        let noise = self.noise.iter().map(Noise::stated);
        self.sensitivities.iter().zip(noise).collect()
    }
}

/// Splits (ε, δ) among the statistics, with the kind of noise that errs less.
///
/// The error that is minimised is the sum over statistics of weight × variance, each in units of what one unit adds to one group. With Laplace noise
/// the variance of a part εⱼ is 2(Δ₁/εⱼ)², so εⱼ ∝ (wⱼ·Δ₁²)^⅓; with Gaussian noise, all of which together are one Gaussian of
/// multiplier M with 1/M² = Σ 1/Mⱼ², the variance is (Δ₂·Mⱼ)² and 1/Mⱼ² ∝ √wⱼ·Δ₂ (Lagrange multipliers in both cases).
pub(crate) fn price(
    aggregation: &Aggregation,
    epsilon: &Epsilon,
    delta: &Delta,
    unit: &PrivacyUnit,
) -> Result<Price, Error> {
    let grouped = !aggregation.keys.is_empty();
    let groups = aggregation.groups.per_unit;
    let sensitivities = aggregation
        .statistics
        .iter()
        .map(|statistic| statistic.sensitivity(groups, grouped, unit.neighbors))
        .collect::<Result<Vec<Sensitivity>, Error>>()?;
    let selected = aggregation.groups.selection == Selection::Threshold;
    if selected && *delta == Delta::ZERO {
        return Err(Error::refused(
            "the names of these groups are private, and showing them costs δ, of which there is none",
            "declare `values` of the grouping columns in the catalog, or allow a δ: OPTIONS(delta = 1e-9)",
        ));
    }
    check_size(epsilon, delta)?;
    let statistics = &aggregation.statistics;
    if statistics.is_empty() {
        return Err(Error::refused("nothing is counted here", "add COUNT(*)"));
    }
    let laplace = Split::new(statistics, &sensitivities, |weight, l1, _| {
        (weight * l1 * l1).cbrt()
    });
    let gaussian = Split::new(statistics, &sensitivities, |weight, _, l2| weight.sqrt() * l2);
    let half = if selected {
        Delta::rounded_down(&(delta.as_rational() * ratio(1, 2)))?
    } else {
        delta.clone()
    };
    let by_laplace = {
        let epsilon = to_f64_nearest(epsilon.as_rational());
        laplace.error(|share, l1, _| 2.0 * (l1 / (epsilon * share)).powi(2))
    };
    let multiplier = if *delta > Delta::ZERO {
        Some(smallest_multiplier(epsilon, &half)?)
    } else {
        None
    };
    let by_gaussian = multiplier.as_ref().map_or(f64::INFINITY, |multiplier| {
        let multiplier = to_f64_nearest(multiplier);
        gaussian.error(|share, _, l2| (l2 * multiplier).powi(2) / share)
    });
    let mut noise = Vec::with_capacity(statistics.len());
    let shares = match multiplier {
        Some(multiplier) if by_gaussian < by_laplace => {
            let squared = &multiplier * &multiplier;
            for ((statistic, sensitivity), share) in
                statistics.iter().zip(&sensitivities).zip(&gaussian.shares)
            {
                let squared = SquaredMultiplier::from_square(&squared / share);
                noise.push(if selected && statistic.measure == Measure::Units {
                    Noise::GaussianThreshold(GaussianThreshold::with_squared_multiplier(
                        &squared,
                        &half,
                        sensitivity.clone(),
                    )?)
                } else {
                    Noise::Gaussian(Gaussian::with_squared_multiplier(
                        &squared,
                        sensitivity.clone(),
                        grid(statistic),
                    )?)
                });
            }
            gaussian.shares
        }
        _ => {
            for ((statistic, sensitivity), share) in
                statistics.iter().zip(&sensitivities).zip(&laplace.shares)
            {
                let part = Epsilon::rounded_down(&(epsilon.as_rational() * share))?;
                noise.push(if selected && statistic.measure == Measure::Units {
                    let all = delta.clone();
                    Noise::LaplaceThreshold(LaplaceThreshold::new(part, all, sensitivity.clone())?)
                } else {
                    Noise::Laplace(Laplace::new(part, sensitivity.clone(), grid(statistic))?)
                });
            }
            laplace.shares
        }
    };
    Ok(Price {
        epsilon: epsilon.clone(),
        delta: delta.clone(),
        noise,
        sensitivities,
        shares: shares.iter().map(to_f64_nearest).collect(),
    })
}

/// The smallest ε and δ that are looked at, as powers of ten. Below them there is no noise that integers hold, and telling so exactly takes very long.
const LEAST_EPSILON: i64 = -12;
const LEAST_DELTA: i64 = -60;

/// Whether noise is looked for at all.
fn check_size(epsilon: &Epsilon, delta: &Delta) -> Result<(), Error> {
    if *epsilon == Epsilon::ZERO {
        return Err(mechanism::Error::NoEpsilon.into());
    }
    let least = |exponent: i64| exact::parse_decimal(&format!("1e{exponent}")).expect("a power of ten");
    if *epsilon.as_rational() < least(LEAST_EPSILON) {
        return Err(Error::Quantity {
            what: format!("an ε below 1e{LEAST_EPSILON} allows no answer that says anything"),
            hint: "ask with a larger ε, such as 0.1".to_owned(),
        });
    }
    if *delta > Delta::ZERO && *delta.as_rational() < least(LEAST_DELTA) {
        return Err(Error::Quantity {
            what: format!("a δ below 1e{LEAST_DELTA} and above 0 is not told apart from 0"),
            hint: "ask with δ = 0, or with one such as 1e-9".to_owned(),
        });
    }
    Ok(())
}

/// What cannot be computed for the ε and δ of a question, in words for whoever asked with them.
pub(crate) fn quantity(error: Error) -> Error {
    let words = match &error {
        Error::Mechanism(mechanism::Error::Noise(noise::Error::ScaleTooLarge)) => {
            return Error::Quantity {
                what: "for this ε the noise would be larger than the numbers that are counted".to_owned(),
                hint: "ask with a larger ε, such as 0.1, or for fewer columns at once".to_owned(),
            };
        }
        Error::Mechanism(mechanism::Error::Refused(_)) => return error,
        Error::Mechanism(_) | Error::Accounting(_) => error.to_string(),
        _ => return error,
    };
    let (what, hint) = match words.split_once("\nhint: ") {
        Some((what, hint)) => (what.to_owned(), hint.to_owned()),
        None => (words, "ask with an ε such as 0.1 and a δ such as 1e-9".to_owned()),
    };
    Error::Quantity { what, hint }
}

/// The grid on which a statistic lives.
pub(crate) fn grid(statistic: &Statistic) -> Grid {
    statistic.steps.grid()
}

/// Parts of a whole, as exact fractions that sum to at most one.
struct Split {
    shares: Vec<Rational>,
    weights: Vec<f64>,
    l1: Vec<f64>,
    l2: Vec<f64>,
}

impl Split {
    /// Parts in proportion to `part(weight, ℓ₁, ℓ₂)`, norms in units of what one unit adds to one group.
    fn new(
        statistics: &[Statistic],
        sensitivities: &[Sensitivity],
        part: impl Fn(f64, f64, f64) -> f64,
    ) -> Self {
        let weights: Vec<f64> = statistics
            .iter()
            .map(|statistic| {
                // A rank is a sum of some twenty nodes of its tree.
                let nodes = if matches!(statistic.measure, Measure::Tree { .. }) {
                    20.0
                } else {
                    1.0
                };
                f64::from(statistic.weight) * nodes
            })
            .collect();
        let step = |sensitivity: &Sensitivity| to_f64_nearest(sensitivity.l_infinity());
        let l1: Vec<f64> = sensitivities
            .iter()
            .map(|sensitivity| to_f64_nearest(sensitivity.l1()) / step(sensitivity))
            .collect();
        let l2: Vec<f64> = sensitivities
            .iter()
            .map(|sensitivity| to_f64_nearest(sensitivity.l2_squared()).sqrt() / step(sensitivity))
            .collect();
        let parts: Vec<f64> = (0..weights.len())
            .map(|place| part(weights[place], l1[place], l2[place]))
            .collect();
        let whole: f64 = parts.iter().sum();
        // In billionths, so that shares of a decimal are decimals; what rounding down leaves goes to the first. Together they are the whole.
        const UNITS: i64 = 1_000_000_000;
        let mut units: Vec<i64> = parts
            .iter()
            .map(|part| ((part / whole * UNITS as f64) as i64).clamp(1, UNITS))
            .collect();
        let given: i64 = units[1..].iter().sum();
        units[0] = (UNITS - given).max(1);
        let shares = units.iter().map(|units| ratio(*units, UNITS as u64)).collect();
        Self {
            shares,
            weights,
            l1,
            l2,
        }
    }

    /// Σ weight × variance(share, ℓ₁, ℓ₂).
    fn error(&self, variance: impl Fn(f64, f64, f64) -> f64) -> f64 {
        (0..self.shares.len())
            .map(|place| {
                self.weights[place]
                    * variance(
                        to_f64_nearest(&self.shares[place]),
                        self.l1[place],
                        self.l2[place],
                    )
            })
            .sum()
    }
}
