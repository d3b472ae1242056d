//! How much of ρ each level of a hierarchy gets.

use crate::Error;

/// One level of a hierarchy in which all nodes of a level have equally many children.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelPlan {
    /// How many children a node of the level above has; 1 for the root.
    pub children: f64,
    /// How much the variance of one of its numbers matters.
    pub weight: f64,
}

/// The variance of one number of each level's estimates, where these were measured with such variances: the recursions of [`Fit`](super::Fit).
///
/// # Errors
/// When there are not as many.
pub fn variances_of(levels: &[LevelPlan], measured: &[f64]) -> Result<Vec<f64>, Error> {
    if levels.len() != measured.len() || levels.is_empty() {
        return Err(Error::OtherHierarchy);
    }
    let mut below = measured.to_vec();
    for level in (0..levels.len() - 1).rev() {
        let sum = levels[level + 1].children * below[level + 1];
        below[level] = sum * measured[level] / (sum + measured[level]);
    }
    let mut estimates = below.clone();
    for level in 1..levels.len() {
        let children = levels[level].children;
        // Each takes 1/children of the correction.
        estimates[level] =
            below[level] - (children * below[level] - estimates[level - 1]) / (children * children);
    }
    Ok(estimates)
}

/// The shares of ρ for which the weighted sum of the estimates' variances is least, to about one part in a thousand of that sum. Each level is measured once for each unit, with variance in inverse proportion to its share.
///
/// The sum is convex in the shares (each variance is the inverse of a concave function of precisions), so exponentiated gradients find its least.
///
/// # Errors
/// When there is no level, or a number is not positive.
pub fn planned_shares(levels: &[LevelPlan]) -> Result<Vec<f64>, Error> {
    let positive =
        |level: &LevelPlan| level.children >= 1.0 && level.weight > 0.0 && level.weight.is_finite();
    if levels.is_empty() || !levels.iter().all(positive) {
        return Err(Error::OtherHierarchy);
    }
    let cost = |shares: &[f64]| -> Result<f64, Error> {
        let measured: Vec<f64> = shares.iter().map(|share| 1.0 / share).collect();
        let variances = variances_of(levels, &measured)?;
        Ok(variances
            .iter()
            .zip(levels)
            .map(|(variance, level)| variance * level.weight)
            .sum())
    };
    let mut shares = vec![1.0 / levels.len() as f64; levels.len()];
    let mut least = cost(&shares)?;
    let mut step = 0.5;
    while step > 1e-4 {
        let mut improved = false;
        for place in 0..shares.len() {
            for factor in [1.0 + step, 1.0 / (1.0 + step)] {
                let mut next = shares.clone();
                next[place] *= factor;
                let sum: f64 = next.iter().sum();
                next.iter_mut().for_each(|share| *share /= sum);
                let found = cost(&next)?;
                if found < least {
                    (shares, least, improved) = (next, found, true);
                }
            }
        }
        if !improved {
            step /= 2.0;
        }
    }
    Ok(shares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consistent::{Fit, Tree};

    fn levels(children: &[f64]) -> Vec<LevelPlan> {
        children
            .iter()
            .map(|children| LevelPlan {
                children: *children,
                weight: 1.0,
            })
            .collect()
    }

    #[test]
    fn regular_trees_have_the_variances_of_the_fit() {
        let parents = [vec![0, 0, 0], (0..6).map(|node| node / 2).collect::<Vec<u32>>()];
        let measured = [0.7, 2.0, 5.0];
        let fit = Fit::by_level(Tree::new(&parents).unwrap(), &measured).unwrap();
        let variances = variances_of(&levels(&[1.0, 3.0, 2.0]), &measured).unwrap();
        for (level, variance) in variances.iter().enumerate() {
            assert!((fit.variance(level, 0) - variance).abs() < 1e-12);
        }
    }

    #[test]
    fn no_other_split_is_better() {
        let levels = levels(&[1.0, 50.0, 30.0, 3.3, 60.0]);
        let cost = |shares: &[f64]| -> f64 {
            variances_of(
                &levels,
                &shares.iter().map(|share| 1.0 / share).collect::<Vec<_>>(),
            )
            .unwrap()
            .iter()
            .sum()
        };
        let planned = planned_shares(&levels).unwrap();
        assert!((planned.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let mut random = noise::Seeded::new(3);
        for _ in 0..2000 {
            let mut other: Vec<f64> = planned
                .iter()
                .map(|share| share * (0.5 * random.normal()).exp())
                .collect();
            let sum: f64 = other.iter().sum();
            other.iter_mut().for_each(|share| *share /= sum);
            assert!(cost(&planned) <= cost(&other) * 1.001);
        }
        assert!(cost(&planned) < cost(&[0.2; 5]));
        assert!(planned_shares(&[]).is_err());
    }
}
