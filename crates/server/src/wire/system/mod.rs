//! PostgreSQL's system catalogs, without PostgreSQL.
//!
//! Clients of the PostgreSQL wire protocol ask `pg_catalog` and `information_schema` which tables, columns
//! and types there are, often before anything else. This module answers such statements from an in-memory
//! SQLite database which holds the names and types of the tables and nothing about their rows: sizes are zero
//! and estimates of rows are -1 for every table. Beside them it holds tables that were released, with their
//! rows: they are public, and reading them is free.
//!
//! A statement is parsed, checked and then written anew in SQLite's dialect, construct by construct
//! ([`translate`]). A construct that the translation does not know is refused, so no text of a client reaches
//! SQLite as it came.

mod check;
mod functions;
mod idents;
mod names;
mod run;
mod store;
#[cfg(test)]
mod tests;
mod translate;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use check::parse;
pub(crate) use functions::Stop;
use names::Names;
use store::Store;
use translate::{Output, Ty};

/// A table as clients of the PostgreSQL wire see it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    /// Its name in its schema.
    pub(crate) name: String,
    /// Its columns, in their order.
    pub(crate) columns: Vec<Column>,
    /// The rows of a table that was released, which is in the schema `releases` and is answered here. One of
    /// the dataset is in the schema `public` and has none.
    pub(crate) released: Option<Arc<Vec<Vec<Cell>>>>,
}

/// A value of a table that was released.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// What a cell is about.
    Text(String),
    /// A noisy number.
    Float(f64),
    /// A missing value.
    Null,
}

/// A column of a [`Table`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// Its name.
    pub(crate) name: String,
    /// The type of its values.
    pub(crate) kind: ColumnType,
    /// Whether it may hold nulls.
    pub(crate) nullable: bool,
}

/// The type of a column of the dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    /// `boolean`
    Bool,
    /// `bigint`
    Int8,
    /// `double precision`
    Float8,
    /// `text`
    Text,
    /// `date`
    Date,
    /// `timestamp without time zone`
    Timestamp,
}

/// What the system catalogs say to one statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The columns, in their order.
    pub(crate) columns: Vec<AnswerColumn>,
    /// The rows: for each column the value in PostgreSQL's text format, or nothing for a null. At most 10,000
    /// rows are given.
    pub(crate) rows: Vec<Vec<Option<String>>>,
}

/// A column of an [`Answer`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnswerColumn {
    /// The name that PostgreSQL would give it.
    pub(crate) name: String,
    /// The type of its values.
    pub(crate) kind: SystemKind,
}

/// The type of a column of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SystemKind {
    /// `boolean`, written `t` or `f`
    Bool,
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `bigint`
    Int8,
    /// `oid`
    Oid,
    /// `double precision`
    Float8,
    /// `name`
    Name,
    /// `text`
    Text,
    /// `"char"`: one character
    Char,
    /// An array, written as PostgreSQL writes it: `{a,b}`
    TextArray,
}

/// Why a statement was not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Error {
    /// What is wrong.
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) hint: String,
    /// Whether it is too large or takes too long, and not wrong.
    pub(crate) limit: bool,
}

impl Error {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: hint.into(),
            limit: false,
        }
    }

    /// Something that is too large or takes too long.
    fn limit(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            limit: true,
            ..Self::new(what, hint)
        }
    }

    /// Something of PostgreSQL that is not emulated.
    fn unknown(what: impl fmt::Display) -> Self {
        Self::new(
            format!("{what} is not understood in a query of the system catalogs"),
            "ask a simpler query; the tables and columns are in information_schema.tables and information_schema.columns",
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nhint: {}", self.what, self.hint)
    }
}

impl std::error::Error for Error {}

/// The system catalogs over some tables: built once, asked many times, by several at once. No private data is
/// in it.
pub(crate) struct System {
    names: Arc<Names>,
    tables: Vec<Table>,
    /// Databases that nobody asks at the moment. All are the same, so there are as many as were asked at
    /// once.
    idle: Mutex<Vec<Store>>,
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("System")
            .field("database", &self.names.database)
            .finish_non_exhaustive()
    }
}

impl System {
    /// Builds the catalogs of a database with these tables.
    pub(crate) fn new(database: &str, tables: &[Table]) -> Result<Self, Error> {
        let names = Arc::new(Names::new(database, tables)?);
        let store = Store::new(Arc::clone(&names), tables)?;
        Ok(Self {
            names,
            tables: tables.to_vec(),
            idle: Mutex::new(vec![store]),
        })
    }

    /// Whether a statement asks the system catalogs or no table at all, so that it is answered here.
    ///
    /// A statement which names any other relation, a table of the dataset above all, is not answered here;
    /// nor is anything but `SELECT` and `VALUES`, nor a text that cannot be read. Names which `WITH` gives
    /// inside the statement are its own.
    pub(crate) fn answers(&self, sql: &str) -> bool {
        check::parse(sql).is_ok_and(|query| check::is_system(&query, &self.names))
    }

    /// Answers it for this login name, unless it is stopped.
    pub(crate) fn query(&self, sql: &str, user: &str, stop: &Stop) -> Result<Answer, Error> {
        let (output, reads_released) = self.translate(sql, user, false)?;
        let (rows, all) = self.on_store(|store| store.rows(&output, user, stop))?;
        // Whoever adds up what they got must have got all of it.
        if reads_released && !all {
            return Err(Error::limit(
                "the answer is too large",
                "ask for fewer rows, or take the table over HTTP: GET /v1/releases/{name}/table",
            ));
        }
        Ok(Answer {
            columns: columns(&output),
            rows,
        })
    }

    /// The columns alone, without running it over rows. Parameters such as `$1` may stand in the statement:
    /// they count as nulls.
    pub(crate) fn columns(&self, sql: &str, user: &str, stop: &Stop) -> Result<Vec<AnswerColumn>, Error> {
        let (output, _) = self.translate(sql, user, true)?;
        self.on_store(|store| store.prepare(&output, stop))?;
        Ok(columns(&output))
    }

    /// Asks a database that nobody else asks. The caller decides how many there may be.
    fn on_store<T>(&self, ask: impl FnOnce(&mut Store) -> Result<T, Error>) -> Result<T, Error> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let found = idle().pop();
        let mut store = match found {
            Some(store) => store,
            None => Store::new(Arc::clone(&self.names), &self.tables)?,
        };
        let answer = ask(&mut store);
        idle().push(store);
        answer
    }

    /// How many steps the last statement took.
    #[cfg(test)]
    fn steps(&self) -> u64 {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.last().map_or(0, |store| store.work.done())
    }

    fn translate(&self, sql: &str, user: &str, parameters: bool) -> Result<(Output, bool), Error> {
        let query = check::parse(sql)?;
        if !check::is_system(&query, &self.names) {
            return Err(Error::new(
                "the statement names a relation that is not in the system catalogs",
                "ask one table of pg_catalog or information_schema at a time, without tables of the dataset",
            ));
        }
        translate::translate(&query, &self.names, user, parameters)
    }
}

fn columns(output: &Output) -> Vec<AnswerColumn> {
    output
        .columns
        .iter()
        .map(|(name, ty)| AnswerColumn {
            name: name.clone(),
            kind: kind(*ty),
        })
        .collect()
}

fn kind(ty: Ty) -> SystemKind {
    match ty {
        Ty::Bool => SystemKind::Bool,
        Ty::Int2 => SystemKind::Int2,
        Ty::Int4 => SystemKind::Int4,
        Ty::Int8 => SystemKind::Int8,
        Ty::Oid => SystemKind::Oid,
        Ty::Float8 => SystemKind::Float8,
        Ty::Name => SystemKind::Name,
        Ty::Char => SystemKind::Char,
        Ty::Texts | Ty::Ints => SystemKind::TextArray,
        Ty::Text
        | Ty::Unknown
        | Ty::Vector
        | Ty::Json
        | Ty::Row
        | Ty::RegClass
        | Ty::RegType
        | Ty::RegProc
        | Ty::RegNamespace
        | Ty::RegRole => SystemKind::Text,
    }
}
