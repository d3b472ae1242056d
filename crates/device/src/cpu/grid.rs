//! To a grid of whole numbers and back.

use crate::Scalar;

/// The nearest whole number, ties to even. Beyond 4.6e18, where no sum of clipped gradients gets, it saturates; what is not a number is 0.
fn on_grid(steps: f64) -> i64 {
    steps.round_ties_even().clamp(-4.6e18, 4.6e18) as i64
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

pub(super) fn add_on_grid<S: Scalar>(scale: f64, unit: f64, integers: &[i64], values: &mut [S]) {
    for (value, integer) in values.iter_mut().zip(integers) {
        let sum = on_grid(value.to_f64() * scale).wrapping_add(*integer);
        *value = S::from_f64(sum as f64 * unit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_the_nearest() {
        let values = [0.5f32, 1.5, -0.5, 0.26, f32::NAN, f32::INFINITY, -1e30];
        let mut integers = [9; 7];
        to_grid(1.0, &values, &mut integers);
        assert_eq!(
            integers,
            [
                0,
                2,
                0,
                0,
                0,
                4_600_000_000_000_000_000,
                -4_600_000_000_000_000_000
            ]
        );
        to_grid(4.0, &values[..4], &mut integers[..4]);
        assert_eq!(integers[..4], [2, 6, -2, 1]);
    }

    #[test]
    fn adding_at_once_is_going_there_and_back() {
        let values = [0.3f32, -7.25, 1e-9, f32::NAN];
        let noise = [5, -3, 1 << 40, 2];
        let (scale, unit) = (f64::from(1 << 20), 1.0 / f64::from(1 << 20));
        let mut integers = [0; 4];
        to_grid(scale, &values, &mut integers);
        integers
            .iter_mut()
            .zip(noise)
            .for_each(|(integer, noise)| *integer += noise);
        let (mut there, mut at_once) = ([0.0f32; 4], values);
        from_grid(unit, &integers, &mut there);
        add_on_grid(scale, unit, &noise, &mut at_once);
        assert_eq!(there, at_once);
    }
}
