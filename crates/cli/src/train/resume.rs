//! `deniable train resume`.

use super::frame::{Begun, Run};
use super::model_file::{self, Described};
use super::options::{at_most_processors, up_to};
use super::origin::{self, Origin, Source, absolute};
use super::places;
use super::session::Shown;
use crate::terminal::{CliError, explained};
use std::path::PathBuf;
use train::private::Checkpoint;

/// Go on with a run that was stopped or that crashed
///
/// An interrupted run has no model: after how many steps it was interrupted depends on how fast they were, and so on the data. It goes on to its end, or to a step that --stop-at
/// names. Nothing is charged again: the ledger must know the charge that the checkpoint names. Steps that were taken after the checkpoint are taken again with the
/// same batches and the same noise, so the model is the one that an uninterrupted run would have made.
#[derive(clap::Args)]
#[command(after_help = "Example:
  deniable train resume model.safetensors.checkpoint
  deniable train resume model.safetensors.checkpoint --stop-at 2000

A run that ends early promises what its whole plan promises, and its receipt says no more than that. Choose the step for a public reason, such as what was
measured on public data; not because the run came so far.

Exit code: 0 when the model was written; 2 when the checkpoint cannot be used; 3 when the ledger refuses; 130 when the run was interrupted again and is kept.")]
pub(super) struct Arguments {
    /// The checkpoint
    checkpoint: PathBuf,
    /// Where the model goes [default: where the run was to write it]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write over a file that --out names and that is there already
    #[arg(long, requires = "out")]
    force: bool,
    /// End at this step, with a model; the checkpoint stays, and can go on [default: the last that is planned]
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
    let notes = Checkpoint::notes(&arguments.checkpoint).map_err(explained)?;
    let described = Described::of_note(notes.get(model_file::NOTE))?;
    let mut origin: Origin = notes
        .get(origin::NOTE)
        .and_then(|text| serde_json::from_str(text).ok())
        .ok_or_else(|| {
            CliError::bad_input("the checkpoint does not say where its data is")
                .with_hint("use a checkpoint that `deniable train` wrote")
        })?;
    if let Some(out) = &arguments.out {
        // A ledger that was named after the model stays where it is.
        if !matches!(origin.source, Source::Column { .. } | Source::Table { .. }) {
            origin.ledger = origin.ledger_file(None);
        }
        let out = absolute(out);
        if out != origin.out && !arguments.force {
            places::check_new(&out)?;
        }
        origin.out = out;
    }
    let run = Run {
        begun: Begun::Resumed {
            stop_at: arguments.stop_at,
            threads: arguments.threads.map(|threads| at_most_processors(Some(threads))),
        },
        described: &described,
        origin: &origin,
        checkpoint: &arguments.checkpoint,
        shown: Shown {
            json: arguments.json,
            quiet: arguments.quiet,
        },
    };
    run.train()
}
