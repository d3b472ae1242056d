//! `deniable train`: models from private data. The cost of a model is stated, charged before the first step,
//! and written into its file. The crate `training` does all of it; this module has the options and messages.

mod classifier;
mod evaluate;
mod generate;
mod language;
mod options;
mod refusal;
mod report;
mod resume;

pub(crate) use training::{LINES_BATCH as SMALL_BATCH, LineModel, SmallModels, TRAINING, places};

use crate::terminal::CliError;

/// Train models on private text or tables, with a stated (ε, δ)
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable train lm                                        a small language model of synthetic text: see how it goes
  deniable train lm --text notes.txt --each-line --size 50000 --target-epsilon 8 --delta 1e-6
  deniable train lm --table notes --column text --size 50000
                                                           each person's texts together, by the catalog
  deniable train classifier --table people --label smoker --size 300000 --target-epsilon 4
  deniable train resume model.safetensors.checkpoint       resume after Ctrl-C or a crash; nothing is charged twice
  deniable train generate model.safetensors --prompt \"The old \"
  deniable train evaluate model.safetensors --text public.txt
  deniable train evaluate model.safetensors --public-file held_out.csv

The whole run is charged before its first step. A checkpoint holds the key of the noise and is as private as the data; the model is not, and says in
its file what it guarantees to whom.

Exit code: 0 done; 2 the input cannot be used; 3 the budget or the ledger refuses; 130 a run was interrupted, and is saved in its checkpoint.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Lm(Box<language::Arguments>),
    Classifier(Box<classifier::Arguments>),
    Resume(resume::Arguments),
    Generate(generate::Arguments),
    Evaluate(evaluate::Arguments),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Lm(arguments) => language::run(arguments),
        Command::Classifier(arguments) => classifier::run(arguments),
        Command::Resume(arguments) => resume::run(arguments),
        Command::Generate(arguments) => generate::run(arguments),
        Command::Evaluate(arguments) => evaluate::run(arguments),
    }
}
