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
//! # Tensor cores
//!
//! Factors may be rounded to bf16 once, and gradients *are* Σ āₜ ⊗ ḡₜ over rounded ones: the sums of a step and the norms are made of the same numbers, so nothing above needs a and g themselves. What differs:
//!
//! *Sums.* A product of two bf16 has 16 bits and is exact in `f32`. Tensor cores add some of them and an earlier sum in one operation: each is shifted to the largest exponent among them and cut there (Fasi, Higham, Mikaitis
//! and Pranesh 2021 found this on three generations: at least 23 bits are kept behind the leading one of the largest). So each of n summands and the sum lose at most 2^-23 of the largest in magnitude, which is at most
//! Σ|xᵢyᵢ|, and the result is cut to 24 bits, which is 2^-23 once more. In all operations together that is at most (k + 2k/n)·2^-23·Σ|xᵢyᵢ| for k products, at least four an operation: 1.5k·2^-23, which is below θ(k) with
//! [`HALVES`], u = 2^-22. Numbers below the normal ones were made 0 when they were rounded, so no factor is flushed.
//!
//! *Factors that are kept rounded.* A device may keep what products take as bf16 from the moment it is written (`Device::factors`). Then ā and ḡ *are* the numbers that lie there: all products, norms and sums read the same 16 bits, so
//! nothing is rounded a second time, and what follows holds with ā for a. What a product wrote may be below the normal numbers, where our own kernels write 0. Whoever takes such
//! numbers for 0 errs, over up to 2^23 columns, by a vector of length 2^-126·2^11.5 at most, so in ⟨aₜ, aₛ⟩ by at most 2^-114·(A′ₜ + A′ₛ) ≤ 2^-51·θA′ₜA′ₛ, because A′ ≥ √τ = 2^-40 and θ ≥ 2^-22. [`SLACK`] has room for that.
//!
//! *Tiles.* Where both inner products of a pair of steps are made on the chip and each pair is made once, ⟨aₜ, aₛ⟩ stands for ⟨aₛ, aₜ⟩ too. Each errs by what was said above, so the sum over all pairs does. Sums of products start anew after the same number
//! of columns as products of matrices do, and are added to a total in `f32`, so depths are the same.
//!
//! *Weights.* A sum has w·aₜ in place of aₜ, where w is the example's weight, and that is rounded again: each number errs by at most (2^-24 + 2^-9 + 2^-33) of itself, or, where it falls below the normal numbers, by
//! 2^-126. Weights below 2^-50 are taken for 0, so the latter is, over up to 2^23 columns, at most 2^-126·2^11.5 ≤ w·2^-64 ≤ w·2^-20·√τ. So what an example adds is at most w·ω·S away from w·Σ āₜ ⊗ ḡₜ, with ω = [`WEIGHING`] above
//! 2^-9 + 2^-20 + 2^-24 + 2^-33, and at most w·(√N + ω·S) long. Norms are made so: (√N̂ + ω·Ŝ)² is what is added to a sum. Of a table that is both embedding and output layer, E + O with the first exact and the second rounded, the square is
//! (‖E + O‖ + ωS)² ≤ ‖E + O‖² + 2ωS(‖E‖ + ‖O‖) + ω²S², whose terms with O alone are in O's own; 2ωS·‖E‖ ≤ 2ωS·Σ‖eₜ‖ is added with 2⟨E, O⟩, and that product is made of a and g before they were rounded: each errs by 2^-9 < ω
//! of its length at most. Lengths of rows that were not rounded are at most 1 + ω longer, which their factors count. ∎
//!
//! What is added is small where it does not matter: for 20 steps of 1,000 columns about 1e-4 of the square at most on a processor and 3e-3 on a GPU, and half of that of the norm. Since it never vanishes, a clip norm may be
//! as small as one likes: the clipped gradient is at most as long, and how small a clip norm is of use shows in the norms that an adaptive clip norm counts, which are these. With rounded factors ω·Ŝ is what counts: a five
//! hundredth of the norm where all steps of an example pull the same way, and √T times that where T of them pull in unrelated ways: 3 % for 256.

/// Added to each computed squared length: see the proof above.
pub(crate) const TINY: f64 = 1.0 / (1u128 << 79) as f64;

/// For the arithmetic of the bounds themselves.
const SLACK: f64 = 1.0 + 1.0 / (1 << 20) as f64;

/// Sums of products of bf16 on tensor cores.
pub(crate) const HALVES: Rounding = Rounding::new(1.0 / (1u32 << 22) as f64);

/// ω: what rounding a factor to bf16 adds once it is weighted, in parts of Ŝ.
pub(crate) const WEIGHING: f64 = (1.0 + 1.0 / 128.0) / 512.0;

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
