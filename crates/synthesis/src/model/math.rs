//! Exponentials that are the same on every machine, so that one release gives the same rows everywhere.

/// log₂ e.
const LOG2_E: f64 = std::f64::consts::LOG2_E;
/// ln 2 in two parts: products of the first with whole numbers below 2^20 are exact.
const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Adding it rounds to a whole number, which is then in the low bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// Below this the result counts as zero.
const SMALLEST: f64 = -690.0;

/// e^x for x ≤ 0, to about 15 digits; zero where it is below 10^-299. Additions and products alone, which are exact to the last bit in the same way on every machine, and which a compiler makes vectors of.
pub(super) fn exp(x: f64) -> f64 {
    let clamped = x.max(SMALLEST);
    let rounded = clamped * LOG2_E + ROUNDER;
    let whole = rounded - ROUNDER;
    let rest = (clamped - whole * LN2_HIGH) - whole * LN2_LOW;
    // The Taylor series of e^r for |r| ≤ ln 2 / 2.
    const COEFFICIENTS: [f64; 12] = [
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
    ];
    let mut sum = COEFFICIENTS[0];
    for coefficient in &COEFFICIENTS[1..] {
        sum = sum * rest + coefficient;
    }
    let sum = sum * rest + 1.0;
    // 2^whole, by its exponent.
    let power = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
    if x < SMALLEST { 0.0 } else { sum * power }
}

/// ln x, the same on every machine.
pub(super) fn ln(x: f64) -> f64 {
    libm::log(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_right() {
        for step in 0..70_000 {
            let x = -0.01 * f64::from(step);
            let (ours, theirs) = (exp(x), x.exp());
            if x > -690.0 {
                assert!((ours - theirs).abs() <= 4e-15 * theirs, "{x}: {ours} {theirs}");
            } else {
                assert!(ours.abs() < 1e-299, "{x}");
            }
        }
        assert_eq!((exp(0.0), exp(f64::NEG_INFINITY), ln(1.0)), (1.0, 0.0, 0.0));
    }
}
