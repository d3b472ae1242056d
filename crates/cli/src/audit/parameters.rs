//! How a mechanism is described on the command line.

use audit::document::{self, Number};
use clap::{Args, ValueEnum};

/// The mechanisms with a distribution of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
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
    DiscreteLaplace,
    /// Integer normal noise, P(k) ∝ e^(−k²/2σ²), of --sigma grid steps
    DiscreteGaussian,
    /// The true answer more often than any other: --gamma or --epsilon, among --answers
    RandomizedResponse,
}

/// What the mechanisms are made of. Each takes some of these and refuses the others.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct Parameters {
    /// What kind of mechanism; `geometric` is another name of discrete-laplace
    #[arg(long = "mechanism", value_enum, value_name = "KIND")]
    kind: Option<Kind>,
    /// How far apart the two neighbours' true values are [default: 1]
    #[arg(long, allow_hyphen_values = true)]
    shift: Option<Number>,
    /// The scale of Laplace, exponential or geometric noise; of geometric noise in grid steps
    #[arg(long, allow_hyphen_values = true)]
    scale: Option<Number>,
    /// The standard deviation of normal noise; on a grid, in grid steps
    #[arg(long, allow_hyphen_values = true)]
    sigma: Option<Number>,
    /// The lower end of uniform noise
    #[arg(long, allow_hyphen_values = true)]
    lower: Option<Number>,
    /// The upper end of uniform noise
    #[arg(long, allow_hyphen_values = true)]
    upper: Option<Number>,
    /// The step of the grid of discrete noise [default: 1]
    #[arg(long, allow_hyphen_values = true)]
    spacing: Option<Number>,
    /// Where the grid of discrete noise lies [default: 0]
    #[arg(long, allow_hyphen_values = true)]
    offset: Option<Number>,
    /// Randomized response between two answers that is true with probability 1/2 + γ
    #[arg(long, allow_hyphen_values = true)]
    gamma: Option<Number>,
    /// How many answers randomized response chooses from [default: 2]
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    answers: Option<Number>,
}

impl Parameters {
    /// The same as the library reads them. The ε of randomized response comes from elsewhere: on the command
    /// line `--epsilon` is a question for all other mechanisms.
    pub(super) fn read(&self) -> document::Parameters {
        let kind = self.kind.map(|kind| match kind {
            Kind::Uniform => document::MechanismKind::Uniform,
            Kind::Laplace => document::MechanismKind::Laplace,
            Kind::ExponentialNoise => document::MechanismKind::ExponentialNoise,
            Kind::Gaussian => document::MechanismKind::Gaussian,
            Kind::DiscreteLaplace => document::MechanismKind::DiscreteLaplace,
            Kind::DiscreteGaussian => document::MechanismKind::DiscreteGaussian,
            Kind::RandomizedResponse => document::MechanismKind::RandomizedResponse,
        });
        document::Parameters {
            kind,
            shift: self.shift.clone(),
            scale: self.scale.clone(),
            sigma: self.sigma.clone(),
            lower: self.lower.clone(),
            upper: self.upper.clone(),
            spacing: self.spacing.clone(),
            offset: self.offset.clone(),
            gamma: self.gamma.clone(),
            epsilon: None,
            answers: self.answers.clone(),
        }
    }
}
