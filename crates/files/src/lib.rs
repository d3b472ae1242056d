//! Files as every other crate reads and writes them: CSV as columns of text, documents that people write by
//! hand, and files that are written whole or not at all.
//!
//! It is a crate of its own because reading text is what a question about a CSV file waits for: small, and
//! built with all optimisation.

#[cfg(feature = "csv")]
pub mod csv;
pub mod document;
pub mod sheet;
#[cfg(feature = "whole")]
mod whole;

#[cfg(feature = "whole")]
pub use whole::{Readable, Whole};
