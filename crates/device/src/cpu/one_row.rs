//! Kernels for one row at a time, on slices: for models so small that a call of the kernels for batches takes longer than its arithmetic.
//!
//! What each of them writes is a function of its arguments alone: no row of anybody else is in reach.

use super::lanes::{sum_pairs, vectorised};
use super::{pointwise, rows};
use crate::{Activation, Scalar};

vectorised! {
    /// output += input · weight, with the weight [inputs, outputs] by rows. Inputs that are 0 are passed over, so that rows with few others are quick.
    pub fn add_product<S>(weight: &[S], input: &[S], output: &mut [S]) {
        for (&input, weight) in input.iter().zip(weight.chunks_exact(output.len())) {
            if input != S::ZERO {
                for (output, &weight) in output.iter_mut().zip(weight) {
                    *output = input.fused::<FUSED>(weight, *output);
                }
            }
        }
    }
}

vectorised! {
    /// input_gradient ← gradient · weightᵀ.
    pub fn product_backward<S>(weight: &[S], gradient: &[S], input_gradient: &mut [S]) {
        for (into, weight) in input_gradient.iter_mut().zip(weight.chunks_exact(gradient.len())) {
            *into = sum_pairs(weight, gradient, |weight, gradient| weight * gradient);
        }
    }
}

/// output ← f(values).
pub fn activate<S: Scalar>(activation: Activation, values: &[S], output: &mut [S]) {
    pointwise::activate(activation, values, output);
}

/// values ← gradient·f′(values).
pub fn activate_backward<S: Scalar>(activation: Activation, gradient: &[S], values: &mut [S]) {
    pointwise::activate_backward(activation, gradient, values);
}

/// The cross-entropy of a class, and its gradient in place of the logits.
pub fn cross_entropy<S: Scalar>(class: u32, logits: &mut [S]) -> S {
    let mut loss = [S::ZERO];
    rows::cross_entropy(logits.len(), &[], &[class], &[S::ONE], true, logits, &mut loss);
    loss[0]
}

/// The mean squared error, and its gradient in place of the values.
pub fn squared_error<S: Scalar>(targets: &[S], values: &mut [S]) -> S {
    let mut loss = [S::ZERO];
    rows::squared_error(targets.len(), &[], targets, values, &mut loss);
    loss[0]
}
