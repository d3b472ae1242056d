//! A product with a matrix, and a bias.

use super::{Norms, Parameters, Pass, Start, Total};
use crate::model::SparseGradient;
use device::{Device, Matrix, MatrixMut, Product, Rows, Scalar, Span, SpanMut, one_row};

/// output = input · weight + bias, with the weight [inputs, outputs] by rows.
#[derive(Clone, Debug)]
pub struct Linear {
    weight: usize,
    bias: Option<usize>,
    inputs: usize,
    outputs: usize,
}

impl Linear {
    /// Adds its parameters `name.weight` and `name.bias`.
    pub fn new(parameters: &mut Parameters, name: &str, inputs: usize, outputs: usize) -> Self {
        let start = Start::balanced(inputs, outputs);
        Self {
            weight: parameters.add(format!("{name}.weight"), &[inputs, outputs], start),
            bias: Some(parameters.add(format!("{name}.bias"), &[outputs], Start::Constant(0.0))),
            inputs,
            outputs,
        }
    }

    /// Numbers that it gives a row.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Its bias, for kernels that add it themselves.
    pub fn bias<'a, D: Device>(&self, pass: &Pass<'a, D>) -> Option<Span<'a, D::Buffer>> {
        self.bias.map(|start| Span::new(pass.parameters, start))
    }

    /// output ← input · weight, without the bias; with `add`, output += it.
    pub fn product<D: Device>(
        &self,
        pass: &Pass<'_, D>,
        input: Rows<'_, D::Buffer>,
        add: bool,
        output: &mut D::Buffer,
    ) {
        let rows = pass.sequences.rows();
        pass.device.gemm(
            Product::new(rows, self.inputs, self.outputs),
            1.0,
            Matrix::new(input.buffer, input.start, input.stride),
            Matrix::new(pass.parameters, self.weight, self.outputs),
            if add { 1.0 } else { 0.0 },
            MatrixMut::new(output, 0, self.outputs),
        );
    }

    /// output ← residual (if any) + input · weight + bias.
    pub fn forward<D: Device>(
        &self,
        pass: &Pass<'_, D>,
        input: Rows<'_, D::Buffer>,
        residual: Option<&D::Buffer>,
        output: &mut D::Buffer,
    ) {
        let bias = self.bias(pass);
        pass.device
            .spread(pass.sequences.rows(), self.outputs, bias, residual, output);
        self.product(pass, input, true, output);
    }

    /// input_gradient ← gradient · weightᵀ.
    pub fn backward<D: Device>(
        &self,
        pass: &Pass<'_, D>,
        gradient: &D::Buffer,
        input_gradient: &mut D::Buffer,
    ) {
        pass.device.gemm(
            Product::new(pass.sequences.rows(), self.outputs, self.inputs),
            1.0,
            Matrix::new(gradient, 0, self.outputs),
            Matrix::new(pass.parameters, self.weight, self.outputs).transposed(),
            0.0,
            MatrixMut::new(input_gradient, 0, self.inputs),
        );
    }

    /// Of one row: output ← input · weight + bias.
    pub(crate) fn single<S: Scalar>(&self, parameters: &[S], input: &[S], output: &mut Vec<S>) {
        output.clear();
        if let Some(bias) = self.bias {
            output.extend_from_slice(&parameters[bias..][..self.outputs]);
        }
        output.resize(self.outputs, S::ZERO);
        one_row::add_product(self.weights(parameters), input, output);
    }

    /// Of one row: input_gradient ← gradient · weightᵀ.
    pub(crate) fn single_backward<S: Scalar>(
        &self,
        parameters: &[S],
        gradient: &[S],
        input_gradient: &mut Vec<S>,
    ) {
        input_gradient.clear();
        input_gradient.resize(self.inputs, S::ZERO);
        one_row::product_backward(self.weights(parameters), gradient, input_gradient);
    }

    /// Of one row: the gradient of weight and bias, where it is not 0.
    pub(crate) fn single_gradient<S: Scalar>(
        &self,
        input: &[S],
        gradient: &[S],
        into: &mut SparseGradient<S>,
    ) {
        for (number, &input) in input.iter().enumerate() {
            if input != S::ZERO {
                let products = gradient.iter().map(|&gradient| input * gradient);
                into.push(self.weight + number * self.outputs, products);
            }
        }
        if let Some(bias) = self.bias {
            into.push(bias, gradient.iter().copied());
        }
    }

    fn weights<'p, S>(&self, parameters: &'p [S]) -> &'p [S] {
        &parameters[self.weight..][..self.inputs * self.outputs]
    }

    /// Adds ‖Σ_t a_t ⊗ g_t‖² + ‖Σ_t g_t‖² of each example.
    pub fn squared_norms<D: Device>(
        &self,
        norms: &mut Norms<'_, D>,
        input: Rows<'_, D::Buffer>,
        gradient: &D::Buffer,
    ) {
        let (one, gradient) = (self.bias.is_some(), Rows::new(gradient, self.outputs));
        if pairs_are_cheaper(norms.sequences.steps, self.inputs, self.outputs) {
            norms.pairs(&[input], one, &[gradient]);
        } else {
            norms.products(input, one, gradient);
        }
    }

    /// Adds Σ weight · gradient over examples.
    pub fn accumulate<D: Device>(
        &self,
        total: &mut Total<'_, D>,
        input: Rows<'_, D::Buffer>,
        gradient: &D::Buffer,
    ) {
        total.device.weighted_product(
            total.sequences,
            total.weights,
            input,
            Rows::new(gradient, self.outputs),
            SpanMut::new(total.gradient, self.weight),
            self.outputs,
            self.bias,
        );
    }
}

/// Whether inner products of steps cost less than one example's gradient: half of steps² · (inputs + outputs) against steps · inputs · outputs.
pub(crate) fn pairs_are_cheaper(steps: usize, inputs: usize, outputs: usize) -> bool {
    (steps + 1) * (inputs + outputs) <= 2 * inputs * outputs
}
