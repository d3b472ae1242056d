//! `deniable audit rows`: a generator of synthetic rows, and mutants of it, attacked and audited from one run each.

use super::one_run::Confidence;
use crate::delivery::Outputs;
use crate::synthesize::Chosen;
use crate::terminal::{CliError, Interrupt, explained};
use accounting::{Delta, Epsilon};
use experiments::rows::{GENERATORS, Study, findings};
use noise::OsEntropy;

/// Audit the generator of synthetic rows by canaries that were in its data or not
///
/// Each canary is a person with a value that nobody else has, and a coin says whether she is in the data. Rows are made once. Whose value is in the most rows was probably in. (ε, δ) bounds how many guesses can be right, so the
/// number of right guesses gives a lower bound on ε (Steinke, Nasr and Jagielski 2023). Besides the generator of `deniable synthesize` the same is done to two that must be caught: one that draws rows from exact marginals, and
/// one that hands out its data. Of all three it is told how much closer rows are to members than to strangers, and how well a column of theirs is guessed.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable audit rows                          see it work, in about a minute
  deniable audit rows --method mst --epsilon 4 --canaries 2000
  deniable audit rows --confidence 0.999999999 --html rows.html

Exit code: 0 when every generator is judged rightly, 4 when one is not, 2 when the question cannot be answered.")]
pub(super) struct Arguments {
    /// How tables are chosen that are measured
    #[arg(long, value_enum, default_value_t = Chosen::Aim)]
    method: Chosen,
    /// How many canaries are drawn
    #[arg(long, value_name = "N", default_value_t = 500)]
    canaries: usize,
    /// The ε that all generators claim; one keeps it
    #[arg(long, value_name = "E", default_value = "1")]
    epsilon: String,
    /// Its δ
    #[arg(long, value_name = "D", default_value = "1e-7")]
    delta: String,
    /// One minus the probability that the generator that keeps its claim is refuted
    #[arg(long, value_name = "C", default_value = "99.9%")]
    confidence: Confidence,
    /// What determines the people; their coins and the noise are fresh
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    outputs: Outputs,
}

/// Canaries beyond this take more memory and time than anybody waits for.
const MOST_CANARIES: usize = 9_000;

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    arguments.outputs.check()?;
    if arguments.canaries > MOST_CANARIES {
        return Err(CliError::bad_input(format!(
            "more than {MOST_CANARIES} canaries have no column of their own"
        ))
        .with_hint("1000 can show an ε of 4"));
    }
    let study = Study {
        method: arguments.method.into(),
        epsilon: Epsilon::parse(&arguments.epsilon).map_err(explained)?,
        delta: Delta::parse(&arguments.delta).map_err(explained)?,
        canaries: arguments.canaries,
        confidence: arguments.confidence.0,
        seed: arguments.seed,
    };
    let interrupt = Interrupt::listen();
    let progress = arguments.outputs.progress("generators", GENERATORS.len() as u64);
    let mut entropy = OsEntropy::new().map_err(explained)?;
    let audited = study.run(&GENERATORS, &mut entropy, || {
        progress.advance(1);
        !interrupt.was_pressed()
    });
    let audited = audited.map_err(explained)?;
    drop(progress);
    let stopped = audited.len() < GENERATORS.len();
    arguments.outputs.give(&findings(&study, &audited, stopped))?;
    if stopped {
        eprintln!(
            "stopped: {} of {} generators were judged",
            audited.len(),
            GENERATORS.len()
        );
    }
    match audited.iter().find(|one| !one.is_right()) {
        None => Ok(()),
        Some(wrong) => Err(CliError::check_failed(format!(
            "the generator of rows {} was judged wrongly",
            wrong.generator.name()
        ))
        .with_hint(if wrong.generator.is_private() {
            "it happens as often as one minus the confidence: run it again, or with --confidence 0.999999"
        } else {
            "few canaries cannot refute a large ε, nor a δ that is not far below one minus the confidence: try --canaries 2000, or a smaller --epsilon or --delta"
        })),
    }
}
