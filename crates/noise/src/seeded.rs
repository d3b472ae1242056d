//! Bits that can be drawn again: experiments are repeated from their seed.

use crate::Entropy;
use chacha20::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};

/// A stream of bits that its seed determines. For synthetic data, public splits and simulated mechanisms alone: noise that protects somebody comes from
/// [`OsEntropy`](crate::OsEntropy).
/// ```
/// use noise::Seeded;
///
/// // For experiments that everybody can repeat; never for a release.
/// let mut seeded = Seeded::new(1);
/// assert_eq!(seeded.below(1000), Seeded::new(1).below(1000));
/// assert!((0.0..1.0).contains(&seeded.unit()));
/// ```
pub struct Seeded {
    stream: ChaCha12Rng,
}

impl Seeded {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            stream: ChaCha12Rng::seed_from_u64(seed),
        }
    }

    /// Stream `number` of this seed: streams of different numbers are independent, so that parallel work draws the same on any number of cores.
    pub fn numbered(seed: u64, number: u64) -> Self {
        let mut seeded = Self::new(seed);
        seeded.stream.set_stream(number);
        seeded
    }

    /// A uniform number in [0, 1), on the grid of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.stream.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A uniform number in 0..count, which must not be zero.
    pub fn below(&mut self, count: u64) -> u64 {
        // Rejects the few words that would make small numbers likelier.
        let limit = u64::MAX - u64::MAX % count;
        loop {
            let word = self.stream.next_u64();
            if word < limit {
                return word % count;
            }
        }
    }

    /// A uniform place in a list of this length; zero for an empty one.
    pub fn index(&mut self, length: usize) -> usize {
        self.below((length as u64).max(1)) as usize
    }

    /// Whether something of this probability happens.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// The numbers 0..count in a random order.
    pub fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for place in (1..count).rev() {
            order.swap(place, self.index(place + 1));
        }
        order
    }

    /// A standard normal number (Box and Muller; floats, for simulations only).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

impl Entropy for Seeded {
    fn bits(&mut self, count: u32) -> u64 {
        self.stream.next_u64() >> (64 - count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_stream_again() {
        let draw = |seed| {
            let mut seeded = Seeded::new(seed);
            (0..4).map(|_| seeded.bits(64)).collect::<Vec<u64>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        let numbered = |seed, number| Seeded::numbered(seed, number).bits(64);
        assert_eq!(numbered(7, 3), numbered(7, 3));
        assert_ne!(numbered(7, 3), numbered(7, 4));
        assert_eq!(numbered(7, 0), Seeded::new(7).bits(64));
    }

    #[test]
    fn numbers_lie_where_they_should() {
        let mut seeded = Seeded::new(1);
        for _ in 0..10_000 {
            assert!((0.0..1.0).contains(&seeded.unit()));
            assert!(seeded.below(3) < 3);
            assert!(seeded.normal().is_finite());
        }
        assert_eq!(seeded.index(0), 0);
        let mut order = seeded.order(100);
        assert_ne!(order, (0..100).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }
}
