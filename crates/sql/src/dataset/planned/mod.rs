//! Planned releases: what one will be like, and what it gave.

pub(crate) mod asked;
mod explanation;
mod levels;
mod listed;
mod released;
mod wanted;
mod written;

pub(crate) use explanation::explain;
pub use explanation::{ReleaseExplanation, ResidualShare, TableForecast};
pub(crate) use levels::levels_of;
pub use listed::{ListedAttribute, ListedRelease};
pub use released::ReleasedTables;
pub(crate) use released::SavedTables;
pub use wanted::WantedTableError;

use accounting::Epsilon;

/// Which planned release is meant, and by whom.
#[derive(Clone, Debug)]
pub struct ReleaseRequest {
    /// Its name in the catalog.
    pub name: String,
    /// Who asks.
    pub analyst: String,
    /// What it may cost, in place of what the catalog says.
    pub epsilon: Option<Epsilon>,
    /// Limits of the account that asks, beside the budget and its share.
    pub caps: ledger::Caps,
    /// The request, where it is to be charged once however often it is sent.
    pub once: Option<ledger::Once>,
}

impl ReleaseRequest {
    /// A release of the catalog as it stands there, asked for by `analyst`.
    pub fn new(name: impl Into<String>, analyst: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            analyst: analyst.into(),
            epsilon: None,
            caps: ledger::Caps::default(),
            once: None,
        }
    }
}
