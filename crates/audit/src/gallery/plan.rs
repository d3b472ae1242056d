//! How an exhibit is audited, so that the command line, the bench and a replay do the same.

use super::exhibit::Exhibit;
use super::mechanism::{Player, Seeded};
use crate::Error;
use crate::black_box::{Chosen, Hunt, Lens, Pair, Subject, Witness};

/// An audit that its numbers determine: the same plan gives the same witness, to the last hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Of all random words.
    pub seed: u64,
    /// On both sides together, to choose and to test.
    pub draws: u64,
    /// Threads, each with its own stream of the seed.
    pub workers: u64,
    /// One minus the probability that anything found is false.
    pub confidence: f64,
    /// What is looked at.
    pub lens: Lens,
}

/// What it costs to look at a draw, in nanoseconds.
const LOOKING: f64 = 45.0;
/// What it costs to learn, in nanoseconds a draw, and for how many draws: later ones only choose the size of the event.
const LEARNING: f64 = 450.0;
const MOST_LEARNING: f64 = 25e6;

impl Plan {
    /// The draws that so many seconds of one core suffice for, where a draw takes so many nanoseconds to make.
    pub fn draws_for(seconds: f64, nanoseconds: f64) -> u64 {
        let budget = 0.95e9 * seconds;
        let few = budget / (nanoseconds + LOOKING + LEARNING / 6.0);
        let many = (budget - LEARNING * MOST_LEARNING) / (nanoseconds + LOOKING);
        // Clopper and Pearson's limits are proved for fewer than 2³² draws.
        (few.max(many) as u64).clamp(4096, u64::from(u32::MAX) - 4096)
    }

    /// The part of the draws that chooses: half of few, a sixth of many.
    pub fn choosing(&self) -> u64 {
        (self.draws / 6).max((self.draws / 2).min(1 << 20))
    }

    /// The workers, at the beginning of their streams.
    pub fn workers(&self, exhibit: &Exhibit) -> Vec<Player<Seeded>> {
        (0..self.workers.max(1))
            .map(|worker| exhibit.play(Seeded::new(self.seed, worker)))
            .collect()
    }

    /// Chooses a pair and an event.
    pub fn choose<S: Subject>(&self, workers: &mut [S], pairs: &[Pair]) -> Result<Chosen, S::Error> {
        let hunt = Hunt {
            choosing: self.choosing(),
            testing: self.draws - self.choosing(),
            delta: 0.0,
            confidence: self.confidence,
            lens: self.lens,
        };
        hunt.choose(workers, pairs)
    }

    /// Chooses and tests.
    pub fn audit(&self, exhibit: &Exhibit) -> Result<Witness, Error> {
        let mut workers = self.workers(exhibit);
        let chosen = self.choose(&mut workers, &exhibit.pairs())?;
        chosen.test(&mut workers, self.draws - self.choosing())
    }
}
