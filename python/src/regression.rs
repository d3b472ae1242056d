//! Models and tests. Objects come and go as JSON, the same that the server writes.

use crate::dataset::{LocalDataset, next_step};
use crate::errors::{of_asked, of_parameter};
use crate::work::{waiting, watching};
use pyo3::prelude::*;
use sql::{RegressionAsked, RegressionRequest};
use std::sync::{Arc, Mutex, PoisonError};

fn request(dataset: &LocalDataset, asked: &str) -> PyResult<RegressionRequest> {
    let asked: RegressionAsked = serde_json::from_str(asked).map_err(|_| {
        of_parameter("the model that is wanted cannot be read\nhint: name the family linear, logistic or poisson; a test is independence, proportions or means")
    })?;
    let catalog = dataset.asked.catalog();
    asked.request(catalog, &dataset.analyst).map_err(of_asked)
}

/// The SQL that is measured.
pub(crate) fn measured_by(dataset: &LocalDataset, py: Python<'_>, asked: &str) -> PyResult<String> {
    let request = request(dataset, asked)?;
    let asked = Arc::clone(&dataset.asked);
    let (sql, _) = waiting(py, move || asked.explain_regression(&request))?.map_err(of_asked)?;
    Ok(sql)
}

/// Fits a model or tests, as JSON.
pub(crate) fn regress(
    dataset: &LocalDataset,
    py: Python<'_>,
    asked: &str,
    watch: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let request = request(dataset, asked)?;
    let doing = Arc::new(Mutex::new("understanding the formula"));
    let (asked, reached) = (Arc::clone(&dataset.asked), Arc::clone(&doing));
    let work = move || {
        let mut watch = |stage| {
            *reached.lock().unwrap_or_else(PoisonError::into_inner) = next_step(stage);
        };
        let regressed = asked.regress(&request, &mut watch)?;
        Ok(regressed.told().to_string())
    };
    let look = || match watch {
        Some(watch) => {
            let doing = *doing.lock().unwrap_or_else(PoisonError::into_inner);
            watch.call1((doing,)).map(|_| ())
        }
        None => Ok(()),
    };
    watching(py, work, look)?.map_err(of_asked)
}
