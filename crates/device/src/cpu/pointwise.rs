//! Numbers one by one: biases, activations, dropout, tables, optimizers.

use super::lanes::vectorised;
use crate::{Activation, Adam, Mask, Momentum, Rows, Sequences};

vectorised! {
    /// Adds a row to each row.
    pub(super) fn add_bias<S>(bias: &[S], values: &mut [S]) {
        for row in values.chunks_exact_mut(bias.len()) {
            for (value, &bias) in row.iter_mut().zip(bias) {
                *value += bias;
            }
        }
    }
}

/// √(2/π).
const SLOPE: f64 = 0.797_884_560_802_865_4;
const CUBE: f64 = 0.044_715;

// Loops, not closures: a closure that is not inlined would be compiled for the narrowest vectors.

vectorised! {
    /// output ← f(values), with the numbers of both in the same places.
    pub(super) fn activate<S>(activation: Activation, values: &[S], output: &mut [S]) {
        let (slope, cube, half) = (S::from_f64(SLOPE), S::from_f64(CUBE), S::from_f64(0.5));
        let pairs = values.iter().zip(output);
        match activation {
            Activation::Gelu => {
                for (&x, y) in pairs {
                    *y = half * x * (S::ONE + (slope * (x + cube * x * x * x)).tanh());
                }
            }
            Activation::Relu => {
                for (&x, y) in pairs {
                    // Not a number stays so.
                    *y = if x < S::ZERO { S::ZERO } else { x };
                }
            }
            Activation::Tanh => {
                for (&x, y) in pairs {
                    *y = x.tanh();
                }
            }
        }
    }
}

vectorised! {
    /// values ← gradient·f′(values).
    pub(super) fn activate_backward<S>(activation: Activation, gradient: &[S], values: &mut [S]) {
        let (slope, cube, half) = (S::from_f64(SLOPE), S::from_f64(CUBE), S::from_f64(0.5));
        let thrice = S::from_f64(3.0 * CUBE);
        let pairs = gradient.iter().zip(values);
        match activation {
            Activation::Gelu => {
                for (&gradient, x) in pairs {
                    let v = *x;
                    let t = (slope * (v + cube * v * v * v)).tanh();
                    let bend = half * v * (S::ONE - t * t) * slope * (S::ONE + thrice * v * v);
                    *x = gradient * (half * (S::ONE + t) + bend);
                }
            }
            Activation::Relu => {
                for (&gradient, x) in pairs {
                    // 0·x for what is positive or not a number: it stays so.
                    *x = if *x <= S::ZERO { S::ZERO } else { gradient + S::ZERO * *x };
                }
            }
            Activation::Tanh => {
                for (&gradient, x) in pairs {
                    let t = x.tanh();
                    *x = gradient * (S::ONE - t * t);
                }
            }
        }
    }
}

vectorised! {
    /// See [`crate::Device::dropout`].
    pub(super) fn dropout<S>(sequences: Sequences, width: usize, mask: Mask, keys: &[u32], values: &mut [S]) {
        let factor = S::from_f64(1.0 / mask.keep);
        for (row, values) in values.chunks_exact_mut(width).enumerate() {
            let key = keys[sequences.example(row)];
            let first = (sequences.step(row) * width) as u64;
            for (place, value) in (first..).zip(values) {
                *value = if mask.keeps(key, place) { *value * factor } else { S::ZERO };
            }
        }
    }
}

/// See [`crate::Device::choose_rows`].
pub(super) fn choose_rows<S: crate::Scalar>(chosen: &[u32], rows: Rows<'_, Vec<S>>, output: &mut [S]) {
    for (&row, output) in chosen.iter().zip(output.chunks_exact_mut(rows.width)) {
        if row == u32::MAX {
            output.fill(S::ZERO);
            continue;
        }
        output.copy_from_slice(&rows.buffer[rows.start + row as usize * rows.stride..][..rows.width]);
    }
}

/// See [`crate::Device::gather`].
pub(super) fn gather<S: crate::Scalar>(
    width: usize,
    tokens: &[u32],
    table: &[S],
    add: bool,
    output: &mut [S],
) {
    for (&token, output) in tokens.iter().zip(output.chunks_exact_mut(width)) {
        let row = &table[token as usize * width..][..width];
        if add {
            output
                .iter_mut()
                .zip(row)
                .for_each(|(output, &value)| *output += value);
        } else {
            output.copy_from_slice(row);
        }
    }
}

vectorised! {
    /// See [`crate::Device::scatter_add`].
    pub(super) fn scatter_add<S>(sequences: Sequences, weights: &[S], tokens: &[u32], rows: Rows<'_, Vec<S>>, table: &mut [S]) {
        for row in 0..sequences.rows() {
            let weight = weights[sequences.example(row)];
            if weight == S::ZERO {
                continue;
            }
            let gradient = &rows.buffer[rows.start + row * rows.stride..][..rows.width];
            let into = &mut table[tokens[row] as usize * rows.width..][..rows.width];
            for (into, &gradient) in into.iter_mut().zip(gradient) {
                *into += weight * gradient;
            }
        }
    }
}

vectorised! {
    /// See [`crate::Device::axpy`].
    pub(super) fn axpy<S>(alpha: S, x: &[S], y: &mut [S]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y += alpha * x;
        }
    }
}

vectorised! {
    /// See [`Adam`].
    pub(super) fn adam<S>(step: Adam, gradient: &[S], parameters: &mut [S], first: &mut [S], second: &mut [S]) {
        let of = S::from_f64;
        let (rate, decay, epsilon) = (of(step.rate), of(step.decay), of(step.epsilon));
        let (keep_first, take_first) = (of(step.first), of(1.0 - step.first));
        let (keep_second, take_second) = (of(step.second), of(1.0 - step.second));
        let (first_correction, second_correction) = (of(step.first_correction), of(step.second_correction));
        let (noise, floor) = (of(step.noise), of(step.floor));
        let moments = first.iter_mut().zip(second);
        for ((&g, p), (m, v)) in gradient.iter().zip(parameters).zip(moments) {
            *m = keep_first * *m + take_first * g;
            *v = keep_second * *v + take_second * g * g;
            let variance = *v * second_correction - noise;
            let variance = if variance < floor { floor } else { variance };
            *p -= rate * (*m * first_correction / (variance.sqrt() + epsilon) + decay * *p);
        }
    }
}

vectorised! {
    /// See [`Momentum`].
    pub(super) fn momentum<S>(step: Momentum, gradient: &[S], parameters: &mut [S], velocity: &mut [S]) {
        let (rate, momentum, decay) = (S::from_f64(step.rate), S::from_f64(step.momentum), S::from_f64(step.decay));
        for ((&g, p), u) in gradient.iter().zip(parameters).zip(velocity) {
            *u = momentum * *u + g;
            *p -= rate * (*u + decay * *p);
        }
    }
}
