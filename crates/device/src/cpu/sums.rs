//! Sums of gradients, each example's with its weight.

use super::lanes::vectorised;
use super::matrix::{Operand, multiply};
use crate::{Rows, Scalar, Sequences};

/// Rows that are weighted before they are multiplied: enough for the product, few enough to stay near the processor.
const ROWS: usize = 256;

/// See [`crate::Device::weighted_product`]; `into` starts at the matrix, `bias` is empty or the row of the bias.
///
/// Weights are multiplied into the narrower factor, some rows at a time. Rows of weight 0 are left out, since 0 times what is not a number is not 0.
pub(super) fn weighted_product<S: Scalar>(
    sequences: Sequences,
    weights: &[S],
    input: Rows<'_, Vec<S>>,
    gradient: Rows<'_, Vec<S>>,
    scratch: &mut Vec<S>,
    into: &mut [S],
    stride: usize,
) {
    let weights = &weights[..sequences.examples];
    let (height, width) = (input.width, gradient.width);
    if sequences.rows() == 0 {
        return;
    }
    let common = weights[0];
    if common != S::ZERO && weights.iter().all(|&weight| weight == common) {
        let a = Operand(&input.buffer[input.start..], 1, input.stride);
        let b = Operand(&gradient.buffer[gradient.start..], gradient.stride, 1);
        multiply(
            height,
            sequences.rows(),
            width,
            common,
            a,
            b,
            S::ONE,
            into,
            stride,
        );
        return;
    }
    let all = weights.iter().all(|&weight| weight != S::ZERO);
    scratch.resize(ROWS * (height + width), S::ZERO);
    let (left, right) = scratch.split_at_mut(ROWS * height);
    let mut row = 0;
    while row < sequences.rows() {
        if all {
            let count = ROWS.min(sequences.rows() - row);
            let (a, b) = if height <= width {
                copy_weighted(sequences, weights, input, row, count, left);
                (
                    Operand(left, 1, height),
                    Operand(
                        &gradient.buffer[gradient.start + row * gradient.stride..],
                        gradient.stride,
                        1,
                    ),
                )
            } else {
                copy_weighted(sequences, weights, gradient, row, count, right);
                (
                    Operand(&input.buffer[input.start + row * input.stride..], 1, input.stride),
                    Operand(&*right, width, 1),
                )
            };
            multiply(height, count, width, S::ONE, a, b, S::ONE, into, stride);
            row += count;
        } else {
            let mut count = 0;
            while count < ROWS && row < sequences.rows() {
                let weight = weights[sequences.example(row)];
                if weight != S::ZERO {
                    left[count * height..][..height]
                        .copy_from_slice(&input.buffer[input.start + row * input.stride..][..height]);
                    scale_row(
                        weight,
                        &gradient.buffer[gradient.start + row * gradient.stride..][..width],
                        &mut right[count * width..][..width],
                    );
                    count += 1;
                }
                row += 1;
            }
            multiply(
                height,
                count,
                width,
                S::ONE,
                Operand(left, 1, height),
                Operand(&*right, width, 1),
                S::ONE,
                into,
                stride,
            );
        }
    }
}

vectorised! {
    /// Some rows times their weights.
    fn copy_weighted<S>(sequences: Sequences, weights: &[S], rows: Rows<'_, Vec<S>>, first: usize, count: usize, into: &mut [S]) {
        for (row, into) in (first..first + count).zip(into.chunks_exact_mut(rows.width)) {
            let weight = weights[sequences.example(row)];
            let values = &rows.buffer[rows.start + row * rows.stride..][..rows.width];
            for (into, &value) in into.iter_mut().zip(values) {
                *into = weight * value;
            }
        }
    }
}

vectorised! {
    /// into ← weight·values.
    fn scale_row<S>(weight: S, values: &[S], into: &mut [S]) {
        for (into, &value) in into.iter_mut().zip(values) {
            *into = weight * value;
        }
    }
}

vectorised! {
    /// See [`crate::Device::weighted_sum`].
    pub(super) fn weighted_sum<S>(sequences: Sequences, weights: &[S], rows: Rows<'_, Vec<S>>, into: &mut [S]) {
        for row in 0..sequences.rows() {
            let weight = weights[sequences.example(row)];
            if weight != S::ZERO {
                let values = &rows.buffer[rows.start + row * rows.stride..][..rows.width];
                for (into, &value) in into.iter_mut().zip(values) {
                    *into += weight * value;
                }
            }
        }
    }
}
