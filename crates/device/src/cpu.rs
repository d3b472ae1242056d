//! This machine's processor.

use crate::{Device, Scalar};
use std::marker::PhantomData;

/// The processor, computing in `S`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu<S> {
    scalar: PhantomData<S>,
}

impl<S: Scalar> Cpu<S> {
    /// The processor that this program runs on.
    pub fn new() -> Self {
        Self { scalar: PhantomData }
    }
}

impl<S: Scalar> Device for Cpu<S> {
    type Scalar = S;
    type Buffer = Vec<S>;

    fn zeros(&self, len: usize) -> Vec<S> {
        vec![S::from_f64(0.0); len]
    }

    fn upload(&self, values: &[S]) -> Vec<S> {
        values.to_vec()
    }

    fn write(&self, values: &[S], into: &mut Vec<S>) {
        into.copy_from_slice(values);
    }

    fn download(&self, buffer: &Vec<S>) -> Vec<S> {
        buffer.clone()
    }

    fn len(&self, buffer: &Vec<S>) -> usize {
        buffer.len()
    }

    fn clear(&self, buffer: &mut Vec<S>) {
        buffer.fill(S::from_f64(0.0));
    }
}
