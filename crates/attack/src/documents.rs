//! What the documents of published numbers have in common.

use files::document::{Advice, Mistake, text_of};
use std::path::Path;

/// A description is a few pages of text, not data.
const LARGEST_FILE: u64 = 4 * 1024 * 1024;

/// Reads a file and what it describes; a mistake is reported with the name of the file.
pub(crate) fn read<T>(path: &Path, parse: impl Fn(&str) -> Result<T, Mistake>) -> Result<T, Mistake> {
    let advice = Advice {
        unreadable: "it must be a text file that you may read; --template prints one to start from",
        too_large: "describe what was published; --template prints an example",
    };
    let text = text_of(path, LARGEST_FILE, advice)?;
    parse(&text).map_err(|mistake| mistake.in_file(path))
}

/// What to do about a text that is not even TOML.
pub(crate) fn not_toml(mistake: Mistake) -> Mistake {
    mistake.with_hint("--template prints an example that can be read")
}

/// Whether this text stands for a number that was not published.
pub(crate) fn suppressed(text: &str) -> bool {
    matches!(text.trim(), "(D)" | "D" | "suppressed" | "")
}
