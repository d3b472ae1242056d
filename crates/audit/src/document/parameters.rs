//! How a mechanism is described: its kind, and what it is made of.

use super::Number;
use crate::exact_audit::Distribution;
use serde::{Deserialize, Serialize};

/// The mechanisms with a distribution of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MechanismKind {
    /// Uniform noise between `lower` and `upper`.
    Uniform,
    /// Laplace noise of `scale`.
    Laplace,
    /// One-sided exponential noise of `scale`.
    ExponentialNoise,
    /// Normal noise of standard deviation `sigma`.
    Gaussian,
    /// Also called geometric: two-sided geometric noise, P(k) ∝ e^(−|k|/scale), of `scale` grid steps.
    #[serde(alias = "geometric")]
    DiscreteLaplace,
    /// Integer normal noise, P(k) ∝ e^(−k²/2σ²), of `sigma` grid steps.
    DiscreteGaussian,
    /// The true answer more often than any other: `gamma` or `epsilon`, among `answers`.
    RandomizedResponse,
}

/// What the mechanisms are made of. Each takes some of these and refuses the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// What kind of mechanism; `geometric` is another name of discrete-laplace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<MechanismKind>,
    /// How far apart the two neighbours' true values are. Without it: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shift: Option<Number>,
    /// The scale of Laplace, exponential or geometric noise; of geometric noise in grid steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<Number>,
    /// The standard deviation of normal noise; on a grid, in grid steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sigma: Option<Number>,
    /// The lower end of uniform noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower: Option<Number>,
    /// The upper end of uniform noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper: Option<Number>,
    /// The step of the grid of discrete noise. Without it: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Number>,
    /// Where the grid of discrete noise lies. Without it: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<Number>,
    /// Randomized response between two answers that is true with probability 1/2 + γ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gamma: Option<Number>,
    /// Of randomized response: its own ε.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<Number>,
    /// How many answers randomized response chooses from. Without it: 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<Number>,
}

/// A mechanism on two neighbouring inputs.
#[derive(Debug)]
pub struct Pair {
    /// The output distribution on the first input.
    pub first: Distribution,
    /// The output distribution on its neighbour.
    pub second: Distribution,
    /// What it is, for a person to read.
    pub words: String,
}

impl MechanismKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Uniform,
        Self::Laplace,
        Self::ExponentialNoise,
        Self::Gaussian,
        Self::DiscreteLaplace,
        Self::DiscreteGaussian,
        Self::RandomizedResponse,
    ];

    /// What documents and command lines call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Laplace => "laplace",
            Self::ExponentialNoise => "exponential-noise",
            Self::Gaussian => "gaussian",
            Self::DiscreteLaplace => "discrete-laplace",
            Self::DiscreteGaussian => "discrete-gaussian",
            Self::RandomizedResponse => "randomized-response",
        }
    }
}

impl Parameters {
    /// Each numeric parameter by name.
    pub fn named(&self) -> [(&'static str, Option<&Number>); 10] {
        [
            ("shift", self.shift.as_ref()),
            ("scale", self.scale.as_ref()),
            ("sigma", self.sigma.as_ref()),
            ("lower", self.lower.as_ref()),
            ("upper", self.upper.as_ref()),
            ("spacing", self.spacing.as_ref()),
            ("offset", self.offset.as_ref()),
            ("gamma", self.gamma.as_ref()),
            ("epsilon", self.epsilon.as_ref()),
            ("answers", self.answers.as_ref()),
        ]
    }

    /// Whether nothing was given at all.
    pub fn is_empty(&self) -> bool {
        self.kind.is_none() && self.named().iter().all(|(_, value)| value.is_none())
    }
}
