//! The options of all training commands.

use crate::compute::{DeviceName, processors};
use crate::dataset::AnalystArguments;
use crate::terminal::{CliError, explained};
use accounting::{Delta, Epsilon, Ratio};
use clap::ValueEnum;
use clap::builder::RangedU64ValueParser;
use std::path::PathBuf;
use train::Rule;
use training::{Length, Noise, RateSchedule};

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
    target_epsilon: String,
    /// The noise multiplier instead: the standard deviation of the noise over the clipping norm; ε follows from it
    #[arg(long, value_name = "Z")]
    noise_multiplier: Option<String>,
    /// The δ of the guarantee; well below one over the number of units
    #[arg(long, value_name = "D", default_value = "1e-6")]
    delta: String,
    /// The per-unit clipping norm: the largest L2 norm of one unit's gradient in a step
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
    device: DeviceName,
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
    /// Where the run is saved, to be resumed after Ctrl-C or a crash [default: the model's name with .checkpoint]
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
    /// The same for the library.
    pub(super) fn settings(&self) -> training::Learning {
        training::Learning {
            rule: match self.optimizer {
                Optimizer::Adam => Rule::adam(),
                Optimizer::AdamCorrected => Rule::noise_corrected_adam(1e-12),
                Optimizer::Adamw => Rule::adamw(0.01),
                Optimizer::Sgd => Rule::sgd(0.9),
            },
            rate: self.rate,
            schedule: match self.schedule {
                ScheduleName::Constant => RateSchedule::Constant,
                ScheduleName::Linear => RateSchedule::Linear,
                ScheduleName::Cosine => RateSchedule::Cosine,
            },
            at_once: self.at_once,
            seed: self.seed,
            threads: at_most_processors(self.threads),
            show_private_loss: self.show_private_loss,
        }
    }

    /// Where to compute.
    pub(super) fn device(&self) -> training::DeviceName {
        match self.device {
            DeviceName::Cpu => training::DeviceName::Cpu,
            DeviceName::Cuda => training::DeviceName::Cuda,
        }
    }
}

impl Privacy {
    /// The same for the library.
    pub(super) fn settings(&self) -> Result<training::Privacy, CliError> {
        Ok(training::Privacy {
            noise: match &self.noise_multiplier {
                Some(multiplier) => Noise::Multiplier(Ratio::parse(multiplier).map_err(explained)?),
                None => Noise::Target(Epsilon::parse(&self.target_epsilon).map_err(explained)?),
            },
            delta: Delta::parse(&self.delta).map_err(explained)?,
            clip: self.clip,
            adaptive_clip: self.adaptive_clip,
            batch: self.batch,
            length: match self.steps {
                Some(steps) => Length::Steps(steps),
                None => Length::Passes(self.epochs),
            },
            size: self.size,
            size_is_public: self.size_is_public,
            examples_per_unit: self.examples_per_unit,
            exact_sums: self.secure,
        })
    }
}
