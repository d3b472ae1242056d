//! Layers with explicit forward and backward passes, over a [`Device`].
//!
//! A backward pass makes gradients of activations only, unscaled. Each layer keeps its input, and the gradient of its output takes the place of that output where
//! nobody else needs it. From the two follow the norm of each example's gradient (`squared_norms`) and the weighted sum of gradients (`accumulate`), in
//! any order and as often as one likes; the gradient of one example is never kept.

mod attention;
mod dropout;
mod embedding;
mod gru;
mod linear;
mod lstm;
mod norm;
mod norms;
mod parameters;
mod recurrent;

pub use attention::{Attention, Scratch};
pub use dropout::Dropout;
pub(crate) use dropout::key as example_key;
pub use embedding::Embedding;
pub use gru::Gru;
pub use linear::Linear;
pub use lstm::Lstm;
pub use norm::Norm;
pub use norms::{Grouping, Norms};
pub use parameters::{Parameters, Start};
pub use recurrent::Cell;

use device::{Device, Sequences};

/// What a forward or backward pass reads besides activations.
pub struct Pass<'a, D: Device> {
    /// Where it runs.
    pub device: &'a D,
    /// The flat vector.
    pub parameters: &'a D::Buffer,
    /// The shape of the batch.
    pub sequences: Sequences,
}

impl<D: Device> Clone for Pass<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Pass<'_, D> {}

/// Where gradients are added up, each example's times its weight.
pub struct Total<'a, D: Device> {
    /// Where it runs.
    pub device: &'a D,
    /// The shape of the batch.
    pub sequences: Sequences,
    /// One an example.
    pub weights: &'a D::Buffer,
    /// Laid out as the flat vector of parameters.
    pub gradient: &'a mut D::Buffer,
}

/// Makes a vector at least this long. What was in it is lost when it grows.
pub(crate) fn reserve<D: Device>(device: &D, buffer: &mut D::Buffer, len: usize) {
    if device.len(buffer) < len {
        // The old one first: a batch that grows should not need both.
        *buffer = device.zeros(0);
        *buffer = device.zeros(len);
    }
}

/// The same for what products take: see [`Device::factors`].
pub(crate) fn reserve_factors<D: Device>(device: &D, buffer: &mut D::Buffer, len: usize) {
    if device.len(buffer) < len {
        *buffer = device.zeros(0);
        *buffer = device.factors(len);
    }
}

/// The same for tokens.
pub(crate) fn reserve_indices<D: Device>(device: &D, indices: &mut D::Indices, len: usize) {
    if device.indices_len(indices) < len {
        *indices = device.indices(len);
    }
}
