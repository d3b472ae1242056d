//! An event that was chosen, and its test.
//!
//! # The bound
//!
//! Each draw of the test is on the side that a fair coin chose ([`Subject::bits`]). Given that a draw hits the event, it came from
//! the likely side with probability θ = p/(p+q), independently of all others. So the hits alone are trials of one coin, and for δ = 0 a lower
//! limit on θ is a lower limit on ε: ln(θ/(1−θ)) = ln(p/q). One limit on one coin is tighter than two limits on p and q, by half of
//! the draws. For δ > 0 there is no such coin, and p and q are bounded each.
//!
//! What the test says holds together with probability at least `confidence`: half of the error goes to limits on θ, the other half in equal
//! parts to the limits on p and q of every event of a nested family around the chosen one, which gives a bound for every δ
//! ([`Witness::epsilon_at`]). The event, its rivals, the family, the pair and the likely side are fixed before the first draw of the test, so nothing else is owed.
//!
//! The chosen event has rivals, which looked nearly as good. Each of them is a coin of its own, and each limit on a θ has its own part of that half: the chosen one
//! [`PART_OF_CHOSEN`] and the rivals the rest in equal parts. By the union bound all of these limits hold together but for that half, so the largest may be told, and
//! the event that has it, although the test itself says which one that is.
//!
//! With [`Chosen::test`] the number of draws is fixed beforehand and limits are Clopper and Pearson's; with [`Chosen::test_until`] they hold at
//! all moments (see [`super::sequential`]), and the caller may stop whenever the evidence, or the patience, suffices. [`Chosen::test_unless`] has both.

use super::cells::Partition;
use super::race::{Look, Winner};
use super::sequential::{Guess, lower_limit_always, upper_limit_always};
use super::shortcut::Shortcut;
use super::subject::{Pair, Subject, Teller, run};
use super::tell::{Cells, describe};
use super::{Side, Verdict, epsilon_bound};
use crate::binomial::{lower_limit, upper_limit};

/// An event on a pair of inputs, ready to be tested.
#[derive(Clone, Debug)]
pub struct Chosen {
    pair: Pair,
    likely: Side,
    /// The ways to look that the chosen event (the first) and its rivals need.
    looks: Vec<Labelled>,
    /// The chosen event and its rivals.
    contenders: Vec<Contender>,
    /// What the draws that chose it counted for each member: on the likely side and on the other.
    guesses: Vec<[u64; 2]>,
    drawn: [u64; 2],
    shortcut: Shortcut<(u8, u8)>,
    expected: f64,
    confidence: f64,
}

/// Cells, and what each of them is part of. Neighbouring cells that are part of the same are one.
#[derive(Clone, Debug)]
struct Labelled {
    partition: Partition,
    /// The smallest member of the nested family that each cell is in (of the first way to look; cells in none have the number of members), and the contenders that it is in: one bit each.
    labels: Vec<(u8, u8)>,
}

/// An event whose coin is bounded.
#[derive(Clone, Debug)]
struct Contender {
    told: String,
    /// Its part of the error of all coins.
    part: f64,
    /// What the draws that judged it counted: on the likely side and on the other.
    guess: [u64; 2],
}

/// The chosen event's part of the error of all coins, where it has rivals.
const PART_OF_CHOSEN: f64 = 0.5;

/// One event of the family, and what is known of it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Limits {
    likely_at_least: f64,
    unlikely_at_most: f64,
}

/// What a test found: all that is needed to believe it.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// The two inputs.
    pub pair: Pair,
    /// The side on which the event is likelier.
    pub likely: Side,
    /// The event, for a person to read.
    pub event: String,
    /// Draws of the test: on the likely side, and on the other.
    pub draws: [u64; 2],
    /// Those that hit the event.
    pub hits: [u64; 2],
    /// ε is at least this, at δ = 0.
    pub epsilon_lower: f64,
    /// One minus the probability that anything here is false.
    pub confidence: f64,
    /// Whether the limits hold at all moments, and not at one fixed number of draws.
    pub anytime: bool,
    family: Vec<Limits>,
}

impl Witness {
    /// A lower bound on ε at this δ. Bounds for any number of δ hold together.
    pub fn epsilon_at(&self, delta: f64) -> f64 {
        let bound = |limits: &Limits| epsilon_bound(limits.likely_at_least, limits.unlikely_at_most, delta);
        let family = self.family.iter().map(bound).fold(0.0, f64::max);
        if delta <= 0.0 {
            family.max(self.epsilon_lower)
        } else {
            family
        }
    }

    /// Judges a claimed (ε, δ).
    pub fn verdict(&self, claimed_epsilon: f64, claimed_delta: f64) -> Verdict {
        if self.epsilon_at(claimed_delta) > claimed_epsilon {
            Verdict::Refuted
        } else {
            Verdict::Consistent
        }
    }
}

/// Members of the family that bounds ε for every δ: by their share of the draws on the likely side.
const SHARES: [f64; 8] = [0.001, 0.004, 0.015, 0.05, 0.15, 0.35, 0.65, 0.9];
/// Numbers of draws, as parts of those planned, at which a test that is stopped early has limits, and their part of the error; see [`Chosen::test_unless`].
const EARLY: [(f64, f64); 3] = [(0.6, 0.05), (0.8, 0.1), (0.9, 0.1)];
/// And the part of the error for a test that is stopped earlier still.
const AT_ONCE: f64 = 0.05;
/// How often it is asked whether to stop: after each of so many parts of the test, or so many draws.
const QUESTIONS: u64 = 100;
const FEWEST_BETWEEN: u64 = 1 << 14;

/// When limits are to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// At a number of draws that was decided before the first.
    Planned,
    /// At all moments at once.
    Any,
}

impl Chosen {
    pub(super) fn new(winner: Winner, confidence: f64, teller: &Teller<'_>) -> Self {
        let Winner {
            pair,
            rows,
            choice,
            looks,
            rivals,
        } = winner;
        let Look { partition, tally } = &looks[0];
        let drawn = tally.drawn;
        let (likely, other) = (choice.likely.index(), choice.likely.other().index());
        // The lengths of the family's members along the order of cells: the chosen one, and those of the stated shares.
        let mut lengths = vec![choice.length];
        let mut hits = 0;
        for (position, cell) in choice.order.iter().enumerate() {
            let before = hits as f64 / drawn[likely].max(1) as f64;
            hits += tally.hits[*cell][likely];
            let after = hits as f64 / drawn[likely].max(1) as f64;
            if SHARES.iter().any(|share| before < *share && after >= *share) {
                lengths.push(position + 1);
            }
        }
        lengths.sort_unstable();
        lengths.dedup();
        let mut member = vec![lengths.len() as u8; partition.size()];
        let mut guesses = vec![[0u64; 2]; lengths.len()];
        for (position, cell) in choice.order.iter().enumerate() {
            let smallest = lengths.partition_point(|length| *length <= position);
            member[*cell] = smallest as u8;
            for guess in guesses.iter_mut().skip(smallest) {
                guess[0] += tally.hits[*cell][likely];
                guess[1] += tally.hits[*cell][other];
            }
        }
        let mut labels: Vec<Vec<(u8, u8)>> = looks
            .iter()
            .map(|look| vec![(0, 0); look.partition.size()])
            .collect();
        labels[0]
            .iter_mut()
            .zip(member)
            .for_each(|(label, member)| label.0 = member);
        let mut contenders = Vec::new();
        let parts = if rivals.is_empty() { 1.0 } else { PART_OF_CHOSEN };
        let rest = (1.0 - parts) / rivals.len().max(1) as f64;
        let rivals = rivals.iter().map(|(look, rival)| (*look, rival));
        for (number, (look, contender)) in [(0, &choice)].into_iter().chain(rivals).enumerate() {
            let Look { partition, tally } = &looks[look];
            let mut cells = Cells {
                chosen: vec![false; partition.size()],
                seen: tally.hits.iter().map(|hits| hits[0] + hits[1] > 0).collect(),
            };
            for cell in &contender.order[..contender.length] {
                labels[look][*cell].1 |= 1 << number;
                cells.chosen[*cell] = true;
            }
            contenders.push(Contender {
                told: describe(partition, &cells, &rows, teller),
                part: if number == 0 { parts } else { rest },
                guess: contender.hits(tally),
            });
        }
        let looks = looks.into_iter().zip(labels).map(|(look, labels)| {
            let (partition, labels) = look.partition.merged(&labels);
            Labelled { partition, labels }
        });
        let looks: Vec<Labelled> = looks.collect();
        let shortcut = Shortcut::new(rows.iter().map(|row| (row.as_slice(), decide(&looks, row))));
        Self {
            pair,
            likely: choice.likely,
            looks,
            contenders,
            guesses,
            shortcut,
            drawn: [drawn[likely], drawn[other]],
            expected: choice.value,
            confidence,
        }
    }

    /// The two inputs.
    pub fn pair(&self) -> Pair {
        self.pair
    }

    /// The event, for a person to read. A rival may turn out to show more.
    pub fn event(&self) -> &str {
        &self.contenders[0].told
    }

    /// The bound on ε that the draws which chose the event lead one to expect. It proves nothing.
    pub fn expected(&self) -> f64 {
        self.expected
    }

    /// Counts so many draws and forgets what it counted: the time that this takes is what a test will take.
    pub fn rehearse<S: Subject>(&self, workers: &mut [S], draws: u64) -> Result<(), S::Error> {
        self.count(workers, draws).map(drop)
    }

    /// Tests on so many draws, decided before the first: exact limits of Clopper and Pearson.
    pub fn test<S: Subject>(&self, workers: &mut [S], draws: u64) -> Result<Witness, S::Error> {
        let total = self.count(workers, draws)?;
        Ok(self.witness(&total, Moment::Planned, 1.0 - self.confidence))
    }

    /// Tests on so many draws, decided before the first, unless `stop` says so earlier, for whatever reason.
    ///
    /// Limits are computed at a few numbers of draws that were all decided before the first, and at all moments; each of these has its own part of the error,
    /// and the parts add up to the whole. So all of them hold together at the stated confidence, and whichever is told holds: it does not matter what the
    /// decision to stop depends on (a clock, too, runs faster or slower with what is drawn). The last number that was reached is told; before the first of them,
    /// what holds at all moments. The full number has most of the error, as it is what should be reached.
    pub fn test_unless<S: Subject>(
        &self,
        workers: &mut [S],
        draws: u64,
        mut stop: impl FnMut() -> bool,
    ) -> Result<Witness, S::Error> {
        let failure = 1.0 - self.confidence;
        let part = (draws / QUESTIONS).max(FEWEST_BETWEEN).next_multiple_of(64);
        let full = 1.0 - AT_ONCE - EARLY.iter().map(|(_, share)| share).sum::<f64>();
        let mut total = self.nothing();
        let (mut made, mut reached) = (0, None);
        for (place, share) in EARLY.into_iter().chain([(1.0, full)]) {
            let planned = if place < 1.0 {
                (place * draws as f64) as u64 / 64 * 64
            } else {
                draws
            };
            while made < planned && !stop() {
                let next = part.min(planned - made);
                total.add(&self.count(workers, next)?);
                made += next;
            }
            if made < planned {
                break;
            }
            reached = Some(self.witness(&total, Moment::Planned, share * failure));
        }
        let at_once = || self.witness(&total, Moment::Any, AT_ONCE * failure);
        Ok(reached.unwrap_or_else(at_once))
    }

    /// Tests in rounds of so many draws until `enough` says so, after any round: limits that hold at all moments.
    pub fn test_until<S: Subject>(
        &self,
        workers: &mut [S],
        round: u64,
        mut enough: impl FnMut(&Witness) -> bool,
    ) -> Result<Witness, S::Error> {
        let mut total = self.nothing();
        loop {
            total.add(&self.count(workers, round)?);
            let witness = self.witness(&total, Moment::Any, 1.0 - self.confidence);
            // Limits are proved for fewer than 2³² draws.
            if enough(&witness) || total.drawn[0] + total.drawn[1] > u64::from(u32::MAX) / 2 {
                return Ok(witness);
            }
        }
    }

    fn nothing(&self) -> Total {
        Total {
            hits: vec![[0; 2]; self.guesses.len()],
            contenders: vec![[0; 2]; self.contenders.len()],
            drawn: [0; 2],
        }
    }

    fn count<S: Subject>(&self, workers: &mut [S], draws: u64) -> Result<Total, S::Error> {
        // A place for each member of the family and each set of contenders.
        let sets = 1 << self.contenders.len();
        let empty = || vec![[0u64; 2]; (self.guesses.len() + 1) * sets];
        let (accounts, drawn) = run(workers, self.pair, draws, empty, |hits, side, row| {
            let (member, within) = self
                .shortcut
                .decided(row)
                .unwrap_or_else(|| decide(&self.looks, row));
            hits[usize::from(member) * sets + usize::from(within)][side] += 1;
        })?;
        let (likely, other) = (self.likely.index(), self.likely.other().index());
        let mut total = self.nothing();
        total.drawn = [drawn[likely], drawn[other]];
        for (place, hits) in accounts.iter().flat_map(|account| account.iter().enumerate()) {
            let add = |sum: &mut [u64; 2]| *sum = [sum[0] + hits[likely], sum[1] + hits[other]];
            // Members are nested: each holds all smaller ones.
            total.hits.iter_mut().skip(place / sets).for_each(add);
            let within = place % sets;
            let contenders = total.contenders.iter_mut().enumerate();
            contenders
                .filter(|(number, _)| within >> number & 1 == 1)
                .for_each(|(_, sum)| add(sum));
        }
        Ok(total)
    }

    fn witness(&self, total: &Total, moment: Moment, failure: f64) -> Witness {
        let Total { hits, drawn, .. } = total;
        let bound = |(contender, [likely, unlikely]): (&Contender, &[u64; 2])| {
            let failure = contender.part * failure / 2.0;
            let coin = match moment {
                Moment::Any => {
                    let guess = Guess::from_counts(contender.guess[0], contender.guess[1]);
                    lower_limit_always(*likely, *unlikely, guess, failure)
                }
                Moment::Planned => lower_limit(*likely, likely + unlikely, failure),
            };
            epsilon_bound(coin, 1.0 - coin, 0.0)
        };
        let bounds: Vec<f64> = self.contenders.iter().zip(&total.contenders).map(bound).collect();
        // Of equals the first, which is the chosen one.
        let best = (0..bounds.len()).fold(
            0,
            |best, next| if bounds[next] > bounds[best] { next } else { best },
        );
        let share = failure / 4.0 / hits.len() as f64;
        let family = hits.iter().zip(&self.guesses).map(|(hits, guess)| {
            let guess =
                |side: usize| Guess::from_counts(guess[side], self.drawn[side].saturating_sub(guess[side]));
            match moment {
                Moment::Any => Limits {
                    likely_at_least: lower_limit_always(hits[0], drawn[0] - hits[0], guess(0), share),
                    unlikely_at_most: upper_limit_always(hits[1], drawn[1] - hits[1], guess(1), share),
                },
                Moment::Planned => Limits {
                    likely_at_least: lower_limit(hits[0], drawn[0], share),
                    unlikely_at_most: upper_limit(hits[1], drawn[1], share),
                },
            }
        });
        Witness {
            pair: self.pair,
            likely: self.likely,
            event: self.contenders[best].told.clone(),
            draws: *drawn,
            hits: total.contenders[best],
            epsilon_lower: bounds[best],
            confidence: self.confidence,
            anytime: moment == Moment::Any,
            family: family.collect(),
        }
    }
}

/// The smallest member of the family that a row is in, and the contenders.
fn decide(looks: &[Labelled], row: &[f64]) -> (u8, u8) {
    let mut labels = looks.iter().map(|look| look.labels[look.partition.cell(row)]);
    let first = labels.next().unwrap_or_default();
    labels.fold(first, |(member, within), label| (member, within | label.1))
}

/// Hits of each member of the family and of each contender, and draws: on the likely side and on the other.
struct Total {
    hits: Vec<[u64; 2]>,
    contenders: Vec<[u64; 2]>,
    drawn: [u64; 2],
}

impl Total {
    fn add(&mut self, more: &Self) {
        let hits = self.hits.iter_mut().zip(&more.hits);
        let contenders = self.contenders.iter_mut().zip(&more.contenders);
        let drawn = [(&mut self.drawn, &more.drawn)];
        for (sum, part) in hits.chain(contenders).chain(drawn) {
            sum[0] += part[0];
            sum[1] += part[1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rank::{Choice, Tally};
    use super::super::view::View;
    use super::*;
    use crate::Error;

    /// One of four values, whatever the input.
    struct Equal(u64);

    impl Subject for Equal {
        type Error = Error;
        fn draw(&mut self, _: usize, times: u64, mut each: impl FnMut(&[f64])) -> Result<(), Error> {
            (0..times).for_each(|_| each(&[(self.bits() >> 62) as f64]));
            Ok(())
        }
        fn bits(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }
    }

    /// An event and two rivals that never happen together with it, on equal sides: three chances of a false alarm. All coins together may err with a probability of
    /// 1/4 here; among 400 tests more than 143 do so with probability below 1e-6. The mutant gives each coin what is meant for all. A fixed seed.
    #[test]
    fn rivals_share_the_error_that_one_event_would_have() {
        let values: Vec<Vec<f64>> = (0..400).map(|i| vec![f64::from(i % 4)]).collect();
        let partition = Partition::of_keys(
            View::Value(0),
            values.iter().map(|row| View::Value(0).key(row)).collect(),
        );
        let mut tally = Tally::of(partition.size());
        values
            .iter()
            .for_each(|row| tally.hits[partition.cell(row)] = [100, 100]);
        tally.drawn = [400, 400];
        let only = |value: f64| {
            let mut order: Vec<usize> = (0..partition.size()).collect();
            order.swap(0, partition.cell(&[value]));
            Choice::new(order, 1, Side::First)
        };
        let winner = Winner {
            pair: Pair { first: 0, second: 1 },
            choice: only(0.0),
            rivals: vec![(0, only(1.0)), (1, only(2.0))],
            rows: values.clone(),
            // The same cells twice: one rival is seen by a way to look of its own.
            looks: [(); 2]
                .map(|()| Look {
                    partition: partition.clone(),
                    tally: tally.clone(),
                })
                .into(),
        };
        let teller = Teller {
            entry: &|_| "value".to_string(),
            text: &|_| None,
        };
        let chosen = Chosen::new(winner, 0.5, &teller);
        let parts: f64 = chosen.contenders.iter().map(|contender| contender.part).sum();
        assert!((parts - 1.0).abs() < 1e-12 && chosen.contenders.len() == 3);
        let mut subject = [Equal(5)];
        let (mut alarms, mut mutant, mut told) = (0, 0, [0; 3]);
        for _ in 0..400 {
            let total = chosen.count(&mut subject, 4096).unwrap();
            assert_eq!(total.drawn[0] + total.drawn[1], 4096);
            let witness = chosen.witness(&total, Moment::Planned, 0.5);
            alarms += u32::from(witness.epsilon_lower > 0.0);
            let number = (0..3).find(|number| witness.event == format!("value = {number}"));
            told[number.expect("one of the three")] += 1;
            let uncorrected =
                |[likely, unlikely]: &[u64; 2]| lower_limit(*likely, likely + unlikely, 0.25) > 0.5;
            mutant += u32::from(total.contenders.iter().any(uncorrected));
        }
        assert!(alarms <= 143, "{alarms} of 400");
        assert!(mutant > 143, "the mutant, {mutant} of 400, would pass");
        // Whichever shows most is told.
        assert!(told.iter().all(|times| *times > 10), "{told:?}");
    }
}
