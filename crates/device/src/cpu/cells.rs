//! Recurrent cells. The gradient of the gates takes their place.
//!
//! All numbers of a step go through in bunches of local arrays: with this many slices at once the compiler cannot tell that they do not overlap, and would
//! go number by number.

use super::lanes::{LANES, vectorised};
use crate::Scalar;

type Bunch<S> = [S; LANES];

/// The bunch at `at`, filled up with zeros past the end.
#[inline(always)]
fn load<S: Scalar>(from: &[S], at: usize) -> Bunch<S> {
    match from.get(at..at + LANES) {
        Some(values) => {
            let mut bunch = [S::ZERO; LANES];
            bunch.copy_from_slice(values);
            bunch
        }
        None => {
            let mut bunch = [S::ZERO; LANES];
            bunch[..from.len() - at].copy_from_slice(&from[at..]);
            bunch
        }
    }
}

/// Puts a bunch back, as much of it as there is room for.
#[inline(always)]
fn store<S: Scalar>(bunch: Bunch<S>, into: &mut [S], at: usize) {
    match into.get_mut(at..at + LANES) {
        Some(place) => place.copy_from_slice(&bunch),
        None => {
            let count = into.len() - at;
            into[at..].copy_from_slice(&bunch[..count]);
        }
    }
}

/// f of each lane.
#[inline(always)]
fn each<S: Scalar>(f: impl Fn(usize) -> S) -> Bunch<S> {
    let mut bunch = [S::ZERO; LANES];
    for (lane, value) in bunch.iter_mut().enumerate() {
        *value = f(lane);
    }
    bunch
}

/// A bunch of each of the four blocks of a row of gates.
#[inline(always)]
fn load_blocks<S: Scalar>(row: &[S], hidden: usize, at: usize) -> [Bunch<S>; 4] {
    let bunch = |block: usize| load(&row[block * hidden..(block + 1) * hidden], at);
    [bunch(0), bunch(1), bunch(2), bunch(3)]
}

/// Puts back a bunch of each block.
#[inline(always)]
fn store_blocks<S: Scalar>(bunches: [Bunch<S>; 4], row: &mut [S], hidden: usize, at: usize) {
    for (block, bunch) in bunches.into_iter().enumerate() {
        store(bunch, &mut row[block * hidden..(block + 1) * hidden], at);
    }
}

vectorised! {
    /// See [`crate::Device::lstm_forward`]; all slices begin at their first number.
    pub(super) fn lstm_forward<S>(hidden: usize, bias: &[S], gates: &mut [S], last: &[S], next: &mut [S], states: &mut [S]) {
        for (((row, last), next), states) in gates
            .chunks_exact_mut(4 * hidden)
            .zip(last.chunks_exact(hidden))
            .zip(next.chunks_exact_mut(hidden))
            .zip(states.chunks_exact_mut(hidden))
        {
            for at in (0..hidden).step_by(LANES) {
                let [input, forget, candidate, output] = load_blocks(row, hidden, at);
                let [input_bias, forget_bias, candidate_bias, output_bias] = load_blocks(bias, hidden, at);
                let last = load(last, at);
                let i = each(|l| (input[l] + input_bias[l]).sigmoid());
                let f = each(|l| (forget[l] + forget_bias[l]).sigmoid());
                let g = each(|l| (candidate[l] + candidate_bias[l]).tanh());
                let o = each(|l| (output[l] + output_bias[l]).sigmoid());
                let cell = each(|l| f[l] * last[l] + i[l] * g[l]);
                store_blocks([i, f, g, o], row, hidden, at);
                store(cell, next, at);
                store(each(|l| o[l] * cell[l].tanh()), states, at);
            }
        }
    }
}

vectorised! {
    /// See [`crate::Device::lstm_backward`].
    pub(super) fn lstm_backward<S>(
        hidden: usize, gates: &mut [S], last: &[S], next: &[S], state_gradient: &[S], cell_gradient: &mut [S],
    ) {
        for ((((row, last), next), state_gradient), cell_gradient) in gates
            .chunks_exact_mut(4 * hidden)
            .zip(last.chunks_exact(hidden))
            .zip(next.chunks_exact(hidden))
            .zip(state_gradient.chunks_exact(hidden))
            .zip(cell_gradient.chunks_exact_mut(hidden))
        {
            for at in (0..hidden).step_by(LANES) {
                let [i, f, g, o] = load_blocks(row, hidden, at);
                let (last, next) = (load(last, at), load(next, at));
                let (state, later) = (load(state_gradient, at), load(cell_gradient, at));
                let squashed = each(|l| next[l].tanh());
                let cell = each(|l| later[l] + state[l] * o[l] * (S::ONE - squashed[l] * squashed[l]));
                let gradients = [
                    each(|l| cell[l] * g[l] * i[l] * (S::ONE - i[l])),
                    each(|l| cell[l] * last[l] * f[l] * (S::ONE - f[l])),
                    each(|l| cell[l] * i[l] * (S::ONE - g[l] * g[l])),
                    each(|l| state[l] * squashed[l] * o[l] * (S::ONE - o[l])),
                ];
                store_blocks(gradients, row, hidden, at);
                store(each(|l| cell[l] * f[l]), cell_gradient, at);
            }
        }
    }
}

vectorised! {
    /// See [`crate::Device::gru_forward`].
    pub(super) fn gru_forward<S>(hidden: usize, bias: &[S], gates: &mut [S], last: &[S], next: &mut [S]) {
        for ((row, last), next) in
            gates.chunks_exact_mut(4 * hidden).zip(last.chunks_exact(hidden)).zip(next.chunks_exact_mut(hidden))
        {
            for at in (0..hidden).step_by(LANES) {
                let [update, reset, candidate, product] = load_blocks(row, hidden, at);
                let [update_bias, reset_bias, candidate_bias, product_bias] = load_blocks(bias, hidden, at);
                let last = load(last, at);
                let z = each(|l| (update[l] + update_bias[l]).sigmoid());
                let r = each(|l| (reset[l] + reset_bias[l]).sigmoid());
                let q = each(|l| product[l] + product_bias[l]);
                let n = each(|l| (candidate[l] + candidate_bias[l] + r[l] * q[l]).tanh());
                store_blocks([z, r, n, q], row, hidden, at);
                store(each(|l| n[l] + z[l] * (last[l] - n[l])), next, at);
            }
        }
    }
}

vectorised! {
    /// See [`crate::Device::gru_backward`].
    pub(super) fn gru_backward<S>(hidden: usize, gates: &mut [S], last: &[S], state_gradient: &[S], last_gradient: &mut [S]) {
        for (((row, last), state_gradient), last_gradient) in gates
            .chunks_exact_mut(4 * hidden)
            .zip(last.chunks_exact(hidden))
            .zip(state_gradient.chunks_exact(hidden))
            .zip(last_gradient.chunks_exact_mut(hidden))
        {
            for at in (0..hidden).step_by(LANES) {
                let [z, r, n, q] = load_blocks(row, hidden, at);
                let (last, gradient) = (load(last, at), load(state_gradient, at));
                let inner = each(|l| gradient[l] * (S::ONE - z[l]) * (S::ONE - n[l] * n[l]));
                let gradients = [
                    each(|l| gradient[l] * (last[l] - n[l]) * z[l] * (S::ONE - z[l])),
                    each(|l| inner[l] * q[l] * r[l] * (S::ONE - r[l])),
                    inner,
                    each(|l| inner[l] * r[l]),
                ];
                store_blocks(gradients, row, hidden, at);
                store(each(|l| gradient[l] * z[l]), last_gradient, at);
            }
        }
    }
}
