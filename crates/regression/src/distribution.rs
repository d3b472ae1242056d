//! Tails of the normal, t, χ² and F distributions, in floats: what is computed here is after the noise.

use std::f64::consts::PI;

/// ln Γ(x) for x > 0 (Lanczos).
pub(crate) fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return (PI / (PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let mut sum = 0.999_999_999_999_809_9;
    for (place, term) in TERMS.iter().enumerate() {
        sum += term / (x + place as f64 + 1.0);
    }
    let t = x + 7.5;
    0.5 * (2.0 * PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// The upper regularised incomplete gamma function Q(a, x).
fn gamma_above(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut step) = (1.0 / a, 1.0 / a, a);
        while term.abs() > sum.abs() * 1e-16 {
            step += 1.0;
            term *= x / step;
            sum += term;
        }
        return (1.0 - front * sum).clamp(0.0, 1.0);
    }
    // Lentz's continued fraction.
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1e300, 1.0 / b);
    let mut value = d;
    for step in 1..10_000 {
        let step = f64::from(step);
        let an = -step * (step - a);
        b += 2.0;
        d = 1.0 / nonzero(an * d + b);
        c = nonzero(b + an / c);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    (front * value).clamp(0.0, 1.0)
}

/// The regularised incomplete beta function I_x(a, b).
fn beta_below(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_below(b, a, 1.0 - x);
    }
    let front = (a * x.ln() + b * (-x).ln_1p() - ln_gamma(a) - ln_gamma(b) + ln_gamma(a + b)).exp() / a;
    let (mut c, mut d) = (1.0, 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0)));
    let mut value = d;
    for step in 1..10_000 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / nonzero(1.0 + even * d);
        c = nonzero(1.0 + even / c);
        value *= c * d;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / nonzero(1.0 + odd * d);
        c = nonzero(1.0 + odd / c);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    (front * value).clamp(0.0, 1.0)
}

fn nonzero(value: f64) -> f64 {
    if value.abs() < 1e-300 { 1e-300 } else { value }
}

/// How likely a standard normal number is farther from zero on either side.
pub(crate) fn normal_two_sided(z: f64) -> f64 {
    gamma_above(0.5, z * z / 2.0)
}

/// The same for Student's t with these degrees of freedom.
pub(crate) fn t_two_sided(t: f64, freedom: f64) -> f64 {
    if freedom > 1e7 {
        return normal_two_sided(t);
    }
    beta_below(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// How far from zero Student's t is with probability 1 − `confidence`.
pub(crate) fn t_quantile(confidence: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while t_two_sided(high, freedom) > 1.0 - confidence && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if t_two_sided(middle, freedom) > 1.0 - confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// How likely χ² with these degrees of freedom is larger.
pub(crate) fn chi_square_above(value: f64, freedom: f64) -> f64 {
    gamma_above(freedom / 2.0, value / 2.0)
}

/// How likely F is larger.
pub(crate) fn f_above(value: f64, numerator: f64, denominator: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    if denominator > 1e7 {
        return chi_square_above(value * numerator, numerator);
    }
    beta_below(
        denominator / 2.0,
        numerator / 2.0,
        denominator / (denominator + numerator * value),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) {
        assert!(
            (value - expected).abs() < 1e-9 * expected.abs().max(1e-3),
            "{value} against {expected}"
        );
    }

    /// The values are those of R's pt, pchisq, pf and qt.
    #[test]
    fn tails_are_those_of_the_tables() {
        near(normal_two_sided(1.959_963_984_540_054), 0.05);
        near(t_two_sided(2.0, 10.0), 0.073_388_034_770_740_39);
        near(t_two_sided(12.706_204_736_174_7, 1.0), 0.05);
        near(t_quantile(0.95, 10.0), 2.228_138_851_964_939);
        near(t_quantile(0.95, f64::INFINITY), 1.959_963_984_540_054);
        near(chi_square_above(3.841_458_820_694_124, 1.0), 0.05);
        near(chi_square_above(18.307_038_053_275_146, 10.0), 0.05);
        near(f_above(4.964_602_743_730_711, 1.0, 10.0), 0.05);
        assert!((ln_gamma(10.0) - 362_880f64.ln()).abs() < 1e-12);
    }
}
