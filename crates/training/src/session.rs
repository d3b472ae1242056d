//! A run of private training from its data to its model: plan, durable charge, steps, checkpoints,
//! resumption.

use crate::description::{self, Description};
use crate::learned::{Learned, LearnedTable, LearnedText};
use crate::origin::{self, DeviceName, Origin, Source, absolute};
use crate::outcome::{Columns, Finished, Interrupted, Measurement, Measurements, Observer, Outcome, Step};
use crate::over_budget::{is_over_budget, over_budget};
use crate::settings::{Learning, Privacy};
use crate::{Error, places};
use accounting::Epsilon;
use device::{Cpu, Cuda, Device};
use mechanism::Account;
use sql::blocking::Dataset;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use train::model::Model;
use train::models::Sharded;
use train::private::{Checkpoint, Ended, PrivateData, Progress, Recipe, Saving, Task, Trainer, TrainingPlan};

/// What the ledger calls a run, before the name of its data.
pub const TRAINING: &str = "training on ";

/// How often public validation data is measured on during a run.
const MEASUREMENTS: u64 = 20;

/// What the files of a run are called in messages. A command line has the names of its options here.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// Private text.
    pub text: &'static str,
    /// Public text that is measured on.
    pub validation: &'static str,
    /// Where the run is saved.
    pub checkpoint: &'static str,
    /// Where the model goes.
    pub model: &'static str,
    /// Where the caller draws a figure.
    pub plot: &'static str,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            text: "the private text",
            validation: "the validation text",
            checkpoint: "the checkpoint",
            model: "the model",
            plot: "the figure",
        }
    }
}

/// A new run, or one that is resumed.
#[derive(Debug)]
enum Begun {
    New {
        privacy: Box<Privacy>,
        learning: Learning,
        /// Whether a model that is there already may be written over.
        overwrite: bool,
    },
    Resumed {
        /// The step at which it ends; `None` for the last that is planned.
        stop_at: Option<u64>,
        /// Threads; `None` for as many as it began with.
        threads: Option<usize>,
    },
}

/// What a run starts from.
enum Start {
    Planned(Box<TrainingPlan>, Recipe),
    Saved(Box<Checkpoint>),
}

/// A run of private training, before anything was read. [`Session::run`] does all of it.
#[derive(Debug)]
pub struct Session {
    begun: Begun,
    description: Description,
    origin: Origin,
    checkpoint: PathBuf,
    names: Names,
    /// Rows that the program holds; `None` for those that the source names.
    given: Option<Dataset>,
}

impl Session {
    /// A new run, saved at `checkpoint` on the way.
    pub fn new(
        description: Description,
        origin: Origin,
        checkpoint: PathBuf,
        privacy: Privacy,
        learning: Learning,
    ) -> Self {
        Self {
            begun: Begun::New {
                privacy: Box::new(privacy),
                learning,
                overwrite: false,
            },
            description,
            origin,
            checkpoint,
            names: Names::default(),
            given: None,
        }
    }

    /// The run that a checkpoint holds. It ends at its last planned step, unless another is named.
    ///
    /// # Errors
    /// When the file is no checkpoint of a session.
    pub fn resumed(checkpoint: &Path) -> Result<Self, Error> {
        let notes = Checkpoint::notes(checkpoint)?;
        let description = Description::of_note(notes.get(description::NOTE))?;
        let origin: Option<Origin> = notes
            .get(origin::NOTE)
            .and_then(|text| serde_json::from_str(text).ok());
        Ok(Self {
            begun: Begun::Resumed {
                stop_at: None,
                threads: None,
            },
            description,
            origin: origin.ok_or_else(|| {
                Error::input(
                    "the checkpoint does not say where its data is",
                    "use a checkpoint that `deniable train` wrote",
                )
            })?,
            checkpoint: checkpoint.to_owned(),
            names: Names::default(),
            given: None,
        })
    }

    /// Calls its files by these names in messages.
    pub fn with_names(mut self, names: Names) -> Self {
        self.names = names;
        self
    }

    /// Reads from this dataset, whose tables a program may hold in memory, instead of from the catalog that
    /// the source names. A resumed run is given its rows again; other rows are refused.
    pub fn given(mut self, dataset: Dataset) -> Self {
        self.given = Some(dataset);
        self
    }

    /// A new run may write over a model that is there already.
    pub fn overwriting(mut self, may: bool) -> Self {
        if let Begun::New { overwrite, .. } = &mut self.begun {
            *overwrite = may;
        }
        self
    }

    /// A resumed run ends at this step, with a model, if one is named; the checkpoint stays, and can be
    /// resumed.
    pub fn stopping_at(mut self, step: Option<u64>) -> Self {
        if let Begun::Resumed { stop_at, .. } = &mut self.begun {
            *stop_at = step;
        }
        self
    }

    /// A resumed run has this many threads, if a number is named; the model is the same on any number.
    pub fn on_threads(mut self, number: Option<usize>) -> Self {
        if let Begun::Resumed { threads, .. } = &mut self.begun {
            *threads = number;
        }
        self
    }

    /// A resumed run writes its model elsewhere; it overwrites an existing file only if that is allowed.
    ///
    /// # Errors
    /// When there is a file.
    pub fn writing_to(mut self, out: &Path, overwrite: bool) -> Result<Self, Error> {
        // A ledger that was named after the model stays where it is.
        if !matches!(self.origin.source, Source::Column { .. } | Source::Table { .. }) {
            self.origin.ledger = self.origin.ledger_file(None);
        }
        let out = absolute(out);
        if out != self.origin.out && !overwrite {
            places::check_new_model(&out)?;
        }
        self.origin.out = out;
        Ok(self)
    }

    /// Where its data, ledger and files are.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Charges for the whole run, or finds its charge. Then it takes the steps that are left and writes the
    /// model.
    ///
    /// # Privacy
    ///
    /// The charge is durable before the first step, and a resumed run draws for each step the batch and the
    /// noise that it drew before. A run that its observer interrupts is saved and makes no model. After how
    /// many steps that was depends on how fast they were, and so on the data. Both a number of steps and
    /// parameters would show it. Everything that is published (the model, its receipt, what was measured) is
    /// of a step that the plan or [`Session::stopping_at`] names. Nothing more is written to the ledger.
    ///
    /// # Errors
    /// When the input cannot be used or the budget has no room: then nothing was charged. When a file cannot
    /// be written: then the run can be resumed from its last checkpoint.
    pub fn run(&self, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        match self.origin.device {
            DeviceName::Cpu => self.on(Cpu::<f32>::default(), observer),
            DeviceName::Cuda => self.on(Cuda::new()?, observer),
        }
    }

    fn on<D: Device<Scalar = f32> + 'static>(
        &self,
        device: D,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error>
    where
        D::Buffer: Sync,
    {
        let read = match self.given {
            Some(_) => None,
            None => self.origin.source.dataset()?,
        };
        let dataset = self.given.as_ref().or(read.as_ref());
        self.check_places(dataset)?;
        match &self.description {
            Description::Language {
                network,
                length,
                vocabulary,
            } => {
                self.origin.source.check_length(*length)?;
                let (data, text) = LearnedText::read(&self.origin, dataset, network, *length, vocabulary)?;
                self.learn(device, data, &text, dataset, observer)
            }
            Description::Table { encoding, hidden } => {
                let (data, table) = LearnedTable::read(&self.origin, dataset, encoding, hidden)?;
                self.learn(device, data, &table, dataset, observer)
            }
        }
    }

    /// Nothing overwrites a file that is read or charged, and nothing private counts as public.
    fn check_places(&self, dataset: Option<&Dataset>) -> Result<(), Error> {
        let (origin, names) = (&self.origin, &self.names);
        let validation = origin.validation.as_deref().map(|path| (names.validation, path));
        origin.source.check_public(dataset, validation)?;
        let read = match &origin.source {
            Source::Synthetic { .. } => None,
            Source::Text { path, .. } => Some((names.text, path.as_path())),
            Source::Column { .. } | Source::Table { .. } if self.given.is_some() => None,
            Source::Column { catalog, .. } | Source::Table { catalog, .. } => {
                Some(("the catalog", catalog.as_path()))
            }
        };
        let ledger = origin.ledger_file(dataset);
        let ledger = ledger.as_deref().map(|path| ("the ledger", path));
        let plot = origin.plot.as_deref().map(|path| (names.plot, path));
        let files = [
            (names.checkpoint, self.checkpoint.as_path()),
            (names.model, origin.out.as_path()),
        ];
        places::check(
            &read.into_iter().chain(validation).collect::<Vec<_>>(),
            &ledger.into_iter().chain(files).chain(plot).collect::<Vec<_>>(),
        )?;
        let Begun::New { overwrite, .. } = self.begun else {
            return Ok(());
        };
        places::check_new_checkpoint(&self.checkpoint)?;
        if overwrite {
            return Ok(());
        }
        places::check_new_model(&origin.out)
    }

    /// What a new run would do. Of the data it says no more than is public.
    fn plan(&self, privacy: &Privacy, count: u64, dataset: Option<&Dataset>) -> Result<TrainingPlan, Error> {
        let source = &self.origin.source;
        let known = source.is_synthetic().then_some(count);
        privacy.plan(&source.unit(dataset), known, count, source.has_owners())
    }

    fn learn<L: Learned, D: Device<Scalar = f32> + 'static>(
        &self,
        device: D,
        data: PrivateData<L::Examples>,
        learned: &L,
        dataset: Option<&Dataset>,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error>
    where
        D::Buffer: Sync,
    {
        let origin = &self.origin;
        // The plan uses it only if it is public: see `Privacy::plan`.
        let count = data.public_count();
        let start = match &self.begun {
            Begun::New {
                privacy, learning, ..
            } => {
                if dataset.is_some() {
                    privacy.check_declared_table(&origin.source.unit(dataset))?;
                }
                let plan = self.plan(privacy, count, dataset)?;
                let recipe = learning.recipe(plan.parameters().steps, L::RATE);
                Start::Planned(Box::new(plan), recipe)
            }
            Begun::Resumed { threads, .. } => {
                let model = learned.build(Cpu::<f32>::default())?;
                let mut saved = Checkpoint::read(model.layout(), &self.checkpoint)?;
                if let Some(threads) = threads {
                    saved.set_threads(*threads);
                }
                Start::Saved(Box::new(saved))
            }
        };
        let threads = match &start {
            Start::Planned(_, recipe) => recipe.threads,
            Start::Saved(saved) => saved.recipe().threads,
        };
        let model = match origin.device {
            DeviceName::Cuda => Sharded::whole(learned.build(device.clone())?),
            DeviceName::Cpu => Sharded::new(&device, threads, || learned.build(device.clone()))?,
        };
        let task = Task { device, model, data };
        let measurements = match &start {
            Start::Planned(..) => Measurements::default(),
            Start::Saved(saved) => Measurements::of_notes(&saved.notes),
        };
        let saving = Some(self.saving(&measurements));
        let question = format!("{TRAINING}{}", origin.source.name());
        // What is refused leaves no trace, not even an empty ledger.
        if let Start::Planned(plan, recipe) = &start {
            task.check_start(plan, recipe, saving.as_ref())?;
        }
        let mut store = origin.ledger(dataset, matches!(start, Start::Planned(..)))?;
        let session = store.session(&origin.analyst, &question)?;
        let mut account = Account::open(session)?;
        let (cost, counted) = match &start {
            Start::Planned(plan, _) => (sql::cost_of(plan.guarantee().promise()), plan.event().ok()),
            Start::Saved(_) => (String::new(), None),
        };
        let trainer = match start {
            Start::Planned(plan, recipe) => {
                Trainer::begin(&mut account, task, *plan, recipe, saving, &question)
            }
            Start::Saved(saved) => Trainer::resume(&mut account, task, *saved, saving),
        };
        drop(account);
        let mut trainer = match (trainer, &self.begun) {
            (Ok(trainer), _) => trainer,
            (Err(error), Begun::New { privacy, .. }) if is_over_budget(&error) => {
                let event = |epsilon: &Epsilon| {
                    let plan = self.plan(&privacy.for_epsilon(epsilon), count, dataset).ok()?;
                    plan.event().ok()
                };
                return Err(over_budget(
                    &mut store,
                    &origin.analyst,
                    cost,
                    counted.as_ref(),
                    event,
                ));
            }
            (Err(error), _) => return Err(error.into()),
        };
        if let Begun::Resumed {
            stop_at: Some(step), ..
        } = self.begun
        {
            trainer.end_at(step)?;
        }
        let measure = |model: &mut Sharded<D, L::Model<D>>, parameters: &D::Buffer| {
            learned.measure(model.first(), parameters)
        };
        let (measurements, ended) = self.steps(&mut trainer, measurements, measure, observer)?;
        match ended {
            Ended::Stopped => Ok(Outcome::Interrupted(Interrupted {
                checkpoint: self.checkpoint.clone(),
                not_private_steps_taken: trainer.steps_taken(),
                steps: trainer.plan().parameters().steps,
            })),
            Ended::Finished => {
                let columns = self.columns(dataset)?;
                let finished = self.finish(trainer, columns, L::MEASURED, measurements)?;
                Ok(Outcome::Finished(Box::new(finished)))
            }
        }
    }

    /// Where the run is saved, with what is needed to resume it.
    fn saving(&self, measurements: &Measurements) -> Saving {
        let origin_note = serde_json::to_string(&self.origin).expect("an origin is plain data");
        Saving {
            path: self.checkpoint.clone(),
            every: self.origin.every,
            notes: [
                (origin::NOTE.to_owned(), origin_note),
                (description::NOTE.to_owned(), self.description.to_note()),
                (Measurements::NOTE.to_owned(), measurements.to_note()),
            ]
            .into(),
        }
    }

    /// Takes all steps that are left, and measures on the way at steps that the plan decides.
    fn steps<D, M, E>(
        &self,
        trainer: &mut Trainer<D, M, E>,
        mut measurements: Measurements,
        mut measure: impl FnMut(&mut M, &D::Buffer) -> Option<f64>,
        observer: &mut dyn Observer,
    ) -> Result<(Measurements, Ended), Error>
    where
        D: Device,
        M: Model<D, Batch = E::Batch>,
        E: train::private::Examples,
    {
        let (steps, end) = (trainer.plan().parameters().steps, trainer.end());
        // A run may be at its end already, and not be measured there.
        let last = measurements.0.last().map(|measurement| measurement.step);
        let unmeasured = trainer.steps_taken() == end && last != Some(end);
        let mut measure_at = |trainer: &mut Trainer<D, M, E>, step: u64| -> Result<(), Error> {
            let (model, parameters) = trainer.model();
            if let Some(value) = measure(model, parameters) {
                let epsilon = trainer.plan().epsilon_after(step)?.to_f64_up();
                measurements.0.push(Measurement { step, epsilon, value });
            }
            trainer.note_for_checkpoints(Measurements::NOTE, &measurements.to_note());
            Ok(())
        };
        // The model says what it is, and not where its data lies.
        trainer.note(description::NOTE, &self.description.to_note());
        let observer = RefCell::new(observer);
        let ended = trainer.run(
            || observer.borrow_mut().go_on(),
            |trainer, progress: &Progress| {
                let plan = trainer.plan();
                observer.borrow_mut().step(&Step { progress, plan });
                let due = progress.step.is_multiple_of((steps / MEASUREMENTS).max(1));
                if due || progress.step == end {
                    measure_at(trainer, progress.step)?;
                }
                Ok::<(), Error>(())
            },
        )?;
        if unmeasured {
            measure_at(trainer, end)?;
            trainer.save()?;
        }
        Ok((measurements, ended))
    }

    /// Of a table: what is learned from what. Public, from the catalog alone.
    fn columns(&self, dataset: Option<&Dataset>) -> Result<Option<Columns>, Error> {
        let (Description::Table { encoding, .. }, Source::Table { table, .. }, Some(dataset)) =
            (&self.description, &self.origin.source, dataset)
        else {
            return Ok(None);
        };
        Ok(Some(Columns {
            encoding: encoding.clone(),
            left_out: sql::left_out(dataset.catalog(), table, encoding)?,
        }))
    }

    /// Writes the model of a run that is at its end.
    fn finish<D, M, E>(
        &self,
        mut trainer: Trainer<D, M, E>,
        columns: Option<Columns>,
        measured: &'static str,
        measurements: Measurements,
    ) -> Result<Finished, Error>
    where
        D: Device,
        M: Model<D, Batch = E::Batch>,
        E: train::private::Examples,
    {
        let (steps, end) = (trainer.plan().parameters().steps, trainer.end());
        let saved = trainer.saved_model()?;
        let (model, _) = trainer.model();
        saved.write(model.layout(), &self.origin.out)?;
        if end == steps {
            // It holds the key of the noise and is of no more use.
            let _ = std::fs::remove_file(&self.checkpoint);
        }
        Ok(Finished {
            model: self.origin.out.clone(),
            parameters: saved.parameters.len(),
            end,
            steps,
            receipt: saved.receipt.expect("a private run has a receipt"),
            columns,
            checkpoint: (end < steps).then(|| self.checkpoint.clone()),
            measured,
            measurements: measurements.0,
        })
    }
}
