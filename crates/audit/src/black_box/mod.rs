//! A lower bound on ε from samples.
//!
//! Run the mechanism on two neighbouring inputs many times. If it is (ε, δ)-private then for *every* event S
//! P(S) ≤ e^ε Q(S) + δ; one event for which that is refuted refutes the claim. So:
//!
//! 1. On the first half of the draws an event is learned: outputs are reduced to integer keys by [`Feature`]s
//!    (the value, its order, the low bits of a float, …), keys are ranked by how much likelier they are on
//!    one side, and the best event of all features, both sides and all thresholds is chosen.
//! 2. On the second half that one event is counted, and its probabilities bounded by exact binomial limits:
//!    ε ≥ ln((p_lower − δ) / q_upper).
//!
//! The event depends on the first half only, so it is fixed before the second half is drawn: one test is
//! made, however many events were looked at, and no correction is due. Each of the two limits fails with
//! probability at most (1 − confidence)/2, so a private mechanism is refuted with probability at most 1 −
//! confidence: that is the false-alarm rate, whatever the features do.
//!
//! Nothing here can confirm a claim: [`FindingVerdict::Consistent`] means that *these* features found
//! nothing.
//!
//! [`BlackBox`] is that audit on features that the caller names, for tests beside a mechanism. [`Hunt`] is
//! the same idea at depth: outputs are rows of numbers, the event is learned, pairs of neighbours are
//! searched, both cores work, and the audit may stop at any moment.

mod additive;
mod cells;
mod chosen;
mod cuts;
mod effort;
mod feature;
mod group;
mod hunt;
mod learn;
mod race;
mod rank;
mod recipe;
pub mod sequential;
mod shortcut;
mod subject;
mod tell;
mod view;

pub use crate::binomial::{clopper_pearson, lower_limit, upper_limit};
pub use chosen::{Chosen, Witness};
pub use effort::Hunt;
pub use feature::{Feature, lowest_bit_exponent};
pub use subject::{Pair, Subject, word};
pub use view::Lens;

use crate::Error;
use learn::{Event, Learner};

/// Which of the two neighbouring inputs to run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The first input.
    First,
    /// Its neighbour.
    Second,
}

impl Side {
    fn index(self) -> usize {
        match self {
            Side::First => 0,
            Side::Second => 1,
        }
    }

    fn other(self) -> Self {
        match self {
            Side::First => Side::Second,
            Side::Second => Side::First,
        }
    }
}

/// An audit by sampling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlackBox {
    /// Draws from each side: a quarter to rank keys, a quarter to choose the event, half to test it.
    pub samples_per_side: u64,
    /// The δ for which ε is bounded.
    pub delta: f64,
    /// One minus the probability of a false alarm, for example 1 − 1e-9.
    pub confidence: f64,
}

/// How often the event happened among the draws that test it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// On the side where it is likelier.
    pub likely: u64,
    /// On the other side.
    pub unlikely: u64,
    /// Draws from each side.
    pub trials: u64,
}

/// What the draws prove, at the stated confidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// ε is at least this.
    pub epsilon_lower: f64,
    /// The event that shows it, for a person to read.
    pub event: String,
    /// The side on which the event is likelier.
    pub likely_side: Side,
    /// How often it happened.
    pub counts: Counts,
    /// P(event) on the likely side is at least this.
    pub likely_at_least: f64,
    /// P(event) on the other side is at most this.
    pub unlikely_at_most: f64,
    /// The confidence with which all of this holds.
    pub confidence: f64,
    /// The δ that `epsilon_lower` is for.
    pub delta: f64,
}

/// What a finding says about a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingVerdict {
    /// The claim is false, but for the stated probability of a false alarm.
    Refuted,
    /// Nothing was found against it. That is not a proof.
    Consistent,
}

impl Finding {
    /// Judges a claimed (ε, δ). The two limits hold together for every δ, so any number of claims may be
    /// judged.
    pub fn verdict(&self, claimed_epsilon: f64, claimed_delta: f64) -> FindingVerdict {
        let bound = epsilon_bound(self.likely_at_least, self.unlikely_at_most, claimed_delta);
        if bound > claimed_epsilon {
            FindingVerdict::Refuted
        } else {
            FindingVerdict::Consistent
        }
    }
}

/// ln((p − δ)/q), at least 0, less an allowance for the rounding of three float operations.
fn epsilon_bound(likely_at_least: f64, unlikely_at_most: f64, delta: f64) -> f64 {
    let excess = likely_at_least - delta;
    if excess <= 0.0 || unlikely_at_most <= 0.0 {
        return 0.0;
    }
    ((excess / unlikely_at_most).ln() - 1e-12).max(0.0)
}

/// Fewer draws than this decide nothing.
const FEWEST: u64 = 16;

impl BlackBox {
    /// Draws from both sides, learns an event, tests it. Memory is bounded: only counts of keys are kept.
    pub fn audit<O>(
        &self,
        mut draw: impl FnMut(Side) -> O,
        features: &[Feature<O>],
    ) -> Result<Finding, Error> {
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(Error::ConfidenceOutOfRange);
        }
        if !(0.0..=1.0).contains(&self.delta) {
            return Err(Error::DeltaOutOfRange);
        }
        if features.is_empty() {
            return Err(Error::NoFeatures);
        }
        if self.samples_per_side < FEWEST {
            return Err(Error::TooFewSamples {
                samples: self.samples_per_side,
                least: FEWEST,
            });
        }
        let quarter = self.samples_per_side / 4;
        let failure = (1.0 - self.confidence) / 2.0;
        let mut learners: Vec<Learner> = features
            .iter()
            .map(|feature| Learner::new(feature.is_ordered()))
            .collect();
        for ranking in [true, false] {
            for _ in 0..quarter {
                for side in [Side::First, Side::Second] {
                    let output = draw(side);
                    for (learner, feature) in learners.iter_mut().zip(features) {
                        learner.count(feature.key(&output), side, ranking);
                    }
                }
            }
        }
        let trials = self.samples_per_side - 2 * quarter;
        let candidates = learners
            .iter()
            .map(|learner| learner.best_event(self.delta, failure));
        let (feature, event) = features
            .iter()
            .zip(candidates)
            .max_by(|a, b| a.1.score.total_cmp(&b.1.score))
            .expect("there is at least one feature");
        drop(learners);
        let hits = test(&mut draw, feature, &event, trials);
        let (likely, unlikely) = (
            hits[event.likely_side.index()],
            hits[event.likely_side.other().index()],
        );
        let likely_at_least = lower_limit(likely, trials, failure);
        let unlikely_at_most = upper_limit(unlikely, trials, failure);
        Ok(Finding {
            epsilon_lower: epsilon_bound(likely_at_least, unlikely_at_most, self.delta),
            event: event.describe(feature),
            likely_side: event.likely_side,
            counts: Counts {
                likely,
                unlikely,
                trials,
            },
            likely_at_least,
            unlikely_at_most,
            confidence: self.confidence,
            delta: self.delta,
        })
    }
}

fn test<O>(draw: &mut impl FnMut(Side) -> O, feature: &Feature<O>, event: &Event, trials: u64) -> [u64; 2] {
    let mut hits = [0u64; 2];
    for _ in 0..trials {
        for side in [Side::First, Side::Second] {
            hits[side.index()] += u64::from(event.contains(feature.key(&draw(side))));
        }
    }
    hits
}
