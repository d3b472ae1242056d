//! A language model as attacks see it.

use attack::memorization::Remembers;
use device::Device;
use train::case_study::{Language, Learner};
use train::models::AnyLanguageModel;

/// A learner that is asked what it remembers.
pub struct ObservedModel<'l, D: Device>(pub &'l mut Language<D, AnyLanguageModel<D>>);

impl<D: Device<Scalar = f32>> Remembers for ObservedModel<'_, D> {
    fn next(&mut self, context: &[u32]) -> Vec<f64> {
        Learner::next(self.0, context)
    }

    fn many(&mut self, prefix: &[u32], continuations: &[Vec<u32>]) -> Vec<f64> {
        Learner::many(self.0, prefix, continuations)
    }
}
