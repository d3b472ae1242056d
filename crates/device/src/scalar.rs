//! Numbers, and the functions of them that training spends its time in.

use crate::cpu::Multiply;
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// A number that a device computes with: `f32` or `f64`.
pub trait Scalar:
    Multiply
    + Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + 'static
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The largest relative error of one operation.
    const ROUNDING: f64;
    /// Rounded to this type.
    fn from_f64(value: f64) -> Self;
    /// Without loss.
    fn to_f64(self) -> f64;
    /// e to this power. In `f32`: relative error at most 3e-7 between −87.3 and 88.3; saturates outside; not a number stays so.
    fn exp(self) -> Self;
    /// In `f32`: relative error at most 5e-7.
    fn tanh(self) -> Self;
    /// Rounded as IEEE 754 says.
    fn sqrt(self) -> Self;
    /// self·factor + term, in one operation where the processor has one and in two where not.
    fn fused<const FUSED: bool>(self, factor: Self, term: Self) -> Self;

    /// 1 / (1 + e^−x). In `f32`: relative error at most 5e-7 where x ≥ −87.
    #[inline(always)]
    fn sigmoid(self) -> Self {
        Self::ONE / (Self::ONE + (-self).exp())
    }
}

impl Scalar for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const ROUNDING: f64 = 0.5 * f32::EPSILON as f64;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    // Without branches and calls, so that loops over it become vector instructions: e^x = 2^n·e^r with n = round(x/ln 2) and |r| ≤ ½ ln 2.
    #[inline(always)]
    fn exp(self) -> Self {
        // Comparisons are false for what is not a number, so that it passes through.
        let low = if self < -87.3 { -87.3 } else { self };
        let x = if low > 88.3 { 88.3 } else { low };
        // Adding 1.5·2^23 rounds to an integer, which is then in the lowest bits.
        let shifted = x * std::f32::consts::LOG2_E + 12_582_912.0;
        let n = shifted - 12_582_912.0;
        // ln 2 in two parts, of which the first times n is exact.
        let r = (x - n * 0.693_359_4) - n * -2.121_944_4e-4;
        // (e^r − 1 − r)/r² interpolated at Chebyshev points.
        let tail = 0.5 + r * (0.166_665_77 + r * (0.041_666_556 + r * (0.008_363_179 + r * 0.001_392_618_4)));
        let scale = f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000));
        (1.0 + (r + r * r * tail)) * scale
    }

    #[inline(always)]
    fn tanh(self) -> Self {
        let magnitude = self.abs();
        let square = self * self;
        // Near 0, where the other formula cancels: (tanh x/x − 1)/x² interpolated at Chebyshev points of x² ≤ 0.625².
        let tail = -0.333_333_34
            + square
                * (0.133_333_03
                    + square
                        * (-0.053_959_26
                            + square
                                * (0.021_768_919 + square * (-0.008_343_945 + square * 0.002_292_744_8))));
        let near = self + self * square * tail;
        let far = (1.0 - 2.0 / (Scalar::exp(magnitude + magnitude) + 1.0)).copysign(self);
        // So that what is not a number takes the polynomial.
        if magnitude > 0.625 { far } else { near }
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        f32::sqrt(self)
    }

    #[inline(always)]
    fn fused<const FUSED: bool>(self, factor: Self, term: Self) -> Self {
        if FUSED {
            self.mul_add(factor, term)
        } else {
            self * factor + term
        }
    }
}

// For tests: the functions of the standard library.
impl Scalar for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const ROUNDING: f64 = 0.5 * f64::EPSILON;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    fn exp(self) -> Self {
        f64::exp(self)
    }

    fn tanh(self) -> Self {
        f64::tanh(self)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }

    #[inline(always)]
    fn fused<const FUSED: bool>(self, factor: Self, term: Self) -> Self {
        if FUSED {
            self.mul_add(factor, term)
        } else {
            self * factor + term
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worst(low: f64, high: f64, ours: fn(f32) -> f32, truth: fn(f64) -> f64) -> f64 {
        let count = 400_000;
        (0..=count)
            .map(|i| (low + (high - low) * f64::from(i) / f64::from(count)) as f32)
            .map(|x| ((f64::from(ours(x)) - truth(f64::from(x))) / truth(f64::from(x))).abs())
            .filter(|error| !error.is_nan())
            .fold(0.0, f64::max)
    }

    #[test]
    fn functions_are_as_close_as_stated() {
        assert!(worst(-87.3, 88.3, Scalar::exp, f64::exp) < 3e-7);
        assert!(worst(-1.0, 1.0, Scalar::exp, f64::exp) < 3e-7);
        for reach in [0.01, 1.0, 20.0] {
            assert!(worst(-reach, reach, Scalar::tanh, f64::tanh) < 5e-7, "{reach}");
        }
        assert!(worst(-87.0, 30.0, |x| x.sigmoid(), |x| 1.0 / (1.0 + (-x).exp())) < 5e-7);
    }

    #[test]
    fn functions_saturate_and_keep_what_is_not_a_number() {
        assert!(Scalar::exp(f32::NEG_INFINITY) < 2e-38);
        assert!(Scalar::exp(f32::INFINITY) > 1e38);
        assert_eq!(Scalar::tanh(f32::INFINITY), 1.0);
        assert_eq!(Scalar::tanh(-100.0f32), -1.0);
        assert_eq!(Scalar::tanh(0.0f32), 0.0);
        assert_eq!(100.0f32.sigmoid(), 1.0);
        assert!((-200.0f32).sigmoid() < 1e-37);
        assert!(
            Scalar::exp(f32::NAN).is_nan() && Scalar::tanh(f32::NAN).is_nan() && f32::NAN.sigmoid().is_nan()
        );
    }
}
