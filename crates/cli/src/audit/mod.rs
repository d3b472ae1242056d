//! `deniable audit`: is this privacy claim true?
//!
//! Ways to ask, from the strongest answer to the weakest need:
//!
//! ```text
//! exact    two output laws, written down    ──► a theorem: proved or refuted
//! run      any executable, no source needed ──► refuted at a stated confidence, or nothing found
//! one-run  a model that was trained once    ──► the same, by guessing which canaries were in its text
//! gallery  mechanisms of known standing     ──► does the auditor itself still tell them apart?
//! self     every mechanism of Deniable      ──► all methods, and mutants that must be refuted
//! ```

mod curve;
mod description;
mod file;
mod gallery;
mod itself;
mod laws;
mod look;
mod number;
mod one_run;
mod output;
mod program;
mod report;
mod run;
mod runner;
mod verify;

use crate::terminal::{CliError, explained};
use clap::{Args, Subcommand};
use number::Number;

/// Is this privacy claim true? By proof, or by experiment on any program
///
/// `exact` proves or refutes a claim from the two output distributions. `run` needs only an executable: it can refute a
/// claim, never prove one. `one-run` does the same for a model that was trained once. `gallery` shows what the auditor finds in mechanisms whose exact ε is known, and `self` audits every
/// mechanism that Deniable ships.
#[derive(Args)]
#[command(after_help = "Examples:
  deniable audit exact --mechanism laplace --scale 2 --claim-epsilon 0.5
  deniable audit run --claim-epsilon 1 --input-first 0 --input-second 1 -- ./my-mechanism
  deniable audit one-run
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
        Command::Gallery(arguments) => gallery::run(arguments),
        Command::Itself(arguments) => itself::run(arguments),
    }
}

/// The claim to judge.
#[derive(Args, Clone, Debug, Default)]
struct Claim {
    /// The ε that is claimed
    #[arg(id = "claim-epsilon", long, value_name = "E", allow_hyphen_values = true)]
    epsilon: Option<Number>,
    /// The δ that is claimed [default: --delta where it is given, otherwise 0]
    #[arg(id = "claim-delta", long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<Number>,
}

impl Claim {
    /// Refuses an ε below zero and a δ outside [0, 1).
    fn check(&self) -> Result<(), CliError> {
        self.check_as("--claim-epsilon", "--claim-delta")
    }

    /// The same, where they are called otherwise.
    fn check_as(&self, epsilon: &str, delta: &str) -> Result<(), CliError> {
        check_epsilon(epsilon, self.epsilon.as_ref())?;
        check_delta(delta, self.delta.as_ref())
    }

    /// The claimed δ, or zero.
    fn delta_or_zero(&self) -> Number {
        self.delta.clone().unwrap_or(Number::ZERO)
    }
}

/// A larger ε is a mistake in the units.
const LARGEST_EPSILON: u32 = 10_000;
/// A smaller δ above zero is a mistake too.
const SMALLEST_DELTA: &str = "1e-100";

fn check_epsilon(name: &str, epsilon: Option<&Number>) -> Result<(), CliError> {
    if epsilon.is_some_and(|epsilon| epsilon.0 < exact::Rational::ZERO) {
        return Err(CliError::bad_input(format!("{name} must not be negative"))
            .with_hint("0 says that both inputs give the same output; 1 is a usual choice"));
    }
    if epsilon.is_some_and(|epsilon| epsilon.0 > exact::Rational::from(LARGEST_EPSILON)) {
        return Err(
            CliError::bad_input(format!("{name} must not be above {LARGEST_EPSILON}"))
                .with_hint("an ε of 20 already protects nobody; 1 is a usual choice"),
        );
    }
    Ok(())
}

fn check_delta(name: &str, delta: Option<&Number>) -> Result<(), CliError> {
    if delta.is_some_and(|delta| delta.0 < exact::Rational::ZERO || delta.0 >= exact::Rational::ONE) {
        return Err(
            CliError::bad_input(format!("{name} must be at least 0 and below 1"))
                .with_hint("δ = 1 permits everything; write a small one as 1e-6"),
        );
    }
    let smallest = exact::parse_decimal(SMALLEST_DELTA).unwrap_or(exact::Rational::ZERO);
    if delta.is_some_and(|delta| !delta.0.is_zero() && delta.0 < smallest) {
        return Err(
            CliError::bad_input(format!("{name} is above 0 and below {SMALLEST_DELTA}"))
                .with_hint("so small a probability is 0 in any world: write 0"),
        );
    }
    Ok(())
}

/// The error that ends a command after its report: exit code 4.
fn refuted(claim: &Claim) -> CliError {
    CliError::check_failed(format!("the claim {} is refuted", claim_words(claim)))
}

/// `ε = 1, δ = 0`.
fn claim_words(claim: &Claim) -> String {
    match &claim.epsilon {
        Some(epsilon) => format!("ε = {epsilon}, δ = {}", claim.delta_or_zero()),
        None => format!("δ = {}", claim.delta_or_zero()),
    }
}

#[cfg(test)]
mod tests;
