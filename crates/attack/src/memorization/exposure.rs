//! How many bits of a secret a model tells.
//!
//! A secret that was drawn uniformly from n has, in a model that never saw it, a rank that is uniform in
//! 1..=n, whatever the model finds likely. Exposure is log₂ n − log₂ rank: if nothing was remembered, it is
//! at least b bits with probability 2⁻ᵇ. So one high exposure is chance, and many are not.

use super::{Rank, Ranking, SkewNormal};
use serde::{Deserialize, Serialize};

/// Exposure in bits. A tie is a range of ranks, hence of exposures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exposure {
    /// If the secret is the last of its equals.
    pub least: f64,
    /// If it is the first.
    pub most: f64,
}

impl Rank {
    /// log₂ of the number of candidates, less log₂ of the rank.
    pub fn exposure(&self) -> Exposure {
        let bits = |rank: usize| (self.of as f64 / rank as f64).log2();
        Exposure {
            least: bits(self.worst),
            most: bits(self.best),
        }
    }

    /// The probability that a secret which the model never saw ranks at least as high: exact where secrets
    /// are uniform.
    pub fn chance(&self) -> f64 {
        self.worst as f64 / self.of.max(1) as f64
    }
}

impl Ranking {
    /// Exposure by a distribution fitted to all losses instead of by rank. It goes on where ranks end at 1: a
    /// secret far below all others is worth more bits than log₂ n. An extrapolation, only as good as the fit
    /// ([`SkewNormal::distance`]). `None` if all losses are equal or one is not finite.
    pub fn extrapolated_exposure(&self, name: &str) -> Option<(f64, SkewNormal)> {
        let loss = self.perplexity(name)?.ln();
        let fit = SkewNormal::fit(self.losses())?;
        Some((-fit.log_below(loss) / std::f64::consts::LN_2, fit))
    }
}

/// Exposures of several secrets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many secrets.
    pub secrets: usize,
    /// On average; 1.44 bits if nothing was remembered and there are many candidates.
    pub mean: f64,
    /// Smallest, lower quartile, median, upper quartile, largest.
    pub quantiles: [f64; 5],
    /// How many rank first.
    pub first: usize,
}

impl Summary {
    /// Of these ranks, ties counted against the attack. `None` for none.
    pub fn of(ranks: &[Rank]) -> Option<Self> {
        let mut bits: Vec<f64> = ranks.iter().map(|rank| rank.exposure().least).collect();
        bits.sort_by(f64::total_cmp);
        let last = bits.len().checked_sub(1)?;
        Some(Self {
            secrets: bits.len(),
            mean: bits.iter().sum::<f64>() / bits.len() as f64,
            quantiles: [0, 1, 2, 3, 4].map(|quarter| bits[(last * quarter + 2) / 4]),
            first: ranks.iter().filter(|rank| rank.worst == 1).count(),
        })
    }
}

/// Whether ranks of references are what they must be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Uniformity {
    /// The largest distance between the ranks' distribution and the uniform one that no breaking of ties
    /// removes.
    pub distance: f64,
    /// How large it may be by chance.
    pub limit: f64,
    /// Whether it is within.
    pub uniform: bool,
}

/// Tests that ranks of secrets which no model saw are uniform: if not, the experiment is wrong (secrets not
/// uniform, or planted after all).
///
/// Claim: false alarm at most `false_alarm` for independent uniform ranks, by the inequality of Dvoretzky,
/// Kiefer and Wolfowitz with Massart's constant, P(sup |Fₙ − F| > t) ≤ 2e^(−2nt²), which holds for discrete
/// distributions too. A tie is counted where it does least harm.
pub fn uniformity(ranks: &[Rank], false_alarm: f64) -> Uniformity {
    let limit = ((2.0 / false_alarm).ln() / (2.0 * ranks.len().max(1) as f64)).sqrt();
    let distance = excess(ranks, Rank::chance).max(lack(ranks));
    Uniformity {
        distance,
        limit,
        uniform: distance <= limit,
    }
}

/// By how much more ranks are small than uniform ones would be: sup Fₙ(x) − x.
fn excess(ranks: &[Rank], place: impl Fn(&Rank) -> f64) -> f64 {
    let mut places: Vec<f64> = ranks.iter().map(place).collect();
    places.sort_by(f64::total_cmp);
    let count = places.len().max(1) as f64;
    let above = (1u32..).zip(&places);
    above
        .map(|(below, place)| f64::from(below) / count - place)
        .fold(0.0, f64::max)
}

/// By how much fewer ranks are small than uniform ones would be: sup P(rank < r) − Fₙ(just below r).
fn lack(ranks: &[Rank]) -> f64 {
    let mut places: Vec<f64> = ranks
        .iter()
        .map(|rank| (rank.best - 1) as f64 / rank.of.max(1) as f64)
        .collect();
    places.sort_by(f64::total_cmp);
    let count = places.len().max(1) as f64;
    let below = (0u32..).zip(&places);
    below
        .map(|(below, place)| place - f64::from(below) / count)
        .fold(0.0, f64::max)
}

/// Whether secrets were remembered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    /// By how much more of the planted secrets rank high than chance allows.
    pub excess: f64,
    /// An upper bound on the probability of so much if nothing was remembered.
    pub chance: f64,
}

/// Do planted secrets rank higher than secrets that a model never saw? Ties count against it.
///
/// Claim: where nothing is remembered, `chance` ≤ p has probability at most p, for independent uniform
/// secrets: the one-sided inequality of Massart (1990), P(sup (Fₙ − F) > t) ≤ e^(−2nt²), which holds for p ≤
/// 1/2, and, for one rank by itself, its own probability times their number (Bonferroni); each with half the
/// p.
pub fn remembered(ranks: &[Rank]) -> Remembered {
    let excess = excess(ranks, Rank::chance);
    let count = ranks.len() as f64;
    let together = (-2.0 * count * excess * excess).exp();
    let alone = ranks.iter().map(Rank::chance).fold(1.0, f64::min) * count;
    let chance = 2.0 * together.min(alone);
    Remembered {
        excess,
        // Massart's inequality says nothing above one half.
        chance: if chance > 1.0 || ranks.is_empty() {
            1.0
        } else {
            chance
        },
    }
}
