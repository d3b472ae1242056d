//! From zero-concentrated differential privacy to (ε, δ).

use crate::{Delta, Epsilon, Error, Rho};
use exact::{Interval, Rational, from_f64, ratio, to_f64_nearest};

/// An ε such that every ρ-zCDP mechanism is (ε, δ)-DP, rounded up.
///
/// Canonne, Kamath and Steinke 2020, Corollary 13: for every α > 1 it suffices that
/// δ ≥ e^((α−1)(αρ−ε))/(α−1)·(1−1/α)^α, that is, ε ≥ αρ + (ln(1/δ) − ln(α−1) + α·ln(1−1/α))/(α−1).
///
/// # Errors
/// When δ = 0 and ρ > 0, since no finite ε holds then, or when ε is out of range.
pub fn epsilon_of_concentrated(rho: &Rho, delta: &Delta) -> Result<Epsilon, Error> {
    if *rho == Rho::ZERO {
        return Ok(Epsilon::ZERO);
    }
    if *delta == Delta::ZERO {
        return Err(Error::NeedsDelta);
    }
    // Any α gives a valid ε, so floats may choose it: a bad choice costs tightness, never truth.
    let beta = best_order_minus_one(to_f64_nearest(rho.as_rational()), delta);
    let alpha = &beta + Rational::ONE;
    let bits = 128 + exact::floor_log2(&beta).unsigned_abs();
    let logarithm = |value: &Rational| Interval::ln_of(value, bits);
    let alpha_enclosed = Interval::from_rational(&alpha, bits);
    let sum = logarithm(delta.as_rational())
        .neg()
        .sub(&logarithm(&beta))
        .add(&alpha_enclosed.mul(&logarithm(&(&beta / &alpha))));
    let divided = sum
        .div(&Interval::from_rational(&beta, bits))
        .ok_or(Error::Undecided { what: "ε of ρ" })?;
    Epsilon::at_least(&divided.add(&Interval::from_rational(&(&alpha * rho.as_rational()), bits)))
}

/// The α − 1 near which ε is smallest, by golden-section search over its logarithm.
fn best_order_minus_one(rho: f64, delta: &Delta) -> Rational {
    let l = -exact::to_f64_nearest(&Interval::ln_of(delta.as_rational(), 64).lower());
    let epsilon = |logarithm: f64| {
        let beta = logarithm.exp();
        (beta + 1.0) * rho + (l - logarithm - (beta + 1.0) * (1.0 / beta).ln_1p()) / beta
    };
    // Bun and Steinke's optimum √(ln(1/δ)/ρ), which is close, in the middle.
    let start = (0.5 * (l.max(1e-9) / rho.max(1e-300)).ln()).clamp(-60.0, 400.0);
    let (mut low, mut high) = (start - 8.0, start + 8.0);
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    for _ in 0..80 {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        if epsilon(left) <= epsilon(right) {
            high = right
        } else {
            low = left
        }
    }
    from_f64(f64::midpoint(low, high).exp())
        .filter(|beta| *beta > Rational::ZERO)
        .unwrap_or_else(|| ratio(1, 1))
}
