//! `deniable train evaluate`.

use super::examples::Numbers;
use super::language::predicted;
use super::model_file::{Read, promise, read};
use super::origin::files_of;
use super::places;
use crate::dataset::CatalogArguments;
use crate::terminal::{self, CliError, explained, fail};
use report::significant;
use serde_json::json;
use std::path::{Path, PathBuf};
use train::model::Model;
use train::models::Targets;
use train::private::Examples;
use train::text::{Rows, Unigram, read_text};

/// Measure a model: perplexity on text, accuracy or error on a table
///
/// Text and tables must be public: what is measured is told without noise. Rows become numbers as they did when the model was trained.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable train evaluate model.safetensors --text public.txt
  deniable train evaluate model.safetensors --table held_out --json     a table that the catalog declares as public
  deniable train evaluate model.safetensors --public-file held_out.csv   a file that anybody may see")]
pub(super) struct Arguments {
    /// The model
    model: PathBuf,
    /// A file of text
    #[arg(long, value_name = "FILE", conflicts_with_all = ["table", "public_file"])]
    text: Option<PathBuf>,
    /// A table that the catalog declares as public
    #[arg(long, value_name = "NAME", conflicts_with = "public_file")]
    table: Option<String>,
    /// A CSV or Parquet file with the model's columns, whose rows anybody may see
    #[arg(long, value_name = "FILE")]
    public_file: Option<PathBuf>,
    #[command(flatten)]
    catalog: CatalogArguments,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// The public rows that were named.
    fn public_rows(&self, encoding: &sql::Encoding) -> Result<Numbers, CliError> {
        let read = match (&self.table, &self.public_file) {
            (Some(table), _) => {
                let dataset = self.catalog.open(self.json)?;
                (table.clone(), dataset.public_examples(table, encoding))
            }
            (None, Some(path)) => {
                self.check_public(path)?;
                let name = path.display().to_string();
                (name, sql::public_file_examples(path, encoding))
            }
            (None, None) => {
                return fail(
                    "this model is measured on rows of a table",
                    "name a public one with --table NAME or --public-file FILE",
                );
            }
        };
        Ok(Numbers::new(read.0, read.1.map_err(explained)?, encoding))
    }

    /// Refuses a file of a private table of the catalog, where there is a catalog: its rows are not public because somebody says so here.
    fn check_public(&self, path: &Path) -> Result<(), CliError> {
        let Some(catalog) = self.catalog.named() else {
            return Ok(());
        };
        let catalog = sql::Catalog::read(catalog).map_err(explained)?;
        let private = catalog
            .tables
            .values()
            .filter(|table| table.owner != sql::catalog::Owner::Public);
        let files: Vec<PathBuf> = private.flat_map(|table| files_of(&table.source)).collect();
        places::check_public(&files, [("--public-file", path)])
    }
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let (words, found, receipt) = match (read(&arguments.model)?, &arguments.text) {
        (Read::Language(mut language), Some(path)) => {
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
        (Read::Rows(mut rows), None) => {
            let numbers = arguments.public_rows(&rows.encoding)?;
            if numbers.count() == 0 {
                return fail(
                    "there are no rows with a label",
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
        (Read::Language(_), None) => {
            return fail("a language model is measured on text", "name it with --text FILE");
        }
        (Read::Rows(_), Some(_)) => {
            return fail(
                "this model is measured on rows of a table",
                "name a public one with --table NAME or --public-file FILE",
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
