//! The sum along a contour, in plain floats with a bound on its error.

use super::ball::Ball;

/// Phases that are made from one, before the next is computed.
const TURNS: usize = 32;

/// Terms of a sum over k, and how far they are off together.
#[derive(Default)]
pub(super) struct Terms {
    values: Vec<(f64, f64)>,
    error: f64,
    size: f64,
}

impl Terms {
    /// One more, which may be off by `error`.
    pub(super) fn push(&mut self, value: (f64, f64), error: f64) {
        self.size += libm::hypot(value.0, value.1) * (1.0 + 1e-9);
        self.error += error;
        self.values.push(value);
    }

    /// η/2π times Σ over k of the real part of the term times e^(−ikηε).
    pub(super) fn sum(&self, eta: f64, epsilon: f64) -> Ball {
        let turn = |k: usize| {
            let (sine, cosine) = libm::sincos(k as f64 * eta * epsilon);
            (cosine, -sine)
        };
        let steps: Vec<(f64, f64)> = (0..TURNS).map(turn).collect();
        let mut sum = 0.0;
        for (block, values) in self.values.chunks(TURNS).enumerate() {
            let (mut re, mut im) = (0.0, 0.0);
            for (value, step) in values.iter().zip(&steps) {
                re += value.0 * step.0 - value.1 * step.1;
                im += value.0 * step.1 + value.1 * step.0;
            }
            let start = turn(block * TURNS);
            sum += re * start.0 - im * start.1;
        }
        // Angles are rounded once, each up to the largest; products, sums of 32, and sums over blocks.
        let count = self.values.len() as f64;
        let angle = count * eta * epsilon.abs();
        let rounding = f64::EPSILON * (angle + count / TURNS as f64 + 2.0 * TURNS as f64 + 20.0);
        let sum = Ball::exact(sum).widened(self.size * rounding * (1.0 + 1e-6) + self.error * (1.0 + 1e-6));
        sum * Ball::exact(eta).over(Ball::exact(2.0) * Ball::pi())
    }
}
