//! Inversion of a distribution function from certified bounds: the engine of every fast sampler here.

use crate::Entropy;
use exact::{Integer, Interval, Natural};

/// A distribution over cells `0..n` whose cumulative probabilities can be enclosed as tightly as asked.
pub trait Distribution {
    /// Enclosures, with `bits` fractional bits, of F(0) ≤ F(1) ≤ … ≤ F(n−2), where F(k) is the probability of a cell
    /// of at most k. The last cell takes the rest. Enclosures must shrink as `bits` grows.
    fn cumulative(&self, bits: u32) -> Vec<Interval>;
}

/// Precision of the bounds kept beside the table: 31 bits, and the 64 that a first refinement adds, with room.
const FINE_BITS: u32 = 128;

/// How many draws are looked up together, so that their searches overlap in the processor.
const LANES: usize = 4;

/// A sampler of any [`Distribution`], exact and usually decided by 31 bits.
///
/// # Exactness
/// Let U be a uniform real in [0, 1) with infinitely many bits. The cell #{k : F(k) ≤ U} has exactly the distribution, since it is
/// at most k if and only if U < F(k). We compute that number for a U whose bits are drawn as they are needed.
///
/// Proof: the first w bits u say that U lies in [u, u+1)·2^-w. Bounds say a ≤ F(k)·2^w < b+1 for integers a = ⌊lower·2^w⌋
/// and b = ⌊upper·2^w⌋. If b < u then F(k) < (b+1)·2^-w ≤ u·2^-w ≤ U: k counts. If a > u then F(k) ≥ a·2^-w ≥ (u+1)·2^-w > U:
/// k does not. Only a ≤ u ≤ b leaves k open, and then more bits of U and tighter bounds are taken until nothing is open.
/// That ends with probability one, because a uniform U equals none of the finitely many F(k).
/// Whatever the bounds' width, only true statements about F(k) were used, so the result is that of the infinite U.
/// Tested by: `inversion_enumerated_with_coarse_tables`, `a_shifted_bound_is_noticed`.
#[derive(Clone, Debug)]
pub struct Inversion<L> {
    distribution: L,
    key_bits: u32,
    /// Where a search starts, by the first bits of the key: how many bounds are below all keys with those bits. It saves
    /// steps where cells are about equally likely, and has one entry where it would not.
    guide: Vec<u32>,
    guide_shift: u32,
    /// The first step of every search, a power of two or zero: the same for all keys.
    first_step: usize,
    /// a of F(k) at k+1, in order, padded to one more than a power of two with bounds that no key reaches. The first
    /// is never looked at: counting from one saves the search an instruction a step.
    lows: Vec<u32>,
    /// One more than the largest b of F(0), …, F(k−1): a key below it is open for one of those.
    aboves: Vec<u32>,
    fine: Vec<Interval>,
}

impl<L: Distribution> Inversion<L> {
    /// Makes the table.
    pub fn new(distribution: L) -> Self {
        Self::with_bounds(distribution, 31, FINE_BITS)
    }

    /// A table of `key_bits`-bit keys from bounds of `bound_bits` bits. Coarse tables are for tests: the distribution drawn
    /// from is the same, only the exact path is taken more often.
    pub(crate) fn with_bounds(distribution: L, key_bits: u32, bound_bits: u32) -> Self {
        debug_assert!((1..=31).contains(&key_bits));
        let fine = distribution.cumulative(bound_bits);
        let mut ends: Vec<(u32, u32)> = fine.iter().map(|bound| key_ends(bound, key_bits)).collect();
        // F grows with k, so an earlier lower bound holds for later k as well; the search needs them in order.
        for k in 1..ends.len() {
            ends[k].0 = ends[k].0.max(ends[k - 1].0);
        }
        let below = |key: u32| ends.partition_point(|(low, _)| *low < key);
        // A search tells apart the bounds below the first key with its guide's bits from those below the last.
        let steps = |guide_bits: u32| {
            let width = 1u32 << (key_bits - guide_bits);
            let spans =
                (0..1u32 << guide_bits).map(|part| below(part * width + (width - 1)) - below(part * width));
            spans.max().unwrap_or(0).checked_ilog2().map_or(0, |log| log + 1)
        };
        let fitting = (ends.len() + 1).next_power_of_two().ilog2() + 1;
        let guided = fitting <= key_bits.min(12) && steps(fitting) + 2 <= steps(0);
        let guide_bits = if guided { fitting } else { 0 };
        let guide_shift = key_bits - guide_bits;
        let guide: Vec<u32> = (0..1u32 << guide_bits)
            .map(|part| below(part << guide_shift) as u32)
            .collect();
        let reach = 1usize << steps(guide_bits);
        let size = (guide[guide.len() - 1] as usize + reach).next_power_of_two();
        let (mut lows, mut aboves) = (vec![0], Vec::with_capacity(size));
        let mut previous_above = 0u32;
        for (low, high) in ends {
            lows.push(low);
            aboves.push(previous_above);
            previous_above = previous_above.max(high + 1);
        }
        lows.resize((size + 1).max(lows.len()), u32::MAX);
        aboves.resize(size.max(aboves.len() + 1), previous_above);
        lows.truncate(size + 1);
        aboves.truncate(size);
        Self {
            distribution,
            key_bits,
            guide,
            guide_shift,
            first_step: reach / 2,
            lows,
            aboves,
            fine,
        }
    }

    /// The distribution's own bounds, for tests.
    #[cfg(test)]
    pub(crate) fn distribution_cumulative(&self, bits: u32) -> Vec<Interval> {
        self.distribution.cumulative(bits)
    }

    /// The number of cells.
    pub fn cells(&self) -> usize {
        self.fine.len() + 1
    }

    /// How many bits a word for [`Inversion::look_up`] has: the key and one spare, the lowest, for the caller.
    pub(crate) fn word_bits(&self) -> u32 {
        self.key_bits + 1
    }

    /// The cell of each word, whose key is all but its lowest bit. Constant work, but for words that need refining.
    pub(crate) fn look_up(&self, words: &[u32], cells: &mut [u32], entropy: &mut (impl Entropy + ?Sized)) {
        debug_assert_eq!(words.len(), cells.len());
        let size = self.aboves.len();
        let lows = &self.lows[..=size];
        let guide = &self.guide[..];
        let mut open = false;
        let mut word_groups = words.chunks_exact(LANES);
        let mut cell_groups = cells.chunks_exact_mut(LANES);
        for (group, found) in (&mut word_groups).zip(&mut cell_groups) {
            let keys: [u32; LANES] = std::array::from_fn(|lane| group[lane] >> 1);
            let mut at: [usize; LANES] = std::array::from_fn(|lane| {
                guide[(keys[lane] >> self.guide_shift) as usize & (guide.len() - 1)] as usize
            });
            let mut step = self.first_step;
            while step > 0 {
                for (at, key) in at.iter_mut().zip(keys) {
                    *at = advance(lows, *at, step, key, size - 1);
                }
                step /= 2;
            }
            for lane in 0..LANES {
                open |= (lows[at[lane] + 1] == keys[lane]) | (self.aboves[at[lane]] > keys[lane]);
                found[lane] = at[lane] as u32;
            }
        }
        for (word, cell) in word_groups.remainder().iter().zip(cell_groups.into_remainder()) {
            let (found, undecided) = self.search(word >> 1);
            *cell = found;
            open |= undecided;
        }
        if open {
            self.settle(words, cells, entropy);
        }
    }

    /// One draw: its cell and a spare uniform bit.
    pub(crate) fn draw(&self, entropy: &mut (impl Entropy + ?Sized)) -> (u32, bool) {
        let word = entropy.bits(self.word_bits()) as u32;
        let (cell, undecided) = self.search(word >> 1);
        let cell = if undecided {
            self.refine(word >> 1, entropy)
        } else {
            cell
        };
        (cell, word & 1 == 1)
    }

    /// One draw.
    pub fn sample(&self, entropy: &mut (impl Entropy + ?Sized)) -> usize {
        entropy.refresh();
        self.draw(entropy).0 as usize
    }

    /// The cell of one word.
    pub(crate) fn find(&self, word: u32, entropy: &mut (impl Entropy + ?Sized)) -> u32 {
        match self.search(word >> 1) {
            (_, true) => self.refine(word >> 1, entropy),
            (cell, false) => cell,
        }
    }

    /// The cell of all keys that begin with these bits, or `None` when they do not all have the same, or one of them needs refining.
    pub(crate) fn cell_of_all(&self, beginning: u32, bits: u32) -> Option<u32> {
        let rest = self.key_bits - bits;
        let first = beginning << rest;
        // Cells come in order, and an open key lies between two of them: what begins and ends in one cell is in it throughout.
        match (self.search(first), self.search(first | ((1 << rest) - 1))) {
            ((cell, false), (same, false)) if cell == same => Some(cell),
            _ => None,
        }
    }

    /// For a search elsewhere: how many of the first are below a key is its cell, unless the next one equals the key or the cell's second is above it; then the key is open. There are as many of the
    /// second, and no key is above all of the first.
    pub(crate) fn bounds(&self) -> (&[u32], &[u32]) {
        (&self.lows[1..], &self.aboves)
    }

    /// The cell of a key, and whether it is open after all.
    pub(crate) fn search(&self, key: u32) -> (u32, bool) {
        let size = self.aboves.len();
        let mut at = self.guide[(key >> self.guide_shift) as usize] as usize;
        let mut step = self.first_step;
        while step > 0 {
            at = advance(&self.lows[..=size], at, step, key, size - 1);
            step /= 2;
        }
        (at as u32, (self.lows[at + 1] == key) | (self.aboves[at] > key))
    }

    #[cold]
    fn settle(&self, words: &[u32], cells: &mut [u32], entropy: &mut (impl Entropy + ?Sized)) {
        for (word, cell) in words.iter().zip(cells) {
            let key = word >> 1;
            if self.search(key).1 {
                *cell = self.refine(key, entropy);
            }
        }
    }

    /// Takes more bits of U, and tighter bounds, until no F(k) is open.
    #[cold]
    fn refine(&self, key: u32, entropy: &mut (impl Entropy + ?Sized)) -> u32 {
        let mut known = Natural::from(key);
        let mut known_bits = self.key_bits;
        let more = if self.key_bits == 31 { 64 } else { self.key_bits };
        let mut bounds = std::borrow::Cow::Borrowed(&self.fine);
        loop {
            known = (known << more as usize) + Natural::from(entropy.bits(more));
            known_bits += more;
            let precision = bounds.first().map_or(known_bits, Interval::bits);
            if precision < known_bits + 8 {
                bounds = std::borrow::Cow::Owned(self.distribution.cumulative(known_bits + 64));
            }
            if let Some(cell) = count_below(&bounds, &known, known_bits) {
                return cell;
            }
        }
    }
}

/// One halving of a search for how many of the bounds are below `key`: a select, not a branch, so that the
/// instructions are the same whatever the key. `mask` changes nothing but what the compiler knows of the index.
#[inline(always)]
fn advance(lows: &[u32], at: usize, step: usize, key: u32, mask: usize) -> usize {
    let next = at + step;
    std::hint::select_unpredictable(lows[next & mask] < key, next, at)
}

/// ⌊lower·2^w⌋ and ⌊upper·2^w⌋, kept inside [0, 2^w].
fn key_ends(bound: &Interval, key_bits: u32) -> (u32, u32) {
    let top = 1u32 << key_bits;
    let cut = |end: &Integer| -> u32 {
        let shifted: Integer = if bound.bits() >= key_bits {
            end >> (bound.bits() - key_bits) as usize
        } else {
            end << (key_bits - bound.bits()) as usize
        };
        if shifted <= Integer::ZERO {
            0
        } else {
            u32::try_from(shifted).map_or(top, |value| value.min(top))
        }
    };
    (cut(bound.lo()), cut(bound.hi()))
}

/// #{k : F(k) ≤ U} for U in [known, known+1)·2^-known_bits, if that decides every k.
fn count_below(bounds: &[Interval], known: &Natural, known_bits: u32) -> Option<u32> {
    // `refine` keeps bounds finer than what is known of U.
    let shift = (bounds.first()?.bits() - known_bits) as usize;
    let low = Integer::from(known.clone()) << shift;
    let high = Integer::from(known + Natural::ONE) << shift;
    let (mut below, mut above) = (0, 0);
    // Both comparisons for every bound: how long it takes must not tell where U lies.
    for bound in bounds {
        below += u32::from(*bound.hi() <= low);
        above += u32::from(*bound.lo() >= high);
    }
    (below + above == bounds.len() as u32).then_some(below)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Tape;
    use exact::{Rational, ratio};

    /// A finite distribution with rational masses, optionally with bounds that are wrong by a stated amount.
    struct Masses {
        masses: Vec<Rational>,
        shift: Rational,
    }

    impl Distribution for Masses {
        fn cumulative(&self, bits: u32) -> Vec<Interval> {
            let mut sum = self.shift.clone();
            self.masses[..self.masses.len() - 1]
                .iter()
                .map(|mass| {
                    sum += mass;
                    Interval::from_rational(&sum, bits)
                })
                .collect()
        }
    }

    /// Runs `draw` on every tape of `length` bytes. Returns, for each outcome, how many tapes gave it, and how many
    /// tapes were too short to decide.
    pub(crate) fn enumerate(
        length: usize,
        mut draw: impl FnMut(&mut Tape) -> i64,
    ) -> (std::collections::BTreeMap<i64, u64>, u64) {
        let mut seen = std::collections::BTreeMap::new();
        let mut short = 0;
        for number in 0..1u64 << (8 * length) {
            let mut tape = Tape::new(&number.to_be_bytes()[8 - length..]);
            let value = draw(&mut tape);
            if tape.exhausted() {
                short += 1;
            } else {
                *seen.entry(value).or_insert(0) += 1;
            }
        }
        (seen, short)
    }

    /// Every decided outcome weighs no more than its probability, and with the undecided no less.
    pub(crate) fn assert_exact(
        length: usize,
        probability: impl Fn(i64) -> Interval,
        draw: impl FnMut(&mut Tape) -> i64,
    ) -> Result<(), String> {
        let (seen, short) = enumerate(length, draw);
        let total = Rational::from(Natural::ONE << (8 * length));
        for (value, times) in &seen {
            let decided = Rational::from(*times) / &total;
            let most = Rational::from(times + short) / &total;
            let distribution = probability(*value);
            if distribution.upper() < decided || distribution.lower() > most {
                return Err(format!("outcome {value}: {times} of {total} tapes, {short} open"));
            }
        }
        if Rational::from(short) / &total > ratio(1, 4) {
            return Err("too many tapes were too short for this test to mean anything".into());
        }
        Ok(())
    }

    fn thirds(shift: Rational) -> Masses {
        Masses {
            masses: vec![
                ratio(1, 7),
                ratio(2, 7),
                ratio(1, 1000),
                ratio(4, 7) - ratio(1, 1000),
            ],
            shift,
        }
    }

    #[test]
    fn inversion_enumerated_with_coarse_tables() {
        let distribution = thirds(Rational::ZERO);
        for (key_bits, bound_bits) in [(1, 1), (2, 3), (3, 64), (5, 2), (7, 4), (11, 9)] {
            let inversion = Inversion::with_bounds(thirds(Rational::ZERO), key_bits, bound_bits);
            assert_exact(
                2,
                |cell| Interval::from_rational(&distribution.masses[cell as usize], 64),
                |tape| inversion.draw(tape).0.into(),
            )
            .unwrap_or_else(|error| panic!("keys of {key_bits} bits, bounds of {bound_bits}: {error}"));
            // The batch path agrees with the single one on every tape.
            for number in 0..=u16::MAX {
                let (mut one, mut many) = (Tape::new(number.to_be_bytes()), Tape::new(number.to_be_bytes()));
                let (cell, spare) = inversion.draw(&mut one);
                let mut words = [0u32];
                many.fill(&mut words, inversion.word_bits());
                let mut cells = [0u32];
                inversion.look_up(&words, &mut cells, &mut many);
                assert_eq!((cell, spare), (cells[0], words[0] & 1 == 1));
            }
        }
    }

    #[test]
    fn guided_searches_enumerated() {
        let masses: Vec<Rational> = (0..8).map(|cell| ratio(9 + cell % 3, 79)).collect();
        let distribution = || Masses {
            masses: masses.clone(),
            shift: Rational::ZERO,
        };
        assert_eq!(
            masses.iter().fold(Rational::ZERO, |sum, mass| sum + mass),
            Rational::ONE
        );
        for (key_bits, bound_bits) in [(4, 4), (5, 9), (7, 5), (9, 20)] {
            let inversion = Inversion::with_bounds(distribution(), key_bits, bound_bits);
            assert!(
                inversion.guide.len() > 1 && inversion.first_step < 4,
                "this test is about guided searches"
            );
            let probability = |cell: i64| Interval::from_rational(&masses[cell as usize], 64);
            assert_exact(2, probability, |tape| inversion.draw(tape).0.into()).unwrap();
        }
    }

    #[test]
    fn a_shifted_bound_is_noticed() {
        let right = thirds(Rational::ZERO);
        let wrong = Inversion::with_bounds(thirds(ratio(1, 2000)), 7, 20);
        let result = assert_exact(
            2,
            |cell| Interval::from_rational(&right.masses[cell as usize], 64),
            |tape| wrong.draw(tape).0.into(),
        );
        assert!(result.is_err(), "bounds off by 1/2000 must be caught");
    }

    #[test]
    fn lanes_and_singles_agree() {
        let masses = (0..300).map(|_| ratio(1, 300)).collect();
        let inversion = Inversion::new(Masses {
            masses,
            shift: Rational::ZERO,
        });
        assert_eq!(inversion.cells(), 300);
        let bytes: Vec<u8> = (0..4 * 67u32)
            .map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        let mut words = [0u32; 67];
        Tape::new(bytes.clone()).fill(&mut words, 32);
        let mut cells = [0u32; 67];
        inversion.look_up(&words, &mut cells, &mut Tape::new([]));
        let mut tape = Tape::new(bytes);
        for cell in cells {
            assert_eq!(inversion.draw(&mut tape).0, cell);
        }
    }

    #[test]
    fn one_cell_needs_no_decision() {
        let inversion = Inversion::new(Masses {
            masses: vec![Rational::ONE],
            shift: Rational::ZERO,
        });
        assert_eq!(inversion.draw(&mut Tape::new([0xff; 8])).0, 0);
    }
}
