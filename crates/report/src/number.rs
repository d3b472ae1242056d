//! Numbers for people.

/// `value` rounded to this many significant digits, all of them written: `significant(2.0, 3)` is `2.00`.
///
/// Below 0.0001 and from a million up it is written as `1.23e-5`. A number for people to read, not to compute
/// with.
/// ```
/// use report::significant;
///
/// assert_eq!(significant(1.0 / 3.0, 3), "0.333");
/// assert_eq!(significant(123_456.0, 2), "120000");
/// assert_eq!(significant(0.000_012_34, 3), "1.23e-5");
/// assert_eq!(significant(f64::INFINITY, 3), "∞");
/// ```
pub fn significant(value: f64, digits: usize) -> String {
    let digits = digits.max(1);
    if !value.is_finite() {
        return if value.is_nan() {
            "NaN"
        } else {
            ["∞", "-∞"][usize::from(value < 0.0)]
        }
        .to_string();
    }
    if value == 0.0 {
        return "0".to_string();
    }
    // Rounding can carry into a new digit (9.99 to two digits is 10), so the exponent is read after rounding.
    let scientific = format!("{value:.*e}", digits - 1);
    let exponent = scientific
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse::<i32>().ok())
        .unwrap_or(0);
    if !(-4..6).contains(&exponent) {
        return scientific;
    }
    let decimals = digits as i32 - 1 - exponent;
    if decimals >= 0 {
        return format!("{value:.*}", decimals as usize);
    }
    // The digits left of the decimal point that are not significant are zero.
    let rounded: f64 = scientific.parse().unwrap_or(value);
    format!("{rounded:.0}")
}

/// `12.3 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", significant(100.0 * share, 3))
}

/// `66.8 to 67.0 %`.
pub fn percent_interval(ends: (f64, f64)) -> String {
    format!("{} to {}", significant(100.0 * ends.0, 3), percent(ends.1))
}

/// `1234567` as `1,234,567`.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Whole numbers from 1 to `most`, evenly in their logarithm: where a curve over a logarithmic axis is
/// computed.
pub fn counts(most: u64) -> Vec<u64> {
    const POINTS: u32 = 40;
    let end = (most as f64).ln();
    let mut counts: Vec<u64> = (0..POINTS)
        .map(|step| (end * f64::from(step) / f64::from(POINTS - 1)).exp().round() as u64)
        .map(|count| count.clamp(1, most))
        .chain([most])
        .collect();
    counts.dedup();
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(percent(0.66912), "66.9 %");
        assert_eq!(percent_interval((0.668, 0.67)), "66.8 to 67.0 %");
    }

    #[test]
    fn counts_rise_from_one_to_the_last() {
        for most in [1, 2, 3, 10, 1000, 14_062, 1_000_000_000] {
            let counts = counts(most);
            assert_eq!((counts[0], counts[counts.len() - 1]), (1, most));
            assert!(counts.windows(2).all(|pair| pair[0] < pair[1]), "{counts:?}");
            assert!(counts.len() <= 41);
        }
    }

    #[test]
    fn significant_digits() {
        let cases = [
            (0.0, 3, "0"),
            (-0.0, 3, "0"),
            (2.0, 3, "2.00"),
            (-1.23456, 3, "-1.23"),
            (9.996, 3, "10.0"),
            (0.99999, 2, "1.0"),
            (0.000123456, 3, "0.000123"),
            (0.0000123456, 3, "1.23e-5"),
            (12345.0, 3, "12300"),
            (99999.0, 2, "100000"),
            (999_999.0, 3, "1.00e6"),
            (1.5e300, 2, "1.5e300"),
            (5e-324, 2, "4.9e-324"),
            (7.0, 0, "7"),
            (f64::NAN, 3, "NaN"),
            (f64::INFINITY, 3, "∞"),
            (f64::NEG_INFINITY, 3, "-∞"),
        ];
        for (value, digits, expected) in cases {
            assert_eq!(significant(value, digits), expected, "{value} to {digits}");
        }
    }
}
