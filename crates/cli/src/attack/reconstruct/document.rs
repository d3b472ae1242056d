//! A TOML file in which every value knows its line, so that a mistake is told by where it is.

use crate::terminal::{CliError, fail};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A description is a few pages of text, not data.
const LARGEST_FILE: u64 = 4 * 1024 * 1024;

/// The text of a file.
pub(super) fn read(path: &Path) -> Result<String, CliError> {
    let name = path.display();
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(LARGEST_FILE + 1).read_to_string(&mut text))
        .map_err(|cause| {
            CliError::bad_input(format!("cannot read `{name}`: {cause}"))
                .with_hint("it must be a text file that you may read; --template prints one to start from")
        })?;
    if text.len() as u64 > LARGEST_FILE {
        return fail(
            format!("`{name}` is larger than 4 MiB"),
            "describe what was published; --template prints an example",
        );
    }
    Ok(text)
}

/// The whole text as a section.
pub(super) fn parse<'t>(text: &'t str) -> Result<Spanned<DeTable<'t>>, CliError> {
    DeTable::parse(text).map_err(|error| {
        let line = line_of(text, error.span().map_or(0, |span| span.start));
        CliError::bad_input(format!("line {line}: this is not TOML: {}", error.message()))
            .with_hint("--template prints an example that can be read")
    })
}

fn line_of(text: &str, at: usize) -> usize {
    crate::described::line_of(text, at)
}

/// A value, the line it is on, and the key that leads to it.
#[derive(Clone, Copy)]
pub(super) struct Node<'d> {
    text: &'d str,
    pub(super) line: usize,
    pub(super) key: &'d str,
    pub(super) value: &'d DeValue<'d>,
}

/// Keys and values, of which each key is taken once; what nobody took is a mistake.
pub(super) struct Section<'d> {
    pub(super) line: usize,
    entries: Vec<Node<'d>>,
    known: Vec<&'static str>,
}

impl<'d> Section<'d> {
    pub(super) fn of(text: &'d str, line: usize, table: &'d DeTable<'d>) -> Self {
        let mut entries: Vec<(usize, Node<'d>)> = table
            .iter()
            .map(|(key, value)| {
                let at = key.span().start;
                let node = Node {
                    text,
                    line: line_of(text, at),
                    key: key.get_ref(),
                    value: value.get_ref(),
                };
                (at, node)
            })
            .collect();
        entries.sort_by_key(|(at, _)| *at);
        Self {
            line,
            entries: entries.into_iter().map(|(_, node)| node).collect(),
            known: Vec::new(),
        }
    }

    /// The value of this key, if it is there.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Node<'d>> {
        self.known.push(key);
        let at = self.entries.iter().position(|node| node.key == key)?;
        Some(self.entries.remove(at))
    }

    /// The value of this key, which must be there.
    pub(super) fn need(&mut self, key: &'static str, hint: &str) -> Result<Node<'d>, CliError> {
        let line = self.line;
        self.take(key)
            .ok_or_else(|| wrong(line, format!("`{key}` is missing"), hint))
    }

    /// All entries, where the keys are names that the writer chose.
    pub(super) fn named(self) -> Vec<Node<'d>> {
        self.entries
    }

    /// That every key was taken.
    pub(super) fn finish(self) -> Result<(), CliError> {
        match self.entries.first() {
            None => Ok(()),
            Some(node) => Err(node.wrong(
                format!("there is no key `{}` here", node.key),
                format!("expected one of {}", self.known.join(", ")),
            )),
        }
    }
}

impl<'d> Node<'d> {
    /// The mistake here, and what to do about it.
    pub(super) fn wrong(&self, what: impl AsRef<str>, hint: impl Into<String>) -> CliError {
        wrong(self.line, what, hint)
    }

    pub(super) fn text(&self) -> Result<&'d str, CliError> {
        match self.value {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong(format!("`{}` is not text", self.key), "write it in double quotes")),
        }
    }

    pub(super) fn integer(&self) -> Result<i64, CliError> {
        let number = match self.value {
            DeValue::Integer(digits) => i64::from_str_radix(digits.as_str(), digits.radix()).ok(),
            _ => None,
        };
        number.ok_or_else(|| {
            self.wrong(
                format!("`{}` is not a whole number", self.key),
                "write it as 7, without quotes",
            )
        })
    }

    /// The digits of a number as they are written: nothing is lost to a float on the way.
    pub(super) fn decimal(&self) -> Result<&'d str, CliError> {
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
    pub(super) fn list(&self) -> Result<Vec<Node<'d>>, CliError> {
        match self.value {
            DeValue::Array(elements) => Ok(elements
                .iter()
                .map(|element| Node {
                    line: line_of(self.text, element.span().start),
                    value: element.get_ref(),
                    ..*self
                })
                .collect()),
            _ => Err(self.wrong(
                format!("`{}` is not a list", self.key),
                "write it in brackets, as [1, 2]",
            )),
        }
    }

    pub(super) fn section(&self) -> Result<Section<'d>, CliError> {
        match self.value {
            DeValue::Table(table) => Ok(Section::of(self.text, self.line, table)),
            _ => Err(self.wrong(
                format!("`{}` is not a table of keys and values", self.key),
                "write it as { key = value }",
            )),
        }
    }
}

/// A mistake on a line.
pub(super) fn wrong(line: usize, what: impl AsRef<str>, hint: impl Into<String>) -> CliError {
    CliError::bad_input(format!("line {line}: {}", what.as_ref())).with_hint(hint)
}
