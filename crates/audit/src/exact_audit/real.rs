//! Real numbers as input: exact when rational, otherwise a recipe for enclosures of any precision.

use exact::{Integer, Interval, Rational};
use std::fmt;
use std::sync::Arc;

type Recipe = Arc<dyn Fn(u32) -> Interval + Send + Sync>;

/// A real number: a rational, or a function from a precision to an enclosure.
#[derive(Clone)]
pub enum Real {
    /// Known exactly.
    Exact(Rational),
    /// Enclosed on demand; the argument is the number of fractional bits wanted.
    Computed(Recipe),
}

impl Real {
    /// A real number that is computed on demand. Every enclosure must contain it.
    pub fn computed(recipe: impl Fn(u32) -> Interval + Send + Sync + 'static) -> Self {
        Real::Computed(Arc::new(recipe))
    }

    /// e^exponent.
    pub fn exponential(exponent: &Rational) -> Self {
        let exponent = exponent.clone();
        Self::computed(move |bits| Interval::exp_of(&exponent, bits))
    }

    /// An enclosure with `bits` fractional bits.
    pub fn enclose(&self, bits: u32) -> Interval {
        match self {
            Real::Exact(value) => Interval::from_rational(value, bits),
            Real::Computed(recipe) => recipe(bits).with_bits(bits),
        }
    }
}

impl From<Rational> for Real {
    fn from(value: Rational) -> Self {
        Real::Exact(value)
    }
}

impl fmt::Debug for Real {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Real::Exact(value) => write!(formatter, "Exact({value})"),
            Real::Computed(_) => formatter.write_str("Computed(..)"),
        }
    }
}

/// The enclosure times a rational.
pub(crate) fn times(interval: &Interval, factor: &Rational) -> Interval {
    interval
        .scale(factor.numerator())
        .div_integer(&Integer::from(factor.denominator().clone()))
}

/// The positive part.
pub(crate) fn positive_part(interval: &Interval) -> Interval {
    interval.max(&Interval::from_integer(0, interval.bits()))
}

/// Everything from zero to the upper end: what is known of a number in [0, x].
pub(crate) fn from_zero(interval: &Interval) -> Interval {
    interval.hull(&Interval::from_integer(0, interval.bits()))
}

/// Bits by which e^ε magnifies round-off, rounded up to whole words so that nearby ε share a table.
pub(crate) fn magnification(epsilon: &Rational) -> u32 {
    // e^ε < 2^(3ε/2), since log₂ e < 1.4427.
    let bits = u32::try_from((epsilon * Rational::from(3u8) / Rational::from(2u8)).ceil()).unwrap_or(1 << 16);
    (bits + 16).next_multiple_of(64)
}

/// Whether e^(−exponent) ≤ 2^-bits for certain: ln 2 < 0.7.
pub(crate) fn below_precision(exponent: &Rational, bits: u32) -> bool {
    *exponent >= Rational::from(bits) * exact::ratio(7, 10)
}
