//! `deniable audit self`: audits every mechanism that Deniable ships, by every method there is, and shows
//! that each method can fail.

use crate::delivery::Outputs;
use crate::terminal::{CliError, Interrupt, Progress, explained, fail};
use conformance::{Effort, Gate};
use noise::{Entropy, OsEntropy};
use std::path::PathBuf;
use std::time::Instant;

/// Audit every mechanism that Deniable ships, and show that the audit can fail
///
/// Each mechanism is judged exactly, from its output distribution on neighbouring inputs; by drawing through a real account; and where programs are made of it, by
/// recording what such a program asks and replaying it on a neighbour. Draws are also held against the distribution that was proved, so that the proof is about the code. Beside
/// each stands a mutant, with less noise than it claims or with a mistake, which must be refuted: a gate that cannot fail proves nothing.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable audit self
  deniable audit self --quick                     the same with fewer draws, for tests
  deniable audit self --only laplace --only noisymax
  deniable audit self --seed 7 --html audit.html  the same draws as last time, as a page

Ctrl-C prints what was found so far; a second one ends at once.
Exit code: 0 when every verdict is right, 4 when one is wrong or missing, 130 when it was interrupted.")]
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
    let checks = conformance::checks(effort, &arguments.only).map_err(explained)?;
    let seed = match arguments.seed {
        Some(seed) => seed,
        // Short enough to be typed.
        None => OsEntropy::new().map_err(explained)?.bits(32),
    };
    let (start, asked) = (Instant::now(), checks.len());
    let progress = Progress::new("audit", asked as u64, arguments.json || arguments.quiet);
    let interrupt = Interrupt::listen();
    let mut found = |done: &conformance::Done| {
        progress.advance(1);
        progress.label(format!("{} ({})", done.mechanism, done.method));
    };
    let done = conformance::run(checks, seed, arguments.threads, &mut found, &|| {
        interrupt.was_pressed()
    });
    drop(progress);
    let gate = Gate::new(done, asked, seed, effort, start.elapsed());
    Outputs::without_figure(arguments.html.clone(), arguments.json).give(&gate.findings())?;
    let missing = gate.missing();
    if interrupt.was_pressed() && missing > 0 {
        return Err(super::gallery::interrupted(asked - missing, asked));
    }
    let wrong = gate.wrong();
    if wrong > 0 {
        return Err(
            CliError::check_failed(format!("{wrong} of {asked} verdicts are wrong"))
                .with_hint("each is shown above with the command that repeats it"),
        );
    }
    if missing > 0 {
        return Err(
            CliError::check_failed(format!("{missing} of {asked} checks did not run to their end"))
                .with_hint("run it again without an interruption"),
        );
    }
    Ok(())
}
