//! An NVIDIA GPU.
//!
//! Nothing of CUDA is needed to build this. Libraries are opened when a GPU is asked for: the driver, NVRTC, which compiles `cuda/kernels.cu` for the GPU at hand, and
//! cuBLAS for products of matrices.
//!
//! Work is queued on one stream and nobody waits for it but those who read results. Kernels do not use atomics, so that the same work gives the same bits on the
//! same machine.
//!
//! # Exactness
//!
//! A gradient is Σ_t a_t ⊗ g_t over inputs a and gradients of outputs g. Products that make a and g may be rounded ([`Products::Rounded`], TF32): that changes, as other starting values do,
//! which gradient is computed, to about three digits. Its norm and its place in the sum are then made from these same a and g in full `f32`, with sums over
//! pairs of steps in `f64`: what bounds one example's part of a sum is as exact as on the processor, whatever made a and g.

mod error;
mod launch;
mod norms;
mod open;
mod product;
mod vector;

pub use error::CudaError;
pub use product::Products;
pub use vector::{Pinned, Vector};

use crate::{
    Activation, Adam, Device, Mask, Matrix, MatrixMut, Momentum, Order, Product, Rows, Sequences, Span,
    SpanMut,
};
use launch::arguments;
use norms::{address, steps};
use open::{Gpu, Work};
use product::{Factor, Into};
use std::sync::Arc;
use vector::done;

type Numbers = Vector<f32>;

/// An NVIDIA GPU, computing in `f32`. Clones share it.
#[derive(Clone)]
pub struct Cuda {
    gpu: Arc<Gpu>,
    products: Products,
}

impl std::fmt::Debug for Cuda {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Cuda({})", self.name())
    }
}

impl Cuda {
    /// The first GPU, with rounded products of activations.
    pub fn new() -> Result<Self, CudaError> {
        Self::open(0, Products::Rounded)
    }

    /// The GPU of this number.
    pub fn open(number: usize, products: Products) -> Result<Self, CudaError> {
        Ok(Self {
            gpu: Arc::new(Gpu::open(number)?),
            products,
        })
    }

    /// What it is called.
    pub fn name(&self) -> String {
        self.gpu
            .context
            .name()
            .unwrap_or_else(|_| "an NVIDIA GPU".to_owned())
    }

    /// Bytes of its memory that are in use, by this program and by others.
    pub fn memory_in_use(&self) -> usize {
        let (free, total) = done(self.gpu.context.mem_get_info());
        total - free
    }

    /// Waits until all work is done.
    pub fn synchronize(&self) {
        done(self.gpu.stream.synchronize());
    }
}

fn optional(span: Option<Span<'_, Numbers>>, len: usize) -> u64 {
    span.map_or(0, |span| span.buffer.at(span.start, len))
}

fn factor(matrix: Matrix<'_, Numbers>) -> Factor<'_> {
    Factor {
        vector: matrix.buffer,
        start: matrix.start,
        row: matrix.row,
        column: matrix.column,
        batch: matrix.batch,
    }
}

fn kind(activation: Activation) -> usize {
    match activation {
        Activation::Gelu => 0,
        Activation::Relu => 1,
        Activation::Tanh => 2,
    }
}

impl Device for Cuda {
    type Scalar = f32;
    type Buffer = Numbers;
    type Indices = Vector<u32>;
    type Sums = Vector<f64>;
    type Integers = Pinned;

    fn zeros(&self, len: usize) -> Numbers {
        self.gpu.zeros(len)
    }

    fn upload(&self, values: &[f32]) -> Numbers {
        let mut vector = self.gpu.zeros(values.len());
        self.gpu.write(values, &mut vector);
        vector
    }

    fn write(&self, values: &[f32], into: &mut Numbers) {
        self.gpu.write(values, into);
    }

    fn download(&self, buffer: &Numbers) -> Vec<f32> {
        self.gpu.read(buffer, 0..buffer.len())
    }

    fn download_span(&self, from: Span<'_, Numbers>, len: usize) -> Vec<f32> {
        self.gpu.read(from.buffer, from.start..from.start + len)
    }

    fn len(&self, buffer: &Numbers) -> usize {
        buffer.len()
    }

    fn clear(&self, buffer: &mut Numbers) {
        let len = buffer.len();
        self.gpu.clear(buffer, 0..len);
    }

    fn clear_span(&self, span: SpanMut<'_, Numbers>, len: usize) {
        self.gpu.clear(span.buffer, span.start..span.start + len);
    }

    fn copy(&self, from: Span<'_, Numbers>, to: SpanMut<'_, Numbers>, len: usize) {
        self.gpu.copy(from.buffer, from.start, to.buffer, to.start, len);
    }

    fn add(&self, from: Span<'_, Numbers>, to: SpanMut<'_, Numbers>, len: usize) {
        let (from, to) = (from.buffer.at(from.start, len), to.buffer.at(to.start, len));
        self.gpu.over("axpy", len, arguments![len, 1.0f32, from, to]);
    }

    fn indices(&self, len: usize) -> Vector<u32> {
        self.gpu.zeros(len)
    }

    fn write_indices(&self, values: &[u32], into: &mut Vector<u32>) {
        self.gpu.write(values, into);
    }

    fn indices_len(&self, indices: &Vector<u32>) -> usize {
        indices.len()
    }

    fn sums(&self, len: usize) -> Vector<f64> {
        self.gpu.zeros(len)
    }

    fn clear_sums(&self, sums: &mut Vector<f64>, len: usize) {
        self.gpu.clear(sums, 0..len);
    }

    fn download_sums(&self, sums: &Vector<f64>, len: usize) -> Vec<f64> {
        self.gpu.read(sums, 0..len)
    }

    fn gemm(
        &self,
        product: Product,
        alpha: f64,
        a: Matrix<'_, Numbers>,
        b: Matrix<'_, Numbers>,
        beta: f64,
        c: MatrixMut<'_, Numbers>,
    ) {
        let into = Into {
            vector: c.buffer,
            start: c.start,
            row: c.row,
            batch: c.batch,
        };
        let Work { blas, .. } = &*self.gpu.work();
        let (alpha, beta) = (alpha as f32, beta as f32);
        self.gpu.multiply(
            blas,
            self.products,
            product,
            alpha,
            factor(a),
            factor(b),
            beta,
            into,
        );
    }

    fn gather(
        &self,
        rows: usize,
        width: usize,
        tokens: &Vector<u32>,
        table: Span<'_, Numbers>,
        add: bool,
        output: &mut Numbers,
    ) {
        let room = table.buffer.len() - table.start;
        let (tokens, output) = (tokens.at(0, rows), output.at(0, rows * width));
        let table = table.buffer.at(table.start, room);
        self.gpu.over_rows(
            "gather",
            rows,
            width,
            arguments![width, tokens, table, room, add, output],
        );
    }

    fn scatter_add(
        &self,
        sequences: Sequences,
        weights: &Numbers,
        tokens: &Vector<u32>,
        rows: Rows<'_, Numbers>,
        table: SpanMut<'_, Numbers>,
    ) {
        let room = table.buffer.len() - table.start;
        let weights = weights.at(0, sequences.examples);
        let tokens = tokens.at(0, sequences.rows());
        let values = address(&sequences, &rows);
        let table = table.buffer.at(table.start, room);
        self.gpu.launch(
            "scatter_add",
            (sequences.rows(), 1),
            steps![
                sequences,
                weights,
                tokens,
                values,
                rows.stride,
                rows.width,
                table,
                room
            ],
        );
    }

    fn add_bias(&self, rows: usize, width: usize, bias: Span<'_, Numbers>, values: &mut Numbers) {
        let (bias, values) = (bias.buffer.at(bias.start, width), values.at(0, rows * width));
        self.gpu
            .over_rows("add_bias", rows, width, arguments![width, bias, values]);
    }

    fn activate(
        &self,
        activation: Activation,
        rows: usize,
        width: usize,
        bias: Option<Span<'_, Numbers>>,
        values: &mut Numbers,
        output: &mut Numbers,
    ) {
        let bias = optional(bias, width);
        let (values, output) = (values.at(0, rows * width), output.at(0, rows * width));
        self.gpu.over_rows(
            "activate",
            rows,
            width,
            arguments![kind(activation), width, bias, values, output],
        );
    }

    fn activate_backward(
        &self,
        activation: Activation,
        len: usize,
        gradient: &Numbers,
        values: &mut Numbers,
    ) {
        let (gradient, values) = (gradient.at(0, len), values.at(0, len));
        self.gpu.over(
            "activate_backward",
            len,
            arguments![kind(activation), len, gradient, values],
        );
    }

    fn dropout(
        &self,
        sequences: Sequences,
        width: usize,
        mask: Mask,
        keys: &Vector<u32>,
        values: &mut Numbers,
    ) {
        let rows = sequences.rows();
        let (keys, values) = (keys.at(0, sequences.examples), values.at(0, rows * width));
        let factor = (1.0 / mask.keep) as f32;
        self.gpu.over_rows(
            "dropout",
            rows,
            width,
            steps![
                sequences,
                width,
                mask.seed,
                mask.threshold(),
                factor,
                keys,
                values
            ],
        );
    }

    fn lstm_forward(
        &self,
        examples: usize,
        hidden: usize,
        bias: Span<'_, Numbers>,
        gates: SpanMut<'_, Numbers>,
        cells: &mut Numbers,
        last: usize,
        next: usize,
        states: SpanMut<'_, Numbers>,
    ) {
        let len = examples * hidden;
        assert!(last.abs_diff(next) >= len, "a step would overwrite what it reads");
        let (last, next) = (cells.at(last, len), cells.at(next, len));
        let bias = bias.buffer.at(bias.start, 4 * hidden);
        let gates = gates.buffer.at(gates.start, 4 * len);
        let states = states.buffer.at(states.start, len);
        self.gpu.over_rows(
            "lstm_forward",
            examples,
            hidden,
            arguments![hidden, bias, gates, last, next, states],
        );
    }

    fn lstm_backward(
        &self,
        examples: usize,
        hidden: usize,
        gates: SpanMut<'_, Numbers>,
        cells: &Numbers,
        last: usize,
        next: usize,
        state_gradient: Span<'_, Numbers>,
        cell_gradient: &mut Numbers,
    ) {
        let len = examples * hidden;
        let (last, next) = (cells.at(last, len), cells.at(next, len));
        let gates = gates.buffer.at(gates.start, 4 * len);
        let state_gradient = state_gradient.buffer.at(state_gradient.start, len);
        let cell_gradient = cell_gradient.at(0, len);
        self.gpu.over_rows(
            "lstm_backward",
            examples,
            hidden,
            arguments![hidden, gates, last, next, state_gradient, cell_gradient],
        );
    }

    fn gru_forward(
        &self,
        examples: usize,
        hidden: usize,
        bias: Span<'_, Numbers>,
        gates: SpanMut<'_, Numbers>,
        states: &mut Numbers,
        last: usize,
        next: usize,
    ) {
        let len = examples * hidden;
        assert!(last.abs_diff(next) >= len, "a step would overwrite what it reads");
        let (last, next) = (states.at(last, len), states.at(next, len));
        let bias = bias.buffer.at(bias.start, 4 * hidden);
        let gates = gates.buffer.at(gates.start, 4 * len);
        self.gpu.over_rows(
            "gru_forward",
            examples,
            hidden,
            arguments![hidden, bias, gates, last, next],
        );
    }

    fn gru_backward(
        &self,
        examples: usize,
        hidden: usize,
        gates: SpanMut<'_, Numbers>,
        states: &Numbers,
        last: usize,
        state_gradient: Span<'_, Numbers>,
        last_gradient: &mut Numbers,
    ) {
        let len = examples * hidden;
        let last = states.at(last, len);
        let gates = gates.buffer.at(gates.start, 4 * len);
        let state_gradient = state_gradient.buffer.at(state_gradient.start, len);
        let last_gradient = last_gradient.at(0, len);
        self.gpu.over_rows(
            "gru_backward",
            examples,
            hidden,
            arguments![hidden, gates, last, state_gradient, last_gradient],
        );
    }

    fn normalize(
        &self,
        rows: usize,
        width: usize,
        epsilon: f64,
        scale: Span<'_, Numbers>,
        shift: Span<'_, Numbers>,
        input: &Numbers,
        output: &mut Numbers,
        statistics: &mut Numbers,
    ) {
        let len = rows * width;
        let scale = scale.buffer.at(scale.start, width);
        let shift = shift.buffer.at(shift.start, width);
        let (input, output) = (input.at(0, len), output.at(0, len));
        let statistics = statistics.at(0, 2 * rows);
        self.gpu.launch(
            "normalize",
            (rows, 1),
            arguments![width, epsilon as f32, scale, shift, input, output, statistics],
        );
    }

    fn normalize_backward(
        &self,
        sequences: Sequences,
        width: usize,
        scale: Span<'_, Numbers>,
        input: &Numbers,
        statistics: &Numbers,
        gradient: &Numbers,
        residual: Option<&Numbers>,
        input_gradient: &mut Numbers,
        example_gradients: &mut Numbers,
    ) {
        let (rows, len) = (sequences.rows(), sequences.rows() * width);
        let scale = scale.buffer.at(scale.start, width);
        let (input, statistics) = (input.at(0, len), statistics.at(0, 2 * rows));
        let gradient = gradient.at(0, len);
        let residual = residual.map_or(0, |residual| residual.at(0, len));
        let input_gradient = input_gradient.at(0, len);
        let example_gradients = example_gradients.at(0, sequences.examples * 2 * width);
        self.gpu.launch(
            "normalize_backward",
            (rows, 1),
            arguments![
                width,
                scale,
                input,
                statistics,
                gradient,
                residual,
                input_gradient
            ],
        );
        self.gpu.over_rows(
            "normalize_examples",
            sequences.examples,
            width,
            steps![sequences, width, input, statistics, gradient, example_gradients],
        );
    }

    fn causal_softmax(&self, count: usize, steps: usize, factor: f64, scores: &mut Numbers) {
        let scores = scores.at(0, count * steps * steps);
        self.gpu.launch(
            "causal_softmax",
            ((count * steps).div_ceil(launch::THREADS / 32), 1),
            arguments![count, steps, factor as f32, scores],
        );
    }

    fn causal_softmax_backward(
        &self,
        count: usize,
        steps: usize,
        factor: f64,
        probabilities: &Numbers,
        gradient: &mut Numbers,
    ) {
        let len = count * steps * steps;
        let (probabilities, gradient) = (probabilities.at(0, len), gradient.at(0, len));
        self.gpu.launch(
            "causal_softmax_backward",
            ((count * steps).div_ceil(launch::THREADS / 32), 1),
            arguments![count, steps, factor as f32, probabilities, gradient],
        );
    }

    fn cross_entropy(
        &self,
        rows: usize,
        width: usize,
        bias: Option<Span<'_, Numbers>>,
        targets: &Vector<u32>,
        scales: &Numbers,
        gradient: bool,
        logits: &mut Numbers,
        losses: &mut Numbers,
    ) {
        let bias = optional(bias, width);
        let (targets, scales) = (targets.at(0, rows), scales.at(0, rows));
        let (logits, losses) = (logits.at(0, rows * width), losses.at(0, rows));
        self.gpu.launch(
            "cross_entropy",
            (rows, 1),
            arguments![width, bias, targets, scales, gradient, logits, losses],
        );
    }

    fn squared_error(
        &self,
        rows: usize,
        width: usize,
        bias: Option<Span<'_, Numbers>>,
        targets: &Numbers,
        values: &mut Numbers,
        losses: &mut Numbers,
    ) {
        let bias = optional(bias, width);
        let (targets, values) = (targets.at(0, rows * width), values.at(0, rows * width));
        let losses = losses.at(0, rows);
        self.gpu.launch(
            "squared_error",
            (rows, 1),
            arguments![width, bias, targets, values, losses],
        );
    }

    fn square_norms(&self, sequences: Sequences, rows: Rows<'_, Numbers>, sums: &mut Vector<f64>) {
        let values = address(&sequences, &rows);
        let sums = sums.at(0, sequences.examples);
        self.gpu.launch(
            "square_norms",
            (sequences.examples, 1),
            steps![sequences, values, rows.stride, rows.width, sums],
        );
    }

    fn pair_norms(
        &self,
        sequences: Sequences,
        inputs: &[Rows<'_, Numbers>],
        one: bool,
        gradients: &[Rows<'_, Numbers>],
        sums: &mut Vector<f64>,
    ) {
        self.gpu.pair_norms(sequences, inputs, one, gradients, sums);
    }

    fn product_norms(
        &self,
        sequences: Sequences,
        input: Rows<'_, Numbers>,
        one: bool,
        gradient: Rows<'_, Numbers>,
        sums: &mut Vector<f64>,
    ) {
        self.gpu.product_norms(sequences, input, one, gradient, sums);
    }

    fn token_norms(
        &self,
        sequences: Sequences,
        tokens: &Vector<u32>,
        gradient: Rows<'_, Numbers>,
        sums: &mut Vector<f64>,
    ) {
        let tokens = tokens.at(0, sequences.rows());
        let values = address(&sequences, &gradient);
        let sums = sums.at(0, sequences.examples);
        self.gpu.launch(
            "token_norms",
            (sequences.examples, 1),
            steps![sequences, tokens, values, gradient.stride, gradient.width, sums],
        );
    }

    fn tied_norms(
        &self,
        sequences: Sequences,
        tokens: &Vector<u32>,
        embedded: Rows<'_, Numbers>,
        input: Rows<'_, Numbers>,
        logits: Rows<'_, Numbers>,
        sums: &mut Vector<f64>,
    ) {
        self.gpu
            .tied_norms(sequences, tokens, embedded, input, logits, sums);
    }

    fn weighted_product(
        &self,
        sequences: Sequences,
        weights: &Numbers,
        input: Rows<'_, Numbers>,
        gradient: Rows<'_, Numbers>,
        into: SpanMut<'_, Numbers>,
        stride: usize,
        bias: Option<usize>,
    ) {
        if let Some(start) = bias {
            self.gpu
                .weighted_sum(sequences, weights, gradient, into.buffer, start);
        }
        let (buffer, start) = (into.buffer, into.start);
        self.gpu
            .weighted_product(sequences, weights, input, gradient, buffer, start, stride);
    }

    fn weighted_sum(
        &self,
        sequences: Sequences,
        weights: &Numbers,
        rows: Rows<'_, Numbers>,
        into: SpanMut<'_, Numbers>,
    ) {
        self.gpu
            .weighted_sum(sequences, weights, rows, into.buffer, into.start);
    }

    fn integers(&self, len: usize) -> Pinned {
        Pinned::new(&self.gpu, len)
    }

    fn numbers<'a>(&self, integers: &'a mut Pinned) -> &'a mut [i64] {
        integers.numbers()
    }

    fn put_on_grid(&self, scale: f64, values: &Numbers, integers: &mut Pinned) {
        let len = values.len();
        assert!(integers.len() >= len, "fewer whole numbers than values");
        let grid = &mut self.gpu.work().integers;
        self.gpu.reserve(grid, len);
        self.gpu.over(
            "to_grid",
            len,
            arguments![len, scale, values.at(0, len), grid.at(0, len)],
        );
        integers.fetch(&self.gpu, grid, len);
    }

    fn take_off_grid(&self, unit: f64, integers: &Pinned, values: &mut Numbers) {
        let len = values.len();
        assert!(integers.len() >= len, "fewer whole numbers than values");
        let grid = &mut self.gpu.work().integers;
        integers.send(&self.gpu, grid);
        self.gpu.over(
            "from_grid",
            len,
            arguments![len, unit, grid.at(0, len), values.at(0, len)],
        );
    }

    fn add_on_grid(&self, scale: f64, unit: f64, integers: &Pinned, values: &mut Numbers) {
        let len = values.len();
        assert!(integers.len() >= len, "fewer whole numbers than values");
        let grid = &mut self.gpu.work().integers;
        integers.send(&self.gpu, grid);
        self.gpu.over(
            "add_on_grid",
            len,
            arguments![len, scale, unit, grid.at(0, len), values.at(0, len)],
        );
    }

    fn axpy(&self, alpha: f64, x: &Numbers, y: &mut Numbers) {
        let len = y.len();
        assert_eq!(x.len(), len, "vectors of different lengths");
        self.gpu.over(
            "axpy",
            len,
            arguments![len, alpha as f32, x.at(0, len), y.at(0, len)],
        );
    }

    fn adam(
        &self,
        step: Adam,
        gradient: &Numbers,
        parameters: &mut Numbers,
        first: &mut Numbers,
        second: &mut Numbers,
    ) {
        let len = parameters.len();
        assert!(
            gradient.len() == len && first.len() == len && second.len() == len,
            "vectors of different lengths"
        );
        self.gpu.over(
            "adam",
            len,
            arguments![
                len,
                step.rate as f32,
                step.first as f32,
                (1.0 - step.first) as f32,
                step.second as f32,
                (1.0 - step.second) as f32,
                step.first_correction as f32,
                step.second_correction as f32,
                step.epsilon as f32,
                step.decay as f32,
                step.noise as f32,
                step.floor as f32,
                gradient.at(0, len),
                parameters.at(0, len),
                first.at(0, len),
                second.at(0, len),
            ],
        );
    }

    fn momentum(&self, step: Momentum, gradient: &Numbers, parameters: &mut Numbers, velocity: &mut Numbers) {
        let len = parameters.len();
        assert!(
            gradient.len() == len && velocity.len() == len,
            "vectors of different lengths"
        );
        self.gpu.over(
            "momentum",
            len,
            arguments![
                len,
                step.rate as f32,
                step.momentum as f32,
                step.decay as f32,
                gradient.at(0, len),
                parameters.at(0, len),
                velocity.at(0, len),
            ],
        );
    }
}
