//! What ran, as data: parameters, never values.

use crate::composition::{MOST_EPSILONS, Plan, coarsened, rate as sampling_rate};
use crate::laplace::dominating_ratio;
use crate::{
    Delta, Epsilon, Error, Guarantee, Neighbors, PrivacyUnit, Promise, Ratio, Rho, Runs, Sampler,
    rho_of_laplace, rho_of_pure,
};
use exact::{Natural, Rational, ratio};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::cell::Cell;
use std::collections::BTreeMap;

/// Events nest no deeper than this when they are read.
pub const MAXIMUM_DEPTH: u32 = 32;

/// Where noise lives. The curves differ: noise on the integers is not bounded by the curve of noise on the reals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseSupport {
    /// Real noise, rounded to a grid afterwards if at all. Rounding is post-processing, so the real curve holds. For Gaussian noise
    /// also on vectors; Laplace noise only where one number can change.
    Rounded,
    /// Discrete noise on a vector of grid points. For Gaussian noise the bound is that of ρ = Δ²/2σ², for Laplace noise that of ε.
    Discrete,
    /// Discrete noise where one number can change, by this many grid steps: its own curve holds.
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
    /// Laplace noise.
    Laplace {
        /// ℓ₁ sensitivity over scale: Δ₁/b.
        ratio: Ratio,
        /// Which Laplace.
        on: NoiseSupport,
    },
    /// Gaussian noise.
    Gaussian {
        /// Variance over squared ℓ₂ sensitivity: σ²/Δ₂².
        multiplier_squared: Ratio,
        /// Which Gaussian.
        on: NoiseSupport,
    },
    /// Gaussian noise on the sum over a random part of the data, as one step of private training takes it.
    SampledGaussian {
        /// How the part is chosen, which decides the bound.
        sampler: Sampler,
        /// Variance over the squared ℓ₂ distance by which one unit that is in the part can move the sum: σ²/Δ₂². With contributions
        /// clipped to C, that is C for a unit that comes or goes (Poisson), and 2C for one that is replaced (the other samplers).
        multiplier_squared: Ratio,
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
    /// The best outcome of a random number of runs; the others are not published. Known by its Rényi divergences.
    Selected {
        /// One run.
        #[serde(deserialize_with = "one_level_deeper")]
        event: Box<Event>,
        /// How many there are.
        runs: Runs,
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
    /// split evenly among the Gaussians, sampled or not. When something in it is known by its ρ only, the promise is the sum of ρ.
    ///
    /// Sums of ε and δ: Dwork and Roth 2014. A step on a sampled part costs less than one on everything: Balle, Barthe and
    /// Gaboardi 2018. A shuffled epoch costs one Gaussian, because a unit is in one batch of it: given the order,
    /// the other batches say nothing about it.
    ///
    /// # Errors
    /// When the δs do not suffice, when a Gaussian has no noise, when a sampler takes more than there is, when (ε, δ) and ρ are
    /// mixed, or when hundreds of different Gaussians share δ.
    pub fn promise(&self, delta: &Delta) -> Result<Promise, Error> {
        self.neighbors()?;
        if self
            .leaves()
            .iter()
            .any(|(event, _)| matches!(event, Event::Concentrated { .. }))
        {
            return self.concentrated().map(Promise::Concentrated);
        }
        let plan = Plan::of(self)?;
        let (own, left) = plan.left(delta)?;
        let sharing = plan.sharing();
        let share = if sharing == Natural::ZERO {
            Delta::ZERO
        } else {
            Delta::rounded_down(&(left / Rational::from(sharing.clone())))?
        };
        let mut total = Epsilon::ZERO;
        // Rounded one by one, so that many fractions cannot grow one enormous denominator.
        for (epsilon, times) in &plan.epsilons {
            total = total + Epsilon::exactly_or_up(&(*epsilon * Rational::from(times.clone())))?;
        }
        for (epsilon, times) in plan.shared(&share)? {
            total = total + Epsilon::exactly_or_up(&(epsilon.as_rational() * Rational::from(times.clone())))?;
        }
        if sharing == Natural::ZERO && !plan.approximate {
            return Ok(Promise::Pure(total));
        }
        let spent = own + share.as_rational() * Rational::from(sharing);
        Ok(Promise::Approximate(total, Delta::exactly_or_up(&spent)?))
    }

    /// The ρ of everything in the event: sums (Bun and Steinke 2016).
    ///
    /// - ε·tanh(ε/2) where it is pure, see [`rho_of_pure`]; for Laplace noise on one number less, see [`rho_of_laplace`].
    /// - ε²/8 for the exponential mechanism (bounded range; Cesar and Rogers 2021), or as for anything pure where that is less.
    /// - Δ²/2σ² for Gaussian noise (Bun and Steinke 2016; on a grid, Canonne, Kamath and Steinke 2020).
    /// - The same for Gaussian noise on a sampled part: given which part, the outputs are the same or as far apart as without sampling, and
    ///   the Rényi divergence of two mixtures is at most the largest within (it is quasi-convex; van Erven and Harremoës 2014).
    ///   For a shuffled epoch, once.
    ///
    /// # Errors
    /// When an (ε, δ) event is in it, which has no ρ, or a Gaussian has no noise, or a sampler takes more than there is.
    pub fn concentrated(&self) -> Result<Rho, Error> {
        self.neighbors()?;
        let mut total = Rho::ZERO;
        let mut add = |one: &Rational, times: Natural| -> Result<(), Error> {
            total = &total + &Rho::exactly_or_up(&(one * Rational::from(times)))?;
            Ok(())
        };
        // Equal events are common, and an exponential is not free: they are counted first.
        let mut pure: BTreeMap<Rational, Natural> = BTreeMap::new();
        let mut laplace: BTreeMap<(Rational, NoiseSupport), Natural> = BTreeMap::new();
        for (event, times) in self.leaves() {
            match event {
                Event::Laplace { ratio, on } => {
                    *laplace.entry((ratio.as_rational().clone(), *on)).or_default() += times
                }
                // ε²/8 is the smaller one up to ε just below 8.
                Event::Exponential { epsilon } if *epsilon.as_rational() < ratio(7, 1) => add(
                    &(epsilon.as_rational() * epsilon.as_rational() * ratio(1, 8)),
                    times,
                )?,
                Event::Exponential { epsilon } => {
                    let square = epsilon.as_rational() * epsilon.as_rational() * ratio(1, 8);
                    add(&square.min(epsilon.concentrated()?.as_rational().clone()), times)?
                }
                Event::RandomizedResponse { epsilon, .. } | Event::Pure { epsilon } => {
                    *pure.entry(epsilon.as_rational().clone()).or_default() += times
                }
                Event::Approximate { epsilon, delta } if *delta == Delta::ZERO => {
                    *pure.entry(epsilon.as_rational().clone()).or_default() += times
                }
                Event::Gaussian {
                    multiplier_squared, ..
                } => add(&gaussian_rho(multiplier_squared)?, times)?,
                Event::SampledGaussian {
                    sampler,
                    multiplier_squared,
                } => {
                    if !sampling_rate(sampler)?.is_zero() {
                        add(&gaussian_rho(multiplier_squared)?, times)?
                    }
                }
                Event::Concentrated { rho } => add(rho.as_rational(), times)?,
                Event::Selected { .. } => return Err(Error::RenyiOnly),
                _ => return Err(Error::MixedPromises),
            }
        }
        // Too many different ones to take an exponential of each: what holds for anything pure holds for them, coarsened alike.
        if laplace.len() > MOST_EPSILONS {
            for ((epsilon, _), times) in std::mem::take(&mut laplace) {
                *pure.entry(epsilon).or_default() += times;
            }
        }
        for ((epsilon, on), times) in laplace {
            let mut rho = rho_of_pure(&epsilon)?;
            if let Some(dominating) = dominating_ratio(&epsilon, on) {
                rho = rho.min(rho_of_laplace(&dominating)?);
            }
            add(rho.as_rational(), times)?;
        }
        for (epsilon, times) in coarsened(pure) {
            add(rho_of_pure(&epsilon)?.as_rational(), times)?;
        }
        Ok(total)
    }

    /// What the event promises to `unit` under basic composition: [`Event::promise`], for the unit it is about.
    ///
    /// # Errors
    /// As [`Event::promise`], or when a sampler in it is about other neighbours than the unit's.
    pub fn guarantee(&self, unit: &PrivacyUnit, delta: &Delta) -> Result<Guarantee, Error> {
        self.check_unit(unit)?;
        Ok(Guarantee::new(self.promise(delta)?, unit.clone()))
    }

    /// The neighbours that the samplers in it demand; `None` when it has none, and holds for whichever neighbours its
    /// sensitivities were stated for.
    ///
    /// # Errors
    /// When two samplers in it demand different ones.
    pub fn neighbors(&self) -> Result<Option<Neighbors>, Error> {
        let mut demanded = None;
        let mut stack: Vec<&Event> = self.leaves().into_iter().map(|(event, _)| event).collect();
        while let Some(event) = stack.pop() {
            let sampler = match event {
                Event::SampledGaussian { sampler, .. } => sampler,
                Event::Selected { event, .. } => {
                    stack.extend(event.leaves().into_iter().map(|(event, _)| event));
                    continue;
                }
                _ => continue,
            };
            match demanded.replace(sampler.neighbors()) {
                Some(other) if other != sampler.neighbors() => return Err(Error::MixedNeighbors),
                _ => {}
            }
        }
        Ok(demanded)
    }

    /// Refuses a unit whose neighbours are not those that the samplers in the event demand.
    ///
    /// # Errors
    /// When they are not, or the samplers do not agree among themselves.
    pub fn check_unit(&self, unit: &PrivacyUnit) -> Result<(), Error> {
        let (demanded, hint) = match self.neighbors()? {
            None => return Ok(()),
            Some(demanded) if demanded == unit.neighbors => return Ok(()),
            Some(Neighbors::AddRemove) => (
                "a unit added or removed",
                "account for a unit that is added or removed; one that changes is a removal and an addition, so a group of two",
            ),
            Some(Neighbors::ChangeOne) => (
                "a unit that changes",
                "account for a unit whose data may change, or draw Poisson samples",
            ),
        };
        Err(Error::OtherNeighbors {
            demanded,
            unit: unit.to_string(),
            hint,
        })
    }

    /// The simple events in it, with how often each ran. Iterative, so that depth costs no stack.
    pub(crate) fn leaves(&self) -> Vec<(&Event, Natural)> {
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

/// Δ²/2σ².
fn gaussian_rho(multiplier_squared: &Ratio) -> Result<Rational, Error> {
    if multiplier_squared.as_rational().is_zero() {
        return Err(Error::NoNoise);
    }
    Ok(ratio(1, 2) / multiplier_squared.as_rational())
}
