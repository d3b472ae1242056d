//! What a run is about and how it trains: checked before anything is charged.

use super::data::PrivateData;
use super::plan::TrainingPlan;
use super::row_by_row::Sizes;
use super::summation::{Work, coordinates};
use super::units::Examples;
use crate::Error;
use crate::model::Model;
use crate::optimizer::{Rule, Schedule};
use crate::safetensors::write_whole;
use device::Device;
use mechanism::Sampling;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// How a model is trained: everything that is not about privacy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// How parameters follow gradients.
    pub rule: Rule,
    /// The learning rate.
    pub rate: f64,
    /// How it changes.
    pub schedule: Schedule,
    /// Examples that are taken through the model at a time. A larger batch is split; one that was split is noised once.
    pub at_once: usize,
    /// Where parameters start.
    pub seed: u64,
    /// Threads that make noise, and gradients of single rows of tables; how many there are changes nothing, so a run may be resumed with others.
    pub threads: usize,
    /// Reports the mean loss of each batch, which is *not private*: it is computed from the data and carries no noise.
    pub show_private_loss: bool,
}

impl Recipe {
    /// Adam at this rate, with the usual choices.
    pub fn adam(rate: f64) -> Self {
        Self {
            rule: Rule::adam(),
            rate,
            schedule: Schedule::Constant,
            at_once: 256,
            seed: 0,
            threads: 1,
            show_private_loss: false,
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        self.rule.check()?;
        if !(self.rate.is_finite() && self.rate >= 0.0) || self.at_once == 0 {
            return Err(Error::OutOfRange {
                what: "the learning rate, and the number of examples at a time",
                range: "positive",
            });
        }
        Ok(())
    }
}

/// How sums are computed, to the last bit: another word wherever that changes. A run that was begun with another cannot be resumed, because a step that was drawn already would be drawn anew for another sum.
const ARITHMETIC: &str =
    "parts that do not depend on threads, rows of tables one by one, texts of a unit together";

/// Where a run is saved, and how often.
#[derive(Clone, Debug)]
pub struct Saving {
    /// The file.
    pub path: PathBuf,
    /// Steps between two checkpoints.
    pub every: u64,
    /// Words for whoever resumes the run, such as where its data is. They stay in checkpoints; [`Trainer::note`] is for what the model may say.
    pub notes: std::collections::BTreeMap<String, String>,
}

/// What a run is about: a model on a device, and private examples with their owners.
#[derive(Debug)]
pub struct Task<D, M, E> {
    /// Where to compute.
    pub device: D,
    /// What is trained.
    pub model: M,
    /// What from, and whose it is.
    pub data: PrivateData<E>,
}

impl<D: Device, M: Model<D, Batch = E::Batch>, E: Examples> Task<D, M, E> {
    pub(super) fn check(&self, plan: &TrainingPlan, recipe: &Recipe) -> Result<usize, Error> {
        recipe.check()?;
        // How many units there are is private where they come and go: then nothing depends on it, and a run without any is noise.
        let counted = !matches!(plan.parameters().sampling, Sampling::Poisson { .. });
        self.data.units().check(self.data.examples().count(), counted)?;
        match plan.parameters().sampling {
            // Public where units are replaced, so that it is wrong may be reported.
            Sampling::FixedSize { of, .. } | Sampling::Shuffled { of, .. }
                if of != self.data.units().count() as u64 =>
            {
                return Err(Error::OtherNumberOfUnits);
            }
            _ => {}
        }
        Ok(coordinates(self.model.layout()))
    }

    /// Whether a run could begin: what [`Trainer::begin`](super::Trainer::begin) refuses before it asks for a charge.
    ///
    /// # Errors
    /// When something is wrong with the input, or a checkpoint has no room.
    pub fn check_start(
        &self,
        plan: &TrainingPlan,
        recipe: &Recipe,
        saving: Option<&Saving>,
    ) -> Result<(), Error> {
        let coordinates = self.check(plan, recipe)?;
        plan.mechanism(coordinates)?;
        let Some(saving) = saving else { return Ok(()) };
        let numbers = coordinates * (1 + recipe.rule.moments().len());
        try_room(&saving.path, numbers * size_of::<D::Scalar>() + (1 << 16))
    }

    /// Everything that the sums depend on, but for what was released: a charge is for this.
    pub(super) fn subject(&self, plan: &TrainingPlan, recipe: &Recipe) -> String {
        let mut hash = Sha256::new();
        let mut add = |part: &str| {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        };
        add(&serde_json::to_string(plan).unwrap_or_default());
        // On any number of threads the sums are the same, to the last bit. They were not where parts of a batch were as many as threads, and a run that was begun so would be another.
        let recipe = Recipe {
            threads: 1,
            ..recipe.clone()
        };
        add(ARITHMETIC);
        add(&serde_json::to_string(&recipe).unwrap_or_default());
        add(&self.data.examples().digest());
        add(&self.data.units().digest());
        add(&self.model.computes());
        let device = self.device.computes();
        if !device.is_empty() {
            add(device);
        }
        for parameter in self.model.layout() {
            add(&format!(
                "{} {:?} {}",
                parameter.name, parameter.shape, parameter.start
            ));
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The plan says how many examples of a unit count, and the seed of the recipe which: both are in the subject of the charge, so a resumed run has the same.
    pub(super) fn work(self, plan: &TrainingPlan, recipe: &Recipe) -> Work<D, M, E> {
        let (examples, units) = self.data.into_parts();
        let most = plan.parameters().examples_per_unit;
        let capped = match most.map(|most| units.at_most(most, recipe.seed, &examples)) {
            Some(Cow::Owned(capped)) => Some(capped),
            Some(Cow::Borrowed(_)) | None => None,
        };
        let units = capped.unwrap_or(units);
        Work::new(self.device, self.model, examples, units, recipe.at_once)
            .with_sizes(Sizes::on_threads(recipe.threads))
    }
}

/// Whether a file of this many bytes can be written there, before anything is charged.
fn try_room(path: &Path, bytes: usize) -> Result<(), Error> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".room");
    let beside = path.with_file_name(name);
    let written = write_whole(&beside, false, |file| {
        let zeros = [0u8; 4096];
        (0..bytes.div_ceil(zeros.len())).try_for_each(|_| file.write_all(&zeros))
    });
    let _ = std::fs::remove_file(&beside);
    written
}
