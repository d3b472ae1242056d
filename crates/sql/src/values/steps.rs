//! Which grid a bounded number is put on.

use crate::Error;
use crate::values::facts::{Kind, Range};
use noise::Grid;

/// One unit's contribution to one group is at most 2³⁰ steps, so that the sum over 2³² units fits an `i64` with room.
const MOST_STEPS: f64 = MOST_STEPS_WHOLE as f64;
const MOST_STEPS_WHOLE: i128 = 1 << 30;

/// Floats are cut into this many steps: finer than any noise that protects them.
const FLOAT_STEPS: f64 = (1u64 << 24) as f64;

/// A power-of-two grid on which a bounded number becomes an integer of modest size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Steps {
    exponent: i32,
}

impl Steps {
    /// log₂ of the smallest step of floats. A smaller one would not be a normal float, nor would its inverse.
    pub(crate) const FINEST: i32 = -900;

    /// For numbers in `range`, of which one unit may contribute `times`.
    pub(crate) fn holding(range: Range, kind: Kind, times: u64) -> Result<Self, Error> {
        let largest = range.low.abs().max(range.high.abs()) * times as f64;
        let too_wide = || {
            Error::refused(
                "these bounds, times the rows that may count, are too far apart for a sum",
                "declare tighter bounds, or a smaller limit of rows",
            )
        };
        if largest.is_nan() || largest >= 1e250 {
            return Err(too_wide());
        }
        if largest == 0.0 {
            return Ok(Self { exponent: 0 });
        }
        let magnitude = |steps: f64| (largest / steps).log2().ceil() as i32;
        let exponent = match kind {
            Kind::Int => magnitude(MOST_STEPS).max(0),
            _ => magnitude(FLOAT_STEPS).max(Self::FINEST),
        };
        Ok(Self { exponent })
    }

    /// By how many bits a grid has to be coarser for a contribution of this many of its steps to be of modest size.
    pub(crate) fn bits_over(contribution: i128) -> u32 {
        (0..i128::BITS)
            .find(|bits| contribution.abs() >> bits < MOST_STEPS_WHOLE)
            .unwrap_or(i128::BITS)
    }

    /// Steps of 2^exponent.
    pub(crate) fn of(exponent: i32) -> Self {
        Self { exponent }
    }

    /// Whole numbers.
    pub(crate) fn ones() -> Self {
        Self { exponent: 0 }
    }

    /// log₂ of the step.
    pub(crate) fn exponent(self) -> i32 {
        self.exponent
    }

    /// The step.
    pub(crate) fn size(self) -> f64 {
        2f64.powi(self.exponent)
    }

    /// The grid.
    pub(crate) fn grid(self) -> Grid {
        Grid::new(self.exponent)
    }

    /// The nearest step, upwards in the middle; as the engine rounds.
    pub(crate) fn round(self, value: f64) -> i64 {
        (value / self.size() + 0.5).floor() as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(low: f64, high: f64, kind: Kind, times: u64) -> Steps {
        Steps::holding(Range::new(low, high).unwrap(), kind, times).unwrap()
    }

    #[test]
    fn small_integers_are_their_own_steps() {
        assert_eq!(steps(-1.0, 60.0, Kind::Int, 1).exponent(), 0);
        assert_eq!(steps(0.0, 1e12, Kind::Int, 1).exponent(), 10);
        assert_eq!(steps(0.0, 0.0, Kind::Int, 1).exponent(), 0);
    }

    #[test]
    fn a_contribution_that_is_too_large_wants_a_coarser_grid() {
        for (contribution, bits) in [
            (0, 0),
            ((1 << 30) - 1, 0),
            (1 << 30, 1),
            (-(1 << 34), 5),
            (1 << 94, 65),
        ] {
            assert_eq!(Steps::bits_over(contribution), bits, "{contribution}");
        }
    }

    #[test]
    fn contributions_stay_small() {
        for high in [1e-300, 0.1, 1.0, 3.7, 1e6, 1e200] {
            for times in [1, 7, 1000] {
                for kind in [Kind::Int, Kind::Float] {
                    let steps = steps(-high, high, kind, times);
                    let most = steps.round(high) as f64 * times as f64;
                    assert!(most <= MOST_STEPS + times as f64, "{high} {times} {kind}");
                }
            }
        }
        assert!(Steps::holding(Range::new(0.0, 1e250).unwrap(), Kind::Float, 10).is_err());
    }
}
