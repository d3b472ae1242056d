//! Language models as learners of the study.

use super::Learner;
use crate::models::{LanguageModel, Tokens};
use crate::text::{Prediction, START};
use device::Device;

/// A language model with its device and its weights there.
pub struct Language<D: Device, M> {
    device: D,
    model: M,
    weights: D::Buffer,
    gradient: D::Buffer,
    length: usize,
}

impl<D: Device<Scalar = f32>, M: LanguageModel<D>> Language<D, M> {
    /// Wraps a model; its weights are its own start with seed 0 until others are loaded.
    pub fn new(device: D, model: M) -> Self {
        let start = model.initial(0);
        Self {
            weights: device.upload(&start),
            gradient: device.zeros(start.len()),
            length: start.len(),
            device,
            model,
        }
    }

    /// How many weights it has.
    pub fn weights(&self) -> usize {
        self.length
    }

    /// Rows with the start in front. Nothing where a token is not of the model's vocabulary.
    fn batch(&self, rows: &[&[u32]]) -> Option<Tokens> {
        let width = rows.first()?.len() + 1;
        let tokens = rows
            .iter()
            .flat_map(|row| std::iter::once(START).chain(row.iter().copied()));
        Tokens::full(self.model.vocabulary(), width, tokens.collect()).ok()
    }
}

impl<D: Device<Scalar = f32>, M: LanguageModel<D>> Learner for Language<D, M> {
    fn initial(&self, seed: u64) -> Vec<f32> {
        self.model.initial(seed)
    }

    fn load(&mut self, weights: &[f32]) {
        self.device.write(weights, &mut self.weights);
    }

    fn add_gradients(&mut self, rows: &[&[u32]], clip: Option<f64>, sum: &mut [f32]) {
        let Some(batch) = self.batch(rows) else {
            return;
        };
        let losses = self.model.backward(&self.weights, &batch);
        let factors: Vec<f64> = match clip {
            None => losses
                .iter()
                .map(|loss| f64::from(u8::from(loss.is_finite())))
                .collect(),
            Some(clip) => {
                let norms = self.model.squared_norms().into_iter().map(f64::sqrt);
                let factor = |norm: f64| {
                    if norm.is_finite() {
                        clip / norm.max(clip)
                    } else {
                        0.0
                    }
                };
                norms.map(factor).collect()
            }
        };
        self.device.clear(&mut self.gradient);
        self.model.accumulate(&factors, &mut self.gradient);
        let gradient = self.device.download(&self.gradient);
        sum.iter_mut()
            .zip(gradient)
            .for_each(|(sum, value)| *sum += value);
    }

    fn predict(&mut self, rows: &[&[u32]], accuracy: bool) -> Prediction {
        let mut prediction = Prediction::default();
        if !accuracy {
            if let Some(batch) = self.batch(rows) {
                let losses = self.model.token_losses(&self.weights, &batch);
                losses
                    .into_iter()
                    .flatten()
                    .for_each(|loss| prediction.add(-loss, None));
            }
            return prediction;
        }
        // Place by place: all rows up to there are contexts.
        let length = rows.first().map_or(0, |row| row.len());
        for place in 0..length {
            let beginnings: Vec<&[u32]> = rows.iter().map(|row| &row[..place]).collect();
            let Some(contexts) = self.batch(&beginnings) else {
                continue;
            };
            let answers = self.model.logits_after(&self.weights, &contexts);
            for (logits, row) in answers.into_iter().zip(rows) {
                let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let all: f64 = logits.iter().map(|logit| (logit - largest).exp()).sum();
                let own = logits
                    .get(row[place] as usize)
                    .copied()
                    .unwrap_or(f64::NEG_INFINITY);
                prediction.add(own - largest - all.ln(), Some(own == largest));
            }
        }
        prediction
    }

    fn next(&mut self, context: &[u32]) -> Vec<f64> {
        // An answer without numbers is what a model without such a context knows.
        self.model.next(&self.weights, context).unwrap_or_default()
    }

    fn many(&mut self, prefix: &[u32], continuations: &[Vec<u32>]) -> Vec<f64> {
        self.model
            .score_continuations(&self.weights, prefix, continuations)
            .unwrap_or_else(|_| vec![f64::NEG_INFINITY; continuations.len()])
    }
}
