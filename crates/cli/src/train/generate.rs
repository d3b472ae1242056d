//! `deniable train generate`.

use super::model_file::{promise, read_language};
use crate::terminal::{self, CliError, explained, fail};
use noise::Entropy;
use noise::Seeded;
use serde_json::json;
use std::path::PathBuf;
use train::models::LanguageModel;
use train::text::START;

/// Let a language model go on with a text
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable train generate model.safetensors
  deniable train generate model.safetensors --prompt \"my pin number is \" --temperature 0

What a private model says is as public as the model: it costs nothing.")]
pub(super) struct Arguments {
    /// The model
    model: PathBuf,
    /// What to go on with
    #[arg(long, value_name = "TEXT", default_value = "")]
    prompt: String,
    /// How many tokens
    #[arg(long, value_name = "N", default_value_t = 60)]
    tokens: usize,
    /// 1 as the model says, less is likelier, 0 is always the likeliest
    #[arg(long, value_name = "T", default_value_t = 0.8)]
    temperature: f64,
    /// Where chance starts from
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
    let mut seeded = Seeded::new(arguments.seed);
    let mut tokens = vec![START];
    tokens.extend(language.vocabulary.encode(&arguments.prompt));
    for _ in 0..arguments.tokens {
        // The model has seen rows of this length, each from a start.
        let from = tokens.len().saturating_sub(language.length);
        let likely = language
            .model
            .next(&language.parameters, &tokens[from..])
            .map_err(explained)?;
        tokens.push(choose(&likely, arguments.temperature, &mut seeded));
    }
    let text = language.vocabulary.decode(&tokens[1..]);
    terminal::print(&if arguments.json {
        let found = json!({ "text": text, "receipt": language.receipt });
        format!("{found}\n")
    } else {
        eprintln!("{}", promise(language.receipt.as_ref()));
        format!("{text}\n")
    })
}

/// One token, with probabilities proportional to p^(1/temperature). The start of a row is never chosen.
fn choose(likely: &[f64], temperature: f64, entropy: &mut impl Entropy) -> u32 {
    let best = likely
        .iter()
        .enumerate()
        .skip(START as usize + 1)
        .max_by(|a, b| a.1.total_cmp(b.1))
        .map_or(0, |(token, _)| token);
    if temperature == 0.0 {
        return best as u32;
    }
    let weights: Vec<f64> = likely
        .iter()
        .enumerate()
        .map(|(token, log)| {
            if token as u32 == START {
                0.0
            } else {
                ((log - likely[best]) / temperature).exp()
            }
        })
        .collect();
    let all: f64 = weights.iter().sum();
    let mut left = entropy.bits(53) as f64 / (1u64 << 53) as f64 * all;
    for (token, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return token as u32;
        }
    }
    best as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_chosen_as_the_model_says() {
        let likely = [0.0f64, 0.5f64.ln(), 0.25f64.ln(), 0.25f64.ln()];
        assert_eq!(choose(&likely, 0.0, &mut Seeded::new(1)), 1);
        let mut counts = [0u32; 4];
        let mut seeded = Seeded::new(2);
        for _ in 0..4000 {
            counts[choose(&likely, 1.0, &mut seeded) as usize] += 1;
        }
        assert_eq!(counts[0], 0, "the start is never chosen");
        // Six standard deviations of 2000 ± 32.
        assert!((1800..2200).contains(&counts[1]), "{counts:?}");
        assert!((820..1180).contains(&counts[2]), "{counts:?}");
    }
}
