//! What all language models do besides learning: say how likely text is.

use super::{ModelError, Tokens};
use crate::layers::{Grouping, reserve, reserve_indices};
use crate::model::Model;
use device::{Device, Order, Scalar, Sequences};
use std::collections::BTreeMap;

/// A model of the next token.
pub trait LanguageModel<D: Device>: Model<D, Batch = Tokens> {
    /// How many tokens there are.
    fn vocabulary(&self) -> usize;

    /// The most tokens that it looks back at; `None` where there is no limit.
    fn longest_context(&self) -> Option<usize>;

    /// −ln p of each token of each row after its first, row by row.
    fn token_losses(&mut self, parameters: &D::Buffer, batch: &Tokens) -> Vec<Vec<f64>>;

    /// The logits after each context; contexts are all as long, at least one token.
    fn logits_after(&mut self, parameters: &D::Buffer, contexts: &Tokens) -> Vec<Vec<f64>>;

    /// ln p of each token after the first.
    fn score(&mut self, parameters: &D::Buffer, tokens: &[u32]) -> Result<Vec<f64>, ModelError> {
        let batch = Tokens::ragged(self.vocabulary(), &[tokens])?;
        let losses = self.token_losses(parameters, &batch).pop().unwrap_or_default();
        Ok(losses.into_iter().map(|loss| -loss).collect())
    }

    /// ln p of each token as the next one.
    fn next(&mut self, parameters: &D::Buffer, context: &[u32]) -> Result<Vec<f64>, ModelError> {
        let context = self.end_of(context);
        if context.is_empty() {
            return Err(ModelError::NoContext);
        }
        let batch = Tokens::full(self.vocabulary(), context.len(), context.to_vec())?;
        let mut logits = self.logits_after(parameters, &batch).pop().unwrap_or_default();
        to_log_probabilities(&mut logits);
        Ok(logits)
    }

    /// Σ ln p of the tokens of each continuation of one prefix.
    ///
    /// Continuations that begin alike share that work: ten thousand of four digits need 1,111 contexts, not forty thousand.
    fn score_continuations(
        &mut self,
        parameters: &D::Buffer,
        prefix: &[u32],
        continuations: &[impl AsRef<[u32]>],
    ) -> Result<Vec<f64>, ModelError>
    where
        Self: Sized,
    {
        if prefix.is_empty() {
            return Err(ModelError::NoContext);
        }
        let mut scores = vec![0.0; continuations.len()];
        let longest = continuations
            .iter()
            .map(|tokens| tokens.as_ref().len())
            .max()
            .unwrap_or(0);
        for level in 0..longest {
            // Who needs the next token after which beginning.
            let mut needed: BTreeMap<&[u32], Vec<usize>> = BTreeMap::new();
            for (number, tokens) in continuations.iter().enumerate() {
                if tokens.as_ref().len() > level {
                    needed.entry(&tokens.as_ref()[..level]).or_default().push(number);
                }
            }
            let needed: Vec<_> = needed.into_iter().collect();
            for some in needed.chunks(CONTEXTS) {
                let mut width = 0;
                let mut contexts = Vec::new();
                for (beginning, _) in some {
                    let context = [prefix, beginning].concat();
                    let end = self.end_of(&context);
                    width = end.len();
                    contexts.extend_from_slice(end);
                }
                let batch = Tokens::full(self.vocabulary(), width, contexts)?;
                for (mut logits, (_, numbers)) in self.logits_after(parameters, &batch).into_iter().zip(some)
                {
                    to_log_probabilities(&mut logits);
                    for &number in numbers {
                        let token = continuations[number].as_ref()[level] as usize;
                        let limit = logits.len();
                        scores[number] += logits
                            .get(token)
                            .ok_or(ModelError::Range { what: "token", limit })?;
                    }
                }
            }
        }
        Ok(scores)
    }

    /// As much of the end of a context as the model looks at.
    fn end_of<'a>(&self, context: &'a [u32]) -> &'a [u32] {
        let longest = self.longest_context().unwrap_or(usize::MAX);
        &context[context.len().saturating_sub(longest)..]
    }
}

/// Contexts that are gone through at once.
const CONTEXTS: usize = 512;

/// ln softmax, in place.
fn to_log_probabilities(logits: &mut [f64]) {
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = logits.iter().map(|logit| (logit - largest).exp()).sum();
    let shift = largest + total.ln();
    logits.iter_mut().for_each(|logit| *logit -= shift);
}

/// A batch of text on the device: inputs, targets, and what each prediction counts.
pub(super) struct Text<D: Device> {
    pub(super) sequences: Sequences,
    pub(super) inputs: D::Indices,
    pub(super) targets: D::Indices,
    /// 1 / (predictions of the example), 0 for padding.
    pub(super) scales: D::Buffer,
    /// One an example, for dropout.
    pub(super) keys: D::Indices,
    pub(super) losses: D::Buffer,
    pub(super) grouping: Grouping<D>,
    pub(super) weights: D::Buffer,
}

/// What a prediction counts.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Counts {
    /// The loss of an example is the mean over its predictions.
    Mean,
    /// Each prediction by itself.
    Each,
}

impl<D: Device> Text<D> {
    pub(super) fn new(device: &D, order: Order) -> Self {
        Self {
            sequences: Sequences {
                examples: 0,
                steps: 0,
                order,
            },
            inputs: device.indices(0),
            targets: device.indices(0),
            scales: device.zeros(0),
            keys: device.indices(0),
            losses: device.zeros(0),
            grouping: Grouping::new(device),
            weights: device.zeros(0),
        }
    }

    /// Puts a batch on the device.
    pub(super) fn load(&mut self, device: &D, batch: &Tokens, counts: Counts) {
        let order = self.sequences.order;
        self.sequences = Sequences {
            examples: super::Part::len(batch),
            steps: batch.steps(),
            order,
        };
        let rows = self.sequences.rows();
        let mut inputs = vec![0; rows];
        let mut targets = vec![0; rows];
        let mut scales = vec![D::Scalar::ZERO; rows];
        let mut keys = vec![0; self.sequences.examples];
        for (example, key) in keys.iter_mut().enumerate() {
            let tokens = batch.row(example);
            *key = crate::layers::example_key(tokens.iter().copied());
            let predictions = tokens.len().saturating_sub(1);
            let scale = match counts {
                Counts::Mean => D::Scalar::from_f64(1.0 / predictions.max(1) as f64),
                Counts::Each => D::Scalar::ONE,
            };
            for step in 0..predictions {
                let row = self.sequences.row(example, step);
                inputs[row] = tokens[step];
                targets[row] = tokens[step + 1];
                scales[row] = scale;
            }
        }
        self.reserve(device, rows);
        device.write_indices(&inputs, &mut self.inputs);
        device.write_indices(&targets, &mut self.targets);
        device.write(&scales, &mut self.scales);
        device.write_indices(&keys, &mut self.keys);
    }

    /// Puts contexts on the device: every token is an input, and nothing is predicted.
    pub(super) fn load_contexts(&mut self, device: &D, contexts: &Tokens) {
        let order = self.sequences.order;
        self.sequences = Sequences {
            examples: super::Part::len(contexts),
            steps: contexts.steps() + 1,
            order,
        };
        let mut inputs = vec![0; self.sequences.rows()];
        for example in 0..self.sequences.examples {
            for (step, &token) in contexts.row(example).iter().enumerate() {
                inputs[self.sequences.row(example, step)] = token;
            }
        }
        self.reserve(device, inputs.len());
        device.write_indices(&inputs, &mut self.inputs);
    }

    fn reserve(&mut self, device: &D, rows: usize) {
        let examples = self.sequences.examples;
        reserve_indices(device, &mut self.inputs, rows);
        reserve_indices(device, &mut self.targets, rows);
        reserve_indices(device, &mut self.keys, examples);
        reserve(device, &mut self.scales, rows);
        reserve(device, &mut self.losses, rows);
    }

    /// The loss of each example: the sum over its rows.
    pub(super) fn example_losses(&self, device: &D) -> Vec<f64> {
        let mut losses = vec![0.0; self.sequences.examples];
        let rows = device.download_span(device::Span::new(&self.losses, 0), self.sequences.rows());
        for (row, loss) in rows.into_iter().enumerate() {
            losses[self.sequences.example(row)] += loss.to_f64();
        }
        losses
    }

    /// The loss of each prediction of each row.
    pub(super) fn row_losses(&self, device: &D, batch: &Tokens) -> Vec<Vec<f64>> {
        let rows = device.download_span(device::Span::new(&self.losses, 0), self.sequences.rows());
        let of = |example: usize| {
            let predictions = batch.row(example).len().saturating_sub(1);
            (0..predictions)
                .map(|step| rows[self.sequences.row(example, step)].to_f64())
                .collect()
        };
        (0..self.sequences.examples).map(of).collect()
    }

    /// Puts weights on the device.
    pub(super) fn weigh(&mut self, device: &D, weights: &[f64]) {
        assert_eq!(weights.len(), self.sequences.examples, "one weight an example");
        let weights: Vec<D::Scalar> = weights
            .iter()
            .map(|&weight| D::Scalar::from_f64(weight))
            .collect();
        device.weigh(&weights, &mut self.weights);
    }
}

/// Rows of logits that came from the device.
pub(super) fn rows_of<S: Scalar>(values: &[S], width: usize) -> Vec<Vec<f64>> {
    values
        .chunks_exact(width)
        .map(|row| row.iter().map(|value| value.to_f64()).collect())
        .collect()
}
