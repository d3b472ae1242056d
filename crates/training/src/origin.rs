//! Where a run's data, ledger and files are. A checkpoint notes this, so that `resume` needs only the
//! checkpoint.

use crate::{Error, places};
use accounting::{Budget, Delta, Epsilon, Neighbors, PrivacyUnit, Promise};
use ledger::{Place, Rules, Store};
use serde::{Deserialize, Serialize};
use sql::Catalog;
use sql::blocking::Dataset;
use sql::catalog::{Root, Source as Rows};
use std::path::{Path, PathBuf};

/// The name of the note.
pub(crate) const NOTE: &str = "deniable.origin";

/// ε and δ of a ledger that is made without a word about its budget: room for a run with the default ε, and
/// for one half as large.
pub const BUDGET: (&str, &str) = ("20", "1e-5");

/// Where a run computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceName {
    /// This machine's processor.
    #[default]
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
}

/// Where private data comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "from")]
pub enum Source {
    /// Synthetic text, to try things out. Checkpoints of earlier versions call it `made_up`.
    #[serde(alias = "made_up")]
    Synthetic {
        /// How many rows.
        rows: usize,
        /// What they follow from.
        seed: u64,
    },
    /// A file of text.
    Text {
        /// The file.
        path: PathBuf,
        /// Whether each line is a unit; a row of tokens is one otherwise.
        each_line: bool,
        /// The sequence length in tokens: part of what a row is.
        length: usize,
    },
    /// A column of text of a declared table.
    Column {
        /// The catalog's file.
        catalog: PathBuf,
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// Rows of a declared table.
    Table {
        /// The catalog's file.
        catalog: PathBuf,
        /// The table.
        table: String,
    },
}

/// Everything that is not in the plan, the recipe or the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The private data.
    pub source: Source,
    /// The ledger of a text, which has no catalog to name one.
    pub ledger: Option<PathBuf>,
    /// The budget of that ledger, ε and δ; `None` for its own, or [`BUDGET`] if it is new.
    pub budget: Option<(String, String)>,
    /// The person who trains, as the ledger calls them.
    pub analyst: String,
    /// Where to compute.
    pub device: DeviceName,
    /// Where the model goes.
    pub out: PathBuf,
    /// Steps between two checkpoints.
    pub every: u64,
    /// Public text to validate with.
    pub validation: Option<PathBuf>,
    /// Where the caller draws what was measured. A session draws nothing itself.
    pub plot: Option<PathBuf>,
}

impl Source {
    /// Its public name, for the receipt.
    pub fn name(&self) -> String {
        match self {
            Self::Synthetic { rows, seed } => format!("{rows} rows of synthetic text (seed {seed})"),
            Self::Text { path, .. } => file_name(path),
            Self::Column { table, column, .. } => format!("{table}.{column}"),
            Self::Table { table, .. } => table.clone(),
        }
    }

    /// Whether it is synthetic, so that everybody knows how much there is.
    pub fn is_synthetic(&self) -> bool {
        matches!(self, Self::Synthetic { .. })
    }

    /// Whether one unit may have several examples.
    pub fn has_owners(&self) -> bool {
        match self {
            Self::Synthetic { .. } => false,
            Self::Text { each_line, .. } => *each_line,
            Self::Column { .. } | Self::Table { .. } => true,
        }
    }

    /// The dataset, if there is a catalog.
    ///
    /// # Errors
    /// When the catalog cannot be used.
    pub fn dataset(&self) -> Result<Option<Dataset>, Error> {
        match self {
            Self::Synthetic { .. } | Self::Text { .. } => Ok(None),
            Self::Column { catalog, .. } | Self::Table { catalog, .. } => {
                let catalog = Catalog::read(catalog)?;
                Ok(Some(Dataset::new(catalog)?))
            }
        }
    }

    /// Whether a model that reads rows of this length sees a privacy unit as one row.
    pub(crate) fn check_length(&self, model: usize) -> Result<(), Error> {
        match self {
            Self::Text {
                each_line: false,
                length,
                ..
            } if *length != model => Err(Error::OtherLength { unit: *length, model }),
            _ => Ok(()),
        }
    }

    /// Whose privacy, if no catalog says it.
    pub fn unit(&self, dataset: Option<&Dataset>) -> PrivacyUnit {
        match (dataset, self) {
            (Some(dataset), _) => dataset.catalog().unit.clone(),
            (None, Self::Text { each_line: true, .. }) => PrivacyUnit::new("line", Neighbors::AddRemove),
            // Rows of another length are other units, and their guarantees do not add up.
            (None, Self::Text { length, .. }) => {
                PrivacyUnit::new(format!("row of {length} tokens"), Neighbors::AddRemove)
            }
            (None, _) => PrivacyUnit::new("row", Neighbors::AddRemove),
        }
    }
}

/// The files that hold the rows of a table; of a tree of directories also the directory at its root, all of
/// which is private.
pub fn files_of(rows: &Rows) -> Vec<PathBuf> {
    match rows {
        Rows::Csv(path) | Rows::Parquet(path) if path.is_dir() => {
            let files = std::fs::read_dir(path).into_iter().flatten().flatten();
            files.map(|file| file.path()).collect()
        }
        Rows::Csv(path) | Rows::Parquet(path) => vec![path.clone()],
        Rows::ParquetTree(tree) => match &tree.root {
            Root::Directory(root) => {
                let mut found = vec![root.clone()];
                below(root, DEEPEST, &mut found);
                found
            }
            Root::Objects(_) => Vec::new(),
        },
        Rows::Postgres { .. } | Rows::Memory(_) => Vec::new(),
    }
}

/// Directories are followed so deep, links among them, which may lead in circles.
const DEEPEST: usize = 40;

/// Every file below a directory.
fn below(directory: &Path, deepest: usize, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true if deepest > 0 => below(&path, deepest - 1, found),
            true => {}
            false => found.push(path),
        }
    }
}

/// The same place wherever the run is resumed from.
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

impl Source {
    /// The files that hold its private data.
    fn files(&self, dataset: Option<&Dataset>) -> Vec<PathBuf> {
        let table = match self {
            Self::Synthetic { .. } => return Vec::new(),
            Self::Text { path, .. } => return vec![path.clone()],
            Self::Column { table, .. } | Self::Table { table, .. } => table,
        };
        let declared = dataset.and_then(|dataset| dataset.catalog().table(table));
        declared.map_or_else(Vec::new, |table| files_of(&table.source))
    }

    /// Refuses private data that is named as public text.
    ///
    /// # Errors
    /// When a file that is called public is private.
    pub fn check_public<'p>(
        &self,
        dataset: Option<&Dataset>,
        public: impl IntoIterator<Item = places::Named<'p>>,
    ) -> Result<(), Error> {
        places::check_public(&self.files(dataset), public)
    }
}

impl Origin {
    /// The usual choices: on this machine's processor, with a checkpoint every 200 steps, charged to the
    /// ledger of the catalog or the one beside the text.
    pub fn new(source: Source, analyst: &str, out: PathBuf) -> Self {
        Self {
            source,
            ledger: None,
            budget: None,
            analyst: analyst.to_owned(),
            device: DeviceName::Cpu,
            out: absolute(&out),
            every: 200,
            validation: None,
            plot: None,
        }
    }

    /// The file that holds the ledger, if it is in one.
    pub fn ledger_file(&self, dataset: Option<&Dataset>) -> Option<PathBuf> {
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

    /// The ledger that is charged: that of the catalog or the text. One that is not there is made for a `new`
    /// run only.
    ///
    /// # Errors
    /// When it is about other units, has another budget than was stated, or a resumed run has none.
    pub fn ledger(&self, dataset: Option<&Dataset>, new: bool) -> Result<Store, Error> {
        if let Some(dataset) = dataset {
            return Ok(dataset.ledger()?);
        }
        let path = self.ledger_file(None).expect("a text has a ledger in a file");
        let place = Place::File(path.clone());
        let unit = self.source.unit(None);
        if let Some(store) = Store::open_existing(&place)?
            && (!new || self.budget.is_none())
        {
            let recorded = store.rules().budget.unit();
            if *recorded != unit {
                return Err(Error::OtherUnit {
                    path,
                    recorded: recorded.whose.clone(),
                    asked: unit.whose,
                });
            }
            return Ok(store);
        }
        if !new {
            return Err(Error::NoLedger { path });
        }
        let (epsilon, delta) = match &self.budget {
            Some((epsilon, delta)) => (epsilon.as_str(), delta.as_str()),
            None => BUDGET,
        };
        let epsilon = Epsilon::parse(epsilon)?;
        let delta = Delta::parse(delta)?;
        let budget = Budget::new(Promise::Approximate(epsilon, delta), unit);
        Store::open(&place, &Rules::new(budget)).map_err(|error| match error {
            ledger::Error::OtherRules { .. } => Error::OtherRules(error),
            other => other.into(),
        })
    }
}
