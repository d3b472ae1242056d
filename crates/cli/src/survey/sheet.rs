//! A CSV file in memory.
//!
//! Reading never fails because of what is in a field: rows may be short or long, and bytes need not be text. So whether a command
//! succeeds says nothing about anybody's answer.

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
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(bytes);
        let mut first = ByteRecord::new();
        let found = reader.read_byte_record(&mut first).unwrap_or(false);
        if !found {
            return fail(
                format!("`{name}` is empty"),
                "its first line must name the columns",
            );
        }
        let columns: Vec<Vec<u8>> = first.iter().map(|column| column.trim_ascii().to_vec()).collect();
        let end = usize::try_from(reader.position().byte())
            .unwrap_or(bytes.len())
            .min(bytes.len());
        let body = &bytes[end..];
        // The reader ends a line at the first byte of "\r\n", and would skip the second.
        let body = if bytes[..end].ends_with(b"\r") {
            body.strip_prefix(b"\n").unwrap_or(body)
        } else {
            body
        };
        let body = if columns.len() == 1 {
            with_blank_lines_quoted(body)
        } else {
            body.to_vec()
        };
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
                "the first line of the file must name the columns; use one of those names",
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
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(self.body.as_slice());
        // Bytes in memory, of any form and length, are read without an error.
        reader.into_byte_records().map_while(Result::ok)
    }
}

/// In a file of one column an empty line is an empty answer, and its respondent one like the others; the CSV reader would skip it,
/// and the number of reports would tell that somebody's answer was empty. So it is written as `""`.
fn with_blank_lines_quoted(body: &[u8]) -> Vec<u8> {
    #[derive(PartialEq)]
    enum State {
        LineStart,
        FieldStart,
        Plain,
        Quoted,
        QuoteInQuoted,
    }
    let mut quoted = Vec::with_capacity(body.len());
    let mut state = State::LineStart;
    let mut previous = 0u8;
    for &byte in body {
        let ends_pair = previous == b'\r' && byte == b'\n' && state == State::LineStart;
        previous = byte;
        state = match (state, byte) {
            (State::LineStart, b'\n') if ends_pair => State::LineStart,
            (State::LineStart, b'\n' | b'\r') => {
                quoted.extend_from_slice(b"\"\"");
                State::LineStart
            }
            (State::Quoted, b'"') => State::QuoteInQuoted,
            (State::Quoted, _) => State::Quoted,
            (_, b'\n' | b'\r') => State::LineStart,
            (_, b',') => State::FieldStart,
            (State::LineStart | State::FieldStart | State::QuoteInQuoted, b'"') => State::Quoted,
            _ => State::Plain,
        };
        quoted.push(byte);
    }
    quoted
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
        assert_eq!(
            first_fields("a\n\"x\n\ny\"\n\n5\" pipe\n\n\"q\"\"\n\n\"\n"),
            ["x\n\ny", "", "5\" pipe", "", "q\"\n\n"]
        );
        assert_eq!(first_fields("\u{feff}a,b\nyes,1\n\nno,2"), ["yes", "no"]);
        assert!(first_fields("a\n").is_empty());
    }

    #[test]
    fn columns_are_found_by_name() {
        let sheet = sheet("id, answer ,id\n1,2,3\n");
        assert_eq!(sheet.column("answer").unwrap(), 1);
        assert!(sheet.column("id").unwrap_err().message.contains("more than one"));
        let missing = sheet.column("age").unwrap_err();
        assert!(missing.hint.is_some() && !missing.to_string().contains("answer"));
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
            answers in prop::collection::vec("(|yes|no|[a-z]{0,3})", 1..12),
            changed in any::<prop::sample::Index>(),
            other in "(|yes|no)",
            ending in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        ) {
            let rows = |answers: &[String]| {
                let text: String = answers.iter().map(|answer| format!("{answer}{ending}")).collect();
                sheet(&format!("answer{ending}{text}")).rows().count()
            };
            prop_assert_eq!(rows(&answers), answers.len());
            let mut neighbour = answers.clone();
            neighbour[changed.index(answers.len())] = other;
            prop_assert_eq!(rows(&neighbour), answers.len());
        }
    }
}
