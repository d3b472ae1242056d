//! Gated recurrent unit.

use super::{Cell, Norms, Parameters, Pass, Start, Total, reserve};
use device::{Device, Matrix, MatrixMut, Product, Rows, Span, SpanMut};

/// A GRU that resets after its product: z and r from input and state, n = tanh(x + r∘q) with x from the input and q from the state, h′ = (1−z)∘n + z∘h.
///
/// `name.input` and `name.recurrent` have blocks for z, r and the candidate; `name.bias` for z, r, x and q.
pub struct Gru<D: Device> {
    weight: usize,
    recurrent: usize,
    bias: usize,
    inputs: usize,
    hidden: usize,
    /// [steps · examples, 4 · hidden]: z, r, n, q, and after the backward pass the gradients of z, r, x, q.
    gates: D::Buffer,
    /// [(steps + 1) · examples, hidden], from zeros.
    states: D::Buffer,
    /// [steps · examples, hidden].
    state_gradient: D::Buffer,
    /// [examples, hidden].
    last_gradient: D::Buffer,
}

impl<D: Device> Gru<D> {
    /// The blocks of the state's product: where they are in the gates, where in the weight, and how wide.
    fn blocks(&self) -> [(usize, usize, usize); 2] {
        [
            (0, 0, 2 * self.hidden),
            (3 * self.hidden, 2 * self.hidden, self.hidden),
        ]
    }
}

impl<D: Device> Cell<D> for Gru<D> {
    fn new(device: &D, parameters: &mut Parameters, name: &str, inputs: usize, hidden: usize) -> Self {
        let (three, four) = (3 * hidden, 4 * hidden);
        Self {
            weight: parameters.add(
                format!("{name}.input"),
                &[inputs, three],
                Start::balanced(inputs, three),
            ),
            recurrent: parameters.add(
                format!("{name}.recurrent"),
                &[hidden, three],
                Start::balanced(hidden, hidden),
            ),
            bias: parameters.add(format!("{name}.bias"), &[four], Start::Constant(0.0)),
            inputs,
            hidden,
            gates: device.zeros(0),
            states: device.zeros(0),
            state_gradient: device.zeros(0),
            last_gradient: device.zeros(0),
        }
    }

    fn forward(&mut self, pass: &Pass<'_, D>, input: &D::Buffer) {
        let Pass {
            device,
            parameters,
            sequences,
        } = *pass;
        let (rows, examples, hidden) = (sequences.rows(), sequences.examples, self.hidden);
        let (step, width, three) = (examples * hidden, 4 * hidden, 3 * hidden);
        reserve(device, &mut self.gates, rows * width);
        reserve(device, &mut self.states, rows * hidden + step);
        reserve(device, &mut self.state_gradient, rows * hidden);
        reserve(device, &mut self.last_gradient, step);
        device.clear_span(SpanMut::new(&mut self.states, 0), step);
        device.gemm(
            Product::new(rows, self.inputs, three),
            1.0,
            Matrix::new(input, 0, self.inputs),
            Matrix::new(parameters, self.weight, three),
            0.0,
            MatrixMut::new(&mut self.gates, 0, width),
        );
        for t in 0..sequences.steps {
            let gates = t * examples * width;
            // z and r already hold the input's product; q holds nothing yet.
            for ((place, column, wide), beta) in self.blocks().into_iter().zip([1.0, 0.0]) {
                device.gemm(
                    Product::new(examples, hidden, wide),
                    1.0,
                    Matrix::new(&self.states, t * step, hidden),
                    Matrix::new(parameters, self.recurrent + column, three),
                    beta,
                    MatrixMut::new(&mut self.gates, gates + place, width),
                );
            }
            device.gru_forward(
                examples,
                hidden,
                Span::new(parameters, self.bias),
                SpanMut::new(&mut self.gates, gates),
                &mut self.states,
                t * step,
                (t + 1) * step,
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
        let (step, width, three) = (examples * hidden, 4 * hidden, 3 * hidden);
        for t in (0..sequences.steps).rev() {
            let gates = t * examples * width;
            device.gru_backward(
                examples,
                hidden,
                SpanMut::new(&mut self.gates, gates),
                &self.states,
                t * step,
                Span::new(&self.state_gradient, t * step),
                &mut self.last_gradient,
            );
            if t == 0 {
                break;
            }
            // The way through the products, then the direct one.
            for (place, column, wide) in self.blocks() {
                device.gemm(
                    Product::new(examples, wide, hidden),
                    1.0,
                    Matrix::new(&self.gates, gates + place, width),
                    Matrix::new(parameters, self.recurrent + column, three).transposed(),
                    1.0,
                    MatrixMut::new(&mut self.last_gradient, 0, hidden),
                );
            }
            let into = SpanMut::new(&mut self.state_gradient, (t - 1) * step);
            device.add(Span::new(&self.last_gradient, 0), into, step);
        }
    }

    fn input_gradient(&self, pass: &Pass<'_, D>, input_gradient: &mut D::Buffer) {
        let three = 3 * self.hidden;
        pass.device.gemm(
            Product::new(pass.sequences.rows(), three, self.inputs),
            1.0,
            Matrix::new(&self.gates, 0, 4 * self.hidden),
            Matrix::new(pass.parameters, self.weight, three).transposed(),
            0.0,
            MatrixMut::new(input_gradient, 0, self.inputs),
        );
    }

    // The input's product has the gradients of z, r, x; the state's those of z, r, q; the bias all four.
    fn squared_norms(&self, norms: &mut Norms<'_, D>, input: &D::Buffer) {
        let (steps, hidden) = (norms.sequences.steps, self.hidden);
        let gates = Rows::new(&self.gates, 4 * hidden);
        let (input, states) = (Rows::new(input, self.inputs), Rows::new(&self.states, hidden));
        let (both, x, q) = (
            gates.columns(0, 2 * hidden),
            gates.columns(0, 3 * hidden),
            gates.columns(3 * hidden, hidden),
        );
        if super::linear::pairs_are_cheaper(steps, self.inputs + hidden, 4 * hidden) {
            norms.pairs(&[input], true, &[x]);
            norms.pairs(&[states], false, &[both, q]);
            norms.pairs(&[], true, &[q]);
        } else {
            norms.products(input, true, x);
            norms.products(states, false, both);
            norms.products(states, true, q);
        }
    }

    fn accumulate(&self, total: &mut Total<'_, D>, input: &D::Buffer) {
        let (hidden, three) = (self.hidden, 3 * self.hidden);
        let gates = Rows::new(&self.gates, 4 * hidden);
        let (input, states) = (Rows::new(input, self.inputs), Rows::new(&self.states, hidden));
        let parts = [
            (input, gates.columns(0, three), self.weight, Some(self.bias)),
            (states, gates.columns(0, 2 * hidden), self.recurrent, None),
            (
                states,
                gates.columns(three, hidden),
                self.recurrent + 2 * hidden,
                Some(self.bias + three),
            ),
        ];
        for (rows, gradient, weight, bias) in parts {
            let into = SpanMut::new(&mut *total.gradient, weight);
            total
                .device
                .weighted_product(total.sequences, total.weights, rows, gradient, into, three, bias);
        }
    }
}
