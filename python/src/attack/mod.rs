//! `deniable.attack`: what an adversary learns from a release.
//!
//! Tables arrive as text of the crate's own documents, or as Arrow streams. Queries to a Python callable are
//! asked from Python, which handles its errors and its Ctrl-C.

mod linkage;
mod membership;
mod published;
mod questions;

use crate::errors::of_parameter;
use crate::work::waiting;
use attack::Patience;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    published::register(module)?;
    questions::register(module)?;
    membership::register(module)?;
    linkage::register(module)?;
    Ok(())
}

/// Work that stops soon after nobody waits for it any more: what was found by then is of no use to anybody.
fn stoppable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Arc<AtomicBool>) -> T + Send + 'static,
) -> PyResult<T> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    let result = waiting(py, move || work(&flag));
    if result.is_err() {
        raised.store(true, Ordering::Relaxed);
    }
    result
}

fn patience(seconds: Option<f64>, flag: &Arc<AtomicBool>) -> Patience {
    // A time that no clock can tell is no limit.
    let lasting = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    lasting
        .map_or(Patience::endless(), Patience::lasting)
        .unless(Arc::clone(flag))
}

fn check_seconds(seconds: Option<f64>) -> PyResult<()> {
    if seconds.is_none_or(|seconds| seconds > 0.0) {
        return Ok(());
    }
    Err(of_parameter(
        "seconds must be a positive number\nhint: leave it out to search for as long as it takes",
    ))
}

fn quantity<T, E: std::fmt::Display>(parsed: Result<T, E>) -> PyResult<T> {
    parsed.map_err(|error| {
        let text = error.to_string();
        of_parameter(if text.contains("\nhint: ") {
            text
        } else {
            format!("{text}\nhint: write it as 1 or 1e-6")
        })
    })
}
