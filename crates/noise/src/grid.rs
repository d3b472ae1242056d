use exact::{Integer, Natural, Rational, floor_log2, power_of_two};

/// The grid 2^k·Z that carries real values as integers.
///
/// Floating-point sums depend on their order and their rounding on the data; integers on a grid do neither. A value is rounded
/// to the grid once, summed and noised as an integer, and turned back into a float at the very end, which is post-processing.
/// ```
/// use exact::ratio;
/// use noise::Grid;
///
/// // Quarters.
/// let grid = Grid::new(-2);
/// assert_eq!(grid.step(), ratio(1, 4));
/// assert_eq!((grid.round(0.3), grid.value(1)), (1, 0.25));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    exponent: i32,
}

/// A step is at most the noise scale, and at most the sensitivity, over 2^this.
const FINENESS: i32 = 11;

impl Grid {
    /// The grid of multiples of 2^exponent.
    pub fn new(exponent: i32) -> Self {
        // Beyond these a step or its reciprocal is no float.
        Self {
            exponent: exponent.clamp(-1000, 1000),
        }
    }

    /// The coarsest grid that costs under 0.1 % in error.
    ///
    /// Rounding adds at most one step to a sensitivity Δ (see [`Grid::sensitivity`]), a factor of 1 + 2^-11 in the noise. The rounding itself adds
    /// a variance of at most step²/4 ≤ scale²·2^-24 to a noise variance of at least scale². Together under 0.05 %.
    ///
    /// # Panics
    /// If either is not positive.
    pub fn for_noise(scale: &Rational, sensitivity: &Rational) -> Self {
        Self::new(floor_log2(scale.min(sensitivity)) - FINENESS)
    }

    /// k, where a step is 2^k.
    pub fn exponent(self) -> i32 {
        self.exponent
    }

    /// One step.
    pub fn step(self) -> Rational {
        power_of_two(self.exponent)
    }

    /// The nearest grid point, in steps. Total: NaN counts as zero, and what is too large for `i64` becomes the nearest that is not.
    ///
    /// Division by a power of two is exact unless it underflows (then the value rounds to zero anyway) or overflows (then it is cut anyway), and
    /// `round` is exact, so this is the mathematical rounding of the float that is given.
    pub fn round(self, value: f64) -> i64 {
        // `as` sends NaN to zero and cuts at the ends.
        (value / step_f64(self.exponent)).round() as i64
    }

    /// The float nearest to a grid point.
    pub fn value(self, steps: i64) -> f64 {
        steps as f64 * step_f64(self.exponent)
    }

    /// What a sensitivity of `real` becomes on the grid, in steps, when `roundings` of the coordinates are rounded after they were computed:
    /// |round(x) − round(y)| ≤ |x − y|/step + 1 in each of them.
    pub fn sensitivity(self, real: &Rational, roundings: u64) -> Natural {
        let steps = (real / self.step()).ceil() + Integer::from(roundings);
        Natural::try_from(steps).expect("sensitivities are not negative")
    }

    /// A real scale, in steps.
    pub fn scale(self, real: &Rational) -> Rational {
        real / self.step()
    }
}

fn step_f64(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exact::{from_f64, ratio, to_f64_nearest};
    use proptest::prelude::*;

    #[test]
    fn steps_are_fine_enough() {
        for (scale, sensitivity) in [
            (ratio(10, 1), ratio(1, 1)),
            (ratio(1, 10), ratio(1, 1)),
            (ratio(1, 3), ratio(100, 7)),
        ] {
            let grid = Grid::for_noise(&scale, &sensitivity);
            let inflated = Rational::from(grid.sensitivity(&sensitivity, 1)) * grid.step();
            assert!(inflated / &sensitivity < ratio(1001, 1000));
            assert!(grid.step() * Rational::from(2048u32) <= scale);
        }
    }

    #[test]
    fn rounding_is_total() {
        let grid = Grid::new(-3);
        assert_eq!(grid.round(f64::NAN), 0);
        assert_eq!(grid.round(f64::INFINITY), i64::MAX);
        assert_eq!(grid.round(f64::NEG_INFINITY), i64::MIN);
        assert_eq!(grid.round(1e300), i64::MAX);
        assert_eq!(Grid::new(900).round(5e-324), 0);
        assert_eq!(Grid::new(-900).round(1.0), i64::MAX);
    }

    proptest! {
        #[test]
        fn rounding_is_to_the_nearest_step(value in -1e9f64..1e9, exponent in -20i32..20) {
            let grid = Grid::new(exponent);
            let rounded = Rational::from(grid.round(value)) * grid.step();
            let distance = from_f64(value).unwrap() - rounded;
            let distance = distance.clone() * distance.signum();
            prop_assert!(distance <= grid.step() / Rational::from(2u8));
        }

        #[test]
        fn rounding_moves_neighbours_as_stated(x in -1e6f64..1e6, y in -1e6f64..1e6, exponent in -20i32..5) {
            let grid = Grid::new(exponent);
            let apart = from_f64(x).unwrap() - from_f64(y).unwrap();
            let apart = apart.clone() * apart.signum();
            let moved = grid.round(x).abs_diff(grid.round(y));
            prop_assert!(Natural::from(moved) <= grid.sensitivity(&apart, 1));
        }

        #[test]
        fn grid_points_return(steps in -(1i64 << 52)..(1i64 << 52), exponent in -60i32..60) {
            let grid = Grid::new(exponent);
            prop_assert_eq!(grid.round(grid.value(steps)), steps);
            prop_assert_eq!(to_f64_nearest(&(Rational::from(steps) * grid.step())), grid.value(steps));
        }
    }
}
