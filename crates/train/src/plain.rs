//! Training without privacy, to compare with: the same models and optimizers, ordinary batches, no clipping, no noise. Nothing that comes out of it is private.

use crate::Error;
use crate::model::Model;
use crate::optimizer::Optimizer;
use crate::private::{Examples, Recipe};
use device::Device;
use noise::{Keyed, random_order};

/// An ordinary run over shuffled batches, from a public seed.
///
/// ```
/// use device::{Activation, Cpu};
/// use train::PlainTrainer;
/// use train::models::{Features, Mlp, MlpShape, Targets, Task};
/// use train::private::{Dataset, Recipe};
///
/// let values: Vec<f32> = (0..100).map(|row| row as f32 / 50.0 - 1.0).collect();
/// let doubled = values.iter().map(|value| 2.0 * value).collect();
/// let data = Dataset::new("a line", Features::new(1, 1, values, Targets::Numbers(doubled))?);
/// let shape = MlpShape { inputs: 1, hidden: vec![], activation: Activation::Relu, task: Task::Numbers(1), dropout: 0.0 };
/// let model = Mlp::new(Cpu::<f32>::new(), shape)?;
/// let mut trainer = PlainTrainer::new(Cpu::new(), model, &data, Recipe::adam(0.1), 10, 100)?;
/// let losses: Vec<f64> = std::iter::from_fn(|| trainer.step()).collect();
/// assert!(losses.len() == 100 && losses[99] < 0.1 * losses[0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PlainTrainer<'a, D: Device, M, E> {
    device: D,
    model: M,
    examples: &'a E,
    recipe: Recipe,
    batch: usize,
    steps: u64,
    parameters: D::Buffer,
    gradient: D::Buffer,
    optimizer: Optimizer<D>,
    order: Vec<u64>,
    taken: u64,
}

impl<D: Device, M, E> std::fmt::Debug for PlainTrainer<'_, D, M, E> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "PlainTrainer({} of {} steps)", self.taken, self.steps)
    }
}

impl<'a, D: Device, M: Model<D, Batch = E::Batch>, E: Examples> PlainTrainer<'a, D, M, E> {
    /// `steps` steps of `batch` examples each.
    ///
    /// # Errors
    /// When there is nothing to train on, or a batch is larger than that.
    pub fn new(
        device: D,
        model: M,
        examples: &'a E,
        recipe: Recipe,
        batch: usize,
        steps: u64,
    ) -> Result<Self, Error> {
        recipe.check()?;
        if examples.count() == 0 {
            return Err(Error::TooFewUnits { found: "no examples" });
        }
        if batch == 0 || batch > examples.count() {
            return Err(Error::BatchTooLarge {
                batch: batch as u64,
                of: examples.count() as u64,
            });
        }
        let start: Vec<D::Scalar> = model
            .initial(recipe.seed)
            .iter()
            .map(|value| device::Scalar::from_f64(f64::from(*value)))
            .collect();
        Ok(Self {
            optimizer: Optimizer::new(recipe.rule, &device, start.len()),
            parameters: device.upload(&start),
            gradient: device.zeros(start.len()),
            device,
            model,
            examples,
            recipe,
            batch,
            steps,
            order: Vec::new(),
            taken: 0,
        })
    }

    /// Takes one step and reports the mean loss of its batch; `None` when all were taken.
    pub fn step(&mut self) -> Option<f64> {
        if self.taken == self.steps {
            return None;
        }
        // An epoch drops what does not fill its last batch, as is usual.
        let per_epoch = (self.examples.count() / self.batch) as u64;
        let (epoch, place) = (self.taken / per_epoch, (self.taken % per_epoch) as usize);
        if place == 0 || self.order.is_empty() {
            let mut seed = [0u8; 32];
            seed[..8].copy_from_slice(&self.recipe.seed.to_le_bytes());
            self.order = random_order(self.examples.count() as u64, &mut Keyed::new(seed, epoch));
        }
        let chosen: Vec<usize> = self.order[place * self.batch..(place + 1) * self.batch]
            .iter()
            .map(|number| *number as usize)
            .collect();
        self.model.begin_step(self.taken);
        self.device.clear(&mut self.gradient);
        let mut total = 0.0;
        for part in chosen.chunks(self.recipe.at_once) {
            let batch = self.examples.gather(part);
            total += self.model.backward(&self.parameters, &batch).iter().sum::<f64>();
            let weights = vec![1.0 / self.batch as f64; part.len()];
            self.model.accumulate(&weights, &mut self.gradient);
        }
        let rate = self.recipe.rate * self.recipe.schedule.factor(self.taken, self.steps);
        self.optimizer
            .update(&self.device, &self.gradient, &mut self.parameters, rate, 0.0);
        self.taken += 1;
        Some(total / self.batch as f64)
    }

    /// The model and the parameters as they are.
    pub fn model(&mut self) -> (&mut M, &D::Buffer) {
        (&mut self.model, &self.parameters)
    }

    /// How many steps were taken.
    pub fn steps_taken(&self) -> u64 {
        self.taken
    }
}
