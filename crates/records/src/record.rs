//! Records of a CSV file, read so that nothing in the file can raise an error.
//!
//! The usual readers refuse a row with too many fields, or bytes that are no text, so one person's row would decide whether a query fails. Here:
//!
//! - Fields are separated by the delimiter, records by a line feed, a carriage return, or both. Empty lines are no records.
//! - A field that begins with `"` lasts to the next `"` that is not doubled, across lines; `""` inside is one quote. What stands between the closing quote and
//!   the delimiter is taken as it is, and so is a quote in the middle of a field.
//! - Fields beyond the header's are dropped; fields that are missing at the end of a record are absent.
//! - A field of more than [`LONGEST`] bytes, or that is not UTF-8, is absent.
//!
//! An opening quote that is never closed takes all records up to the next quote into its field. That is how the format is; a file written by a program that
//! does not quote its quotes is not safe to use.

use std::io::{BufRead, Result};

/// Longer fields are absent: one row cannot take all the memory there is.
pub const LONGEST: usize = 1 << 20;

/// One record, kept between calls so that nothing is allocated a row.
#[derive(Debug, Default)]
pub struct Record {
    bytes: Vec<u8>,
    /// Where each field ends in `bytes`, and whether all of it is there.
    ends: Vec<(usize, bool)>,
    /// Whether the field that is being read was cut.
    cut: bool,
}

impl Record {
    /// The field at this position; `None` when it is missing, too long or no text.
    pub fn field(&self, index: usize) -> Option<&str> {
        let &(end, whole) = self.ends.get(index)?;
        let start = if index == 0 { 0 } else { self.ends[index - 1].0 };
        std::str::from_utf8(&self.bytes[start..end])
            .ok()
            .filter(|_| whole)
    }

    /// How many fields it has.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.cut = false;
    }

    fn push(&mut self, bytes: &[u8], most: usize) {
        if self.ends.len() == most || self.cut {
            return;
        }
        let start = self.ends.last().map_or(0, |&(end, _)| end);
        if self.bytes.len() - start + bytes.len() > LONGEST {
            self.bytes.truncate(start);
            self.cut = true;
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    fn end_field(&mut self, most: usize) {
        if self.ends.len() < most {
            self.ends.push((self.bytes.len(), !self.cut));
        }
        self.cut = false;
    }
}

/// Where in a record the reader is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing of this record was seen yet.
    Before,
    /// At the beginning of a field, after a delimiter.
    Start,
    /// In a field, outside of quotes.
    Plain,
    /// In a field, inside of quotes.
    Quoted,
    /// After a quote inside of quotes: the end of them, or a doubled one.
    Quote,
}

/// Reads records one after the other.
///
/// Of any input, without being generic: what is generic is built with the crate that uses it, and as little optimised.
pub struct Records<'a> {
    input: Box<dyn BufRead + Send + 'a>,
    delimiter: u8,
    /// Fields beyond this many are dropped.
    most: usize,
}

impl<'a> Records<'a> {
    /// Of an input, from its beginning. A byte order mark is passed over.
    pub fn new(mut input: impl BufRead + Send + 'a, delimiter: u8) -> Result<Self> {
        if input.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
            input.consume(3);
        }
        Ok(Self {
            input: Box::new(input),
            delimiter,
            most: usize::MAX,
        })
    }

    /// From now on, fields beyond this many are dropped.
    pub fn limit(&mut self, fields: usize) {
        self.most = fields;
    }

    /// Reads the next record; `false` at the end.
    pub fn next(&mut self, record: &mut Record) -> Result<bool> {
        record.clear();
        let (delimiter, most) = (self.delimiter, self.most);
        let mut state = State::Before;
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                if state == State::Before {
                    return Ok(false);
                }
                record.end_field(most);
                return Ok(true);
            }
            let mut at = 0;
            while at < chunk.len() {
                let byte = chunk[at];
                let ends = byte == b'\n' || byte == b'\r';
                match state {
                    State::Before if ends => at += 1,
                    State::Before | State::Start if byte == b'"' => {
                        state = State::Quoted;
                        at += 1;
                    }
                    State::Quoted => {
                        let rest = &chunk[at..];
                        let length = rest.iter().position(|&byte| byte == b'"');
                        record.push(&rest[..length.unwrap_or(rest.len())], most);
                        at += length.map_or(rest.len(), |length| length + 1);
                        if length.is_some() {
                            state = State::Quote;
                        }
                    }
                    State::Quote if byte == b'"' => {
                        record.push(b"\"", most);
                        state = State::Quoted;
                        at += 1;
                    }
                    _ if ends => {
                        record.end_field(most);
                        self.input.consume(at + 1);
                        return Ok(true);
                    }
                    _ if byte == delimiter => {
                        record.end_field(most);
                        state = State::Start;
                        at += 1;
                    }
                    _ => {
                        let rest = &chunk[at..];
                        let length = rest
                            .iter()
                            .position(|&byte| byte == delimiter || byte == b'\n' || byte == b'\r')
                            .unwrap_or(rest.len());
                        record.push(&rest[..length], most);
                        state = State::Plain;
                        at += length;
                    }
                }
            }
            self.input.consume(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::BufReader;

    fn read_with(text: &[u8], capacity: usize, most: usize) -> Vec<Vec<Option<String>>> {
        let mut records = Records::new(BufReader::with_capacity(capacity, text), b',').unwrap();
        records.limit(most);
        let mut record = Record::default();
        let mut all = Vec::new();
        while records.next(&mut record).unwrap() {
            all.push(
                (0..record.len())
                    .map(|field| record.field(field).map(str::to_owned))
                    .collect(),
            );
        }
        all
    }

    fn read(text: &str) -> Vec<Vec<String>> {
        let small = read_with(text.as_bytes(), 5, usize::MAX);
        assert_eq!(
            small,
            read_with(text.as_bytes(), 1 << 16, usize::MAX),
            "chunks do not matter"
        );
        small
            .into_iter()
            .map(|record| record.into_iter().map(Option::unwrap).collect())
            .collect()
    }

    #[test]
    fn records_are_split() {
        assert_eq!(read("a,b\n1,2\n"), [["a", "b"], ["1", "2"]]);
        assert_eq!(read("a,b\r\n1,2"), [["a", "b"], ["1", "2"]]);
        assert_eq!(read("\n\na,\r\r,b\n\n"), [["a", ""], ["", "b"]]);
        assert_eq!(read("\u{feff}a\n1\n"), [["a"], ["1"]]);
        assert_eq!(read("é,ü\n"), [["é", "ü"]]);
        assert!(read("").is_empty());
        assert!(read("\r\n\n").is_empty());
    }

    #[test]
    fn quotes_hold_anything() {
        assert_eq!(
            read("\"a,b\nc\",\"say \"\"hi\"\"\"\n"),
            [["a,b\nc", "say \"hi\""]]
        );
        assert_eq!(read("\"\",\n"), [["", ""]]);
        assert_eq!(read("5\" pipe,x\n"), [["5\" pipe", "x"]]);
        assert_eq!(read("\"a\"b,x\n"), [["ab", "x"]]);
        assert_eq!(read("\"never closed,\nx"), [["never closed,\nx"]]);
        assert_eq!(read("\"\""), [[""]]);
    }

    #[test]
    fn ragged_long_and_broken_fields_raise_nothing() {
        let text = b"a,b\n1\n1,2,3,\"4\n5\"\n\xff\xfe,ok\n";
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            read_with(text, 7, 2),
            [
                vec![some("a"), some("b")],
                vec![some("1")],
                vec![some("1"), some("2")],
                vec![None, some("ok")],
            ]
        );
        let long = format!("{},x\n{},y\n", "a".repeat(LONGEST + 1), "b".repeat(LONGEST));
        let records = read_with(long.as_bytes(), 1000, 2);
        assert_eq!(records[0], [None, some("x")]);
        assert_eq!(records[1], [Some("b".repeat(LONGEST)), some("y")]);
    }

    proptest! {
        #[test]
        fn what_is_quoted_comes_back(rows in prop::collection::vec(prop::collection::vec("[a,\"\r\n é]{0,6}", 2..4), 1..6)) {
            let text: String = rows
                .iter()
                .map(|row| row.iter().map(|field| format!("\"{}\"", field.replace('"', "\"\""))).collect::<Vec<_>>().join(",") + "\n")
                .collect();
            prop_assert_eq!(read(&text), rows);
        }

        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(prop::sample::select(b"a,\"\r\n\xff".to_vec()), 0..60)) {
            prop_assert_eq!(read_with(&bytes, 3, 4), read_with(&bytes, 1000, 4));
        }
    }
}
