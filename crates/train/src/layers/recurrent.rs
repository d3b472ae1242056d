//! What an LSTM and a GRU have in common.

use super::{Norms, Parameters, Pass, Total};
use device::{Device, Rows};

/// A layer that goes through the steps of all examples at once. Rows are numbered by steps ([`device::Order::Steps`]).
pub trait Cell<D: Device>: Sized {
    /// Adds its parameters.
    fn new(device: &D, parameters: &mut Parameters, name: &str, inputs: usize, hidden: usize) -> Self;
    /// From a state of zeros through all steps.
    fn forward(&mut self, pass: &Pass<'_, D>, input: &D::Buffer);
    /// The states after each step.
    fn states(&self, examples: usize) -> Rows<'_, D::Buffer>;
    /// Where the gradient of the states goes before [`Cell::backward`].
    fn state_gradient(&mut self) -> &mut D::Buffer;
    /// Through all steps, backwards; leaves the gradient of the gates in their place, and uses up that of the states.
    fn backward(&mut self, pass: &Pass<'_, D>);
    /// input_gradient ← what reaches the input.
    fn input_gradient(&self, pass: &Pass<'_, D>, input_gradient: &mut D::Buffer);
    /// Adds the squared norm of each example's gradient.
    fn squared_norms(&self, norms: &mut Norms<'_, D>, input: &D::Buffer);
    /// Adds Σ weight · gradient over examples.
    fn accumulate(&self, total: &mut Total<'_, D>, input: &D::Buffer);
}
