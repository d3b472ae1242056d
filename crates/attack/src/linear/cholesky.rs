//! Dense symmetric equations: factor once, solve a few times.

use super::threads::{Share, by_rows};

/// Columns that are eliminated together: what they subtract from the rest is a product of matrices, and stays
/// in the cache.
const BLOCK: usize = 64;

/// A pivot that rounding made vanish is replaced by this: its unknown then stays where it is.
const NEVER: f64 = 1e128;

/// L with L·Lᵀ = the matrix, in the lower triangle of full rows.
pub(super) struct Cholesky {
    size: usize,
    lower: Vec<f64>,
}

impl Cholesky {
    /// Factors a positive definite matrix, of which only the lower triangle is read.
    pub(super) fn of(mut matrix: Vec<f64>, size: usize) -> Self {
        for start in (0..size).step_by(BLOCK) {
            let end = (start + BLOCK).min(size);
            let (above, below) = matrix.split_at_mut(end * size);
            factor_block(&mut above[start * size..], start, end, size);
            let block = &above[start * size..];
            let rest = size - end;
            let work = (rest * BLOCK * BLOCK) as u64;
            by_rows(below, size, Share::Even, work, |_, rows| {
                for row in rows.chunks_exact_mut(size) {
                    // One row of L below the block, by forward substitution.
                    for column in start..end {
                        let diagonal = &block[(column - start) * size..][..=column];
                        let (known, unknown) = row.split_at_mut(column);
                        let sum = dot(&known[start..], &diagonal[start..column]);
                        unknown[0] = (unknown[0] - sum) / diagonal[column];
                    }
                }
            });
            // The same rows turned, so that the update below runs along memory.
            let turned: Vec<Vec<f64>> = (start..end)
                .map(|column| below.chunks_exact(size).map(|row| row[column]).collect())
                .collect();
            let work = (rest * rest / 2 * BLOCK) as u64;
            by_rows(below, size, Share::Triangle, work, |first, rows| {
                for (offset, row) in rows.chunks_exact_mut(size).enumerate() {
                    let (factors, tail) = row.split_at_mut(end);
                    let tail = &mut tail[..=first + offset];
                    for (factors, columns) in factors[start..].chunks(4).zip(turned.chunks(4)) {
                        subtract(tail, factors, columns);
                    }
                }
            });
        }
        Self { size, lower: matrix }
    }

    /// Solves for one right-hand side, in place.
    pub(super) fn solve(&self, right: &mut [f64]) {
        for place in 0..self.size {
            let row = &self.lower[place * self.size..][..=place];
            right[place] = (right[place] - dot(&row[..place], &right[..place])) / row[place];
        }
        for place in (0..self.size).rev() {
            let row = &self.lower[place * self.size..][..=place];
            right[place] /= row[place];
            let value = right[place];
            for (left, factor) in right[..place].iter_mut().zip(row) {
                *left -= factor * value;
            }
        }
    }
}

/// The diagonal block itself; `rows` begins with its first row.
fn factor_block(rows: &mut [f64], start: usize, end: usize, size: usize) {
    for column in start..end {
        let (above, below) = rows.split_at_mut((column - start) * size);
        for other in start..column {
            let row = &above[(other - start) * size..];
            let sum = dot(&below[start..other], &row[start..other]);
            below[other] = (below[other] - sum) / row[other];
        }
        let pivot = below[column] - dot(&below[start..column], &below[start..column]);
        below[column] = if pivot > 0.0 { pivot.sqrt() } else { NEVER };
    }
}

/// tail −= Σ factor·column, for up to four columns at once: the tail is read and written once for all of
/// them.
fn subtract(tail: &mut [f64], factors: &[f64], columns: &[Vec<f64>]) {
    match (factors, columns) {
        ([a, b, c, d], [first, second, third, fourth]) => {
            let columns = first.iter().zip(second).zip(third.iter().zip(fourth));
            for (entry, ((first, second), (third, fourth))) in tail.iter_mut().zip(columns) {
                *entry -= (a * first + b * second) + (c * third + d * fourth);
            }
        }
        _ => {
            for (factor, column) in factors.iter().zip(columns) {
                for (entry, other) in tail.iter_mut().zip(column) {
                    *entry -= factor * other;
                }
            }
        }
    }
}

/// Four sums at a time, so that additions need not wait for one another.
fn dot(left: &[f64], right: &[f64]) -> f64 {
    let ((left, left_end), (right, right_end)) = (left.as_chunks::<4>(), right.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (left, right) in left.iter().zip(right) {
        for (sum, (a, b)) in sums.iter_mut().zip(left.iter().zip(right)) {
            *sum += a * b;
        }
    }
    let rest: f64 = left_end.iter().zip(right_end).map(|(a, b)| a * b).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seeded;

    #[test]
    fn solutions_solve() {
        let mut seeded = Seeded::new(8);
        // Sizes around one block and several.
        for size in [1, 5, 63, 64, 65, 150, 200] {
            // Well conditioned: a random symmetric matrix, and enough on the diagonal.
            let mut matrix = vec![0.0; size * size];
            for row in 0..size {
                for column in 0..=row {
                    matrix[row * size + column] = seeded.normal();
                }
                matrix[row * size + row] += 3.0 * size as f64;
            }
            let entry = |row: usize, column: usize| matrix[row.max(column) * size + row.min(column)];
            let solution: Vec<f64> = (0..size).map(|_| seeded.normal()).collect();
            let mut right: Vec<f64> = (0..size)
                .map(|row| {
                    (0..size)
                        .map(|column| entry(row, column) * solution[column])
                        .sum()
                })
                .collect();
            Cholesky::of(matrix, size).solve(&mut right);
            for (found, true_one) in right.iter().zip(&solution) {
                assert!((found - true_one).abs() < 1e-9, "{size}: {found} for {true_one}");
            }
        }
    }

    #[test]
    fn an_unknown_that_no_equation_holds_stays() {
        // The second row is the first: the difference of the two unknowns is free.
        let factored = Cholesky::of(vec![1.0, 0.0, 1.0, 1.0], 2);
        let mut right = [2.0, 2.0];
        factored.solve(&mut right);
        assert!(
            (right[0] - 2.0).abs() < 1e-9 && right[1].abs() < 1e-9,
            "{right:?}"
        );
    }
}
