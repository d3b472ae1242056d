//! What left, and the model that follows from it.

use crate::methods::measured;
use crate::model::shape::Shape;
use crate::model::{Measured, Model};
use crate::{Error, Plan, Settings};
use mechanism::{RoundResult, Rounds};
use serde::{Deserialize, Serialize};
use tables::Domain;

/// Steps of mirror descent for the model that rows are made of.
const STEPS: usize = 1_000;

/// What was measured and chosen. Public, and enough by itself: what follows from it costs nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Release {
    domain: Domain,
    settings: Settings,
    rounds: Rounds,
}

impl Release {
    /// What the mechanism of a plan released.
    ///
    /// # Errors
    /// When it is not of this plan.
    pub fn new(plan: &Plan, rounds: Rounds) -> Result<Self, Error> {
        let release = Self {
            domain: plan.domain().clone(),
            settings: plan.settings().clone(),
            rounds,
        };
        release.check()?;
        Ok(release)
    }

    /// The domain.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// What was to be made.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What each round released, and what they cost together.
    pub fn rounds(&self) -> &Rounds {
        &self.rounds
    }

    /// The tables that were measured, each with the variance of the noise on its counts; in the order in which they were.
    pub(crate) fn measured(&self) -> impl Iterator<Item = Measured> {
        self.rounds.results.iter().filter_map(measured)
    }

    /// The tables that were measured, by the places of their attributes, each with its noisy counts and the variance of the noise on each of them.
    pub fn tables(&self) -> Vec<(Vec<usize>, Vec<f64>, f64)> {
        self.measured()
            .map(|table| (table.attributes, table.counts, table.variance))
            .collect()
    }

    /// The distribution that fits it. The same release gives the same model, on every machine.
    ///
    /// # Errors
    /// When what was measured is not of this domain: read from a file that somebody changed, for instance.
    pub fn model(&self) -> Result<Model, Error> {
        self.check()?;
        let mut model = Model::new(&self.sizes(), &self.settings.impossible);
        self.measured().for_each(|table| model.add(&table));
        model.rebuild();
        model.fit(STEPS);
        Ok(model)
    }

    /// A number that rows are made from: the same for the same release.
    pub fn seed(&self) -> u64 {
        // Fowler, Noll and Vo's hash: whoever has the release may know it.
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let mut add = |number: u64| {
            for byte in number.to_le_bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        for result in &self.rounds.results {
            match result {
                RoundResult::Measured {
                    attributes, counts, ..
                } => {
                    attributes.iter().for_each(|place| add(*place as u64));
                    counts.iter().for_each(|count| add(count.cast_unsigned()));
                }
                RoundResult::Chosen { place, .. } => add(*place as u64),
                // No round of a release compares.
                RoundResult::Compared { .. } => {}
            }
        }
        hash
    }

    pub(crate) fn sizes(&self) -> Vec<u32> {
        self.domain
            .attributes()
            .iter()
            .map(tables::Attribute::size)
            .collect()
    }

    fn check(&self) -> Result<(), Error> {
        let sizes = self.sizes();
        let fits = |table: &Measured| {
            table.attributes.windows(2).all(|pair| pair[0] < pair[1])
                && table.attributes.last().is_none_or(|last| *last < sizes.len())
                && Shape::of(&table.attributes, &sizes)
                    .sizes
                    .iter()
                    .try_fold(1usize, |cells, size| cells.checked_mul(*size))
                    == Some(table.counts.len())
                && table.variance > 0.0
        };
        let fits_all = self.measured().all(|table| fits(&table))
            && sizes.len() <= crate::model::tree::MOST_ATTRIBUTES
            && crate::impossible::check(
                &self.settings.impossible,
                &sizes,
                self.settings.cells.min(1 << 28),
            )
            .is_ok();
        match fits_all {
            true => Ok(()),
            false => Err(Error::OtherDomain),
        }
    }
}
