//! A mistake in a document: what is wrong, and where.

use std::fmt;
use std::path::Path;

/// A place in a document: a line, and the keys that lead there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the line, from 1.
    pub line: usize,
    /// The keys that lead there, as `tables.people.columns[2]`; empty at the top.
    pub path: String,
}

impl Place {
    /// The mistake at this place, and what to do about it.
    pub fn wrong(&self, what: impl Into<String>, hint: impl Into<String>) -> Mistake {
        let mut mistake = Mistake::new(what, hint);
        mistake.0.place = Some(self.clone());
        mistake
    }

    /// The place of an entry of the table here.
    pub(super) fn below(&self, line: usize, key: &str) -> Self {
        let path = if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        };
        Self { line, path }
    }
}

/// What is wrong with a document, and what to do about it. It never holds a value of the document.
///
/// Its text is `message`, and `hint: …` on a line of its own.
///
/// ```
/// use files::document::Mistake;
///
/// let mistake = Mistake::new("it describes no releases", "add one").in_file("plan.toml".as_ref());
/// assert_eq!(mistake.to_string(), "`plan.toml`: it describes no releases\nhint: add one");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake(Box<Parts>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    file: Option<String>,
    within: Vec<String>,
    place: Option<Place>,
    what: String,
    hint: String,
}

impl Mistake {
    /// A mistake that has no line of its own.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            file: None,
            within: Vec::new(),
            place: None,
            what: what.into(),
            hint: hint.into(),
        }))
    }

    /// An error of another crate of ours as a mistake: its text ends with a line `hint: …`.
    pub fn of(error: &impl fmt::Display) -> Self {
        let text = error.to_string();
        let (what, hint) = text
            .split_once("\nhint: ")
            .unwrap_or((&text, "check what is written here"));
        Self::new(what, hint)
    }

    /// Where it is, if it has a line of its own.
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// What is wrong, without its place.
    pub fn what(&self) -> &str {
        &self.0.what
    }

    /// What to do about it.
    pub fn hint(&self) -> &str {
        &self.0.hint
    }

    /// What is wrong, after its line and whatever it is within.
    pub fn message(&self) -> String {
        let line = self.0.place.as_ref().map(|place| format!("line {}", place.line));
        self.reported(line)
    }

    /// The same with the keys that lead there.
    pub fn message_with_path(&self) -> String {
        let place = self.0.place.as_ref().map(|place| {
            if place.path.is_empty() {
                format!("line {}", place.line)
            } else {
                format!("line {}, {}", place.line, place.path)
            }
        });
        self.reported(place)
    }

    fn reported(&self, place: Option<String>) -> String {
        let before = self.0.within.iter().rev().map(String::as_str);
        let parts = before.chain(place.as_deref()).chain([self.0.what.as_str()]);
        let reported = parts.collect::<Vec<_>>().join(": ");
        match (&self.0.file, self.0.place.is_some() && self.0.within.is_empty()) {
            (None, _) => reported,
            (Some(file), true) => format!("`{file}`, {reported}"),
            (Some(file), false) => format!("`{file}`: {reported}"),
        }
    }

    /// The same mistake, in this file.
    #[must_use]
    pub fn in_file(mut self, path: &Path) -> Self {
        self.0.file = Some(path.display().to_string());
        self
    }

    /// The same mistake, in a part of the document that has this name.
    #[must_use]
    pub fn within(mut self, name: impl Into<String>) -> Self {
        self.0.within.push(name.into());
        self
    }

    /// The same mistake with other words.
    #[must_use]
    pub fn reworded(mut self, words: impl FnOnce(&str) -> String) -> Self {
        self.0.what = words(&self.0.what);
        self
    }

    /// The same mistake with other advice.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = hint.into();
        self
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}\nhint: {}", self.message(), self.0.hint)
    }
}

impl std::error::Error for Mistake {}
