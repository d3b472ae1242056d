//! Private data as the trainer takes it.

use crate::{Error, Source};
use mechanism::Sensitive;
use sha2::{Digest, Sha256};
use sql::blocking::Dataset;
use std::sync::OnceLock;
use train::models::{Features, Targets, Tokens};
use train::private::{Examples, PerUnit, PrivateData, Units};
use train::text::{START, Vocabulary, read_private_text, synthetic_text};

/// Rows of tokens: private, so it has no Debug.
pub(crate) struct Texts {
    name: String,
    vocabulary: usize,
    rows: Vec<Vec<u32>>,
    /// Made when it is needed first: every checkpoint has it.
    digest: OnceLock<String>,
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
        let digest = self.digest.get_or_init(|| {
            let mut hash = Sha256::new();
            hash.update((self.vocabulary as u64).to_le_bytes());
            for row in &self.rows {
                hash.update((row.len() as u64).to_le_bytes());
                let bytes: Vec<u8> = row.iter().flat_map(|token| token.to_le_bytes()).collect();
                hash.update(bytes);
            }
            hexadecimal(hash)
        });
        digest.clone()
    }
}

impl Texts {
    /// The text of a source, cut into rows of `length` tokens, and whose they are.
    pub(crate) fn read(
        source: &Source,
        dataset: Option<&Dataset>,
        vocabulary: &Vocabulary,
        length: usize,
    ) -> Result<PrivateData<Self>, Error> {
        let name = source.name();
        let rows: Sensitive<(Self, Units)> = match source {
            Source::Synthetic { rows, seed } => {
                let (mut texts, _) = Self::whole(name, &synthetic(*rows, length, *seed), vocabulary, length);
                texts.rows.truncate(*rows);
                let units = Units::each_example(texts.rows.len());
                Sensitive::new((texts, units))
            }
            Source::Text {
                path,
                each_line: false,
                ..
            } => {
                let text = Sensitive::new(read_private_text(path)?);
                text.map(|text| Self::whole(name, &text, vocabulary, length))
            }
            Source::Text {
                path,
                each_line: true,
                ..
            } => {
                let text = Sensitive::new(read_private_text(path)?);
                text.map(|text| Self::lines(name, &text, vocabulary, length))
            }
            Source::Column { table, column, .. } => {
                let dataset = dataset.ok_or_else(no_catalog)?;
                dataset.texts(table, column)?.map(|read| {
                    let texts = read.texts.iter().map(String::as_str);
                    let pairs = read.owners.iter().copied().zip(texts);
                    Self::owned(name, read.units, pairs, vocabulary, length)
                })
            }
            Source::Table { .. } => {
                return Err(Error::input(
                    "this run is not about text",
                    "resume it with its own checkpoint",
                ));
            }
        };
        Ok(rows.into())
    }

    /// A text in rows, each of them a unit. Any number of rows, none too: how many there are is private, and
    /// so is whether there are enough.
    fn whole(name: String, text: &str, vocabulary: &Vocabulary, length: usize) -> (Self, Units) {
        let tokens = vocabulary.encode(text);
        let rows: Vec<Vec<u32>> = tokens.chunks_exact(length.max(1)).map(started).collect();
        let units = Units::each_example(rows.len());
        let texts = Self {
            name,
            vocabulary: vocabulary.len(),
            rows,
            digest: OnceLock::new(),
        };
        (texts, units)
    }

    /// A text in lines, each of them a unit.
    pub(crate) fn lines(name: String, text: &str, vocabulary: &Vocabulary, length: usize) -> (Self, Units) {
        let lines: Vec<&str> = text.lines().collect();
        Self::owned(name, lines.len() as u32, (0..).zip(lines), vocabulary, length)
    }

    /// Texts with owners: each in rows of at most `length` tokens, all of which are its owner's. A text of
    /// several rows counts as one contribution with the owner's others.
    fn owned<'t>(
        name: String,
        units: u32,
        pairs: impl Iterator<Item = (u32, &'t str)>,
        vocabulary: &Vocabulary,
        length: usize,
    ) -> (Self, Units) {
        let (mut rows, mut owners) = (Vec::new(), Vec::new());
        for (owner, text) in pairs {
            for row in vocabulary.encode(text).chunks(length.max(1)) {
                rows.push(started(row));
                owners.push(owner);
            }
        }
        let texts = Self {
            name,
            vocabulary: vocabulary.len(),
            rows,
            digest: OnceLock::new(),
        };
        (texts, Units::of_owners(units as usize, &owners, PerUnit::Sum))
    }
}

fn no_catalog() -> Error {
    Error::input(
        "a declared table needs its catalog",
        "name the catalog that declares the table",
    )
}

/// Enough synthetic text for `rows` rows; a token is at least one byte and about four.
pub(crate) fn synthetic(rows: usize, length: usize, seed: u64) -> String {
    synthetic_text(rows * length * 5, seed)
}

/// A row with its start in front.
pub(crate) fn started(row: &[u32]) -> Vec<u32> {
    std::iter::once(START).chain(row.iter().copied()).collect()
}

/// Rows of numbers: private, so it has no Debug.
pub(crate) struct Numbers {
    name: String,
    outputs: usize,
    classes: bool,
    width: usize,
    features: Vec<f32>,
    labels: Vec<f32>,
    /// Made when it is needed first: every checkpoint has it.
    digest: OnceLock<String>,
}

impl Numbers {
    /// The rows of a table, and whose they are.
    pub(crate) fn read(
        source: &Source,
        dataset: Option<&Dataset>,
        encoding: &sql::Encoding,
    ) -> Result<PrivateData<Self>, Error> {
        let Source::Table { table, .. } = source else {
            return Err(Error::input(
                "this run is not about a table",
                "resume it with its own checkpoint",
            ));
        };
        let dataset = dataset.ok_or_else(no_catalog)?;
        let rows = dataset.examples(table, encoding)?.map(|read| {
            let units = Units::of_owners(read.units as usize, &read.owners, PerUnit::Sum);
            (Self::new(source.name(), read, encoding), units)
        });
        Ok(rows.into())
    }

    /// Rows that were read already; `name` is public.
    pub(crate) fn new(name: String, read: sql::Examples, encoding: &sql::Encoding) -> Self {
        let classes = encoding.classes();
        Self {
            name,
            outputs: classes.map_or(1, <[String]>::len),
            classes: classes.is_some(),
            width: encoding.width(),
            features: read.features,
            labels: read.labels,
            digest: OnceLock::new(),
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
        let digest = self.digest.get_or_init(|| {
            let mut hash = Sha256::new();
            hash.update((self.width as u64).to_le_bytes());
            for values in [&self.features, &self.labels] {
                // Many at a time: a call for each number takes longer than the hash.
                for some in values.chunks(1024) {
                    let bytes: Vec<u8> = some.iter().flat_map(|value| value.to_le_bytes()).collect();
                    hash.update(bytes);
                }
            }
            hexadecimal(hash)
        });
        digest.clone()
    }
}

fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
