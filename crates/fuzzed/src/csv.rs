//! Files of records.

use files::csv::{Cells, Columns, Encoding, Format, Record, Records};
use std::io::Cursor;

/// Ways in which a file may be declared to be written.
const FORMATS: [Format; 4] = [
    Format::COMMAS,
    Format {
        delimiter: b';',
        quote: Some(b'\''),
        trim: false,
        encoding: Encoding::Windows1252,
    },
    Format {
        delimiter: b'\t',
        quote: None,
        trim: true,
        encoding: Encoding::Latin9,
    },
    // A blank that separates is not trimmed.
    Format {
        delimiter: b' ',
        quote: Some(b'"'),
        trim: true,
        encoding: Encoding::Utf8,
    },
];

/// Reads a CSV file in several formats, as records and as columns.
///
/// # Panics
/// When a reader does, or records and columns disagree, or more is read than is there.
pub fn csv(bytes: &[u8]) {
    for format in FORMATS {
        for limit in [None, Some(2)] {
            let (rows, first) = records(bytes, format, limit);
            assert_eq!(columns(bytes, format, limit), (rows, first));
        }
    }
}

fn opened(bytes: &[u8], format: Format, limit: Option<usize>) -> Records<'_> {
    let mut records =
        Records::new(Cursor::new(bytes), format).expect("a usable format, and memory can be read");
    if let Some(fields) = limit {
        records.limit(fields);
    }
    records
}

/// How many records there are, and how many bytes their first two fields have.
fn records(bytes: &[u8], format: Format, limit: Option<usize>) -> (usize, usize) {
    let mut reader = opened(bytes, format, limit);
    let mut record = Record::default();
    let (mut rows, mut first, mut all, mut fields) = (0, 0, 0, 0);
    while reader.next(&mut record).expect("memory can be read") {
        rows += 1;
        fields += record.len();
        assert!(
            limit.is_none_or(|most| record.len() <= most),
            "more fields than the limit"
        );
        let length = |field: usize| record.field(field).map_or(0, str::len);
        first += length(0) + length(1);
        all += (0..record.len()).map(length).sum::<usize>();
        assert_eq!(record.field(record.len()), None);
    }
    // Every record and every field ends at a byte of its own or at the end, and a byte is at most three of
    // UTF-8.
    assert!(rows <= bytes.len() && fields <= bytes.len() + 1 && all <= 3 * bytes.len());
    (rows, first)
}

/// The same by way of columns.
fn columns(bytes: &[u8], format: Format, limit: Option<usize>) -> (usize, usize) {
    let fields = [
        (0, Cells::Text),
        (1, Cells::Text),
        (0, Cells::DecimalComma),
        (7, Cells::Other),
    ];
    let nulls = Vec::new();
    let mut reader = Columns::new(opened(bytes, format, limit), fields, nulls);
    let (mut rows, mut first) = (0, 0);
    while let Some((arrays, more)) = reader.batch(100).expect("memory can be read") {
        rows += more;
        for array in &arrays[..2] {
            first += array.iter().flatten().map(str::len).sum::<usize>();
        }
    }
    (rows, first)
}
