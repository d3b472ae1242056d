//! The most that a private model can tell about a secret.

use crate::Error;
use accounting::{Curve, Delta, Event, PrivacyUnit, Promise};
use serde::{Deserialize, Serialize};

/// What (ε, δ) allows about a secret that was drawn uniformly, whatever the adversary knows and does.
///
/// Claim: P(rank ≤ r) ≤ min(e^ε·r/n + δ, 1 − e^(−ε)·(1 − r/n − δ)), for a guarantee about all records that
/// hold the secret, added or removed.
/// Proof: without those records the model, and so the list of candidates that an adversary makes of it, is
/// independent of the secret: it is among the first r with probability r/n. That the secret is among the
/// first r is an event of the model for each value of the secret, so with them it is at most e^ε·r/n + δ; and
/// that it is not, which has 1 − r/n without them, is at most e^ε·P(rank > r) + δ, which is the second bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// ε of all records with the secret together, rounded up.
    pub epsilon: f64,
    /// δ of them.
    pub delta: f64,
}

impl Limit {
    /// Of a promise about exactly the records that hold the secret. `None` for a promise in another currency.
    pub fn of(promise: &Promise) -> Option<Self> {
        match promise {
            Promise::Pure(epsilon) => Some(Self {
                epsilon: epsilon.to_f64_up(),
                delta: 0.0,
            }),
            Promise::Approximate(epsilon, delta) => Some(Self {
                epsilon: epsilon.to_f64_up(),
                delta: delta.to_f64_up(),
            }),
            Promise::Concentrated(_) => None,
        }
    }

    /// The largest probability that a secret, uniform among this many, is among the first `rank`.
    pub fn among_the_first(&self, rank: usize, candidates: usize) -> f64 {
        let chance = rank as f64 / candidates.max(1) as f64;
        // Beyond e^700 a float is infinite, and infinitely many times no chance is none.
        let likelier = self.epsilon.min(700.0).exp() * chance + self.delta;
        let missed = (-self.epsilon).exp() * (1.0 - chance - self.delta);
        likelier.min(1.0 - missed.max(0.0)).min(1.0)
    }

    /// The smallest expected rank: Σ P(rank > r) over r = 0, 1, …
    pub fn expected_rank(&self, candidates: usize) -> f64 {
        (0..candidates)
            .map(|rank| 1.0 - self.among_the_first(rank, candidates))
            .sum()
    }

    /// Whether it says more than that a probability is at most 1: that the first guess may be right for sure
    /// is no limit.
    pub fn says_something(&self, candidates: usize) -> bool {
        self.among_the_first(1, candidates) < 0.5
    }
}

/// What a training run promises to `copies` records that hold the same secret, with this δ in all: ε for k
/// copies, as small as walking through k neighbours shows.
///
/// Claim: (kε, δ·(e^(kε) − 1)/(e^ε − 1)) for every point (ε, δ) of the run's curve; of those points the one
/// whose second number just fits. `None` when no point of the curve fits: then nothing is promised to this
/// many copies.
///
/// # Errors
/// When the run has no curve.
pub fn for_copies(
    event: &Event,
    unit: &PrivacyUnit,
    copies: u32,
    delta: &Delta,
) -> Result<Option<Promise>, Error> {
    let curve = Curve::of(event, unit)?;
    if copies <= 1 {
        return Ok(Some(curve.guarantee(delta)?.promise().clone()));
    }
    // The group's δ falls as δ' = 10⁻ʲ does, though ε(δ') grows meanwhile. What the ε of one j demands is a
    // lower bound on the j that is needed, so going from demand to demand ends at the first that fits.
    let mut places = (-delta.to_f64_up().log10()).floor().max(1.0) as u32;
    while places <= MOST_PLACES {
        let single = curve.guarantee(&Delta::parse(&format!("1e-{places}"))?)?;
        if let Ok(group) = single.promise().for_group(copies) {
            match &group {
                Promise::Approximate(_, total) if total > delta => {}
                _ => return Ok(Some(group)),
            }
        }
        let epsilon = Limit::of(single.promise()).map_or(0.0, |limit| limit.epsilon);
        // ln of (e^(kε) − 1)/(e^ε − 1), from below.
        let factor = f64::from(copies - 1) * epsilon;
        let demanded = (factor - delta.to_f64_up().ln()) / std::f64::consts::LN_10;
        places = (places + 1).max(demanded.floor().min(1e6) as u32);
    }
    Ok(None)
}

/// What may become known of a secret that is in this many records.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Allowed {
    /// In how many records the secret is.
    pub copies: u32,
    /// What is promised to all of them together; `None` for nothing.
    pub limit: Option<Limit>,
    /// The largest probability that the first guess is right.
    pub first_guess: f64,
    /// The smallest expected rank.
    pub expected_rank: f64,
}

/// A line for each number of copies: ε is a promise to one record, and what several records say alike is
/// hidden less well.
///
/// # Errors
/// When the run has no curve.
pub fn allowed(
    event: &Event,
    unit: &PrivacyUnit,
    copies: &[u32],
    delta: &Delta,
    candidates: usize,
) -> Result<Vec<Allowed>, Error> {
    let line = |copies: &u32| {
        let promise = for_copies(event, unit, *copies, delta)?;
        let limit = promise.as_ref().and_then(Limit::of);
        Ok(Allowed {
            copies: *copies,
            limit,
            first_guess: limit.map_or(1.0, |limit| limit.among_the_first(1, candidates)),
            expected_rank: limit.map_or(1.0, |limit| limit.expected_rank(candidates)),
        })
    };
    copies.iter().map(line).collect()
}

/// A δ has at most some 300 decimal places.
const MOST_PLACES: u32 = 280;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seeded;
    use accounting::{Neighbors, Ratio, Sampler};

    #[test]
    fn no_privacy_and_perfect_privacy() {
        let nothing_reported = Limit {
            epsilon: 0.0,
            delta: 0.0,
        };
        assert!((nothing_reported.among_the_first(10, 10_000) - 0.001).abs() < 1e-12);
        assert!((nothing_reported.expected_rank(10_000) - 5_000.5).abs() < 1e-6);
        let all_reported = Limit {
            epsilon: 50.0,
            delta: 0.0,
        };
        assert!(!all_reported.says_something(10_000) && all_reported.among_the_first(1, 10_000) <= 1.0);
        assert!(all_reported.expected_rank(10_000) < 1.1);
    }

    /// Randomized response over n secrets is the strongest ε-DP hint: it reaches the bound on the first guess
    /// up to the factor n/(n − 1 + e^ε).
    #[test]
    fn the_bound_holds_and_is_nearly_reached() {
        let (candidates, epsilon) = (1_000usize, 3.0f64);
        let limit = Limit { epsilon, delta: 0.0 };
        let kept = epsilon.exp() / (epsilon.exp() + candidates as f64 - 1.0);
        assert!(kept <= limit.among_the_first(1, candidates));
        assert!(kept * 1.05 > limit.among_the_first(1, candidates));
        // A mutant that keeps twice as often breaks it, and draws tell: 40,000 draws, limit exceeded by 20
        // deviations.
        let mut seeded = Seeded::new(1);
        let draws = 40_000;
        for (keep, within) in [(kept, true), (2.0 * kept, false)] {
            let right = (0..draws).filter(|_| seeded.unit() < keep).count() as f64 / f64::from(draws);
            let slack = 6.5 * (keep / f64::from(draws)).sqrt();
            assert_eq!(right <= limit.among_the_first(1, candidates) + slack, within);
        }
    }

    #[test]
    fn copies_cost_more_and_many_are_promised_nothing() {
        let event = Event::Repeated {
            event: Box::new(Event::SampledGaussian {
                sampler: Sampler::Poisson {
                    rate: Ratio::parse("0.001").unwrap(),
                },
                multiplier_squared: Ratio::parse("4").unwrap(),
            }),
            times: 100,
        };
        let unit = PrivacyUnit::new("record", Neighbors::AddRemove);
        let delta = Delta::parse("1e-6").unwrap();
        let epsilon = |copies| {
            let promise = for_copies(&event, &unit, copies, &delta).unwrap()?;
            let Promise::Approximate(epsilon, total) = promise else {
                panic!("an (ε, δ) promise")
            };
            assert!(total <= delta);
            Some(epsilon.to_f64_up())
        };
        let (one, ten) = (epsilon(1).unwrap(), epsilon(10).unwrap());
        assert!(ten >= 10.0 * one && ten < 60.0 * one, "{one} {ten}");
        // Stretching the promise with the same δ would break it: the group's δ would be larger.
        let stretched = for_copies(&event, &unit, 1, &delta)
            .unwrap()
            .unwrap()
            .for_group(10);
        assert!(matches!(stretched, Ok(Promise::Approximate(_, total)) if total > delta));
        let sure = Event::SampledGaussian {
            sampler: Sampler::Poisson {
                rate: Ratio::parse("0.5").unwrap(),
            },
            multiplier_squared: Ratio::parse("0.01").unwrap(),
        };
        let lines = allowed(&sure, &unit, &[404], &delta, 10_000).unwrap();
        assert_eq!(
            (lines[0].limit, lines[0].first_guess, lines[0].expected_rank),
            (None, 1.0, 1.0)
        );
    }
}
