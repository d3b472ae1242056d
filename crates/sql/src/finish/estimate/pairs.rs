//! Covariances, correlations and lines, from noisy sums.
//!
//! Intervals are those of the sums carried through the formula by interval arithmetic. With m sums each interval holds with probability 1 − (1 − c)/m, so by the union bound all of
//! them hold with probability c, and then so does what is computed of them: no approximation is involved.

use super::{Reader, Reading};
use crate::understand::aggregates::Pairs;
use crate::understand::aggregation::{Moment, Moments};

/// A value and where it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Certain {
    value: f64,
    low: f64,
    high: f64,
}

impl Certain {
    fn new(value: f64, ends: [f64; 4]) -> Self {
        Self {
            value,
            low: ends.iter().copied().fold(f64::INFINITY, f64::min),
            high: ends.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    fn exactly(value: f64) -> Self {
        Self {
            value,
            low: value,
            high: value,
        }
    }

    fn add(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            low: self.low + other.low,
            high: self.high + other.high,
        }
    }

    fn subtract(self, other: Self) -> Self {
        Self {
            value: self.value - other.value,
            low: self.low - other.high,
            high: self.high - other.low,
        }
    }

    fn times(self, other: Self) -> Self {
        let ends = [
            self.low * other.low,
            self.low * other.high,
            self.high * other.low,
            self.high * other.high,
        ];
        Self::new(self.value * other.value, ends)
    }

    /// By something that lies above zero.
    fn over(self, other: Self) -> Self {
        let ends = [
            self.low / other.low,
            self.low / other.high,
            self.high / other.low,
            self.high / other.high,
        ];
        Self::new(self.value / other.value, ends)
    }

    fn squared(self) -> Self {
        let ends = (self.low * self.low, self.high * self.high);
        let least = if self.low <= 0.0 && self.high >= 0.0 {
            0.0
        } else {
            ends.0.min(ends.1)
        };
        Self {
            value: self.value * self.value,
            low: least,
            high: ends.0.max(ends.1),
        }
    }

    /// What cannot be below zero, is not.
    fn not_below_zero(self) -> Self {
        self.within(0.0, f64::INFINITY)
    }

    fn within(self, low: f64, high: f64) -> Self {
        Self {
            value: self.value.clamp(low, high),
            low: self.low.clamp(low, high),
            high: self.high.clamp(low, high),
        }
    }

    fn root(self) -> Self {
        Self {
            value: self.value.sqrt(),
            low: self.low.sqrt(),
            high: self.high.sqrt(),
        }
    }

    fn reading(self) -> Reading {
        let interval = self.low.is_finite() && self.high.is_finite();
        (
            self.value.is_finite().then_some(self.value),
            interval.then_some((self.low, self.high)),
        )
    }
}

/// Reads an aggregate of pairs.
pub(super) fn read(
    reader: &Reader<'_>,
    function: Pairs,
    moments: &Moments,
    group: usize,
    confidence: f64,
) -> Reading {
    let parts = moments.places().len() as f64;
    let sure = 1.0 - (1.0 - confidence) / parts;
    let (count, half) = reader.number(moments.count, group, sure);
    let rows = Certain {
        value: count,
        low: count - half,
        high: count + half,
    };
    if function == Pairs::Count {
        return rows.reading();
    }
    if rows.value < 1.0 {
        return (None, limits(function));
    }
    // Where there may be hardly any rows, nothing is known of averages.
    let known = rows.low >= 1.0;
    let average = |moment: Option<Moment>| {
        let moment = moment?;
        let (sum, half) = reader.number(moment.sum, group, sure);
        let sum = Certain {
            value: sum,
            low: sum - half,
            high: sum + half,
        };
        let average = match known {
            true => sum.over(rows),
            false => Certain {
                value: sum.value / rows.value,
                low: f64::NEG_INFINITY,
                high: f64::INFINITY,
            },
        };
        Some(average.add(Certain::exactly(moment.centre)))
    };
    let found = compute(function, moments, rows, average);
    match found {
        Some(found) if known => {
            let (value, interval) = found.reading();
            (value, interval.or(limits(function)))
        }
        Some(found) => (found.reading().0, limits(function)),
        None => (None, limits(function)),
    }
}

/// Where a result lies whatever the data are.
fn limits(function: Pairs) -> Option<(f64, f64)> {
    match function {
        Pairs::Correlation => Some((-1.0, 1.0)),
        Pairs::Determination => Some((0.0, 1.0)),
        _ => None,
    }
}

fn compute(
    function: Pairs,
    moments: &Moments,
    rows: Certain,
    average: impl Fn(Option<Moment>) -> Option<Certain>,
) -> Option<Certain> {
    let x = || average(moments.x);
    let y = || average(moments.y);
    // E[(x − m)²] − E[x − m]², and the like for products: the middle m drops out.
    let variance_x = || Some(average(moments.xx)?.subtract(x()?.squared()).not_below_zero());
    let variance_y = || Some(average(moments.yy)?.subtract(y()?.squared()).not_below_zero());
    let covariance = || Some(average(moments.xy)?.subtract(x()?.times(y()?)));
    let slope = || {
        let (covariance, variance) = (covariance()?, variance_x()?);
        if variance.value <= 0.0 {
            return None;
        }
        let slope = covariance.over(variance);
        // Where x may not vary at all, the slope may be anything.
        Some(match variance.low > 0.0 {
            true => slope,
            false => Certain {
                low: f64::NEG_INFINITY,
                high: f64::INFINITY,
                ..slope
            },
        })
    };
    let correlation = || {
        let spread = variance_x()?.times(variance_y()?).root();
        if spread.value <= 0.0 {
            return None;
        }
        let correlation = covariance()?.over(spread);
        let correlation = match spread.low > 0.0 {
            true => correlation,
            false => Certain {
                low: -1.0,
                high: 1.0,
                ..correlation
            },
        };
        Some(correlation.within(-1.0, 1.0))
    };
    match function {
        Pairs::Count => Some(rows),
        Pairs::AverageX => Some(x()?.add(Certain::exactly(moments.middle_x))),
        Pairs::AverageY => Some(y()?.add(Certain::exactly(moments.middle_y))),
        Pairs::SquaresX => Some(variance_x()?.times(rows)),
        Pairs::SquaresY => Some(variance_y()?.times(rows)),
        Pairs::Products => Some(covariance()?.times(rows)),
        Pairs::Covariance { sample: false } => covariance(),
        Pairs::Covariance { sample: true } => {
            let less = rows.subtract(Certain::exactly(1.0));
            if less.value <= 0.0 {
                return None;
            }
            let scale = rows.over(less);
            // n / (n − 1) falls with n.
            let scale = Certain {
                value: scale.value,
                low: rows.high / less.high,
                high: if less.low > 0.0 {
                    rows.low / less.low
                } else {
                    f64::INFINITY
                },
            };
            Some(covariance()?.times(scale))
        }
        Pairs::Correlation => correlation(),
        Pairs::Determination => Some(correlation()?.squared()),
        Pairs::Slope => slope(),
        Pairs::Intercept => {
            let (x, y) = (
                x()?.add(Certain::exactly(moments.middle_x)),
                y()?.add(Certain::exactly(moments.middle_y)),
            );
            Some(y.subtract(slope()?.times(x)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(value: f64, half: f64) -> Certain {
        Certain {
            value,
            low: value - half,
            high: value + half,
        }
    }

    #[test]
    fn intervals_hold_all_that_their_parts_allow() {
        let (a, b) = (within(2.0, 1.0), within(-1.0, 2.0));
        for (x, y) in [(1.0, -3.0), (3.0, -3.0), (1.0, 1.0), (3.0, 1.0), (2.0, 0.0)] {
            let holds = |whole: Certain, value: f64| whole.low <= value && value <= whole.high;
            assert!(holds(a.add(b), x + y) && holds(a.subtract(b), x - y));
            assert!(holds(a.times(b), x * y) && holds(b.over(a), y / x));
            assert!(holds(b.squared(), y * y) && holds(a.root(), f64::sqrt(x)));
        }
        assert_eq!(b.squared().low, 0.0);
    }
}
