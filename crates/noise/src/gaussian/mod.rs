//! Gaussian noise on the integers: the discrete Gaussian, and the continuous one rounded.

mod blocks;
#[cfg(test)]
mod tests;

pub(crate) use blocks::Blocks;

use crate::by_place::NarrowBlocks;
use crate::geometric::{check_scale, saturate};
use crate::{Distribution, Entropy, Error, Inversion};
use blocks::{HalfGaussian, QUICK_BITS};
use exact::{Integer, Interval, Rational, power_of_two};
use std::sync::{Arc, OnceLock};

/// How many draws are made together; the buffers live on the stack.
const BATCH: usize = 64;

/// Noise by place has its deviation between 2^6 and 2^7 blocks: they are so narrow that few proposals are dropped.
const PLACED_LOG: i32 = 6;

/// From this many draws on, a look at the table of the first bits pays off.
const QUICK_DRAWS: usize = 4096;

/// A table of all magnitudes pays off up to this deviation, and only when this many values are drawn.
const DIRECT_SCALE: u32 = 1200;
const DIRECT_DRAWS: usize = 4096;

/// The discrete Gaussian: P[k] ∝ e^(−k²/2σ²) over all integers.
/// ```
/// use exact::ratio;
/// use noise::{DiscreteGaussian, Keyed};
///
/// let noise = DiscreteGaussian::new(&ratio(100, 1))?;
/// let mut sums = [0; 1000];
/// noise.add_to(&mut sums, &mut Keyed::new([1; 32], 0));
/// let variance = sums.iter().map(|sum| (sum * sum) as f64).sum::<f64>() / 1000.0;
/// assert!((80.0..120.0).contains(&variance), "{variance}");
/// # Ok::<(), noise::Error>(())
/// ```
///
/// # Exactness
/// Proof: for a small σ, or many draws, |k| is an exact [`Inversion`] of the weights 1, 2e^(−1/2σ²), 2e^(−4/2σ²), … with an even
/// sign (a sign on 0 changes nothing). Otherwise k = ±(Bq + r) by blocks of B integers: (q, r) is proposed with
/// weight e^(−(Bq)²/2σ²), kept with probability e^(−((Bq+r)²−(Bq)²)/2σ²), so Bq + r has weight e^(−(Bq+r)²/2σ²) on 0, 1, 2, …; with an
/// even sign, and −0 dropped, every integer has its weight. What lies beyond a table's end is drawn by exact rejection.
/// Tested by: `discrete_enumerated`, `discrete_fits`.
#[derive(Clone, Debug)]
pub struct DiscreteGaussian {
    variance: Rational,
    direct: OnceLock<(HalfGaussian, Inversion<HalfGaussian>)>,
    blocks: OnceLock<Blocks>,
}

impl DiscreteGaussian {
    /// With σ² = `variance`.
    pub fn new(variance: &Rational) -> Result<Self, Error> {
        check_variance(variance)?;
        Ok(Self {
            variance: variance.clone(),
            direct: OnceLock::new(),
            blocks: OnceLock::new(),
        })
    }

    /// With σ = `scale`.
    pub fn with_scale(scale: &Rational) -> Result<Self, Error> {
        check_scale(scale)?;
        Self::new(&(scale * scale))
    }

    fn direct(&self) -> &(HalfGaussian, Inversion<HalfGaussian>) {
        self.direct.get_or_init(|| {
            let distribution = HalfGaussian::new(self.variance.clone(), true);
            (distribution.clone(), Inversion::new(distribution))
        })
    }

    /// Adds an independent draw to each value: exactly clamp(value + noise). Allocates nothing once its table is made.
    pub fn add_to(&self, values: &mut [i64], entropy: &mut (impl Entropy + ?Sized)) {
        entropy.refresh();
        let within =
            |deviation: u32| self.variance <= Rational::from(u64::from(deviation) * u64::from(deviation));
        if within(16) || (values.len() >= DIRECT_DRAWS && within(DIRECT_SCALE)) {
            self.add_directly(values, entropy);
        } else {
            self.add_by_blocks(values, entropy);
        }
    }

    fn add_directly(&self, values: &mut [i64], entropy: &mut (impl Entropy + ?Sized)) {
        let (distribution, table) = self.direct();
        let end = distribution.cells - 1;
        for batch in values.chunks_mut(BATCH) {
            let (mut words, mut cells) = ([0u32; BATCH], [0u32; BATCH]);
            let (words, cells) = (&mut words[..batch.len()], &mut cells[..batch.len()]);
            entropy.fill(words, table.word_bits());
            table.look_up(words, cells, entropy);
            let mut beyond = false;
            for ((value, word), cell) in batch.iter_mut().zip(&*words).zip(&*cells) {
                beyond |= *cell == end;
                // Two's complement negation when the sign bit is set, without a branch.
                let sign = -i64::from(word & 1);
                let noise = (i64::from(*cell) ^ sign) - sign;
                *value = if *cell == end {
                    *value
                } else {
                    value.saturating_add(noise)
                };
            }
            if beyond {
                for ((value, word), cell) in batch.iter_mut().zip(&*words).zip(&*cells) {
                    if *cell == end {
                        *value = signed_sum(*value, distribution.beyond(entropy).into(), word & 1 == 1);
                    }
                }
            }
        }
    }

    fn add_by_blocks(&self, values: &mut [i64], entropy: &mut (impl Entropy + ?Sized)) {
        let blocks = self.blocks.get_or_init(|| Blocks::new(&self.variance));
        let width_bits = blocks.log_width as u32;
        let (mut words, mut cells) = ([0u32; BATCH], [0u32; BATCH]);
        let mut done = 0;
        while done < values.len() {
            let count = BATCH.min(values.len() - done);
            let (words, cells) = (&mut words[..count], &mut cells[..count]);
            entropy.fill(words, blocks.table.word_bits());
            blocks.table.look_up(words, cells, entropy);
            for (word, cell) in words.iter().zip(&*cells) {
                let block = blocks.block(*cell, entropy);
                let inside = if width_bits == 0 {
                    0
                } else {
                    entropy.bits(width_bits)
                };
                let place = if width_bits == 0 {
                    0
                } else {
                    inside << (64 - width_bits)
                };
                let kept = blocks.keep(block, place, false, entropy);
                let magnitude = (u128::from(block) << width_bits) + u128::from(inside);
                let negative = word & 1 == 1;
                if kept & !(negative & (magnitude == 0)) {
                    values[done] = signed_sum(values[done], magnitude, negative);
                    done += 1;
                }
            }
        }
    }

    /// Fills a slice with independent draws.
    pub fn fill(&self, values: &mut [i64], entropy: &mut (impl Entropy + ?Sized)) {
        values.fill(0);
        self.add_to(values, entropy);
    }

    /// One draw, clamped to `i64`.
    pub fn sample(&self, entropy: &mut (impl Entropy + ?Sized)) -> i64 {
        let mut value = [0];
        self.add_to(&mut value, entropy);
        value[0]
    }
}

/// A continuous Gaussian N(0, σ²), rounded to the nearest integer.
///
/// A value on the integers plus this noise is the continuous Gaussian mechanism, rounded: round(value + Z) = value + round(Z). Rounding
/// is post-processing, so every guarantee of the continuous mechanism (analytic, subsampled, composed) holds for it as it stands.
///
/// # Exactness
/// Proof: |Z| = B(q+ρ) by blocks, with a real ρ whose bits are drawn as needed: (q, ρ) is proposed with density e^(−(Bq)²/2σ²) and kept
/// with probability e^(−((B(q+ρ))²−(Bq)²)/2σ²), so B(q+ρ) is the half Gaussian; the sign is even. B is a power of two, so 64 bits of ρ decide
/// to which integer it rounds (a tie has probability zero), and the test that keeps it takes as many bits as it needs.
/// Tested by: `rounded_fits`, `keeping_matches_exact_arithmetic`, `what_is_certainly_kept_is_kept`.
#[derive(Clone, Debug)]
pub struct RoundedGaussian {
    variance: Rational,
    /// Made by the first draw: who only states what noise there would be does not wait for it.
    blocks: OnceLock<Blocks>,
    /// Shared with clones, so that they are made once.
    narrow: Arc<OnceLock<NarrowBlocks>>,
}

impl RoundedGaussian {
    /// With σ² = `variance`, of at least 2^-40.
    pub fn new(variance: &Rational) -> Result<Self, Error> {
        check_variance(variance)?;
        if *variance < power_of_two(-40) {
            return Err(Error::ScaleNotPositive);
        }
        Ok(Self {
            variance: variance.clone(),
            blocks: OnceLock::new(),
            narrow: Arc::default(),
        })
    }

    /// With σ = `scale`.
    pub fn with_scale(scale: &Rational) -> Result<Self, Error> {
        check_scale(scale)?;
        Self::new(&(scale * scale))
    }

    fn blocks(&self) -> &Blocks {
        self.blocks.get_or_init(|| Blocks::new(&self.variance))
    }

    /// Blocks for noise by place, made when they are first asked for.
    pub(crate) fn narrow(&self) -> &NarrowBlocks {
        self.narrow
            .get_or_init(|| NarrowBlocks::new(Blocks::with_log(&self.variance, PLACED_LOG)))
    }

    /// Adds an independent draw to each value: exactly clamp(value + noise). Allocates nothing once its table is made.
    pub fn add_to(&self, values: &mut [i64], entropy: &mut (impl Entropy + ?Sized)) {
        self.add::<false>(values, entropy);
    }

    /// The same modulo 2⁶⁴: value + noise, and not clamped, so that whatever is linear in it can be computed afterwards.
    pub fn add_wrapping(&self, values: &mut [i64], entropy: &mut (impl Entropy + ?Sized)) {
        self.add::<true>(values, entropy);
    }

    fn add<const WRAP: bool>(&self, values: &mut [i64], entropy: &mut (impl Entropy + ?Sized)) {
        entropy.refresh();
        if values.len() >= QUICK_DRAWS && (0..=31).contains(&self.blocks().log_width) {
            self.add_quickly::<WRAP>(values, entropy)
        } else {
            self.add_one_by_one::<WRAP>(values, entropy)
        }
    }

    /// 12 bits of the key almost always tell the cell, 32 bits of ρ say to which integer 2^b·(q+ρ) rounds when b ≤ 31, and 8 bits of the coin almost always keep it, whatever ρ is. Only where they
    /// do not are they drawn on, to 64 bits. How often that is depends on the noise, so this is for many draws, whose time says next to nothing about one.
    fn add_quickly<const WRAP: bool>(&self, values: &mut [i64], entropy: &mut (impl Entropy + ?Sized)) {
        let blocks = self.blocks();
        let (width, half) = (blocks.log_width as u32, 1u64 << (31 - blocks.log_width));
        let (mut words, mut places, mut coins) = ([0u32; BATCH], [0u32; BATCH], [0u32; BATCH / 4]);
        // A cell that is open is none of these, so that one comparison says no to both.
        let mut certain = [0u8; 256];
        certain[..blocks.certain.len().min(255)]
            .copy_from_slice(&blocks.certain[..blocks.certain.len().min(255)]);
        let quick: &[u8; 1 << QUICK_BITS] = blocks.quick[..].try_into().expect("as many as it was made with");
        let mut done = 0;
        while done < values.len() {
            let count = BATCH.min(values.len() - done);
            entropy.fill(&mut words[..count], blocks.table.word_bits());
            entropy.fill(&mut places[..count], 32);
            entropy.fill(&mut coins[..count.div_ceil(4)], 32);
            for lane in 0..count {
                let (word, place) = (words[lane], places[lane]);
                let coin = (coins[lane / 4] >> (8 * (lane % 4))) as u8;
                let cell = quick[(word >> (32 - QUICK_BITS)) as usize];
                if coin < certain[usize::from(cell)] {
                    // q < 2^8 and b ≤ 31, so a magnitude is below 2^40.
                    let point = (u64::from(cell) << 32) + u64::from(place);
                    let magnitude = ((point + half) >> (32 - width)) as i64;
                    let sign = -i64::from(word & 1);
                    let noise = (magnitude ^ sign) - sign;
                    values[done] = if WRAP {
                        values[done].wrapping_add(noise)
                    } else {
                        values[done].saturating_add(noise)
                    };
                    done += 1;
                    continue;
                }
                let block = blocks.block(blocks.table.find(word, entropy), entropy);
                let coin = (u64::from(coin) << 56) | entropy.bits(56);
                let place = (u64::from(place) << 32) | entropy.bits(32);
                if blocks.keep_with(block, place, coin, true, entropy) {
                    values[done] = moved::<WRAP>(values[done], blocks.magnitude(block, place), word & 1 == 1);
                    done += 1;
                }
            }
        }
    }

    fn add_one_by_one<const WRAP: bool>(&self, values: &mut [i64], entropy: &mut (impl Entropy + ?Sized)) {
        let blocks = self.blocks();
        let (mut words, mut cells) = ([0u32; BATCH], [0u32; BATCH]);
        let mut done = 0;
        while done < values.len() {
            let count = BATCH.min(values.len() - done);
            let (words, cells) = (&mut words[..count], &mut cells[..count]);
            entropy.fill(words, blocks.table.word_bits());
            blocks.table.look_up(words, cells, entropy);
            for (word, cell) in words.iter().zip(&*cells) {
                let block = blocks.block(*cell, entropy);
                let place = entropy.bits(64);
                if blocks.keep(block, place, true, entropy) {
                    values[done] = moved::<WRAP>(values[done], blocks.magnitude(block, place), word & 1 == 1);
                    done += 1;
                }
            }
        }
    }

    /// Fills a slice with independent draws.
    pub fn fill(&self, values: &mut [i64], entropy: &mut (impl Entropy + ?Sized)) {
        values.fill(0);
        self.add_to(values, entropy);
    }

    /// One draw, clamped to `i64`.
    pub fn sample(&self, entropy: &mut (impl Entropy + ?Sized)) -> i64 {
        let mut value = [0];
        self.add_to(&mut value, entropy);
        value[0]
    }
}

fn check_variance(variance: &Rational) -> Result<(), Error> {
    if *variance <= Rational::ZERO {
        return Err(Error::ScaleNotPositive);
    }
    if *variance > power_of_two(100) {
        return Err(Error::ScaleTooLarge);
    }
    Ok(())
}

/// The sum modulo 2⁶⁴, or clamped.
fn moved<const WRAP: bool>(value: i64, magnitude: u128, negative: bool) -> i64 {
    if !WRAP {
        return signed_sum(value, magnitude, negative);
    }
    // The low 64 bits are the magnitude modulo 2⁶⁴.
    let magnitude = magnitude as u64;
    let moved = value as u64;
    (if negative {
        moved.wrapping_sub(magnitude)
    } else {
        moved.wrapping_add(magnitude)
    }) as i64
}

pub(crate) fn signed_sum(value: i64, magnitude: u128, negative: bool) -> i64 {
    // Magnitudes beyond 2^66 clamp any value, so cutting there keeps the sum's clamp exact.
    let magnitude = magnitude.min(1 << 66) as i128;
    saturate(i128::from(value) + if negative { -magnitude } else { magnitude })
}

impl DiscreteGaussian {
    /// Encloses P[k] for a given σ².
    pub fn probability(variance: &Rational, value: &Integer, bits: u32) -> Interval {
        let distribution = HalfGaussian::new(variance.clone(), true);
        let work = bits + 16;
        // P[0] = 1/Σ, and F(0) of the folded distribution is just that.
        let zero = distribution.cumulative(work).remove(0);
        let square = Rational::from(value * value);
        let exponent = -square / (Rational::from(2u8) * variance);
        zero.mul(&Interval::exp_of(&exponent, work)).with_bits(bits)
    }

    /// σ².
    pub fn variance(&self) -> &Rational {
        &self.variance
    }
}
