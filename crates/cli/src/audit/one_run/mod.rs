//! `deniable audit one-run`: a lower bound on the ε of a model that was trained once.
//!
//! ```text
//! text ──► plant ──► text with some canaries ──► training, by anybody ──► model ─┐
//!            └─────► secrets: canaries and coins ────────────────────────────────┴─► judge: guesses ──► ε is at least …
//! ```

mod demo;
mod judge;
mod plant;

pub(super) use judge::Confidence;

use crate::terminal::CliError;

/// Audit a model that was trained once, by canaries that were in its text or not
///
/// `plant` puts random lines into a text, each by the toss of a secret coin. You train a model on that text as ever, with Deniable or with anything else. `judge` asks the finished model how likely
/// each line is and guesses the coins: the likeliest lines were probably in, the least likely probably not. (ε, δ) bounds how many guesses can be right, so the number of right guesses gives a lower bound on ε
/// (Steinke, Nasr and Jagielski 2023). Alone, the command does all of it on synthetic text: it audits a small model that was trained with privacy, and one that was trained without.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  deniable audit one-run                                   see it work, in about a minute
  deniable audit one-run plant --text notes.txt --out planted.txt --secrets secrets.json
  deniable train lm --text planted.txt --each-line --size 51000 --target-epsilon 2
  deniable audit one-run judge --secrets secrets.json --model model.safetensors

Neighbouring texts differ in one line, so the claim must be about lines: train with --each-line.
A model that is audited with planted lines has learned them: plant into a text that you train on for the audit.

Exit code: 0 when nothing is refuted, 4 when a claim is refuted (alone: when a model was judged wrongly), 2 when the question cannot be answered."
)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    demo: demo::DemoArguments,
}

// Each describes itself where its arguments are.
#[derive(clap::Subcommand)]
enum Command {
    Plant(plant::Arguments),
    Judge(judge::Arguments),
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        None => demo::run(&arguments.demo),
        Some(Command::Plant(arguments)) => plant::run(arguments),
        Some(Command::Judge(arguments)) => judge::run(arguments),
    }
}
