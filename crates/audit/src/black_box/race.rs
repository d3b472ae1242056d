//! A race between ways to look at pairs: all of them on many draws, the better ones on more, the best on
//! most.
//!
//! The search is for a pair and for the event that shows most of it, together. A rare event of one pair must
//! be seen often enough before it can be distinguished from the common events of all others. Most ways to
//! look at most pairs soon turn out hopeless.
//!
//! # What luck may do
//!
//! Thousands of events are compared, and the one that looks best in the draws that it is chosen from is a
//! lucky one. So while pairs and ways to look are dropped, one half of the draws of each chooses an event,
//! and the other half says what it is worth ([`worth`]). A rare event that is worth more than common ones
//! passes them as soon as draws suffice to know it, and no lucky one does.
//!
//! Pairs are dropped first, and few at a time, since a rare event can be distinguished from others only if
//! all draws are on its pair. A pair that is left keeps many ways to look; it keeps all of them if outputs
//! repeat and looking costs nothing.
//!
//! Then the pairs and ways that are left name candidates, with more and with less caution, and draws that had
//! no part in any choice judge them. These are hundreds of candidates on a few pairs, so pairs are compared
//! with a caution that luck does not reach. The best is tested, and with it its rivals and its mirror
//! ([`Winner`]): the test knows which of a few hardly distinguished events is best.

use super::cells::Partition;
use super::effort::Hunt;
use super::group::Ends;
use super::rank::{Choice, Tally, candidates, worth};
use super::recipe::Recipe;
use super::shortcut::Shortcut;
use super::subject::{Pair, Subject, run};
use crate::Error;

/// One pair, and the ways to look at it that are still in the race.
pub(super) struct Entry {
    pub(super) ends: Ends,
    pub(super) rows: Vec<Vec<f64>>,
    /// The number of the first row that is the same, where outputs repeat.
    known: Shortcut<u32>,
    arms: Vec<Arm>,
    /// What it was worth at the end of the rounds, for one step.
    raced: Option<f64>,
}

/// One way to look at a pair.
struct Arm {
    recipe: Recipe,
    partition: Partition,
    /// What all rounds together counted.
    folds: [Tally; 2],
    /// The bound that the test of its best event can be expected to give.
    value: f64,
    /// What it sends into the last rounds, and what these counted.
    candidates: Vec<Choice>,
    judging: Tally,
}

/// The winner of a race.
pub(super) struct Winner {
    pub(super) ends: Ends,
    pub(super) rows: Vec<Vec<f64>>,
    pub(super) choice: Choice,
    /// The way to look that it is an event of comes first.
    pub(super) looks: Vec<Look>,
    /// The next best on the same pair and the same side, and by which way to look. Which of them is best a
    /// test knows better than the draws before it.
    pub(super) rivals: Vec<(usize, Choice)>,
    /// An event that is likelier on the other side, by which way to look, and with the chosen one makes one
    /// coin that is worth more than it is alone.
    pub(super) mirror: Option<(usize, Choice)>,
}

/// A way to look, and what was counted on it by draws that judged and did not choose.
pub(super) struct Look {
    pub(super) partition: Partition,
    pub(super) tally: Tally,
}

/// Rows kept to learn from.
const MOST_ROWS: u64 = 1 << 19;
/// Of this many draws a tenth is learned from, and of those above a smaller part.
const FEW: u64 = 1 << 20;
/// The rounds: how many pairs each leaves, how many ways to look at one of them, and its parts of the draws.
/// The first is short, as it has all ways to look, and drops what is hopeless. Nothing that is dropped comes
/// back. Before the last scores are learned anew from more rows.
const ROUNDS: [Round; 4] = [
    Round {
        pairs: usize::MAX,
        looks: 24,
        part: 2,
    },
    Round {
        pairs: 6,
        looks: 10,
        part: 6,
    },
    Round {
        pairs: 3,
        looks: 8,
        part: 4,
    },
    Round {
        pairs: 3,
        looks: 6,
        part: 3,
    },
];
/// Ends that are further apart are many, and most of them show less than neighbours do: the first round
/// leaves this many of them, and all neighbours.
const MOST_DISTANT: usize = 6;
/// The parts of the draws that judge candidates on all pairs that are left, and then on the best alone.
const JUDGING: [u64; 2] = [7, 3];
/// Standard errors that counts are moved against an event before pairs and ways to look are compared, before
/// candidates are named, and before these are judged: on all pairs that are left, and on the best.
const COMPARING: f64 = 1.4;
const NAMING: [f64; 4] = [0.7, 1.5, 2.5, 4.0];
const DECIDING: [f64; 2] = [2.0, 1.5];
/// Rivals of the winner that are tested with it. With the winner and its mirror they are as many as a byte
/// has bits.
pub(super) const RIVALS: usize = 6;
/// A mirror that is rarer than the chosen event by this many times is not worth telling.
const PART_OF_MIRROR: u64 = 4;
/// Two events are as good as the same for a test if their hits differ by less than this part on both sides.
const ALIKE: f64 = 0.12;
/// A round is counted in this many parts, and asked after each whether time is up; or in fewer, if each has
/// less than this many draws.
const QUESTIONS: u64 = 8;
const FEWEST_BETWEEN: u64 = 1 << 15;

#[derive(Clone, Copy)]
struct Round {
    pairs: usize,
    looks: usize,
    part: u64,
}

/// Runs the race on `hunt.choosing` draws. When `late` says so, what is left of it is cut down to an eighth.
pub(super) fn race<S: Subject>(
    hunt: &Hunt,
    workers: &mut [S],
    pairs: &[Ends],
    late: &mut dyn FnMut() -> bool,
) -> Result<Winner, S::Error> {
    let learning = part_to_learn(hunt.choosing).min(MOST_ROWS / 2);
    let more_learning = part_to_learn(hunt.choosing).min(MOST_ROWS);
    let mut entries = Vec::new();
    // Neighbours come first.
    for ends in pairs {
        let share = (learning / pairs.len() as u64).max(1);
        entries.push(Entry::new(workers, *ends, share, |rows| {
            Recipe::all(rows, hunt.lens)
        })?);
    }
    let racing = hunt.choosing.saturating_sub(learning + more_learning);
    let parts: u64 = ROUNDS.iter().map(|round| round.part).chain(JUDGING).sum();
    for (number, round) in ROUNDS.into_iter().enumerate() {
        if number + 1 == ROUNDS.len() {
            let rows = if late() {
                more_learning / QUESTIONS
            } else {
                more_learning
            };
            let share = (rows / entries.len().max(1) as u64).max(1);
            for entry in &mut entries {
                entry.relearn(workers, share)?;
            }
        }
        let share = racing * round.part / parts / entries.len().max(1) as u64;
        // All pairs have the same number of draws, also where time is up.
        for draws in in_parts(share) {
            for entry in &mut entries {
                entry.run(workers, draws)?;
            }
            if late() {
                break;
            }
        }
        entries
            .iter_mut()
            .for_each(|entry| entry.keep_best(hunt, round.looks));
        if number == 0 {
            let mut distant = entries.split_off(pairs.iter().filter(|ends| ends.steps == 1).count());
            keep_best(&mut distant, MOST_DISTANT);
            entries.extend(distant);
        }
        keep_best(&mut entries, round.pairs);
    }
    entries.iter_mut().for_each(|entry| entry.name_candidates(hunt));
    for (part, caution) in JUDGING.into_iter().zip(DECIDING) {
        let share = racing * part / parts / entries.len().max(1) as u64;
        for draws in in_parts(share) {
            for entry in &mut entries {
                entry.judge(workers, draws)?;
            }
            if late() {
                break;
            }
        }
        entries
            .iter_mut()
            .for_each(|entry| entry.sort_candidates(hunt, caution));
        keep_best(&mut entries, 1);
    }
    match entries.pop() {
        Some(entry) => entry.winner(hunt).ok_or_else(|| Error::NoFeatures.into()),
        None => Err(Error::NoFeatures.into()),
    }
}

/// The rows that a race on this many draws learns from.
pub(super) fn rows_learned(draws: u64) -> u64 {
    part_to_learn(draws).min(MOST_ROWS / 2) + part_to_learn(draws).min(MOST_ROWS)
}

/// Draws in a few equal parts.
fn in_parts(draws: u64) -> impl Iterator<Item = u64> {
    let parts = (draws / FEWEST_BETWEEN).clamp(1, QUESTIONS);
    (0..parts).map(move |part| draws * (part + 1) / parts - draws * part / parts)
}

/// A row to learn from costs as much as many draws that are counted; where draws are few, they are nothing
/// without it.
fn part_to_learn(draws: u64) -> u64 {
    (draws / 10).min(FEW / 10 + draws / 64)
}

/// Keeps the best pairs. Of equally good ones the last stays.
fn keep_best(entries: &mut Vec<Entry>, keep: usize) {
    let mut values: Vec<(f64, usize)> = entries.iter().map(Entry::value).zip(0..).collect();
    values.sort_by(|left, right| right.0.total_cmp(&left.0).then(right.1.cmp(&left.1)));
    values.truncate(keep);
    let mut place = 0..;
    entries.retain(|_| {
        let place = place.next();
        values.iter().any(|(_, kept)| Some(*kept) == place)
    });
}

impl Entry {
    /// Learns from this many draws, which serve nothing else.
    fn new<S: Subject>(
        workers: &mut [S],
        ends: Ends,
        draws: u64,
        recipes: impl FnOnce(&[Vec<f64>]) -> Vec<Recipe>,
    ) -> Result<Self, S::Error> {
        let (rows, first) = collect(workers, ends.pair, draws)?;
        let arms = recipes(&rows)
            .into_iter()
            .map(|recipe| Arm::new(recipe, &rows, &first))
            .collect();
        let arms = without_repeats(arms, &rows);
        let known = known(&rows);
        Ok(Self {
            ends,
            rows,
            known,
            arms,
            raced: None,
        })
    }

    /// Learns scores anew from more draws. What views have counted so far is worth more than finer cells of
    /// them, and stays.
    fn relearn<S: Subject>(&mut self, workers: &mut [S], draws: u64) -> Result<(), S::Error> {
        let is_score = |arm: &Arm| matches!(arm.recipe, Recipe::Score(..));
        if !self.arms.iter().any(is_score) {
            return Ok(());
        }
        let (rows, first) = collect(workers, self.ends.pair, draws)?;
        for arm in self.arms.iter_mut().filter(|arm| is_score(arm)) {
            *arm = Arm::new(arm.recipe.clone(), &rows, &first);
        }
        self.known = known(&rows);
        self.rows = rows;
        Ok(())
    }

    /// Counts this many more draws.
    fn run<S: Subject>(&mut self, workers: &mut [S], draws: u64) -> Result<(), S::Error> {
        for fold in 0..2 {
            for (arm, tally) in self.count(workers, draws / 2)? {
                arm.folds[fold].add(&tally);
            }
        }
        Ok(())
    }

    /// What the best way to look at it is worth, for one step. Where candidates are judged, what the rounds
    /// said before counts as much: they had more draws, and others.
    fn value(&self) -> f64 {
        let values = self.arms.iter().map(|arm| arm.value);
        let best = values.fold(f64::NEG_INFINITY, f64::max);
        // What is hopeless is not less so on ends that are further apart.
        let best = if best > 0.0 {
            best / f64::from(self.ends.steps)
        } else {
            best
        };
        self.raced.map_or(best, |raced| f64::midpoint(raced, best))
    }

    /// Keeps the best ways to look, and all of them where outputs repeat: there they cost nothing, as each
    /// output is looked at once. Of equally good ones the last stays, which is the simplest.
    fn keep_best(&mut self, hunt: &Hunt, keep: usize) {
        for arm in &mut self.arms {
            arm.value = worth(hunt, &arm.partition, &arm.folds, COMPARING);
        }
        if self.known.is_empty() {
            self.arms.reverse();
            self.arms
                .sort_by(|left, right| right.value.total_cmp(&left.value));
            self.arms.truncate(keep);
            self.arms.reverse();
        }
    }

    /// From here on draws choose nothing any more.
    fn name_candidates(&mut self, hunt: &Hunt) {
        self.raced = Some(self.value());
        for arm in &mut self.arms {
            arm.candidates = candidates(hunt, &arm.partition, &arm.folds, NAMING);
        }
    }

    /// This many more draws judge the candidates.
    fn judge<S: Subject>(&mut self, workers: &mut [S], draws: u64) -> Result<(), S::Error> {
        for (arm, tally) in self.count(workers, draws)? {
            arm.judging.add(&tally);
        }
        Ok(())
    }

    /// The best candidate of each way to look comes first.
    fn sort_candidates(&mut self, hunt: &Hunt, caution: f64) {
        for arm in &mut self.arms {
            for candidate in &mut arm.candidates {
                candidate.value = candidate.judged(hunt, &arm.judging, caution);
            }
            arm.candidates
                .sort_by(|left, right| right.value.total_cmp(&left.value));
            arm.value = arm
                .candidates
                .first()
                .map_or(f64::NEG_INFINITY, |best| best.value);
        }
    }

    /// The best candidate and its rivals. Where each way to look costs time in every draw of the test, the
    /// rivals are of the same.
    fn winner(mut self, hunt: &Hunt) -> Option<Winner> {
        // Of equals the last, which is the simplest.
        self.arms.reverse();
        self.arms
            .sort_by(|left, right| right.value.total_cmp(&left.value));
        if self.known.is_empty() {
            self.arms.truncate(1);
        }
        let mut all: Vec<(usize, Choice)> = Vec::new();
        let mut looks = Vec::new();
        for (number, arm) in self.arms.into_iter().enumerate() {
            all.extend(arm.candidates.into_iter().map(|candidate| (number, candidate)));
            looks.push(Look {
                partition: arm.partition,
                // The test guesses from what judged, and not from what chose.
                tally: arm.judging,
            });
        }
        all.sort_by(|left, right| right.1.value.total_cmp(&left.1.value));
        let mut contenders: Vec<(usize, Choice)> = Vec::new();
        for (number, candidate) in &all {
            let (number, candidate) = (*number, candidate.clone());
            let hits = candidate.hits(&looks[number].tally);
            let is_like = |(other, contender): &(usize, Choice)| {
                let others = contender.hits(&looks[*other].tally);
                (0..2).all(|side| hits[side].abs_diff(others[side]) as f64 <= ALIKE * others[side] as f64)
            };
            let is_other_side = |first: &(usize, Choice)| first.1.likely != candidate.likely;
            if !contenders.first().is_some_and(is_other_side) && !contenders.iter().any(is_like) {
                contenders.push((number, candidate));
            }
            if contenders.len() > RIVALS {
                break;
            }
        }
        let mut contenders = contenders.into_iter();
        let (first, choice) = contenders.next()?;
        // The chosen one was the luckiest of hundreds, so the two are compared with more caution.
        let (caution, tally) = (DECIDING[0], &looks[first].tally);
        let alone = choice.judged(hunt, tally, caution);
        let hits = choice.hits(tally)[0];
        let mirrors = all.iter().filter(|(number, mirror)| {
            let is_worth_telling = || PART_OF_MIRROR * mirror.hits(&looks[*number].tally)[0] >= hits;
            mirror.likely != choice.likely && is_worth_telling()
        });
        let valued = mirrors.map(|(number, mirror)| {
            let tallies = [tally, &looks[*number].tally];
            let value = choice.judged_with(mirror, hunt, tallies, caution);
            (value, *number, mirror)
        });
        let best = valued.max_by(|left, right| left.0.total_cmp(&right.0));
        let mirror = best.filter(|(value, ..)| *value > alone);
        let mut mirror = mirror.map(|(_, number, mirror)| (number, mirror.clone()));
        // The winner's way to look comes first, and those without a rival are not looked at.
        let mut rivals: Vec<(usize, Choice)> = contenders.collect();
        let mut used = vec![first];
        for (number, _) in rivals.iter_mut().chain(&mut mirror) {
            *number = used.iter().position(|other| other == number).unwrap_or_else(|| {
                used.push(*number);
                used.len() - 1
            });
        }
        let mut looks: Vec<Option<Look>> = looks.into_iter().map(Some).collect();
        Some(Winner {
            ends: self.ends,
            rows: self.rows,
            choice,
            looks: used
                .into_iter()
                .filter_map(|number| looks[number].take())
                .collect(),
            rivals,
            mirror,
        })
    }

    /// Counts this many draws on every way to look.
    fn count<S: Subject>(
        &mut self,
        workers: &mut [S],
        draws: u64,
    ) -> Result<impl Iterator<Item = (&mut Arm, Tally)>, S::Error> {
        let partitions: Vec<&Partition> = self.arms.iter().map(|arm| &arm.partition).collect();
        let tallies = count(workers, self, draws, &partitions)?;
        Ok(self.arms.iter_mut().zip(tallies))
    }
}

impl Arm {
    fn new(recipe: Recipe, rows: &[Vec<f64>], first: &[bool]) -> Self {
        let partition = recipe.partition(rows, first);
        Self {
            folds: [(); 2].map(|()| Tally::of(partition.size())),
            judging: Tally::of(partition.size()),
            partition,
            recipe,
            value: f64::NEG_INFINITY,
            candidates: Vec::new(),
        }
    }
}

/// Ways to look that tell the same rows apart choose the same events, and each costs as much as any: one of
/// them is left: one with an order, if it makes a difference, and the simplest, which is the last. One that
/// tells nothing apart is left only if there is no other.
fn without_repeats(arms: Vec<Arm>, rows: &[Vec<f64>]) -> Vec<Arm> {
    let mut kept: Vec<(Vec<u16>, Arm)> = Vec::new();
    for arm in arms {
        // The cell of each row, cells numbered as they appear.
        let mut numbers = vec![u16::MAX; arm.partition.size()];
        let mut next = 0;
        let cells: Vec<u16> = rows
            .iter()
            .map(|row| {
                let number = &mut numbers[arm.partition.cell(row)];
                if *number == u16::MAX {
                    *number = next;
                    next += 1;
                }
                *number
            })
            .collect();
        match kept.iter_mut().find(|(others, _)| *others == cells) {
            Some((_, other)) if next > 2 && other.partition.is_ordered() && !arm.partition.is_ordered() => {}
            Some((_, other)) => *other = arm,
            None => kept.push((cells, arm)),
        }
    }
    if kept.len() > 1 {
        kept.retain(|(cells, _)| cells.iter().any(|cell| *cell > 0));
    }
    kept.into_iter().map(|(_, arm)| arm).collect()
}

/// The number of the first row that is the same as one.
fn known(rows: &[Vec<f64>]) -> Shortcut<u32> {
    Shortcut::new((0..).zip(rows).map(|(number, row)| (row.as_slice(), number)))
}

/// Rows and whether each is of the first side.
type Labelled = (Vec<Vec<f64>>, Vec<bool>);

fn collect<S: Subject>(workers: &mut [S], pair: Pair, draws: u64) -> Result<Labelled, S::Error> {
    let keep = |kept: &mut Vec<(Vec<f64>, bool)>, side, row: &[f64]| kept.push((row.to_vec(), side == 0));
    let (accounts, _) = run(workers, pair, draws, Vec::new, keep)?;
    Ok(accounts.into_iter().flatten().unzip())
}

/// How often each cell of each partition is hit on either side. A row that is known is counted, and looked at
/// once.
fn count<S: Subject>(
    workers: &mut [S],
    entry: &Entry,
    draws: u64,
    partitions: &[&Partition],
) -> Result<Vec<Tally>, S::Error> {
    let note = |tallies: &mut Vec<Tally>, row: &[f64], hits: [u64; 2]| {
        for (tally, partition) in tallies.iter_mut().zip(partitions) {
            let sum = &mut tally.hits[partition.cell(row)];
            *sum = [sum[0] + hits[0], sum[1] + hits[1]];
        }
    };
    let empty = || -> Vec<Tally> {
        let sizes = partitions.iter().map(|partition| partition.size());
        sizes.map(Tally::of).collect()
    };
    let known = if entry.known.is_empty() {
        0
    } else {
        entry.rows.len()
    };
    let account = || (empty(), vec![[0u64; 2]; known]);
    let (accounts, drawn) = run(
        workers,
        entry.ends.pair,
        draws,
        account,
        |(tallies, repeats), side, row| match entry.known.decided(row) {
            Some(number) => repeats[number as usize][side] += 1,
            None => note(tallies, row, [u64::from(side == 0), u64::from(side == 1)]),
        },
    )?;
    let mut total = empty();
    for (tallies, repeats) in &accounts {
        total
            .iter_mut()
            .zip(tallies)
            .for_each(|(sum, part)| sum.add(part));
        for (row, hits) in entry
            .rows
            .iter()
            .zip(repeats)
            .filter(|(_, hits)| **hits != [0; 2])
        {
            note(&mut total, row, *hits);
        }
    }
    total.iter_mut().for_each(|tally| tally.drawn = drawn);
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::super::view::View;
    use super::*;

    #[test]
    fn ways_to_look_that_tell_the_same_apart_are_one() {
        let rows: Vec<Vec<f64>> = (0..4000).map(|i| vec![0.0; 1 + i % 3]).collect();
        let first = vec![true; rows.len()];
        let arms = |views: &[View]| -> Vec<Arm> {
            let recipes = views.iter().map(|view| Recipe::Keys(*view));
            recipes.map(|recipe| Arm::new(recipe, &rows, &first)).collect()
        };
        let left = |views: &[View]| -> Vec<Recipe> {
            let left = without_repeats(arms(views), &rows);
            left.into_iter().map(|arm| arm.recipe).collect()
        };
        // The whole row is its length here, the sum and the first entry say nothing, and the second entry is
        // there or not.
        let views = [
            View::Whole,
            View::Length,
            View::Equalities,
            View::Sum,
            View::Value(0),
            View::Value(1),
        ];
        assert_eq!(left(&views), [View::Length, View::Value(1)].map(Recipe::Keys));
        assert_eq!(left(&[View::Sum, View::Value(0)]), [Recipe::Keys(View::Value(0))]);
    }
}
