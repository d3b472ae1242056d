//! The private loop: sample, differentiate, clip, add, noise, update.

use super::checkpoint::{Checkpoint, State};
use super::plan::{Clip, GRID_BITS, TrainingPlan};
use super::receipt::{ModelReceipt, SavedModel, made_by};
use super::summation::{Work, out_of_memory};
use super::task::{Recipe, Saving, Task};
use super::units::Examples;
use crate::Error;
use crate::model::Model;
use crate::optimizer::Optimizer;
use device::{Device, Scalar, or_out_of_memory};
use mechanism::{Account, Aggregate, Ledger, Sensitive, Stated, Training};
use std::time::Instant;

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
    /// It was asked to stop. What was charged stays charged, and there is no model: the run can be resumed.
    Stopped,
}

/// One step through the privacy boundary: its units, their clipped sum, its noise. Leaves the noised sum in `work.sum`, and gives the mean loss, which is private.
pub(crate) fn private_sum<D: Device, M: Model<D, Batch = E::Batch>, E: Examples>(
    run: &mut Training,
    work: &mut Work<D, M, E>,
    plan: &TrainingPlan,
    parameters: &D::Buffer,
    clip: f64,
) -> Result<Option<f64>, Error> {
    let sensitivity = run.mechanism().terms().sensitivity().clone();
    work.model.begin_step(run.drawn());
    let step = run.step(work.units.count() as u64)?;
    let at_once = work.at_once;
    let summed = or_out_of_memory(|| work.clipped_sum(plan, parameters, step.members(), clip));
    let (total, count) = summed.map_err(|out| out_of_memory(out, at_once, 0))?;
    let sum = Sensitive::new(&mut work.sum);
    step.release(Aggregate::claimed(sum, sensitivity, plan.unit(), plan.grid()))?;
    Ok((count > 0).then(|| total / count as f64))
}

/// A private run: charged, sampled, clipped, noised. The example of [the crate](crate) trains with it.
///
/// A run that was stopped is resumed from its checkpoint, with the same batches and the same noise and without a second charge:
///
/// ```
/// # use accounting::{Budget, Delta, Ratio};
/// # use device::{Activation, Cpu};
/// # use mechanism::{Account, MemoryLedger};
/// # use train::models::{Features, Mlp, MlpShape, Targets, Task as Predicted};
/// # use train::private::{Dataset, Parameters, PrivateData, Recipe, Task, Trainer, Units};
/// # let task = || {
/// #     let rows = Features::new(1, 1, vec![0.5; 100], Targets::Numbers(vec![1.0; 100])).unwrap();
/// #     let shape = MlpShape { inputs: 1, hidden: vec![], activation: Activation::Relu, task: Predicted::Numbers(1), dropout: 0.0 };
/// #     Task {
/// #         device: Cpu::<f32>::new(),
/// #         model: Mlp::new(Cpu::new(), shape).unwrap(),
/// #         data: PrivateData::new(Dataset::new("rows", rows), Units::each_example(100)),
/// #     }
/// # };
/// # let parameters = Parameters::poisson("row", 10, 100, 1.0, 4, Delta::parse("1e-5")?)?;
/// # let plan = parameters.with_multiplier(Ratio::parse("2")?)?;
/// # let budget = Budget::new(plan.guarantee().promise().clone(), plan.unit());
/// # let mut account = Account::open(MemoryLedger::new(budget))?;
/// # let recipe = Recipe::adam(0.1);
/// let mut trainer = Trainer::begin(&mut account, task(), plan, recipe, None, "an example")?;
/// trainer.step()?;
/// let checkpoint = trainer.checkpoint();
/// trainer.step()?;
///
/// let mut resumed = Trainer::resume(&mut account, task(), checkpoint, None)?;
/// assert_eq!(resumed.steps_taken(), 1);
/// resumed.step()?;
/// assert_eq!(resumed.parameters(), trainer.parameters());
/// assert_eq!(account.ledger().charges().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Trainer<D: Device, M, E> {
    work: Work<D, M, E>,
    plan: TrainingPlan,
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

impl<D: Device, M: Model<D, Batch = E::Batch>, E: Examples> Trainer<D, M, E> {
    /// Checks everything, makes sure that a checkpoint has room, charges for all planned steps, and writes the first checkpoint.
    ///
    /// # Errors
    /// When something is wrong with the input, the file or the budget: then nothing was charged. When the first checkpoint cannot be written although there was room: then it was.
    pub fn begin<L: Ledger>(
        account: &mut Account<L>,
        task: Task<D, M, E>,
        plan: TrainingPlan,
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
        let mut work = task.work(&plan, &recipe);
        work.rehearse(&plan, &parameters)?;
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

    /// Resumes a run, without charging again.
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
    pub fn plan(&self) -> &TrainingPlan {
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
            if progress.step.is_multiple_of(every) && progress.step < self.end {
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

    /// Everything that is needed to resume the run.
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
