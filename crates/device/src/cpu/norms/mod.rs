//! Norms of examples' gradients from inner products, each with a bound on its error: see [`crate::rounding`] for the proof that none is too small. The number `unit` that kernels take is
//! the largest relative error of one operation; a test plants 0 there.

// Tiles are reported by their place.
#![allow(clippy::needless_range_loop)]

use super::lanes::{LANES, sum, sum_pairs, vectorised};
use super::matrix::{Operand, multiply};
use crate::rounding::{Rounding, TINY};
use crate::{Rows, Scalar, Sequences};

/// Steps on a side of a tile of inner products, see [`super::gram`].
const SIDE: usize = 4;
/// Columns that are gone through before the next tile, so that a block of steps stays in the nearest cache.
const DEPTH: usize = 512;
/// Steps on a side of a block: few enough that its columns stay in the nearest cache, a multiple of `SIDE`.
const BLOCK: usize = 24;
/// Steps of which products are added up in one go, so that no sum is longer.
const STEPS_AT_ONCE: usize = 512;

/// How many roundings a summand passes in an inner product over all columns at once: its product, the sums of a lane, four folds, and one sum with others.
fn depth(width: usize) -> usize {
    width.div_ceil(LANES) + 6
}

/// The same for tiles of several parts, gone through [`DEPTH`] columns at a time.
fn depth_of_tiles<S>(parts: &[Rows<'_, Vec<S>>]) -> usize {
    let most = parts.iter().map(|rows| rows.width.min(DEPTH)).max();
    depth(most.unwrap_or(0)) + parts.iter().map(|rows| rows.width.div_ceil(DEPTH)).sum::<usize>()
}

/// The steps of one example: `step` is from one step to the next.
#[derive(Clone, Copy)]
struct Steps<'a, S> {
    values: &'a [S],
    step: usize,
    width: usize,
}

impl<'a, S: Scalar> Steps<'a, S> {
    fn new(sequences: &Sequences, rows: &Rows<'a, Vec<S>>, example: usize) -> Self {
        Self {
            // No steps, no rows.
            values: rows
                .buffer
                .get(rows.start + sequences.row(example, 0) * rows.stride..)
                .unwrap_or(&[]),
            step: sequences.step_stride() * rows.stride,
            width: rows.width,
        }
    }

    #[inline(always)]
    fn at(&self, step: usize) -> &'a [S] {
        &self.values[step * self.step..][..self.width]
    }
}

/// Adds ⟨a_t, b_s⟩ over some columns to a tile.
#[inline(always)]
fn tile<S: Scalar, const FUSED: bool>(a: [&[S]; SIDE], b: [&[S]; SIDE], into: &mut [[S; SIDE]; SIDE]) {
    if let Some(products) = S::sixteen(a, b) {
        for i in 0..SIDE {
            for j in 0..SIDE {
                into[i][j] += products[SIDE * i + j];
            }
        }
        return;
    }
    for i in 0..SIDE {
        for j in 0..SIDE {
            into[i][j] += sum_pairs(a[i], b[j], |x, y| x * y);
        }
    }
}

/// The tiles of a block.
type Block<S> = [[[[S; SIDE]; SIDE]; BLOCK / SIDE]; BLOCK / SIDE];

/// Adds the inner products of steps from `first` on with those from `second` on, `count` and `other` of them, to a block. On the diagonal only tiles on or
/// below it are made.
#[inline(always)]
fn block<S: Scalar, const FUSED: bool>(
    rows: &Steps<'_, S>,
    steps: usize,
    first: usize,
    second: usize,
    into: &mut Block<S>,
) {
    // A tile that reaches over the end repeats the last step; what it says there is not used.
    let four = |at: usize, from: usize, to: usize| -> [&[S]; SIDE] {
        let row = |k: usize| &rows.at((at + k).min(steps - 1))[from..to];
        [row(0), row(1), row(2), row(3)]
    };
    let mut from = 0;
    while from < rows.width {
        let to = (from + DEPTH).min(rows.width);
        for i in 0..(steps - first).min(BLOCK).div_ceil(SIDE) {
            let left = four(first + i * SIDE, from, to);
            let tiles = if first == second { i + 1 } else { BLOCK / SIDE };
            for j in 0..tiles {
                tile::<S, FUSED>(left, four(second + j * SIDE, from, to), &mut into[i][j]);
            }
        }
        from = to;
    }
}

vectorised! {
    /// See [`crate::Device::pair_norms`].
    pub(super) fn pair_norms<S>(
        sequences: Sequences, inputs: &[Rows<'_, Vec<S>>], one: bool, gradients: &[Rows<'_, Vec<S>>], unit: f64, sums: &mut [f64],
    ) {
        let steps = sequences.steps;
        let error = Rounding::new(unit).pairs(depth_of_tiles(inputs), depth_of_tiles(gradients), steps);
        let constant = if one { S::ONE } else { S::ZERO };
        for (example, sum) in sums.iter_mut().enumerate().take(sequences.examples) {
            let (mut total, mut lengths) = (0.0, 0.0);
            for first in (0..steps).step_by(BLOCK) {
                for second in (0..=first).step_by(BLOCK) {
                    let mut left: Block<S> = [[[[constant; SIDE]; SIDE]; BLOCK / SIDE]; BLOCK / SIDE];
                    let mut right: Block<S> = [[[[S::ZERO; SIDE]; SIDE]; BLOCK / SIDE]; BLOCK / SIDE];
                    for input in inputs {
                        block::<S, FUSED>(&Steps::new(&sequences, input, example), steps, first, second, &mut left);
                    }
                    for gradient in gradients {
                        block::<S, FUSED>(&Steps::new(&sequences, gradient, example), steps, first, second, &mut right);
                    }
                    total += block_total(steps - first, first == second, &left, &right);
                    if first == second {
                        lengths += block_lengths(steps - first, &left, &right);
                    }
                }
            }
            *sum += total + error * lengths * lengths;
        }
    }
}

/// Σ left∘right over the `rows` first rows of a block, each pair of steps in both orders.
#[inline(always)]
fn block_total<S: Scalar>(rows: usize, diagonal: bool, left: &Block<S>, right: &Block<S>) -> f64 {
    let mut total = 0.0;
    for i in 0..rows.min(BLOCK).div_ceil(SIDE) {
        let tiles = if diagonal { i + 1 } else { BLOCK / SIDE };
        for j in 0..tiles {
            let height = (rows - i * SIDE).min(SIDE);
            // Below the diagonal the other block's steps are all there.
            let breadth = if diagonal {
                (rows - j * SIDE).min(SIDE)
            } else {
                SIDE
            };
            let mut part = 0.0;
            for k in 0..height {
                for l in 0..breadth {
                    part += left[i][j][k][l].to_f64() * right[i][j][k][l].to_f64();
                }
            }
            // A tile on the diagonal holds both orders of its pairs.
            total += if diagonal && i == j { part } else { 2.0 * part };
        }
    }
    total
}

/// Σ √(left·right) over the `rows` first steps of a block on the diagonal: the lengths of its steps.
#[inline(always)]
fn block_lengths<S: Scalar>(rows: usize, left: &Block<S>, right: &Block<S>) -> f64 {
    let product = |step: usize| {
        let (tile, place) = (step / SIDE, step % SIDE);
        let of = |block: &Block<S>| block[tile][tile][place][place].to_f64() + TINY;
        (of(left) * of(right)).sqrt()
    };
    (0..rows.min(BLOCK)).map(product).sum()
}

/// The computed length of a row, a little more.
#[inline(always)]
fn length<S: Scalar>(row: &[S]) -> f64 {
    (sum(row, |x| x * x).to_f64() + TINY).sqrt()
}

vectorised! {
    /// See [`crate::Device::square_norms`].
    pub(super) fn square_norms<S>(sequences: Sequences, rows: Rows<'_, Vec<S>>, unit: f64, sums: &mut [f64]) {
        let factor = Rounding::new(unit).squares(depth(rows.width), sequences.steps);
        for row in 0..sequences.rows() {
            let values = &rows.buffer[rows.start + row * rows.stride..][..rows.width];
            sums[sequences.example(row)] += (sum(values, |x| x * x).to_f64() + TINY) * factor;
        }
    }
}

vectorised! {
    /// See [`crate::Device::token_norms`].
    pub(super) fn token_norms<S>(sequences: Sequences, tokens: &[u32], gradient: Rows<'_, Vec<S>>, unit: f64, sums: &mut [f64]) {
        // The other factor of each pair is 1, which is exact.
        let error = Rounding::new(unit).pairs(depth(gradient.width), 0, sequences.steps);
        let mut lengths = vec![0.0; sequences.steps];
        for (example, sum) in sums.iter_mut().enumerate().take(sequences.examples) {
            let steps = Steps::new(&sequences, &gradient, example);
            let token = |step: usize| tokens[sequences.row(example, step)];
            let (mut total, mut bound) = (0.0, 0.0);
            for first in 0..sequences.steps {
                let row = steps.at(first);
                let square = sum_pairs(row, row, |x, y| x * y).to_f64();
                lengths[first] = (square + TINY).sqrt();
                // Of all steps up to this one with its token.
                let mut others = 0.5 * lengths[first];
                total += square;
                for second in 0..first {
                    if token(first) == token(second) {
                        total += 2.0 * sum_pairs(row, steps.at(second), |x, y| x * y).to_f64();
                        others += lengths[second];
                    }
                }
                bound += 2.0 * lengths[first] * others;
            }
            *sum += total + error * bound;
        }
    }
}

vectorised! {
    /// See [`crate::Device::tied_norms`].
    pub(super) fn tied_norms<S>(
        sequences: Sequences, tokens: &[u32], embedded: Rows<'_, Vec<S>>, input: Rows<'_, Vec<S>>, logits: Rows<'_, Vec<S>>,
        unit: f64, sums: &mut [f64],
    ) {
        // The other factor of each pair is a logit, which is exact.
        let error = Rounding::new(unit).pairs(depth(embedded.width), 0, sequences.steps);
        let (mut heights, mut lengths) = (vec![0.0; sequences.steps], vec![0.0; sequences.steps]);
        for (example, sum) in sums.iter_mut().enumerate().take(sequences.examples) {
            let embedded = Steps::new(&sequences, &embedded, example);
            let input = Steps::new(&sequences, &input, example);
            let logits = Steps::new(&sequences, &logits, example);
            let last = sequences.steps.saturating_sub(1);
            for step in 0..sequences.steps {
                (heights[step], lengths[step]) = (length(embedded.at(step)), length(input.at(step)));
            }
            let (mut total, mut bound) = (0.0, 0.0);
            for first in (0..sequences.steps).step_by(SIDE) {
                for second in (0..sequences.steps).step_by(SIDE) {
                    let mut products = [[S::ZERO; SIDE]; SIDE];
                    let left = |k: usize| embedded.at((first + k).min(last));
                    let right = |k: usize| input.at((second + k).min(last));
                    let (left, right) = ([left(0), left(1), left(2), left(3)], [right(0), right(1), right(2), right(3)]);
                    tile::<S, FUSED>(left, right, &mut products);
                    for k in 0..SIDE.min(sequences.steps - first) {
                        let token = tokens[sequences.row(example, first + k)] as usize;
                        for l in 0..SIDE.min(sequences.steps - second) {
                            let logit = logits.at(second + l)[token].to_f64();
                            total += 2.0 * products[k][l].to_f64() * logit;
                            bound += 2.0 * heights[first + k] * lengths[second + l] * logit.abs();
                        }
                    }
                }
            }
            *sum += total + error * bound;
        }
    }
}

/// See [`crate::Device::product_norms`].
pub(super) fn product_norms<S: Scalar>(
    sequences: Sequences,
    input: Rows<'_, Vec<S>>,
    one: bool,
    gradient: Rows<'_, Vec<S>>,
    unit: f64,
    scratch: &mut Vec<S>,
    sums: &mut [f64],
) {
    let (height, width, steps) = (input.width, gradient.width, sequences.steps);
    let rounding = Rounding::new(unit);
    let squared = rounding.squares(depth(width), height).sqrt();
    // No order of adding within one product is relied on.
    let at_once = steps.min(STEPS_AT_ONCE) + steps.div_ceil(STEPS_AT_ONCE) + 2;
    let error = rounding.products(at_once, depth(height.max(width)));
    let error_of_total = rounding.products(steps + 2, depth(width));
    scratch.resize((height + 1) * width, S::ZERO);
    let (product, total) = scratch.split_at_mut(height * width);
    for (example, sum) in sums.iter_mut().enumerate().take(sequences.examples) {
        let left = Steps::new(&sequences, &input, example);
        let right = Steps::new(&sequences, &gradient, example);
        if steps == 0 {
            continue;
        }
        for first in (0..steps).step_by(STEPS_AT_ONCE) {
            let (a, b) = (
                Operand(&left.values[first * left.step..], 1, left.step),
                Operand(&right.values[first * right.step..], right.step, 1),
            );
            let beta = if first == 0 { S::ZERO } else { S::ONE };
            let inner = STEPS_AT_ONCE.min(steps - first);
            multiply(height, inner, width, S::ONE, a, b, beta, product, width);
        }
        let (mut lengths, mut lengths_of_total) = (0.0, 0.0);
        for step in 0..steps {
            let (before, after) = step_lengths(left.at(step), right.at(step));
            lengths += before * after;
            lengths_of_total += after;
        }
        let norm = (squares(product, width) + TINY).sqrt() * squared + error * lengths;
        *sum += norm * norm;
        if one {
            total.fill(S::ZERO);
            for step in 0..steps {
                super::pointwise::axpy(S::ONE, right.at(step), total);
            }
            let norm = (squares(total, width) + TINY).sqrt() * squared + error_of_total * lengths_of_total;
            *sum += norm * norm;
        }
    }
}

vectorised! {
    /// The lengths of an input and of a gradient.
    fn step_lengths<S>(input: &[S], gradient: &[S]) -> (f64, f64) {
        (length(input), length(gradient))
    }
}

vectorised! {
    /// The sum of squares, row after row into `f64`.
    fn squares<S>(values: &[S], width: usize) -> f64 {
        values.chunks(width.max(1)).map(|row| sum(row, |x| x * x).to_f64()).sum()
    }
}

#[cfg(test)]
mod tests;
