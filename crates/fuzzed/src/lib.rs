//! Parsers of untrusted input, as fuzz targets: functions of bytes that must not panic, hang, or overflow the
//! stack.
//!
//! ```text
//! fuzz/fuzz_targets/NAME.rs ──┐
//!                             ├──► fuzzed::NAME(bytes) ──► the product's own reader
//! tests: corpus, changed ─────┘        ▲
//!                              fuzz/corpus/NAME/*
//! ```

pub mod corpus;
mod csv;
mod documents;
#[cfg(feature = "engine")]
mod engine;
mod ledgers;
mod models;
#[cfg(feature = "engine")]
mod strangers;

pub use csv::csv;
pub use documents::{account, audit, reconstruct};
#[cfg(feature = "engine")]
pub use engine::{catalog, sql};
pub use ledgers::{ledger, ledger_head};
pub use models::checkpoint;
#[cfg(feature = "engine")]
pub use strangers::wire;

use std::path::PathBuf;

/// A folder with one file of these bytes. It is gone when it is dropped.
///
/// # Panics
/// When there is no room for it.
fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("room for a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("room for a file");
    (folder, path)
}

/// What is wrong with an input is reported with what to do about it.
///
/// # Panics
/// When it is not.
fn check_reported(error: &impl std::fmt::Display) {
    let reported = error.to_string();
    assert!(reported.contains("hint:"), "an error without a hint: {reported}");
}
