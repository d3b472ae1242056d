//! A language model as attacks see it.

use attack::memorization::Remembers;
use device::Device;
use train::case_study::Language;
use train::models::AnyLanguageModel;

/// A language model that is asked what it remembers.
pub struct ObservedModel<'l, D: Device>(pub &'l mut Language<D, AnyLanguageModel<D>>);

impl<D: Device<Scalar = f32>> Remembers for ObservedModel<'_, D> {
    fn next(&mut self, context: &[u32]) -> Vec<f64> {
        self.0.next(context)
    }

    fn many(&mut self, prefix: &[u32], continuations: &[Vec<u32>]) -> Vec<f64> {
        self.0.many(prefix, continuations)
    }
}
