//! A CSV file in memory, row by row. No field decides how the others are read.
//!
//! A row is a line, or several lines if it is *well-formed* and has line breaks inside of quotes. A
//! well-formed row has as many fields as the first line. Every quote in it opens a field at its beginning, is
//! doubled inside of quotes, or closes a field before a comma or the end of a line. If a quote is open at the
//! end of a line and no such row begins there, the quote ends with its line. Reading never fails because of
//! what is in a field: rows may be short or long, and bytes need not be text.
//!
//! So in two kinds of files, the answer that a person gives decides neither whether a command succeeds nor
//! how many rows it sees:
//!
//! - In a file that a program wrote, every row is well-formed whatever the answers are.
//! - In the other kind, rows are of one line each and well-formed, but for one line that may hold anything.
//!   Each row is its own line there, because a well-formed row has an even number of quotes (`files::csv` has
//!   the proof).
//!
//! If two lines are broken, the first may take in the lines up to the second.
//!
//! Fields are counted from the left. So fields left of an answer are found without looking at the answer, and
//! fields right of it are not: a comma in an answer that is not quoted, or a quote that it opens, moves
//! everything after it. See [`Row::left_of`].

use std::path::Path;

use crate::document::Mistake;

/// The columns' names, and the rest.
///
/// ```
/// use files::sheet::Sheet;
///
/// let sheet = Sheet::parse("answers.csv".to_owned(), b"who,cheated\n1,yes\n2,\"no, never\n")?;
/// let cheated = sheet.column("cheated")?;
/// let answers: Vec<_> = sheet.rows().map(|row| row.field(cheated).to_vec()).collect();
/// assert_eq!(answers, [b"yes".to_vec(), b"no, never".to_vec()]);
/// # Ok::<(), files::document::Mistake>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sheet {
    /// What to call it in an error.
    name: String,
    columns: Vec<Vec<u8>>,
    body: Vec<u8>,
}

impl Sheet {
    /// Reads a file whose first line names its columns.
    pub fn read(path: &Path) -> Result<Self, Mistake> {
        let name = path.display().to_string();
        match std::fs::read(path) {
            Ok(bytes) => Self::parse(name, &bytes),
            Err(cause) => Err(Mistake::new(
                format!("cannot read `{name}`: {cause}"),
                "name a CSV file that you may read",
            )),
        }
    }

    /// Takes the bytes of a file apart.
    pub fn parse(name: String, bytes: &[u8]) -> Result<Self, Mistake> {
        const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        let Some(start) = bytes.iter().position(|byte| !ends_line(byte)) else {
            return Err(Mistake::new(
                format!("`{name}` is empty"),
                "its first line must name the columns",
            ));
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
    pub fn column(&self, name: &str) -> Result<usize, Mistake> {
        let wanted = name.trim().as_bytes();
        let mut places = (0..self.columns.len()).filter(|place| self.columns[*place] == wanted);
        // The existing names are not listed: in a file without a first line of names they would be somebody's
        // answers.
        let Some(place) = places.next() else {
            return Err(Mistake::new(
                format!("`{}` has no column `{name}`", self.name),
                "the first line of the file must name the columns, separated by commas; use one of those names",
            ));
        };
        if places.next().is_some() {
            return Err(Mistake::new(
                format!("`{}` has more than one column `{name}`", self.name),
                "rename one of them",
            ));
        }
        Ok(place)
    }

    /// The rows in order. In a file of one column an empty line is an empty answer; elsewhere it is nobody's.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        let fields = self.columns.len();
        let empty_line_is_answer = fields == 1;
        let mut rest = self.body.as_slice();
        let rows = std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let line = rest.iter().position(ends_line).unwrap_or(rest.len());
            let mut row = Row::of(&rest[..line]);
            let mut end = line;
            if row.open
                && let Some(length) = well_formed(rest, fields)
            {
                (row, end) = (Row::of(&rest[..length]), length);
            }
            let after = &rest[end..];
            rest = [&b"\r\n"[..], b"\n", b"\r"]
                .into_iter()
                .find_map(|ending| after.strip_prefix(ending))
                .unwrap_or(after);
            Some((end == 0, row))
        });
        rows.filter(move |(empty, _)| empty_line_is_answer || !empty)
            .map(|(_, row)| row)
    }
}

fn ends_line(byte: &u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// How long the well-formed row of this many fields is that these bytes begin with, if they do.
///
/// Of many lines whose quotes nothing closes, each is read by at most as many searches as there are fields,
/// for the reason that `files::csv` gives.
fn well_formed(bytes: &[u8], fields: usize) -> Option<usize> {
    let mut found = 1;
    let mut at = 0;
    loop {
        // At the beginning of a field.
        if bytes.get(at) == Some(&b'"') {
            at += 1;
            loop {
                at += bytes[at..].iter().position(|byte| *byte == b'"')? + 1;
                if bytes.get(at) != Some(&b'"') {
                    break;
                }
                at += 1;
            }
        } else {
            let special = |byte: &u8| *byte == b',' || *byte == b'"' || ends_line(byte);
            at += bytes[at..].iter().position(special).unwrap_or(bytes.len() - at);
        }
        match bytes.get(at) {
            Some(b',') if found < fields => found += 1,
            None | Some(b'\n' | b'\r') => return (found == fields).then_some(at),
            Some(_) => return None,
        }
        at += 1;
    }
}

/// One row, parsed. What it holds depends on its own bytes alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    fields: Vec<Vec<u8>>,
    /// How many fields from the left are whole: each is followed by a comma, and none of them is a quoted
    /// field that does not end with its quote.
    whole: usize,
    /// Whether the last field opens a quote that nothing closes.
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
    /// Takes a row apart, from the left: each field is read by itself, as far as the comma that ends it.
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
                    open: end == End::Open,
                };
            };
            whole += usize::from(!broken);
            rest = after;
        }
    }

    /// One field; empty if the row is too short.
    pub fn field(&self, column: usize) -> &[u8] {
        self.fields.get(column).map_or(&[], Vec::as_slice)
    }

    /// The fields left of a column; `None` if they cannot be derived from what is in the column.
    ///
    /// # Privacy
    ///
    /// If the row begins with `column` whole fields and the comma after them, this is a function of those
    /// bytes: fields are read from the left, each as far as its comma, so whatever follows (commas, quotes,
    /// nothing) changes nothing. If it does not (a field is missing, or one opens a quote that it does not
    /// close), the text of the column may have moved to the left, and nothing of the row is returned.
    pub fn left_of(&self, column: usize) -> Option<&[Vec<u8>]> {
        (self.whole >= column).then(|| &self.fields[..column])
    }
}

/// The first field of a line: its text, how it ends, and what is after its comma. Two quotes inside quotes
/// stand for one; text after the quote that closes a field belongs to it.
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
    fn a_quote_that_nothing_closes_ends_with_its_line() {
        assert_eq!(
            first_fields("a\nyes\n\"no\nno\n\n\"a,b\"\n"),
            ["yes", "no", "no", "", "a,b"]
        );
        assert_eq!(first_fields("a,b\r\nx,\"\r\ny,\"\"\r\n\"z,1"), ["x", "y", "z,1"]);
        assert_eq!(
            first_fields("a\n5\" pipe\n\"q\"\"\nno\n"),
            ["5\" pipe", "q\"", "no"]
        );
        // Two broken lines, of which the second closes what the first opened: it cannot be reported that they
        // are two.
        assert_eq!(first_fields("a\n\"yes\nno\nno\"\n").len(), 1);
        assert_eq!(first_fields("\"a\nyes\nno\n"), ["yes", "no"]);
    }

    #[test]
    fn line_breaks_inside_of_quotes_are_no_rows() {
        let read = |text: &str| -> Vec<Vec<String>> {
            let texts = |row: Row| {
                row.fields
                    .iter()
                    .map(|field| String::from_utf8_lossy(field).into_owned())
                    .collect()
            };
            sheet(text).rows().map(texts).collect()
        };
        assert_eq!(
            read("id,a\n1,\"yes\n\nand\r\nno, \"\"really\"\"\"\n2,no\n"),
            [["1", "yes\n\nand\r\nno, \"really\""], ["2", "no"]]
        );
        assert_eq!(read("a\n\"yes\n\"\n\nno"), [["yes\n"], [""], ["no"]]);
        // Not well-formed: another number of fields, or a quote where none may be.
        assert_eq!(read("id,a\n1,\"x\n2,y\",z\n").len(), 2);
        assert_eq!(read("id,a\n\"x\ny\"\n").len(), 2);
        assert_eq!(read("id,a\n1,\"x\n2,y\"z\n").len(), 2);
        assert_eq!(read("id,a\n5\",\"x\ny\"\n").len(), 2);
        assert_eq!(read("id,a\n1,\"never\n2,closed\n3,no\n").len(), 3);
        // What is kept of such a row is what is left of the answer.
        let sheet = sheet("id,town,a\n7,\"X\nY\",\"secret\n8,Z,secret\"\n9,W,no\n");
        let left: Vec<_> = sheet
            .rows()
            .map(|row| row.left_of(2).map(<[_]>::concat))
            .collect();
        assert_eq!(left, [Some(b"7X\nY".to_vec()), Some(b"9W".to_vec())]);
    }

    /// Many lines with a quote that nothing closes take time in proportion to their number.
    #[test]
    fn unclosed_quotes_take_no_longer_than_they_should() {
        let lines = 200_000;
        for line in ["1,\"a\n", "b\",\"a\n", "\"\"\",\n"] {
            let text = format!("id,a,b\n{}", line.repeat(lines));
            assert!(sheet(&text).rows().count() >= lines / 3, "{line:?}");
        }
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
        assert!(
            sheet
                .column("id")
                .unwrap_err()
                .message()
                .contains("more than one")
        );
        let missing = sheet.column("age").unwrap_err();
        assert!(missing.hint().contains("separated by commas") && !missing.to_string().contains("answer"));
        assert!(
            Sheet::parse("empty.csv".into(), b"")
                .unwrap_err()
                .message()
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

        /// As a program writes them, answers of any text change neither the number of rows nor what is left
        /// of them.
        #[test]
        fn what_a_program_wrote_is_as_many_rows_whatever_the_answers_are(
            answers in prop::collection::vec("[a\",\r\n ]{0,6}", 1..8),
            ending in prop::sample::select(vec!["\n", "\r\n"]),
        ) {
            let line = |(id, answer): (usize, &String)| {
                format!("{id},\"{}\"{ending}", answer.replace('"', "\"\""))
            };
            let text: String = answers.iter().enumerate().map(line).collect();
            let sheet = sheet(&format!("id,answer{ending}{text}"));
            let rows: Vec<Row> = sheet.rows().collect();
            prop_assert_eq!(rows.len(), answers.len());
            for (id, (row, answer)) in rows.iter().zip(&answers).enumerate() {
                prop_assert_eq!(row.left_of(1).map(<[_]>::concat), Some(id.to_string().into_bytes()));
                prop_assert_eq!(row.field(1), answer.as_bytes());
            }
        }

        /// One line may hold anything: it changes no number of rows, and no other row.
        #[test]
        fn changing_an_answer_never_changes_the_number_of_rows(
            answers in prop::collection::vec("(|yes|no|[a-z ]{0,4}|\"[a-z, ]{0,4}\"|\"a\"\"b\")", 1..12),
            changed in any::<prop::sample::Index>(),
            other in "(|yes|no|[a-z\" ]{0,4})",
            ending in prop::sample::select(vec!["\n", "\r\n", "\r"]),
            others in prop::sample::select(vec!["", ",", ",\"x\"", ",\"\""]),
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
