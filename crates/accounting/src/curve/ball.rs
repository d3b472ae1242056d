//! Floating-point numbers that know how wrong they may be.
//!
//! A [`Ball`] is the set of reals within `radius` of `middle`. Every operation returns a ball that contains the true result for
//! every choice of arguments in the argument balls: the exact propagated distance, plus the rounding of the middle, with the radius
//! itself computed a little too large. What cannot be bounded has an infinite radius, so a wrong answer cannot look like a right one.
//!
//! # What is assumed
//! IEEE 754 double precision, and that the functions of the crate `libm` (the same code on every machine) err by less than two units
//! in the last place; their authors state less than one. `tests` compares them with certified intervals of the crate `exact`.

use exact::Rational;
use std::ops::{Add, Mul, Neg, Sub};

/// Half a unit in the last place: the relative error of one rounded operation.
const ROUNDING: f64 = f64::EPSILON / 2.0;
/// Two units in the last place, for a function of `libm`.
const FUNCTION: f64 = 2.0 * f64::EPSILON;
/// Added where a result may have underflowed; far below anything that matters, far above what underflow loses.
const TINY: f64 = 1e-300;

/// A radius in which every angle is, up to full turns.
const ANY_DIRECTION: f64 = 4.0;

/// Slightly more than `radius`, whose computation took at most a dozen rounded operations on numbers that are not negative.
fn above(radius: f64) -> f64 {
    radius * (1.0 + 16.0 * f64::EPSILON)
}

/// Slightly less than a positive `value` that took at most a few rounded operations.
fn below(value: f64) -> f64 {
    value * (1.0 - 16.0 * f64::EPSILON)
}

/// A real number, known up to `radius`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ball {
    pub(crate) middle: f64,
    pub(crate) radius: f64,
}

impl Ball {
    pub(crate) const ZERO: Self = Self::exact(0.0);
    pub(crate) const ONE: Self = Self::exact(1.0);

    /// A float, which is exactly itself.
    pub(crate) const fn exact(value: f64) -> Self {
        Self {
            middle: value,
            radius: 0.0,
        }
    }

    /// A ball around a rational.
    pub(crate) fn from_rational(value: &Rational) -> Self {
        let (low, high) = (exact::to_f64_down(value), exact::to_f64_up(value));
        Self::new(low, high - low)
    }

    /// π.
    pub(crate) fn pi() -> Self {
        Self::new(std::f64::consts::PI, f64::EPSILON)
    }

    fn new(middle: f64, radius: f64) -> Self {
        if middle.is_finite() && radius.is_finite() {
            Self { middle, radius }
        } else {
            Self {
                middle: 0.0,
                radius: f64::INFINITY,
            }
        }
    }

    /// `middle` after one rounded operation, `distance` from the truth before it was rounded.
    fn rounded(middle: f64, distance: f64) -> Self {
        Self::new(middle, above(distance + middle.abs() * ROUNDING))
    }

    /// `middle` as `libm` gave it.
    fn computed(middle: f64, distance: f64) -> Self {
        Self::new(middle, above(distance + middle.abs() * FUNCTION) + TINY)
    }

    /// Certainly at least the number.
    pub(crate) fn upper(self) -> f64 {
        (self.middle + self.radius).next_up()
    }

    /// Certainly at most the number.
    pub(crate) fn lower(self) -> f64 {
        (self.middle - self.radius).next_down()
    }

    /// The number, with more doubt.
    pub(crate) fn widened(self, radius: f64) -> Self {
        Self::new(self.middle, above(self.radius + radius))
    }

    /// Certainly at least the absolute value.
    pub(crate) fn magnitude(self) -> f64 {
        (self.middle.abs() + self.radius).next_up()
    }

    pub(crate) fn is_finite(self) -> bool {
        self.radius.is_finite()
    }

    pub(crate) fn square(self) -> Self {
        let distance = self.radius * (2.0 * self.middle.abs() + self.radius);
        let square = Self::rounded(self.middle * self.middle, distance);
        Self::new(square.middle, square.radius + TINY)
    }

    /// The quotient; infinitely uncertain when the divisor may be zero.
    pub(crate) fn over(self, divisor: Self) -> Self {
        // With a = a₀ ± r and b = b₀ ± s: |a/b − a₀/b₀| ≤ (r + |a₀/b₀|·s)/(|b₀| − s).
        let distance = divisor.middle.abs() - divisor.radius;
        if distance <= 0.0 {
            return Self::new(f64::NAN, 0.0);
        }
        let middle = self.middle / divisor.middle;
        let spread = above(self.radius + above(middle.abs()) * divisor.radius) / below(distance);
        let quotient = Self::rounded(middle, spread);
        Self::new(quotient.middle, quotient.radius + TINY)
    }

    pub(crate) fn sqrt(self) -> Self {
        let lowest = self.middle - self.radius;
        if lowest < 0.0 || self.middle == 0.0 {
            return Self::new(f64::NAN, 0.0);
        }
        // √a − √b = (a − b)/(√a + √b).
        let root = self.middle.sqrt();
        Self::rounded(root, self.radius / below(root))
    }

    pub(crate) fn exp(self) -> Self {
        if self.radius > 1.0 {
            // Anything between 0 and the largest.
            let largest = libm::exp(self.upper()) * (1.0 + 2.0 * FUNCTION) + TINY;
            return Self::new(0.5 * largest, above(0.5 * largest));
        }
        let value = libm::exp(self.middle);
        Self::computed(value, self.grown(value))
    }

    /// How far e^x moves from `value`, its computed middle, over a radius r ≤ 1: e^r − 1 ≤ r(1 + r).
    fn grown(self, value: f64) -> f64 {
        (value * 1.001 + TINY) * self.radius * (1.0 + self.radius)
    }

    /// e^x − 1, to relative precision near 0.
    pub(crate) fn exp_m1(self) -> Self {
        if self.radius > 1.0 {
            return self.exp() - Self::ONE;
        }
        let distance = if self.radius == 0.0 {
            0.0
        } else {
            self.grown(libm::exp(self.middle))
        };
        Self::computed(libm::expm1(self.middle), distance)
    }

    /// ln(1 + x), to relative precision near 0.
    pub(crate) fn ln_1p(self) -> Self {
        // Two roundings of numbers up to 1, which matter when the sum is close to 0.
        let lowest = 1.0 + (self.middle - self.radius) - f64::EPSILON;
        if lowest <= 1e-300 || lowest.is_nan() {
            return Self::new(f64::NAN, 0.0);
        }
        let steepest = below(lowest);
        Self::computed(libm::log1p(self.middle), self.radius / steepest)
    }

    pub(crate) fn ln(self) -> Self {
        let lowest = self.middle - self.radius;
        if lowest <= 0.0 {
            return Self::new(f64::NAN, 0.0);
        }
        Self::computed(libm::log(self.middle), self.radius / below(lowest))
    }

    /// Sine and cosine. Both are 1-Lipschitz, and within 1 of zero.
    pub(crate) fn sin_cos(self) -> (Self, Self) {
        if self.radius > 1.5 {
            let anything = Self::new(0.0, 1.0);
            return (anything, anything);
        }
        let (sine, cosine) = libm::sincos(self.middle);
        (
            Self::computed(sine, self.radius),
            Self::computed(cosine, self.radius),
        )
    }

    /// P[N(0, 1) > x].
    ///
    /// The density falls away from 0, so over the ball it is at most that at its end nearest to 0. `erfc` is allowed eight units
    /// in the last place.
    pub(crate) fn normal_tail(self) -> Self {
        let nearest = (self.middle.abs() - self.radius).max(0.0);
        let steepest = 0.4 * libm::exp(-nearest * nearest / 2.0);
        // x/√2 is rounded twice, which moves the tail like a radius of 2⁻⁵²|x| would.
        let moved = self.radius + 2.0 * f64::EPSILON * self.middle.abs();
        let value = 0.5 * libm::erfc(self.middle * std::f64::consts::FRAC_1_SQRT_2);
        Self::computed(value, above(moved * steepest * 1.001 + 8.0 * FUNCTION * value))
    }

    /// P[x < N(0, 1) < x + width], to relative precision for narrow intervals.
    pub(crate) fn normal_mass(self, width: Self) -> Self {
        let middle = self + width * Self::exact(0.5);
        let size = (middle.magnitude() + 3.0) * width.magnitude();
        if size < 0.1 {
            // φ(m)·w·(1 + He₂(m)w²/24 + He₄(m)w⁴/1920 + He₆(m)w⁶/322560), He the Hermite polynomials, by Taylor's formula about the
            // middle; the rest is at most sup|He₈φ|·w⁹/92897280, and |He₈φ| ≤ 2(|m|+3)⁸·φ(m) so close to m.
            let (square, wide) = (middle.square(), width.square());
            let density = (-(square * Self::exact(0.5)))
                .exp()
                .over((Self::exact(2.0) * Self::pi()).sqrt());
            let number = Self::exact;
            let fourth = square * (square - number(6.0)) + number(3.0);
            let sixth = square * (square * (square - number(15.0)) + number(45.0)) - number(15.0);
            let series = Self::ONE
                + wide
                    * ((square - Self::ONE).over(number(24.0))
                        + wide * (fourth.over(number(1920.0)) + wide * sixth.over(number(322_560.0))));
            return density * width * series.widened(size.powi(8) / 4.6e7);
        }
        let end = self + width;
        if self.middle > 0.0 {
            self.normal_tail() - end.normal_tail()
        } else if end.middle < 0.0 {
            (-end).normal_tail() - (-self).normal_tail()
        } else {
            Self::ONE - (-self).normal_tail() - end.normal_tail()
        }
    }

    /// e^x − 1 − x, to relative precision near 0.
    pub(crate) fn exp_m1_less(self) -> Self {
        self.less_from(self.exp_m1())
    }

    /// The same, when e^x − 1 is at hand.
    fn less_from(self, exp_m1: Self) -> Self {
        if self.magnitude() > 0.5 {
            return exp_m1 - self;
        }
        // x²·Σ x^n/(n+2)! for n < 14; the rest is below x²·0.5^14/16!·1.1 < x²·3.3e-18.
        let series = horner(&EXPONENTIAL_TAIL, self);
        self.square() * series.widened(3.3e-18)
    }

    /// x − sin x, to relative precision near 0.
    pub(crate) fn less_sine(self, sine: Self) -> Self {
        if self.magnitude() > 0.5 {
            return self - sine;
        }
        // x³·Σ (−1)^n x^(2n)/(2n+3)! for n < 6; the rest alternates and is below x³·0.5^12/15! < x³·1.9e-16.
        let square = self.square();
        let series = horner(&SINE_TAIL, square);
        self * square * series.widened(1.9e-16)
    }
}

/// 1/(n+2)! for n = 0, 1, ….
const EXPONENTIAL_TAIL: [f64; 14] = [
    1.0 / 2.0,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5040.0,
    1.0 / 40320.0,
    1.0 / 362_880.0,
    1.0 / 3_628_800.0,
    1.0 / 39_916_800.0,
    1.0 / 479_001_600.0,
    1.0 / 6_227_020_800.0,
    1.0 / 87_178_291_200.0,
    1.0 / 1_307_674_368_000.0,
];

/// (−1)^n/(2n+3)! for n = 0, 1, ….
const SINE_TAIL: [f64; 6] = [
    1.0 / 6.0,
    -1.0 / 120.0,
    1.0 / 5040.0,
    -1.0 / 362_880.0,
    1.0 / 39_916_800.0,
    -1.0 / 6_227_020_800.0,
];

/// The polynomial with these coefficients, each of which may be off by half a unit, at |x| ≤ 1/2.
///
/// One error bound for the whole instead of one at each step: with |x| ≤ 1/2 and coefficients that at least halve, Horner's scheme
/// on n coefficients errs by at most 3n·2⁻⁵³·Σ|aᵢ||x|ⁱ ≤ 3n·2⁻⁵³·2|a₀|, and moves by at most 4|a₀|·r when x moves by r.
fn horner(coefficients: &[f64], x: Ball) -> Ball {
    let value = coefficients
        .iter()
        .rev()
        .fold(0.0, |sum, next| sum * x.middle + next);
    let first = coefficients[0].abs();
    let rounding = 6.0 * coefficients.len() as f64 * ROUNDING * first;
    Ball::new(value, above(rounding + 4.0 * first * x.radius))
}

impl Add for Ball {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::rounded(self.middle + other.middle, self.radius + other.radius)
    }
}

impl Sub for Ball {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self::rounded(self.middle - other.middle, self.radius + other.radius)
    }
}

impl Neg for Ball {
    type Output = Self;

    fn neg(self) -> Self {
        Self {
            middle: -self.middle,
            radius: self.radius,
        }
    }
}

impl Mul for Ball {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let distance = self.middle.abs() * other.radius + self.radius * (other.middle.abs() + other.radius);
        let product = Self::rounded(self.middle * other.middle, distance);
        Self {
            middle: product.middle,
            radius: product.radius + TINY,
        }
    }
}

impl std::iter::Sum for Ball {
    fn sum<I: Iterator<Item = Self>>(balls: I) -> Self {
        balls.fold(Self::ZERO, Add::add)
    }
}

/// A complex number in a rectangle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Complex {
    pub(crate) re: Ball,
    pub(crate) im: Ball,
}

impl Complex {
    pub(crate) const ZERO: Self = Self {
        re: Ball::ZERO,
        im: Ball::ZERO,
    };
    pub(crate) const ONE: Self = Self {
        re: Ball::ONE,
        im: Ball::ZERO,
    };

    pub(crate) fn new(re: Ball, im: Ball) -> Self {
        Self { re, im }
    }

    /// The point `re` + i·`im`, exactly.
    pub(crate) fn at(re: f64, im: f64) -> Self {
        Self::new(Ball::exact(re), Ball::exact(im))
    }

    pub(crate) fn is_finite(self) -> bool {
        self.re.is_finite() && self.im.is_finite()
    }

    pub(crate) fn scale(self, factor: Ball) -> Self {
        Self::new(self.re * factor, self.im * factor)
    }

    /// The number, with more doubt in each direction.
    pub(crate) fn widened(self, radius: f64) -> Self {
        Self::new(self.re.widened(radius), self.im.widened(radius))
    }

    pub(crate) fn over(self, divisor: Self) -> Self {
        let square = divisor.re.square() + divisor.im.square();
        let re = self.re * divisor.re + self.im * divisor.im;
        let im = self.im * divisor.re - self.re * divisor.im;
        Self::new(re.over(square), im.over(square))
    }

    pub(crate) fn exp(self) -> Self {
        let size = self.re.exp();
        let (sine, cosine) = self.im.sin_cos();
        Self::new(size * cosine, size * sine)
    }

    /// e^w − 1 − w, to relative precision near 0.
    ///
    /// With w = a + ib: the real part is (e^a − 1 − a) − 2e^a·sin²(b/2), the imaginary part (e^a − 1)·sin b − (b − sin b).
    pub(crate) fn exp_m1_less(self) -> Self {
        let half = self.im * Ball::exact(0.5);
        let (sine_half, cosine_half) = half.sin_cos();
        let two = Ball::exact(2.0);
        let sine = two * sine_half * cosine_half;
        let grown = self.re.exp_m1();
        let re = self.re.less_from(grown) - two * (grown + Ball::ONE) * sine_half.square();
        let im = grown * sine - self.im.less_sine(sine);
        Self::new(re, im)
    }

    /// A logarithm of 1 + w: the real part to relative precision near 0, the imaginary part up to a multiple of 2π.
    ///
    /// Where 1 + w may be 0, the real part is the logarithm of the largest possible size and the direction is open, so that its
    /// exponential is the disc that 1 + w is in.
    pub(crate) fn ln_1p(self) -> Self {
        let half = Ball::exact(0.5);
        let shifted = self.re + Ball::ONE;
        let (x, y) = (shifted.middle, self.im.middle);
        let size = libm::hypot(x, y);
        // The direction of a point moves by at most arcsin(d/|w|) ≤ (π/2)·d/|w| when the point moves by d < |w|.
        let moved = above(shifted.radius + self.im.radius);
        if moved.is_nan() || moved >= 0.5 * size {
            let largest = (shifted.square() + self.im.square()).upper();
            return Self::new(half * Ball::exact(largest).ln(), Ball::new(0.0, ANY_DIRECTION));
        }
        let angle = Ball::computed(libm::atan2(y, x), 1.6 * moved / below(size));
        let size = if size > 0.5 {
            (Ball::exact(2.0) * self.re + self.re.square() + self.im.square()).ln_1p()
        } else {
            (shifted.square() + self.im.square()).ln()
        };
        Self::new(half * size, angle)
    }
}

impl Add for Complex {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(self.re + other.re, self.im + other.im)
    }
}

impl Sub for Complex {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self::new(self.re - other.re, self.im - other.im)
    }
}

impl Neg for Complex {
    type Output = Self;

    fn neg(self) -> Self {
        Self::new(-self.re, -self.im)
    }
}

impl Mul for Complex {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self::new(
            self.re * other.re - self.im * other.im,
            self.re * other.im + self.im * other.re,
        )
    }
}
