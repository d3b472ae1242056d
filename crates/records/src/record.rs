//! One record.

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

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.cut = false;
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

    pub(crate) fn end_field(&mut self, most: usize) {
        if self.ends.len() < most {
            self.ends.push((self.bytes.len(), !self.cut));
        }
        self.cut = false;
    }

    /// Ends the record in a field whose opening quote nothing closes: from that quote on the line is read again, and the quote is a character as any other.
    pub(crate) fn end_unclosed(&mut self, delimiter: u8, most: usize) {
        if self.ends.len() < most && !self.cut {
            // What was read inside of quotes: each quote in it stands for two. A field that begins with such pairs is closed by them, so every field ends here.
            let inside = self.bytes.split_off(self.start());
            self.push(b"\"", most);
            let mut place = Place::Plain;
            for byte in inside {
                place = match (place, byte) {
                    (Place::Start, b'"') => Place::Pairs,
                    (Place::Pairs, b'"') => {
                        self.push(b"\"", most);
                        Place::Pairs
                    }
                    (Place::Plain, b'"') => {
                        self.push(b"\"\"", most);
                        Place::Plain
                    }
                    _ if byte == delimiter => {
                        self.end_field(most);
                        Place::Start
                    }
                    _ => {
                        self.push(&[byte], most);
                        Place::Plain
                    }
                };
            }
        }
        self.end_field(most);
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
