//! The extension module of the Python package `deniable`: what needs the crates of this workspace. The
//! package around it, in `source/deniable`, is what people call: names, defaults, documentation, tables of
//! whatever library they use.
//!
//! A file or a folder for each part. None of them decides about privacy: each translates to one call of a
//! crate below, and its errors to exceptions.

mod accounting;
mod attack;
mod audit;
mod command;
mod dataset;
mod errors;
mod mechanisms;
mod survey;
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
    train::register(module)?;
    Ok(())
}
