//! Into zero-concentrated differential privacy, and from Rényi divergences to (ε, δ).

use crate::{Delta, Epsilon, Error, Event, PrivacyUnit, Rho, renyi_divergence};
use exact::{Interval, Rational, from_f64, ratio, to_f64_nearest};

/// The smallest ρ such that every ε-DP mechanism is ρ-zCDP: ε·tanh(ε/2), rounded up.
///
/// Claim: D_α(P‖Q) ≤ α·ε·tanh(ε/2) for all α > 1, and for α → 1 randomized response on one bit attains it.
/// Proof: every ε-DP mechanism is a post-processing of randomized response on one bit (Kairouz, Oh and Viswanath 2015), for
/// which, with x = (α − ½)², (α−1)·D_α = ln(cosh(ε√x)/cosh(ε/2)). The derivative of ln cosh(ε√x) in x is
/// ε²/2·tanh(y)/y at y = ε√x, which falls; so the function is concave and lies below its tangent at x = ¼ (α = 1), whose
/// slope is ε·tanh(ε/2), the Kullback-Leibler divergence. And x − ¼ = α(α−1).
///
/// It is below the ε²/2 of Bun and Steinke 2016, by a twelfth of ε² of it for small ε, and then by ever more.
/// Where ε is so small that 15 digits do not show the difference, it is ε²/2.
///
/// # Errors
/// When ρ is out of range or ε is negative.
pub fn rho_of_pure(epsilon: &Rational) -> Result<Rho, Error> {
    not_above_half_square(epsilon, |bits| {
        let one = Interval::from_integer(1, bits);
        let decay = Interval::exp_of(&-epsilon.clone(), bits);
        // tanh(ε/2) = (1 − e^−ε)/(1 + e^−ε).
        let tanh = one.sub(&decay).div(&one.add(&decay))?;
        Some(tanh.mul(&Interval::from_rational(epsilon, bits)))
    })
}

/// The smallest ρ such that Laplace noise on the reals with Δ₁/b = `ratio` is ρ-zCDP: ε + e^−ε − 1 with ε = `ratio`, rounded up.
///
/// Claim: D_α(P‖Q) ≤ α·(ε + e^−ε − 1) for all α > 1, for a number or a vector, and for α → 1 a number attains it.
/// Proof: for a number, with x = (α − ½)², (α−1)·D_α = −ε/2 + ln F(ε²x), F(X) = cosh√X + (ε/2)·sinh√X/√X. F is entire of
/// order ½. Its zeros X = −y² solve y·cot y = −ε/2: they are the eigenvalues of f'' = −y²·f, f(0) = 0, f'(1) + (ε/2)·f(1) = 0, which is
/// self-adjoint with ∫f'² + (ε/2)·f(1)² = y²·∫f², hence y² > 0. So ln F(X) − ln F(0) = Σ ln(1 + X/y²) (Hadamard) is
/// concave in X and lies below its tangent at x = ¼, whose slope is the Kullback-Leibler divergence ε + e^−ε − 1. And x − ¼ = α(α−1).
/// For a vector the coordinates' ε add up to ε at most, and ε + e^−ε − 1 is convex and 0 at 0, hence superadditive.
/// Source: Harrison and Manurangsi 2025, arXiv 2510.25746, for the value.
///
/// It does **not** hold for noise on a grid. With D grid steps of sensitivity, a = e^−ε/D and s = (ε − ε')·D/2ε, the
/// discrete Laplace has δ(ε') = 1 − a^s·(a^t + a^(1−t))/(1 + a) with t = ⌈s⌉ − s. By convexity of a^t that is at least the 1 − a^s of
/// noise on the reals, and more unless s is whole. For D = 1 it is randomized response on one bit, and its ρ is that of [`rho_of_pure`].
/// With more steps, real Laplace noise of a slightly larger ratio dominates it, and so does that one's ρ.
///
/// # Errors
/// When ρ is out of range or the ratio is negative.
pub fn rho_of_laplace(ratio: &Rational) -> Result<Rho, Error> {
    not_above_half_square(ratio, |bits| {
        let one = Interval::from_integer(1, bits);
        let decay = Interval::exp_of(&-ratio.clone(), bits);
        Some(Interval::from_rational(ratio, bits).add(&decay).sub(&one))
    })
}

/// A ρ that is ε²/2 for small ε, less for larger ones, and so much like it for tiny ones that 15 digits would round above it.
fn not_above_half_square(
    epsilon: &Rational,
    enclosed: impl Fn(u32) -> Option<Interval>,
) -> Result<Rho, Error> {
    if *epsilon <= Rational::ZERO {
        return Rho::exactly_or_up(epsilon);
    }
    // The differences lose −2·log₂ ε bits.
    let bits = 160 + 2 * exact::floor_log2(epsilon).unsigned_abs();
    let rho = Rho::at_least(&enclosed(bits).ok_or(Error::Undecided { what: "ρ" })?)?;
    if *epsilon > Rational::ONE {
        return Ok(rho);
    }
    Ok(rho.min(Rho::exactly_or_up(&(epsilon * epsilon * ratio(1, 2)))?))
}

/// An ε such that every ρ-zCDP mechanism is (ε, δ)-DP, rounded up.
///
/// Canonne, Kamath and Steinke 2020: for every α > 1 it suffices that
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
    let enclosed = converted(&(&alpha * rho.as_rational()), &beta, delta)
        .ok_or(Error::Undecided { what: "ε of ρ" })?;
    Epsilon::at_least(&enclosed)
}

/// R + ln(β/α) − (ln δ + ln α)/β with α = 1 + β: the ε that a Rényi divergence R of order α gives.
///
/// Canonne, Kamath and Steinke 2020; Balle et al. 2020.
fn converted(divergence: &Rational, beta: &Rational, delta: &Delta) -> Option<Interval> {
    let alpha = beta + Rational::ONE;
    // The quotient by β multiplies errors by 1/β; ln(β/α) near 0, for large β, needs as many bits more.
    let bits = 128 + exact::floor_log2(beta).unsigned_abs();
    let logarithms = Interval::ln_of(delta.as_rational(), bits).add(&Interval::ln_of(&alpha, bits));
    let quotient = logarithms.div(&Interval::from_rational(beta, bits))?;
    let sum = Interval::from_rational(divergence, bits).add(&Interval::ln_of(&(beta / &alpha), bits));
    Some(sum.sub(&quotient))
}

/// Orders α at which Rényi divergences are asked for, numbered from 1: α − 1 from 2^−18 up to 2^31, 32 in each octave, all exact
/// in an `f64`.
fn order_minus_one(index: u32) -> f64 {
    (1.0 + f64::from(index % 32) / 32.0) * 2f64.powi((index / 32) as i32 - 18)
}

/// The Rényi divergence of this order, as a number that can be computed with; `None` where there is no finite one.
fn divergence_at(event: &Event, unit: &PrivacyUnit, beta: f64) -> Result<Option<Rational>, Error> {
    let divergence = renyi_divergence(event, unit, 1.0 + beta)?;
    // It is an upper bound on something that is not negative; from_f64 refuses infinity and NaN.
    Ok(from_f64(divergence).map(|value| value.max(Rational::ZERO)))
}

/// An ε that holds with this δ, by the best of a fixed grid of orders, and that order.
///
/// Theorem: D_α(P‖Q) ≤ R implies (ε, δ)-DP with ε = R + ln((α−1)/α) − (ln δ + ln α)/(α−1) (Canonne, Kamath and Steinke
/// 2020; Balle et al. 2020), for every α > 1, so the best may be chosen afterwards.
///
/// With t = α − 1, ε = N(t)/t where N(t) = t·R + t·ln t − (1+t)·ln(1+t) + ln(1/δ) is convex (t·R is a cumulant, and the rest has second
/// derivative 1/t − 1/(1+t)). Hence ε falls and then rises in t, and a search finds its minimum on the grid. Where
/// the divergences are only bounds the search may end elsewhere: still a valid ε.
///
/// # Errors
/// When δ = 0, when the event has no Rényi divergence, or when no order gives an ε.
pub fn epsilon_of_renyi(event: &Event, unit: &PrivacyUnit, delta: &Delta) -> Result<(Epsilon, f64), Error> {
    event.check_unit(unit)?;
    if *delta == Delta::ZERO {
        return Err(Error::NothingToTrade {
            what: "a Rényi divergence",
        });
    }
    let (_, index, enclosed) = best_order(|beta| {
        let Some(divergence) = divergence_at(event, unit, beta)? else {
            return Ok(None);
        };
        let Some(exact_beta) = from_f64(beta) else {
            return Ok(None);
        };
        Ok(converted(&divergence, &exact_beta, delta).map(|epsilon| (epsilon.to_f64_up(), epsilon)))
    })?;
    Ok((Epsilon::at_least(&enclosed)?, 1.0 + order_minus_one(index)))
}

/// A δ that holds with this ε: the same theorem, solved for ln δ = t·(R − ε + ln(t/(1+t))) − ln(1+t), which is convex in t = α − 1.
///
/// # Errors
/// When the event has no Rényi divergence, or no order gives a δ below 1.
pub(crate) fn delta_of_renyi(event: &Event, unit: &PrivacyUnit, epsilon: &Epsilon) -> Result<Delta, Error> {
    event.check_unit(unit)?;
    let (value, _, logarithm) = best_order(|beta| {
        let (Some(divergence), Some(t)) = (divergence_at(event, unit, beta)?, from_f64(beta)) else {
            return Ok(None);
        };
        let bits = 128 + exact::floor_log2(&t).unsigned_abs();
        let alpha = &t + Rational::ONE;
        let rate = Interval::from_rational(&(divergence - epsilon.as_rational()), bits)
            .add(&Interval::ln_of(&(&t / &alpha), bits));
        let logarithm = rate
            .mul(&Interval::from_rational(&t, bits))
            .sub(&Interval::ln_of(&alpha, bits));
        Ok(Some((logarithm.to_f64_up(), logarithm)))
    })?;
    if value >= 0.0 {
        return Err(Error::NoDelta {
            epsilon: epsilon.to_string(),
        });
    }
    // Below e^−700 < 1e-304 the last decimal place, 1e-300, is above it.
    let upper = logarithm.upper().max(ratio(-700, 1));
    let bits = 1200;
    Delta::at_least(&Interval::exp_of(&upper, bits))
}

/// The order with the smallest value on the grid, as far as a coarse look and a finer one around its best find it. With what was computed
/// there.
///
/// A search by sections alone would do for exact divergences. Bounds on them may have a second valley, at very large orders, where ε is
/// the sum of all ε.
///
/// An order without a value counts as larger than all others. Errors of an order are returned only when no order has a value.
fn best_order<T>(value: impl Fn(f64) -> Result<Option<(f64, T)>, Error>) -> Result<(f64, u32, T), Error> {
    const ORDERS: u32 = 1596;
    let mut best: Option<(f64, u32, T)> = None;
    let mut failure = None;
    let mut at = |index: u32, best: &mut Option<(f64, u32, T)>| match value(order_minus_one(index)) {
        Ok(Some((value, what))) if best.as_ref().is_none_or(|(least, ..)| value < *least) => {
            *best = Some((value, index, what));
        }
        Ok(_) => {}
        Err(error) => {
            failure.get_or_insert(error);
        }
    };
    let mut step = 64;
    for index in (step / 2..=ORDERS).step_by(step as usize) {
        at(index, &mut best);
    }
    while step > 1 {
        step /= 2;
        let Some(middle) = best.as_ref().map(|(_, index, _)| *index) else {
            break;
        };
        for index in [middle.saturating_sub(step).max(1), (middle + step).min(ORDERS)] {
            at(index, &mut best);
        }
    }
    best.ok_or_else(|| {
        failure.unwrap_or(Error::Undecided {
            what: "a Rényi divergence",
        })
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Divergences ρα, those of Gaussian noise: the search on the grid comes close to the best of all orders, from above.
    #[test]
    fn the_grid_of_orders_is_fine_enough() {
        for (rho, delta) in [
            ("0.5", "1e-6"),
            ("1e-6", "1e-9"),
            ("100", "1e-5"),
            ("0.01", "0.1"),
            ("3000", "1e-12"),
        ] {
            let (rho, delta) = (Rho::parse(rho).unwrap(), Delta::parse(delta).unwrap());
            let looked_at = std::cell::Cell::new(0);
            let (_, index, enclosed) = best_order(|beta| {
                looked_at.set(looked_at.get() + 1);
                let beta = from_f64(beta).unwrap();
                let divergence = rho.as_rational() * (&beta + Rational::ONE);
                Ok(converted(&divergence, &beta, &delta).map(|epsilon| (epsilon.to_f64_up(), epsilon)))
            })
            .unwrap();
            let (found, best) = (
                Epsilon::at_least(&enclosed).unwrap(),
                epsilon_of_concentrated(&rho, &delta).unwrap(),
            );
            assert!(
                found >= best && *found.as_rational() <= best.as_rational() * ratio(1001, 1000),
                "{rho} {delta} {found} {best} {index}"
            );
            assert_eq!(looked_at.get(), 37);
        }
    }

    #[test]
    fn orders_without_a_divergence_are_passed_over() {
        let finite = |beta: f64| Ok((beta < 3.0).then_some((1.0 / beta, ())));
        let (value, index, ()) = best_order(finite).unwrap();
        assert!(order_minus_one(index) < 3.0 && value < 0.35);
        let never = |_: f64| -> Result<Option<(f64, ())>, Error> { Err(Error::NoNoise) };
        assert_eq!(best_order(never).unwrap_err(), Error::NoNoise);
    }
}
