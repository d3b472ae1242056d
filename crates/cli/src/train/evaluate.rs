//! `deniable train evaluate`.

use super::examples::Numbers;
use super::language::predicted;
use super::model_file::{Read, promise, read};
use super::origin::Source;
use crate::dataset::CatalogArguments;
use crate::terminal::{self, CliError, explained, fail, significant};
use serde_json::json;
use std::path::PathBuf;
use train::model::Model;
use train::models::Targets;
use train::private::Examples;
use train::text::{Rows, Unigram, read_text};

/// Measure a model: perplexity on text, accuracy or error on a table
///
/// What is measured on private data is not private: it is for the curator, or for public data.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable train evaluate model.safetensors --text public.txt
  deniable train evaluate model.safetensors --table people --json")]
pub(super) struct Arguments {
    /// The model
    model: PathBuf,
    /// A file of text
    #[arg(long, value_name = "FILE", conflicts_with = "table")]
    text: Option<PathBuf>,
    /// A declared table
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    #[command(flatten)]
    catalog: CatalogArguments,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let (words, found, receipt) = match (read(&arguments.model)?, &arguments.text, &arguments.table) {
        (Read::Language(mut language), Some(path), _) => {
            let text = read_text(path).map_err(explained)?;
            let rows = Rows::of_text(&text, &language.vocabulary, language.length).map_err(explained)?;
            let prediction = predicted(&mut language.model, &language.parameters, &rows);
            // What frequencies alone would give, counted on the very same text: no model of frequencies does better.
            let unigram = Unigram::of(&rows, language.vocabulary.len())
                .and_then(|unigram| unigram.predict(&rows))
                .map_err(explained)?;
            let words = format!(
                "perplexity {} over {} tokens; the text's own frequencies give {}",
                significant(prediction.perplexity(), 4),
                prediction.tokens,
                significant(unigram.perplexity(), 4)
            );
            let found = json!({
                "perplexity": prediction.perplexity(),
                "tokens": prediction.tokens,
                "unigram_perplexity": unigram.perplexity(),
            });
            (words, found, language.receipt)
        }
        (Read::Rows(mut rows), _, Some(table)) => {
            let source = Source::Table {
                catalog: arguments.catalog.path(arguments.json)?,
                table: table.clone(),
            };
            let dataset = source.dataset()?.expect("a table has a catalog");
            let (numbers, _) = Numbers::read(&source, &dataset, table, &rows.encoding)?;
            if numbers.count() == 0 {
                return fail(
                    "the table has no rows with a label",
                    "name a table with the columns that the model learned from",
                );
            }
            let (mut right, mut loss, mut squares) = (0usize, 0.0, 0.0);
            let all: Vec<usize> = (0..numbers.count()).collect();
            for some in all.chunks(1000) {
                let batch = numbers.gather(some);
                loss += rows.model.losses(&rows.parameters, &batch).iter().sum::<f64>();
                let answers = rows.model.predict(&rows.parameters, &batch);
                match batch.targets() {
                    Targets::Classes(classes) => {
                        right += answers
                            .iter()
                            .zip(classes)
                            .filter(|(answer, class)| {
                                let best = answer.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
                                best.is_some_and(|(place, _)| place == **class as usize)
                            })
                            .count();
                    }
                    Targets::Numbers(numbers) => {
                        let pairs = answers.iter().flatten().zip(numbers);
                        squares += pairs
                            .map(|(answer, number)| (answer - f64::from(*number)).powi(2))
                            .sum::<f64>();
                    }
                }
            }
            let count = all.len() as f64;
            let label = &rows.encoding.label.0;
            let (words, found) = match &rows.encoding.label.1 {
                sql::Coding::OneOf { .. } => (
                    format!(
                        "{} % of {label} right, mean loss {}",
                        significant(100.0 * right as f64 / count, 4),
                        significant(loss / count, 4)
                    ),
                    json!({ "accuracy": right as f64 / count, "loss": loss / count }),
                ),
                sql::Coding::Number { low, high, .. } => {
                    // From [−1, 1] to what the column is counted in.
                    let error = (squares / count).sqrt() * (high - low) / 2.0;
                    (
                        format!(
                            "{label} is off by {} (root of the mean square)",
                            significant(error, 4)
                        ),
                        json!({ "root_mean_squared_error": error }),
                    )
                }
            };
            (words, found, rows.receipt)
        }
        (Read::Language(_), None, _) => {
            return fail("a language model is measured on text", "name it with --text FILE");
        }
        (Read::Rows(_), _, None) => {
            return fail(
                "this model is measured on rows of a table",
                "name it with --table NAME",
            );
        }
    };
    terminal::print(&if arguments.json {
        let found = json!({ "measured": found, "private": false, "receipt": receipt });
        format!("{found}\n")
    } else {
        format!(
            "{words}\nmodel: {}\nWhat is measured here is not private, unless the data is public.\n",
            promise(receipt.as_ref())
        )
    })
}
