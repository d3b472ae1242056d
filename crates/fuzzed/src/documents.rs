//! Documents that commands read: plans of releases, mechanisms to audit, published tables.

use crate::check_reported;
use std::fmt::Display;

/// Reads the bytes as a plan of releases, in TOML and in JSON.
pub fn account(bytes: &[u8]) {
    use accounting::plan::{Format, parse};
    let text = String::from_utf8_lossy(bytes);
    refused_in_words(parse(&text, Format::Toml));
    refused_in_words(parse(&text, Format::Json));
}

/// Reads the bytes as a mechanism to be audited, in TOML and in JSON.
pub fn audit(bytes: &[u8]) {
    use audit::document::{Format, parse};
    let text = String::from_utf8_lossy(bytes);
    refused_in_words(parse(&text, Format::Toml));
    refused_in_words(parse(&text, Format::Json));
}

/// Reads the bytes as a published table, and as the margins of a block.
pub fn reconstruct(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    refused_in_words(attack::published::document::parse(&text));
    refused_in_words(attack::blocks::document::parse(&text));
}

/// What was read is of no use; what is wrong is said in words.
fn refused_in_words<T, E: Display>(outcome: Result<T, E>) {
    if let Err(mistake) = outcome {
        check_reported(&mistake);
    }
}
