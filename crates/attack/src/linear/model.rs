//! A mechanism to attack: with any noise, and repeatable from a seed.

use super::{Oracle, Subset};
use crate::{Error, Seeded};
use accounting::{Delta, Epsilon, smallest_multiplier};
use exact::to_f64_nearest;
use std::convert::Infallible;

/// What is added to each answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Nothing.
    None,
    /// Anything from −`most` to `most`, equally likely: keeps answers useful and protects nobody.
    Uniform {
        /// How far an answer is off at most.
        most: f64,
    },
    /// A normal number.
    Gaussian {
        /// Its standard deviation.
        deviation: f64,
    },
    /// A number with a density that falls by e on each side for each `scale`.
    Laplace {
        /// Its mean distance from zero.
        scale: f64,
    },
}

impl Noise {
    /// Uniform noise of ±α√n for n people.
    pub fn uniform(alpha: f64, people: usize) -> Self {
        Self::Uniform {
            most: alpha * (people as f64).sqrt(),
        }
    }

    /// Gaussian noise with which `queries` answers together are (ε, δ)-differentially private towards
    /// changing one bit.
    ///
    /// A bit moves each answer by at most 1, so all of them together by √m in ℓ₂: m answers with deviation σ
    /// cost as much as one with sensitivity √m, and the smallest σ is √m times that of a single answer (Balle
    /// and Wang 2018).
    ///
    /// # Errors
    /// When δ = 0, since Gaussian noise needs one, or ε = 0.
    pub fn gaussian_for(epsilon: &Epsilon, delta: &Delta, queries: u64) -> Result<Self, Error> {
        let one = smallest_multiplier(epsilon, delta).map_err(unusable)?;
        Ok(Self::Gaussian {
            deviation: to_f64_nearest(&one) * (queries as f64).sqrt(),
        })
    }

    /// Laplace noise with which `queries` answers together are ε-differentially private: a bit moves them by
    /// m in ℓ₁, so the scale is m/ε.
    ///
    /// # Errors
    /// When ε = 0.
    pub fn laplace_for(epsilon: &Epsilon, queries: u64) -> Result<Self, Error> {
        let epsilon = epsilon.to_f64_down();
        if epsilon <= 0.0 {
            return Err(unusable("ε must be positive"));
        }
        Ok(Self::Laplace {
            scale: queries as f64 / epsilon,
        })
    }

    /// Its standard deviation.
    pub fn deviation(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Uniform { most } => most / 3f64.sqrt(),
            Self::Gaussian { deviation } => deviation,
            Self::Laplace { scale } => scale * 2f64.sqrt(),
        }
    }

    fn draw(self, seeded: &mut Seeded) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Uniform { most } => most * (2.0 * seeded.unit() - 1.0),
            Self::Gaussian { deviation } => deviation * seeded.normal(),
            Self::Laplace { scale } => {
                let distance = -scale * (1.0 - seeded.unit()).ln();
                if seeded.below(2) == 1 { distance } else { -distance }
            }
        }
    }
}

fn unusable(why: impl std::fmt::Display) -> Error {
    let text = why.to_string();
    let (what, hint) = text
        .split_once("\nhint: ")
        .unwrap_or((&text, "try ε = 1 and δ = 1e-6"));
    Error::bad_setting(what, hint)
}

/// Answers every query, with noise.
pub struct Model {
    /// Packed as subsets are.
    secrets: Vec<u64>,
    noise: Noise,
    seeded: Seeded,
}

impl Model {
    /// The mechanism that answers about these bits.
    pub fn new(secrets: &[bool], noise: Noise, seeded: Seeded) -> Self {
        let secrets = secrets
            .chunks(64)
            .map(|bits| bits.iter().rev().fold(0, |word, bit| word << 1 | u64::from(*bit)))
            .collect();
        Self {
            secrets,
            noise,
            seeded,
        }
    }
}

impl Oracle for Model {
    type Error = Infallible;

    fn answer(&mut self, subset: Subset<'_>) -> Result<Option<f64>, Infallible> {
        Ok(Some(
            subset.count_of(&self.secrets) as f64 + self.noise.draw(&mut self.seeded),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::{Queries, interrogate, secrets};
    use accounting::{Accountant, Event, Neighbors, NoiseSupport, PrivacyUnit, Ratio};

    #[test]
    fn without_noise_the_answers_are_counts() {
        let mut seeded = Seeded::new(1);
        let bits = secrets(100, &mut seeded);
        let queries = Queries::random(100, 20, &mut seeded).unwrap();
        let answers = interrogate(&mut Model::new(&bits, Noise::None, seeded), &queries, || ()).unwrap();
        for (index, answer) in answers.iter().enumerate() {
            let count = queries
                .subset(index)
                .people()
                .filter(|person| bits[*person])
                .count();
            assert_eq!(*answer, count as f64);
        }
    }

    #[test]
    fn noise_is_as_wide_as_it_says() {
        // 100,000 draws; the widest of the four distributions has 1.6 standard errors of 1/√(4·100,000) each,
        // so 2 % are more than six of them.
        let mut seeded = Seeded::new(2);
        for noise in [
            Noise::Uniform { most: 3.0 },
            Noise::Gaussian { deviation: 2.0 },
            Noise::Laplace { scale: 5.0 },
        ] {
            let draws: Vec<f64> = (0..100_000).map(|_| noise.draw(&mut seeded)).collect();
            let mean: f64 = draws.iter().sum::<f64>() / 1e5;
            let deviation = (draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / 1e5).sqrt();
            assert!(
                (deviation / noise.deviation() - 1.0).abs() < 0.02,
                "{noise:?}: {deviation}"
            );
            assert!(mean.abs() < 0.02 * noise.deviation(), "{noise:?}: {mean}");
        }
        assert_eq!(Noise::None.draw(&mut seeded), 0.0);
    }

    #[test]
    fn the_accountant_agrees_that_all_answers_together_cost_what_was_asked() {
        let unit = PrivacyUnit::new("person", Neighbors::ChangeOne);
        let (epsilon, delta) = (Epsilon::parse("1").unwrap(), Delta::parse("1e-6").unwrap());
        let Noise::Gaussian { deviation } = Noise::gaussian_for(&epsilon, &delta, 1024).unwrap() else {
            panic!("Gaussian noise")
        };
        let cost = |deviation: f64| {
            let variance = exact::from_f64(deviation * deviation).unwrap();
            let one = Event::Gaussian {
                multiplier_squared: Ratio::at_most(&variance),
                on: NoiseSupport::Rounded,
            };
            let all = Event::Repeated {
                event: Box::new(one),
                times: 1024,
            };
            Accountant::Numerical
                .epsilon(&all, &unit, &delta)
                .unwrap()
                .to_f64_up()
        };
        assert!((cost(deviation) - 1.0).abs() < 1e-6, "{}", cost(deviation));
        assert!(cost(0.95 * deviation) > 1.04);
        let Noise::Laplace { scale } = Noise::laplace_for(&epsilon, 1024).unwrap() else {
            panic!("Laplace noise")
        };
        assert_eq!(scale, 1024.0);
    }

    #[test]
    fn guarantees_that_no_noise_keeps_are_refused() {
        let (zero, one) = (Epsilon::ZERO, Epsilon::parse("1").unwrap());
        for refused in [
            Noise::gaussian_for(&one, &Delta::ZERO, 4),
            Noise::laplace_for(&zero, 4),
        ] {
            assert!(refused.unwrap_err().to_string().contains("hint: "));
        }
    }
}
