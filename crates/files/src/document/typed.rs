//! Reads documents that have the same form in TOML and in JSON into a type. An error says what is wrong
//! without quoting a word of the document.

use super::Mistake;
use super::tree::Lines;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

/// Reads TOML; or says where and what is wrong. What to do about it is the same for every mistake.
///
/// ```
/// let mistake = files::document::from_toml::<Vec<u8>>("a = SECRET", "see the manual").unwrap_err();
/// assert_eq!(mistake.to_string(), "line 1, column 5: this is not TOML\nhint: see the manual");
/// ```
pub fn from_toml<T: DeserializeOwned>(text: &str, hint: &str) -> Result<T, Mistake> {
    let wrong = |error: &toml::de::Error, what: &str| {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.get(..start).unwrap_or(text);
        let last = before.rsplit('\n').next().unwrap_or(before);
        let (line, column) = (Lines::of(text).line(start), last.chars().count() + 1);
        Mistake::new(format!("line {line}, column {column}: {what}"), hint)
    };
    if let Err(error) = text.parse::<toml::Table>() {
        return Err(wrong(&error, "this is not TOML"));
    }
    toml::from_str(text).map_err(|error| wrong(&error, &expected(error.message())))
}

/// Reads JSON; or says where and what is wrong. What to do about it is the same for every mistake.
pub fn from_json<T: DeserializeOwned>(text: &str, hint: &str) -> Result<T, Mistake> {
    serde_json::from_str(text).map_err(|error| {
        let what = match error.classify() {
            Category::Data => {
                let reported = error.to_string();
                let place = format!(" at line {} column {}", error.line(), error.column());
                expected(reported.strip_suffix(&place).unwrap_or(&reported))
            }
            Category::Eof => "this is not JSON: it ends too early".to_owned(),
            Category::Syntax | Category::Io => "this is not JSON".to_owned(),
        };
        Mistake::new(
            format!("line {}, column {}: {what}", error.line(), error.column()),
            hint,
        )
    })
}

/// What was expected, from an error of serde: the part of it that has nothing of the file in it.
///
/// Such an error is `…, expected …` with what was found in front, or is about a field of ours, or is one of
/// ours.
pub fn expected(error: &str) -> String {
    const OURS: [&str; 4] = ["expected ", "missing field ", "duplicate field ", "events nest "];
    let line = error.lines().next().unwrap_or_default();
    match line.rsplit_once(", expected ") {
        Some((_, expected)) => format!("expected {expected}"),
        None if OURS.iter().any(|start| line.starts_with(start)) => line.to_owned(),
        None => "expected something else, such as a number that is finite and in range".to_owned(),
    }
}
