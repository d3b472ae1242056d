//! How a model of the study is trained, and what that guarantees.

use crate::private::{Parameters, Summation, TrainingPlan};
use accounting::{
    Curve, Delta, Epsilon, Error, Event, Guarantee, Neighbors, PrivacyUnit, Ratio, Sampler,
    smallest_training_multiplier,
};
use exact::{Rational, from_f64};
use serde::{Deserialize, Serialize};

/// What is done for privacy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Privacy {
    /// Nothing.
    None,
    /// Each record's gradient is clipped: the sum moves by at most the clip norm when a record is added or removed.
    Records {
        /// C.
        clip: f64,
        /// σ/C.
        noise: f64,
    },
    /// The mean gradient of each of a number of microbatches is clipped. One record more turns its microbatch's clipped mean into any other vector of norm at most
    /// C, so the sum moves by up to **2C**: noise of σ counts half.
    Microbatches {
        /// How many.
        number: usize,
        /// C.
        clip: f64,
        /// σ/C, as the recipe states it.
        noise: f64,
    },
}

/// One arm of the study.
///
/// ```
/// use accounting::Delta;
/// use train::case_study::Recipe;
///
/// // What the published noise guarantees to one row in 50 steps, microbatches counted as they are.
/// let guarantee = Recipe::of_the_paper().guarantee(202_000, 50, &Delta::parse("1e-6")?)?;
/// println!("{}", guarantee.expect("there is noise"));
/// assert_eq!(Recipe::ordinary().guarantee(202_000, 50, &Delta::parse("1e-6")?)?, None);
/// # Ok::<(), accounting::Error>(())
/// ```
///
/// Adam throughout; with privacy each record is in each step with probability batch/rows, without it batches are shuffled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// For people.
    pub name: String,
    /// How many.
    pub steps: u64,
    /// Records in a step, on average.
    pub batch: usize,
    /// Of Adam.
    pub learning_rate: f64,
    /// What is done for privacy.
    pub privacy: Privacy,
}

impl Recipe {
    /// The paper's without privacy: 8,100 steps of 100 rows, Adam at 1e-3.
    pub fn ordinary() -> Self {
        Self {
            name: "ordinary".to_owned(),
            steps: 8_100,
            batch: 100,
            learning_rate: 1e-3,
            privacy: Privacy::None,
        }
    }

    /// The paper's with noise: clip 1.0, noise 0.3, ten microbatches of ten.
    pub fn of_the_paper() -> Self {
        Self {
            name: "the paper's, with noise".to_owned(),
            privacy: Privacy::Microbatches {
                number: 10,
                clip: 1.0,
                noise: 0.3,
            },
            ..Self::ordinary()
        }
    }

    /// Records clipped one by one, with the least noise that reaches (ε, δ).
    ///
    /// # Errors
    /// When no noise reaches it.
    pub fn private(
        rows: usize,
        batch: usize,
        steps: u64,
        learning_rate: f64,
        clip: f64,
        epsilon: &Epsilon,
        delta: &Delta,
    ) -> Result<Self, Error> {
        let noise = smallest_training_multiplier(&sampler(batch, rows), steps, epsilon, delta)?;
        Ok(Self {
            name: format!("private, ε ≤ {epsilon}"),
            steps,
            batch,
            learning_rate,
            privacy: Privacy::Records {
                clip,
                // Away from zero: what is drawn has no less noise than was calibrated.
                noise: exact::to_f64_up(noise.as_rational()),
            },
        })
    }

    /// The plan of a run on `rows` rows, a number that is a setting of the study and so public. `None` without privacy.
    ///
    /// # Errors
    /// When the noise is not a positive number, or the plan cannot be made.
    pub fn plan(&self, rows: usize, delta: &Delta) -> Result<Option<TrainingPlan>, crate::Error> {
        let (clip, summation, normaliser) = match self.privacy {
            Privacy::None => return Ok(None),
            Privacy::Records { clip, .. } => (clip, Summation::Float, self.batch as f64),
            Privacy::Microbatches { number, clip, .. } => {
                let number = number as u64;
                (clip, Summation::Microbatches { number }, number as f64)
            }
        };
        let whose = Self::unit().whose;
        let (batch, rows) = (self.batch as u64, rows as u64);
        let mut parameters = Parameters::poisson(&whose, batch, rows, clip, self.steps, delta.clone())?;
        parameters.summation = summation;
        parameters.normaliser = normaliser;
        // Never more noise than is drawn.
        let multiplier = Ratio::at_most(&self.multiplier()?.unwrap_or_default());
        Ok(Some(parameters.with_multiplier(multiplier)?))
    }

    /// The noise over how far one record moves a sum.
    fn multiplier(&self) -> Result<Option<Rational>, Error> {
        Ok(match self.privacy {
            Privacy::None => None,
            Privacy::Records { noise, .. } => Some(exact_number(noise)?),
            Privacy::Microbatches { noise, .. } => Some(exact_number(noise)? / Rational::from(2u32)),
        })
    }

    /// What runs, for the accountant. `None` without privacy.
    ///
    /// # Errors
    /// When the noise is not a positive number.
    pub fn event(&self, rows: usize, steps: u64) -> Result<Option<Event>, Error> {
        let Some(multiplier) = self.multiplier()? else {
            return Ok(None);
        };
        Ok(Some(Event::Repeated {
            event: Box::new(Event::SampledGaussian {
                sampler: sampler(self.batch, rows),
                multiplier_squared: Ratio::at_most(&(&multiplier * &multiplier)),
            }),
            times: steps,
        }))
    }

    /// What the first `steps` steps guarantee to each record, by the certified curve. `None` without privacy.
    ///
    /// # Errors
    /// When there is no finite ε.
    pub fn guarantee(&self, rows: usize, steps: u64, delta: &Delta) -> Result<Option<Guarantee>, Error> {
        let Some(event) = self.event(rows, steps)? else {
            return Ok(None);
        };
        Curve::of(&event, &Self::unit())?.guarantee(delta).map(Some)
    }

    /// Whose privacy: a row of tokens, added or removed.
    pub fn unit() -> PrivacyUnit {
        PrivacyUnit::new("row", Neighbors::AddRemove)
    }
}

fn exact_number(value: f64) -> Result<Rational, Error> {
    from_f64(value)
        .filter(|value| *value > Rational::ZERO)
        .ok_or(Error::NotAProbability {
            text: "a noise that is no positive number".to_owned(),
        })
}

fn sampler(batch: usize, rows: usize) -> Sampler {
    let rate = Rational::from(batch as u64) / Rational::from(rows.max(1) as u64);
    Sampler::Poisson {
        rate: Ratio::at_least(&rate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use accounting::Promise;

    fn epsilon(recipe: &Recipe) -> f64 {
        let delta = Delta::parse("1e-6").unwrap();
        let guarantee = recipe.guarantee(202_000, recipe.steps, &delta).unwrap().unwrap();
        let Promise::Approximate(epsilon, _) = guarantee.promise() else {
            panic!("an (ε, δ) promise")
        };
        epsilon.to_f64_up()
    }

    #[test]
    fn microbatches_count_half_the_noise() {
        let mut paper = Recipe::of_the_paper();
        paper.steps = 50;
        let records = |noise| Recipe {
            privacy: Privacy::Records { clip: 1.0, noise },
            ..paper.clone()
        };
        let event = |recipe: &Recipe| recipe.event(202_000, 50).unwrap();
        assert_eq!(event(&paper), event(&records(0.15)));
        // The plan that is charged says the same.
        let delta = Delta::parse("1e-6").unwrap();
        let planned = paper.plan(202_000, &delta).unwrap().unwrap();
        assert_eq!(Some(planned.event().unwrap()), event(&paper));
        // What the recipe would promise if microbatches cost nothing.
        let (doubled, wrong) = (epsilon(&paper), epsilon(&records(0.3)));
        assert!(wrong < doubled / 2.0, "{wrong} {doubled}");
    }

    #[test]
    fn a_target_is_kept() {
        let (target, delta) = (Epsilon::parse("8").unwrap(), Delta::parse("1e-6").unwrap());
        let recipe = Recipe::private(202_000, 400, 2_000, 2e-3, 1.0, &target, &delta).unwrap();
        let found = epsilon(&recipe);
        assert!(found <= 8.0 && found > 7.99, "{found}");
        assert_eq!(Recipe::ordinary().guarantee(10, 10, &delta).unwrap(), None);
        let mut none = recipe;
        none.privacy = Privacy::Records {
            clip: 1.0,
            noise: 0.0,
        };
        assert!(none.event(10, 10).is_err());
    }
}
