//! Finds outputs that are impossible under the neighbour: what the low bits of floating-point noise reveal
//! (Mironov 2012).
//!
//! Laplace noise has a density everywhere, so on paper no answer excludes any data. In floats there are only
//! 2⁵⁴ noise values, with holes between them, and adding the true value moves the holes. An answer that falls
//! in a hole of the noise around 1 was not made from 1. So one answer reveals the data for certain, whatever
//! ε was claimed.
//!
//! [`TextbookLaplace`] is that mechanism, and decides whether an output can come from a value. [`GridTally`]
//! asks the same about noise on a grid, where every point can come from every value: it looks for points that
//! came from one side only.
//! ```
//! use attack::Seeded;
//! use attack::bits::TextbookLaplace;
//!
//! let textbook = TextbookLaplace::new(1.0)?;
//! let mut seeded = Seeded::new(1);
//! let outputs: Vec<f64> = (0..100).map(|_| textbook.draw(10.0, &mut seeded)).collect();
//! // Each of them may come from 10; many cannot come from 11, so a look at the low bits tells which it was.
//! assert!(outputs.iter().all(|output| textbook.can_produce(*output, 10.0)));
//! assert!(outputs.iter().any(|output| !textbook.can_produce(*output, 11.0)));
//! # Ok::<(), attack::Error>(())
//! ```

mod grid;

pub use grid::{GridExposure, GridTally, grid_noise};

use crate::parallel::share;
use crate::{Error, Seeded, Watch};
use noise::Entropy;

/// How many random bits a uniform float has.
const UNIFORM_BITS: u32 = 53;
/// This many uniform values there are: 1/2⁵³, 2/2⁵³, …, 1.
const UNIFORM_VALUES: f64 = (1u64 << UNIFORM_BITS) as f64;
/// Draws of a piece of work.
const DRAWS_AT_A_TIME: u64 = 1 << 12;
/// Scales of which the search below is short.
const SCALES: std::ops::RangeInclusive<f64> = 1e-3..=1e6;

/// Laplace noise as textbooks and many programs make it: a random sign times scale·ln(u), u uniform on 2⁻⁵³,
/// 2·2⁻⁵³, …, 1, all in `f64`.
///
/// What it is for is to be broken: nothing of Deniable draws with it.
#[derive(Clone, Copy, Debug)]
pub struct TextbookLaplace {
    scale: f64,
}

impl TextbookLaplace {
    /// Noise of this scale, between 0.001 and a million.
    pub fn new(scale: f64) -> Result<Self, Error> {
        if !SCALES.contains(&scale) {
            return Err(Error::bad_setting(
                "the scale of the noise must lie between 0.001 and 1e6",
                "a count at ε = 1 has noise of scale 1",
            ));
        }
        Ok(Self { scale })
    }

    /// The value with noise.
    pub fn draw(&self, value: f64, entropy: &mut impl Entropy) -> f64 {
        let bits = entropy.bits(UNIFORM_BITS + 1);
        self.answer(value, (bits >> 1) as f64 + 1.0, bits & 1 == 1)
    }

    /// The output for the uniform number `place`/2⁵³ and a sign.
    fn answer(&self, value: f64, place: f64, negative: bool) -> f64 {
        let noise = self.scale * (place / UNIFORM_VALUES).ln();
        if negative { value - noise } else { value + noise }
    }

    /// Whether any random bits make this output from this value.
    ///
    /// The output is fl(v + fl(b·ln u)) for some u = k/2⁵³. Undoing that in floats gives k up to the
    /// roundings on the way: the sum's (half a unit in the last place of the output), the product's and the
    /// difference's (a unit of the noise), and a relative error of a few 2⁻⁵³ in the logarithm, the quotient
    /// and the exponential. All k that these allow are tried, with room, by the very computation that draws.
    pub fn can_produce(&self, output: f64, value: f64) -> bool {
        let noise = (output - value).abs();
        let distance = noise / self.scale;
        let nearest = ((-distance).exp() * UNIFORM_VALUES).round();
        let relative = 4.0 * f64::EPSILON * (1.0 + distance);
        let slack = (last_place(output) + last_place(noise)) / self.scale + relative;
        let reach = (nearest * slack).ceil() + 2.0;
        let first = (nearest - reach).max(1.0);
        let last = (nearest + reach).min(UNIFORM_VALUES);
        // All of these are whole numbers up to 2⁵³, which floats hold exactly.
        let mut place = first;
        while place <= last {
            if self.answer(value, place, false) == output || self.answer(value, place, true) == output {
                return true;
            }
            place += 1.0;
        }
        false
    }

    /// How often one output on `value` excludes `neighbour`, in this many draws.
    ///
    /// An output that cannot come even from its own value would be a fault of the decision; such are counted,
    /// and there are none.
    pub fn exposure(
        &self,
        [value, neighbour]: [f64; 2],
        draws: u64,
        seed: u64,
        watch: &Watch<'_>,
    ) -> Exposure {
        let pieces = draws.div_ceil(DRAWS_AT_A_TIME);
        let states = share(pieces, watch, Exposure::default, |seen, piece| {
            let mut entropy = Seeded::numbered(seed, piece);
            let draws = DRAWS_AT_A_TIME.min(draws - piece * DRAWS_AT_A_TIME);
            for number in 0..draws {
                let output = self.draw(value, &mut entropy);
                seen.draws += 1;
                seen.unexplained += u64::from(!self.can_produce(output, value));
                if !self.can_produce(output, neighbour) {
                    seen.given_away += 1;
                    let place = piece * DRAWS_AT_A_TIME + number;
                    if seen.example.is_none_or(|(first, _)| place < first) {
                        seen.example = Some((place, output));
                    }
                }
            }
        });
        states
            .into_iter()
            .fold(Exposure::default(), |all, part| Exposure {
                draws: all.draws + part.draws,
                given_away: all.given_away + part.given_away,
                unexplained: all.unexplained + part.unexplained,
                example: [all.example, part.example]
                    .into_iter()
                    .flatten()
                    .min_by_key(|(place, _)| *place),
            })
    }
}

/// What single outputs gave away.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Exposure {
    /// How many outputs were looked at.
    pub draws: u64,
    /// How many of them the neighbour cannot produce.
    pub given_away: u64,
    /// How many not even their own value could produce: zero, or the decision is wrong.
    pub unexplained: u64,
    /// The first output that the neighbour cannot produce, and its place among the draws.
    pub example: Option<(u64, f64)>,
}

/// The distance from a float to the next larger in magnitude.
fn last_place(value: f64) -> f64 {
    let magnitude = value.abs();
    magnitude.next_up() - magnitude
}

#[cfg(test)]
mod tests {
    use super::*;
    use noise::OsEntropy;

    /// By brute force: all noise values near what is asked about, far beyond the reach of the decision.
    fn by_force(laplace: &TextbookLaplace, output: f64, value: f64) -> bool {
        let nearest = ((-(output - value).abs() / laplace.scale).exp() * UNIFORM_VALUES).round();
        (-2000i32..=2000)
            .map(|step| nearest + f64::from(step))
            .filter(|place| (1.0..=UNIFORM_VALUES).contains(place))
            .any(|place| {
                [false, true]
                    .iter()
                    .any(|sign| laplace.answer(value, place, *sign) == output)
            })
    }

    #[test]
    fn the_decision_agrees_with_brute_force() {
        for scale in [0.3, 1.0, 10.0] {
            let laplace = TextbookLaplace::new(scale).unwrap();
            let mut entropy = Seeded::new(1);
            for _ in 0..300 {
                let output = laplace.draw(0.0, &mut entropy);
                assert!(laplace.can_produce(output, 0.0), "{output} is one of its own");
                assert_eq!(
                    laplace.can_produce(output, 1.0),
                    by_force(&laplace, output, 1.0),
                    "{output}"
                );
                let output = laplace.draw(1.0, &mut entropy);
                assert!(laplace.can_produce(output, 1.0), "{output} is one of its own");
                assert_eq!(
                    laplace.can_produce(output, 0.0),
                    by_force(&laplace, output, 0.0),
                    "{output}"
                );
            }
        }
    }

    #[test]
    fn the_ends_are_decided() {
        let laplace = TextbookLaplace::new(1.0).unwrap();
        // u = 1 is no noise at all; u = 2⁻⁵³ is the most.
        for value in [0.0, 1.0] {
            assert!(laplace.can_produce(value, value));
            for negative in [false, true] {
                let most = laplace.answer(value, 1.0, negative);
                assert!(laplace.can_produce(most, value));
                assert!(
                    !laplace.can_produce(2.0 * most, value),
                    "beyond the most there is nothing"
                );
            }
        }
        // A float just beside a noise value: the holes are found.
        let noise = laplace.answer(0.0, 1e12, false);
        assert!(!laplace.can_produce(noise.next_up(), 0.0));
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9] {
            assert!(TextbookLaplace::new(scale).is_err());
        }
    }

    #[test]
    fn two_thirds_of_single_outputs_on_zero_exclude_one() {
        let laplace = TextbookLaplace::new(1.0).unwrap();
        let seen = laplace.exposure([0.0, 1.0], 40_000, 1, &|_| true);
        assert_eq!((seen.draws, seen.unexplained), (40_000, 0));
        // With this seed it is what it is; the margin is ten standard deviations, for other mathematical
        // libraries.
        let fraction = seen.given_away as f64 / seen.draws as f64;
        assert!((fraction - 0.67).abs() < 0.025, "{fraction}");
        let (_, example) = seen.example.unwrap();
        assert!(laplace.can_produce(example, 0.0) && !laplace.can_produce(example, 1.0));
        // The same seed gives the same again, on any number of cores.
        assert_eq!(seen, laplace.exposure([0.0, 1.0], 40_000, 1, &|_| true));
    }

    #[test]
    fn nothing_is_excluded_where_both_values_are_the_same() {
        let laplace = TextbookLaplace::new(1.0).unwrap();
        let seen = laplace.exposure([1.0, 1.0], 5_000, 3, &|_| true);
        assert_eq!((seen.given_away, seen.example), (0, None));
        let mut entropy = OsEntropy::new().unwrap();
        let output = laplace.draw(0.0, &mut entropy);
        assert!(laplace.can_produce(output, 0.0));
    }
}
