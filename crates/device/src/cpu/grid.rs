//! To a grid of whole numbers and back.

use crate::Scalar;

/// 1.5·2^52: a number below 2^51 in magnitude, added to it, is rounded to an integer, ties to even, and that integer is in the low bits of the sum. One addition, where a call of a rounding function
/// for each number would take longer than all the rest.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// The nearest whole number, ties to even; 0 for what is no number. Cut at 2^50, which no sum of clipped gradients reaches.
fn on_grid(steps: f64) -> i64 {
    let most = (1u64 << 50) as f64;
    let steps = if steps.is_nan() {
        0.0
    } else {
        steps.clamp(-most, most)
    };
    (steps + ROUNDER).to_bits() as i64 - ROUNDER.to_bits() as i64
}

pub(super) fn to_grid<S: Scalar>(scale: f64, values: &[S], integers: &mut [i64]) {
    for (integer, value) in integers.iter_mut().zip(values) {
        *integer = on_grid(value.to_f64() * scale);
    }
}

pub(super) fn from_grid<S: Scalar>(unit: f64, integers: &[i64], values: &mut [S]) {
    for (value, integer) in values.iter_mut().zip(integers) {
        *value = S::from_f64(*integer as f64 * unit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_to_the_nearest() {
        for (value, point) in [
            (0.0, 0),
            (0.5, 0),
            (1.5, 2),
            (-1.5, -2),
            (-0.4, 0),
            (1e12 + 0.7, 1_000_000_000_001),
            (-7.6, -8),
            (f64::NAN, 0),
            (f64::INFINITY, 1 << 50),
            (f64::NEG_INFINITY, -(1 << 50)),
        ] {
            assert_eq!(on_grid(value), point, "{value}");
        }
    }

    #[test]
    fn to_the_grid_and_back() {
        let values = [0.5f32, 1.5, -0.5, 0.26, f32::NAN];
        let mut integers = [9; 5];
        to_grid(4.0, &values, &mut integers);
        assert_eq!(integers, [2, 6, -2, 1, 0]);
        let mut back = [7.0f32; 5];
        from_grid(0.25, &integers, &mut back);
        assert_eq!(back, [0.5, 1.5, -0.5, 0.25, 0.0]);
    }
}
