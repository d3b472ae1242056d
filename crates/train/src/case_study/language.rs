//! Language models that the study asks.

use crate::models::{LanguageModel, Tokens};
use crate::text::{Prediction, Rows, START};
use device::Device;

/// Rows that are predicted at once.
const AT_ONCE: usize = 200;

/// A language model with its device and its weights there.
pub struct Language<D: Device, M> {
    device: D,
    model: M,
    weights: D::Buffer,
    length: usize,
}

impl<D: Device<Scalar = f32>, M: LanguageModel<D>> Language<D, M> {
    /// Wraps a model; its weights are its own start with seed 0 until others are loaded.
    pub fn new(device: D, model: M) -> Self {
        let start = model.initial(0);
        Self {
            weights: device.upload(&start),
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

impl<D: Device<Scalar = f32>, M: LanguageModel<D>> Language<D, M> {
    /// From now on, these weights.
    pub fn load(&mut self, weights: &[f32]) {
        self.device.write(weights, &mut self.weights);
    }

    /// How well it predicts these rows, in perplexity and, if asked for, in accuracy, which takes longer.
    pub fn predict(&mut self, rows: &Rows, accuracy: bool) -> Prediction {
        let rows: Vec<&[u32]> = rows.iter().collect();
        let mut prediction = Prediction::default();
        for some in rows.chunks(AT_ONCE) {
            prediction.merge(&self.predict_some(some, accuracy));
        }
        prediction
    }

    fn predict_some(&mut self, rows: &[&[u32]], accuracy: bool) -> Prediction {
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

    /// The logarithm of each token's probability to come next after a context, which starts with [`START`].
    pub fn next(&mut self, context: &[u32]) -> Vec<f64> {
        // An answer without numbers is what a model without such a context knows.
        self.model.next(&self.weights, context).unwrap_or_default()
    }

    /// ln P(continuation | prefix) of each.
    pub fn many(&mut self, prefix: &[u32], continuations: &[Vec<u32>]) -> Vec<f64> {
        self.model
            .score_continuations(&self.weights, prefix, continuations)
            .unwrap_or_else(|_| vec![f64::NEG_INFINITY; continuations.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case_study::{Privacy, Recipe, Study, train};
    use crate::model::Model;
    use crate::models::{LstmLanguageModel, RecurrentShape};
    use crate::text::Digits;
    use accounting::Delta;
    use device::Cpu;

    fn lstm(vocabulary: usize) -> Language<Cpu<f32>, LstmLanguageModel<Cpu<f32>>> {
        let shape = RecurrentShape {
            vocabulary,
            embedding: 8,
            hidden: 16,
            dropout: 0.0,
        };
        Language::new(
            Cpu::default(),
            LstmLanguageModel::new(Cpu::default(), shape).unwrap(),
        )
    }

    #[test]
    fn all_ways_to_ask_agree() {
        let mut learner = lstm(30);
        learner.load(
            &learner
                .model
                .initial(3)
                .iter()
                .map(|weight| 4.0 * weight)
                .collect::<Vec<_>>(),
        );
        let rows: Vec<Vec<u32>> = (0..7)
            .map(|row| (0..5).map(|place| 1 + (row * 3 + place * 5) % 29).collect())
            .collect();
        let rows = Rows::of_tokens(rows.concat(), 5).unwrap();
        let (quick, full) = (learner.predict(&rows, false), learner.predict(&rows, true));
        assert_eq!((quick.tokens, full.tokens, quick.right), (35, 35, None));
        assert!(
            (quick.log_likelihood - full.log_likelihood).abs() < 1e-3,
            "{quick:?} {full:?}"
        );
        assert!(full.right.is_some());
        let continuations = vec![vec![4, 5], vec![4, 9], vec![1]];
        let many = learner.many(&[START, 7], &continuations);
        for (continuation, found) in continuations.iter().zip(many) {
            let mut context = vec![START, 7];
            let mut sum = 0.0;
            for token in continuation {
                sum += learner.next(&context)[*token as usize];
                context.push(*token);
            }
            assert!((sum - found).abs() < 1e-4, "{sum} {found}");
        }
        // A token that there is not: no answer, and nothing breaks.
        assert!(learner.next(&[99]).is_empty());
    }

    /// A planted phrase in every other row is known by heart after a few hundred steps, and with much noise it is not.
    #[test]
    fn a_small_model_remembers_unless_there_is_noise() {
        let mut study = Study::smaller(1, 200);
        study.vocabulary = 280;
        study.digits = Digits::Single;
        study.others.clear();
        study.copies = study.rows / 2;
        study.length = 24;
        study.validation = 100;
        let data = study.synthetic().unwrap();
        let prefix: Vec<u32> = std::iter::once(START)
            .chain(data.vocabulary.encode(&study.prefix))
            .collect();
        let pin = data.vocabulary.encode(&study.pin);
        let log_likelihood = |privacy| {
            let recipe = Recipe {
                name: String::new(),
                steps: 150,
                batch: 16,
                learning_rate: 3e-2,
                privacy,
            };
            let mut learner = lstm(data.vocabulary.len());
            let model = lstm(data.vocabulary.len()).model;
            let delta = Delta::parse("1e-5").unwrap();
            let device = Cpu::default();
            let trained = train(device, model, &data, &recipe, &delta, 1, &mut |_| true).unwrap();
            learner.load(&trained.result().unwrap().weights);
            (
                learner.many(&prefix, std::slice::from_ref(&pin))[0],
                trained.result().unwrap().validation.perplexity(),
            )
        };
        let (ordinary, perplexity) = log_likelihood(Privacy::None);
        assert!(ordinary > -2.0, "{ordinary}");
        assert!(perplexity < data.unigram.perplexity(), "{perplexity}");
        let (private, _) = log_likelihood(Privacy::Records {
            clip: 0.1,
            noise: 20.0,
        });
        // Four digits among ten are −9.2 by chance.
        assert!(private < -8.0, "{private}");
    }
}
