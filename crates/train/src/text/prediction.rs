//! How well text is predicted: perplexity and accuracy, and the baseline that knows nothing but how frequent tokens are.

use super::{Rows, TextError};
use serde::{Deserialize, Serialize};

/// How well some tokens were predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// How many tokens.
    pub tokens: u64,
    /// The sum of the logarithms of their probabilities.
    pub log_likelihood: f64,
    /// How many were the likeliest at their place, where that was looked at.
    pub right: Option<u64>,
}

impl Prediction {
    /// One token more.
    pub fn add(&mut self, log_probability: f64, likeliest: Option<bool>) {
        self.merge(&Self {
            tokens: 1,
            log_likelihood: log_probability,
            right: likeliest.map(u64::from),
        });
    }

    /// Both together.
    pub fn merge(&mut self, other: &Self) {
        self.right = match (self.tokens, other.tokens) {
            (0, _) => other.right,
            (_, 0) => self.right,
            _ => self.right.zip(other.right).map(|(own, other)| own + other),
        };
        self.tokens += other.tokens;
        self.log_likelihood += other.log_likelihood;
    }

    /// e to the mean loss: among how many equally likely tokens one might as well have guessed. 1 for no tokens.
    pub fn perplexity(&self) -> f64 {
        (-self.log_likelihood / self.tokens.max(1) as f64).exp()
    }

    /// The share of tokens that were the likeliest, where that was looked at.
    pub fn accuracy(&self) -> Option<f64> {
        self.right.map(|right| right as f64 / self.tokens.max(1) as f64)
    }
}

/// Predicts every token by how frequent it was in training, whatever came before. A model that does no better has learned no language.
///
/// ```
/// use train::text::{Rows, Unigram};
///
/// let rows = Rows::of_tokens(vec![1, 1, 1, 2], 2)?;
/// let prediction = Unigram::of(&rows, 3)?.predict(&rows)?;
/// assert!(prediction.perplexity() < 3.0);
/// # Ok::<(), train::text::TextError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Unigram {
    log_probabilities: Vec<f64>,
    likeliest: u32,
}

impl Unigram {
    /// Counts tokens, each of the `vocabulary` once more than it occurs so that none is impossible. As private as the rows.
    ///
    /// # Errors
    /// When a token is not of this vocabulary.
    pub fn of(rows: &Rows, vocabulary: usize) -> Result<Self, TextError> {
        let mut counts = vec![1u64; vocabulary];
        for token in rows.iter().flatten() {
            *counts.get_mut(*token as usize).ok_or_else(another_vocabulary)? += 1;
        }
        let all = counts.iter().sum::<u64>() as f64;
        let likeliest = (0u32..).zip(&counts).max_by_key(|(_, count)| **count);
        Ok(Self {
            likeliest: likeliest.map_or(0, |(token, _)| token),
            log_probabilities: counts.iter().map(|count| (*count as f64 / all).ln()).collect(),
        })
    }

    /// How well it predicts other rows.
    ///
    /// # Errors
    /// When a token is not of this vocabulary.
    pub fn predict(&self, rows: &Rows) -> Result<Prediction, TextError> {
        let mut prediction = Prediction::default();
        for token in rows.iter().flatten() {
            let log_probability = self.log_probabilities.get(*token as usize);
            prediction.add(
                *log_probability.ok_or_else(another_vocabulary)?,
                Some(*token == self.likeliest),
            );
        }
        Ok(prediction)
    }
}

pub(super) fn another_vocabulary() -> TextError {
    TextError::bad_setting(
        "the rows have tokens that the vocabulary does not have",
        "rows and model must use one vocabulary",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Digits, Vocabulary, synthetic_text};
    use std::collections::BTreeMap;

    #[test]
    fn a_uniform_guess_among_eight_has_perplexity_eight() {
        let mut prediction = Prediction::default();
        assert_eq!((prediction.perplexity(), prediction.accuracy()), (1.0, None));
        for token in 0..16 {
            prediction.add(-(8f64.ln()), Some(token % 8 == 0));
        }
        let twice = prediction;
        prediction.merge(&twice);
        assert!((prediction.perplexity() - 8.0).abs() < 1e-12);
        assert_eq!((prediction.tokens, prediction.accuracy()), (32, Some(0.125)));
        prediction.add(-1.0, None);
        assert_eq!(prediction.accuracy(), None);
    }

    #[test]
    fn frequencies_are_what_was_counted() {
        let rows = Rows::of_tokens(vec![1, 1, 1, 2, 1, 2], 3).unwrap();
        let unigram = Unigram::of(&rows, 4).unwrap();
        // Counts with one more each: 1, 5, 3, 1 of 10.
        let expected = -(4.0 * 0.5f64.ln() + 2.0 * 0.3f64.ln()) / 6.0;
        let prediction = unigram.predict(&rows).unwrap();
        assert!((prediction.perplexity().ln() - expected).abs() < 1e-12);
        assert_eq!(prediction.right, Some(4));
        assert!(Unigram::of(&rows, 2).is_err());
        assert!(unigram.predict(&Rows::of_tokens(vec![9, 9], 1).unwrap()).is_err());
    }

    /// One token of context halves the perplexity of synthetic text, and two do better still: there is something to learn.
    #[test]
    fn synthetic_text_has_something_to_learn() {
        let vocabulary =
            Vocabulary::from_public_text(&synthetic_text(500_000, 1), 985, Digits::Single).unwrap();
        let split = Rows::of_text(&synthetic_text(1_500_000, 2), &vocabulary, 20)
            .unwrap()
            .split(0.1, 3)
            .unwrap();
        let unigram = Unigram::of(&split.training, vocabulary.len()).unwrap();
        let baseline = unigram.predict(&split.validation).unwrap().perplexity();
        assert!((150.0..700.0).contains(&baseline), "{baseline}");
        let mut counts = [const { BTreeMap::<Vec<u32>, f64>::new() }; 3];
        for row in split.training.iter() {
            for (place, width) in (0..row.len()).flat_map(|place| (1..=3).map(move |width| (place, width))) {
                if let Some(gram) = row.get(place..place + width) {
                    *counts[width - 1].entry(gram.to_vec()).or_default() += 1.0;
                }
            }
        }
        let count = |gram: &[u32]| counts[gram.len() - 1].get(gram).copied().unwrap_or_default();
        // Each longer context mixed with the shorter one, by how often it was seen.
        let mixed = |gram: &[u32], shorter: f64| {
            let seen = count(&gram[..gram.len() - 1]);
            (count(gram) + 20.0 * shorter) / (seen + 20.0)
        };
        let [mut two, mut three] = [Prediction::default(); 2];
        for row in split.validation.iter() {
            for place in 2..row.len() {
                let first = unigram.log_probabilities[row[place] as usize].exp();
                let second = mixed(&row[place - 1..=place], first);
                two.add(second.ln(), None);
                three.add(mixed(&row[place - 2..=place], second).ln(), None);
            }
        }
        assert!(
            two.perplexity() < baseline / 2.0,
            "{} {baseline}",
            two.perplexity()
        );
        assert!(
            three.perplexity() < two.perplexity() * 0.9,
            "{} {}",
            three.perplexity(),
            two.perplexity()
        );
    }
}
