//! A mechanism described in a TOML or JSON file.

use super::description::{Pair, Parameters};
use super::laws::magnitude;
use super::number::Number;
use crate::described;
use crate::terminal::{CliError, fail};
use audit::exact_audit::{Finite, Law, Piece, Piecewise, Real};
use exact::{Rational, ratio};
use serde::Deserialize;
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// How to write such a file, for `--help`.
pub(super) const FORMAT: &str = "\
Files (--file mechanism.toml, or the same in .json). Numbers are integers, or text that is
read exactly: \"0.1\", \"1/3\", \"1e-6\".

  A mechanism with its parameters, named as on the command line:
    [mechanism]
    kind = \"laplace\"
    scale = \"2\"
    shift = \"1\"

  Two rows of probabilities, outcome by outcome, each adding up to exactly 1:
    first = [\"1/2\", \"1/2\"]
    second = [\"1/4\", \"3/4\"]

  Two densities in pieces, coefficient·e^(slope·x + intercept) from left to right. A missing
  end is infinite, a missing slope or intercept is 0:
    [[first]]
    left = 0
    right = 1
    coefficient = 1
    [[second]]
    left = 0
    slope = -1
    coefficient = 1";

/// A description is a page of text, not data.
const LARGEST_FILE: u64 = 256 * 1024;
/// More is data, and not a description.
pub(super) const MOST_OUTCOMES: usize = 4096;
pub(super) const MOST_PIECES: usize = 64;
/// Bounds on the numbers of a piece, within which its integrals are numbers that a computer can hold.
const LARGEST_END: u32 = 1_000_000_000;
pub(super) const LARGEST_EXPONENT: u32 = 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    mechanism: Option<Parameters>,
    first: Option<Vec<Value>>,
    second: Option<Vec<Value>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Toml,
    Json,
}

/// Reads the file and builds the two laws.
pub(super) fn read(path: &Path) -> Result<Pair, CliError> {
    let name = path.display();
    let extension = path.extension().and_then(|extension| extension.to_str());
    let format = match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("toml") => Format::Toml,
        Some("json") => Format::Json,
        _ => {
            return fail(
                format!("`{name}` is neither a .toml nor a .json file"),
                "the ending of its name says how it is read",
            );
        }
    };
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(LARGEST_FILE + 1).read_to_string(&mut text))
        .map_err(|cause| {
            CliError::bad_input(format!("cannot read `{name}`: {cause}"))
                .with_hint("it must be a text file that you may read")
        })?;
    if text.len() as u64 > LARGEST_FILE {
        return fail(
            format!("`{name}` is larger than 256 KiB"),
            "describe the mechanism, not its outputs; --help shows the format",
        );
    }
    parse(&text, format).map_err(|error| CliError {
        message: format!("`{name}`: {}", error.message),
        ..error
    })
}

/// The two laws that a file's text describes.
pub(super) fn parse(text: &str, format: Format) -> Result<Pair, CliError> {
    if text.trim().is_empty() {
        return malformed("the file is empty");
    }
    let description = match format {
        Format::Toml => described::from_toml(text),
        Format::Json => described::from_json(text),
    };
    let description: Description = description.or_else(malformed)?;
    match (description.mechanism, description.first, description.second) {
        (Some(parameters), None, None) => parameters.pair(),
        (None, Some(first), Some(second)) => rows(&first, &second),
        (None, None, None) => malformed("it describes no mechanism"),
        (None, _, _) => malformed("it has one of `first` and `second` without the other"),
        (Some(_), _, _) => malformed("it has both `mechanism` and `first` or `second`"),
    }
}

fn malformed<T>(what: impl Into<String>) -> Result<T, CliError> {
    fail(
        what,
        "`deniable audit exact --help` shows the format with examples",
    )
}

/// Makes a law of a row, whose name is for the errors.
type Reader = fn(&str, &[Value]) -> Result<Law, CliError>;

/// Two rows of probabilities or of pieces.
fn rows(first: &[Value], second: &[Value]) -> Result<Pair, CliError> {
    let pieces = |row: &[Value]| row.iter().all(Value::is_object);
    if first.is_empty() || second.is_empty() {
        return malformed("`first` and `second` must not be empty");
    }
    let (law, words): (Reader, _) = match (pieces(first), pieces(second)) {
        (true, true) => (piecewise, "two densities"),
        (false, false) => (finite, "two rows of probabilities"),
        _ => return malformed("one of `first` and `second` is a density and the other is not"),
    };
    Ok(Pair {
        first: law("first", first)?,
        second: law("second", second)?,
        words: format!(
            "{words} from a file, with {} and {} entries",
            first.len(),
            second.len()
        ),
    })
}

/// One entry of a row, read as what it should be.
fn entry<T: serde::de::DeserializeOwned>(row: &str, index: usize, value: &Value) -> Result<T, CliError> {
    T::deserialize(value).or_else(|error| {
        malformed(format!(
            "entry {} of `{row}`: {}",
            index + 1,
            described::expected(&error.to_string())
        ))
    })
}

fn at_most(row: &str, values: &[Value], most: usize) -> Result<(), CliError> {
    if values.len() > most {
        return fail(
            format!("`{row}` has more than {most} entries"),
            "merge outcomes that are alike",
        );
    }
    Ok(())
}

fn finite(row: &str, values: &[Value]) -> Result<Law, CliError> {
    at_most(row, values, MOST_OUTCOMES)?;
    let masses = values
        .iter()
        .enumerate()
        .map(|(index, value)| entry::<Number>(row, index, value).map(|number| number.0))
        .collect::<Result<Vec<Rational>, CliError>>()?;
    Finite::from_rationals(masses)
        .map(Law::from)
        .map_err(|error| about(row, error))
}

fn about(row: &str, error: audit::Error) -> CliError {
    let error = super::explained(error);
    CliError {
        message: format!("`{row}`: {}", error.message),
        ..error
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PieceText {
    left: Option<Number>,
    right: Option<Number>,
    coefficient: Number,
    #[serde(default = "zero")]
    slope: Number,
    #[serde(default = "zero")]
    intercept: Number,
}

fn zero() -> Number {
    Number::ZERO
}

impl PieceText {
    /// The piece, unless its numbers are out of any reasonable range.
    fn piece(self, row: &str, index: usize) -> Result<Piece, CliError> {
        let ends: Vec<&Rational> = [&self.left, &self.right]
            .into_iter()
            .flatten()
            .map(|end| &end.0)
            .collect();
        let exponent = |end: &Rational| &self.slope.0 * end + &self.intercept.0;
        let small = |value: &Rational, limit: u32| magnitude(value) <= Rational::from(limit);
        let smallest = ratio(1, u64::from(LARGEST_END));
        let tame = ends
            .iter()
            .all(|end| small(end, LARGEST_END) && small(&exponent(end), LARGEST_EXPONENT))
            && small(&self.slope.0, LARGEST_END)
            && (self.slope.0.is_zero() || magnitude(&self.slope.0) >= smallest)
            && (!self.slope.0.is_zero() || small(&self.intercept.0, LARGEST_EXPONENT))
            && (smallest..=Rational::from(LARGEST_END)).contains(&self.coefficient.0);
        if !tame {
            return fail(
                format!("entry {} of `{row}` has numbers out of range", index + 1),
                "ends, slopes and coefficients up to 1e9 with a positive coefficient, and exponents up to 1000 at the ends: choose another unit",
            );
        }
        Ok(Piece {
            left: self.left.map(|end| end.0),
            right: self.right.map(|end| end.0),
            coefficient: Real::Exact(self.coefficient.0),
            slope: self.slope.0,
            intercept: self.intercept.0,
        })
    }
}

fn piecewise(row: &str, values: &[Value]) -> Result<Law, CliError> {
    at_most(row, values, MOST_PIECES)?;
    let pieces = values
        .iter()
        .enumerate()
        .map(|(index, value)| entry::<PieceText>(row, index, value)?.piece(row, index))
        .collect::<Result<Vec<Piece>, CliError>>()?;
    Piecewise::new(pieces)
        .map(Law::from)
        .map_err(|error| about(row, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_file_is_in_an_error() {
        for text in [
            "SECRET",
            "SECRET = 1",
            "first = \"SECRET, expected SECRET\"",
            "first = [\"SECRET\"]\nsecond = [1]",
            "[mechanism]\nkind = \"SECRET\"",
            "[mechanism]\nkind = \"laplace\"\nscale = \"SECRET\"",
            "[mechanism]\n\"SECRET, expected SECRET\" = 1",
            "[[first]]\nSECRET = 1\n[[second]]\nSECRET = 1",
            "first = [1]\nSECRET = 1\nSECRET = 2",
            "first = [[\"SECRET\"]]\nsecond = [1]",
            "\"SECRET",
        ] {
            let json = text.parse::<toml::Table>().map_or_else(
                |_| format!("{{\"SECRET\": {text}}}"),
                |table| serde_json::json!(table).to_string(),
            );
            for (text, format) in [(text, Format::Toml), (&json, Format::Json)] {
                let error = parse(text, format).expect_err("refused");
                assert!(!error.to_string().contains("SECRET"), "{text}: {error}");
                assert!(
                    error.message.contains("line ") || error.message.contains("entry "),
                    "{text}: {error}"
                );
            }
        }
    }
}
