//! How an exhibit is audited, so that the command line, the bench and a replay do the same.

use super::exhibit::Exhibit;
use super::mechanism::Player;
use super::words::Seeded;
use crate::Error;
use crate::black_box::{Chosen, Hunt, Lens, Witness};

/// An audit that its numbers determine: the same plan gives the same witness, to the last hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Of all random words.
    pub seed: u64,
    /// How many there are.
    pub draws: Draws,
    /// Threads, each with its own stream of the seed.
    pub workers: u64,
    /// One minus the probability that anything found is false.
    pub confidence: f64,
    /// What is looked at.
    pub lens: Lens,
}

/// Draws on both sides together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draws {
    /// Those that choose a pair and an event.
    pub choosing: u64,
    /// Those that test it.
    pub testing: u64,
}

/// CPU time that an audit may take.
#[derive(Clone, Copy)]
pub struct Allowance<'a> {
    /// So much of it.
    pub seconds: f64,
    /// Tells the CPU seconds that all threads together have taken since any moment, or more.
    pub clock: &'a dyn Fn() -> f64,
}

/// What came of an audit within an allowance.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The plan that was made on the way. A replay of it finds the same, unless the test was stopped early.
    pub plan: Plan,
    /// What was found.
    pub witness: Witness,
    /// The part of the allowance that it took to choose.
    pub seconds_to_choose: f64,
}

/// Draws that choose half of all, where all are few.
const FEW: u64 = 1 << 20;
/// Where they are many, a test has so many times more draws.
const MANY_TIMES: u64 = 5;
/// And so many times more are what events are chosen for: a draw of a test is cheaper than one that chooses, and an event that is a little too rare costs less than one
/// that is too common.
const CHOSEN_FOR: u64 = 10;
/// Draws of a first rehearsal, and the parts of an allowance for longer ones.
const REHEARSING: u64 = 1 << 16;
const REHEARSALS: [f64; 2] = [0.01, 0.03];
/// The part of an allowance for choosing, as rehearsals foretell it. Long races are cheaper by the draw than short ones, so this is more than it takes.
const CHOOSING: f64 = 0.3;
/// The part of what is left that a test is planned for. At the end of the allowance it is stopped, and its limits are wider.
const PLANNED: f64 = 0.92;
/// Clopper and Pearson's limits are proved for fewer than 2³² draws.
const MOST: u64 = u32::MAX as u64 - 4096;

impl Draws {
    /// Half of few serve to choose, a sixth of many.
    pub fn of(all: u64) -> Self {
        let choosing = (all / (1 + MANY_TIMES)).max((all / 2).min(FEW));
        Self {
            choosing,
            testing: all - choosing,
        }
    }

    /// All of them.
    pub fn all(self) -> u64 {
        self.choosing + self.testing
    }
}

impl Plan {
    fn workers(&self, exhibit: &Exhibit, streams: std::ops::Range<u64>) -> Vec<Player<Seeded>> {
        streams
            .map(|stream| exhibit.play(Seeded::new(self.seed, stream)))
            .collect()
    }

    /// Chooses a pair and an event. That depends on the draws that choose and on nothing that comes later, so the test may be planned afterwards.
    fn choose(&self, exhibit: &Exhibit, workers: &mut [Player<Seeded>]) -> Result<Chosen, Error> {
        let choosing = self.draws.choosing;
        let hunt = Hunt {
            choosing,
            testing: if choosing < FEW {
                choosing
            } else {
                CHOSEN_FOR * choosing
            },
            delta: 0.0,
            confidence: self.confidence,
            lens: self.lens,
        };
        hunt.choose(workers, &exhibit.pairs())
    }

    /// Chooses and tests.
    pub fn audit(&self, exhibit: &Exhibit) -> Result<Witness, Error> {
        let mut workers = self.workers(exhibit, 0..self.workers.max(1));
        let chosen = self.choose(exhibit, &mut workers)?;
        chosen.test_unless(&mut workers, self.draws.testing, || false)
    }

    /// Chooses and tests with as many draws as an allowance suffices for, and not with those of this plan. How many is foretold by rehearsals on other
    /// streams of the seed: before the first draw that counts is made, their number is decided.
    pub fn audit_within(mut self, exhibit: &Exhibit, allowance: Allowance<'_>) -> Result<Outcome, Error> {
        let started = (allowance.clock)();
        let taken = || (allowance.clock)() - started;
        let streams = self.workers.max(1);
        let mut others = self.workers(exhibit, streams..2 * streams);
        let mut choose = |choosing: u64| {
            let plan = Self {
                draws: Draws { choosing, testing: 0 },
                ..self
            };
            plan.choose(exhibit, &mut others).map(drop)
        };
        let each = allowance.rehearse(&mut choose)?;
        self.draws.choosing = ((CHOOSING * allowance.seconds / each) as u64).clamp(REHEARSING / 16, MOST / 4);
        let mut workers = self.workers(exhibit, 0..streams);
        let chosen = self.choose(exhibit, &mut workers)?;
        let seconds_to_choose = taken();
        let each = allowance.rehearse(&mut |draws| chosen.rehearse(&mut others, draws))?;
        let testing = (PLANNED * (allowance.seconds - taken()) / each) as u64;
        self.draws.testing = testing.clamp(REHEARSING / 16, MOST - self.draws.choosing);
        let stop = || taken() >= 0.985 * allowance.seconds;
        let witness = chosen.test_unless(&mut workers, self.draws.testing, stop)?;
        Ok(Outcome {
            plan: self,
            witness,
            seconds_to_choose,
        })
    }
}

impl Allowance<'_> {
    /// The seconds that one more draw takes: of two runs, each longer than the one before, what the longest takes more. What a run learns first costs as much
    /// whether it is long or not, once it is long enough; a short one would foretell too much.
    fn rehearse(&self, run: &mut dyn FnMut(u64) -> Result<(), Error>) -> Result<f64, Error> {
        let mut time = |draws: u64| -> Result<f64, Error> {
            let before = (self.clock)();
            run(draws)?;
            // A clock has its own steps, and nothing is free.
            Ok(((self.clock)() - before).max(1e-6))
        };
        let (mut draws, mut took) = (REHEARSING, time(REHEARSING)?);
        let mut each = took / draws as f64;
        for part in REHEARSALS {
            let times = (part * self.seconds / took).clamp(2.0, 128.0) as u64;
            let (more, longer) = (times * draws, time(times * draws)?);
            // If something else made the shorter run long, the average of the longer one is a better guess than a difference.
            each = ((longer - took) / (more - draws) as f64).max(0.2 * longer / more as f64);
            if longer > part * self.seconds {
                break;
            }
            (draws, took) = (more, longer);
        }
        Ok(each)
    }
}
