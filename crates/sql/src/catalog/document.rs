//! A TOML document in which every value knows its place, so that a mistake is told by line and key and never by what is written there: the file
//! may be the wrong one, and full of data.

use crate::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A place in the text: a line, and the keys that lead there.
#[derive(Clone, Debug)]
pub(super) struct Place {
    line: usize,
    path: String,
}

impl Place {
    /// The mistake at this place, and what to do about it.
    pub(super) fn wrong(&self, what: impl AsRef<str>, hint: impl Into<String>) -> Error {
        let what = what.as_ref();
        if self.path.is_empty() {
            Error::catalog(format!("line {}: {what}", self.line), hint)
        } else {
            Error::catalog(format!("line {}, {}: {what}", self.line, self.path), hint)
        }
    }
}

/// One value of the document.
#[derive(Clone, Debug)]
pub(super) struct Node<'d> {
    lines: &'d Lines,
    place: Place,
    value: &'d DeValue<'d>,
}

/// A table of the document of which each key is taken once; what nobody took is a mistake.
#[derive(Debug)]
pub(super) struct Section<'d> {
    place: Place,
    entries: Vec<(&'d str, Node<'d>)>,
    known: Vec<&'static str>,
}

/// A document, and where its lines begin.
pub(super) struct Document<'d> {
    table: Spanned<DeTable<'d>>,
    lines: Lines,
}

#[derive(Debug)]
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let after = |(at, byte): (usize, u8)| (byte == b'\n').then_some(at + 1);
        Self(text.bytes().enumerate().filter_map(after).collect())
    }

    /// The number of the line in which this byte is.
    fn line(&self, at: usize) -> usize {
        self.0.partition_point(|&start| start <= at) + 1
    }
}

impl<'d> Document<'d> {
    /// Parses the text.
    pub(super) fn parse(text: &'d str) -> Result<Self, Error> {
        let lines = Lines::of(text);
        match DeTable::parse(text) {
            Ok(table) => Ok(Self { table, lines }),
            Err(error) => {
                let line = lines.line(error.span().map_or(0, |span| span.start));
                // The parser's own words name what it expected and never quote the text, but nothing holds them to that.
                Err(Error::catalog(
                    format!("line {line}: this is not TOML"),
                    "a catalog is made of lines such as `name = \"sample\"` and headers such as `[budget]`; `deniable init` writes a first one",
                ))
            }
        }
    }

    /// The whole document as a section.
    pub(super) fn root(&'d self) -> Section<'d> {
        let place = Place {
            line: 1,
            path: String::new(),
        };
        Section {
            entries: entries(&self.lines, &place, self.table.get_ref()),
            place,
            known: Vec::new(),
        }
    }
}

/// The entries of a table in the order of the text.
fn entries<'d>(lines: &'d Lines, place: &Place, table: &'d DeTable<'d>) -> Vec<(&'d str, Node<'d>)> {
    let mut found: Vec<_> = table.iter().collect();
    found.sort_by_key(|(key, _)| key.span().start);
    found
        .into_iter()
        .map(|(key, value)| {
            let name: &str = key.get_ref();
            let path = if place.path.is_empty() {
                name.to_owned()
            } else {
                format!("{}.{name}", place.path)
            };
            let line = lines.line(key.span().start);
            let node = Node {
                lines,
                place: Place { line, path },
                value: value.get_ref(),
            };
            (name, node)
        })
        .collect()
}

impl<'d> Section<'d> {
    /// Where it begins.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The value of this key, if it is there.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Node<'d>> {
        self.known.push(key);
        let at = self.entries.iter().position(|(name, _)| *name == key)?;
        Some(self.entries.remove(at).1)
    }

    /// The value of this key, which must be there.
    pub(super) fn need(&mut self, key: &'static str, hint: &str) -> Result<Node<'d>, Error> {
        self.take(key)
            .ok_or_else(|| self.place.wrong(format!("`{key}` is missing"), hint))
    }

    /// The section under this key; an empty one when it is not there.
    pub(super) fn section(&mut self, key: &'static str) -> Result<Section<'d>, Error> {
        match self.take(key) {
            Some(node) => node.section(),
            None => Ok(Section {
                place: Place {
                    line: self.place.line,
                    path: if self.place.path.is_empty() {
                        key.to_owned()
                    } else {
                        format!("{}.{key}", self.place.path)
                    },
                },
                entries: Vec::new(),
                known: Vec::new(),
            }),
        }
    }

    /// All entries, for a section whose keys are names that the curator chose.
    pub(super) fn named(self) -> Vec<(&'d str, Node<'d>)> {
        self.entries
    }

    /// That every key was taken.
    pub(super) fn finish(self) -> Result<(), Error> {
        match self.entries.first() {
            None => Ok(()),
            Some((_, node)) => {
                // The key is not repeated: only keys that are known are surely not data.
                let unknown = Place {
                    line: node.place.line,
                    path: self.place.path.clone(),
                };
                Err(unknown.wrong(
                    "there is no such key here",
                    format!("expected one of {}", self.known.join(", ")),
                ))
            }
        }
    }
}

impl<'d> Node<'d> {
    /// Where it is.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The mistake here.
    pub(super) fn wrong(&self, what: impl AsRef<str>, hint: impl Into<String>) -> Error {
        self.place.wrong(what, hint)
    }

    /// The value itself.
    pub(super) fn value(&self) -> &'d DeValue<'d> {
        self.value
    }

    /// Text in quotes.
    pub(super) fn text(&self) -> Result<&'d str, Error> {
        match self.value {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong("expected text", "write it in double quotes")),
        }
    }

    /// Text in quotes with something in it.
    pub(super) fn name(&self) -> Result<&'d str, Error> {
        let text = self.text()?;
        if text.trim().is_empty() {
            return Err(self.wrong(
                "expected text that is not empty",
                "give it a name in double quotes",
            ));
        }
        Ok(text)
    }

    /// `true` or `false`.
    pub(super) fn flag(&self) -> Result<bool, Error> {
        match self.value {
            DeValue::Boolean(value) => Ok(*value),
            _ => Err(self.wrong("expected true or false", "write it without quotes")),
        }
    }

    /// A whole number of at least 1.
    pub(super) fn count(&self) -> Result<u64, Error> {
        let number = match self.value {
            DeValue::Integer(digits) => u64::from_str_radix(digits.as_str(), digits.radix()).ok(),
            _ => None,
        };
        number
            .filter(|&number| number >= 1)
            .ok_or_else(|| self.wrong("expected a whole number of at least 1", "write it as 1, 4 or 100"))
    }

    /// A whole number.
    pub(super) fn integer(&self) -> Option<i64> {
        match self.value {
            DeValue::Integer(digits) => i64::from_str_radix(digits.as_str(), digits.radix()).ok(),
            _ => None,
        }
    }

    /// The digits of a number as they are written, or of a number in quotes: nothing is lost to a float on the way.
    pub(super) fn decimal(&self) -> Result<&'d str, Error> {
        match self.value {
            DeValue::String(text) => Ok(text),
            DeValue::Integer(digits) if digits.radix() == 10 => Ok(digits.as_str()),
            DeValue::Float(digits) => Ok(digits.as_str()),
            _ => Err(self.wrong(
                "expected a decimal number",
                "write it as 2, 0.5 or 1e-6, with or without quotes",
            )),
        }
    }

    /// A finite number, the float closest to what is written.
    pub(super) fn float(&self) -> Option<f64> {
        let number: f64 = match self.value {
            DeValue::Integer(digits) if digits.radix() == 10 => digits.as_str().parse().ok()?,
            DeValue::Float(digits) => digits.as_str().parse().ok()?,
            _ => return None,
        };
        number.is_finite().then_some(number)
    }

    /// The elements of an array.
    pub(super) fn array(&self) -> Result<Vec<Node<'d>>, Error> {
        match self.value {
            DeValue::Array(elements) => Ok(elements
                .iter()
                .enumerate()
                .map(|(index, element)| Node {
                    lines: self.lines,
                    place: Place {
                        line: self.lines.line(element.span().start),
                        path: format!("{}[{index}]", self.place.path),
                    },
                    value: element.get_ref(),
                })
                .collect()),
            _ => Err(self.wrong("expected a list", "write it in brackets, as [1, 2]")),
        }
    }

    /// The table under this key.
    pub(super) fn section(&self) -> Result<Section<'d>, Error> {
        match self.value {
            DeValue::Table(table) => Ok(Section {
                place: self.place.clone(),
                entries: entries(self.lines, &self.place, table),
                known: Vec::new(),
            }),
            _ => Err(self.wrong(
                "expected keys and values",
                format!(
                    "write [{0}] with lines of `key = value` below, or {0} = {{ key = value }}",
                    self.place.path
                ),
            )),
        }
    }
}
