//! `deniable attack membership`: was she in the data? From published means.

mod study;

use crate::delivery::{Outputs, count, watched};
use crate::terminal::{CliError, Interrupt, explained, fail};
use ::report::Findings;
use accounting::{Delta, Epsilon};
use attack::membership::{Experiment, Noise, Population};
use experiments::membership::Report;
use std::path::PathBuf;

/// Was she in the data? Tracing people from published means
///
/// A study publishes how common each of many attributes was among its people. Who knows a person's attributes, and how common each is in the population, can tell whether
/// she took part: each attribute says next to nothing, thousands together say it all. Without files, many synthetic studies are each tried on one member and on one stranger,
/// without noise and with differential privacy, and success is shown beside the most that (ε, δ) allows.
///
/// (ε, δ) is about one person exchanged for another, and about all means together: one record moves each of d sums by at most 1, which is √d in ℓ₂ for Gaussian noise and d in ℓ₁
/// for Laplace noise.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// People in each study
    #[arg(long, value_name = "N", default_value_t = 100)]
    people: u32,
    /// Attributes published
    #[arg(long, value_name = "D", default_value_t = 5_000)]
    attributes: usize,
    /// Total ε of all means together, one or several [default: 10,1,0.1; with --means none]
    #[arg(long, value_name = "E", value_delimiter = ',')]
    epsilon: Vec<String>,
    /// Total δ of all means together
    #[arg(long, value_name = "D", default_value = "1e-5")]
    delta: String,
    /// Laplace noise (δ = 0) in the place of Gaussian noise
    #[arg(long)]
    laplace: bool,
    /// Studies, each tried on one member and one stranger
    #[arg(long, value_name = "N", default_value = "2000", value_parser = count)]
    trials: u64,
    /// What determines all draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// A published table to attack instead: a CSV file with the columns attribute, mean, frequency
    #[arg(long, value_name = "FILE", requires = "targets")]
    means: Option<PathBuf>,
    /// Whom to trace: a CSV file with a column of 0 and 1 for each attribute
    #[arg(long, value_name = "FILE", requires = "means")]
    targets: Option<PathBuf>,
    /// The column of --targets that says who it is [default: the number of the row]
    #[arg(long, value_name = "COLUMN", requires = "targets")]
    names: Option<String>,
    #[command(flatten)]
    outputs: Outputs,
}

const EXAMPLES: &str = "\
Examples:
  deniable attack membership
  deniable attack membership --epsilon 1 --trials 20000 --plot roc.svg
  deniable attack membership --people 1000 --attributes 1000 --laplace --epsilon 10
  deniable attack membership --means published.csv --targets suspects.csv --names who --people 100

In a file of means, frequency is how common the attribute is in the population. With --epsilon, the means of the file are taken to have
been released with that noise.

Exit code: 0 when success stays within what (ε, δ) allows, 4 when it does not.";

/// More trials than anybody waits for.
const TRIALS: std::ops::RangeInclusive<u64> = 20..=100_000_000;

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    arguments.outputs.check()?;
    let (findings, within) = findings(arguments)?;
    arguments.outputs.give(&findings)?;
    if within {
        Ok(())
    } else {
        Err(CliError::check_failed(
            "more members were traced than (ε, δ) allows: the noise does not keep its promise",
        ))
    }
}

/// What was found, and whether it is within what is allowed.
fn findings(arguments: &Arguments) -> Result<(Findings, bool), CliError> {
    if arguments.people == 0 || arguments.attributes == 0 {
        return fail(
            "a study needs people and attributes",
            "with --people 100 --attributes 5000 everybody is traced",
        );
    }
    let noises = arguments.noises()?;
    if let (Some(means), Some(targets)) = (&arguments.means, &arguments.targets) {
        return Ok((study::findings(arguments, means, targets, noises)?, true));
    }
    if !TRIALS.contains(&arguments.trials) {
        return fail(
            "--trials must lie between 20 and 1e8",
            "2000 tell areas to about 0.01",
        );
    }
    let population = Population::uniform(arguments.attributes, arguments.seed);
    let experiment = Experiment {
        population: &population,
        people: arguments.people,
        noises: &noises,
        trials: arguments.trials,
        seed: arguments.seed,
    };
    let interrupt = Interrupt::listen();
    let found = {
        let progress = arguments.outputs.progress("studies", arguments.trials);
        experiment
            .run(&watched(&progress, &interrupt))
            .map_err(explained)?
    };
    if found.iter().any(|scores| scores[0].outside.len() < 2) {
        return fail(
            "stopped before the first studies were done",
            "wait a little longer, or make studies smaller",
        );
    }
    let report = Report {
        people: arguments.people,
        attributes: arguments.attributes,
        seed: arguments.seed,
        noises: &noises,
        found: &found,
        stopped: interrupt.was_pressed(),
    };
    report.findings().map_err(explained)
}

impl Arguments {
    /// How the means are protected, in all the ways asked for.
    fn noises(&self) -> Result<Vec<Noise>, CliError> {
        let delta = Delta::parse(&self.delta).map_err(explained)?;
        let noise = |epsilon: &str| -> Result<Noise, CliError> {
            let epsilon = Epsilon::parse(epsilon.trim()).map_err(explained)?;
            Ok(if self.laplace {
                Noise::Laplace(epsilon)
            } else {
                Noise::Gaussian(epsilon, delta.clone())
            })
        };
        let asked: Vec<&str> = self.epsilon.iter().map(String::as_str).collect();
        let asked = match (&asked[..], &self.means) {
            ([], None) => vec!["10", "1", "0.1"],
            _ => asked,
        };
        let mut noises = vec![Noise::None];
        for epsilon in asked {
            noises.push(noise(epsilon)?);
        }
        Ok(noises)
    }
}

#[cfg(test)]
mod tests;
