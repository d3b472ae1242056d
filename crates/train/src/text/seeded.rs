//! Bits that can be drawn again, for made-up text and public splits. Noise that protects somebody never comes from here.

use chacha20::ChaCha12Rng;
use noise::Entropy;
use rand_core::{Rng, SeedableRng};

/// A stream of bits that a public seed determines.
pub(crate) struct Seeded {
    stream: ChaCha12Rng,
}

impl Seeded {
    /// Stream `number` of this seed; different numbers are independent.
    pub(crate) fn numbered(seed: u64, number: u64) -> Self {
        let mut stream = ChaCha12Rng::seed_from_u64(seed);
        stream.set_stream(number);
        Self { stream }
    }

    /// Uniform in [0, 1), on the grid of 2⁻⁵³.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.stream.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..count; zero for zero.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        let count = (count as u64).max(1);
        // Rejects the few words that would make small numbers likelier.
        let limit = u64::MAX - u64::MAX % count;
        loop {
            let word = self.stream.next_u64();
            if word < limit {
                return (word % count) as usize;
            }
        }
    }

    /// Whether something of this probability happens.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// The numbers 0..count in a random order.
    pub(crate) fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for place in (1..count).rev() {
            order.swap(place, self.below(place + 1));
        }
        order
    }
}

impl Entropy for Seeded {
    fn bits(&mut self, count: u32) -> u64 {
        self.stream.next_u64() >> (64 - count)
    }
}
