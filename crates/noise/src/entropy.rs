//! Where every random bit comes from.

use crate::Error;
use chacha20::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};
use zeroize::Zeroize;

/// A source of independent uniform bits.
///
/// Samplers take one as a parameter; there is no ambient generator anywhere in the workspace (clippy.toml refuses the
/// usual ways around it by name).
///
/// ```
/// use exact::ratio;
/// use noise::{Bernoulli, Entropy, OsEntropy};
///
/// /// Whoever draws takes its bits as an argument, so that a test can say which they are.
/// fn randomized(answer: bool, entropy: &mut impl Entropy) -> Result<bool, noise::Error> {
///     let honest = Bernoulli::new(&ratio(3, 4))?.sample(entropy);
///     Ok(if honest { answer } else { !answer })
/// }
///
/// randomized(true, &mut OsEntropy::new()?)?;
/// # Ok::<(), noise::Error>(())
/// ```
pub trait Entropy {
    /// `count` fresh bits (1 to 64) as the low bits of the result.
    fn bits(&mut self, count: u32) -> u64;

    /// Fills each word with `count` fresh bits (1 to 32) as its low bits.
    fn fill(&mut self, words: &mut [u32], count: u32) {
        for word in words {
            *word = self.bits(count) as u32;
        }
    }

    /// Called by each sampler when a call begins, before it takes its first bit.
    ///
    /// A source that keeps a buffer uses it to notice that the process forked. A sampler runs no foreign code between
    /// this and its last bit, and a forked child keeps only the thread that forked, so no draw can straddle a fork.
    fn refresh(&mut self) {}
}

/// Bits replayed from bytes, most significant bit first: known answers and exhaustive tests.
///
/// Past the end it yields zeros and remembers that it did.
/// ```
/// use noise::{Entropy, Tape};
///
/// let mut tape = Tape::new([0b1010_0000]);
/// assert_eq!(tape.bits(3), 0b101);
/// assert_eq!((tape.position(), tape.exhausted()), (3, false));
/// assert_eq!(tape.bits(8), 0);
/// assert!(tape.exhausted());
/// ```
#[derive(Clone, Debug)]
pub struct Tape {
    bytes: Vec<u8>,
    position: usize,
    exhausted: bool,
}

impl Tape {
    /// A tape of these bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            bytes: bytes.into(),
            position: 0,
            exhausted: false,
        }
    }

    /// Whether more bits were asked for than the tape holds.
    pub fn exhausted(&self) -> bool {
        self.exhausted
    }

    /// How many bits were taken.
    pub fn position(&self) -> usize {
        self.position
    }
}

impl Entropy for Tape {
    fn bits(&mut self, count: u32) -> u64 {
        debug_assert!((1..=64).contains(&count));
        let mut result = 0u64;
        for _ in 0..count {
            let bit = match self.bytes.get(self.position / 8) {
                Some(byte) => (byte >> (7 - self.position % 8)) & 1,
                None => {
                    self.exhausted = true;
                    0
                }
            };
            self.position += 1;
            result = (result << 1) | u64::from(bit);
        }
        result
    }
}

/// After this many 64-bit words the key is replaced, so that a key read from memory tells little of the past.
const WORDS_PER_KEY: u64 = 1 << 24;

/// A ChaCha12 stream keyed by the operating system.
///
/// Reseeded from the system every 2^24 words and whenever the process forked, so parent and child never share noise.
/// The new key also takes in the old stream, so a reseed can only add entropy. The state is wiped on drop and never printed.
pub struct OsEntropy {
    stream: ChaCha12Rng,
    process: u32,
    words_left: u64,
}

impl std::fmt::Debug for OsEntropy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("OsEntropy(..)")
    }
}

impl OsEntropy {
    /// A fresh stream.
    pub fn new() -> Result<Self, Error> {
        let mut seed = system_bytes()?;
        let stream = ChaCha12Rng::from_seed(seed);
        seed.zeroize();
        Ok(Self {
            stream,
            process: std::process::id(),
            words_left: WORDS_PER_KEY,
        })
    }

    /// # Panics
    /// If the operating system refuses random bytes: there is no safe way to go on.
    #[cold]
    fn reseed(&mut self) {
        let mut seed = system_bytes().unwrap_or_else(|error| panic!("{error}"));
        let mut own = [0u8; 32];
        self.stream.fill_bytes(&mut own);
        for (byte, old) in seed.iter_mut().zip(own) {
            *byte ^= old;
        }
        self.stream = ChaCha12Rng::from_seed(seed);
        seed.zeroize();
        own.zeroize();
        self.words_left = WORDS_PER_KEY;
    }

    fn take(&mut self, words: u64) {
        match self.words_left.checked_sub(words) {
            Some(left) => self.words_left = left,
            None => self.reseed(),
        }
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the one way to the operating system's entropy"
)]
fn system_bytes() -> Result<[u8; 32], Error> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| Error::NoEntropy(error.to_string()))?;
    Ok(bytes)
}

impl Entropy for OsEntropy {
    fn bits(&mut self, count: u32) -> u64 {
        debug_assert!((1..=64).contains(&count));
        self.take(1);
        self.stream.next_u64() >> (64 - count)
    }

    fn fill(&mut self, words: &mut [u32], count: u32) {
        debug_assert!((1..=32).contains(&count));
        self.take(words.len() as u64 / 2 + 1);
        let drop = 32 - count;
        let mut pairs = words.chunks_exact_mut(2);
        for pair in &mut pairs {
            let word = self.stream.next_u64();
            pair[0] = (word as u32) >> drop;
            pair[1] = ((word >> 32) as u32) >> drop;
        }
        for word in pairs.into_remainder() {
            *word = self.stream.next_u32() >> drop;
        }
    }

    fn refresh(&mut self) {
        let process = std::process::id();
        if process != self.process {
            self.process = process;
            self.reseed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tape_replays_most_significant_bit_first() {
        let mut tape = Tape::new([0b1010_0001, 0xff]);
        assert_eq!(tape.bits(3), 0b101);
        assert_eq!(tape.bits(5), 1);
        assert_eq!(tape.bits(8), 0xff);
        assert!(!tape.exhausted());
        assert_eq!(tape.bits(4), 0);
        assert!(tape.exhausted());
    }

    #[test]
    fn another_process_gets_another_stream() {
        let mut parent = OsEntropy::new().unwrap();
        parent.bits(64);
        // What a fork leaves in the child: the same state, under another process id.
        let mut child = OsEntropy {
            stream: clone_of(&parent.stream),
            process: parent.process.wrapping_add(1),
            words_left: 5,
        };
        let mut twin = OsEntropy {
            stream: clone_of(&parent.stream),
            process: parent.process,
            words_left: 5,
        };
        child.refresh();
        twin.refresh();
        let expected = parent.bits(64);
        assert_eq!(
            twin.bits(64),
            expected,
            "the same process goes on with its stream"
        );
        assert_ne!(
            child.bits(64),
            expected,
            "a child must not repeat its parent's noise"
        );
    }

    fn clone_of(stream: &ChaCha12Rng) -> ChaCha12Rng {
        let mut copy = ChaCha12Rng::from_seed(stream.get_seed());
        copy.set_stream(stream.get_stream());
        copy.set_word_pos(stream.get_word_pos());
        copy
    }

    #[test]
    fn keys_are_replaced() {
        let mut source = OsEntropy::new().unwrap();
        let before = source.stream.get_seed();
        source.words_left = 1;
        source.bits(64);
        assert_eq!(source.stream.get_seed(), before);
        source.bits(64);
        assert_ne!(source.stream.get_seed(), before);
        source.words_left = 3;
        source.fill(&mut [0; 64], 31);
        assert_eq!(source.words_left, WORDS_PER_KEY);
    }

    #[test]
    fn nothing_secret_is_printed() {
        assert_eq!(format!("{:?}", OsEntropy::new().unwrap()), "OsEntropy(..)");
    }

    // The keystream of ChaCha12 with a zero key (Strombergson, draft-strombergson-chacha-test-vectors-01, TC1).
    #[test]
    fn the_stream_is_chacha12() {
        let mut source = OsEntropy {
            stream: ChaCha12Rng::from_seed([0; 32]),
            process: 0,
            words_left: 9,
        };
        assert_eq!(
            source.bits(64).to_le_bytes(),
            [0x9b, 0xf4, 0x9a, 0x6a, 0x07, 0x55, 0xf9, 0x53]
        );
    }
}
