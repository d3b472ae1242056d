//! Where a run's data, ledger and files are: what a checkpoint notes, so that `resume` needs no more than the checkpoint.

use super::places;
use crate::compute::DeviceName;
use crate::dataset::{of_the_ledger, unanswered};
use crate::terminal::{CliError, explained, fail};
use accounting::{Budget, Delta, Epsilon, Neighbors, PrivacyUnit, Promise};
use ledger::{Place, Rules, Store};
use serde::{Deserialize, Serialize};
use sql::Catalog;
use sql::blocking::Dataset;
use sql::catalog::Source as Rows;
use std::path::{Path, PathBuf};

/// The name of the note.
pub(super) const NOTE: &str = "deniable.origin";

/// ε and δ of a ledger that is made without a word about its budget: room for a run with the default ε, and for one half as large.
pub(super) const BUDGET: (&str, &str) = ("20", "1e-5");

/// Where private data comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "from")]
pub(super) enum Source {
    /// Nobody's: made up, to try things out.
    MadeUp { rows: usize, seed: u64 },
    /// A file of text.
    Text {
        path: PathBuf,
        each_line: bool,
        /// Tokens a row: part of what a row is.
        length: usize,
    },
    /// A column of text of a declared table.
    Column {
        catalog: PathBuf,
        table: String,
        column: String,
    },
    /// Rows of a declared table.
    Table { catalog: PathBuf, table: String },
}

/// Everything that is not in the plan, the recipe or the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Origin {
    pub(super) source: Source,
    /// The ledger of a text, which has no catalog to name one.
    pub(super) ledger: Option<PathBuf>,
    /// The budget of that ledger, ε and δ; `None` for its own, or [`BUDGET`] where it is new.
    pub(super) budget: Option<(String, String)>,
    pub(super) analyst: String,
    pub(super) device: DeviceName,
    pub(super) out: PathBuf,
    pub(super) every: u64,
    /// Public text to check with.
    pub(super) validation: Option<PathBuf>,
    pub(super) plot: Option<PathBuf>,
}

impl Source {
    /// Its public name, for the receipt.
    pub(super) fn name(&self) -> String {
        match self {
            Self::MadeUp { rows, seed } => format!("{rows} rows of synthetic text (seed {seed})"),
            Self::Text { path, .. } => file_name(path),
            Self::Column { table, column, .. } => format!("{table}.{column}"),
            Self::Table { table, .. } => table.clone(),
        }
    }

    /// Whether it is nobody's, so that everybody knows how much there is.
    pub(super) fn is_made_up(&self) -> bool {
        matches!(self, Self::MadeUp { .. })
    }

    /// Whether one unit may have several examples.
    pub(super) fn has_owners(&self) -> bool {
        match self {
            Self::MadeUp { .. } => false,
            Self::Text { each_line, .. } => *each_line,
            Self::Column { .. } | Self::Table { .. } => true,
        }
    }

    /// The dataset, where there is a catalog.
    pub(super) fn dataset(&self) -> Result<Option<Dataset>, CliError> {
        match self {
            Self::MadeUp { .. } | Self::Text { .. } => Ok(None),
            Self::Column { catalog, .. } | Self::Table { catalog, .. } => {
                let catalog = Catalog::read(catalog).map_err(explained)?;
                Dataset::new(catalog).map(Some).map_err(explained)
            }
        }
    }

    /// Whose privacy, where no catalog says it.
    pub(super) fn unit(&self, dataset: Option<&Dataset>) -> PrivacyUnit {
        match (dataset, self) {
            (Some(dataset), _) => dataset.catalog().unit.clone(),
            (None, Self::Text { each_line: true, .. }) => PrivacyUnit::new("line", Neighbors::AddRemove),
            // Rows of another length are other units, and their promises do not add up.
            (None, Self::Text { length, .. }) => {
                PrivacyUnit::new(format!("row of {length} tokens"), Neighbors::AddRemove)
            }
            (None, _) => PrivacyUnit::new("row", Neighbors::AddRemove),
        }
    }
}

/// The files that hold the rows of a table.
pub(super) fn files_of(rows: &Rows) -> Vec<PathBuf> {
    match rows {
        Rows::Csv(path) | Rows::Parquet(path) if path.is_dir() => {
            let files = std::fs::read_dir(path).into_iter().flatten().flatten();
            files.map(|file| file.path()).collect()
        }
        Rows::Csv(path) | Rows::Parquet(path) => vec![path.clone()],
        Rows::Postgres { .. } | Rows::Memory(_) => Vec::new(),
    }
}

/// The same place wherever the run goes on from.
pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

impl Source {
    /// The files that hold its private data.
    fn files(&self, dataset: Option<&Dataset>) -> Vec<PathBuf> {
        let table = match self {
            Self::MadeUp { .. } => return Vec::new(),
            Self::Text { path, .. } => return vec![path.clone()],
            Self::Column { table, .. } | Self::Table { table, .. } => table,
        };
        let declared = dataset.and_then(|dataset| dataset.catalog().table(table));
        declared.map_or_else(Vec::new, |table| files_of(&table.source))
    }

    /// Refuses private data that is named as public text.
    pub(super) fn check_public<'p>(
        &self,
        dataset: Option<&Dataset>,
        public: impl IntoIterator<Item = places::Named<'p>>,
    ) -> Result<(), CliError> {
        places::check_public(&self.files(dataset), public)
    }
}

impl Origin {
    /// The file that holds the ledger, if it is in one.
    pub(super) fn ledger_file(&self, dataset: Option<&Dataset>) -> Option<PathBuf> {
        match (dataset.map(Dataset::place), &self.ledger) {
            (Some(Place::File(path)), _) => Some(path),
            (Some(_), _) => None,
            (None, Some(path)) => Some(path.clone()),
            (None, None) => {
                let data = match &self.source {
                    Source::Text { path, .. } => path,
                    _ => &self.out,
                };
                let mut name = data.clone().into_os_string();
                name.push(".ledger");
                Some(PathBuf::from(name))
            }
        }
    }

    /// The ledger that is charged: that of the catalog or the text. One that is not there is made for a `new` run only.
    pub(super) fn ledger(&self, dataset: Option<&Dataset>, new: bool) -> Result<Store, CliError> {
        if let Some(dataset) = dataset {
            return dataset.ledger().map_err(unanswered);
        }
        let path = self.ledger_file(None).expect("a text has a ledger in a file");
        let place = Place::File(path.clone());
        let unit = self.source.unit(None);
        if let Some(store) = Store::open_existing(&place).map_err(of_the_ledger)?
            && (!new || self.budget.is_none())
        {
            let kept = store.rules().budget.unit();
            if *kept != unit {
                return fail(
                    format!(
                        "the ledger {} is about each {}, and this run about each {}",
                        path.display(),
                        kept.whose,
                        unit.whose
                    ),
                    "promises to different units do not add up: name another ledger with --ledger, or train on the same units",
                );
            }
            return Ok(store);
        }
        if !new {
            return fail(
                format!("there is no ledger at {}", path.display()),
                "a run goes on where it was charged: put its ledger back",
            );
        }
        let (epsilon, delta) = match &self.budget {
            Some((epsilon, delta)) => (epsilon.as_str(), delta.as_str()),
            None => BUDGET,
        };
        let epsilon = Epsilon::parse(epsilon).map_err(explained)?;
        let delta = Delta::parse(delta).map_err(explained)?;
        let budget = Budget::new(Promise::Approximate(epsilon, delta), unit);
        Store::open(&place, &Rules::new(budget)).map_err(|error| match error {
            ledger::Error::OtherRules { .. } => explained(error)
                .with_hint("leave out --budget and --budget-delta to charge the ledger that is there, or name another with --ledger"),
            other => of_the_ledger(other),
        })
    }
}
