//! This machine's processor, on one thread.

mod cells;
mod gram;
mod grid;
mod lanes;
mod matrix;
mod norms;
pub mod one_row;
mod pointwise;
mod rows;
mod sums;
#[cfg(test)]
mod tests;

pub(crate) use matrix::Multiply;

use crate::{
    Activation, Adam, Device, Mask, Matrix, MatrixMut, Momentum, Numbers, Product, Rows, Scalar, Sequences,
    Span, SpanMut,
};
use matrix::{Operand, multiply};
use std::cell::RefCell;

/// The processor, computing in `S`.
#[derive(Debug, Default)]
pub struct Cpu<S> {
    /// Memory for kernels that need some, kept between calls.
    scratch: RefCell<Vec<S>>,
}

impl<S: Scalar> Cpu<S> {
    /// The processor that this program runs on.
    pub fn new() -> Self {
        Self {
            scratch: RefCell::new(Vec::new()),
        }
    }
}

// Each clone has memory of its own, so that clones work on different threads.
impl<S: Scalar> Clone for Cpu<S> {
    fn clone(&self) -> Self {
        Self::new()
    }
}

fn part<S>(span: Span<'_, Vec<S>>, len: usize) -> &[S] {
    &span.buffer[span.start..][..len]
}

fn part_mut<S>(span: SpanMut<'_, Vec<S>>, len: usize) -> &mut [S] {
    &mut span.buffer[span.start..][..len]
}

fn optional<S>(span: Option<Span<'_, Vec<S>>>, len: usize) -> &[S] {
    span.map_or(&[], |span| part(span, len))
}

/// What one step reads and what it writes, in one vector; they do not overlap.
fn last_and_next<S>(buffer: &mut [S], last: usize, next: usize, len: usize) -> (&[S], &mut [S]) {
    assert!(last.abs_diff(next) >= len, "a step would overwrite what it reads");
    if last < next {
        let (left, right) = buffer.split_at_mut(next);
        (&left[last..][..len], &mut right[..len])
    } else {
        let (left, right) = buffer.split_at_mut(last);
        (&right[..len], &mut left[next..][..len])
    }
}

/// A device for one scalar. Written out for each, and not generic: then kernels are built with this crate, for speed, and not with whatever crate calls them.
macro_rules! device_of {
    ($module:ident, $scalar:ty) => {
        mod $module {
            use super::*;

            type S = $scalar;

            impl Device for Cpu<S> {
                type Scalar = S;
                type Buffer = Vec<S>;
                type Indices = Vec<u32>;
                type Sums = Vec<f64>;
                type Integers = Vec<i64>;

                fn zeros(&self, len: usize) -> Vec<S> {
                    vec![S::ZERO; len]
                }

                fn upload(&self, values: &[S]) -> Vec<S> {
                    values.to_vec()
                }

                fn write(&self, values: &[S], into: &mut Vec<S>) {
                    into[..values.len()].copy_from_slice(values);
                }

                fn download(&self, buffer: &Vec<S>) -> Vec<S> {
                    buffer.clone()
                }

                fn download_span(&self, from: Span<'_, Vec<S>>, len: usize) -> Vec<S> {
                    part(from, len).to_vec()
                }

                fn len(&self, buffer: &Vec<S>) -> usize {
                    buffer.len()
                }

                fn clear(&self, buffer: &mut Vec<S>) {
                    buffer.fill(S::ZERO);
                }

                fn clear_span(&self, span: SpanMut<'_, Vec<S>>, len: usize) {
                    part_mut(span, len).fill(S::ZERO);
                }

                fn copy(&self, from: Span<'_, Vec<S>>, to: SpanMut<'_, Vec<S>>, len: usize) {
                    part_mut(to, len).copy_from_slice(part(from, len));
                }

                fn add(&self, from: Span<'_, Vec<S>>, to: SpanMut<'_, Vec<S>>, len: usize) {
                    pointwise::axpy(S::ONE, part(from, len), part_mut(to, len));
                }

                fn indices(&self, len: usize) -> Vec<u32> {
                    vec![0; len]
                }

                fn write_indices(&self, values: &[u32], into: &mut Vec<u32>) {
                    into[..values.len()].copy_from_slice(values);
                }

                fn indices_len(&self, indices: &Vec<u32>) -> usize {
                    indices.len()
                }

                fn sums(&self, len: usize) -> Vec<f64> {
                    vec![0.0; len]
                }

                fn clear_sums(&self, sums: &mut Vec<f64>, len: usize) {
                    sums[..len].fill(0.0);
                }

                fn download_sums(&self, sums: &Vec<f64>, len: usize) -> Vec<f64> {
                    sums[..len].to_vec()
                }

                fn gemm(
                    &self,
                    product: Product,
                    alpha: f64,
                    a: Matrix<'_, Vec<S>>,
                    b: Matrix<'_, Vec<S>>,
                    beta: f64,
                    c: MatrixMut<'_, Vec<S>>,
                ) {
                    let Product {
                        count,
                        rows,
                        columns,
                        inner,
                    } = product;
                    if rows == 0 || columns == 0 {
                        return;
                    }
                    let reach = (rows - 1) * c.row + columns;
                    assert!(
                        count <= 1 || c.batch >= reach,
                        "products of a batch overlap"
                    );
                    let (alpha, beta) = (S::from_f64(alpha), S::from_f64(beta));
                    for number in 0..count {
                        let left = Operand(&a.buffer[a.start + number * a.batch..], a.row, a.column);
                        let right = Operand(&b.buffer[b.start + number * b.batch..], b.row, b.column);
                        let into = &mut c.buffer[c.start + number * c.batch..];
                        multiply(rows, inner, columns, alpha, left, right, beta, into, c.row);
                    }
                }

                fn gather(
                    &self,
                    rows: usize,
                    width: usize,
                    tokens: &Vec<u32>,
                    table: Span<'_, Vec<S>>,
                    add: bool,
                    output: &mut Vec<S>,
                ) {
                    let table = &table.buffer[table.start..];
                    pointwise::gather(
                        width,
                        &tokens[..rows],
                        table,
                        add,
                        &mut output[..rows * width],
                    );
                }

                fn scatter_add(
                    &self,
                    sequences: Sequences,
                    weights: &Vec<S>,
                    tokens: &Vec<u32>,
                    rows: Rows<'_, Vec<S>>,
                    table: SpanMut<'_, Vec<S>>,
                ) {
                    pointwise::scatter_add(
                        sequences,
                        weights,
                        tokens,
                        rows,
                        &mut table.buffer[table.start..],
                    );
                }

                fn add_bias(&self, rows: usize, width: usize, bias: Span<'_, Vec<S>>, values: &mut Vec<S>) {
                    pointwise::add_bias(part(bias, width), &mut values[..rows * width]);
                }

                fn spread(
                    &self,
                    rows: usize,
                    width: usize,
                    bias: Option<Span<'_, Vec<S>>>,
                    from: Option<&Vec<S>>,
                    output: &mut Vec<S>,
                ) {
                    let output = &mut output[..rows * width];
                    match from {
                        Some(from) => output.copy_from_slice(&from[..rows * width]),
                        None => output.fill(S::ZERO),
                    }
                    if let Some(bias) = bias {
                        pointwise::add_bias(part(bias, width), output);
                    }
                }

                fn activate(
                    &self,
                    activation: Activation,
                    rows: usize,
                    width: usize,
                    bias: Option<Span<'_, Vec<S>>>,
                    values: &mut Vec<S>,
                    output: &mut Vec<S>,
                ) {
                    let values = &mut values[..rows * width];
                    if let Some(bias) = bias {
                        pointwise::add_bias(part(bias, width), values);
                    }
                    pointwise::activate(activation, values, &mut output[..rows * width]);
                }

                fn activate_backward(
                    &self,
                    activation: Activation,
                    len: usize,
                    gradient: &Vec<S>,
                    values: &mut Vec<S>,
                ) {
                    pointwise::activate_backward(activation, &gradient[..len], &mut values[..len]);
                }

                fn dropout(
                    &self,
                    sequences: Sequences,
                    width: usize,
                    mask: Mask,
                    keys: &Vec<u32>,
                    values: &mut Vec<S>,
                ) {
                    pointwise::dropout(
                        sequences,
                        width,
                        mask,
                        keys,
                        &mut values[..sequences.rows() * width],
                    );
                }

                fn lstm_forward(
                    &self,
                    examples: usize,
                    hidden: usize,
                    bias: Span<'_, Vec<S>>,
                    gates: SpanMut<'_, Vec<S>>,
                    cells: &mut Vec<S>,
                    last: usize,
                    next: usize,
                    states: SpanMut<'_, Vec<S>>,
                ) {
                    let len = examples * hidden;
                    let (last, next) = last_and_next(cells, last, next, len);
                    let bias = part(bias, 4 * hidden);
                    cells::lstm_forward(
                        hidden,
                        bias,
                        part_mut(gates, 4 * len),
                        last,
                        next,
                        part_mut(states, len),
                    );
                }

                fn lstm_backward(
                    &self,
                    examples: usize,
                    hidden: usize,
                    gates: SpanMut<'_, Vec<S>>,
                    cells: &Vec<S>,
                    last: usize,
                    next: usize,
                    state_gradient: Span<'_, Vec<S>>,
                    cell_gradient: &mut Vec<S>,
                ) {
                    let len = examples * hidden;
                    let (last, next) = (&cells[last..][..len], &cells[next..][..len]);
                    let gates = part_mut(gates, 4 * len);
                    cells::lstm_backward(
                        hidden,
                        gates,
                        last,
                        next,
                        part(state_gradient, len),
                        &mut cell_gradient[..len],
                    );
                }

                fn gru_forward(
                    &self,
                    examples: usize,
                    hidden: usize,
                    bias: Span<'_, Vec<S>>,
                    gates: SpanMut<'_, Vec<S>>,
                    states: &mut Vec<S>,
                    last: usize,
                    next: usize,
                ) {
                    let len = examples * hidden;
                    let (last, next) = last_and_next(states, last, next, len);
                    cells::gru_forward(
                        hidden,
                        part(bias, 4 * hidden),
                        part_mut(gates, 4 * len),
                        last,
                        next,
                    );
                }

                fn gru_backward(
                    &self,
                    examples: usize,
                    hidden: usize,
                    gates: SpanMut<'_, Vec<S>>,
                    states: &Vec<S>,
                    last: usize,
                    state_gradient: Span<'_, Vec<S>>,
                    last_gradient: &mut Vec<S>,
                ) {
                    let len = examples * hidden;
                    let gates = part_mut(gates, 4 * len);
                    cells::gru_backward(
                        hidden,
                        gates,
                        &states[last..][..len],
                        part(state_gradient, len),
                        &mut last_gradient[..len],
                    );
                }

                fn normalize(
                    &self,
                    rows: usize,
                    width: usize,
                    epsilon: f64,
                    scale: Span<'_, Vec<S>>,
                    shift: Span<'_, Vec<S>>,
                    input: &Vec<S>,
                    output: &mut Vec<S>,
                    statistics: &mut Vec<S>,
                ) {
                    let len = rows * width;
                    let (scale, shift) = (part(scale, width), part(shift, width));
                    let statistics = &mut statistics[..2 * rows];
                    rows::normalize(
                        S::from_f64(epsilon),
                        scale,
                        shift,
                        &input[..len],
                        &mut output[..len],
                        statistics,
                    );
                }

                fn normalize_backward(
                    &self,
                    sequences: Sequences,
                    width: usize,
                    scale: Span<'_, Vec<S>>,
                    input: &Vec<S>,
                    statistics: &Vec<S>,
                    gradient: &Vec<S>,
                    residual: Option<&Vec<S>>,
                    input_gradient: &mut Vec<S>,
                    example_gradients: &mut Vec<S>,
                ) {
                    let residual = residual.map_or(&[][..], |residual| &residual[..]);
                    let example_gradients = &mut example_gradients[..sequences.examples * 2 * width];
                    let scale = part(scale, width);
                    rows::normalize_backward(
                        sequences,
                        scale,
                        input,
                        statistics,
                        gradient,
                        residual,
                        input_gradient,
                        example_gradients,
                    );
                }

                fn causal_softmax(&self, count: usize, steps: usize, factor: f64, scores: &mut Vec<S>) {
                    if steps > 0 {
                        rows::causal_softmax(
                            steps,
                            S::from_f64(factor),
                            &mut scores[..count * steps * steps],
                        );
                    }
                }

                fn causal_softmax_backward(
                    &self,
                    count: usize,
                    steps: usize,
                    factor: f64,
                    probabilities: &Vec<S>,
                    gradient: &mut Vec<S>,
                ) {
                    let len = count * steps * steps;
                    if steps > 0 {
                        rows::causal_softmax_backward(
                            steps,
                            S::from_f64(factor),
                            &probabilities[..len],
                            &mut gradient[..len],
                        );
                    }
                }

                fn cross_entropy(
                    &self,
                    rows: usize,
                    width: usize,
                    bias: Option<Span<'_, Vec<S>>>,
                    targets: &Vec<u32>,
                    scales: &Vec<S>,
                    gradient: bool,
                    logits: &mut Vec<S>,
                    losses: &mut Vec<S>,
                ) {
                    let (targets, scales, losses) = (&targets[..rows], &scales[..rows], &mut losses[..rows]);
                    let logits = &mut logits[..rows * width];
                    rows::cross_entropy(
                        width,
                        optional(bias, width),
                        targets,
                        scales,
                        gradient,
                        logits,
                        losses,
                    );
                }

                fn squared_error(
                    &self,
                    rows: usize,
                    width: usize,
                    bias: Option<Span<'_, Vec<S>>>,
                    targets: &Vec<S>,
                    values: &mut Vec<S>,
                    losses: &mut Vec<S>,
                ) {
                    let len = rows * width;
                    let (targets, values, losses) =
                        (&targets[..len], &mut values[..len], &mut losses[..rows]);
                    rows::squared_error(width, optional(bias, width), targets, values, losses);
                }

                // Both factors of a layer stay in the second cache.
                const ROWS_TOGETHER: usize = 96;

                fn choose_rows(
                    &self,
                    count: usize,
                    chosen: &Vec<u32>,
                    rows: Rows<'_, Vec<S>>,
                    output: &mut Vec<S>,
                ) {
                    pointwise::choose_rows(&chosen[..count], rows, output);
                }

                fn choose_tokens(
                    &self,
                    count: usize,
                    chosen: &Vec<u32>,
                    tokens: &Vec<u32>,
                    output: &mut Vec<u32>,
                ) {
                    for (output, &row) in output.iter_mut().zip(&chosen[..count]) {
                        *output = if row == u32::MAX {
                            0
                        } else {
                            tokens[row as usize]
                        };
                    }
                }

                fn square_norms(&self, sequences: Sequences, rows: Rows<'_, Vec<S>>, sums: &mut Vec<f64>) {
                    norms::square_norms(sequences, rows, S::ROUNDING, sums);
                }

                fn pair_norms(
                    &self,
                    sequences: Sequences,
                    inputs: &[Rows<'_, Vec<S>>],
                    one: bool,
                    gradients: &[Rows<'_, Vec<S>>],
                    sums: &mut Vec<f64>,
                ) {
                    norms::pair_norms(sequences, inputs, one, gradients, S::ROUNDING, sums);
                }

                fn product_norms(
                    &self,
                    sequences: Sequences,
                    input: Rows<'_, Vec<S>>,
                    one: bool,
                    gradient: Rows<'_, Vec<S>>,
                    sums: &mut Vec<f64>,
                ) {
                    norms::product_norms(
                        sequences,
                        input,
                        one,
                        gradient,
                        S::ROUNDING,
                        &mut self.scratch.borrow_mut(),
                        sums,
                    );
                }

                fn token_norms(
                    &self,
                    sequences: Sequences,
                    tokens: &Vec<u32>,
                    gradient: Rows<'_, Vec<S>>,
                    sums: &mut Vec<f64>,
                ) {
                    norms::token_norms(sequences, tokens, gradient, S::ROUNDING, sums);
                }

                fn tied_norms(
                    &self,
                    sequences: Sequences,
                    tokens: &Vec<u32>,
                    embedded: Rows<'_, Vec<S>>,
                    input: Rows<'_, Vec<S>>,
                    logits: Rows<'_, Vec<S>>,
                    sums: &mut Vec<f64>,
                ) {
                    norms::tied_norms(
                        sequences,
                        tokens,
                        embedded,
                        input,
                        logits,
                        S::ROUNDING,
                        sums,
                    );
                }

                fn weighted_product(
                    &self,
                    sequences: Sequences,
                    weights: &Vec<S>,
                    input: Rows<'_, Vec<S>>,
                    gradient: Rows<'_, Vec<S>>,
                    into: SpanMut<'_, Vec<S>>,
                    stride: usize,
                    bias: Option<usize>,
                ) {
                    if let Some(start) = bias {
                        sums::weighted_sum(
                            sequences,
                            weights,
                            gradient,
                            &mut into.buffer[start..][..gradient.width],
                        );
                    }
                    let scratch = &mut self.scratch.borrow_mut();
                    sums::weighted_product(
                        sequences,
                        weights,
                        input,
                        gradient,
                        scratch,
                        &mut into.buffer[into.start..],
                        stride,
                    );
                }

                fn weighted_sum(
                    &self,
                    sequences: Sequences,
                    weights: &Vec<S>,
                    rows: Rows<'_, Vec<S>>,
                    into: SpanMut<'_, Vec<S>>,
                ) {
                    sums::weighted_sum(sequences, weights, rows, part_mut(into, rows.width));
                }

                fn integers(&self, len: usize) -> Vec<i64> {
                    vec![0; len]
                }

                fn integers_len(&self, integers: &Vec<i64>) -> usize {
                    integers.len()
                }

                fn write_integers(&self, values: &[i64], start: usize, into: &mut Vec<i64>) {
                    into[start..start + values.len()].copy_from_slice(values);
                }

                fn read_integers(&self, from: &Vec<i64>, start: usize, len: usize) -> Vec<i64> {
                    from[start..start + len].to_vec()
                }

                fn numbers<'a>(&'a self, integers: &'a mut Vec<i64>) -> Numbers<'a> {
                    Numbers::Here(integers)
                }

                fn put_on_grid(&self, scale: f64, values: &Vec<S>, integers: &mut Vec<i64>) {
                    grid::to_grid(scale, values, &mut integers[..values.len()]);
                }

                fn take_off_grid(&self, unit: f64, integers: &Vec<i64>, values: &mut Vec<S>) {
                    grid::from_grid(unit, &integers[..values.len()], values);
                }

                fn axpy(&self, alpha: f64, x: &Vec<S>, y: &mut Vec<S>) {
                    assert_eq!(x.len(), y.len(), "vectors of different lengths");
                    pointwise::axpy(S::from_f64(alpha), x, y);
                }

                fn adam(
                    &self,
                    step: Adam,
                    gradient: &Vec<S>,
                    parameters: &mut Vec<S>,
                    first: &mut Vec<S>,
                    second: &mut Vec<S>,
                ) {
                    let len = parameters.len();
                    assert!(
                        gradient.len() == len && first.len() == len && second.len() == len,
                        "vectors of different lengths"
                    );
                    pointwise::adam(step, gradient, parameters, first, second);
                }

                fn momentum(
                    &self,
                    step: Momentum,
                    gradient: &Vec<S>,
                    parameters: &mut Vec<S>,
                    velocity: &mut Vec<S>,
                ) {
                    let len = parameters.len();
                    assert!(
                        gradient.len() == len && velocity.len() == len,
                        "vectors of different lengths"
                    );
                    pointwise::momentum(step, gradient, parameters, velocity);
                }
            }
        }
    };
}

device_of!(single, f32);
device_of!(double, f64);
