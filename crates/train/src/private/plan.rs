//! What a private run guarantees, decided before it begins.

use crate::Error;
use accounting::{
    Curve, Delta, Epsilon, Event, Guarantee, Neighbors, PrivacyUnit, Promise, Ratio,
    smallest_training_multiplier,
};
use exact::{Interval, Rational, power_of_two, ratio};
use mechanism::{SampledGaussian, Sampling, Sensitivity, Stated};
use noise::Grid;
use serde::{Deserialize, Serialize};

/// A clipped gradient of length C is 2^this steps long. Sums of 2^33 of them fit an `i64`, and one coordinate fits an `i32`.
pub(crate) const GRID_BITS: u32 = 30;

/// The per-unit clipping norm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Clip {
    /// The same length in all steps.
    Fixed {
        /// C.
        norm: f64,
    },
    /// A length that follows a quantile of the units' norms (Andrew et al. 2021). How many are below it is released with each sum.
    ///
    /// Each unit adds to the sum (g, ±h): its gradient of length at most C, and h with the sign of whether it was short enough. That is one vector of length at most √(C² + h²), with
    /// one noise on all of it, so a step is one Gaussian of that sensitivity and nothing else has to be composed. With the noise multiplier z, gradients have z_Δ = z·√(C²+h²)/C, and
    /// a count of ±½, which is h/2h, has σ_b = z·√(C²+h²)/2h; so z_Δ⁻² + (2σ_b)⁻² = (C² + h²)/(z²·(C²+h²)) = z⁻², which is the rule of Andrew et al..
    /// C itself follows from what was released, which is post-processing; lengths are counted in units of the C of their step.
    Adaptive {
        /// C of the first step.
        start: f64,
        /// The share of units that should be short enough.
        quantile: f64,
        /// How fast C moves: C ← C·e^(−rate·(share − quantile)).
        rate: f64,
        /// h²/C²: what part of the noise pays for the count. 0.01 makes gradients half a percent noisier.
        share: f64,
    },
}

impl Clip {
    /// C of the first step.
    pub fn start(&self) -> f64 {
        match self {
            Clip::Fixed { norm } => *norm,
            Clip::Adaptive { start, .. } => *start,
        }
    }

    /// h in grid steps, where counts are released.
    pub(crate) fn count_steps(&self) -> Option<i64> {
        match self {
            Clip::Fixed { .. } => None,
            Clip::Adaptive { share, .. } => {
                Some(((share.sqrt() * f64::from(1 << GRID_BITS)).round() as i64).max(1))
            }
        }
    }
}

/// How gradients are clipped and added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Summation {
    /// In floats, with the clip factor folded into one product; then put on the grid. Fast. Sensitivity holds up to the rounding of those floats, for which a thousandth of C is set aside:
    /// KNOWN-LIMITS.md says what is not proved.
    Float,
    /// Unit by unit, on the grid and cut there to a norm of at most C in integers, which are then added: exact, in any order.
    Exact,
    /// The mean gradient of each of `number` microbatches, cut to C on the grid as in `Exact` (McMahan et al. 2018). Under Poisson sampling only. One unit more turns the clipped mean of its microbatch into any other vector
    /// of norm at most C, so it moves the sum by up to **2C**, twice as far as where units are clipped one by one: the noise multiplier is relative to that.
    Microbatches {
        /// How many microbatches a step has.
        number: u64,
    },
}

/// Everything that decides about privacy, in one place, so that no two parts of it can disagree.
///
/// ```
/// use accounting::{Delta, Epsilon, Ratio};
/// use train::private::Parameters;
///
/// let parameters = Parameters::poisson("person", 100, 10_000, 1.0, 1000, Delta::parse("1e-5")?)?;
/// let plan = parameters.clone().for_target(&Epsilon::parse("2")?)?;
/// assert!(*plan.epsilon() <= Epsilon::parse("2")?);
/// // Or the noise is chosen, and ε follows.
/// let noisy = parameters.with_multiplier(Ratio::parse("3")?)?;
/// assert!(noisy.epsilon() < plan.epsilon());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Whose privacy: `row`, `person`. Whether one is added or changed follows from the sampling.
    pub whose: String,
    /// How the units of a step are chosen.
    pub sampling: Sampling,
    /// The public number by which sums are divided: the batch that is expected, never the real one.
    pub normaliser: f64,
    /// The per-unit clipping norm.
    pub clip: Clip,
    /// How gradients are added.
    pub summation: Summation,
    /// The deviation of the noise, over how far one unit can move a sum: C where units come and go, 2C where they are replaced or clipped in microbatches, with the count of an adaptive clip on top.
    pub multiplier: Ratio,
    /// How many steps.
    pub steps: u64,
    /// δ of the guarantee.
    pub delta: Delta,
    /// The most examples of one unit that are learned from, where a unit may have several; `None` for all. What one unit does to a sum is bounded by the clip anyway; this bounds how long it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub examples_per_unit: Option<u64>,
}

/// A plan with its certified ε.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parameters", into = "Parameters")]
pub struct TrainingPlan {
    parameters: Parameters,
    epsilon: Epsilon,
}

impl From<TrainingPlan> for Parameters {
    fn from(plan: TrainingPlan) -> Self {
        plan.parameters
    }
}

impl TryFrom<Parameters> for TrainingPlan {
    type Error = Error;

    /// ε follows from the rest, by the certified curve.
    fn try_from(parameters: Parameters) -> Result<Self, Error> {
        parameters.check()?;
        let epsilon = parameters.epsilon_of(parameters.steps)?;
        Ok(Self { parameters, epsilon })
    }
}

impl Parameters {
    /// Batches of about `batch` out of a public number of about `of` units, by Poisson sampling, with a fixed clip and float sums; the noise is not decided yet.
    ///
    /// # Errors
    /// When a batch is larger than the data.
    pub fn poisson(
        whose: &str,
        batch: u64,
        of: u64,
        clip: f64,
        steps: u64,
        delta: Delta,
    ) -> Result<Self, Error> {
        if batch > of || batch == 0 {
            return Err(Error::BatchTooLarge { batch, of });
        }
        Ok(Self {
            whose: whose.to_owned(),
            sampling: Sampling::Poisson {
                rate: Ratio::at_least(&(Rational::from(batch) / Rational::from(of))),
            },
            normaliser: batch as f64,
            clip: Clip::Fixed { norm: clip },
            summation: Summation::Float,
            multiplier: Ratio::at_least(&Rational::ONE),
            steps,
            delta,
            examples_per_unit: None,
        })
    }

    fn check(&self) -> Result<(), Error> {
        let positive = |what, value: f64| {
            if value.is_finite() && value > 1e-12 && value < 1e12 {
                Ok(())
            } else {
                Err(Error::OutOfRange {
                    what,
                    range: "between 1e-12 and 1e12",
                })
            }
        };
        positive("the clip norm", self.clip.start())?;
        positive("the number by which sums are divided", self.normaliser)?;
        if let Clip::Adaptive {
            quantile,
            rate,
            share,
            ..
        } = self.clip
        {
            positive("the rate of the clip norm", rate)?;
            if !(quantile > 0.0 && quantile < 1.0 && share > 1e-9 && share <= 1.0) {
                return Err(Error::OutOfRange {
                    what: "the quantile of an adaptive clip, and the share of its count",
                    range: "between 0 and 1",
                });
            }
        }
        if self.steps == 0 {
            return Err(Error::OutOfRange {
                what: "the number of steps",
                range: "at least 1",
            });
        }
        if self.examples_per_unit == Some(0) {
            return Err(Error::OutOfRange {
                what: "the number of examples of one unit",
                range: "at least 1",
            });
        }
        if let Summation::Microbatches { number } = self.summation
            && !(matches!(self.sampling, Sampling::Poisson { .. }) && (1..=1 << 20).contains(&number))
        {
            return Err(Error::OutOfRange {
                what: "the number of microbatches, which are for Poisson sampling,",
                range: "between 1 and 2^20",
            });
        }
        match self.sampling {
            Sampling::FixedSize { batch, of } | Sampling::Shuffled { batch, of }
                if batch > of || batch == 0 =>
            {
                Err(Error::BatchTooLarge { batch, of })
            }
            _ => Ok(()),
        }
    }

    /// With the least noise that keeps (ε, δ).
    ///
    /// # Errors
    /// When no noise does, or a parameter is out of range.
    pub fn for_target(mut self, epsilon: &Epsilon) -> Result<TrainingPlan, Error> {
        self.check()?;
        let times = self.sampling.times(self.steps);
        self.multiplier = smallest_training_multiplier(&self.sampling.sampler(), times, epsilon, &self.delta)
            .map_err(|source| Error::Unreachable {
                epsilon: epsilon.to_string(),
                source,
            })?;
        TrainingPlan::try_from(self)
    }

    /// With this noise multiplier; ε follows.
    ///
    /// # Errors
    /// When so little noise guarantees nothing, or a parameter is out of range.
    pub fn with_multiplier(mut self, multiplier: Ratio) -> Result<TrainingPlan, Error> {
        self.multiplier = multiplier;
        TrainingPlan::try_from(self)
    }

    fn unit(&self) -> PrivacyUnit {
        PrivacyUnit::new(self.whose.clone(), self.sampling.neighbors())
    }

    fn multiplier_squared(&self) -> Ratio {
        let multiplier = self.multiplier.as_rational();
        Ratio::at_most(&(multiplier * multiplier))
    }

    fn epsilon_of(&self, steps: u64) -> Result<Epsilon, Error> {
        if steps == 0 {
            return Ok(Epsilon::ZERO);
        }
        if self.multiplier.as_rational().is_zero() {
            return Err(accounting::Error::NoNoise.into());
        }
        let event = self.sampling.event(&self.multiplier_squared(), steps)?;
        Ok(Curve::of(&event, &self.unit())?.epsilon(&self.delta)?.upper)
    }
}

impl TrainingPlan {
    /// What was decided.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The certified ε of all steps.
    pub fn epsilon(&self) -> &Epsilon {
        &self.epsilon
    }

    /// What the run guarantees, to whom.
    pub fn guarantee(&self) -> Guarantee {
        let promise = Promise::Approximate(self.epsilon.clone(), self.parameters.delta.clone());
        Guarantee::new(promise, self.parameters.unit())
    }

    /// Whose privacy.
    pub fn unit(&self) -> PrivacyUnit {
        self.parameters.unit()
    }

    /// What a ledger counts the run as. It does not depend on the model.
    ///
    /// # Errors
    /// When a parameter is out of range.
    pub fn event(&self) -> Result<Event, Error> {
        Ok(self.mechanism(1)?.terms().event().clone())
    }

    /// ε of the first `steps` steps: what was really used by a run that was stopped there. It depends on no data; whoever stops because of what the model looked like
    /// still owes what was charged.
    ///
    /// # Errors
    /// When there are more than planned.
    pub fn epsilon_after(&self, steps: u64) -> Result<Epsilon, Error> {
        if steps > self.parameters.steps {
            return Err(Error::OutOfRange {
                what: "the number of steps",
                range: "at most that of the plan",
            });
        }
        self.parameters.epsilon_of(steps)
    }

    /// How far one unit that is in a step can move its sum of this many numbers, in grid steps.
    pub(crate) fn sensitivity(&self, coordinates: usize) -> Result<Sensitivity, Error> {
        let parameters = &self.parameters;
        // Rounding a sum of floats to the grid moves two sums apart by at most one more step in each coordinate: √d in all.
        let rounding = match parameters.summation {
            Summation::Exact | Summation::Microbatches { .. } => Rational::ZERO,
            Summation::Float => Interval::sqrt_of(&Rational::from(coordinates), 32).upper(),
        };
        let length = power_of_two(GRID_BITS as i32) + rounding;
        let count = Rational::from(parameters.clip.count_steps().unwrap_or(0));
        let mut square = &length * &length + &count * &count;
        // One clipped vector becomes another: that of a unit that is replaced, or of the microbatch of one that comes or goes. Never both: see `check`.
        let becomes_another = parameters.sampling.neighbors() == Neighbors::ChangeOne
            || matches!(parameters.summation, Summation::Microbatches { .. });
        if becomes_another {
            square *= ratio(4, 1);
        }
        let numbers = coordinates as u64 + u64::from(parameters.clip.count_steps().is_some());
        // No coordinate moves further than all of them together.
        let most = Interval::sqrt_of(&square, 64).upper();
        let l1 = &most * Rational::from(numbers);
        Ok(Sensitivity::vector(numbers, most)?.with_norms(&l1, &square)?)
    }

    pub(crate) fn grid(&self) -> Grid {
        Grid::new(-(GRID_BITS as i32))
    }

    /// The noise of this plan, for models of this many parameters.
    pub(crate) fn mechanism(&self, coordinates: usize) -> Result<SampledGaussian, Error> {
        Ok(SampledGaussian::new(
            self.parameters.sampling.clone(),
            &self.parameters.multiplier_squared(),
            self.parameters.steps,
            &self.parameters.delta,
            self.sensitivity(coordinates)?,
            self.grid(),
        )?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta() -> Delta {
        Delta::parse("1e-5").unwrap()
    }

    fn plan() -> Parameters {
        Parameters::poisson("person", 100, 10_000, 1.0, 1000, delta()).unwrap()
    }

    #[test]
    fn a_target_is_kept_and_hardly_missed() {
        let target = Epsilon::parse("2").unwrap();
        let found = plan().for_target(&target).unwrap();
        assert!(*found.epsilon() <= target && found.epsilon().to_f64_up() > 1.999);
        assert_eq!(found.guarantee().unit().neighbors, Neighbors::AddRemove);
        // From that noise the same ε follows.
        let again = plan()
            .with_multiplier(found.parameters().multiplier.clone())
            .unwrap();
        assert_eq!(again, found);
        let less = found.epsilon_after(100).unwrap();
        assert!(less < *found.epsilon() && less > Epsilon::ZERO);
        assert_eq!(found.epsilon_after(0).unwrap(), Epsilon::ZERO);
        assert!(found.epsilon_after(1001).is_err());
    }

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let plan = plan().with_multiplier(Ratio::parse("1.1").unwrap()).unwrap();
        let text = serde_json::to_string(&plan).unwrap();
        assert!(!text.contains("epsilon"), "ε follows from the rest: {text}");
        assert_eq!(serde_json::from_str::<TrainingPlan>(&text).unwrap(), plan);
        assert!(serde_json::from_str::<TrainingPlan>(&text.replace("1000", "0")).is_err());
        assert!(
            !text.contains("examples_per_unit"),
            "plans of before are read as ever: {text}"
        );
        let mut capped = plan.parameters().clone();
        capped.examples_per_unit = Some(7);
        let capped = TrainingPlan::try_from(capped).unwrap();
        let text = serde_json::to_string(&capped).unwrap();
        assert_eq!(serde_json::from_str::<TrainingPlan>(&text).unwrap(), capped);
        assert!(serde_json::from_str::<TrainingPlan>(&text.replace(":7", ":0")).is_err());
    }

    #[test]
    fn samplers_have_their_own_sensitivity_and_accounting() {
        let of = |sampling: Sampling, summation| {
            let mut parameters = plan();
            parameters.sampling = sampling;
            parameters.summation = summation;
            parameters.with_multiplier(Ratio::parse("2").unwrap()).unwrap()
        };
        let poisson = of(plan().sampling, Summation::Exact);
        let fixed = of(
            Sampling::FixedSize {
                batch: 100,
                of: 10_000,
            },
            Summation::Exact,
        );
        let shuffled = of(
            Sampling::Shuffled {
                batch: 100,
                of: 10_000,
            },
            Summation::Exact,
        );
        let square = |plan: &TrainingPlan| plan.sensitivity(50).unwrap().l2_squared().clone();
        assert_eq!(square(&poisson), power_of_two(60));
        assert_eq!(square(&fixed), power_of_two(62), "2C where one is replaced");
        assert_eq!(square(&shuffled), power_of_two(62));
        assert_eq!(fixed.unit().neighbors, Neighbors::ChangeOne);
        // 1000 steps of 100 out of 10 000 are ten epochs, each one plain Gaussian.
        let ten = accounting::epsilon_of_gaussian(&ratio(4, 10), &delta()).unwrap();
        assert_eq!(*shuffled.epsilon(), ten);
        let microbatches = Summation::Microbatches { number: 10 };
        assert_eq!(square(&of(plan().sampling, microbatches)), power_of_two(62));
        let mut both = plan();
        both.summation = microbatches;
        both.sampling = Sampling::FixedSize {
            batch: 100,
            of: 10_000,
        };
        assert!(both.with_multiplier(Ratio::parse("2").unwrap()).is_err());
        let float = of(plan().sampling, Summation::Float);
        let wider = square(&float);
        assert!(wider > power_of_two(60) && wider < power_of_two(60) * ratio(1_000_001, 1_000_000));
    }

    /// z_Δ⁻² + (2σ_b)⁻² = z⁻² with the numbers that are used.
    #[test]
    fn an_adaptive_clip_pays_for_its_count() {
        let mut parameters = plan();
        parameters.summation = Summation::Exact;
        parameters.clip = Clip::Adaptive {
            start: 0.5,
            quantile: 0.5,
            rate: 0.2,
            share: 0.01,
        };
        let plan = parameters.with_multiplier(Ratio::parse("1.5").unwrap()).unwrap();
        let mechanism = plan.mechanism(10).unwrap();
        let deviation = mechanism.deviation();
        let (length, count) = (
            f64::from(1 << GRID_BITS),
            plan.parameters.clip.count_steps().unwrap() as f64,
        );
        let gradients = deviation / length;
        let counts = deviation / (2.0 * count);
        let together = 1.0 / (gradients.powi(-2) + (2.0 * counts).powi(-2)).sqrt();
        assert!((together - 1.5).abs() < 1e-9, "{together}");
        assert!(gradients > 1.5 && gradients < 1.51);
    }

    #[test]
    fn what_is_refused_says_what_to_do() {
        for (batch, of) in [(11, 10), (0, 10)] {
            let error = Parameters::poisson("row", batch, of, 1.0, 10, delta()).unwrap_err();
            assert!(error.to_string().contains("hint:"), "{error}");
        }
        let mut none = plan();
        none.delta = Delta::ZERO;
        let error = none.for_target(&Epsilon::parse("1").unwrap()).unwrap_err();
        assert!(error.to_string().contains("hint:"), "{error}");
        for norm in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut bad = plan();
            bad.clip = Clip::Fixed { norm };
            assert!(bad.with_multiplier(Ratio::parse("1").unwrap()).is_err());
        }
        assert!(plan().with_multiplier(Ratio::parse("0").unwrap()).is_err());
    }
}
