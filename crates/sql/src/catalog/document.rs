//! A TOML document in which every value knows its place, so that a mistake is reported by line and key and never by what is written there: the file
//! may be the wrong one, and full of data.

use super::keys::{self, Key};
use crate::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A place in the text: a line, and the keys that lead there.
#[derive(Clone, Debug)]
pub(super) struct Place {
    line: usize,
    path: String,
    /// The same with `*` for each name that the curator chose, as the table of keys calls it.
    section: String,
}

/// The path of an entry.
fn below(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
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

#[cfg(test)]
thread_local! {
    /// What was taken on this thread, for the test that each row of the table of keys is.
    pub(super) static TAKEN: std::cell::RefCell<std::collections::BTreeSet<(String, &'static str)>> = const { std::cell::RefCell::new(std::collections::BTreeSet::new()) };
}

/// A table of the document of which each key is taken once; what nobody took is a mistake.
#[derive(Debug)]
pub(super) struct Section<'d> {
    place: Place,
    entries: Vec<(&'d str, Node<'d>)>,
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
            section: String::new(),
        };
        Section {
            entries: entries(&self.lines, &place, self.table.get_ref()),
            place,
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
            let place = Place {
                line: lines.line(key.span().start),
                path: below(&place.path, name),
                section: below(&place.section, keys::name_in(&place.section, name)),
            };
            let value = value.get_ref();
            (name, Node { lines, place, value })
        })
        .collect()
}

impl<'d> Section<'d> {
    /// Where it begins.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The keys that there are here.
    fn known(&self) -> impl Iterator<Item = &'static Key> {
        keys::of(&self.place.section)
    }

    /// The value of this key, if it is there.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Node<'d>> {
        debug_assert!(
            self.known().any(|known| known.name == key),
            "`{key}` in [{}] has no row in catalog/keys.rs",
            self.place.section
        );
        #[cfg(test)]
        TAKEN.with_borrow_mut(|taken| taken.insert((self.place.section.clone(), key)));
        let at = self.entries.iter().position(|(name, _)| *name == key)?;
        Some(self.entries.remove(at).1)
    }

    /// The value of this key, which must be there.
    pub(super) fn need(&mut self, key: &'static str, hint: &str) -> Result<Node<'d>, Error> {
        self.take(key).ok_or_else(|| {
            let missing = format!("`{key}` is missing");
            // A key that is nearly this one is surely a key, and no data.
            let meant = |name: &str| keys::nearly(name, key) && self.known().all(|known| known.name != name);
            match self.entries.iter().find(|(name, _)| meant(name)) {
                Some((name, node)) => self.place.wrong(
                    missing,
                    format!("line {} says `{name}`: did you mean `{key}`?", node.place.line),
                ),
                None => self.place.wrong(missing, hint),
            }
        })
    }

    /// The section under this key; an empty one when it is not there.
    pub(super) fn section(&mut self, key: &'static str) -> Result<Section<'d>, Error> {
        match self.take(key) {
            Some(node) => node.section(),
            None => Ok(Section {
                place: Place {
                    line: self.place.line,
                    path: below(&self.place.path, key),
                    section: below(&self.place.section, key),
                },
                entries: Vec::new(),
            }),
        }
    }

    /// All entries, for a section whose keys are names that the curator chose.
    pub(super) fn named(self) -> Vec<(&'d str, Node<'d>)> {
        self.entries
    }

    /// That every key was taken.
    pub(super) fn finish(self) -> Result<(), Error> {
        let Some((name, node)) = self.entries.first() else {
            return Ok(());
        };
        let place = Place {
            line: node.place.line,
            ..self.place.clone()
        };
        let all: Vec<_> = self.known().map(|key| key.name).collect();
        let expected = format!("expected one of {}", all.join(", "));
        // By now the file is known to be a catalog, down to here. What does not even look like a key is not repeated all the same: it may be data.
        if !keys::looks_like_a_key(name) {
            return Err(place.wrong("there is no such key here", expected));
        }
        let hint = match all.iter().find(|known| keys::nearly(name, known)) {
            Some(known) => format!("did you mean `{known}`? {expected}"),
            None => match keys::elsewhere(name) {
                Some(section) => format!("`{name}` belongs in {section}; here {expected}"),
                None => expected,
            },
        };
        Err(place.wrong(format!("there is no key `{name}` here"), hint))
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
                        section: self.place.section.clone(),
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
