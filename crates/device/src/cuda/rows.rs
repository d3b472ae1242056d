//! Kernels that look along a row: normalisation, softmax, losses.

use super::*;

/// Rows of `normalize_short` and its like in a block: a warp each.
const LINES: usize = launch::THREADS / 32;

/// Whether a warp holds a row, as those kernels need it.
fn short(width: usize) -> bool {
    width.is_multiple_of(128) && width <= 1024
}

impl Cuda {
    pub(super) fn normalize(
        &self,
        rows: usize,
        width: usize,
        epsilon: f64,
        scale: Span<'_, Numbers>,
        shift: Span<'_, Numbers>,
        input: &Numbers,
        output: &mut Numbers,
        statistics: &mut Numbers,
    ) {
        let len = rows * width;
        let scale = scale.buffer.at(scale.start, width);
        let shift = shift.buffer.at(shift.start, width);
        let (input, output) = (input.at(0, len), output.place(0, len));
        let statistics = statistics.at(0, 2 * rows);
        let (name, lines) = if short(width) {
            ("normalize_short", LINES)
        } else {
            ("normalize", 1)
        };
        self.gpu.launch(
            name,
            (rows.div_ceil(lines), 1),
            arguments![
                rows,
                width,
                epsilon as f32,
                scale,
                shift,
                input,
                output,
                statistics
            ],
        );
    }

    pub(super) fn normalize_backward(
        &self,
        sequences: Sequences,
        width: usize,
        scale: Span<'_, Numbers>,
        input: &Numbers,
        statistics: &Numbers,
        gradient: &Numbers,
        residual: Option<&Numbers>,
        input_gradient: &mut Numbers,
        example_gradients: &mut Numbers,
    ) {
        let (rows, len) = (sequences.rows(), sequences.rows() * width);
        let scale = scale.buffer.at(scale.start, width);
        let (input, statistics) = (input.at(0, len), statistics.at(0, 2 * rows));
        let gradient = gradient.place(0, len);
        let residual = residual.map_or(0, |residual| residual.place(0, len));
        let input_gradient = input_gradient.place(0, len);
        let example_gradients = example_gradients.at(0, sequences.examples * 2 * width);
        let (name, lines) = if short(width) {
            ("normalize_backward_short", LINES)
        } else {
            ("normalize_backward", 1)
        };
        self.gpu.launch(
            name,
            (rows.div_ceil(lines), 1),
            arguments![
                rows,
                width,
                scale,
                input,
                statistics,
                gradient,
                residual,
                input_gradient
            ],
        );
        self.gpu.launch(
            "normalize_examples",
            (sequences.examples, width.div_ceil(32).min(64)),
            steps![sequences, width, input, statistics, gradient, example_gradients],
        );
    }

    pub(super) fn causal_softmax(&self, count: usize, steps: usize, factor: f64, scores: &mut Numbers) {
        let scores = scores.at(0, count * steps * steps);
        self.gpu.launch(
            "causal_softmax",
            ((count * steps).div_ceil(launch::THREADS / 32), 1),
            arguments![count, steps, factor as f32, scores],
        );
    }

    pub(super) fn causal_softmax_backward(
        &self,
        count: usize,
        steps: usize,
        factor: f64,
        probabilities: &Numbers,
        gradient: &mut Numbers,
    ) {
        let len = count * steps * steps;
        let (probabilities, gradient) = (probabilities.at(0, len), gradient.at(0, len));
        self.gpu.launch(
            "causal_softmax_backward",
            ((count * steps).div_ceil(launch::THREADS / 32), 1),
            arguments![count, steps, factor as f32, probabilities, gradient],
        );
    }

    pub(super) fn cross_entropy(
        &self,
        rows: usize,
        width: usize,
        bias: Option<Span<'_, Numbers>>,
        targets: &Vector<u32>,
        scales: &Numbers,
        gradient: bool,
        logits: &mut Numbers,
        losses: &mut Numbers,
    ) {
        let bias = optional(bias, width);
        let (targets, scales) = (targets.at(0, rows), scales.at(0, rows));
        let (logits, losses) = (logits.place(0, rows * width), losses.at(0, rows));
        self.gpu.launch(
            "cross_entropy",
            (rows, 1),
            arguments![width, bias, targets, scales, gradient, logits, losses],
        );
    }

    pub(super) fn squared_error(
        &self,
        rows: usize,
        width: usize,
        bias: Option<Span<'_, Numbers>>,
        targets: &Numbers,
        values: &mut Numbers,
        losses: &mut Numbers,
    ) {
        let bias = optional(bias, width);
        let (targets, values) = (targets.at(0, rows * width), values.at(0, rows * width));
        let losses = losses.at(0, rows);
        self.gpu.launch(
            "squared_error",
            (rows, 1),
            arguments![width, bias, targets, values, losses],
        );
    }
}
