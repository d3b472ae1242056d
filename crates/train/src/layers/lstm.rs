//! Long short-term memory.

use super::{Cell, Norms, Parameters, Pass, Start, Total, reserve};
use device::{Device, Matrix, MatrixMut, Product, Rows, Span, SpanMut};

/// An LSTM with one bias: gates from input · `name.input` + state · `name.recurrent` + `name.bias`, in the order input, forget, candidate, output.
pub struct Lstm<D: Device> {
    weight: usize,
    recurrent: usize,
    bias: usize,
    inputs: usize,
    hidden: usize,
    /// [steps · examples, 4 · hidden]: gates, and after the backward pass the gradient before their functions.
    gates: D::Buffer,
    /// [(steps + 1) · examples, hidden], from zeros.
    cells: D::Buffer,
    /// The same shape.
    states: D::Buffer,
    /// [steps · examples, hidden].
    state_gradient: D::Buffer,
    /// [examples, hidden].
    cell_gradient: D::Buffer,
}

impl<D: Device> Cell<D> for Lstm<D> {
    fn new(device: &D, parameters: &mut Parameters, name: &str, inputs: usize, hidden: usize) -> Self {
        let gates = 4 * hidden;
        Self {
            weight: parameters.add(
                format!("{name}.input"),
                &[inputs, gates],
                Start::balanced(inputs, gates),
            ),
            recurrent: parameters.add(
                format!("{name}.recurrent"),
                &[hidden, gates],
                Start::balanced(hidden, hidden),
            ),
            bias: parameters.add(format!("{name}.bias"), &[gates], Start::Remember),
            inputs,
            hidden,
            gates: device.zeros(0),
            cells: device.zeros(0),
            states: device.zeros(0),
            state_gradient: device.zeros(0),
            cell_gradient: device.zeros(0),
        }
    }

    fn forward(&mut self, pass: &Pass<'_, D>, input: &D::Buffer) {
        let Pass {
            device,
            parameters,
            sequences,
        } = *pass;
        let (rows, examples, hidden) = (sequences.rows(), sequences.examples, self.hidden);
        let (step, width) = (examples * hidden, 4 * hidden);
        reserve(device, &mut self.gates, rows * width);
        reserve(device, &mut self.cells, rows * hidden + step);
        reserve(device, &mut self.states, rows * hidden + step);
        reserve(device, &mut self.state_gradient, rows * hidden);
        reserve(device, &mut self.cell_gradient, step);
        device.clear_span(SpanMut::new(&mut self.cells, 0), step);
        device.clear_span(SpanMut::new(&mut self.states, 0), step);
        device.gemm(
            Product::new(rows, self.inputs, width),
            1.0,
            Matrix::new(input, 0, self.inputs),
            Matrix::new(parameters, self.weight, width),
            0.0,
            MatrixMut::new(&mut self.gates, 0, width),
        );
        for t in 0..sequences.steps {
            let gates = t * examples * width;
            // The first state is zero, and so is its product.
            if t > 0 {
                device.gemm(
                    Product::new(examples, hidden, width),
                    1.0,
                    Matrix::new(&self.states, t * step, hidden),
                    Matrix::new(parameters, self.recurrent, width),
                    1.0,
                    MatrixMut::new(&mut self.gates, gates, width),
                );
            }
            device.lstm_forward(
                examples,
                hidden,
                Span::new(parameters, self.bias),
                SpanMut::new(&mut self.gates, gates),
                &mut self.cells,
                t * step,
                (t + 1) * step,
                SpanMut::new(&mut self.states, (t + 1) * step),
            );
        }
    }

    fn states(&self, examples: usize) -> Rows<'_, D::Buffer> {
        Rows::new(&self.states, self.hidden).skip(examples)
    }

    fn state_gradient(&mut self) -> &mut D::Buffer {
        &mut self.state_gradient
    }

    fn backward(&mut self, pass: &Pass<'_, D>) {
        let Pass {
            device,
            parameters,
            sequences,
        } = *pass;
        let (examples, hidden) = (sequences.examples, self.hidden);
        let (step, width) = (examples * hidden, 4 * hidden);
        device.clear_span(SpanMut::new(&mut self.cell_gradient, 0), step);
        for t in (0..sequences.steps).rev() {
            device.lstm_backward(
                examples,
                hidden,
                SpanMut::new(&mut self.gates, t * examples * width),
                &self.cells,
                t * step,
                (t + 1) * step,
                Span::new(&self.state_gradient, t * step),
                &mut self.cell_gradient,
            );
            if t > 0 {
                device.gemm(
                    Product::new(examples, width, hidden),
                    1.0,
                    Matrix::new(&self.gates, t * examples * width, width),
                    Matrix::new(parameters, self.recurrent, width).transposed(),
                    1.0,
                    MatrixMut::new(&mut self.state_gradient, (t - 1) * step, hidden),
                );
            }
        }
    }

    fn input_gradient(&self, pass: &Pass<'_, D>, input_gradient: &mut D::Buffer) {
        let width = 4 * self.hidden;
        pass.device.gemm(
            Product::new(pass.sequences.rows(), width, self.inputs),
            1.0,
            Matrix::new(&self.gates, 0, width),
            Matrix::new(pass.parameters, self.weight, width).transposed(),
            0.0,
            MatrixMut::new(input_gradient, 0, self.inputs),
        );
    }

    // Both products and the bias have the same gradient of their outputs: (XXᵀ + HHᵀ + 1)∘(dZ dZᵀ).
    fn squared_norms(&self, norms: &mut Norms<'_, D>, input: &D::Buffer) {
        let inputs = [
            Rows::new(input, self.inputs),
            Rows::new(&self.states, self.hidden),
        ];
        let gates = Rows::new(&self.gates, 4 * self.hidden);
        if super::linear::pairs_are_cheaper(norms.sequences.steps, self.inputs + self.hidden, 4 * self.hidden)
        {
            norms.pairs(&inputs, true, &[gates]);
        } else {
            norms.products(inputs[0], true, gates);
            norms.products(inputs[1], false, gates);
        }
    }

    fn accumulate(&self, total: &mut Total<'_, D>, input: &D::Buffer) {
        let width = 4 * self.hidden;
        let gates = Rows::new(&self.gates, width);
        let parts = [
            (Rows::new(input, self.inputs), self.weight, Some(self.bias)),
            (Rows::new(&self.states, self.hidden), self.recurrent, None),
        ];
        for (rows, weight, bias) in parts {
            let into = SpanMut::new(&mut *total.gradient, weight);
            total
                .device
                .weighted_product(total.sequences, total.weights, rows, gates, into, width, bias);
        }
    }
}
