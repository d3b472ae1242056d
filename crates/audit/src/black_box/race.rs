//! Ways to look at pairs race each other: all of them on few draws, the better ones on more, the best on most.
//!
//! What a pair gives away and what shows it are searched for together. A rare event of one pair has to be seen often enough before it can
//! be told from the common events of all others, and most ways to look at most pairs are hopeless soon.

use super::cells::Partition;
use super::hunt::Hunt;
use super::rank::{Choice, Tally, best_choices};
use super::recipe::Recipe;
use super::shortcut::Shortcut;
use super::subject::{Pair, Subject, run};
use crate::Error;

/// One pair, and the ways to look at it that are still in the race.
pub(super) struct Entry {
    pub(super) pair: Pair,
    pub(super) rows: Vec<Vec<f64>>,
    /// The number of the first row that is the same, where outputs repeat.
    known: Shortcut<u32>,
    arms: Vec<Arm>,
}

/// One way to look at a pair.
struct Arm {
    recipe: Recipe,
    partition: Partition,
    /// What the last round counted, and what all before it did.
    present: Tally,
    past: Tally,
    /// What they chose, for the next round to judge.
    choices: Vec<Choice>,
    /// The best of what was chosen before, as the last round judged it.
    best: Option<Choice>,
}

/// The winner of a race.
pub(super) struct Winner {
    pub(super) pair: Pair,
    pub(super) rows: Vec<Vec<f64>>,
    pub(super) partition: Partition,
    pub(super) choice: Choice,
    /// What was counted last.
    pub(super) tally: Tally,
}

/// Rows kept to learn from.
const MOST_ROWS: u64 = 1 << 19;
/// Each round keeps one of so many.
const KEEPS: usize = 3;
/// The winner's event is decided on so many parts of the draws, where a round has two or three.
const DECISION: u64 = 5;
/// When no more than these are left, their scores are learned anew from more rows.
const FINAL: usize = 8;

/// Runs the race on `hunt.choosing` draws.
pub(super) fn race<S: Subject>(hunt: &Hunt, workers: &mut [S], pairs: &[Pair]) -> Result<Winner, S::Error> {
    let learning = (hunt.choosing / 20).min(MOST_ROWS / 2);
    let more_learning = (hunt.choosing / 10).min(MOST_ROWS);
    let mut entries = Vec::new();
    for pair in pairs {
        let share = (learning / pairs.len() as u64).max(1);
        entries.push(Entry::new(workers, *pair, share, |rows| {
            Recipe::all(rows, hunt.lens)
        })?);
    }
    let stages = stages(entries.iter().map(|entry| entry.arms.len()).sum());
    let racing = hunt.choosing.saturating_sub(learning + 2 * more_learning);
    let parts: u64 = DECISION + stages.iter().map(|stage| stage.parts).sum::<u64>();
    for stage in &stages {
        if stage.relearn {
            let share = (more_learning / entries.len() as u64).max(1);
            for entry in &mut entries {
                entry.relearn(workers, share)?;
            }
        }
        let share = racing * stage.parts / parts / entries.len() as u64;
        for entry in &mut entries {
            entry.run(hunt, workers, share, false)?;
        }
        keep_best(&mut entries, stage.keep);
    }
    let Some(mut entry) = entries.pop() else {
        return Err(Error::NoFeatures.into());
    };
    // Now one pair has all the rows.
    entry.relearn(workers, more_learning)?;
    entry.run(hunt, workers, racing * DECISION / parts, true)?;
    let winner = entry
        .arms
        .pop()
        .and_then(|arm| Some((arm.best?, arm.partition, arm.present)));
    let Some((choice, partition, tally)) = winner else {
        return Err(Error::NoFeatures.into());
    };
    Ok(Winner {
        choice,
        pair: entry.pair,
        rows: entry.rows,
        partition,
        tally,
    })
}

/// A round of the race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stage {
    /// How many ways to look it leaves.
    keep: usize,
    /// Whether scores are learned anew before it.
    relearn: bool,
    /// Its part of the draws.
    parts: u64,
}

fn stages(mut arms: usize) -> Vec<Stage> {
    let mut stages: Vec<Stage> = Vec::new();
    while stages.is_empty() || arms > 1 {
        let relearn = arms <= FINAL && !stages.iter().any(|stage| stage.relearn);
        // A new beginning has to rank and to choose before it can judge.
        let parts = if relearn || stages.is_empty() { 3 } else { 2 };
        arms = arms.div_ceil(KEEPS);
        stages.push(Stage {
            keep: arms,
            relearn,
            parts,
        });
    }
    stages
}

/// Keeps the best, whatever their pair; of equally good ones the last, which is the simplest.
fn keep_best(entries: &mut Vec<Entry>, keep: usize) {
    let mut order: Vec<(f64, usize, usize)> = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        order.extend(
            entry
                .arms
                .iter()
                .enumerate()
                .map(|(at, arm)| (arm.value(), place, at)),
        );
    }
    order.sort_by(|left, right| {
        right
            .0
            .total_cmp(&left.0)
            .then((right.1, right.2).cmp(&(left.1, left.2)))
    });
    order.truncate(keep);
    for (place, entry) in entries.iter_mut().enumerate() {
        let mut at = 0..;
        entry.arms.retain(|_| {
            let at = at.next();
            order.iter().any(|kept| kept.1 == place && Some(kept.2) == at)
        });
    }
    entries.retain(|entry| !entry.arms.is_empty());
}

impl Entry {
    /// Learns from so many draws, which serve nothing else.
    fn new<S: Subject>(
        workers: &mut [S],
        pair: Pair,
        draws: u64,
        recipes: impl FnOnce(&[Vec<f64>]) -> Vec<Recipe>,
    ) -> Result<Self, S::Error> {
        let (rows, first) = collect(workers, pair, draws)?;
        let arms = recipes(&rows)
            .into_iter()
            .map(|recipe| Arm::new(recipe, &rows, &first))
            .collect();
        let known = known(&rows);
        Ok(Self {
            pair,
            rows,
            known,
            arms,
        })
    }

    /// Learns scores anew from more draws. What views have counted so far is worth more than finer cells of them, and stays.
    fn relearn<S: Subject>(&mut self, workers: &mut [S], draws: u64) -> Result<(), S::Error> {
        let is_score = |arm: &Arm| matches!(arm.recipe, Recipe::Score(..));
        if !self.arms.iter().any(is_score) {
            return Ok(());
        }
        let (rows, first) = collect(workers, self.pair, draws)?;
        for arm in self.arms.iter_mut().filter(|arm| is_score(arm)) {
            *arm = Arm::new(arm.recipe.clone(), &rows, &first);
        }
        self.known = known(&rows);
        self.rows = rows;
        Ok(())
    }

    /// One round on so many draws. They judge what earlier ones chose, and these had other ones rank the cells: a partition of many cells, or a rare
    /// event, that was lucky once is not lucky again. Nor is it held against a rare event that it is rare; that will show.
    fn run<S: Subject>(
        &mut self,
        hunt: &Hunt,
        workers: &mut [S],
        draws: u64,
        last: bool,
    ) -> Result<(), S::Error> {
        let mut fresh = draws;
        if self.arms.iter().any(|arm| arm.choices.is_empty()) {
            for _ in 0..2 {
                self.count(workers, draws / 3)?;
            }
            fresh = draws - 2 * (draws / 3);
            self.choose(hunt);
        }
        self.count(workers, fresh)?;
        for arm in &mut self.arms {
            arm.choices
                .iter_mut()
                .for_each(|choice| choice.judge(hunt, &arm.present, last));
            let judged = std::mem::take(&mut arm.choices).into_iter();
            arm.best = judged.max_by(|left, right| left.value.total_cmp(&right.value));
        }
        self.choose(hunt);
        Ok(())
    }

    fn choose(&mut self, hunt: &Hunt) {
        for arm in &mut self.arms {
            arm.choices = best_choices(hunt, &arm.partition, &arm.past, &arm.present);
        }
    }

    /// What was present is past, and what is drawn now is present.
    fn count<S: Subject>(&mut self, workers: &mut [S], draws: u64) -> Result<(), S::Error> {
        let partitions: Vec<&Partition> = self.arms.iter().map(|arm| &arm.partition).collect();
        let tallies = count(workers, self, draws, &partitions)?;
        for (arm, tally) in self.arms.iter_mut().zip(tallies) {
            let before = std::mem::replace(&mut arm.present, tally);
            arm.past.hits.resize(arm.present.hits.len(), [0; 2]);
            if !before.hits.is_empty() {
                arm.past.add(&before);
            }
        }
        Ok(())
    }
}

impl Arm {
    fn new(recipe: Recipe, rows: &[Vec<f64>], first: &[bool]) -> Self {
        Self {
            partition: recipe.partition(rows, first),
            recipe,
            present: Tally::default(),
            past: Tally::default(),
            choices: Vec::new(),
            best: None,
        }
    }

    fn value(&self) -> f64 {
        self.best
            .as_ref()
            .map_or(f64::NEG_INFINITY, |choice| choice.value)
    }
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

/// How often each cell of each partition is hit on either side. A row that is known is counted, and looked at once.
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
        entry.pair,
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
    use super::*;

    #[test]
    fn a_race_ends_with_one_and_learns_anew_once() {
        for arms in [1, 2, 8, 9, 176, 400] {
            let stages = stages(arms);
            assert_eq!(stages.last().map(|stage| stage.keep), Some(1), "{arms}");
            assert!(
                stages.windows(2).all(|pair| pair[1].keep < pair[0].keep),
                "{arms}"
            );
            assert_eq!(stages.iter().filter(|stage| stage.relearn).count(), 1, "{arms}");
        }
        let first = |arms| (stages(arms)[0].keep, stages(arms)[0].relearn);
        assert_eq!((first(8), first(30)), ((3, true), (10, false)));
    }
}
