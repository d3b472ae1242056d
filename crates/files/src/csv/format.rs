//! How a file of records is written.

/// How a file of records is written. Each of it holds for the whole file, and is known before the first row
/// is read.
/// ```
/// use files::csv::{Encoding, Format, Record, Records};
/// use std::io::Cursor;
///
/// let semicolons = Format { delimiter: b';', encoding: Encoding::Windows1252, ..Format::COMMAS };
/// assert!(semicolons.is_usable());
/// let mut records = Records::new(Cursor::new(b"1,5;M\xfcnchen\n"), semicolons)?;
/// let mut record = Record::default();
/// records.next(&mut record)?;
/// assert_eq!((record.field(0), record.field(1)), (Some("1,5"), Some("München")));
/// // A line break cannot separate fields.
/// assert!(!Format { delimiter: b'\n', ..Format::COMMAS }.is_usable());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The character between two fields.
    pub delimiter: u8,
    /// The quote around a field that holds delimiters, line breaks or outer blanks; `None` if no character
    /// has that meaning.
    pub quote: Option<u8>,
    /// Whether spaces and tabs around a field do not belong to it. Inside of quotes they do.
    pub trim: bool,
    /// What bytes of 128 and above mean.
    pub encoding: Encoding,
}

impl Format {
    /// Fields between commas, in double quotes where needed, in UTF-8, and blanks around them belong to
    /// nobody.
    pub const COMMAS: Self = Self {
        delimiter: b',',
        quote: Some(b'"'),
        trim: true,
        encoding: Encoding::Utf8,
    };

    /// Whether files can be read so: the delimiter and the quote are two ASCII characters, neither a line
    /// break.
    pub fn is_usable(self) -> bool {
        let usable = |byte: u8| byte.is_ascii() && byte != b'\n' && byte != b'\r' && byte != 0;
        usable(self.delimiter)
            && self
                .quote
                .is_none_or(|quote| usable(quote) && quote != self.delimiter)
    }

    /// Whether this byte is a quote.
    #[inline]
    pub(crate) fn is_quote(self, byte: u8) -> bool {
        self.quote == Some(byte)
    }

    /// Whether this byte does not belong to the field that it stands at the beginning or the end of.
    #[inline]
    pub(crate) fn trims(self, byte: u8) -> bool {
        self.trim && (byte == b' ' || byte == b'\t') && byte != self.delimiter && !self.is_quote(byte)
    }
}

/// What bytes of 128 and above mean. Below, each encoding is ASCII: that is what records and fields are
/// distinguished by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8. A field that is not is absent.
    #[default]
    Utf8,
    /// Windows-1252, which is what files mean that are said to be in ISO 8859-1 (Latin-1). Every byte is a
    /// character.
    Windows1252,
    /// ISO 8859-15 (Latin-9): Latin-1 with the euro sign. Every byte is a character.
    Latin9,
}

/// The characters 0x80 to 0x9F of Windows-1252; the five that it leaves open are the control characters of
/// Latin-1.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', //
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Where ISO 8859-15 differs from Latin-1.
const LATIN_9: [(u8, char); 8] = [
    (0xa4, '€'),
    (0xa6, 'Š'),
    (0xa8, 'š'),
    (0xb4, 'Ž'),
    (0xb8, 'ž'),
    (0xbc, 'Œ'),
    (0xbd, 'œ'),
    (0xbe, 'Ÿ'),
];

impl Encoding {
    /// The character of one byte.
    fn character(self, byte: u8) -> char {
        match (self, byte) {
            (Self::Windows1252, 0x80..=0x9f) => WINDOWS_1252[usize::from(byte - 0x80)],
            (Self::Latin9, _) => LATIN_9
                .iter()
                .find(|(other, _)| *other == byte)
                .map_or(char::from(byte), |(_, character)| *character),
            _ => char::from(byte),
        }
    }

    /// Adds these bytes as UTF-8. Total: every byte of a table of 256 is a character, and UTF-8 is taken as
    /// it is.
    pub(crate) fn decode(self, bytes: &[u8], decoded: &mut Vec<u8>) {
        if self == Self::Utf8 {
            decoded.extend_from_slice(bytes);
            return;
        }
        for &byte in bytes {
            let mut character = [0; 4];
            decoded.extend_from_slice(self.character(byte).encode_utf8(&mut character).as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_a_character() {
        let all: Vec<u8> = (0..=255).collect();
        for encoding in [Encoding::Windows1252, Encoding::Latin9] {
            let mut decoded = Vec::new();
            encoding.decode(&all, &mut decoded);
            let text = String::from_utf8(decoded).unwrap();
            assert_eq!(text.chars().count(), 256);
            let different: std::collections::BTreeSet<char> = text.chars().collect();
            assert_eq!(different.len(), 256);
            assert!(text.is_char_boundary(128) && text[..128].is_ascii());
        }
        let decoded = |encoding: Encoding, bytes: &[u8]| {
            let mut decoded = Vec::new();
            encoding.decode(bytes, &mut decoded);
            String::from_utf8(decoded).unwrap()
        };
        assert_eq!(
            decoded(Encoding::Windows1252, b"M\xfcnchen \x80\x96"),
            "München €–"
        );
        assert_eq!(decoded(Encoding::Latin9, b"M\xfcnchen \xa4"), "München €");
    }

    #[test]
    fn formats_that_cannot_be_reported_apart_are_none() {
        let with = |delimiter, quote| Format {
            delimiter,
            quote,
            ..Format::COMMAS
        };
        assert!(with(b'\t', None).is_usable() && with(b';', Some(b'\'')).is_usable());
        for (delimiter, quote) in [
            (b'"', Some(b'"')),
            (b'\n', None),
            (b',', Some(b'\r')),
            (0xe9, None),
            (b',', Some(0xab)),
            (0, None),
        ] {
            assert!(!with(delimiter, quote).is_usable());
            assert!(crate::csv::Records::new(std::io::Cursor::new(""), with(delimiter, quote)).is_err());
        }
    }
}
