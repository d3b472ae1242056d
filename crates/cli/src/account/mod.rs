//! `deniable account`: what a sequence of releases costs, by every accountant at once.
//!
//! ```text
//! flags, a file, or `sgd` ──► ReleasePlan ──► every accountant ──► a table, an object, a figure
//! ```
//!
//! The crate `accounting` decides which bound holds. This module asks the accountants about plans, and shows
//! their answers.

pub(crate) mod figure;
mod question;
mod releases;
pub(crate) mod report;
mod sgd;

use crate::delivery::Outputs;
use crate::terminal::{CliError, explained, fail};
use accounting::plan::{self, ReleasePlan};
use accounting::{Event, Neighbors, PrivacyUnit};
use clap::{Args, Subcommand, ValueEnum};
use question::Asked;
use releases::Releases;
use report::Report;
use std::path::PathBuf;

/// What do these releases cost together? Every accountant side by side, and a certified answer
///
/// Describe what runs: how often which noise, never any data. The answer is the ε that all of it keeps at a δ, as an interval
/// that certainly contains it, and beside it what the textbook bounds would have said. The order of releases does not matter, and
/// each may be chosen after seeing the answers before it, as long as how many there are of which kind is fixed beforehand.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES, after_long_help = LONG_EXAMPLES.as_str())]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    releases: Releases,
    /// Read releases from a .toml or .json file, in addition to those above (--help shows the format)
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    #[command(flatten)]
    question: question::QuestionArguments,
    /// What a group of this many is promised together, such as a family
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    group: Option<String>,
    /// What neighbouring databases differ in [default: what the releases demand, otherwise add-remove]
    #[arg(long, value_enum)]
    neighbors: Option<NeighborsFlag>,
    /// Whose privacy it is about
    #[arg(long, value_name = "WHOSE", default_value = "person")]
    unit: String,
    #[command(flatten)]
    outputs: Outputs,
}

#[derive(Subcommand)]
enum Command {
    Sgd(Box<sgd::Arguments>),
}

/// What one step between neighbouring databases is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NeighborsFlag {
    /// One unit more or less
    AddRemove,
    /// One unit replaced by another
    ChangeOne,
}

impl From<NeighborsFlag> for Neighbors {
    fn from(flag: NeighborsFlag) -> Self {
        match flag {
            NeighborsFlag::AddRemove => Self::AddRemove,
            NeighborsFlag::ChangeOne => Self::ChangeOne,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  A thousand counts with Laplace noise and one Gaussian sum, at δ = 1e-6
    deniable account --laplace 0.1x1000 --gaussian 5 --delta 1e-6
  The δ that remains at ε = 1, and what a family of four is promised
    deniable account --gaussian 5x10 --epsilon 1 --group 4
  Alice's premium: a 2 % risk of a $100,000 claim, a study at ε = 0.01
    deniable account --pure 0.01 --delta 0 --prior 0.02 --cost 100000
  How the accountants drift apart as releases add up
    deniable account --randomized-response 0.1x1000 --plot drift.svg
  Private training, and the noise it needs for a target
    deniable account sgd --rate 256/60000 --sigma 1.1 --steps 14062 --delta 1e-5
    deniable account sgd --batch 256 --of 60000 --epochs 60 --target-epsilon 3
  For a program
    deniable account --events plan.toml --json

Of --json, epsilon_lower and epsilon_upper are numbers, rounded outward, that hold the smallest ε at delta; delta_lower and
delta_upper the smallest δ at epsilon. What ends in _exact is a decimal as text.";

static LONG_EXAMPLES: std::sync::LazyLock<String> =
    std::sync::LazyLock::new(|| format!("{EXAMPLES}\n\n{}", plan::FORMAT));

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    if let Some(Command::Sgd(arguments)) = &arguments.command {
        return sgd::run(arguments);
    }
    let outputs = &arguments.outputs;
    outputs.check()?;
    let (report, plan) = answered(arguments)?;
    let figure = if outputs.is_drawn() {
        let delta = report.question().delta_or_default()?;
        Some(figure::of_releases(
            &plan,
            report.unit(),
            &delta,
            outputs.is_quiet(),
        )?)
    } else {
        None
    };
    outputs.give(&report::findings(report.to_text(), report.to_json(), figure))
}

/// Everything but printing and drawing.
fn answered(arguments: &Arguments) -> Result<(Report, ReleasePlan), CliError> {
    let mut parts = arguments.releases.parts()?;
    if let Some(path) = &arguments.events {
        parts.extend(plan::read(path)?);
    }
    if parts.is_empty() {
        return fail(
            "no releases are described, so there is nothing to account for",
            "try `deniable account --laplace 0.1x1000 --gaussian 5`: a thousand answers at ε = 0.1 each, and one with Gaussian \
             noise five times as wide as one person's influence",
        );
    }
    let plan = ReleasePlan::new(parts)?;
    let event = plan.event();
    let unit = unit(&arguments.unit, arguments.neighbors.map(Into::into), &event)?;
    let mut question = Asked::new(&arguments.question)?;
    question.answers.group = arguments.group.as_deref().map(group_size).transpose()?;
    let report = Report::new(plan.words(), event, unit, question)?;
    Ok((report, plan))
}

/// Whom the guarantee is about.
fn unit(whose: &str, neighbors: Option<Neighbors>, event: &Event) -> Result<PrivacyUnit, CliError> {
    let whose = whose.trim();
    if whose.is_empty() || whose.chars().count() > LONGEST_UNIT || whose.chars().any(char::is_control) {
        return fail(
            "--unit is not a noun",
            "say whose privacy it is: person, household, row",
        );
    }
    let neighbors = match neighbors {
        Some(neighbors) => neighbors,
        None => event
            .neighbors()
            .map_err(explained)?
            .unwrap_or(Neighbors::AddRemove),
    };
    Ok(PrivacyUnit::new(whose, neighbors))
}

/// A unit is a word, not a text.
const LONGEST_UNIT: usize = 60;

fn group_size(text: &str) -> Result<u32, CliError> {
    match plan::count("--group", text)?.try_into() {
        Ok(size) if size <= LARGEST_GROUP => Ok(size),
        _ => fail(
            format!("--group is larger than {LARGEST_GROUP}"),
            "a promise to one person says nothing about this many at once",
        ),
    }
}

const LARGEST_GROUP: u32 = 1_000_000;

#[cfg(test)]
mod tests;
