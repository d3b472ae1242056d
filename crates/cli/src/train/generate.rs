//! `deniable train generate`.

use super::report::guarantee;
use crate::terminal::{self, CliError, fail};
use serde_json::json;
use std::path::PathBuf;
use training::read_language;

/// Generate text with a language model
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable train generate model.safetensors
  deniable train generate model.safetensors --prompt \"my pin number is \" --temperature 0

What a private model says is as public as the model: it costs nothing.")]
pub(super) struct Arguments {
    /// The model
    model: PathBuf,
    /// The text to continue
    #[arg(long, value_name = "TEXT", default_value = "")]
    prompt: String,
    /// The number of tokens
    #[arg(long, value_name = "N", default_value_t = 60)]
    tokens: usize,
    /// The sampling temperature: 1 as the model says, less prefers likelier tokens, 0 always takes the likeliest
    #[arg(long, value_name = "T", default_value_t = 0.8)]
    temperature: f64,
    /// The seed of the sampling
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    if !(arguments.temperature.is_finite() && arguments.temperature >= 0.0) {
        return fail("--temperature must be 0 or more", "0.8 is usual");
    }
    let mut language = read_language(&arguments.model)?;
    let text = language.generate(
        &arguments.prompt,
        arguments.tokens,
        arguments.temperature,
        arguments.seed,
    )?;
    terminal::print(&if arguments.json {
        let found = json!({ "text": text, "receipt": language.receipt });
        format!("{found}\n")
    } else {
        eprintln!("{}", guarantee(language.receipt.as_ref()));
        format!("{text}\n")
    })
}
