//! `deniable card`: the privacy card of a dataset, and whether one is true.
//!
//! ```text
//! catalog, ledger, card.toml ──► card::Card ──► HTML, JSON, YAML of the registry
//!    a JSON card ──► its entry of the ledger ──► the same card computed again ──► what differs
//! ```

use crate::budget::broken;
use crate::dataset::CatalogArguments;
use crate::outputs;
use crate::terminal::{self, CliError, explained, fail};
use card::{Card, Ledger, Words};
use clap::{Args, Subcommand, ValueEnum};
use files::document::{Advice, text_of};
use ledger::Store;
use serde_json::{Value, json};
use sql::blocking::Dataset;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  The card of the dataset here, for people
    deniable card --output card.html
  For programs, and to be checked later
    deniable card --format json --output card.json
    deniable card verify card.json
  For the public registry of deployments (github.com/opendp/deployments-registry-data)
    deniable card draft > card.toml         answer what only people can say, once
    deniable card --format yaml --output clinic_visits_2026.yaml

A card says whose privacy is protected, against what, how much of it was spent on which mechanisms, how that is counted, what
bounds one person's part, which of the catalog's statements are enforced and which are somebody's word, and what NIST SP
800-226 asks. It is made from the catalog, the ledger and card.toml. No data is read for it, and no file, row count, query or
analyst is in it, so it may be published.

What only people can say is asked once, in card.toml beside the catalog: `deniable card draft` prints every question. It is
marked as asserted wherever it appears. --format yaml needs those marked NEEDED.

`deniable card verify` computes every number of a JSON card again, as of the entry of the ledger that the card names, whatever was
charged since. Words are compared with card.toml where there is one.

Exit code: 0 done, 2 the input cannot be used, 4 the card says something that is not so, or the ledger is not what was written.";

/// The privacy card of a dataset: whose privacy, what was spent, and what nobody checked
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    catalog: CatalogArguments,
    #[command(flatten)]
    words: WordsArguments,
    /// How the card is written
    #[arg(long, value_enum, default_value = "html")]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Write the card to a file, whole or not at all
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Args)]
struct WordsArguments {
    /// What people say about the dataset [default: card.toml beside the catalog, if it is there]
    #[arg(long, value_name = "FILE")]
    words: Option<PathBuf>,
}

/// How a card is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people: one page without external assets
    Html,
    /// For programs, and for `deniable card verify`
    Json,
    /// A record for the OpenDP registry of deployments
    Yaml,
}

#[derive(Subcommand)]
enum Command {
    /// Compute every number of a JSON card again; exit code 4 if one differs
    Verify {
        /// The card, as --format json wrote it
        #[arg(value_name = "CARD")]
        card: PathBuf,
        #[command(flatten)]
        catalog: CatalogArguments,
        #[command(flatten)]
        words: WordsArguments,
        /// Print one object for a program to read
        #[arg(long)]
        json: bool,
    },
    /// Print a card.toml with every question that only people can answer
    Draft,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        None => show(arguments),
        Some(Command::Verify {
            card,
            catalog,
            words,
            json,
        }) => verify(card, catalog, words, *json),
        Some(Command::Draft) => terminal::print(&Words::draft()),
    }
}

fn show(arguments: &Arguments) -> Result<(), CliError> {
    let format = if arguments.json {
        Format::Json
    } else {
        arguments.format
    };
    let dataset = arguments.catalog.open(format == Format::Json)?;
    let catalog = arguments.catalog.path(true)?;
    let file = words_file(&arguments.words, &catalog);
    if let Some(output) = &arguments.output {
        let read: Vec<_> = file
            .as_deref()
            .map(|file| ("--words", file))
            .into_iter()
            .collect();
        outputs::check(&dataset, &catalog, &read, &[("--output", output)])?;
    }
    let words = match &file {
        Some(file) => Words::read(file).map_err(explained)?,
        None if is_sample(&arguments.catalog) => Words::parse(SAMPLE).map_err(explained)?,
        None => Words::none(),
    };
    let card = card_of(&dataset, None, &words)?;
    let written = match format {
        Format::Html => card.to_html(),
        Format::Json => format!("{}\n", card.to_json()),
        Format::Yaml => card.to_registry_yaml().map_err(explained)?,
    };
    match &arguments.output {
        Some(path) => {
            terminal::write_file_atomically(path, written.as_bytes())?;
            eprintln!("wrote {}", path.display());
            Ok(())
        }
        None => terminal::print(&written),
    }
}

/// The sample is ours, so we can say what only its people can.
const SAMPLE: &str = include_str!("card_of_the_sample.toml");

fn is_sample(catalog: &CatalogArguments) -> bool {
    catalog.named().is_none()
}

fn words_file(words: &WordsArguments, catalog: &Path) -> Option<PathBuf> {
    let beside = || catalog.with_file_name(card::FILE_NAME);
    words
        .words
        .clone()
        .or_else(|| Some(beside()).filter(|beside| beside.is_file()))
}

/// The card as of an entry of the ledger, or as of its last one.
fn card_of(dataset: &Dataset, until: Option<u64>, words: &Words) -> Result<Card, CliError> {
    let store = Store::open_existing(&dataset.place()).map_err(broken)?;
    let Some(mut store) = store else {
        let rules = dataset.rules().map_err(explained)?;
        return Card::new(dataset.catalog(), Ledger::NotYet(&rules), words).map_err(explained);
    };
    store.check_not_rewound().map_err(broken)?;
    let past = store.past(until).map_err(broken)?;
    Card::new(dataset.catalog(), Ledger::Until(&past), words).map_err(explained)
}

fn verify(
    path: &Path,
    catalog: &CatalogArguments,
    words: &WordsArguments,
    as_json: bool,
) -> Result<(), CliError> {
    let stated = read(path)?;
    let dataset = catalog.open(as_json)?;
    let file = words_file(words, &catalog.path(true)?);
    let (words, compared) = match &file {
        Some(file) => (Words::read(file).map_err(explained)?, true),
        None => (Words::from_json(&stated["asserted"]).map_err(explained)?, false),
    };
    let as_of = &stated["as_of"];
    let entry = as_of["entry"].as_u64();
    if !as_of.is_null() {
        let mut store = Store::open_existing(&dataset.place())
            .map_err(broken)?
            .ok_or_else(|| not_there("there is no ledger here"))?;
        store.verify().map_err(broken)?;
        let there = match entry {
            Some(entry) => store.entry_hash(entry).map_err(broken)?,
            None => None,
        };
        if there.is_none() || there.as_deref() != as_of["hash"].as_str() {
            return Err(not_there("the entry that the card names is not in this ledger"));
        }
    }
    let recomputed = card_of(&dataset, entry, &words)?;
    let differences = card::differences(&stated, &recomputed);
    if !differences.is_empty() {
        let named = differences.iter().map(|difference| {
            json!({ "path": difference.path, "stated": difference.stated, "recomputed": difference.recomputed })
        });
        let mut told: Vec<String> = differences.iter().take(MOST_TOLD).map(in_words).collect();
        if differences.len() > MOST_TOLD {
            told.push(format!("and {} more", differences.len() - MOST_TOLD));
        }
        return Err(CliError::check_failed(format!(
            "the card says what does not follow from ledger and catalog:\n  {}",
            told.join("\n  ")
        ))
        .with_hint("take the numbers from the ledger: `deniable card --format json` makes the card anew; a catalog or words that were changed since are differences too")
        .with_detail("differences", named.collect::<Vec<_>>()));
    }
    let numbers = count(&recomputed.to_json());
    terminal::print(&if as_json {
        format!(
            "{}\n",
            json!({ "verified": true, "values": numbers, "as_of": as_of, "words_compared": compared })
        )
    } else {
        format!("the card is true: all {numbers} values follow from the ledger and the catalog\n")
    })?;
    if !compared && !as_json {
        eprintln!(
            "what people said in it was not compared: there is no {} here",
            card::FILE_NAME
        );
    }
    Ok(())
}

/// As many differences are told in words.
const MOST_TOLD: usize = 20;

fn in_words(difference: &card::Difference) -> String {
    let card::Difference {
        path,
        stated,
        recomputed,
    } = difference;
    match (stated, recomputed) {
        (Some(stated), Some(recomputed)) => format!("{path}: the card says {stated}, and it is {recomputed}"),
        (None, Some(recomputed)) => format!("{path}: the card says something else, and it is {recomputed}"),
        (_, None) => format!("{path}: a card has nothing of that name"),
    }
}

fn not_there(what: &str) -> CliError {
    CliError::check_failed(what).with_hint(
        "name the catalog that the card was made of with --catalog; if it is this one, its ledger was cut or written anew",
    )
}

/// How many values a document has.
fn count(value: &Value) -> usize {
    match value {
        Value::Array(values) => values.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 1,
    }
}

/// A longer file is no card.
const LONGEST: u64 = 64 << 20;

fn read(path: &Path) -> Result<Value, CliError> {
    const HINT: &str = "give it a card that `deniable card --format json` wrote";
    let advice = Advice {
        unreadable: HINT,
        too_large: HINT,
    };
    let text = text_of(path, LONGEST, advice)?;
    let stated: Value = files::document::from_json(&text, HINT)?;
    match stated["format"].as_u64() {
        Some(1) if stated["as_of"].is_null() || stated["as_of"].is_object() => Ok(stated),
        Some(format) if format != 1 => fail(
            format!("the card is of format {format}, and this version reads format 1"),
            "use the version that wrote it",
        ),
        _ => fail("this is no privacy card", HINT),
    }
}
