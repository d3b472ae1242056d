//! What a curator declares once: tables, whose privacy, bounds, budgets.
//!
//! A catalog is read from a TOML file ([`Catalog::read`]); [`draft()`] writes the first one. Everything that decides whether a query is accepted, and
//! what it costs, is in here and public, so neither tells anything about data.

mod address;
mod check;
mod column;
mod csv;
mod document;
mod engine;
mod file;
mod impossible;
mod keys;
mod naming;
mod quantity;
mod release;
mod table;
mod table_name;
#[cfg(test)]
mod tests;
pub(crate) mod toml_text;
mod tree;
mod version;

pub use address::without_password;
pub(crate) use csv::UTF_16_HINT;
pub(crate) use csv::declared as declared_format;
pub use csv::{CsvFormat, Header};
pub use engine::{Engine, EngineKind, Workers};
pub use impossible::{Among, ImpossibleRows};
pub use keys::reference;
pub(crate) use naming::{NamesPersons, holds_persons, names_persons, names_something};
pub use release::{Attribute, Cells, Hierarchy, Label, Marginal, Objective, PlannedRelease, ReleasePrice};
pub(crate) use release::{ChosenColumns, of_columns};
pub(crate) use table::is_postgres;
pub(crate) use table_name::{quoted, quoted_name};
pub use tree::{ObjectAddress, ParquetTree, Root};
pub use version::{DataVersion, Every, with_version};

use crate::Error;
use crate::values::facts::{Facts, Range};
use accounting::{Delta, Epsilon, PrivacyUnit};
use bound::GivenRows;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Field, Schema};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A dataset: everything that decides what may be asked and what it costs, before anybody looks at data.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// The dataset's name.
    pub name: String,
    /// Whose privacy.
    pub unit: PrivacyUnit,
    /// Its tables, by name in lower case.
    pub tables: BTreeMap<String, Table>,
    /// Releases of many tables that are planned, by name.
    pub releases: BTreeMap<String, PlannedRelease>,
    /// Limits that hold where a table or a query states none.
    pub limits: Limits,
    /// What may be spent.
    pub budget: Budgets,
    /// Who computes exact numbers from private rows. No part of what makes two questions the same.
    pub engine: Engine,
    /// Which state of the data is meant, as the curator declares it.
    pub data: DataVersion,
    /// The directory that the catalog is in.
    pub directory: PathBuf,
}

/// What may be spent, and where that is written down.
#[derive(Clone, Debug)]
pub struct Budgets {
    /// In all, by everybody together.
    pub epsilon: Epsilon,
    /// In all; zero for pure differential privacy.
    pub delta: Delta,
    /// A query that states no ε takes this much.
    pub query_epsilon: Option<Epsilon>,
    /// A query that states no δ may take this much.
    pub query_delta: Delta,
    /// The share of a query's ε that finds limits for what it groups by, where none are stated for that.
    pub find_limits: Option<exact::Rational>,
    /// The share of each analyst, between 0 and 1. Where some are listed, others may spend nothing.
    pub shares: BTreeMap<String, exact::Rational>,
    /// Where charges are kept.
    pub ledger: LedgerPlace,
}

/// Where charges are kept. Printed without the connection string, which may hold a password.
#[derive(Clone, PartialEq, Eq)]
pub enum LedgerPlace {
    /// An SQLite file.
    File(PathBuf),
    /// A PostgreSQL database, by its connection string.
    Postgres(String),
    /// A file that is gone with the last who uses it, for tables in memory. No catalog's text names one.
    Temporary(ledger::Temporary),
}

/// How much one unit may contribute.
///
/// Limits decide what is cut and how much noise is needed: accuracy, and never privacy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Groups in which one unit counts, of a query that groups.
    pub groups: Option<u64>,
    /// Rows of one unit that count in one group.
    pub rows_per_group: Option<u64>,
    /// Rows of one unit that count in all groups together, and in a query that does not group; else as many as its groups let count.
    pub rows: Option<u64>,
    /// What one unit's sum of a column is clamped to in a query that does not group, and scaled down to in all groups together; else as many rows count as there may be.
    pub sums: BTreeMap<String, Range>,
    /// Limits of queries that group by this one column. In these `sums` are for one group.
    pub by: BTreeMap<String, Limits>,
}

/// One table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Where its rows are.
    pub source: Source,
    /// Whose rows they are.
    pub owner: Owner,
    /// The curator's word that a unit has at most this many rows; with 1 no bounding step is needed.
    pub rows_per_unit: Option<u64>,
    /// The curator's word that the rows of a unit lie next to each other in the file.
    pub clustered: bool,
    /// Columns of which no two rows agree in all, each a key. For public tables, so that a join with them multiplies nothing.
    pub keys: Vec<Vec<String>>,
    /// Columns that name units, or lead to them: its own, and the keys by which other tables reach their units through this one.
    pub identifiers: Vec<String>,
    /// Limits of this table.
    pub limits: Limits,
    /// Its columns, in order, by name.
    pub columns: Vec<(String, Facts)>,
    /// Columns of text with declared values in which any other value is read as this one, which is declared too. NULL stays NULL.
    pub other: Vec<(String, String)>,
    /// Rows that cannot be, so that no synthetic row is one of them.
    pub impossible: Vec<ImpossibleRows>,
    /// What the curator calls the present state of this table beside the version of all data; part of what makes two questions the same.
    pub version: Option<String>,
    /// How its files are written, where they are CSV.
    pub csv: CsvFormat,
}

/// Where rows are. Printed without the connection string, which may hold a password.
#[derive(Clone, PartialEq, Eq)]
pub enum Source {
    /// A CSV file, or a directory of them.
    Csv(PathBuf),
    /// A Parquet file, or a directory of them.
    Parquet(PathBuf),
    /// A table of a PostgreSQL database.
    Postgres {
        /// `postgres://…`
        connection: String,
        /// The table, possibly with its schema: `people`, `clinic.people`, `"Odd.Schema".people`. Names are taken as written; quotes are for dots.
        table: String,
    },
    /// Parquet files of an object store, or in directories that are named by values of columns.
    ParquetTree(ParquetTree),
    /// Rows that the program holds in memory: `source = "memory"` in the catalog, and [`Catalog::provide_batches`].
    Memory(Provided),
}

/// What a program provides for a table; nothing, until it does. Two are the same when they are the same object.
#[derive(Clone, Default)]
pub struct Provided(pub(crate) Option<Arc<GivenRows>>);

impl PartialEq for Provided {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        }
    }
}

impl Eq for Provided {}

impl fmt::Debug for LedgerPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => formatter.debug_tuple("File").field(path).finish(),
            Self::Postgres(_) => formatter.write_str("Postgres(..)"),
            Self::Temporary(_) => formatter.write_str("Temporary(..)"),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Csv(path) => formatter.debug_tuple("Csv").field(path).finish(),
            Self::Parquet(path) => formatter.debug_tuple("Parquet").field(path).finish(),
            Self::ParquetTree(tree) => formatter.debug_tuple("ParquetTree").field(tree).finish(),
            Self::Postgres { table, .. } => formatter
                .debug_struct("Postgres")
                .field("table", table)
                .finish_non_exhaustive(),
            Self::Memory(_) => formatter.write_str("Memory(..)"),
        }
    }
}

impl Catalog {
    /// The table of this name, in whatever case it is written.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.get(&name.to_lowercase())
    }

    /// The same with a ledger that is gone with the last dataset of it, in place of the one it names. For data that are gone then too: a new ledger knows nothing of what was spent before.
    ///
    /// # Errors
    /// When there is no room for temporary files.
    pub fn with_temporary_ledger(mut self) -> Result<Self, Error> {
        self.budget.ledger = LedgerPlace::Temporary(ledger::Temporary::new()?);
        Ok(self)
    }

    /// Gives the rows of a table that is declared with `source = "memory"`, as batches of one schema. No batches are no rows: then the schema is the declared one, since whether a
    /// question is accepted must not depend on rows. Name types rather than infer them from values, for the same reason.
    ///
    /// They belong to the version of the data that the catalog declares, as files do: provide other rows under another version.
    ///
    /// # Errors
    /// When no such table is declared, it has another source, or the batches have different schemas.
    pub fn provide_batches(&mut self, name: &str, batches: Vec<RecordBatch>) -> Result<(), Error> {
        let Some(table) = self.tables.get_mut(&name.to_lowercase()) else {
            return Err(Error::catalog(
                format!("no table `{name}` is declared"),
                "declare it in the catalog, with source = \"memory\" and its columns",
            ));
        };
        if !matches!(table.source, Source::Memory(_)) {
            return Err(Error::catalog(
                format!("table `{name}` is declared with another source"),
                "declare it with source = \"memory\"",
            ));
        }
        let declared = || {
            let field = |(name, facts): &(String, Facts)| Field::new(name, facts.kind.data_type(), true);
            Arc::new(Schema::new(table.columns.iter().map(field).collect::<Vec<_>>()))
        };
        let schema = batches.first().map_or_else(declared, RecordBatch::schema);
        let rows = GivenRows::new(schema, batches).map_err(|_| {
            Error::catalog(
                format!("the batches for table `{name}` have different schemas"),
                "give batches with the same columns and types",
            )
        })?;
        table.source = Source::Memory(Provided(Some(Arc::new(rows))));
        Ok(())
    }
}

impl Table {
    /// A table of which nothing is declared but where it is: for reading a file before there is a catalog.
    pub fn undeclared(source: Source) -> Self {
        Self {
            source,
            owner: Owner::EachRow,
            rows_per_unit: None,
            clustered: false,
            keys: Vec::new(),
            identifiers: Vec::new(),
            limits: Limits::default(),
            columns: Vec::new(),
            other: Vec::new(),
            impossible: Vec::new(),
            version: None,
            csv: CsvFormat::default(),
        }
    }

    /// What is known of this column; its name exactly as declared.
    pub fn column(&self, name: &str) -> Option<&Facts> {
        self.columns
            .iter()
            .find(|(column, _)| column == name)
            .map(|(_, facts)| facts)
    }

    /// Whether this column tells whose rows these are, or those of another table: see `sources::identifier`.
    pub fn identifies(&self, name: &str) -> bool {
        let own = match &self.owner {
            Owner::Column(column) | Owner::Through { column, .. } => column == name,
            Owner::EachRow | Owner::Public => false,
        };
        own || self.identifiers.iter().any(|column| column == name)
    }
}

/// Whose rows a table holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Nobody's: public.
    Public,
    /// Each row is a unit.
    EachRow,
    /// The unit that this column names. A row where it is NULL belongs to nobody and is left out.
    Column(String),
    /// The unit that owns the row of another private table, whose `key` equals `column` here. The curator's word: `key` is unique there.
    Through {
        /// The column here.
        column: String,
        /// The other table.
        table: String,
        /// Its key.
        key: String,
    },
}
