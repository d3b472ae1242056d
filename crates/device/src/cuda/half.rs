//! Factors rounded to bf16, for products on tensor cores.
//!
//! A number is rounded to the nearest bf16, ties to even; below the normal numbers it is 0. Whatever a kernel makes of a factor, norms and sums alike, it makes of these, so a gradient has one definition:
//! Σ_t ā_t ⊗ ḡ_t over rounded inputs and gradients.

use super::floats::Floats;
use super::launch::arguments;
use super::norms::steps;
use super::open::{Gpu, Work};
use super::product::{Factor, Into, Products};
use super::vector::Vector;
use crate::{Matrix, MatrixMut, Product, Rows, Sequences};
use cudarc::cublas::CudaBlas;

/// Numbers that are rounded at a time: 256 MiB of copies.
pub(super) const ROOM: usize = 1 << 27;

/// Rows of a product from which on it is made of rounded copies; for fewer, as in the steps of a recurrent layer, making the copies takes longer than the product.
const ROWS: usize = 1024;

/// A number as a bf16, as `half_of` in `kernels.cu`.
pub(super) fn rounded(value: f32) -> u16 {
    let bits = value.to_bits();
    if bits & 0x7f80_0000 == 0 {
        (bits >> 16 & 0x8000) as u16
    } else if value.is_nan() {
        0x7fff
    } else {
        ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
    }
}

/// And back, which is exact.
pub(super) fn widened(value: u16) -> f32 {
    f32::from_bits(u32::from(value) << 16)
}

fn single<'a>(matrix: &Matrix<'a, Floats>) -> Factor<'a> {
    Factor {
        vector: matrix.buffer.singles(),
        start: matrix.start,
        row: matrix.row,
        column: matrix.column,
        batch: matrix.batch,
    }
}

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

    /// C ← α·A·B + β·C of factors in either width. With [`Products::Half`], rounded factors are taken as they are, and others as rounded copies where those are worth it; with TF32 where not.
    pub(super) fn multiply_floats(
        &self,
        products: Products,
        product: Product,
        [alpha, beta]: [f32; 2],
        a: Matrix<'_, Floats>,
        b: Matrix<'_, Floats>,
        c: MatrixMut<'_, Floats>,
    ) {
        let Work { blas, halves, .. } = &mut *self.work();
        let Product {
            count,
            rows,
            columns,
            inner,
        } = product;
        let any = a.buffer.halves().or(b.buffer.halves()).or(c.buffer.halves());
        let few = count != 1 || rows.max(inner) < ROWS || rows.min(columns).min(inner) < 16;
        if products != Products::Half || any.is_none() && few {
            let products = match products {
                Products::Half => Products::Rounded,
                products => products,
            };
            let (a, b) = (single(&a), single(&b));
            let c = Into::new(c.buffer.singles_mut(), c.start, c.row, c.batch);
            return self.multiply(blas, products, product, alpha, a, b, beta, c);
        }
        let [left, right, ..] = halves;
        let a = self.as_halves(left, &a, [rows, inner], count);
        let b = self.as_halves(right, &b, [inner, columns], count);
        let [start, row, batch] = [c.start, c.row, c.batch];
        if c.buffer.halves().is_some() {
            let Some(vector) = c.buffer.halves_mut() else {
                return;
            };
            let c = Into::new(vector, start, row, batch);
            self.multiply(blas, Products::Half, product, alpha, a, b, beta, c);
        } else {
            let c = Into::new(c.buffer.singles_mut(), start, row, batch);
            self.multiply(blas, Products::Half, product, alpha, a, b, beta, c);
        }
    }

    /// A factor as it is, where it is rounded, or a rounded copy.
    fn as_halves<'h>(
        &self,
        into: &'h mut Vector<u16>,
        matrix: &Matrix<'h, Floats>,
        [rows, columns]: [usize; 2],
        count: usize,
    ) -> Factor<'h, u16> {
        if let Some(vector) = matrix.buffer.halves() {
            return Factor {
                vector,
                start: matrix.start,
                row: matrix.row,
                column: matrix.column,
                batch: matrix.batch,
            };
        }
        let factor = single(matrix);
        match factor.column {
            1 => self.halved(into, factor, [rows, columns], count),
            _ => self
                .halved(into, factor.transposed(), [columns, rows], count)
                .transposed(),
        }
    }

    /// Some rows times their weights, rounded, or with `scaled` false only without those that do not count; the first `count` from `first` on. A weight of 0, or too small to count, makes zeros. Rows
    /// that are rounded, and of which all count, are taken as they are.
    pub(super) fn halved_weighted<'h>(
        &self,
        sequences: &Sequences,
        weights: &Floats,
        scaled: bool,
        rows: &Rows<'h, Floats>,
        [first, count]: [usize; 2],
        into: &'h mut Vector<u16>,
    ) -> Factor<'h, u16> {
        if let Some(vector) = rows.buffer.halves().filter(|_| !scaled && weights.all_count()) {
            return Factor {
                vector,
                start: rows.start + first * rows.stride,
                row: rows.stride,
                column: 1,
                batch: 0,
            };
        }
        let stride = rows.width.next_multiple_of(8);
        self.reserve(into, count * stride);
        let values = super::norms::address(sequences, rows);
        let lies = if rows.buffer.halves().is_some() { 8 } else { 16 };
        let quads =
            rows.width.is_multiple_of(4) && rows.stride.is_multiple_of(4) && values.is_multiple_of(lies);
        let numbers = count * rows.width;
        self.over(
            "to_half_weighted",
            if quads { numbers / 4 } else { numbers },
            steps![
                sequences,
                first,
                scaled,
                weights.weights(sequences.examples),
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
        weights: &Floats,
        scaled: bool,
        [first, count]: [usize; 2],
        into: &'h mut Vector<u16>,
    ) -> Factor<'h, u16> {
        self.reserve(into, count);
        let weights = weights.weights(sequences.examples);
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

    /// The products of all rows of each example with each other, `columns` at a time: products on tensor cores add few numbers in one go, so that little is lost.
    pub(super) fn grams_of_halves(
        &self,
        blas: &CudaBlas,
        rows: Factor<'_, u16>,
        [steps, width]: [usize; 2],
        count: usize,
        columns: usize,
        add: bool,
        into: &mut Vector<f32>,
    ) {
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
                Into::new(&mut *into, 0, steps, steps * steps),
            );
        }
    }
}
