//! What a language model remembers of a secret that was in its text, with and without privacy. Models are
//! trained side by side and asked, over several seeds.

mod across;
mod report;
mod side_by_side;
mod study;

pub use across::{Across, OthersAcross, Spread, across};
pub use report::Report;
pub use side_by_side::side_by_side;
pub use study::{Experiment, Measured, Others, OwnText, Run};

/// Why a model could not be trained or asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It could not be trained.
    #[error(transparent)]
    Train(#[from] train::Error),
    /// Its text cannot be used.
    #[error(transparent)]
    Text(#[from] train::text::TextError),
    /// It has no such network.
    #[error(transparent)]
    Model(#[from] train::models::ModelError),
    /// It could not be asked.
    #[error(transparent)]
    Attack(#[from] attack::Error),
    /// A quantity of the accounting does not exist.
    #[error(transparent)]
    Accounting(#[from] accounting::Error),
    /// The secret is not among the candidates.
    #[error("the planted PIN has four digits\nhint: 3456 is the paper's")]
    NoSuchPin,
}
