//! Language models by description: what a command line or a model's file says.

use super::{
    GruLanguageModel, LanguageModel, LstmLanguageModel, ModelError, Part, RecurrentShape, Tokens,
    TransformerLanguageModel, TransformerShape,
};
use crate::model::{Model, Parameter};
use device::Device;
use serde::{Deserialize, Serialize};

/// Which network, and how large; the vocabulary aside.
///
/// ```
/// use device::Cpu;
/// use train::model::Model;
/// use train::models::{LanguageModel, Network};
///
/// let network = Network::Gru { embedding: 8, hidden: 16, dropout: 0.0 };
/// let mut model = network.build(Cpu::<f32>::new(), 30)?;
/// let parameters = model.initial(1);
/// let likely = model.next(&parameters, &[0, 7])?;
/// let all: f64 = likely.iter().map(|log| log.exp()).sum();
/// assert!(likely.len() == 30 && (all - 1.0).abs() < 1e-6);
/// # Ok::<(), train::models::ModelError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "network", deny_unknown_fields)]
pub enum Network {
    /// Embedding, one LSTM, a linear layer.
    Lstm {
        /// The embedding dimension.
        embedding: usize,
        /// The hidden size.
        hidden: usize,
        /// The dropout probability while training.
        dropout: f64,
    },
    /// Embedding, one GRU, a linear layer.
    Gru {
        /// The embedding dimension.
        embedding: usize,
        /// The hidden size.
        hidden: usize,
        /// The dropout probability while training.
        dropout: f64,
    },
    /// Blocks of attention and perceptron.
    Transformer {
        /// The context length, in tokens.
        context: usize,
        /// The hidden size, which is the embedding dimension too.
        width: usize,
        /// The number of attention heads.
        heads: usize,
        /// The number of blocks.
        blocks: usize,
        /// Whether the embedding is the output layer as well.
        tied: bool,
        /// The dropout probability while training.
        dropout: f64,
    },
}

impl Network {
    /// The model, for a vocabulary of `vocabulary` tokens.
    ///
    /// # Errors
    /// When a size makes no sense.
    pub fn build<D: Device + 'static>(
        &self,
        device: D,
        vocabulary: usize,
    ) -> Result<AnyLanguageModel<D>, ModelError> {
        let recurrent = |embedding, hidden, dropout| RecurrentShape {
            vocabulary,
            embedding,
            hidden,
            dropout,
        };
        let model: Box<dyn LanguageModel<D> + Send> = match *self {
            Self::Lstm {
                embedding,
                hidden,
                dropout,
            } => Box::new(LstmLanguageModel::new(
                device,
                recurrent(embedding, hidden, dropout),
            )?),
            Self::Gru {
                embedding,
                hidden,
                dropout,
            } => Box::new(GruLanguageModel::new(
                device,
                recurrent(embedding, hidden, dropout),
            )?),
            Self::Transformer {
                context,
                width,
                heads,
                blocks,
                tied,
                dropout,
            } => Box::new(TransformerLanguageModel::new(
                device,
                TransformerShape {
                    vocabulary,
                    context,
                    width,
                    heads,
                    blocks,
                    tied,
                    dropout,
                },
            )?),
        };
        Ok(AnyLanguageModel(model))
    }
}

/// A language model of whichever network.
pub struct AnyLanguageModel<D: Device>(Box<dyn LanguageModel<D> + Send>);

impl<D: Device> Model<D> for AnyLanguageModel<D> {
    type Batch = Tokens;

    fn layout(&self) -> &[Parameter] {
        self.0.layout()
    }

    fn computes(&self) -> String {
        self.0.computes()
    }

    fn initial(&self, seed: u64) -> Vec<f32> {
        self.0.initial(seed)
    }

    fn examples(&self, batch: &Tokens) -> usize {
        batch.len()
    }

    fn begin_step(&mut self, step: u64) {
        self.0.begin_step(step);
    }

    fn group(&mut self, sizes: Option<&[usize]>) -> bool {
        self.0.group(sizes)
    }

    fn backward(&mut self, parameters: &D::Buffer, batch: &Tokens) -> Vec<f64> {
        self.0.backward(parameters, batch)
    }

    fn squared_norms(&mut self) -> Vec<f64> {
        self.0.squared_norms()
    }

    fn accumulate(&mut self, weights: &[f64], gradient: &mut D::Buffer) {
        self.0.accumulate(weights, gradient);
    }

    fn losses(&mut self, parameters: &D::Buffer, batch: &Tokens) -> Vec<f64> {
        self.0.losses(parameters, batch)
    }
}

impl<D: Device> LanguageModel<D> for AnyLanguageModel<D> {
    fn vocabulary(&self) -> usize {
        self.0.vocabulary()
    }

    fn longest_context(&self) -> Option<usize> {
        self.0.longest_context()
    }

    fn token_losses(&mut self, parameters: &D::Buffer, batch: &Tokens) -> Vec<Vec<f64>> {
        self.0.token_losses(parameters, batch)
    }

    fn logits_after(&mut self, parameters: &D::Buffer, contexts: &Tokens) -> Vec<Vec<f64>> {
        self.0.logits_after(parameters, contexts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::Cpu;

    #[test]
    fn networks_are_read_as_written_and_built_as_described() {
        let networks = [
            Network::Lstm {
                embedding: 50,
                hidden: 100,
                dropout: 0.0,
            },
            Network::Gru {
                embedding: 5,
                hidden: 6,
                dropout: 0.1,
            },
            Network::Transformer {
                context: 8,
                width: 8,
                heads: 2,
                blocks: 1,
                tied: true,
                dropout: 0.0,
            },
        ];
        for network in &networks {
            let text = serde_json::to_string(network).unwrap();
            assert_eq!(serde_json::from_str::<Network>(&text).unwrap(), *network);
            let mut model = network.build(Cpu::<f32>::default(), 985).unwrap();
            assert_eq!(model.vocabulary(), 985);
            let parameters = model.initial(1);
            let batch = Tokens::full(985, 4, vec![1, 2, 3, 4]).unwrap();
            let (losses, again) = (
                model.losses(&parameters, &batch),
                model.score(&parameters, &[1, 2, 3, 4]).unwrap(),
            );
            assert!((losses[0] + again.iter().sum::<f64>() / 3.0).abs() < 1e-4);
        }
        let of_the_paper = networks[0].build(Cpu::<f32>::default(), 985).unwrap();
        assert_eq!(of_the_paper.initial(0).len(), 209_135);
        let nothing = Network::Lstm {
            embedding: 0,
            hidden: 1,
            dropout: 0.0,
        };
        assert!(nothing.build(Cpu::<f32>::default(), 985).is_err());
    }
}
