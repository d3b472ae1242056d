//! `deniable attack reconstruct`: the people behind published numbers.

mod block;
mod linear;
mod table;

use crate::terminal::CliError;
use clap::{Args, Subcommand};

/// Rebuild the people behind published numbers
#[derive(Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

// Each describes itself where its arguments are.
#[derive(Subcommand)]
enum Command {
    Table(table::Arguments),
    Block(block::Arguments),
    Linear(linear::Arguments),
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Table(arguments) => table::run(arguments),
        Command::Block(arguments) => block::run(arguments),
        Command::Linear(arguments) => linear::run(arguments),
    }
}
