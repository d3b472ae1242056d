//! One arm of the study, trained by the trainers that make all models: the private one where the recipe has noise, the plain one where it has none.

use super::{Data, Recipe};
use crate::models::LanguageModel;
use crate::private::{
    Ended, Examples, PrivateData, Progress as StepTaken, Recipe as Choices, Task, Trainer, TrainingPlan,
    Units,
};
use crate::text::{Prediction, Seeded, TextExamples};
use crate::{Error, PlainTrainer};
use accounting::{Budget, Delta};
use device::Device;
use mechanism::{Account, MemoryLedger};
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Steps done.
    pub step: u64,
    /// Steps in all.
    pub of: u64,
}

/// A model on its way.
#[derive(Clone, Serialize, Deserialize)]
pub struct Snapshot {
    /// After this many steps.
    pub step: u64,
    /// How well it predicts validation rows.
    pub validation: Prediction,
    /// Left out when it is written.
    #[serde(skip)]
    pub weights: Vec<f32>,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Snapshot(step {}, ..)", self.step)
    }
}

/// One arm, trained.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trained {
    /// How.
    pub recipe: Recipe,
    /// What start, batches and noise follow from.
    pub seed: u64,
    /// Steps really done: fewer than planned if it was stopped.
    pub steps: u64,
    /// In the order of steps; the last is the result.
    pub snapshots: Vec<Snapshot>,
}

impl Trained {
    /// The finished model. `None` if not even the first step was done.
    pub fn result(&self) -> Option<&Snapshot> {
        self.snapshots.last()
    }

    /// The snapshot after this many steps.
    pub fn at_step(&self, step: u64) -> Option<&Snapshot> {
        self.snapshots.iter().find(|snapshot| snapshot.step == step)
    }

    /// The first snapshot that predicts at least as well: what this recipe remembers at equal usefulness.
    pub fn at_perplexity(&self, perplexity: f64) -> Option<&Snapshot> {
        self.snapshots
            .iter()
            .find(|snapshot| snapshot.validation.perplexity() <= perplexity)
    }
}

/// Steps after which a snapshot is saved, finely enough to find a model of a given perplexity, and the last: from each power of ten to three times as much a tenth of it apart, then half of it.
fn is_saved(step: u64, last: u64) -> bool {
    let mut power = 10;
    while power * 10 <= step {
        power *= 10;
    }
    let apart = match step {
        0..100 => 10,
        _ if step < 3 * power => power / 10,
        _ => power / 2,
    };
    step == last || step.is_multiple_of(apart)
}

/// The stream of a seed from which the key of a run comes.
const KEY: u64 = 13;
/// Rows that are predicted at once.
const AT_ONCE: usize = 200;

/// Trains one arm. `watch` is asked after each step whether to go on.
///
/// A recipe with noise takes the way of every private model: a plan, a charge, exact noise. Only its ledger is one of a study, which lasts as long as the run, and the key of its noise comes from the seed, so that anybody
/// can repeat it. A recipe without noise makes no claim about privacy: it is a [`PlainTrainer`]'s.
///
/// # Errors
/// When the plan cannot be made, a batch is larger than the data, or a token is not of the model's vocabulary.
///
/// ```
/// use accounting::Delta;
/// use device::Cpu;
/// use train::case_study::{Recipe, Study, train};
/// use train::models::Network;
///
/// let mut study = Study::smaller(1, 1000);
/// study.others.clear();
/// let data = study.synthetic()?;
/// let network = Network::Lstm { embedding: 4, hidden: 4, dropout: 0.0 };
/// let model = network.build(Cpu::<f32>::new(), data.vocabulary.len())?;
/// let recipe = Recipe { steps: 2, batch: 10, ..Recipe::ordinary() };
/// let trained = train(Cpu::new(), model, &data, &recipe, &Delta::parse("1e-6")?, 1, &mut |_| true)?;
/// assert_eq!(trained.result().map(|model| model.step), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn train<D: Device<Scalar = f32>, M: LanguageModel<D>>(
    device: D,
    model: M,
    data: &Data,
    recipe: &Recipe,
    delta: &Delta,
    seed: u64,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<Trained, Error> {
    let vocabulary = model.vocabulary();
    let text = |rows| {
        TextExamples::new(rows, vocabulary, "case study").map_err(|_| Error::OutOfRange {
            what: "each token",
            range: "one of the model's vocabulary",
        })
    };
    let (training, validation) = (text(&data.training)?, text(&data.validation)?);
    let arm = Arm {
        device,
        recipe,
        validation,
        seed,
        watch,
        trained: Trained {
            recipe: recipe.clone(),
            seed,
            steps: 0,
            snapshots: Vec::new(),
        },
    };
    match recipe.plan(data.training.len(), delta)? {
        Some(plan) => arm.with_privacy(model, training, plan),
        None => arm.without_privacy(model, &training),
    }
}

/// An arm on its way.
struct Arm<'a, D> {
    device: D,
    recipe: &'a Recipe,
    validation: TextExamples<'a>,
    seed: u64,
    watch: &'a mut dyn FnMut(Progress) -> bool,
    trained: Trained,
}

impl<D: Device<Scalar = f32>> Arm<'_, D> {
    fn choices(&self) -> Choices {
        Choices {
            seed: self.seed,
            ..Choices::adam(self.recipe.learning_rate)
        }
    }

    fn with_privacy<M: LanguageModel<D>>(
        mut self,
        model: M,
        training: TextExamples<'_>,
        plan: TrainingPlan,
    ) -> Result<Trained, Error> {
        let ledger = MemoryLedger::new(Budget::new(plan.guarantee().promise().clone(), plan.unit()));
        let mut account = Account::with_entropy(ledger, Seeded::numbered(self.seed, KEY));
        let units = Units::each_example(training.count());
        let task = Task {
            device: self.device.clone(),
            model,
            data: PrivateData::new(training, units),
        };
        let choices = self.choices();
        let mut trainer = Trainer::begin(&mut account, task, plan, choices, None, "case study")?;
        let go_on = Cell::new(true);
        let _: Ended = trainer.run(
            || go_on.get(),
            |trainer, progress: &StepTaken| {
                let (model, weights) = trainer.model();
                go_on.set(self.after(progress.step, model, weights));
                Ok::<(), Error>(())
            },
        )?;
        Ok(self.trained)
    }

    fn without_privacy<M: LanguageModel<D>>(
        mut self,
        model: M,
        training: &TextExamples<'_>,
    ) -> Result<Trained, Error> {
        let (batch, steps) = (self.recipe.batch, self.recipe.steps);
        let device = self.device.clone();
        let mut trainer = PlainTrainer::new(device, model, training, self.choices(), batch, steps)?;
        while trainer.step().is_some() {
            let step = trainer.steps_taken();
            let (model, weights) = trainer.model();
            if !self.after(step, model, weights) {
                break;
            }
        }
        Ok(self.trained)
    }

    /// Saves a snapshot where one is due, and says whether to go on.
    fn after<M: LanguageModel<D>>(&mut self, step: u64, model: &mut M, weights: &D::Buffer) -> bool {
        let of = self.recipe.steps;
        self.trained.steps = step;
        let go_on = (self.watch)(Progress { step, of });
        if !go_on || is_saved(step, of) {
            let mut validation = Prediction::default();
            let all: Vec<usize> = (0..self.validation.count()).collect();
            for some in all.chunks(AT_ONCE) {
                let losses = model.token_losses(weights, &self.validation.gather(some));
                let losses = losses.into_iter().flatten();
                losses.for_each(|loss| validation.add(-loss, None));
            }
            self.trained.snapshots.push(Snapshot {
                step,
                validation,
                weights: self.device.download(weights),
            });
        }
        go_on
    }
}

#[cfg(test)]
mod tests;
