//! Fixed-point intervals: two integers over a power of two that enclose a real number.

use crate::{Integer, Natural, Rational, rational};
use dashu_int::ops::SquareRoot;
use std::cmp::Ordering;

/// A closed interval `[lo, hi]·2^-bits` that certainly contains the real number it stands for.
///
/// Every operation rounds its lower end down and its upper end up, so whatever the inputs enclose, the result
/// encloses. Width is a matter of precision; soundness is not.
/// ```
/// use exact::{Interval, ratio};
///
/// // ln 3 with 64 bits after the point, certainly enclosed.
/// let ln_three = Interval::from_integer(3, 64).ln().unwrap();
/// assert!(ln_three.lower() < ln_three.upper());
/// assert!(ln_three.certainly_at_least(&ratio(10_986, 10_000)) && ln_three.certainly_at_most(&ratio(10_987, 10_000)));
/// // There is no logarithm of what may be zero.
/// assert!(Interval::between(&ratio(0, 1), &ratio(1, 1), 64).ln().is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    lo: Integer,
    hi: Integer,
    bits: u32,
}

impl Interval {
    /// From integer ends in units of 2^-bits.
    ///
    /// # Panics
    /// If the ends are out of order.
    pub fn from_ends(lo: Integer, hi: Integer, bits: u32) -> Self {
        assert!(lo <= hi, "interval ends out of order");
        Self { lo, hi, bits }
    }

    /// Encloses a rational with one unit of 2^-bits or less.
    pub fn from_rational(value: &Rational, bits: u32) -> Self {
        let scaled = value.numerator() << bits as usize;
        let denominator = Integer::from(value.denominator().clone());
        Self {
            lo: floor_div(&scaled, &denominator),
            hi: ceil_div(&scaled, &denominator),
            bits,
        }
    }

    /// An integer, exactly.
    pub fn from_integer(value: impl Into<Integer>, bits: u32) -> Self {
        let scaled: Integer = value.into() << bits as usize;
        Self {
            lo: scaled.clone(),
            hi: scaled,
            bits,
        }
    }

    /// Encloses everything between two rationals.
    ///
    /// # Panics
    /// If the ends are out of order.
    pub fn between(lower: &Rational, upper: &Rational, bits: u32) -> Self {
        Self::from_ends(
            Self::from_rational(lower, bits).lo,
            Self::from_rational(upper, bits).hi,
            bits,
        )
    }

    /// How many fractional bits the ends have.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The lower end in units of 2^-bits.
    pub fn lo(&self) -> &Integer {
        &self.lo
    }

    /// The upper end in units of 2^-bits.
    pub fn hi(&self) -> &Integer {
        &self.hi
    }

    /// The lower end.
    pub fn lower(&self) -> Rational {
        Rational::from_parts(self.lo.clone(), Natural::ONE << self.bits as usize)
    }

    /// The upper end.
    pub fn upper(&self) -> Rational {
        Rational::from_parts(self.hi.clone(), Natural::ONE << self.bits as usize)
    }

    /// A float not above the number enclosed.
    pub fn to_f64_down(&self) -> f64 {
        rational::to_f64_down(&self.lower())
    }

    /// A float not below the number enclosed.
    pub fn to_f64_up(&self) -> f64 {
        rational::to_f64_up(&self.upper())
    }

    /// A float near the middle, for display only.
    pub fn to_f64_nearest(&self) -> f64 {
        rational::to_f64_nearest(&((self.lower() + self.upper()) / Rational::from(2u8)))
    }

    /// The same enclosure with other precision, rounded outward.
    pub fn with_bits(&self, bits: u32) -> Self {
        if bits >= self.bits {
            let shift = (bits - self.bits) as usize;
            Self {
                lo: &self.lo << shift,
                hi: &self.hi << shift,
                bits,
            }
        } else {
            let shift = (self.bits - bits) as usize;
            Self {
                lo: shift_floor(&self.lo, shift),
                hi: shift_ceil(&self.hi, shift),
                bits,
            }
        }
    }

    fn same_bits(&self, other: &Self) -> u32 {
        assert_eq!(self.bits, other.bits, "intervals of different precision");
        self.bits
    }

    /// Sum.
    pub fn add(&self, other: &Self) -> Self {
        let bits = self.same_bits(other);
        Self {
            lo: &self.lo + &other.lo,
            hi: &self.hi + &other.hi,
            bits,
        }
    }

    /// Difference.
    pub fn sub(&self, other: &Self) -> Self {
        let bits = self.same_bits(other);
        Self {
            lo: &self.lo - &other.hi,
            hi: &self.hi - &other.lo,
            bits,
        }
    }

    /// Negation.
    pub fn neg(&self) -> Self {
        Self {
            lo: -&self.hi,
            hi: -&self.lo,
            bits: self.bits,
        }
    }

    /// Product.
    pub fn mul(&self, other: &Self) -> Self {
        let bits = self.same_bits(other);
        let shift = bits as usize;
        if self.lo >= Integer::ZERO && other.lo >= Integer::ZERO {
            return Self {
                lo: shift_floor(&(&self.lo * &other.lo), shift),
                hi: shift_ceil(&(&self.hi * &other.hi), shift),
                bits,
            };
        }
        let corners = [
            &self.lo * &other.lo,
            &self.lo * &other.hi,
            &self.hi * &other.lo,
            &self.hi * &other.hi,
        ];
        let lo = corners.iter().min().expect("four corners");
        let hi = corners.iter().max().expect("four corners");
        Self {
            lo: shift_floor(lo, shift),
            hi: shift_ceil(hi, shift),
            bits,
        }
    }

    /// Product with an integer, exact.
    pub fn scale(&self, factor: &Integer) -> Self {
        let (a, b) = (&self.lo * factor, &self.hi * factor);
        if a <= b {
            Self {
                lo: a,
                hi: b,
                bits: self.bits,
            }
        } else {
            Self {
                lo: b,
                hi: a,
                bits: self.bits,
            }
        }
    }

    /// Product with 2^exponent.
    pub fn scale_by_power_of_two(&self, exponent: i32) -> Self {
        if exponent >= 0 {
            let shift = exponent as usize;
            Self {
                lo: &self.lo << shift,
                hi: &self.hi << shift,
                bits: self.bits,
            }
        } else {
            let shift = exponent.unsigned_abs() as usize;
            Self {
                lo: shift_floor(&self.lo, shift),
                hi: shift_ceil(&self.hi, shift),
                bits: self.bits,
            }
        }
    }

    /// Quotient, or `None` when the divisor may be zero.
    pub fn div(&self, other: &Self) -> Option<Self> {
        let bits = self.same_bits(other);
        if other.lo <= Integer::ZERO && other.hi >= Integer::ZERO {
            return None;
        }
        if other.hi < Integer::ZERO {
            return self.neg().div(&other.neg());
        }
        // The divisor is positive, so each end is attained at one of its ends.
        let (low, high) = (&self.lo << bits as usize, &self.hi << bits as usize);
        let lo = floor_div(
            &low,
            if self.lo >= Integer::ZERO {
                &other.hi
            } else {
                &other.lo
            },
        );
        let hi = ceil_div(
            &high,
            if self.hi >= Integer::ZERO {
                &other.lo
            } else {
                &other.hi
            },
        );
        Some(Self { lo, hi, bits })
    }

    /// Quotient by a positive integer.
    ///
    /// # Panics
    /// If the divisor is not positive.
    pub fn div_integer(&self, divisor: &Integer) -> Self {
        assert!(
            *divisor > Integer::ZERO,
            "division by an integer that is not positive"
        );
        Self {
            lo: floor_div(&self.lo, divisor),
            hi: ceil_div(&self.hi, divisor),
            bits: self.bits,
        }
    }

    /// The square; never negative, unlike `mul` with itself when the interval straddles zero.
    pub fn square(&self) -> Self {
        let shift = self.bits as usize;
        let (a, b) = (&self.lo * &self.lo, &self.hi * &self.hi);
        let straddles = self.lo <= Integer::ZERO && self.hi >= Integer::ZERO;
        let (small, large) = if a <= b { (a, b) } else { (b, a) };
        let lo = if straddles {
            Integer::ZERO
        } else {
            shift_floor(&small, shift)
        };
        Self {
            lo,
            hi: shift_ceil(&large, shift),
            bits: self.bits,
        }
    }

    /// The square root of what is not negative; a lower end below zero counts as zero.
    ///
    /// # Panics
    /// If the interval is entirely negative.
    pub fn sqrt(&self) -> Self {
        assert!(self.hi >= Integer::ZERO, "square root of a negative number");
        let shift = self.bits as usize;
        let root = |end: &Integer| -> Natural {
            if *end <= Integer::ZERO {
                return Natural::ZERO;
            }
            let magnitude = Natural::try_from(end.clone()).expect("checked positive");
            (magnitude << shift).sqrt()
        };
        // ⌊√⌋ is a lower end; one more is an upper end whether or not the root was exact.
        Self {
            lo: Integer::from(root(&self.lo)),
            hi: Integer::from(root(&self.hi)) + Integer::ONE,
            bits: self.bits,
        }
    }

    /// The smallest interval that contains both.
    pub fn hull(&self, other: &Self) -> Self {
        let bits = self.same_bits(other);
        Self {
            lo: (&self.lo).min(&other.lo).clone(),
            hi: (&self.hi).max(&other.hi).clone(),
            bits,
        }
    }

    /// Encloses the smaller of the two numbers.
    pub fn min(&self, other: &Self) -> Self {
        let bits = self.same_bits(other);
        Self {
            lo: (&self.lo).min(&other.lo).clone(),
            hi: (&self.hi).min(&other.hi).clone(),
            bits,
        }
    }

    /// Encloses the larger of the two numbers.
    pub fn max(&self, other: &Self) -> Self {
        let bits = self.same_bits(other);
        Self {
            lo: (&self.lo).max(&other.lo).clone(),
            hi: (&self.hi).max(&other.hi).clone(),
            bits,
        }
    }

    /// Whether the number is certainly below, certainly above, or not distinguished from `value` (`None`).
    ///
    /// `Some(Equal)` only when both ends are exactly `value`.
    pub fn compare(&self, value: &Rational) -> Option<Ordering> {
        match (self.lower().cmp(value), self.upper().cmp(value)) {
            (_, Ordering::Less) => Some(Ordering::Less),
            (Ordering::Greater, _) => Some(Ordering::Greater),
            (Ordering::Equal, Ordering::Equal) => Some(Ordering::Equal),
            _ => None,
        }
    }

    /// Whether the number is certainly at most `value`.
    pub fn certainly_at_most(&self, value: &Rational) -> bool {
        self.upper() <= *value
    }

    /// Whether the number is certainly at least `value`.
    pub fn certainly_at_least(&self, value: &Rational) -> bool {
        self.lower() >= *value
    }

    /// Whether a rational lies inside.
    pub fn contains(&self, value: &Rational) -> bool {
        self.lower() <= *value && *value <= self.upper()
    }

    /// Upper end minus lower end, in units of 2^-bits.
    pub fn width(&self) -> Integer {
        &self.hi - &self.lo
    }
}

fn floor_div(numerator: &Integer, denominator: &Integer) -> Integer {
    debug_assert!(*denominator > Integer::ZERO);
    use dashu_int::ops::DivRemEuclid;
    numerator.div_rem_euclid(denominator).0
}

fn ceil_div(numerator: &Integer, denominator: &Integer) -> Integer {
    -floor_div(&-numerator, denominator)
}

fn shift_floor(value: &Integer, shift: usize) -> Integer {
    // `>>` on signed big integers rounds toward minus infinity; the tests below hold it to that.
    value >> shift
}

fn shift_ceil(value: &Integer, shift: usize) -> Integer {
    -(&-value >> shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratio;
    use proptest::prelude::*;

    fn small() -> impl Strategy<Value = Rational> {
        (-1_000_000i64..1_000_000, 1u64..100_000)
            .prop_map(|(numerator, denominator)| ratio(numerator, denominator))
    }

    #[test]
    fn shifts_round_outward() {
        assert_eq!(shift_floor(&Integer::from(-3), 1), Integer::from(-2));
        assert_eq!(shift_ceil(&Integer::from(-3), 1), Integer::from(-1));
        assert_eq!(shift_floor(&Integer::from(3), 1), Integer::from(1));
        assert_eq!(shift_ceil(&Integer::from(3), 1), Integer::from(2));
    }

    proptest! {
        #[test]
        fn operations_enclose_the_exact_result(a in small(), b in small(), bits in 1u32..80) {
            let (x, y) = (Interval::from_rational(&a, bits), Interval::from_rational(&b, bits));
            prop_assert!(x.contains(&a));
            prop_assert!(x.add(&y).contains(&(&a + &b)));
            prop_assert!(x.sub(&y).contains(&(&a - &b)));
            prop_assert!(x.mul(&y).contains(&(&a * &b)));
            prop_assert!(x.square().contains(&(&a * &a)));
            prop_assert!(x.neg().contains(&-a.clone()));
            prop_assert!(x.with_bits(bits / 2).contains(&a));
            prop_assert!(x.scale_by_power_of_two(-3).contains(&(&a / Rational::from(8u8))));
            prop_assert!(x.min(&y).contains((&a).min(&b)));
            prop_assert!(x.max(&y).contains((&a).max(&b)));
            if let Some(quotient) = x.div(&y) {
                prop_assert!(quotient.contains(&(&a / &b)));
            }
            prop_assert!(x.div_integer(&Integer::from(7)).contains(&(&a / Rational::from(7u8))));
        }

        #[test]
        fn roots_enclose(a in small(), bits in 1u32..80) {
            let square = &a * &a;
            let root = Interval::from_rational(&square, bits).sqrt();
            let magnitude = if a < Rational::ZERO { -a } else { a };
            prop_assert!(root.contains(&magnitude));
        }
    }
}
