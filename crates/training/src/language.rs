//! Uses of a trained language model: how well it predicts public text, and how it continues one.

use crate::Error;
use crate::description::Language;
use crate::examples::synthetic;
use device::Device;
use noise::{Entropy, Seeded};
use train::models::{LanguageModel, Tokens};
use train::text::{Digits, Prediction, Rows, START, Unigram, Vocabulary};

/// Seed of the public synthetic text that vocabularies come from and perplexity is measured on.
pub(crate) const PUBLIC: u64 = 0xDE71AB1E;

/// A vocabulary of `tokens` tokens, of synthetic English.
///
/// # Errors
/// When there are too few tokens.
///
/// ```
/// let vocabulary = training::public_vocabulary(300)?;
/// assert_eq!(vocabulary.len(), 300);
/// # Ok::<(), training::Error>(())
/// ```
pub fn public_vocabulary(tokens: usize) -> Result<Vocabulary, Error> {
    Ok(Vocabulary::from_public_text(
        &synthetic(10_000, 20, PUBLIC),
        tokens,
        Digits::Single,
    )?)
}

/// How well a model predicts rows.
pub(crate) fn predicted<D: Device, M: LanguageModel<D>>(
    model: &mut M,
    parameters: &D::Buffer,
    rows: &Rows,
) -> Prediction {
    let mut prediction = Prediction::default();
    let all: Vec<&[u32]> = rows.iter().collect();
    for some in all.chunks(100) {
        let rows: Vec<Vec<u32>> = some
            .iter()
            .map(|row| std::iter::once(START).chain(row.iter().copied()).collect())
            .collect();
        let Ok(batch) = Tokens::ragged(model.vocabulary(), &rows) else {
            continue;
        };
        for loss in model.token_losses(parameters, &batch).into_iter().flatten() {
            prediction.add(-loss, None);
        }
    }
    prediction
}

/// How well a language model predicts a public text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextEvaluation {
    /// The model's perplexity.
    pub perplexity: f64,
    /// Tokens that were predicted.
    pub tokens: u64,
    /// What frequencies alone would give, counted on the very same text: no model of frequencies does better.
    pub unigram_perplexity: f64,
}

impl Language {
    /// Measures the model on a public text. What is measured is reported without noise.
    ///
    /// # Errors
    /// When there is too little text.
    pub fn evaluate(&mut self, text: &str) -> Result<TextEvaluation, Error> {
        let rows = Rows::of_text(text, &self.vocabulary, self.length)?;
        let prediction = predicted(&mut self.model, &self.parameters, &rows);
        let unigram = Unigram::of(&rows, self.vocabulary.len()).and_then(|unigram| unigram.predict(&rows))?;
        Ok(TextEvaluation {
            perplexity: prediction.perplexity(),
            tokens: prediction.tokens,
            unigram_perplexity: unigram.perplexity(),
        })
    }

    /// Continues a text by `tokens` tokens, from a seed. At temperature 1 tokens are drawn with the model's
    /// probabilities; less makes the likelier ones likelier, and 0 always takes the likeliest. What a private
    /// model says is as public as the model: it costs nothing.
    ///
    /// # Errors
    /// When the temperature is negative, or the model cannot read the text.
    pub fn generate(
        &mut self,
        prompt: &str,
        tokens: usize,
        temperature: f64,
        seed: u64,
    ) -> Result<String, Error> {
        if !(temperature.is_finite() && temperature >= 0.0) {
            return Err(Error::input("the temperature must be 0 or more", "0.8 is usual"));
        }
        let mut seeded = Seeded::new(seed);
        let mut written = vec![START];
        written.extend(self.vocabulary.encode(prompt));
        for _ in 0..tokens {
            // The model has seen rows of this length, each from a start.
            let from = written.len().saturating_sub(self.length);
            let likely = self.model.next(&self.parameters, &written[from..])?;
            written.push(choose(&likely, temperature, &mut seeded));
        }
        Ok(self.vocabulary.decode(&written[1..]))
    }
}

/// One token, with probabilities proportional to p^(1/temperature). The start of a row is never chosen.
fn choose(likely: &[f64], temperature: f64, entropy: &mut impl Entropy) -> u32 {
    let best = likely
        .iter()
        .enumerate()
        .skip(START as usize + 1)
        .max_by(|a, b| a.1.total_cmp(b.1))
        .map_or(0, |(token, _)| token);
    if temperature == 0.0 {
        return best as u32;
    }
    let weights: Vec<f64> = likely
        .iter()
        .enumerate()
        .map(|(token, log)| {
            if token as u32 == START {
                0.0
            } else {
                ((log - likely[best]) / temperature).exp()
            }
        })
        .collect();
    let all: f64 = weights.iter().sum();
    let mut left = entropy.bits(53) as f64 / (1u64 << 53) as f64 * all;
    for (token, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return token as u32;
        }
    }
    best as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_chosen_as_the_model_says() {
        let likely = [0.0f64, 0.5f64.ln(), 0.25f64.ln(), 0.25f64.ln()];
        assert_eq!(choose(&likely, 0.0, &mut Seeded::new(1)), 1);
        let mut counts = [0u32; 4];
        let mut seeded = Seeded::new(2);
        for _ in 0..4000 {
            counts[choose(&likely, 1.0, &mut seeded) as usize] += 1;
        }
        assert_eq!(counts[0], 0, "the start is never chosen");
        // Six standard deviations of 2000 ± 32.
        assert!((1800..2200).contains(&counts[1]), "{counts:?}");
        assert!((820..1180).contains(&counts[2]), "{counts:?}");
    }
}
