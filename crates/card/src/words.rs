//! What only people can say, asked once.
//!
//! The answers have a file of their own, `card.toml` beside the catalog, and are no part of it. There are two
//! reasons. The person who answers is often not the person who declares bounds. And a changed word in a
//! description is no other catalog, which two curators would have to approve and a server would have to be
//! started with.

use crate::Error;
use files::document::{Advice, Document, text_of};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The name of the file, in the directory of the catalog.
pub const FILE_NAME: &str = "card.toml";

/// A longer file is no such document.
const LONGEST: u64 = 1 << 20;

/// What is asked.
pub(crate) struct Question {
    pub(crate) key: &'static str,
    kind: AnswerKind,
    /// Whether a record of the registry cannot be written without it.
    pub(crate) needed: bool,
    pub(crate) asks: &'static str,
    example: &'static str,
}

#[derive(Clone, Copy)]
enum AnswerKind {
    Text,
    List,
    OneOf(&'static [&'static str]),
}

/// What the registry calls kinds of data products.
const PRODUCTS: &[&str] = &[
    "Summary statistics",
    "Machine learning model",
    "Dataset",
    "Synthetic data",
    "Interactive API",
    "SQL queries",
];

/// What the registry calls sectors.
const SECTORS: &[&str] = &[
    "Technology",
    "Healthcare",
    "Education",
    "Government",
    "Energy",
    "Finance",
];

const fn text(key: &'static str, needed: bool, asks: &'static str, example: &'static str) -> Question {
    Question {
        key,
        kind: AnswerKind::Text,
        needed,
        asks,
        example,
    }
}

/// Everything that is asked, in the order of the draft.
pub(crate) const QUESTIONS: &[Question] = &[
    text(
        "title",
        false,
        "What the data product is called; else the name of the dataset.",
        "Visits to the clinics",
    ),
    Question {
        key: "curators",
        kind: AnswerKind::List,
        needed: true,
        asks: "Who publishes it: organisations.",
        example: "[\"The Clinics of Ashford\"]",
    },
    text(
        "description",
        true,
        "What it is, in a sentence or two.",
        "Answers to questions of researchers about visits to clinics.",
    ),
    text(
        "intended_use",
        true,
        "What it is for.",
        "Planning of departments, and research.",
    ),
    text(
        "region",
        true,
        "Where the people live whom it is about, or whose laws hold.",
        "Ashford",
    ),
    Question {
        key: "sector",
        kind: AnswerKind::OneOf(SECTORS),
        needed: false,
        asks: "The sector: Technology, Healthcare, Education, Government, Energy or Finance.",
        example: "Healthcare",
    },
    Question {
        key: "product",
        kind: AnswerKind::OneOf(PRODUCTS),
        needed: false,
        asks: "The kind of product; else SQL queries. Summary statistics, Machine learning model, Dataset, Synthetic data, Interactive API or SQL queries.",
        example: "SQL queries",
    },
    Question {
        key: "data_source",
        kind: AnswerKind::OneOf(&["Static", "Dynamic"]),
        needed: false,
        asks: "Whether further data comes in over time: Static or Dynamic. Else it follows from whether versions of the data follow the calendar.",
        example: "Static",
    },
    text(
        "epsilon_chosen",
        true,
        "NIST SP 800-226, point 1: how ε and δ were chosen, by whom, and why they are small enough.",
        "By the ethics board, from the risk to a person that the card states.",
    ),
    text(
        "exact_releases",
        true,
        "Point 8: what was published of the same data without noise, now or before: totals, earlier tables, the number of people. Say \"Nothing.\" if that is so.",
        "Nothing.",
    ),
    text(
        "small_groups",
        false,
        "Point 11: who is served worse by noise and cut groups, and what is done about it.",
        "Groups of fewer than 100 are asked about by region only.",
    ),
    text(
        "security",
        true,
        "Point 26: how the data itself is kept: encryption, who can reach the machine, logs, backups.",
        "Encrypted disk; two administrators; no copies.",
    ),
    text(
        "collected",
        false,
        "Point 28: why this data is collected at all, and what is not collected or is deleted.",
        "Names and addresses are not in these tables.",
    ),
    text(
        "preprocessing",
        false,
        "What was done with the data before it came here, and whether anybody looked at it to choose bounds, limits or questions.",
        "Bounds are from the forms' own limits. Nobody looked.",
    ),
    text(
        "justification",
        false,
        "Why it is done this way, and how that was validated.",
        "Simulated on invented people first.",
    ),
    text(
        "actors",
        false,
        "Who sees what, and who is trusted, beyond what the card says itself.",
        "Researchers with a contract.",
    ),
    text(
        "sources",
        false,
        "Where more is written.",
        "https://example.org/visits",
    ),
    text("notes", false, "What else there is to know.", "None."),
    Question {
        key: "authors",
        kind: AnswerKind::List,
        needed: true,
        asks: "Who answered these questions.",
        example: "[\"Ann Lee\"]",
    },
];

/// What people said. Each is asserted: nothing of it can be computed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Words(BTreeMap<&'static str, Vec<String>>);

impl Words {
    /// Nothing was said.
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads a file such as [`Words::draft`] writes.
    ///
    /// # Errors
    /// When it cannot be read, or has a key that is not asked for. Errors hold nothing of what is written in
    /// it.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let advice = Advice {
            unreadable: "`deniable card draft` writes one with every question in it",
            too_large: "answer in fewer words",
        };
        let text = text_of(path, LONGEST, advice)?;
        Self::parse(&text)
            .map_err(|error| Error::new(format!("`{}`, {}", path.display(), error.what), error.hint))
    }

    /// What was said of a dataset: in the file beside its catalog, if there is one.
    ///
    /// # Errors
    /// As [`Words::read`].
    pub fn beside(catalog: &sql::Catalog) -> Result<Self, Error> {
        let path = catalog.directory.join(FILE_NAME);
        if path.is_file() {
            Self::read(&path)
        } else {
            Ok(Self::none())
        }
    }

    /// Reads the text of such a file.
    ///
    /// # Errors
    /// As [`Words::read`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let document = Document::parse(text)?;
        let mut root = document.root();
        let mut words = BTreeMap::new();
        for question in QUESTIONS {
            let Some(node) = root.take(question.key) else {
                continue;
            };
            let said = match question.kind {
                AnswerKind::List => {
                    let listed = node.list()?;
                    let said = listed.iter().map(|node| node.text().map(str::to_owned));
                    said.collect::<Result<Vec<_>, _>>()?
                }
                AnswerKind::Text | AnswerKind::OneOf(_) => vec![node.text()?.to_owned()],
            };
            if let AnswerKind::OneOf(known) = question.kind
                && !said.iter().all(|said| known.contains(&said.as_str()))
            {
                return Err(node
                    .wrong(
                        "there is no such choice",
                        format!("expected one of {}", known.join(", ")),
                    )
                    .into());
            }
            if said.iter().any(|said| said.trim().is_empty()) || said.is_empty() {
                return Err(node
                    .wrong("an answer without words", "answer it, or leave the key out")
                    .into());
            }
            words.insert(question.key, said);
        }
        root.finish()?;
        Ok(Self(words))
    }

    /// Reads what a JSON card says that people said.
    ///
    /// # Errors
    /// When it is no such object.
    pub fn from_json(asserted: &serde_json::Value) -> Result<Self, Error> {
        let wrong = || {
            Error::new(
                "what is asserted in the card cannot be read",
                "give it a card that `deniable card --format json` wrote",
            )
        };
        let mut words = BTreeMap::new();
        for (key, said) in asserted.as_object().ok_or_else(wrong)? {
            let question = QUESTIONS
                .iter()
                .find(|question| question.key == key)
                .ok_or_else(wrong)?;
            let said = said.as_array().ok_or_else(wrong)?.iter();
            let said: Option<Vec<String>> = said.map(|said| said.as_str().map(str::to_owned)).collect();
            words.insert(question.key, said.ok_or_else(wrong)?);
        }
        Ok(Self(words))
    }

    /// A file with every question as a comment and an example of its answer.
    pub fn draft() -> String {
        let mut draft = "# What only people can say about a dataset, for its privacy card (`deniable card`). Everything here is marked as asserted in the card.\n\
             # Take the # away from what you answer. What is marked NEEDED must be answered for --format yaml.\n"
            .to_owned();
        for question in QUESTIONS {
            let example = match question.kind {
                AnswerKind::List => question.example.to_owned(),
                AnswerKind::Text | AnswerKind::OneOf(_) => format!("{:?}", question.example),
            };
            let needed = if question.needed { " NEEDED" } else { "" };
            let _ = write!(
                draft,
                "\n# {}{needed}\n# {} = {example}\n",
                question.asks, question.key
            );
        }
        draft
    }

    /// What was said of this.
    pub(crate) fn of(&self, key: &str) -> Option<String> {
        debug_assert!(
            QUESTIONS.iter().any(|question| question.key == key),
            "{key} is asked"
        );
        self.0.get(key).map(|said| said.join(", "))
    }

    pub(crate) fn list(&self, key: &str) -> Vec<String> {
        self.0.get(key).cloned().unwrap_or_default()
    }

    /// What was said, in the order of the questions, with each question.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static Question, String)> {
        QUESTIONS
            .iter()
            .filter_map(|question| Some((question, self.of(question.key)?)))
    }

    /// What was not said and is needed for a record of the registry.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let needed = QUESTIONS.iter().filter(|question| question.needed);
        needed
            .map(|question| question.key)
            .filter(|key| !self.0.contains_key(key))
            .collect()
    }
}
