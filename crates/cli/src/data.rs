//! `deniable data`: which version of the data is meant. Only the curator declares it.

use crate::dataset::CatalogArguments;
use crate::terminal::{self, CliError, explained, fail, write_file_atomically};
use clap::{Args, Subcommand};
use serde_json::json;
use sql::State;
use sql::catalog::with_version;

const EXAMPLES: &str = "\
Examples:
  The data was replaced by new data: questions are new from now on
    deniable data release
    deniable data release --version 2026-11
  Is the data still what it was when its version was declared? Exit code 4 if not
    deniable data check

A saved answer belongs to a version of the data, which is a public word in the catalog: [data] with version = \"2026-11\", or
version_every = \"month\" (day, week, quarter, year) for one that follows the calendar. It never depends on sizes or dates of files,
because whether a file changed is itself about the data. `release` raises the word and takes keyed fingerprints of the files, kept
beside the ledger; `check` compares them, and is for the curator: what it says is about the data.";

/// Declare a new version of the data, and check that the data is what its version says
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The data is new: raise its version in the catalog, so that questions are charged and answered anew
    Release {
        #[command(flatten)]
        catalog: CatalogArguments,
        /// What the new version is called [default: the number after the last one]
        #[arg(long, value_name = "WORD")]
        version: Option<String>,
    },
    /// For the curator: is each file what it was when its version was declared? Exit code 4 if not
    Check {
        #[command(flatten)]
        catalog: CatalogArguments,
        /// Print one object for a program to read
        #[arg(long)]
        json: bool,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Release { catalog, version } => release(catalog, version.as_deref()),
        Command::Check { catalog, json } => check(catalog, *json),
    }
}

fn release(arguments: &CatalogArguments, version: Option<&str>) -> Result<(), CliError> {
    let dataset = arguments.open(false)?;
    let path = arguments.path(true)?;
    let before = dataset.catalog().data.word.clone();
    let word = match version {
        Some(word) => word.to_owned(),
        None => next(&before)?,
    };
    if word == before {
        return fail(
            format!("the version is {word:?} already"),
            "name another with --version; saved answers belong to the one that they were given for",
        );
    }
    let unreadable = |cause: std::io::Error| {
        CliError::bad_input(format!("cannot read {}: {}", path.display(), cause.kind()))
            .with_hint("is the catalog still there?")
    };
    let text = std::fs::read_to_string(&path).map_err(unreadable)?;
    let Some(raised) = with_version(&text, &word) else {
        return fail(
            format!("cannot tell where {} says its version", path.display()),
            format!(
                "write version = {word:?} under [data] yourself, and run `deniable data release` again for the fingerprints"
            ),
        );
    };
    write_file_atomically(&path, raised.as_bytes())?;
    let dataset = arguments.open(true)?;
    let taken = dataset.take_fingerprints().map_err(explained)?;
    let fingerprints = taken.iter().filter(|(_, state)| *state == State::Same).count();
    terminal::print(&format!(
        "the version of the data is {word} (it was {before}); questions are new from now on\nfingerprints of {fingerprints} tables are in {}\n",
        dataset.fingerprint_file().display()
    ))
}

/// The number after a number.
fn next(word: &str) -> Result<String, CliError> {
    match word.parse::<u64>().ok().and_then(|number| number.checked_add(1)) {
        Some(number) => Ok(number.to_string()),
        None => fail(
            format!("what comes after version {word:?} cannot be guessed"),
            "name it with --version",
        ),
    }
}

fn check(arguments: &CatalogArguments, as_json: bool) -> Result<(), CliError> {
    let dataset = arguments.open(as_json)?;
    let states = dataset.check_fingerprints().map_err(explained)?;
    let words = |state: &State| match state {
        State::Same => ("same", "what it was when its version was declared"),
        State::Changed => (
            "changed",
            "CHANGED under the same version: saved answers are about data that is no more",
        ),
        State::Unknown => (
            "unknown",
            "no fingerprint of this version; `deniable data release` takes one",
        ),
        State::NoFiles => (
            "no_files",
            "in a database or an object store, which is not looked at",
        ),
    };
    terminal::print(&if as_json {
        let tables: serde_json::Map<String, serde_json::Value> = states
            .iter()
            .map(|(name, state)| (name.clone(), words(state).0.into()))
            .collect();
        format!(
            "{}\n",
            json!({ "version": dataset.catalog().data.word, "tables": tables })
        )
    } else {
        states
            .iter()
            .map(|(name, state)| format!("{name}: {}\n", words(state).1))
            .collect()
    })?;
    let changed = states
        .iter()
        .filter(|(_, state)| *state == State::Changed)
        .count();
    if changed > 0 {
        return Err(CliError::check_failed(format!(
            "{changed} of {} tables changed without a new version",
            states.len()
        ))
        .with_hint("restore the files, or declare that the data is new with `deniable data release`"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_counted_and_words_are_not_guessed() {
        assert_eq!(next("1").unwrap(), "2");
        assert_eq!(next("41").unwrap(), "42");
        assert_eq!(next("2026-11").unwrap_err().code, 2);
    }
}
