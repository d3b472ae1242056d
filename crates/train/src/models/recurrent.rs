//! Language models that read token after token: embedding, recurrent layer, output layer.

use super::error::{share, size};
use super::language::{Counts, Text, rows_of};
use super::{LanguageModel, ModelError, Part, Tokens};
use crate::layers::{
    Cell, Dropout, Embedding, Grouping, Gru, Linear, Lstm, Parameters, Pass, Total, reserve,
};
use crate::model::{Model, Parameter};
use device::{Device, Order, Rows, Sequences, Span, SpanMut};

/// The sizes of a recurrent language model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecurrentShape {
    /// The vocabulary size.
    pub vocabulary: usize,
    /// The embedding dimension.
    pub embedding: usize,
    /// The hidden size.
    pub hidden: usize,
    /// The share of the embedding and of the state that is dropped while training; 0 for none.
    pub dropout: f64,
}

/// Embedding, one recurrent layer, and a linear layer to the vocabulary.
///
/// ```
/// use device::Cpu;
/// use train::models::{LanguageModel, LstmLanguageModel, RecurrentShape};
///
/// let shape = RecurrentShape { vocabulary: 30, embedding: 8, hidden: 16, dropout: 0.0 };
/// let model = LstmLanguageModel::new(Cpu::<f32>::new(), shape)?;
/// assert_eq!((model.vocabulary(), model.longest_context()), (30, None));
/// # Ok::<(), train::models::ModelError>(())
/// ```
pub struct RecurrentLanguageModel<D: Device, C> {
    device: D,
    shape: RecurrentShape,
    parameters: Parameters,
    embedding: Embedding,
    cell: C,
    output: Linear,
    dropouts: [Dropout; 2],
    step: u64,
    text: Text<D>,
    embedded: D::Buffer,
    embedded_gradient: D::Buffer,
    /// The states after dropout, where there is any.
    dropped: D::Buffer,
    logits: D::Buffer,
}

/// With an LSTM. With 985 tokens, 50 and 100 it has 209,135 parameters.
pub type LstmLanguageModel<D> = RecurrentLanguageModel<D, Lstm<D>>;
/// With a GRU.
pub type GruLanguageModel<D> = RecurrentLanguageModel<D, Gru<D>>;

impl<D: Device, C: Cell<D>> RecurrentLanguageModel<D, C> {
    /// A model of this shape.
    pub fn new(device: D, shape: RecurrentShape) -> Result<Self, ModelError> {
        size("the size of the vocabulary", shape.vocabulary)?;
        size("the width of the embedding", shape.embedding)?;
        size("the size of the state", shape.hidden)?;
        share(shape.dropout)?;
        let mut parameters = Parameters::default();
        let embedding = Embedding::new(
            &mut parameters,
            "embedding",
            shape.vocabulary,
            shape.embedding,
            0.05,
        );
        let cell = C::new(&device, &mut parameters, "cell", shape.embedding, shape.hidden);
        let output = Linear::new(&mut parameters, "output", shape.hidden, shape.vocabulary);
        Ok(Self {
            shape,
            parameters,
            embedding,
            cell,
            output,
            dropouts: [0, 1].map(|place| Dropout::new(shape.dropout, place)),
            step: 0,
            text: Text::new(&device, Order::Steps),
            embedded: device.zeros(0),
            embedded_gradient: device.zeros(0),
            dropped: device.zeros(0),
            logits: device.zeros(0),
            device,
        })
    }

    /// Its sizes.
    pub fn shape(&self) -> RecurrentShape {
        self.shape
    }

    /// States of all steps, for what was loaded.
    fn forward(&mut self, parameters: &D::Buffer, training: bool) {
        let (device, sequences) = (&self.device, self.text.sequences);
        let pass = Pass {
            device,
            parameters,
            sequences,
        };
        let width = self.shape.embedding;
        reserve(device, &mut self.embedded, sequences.rows() * width);
        self.embedding
            .forward(&pass, &self.text.inputs, false, &mut self.embedded);
        if training {
            self.dropouts[0].apply(&pass, self.step, width, &self.text.keys, &mut self.embedded);
        }
        self.cell.forward(&pass, &self.embedded);
        if training && self.dropouts[1].is_active() {
            let len = sequences.rows() * self.shape.hidden;
            reserve(device, &mut self.dropped, len);
            let states = self.cell.states(sequences.examples);
            device.copy(
                Span::new(states.buffer, states.start),
                SpanMut::new(&mut self.dropped, 0),
                len,
            );
            self.dropouts[1].apply(
                &pass,
                self.step,
                self.shape.hidden,
                &self.text.keys,
                &mut self.dropped,
            );
        }
    }

    /// What the output layer saw while training.
    fn features(&self) -> Rows<'_, D::Buffer> {
        if self.dropouts[1].is_active() {
            Rows::new(&self.dropped, self.shape.hidden)
        } else {
            self.cell.states(self.text.sequences.examples)
        }
    }

    /// Losses of all rows; with `training`, the gradient in place of the logits.
    fn predict(&mut self, parameters: &D::Buffer, batch: &Tokens, counts: Counts, training: bool) {
        assert!(
            batch.vocabulary() <= self.shape.vocabulary,
            "tokens of another vocabulary"
        );
        self.text.load(&self.device, batch, counts);
        self.forward(parameters, training);
        let sequences = self.text.sequences;
        let rows = sequences.rows();
        let mut logits = std::mem::replace(&mut self.logits, self.device.zeros(0));
        reserve(&self.device, &mut logits, rows * self.shape.vocabulary);
        let pass = Pass {
            device: &self.device,
            parameters,
            sequences,
        };
        let features = if training {
            self.features()
        } else {
            self.cell.states(sequences.examples)
        };
        self.output.product(&pass, features, false, &mut logits);
        let Text {
            targets,
            scales,
            losses,
            ..
        } = &mut self.text;
        let bias = self.output.bias(&pass);
        self.device.cross_entropy(
            rows,
            self.shape.vocabulary,
            bias,
            targets,
            scales,
            training,
            &mut logits,
            losses,
        );
        self.logits = logits;
    }
}

impl<D: Device, C: Cell<D>> Model<D> for RecurrentLanguageModel<D, C> {
    type Batch = Tokens;

    fn layout(&self) -> &[Parameter] {
        self.parameters.layout()
    }

    fn computes(&self) -> String {
        format!("{:?}", self.shape)
    }

    fn initial(&self, seed: u64) -> Vec<f32> {
        self.parameters.initial(seed)
    }

    fn examples(&self, batch: &Tokens) -> usize {
        batch.len()
    }

    fn begin_step(&mut self, step: u64) {
        self.step = step;
    }

    fn group(&mut self, sizes: Option<&[usize]>) -> bool {
        self.text.grouping.set(sizes);
        true
    }

    fn backward(&mut self, parameters: &D::Buffer, batch: &Tokens) -> Vec<f64> {
        self.predict(parameters, batch, Counts::Mean, true);
        let (device, sequences) = (&self.device, self.text.sequences);
        let pass = Pass {
            device,
            parameters,
            sequences,
        };
        self.output
            .backward(&pass, &self.logits, self.cell.state_gradient());
        self.dropouts[1].apply(
            &pass,
            self.step,
            self.shape.hidden,
            &self.text.keys,
            self.cell.state_gradient(),
        );
        self.cell.backward(&pass);
        reserve(
            device,
            &mut self.embedded_gradient,
            sequences.rows() * self.shape.embedding,
        );
        self.cell.input_gradient(&pass, &mut self.embedded_gradient);
        self.dropouts[0].apply(
            &pass,
            self.step,
            self.shape.embedding,
            &self.text.keys,
            &mut self.embedded_gradient,
        );
        self.text.example_losses(device)
    }

    fn squared_norms(&mut self) -> Vec<f64> {
        let (device, sequences) = (&self.device, self.text.sequences);
        let mut grouping = std::mem::replace(&mut self.text.grouping, Grouping::new(device));
        let squares = grouping.norms(device, sequences, |norms| {
            self.embedding
                .squared_norms(norms, &self.text.inputs, &self.embedded_gradient);
            self.cell.squared_norms(norms, &self.embedded);
            self.output.squared_norms(norms, self.features(), &self.logits);
        });
        self.text.grouping = grouping;
        squares
    }

    fn accumulate(&mut self, weights: &[f64], gradient: &mut D::Buffer) {
        self.text.weigh(&self.device, weights);
        let mut total = Total {
            device: &self.device,
            sequences: self.text.sequences,
            weights: &self.text.weights,
            gradient,
        };
        self.embedding
            .accumulate(&mut total, &self.text.inputs, &self.embedded_gradient);
        self.cell.accumulate(&mut total, &self.embedded);
        self.output.accumulate(&mut total, self.features(), &self.logits);
    }

    fn losses(&mut self, parameters: &D::Buffer, batch: &Tokens) -> Vec<f64> {
        self.predict(parameters, batch, Counts::Mean, false);
        self.text.example_losses(&self.device)
    }
}

impl<D: Device, C: Cell<D>> LanguageModel<D> for RecurrentLanguageModel<D, C> {
    fn vocabulary(&self) -> usize {
        self.shape.vocabulary
    }

    fn longest_context(&self) -> Option<usize> {
        None
    }

    fn token_losses(&mut self, parameters: &D::Buffer, batch: &Tokens) -> Vec<Vec<f64>> {
        self.predict(parameters, batch, Counts::Each, false);
        self.text.row_losses(&self.device, batch)
    }

    fn logits_after(&mut self, parameters: &D::Buffer, contexts: &Tokens) -> Vec<Vec<f64>> {
        self.text.load_contexts(&self.device, contexts);
        self.forward(parameters, false);
        let sequences = Sequences::single(self.text.sequences.examples);
        let (examples, width) = (sequences.examples, self.shape.vocabulary);
        reserve(&self.device, &mut self.logits, examples * width);
        // The last step is the last block of rows.
        let last = self
            .cell
            .states(examples)
            .skip((self.text.sequences.steps - 1) * examples);
        let pass = Pass {
            device: &self.device,
            parameters,
            sequences,
        };
        self.output.forward(&pass, last, None, &mut self.logits);
        rows_of(
            &self
                .device
                .download_span(Span::new(&self.logits, 0), examples * width),
            width,
        )
    }
}
