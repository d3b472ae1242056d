//! Descriptions in TOML or JSON, and what is wrong with one without a word of the file in it: the file may be the wrong one, and full
//! of data.

use serde::de::DeserializeOwned;
use serde_json::error::Category;

/// Reads TOML; or says where and what is wrong.
pub(crate) fn from_toml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let place = |error: &toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.get(..start).unwrap_or(text);
        let last = before.rsplit('\n').next().unwrap_or(before);
        format!(
            "line {}, column {}",
            line_of(text, start),
            last.chars().count() + 1
        )
    };
    if let Err(error) = text.parse::<toml::Table>() {
        return Err(format!("{}: this is not TOML", place(&error)));
    }
    toml::from_str(text).map_err(|error| format!("{}: {}", place(&error), expected(error.message())))
}

/// Reads JSON; or says where and what is wrong.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| {
        let what = match error.classify() {
            Category::Data => {
                let told = error.to_string();
                let place = format!(" at line {} column {}", error.line(), error.column());
                expected(told.strip_suffix(&place).unwrap_or(&told))
            }
            Category::Eof => "this is not JSON: it ends too early".to_owned(),
            Category::Syntax | Category::Io => "this is not JSON".to_owned(),
        };
        format!("line {}, column {}: {what}", error.line(), error.column())
    })
}

/// The number of the line in which this byte of the text is.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or(text).matches('\n').count() + 1
}

/// What was expected, from an error of serde: the part of it that has nothing of the file in it.
///
/// Such an error is `…, expected …` with what was found in front, or is about a field of ours, or is one of ours.
pub(crate) fn expected(error: &str) -> String {
    const OURS: [&str; 4] = ["expected ", "missing field ", "duplicate field ", "events nest "];
    let line = error.lines().next().unwrap_or_default();
    match line.rsplit_once(", expected ") {
        Some((_, expected)) => format!("expected {expected}"),
        None if OURS.iter().any(|start| line.starts_with(start)) => line.to_owned(),
        None => "expected something else, such as a number that is finite and in range".to_owned(),
    }
}
