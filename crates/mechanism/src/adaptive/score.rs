//! Exact counts of tables, and how badly expected ones fit them.

use super::{Candidate, Expected, STEPS_PER_ROW};
use crate::Cells;
use std::collections::BTreeMap;

/// Cells of tables that are kept from one round to the next.
const MOST_KEPT: usize = 1 << 25;

/// The tables of one input. Those that were counted are kept, because candidates come again in every round.
pub(super) struct Tables<'a> {
    columns: &'a [Vec<u32>],
    /// The count of each line, or 0 for a line with a code that is no value: decided by that line alone.
    counts: Vec<u32>,
    sizes: &'a [u32],
    known: BTreeMap<Vec<usize>, Vec<i64>>,
    kept: usize,
}

impl<'a> Tables<'a> {
    pub(super) fn new(cells: &'a Cells, sizes: &'a [u32]) -> Self {
        let mut counts = cells.counts().to_vec();
        if cells.columns().len() != sizes.len() {
            counts.fill(0);
        }
        for (column, size) in cells.columns().iter().zip(sizes) {
            for (count, code) in counts.iter_mut().zip(column) {
                *count *= u32::from(code < size);
            }
        }
        Self {
            columns: cells.columns(),
            counts,
            sizes,
            known: BTreeMap::new(),
            kept: 0,
        }
    }

    /// How many rows are in each cell of a table that there is.
    pub(super) fn counts(&mut self, attributes: &[usize]) -> &[i64] {
        if !self.known.contains_key(attributes) {
            if self.kept > MOST_KEPT {
                self.known.clear();
                self.kept = 0;
            }
            let table = self.counted(attributes);
            self.kept += table.len();
            self.known.insert(attributes.to_vec(), table);
        }
        &self.known[attributes]
    }

    fn counted(&self, attributes: &[usize]) -> Vec<i64> {
        let cells: usize = attributes
            .iter()
            .map(|place| self.sizes[*place] as usize)
            .product();
        let mut places = vec![0usize; self.counts.len()];
        for attribute in attributes {
            let size = self.sizes[*attribute] as usize;
            let Some(column) = self.columns.get(*attribute) else {
                return vec![0; cells];
            };
            for (place, code) in places.iter_mut().zip(column) {
                // A line that does not count may have any code.
                *place = *place * size + (*code as usize).min(size - 1);
            }
        }
        let mut table = vec![0i64; cells];
        for (place, count) in places.iter().zip(&self.counts) {
            table[*place] += i64::from(*count);
        }
        table
    }

    /// w·Σ_c |S·n_c − e_c| − p, cut to 64 bits.
    pub(super) fn score(&mut self, candidate: &Candidate) -> i64 {
        let wrong = self.wrong(&candidate.attributes, &candidate.expected);
        let score = i128::from(candidate.weight) * wrong - i128::from(candidate.penalty);
        score.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    /// ⌊Σ_c |S·n_c − e_c| / S⌋, cut to what noise may be added to: that moves no two of them apart.
    pub(super) fn distance(&mut self, table: &Expected) -> i64 {
        let wrong = self.wrong(&table.attributes, &table.counts);
        (wrong / i128::from(STEPS_PER_ROW)).min(i128::from(i64::MAX / 4)) as i64
    }

    /// Σ_c |S·n_c − e_c|.
    fn wrong(&mut self, attributes: &[usize], expected: &[i64]) -> i128 {
        let steps = i128::from(STEPS_PER_ROW);
        let counts = self.counts(attributes).iter().zip(expected);
        counts
            .map(|(count, expected)| (steps * i128::from(*count) - i128::from(*expected)).abs())
            .sum()
    }
}
