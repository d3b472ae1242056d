//! How a training step chooses its part of the data. The bound belongs to the choice, so the choice is part of the event.

use crate::{Error, Neighbors, Ratio};
use exact::Rational;
use serde::{Deserialize, Serialize};

/// How the units that enter one step are chosen.
///
/// Each way has its own bound under its own neighbours, and none holds for another: batches cut from a shuffled list are not a
/// Poisson sample, and accounting for them as if they were claims privacy that is not there (Chua et al. 2024, "How private are
/// DP-SGD implementations?"). So an event names its sampler, and an accountant reads it there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Sampler {
    /// Each unit enters with this probability, independently of all others. For neighbours that add or remove one unit; and for those that blank one,
    /// so that it may enter and adds nothing (zero-out): with it the step releases (1−q)·N(v, σ²) + q·N(v+x, σ²), and without it, or blank, N(v, σ²).
    Poisson {
        /// The probability, in [0, 1].
        rate: Ratio,
    },
    /// The same sample, for neighbours that change one unit. Each unit moves the sum by at most Δ₂/2, and so by Δ₂ when it changes: what is clipped to C
    /// has Δ₂ = 2C.
    PoissonChangeOne {
        /// The probability, in [0, 1].
        rate: Ratio,
    },
    /// `batch` of the `of` units, each set equally likely, drawn anew at every step. For neighbours that change one unit.
    FixedSize {
        /// Units in a step.
        batch: u64,
        /// Units in all.
        of: u64,
    },
    /// One whole epoch: the units are put in a random order and cut into batches, one step each. For neighbours that change one
    /// unit.
    ///
    /// Each unit is in one batch of an epoch, so an epoch costs one Gaussian. The order is not credited with hiding anything. For neighbours that blank
    /// a unit (zero-out) an epoch is an [`Event::Gaussian`](crate::Event::Gaussian) with Δ₂ = C: its batch is that of the other database, and has lost
    /// one contribution.
    Shuffled,
}

impl Sampler {
    /// The neighbours its bound is about.
    pub fn neighbors(&self) -> Neighbors {
        match self {
            Sampler::Poisson { .. } => Neighbors::AddRemove,
            Sampler::PoissonChangeOne { .. } | Sampler::FixedSize { .. } | Sampler::Shuffled => {
                Neighbors::ChangeOne
            }
        }
    }

    /// The probability with which a given unit is in a step; for an epoch of batches, 1.
    ///
    /// # Errors
    /// When the rate is above 1, or the batch is larger than the data.
    pub fn rate(&self) -> Result<Rational, Error> {
        let rate = match self {
            Sampler::Poisson { rate } | Sampler::PoissonChangeOne { rate } => rate.as_rational().clone(),
            Sampler::FixedSize { batch: 0, .. } => Rational::ZERO,
            Sampler::FixedSize { of: 0, .. } => {
                return Err(Error::NotAProbability {
                    text: "a batch out of no units".to_owned(),
                });
            }
            Sampler::FixedSize { batch, of } => Rational::from(*batch) / Rational::from(*of),
            Sampler::Shuffled => Rational::ONE,
        };
        if rate > Rational::ONE {
            return Err(Error::NotAProbability {
                text: crate::error::shown(&exact::format_decimal(&rate)),
            });
        }
        Ok(rate)
    }
}
