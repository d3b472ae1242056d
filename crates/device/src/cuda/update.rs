//! From a sum of gradients to the next parameters: optimizers.

use super::*;

impl Cuda {
    pub(super) fn axpy(&self, alpha: f64, x: &Numbers, y: &mut Numbers) {
        let len = y.len();
        assert_eq!(x.len(), len, "vectors of different lengths");
        self.gpu.over(
            "axpy",
            len,
            arguments![len, alpha as f32, x.at(0, len), y.at(0, len)],
        );
    }

    pub(super) fn adam(
        &self,
        step: Adam,
        gradient: &Numbers,
        parameters: &mut Numbers,
        first: &mut Numbers,
        second: &mut Numbers,
    ) {
        let len = parameters.len();
        assert!(
            gradient.len() == len && first.len() == len && second.len() == len,
            "vectors of different lengths"
        );
        self.gpu.over(
            "adam",
            len,
            arguments![
                len,
                step.rate as f32,
                step.first as f32,
                (1.0 - step.first) as f32,
                step.second as f32,
                (1.0 - step.second) as f32,
                step.first_correction as f32,
                step.second_correction as f32,
                step.epsilon as f32,
                step.decay as f32,
                step.noise as f32,
                step.floor as f32,
                gradient.at(0, len),
                parameters.at(0, len),
                first.at(0, len),
                second.at(0, len),
            ],
        );
    }

    pub(super) fn momentum(
        &self,
        step: Momentum,
        gradient: &Numbers,
        parameters: &mut Numbers,
        velocity: &mut Numbers,
    ) {
        let len = parameters.len();
        assert!(
            gradient.len() == len && velocity.len() == len,
            "vectors of different lengths"
        );
        self.gpu.over(
            "momentum",
            len,
            arguments![
                len,
                step.rate as f32,
                step.momentum as f32,
                step.decay as f32,
                gradient.at(0, len),
                parameters.at(0, len),
                velocity.at(0, len),
            ],
        );
    }
}
