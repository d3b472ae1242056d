//! The settings of a run: its privacy, from which the plan follows, and how it learns.

use crate::Error;
use accounting::{Delta, Epsilon, Neighbors, PrivacyUnit, Ratio};
use mechanism::Sampling;
use train::private::{Clip, Parameters, Recipe, Summation, TrainingPlan};
use train::{Rule, Schedule};

/// How much noise a run has.
#[derive(Clone, Debug, PartialEq)]
pub enum Noise {
    /// The least with which the whole run keeps this ε.
    Target(Epsilon),
    /// This noise multiplier; ε follows from it.
    Multiplier(Ratio),
}

/// How long a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// The number of steps.
    Steps(u64),
    /// The number of steps, as expected passes over the data.
    Passes(f64),
}

/// Everything that decides about the privacy of a run.
///
/// ```
/// use accounting::{Epsilon, Neighbors, PrivacyUnit};
/// use training::{Length, Noise, Privacy};
///
/// let privacy = Privacy {
///     noise: Noise::Target(Epsilon::parse("4")?),
///     length: Length::Steps(100),
///     size: Some(10_000),
///     ..Privacy::default()
/// };
/// let plan = privacy.plan(&PrivacyUnit::new("person", Neighbors::AddRemove), None, 0, true)?;
/// assert!(*plan.epsilon() <= Epsilon::parse("4")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Privacy {
    /// How much noise there is.
    pub noise: Noise,
    /// The δ of the guarantee.
    pub delta: Delta,
    /// The per-unit clipping norm: the largest L2 norm of one unit's gradient in a step.
    pub clip: f64,
    /// Adaptive clipping: the quantile of the gradient norms that the clipping norm follows, privately.
    pub adaptive_clip: Option<f64>,
    /// The expected batch size, in units.
    pub batch: u64,
    /// How long the run is.
    pub length: Length,
    /// About how many units the data has: a public number.
    pub size: Option<u64>,
    /// Whether the number of units is no secret, so that it is taken from the data.
    pub size_is_public: bool,
    /// Contribution bounding: the most examples of one unit that are used, where a unit has several.
    pub examples_per_unit: u64,
    /// Clip and sum gradients in exact integer arithmetic, unit by unit.
    pub exact_sums: bool,
}

impl Default for Privacy {
    /// ε = 8 and δ = 1e-6 for three passes with batches of 256.
    fn default() -> Self {
        Self {
            noise: Noise::Target(Epsilon::parse("8").expect("a positive number")),
            delta: Delta::parse("1e-6").expect("a probability"),
            clip: 1.0,
            adaptive_clip: None,
            batch: 256,
            length: Length::Passes(3.0),
            size: None,
            size_is_public: false,
            examples_per_unit: 100,
            exact_sums: false,
        }
    }
}

impl Privacy {
    /// The same for another target ε.
    pub fn for_epsilon(&self, epsilon: &Epsilon) -> Self {
        Self {
            noise: Noise::Target(epsilon.clone()),
            ..self.clone()
        }
    }

    /// The curator decides whether the number of units is a secret, not the person who trains.
    pub(crate) fn check_declared_table(&self, unit: &PrivacyUnit) -> Result<(), Error> {
        if self.size_is_public && unit.neighbors == Neighbors::AddRemove {
            return Err(Error::PrivateSize);
        }
        Ok(())
    }

    /// The plan: everything about it is public. `found` is the number of units in the data, which is used
    /// only if that is no secret. `known` is a number that everybody knows anyway. `several` says that units
    /// may have more than one example.
    ///
    /// # Errors
    /// When the size is not known, or the plan cannot be made.
    pub fn plan(
        &self,
        unit: &PrivacyUnit,
        known: Option<u64>,
        found: u64,
        several: bool,
    ) -> Result<TrainingPlan, Error> {
        let replaced = unit.neighbors == Neighbors::ChangeOne;
        let of = match (self.size, known) {
            // Where units are replaced and never added, how many there are is public; a number that is not
            // theirs is refused.
            (size, _) if replaced => size.unwrap_or(found),
            _ if self.size_is_public => found,
            (Some(size), _) | (None, Some(size)) => size,
            (None, None) => {
                return Err(Error::UnknownSize {
                    whose: unit.whose.clone(),
                });
            }
        };
        let steps = match self.length {
            Length::Steps(steps) => steps,
            Length::Passes(passes) if passes.is_finite() && passes > 0.0 => {
                ((passes * of as f64 / self.batch.max(1) as f64).ceil() as u64).max(1)
            }
            Length::Passes(_) => {
                return Err(Error::input(
                    "the expected passes over the data must be a positive number",
                    "3 is a beginning",
                ));
            }
        };
        let mut parameters =
            Parameters::poisson(&unit.whose, self.batch, of, self.clip, steps, self.delta.clone())?;
        if replaced {
            parameters.sampling = Sampling::FixedSize {
                batch: self.batch,
                of,
            };
        }
        if let Some(quantile) = self.adaptive_clip {
            parameters.clip = Clip::Adaptive {
                start: self.clip,
                quantile,
                rate: 0.2,
                share: 0.01,
            };
        }
        parameters.examples_per_unit = several.then_some(self.examples_per_unit);
        if self.exact_sums {
            parameters.summation = Summation::Exact;
        }
        Ok(match &self.noise {
            Noise::Multiplier(multiplier) => parameters.with_multiplier(multiplier.clone())?,
            Noise::Target(epsilon) => parameters.for_target(epsilon)?,
        })
    }
}

/// How the learning rate changes over a run of any length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateSchedule {
    /// It does not.
    #[default]
    Constant,
    /// Straight down to 0.
    Linear,
    /// Up over the first twentieth, then down to 0 along a cosine.
    Cosine,
}

/// How a model learns: nothing here is about privacy.
#[derive(Clone, Debug)]
pub struct Learning {
    /// The optimizer.
    pub rule: Rule,
    /// The learning rate; `None` for the usual one of the model.
    pub rate: Option<f64>,
    /// How it changes.
    pub schedule: RateSchedule,
    /// The seed of the initial parameters; noise and batches do not follow from it.
    pub seed: u64,
    /// Threads; they change nothing but how long it takes.
    pub threads: usize,
    /// The physical batch size: how many examples go through the model at once.
    pub at_once: usize,
    /// Report the loss of each batch, which is **not private**.
    pub show_private_loss: bool,
}

impl Default for Learning {
    /// Adam at the model's usual rate, on one thread.
    fn default() -> Self {
        Self {
            rule: Rule::adam(),
            rate: None,
            schedule: RateSchedule::Constant,
            seed: 1,
            threads: 1,
            at_once: 256,
            show_private_loss: false,
        }
    }
}

impl Learning {
    /// How to train `steps` steps; `rate` is the usual one of the model.
    pub(crate) fn recipe(&self, steps: u64, rate: f64) -> Recipe {
        Recipe {
            rule: self.rule,
            rate: self.rate.unwrap_or(rate),
            schedule: match self.schedule {
                RateSchedule::Constant => Schedule::Constant,
                RateSchedule::Linear => Schedule::Linear,
                RateSchedule::Cosine => Schedule::WarmUpCosine { warm_up: steps / 20 },
            },
            at_once: self.at_once,
            seed: self.seed,
            threads: self.threads,
            show_private_loss: self.show_private_loss,
        }
    }
}
