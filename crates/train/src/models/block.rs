//! One block of a transformer.

use super::TransformerShape;
use crate::layers::{
    Attention, Dropout, Linear, Norm, Norms, Parameters, Pass, Scratch, Total, reserve, reserve_factors,
};
use device::{Activation, Device, Rows};

/// Attention, then a perceptron four times as wide, each added to what it was given.
pub(super) struct Block<D: Device> {
    first_norm: Norm<D>,
    attention: Attention<D>,
    second_norm: Norm<D>,
    expand: Linear,
    contract: Linear,
    dropout: Dropout,
    /// After the first norm; what the attention adds to is `middle`.
    normed: D::Buffer,
    middle: D::Buffer,
    middle_gradient: D::Buffer,
    middle_normed: D::Buffer,
    /// Before the activation, and after the backward pass its gradient.
    wide: D::Buffer,
    activated: D::Buffer,
    /// What leaves the block, and its gradient.
    pub(super) stream: D::Buffer,
    pub(super) stream_gradient: D::Buffer,
}

impl<D: Device> Block<D> {
    pub(super) fn new(
        device: &D,
        parameters: &mut Parameters,
        number: usize,
        shape: &TransformerShape,
    ) -> Self {
        let (name, width) = (format!("block.{number}"), shape.width);
        let [found, dropout] = [1, 2].map(|part| Dropout::new(shape.dropout, 2 * number as u64 + part));
        Self {
            first_norm: Norm::new(device, parameters, &format!("{name}.attention.norm"), width),
            attention: Attention::new(
                device,
                parameters,
                &format!("{name}.attention"),
                width,
                shape.heads,
                found,
            ),
            second_norm: Norm::new(device, parameters, &format!("{name}.perceptron.norm"), width),
            expand: Linear::new(parameters, &format!("{name}.perceptron.expand"), width, 4 * width),
            contract: Linear::new(
                parameters,
                &format!("{name}.perceptron.contract"),
                4 * width,
                width,
            ),
            dropout,
            normed: device.zeros(0),
            middle: device.zeros(0),
            middle_gradient: device.zeros(0),
            middle_normed: device.zeros(0),
            wide: device.zeros(0),
            activated: device.zeros(0),
            stream: device.zeros(0),
            stream_gradient: device.zeros(0),
        }
    }

    pub(super) fn forward(
        &mut self,
        pass: &Pass<'_, D>,
        dropout: Option<(u64, &D::Indices)>,
        width: usize,
        input: &D::Buffer,
    ) {
        let (device, rows) = (pass.device, pass.sequences.rows());
        let len = rows * width;
        for buffer in [&mut self.middle, &mut self.stream] {
            reserve(device, buffer, len);
        }
        for (buffer, len) in [
            (&mut self.normed, len),
            (&mut self.middle_normed, len),
            (&mut self.wide, 4 * len),
            (&mut self.activated, 4 * len),
        ] {
            reserve_factors(device, buffer, len);
        }
        self.first_norm.forward(pass, input, &mut self.normed);
        self.attention
            .forward(pass, dropout, &self.normed, input, &mut self.middle);
        self.second_norm
            .forward(pass, &self.middle, &mut self.middle_normed);
        self.expand
            .product(pass, Rows::new(&self.middle_normed, width), false, &mut self.wide);
        let bias = self.expand.bias(pass);
        device.activate(
            Activation::Gelu,
            rows,
            4 * width,
            bias,
            &mut self.wide,
            &mut self.activated,
        );
        if let Some((seed, keys)) = dropout {
            self.dropout
                .apply(pass, seed, 4 * width, keys, &mut self.activated);
        }
        self.contract.forward(
            pass,
            Rows::new(&self.activated, 4 * width),
            Some(&self.middle),
            &mut self.stream,
        );
    }

    /// From `stream_gradient` to `input_gradient`.
    pub(super) fn backward(
        &mut self,
        pass: &Pass<'_, D>,
        dropout: Option<(u64, &D::Indices)>,
        width: usize,
        scratch: &mut Memory<D>,
        input: &D::Buffer,
        input_gradient: &mut D::Buffer,
    ) {
        let (device, len) = (pass.device, pass.sequences.rows() * width);
        reserve_factors(device, &mut self.middle_gradient, len);
        reserve_factors(device, &mut scratch.wide, 4 * len);
        self.contract
            .backward(pass, &self.stream_gradient, &mut scratch.wide);
        if let Some((seed, keys)) = dropout {
            self.dropout.apply(pass, seed, 4 * width, keys, &mut scratch.wide);
        }
        device.activate_backward(Activation::Gelu, 4 * len, &scratch.wide, &mut self.wide);
        self.expand.backward(pass, &self.wide, &mut scratch.narrow);
        let residual = Some(&self.stream_gradient);
        self.second_norm.backward(
            pass,
            &self.middle,
            &scratch.narrow,
            residual,
            &mut self.middle_gradient,
        );
        let Memory {
            attention, narrow, ..
        } = scratch;
        self.attention
            .backward(pass, dropout, attention, &self.middle_gradient, narrow);
        let residual = Some(&self.middle_gradient);
        self.first_norm
            .backward(pass, input, &scratch.narrow, residual, input_gradient);
    }

    pub(super) fn squared_norms(&self, norms: &mut Norms<'_, D>, width: usize) {
        self.first_norm.squared_norms(norms);
        self.attention
            .squared_norms(norms, &self.normed, &self.middle_gradient);
        self.second_norm.squared_norms(norms);
        self.expand
            .squared_norms(norms, Rows::new(&self.middle_normed, width), &self.wide);
        self.contract.squared_norms(
            norms,
            Rows::new(&self.activated, 4 * width),
            &self.stream_gradient,
        );
    }

    pub(super) fn accumulate(&self, total: &mut Total<'_, D>, width: usize) {
        self.first_norm.accumulate(total);
        self.attention
            .accumulate(total, &self.normed, &self.middle_gradient);
        self.second_norm.accumulate(total);
        self.expand
            .accumulate(total, Rows::new(&self.middle_normed, width), &self.wide);
        self.contract.accumulate(
            total,
            Rows::new(&self.activated, 4 * width),
            &self.stream_gradient,
        );
    }
}

/// Memory that the backward passes of all blocks share.
pub(super) struct Memory<D: Device> {
    pub(super) attention: Scratch<D>,
    pub(super) narrow: D::Buffer,
    pub(super) wide: D::Buffer,
}

impl<D: Device> Memory<D> {
    /// Empty; it grows with the batch.
    pub(super) fn new(device: &D) -> Self {
        Self {
            attention: Scratch::new(device),
            narrow: device.zeros(0),
            wide: device.zeros(0),
        }
    }
}
