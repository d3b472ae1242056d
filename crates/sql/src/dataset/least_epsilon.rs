//! The smallest ε that is enough, of those with three digits, and how large an error may be.

use crate::Error;
use accounting::Epsilon;
use std::fmt;
use std::str::FromStr;

/// ε with three digits, from 1.00e-4 to 9.99e2.
pub(super) const STEPS: u64 = 900;
pub(super) const DECADES: u64 = 7;
/// 100 and the two digits after it are 1.00: the first ε is 100 · 10⁻⁶.
const SMALLEST: i64 = -6;

/// How large an error is acceptable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WantedError {
    /// A part of the largest value that a group can have.
    Relative(f64),
    /// In units of the answer.
    Absolute(f64),
}

impl FromStr for WantedError {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, relative) = match text.trim().strip_suffix('%') {
            Some(number) => (number.trim(), true),
            None => (text.trim(), false),
        };
        match number.parse::<f64>() {
            Ok(number) if number > 0.0 && number.is_finite() => Ok(if relative {
                Self::Relative(number / 100.0)
            } else {
                Self::Absolute(number)
            }),
            _ => Err("an error is a positive number, or one with a per cent sign: 50, 2%".to_owned()),
        }
    }
}

impl fmt::Display for WantedError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Without the last bit of the division by 100.
            Self::Relative(part) => write!(formatter, "{}%", (part * 1e14).round() / 1e12),
            Self::Absolute(number) => write!(formatter, "{number}"),
        }
    }
}

/// The smallest ε of three digits that is enough, if any is. Whoever asks knows that a larger one than one that is enough is enough too.
pub(super) fn smallest(
    mut is_enough: impl FnMut(&Epsilon) -> Result<bool, Error>,
) -> Result<Option<Epsilon>, Error> {
    if !is_enough(&number(STEPS * DECADES - 1))? {
        return Ok(None);
    }
    bisected(is_enough).map(Some)
}

/// The same where the largest one is enough.
pub(super) fn bisected(mut is_enough: impl FnMut(&Epsilon) -> Result<bool, Error>) -> Result<Epsilon, Error> {
    // Nothing up to `low` is enough, and `high` is; −1 stands for no ε at all.
    let (mut low, mut high) = (-1, (STEPS * DECADES - 1) as i64);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match is_enough(&number(middle as u64))? {
            true => high = middle,
            false => low = middle,
        }
    }
    Ok(number(high as u64))
}

/// The numbers of three digits in ascending order.
pub(super) fn number(place: u64) -> Epsilon {
    let digits = 100 + place % STEPS;
    let exponent = SMALLEST + (place / STEPS) as i64;
    Epsilon::parse(&format!("{digits}e{exponent}")).expect("a small decimal")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ascend() {
        assert_eq!(number(0), Epsilon::parse("0.0001").unwrap());
        assert_eq!(number(1), Epsilon::parse("0.000101").unwrap());
        assert_eq!(number(900), Epsilon::parse("0.001").unwrap());
        assert_eq!(number(900 * 4 + 25), Epsilon::parse("1.25").unwrap());
        assert_eq!(number(STEPS * DECADES - 1), Epsilon::parse("999").unwrap());
    }

    #[test]
    fn errors_are_read_and_written() {
        for (text, wanted) in [
            ("2%", WantedError::Relative(0.02)),
            ("0.7 %", WantedError::Relative(0.7 / 100.0)),
            ("50", WantedError::Absolute(50.0)),
            ("1e-3", WantedError::Absolute(0.001)),
        ] {
            let read: WantedError = text.parse().unwrap();
            assert_eq!(read, wanted, "{text}");
            assert_eq!(read.to_string().parse::<WantedError>().unwrap(), wanted, "{text}");
        }
        assert_eq!("7%".parse::<WantedError>().unwrap().to_string(), "7%");
        for text in ["", "%", "-1", "0", "0%", "much", "inf", "NaN%", "2%%"] {
            assert!(text.parse::<WantedError>().is_err(), "{text}");
        }
    }
}
