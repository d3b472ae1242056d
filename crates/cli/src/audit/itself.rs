//! `deniable audit self`: every mechanism that Deniable ships, by every method there is, and the proof that each method can fail.
//!
//! ```text
//! mechanism ──► exact      its law on neighbours: proved          with less noise: refuted
//!           ──► grey box   a computation made of it               with a mistake:  refuted
//!           ──► black box  draws through an account               with less noise: refuted
//!           ──► fit        draws against the law that was proved
//! ```

mod check;
mod choice;
mod computation;
mod door;
mod endless;
mod groups;
mod median;
mod noise;
mod sparse;
mod subject;
mod survey;
#[cfg(test)]
mod tests;
mod training;

use super::report::{self, Gate};
use crate::terminal::{self, CliError, Interrupt, Progress, explained, fail};
use ::noise::{Entropy, OsEntropy};
use check::{Check, Effort};
pub(super) use check::{Done, Expected};
use choice::{Choice, Exponential, Flip, Noisy};
use groups::{GaussianGroups, LaplaceGroups, OptimalGroups};
use median::{Median, Proposed, Smooth, TwoMedians};
use noise::{DiscreteGaussianNoise, GaussianNoise, LaplaceNoise};
use sparse::Sparse;
use std::path::PathBuf;
use std::time::Instant;
use subject::checks;
use survey::{Hashing, Response, Unary};
use training::SampledSum;

/// How often a check by sampling refutes a right mechanism.
const FALSE_ALARM: f64 = 1e-9;

/// Audit every mechanism that Deniable ships, and show that the audit can fail
///
/// Each mechanism is judged exactly, from its output law on neighbouring inputs; by drawing through a real account; and where programs are made of it, by
/// recording what such a program asks and replaying it on a neighbour. Draws are also held against the law that was proved, so that the proof is about the code. Beside
/// each stands a mutant, with less noise than it claims or with a mistake, which must be refuted: a gate that cannot fail proves nothing.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable audit self
  deniable audit self --quick                     the same with fewer draws, for tests
  deniable audit self --only laplace --only noisymax
  deniable audit self --seed 7 --html audit.html  the same draws as last time, as a page

Ctrl-C prints what was found so far; a second one ends at once.
Exit code: 0 when every verdict is right, 4 when one is wrong or missing.")]
pub(super) struct Arguments {
    /// Mechanisms to audit, by the names that the gate prints [default: all]
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Fewer draws and coarser mutants: less than a minute without optimizations
    #[arg(long)]
    quick: bool,
    /// Where the random bits come from [default: a new one each time, which is printed]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How many checks run at a time
    #[arg(long, value_name = "N", default_value_t = 2)]
    threads: usize,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
    /// Write a self-contained report
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

/// Every check, mechanism by mechanism.
fn all_checks(effort: Effort) -> Vec<Check> {
    let mut all: Vec<Check> = [
        checks(LaplaceNoise, effort),
        checks(GaussianNoise, effort),
        checks(DiscreteGaussianNoise, effort),
        checks(Choice::<Exponential>::new(), effort),
        checks(Choice::<Flip>::new(), effort),
        checks(Choice::<Noisy>::new(), effort),
        checks(Sparse, effort),
        checks(Median, effort),
        checks(TwoMedians, effort),
        checks(Smooth, effort),
        checks(Proposed, effort),
        checks(LaplaceGroups, effort),
        checks(GaussianGroups, effort),
        checks(OptimalGroups, effort),
        checks(Response, effort),
        checks(Unary, effort),
        checks(Hashing, effort),
        checks(SampledSum, effort),
    ]
    .into_iter()
    .flatten()
    .collect();
    all.extend(computation::checks(effort));
    all
}

/// The checks of the mechanisms that were asked for; a name that none has is an error.
fn chosen(effort: Effort, only: &[String]) -> Result<Vec<Check>, CliError> {
    let all = all_checks(effort);
    for name in only {
        if !all.iter().any(|check| check.mechanism.eq_ignore_ascii_case(name)) {
            let mut known: Vec<&str> = all.iter().map(|check| check.mechanism).collect();
            known.dedup();
            known.sort_unstable();
            known.dedup();
            return fail(
                format!("no mechanism is called `{name}`"),
                format!("the names are {}", known.join(", ")),
            );
        }
    }
    let is_chosen =
        |check: &Check| only.is_empty() || only.iter().any(|name| check.mechanism.eq_ignore_ascii_case(name));
    Ok(all.into_iter().filter(is_chosen).collect())
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    if !(1..=256).contains(&arguments.threads) {
        return fail(
            "--threads must lie between 1 and 256",
            "one for each core is enough",
        );
    }
    let effort = if arguments.quick {
        Effort::Quick
    } else {
        Effort::Full
    };
    let checks = chosen(effort, &arguments.only)?;
    let seed = match arguments.seed {
        Some(seed) => seed,
        // Short enough to be typed.
        None => OsEntropy::new().map_err(explained)?.bits(32),
    };
    let (start, asked) = (Instant::now(), checks.len());
    let progress = Progress::new("audit", asked as u64, arguments.json || arguments.quiet);
    let interrupt = Interrupt::listen();
    let done = check::run(checks, seed, arguments.threads, &progress, &interrupt);
    drop(progress);
    let gate = Gate {
        rows: report::rows(done, |mechanism| replay(arguments, mechanism, seed)),
        asked,
        seed,
        quick: arguments.quick,
        elapsed: start.elapsed(),
    };
    terminal::print(&if arguments.json {
        format!("{}\n", gate.to_json())
    } else {
        gate.to_text()
    })?;
    // After the results are out: a report that cannot be written must not hide them.
    if let Some(path) = &arguments.html {
        terminal::write_file_atomically(path, gate.to_html().as_bytes())?;
    }
    let wrong = gate.rows.iter().filter(|row| !row.is_right).count();
    if wrong > 0 {
        return Err(
            CliError::check_failed(format!("{wrong} of {asked} verdicts are wrong"))
                .with_hint("each is shown above with the command that repeats it"),
        );
    }
    if gate.rows.len() < asked {
        let missing = asked - gate.rows.len();
        return Err(
            CliError::check_failed(format!("{missing} of {asked} checks did not run to their end"))
                .with_hint("run it again without an interruption"),
        );
    }
    Ok(())
}

/// The command that draws the same again for one mechanism.
fn replay(arguments: &Arguments, mechanism: &str, seed: u64) -> String {
    let quick = if arguments.quick { " --quick" } else { "" };
    format!("deniable audit self --only {mechanism} --seed {seed}{quick}")
}
