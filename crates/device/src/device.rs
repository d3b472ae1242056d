//! The closed list of what layers and optimizers ask of a device.

use crate::{
    Adam, Heads, Mask, Matrix, MatrixMut, Momentum, Numbers, Product, Rows, Scalar, Sequences, Span, SpanMut,
};

/// A function applied to each number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// ½x(1 + tanh(√(2/π)(x + 0.044715x³))).
    Gelu,
    /// The larger of x and 0.
    Relu,
    /// The hyperbolic tangent.
    Tanh,
}

/// A place with memory and arithmetic.
///
/// Three kinds of vectors live there: numbers ([`Device::Buffer`]), tokens ([`Device::Indices`]), and sums in `f64`, one an example
/// ([`Device::Sums`]). Rows are contiguous unless a stride says otherwise. No kernel reads what it is about to overwrite.
///
/// Examples do not mix: what belongs to one never reaches another's rows or sums, also where it is not finite; and a weight of 0 adds nothing, also where the
/// gradient is not finite.
pub trait Device: Clone + Send {
    /// What its vectors hold.
    type Scalar: Scalar;
    /// A vector that lives on the device.
    type Buffer: Send;
    /// Tokens that live on the device.
    type Indices: Send;
    /// Sums in `f64`, one an example.
    type Sums: Send;
    /// Whole numbers that live on the device.
    type Integers: Send;

    /// How it computes where that is its own matter: another word wherever sums of gradients become others. Empty where nothing has to be said.
    fn computes(&self) -> &'static str {
        ""
    }

    // Memory.

    /// Whether its memory is small enough to run out: then work is tried before it counts, and ends as [`crate::or_out_of_memory`] says.
    fn may_run_out(&self) -> bool {
        false
    }
    /// A vector of zeros.
    fn zeros(&self, len: usize) -> Self::Buffer;
    /// A vector of zeros for what products take: activations, and gradients of outputs. Where the device rounds such factors anyway, it may keep them rounded, so that a number is what products take from the
    /// moment it is written. Kernels of recurrent cells, of tokens and tables, and of whole vectors of parameters take no such vectors.
    fn factors(&self, len: usize) -> Self::Buffer {
        self.zeros(len)
    }
    /// A copy on the device.
    fn upload(&self, values: &[Self::Scalar]) -> Self::Buffer;
    /// Overwrites the start of a vector that is at least as long.
    fn write(&self, values: &[Self::Scalar], into: &mut Self::Buffer);
    /// Puts weights of examples into a vector, which grows if it has to; only as weights are they read then.
    fn weigh(&self, values: &[Self::Scalar], into: &mut Self::Buffer) {
        if self.len(into) < values.len() {
            *into = self.zeros(values.len());
        }
        self.write(values, into);
    }
    /// A copy here; waits for all work that it depends on.
    fn download(&self, buffer: &Self::Buffer) -> Vec<Self::Scalar>;
    /// A copy here of `len` numbers; waits for all work that they depend on.
    fn download_span(&self, from: Span<'_, Self::Buffer>, len: usize) -> Vec<Self::Scalar>;
    /// How many numbers it holds.
    fn len(&self, buffer: &Self::Buffer) -> usize;
    /// All zeros again.
    fn clear(&self, buffer: &mut Self::Buffer);
    /// Zeros in a part.
    fn clear_span(&self, span: SpanMut<'_, Self::Buffer>, len: usize);
    /// Copies `len` numbers.
    fn copy(&self, from: Span<'_, Self::Buffer>, to: SpanMut<'_, Self::Buffer>, len: usize);
    /// to += from, `len` numbers.
    fn add(&self, from: Span<'_, Self::Buffer>, to: SpanMut<'_, Self::Buffer>, len: usize);
    /// `len` tokens, all 0.
    fn indices(&self, len: usize) -> Self::Indices;
    /// Overwrites the start of a vector of tokens that is at least as long.
    fn write_indices(&self, values: &[u32], into: &mut Self::Indices);
    /// How many tokens it holds.
    fn indices_len(&self, indices: &Self::Indices) -> usize;
    /// `len` sums, all 0.
    fn sums(&self, len: usize) -> Self::Sums;
    /// The first `len` sums are 0 again.
    fn clear_sums(&self, sums: &mut Self::Sums, len: usize);
    /// A copy here of the first `len`; waits for all work that they depend on.
    fn download_sums(&self, sums: &Self::Sums, len: usize) -> Vec<f64>;

    // Products.

    /// C ← α·A·B + β·C, for each of a batch. With β = 0, C is not read.
    fn gemm(
        &self,
        product: Product,
        alpha: f64,
        a: Matrix<'_, Self::Buffer>,
        b: Matrix<'_, Self::Buffer>,
        beta: f64,
        c: MatrixMut<'_, Self::Buffer>,
    );

    // Tables of rows.

    /// Row r of `output` ← (or, with `add`, +=) row `tokens[r]` of the table.
    fn gather(
        &self,
        rows: usize,
        width: usize,
        tokens: &Self::Indices,
        table: Span<'_, Self::Buffer>,
        add: bool,
        output: &mut Self::Buffer,
    );
    /// Row `tokens[r]` of the table += weights[example of r] · row r.
    fn scatter_add(
        &self,
        sequences: Sequences,
        weights: &Self::Buffer,
        tokens: &Self::Indices,
        rows: Rows<'_, Self::Buffer>,
        table: SpanMut<'_, Self::Buffer>,
    );

    // Numbers one by one.

    /// Adds a row of `width` numbers to each of `rows` contiguous rows.
    fn add_bias(&self, rows: usize, width: usize, bias: Span<'_, Self::Buffer>, values: &mut Self::Buffer);
    /// Each of `rows` contiguous rows of `output` ← that of `from`, or zeros, plus `bias`: what a product is then added to.
    fn spread(
        &self,
        rows: usize,
        width: usize,
        bias: Option<Span<'_, Self::Buffer>>,
        from: Option<&Self::Buffer>,
        output: &mut Self::Buffer,
    );
    /// values ← values + bias (a row of `width` numbers, if any), then output ← f(values).
    fn activate(
        &self,
        activation: Activation,
        rows: usize,
        width: usize,
        bias: Option<Span<'_, Self::Buffer>>,
        values: &mut Self::Buffer,
        output: &mut Self::Buffer,
    );
    /// values ← gradient · f′(values): the gradient in place of what [`Device::activate`] left in `values`.
    fn activate_backward(
        &self,
        activation: Activation,
        len: usize,
        gradient: &Self::Buffer,
        values: &mut Self::Buffer,
    );
    /// Drops numbers of contiguous rows in place, and divides the others by the share that stays. `keys` has one key an example.
    /// Its own backward pass.
    fn dropout(
        &self,
        sequences: Sequences,
        width: usize,
        mask: Mask,
        keys: &Self::Indices,
        values: &mut Self::Buffer,
    );

    // Recurrent cells. H is `hidden`; rows are the examples of one step.

    /// One step of an LSTM. `gates` [examples, 4H] holds the products of the input and of the last state; blocks are input, forget, candidate and output gate.
    /// Adds the bias (4H) and leaves the gates after σ, σ, tanh, σ. c′ = f∘c + i∘g at `next` from c at `last` (starts within `cells`); h′ = o∘tanh(c′).
    fn lstm_forward(
        &self,
        examples: usize,
        hidden: usize,
        bias: Span<'_, Self::Buffer>,
        gates: SpanMut<'_, Self::Buffer>,
        cells: &mut Self::Buffer,
        last: usize,
        next: usize,
        states: SpanMut<'_, Self::Buffer>,
    );
    /// One step back. `gates` holds the gates after their functions and gets the gradient before them in their place. `state_gradient` [examples, H] is the
    /// gradient of h′; `cell_gradient` [examples, H] that of c′ through the later steps, and becomes that of c.
    fn lstm_backward(
        &self,
        examples: usize,
        hidden: usize,
        gates: SpanMut<'_, Self::Buffer>,
        cells: &Self::Buffer,
        last: usize,
        next: usize,
        state_gradient: Span<'_, Self::Buffer>,
        cell_gradient: &mut Self::Buffer,
    );
    /// One step of a GRU. `gates` [examples, 4H]: update z and reset r with the products of input and state added, then the candidate's product of the input
    /// (x), then its product of the state (q). Adds the bias (4H); leaves σ(z), σ(r), n = tanh(x + r∘q), and q. h′ = (1−z)∘n + z∘h at `next` from h
    /// at `last` (starts within `states`).
    fn gru_forward(
        &self,
        examples: usize,
        hidden: usize,
        bias: Span<'_, Self::Buffer>,
        gates: SpanMut<'_, Self::Buffer>,
        states: &mut Self::Buffer,
        last: usize,
        next: usize,
    );
    /// One step back. `gates` gets the gradients of z, r, x and q before their functions in their place. `state_gradient` [examples, H] is the
    /// gradient of h′; what reaches h directly (z∘gradient) is written to `last_gradient`.
    fn gru_backward(
        &self,
        examples: usize,
        hidden: usize,
        gates: SpanMut<'_, Self::Buffer>,
        states: &Self::Buffer,
        last: usize,
        state_gradient: Span<'_, Self::Buffer>,
        last_gradient: &mut Self::Buffer,
    );

    // Layer norm and attention.

    /// output ← x̂∘scale + shift with x̂ = (x − mean)·r, r = 1/√(variance + epsilon), for contiguous rows. `statistics` gets mean and r of each row.
    fn normalize(
        &self,
        rows: usize,
        width: usize,
        epsilon: f64,
        scale: Span<'_, Self::Buffer>,
        shift: Span<'_, Self::Buffer>,
        input: &Self::Buffer,
        output: &mut Self::Buffer,
        statistics: &mut Self::Buffer,
    );
    /// input_gradient ← residual (if any) + the gradient through the norm. `example_gradients` [examples, 2·width] gets Σ over steps of gradient∘x̂, then
    /// of the gradient: that of scale and shift for each example.
    fn normalize_backward(
        &self,
        sequences: Sequences,
        width: usize,
        scale: Span<'_, Self::Buffer>,
        input: &Self::Buffer,
        statistics: &Self::Buffer,
        gradient: &Self::Buffer,
        residual: Option<&Self::Buffer>,
        input_gradient: &mut Self::Buffer,
        example_gradients: &mut Self::Buffer,
    );
    /// What each head of causal attention finds: `context` ← softmax of `factor` times queries · keys, times values, in tiles. `logs` gets what [`Device::attention_backward`] needs. `false`, and nothing done, where the device has no such kernel for
    /// these sizes: then products and softmax are made one after the other.
    fn attention(
        &self,
        heads: Heads,
        factor: f64,
        projected: &Self::Buffer,
        context: &mut Self::Buffer,
        logs: &mut Self::Buffer,
    ) -> bool {
        let _ = (heads, factor, projected, context, logs);
        false
    }
    /// `into` ← the gradient of queries, keys and values, laid out as `projected`, from that of the context; only after [`Device::attention`] was done.
    fn attention_backward(
        &self,
        heads: Heads,
        factor: f64,
        projected: &Self::Buffer,
        context: &Self::Buffer,
        logs: &mut Self::Buffer,
        gradient: &Self::Buffer,
        into: &mut Self::Buffer,
    ) {
        let _ = (heads, factor, projected, context, logs, gradient, into);
        unimplemented_kernel("attention_backward");
    }
    /// In place: row i of each of `count` steps × steps matrices becomes the softmax of `factor` times its first i + 1 entries, then zeros. What is right
    /// of the diagonal is not read.
    fn causal_softmax(&self, count: usize, steps: usize, factor: f64, scores: &mut Self::Buffer);
    /// In place: the gradient of the probabilities becomes that of the scores, zeros right of the diagonal. What is right of it is not read.
    fn causal_softmax_backward(
        &self,
        count: usize,
        steps: usize,
        factor: f64,
        probabilities: &Self::Buffer,
        gradient: &mut Self::Buffer,
    );

    // Losses.

    /// Softmax cross-entropy of contiguous rows of `width` logits, to which `bias` is added first. losses[r] ← scales[r]·(−ln p(target)); with `gradient`,
    /// logits ← scales[r]·(p − 1[target]) in place. Where scales[r] is 0 both are 0, whatever the logits. Without `gradient`, logits are left undefined.
    fn cross_entropy(
        &self,
        rows: usize,
        width: usize,
        bias: Option<Span<'_, Self::Buffer>>,
        targets: &Self::Indices,
        scales: &Self::Buffer,
        gradient: bool,
        logits: &mut Self::Buffer,
        losses: &mut Self::Buffer,
    );
    /// losses[r] ← mean over the row of (value − target)², and values ← its gradient in place. `bias` is added to the values first.
    fn squared_error(
        &self,
        rows: usize,
        width: usize,
        bias: Option<Span<'_, Self::Buffer>>,
        targets: &Self::Buffer,
        values: &mut Self::Buffer,
        losses: &mut Self::Buffer,
    );

    // Rows that belong together.

    /// How many rows are best brought together at a time: many where a device is busy with much at once, few where they should stay near the processor.
    const ROWS_TOGETHER: usize;
    /// Row i of `output` ← row `chosen[i]` of `rows`, for the first `count`; zeros where that is `u32::MAX`.
    fn choose_rows(
        &self,
        count: usize,
        chosen: &Self::Indices,
        rows: Rows<'_, Self::Buffer>,
        output: &mut Self::Buffer,
    );
    /// output[i] ← tokens[chosen[i]], for the first `count`; 0 where that is `u32::MAX`.
    fn choose_tokens(
        &self,
        count: usize,
        chosen: &Self::Indices,
        tokens: &Self::Indices,
        output: &mut Self::Indices,
    );

    // Norms of examples' gradients. Each adds to one sum an example. Inner products are made in the scalar type with several partial sums, and
    // added up in `f64`.

    /// sums[e] += Σ over steps of ‖row‖².
    fn square_norms(&self, sequences: Sequences, rows: Rows<'_, Self::Buffer>, sums: &mut Self::Sums);
    /// sums[e] += Σ over pairs (t, s) of steps of (Σ⟨a_t, a_s⟩ + 1 if `one`)·Σ⟨g_t, g_s⟩: the squared norm of Σ_t a_t ⊗ g_t, inputs and gradients
    /// each in several parts, and of Σ_t g_t, a bias.
    fn pair_norms(
        &self,
        sequences: Sequences,
        inputs: &[Rows<'_, Self::Buffer>],
        one: bool,
        gradients: &[Rows<'_, Self::Buffer>],
        sums: &mut Self::Sums,
    );
    /// The same for one input and one gradient, by making Σ_t a_t ⊗ g_t of one example after the other: cheaper where there are more steps than columns.
    fn product_norms(
        &self,
        sequences: Sequences,
        input: Rows<'_, Self::Buffer>,
        one: bool,
        gradient: Rows<'_, Self::Buffer>,
        sums: &mut Self::Sums,
    );
    /// sums[e] += Σ over pairs of steps with the same token of ⟨g_t, g_s⟩: an embedding.
    fn token_norms(
        &self,
        sequences: Sequences,
        tokens: &Self::Indices,
        gradient: Rows<'_, Self::Buffer>,
        sums: &mut Self::Sums,
    );
    /// sums[e] += 2·Σ_t Σ_s ⟨embedded_t, a_s⟩·logits[s, tokens[t]]: twice the inner product of a table's gradient as an embedding with that as an output layer.
    fn tied_norms(
        &self,
        sequences: Sequences,
        tokens: &Self::Indices,
        embedded: Rows<'_, Self::Buffer>,
        input: Rows<'_, Self::Buffer>,
        logits: Rows<'_, Self::Buffer>,
        sums: &mut Self::Sums,
    );

    // Weighted sums of gradients.

    /// Entry (i, j) of the matrix at `into`, with rows of `stride`, += Σ over rows r of weights[example of r]·input[r, i]·gradient[r, j]; with `bias`, the
    /// row that starts there in the same vector += Σ weights·gradient[r].
    fn weighted_product(
        &self,
        sequences: Sequences,
        weights: &Self::Buffer,
        input: Rows<'_, Self::Buffer>,
        gradient: Rows<'_, Self::Buffer>,
        into: SpanMut<'_, Self::Buffer>,
        stride: usize,
        bias: Option<usize>,
    );
    /// The row at `into` += Σ over rows r of weights[example of r]·row r, with rows as [`Device::weighted_product`] takes its factors: for the bias of a layer.
    fn weighted_bias(
        &self,
        sequences: Sequences,
        weights: &Self::Buffer,
        rows: Rows<'_, Self::Buffer>,
        into: SpanMut<'_, Self::Buffer>,
    ) {
        self.weighted_sum(sequences, weights, rows, into);
    }
    /// The row at `into` += Σ over rows r of weights[example of r]·row r.
    fn weighted_sum(
        &self,
        sequences: Sequences,
        weights: &Self::Buffer,
        rows: Rows<'_, Self::Buffer>,
        into: SpanMut<'_, Self::Buffer>,
    );

    // Grids: multiples of a unit, as whole numbers that noise is added to. Exact on every device: numbers of a vector are multiplied in `f64` and rounded to the nearest, ties
    // to even; what is not a number becomes 0, and what is beyond 2^50 is cut there.

    /// `len` whole numbers, all 0.
    fn integers(&self, len: usize) -> Self::Integers;
    /// How many it holds.
    fn integers_len(&self, integers: &Self::Integers) -> usize;
    /// Overwrites those from `start` on.
    fn write_integers(&self, values: &[i64], start: usize, into: &mut Self::Integers);
    /// A copy here of the `len` from `start` on; waits for all work that they depend on.
    fn read_integers(&self, from: &Self::Integers, start: usize, len: usize) -> Vec<i64>;
    /// All of them, for whoever adds noise to them.
    fn numbers<'a>(&'a self, integers: &'a mut Self::Integers) -> Numbers<'a>;
    /// The first of `integers` ← values · `scale`, rounded.
    fn put_on_grid(&self, scale: f64, values: &Self::Buffer, integers: &mut Self::Integers);
    /// values ← the first of `integers` · `unit`.
    fn take_off_grid(&self, unit: f64, integers: &Self::Integers, values: &mut Self::Buffer);

    // Optimizers, over whole vectors.

    /// y ← y + α·x.
    fn axpy(&self, alpha: f64, x: &Self::Buffer, y: &mut Self::Buffer);
    /// See [`Adam`].
    fn adam(
        &self,
        step: Adam,
        gradient: &Self::Buffer,
        parameters: &mut Self::Buffer,
        first: &mut Self::Buffer,
        second: &mut Self::Buffer,
    );
    /// See [`Momentum`].
    fn momentum(
        &self,
        step: Momentum,
        gradient: &Self::Buffer,
        parameters: &mut Self::Buffer,
        velocity: &mut Self::Buffer,
    );
}

/// A layer asked for a kernel after the device said that it has none.
fn unimplemented_kernel(name: &str) -> ! {
    panic!("this device has no kernel `{name}`")
}
