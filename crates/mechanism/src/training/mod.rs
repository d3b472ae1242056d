//! Noise for many steps under one charge: what private training releases.

mod fingerprint;
mod run;
mod sampling;
mod summed;

pub use fingerprint::Fingerprint;
pub use run::{SavedTraining, Step, Training};
pub(crate) use run::{hexadecimal, key_for, key_from_hexadecimal};
use sampling::Parts;
pub use sampling::Sampling;
pub use summed::Summed;

use crate::account::key_from;
use crate::gaussian::recorded;
use crate::{Accuracy, Aggregate, Error, Mechanism, Permit, Sensitivity, Stated, Terms};
use accounting::{Curve, Delta, Event, Neighbors, PrivacyUnit, Promise, Ratio};
use exact::{Interval, Rational, ratio};
use noise::{Grid, RoundedGaussian};

/// Gaussian noise on sums over random parts of the data, a planned number of times.
///
/// [`Account::begin_training`](crate::Account::begin_training) charges for all steps before the first and hands them out one by one, each sum computed after seeing the answers
/// so far. As a [`Mechanism`] it takes what each unit adds to every sum, once for all steps.
///
/// # Privacy
/// Claim: (ε, δ)-DP for the stated number of steps, with ε from the certified curve, when a unit that is in a step's part moves its sum by at most Δ₂ in ℓ₂.
/// Proof: the part of a step is drawn here by exact samplers, independently of everything else: each unit with probability q, or a uniform set of fixed size, or the batches of a uniform order.
/// A sum on the grid plus rounded noise is the rounded noisy sum, so the step is a post-processing of the sampled Gaussian mechanism with noise N(0, σ²), σ² = multiplier²·Δ₂², whose distribution is that of the
/// event. Its parameters are fixed before the first step, and later sums may look at earlier answers, which is what adaptive composition of dominating pairs allows. No step beyond the planned ones is
/// handed out: [`Training`] counts them. Bits come from a key that the charge names by its hash, so one charge has one key, and a resumed run draws for each step what it drew before.
/// *The same step twice.* Noise comes from a key that the run's key, the step and a keyed fingerprint of the sum choose: the same sum gets the same noise, and says nothing new; another sum (a step that is taken again after a crash on
/// another machine, where floats round otherwise) gets noise of its own and not the same again, whose difference would be that of the sums.
/// Source: Abadi et al. 2016 for the mechanism; the curve is [`Curve`]'s. Assumes: streams of ChaCha12 under keys made by SHA-256 are uniform and independent; two sums of one step have different fingerprints, which fails with probability below 2^-80; the sum over a part depends on the units in it alone, and
/// on what was released before.
/// Audited by: `audit_sampled_gaussian`, `one_charge_has_one_key` (false alarm 1e-9, rejects half the noise, twice Δ₂, a part that is everything).
#[derive(Clone, Debug)]
pub struct SampledGaussian {
    terms: Terms,
    sampling: Sampling,
    parts: Parts,
    steps: u64,
    variance: Rational,
    noise: RoundedGaussian,
}

impl SampledGaussian {
    /// `steps` sums with σ² = multiplier²·Δ₂². Δ₂ is how far one unit that is in a part can move its sum: what it adds at most where units come or go, and twice that where
    /// they are replaced.
    ///
    /// # Errors
    /// When there are no steps, when the sampler takes more than there is, when δ = 0, or when no sampler has so little or so much noise.
    pub fn new(
        sampling: Sampling,
        multiplier_squared: &Ratio,
        steps: u64,
        delta: &Delta,
        sensitivity: Sensitivity,
        grid: Grid,
    ) -> Result<Self, Error> {
        if steps == 0 {
            return Err(Error::OutOfRange {
                what: "the number of steps",
                range: "at least 1",
            });
        }
        if *delta == Delta::ZERO {
            return Err(Error::NoDelta);
        }
        if multiplier_squared.as_rational().is_zero() {
            return Err(accounting::Error::NoNoise.into());
        }
        recorded(multiplier_squared.as_rational())?;
        let event = sampling.event(multiplier_squared, steps)?;
        let unit = PrivacyUnit::new("unit", sampling.neighbors());
        let epsilon = Curve::of(&event, &unit)?.epsilon(delta)?.upper;
        let variance = multiplier_squared.as_rational() * sensitivity.l2_squared();
        let noise = RoundedGaussian::new(&variance)?;
        let accuracy = Accuracy::DependsOnData;
        let promise = Promise::Approximate(epsilon, delta.clone());
        let terms = Terms::new(sensitivity, event, promise, accuracy)
            .on(grid)
            .only_for(sampling.neighbors());
        Ok(Self {
            terms,
            parts: sampling.parts()?,
            sampling,
            steps,
            variance,
            noise,
        })
    }

    /// How often it may be drawn.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// How the part of a step is chosen.
    pub fn sampling(&self) -> &Sampling {
        &self.sampling
    }

    /// σ² of the noise on each coordinate before rounding, in squared grid steps.
    pub fn variance(&self) -> &Rational {
        &self.variance
    }

    /// σ, in grid steps, to the nearest float: for what people read, and for post-processing.
    pub fn deviation(&self) -> f64 {
        Interval::sqrt_of(&self.variance, 96).to_f64_nearest()
    }

    /// The largest squared ℓ₂ norm of what one unit adds to a sum: Δ₂² where units come or go, a quarter of it where one is replaced by another.
    pub fn contribution_squared(&self) -> Rational {
        match self.sampling.neighbors() {
            Neighbors::AddRemove => self.terms.sensitivity().l2_squared().clone(),
            Neighbors::ChangeOne => self.terms.sensitivity().l2_squared() * ratio(1, 4),
        }
    }

    pub(crate) fn event(&self) -> &Event {
        self.terms.event()
    }
}

impl Stated for SampledGaussian {
    fn terms(&self) -> &Terms {
        &self.terms
    }
}

/// What each unit adds to every sum, of as many numbers as the sensitivity has coordinates. A unit that would add more than it may adds nothing.
impl Mechanism<Vec<Vec<i64>>> for SampledGaussian {
    type Output = Vec<Vec<i64>>;

    fn draw(&self, input: Aggregate<Vec<Vec<i64>>>, permit: Permit<'_>) -> Vec<Vec<i64>> {
        let key = key_from(permit.entropy());
        let most = self.contribution_squared();
        let mut units = input.open();
        // Never how many numbers the data has.
        let width = usize::try_from(self.terms.sensitivity().coordinates()).unwrap_or(0);
        for unit in &mut units {
            let square: u128 = unit
                .iter()
                .map(|value| u128::from(value.unsigned_abs()).pow(2))
                .fold(0, u128::saturating_add);
            if Rational::from(square) > most || unit.len() > width {
                unit.clear();
            }
        }
        let step = |number| {
            let mut sum = vec![0i64; width];
            for member in self.parts.members(units.len() as u64, number, &key) {
                let unit = units.get(member as usize).map_or(&[][..], Vec::as_slice);
                for (total, value) in sum.iter_mut().zip(unit) {
                    *total = total.saturating_add(*value);
                }
            }
            run::add_noise(&self.noise, &mut sum, number, &key, 1);
            sum
        };
        (0..self.steps).map(step).collect()
    }
}

#[cfg(test)]
mod tests;
