//! What ran, as it concerns several units at once.

use crate::{Error, Event, NoiseSupport, Promise, Ratio, Sampler};
use exact::Rational;

impl Event {
    /// What ran, for `size` units that change together, such as a family: an event whose every accountant bounds what they are promised.
    ///
    /// A group moves an answer by at most `size` times as much as one unit, so noise counts for that much less: Laplace and Gaussian
    /// noise exactly (their curves are those of the larger sensitivity), the exponential mechanism by its range. What is known by its
    /// (ε, δ) or ρ alone goes through [`Promise::for_group`]. In a shuffled epoch the group's members may meet in one batch, or not: n₁, n₂, … of
    /// them in a batch move it by nᵢΔ, and Σnᵢ² ≤ size².
    ///
    /// This says more than [`Promise::for_group`] does of the result: δ does not grow.
    ///
    /// # Errors
    /// For Poisson and fixed-size samples, where how many of the group are in a step is random and no distribution is kept for it; and when a number
    /// is out of range.
    pub fn for_group(&self, size: u32) -> Result<Self, Error> {
        let factor = Rational::from(size);
        let mut events = Vec::new();
        for (leaf, times) in self.leaves() {
            let times = u64::try_from(times).map_err(|_| Error::TooOften)?;
            let event = Box::new(leaf.leaf_for_group(size, &factor)?);
            events.push(Event::Repeated { event, times });
        }
        Ok(Event::Composed(events))
    }

    fn leaf_for_group(&self, size: u32, factor: &Rational) -> Result<Self, Error> {
        let wider = |on: &NoiseSupport| match on {
            NoiseSupport::DiscreteScalar { sensitivity } => {
                let sensitivity = sensitivity.checked_mul(size.into()).ok_or(Error::TooOften)?;
                Ok(NoiseSupport::DiscreteScalar { sensitivity })
            }
            other => Ok(*other),
        };
        let thinner = |multiplier_squared: &Ratio| {
            // A group of nobody learns nothing from any noise; one unit's will do.
            let squared = factor * factor;
            let squared = if squared.is_zero() { Rational::ONE } else { squared };
            checked(multiplier_squared.as_rational() / squared).map(|value| Ratio::at_most(&value))
        };
        Ok(match self {
            Event::Laplace { ratio, on } => Event::Laplace {
                ratio: Ratio::at_least(&checked(ratio.as_rational() * factor)?),
                on: wider(on)?,
            },
            Event::Gaussian {
                multiplier_squared,
                on,
            } => Event::Gaussian {
                multiplier_squared: thinner(multiplier_squared)?,
                on: wider(on)?,
            },
            Event::SampledGaussian {
                sampler: Sampler::Shuffled,
                multiplier_squared,
            } => Event::SampledGaussian {
                sampler: Sampler::Shuffled,
                multiplier_squared: thinner(multiplier_squared)?,
            },
            Event::SampledGaussian { .. } if size <= 1 => self.clone(),
            Event::SampledGaussian { .. } => {
                return Err(Error::NoCurve {
                    what: "a sampled step, as it concerns several units,",
                });
            }
            Event::Exponential { epsilon } => Event::Exponential {
                epsilon: epsilon.times(size.into()),
            },
            Event::RandomizedResponse { epsilon, .. } | Event::Pure { epsilon } => Event::Pure {
                epsilon: epsilon.times(size.into()),
            },
            Event::Approximate { epsilon, delta } => {
                match Promise::Approximate(epsilon.clone(), delta.clone()).for_group(size)? {
                    Promise::Approximate(epsilon, delta) => Event::Approximate { epsilon, delta },
                    Promise::Pure(epsilon) => Event::Pure { epsilon },
                    Promise::Concentrated(rho) => Event::Concentrated { rho },
                }
            }
            Event::Concentrated { rho } => Event::Concentrated {
                rho: rho.times(u64::from(size).pow(2)),
            },
            // The theorem is about any two databases and what one run says of them.
            Event::Selected { event, runs } => Event::Selected {
                event: Box::new(event.for_group(size)?),
                runs: runs.clone(),
            },
            Event::Composed(_) | Event::Repeated { .. } => unreachable!("leaves are simple"),
        })
    }
}

/// A ratio that an event can keep.
fn checked(value: Rational) -> Result<Rational, Error> {
    if !value.is_zero() && exact::floor_log2(&value).abs() > 600 {
        return Err(Error::OutOfRange {
            quantity: "ratio",
            text: "what a group's would be".to_owned(),
        });
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Curve, Delta, Epsilon, Neighbors, PrivacyUnit, delta_of_gaussian};

    #[test]
    fn a_group_under_gaussian_noise_has_the_curve_of_its_sensitivity() {
        let one = Event::Gaussian {
            multiplier_squared: Ratio::parse("25").unwrap(),
            on: NoiseSupport::Rounded,
        };
        let group = one.for_group(5).unwrap();
        let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
        let asked = Epsilon::parse("1").unwrap();
        let found = Curve::of(&group, &unit).unwrap().delta(&asked).unwrap();
        let truth = delta_of_gaussian(asked.as_rational(), &Rational::ONE, 64);
        assert!(found.upper.as_rational() >= &truth.lower() && found.lower.as_rational() <= &truth.upper());
        // Far below what one person's promise, stretched over five, would be.
        let delta = Delta::parse("1e-5").unwrap();
        let one = Curve::of(&one, &unit).unwrap().guarantee(&delta).unwrap();
        let Promise::Approximate(_, stretched) = one.promise().for_group(5).unwrap() else {
            panic!("an (ε, δ) promise")
        };
        assert!(stretched > delta);
    }

    #[test]
    fn every_kind_that_has_groups_says_so_and_the_others_refuse() {
        let unit = |event: &Event| event.for_group(3);
        let response = Event::RandomizedResponse {
            answers: 4,
            epsilon: Epsilon::parse("0.1").unwrap(),
        };
        let pure = Event::Repeated {
            event: Box::new(Event::Pure {
                epsilon: Epsilon::parse("0.3").unwrap(),
            }),
            times: 1,
        };
        assert_eq!(unit(&response).unwrap(), Event::Composed(vec![pure]));
        let poisson = Event::SampledGaussian {
            sampler: Sampler::Poisson {
                rate: Ratio::parse("0.1").unwrap(),
            },
            multiplier_squared: Ratio::parse("1").unwrap(),
        };
        assert!(unit(&poisson).unwrap_err().to_string().contains("hint:"));
        let leaky = Event::Approximate {
            epsilon: Epsilon::parse("1").unwrap(),
            delta: Delta::parse("0.5").unwrap(),
        };
        assert!(unit(&leaky).is_err());
        let often = Event::Repeated {
            event: Box::new(response),
            times: u64::MAX,
        };
        assert!(often.for_group(2).is_ok());
    }
}
