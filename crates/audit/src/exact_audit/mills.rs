//! The tail of the normal distribution, to relative precision however far out.

use exact::{Integer, Interval, Rational};

/// From here on the continued fraction is quicker than the series of Φ.
const FAR: u32 = 6;

/// √(2π).
pub(super) fn root_of_two_pi(bits: u32) -> Interval {
    Interval::pi(bits).scale(&Integer::from(2)).sqrt()
}

/// M(x) = (1 − Φ(x))/φ(x) for x ≥ 0 (Mills), where Φ itself would need bits for all of its leading zeros.
///
/// Let I₋₁ = φ(x) and I_n = ∫_x^∞ (t−x)ⁿ/n! φ(t) dt. By parts, from t·φ(t) = −φ'(t): (n+1)·I_{n+1} = I_{n−1}
/// − x·I_n. So r_n = I_{n−1}/I_n satisfies r_n = x + (n+1)/r_{n+1}, and M = I₀/I₋₁ = 1/r₀. Every I_n is
/// positive, so r_n > x and then r_n < x + (n+1)/x: an enclosure of one r_n, which the recursion narrows on
/// its way down to r₀.
pub(super) fn mills(x: &Interval) -> Interval {
    let bits = x.bits();
    let start = x.lower();
    if start < Rational::from(FAR) {
        // e^(x²/2) < 2^26 here, which is what this loses.
        let density = x.square().scale_by_power_of_two(-1).exp();
        return x.neg().normal_cdf().mul(&density).mul(&root_of_two_pi(bits));
    }
    // A step narrows by n/(r_n·r_{n+1}), about e^(−2x/√(4n+x²)), so n steps by e^(−x(√(4n+x²)−x)). That is
    // e^(−0.7·bits) < 2^-bits for n = c + (c/x)² with c = 0.35·bits. A matter of width only.
    let third = Rational::from(bits) * exact::ratio(7, 20);
    let root = &third / &start;
    let steps = (&root * &root + third).ceil() + Integer::from(8);
    let steps = u32::try_from(steps).expect("about bits²/300 at most");
    let over = |n: u32, r: &Interval| {
        let quotient = Interval::from_integer(n, bits).div(r);
        x.add(&quotient.expect("r is at least x"))
    };
    let last = x.hull(&over(steps + 1, x));
    let first = (1..=steps).rev().fold(last, |r, n| over(n, &r));
    Interval::from_integer(1, bits)
        .div(&first)
        .expect("r is at least x")
}

#[cfg(test)]
mod tests {
    use super::*;
    use exact::{parse_decimal, power_of_two};

    /// The continued fraction and Φ are different code; they must agree, and both must be narrow.
    #[test]
    fn the_fraction_agrees_with_the_series() {
        for tenths in [0u32, 1, 17, 59, 60, 61, 100, 250] {
            for bits in [96, 160, 600] {
                let x = Rational::from(tenths) / Rational::from(10u8);
                let ratio = mills(&Interval::from_rational(&x, bits));
                let deep = bits + tenths * tenths / 50 + 64;
                let series = {
                    let x = Interval::from_rational(&x, deep);
                    let tail = x.neg().normal_cdf().mul(&root_of_two_pi(deep));
                    tail.mul(&x.square().scale_by_power_of_two(-1).exp())
                        .with_bits(bits)
                };
                assert!(ratio.lower() <= series.upper() && series.lower() <= ratio.upper());
                assert!(
                    ratio.upper() - ratio.lower() < power_of_two(40 - bits as i32),
                    "{x} at {bits}"
                );
            }
        }
        // mpmath: ncdf(-30)/npdf(30).
        let far = mills(&Interval::from_integer(30, 200));
        let value = parse_decimal("0.03329641907249721338186840185287279002276").expect("a number");
        let slack = parse_decimal("1e-40").expect("a number");
        assert!(far.lower() > &value - &slack && far.upper() < value + slack);
    }
}
