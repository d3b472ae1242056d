//! Cutting a gradient to the clipping norm C: in floats, by a factor, or in integers on the grid.

use super::plan::GRID_BITS;
#[cfg(doc)]
use crate::model::Model;
use device::Scalar;

/// The length C in grid steps.
pub(super) const LENGTH: i64 = 1 << GRID_BITS;

/// What is set aside of C where floats are added: for the rounding of clip factors, and of what is multiplied by them.
const MARGIN: f64 = 1.0 / 1024.0;

/// +1 or −1.
pub(super) fn sign(yes: bool) -> i64 {
    if yes { 1 } else { -1 }
}

/// min(1, C/‖g‖) less the margin; 0 where the gradient is not finite, and where its square is below 0, which no norm is.
///
/// # Privacy
///
/// Claim: factor·‖g‖ ≤ C, for the gradient g = Σₜ aₜ ⊗ gₜ of the numbers that a pass left behind, computed without any rounding.
/// Proof: `squared_norm` ≥ ‖g‖², which is what [`Model::squared_norms`] promises (the proof is in `rounding.rs` of the crate `device`), so C/√squared_norm ≤ C/‖g‖. The root, the quotient and the product err
/// by less than 2^-50 of themselves together, the factor as `f32` by 2^-24, and the margin is 2^-10. ∎
/// So the clip norm may be as small as one likes, also where an adaptive one falls: what the bound adds to a square never vanishes, and a unit is cut to C all the same. It also counts as longer than it is, so an adaptive
/// clip norm comes to rest where the bounds are, or above.
pub(super) fn clip_factor(squared_norm: f64, clip: f64) -> f64 {
    if !(squared_norm.is_finite() && squared_norm >= 0.0) {
        return 0.0;
    }
    (clip / squared_norm.sqrt()).min(1.0) * (1.0 - MARGIN)
}

/// 1.5·2^52: a number below 2^51 in magnitude, added to it, is rounded to an integer, ties to even, and that integer is in the low bits of the sum. One addition, where a call of a rounding function
/// for each number would take longer than all the rest.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// Cuts a gradient to length C and puts it on the grid, and says whether it was short enough. Whatever the floats did, Σ point² ≤ (2^30)² when this returns, checked in integers; a gradient that is
/// not finite is 0.
pub(super) fn cut_to_grid<S: Scalar>(gradient: &[S], clip: f64, points: &mut Vec<i32>) -> bool {
    let square = float_square(gradient);
    if !square.is_finite() || square <= 0.0 {
        points.clear();
        points.resize(gradient.len(), 0);
        return square == 0.0;
    }
    let norm = square.sqrt();
    // C·2^30/‖g‖ steps a unit of gradient, or 2^30/C where it is short enough.
    let mut scale = LENGTH as f64 / norm.max(clip);
    loop {
        points.clear();
        // The low bits of the sum are the integer, since it is below 2^31.
        let point = |value: &S| (value.to_f64() * scale + ROUNDER).to_bits() as i32;
        points.extend(gradient.iter().map(point));
        let square = squared_length(points);
        if square <= (LENGTH as u128) * (LENGTH as u128) {
            return norm <= clip;
        }
        // Rounding to the grid made it too long: by at most √d/2 steps, unless floats misbehave; then it shrinks until it fits, and ends at 0.
        let over = square as f64 / (LENGTH as f64 * LENGTH as f64);
        scale *= (1.0 - 1e-9) / over.sqrt();
    }
}

/// Σ value², in floats, in several sums at a time.
pub(super) fn float_square<S: Scalar>(values: &[S]) -> f64 {
    let mut sums = [0.0f64; 8];
    let mut groups = values.chunks_exact(8);
    for group in &mut groups {
        for (sum, value) in sums.iter_mut().zip(group) {
            *sum += value.to_f64() * value.to_f64();
        }
    }
    let rest: f64 = groups
        .remainder()
        .iter()
        .map(|value| value.to_f64() * value.to_f64())
        .sum();
    sums.iter().sum::<f64>() + rest
}

/// Σ point², exactly.
fn squared_length(points: &[i32]) -> u128 {
    // A square is at most 2^62; its halves are summed apart, and 2^32 of them fit a u64.
    let (mut low, mut high) = (0u64, 0u64);
    for point in points {
        let magnitude = u64::from(point.unsigned_abs());
        let square = magnitude * magnitude;
        low += square & 0xffff_ffff;
        high += square >> 32;
    }
    u128::from(low) + (u128::from(high) << 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOST: u128 = (LENGTH as u128) * (LENGTH as u128);

    #[test]
    fn directions_survive() {
        let mut points = Vec::new();
        assert!(!cut_to_grid(&[3.0f32, 4.0], 1.0, &mut points));
        let close = |point: i32, real: f64| (f64::from(point) - real * LENGTH as f64).abs() < 4.0;
        assert!(close(points[0], 0.6) && close(points[1], 0.8), "{points:?}");
        assert!(cut_to_grid(&[0.3f32, 0.4], 1.0, &mut points));
        assert!(close(points[0], f64::from(0.3f32)) && close(points[1], f64::from(0.4f32)));
        assert_eq!(clip_factor(f64::NAN, 1.0), 0.0);
        assert_eq!(clip_factor(f64::INFINITY, 1.0), 0.0);
        assert_eq!(
            clip_factor(-1e-9, 1.0),
            0.0,
            "a square that cannot be is not taken for 0"
        );
        assert!(clip_factor(0.0, 1.0) <= 1.0 && clip_factor(1e-40, 1.0) > 0.99);
        assert!(clip_factor(4.0, 1.0) < 0.5 && clip_factor(4.0, 1.0) > 0.499);
    }

    /// Adding or removing a unit moves an exact sum by what the unit adds, so this is its sensitivity.
    #[test]
    fn adversarial_gradients_stay_within_c() {
        let mut points = Vec::new();
        let tiny = f32::from_bits(1);
        let many = |value: f32, count: usize| vec![value; count];
        // Each coordinate just above half a step: rounding up makes the longest excess.
        let half = (0.500_001 / LENGTH as f64) as f32;
        for gradient in [
            many(half, 1 << 16),
            many(1.0, 1 << 16),
            many(f32::MAX, 100),
            many(tiny, 1000),
            vec![f32::NAN, 1.0],
            vec![f32::INFINITY, 1.0],
            vec![f32::MAX, tiny, -f32::MAX],
            vec![1.0, half, half, half],
            Vec::new(),
        ] {
            for clip in [1e-20, 0.1, 1.0, 3.7, 1e20] {
                cut_to_grid(&gradient, clip, &mut points);
                assert_eq!(points.len(), gradient.len());
                assert!(squared_length(&points) <= MOST);
            }
        }
        cut_to_grid(&[f32::NAN, 1.0], 1.0, &mut points);
        assert_eq!(points, [0, 0], "a gradient that is no number is none");
    }

    proptest! {
        #[test]
        fn no_gradient_is_longer_than_c(
            gradient in prop::collection::vec(prop::num::f32::ANY, 0..40),
            clip in 1e-10f64..1e10,
        ) {
            let mut points = Vec::new();
            cut_to_grid(&gradient, clip, &mut points);
            prop_assert!(squared_length(&points) <= MOST);
            let by_hand: u128 = points.iter().map(|point| u128::from(point.unsigned_abs()).pow(2)).sum();
            prop_assert_eq!(by_hand, squared_length(&points));
        }
    }
}
