//! A CSV file in memory.
//!
//! Every line is one row, whatever is in it: a quoted field may hold commas, never a line break, and a quote that is not closed ends
//! with its line. Reading never fails because of what is in a field: rows may be short or long, and bytes need not be text. So neither
//! whether a command succeeds nor how many rows it sees says anything about anybody's answer.
//!
//! Fields are counted from the left, so what is left of an answer is found without looking at the answer, and what is right of it is
//! not: a comma in an answer that is not quoted, or a quote that it opens, moves everything after it. See [`Row::left_of`].

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
        let names = Row::of(first).fields;
        Ok(Self {
            name,
            columns: names.iter().map(|name| name.trim_ascii().to_vec()).collect(),
            body: body.to_vec(),
        })
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

    /// The rows in order. In a file of one column an empty line is an empty answer; elsewhere it is nobody's.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        let empty_line_is_answer = self.columns.len() == 1;
        lines(&self.body)
            .filter(move |line| empty_line_is_answer || !line.is_empty())
            .map(Row::of)
    }
}

/// Lines, which end with `\n`, `\r\n` or `\r`; an ending at the very end begins no further line.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let (line, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = [&b"\r\n"[..], b"\n", b"\r"]
            .into_iter()
            .find_map(|ending| after.strip_prefix(ending))
            .unwrap_or(after);
        Some(line)
    })
}

/// One line, taken apart. What it holds depends on that line alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    fields: Vec<Vec<u8>>,
    /// How many fields from the left are whole: each is followed by a comma, and none of them is a quoted field that does not end with its quote.
    whole: usize,
    /// Whether the last field opens a quote that nothing closes.
    #[cfg(test)]
    open: bool,
}

/// How a field ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Without quotes, or with the quote that closes it.
    Whole,
    /// With text after the quote that closes it.
    AfterQuote,
    /// With its line, within a quote.
    Open,
}

impl Row {
    /// Takes a line apart, from the left: each field is read by itself, as far as the comma that ends it.
    fn of(line: &[u8]) -> Self {
        let (mut fields, mut whole, mut broken) = (Vec::new(), 0, false);
        let mut rest = line;
        loop {
            let (field, end, after) = first_field(rest);
            fields.push(field);
            broken |= end != End::Whole;
            let Some(after) = after else {
                return Self {
                    fields,
                    whole,
                    #[cfg(test)]
                    open: end == End::Open,
                };
            };
            whole += usize::from(!broken);
            rest = after;
        }
    }

    /// One field; empty where the row is too short.
    pub(super) fn field(&self, column: usize) -> &[u8] {
        self.fields.get(column).map_or(&[], Vec::as_slice)
    }

    /// The fields left of a column; `None` where they cannot be told from what is in the column.
    ///
    /// # Privacy
    ///
    /// Where the line begins with `column` whole fields and the comma after them, this is a function of those bytes: fields are read from the left, each as far as its comma, so whatever follows
    /// (commas, quotes, nothing) changes nothing. Where it does not (a field is missing, or one opens a quote that it does not close), the text of the column may have moved to the left, and nothing
    /// of the line is given.
    pub(super) fn left_of(&self, column: usize) -> Option<&[Vec<u8>]> {
        (self.whole >= column).then(|| &self.fields[..column])
    }
}

/// The first field of a line: its text, how it ends, and what is after its comma. Two quotes inside quotes stand for one; text after the quote that closes a field belongs
/// to it.
fn first_field(line: &[u8]) -> (Vec<u8>, End, Option<&[u8]>) {
    let until_comma = |from: usize| {
        line[from..]
            .iter()
            .position(|byte| *byte == b',')
            .map_or(line.len(), |length| from + length)
    };
    let after = |comma: usize| line.get(comma + 1..);
    if line.first() != Some(&b'"') {
        let end = until_comma(0);
        return (line[..end].to_vec(), End::Whole, after(end));
    }
    let (mut text, mut at) = (Vec::new(), 1);
    while at < line.len() {
        match (line[at], line.get(at + 1)) {
            (b'"', Some(b'"')) => {
                text.push(b'"');
                at += 2;
            }
            (b'"', _) => {
                let end = until_comma(at + 1);
                text.extend_from_slice(&line[at + 1..end]);
                let how = if end == at + 1 {
                    End::Whole
                } else {
                    End::AfterQuote
                };
                return (text, how, after(end));
            }
            (byte, _) => {
                text.push(byte);
                at += 1;
            }
        }
    }
    (text, End::Open, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sheet(text: &str) -> Sheet {
        Sheet::parse("test.csv".into(), text.as_bytes()).expect("a header")
    }

    fn first_fields(text: &str) -> Vec<String> {
        let field = |row: Row| String::from_utf8_lossy(row.field(0)).into_owned();
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
    fn what_is_left_of_an_answer_does_not_depend_on_it() {
        let left = |line: &str| {
            let sheet = sheet(&format!("id,town,answer,zip\n{line}\n"));
            let row = sheet.rows().next().expect("a row");
            let texts = |fields: &[Vec<u8>]| -> Vec<String> {
                let text = |field: &Vec<u8>| String::from_utf8_lossy(field).into_owned();
                fields.iter().map(text).collect()
            };
            row.left_of(2).map(texts)
        };
        let expected = Some(vec!["4".to_owned(), "X, \"Y\"".to_owned()]);
        for answer in [
            "yes,1",
            "no way, really,1",
            "\"yes,1",
            "\"\"\"",
            "",
            "y\"es\",\"",
            ",,,,",
        ] {
            assert_eq!(
                left(&format!("4,\"X, \"\"Y\"\"\",{answer}")),
                expected,
                "{answer}"
            );
        }
        // A quote inside a field that does not begin with one is text.
        assert_eq!(
            left("5\" pipe,Z,yes").map(|left| left.concat()),
            Some("5\" pipeZ".to_owned())
        );
        // A missing field, and one that opens a quote, would give the answer away.
        for line in [
            "4,yes",
            "yes",
            "\"4,Z,yes",
            "4,\"Z,yes",
            "4,\"Z,y\"es,1",
            "\"4\"4,Z,yes",
        ] {
            assert_eq!(left(line), None, "{line}");
        }
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

    /// What the CSV reader makes of one line whose open quote was closed.
    fn as_a_reader_does(line: &[u8]) -> Vec<Vec<u8>> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line);
        let records: Vec<csv::ByteRecord> = reader.byte_records().map(Result::unwrap).collect();
        assert_eq!(records.len(), 1);
        records[0].iter().map(<[u8]>::to_vec).collect()
    }

    proptest! {
        #[test]
        fn fields_are_those_of_a_csv_reader(line in "[a\",]{1,12}") {
            let row = Row::of(line.as_bytes());
            let closed = if row.open { format!("{line}\"") } else { line.clone() };
            prop_assert_eq!(&row.fields, &as_a_reader_does(closed.as_bytes()), "{}", line);
        }

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
