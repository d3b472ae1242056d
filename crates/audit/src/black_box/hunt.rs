//! The deep search: outputs are rows, the event is learned, the pair is searched for, and the audit may stop at any moment.
//!
//! 1. *Pairs.* Short audits on every pair of neighbours; half of them are dropped, the rest are looked at twice as long, until one is left.
//! 2. *Learn.* Rows are reduced by views (entries, differences, order, raw bits, the whole row) and by a fitted likelihood ratio, and
//!    each is cut into cells. New draws rank the cells of all of them, the best few are ranked again on more draws, and still
//!    newer draws choose the set of best cells with the largest bound that the test can be expected to give.
//! 3. *Test.* The chosen event is counted on draws that nothing has seen.
//!
//! # The bound
//!
//! Each draw of the test is on the side that a fair coin chose ([`Subject::bits`]). Given that a draw hits the event, it came from
//! the likely side with probability θ = p/(p+q), independently of all others. So the hits alone are trials of one coin, and for δ = 0 a lower
//! limit on θ is a lower limit on ε: ln(θ/(1−θ)) = ln(p/q). One limit on one coin is tighter than two limits on p and q, by half of
//! the draws. For δ > 0 there is no such coin, and p and q are bounded each.
//!
//! What the test says holds together with probability at least `confidence`: half of the error goes to the limit on θ, the other half in equal
//! parts to the limits on p and q of every event of a nested family around the chosen one, which gives a bound for every δ
//! ([`Witness::epsilon_at`]). The event, the family, the pair and the likely side are fixed before the first draw of the test, so nothing else is owed.
//!
//! With [`Chosen::test`] the number of draws is fixed beforehand and limits are Clopper and Pearson's; with [`Chosen::test_until`] they hold at
//! all moments (see [`super::sequential`]), and the caller may stop whenever the evidence, or the patience, suffices.

use super::additive::Additive;
use super::cells::Partition;
use super::rank::{Choice, Tally, best_choice};
use super::sequential::{Guess, lower_limit_always, upper_limit_always};
use super::shortcut::Shortcut;
use super::subject::{Accounts, Pair, Subject, Teller, run};
use super::tell::{Cells, describe};
use super::view::{Lens, View};
use super::{Side, Verdict, epsilon_bound};
use crate::Error;
use crate::binomial::{lower_limit, upper_limit};

/// How to search for an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hunt {
    /// Draws, on both sides together, that serve to choose the pair and the event.
    pub choosing: u64,
    /// Draws that the test is expected to make: rare events pay only where there are many.
    pub testing: u64,
    /// The δ to choose an event for.
    pub delta: f64,
    /// One minus the probability that anything the test says is false.
    pub confidence: f64,
    /// What to look at.
    pub lens: Lens,
}

/// An event on a pair of inputs, ready to be tested.
#[derive(Clone, Debug)]
pub struct Chosen {
    pair: Pair,
    likely: Side,
    partition: Partition,
    /// The smallest member of the nested family that each cell is in; cells in none have the number of members.
    member: Vec<u8>,
    /// Which member of the family is the chosen event.
    main: usize,
    /// What the draws that chose it counted for each member: on the likely side and on the other.
    guesses: Vec<[u64; 2]>,
    drawn: [u64; 2],
    shortcut: Shortcut,
    told: String,
    expected: f64,
    confidence: f64,
}

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

/// The least number of draws to choose from.
const FEWEST: u64 = 64;
/// Draws that choose between pairs.
const MOST_SEARCHING: u64 = 1 << 23;
/// Rows kept to learn from, and draws that rank the cells of every view.
const MOST_ROWS: u64 = 1 << 19;
const MOST_RANKING: u64 = 1 << 20;
/// Partitions that are ranked again on more draws, and again on still more.
const SHORTLIST: usize = 8;
const FINALISTS: usize = 2;
/// Standard errors that counts are moved against us, see [`best_choice`].
const WARY: f64 = 2.5;
const BOLD: f64 = 1.25;
/// Members of the family that bounds ε for every δ: by their share of the draws on the likely side.
const SHARES: [f64; 8] = [0.001, 0.004, 0.015, 0.05, 0.15, 0.35, 0.65, 0.9];

impl Hunt {
    fn check(&self) -> Result<(), Error> {
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(Error::ConfidenceOutOfRange);
        }
        if !(0.0..=1.0).contains(&self.delta) {
            return Err(Error::DeltaOutOfRange);
        }
        if self.choosing < FEWEST {
            return Err(Error::TooFewSamples {
                samples: self.choosing,
                least: FEWEST,
            });
        }
        Ok(())
    }

    /// Chooses the pair and the event. All draws made here are forgotten by the test.
    pub fn choose<S: Subject>(&self, workers: &mut [S], pairs: &[Pair]) -> Result<Chosen, S::Error> {
        self.check()?;
        let mut left: Vec<Pair> = pairs.to_vec();
        if left.is_empty() || workers.is_empty() {
            return Err(Error::NoPairs.into());
        }
        // Halving, in rounds of equal cost.
        let searching = (self.choosing / 3).min(MOST_SEARCHING);
        let rounds = u64::from(left.len().next_power_of_two().trailing_zeros());
        let mut spent = 0;
        while left.len() > 1 {
            let each = (searching / rounds / left.len() as u64).max(FEWEST);
            let mut scored = Vec::new();
            for pair in &left {
                scored.push((self.choose_on(workers, *pair, each, WARY)?.expected, *pair));
                spent += each;
            }
            scored.sort_by(|left, right| right.0.total_cmp(&left.0));
            scored.truncate(left.len().div_ceil(2));
            left = scored.into_iter().map(|(_, pair)| pair).collect();
        }
        self.choose_on(
            workers,
            left[0],
            self.choosing.saturating_sub(spent).max(FEWEST),
            BOLD,
        )
    }

    fn choose_on<S: Subject>(
        &self,
        workers: &mut [S],
        pair: Pair,
        draws: u64,
        caution: f64,
    ) -> Result<Chosen, S::Error> {
        let learning = (draws / 10).min(MOST_ROWS);
        let (rows, first) = collect(workers, pair, learning)?;
        let mut partitions = self.partitions(&rows, &first);
        let mut spent = learning;
        // All of them on few draws, the better ones on more, the best on the rest: a draw costs what is looked at in it.
        for (keep, most) in [
            (SHORTLIST, MOST_RANKING),
            (FINALISTS, 4 * MOST_RANKING),
            (1, 8 * MOST_RANKING),
        ] {
            if partitions.len() <= keep {
                continue;
            }
            let ranking = (draws / 6).min(most);
            let choices = self.judge(workers, pair, ranking, &partitions, BOLD)?.choices;
            spent += ranking;
            let mut order: Vec<usize> = (0..partitions.len()).collect();
            let value = |index: usize| {
                // Learned scores are always worth a second look.
                let learned = keep == SHORTLIST && matches!(partitions[index], Partition::Score { .. });
                if learned {
                    f64::INFINITY
                } else {
                    choices[index].value
                }
            };
            order.sort_by(|left, right| value(*right).total_cmp(&value(*left)).then(right.cmp(left)));
            order.truncate(keep);
            order.sort_unstable();
            partitions = order.into_iter().map(|index| partitions[index].clone()).collect();
        }
        let judged = self.judge(workers, pair, draws - spent, &partitions, caution)?;
        let best = judged
            .choices
            .into_iter()
            .zip(0..)
            .max_by(|left: &(Choice, usize), right| left.0.value.total_cmp(&right.0.value));
        let Some((choice, index)) = best else {
            return Err(Error::NoFeatures.into());
        };
        let teller = Teller {
            entry: &|place| workers[0].entry(place),
            text: &|word| workers.iter().find_map(|worker| worker.text(word)),
        };
        let counted = (&judged.tallies[index], judged.drawn);
        Ok(self.ready(
            pair,
            partitions.swap_remove(index),
            choice,
            counted,
            &rows,
            &teller,
        ))
    }

    /// The best event of each partition, ranked on half of the draws and chosen on the other, with what the other half counted. The same draws
    /// for both would flatter a partition of many cells.
    fn judge<S: Subject>(
        &self,
        workers: &mut [S],
        pair: Pair,
        draws: u64,
        partitions: &[Partition],
        caution: f64,
    ) -> Result<Judged, S::Error> {
        let (ranked, _) = count(workers, pair, draws / 2, partitions)?;
        let (chosen, drawn) = count(workers, pair, draws / 2, partitions)?;
        let choices = partitions
            .iter()
            .zip(ranked.iter().zip(&chosen))
            .map(|(partition, (rank, choose))| best_choice(self, partition, rank, choose, drawn, caution))
            .collect();
        Ok(Judged {
            choices,
            tallies: chosen,
            drawn,
        })
    }

    /// Everything worth cutting into cells.
    fn partitions(&self, rows: &[Vec<f64>], first: &[bool]) -> Vec<Partition> {
        let views = View::of(rows, self.lens);
        let by =
            |of: &dyn Fn(&View) -> bool| views.iter().copied().filter(|view| of(view)).collect::<Vec<_>>();
        let mut partitions = Vec::new();
        let values = by(&|view| matches!(view, View::Value(_)));
        let steps = by(&|view| matches!(view, View::Value(0) | View::Difference(_)));
        let bits = by(&|view| matches!(view, View::LowestBit(_)));
        let models = [
            (values, "all values"),
            (steps, "all differences"),
            (bits, "all lowest bits"),
        ];
        for (views, name) in models {
            if views.len() > 1 {
                let model = Additive::fit(views, name, rows, first);
                let scores = rows.iter().map(|row| model.score(row)).collect();
                partitions.push(Partition::of_score(model, scores));
            }
        }
        partitions.extend(views.iter().map(|view| {
            let keys = rows.iter().map(|row| view.key(row)).collect();
            Partition::of_keys(*view, keys)
        }));
        partitions
    }

    fn ready(
        &self,
        pair: Pair,
        partition: Partition,
        choice: Choice,
        (tally, drawn): (&Tally, [u64; 2]),
        rows: &[Vec<f64>],
        teller: &Teller<'_>,
    ) -> Chosen {
        let (likely, other) = (choice.likely.index(), choice.likely.other().index());
        // The lengths of the family's members along the order of cells: the chosen one, and those of the stated shares.
        let mut lengths = vec![choice.length];
        let mut hits = 0;
        for (position, cell) in choice.order.iter().enumerate() {
            let before = hits as f64 / drawn[likely].max(1) as f64;
            hits += tally[*cell][likely];
            let after = hits as f64 / drawn[likely].max(1) as f64;
            if SHARES.iter().any(|share| before < *share && after >= *share) {
                lengths.push(position + 1);
            }
        }
        lengths.sort_unstable();
        lengths.dedup();
        let main = lengths
            .iter()
            .position(|length| *length == choice.length)
            .unwrap_or(0);
        let mut member = vec![lengths.len() as u8; partition.size()];
        let mut guesses = vec![[0u64; 2]; lengths.len()];
        for (position, cell) in choice.order.iter().enumerate() {
            let smallest = lengths.partition_point(|length| *length <= position);
            member[*cell] = smallest as u8;
            for guess in guesses.iter_mut().skip(smallest) {
                guess[0] += tally[*cell][likely];
                guess[1] += tally[*cell][other];
            }
        }
        let shortcut = Shortcut::new(
            rows.iter()
                .map(|row| (row.as_slice(), member[partition.cell(row)])),
        );
        let cells = Cells {
            chosen: member.iter().map(|member| usize::from(*member) <= main).collect(),
            seen: tally.iter().map(|hits| hits[0] + hits[1] > 0).collect(),
        };
        Chosen {
            pair,
            likely: choice.likely,
            told: describe(&partition, &cells, rows, teller),
            partition,
            member,
            main,
            guesses,
            shortcut,
            drawn: [drawn[likely], drawn[other]],
            expected: choice.value,
            confidence: self.confidence,
        }
    }
}

/// The best event of each partition, and what chose it.
struct Judged {
    choices: Vec<Choice>,
    tallies: Vec<Tally>,
    drawn: [u64; 2],
}

/// Rows and whether each is of the first side.
type Labelled = (Vec<Vec<f64>>, Vec<bool>);

fn collect<S: Subject>(workers: &mut [S], pair: Pair, draws: u64) -> Result<Labelled, S::Error> {
    let (accounts, _) = run(
        workers,
        pair,
        draws,
        Vec::new,
        |kept: &mut Vec<(Vec<f64>, bool)>, side, row| {
            kept.push((row.to_vec(), side == 0));
        },
    )?;
    Ok(accounts.into_iter().flatten().unzip())
}

/// How often each cell of each partition is hit on either side.
fn count<S: Subject>(
    workers: &mut [S],
    pair: Pair,
    draws: u64,
    partitions: &[Partition],
) -> Accounts<Tally, S::Error> {
    let empty = || -> Vec<Tally> {
        partitions
            .iter()
            .map(|partition| vec![[0; 2]; partition.size()])
            .collect()
    };
    let (accounts, drawn) = run(workers, pair, draws, empty, |tallies, side, row| {
        for (tally, partition) in tallies.iter_mut().zip(partitions) {
            tally[partition.cell(row)][side] += 1;
        }
    })?;
    let mut total = empty();
    for (at, part) in accounts.iter().flat_map(|account| account.iter().enumerate()) {
        for (sum, part) in total[at].iter_mut().zip(part) {
            sum[0] += part[0];
            sum[1] += part[1];
        }
    }
    Ok((total, drawn))
}

impl Chosen {
    /// The two inputs.
    pub fn pair(&self) -> Pair {
        self.pair
    }

    /// The event, for a person to read.
    pub fn event(&self) -> &str {
        &self.told
    }

    /// The bound on ε that the draws which chose the event lead one to expect. It proves nothing.
    pub fn expected(&self) -> f64 {
        self.expected
    }

    /// Tests on so many draws, decided before the first: exact limits of Clopper and Pearson.
    pub fn test<S: Subject>(&self, workers: &mut [S], draws: u64) -> Result<Witness, S::Error> {
        let (hits, drawn) = self.count(workers, draws)?;
        Ok(self.witness(&hits, drawn, false))
    }

    /// Tests in rounds of so many draws until `enough` says so, after any round: limits that hold at all moments.
    pub fn test_until<S: Subject>(
        &self,
        workers: &mut [S],
        round: u64,
        mut enough: impl FnMut(&Witness) -> bool,
    ) -> Result<Witness, S::Error> {
        let mut hits = vec![[0u64; 2]; self.guesses.len()];
        let mut drawn = [0u64; 2];
        loop {
            let (more, times) = self.count(workers, round)?;
            for (sum, part) in hits.iter_mut().zip(&more) {
                sum[0] += part[0];
                sum[1] += part[1];
            }
            drawn = [drawn[0] + times[0], drawn[1] + times[1]];
            let witness = self.witness(&hits, drawn, true);
            // Limits are proved for fewer than 2³² draws.
            if enough(&witness) || drawn[0] + drawn[1] > u64::from(u32::MAX) / 2 {
                return Ok(witness);
            }
        }
    }

    /// Hits of each member of the family, and draws: on the likely side and on the other.
    fn count<S: Subject>(&self, workers: &mut [S], draws: u64) -> Accounts<[u64; 2], S::Error> {
        let empty = || vec![[0u64; 2]; self.guesses.len() + 1];
        let (accounts, drawn) = run(workers, self.pair, draws, empty, |hits, side, row| {
            let member = self
                .shortcut
                .member(row)
                .unwrap_or_else(|| self.member[self.partition.cell(row)]);
            hits[usize::from(member)][side] += 1;
        })?;
        let (likely, other) = (self.likely.index(), self.likely.other().index());
        let mut sums = vec![[0u64; 2]; self.guesses.len()];
        for (member, sum) in sums.iter_mut().enumerate() {
            // Members are nested: each holds all smaller ones.
            for hits in accounts.iter().flat_map(|account| &account[..=member]) {
                sum[0] += hits[likely];
                sum[1] += hits[other];
            }
        }
        Ok((sums, [drawn[likely], drawn[other]]))
    }

    fn witness(&self, hits: &[[u64; 2]], drawn: [u64; 2], anytime: bool) -> Witness {
        let failure = 1.0 - self.confidence;
        let [likely, unlikely] = hits[self.main];
        let coin = if anytime {
            let guess = Guess::from_counts(self.guesses[self.main][0], self.guesses[self.main][1]);
            lower_limit_always(likely, unlikely, guess, failure / 2.0)
        } else {
            lower_limit(likely, likely + unlikely, failure / 2.0)
        };
        let share = failure / 4.0 / hits.len() as f64;
        let family = hits.iter().zip(&self.guesses).map(|(hits, guess)| {
            let guess =
                |side: usize| Guess::from_counts(guess[side], self.drawn[side].saturating_sub(guess[side]));
            if anytime {
                Limits {
                    likely_at_least: lower_limit_always(hits[0], drawn[0] - hits[0], guess(0), share),
                    unlikely_at_most: upper_limit_always(hits[1], drawn[1] - hits[1], guess(1), share),
                }
            } else {
                Limits {
                    likely_at_least: lower_limit(hits[0], drawn[0], share),
                    unlikely_at_most: upper_limit(hits[1], drawn[1], share),
                }
            }
        });
        Witness {
            pair: self.pair,
            likely: self.likely,
            event: self.told.clone(),
            draws: drawn,
            hits: [likely, unlikely],
            epsilon_lower: epsilon_bound(coin, 1.0 - coin, 0.0),
            confidence: self.confidence,
            anytime,
            family: family.collect(),
        }
    }
}
