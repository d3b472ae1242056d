//! Experiments that anyone can repeat: every claim of the theory, run on synthetic data, and the studies of
//! attacks. Each returns its results as [`report::Findings`].
//!
//! ```
//! let rows = experiments::claims::chosen(&["V1".to_owned()])?;
//! let outcome = rows[0].run();
//! assert!(outcome.pass, "expected {}, measured {}", outcome.expected, outcome.measured);
//! # Ok::<(), experiments::claims::NoSuchClaim>(())
//! ```

pub mod averaging;
pub mod bits;
pub mod claims;
pub mod linear;
pub mod linkage;
pub mod membership;
pub mod memorization;
mod observed_model;
pub mod people;
pub mod reconstruction;
pub mod rows;
pub mod survey;

pub use observed_model::ObservedModel;
