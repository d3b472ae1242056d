//! `deniable train lm`.

use super::examples::{Texts, made_up};
use super::frame::{Begun, Learned, Run};
use super::model_file::{Described, read_language};
use super::options::{Files, Learning, Privacy, up_to};
use super::origin::{BUDGET, Origin, Source, absolute};
use super::places;
use super::session::{self, Shown};
use crate::account::figure;
use crate::dataset::CatalogArguments;
use crate::terminal::{CliError, explained, fail};
use clap::ValueEnum;
use device::Device;
use sql::blocking::Dataset;
use std::path::PathBuf;
use train::models::{AnyLanguageModel, LanguageModel, Network, Tokens};
use train::private::Units;
use train::text::{Digits, Prediction, Rows, START, Vocabulary, read_text};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NetworkName {
    Lstm,
    Gru,
    Transformer,
}

/// Train a language model on private text
///
/// The text is a file, a column of a declared table, or, to try things out, made up. Each row of tokens of a file is a unit of its own, unless --each-line
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
and is kept. A run that was begun is charged, and goes on with `deniable train resume`.")]
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
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = up_to(10_000_000))]
    made_up: usize,
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

/// Seed of the public synthetic text that vocabularies come from and perplexity is measured on.
const PUBLIC: u64 = 0xDE71AB1E;
/// Rows of public text that are looked at during a run.
const LOOKED_AT: usize = 500;

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    figure::check(arguments.files.plot.as_deref())?;
    session::check_free(&arguments.files.checkpoint())?;
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
        device: arguments.learning.device,
        out: absolute(&arguments.files.out),
        every: arguments.files.every,
        validation: arguments.validation.as_deref().map(absolute),
        plot: arguments.files.plot.as_deref().map(absolute),
    };
    let described = Described::Language {
        network: arguments.network(),
        length: arguments.length,
        vocabulary: vocabulary.to_json(),
    };
    let run = Run {
        begun: Begun::New {
            privacy: &arguments.privacy,
            learning: &arguments.learning,
            force: arguments.files.force,
        },
        described: &described,
        origin: &origin,
        checkpoint: &arguments.files.checkpoint(),
        shown: Shown {
            json: arguments.files.json,
            quiet: arguments.files.quiet,
        },
    };
    run.train()
}

/// Private text, and public text to measure on.
pub(super) struct PrivateText {
    texts: Texts,
    units: Units,
    network: Network,
    vocabulary: usize,
    validation: Option<Rows>,
}

impl PrivateText {
    pub(super) fn read(
        origin: &Origin,
        dataset: Option<&Dataset>,
        network: &Network,
        length: usize,
        vocabulary: &str,
    ) -> Result<Self, CliError> {
        if matches!(origin.source, Source::Table { .. }) {
            return fail("this run is not about text", "resume it with its own checkpoint");
        }
        let vocabulary = Vocabulary::from_json(vocabulary).map_err(explained)?;
        let (texts, units) = Texts::read(&origin.source, dataset, &vocabulary, length)?;
        Ok(Self {
            texts,
            units,
            network: network.clone(),
            vocabulary: vocabulary.len(),
            validation: validation(origin, &vocabulary, length)?,
        })
    }
}

impl Learned for PrivateText {
    type Batch = Tokens;
    type Examples = Texts;
    type Model<D: Device<Scalar = f32> + 'static> = AnyLanguageModel<D>;

    const RATE: f64 = 1e-3;
    const MEASURED: &'static str = "perplexity";

    fn examples(&self) -> &Texts {
        &self.texts
    }

    fn units(&self) -> &Units {
        &self.units
    }

    fn build<D: Device<Scalar = f32> + 'static>(&self, device: D) -> Result<AnyLanguageModel<D>, CliError> {
        self.network.build(device, self.vocabulary).map_err(explained)
    }

    fn measure<D: Device<Scalar = f32> + 'static>(
        &self,
        model: &mut AnyLanguageModel<D>,
        parameters: &D::Buffer,
    ) -> Option<f64> {
        let rows = self.validation.as_ref()?;
        Some(predicted(model, parameters, rows).perplexity())
    }
}

/// Public rows to measure perplexity on; synthetic ones where the text is made up.
fn validation(origin: &Origin, vocabulary: &Vocabulary, length: usize) -> Result<Option<Rows>, CliError> {
    let text = match (&origin.validation, &origin.source) {
        (Some(path), _) => read_text(path).map_err(explained)?,
        (None, Source::MadeUp { .. }) => made_up(LOOKED_AT, length, PUBLIC + 1),
        (None, _) => return Ok(None),
    };
    let rows = Rows::of_text(&text, vocabulary, length).map_err(explained)?;
    Ok(Some(rows.first(LOOKED_AT)))
}

/// A vocabulary of synthetic English.
pub(super) fn public_vocabulary(tokens: usize) -> Result<Vocabulary, CliError> {
    Vocabulary::from_public_text(&made_up(10_000, 20, PUBLIC), tokens, Digits::Single).map_err(explained)
}

/// How well a model predicts rows.
pub(super) fn predicted<D: Device, M: LanguageModel<D>>(
    model: &mut M,
    parameters: &D::Buffer,
    rows: &Rows,
) -> Prediction {
    let mut prediction = Prediction::default();
    let all: Vec<&[u32]> = rows.iter().collect();
    for some in all.chunks(100) {
        let rows: Vec<Vec<u32>> = some
            .iter()
            .map(|row| std::iter::once(START).chain(row.iter().copied()).collect())
            .collect();
        let Ok(batch) = Tokens::ragged(model.vocabulary(), &rows) else {
            continue;
        };
        for loss in model.token_losses(parameters, &batch).into_iter().flatten() {
            prediction.add(-loss, None);
        }
    }
    prediction
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
            _ if self.made_up < 2 => fail(
                "there is nothing to train on",
                "make up more rows: --made-up 50000",
            ),
            _ => Ok(Source::MadeUp {
                rows: self.made_up,
                seed: self.learning.seed,
            }),
        }
    }

    /// What was said of it, the rest as usual; `None` where nothing was.
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
            (None, None) => return public_vocabulary(self.tokens),
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
