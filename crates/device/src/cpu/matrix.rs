//! Products of matrices: the binding to `matrixmultiply`, and all that is unsafe about it.
//!
//! On the shapes of a small LSTM (batch 100, 20 steps, 50 → 100 → 985) it ran at 74 to 161 GFLOP/s on one thread with AVX-512, and the `gemm` crate at 58 to
//! 148 with its feature for AVX-512 and at 42 to 81 without. It builds in 2.5 seconds of CPU time with two small dependencies; the other takes ten times as long, with twenty.

#![allow(unsafe_code)]

use std::cell::RefCell;

/// A scalar that `matrixmultiply` multiplies. Not to be implemented elsewhere.
pub trait Multiply: Sized {
    /// C ← α·A·B + β·C over raw memory.
    ///
    /// # Safety
    ///
    /// Every entry of A and B is readable and every entry of C writable under its strides, C overlaps neither, and no two entries of C share a place.
    #[doc(hidden)]
    unsafe fn multiply(
        sizes: [usize; 3],
        alpha: Self,
        a: Strided<Self>,
        b: Strided<Self>,
        beta: Self,
        c: StridedMut<Self>,
    );

    /// Lends memory of this thread to whoever needs copies of the two factors.
    #[doc(hidden)]
    fn with_scratch<T>(work: impl FnOnce(&mut Vec<Self>, &mut Vec<Self>) -> T) -> T;

    /// Inner products of four rows and four rows at once; `None` where the processor has no instructions for it.
    #[doc(hidden)]
    fn sixteen(_: [&[Self]; 4], _: [&[Self]; 4]) -> Option<[Self; 16]> {
        None
    }
}

/// Memory with strides of rows and columns.
#[doc(hidden)]
#[derive(Debug)]
pub struct Strided<S>(*const S, isize, isize);

/// Writable memory with strides of rows and columns.
#[doc(hidden)]
#[derive(Debug)]
pub struct StridedMut<S>(*mut S, isize, isize);

/// Memory that a thread keeps for copies of factors.
macro_rules! scratch {
    ($scalar:ty) => {
        fn with_scratch<T>(work: impl FnOnce(&mut Vec<Self>, &mut Vec<Self>) -> T) -> T {
            thread_local! {
                static SCRATCH: RefCell<(Vec<$scalar>, Vec<$scalar>)> = const { RefCell::new((Vec::new(), Vec::new())) };
            }
            SCRATCH.with_borrow_mut(|(left, right)| work(left, right))
        }
    };
}

impl Multiply for f32 {
    scratch!(f32);

    #[inline]
    fn sixteen(a: [&[f32]; 4], b: [&[f32]; 4]) -> Option<[f32; 16]> {
        super::gram::sixteen(a, b)
    }

    unsafe fn multiply(
        [m, k, n]: [usize; 3],
        alpha: f32,
        a: Strided<f32>,
        b: Strided<f32>,
        beta: f32,
        c: StridedMut<f32>,
    ) {
        // SAFETY: promised by the caller.
        unsafe { matrixmultiply::sgemm(m, k, n, alpha, a.0, a.1, a.2, b.0, b.1, b.2, beta, c.0, c.1, c.2) }
    }
}

impl Multiply for f64 {
    scratch!(f64);

    unsafe fn multiply(
        [m, k, n]: [usize; 3],
        alpha: f64,
        a: Strided<f64>,
        b: Strided<f64>,
        beta: f64,
        c: StridedMut<f64>,
    ) {
        // SAFETY: promised by the caller.
        unsafe { matrixmultiply::dgemm(m, k, n, alpha, a.0, a.1, a.2, b.0, b.1, b.2, beta, c.0, c.1, c.2) }
    }
}

/// A matrix that starts with its slice; strides of rows and columns.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a, S>(pub(crate) &'a [S], pub(crate) usize, pub(crate) usize);

/// How many numbers a matrix reaches over; `None` where that overflows.
fn reach(rows: usize, columns: usize, row: usize, column: usize) -> Option<usize> {
    let last = (rows - 1)
        .checked_mul(row)?
        .checked_add((columns - 1).checked_mul(column)?)?;
    isize::try_from(last).ok()?;
    last.checked_add(1)
}

/// C ← α·A·B + β·C, where C has rows of `stride` and columns of 1. With β = 0, C is not read.
pub(crate) fn multiply<S: crate::Scalar>(
    rows: usize,
    inner: usize,
    columns: usize,
    alpha: S,
    a: Operand<'_, S>,
    b: Operand<'_, S>,
    beta: S,
    c: &mut [S],
    stride: usize,
) {
    if rows == 0 || columns == 0 {
        return;
    }
    let fits = |len: usize, needed: Option<usize>| needed.is_some_and(|needed| needed <= len);
    assert!(stride >= columns, "rows of the product overlap");
    assert!(
        fits(c.len(), reach(rows, columns, stride, 1)),
        "the product does not fit"
    );
    assert!(
        inner == 0 || fits(a.0.len(), reach(rows, inner, a.1, a.2)),
        "the left factor is too short"
    );
    assert!(
        inner == 0 || fits(b.0.len(), reach(inner, columns, b.1, b.2)),
        "the right factor is too short"
    );
    if rows.saturating_mul(inner).saturating_mul(columns) <= FEW {
        return few([rows, inner, columns], alpha, a, b, beta, c, stride);
    }
    S::with_scratch(|for_a, for_b| {
        // Rows of A side by side, and columns of B.
        let a = match a {
            Operand(lines, stride, 1) if worth_copying(rows, inner) => {
                transposed(lines, rows, inner, stride, for_a);
                Operand(&for_a[..], 1, rows)
            }
            a => a,
        };
        let b = match b {
            Operand(lines, 1, stride) if worth_copying(columns, inner) => {
                transposed(lines, columns, inner, stride, for_b);
                Operand(&for_b[..], columns, 1)
            }
            b => b,
        };
        let left = Strided(a.0.as_ptr(), a.1 as isize, a.2 as isize);
        let right = Strided(b.0.as_ptr(), b.1 as isize, b.2 as isize);
        let product = StridedMut(c.as_mut_ptr(), stride as isize, 1);
        // SAFETY: the last entry of each matrix, and so every entry, lies within its slice (strides fit `isize`, as `reach` checked, or are multiplied by 0
        // rows or columns; a copy has all entries without gaps); C is borrowed mutably, so it overlaps neither, and its rows do not overlap because `stride` ≥ `columns`.
        unsafe { S::multiply([rows, inner, columns], alpha, left, right, beta, product) }
    });
}

/// So few products are made here: the library copies both factors into panels of eight lines and more, which takes longer than these. A model of a table that sees one unit at a time makes no others.
const FEW: usize = 4096;

/// [`multiply`] without panels. Every sum is made by itself and then added to C, as the library does it: no summand passes more roundings here than there.
fn few<S: crate::Scalar>(
    [rows, inner, columns]: [usize; 3],
    alpha: S,
    a: Operand<'_, S>,
    b: Operand<'_, S>,
    beta: S,
    c: &mut [S],
    stride: usize,
) {
    const AT_ONCE: usize = 8;
    for row in 0..rows {
        for first in (0..columns).step_by(AT_ONCE) {
            let mut sums = [S::ZERO; AT_ONCE];
            let sums = &mut sums[..AT_ONCE.min(columns - first)];
            for k in 0..inner {
                let factor = a.0[row * a.1 + k * a.2];
                for (place, sum) in sums.iter_mut().enumerate() {
                    *sum += factor * b.0[k * b.1 + (first + place) * b.2];
                }
            }
            for (entry, sum) in c[row * stride + first..].iter_mut().zip(sums) {
                // What is not read may be anything.
                *entry = match beta == S::ZERO {
                    true => alpha * *sum,
                    false => beta * *entry + alpha * *sum,
                };
            }
        }
    }
}

/// The library copies both factors into panels before it multiplies. Where the entries of a panel do not lie side by side it collects them one by one, with the gather instructions of
/// AVX-512, which are many times slower on processors whose gathers were mended against leaks (2023 and later microcode): that took longer than the products themselves. So the lines of such a
/// factor are transposed here, tile by tile, and the library finds them side by side. The product is the same to the last bit.
fn worth_copying(lines: usize, length: usize) -> bool {
    // A panel is eight lines or more; fewer are collected without gathers.
    lines >= 8 && length > 1
}

/// A side of the tiles.
const TILE: usize = 16;

/// Lines of `length`, `stride` apart, as lines of what lay across them: entry `k` of line `i` is at `k·lines + i`.
fn transposed<S: crate::Scalar>(from: &[S], lines: usize, length: usize, stride: usize, into: &mut Vec<S>) {
    into.resize(lines * length, S::ZERO);
    let mut tile = [[S::ZERO; TILE]; TILE];
    for first in (0..lines).step_by(TILE) {
        let height = TILE.min(lines - first);
        for start in (0..length).step_by(TILE) {
            let width = TILE.min(length - start);
            for (place, row) in tile[..height].iter_mut().enumerate() {
                let line = &from[(first + place) * stride + start..];
                row[..width].copy_from_slice(&line[..width]);
            }
            for across in 0..width {
                let line = &mut into[(start + across) * lines + first..][..height];
                for (entry, row) in line.iter_mut().zip(&tile) {
                    *entry = row[across];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_with_strides_are_right() {
        // A is 2 × 3 by columns, B 3 × 2 by rows of 4, C rows of 3.
        let a = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
        let b = [1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0, 5.0, 6.0];
        let mut c = [f64::NAN, f64::NAN, 7.0, f64::NAN, f64::NAN];
        multiply(2, 3, 2, 1.0, Operand(&a, 1, 2), Operand(&b, 4, 1), 0.0, &mut c, 3);
        assert_eq!(c, [22.0, 28.0, 7.0, 49.0, 64.0]);
        multiply(2, 3, 2, 2.0, Operand(&a, 1, 2), Operand(&b, 4, 1), 1.0, &mut c, 3);
        assert_eq!(c, [66.0, 84.0, 7.0, 147.0, 192.0]);
    }

    #[test]
    fn how_factors_lie_does_not_matter() {
        for (rows, inner, columns) in [
            (1, 1, 1),
            (7, 3, 9),
            (8, 2, 8),
            (16, 16, 16),
            (17, 33, 19),
            (40, 5, 1),
            (1, 50, 64),
        ] {
            // Small whole numbers, whose products and sums are exact in any order.
            let entry = |row: usize, column: usize| ((row * 7 + column * 3) % 11) as f32 - 5.0;
            let of = |height: usize, width: usize, by_rows: bool, gap: usize| {
                let (lines, length) = if by_rows { (height, width) } else { (width, height) };
                let mut all = vec![f32::NAN; lines * (length + gap)];
                for row in 0..height {
                    for column in 0..width {
                        let (line, place) = if by_rows { (row, column) } else { (column, row) };
                        all[line * (length + gap) + place] = entry(row, column);
                    }
                }
                (all, length + gap)
            };
            let expected: Vec<f32> = (0..rows * columns)
                .map(|place| {
                    let (row, column) = (place / columns, place % columns);
                    (0..inner).map(|k| entry(row, k) * entry(k, column)).sum()
                })
                .collect();
            for (a_by_rows, b_by_rows, gap) in [
                (true, true, 0),
                (true, false, 0),
                (false, true, 0),
                (false, false, 0),
                (true, false, 3),
            ] {
                let (a, a_stride) = of(rows, inner, a_by_rows, gap);
                let (b, b_stride) = of(inner, columns, b_by_rows, gap);
                let operand = |all, stride, by_rows| match by_rows {
                    true => Operand(all, stride, 1),
                    false => Operand(all, 1, stride),
                };
                let mut c = vec![f32::NAN; rows * columns];
                let (a, b) = (
                    operand(&a[..], a_stride, a_by_rows),
                    operand(&b[..], b_stride, b_by_rows),
                );
                multiply(rows, inner, columns, 1.0, a, b, 0.0, &mut c, columns);
                assert_eq!(
                    c, expected,
                    "{rows} {inner} {columns} {a_by_rows} {b_by_rows} {gap}"
                );
            }
        }
    }

    #[test]
    fn an_empty_sum_is_zero() {
        let mut c = [5.0f32; 4];
        multiply(
            2,
            0,
            2,
            1.0,
            Operand(&[], 0, 1),
            Operand(&[], 2, 1),
            0.0,
            &mut c,
            2,
        );
        assert_eq!(c, [0.0; 4]);
    }

    #[test]
    #[should_panic(expected = "the left factor is too short")]
    fn a_short_factor_is_refused() {
        multiply(
            2,
            3,
            1,
            1.0,
            Operand(&[0.0f32; 5], 3, 1),
            Operand(&[0.0; 3], 1, 1),
            0.0,
            &mut [0.0; 2],
            1,
        );
    }

    #[test]
    #[should_panic(expected = "rows of the product overlap")]
    fn overlapping_rows_are_refused() {
        multiply(
            2,
            1,
            2,
            1.0,
            Operand(&[0.0f32; 2], 1, 1),
            Operand(&[0.0; 2], 2, 1),
            0.0,
            &mut [0.0; 4],
            1,
        );
    }

    #[test]
    #[should_panic(expected = "does not fit")]
    fn a_stride_that_overflows_is_refused() {
        multiply(
            3,
            1,
            1,
            1.0,
            Operand(&[0.0f32; 3], 1, 1),
            Operand(&[0.0; 1], 1, 1),
            0.0,
            &mut [0.0; 3],
            usize::MAX / 2 + 1,
        );
    }
}
