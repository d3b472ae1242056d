//! One record.

use crate::csv::{Encoding, Format};

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
    /// Up to here blanks stand inside of quotes, and are not trimmed.
    kept: usize,
    /// Where a decoded record is written, kept for its memory.
    decoded: Vec<u8>,
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

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.cut = false;
        self.kept = 0;
    }

    /// Blanks that were read of this field belong to it.
    pub(crate) fn keep_blanks(&mut self) {
        self.kept = self.bytes.len();
    }

    /// The bytes of each field as UTF-8.
    pub(crate) fn decode(&mut self, encoding: Encoding) {
        if encoding == Encoding::Utf8 || self.bytes.is_ascii() {
            return;
        }
        self.decoded.clear();
        let mut start = 0;
        for (end, _) in &mut self.ends {
            encoding.decode(&self.bytes[start..*end], &mut self.decoded);
            start = std::mem::replace(end, self.decoded.len());
        }
        std::mem::swap(&mut self.bytes, &mut self.decoded);
    }

    /// Adds to the field that is being read; fields beyond `most` are dropped.
    pub(crate) fn push(&mut self, bytes: &[u8], most: usize) {
        if self.ends.len() == most || self.cut {
            return;
        }
        let start = self.start();
        if self.bytes.len() - start + bytes.len() > LONGEST {
            self.bytes.truncate(start);
            self.cut = true;
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    pub(crate) fn end_field(&mut self, format: Format, most: usize) {
        if self.ends.len() < most {
            let first = self.kept.max(self.start());
            while self.bytes.len() > first && self.bytes.last().is_some_and(|&byte| format.trims(byte)) {
                self.bytes.pop();
            }
            self.ends.push((self.bytes.len(), !self.cut));
        }
        self.cut = false;
    }

    /// Ends the record in a field whose opening quote nothing closes: from that quote on the line is read
    /// again, and the quote is a character as any other.
    pub(crate) fn end_unclosed(&mut self, format: Format, most: usize) {
        if let Some(quote) = format.quote
            && self.ends.len() < most
            && !self.cut
        {
            // What was read inside of quotes: each quote in it stands for two. A field that begins with such
            // pairs is closed by them, so every field ends here.
            let inside = self.bytes.split_off(self.start());
            self.kept = self.start();
            self.push(&[quote], most);
            let mut place = Place::Plain;
            for byte in inside {
                place = match place {
                    Place::Start if byte == quote => {
                        self.keep_blanks();
                        Place::Pairs
                    }
                    Place::Pairs if byte == quote => {
                        self.push(&[quote], most);
                        self.keep_blanks();
                        Place::Pairs
                    }
                    Place::Plain if byte == quote => {
                        self.push(&[quote, quote], most);
                        Place::Plain
                    }
                    _ if byte == format.delimiter => {
                        self.end_field(format, most);
                        Place::Start
                    }
                    Place::Start if format.trims(byte) => Place::Start,
                    _ => {
                        self.push(&[byte], most);
                        Place::Plain
                    }
                };
            }
        }
        self.end_field(format, most);
    }

    /// Where the field that is being read begins.
    fn start(&self) -> usize {
        self.ends.last().map_or(0, |&(end, _)| end)
    }
}

/// Where in a field that is read again.
enum Place {
    /// At its beginning.
    Start,
    /// In the quotes that it begins with.
    Pairs,
    /// After them, or in a field that begins with none.
    Plain,
}
