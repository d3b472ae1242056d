//! ε, δ and ρ: exact decimals, rounded only in a named direction.

use crate::Error;
use crate::error::shown;
use exact::{Integer, Interval, Natural, Rational};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Rounded numbers keep this many significant digits, about what an `f64` can show.
const DIGITS: u32 = 15;
/// No quantity has more decimal places: every sum can be printed, kept and read back.
const PLACES: usize = 300;

fn ten_to(exponent: usize) -> Rational {
    Rational::from(Natural::from(10u8).pow(exponent))
}

/// Whether `value` is a decimal with at most [`PLACES`] places.
fn is_decimal(value: &Rational) -> bool {
    (value * ten_to(PLACES)).denominator() == &Natural::ONE
}

fn round(
    value: &Rational,
    significant: fn(&Rational, u32) -> Rational,
    whole: fn(&Rational) -> Integer,
) -> Rational {
    // Below 1e-280, 15 significant digits might reach beyond the last place: round to the last place instead.
    if value * ten_to(PLACES - 20) >= Rational::ONE {
        return significant(value, DIGITS);
    }
    Rational::from(whole(&(value * ten_to(PLACES)))) / ten_to(PLACES)
}

fn checked(value: Rational, quantity: &'static str, below: &Rational) -> Result<Rational, Error> {
    let text = || shown(&exact::format_decimal(&value));
    if value < Rational::ZERO {
        Err(Error::Negative {
            quantity,
            text: text(),
        })
    } else if value < *below {
        Ok(value)
    } else if below.is_one() {
        Err(Error::DeltaTooLarge { text: text() })
    } else {
        // Enormous numbers are not worth printing.
        Err(Error::OutOfRange {
            quantity,
            text: "a number of 1e30 or more".to_owned(),
        })
    }
}

fn parse(text: &str, quantity: &'static str, below: &Rational) -> Result<Rational, Error> {
    let value = exact::parse_decimal(text).map_err(|error| match error {
        exact::DecimalError::TooLong => Error::OutOfRange {
            quantity,
            text: shown(text),
        },
        _ => Error::NotANumber {
            quantity,
            text: shown(text),
        },
    })?;
    if is_decimal(&value) {
        checked(value, quantity, below)
    } else if text.contains('/') {
        Err(Error::NotADecimal {
            quantity,
            text: shown(text),
        })
    } else {
        Err(Error::OutOfRange {
            quantity,
            text: shown(text),
        })
    }
}

/// Reads a quantity from text or a whole number. A float is refused: what was written is lost before we see it.
pub(crate) struct FromText<T>(pub(crate) fn(&str) -> Result<T, Error>);

impl<T> Visitor<'_> for FromText<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a decimal in quotes, such as \"0.1\", or a whole number")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).map_err(E::custom)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<T, E> {
        self.visit_str(&value.to_string())
    }
}

macro_rules! quantity {
    ($name:ident, $symbol:literal, $below:expr, $what:literal) => {
        #[doc = $what]
        ///
        /// Always a finite decimal, so what is printed is what is meant: text and value are the same thing.
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Rational);

        impl $name {
            /// Nothing at all.
            pub const ZERO: Self = Self(Rational::ZERO);

            /// Reads `0.1`, `2` or `1e-6`, exactly.
            ///
            /// # Errors
            /// When the text is no number, is out of range, or is a fraction that no decimal equals.
            pub fn parse(text: &str) -> Result<Self, Error> {
                parse(text, $symbol, &$below).map(Self)
            }

            /// The closest decimal with 15 significant digits that is at least `value`: for a guarantee.
            ///
            /// # Errors
            /// When the result is out of range. A negative `value` gives zero, which is above it.
            pub fn rounded_up(value: &Rational) -> Result<Self, Error> {
                if *value <= Rational::ZERO {
                    return Ok(Self::ZERO);
                }
                checked(
                    round(value, exact::decimal_at_least, Rational::ceil),
                    $symbol,
                    &$below,
                )
                .map(Self)
            }

            /// The closest decimal with 15 significant digits that is at most `value`: for a budget.
            ///
            /// # Errors
            /// When `value` is negative or out of range.
            pub fn rounded_down(value: &Rational) -> Result<Self, Error> {
                let value = checked(value.clone(), $symbol, &$below)?;
                Ok(Self(round(&value, exact::decimal_at_most, Rational::floor)))
            }

            /// `value` itself when it is a decimal, and rounded up otherwise.
            ///
            /// # Errors
            /// When the result is negative or out of range.
            pub fn exactly_or_up(value: &Rational) -> Result<Self, Error> {
                if is_decimal(value) {
                    checked(value.clone(), $symbol, &$below).map(Self)
                } else {
                    Self::rounded_up(value)
                }
            }

            /// Certainly at least the enclosed number: its upper end, rounded up.
            ///
            /// # Errors
            /// When the result is out of range.
            pub fn at_least(enclosure: &Interval) -> Result<Self, Error> {
                Self::rounded_up(&enclosure.upper())
            }

            /// Certainly at most the enclosed number: its lower end, rounded down.
            ///
            /// # Errors
            /// When the lower end is negative or out of range.
            pub fn at_most(enclosure: &Interval) -> Result<Self, Error> {
                Self::rounded_down(&enclosure.lower())
            }

            /// The number, exactly.
            pub fn as_rational(&self) -> &Rational {
                &self.0
            }

            /// The smallest float that is not below.
            pub fn to_f64_up(&self) -> f64 {
                exact::to_f64_up(&self.0)
            }

            /// The largest float that is not above.
            pub fn to_f64_down(&self) -> f64 {
                exact::to_f64_down(&self.0)
            }

            /// What is left after taking `other` away, exactly; `None` when that is more than there is.
            pub fn checked_sub(&self, other: &Self) -> Option<Self> {
                (self >= other).then(|| Self(&self.0 - &other.0))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(&exact::format_decimal(&self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, concat!(stringify!($name), "({})"), self)
            }
        }

        impl std::str::FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                Self::parse(text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(FromText(Self::parse))
            }
        }
    };
}

/// Sums of ε and ρ have no upper limit, so they cannot fail.
macro_rules! sums {
    ($name:ident) => {
        impl std::ops::Add<&$name> for &$name {
            type Output = $name;

            fn add(self, other: &$name) -> $name {
                $name(&self.0 + &other.0)
            }
        }

        impl std::ops::Add for $name {
            type Output = $name;

            fn add(self, other: $name) -> $name {
                &self + &other
            }
        }

        impl $name {
            /// The sum of `count` equal ones, exactly.
            #[must_use]
            pub fn times(&self, count: u64) -> Self {
                Self(&self.0 * Rational::from(count))
            }
        }
    };
}

quantity!(
    Epsilon,
    "ε",
    ten_to(30),
    "ε ≥ 0: how much an observer can learn, as the logarithm of a likelihood ratio."
);
quantity!(
    Delta,
    "δ",
    Rational::ONE,
    "0 ≤ δ < 1: the probability mass for which ε need not hold."
);
quantity!(
    Rho,
    "ρ",
    ten_to(30),
    "ρ ≥ 0: zero-concentrated differential privacy (Bun and Steinke 2016, Definition 1.1)."
);
sums!(Epsilon);
sums!(Rho);

impl Delta {
    /// The sum, exactly.
    ///
    /// # Errors
    /// When it reaches 1.
    pub fn plus(&self, other: &Self) -> Result<Self, Error> {
        checked(&self.0 + &other.0, "δ", &Rational::ONE).map(Self)
    }

    /// The sum of `count` equal ones, exactly.
    ///
    /// # Errors
    /// When it reaches 1.
    pub fn times(&self, count: u64) -> Result<Self, Error> {
        checked(&self.0 * Rational::from(count), "δ", &Rational::ONE).map(Self)
    }
}

impl Epsilon {
    /// ρ = ε·tanh(ε/2), rounded up: see [`rho_of_pure`](crate::rho_of_pure), where the proof is.
    ///
    /// # Errors
    /// When ρ is out of range.
    pub fn concentrated(&self) -> Result<Rho, Error> {
        crate::rho_of_pure(&self.0)
    }
}
