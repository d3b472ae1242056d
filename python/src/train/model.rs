//! A trained model.

use super::columns::Columns;
use super::{locked, of_training};
use crate::errors::{Class, of_parameter};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use serde_json::json;
use std::sync::Mutex;
use training::ModelFile;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<TrainedModel>()?;
    module.add_function(wrap_pyfunction!(cuda_is_there, module)?)?;
    Ok(())
}

/// Whether there is a GPU that training can use.
#[pyfunction]
fn cuda_is_there(py: Python<'_>) -> bool {
    py.detach(|| device::Cuda::new().is_ok())
}

/// A model that was read from its file. What a private model says costs nothing.
#[pyclass(frozen, module = "deniable._deniable", name = "TrainedModel")]
struct TrainedModel(Mutex<ModelFile>);

impl TrainedModel {
    fn language<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&mut training::Language) -> Result<T, training::Error> + Send,
    ) -> PyResult<T> {
        py.detach(|| match &mut *locked(&self.0) {
            ModelFile::Language(language) => ask(language).map_err(of_training),
            ModelFile::Tabular(_) => Err(of_parameter(
                "this is a model of rows of a table, not of text\nhint: use PrivateClassifier.load or PrivateRegressor.load",
            )),
        })
    }
}

#[pymethods]
impl TrainedModel {
    /// From the bytes of a file in the format safetensors.
    #[staticmethod]
    fn read(py: Python<'_>, bytes: PyBackedBytes) -> PyResult<Self> {
        let unwritten = |error: std::io::Error| {
            Class::File.raise(format!(
                "no temporary file can be written: {error}\nhint: is there room on the disk?"
            ))
        };
        py.detach(|| {
            let file = tempfile::NamedTempFile::new().map_err(unwritten)?;
            std::fs::write(file.path(), &*bytes).map_err(unwritten)?;
            let model = training::read_model(file.path()).map_err(|_| {
                Class::File.raise("this is no model of Deniable\nhint: use a file that save_safetensors or `deniable train` wrote")
            })?;
            Ok(Self(Mutex::new(model)))
        })
    }

    /// `language`, `classifier` or `regressor`.
    fn kind(&self) -> &'static str {
        match &*locked(&self.0) {
            ModelFile::Language(_) => "language",
            ModelFile::Tabular(rows) if rows.encoding.classes().is_some() => "classifier",
            ModelFile::Tabular(_) => "regressor",
        }
    }

    /// How rows become numbers, as JSON; `None` for a model of text.
    fn encoding(&self) -> Option<String> {
        match &*locked(&self.0) {
            ModelFile::Language(_) => None,
            ModelFile::Tabular(rows) => Some(json!(rows.encoding).to_string()),
        }
    }

    /// What the model guarantees, as JSON; `None` where it was trained without privacy.
    fn receipt(&self) -> Option<String> {
        let receipt = match &*locked(&self.0) {
            ModelFile::Language(language) => language.receipt.as_ref().map(|receipt| json!(receipt)),
            ModelFile::Tabular(rows) => rows.receipt.as_ref().map(|receipt| json!(receipt)),
        };
        receipt.map(|receipt| receipt.to_string())
    }

    /// For each row the probabilities of the classes, or a number: floats of 64 bits one after the other, and how many a row has.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        columns: PyRef<'_, Columns>,
    ) -> PyResult<(Bound<'py, PyBytes>, usize)> {
        let rows = columns.batch()?;
        let answers = py.detach(|| match &mut *locked(&self.0) {
            ModelFile::Tabular(model) => model.predict(&rows).map_err(of_training),
            ModelFile::Language(_) => Err(of_parameter(
                "this is a model of text, not of rows of a table\nhint: use PrivateLanguageModel.load",
            )),
        })?;
        let width = answers.first().map_or(1, Vec::len);
        let bytes: Vec<u8> = answers
            .iter()
            .flatten()
            .flat_map(|number| number.to_ne_bytes())
            .collect();
        Ok((PyBytes::new(py, &bytes), width))
    }

    /// Continues a text.
    fn generate(
        &self,
        py: Python<'_>,
        prompt: &str,
        tokens: usize,
        temperature: f64,
        seed: u64,
    ) -> PyResult<String> {
        self.language(py, |language| {
            language.generate(prompt, tokens, temperature, seed)
        })
    }

    /// The perplexity on a public text, how many tokens it has, and the perplexity of its own frequencies.
    fn evaluate(&self, py: Python<'_>, text: &str) -> PyResult<(f64, u64, f64)> {
        let measured = self.language(py, |language| language.evaluate(text))?;
        Ok((measured.perplexity, measured.tokens, measured.unigram_perplexity))
    }
}
