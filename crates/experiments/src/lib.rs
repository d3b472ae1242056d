//! Experiments that anyone can repeat: every claim of the theory, run on synthetic data.
//!
//! ```
//! let rows = experiments::claims::chosen(&["V1".to_owned()])?;
//! let outcome = rows[0].run();
//! assert!(outcome.pass, "expected {}, measured {}", outcome.expected, outcome.measured);
//! # Ok::<(), experiments::claims::NoSuchClaim>(())
//! ```

pub mod averaging;
pub mod claims;
pub mod linear;
pub mod memorization;
mod observed_model;
pub mod people;

pub use observed_model::ObservedModel;
