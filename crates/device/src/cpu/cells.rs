//! Recurrent cells. The gradient of the gates takes their place.

use super::lanes::vectorised;

vectorised! {
    /// See [`crate::Device::lstm_forward`]; all slices begin at their first number.
    pub(super) fn lstm_forward<S>(hidden: usize, bias: &[S], gates: &mut [S], last: &[S], next: &mut [S], states: &mut [S]) {
        let bias = &bias[..4 * hidden];
        for (((gates, last), next), states) in gates
            .chunks_exact_mut(4 * hidden)
            .zip(last.chunks_exact(hidden))
            .zip(next.chunks_exact_mut(hidden))
            .zip(states.chunks_exact_mut(hidden))
        {
            let (input, rest) = gates.split_at_mut(hidden);
            let (forget, rest) = rest.split_at_mut(hidden);
            let (candidate, output) = rest.split_at_mut(hidden);
            let output = &mut output[..hidden];
            for j in 0..hidden {
                let i = (input[j] + bias[j]).sigmoid();
                let f = (forget[j] + bias[hidden + j]).sigmoid();
                let g = (candidate[j] + bias[2 * hidden + j]).tanh();
                let o = (output[j] + bias[3 * hidden + j]).sigmoid();
                let cell = f * last[j] + i * g;
                input[j] = i;
                forget[j] = f;
                candidate[j] = g;
                output[j] = o;
                next[j] = cell;
                states[j] = o * cell.tanh();
            }
        }
    }
}

vectorised! {
    /// See [`crate::Device::lstm_backward`].
    pub(super) fn lstm_backward<S>(
        hidden: usize, gates: &mut [S], last: &[S], next: &[S], state_gradient: &[S], cell_gradient: &mut [S],
    ) {
        for ((((gates, last), next), state_gradient), cell_gradient) in gates
            .chunks_exact_mut(4 * hidden)
            .zip(last.chunks_exact(hidden))
            .zip(next.chunks_exact(hidden))
            .zip(state_gradient.chunks_exact(hidden))
            .zip(cell_gradient.chunks_exact_mut(hidden))
        {
            let (input, rest) = gates.split_at_mut(hidden);
            let (forget, rest) = rest.split_at_mut(hidden);
            let (candidate, output) = rest.split_at_mut(hidden);
            let output = &mut output[..hidden];
            for j in 0..hidden {
                let (i, f, g, o) = (input[j], forget[j], candidate[j], output[j]);
                let squashed = next[j].tanh();
                let cell = cell_gradient[j] + state_gradient[j] * o * (S::ONE - squashed * squashed);
                input[j] = cell * g * i * (S::ONE - i);
                forget[j] = cell * last[j] * f * (S::ONE - f);
                candidate[j] = cell * i * (S::ONE - g * g);
                output[j] = state_gradient[j] * squashed * o * (S::ONE - o);
                cell_gradient[j] = cell * f;
            }
        }
    }
}

vectorised! {
    /// See [`crate::Device::gru_forward`].
    pub(super) fn gru_forward<S>(hidden: usize, bias: &[S], gates: &mut [S], last: &[S], next: &mut [S]) {
        let bias = &bias[..4 * hidden];
        for ((gates, last), next) in
            gates.chunks_exact_mut(4 * hidden).zip(last.chunks_exact(hidden)).zip(next.chunks_exact_mut(hidden))
        {
            let (update, rest) = gates.split_at_mut(hidden);
            let (reset, rest) = rest.split_at_mut(hidden);
            let (candidate, product) = rest.split_at_mut(hidden);
            let product = &mut product[..hidden];
            for j in 0..hidden {
                let z = (update[j] + bias[j]).sigmoid();
                let r = (reset[j] + bias[hidden + j]).sigmoid();
                let q = product[j] + bias[3 * hidden + j];
                let n = (candidate[j] + bias[2 * hidden + j] + r * q).tanh();
                update[j] = z;
                reset[j] = r;
                candidate[j] = n;
                product[j] = q;
                next[j] = n + z * (last[j] - n);
            }
        }
    }
}

vectorised! {
    /// See [`crate::Device::gru_backward`].
    pub(super) fn gru_backward<S>(hidden: usize, gates: &mut [S], last: &[S], state_gradient: &[S], last_gradient: &mut [S]) {
        for (((gates, last), state_gradient), last_gradient) in gates
            .chunks_exact_mut(4 * hidden)
            .zip(last.chunks_exact(hidden))
            .zip(state_gradient.chunks_exact(hidden))
            .zip(last_gradient.chunks_exact_mut(hidden))
        {
            let (update, rest) = gates.split_at_mut(hidden);
            let (reset, rest) = rest.split_at_mut(hidden);
            let (candidate, product) = rest.split_at_mut(hidden);
            let product = &mut product[..hidden];
            for j in 0..hidden {
                let (z, r, n, q) = (update[j], reset[j], candidate[j], product[j]);
                let gradient = state_gradient[j];
                let inner = gradient * (S::ONE - z) * (S::ONE - n * n);
                update[j] = gradient * (last[j] - n) * z * (S::ONE - z);
                reset[j] = inner * q * r * (S::ONE - r);
                candidate[j] = inner;
                product[j] = inner * r;
                last_gradient[j] = gradient * z;
            }
        }
    }
}
