//! The command `deniable`, as the wheel brings it.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command of these words, the program's name first, and returns its exit code.
#[pyfunction]
fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| cli::main(words))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(command, module)?)
}
