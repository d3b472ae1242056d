//! Layer norm.

use super::{Norms, Parameters, Pass, Start, Total};
use device::{Device, Rows, Sequences, Span, SpanMut};

/// Rows brought to mean 0 and variance 1, then scaled and shifted by column.
///
/// Its gradient is small enough to be made for each example.
pub struct Norm<D: Device> {
    scale: usize,
    width: usize,
    statistics: D::Buffer,
    example_gradients: D::Buffer,
}

/// Added to the variance.
const EPSILON: f64 = 1e-5;

impl<D: Device> Norm<D> {
    /// Adds its parameters `name.scale` and `name.shift`, one after the other.
    pub fn new(device: &D, parameters: &mut Parameters, name: &str, width: usize) -> Self {
        let scale = parameters.add(format!("{name}.scale"), &[width], Start::Constant(1.0));
        parameters.add(format!("{name}.shift"), &[width], Start::Constant(0.0));
        Self {
            scale,
            width,
            statistics: device.zeros(0),
            example_gradients: device.zeros(0),
        }
    }

    /// output ← the norm of input.
    pub fn forward(&mut self, pass: &Pass<'_, D>, input: &D::Buffer, output: &mut D::Buffer) {
        let rows = pass.sequences.rows();
        super::reserve(pass.device, &mut self.statistics, 2 * rows);
        let scale = Span::new(pass.parameters, self.scale);
        let shift = Span::new(pass.parameters, self.scale + self.width);
        pass.device.normalize(
            rows,
            self.width,
            EPSILON,
            scale,
            shift,
            input,
            output,
            &mut self.statistics,
        );
    }

    /// input_gradient ← residual + the gradient through this layer; keeps its own gradient for each example.
    pub fn backward(
        &mut self,
        pass: &Pass<'_, D>,
        input: &D::Buffer,
        gradient: &D::Buffer,
        residual: Option<&D::Buffer>,
        input_gradient: &mut D::Buffer,
    ) {
        super::reserve(
            pass.device,
            &mut self.example_gradients,
            pass.sequences.examples * 2 * self.width,
        );
        pass.device.normalize_backward(
            pass.sequences,
            self.width,
            Span::new(pass.parameters, self.scale),
            input,
            &self.statistics,
            gradient,
            residual,
            input_gradient,
            &mut self.example_gradients,
        );
    }

    /// Adds the squared norm of each example's gradient.
    pub fn squared_norms(&self, norms: &mut Norms<'_, D>) {
        norms.made(Rows::new(&self.example_gradients, 2 * self.width));
    }

    /// Adds Σ weight · gradient over examples.
    pub fn accumulate(&self, total: &mut Total<'_, D>) {
        let examples = Sequences::single(total.sequences.examples);
        let rows = Rows::new(&self.example_gradients, 2 * self.width);
        total.device.weighted_sum(
            examples,
            total.weights,
            rows,
            SpanMut::new(total.gradient, self.scale),
        );
    }
}
