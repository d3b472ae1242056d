//! Records of a CSV file, read so that nothing in the file can raise an error, and so that one line spoils no other.
//!
//! The usual readers refuse a row with too many fields, or bytes that are no text, so one person's row would decide whether a query fails. And they take an
//! opening quote that is never closed for the beginning of a field that lasts to the next quote, so one person's row would decide whether other
//! people's rows are there. Here:
//!
//! - Fields are separated by the delimiter, records by a line feed, a carriage return, or both. Empty lines are no records.
//! - A field that begins with `"` lasts to the next `"` that is not doubled; `""` inside is one quote. What stands between the closing quote and
//!   the delimiter is taken as it is, and so is a quote in the middle of a field.
//! - A record ends with its line, unless it is a *well-formed* record with line breaks inside of quotes. It is well-formed if every quote in it opens
//!   a field at its beginning, is doubled inside of quotes, or closes a field before a delimiter or the end of a line; if it has as many fields as the header,
//!   where that number is known ([`Records::limit`]). It may be as long as the file.
//! - A quote that is open at the end of a record's line, where the record is not well-formed, is a character as any other: the field is read as one without quotes, to the
//!   next delimiter. If the rest of the line is longer than [`LONGEST`](crate::LONGEST) it is one field, which is absent.
//! - Fields beyond the header's are dropped; fields that are missing at the end of a record are absent.
//! - A field of more than [`LONGEST`](crate::LONGEST) bytes, or that is not UTF-8, is absent.
//!
//! # One line spoils no other
//! Claim: in a file whose records are well-formed and of one line each, but for one line that may hold anything, each record is a function of its own line.
//!
//! Proof: only a record that spans lines could take in another line, and it would consist of whole lines. A well-formed record has an even number of quotes: an
//! opening and a closing one for each field with quotes, and pairs inside. So no well-formed record spans lines of which each is a well-formed record: if
//! at the end of the first a quote is open, its number of quotes up to there is odd, but a well-formed record's is even. And none spans the one other line and some of these: if it begins with one of these, that
//! one ends with its line, as just said. If it begins with the other line, a quote is open at that line's end, and all quotes before it are well-formed, so there is an odd number of
//! quotes in that line, and with the even numbers of the others the sum is odd. ∎
//!
//! What remains: a line with an open quote takes in its neighbours up to a line with an odd number of quotes that closes it, if the result is well-formed. There are two such
//! lines: one of a second malformed record, with a quote at the end of a field that has none at its beginning (`5"`); and one of a well-formed record with line
//! breaks, whose text begins with a delimiter or a line break (quotes before that aside), so that its opening quote can be taken for a closing one. A file can be read
//! either way then, and a correct one means the longer record.

use crate::Record;
use crate::ahead::Ahead;
use std::io::{BufRead, Result, Seek};

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
    input: Ahead<'a>,
    delimiter: u8,
    /// Fields beyond this many are dropped, and a record that spans lines has so many.
    most: Option<usize>,
}

impl<'a> Records<'a> {
    /// Of an input, from its beginning. A byte order mark is passed over.
    pub fn new(mut input: impl BufRead + Seek + Send + 'a, delimiter: u8) -> Result<Self> {
        if input.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
            input.consume(3);
        }
        Ok(Self {
            input: Ahead::new(input),
            delimiter,
            most: None,
        })
    }

    /// From now on, fields beyond this many, which is how many the header has, are dropped, and only records that have so many span lines.
    pub fn limit(&mut self, fields: usize) {
        self.most = Some(fields);
    }

    /// Reads the next record; `false` at the end.
    pub fn next(&mut self, record: &mut Record) -> Result<bool> {
        record.clear();
        let (delimiter, most) = (self.delimiter, self.most.unwrap_or(usize::MAX));
        let mut state = State::Before;
        // How many fields ended, whether all quotes are where they may be, and whether the record is known to go on after line breaks inside of quotes.
        let (mut ended, mut well_formed, mut spans) = (0, true, false);
        'chunks: loop {
            let chunk = self.input.fill()?;
            if chunk.is_empty() {
                match state {
                    State::Before => return Ok(false),
                    State::Quoted => record.end_unclosed(delimiter, most),
                    State::Start | State::Plain | State::Quote => record.end_field(most),
                }
                return Ok(true);
            }
            let mut at = 0;
            while at < chunk.len() {
                let byte = chunk[at];
                let ends = ends_line(byte);
                match state {
                    State::Before if ends => at += 1,
                    State::Before | State::Start if byte == b'"' => {
                        state = State::Quoted;
                        at += 1;
                    }
                    State::Quoted if ends && !spans => {
                        self.input.consume(at);
                        let fields = self.most.map(|most| most.saturating_sub(ended));
                        if !well_formed || !self.input.closes(delimiter, fields)? {
                            record.end_unclosed(delimiter, most);
                            self.input.consume(1);
                            return Ok(true);
                        }
                        spans = true;
                        continue 'chunks;
                    }
                    State::Quoted => {
                        let rest = &chunk[at..];
                        let length = rest
                            .iter()
                            .position(|&byte| byte == b'"' || ends_line(byte) && !spans)
                            .unwrap_or(rest.len());
                        record.push(&rest[..length], most);
                        at += length;
                        if chunk.get(at) == Some(&b'"') {
                            state = State::Quote;
                            at += 1;
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
                        ended += 1;
                        state = State::Start;
                        at += 1;
                    }
                    _ => {
                        // A quote here has no meaning, and neither has what stands after a closing one.
                        well_formed &= byte != b'"' && state != State::Quote;
                        let rest = &chunk[at..];
                        let length = rest[1..]
                            .iter()
                            .position(|&byte| byte == delimiter || byte == b'"' || ends_line(byte))
                            .map_or(rest.len(), |length| length + 1);
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

fn ends_line(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

#[cfg(test)]
mod tests;
