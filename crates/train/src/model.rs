//! What can be trained: the contract between layers, which know nothing of privacy, and the loop, which knows nothing of layers.

use device::Device;

/// A part of the flat vector of parameters, with a name that files use.
///
/// ```
/// let weight = train::model::Parameter { name: "output.weight".into(), shape: vec![3, 2], start: 0 };
/// assert_eq!(weight.len(), 6);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// As in the file of weights: `lstm.input`, `output.bias`.
    pub name: String,
    /// Rows and columns, or a length.
    pub shape: Vec<usize>,
    /// Where it starts in the flat vector.
    pub start: usize,
}

impl Parameter {
    /// How many numbers.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A differentiable loss over examples, with parameters in one flat vector.
///
/// A step is [`Model::backward`], then [`Model::squared_norms`], then [`Model::accumulate`]. The gradient of one example is never made.
pub trait Model<D: Device> {
    /// Some examples: rows of tokens, or features with labels.
    type Batch;

    /// The layout of the flat vector: every number belongs to exactly one parameter.
    fn layout(&self) -> &[Parameter];

    /// Starting values, from a seed that is public.
    fn initial(&self, seed: u64) -> Vec<f32>;

    /// How many examples a batch holds.
    fn examples(&self, batch: &Self::Batch) -> usize;

    /// Tells a new step from the last one, for layers that draw masks: those of one step do not depend on how its examples are split into batches.
    fn begin_step(&mut self, step: u64) {
        let _ = step;
    }

    /// Forward and backward, unscaled: the loss of each example, and inside the model what the next two calls need.
    fn backward(&mut self, parameters: &D::Buffer, batch: &Self::Batch) -> Vec<f64>;

    /// The squared ℓ₂ norm of each example's gradient, in the order of the batch: never less than it is as a real number, whatever floats do, and not finite where the gradient is not. Kernels for norms
    /// ([`Device::pair_norms`] and the others) add a proved bound on their error, so sums of what they give are such norms.
    fn squared_norms(&mut self) -> Vec<f64>;

    /// Adds Σᵢ weightᵢ·gradientᵢ. A weight of 0 adds nothing, also where the gradient is not finite.
    fn accumulate(&mut self, weights: &[f64], gradient: &mut D::Buffer);

    /// The loss of each example without a gradient.
    fn losses(&mut self, parameters: &D::Buffer, batch: &Self::Batch) -> Vec<f64>;
}
