//! Bits that one key determines, for work that must be resumed without being drawn anew.

use crate::Entropy;
use chacha20::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};
use zeroize::Zeroize;

/// A ChaCha12 stream of a secret key.
///
/// [`OsEntropy`](crate::OsEntropy) can be drawn from once. A long run that crashes has to go on with the noise it would have had: fresh noise for a step
/// that was already noised would be a second look at the data. Whoever knows the key can take the noise off: it is as private as the data.
/// It is wiped on drop and never printed.
/// ```
/// use noise::{Entropy, Keyed};
///
/// let key = [7; 32];
/// let first = Keyed::new(key, 0).bits(64);
/// assert_eq!(Keyed::new(key, 0).bits(64), first, "a run that goes on draws what it would have drawn");
/// assert_ne!(Keyed::new(key, 1).bits(64), first, "another number, another stream");
/// ```
pub struct Keyed {
    stream: ChaCha12Rng,
}

impl std::fmt::Debug for Keyed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Keyed(..)")
    }
}

impl Keyed {
    /// Stream `number` of a key. Streams of different numbers are independent, so that parallel work draws the same on any number of cores.
    pub fn new(mut key: [u8; 32], number: u64) -> Self {
        let mut stream = ChaCha12Rng::from_seed(key);
        key.zeroize();
        stream.set_stream(number);
        Self { stream }
    }

    /// The next bytes of the stream.
    pub(crate) fn bytes(&mut self, bytes: &mut [u8]) {
        self.stream.fill_bytes(bytes);
    }

    /// Goes on with this block of 16 words of this stream of the same key.
    pub(crate) fn go_to(&mut self, number: u64, block: u64) {
        self.stream.set_stream(number);
        self.stream.set_block_pos(block);
    }
}

impl Entropy for Keyed {
    fn bits(&mut self, count: u32) -> u64 {
        debug_assert!((1..=64).contains(&count));
        self.stream.next_u64() >> (64 - count)
    }

    fn fill(&mut self, words: &mut [u32], count: u32) {
        debug_assert!((1..=32).contains(&count));
        let drop = 32 - count;
        // One call for many words: the generator makes blocks of them.
        let mut bytes = [0u8; 256];
        for group in words.chunks_mut(64) {
            let bytes = &mut bytes[..4 * group.len()];
            self.stream.fill_bytes(bytes);
            for (word, bytes) in group.iter_mut().zip(bytes.chunks_exact(4)) {
                *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) >> drop;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_gives_the_same_bits_again() {
        let draw = |key: u8, number| {
            let mut keyed = Keyed::new([key; 32], number);
            let mut words = [0u32; 5];
            keyed.fill(&mut words, 31);
            (words, keyed.bits(64))
        };
        assert_eq!(draw(7, 3), draw(7, 3));
        assert_ne!(draw(7, 3), draw(7, 4));
        assert_ne!(draw(7, 3), draw(8, 3));
    }

    // The keystream of ChaCha12 with a zero key (Strombergson, draft-strombergson-chacha-test-vectors-01, TC1).
    #[test]
    fn the_stream_is_chacha12() {
        let first = Keyed::new([0; 32], 0).bits(64).to_le_bytes();
        assert_eq!(first, [0x9b, 0xf4, 0x9a, 0x6a, 0x07, 0x55, 0xf9, 0x53]);
    }

    #[test]
    fn nothing_secret_is_printed() {
        assert_eq!(format!("{:?}", Keyed::new([1; 32], 0)), "Keyed(..)");
    }
}
