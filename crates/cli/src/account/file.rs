//! Releases described in a file: TOML for people, JSON as a ledger keeps its events.

use super::plan::{Part, flattened};
use super::releases::Releases;
use crate::described;
use crate::terminal::{CliError, fail};
use accounting::Event;
use serde::Deserialize;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// How to write such a file, for `--help`.
pub(super) const FORMAT: &str = "\
Files (--events plan.toml). Each table has the options of the command line, and how often it runs:

    [[event]]
    laplace = \"0.1\"
    times = 1000

    [[event]]
    gaussian = \"5\"

    [[event]]
    approximate = [\"0.5,1e-7\", \"0.1,1e-9x20\"]

The same in JSON (--events plan.json) is the form in which a ledger keeps events: one, or a list of them.

    [{\"repeated\": {\"event\": {\"laplace\": {\"ratio\": \"0.1\", \"on\": \"rounded\"}}, \"times\": 1000}},
     {\"gaussian\": {\"multiplier_squared\": \"25\", \"on\": \"rounded\"}},
     {\"sampled_gaussian\": {\"sampler\": {\"fixed_size\": {\"batch\": 256, \"of\": 60000}}, \"multiplier_squared\": \"4\"}}]

Numbers are whole, or text that is read exactly: \"0.1\", \"1/3\", \"1e-6\".";

/// A plan is a page of text; this is room for tens of thousands of events.
const LARGEST_FILE: u64 = 4 * 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Toml,
    Json,
}

/// Reads the file.
pub(super) fn read(path: &Path) -> Result<Vec<Part>, CliError> {
    let name = path.display();
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(LARGEST_FILE + 1).read_to_string(&mut text))
        .map_err(|cause| {
            CliError::bad_input(format!("cannot read `{name}`: {cause}"))
                .with_hint("it must be a text file that you may read")
        })?;
    if text.len() as u64 > LARGEST_FILE {
        return fail(
            format!("`{name}` is larger than 4 MiB"),
            "write equal releases once, with how often they run; --help shows the format",
        );
    }
    let extension = path.extension().and_then(|extension| extension.to_str());
    let format = match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("toml") => Format::Toml,
        Some("json") => Format::Json,
        _ => guessed(&text),
    };
    parse(&text, format).map_err(|error| CliError {
        message: format!("`{name}`: {}", error.message),
        ..error
    })
}

/// The format that the text looks like: `[[` opens a table in TOML, and no list of events in JSON.
fn guessed(text: &str) -> Format {
    let text = text.trim_start();
    if text.starts_with('{') || (text.starts_with('[') && !text.starts_with("[[")) {
        Format::Json
    } else {
        Format::Toml
    }
}

/// The releases that a file's text describes.
pub(super) fn parse(text: &str, format: Format) -> Result<Vec<Part>, CliError> {
    if text.trim().is_empty() {
        return malformed("the file is empty");
    }
    let parts = match format {
        Format::Toml => from_toml(text)?,
        Format::Json => from_json(text)?,
    };
    if parts.is_empty() {
        return malformed("it describes no releases");
    }
    Ok(parts)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    #[serde(default)]
    event: Vec<toml::Spanned<Releases>>,
}

fn from_toml(text: &str) -> Result<Vec<Part>, CliError> {
    let tables: Tables = described::from_toml(text).or_else(malformed)?;
    let mut parts = Vec::new();
    for table in tables.event {
        let line = described::line_of(text, table.span().start);
        let described = table.into_inner().parts().map_err(|error| CliError {
            message: format!("the event at line {line}: {}", error.message),
            ..error
        })?;
        if described.is_empty() {
            return malformed(format!("the event at line {line} names no mechanism"));
        }
        parts.extend(described);
    }
    Ok(parts)
}

fn from_json(text: &str) -> Result<Vec<Part>, CliError> {
    let events: Result<Vec<Event>, String> = if text.trim_start().starts_with('[') {
        described::from_json(text)
    } else {
        described::from_json(text).map(|event| vec![event])
    };
    let events = events.or_else(malformed)?;
    let mut parts = Vec::new();
    for event in events {
        parts.extend(flattened(event)?);
    }
    Ok(parts)
}

fn malformed<T>(what: impl Into<String>) -> Result<T, CliError> {
    fail(
        what,
        "an event is written as `[[event]]`, `laplace = \"0.1\"`, `times = 1000` on three lines; `deniable account --help` shows all",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_file_is_in_an_error() {
        for text in [
            "SECRET",
            "SECRET = 1",
            "[[event]]\nSECRET = 1",
            "[[event]]\nlaplace = [[\"SECRET\"]]",
            "[[event]]\n\"SECRET, expected SECRET\" = 1",
            "event = \"SECRET, expected SECRET\"",
            "[[event]]\ntimes = \"SECRET\"",
            "\"SECRET",
        ] {
            let json = text.parse::<toml::Table>().map_or_else(
                |_| format!("{{\"SECRET\": {text}}}"),
                |table| serde_json::json!(table).to_string(),
            );
            for (text, format) in [(text, Format::Toml), (&json, Format::Json)] {
                let error = parse(text, format).expect_err("refused");
                assert!(!error.to_string().contains("SECRET"), "{text}: {error}");
                assert!(error.message.contains("line "), "{text}: {error}");
            }
        }
    }

    #[test]
    fn the_text_tells_its_format() {
        for (text, format) in [
            (" {\"laplace\": {\"ratio\": 1}}", Format::Json),
            ("[\n{}]", Format::Json),
            ("[[event]]\n", Format::Toml),
            ("# a plan\n[[event]]\n", Format::Toml),
        ] {
            assert_eq!(guessed(text), format, "{text}");
        }
    }
}
