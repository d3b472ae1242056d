//! A ratio of noise to sensitivity, or the inverse, as an event keeps it.

use crate::Error;
use crate::error::shown;
use crate::quantity::FromText;
use exact::Rational;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Beyond this many characters a ratio is rounded, because a record that cannot be read back protects nobody.
const LONGEST: usize = 300;
/// Digits of a rounded ratio: relative error 1e-49, far below what any guarantee shows.
const DIGITS: u32 = 50;

/// A rational number that is not negative, written as a decimal or as `1/3`.
///
/// Unlike an [`Epsilon`](crate::Epsilon) it may be any fraction: what ran is recorded as it ran.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ratio(Rational);

impl Ratio {
    /// Reads `0.5`, `1e-6` or `1/3`, exactly.
    ///
    /// # Errors
    /// When the text is no number, is negative, or is too long to be kept exactly.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let value = exact::parse_decimal(text).map_err(|error| match error {
            exact::DecimalError::TooLong => Error::OutOfRange {
                quantity: "ratio",
                text: shown(text),
            },
            _ => Error::NotANumber {
                quantity: "ratio",
                text: shown(text),
            },
        })?;
        if value < Rational::ZERO {
            return Err(Error::Negative {
                quantity: "ratio",
                text: shown(text),
            });
        }
        if exact::format_decimal(&value).len() > LONGEST {
            return Err(Error::OutOfRange {
                quantity: "ratio",
                text: shown(text),
            });
        }
        Ok(Self(value))
    }

    /// `value` exactly, or the next 50-digit decimal above it when its exact form is very long. For Δ/b, where more
    /// is worse.
    ///
    /// # Panics
    /// If `value` is negative, or beyond 1e±200.
    pub fn at_least(value: &Rational) -> Self {
        Self::new(value, exact::decimal_at_least)
    }

    /// `value` exactly, or the next 50-digit decimal below it when its exact form is very long. For σ²/Δ², where less
    /// is worse.
    ///
    /// # Panics
    /// If `value` is negative, or beyond 1e±200.
    pub fn at_most(value: &Rational) -> Self {
        Self::new(value, exact::decimal_at_most)
    }

    fn new(value: &Rational, round: fn(&Rational, u32) -> Rational) -> Self {
        assert!(*value >= Rational::ZERO, "a negative ratio");
        if exact::format_decimal(value).len() <= LONGEST {
            return Self(value.clone());
        }
        let size = exact::floor_log2(value);
        assert!(size.abs() < 664, "a ratio beyond 1e±200");
        Self(round(value, DIGITS))
    }

    /// The number, exactly.
    pub fn as_rational(&self) -> &Rational {
        &self.0
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&exact::format_decimal(&self.0))
    }
}

impl fmt::Debug for Ratio {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Ratio({self})")
    }
}

impl Serialize for Ratio {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FromText(Self::parse))
    }
}
