//! One model on several threads.

use super::Part;
use crate::model::{Model, Parameter};
use device::Device;
use std::ops::Range;

/// Splits each batch among copies of a model, one a thread. Sums are made in the order of the copies, so that a result depends on their number and not on timing.
pub struct Sharded<D: Device, M> {
    device: D,
    models: Vec<M>,
    /// A gradient for each copy but the first, which adds to the caller's.
    gradients: Vec<D::Buffer>,
    parts: Vec<Range<usize>>,
}

impl<D: Device, M: Model<D>> Sharded<D, M> {
    /// From copies of one model, at least one, each with a device of its own.
    ///
    /// # Panics
    ///
    /// Where there is none, or where layouts differ.
    pub fn new(device: D, models: Vec<M>) -> Self {
        assert!(!models.is_empty(), "no model");
        assert!(
            models.iter().all(|model| model.layout() == models[0].layout()),
            "copies of different models"
        );
        Self {
            device,
            models,
            gradients: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// How many threads it uses.
    pub fn threads(&self) -> usize {
        self.models.len()
    }

    /// The copy that the calling thread may use by itself.
    pub fn first(&mut self) -> &mut M {
        &mut self.models[0]
    }
}

/// `examples` in `count` parts that differ by at most one.
fn parts(examples: usize, count: usize) -> Vec<Range<usize>> {
    (0..count)
        .map(|part| examples * part / count..examples * (part + 1) / count)
        .collect()
}

impl<D, M> Sharded<D, M>
where
    D: Device,
    D::Buffer: Sync,
    M: Model<D> + Send,
    M::Batch: Part + Send,
{
    /// Runs a function on each copy with its part; results in order.
    fn each<R: Send>(
        &mut self,
        batch: &M::Batch,
        run: impl Fn(&mut M, &M::Batch) -> Vec<R> + Sync,
    ) -> Vec<R> {
        self.parts = parts(batch.len(), self.models.len());
        let batches: Vec<M::Batch> = self.parts.iter().map(|part| batch.part(part.clone())).collect();
        on_threads(
            self.models.iter_mut().zip(&mut batches.into_iter()),
            |(model, batch)| run(model, &batch),
        )
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Runs all but the first on threads of their own; results in order.
fn on_threads<T: Send, R: Send>(work: impl Iterator<Item = T>, run: impl Fn(T) -> R + Sync) -> Vec<R> {
    let mut work = work;
    let Some(first) = work.next() else {
        return Vec::new();
    };
    let run = &run;
    std::thread::scope(|scope| {
        let others: Vec<_> = work.map(|item| scope.spawn(move || run(item))).collect();
        let mut results = vec![run(first)];
        for other in others {
            match other.join() {
                Ok(result) => results.push(result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    })
}

impl<D, M> Model<D> for Sharded<D, M>
where
    D: Device,
    D::Buffer: Sync,
    M: Model<D> + Send,
    M::Batch: Part + Send,
{
    type Batch = M::Batch;

    fn layout(&self) -> &[Parameter] {
        self.models[0].layout()
    }

    fn initial(&self, seed: u64) -> Vec<f32> {
        self.models[0].initial(seed)
    }

    fn examples(&self, batch: &M::Batch) -> usize {
        batch.len()
    }

    fn begin_step(&mut self, step: u64) {
        self.models.iter_mut().for_each(|model| model.begin_step(step));
    }

    fn backward(&mut self, parameters: &D::Buffer, batch: &M::Batch) -> Vec<f64> {
        self.each(batch, |model, batch| model.backward(parameters, batch))
    }

    fn squared_norms(&mut self) -> Vec<f64> {
        on_threads(self.models.iter_mut(), |model| model.squared_norms()).concat()
    }

    fn accumulate(&mut self, weights: &[f64], gradient: &mut D::Buffer) {
        let len = self.device.len(gradient);
        while self.gradients.len() + 1 < self.models.len() {
            self.gradients.push(self.device.zeros(len));
        }
        self.gradients
            .iter_mut()
            .for_each(|gradient| self.device.clear(gradient));
        let gradients = std::iter::once(&mut *gradient).chain(&mut self.gradients);
        let work = self.models.iter_mut().zip(gradients).zip(&self.parts);
        on_threads(work, |((model, gradient), part)| {
            model.accumulate(&weights[part.clone()], gradient)
        });
        for part in &self.gradients {
            self.device.axpy(1.0, part, gradient);
        }
    }

    fn losses(&mut self, parameters: &D::Buffer, batch: &M::Batch) -> Vec<f64> {
        self.each(batch, |model, batch| model.losses(parameters, batch))
    }
}
