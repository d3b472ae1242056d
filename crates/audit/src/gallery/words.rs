//! Where the exhibits' randomness comes from: words, uniform numbers, exponential numbers.

use std::sync::LazyLock;

/// A source of uniform 64-bit words.
pub trait Words: Send {
    /// The next word.
    fn word(&mut self) -> u64;
}

impl<F: FnMut() -> u64 + Send> Words for F {
    fn word(&mut self) -> u64 {
        self()
    }
}

/// Words that a seed determines, so that a finding can be replayed: eight generators xoshiro256++ (Blackman
/// and Vigna 2019) in turn, side by side because a processor computes them so. It protects nobody, and is not
/// meant to.
#[derive(Clone, Debug)]
pub struct Seeded {
    state: [[u64; LANES]; 4],
    drawn: [u64; DRAWN],
    /// The next of them.
    at: usize,
}

const LANES: usize = 8;
/// Words drawn at a time.
const DRAWN: usize = 32 * LANES;

impl Seeded {
    /// One of many independent streams of a seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        // SplitMix64 fills the state, as its authors advise.
        let mut filling = seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95);
        let mut next = || {
            filling = filling.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = filling;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        let mut state = [[0; LANES]; 4];
        for lane in 0..LANES {
            state.iter_mut().for_each(|part| part[lane] = next());
        }
        Self {
            state,
            drawn: [0; DRAWN],
            at: DRAWN,
        }
    }

    #[inline(never)]
    fn refill(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.state;
        for words in self.drawn.chunks_exact_mut(LANES) {
            let sum = each(|lane| a[lane].wrapping_add(d[lane]).rotate_left(23));
            words.copy_from_slice(&each(|lane| sum[lane].wrapping_add(a[lane])));
            let shifted = each(|lane| b[lane] << 17);
            c = each(|lane| c[lane] ^ a[lane]);
            d = each(|lane| d[lane] ^ b[lane]);
            b = each(|lane| b[lane] ^ c[lane]);
            a = each(|lane| a[lane] ^ d[lane]);
            c = each(|lane| c[lane] ^ shifted[lane]);
            d = each(|lane| d[lane].rotate_left(45));
        }
        self.state = [a, b, c, d];
        self.at = 0;
    }
}

/// Something of all lanes.
fn each(of: impl Fn(usize) -> u64) -> [u64; LANES] {
    std::array::from_fn(of)
}

impl Words for Seeded {
    #[inline]
    fn word(&mut self) -> u64 {
        if self.at >= DRAWN {
            self.refill();
        }
        let word = self.drawn[self.at];
        self.at += 1;
        word
    }
}

/// Uniform on (0, 1).
pub(super) fn unit(word: u64) -> f64 {
    ((word >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64)
}

/// Standard exponential.
pub(super) fn exponential(word: u64) -> f64 {
    -unit(word).ln()
}

/// The area under e^(−x) in 256 layers of equal area (the ziggurat of Marsaglia and Tsang 2000): a point in a
/// layer is mostly under the curve, which its width tells without a logarithm.
pub(super) struct Layers {
    /// Where each layer ends, and the next one, which lies above it, is sure to be under the curve.
    ends: [f64; 257],
    heights: [f64; 257],
}

pub(super) static LAYERS: LazyLock<Layers> = LazyLock::new(Layers::new);

impl Layers {
    fn new() -> Self {
        // The end of the lowest layer, beyond which the tail has what it lacks in area; found by bisection,
        // so that the highest layer ends at zero.
        let ends_from = |tail: f64| {
            let area = (1.0 + tail) * (-tail).exp();
            let mut ends = [0.0; 257];
            ends[0] = area * tail.exp();
            ends[1] = tail;
            for layer in 2..256 {
                let before: f64 = ends[layer - 1];
                // Never a negative zero, which would divide to the wrong side.
                ends[layer] = 0.0 - ((-before).exp() + area / before).min(1.0).ln();
            }
            // What is missing at the top.
            let missing = 1.0 - (-ends[255]).exp() - area / ends[255];
            (ends, missing)
        };
        let (mut low, mut high) = (1.0, 20.0);
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            // Layers that reach too high are too large, and the tail begins too early.
            if ends_from(middle).1 > 0.0 {
                high = middle;
            } else {
                low = middle;
            }
        }
        let (ends, _) = ends_from(high);
        Self {
            ends,
            heights: ends.map(|end: f64| (-end).exp()),
        }
    }

    /// Standard exponential, from this word and more where it does not decide. The lowest bit of the word is
    /// not looked at.
    #[inline]
    pub(super) fn exponential<W: Words>(&self, mut word: u64, words: &mut W) -> f64 {
        loop {
            let layer = (word >> 1 & 255) as usize;
            let place = unit(word) * self.ends[layer];
            if place < self.ends[layer + 1] {
                return place;
            }
            if layer == 0 {
                // Beyond the end an exponential number is one again.
                return self.ends[1] + exponential(words.word());
            }
            let (low, high) = (self.heights[layer], self.heights[layer + 1]);
            if low + unit(words.word()) * (high - low) < (-place).exp() {
                return place;
            }
            word = words.word();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goodness::frequency_test;

    /// The distribution of the layers, at places inside of them and in the tail, and a mutant that is off by
    /// a hundredth.
    #[test]
    fn layers_are_exponential() {
        let (mut words, times) = (Seeded::new(4, 0), 4_000_000);
        let ends = &LAYERS.ends;
        assert!(ends.windows(2).all(|pair| pair[0] > pair[1]) && ends[256] == 0.0);
        assert!(
            (LAYERS.ends[1] - 7.697_117_470_131_05).abs() < 1e-9,
            "{}",
            ends[1]
        );
        let places = [0.001, 0.05, 0.7, 1.0, 2.5, 5.0, 7.6, 7.8, 9.0];
        let mut above = [0u64; 9];
        for _ in 0..times {
            let word = words.word();
            let value = LAYERS.exponential(word, &mut words);
            above
                .iter_mut()
                .zip(places)
                .for_each(|(count, place)| *count += u64::from(value >= place));
        }
        for (count, place) in above.into_iter().zip(places) {
            frequency_test(count, times, (-place).exp(), 1e-9).assert_consistent();
        }
        frequency_test(above[3], times, (-1.01f64).exp(), 1e-9).assert_rejected();
    }
}
