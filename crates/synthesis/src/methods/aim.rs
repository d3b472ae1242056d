//! Round by round the table that is fitted worst (McKenna, Mullins, Sheldon and Miklau 2022).
//!
//! First each attribute alone. Then a table is chosen among those that the wanted ones are made of: the more wanted tables it has attributes in common with, and the further off the model is beyond what noise
//! alone would give, the likelier. It is measured, and the model fitted. Where that changed the model by no more than noise would, later rounds get twice the accuracy.

use super::{Rounds, SAFE, SAMPLED, STEPS_A_ROUND, epsilon_of_choice, in_steps, measured, within_reach};
use crate::model::shape::Shape;
use crate::model::{Model, tree};
use accounting::Rho;
use exact::to_f64_nearest;
use mechanism::{Asking, Candidate, Round, RoundResult, STEPS_PER_ROW};
use std::collections::BTreeSet;

/// For each attribute, so many rounds at the accuracy that it begins with. Half of what the authors take: with 10 columns and 27,000 rows at ε = 1 that is two points of a thousand better.
const ROUNDS_AN_ATTRIBUTE: f64 = 8.0;
/// The part of a round that is for measuring; the rest is for choosing.
const MEASURING: f64 = 0.9;
/// The mean distance of Gaussian noise of deviation 1 from zero: √(2/π).
const MEAN_DISTANCE: f64 = 0.797_884_560_802_865_4;

/// What measuring costs in a round, to begin with.
pub(super) fn measuring(attributes: usize, rho: f64) -> f64 {
    MEASURING * rho / (ROUNDS_AN_ATTRIBUTE * attributes as f64)
}

pub(super) struct Aim<'a> {
    rounds: &'a Rounds,
    /// Tables that may be measured, each with its weight.
    tables: Vec<(Vec<usize>, u32)>,
    model: Model,
    /// How many results the model has taken in.
    seen: usize,
    /// What the next measurement costs.
    measuring: f64,
    /// What the next choice costs.
    choosing: f64,
    /// What the model says of each candidate of a choice that was asked for.
    expected: Vec<Vec<f64>>,
    /// The table that was chosen, with what the model said of it.
    chosen: Option<(Vec<usize>, Vec<f64>)>,
    /// Whether this is the last round.
    last: bool,
}

impl<'a> Aim<'a> {
    pub(super) fn new(rounds: &'a Rounds) -> Self {
        let count = rounds.sizes.len();
        let measuring = measuring(count, SAFE * rounds.rho);
        Self {
            rounds,
            tables: tables(rounds),
            model: Model::new(&rounds.sizes, &rounds.impossible),
            seen: 0,
            measuring,
            choosing: measuring * (1.0 - MEASURING) / MEASURING,
            expected: Vec::new(),
            chosen: None,
            last: false,
        }
    }

    /// Takes in what was measured since, and says whether accuracy is to be doubled.
    fn learn(&mut self, released: &[RoundResult]) {
        let fresh: Vec<_> = released[self.seen..].iter().filter_map(measured).collect();
        self.seen = released.len();
        if fresh.is_empty() {
            return;
        }
        let first = self.model.sets().is_empty();
        fresh.iter().for_each(|table| self.model.add(table));
        self.model.rebuild();
        self.model
            .fit(if first { 10 * STEPS_A_ROUND } else { STEPS_A_ROUND });
        let Some((attributes, before)) = self.chosen.take() else {
            return;
        };
        let Some(after) = self.model.table(&attributes) else {
            return;
        };
        let changed: f64 = before
            .iter()
            .zip(&after)
            .map(|(one, other)| (one - other).abs())
            .sum();
        let noise = MEAN_DISTANCE * self.rounds.variance_for(self.measuring).sqrt() * before.len() as f64;
        if changed <= noise {
            // Half the deviation costs four times as much.
            self.measuring *= 4.0;
            self.choosing *= 4.0;
        }
    }

    /// Tables that may be measured now: those that the model stays small with, and that noise would not drown. Each with what the model says of it, and its penalty.
    fn candidates(&self, share: f64) -> Vec<(Candidate, Vec<f64>)> {
        let (sets, held) = (self.model.sets(), self.model.held());
        let deviation = self.rounds.variance_for(self.measuring).sqrt();
        let limit = self.rounds.cells * share;
        let mut rows = None;
        let mut candidates = Vec::new();
        for (attributes, weight) in &self.tables {
            let shape = Shape::of(attributes, &self.rounds.sizes);
            let cells = shape.cells() as f64;
            // What noise would give for nothing. No table can be off by more than all rows, twice.
            let noise = MEAN_DISTANCE * deviation * cells;
            if attributes.len() > 1 && noise > 2.0 * self.model.total() {
                continue;
            }
            let known = sets.contains(attributes);
            if !known {
                let mut more = held.clone();
                more.push(attributes.clone());
                if tree::size(&more, &self.rounds.sizes) > limit.max(self.model.cells() as f64) {
                    continue;
                }
            }
            let expected = self.model.table(attributes).unwrap_or_else(|| {
                let rows = rows.get_or_insert_with(|| self.model.rows(SAMPLED, self.seen as u64));
                crate::model::tabulated(rows, &shape, self.model.total() / SAMPLED as f64)
            });
            let penalty = f64::from(*weight) * noise * STEPS_PER_ROW as f64;
            let candidate = Candidate {
                attributes: attributes.clone(),
                expected: in_steps(&expected),
                weight: *weight,
                penalty: penalty.round().min(4e18) as i64,
            };
            candidates.push((candidate, expected));
        }
        candidates
    }
}

impl Asking for Aim<'_> {
    fn next(&mut self, released: &[RoundResult], left: &Rho) -> Option<Round> {
        let count = self.rounds.sizes.len();
        if released.len() < count {
            return Some(self.rounds.measure(&[released.len()], self.measuring));
        }
        let fresh = released.last().filter(|_| self.seen < released.len());
        if let Some(RoundResult::Chosen {
            place, attributes, ..
        }) = fresh
        {
            self.seen = released.len();
            let before = std::mem::take(&mut self.expected).swap_remove(*place);
            self.chosen = Some((attributes.clone(), before));
            return Some(self.rounds.measure(attributes, self.measuring));
        }
        self.learn(released);
        if self.last {
            return None;
        }
        let left = SAFE * to_f64_nearest(left.as_rational());
        if left < 2.0 * (self.measuring + self.choosing) {
            // What is left goes into one last round.
            (self.measuring, self.choosing, self.last) = (MEASURING * left, (1.0 - MEASURING) * left, true);
        }
        let spent = self.rounds.rho - left + self.measuring + self.choosing;
        let candidates = self.candidates(spent / self.rounds.rho);
        if candidates.is_empty() {
            return None;
        }
        let (candidates, expected): (Vec<Candidate>, Vec<Vec<f64>>) = candidates.into_iter().unzip();
        self.expected = expected;
        Some(Round::Choose {
            candidates,
            epsilon: epsilon_of_choice(self.choosing)?,
        })
    }
}

/// The wanted tables and all that follow from them, each weighted by how many attributes it shares with those that are wanted.
fn tables(rounds: &Rounds) -> Vec<(Vec<usize>, u32)> {
    let mut all: BTreeSet<Vec<usize>> = BTreeSet::new();
    for wanted in &rounds.wanted {
        for kept in 1u32..1 << wanted.attributes.len().min(12) {
            let part = wanted.attributes.iter().enumerate();
            let part = part.filter(|(at, _)| *at < 12 && kept >> at & 1 == 1);
            all.insert(part.map(|(_, attribute)| *attribute).collect());
        }
    }
    let shared =
        |table: &[usize], wanted: &[usize]| table.iter().filter(|one| wanted.contains(one)).count() as u64;
    let each = all
        .into_iter()
        .filter(|table| size_of(table, &rounds.sizes) <= rounds.cells);
    within_reach(each.collect(), &rounds.sizes, Vec::as_slice)
        .into_iter()
        .map(|table| {
            let weight: u64 = rounds
                .wanted
                .iter()
                .map(|wanted| u64::from(wanted.weight) * shared(&table, &wanted.attributes))
                .sum();
            (table, u32::try_from(weight).unwrap_or(u32::MAX))
        })
        .collect()
}

/// How many cells a table has, however many they are.
fn size_of(attributes: &[usize], sizes: &[u32]) -> f64 {
    attributes.iter().map(|place| f64::from(sizes[*place])).product()
}
