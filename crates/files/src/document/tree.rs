//! A TOML document as tables whose keys are taken one by one.

use super::{Mistake, Place, looks_like_a_key, nearly};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What is wrong where a table has a key twice, which is also what the parser says of it.
pub const DUPLICATE_KEY: &str = "duplicate key";

/// A document, and where its lines begin.
#[derive(Debug)]
pub struct Document<'d> {
    table: Spanned<DeTable<'d>>,
    lines: Lines,
}

/// The bytes at which lines after the first begin.
#[derive(Debug)]
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        let after = |(at, byte): (usize, u8)| (byte == b'\n').then_some(at + 1);
        Self(text.bytes().enumerate().filter_map(after).collect())
    }

    /// The number of the line in which this byte is.
    pub(super) fn line(&self, at: usize) -> usize {
        self.0.partition_point(|&start| start <= at) + 1
    }
}

/// A table of the document, of which each key is taken once; what nobody took is a mistake.
#[derive(Debug)]
pub struct Section<'d> {
    place: Place,
    entries: Vec<Node<'d>>,
    /// The keys that were asked for.
    known: Vec<&'static str>,
    /// Whether one of them was there, so that the table is surely what it should be.
    recognized: bool,
}

/// A value of the document, its place, and the key that leads to it.
#[derive(Clone, Debug)]
pub struct Node<'d> {
    lines: &'d Lines,
    place: Place,
    key: &'d str,
    value: &'d DeValue<'d>,
}

impl<'d> Document<'d> {
    /// Parses the text.
    pub fn parse(text: &'d str) -> Result<Self, Mistake> {
        let lines = Lines::of(text);
        match DeTable::parse(text) {
            Ok(table) => Ok(Self { table, lines }),
            Err(error) => {
                let line = lines.line(error.span().map_or(0, |span| span.start));
                let path = String::new();
                if error.message() == DUPLICATE_KEY {
                    return Err(Place { line, path }.wrong(
                        DUPLICATE_KEY,
                        "keep one of the two; tables of which there may be several have two brackets, as `[[table]]`",
                    ));
                }
                // The parser's other words name what it expected and never quote the text, but nothing holds
                // them to that.
                Err(Place { line, path }.wrong(
                    "this is not TOML",
                    "a document is made of lines such as `key = \"value\"` and headers such as `[table]`",
                ))
            }
        }
    }

    /// The whole document as a table.
    pub fn root(&'d self) -> Section<'d> {
        let place = Place {
            line: 1,
            path: String::new(),
        };
        Section::of(&self.lines, place, self.table.get_ref())
    }
}

impl<'d> Section<'d> {
    /// The entries of a table in the order of the text.
    fn of(lines: &'d Lines, place: Place, table: &'d DeTable<'d>) -> Self {
        let mut found: Vec<_> = table.iter().collect();
        found.sort_by_key(|(key, _)| key.span().start);
        let node = |(key, value): (&'d Spanned<_>, &'d Spanned<DeValue<'d>>)| {
            let (at, key): (usize, &'d std::borrow::Cow<'d, str>) = (key.span().start, key.get_ref());
            Node {
                lines,
                place: place.below(lines.line(at), key),
                key,
                value: value.get_ref(),
            }
        };
        Self {
            entries: found.into_iter().map(node).collect(),
            place,
            known: Vec::new(),
            recognized: false,
        }
    }

    /// Where it begins.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The value of this key, if it is there.
    pub fn take(&mut self, key: &'static str) -> Option<Node<'d>> {
        self.known.push(key);
        let at = self.entries.iter().position(|node| node.key == key)?;
        self.recognized = true;
        Some(self.entries.remove(at))
    }

    /// The value of this key, which must be there.
    pub fn need(&mut self, key: &'static str, hint: &str) -> Result<Node<'d>, Mistake> {
        if let Some(node) = self.take(key) {
            return Ok(node);
        }
        let missing = format!("`{key}` is missing");
        // What is nearly a key is surely meant as one, and is no data.
        let meant = |node: &&Node<'_>| looks_like_a_key(node.key) && nearly(node.key, key);
        Err(match self.entries.iter().find(meant) {
            Some(node) => {
                let hint = format!(
                    "line {} says `{}`: did you mean `{key}`?",
                    node.place.line, node.key
                );
                self.place.wrong(missing, hint)
            }
            None => self.place.wrong(missing, hint),
        })
    }

    /// All entries, where the keys are names that the writer chose.
    pub fn named(self) -> Vec<Node<'d>> {
        self.entries
    }

    /// Checks that every key was taken.
    pub fn finish(self) -> Result<(), Mistake> {
        let Some(node) = self.entries.first() else {
            return Ok(());
        };
        let expected = format!("expected one of {}", self.known.join(", "));
        let meant = looks_like_a_key(node.key)
            .then(|| self.known.iter().find(|known| nearly(node.key, known)))
            .flatten();
        // Nothing is repeated of a table without a single known key, or of a word that does not even look
        // like a key: it may be data.
        let what = if meant.is_some() || (self.recognized && looks_like_a_key(node.key)) {
            format!("there is no key `{}` here", node.key)
        } else {
            "there is no such key here".to_owned()
        };
        Err(node.wrong(
            what,
            match meant {
                Some(meant) => format!("did you mean `{meant}`? {expected}"),
                None => expected,
            },
        ))
    }
}

impl<'d> Node<'d> {
    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The number of its line.
    pub fn line(&self) -> usize {
        self.place.line
    }

    /// The key that leads to it; of an element of a list, the key of the list.
    pub fn key(&self) -> &'d str {
        self.key
    }

    /// The mistake here, and what to do about it.
    pub fn wrong(&self, what: impl Into<String>, hint: impl Into<String>) -> Mistake {
        self.place.wrong(what, hint)
    }

    /// Whether it is a list.
    pub fn is_list(&self) -> bool {
        matches!(self.value, DeValue::Array(_))
    }

    /// Whether it is a table.
    pub fn is_table(&self) -> bool {
        matches!(self.value, DeValue::Table(_))
    }

    /// The text, if it is text.
    pub fn as_text(&self) -> Option<&'d str> {
        match self.value {
            DeValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it is a number of any kind and size.
    pub fn is_number(&self) -> bool {
        matches!(self.value, DeValue::Integer(_) | DeValue::Float(_))
    }

    /// The whole number, if it is one that fits.
    pub fn as_integer(&self) -> Option<i64> {
        match self.value {
            DeValue::Integer(digits) => i64::from_str_radix(digits.as_str(), digits.radix()).ok(),
            _ => None,
        }
    }

    /// The finite float closest to the number that is written, if it is a number.
    pub fn as_float(&self) -> Option<f64> {
        let number: f64 = match self.value {
            DeValue::Integer(digits) if digits.radix() == 10 => digits.as_str().parse().ok()?,
            DeValue::Float(digits) => digits.as_str().parse().ok()?,
            _ => return None,
        };
        number.is_finite().then_some(number)
    }

    /// The day or moment, if it is one.
    pub fn as_moment(&self) -> Option<toml::value::Datetime> {
        match self.value {
            DeValue::Datetime(moment) => Some(*moment),
            _ => None,
        }
    }

    /// Text in quotes.
    pub fn text(&self) -> Result<&'d str, Mistake> {
        self.as_text()
            .ok_or_else(|| self.wrong(format!("`{}` is not text", self.key), "write it in double quotes"))
    }

    /// `true` or `false`.
    pub fn flag(&self) -> Result<bool, Mistake> {
        match self.value {
            DeValue::Boolean(value) => Ok(*value),
            _ => Err(self.wrong(
                format!("`{}` is neither true nor false", self.key),
                "write it without quotes",
            )),
        }
    }

    /// A whole number.
    pub fn integer(&self) -> Result<i64, Mistake> {
        self.as_integer().ok_or_else(|| {
            self.wrong(
                format!("`{}` is not a whole number", self.key),
                "write it as 7, without quotes",
            )
        })
    }

    /// The digits of a number as they are written, or of a number in quotes: nothing is lost to a float on
    /// the way.
    pub fn decimal(&self) -> Result<&'d str, Mistake> {
        match self.value {
            DeValue::String(text) => Ok(text),
            DeValue::Integer(digits) if digits.radix() == 10 => Ok(digits.as_str()),
            DeValue::Float(digits) => Ok(digits.as_str()),
            _ => Err(self.wrong(
                format!("`{}` is not a decimal number", self.key),
                "write it as it was printed, as 36.7",
            )),
        }
    }

    /// The elements of a list.
    pub fn list(&self) -> Result<Vec<Node<'d>>, Mistake> {
        match self.value {
            DeValue::Array(elements) => Ok(elements
                .iter()
                .enumerate()
                .map(|(index, element)| Node {
                    place: Place {
                        line: self.lines.line(element.span().start),
                        path: format!("{}[{index}]", self.place.path),
                    },
                    value: element.get_ref(),
                    ..self.clone()
                })
                .collect()),
            _ => Err(self.wrong(
                format!("`{}` is not a list", self.key),
                "write it in brackets, as [1, 2]",
            )),
        }
    }

    /// The table under this key.
    pub fn section(&self) -> Result<Section<'d>, Mistake> {
        match self.value {
            DeValue::Table(table) => Ok(Section::of(self.lines, self.place.clone(), table)),
            _ => Err(self.wrong(
                format!("`{}` is not a table of keys and values", self.key),
                "write it as { key = value }",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "size = 3\n\n[people]\nnames = [\n  \"ada\",\n  7,\n]\nrate = 0.10\n";

    #[test]
    fn every_value_knows_its_place() {
        let document = Document::parse(TEXT).unwrap();
        let mut root = document.root();
        assert_eq!(root.need("size", "").unwrap().integer(), Ok(3));
        let mut people = root.need("people", "").unwrap().section().unwrap();
        let names = people.need("names", "").unwrap().list().unwrap();
        assert_eq!((names[0].text(), names[0].line()), (Ok("ada"), 5));
        let mistake = names[1].text().unwrap_err();
        assert_eq!(mistake.message(), "line 6: `names` is not text");
        assert_eq!(
            mistake.message_with_path(),
            "line 6, people.names[1]: `names` is not text"
        );
        let rate = people.take("rate").unwrap();
        assert_eq!((rate.decimal(), rate.as_float()), (Ok("0.10"), Some(0.1)));
        assert!(people.take("age").is_none());
        people.finish().unwrap();
        root.finish().unwrap();
    }

    #[test]
    fn a_key_that_is_there_twice_is_said_to_be() {
        for text in ["a = 1\na = 2\n", "[t]\nb = 1\nb = \"SECRET\"", "[t]\n[t]\n"] {
            let mistake = Document::parse(text).unwrap_err();
            let last = text.trim_end().lines().count();
            assert_eq!(
                mistake.message(),
                format!("line {last}: {DUPLICATE_KEY}"),
                "{text}"
            );
        }
    }

    #[test]
    fn an_unknown_key_is_reported_with_the_nearest_one() {
        let document = Document::parse("sise = 3\n").unwrap();
        let mut root = document.root();
        let missing = root.need("size", "write size = 3").unwrap_err();
        assert_eq!(
            missing.to_string(),
            "line 1: `size` is missing\nhint: line 1 says `sise`: did you mean `size`?"
        );
        let unknown = root.finish().unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "line 1: there is no key `sise` here\nhint: did you mean `size`? expected one of size"
        );
    }

    #[test]
    fn nothing_of_a_wrong_file_is_repeated() {
        for text in [
            "SECRET",
            "\"SECRET",
            "secret = 1",
            "SECRET = 1",
            "\"ada, 36, secret\" = 1",
        ] {
            let reported = match Document::parse(text) {
                Err(mistake) => mistake.to_string(),
                Ok(document) => {
                    let mut root = document.root();
                    root.take("size");
                    root.finish().unwrap_err().to_string()
                }
            };
            assert!(!reported.to_lowercase().contains("secret"), "{reported}");
            assert!(
                reported.starts_with("line 1: ") && reported.contains("\nhint: "),
                "{reported}"
            );
        }
    }
}
