//! An NVIDIA GPU.
//!
//! Nothing of CUDA is needed to build this. Libraries are opened when a GPU is asked for: the driver, NVRTC, which compiles the files of kernels beside this one for the GPU at hand, and
//! cuBLAS for products of matrices.
//!
//! Work is queued on one stream and nobody waits for it but those who read results. Kernels add no numbers with atomics, so that the same work gives the same bits on the
//! same machine.
//!
//! # Exactness
//!
//! A gradient is Σ_t a_t ⊗ g_t over inputs a and gradients of outputs g. Products that make a and g may be rounded ([`Products::Rounded`], TF32): that changes, as other starting values do,
//! which gradient is computed, to about three digits. Its norm and its place in the sum are then made from these same a and g in full `f32`, with sums over
//! pairs of steps in `f64`: what bounds one example's part of a sum is as exact as on the processor, whatever made a and g.
//!
//! With [`Products::Half`] a and g are rounded once more, to bf16, and the gradient is that of the rounded ones: norms and sums are made of the same 16 bits, on tensor cores. What tensor cores err by, and
//! what it does to round a factor again once it is weighted, is in the bound of each norm: `rounding.rs` has the proof.

mod attention;
mod cells;
mod error;
mod floats;
mod grid;
mod half;
mod launch;
mod norms;
mod open;
mod pointwise;
mod product;
mod rows;
mod tiles;
mod update;
mod vector;

pub use error::CudaError;
pub use floats::Floats;
pub use product::Products;
pub use vector::Vector;

use crate::{
    Activation, Adam, Device, Heads, Mask, Matrix, MatrixMut, Momentum, Product, Rows, Sequences, Span,
    SpanMut,
};
use launch::arguments;
use norms::{address_in_full, steps};
use open::Gpu;
use std::sync::Arc;
use vector::done;

type Numbers = Floats;

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
    /// The first GPU, with products of factors rounded to bf16.
    pub fn new() -> Result<Self, CudaError> {
        Self::open(0, Products::Half)
    }

    /// The GPU of this number. Where it has no tensor cores for bf16, products are rounded as by [`Products::Rounded`].
    pub fn open(number: usize, products: Products) -> Result<Self, CudaError> {
        let gpu = Gpu::open(number)?;
        let products = match products {
            Products::Half if !gpu.has_halves => Products::Rounded,
            products => products,
        };
        Ok(Self {
            gpu: Arc::new(gpu),
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
    type Integers = Vector<i64>;

    fn computes(&self) -> &'static str {
        match self.products {
            Products::Half => "factors of bf16, kept so by transformers",
            Products::Full | Products::Rounded => "",
        }
    }

    fn may_run_out(&self) -> bool {
        true
    }

    fn zeros(&self, len: usize) -> Numbers {
        Floats::single(self.gpu.zeros(len))
    }

    fn factors(&self, len: usize) -> Numbers {
        match self.products {
            Products::Half => Floats::half(self.gpu.zeros(len)),
            Products::Full | Products::Rounded => self.zeros(len),
        }
    }

    fn upload(&self, values: &[f32]) -> Numbers {
        Floats::single(self.gpu.sent(values))
    }

    fn write(&self, values: &[f32], into: &mut Numbers) {
        self.gpu.write_floats(values, into);
    }

    fn weigh(&self, values: &[f32], into: &mut Numbers) {
        self.gpu.weigh(values, into);
    }

    fn download(&self, buffer: &Numbers) -> Vec<f32> {
        self.gpu.read_floats(buffer, 0..buffer.len())
    }

    fn download_span(&self, from: Span<'_, Numbers>, len: usize) -> Vec<f32> {
        self.gpu.read_floats(from.buffer, from.start..from.start + len)
    }

    fn len(&self, buffer: &Numbers) -> usize {
        buffer.len()
    }

    fn clear(&self, buffer: &mut Numbers) {
        let len = buffer.len();
        self.gpu.clear_floats(buffer, 0..len);
    }

    fn clear_span(&self, span: SpanMut<'_, Numbers>, len: usize) {
        self.gpu.clear_floats(span.buffer, span.start..span.start + len);
    }

    fn copy(&self, from: Span<'_, Numbers>, to: SpanMut<'_, Numbers>, len: usize) {
        let (from, start) = (from.buffer.singles(), from.start);
        self.gpu.copy(from, start, to.buffer.singles_mut(), to.start, len);
    }

    fn add(&self, from: Span<'_, Numbers>, to: SpanMut<'_, Numbers>, len: usize) {
        let (from, to) = (from.buffer.at(from.start, len), to.buffer.at(to.start, len));
        self.gpu.over("axpy", len, arguments![len, 1.0f32, from, to]);
    }

    fn indices(&self, len: usize) -> Vector<u32> {
        self.gpu.zeros(len)
    }

    fn write_indices(&self, values: &[u32], into: &mut Vector<u32>) {
        self.gpu.write(values, 0, into);
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
        self.gpu
            .multiply_floats(self.products, product, [alpha as f32, beta as f32], a, b, c);
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
        Cuda::gather(self, rows, width, tokens, table, add, output)
    }

    fn scatter_add(
        &self,
        sequences: Sequences,
        weights: &Numbers,
        tokens: &Vector<u32>,
        rows: Rows<'_, Numbers>,
        table: SpanMut<'_, Numbers>,
    ) {
        Cuda::scatter_add(self, sequences, weights, tokens, rows, table)
    }

    fn add_bias(&self, rows: usize, width: usize, bias: Span<'_, Numbers>, values: &mut Numbers) {
        Cuda::add_bias(self, rows, width, bias, values)
    }

    fn spread(
        &self,
        rows: usize,
        width: usize,
        bias: Option<Span<'_, Numbers>>,
        from: Option<&Numbers>,
        output: &mut Numbers,
    ) {
        let len = rows * width;
        let from = from.map_or(0, |from| from.place(0, len));
        let (bias, output) = (optional(bias, width), output.place(0, len));
        self.gpu.over(
            "spread",
            len.div_ceil(4),
            arguments![len, width, bias, from, output],
        );
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
        Cuda::activate(self, activation, rows, width, bias, values, output)
    }

    fn activate_backward(
        &self,
        activation: Activation,
        len: usize,
        gradient: &Numbers,
        values: &mut Numbers,
    ) {
        Cuda::activate_backward(self, activation, len, gradient, values)
    }

    fn dropout(
        &self,
        sequences: Sequences,
        width: usize,
        mask: Mask,
        keys: &Vector<u32>,
        values: &mut Numbers,
    ) {
        Cuda::dropout(self, sequences, width, mask, keys, values)
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
        Cuda::lstm_forward(self, examples, hidden, bias, gates, cells, last, next, states)
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
        Cuda::lstm_backward(
            self,
            examples,
            hidden,
            gates,
            cells,
            last,
            next,
            state_gradient,
            cell_gradient,
        )
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
        Cuda::gru_forward(self, examples, hidden, bias, gates, states, last, next)
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
        Cuda::gru_backward(
            self,
            examples,
            hidden,
            gates,
            states,
            last,
            state_gradient,
            last_gradient,
        )
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
        Cuda::normalize(
            self, rows, width, epsilon, scale, shift, input, output, statistics,
        )
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
        Cuda::normalize_backward(
            self,
            sequences,
            width,
            scale,
            input,
            statistics,
            gradient,
            residual,
            input_gradient,
            example_gradients,
        )
    }

    fn attention(
        &self,
        heads: Heads,
        factor: f64,
        projected: &Numbers,
        context: &mut Numbers,
        logs: &mut Numbers,
    ) -> bool {
        Cuda::attention(self, heads, factor, projected, context, logs)
    }

    fn attention_backward(
        &self,
        heads: Heads,
        factor: f64,
        projected: &Numbers,
        context: &Numbers,
        logs: &mut Numbers,
        gradient: &Numbers,
        into: &mut Numbers,
    ) {
        Cuda::attention_backward(self, heads, factor, projected, context, logs, gradient, into)
    }

    fn causal_softmax(&self, count: usize, steps: usize, factor: f64, scores: &mut Numbers) {
        Cuda::causal_softmax(self, count, steps, factor, scores)
    }

    fn causal_softmax_backward(
        &self,
        count: usize,
        steps: usize,
        factor: f64,
        probabilities: &Numbers,
        gradient: &mut Numbers,
    ) {
        Cuda::causal_softmax_backward(self, count, steps, factor, probabilities, gradient)
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
        Cuda::cross_entropy(self, rows, width, bias, targets, scales, gradient, logits, losses)
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
        Cuda::squared_error(self, rows, width, bias, targets, values, losses)
    }

    // A few hundred megabytes of the widest rows.
    const ROWS_TOGETHER: usize = 8192;

    fn choose_rows(&self, count: usize, chosen: &Vector<u32>, rows: Rows<'_, Numbers>, output: &mut Numbers) {
        Cuda::choose_rows(self, count, chosen, rows, output)
    }

    fn choose_tokens(
        &self,
        count: usize,
        chosen: &Vector<u32>,
        tokens: &Vector<u32>,
        output: &mut Vector<u32>,
    ) {
        Cuda::choose_tokens(self, count, chosen, tokens, output)
    }

    fn square_norms(&self, sequences: Sequences, rows: Rows<'_, Numbers>, sums: &mut Vector<f64>) {
        self.gpu.square_norms(sequences, rows, sums);
    }

    fn pair_norms(
        &self,
        sequences: Sequences,
        inputs: &[Rows<'_, Numbers>],
        one: bool,
        gradients: &[Rows<'_, Numbers>],
        sums: &mut Vector<f64>,
    ) {
        self.gpu
            .pair_norms(self.products, sequences, inputs, one, gradients, sums);
    }

    fn product_norms(
        &self,
        sequences: Sequences,
        input: Rows<'_, Numbers>,
        one: bool,
        gradient: Rows<'_, Numbers>,
        sums: &mut Vector<f64>,
    ) {
        self.gpu
            .product_norms(self.products, sequences, input, one, gradient, sums);
    }

    fn token_norms(
        &self,
        sequences: Sequences,
        tokens: &Vector<u32>,
        gradient: Rows<'_, Numbers>,
        sums: &mut Vector<f64>,
    ) {
        self.gpu.token_norms(sequences, tokens, gradient, sums);
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
            .tied_norms(self.products, sequences, tokens, embedded, input, logits, sums);
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
        let (buffer, start) = (into.buffer, into.start);
        self.gpu.weighted_product(
            self.products,
            sequences,
            weights,
            input,
            gradient,
            buffer,
            start,
            stride,
            bias,
        );
    }

    fn weighted_bias(
        &self,
        sequences: Sequences,
        weights: &Numbers,
        rows: Rows<'_, Numbers>,
        into: SpanMut<'_, Numbers>,
    ) {
        let half = self.products == Products::Half;
        self.gpu
            .weighted_sum(half, sequences, weights, rows, into.buffer, into.start);
    }

    fn weighted_sum(
        &self,
        sequences: Sequences,
        weights: &Numbers,
        rows: Rows<'_, Numbers>,
        into: SpanMut<'_, Numbers>,
    ) {
        self.gpu
            .weighted_sum(false, sequences, weights, rows, into.buffer, into.start);
    }

    fn integers(&self, len: usize) -> Vector<i64> {
        self.gpu.zeros(len)
    }

    fn integers_len(&self, integers: &Vector<i64>) -> usize {
        integers.len()
    }

    fn write_integers(&self, values: &[i64], start: usize, into: &mut Vector<i64>) {
        self.gpu.write(values, start, into);
    }

    fn read_integers(&self, from: &Vector<i64>, start: usize, len: usize) -> Vec<i64> {
        self.gpu.read(from, start..start + len)
    }

    fn numbers<'a>(&'a self, integers: &'a mut Vector<i64>) -> crate::Numbers<'a> {
        crate::Numbers::Elsewhere(Box::new(grid::OnGpu {
            gpu: &self.gpu,
            numbers: integers,
        }))
    }

    fn put_on_grid(&self, scale: f64, values: &Numbers, integers: &mut Vector<i64>) {
        Cuda::put_on_grid(self, scale, values, integers)
    }

    fn take_off_grid(&self, unit: f64, integers: &Vector<i64>, values: &mut Numbers) {
        Cuda::take_off_grid(self, unit, integers, values)
    }

    fn axpy(&self, alpha: f64, x: &Numbers, y: &mut Numbers) {
        Cuda::axpy(self, alpha, x, y)
    }

    fn adam(
        &self,
        step: Adam,
        gradient: &Numbers,
        parameters: &mut Numbers,
        first: &mut Numbers,
        second: &mut Numbers,
    ) {
        Cuda::adam(self, step, gradient, parameters, first, second)
    }

    fn momentum(&self, step: Momentum, gradient: &Numbers, parameters: &mut Numbers, velocity: &mut Numbers) {
        Cuda::momentum(self, step, gradient, parameters, velocity)
    }
}
