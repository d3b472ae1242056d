//! Kernels that look at one number or one row at a time.

use super::*;

impl Cuda {
    pub(super) fn gather(
        &self,
        rows: usize,
        width: usize,
        tokens: &Vector<u32>,
        table: Span<'_, Numbers>,
        add: bool,
        output: &mut Numbers,
    ) {
        let room = table.buffer.len() - table.start;
        let (tokens, output) = (tokens.at(0, rows), output.at(0, rows * width));
        let table = table.buffer.at(table.start, room);
        self.gpu.over_rows(
            "gather",
            rows,
            width,
            arguments![width, tokens, table, room, add, output],
        );
    }

    pub(super) fn choose_rows(
        &self,
        count: usize,
        chosen: &Vector<u32>,
        rows: Rows<'_, Numbers>,
        output: &mut Numbers,
    ) {
        let room = rows.buffer.len() - rows.start;
        let values = rows.buffer.place(rows.start, room);
        let (chosen, output) = (chosen.at(0, count), output.at(0, count * rows.width));
        self.gpu.over_rows(
            "choose_rows",
            count,
            rows.width,
            arguments![rows.width, rows.stride, chosen, values, room, output],
        );
    }

    pub(super) fn choose_tokens(
        &self,
        count: usize,
        chosen: &Vector<u32>,
        tokens: &Vector<u32>,
        output: &mut Vector<u32>,
    ) {
        let room = tokens.len();
        let (chosen, output) = (chosen.at(0, count), output.at(0, count));
        let tokens = tokens.at(0, room);
        self.gpu.over(
            "choose_tokens",
            count,
            arguments![count, chosen, tokens, room, output],
        );
    }

    pub(super) fn scatter_add(
        &self,
        sequences: Sequences,
        weights: &Numbers,
        tokens: &Vector<u32>,
        rows: Rows<'_, Numbers>,
        table: SpanMut<'_, Numbers>,
    ) {
        let room = table.buffer.len() - table.start;
        let weights = weights.weights(sequences.examples);
        let tokens = tokens.at(0, sequences.rows());
        let values = address_in_full(&sequences, &rows);
        let table = table.buffer.at(table.start, room);
        self.gpu.launch(
            "scatter_add",
            (sequences.rows(), 1),
            steps![
                sequences,
                weights,
                tokens,
                values,
                rows.stride,
                rows.width,
                table,
                room
            ],
        );
    }

    pub(super) fn add_bias(&self, rows: usize, width: usize, bias: Span<'_, Numbers>, values: &mut Numbers) {
        let (bias, values) = (bias.buffer.at(bias.start, width), values.at(0, rows * width));
        self.gpu
            .over_rows("add_bias", rows, width, arguments![width, bias, values]);
    }

    pub(super) fn activate(
        &self,
        activation: Activation,
        rows: usize,
        width: usize,
        bias: Option<Span<'_, Numbers>>,
        values: &mut Numbers,
        output: &mut Numbers,
    ) {
        let bias = optional(bias, width);
        let len = rows * width;
        let (values, output) = (values.place(0, len), output.place(0, len));
        self.gpu.over(
            "activate",
            len.div_ceil(4),
            arguments![kind(activation), len, width, bias, values, output],
        );
    }

    pub(super) fn activate_backward(
        &self,
        activation: Activation,
        len: usize,
        gradient: &Numbers,
        values: &mut Numbers,
    ) {
        let (gradient, values) = (gradient.place(0, len), values.place(0, len));
        self.gpu.over(
            "activate_backward",
            len.div_ceil(4),
            arguments![kind(activation), len, gradient, values],
        );
    }

    pub(super) fn dropout(
        &self,
        sequences: Sequences,
        width: usize,
        mask: Mask,
        keys: &Vector<u32>,
        values: &mut Numbers,
    ) {
        let rows = sequences.rows();
        let (keys, values) = (keys.at(0, sequences.examples), values.place(0, rows * width));
        let factor = (1.0 / mask.keep) as f32;
        self.gpu.over_rows(
            "dropout",
            rows,
            width,
            steps![
                sequences,
                width,
                mask.seed,
                mask.threshold(),
                factor,
                keys,
                values
            ],
        );
    }
}
