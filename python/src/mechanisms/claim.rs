//! Numbers that the caller computed, on the grid, with what one unit can change about them.

use super::input::Numbers;
use super::noise::Norm;
use exact::{Integer, Interval, Rational, floor_log2};
use mechanism::{Error, Sensitivity};
use noise::Grid;

/// Of a sum of numbers that are each put on the grid, this many bits below its sensitivity: a billion
/// roundings add up to half a sensitivity at most, and eight billion summands fit.
const SUM_BITS: i32 = 30;
/// The samplers draw noise of up to 2^50 steps.
const NOISE_BITS: i32 = 49;
/// A range of reals is looked at in about this many points, as a power of two.
const RANGE_BITS: i32 = 20;

/// What the caller states: in this norm, one unit moves the numbers by at most this much, in so many of them.
pub(crate) struct Claim {
    pub(crate) sensitivity: Rational,
    pub(crate) norm: Norm,
    /// `None` if it may move all of them.
    pub(crate) coordinates: Option<u64>,
}

/// Numbers on a grid.
pub(crate) struct OnGrid {
    pub(crate) steps: Vec<i64>,
    pub(crate) sensitivity: Sensitivity,
    pub(crate) grid: Grid,
    /// Whether they were rounded on the way.
    pub(crate) rounded: bool,
}

impl Claim {
    /// Puts the numbers on a grid that suits noise of this scale, in multiples of the sensitivity.
    ///
    /// Whole numbers are on the integers already. Others are rounded: |round(x) − round(y)| ≤ |x − y|/step +
    /// 1 in each of the k coordinates that differ, and nothing in the others. The rounding errors are a
    /// vector whose ℓ₁ norm is at most k, whose ℓ₂ norm at most √k and whose ℓ∞ norm at most 1, which the
    /// triangle inequality adds to the sensitivity. The grid is so fine that this is less than a thousandth.
    pub(crate) fn put(&self, numbers: Numbers, scale: &Rational) -> Result<OnGrid, Error> {
        if self.sensitivity <= Rational::ZERO {
            return Err(Error::BadSensitivity);
        }
        // The length is public, and no more coordinates than there are can move.
        let length = (numbers.len() as u64).max(1);
        let coordinates = self.coordinates.unwrap_or(length).min(length);
        if coordinates == 0 {
            return Err(Error::BadSensitivity);
        }
        match numbers {
            Numbers::Whole(steps) => Ok(OnGrid {
                steps,
                sensitivity: self.norms(coordinates, self.sensitivity.clone())?,
                grid: Grid::new(0),
                rounded: false,
            }),
            Numbers::Real(values) => {
                let roundings = match self.norm {
                    Norm::One => Rational::from(coordinates),
                    Norm::Two => Rational::from(root_up(coordinates)),
                    Norm::Infinity => Rational::ONE,
                };
                let grid = Grid::for_noise(&(scale * &self.sensitivity), &(&self.sensitivity / &roundings));
                let moved = &self.sensitivity / grid.step() + roundings;
                Ok(OnGrid {
                    steps: values.into_iter().map(|value| grid.round(value)).collect(),
                    sensitivity: self.norms(coordinates, Rational::from(moved.ceil()))?,
                    grid,
                    rounded: true,
                })
            }
        }
    }

    /// All norms that follow from the one that is stated, in grid steps. No coordinate moves by more than the
    /// norm, whichever it is.
    fn norms(&self, coordinates: u64, moved: Rational) -> Result<Sensitivity, Error> {
        let loose = Sensitivity::vector(coordinates, moved.clone())?;
        let square = &moved * &moved;
        match self.norm {
            Norm::One => loose.with_norms(&moved, &square),
            Norm::Two => {
                let sum = loose.l1().clone();
                loose.with_norms(&sum, &square)
            }
            Norm::Infinity => Ok(loose),
        }
    }
}

/// ⌈√n⌉.
fn root_up(number: u64) -> Integer {
    Interval::sqrt_of(&Rational::from(number), 64).upper().ceil()
}

/// The grid of a sum whose summands are each put on it, for noise of this scale: the integers where
/// everything is whole.
pub(crate) fn grid_of_sum(whole: bool, sensitivity: &Rational, scale: &Rational) -> Grid {
    if whole || sensitivity.is_zero() {
        return Grid::new(0);
    }
    let fine = floor_log2(sensitivity) - SUM_BITS;
    let coarse = floor_log2(&(sensitivity * scale)) - NOISE_BITS;
    Grid::new(fine.max(coarse))
}

/// The grid of answers in a range of this width: the integers where everything is whole, and otherwise about
/// a million points, or steps of at most `resolution`.
pub(crate) fn grid_of_range(whole: bool, width: &Rational, resolution: Option<&Rational>) -> Grid {
    match resolution {
        Some(resolution) if *resolution > Rational::ZERO => Grid::new(floor_log2(resolution)),
        _ if whole || width.is_zero() => Grid::new(0),
        _ => Grid::new(floor_log2(width) - RANGE_BITS),
    }
}
