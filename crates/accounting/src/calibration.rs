//! The least noise that keeps a target.

use crate::curve::rough_log_delta;
use crate::{Curve, Delta, Epsilon, Error, Event, PrivacyUnit, Ratio, Sampler, smallest_multiplier};
use exact::{Interval, Rational, decimal_at_least, from_f64, to_f64_nearest};

/// Digits of a noise multiplier. More would promise a precision that no training run has.
const DIGITS: u32 = 12;
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
    let keeps = |sigma: &Rational| -> Result<Delta, Error> {
        match Curve::of(&plan(sigma), &unit)?.delta(epsilon) {
            Ok(found) => Ok(found.upper),
            // So little noise that nothing is promised.
            Err(Error::DeltaTooLarge { .. }) => {
                Delta::rounded_down(&(Rational::ONE - exact::ratio(1, 1_000_000)))
            }
            Err(other) => Err(other),
        }
    };
    let aim = libm::log(to_f64_nearest(delta.as_rational()));
    let target = to_f64_nearest(epsilon.as_rational());
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
    // Secants in ln σ on the certified curve, the first with the slope of the rough one.
    let mut sigma = high;
    let mut slope = (rough(sigma * 1.01) - rough(sigma / 1.01)) / (2.0 * libm::log(1.01));
    let mut last: Option<(f64, f64)> = None;
    for _ in 0..6 {
        let here = libm::log(sigma);
        let over = libm::log(keeps(&rational(sigma)?)?.to_f64_up()) - aim;
        if let Some((there, then)) = last.filter(|(there, _)| *there != here) {
            slope = (over - then) / (here - there);
        }
        if !over.is_finite() || slope.is_nan() || slope >= 0.0 {
            break;
        }
        sigma *= libm::exp((-over / slope).clamp(-1.0, 1.0));
        if over.abs() < 1e-9 {
            break;
        }
        last = Some((here, over));
    }
    // Where the curve takes long it is asked a few times only: the steps grow fast, and a σ that is a little too large is still right.
    let mut step = 1e-12;
    while sigma < RANGE.1 {
        let candidate = decimal_at_least(&rational(sigma)?, DIGITS);
        match Curve::of(&plan(&candidate), &unit)?.epsilon(delta) {
            Ok(found) if found.upper <= *epsilon => return Ok(Ratio::at_least(&candidate)),
            Ok(_) | Err(Error::Undecided { .. } | Error::OutOfRange { .. }) => {}
            Err(other) => return Err(other),
        }
        sigma *= 1.0 + step;
        step = (step * 300.0).min(1e3);
    }
    Err(Error::NoMultiplier)
}

fn rational(value: f64) -> Result<Rational, Error> {
    from_f64(value)
        .filter(|value| *value > Rational::ZERO)
        .ok_or(Error::NoMultiplier)
}
