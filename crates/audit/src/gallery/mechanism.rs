//! How the exhibits draw.

use super::words::{LAYERS, Words, exponential, unit};
use crate::Error;
use crate::black_box::{Subject, word};

/// The rate of an exponential fall, in eightieths: noise of rate r has scale 80/r, so the claim of ε = 0.1 is
/// a rate of 8, and every scale of the gallery is exact.
pub(super) type Rate = u32;

/// A rate as a scale.
fn scale(rate: Rate) -> f64 {
    80.0 / f64::from(rate)
}

/// Laplace noise falls on both sides, exponential noise lies above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noise {
    Laplace,
    Exponential,
}

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mechanism {
    /// Every entry with its own Laplace noise.
    Laplace { rate: Rate },
    /// Every entry with two-sided geometric noise.
    Geometric { rate: Rate },
    /// Sums of the first entry, the first two, …, of entries that have noise each.
    PrefixSums { rate: Rate },
    /// The place of the largest noisy entry, or its value.
    NoisyMax { noise: Noise, rate: Rate, value: bool },
    /// Which queries exceed a noisy threshold.
    SparseVector(SparseVector),
    /// The median with noise for the data's own sensitivity.
    LocalMedian { rate: Rate },
    /// The textbook sampler, all bits released.
    FloatLaplace { rate: Rate },
    /// Every entry with the same noise.
    ReusedNoise { rate: Rate },
}

/// The sparse vector technique: each query is compared with a threshold, both noisy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SparseVector {
    /// Of the noise of the threshold.
    pub(super) threshold_rate: Rate,
    /// Of the noise of each query, if it has any.
    pub(super) query_rate: Option<Rate>,
    /// Stops after this many queries above the threshold.
    pub(super) cutoff: Option<usize>,
    /// Draws the threshold's noise anew after each.
    pub(super) refresh: bool,
    /// Releases the noisy query where it is above.
    pub(super) value: bool,
}

/// The threshold of all variants.
pub(super) const THRESHOLD: i64 = 1;

/// One exhibit with one worker's words.
#[derive(Debug)]
pub struct Player<W> {
    mechanism: Mechanism,
    inputs: Vec<Input>,
    words: W,
    row: Vec<f64>,
}

/// An input, its different values once each, and which of them each value is.
#[derive(Clone, Debug)]
struct Input {
    values: Vec<f64>,
    levels: Vec<f64>,
    level: Vec<usize>,
    /// e^((level − threshold)/scale) and its inverse, for noisy queries.
    lifts: Vec<[f64; 2]>,
}

impl<W: Words> Player<W> {
    pub(super) fn new(mechanism: Mechanism, inputs: &[Vec<i64>], words: W) -> Self {
        let inputs = inputs.iter().map(|input| {
            let values: Vec<f64> = input.iter().map(|value| *value as f64).collect();
            let mut levels = values.clone();
            levels.sort_by(f64::total_cmp);
            levels.dedup();
            let level = values
                .iter()
                .map(|value| levels.partition_point(|level| level < value))
                .collect();
            let rate = match mechanism {
                Mechanism::SparseVector(SparseVector {
                    query_rate: Some(rate),
                    ..
                }) => rate,
                _ => 0,
            };
            let lift = |level: &f64| {
                let height = (level - THRESHOLD as f64) * f64::from(rate) / 80.0;
                [height.exp(), (-height).exp()]
            };
            let lifts = levels.iter().map(lift).collect();
            Input {
                values,
                levels,
                level,
                lifts,
            }
        });
        Self {
            mechanism,
            inputs: inputs.collect(),
            words,
            row: Vec::with_capacity(16),
        }
    }
}

/// Rows to be filled, one after the other. Each mechanism has a loop of its own, as nothing should be called
/// through a pointer a billion times.
struct Repeat<'a, W, E> {
    times: u64,
    row: &'a mut Vec<f64>,
    words: &'a mut W,
    each: E,
}

impl<W, E: FnMut(&[f64])> Repeat<'_, W, E> {
    fn fill(mut self, mut fill: impl FnMut(&mut Vec<f64>, &mut W)) {
        for _ in 0..self.times {
            self.row.clear();
            fill(self.row, self.words);
            (self.each)(self.row);
        }
    }
}

impl<W: Words> Subject for Player<W> {
    type Error = Error;

    fn draw(&mut self, input: usize, times: u64, each: impl FnMut(&[f64])) -> Result<(), Error> {
        let Self {
            mechanism,
            inputs,
            words,
            row,
        } = self;
        let input = &inputs[input];
        let values = input.values.as_slice();
        let repeat = Repeat {
            times,
            row,
            words,
            each,
        };
        match *mechanism {
            Mechanism::Laplace { rate } => {
                repeat.fill(|row, words| row.extend(values.iter().map(|value| value + laplace(words, rate))));
            }
            Mechanism::Geometric { rate } => {
                // The difference of two geometric numbers: P(⌊E·s⌋ ≥ k) = e^(−k/s).
                let one = |words: &mut W| (exponential(words.word()) * scale(rate)) as i64 as f64;
                repeat.fill(|row, words| {
                    row.extend(values.iter().map(|value| value + one(words) - one(words)))
                });
            }
            Mechanism::PrefixSums { rate } => repeat.fill(|row, words| {
                let mut sum = 0.0;
                for value in values {
                    sum += value + laplace(words, rate);
                    row.push(sum);
                }
            }),
            Mechanism::NoisyMax { noise, rate, value } => repeat.fill(|row, words| {
                let (mut place, mut largest) = (0, f64::NEG_INFINITY);
                for (j, value) in values.iter().enumerate() {
                    let noisy = value + noise.draw(words, rate);
                    if noisy > largest {
                        (place, largest) = (j, noisy);
                    }
                }
                row.push(if value { to_grid(largest) } else { place as f64 });
            }),
            Mechanism::SparseVector(variant) => {
                let mut limits = vec![0; input.levels.len()];
                repeat.fill(|row, words| variant.draw(input, &mut limits, words, row));
            }
            Mechanism::LocalMedian { rate } => {
                // The values are sorted; the median of five moves to a neighbour at most when one person
                // changes.
                let local = (values[3] - values[2]).max(values[2] - values[1]);
                let noise = |words: &mut W| to_grid(local * Noise::Laplace.draw(words, rate));
                repeat.fill(|row, words| row.push(values[2] + noise(words)));
            }
            Mechanism::FloatLaplace { rate } => repeat.fill(|row, words| {
                let uniform = ((words.word() >> 11) as f64 + 0.5) * (-53f64).exp2() - 0.5;
                row.push(values[0] - scale(rate) * uniform.signum() * (1.0 - 2.0 * uniform.abs()).ln());
            }),
            Mechanism::ReusedNoise { rate } => repeat.fill(|row, words| {
                let noise = laplace(words, rate);
                row.extend(values.iter().map(|value| value + noise));
            }),
        }
        Ok(())
    }

    fn bits(&mut self) -> u64 {
        self.words.word()
    }
}

impl Noise {
    fn draw<W: Words>(self, words: &mut W, rate: Rate) -> f64 {
        let word = words.word();
        let size = LAYERS.exponential(word, words) * scale(rate);
        match self {
            // The lowest bit, which nothing else depends on, is the sign: no question that a processor could
            // guess wrong.
            Noise::Laplace => f64::from_bits(size.to_bits() | word << 63),
            Noise::Exponential => size,
        }
    }
}

impl SparseVector {
    /// Compares in the uniform domain: noise ν with distribution function F is at least t exactly if 1 −
    /// F(ν), which is uniform, is at most 1 − F(t). And that needs no logarithm: with threshold T ± s·E, E =
    /// −ln u, the number e^(−(z−x)/r) is e^((x−T)/r)·u^(±s/r).
    fn draw<W: Words>(&self, input: &Input, limits: &mut [u64], words: &mut W, row: &mut Vec<f64>) {
        self.compare(input, limits, words);
        if self.cutoff.is_none() && !self.refresh && !self.value {
            // Nothing ends early: the same, without a question after each answer, and two answers a word.
            for pair in input.level.chunks(2) {
                let word = words.word();
                for (level, half) in pair.iter().zip([word, word << 32]) {
                    row.push(is_below(half, limits[*level], words) as f64);
                }
            }
            return;
        }
        let mut found = 0;
        for (value, level) in input.values.iter().zip(&input.level) {
            let word = words.word();
            if word >> 11 >= limits[*level] {
                row.push(if self.value { BELOW } else { 0.0 });
                continue;
            }
            row.push(match (self.value, self.query_rate) {
                (true, Some(rate)) => to_grid(value + quantile_from_above(unit(word), scale(rate))),
                _ => 1.0,
            });
            found += 1;
            if self.cutoff == Some(found) {
                return;
            }
            if self.refresh {
                self.compare(input, limits, words);
            }
        }
    }

    /// Draws a threshold, and gives each level the probability that a query of this value is above it, in
    /// units of 2⁻⁵³.
    fn compare<W: Words>(&self, input: &Input, limits: &mut [u64], words: &mut W) {
        let Some(rate) = self.query_rate else {
            let threshold = THRESHOLD as f64 + Noise::Laplace.draw(words, self.threshold_rate);
            limits
                .iter_mut()
                .zip(&input.levels)
                .for_each(|(limit, level)| *limit = u64::from(*level >= threshold) << 53);
            return;
        };
        let word = words.word();
        let uniform = unit(word);
        let power = match (rate, self.threshold_rate) {
            (rate, threshold) if rate == threshold => uniform,
            (rate, threshold) if rate == 3 * threshold => uniform * uniform * uniform,
            (rate, threshold) if 2 * rate == threshold => uniform.sqrt(),
            (rate, threshold) => uniform.powf(f64::from(rate) / f64::from(threshold)),
        };
        // The lowest bit, which is not part of the uniform number, is the sign of the noise.
        let (powers, sign) = ([power, 1.0 / power], (word & 1) as usize);
        for (limit, lift) in limits.iter_mut().zip(&input.lifts) {
            // e^(−(z−x)/r): at most 1 where the threshold is at least the query.
            let tail = powers[sign] * lift[0];
            let half = 0.5 * tail.min(powers[1 - sign] * lift[1]);
            let share = if tail <= 1.0 { half } else { 1.0 - half };
            *limit = (share * (1u64 << 53) as f64) as i64 as u64;
        }
    }
}

/// 1 if a uniform number is below a limit in units of 2⁻⁵³, else 0: the upper half of the word decides,
/// unless it is that of the limit, and then the rest does. The sign of a difference says it, as a processor
/// would guess a comparison wrong half of the time.
fn is_below<W: Words>(word: u64, limit: u64, words: &mut W) -> i64 {
    let (head, rest) = ((limit >> 21) as i64, limit & ((1 << 21) - 1));
    let difference = (word >> 32) as i64 - head;
    if difference == 0 {
        return i64::from(words.word() >> 43 < rest);
    }
    -(difference >> 63)
}

/// What is released for a query below the threshold, where those above release a number.
const BELOW: f64 = word(b"below");

/// The ν with P(noise ≥ ν) = share.
fn quantile_from_above(share: f64, scale: f64) -> f64 {
    if share < 0.5 {
        -scale * (2.0 * share).ln()
    } else {
        scale * (2.0 * (1.0 - share)).ln()
    }
}

/// Laplace noise on the grid.
fn laplace<W: Words>(words: &mut W, rate: Rate) -> f64 {
    to_grid(Noise::Laplace.draw(words, rate))
}

/// Rounded to a multiple of 2⁻¹⁰, halves away from zero.
fn to_grid(value: f64) -> f64 {
    let size = (value.abs() * 1024.0 + 0.5) as i64 as f64 / 1024.0;
    size.copysign(value)
}

#[cfg(test)]
mod tests {
    use super::super::words::Seeded;
    use super::*;
    use crate::goodness::frequency_test;

    /// Each answer of a sparse vector has the probability that the integral says: the sampler takes another
    /// way there. A fixed seed.
    #[test]
    fn sparse_vectors_are_drawn_from_their_distribution() {
        for (threshold_rate, query_rate) in [(4, 2), (2, 6), (4, 4), (3, 7)] {
            let variant = SparseVector {
                threshold_rate,
                query_rate: Some(query_rate),
                cutoff: None,
                refresh: false,
                value: false,
            };
            let mut player = Player::new(
                Mechanism::SparseVector(variant),
                &[vec![0, 2, 1]],
                Seeded::new(3, 1),
            );
            let mut counts = [0u64; 8];
            let times = 400_000;
            player
                .draw(0, times, |row| {
                    counts[row.iter().fold(0, |bits, answer| 2 * bits + *answer as usize)] += 1
                })
                .unwrap();
            // Plain summation over the threshold, a hundred times finer than any noise.
            let laplace = |z: f64, rate: u32| 0.5 * (-z.abs() * f64::from(rate) / 80.0).exp();
            let below = |z: f64| {
                if z < 0.0 {
                    laplace(z, query_rate)
                } else {
                    1.0 - laplace(z, query_rate)
                }
            };
            for (answers, count) in counts.iter().enumerate() {
                let chance: f64 = (-200_000..200_000)
                    .map(|node| {
                        let z = (f64::from(node) + 0.5) / 100.0;
                        let density =
                            laplace(z - 1.0, threshold_rate) * f64::from(threshold_rate) / 80.0 / 100.0;
                        [0.0, 2.0, 1.0]
                            .iter()
                            .enumerate()
                            .fold(density, |product, (place, query)| {
                                let share = below(z - query);
                                product
                                    * if answers >> (2 - place) & 1 == 1 {
                                        1.0 - share
                                    } else {
                                        share
                                    }
                            })
                    })
                    .sum();
                frequency_test(*count, times, chance, 1e-9).assert_consistent();
                frequency_test(*count, times, chance * 1.1, 1e-9).assert_rejected();
            }
        }
    }

    #[test]
    fn two_answers_of_a_word_and_ties_have_their_share() {
        // A limit whose first 32 bits are 0: all is decided by the 21 bits after them, which must be below 3.
        for (rest, below) in [(0u64, true), (2, true), (3, false), (1 << 20, false)] {
            assert_eq!(is_below(0, 3, &mut || rest << 43), i64::from(below), "{rest}");
        }
        let mut none = || -> u64 { unreachable!() };
        assert_eq!(is_below(1 << 32, 3, &mut none), 0);
        assert_eq!(is_below(u64::MAX, 1 << 53, &mut none), 1);
        assert_eq!(is_below(u64::MAX >> 1, 1 << 52, &mut none), 1);
        assert_eq!(is_below(u64::MAX, 1 << 52, &mut none), 0);
    }

    #[test]
    fn noise_lies_on_the_grid_and_has_its_scale() {
        let mut words = Seeded::new(1, 0);
        let draws: Vec<f64> = (0..200_000).map(|_| laplace(&mut words, 8)).collect();
        assert!(draws.iter().all(|value| (value * 1024.0).fract() == 0.0));
        let mean_size = draws.iter().map(|value| value.abs()).sum::<f64>() / draws.len() as f64;
        // The mean of |Lap(10)| is 10; eight standard errors are 0.18.
        assert!((mean_size - 10.0).abs() < 0.18, "{mean_size}");
        assert!((draws.iter().sum::<f64>() / draws.len() as f64).abs() < 0.26);
        assert_eq!((to_grid(-0.0004), to_grid(1.3)), (-0.0, 1331.0 / 1024.0));
    }
}
