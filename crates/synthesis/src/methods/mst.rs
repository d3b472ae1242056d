//! Each attribute alone, and the pairs of a tree over all of them (McKenna, Miklau and Sheldon 2021).

use super::{Rounds, SAFE, SAMPLED, STEPS_A_ROUND, epsilon_of_choice, in_steps, measured, within_reach};
use crate::impossible;
use crate::model::shape::Shape;
use crate::model::{Model, tabulated, tree};
use accounting::Rho;
use mechanism::{Asking, Candidate, Round, RoundResult};

/// The part of ρ for attributes alone; as much is for choosing, and as much for pairs.
pub(super) const FIRST: f64 = 1.0 / 3.0;

pub(super) struct Mst<'a> {
    rounds: &'a Rounds,
    /// What attributes alone say, once they are measured.
    model: Option<Model>,
    /// What each pair would count if its attributes were independent.
    pairs: Vec<(Vec<usize>, Vec<i64>)>,
}

impl<'a> Mst<'a> {
    pub(super) fn new(rounds: &'a Rounds) -> Self {
        Self {
            rounds,
            model: None,
            pairs: Vec::new(),
        }
    }

    /// Pairs that join what was apart.
    fn candidates(&self, chosen: &[&[usize]]) -> Vec<Candidate> {
        let mut parts: Vec<usize> = (0..self.rounds.sizes.len()).collect();
        for pair in chosen {
            let (from, to) = (parts[pair[0]], parts[pair[1]]);
            for part in &mut parts {
                if *part == from {
                    *part = to;
                }
            }
        }
        self.pairs
            .iter()
            .filter(|(pair, _)| parts[pair[0]] != parts[pair[1]] && self.fits(chosen, pair))
            .map(|(pair, expected)| Candidate {
                attributes: pair.clone(),
                expected: expected.clone(),
                weight: 1,
                penalty: 0,
            })
            .collect()
    }
}

impl Mst<'_> {
    /// Whether the model stays small with one more pair. Pairs of a tree alone always do; with what rules hold together they may not.
    fn fits(&self, chosen: &[&[usize]], pair: &[usize]) -> bool {
        if self.rounds.impossible.is_empty() {
            return true;
        }
        let pairs = chosen.iter().copied().chain([pair]).map(<[usize]>::to_vec);
        let sets: Vec<Vec<usize>> = pairs.chain(impossible::sets(&self.rounds.impossible)).collect();
        tree::size(&sets, &self.rounds.sizes) <= self.rounds.cells
    }
}

impl Asking for Mst<'_> {
    fn next(&mut self, released: &[RoundResult], _: &Rho) -> Option<Round> {
        let count = self.rounds.sizes.len();
        let part = SAFE * FIRST * self.rounds.rho;
        if released.len() < count {
            return Some(self.rounds.measure(&[released.len()], part / count as f64));
        }
        if self.model.is_none() {
            let mut model = Model::new(&self.rounds.sizes, &self.rounds.impossible);
            released
                .iter()
                .filter_map(measured)
                .for_each(|table| model.add(&table));
            model.rebuild();
            model.fit(10 * STEPS_A_ROUND);
            let mut rows = None;
            let cells = |place: usize| u64::from(self.rounds.sizes[place]);
            let pairs =
                (0..count).flat_map(|first| (first + 1..count).map(move |second| vec![first, second]));
            let pairs = pairs.filter(|pair| (cells(pair[0]) * cells(pair[1])) as f64 <= self.rounds.cells);
            for pair in within_reach(pairs.collect(), &self.rounds.sizes, |pair: &Vec<usize>| pair) {
                // Rules may connect a pair through others, so that no clique has both.
                let expected = model.table(&pair).unwrap_or_else(|| {
                    let rows = rows.get_or_insert_with(|| model.rows(SAMPLED, 0));
                    let shape = Shape::of(&pair, &self.rounds.sizes);
                    tabulated(rows, &shape, model.total() / SAMPLED as f64)
                });
                self.pairs.push((pair, in_steps(&expected)));
            }
            self.model = Some(model);
        }
        let chosen: Vec<&[usize]> = released
            .iter()
            .filter_map(|result| match result {
                RoundResult::Chosen { attributes, .. } => Some(&attributes[..]),
                _ => None,
            })
            .collect();
        let candidates = self.candidates(&chosen);
        let joins = (count - 1) as f64;
        if !candidates.is_empty() && released.len() == count + chosen.len() {
            return Some(Round::Choose {
                candidates,
                epsilon: epsilon_of_choice(part / joins)?,
            });
        }
        let pair = chosen.get(released.len() - count - chosen.len())?;
        Some(self.rounds.measure(pair, part / chosen.len() as f64))
    }
}
