//! Matrices of bits, and products with them by table lookup.
//!
//! Eight neighbouring bits of a row choose one of 256 sums of the eight numbers they meet. The sums are put
//! in a table once and looked up in every row. So a product costs an eighth of the additions, and a row of
//! 4,096 bits takes half a kilobyte.

use super::threads::{Share, by_rows};
use crate::Seeded;
use noise::Entropy;

/// Bits in rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BitMatrix {
    rows: usize,
    columns: usize,
    /// Words a row; bits beyond the last column are zero.
    words: usize,
    bits: Vec<u64>,
}

/// The sums that eight bits may choose.
type Sums = [f64; 256];

impl BitMatrix {
    fn zero(rows: usize, columns: usize) -> Self {
        let words = columns.div_ceil(64);
        Self {
            rows,
            columns,
            words,
            bits: vec![0; rows * words],
        }
    }

    /// Independent fair bits.
    pub(super) fn random(rows: usize, columns: usize, seeded: &mut Seeded) -> Self {
        let mut matrix = Self::zero(rows, columns);
        for row in matrix.bits.chunks_exact_mut(matrix.words) {
            for (place, word) in row.iter_mut().enumerate() {
                let count = (columns - 64 * place).min(64);
                *word = seeded.bits(count as u32);
            }
        }
        matrix
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn row(&self, index: usize) -> &[u64] {
        &self.bits[index * self.words..][..self.words]
    }

    pub(super) fn first_rows(&self, count: usize) -> Self {
        Self {
            rows: count,
            bits: self.bits[..count * self.words].to_vec(),
            ..*self
        }
    }

    /// Rows for columns.
    pub(super) fn turned(&self) -> Self {
        let mut turned = Self::zero(self.columns, self.rows);
        for row in 0..self.rows {
            for (place, word) in self.row(row).iter().enumerate() {
                let mut left = *word;
                while left != 0 {
                    let column = 64 * place + left.trailing_zeros() as usize;
                    turned.bits[column * turned.words + row / 64] |= 1 << (row % 64);
                    left &= left - 1;
                }
            }
        }
        turned
    }

    /// For each row, the sum of the numbers at its bits.
    pub(super) fn times(&self, numbers: &[f64]) -> Vec<f64> {
        let tables = tables(numbers, self.words);
        let mut sums = vec![0.0; self.rows];
        let work = (self.rows * self.words) as u64;
        by_rows(&mut sums, 1, Share::Even, work, |first, sums| {
            // This many tables at a time stay in the cache nearest but one.
            const AT_A_TIME: usize = 16;
            for start in (0..self.words).step_by(AT_A_TIME) {
                let end = (start + AT_A_TIME).min(self.words);
                for (offset, sum) in sums.iter_mut().enumerate() {
                    let words = &self.row(first + offset)[start..end];
                    *sum += words
                        .iter()
                        .zip(&tables[start..end])
                        .map(|(word, tables)| chosen(*word, tables))
                        .sum::<f64>();
                }
            }
        });
        sums
    }

    /// For each two rows, the sum of the weights at the bits they share: A·diag(w)·Aᵀ, as its lower triangle
    /// in full rows.
    pub(super) fn shared_weights(&self, weights: &[f64]) -> Vec<f64> {
        let tables = tables(weights, self.words);
        let mut product = vec![0.0; self.rows * self.rows];
        let work = (self.rows * self.rows / 2 * self.words) as u64;
        by_rows(
            &mut product,
            self.rows,
            Share::Triangle,
            work,
            |first, product| {
                // This many rows of the product stay near, while all the tables pass by once.
                const AT_A_TIME: usize = 32;
                let mut column = vec![0u64; self.rows];
                for (block, rows) in product.chunks_mut(AT_A_TIME * self.rows).enumerate() {
                    let start = first + block * AT_A_TIME;
                    let last = start + rows.len() / self.rows;
                    for (place, tables) in tables.iter().enumerate() {
                        for (row, word) in column[..last].iter_mut().enumerate() {
                            *word = self.bits[row * self.words + place];
                        }
                        for (offset, row) in rows.chunks_exact_mut(self.rows).enumerate() {
                            let own = column[start + offset];
                            for (sum, other) in row.iter_mut().zip(&column[..=start + offset]) {
                                *sum += chosen(own & other, tables);
                            }
                        }
                    }
                }
            },
        );
        product
    }
}

/// The sum that the bits of a word choose.
#[inline]
fn chosen(word: u64, tables: &[Sums; 8]) -> f64 {
    let [a, b, c, d, e, f, g, h] = word.to_le_bytes().map(usize::from);
    // In pairs, so that additions need not wait for one another.
    ((tables[0][a] + tables[1][b]) + (tables[2][c] + tables[3][d]))
        + ((tables[4][e] + tables[5][f]) + (tables[6][g] + tables[7][h]))
}

/// The tables of these numbers, eight to a word; what is missing at the end counts as zero.
fn tables(numbers: &[f64], words: usize) -> Vec<[Sums; 8]> {
    let mut tables = vec![[[0.0; 256]; 8]; words];
    for (sums, eight) in tables.as_flattened_mut().iter_mut().zip(numbers.chunks(8)) {
        for (bit, number) in eight.iter().enumerate() {
            let (without, with) = sums.split_at_mut(1 << bit);
            for (sum, rest) in with.iter_mut().zip(without) {
                *sum = *rest + number;
            }
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bit(matrix: &BitMatrix, row: usize, column: usize) -> f64 {
        (matrix.row(row)[column / 64] >> (column % 64) & 1) as f64
    }

    /// Sizes around those of words, tables and blocks.
    const SIZES: [(usize, usize); 5] = [(1, 1), (33, 63), (64, 64), (70, 65), (131, 1100)];

    #[test]
    fn products_are_those_of_single_bits() {
        let mut seeded = Seeded::new(1);
        for (rows, columns) in SIZES {
            let matrix = BitMatrix::random(rows, columns, &mut seeded);
            let numbers: Vec<f64> = (0..columns).map(|_| seeded.normal()).collect();
            let sums = matrix.times(&numbers);
            let shared = matrix.shared_weights(&numbers);
            for row in 0..rows {
                let plain: f64 = (0..columns)
                    .map(|column| bit(&matrix, row, column) * numbers[column])
                    .sum();
                assert!((sums[row] - plain).abs() < 1e-9, "{rows}×{columns}");
                for other in 0..=row {
                    let plain: f64 = (0..columns)
                        .map(|column| {
                            bit(&matrix, row, column) * bit(&matrix, other, column) * numbers[column]
                        })
                        .sum();
                    assert!(
                        (shared[row * rows + other] - plain).abs() < 1e-9,
                        "{rows}×{columns}"
                    );
                }
            }
        }
    }

    #[test]
    fn turning_twice_changes_nothing() {
        let mut seeded = Seeded::new(2);
        for (rows, columns) in SIZES {
            let matrix = BitMatrix::random(rows, columns, &mut seeded);
            let turned = matrix.turned();
            assert_eq!((turned.rows(), turned.columns()), (columns, rows));
            assert!((0..rows.min(columns)).all(|place| bit(&matrix, place, 0) == bit(&turned, 0, place)));
            assert_eq!(turned.turned(), matrix);
        }
    }

    #[test]
    fn half_of_the_bits_are_set() {
        // 2^18 fair bits: 6.2 standard deviations are 0.6 %. The seed is fixed, so this passes always or
        // never.
        let matrix = BitMatrix::random(512, 512, &mut Seeded::new(3));
        let set: u32 = matrix.bits.iter().map(|word| word.count_ones()).sum();
        assert!((f64::from(set) / 262_144.0 - 0.5).abs() < 0.006);
    }
}
