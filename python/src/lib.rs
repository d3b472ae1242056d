//! The extension module of the Python package `deniable`: the part that needs the crates of this workspace.
//! People call the package around it, in `source/deniable`: names, defaults, documentation, and tables of the
//! library they use.
//!
//! Each part has a file or a folder. None of them decides about privacy: each translates to one call of a
//! crate below, and translates its errors to exceptions.

mod accounting;
mod attack;
mod audit;
mod command;
mod dataset;
mod errors;
mod mechanisms;
mod regression;
mod releases;
mod survey;
mod synthetic;
mod table;
mod train;
mod work;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _deniable(module: &Bound<'_, PyModule>) -> PyResult<()> {
    work::keep_panics_quiet();
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    table::register(module)?;
    dataset::register(module)?;
    accounting::register(module)?;
    mechanisms::register(module)?;
    attack::register(module)?;
    audit::register(module)?;
    command::register(module)?;
    survey::register(module)?;
    synthetic::register(module)?;
    train::register(module)?;
    Ok(())
}
