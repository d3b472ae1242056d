//! Text cut into rows of equal length, one record each.

use super::{Seeded, TextError, Vocabulary};
use std::path::Path;

/// Rows of tokens, one record each. As private as the text that they came from; prints as its shape.
///
/// ```
/// use train::text::{Rows, Vocabulary};
///
/// let rows = Rows::of_text("some words of a text", &Vocabulary::bytes(), 5)?;
/// assert_eq!((rows.len(), rows.length()), (4, 5));
/// let split = rows.split(0.25, 1)?;
/// assert_eq!(split.training.len() + split.validation.len(), 4);
/// # Ok::<(), train::text::TextError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Rows {
    length: usize,
    tokens: Vec<u32>,
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Rows(.. of {} tokens)", self.length)
    }
}

/// Rows to learn from and rows to check with.
#[derive(Clone, Debug)]
pub struct Split {
    /// To learn from.
    pub training: Rows,
    /// To check with. As private as the others: what is measured on them is not covered by a guarantee for training.
    pub validation: Rows,
}

/// The text of a file.
///
/// # Errors
/// When it cannot be read or is not UTF-8; the message quotes nothing of it.
pub fn read_text(path: &Path) -> Result<String, TextError> {
    let bytes = std::fs::read(path).map_err(|cause| TextError::File {
        what: "the text could not be read",
        cause,
    })?;
    String::from_utf8(bytes).map_err(|_| TextError::NotUtf8)
}

/// The text of a file that is private: whatever its bytes are. What is not UTF-8 becomes U+FFFD, within its line, so that no byte of anybody's decides whether a run begins.
///
/// # Errors
/// When the file cannot be read.
pub fn read_private_text(path: &Path) -> Result<String, TextError> {
    let bytes = std::fs::read(path).map_err(|cause| TextError::File {
        what: "the text could not be read",
        cause,
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Rows {
    /// The text in rows of `length` tokens. What is left at the end is dropped.
    ///
    /// # Errors
    /// When `length` is zero, or there are fewer than two rows.
    pub fn of_text(text: &str, vocabulary: &Vocabulary, length: usize) -> Result<Self, TextError> {
        Self::of_tokens(vocabulary.encode(text), length)
    }

    /// The tokens in rows of `length`. What is left at the end is dropped.
    ///
    /// # Errors
    /// When `length` is zero, or there are fewer than two rows.
    pub fn of_tokens(mut tokens: Vec<u32>, length: usize) -> Result<Self, TextError> {
        if length == 0 {
            return Err(TextError::bad_setting(
                "rows of no tokens cannot be learned from",
                "the case study has rows of 20 tokens",
            ));
        }
        let count = tokens.len() / length;
        if count < 2 {
            return Err(TextError::TooShort { length });
        }
        tokens.truncate(count * length);
        Ok(Self { length, tokens })
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.tokens.len() / self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Tokens a row.
    pub fn length(&self) -> usize {
        self.length
    }

    /// One row. The numbers of rows go from 0.
    pub fn row(&self, number: usize) -> &[u32] {
        &self.tokens[number * self.length..][..self.length]
    }

    pub(super) fn row_mut(&mut self, number: usize) -> &mut [u32] {
        &mut self.tokens[number * self.length..][..self.length]
    }

    /// All rows in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.tokens.chunks_exact(self.length)
    }

    /// The first rows, at most `count`.
    pub fn first(mut self, count: usize) -> Self {
        self.tokens.truncate(count.saturating_mul(self.length));
        self
    }

    /// Each row goes to the validation rows with this probability. Where a row goes depends on its place and the public seed alone, not on any other row, so
    /// neighbouring texts are split into neighbouring parts.
    ///
    /// # Errors
    /// When the share is not between 0 and 1.
    pub fn split(&self, validation: f64, seed: u64) -> Result<Split, TextError> {
        if !(validation > 0.0 && validation < 1.0) {
            return Err(TextError::bad_setting(
                "the share of validation rows must be between 0 and 1",
                "a twentieth (0.05) is usual",
            ));
        }
        let mut entropy = Seeded::numbered(seed, 1);
        let [mut kept, mut held_out] = [const { Vec::new() }; 2];
        for (place, row) in self.iter().enumerate() {
            // Neither part is ever empty: the first row is learned from, the second checks.
            let out = entropy.chance(validation);
            let out = if place < 2 { place == 1 } else { out };
            if out { &mut held_out } else { &mut kept }.extend_from_slice(row);
        }
        let rows = |tokens| Self {
            length: self.length,
            tokens,
        };
        Ok(Split {
            training: rows(kept),
            validation: rows(held_out),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Digits, synthetic_text};

    #[test]
    fn text_becomes_rows_and_the_rest_is_dropped() {
        let rows = Rows::of_text("abcdefgh", &Vocabulary::bytes(), 3).unwrap();
        assert_eq!((rows.len(), rows.length(), rows.is_empty()), (2, 3, false));
        assert_eq!(Vocabulary::bytes().decode(rows.row(1)), "def");
        assert_eq!(format!("{rows:?}"), "Rows(.. of 3 tokens)");
        assert_eq!(rows.first(1).len(), 1);
    }

    #[test]
    fn too_little_text_is_refused_without_quoting_it() {
        for text in ["", "secret"] {
            let error = Rows::of_text(text, &Vocabulary::bytes(), 6)
                .unwrap_err()
                .to_string();
            assert!(error.contains("hint:") && !error.contains("secret"), "{error}");
        }
        assert!(Rows::of_text("abc", &Vocabulary::bytes(), 0).is_err());
    }

    #[test]
    fn a_file_that_is_not_text_is_refused_without_quoting_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("text");
        std::fs::write(&path, b"my pin number is \xFF3456").unwrap();
        let error = read_text(&path).unwrap_err().to_string();
        assert!(error.contains("UTF-8") && !error.contains("pin"), "{error}");
        std::fs::write(&path, "näher").unwrap();
        assert_eq!(read_text(&path).unwrap(), "näher");
        assert!(read_text(&directory.path().join("none")).is_err());
    }

    /// Lines are decoded each by itself: a broken character at the end of one does not reach into the next.
    #[test]
    fn private_text_of_any_bytes_is_read_line_by_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("text");
        let lines: [&[u8]; 6] = [
            b"abc",
            b"\xe2\x82",
            b"n\xc3\xa4her",
            b"",
            b"\xff\xf0\x9f\x98",
            b"\x80x",
        ];
        std::fs::write(&path, lines.join(&b'\n')).unwrap();
        let text = read_private_text(&path).unwrap();
        let alone = lines.map(|line| String::from_utf8_lossy(line).into_owned());
        assert_eq!(text.split('\n').collect::<Vec<_>>(), alone);
        assert_eq!((alone[0].as_str(), alone[2].as_str()), ("abc", "näher"));
        assert!(read_private_text(&directory.path().join("none")).is_err());
    }

    #[test]
    fn a_split_is_a_partition_that_its_seed_determines() {
        let text = synthetic_text(30_000, 1);
        let rows = Rows::of_text(&text, &Vocabulary::bytes(), 10).unwrap();
        let split = rows.split(0.1, 4).unwrap();
        assert_eq!(split.training.len() + split.validation.len(), rows.len());
        let share = split.validation.len() as f64 / rows.len() as f64;
        // 3,000 rows: more than 6 deviations either way (two-sided about 2e-9 by the normal distribution).
        assert!(
            (share - 0.1).abs() < 6.0 * (0.09 / rows.len() as f64).sqrt(),
            "{share}"
        );
        assert_eq!(rows.split(0.1, 4).unwrap().validation, split.validation);
        assert_ne!(rows.split(0.1, 5).unwrap().validation, split.validation);
        assert!(rows.split(0.0, 1).is_err() && rows.split(f64::NAN, 1).is_err());
    }

    /// One row more at the end: both parts are the same but for that row.
    #[test]
    fn neighbouring_texts_have_neighbouring_parts() {
        let longer = Rows::of_tokens((0..5_000).collect(), 5).unwrap();
        let shorter = longer.clone().first(longer.len() - 1);
        let [long, short] = [&longer, &shorter].map(|rows| rows.split(0.2, 9).unwrap());
        let less = |short: &Rows, long: &Rows| long.clone().first(short.len()) == *short;
        assert!(less(&short.training, &long.training) && less(&short.validation, &long.validation));
        assert_eq!(long.training.len() + long.validation.len(), 1_000);
    }

    #[test]
    fn two_rows_are_enough() {
        let split = Rows::of_tokens(vec![1, 2], 1).unwrap().split(0.5, 1).unwrap();
        assert_eq!(
            (split.training.row(0), split.validation.row(0)),
            (&[1][..], &[2][..])
        );
    }

    /// The size of the case study, in at most a few seconds even unoptimised.
    #[test]
    fn two_hundred_thousand_rows_are_made_quickly() {
        let public = synthetic_text(1_000_000, 1);
        let vocabulary = Vocabulary::from_public_text(&public, 985, Digits::Grouped).unwrap();
        assert_eq!(vocabulary.len(), 985);
        let rows = Rows::of_text(&synthetic_text(1_500_000, 2), &vocabulary, 20).unwrap();
        assert!(rows.len() > 20_000, "{}", rows.len());
    }
}
