//! `deniable train lm`.

use super::options::{Files, Learning, Privacy, up_to};
use super::places;
use super::report::{self, Shown};
use crate::account::figure;
use crate::dataset::CatalogArguments;
use crate::terminal::{CliError, explained, fail};
use clap::ValueEnum;
use std::path::PathBuf;
use train::models::Network;
use train::text::{Digits, Vocabulary, read_text};
use training::{BUDGET, Description, Origin, Session, Source, absolute, public_vocabulary, read_language};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NetworkName {
    Lstm,
    Gru,
    Transformer,
}

/// Train a language model on private text
///
/// The text is a file, a column of a declared table, or, to try things out, synthetic. Each row of tokens of a file is a unit of its own, unless --each-line
/// says that each line is; of a table, units are the catalog's, and everything one of them wrote is clipped together.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable train lm --steps 300                            synthetic text, an LSTM, ε = 8
  deniable train lm --text notes.txt --each-line --size 50000 --validation public.txt --plot perplexity.svg
  deniable train lm --text book.txt --size-is-public --network transformer --hidden 128 --length 64
  deniable train lm --table notes --column text --size 50000 --public-text wikipedia.txt

A vocabulary is a release of the text that it was made from, so it comes from public text (--public-text), from a file (--vocabulary), or from synthetic
English. The ledger of a text lies beside it (notes.txt.ledger), with the budget that its first run states.

Bytes that are not UTF-8 are read as U+FFFD, and any number of rows is trained on, none too: whether a run begins must not depend on private text.

Exit code: 0 when the model was written; 2 when the run cannot begin; 3 when the budget or the ledger refuses it; 130 when it was interrupted (Ctrl-C or SIGTERM)
and is saved. A run that was begun is charged, and is resumed with `deniable train resume`.")]
pub(super) struct Arguments {
    /// A file of private text
    #[arg(long, value_name = "FILE", conflicts_with_all = ["table", "column"])]
    text: Option<PathBuf>,
    /// Each line of the text is a unit
    #[arg(long, requires = "text")]
    each_line: bool,
    /// A declared table
    #[arg(long, value_name = "NAME", requires = "column")]
    table: Option<String>,
    /// Its column of text
    #[arg(long, value_name = "NAME", requires = "table")]
    column: Option<String>,
    #[command(flatten)]
    catalog: CatalogArguments,
    /// Rows of synthetic text, where no text is named
    #[arg(long, alias = "made-up", value_name = "N", default_value_t = 50_000, value_parser = up_to(10_000_000))]
    synthetic: usize,
    /// A vocabulary that is public: an earlier model's, named by the model's file
    #[arg(long, value_name = "FILE", conflicts_with = "public_text")]
    vocabulary: Option<PathBuf>,
    /// Public text to make a vocabulary from
    #[arg(long, value_name = "FILE")]
    public_text: Option<PathBuf>,
    /// The vocabulary size
    #[arg(long, value_name = "N", default_value_t = 1000)]
    tokens: usize,
    /// The sequence length, in tokens
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = up_to(100_000))]
    length: usize,
    #[arg(long, value_enum, default_value_t = NetworkName::Lstm)]
    network: NetworkName,
    /// The embedding dimension [default: 50, or the hidden size of a transformer]
    #[arg(long, value_name = "N", value_parser = up_to(16_384))]
    embedding: Option<usize>,
    /// The hidden size of the recurrent layer, or the model dimension of a transformer
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = up_to(16_384))]
    hidden: usize,
    /// The number of transformer blocks
    #[arg(long, value_name = "N", default_value_t = 2)]
    blocks: usize,
    /// The number of attention heads of a transformer
    #[arg(long, value_name = "N", default_value_t = 4)]
    heads: usize,
    /// The dropout probability
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    dropout: f64,
    /// Public text to measure perplexity on during the run
    #[arg(long, value_name = "FILE")]
    validation: Option<PathBuf>,
    /// The ledger of a text [default: the text's name with .ledger]
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// The budget of that ledger, when it is made [default: 20]
    #[arg(long, value_name = "E")]
    budget: Option<String>,
    /// The δ of that budget [default: 1e-5]
    #[arg(long, value_name = "D")]
    budget_delta: Option<String>,
    #[command(flatten)]
    privacy: Privacy,
    #[command(flatten)]
    learning: Learning,
    #[command(flatten)]
    files: Files,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    figure::check(arguments.files.plot.as_deref())?;
    places::check_new_checkpoint(&arguments.files.checkpoint())?;
    let public = [
        ("--vocabulary", &arguments.vocabulary),
        ("--public-text", &arguments.public_text),
    ];
    let public = public
        .into_iter()
        .filter_map(|(what, path)| Some((what, path.as_deref()?)));
    let public: Vec<places::Named<'_>> = public.collect();
    places::check(
        &public,
        &[
            ("--out", &arguments.files.out),
            ("--checkpoint", &arguments.files.checkpoint()),
        ],
    )?;
    let source = arguments.source()?;
    source.check_public(source.dataset()?.as_ref(), public)?;
    let vocabulary = arguments.vocabulary()?;
    let origin = Origin {
        source,
        ledger: arguments.ledger.as_deref().map(absolute),
        budget: arguments.budget(),
        analyst: arguments.files.analyst.name(),
        device: arguments.learning.device(),
        out: absolute(&arguments.files.out),
        every: arguments.files.every,
        validation: arguments.validation.as_deref().map(absolute),
        plot: arguments.files.plot.as_deref().map(absolute),
    };
    let description = Description::Language {
        network: arguments.network(),
        length: arguments.length,
        vocabulary: vocabulary.to_json(),
    };
    let session = Session::new(
        description,
        origin,
        arguments.files.checkpoint(),
        arguments.privacy.settings()?,
        arguments.learning.settings(),
    );
    let shown = Shown {
        json: arguments.files.json,
        quiet: arguments.files.quiet,
    };
    report::run(session.overwriting(arguments.files.force), shown)
}

impl Arguments {
    fn source(&self) -> Result<Source, CliError> {
        match (&self.text, &self.table, &self.column) {
            (Some(path), _, _) => Ok(Source::Text {
                path: absolute(path),
                each_line: self.each_line,
                length: self.length,
            }),
            (None, Some(table), Some(column)) => Ok(Source::Column {
                catalog: absolute(&self.catalog.path(self.files.json || self.files.quiet)?),
                table: table.clone(),
                column: column.clone(),
            }),
            _ if self.synthetic < 2 => fail(
                "there is nothing to train on",
                "take more rows of synthetic text: --synthetic 50000",
            ),
            _ => Ok(Source::Synthetic {
                rows: self.synthetic,
                seed: self.learning.seed,
            }),
        }
    }

    /// What was said of the budget, the rest as usual; `None` where nothing was.
    fn budget(&self) -> Option<(String, String)> {
        let said = |part: &Option<String>, usual: &str| part.clone().unwrap_or_else(|| usual.to_owned());
        (self.budget.is_some() || self.budget_delta.is_some())
            .then(|| (said(&self.budget, BUDGET.0), said(&self.budget_delta, BUDGET.1)))
    }

    fn vocabulary(&self) -> Result<Vocabulary, CliError> {
        let public = match (&self.vocabulary, &self.public_text) {
            // A model's own, or one in a file of its own.
            (Some(path), _) => {
                return match read_language(path) {
                    Ok(model) => Ok(model.vocabulary),
                    Err(_) => Vocabulary::load(path).map_err(explained),
                };
            }
            (None, Some(path)) => read_text(path).map_err(explained)?,
            (None, None) => return Ok(public_vocabulary(self.tokens)?),
        };
        Vocabulary::from_public_text(&public, self.tokens, Digits::Single).map_err(explained)
    }

    fn network(&self) -> Network {
        let embedding = self.embedding.unwrap_or(50);
        match self.network {
            NetworkName::Lstm => Network::Lstm {
                embedding,
                hidden: self.hidden,
                dropout: self.dropout,
            },
            NetworkName::Gru => Network::Gru {
                embedding,
                hidden: self.hidden,
                dropout: self.dropout,
            },
            NetworkName::Transformer => Network::Transformer {
                context: self.length,
                width: self.hidden,
                heads: self.heads,
                blocks: self.blocks,
                tied: true,
                dropout: self.dropout,
            },
        }
    }
}
