//! The best sums to measure when ranges of one attribute are wanted, as integers.

mod symmetric;

use serde::{Deserialize, Serialize};
use symmetric::Symmetric;

/// Integer combinations of the values of an attribute that tell all but the total, and how to read values off the total and them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Strategy {
    /// One fewer than values.
    pub(crate) rows: Vec<Vec<i32>>,
    /// The inverse of the total on top of the rows, a line for each value: its share of the total, then what it takes of each row.
    inverse: Vec<Vec<f64>>,
}

/// Strategies are searched for up to this many values.
pub(crate) const MOST_VALUES: usize = 512;

impl Strategy {
    /// The strategy for queries with this Gram matrix WᵀW, in integers up to 2^bits.
    ///
    /// Of all M with diagonal 1, the one with the least tr(W·M⁻¹·Wᵀ) is the best that can be measured of this attribute alone. It tells the total with precision
    /// τ = 1/(1ᵀM⁻¹1), and M − τ·11ᵀ is what it tells beyond: that is what is measured.
    pub(crate) fn for_gram(gram: &[f64], values: usize, bits: u32) -> Self {
        let mut information = least_trace(gram, values);
        let largest = diagonal(&information, values).fold(0.0, f64::max);
        information.iter_mut().for_each(|entry| *entry /= largest);
        let inverse = symmetric::inverse(information.clone(), values);
        let total = 1.0 / inverse.iter().sum::<f64>();
        information
            .iter_mut()
            .for_each(|entry| *entry = (*entry - total) / (1.0 - total));
        let rows = integers(&information, values, bits);
        let inverse = read_off(&rows, values);
        Self { rows, inverse }
    }

    pub(crate) fn values(&self) -> usize {
        self.inverse.len()
    }

    /// See [`Ways::pull`](crate::ways::Ways::pull): what the sum takes of the rows, and of the total.
    pub(crate) fn pull(&self, factors: &[f64]) -> (Vec<f64>, f64) {
        let mut pulled = vec![0.0; values_of(&self.inverse)];
        for (factor, line) in factors.iter().zip(&self.inverse) {
            for (pulled, value) in pulled.iter_mut().zip(line) {
                *pulled += factor * value;
            }
        }
        let total = pulled.remove(0);
        (pulled, total)
    }

    /// See [`Ways::refine`](crate::ways::Ways::refine).
    pub(crate) fn refine(&self, coarse: &[f64], residual: &[f64], inner: usize) -> Vec<f64> {
        let values = self.values();
        let mut fine = vec![0.0; coarse.len() * values];
        for ((fine, coarse), residual) in fine
            .chunks_exact_mut(values * inner)
            .zip(coarse.chunks_exact(inner))
            .zip(residual.chunks_exact(self.rows.len() * inner))
        {
            for (cell, line) in fine.chunks_exact_mut(inner).zip(&self.inverse) {
                for (cell, coarse) in cell.iter_mut().zip(coarse) {
                    *cell = coarse * line[0];
                }
                for (factor, residual) in line[1..].iter().zip(residual.chunks_exact(inner)) {
                    for (cell, value) in cell.iter_mut().zip(residual) {
                        *cell += factor * value;
                    }
                }
            }
        }
        fine
    }
}

fn values_of(lines: &[Vec<f64>]) -> usize {
    lines.first().map_or(0, Vec::len)
}

fn diagonal(matrix: &[f64], size: usize) -> impl Iterator<Item = f64> {
    (0..size).map(move |place| matrix[place * size + place])
}

/// The X with diagonal 1 that makes tr(V·X⁻¹) least. Where the derivative vanishes, X⁻¹·V·X⁻¹ is the diagonal matrix Λ of multipliers, so
/// X = Λ^(−½)·(Λ^½·V·Λ^½)^½·Λ^(−½); the diagonal is 1 where Λ is the diagonal of the root, which iteration finds.
fn least_trace(gram: &[f64], values: usize) -> Vec<f64> {
    let mut multipliers = vec![1.0; values];
    let mut information = vec![0.0; values * values];
    for _ in 0..60 {
        let roots: Vec<f64> = multipliers
            .iter()
            .map(|multiplier: &f64| multiplier.sqrt())
            .collect();
        let mut scaled = gram.to_vec();
        for (row, left) in scaled.chunks_exact_mut(values).zip(&roots) {
            for (entry, right) in row.iter_mut().zip(&roots) {
                *entry *= left * right;
            }
        }
        let root = Symmetric::of(scaled, values).square_root();
        let mut change = 0.0f64;
        for (place, multiplier) in multipliers.iter_mut().enumerate() {
            let next = root[place * values + place].max(1e-12);
            change = change.max((next / *multiplier - 1.0).abs());
            *multiplier = next;
        }
        for row in 0..values {
            for column in 0..values {
                information[row * values + column] =
                    root[row * values + column] / (roots[row] * roots[column]);
            }
        }
        if change < 1e-3 {
            break;
        }
    }
    information
}

/// B with BᵀB near 4^bits·X, in integers.
fn integers(information: &[f64], values: usize, bits: u32) -> Vec<Vec<i32>> {
    let symmetric = Symmetric::of(information.to_vec(), values);
    let scale = f64::from(1u32 << bits);
    let mut rows: Vec<Vec<i32>> = symmetric
        .roots_of_largest(values - 1)
        .iter()
        .map(|row| row.iter().map(|entry| (entry * scale).round() as i32).collect())
        .collect();
    level(
        &mut rows,
        values,
        i64::from(1u32 << bits) * i64::from(1u32 << bits),
    );
    rows
}

/// Makes columns as long as they were before rounding, step by step: the longest is what a row of data can move.
fn level(rows: &mut [Vec<i32>], values: usize, length: i64) {
    for column in 0..values {
        let square = |row: &Vec<i32>| i64::from(row[column]) * i64::from(row[column]);
        let mut over = rows.iter().map(square).sum::<i64>() - length;
        loop {
            // A step toward zero or away from it changes the square by 1 ∓ 2|entry|.
            let step = -over.signum() as i32;
            let best = rows
                .iter()
                .enumerate()
                .map(|(place, row)| {
                    (
                        over + 1 + 2 * i64::from(step) * i64::from(row[column].abs()),
                        place,
                    )
                })
                .min_by_key(|(left, _)| left.abs());
            match best {
                Some((left, place)) if left.abs() < over.abs() => {
                    let entry = &mut rows[place][column];
                    *entry += step * if *entry < 0 { -1 } else { 1 };
                    over = left;
                }
                _ => break,
            }
        }
    }
}

/// The inverse of the total on top of the rows: (AᵀA)⁻¹Aᵀ, a line for each value. The total is scaled to be as long as the rows.
fn read_off(rows: &[Vec<i32>], values: usize) -> Vec<Vec<f64>> {
    let scale = rows
        .iter()
        .flatten()
        .map(|entry| f64::from(entry.abs()))
        .fold(1.0, f64::max);
    let lines: Vec<Vec<f64>> = std::iter::once(vec![scale; values])
        .chain(
            rows.iter()
                .map(|row| row.iter().map(|entry| f64::from(*entry)).collect()),
        )
        .collect();
    let mut gram = vec![0.0; values * values];
    for line in &lines {
        for (row, left) in gram.chunks_exact_mut(values).zip(line) {
            for (entry, right) in row.iter_mut().zip(line) {
                *entry += left * right;
            }
        }
    }
    let inverse = symmetric::inverse(gram, values);
    (0..values)
        .map(|value| {
            let of = |line: &Vec<f64>| -> f64 {
                let weights = &inverse[value * values..][..values];
                weights
                    .iter()
                    .zip(line)
                    .map(|(weight, entry)| weight * entry)
                    .sum()
            };
            let mut read: Vec<f64> = lines.iter().map(of).collect();
            read[0] *= scale;
            read
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_off_exactly_and_columns_are_equally_long() {
        let values = 9;
        let prefixes: Vec<f64> = (0..values * values)
            .map(|place| (values - (place / values).max(place % values)) as f64)
            .collect();
        let strategy = Strategy::for_gram(&prefixes, values, 10);
        let counts: Vec<f64> = (0..values).map(|value| (value * value + 1) as f64).collect();
        let rows: Vec<f64> = strategy
            .rows
            .iter()
            .map(|row| {
                row.iter()
                    .zip(&counts)
                    .map(|(factor, count)| f64::from(*factor) * count)
                    .sum()
            })
            .collect();
        let read = strategy.refine(&[counts.iter().sum()], &rows, 1);
        for (read, count) in read.iter().zip(&counts) {
            assert!((read - count).abs() < 1e-6, "{read} against {count}");
        }
        for value in 0..values {
            let length: i64 = strategy
                .rows
                .iter()
                .map(|row| i64::from(row[value]) * i64::from(row[value]))
                .sum();
            assert!((length - (1 << 20)).abs() < 1 << 10, "{length}");
        }
    }
}
