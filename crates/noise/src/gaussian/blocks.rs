//! Half of a Gaussian by blocks: what both kinds of Gaussian noise are drawn from.

use crate::exponential::{self, exp_neg};
use crate::real::UniformReal;
use crate::{BernoulliExp, Distribution, Entropy, Inversion};
use exact::{Integer, Interval, Rational, floor_log2, power_of_two};

/// A block distribution has its deviation between 2^4 and 2^5 cells.
const BLOCK_LOG: i32 = 4;

/// Many draws look their cell up by this many bits of the key, which almost always tell.
pub(super) const QUICK_BITS: u32 = 12;
pub(super) const OPEN: u8 = u8::MAX;

/// Weights e^(−q²/2v) for q = 0, 1, 2, …; when `folded`, those of q ≥ 1 count twice, for both signs.
/// The last cell stands for "there or beyond".
#[derive(Clone, Debug)]
pub(crate) struct HalfGaussian {
    pub(super) variance: Rational,
    pub(crate) cells: u32,
    pub(super) folded: bool,
}

impl HalfGaussian {
    pub(super) fn new(variance: Rational, folded: bool) -> Self {
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
    pub(super) fn beyond(&self, entropy: &mut (impl Entropy + ?Sized)) -> u64 {
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

impl Distribution for HalfGaussian {
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
    pub(crate) distribution: HalfGaussian,
    /// b, which is negative when the deviation is under 16.
    pub(crate) log_width: i32,
    /// K, at most 2^-9.
    pub(crate) steepness: Rational,
    /// ⌊K·2^72⌋.
    pub(super) steepness_fixed: u64,
    /// For each cell, a number of which it is certain that a coin of 8 bits below it keeps any place in the block.
    pub(super) certain: Vec<u8>,
    /// For the first 12 bits of a key, its cell, or [`OPEN`] where they do not tell.
    pub(super) quick: Vec<u8>,
}

impl Blocks {
    pub(super) fn new(variance: &Rational) -> Self {
        Self::with_log(variance, BLOCK_LOG)
    }

    /// With σ/B in [2^log, 2^(log+1)); `log` is at least 4.
    pub(super) fn with_log(variance: &Rational, log: i32) -> Self {
        // log₂ σ is half of log₂ σ².
        let log_width = floor_log2(variance).div_euclid(2) - log;
        let distribution = HalfGaussian::new(variance / power_of_two(2 * log_width), false);
        let steepness = Rational::ONE / (Rational::from(2u8) * &distribution.variance);
        let steepness_fixed =
            u64::try_from((&steepness * power_of_two(72)).floor()).expect("K is at most 2^-9");
        // γ < K·(2q+1) in the whole block, and e^−γ ≥ 1 − γ. The last cell stands for many blocks, so nothing is certain there.
        let certain = (0..distribution.cells).map(|block| {
            let most = &steepness * Rational::from(2 * u64::from(block) + 1);
            let kept = (Rational::ONE - most).max(Rational::ZERO) * power_of_two(8);
            let last = block + 1 == distribution.cells;
            u8::try_from(kept.floor()).ok().filter(|_| !last).unwrap_or(0)
        });
        let certain = certain.collect();
        let table = Inversion::new(distribution.clone());
        let quick = (0..1 << QUICK_BITS).map(|beginning| {
            let cell = table.cell_of_all(beginning, QUICK_BITS);
            cell.and_then(|cell| u8::try_from(cell).ok()).unwrap_or(OPEN)
        });
        Self {
            quick: quick.collect(),
            certain,
            table,
            distribution,
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
    pub(super) fn keep(
        &self,
        block: u64,
        place: u64,
        continuous: bool,
        entropy: &mut (impl Entropy + ?Sized),
    ) -> bool {
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
        if cell == self.distribution.cells - 1 {
            self.distribution.beyond(entropy)
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
