//! Elementary functions of intervals, each an enclosure by construction.
//!
//! The pattern is the same throughout: reduce the argument with exact steps, sum a series in interval arithmetic (so
//! round-off is carried by the intervals themselves), add a proved bound on the terms left out, undo the reduction, and
//! round outward to the precision asked for. All functions are monotone, so an interval argument needs the function only at its ends.

use crate::{Integer, Interval, Natural, Rational, floor_log2};
use std::sync::OnceLock;

impl Interval {
    /// `e^x`.
    pub fn exp(&self) -> Self {
        Self::from_ends(
            exp_point(&self.lower(), self.bits()).lo().clone(),
            exp_point(&self.upper(), self.bits()).hi().clone(),
            self.bits(),
        )
    }

    /// `ln x`, or `None` when x may be zero or negative.
    pub fn ln(&self) -> Option<Self> {
        if *self.lo() <= Integer::ZERO {
            return None;
        }
        Some(Self::from_ends(
            ln_point(&self.lower(), self.bits()).lo().clone(),
            ln_point(&self.upper(), self.bits()).hi().clone(),
            self.bits(),
        ))
    }

    /// π.
    pub fn pi(bits: u32) -> Self {
        static KNOWN: OnceLock<Interval> = OnceLock::new();
        constant(&KNOWN, bits, |bits| {
            // Machin 1706: π = 16 arctan(1/5) − 4 arctan(1/239).
            let work = bits + 16;
            let five = atan_of_reciprocal(5, work).scale(&Integer::from(16));
            let other = atan_of_reciprocal(239, work).scale(&Integer::from(4));
            five.sub(&other).with_bits(bits)
        })
    }

    /// `arctan x`.
    pub fn atan(&self) -> Self {
        Self::from_ends(
            atan_point(&self.lower(), self.bits()).lo().clone(),
            atan_point(&self.upper(), self.bits()).hi().clone(),
            self.bits(),
        )
    }

    /// The standard normal distribution function `Φ(x)`, with absolute precision: ask for more bits in the far tail.
    pub fn normal_cdf(&self) -> Self {
        Self::from_ends(
            normal_cdf_point(&self.lower(), self.bits()).lo().clone(),
            normal_cdf_point(&self.upper(), self.bits()).hi().clone(),
            self.bits(),
        )
    }

    /// `e^x` of a rational.
    pub fn exp_of(value: &Rational, bits: u32) -> Self {
        exp_point(value, bits)
    }

    /// `ln x` of a positive rational.
    ///
    /// # Panics
    /// If `value` is not positive.
    pub fn ln_of(value: &Rational, bits: u32) -> Self {
        ln_point(value, bits)
    }

    /// `√x` of a rational that is not negative.
    ///
    /// # Panics
    /// If `value` is negative.
    pub fn sqrt_of(value: &Rational, bits: u32) -> Self {
        Self::from_rational(value, bits + 2).sqrt().with_bits(bits)
    }
}

/// e^x for a rational x.
///
/// Reduction: x = k·ln 2 + y with |y| ≤ 0.4, then y/2^s, then s squarings. Series: for |t| ≤ 2^-s·0.4 the terms
/// beyond n sum to at most 2·|t|^(n+1)/(n+1)!, since each is under half of the one before.
fn exp_point(x: &Rational, bits: u32) -> Interval {
    if x.is_zero() {
        return Interval::from_integer(1, bits);
    }
    let magnitude = if *x < Rational::ZERO {
        -x.clone()
    } else {
        x.clone()
    };
    let size = floor_log2(&magnitude) + 1;
    if size > 40 {
        // e^-(2^40) is far below any precision in use; e^(2^40) is no number anyone can hold.
        assert!(*x < Rational::ZERO, "e^x of an enormous x");
        return Interval::from_ends(Integer::ZERO, Integer::ONE, bits);
    }
    // k = ⌊x·1.4427⌋ needs no precision: any integer near x/ln 2 leaves a small y.
    let k = (x * Rational::from_parts(Integer::from(14427), Natural::from(10000u32))).round();
    let k: i64 = i64::try_from(k).expect("below 2^41");
    if vanishes(k, bits) {
        return Interval::from_ends(Integer::ZERO, Integer::ONE, bits);
    }
    let squarings = 8 + bits / 64;
    // Guard bits: the squarings double the error each, k bits are lost to 2^k, and the series has under 256 terms.
    let work = bits + squarings + k.max(0) as u32 + size.max(0) as u32 + 24;
    let ln2 = ln2(work);
    let y = Interval::from_rational(x, work).sub(&ln2.scale(&Integer::from(k)));
    let t = y.scale_by_power_of_two(-(squarings as i32));
    let one = Interval::from_integer(1, work);
    let mut sum = one.clone();
    let mut term = one;
    let mut n = 0u32;
    loop {
        n += 1;
        term = term.mul(&t).div_integer(&Integer::from(n));
        sum = sum.add(&term);
        let largest = abs_upper(&term);
        if largest <= Integer::ONE {
            // The rest is at most twice the last term's bound.
            let twice = largest * Integer::from(2);
            let rest = Interval::from_ends(-twice.clone(), twice, work);
            sum = sum.add(&rest);
            break;
        }
    }
    for _ in 0..squarings {
        sum = sum.square();
    }
    let result = sum.scale_by_power_of_two(k as i32).with_bits(bits);
    let lo = if *result.lo() < Integer::ZERO {
        Integer::ZERO
    } else {
        result.lo().clone()
    };
    Interval::from_ends(lo, result.hi().clone(), bits)
}

/// Whether e^x is certainly at most 2^-bits, when k is x·1.4427 rounded: x ≤ (k+½)/1.4427 and 1/(1.4427·ln 2) > 1 − 2^-17, so
/// e^x = 2^(x/ln 2) ≤ 2^((k+½)·(1 − 2^-17)).
fn vanishes(k: i64, bits: u32) -> bool {
    k < -(i64::from(bits) + i64::from(bits >> 16) + 2)
}

fn abs_upper(value: &Interval) -> Integer {
    let low = -value.lo();
    if low > *value.hi() {
        low
    } else {
        value.hi().clone()
    }
}

/// ln x for a positive rational: x = m·2^e with m in [1, 2), and ln m = 2·artanh((m−1)/(m+1)).
fn ln_point(x: &Rational, bits: u32) -> Interval {
    assert!(*x > Rational::ZERO, "logarithm of a number that is not positive");
    if x.is_one() {
        return Interval::from_integer(0, bits);
    }
    let exponent = floor_log2(x);
    let work = bits + 24 + exponent.unsigned_abs().max(1).ilog2();
    let m = x / crate::power_of_two(exponent);
    let z = (&m - Rational::ONE) / (&m + Rational::ONE);
    artanh_twice(&Interval::from_rational(&z, work))
        .add(&ln2(work).scale(&Integer::from(exponent)))
        .with_bits(bits)
}

/// 2·artanh(z) = 2·Σ z^(2k+1)/(2k+1) for 0 ≤ z ≤ 1/3. Terms shrink by 9 or more, so what is left out is at most an
/// eighth of the last term kept; the bound used is the whole of it.
fn artanh_twice(z: &Interval) -> Interval {
    let work = z.bits();
    let square = z.square();
    let mut power = z.clone();
    let mut sum = z.clone();
    let mut k = 1u32;
    loop {
        power = power.mul(&square);
        k += 2;
        let term = power.div_integer(&Integer::from(k));
        sum = sum.add(&term);
        let largest = abs_upper(&term);
        if largest <= Integer::ONE {
            let rest = Interval::from_ends(-largest.clone(), largest, work);
            return sum.add(&rest).scale(&Integer::from(2));
        }
    }
}

fn ln2(bits: u32) -> Interval {
    static KNOWN: OnceLock<Interval> = OnceLock::new();
    constant(&KNOWN, bits, |bits| {
        let third = Rational::from_parts(Integer::ONE, Natural::from(3u8));
        artanh_twice(&Interval::from_rational(&third, bits + 8)).with_bits(bits)
    })
}

/// A constant is asked for again and again: computed once with more bits than usual, and cut outward to what is asked.
fn constant(known: &OnceLock<Interval>, bits: u32, compute: fn(u32) -> Interval) -> Interval {
    const KEPT: u32 = 1024;
    if bits > KEPT {
        compute(bits)
    } else {
        known.get_or_init(|| compute(KEPT)).with_bits(bits)
    }
}

/// arctan(1/n), alternating with falling terms, so what is left out is at most the last term kept.
fn atan_of_reciprocal(n: u32, bits: u32) -> Interval {
    let reciprocal = Rational::from_parts(Integer::ONE, Natural::from(n));
    atan_series(&Interval::from_rational(&reciprocal, bits))
}

fn atan_series(z: &Interval) -> Interval {
    let square = z.square();
    let mut power = z.clone();
    let mut sum = z.clone();
    let mut k = 1u32;
    loop {
        power = power.mul(&square).neg();
        k += 2;
        let term = power.div_integer(&Integer::from(k));
        sum = sum.add(&term);
        let largest = abs_upper(&term);
        if largest <= Integer::ONE {
            let rest = Interval::from_ends(-largest.clone(), largest, z.bits());
            return sum.add(&rest);
        }
    }
}

/// arctan x: odd, so x ≥ 0; arctan x = π/2 − arctan(1/x) brings x below 1; and twice
/// arctan x = 2·arctan(x/(1+√(1+x²))) brings it below 0.2, where the series falls fast.
fn atan_point(x: &Rational, bits: u32) -> Interval {
    if *x < Rational::ZERO {
        return atan_point(&-x.clone(), bits).neg();
    }
    if x.is_zero() {
        return Interval::from_integer(0, bits);
    }
    if *x > Rational::ONE {
        let right_angle = Interval::pi(bits + 4).scale_by_power_of_two(-1);
        return right_angle
            .sub(&atan_point(&(Rational::ONE / x), bits + 4))
            .with_bits(bits);
    }
    let work = bits + 24;
    let one = Interval::from_integer(1, work);
    let mut z = Interval::from_rational(x, work);
    for _ in 0..2 {
        let root = one.add(&z.square()).sqrt();
        z = z.div(&one.add(&root)).expect("1 + √(1+x²) ≥ 2");
    }
    atan_series(&z).scale(&Integer::from(4)).with_bits(bits)
}

/// Φ(x) for a rational x.
///
/// For x ≥ 0, Φ(x) = ½ + φ(x)·Σ_{n≥0} x^(2n+1)/(1·3·5⋯(2n+1)), a series of positive terms (integrate φ by parts
/// repeatedly). Once x² < n the ratio of terms x²/(2n+3) is under one half, so what is left out is at most the last term kept.
fn normal_cdf_point(x: &Rational, bits: u32) -> Interval {
    if *x < Rational::ZERO {
        let one = Interval::from_integer(1, bits);
        return one.sub(&normal_cdf_point(&-x.clone(), bits));
    }
    let square = x * x;
    if square > Rational::from(4u64 * u64::from(bits) + 16) {
        // 1 − Φ(x) ≤ e^(−x²/2) ≤ 2^(−2·bits): below one unit.
        let one = Integer::ONE << bits as usize;
        return Interval::from_ends(&one - Integer::ONE, one, bits);
    }
    // The sum can be as large as e^(x²/2), which φ(x) then divides away: carry that many extra bits.
    let growth = u32::try_from((&square * Rational::from(3u8) / Rational::from(4u8)).ceil()).expect("small");
    let work = bits + growth + 32;
    let x_interval = Interval::from_rational(x, work);
    let square_interval = Interval::from_rational(&square, work);
    let settled = u32::try_from(square.ceil()).expect("small");
    let mut term = x_interval.clone();
    let mut sum = x_interval;
    let mut n = 0u32;
    loop {
        n += 1;
        term = term.mul(&square_interval).div_integer(&Integer::from(2 * n + 1));
        sum = sum.add(&term);
        if n > settled && *term.hi() <= Integer::ONE {
            sum = sum.add(&Interval::from_ends(Integer::ZERO, Integer::from(2), work));
            break;
        }
    }
    let exponential = exp_point(&(-square / Rational::from(2u8)), work);
    let root = Interval::pi(work).scale(&Integer::from(2)).sqrt();
    let density = exponential.div(&root).expect("√(2π) > 0");
    let half = Interval::from_integer(1, work).scale_by_power_of_two(-1);
    let result = half.add(&density.mul(&sum)).with_bits(bits);
    let one = Integer::ONE << bits as usize;
    let hi = if *result.hi() > one {
        one
    } else {
        result.hi().clone()
    };
    Interval::from_ends(result.lo().clone(), hi, bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{parse_decimal, ratio};
    use proptest::prelude::*;

    /// Encloses a 50-digit value, allowing for its own last digit.
    fn agrees(interval: &Interval, digits: &str) {
        let value = parse_decimal(digits).unwrap();
        let size = Rational::ONE + value.clone() * value.signum();
        let slack = parse_decimal("1e-49").unwrap() * &size;
        assert!(
            interval.lower() <= &value + &slack && &value - &slack <= interval.upper(),
            "{} .. {} misses {digits}",
            interval.to_f64_down(),
            interval.to_f64_up()
        );
        let width = interval.upper() - interval.lower();
        assert!(
            width < parse_decimal("1e-48").unwrap() * size,
            "too wide to mean anything"
        );
    }

    // Computed with mpmath at 70 digits.
    #[test]
    fn known_values() {
        agrees(
            &Interval::exp_of(&ratio(1, 1), 200),
            "2.7182818284590452353602874713526624977572470936999596",
        );
        agrees(
            &Interval::exp_of(&ratio(-1, 1), 200),
            "0.36787944117144232159552377016146086744581113103176783",
        );
        agrees(
            &Interval::exp_of(&ratio(25, 1), 200),
            "72004899337.385872524161351466126157915223533813395",
        );
        agrees(
            &Interval::exp_of(&ratio(-1, 1000), 200),
            "0.99900049983337499166805535716765597470235590236008206",
        );
        agrees(
            &Interval::ln_of(&ratio(3, 1), 200),
            "1.0986122886681096913952452369225257046474905578227495",
        );
        agrees(
            &Interval::ln_of(&ratio(1, 1000), 200),
            "-6.9077552789821370520539743640530926228033044658863189",
        );
        agrees(
            &Interval::pi(200),
            "3.1415926535897932384626433832795028841971693993751058",
        );
        agrees(
            &Interval::from_integer(1, 200).atan(),
            "0.78539816339744830961566084581987572104929234984377646",
        );
        agrees(
            &Interval::from_integer(10, 200).atan(),
            "1.4711276743037345918528755717617308518553063771832382",
        );
        agrees(
            &Interval::from_integer(1, 200).normal_cdf(),
            "0.84134474606854294858523254563203792247791296672660439",
        );
    }

    #[test]
    fn a_wrong_digit_would_be_noticed() {
        let e = Interval::exp_of(&ratio(1, 1), 200);
        assert!(!e.contains(&parse_decimal("2.7182818284590452353602874713526624977572470936").unwrap()));
    }

    #[test]
    fn what_vanishes_is_small_at_any_precision() {
        let ln2 = Interval::ln_of(&ratio(2, 1), 200).upper();
        for bits in [1, 32, 1000, 1 << 16, 727_000, 1_000_000, 1 << 20, u32::MAX] {
            // The first k that vanishes, at the largest x that rounds to it: x ≤ −bits·ln 2.
            let k = -(i64::from(bits) + i64::from(bits >> 16) + 3);
            assert!(vanishes(k, bits) && !vanishes(k + 1, bits));
            let x = (Rational::from(k) + ratio(1, 2)) * ratio(10_000, 14_427);
            assert!(x <= -Rational::from(bits) * &ln2, "{bits}");
        }
    }

    #[test]
    fn tails_vanish_without_lying() {
        let tiny = Interval::exp_of(&ratio(-1_000_000, 1), 100);
        assert_eq!((tiny.lo(), tiny.hi()), (&Integer::ZERO, &Integer::ONE));
        let far = Interval::from_integer(-40, 2000).normal_cdf();
        // Φ(−40) = 3.6558935409150297e-350 (mpmath).
        assert!(far.lower() > parse_decimal("3.65589354e-350").unwrap());
        assert!(far.upper() < parse_decimal("3.65589355e-350").unwrap());
    }

    proptest! {
        #[test]
        fn exponentials_multiply(a in -2000i64..2000, b in -2000i64..2000) {
            let (a, b) = (ratio(a, 97), ratio(b, 89));
            let bits = 160;
            let product = Interval::exp_of(&a, bits).mul(&Interval::exp_of(&b, bits));
            let sum = Interval::exp_of(&(&a + &b), bits);
            prop_assert!(product.lower() <= sum.upper() && sum.lower() <= product.upper());
        }

        #[test]
        fn logarithm_undoes_exponential(a in -3000i64..3000) {
            let a = ratio(a, 101);
            let back = Interval::exp_of(&a, 256).ln().unwrap();
            prop_assert!(back.contains(&a));
        }

        #[test]
        fn normal_is_symmetric_and_grows(a in 0i64..600) {
            let a = ratio(a, 100);
            let up = Interval::from_rational(&a, 128).normal_cdf();
            let down = Interval::from_rational(&-a.clone(), 128).normal_cdf();
            let sum = up.add(&down);
            prop_assert!(sum.contains(&Rational::ONE));
            let next = Interval::from_rational(&(a + ratio(1, 10)), 128).normal_cdf();
            prop_assert!(next.lower() > up.upper());
        }

        #[test]
        fn tangent_addition(a in 1i64..5000) {
            // arctan x + arctan 1/x = π/2.
            let x = ratio(a, 71);
            let sum = Interval::from_rational(&x, 128).atan().add(&Interval::from_rational(&(Rational::ONE / &x), 128).atan());
            let right = Interval::pi(128).scale_by_power_of_two(-1);
            prop_assert!(sum.lower() <= right.upper() && right.lower() <= sum.upper());
        }
    }
}
