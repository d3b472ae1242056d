//! How the budget is divided: a convex program.

/// Variances σ² with Σ cost/σ² = `budget` that make Σ weight·σ² least.
///
/// By Cauchy and Schwarz, (Σ √(weight·cost))² ≤ Σ weight·σ² · Σ cost/σ², with equality where σ² is proportional to √(cost/weight).
pub(super) fn least_sum(weights: &[f64], costs: &[f64], budget: f64) -> Vec<f64> {
    let total: f64 = weights
        .iter()
        .zip(costs)
        .map(|(weight, cost)| (weight * cost).sqrt())
        .sum();
    weights
        .iter()
        .zip(costs)
        .map(|(weight, cost)| total / budget * (cost / weight).sqrt())
        .collect()
}

/// A table as what it weighs on each residual: places and weights.
pub(super) type Row = Vec<(usize, f64)>;

/// How near the optimum the worst variance is, and how long is searched at most.
const GAP: f64 = 1e-3;
const STEPS: usize = 5000;

/// Variances with Σ cost/σ² = `budget` that make the largest row Σ weight·σ² as small as can be, within [`GAP`].
///
/// By duality it is the largest, over multipliers of the rows that add up to 1, of the least sum for the weights that they mix. Rows above
/// the mean get more of a multiplier; the least sum is a lower bound on every solution, so the gap is known.
pub(super) fn least_worst(rows: &[Row], costs: &[f64], budget: f64) -> Vec<f64> {
    let mut multipliers = vec![1.0 / rows.len() as f64; rows.len()];
    let mut best: Option<(f64, Vec<f64>)> = None;
    for _ in 0..STEPS {
        let mut weights = vec![0.0; costs.len()];
        for (row, multiplier) in rows.iter().zip(&multipliers) {
            for (place, weight) in row {
                weights[*place] += multiplier * weight;
            }
        }
        // A residual that no multiplier reaches would get no budget, and the rows that need it no bound.
        let floor = weights.iter().copied().fold(0.0, f64::max) * 1e-12;
        weights.iter_mut().for_each(|weight| *weight = weight.max(floor));
        let variances = least_sum(&weights, costs, budget);
        let values: Vec<f64> = rows
            .iter()
            .map(|row| row.iter().map(|(place, weight)| weight * variances[*place]).sum())
            .collect();
        let worst = values.iter().copied().fold(0.0, f64::max);
        let bound: f64 = weights
            .iter()
            .zip(&variances)
            .map(|(weight, variance)| weight * variance)
            .sum();
        if best.as_ref().is_none_or(|(least, _)| worst < *least) {
            best = Some((worst, variances));
        }
        if worst <= bound * (1.0 + GAP) {
            break;
        }
        let mut sum = 0.0;
        for (multiplier, value) in multipliers.iter_mut().zip(&values) {
            *multiplier *= value / bound;
            sum += *multiplier;
        }
        multipliers.iter_mut().for_each(|multiplier| *multiplier /= sum);
    }
    best.expect("at least one step").1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_row_of_a_small_program_is_known() {
        // One residual twice as costly as the other, and each row needs one: equal variances v with (1 + 2)/v = 1.
        let rows = [vec![(0, 1.0)], vec![(1, 1.0)]];
        let variances = least_worst(&rows, &[1.0, 2.0], 1.0);
        assert!(
            variances.iter().all(|variance| (variance - 3.0).abs() < 0.01),
            "{variances:?}"
        );
        // A row that is never the worst changes nothing.
        let rows = [vec![(0, 1.0)], vec![(1, 1.0)], vec![(0, 0.1), (1, 0.1)]];
        let variances = least_worst(&rows, &[1.0, 2.0], 1.0);
        assert!(
            variances.iter().all(|variance| (variance - 3.0).abs() < 0.01),
            "{variances:?}"
        );
    }

    #[test]
    fn the_sum_cannot_be_made_smaller() {
        let (weights, costs) = ([1.0, 4.0, 9.0], [2.0, 1.0, 0.5]);
        let variances = least_sum(&weights, &costs, 3.0);
        let cost: f64 = costs
            .iter()
            .zip(&variances)
            .map(|(cost, variance)| cost / variance)
            .sum();
        assert!((cost - 3.0).abs() < 1e-12);
        let sum = |variances: &[f64]| -> f64 { weights.iter().zip(variances).map(|(w, v)| w * v).sum() };
        for (up, down) in [(0, 1), (1, 2), (2, 0)] {
            let mut other = variances.clone();
            other[up] *= 1.01;
            // Pays for it elsewhere, so that the cost stays.
            let saved = costs[up] / variances[up] - costs[up] / other[up];
            other[down] = costs[down] / (costs[down] / variances[down] + saved);
            assert!(sum(&other) > sum(&variances));
        }
    }
}
