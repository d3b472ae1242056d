//! How an exhibit is audited, so that the command line, the bench and a replay do the same.

use super::exhibit::Exhibit;
use super::mechanism::Player;
use super::words::Seeded;
use crate::Error;
use crate::black_box::{Chosen, Hunt, Lens, Witness};

/// An audit that its numbers determine: the same plan gives the same witness, to the last hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AuditPlan {
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

/// The result of an audit within an allowance.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The plan that was made on the way. A replay of it finds the same, unless choosing or the test was
    /// stopped early.
    pub plan: AuditPlan,
    /// What was found.
    pub witness: Witness,
    /// The part of the allowance that it took to choose.
    pub seconds_to_choose: f64,
}

/// Draws that choose half of all, where all are few.
const FEW: u64 = 1 << 20;
/// If they are many, a test has this many times more draws.
const MANY_TIMES: u64 = 5;
/// And this many times more are what events are chosen for: a draw of a test is cheaper than one that
/// chooses, and an event that is a little too rare costs less than one that is too common.
const CHOSEN_FOR: u64 = 10;
/// Draws of a first rehearsal, and the parts of an allowance for longer ones.
const REHEARSING: u64 = 1 << 16;
const REHEARSALS: [f64; 2] = [0.01, 0.03];
/// The part of an allowance at which choosing is planned to end, rehearsals included, and the part at which
/// it is cut short: the rest is for the test.
const CHOOSING: f64 = 0.3;
const CHOOSING_AT_MOST: f64 = 0.38;
/// The part of what is left that a test is planned for. At the end of the allowance it is stopped, and its
/// limits are wider.
const PLANNED: f64 = 0.91;
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

impl AuditPlan {
    fn workers(&self, exhibit: &Exhibit, streams: std::ops::Range<u64>) -> Vec<Player<Seeded>> {
        streams
            .map(|stream| exhibit.play(Seeded::new(self.seed, stream)))
            .collect()
    }

    /// Chooses a pair and an event. That depends on the draws that choose and on nothing that comes later, so
    /// the test may be planned afterwards.
    fn choose(
        &self,
        exhibit: &Exhibit,
        workers: &mut [Player<Seeded>],
        late: impl FnMut() -> bool,
    ) -> Result<Chosen, Error> {
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
        hunt.choose_unless(workers, &exhibit.pairs(), late)
    }

    /// Chooses and tests.
    pub fn audit(&self, exhibit: &Exhibit) -> Result<Witness, Error> {
        let mut workers = self.workers(exhibit, 0..self.workers.max(1));
        let chosen = self.choose(exhibit, &mut workers, || false)?;
        chosen.test_unless(&mut workers, self.draws.testing, || false)
    }

    /// Chooses and tests with as many draws as an allowance suffices for, and not with those of this plan.
    /// How many is foretold by rehearsals on other streams of the seed: before the first draw that counts is
    /// made, their number is decided. Choosing and testing have fixed parts of the allowance: choosing that
    /// takes longer than was foretold is cut short, so that the test has its part.
    pub fn audit_within(mut self, exhibit: &Exhibit, allowance: Allowance<'_>) -> Result<Outcome, Error> {
        let started = (allowance.clock)();
        let taken = || (allowance.clock)() - started;
        let late = || taken() >= CHOOSING_AT_MOST * allowance.seconds;
        let streams = self.workers.max(1);
        let mut others = self.workers(exhibit, streams..2 * streams);
        let mut choose = |choosing: u64| {
            let plan = Self {
                draws: Draws { choosing, testing: 0 },
                ..self
            };
            plan.choose(exhibit, &mut others, late).map(drop)
        };
        let times = allowance.rehearse(&mut choose)?;
        let cost = Cost::of_choosing(times);
        let choosing = cost.draws_within(CHOOSING * allowance.seconds - taken());
        self.draws.choosing = choosing.clamp(REHEARSING / 16, MOST / 4);
        let mut workers = self.workers(exhibit, 0..streams);
        let chosen = self.choose(exhibit, &mut workers, late)?;
        let seconds_to_choose = taken();
        let [_, short, long] = allowance.rehearse(&mut |draws| chosen.rehearse(&mut others, draws))?;
        // If something else made the shorter run long, the average of the longer one is a better guess than a
        // difference.
        let each = ((long.seconds - short.seconds) / (long.draws - short.draws) as f64)
            .max(0.5 * long.seconds / long.draws as f64);
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

/// A rehearsal: this many draws took so long.
#[derive(Clone, Copy, Debug)]
struct Rehearsal {
    draws: u64,
    seconds: f64,
}

impl Allowance<'_> {
    /// A short run, and two that are longer, as long as their parts of the allowance suffice for.
    fn rehearse(&self, run: &mut dyn FnMut(u64) -> Result<(), Error>) -> Result<[Rehearsal; 3], Error> {
        let mut time = |draws: u64| -> Result<Rehearsal, Error> {
            let before = (self.clock)();
            run(draws)?;
            // A clock has its own steps, and nothing is free.
            let seconds = ((self.clock)() - before).max(1e-6);
            Ok(Rehearsal { draws, seconds })
        };
        let short = time(REHEARSING)?;
        let longer = |part: f64, run: Rehearsal| {
            let times = (part * self.seconds / run.seconds).clamp(2.0, 64.0);
            (times * run.draws as f64) as u64
        };
        let middle = time(longer(REHEARSALS[0], short))?;
        let long = time(longer(REHEARSALS[1], middle))?;
        Ok([short, middle, long])
    }
}

/// What choosing costs: a row to learn from costs far more than a draw that is counted, and the more draws
/// there are, the smaller is the part of them to learn from. And what is done once costs as much in a short
/// run as in a long one. So seconds by the draw of a short run would foretell far too much of a long one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    once: f64,
    learned: f64,
    counted: f64,
}

/// A row to learn from costs about as much as this many draws that are counted: between eight and thirty in
/// the gallery. To find it from rehearsals would take times that are more exact than those of a machine that
/// others use as well; half or twice of it makes a plan wrong by a third.
const LEARNED_TIMES: f64 = 15.0;

impl Cost {
    /// The line through the shortest rehearsal and the longest.
    fn of_choosing([short, _, long]: [Rehearsal; 3]) -> Self {
        let work = |run: Rehearsal| LEARNED_TIMES * Hunt::rows_learned(run.draws) as f64 + run.draws as f64;
        let more = (long.seconds - short.seconds).max(0.1 * long.seconds);
        let counted = more / (work(long) - work(short)).max(1.0);
        Self {
            once: (short.seconds - counted * work(short)).clamp(0.0, long.seconds),
            learned: LEARNED_TIMES * counted,
            counted,
        }
    }

    fn seconds(self, draws: u64) -> f64 {
        self.once + self.learned * Hunt::rows_learned(draws) as f64 + self.counted * draws as f64
    }

    /// The largest number of draws that these seconds suffice for.
    fn draws_within(self, seconds: f64) -> u64 {
        let (mut enough, mut too_many) = (0, MOST);
        while too_many - enough > 1 {
            let middle = u64::midpoint(enough, too_many);
            if self.seconds(middle) <= seconds {
                enough = middle;
            } else {
                too_many = middle;
            }
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Costs that are known are found again from two rehearsals, and foretell a run that is far longer than
    /// both, also where learning costs half or twice of what is assumed. The mutant, seconds by the draw of
    /// the longer rehearsal, plans two thirds of what there is time for, or less.
    #[test]
    fn costs_of_learning_and_counting_are_reported_apart() {
        let rehearsals = |truth: Cost| {
            [REHEARSING, 1 << 20, 1 << 22].map(|draws: u64| Rehearsal {
                draws,
                seconds: truth.seconds(draws),
            })
        };
        for (times, wrong) in [(15.0, 0.02), (7.5, 0.35), (30.0, 0.35)] {
            let truth = Cost {
                once: 0.3,
                learned: times * 2.5e-7,
                counted: 2.5e-7,
            };
            let found = Cost::of_choosing(rehearsals(truth));
            let (planned, possible) = (found.draws_within(15.0), truth.draws_within(15.0));
            assert!(
                planned.abs_diff(possible) as f64 <= wrong * possible as f64,
                "{planned} of {possible}"
            );
        }
        let truth = Cost {
            once: 0.3,
            learned: 3.75e-6,
            counted: 2.5e-7,
        };
        let [short, middle, long] = rehearsals(truth);
        let mutant = (15.0 * long.draws as f64 / long.seconds) as u64;
        let possible = truth.draws_within(15.0);
        assert!(mutant < 2 * possible / 3, "{mutant} of {possible}");
        // A clock that something else has disturbed gives no costs below zero.
        let longer = |run: Rehearsal| Rehearsal {
            seconds: 10.0 + run.seconds,
            ..run
        };
        for times in [
            [longer(short), middle, long],
            [short, longer(middle), long],
            [short, middle, longer(long)],
        ] {
            let cost = Cost::of_choosing(times);
            assert!(
                cost.once >= 0.0 && cost.learned >= 0.0 && cost.counted > 0.0,
                "{cost:?}"
            );
        }
    }
}
