//! Rényi divergences as a tally keeps them.

use crate::Error;
use crate::error::shown;
use crate::quantity::FromText;
use exact::{Natural, Rational};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Units in 1: a divergence is a whole number of 10⁻¹⁸.
const SCALE: u64 = 1_000_000_000_000_000_000;
/// A divergence of 10⁹ protects nobody: whatever reaches it counts as infinite.
const LIMIT: u128 = SCALE as u128 * 1_000_000_000;

/// A divergence rounded up to a multiple of 10⁻¹⁸, or infinite.
///
/// Whole numbers, because their sums are exact: a tally does not depend on the order of its charges, and a million charges are
/// off by what a million roundings up are, 10⁻¹², and never downward. Rationals would be exact too, and slower with every charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Divergence(u128);

impl Divergence {
    pub(super) const ZERO: Self = Self(0);
    pub(super) const INFINITE: Self = Self(u128::MAX);

    /// At least `value`. What is no divergence (NaN, or below zero) bounds nothing, so it counts as infinite.
    pub(super) fn at_least(value: f64) -> Self {
        match exact::from_f64(value) {
            Some(value) if value >= Rational::ZERO => Self::rounded_up(&value),
            _ => Self::INFINITE,
        }
    }

    /// At least `value`, which is not negative.
    pub(super) fn rounded_up(value: &Rational) -> Self {
        u128::try_from((value * Rational::from(SCALE)).ceil()).map_or(Self::INFINITE, Self::finite)
    }

    /// At most `value`, for a budget; `None` below zero, where not even nothing fits.
    pub(super) fn rounded_down(value: &Rational) -> Option<Self> {
        if *value < Rational::ZERO {
            return None;
        }
        let units = u128::try_from((value * Rational::from(SCALE)).floor()).unwrap_or(LIMIT - 1);
        Some(Self(units.min(LIMIT - 1)))
    }

    fn finite(units: u128) -> Self {
        if units < LIMIT {
            Self(units)
        } else {
            Self::INFINITE
        }
    }

    pub(super) fn is_finite(self) -> bool {
        self != Self::INFINITE
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self::finite(self.0.saturating_add(other.0))
    }

    /// The sum of `count` equal ones.
    pub(super) fn times(self, count: u128) -> Self {
        Self::finite(self.0.saturating_mul(count))
    }

    /// What is left of this budget, or zero.
    pub(super) fn less(self, spent: Self) -> Self {
        Self(self.0.saturating_sub(spent.0))
    }

    /// In units of 10⁻¹⁸: below 2⁹⁰ when finite.
    pub(super) fn units(self) -> u128 {
        self.0
    }

    pub(super) fn to_rational(self) -> Rational {
        Rational::from_parts(self.0.into(), Natural::from(SCALE))
    }

    /// Near it, for a search whose result is certified afterwards.
    pub(super) fn near(self) -> f64 {
        if self.is_finite() {
            self.0 as f64 / SCALE as f64
        } else {
            f64::INFINITY
        }
    }

    fn parse(text: &str) -> Result<Self, Error> {
        if text == "infinite" {
            return Ok(Self::INFINITE);
        }
        let refused = || Error::NotAState {
            what: format!("{:?} is no sum of Rényi divergences", shown(text)),
        };
        let value = exact::parse_decimal(text).map_err(|_| refused())?;
        if value < Rational::ZERO {
            return Err(refused());
        }
        let read = Self::rounded_up(&value);
        // No tally holds anything between two units, or a number that counts as infinite.
        if read.is_finite() && read.to_rational() == value {
            Ok(read)
        } else {
            Err(refused())
        }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_finite() {
            return formatter.write_str("infinite");
        }
        formatter.write_str(&exact::format_decimal(&self.to_rational()))
    }
}

impl Serialize for Divergence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Divergence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FromText(Self::parse))
    }
}
