//! Numbers as people write them, held exactly.

use exact::Rational;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// An exact rational that was written as `12`, `0.5`, `1e-6` or `1/3`.
///
/// In a file it is text or an integer. A float is refused: `0.1` there has been rounded before we see it, and
/// a verdict about a rounded number is a verdict about another mechanism.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number(pub Rational);

impl Number {
    /// Zero.
    pub const ZERO: Self = Self(Rational::ZERO);
}

impl FromStr for Number {
    type Err = exact::DecimalError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        exact::parse_decimal(text).map(Self)
    }
}

impl fmt::Display for Number {
    /// Exactly, as a decimal where there is a short one.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&exact::format_decimal(&self.0))
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number as text, such as \"0.1\" or \"1/3\", or an integer")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
        // The hint of the parser is about the same thing as `expecting`; one line of it is enough here.
        let first_line = |error: exact::DecimalError| {
            let text = error.to_string();
            text.lines().next().unwrap_or("not a number").to_string()
        };
        text.parse()
            .map_err(|error| E::custom(format!("expected a number, and this is {}", first_line(error))))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Number, E> {
        Ok(Number(Rational::from(value)))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Number, E> {
        Ok(Number(Rational::from(value)))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Number, E> {
        Err(E::custom(
            "expected text: a number with a decimal point must be text, so that it is exact: write \"0.1\", not 0.1",
        ))
    }
}
