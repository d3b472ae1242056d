//! The part of a model's file besides its weights and its receipt: how to build the model again.

use crate::Error;
use device::{Activation, Cpu};
use serde::{Deserialize, Serialize};
use std::path::Path;
use train::model::Model;
use train::models::{AnyLanguageModel, Mlp, MlpShape, Network, Task};
use train::private::{ModelReceipt, SavedModel};
use train::text::Vocabulary;

/// The name of the note.
pub(crate) const NOTE: &str = "deniable.model";

/// How to build a model: public, all of it.
///
/// ```
/// use training::Description;
/// use train::models::Network;
/// use train::text::Vocabulary;
///
/// let described = Description::Language {
///     network: Network::Gru { embedding: 8, hidden: 16, dropout: 0.0 },
///     length: 20,
///     vocabulary: Vocabulary::bytes().to_json(),
/// };
/// assert_eq!(Description::of_note(Some(&described.to_note()))?, described);
/// # Ok::<(), training::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Description {
    /// A model of text.
    Language {
        /// Which.
        network: Network,
        /// The sequence length, in tokens.
        length: usize,
        /// As [`Vocabulary::to_json`] writes it.
        vocabulary: String,
    },
    /// A model of rows of a table.
    Table {
        /// How rows become numbers.
        encoding: sql::Encoding,
        /// The hidden layer sizes.
        hidden: Vec<usize>,
    },
}

impl Description {
    /// As files hold it.
    pub fn to_note(&self) -> String {
        serde_json::to_string(self).expect("a description is plain data")
    }

    /// From a file's note.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn of_note(note: Option<&String>) -> Result<Self, Error> {
        let read = note.and_then(|text| serde_json::from_str(text).ok());
        read.ok_or_else(|| {
            Error::input(
                "the file does not say which model it holds",
                "use a file that `deniable train` wrote",
            )
        })
    }
}

/// The shape of a model of rows.
pub(crate) fn shape(encoding: &sql::Encoding, hidden: &[usize]) -> MlpShape {
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
pub struct Language {
    /// The network.
    pub model: AnyLanguageModel<Cpu<f32>>,
    /// Its parameters.
    pub parameters: Vec<f32>,
    /// Public.
    pub vocabulary: Vocabulary,
    /// The sequence length, in tokens.
    pub length: usize,
    /// What it guarantees; `None` without privacy.
    pub receipt: Option<ModelReceipt>,
}

/// A model of rows that was read from its file.
pub struct Tabular {
    /// The network.
    pub model: Mlp<Cpu<f32>>,
    /// Its parameters.
    pub parameters: Vec<f32>,
    /// How rows become numbers.
    pub encoding: sql::Encoding,
    /// What it guarantees; `None` without privacy.
    pub receipt: Option<ModelReceipt>,
}

/// A model of either kind.
pub enum ModelFile {
    /// A language model.
    Language(Box<Language>),
    /// A classifier or a regressor.
    Tabular(Box<Tabular>),
}

/// Reads a model of either kind.
///
/// # Errors
/// When the file holds none.
pub fn read_model(path: &Path) -> Result<ModelFile, Error> {
    let notes = SavedModel::notes(path)?;
    match Description::of_note(notes.get(NOTE))? {
        Description::Language {
            network,
            length,
            vocabulary,
        } => {
            let vocabulary = Vocabulary::from_json(&vocabulary)?;
            let model = network.build(Cpu::default(), vocabulary.len())?;
            let saved = SavedModel::read(model.layout(), path)?;
            Ok(ModelFile::Language(Box::new(Language {
                model,
                parameters: saved.parameters,
                vocabulary,
                length,
                receipt: saved.receipt,
            })))
        }
        Description::Table { encoding, hidden } => {
            let model = Mlp::new(Cpu::default(), shape(&encoding, &hidden))?;
            let saved = SavedModel::read(model.layout(), path)?;
            Ok(ModelFile::Tabular(Box::new(Tabular {
                model,
                parameters: saved.parameters,
                encoding,
                receipt: saved.receipt,
            })))
        }
    }
}

/// Reads a language model.
///
/// # Errors
/// When the file holds none.
pub fn read_language(path: &Path) -> Result<Language, Error> {
    match read_model(path)? {
        ModelFile::Language(language) => Ok(*language),
        ModelFile::Tabular(_) => Err(Error::input(
            "this is a model of rows of a table, not of text",
            "name a model that `deniable train lm` made",
        )),
    }
}
