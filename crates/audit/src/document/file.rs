//! A mechanism described in a TOML or JSON file.

use super::distributions::magnitude;
use super::{Mistake, Number, Pair, Parameters, fail};
use crate::exact_audit::{Distribution, Finite, Piece, Piecewise, Real};
use exact::{Rational, ratio};
use files::document::{self, Advice, expected};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// How to write such a document, for people to read.
pub const FORMAT: &str = "\
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

/// What a mechanism is written in; both have the same form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Keys and tables.
    Toml,
    /// One object.
    Json,
}

/// Reads the file and builds the two distributions; the ending of its name says its format.
pub fn read(path: &Path) -> Result<Pair, Mistake> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let format = match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("toml") => Format::Toml,
        Some("json") => Format::Json,
        _ => {
            return fail(
                format!("`{}` is neither a .toml nor a .json file", path.display()),
                "the ending of its name says how it is read",
            );
        }
    };
    let advice = Advice {
        unreadable: "it must be a text file that you may read",
        too_large: "describe the mechanism, not its outputs; --help shows the format",
    };
    let text = document::text_of(path, LARGEST_FILE, advice)?;
    parse(&text, format).map_err(|mistake| mistake.in_file(path))
}

/// The two distributions that a text describes.
pub fn parse(text: &str, format: Format) -> Result<Pair, Mistake> {
    if text.trim().is_empty() {
        return malformed("the file is empty");
    }
    let description: Description = match format {
        Format::Toml => document::from_toml(text, HINT)?,
        Format::Json => document::from_json(text, HINT)?,
    };
    match (description.mechanism, description.first, description.second) {
        (Some(parameters), None, None) => parameters.pair(),
        (None, Some(first), Some(second)) => rows(&first, &second),
        (None, None, None) => malformed("it describes no mechanism"),
        (None, _, _) => malformed("it has one of `first` and `second` without the other"),
        (Some(_), _, _) => malformed("it has both `mechanism` and `first` or `second`"),
    }
}

const HINT: &str = "`deniable audit exact --help` shows the format with examples";

fn malformed<T>(what: impl Into<String>) -> Result<T, Mistake> {
    fail(what, HINT)
}

/// Makes a distribution of a row, whose name is for the errors.
type Reader = fn(&str, &[Value]) -> Result<Distribution, Mistake>;

/// Two rows of probabilities or of pieces.
fn rows(first: &[Value], second: &[Value]) -> Result<Pair, Mistake> {
    let pieces = |row: &[Value]| row.iter().all(Value::is_object);
    if first.is_empty() || second.is_empty() {
        return malformed("`first` and `second` must not be empty");
    }
    let (distribution, words): (Reader, _) = match (pieces(first), pieces(second)) {
        (true, true) => (piecewise, "two densities"),
        (false, false) => (finite, "two rows of probabilities"),
        _ => return malformed("one of `first` and `second` is a density and the other is not"),
    };
    Ok(Pair {
        first: distribution("first", first)?,
        second: distribution("second", second)?,
        words: format!(
            "{words} from a file, with {} and {} entries",
            first.len(),
            second.len()
        ),
    })
}

/// One entry of a row, read as what it should be.
fn entry<T: serde::de::DeserializeOwned>(row: &str, index: usize, value: &Value) -> Result<T, Mistake> {
    T::deserialize(value).or_else(|error| {
        malformed(format!(
            "entry {} of `{row}`: {}",
            index + 1,
            expected(&error.to_string())
        ))
    })
}

fn at_most(row: &str, values: &[Value], most: usize) -> Result<(), Mistake> {
    if values.len() > most {
        return fail(
            format!("`{row}` has more than {most} entries"),
            "merge outcomes that are alike",
        );
    }
    Ok(())
}

fn finite(row: &str, values: &[Value]) -> Result<Distribution, Mistake> {
    at_most(row, values, MOST_OUTCOMES)?;
    let masses = values
        .iter()
        .enumerate()
        .map(|(index, value)| entry::<Number>(row, index, value).map(|number| number.0))
        .collect::<Result<Vec<Rational>, Mistake>>()?;
    Finite::from_rationals(masses)
        .map(Distribution::from)
        .map_err(|error| about(row, error))
}

fn about(row: &str, error: crate::Error) -> Mistake {
    Mistake::from(error).within(format!("`{row}`"))
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
    fn piece(self, row: &str, index: usize) -> Result<Piece, Mistake> {
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

fn piecewise(row: &str, values: &[Value]) -> Result<Distribution, Mistake> {
    at_most(row, values, MOST_PIECES)?;
    let pieces = values
        .iter()
        .enumerate()
        .map(|(index, value)| entry::<PieceText>(row, index, value)?.piece(row, index))
        .collect::<Result<Vec<Piece>, Mistake>>()?;
    Piecewise::new(pieces)
        .map(Distribution::from)
        .map_err(|error| about(row, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
                    error.message().contains("line ") || error.message().contains("entry "),
                    "{text}: {error}"
                );
            }
        }
    }

    #[test]
    fn files_that_describe_nothing_are_refused_with_a_hint() {
        let cases = [
            (" \n", Format::Toml, "empty"),
            ("# nothing\n", Format::Toml, "describes no mechanism"),
            ("{}", Format::Json, "describes no mechanism"),
            (
                "{",
                Format::Json,
                "line 1, column 1: this is not JSON: it ends too early",
            ),
            ("first = [1]\n", Format::Toml, "without the other"),
            ("first = []\nsecond = []\n", Format::Toml, "must not be empty"),
            (
                "first = [0.5, 0.5]\nsecond = [1, 0]\n",
                Format::Toml,
                "must be text",
            ),
            (
                "first = [\"1/2\", \"1/3\"]\nsecond = [1, 0]\n",
                Format::Toml,
                "do not add up to 1",
            ),
            (
                "first = [1]\nsecond = [1]\nthird = [1]\n",
                Format::Toml,
                "line 3, column 1: expected one of `mechanism`, `first`, `second`",
            ),
            (
                "[mechanism]\nkind = \"noise\"\n",
                Format::Toml,
                "line 2, column 8: expected one of `uniform`",
            ),
            (
                "[mechanism]\nkind = \"laplace\"\nscale = \"NaN\"\n",
                Format::Toml,
                "not a finite number",
            ),
            (
                "[mechanism]\nkind = \"laplace\"\nscales = 1\n",
                Format::Toml,
                "line 3, column 1: expected one of `kind`",
            ),
            (
                r#"{"first": [{"left": 0, "coefficient": 1}], "second": [1]}"#,
                Format::Json,
                "is a density and the other",
            ),
            (
                r#"{"first": [{"left": 0, "coefficient": 1}], "second": [{"left": 0, "coefficient": 1}]}"#,
                Format::Json,
                "without falling off",
            ),
        ];
        for (text, format, expected) in cases {
            let error = parse(text, format).expect_err("refused");
            assert!(error.message().contains(expected), "{text}: {error}");
            assert!(!error.hint().is_empty(), "{text}: {error}");
        }
        let many = format!("first = [{0}]\nsecond = [{0}]\n", "0, ".repeat(5000));
        assert!(parse(&many, Format::Toml).is_err());
        let deep = "[".repeat(100_000);
        assert!(parse(&deep, Format::Json).is_err());
        assert!(parse(&format!("first = {deep}"), Format::Toml).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_a_panic(text in "\\PC{0,200}") {
            let _ = parse(&text, Format::Toml);
            let _ = parse(&text, Format::Json);
        }
    }
}
