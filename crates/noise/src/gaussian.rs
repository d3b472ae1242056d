//! Gaussian noise on the integers: the discrete Gaussian, and the continuous one rounded.

use crate::by_place::NarrowBlocks;
use crate::exponential::{self, exp_neg};
use crate::geometric::{check_scale, saturate};
use crate::real::UniformReal;
use crate::{BernoulliExp, Entropy, Error, Inversion, Law};
use exact::{Integer, Interval, Rational, floor_log2, power_of_two};
use std::sync::{Arc, OnceLock};

/// How many draws are made together; the buffers live on the stack.
const BATCH: usize = 64;

/// A block law has its deviation between 2^4 and 2^5 cells.
const BLOCK_LOG: i32 = 4;
/// Noise by place has it between 2^6 and 2^7: blocks are so narrow that few proposals are dropped.
pub(crate) const PLACED_LOG: i32 = 6;

/// Many draws look their cell up by this many bits of the key, which almost always tell.
const QUICK_BITS: u32 = 12;
const OPEN: u8 = u8::MAX;
const QUICK_DRAWS: usize = 4096;

/// A table of all magnitudes pays off up to this deviation, and only when this many values are drawn.
const DIRECT_SCALE: u32 = 1200;
const DIRECT_DRAWS: usize = 4096;

/// Weights e^(−q²/2v) for q = 0, 1, 2, …; when `folded`, those of q ≥ 1 count twice, for both signs.
/// The last cell stands for "there or beyond".
#[derive(Clone, Debug)]
pub(crate) struct HalfGaussian {
    variance: Rational,
    pub(crate) cells: u32,
    folded: bool,
}

impl HalfGaussian {
    fn new(variance: Rational, folded: bool) -> Self {
        // 7 deviations and a bit: what lies beyond has probability below 2^-38.
        let deviation = Interval::sqrt_of(&variance, 32).upper();
        let cells = u32::try_from((deviation * Rational::from(7u8)).ceil()).expect("a bounded deviation") + 3;
        Self {
            variance,
            cells,
            folded,
        }
    }

    /// q beyond the last cell's start M, by rejection: e^(−(M+g)²/2v) = e^(−M²/2v)·e^(−Mg/v)·e^(−g²/2v), so g is
    /// geometric with ratio e^(−M/v), kept with probability e^(−g²/2v).
    #[cold]
    fn beyond(&self, entropy: &mut (impl Entropy + ?Sized)) -> u64 {
        let start = u64::from(self.cells - 1);
        let more = BernoulliExp::new(&(Rational::from(start) / &self.variance)).expect("not negative");
        loop {
            let mut excess = 0u64;
            while more.sample(entropy) {
                excess += 1;
            }
            let square = Rational::from(u128::from(excess) * u128::from(excess));
            let keep =
                BernoulliExp::new(&(square / (Rational::from(2u8) * &self.variance))).expect("not negative");
            if keep.sample(entropy) {
                return start + excess;
            }
        }
    }
}

impl Law for HalfGaussian {
    fn cumulative(&self, bits: u32) -> Vec<Interval> {
        // Weights by two products a step: their intervals widen by about m² units, under 2^34 at m = 2^17.
        let work = bits + 48;
        let step = Interval::exp_of(&(-Rational::ONE / &self.variance), work);
        // The ratio of weight m+1 to weight m is e^(−(2m+1)/2v).
        let mut ratio = Interval::exp_of(&(-Rational::ONE / (Rational::from(2u8) * &self.variance)), work);
        let one = Interval::from_integer(1, work);
        let enough = Integer::ONE << 36usize;
        let mut weight = one.clone();
        let mut total = one.clone();
        let mut sums = vec![total.clone()];
        loop {
            weight = weight.mul(&ratio);
            ratio = ratio.mul(&step);
            total = total.add(&if self.folded {
                weight.scale_by_power_of_two(1)
            } else {
                weight.clone()
            });
            if sums.len() + 1 < self.cells as usize {
                sums.push(total.clone());
                continue;
            }
            // Ratios fall, so all weights after this one sum to at most weight·ratio/(1−ratio).
            let rest = weight.mul(&ratio).div(&one.sub(&ratio));
            if let Some(rest) = rest.filter(|rest| *rest.hi() < enough) {
                let twice = rest.hi() * Integer::from(2);
                total = total.add(&Interval::from_ends(Integer::ZERO, twice, work));
                break;
            }
        }
        sums.iter()
            .map(|sum| sum.div(&total).expect("a positive total").with_bits(bits))
            .collect()
    }
}

/// A point of the half-line by blocks: block q of width B = 2^b from a table, a uniform place ρ inside it, and a
/// test that keeps it with probability e^(−γ), γ = ((B(q+ρ))² − (Bq)²)/2σ² = K·ρ·(2q+ρ) with K = B²/2σ².
///
/// The pair (q, ρ) is proposed with density ∝ e^(−(Bq)²/2σ²) and kept with e^(−γ), so a kept pair has density
/// ∝ e^(−(B(q+ρ))²/2σ²): B(q+ρ) is the half Gaussian. How often a pair is dropped is independent of the pair that is kept.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    pub(crate) table: Inversion<HalfGaussian>,
    pub(crate) law: HalfGaussian,
    /// b, which is negative when the deviation is under 16.
    pub(crate) log_width: i32,
    /// K, at most 2^-9.
    pub(crate) steepness: Rational,
    /// ⌊K·2^72⌋.
    steepness_fixed: u64,
    /// For each cell, a number of which it is certain that a coin of 8 bits below it keeps any place in the block.
    certain: Vec<u8>,
    /// For the first 12 bits of a key, its cell, or [`OPEN`] where they do not tell.
    quick: Vec<u8>,
}

impl Blocks {
    fn new(variance: &Rational) -> Self {
        Self::with_log(variance, BLOCK_LOG)
    }

    /// With σ/B in [2^log, 2^(log+1)); `log` is at least 4.
    fn with_log(variance: &Rational, log: i32) -> Self {
        // log₂ σ is half of log₂ σ².
        let log_width = floor_log2(variance).div_euclid(2) - log;
        let law = HalfGaussian::new(variance / power_of_two(2 * log_width), false);
        let steepness = Rational::ONE / (Rational::from(2u8) * &law.variance);
        let steepness_fixed =
            u64::try_from((&steepness * power_of_two(72)).floor()).expect("K is at most 2^-9");
        // γ < K·(2q+1) in the whole block, and e^−γ ≥ 1 − γ. The last cell stands for many blocks, so nothing is certain there.
        let certain = (0..law.cells).map(|block| {
            let most = &steepness * Rational::from(2 * u64::from(block) + 1);
            let kept = (Rational::ONE - most).max(Rational::ZERO) * power_of_two(8);
            let last = block + 1 == law.cells;
            u8::try_from(kept.floor()).ok().filter(|_| !last).unwrap_or(0)
        });
        let certain = certain.collect();
        let table = Inversion::new(law.clone());
        let quick = (0..1 << QUICK_BITS).map(|beginning| {
            let cell = table.cell_of_all(beginning, QUICK_BITS);
            cell.and_then(|cell| u8::try_from(cell).ok()).unwrap_or(OPEN)
        });
        Self {
            quick: quick.collect(),
            certain,
            table,
            law,
            log_width,
            steepness,
            steepness_fixed,
        }
    }

    /// Whether to keep (q, ρ): ρ is `place`·2^-64 exactly, or somewhere in [place, place+1)·2^-64 when `continuous`.
    ///
    /// The fixed-point γ is low by less than 9 units of 2^-64. Cutting 2q+ρ to 54 bits, cutting its product with ρ there, and the unknown
    /// rest of ρ take less than 2.6·2^-54 from ρ·(2q+ρ), which K ≤ 2^-9 makes 5.2 units. K is low by at most 2^-72, and ρ·(2q+ρ) < 2^9
    /// makes that 2 units. The last cut is 1. With the error of `exp_neg` that is less than 17 units; 32 is the margin used.
    fn keep(&self, block: u64, place: u64, continuous: bool, entropy: &mut (impl Entropy + ?Sized)) -> bool {
        let coin = entropy.bits(64);
        self.keep_with(block, place, coin, continuous, entropy)
    }

    /// The same with 64 bits of the coin given.
    pub(crate) fn keep_with(
        &self,
        block: u64,
        place: u64,
        coin: u64,
        continuous: bool,
        entropy: &mut (impl Entropy + ?Sized),
    ) -> bool {
        const { assert!(exponential::ERROR + 9 < 32) };
        if block < 256 {
            let factor = (block << 55) + (place >> 10);
            let product = (u128::from(place) * u128::from(factor)) >> 64;
            let gamma = ((product * u128::from(self.steepness_fixed)) >> 62) as u64;
            let (coin, threshold) = (u128::from(coin), u128::from(exp_neg(gamma)));
            if coin + 32 < threshold {
                return true;
            }
            if coin > threshold + 32 {
                return false;
            }
        }
        self.keep_exactly(block, place, coin, continuous, entropy)
    }

    #[cold]
    pub(crate) fn keep_exactly(
        &self,
        block: u64,
        place: u64,
        coin: u64,
        continuous: bool,
        entropy: &mut (impl Entropy + ?Sized),
    ) -> bool {
        let mut coin = UniformReal::from_bits(coin);
        let mut place = UniformReal::from_bits(place);
        let gamma = |place: &Rational| &self.steepness * place * (Rational::from(2 * block) + place);
        loop {
            let bits = coin.known_bits() + 16;
            let low = gamma(&place.lower());
            let high = if continuous {
                gamma(&place.upper())
            } else {
                low.clone()
            };
            let most = Interval::exp_of(&-low, bits).upper();
            let least = Interval::exp_of(&-high, bits).lower();
            if coin.upper() <= least {
                return true;
            }
            if coin.lower() >= most {
                return false;
            }
            coin.refine(entropy);
            if continuous {
                place.refine(entropy);
            }
        }
    }

    pub(crate) fn block(&self, cell: u32, entropy: &mut (impl Entropy + ?Sized)) -> u64 {
        if cell == self.law.cells - 1 {
            self.law.beyond(entropy)
        } else {
            u64::from(cell)
        }
    }

    /// ⌊2^b·(q+ρ) + ½⌋ in units of 2^-64 before the shift; −26 ≤ b ≤ 46, so all of it fits.
    pub(crate) fn magnitude(&self, block: u64, place: u64) -> u128 {
        let point = (u128::from(block) << 64) + u128::from(place);
        let half = 1u128 << (63 - self.log_width);
        (point + half) >> (64 - self.log_width)
    }
}

/// The discrete Gaussian: P[k] ∝ e^(−k²/2σ²) over all integers.
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
            let law = HalfGaussian::new(self.variance.clone(), true);
            (law.clone(), Inversion::new(law))
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
        let (law, table) = self.direct();
        let end = law.cells - 1;
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
                        *value = signed_sum(*value, law.beyond(entropy).into(), word & 1 == 1);
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
        entropy.refresh();
        if values.len() >= QUICK_DRAWS && (0..=31).contains(&self.blocks().log_width) {
            self.add_quickly(values, entropy)
        } else {
            self.add_one_by_one(values, entropy)
        }
    }

    /// 12 bits of the key almost always tell the cell, 32 bits of ρ say to which integer 2^b·(q+ρ) rounds when b ≤ 31, and 8 bits of the coin almost always keep it, whatever ρ is. Only where they
    /// do not are they drawn on, to 64 bits. How often that is depends on the noise, so this is for many draws, whose time says next to nothing about one.
    fn add_quickly(&self, values: &mut [i64], entropy: &mut (impl Entropy + ?Sized)) {
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
                    values[done] = values[done].saturating_add((magnitude ^ sign) - sign);
                    done += 1;
                    continue;
                }
                let block = blocks.block(blocks.table.find(word, entropy), entropy);
                let coin = (u64::from(coin) << 56) | entropy.bits(56);
                let place = (u64::from(place) << 32) | entropy.bits(32);
                if blocks.keep_with(block, place, coin, true, entropy) {
                    values[done] = signed_sum(values[done], blocks.magnitude(block, place), word & 1 == 1);
                    done += 1;
                }
            }
        }
    }

    fn add_one_by_one(&self, values: &mut [i64], entropy: &mut (impl Entropy + ?Sized)) {
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
                    values[done] = signed_sum(values[done], blocks.magnitude(block, place), word & 1 == 1);
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

pub(crate) fn signed_sum(value: i64, magnitude: u128, negative: bool) -> i64 {
    // Magnitudes beyond 2^66 clamp any value, so cutting there keeps the sum's clamp exact.
    let magnitude = magnitude.min(1 << 66) as i128;
    saturate(i128::from(value) + if negative { -magnitude } else { magnitude })
}

impl DiscreteGaussian {
    /// Encloses P[k] for a given σ².
    pub fn probability(variance: &Rational, value: &Integer, bits: u32) -> Interval {
        let law = HalfGaussian::new(variance.clone(), true);
        let work = bits + 16;
        // P[0] = 1/Σ, and F(0) of the folded law is just that.
        let zero = law.cumulative(work).remove(0);
        let square = Rational::from(value * value);
        let exponent = -square / (Rational::from(2u8) * variance);
        zero.mul(&Interval::exp_of(&exponent, work)).with_bits(bits)
    }

    /// σ².
    pub fn variance(&self) -> &Rational {
        &self.variance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OsEntropy;
    use crate::inversion::tests::assert_exact;
    use audit::goodness;
    use exact::{parse_decimal, ratio};

    #[test]
    fn discrete_enumerated() {
        for (variance, key_bits) in [(ratio(1, 4), 3), (ratio(1, 1), 4), (ratio(7, 2), 6)] {
            let law = HalfGaussian::new(variance.clone(), true);
            let coarse = Inversion::with_bounds(law.clone(), key_bits, key_bits + 1);
            let mut sampler = DiscreteGaussian::new(&variance).unwrap();
            sampler.direct = OnceLock::from((law, coarse));
            let probability = |k: i64| DiscreteGaussian::probability(&variance, &Integer::from(k), 80);
            assert_exact(2, probability, |tape| sampler.sample(tape)).unwrap();
            let mutant = &variance * ratio(11, 10);
            let probability = |k: i64| DiscreteGaussian::probability(&mutant, &Integer::from(k), 80);
            assert!(assert_exact(2, probability, |tape| sampler.sample(tape)).is_err());
        }
    }

    #[test]
    fn discrete_fits() {
        let mut entropy = OsEntropy::new().unwrap();
        let mut samples = vec![0i64; 1_000_000];
        for scale in ["0.3", "1", "10", "17.5", "1000", "12345.678", "1e9/7"] {
            let scale = parse_decimal(scale).unwrap();
            let variance = &scale * &scale;
            let sampler = DiscreteGaussian::with_scale(&scale).unwrap();
            let right = goodness::discrete_gaussian_cdf(&variance);
            let wrong = goodness::discrete_gaussian_cdf(&(&variance * ratio(441, 400)));
            sampler.fill(&mut samples, &mut entropy);
            goodness::cdf_test(&samples, &right, 1e-9).assert_consistent();
            if scale > ratio(1, 2) {
                goodness::cdf_test(&samples, &wrong, 1e-9).assert_rejected();
            }
            // The path by blocks, which the bulk call above leaves for the table where it can.
            if scale > ratio(16, 1) {
                samples
                    .chunks_mut(1000)
                    .for_each(|chunk| sampler.fill(chunk, &mut entropy));
                goodness::cdf_test(&samples, &right, 1e-9).assert_consistent();
                goodness::cdf_test(&samples, &wrong, 1e-9).assert_rejected();
            }
        }
    }

    #[test]
    fn rounded_fits() {
        let mut entropy = OsEntropy::new().unwrap();
        let mut samples = vec![0i64; 1_000_000];
        for scale in [
            "0.4",
            "1",
            "3.7",
            "17.5",
            "1000",
            "12345.678",
            "1e9/7",
            "3e9",
            "1e13",
        ] {
            let scale = parse_decimal(scale).unwrap();
            RoundedGaussian::with_scale(&scale)
                .unwrap()
                .fill(&mut samples, &mut entropy);
            goodness::cdf_test(&samples, goodness::rounded_gaussian_cdf(&scale), 1e-9).assert_consistent();
            // The path of few draws.
            let sampler = RoundedGaussian::with_scale(&scale).unwrap();
            samples[..100_000]
                .chunks_mut(1000)
                .for_each(|chunk| sampler.fill(chunk, &mut entropy));
            goodness::cdf_test(&samples[..100_000], goodness::rounded_gaussian_cdf(&scale), 1e-9)
                .assert_consistent();
            let mutant = goodness::rounded_gaussian_cdf(&(&scale * ratio(21, 20)));
            if scale > ratio(1, 2) {
                goodness::cdf_test(&samples, mutant, 1e-9).assert_rejected();
            }
        }
    }

    /// The quick test and the exact one give the same answer on the same bits, also right at the threshold.
    #[test]
    fn keeping_matches_exact_arithmetic() {
        let mut entropy = OsEntropy::new().unwrap();
        for scale in ["17", "1000.5", "1e9/7"] {
            let scale = parse_decimal(scale).unwrap();
            let blocks = Blocks::new(&(&scale * &scale));
            assert!(blocks.log_width >= 0);
            for _ in 0..300 {
                let block = entropy.bits(7);
                let place = entropy.bits(64);
                // A coin within a few units of the threshold: e^-γ computed exactly, cut to 64 bits, and nudged.
                let position = UniformReal::from_bits(place).lower();
                let gamma = &blocks.steepness * &position * (Rational::from(2 * block) + &position);
                let threshold = u64::try_from(Interval::exp_of(&-gamma, 64).lo()).unwrap_or(u64::MAX);
                for nudge in [0u64, 1, 31, 33, 40, 1 << 20] {
                    for coin in [threshold.saturating_sub(nudge), threshold.saturating_add(nudge)] {
                        for continuous in [false, true] {
                            let mut tape =
                                crate::Tape::new([coin.to_be_bytes(), [0; 8], [0; 8], [0; 8]].concat());
                            let quick = blocks.keep(block, place, continuous, &mut tape);
                            let mut tape = crate::Tape::new([0; 24]);
                            let exact = blocks.keep_exactly(block, place, coin, continuous, &mut tape);
                            assert_eq!(quick, exact);
                        }
                    }
                }
            }
        }
    }

    /// A coin just below what is certain keeps even the last place of its block.
    #[test]
    fn what_is_certainly_kept_is_kept() {
        for scale in ["17", "1000.5", "1e9/7", "3e9"] {
            let scale = parse_decimal(scale).unwrap();
            let blocks = Blocks::new(&(&scale * &scale));
            let end = blocks.certain.len() - 1;
            assert_eq!(blocks.certain[end], 0, "nothing is certain beyond the table");
            let told = blocks.quick.iter().filter(|cell| **cell != OPEN).count();
            assert!(told > blocks.quick.len() * 9 / 10, "{told}");
            for (block, certain) in blocks.certain[..end]
                .iter()
                .enumerate()
                .filter(|(_, known)| **known > 0)
            {
                let coin = (u64::from(*certain) << 56) - 1;
                let mut tape = crate::Tape::new([0xff; 32]);
                assert!(
                    blocks.keep_exactly(block as u64, u64::MAX, coin, true, &mut tape),
                    "{block}"
                );
            }
        }
    }

    /// What lies beyond a table's end has the right law, too: a table cut short sends most draws there.
    #[test]
    fn the_far_end_is_drawn_exactly() {
        let mut entropy = OsEntropy::new().unwrap();
        let variance = ratio(100, 1);
        let law = HalfGaussian {
            variance: variance.clone(),
            cells: 6,
            folded: true,
        };
        let mut sampler = DiscreteGaussian::new(&variance).unwrap();
        sampler.direct = OnceLock::from((law.clone(), Inversion::new(law)));
        let mut samples = vec![0i64; 60_000];
        sampler.fill(&mut samples, &mut entropy);
        goodness::cdf_test(&samples, goodness::discrete_gaussian_cdf(&variance), 1e-9).assert_consistent();
        goodness::cdf_test(&samples, goodness::discrete_gaussian_cdf(&ratio(115, 1)), 1e-9).assert_rejected();
    }

    #[test]
    fn impossible_scales_are_refused() {
        assert_eq!(
            DiscreteGaussian::new(&Rational::ZERO).unwrap_err(),
            Error::ScaleNotPositive
        );
        assert_eq!(
            RoundedGaussian::with_scale(&power_of_two(51)).unwrap_err(),
            Error::ScaleTooLarge
        );
        assert_eq!(
            RoundedGaussian::with_scale(&power_of_two(-30)).unwrap_err(),
            Error::ScaleNotPositive
        );
    }
}
