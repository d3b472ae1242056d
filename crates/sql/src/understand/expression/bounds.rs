//! Interval arithmetic on floats: where results lie when their inputs lie where they should.
//!
//! Results of float arithmetic are rounded to nearest, which is monotone, so the ends of an interval may be computed with the same operations. Results of
//! integer arithmetic are exact, so there the ends are moved outwards by one float whenever they had to be rounded.

use crate::Range;

/// An interval whose ends may be infinite, which means that nothing is known on that side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// Which arithmetic the results are computed in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Arithmetic {
    Integer,
    Float,
}

impl Bounds {
    pub(super) const UNKNOWN: Self = Self {
        low: f64::NEG_INFINITY,
        high: f64::INFINITY,
    };

    pub(super) fn new(low: f64, high: f64) -> Self {
        // A NaN means that the ends cancelled: nothing is known.
        if low <= high {
            Self { low, high }
        } else {
            Self::UNKNOWN
        }
    }

    /// The tightest floats around an integer.
    pub(super) fn integer(value: i64) -> Self {
        let nearest = value as f64;
        let rounded = nearest as i128;
        let value = i128::from(value);
        Self {
            low: if rounded > value {
                nearest.next_down()
            } else {
                nearest
            },
            high: if rounded < value {
                nearest.next_up()
            } else {
                nearest
            },
        }
    }

    pub(super) fn of(range: Option<Range>) -> Self {
        range.map_or(Self::UNKNOWN, |range| Self {
            low: range.low,
            high: range.high,
        })
    }

    pub(super) fn range(self) -> Option<Range> {
        Range::new(self.low, self.high)
    }

    /// Whether both ends are known and no larger than `limit`.
    pub(super) fn within(self, limit: f64) -> bool {
        -limit <= self.low && self.high <= limit
    }

    pub(super) fn hull(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    pub(super) fn negate(self) -> Self {
        Self {
            low: -self.high,
            high: -self.low,
        }
    }

    pub(super) fn absolute(self) -> Self {
        if self.low >= 0.0 {
            self
        } else if self.high <= 0.0 {
            self.negate()
        } else {
            Self::new(0.0, self.high.max(-self.low))
        }
    }

    pub(super) fn add(self, other: Self, arithmetic: Arithmetic) -> Self {
        let (low, low_error) = sum(self.low, other.low);
        let (high, high_error) = sum(self.high, other.high);
        outwards(low, low_error, high, high_error, arithmetic)
    }

    pub(super) fn subtract(self, other: Self, arithmetic: Arithmetic) -> Self {
        self.add(other.negate(), arithmetic)
    }

    pub(super) fn multiply(self, other: Self, arithmetic: Arithmetic) -> Self {
        let corners = [
            (self.low, other.low),
            (self.low, other.high),
            (self.high, other.low),
            (self.high, other.high),
        ];
        let mut bounds: Option<Self> = None;
        for (left, right) in corners {
            let (product, error) = product(left, right);
            let corner = outwards(product, error, product, error, arithmetic);
            bounds = Some(bounds.map_or(corner, |bounds| bounds.hull(corner)));
        }
        bounds.unwrap_or(Self::UNKNOWN)
    }

    /// Division, where zero divided by is NULL. Whole divisors are then at least one in size; of others that may come close to zero nothing is known.
    pub(super) fn divide(self, other: Self, whole_divisor: bool, arithmetic: Arithmetic) -> Self {
        let parts = if other.low > 0.0 || other.high < 0.0 {
            vec![other]
        } else if whole_divisor {
            let above = (other.high >= 1.0).then_some((1.0, other.high));
            let below = (other.low <= -1.0).then_some((other.low, -1.0));
            let ends = above.into_iter().chain(below);
            ends.map(|(low, high)| Self::new(low, high)).collect()
        } else {
            return Self::UNKNOWN;
        };
        if parts.is_empty() {
            // Zero is all that the divisor can be, so there is never a result.
            return Self::new(0.0, 0.0);
        }
        let mut hull: Option<Self> = None;
        for part in parts {
            for dividend in [self.low, self.high] {
                for divisor in [part.low, part.high] {
                    let (quotient, error) = quotient(dividend, divisor);
                    let corner = match arithmetic {
                        // A whole quotient is cut towards zero, which never falls either.
                        Arithmetic::Integer => {
                            outwards(quotient, error, quotient, error, arithmetic).rising(f64::trunc)
                        }
                        Arithmetic::Float => Self::new(quotient, quotient),
                    };
                    hull = Some(hull.map_or(corner, |hull| hull.hull(corner)));
                }
            }
        }
        hull.unwrap_or(Self::UNKNOWN)
    }

    /// A remainder has the sign of the dividend, and is smaller than the divisor and no larger than the dividend.
    pub(super) fn remainder(self, other: Self) -> Self {
        let divisor = other.absolute().high;
        Self {
            low: if self.low >= 0.0 {
                0.0
            } else {
                self.low.max(-divisor)
            },
            high: if self.high <= 0.0 {
                0.0
            } else {
                self.high.min(divisor)
            },
        }
    }

    /// The image under a function that never falls. Ends that are not known stay so.
    pub(super) fn rising(self, function: impl Fn(f64) -> f64) -> Self {
        let apply = |end: f64| if end.is_finite() { function(end) } else { end };
        Self::new(apply(self.low), apply(self.high))
    }

    /// Moves both ends outwards, for functions whose last bits are not certain.
    pub(super) fn widened(self, relative: f64, absolute: f64) -> Self {
        let slack = |end: f64| {
            if end.is_finite() {
                end.abs() * relative + absolute
            } else {
                0.0
            }
        };
        Self::new(self.low - slack(self.low), self.high + slack(self.high))
    }
}

fn outwards(low: f64, low_error: f64, high: f64, high_error: f64, arithmetic: Arithmetic) -> Bounds {
    match arithmetic {
        Arithmetic::Float => Bounds::new(low, high),
        Arithmetic::Integer => Bounds::new(
            if low_error < 0.0 { low.next_down() } else { low },
            if high_error > 0.0 { high.next_up() } else { high },
        ),
    }
}

/// The rounded sum, and what rounding lost (Knuth's two-sum).
fn sum(left: f64, right: f64) -> (f64, f64) {
    let rounded = left + right;
    if !rounded.is_finite() {
        return (rounded, 0.0);
    }
    let other = rounded - left;
    (rounded, (left - (rounded - other)) + (right - other))
}

/// The rounded quotient, and the sign of what rounding lost. NaN, which means that nothing is known, for an unknown dividend and an unknown divisor.
fn quotient(left: f64, right: f64) -> (f64, f64) {
    let rounded = left / right;
    if !rounded.is_finite() || !right.is_finite() {
        return (rounded, 0.0);
    }
    (rounded, (-rounded).mul_add(right, left) * right.signum())
}

/// The rounded product, and what rounding lost. Zero times the unknown is zero.
fn product(left: f64, right: f64) -> (f64, f64) {
    if left == 0.0 || right == 0.0 {
        return (0.0, 0.0);
    }
    let rounded = left * right;
    if !rounded.is_finite() {
        return (rounded, 0.0);
    }
    (rounded, left.mul_add(right, -rounded))
}
