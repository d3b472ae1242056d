//! From scores and coins to a verdict.
//!
//! The number of canaries alone, or the caller, decides how many guesses are made, before coins are looked
//! at. For each number the surest guesses are made, on both sides alike. The bound is the best of all
//! numbers, and each is tested at its part of the false-alarm rate: [`Tried`] has the proof.

use super::{Found, Secrets, Tried, guess, judge, sides};
use crate::black_box::FindingVerdict;
use crate::document::{Claim, Mistake, fail};
use exact::to_f64_up;

/// The numbers of guesses that are tried.
#[derive(Clone, Debug)]
pub struct Tries {
    canaries: usize,
    /// On each side: this many are said to be in, and as many to be out.
    sides: Vec<usize>,
}

impl Tries {
    /// All usual ones, or the one that was decided on.
    pub fn new(canaries: usize, each_side: Option<usize>) -> Result<Self, Mistake> {
        let sides = match each_side {
            None => sides(canaries),
            Some(side) if side > 0 && side <= canaries / 2 => vec![side],
            Some(_) => {
                return fail(
                    format!("--guesses must lie between 1 and {}", canaries / 2),
                    "it counts guesses on each side: this many in, and as many out",
                );
            }
        };
        Ok(Self { canaries, sides })
    }

    /// The largest ε that can be shown at δ = 0 and confidence 0.95, if every guess is right.
    pub fn largest_bound(&self) -> Result<f64, Mistake> {
        let none = self.sides.iter().map(|side| (2 * *side as u64, 0)).collect();
        let tried = Tried::new(self.canaries as u64, none)?;
        Ok(tried.largest_bound(0.0, 0.95)?)
    }
}

/// What was claimed, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Claimed {
    /// Whether it is refuted.
    pub verdict: FindingVerdict,
    /// The most right guesses that it allows, for each number of guesses.
    pub allowed: Vec<u64>,
    /// The share of right guesses that ε allows on average.
    pub mean: f64,
}

/// A run that was judged.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What was claimed.
    pub claim: Claim,
    /// One minus the probability of a false alarm.
    pub confidence: f64,
    /// Canaries in all.
    pub canaries: usize,
    /// How many of them were in the text.
    pub inside: usize,
    /// Guesses and how many were right.
    pub counts: Vec<(u64, u64)>,
    /// The lower bound on ε.
    pub found: Found,
    /// The largest ε that could be shown, if every guess were right.
    pub largest: f64,
    /// The verdict on the claim, if there is one.
    pub claimed: Option<Claimed>,
}

impl Judged {
    /// Guesses by scores, and only then looks at the coins.
    pub fn new(
        secrets: &Secrets,
        scores: &[f64],
        tries: &Tries,
        claim: Claim,
        confidence: f64,
    ) -> Result<Self, Mistake> {
        let mut guessed = Vec::new();
        for side in &tries.sides {
            guessed.push(guess(scores, *side, *side)?);
        }
        let coins = secrets.coins();
        let mut counts = Vec::new();
        for guesses in &guessed {
            let judged = judge(guesses, &coins)?;
            counts.push((judged.guesses as u64, judged.correct as u64));
        }
        let tried = Tried::new(coins.len() as u64, counts.clone())?;
        // Claims are rounded up, in favour of the claimant.
        let delta = to_f64_up(&claim.delta_or_zero().0);
        let found = tried.lower_bound(delta, confidence)?;
        let claimed = match &claim.epsilon {
            None => None,
            Some(epsilon) => {
                let epsilon = to_f64_up(&epsilon.0);
                let allowed = (0..counts.len())
                    .map(|place| tried.most_allowed(place, epsilon, delta, confidence))
                    .collect::<Result<_, crate::Error>>()?;
                Some(Claimed {
                    verdict: if found.epsilon > epsilon {
                        FindingVerdict::Refuted
                    } else {
                        FindingVerdict::Consistent
                    },
                    allowed,
                    mean: 1.0 / (1.0 + (-epsilon).exp()),
                })
            }
        };
        Ok(Self {
            largest: tried.largest_bound(delta, confidence)?,
            canaries: coins.len(),
            inside: secrets.inside(),
            claim,
            confidence,
            counts,
            found,
            claimed,
        })
    }

    /// Whether a claim was refuted; not if there is none.
    pub fn refuted(&self) -> bool {
        let verdict = self.claimed.as_ref().map(|claimed| claimed.verdict);
        verdict == Some(FindingVerdict::Refuted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_guesses_may_be_fixed() {
        for bad in [0, 501, usize::MAX] {
            assert!(Tries::new(1000, Some(bad)).is_err());
        }
        let one = Tries::new(1000, Some(500)).expect("tries");
        let all = Tries::new(1000, None).expect("tries");
        let bound = |tries: &Tries| tries.largest_bound().expect("a bound");
        assert!(bound(&one) > bound(&all), "a choice is paid for");
    }
}
