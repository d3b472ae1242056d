//! How a mechanism is described, on the command line and in a file.

use super::number::Number;
use audit::exact_audit::Law;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// The mechanisms with a law of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// Uniform noise between --lower and --upper
    Uniform,
    /// Laplace noise of --scale
    Laplace,
    /// One-sided exponential noise of --scale
    ExponentialNoise,
    /// Normal noise of standard deviation --sigma
    Gaussian,
    /// Also called geometric: two-sided geometric noise, P(k) ∝ e^(−|k|/scale), of --scale grid steps
    #[value(alias = "geometric")]
    #[serde(alias = "geometric")]
    DiscreteLaplace,
    /// Integer normal noise, P(k) ∝ e^(−k²/2σ²), of --sigma grid steps
    DiscreteGaussian,
    /// The true answer more often than any other: --gamma or --epsilon, among --answers
    RandomizedResponse,
}

/// What the mechanisms are made of. Each takes some of these and refuses the others.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Parameters {
    /// What kind of mechanism; `geometric` is another name of discrete-laplace
    #[arg(long = "mechanism", value_enum, value_name = "KIND")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<Kind>,
    /// How far apart the two neighbours' true values are [default: 1]
    #[arg(long, allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    shift: Option<Number>,
    /// The scale of Laplace, exponential or geometric noise; of geometric noise in grid steps
    #[arg(long, allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<Number>,
    /// The standard deviation of normal noise; on a grid, in grid steps
    #[arg(long, allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    sigma: Option<Number>,
    /// The lower end of uniform noise
    #[arg(long, allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    lower: Option<Number>,
    /// The upper end of uniform noise
    #[arg(long, allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    upper: Option<Number>,
    /// The step of the grid of discrete noise [default: 1]
    #[arg(long, allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    spacing: Option<Number>,
    /// Where the grid of discrete noise lies [default: 0]
    #[arg(long, allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<Number>,
    /// Randomized response between two answers that is true with probability 1/2 + γ
    #[arg(long, allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gamma: Option<Number>,
    /// Of randomized response: its own ε. On the command line `--epsilon` is a question for all other mechanisms.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) epsilon: Option<Number>,
    /// How many answers randomized response chooses from [default: 2]
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<Number>,
}

/// A mechanism on two neighbouring inputs.
#[derive(Debug)]
pub(super) struct Pair {
    /// The output law on the first input.
    pub(super) first: Law,
    /// The output law on its neighbour.
    pub(super) second: Law,
    /// What it is, for a person to read.
    pub(super) words: String,
}

impl Parameters {
    /// Each numeric parameter by name.
    pub(super) fn named(&self) -> [(&'static str, Option<&Number>); 10] {
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
    pub(super) fn is_empty(&self) -> bool {
        self.kind.is_none() && self.named().iter().all(|(_, value)| value.is_none())
    }
}
