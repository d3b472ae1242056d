//! Classifiers and regressors over rows of numbers. Without hidden layers: logistic and linear regression.

mod one_by_one;

use super::error::{share, size};
use super::{Features, ModelError, Part, Targets};
use crate::layers::{Dropout, Linear, Norms, Parameters, Pass, Total, example_key, reserve, reserve_indices};
use crate::model::{Model, OneByOne, Parameter};
use device::{Activation, Device, Rows, Scalar, Sequences, Span};

/// What is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// One of n classes; the loss is the cross-entropy.
    Classes(usize),
    /// n numbers; the loss is the mean squared error.
    Numbers(usize),
}

impl Task {
    fn outputs(self) -> usize {
        match self {
            Self::Classes(outputs) | Self::Numbers(outputs) => outputs,
        }
    }
}

/// The sizes of a perceptron.
#[derive(Clone, Debug, PartialEq)]
pub struct MlpShape {
    /// Numbers in a row.
    pub inputs: usize,
    /// The hidden layer sizes, none for logistic or linear regression.
    pub hidden: Vec<usize>,
    /// What comes after each of them.
    pub activation: Activation,
    /// What is predicted.
    pub task: Task,
    /// The share of hidden activations that is dropped while training; 0 for none.
    pub dropout: f64,
}

/// One layer: its output before the activation, which becomes its gradient, and after it.
struct Layer<D: Device> {
    linear: Linear,
    values: D::Buffer,
    activated: D::Buffer,
}

/// A multi-layer perceptron.
///
/// ```
/// use device::{Activation, Cpu};
/// use train::model::Model;
/// use train::models::{Features, Mlp, MlpShape, Targets, Task};
///
/// let shape = MlpShape { inputs: 2, hidden: vec![8], activation: Activation::Relu, task: Task::Classes(3), dropout: 0.0 };
/// let mut model = Mlp::new(Cpu::<f32>::new(), shape)?;
/// let parameters = model.initial(1);
/// assert_eq!(parameters.len(), (2 * 8 + 8) + (8 * 3 + 3));
/// let row = Features::new(2, 3, vec![0.5, -0.5], Targets::Classes(vec![2]))?;
/// assert_eq!(model.predict(&parameters, &row)[0].len(), 3);
/// # Ok::<(), train::models::ModelError>(())
/// ```
pub struct Mlp<D: Device> {
    device: D,
    shape: MlpShape,
    parameters: Parameters,
    layers: Vec<Layer<D>>,
    step: u64,
    sequences: Sequences,
    features: D::Buffer,
    classes: D::Indices,
    /// Numbers to predict, or what each class counts.
    numbers: D::Buffer,
    keys: D::Indices,
    losses: D::Buffer,
    weights: D::Buffer,
    sums: D::Sums,
    room: usize,
    scratch: D::Buffer,
}

impl<D: Device> Mlp<D> {
    /// A model of this shape.
    pub fn new(device: D, shape: MlpShape) -> Result<Self, ModelError> {
        size("the number of features", shape.inputs)?;
        size("the number of outputs", shape.task.outputs())?;
        shape
            .hidden
            .iter()
            .try_for_each(|&width| size("the width of a hidden layer", width))?;
        share(shape.dropout)?;
        let mut parameters = Parameters::default();
        let mut inputs = shape.inputs;
        let mut layers = Vec::new();
        for (number, &outputs) in shape.hidden.iter().chain([&shape.task.outputs()]).enumerate() {
            layers.push(Layer {
                linear: Linear::new(&mut parameters, &format!("layer.{number}"), inputs, outputs),
                values: device.zeros(0),
                activated: device.zeros(0),
            });
            inputs = outputs;
        }
        Ok(Self {
            shape,
            parameters,
            layers,
            step: 0,
            sequences: Sequences::single(0),
            features: device.zeros(0),
            classes: device.indices(0),
            numbers: device.zeros(0),
            keys: device.indices(0),
            losses: device.zeros(0),
            weights: device.zeros(0),
            sums: device.sums(0),
            room: 0,
            scratch: device.zeros(0),
            device,
        })
    }

    /// Its sizes.
    pub fn shape(&self) -> &MlpShape {
        &self.shape
    }

    /// The numbers that it predicts for each row, or the logits of the classes.
    pub fn predict(&mut self, parameters: &D::Buffer, batch: &Features) -> Vec<Vec<f64>> {
        self.load(batch);
        self.forward(parameters, false);
        let width = self.shape.task.outputs();
        let pass = Pass {
            device: &self.device,
            parameters,
            sequences: self.sequences,
        };
        let Some(Layer { linear, values, .. }) = self.layers.last_mut() else {
            return Vec::new();
        };
        if let Some(bias) = linear.bias(&pass) {
            self.device.add_bias(self.sequences.rows(), width, bias, values);
        }
        let values = self
            .device
            .download_span(Span::new(values, 0), self.sequences.rows() * width);
        super::language::rows_of(&values, width)
    }

    fn load(&mut self, batch: &Features) {
        let (device, examples, outputs) = (&self.device, batch.len(), self.shape.task.outputs());
        assert_eq!(
            (batch.inputs(), batch.outputs()),
            (self.shape.inputs, outputs),
            "rows of another shape"
        );
        let convert = |values: &[f32]| {
            values
                .iter()
                .map(|&value| D::Scalar::from_f64(f64::from(value)))
                .collect::<Vec<_>>()
        };
        self.sequences = Sequences::single(examples);
        reserve(device, &mut self.features, examples * self.shape.inputs);
        reserve(device, &mut self.losses, examples);
        reserve(device, &mut self.numbers, examples * outputs);
        reserve_indices(device, &mut self.classes, examples);
        reserve_indices(device, &mut self.keys, examples);
        if self.room < examples {
            self.sums = device.sums(examples);
            self.room = examples;
        }
        device.write(&convert(batch.values()), &mut self.features);
        match batch.targets() {
            Targets::Classes(classes) => {
                device.write_indices(classes, &mut self.classes);
                device.write(&vec![D::Scalar::ONE; examples], &mut self.numbers);
            }
            Targets::Numbers(numbers) => device.write(&convert(numbers), &mut self.numbers),
        }
        if self.shape.dropout > 0.0 {
            let rows = batch.values().chunks_exact(self.shape.inputs);
            let keys: Vec<u32> = rows
                .map(|row| example_key(row.iter().map(|value| value.to_bits())))
                .collect();
            device.write_indices(&keys, &mut self.keys);
        }
    }

    fn dropout(&self, number: usize) -> Dropout {
        Dropout::new(self.shape.dropout, number as u64)
    }

    /// Everything up to the last layer's bias.
    fn forward(&mut self, parameters: &D::Buffer, training: bool) {
        let pass = Pass {
            device: &self.device,
            parameters,
            sequences: self.sequences,
        };
        let rows = self.sequences.rows();
        let last = self.layers.len() - 1;
        for number in 0..=last {
            let dropout = self.dropout(number);
            let (before, after) = self.layers.split_at_mut(number);
            let Layer {
                linear,
                values,
                activated,
            } = &mut after[0];
            let input = match before.last() {
                Some(layer) => Rows::new(&layer.activated, layer.linear.outputs()),
                None => Rows::new(&self.features, self.shape.inputs),
            };
            let width = linear.outputs();
            reserve(&self.device, values, rows * width);
            linear.product(&pass, input, false, values);
            if number < last {
                reserve(&self.device, activated, rows * width);
                let bias = linear.bias(&pass);
                self.device
                    .activate(self.shape.activation, rows, width, bias, values, activated);
                if training {
                    dropout.apply(&pass, self.step, width, &self.keys, activated);
                }
            }
        }
    }

    /// The loss of each row, and the gradient in place of the last layer's output.
    fn loss(&mut self, parameters: &D::Buffer, batch: &Features, training: bool) -> Vec<f64> {
        let fits = match batch.targets() {
            Targets::Classes(_) => matches!(self.shape.task, Task::Classes(_)),
            Targets::Numbers(_) => matches!(self.shape.task, Task::Numbers(_)),
        };
        assert!(fits, "targets of another task");
        self.load(batch);
        self.forward(parameters, training);
        let (device, rows, width) = (&self.device, self.sequences.rows(), self.shape.task.outputs());
        let pass = Pass {
            device,
            parameters,
            sequences: self.sequences,
        };
        let losses = &mut self.losses;
        if let Some(Layer { linear, values, .. }) = self.layers.last_mut() {
            let bias = linear.bias(&pass);
            match self.shape.task {
                Task::Classes(_) => {
                    device.cross_entropy(
                        rows,
                        width,
                        bias,
                        &self.classes,
                        &self.numbers,
                        training,
                        values,
                        losses,
                    );
                }
                Task::Numbers(_) => device.squared_error(rows, width, bias, &self.numbers, values, losses),
            }
        }
        let losses = device.download_span(Span::new(losses, 0), rows);
        losses.into_iter().map(Scalar::to_f64).collect()
    }

    /// Each layer with its input.
    fn with_inputs(&self) -> impl Iterator<Item = (&Layer<D>, Rows<'_, D::Buffer>)> {
        self.layers.iter().enumerate().map(|(number, layer)| {
            let input = match number.checked_sub(1) {
                Some(before) => Rows::new(
                    &self.layers[before].activated,
                    self.layers[before].linear.outputs(),
                ),
                None => Rows::new(&self.features, self.shape.inputs),
            };
            (layer, input)
        })
    }
}

impl<D: Device> Model<D> for Mlp<D> {
    type Batch = Features;

    fn layout(&self) -> &[Parameter] {
        self.parameters.layout()
    }

    fn computes(&self) -> String {
        format!("{:?}", self.shape)
    }

    fn initial(&self, seed: u64) -> Vec<f32> {
        self.parameters.initial(seed)
    }

    fn examples(&self, batch: &Features) -> usize {
        batch.len()
    }

    fn begin_step(&mut self, step: u64) {
        self.step = step;
    }

    fn backward(&mut self, parameters: &D::Buffer, batch: &Features) -> Vec<f64> {
        let losses = self.loss(parameters, batch, true);
        let (rows, sequences) = (self.sequences.rows(), self.sequences);
        for number in (1..self.layers.len()).rev() {
            let dropout = self.dropout(number - 1);
            let pass = Pass {
                device: &self.device,
                parameters,
                sequences,
            };
            let (before, after) = self.layers.split_at_mut(number);
            let Some(Layer { linear, values, .. }) = before.last_mut() else {
                break;
            };
            let len = rows * linear.outputs();
            reserve(&self.device, &mut self.scratch, len);
            after[0]
                .linear
                .backward(&pass, &after[0].values, &mut self.scratch);
            dropout.apply(&pass, self.step, linear.outputs(), &self.keys, &mut self.scratch);
            self.device
                .activate_backward(self.shape.activation, len, &self.scratch, values);
        }
        losses
    }

    fn squared_norms(&mut self) -> Vec<f64> {
        let (device, sequences) = (&self.device, self.sequences);
        let mut sums = std::mem::replace(&mut self.sums, device.sums(0));
        device.clear_sums(&mut sums, sequences.examples);
        let mut norms = Norms::new(device, sequences, &mut sums);
        for (layer, input) in self.with_inputs() {
            layer.linear.squared_norms(&mut norms, input, &layer.values);
        }
        let result = device.download_sums(&sums, sequences.examples);
        self.sums = sums;
        result
    }

    fn accumulate(&mut self, weights: &[f64], gradient: &mut D::Buffer) {
        assert_eq!(weights.len(), self.sequences.examples, "one weight an example");
        let weights: Vec<D::Scalar> = weights
            .iter()
            .map(|&weight| D::Scalar::from_f64(weight))
            .collect();
        self.device.weigh(&weights, &mut self.weights);
        let mut total = Total {
            device: &self.device,
            sequences: self.sequences,
            weights: &self.weights,
            gradient,
        };
        for (layer, input) in self.with_inputs() {
            layer.linear.accumulate(&mut total, input, &layer.values);
        }
    }

    fn losses(&mut self, parameters: &D::Buffer, batch: &Features) -> Vec<f64> {
        self.loss(parameters, batch, false)
    }

    fn one_by_one(&self, parameters: &D::Buffer) -> Option<Box<dyn OneByOne<D::Scalar, Features> + '_>> {
        Some(Box::new(self.row_by_row(parameters)?))
    }
}
