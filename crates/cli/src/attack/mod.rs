//! `deniable attack`: what an adversary learns from a release, beside the most that (ε, δ) allows.

mod average;
mod bits;
mod linkage;
mod membership;
mod memorization;
mod reconstruct;

use crate::terminal::CliError;
use clap::{Args, Subcommand};

/// What does an adversary make of a release? Beside the most that (ε, δ) allows
///
/// Every attack reads what was published and nothing else. Without a file each runs on synthetic data with a known truth, without and with
/// differential privacy.
#[derive(Args)]
#[command(after_help = "Examples:
  deniable attack reconstruct table                 seven people from a census table, proved to be the only solution
  deniable attack reconstruct linear                a column of secrets from noisy sums
  deniable attack average                           one question asked many times, without and with a ledger
  deniable attack membership                        was she in the data? from published means
  deniable attack linkage people.csv                which columns single people out
  deniable attack bits                              floating-point noise that gives the answer away
  deniable attack memorization                      a PIN that a language model learned by heart, and one that it did not")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

// Each describes itself where its arguments are.
#[derive(Subcommand)]
enum Command {
    Reconstruct(Box<reconstruct::Arguments>),
    Average(average::Arguments),
    Membership(Box<membership::Arguments>),
    Linkage(Box<linkage::Arguments>),
    Bits(bits::Arguments),
    Memorization(memorization::Arguments),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Reconstruct(arguments) => reconstruct::run(arguments),
        Command::Average(arguments) => average::run(arguments),
        Command::Membership(arguments) => membership::run(arguments),
        Command::Linkage(arguments) => linkage::run(arguments),
        Command::Bits(arguments) => bits::run(arguments),
        Command::Memorization(arguments) => memorization::run(arguments),
    }
}
