//! Geometric noise by digits, and the discrete Laplace built on it.

use crate::{Distribution, Entropy, Error, Inversion};
use exact::{Integer, Interval, Natural, Rational, floor_log2};
use std::sync::OnceLock;

/// How many draws are made together; the buffers live on the stack.
const BATCH: usize = 64;

/// A low digit has at most 2^this values, which keeps its table in the first-level cache.
const DIGIT_BITS: u32 = 10;

/// The last digit has 2^this values. One of its steps is between half a scale and a scale, so it reaches at least 32 scales, and
/// the low digits are close to uniform, which makes their searches short.
const LAST_BITS: u32 = 6;

/// P[k] ∝ e^(−k/t) for k = 0, 1, 2, …, with any positive rational scale t.
///
/// # Exactness
/// Write k = Σ_j d_j·2^(s_j) in digits of a few bits each, with a last digit that is not bounded. The weight e^(−k/t) = Π_j e^(−d_j·2^(s_j)/t) is a
/// product, so the digits are independent, each geometric with ratio β_j = e^(−2^(s_j)/t), the low ones cut to 0..n_j.
/// Proof: each digit is an exact [`Inversion`]: cut digits have F(k) = (1−β^(k+1))/(1−β^n), the last one has
/// F(k) = 1−β^(k+1). The last cell of the last digit stands for "n−1 or more"; by lack of memory the excess over n−1 is again
/// geometric, so another draw of that digit is added.
/// Tested by: `geometric_enumerated`, `laplace_fits`.
#[derive(Clone, Debug)]
pub struct Geometric {
    low_digits: Vec<Place>,
    last_digit: Place,
}

/// A digit and how far it is shifted.
#[derive(Clone, Debug)]
struct Place {
    shift: u32,
    digit: Inversion<Digit>,
}

/// One digit: ratio e^-rate, over `cells` values; cut off there, or with the rest in the last cell.
#[derive(Clone, Debug)]
struct Digit {
    rate: Rational,
    cells: u32,
    cut: bool,
}

impl Distribution for Digit {
    fn cumulative(&self, bits: u32) -> Vec<Interval> {
        // Powers by repeated products widen by a unit or two each; sixteen guard bits cover 2^10 of them, and a
        // division by 1−β^256 ≥ 256·rate/2 the rest, so guard by the size of the rate as well.
        let guard = 24 + floor_log2(&self.rate).min(0).unsigned_abs();
        let work = bits + guard;
        let ratio = Interval::exp_of(&-self.rate.clone(), work);
        let one = Interval::from_integer(1, work);
        let mut power = one.clone();
        let powers: Vec<Interval> = (0..self.cells)
            .map(|_| {
                power = power.mul(&ratio);
                power.clone()
            })
            .collect();
        let (last, powers) = powers.split_last().expect("a digit has cells");
        // One division for all cells: a product takes a fifth of the time of a quotient.
        let share = self
            .cut
            .then(|| one.div(&one.sub(last)).expect("a positive rate"));
        powers
            .iter()
            .map(|power| {
                let bound = one.sub(power);
                match &share {
                    Some(share) => bound.mul(share).with_bits(bits),
                    None => bound.with_bits(bits),
                }
            })
            .collect()
    }
}

impl Geometric {
    /// With scale t: P[k+1]/P[k] = e^(−1/t).
    pub fn new(scale: &Rational) -> Result<Self, Error> {
        Self::with_keys(scale, 31, 128)
    }

    fn with_keys(scale: &Rational, key_bits: u32, bound_bits: u32) -> Result<Self, Error> {
        check_scale(scale)?;
        let place = |shift: u32, bits: u32, cut: bool| {
            let rate = Rational::from(Natural::ONE << shift as usize) / scale;
            Place {
                shift,
                digit: Inversion::with_bounds(
                    Digit {
                        rate,
                        cells: 1 << bits,
                        cut,
                    },
                    key_bits,
                    bound_bits,
                ),
            }
        };
        // What lies beyond 2^(low + LAST_BITS) − 2^low > 31.5·t has probability under 2^-45: the last cell is met next to never.
        let low_bits = floor_log2(scale).max(0) as u32;
        if low_bits <= 3 {
            return Ok(Self {
                low_digits: Vec::new(),
                last_digit: place(0, low_bits + LAST_BITS, false),
            });
        }
        let count = low_bits.div_ceil(DIGIT_BITS);
        let start = |index: u32| index * low_bits / count;
        let low_digits = (0..count)
            .map(|index| place(start(index), start(index + 1) - start(index), true))
            .collect();
        Ok(Self {
            low_digits,
            last_digit: place(low_bits, LAST_BITS, false),
        })
    }

    /// Draws for up to [`BATCH`] values, and the lowest bit of each last word, which is free for a sign.
    fn fill_batch(&self, draws: &mut Draws, entropy: &mut (impl Entropy + ?Sized)) {
        let count = draws.count;
        let (mut words, mut cells) = ([0u32; BATCH], [0u32; BATCH]);
        let (words, cells) = (&mut words[..count], &mut cells[..count]);
        let (magnitudes, signs) = (&mut draws.magnitudes[..count], &mut draws.signs[..count]);
        magnitudes.fill(0);
        draws.beyond = false;
        for Place { shift, digit } in self.low_digits.iter().chain([&self.last_digit]) {
            entropy.fill(words, digit.word_bits());
            digit.look_up(words, cells, entropy);
            for lane in 0..count {
                magnitudes[lane] += u64::from(cells[lane]) << shift;
                signs[lane] = words[lane] & 1;
            }
        }
        let end = self.last_digit.digit.cells() as u32 - 1;
        if cells.iter().fold(false, |any, cell| any | (*cell == end)) {
            draws.beyond = true;
            let shift = self.last_digit.shift;
            for (excess, cell) in draws.excess.iter_mut().zip(&*cells) {
                *excess = if *cell == end {
                    self.excess(entropy) << shift
                } else {
                    0
                };
            }
        }
    }

    /// How far the last digit goes beyond its last cell's start.
    #[cold]
    fn excess(&self, entropy: &mut (impl Entropy + ?Sized)) -> u128 {
        let digit = &self.last_digit.digit;
        let end = digit.cells() as u32 - 1;
        let mut total = 0u128;
        loop {
            let (cell, _) = digit.draw(entropy);
            // Cut at 2^66: any `i64` plus or minus that much is clamped the same way.
            total = (total + u128::from(cell)).min(1 << 66);
            if cell != end {
                return total;
            }
        }
    }

    fn draw(&self, entropy: &mut (impl Entropy + ?Sized)) -> (u128, bool) {
        let mut draws = Draws::new(1);
        self.fill_batch(&mut draws, entropy);
        let excess = if draws.beyond { draws.excess[0] } else { 0 };
        (u128::from(draws.magnitudes[0]) + excess, draws.signs[0] == 1)
    }

    /// One draw (2^64−1 stands for anything larger).
    pub fn sample(&self, entropy: &mut (impl Entropy + ?Sized)) -> u64 {
        entropy.refresh();
        u64::try_from(self.draw(entropy).0).unwrap_or(u64::MAX)
    }
}

/// A batch of magnitudes with a sign bit each. What a last digit's last cell leaves open is in `excess`, which is
/// looked at only when `beyond` says so.
struct Draws {
    count: usize,
    magnitudes: [u64; BATCH],
    signs: [u32; BATCH],
    excess: [u128; BATCH],
    beyond: bool,
}

impl Draws {
    fn new(count: usize) -> Self {
        Self {
            count,
            magnitudes: [0; BATCH],
            signs: [0; BATCH],
            excess: [0; BATCH],
            beyond: false,
        }
    }
}

pub(crate) fn check_scale(scale: &Rational) -> Result<(), Error> {
    if *scale <= Rational::ZERO {
        return Err(Error::ScaleNotPositive);
    }
    if *scale > exact::power_of_two(50) {
        return Err(Error::ScaleTooLarge);
    }
    Ok(())
}

/// The discrete Laplace (symmetric geometric): P[k] ∝ e^(−|k|/t) over all integers.
///
/// # Exactness
/// Proof: with a = e^(−1/t), P[k] = (1−a)/(1+a)·a^|k|. For t < 16 the magnitude is an exact [`Inversion`] of the weights 1, 2a, 2a², …,
/// with an even sign; beyond the table the excess is [`Geometric`] by lack of memory. For larger t the magnitude is an exact
/// [`Geometric`] m with an even sign, and −0 is drawn again: what is kept has weight a^|k| for every integer k.
/// How often −0 is drawn is independent of what is kept, so the work does not depend on the outcome.
/// Adding to a value saturates at the ends of `i64`: the result is exactly clamp(value + noise), which is post-processing.
/// Tested by: `laplace_enumerated`, `laplace_fits`.
#[derive(Clone, Debug)]
pub struct DiscreteLaplace {
    scale: Rational,
    /// Made for the first draw. Most noise is only priced and never drawn, and the tables are most of what pricing would take, in time and in memory.
    tables: OnceLock<Tables>,
}

#[derive(Clone, Debug)]
struct Tables {
    small: Option<Inversion<Folded>>,
    magnitude: Geometric,
}

/// Weights 1, 2a, 2a², … with a = e^-rate; the last cell stands for "there or beyond".
#[derive(Clone, Debug)]
struct Folded {
    rate: Rational,
    cells: u32,
}

impl Distribution for Folded {
    fn cumulative(&self, bits: u32) -> Vec<Interval> {
        // P[|k| ≤ m] = 1 − 2a^(m+1)/(1+a).
        let work = bits + 24;
        let ratio = Interval::exp_of(&-self.rate.clone(), work);
        let one = Interval::from_integer(1, work);
        let share = Interval::from_integer(2, work)
            .div(&one.add(&ratio))
            .expect("1+a > 0");
        let mut tail = share;
        (1..self.cells)
            .map(|_| {
                tail = tail.mul(&ratio);
                one.sub(&tail).with_bits(bits)
            })
            .collect()
    }
}

impl DiscreteLaplace {
    /// With scale t: P[k+1]/P[k] = e^(−1/t) for k ≥ 0.
    pub fn new(scale: &Rational) -> Result<Self, Error> {
        check_scale(scale)?;
        Ok(Self {
            scale: scale.clone(),
            tables: OnceLock::new(),
        })
    }

    fn tables(&self) -> &Tables {
        self.tables
            .get_or_init(|| Tables::new(&self.scale, 31, 128).expect("the scale was checked"))
    }

    /// Adds an independent draw to each value: exactly clamp(value + noise). Allocates nothing after the first time.
    pub fn add_to(&self, values: &mut [i64], entropy: &mut (impl Entropy + ?Sized)) {
        let tables = self.tables();
        entropy.refresh();
        let mut draws = Draws::new(0);
        for batch in values.chunks_mut(BATCH) {
            draws.count = batch.len();
            match &tables.small {
                Some(table) => tables.fill_small(table, &mut draws, entropy),
                None => tables.fill_large(&mut draws, entropy),
            }
            for ((value, magnitude), sign) in batch.iter_mut().zip(&draws.magnitudes).zip(&draws.signs) {
                // Two's complement negation when the sign bit is set, without a branch. Magnitudes are below 2^57.
                let mask = -i64::from(*sign);
                *value = value.saturating_add((*magnitude as i64 ^ mask) - mask);
            }
            if draws.beyond {
                // Saturation is only right once: no value that saturated above has an excess of the other sign.
                for ((value, excess), sign) in batch.iter_mut().zip(&draws.excess).zip(&draws.signs) {
                    let excess = *excess as i128;
                    *value = saturate(i128::from(*value) + if *sign == 1 { -excess } else { excess });
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

impl Tables {
    fn new(scale: &Rational, key_bits: u32, bound_bits: u32) -> Result<Self, Error> {
        let magnitude = Geometric::with_keys(scale, key_bits, bound_bits)?;
        let small = (*scale < Rational::from(16u8)).then(|| {
            let cells = magnitude.last_digit.digit.cells() as u32;
            Inversion::with_bounds(
                Folded {
                    rate: Rational::ONE / scale,
                    cells,
                },
                key_bits,
                bound_bits,
            )
        });
        Ok(Self { small, magnitude })
    }

    fn fill_small(
        &self,
        table: &Inversion<Folded>,
        draws: &mut Draws,
        entropy: &mut (impl Entropy + ?Sized),
    ) {
        let (mut words, mut cells) = ([0u32; BATCH], [0u32; BATCH]);
        let (words, cells) = (&mut words[..draws.count], &mut cells[..draws.count]);
        entropy.fill(words, table.word_bits());
        table.look_up(words, cells, entropy);
        let (magnitudes, signs) = (
            &mut draws.magnitudes[..draws.count],
            &mut draws.signs[..draws.count],
        );
        for lane in 0..words.len() {
            magnitudes[lane] = u64::from(cells[lane]);
            signs[lane] = words[lane] & 1;
        }
        let end = table.cells() as u32 - 1;
        draws.beyond = cells.iter().fold(false, |any, cell| any | (*cell == end));
        if draws.beyond {
            for (excess, cell) in draws.excess.iter_mut().zip(&*cells) {
                *excess = if *cell == end {
                    self.magnitude.draw(entropy).0
                } else {
                    0
                };
            }
        }
    }

    fn fill_large(&self, draws: &mut Draws, entropy: &mut (impl Entropy + ?Sized)) {
        self.magnitude.fill_batch(draws, entropy);
        let lanes = draws.magnitudes[..draws.count]
            .iter()
            .zip(&draws.signs[..draws.count]);
        if lanes.fold(false, |any, (magnitude, sign)| {
            any | ((*magnitude == 0) & (*sign == 1))
        }) {
            self.draw_again(draws, entropy);
        }
    }

    /// Replaces each −0 of a batch.
    #[cold]
    fn draw_again(&self, draws: &mut Draws, entropy: &mut (impl Entropy + ?Sized)) {
        if !draws.beyond {
            draws.excess.fill(0);
        }
        for lane in 0..draws.count {
            while draws.magnitudes[lane] == 0 && draws.excess[lane] == 0 && draws.signs[lane] == 1 {
                let (magnitude, negative) = self.magnitude.draw(entropy);
                draws.magnitudes[lane] = magnitude as u64 & ((1 << 57) - 1);
                draws.excess[lane] = magnitude - u128::from(draws.magnitudes[lane]);
                draws.beyond |= draws.excess[lane] > 0;
                draws.signs[lane] = u32::from(negative);
            }
        }
    }
}

pub(crate) fn saturate(value: i128) -> i64 {
    value.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

impl DiscreteLaplace {
    /// Encloses P[k].
    /// ```
    /// use exact::{Interval, ratio};
    /// use noise::DiscreteLaplace;
    ///
    /// // With scale 1 neighbouring counts differ by e in probability, everywhere: that is ε = 1.
    /// let at = |value: i32| DiscreteLaplace::probability(&ratio(1, 1), &value.into(), 128);
    /// let quotient = at(5).div(&at(6)).unwrap();
    /// let e = Interval::from_integer(1, 128).exp();
    /// assert!(quotient.lower() < e.upper() && e.lower() < quotient.upper());
    /// ```
    pub fn probability(scale: &Rational, value: &Integer, bits: u32) -> Interval {
        let work = bits + 16;
        let zero = Folded {
            rate: Rational::ONE / scale,
            cells: 2,
        }
        .cumulative(work)
        .remove(0);
        let distance = if *value < Integer::ZERO {
            -value
        } else {
            value.clone()
        };
        zero.mul(&Interval::exp_of(&(-Rational::from(distance) / scale), work))
            .with_bits(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OsEntropy;
    use crate::inversion::tests::assert_exact;
    use exact::{parse_decimal, ratio};

    #[test]
    fn geometric_enumerated() {
        for (scale, key_bits) in [(ratio(1, 2), 3), (ratio(1, 1), 3), (ratio(3, 2), 4)] {
            let sampler = Geometric::with_keys(&scale, key_bits, key_bits + 2).unwrap();
            let one = Interval::from_integer(1, 80);
            let ratio = Interval::exp_of(&(-Rational::ONE / &scale), 80);
            let distribution = |k: i64| {
                one.sub(&ratio)
                    .mul(&Interval::exp_of(&(-Rational::from(k) / &scale), 80))
            };
            assert_exact(2, distribution, |tape| sampler.sample(tape) as i64).unwrap();
        }
    }

    /// Scales with several digits cannot be enumerated on short tapes; the joint distribution of the
    /// digits is checked as an identity instead: the product of the digit distributions is the geometric distribution.
    #[test]
    fn digits_multiply_to_the_distribution() {
        let scale = ratio(1000, 1);
        let sampler = Geometric::new(&scale).unwrap();
        assert_eq!((sampler.low_digits.len(), sampler.last_digit.shift), (1, 9));
        let bits = 120;
        let masses: Vec<Vec<Interval>> = [&sampler.low_digits[0], &sampler.last_digit]
            .iter()
            .map(|place| {
                let mut below = Interval::from_integer(0, bits);
                place
                    .digit
                    .clone()
                    .distribution_cumulative(bits)
                    .into_iter()
                    .map(|bound| std::mem::replace(&mut below, bound.clone()).neg().add(&bound))
                    .collect()
            })
            .collect();
        let one = Interval::from_integer(1, bits);
        let ratio = Interval::exp_of(&(-Rational::ONE / &scale), bits);
        for value in [0u32, 1, 5, 256, 510, 512, 513, 1300, 10_000, 20_000] {
            let product = masses[0][(value % 512) as usize].mul(&masses[1][(value / 512) as usize]);
            let distribution = one
                .sub(&ratio)
                .mul(&Interval::exp_of(&(-Rational::from(value) / &scale), bits));
            assert!(
                product.lower() <= distribution.upper() && distribution.lower() <= product.upper(),
                "{value}"
            );
            assert!(
                product.width() < Integer::from(1u64 << 40),
                "wide enough to hide an error"
            );
        }
    }

    /// With tables so coarse that short tapes decide most draws.
    fn coarse(scale: &Rational, key_bits: u32, bound_bits: u32) -> DiscreteLaplace {
        DiscreteLaplace {
            scale: scale.clone(),
            tables: OnceLock::from(Tables::new(scale, key_bits, bound_bits).unwrap()),
        }
    }

    #[test]
    fn laplace_enumerated() {
        for (scale, key_bits) in [(ratio(1, 3), 2), (ratio(1, 1), 3), (ratio(2, 1), 4)] {
            let sampler = coarse(&scale, key_bits, key_bits + 1);
            let distribution = |k: i64| DiscreteLaplace::probability(&scale, &Integer::from(k), 80);
            assert_exact(2, distribution, |tape| sampler.sample(tape)).unwrap();
        }
    }

    #[test]
    fn a_wrong_scale_is_noticed_by_enumeration() {
        let sampler = coarse(&parse_decimal("1.05").unwrap(), 4, 9);
        let distribution = |k: i64| DiscreteLaplace::probability(&Rational::ONE, &Integer::from(k), 80);
        assert!(assert_exact(2, distribution, |tape| sampler.sample(tape)).is_err());
    }

    #[test]
    fn laplace_fits() {
        let mut entropy = OsEntropy::new().unwrap();
        let mut samples = vec![0i64; 1_000_000];
        for scale in ["0.2", "1", "10", "1000", "12345.678", "1e9/7"] {
            let scale = parse_decimal(scale).unwrap();
            DiscreteLaplace::new(&scale)
                .unwrap()
                .fill(&mut samples, &mut entropy);
            audit::goodness::cdf_test(&samples, audit::goodness::discrete_laplace_cdf(&scale), 1e-9)
                .assert_consistent();
            let mutant = &scale * ratio(21, 20);
            if scale > ratio(1, 2) {
                let cdf = audit::goodness::discrete_laplace_cdf(&mutant);
                audit::goodness::cdf_test(&samples, cdf, 1e-9).assert_rejected();
            }
        }
    }

    #[test]
    fn sums_saturate_exactly() {
        let mut entropy = OsEntropy::new().unwrap();
        let sampler = DiscreteLaplace::new(&ratio(5, 1)).unwrap();
        let mut values = [i64::MAX; 500];
        sampler.add_to(&mut values, &mut entropy);
        assert!(values.contains(&i64::MAX) && values.iter().any(|value| *value < i64::MAX));
        assert!(values.iter().all(|value| *value > i64::MAX - 1000));
    }

    /// A draw that replaces −0 may be a multiple of 2^57, whose low part is zero: it is not −0 and must be kept.
    #[test]
    fn replacements_beyond_57_bits_are_kept() {
        let large = DiscreteLaplace::new(&exact::power_of_two(50)).unwrap();
        // Five low digits and a last one, each of one word; a word of 2 is cell 0, of 3 is cell 0 with a minus sign.
        let digits = |low: u32, last: u32| [low, low, low, low, low, last].map(u32::to_be_bytes).concat();
        // A last word of ones is the last cell, 63·2^50, negative; twice 63 and 2 more in excess make 128·2^50 = 2^57.
        let cell_two = (0.9 * f64::from(1u32 << 31)) as u32 * 2;
        let excess = [vec![0xff; 4], vec![0xff; 8], cell_two.to_be_bytes().to_vec()].concat();
        let negative_zero = digits(2, 3);
        let replacement = [digits(2, u32::MAX), vec![0xff; 8], excess].concat();
        let tape = [negative_zero, replacement.clone()].concat();
        let expected = large.sample(&mut crate::Tape::new(replacement));
        assert_eq!(expected, -(1 << 57));
        assert_eq!(large.sample(&mut crate::Tape::new(tape)), expected);
    }

    #[test]
    fn extreme_scales() {
        let mut entropy = OsEntropy::new().unwrap();
        let tiny = DiscreteLaplace::new(&parse_decimal("1e-9").unwrap()).unwrap();
        assert!((0..1000).all(|_| tiny.sample(&mut entropy) == 0));
        let large = DiscreteLaplace::new(&exact::power_of_two(50)).unwrap();
        assert!((0..1000).any(|_| large.sample(&mut entropy).unsigned_abs() > 1 << 45));
        assert_eq!(
            DiscreteLaplace::new(&Rational::ZERO).unwrap_err(),
            Error::ScaleNotPositive
        );
        assert_eq!(
            DiscreteLaplace::new(&exact::power_of_two(51)).unwrap_err(),
            Error::ScaleTooLarge
        );
    }
}
