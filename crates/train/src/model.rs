//! What can be trained: the contract between layers, which know nothing of privacy, and the loop, which knows nothing of layers.

use device::{Device, Scalar};

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
/// A step is [`Model::backward`], then [`Model::squared_norms`], then [`Model::accumulate`]. The gradient of one example is never made, unless by [`Model::one_by_one`].
pub trait Model<D: Device> {
    /// Some examples: rows of tokens, or features with labels.
    type Batch: Sync;

    /// The layout of the flat vector: every number belongs to exactly one parameter.
    fn layout(&self) -> &[Parameter];

    /// What is computed from parameters and examples, in words, as far as the layout does not say it: activations, dropout. A run is resumed with a model that says the same.
    fn computes(&self) -> String {
        String::new()
    }

    /// Starting values, from a seed that is public.
    fn initial(&self, seed: u64) -> Vec<f32>;

    /// How many examples a batch holds.
    fn examples(&self, batch: &Self::Batch) -> usize;

    /// Tells a new step from the last one, for layers that draw masks: those of one step do not depend on how its examples are split into batches.
    fn begin_step(&mut self, step: u64) {
        let _ = step;
    }

    /// Says which examples of the next batches belong together: so many in a row to each unit, at least one, all of a batch in all. [`Model::squared_norms`] then has one number a unit: the squared norm of the sum of the gradients of
    /// its examples. With `None` each example is by itself again. Whether it does so: a model that does not is given the examples of one unit after the other.
    fn group(&mut self, sizes: Option<&[usize]>) -> bool {
        sizes.is_none()
    }

    /// Forward and backward, unscaled: the loss of each example, and inside the model what the next two calls need.
    fn backward(&mut self, parameters: &D::Buffer, batch: &Self::Batch) -> Vec<f64>;

    /// The squared ℓ₂ norm of each example's gradient, or of each unit's ([`Model::group`]), in the order of the batch: never less than it is as a real number, whatever floats do, and not finite where the gradient is not. Kernels for norms
    /// ([`Device::pair_norms`] and the others) add a proved bound on their error, so sums of what they give are such norms.
    fn squared_norms(&mut self) -> Vec<f64>;

    /// Adds Σᵢ weightᵢ·gradientᵢ. A weight of 0 adds nothing, also where the gradient is not finite.
    fn accumulate(&mut self, weights: &[f64], gradient: &mut D::Buffer);

    /// The loss of each example without a gradient.
    fn losses(&mut self, parameters: &D::Buffer, batch: &Self::Batch) -> Vec<f64>;

    /// Gradients of single examples at these parameters, made by this machine's processor, for models so small that a pass of its own for each example takes longer than its arithmetic. `None` where there is no such way.
    fn one_by_one(&self, parameters: &D::Buffer) -> Option<Box<dyn OneByOne<D::Scalar, Self::Batch> + '_>> {
        let _ = parameters;
        None
    }
}

/// Makes gradients of single examples. It can be asked by several threads at once.
///
/// # Privacy
///
/// What is made of an example is a function of that example and of the parameters alone: of no other example in the batch, of their number and order, and of nothing that `room` held before. No place is in two runs of the gradient. Exact sums rest on both.
pub trait OneByOne<S, B>: Sync {
    /// Leaves the gradient of an example in `room`, and gives its loss.
    fn gradient(&self, batch: &B, example: usize, room: &mut Room<S>) -> f64;
}

/// Memory for the gradient of an example, used again for the next. As private as the example.
#[derive(Default)]
pub struct Room<S> {
    /// The gradient.
    pub gradient: SparseGradient<S>,
    /// What goes into each layer, and at the end what comes out.
    pub(crate) activations: Vec<Vec<S>>,
    /// What comes out of each layer, before its activation; becomes its gradient.
    pub(crate) values: Vec<Vec<S>>,
    pub(crate) scratch: Vec<S>,
}

/// A gradient without most of its zeros: runs of numbers in ascending order, each with the place in the flat vector where it starts. As private as the example.
#[derive(Default)]
pub struct SparseGradient<S> {
    runs: Vec<(usize, usize)>,
    values: Vec<S>,
    /// Where the last run ends.
    end: usize,
}

// Without numbers, which may be private.
impl<S> std::fmt::Debug for Room<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Room(..)")
    }
}

impl<S> std::fmt::Debug for SparseGradient<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "SparseGradient(..)")
    }
}

impl<S: Scalar> SparseGradient<S> {
    /// Without anything.
    pub fn clear(&mut self) {
        self.runs.clear();
        self.values.clear();
        self.end = 0;
    }

    /// Numbers from this place on.
    ///
    /// # Panics
    /// When the last run ends after it: a number that is in two runs would be cut once and added twice.
    pub fn push(&mut self, start: usize, values: impl Iterator<Item = S>) {
        assert!(start >= self.end, "runs of a gradient overlap");
        let before = self.values.len();
        self.values.extend(values);
        let len = self.values.len() - before;
        self.runs.push((start, len));
        self.end = start + len;
    }

    /// The numbers of all runs.
    pub fn values(&self) -> &[S] {
        &self.values
    }

    /// The same, to be changed.
    pub fn values_mut(&mut self) -> &mut [S] {
        &mut self.values
    }

    /// For each run, where it starts and which of `numbers` belong to it: one number for each of [`SparseGradient::values`].
    pub fn runs_of<'n, N>(&self, numbers: &'n [N]) -> impl Iterator<Item = (usize, &'n [N])> {
        let mut rest = numbers;
        self.runs.iter().map(move |(start, len)| {
            let (run, after) = rest.split_at(*len);
            rest = after;
            (*start, run)
        })
    }
}
