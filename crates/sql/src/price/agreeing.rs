//! Tables that agree, of tables of which each was measured with independent noise: the unbiased estimates of least variance.
//!
//! What a table by some keys says falls into orthogonal parts: for each of the sets of its keys, what that set adds to smaller ones. A part is told by every measured table that has its keys, summed over the others. Noise is alike in all cells
//! of a measured table, so parts are uncorrelated, and the best estimate of each part is the average of what the tables tell, weighed by precision (Gauss and Markov). Tables that are put together from the same parts agree.

use std::collections::{BTreeMap, BTreeSet};

/// A table by more keys has too many parts.
const MOST_KEYS: usize = 10;

/// What was measured: by which keys, in ascending order, and with which variance in each cell.
#[derive(Clone, Debug)]
pub(crate) struct Agreeing {
    /// How many values each key has.
    pub(crate) sizes: Vec<usize>,
    pub(crate) measured: Vec<(Vec<usize>, f64)>,
}

impl Agreeing {
    /// The variance of a cell of a table by these keys. `None` if it does not follow.
    pub(crate) fn variance(&self, table: &[usize]) -> Option<f64> {
        let mut variance = 0.0;
        for part in subsets(table)? {
            let precision: f64 = self.weights(&part).iter().sum();
            let spread = table.iter().map(|key| {
                let size = self.sizes[*key] as f64;
                // What is left of noise in differences from the mean, or in a mean that all cells share.
                match part.contains(key) {
                    true => 1.0 - 1.0 / size,
                    false => size.powi(-2),
                }
            });
            variance += spread.product::<f64>() / precision;
        }
        variance.is_finite().then_some(variance)
    }

    /// About how many steps it takes to make tables by these keys. `None` for more than can be counted.
    pub(crate) fn steps(&self, wanted: &[Vec<usize>]) -> Option<u64> {
        let walked = |keys: &[usize]| {
            let cells = keys
                .iter()
                .try_fold(1u64, |cells, key| cells.checked_mul(self.sizes[*key] as u64));
            cells?.checked_mul(keys.len() as u64 + 1)
        };
        let mut parts: BTreeSet<Vec<usize>> = BTreeSet::new();
        let mut steps = 0u64;
        for table in wanted {
            let of_table = subsets(table)?;
            steps = steps.checked_add(walked(table)?.checked_mul(of_table.len() as u64)?)?;
            parts.extend(of_table);
        }
        for (keys, _) in &self.measured {
            let told = parts
                .iter()
                .filter(|part| part.iter().all(|key| keys.contains(key)));
            steps = steps.checked_add(walked(keys)?.checked_mul(told.count() as u64)?)?;
        }
        Some(steps)
    }

    /// How precisely each measured table tells a part.
    fn weights(&self, part: &[usize]) -> Vec<f64> {
        let weight = |(keys, variance): &(Vec<usize>, f64)| {
            if !part.iter().all(|key| keys.contains(key)) {
                return 0.0;
            }
            let others = keys.iter().filter(|key| !part.contains(key));
            let summed: f64 = others.map(|key| self.sizes[*key] as f64).product();
            1.0 / (variance * summed)
        };
        self.measured.iter().map(weight).collect()
    }

    /// The tables by these keys, of measured ones in row-major order. `None` if one does not follow.
    pub(crate) fn tables(&self, wanted: &[Vec<usize>], measured: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
        let mut parts: BTreeMap<Vec<usize>, Vec<f64>> = BTreeMap::new();
        let mut tables = Vec::new();
        for table in wanted {
            let mut values = vec![0.0; self.cells(table)];
            for part in subsets(table)? {
                let told = match parts.get(&part) {
                    Some(told) => told,
                    None => {
                        let told = self.part(&part, measured)?;
                        parts.entry(part.clone()).or_insert(told)
                    }
                };
                let others = table.iter().filter(|key| !part.contains(key));
                let share: f64 = others.map(|key| self.sizes[*key] as f64).product();
                for (place, value) in values.iter_mut().enumerate() {
                    *value += told[self.place_in(&part, table, place)] / share;
                }
            }
            tables.push(values);
        }
        Some(tables)
    }

    /// What a set of keys adds to smaller ones.
    fn part(&self, part: &[usize], measured: &[Vec<f64>]) -> Option<Vec<f64>> {
        let weights = self.weights(part);
        let precision: f64 = weights.iter().sum();
        let mut told = vec![0.0; self.cells(part)];
        for (((keys, _), values), weight) in self.measured.iter().zip(measured).zip(weights) {
            if weight > 0.0 {
                for (place, value) in values.iter().enumerate() {
                    told[self.place_in(part, keys, place)] += value * weight / precision;
                }
            }
        }
        // Differences from the mean along each key.
        let mut step = 1;
        for key in part.iter().rev() {
            let size = self.sizes[*key];
            for first in (0..told.len()).filter(|place| place / step % size == 0) {
                let mean = (0..size).map(|at| told[first + at * step]).sum::<f64>() / size as f64;
                (0..size).for_each(|at| told[first + at * step] -= mean);
            }
            step *= size;
        }
        (precision > 0.0).then_some(told)
    }

    fn cells(&self, keys: &[usize]) -> usize {
        keys.iter().map(|key| self.sizes[*key]).product()
    }

    /// The cell of a table by some of the keys that holds this cell of a table by all of them.
    fn place_in(&self, part: &[usize], table: &[usize], place: usize) -> usize {
        let (mut rest, mut step, mut found) = (place, 1, 0);
        for key in table.iter().rev() {
            let size = self.sizes[*key];
            if part.contains(key) {
                found += rest % size * step;
                step *= size;
            }
            rest /= size;
        }
        found
    }
}

/// All sets of these keys.
fn subsets(keys: &[usize]) -> Option<Vec<Vec<usize>>> {
    (keys.len() <= MOST_KEYS).then(|| {
        let chosen = |mask: usize| {
            let places = keys.iter().enumerate();
            let places = places.filter(|(place, _)| mask >> place & 1 == 1);
            places.map(|(_, key)| *key).collect()
        };
        (0..1usize << keys.len()).map(chosen).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreeing(measured: &[(&[usize], f64)]) -> Agreeing {
        let measured = measured.iter().map(|(keys, variance)| (keys.to_vec(), *variance));
        Agreeing {
            sizes: vec![2, 3, 4],
            measured: measured.collect(),
        }
    }

    #[test]
    fn one_table_tells_sums_and_two_tell_more() {
        let finest = agreeing(&[(&[0, 1], 2.0)]);
        let close =
            |one: Option<f64>, other: f64| assert!((one.unwrap() - other).abs() < 1e-12, "{one:?} {other}");
        close(finest.variance(&[0, 1]), 2.0);
        close(finest.variance(&[1]), 4.0);
        close(finest.variance(&[]), 12.0);
        assert_eq!(finest.variance(&[2]), None);
        // A total that is measured beside its two parts: precisions add up.
        let both = agreeing(&[(&[0], 1.0), (&[], 1.0)]);
        close(both.variance(&[]), 1.0 / (1.0 + 0.5));
        // Half of that of the parts is in their difference, and a quarter of the total's in each.
        close(both.variance(&[0]), 0.5 + 1.0 / 1.5 / 4.0);
        assert_eq!(both.variance(&(0..11).collect::<Vec<_>>()), None);
    }

    #[test]
    fn many_tables_of_many_keys_are_counted_before_they_are_made() {
        let cube = |keys: usize, measured: Vec<usize>| {
            let agreeing = Agreeing {
                sizes: vec![2; 19],
                measured: vec![(measured, 1.0)],
            };
            agreeing
                .steps(&subsets(&(0..keys).collect::<Vec<_>>()).unwrap())
                .unwrap()
        };
        // 64 tables of up to 64 cells, and their 64 parts in a table of 64 cells.
        assert!(cube(6, (0..6).collect()) < 200_000);
        // The same of a table by 19 keys: each part walks through half a million cells.
        assert!(cube(6, (0..19).collect()) > 600_000_000);
    }

    #[test]
    fn tables_agree_and_what_agrees_is_left_alone() {
        let sets: [&[usize]; 4] = [&[0, 1, 2], &[0, 2], &[1], &[]];
        let all = agreeing(&sets.map(|keys| (keys, 1.0 + keys.len() as f64)));
        let wanted: Vec<Vec<usize>> = sets.iter().map(|keys| keys.to_vec()).collect();
        let finest: Vec<f64> = (0..24).map(|place| f64::from((place * place * 7) % 11)).collect();
        let summed = |values: &[f64], keys: &[usize]| {
            let mut sums = vec![0.0; all.cells(keys)];
            for (place, value) in values.iter().enumerate() {
                sums[all.place_in(keys, &[0, 1, 2], place)] += value;
            }
            sums
        };
        let close = |one: &[f64], other: &[f64]| {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| (one - other).abs() < 1e-9)
        };
        let exact: Vec<Vec<f64>> = sets.iter().map(|keys| summed(&finest, keys)).collect();
        for (one, other) in all.tables(&wanted, &exact).unwrap().iter().zip(&exact) {
            assert!(close(one, other), "{one:?} {other:?}");
        }
        let mut noisy = exact.clone();
        let mut state = 1u64;
        for value in noisy.iter_mut().flatten() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *value += (state >> 60) as f64;
        }
        let tables = all.tables(&wanted, &noisy).unwrap();
        assert!(!close(&tables[0], &exact[0]));
        for (table, keys) in tables.iter().zip(&sets) {
            assert!(close(table, &summed(&tables[0], keys)), "{keys:?}");
        }
    }
}
