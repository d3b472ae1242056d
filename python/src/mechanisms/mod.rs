//! Mechanisms on numbers and columns, each charged to an account before it draws.
//!
//! ```text
//! input (numbers of Python or Arrow) ──► claim (on the grid, with its sensitivity) ──► account (charge, draw) ──► released
//! ```

mod account;
mod claim;
mod input;
mod noise;
mod released;
mod session;

use pyo3::prelude::*;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<account::PyAccount>()?;
    module.add_class::<released::Released>()?;
    module.add_class::<released::Reports>()?;
    module.add_class::<session::Session>()?;
    Ok(())
}
