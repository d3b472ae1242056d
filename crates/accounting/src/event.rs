//! What ran, as data: parameters, never values.

use crate::{
    Delta, Epsilon, Error, Promise, Ratio, Rho, epsilon_of_concentrated, epsilon_of_discrete_gaussian,
    epsilon_of_gaussian,
};
use exact::{Natural, Rational, ratio};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Events nest no deeper than this when they are read.
pub const MAXIMUM_DEPTH: u32 = 32;

/// Where Gaussian noise lives. The curves differ: noise on the integers is not bounded by the curve of noise on the reals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grid {
    /// Real Gaussian noise, rounded to a grid afterwards. Rounding is post-processing, so the real curve holds, also for
    /// vectors.
    Rounded,
    /// Discrete Gaussian noise on a vector of grid points. Its bound is that of ρ = Δ²/2σ².
    Discrete,
    /// Discrete Gaussian noise on one number whose sensitivity is this many grid steps: its own exact curve holds.
    DiscreteScalar {
        /// Sensitivity in grid steps.
        sensitivity: u64,
    },
}

/// One thing that ran, or several.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Event {
    /// Laplace noise, continuous or on a grid.
    Laplace {
        /// ℓ₁ sensitivity over scale: Δ₁/b.
        ratio: Ratio,
    },
    /// Gaussian noise.
    Gaussian {
        /// Variance over squared ℓ₂ sensitivity: σ²/Δ₂².
        multiplier_squared: Ratio,
        /// Which Gaussian.
        on: Grid,
    },
    /// Randomized response among `answers` answers.
    RandomizedResponse {
        /// How many answers there are.
        answers: u64,
        /// Its ε.
        epsilon: Epsilon,
    },
    /// The exponential mechanism, whose losses lie in a range of width ε: better than pure in composition.
    Exponential {
        /// Its ε.
        epsilon: Epsilon,
    },
    /// Anything that is ε-DP.
    Pure {
        /// Its ε.
        epsilon: Epsilon,
    },
    /// Anything that is (ε, δ)-DP.
    Approximate {
        /// Its ε.
        epsilon: Epsilon,
        /// Its δ.
        delta: Delta,
    },
    /// Anything that is ρ-zCDP.
    Concentrated {
        /// Its ρ.
        rho: Rho,
    },
    /// All of these, each possibly chosen after seeing the earlier answers.
    Composed(#[serde(deserialize_with = "one_level_deeper")] Vec<Event>),
    /// The same event several times.
    Repeated {
        /// What ran.
        #[serde(deserialize_with = "one_level_deeper")]
        event: Box<Event>,
        /// How often.
        times: u64,
    },
}

thread_local! {
    /// How many events enclose the one being read on this thread.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Reads nested events, and refuses hostile nesting long before the stack is in danger, in every format.
fn one_level_deeper<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    /// Steps back up also when reading fails.
    struct Level;
    impl Drop for Level {
        fn drop(&mut self) {
            DEPTH.set(DEPTH.get() - 1);
        }
    }
    if DEPTH.get() + 1 >= MAXIMUM_DEPTH {
        return Err(D::Error::custom(format!(
            "events nest more than {MAXIMUM_DEPTH} deep, which nothing that ran does\nhint: list them side by side in one `composed`"
        )));
    }
    DEPTH.set(DEPTH.get() + 1);
    let _level = Level;
    T::deserialize(deserializer)
}

impl Event {
    /// What the event promises under basic composition, with a total δ of at most `delta`.
    ///
    /// Pure where everything in it is pure. Otherwise the δ that events bring themselves is counted first, and what is left is
    /// split evenly among the Gaussians. When something in it is known by its ρ only, the promise is the sum of ρ.
    ///
    /// # Errors
    /// When the δs do not suffice, when a Gaussian has no noise, or when (ε, δ) and ρ are mixed.
    pub fn promise(&self, delta: &Delta) -> Result<Promise, Error> {
        let leaves = self.leaves();
        if leaves
            .iter()
            .any(|(event, _)| matches!(event, Event::Concentrated { .. }))
        {
            return self.concentrated().map(Promise::Concentrated);
        }
        let mut own = Rational::ZERO;
        let mut sharers = Natural::ZERO;
        for (event, times) in &leaves {
            match event {
                Event::Approximate { delta, .. } => {
                    own += delta.as_rational() * Rational::from(times.clone())
                }
                Event::Gaussian { .. } => sharers += times,
                _ => {}
            }
        }
        let left = delta.as_rational() - &own;
        if left < Rational::ZERO {
            let own = crate::error::shown(&exact::format_decimal(&own));
            return Err(Error::DeltaExceeded {
                own,
                allowed: delta.to_string(),
            });
        }
        let share = match &sharers {
            none if *none == Natural::ZERO => Delta::ZERO,
            some => Delta::rounded_down(&(left / Rational::from(some.clone())))?,
        };
        // Equal Gaussians are common and not cheap: once is enough.
        let mut known = BTreeMap::new();
        let mut total = Epsilon::ZERO;
        let mut pure = true;
        for (event, times) in leaves {
            let one = match event {
                Event::Laplace { ratio } => ratio.as_rational().clone(),
                Event::RandomizedResponse { epsilon, .. }
                | Event::Exponential { epsilon }
                | Event::Pure { epsilon } => epsilon.as_rational().clone(),
                Event::Approximate { epsilon, .. } => {
                    pure = false;
                    epsilon.as_rational().clone()
                }
                Event::Gaussian {
                    multiplier_squared,
                    on,
                } => {
                    pure = false;
                    let epsilon = match known.entry((multiplier_squared, on)) {
                        Entry::Occupied(found) => found.into_mut(),
                        Entry::Vacant(place) => {
                            place.insert(gaussian_epsilon(multiplier_squared.as_rational(), *on, &share)?)
                        }
                    };
                    epsilon.as_rational().clone()
                }
                Event::Concentrated { .. } | Event::Composed(_) | Event::Repeated { .. } => {
                    unreachable!("leaves are simple, and ρ was handled")
                }
            };
            // Rounded one by one, so that many fractions cannot grow one enormous denominator.
            total = total + Epsilon::exactly_or_up(&(one * Rational::from(times)))?;
        }
        if pure {
            return Ok(Promise::Pure(total));
        }
        let spent = own + share.as_rational() * Rational::from(sharers);
        Ok(Promise::Approximate(total, Delta::exactly_or_up(&spent)?))
    }

    /// The ρ of everything in the event.
    ///
    /// ε²/2 where it is pure (Bun and Steinke 2016, Proposition 1.4), ε²/8 for the exponential mechanism (bounded range; Cesar
    /// and Rogers 2021), Δ²/2σ² for Gaussian noise (Bun and Steinke 2016, Proposition 1.6; on a grid, Canonne, Kamath and
    /// Steinke 2020, Theorem 4).
    ///
    /// # Errors
    /// When an (ε, δ) event is in it, which has no ρ, or a Gaussian has no noise.
    pub fn concentrated(&self) -> Result<Rho, Error> {
        let mut total = Rho::ZERO;
        for (event, times) in self.leaves() {
            let half_square = |epsilon: &Rational| epsilon * epsilon * ratio(1, 2);
            let one = match event {
                Event::Laplace { ratio } => half_square(ratio.as_rational()),
                Event::Exponential { epsilon } => half_square(epsilon.as_rational()) * ratio(1, 4),
                Event::RandomizedResponse { epsilon, .. } | Event::Pure { epsilon } => {
                    half_square(epsilon.as_rational())
                }
                Event::Gaussian {
                    multiplier_squared, ..
                } if multiplier_squared.as_rational().is_zero() => {
                    return Err(Error::NoNoise);
                }
                Event::Gaussian {
                    multiplier_squared, ..
                } => ratio(1, 2) / multiplier_squared.as_rational(),
                Event::Concentrated { rho } => rho.as_rational().clone(),
                Event::Approximate { epsilon, delta } if *delta == Delta::ZERO => {
                    half_square(epsilon.as_rational())
                }
                _ => return Err(Error::MixedPromises),
            };
            total = total + Rho::exactly_or_up(&(one * Rational::from(times)))?;
        }
        Ok(total)
    }

    /// The simple events in it, with how often each ran. Iterative, so that depth costs no stack.
    fn leaves(&self) -> Vec<(&Event, Natural)> {
        let mut leaves = Vec::new();
        let mut stack = vec![(self, Natural::ONE)];
        while let Some((event, count)) = stack.pop() {
            match event {
                Event::Composed(events) => {
                    stack.extend(events.iter().rev().map(|event| (event, count.clone())))
                }
                Event::Repeated { times: 0, .. } => {}
                Event::Repeated { event, times } => stack.push((event, count * Natural::from(*times))),
                simple => leaves.push((simple, count)),
            }
        }
        leaves
    }
}

fn gaussian_epsilon(multiplier_squared: &Rational, on: Grid, delta: &Delta) -> Result<Epsilon, Error> {
    if multiplier_squared.is_zero() {
        return Err(Error::NoNoise);
    }
    match on {
        Grid::Rounded => epsilon_of_gaussian(multiplier_squared, delta),
        Grid::Discrete => {
            epsilon_of_concentrated(&Rho::exactly_or_up(&(ratio(1, 2) / multiplier_squared))?, delta)
        }
        Grid::DiscreteScalar { sensitivity } => {
            let steps = Rational::from(sensitivity);
            epsilon_of_discrete_gaussian(&(multiplier_squared * &steps * &steps), sensitivity, delta)
        }
    }
}
