//! A small transformer: norm before each part, learned positions, GELU.

use super::block::{Block, Memory};
use super::error::{share, size};
use super::language::{Counts, Text, rows_of};
use super::{LanguageModel, ModelError, Part, Tokens};
use crate::layers::{
    Dropout, Embedding, Grouping, Linear, Norm, Parameters, Pass, Start, Total, reserve, reserve_factors,
    reserve_indices,
};
use crate::model::{Model, Parameter};
use device::{Device, Order, Rows, Sequences, Span};

/// The sizes of a transformer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransformerShape {
    /// The vocabulary size.
    pub vocabulary: usize,
    /// The context length, in tokens.
    pub context: usize,
    /// The hidden size, which is the embedding dimension too.
    pub width: usize,
    /// Heads of each attention; they divide the width.
    pub heads: usize,
    /// Blocks of attention and perceptron.
    pub blocks: usize,
    /// Whether the embedding is the output layer as well.
    pub tied: bool,
    /// The share of activations that is dropped while training; 0 for none.
    pub dropout: f64,
}

/// How the last activations become logits.
#[derive(Debug)]
enum Output {
    Linear(Linear),
    /// The embedding, with a bias of its own that starts here.
    Tied(usize),
}

/// A transformer that predicts the next token.
///
/// ```
/// use device::Cpu;
/// use train::models::{LanguageModel, TransformerLanguageModel, TransformerShape};
///
/// let shape = TransformerShape { vocabulary: 30, context: 20, width: 16, heads: 4, blocks: 2, tied: true, dropout: 0.0 };
/// let model = TransformerLanguageModel::new(Cpu::<f32>::new(), shape)?;
/// assert_eq!(model.longest_context(), Some(20));
/// # Ok::<(), train::models::ModelError>(())
/// ```
pub struct TransformerLanguageModel<D: Device> {
    device: D,
    shape: TransformerShape,
    parameters: Parameters,
    embedding: Embedding,
    positions: Embedding,
    blocks: Vec<Block<D>>,
    last_norm: Norm<D>,
    output: Output,
    dropout: Dropout,
    step: u64,
    text: Text<D>,
    places: D::Indices,
    embedded: D::Buffer,
    embedded_gradient: D::Buffer,
    normed: D::Buffer,
    /// While training, and then their gradient.
    logits: D::Buffer,
    /// Logits that are read.
    read: D::Buffer,
    memory: Memory<D>,
}

impl<D: Device> TransformerLanguageModel<D> {
    /// A model of this shape.
    pub fn new(device: D, shape: TransformerShape) -> Result<Self, ModelError> {
        size("the size of the vocabulary", shape.vocabulary)?;
        size("the length of the context", shape.context)?;
        size("the width", shape.width)?;
        size("the number of heads", shape.heads)?;
        size("the number of blocks", shape.blocks)?;
        share(shape.dropout)?;
        if !shape.width.is_multiple_of(shape.heads) {
            return Err(ModelError::Heads {
                heads: shape.heads,
                width: shape.width,
            });
        }
        let mut parameters = Parameters::default();
        let bound = 0.05;
        let embedding = Embedding::new(&mut parameters, "embedding", shape.vocabulary, shape.width, bound);
        let positions = Embedding::new(&mut parameters, "positions", shape.context, shape.width, bound);
        let blocks = (0..shape.blocks)
            .map(|number| Block::new(&device, &mut parameters, number, &shape))
            .collect();
        let last_norm = Norm::new(&device, &mut parameters, "norm", shape.width);
        let output = if shape.tied {
            Output::Tied(parameters.add("output.bias", &[shape.vocabulary], Start::Constant(0.0)))
        } else {
            Output::Linear(Linear::new(
                &mut parameters,
                "output",
                shape.width,
                shape.vocabulary,
            ))
        };
        Ok(Self {
            shape,
            parameters,
            embedding,
            positions,
            blocks,
            last_norm,
            output,
            dropout: Dropout::new(shape.dropout, 0),
            step: 0,
            text: Text::new(&device, Order::Examples),
            places: device.indices(0),
            embedded: device.zeros(0),
            embedded_gradient: device.zeros(0),
            normed: device.zeros(0),
            logits: device.zeros(0),
            read: device.zeros(0),
            memory: Memory::new(&device),
            device,
        })
    }

    /// Its sizes.
    pub fn shape(&self) -> TransformerShape {
        self.shape
    }

    /// The last norm of all steps, for what was loaded.
    fn forward(&mut self, parameters: &D::Buffer, training: bool) {
        let (device, sequences, width) = (&self.device, self.text.sequences, self.shape.width);
        assert!(
            sequences.steps <= self.shape.context,
            "rows longer than the model's context"
        );
        let pass = Pass {
            device,
            parameters,
            sequences,
        };
        let dropout = training.then_some((self.step, &self.text.keys));
        let places: Vec<u32> = (0..sequences.rows())
            .map(|row| sequences.step(row) as u32)
            .collect();
        reserve_indices(device, &mut self.places, places.len());
        device.write_indices(&places, &mut self.places);
        reserve(device, &mut self.embedded, sequences.rows() * width);
        reserve_factors(device, &mut self.normed, sequences.rows() * width);
        self.embedding
            .forward(&pass, &self.text.inputs, false, &mut self.embedded);
        self.positions
            .forward(&pass, &self.places, true, &mut self.embedded);
        if let Some((seed, keys)) = dropout {
            self.dropout.apply(&pass, seed, width, keys, &mut self.embedded);
        }
        let mut input = &self.embedded;
        for block in &mut self.blocks {
            block.forward(&pass, dropout, width, input);
            input = &block.stream;
        }
        self.last_norm.forward(&pass, input, &mut self.normed);
    }

    /// Losses of all rows; with `training`, the gradient in place of the logits.
    fn predict(&mut self, parameters: &D::Buffer, batch: &Tokens, counts: Counts, training: bool) {
        assert!(
            batch.vocabulary() <= self.shape.vocabulary,
            "tokens of another vocabulary"
        );
        self.text.load(&self.device, batch, counts);
        self.forward(parameters, training);
        let (device, sequences) = (&self.device, self.text.sequences);
        let (rows, vocabulary) = (sequences.rows(), self.shape.vocabulary);
        // What is not trained on is read in full.
        let logits = if training {
            reserve_factors(device, &mut self.logits, rows * vocabulary);
            &mut self.logits
        } else {
            reserve(device, &mut self.read, rows * vocabulary);
            &mut self.read
        };
        let pass = Pass {
            device,
            parameters,
            sequences,
        };
        let input = Rows::new(&self.normed, self.shape.width);
        let bias = match &self.output {
            Output::Linear(linear) => {
                linear.product(&pass, input, false, logits);
                linear.bias(&pass)
            }
            Output::Tied(bias) => {
                self.embedding.logits(&pass, rows, input, logits);
                Some(Span::new(parameters, *bias))
            }
        };
        let Text {
            targets,
            scales,
            losses,
            ..
        } = &mut self.text;
        device.cross_entropy(rows, vocabulary, bias, targets, scales, training, logits, losses);
    }
}

impl<D: Device> Model<D> for TransformerLanguageModel<D> {
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
        let (device, sequences, width) = (&self.device, self.text.sequences, self.shape.width);
        let len = sequences.rows() * width;
        let pass = Pass {
            device,
            parameters,
            sequences,
        };
        let dropout = Some((self.step, &self.text.keys));
        let memory = &mut self.memory;
        reserve_factors(device, &mut memory.narrow, len);
        reserve(device, &mut self.embedded_gradient, len);
        match &self.output {
            Output::Linear(linear) => linear.backward(&pass, &self.logits, &mut memory.narrow),
            Output::Tied(_) => self
                .embedding
                .logits_backward(&pass, &self.logits, &mut memory.narrow),
        }
        for block in &mut self.blocks {
            reserve_factors(device, &mut block.stream_gradient, len);
        }
        if let Some(Block {
            stream,
            stream_gradient,
            ..
        }) = self.blocks.last_mut()
        {
            self.last_norm
                .backward(&pass, stream, &memory.narrow, None, stream_gradient);
        }
        for number in (0..self.blocks.len()).rev() {
            let (before, after) = self.blocks.split_at_mut(number);
            let (input, input_gradient) = match before.last_mut() {
                Some(Block {
                    stream,
                    stream_gradient,
                    ..
                }) => (&*stream, stream_gradient),
                None => (&self.embedded, &mut self.embedded_gradient),
            };
            after[0].backward(&pass, dropout, width, memory, input, input_gradient);
        }
        self.dropout.apply(
            &pass,
            self.step,
            width,
            &self.text.keys,
            &mut self.embedded_gradient,
        );
        self.text.example_losses(device)
    }

    fn squared_norms(&mut self) -> Vec<f64> {
        let (device, sequences, width) = (&self.device, self.text.sequences, self.shape.width);
        let mut grouping = std::mem::replace(&mut self.text.grouping, Grouping::new(device));
        let squares = grouping.norms(device, sequences, |norms| {
            let (tokens, embedded) = (&self.text.inputs, &self.embedded_gradient);
            self.embedding.squared_norms(norms, tokens, embedded);
            self.positions
                .distinct_squared_norms(norms, &self.places, embedded);
            self.blocks
                .iter()
                .for_each(|block| block.squared_norms(norms, width));
            self.last_norm.squared_norms(norms);
            let input = Rows::new(&self.normed, width);
            match &self.output {
                Output::Linear(linear) => linear.squared_norms(norms, input, &self.logits),
                Output::Tied(_) => {
                    self.embedding
                        .tied_squared_norms(norms, tokens, embedded, input, &self.logits)
                }
            }
        });
        self.text.grouping = grouping;
        squares
    }

    fn accumulate(&mut self, weights: &[f64], gradient: &mut D::Buffer) {
        self.text.weigh(&self.device, weights);
        let width = self.shape.width;
        let mut total = Total {
            device: &self.device,
            sequences: self.text.sequences,
            weights: &self.text.weights,
            gradient,
        };
        self.embedding
            .accumulate(&mut total, &self.text.inputs, &self.embedded_gradient);
        self.positions
            .accumulate(&mut total, &self.places, &self.embedded_gradient);
        self.blocks
            .iter()
            .for_each(|block| block.accumulate(&mut total, width));
        self.last_norm.accumulate(&mut total);
        let input = Rows::new(&self.normed, width);
        match &self.output {
            Output::Linear(linear) => linear.accumulate(&mut total, input, &self.logits),
            Output::Tied(bias) => self
                .embedding
                .tied_accumulate(&mut total, *bias, input, &self.logits),
        }
    }

    fn losses(&mut self, parameters: &D::Buffer, batch: &Tokens) -> Vec<f64> {
        self.predict(parameters, batch, Counts::Mean, false);
        self.text.example_losses(&self.device)
    }
}

impl<D: Device> LanguageModel<D> for TransformerLanguageModel<D> {
    fn vocabulary(&self) -> usize {
        self.shape.vocabulary
    }

    fn longest_context(&self) -> Option<usize> {
        Some(self.shape.context)
    }

    fn token_losses(&mut self, parameters: &D::Buffer, batch: &Tokens) -> Vec<Vec<f64>> {
        self.predict(parameters, batch, Counts::Each, false);
        self.text.row_losses(&self.device, batch)
    }

    fn logits_after(&mut self, parameters: &D::Buffer, contexts: &Tokens) -> Vec<Vec<f64>> {
        self.text.load_contexts(&self.device, contexts);
        self.forward(parameters, false);
        let (device, sequences) = (&self.device, self.text.sequences);
        let (examples, steps, vocabulary) = (sequences.examples, sequences.steps, self.shape.vocabulary);
        reserve(device, &mut self.read, examples * vocabulary);
        let pass = Pass {
            device,
            parameters,
            sequences: Sequences::single(examples),
        };
        // The last row of each example.
        let width = self.shape.width;
        let last = Rows {
            buffer: &self.normed,
            start: (steps - 1) * width,
            stride: steps * width,
            width,
        };
        match &self.output {
            Output::Linear(linear) => linear.forward(&pass, last, None, &mut self.read),
            Output::Tied(bias) => {
                self.embedding.logits(&pass, examples, last, &mut self.read);
                device.add_bias(examples, vocabulary, Span::new(parameters, *bias), &mut self.read);
            }
        }
        rows_of(
            &device.download_span(Span::new(&self.read, 0), examples * vocabulary),
            vocabulary,
        )
    }
}
