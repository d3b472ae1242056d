//! Factors rounded to bf16, for products on tensor cores.
//!
//! A number is rounded to the nearest bf16, ties to even; below the normal numbers it is 0. Whatever a kernel makes of a factor, norms and sums alike, it makes of these, so a gradient has one definition:
//! Σ_t ā_t ⊗ ḡ_t over rounded inputs and gradients.

use super::launch::arguments;
use super::norms::steps;
use super::open::{Gpu, Work};
use super::product::{Factor, Into, Products};
use super::vector::Vector;
use crate::{Product, Rows, Sequences};
use cudarc::cublas::CudaBlas;

/// Numbers that are rounded at a time: 256 MiB of copies.
pub(super) const ROOM: usize = 1 << 27;

/// Rows of a product from which on it is made of rounded copies; for fewer, as in the steps of a recurrent layer, making the copies takes longer than the product.
const ROWS: usize = 1024;

impl Gpu {
    /// A rounded copy of a matrix of `lines` contiguous lines of `length`, or of `count` of them. Lines of the copy start at multiples of 16 bytes.
    pub(super) fn halved<'h>(
        &self,
        into: &'h mut Vector<u16>,
        from: Factor<'_>,
        [lines, length]: [usize; 2],
        count: usize,
    ) -> Factor<'h, u16> {
        let stride = length.next_multiple_of(8);
        self.reserve(into, count * lines * stride);
        let values = from.address(lines, length, count);
        let copy = into.at(0, count * lines * stride);
        let quads = [from.row, from.batch, length]
            .iter()
            .all(|size| size.is_multiple_of(4));
        let quads = quads && values.is_multiple_of(16);
        let numbers = count * lines * length;
        self.over(
            "to_half",
            if quads { numbers / 4 } else { numbers },
            arguments![
                numbers, lines, length, from.row, from.batch, stride, quads, values, copy
            ],
        );
        Factor {
            vector: into,
            start: 0,
            row: stride,
            column: 1,
            batch: lines * stride,
        }
    }

    /// C ← α·A·B + β·C of rounded copies where they are worth it, with TF32 where not.
    pub(super) fn multiply_rounded(
        &self,
        work: &mut Work,
        product: Product,
        alpha: f32,
        a: Factor<'_>,
        b: Factor<'_>,
        beta: f32,
        c: Into<'_>,
    ) {
        let Product {
            count,
            rows,
            columns,
            inner,
        } = product;
        let Work { blas, halves, .. } = work;
        if count != 1 || rows.max(inner) < ROWS || rows.min(columns).min(inner) < 16 {
            return self.multiply(blas, Products::Rounded, product, alpha, a, b, beta, c);
        }
        let [left, right, _] = halves;
        let rounded = |into, factor: Factor<'_>, rows, columns| match factor.column {
            1 => self.halved(into, factor, [rows, columns], 1),
            _ => self
                .halved(into, factor.transposed(), [columns, rows], 1)
                .transposed(),
        };
        let (a, b) = (rounded(left, a, rows, inner), rounded(right, b, inner, columns));
        self.multiply(blas, Products::Half, product, alpha, a, b, beta, c);
    }

    /// Some rows times their weights, rounded; the first `count` from `first` on. A weight of 0, or too small to count, makes zeros.
    pub(super) fn halved_weighted<'h>(
        &self,
        sequences: &Sequences,
        weights: &Vector<f32>,
        scaled: bool,
        rows: &Rows<'_, Vector<f32>>,
        [first, count]: [usize; 2],
        into: &'h mut Vector<u16>,
    ) -> Factor<'h, u16> {
        let stride = rows.width.next_multiple_of(8);
        self.reserve(into, count * stride);
        let values = super::norms::address(sequences, rows);
        let quads =
            rows.width.is_multiple_of(4) && rows.stride.is_multiple_of(4) && values.is_multiple_of(16);
        let numbers = count * rows.width;
        self.over(
            "to_half_weighted",
            if quads { numbers / 4 } else { numbers },
            steps![
                sequences,
                first,
                scaled,
                weights.at(0, sequences.examples),
                numbers,
                rows.width,
                rows.stride,
                stride,
                quads,
                values,
                into.at(0, count * stride)
            ],
        );
        Factor {
            vector: into,
            start: 0,
            row: stride,
            column: 1,
            batch: 0,
        }
    }

    /// The row of weights, rounded, or of ones: what a bias is multiplied by.
    pub(super) fn halved_weights<'h>(
        &self,
        sequences: &Sequences,
        weights: &Vector<f32>,
        scaled: bool,
        [first, count]: [usize; 2],
        into: &'h mut Vector<u16>,
    ) -> Factor<'h, u16> {
        self.reserve(into, count);
        let weights = weights.at(0, sequences.examples);
        self.over(
            "half_weights",
            count,
            steps![sequences, first, scaled, weights, count, into.at(0, count)],
        );
        Factor {
            vector: into,
            start: 0,
            row: count,
            column: 1,
            batch: 0,
        }
    }

    /// The products of all rows of each example with each other, from rounded copies and `columns` at a time: products on tensor cores add few numbers in one go, so that little is lost.
    pub(super) fn grams_of_halves(
        &self,
        blas: &CudaBlas,
        halves: &mut Vector<u16>,
        factor: Factor<'_>,
        [steps, width]: [usize; 2],
        count: usize,
        columns: usize,
        add: bool,
        into: &mut Vector<f32>,
    ) {
        let rows = self.halved(halves, factor, [steps, width], count);
        for first in (0..width).step_by(columns) {
            let left = rows.from(0, first);
            let product = Product::new(steps, columns.min(width - first), steps).times(count);
            self.multiply(
                blas,
                Products::Half,
                product,
                1.0,
                left,
                left.transposed(),
                if add || first > 0 { 1.0 } else { 0.0 },
                Into {
                    vector: into,
                    start: 0,
                    row: steps,
                    batch: steps * steps,
                },
            );
        }
    }
}
