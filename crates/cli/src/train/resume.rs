//! `deniable train resume`.

use super::options::{at_most_processors, up_to};
use super::report::{self, Shown};
use crate::terminal::CliError;
use std::path::PathBuf;
use training::Session;

/// Resume a run that was interrupted or that crashed
///
/// An interrupted run has no model: after how many steps it was interrupted depends on how fast they were, and so on the data. It is resumed to its end, or to a step that --stop-at
/// names. Nothing is charged again: the ledger must know the charge that the checkpoint names. Steps that were taken after the checkpoint are taken again with the
/// same batches and the same noise, so the model is the one that an uninterrupted run would have made.
#[derive(clap::Args)]
#[command(after_help = "Example:
  deniable train resume model.safetensors.checkpoint
  deniable train resume model.safetensors.checkpoint --stop-at 2000

A run that ends early guarantees what its whole plan guarantees, and its receipt says no more than that. Choose the step for a public reason, such as what was
measured on public data; not because the run had reached it.

Exit code: 0 when the model was written; 2 when the checkpoint cannot be used; 3 when the ledger refuses; 130 when the run was interrupted again and is saved.")]
pub(super) struct Arguments {
    /// The checkpoint
    checkpoint: PathBuf,
    /// Where the model goes [default: where the run was to write it]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write over a file that --out names and that is there already
    #[arg(long, requires = "out")]
    force: bool,
    /// End at this step, with a model; the checkpoint stays, and can be resumed [default: the last that is planned]
    #[arg(long, value_name = "N")]
    stop_at: Option<u64>,
    /// Threads, at most as many as there are processors; the model is the same on any number [default: as many as it began with]
    #[arg(long, value_name = "N", value_parser = up_to(1024))]
    threads: Option<usize>,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let mut session = Session::resumed(&arguments.checkpoint)?;
    if let Some(out) = &arguments.out {
        session = session.writing_to(out, arguments.force)?;
    }
    let threads = arguments.threads.map(|threads| at_most_processors(Some(threads)));
    let shown = Shown {
        json: arguments.json,
        quiet: arguments.quiet,
    };
    report::run(session.stopping_at(arguments.stop_at).on_threads(threads), shown)
}
