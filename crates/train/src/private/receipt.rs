//! What a finished model says about how it was made.

use super::plan::TrainingPlan;
use crate::Error;
use crate::model::Parameter;
use crate::safetensors::{Contents, Tensor};
use accounting::{Delta, Epsilon, PrivacyUnit};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The name under which a receipt is in a model's file.
const RECEIPT: &str = "deniable.receipt";

/// What a model guarantees, and how it was made. Public, all of it.
///
/// # Privacy
///
/// Nothing here depends on how many steps a run had taken when it was interrupted. How far a run comes in a time depends on how fast its steps are, and that on the data: on how long rows are, and how many a
/// unit has. The plan was charged as a whole, and its guarantee holds for a model that was made by fewer of its steps, since that model is computed from what the first steps released.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelReceipt {
    /// The public name of the data.
    pub data: String,
    /// Whose privacy.
    pub unit: PrivacyUnit,
    /// ε that was charged, for all planned steps.
    pub epsilon: Epsilon,
    /// δ of it.
    pub delta: Delta,
    /// Everything that decided about privacy, the number of planned steps among it.
    pub plan: TrainingPlan,
    /// The place of the charge in its ledger.
    pub ledger_entry: u64,
    /// What made the model.
    pub made_by: String,
}

/// A model as a file holds it.
///
/// ```
/// use train::model::Parameter;
/// use train::private::SavedModel;
///
/// let layout = [Parameter { name: "weight".into(), shape: vec![2], start: 0 }];
/// let model = SavedModel {
///     parameters: vec![0.5, -1.0],
///     receipt: None, // trained without privacy
///     notes: [("made for".to_owned(), "an example".to_owned())].into(),
/// };
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.safetensors");
/// model.write(&layout, &path)?;
/// assert_eq!(SavedModel::read(&layout, &path)?, model);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SavedModel {
    /// In the order of the layout.
    pub parameters: Vec<f32>,
    /// How it was made; `None` for one without privacy.
    pub receipt: Option<ModelReceipt>,
    /// What else its writer noted: sizes of layers, a vocabulary.
    pub notes: std::collections::BTreeMap<String, String>,
}

/// This crate and its version.
pub(crate) fn made_by() -> String {
    concat!("deniable-train ", env!("CARGO_PKG_VERSION")).to_owned()
}

impl SavedModel {
    /// Writes it as safetensors, whole or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, layout: &[Parameter], path: &Path) -> Result<(), Error> {
        let tensors = tensors(
            layout,
            &self
                .parameters
                .iter()
                .map(|value| f64::from(*value))
                .collect::<Vec<_>>(),
            "",
            false,
        );
        let mut words = self.notes.clone();
        if let Some(receipt) = &self.receipt {
            let text = serde_json::to_string(receipt).map_err(|error| Error::File {
                path: path.display().to_string(),
                source: error.into(),
            })?;
            words.insert(RECEIPT.to_owned(), text);
        }
        Contents { tensors, words }.write(path, true)
    }

    /// What is noted about a model, before its layout is known.
    ///
    /// # Errors
    /// When the file is no model.
    pub fn notes(path: &Path) -> Result<std::collections::BTreeMap<String, String>, Error> {
        Ok(Contents::read(path, "model")?.words)
    }

    /// Reads a model of this layout.
    ///
    /// # Errors
    /// When the file is no model, or has another layout.
    pub fn read(layout: &[Parameter], path: &Path) -> Result<Self, Error> {
        let mut contents = Contents::read(path, "model")?;
        let bad = |reason: &str| Error::BadFile {
            path: path.display().to_string(),
            what: "model",
            reason: reason.to_owned(),
        };
        let parameters = flat(layout, &mut contents, "").ok_or_else(|| bad("it has another layout"))?;
        let receipt = match contents.words.remove(RECEIPT) {
            None => None,
            Some(text) => Some(serde_json::from_str(&text).map_err(|_| bad("its receipt cannot be read"))?),
        };
        Ok(Self {
            parameters: parameters.into_iter().map(|value| value as f32).collect(),
            receipt,
            notes: contents.words,
        })
    }
}

/// A flat vector as named arrays.
pub(crate) fn tensors(layout: &[Parameter], values: &[f64], prefix: &str, wide: bool) -> Vec<Tensor> {
    let one = |parameter: &Parameter| Tensor {
        name: format!("{prefix}{}", parameter.name),
        shape: parameter.shape.clone(),
        values: values[parameter.start..parameter.start + parameter.len()].to_vec(),
        wide,
    };
    layout.iter().map(one).collect()
}

/// The flat vector again; `None` when an array is missing or has another shape.
pub(crate) fn flat(layout: &[Parameter], contents: &mut Contents, prefix: &str) -> Option<Vec<f64>> {
    let length = layout
        .iter()
        .map(|parameter| parameter.start + parameter.len())
        .max()
        .unwrap_or(0);
    let mut values = vec![0.0; length];
    for parameter in layout {
        let tensor = contents.take(&format!("{prefix}{}", parameter.name))?;
        if tensor.shape != parameter.shape {
            return None;
        }
        values[parameter.start..parameter.start + parameter.len()].copy_from_slice(&tensor.values);
    }
    Some(values)
}
