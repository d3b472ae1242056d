//! From events to distributions of privacy loss.

use super::ball::Ball;
use super::distribution::LossDistribution;
use super::sampled::{Direction, Sampled};
use crate::laplace::dominating_ratio;
use crate::{Delta, Epsilon, Error, Event, NoiseSupport, Sampler};
use exact::{Natural, Rational, ratio};
use std::collections::BTreeMap;

/// The distributions of an event, merged.
pub(super) struct Reading {
    /// By a key that equal distributions share: a name, and their parameters.
    pub(super) distributions: BTreeMap<(u8, Rational, Rational), (LossDistribution, Natural)>,
    pub(super) mu_squared: Rational,
    /// The δs that events carry, and how often.
    pub(super) leaks: BTreeMap<Rational, Natural>,
    pub(super) largest: Option<Rational>,
    pub(super) attained: bool,
}

impl Reading {
    /// Of nothing yet.
    pub(super) fn new() -> Self {
        Self {
            distributions: BTreeMap::new(),
            mu_squared: Rational::ZERO,
            leaks: BTreeMap::new(),
            largest: Some(Rational::ZERO),
            attained: true,
        }
    }

    fn add(
        &mut self,
        kind: u8,
        key: (&Rational, &Rational),
        distribution: LossDistribution,
        times: &Natural,
    ) {
        let place = self
            .distributions
            .entry((kind, key.0.clone(), key.1.clone()))
            .or_insert((distribution, Natural::ZERO));
        place.1 += times;
    }

    fn bounded(&mut self, epsilon: &Rational, times: &Natural) {
        if let Some(largest) = &mut self.largest {
            *largest += epsilon * Rational::from(times.clone());
            shorten(largest);
        }
    }

    fn pure(&mut self, epsilon: &Rational, times: &Natural) {
        let distribution = LossDistribution::Response {
            epsilon: Ball::from_rational(epsilon),
            indifferent: Ball::ZERO,
        };
        self.add(1, (epsilon, &Rational::from(2u8)), distribution, times);
        self.bounded(epsilon, times);
    }

    fn gaussian(&mut self, multiplier_squared: &Rational, times: &Natural) -> Result<(), Error> {
        if multiplier_squared.is_zero() {
            return Err(Error::NoNoise);
        }
        self.mu_squared += Rational::from(times.clone()) / multiplier_squared;
        shorten(&mut self.mu_squared);
        self.largest = None;
        Ok(())
    }

    pub(super) fn read(&mut self, event: &Event, times: &Natural) -> Result<(), Error> {
        match event {
            Event::Laplace { ratio, .. } if ratio.as_rational().is_zero() => {}
            Event::Laplace { ratio, on } => {
                let epsilon = ratio.as_rational();
                self.attained &= *on == NoiseSupport::Rounded;
                let Some(dominating) = dominating_ratio(epsilon, *on) else {
                    self.pure(epsilon, times);
                    return Ok(());
                };
                let distribution = LossDistribution::Laplace {
                    epsilon: Ball::from_rational(&dominating),
                };
                self.add(2, (&dominating, &Rational::ZERO), distribution, times);
                self.bounded(epsilon, times);
            }
            Event::Gaussian {
                multiplier_squared,
                on,
            } => match on {
                NoiseSupport::Rounded => self.gaussian(multiplier_squared.as_rational(), times)?,
                NoiseSupport::DiscreteScalar { sensitivity: 0 } => {}
                NoiseSupport::DiscreteScalar { sensitivity } => {
                    let variance = multiplier_squared.as_rational()
                        * Rational::from(*sensitivity)
                        * Rational::from(*sensitivity);
                    if variance.is_zero() {
                        return Err(Error::NoNoise);
                    }
                    let steps = Rational::from(*sensitivity);
                    let distribution = LossDistribution::DiscreteGaussian {
                        variance: Ball::from_rational(&variance),
                        sensitivity: *sensitivity as f64,
                    };
                    self.add(3, (&variance, &steps), distribution, times);
                    self.largest = None;
                }
                NoiseSupport::Discrete => {
                    return Err(Error::NoCurve {
                        what: "discrete Gaussian noise on several numbers",
                    });
                }
            },
            Event::SampledGaussian {
                sampler,
                multiplier_squared,
            } => {
                self.sampled(sampler, multiplier_squared.as_rational(), times)?;
            }
            Event::RandomizedResponse { answers, epsilon } => {
                let epsilon = epsilon.as_rational();
                if !epsilon.is_zero() && *answers >= 2 {
                    let answers = Rational::from(*answers);
                    let distribution = LossDistribution::Response {
                        epsilon: Ball::from_rational(epsilon),
                        indifferent: Ball::from_rational(&(&answers - Rational::from(2u8))),
                    };
                    self.add(1, (epsilon, &answers), distribution, times);
                    self.bounded(epsilon, times);
                }
            }
            Event::Exponential { epsilon } => {
                let epsilon = epsilon.as_rational();
                if !epsilon.is_zero() {
                    let distribution = LossDistribution::BoundedRange {
                        epsilon: Ball::from_rational(epsilon),
                    };
                    self.attained = false;
                    self.add(4, (epsilon, &Rational::ZERO), distribution, times);
                    self.bounded(epsilon, times);
                }
            }
            Event::Pure { epsilon } => self.pure_unless_zero(epsilon, times),
            Event::Approximate { epsilon, delta } => {
                self.pure_unless_zero(epsilon, times);
                if *delta != Delta::ZERO {
                    *self.leaks.entry(delta.as_rational().clone()).or_default() += times;
                }
            }
            Event::Concentrated { .. } => {
                return Err(Error::NoCurve {
                    what: "something known by its ρ alone",
                });
            }
            Event::Selected { .. } => return Err(Error::RenyiOnly),
            Event::Composed(_) | Event::Repeated { .. } => unreachable!("leaves are simple"),
        }
        Ok(())
    }

    fn pure_unless_zero(&mut self, epsilon: &Epsilon, times: &Natural) {
        if *epsilon != Epsilon::ZERO {
            self.pure(epsilon.as_rational(), times);
        }
    }

    fn sampled(
        &mut self,
        sampler: &Sampler,
        multiplier_squared: &Rational,
        times: &Natural,
    ) -> Result<(), Error> {
        let rate = sampler.rate()?;
        if rate.is_zero() {
            return Ok(());
        }
        self.attained &= matches!(
            sampler,
            Sampler::Poisson { .. } | Sampler::PoissonChangeOne { .. }
        );
        // Seeing everything tells no less than seeing nearly everything, where 1 − q would be lost in rounding.
        let nearly_all = rate > Rational::ONE - ratio(1, 1_000_000_000);
        self.attained &= !nearly_all || rate.is_one();
        if nearly_all {
            return self.gaussian(multiplier_squared, times);
        }
        if multiplier_squared.is_zero() {
            return Err(Error::NoNoise);
        }
        let step = Sampled {
            rate: Ball::from_rational(&rate),
            sigma: Ball::from_rational(multiplier_squared).sqrt(),
            direction: Direction::Remove,
        };
        let (kind, distribution) = match sampler {
            // One contribution is half as far from nothing as two may be from each other.
            Sampler::PoissonChangeOne { .. } => {
                let sigma = step.sigma * Ball::exact(2.0);
                (7, LossDistribution::Changed(Sampled { sigma, ..step }))
            }
            Sampler::FixedSize { .. } => (5, LossDistribution::FixedSize(step)),
            _ => (6, LossDistribution::Sampled(step)),
        };
        self.add(kind, (&rate, multiplier_squared), distribution, times);
        self.largest = None;
        Ok(())
    }
}

/// Rounds a sum up where many fractions gave it an enormous denominator, which a hundred thousand of them would make slow. By so
/// little, one part in 10⁴⁰, that no end of an interval shows it.
fn shorten(sum: &mut Rational) {
    if exact::floor_log2(&Rational::from(sum.denominator().clone())) > 2048 {
        *sum = exact::decimal_at_least(sum, 40);
    }
}
