//! Gaussian noise as a function of a key and a place, so that many places can be computed at once, in any order and by anybody.

use crate::chacha::{self, LANES, Row};
use crate::gaussian::{Blocks, signed_sum};
use crate::{Entropy, Keyed, RoundedGaussian};
use exact::power_of_two;
use zeroize::Zeroize;

/// Places whose first attempts are made of the same 48 blocks of a stream: three words a place, each of another block.
const GROUP: usize = 16 * LANES;
/// Bits of a key that choose an entry of the table.
const ENTRY_BITS: u32 = 12;
/// Bits of a key after those.
const REST_BITS: u32 = 31 - ENTRY_BITS;
/// The block of an entry that does not tell one.
const OPEN: u32 = 2047;
/// 1 in units of 2^-32, which all arithmetic below is in.
const ONE: u64 = 1 << 32;

/// One proposal: 96 bits.
#[derive(Clone, Copy)]
struct Attempt {
    /// 31 bits that choose the block, the key, and the sign.
    word: u32,
    /// The first 32 bits of the place in the block.
    place: u32,
    /// 16 bits of the coin, then 16 more of the place.
    coin: u32,
}

impl Attempt {
    /// The first attempt of one of 16 places.
    #[inline(always)]
    fn of(bits: [&Row; 3], lane: usize) -> Self {
        let [word, place, coin] = bits.map(|row| row[lane]);
        Self { word, place, coin }
    }

    #[inline(always)]
    fn new(words: [[u8; 4]; 3]) -> Self {
        let [word, place, coin] = words.map(u32::from_le_bytes);
        Self { word, place, coin }
    }
}

/// What an attempt's 96 bits say of it, whatever further bits would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AttemptOutcome {
    /// It is kept, and lies in this block.
    Kept(u32),
    Dropped,
    /// They do not tell.
    Open,
}

/// What is needed to judge attempts, also for whoever computes elsewhere: [`PlacedGaussian`] says how.
#[derive(Clone, Copy, Debug)]
pub struct PlacedTables<'a> {
    /// For the first 12 bits of a key: above the low 20 bits the block of keys with those bits, or 2047 where there may be more than two; in the low 20 bits the other 19 bits of the one key that is open,
    /// after which the next block begins, or 2^19.
    pub entries: &'a [u32],
    /// How many of these are below a key is its block, unless the next one equals the key. No key is above all of them.
    pub lows: &'a [u32],
    /// A key that is below its block's number here is open, too. There are as many.
    pub aboves: &'a [u32],
    /// The last block, which stands for all after it, so that its keys are open.
    pub last: u32,
    /// ⌊K·2^44⌋, below 2^32: block q is kept at ρ with probability e^(−K·ρ·(2q+ρ)).
    pub steepness: u64,
    /// A point q·2^48 + (48 bits of ρ) stands for the number ⌊(⌊point/2^cut⌋ + half)/2^shift⌋.
    pub cut: u32,
    /// See `cut`.
    pub half: u64,
    /// See `cut`.
    pub shift: u32,
}

/// Blocks of which there are many to a deviation, with a table that tells almost every key's at one look.
#[derive(Clone, Debug)]
pub(crate) struct NarrowBlocks {
    blocks: Blocks,
    entries: Vec<u32>,
    steepness: u64,
}

impl NarrowBlocks {
    pub(crate) fn new(blocks: Blocks) -> Self {
        let (lows, aboves) = blocks.table.bounds();
        let last_block = blocks.distribution.cells - 1;
        let entry = |part: u32| {
            let (first, last) = (part << REST_BITS, (part << REST_BITS) | ((1 << REST_BITS) - 1));
            let cell = lows.partition_point(|low| *low < first);
            let met = lows.partition_point(|low| *low <= last) - cell;
            // One look is enough where keys meet one bound at most, are open at that bound alone, and none lies in the last block.
            let bound = if met == 0 { last + 1 } else { lows[cell] };
            let known = met <= 1
                && ((cell + met) as u32) < last_block
                && aboves[cell] <= first
                && aboves[cell + met] <= bound + 1;
            (if known { cell as u32 } else { OPEN }) << 20 | (bound - first)
        };
        let entries = (0..1 << ENTRY_BITS).map(entry).collect();
        let steepness = (&blocks.steepness * power_of_two(44)).floor();
        Self {
            steepness: u64::try_from(steepness).expect("K is at most 2^-13"),
            entries,
            blocks,
        }
    }
}

/// Rounded Gaussian noise of which every place has its own, chosen by a key.
///
/// # Exactness
/// Proof: a place has a tape of bits that no other place reads, from blocks of one ChaCha12 key: attempt 0 is one word of each of three blocks of stream 0: place 256s + 16w + l,
/// where w and l are below 16, has word w of the blocks 48s + l, 48s + 16 + l and 48s + 32 + l, so that sixteen blocks side by side serve sixteen places side by side; attempts 1, 2, … are three words each of stream 2p + 1 of place p; and what attempt t needs beyond
/// its 96 bits comes from stream 2p + 2, from block t·2^32 on. So the tapes are independent and uniform. Each attempt is the proposal of [`RoundedGaussian`]: a block q from
/// the first 31 bits, refined where they do not tell; a sign; a place ρ; and a coin U, which keeps it if U < e^(−γ), γ = K·ρ·(2q+ρ). The first
/// that is kept is the noise, so its distribution is that of [`RoundedGaussian`], whatever the width of blocks. A verdict is what 96 bits imply for *all* their continuations, so it does not matter who finds it,
/// nor who leaves it open: the noise is a function of the tape.
///
/// What 96 bits imply, in units of 2^-32. There are at least 64 blocks to a deviation, so K ≤ 2^-13; fewer than 900 have a cell of their own, so q < 2^10 and γ < K(2q+1) < 1/8. Let y be the first 32 bits of ρ,
/// x = ⌊(2q·2^32 + y)/2^11⌋ < 2^32, z = ⌊xy/2^32⌋ and k = ⌊K·2^44⌋ ≤ 2^31. What is cut from x, what is cut from the product and the bits of ρ after y are together less than 3 units of z,
/// since (x+1)(y+1)/2^32 < xy/2^32 + 2: z ≤ ρ(2q+ρ)·2^21 < z + 3. With g = ⌊zk/2^33⌋ that gives g ≤ γ·2^32 < (z+3)(k+1)/2^33 < g + 1 + (2^32 + 3·2^31 + 3)/2^33 < g + 3.
/// As 0 ≤ γ < 1, 1 − γ + γ²/2 − γ³/6 ≤ e^(−γ) ≤ 1 − γ + γ²/2, both fall with γ, and no faster than γ grows. So with s = ⌊g²/2^33⌋ and a c that is
/// at least g³/6, and ⌊⌊(⌊g²/2^32⌋ + 1)·g/2^32⌋/6⌋ + 1 is: 2^32 − g + s − c − 3 ≤ e^(−γ)·2^32 < 2^32 − g + s + 1.
/// Tested by: `entries_tell_what_a_search_finds`, `verdicts_hold_for_all_continuations`, `who_computes_does_not_matter`, `placed_noise_fits`.
pub struct PlacedGaussian<'a> {
    blocks: &'a Blocks,
    tables: PlacedTables<'a>,
    key: [u8; 32],
}

/// [`PlacedGaussian::add_to`], to be compiled for each kind of processor.
struct Adding<'n, 'v> {
    noise: &'n PlacedGaussian<'n>,
    first: u64,
    values: &'v mut [i64],
}

impl pulp::WithSimd for Adding<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.noise.add_to_groups(self.first, self.values);
    }
}

impl std::fmt::Debug for PlacedGaussian<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PlacedGaussian(..)")
    }
}

impl Drop for PlacedGaussian<'_> {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl<'a> PlacedGaussian<'a> {
    /// The noise of a key. Use a key for one thing only: whoever adds it to two values tells their difference.
    pub fn new(noise: &'a RoundedGaussian, key: [u8; 32]) -> Self {
        let narrow = noise.narrow();
        let log_width = narrow.blocks.log_width;
        // Where blocks are narrower than 1, the place in a block does not matter.
        let (cut, bits) = if log_width < 0 { (32, 16) } else { (0, 48) };
        let shift = (bits - log_width) as u32;
        let (lows, aboves) = narrow.blocks.table.bounds();
        Self {
            blocks: &narrow.blocks,
            tables: PlacedTables {
                entries: &narrow.entries,
                lows,
                aboves,
                last: narrow.blocks.distribution.cells - 1,
                steepness: narrow.steepness,
                cut,
                half: 1 << (shift - 1),
                shift,
            },
            key,
        }
    }

    /// Adds to each value the noise of its place, the first of which is `first`, a multiple of 256: exactly clamp(value + noise).
    ///
    /// # Panics
    /// When `first` is no multiple of 256.
    pub fn add_to(&self, first: u64, values: &mut [i64]) {
        assert!(
            first.is_multiple_of(GROUP as u64),
            "a group begins at a multiple of 256"
        );
        // By the widest instructions that the processor has; what is computed does not depend on them.
        pulp::Arch::new().dispatch(Adding {
            noise: self,
            first,
            values,
        });
    }

    #[inline(always)]
    fn add_to_groups(&self, first: u64, values: &mut [i64]) {
        let mut key = chacha::words(&self.key);
        let mut later = Keyed::new(self.key, 0);
        let mut bits = [[[0; LANES]; 16]; 3];
        let mut place = first;
        for group in values.chunks_mut(GROUP) {
            let mut block = place / GROUP as u64 * 3 * LANES as u64;
            for rows in &mut bits {
                chacha::write_blocks(&key, block, rows);
                block += LANES as u64;
            }
            for (row, values) in group.chunks_mut(LANES).enumerate() {
                let attempts = [&bits[0][row], &bits[1][row], &bits[2][row]];
                match values.try_into() {
                    Ok(values) => self.add_to_row(place, attempts, values, &mut later),
                    Err(_) => {
                        let mut whole = [0; LANES];
                        whole[..values.len()].copy_from_slice(values);
                        self.add_to_row(place, attempts, &mut whole, &mut later);
                        values.copy_from_slice(&whole[..values.len()]);
                    }
                }
                place += LANES as u64;
            }
        }
        bits.zeroize();
        key.zeroize();
    }

    /// Without a branch for those that one look decides; then the others.
    #[inline(always)]
    // Lanes are addressed by their place.
    #[allow(clippy::needless_range_loop)]
    fn add_to_row(&self, place: u64, bits: [&Row; 3], values: &mut [i64; LANES], later: &mut Keyed) {
        let tables = self.tables;
        let entries: &[u32; 1 << ENTRY_BITS] = tables.entries.try_into().expect("as many as were made");
        // More than K, so that a coin below 1 − (2q+1) of these keeps any place in block q: e^−γ ≥ 1 − γ.
        let steep = (tables.steepness >> 12) + 1;
        // One short loop a kind of instruction: compilers turn those into wide ones.
        let (mut found, mut cells, mut kept) = ([0u32; LANES], [0u32; LANES], [0u64; LANES]);
        for lane in 0..LANES {
            found[lane] = entries[(bits[0][lane] >> (32 - ENTRY_BITS)) as usize];
        }
        for lane in 0..LANES {
            let (cell, reported) = reported(found[lane], bits[0][lane]);
            cells[lane] = cell;
            found[lane] = u32::from(reported & (cell < OPEN));
        }
        for lane in 0..LANES {
            let reach = u64::from(bits[2][lane] | 0xffff) + u64::from(2 * cells[lane] + 1) * steep;
            kept[lane] = u64::from(found[lane]) & u64::from(reach < ONE);
        }
        for lane in 0..LANES {
            let moved = moved(tables, values[lane], cells[lane], Attempt::of(bits, lane));
            values[lane] = if kept[lane] == 1 { moved } else { values[lane] };
        }
        let mut others = 0u32;
        for lane in 0..LANES {
            others |= u32::from(kept[lane] == 0) << lane;
        }
        while others != 0 {
            let lane = others.trailing_zeros() as usize % LANES;
            others &= others - 1;
            let attempt = Attempt::of(bits, lane);
            values[lane] = self.settled(place + lane as u64, attempt, values[lane], later);
        }
    }

    /// The value with the noise of its place: exactly clamp(value + noise).
    pub fn added(&self, place: u64, value: i64) -> i64 {
        let within = place % GROUP as u64;
        let (row, lane) = (within as usize / LANES, within % LANES as u64);
        let mut stream = Keyed::new(self.key, 0);
        let words = [0, 1, 2].map(|part| {
            let mut block = [[0u8; 4]; 16];
            stream.go_to(0, (place / GROUP as u64 * 3 + part) * LANES as u64 + lane);
            stream.bytes(block.as_flattened_mut());
            block[row]
        });
        self.settled(place, Attempt::new(words), value, &mut stream)
    }

    /// The key, for whoever computes elsewhere: as secret as what the noise hides.
    pub fn key(&self) -> &[u8; 32] {
        &self.key
    }

    /// What else they need.
    pub fn tables(&self) -> PlacedTables<'a> {
        self.tables
    }

    /// The value moved by the first attempt that is kept; `later` is any stream of the key.
    #[inline(never)]
    fn settled(&self, place: u64, first: Attempt, value: i64, later: &mut Keyed) -> i64 {
        let (mut attempt, mut number) = (first, 0u64);
        loop {
            match self.judged(attempt) {
                AttemptOutcome::Kept(cell) => return moved(self.tables, value, cell, attempt),
                AttemptOutcome::Dropped => {}
                AttemptOutcome::Open => {
                    if let Some(value) = self.judged_exactly(place, number, attempt, value) {
                        return value;
                    }
                }
            }
            if number == 0 {
                later.go_to(2 * place + 1, 0);
            }
            let mut words = [[0u8; 4]; 3];
            later.bytes(words.as_flattened_mut());
            attempt = Attempt::new(words);
            number += 1;
        }
    }

    fn judged(&self, attempt: Attempt) -> AttemptOutcome {
        let entry = self.tables.entries[(attempt.word >> (32 - ENTRY_BITS)) as usize];
        let cell = match reported(entry, attempt.word) {
            (_, false) => return AttemptOutcome::Open,
            (OPEN.., true) => match self.blocks.table.search(attempt.word >> 1) {
                (cell, open) if open || cell == self.tables.last => return AttemptOutcome::Open,
                (cell, _) => cell,
            },
            (cell, true) => cell,
        };
        let place = u64::from(attempt.place);
        let product = (place * (((u64::from(cell) << 33) + place) >> 11)) >> 32;
        let gamma = (product * self.tables.steepness) >> 33;
        let square = (gamma * gamma) >> 32;
        let most = ONE - gamma + square / 2 + 1;
        let least = ONE - gamma + square / 2 - (((square + 1) * gamma) >> 32) / 6 - 4;
        let coin = u64::from(attempt.coin >> 16) << 16;
        if coin + (1 << 16) <= least {
            AttemptOutcome::Kept(cell)
        } else if coin >= most {
            AttemptOutcome::Dropped
        } else {
            AttemptOutcome::Open
        }
    }

    /// Takes as many further bits as it needs: the value with its noise, or `None` where the attempt is dropped.
    #[cold]
    fn judged_exactly(&self, place: u64, number: u64, attempt: Attempt, value: i64) -> Option<i64> {
        let mut further = Keyed::new(self.key, 0);
        further.go_to(2 * place + 2, number << 32);
        let block = self.blocks.table.find(attempt.word, &mut further);
        let block = self.blocks.block(block, &mut further);
        let coin = (u64::from(attempt.coin >> 16) << 48) | further.bits(48);
        let place =
            (u64::from(attempt.place) << 32) | (u64::from(attempt.coin & 0xffff) << 16) | further.bits(16);
        let kept = self.blocks.keep_with(block, place, coin, true, &mut further);
        kept.then(|| signed_sum(value, self.blocks.magnitude(block, place), attempt.word & 1 == 1))
    }
}

/// The value moved to where a kept attempt says. 48 bits of ρ are enough: b + 1 say to which integer 2^b·(q+ρ) rounds, and b ≤ 44.
#[inline(always)]
fn moved(tables: PlacedTables<'_>, value: i64, cell: u32, attempt: Attempt) -> i64 {
    let point = (u64::from(cell) << 48) | (u64::from(attempt.place) << 16) | u64::from(attempt.coin & 0xffff);
    let magnitude = (((point >> tables.cut) + tables.half) >> tables.shift) as i64;
    let sign = -i64::from(attempt.word & 1);
    let moved = (magnitude ^ sign) - sign;
    // Saturating, spelled out: no wide instruction does it.
    let sum = value.wrapping_add(moved);
    let end = (value >> 63) ^ i64::MAX;
    if ((value ^ sum) & (moved ^ sum)) < 0 {
        end
    } else {
        sum
    }
}

/// The block that an entry gives a word, [`OPEN`] or more where it gives none, and whether it is so: not where the key is the bound itself.
#[inline(always)]
fn reported(entry: u32, word: u32) -> (u32, bool) {
    let (rest, bound) = ((word >> 1) & ((1 << REST_BITS) - 1), entry & ((1 << 20) - 1));
    ((entry >> 20) + u32::from(rest > bound), rest != bound)
}

#[cfg(test)]
mod tests;
