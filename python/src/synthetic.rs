//! Synthetic rows. Objects come and go as JSON, the same that the server writes.

use crate::dataset::{LocalDataset, next_step};
use crate::errors::{Class, of_asked, of_parameter};
use crate::table::ArrowTable;
use crate::work::{waiting, watching};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use sql::{SynthesisAsked, SynthesisRequest, SyntheticRelease, SyntheticRows};
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

/// What was measured for synthetic rows: any number of them follows.
#[pyclass(frozen, module = "deniable", name = "LocalSynthetic")]
pub(crate) struct LocalSynthetic {
    made: Arc<SyntheticRelease>,
}

/// Rows that were drawn.
#[pyclass(frozen, module = "deniable", name = "LocalRows")]
pub(crate) struct LocalRows {
    made: Arc<SyntheticRelease>,
    rows: Arc<SyntheticRows>,
}

fn request(dataset: &LocalDataset, asked: &str) -> PyResult<SynthesisRequest> {
    let asked: SynthesisAsked = serde_json::from_str(asked).map_err(|_| {
        of_parameter("the rows that are wanted cannot be read\nhint: name tables and columns by text, and give whole numbers of bins")
    })?;
    asked.request(&dataset.analyst).map_err(of_asked)
}

/// What rows would be made of, as JSON.
pub(crate) fn explain(dataset: &LocalDataset, py: Python<'_>, asked: &str) -> PyResult<String> {
    let request = request(dataset, asked)?;
    let asked = Arc::clone(&dataset.asked);
    let work = move || {
        let explanation = asked.explain_synthesis(&request)?;
        let mut told = json!(explanation);
        told["text"] = json!(explanation.to_text());
        told["made_by_charge"] = json!(asked.synthesized(&request)?.map(|made| made.cost.charge));
        Ok(told)
    };
    let told: Value = waiting(py, work)?.map_err(of_asked)?;
    Ok(told.to_string())
}

/// Measures what rows are made of, or finds it.
pub(crate) fn make(
    dataset: &LocalDataset,
    py: Python<'_>,
    asked: &str,
    watch: Option<&Bound<'_, PyAny>>,
) -> PyResult<LocalSynthetic> {
    let request = request(dataset, asked)?;
    let doing = Arc::new(Mutex::new("planning the rows"));
    let (asked, reached) = (Arc::clone(&dataset.asked), Arc::clone(&doing));
    let work = move || {
        let mut watch = |stage| {
            *reached.lock().unwrap_or_else(PoisonError::into_inner) = next_step(stage);
        };
        asked.synthesize(&request, &mut watch)
    };
    let look = || match watch {
        Some(watch) => {
            let doing = *doing.lock().unwrap_or_else(PoisonError::into_inner);
            watch.call1((doing,)).map(|_| ())
        }
        None => Ok(()),
    };
    let made = watching(py, work, look)?.map_err(of_asked)?;
    Ok(LocalSynthetic { made: Arc::new(made) })
}

#[pymethods]
impl LocalSynthetic {
    /// So many rows, or as many as there seem to be. The same again are the same.
    #[pyo3(signature = (count=None))]
    fn rows(&self, py: Python<'_>, count: Option<usize>) -> PyResult<LocalRows> {
        let made = Arc::clone(&self.made);
        let rows = waiting(py, move || made.rows(count))?.map_err(of_asked)?;
        Ok(LocalRows {
            made: Arc::clone(&self.made),
            rows: Arc::new(rows),
        })
    }

    fn __repr__(&self) -> String {
        format!("LocalSynthetic({})", self.made.table)
    }
}

#[pymethods]
impl LocalRows {
    /// Everything but the rows and what was measured, as JSON.
    fn told(&self) -> String {
        let mut told = self.made.to_json(&self.rows.report);
        if let Some(told) = told.as_object_mut() {
            told.shift_remove("release");
        }
        let columns = self.rows.columns.iter();
        let columns: Vec<Value> = columns
            .map(|column| json!({ "name": column.name, "kind": column.kind.to_string() }))
            .collect();
        told["columns"] = json!(columns);
        told["text"] = json!(self.made.to_text(&self.rows.report, ""));
        told.to_string()
    }

    /// The same, with what was measured.
    fn everything(&self) -> String {
        self.made.to_json(&self.rows.report).to_string()
    }

    /// How many there are.
    fn count(&self) -> usize {
        self.rows.count()
    }

    /// Some of them, as JSON.
    fn slice(&self, start: usize, end: usize) -> String {
        self.rows.to_json(start..end).to_string()
    }

    /// All of them.
    fn table(&self, py: Python<'_>) -> PyResult<ArrowTable> {
        let rows = Arc::clone(&self.rows);
        let batch = waiting(py, move || rows.to_batch())?.map_err(|_| unwritten())?;
        Ok(ArrowTable::of(batch))
    }

    /// A file of them, as CSV or as Parquet.
    fn written<'py>(&self, py: Python<'py>, parquet: bool) -> PyResult<Bound<'py, PyBytes>> {
        let rows = Arc::clone(&self.rows);
        let work = move || {
            if !parquet {
                return Some(rows.to_csv());
            }
            let mut bytes = Vec::new();
            rows.write_parquet(&mut bytes).ok().map(|()| bytes)
        };
        let bytes = waiting(py, work)?.ok_or_else(unwritten)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The comparison with what was measured, as a page.
    fn page(&self) -> String {
        self.made.to_page(&self.rows.report, None)
    }

    fn __repr__(&self) -> String {
        format!("LocalRows({})", self.rows.count())
    }
}

/// The table of a Parquet file of rows that a server sent.
#[pyfunction]
fn table_of_parquet(bytes: &[u8]) -> PyResult<ArrowTable> {
    let read = || {
        let mut file = tempfile::tempfile().ok()?;
        file.write_all(bytes).ok()?;
        sql::batches_of_parquet(file).ok()
    };
    let unreadable = || {
        Class::Engine.raise(
            "the rows that the server sent cannot be read\nhint: does the server run the same version of Deniable?",
        )
    };
    let batches = read().ok_or_else(unreadable)?;
    let schema = batches.first().ok_or_else(unreadable)?.schema();
    Ok(ArrowTable { schema, batches })
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<LocalSynthetic>()?;
    module.add_class::<LocalRows>()?;
    module.add_function(wrap_pyfunction!(table_of_parquet, module)?)
}

fn unwritten() -> PyErr {
    Class::Engine
        .raise("the rows cannot be put together\nhint: this is a defect of Deniable; ask for fewer rows")
}
