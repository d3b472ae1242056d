//! Reads records of a CSV file so that nothing in the file can raise an error, and one line spoils no other.
//!
//! The usual readers refuse a row with too many fields, or bytes that are no text. So one person's row would
//! decide whether a query fails. And if an opening quote is never closed, they begin a field that lasts to
//! the next quote. So one person's row would decide whether other people's rows are there. Here:
//!
//! - Fields are separated by the delimiter, records by a line feed, a carriage return, or both. Empty lines
//!   are no records.
//! - A field that begins with `"` lasts to the next `"` that is not doubled; `""` inside is one quote. Text
//!   between the closing quote and the delimiter is read as it is, and so is a quote in the middle of a
//!   field. The quote may be another character, or there may be none ([`Format`]).
//! - If blanks are trimmed ([`Format::trim`]), spaces and tabs around a field do not belong to it, and those
//!   inside of quotes do. A line of nothing else is empty.
//! - A record ends with its line, unless it is a *well-formed* record with line breaks inside of quotes. It
//!   is well-formed under two conditions. Every quote in it opens a field at its beginning, is doubled inside
//!   of quotes, or closes a field before a delimiter or the end of a line. And it has as many fields as the
//!   header, if that number is known ([`Records::limit`]). It may be as long as the file.
//! - If a quote is open at the end of a record's line and the record is not well-formed, the quote is a
//!   character like any other: the field is read as one without quotes, to the next delimiter. If the rest of
//!   the line is longer than [`LONGEST`](crate::csv::LONGEST) it is one field, which is absent.
//! - Fields beyond the header's are dropped; fields that are missing at the end of a record are absent.
//! - A field of more than [`LONGEST`](crate::csv::LONGEST) bytes, or that is not UTF-8, is absent.
//!
//! # One line spoils no other
//! Claim: in a file whose records are well-formed and of one line each, but for one line that may hold
//! anything, each record is a function of its own line.
//!
//! Proof: only a record that spans lines could take in another line, and it would consist of whole lines. A
//! well-formed record has an even number of quotes: an opening and a closing one for each field with quotes,
//! and pairs inside. So no well-formed record spans lines of which each is a well-formed record: if at the
//! end of the first a quote is open, its number of quotes up to there is odd, but a well-formed record's is
//! even. And none spans the one other line and some of these. If it begins with one of these, that one ends
//! with its line, as just said. If it begins with the other line, a quote is open at that line's end, and all
//! quotes before it are well-formed. So there is an odd number of quotes in that line, and with the even
//! numbers of the others the sum is odd. ∎
//!
//! It holds for every [`Format`]. The proof uses one fact about the characters: a quote is neither a
//! delimiter nor a line break, which [`Format::is_usable`] demands. Blanks around a field are no quotes, so
//! they change no number of quotes. Encodings are those in which a byte below 128 is that ASCII character and
//! nothing else (UTF-8 and the tables of 256 characters). So bytes decide where records and fields end,
//! before a byte is decoded, and decoding looks at the bytes of one field alone. UTF-16 is not among them:
//! half a character in one line would move all lines after it.
//!
//! What remains: a line with an open quote takes in its neighbours up to a line with an odd number of quotes
//! that closes it, if the result is well-formed. There are two such lines. One is a line of a second
//! malformed record, with a quote at the end of a field that has none at its beginning (`5"`). The other is a
//! line of a well-formed record with line breaks, whose text begins with a delimiter or a line break (quotes
//! before that aside), so that its opening quote can be taken for a closing one. A file can be read either
//! way then, and a correct one means the longer record.

use crate::csv::ahead::Ahead;
use crate::csv::{Format, Record};
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
    /// After a closing quote and a blank that is trimmed.
    Closed,
}

/// Reads records one after the other.
///
/// Of any input, without being generic: what is generic is built with the crate that uses it, and as little
/// optimised.
pub struct Records<'a> {
    input: Ahead<'a>,
    format: Format,
    /// Fields beyond this many are dropped, and a record that spans lines has this many.
    most: Option<usize>,
}

impl<'a> Records<'a> {
    /// Of an input, from its beginning. A byte order mark is skipped.
    ///
    /// # Errors
    /// When the input cannot be read, or no file can be read by the format ([`Format::is_usable`]).
    pub fn new(mut input: impl BufRead + Seek + Send + 'a, format: Format) -> Result<Self> {
        if !format.is_usable() {
            return Err(std::io::ErrorKind::InvalidInput.into());
        }
        if input.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
            input.consume(3);
        }
        Ok(Self {
            input: Ahead::new(input),
            format,
            most: None,
        })
    }

    /// From now on, fields beyond this many, which is how many the header has, are dropped, and only records
    /// that have this many span lines.
    pub fn limit(&mut self, fields: usize) {
        self.most = Some(fields);
    }

    /// Reads the next record; `false` at the end.
    pub fn next(&mut self, record: &mut Record) -> Result<bool> {
        let found = self.split(record)?;
        record.decode(self.format.encoding);
        Ok(found)
    }

    /// Reads the bytes of the next record.
    fn split(&mut self, record: &mut Record) -> Result<bool> {
        record.clear();
        let format = self.format;
        let (delimiter, most) = (format.delimiter, self.most.unwrap_or(usize::MAX));
        let mut state = State::Before;
        // How many fields ended, whether all quotes are where they may be, and whether the record is known to
        // go on after line breaks inside of quotes.
        let (mut ended, mut well_formed, mut spans) = (0, true, false);
        'chunks: loop {
            let chunk = self.input.fill()?;
            if chunk.is_empty() {
                match state {
                    State::Before => return Ok(false),
                    State::Quoted => record.end_unclosed(format, most),
                    State::Start | State::Plain | State::Quote | State::Closed => {
                        record.end_field(format, most);
                    }
                }
                return Ok(true);
            }
            let mut at = 0;
            while at < chunk.len() {
                let byte = chunk[at];
                let ends = ends_line(byte);
                match state {
                    State::Before if ends => at += 1,
                    State::Before | State::Start if format.trims(byte) => at += 1,
                    State::Before | State::Start if format.is_quote(byte) => {
                        state = State::Quoted;
                        at += 1;
                    }
                    State::Quoted if ends && !spans => {
                        self.input.consume(at);
                        let fields = self.most.map(|most| most.saturating_sub(ended));
                        if !well_formed || !self.input.closes(format, fields)? {
                            record.end_unclosed(format, most);
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
                            .position(|&byte| format.is_quote(byte) || ends_line(byte) && !spans)
                            .unwrap_or(rest.len());
                        record.push(&rest[..length], most);
                        at += length;
                        if chunk.get(at).is_some_and(|&byte| format.is_quote(byte)) {
                            record.keep_blanks();
                            state = State::Quote;
                            at += 1;
                        }
                    }
                    State::Quote if format.is_quote(byte) => {
                        record.push(&[byte], most);
                        state = State::Quoted;
                        at += 1;
                    }
                    State::Quote | State::Closed if format.trims(byte) => {
                        // It belongs to the field if something comes after it that is no delimiter.
                        record.push(&[byte], most);
                        state = State::Closed;
                        at += 1;
                    }
                    _ if ends => {
                        record.end_field(format, most);
                        self.input.consume(at + 1);
                        return Ok(true);
                    }
                    _ if byte == delimiter => {
                        record.end_field(format, most);
                        ended += 1;
                        state = State::Start;
                        at += 1;
                    }
                    _ => {
                        // A quote here has no meaning, and neither has text after a closing one.
                        well_formed &=
                            !format.is_quote(byte) && state != State::Quote && state != State::Closed;
                        let rest = &chunk[at..];
                        let length = rest[1..]
                            .iter()
                            .position(|&byte| byte == delimiter || format.is_quote(byte) || ends_line(byte))
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
