//! The statistic of independence where each cell has noise of its own.
//!
//! What cells have beyond what is expected is A·N·Bᵀ for the counts N, where row r of A is 1\[r\] − p_r, and B is the same of columns. So the covariance of its noise is
//! σ²·(A·Aᵀ)⊗(B·Bᵀ), and that of sampling n·P⊗Q with P = diag p − ppᵀ: both are products of a matrix of rows and one of columns. Each pair of matrices is made diagonal by
//! one change of base, and then the covariance is diagonal: no matrix of all pairs of cells is made.

use crate::matrix::Matrix;

/// Operations that drawing tables may take, which is a few seconds.
const REACH: usize = 5_000_000_000;
/// Draws that a p-value needs at least.
const LEAST_DRAWS: usize = 999;

/// How many tables of this size are drawn in reasonable time: all of the usual number up to about 23 by 23.
pub(super) fn draws_within_reach(rows: usize, columns: usize) -> u32 {
    let each = 20 * (rows.pow(3) + columns.pow(3)).max(1);
    (REACH / each).max(LEAST_DRAWS) as u32
}

/// dᵀ·Cov⁻¹·d, of all rows and columns but the last.
pub(super) fn statistic(
    differences: &[f64],
    (rows, columns): (&[f64], &[f64]),
    total: f64,
    variance: f64,
) -> Option<f64> {
    let (by_row, by_column) = (Base::of(rows)?, Base::of(columns)?);
    let width = columns.len() - 1;
    // Y = R·D·Cᵀ in the new bases.
    let lines: Vec<Vec<f64>> = differences
        .chunks_exact(width)
        .map(|line| by_column.change.times(line))
        .collect();
    let mut sum = 0.0;
    for (column, of_column) in by_column.sampling.iter().enumerate() {
        let along: Vec<f64> = lines.iter().map(|line| line[column]).collect();
        for (of_row, value) in by_row.sampling.iter().zip(by_row.change.times(&along)) {
            let sampling = total * of_row * of_column;
            sum += value * value / (variance + sampling);
        }
    }
    sum.is_finite().then_some(sum)
}

/// A base in which A·Aᵀ is the unit matrix and P is diagonal.
struct Base {
    change: Matrix,
    /// The diagonal of P.
    sampling: Vec<f64>,
}

impl Base {
    fn of(shares: &[f64]) -> Option<Self> {
        let size = shares.len() - 1;
        let same = |one: usize, other: usize| f64::from(u8::from(one == other));
        let (mut noise, mut sampling) = (Matrix::zero(size), Matrix::zero(size));
        for one in 0..size {
            for other in 0..size {
                let both = shares[one] * shares[other];
                let spread = shares.len() as f64 * both - shares[one] - shares[other];
                noise.set(one, other, same(one, other) + spread);
                sampling.set(one, other, same(one, other) * shares[one] - both);
            }
        }
        let inverse = noise.cholesky()?.inverse_of_lower();
        let (diagonal, vectors) = sampling.between(&inverse).symmetric_parts();
        Some(Self {
            change: vectors.transposed().product(&inverse),
            sampling: diagonal.iter().map(|entry| entry.max(0.0)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{TableNoise, TwoWay, against, check_size, independence};

    fn table(height: usize, width: usize, variance: f64) -> TwoWay {
        let names = |count: usize| (0..count).map(|place| place.to_string()).collect();
        let counts =
            (0..height * width).map(|place| 40.0 + ((place * place * 7) % 31) as f64 + place as f64 / 3.0);
        TwoWay::new(names(height), names(width), counts.collect(), variance, true).unwrap()
    }

    #[test]
    fn it_is_that_of_the_whole_covariance() {
        for (height, width, variance) in [(2, 2, 3.0), (3, 5, 0.0), (6, 4, 50.0), (9, 9, 1e4)] {
            let apart = table(height, width, variance);
            let cells = apart.counts.len();
            let mut covariance = vec![0.0; cells * cells];
            (0..cells).for_each(|cell| covariance[cell * cells + cell] = variance);
            let together = TwoWay {
                noise: TableNoise::Together(covariance),
                ..apart.clone()
            };
            let (one, other) = (against(&apart).unwrap(), against(&together).unwrap());
            let relative = (one.statistic - other.statistic).abs() / other.statistic;
            assert!(
                relative < 1e-9,
                "{height} by {width}: {} and {}",
                one.statistic,
                other.statistic
            );
        }
    }

    #[test]
    fn what_is_too_large_is_refused_and_the_largest_is_tested() {
        for (height, width) in [(65, 2), (33, 32), (1_000, 1_000)] {
            assert!(
                check_size(height, width)
                    .unwrap_err()
                    .to_string()
                    .contains("too large for this test")
            );
        }
        assert!(independence(&table(65, 2, 1.0)).is_err());
        let p = independence(&table(32, 32, 1.0)).unwrap().p;
        assert!((0.0..=1.0).contains(&p));
    }
}
