//! The private loop: sample, differentiate, clip, add, noise, update.

use super::checkpoint::{Checkpoint, State};
use super::data::PrivateData;
use super::plan::{Clip, GRID_BITS, Plan};
use super::receipt::{ModelReceipt, SavedModel, made_by};
use super::summation::{Work, coordinates};
use super::units::Examples;
use crate::Error;
use crate::model::Model;
use crate::optimizer::{Optimizer, Rule, Schedule};
use crate::safetensors::write_whole;
use device::{Device, Scalar};
use mechanism::{Account, Aggregate, Ledger, Sampling, Sensitive, Stated, Training};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Instant;

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
    /// Threads that make noise; how many there are changes nothing, so a run may go on with others.
    pub threads: usize,
    /// Tells the mean loss of each batch, which is *not private*: it is computed from the data and carries no noise.
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

/// How far a run is. Nothing in it depends on the data, but for a loss that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Steps taken.
    pub step: u64,
    /// Steps planned.
    pub steps: u64,
    /// Seconds since this process began or resumed the run.
    pub seconds: f64,
    /// Steps taken since then.
    pub steps_here: u64,
    /// C of the next step.
    pub clip: f64,
    /// The mean loss of the batch: *not private*. `None` unless asked for, and where the batch was empty.
    pub not_private_loss: Option<f64>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All planned steps were taken.
    Finished,
    /// It was asked to stop. What was charged stays charged, and there is no model: the run can go on.
    Stopped,
}

/// Where a run is saved, and how often.
#[derive(Clone, Debug)]
pub struct Saving {
    /// The file.
    pub path: PathBuf,
    /// Steps between two checkpoints.
    pub every: u64,
    /// Words for who goes on with the run, such as where its data is. They stay in checkpoints; [`Trainer::note`] is for what the model may say.
    pub notes: std::collections::BTreeMap<String, String>,
}

/// One step through the door: its units, their clipped sum, its noise. Leaves the noised sum in `work.sum`, and gives the mean loss, which is private.
pub(crate) fn private_sum<D: Device, M: Model<D, Batch = E::Batch>, E: Examples>(
    run: &mut Training,
    work: &mut Work<D, M, E>,
    plan: &Plan,
    parameters: &D::Buffer,
    clip: f64,
) -> Result<Option<f64>, Error> {
    let sensitivity = run.mechanism().terms().sensitivity().clone();
    work.model.begin_step(run.drawn());
    let step = run.step(work.units.count() as u64)?;
    let (total, count) = work.clipped_sum(plan, parameters, step.members(), clip);
    let sum = Sensitive::new(&mut work.sum);
    step.release(Aggregate::claimed(sum, sensitivity, plan.unit(), plan.grid()))?;
    Ok((count > 0).then(|| total / count as f64))
}

/// A private run.
pub struct Trainer<D: Device, M, E> {
    work: Work<D, M, E>,
    plan: Plan,
    recipe: Recipe,
    run: Training,
    parameters: D::Buffer,
    optimizer: Optimizer<D>,
    clip: f64,
    /// The step at which it ends: the last that is planned, or one that was named before it was reached.
    end: u64,
    saving: Option<Saving>,
    notes: std::collections::BTreeMap<String, String>,
    since: (Instant, u64),
}

impl<D: Device, M, E> std::fmt::Debug for Trainer<D, M, E> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Trainer({:?})", self.run)
    }
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
    fn check(&self, plan: &Plan, recipe: &Recipe) -> Result<usize, Error> {
        recipe.check()?;
        // How many units there are is private where they come and go: then nothing depends on it, and a run without any is noise.
        let counted = !matches!(plan.parameters().sampling, Sampling::Poisson { .. });
        self.data.units().check(self.data.examples().count(), counted)?;
        match plan.parameters().sampling {
            // Public where units are replaced, so it may be told that it is wrong.
            Sampling::FixedSize { of, .. } | Sampling::Shuffled { of, .. }
                if of != self.data.units().count() as u64 =>
            {
                return Err(Error::OtherNumberOfUnits);
            }
            _ => {}
        }
        Ok(coordinates(self.model.layout()))
    }

    /// Whether a run could begin: what [`Trainer::begin`] refuses before it asks for a charge.
    ///
    /// # Errors
    /// When something is wrong with the input, or a checkpoint has no room.
    pub fn check_start(&self, plan: &Plan, recipe: &Recipe, saving: Option<&Saving>) -> Result<(), Error> {
        let coordinates = self.check(plan, recipe)?;
        plan.mechanism(coordinates)?;
        let Some(saving) = saving else { return Ok(()) };
        let numbers = coordinates * (1 + recipe.rule.moments().len());
        try_room(&saving.path, numbers * size_of::<D::Scalar>() + (1 << 16))
    }

    /// Everything that the sums depend on, but for what was released: a charge is for this.
    fn subject(&self, plan: &Plan, recipe: &Recipe) -> String {
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
        add("parts that do not depend on threads");
        add(&serde_json::to_string(&recipe).unwrap_or_default());
        add(&self.data.examples().digest());
        add(&self.data.units().digest());
        for parameter in self.model.layout() {
            add(&format!(
                "{} {:?} {}",
                parameter.name, parameter.shape, parameter.start
            ));
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The plan says how many examples of a unit count, and the seed of the recipe which: both are in the subject of the charge, so a run that goes on has the same.
    fn work(self, plan: &Plan, recipe: &Recipe) -> Work<D, M, E> {
        let (examples, units) = self.data.into_parts();
        let most = plan.parameters().examples_per_unit;
        let capped = match most.map(|most| units.at_most(most, recipe.seed, &examples)) {
            Some(Cow::Owned(capped)) => Some(capped),
            Some(Cow::Borrowed(_)) | None => None,
        };
        let units = capped.unwrap_or(units);
        Work::new(self.device, self.model, examples, units, recipe.at_once)
    }
}

impl<D: Device, M: Model<D, Batch = E::Batch>, E: Examples> Trainer<D, M, E> {
    /// Checks everything, makes sure that a checkpoint has room, charges for all planned steps, and writes the first checkpoint.
    ///
    /// # Errors
    /// When something is wrong with the input, the file or the budget: then nothing was charged. When the first checkpoint cannot be written although there was room: then it was.
    pub fn begin<L: Ledger>(
        account: &mut Account<L>,
        task: Task<D, M, E>,
        plan: Plan,
        recipe: Recipe,
        saving: Option<Saving>,
        purpose: &str,
    ) -> Result<Self, Error> {
        let coordinates = task.check(&plan, &recipe)?;
        let mechanism = plan.mechanism(coordinates)?;
        let scalars = task.model.initial(recipe.seed);
        let start: Vec<D::Scalar> = scalars
            .iter()
            .map(|value| D::Scalar::from_f64(f64::from(*value)))
            .collect();
        let optimizer = Optimizer::new(recipe.rule, &task.device, coordinates);
        task.check_start(&plan, &recipe, saving.as_ref())?;
        let subject = task.subject(&plan, &recipe);
        // What takes memory comes before the charge: where there is too little, nothing was paid for.
        let parameters = task.device.upload(&start);
        let work = task.work(&plan, &recipe);
        let mut run = account.begin_training(&mechanism, purpose, &subject)?;
        run.on_threads(recipe.threads);
        let trainer = Self {
            parameters,
            work,
            clip: plan.parameters().clip.start(),
            end: plan.parameters().steps,
            plan,
            recipe,
            run,
            optimizer,
            saving,
            notes: Default::default(),
            since: (Instant::now(), 0),
        };
        trainer.save()?;
        Ok(trainer)
    }

    /// Goes on with a run, without charging again.
    ///
    /// # Errors
    /// When the checkpoint is about other data or another model, or the account's ledger holds no charge for it.
    pub fn resume<L: Ledger>(
        account: &mut Account<L>,
        task: Task<D, M, E>,
        checkpoint: Checkpoint,
        saving: Option<Saving>,
    ) -> Result<Self, Error> {
        let Checkpoint {
            state,
            run,
            parameters,
            moments,
            notes,
            wide,
        } = checkpoint;
        let coordinates = task.check(&state.plan, &state.recipe)?;
        if state.digest != task.data.examples().digest() {
            return Err(Error::OtherRun {
                what: "state of the data",
            });
        }
        if parameters.len() != coordinates || wide != is_wide::<D>() {
            return Err(Error::OtherRun { what: "model" });
        }
        let subject = task.subject(&state.plan, &state.recipe);
        let mut run = account.resume_training(&state.plan.mechanism(coordinates)?, &run, &subject)?;
        run.on_threads(state.recipe.threads);
        let device = task.device.clone();
        let upload = |values: &[f64]| {
            let scalars: Vec<D::Scalar> = values.iter().map(|value| D::Scalar::from_f64(*value)).collect();
            device.upload(&scalars)
        };
        let mut optimizer = Optimizer::new(state.recipe.rule, &device, 0);
        optimizer.moments = moments.iter().map(|values| upload(values)).collect();
        optimizer.taken = run.drawn();
        Ok(Self {
            parameters: upload(&parameters),
            work: task.work(&state.plan, &state.recipe),
            since: (Instant::now(), run.drawn()),
            end: state.plan.parameters().steps,
            plan: state.plan,
            recipe: state.recipe,
            clip: state.clip,
            run,
            optimizer,
            notes: public_notes(notes, saving.as_ref()),
            saving,
        })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Ends the run at this step, which is public: it is named before it is reached, so it says nothing about how fast the run is. What is planned for later steps stays charged, and a
    /// run that is saved can be resumed with them.
    ///
    /// # Errors
    /// When the step was passed already, or is not planned.
    pub fn end_at(&mut self, step: u64) -> Result<(), Error> {
        let steps = self.plan.parameters().steps;
        if step == 0 || step > steps || step < self.run.drawn() {
            return Err(Error::NoSuchEnd { step, steps });
        }
        self.end = step;
        Ok(())
    }

    /// The step at which it ends.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// How many steps were taken, in this process and before. Where a run was interrupted, that depends on how fast it was, and is *not private*.
    pub fn steps_taken(&self) -> u64 {
        self.run.drawn()
    }

    /// The parameters as they are: public, since every step that made them was noised.
    pub fn parameters(&self) -> &D::Buffer {
        &self.parameters
    }

    /// The model and the parameters, to look at between steps: at public data, or the model's own losses are as private as what they are computed from.
    pub fn model(&mut self) -> (&mut M, &D::Buffer) {
        (&mut self.work.model, &self.parameters)
    }

    /// Words that go into checkpoints and the model: sizes of layers, the command.
    pub fn note(&mut self, name: &str, text: &str) {
        self.notes.insert(name.to_owned(), text.to_owned());
    }

    /// Takes one step; `None` when all were taken, as planned or up to [`Trainer::end_at`].
    ///
    /// # Errors
    /// When the process forked since the run began.
    pub fn step(&mut self) -> Result<Option<Progress>, Error> {
        let (number, steps) = (self.run.drawn(), self.plan.parameters().steps);
        if number >= self.end {
            return Ok(None);
        }
        let loss = private_sum(
            &mut self.run,
            &mut self.work,
            &self.plan,
            &self.parameters,
            self.clip,
        )?;
        let normaliser = self.plan.parameters().normaliser;
        // From here on everything is post-processing.
        let Work {
            device,
            gradient,
            sum,
            ..
        } = &mut self.work;
        let counts = self.plan.parameters().clip.count_steps();
        let count = counts.and_then(|steps| Some((sum.read(sum.len() - 1, 1).pop()?, steps)));
        let scale = self.clip / (f64::from(1 << GRID_BITS) * normaliser);
        sum.take(scale, gradient);
        let rate = self.recipe.rate * self.recipe.schedule.factor(number, steps);
        let noise = (self.run.mechanism().deviation() * scale).powi(2);
        self.optimizer
            .update(device, gradient, &mut self.parameters, rate, noise);
        if let (
            Clip::Adaptive {
                start,
                quantile,
                rate,
                ..
            },
            Some((noisy, steps)),
        ) = (&self.plan.parameters().clip, count)
        {
            let short = 0.5 + 0.5 * noisy as f64 / (steps as f64 * normaliser);
            let next = self.clip * (-rate * (short.clamp(0.0, 1.0) - quantile)).exp();
            self.clip = next.clamp(start * 1e-6, start * 1e6);
        }
        Ok(Some(Progress {
            step: number + 1,
            steps,
            seconds: self.since.0.elapsed().as_secs_f64(),
            steps_here: number + 1 - self.since.1,
            clip: self.clip,
            not_private_loss: loss.filter(|_| self.recipe.show_private_loss),
        }))
    }

    /// The loop: takes all steps that are left, and saves the run on the way and at the end. `go_on` is asked before each step; where it says no, the run is saved and can be resumed. `after` sees each step that was
    /// taken, and the trainer after it, before a checkpoint is written.
    ///
    /// # Errors
    /// Those of `after`, and when a checkpoint cannot be written; the one before is as it was, and the run can be resumed.
    pub fn run<F: From<Error>>(
        &mut self,
        mut go_on: impl FnMut() -> bool,
        mut after: impl FnMut(&mut Self, &Progress) -> Result<(), F>,
    ) -> Result<Ended, F> {
        while go_on() {
            let Some(progress) = self.step()? else {
                break;
            };
            after(self, &progress)?;
            let every = self
                .saving
                .as_ref()
                .map_or(u64::MAX, |saving| saving.every.max(1));
            if progress.step % every == 0 && progress.step < self.end {
                self.save()?;
            }
        }
        self.save()?;
        Ok(if self.run.drawn() == self.end {
            Ended::Finished
        } else {
            Ended::Stopped
        })
    }

    /// Words that go into checkpoints alone, from the next one on.
    pub fn note_for_checkpoints(&mut self, name: &str, text: &str) {
        if let Some(saving) = &mut self.saving {
            saving.notes.insert(name.to_owned(), text.to_owned());
        }
    }

    /// Writes a checkpoint, where one is asked for.
    ///
    /// # Errors
    /// When it cannot be written; the one before is as it was.
    pub fn save(&self) -> Result<(), Error> {
        match &self.saving {
            Some(saving) => self.checkpoint().write(self.work.model.layout(), &saving.path),
            None => Ok(()),
        }
    }

    /// Everything that is needed to go on.
    pub fn checkpoint(&self) -> Checkpoint {
        let device = &self.work.device;
        let numbers = |buffer: &D::Buffer| device.download(buffer).into_iter().map(Scalar::to_f64).collect();
        Checkpoint {
            state: State {
                plan: self.plan.clone(),
                recipe: self.recipe.clone(),
                clip: self.clip,
                data: self.work.examples.name(),
                digest: self.work.examples.digest(),
                made_by: made_by(),
            },
            run: self.run.save(),
            wide: is_wide::<D>(),
            parameters: numbers(&self.parameters),
            moments: self.optimizer.moments.iter().map(numbers).collect(),
            notes: self.all_notes(),
        }
    }

    /// What was noted, also what only checkpoints hold.
    fn all_notes(&self) -> std::collections::BTreeMap<String, String> {
        let mut notes = self.notes.clone();
        notes.extend(self.saving.iter().flat_map(|saving| saving.notes.clone()));
        notes
    }

    /// The model at the end of the run, with its receipt.
    ///
    /// # Privacy
    ///
    /// There is none of a run that was interrupted elsewhere: after how many steps that was depends on how fast they were, and so on the data, and weights show it about as well as a number would. Of a run that
    /// ends at a step named beforehand, the model is computed from that many noised sums, so it is post-processing of what the whole plan releases.
    ///
    /// # Errors
    /// When the run is not at its end.
    pub fn saved_model(&self) -> Result<SavedModel, Error> {
        if self.run.drawn() != self.end {
            return Err(Error::Interrupted);
        }
        let parameters = self.plan.parameters();
        let values = self.work.device.download(&self.parameters);
        Ok(SavedModel {
            parameters: values.into_iter().map(|value| value.to_f64() as f32).collect(),
            receipt: Some(ModelReceipt {
                data: self.work.examples.name(),
                unit: self.plan.unit(),
                epsilon: self.plan.epsilon().clone(),
                delta: parameters.delta.clone(),
                plan: self.plan.clone(),
                ledger_entry: self.run.receipt().number,
                made_by: made_by(),
            }),
            notes: self.notes.clone(),
        })
    }
}

/// What a checkpoint holds, less what only checkpoints hold.
fn public_notes(
    mut notes: std::collections::BTreeMap<String, String>,
    saving: Option<&Saving>,
) -> std::collections::BTreeMap<String, String> {
    if let Some(saving) = saving {
        notes.retain(|name, _| !saving.notes.contains_key(name));
    }
    notes
}

fn is_wide<D: Device>() -> bool {
    size_of::<D::Scalar>() > 4
}

/// Whether a file of so many bytes can be written there, before anything is charged.
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
