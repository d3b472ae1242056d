//! The case study on a planted PIN, as published and as it should be read.
//!
//! The paper trains an LSTM on text in which "my pin number is 3456" is planted, ranks all PINs by perplexity, and finds the planted one first; trained with
//! noise, it is 3,050th. Both are true, and neither says what the noise costs or protects. So a study has more arms: the paper's two recipes, a
//! recipe with a stated small ε, and the ordinary model as it was when it predicted no better than the private one. Beside the one PIN of 404 copies, random PINs of
//! many owners are planted once, ten and a hundred times, and some are never planted, as references.
//!
//! Nothing here is a release. A study trains an ordinary model as well and says how well secrets are remembered; what it prints about private text is
//! as private as that text. Its noise comes from its seed, so that anybody can repeat it: models that leave the
//! house are made with fresh noise, and charged to a ledger that stays.
//!
//! ```text
//! Study ──► Data: vocabulary, training rows with secrets, validation rows, unigram baseline
//!   │
//!   └ Recipe ──► train(…) ──► Snapshots: weights and validation perplexity on the way ──► a Learner that can be asked (by an attack)
//! ```

mod data;
mod language;
mod planned;
mod recipe;
mod training;

pub use data::{Data, Study};
pub use language::Language;
pub use planned::train_by_plan;
pub use recipe::{Privacy, Recipe};
pub use training::{Learner, Progress, Snapshot, Trained, predict, train};
