//! People whose attributes are independent bits of known frequency.

use crate::{Error, Seeded};
use noise::Entropy;

/// Frequencies are whole multiples of 2 to the minus this, so that what the adversary knows of them is
/// exactly what people are drawn from.
const FREQUENCY_BITS: u32 = 32;

/// How common each attribute is.
#[derive(Clone, Debug)]
pub struct Population {
    frequencies: Vec<f64>,
    /// The same, in steps of 2⁻³².
    steps: Vec<u32>,
}

/// A study: what is published of it, and the people on whom the attack is tried.
#[derive(Debug)]
pub(super) struct Sample {
    /// How many of its people have each attribute.
    pub(super) sums: Vec<i64>,
    /// One of its people.
    pub(super) member: Vec<bool>,
    /// Somebody who is not among them.
    pub(super) stranger: Vec<bool>,
}

impl Population {
    /// Frequencies drawn uniformly between 0 and 1.
    pub fn uniform(attributes: usize, seed: u64) -> Self {
        let mut entropy = Seeded::new(seed);
        let frequency = |_| (entropy.below((1 << FREQUENCY_BITS) - 1) + 1) as u32;
        Self::of_steps((0..attributes).map(frequency).collect())
    }

    /// Given frequencies, rounded to 2⁻³².
    ///
    /// # Errors
    /// When one of them is not between 0 and 1, or so close to an end that it rounds to it.
    pub fn new(frequencies: &[f64]) -> Result<Self, Error> {
        let step = |frequency: &f64| {
            let steps = (frequency * (1u64 << FREQUENCY_BITS) as f64).round();
            (steps >= 1.0 && steps <= f64::from(u32::MAX)).then_some(steps as u32)
        };
        match frequencies.iter().map(step).collect() {
            Some(steps) => Ok(Self::of_steps(steps)),
            None => Err(Error::bad_setting(
                "a frequency must lie strictly between 0 and 1",
                "leave out attributes that everybody has, or nobody",
            )),
        }
    }

    fn of_steps(steps: Vec<u32>) -> Self {
        let scale = (1u64 << FREQUENCY_BITS) as f64;
        Self {
            frequencies: steps.iter().map(|steps| f64::from(*steps) / scale).collect(),
            steps,
        }
    }

    /// The frequency of each attribute.
    pub fn frequencies(&self) -> &[f64] {
        &self.frequencies
    }

    /// A study of this many people.
    ///
    /// People are bits of words, 64 to a word, and an attribute is drawn for all of them at once; the
    /// stranger is one bit more.
    pub(super) fn sample(&self, people: u32, entropy: &mut Seeded) -> Sample {
        let attributes = self.steps.len();
        let mut sample = Sample {
            sums: Vec::with_capacity(attributes),
            member: Vec::with_capacity(attributes),
            stranger: Vec::with_capacity(attributes),
        };
        let (whole, rest) = (people / 64, people % 64);
        for steps in &self.steps {
            let mut sum = 0;
            let mut first = None;
            for _ in 0..whole {
                let word = bernoulli_word(*steps, entropy);
                first.get_or_insert(word & 1);
                sum += word.count_ones();
            }
            // The last word has the people who are left over, and the stranger after them.
            let word = bernoulli_word(*steps, entropy);
            first.get_or_insert(word & 1);
            sum += (word & !(u64::MAX << rest)).count_ones();
            sample.sums.push(i64::from(sum));
            sample.member.push(first == Some(1));
            sample.stranger.push(word >> rest & 1 == 1);
        }
        sample
    }
}

/// 64 bits that are each one with probability steps/2³², independently.
///
/// Bit by bit, from the first on, a uniform number of each lane is compared with the frequency; after the
/// first difference a lane is decided. All 64 are after about seven bits.
fn bernoulli_word(steps: u32, entropy: &mut Seeded) -> u64 {
    let (mut below, mut undecided) = (0u64, u64::MAX);
    for place in (0..FREQUENCY_BITS).rev() {
        let uniform = entropy.bits(64);
        if steps >> place & 1 == 1 {
            below |= undecided & !uniform;
            undecided &= uniform;
        } else {
            undecided &= !uniform;
        }
        if undecided == 0 {
            break;
        }
    }
    // Equal in all bits is not below.
    below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_have_their_frequency() {
        // With a fixed seed; the margin is six standard deviations.
        let mut entropy = Seeded::new(4);
        for frequency in [0.001, 0.3, 0.5, 0.75, 0.999] {
            let steps = (frequency * 4_294_967_296.0) as u32;
            let words = 4_000;
            let mut lanes = [0u32; 64];
            for _ in 0..words {
                let word = bernoulli_word(steps, &mut entropy);
                for (lane, ones) in lanes.iter_mut().enumerate() {
                    *ones += (word >> lane & 1) as u32;
                }
            }
            let off = |ones: f64, trials: f64| {
                (ones - frequency * trials).abs() / (trials * frequency * (1.0 - frequency)).sqrt()
            };
            let all: u32 = lanes.iter().sum();
            assert!(
                off(f64::from(all), 64.0 * f64::from(words)) < 6.0,
                "{frequency}: {all}"
            );
            for ones in lanes {
                assert!(
                    off(f64::from(ones), f64::from(words)) < 6.0,
                    "{frequency}: {ones}"
                );
            }
        }
    }

    #[test]
    fn the_member_is_counted_and_the_stranger_is_not() {
        // An attribute that is as good as certain: every sum is all people, with the stranger outside of it.
        for people in [1, 63, 64, 65, 100, 128] {
            let common = Population::of_steps(vec![u32::MAX; 50]);
            let sample = common.sample(people, &mut Seeded::new(2));
            assert!(sample.sums.iter().all(|sum| *sum == i64::from(people)));
            assert!(sample.member.iter().chain(&sample.stranger).all(|has| *has));
        }
        // A study of one person has her attributes and not the stranger's.
        let even = Population::of_steps(vec![1 << 31; 200]);
        let sample = even.sample(1, &mut Seeded::new(2));
        let same = |person: &[bool]| {
            person
                .iter()
                .zip(&sample.sums)
                .filter(|(has, sum)| i64::from(**has) == **sum)
                .count()
        };
        assert_eq!(same(&sample.member), 200);
        assert!((60..140).contains(&same(&sample.stranger)));
    }

    #[test]
    fn frequencies_are_checked() {
        assert!(Population::new(&[0.5, 0.1]).is_ok());
        for bad in [0.0, 1.0, -0.5, f64::NAN, 1e-30] {
            assert!(Population::new(&[0.5, bad]).is_err(), "{bad}");
        }
        let population = Population::uniform(1000, 1);
        let frequencies = population.frequencies();
        assert!(
            frequencies
                .iter()
                .all(|frequency| *frequency > 0.0 && *frequency < 1.0)
        );
        let again = Population::new(frequencies).unwrap();
        assert_eq!(again.frequencies(), frequencies);
    }
}
