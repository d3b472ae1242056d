//! Planned releases. Objects come and go as JSON, the same that the server writes.

use crate::dataset::{LocalDataset, next_step};
use crate::errors::{of_parameter, of_sql};
use crate::table::ArrowTable;
use crate::work::{waiting, watching};
use accounting::Epsilon;
use pyo3::prelude::*;
use serde_json::json;
use sql::{ReleaseRequest, ReleasedTables, WantedError, WantedTableError};
use std::sync::{Arc, Mutex, PoisonError};

/// A release that was made.
#[pyclass(frozen, module = "deniable", name = "LocalRelease")]
pub(crate) struct LocalRelease {
    released: Arc<ReleasedTables>,
}

fn request(dataset: &LocalDataset, name: &str, epsilon: Option<&str>) -> PyResult<ReleaseRequest> {
    let epsilon = epsilon.map(Epsilon::parse).transpose().map_err(of_parameter)?;
    Ok(ReleaseRequest {
        epsilon,
        ..ReleaseRequest::new(name, &dataset.analyst)
    })
}

/// What a release will be like, as JSON.
pub(crate) fn plan(
    dataset: &LocalDataset,
    py: Python<'_>,
    name: &str,
    epsilon: Option<&str>,
    error: Option<&str>,
    cell_size: u64,
) -> PyResult<String> {
    let mut request = request(dataset, name, epsilon)?;
    let error = error.map(str::parse::<WantedError>).transpose();
    let error = error.map_err(|error| {
        of_parameter(format!(
            "the wanted error is no number that can be used\nhint: {error}"
        ))
    })?;
    let planned = dataset.work(py, move |asked| {
        let found = match error {
            None => None,
            Some(error) => {
                let wanted = WantedTableError {
                    error,
                    cell_size,
                    tables: Vec::new(),
                };
                Some(asked.epsilon_for_release(&request, &wanted)?)
            }
        };
        request.epsilon = found.clone().or(request.epsilon);
        let mut planned = json!(asked.explain_release(&request)?);
        planned["made_by_charge"] = json!(asked.release_charge(&request)?);
        if let Some(found) = found {
            planned["found_epsilon"] = json!(found);
        }
        Ok(planned)
    })?;
    Ok(planned.to_string())
}

/// Makes a release, or finds it.
pub(crate) fn make(
    dataset: &LocalDataset,
    py: Python<'_>,
    name: &str,
    epsilon: Option<&str>,
    watch: Option<&Bound<'_, PyAny>>,
) -> PyResult<LocalRelease> {
    let request = request(dataset, name, epsilon)?;
    let doing = Arc::new(Mutex::new("planning the release"));
    let (asked, reached) = (Arc::clone(&dataset.asked), Arc::clone(&doing));
    let work = move || {
        let mut watch = |stage| {
            *reached.lock().unwrap_or_else(PoisonError::into_inner) = next_step(stage);
        };
        asked.release_tables(&request, &mut watch)
    };
    let look = || match watch {
        Some(watch) => {
            let doing = *doing.lock().unwrap_or_else(PoisonError::into_inner);
            watch.call1((doing,)).map(|_| ())
        }
        None => Ok(()),
    };
    let released = watching(py, work, look)?.map_err(of_sql)?;
    Ok(LocalRelease {
        released: Arc::new(released),
    })
}

#[pymethods]
impl LocalRelease {
    /// What is to be known of it without its tables, as JSON.
    fn told(&self) -> String {
        let released = &self.released;
        json!({
            "release": released.release,
            "tables": released.names(),
            "guarantee": released.cost.guarantee.to_string(),
            "charge": released.cost.charge,
            "repeated": released.repeated,
            "resumed": released.resumed,
            "receipt": released.receipt,
        })
        .to_string()
    }

    /// The table by these attributes: everything about it as JSON, and its rows.
    fn table(&self, py: Python<'_>, by: Vec<String>) -> PyResult<(String, ArrowTable)> {
        let released = Arc::clone(&self.released);
        let work = move || {
            let by: Vec<&str> = by.iter().map(String::as_str).collect();
            let answer = released.table(&by)?;
            let mut told = answer.to_json();
            told["repeated"] = json!(true);
            told["receipt"] = json!(released.receipt);
            Ok((told.to_string(), answer.to_batch()?))
        };
        let (told, batch) = waiting(py, work)?.map_err(of_sql)?;
        Ok((told, ArrowTable::of(batch)))
    }

    /// One object with everything, as JSON.
    fn everything(&self, py: Python<'_>) -> PyResult<String> {
        let released = Arc::clone(&self.released);
        let written = waiting(py, move || {
            let mut text = Vec::new();
            released.write_json(&mut text).map(|()| text)
        })?
        .map_err(of_sql)?;
        Ok(String::from_utf8_lossy(&written).into_owned())
    }

    fn __repr__(&self) -> String {
        format!("LocalRelease({})", self.released.release)
    }
}
