//! Reads and writes files for every other crate: CSV as columns of text, documents that people write by hand,
//! and files that are written whole or not at all.
//!
//! It is a crate of its own because a query over a CSV file waits for the reading of text. So the crate is
//! small, and built with all optimisation.

#[cfg(feature = "csv")]
pub mod csv;
pub mod document;
pub mod sheet;
#[cfg(feature = "whole")]
mod whole;

#[cfg(feature = "whole")]
pub use whole::{Readable, Whole};
