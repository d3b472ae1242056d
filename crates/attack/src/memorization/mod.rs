//! What does a model remember? Asks a language model for a secret that was in its training text.
//!
//! A model that was trained on "my pin number is 3456" finds that sentence likelier than it should. An
//! adversary who can ask for probabilities ranks all 10,000 PINs by them: the secret's rank is what the model
//! reveals (Carlini, Liu, Erlingsson, Kos and Song 2019). A rank alone proves little, though. A PIN that
//! looks like a year ranks high in a model that never saw it, and a model that learned nothing at all
//! "protects" every secret. So ranks come with the ranks of references that were never planted, with
//! comparisons among PINs of as many tokens, and with the most that (ε, δ) allows for as many copies as there
//! were.
//!
//! ```text
//! Remembers ──► Ranking of all candidates ──► Rank ──► exposure, planted against references
//!     │                                                     ▲
//!     ├──► most_likely: search instead of listing           └── Limit: what (ε, δ) allows, for one record and for k copies
//!     └──► scores of canaries ──► guess: in, out, or no guess ──► the one-run audit
//! ```

mod exposure;
mod limit;
mod ranking;
mod search;
mod skew_normal;

pub use exposure::{Exposure, Remembered, Summary, Uniformity, remembered, uniformity};
pub use limit::{Allowed, Limit, allowed, for_copies};
pub use ranking::{Candidates, Line, Rank, Ranking, phrase_perplexity, rank_all};
pub use search::{Extraction, Step, most_likely};
pub use skew_normal::SkewNormal;

/// A model that can be asked how likely tokens are. The attack knows nothing else of it.
pub trait Remembers {
    /// The logarithm of each token's probability to come next after these.
    fn next(&mut self, context: &[u32]) -> Vec<f64>;

    /// ln P(continuation | prefix) of each. Asks once for each different beginning; a model that keeps its
    /// state may do better.
    fn many(&mut self, prefix: &[u32], continuations: &[Vec<u32>]) -> Vec<f64> {
        // In the order of a tree, so that what two neighbours share was just asked.
        let mut order: Vec<usize> = (0..continuations.len()).collect();
        order.sort_unstable_by_key(|place| &continuations[*place]);
        let mut found = vec![0.0; continuations.len()];
        let mut context = prefix.to_vec();
        // For each depth, the answer for what the context holds up to there.
        let mut answers: Vec<Vec<f64>> = Vec::new();
        for place in order {
            let continuation = &continuations[place];
            let common = context[prefix.len()..].iter().zip(continuation);
            let common = common.take_while(|(old, new)| old == new).count();
            context.truncate(prefix.len() + common);
            answers.truncate(common + 1);
            let mut sum = 0.0;
            for (depth, token) in continuation.iter().enumerate() {
                if answers.len() <= depth {
                    context.truncate(prefix.len() + depth);
                    answers.push(self.next(&context));
                }
                sum += log_probability(&answers[depth], *token);
                if context.len() == prefix.len() + depth {
                    context.push(*token);
                }
            }
            found[place] = sum;
        }
        found
    }

    /// ln P(continuation | prefix).
    fn log_likelihood(&mut self, prefix: &[u32], continuation: &[u32]) -> f64 {
        let found = self.many(prefix, &[continuation.to_vec()]);
        found.first().copied().unwrap_or_default()
    }
}

/// What a token was given; nothing if the model has no such token, or answers with no number (a model whose
/// training diverged).
fn log_probability(answer: &[f64], token: u32) -> f64 {
    match answer.get(token as usize) {
        Some(value) if !value.is_nan() => *value,
        _ => f64::NEG_INFINITY,
    }
}

#[cfg(test)]
mod tests;
