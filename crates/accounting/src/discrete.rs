//! Noise on the integers: exact curves δ(ε) of discrete Laplace and discrete Gaussian noise, and of the worst pure mechanism.

use crate::mills::{exponential_decay, is_precise, negligible, shifted_down, tenth_power};
use crate::theta::{square, sum_from};
use crate::{Delta, Epsilon, Error, Rho, epsilon_of_concentrated, epsilon_of_gaussian};
use exact::{Integer, Interval, Rational, decide, ratio};
use std::cmp::Ordering;

/// Below e^(−2^15) a tail of the discrete Gaussian is just called negligible.
const FARTHEST: u32 = 1 << 15;

/// The smallest δ such that every mechanism that is `promised`-DP (pure) is also (ε, δ)-DP.
///
/// δ = (e^promised − e^ε)/(1 + e^promised) for ε below `promised`, else 0: the curve of randomized response on one bit,
/// which every pure mechanism is a post-processing of (Kairouz, Oh and Viswanath 2015).
///
/// # Panics
/// If either number is negative.
pub fn delta_of_pure(promised: &Rational, epsilon: &Rational, bits: u32) -> Interval {
    assert!(
        *epsilon >= Rational::ZERO && *promised >= Rational::ZERO,
        "a negative ε"
    );
    if epsilon >= promised {
        return Interval::from_integer(0, bits);
    }
    let precise = decide(bits + 48, |work| {
        // Divided by e^promised, so that nothing large is ever held: (1 − e^(ε−promised))/(1 + e^−promised).
        let one = Interval::from_integer(1, work);
        let above = one.sub(&Interval::exp_of(&(epsilon - promised), work));
        let delta = above
            .div(&one.add(&Interval::exp_of(&-promised.clone(), work)))
            .expect("at least 1");
        is_precise(&delta, bits).then_some(delta)
    });
    precise.unwrap_or_else(|| negligible(0))
}

/// The smallest δ for which discrete Laplace noise, P(X = x) ∝ e^(−|x|/scale) on the integers, is (ε, δ)-DP on an integer
/// with the given sensitivity.
///
/// The loss at output x is (|x − Δ| − |x|)/scale, which exceeds ε exactly for x ≤ m = ⌈(Δ − ε·scale)/2⌉ − 1, so
/// δ = F(m) − e^ε·F(m − Δ). For ε < Δ/scale, 0 ≤ m < Δ, where F(m) = 1 − a^(m+1)/(1+a) and F(m−Δ) = a^(Δ−m)/(1+a) with
/// a = e^(−1/scale). For larger ε the loss never exceeds it, and δ = 0.
///
/// # Panics
/// If ε is negative or the scale is not positive.
pub fn delta_of_discrete_laplace(
    epsilon: &Rational,
    scale: &Rational,
    sensitivity: u64,
    bits: u32,
) -> Interval {
    assert!(
        *epsilon >= Rational::ZERO && *scale > Rational::ZERO,
        "a negative ε or no noise"
    );
    let shift = Rational::from(sensitivity);
    if epsilon * scale >= shift {
        return Interval::from_integer(0, bits);
    }
    let m = Rational::from(((&shift - epsilon * scale) * ratio(1, 2)).ceil()) - Rational::ONE;
    let precise = decide(bits + 48, |work| {
        let one = Interval::from_integer(1, work);
        // Both exponents are negative: the second is at most (ε − Δ/scale)/2.
        let above = Interval::exp_of(&(-(&m + Rational::ONE) / scale), work);
        let below = Interval::exp_of(&(epsilon - (&shift - &m) / scale), work);
        let normalizer = one.add(&Interval::exp_of(&(-Rational::ONE / scale), work));
        let delta = one.sub(&above.add(&below).div(&normalizer).expect("at least 1"));
        is_precise(&delta, bits).then_some(delta)
    });
    precise.unwrap_or_else(|| negligible(0))
}

/// The smallest δ for which discrete Gaussian noise, P(X = x) ∝ e^(−x²/2σ²) on the integers, is (ε, δ)-DP on an integer with
/// the given sensitivity, enclosed to within 2^−bits of its own size (below e^(−2^15): between zero and that).
///
/// δ = P(X > t) − e^ε·P(X > t + Δ) with t = εσ²/Δ − Δ/2: Canonne, Kamath and Steinke 2020.
///
/// It is not bounded by the curve of the continuous Gaussian: at σ = Δ = ε = 1 it is 0.141, against 0.127.
///
/// # Panics
/// If ε is negative or the variance is not positive.
pub fn delta_of_discrete_gaussian(
    epsilon: &Rational,
    sigma_squared: &Rational,
    sensitivity: u64,
    bits: u32,
) -> Interval {
    assert!(
        *epsilon >= Rational::ZERO && *sigma_squared > Rational::ZERO,
        "a negative ε or no noise"
    );
    if sensitivity == 0 {
        return Interval::from_integer(0, bits);
    }
    let shift = Rational::from(sensitivity);
    let threshold = epsilon * sigma_squared / &shift - &shift * ratio(1, 2);
    // The smallest integer above the threshold; the second tail starts Δ later.
    let first = threshold.floor() + Integer::ONE;
    let second = &first + Integer::from(sensitivity);
    let twice_variance = sigma_squared * ratio(2, 1);
    let precise = decide(bits + 48, |work| {
        let one = Interval::from_integer(1, work);
        let normalizer = one.add(&tail(&Integer::ONE, sigma_squared, work)?.scale(&Integer::from(2)));
        if first <= Integer::ZERO {
            // P(X ≥ first) = 1 − P(X ≥ 1 − first), and 1 − first ≥ 1. second > t + Δ ≥ Δ/2 > 0.
            let opposite = Integer::ONE - &first;
            let weighted = Interval::exp_of(&(epsilon - square(&second) / &twice_variance), work);
            let missing = tail(&opposite, sigma_squared, work)?.add(&weighted.mul(&sum_from(
                &second,
                sigma_squared,
                work,
            )?));
            let delta = one.sub(&missing.div(&normalizer)?);
            return is_precise(&delta, bits).then_some(delta);
        }
        // With U(m) = Σ_{n≥m} e^((m²−n²)/2σ²): P(X ≥ m) = e^(−m²/2σ²)·U(m)/Z, and with m the first integer above t,
        // δ·Z = e^(−m²/2σ²)·(U(m) − e^(−(Δ/σ²)(m−t))·U(m+Δ)), since ε − ((m+Δ)² − m²)/2σ² = −(Δ/σ²)(m − t).
        let q = square(&first) / &twice_variance;
        if q > Rational::from(FARTHEST) {
            // U(m) ≤ 1 + σR(m/σ) ≤ 1 + σ²/m, σ ≤ m and Z ≥ max(1, σ), so δ ≤ 2e^−q < 2^−FARTHEST.
            return Some(negligible(FARTHEST));
        }
        let weight = Interval::exp_of(
            &(-(&shift / sigma_squared) * (Rational::from(first.clone()) - &threshold)),
            work,
        );
        let difference =
            sum_from(&first, sigma_squared, work)?.sub(&weight.mul(&sum_from(&second, sigma_squared, work)?));
        let (fraction, exponent) = exponential_decay(&q, work);
        let delta = shifted_down(&fraction.mul(&difference).div(&normalizer)?, exponent);
        is_precise(&delta, bits).then_some(delta)
    });
    precise.unwrap_or_else(|| negligible(0))
}

/// Σ_{n≥m} e^(−n²/2σ²) for m ≥ 1, in absolute precision.
fn tail(m: &Integer, sigma_squared: &Rational, bits: u32) -> Option<Interval> {
    let q = square(m) / (sigma_squared * ratio(2, 1));
    Some(Interval::exp_of(&-q, bits).mul(&sum_from(m, sigma_squared, bits)?))
}

/// The smallest ε for which discrete Gaussian noise with variance σ² is (ε, δ)-DP on an integer with the given sensitivity:
/// certainly enough, and above the true minimum by 10⁻¹² of it or less where Δ/64 ≤ σ² ≤ 2^128.
///
/// # Errors
/// When δ = 0, when there is no noise, or when ε would be out of range.
pub fn epsilon_of_discrete_gaussian(
    sigma_squared: &Rational,
    sensitivity: u64,
    delta: &Delta,
) -> Result<Epsilon, Error> {
    if *delta == Delta::ZERO {
        return Err(Error::NeedsDelta);
    }
    if *sigma_squared <= Rational::ZERO {
        return Err(Error::NoNoise);
    }
    let target = delta.as_rational();
    let holds = |epsilon: &Rational| {
        let order = decide(80, |bits| {
            delta_of_discrete_gaussian(epsilon, sigma_squared, sensitivity, bits).compare(target)
        });
        order.is_some_and(|order| order != Ordering::Greater)
    };
    if sensitivity == 0 || holds(&Rational::ZERO) {
        return Ok(Epsilon::ZERO);
    }
    let shift = Rational::from(sensitivity);
    // δ(ε) is a line in e^ε between the ε at which the threshold t is an integer n: ε_n = (2nΔ + Δ²)/2σ².
    let kink =
        |n: &Integer| (Rational::from(n.clone()) * &shift + &shift * &shift * ratio(1, 2)) / sigma_squared;
    // Where zCDP says that it holds, it holds: Canonne, Kamath and Steinke 2020, ρ = Δ²/2σ².
    let rho = Rho::rounded_up(&(&shift * &shift / (sigma_squared * ratio(2, 1))))?;
    let sure = epsilon_of_concentrated(&rho, delta)?;
    if *sigma_squared > exact::power_of_two(128) {
        // Noise wider than any 64-bit grid is not worth the search.
        return Ok(sure);
    }
    let integer_before =
        |epsilon: &Rational| (epsilon * sigma_squared / &shift - &shift * ratio(1, 2)).floor();
    let mut fails = integer_before(&Rational::ZERO);
    let mut suffices = integer_before(sure.as_rational()) + Integer::ONE;
    // The answer is near that for noise on the reals: look there first, then ever farther away, then in the middle.
    let real = epsilon_of_gaussian(&(sigma_squared / (&shift * &shift)), delta)?;
    let mut probe = integer_before(real.as_rational());
    let mut stride = Integer::ONE;
    while &suffices - &fails > Integer::ONE {
        if probe <= fails || probe >= suffices {
            probe = (&fails + &suffices) >> 1usize;
        }
        let step = if holds(&kink(&probe)) {
            suffices = probe.clone();
            -&stride
        } else {
            fails = probe.clone();
            stride.clone()
        };
        probe += step;
        stride *= Integer::from(2);
    }
    let (low, high) = (kink(&fails).max(Rational::ZERO), kink(&suffices));
    let gap = &high - &low;
    let mut found = high.clone();
    if gap <= Rational::from(64u8) {
        let bits = 192 + exact::floor_log2(&gap).unsigned_abs();
        let at = |epsilon: &Rational| delta_of_discrete_gaussian(epsilon, sigma_squared, sensitivity, bits);
        let (d_low, d_high) = (at(&low).upper(), at(&high).lower());
        // On the line, e^(ε − low) = 1 + (e^gap − 1)·(δ(low) − δ)/(δ(low) − δ(high)).
        let rise = Interval::exp_of(&gap, bits).upper() - Rational::ONE;
        let argument = Rational::ONE + rise * (&d_low - target) / (&d_low - d_high);
        found = (low + Interval::ln_of(&argument, bits).upper()).min(high.clone());
    }
    // A little more for the error above, checked; the kink itself is known to suffice.
    let candidate = Epsilon::rounded_up(&(found * (Rational::ONE + tenth_power(14))))?;
    if holds(candidate.as_rational()) {
        Ok(candidate)
    } else {
        Epsilon::rounded_up(&high)
    }
}
