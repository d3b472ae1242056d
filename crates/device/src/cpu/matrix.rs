//! Products of matrices: the binding to `matrixmultiply`, and all that is unsafe about it.
//!
//! On the shapes of a small LSTM (batch 100, 20 steps, 50 → 100 → 985) it ran at 74 to 161 GFLOP/s on one thread with AVX-512, and the `gemm` crate at 58 to
//! 148 with its feature for AVX-512 and at 42 to 81 without. It builds in 2.5 seconds of CPU time with two small dependencies; the other takes ten times as long, with twenty.

#![allow(unsafe_code)]

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

impl Multiply for f32 {
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
    let left = Strided(a.0.as_ptr(), a.1 as isize, a.2 as isize);
    let right = Strided(b.0.as_ptr(), b.1 as isize, b.2 as isize);
    let product = StridedMut(c.as_mut_ptr(), stride as isize, 1);
    // SAFETY: the last entry of each matrix, and so every entry, lies within its slice (strides fit `isize`, as `reach` checked, or are multiplied by 0
    // rows or columns); C is borrowed mutably, so it overlaps neither, and its rows do not overlap because `stride` ≥ `columns`.
    unsafe { S::multiply([rows, inner, columns], alpha, left, right, beta, product) }
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
