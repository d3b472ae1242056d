//! Whole numbers of at least 0 that add up, from the top of a hierarchy down.
//!
//! Estimates are fractional, and some are negative. Offices publish whole people. At each node, and for each cell by itself, the children's estimates are moved to the closest numbers that are not negative and add up to the
//! node's whole number, each weighed by its variance; then these are rounded such that the sum stays.
//!
//! What is gained in looks is paid for in bias: a true 0 with noise around it becomes a positive number on average, and as sums are kept, large cells lose what small ones gain. `bias` says how much, and the unbiased
//! estimates are always published beside these.

use super::{Fit, Tree};
use crate::Error;

/// The closest numbers of at least 0 with this sum: Σ(n − x)²/v is least. `numbers` are replaced.
///
/// Claim: n = max(0, x − λv) with the λ for which Σn = `sum`.
/// Proof: these are the conditions of Karush, Kuhn and Tucker, and the problem is strictly convex. Σ max(0, x − λv) falls from ∞ to 0 as λ grows. Number j is positive while λ < x_j/v_j, so sorted by that from the largest on, the first k are
/// positive for some k, and then λ = (Σx − sum)/Σv over these. The right k is the last one whose x_k/v_k is above the λ of the first k.
fn project(numbers: &mut [f64], variances: &[f64], sum: f64, order: &mut Vec<u32>) {
    order.clear();
    order.extend(0..numbers.len() as u32);
    let ratio = |place: u32| numbers[place as usize] / variances[place as usize];
    order.sort_unstable_by(|one, other| ratio(*other).total_cmp(&ratio(*one)));
    let (mut total, mut weight, mut lambda) = (0.0, 0.0, f64::NEG_INFINITY);
    for place in order.iter() {
        let (x, v) = (numbers[*place as usize], variances[*place as usize]);
        let next = (total + x - sum) / (weight + v);
        if weight > 0.0 && x / v <= next {
            break;
        }
        (total, weight, lambda) = (total + x, weight + v, next);
    }
    for (number, variance) in numbers.iter_mut().zip(variances) {
        *number = (*number - lambda * variance).max(0.0);
    }
}

/// Whole numbers, each next to its fraction, with this sum, which is that of the fractions: all are rounded down, and those with the largest rests up again.
fn round(numbers: &[f64], sum: i64, order: &mut Vec<u32>, whole: &mut [i64]) {
    for (whole, number) in whole.iter_mut().zip(numbers) {
        *whole = number.floor() as i64;
    }
    let mut missing = sum - whole.iter().sum::<i64>();
    order.clear();
    order.extend(0..numbers.len() as u32);
    let rest = |place: &u32| numbers[*place as usize] - numbers[*place as usize].floor();
    order.sort_by(|one, other| rest(other).total_cmp(&rest(one)));
    // Floats can leave the fractions' sum a hair beside `sum`: one more round, at most, and nothing below 0.
    while missing != 0 {
        let step = missing.signum();
        let before = missing;
        let turns: Box<dyn Iterator<Item = &u32>> = if step > 0 {
            Box::new(order.iter())
        } else {
            Box::new(order.iter().rev())
        };
        for place in turns {
            if missing == 0 {
                break;
            }
            if whole[*place as usize] + step >= 0 {
                whole[*place as usize] += step;
                missing -= step;
            }
        }
        if missing == before {
            break;
        }
    }
}

/// Splits a node's whole numbers among its children: `estimates` has `parent.len()` numbers for each of them, one child after the other, and so has the result.
///
/// # Errors
/// When a number of the parent is negative, or the estimates are not as many as the variances and cells say.
pub fn split(parent: &[i64], estimates: &[f64], variances: &[f64]) -> Result<Vec<i64>, Error> {
    let (width, count) = (parent.len(), variances.len());
    if estimates.len() != width * count || count == 0 || parent.iter().any(|number| *number < 0) {
        return Err(Error::OtherHierarchy);
    }
    // Something known exactly still moves where the sum does not fit it, but last.
    let largest = variances.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let variances: Vec<f64> = variances
        .iter()
        .map(|variance| variance.max(largest * 1e-12))
        .collect();
    let mut result = vec![0i64; estimates.len()];
    let (mut numbers, mut whole, mut order) = (vec![0.0; count], vec![0i64; count], Vec::new());
    // Cells with 0 people have none below.
    for (cell, sum) in parent.iter().enumerate().filter(|(_, sum)| **sum > 0) {
        for (number, estimates) in numbers.iter_mut().zip(estimates.chunks(width)) {
            *number = estimates[cell];
        }
        project(&mut numbers, &variances, *sum as f64, &mut order);
        round(&numbers, *sum, &mut order, &mut whole);
        for (result, whole) in result.chunks_mut(width).zip(&whole) {
            result[cell] = *whole;
        }
    }
    Ok(result)
}

/// The root's whole numbers: closest to its estimates, with their sum.
pub fn root(estimates: &[f64]) -> Vec<i64> {
    let total = estimates.iter().sum::<f64>().round().max(0.0);
    let mut numbers = estimates.to_vec();
    let mut whole = vec![0i64; numbers.len()];
    let mut order = Vec::new();
    project(&mut numbers, &vec![1.0; estimates.len()], total, &mut order);
    round(&numbers, total as i64, &mut order, &mut whole);
    whole
}

/// Whole numbers of at least 0 for the whole hierarchy, from estimates that add up.
///
/// # Errors
/// As [`split`].
pub fn top_down(fit: &Fit, estimates: &[Vec<f64>], width: usize) -> Result<Vec<Vec<i64>>, Error> {
    top_down_under(fit, &root(&estimates[0]), estimates, width)
}

/// The same under a root whose whole numbers were decided elsewhere.
///
/// # Errors
/// As [`split`].
pub fn top_down_under(
    fit: &Fit,
    root: &[i64],
    estimates: &[Vec<f64>],
    width: usize,
) -> Result<Vec<Vec<i64>>, Error> {
    let tree: &Tree = fit.tree();
    let mut whole = vec![root.to_vec()];
    for level in 0..tree.levels() - 1 {
        let mut next = vec![0i64; tree.size(level + 1) * width];
        for node in 0..tree.size(level) {
            let children = tree.children(level, node);
            let row = |child: &u32| &estimates[level + 1][*child as usize * width..][..width];
            let rows: Vec<f64> = children.iter().flat_map(row).copied().collect();
            let variance = |child: &u32| fit.variance(level + 1, *child as usize);
            let variances: Vec<f64> = children.iter().map(variance).collect();
            let parts = split(&whole[level][node * width..][..width], &rows, &variances)?;
            for (child, part) in children.iter().zip(parts.chunks(width.max(1))) {
                next[*child as usize * width..][..width].copy_from_slice(part);
            }
        }
        whole.push(next);
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn distance(numbers: &[f64], estimates: &[f64], variances: &[f64]) -> f64 {
        let parts = numbers.iter().zip(estimates).zip(variances);
        parts
            .map(|((number, estimate), variance)| (number - estimate).powi(2) / variance)
            .sum()
    }

    proptest! {
        #[test]
        fn nothing_admissible_is_closer(
            children in prop::collection::vec((-50.0..200.0f64, 0.1..9.0f64), 1..8),
            sum in 0i64..400,
            other in prop::collection::vec(0.01..1.0f64, 8),
        ) {
            let (estimates, variances): (Vec<f64>, Vec<f64>) = children.into_iter().unzip();
            let mut closest = estimates.clone();
            project(&mut closest, &variances, sum as f64, &mut Vec::new());
            prop_assert!(closest.iter().all(|number| *number >= 0.0));
            prop_assert!((closest.iter().sum::<f64>() - sum as f64).abs() < 1e-6);
            // A step towards any other admissible point leads away from the estimates.
            let shares = &other[..estimates.len()];
            let all: f64 = shares.iter().sum();
            let toward: Vec<f64> = closest.iter().zip(shares)
                .map(|(number, share)| 0.99 * number + 0.01 * share / all * sum as f64)
                .collect();
            prop_assert!(distance(&closest, &estimates, &variances) <= distance(&toward, &estimates, &variances) + 1e-5);
            let mut whole = vec![0; estimates.len()];
            round(&closest, sum, &mut Vec::new(), &mut whole);
            prop_assert_eq!(whole.iter().sum::<i64>(), sum);
            for (whole, number) in whole.iter().zip(&closest) {
                prop_assert!(*whole >= 0 && (*whole as f64 - number).abs() < 1.0 + 1e-6);
            }
        }
    }

    #[test]
    fn cells_without_people_have_none_below() {
        let parts = split(&[0, 3], &[5.0, 1.2, 7.0, 2.2], &[1.0, 1.0]).unwrap();
        assert_eq!(parts, [0, 1, 0, 2]);
        assert!(split(&[-1], &[1.0], &[1.0]).is_err());
        assert!(split(&[1], &[1.0, 2.0], &[1.0]).is_err());
        assert_eq!(root(&[-3.0, 10.4, 0.4]), [0, 8, 0], "the sum of 7.8 stays");
    }
}
