//! A CSV file in memory.
//!
//! Every line is one row, whatever is in it: a quoted field may hold commas, never a line break, and a quote that is not closed ends
//! with its line. Reading never fails because of what is in a field: rows may be short or long, and bytes need not be text. So neither
//! whether a command succeeds nor how many rows it sees says anything about anybody's answer.

use csv::{ByteRecord, ReaderBuilder};
use std::path::Path;

use crate::terminal::{CliError, fail};

/// The columns' names, and the rest.
#[derive(Clone, Debug)]
pub(super) struct Sheet {
    /// What to call it in an error.
    name: String,
    columns: Vec<Vec<u8>>,
    body: Vec<u8>,
}

impl Sheet {
    /// Reads a file whose first line names its columns.
    pub(super) fn read(path: &Path) -> Result<Self, CliError> {
        let name = path.display().to_string();
        match std::fs::read(path) {
            Ok(bytes) => Self::parse(name, &bytes),
            Err(cause) => fail(
                format!("cannot read `{name}`: {cause}"),
                "name a CSV file that you may read",
            ),
        }
    }

    /// Takes the bytes of a file apart.
    pub(super) fn parse(name: String, bytes: &[u8]) -> Result<Self, CliError> {
        const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
        let ends_line = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        let Some(start) = bytes.iter().position(|byte| !ends_line(byte)) else {
            return fail(
                format!("`{name}` is empty"),
                "its first line must name the columns",
            );
        };
        let end = bytes[start..]
            .iter()
            .position(ends_line)
            .map_or(bytes.len(), |length| start + length);
        let (first, body) = (&bytes[start..end], &bytes[end..]);
        let body = [&b"\r\n"[..], b"\n", b"\r"]
            .into_iter()
            .find_map(|ending| body.strip_prefix(ending))
            .unwrap_or(body);
        let columns: Vec<Vec<u8>> = records(first)
            .flat_map(|names| {
                names
                    .iter()
                    .map(|name| name.trim_ascii().to_vec())
                    .collect::<Vec<_>>()
            })
            .collect();
        let body = one_record_a_line(body, columns.len() == 1);
        Ok(Self { name, columns, body })
    }

    /// The place of the column with this name.
    pub(super) fn column(&self, name: &str) -> Result<usize, CliError> {
        let wanted = name.trim().as_bytes();
        let mut places = (0..self.columns.len()).filter(|place| self.columns[*place] == wanted);
        // The names that are there are not listed: in a file without a first line of names they would be somebody's answers.
        let Some(place) = places.next() else {
            return fail(
                format!("`{}` has no column `{name}`", self.name),
                "the first line of the file must name the columns, separated by commas; use one of those names",
            );
        };
        if places.next().is_some() {
            return fail(
                format!("`{}` has more than one column `{name}`", self.name),
                "rename one of them",
            );
        }
        Ok(place)
    }

    /// The rows in order.
    pub(super) fn rows(&self) -> impl Iterator<Item = ByteRecord> + '_ {
        records(&self.body)
    }
}

/// The records of CSV text. Bytes in memory, of any form and length, are read without an error.
fn records(bytes: &[u8]) -> impl Iterator<Item = ByteRecord> + '_ {
    ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(bytes)
        .into_byte_records()
        .map_while(Result::ok)
}

/// The same lines, written so that the CSV reader makes one record of each: how many respondents there are must not depend on what
/// one of them answered.
///
/// A quote that its line does not close would swallow the lines after it, so it is closed at the end of its line. In a file of one
/// column an empty line is an empty answer, which the reader would skip, so it is written as `""`.
fn one_record_a_line(body: &[u8], empty_line_is_answer: bool) -> Vec<u8> {
    #[derive(PartialEq)]
    enum State {
        LineStart,
        FieldStart,
        Plain,
        Quoted,
        QuoteInQuoted,
    }
    let mut lines = Vec::with_capacity(body.len());
    let mut state = State::LineStart;
    let mut previous = 0u8;
    for &byte in body {
        let ends_pair = previous == b'\r' && byte == b'\n';
        previous = byte;
        state = match (state, byte) {
            (State::LineStart, b'\n') if ends_pair => State::LineStart,
            (State::LineStart, b'\n' | b'\r') => {
                if empty_line_is_answer {
                    lines.extend_from_slice(b"\"\"");
                }
                State::LineStart
            }
            (State::Quoted, b'\n' | b'\r') => {
                lines.push(b'"');
                State::LineStart
            }
            (_, b'\n' | b'\r') => State::LineStart,
            (State::Quoted, b'"') => State::QuoteInQuoted,
            (State::Quoted, _) => State::Quoted,
            (_, b',') => State::FieldStart,
            (State::LineStart | State::FieldStart | State::QuoteInQuoted, b'"') => State::Quoted,
            _ => State::Plain,
        };
        lines.push(byte);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sheet(text: &str) -> Sheet {
        Sheet::parse("test.csv".into(), text.as_bytes()).expect("a header")
    }

    fn first_fields(text: &str) -> Vec<String> {
        let field = |row: ByteRecord| String::from_utf8_lossy(row.get(0).unwrap_or_default()).into_owned();
        sheet(text).rows().map(field).collect()
    }

    #[test]
    fn an_empty_line_is_an_empty_answer_where_there_is_one_column() {
        assert_eq!(first_fields("a\nyes\n\nno\n"), ["yes", "", "no"]);
        assert_eq!(first_fields("a\r\nyes\r\n\r\nno\r\n\r\n"), ["yes", "", "no", ""]);
        assert_eq!(first_fields("a\ryes\r\rno"), ["yes", "", "no"]);
        assert_eq!(first_fields("\u{feff}a,b\nyes,1\n\nno,2"), ["yes", "no"]);
        assert!(first_fields("a\n").is_empty());
    }

    #[test]
    fn a_quote_never_reaches_beyond_its_line() {
        assert_eq!(
            first_fields("a\nyes\n\"no\nno\n\n\"a,b\"\n"),
            ["yes", "no", "no", "", "a,b"]
        );
        assert_eq!(
            first_fields("a,b\r\nx,\"\r\ny,\"\"\"\r\n\"z,1"),
            ["x", "y", "z,1"]
        );
        assert_eq!(
            first_fields("a\n5\" pipe\n\"q\"\"\n\"\n"),
            ["5\" pipe", "q\"", ""]
        );
        assert_eq!(first_fields("\"a\nyes\nno\n"), ["yes", "no"]);
    }

    #[test]
    fn columns_are_found_by_name() {
        let sheet = sheet("id, answer ,id\n1,2,3\n");
        assert_eq!(sheet.column("answer").unwrap(), 1);
        assert!(sheet.column("id").unwrap_err().message.contains("more than one"));
        let missing = sheet.column("age").unwrap_err();
        assert!(
            missing
                .hint
                .as_deref()
                .is_some_and(|hint| hint.contains("separated by commas"))
                && !missing.to_string().contains("answer")
        );
        assert!(
            Sheet::parse("empty.csv".into(), b"")
                .unwrap_err()
                .message
                .contains("empty")
        );
        assert!(Sheet::parse("empty.csv".into(), b"\n\r\n").is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(sheet) = Sheet::parse("any.csv".into(), &bytes) {
                let _ = sheet.column("a");
                let _ = sheet.rows().count();
            }
        }

        #[test]
        fn changing_an_answer_never_changes_the_number_of_rows(
            answers in prop::collection::vec("(|yes|no|[a-z\" ]{0,4})", 1..12),
            changed in any::<prop::sample::Index>(),
            other in "(|yes|no|[a-z\" ]{0,4})",
            ending in prop::sample::select(vec!["\n", "\r\n", "\r"]),
            others in prop::sample::select(vec!["", ",", ",\"", ",\"x\""]),
        ) {
            let columns = if others.is_empty() { "answer" } else { "answer,other" };
            let rows = |answers: &[String]| {
                let text: String = answers.iter().map(|answer| format!("{answer}{others}{ending}")).collect();
                sheet(&format!("{columns}{ending}{text}")).rows().count()
            };
            prop_assert_eq!(rows(&answers), answers.len());
            let mut neighbour = answers.clone();
            neighbour[changed.index(answers.len())] = other;
            prop_assert_eq!(rows(&neighbour), answers.len());
        }
    }
}
