//! The catalog as a document in which every value knows its place ([`files::document`]), and each section its row in the table of keys.

use super::keys::{self, Key};
use crate::Error;
use files::document::{self, Mistake, looks_like_a_key, nearly};
use toml::value::Datetime;

/// A place in the text: a line, and the keys that lead there.
#[derive(Clone, Debug)]
pub(super) struct Place {
    at: document::Place,
    /// The keys with `*` for each name that the curator chose, as the table of keys calls it.
    section: String,
}

impl Place {
    /// The mistake at this place, and what to do about it.
    pub(super) fn wrong(&self, what: impl AsRef<str>, hint: impl Into<String>) -> Error {
        said(&self.at.wrong(what.as_ref(), hint))
    }
}

/// A mistake with the keys that lead to it.
fn said(mistake: &Mistake) -> Error {
    Error::catalog(mistake.message_with_path(), mistake.hint())
}

/// The path of an entry.
fn below(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// One value of the document.
#[derive(Clone, Debug)]
pub(super) struct Node<'d> {
    node: document::Node<'d>,
    place: Place,
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
    entries: Vec<Node<'d>>,
}

/// A document.
pub(super) struct Document<'d>(document::Document<'d>);

impl<'d> Document<'d> {
    /// Parses the text.
    pub(super) fn parse(text: &'d str) -> Result<Self, Error> {
        match document::Document::parse(text) {
            Ok(document) => Ok(Self(document)),
            Err(mistake) if mistake.what() == document::DUPLICATE_KEY => Err(said(&mistake)),
            Err(mistake) => Err(said(&mistake.with_hint(
                "a catalog is made of lines such as `name = \"sample\"` and headers such as `[budget]`; `deniable init` writes a first one",
            ))),
        }
    }

    /// The whole document as a section.
    pub(super) fn root(&'d self) -> Section<'d> {
        Section::of(self.0.root(), String::new())
    }
}

impl<'d> Section<'d> {
    /// A table that the table of keys calls `name`.
    fn of(table: document::Section<'d>, name: String) -> Self {
        let at = table.place().clone();
        let entry = |node: document::Node<'d>| {
            let place = Place {
                at: node.place().clone(),
                section: below(&name, keys::name_in(&name, node.key())),
            };
            Node { node, place }
        };
        Self {
            entries: table.named().into_iter().map(entry).collect(),
            place: Place { at, section: name },
        }
    }

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
        let at = self.entries.iter().position(|entry| entry.key() == key)?;
        Some(self.entries.remove(at))
    }

    /// The value of this key, which must be there.
    pub(super) fn need(&mut self, key: &'static str, hint: &str) -> Result<Node<'d>, Error> {
        self.take(key).ok_or_else(|| {
            let missing = format!("`{key}` is missing");
            // A key that is nearly this one is surely a key, and no data.
            let meant = |name: &str| nearly(name, key) && self.known().all(|known| known.name != name);
            match self.entries.iter().find(|entry| meant(entry.key())) {
                Some(entry) => self.place.wrong(
                    missing,
                    format!(
                        "line {} says `{}`: did you mean `{key}`?",
                        entry.node.line(),
                        entry.key()
                    ),
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
                    at: document::Place {
                        line: self.place.at.line,
                        path: below(&self.place.at.path, key),
                    },
                    section: below(&self.place.section, key),
                },
                entries: Vec::new(),
            }),
        }
    }

    /// All entries, for a section whose keys are names that the curator chose.
    pub(super) fn named(self) -> Vec<(&'d str, Node<'d>)> {
        let entries = self.entries.into_iter();
        entries.map(|entry| (entry.key(), entry)).collect()
    }

    /// That every key was taken.
    pub(super) fn finish(self) -> Result<(), Error> {
        let Some(entry) = self.entries.first() else {
            return Ok(());
        };
        let (name, mut place) = (entry.key(), self.place.clone());
        place.at.line = entry.node.line();
        let all: Vec<_> = self.known().map(|key| key.name).collect();
        let expected = format!("expected one of {}", all.join(", "));
        // By now the file is known to be a catalog, down to here. What does not even look like a key is not repeated all the same: it may be data.
        if !looks_like_a_key(name) {
            return Err(place.wrong("there is no such key here", expected));
        }
        let hint = match all.iter().find(|known| nearly(name, known)) {
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
    fn key(&self) -> &'d str {
        self.node.key()
    }

    /// Where it is.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The mistake here.
    pub(super) fn wrong(&self, what: impl AsRef<str>, hint: impl Into<String>) -> Error {
        self.place.wrong(what, hint)
    }

    /// Text in quotes, if it is that.
    pub(super) fn as_text(&self) -> Option<&'d str> {
        self.node.as_text()
    }

    /// `true` or `false`, if it is that.
    pub(super) fn as_flag(&self) -> Option<bool> {
        self.node.flag().ok()
    }

    /// A day or moment, if it is one.
    pub(super) fn as_moment(&self) -> Option<Datetime> {
        self.node.as_moment()
    }

    /// Text in quotes.
    pub(super) fn text(&self) -> Result<&'d str, Error> {
        self.as_text()
            .ok_or_else(|| self.wrong("expected text", "write it in double quotes"))
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
        self.as_flag()
            .ok_or_else(|| self.wrong("expected true or false", "write it without quotes"))
    }

    /// A whole number of at least 1.
    pub(super) fn count(&self) -> Result<u64, Error> {
        let number = self.integer().and_then(|number| u64::try_from(number).ok());
        number
            .filter(|&number| number >= 1)
            .ok_or_else(|| self.wrong("expected a whole number of at least 1", "write it as 1, 4 or 100"))
    }

    /// A whole number.
    pub(super) fn integer(&self) -> Option<i64> {
        self.node.as_integer()
    }

    /// The digits of a number as they are written, or of a number in quotes: nothing is lost to a float on the way.
    pub(super) fn decimal(&self) -> Result<&'d str, Error> {
        self.node.decimal().map_err(|_| {
            self.wrong(
                "expected a decimal number",
                "write it as 2, 0.5 or 1e-6, with or without quotes",
            )
        })
    }

    /// A finite number, the float closest to what is written.
    pub(super) fn float(&self) -> Option<f64> {
        self.node.as_float()
    }

    /// The elements of an array.
    pub(super) fn array(&self) -> Result<Vec<Node<'d>>, Error> {
        let elements = self
            .node
            .list()
            .map_err(|_| self.wrong("expected a list", "write it in brackets, as [1, 2]"))?;
        let element = |node: document::Node<'d>| {
            let place = Place {
                at: node.place().clone(),
                section: self.place.section.clone(),
            };
            Node { node, place }
        };
        Ok(elements.into_iter().map(element).collect())
    }

    /// The table under this key.
    pub(super) fn section(&self) -> Result<Section<'d>, Error> {
        match self.node.section() {
            Ok(table) => Ok(Section::of(table, self.place.section.clone())),
            Err(_) => Err(self.wrong(
                "expected keys and values",
                format!(
                    "write [{0}] with lines of `key = value` below, or {0} = {{ key = value }}",
                    self.place.at.path
                ),
            )),
        }
    }
}
