//! `deniable audit one-run plant`.

use crate::terminal::{self, CliError, explained, fail};
use audit::one_run::{Planted, Secrets, Tries};
use noise::{Entropy, OsEntropy};
use report::significant;
use serde_json::json;
use std::path::{Path, PathBuf};
use train::text::read_text;

/// Put random lines into a text, each by the toss of a secret coin
///
/// Each canary is four words of random letters. It has its place in the text whether it is in or not, so that one coin is one line more or less. Train on the text that is written, and keep the
/// secrets from whoever scores the model: guesses that were made by looking at them, or at the planted text, mean nothing.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable audit one-run plant --text notes.txt --out planted.txt --secrets secrets.json
  deniable audit one-run plant --text notes.txt --canaries 10000 --out planted.txt --secrets secrets.json --list canaries.csv

The list has no coins in it, so any other library can score its lines: train on planted.txt, write the number and the score of each canary, judge with --scores.

Exit code: 0 when all files were written, 2 when the text cannot be used.")]
pub(super) struct Arguments {
    /// The text
    #[arg(long, value_name = "FILE")]
    text: PathBuf,
    /// How many canaries are drawn; about half of them are planted
    #[arg(long, value_name = "N", default_value_t = 1000)]
    canaries: usize,
    /// Where the text with canaries goes: as private as the text, and it tells the coins
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Where canaries and coins go
    #[arg(long, value_name = "FILE.json")]
    secrets: PathBuf,
    /// Where the canaries go without their coins, for a library that scores them
    #[arg(long, value_name = "FILE.csv")]
    list: Option<PathBuf>,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    // Nothing is written if one of the files could not be.
    for path in [
        Some(&arguments.out),
        Some(&arguments.secrets),
        arguments.list.as_ref(),
    ] {
        if let Some(path) = path.filter(|path| path.exists()) {
            return fail(
                format!("`{}` is there already", path.display()),
                "name another file: the coins of an earlier planting would be lost",
            );
        }
    }
    let text = read_text(&arguments.text).map_err(explained)?;
    let mut entropy = OsEntropy::new().map_err(explained)?;
    let name = file_name(&arguments.out);
    let Planted { text, secrets } =
        audit::one_run::plant(&text, arguments.canaries, &name, &mut |count| entropy.bits(count))?;
    // The secrets first: a text without them cannot be audited.
    terminal::write_new_secret_file(&arguments.secrets, secrets.to_json().as_bytes())?;
    terminal::write_new_secret_file(&arguments.out, text.as_bytes())?;
    if let Some(path) = &arguments.list {
        terminal::write_new_secret_file(path, list(&secrets).as_bytes())?;
    }
    let tries = Tries::new(arguments.canaries, None)?;
    let largest = tries.largest_bound()?;
    terminal::print(&if arguments.json {
        let reported = json!({
            "canaries": arguments.canaries,
            "text": arguments.out.display().to_string(),
            "secrets": arguments.secrets.display().to_string(),
            "largest_epsilon": largest,
        });
        format!("{reported}\n")
    } else {
        format!(
            "about half of {} canaries are in {}\n  \
             they can show an ε of up to {} (at δ = 0, with confidence 0.95)\n  \
             train     deniable train lm --text {} --each-line --size N --target-epsilon E\n  \
             judge     deniable audit one-run judge --secrets {} --model model.safetensors\n",
            arguments.canaries,
            arguments.out.display(),
            significant(largest, 3),
            arguments.out.display(),
            arguments.secrets.display(),
        )
    })
}

/// Numbers count from 1.
fn list(secrets: &Secrets) -> String {
    let lines = secrets.canaries.iter().enumerate();
    let rows: String = lines
        .map(|(place, canary)| format!("{},{}\n", place + 1, canary.line))
        .collect();
    format!("canary,line\n{rows}")
}

pub(super) fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
