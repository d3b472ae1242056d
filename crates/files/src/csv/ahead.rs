//! Input that allows looking ahead.

use crate::csv::Format;
use std::io::{BufRead, Result, Seek};

/// What records are read from: looking ahead means going on, and back again.
pub(crate) trait Input: BufRead + Seek + Send {}

impl<T: BufRead + Seek + Send> Input for T {}

/// Bytes that are read one after the other, and looked at before they are read where a quote is open at the
/// end of a line.
pub(crate) struct Ahead<'a> {
    input: Box<dyn Input + 'a>,
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
    /// After a closing quote and a blank that is trimmed.
    Closed,
}

impl<'a> Ahead<'a> {
    pub(crate) fn new(input: impl BufRead + Seek + Send + 'a) -> Self {
        Self {
            input: Box::new(input),
        }
    }

    /// The next bytes; none at the end.
    #[inline]
    pub(crate) fn fill(&mut self) -> Result<&[u8]> {
        self.input.fill_buf()
    }

    /// This many of the bytes that `fill` gave were read.
    #[inline]
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.input.consume(bytes);
    }

    /// Whether what comes next, from inside of quotes, is the rest of a well-formed record that has this many
    /// fields from here on, if that is known.
    ///
    /// No byte is scanned by more searches than a record has fields. Take two lines at whose ends a quote is
    /// open, and a search that passes through both. In the second line the quotes that the search sees stand
    /// in pairs, unless it leaves the field there. If they all stood in pairs, then a field that begins with
    /// some of them, blanks that are trimmed aside, would also be closed by them, and no quote would be open
    /// at the end of that line. So every such line takes a further field. Nothing is kept of what is looked
    /// at, so that a record may be as long as the file.
    pub(crate) fn closes(&mut self, format: Format, fields: Option<usize>) -> Result<bool> {
        let mut seen = 0;
        let closes = self.search(format, fields, &mut seen);
        let back = i64::try_from(seen).map_err(std::io::Error::other)?;
        self.input.seek_relative(-back)?;
        closes
    }

    /// The search itself; `seen` is how many bytes it has passed.
    fn search(&mut self, format: Format, fields: Option<usize>, seen: &mut u64) -> Result<bool> {
        let mut state = State::Quoted;
        let mut found = 1;
        let enough = |found: usize| fields.is_none_or(|fields| fields == found);
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                // The end of the file ends a line.
                return Ok(!matches!(state, State::Quoted) && enough(found));
            }
            for &byte in chunk {
                let ends = byte == b'\n' || byte == b'\r';
                let (quote, blank) = (format.is_quote(byte), format.trims(byte));
                state = match state {
                    State::Quoted if quote => State::Quote,
                    State::Quoted => State::Quoted,
                    State::Start | State::Quote if quote => State::Quoted,
                    State::Plain | State::Closed if quote => return Ok(false),
                    _ if ends => return Ok(enough(found)),
                    _ if byte == format.delimiter => {
                        found += 1;
                        State::Start
                    }
                    State::Start if blank => State::Start,
                    State::Quote | State::Closed if blank => State::Closed,
                    State::Quote | State::Closed => return Ok(false),
                    State::Start | State::Plain => State::Plain,
                };
                if fields.is_some_and(|fields| found > fields) {
                    return Ok(false);
                }
            }
            let length = chunk.len();
            self.input.consume(length);
            *seen += length as u64;
        }
    }
}
