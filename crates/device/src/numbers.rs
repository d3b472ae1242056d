//! Whole numbers, where they are, and what is done to them there.

/// Where whole numbers are.
pub enum Numbers<'a> {
    /// In the host's memory.
    Here(&'a mut [i64]),
    /// Where only the device reaches them.
    Elsewhere(Box<dyn Elsewhere + 'a>),
}

// Without the numbers, which may be private.
impl std::fmt::Debug for Numbers<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Numbers::Here(_) => "Here(..)",
            Numbers::Elsewhere(_) => "Elsewhere(..)",
        })
    }
}

/// Numbers that the host does not reach.
pub trait Elsewhere {
    /// For each `chunk` of the n numbers, the values of Σ (numberᵢ + 2^59)·xⁿ⁻¹⁻ⁱ modulo 2^61 − 1 at two points x < 2^61; `None` where a number is 2^59 or more in magnitude.
    fn polynomials(&self, points: [u64; 2], chunk: usize) -> Vec<Option<[u64; 2]>>;
    /// Adds its noise to each number that [`QuickNoise`] tells it for, saturating, and says which places are left, in order.
    fn add_noise(&mut self, noise: &QuickNoise<'_>) -> Vec<usize>;
    /// Replaces the numbers at these places by what is made of them.
    fn change(&mut self, places: &[usize], made: &mut dyn FnMut(usize, i64) -> i64);
    /// A copy here of the `len` from `start` on.
    fn read(&self, start: usize, len: usize) -> Vec<i64>;
}

/// Noise that a key chooses for each place, as far as 96 bits an attempt tell it.
///
/// Attempts are three words each of ChaCha12. The first of place 256s + 16w + l, where w and l are below 16, is word w of the blocks 48s + l, 48s + 16 + l and 48s + 32 + l of stream 0; the others of place p follow each other in stream 2p + 1. Whoever owns the
/// noise says what an attempt means and why it is right; a device does the arithmetic that is written there, and leaves out what is open.
#[derive(Clone, Copy)]
pub struct QuickNoise<'a> {
    /// The key.
    pub key: &'a [u8; 32],
    /// For the first 12 bits of a first word: a bound in the low 20 bits, and a block above them.
    pub entries: &'a [u32],
    /// Where blocks end, in order.
    pub lows: &'a [u32],
    /// Below which keys are open, for the blocks in order; as many.
    pub aboves: &'a [u32],
    /// The block whose keys are all open.
    pub last: u32,
    /// How steep blocks are, in units of 2^-44.
    pub steepness: u64,
    /// Bits that points lose first.
    pub cut: u32,
    /// What is added to them then.
    pub half: u64,
    /// Bits that they lose last.
    pub shift: u32,
}

impl std::fmt::Debug for QuickNoise<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("QuickNoise(..)")
    }
}
