//! From text to rows of tokens.
//!
//! A language model reads numbers. Which numbers stand for what is decided by a vocabulary, and a vocabulary made from private text gives that text away: a rare
//! name that became one token is in the file for everybody to read. So a [`Vocabulary`] comes from public text, from a file that was declared public, or from
//! nothing at all (bytes), and what it reads afterwards may be private.
//!
//! ```text
//! public text ──► Vocabulary ─┐
//! private text ───────────────┴─► Rows of T tokens ──► split by a public seed ──► training rows (with planted phrases) │ validation rows
//! ```

mod examples;
mod planting;
mod prediction;
mod rows;
mod synthetic;
mod tokenizer;

pub use examples::TextExamples;
pub(crate) use noise::Seeded;
pub use planting::{Phrase, Secret, plant, secrets};
pub use prediction::{Prediction, Unigram};
pub use rows::{Rows, Split, read_private_text, read_text};
pub use synthetic::synthetic_text;
pub use tokenizer::{Digits, START, Vocabulary};

/// Why text could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// There is nothing to learn from.
    #[error(
        "the text gives fewer than 2 rows of {length} tokens\nhint: one row to learn from and one to check with are needed; give more text or shorter rows"
    )]
    TooShort {
        /// Tokens a row.
        length: usize,
    },
    /// Not text. Where is not reported: it would say something about the text.
    #[error("the text is not UTF-8\nhint: convert the file first, for example with `iconv -t UTF-8`")]
    NotUtf8,
    /// A file could not be read or written.
    #[error("{what}: {cause}\nhint: check that the file exists and may be read or written")]
    File {
        /// What was tried.
        what: &'static str,
        /// What the operating system says.
        cause: std::io::Error,
    },
    /// A vocabulary that no text could have made.
    #[error("the vocabulary is not valid: {what}\nhint: it must be a file that `Vocabulary::save` wrote")]
    BadVocabulary {
        /// What is wrong.
        what: &'static str,
    },
    /// A setting makes no sense.
    #[error("{what}\nhint: {hint}")]
    BadSetting {
        /// What is wrong.
        what: String,
        /// What to do about it.
        hint: &'static str,
    },
}

impl TextError {
    pub(crate) fn bad_setting(what: impl Into<String>, hint: &'static str) -> Self {
        Self::BadSetting {
            what: what.into(),
            hint,
        }
    }
}
