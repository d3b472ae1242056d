//! A likelihood ratio learned from rows: a sum of one weight for each entry.
//!
//! If entries are independent, the logarithm of the likelihood ratio is such a sum, and by Neyman and Pearson
//! its upper level sets are the best events there are. If they are not, the weights are still fitted
//! together: logistic regression on the cells of all entries, by Newton's method one entry at a time
//! (backfitting). A poor fit costs power and nothing else.

use super::cuts::cut_keys;
use super::view::View;

/// Σ over views of a weight that depends on the cell of the view's key.
#[derive(Clone, Debug)]
pub(super) struct Additive {
    terms: Vec<Term>,
    name: &'static str,
}

#[derive(Clone, Debug)]
struct Term {
    view: View,
    cuts: Vec<i64>,
    weights: Vec<f64>,
}

/// Cells of each entry at first: more would have too few rows each for a good weight, unless there are many
/// rows.
const PARTS: usize = 32;
const MANY_ROWS: usize = 1 << 17;
/// Times that every weight is fitted; the sum converges long before.
const SWEEPS: usize = 5;
/// Pulls weights of cells with few rows towards zero.
const RIDGE: f64 = 4.0;
/// Neighbouring cells become one if the square of the difference of their weights is below this many times
/// its variance. The largest scores, where the best events are, would else be those of lucky cells.
const ALIKE: f64 = 9.0;

impl Additive {
    /// Fits the ratio of the first side to the second.
    pub(super) fn fit(views: Vec<View>, name: &'static str, rows: &[Vec<f64>], first: &[bool]) -> Self {
        let parts = if rows.len() < MANY_ROWS { PARTS } else { 2 * PARTS };
        let mut cells: Vec<Vec<u16>> = Vec::new();
        let mut terms: Vec<Term> = Vec::new();
        for view in views {
            let keys: Vec<i64> = rows.iter().map(|row| view.key(row)).collect();
            let cuts = cut_keys(keys.clone(), 2 * parts, 4 * parts, parts, false);
            let cell = |key: &i64| cuts.partition_point(|cut| cut <= key) as u16;
            cells.push(keys.iter().map(cell).collect());
            let weights = vec![0.0; cuts.len() + 1];
            terms.push(Term { view, cuts, weights });
        }
        let precisions = refine(&mut terms, &cells, first);
        for ((term, cells), precision) in terms.iter_mut().zip(&mut cells).zip(&precisions) {
            let joined = term.join(precision);
            cells
                .iter_mut()
                .for_each(|cell| *cell = joined[usize::from(*cell)]);
        }
        refine(&mut terms, &cells, first);
        Self { terms, name }
    }

    /// The logarithm of the likelihood ratio, up to the quality of the fit.
    pub(super) fn score(&self, row: &[f64]) -> f64 {
        self.terms
            .iter()
            .map(|term| {
                let key = term.view.key(row);
                term.weights[term.cuts.partition_point(|cut| *cut <= key)]
            })
            .sum()
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }
}

/// Newton's steps from the weights that there are; returns the precision of each weight, one over its
/// variance.
fn refine(terms: &mut [Term], cells: &[Vec<u16>], first: &[bool]) -> Vec<Vec<f64>> {
    let mut score = vec![0.0f64; first.len()];
    for (term, cells) in terms.iter().zip(cells) {
        let add = |(score, cell): (&mut f64, &u16)| *score += term.weights[usize::from(*cell)];
        score.iter_mut().zip(cells).for_each(add);
    }
    let mut precisions = vec![Vec::new(); terms.len()];
    for _ in 0..SWEEPS {
        for ((term, cells), precision) in terms.iter_mut().zip(cells).zip(&mut precisions) {
            let mut slopes = vec![(0.0f64, RIDGE); term.weights.len()];
            for ((cell, score), first) in cells.iter().zip(&score).zip(first) {
                let chance = 1.0 / (1.0 + (-score).exp());
                let slope = &mut slopes[usize::from(*cell)];
                slope.0 += f64::from(u8::from(*first)) - chance;
                slope.1 += chance * (1.0 - chance);
            }
            // A cell of one side only would have an endless weight; steps are bounded.
            let steps: Vec<f64> = slopes
                .iter()
                .map(|(up, curve)| (up / curve).clamp(-2.0, 2.0))
                .collect();
            term.weights
                .iter_mut()
                .zip(&steps)
                .for_each(|(weight, step)| *weight += step);
            score
                .iter_mut()
                .zip(cells)
                .for_each(|(score, cell)| *score += steps[usize::from(*cell)]);
            *precision = slopes.into_iter().map(|(_, curve)| curve).collect();
        }
    }
    precisions
}

impl Term {
    /// Joins neighbouring cells that are alike, the most alike first. Returns the new cell of each old one.
    fn join(&mut self, precision: &[f64]) -> Vec<u16> {
        let mut groups: Vec<Group> = self
            .weights
            .iter()
            .zip(precision)
            .map(|(weight, precision)| Group {
                weight: *weight,
                precision: *precision,
                cells: 1,
            })
            .collect();
        let most_alike = |groups: &[Group]| {
            let gaps = groups.windows(2).map(|pair| pair[0].gap(&pair[1])).enumerate();
            gaps.min_by(|left, right| left.1.total_cmp(&right.1))
        };
        while let Some((at, _)) = most_alike(&groups).filter(|(_, gap)| *gap < ALIKE) {
            let next = groups.remove(at + 1);
            groups[at].take(&next);
        }
        let joined: Vec<u16> = (0..)
            .zip(&groups)
            .flat_map(|(number, group)| std::iter::repeat_n(number, group.cells))
            .collect();
        let cuts = self.cuts.iter().zip(joined.windows(2));
        self.cuts = cuts
            .filter_map(|(cut, pair)| (pair[0] != pair[1]).then_some(*cut))
            .collect();
        self.weights = groups.iter().map(|group| group.weight).collect();
        joined
    }
}

/// Cells that have become one.
struct Group {
    weight: f64,
    precision: f64,
    cells: usize,
}

impl Group {
    /// The squared difference of the weights, in units of its variance.
    fn gap(&self, other: &Self) -> f64 {
        (self.weight - other.weight).powi(2) / (1.0 / self.precision + 1.0 / other.precision)
    }

    fn take(&mut self, other: &Self) {
        let precision = self.precision + other.precision;
        self.weight = (self.weight * self.precision + other.weight * other.precision) / precision;
        self.precision = precision;
        self.cells += other.cells;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two entries that say the same and one that says nothing: a naive sum would count the evidence twice.
    #[test]
    fn repeated_evidence_is_counted_once() {
        let mut state = 3u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut rows = Vec::new();
        let mut first = Vec::new();
        for i in 0..40_000 {
            let side = i % 2 == 0;
            // A bit that is 1 with probability 0.7 on the first side and 0.3 on the other.
            let bit = f64::from(u8::from(uniform() < if side { 0.7 } else { 0.3 }));
            rows.push(vec![bit, bit, uniform()]);
            first.push(side);
        }
        let model = Additive::fit((0..3).map(View::Value).collect(), "test", &rows, &first);
        let truth = (0.7f64 / 0.3).ln();
        for noise in [0.1, 0.5, 0.9] {
            let found = model.score(&[1.0, 1.0, noise]);
            assert!((found - truth).abs() < 0.2, "{found} is not {truth}");
        }
    }
    /// A step: many cells at first, two in the end, cut where the step is.
    #[test]
    fn cells_that_say_the_same_become_one() {
        let mut state = 5u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let rows: Vec<Vec<f64>> = (0..40_000).map(|_| vec![uniform()]).collect();
        let first: Vec<bool> = rows
            .iter()
            .map(|row| uniform() < if row[0] < 0.5 { 0.6 } else { 0.4 })
            .collect();
        let model = Additive::fit(vec![View::Value(0)], "test", &rows, &first);
        assert_eq!(model.terms[0].weights.len(), 2, "{:?}", model.terms[0].weights);
        for (value, truth) in [(0.1, 1.5f64.ln()), (0.4, 1.5f64.ln()), (0.9, -(1.5f64.ln()))] {
            let found = model.score(&[value]);
            assert!((found - truth).abs() < 0.06, "{found} is not {truth}");
        }
    }
}
