//! Sessions of private training: what `deniable train` does, as a library.
//!
//! ```text
//! Description ─┐                        ┌─ rows of text (Sensitive) ─┐
//! Origin ──────┼─► Session ─► a device ─┤                            ├─► PrivateData ─► plan, ledger ─► Trainer::run ─► Outcome
//! checkpoint ──┘                        └─ rows of a table ──────────┘                     │ durable charge     │ Observer: progress, interruption
//! ```
//!
//! A [`Session`] reads private data, charges its ledger for the whole run, takes the steps, saves checkpoints
//! and writes the model with its receipt. It prints nothing. An [`Observer`] sees each step and may interrupt
//! the run. The run is then saved, and resumed later with the same batches and the same noise.
//!
//! ```
//! use training::{Description, Learning, Length, Observer, Origin, Outcome, Privacy, Session, Source};
//! use train::models::Network;
//!
//! # let folder = std::env::temp_dir().join(format!("deniable-session-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let description = Description::Language {
//!     network: Network::Gru { embedding: 4, hidden: 8, dropout: 0.0 },
//!     length: 20,
//!     vocabulary: training::public_vocabulary(270)?.to_json(),
//! };
//! let origin = Origin::new(Source::Synthetic { rows: 200, seed: 1 }, "ann", folder.join("model.safetensors"));
//! let privacy = Privacy { batch: 20, length: Length::Steps(3), ..Privacy::default() };
//! let session = Session::new(description, origin, folder.join("checkpoint"), privacy, Learning::default());
//! let Outcome::Finished(finished) = session.run(&mut ())? else {
//!     unreachable!("nobody interrupted it")
//! };
//! assert_eq!(finished.receipt.plan.parameters().steps, 3);
//! println!("{}", training::read_language(&finished.model)?.generate("The ", 5, 0.8, 1)?);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod description;
mod error;
mod examples;
mod language;
mod learned;
mod lines;
mod origin;
mod outcome;
mod over_budget;
pub mod places;
mod session;
mod settings;
mod table;

pub use description::{Description, Language, ModelFile, Tabular, read_language, read_model};
pub use error::{Error, OverBudget};
pub use language::{TextEvaluation, public_vocabulary};
pub use lines::{BATCH as LINES_BATCH, LineModel, SmallModels};
pub use origin::{BUDGET, DeviceName, Origin, Source, absolute, files_of};
pub use outcome::{Columns, Finished, Interrupted, Measurement, Observer, Outcome, Step};
pub use session::{Names, Session, TRAINING};
pub use settings::{Learning, Length, Noise, Privacy, RateSchedule};
pub use table::RowsEvaluation;
