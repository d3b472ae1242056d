//! Input of which one may look ahead.

use crate::SPAN;
use std::io::{BufRead, Result};

/// How much is looked at in one step.
const STEP: usize = 1 << 12;

/// Bytes that are read one after the other, and looked at before they are read where a quote is open at the end of a line.
pub(crate) struct Ahead<'a> {
    input: Box<dyn BufRead + Send + 'a>,
    /// Bytes that were looked at already. They come before those of `input`.
    seen: Vec<u8>,
    /// How many of these were read since.
    read: usize,
}

/// Where in a record that spans lines the search for its end is.
#[derive(Clone, Copy)]
enum State {
    /// At the beginning of a field.
    Start,
    /// In a field without quotes.
    Plain,
    /// Inside of quotes.
    Quoted,
    /// After a quote inside of quotes: the end of them, or a doubled one.
    Quote,
}

impl<'a> Ahead<'a> {
    pub(crate) fn new(input: impl BufRead + Send + 'a) -> Self {
        Self {
            input: Box::new(input),
            seen: Vec::new(),
            read: 0,
        }
    }

    /// The next bytes; none at the end.
    #[inline]
    pub(crate) fn fill(&mut self) -> Result<&[u8]> {
        if self.read < self.seen.len() {
            Ok(&self.seen[self.read..])
        } else {
            self.input.fill_buf()
        }
    }

    /// So many of the bytes that `fill` gave were read.
    #[inline]
    pub(crate) fn consume(&mut self, bytes: usize) {
        if self.read < self.seen.len() {
            self.read += bytes;
        } else {
            self.input.consume(bytes);
        }
    }

    /// Whether what comes next, from inside of quotes, is the rest of a well-formed record that has so many fields from here on, where that is known.
    ///
    /// No byte is scanned by more searches than a record has fields. Take two lines at whose ends a quote is open, and a search that passes through both. In
    /// the second line the quotes that the search sees stand in pairs, unless it leaves the field there. If they all stood in pairs, then a field that begins with
    /// some of them would also be closed by them, and no quote would be open at the end of that line. So every such line takes a further field.
    pub(crate) fn closes(&mut self, delimiter: u8, fields: Option<usize>) -> Result<bool> {
        let mut state = State::Quoted;
        let mut found = 1;
        let mut at = 0;
        loop {
            let Some(byte) = self.look(at)? else {
                // The end of the file ends a line.
                return Ok(!matches!(state, State::Quoted) && fields.is_none_or(|fields| fields == found));
            };
            let ends = byte == b'\n' || byte == b'\r';
            state = match (state, byte) {
                (State::Quoted, b'"') => State::Quote,
                (State::Quoted, _) => State::Quoted,
                (State::Start | State::Quote, b'"') => State::Quoted,
                (State::Plain, b'"') => return Ok(false),
                _ if ends => return Ok(fields.is_none_or(|fields| fields == found)),
                _ if byte == delimiter => {
                    found += 1;
                    State::Start
                }
                (State::Quote, _) => return Ok(false),
                (State::Start | State::Plain, _) => State::Plain,
            };
            at += 1;
            if at > SPAN || fields.is_some_and(|fields| found > fields) {
                return Ok(false);
            }
        }
    }

    /// The byte so many further on; `None` beyond the end.
    fn look(&mut self, ahead: usize) -> Result<Option<u8>> {
        while self.read + ahead >= self.seen.len() {
            self.seen.drain(..self.read);
            self.read = 0;
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let length = chunk.len().min(STEP);
            self.seen.extend_from_slice(&chunk[..length]);
            self.input.consume(length);
        }
        Ok(Some(self.seen[self.read + ahead]))
    }
}
