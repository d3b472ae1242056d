//! A likelihood ratio learned from rows: a sum of one weight for each entry.
//!
//! Where entries are independent the logarithm of the likelihood ratio is such a sum, and by Neyman and Pearson its upper level
//! sets are the best events there are. Where they are not, the weights are still fitted together: logistic regression on the
//! cells of all entries, by Newton's method one entry at a time (backfitting). A poor fit costs power and nothing else.

use super::cells::cut_keys;
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

/// Cells of each entry: more would have too few rows each for a good weight.
const PARTS: usize = 24;
/// Times that every weight is fitted; the sum converges long before.
const SWEEPS: usize = 6;
/// Pulls weights of cells with few rows towards zero.
const RIDGE: f64 = 4.0;

impl Additive {
    /// Fits the ratio of the first side to the second.
    pub(super) fn fit(views: Vec<View>, name: &'static str, rows: &[Vec<f64>], first: &[bool]) -> Self {
        let mut score = vec![0.0f64; rows.len()];
        let mut cells: Vec<Vec<u16>> = Vec::new();
        let mut terms: Vec<Term> = Vec::new();
        for view in views {
            let keys: Vec<i64> = rows.iter().map(|row| view.key(row)).collect();
            let cuts = cut_keys(keys.clone(), 2 * PARTS, 4 * PARTS, PARTS, false);
            let cell = |key: &i64| cuts.partition_point(|cut| cut <= key) as u16;
            cells.push(keys.iter().map(cell).collect());
            let weights = vec![0.0; cuts.len() + 1];
            terms.push(Term { view, cuts, weights });
        }
        for _ in 0..SWEEPS {
            for (term, cells) in terms.iter_mut().zip(&cells) {
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
            }
        }
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
}
