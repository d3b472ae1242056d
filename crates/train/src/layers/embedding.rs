//! A table of rows, one a token; it may be the output layer as well.

use super::{Norms, Parameters, Pass, Start, Total};
use device::{Device, Matrix, MatrixMut, Product, Rows, Span, SpanMut};

/// Row `token` of a table [vocabulary, width].
#[derive(Clone, Debug)]
pub struct Embedding {
    table: usize,
    vocabulary: usize,
    width: usize,
}

impl Embedding {
    /// Adds its parameter `name`, uniform between −bound and bound.
    pub fn new(parameters: &mut Parameters, name: &str, vocabulary: usize, width: usize, bound: f64) -> Self {
        Self {
            table: parameters.add(name, &[vocabulary, width], Start::Uniform(bound)),
            vocabulary,
            width,
        }
    }

    /// output ← (or +=) the rows of the tokens.
    pub fn forward<D: Device>(
        &self,
        pass: &Pass<'_, D>,
        tokens: &D::Indices,
        add: bool,
        output: &mut D::Buffer,
    ) {
        let table = Span::new(pass.parameters, self.table);
        pass.device
            .gather(pass.sequences.rows(), self.width, tokens, table, add, output);
    }

    /// Adds Σ over pairs of steps with the same token of ⟨g_t, g_s⟩.
    pub fn squared_norms<D: Device>(
        &self,
        norms: &mut Norms<'_, D>,
        tokens: &D::Indices,
        gradient: &D::Buffer,
    ) {
        norms.tokens(tokens, false, Rows::new(gradient, self.width));
    }

    /// The same where no token comes twice in an example, as with positions.
    pub fn distinct_squared_norms<D: Device>(
        &self,
        norms: &mut Norms<'_, D>,
        tokens: &D::Indices,
        gradient: &D::Buffer,
    ) {
        norms.tokens(tokens, true, Rows::new(gradient, self.width));
    }

    /// Adds weight · gradient to each token's row.
    pub fn accumulate<D: Device>(&self, total: &mut Total<'_, D>, tokens: &D::Indices, gradient: &D::Buffer) {
        let rows = Rows::new(gradient, self.width);
        let table = SpanMut::new(total.gradient, self.table);
        total
            .device
            .scatter_add(total.sequences, total.weights, tokens, rows, table);
    }

    /// As an output layer: logits ← input · tableᵀ.
    pub fn logits<D: Device>(
        &self,
        pass: &Pass<'_, D>,
        rows: usize,
        input: Rows<'_, D::Buffer>,
        logits: &mut D::Buffer,
    ) {
        pass.device.gemm(
            Product::new(rows, self.width, self.vocabulary),
            1.0,
            Matrix::new(input.buffer, input.start, input.stride),
            Matrix::new(pass.parameters, self.table, self.width).transposed(),
            0.0,
            MatrixMut::new(logits, 0, self.vocabulary),
        );
    }

    /// As an output layer: input_gradient ← gradient · table.
    pub fn logits_backward<D: Device>(
        &self,
        pass: &Pass<'_, D>,
        gradient: &D::Buffer,
        input_gradient: &mut D::Buffer,
    ) {
        pass.device.gemm(
            Product::new(pass.sequences.rows(), self.vocabulary, self.width),
            1.0,
            Matrix::new(gradient, 0, self.vocabulary),
            Matrix::new(pass.parameters, self.table, self.width),
            0.0,
            MatrixMut::new(input_gradient, 0, self.width),
        );
    }

    /// As an output layer with a bias: its part of the norm, and twice the inner product with the embedding's part, since both are parts of one gradient.
    pub fn tied_squared_norms<D: Device>(
        &self,
        norms: &mut Norms<'_, D>,
        tokens: &D::Indices,
        embedded: &D::Buffer,
        input: Rows<'_, D::Buffer>,
        logits: &D::Buffer,
    ) {
        let (embedded, logits) = (
            Rows::new(embedded, self.width),
            Rows::new(logits, self.vocabulary),
        );
        if super::linear::pairs_are_cheaper(norms.sequences.steps, self.width, self.vocabulary) {
            norms.pairs(&[input], true, &[logits]);
        } else {
            norms.products(input, true, logits);
        }
        norms.tied(tokens, embedded, input, logits);
    }

    /// As an output layer: adds Σ weight · gradient; `bias` is that layer's.
    pub fn tied_accumulate<D: Device>(
        &self,
        total: &mut Total<'_, D>,
        bias: usize,
        input: Rows<'_, D::Buffer>,
        logits: &D::Buffer,
    ) {
        let logits = Rows::new(logits, self.vocabulary);
        let (sequences, weights) = (total.sequences, total.weights);
        let table = SpanMut::new(&mut *total.gradient, self.table);
        total
            .device
            .weighted_product(sequences, weights, logits, input, table, self.width, None);
        total
            .device
            .weighted_bias(sequences, weights, logits, SpanMut::new(total.gradient, bias));
    }
}
