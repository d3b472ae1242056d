//! A plan, sorted by what basic composition and its refinements know of each event: one ε, one δ, how often.

use crate::{
    Delta, Epsilon, Error, Event, NoiseSupport, Ratio, Rho, epsilon_of_concentrated,
    epsilon_of_discrete_gaussian, epsilon_of_gaussian,
};
use exact::{Interval, Natural, Rational, ratio};
use std::collections::BTreeMap;

/// This many searches for the ε of a noise that needs a share of δ are made; each takes about two milliseconds.
const MOST_SEARCHES: usize = 500;
/// This many different ε are treated one by one.
pub(crate) const MOST_EPSILONS: usize = 10_000;

/// What has no ε until it is given a δ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sharer<'a> {
    /// Gaussian noise on all of the data.
    Gaussian(&'a Ratio, NoiseSupport),
    /// Gaussian noise on a part that holds a given unit with this probability, above 0 and below 1.
    Sampled(&'a Ratio, Rational),
    /// Something known by its ρ.
    Concentrated(&'a Rho),
}

impl Sharer<'_> {
    /// Its ε with this δ.
    ///
    /// A sampled part amplifies, see [`amplified_epsilon`]. With δ ≥ q, ε = 0 holds: at most a δ of q is lost, when the unit is in.
    pub(crate) fn epsilon(&self, delta: &Delta) -> Result<Epsilon, Error> {
        match self {
            Sharer::Gaussian(multiplier_squared, on) => {
                gaussian(multiplier_squared.as_rational(), *on, delta)
            }
            Sharer::Concentrated(rho) => epsilon_of_concentrated(rho, delta),
            Sharer::Sampled(multiplier_squared, rate) => {
                let on_all = delta.as_rational() / rate;
                if multiplier_squared.as_rational().is_zero() {
                    return Err(Error::NoNoise);
                }
                if on_all >= Rational::ONE {
                    return Ok(Epsilon::ZERO);
                }
                let base = gaussian(
                    multiplier_squared.as_rational(),
                    NoiseSupport::Rounded,
                    &Delta::rounded_down(&on_all)?,
                )?;
                amplified_epsilon(&base, rate)
            }
        }
    }
}

/// The ε of a step on a part of the data that holds a given unit with probability `rate`, when the step is (ε, δ)-DP on all of it:
/// ln(1 + q(e^ε − 1)), rounded up. Its δ is q·δ.
///
/// Balle, Barthe and Gaboardi 2018: for Poisson samples and a unit added or removed, and for sets of a fixed size, drawn
/// without replacement, and a unit that changes. For Poisson samples and a unit that changes it is their Theorem 2: the step is compared with itself
/// on the changed unit and, in part, on none, which is no further away.
///
/// # Errors
/// When the rate is no probability.
pub fn amplified_epsilon(epsilon: &Epsilon, rate: &Rational) -> Result<Epsilon, Error> {
    let value = epsilon.as_rational();
    if *rate < Rational::ZERO || *rate > Rational::ONE {
        return Err(Error::NotAProbability {
            text: crate::error::shown(&exact::format_decimal(rate)),
        });
    }
    if rate.is_zero() {
        return Ok(Epsilon::ZERO);
    }
    if value.is_zero() || rate.is_one() {
        return Ok(epsilon.clone());
    }
    // It is at least q·ε, whose size decides how many bits are needed.
    let bits = 160 + 2 * exact::floor_log2(value).unsigned_abs() + exact::floor_log2(rate).unsigned_abs();
    let one = Interval::from_integer(1, bits);
    let q = Interval::from_rational(rate, bits);
    let enclosed = if *value < Rational::from(64u8) {
        one.add(&q.mul(&Interval::exp_of(value, bits).sub(&one))).ln()
    } else {
        // The same as ε + ln(q + (1−q)·e^−ε), which holds nothing large.
        let inner = q.add(&one.sub(&q).mul(&Interval::exp_of(&-value.clone(), bits)));
        inner
            .ln()
            .map(|logarithm| logarithm.add(&Interval::from_rational(value, bits)))
    };
    let amplified = Epsilon::at_least(&enclosed.ok_or(Error::Undecided {
        what: "the ε of a sampled part",
    })?)?;
    Ok(amplified.min(epsilon.clone()))
}

fn gaussian(multiplier_squared: &Rational, on: NoiseSupport, delta: &Delta) -> Result<Epsilon, Error> {
    if multiplier_squared.is_zero() {
        return Err(Error::NoNoise);
    }
    match on {
        NoiseSupport::Rounded => epsilon_of_gaussian(multiplier_squared, delta),
        NoiseSupport::Discrete => {
            epsilon_of_concentrated(&Rho::exactly_or_up(&(ratio(1, 2) / multiplier_squared))?, delta)
        }
        NoiseSupport::DiscreteScalar { sensitivity } => {
            let steps = Rational::from(sensitivity);
            epsilon_of_discrete_gaussian(&(multiplier_squared * &steps * &steps), sensitivity, delta)
        }
    }
}

/// Everything in an event, equal things counted together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan<'a> {
    /// The ε of what has one by itself.
    pub(crate) epsilons: BTreeMap<&'a Rational, Natural>,
    /// The δ above 0 of what has one by itself.
    pub(crate) leaks: BTreeMap<&'a Rational, Natural>,
    /// What must be given a δ.
    pub(crate) sharers: BTreeMap<Sharer<'a>, Natural>,
    /// Whether something was stated as (ε, δ)-DP, also with δ = 0.
    pub(crate) approximate: bool,
}

impl<'a> Plan<'a> {
    /// Sorts the simple events in `event`.
    ///
    /// # Errors
    /// When a sampler takes more than there is, or something is known by its Rényi divergences alone.
    pub(crate) fn of(event: &'a Event) -> Result<Self, Error> {
        let mut plan = Self::default();
        for (event, times) in event.leaves() {
            match event {
                Event::Laplace { ratio, .. } => {
                    *plan.epsilons.entry(ratio.as_rational()).or_default() += times
                }
                Event::RandomizedResponse { epsilon, .. }
                | Event::Exponential { epsilon }
                | Event::Pure { epsilon } => {
                    *plan.epsilons.entry(epsilon.as_rational()).or_default() += times
                }
                Event::Approximate { epsilon, delta } => {
                    plan.approximate = true;
                    *plan.epsilons.entry(epsilon.as_rational()).or_default() += &times;
                    if *delta != Delta::ZERO {
                        *plan.leaks.entry(delta.as_rational()).or_default() += times;
                    }
                }
                Event::Gaussian {
                    multiplier_squared,
                    on,
                } => {
                    let sharer = Sharer::Gaussian(multiplier_squared, *on);
                    *plan.sharers.entry(sharer).or_default() += times
                }
                Event::SampledGaussian {
                    sampler,
                    multiplier_squared,
                } => {
                    let rate = super::rate(sampler)?;
                    let sharer = if rate.is_zero() {
                        continue;
                    } else if rate.is_one() {
                        Sharer::Gaussian(multiplier_squared, NoiseSupport::Rounded)
                    } else {
                        Sharer::Sampled(multiplier_squared, rate)
                    };
                    *plan.sharers.entry(sharer).or_default() += times
                }
                Event::Concentrated { rho } => {
                    *plan.sharers.entry(Sharer::Concentrated(rho)).or_default() += times
                }
                Event::Selected { .. } => return Err(Error::RenyiOnly),
                // Leaves are simple.
                Event::Composed(_) | Event::Repeated { .. } => {}
            }
        }
        plan.epsilons.retain(|epsilon, _| !epsilon.is_zero());
        Ok(plan)
    }

    /// How many things share what is left of δ.
    pub(crate) fn sharing(&self) -> Natural {
        self.sharers
            .values()
            .fold(Natural::ZERO, |sum, times| sum + times)
    }

    /// How many searches it takes to give each sharer its ε, in units of the cheapest.
    pub(crate) fn searches(&self) -> usize {
        let cost = |sharer: &Sharer<'_>| match sharer {
            Sharer::Gaussian(_, NoiseSupport::DiscreteScalar { .. }) => 5,
            _ => 1,
        };
        self.sharers.keys().map(cost).sum()
    }

    /// The δ that the events bring themselves, and what is left of `delta` beside it.
    ///
    /// # Errors
    /// When nothing is left because they bring more.
    pub(crate) fn left(&self, delta: &Delta) -> Result<(Rational, Rational), Error> {
        let own = total(&self.leaks);
        let left = delta.as_rational() - &own;
        if left < Rational::ZERO {
            return Err(exceeded(&own, delta));
        }
        Ok((own, left))
    }

    /// The ε of each sharer when each is given `share`.
    ///
    /// # Errors
    /// When one of them has no ε then, or when there are too many different ones.
    pub(crate) fn shared(&self, share: &Delta) -> Result<Vec<(Epsilon, &Natural)>, Error> {
        if self.searches() > MOST_SEARCHES {
            return Err(Error::TooMany {
                what: "searches for the ε of different noises (noise on the integers counts for five)",
                count: self.searches(),
                most: MOST_SEARCHES,
                hint: "round the multipliers down to fewer values, or account in ρ",
            });
        }
        self.sharers
            .iter()
            .map(|(sharer, times)| Ok((sharer.epsilon(share)?, times)))
            .collect()
    }
}

/// The same, or, when there are very many different ε, each rounded up to 12 bits, so that fewer are different.
///
/// Whatever is (ε, δ)-DP is so with a larger ε. It costs at most one part in two thousand, and keeps the time short.
pub(crate) fn coarsened(counted: BTreeMap<Rational, Natural>) -> BTreeMap<Rational, Natural> {
    if counted.len() <= MOST_EPSILONS {
        return counted;
    }
    let mut coarse = BTreeMap::new();
    for (epsilon, times) in counted {
        let rounded = if epsilon.is_zero() {
            epsilon
        } else {
            let unit = exact::power_of_two(exact::floor_log2(&epsilon) - 11);
            Rational::from((&epsilon / &unit).ceil()) * unit
        };
        *coarse.entry(rounded).or_default() += times;
    }
    coarse
}

/// The sum of what is counted.
pub(crate) fn total<K: std::borrow::Borrow<Rational>>(counted: &BTreeMap<K, Natural>) -> Rational {
    counted
        .iter()
        .map(|(value, times)| value.borrow() * Rational::from(times.clone()))
        .fold(Rational::ZERO, |sum, value| sum + value)
}

/// The events' own δ is too much.
pub(crate) fn exceeded(own: &Rational, allowed: &Delta) -> Error {
    Error::DeltaExceeded {
        own: crate::error::shown(&exact::format_decimal(own)),
        allowed: allowed.to_string(),
    }
}
