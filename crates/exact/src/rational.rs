//! Decimal text, floats and powers of two, to and from exact rationals, with the rounding direction in the name.

use crate::{Integer, Natural, Rational};
use dashu_int::ops::BitTest;

/// Why a piece of text is not a number that can be used exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    /// Nothing to read.
    #[error("an empty number")]
    Empty,
    /// Not of the form `12`, `0.5`, `1e-6` or `1/3`.
    #[error("not a number\nhint: write it as 12, 0.5, 1e-6 or 1/3")]
    Malformed,
    /// `NaN` and infinities are not numbers here.
    #[error("not a finite number\nhint: write it as 12, 0.5, 1e-6 or 1/3")]
    NotFinite,
    /// A denominator of zero.
    #[error("a fraction with denominator zero")]
    DivisionByZero,
    /// This many digits or so large an exponent that holding it exactly would cost more than it is worth.
    #[error(
        "a number with too many digits\nhint: at most 400 characters, and an exponent between -1000 and 1000"
    )]
    TooLong,
}

/// `numerator / denominator` in lowest terms.
///
/// # Panics
/// If the denominator is zero.
pub fn ratio(numerator: i64, denominator: u64) -> Rational {
    Rational::from_parts(Integer::from(numerator), Natural::from(denominator))
}

/// 2^exponent.
pub fn power_of_two(exponent: i32) -> Rational {
    let one = Natural::ONE << exponent.unsigned_abs() as usize;
    if exponent >= 0 {
        Rational::from(one)
    } else {
        Rational::from_parts(Integer::ONE, one)
    }
}

/// Reads `12`, `-0.5`, `1e-6` or `1/3`, exactly: `0.1` is one tenth, not the float nearest to it.
/// ```
/// use exact::{parse_decimal, ratio};
///
/// assert_eq!(parse_decimal("-0.5"), Ok(ratio(-1, 2)));
/// assert_eq!(parse_decimal("1e-6"), Ok(ratio(1, 1_000_000)));
/// assert_eq!(parse_decimal("1/3"), Ok(ratio(1, 3)));
/// assert!(parse_decimal("1/0").is_err() && parse_decimal("NaN").is_err());
/// ```
pub fn parse_decimal(text: &str) -> Result<Rational, DecimalError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(DecimalError::Empty);
    }
    if text.len() > 400 {
        return Err(DecimalError::TooLong);
    }
    if let Some((numerator, denominator)) = text.split_once('/') {
        let denominator = parse_scientific(denominator.trim())?;
        if denominator.is_zero() {
            return Err(DecimalError::DivisionByZero);
        }
        return Ok(parse_scientific(numerator.trim())? / denominator);
    }
    parse_scientific(text)
}

fn parse_scientific(text: &str) -> Result<Rational, DecimalError> {
    let unsigned = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
    if ["nan", "inf", "infinity"].contains(&unsigned.as_str()) {
        return Err(DecimalError::NotFinite);
    }
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (
            mantissa,
            exponent.parse::<i32>().map_err(|_| DecimalError::Malformed)?,
        ),
        None => (text, 0),
    };
    if exponent.unsigned_abs() > 1000 {
        return Err(DecimalError::TooLong);
    }
    let (negative, magnitude) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = magnitude.split_once('.').unwrap_or((magnitude, ""));
    if whole.is_empty() && fraction.is_empty() {
        return Err(DecimalError::Malformed);
    }
    let digits: String = [whole, fraction].concat();
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(DecimalError::Malformed);
    }
    let integer: Natural = digits.parse().map_err(|_| DecimalError::Malformed)?;
    let power = exponent - fraction.len() as i32;
    let ten = Natural::from(10u8).pow(power.unsigned_abs() as usize);
    let integer = if negative {
        -Integer::from(integer)
    } else {
        Integer::from(integer)
    };
    Ok(if power >= 0 {
        Rational::from(integer * Integer::from(ten))
    } else {
        Rational::from_parts(integer, ten)
    })
}

/// The rational that a finite float is. `None` for NaN and infinities.
pub fn from_f64(value: f64) -> Option<Rational> {
    if !value.is_finite() {
        return None;
    }
    Rational::try_from(value).ok()
}

/// ⌊log₂ value⌋ for a positive value.
///
/// # Panics
/// If `value` is not positive.
pub fn floor_log2(value: &Rational) -> i32 {
    assert!(
        *value > Rational::ZERO,
        "floor_log2 of a number that is not positive"
    );
    let (numerator, denominator) = (value.numerator(), value.denominator());
    let guess = numerator.bit_len() as i32 - denominator.bit_len() as i32;
    // 2^(guess-1) < value < 2^(guess+1), so the answer is guess or guess-1.
    if *value >= power_of_two(guess) {
        guess
    } else {
        guess - 1
    }
}

/// The largest float that is not above `value` (−∞ below the range of floats).
pub fn to_f64_down(value: &Rational) -> f64 {
    let nearest = to_f64_nearest(value);
    match from_f64(nearest) {
        Some(exact) if exact > *value => nearest.next_down(),
        Some(_) => nearest,
        None if nearest > 0.0 => f64::MAX,
        None => f64::NEG_INFINITY,
    }
}

/// The smallest float that is not below `value` (+∞ above the range of floats).
/// ```
/// use exact::{from_f64, ratio, to_f64_down, to_f64_up};
///
/// // No float is a third; a bound that is stated as one has to be rounded to the safe side.
/// let third = ratio(1, 3);
/// assert!(from_f64(to_f64_down(&third)).unwrap() < third && third < from_f64(to_f64_up(&third)).unwrap());
/// assert_eq!(to_f64_down(&ratio(1, 4)), to_f64_up(&ratio(1, 4)));
/// ```
pub fn to_f64_up(value: &Rational) -> f64 {
    let nearest = to_f64_nearest(value);
    match from_f64(nearest) {
        Some(exact) if exact < *value => nearest.next_up(),
        Some(_) => nearest,
        None if nearest > 0.0 => f64::INFINITY,
        None => f64::MIN,
    }
}

/// The nearest float, for display only.
pub fn to_f64_nearest(value: &Rational) -> f64 {
    value.to_f64().value()
}

/// The decimal with `digits` significant digits that is closest to `value` from above (or equal to it).
/// ```
/// use exact::{decimal_at_least, decimal_at_most, format_decimal, ratio};
///
/// // An ε is reported rounded up.
/// assert_eq!(format_decimal(&decimal_at_least(&ratio(2, 3), 3)), "0.667");
/// assert_eq!(format_decimal(&decimal_at_most(&ratio(2, 3), 3)), "0.666");
/// ```
pub fn decimal_at_least(value: &Rational, digits: u32) -> Rational {
    to_decimal(value, digits, Rational::ceil)
}

/// The decimal with `digits` significant digits that is closest to `value` from below (or equal to it).
pub fn decimal_at_most(value: &Rational, digits: u32) -> Rational {
    to_decimal(value, digits, Rational::floor)
}

fn to_decimal(value: &Rational, digits: u32, round: fn(&Rational) -> Integer) -> Rational {
    if value.is_zero() {
        return Rational::ZERO;
    }
    let magnitude = if *value < Rational::ZERO {
        -value.clone()
    } else {
        value.clone()
    };
    // One digit is worth log₂ 10 < 10/3 bits, so this exponent keeps at least `digits` digits.
    let leading = (floor_log2(&magnitude) as f64 * std::f64::consts::LOG10_2).floor() as i32;
    let shift = digits as i32 - 1 - leading;
    let ten = Rational::from(Natural::from(10u8).pow(shift.unsigned_abs() as usize));
    if shift >= 0 {
        Rational::from(round(&(value * &ten))) / ten
    } else {
        Rational::from(round(&(value / &ten))) * ten
    }
}

/// The exact decimal expansion of a decimal; anything else is written as `numerator/denominator`.
pub fn format_decimal(value: &Rational) -> String {
    let mut rest = value.denominator().clone();
    let (mut twos, mut fives) = (0usize, 0usize);
    while (&rest % 2u8) == 0 {
        rest /= 2u8;
        twos += 1;
    }
    while (&rest % 5u8) == 0 {
        rest /= 5u8;
        fives += 1;
    }
    if rest != Natural::ONE {
        return value.to_string();
    }
    let places = twos.max(fives);
    let scaled = (value * Rational::from(Natural::from(10u8).pow(places)))
        .numerator()
        .clone();
    let negative = scaled < Integer::ZERO;
    let digits = if negative {
        (-scaled).to_string()
    } else {
        scaled.to_string()
    };
    let padded = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = padded.split_at(padded.len() - places);
    let sign = if negative { "-" } else { "" };
    // A tiny probability reads better as 1e-30 than as thirty zeros.
    if whole == "0" && fraction.len() > 7 {
        let significant = fraction.trim_start_matches('0');
        let exponent = fraction.len() - significant.len() + 1;
        if exponent > 5 {
            let (head, tail) = significant.split_at(1);
            let point = if tail.is_empty() { "" } else { "." };
            return format!("{sign}{head}{point}{tail}e-{exponent}");
        }
    }
    if fraction.is_empty() {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_is_read_exactly() {
        assert_eq!(parse_decimal("0.1").unwrap(), ratio(1, 10));
        assert_eq!(parse_decimal(" -2.50e1 ").unwrap(), ratio(-25, 1));
        assert_eq!(parse_decimal("1e-6").unwrap(), ratio(1, 1_000_000));
        assert_eq!(parse_decimal("1/3").unwrap(), ratio(1, 3));
        assert_eq!(parse_decimal("+.5").unwrap(), ratio(1, 2));
        assert_eq!(parse_decimal("5.").unwrap(), ratio(5, 1));
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        for text in [
            "", "  ", ".", "-", "1..2", "1e", "1e1.5", "abc", "0x10", "1_000", "--1", "1/2/3", "½", "1e-",
        ] {
            assert!(parse_decimal(text).is_err(), "{text}");
        }
        assert_eq!(parse_decimal("NaN"), Err(DecimalError::NotFinite));
        assert_eq!(parse_decimal("-inf"), Err(DecimalError::NotFinite));
        assert_eq!(parse_decimal("1/0"), Err(DecimalError::DivisionByZero));
        assert_eq!(parse_decimal("1e99999"), Err(DecimalError::TooLong));
    }

    #[test]
    fn decimals_round_in_the_named_direction() {
        let third = ratio(1, 3);
        assert_eq!(decimal_at_most(&third, 3), ratio(333, 1000));
        assert_eq!(decimal_at_least(&third, 3), ratio(334, 1000));
        assert_eq!(decimal_at_least(&ratio(-1, 3), 3), ratio(-333, 1000));
        assert_eq!(decimal_at_least(&ratio(1, 8), 5), ratio(1, 8));
    }

    #[test]
    fn decimals_print_as_decimals() {
        assert_eq!(format_decimal(&ratio(1, 10)), "0.1");
        assert_eq!(format_decimal(&ratio(-5, 4)), "-1.25");
        assert_eq!(format_decimal(&ratio(7, 1)), "7");
        assert_eq!(format_decimal(&ratio(1, 3)), "1/3");
        assert_eq!(format_decimal(&parse_decimal("1e-30").unwrap()), "1e-30");
        assert_eq!(format_decimal(&parse_decimal("1.25e-9").unwrap()), "1.25e-9");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,30}") {
            let _ = parse_decimal(&text);
        }

        #[test]
        fn printing_and_reading_agree(numerator in any::<i64>(), places in 0u32..30) {
            let value = Rational::from(numerator) / Rational::from(Natural::from(10u8).pow(places as usize));
            prop_assert_eq!(parse_decimal(&format_decimal(&value)).unwrap(), value);
        }

        #[test]
        fn floats_bracket(numerator in any::<i64>(), denominator in 1u64..) {
            let value = ratio(numerator, denominator);
            let (down, up) = (to_f64_down(&value), to_f64_up(&value));
            prop_assert!(from_f64(down).unwrap() <= value && from_f64(up).unwrap() >= value);
            prop_assert!(up == down || up == down.next_up());
        }

        #[test]
        fn logarithm_brackets(numerator in 1i64.., denominator in 1u64..) {
            let value = ratio(numerator, denominator);
            let exponent = floor_log2(&value);
            prop_assert!(power_of_two(exponent) <= value && value < power_of_two(exponent + 1));
        }

        #[test]
        fn decimals_bracket(numerator in any::<i64>(), denominator in 1u64.., digits in 1u32..20) {
            let value = ratio(numerator, denominator);
            prop_assert!(decimal_at_most(&value, digits) <= value);
            prop_assert!(decimal_at_least(&value, digits) >= value);
        }
    }
}
