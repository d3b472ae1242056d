//! Rows as the loop takes them.

use super::{Rows, START, TextError};
use crate::models::Tokens;
use crate::private::Examples;
use sha2::{Digest, Sha256};

/// Rows of a text, each with the start in front, so that its first token is learned too.
///
/// ```
/// use train::private::Examples;
/// use train::text::{Rows, TextExamples};
///
/// let rows = Rows::of_tokens(vec![1, 2, 3, 4], 2)?;
/// assert_eq!(TextExamples::new(&rows, 5, "notes")?.count(), 2);
/// assert!(TextExamples::new(&rows, 4, "notes").is_err());
/// # Ok::<(), train::text::TextError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TextExamples<'rows> {
    rows: &'rows Rows,
    vocabulary: usize,
    name: String,
}

impl<'rows> TextExamples<'rows> {
    /// Rows under a vocabulary of `vocabulary` tokens, with a public name.
    ///
    /// # Errors
    /// When a token is not of this vocabulary.
    pub fn new(rows: &'rows Rows, vocabulary: usize, name: &str) -> Result<Self, TextError> {
        if rows.iter().flatten().any(|token| *token as usize >= vocabulary) {
            return Err(super::prediction::another_vocabulary());
        }
        Ok(Self {
            rows,
            vocabulary,
            name: name.to_owned(),
        })
    }
}

impl Examples for TextExamples<'_> {
    type Batch = Tokens;

    fn count(&self) -> usize {
        self.rows.len()
    }

    fn gather(&self, chosen: &[usize]) -> Tokens {
        let width = self.rows.length() + 1;
        let mut tokens = Vec::with_capacity(chosen.len() * width);
        for number in chosen {
            tokens.push(START);
            tokens.extend_from_slice(self.rows.row(*number));
        }
        Tokens::full(self.vocabulary, width, tokens).expect("tokens were checked when this was made")
    }

    fn bytes(&self, example: usize) -> Vec<u8> {
        let tokens = self.rows.row(example).iter();
        tokens.flat_map(|token| token.to_le_bytes()).collect()
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update((self.rows.length() as u64).to_le_bytes());
        for token in self.rows.iter().flatten() {
            hash.update(token.to_le_bytes());
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::Part;

    #[test]
    fn rows_come_with_their_start() {
        let rows = Rows::of_tokens(vec![1, 2, 3, 4, 5, 6], 2).unwrap();
        let examples = TextExamples::new(&rows, 7, "notes").unwrap();
        assert_eq!((examples.count(), examples.name()), (3, "notes".to_owned()));
        let batch = examples.gather(&[2, 0]);
        assert_eq!(
            (batch.row(0), batch.row(1)),
            (&[START, 5, 6][..], &[START, 1, 2][..])
        );
        assert_eq!(examples.gather(&[]).len(), 0);
        assert!(TextExamples::new(&rows, 6, "notes").is_err());
    }

    #[test]
    fn a_digest_is_of_all_tokens_and_their_rows() {
        let digest = |tokens: Vec<u32>, length| {
            let rows = Rows::of_tokens(tokens, length).unwrap();
            TextExamples::new(&rows, 9, "notes").unwrap().digest()
        };
        let one = digest(vec![1, 2, 3, 4], 2);
        assert_eq!(one, digest(vec![1, 2, 3, 4], 2));
        assert_ne!(one, digest(vec![1, 2, 3, 5], 2));
        assert_ne!(one, digest(vec![1, 2, 3, 4], 1));
    }
}
