//! Real numbers whose bits are drawn as they are needed.

use crate::Entropy;
use crate::geometric::saturate;
use exact::{Integer, Interval, Natural, Rational, ratio};

/// A uniform real in [0, 1) of which some leading bits are known.
#[derive(Clone, Debug)]
pub struct UniformReal {
    known: Natural,
    known_bits: u32,
}

impl UniformReal {
    /// With these first 64 bits.
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self {
            known: Natural::from(bits),
            known_bits: 64,
        }
    }

    /// With 64 fresh bits.
    pub fn new(entropy: &mut (impl Entropy + ?Sized)) -> Self {
        Self::from_bits(entropy.bits(64))
    }

    /// Draws 64 more bits.
    pub fn refine(&mut self, entropy: &mut (impl Entropy + ?Sized)) {
        self.known = (std::mem::take(&mut self.known) << 64usize) + Natural::from(entropy.bits(64));
        self.known_bits += 64;
    }

    /// How many bits are known.
    pub fn known_bits(&self) -> u32 {
        self.known_bits
    }

    /// The number is at least this.
    pub fn lower(&self) -> Rational {
        Rational::from_parts(
            Integer::from(self.known.clone()),
            Natural::ONE << self.known_bits as usize,
        )
    }

    /// The number is below this.
    pub fn upper(&self) -> Rational {
        Rational::from_parts(
            Integer::from(&self.known + Natural::ONE),
            Natural::ONE << self.known_bits as usize,
        )
    }

    /// Whether the number is at least `bound`, a real enclosed at any precision: more bits are drawn until it is known.
    pub fn at_least(
        &mut self,
        mut bound: impl FnMut(u32) -> Interval,
        entropy: &mut (impl Entropy + ?Sized),
    ) -> bool {
        loop {
            let enclosure = bound(self.known_bits + 16);
            if self.lower() >= enclosure.upper() {
                return true;
            }
            if self.upper() <= enclosure.lower() {
                return false;
            }
            self.refine(entropy);
        }
    }
}

/// A Cauchy variable of scale s, rounded to the nearest integer: the noise of smooth sensitivity.
///
/// The scale is a real number that may depend on private data; it is given as an enclosure at any precision.
///
/// # Exactness
/// Proof: |Z| has the distribution function (2/π)·arctan(z/s), so with V uniform, the rounded |Z| is #{k ≥ 0 : V ≥ (2/π)·arctan((k+½)/s)}.
/// The thresholds grow with k, so that number is found by bisection, each comparison of V decided exactly. A float says where to look
/// first; whether the answer is there is decided by comparison, and if it is not, everything below 2^67 is searched (and the number
/// cut there, where any `i64` plus it is clamped anyway).
/// Tested by: `cauchy_fits`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundedCauchy;

impl RoundedCauchy {
    /// Adds one draw to a value: exactly clamp(value + noise).
    pub fn add_to(value: i64, scale: impl Fn(u32) -> Interval, entropy: &mut (impl Entropy + ?Sized)) -> i64 {
        entropy.refresh();
        let negative = entropy.bits(1) == 1;
        let mut uniform = UniformReal::new(entropy);
        let angle = exact::to_f64_nearest(&uniform.lower()) * std::f64::consts::FRAC_PI_2;
        let guess = scale(64).to_f64_nearest() * angle.tan();
        let mut reached = |k: i128, entropy: &mut _| {
            let point = Rational::from(k) + ratio(1, 2);
            uniform.at_least(|bits| threshold(&point, &scale, bits), entropy)
        };
        // The smallest k whose threshold V does not reach lies in [low, high].
        let (mut low, mut high) = near(guess);
        if (low > 0 && !reached(low - 1, entropy)) || reached(high, entropy) {
            (low, high) = (0, 1 << 67);
        }
        while low < high {
            let middle = (low + high) / 2;
            if reached(middle, entropy) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        saturate(i128::from(value) + if negative { -low } else { low })
    }
}

/// Where to look first: a few integers around the guess, more when a float cannot tell this many apart.
fn near(guess: f64) -> (i128, i128) {
    let guess = if guess.is_finite() {
        guess.clamp(0.0, 1e19) as i128
    } else {
        0
    };
    let around = 2 + (guess >> 40);
    ((guess - around).max(0), guess + around)
}

/// Encloses (2/π)·arctan(point/s).
fn threshold(point: &Rational, scale: impl Fn(u32) -> Interval, bits: u32) -> Interval {
    let work = bits + 80;
    let whole = Interval::from_integer(1, work);
    let Some(quotient) = Interval::from_rational(point, work).div(&scale(work)) else {
        // The scale may be zero at this precision: the threshold is then anything up to 1.
        return Interval::from_ends(Integer::ZERO, whole.hi().clone(), work).with_bits(bits);
    };
    let turn = quotient.atan().scale(&Integer::from(2));
    turn.div(&Interval::pi(work))
        .expect("π > 0")
        .min(&whole)
        .with_bits(bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OsEntropy;

    #[test]
    fn cauchy_fits() {
        let mut entropy = OsEntropy::new().unwrap();
        let scale = ratio(37, 5);
        let samples: Vec<i64> = (0..6_000)
            .map(|_| RoundedCauchy::add_to(0, |bits| Interval::from_rational(&scale, bits), &mut entropy))
            .collect();
        let cdf = |scale: f64| move |k: i64| 0.5 + ((k as f64 + 0.5) / scale).atan() / std::f64::consts::PI;
        audit::goodness::cdf_test(&samples, cdf(7.4), 1e-9).assert_consistent();
        audit::goodness::cdf_test(&samples, cdf(7.4 * 1.5), 1e-9).assert_rejected();
    }

    #[test]
    fn comparisons_take_the_bits_they_need() {
        let mut entropy = crate::Tape::new([0x55; 64]);
        let mut uniform = UniformReal::new(&mut entropy);
        // 0x5555… is one third; a bound of exactly one third needs bits past the tape's end to decide.
        assert!(!uniform.at_least(|bits| Interval::from_rational(&ratio(1, 3), bits), &mut entropy));
        assert!(uniform.known_bits() > 512);
    }
}
