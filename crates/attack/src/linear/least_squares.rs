//! The point closest to all answers, by conjugate gradients.
//!
//! The equations of random subsets are well conditioned. Except in one direction (how many bits are set in
//! all) the squared singular values lie between (m/4)·(1 ± √(n/m))². So with m = 4n the error halves at each
//! step, and forty steps of two products each suffice. The one outlier costs one step more.

use super::queries::Queries;

/// An error so much smaller than at the start is far below what rounding at one half sees.
const SMALL: f64 = 1e-9;

/// With hardly more answers than people, steps gain little: what is left undone are the directions that the
/// answers say next to nothing about, and leaving those at one half is no loss to an attack.
const MOST_STEPS: usize = 500;

/// Starts at one half for everybody, so that what the answers do not decide stays there (the point of least
/// distance from it, if there are fewer answers than people).
pub(super) fn solve(queries: &Queries, answers: &[f64]) -> Vec<f64> {
    let mut estimates = vec![0.5; queries.people()];
    // What the answers are off by, and how that is seen by each person (CGLS: Björck 1996, algorithm 7.4.1).
    let mut residuals: Vec<f64> = queries
        .by_query
        .times(&estimates)
        .iter()
        .zip(answers)
        .map(|(sum, answer)| answer - sum)
        .collect();
    let mut gradient = queries.by_person.times(&residuals);
    let mut direction = gradient.clone();
    let mut size = squared(&gradient);
    let enough = size * SMALL * SMALL;
    for _ in 0..MOST_STEPS {
        if size <= enough {
            break;
        }
        let change = queries.by_query.times(&direction);
        let length = size / squared(&change);
        add(&mut estimates, length, &direction);
        add(&mut residuals, -length, &change);
        gradient = queries.by_person.times(&residuals);
        let before = std::mem::replace(&mut size, squared(&gradient));
        let kept = size / before;
        for (towards, downhill) in direction.iter_mut().zip(&gradient) {
            *towards = downhill + kept * *towards;
        }
    }
    estimates
}

fn squared(vector: &[f64]) -> f64 {
    vector.iter().map(|number| number * number).sum()
}

fn add(to: &mut [f64], times: f64, what: &[f64]) {
    for (sum, number) in to.iter_mut().zip(what) {
        *sum += times * number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seeded;

    #[test]
    fn the_residuals_are_orthogonal_to_every_person() {
        let mut seeded = Seeded::new(5);
        let queries = Queries::random(40, 130, &mut seeded).unwrap();
        let answers: Vec<f64> = (0..130).map(|_| 20.0 + 5.0 * seeded.normal()).collect();
        let estimates = solve(&queries, &answers);
        let sums = queries.by_query.times(&estimates);
        let residuals: Vec<f64> = answers
            .iter()
            .zip(&sums)
            .map(|(answer, sum)| answer - sum)
            .collect();
        for product in queries.by_person.times(&residuals) {
            assert!(product.abs() < 1e-5, "{product}");
        }
    }

    #[test]
    fn fewer_answers_than_people_are_met_exactly() {
        let mut seeded = Seeded::new(6);
        let queries = Queries::random(90, 30, &mut seeded).unwrap();
        let answers: Vec<f64> = (0..30).map(|_| 45.0 + 5.0 * seeded.normal()).collect();
        let estimates = solve(&queries, &answers);
        for (sum, answer) in queries.by_query.times(&estimates).iter().zip(&answers) {
            assert!((sum - answer).abs() < 1e-5);
        }
    }
}
