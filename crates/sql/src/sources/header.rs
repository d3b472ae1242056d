//! The first line of a CSV file: the names of its columns, and how the file is written.
//!
//! The line is public: the catalog repeats the names in it. So delimiter and quote may be derived from its bytes, and from no others. In a file without such a line
//! nothing is derived from bytes: what the catalog does not say is as in most files.

use crate::Error;
use crate::catalog::{CsvFormat, Header, Table, UTF_16_HINT};
use files::csv::{Encoding, Format, Record, Records};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

const CHUNK: usize = 1 << 18;
/// A first line that is longer is looked at so far.
const LONGEST_LINE: u64 = 1 << 20;
/// What may stand between the names of a header, the likeliest first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// A file that is open behind its names.
pub(super) struct Opened {
    pub(super) records: Records<'static>,
    /// The names of its columns; `None` where its first line is none of names.
    pub(super) names: Option<Vec<String>>,
}

/// Opens a file and reads its header, if it has one.
pub(super) fn open(file: &Path, table: &Table) -> std::io::Result<Opened> {
    let declared = &table.csv;
    let known = declared.names(&table.columns);
    let first = match known {
        None => first_line(file)?,
        Some(_) => Vec::new(),
    };
    let input = BufReader::with_capacity(CHUNK, File::open(file)?);
    let mut records = Records::new(input, format(declared, file, &first))?;
    let names = match known {
        Some(names) => Some(names),
        None => {
            let mut record = Record::default();
            match records.next(&mut record)? {
                true => names(&record),
                false => None,
            }
        }
    };
    records.limit(names.as_ref().map_or(0, Vec::len));
    Ok(Opened { records, names })
}

/// The names of a file's columns. `what` is what errors call the table.
pub(super) fn header(what: &str, file: &Path, table: &Table) -> Result<Vec<String>, Error> {
    let wrong = |error: std::io::Error| Error::File {
        what: format!("{} cannot be read", file.display()),
        why: error.kind(),
        hint: "check that it is a file and that you may read it".to_owned(),
    };
    let known = table.csv.names(&table.columns);
    // Where names are declared, the first bytes are somebody's row, and decide nothing.
    if known.is_none() && matches!(mark(file).map_err(wrong)?, [0xff, 0xfe] | [0xfe, 0xff]) {
        return Err(Error::catalog(
            format!("{what}: a file begins as files in UTF-16 do"),
            UTF_16_HINT,
        ));
    }
    if known.is_none() && first_line(file).map_err(wrong)?.is_empty() {
        return Err(Error::catalog(
            format!("{what}: a file is empty"),
            "the first line of a CSV file names its columns",
        ));
    }
    // The first line may be data, so no name is reported before the catalog has named it.
    let names = open(file, table).map_err(wrong)?.names.ok_or_else(|| {
        Error::catalog(
            format!("{what}: a name in the first line is empty or is no text"),
            "the first line of a CSV file names its columns; say header = false where it is data, and encoding = \"latin1\" where it is not in UTF-8",
        )
    })?;
    let mut sorted: Vec<_> = names.iter().map(|name| name.to_lowercase()).collect();
    sorted.sort();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Error::catalog(
            format!("{what}: two columns have the same name in the first line"),
            "the first line of a CSV file names its columns, each differently; say header = false where it is data",
        ));
    }
    Ok(names)
}

/// How the files of a source are written, as a draft of a catalog declares it: the delimiter and the quote that the first line of the first file shows, and its encoding. Without a header that line is somebody's, and
/// tells of how many columns the file has; they are then called `column_1` and so on.
///
/// # Errors
/// When there is no such file.
pub fn written(path: &Path, has_header: bool) -> Result<CsvFormat, Error> {
    let wrong = |error: std::io::Error| Error::File {
        what: format!("{} cannot be read", path.display()),
        why: error.kind(),
        hint: "check that it is a file and that you may read it".to_owned(),
    };
    let files = super::files::files(path, &super::delimited::EXTENSIONS)?;
    let file = &files[0];
    let first = first_line(file).map_err(wrong)?;
    let found = format(&CsvFormat::default(), file, &first);
    // Files of a directory may be written differently, and each header tells how.
    let all_alike = files.len() == 1 || !has_header;
    let mut written = CsvFormat {
        delimiter: all_alike.then_some(found.delimiter),
        quote: all_alike.then_some(found.quote),
        ..CsvFormat::default()
    };
    if std::str::from_utf8(&first).is_err() {
        written.encoding = Encoding::Windows1252;
    }
    if !has_header {
        let mut record = Record::default();
        let mut records = Records::new(std::io::Cursor::new(&first), found).map_err(wrong)?;
        records.next(&mut record).map_err(wrong)?;
        let names = (1..=record.len()).map(|number| format!("column_{number}"));
        written.header = Header::Names(names.collect());
    }
    Ok(written)
}

/// How this file is written: as declared, else as its first line looks.
pub(super) fn format(declared: &CsvFormat, file: &Path, first: &[u8]) -> Format {
    let quote = declared.quote.unwrap_or_else(|| Some(quote(first)));
    let delimiter = declared.delimiter.unwrap_or_else(|| {
        let tabs = file.extension().is_some_and(|extension| extension == "tsv");
        delimiter(first, quote).unwrap_or(if tabs { b'\t' } else { b',' })
    });
    Format {
        delimiter,
        // One that is found is not taken where it is the delimiter that was declared.
        quote: quote.filter(|quote| *quote != delimiter),
        trim: declared.trim,
        encoding: declared.encoding,
    }
}

/// The quote of a header: a single one where its names are in such, else the double one.
fn quote(first: &[u8]) -> u8 {
    let line = first.trim_ascii();
    let quoted = line.len() > 1 && line.starts_with(b"'") && line.ends_with(b"'") && !line.contains(&b'"');
    if quoted { b'\'' } else { b'"' }
}

/// The delimiter that a header has most of, outside of quotes.
fn delimiter(first: &[u8], quote: Option<u8>) -> Option<u8> {
    let mut found = [0u32; DELIMITERS.len()];
    let mut quoted = false;
    for &byte in first {
        if Some(byte) == quote {
            quoted = !quoted;
        }
        if let Some(which) = DELIMITERS
            .iter()
            .position(|&known| known == byte)
            .filter(|_| !quoted)
        {
            found[which] += 1;
        }
    }
    let most = found.into_iter().max().filter(|&most| most > 0)?;
    let which = found.iter().position(|&number| number == most)?;
    Some(DELIMITERS[which])
}

/// The bytes of the first line that is not empty, without the mark of UTF-8.
pub(super) fn first_line(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut input = BufReader::new(File::open(file)?).take(LONGEST_LINE);
    let mut line = Vec::new();
    let mut first = true;
    loop {
        let chunk = input.fill_buf()?;
        if chunk.is_empty() {
            return Ok(line);
        }
        if std::mem::take(&mut first) && chunk.starts_with(b"\xef\xbb\xbf") {
            input.consume(3);
            continue;
        }
        let byte = chunk[0];
        input.consume(1);
        match byte {
            b'\n' | b'\r' if line.trim_ascii().is_empty() => line.clear(),
            b'\n' | b'\r' => return Ok(line),
            _ => line.push(byte),
        }
    }
}

/// The first two bytes of a file.
fn mark(file: &Path) -> std::io::Result<[u8; 2]> {
    let mut bytes = [0; 2];
    let mut read = 0;
    let mut input = File::open(file)?;
    while read < bytes.len() {
        match input.read(&mut bytes[read..])? {
            0 => break,
            more => read += more,
        }
    }
    Ok(bytes)
}

/// Names are treated as values are: blanks around them belong to them inside of quotes, and where blanks are not trimmed.
fn names(record: &Record) -> Option<Vec<String>> {
    (0..record.len())
        .map(|index| {
            let name = record.field(index)?;
            (!name.trim().is_empty()).then(|| name.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_shows_how_it_is_written() {
        let found = |line: &str, file: &str| {
            let format = format(&CsvFormat::default(), Path::new(file), line.as_bytes());
            (format.delimiter as char, format.quote.map(char::from))
        };
        let double = Some('"');
        assert_eq!(found("a,b,c", "x.csv"), (',', double));
        assert_eq!(found("a;b;c", "x.csv"), (';', double));
        assert_eq!(found("a\tb", "x.csv"), ('\t', double));
        assert_eq!(found("a|b|c", "x.csv"), ('|', double));
        assert_eq!(found("\"x, y, z\";b", "x.csv"), (';', double));
        assert_eq!(found("'x, y, z';'b'", "x.csv"), (';', Some('\'')));
        assert_eq!(found("a,b;c", "x.csv"), (',', double), "the likelier of two");
        assert_eq!(found("a,b", "x.tsv"), (',', double));
        assert_eq!(found("a", "x.tsv"), ('\t', double));
        assert_eq!(found("a", "x.csv"), (',', double));
        assert_eq!(found("driver's age,b", "x.csv"), (',', double));
        // What is declared is not looked for.
        let declared = CsvFormat {
            delimiter: Some(b','),
            quote: Some(None),
            ..CsvFormat::default()
        };
        let format = format(&declared, Path::new("x.csv"), b"'a;b;c';'d'");
        assert_eq!((format.delimiter, format.quote), (b',', None));
    }
}
