//! The case study on a planted PIN, as published and as it should be read.
//!
//! The paper trains an LSTM on text in which "my pin number is 3456" is planted, ranks all PINs by perplexity, and finds the planted one first; trained with
//! noise, it is 3,050th. Both are true, and neither says what the noise costs or protects. So a study has more arms: the paper's two recipes, a
//! recipe with a stated small ε, and the ordinary model as it was when it predicted no better than the private one. Beside the one PIN of 404 copies, random PINs of
//! many owners are planted once, ten and a hundred times, and some are never planted, as references.
//!
//! Nothing here is a release. A study trains an ordinary model as well and says how well secrets are remembered; what it prints about private text is
//! as private as that text. Arms with noise are trained by the trainer of all private models, under a plan that the paper's microbatches are a variant of; but the key of that noise comes from the study's seed, so that
//! anybody can repeat it. Models that leave the house are made with fresh noise, and charged to a ledger that stays. The ordinary arm is a plain model, and makes no claim about privacy.
//!
//! ```text
//! Study ──► Data: vocabulary, training rows with secrets, validation rows, unigram baseline
//!   │
//!   └ Recipe ──► train(…): a Trainer or a PlainTrainer ──► Snapshots: weights and validation perplexity on the way ──► a Language that can be asked (by an attack)
//! ```

mod data;
mod language;
mod recipe;
mod training;

pub use data::{Data, Study};
pub use language::Language;
pub use recipe::{Privacy, Recipe};
pub use training::{Progress, Snapshot, Trained, train};
