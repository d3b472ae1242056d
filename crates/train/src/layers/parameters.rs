//! Which part of the flat vector is whose, and how it starts.

use crate::model::Parameter;
use chacha20::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};

/// How a parameter starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// All the same.
    Constant(f64),
    /// Uniform between −bound and bound.
    Uniform(f64),
    /// 0, but 1 in the second of four equal parts: an LSTM that starts by remembering.
    Remember,
}

impl Start {
    /// Uniform with the variance 2 / (inputs + outputs), which keeps activations and gradients about as large from layer to layer (Glorot and Bengio 2010).
    pub fn balanced(inputs: usize, outputs: usize) -> Self {
        Self::Uniform((6.0 / (inputs + outputs) as f64).sqrt())
    }
}

/// The layout of a model while it is being made.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    layout: Vec<Parameter>,
    starts: Vec<Start>,
    len: usize,
}

impl Parameters {
    /// Adds one at the end; where it begins.
    pub fn add(&mut self, name: impl Into<String>, shape: &[usize], start: Start) -> usize {
        let parameter = Parameter {
            name: name.into(),
            shape: shape.to_vec(),
            start: self.len,
        };
        self.len += parameter.len();
        let begins = parameter.start;
        self.layout.push(parameter);
        self.starts.push(start);
        begins
    }

    /// All of them, in order.
    pub fn layout(&self) -> &[Parameter] {
        &self.layout
    }

    /// How many numbers.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Starting values. Each parameter has a stream of its own, so that one does not depend on the sizes of the others.
    pub fn initial(&self, seed: u64) -> Vec<f32> {
        let mut values = Vec::with_capacity(self.len);
        for (number, (parameter, start)) in self.layout.iter().zip(&self.starts).enumerate() {
            let len = parameter.len();
            match *start {
                Start::Constant(value) => values.extend(std::iter::repeat_n(value as f32, len)),
                Start::Remember => {
                    values.extend((0..len).map(|i| f32::from(u8::from(i / (len / 4).max(1) == 1))))
                }
                Start::Uniform(bound) => {
                    let mut stream = ChaCha12Rng::seed_from_u64(seed);
                    stream.set_stream(number as u64);
                    values.extend((0..len).map(|_| {
                        let unit = f64::from(stream.next_u32()) / 4_294_967_296.0;
                        (bound * (2.0 * unit - 1.0)) as f32
                    }));
                }
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_belongs_to_one_parameter_and_starts_as_reported() {
        let mut parameters = Parameters::default();
        assert_eq!(parameters.add("a", &[2, 3], Start::Uniform(0.5)), 0);
        assert_eq!(parameters.add("b", &[8], Start::Remember), 6);
        assert_eq!(parameters.add("c", &[2], Start::Constant(1.5)), 14);
        assert_eq!(parameters.len(), 16);
        let values = parameters.initial(1);
        assert_eq!(values.len(), 16);
        assert!(
            values[..6]
                .iter()
                .all(|value| value.abs() <= 0.5 && *value != 0.0)
        );
        assert_eq!(values[6..14], [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(values[14..], [1.5, 1.5]);
        assert_eq!(values, parameters.initial(1));
        assert_ne!(values, parameters.initial(2));
    }
}
