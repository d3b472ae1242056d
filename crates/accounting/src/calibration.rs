//! The least noise that keeps a target.

use crate::curve::rough_log_delta;
use crate::{Curve, Delta, Epsilon, Error, Event, PrivacyUnit, Ratio, Sampler, smallest_multiplier};
use exact::{Interval, Rational, decimal_at_least, from_f64, to_f64_nearest};

/// Digits of a noise multiplier. More would promise a precision that no training run has.
const DIGITS: u32 = 12;
/// What is found keeps the target, and its ε is at most this part below it.
const SLACK: f64 = 1e-9;
/// No multiplier outside this range is tried.
const RANGE: (f64, f64) = (1e-2, 1e9);

/// The smallest noise multiplier σ/Δ₂ with which `steps` steps (epochs, when shuffled) keep (ε, δ), rounded up to 12 digits.
///
/// A search in floats finds where to look; what is returned was certified by [`Curve`] to keep (ε, δ).
///
/// ```
/// use accounting::{Delta, Epsilon, Ratio, Sampler, smallest_training_multiplier};
///
/// let sampler = Sampler::Poisson { rate: Ratio::parse("0.01")? };
/// let sigma = smallest_training_multiplier(&sampler, 10_000, &Epsilon::parse("3")?, &Delta::parse("1e-5")?)?;
/// assert_eq!(&sigma.to_string()[..9], "1.5649655");
/// # Ok::<(), accounting::Error>(())
/// ```
///
/// # Errors
/// When δ = 0, when the rate is no probability, or when no multiplier between 0.01 and 1e9 suffices.
pub fn smallest_training_multiplier(
    sampler: &Sampler,
    steps: u64,
    epsilon: &Epsilon,
    delta: &Delta,
) -> Result<Ratio, Error> {
    let rate = sampler.rate()?;
    if steps == 0 || rate.is_zero() {
        return Ok(Ratio::at_least(&Rational::ZERO));
    }
    if *delta == Delta::ZERO {
        return Err(Error::NeedsDelta);
    }
    if rate.is_one() {
        // Plain Gaussians: together one with steps/σ².
        let root = Interval::from_integer(steps, 128).sqrt();
        let sigma = smallest_multiplier(epsilon, delta)? * root.upper();
        return Ok(Ratio::at_least(&decimal_at_least(&sigma, DIGITS)));
    }
    let unit = PrivacyUnit::new("unit", sampler.neighbors());
    let plan = |sigma: &Rational| Event::Repeated {
        event: Box::new(Event::SampledGaussian {
            sampler: sampler.clone(),
            multiplier_squared: Ratio::at_most(&(sigma * sigma)),
        }),
        times: steps,
    };
    let target = to_f64_nearest(epsilon.as_rational());
    // How far ε is above the target, as a logarithm; at most 0 where it is kept.
    let certified = |candidate: &Rational| -> Result<f64, Error> {
        let found = match Curve::of(&plan(candidate), &unit)?.epsilon(delta) {
            Ok(found) => found.upper,
            // So little noise that nothing is promised.
            Err(Error::Undecided { .. } | Error::OutOfRange { .. } | Error::DeltaTooLarge { .. }) => {
                return Ok(f64::INFINITY);
            }
            Err(other) => return Err(other),
        };
        let over = libm::log(found.to_f64_up() / target);
        // The sign is exact, whatever the logarithm is rounded to.
        Ok(if found <= *epsilon {
            over.min(0.0)
        } else {
            over.max(f64::MIN_POSITIVE)
        })
    };
    let aim = libm::log(to_f64_nearest(delta.as_rational()));
    let rough =
        |sigma: f64| rough_log_delta(sampler, to_f64_nearest(&rate), sigma, steps as f64, target) - aim;
    // δ falls with σ.
    let (mut low, mut high) = RANGE;
    if rough(high) > 0.0 {
        return Err(Error::NoMultiplier);
    }
    while high / low > 1.000_001 {
        let middle = (low * high).sqrt();
        if rough(middle) > 0.0 {
            low = middle
        } else {
            high = middle
        }
    }
    least(high, certified)
}

/// One end of where the least σ is.
struct End {
    sigma: f64,
    over: f64,
    candidate: Rational,
}

/// The least σ at which `over`, which falls in σ, is not above 0. What is returned was asked about, and is the least in one of two senses: `over` is above −[`SLACK`] there, or, where it jumps, above 0 at a σ
/// that is smaller by hardly more than this part. `start` is where to look first.
fn least(start: f64, over: impl Fn(&Rational) -> Result<f64, Error>) -> Result<Ratio, Error> {
    let (mut low, mut high): (Option<End>, Option<End>) = (None, None);
    let (mut sigma, mut reach) = (start, 1.003);
    for round in 1u32.. {
        let candidate = decimal_at_least(&rational(sigma)?, DIGITS);
        let end = End {
            over: over(&candidate)?,
            sigma,
            candidate,
        };
        if end.over > 0.0 {
            low = Some(end)
        } else {
            high = Some(end)
        }
        sigma = match (&low, &high) {
            (_, Some(high)) if high.over > -SLACK || high.sigma <= RANGE.0 => break,
            (Some(low), _) if low.sigma >= RANGE.1 => break,
            (None, _) => (sigma / reach).max(RANGE.0),
            (_, None) => (sigma * reach).min(RANGE.1),
            // Where ε jumps, the ends only ever halve: the longer that takes, the less is asked of them. A σ that is a little too large is still right.
            (Some(low), Some(high)) if high.sigma / low.sigma < 1.0 + SLACK * slower(round) => break,
            (Some(low), Some(high)) => between(low, high, round),
        };
        // Further each time, until there are two ends.
        reach = (reach * reach).min(1e3);
    }
    let found = high.ok_or(Error::NoMultiplier)?;
    Ok(Ratio::at_least(&found.candidate))
}

/// 1 for the first twelve rounds, then four times as much each.
fn slower(round: u32) -> f64 {
    libm::exp2(2.0 * f64::from(round.saturating_sub(12)))
}

/// Where the straight line between two ends, in ln σ, is just below 0. From the sixth round on every third time half-way, so that a function that is nothing like a line is searched as fast as by halving.
fn between(low: &End, high: &End, round: u32) -> f64 {
    let width = libm::log(high.sigma / low.sigma);
    let part = (low.over + SLACK / 2.0) / (low.over - high.over);
    let sigma = low.sigma * libm::exp(width * part);
    if (round >= 6 && round.is_multiple_of(3)) || !(low.sigma < sigma && sigma < high.sigma) {
        return low.sigma * libm::exp(width / 2.0);
    }
    sigma
}

fn rational(value: f64) -> Result<Rational, Error> {
    from_f64(value)
        .filter(|value| *value > Rational::ZERO)
        .ok_or(Error::NoMultiplier)
}
