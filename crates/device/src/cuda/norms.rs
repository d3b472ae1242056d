//! Norms of examples' gradients, and weighted sums of them: products of matrices in full `f32`, some examples or rows at a time.

use super::launch::{THREADS, arguments};
use super::open::{Gpu, Work};
use super::product::{Factor, Into, Products};
use super::vector::Vector;
use crate::{Order, Product, Rows, Sequences};
use std::sync::{MutexGuard, PoisonError};

/// Numbers that a kernel keeps between products: 128 MiB of them.
const ROOM: usize = 1 << 25;
/// Rows that are added up by one thread.
const ROWS: usize = 64;

type Numbers<'a> = Rows<'a, Vector<f32>>;

/// What kernels are told of examples and steps.
macro_rules! steps {
    ($sequences:expr, $($value:expr),* $(,)?) => {
        arguments![
            $sequences.examples,
            $sequences.steps,
            $sequences.order == Order::Steps,
            $($value),*
        ]
    };
}

pub(super) use steps;

/// Where rows are, all of them within their vector.
pub(super) fn address(sequences: &Sequences, rows: &Numbers<'_>) -> u64 {
    let count = sequences.rows();
    if count == 0 {
        return 0;
    }
    rows.buffer.at(rows.start, (count - 1) * rows.stride + rows.width)
}

/// The steps of examples from `first` on, each example a matrix of steps × width.
fn by_example<'a>(sequences: &Sequences, rows: &Numbers<'a>, first: usize) -> Factor<'a> {
    let example = match sequences.order {
        Order::Steps => 1,
        Order::Examples => sequences.steps,
    };
    Factor {
        vector: rows.buffer,
        start: rows.start + first * example * rows.stride,
        row: sequences.step_stride() * rows.stride,
        column: 1,
        batch: example * rows.stride,
    }
}

fn transposed(factor: Factor<'_>) -> Factor<'_> {
    Factor {
        row: factor.column,
        column: factor.row,
        ..factor
    }
}

fn packed(vector: &mut Vector<f32>, width: usize, batch: usize) -> Into<'_> {
    Into {
        vector,
        start: 0,
        row: width,
        batch,
    }
}

impl Gpu {
    pub(super) fn work(&self) -> MutexGuard<'_, Work> {
        // A panic elsewhere left no half-done work: what is queued is queued.
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// See [`crate::Device::pair_norms`].
    pub(super) fn pair_norms(
        &self,
        sequences: Sequences,
        inputs: &[Numbers<'_>],
        one: bool,
        gradients: &[Numbers<'_>],
        sums: &mut Vector<f64>,
    ) {
        let (examples, steps) = (sequences.examples, sequences.steps);
        let pairs = steps * steps;
        if examples == 0 || pairs == 0 {
            return;
        }
        let at_once = (ROOM / 2 / pairs).clamp(1, examples);
        let Work { blas, scratch, .. } = &mut *self.work();
        for side in scratch.iter_mut() {
            self.reserve(side, at_once * pairs);
        }
        for first in (0..examples).step_by(at_once) {
            let count = at_once.min(examples - first);
            for (parts, into) in [inputs, gradients].into_iter().zip(scratch.iter_mut()) {
                if parts.is_empty() {
                    self.clear(into, 0..count * pairs);
                }
                for (number, rows) in parts.iter().enumerate() {
                    let left = by_example(&sequences, rows, first);
                    self.multiply(
                        blas,
                        Products::Full,
                        Product::new(steps, rows.width, steps).times(count),
                        1.0,
                        left,
                        transposed(left),
                        if number == 0 { 0.0 } else { 1.0 },
                        packed(into, steps, pairs),
                    );
                }
            }
            let [left, right] = scratch.each_ref().map(|side| side.at(0, count * pairs));
            let one = f64::from(u8::from(one));
            self.launch(
                "pair_total",
                (count, 1),
                arguments![pairs, one, left, right, sums.at(first, count)],
            );
        }
    }

    /// See [`crate::Device::product_norms`].
    pub(super) fn product_norms(
        &self,
        sequences: Sequences,
        input: Numbers<'_>,
        one: bool,
        gradient: Numbers<'_>,
        sums: &mut Vector<f64>,
    ) {
        let (examples, height, width) = (sequences.examples, input.width, gradient.width);
        let numbers = height * width;
        if examples == 0 || numbers == 0 || sequences.steps == 0 {
            return;
        }
        let at_once = (ROOM / numbers).clamp(1, examples);
        let Work { blas, scratch, .. } = &mut *self.work();
        let scratch = &mut scratch[0];
        self.reserve(scratch, at_once * numbers);
        for first in (0..examples).step_by(at_once) {
            let count = at_once.min(examples - first);
            self.multiply(
                blas,
                Products::Full,
                Product::new(height, sequences.steps, width).times(count),
                1.0,
                transposed(by_example(&sequences, &input, first)),
                by_example(&sequences, &gradient, first),
                0.0,
                packed(scratch, width, numbers),
            );
            let values = scratch.at(0, count * numbers);
            self.launch(
                "squares",
                (count, 1),
                arguments![height, width, values, sums.at(first, count)],
            );
        }
        if one {
            let values = address(&sequences, &gradient);
            self.launch(
                "total_norms",
                (examples, 1),
                steps![sequences, values, gradient.stride, width, sums.at(0, examples)],
            );
        }
    }

    /// See [`crate::Device::tied_norms`].
    pub(super) fn tied_norms(
        &self,
        sequences: Sequences,
        tokens: &Vector<u32>,
        embedded: Numbers<'_>,
        input: Numbers<'_>,
        logits: Numbers<'_>,
        sums: &mut Vector<f64>,
    ) {
        let (examples, steps) = (sequences.examples, sequences.steps);
        let pairs = steps * steps;
        if examples == 0 || pairs == 0 {
            return;
        }
        let at_once = (ROOM / pairs).clamp(1, examples);
        let Work { blas, scratch, .. } = &mut *self.work();
        let scratch = &mut scratch[0];
        self.reserve(scratch, at_once * pairs);
        let (tokens, sums) = (tokens.at(0, sequences.rows()), sums.at(0, examples));
        for first in (0..examples).step_by(at_once) {
            let count = at_once.min(examples - first);
            self.multiply(
                blas,
                Products::Full,
                Product::new(steps, embedded.width, steps).times(count),
                1.0,
                by_example(&sequences, &embedded, first),
                transposed(by_example(&sequences, &input, first)),
                0.0,
                packed(scratch, steps, pairs),
            );
            let products = scratch.at(0, count * pairs);
            let values = address(&sequences, &logits);
            let (stride, width) = (logits.stride, logits.width);
            self.launch(
                "tied_total",
                (count, 1),
                steps![sequences, first, tokens, products, values, stride, width, sums],
            );
        }
    }

    /// See [`crate::Device::weighted_product`]. Both factors are copied, some rows at a time: rows of weight 0 become zeros on both sides, since 0 times what is
    /// not a number is not 0.
    pub(super) fn weighted_product(
        &self,
        sequences: Sequences,
        weights: &Vector<f32>,
        input: Numbers<'_>,
        gradient: Numbers<'_>,
        into: &mut Vector<f32>,
        start: usize,
        stride: usize,
    ) {
        let (height, width) = (input.width, gradient.width);
        let rows = sequences.rows();
        if rows == 0 || height == 0 || width == 0 {
            return;
        }
        let at_once = (ROOM / (height + width)).clamp(1, rows);
        let Work { blas, scratch, .. } = &mut *self.work();
        let weights = weights.at(0, sequences.examples);
        let sides = [input, gradient];
        for (side, scratch) in sides.iter().zip(scratch.iter_mut()) {
            self.reserve(scratch, at_once * side.width);
        }
        for first in (0..rows).step_by(at_once) {
            let count = at_once.min(rows - first);
            for (number, (side, scratch)) in sides.iter().zip(scratch.iter_mut()).enumerate() {
                let scaled = (number == 0) == (height <= width);
                let values = address(&sequences, side);
                let copy = scratch.at(0, count * side.width);
                self.over_rows(
                    "copy_weighted",
                    count,
                    side.width,
                    steps![
                        sequences,
                        first,
                        scaled,
                        weights,
                        values,
                        side.stride,
                        side.width,
                        copy
                    ],
                );
            }
            let [a, b] = &*scratch;
            let factor = |vector, row, column| Factor {
                vector,
                start: 0,
                row,
                column,
                batch: 0,
            };
            self.multiply(
                blas,
                Products::Full,
                Product::new(height, count, width),
                1.0,
                factor(a, 1, height),
                factor(b, width, 1),
                1.0,
                Into {
                    vector: into,
                    start,
                    row: stride,
                    batch: 0,
                },
            );
        }
    }

    /// See [`crate::Device::weighted_sum`].
    pub(super) fn weighted_sum(
        &self,
        sequences: Sequences,
        weights: &Vector<f32>,
        rows: Numbers<'_>,
        into: &mut Vector<f32>,
        start: usize,
    ) {
        let count = sequences.rows();
        if count == 0 || rows.width == 0 {
            return;
        }
        let parts = count.div_ceil(ROWS).min(1024);
        let scratch = &mut self.work().scratch[0];
        self.reserve(scratch, parts * rows.width);
        let sums = scratch.at(0, parts * rows.width);
        let weights = weights.at(0, sequences.examples);
        let values = address(&sequences, &rows);
        self.launch(
            "sum_columns",
            (rows.width.div_ceil(THREADS), parts),
            steps![sequences, weights, values, rows.stride, rows.width, sums],
        );
        let into = into.at(start, rows.width);
        self.over("add_parts", rows.width, arguments![parts, rows.width, sums, into]);
    }
}
