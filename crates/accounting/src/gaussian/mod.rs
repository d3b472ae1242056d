//! Gaussian noise: its exact curve δ(ε), and the smallest noise for a target.
//!
//! Nothing here rounds to a float. A search may start anywhere and step anyhow; its result leaves only after a certified
//! enclosure showed that it keeps the promise, and that a number smaller by one part in 10¹² does not.

mod guess;

use crate::mills::{exponential_decay, is_precise, middle, mills, negligible, shifted_down, tenth_power};
use crate::{Delta, Epsilon, Error};
use exact::{Integer, Interval, Rational, decide, decimal_at_least, decimal_at_most, ratio};
use std::cmp::Ordering;

/// Beyond e^(−2^26) nobody asks for digits.
const FARTHEST: u32 = 1 << 26;
/// Precision that settles almost every search at the first attempt.
const START: u32 = 80;

/// The smallest δ for which Gaussian noise with variance σ² on a value of ℓ₂ sensitivity Δ is (ε, δ)-DP, where
/// `multiplier_squared` = σ²/Δ², enclosed to within 2^−bits of its own size.
///
/// δ = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) with μ = Δ/σ: Balle and Wang 2018.
///
/// The result has as many fractional bits as it takes for its size. Only below e^(−2^26) is it just enclosed by zero and
/// 2^(−2^26). A multiplier of zero gives δ = 1.
///
/// # Panics
/// If either number is negative.
pub fn delta_of_gaussian(epsilon: &Rational, multiplier_squared: &Rational, bits: u32) -> Interval {
    assert!(
        *epsilon >= Rational::ZERO && *multiplier_squared >= Rational::ZERO,
        "a negative ε or noise"
    );
    if multiplier_squared.is_zero() {
        return Interval::from_integer(1, bits);
    }
    point(epsilon, multiplier_squared, bits).map_or_else(|| negligible(0), |point| point.delta)
}

/// One point of the curve, with what Newton's method needs to know of its slope.
struct Point {
    /// δ itself.
    delta: Interval,
    /// δ/φ(a). Since ∂δ/∂μ = φ(a), this is dμ/d(ln δ). `None` where φ(a) is too small to divide by.
    per_density: Option<Interval>,
    /// R(b). Since ∂δ/∂ε = −e^ε·Φ(−b) = −φ(a)·R(b), −dε/d(ln δ) is `per_density` over this.
    tail: Interval,
}

fn point(epsilon: &Rational, multiplier_squared: &Rational, bits: u32) -> Option<Point> {
    // a = μ/2 − ε/μ, b = μ/2 + ε/μ. Their squares are rational: a² = μ²/4 − ε + ε²/μ² and b² = a² + 2ε.
    let quarter = Rational::ONE / (multiplier_squared * ratio(4, 1));
    let a_squared = &quarter - epsilon + epsilon * epsilon * multiplier_squared;
    let b_squared = &a_squared + epsilon * ratio(2, 1);
    // a ≤ 0 exactly when μ²/2 ≤ ε.
    let a_is_positive = &quarter * ratio(2, 1) > *epsilon;
    let q = &a_squared * ratio(1, 2);
    let far = q > Rational::from(FARTHEST);
    decide(bits + 48, |work| {
        let (at_a, tail) = (mills(&a_squared, work), mills(&b_squared, work));
        if far {
            // For a > 0, 1 − δ ≤ 2·(1 − Φ(a)) ≤ e^(−a²/2); for a ≤ 0, δ ≤ Φ(a) ≤ e^(−a²/2). Both are below 2^−FARTHEST.
            let small = negligible(FARTHEST);
            let delta = if a_is_positive {
                Interval::from_integer(1, FARTHEST).sub(&small)
            } else {
                small
            };
            return Some(Point {
                delta,
                per_density: None,
                tail,
            });
        }
        let (fraction, shift) = exponential_decay(&q, work);
        let root = Interval::pi(work).scale(&Integer::from(2)).sqrt();
        let density = fraction.div(&root).expect("√(2π) > 0");
        // b² − a² = 2ε, so e^ε·φ(b) = φ(a) and e^ε·Φ(−b) = φ(a)·R(b).
        let (delta, per_density) = if a_is_positive {
            // δ = 1 − (1 − Φ(a)) − e^ε·Φ(−b) = 1 − φ(a)·(R(a) + R(b)).
            let missing = density
                .mul(&at_a.add(&tail))
                .scale_by_power_of_two(-i32::try_from(shift).expect("below 2^30"));
            let delta = Interval::from_integer(1, work).sub(&missing);
            // 2^shift would be held in full, so only where it is short.
            let scaled = (shift < 1 << 14)
                .then(|| delta.scale_by_power_of_two(shift as i32).div(&density))
                .flatten();
            (delta, scaled)
        } else {
            // δ = Φ(−|a|) − e^ε·Φ(−b) = φ(a)·(R(|a|) − R(b)).
            let difference = at_a.sub(&tail);
            (shifted_down(&density.mul(&difference), shift), Some(difference))
        };
        is_precise(&delta, bits).then_some(Point {
            delta,
            per_density,
            tail,
        })
    })
}

/// Whether δ(ε) is certainly at most (`Less`) or certainly above (`Greater`) the target.
fn against(epsilon: &Rational, multiplier_squared: &Rational, delta: &Rational) -> Option<Ordering> {
    decide(START, |bits| {
        delta_of_gaussian(epsilon, multiplier_squared, bits).compare(delta)
    })
}

/// ln(1/δ).
fn logarithm_of_inverse(delta: &Delta, bits: u32) -> Interval {
    Interval::ln_of(delta.as_rational(), bits).neg()
}

/// How far ln δ(ε) is above ln of the target, for a search.
fn excess(point: &Point, delta: &Rational, bits: u32) -> Option<Interval> {
    let near = middle(&point.delta, bits);
    (near > Rational::ZERO).then(|| Interval::ln_of(&(near / delta), bits + 16))
}

/// The smallest noise multiplier σ/Δ for (ε, δ), as a decimal: it certainly suffices, and exceeds the true minimum by
/// one part in 10¹² or less.
///
/// # Errors
/// When δ = 0, since no Gaussian noise achieves it.
pub fn smallest_multiplier(epsilon: &Epsilon, delta: &Delta) -> Result<Rational, Error> {
    if *delta == Delta::ZERO {
        return Err(Error::NeedsDelta);
    }
    let (epsilon, target) = (epsilon.as_rational(), delta.as_rational());
    let slightly_less = Rational::ONE - tenth_power(12);
    decide(START, |bits| {
        let mu = largest_mu(epsilon, delta, bits)?;
        // σ = 1/μ, and a little more for the error of the search, which the check below would find.
        let multiplier = decimal_at_least(&((Rational::ONE + tenth_power(14)) / mu), 15);
        let smaller = &multiplier * &slightly_less;
        let suffices = against(epsilon, &(&multiplier * &multiplier), target)? != Ordering::Greater;
        let is_tight = || against(epsilon, &(&smaller * &smaller), target) == Some(Ordering::Greater);
        (suffices && is_tight()).then_some(multiplier)
    })
    .ok_or(Error::Undecided {
        what: "the smallest noise multiplier",
    })
}

/// Newton's method for the μ at which δ(μ) meets its target.
///
/// δ(μ) = ∫_0^μ φ(m/2 − ε/m) dm, and the integrand is log-concave in m, so ln δ is concave and growing in μ. The tangent
/// lies above it, so each step ends at or left of the solution: from the left, the steps climb and cannot overshoot.
fn largest_mu(epsilon: &Rational, delta: &Delta, bits: u32) -> Option<Rational> {
    let digits = bits * 3 / 10 + 4;
    let near = (bits == START).then(|| guess::largest_mu(epsilon, delta.as_rational()));
    let mut mu = match near.flatten() {
        Some(guess) => decimal_at_most(&guess, digits),
        None => left_of_mu(epsilon, delta, bits, digits)?,
    };
    let close = close(bits);
    loop {
        let point = point(epsilon, &(Rational::ONE / (&mu * &mu)), bits)?;
        let step =
            -middle(&excess(&point, delta.as_rational(), bits)?, bits) * middle(&point.per_density?, bits);
        let small = absolute(&step) <= &mu * &close;
        mu = decimal_at_most(&(mu + step), digits);
        if mu <= Rational::ZERO {
            return None;
        }
        if small {
            return Some(mu);
        }
    }
}

/// After a step that is this small, as a part of what is looked for, Newton's method has arrived.
///
/// Errors are squared by a step, so a billionth is enough where the curve does not bend too much; what is found is checked in any case, and when it
/// does not hold, it is looked for again with more bits and without this saving.
fn close(bits: u32) -> Rational {
    tenth_power(if bits == START { 9 } else { 15 })
}

fn absolute(step: &Rational) -> Rational {
    if *step < Rational::ZERO {
        -step
    } else {
        step.clone()
    }
}

/// Where Newton's method may start to find μ: on the left of it.
fn left_of_mu(epsilon: &Rational, delta: &Delta, bits: u32, digits: u32) -> Option<Rational> {
    let size = if epsilon.is_zero() {
        0
    } else {
        exact::floor_log2(epsilon).unsigned_abs()
    };
    let tiny = exact::floor_log2(delta.as_rational()).unsigned_abs();
    let work = bits + 2 * size + tiny + 16;
    // Two starts on the left. (1) μ²/2-zCDP implies (μ²/2 + μ·√(2 ln 1/δ), δ)-DP (Bun and Steinke 2016);
    // solved for μ = 2ε/(√(2L + 2ε) + √(2L)). (2) φ ≤ 1/√(2π), so δ ≤ μ/√(2π).
    let twice_l = logarithm_of_inverse(delta, work).scale(&Integer::from(2));
    let twice_epsilon = Interval::from_rational(&(epsilon * ratio(2, 1)), work);
    let roots = twice_l.add(&twice_epsilon).sqrt().add(&twice_l.sqrt());
    let concentrated = twice_epsilon.div(&roots)?.lower();
    let root = Interval::pi(work).scale(&Integer::from(2)).sqrt();
    let uniform = Interval::from_rational(delta.as_rational(), work)
        .mul(&root)
        .lower();
    let mu = decimal_at_most(&concentrated.max(uniform), digits);
    (mu > Rational::ZERO).then_some(mu)
}

/// The smallest ε for which Gaussian noise with `multiplier_squared` = σ²/Δ² is (ε, δ)-DP: certainly enough, and above the
/// true minimum by 10⁻¹² of it or less (or by 10⁻²⁴ when it is that small).
///
/// # Errors
/// When δ = 0, when there is no noise, or when ε would be out of range.
pub fn epsilon_of_gaussian(multiplier_squared: &Rational, delta: &Delta) -> Result<Epsilon, Error> {
    if *delta == Delta::ZERO {
        return Err(Error::NeedsDelta);
    }
    if *multiplier_squared <= Rational::ZERO {
        return Err(Error::NoNoise);
    }
    let target = delta.as_rational();
    let holds = |epsilon: &Rational| {
        // Equality that no precision can settle counts as a failure.
        against(epsilon, multiplier_squared, target).is_some_and(|order| order != Ordering::Greater)
    };
    // Floats only save the question where its answer is plainly no; a wrong one would cost an ε near zero, not the promise.
    if !guess::is_far_above(multiplier_squared, target) && holds(&Rational::ZERO) {
        return Ok(Epsilon::ZERO);
    }
    let slightly_less = Rational::ONE - tenth_power(12);
    decide(START, |bits| {
        let found = smallest_epsilon(multiplier_squared, delta, bits)? * (Rational::ONE + tenth_power(14));
        let epsilon = match Epsilon::rounded_up(&found.max(tenth_power(24))) {
            Ok(epsilon) => epsilon,
            Err(error) => return Some(Err(error)),
        };
        let is_tight = || {
            *epsilon.as_rational() <= tenth_power(24) * ratio(2, 1)
                || against(
                    &(epsilon.as_rational() * &slightly_less),
                    multiplier_squared,
                    target,
                ) == Some(Ordering::Greater)
        };
        (holds(epsilon.as_rational()) && is_tight()).then_some(Ok(epsilon))
    })
    .ok_or(Error::Undecided {
        what: "the ε of Gaussian noise",
    })?
}

/// Newton's method for the ε at which δ(ε) meets its target.
///
/// δ(ε) = ∫_0^∞ e^−s·P[loss > ε + s] ds (integrate by parts), the loss is Gaussian, and a marginal of a log-concave
/// function is log-concave (Prékopa), so ln δ is concave and falling in ε. Each step ends at or right of the solution.
fn smallest_epsilon(multiplier_squared: &Rational, delta: &Delta, bits: u32) -> Option<Rational> {
    let digits = bits * 3 / 10 + 4;
    let near = (bits == START).then(|| guess::smallest_epsilon(multiplier_squared, delta.as_rational()));
    let mut epsilon = match near.flatten() {
        Some(guess) => decimal_at_least(&guess, digits),
        None => right_of_epsilon(multiplier_squared, delta, bits, digits),
    };
    let close = close(bits);
    loop {
        let point = point(&epsilon, multiplier_squared, bits)?;
        let slope = middle(&point.per_density.as_ref()?.div(&point.tail)?, bits);
        let step = -middle(&excess(&point, delta.as_rational(), bits)?, bits) * slope;
        let small = absolute(&step) <= &epsilon * &close;
        epsilon = decimal_at_least(&(epsilon - step), digits);
        if small || epsilon <= Rational::ZERO {
            return Some(epsilon.max(Rational::ZERO));
        }
    }
}

/// Where Newton's method may start to find ε: on the right of it, at μ²/2 + μ·√(2 ln 1/δ) (Bun and Steinke 2016).
fn right_of_epsilon(multiplier_squared: &Rational, delta: &Delta, bits: u32, digits: u32) -> Rational {
    let size = exact::floor_log2(multiplier_squared).unsigned_abs();
    let work = bits + 2 * size + 16;
    let rho = Rational::ONE / (multiplier_squared * ratio(2, 1));
    let l = logarithm_of_inverse(delta, work);
    let root = Interval::from_rational(&(&rho * ratio(4, 1)), work)
        .mul(&l)
        .sqrt();
    decimal_at_least(&Interval::from_rational(&rho, work).add(&root).upper(), digits)
}

/// The classic noise multiplier σ/Δ = √(2 ln(1.25/δ))/ε, rounded up to 15 digits.
///
/// Dwork and Roth 2014. [`smallest_multiplier`] is never larger; this one is for comparison.
///
/// # Errors
/// When ε is 0 or above 1, where the proof does not hold, or δ = 0, or (for δ near 1) when the exact curve says otherwise.
pub fn classic_multiplier(epsilon: &Epsilon, delta: &Delta) -> Result<Rational, Error> {
    if *delta == Delta::ZERO {
        return Err(Error::NeedsDelta);
    }
    let value = epsilon.as_rational();
    let out_of_range = || Error::ClassicRange {
        epsilon: epsilon.to_string(),
    };
    if value.is_zero() || *value > Rational::ONE {
        return Err(out_of_range());
    }
    // ln(1.25/δ) > ln 1.25 > 0, so the square root is of a positive number.
    let logarithm = Interval::ln_of(&(ratio(5, 4) / delta.as_rational()), 128);
    let root = logarithm.scale(&Integer::from(2)).sqrt();
    let multiplier = decimal_at_least(&(root.upper() / value), 15);
    // The theorem is stated for ε below 1; the exact curve vouches for 1 itself, and for δ of any size.
    match against(value, &(&multiplier * &multiplier), delta.as_rational()) {
        Some(Ordering::Less | Ordering::Equal) => Ok(multiplier),
        _ => Err(out_of_range()),
    }
}
