//! Norms of examples' gradients, and weighted sums of them: products of matrices in full `f32` or of factors rounded to bf16, some examples or rows at a time.

use super::floats::Floats;
use super::half;
use super::launch::{THREADS, arguments};
use super::open::{Gpu, Work};
use super::product::{Factor, Into, Number, Products};
use super::tiles;
use super::vector::Vector;
use crate::rounding::{HALVES, Rounding, WEIGHING};
use crate::{Order, Product, Rows, Scalar, Sequences};
use cudarc::cublas::CudaBlas;
use std::sync::{MutexGuard, PoisonError};

/// Numbers that a kernel keeps between products: 128 MiB of them.
const ROOM: usize = 1 << 25;
/// Pairs of steps that are added up by one block.
const PAIRS: usize = 4096;
/// Rows that are added up by one thread.
const ROWS: usize = 64;

/// Columns, or steps, of which products are added up in one go. In which order is the library's choice, so this is how many roundings a summand may pass.
const AT_ONCE: usize = 1024;
/// Of one operation in `f32`.
const ROUNDING: Rounding = Rounding::new(f32::ROUNDING);

pub(super) type Numbers<'a> = Rows<'a, Floats>;

/// The same for factors rounded to bf16, on tensor cores, whose sums err more.
const HALVES_AT_ONCE: usize = 256;

/// How many roundings a summand passes in sums over columns that our own kernels make (over 32 threads or more, their folds, and what becomes of the sum in `f32`).
fn depth(width: usize) -> usize {
    width.div_ceil(32) + 18
}

/// How products for norms are made: how their operations err, how many columns are added up in one go, and what rounding a weighted factor adds.
#[derive(Clone, Copy)]
pub(super) struct Exactness {
    pub(super) rounding: Rounding,
    pub(super) at_once: usize,
    pub(super) weighing: f64,
}

pub(super) fn exactness(products: Products) -> Exactness {
    match products {
        Products::Full | Products::Rounded => Exactness {
            rounding: ROUNDING,
            at_once: AT_ONCE,
            weighing: 0.0,
        },
        Products::Half => Exactness {
            rounding: HALVES,
            at_once: HALVES_AT_ONCE,
            weighing: WEIGHING,
        },
    }
}

/// The same for products of matrices, made some columns at a time.
pub(super) fn depth_of_products<'a>(
    widths: impl Iterator<Item = usize> + Clone + 'a,
    at_once: usize,
) -> usize {
    let most = widths.clone().map(|width| width.min(at_once)).max().unwrap_or(0);
    most + widths.map(|width| width.div_ceil(at_once)).sum::<usize>() + 20
}

/// What kernels are reported of examples and steps.
macro_rules! steps {
    ($sequences:expr, $($value:expr),* $(,)?) => {
        arguments![
            $sequences.examples,
            $sequences.steps,
            $sequences.order == $crate::Order::Steps,
            $($value),*
        ]
    };
}

pub(super) use steps;

/// Where rows are, all of them within their vector, for kernels that take both widths of numbers.
pub(super) fn address(sequences: &Sequences, rows: &Numbers<'_>) -> u64 {
    let count = sequences.rows();
    if count == 0 {
        return 0;
    }
    rows.buffer
        .place(rows.start, (count - 1) * rows.stride + rows.width)
}

/// The same for kernels that take numbers in full.
pub(super) fn address_in_full(sequences: &Sequences, rows: &Numbers<'_>) -> u64 {
    rows.buffer.singles();
    address(sequences, rows)
}

/// The steps of examples from `first` on, each example a matrix of steps × width.
fn by_example<'a>(sequences: &Sequences, rows: &Numbers<'a>, first: usize) -> Factor<'a> {
    of_example(sequences, rows, rows.buffer.singles(), first)
}

/// The same of these rows in this vector.
fn of_example<'a, T>(
    sequences: &Sequences,
    rows: &Numbers<'_>,
    vector: &'a Vector<T>,
    first: usize,
) -> Factor<'a, T> {
    let example = match sequences.order {
        Order::Steps => 1,
        Order::Examples => sequences.steps,
    };
    Factor {
        vector,
        start: rows.start + first * example * rows.stride,
        row: sequences.step_stride() * rows.stride,
        column: 1,
        batch: example * rows.stride,
    }
}

/// The columns of rows, some at a time.
fn some_columns<'a>(rows: &Numbers<'a>) -> impl Iterator<Item = Numbers<'a>> {
    let rows = *rows;
    (0..rows.width)
        .step_by(AT_ONCE)
        .map(move |first| rows.columns(first, AT_ONCE.min(rows.width - first)))
}

fn packed(vector: &mut Vector<f32>, width: usize, batch: usize) -> Into<'_> {
    Into::new(vector, 0, width, batch)
}

impl Gpu {
    pub(super) fn work(&self) -> MutexGuard<'_, Work> {
        // A panic elsewhere left no half-done work: what is queued is queued.
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The steps of `count` examples from `first` on, rounded: as they are, or a copy.
    pub(super) fn halves_of_examples<'h>(
        &self,
        into: &'h mut Vector<u16>,
        sequences: &Sequences,
        rows: &Numbers<'h>,
        first: usize,
        count: usize,
    ) -> Factor<'h, u16> {
        match rows.buffer.halves() {
            Some(vector) => of_example(sequences, rows, vector, first),
            None => {
                let sizes = [sequences.steps, rows.width];
                self.halved(into, by_example(sequences, rows, first), sizes, count)
            }
        }
    }

    /// See [`crate::Device::pair_norms`].
    pub(super) fn pair_norms(
        &self,
        products: Products,
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
        let parts = inputs.len().max(gradients.len());
        if products == Products::Half && parts <= 2 && tiles::are_worth_it(steps) {
            return self.pair_norms_in_tiles(sequences, inputs, one, gradients, sums);
        }
        let exact = exactness(products);
        let widest = inputs.iter().chain(gradients).map(|rows| rows.width).max();
        let mut at_once = ROOM / 2 / pairs;
        if products == Products::Half {
            at_once = at_once.min(half::ROOM / (steps * (widest.unwrap_or(0) + 8)));
        }
        let at_once = at_once.clamp(1, examples);
        let [before, after] = [inputs, gradients]
            .map(|parts| depth_of_products(parts.iter().map(|rows| rows.width), exact.at_once));
        let error = exact.rounding.pairs(before, after, steps);
        let Work {
            blas,
            scratch,
            halves,
            doubles,
        } = &mut *self.work();
        for side in scratch.iter_mut() {
            self.reserve(side, at_once * pairs);
        }
        for first in (0..examples).step_by(at_once) {
            let count = at_once.min(examples - first);
            for (parts, into) in [inputs, gradients].into_iter().zip(scratch.iter_mut()) {
                if parts.iter().all(|rows| rows.width == 0) {
                    self.clear(into, 0..count * pairs);
                }
                if products == Products::Half {
                    for (number, rows) in parts.iter().enumerate() {
                        let (sizes, columns) = ([steps, rows.width], exact.at_once);
                        let rows_of = self.halves_of_examples(&mut halves[0], &sequences, rows, first, count);
                        self.grams_of_halves(blas, rows_of, sizes, count, columns, number > 0, into);
                    }
                    continue;
                }
                for (number, rows) in parts.iter().flat_map(some_columns).enumerate() {
                    let left = by_example(&sequences, &rows, first);
                    self.multiply(
                        blas,
                        Products::Full,
                        Product::new(steps, rows.width, steps).times(count),
                        1.0,
                        left,
                        left.transposed(),
                        if number == 0 { 0.0 } else { 1.0 },
                        packed(into, steps, pairs),
                    );
                }
            }
            let [left, right] = scratch.each_ref().map(|side| side.at(0, count * pairs));
            let one = f64::from(u8::from(one));
            let sums = sums.at(first, count);
            let parts = pairs.div_ceil(PAIRS).min(64);
            self.reserve(doubles, count * parts);
            let partial = doubles.at(0, count * parts);
            self.launch(
                "pair_parts",
                (count, parts),
                arguments![pairs, one, left, right, partial],
            );
            self.launch(
                "pair_total",
                (count, 1),
                arguments![
                    steps,
                    one,
                    error,
                    exact.weighing,
                    left,
                    right,
                    parts,
                    partial,
                    sums
                ],
            );
        }
    }

    /// See [`crate::Device::product_norms`].
    pub(super) fn product_norms(
        &self,
        products: Products,
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
        let steps = sequences.steps;
        let exact = exactness(products);
        let factor = ROUNDING.squares(depth(width), height);
        // Lengths are those of rows before they are rounded.
        let rounding = 1.0 + 4.0 * exact.weighing;
        let of_lengths = depth(height.max(width));
        let error = exact.rounding.products(
            depth_of_products(std::iter::once(steps), exact.at_once),
            of_lengths,
        );
        let error = (error + exact.weighing) * rounding;
        let Work {
            blas,
            scratch,
            halves,
            ..
        } = &mut *self.work();
        let [scratch, lengths] = scratch;
        self.reserve(scratch, at_once * numbers);
        let [heights, lengths] = self.lengths(&sequences, [&input, &gradient], lengths);
        for first in (0..examples).step_by(at_once) {
            let count = at_once.min(examples - first);
            let sizes = [height, steps, width];
            if products == Products::Half {
                let [left, right, ..] = &mut *halves;
                let before = self.halves_of_examples(left, &sequences, &input, first, count);
                let after = self.halves_of_examples(right, &sequences, &gradient, first, count);
                self.products_of_examples(blas, exact.at_once, sizes, count, before, after, scratch);
            } else {
                let (before, after) = (
                    by_example(&sequences, &input, first),
                    by_example(&sequences, &gradient, first),
                );
                self.products_of_examples(blas, exact.at_once, sizes, count, before, after, scratch);
            }
            let values = scratch.at(0, count * numbers);
            let sums = sums.at(0, examples);
            self.launch(
                "squares",
                (count, 1),
                steps![
                    sequences, first, factor, error, height, width, values, heights, lengths, sums
                ],
            );
        }
        if one {
            let values = address(&sequences, &gradient);
            let (factor, error) = (
                ROUNDING.squares(4, width),
                ROUNDING.products(steps + 4, depth(width)) * rounding,
            );
            let sums = sums.at(0, examples);
            self.launch(
                "total_norms",
                (examples, 1),
                steps![
                    sequences,
                    factor,
                    error,
                    products == Products::Half,
                    values,
                    gradient.stride,
                    width,
                    lengths,
                    sums
                ],
            );
        }
    }

    /// Σ_t a_t ⊗ g_t of some examples, some steps at a time.
    fn products_of_examples<T: Number>(
        &self,
        blas: &CudaBlas,
        at_once: usize,
        [height, steps, width]: [usize; 3],
        count: usize,
        before: Factor<'_, T>,
        after: Factor<'_, T>,
        into: &mut Vector<f32>,
    ) {
        for step in (0..steps).step_by(at_once) {
            self.multiply(
                blas,
                Products::Full,
                Product::new(height, at_once.min(steps - step), width).times(count),
                1.0,
                before.from(step, 0).transposed(),
                after.from(step, 0),
                if step == 0 { 0.0 } else { 1.0 },
                packed(into, width, height * width),
            );
        }
    }

    /// The lengths of all rows of each, in `f32`, and where they are.
    fn lengths<const N: usize>(
        &self,
        sequences: &Sequences,
        of: [&Numbers<'_>; N],
        into: &mut Vector<f32>,
    ) -> [u64; N] {
        let count = sequences.rows();
        self.reserve(into, N * count);
        let places = std::array::from_fn(|number| into.at(number * count, count));
        for (rows, place) in of.into_iter().zip(places) {
            self.row_lengths(sequences, rows, place);
        }
        places
    }

    fn row_lengths(&self, sequences: &Sequences, rows: &Numbers<'_>, place: u64) {
        let values = address(sequences, rows);
        self.launch(
            "row_lengths",
            (sequences.rows(), 1),
            arguments![values, rows.stride, rows.width, place],
        );
    }

    /// See [`crate::Device::square_norms`].
    pub(super) fn square_norms(&self, sequences: Sequences, rows: Numbers<'_>, sums: &mut Vector<f64>) {
        let values = address(&sequences, &rows);
        let examples = sequences.examples;
        let factor = ROUNDING.squares(depth(rows.width), sequences.steps);
        let parts = sequences.steps.div_ceil(8).clamp(1, 32);
        let doubles = &mut self.work().doubles;
        self.reserve(doubles, examples * parts);
        let partial = doubles.at(0, examples * parts);
        self.launch(
            "square_parts",
            (examples, parts),
            steps![sequences, factor, values, rows.stride, rows.width, partial],
        );
        let sums = sums.at(0, examples);
        self.over("add_up", examples, arguments![examples, parts, partial, sums]);
    }

    /// See [`crate::Device::token_norms`].
    pub(super) fn token_norms(
        &self,
        sequences: Sequences,
        tokens: &Vector<u32>,
        gradient: Numbers<'_>,
        sums: &mut Vector<f64>,
    ) {
        let count = sequences.rows();
        let Work { scratch, doubles, .. } = &mut *self.work();
        let [_, lengths] = scratch;
        self.reserve(lengths, count);
        let lengths = lengths.at(0, count);
        self.row_lengths(&sequences, &gradient, lengths);
        let (tokens, sums) = (tokens.at(0, count), sums.at(0, sequences.examples));
        let values = address_in_full(&sequences, &gradient);
        let (stride, width) = (gradient.stride, gradient.width);
        // The other factor of each pair is 1, which is exact.
        let error = ROUNDING.pairs(depth(width), 0, sequences.steps);
        // Few units of many steps would leave most of a GPU idle.
        let parts = sequences.steps.div_ceil(32).clamp(1, 32);
        self.reserve(doubles, sequences.examples * parts);
        let partial = doubles.at(0, sequences.examples * parts);
        self.launch(
            "token_parts",
            (sequences.examples, parts),
            steps![sequences, error, tokens, values, stride, width, lengths, partial],
        );
        let examples = sequences.examples;
        self.over("add_up", examples, arguments![examples, parts, partial, sums]);
    }

    /// Rounded rows as `f32`.
    fn widened(&self, sequences: &Sequences, rows: &Numbers<'_>) -> Floats {
        let count = sequences.rows();
        let made = Floats::single(self.zeros(count * rows.width));
        let (values, to) = (address(sequences, rows), made.at(0, count * rows.width));
        self.over_rows(
            "widen",
            count,
            rows.width,
            arguments![rows.width, rows.stride, values, to],
        );
        made
    }

    /// See [`crate::Device::tied_norms`].
    pub(super) fn tied_norms(
        &self,
        products: Products,
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
        // The other factor of each pair is a logit, which is exact.
        let depth = depth_of_products(std::iter::once(embedded.width), AT_ONCE).max(depth(embedded.width));
        // Where the output layer's factors are rounded, these are not: two roundings, and their product, are in the bound instead. Its lengths are theirs before they are rounded.
        let weighing = exactness(products).weighing;
        let error = ROUNDING.pairs(depth, 0, steps) + 2.0 * weighing * (1.0 + weighing);
        let weighing = weighing * (1.0 + 4.0 * weighing);
        // Those that were rounded are exact here too.
        let widened = input.buffer.halves().map(|_| self.widened(&sequences, &input));
        let input = match &widened {
            Some(widened) => Rows::new(widened, input.width),
            None => input,
        };
        let Work { blas, scratch, .. } = &mut *self.work();
        let [scratch, lengths] = scratch;
        self.reserve(scratch, at_once * pairs);
        let [heights, lengths, widths] = self.lengths(&sequences, [&embedded, &input, &logits], lengths);
        let (tokens, sums) = (tokens.at(0, sequences.rows()), sums.at(0, examples));
        for first in (0..examples).step_by(at_once) {
            let count = at_once.min(examples - first);
            let parts = some_columns(&embedded).zip(some_columns(&input));
            for (number, (before, after)) in parts.enumerate() {
                self.multiply(
                    blas,
                    Products::Full,
                    Product::new(steps, before.width, steps).times(count),
                    1.0,
                    by_example(&sequences, &before, first),
                    by_example(&sequences, &after, first).transposed(),
                    if number == 0 { 0.0 } else { 1.0 },
                    packed(scratch, steps, pairs),
                );
            }
            let products = scratch.at(0, count * pairs);
            let values = address(&sequences, &logits);
            let (stride, width) = (logits.stride, logits.width);
            self.launch(
                "tied_total",
                (count, 1),
                steps![
                    sequences, first, error, weighing, tokens, products, heights, lengths, widths, values,
                    stride, width, sums
                ],
            );
        }
    }

    /// See [`crate::Device::weighted_product`]. Both factors are copied, some rows at a time: rows of weight 0 become zeros on both sides, since 0 times what is
    /// not a number is not 0.
    pub(super) fn weighted_product(
        &self,
        products: Products,
        sequences: Sequences,
        weights: &Floats,
        input: Numbers<'_>,
        gradient: Numbers<'_>,
        into: &mut Floats,
        start: usize,
        stride: usize,
        bias: Option<usize>,
    ) {
        let (height, width) = (input.width, gradient.width);
        let rows = sequences.rows();
        if products == Products::Half && height > 0 {
            return self
                .weighted_product_of_halves(sequences, weights, input, gradient, into, start, stride, bias);
        }
        if let Some(bias) = bias {
            let half = products == Products::Half;
            self.weighted_sum(half, sequences, weights, gradient, into, bias);
        }
        if rows == 0 || height == 0 || width == 0 {
            return;
        }
        let at_once = (ROOM / (height + width)).clamp(1, rows);
        let Work { blas, scratch, .. } = &mut *self.work();
        let weights = weights.weights(sequences.examples);
        let sides = [input, gradient];
        for (side, scratch) in sides.iter().zip(scratch.iter_mut()) {
            self.reserve(scratch, at_once * side.width);
        }
        for first in (0..rows).step_by(at_once) {
            let count = at_once.min(rows - first);
            for (number, (side, scratch)) in sides.iter().zip(scratch.iter_mut()).enumerate() {
                let scaled = (number == 0) == (height <= width);
                let values = address_in_full(&sequences, side);
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
                Into::new(into.singles_mut(), start, stride, 0),
            );
        }
    }

    /// The same of factors rounded to bf16; the narrower one is weighted, and rounded again.
    fn weighted_product_of_halves(
        &self,
        sequences: Sequences,
        weights: &Floats,
        input: Numbers<'_>,
        gradient: Numbers<'_>,
        into: &mut Floats,
        start: usize,
        stride: usize,
        bias: Option<usize>,
    ) {
        let (height, width, rows) = (input.width, gradient.width, sequences.rows());
        if rows == 0 || width == 0 {
            return;
        }
        let at_once = (half::ROOM / (height.max(width) + 8)).clamp(1, rows);
        let into = into.singles_mut();
        let Work { blas, halves, .. } = &mut *self.work();
        let [left, right, ones, _] = halves;
        for first in (0..rows).step_by(at_once) {
            let part = [first, at_once.min(rows - first)];
            let scaled = height <= width;
            let a = self.halved_weighted(&sequences, weights, scaled, &input, part, left);
            let b = self.halved_weighted(&sequences, weights, !scaled, &gradient, part, right);
            if let Some(start) = bias {
                let ones = self.halved_weights(&sequences, weights, scaled, part, ones);
                let into = Into::new(&mut *into, start, width, 0);
                let product = Product::new(1, part[1], width);
                self.multiply(blas, Products::Half, product, 1.0, ones, b, 1.0, into);
            }
            self.multiply(
                blas,
                Products::Half,
                Product::new(height, part[1], width),
                1.0,
                a.transposed(),
                b,
                1.0,
                Into::new(&mut *into, start, stride, 0),
            );
        }
    }

    /// See [`crate::Device::weighted_sum`]; with `half`, of rows rounded to bf16.
    pub(super) fn weighted_sum(
        &self,
        half: bool,
        sequences: Sequences,
        weights: &Floats,
        rows: Numbers<'_>,
        into: &mut Floats,
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
        let weights = weights.weights(sequences.examples);
        let values = address(&sequences, &rows);
        self.launch(
            "sum_columns",
            (rows.width.div_ceil(THREADS), parts),
            steps![sequences, half, weights, values, rows.stride, rows.width, sums],
        );
        let into = into.at(start, rows.width);
        self.over("add_parts", rows.width, arguments![parts, rows.width, sums, into]);
    }
}
