//! What all training commands take.

use crate::compute::{DeviceName, processors};
use crate::dataset::AnalystArguments;
use crate::terminal::{CliError, explained, fail};
use accounting::{Delta, Epsilon, Neighbors, PrivacyUnit, Ratio};
use clap::ValueEnum;
use clap::builder::RangedU64ValueParser;
use mechanism::Sampling;
use std::path::PathBuf;
use train::private::{Clip, Parameters, Plan, Recipe, Summation};
use train::{Rule, Schedule};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Optimizer {
    /// DP-Adam
    Adam,
    /// DP-Adam, with the noise's known variance taken off its second moment
    AdamCorrected,
    /// DP-AdamW, decay 0.01
    Adamw,
    /// DP-SGD with momentum 0.9
    Sgd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScheduleName {
    Constant,
    /// Straight down to 0
    Linear,
    /// Up over the first twentieth, then down to 0 along a cosine
    Cosine,
}

/// What decides about privacy.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Privacy")]
pub(super) struct Privacy {
    /// The ε that the whole run may cost; the noise follows from it
    #[arg(
        long,
        value_name = "E",
        default_value = "8",
        conflicts_with = "noise_multiplier"
    )]
    pub(super) target_epsilon: String,
    /// The noise multiplier instead: the standard deviation of the noise over the clipping norm; ε follows from it
    #[arg(long, value_name = "Z")]
    noise_multiplier: Option<String>,
    /// The δ of the guarantee; well below one over the number of units
    #[arg(long, value_name = "D", default_value = "1e-6")]
    delta: String,
    /// The clipping norm: the largest L2 norm of one unit's gradient in a step
    #[arg(long, value_name = "C", default_value_t = 1.0)]
    clip: f64,
    /// Adaptive clipping: let the clipping norm follow this quantile of the gradient norms, privately
    #[arg(long, value_name = "Q")]
    adaptive_clip: Option<f64>,
    /// The expected batch size, in units
    #[arg(long, value_name = "N", default_value_t = 256)]
    batch: u64,
    /// The number of steps
    #[arg(long, value_name = "N", conflicts_with = "epochs")]
    steps: Option<u64>,
    /// The number of steps as expected passes over the data
    #[arg(long, value_name = "X", default_value_t = 3.0)]
    epochs: f64,
    /// About how many units the data has: a public number, so it must not come from the data
    #[arg(long, value_name = "N")]
    size: Option<u64>,
    /// The number of units of a text is no secret: take it from the text
    #[arg(long, conflicts_with = "size")]
    size_is_public: bool,
    /// Contribution bounding: the most rows of one unit that are used, where a unit has several. Which rows follows from the seed and the unit's own rows, in any order
    #[arg(long, value_name = "N", default_value_t = 100)]
    examples_per_unit: u64,
    /// Clip and sum gradients in exact integer arithmetic, unit by unit: slower, and no floating-point rounding enters the guarantee
    #[arg(long)]
    secure: bool,
}

/// How it learns.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Learning")]
pub(super) struct Learning {
    #[arg(long, value_enum, default_value_t = Optimizer::Adam)]
    optimizer: Optimizer,
    /// The learning rate
    #[arg(long, value_name = "R", value_parser = positive)]
    rate: Option<f64>,
    /// How the learning rate changes
    #[arg(long, value_enum, default_value_t = ScheduleName::Constant)]
    schedule: ScheduleName,
    /// The seed of the initial weights; noise and batches do not follow from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Threads, at most as many as there are processors, which is the default. They change nothing but how long it takes
    #[arg(long, value_name = "N", value_parser = up_to(1024))]
    threads: Option<usize>,
    /// The physical batch size: how many examples go through the model at once, as memory allows. It changes nothing else
    #[arg(long, value_name = "N", default_value_t = 256)]
    at_once: usize,
    /// Where to compute
    #[arg(long, value_enum, default_value_t = DeviceName::Cpu)]
    pub(super) device: DeviceName,
    /// Show the loss of each batch, which is NOT private: it is computed from the data without noise
    #[arg(long)]
    show_private_loss: bool,
}

/// A number with which something is learned.
fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    let number = number.filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "it must be a positive number, such as 0.001".to_owned())
}

/// At least one, and no more than anybody means.
pub(super) fn up_to(most: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=most)
}

/// As many threads as were asked for and can run at once: more would only wait for each other.
pub(super) fn at_most_processors(asked: Option<usize>) -> usize {
    asked.unwrap_or(usize::MAX).clamp(1, processors())
}

/// Where things go.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Files")]
pub(super) struct Files {
    /// Where the model goes
    #[arg(long, short, value_name = "FILE", default_value = "model.safetensors")]
    pub(super) out: PathBuf,
    /// Where the run is kept, to go on after Ctrl-C or a crash [default: the model's name with .checkpoint]
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Write over a model that is there already
    #[arg(long)]
    pub(super) force: bool,
    /// Steps between two checkpoints
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(super) every: u64,
    /// Draw what was measured on public validation data against ε
    #[arg(long, value_name = "FILE.svg")]
    pub(super) plot: Option<PathBuf>,
    /// Print one object for a program to read
    #[arg(long)]
    pub(super) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) analyst: AnalystArguments,
}

impl Files {
    pub(super) fn checkpoint(&self) -> PathBuf {
        self.checkpoint.clone().unwrap_or_else(|| {
            let mut name = self.out.clone().into_os_string();
            name.push(".checkpoint");
            PathBuf::from(name)
        })
    }
}

impl Learning {
    /// As many threads as were asked for, or as there are.
    pub(super) fn threads(&self) -> usize {
        at_most_processors(self.threads)
    }

    /// How to train so many steps; `rate` is for who names none.
    pub(super) fn recipe(&self, steps: u64, rate: f64) -> Recipe {
        Recipe {
            rule: match self.optimizer {
                Optimizer::Adam => Rule::adam(),
                Optimizer::AdamCorrected => Rule::noise_corrected_adam(1e-12),
                Optimizer::Adamw => Rule::adamw(0.01),
                Optimizer::Sgd => Rule::sgd(0.9),
            },
            rate: self.rate.unwrap_or(rate),
            schedule: match self.schedule {
                ScheduleName::Constant => Schedule::Constant,
                ScheduleName::Linear => Schedule::Linear,
                ScheduleName::Cosine => Schedule::WarmUpCosine { warm_up: steps / 20 },
            },
            at_once: self.at_once,
            seed: self.seed,
            threads: self.threads(),
            show_private_loss: self.show_private_loss,
        }
    }
}

impl Privacy {
    /// The same for another ε.
    pub(super) fn for_epsilon(&self, epsilon: &Epsilon) -> Self {
        Self {
            target_epsilon: epsilon.to_string(),
            noise_multiplier: None,
            ..self.clone()
        }
    }

    /// Whether the number of units is a secret is for the curator to say, not for who trains.
    pub(super) fn for_declared_table(&self, unit: &PrivacyUnit) -> Result<(), CliError> {
        if self.size_is_public && unit.neighbors == Neighbors::AddRemove {
            return fail(
                "how many units a declared table has is private: its catalog says that units come and go",
                "say about how many there are with --size N",
            );
        }
        Ok(())
    }

    /// The plan: everything about it is public. `found` is the number of units in the data, which is told only where that is no secret; `known` is a number
    /// that everybody knows anyway.
    /// `several` says that units may have more than one example.
    pub(super) fn plan(
        &self,
        unit: &PrivacyUnit,
        known: Option<u64>,
        found: u64,
        several: bool,
    ) -> Result<Plan, CliError> {
        let delta = Delta::parse(&self.delta).map_err(explained)?;
        let replaced = unit.neighbors == Neighbors::ChangeOne;
        let of = match (self.size, known) {
            // Where units are replaced and never added, how many there are is public; a number that is not theirs is refused.
            (size, _) if replaced => size.unwrap_or(found),
            _ if self.size_is_public => found,
            (Some(size), _) | (None, Some(size)) => size,
            (None, None) => {
                return fail(
                    format!("about how many {}s are there?", unit.whose),
                    "say it with --size N, a number that is public anyway; of a text, --size-is-public says that it is no secret",
                );
            }
        };
        let steps = match self.steps {
            Some(steps) => steps,
            None if self.epochs.is_finite() && self.epochs > 0.0 => {
                ((self.epochs * of as f64 / self.batch.max(1) as f64).ceil() as u64).max(1)
            }
            None => return fail("--epochs must be a positive number", "3 is a beginning"),
        };
        let mut parameters =
            Parameters::poisson(&unit.whose, self.batch, of, self.clip, steps, delta).map_err(explained)?;
        if replaced {
            parameters.sampling = Sampling::FixedSize {
                batch: self.batch,
                of,
            };
        }
        if let Some(quantile) = self.adaptive_clip {
            parameters.clip = Clip::Adaptive {
                start: self.clip,
                quantile,
                rate: 0.2,
                share: 0.01,
            };
        }
        parameters.examples_per_unit = several.then_some(self.examples_per_unit);
        if self.secure {
            parameters.summation = Summation::Exact;
        }
        match &self.noise_multiplier {
            Some(multiplier) => {
                let multiplier = Ratio::parse(multiplier).map_err(explained)?;
                parameters.with_multiplier(multiplier).map_err(explained)
            }
            None => {
                let epsilon = Epsilon::parse(&self.target_epsilon).map_err(explained)?;
                parameters.for_target(&epsilon).map_err(explained)
            }
        }
    }
}
