//! What a model's file says besides its weights and its receipt: how to build the model again.

use crate::terminal::{CliError, explained, fail};
use device::{Activation, Cpu};
use serde::{Deserialize, Serialize};
use std::path::Path;
use train::model::Model;
use train::models::{AnyLanguageModel, Mlp, MlpShape, Network, Task};
use train::private::{ModelReceipt, SavedModel};
use train::text::Vocabulary;

/// The name of the note.
pub(super) const NOTE: &str = "deniable.model";

/// How to build a model: public, all of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub(super) enum Described {
    /// A model of text.
    Language {
        /// Which.
        network: Network,
        /// Tokens a row.
        length: usize,
        /// As [`Vocabulary::to_json`] writes it.
        vocabulary: String,
    },
    /// A model of rows of a table.
    Table {
        /// How rows become numbers.
        encoding: sql::Encoding,
        /// The widths of the layers between.
        hidden: Vec<usize>,
    },
}

impl Described {
    pub(super) fn to_note(&self) -> String {
        serde_json::to_string(self).expect("a description is plain data")
    }

    pub(super) fn of_note(note: Option<&String>) -> Result<Self, CliError> {
        let read = note.and_then(|text| serde_json::from_str(text).ok());
        read.ok_or_else(|| {
            CliError::bad_input("the file does not say which model it holds")
                .with_hint("use a file that `deniable train` wrote")
        })
    }
}

/// The shape of a model of rows.
pub(super) fn shape(encoding: &sql::Encoding, hidden: &[usize]) -> MlpShape {
    MlpShape {
        inputs: encoding.width(),
        hidden: hidden.to_vec(),
        activation: Activation::Relu,
        task: match encoding.classes() {
            Some(classes) => Task::Classes(classes.len()),
            None => Task::Numbers(1),
        },
        dropout: 0.0,
    }
}

/// A language model that was read from its file.
pub(super) struct Language {
    pub(super) model: AnyLanguageModel<Cpu<f32>>,
    pub(super) parameters: Vec<f32>,
    pub(super) vocabulary: Vocabulary,
    pub(super) length: usize,
    pub(super) receipt: Option<ModelReceipt>,
}

/// A model of rows that was read from its file.
pub(super) struct Rows {
    pub(super) model: Mlp<Cpu<f32>>,
    pub(super) parameters: Vec<f32>,
    pub(super) encoding: sql::Encoding,
    pub(super) receipt: Option<ModelReceipt>,
}

/// Either.
pub(super) enum Read {
    Language(Box<Language>),
    Rows(Box<Rows>),
}

/// Reads a model.
pub(super) fn read(path: &Path) -> Result<Read, CliError> {
    let notes = SavedModel::notes(path).map_err(explained)?;
    match Described::of_note(notes.get(NOTE))? {
        Described::Language {
            network,
            length,
            vocabulary,
        } => {
            let vocabulary = Vocabulary::from_json(&vocabulary).map_err(explained)?;
            let model = network
                .build(Cpu::default(), vocabulary.len())
                .map_err(explained)?;
            let saved = SavedModel::read(model.layout(), path).map_err(explained)?;
            Ok(Read::Language(Box::new(Language {
                model,
                parameters: saved.parameters,
                vocabulary,
                length,
                receipt: saved.receipt,
            })))
        }
        Described::Table { encoding, hidden } => {
            let model = Mlp::new(Cpu::default(), shape(&encoding, &hidden)).map_err(explained)?;
            let saved = SavedModel::read(model.layout(), path).map_err(explained)?;
            Ok(Read::Rows(Box::new(Rows {
                model,
                parameters: saved.parameters,
                encoding,
                receipt: saved.receipt,
            })))
        }
    }
}

/// Reads a language model.
pub(super) fn read_language(path: &Path) -> Result<Language, CliError> {
    match read(path)? {
        Read::Language(language) => Ok(*language),
        Read::Rows(_) => fail(
            "this is a model of rows of a table, not of text",
            "name a model that `deniable train lm` made",
        ),
    }
}

/// What a model promises, in words.
pub(super) fn promise(receipt: Option<&ModelReceipt>) -> String {
    match receipt {
        None => "trained WITHOUT privacy: it may have memorized its data".to_owned(),
        Some(receipt) => {
            let guarantee = crate::dataset::readable(&receipt.plan.guarantee());
            format!(
                "{guarantee}; trained on {}, planned for {} steps, charge {}",
                receipt.data,
                receipt.plan.parameters().steps,
                receipt.ledger_entry
            )
        }
    }
}
