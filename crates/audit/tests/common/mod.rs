//! A small generator for tests: textbook mechanisms need randomness that can be repeated.

// Each test file uses its own part.
#![allow(dead_code)]

/// SplitMix64 (Steele, Lea and Flood 2014). Not for anything but tests.
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    /// Starts from a seed and prints it, so that a failure can be repeated.
    pub(crate) fn new(seed: u64) -> Self {
        println!("seed {seed}");
        Self(seed)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform on (0, 1), multiples of 2^-53 plus half a step.
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) * (-53f64).exp2()
    }

    /// The textbook Laplace sampler: inverse distribution function in floats.
    pub(crate) fn laplace(&mut self, scale: f64) -> f64 {
        let u = self.uniform() - 0.5;
        -scale * u.signum() * (1.0 - 2.0 * u.abs()).ln()
    }

    /// The difference of two geometric variables.
    pub(crate) fn discrete_laplace(&mut self, scale: f64) -> i64 {
        let mut geometric = || (self.uniform().ln() * -scale).floor() as i64;
        geometric() - geometric()
    }

    /// Box and Muller.
    pub(crate) fn gaussian(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}
