//! Which units enter a step.

use super::run::key_for;
use crate::Error;
use accounting::{Event, Neighbors, Ratio, Sampler};
use noise::{Keyed, RandomSubset, random_choice, random_order};
use serde::{Deserialize, Serialize};

/// How the part of each step is chosen. The bound belongs to the choice, and so do the neighbours: see [`Sampler`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Sampling {
    /// Each unit enters with this probability, independently of all others. For a unit that is added or removed: how many there are stays private.
    Poisson {
        /// The probability, in [0, 1].
        rate: Ratio,
    },
    /// `batch` of the `of` units, each set equally likely, drawn anew at every step. For a unit that is replaced: how many there are is public.
    FixedSize {
        /// Units in a step.
        batch: u64,
        /// Units in all.
        of: u64,
    },
    /// The `of` units in a random order, cut into batches, one step each; then in another order. For a unit that is replaced.
    Shuffled {
        /// Units in a step; the last of an epoch may have fewer.
        batch: u64,
        /// Units in all.
        of: u64,
    },
}

impl Sampling {
    /// The neighbours it is private for.
    pub fn neighbors(&self) -> Neighbors {
        self.sampler().neighbors()
    }

    /// As the accountant knows it.
    pub fn sampler(&self) -> Sampler {
        match self {
            Sampling::Poisson { rate } => Sampler::Poisson { rate: rate.clone() },
            Sampling::FixedSize { batch, of } => Sampler::FixedSize {
                batch: *batch,
                of: *of,
            },
            Sampling::Shuffled { .. } => Sampler::Shuffled,
        }
    }

    /// How often the accountant counts this many steps: once each, or once an epoch that was begun.
    pub fn times(&self, steps: u64) -> u64 {
        match self {
            Sampling::Shuffled { .. } => steps.div_ceil(self.steps_per_epoch()),
            _ => steps,
        }
    }

    fn steps_per_epoch(&self) -> u64 {
        match self {
            Sampling::Shuffled { batch, of } => of.div_ceil((*batch).max(1)).max(1),
            _ => 1,
        }
    }

    /// This many steps, as data.
    ///
    /// # Errors
    /// When it takes more than there is, or nothing.
    pub fn event(&self, multiplier_squared: &Ratio, steps: u64) -> Result<Event, Error> {
        let rate = self.sampler().rate()?;
        let too_large = matches!(self, Sampling::Shuffled { batch, of } if batch > of || *batch == 0);
        if rate.is_zero() || too_large {
            return Err(Error::OutOfRange {
                what: "a batch",
                range: "at least one unit, and no more than there are",
            });
        }
        let step = Event::SampledGaussian {
            sampler: self.sampler(),
            multiplier_squared: multiplier_squared.clone(),
        };
        Ok(Event::Repeated {
            event: Box::new(step),
            times: self.times(steps),
        })
    }

    /// What draws the parts.
    pub(super) fn parts(&self) -> Result<Parts, Error> {
        Ok(match self {
            Sampling::Poisson { rate } => Parts::Poisson(RandomSubset::new(rate.as_rational())?),
            Sampling::FixedSize { batch, of } => Parts::FixedSize {
                batch: *batch,
                of: *of,
            },
            Sampling::Shuffled { batch, of } => Parts::Shuffled {
                batch: *batch,
                of: *of,
                steps_per_epoch: self.steps_per_epoch(),
            },
        })
    }
}

/// A [`Sampling`] that was checked and is ready to draw.
#[derive(Clone, Debug)]
pub(super) enum Parts {
    Poisson(RandomSubset),
    FixedSize {
        batch: u64,
        of: u64,
    },
    Shuffled {
        batch: u64,
        of: u64,
        steps_per_epoch: u64,
    },
}

impl Parts {
    /// The units of step `number`, of this many; where their number is public, it is the stated one.
    pub(super) fn members(&self, units: u64, number: u64, key: &[u8; 32]) -> Vec<u64> {
        let stream = |number: u64| Keyed::new(key_for("sample", key, number, &[]), 0);
        match self {
            Parts::Poisson(subset) => subset.sample(units, &mut stream(number)),
            // A batch is no larger than all: that was checked.
            Parts::FixedSize { batch, of } => {
                random_choice(*batch, *of, &mut stream(number)).unwrap_or_default()
            }
            Parts::Shuffled {
                batch,
                of,
                steps_per_epoch,
            } => {
                let (epoch, place) = (number / steps_per_epoch, number % steps_per_epoch);
                let order = random_order(*of, &mut stream(epoch));
                let start = (place * batch) as usize;
                order[start..order.len().min(start + *batch as usize)].to_vec()
            }
        }
    }
}
