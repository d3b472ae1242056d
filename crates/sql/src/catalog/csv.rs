//! How CSV files are written, as far as the curator says it.
//!
//! What is not said is the same for all files, or follows from the bytes of the header alone, which is public (`sources/header.rs`). Nothing follows from rows:
//! whether a query works, and what its columns are, would then depend on somebody's row.

use super::document::{Node, Section};
use super::toml_text::text;
use crate::Error;
use crate::values::facts::Facts;
use files::csv::{Encoding, Format};

/// How the CSV files of a table are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvFormat {
    /// What stands between fields; found in the header when not said.
    pub delimiter: Option<u8>,
    /// What fields are put in that hold delimiters or line breaks; found in the header when not said. `Some(None)`: no character has that meaning.
    pub quote: Option<Option<u8>>,
    /// Whether spaces and tabs around names and values do not belong to them. Inside of quotes they do.
    ///
    /// The names of units are trimmed like all else. The same person is then the same unit in `7` and in ` 7`: else one person would be two units, each with a
    /// bound of its own. Two people whose names differ in outer blanks alone would be one unit. What the two contribute together is bounded
    /// as one unit's, and either alone is protected as two units are, since leaving one out changes that unit's part from one bounded value to another. Who has such names writes them in quotes.
    pub trim: bool,
    /// Values that stand for NULL, in every column.
    pub nulls: Vec<String>,
    /// What bytes above 127 mean.
    pub encoding: Encoding,
    /// Where the names of the columns are.
    pub header: Header,
    /// Whether fractions begin with a comma: `1.234,5`.
    pub decimal_comma: bool,
}

/// Where the names of a file's columns are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Header {
    /// In its first line.
    FirstLine,
    /// Nowhere: the columns are those of the catalog, all of them, in that order.
    Columns,
    /// In the catalog: these, in this order.
    Names(Vec<String>),
}

impl Default for CsvFormat {
    fn default() -> Self {
        Self {
            delimiter: None,
            quote: None,
            trim: true,
            nulls: Vec::new(),
            encoding: Encoding::Utf8,
            header: Header::FirstLine,
            decimal_comma: false,
        }
    }
}

impl CsvFormat {
    /// The names of the columns of a file without a line of names; `None` where there is one.
    pub(crate) fn names(&self, columns: &[(String, Facts)]) -> Option<Vec<String>> {
        match &self.header {
            Header::FirstLine => None,
            Header::Columns => Some(columns.iter().map(|(name, _)| name.clone()).collect()),
            Header::Names(names) => Some(names.clone()),
        }
    }
}

/// The lines that declare how files are written, for a draft, as far as they are not written as most are. `tabs` says that their name ends in .tsv.
pub(crate) fn declared(format: &CsvFormat, tabs: bool) -> String {
    let mut lines = String::new();
    let usual = if tabs { b'\t' } else { b',' };
    match format.delimiter.filter(|delimiter| *delimiter != usual) {
        Some(b'\t') => lines.push_str("delimiter = \"tab\"\n"),
        Some(byte) => lines += &format!("delimiter = {}\n", text(&char::from(byte).to_string())),
        None => {}
    }
    if let Some(Some(byte)) = format.quote
        && byte != b'"'
    {
        lines += &format!("quote = {}\n", text(&char::from(byte).to_string()));
    }
    if format.encoding != Encoding::Utf8 {
        lines.push_str("encoding = \"latin1\"  # CHECK: the first line is not in UTF-8\n");
    }
    if let Header::Names(names) = &format.header {
        let names: Vec<_> = names.iter().map(|name| text(name)).collect();
        lines += &format!(
            "# FILL IN the names of all columns, in order, here and below.\nheader = [{}]\n",
            names.join(", ")
        );
    }
    lines
}

/// Reads how the files of a table are written.
pub(super) fn format(section: &mut Section<'_>, is_csv: bool) -> Result<CsvFormat, Error> {
    let mut format = CsvFormat::default();
    let mut place = None;
    let mut take = |key: &'static str| {
        let node = section.take(key);
        place = place.take().or_else(|| node.clone());
        node
    };
    let (delimiter, quote) = (take("delimiter"), take("quote"));
    let (trim, nulls, encoding) = (take("trim"), take("nulls"), take("encoding"));
    let (header, decimal) = (take("header"), take("decimal"));
    if let Some(node) = place.filter(|_| !is_csv) {
        return Err(node.wrong(
            "this is about CSV files, and the table is in none",
            "drop this key",
        ));
    }
    if let Some(node) = &delimiter {
        format.delimiter = Some(delimiter_of(node)?);
    }
    if let Some(node) = &quote {
        format.quote = Some(quote_of(node)?);
    }
    if let Some(node) = trim {
        format.trim = node.flag()?;
    }
    if let Some(node) = nulls {
        for marker in node.array()? {
            format.nulls.push(marker.text()?.to_owned());
        }
    }
    if let Some(node) = encoding {
        format.encoding = encoding_of(&node)?;
    }
    if let Some(node) = header {
        format.header = header_of(&node)?;
    }
    if let Some(node) = decimal {
        format.decimal_comma = match node.text()? {
            "." => false,
            "," => true,
            _ => {
                return Err(node.wrong(
                    "expected a point or a comma",
                    "say decimal = \",\" where a half is written 0,5",
                ));
            }
        };
    }
    let usable = Format {
        delimiter: format.delimiter.unwrap_or(b','),
        quote: format.quote.unwrap_or(None),
        ..Format::COMMAS
    };
    match quote.or(delimiter) {
        Some(node) if !usable.is_usable() => Err(node.wrong(
            "the quote and the delimiter are the same character",
            "declare two characters",
        )),
        _ => Ok(format),
    }
}

/// One ASCII character that is no line break.
fn character(node: &Node<'_>, hint: &str) -> Result<u8, Error> {
    match node.text()?.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r' | 0) => Ok(*byte),
        _ => Err(node.wrong("expected one ASCII character", hint)),
    }
}

fn delimiter_of(node: &Node<'_>) -> Result<u8, Error> {
    const HINT: &str = "say delimiter = \",\", \";\", \"|\", \" \" or \"tab\"";
    match node.text()? {
        "tab" => Ok(b'\t'),
        _ => character(node, HINT),
    }
}

fn quote_of(node: &Node<'_>) -> Result<Option<u8>, Error> {
    const HINT: &str = "say quote = \"'\" for single quotes, or \"none\" where no character has that meaning";
    match node.text()? {
        "none" => Ok(None),
        _ => character(node, HINT).map(Some),
    }
}

fn encoding_of(node: &Node<'_>) -> Result<Encoding, Error> {
    match node.text()?.to_ascii_lowercase().as_str() {
        "utf-8" | "utf8" => Ok(Encoding::Utf8),
        "latin1" | "latin-1" | "iso-8859-1" | "windows-1252" | "cp1252" => Ok(Encoding::Windows1252),
        "latin9" | "latin-9" | "iso-8859-15" => Ok(Encoding::Latin9),
        "utf-16" | "utf16" | "utf-16le" | "utf-16be" => Err(node.wrong(
            "files in UTF-16 are not read: half a character in one row would change every row after it",
            UTF_16_HINT,
        )),
        _ => Err(node.wrong(
            "there is no such encoding",
            "say \"utf-8\", \"latin1\" (which is read as windows-1252) or \"iso-8859-15\"",
        )),
    }
}

/// What to do with UTF-16.
pub(crate) const UTF_16_HINT: &str =
    "write the file in UTF-8 first: iconv -f UTF-16 -t UTF-8 old.csv > new.csv";

fn header_of(node: &Node<'_>) -> Result<Header, Error> {
    if let Ok(first_line) = node.flag() {
        return Ok(if first_line {
            Header::FirstLine
        } else {
            Header::Columns
        });
    }
    const HINT: &str = "say true where the first line names the columns, false where it is data and `columns` lists all of them in order, or list the names of all columns of the file in order";
    let Ok(elements) = node.array() else {
        return Err(node.wrong("expected true, false or a list of names", HINT));
    };
    let mut names = Vec::with_capacity(elements.len());
    let mut seen = std::collections::BTreeSet::new();
    for element in &elements {
        let name = element.name()?;
        if !seen.insert(name.to_lowercase()) {
            return Err(element.wrong("another column has this name already", HINT));
        }
        names.push(name.to_owned());
    }
    if names.is_empty() {
        return Err(node.wrong("no names", HINT));
    }
    Ok(Header::Names(names))
}
