//! The frame of a run, the same for text and for tables: data, copies of the model, plan, ledger, steps, model.
//!
//! ```text
//! train lm ─────────┐                    ┌─ PrivateText (language) ─┐
//! train classifier ─┼─► Run ─► a device ─┤                          ├─► Learned ─► plan, ledger, Trainer ─► session
//! train resume ─────┘                    └─ TableRows (classifier) ─┘
//! ```

use super::classifier::TableRows;
use super::language::PrivateText;
use super::model_file::Described;
use super::options::{Learning, Privacy};
use super::origin::{Origin, Source};
use super::session::{self, Looks, Shown};
use super::{TRAINING, places};
use crate::compute::{DeviceName, cuda};
use crate::dataset::of_the_ledger;
use crate::terminal::{CliError, exit_code, explained};
use accounting::{Epsilon, Event};
use device::{Cpu, Device};
use ledger::Store;
use mechanism::Account;
use sql::blocking::Dataset;
use std::path::Path;
use train::model::Model;
use train::models::{Part, Sharded};
use train::private::{Checkpoint, Examples, Plan, Recipe, Task, Trainer, Units};

/// What is learned, from what: everything in a run that is particular to its kind.
pub(super) trait Learned {
    type Batch: Part + Send + 'static;
    type Examples: Examples<Batch = Self::Batch>;
    type Model<D: Device<Scalar = f32> + 'static>: Model<D, Batch = Self::Batch> + Send + 'static;

    /// The learning rate for who names none.
    const RATE: f64;
    /// What is measured on public data.
    const MEASURED: &'static str;

    /// The private data.
    fn examples(&self) -> &Self::Examples;

    /// Whose it is.
    fn units(&self) -> &Units;

    /// The model, with no weights yet.
    fn build<D: Device<Scalar = f32> + 'static>(&self, device: D) -> Result<Self::Model<D>, CliError>;

    /// Looks at public data, where there is some.
    fn measure<D: Device<Scalar = f32> + 'static>(
        &self,
        model: &mut Self::Model<D>,
        parameters: &D::Buffer,
    ) -> Option<f64>;
}

/// A new run, or one that goes on.
pub(super) enum Begun<'a> {
    New {
        privacy: &'a Privacy,
        learning: &'a Learning,
        /// Whether a model that is there already may be written over.
        force: bool,
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
    Planned(Box<Plan>, Recipe),
    Kept(Box<Checkpoint>),
}

/// A run, before anything was read.
pub(super) struct Run<'a> {
    pub(super) begun: Begun<'a>,
    pub(super) described: &'a Described,
    pub(super) origin: &'a Origin,
    pub(super) checkpoint: &'a Path,
    pub(super) shown: Shown,
}

impl Run<'_> {
    /// Trains where it was asked to.
    pub(super) fn train(&self) -> Result<(), CliError> {
        match self.origin.device {
            DeviceName::Cpu => self.on(Cpu::<f32>::default()),
            DeviceName::Cuda => self.on(cuda()?),
        }
    }

    fn on<D: Device<Scalar = f32> + 'static>(&self, device: D) -> Result<(), CliError>
    where
        D::Buffer: Sync,
    {
        let dataset = self.origin.source.dataset()?;
        let dataset = dataset.as_ref();
        self.check_places(dataset)?;
        match self.described {
            Described::Language {
                network,
                length,
                vocabulary,
            } => {
                let text = PrivateText::read(self.origin, dataset, network, *length, vocabulary)?;
                self.learn(device, &text, dataset)
            }
            Described::Table { encoding, hidden } => {
                let rows = TableRows::read(self.origin, dataset, encoding, hidden)?;
                self.learn(device, &rows, dataset)
            }
        }
    }

    /// Nothing is written over what is read or charged, and nothing private is taken for public.
    fn check_places(&self, dataset: Option<&Dataset>) -> Result<(), CliError> {
        let origin = self.origin;
        let validation = origin.validation.as_deref().map(|path| ("--validation", path));
        origin.source.check_public(dataset, validation)?;
        let read = match &origin.source {
            Source::MadeUp { .. } => None,
            Source::Text { path, .. } => Some(("--text", path.as_path())),
            Source::Column { catalog, .. } | Source::Table { catalog, .. } => {
                Some(("the catalog", catalog.as_path()))
            }
        };
        let ledger = origin.ledger_file(dataset);
        let ledger = ledger.as_deref().map(|path| ("the ledger", path));
        let plot = origin.plot.as_deref().map(|path| ("--plot", path));
        let files = [("--checkpoint", self.checkpoint), ("--out", origin.out.as_path())];
        places::check(
            &read.into_iter().chain(validation).collect::<Vec<_>>(),
            &ledger.into_iter().chain(files).chain(plot).collect::<Vec<_>>(),
        )?;
        match self.begun {
            Begun::New { force: false, .. } => places::check_new(&origin.out),
            _ => Ok(()),
        }
    }

    /// What a new run would do. Of the data it says no more than is public.
    fn plan<L: Learned>(
        &self,
        privacy: &Privacy,
        learned: &L,
        dataset: Option<&Dataset>,
    ) -> Result<Plan, CliError> {
        let source = &self.origin.source;
        let count = learned.units().count() as u64;
        let known = source.is_made_up().then_some(count);
        privacy.plan(&source.unit(dataset), known, count, source.has_owners())
    }

    fn learn<L: Learned, D: Device<Scalar = f32> + 'static>(
        &self,
        device: D,
        learned: &L,
        dataset: Option<&Dataset>,
    ) -> Result<(), CliError>
    where
        D::Buffer: Sync,
    {
        let origin = self.origin;
        let start = match &self.begun {
            Begun::New {
                privacy, learning, ..
            } => {
                if dataset.is_some() {
                    privacy.for_declared_table(&origin.source.unit(dataset))?;
                }
                let plan = self.plan(privacy, learned, dataset)?;
                let recipe = learning.recipe(plan.parameters().steps, L::RATE);
                Start::Planned(Box::new(plan), recipe)
            }
            Begun::Resumed { threads, .. } => {
                let model = learned.build(Cpu::<f32>::default())?;
                let mut kept = Checkpoint::read(model.layout(), self.checkpoint).map_err(explained)?;
                if let Some(threads) = threads {
                    kept.set_threads(*threads);
                }
                Start::Kept(Box::new(kept))
            }
        };
        let model = match (&start, origin.device) {
            (_, DeviceName::Cuda) => Sharded::whole(learned.build(device.clone())?),
            (Start::Planned(_, recipe), DeviceName::Cpu) => {
                Sharded::new(&device, recipe.threads, || learned.build(device.clone()))?
            }
            (Start::Kept(kept), DeviceName::Cpu) => {
                Sharded::new(&device, kept.recipe().threads, || learned.build(device.clone()))?
            }
        };
        let task = Task {
            device,
            model,
            examples: learned.examples(),
            units: learned.units(),
        };
        let looks = match &start {
            Start::Planned(..) => Looks::default(),
            Start::Kept(kept) => Looks::of_notes(&kept.notes),
        };
        let keeping = session::keeping(origin, self.described, self.checkpoint, &looks);
        let keeping = Some(keeping);
        let question = format!("{TRAINING}{}", origin.source.name());
        // What is refused leaves no trace, not even an empty ledger.
        if let Start::Planned(plan, recipe) = &start {
            task.check_start(plan, recipe, keeping.as_ref())
                .map_err(explained)?;
        }
        let mut store = origin.ledger(dataset, matches!(start, Start::Planned(..)))?;
        let cost = match &start {
            Start::Planned(plan, _) => Some(sql::cost_of(plan.guarantee().promise())),
            Start::Kept(_) => None,
        };
        let session = store.session(&origin.analyst, &question).map_err(of_the_ledger)?;
        let mut account = Account::open(session).map_err(explained)?;
        let trainer = match start {
            Start::Planned(plan, recipe) => {
                Trainer::begin(&mut account, task, *plan, recipe, keeping, &question)
            }
            Start::Kept(kept) => Trainer::resume(&mut account, task, *kept, keeping),
        };
        let mut trainer = match (trainer, &self.begun, cost) {
            (Ok(trainer), ..) => trainer,
            (Err(train::Error::Mechanism(mechanism::Error::Refused(refusal))), begun, Some(cost)) => {
                drop(account);
                return Err(match (refusal, begun) {
                    (
                        mechanism::Refusal::Budget(accounting::Error::OverBudget { .. }),
                        Begun::New { privacy, .. },
                    ) => {
                        let event = |epsilon: &Epsilon| {
                            let plan = self.plan(&privacy.for_epsilon(epsilon), learned, dataset).ok()?;
                            plan.event().ok()
                        };
                        over_budget(&mut store, &origin.analyst, cost, event)
                    }
                    // What is no matter of how much, such as another unit, is told as it is.
                    (refusal, _) => {
                        explained(mechanism::Error::Refused(refusal)).with_code(exit_code::REFUSED)
                    }
                });
            }
            (Err(error), ..) => {
                let refused = matches!(error, train::Error::Mechanism(mechanism::Error::Refused(_)));
                let told = explained(error);
                return Err(if refused {
                    told.with_code(exit_code::REFUSED)
                } else {
                    told
                });
            }
        };
        if let Begun::Resumed {
            stop_at: Some(step), ..
        } = self.begun
        {
            trainer.end_at(step).map_err(explained)?;
        }
        // Public, from the catalog alone.
        let left_out = match (self.described, &origin.source, dataset) {
            (Described::Table { encoding, .. }, Source::Table { table, .. }, Some(dataset)) => {
                sql::left_out(dataset.catalog(), table, encoding).map_err(explained)?
            }
            _ => Vec::new(),
        };
        session::finish(
            trainer,
            (self.described, &left_out),
            origin,
            self.checkpoint,
            self.shown,
            (L::MEASURED, looks),
            |model: &mut Sharded<D, L::Model<D>>, parameters| learned.measure(model.first(), parameters),
        )
    }
}

/// A run that costs more than is left: what it costs, what there is, and what would fit. `event` is what a run for another ε is counted as.
fn over_budget(
    store: &mut Store,
    analyst: &str,
    cost: String,
    event: impl Fn(&Epsilon) -> Option<Event>,
) -> CliError {
    let left = match store.left(analyst) {
        Ok(left) => left,
        Err(error) => return of_the_ledger(error),
    };
    let fits = sql::largest_fitting(|epsilon| {
        event(epsilon).is_some_and(|event| store.fits(analyst, &event).unwrap_or(false))
    });
    let whose = match &left.share {
        Some(share) if *share < left.dataset => " of your share",
        _ => "",
    };
    let hint = match &fits {
        Some(fits) => format!("--target-epsilon {fits} would fit, with more noise: the many small steps of a run add up to less than one release does. Nothing was charged"),
        None => "nothing of the kind fits any more, and nothing was charged; ask the curator, or see `deniable budget`".to_owned(),
    };
    CliError::bad_input(format!(
        "this run costs {cost}, and you have ε = {} left{whose} for one further release",
        left.epsilon
    ))
    .with_hint(hint)
    .with_code(exit_code::REFUSED)
    .with_detail("cost", cost)
    .with_detail("left_epsilon", left.epsilon.to_string())
    .with_detail("fits_epsilon", fits.map(|fits| fits.to_string()))
}
