//! `deniable audit`: is this privacy claim true?
//!
//! Ways to ask, from the strongest answer to the weakest need:
//!
//! ```text
//! exact    two output distributions        ──► a theorem: proved or refuted
//! run      any executable, no source needed ──► refuted at a stated confidence, or nothing found
//! one-run  a model that was trained once    ──► the same, by guessing which canaries were in its text
//! rows     a generator of synthetic rows    ──► the same, by guessing which canaries were in its data
//! gallery  mechanisms of known standing     ──► does the auditor itself still tell them apart?
//! self     every mechanism of Deniable      ──► all methods, and mutants that must be refuted
//! ```

mod gallery;
mod itself;
mod look;
mod one_run;
mod parameters;
mod rows;
mod run;
mod verify;

use crate::terminal::{CliError, explained};
use audit::document::{Claim, Number};
use clap::{Args, Subcommand};

/// Is this privacy claim true? By proof, or by experiment on any program
///
/// `exact` proves or refutes a claim from the two output distributions. `run` needs only an executable: it can refute a
/// claim, never prove one. `one-run` does the same for a model that was trained once, and `rows` for the generator of synthetic rows. `gallery` shows what the auditor finds in mechanisms whose exact ε is known, and `self` audits every
/// mechanism that Deniable ships.
#[derive(Args)]
#[command(after_help = "Examples:
  deniable audit exact --mechanism laplace --scale 2 --claim-epsilon 0.5
  deniable audit run --claim-epsilon 1 --input-first 0 --input-second 1 -- ./my-mechanism
  deniable audit one-run
  deniable audit rows
  deniable audit gallery
  deniable audit self

Exit code: 0 when nothing is refuted, 4 when a claim is refuted, 2 when the question cannot be answered.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

// Each describes itself where its arguments are.
#[derive(Subcommand)]
enum Command {
    Exact(Box<verify::Arguments>),
    Run(Box<run::Arguments>),
    OneRun(Box<one_run::Arguments>),
    Rows(Box<rows::Arguments>),
    #[command(aliases = ["self-test", "demo"])]
    Gallery(gallery::Arguments),
    #[command(name = "self")]
    Itself(itself::Arguments),
}

/// Runs the command. A refuted claim is an error with exit code 4, after its report has been printed.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Exact(arguments) => verify::run(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::OneRun(arguments) => one_run::run(arguments),
        Command::Rows(arguments) => rows::run(arguments),
        Command::Gallery(arguments) => gallery::run(arguments),
        Command::Itself(arguments) => itself::run(arguments),
    }
}

/// The claim to judge.
#[derive(Args, Clone, Debug, Default)]
struct ClaimArguments {
    /// The ε that is claimed
    #[arg(id = "claim-epsilon", long, value_name = "E", allow_hyphen_values = true)]
    epsilon: Option<Number>,
    /// The δ that is claimed [default: --delta where it is given, otherwise 0]
    #[arg(id = "claim-delta", long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<Number>,
}

impl ClaimArguments {
    /// The claim as the library judges it.
    fn read(&self) -> Claim {
        Claim {
            epsilon: self.epsilon.clone(),
            delta: self.delta.clone(),
        }
    }
}

impl From<audit::program::Error> for CliError {
    fn from(error: audit::program::Error) -> Self {
        explained(error)
    }
}

/// The error that ends a command after its report: exit code 4.
fn refuted(claim: &Claim) -> CliError {
    CliError::check_failed(format!("the claim {} is refuted", claim.words()))
}

#[cfg(test)]
mod tests;
