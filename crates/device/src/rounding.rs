//! How far norms that are computed in floats may be below the norms themselves, and what is added so that they never are.
//!
//! A squared norm decides how much of an example's gradient is kept. It is a sum of products of inner products, and where the gradients of an example's steps
//! nearly cancel, rounding errors are as large as the steps and not as the sum: the computed square may be far too small, or below 0. So every kernel for norms adds a bound on its own
//! error, computed from the lengths of the steps. What it then adds to a sum is **never less than the squared norm** of the gradient that its rows stand for, as a real number.
//!
//! # Proof
//!
//! Let u be the largest relative error of one operation (2^-24 in `f32`), and θ(k) = ku/(1 − ku).
//!
//! *Inner products.* A sum of products that is made in any order, with or without fused operations, in which no summand passes more than k roundings (its own product among them), errs by at most θ(k)·Σ|xᵢyᵢ|
//! (Higham 2002, section 3.1), and Σ|xᵢyᵢ| ≤ ‖x‖‖y‖ by Cauchy and Schwarz. Results below the normal numbers err by at most 2^-126 an operation besides, also where they are flushed to 0: for up to 2^23
//! columns by e ≤ 2·2^23·2^-126 = 2^-102 together. With [`TINY`] = 2τ = 2^-79 and θ ≥ 2^-22 (k ≥ 4 in all kernels) that is at most θτ. Let A′ₜ² = ‖aₜ‖² + τ; then |computed ⟨aₜ,aₛ⟩ − ⟨aₜ,aₛ⟩| ≤ θ‖aₜ‖‖aₛ‖ + θτ ≤ θA′ₜA′ₛ, again by Cauchy and
//! Schwarz. For a step with itself: the computed lₜ of ‖aₜ‖² has ‖aₜ‖² ≤ (lₜ + e)/(1 − θ), so A′ₜ² ≤ (lₜ + 2τ)/(1 − θ). A constant 1 that is added to ⟨aₜ,aₛ⟩ (a bias) is one more column.
//!
//! *Pairs.* The square is N = Σₜₛ Lₜₛ·Rₜₛ with inner products L of inputs and R of gradients, computed as L̂ and R̂ with depths k and m. With S = Σₜ A′ₜB′ₜ,
//! |ΣL̂R̂ − N| ≤ Σ|L̂ − L||R̂| + |L||R̂ − R| ≤ (θ(k) + θ(m) + θ(k)θ(m))·S². Adding up in `f64`, with n operations on the way of any summand, errs by at most
//! n·2^-53·(1 + θ(k))(1 + θ(m))·S² more. So N ≤ computed + φ·Ŝ² where Ŝ = Σₜ √((lₜ + 2τ)(rₜ + 2τ)) is made of computed lengths, S² ≤ Ŝ²/((1 − θ(k))(1 − θ(m))), and φ is [`Rounding::pairs`]. Pairs of a subset
//! (equal tokens), and single factors that are not inner products (logits), are the same sum with fewer terms.
//!
//! *Products.* Where P = Σₜ aₜ ⊗ gₜ itself is computed, entry by entry with depth k, ‖P̂ − P‖ ≤ θ(k)·S, so ‖P‖ ≤ ‖P̂‖ + ψ·Ŝ with [`Rounding::products`].
//!
//! *Squares.* A sum of squares errs by at most θ(k) of itself: [`Rounding::squares`].
//!
//! Ŝ is itself computed in `f64` (or of lengths in `f32` with two more roundings, which its depth counts): less than 2^-25 of it, for up to 2^25 steps. The factor [`SLACK`] is for that and for the arithmetic of these
//! factors. Not finite stays not finite, and what is not finite has weight 0. ∎
//!
//! What is added is small where it does not matter: for 20 steps of 1,000 columns about 1e-4 of the square at most on a processor and 3e-3 on a GPU, and half of that of the norm. Since it never vanishes, a clip norm may be
//! as small as one likes: the clipped gradient is at most as long, and how small a clip norm is of use shows in the norms that an adaptive clip norm counts, which are these.

/// Added to each computed squared length: see the proof above.
pub(crate) const TINY: f64 = 1.0 / (1u128 << 79) as f64;

/// For the arithmetic of the bounds themselves.
const SLACK: f64 = 1.0 + 1.0 / (1 << 20) as f64;

/// Of `f64`, in which everything is added up.
const DOUBLE: f64 = f64::EPSILON / 2.0;

/// Operations in `f64` on the way of a summand beyond those of its own kernel: the sums of other layers.
const LAYERS: f64 = 1024.0;

/// How the operations of a device round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounding {
    /// The largest relative error of one operation.
    unit: f64,
}

impl Rounding {
    pub(crate) const fn new(unit: f64) -> Self {
        Self { unit }
    }

    /// θ(k); infinite where it is no bound any more.
    fn theta(self, depth: usize) -> f64 {
        let part = depth as f64 * self.unit;
        if part < 0.25 {
            part / (1.0 - part)
        } else {
            f64::INFINITY
        }
    }

    /// φ: what is added, in parts of Ŝ², to a sum of products of inner products of these depths, of which `steps`² are added up in any order.
    pub(crate) fn pairs(self, left: usize, right: usize, steps: usize) -> f64 {
        let (left, right) = (self.theta(left), self.theta(right));
        let adding = (LAYERS + (steps as f64).powi(2)) * DOUBLE;
        let error = left + right + left * right + adding * (1.0 + left) * (1.0 + right);
        finite(error / ((1.0 - left) * (1.0 - right)) * SLACK)
    }

    /// ψ: what is added, in parts of Ŝ, to the norm of a sum of products of this depth; Ŝ is made of lengths whose squares have the depth `lengths`.
    pub(crate) fn products(self, depth: usize, lengths: usize) -> f64 {
        finite(self.theta(depth) / (1.0 - self.theta(lengths)) * SLACK)
    }

    /// The factor that a computed sum of squares is at most short of: sums of this depth, of which this many are added up.
    pub(crate) fn squares(self, depth: usize, sums: usize) -> f64 {
        let (theta, adding) = (self.theta(depth), (LAYERS + sums as f64) * DOUBLE);
        1.0 + finite((theta + adding) / (1.0 - theta) * SLACK)
    }
}

/// Where depths are beyond what a bound holds for (θ is infinite, and a factor infinite, −0 or not a number), nothing is known of a norm: it is infinite, and the weight 0.
fn finite(factor: f64) -> f64 {
    if factor.is_finite() && factor.is_sign_positive() {
        factor
    } else {
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_small_and_end_where_they_do_not_hold() {
        let single = Rounding::new(2f64.powi(-24));
        assert!(single.pairs(70, 12, 20) < 6e-6 && single.pairs(70, 12, 20) > 82.0 * 2f64.powi(-24));
        assert!(single.products(20, 10) < 1.3e-6 && single.products(20, 10) > 20.0 * 2f64.powi(-24));
        assert!(single.squares(20, 9) < 1.000_01 && single.squares(20, 9) > 1.0 + 20.0 * 2f64.powi(-24));
        for deep in [1 << 23, 1 << 24, usize::MAX] {
            assert_eq!(single.pairs(deep, 5, 1), f64::INFINITY);
            assert_eq!(single.pairs(5, deep, 1), f64::INFINITY);
            assert_eq!(single.products(deep, 5), f64::INFINITY);
            assert_eq!(single.products(5, deep), f64::INFINITY);
            assert_eq!(single.squares(deep, 1), f64::INFINITY);
        }
    }
}
