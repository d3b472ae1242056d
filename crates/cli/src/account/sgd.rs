//! `deniable account sgd`: private training, whose steps see a random part of the data.

use super::figure::Drawing;
use super::question::{self, Asked};
use super::report::Report;
use super::{explained, unit};
use crate::delivery::Outputs;
use crate::terminal::{CliError, fail};
use ::report::Figure;
use accounting::plan::{self, Part, ReleasePlan, check_sampler};
use accounting::{Delta, Epsilon, Event, Neighbors, Ratio, Sampler, smallest_training_multiplier};
use clap::ValueEnum;
use exact::{Rational, parse_decimal};
use serde_json::{Map, Value, json};

/// What does private training cost? And how much noise does a target need?
///
/// Private training (DP-SGD) clips the gradient of every example, sums those of a random batch and adds Gaussian noise, step after
/// step. The answer is the ε of all steps together at a δ, as an interval that certainly contains it.
///
/// How batches are chosen decides the answer. A Poisson sample takes every example with the same probability, independently; a batch
/// of a fixed size is drawn anew at each step. Batches cut from a shuffled list, as most data loaders make them, are neither: what
/// is known for them is that an epoch costs one Gaussian.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The Poisson sampling rate: the expected batch over the number of examples, such as 256/60000
    #[arg(long, value_name = "Q", allow_hyphen_values = true, conflicts_with_all = ["batch", "of"])]
    rate: Option<String>,
    /// Examples in a batch (expected ones, of a Poisson sample)
    #[arg(long, value_name = "B", allow_hyphen_values = true, requires = "of")]
    batch: Option<String>,
    /// Examples in all
    #[arg(long, value_name = "N", allow_hyphen_values = true, requires = "batch")]
    of: Option<String>,
    /// How batches are chosen
    #[arg(long, value_enum, default_value = "poisson")]
    sampler: Kind,
    /// The noise multiplier: the standard deviation of the noise over the clipping norm
    #[arg(long, value_name = "SIGMA", allow_hyphen_values = true)]
    sigma: Option<String>,
    /// Ask for the smallest noise multiplier that keeps this ε
    #[arg(long, value_name = "E", allow_hyphen_values = true, conflicts_with = "sigma")]
    target_epsilon: Option<String>,
    /// How many steps
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    steps: Option<String>,
    /// How often the data is gone through; with --batch and --of, instead of --steps
    #[arg(long, value_name = "E", allow_hyphen_values = true, conflicts_with = "steps")]
    epochs: Option<String>,
    /// The δ; below one over the number of examples
    #[arg(long, value_name = "D", default_value = "1e-5", allow_hyphen_values = true)]
    delta: String,
    #[command(flatten)]
    stakes: question::Stakes,
    /// Whose privacy it is about. Say `person` only if each person has one example
    #[arg(long, value_name = "WHOSE", default_value = "example")]
    unit: String,
    #[command(flatten)]
    outputs: Outputs,
}

const EXAMPLES: &str = "\
Examples:
  MNIST for sixty epochs of Poisson batches
    deniable account sgd --rate 256/60000 --sigma 1.1 --steps 14062 --delta 1e-5
  The noise that ε = 3 needs
    deniable account sgd --batch 256 --of 60000 --epochs 60 --target-epsilon 3
  What the same costs when batches come from a shuffled list
    deniable account sgd --batch 256 --of 60000 --epochs 60 --sampler shuffled --sigma 1.1
  For a program, with a figure
    deniable account sgd --rate 1/100 --sigma 0.8 --steps 1000 --json --plot steps.svg";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Each example enters each batch independently
    Poisson,
    /// The same, for neighbours that change one example
    PoissonChangeOne,
    /// Batches of a fixed size, drawn anew at each step
    FixedSize,
    /// A shuffled list cut into batches: no amplification
    Shuffled,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Poisson => "poisson",
            Self::PoissonChangeOne => "poisson-change-one",
            Self::FixedSize => "fixed-size",
            Self::Shuffled => "shuffled",
        }
    }
}

/// Training as it was described.
#[derive(Debug)]
struct Training {
    kind: Kind,
    sampler: Sampler,
    /// Batch and size of the data, where they are known.
    sizes: Option<(u64, u64)>,
    /// How many times the event of this sampler happens: steps, or epochs of shuffled batches.
    times: u64,
    /// Steps of the optimizer, where they are known.
    steps: Option<u64>,
    delta: Delta,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let outputs = &arguments.outputs;
    outputs.check()?;
    let answer = answered(arguments)?;
    let figure = if outputs.is_drawn() {
        Some(answer.figure(outputs.is_quiet())?)
    } else {
        None
    };
    let json = Value::Object(answer.to_json());
    outputs.give(&super::report::findings(answer.to_text(), json, figure))
}

/// What is reported about a training.
pub(super) struct Answer {
    training: Training,
    /// The noise multiplier.
    sigma: Rational,
    /// What it was calibrated to, if it was.
    target: Option<Epsilon>,
    plan: ReleasePlan,
    report: Report,
}

/// Everything but printing and drawing.
pub(super) fn answered(arguments: &Arguments) -> Result<Answer, CliError> {
    let training = Training::new(arguments)?;
    let target = arguments
        .target_epsilon
        .as_deref()
        .map(|text| question::epsilon("--target-epsilon", text))
        .transpose()?;
    let (sigma, multiplier_squared) = match (&target, &arguments.sigma) {
        (Some(target), _) => training.calibrated(target)?,
        (None, Some(sigma)) => {
            plan::multiplier_squared(sigma).map_err(|mistake| mistake.within("--sigma"))?;
            let sigma = parse_decimal(sigma).map_err(explained)?;
            let over = &sigma / training.norms();
            (sigma, Ratio::at_most(&(&over * &over)))
        }
        (None, None) => {
            return fail(
                "neither a noise multiplier nor a target is given",
                "add --sigma 1.1 to learn its ε, or --target-epsilon 3 to learn the σ it needs",
            );
        }
    };
    let event = Event::SampledGaussian {
        sampler: training.sampler.clone(),
        multiplier_squared,
    };
    let plan = ReleasePlan::new(vec![Part::new(event, training.times)?])?;
    let event = plan.event();
    let unit = unit(&arguments.unit, None, &event)?;
    let mut question = Asked::default();
    question.answers.delta = Some(training.delta.clone());
    question.stake(&arguments.stakes)?;
    let report = Report::new(plan.words(), event, unit, question)?;
    Ok(Answer {
        training,
        sigma,
        target,
        plan,
        report,
    })
}

impl Training {
    fn new(arguments: &Arguments) -> Result<Self, CliError> {
        let whole = |name: &str, text: &Option<String>| {
            text.as_deref().map(|text| plan::count(name, text)).transpose()
        };
        let sizes = whole("--batch", &arguments.batch)?.zip(whole("--of", &arguments.of)?);
        if let Some((batch, of)) = sizes
            && batch > of
        {
            return fail(
                "--batch is larger than --of",
                "a batch is a part of the data: --batch 256 --of 60000",
            );
        }
        let sampler = match (arguments.sampler, sizes, &arguments.rate) {
            (Kind::Poisson, _, Some(rate)) => Sampler::Poisson {
                rate: Ratio::parse(rate).map_err(explained)?,
            },
            (Kind::Poisson, Some((batch, of)), None) => Sampler::Poisson {
                rate: Ratio::at_least(&(Rational::from(batch) / Rational::from(of))),
            },
            (Kind::PoissonChangeOne, _, Some(rate)) => Sampler::PoissonChangeOne {
                rate: Ratio::parse(rate).map_err(explained)?,
            },
            (Kind::PoissonChangeOne, Some((batch, of)), None) => Sampler::PoissonChangeOne {
                rate: Ratio::at_least(&(Rational::from(batch) / Rational::from(of))),
            },
            (Kind::FixedSize, Some((batch, of)), _) => Sampler::FixedSize { batch, of },
            (Kind::Shuffled, _, None) => Sampler::Shuffled,
            (Kind::FixedSize | Kind::Shuffled, _, Some(_)) => {
                return fail(
                    "--rate is about Poisson samples",
                    "with another --sampler, say --batch 256 --of 60000",
                );
            }
            (Kind::Poisson | Kind::PoissonChangeOne | Kind::FixedSize, None, None) => {
                return fail(
                    "how much of the data a step sees is not said",
                    "add --rate 256/60000, or --batch 256 --of 60000",
                );
            }
        };
        check_sampler(&sampler)?;
        let steps = whole("--steps", &arguments.steps)?;
        let (times, steps) = times(arguments, sizes, steps)?;
        Ok(Self {
            kind: arguments.sampler,
            sampler,
            sizes,
            times,
            steps,
            delta: question::delta(&arguments.delta)?,
        })
    }

    /// By how many clipping norms one example can move the sum: one that comes or goes by one, one that is
    /// replaced by two.
    fn norms(&self) -> Rational {
        match self.sampler.neighbors() {
            Neighbors::AddRemove => Rational::ONE,
            Neighbors::ChangeOne => Rational::from(2u8),
        }
    }

    /// The smallest noise multiplier for a target, and what an event keeps of it.
    fn calibrated(&self, target: &Epsilon) -> Result<(Rational, Ratio), CliError> {
        let over = smallest_training_multiplier(&self.sampler, self.times, target, &self.delta)
            .map_err(explained)?;
        let over = over.as_rational();
        Ok((over * self.norms(), Ratio::at_most(&(over * over))))
    }
}

/// How often the event happens, and how many steps that is where it is known.
fn times(
    arguments: &Arguments,
    sizes: Option<(u64, u64)>,
    steps: Option<u64>,
) -> Result<(u64, Option<u64>), CliError> {
    let shuffled = arguments.sampler == Kind::Shuffled;
    let epochs = match &arguments.epochs {
        None => None,
        Some(text) => match parse_decimal(text) {
            Ok(epochs) if epochs > Rational::ZERO => Some(epochs),
            _ => return fail("--epochs is not a positive number", "write it as 60 or 0.5"),
        },
    };
    let up = |value: Rational| plan::count("the number of steps", &value.ceil().to_string());
    let parts = sizes.map(|(batch, of)| Rational::from(of) / Rational::from(batch));
    match (steps, epochs, parts) {
        (Some(steps), _, Some(parts)) if shuffled => Ok((up(Rational::from(steps) / parts)?, Some(steps))),
        (Some(_), _, None) if shuffled => fail(
            "how many steps make an epoch is not said",
            "add --batch 256 --of 60000, or say --epochs instead of --steps",
        ),
        (Some(steps), _, _) => Ok((steps, Some(steps))),
        (None, Some(epochs), parts) if shuffled => {
            let epochs = up(epochs)?;
            let steps = parts
                .map(|parts| up(Rational::from(epochs) * Rational::from(parts.ceil())))
                .transpose()?;
            Ok((epochs, steps))
        }
        (None, Some(epochs), Some(parts)) => {
            let steps = up(epochs * parts)?;
            Ok((steps, Some(steps)))
        }
        (None, Some(_), None) => fail(
            "how many steps an epoch has is not said",
            "add --batch 256 --of 60000, or say --steps instead of --epochs",
        ),
        (None, None, _) => fail(
            "neither --steps nor --epochs is given",
            "add --steps 14062, or --epochs 60",
        ),
    }
}

impl Answer {
    fn figure(&self, quiet: bool) -> Result<Figure, CliError> {
        let Training {
            kind, times, delta, ..
        } = &self.training;
        let shuffled = *kind == Kind::Shuffled;
        let drawing = Drawing {
            title: format!("{}, δ = {delta}", self.plan.words()),
            counted: if shuffled { "epochs" } else { "steps" },
            most: *times,
            unit: self.report.unit(),
            delta,
            quiet,
        };
        drawing.draw(|times| self.plan.first(times))
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = self.report.warnings();
        let Training {
            kind, sizes, delta, ..
        } = &self.training;
        if *kind == Kind::Shuffled {
            warnings.push(
                "shuffled batches get no amplification: no tight bound is known for them, so each epoch counts as one Gaussian; \
                 Poisson samples cost less"
                    .to_owned(),
            );
        }
        if let Some((_, of)) = sizes
            && delta.as_rational() * Rational::from(*of) >= Rational::ONE
        {
            warnings.push(format!(
                "δ = {delta} allows one of {of} examples to be published whole; choose δ well below 1/{of}"
            ));
        }
        warnings
    }

    pub(super) fn to_text(&self) -> String {
        let Training { kind, delta, .. } = &self.training;
        let mut text = String::new();
        if let Some(target) = &self.target {
            text += &format!(
                "σ = {} is the smallest noise multiplier that keeps ε = {target} at δ = {delta}\n",
                exact::format_decimal(&self.sigma)
            );
        }
        text += &self.report.to_text_with(&self.warnings());
        text += match kind {
            Kind::Poisson => {
                "\nNeighbouring data sets differ in one unit added or removed. Holds if each example enters each batch independently with\n\
                 this probability, which a shuffling data loader does not do.\n"
            }
            Kind::PoissonChangeOne => {
                "\nNeighbouring data sets differ in one unit replaced by another, which moves a sum by up to two clipping norms. Holds if each\n\
                 example enters each batch independently with this probability, which a shuffling data loader does not do.\n"
            }
            Kind::FixedSize => {
                "\nNeighbouring data sets differ in one unit replaced by another, which moves a sum by up to two clipping norms. Holds if\n\
                 each batch is drawn anew from all examples.\n"
            }
            Kind::Shuffled => {
                "\nNeighbouring data sets differ in one unit replaced by another, which moves a sum by up to two clipping norms.\n"
            }
        };
        text
    }

    pub(super) fn to_json(&self) -> Map<String, Value> {
        let Training {
            kind,
            sampler,
            sizes,
            times,
            steps,
            ..
        } = &self.training;
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        put("sampler", json!(kind.name()));
        put(
            "rate",
            match sampler {
                Sampler::Poisson { rate } | Sampler::PoissonChangeOne { rate } => json!(rate),
                _ => Value::Null,
            },
        );
        put("batch", json!(sizes.map(|(batch, _)| batch)));
        put("of", json!(sizes.map(|(_, of)| of)));
        put("steps", json!(steps));
        if *kind == Kind::Shuffled {
            put("epochs", json!(times));
        }
        put("sigma", json!(exact::to_f64_up(&self.sigma)));
        put("sigma_exact", json!(exact::format_decimal(&self.sigma)));
        put("target_epsilon", json!(self.target));
        object.extend(self.report.object());
        object.insert("warnings".to_owned(), json!(self.warnings()));
        object
    }
}
