//! Attention in tiles.

use super::*;

/// Queries or keys of a block, as in `attention.cu`.
const LINES: usize = 128;

impl Cuda {
    /// Whether there is a kernel for these sizes.
    fn has_attention(&self, heads: Heads) -> bool {
        self.products == Products::Half && self.gpu.has_halves && [32, 64].contains(&heads.size)
    }

    pub(super) fn attention(
        &self,
        heads: Heads,
        factor: f64,
        projected: &Numbers,
        context: &mut Numbers,
        logs: &mut Numbers,
    ) -> bool {
        if !self.has_attention(heads) {
            return false;
        }
        let (rows, width) = (heads.examples * heads.steps, heads.width());
        let scale = (factor * std::f64::consts::LOG2_E) as f32;
        self.gpu.launch(
            &format!("attention_forward_{}", heads.size),
            (heads.examples * heads.heads, heads.steps.div_ceil(LINES)),
            arguments![
                heads.steps,
                heads.heads,
                width,
                scale,
                projected.place(0, 3 * rows * width),
                context.place(0, rows * width),
                logs.at(0, heads.rows())
            ],
        );
        true
    }

    /// The second half of `logs` is room for what both kernels need of each row.
    pub(super) fn attention_backward(
        &self,
        heads: Heads,
        factor: f64,
        projected: &Numbers,
        context: &Numbers,
        logs: &mut Numbers,
        gradient: &Numbers,
        into: &mut Numbers,
    ) {
        assert!(self.has_attention(heads), "attention went another way");
        let (rows, width) = (heads.examples * heads.steps, heads.width());
        let scale = (factor * std::f64::consts::LOG2_E) as f32;
        let (context, gradient) = (context.place(0, rows * width), gradient.place(0, rows * width));
        let deltas = logs.at(heads.rows(), heads.rows());
        let logs = logs.at(0, heads.rows());
        self.gpu.launch(
            "attention_deltas",
            ((rows * heads.heads).div_ceil(launch::THREADS / 32), 1),
            arguments![rows, heads.steps, heads.heads, width, gradient, context, deltas],
        );
        for kernel in ["keys", "queries"] {
            self.gpu.launch(
                &format!("attention_{kernel}_{}", heads.size),
                (heads.examples * heads.heads, heads.steps.div_ceil(LINES)),
                arguments![
                    heads.steps,
                    heads.heads,
                    width,
                    scale,
                    factor as f32,
                    projected.place(0, 3 * rows * width),
                    gradient,
                    logs,
                    deltas,
                    into.place(0, 3 * rows * width)
                ],
            );
        }
    }
}
