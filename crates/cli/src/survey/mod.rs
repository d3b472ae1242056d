//! `deniable survey`: ask an embarrassing question so that nobody can be blamed for the answer.
//!
//! ```text
//! answers.csv ── randomize: each row on its own, charged ──► reports.csv ── estimate: undo the noise on average ──► fractions
//! ```

mod estimate;
mod method;
mod randomize;
mod simulate;

use crate::terminal::CliError;
use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  Would 100 people be enough to learn what 20 of them hide?
    deniable survey simulate --people 100 --fraction 0.2

  Randomize a column of yes and no, and read the result:
    deniable survey randomize answers.csv --column cheated --epsilon 1 --output reports.csv
    deniable survey estimate reports.csv --column cheated --epsilon 1

  Many possible answers:
    deniable survey randomize answers.csv --column party --answers red,green,blue,none \\
        --mechanism unary --epsilon 2 --output reports.csv";

/// Collect randomized answers that anyone can deny, and estimate how common each answer is.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SurveyArguments {
    #[command(subcommand)]
    command: SurveyCommand,
}

#[derive(Subcommand, Debug)]
enum SurveyCommand {
    /// Run many synthetic surveys and see how far the estimates are from the truth.
    Simulate(simulate::Arguments),
    /// Replace the answers in a column of a CSV file by randomized reports.
    Randomize(randomize::Arguments),
    /// Estimate how common each answer is, from randomized reports.
    Estimate(estimate::Arguments),
}

/// Runs the command.
pub(crate) fn run(arguments: &SurveyArguments) -> Result<(), CliError> {
    match &arguments.command {
        SurveyCommand::Simulate(arguments) => simulate::run(arguments),
        SurveyCommand::Randomize(arguments) => randomize::run(arguments),
        SurveyCommand::Estimate(arguments) => estimate::run(arguments),
    }
}

/// JSON for standard output, ended by a line break.
fn json_text(value: &serde_json::Value) -> String {
    // Alternate formatting is indented JSON, and cannot fail.
    format!("{value:#}\n")
}
