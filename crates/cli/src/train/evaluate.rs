//! `deniable train evaluate`.

use super::places;
use super::report::guarantee;
use crate::dataset::CatalogArguments;
use crate::terminal::{self, CliError, explained, fail};
use ::report::significant;
use serde_json::json;
use std::path::{Path, PathBuf};
use train::text::read_text;
use training::{ModelFile, RowsEvaluation, files_of, read_model};

/// Evaluate a model: perplexity on text, accuracy or error on a table
///
/// Text and tables must be public: what is measured is reported without noise. Rows become numbers as they did when the model was trained.
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
    fn public_rows(&self, encoding: &sql::Encoding) -> Result<sql::Examples, CliError> {
        let read = match (&self.table, &self.public_file) {
            (Some(table), _) => {
                let dataset = self.catalog.open(self.json)?;
                dataset.public_examples(table, encoding)
            }
            (None, Some(path)) => {
                self.check_public(path)?;
                sql::public_file_examples(path, encoding)
            }
            (None, None) => {
                return fail(
                    "this model is measured on rows of a table",
                    "name a public one with --table NAME or --public-file FILE",
                );
            }
        };
        read.map_err(explained)
    }

    /// Refuses a file of a private table of the catalog, where there is a catalog: its rows are not public
    /// because somebody says so here.
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
        Ok(places::check_public(&files, [("--public-file", path)])?)
    }
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let (words, found, receipt) = match (read_model(&arguments.model)?, &arguments.text) {
        (ModelFile::Language(mut language), Some(path)) => {
            let measured = language.evaluate(&read_text(path).map_err(explained)?)?;
            let words = format!(
                "perplexity {} over {} tokens; the text's own frequencies give {}",
                significant(measured.perplexity, 4),
                measured.tokens,
                significant(measured.unigram_perplexity, 4)
            );
            let found = json!({
                "perplexity": measured.perplexity,
                "tokens": measured.tokens,
                "unigram_perplexity": measured.unigram_perplexity,
            });
            (words, found, language.receipt)
        }
        (ModelFile::Tabular(mut rows), None) => {
            let public = arguments.public_rows(&rows.encoding)?;
            let label = rows.encoding.label.0.clone();
            let (words, found) = match rows.evaluate(public)? {
                RowsEvaluation::Classes { accuracy, loss } => (
                    format!(
                        "{} % of {label} right, mean loss {}",
                        significant(100.0 * accuracy, 4),
                        significant(loss, 4)
                    ),
                    json!({ "accuracy": accuracy, "loss": loss }),
                ),
                RowsEvaluation::Numbers {
                    root_mean_squared_error: error,
                } => (
                    format!(
                        "{label} is off by {} (root of the mean square)",
                        significant(error, 4)
                    ),
                    json!({ "root_mean_squared_error": error }),
                ),
            };
            (words, found, rows.receipt)
        }
        (ModelFile::Language(_), None) => {
            return fail("a language model is measured on text", "name it with --text FILE");
        }
        (ModelFile::Tabular(_), Some(_)) => {
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
            guarantee(receipt.as_ref())
        )
    })
}
