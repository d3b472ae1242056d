//! `deniable.audit`: the exact verifier, the black box on a Python callable, one run with canaries, and
//! goodness of fit.
//!
//! The callable runs on the thread that called, under the interpreter's lock. The search for an event runs
//! beside it on a thread of its own, and asks for outputs in batches. So Ctrl-C works whatever takes long,
//! and other threads of Python go on while an event is learned.

mod black_box;
mod exact;
mod fit;
mod one_run;

use crate::errors::of_parameter;
use audit::document::{Claim, Mistake, Number};
use pyo3::prelude::*;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    exact::register(module)?;
    black_box::register(module)?;
    one_run::register(module)?;
    fit::register(module)?;
    Ok(())
}

/// A mistake in what was described by Python objects: they have no lines, and no command line either.
pub(crate) fn of_mistake(mistake: &Mistake) -> PyErr {
    let place = mistake.place().map(|place| place.path.as_str());
    let what = match place.filter(|path| !path.is_empty()) {
        Some(path) => format!("{path}: {}", mistake.what()),
        None => mistake.what().to_owned(),
    };
    let hint = match mistake.hint() {
        // Advice for the command line helps nobody here.
        hint if hint.contains("--") => "help() of this function shows how to write it",
        hint => hint,
    };
    of_parameter(format!("{what}\nhint: {hint}"))
}

/// An exact number that Python wrote as text.
pub(crate) fn number(name: &str, text: &str) -> PyResult<Number> {
    text.parse().map_err(|_| {
        of_parameter(format!(
            "{name} is not a number that can be read exactly\nhint: give an int, a Fraction, a Decimal, or text such as \"1/3\" or \"1e-6\""
        ))
    })
}

fn optional(name: &str, text: Option<&str>) -> PyResult<Option<Number>> {
    text.map(|text| number(name, text)).transpose()
}

/// A claim, checked under the names that Python has for it.
fn claimed(epsilon: Option<&str>, delta: Option<&str>) -> PyResult<Claim> {
    let claim = Claim {
        epsilon: optional("epsilon", epsilon)?,
        delta: optional("delta", delta)?,
    };
    claim
        .check_as("epsilon", "delta")
        .map_err(|mistake| of_mistake(&mistake))?;
    Ok(claim)
}
