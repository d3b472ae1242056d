//! Multi-head causal attention: its four products, with queries, keys and values as one.

use super::{Dropout, Linear, Norms, Parameters, Pass, Total, reserve, reserve_factors};
use device::{Device, Heads, Matrix, MatrixMut, Order, Product, Rows};

/// Every step looks at itself and the steps before it. Rows are numbered by examples ([`Order::Examples`]).
pub struct Attention<D: Device> {
    project: Linear,
    output: Linear,
    width: usize,
    heads: usize,
    dropout: Dropout,
    /// [rows, 3 · width]: queries, keys, values, and after the backward pass their gradients.
    projected: D::Buffer,
    /// [heads, examples, steps, steps]; empty where the device makes attention in tiles.
    probabilities: D::Buffer,
    /// What such a device keeps of it: two numbers a row and head.
    logs: D::Buffer,
    in_tiles: bool,
    /// [rows, width].
    context: D::Buffer,
}

/// Memory that the backward passes of all attention layers share.
pub struct Scratch<D: Device> {
    scores: D::Buffer,
    projected: D::Buffer,
    context: D::Buffer,
}

impl<D: Device> Scratch<D> {
    /// Empty; it grows with the batch.
    pub fn new(device: &D) -> Self {
        Self {
            scores: device.zeros(0),
            projected: device.zeros(0),
            context: device.zeros(0),
        }
    }
}

impl<D: Device> Attention<D> {
    /// Adds the parameters of `name.project` and `name.output`. `heads` divides `width`. Dropout is applied to what the heads found.
    pub fn new(
        device: &D,
        parameters: &mut Parameters,
        name: &str,
        width: usize,
        heads: usize,
        dropout: Dropout,
    ) -> Self {
        Self {
            project: Linear::new(parameters, &format!("{name}.project"), width, 3 * width),
            output: Linear::new(parameters, &format!("{name}.output"), width, width),
            width,
            heads,
            dropout,
            projected: device.zeros(0),
            probabilities: device.zeros(0),
            logs: device.zeros(0),
            in_tiles: false,
            context: device.zeros(0),
        }
    }

    fn factor(&self) -> f64 {
        1.0 / ((self.width / self.heads) as f64).sqrt()
    }

    /// output ← residual + what the heads found in `input`, through the last product. `keys` and `seed` are for dropout; none while evaluating.
    pub fn forward(
        &mut self,
        pass: &Pass<'_, D>,
        dropout: Option<(u64, &D::Indices)>,
        input: &D::Buffer,
        residual: &D::Buffer,
        output: &mut D::Buffer,
    ) {
        let Pass {
            device, sequences, ..
        } = *pass;
        debug_assert_eq!(sequences.order, Order::Examples);
        let (examples, steps, width) = (sequences.examples, sequences.steps, self.width);
        reserve_factors(device, &mut self.projected, sequences.rows() * 3 * width);
        reserve_factors(device, &mut self.context, sequences.rows() * width);
        self.project
            .forward(pass, Rows::new(input, width), None, &mut self.projected);
        // Its backward pass needs the context as it was.
        self.in_tiles = !self.dropout.is_active() && {
            let (heads, factor) = (self.sizes(examples, steps), self.factor());
            reserve(device, &mut self.logs, 2 * heads.rows());
            let (projected, context) = (&self.projected, &mut self.context);
            device.attention(heads, factor, projected, context, &mut self.logs)
        };
        if !self.in_tiles {
            self.find(device, examples, steps);
        }
        if let Some((seed, keys)) = dropout {
            self.dropout.apply(pass, seed, width, keys, &mut self.context);
        }
        self.output
            .forward(pass, Rows::new(&self.context, width), Some(residual), output);
    }

    fn sizes(&self, examples: usize, steps: usize) -> Heads {
        Heads {
            examples,
            steps,
            heads: self.heads,
            size: self.width / self.heads,
        }
    }

    /// The context, by products and softmax one after the other.
    fn find(&mut self, device: &D, examples: usize, steps: usize) {
        let (width, head, square) = (self.width, self.width / self.heads, steps * steps);
        reserve(device, &mut self.probabilities, self.heads * examples * square);
        for number in 0..self.heads {
            let part = |block: usize| part(&self.projected, width, head, steps, block);
            let (query, key) = (part(number), part(self.heads + number));
            device.gemm(
                Product::new(steps, head, steps).times(examples),
                1.0,
                query,
                key.transposed(),
                0.0,
                MatrixMut::new(&mut self.probabilities, number * examples * square, steps).batched(square),
            );
        }
        device.causal_softmax(
            self.heads * examples,
            steps,
            self.factor(),
            &mut self.probabilities,
        );
        for number in 0..self.heads {
            device.gemm(
                Product::new(steps, steps, head).times(examples),
                1.0,
                Matrix::new(&self.probabilities, number * examples * square, steps).batched(square),
                part(&self.projected, width, head, steps, 2 * self.heads + number),
                0.0,
                MatrixMut::new(&mut self.context, number * head, width).batched(steps * width),
            );
        }
    }

    /// input_gradient ← what reaches the input.
    pub fn backward(
        &mut self,
        pass: &Pass<'_, D>,
        dropout: Option<(u64, &D::Indices)>,
        scratch: &mut Scratch<D>,
        gradient: &D::Buffer,
        input_gradient: &mut D::Buffer,
    ) {
        let Pass {
            device, sequences, ..
        } = *pass;
        let (examples, steps, width) = (sequences.examples, sequences.steps, self.width);
        reserve_factors(device, &mut scratch.projected, sequences.rows() * 3 * width);
        reserve_factors(device, &mut scratch.context, sequences.rows() * width);
        self.output.backward(pass, gradient, &mut scratch.context);
        if let Some((seed, keys)) = dropout {
            self.dropout.apply(pass, seed, width, keys, &mut scratch.context);
        }
        if self.in_tiles {
            let heads = self.sizes(examples, steps);
            device.attention_backward(
                heads,
                self.factor(),
                &self.projected,
                &self.context,
                &mut self.logs,
                &scratch.context,
                &mut scratch.projected,
            );
        } else {
            self.find_backward(device, examples, steps, scratch);
        }
        std::mem::swap(&mut self.projected, &mut scratch.projected);
        self.project.backward(pass, &self.projected, input_gradient);
    }

    /// The gradient of what was projected, by products one after the other.
    fn find_backward(&self, device: &D, examples: usize, steps: usize, scratch: &mut Scratch<D>) {
        let (width, head, square) = (self.width, self.width / self.heads, steps * steps);
        let stride = 3 * width;
        reserve(device, &mut scratch.scores, self.heads * examples * square);
        for number in 0..self.heads {
            let context = Matrix::new(&scratch.context, number * head, width).batched(steps * width);
            let start = number * examples * square;
            let probabilities = Matrix::new(&self.probabilities, start, steps).batched(square);
            device.gemm(
                Product::new(steps, steps, head).times(examples),
                1.0,
                probabilities.transposed(),
                context,
                0.0,
                MatrixMut::new(&mut scratch.projected, 2 * width + number * head, stride)
                    .batched(steps * stride),
            );
            device.gemm(
                Product::new(steps, head, steps).times(examples),
                1.0,
                context,
                part(&self.projected, width, head, steps, 2 * self.heads + number).transposed(),
                0.0,
                MatrixMut::new(&mut scratch.scores, start, steps).batched(square),
            );
        }
        let count = self.heads * examples;
        device.causal_softmax_backward(
            count,
            steps,
            self.factor(),
            &self.probabilities,
            &mut scratch.scores,
        );
        for number in 0..self.heads {
            let scores = Matrix::new(&scratch.scores, number * examples * square, steps).batched(square);
            let other = |block: usize| part(&self.projected, width, head, steps, block * self.heads + number);
            for (block, left, right) in [(0, scores, other(1)), (1, scores.transposed(), other(0))] {
                device.gemm(
                    Product::new(steps, steps, head).times(examples),
                    1.0,
                    left,
                    right,
                    0.0,
                    MatrixMut::new(&mut scratch.projected, block * width + number * head, stride)
                        .batched(steps * stride),
                );
            }
        }
    }

    /// Adds the squared norm of each example's gradient.
    pub fn squared_norms(&self, norms: &mut Norms<'_, D>, input: &D::Buffer, gradient: &D::Buffer) {
        self.project
            .squared_norms(norms, Rows::new(input, self.width), &self.projected);
        self.output
            .squared_norms(norms, Rows::new(&self.context, self.width), gradient);
    }

    /// Adds Σ weight · gradient over examples.
    pub fn accumulate(&self, total: &mut Total<'_, D>, input: &D::Buffer, gradient: &D::Buffer) {
        self.project
            .accumulate(total, Rows::new(input, self.width), &self.projected);
        self.output
            .accumulate(total, Rows::new(&self.context, self.width), gradient);
    }
}

/// Block `block` of the 3 · heads blocks of what was projected, for each example.
fn part<B>(projected: &B, width: usize, head: usize, steps: usize, block: usize) -> Matrix<'_, B> {
    Matrix::new(projected, block * head, 3 * width).batched(steps * 3 * width)
}
