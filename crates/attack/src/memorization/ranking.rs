//! All candidates in the order in which a model finds them likely.

use super::Remembers;
use crate::Error;
use serde::{Deserialize, Serialize};

/// Everything that a secret might be.
#[derive(Clone, Debug)]
pub struct Candidates {
    names: Vec<String>,
    tokens: Vec<Vec<u32>>,
}

impl Candidates {
    /// These texts, as the model's vocabulary writes them.
    ///
    /// # Errors
    /// When there are none, or one has no tokens.
    pub fn new(names: Vec<String>, encode: impl Fn(&str) -> Vec<u32>) -> Result<Self, Error> {
        let tokens: Vec<Vec<u32>> = names.iter().map(|name| encode(name)).collect();
        if tokens.is_empty() || tokens.iter().any(Vec::is_empty) {
            return Err(Error::bad_setting(
                "there is nothing to choose a secret from",
                "give at least one candidate, none of them empty",
            ));
        }
        Ok(Self { names, tokens })
    }

    /// All numbers of this many digits, 0000 to 9999 for four.
    ///
    /// # Errors
    /// For no digits or more than 7, which is more than anybody waits for.
    pub fn pins(digits: u32, encode: impl Fn(&str) -> Vec<u32>) -> Result<Self, Error> {
        if !(1..=7).contains(&digits) {
            return Err(Error::bad_setting(
                "PINs have 1 to 7 digits here",
                "for longer secrets, search for the likeliest instead of listing all",
            ));
        }
        let width = digits as usize;
        let names = (0..10u32.pow(digits))
            .map(|pin| format!("{pin:0width$}"))
            .collect();
        Self::new(names, encode)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Never.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// The place of a secret among others. Those that the model finds exactly as likely are not before or behind
/// it: the place is a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rank {
    /// Before all of its equals; the first is 1.
    pub best: usize,
    /// Behind all of its equals.
    pub worst: usize,
    /// Among how many.
    pub of: usize,
}

/// One line of a table of candidates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Its place.
    pub rank: Rank,
    /// What it is.
    pub name: String,
    /// Perplexity of the whole phrase.
    pub perplexity: f64,
    /// How many tokens it has itself.
    pub tokens: usize,
}

/// All candidates with their perplexities.
#[derive(Clone, Debug)]
pub struct Ranking {
    names: Vec<String>,
    tokens: Vec<usize>,
    log_likelihoods: Vec<f64>,
    /// Logarithm of the perplexity of prefix and candidate together.
    losses: Vec<f64>,
    /// By loss.
    order: Vec<usize>,
}

/// Asks the model for every candidate behind the prefix.
///
/// `start` is what the model needs in front of any text; it is not part of the phrase. Perplexity is over all
/// tokens of the phrase, prefix and candidate, as in the paper's tables: a phrase of fewer tokens has another
/// divisor, which is why ranks among candidates of as many tokens are given too.
pub fn rank_all(
    model: &mut impl Remembers,
    start: &[u32],
    prefix: &[u32],
    candidates: &Candidates,
) -> Ranking {
    let before = model.log_likelihood(start, prefix);
    let context = [start, prefix].concat();
    let log_likelihoods = model.many(&context, &candidates.tokens);
    let tokens: Vec<usize> = candidates.tokens.iter().map(Vec::len).collect();
    let losses: Vec<f64> = log_likelihoods
        .iter()
        .zip(&tokens)
        .map(|(after, tokens)| loss(before + after, prefix.len() + tokens))
        .collect();
    let mut order: Vec<usize> = (0..losses.len()).collect();
    order.sort_by(|left, right| losses[*left].total_cmp(&losses[*right]));
    Ranking {
        names: candidates.names.clone(),
        tokens,
        log_likelihoods,
        losses,
        order,
    }
}

/// The mean loss of a token; infinite if a model answered with no number.
fn loss(log_likelihood: f64, tokens: usize) -> f64 {
    let loss = -log_likelihood / tokens.max(1) as f64;
    if loss.is_nan() { f64::INFINITY } else { loss }
}

/// The perplexity of a phrase: e to the mean loss of its tokens.
pub fn phrase_perplexity(model: &mut impl Remembers, start: &[u32], phrase: &[u32]) -> f64 {
    loss(model.log_likelihood(start, phrase), phrase.len()).exp()
}

impl Ranking {
    fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// The rank by this number among those candidates, smaller being better.
    fn rank(&self, secret: usize, by: impl Fn(usize) -> f64, among: impl Fn(usize) -> bool) -> Rank {
        let own = by(secret);
        let (mut before, mut equal, mut of) = (0, 0, 0);
        for place in (0..self.names.len()).filter(|place| among(*place)) {
            let other = by(place);
            before += usize::from(other < own);
            equal += usize::from(other == own);
            of += 1;
        }
        Rank {
            best: before + 1,
            worst: before + equal.max(1),
            of,
        }
    }

    /// By perplexity among all. `None` for what is no candidate.
    pub fn rank_of(&self, name: &str) -> Option<Rank> {
        self.place(name)
            .map(|secret| self.rank(secret, |place| self.losses[place], |_| true))
    }

    /// By perplexity among candidates of as many tokens.
    pub fn rank_among_equals(&self, name: &str) -> Option<Rank> {
        let secret = self.place(name)?;
        let equals = |place: usize| self.tokens[place] == self.tokens[secret];
        Some(self.rank(secret, |place| self.losses[place], equals))
    }

    /// By probability among all, whatever their number of tokens: the order in which an adversary should try
    /// them.
    pub fn rank_by_likelihood(&self, name: &str) -> Option<Rank> {
        let secret = self.place(name)?;
        // An answer that is no number is the least likely.
        let by = |place: usize| match -self.log_likelihoods[place] {
            value if value.is_nan() => f64::INFINITY,
            value => value,
        };
        Some(self.rank(secret, by, |_| true))
    }

    /// The perplexity of the phrase with this candidate.
    pub fn perplexity(&self, name: &str) -> Option<f64> {
        self.place(name).map(|place| self.losses[place].exp())
    }

    /// Mean losses of all phrases, in the order of the candidates.
    pub fn losses(&self) -> &[f64] {
        &self.losses
    }

    /// How many candidates.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Never.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    fn line(&self, place: usize) -> Line {
        Line {
            rank: self.rank(place, |place| self.losses[place], |_| true),
            name: self.names[place].clone(),
            perplexity: self.losses[place].exp(),
            tokens: self.tokens[place],
        }
    }

    /// The likeliest by perplexity, as the paper's tables have them, and the secret below if it is not among
    /// them.
    pub fn table(&self, most: usize, secret: &str) -> Vec<Line> {
        let top = &self.order[..most.min(self.order.len())];
        let rest = self.place(secret).filter(|place| !top.contains(place));
        top.iter()
            .copied()
            .chain(rest)
            .map(|place| self.line(place))
            .collect()
    }

    /// How many of the likeliest `most` share at least this many digits with the secret, place by place:
    /// neighbours that help an attacker.
    pub fn neighbours(&self, most: usize, secret: &str, shared: usize) -> usize {
        let same = |name: &str| {
            name.bytes()
                .zip(secret.bytes())
                .filter(|(own, other)| own == other)
                .count()
        };
        let top = &self.order[..most.min(self.order.len())];
        top.iter()
            .map(|place| self.names[*place].as_str())
            .filter(|name| *name != secret && same(name) >= shared)
            .count()
    }
}
