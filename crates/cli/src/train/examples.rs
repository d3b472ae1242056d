//! Private data as the loop takes it.

use super::origin::Source;
use crate::terminal::{CliError, explained};
use sha2::{Digest, Sha256};
use sql::blocking::Dataset;
use train::models::{Features, Targets, Tokens};
use train::private::{Examples, PerUnit, Units};
use train::text::{START, Vocabulary, made_up_text, read_private_text};

/// Rows of tokens: private, so it has no Debug.
pub(super) struct Texts {
    name: String,
    vocabulary: usize,
    rows: Vec<Vec<u32>>,
}

impl Examples for Texts {
    type Batch = Tokens;

    fn count(&self) -> usize {
        self.rows.len()
    }

    fn gather(&self, chosen: &[usize]) -> Tokens {
        let rows: Vec<&[u32]> = chosen
            .iter()
            .map(|number| self.rows[*number].as_slice())
            .collect();
        Tokens::ragged(self.vocabulary, &rows).expect("tokens of the vocabulary")
    }

    fn bytes(&self, example: usize) -> Vec<u8> {
        let tokens = self.rows[example].iter();
        tokens.flat_map(|token| token.to_le_bytes()).collect()
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update((self.vocabulary as u64).to_le_bytes());
        for row in &self.rows {
            hash.update((row.len() as u64).to_le_bytes());
            row.iter().for_each(|token| hash.update(token.to_le_bytes()));
        }
        hexadecimal(hash)
    }
}

impl Texts {
    /// The text of a source, cut into rows of `length` tokens, and whose they are.
    pub(super) fn read(
        source: &Source,
        dataset: Option<&Dataset>,
        vocabulary: &Vocabulary,
        length: usize,
    ) -> Result<(Self, Units), CliError> {
        let texts = |rows| Self {
            name: source.name(),
            vocabulary: vocabulary.len(),
            rows,
        };
        // Any number of rows, none too: how many there are is private, and so is whether there are enough.
        let whole = |text: &str| -> Vec<Vec<u32>> {
            let tokens = vocabulary.encode(text);
            tokens.chunks_exact(length.max(1)).map(started).collect()
        };
        match source {
            Source::MadeUp { rows, seed } => {
                let mut all = whole(&made_up(*rows, length, *seed));
                all.truncate(*rows);
                let units = Units::each_example(all.len());
                Ok((texts(all), units))
            }
            Source::Text {
                path,
                each_line: false,
                ..
            } => {
                let all = whole(&read_private_text(path).map_err(explained)?);
                let units = Units::each_example(all.len());
                Ok((texts(all), units))
            }
            Source::Text {
                path,
                each_line: true,
                ..
            } => {
                let text = read_private_text(path).map_err(explained)?;
                let lines: Vec<&str> = text.lines().collect();
                Ok(owned(
                    lines.len() as u32,
                    (0..).zip(lines),
                    vocabulary,
                    length,
                    texts,
                ))
            }
            Source::Column { table, column, .. } => {
                let dataset = dataset.expect("a column has a catalog");
                let read = dataset.texts(table, column).map_err(explained)?;
                let pairs = read
                    .owners
                    .iter()
                    .copied()
                    .zip(read.texts.iter().map(String::as_str));
                Ok(owned(read.units, pairs, vocabulary, length, texts))
            }
            Source::Table { .. } => unreachable!("rows of a table are no text"),
        }
    }
}

/// Enough synthetic text for so many rows; a token is at least one byte and about four.
pub(super) fn made_up(rows: usize, length: usize, seed: u64) -> String {
    made_up_text(rows * length * 5, seed)
}

/// A row with its start in front.
pub(super) fn started(row: &[u32]) -> Vec<u32> {
    std::iter::once(START).chain(row.iter().copied()).collect()
}

/// Texts with owners: each in rows of at most `length` tokens, all of which are its owner's. A text of several rows counts as one contribution with the owner's others.
fn owned<'t>(
    units: u32,
    pairs: impl Iterator<Item = (u32, &'t str)>,
    vocabulary: &Vocabulary,
    length: usize,
    texts: impl FnOnce(Vec<Vec<u32>>) -> Texts,
) -> (Texts, Units) {
    let (mut rows, mut owners) = (Vec::new(), Vec::new());
    for (owner, text) in pairs {
        for row in vocabulary.encode(text).chunks(length.max(1)) {
            rows.push(started(row));
            owners.push(owner);
        }
    }
    (
        texts(rows),
        Units::of_owners(units as usize, &owners, PerUnit::Sum),
    )
}

/// Rows of numbers: private, so it has no Debug.
pub(super) struct Numbers {
    name: String,
    outputs: usize,
    classes: bool,
    width: usize,
    features: Vec<f32>,
    labels: Vec<f32>,
}

impl Numbers {
    /// The rows of a table, and whose they are.
    pub(super) fn read(
        source: &Source,
        dataset: &Dataset,
        table: &str,
        encoding: &sql::Encoding,
    ) -> Result<(Self, Units), CliError> {
        let read = dataset.examples(table, encoding).map_err(explained)?;
        let units = Units::of_owners(read.units as usize, &read.owners, PerUnit::Sum);
        Ok((Self::new(source.name(), read, encoding), units))
    }

    /// Rows that were read already; `name` is public.
    pub(super) fn new(name: String, read: sql::Examples, encoding: &sql::Encoding) -> Self {
        let classes = encoding.classes();
        Self {
            name,
            outputs: classes.map_or(1, <[String]>::len),
            classes: classes.is_some(),
            width: encoding.width(),
            features: read.features,
            labels: read.labels,
        }
    }
}

impl Examples for Numbers {
    type Batch = Features;

    fn count(&self) -> usize {
        self.labels.len()
    }

    fn gather(&self, chosen: &[usize]) -> Features {
        let values = chosen
            .iter()
            .flat_map(|number| &self.features[number * self.width..][..self.width]);
        let labels = chosen.iter().map(|number| self.labels[*number]);
        let targets = if self.classes {
            Targets::Classes(labels.map(|label| label as u32).collect())
        } else {
            Targets::Numbers(labels.collect())
        };
        Features::new(self.width, self.outputs, values.copied().collect(), targets)
            .expect("examples of the encoding")
    }

    fn bytes(&self, example: usize) -> Vec<u8> {
        let features = &self.features[example * self.width..][..self.width];
        let numbers = features.iter().chain([&self.labels[example]]);
        numbers.flat_map(|number| number.to_le_bytes()).collect()
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update((self.width as u64).to_le_bytes());
        self.features
            .iter()
            .chain(&self.labels)
            .for_each(|value| hash.update(value.to_le_bytes()));
        hexadecimal(hash)
    }
}

fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
