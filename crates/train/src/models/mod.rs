//! Models that can be trained: language models over tokens, and classifiers and regressors over rows of numbers.

mod block;
mod error;
mod examples;
mod language;
mod network;
mod perceptron;
mod recurrent;
mod sharded;
mod transformer;

pub use error::ModelError;
pub use examples::{Features, Part, Targets, Tokens};
pub use language::LanguageModel;
pub use network::{AnyLanguageModel, Network};
pub use perceptron::{Mlp, MlpShape, Task};
pub use recurrent::{GruLanguageModel, LstmLanguageModel, RecurrentLanguageModel, RecurrentShape};
pub use sharded::Sharded;
pub use transformer::{TransformerLanguageModel, TransformerShape};
