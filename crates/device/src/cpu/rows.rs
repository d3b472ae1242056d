//! Kernels that look at whole rows: layer norm, softmax, losses.

use super::lanes::{LANES, sum, sum_pairs, vectorised};
use crate::{Scalar, Sequences};

vectorised! {
    /// See [`crate::Device::normalize`].
    pub(super) fn normalize<S>(epsilon: S, scale: &[S], shift: &[S], input: &[S], output: &mut [S], statistics: &mut [S]) {
        let width = scale.len();
        let share = S::from_f64(1.0 / width as f64);
        for ((input, output), statistics) in
            input.chunks_exact(width).zip(output.chunks_exact_mut(width)).zip(statistics.chunks_exact_mut(2))
        {
            let mean = sum(input, |x| x) * share;
            let variance = sum(input, |x| (x - mean) * (x - mean)) * share;
            let inverse = S::ONE / (variance + epsilon).sqrt();
            statistics[0] = mean;
            statistics[1] = inverse;
            for ((output, &x), (&scale, &shift)) in output.iter_mut().zip(input).zip(scale.iter().zip(shift)) {
                *output = (x - mean) * inverse * scale + shift;
            }
        }
    }
}

vectorised! {
    /// See [`crate::Device::normalize_backward`]; `residual` may be empty.
    pub(super) fn normalize_backward<S>(
        sequences: Sequences, scale: &[S], input: &[S], statistics: &[S], gradient: &[S], residual: &[S],
        input_gradient: &mut [S], example_gradients: &mut [S],
    ) {
        let width = scale.len();
        let share = S::from_f64(1.0 / width as f64);
        example_gradients.fill(S::ZERO);
        for row in 0..sequences.rows() {
            let span = row * width..(row + 1) * width;
            let (mean, inverse) = (statistics[2 * row], statistics[2 * row + 1]);
            let (input, gradient) = (&input[span.clone()], &gradient[span.clone()]);
            let (scale_gradient, shift_gradient) =
                example_gradients[sequences.example(row) * 2 * width..][..2 * width].split_at_mut(width);
            for j in 0..width {
                scale_gradient[j] += gradient[j] * (input[j] - mean) * inverse;
                shift_gradient[j] += gradient[j];
            }
            // With g∘scale = u: the part of u along 1 and along x̂ changes nothing.
            let into = &mut input_gradient[span.clone()];
            for ((into, &gradient), &scale) in into.iter_mut().zip(gradient).zip(scale) {
                *into = gradient * scale;
            }
            let along_one = sum(into, |u| u) * share;
            let along_input = sum_pairs(into, input, |u, x| u * (x - mean) * inverse) * share;
            for (into, &x) in into.iter_mut().zip(input) {
                *into = inverse * (*into - along_one - (x - mean) * inverse * along_input);
            }
            if !residual.is_empty() {
                for (into, &residual) in into.iter_mut().zip(&residual[span]) {
                    *into += residual;
                }
            }
        }
    }
}

/// The largest; what is not a number is passed over, and shows in the sum of the powers.
#[inline(always)]
fn largest<S: Scalar>(row: &[S]) -> S {
    let mut lanes = [S::from_f64(f64::from(f32::MIN)); LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            lanes[lane] = if chunk[lane] > lanes[lane] {
                chunk[lane]
            } else {
                lanes[lane]
            };
        }
    }
    let mut largest = lanes[0];
    for &value in lanes.iter().chain(rest) {
        largest = if value > largest { value } else { largest };
    }
    largest
}

/// row ← e^(factor·(row − largest)), and their sum.
#[inline(always)]
fn powers<S: Scalar>(row: &mut [S], factor: S) -> S {
    let largest = largest(row);
    for value in row.iter_mut() {
        *value = (factor * (*value - largest)).exp();
    }
    sum(row, |power| power)
}

vectorised! {
    /// See [`crate::Device::causal_softmax`]; `factor` is positive.
    pub(super) fn causal_softmax<S>(steps: usize, factor: S, scores: &mut [S]) {
        for (row, scores) in scores.chunks_exact_mut(steps).enumerate() {
            let (seen, hidden) = scores.split_at_mut(row % steps + 1);
            let share = S::ONE / powers(seen, factor);
            for power in seen.iter_mut() {
                *power *= share;
            }
            hidden.fill(S::ZERO);
        }
    }
}

vectorised! {
    /// See [`crate::Device::causal_softmax_backward`].
    pub(super) fn causal_softmax_backward<S>(steps: usize, factor: S, probabilities: &[S], gradient: &mut [S]) {
        for (row, (probabilities, gradient)) in
            probabilities.chunks_exact(steps).zip(gradient.chunks_exact_mut(steps)).enumerate()
        {
            let (seen, hidden) = gradient.split_at_mut(row % steps + 1);
            let probabilities = &probabilities[..seen.len()];
            let mean = sum_pairs(seen, probabilities, |gradient, probability| gradient * probability);
            for (gradient, &probability) in seen.iter_mut().zip(probabilities) {
                *gradient = factor * probability * (*gradient - mean);
            }
            hidden.fill(S::ZERO);
        }
    }
}

vectorised! {
    /// See [`crate::Device::cross_entropy`]; `bias` may be empty.
    pub(super) fn cross_entropy<S>(
        width: usize, bias: &[S], targets: &[u32], scales: &[S], gradient: bool, logits: &mut [S], losses: &mut [S],
    ) {
        for (row, logits) in logits.chunks_exact_mut(width).enumerate() {
            let scale = scales[row];
            if scale == S::ZERO {
                logits.fill(S::ZERO);
                losses[row] = S::ZERO;
                continue;
            }
            if !bias.is_empty() {
                for (logit, &bias) in logits.iter_mut().zip(bias) {
                    *logit += bias;
                }
            }
            let target = targets[row] as usize;
            let chosen = logits[target] - largest(logits);
            let total = powers(logits, S::ONE);
            losses[row] = scale * (S::from_f64(total.to_f64().ln()) - chosen);
            if gradient {
                let share = scale / total;
                for power in logits.iter_mut() {
                    *power *= share;
                }
                logits[target] -= scale;
            }
        }
    }
}

vectorised! {
    /// See [`crate::Device::squared_error`]; `bias` may be empty.
    pub(super) fn squared_error<S>(width: usize, bias: &[S], targets: &[S], values: &mut [S], losses: &mut [S]) {
        let share = S::from_f64(1.0 / width as f64);
        for ((values, targets), loss) in values.chunks_exact_mut(width).zip(targets.chunks_exact(width)).zip(losses) {
            if !bias.is_empty() {
                for (value, &bias) in values.iter_mut().zip(bias) {
                    *value += bias;
                }
            }
            *loss = sum_pairs(values, targets, |value, target| (value - target) * (value - target)) * share;
            let twice = share + share;
            for (value, &target) in values.iter_mut().zip(targets) {
                *value = twice * (*value - target);
            }
        }
    }
}
