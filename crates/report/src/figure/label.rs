//! How tick values are written.

/// The decade 10^`exponent` as a power.
pub(super) fn decade(exponent: i32) -> String {
    format!("10{}", superscript(exponent))
}

/// The decade 10^`exponent` as an ordinary number.
pub(super) fn plain_decade(exponent: i32) -> String {
    plain(10_f64.powi(exponent), (-exponent).max(0) as usize)
}

/// The label of a tick on an axis whose ticks are multiples of 10^`exponent` and at most `largest` in size.
pub(super) fn linear(at: f64, exponent: i32, largest: f64) -> String {
    if at == 0.0 {
        return "0".to_string();
    }
    if (1e-3..1e7).contains(&largest) {
        return plain(at, (-exponent).max(0) as usize);
    }
    // One power of ten for the whole axis, so that labels compare at a glance.
    let power = largest.log10().floor() as i32;
    let scaled = if power < 0 {
        at * 10_f64.powi(-power)
    } else {
        at / 10_f64.powi(power)
    };
    format!(
        "{}×10{}",
        plain(scaled, (power - exponent).max(0) as usize),
        superscript(power)
    )
}

/// `value` with this many decimals, thousands apart, and a minus sign as wide as a digit.
fn plain(value: f64, decimals: usize) -> String {
    let written = format!("{:.decimals$}", value.abs());
    let (whole, rest) = written.split_at(written.find('.').unwrap_or(written.len()));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 && whole.len() > 4 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if value < 0.0 && written.contains(|digit| ('1'..='9').contains(&digit)) {
        "−"
    } else {
        ""
    };
    format!("{sign}{grouped}{rest}")
}

fn superscript(number: i32) -> String {
    let raise = |character| match character {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32('⁰' as u32 + (digit as u32 - '0' as u32)).unwrap_or(digit),
    };
    number.to_string().chars().map(raise).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_as_powers_and_as_numbers() {
        assert_eq!(decade(-120), "10⁻¹²⁰");
        assert_eq!(decade(3456), "10³⁴⁵⁶");
        assert_eq!(plain_decade(-3), "0.001");
        assert_eq!(plain_decade(4), "10,000");
    }

    #[test]
    fn numbers_are_grouped_and_zero_has_no_sign() {
        assert_eq!(plain(-1_234_567.25, 1), "−1,234,567.2");
        assert_eq!(plain(-0.001, 1), "0.0");
        assert_eq!(linear(-0.0, -1, 1.0), "0");
        assert_eq!(linear(-0.5, -1, 1.0), "−0.5");
        assert_eq!(linear(-2.5e-7, -8, 3e-7), "−2.5×10⁻⁷");
    }
}
