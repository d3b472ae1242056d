//! Steps of recurrent layers.

use super::*;

impl Cuda {
    pub(super) fn lstm_forward(
        &self,
        examples: usize,
        hidden: usize,
        bias: Span<'_, Numbers>,
        gates: SpanMut<'_, Numbers>,
        cells: &mut Numbers,
        last: usize,
        next: usize,
        states: SpanMut<'_, Numbers>,
    ) {
        let len = examples * hidden;
        assert!(last.abs_diff(next) >= len, "a step would overwrite what it reads");
        let (last, next) = (cells.at(last, len), cells.at(next, len));
        let bias = bias.buffer.at(bias.start, 4 * hidden);
        let gates = gates.buffer.at(gates.start, 4 * len);
        let states = states.buffer.at(states.start, len);
        self.gpu.over_rows(
            "lstm_forward",
            examples,
            hidden,
            arguments![hidden, bias, gates, last, next, states],
        );
    }

    pub(super) fn lstm_backward(
        &self,
        examples: usize,
        hidden: usize,
        gates: SpanMut<'_, Numbers>,
        cells: &Numbers,
        last: usize,
        next: usize,
        state_gradient: Span<'_, Numbers>,
        cell_gradient: &mut Numbers,
    ) {
        let len = examples * hidden;
        let (last, next) = (cells.at(last, len), cells.at(next, len));
        let gates = gates.buffer.at(gates.start, 4 * len);
        let state_gradient = state_gradient.buffer.at(state_gradient.start, len);
        let cell_gradient = cell_gradient.at(0, len);
        self.gpu.over_rows(
            "lstm_backward",
            examples,
            hidden,
            arguments![hidden, gates, last, next, state_gradient, cell_gradient],
        );
    }

    pub(super) fn gru_forward(
        &self,
        examples: usize,
        hidden: usize,
        bias: Span<'_, Numbers>,
        gates: SpanMut<'_, Numbers>,
        states: &mut Numbers,
        last: usize,
        next: usize,
    ) {
        let len = examples * hidden;
        assert!(last.abs_diff(next) >= len, "a step would overwrite what it reads");
        let (last, next) = (states.at(last, len), states.at(next, len));
        let bias = bias.buffer.at(bias.start, 4 * hidden);
        let gates = gates.buffer.at(gates.start, 4 * len);
        self.gpu.over_rows(
            "gru_forward",
            examples,
            hidden,
            arguments![hidden, bias, gates, last, next],
        );
    }

    pub(super) fn gru_backward(
        &self,
        examples: usize,
        hidden: usize,
        gates: SpanMut<'_, Numbers>,
        states: &Numbers,
        last: usize,
        state_gradient: Span<'_, Numbers>,
        last_gradient: &mut Numbers,
    ) {
        let len = examples * hidden;
        let last = states.at(last, len);
        let gates = gates.buffer.at(gates.start, 4 * len);
        let state_gradient = state_gradient.buffer.at(state_gradient.start, len);
        let last_gradient = last_gradient.at(0, len);
        self.gpu.over_rows(
            "gru_backward",
            examples,
            hidden,
            arguments![hidden, gates, last, state_gradient, last_gradient],
        );
    }
}
