//! The first draft of a catalog, for `deniable init`.
//!
//! It is written by looking at schemas alone: what a footer, a header or a database says of its columns. Not even statistics are looked at, because bounds taken from
//! private data tell about it. Public data may be looked at. Kinds of columns of a private CSV file are guessed from its rows only where the curator asks for that, and the draft says so.

mod find;
mod measure;
mod sorted;
#[cfg(test)]
mod tests;
mod units;
mod write;

pub use sorted::{SortedDraft, SortedTable};

use crate::Error;
use crate::catalog::{Owner, Source, Table};
use crate::sources::{Guess, guess, provider, written};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::prelude::SessionContext;
use find::{Sketch, sketch};
use std::path::{Path, PathBuf};
use units::{UnitColumn, Units};
use write::{Known, Written};

/// How a draft is written.
#[derive(Clone, Debug, Default)]
pub struct DraftOptions {
    /// What the dataset is called; after its first table when not said.
    pub name: Option<String>,
    /// The directory that the catalog will lie in, where relative paths start.
    pub directory: PathBuf,
    /// Those of the sources that are public, as they are named: they may be looked at.
    pub public: Vec<String>,
    /// The column that names the unit, where a table has it; guessed by name when not said.
    pub unit: Option<String>,
    /// Whether the rows lie sorted by that column.
    pub clustered: bool,
    /// Whether CSV files begin with data, and not with the names of their columns.
    pub no_header: bool,
    /// Where the kinds of columns of private CSV files come from.
    pub kinds: KindsFrom,
}

/// Where the kinds of columns of private CSV files come from. Such a file holds text, and does not say what it is the text of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KindsFrom {
    /// From the curator, who fills them in.
    #[default]
    Curator,
    /// From these CSV files, which are public: a column has the kind of those that are called like it.
    Samples(Vec<PathBuf>),
    /// From the data itself. **Not private**: one row may decide what is drafted, and the draft says so.
    Data,
}

/// One table, as far as its schema tells.
struct Described {
    sketch: Sketch,
    table: Table,
    schema: SchemaRef,
    public: bool,
}

impl Described {
    fn is_csv(&self) -> bool {
        matches!(self.sketch.source, Source::Csv(_))
    }
}

/// Writes the first draft of a catalog of these files, directories, or databases (`postgres://…/database`, or `postgres://…/database#schema.table`).
///
/// It can be used when the places marked FILL IN are filled in. Of private data, only schemas are looked at, but for [`KindsFrom::Data`].
///
/// # Errors
/// When there is nothing to write about, a source cannot be opened, or the first line of a CSV file looks like data.
pub async fn draft(sources: &[String], options: &DraftOptions) -> Result<String, Error> {
    let session = SessionContext::new();
    let mut sketches = Vec::new();
    let mut public = Vec::new();
    for source in sources {
        sketch(source, &options.directory, &mut sketches).await?;
        public.resize(sketches.len(), options.public.contains(source));
    }
    if sketches.is_empty() {
        return Err(Error::catalog(
            "there is no table to write a catalog of",
            "name a CSV or Parquet file, a directory of them, or postgres://user@host/database",
        ));
    }
    let mut tables = Vec::new();
    for (sketch, public) in sketches.into_iter().zip(public) {
        tables.push(described(&session, sketch, public, options).await?);
    }
    let units = Units::of(&tables, options.unit.as_deref());
    for (table, unit) in tables.iter_mut().zip(&units.columns) {
        if let Some(unit) = unit {
            table.table.owner = Owner::Column(unit.name.clone());
        }
    }
    let known = known(&session, &tables, &options.kinds, options.no_header).await?;
    let unit_kind = units::common_kind(&tables, &units, &known);
    let name = options.name.as_deref().unwrap_or(&tables[0].sketch.name);
    let mut text = write::head(
        name,
        units.whose.unwrap_or("person"),
        &options.kinds,
        tables.iter().all(|table| table.public),
    );
    for ((table, unit), known) in tables.into_iter().zip(&units.columns).zip(known) {
        text += &match table.public {
            true => of_public(&session, table).await?,
            false => Written {
                clustered: options.clustered,
                unit: unit.as_ref(),
                unit_kind,
                known,
                kinds: &options.kinds,
            }
            .private(&table),
        };
    }
    Ok(text)
}

async fn described(
    session: &SessionContext,
    sketch: Sketch,
    public: bool,
    options: &DraftOptions,
) -> Result<Described, Error> {
    let table = undeclared(&sketch.source, options.no_header)?;
    let rows = provider(&session.state(), &sketch.name, &table).await?;
    let described = Described {
        schema: rows.schema(),
        sketch,
        table,
        public,
    };
    let names = described.schema.fields();
    if described.is_csv() && names.iter().any(|field| looks_like_data(field.name())) {
        return Err(Error::catalog(
            format!(
                "table `{}`: the first line of its file looks like data",
                described.sketch.name
            ),
            "the first line of a CSV file names its columns; put it there, or say --no-header",
        ));
    }
    Ok(described)
}

/// A table of which nothing is known but where it is, and how a CSV file is written.
fn undeclared(source: &Source, no_header: bool) -> Result<Table, Error> {
    let mut table = Table::undeclared(source.clone());
    if let Source::Csv(path) = source {
        table.csv = written(path, !no_header)?;
    }
    Ok(table)
}

/// What the columns of each table are known to hold beyond their schema; of those that are not private CSV files, nothing is asked.
async fn known(
    session: &SessionContext,
    tables: &[Described],
    kinds: &KindsFrom,
    no_header: bool,
) -> Result<Vec<Known>, Error> {
    let samples = match kinds {
        KindsFrom::Samples(paths) => samples(session, paths, no_header).await?,
        KindsFrom::Curator | KindsFrom::Data => Vec::new(),
    };
    let mut known = Vec::new();
    for table in tables {
        known.push(match kinds {
            KindsFrom::Data if table.is_csv() && !table.public => {
                let columns = names(&table.schema);
                Known::of(guess(session, &table.sketch.name, &table.table, &columns).await?)
            }
            KindsFrom::Samples(_) if table.is_csv() && !table.public => {
                let own = names(&table.schema);
                // What identifiers look like elsewhere says nothing of these: text keeps all of them.
                let ours =
                    |guess: &&Guess| own.contains(&guess.column) && !table.table.identifies(&guess.column);
                Known::of(samples.iter().filter(ours).cloned().collect())
            }
            _ => Known::default(),
        });
    }
    Ok(known)
}

/// What the columns of public samples hold.
async fn samples(session: &SessionContext, paths: &[PathBuf], no_header: bool) -> Result<Vec<Guess>, Error> {
    let mut found = Vec::new();
    for path in paths {
        let mut sketches = Vec::new();
        sketch(&path.to_string_lossy(), Path::new(""), &mut sketches).await?;
        for sketch in sketches {
            if !matches!(sketch.source, Source::Csv(_)) {
                return Err(Error::catalog(
                    format!(
                        "{} is no CSV file, whose kinds would have to be guessed",
                        path.display()
                    ),
                    "name a public sample as a CSV file",
                ));
            }
            let table = undeclared(&sketch.source, no_header)?;
            let schema = provider(&session.state(), &sketch.name, &table).await?.schema();
            found.extend(guess(session, &sketch.name, &table, &names(&schema)).await?);
        }
    }
    Ok(found)
}

fn names(schema: &SchemaRef) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

async fn of_public(session: &SessionContext, described: Described) -> Result<String, Error> {
    let Described {
        sketch,
        table,
        schema,
        ..
    } = described;
    let measured = measure::measured(session, &sketch.name, table, &schema).await?;
    Ok(write::public(&sketch, &measured))
}

/// A place of a draft that is still to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark<'t> {
    /// The number of its line, from 1.
    pub line: usize,
    /// The line.
    pub text: &'t str,
}

/// The mark of what only the curator can know.
pub const FILL_IN: &str = "FILL IN";
/// The mark of what was guessed.
pub const CHECK: &str = "CHECK";

/// The places of a catalog that still have this mark.
///
/// ```
/// let draft = "name = \"clinic\"\n[tables.visits.columns]\nage = { kind = \"int\" }  # FILL IN bounds = [low, high] to sum it\n";
/// let marks = sql::draft::marked(draft, sql::draft::FILL_IN);
/// assert_eq!(marks[0].line, 3);
/// ```
pub fn marked<'t>(catalog: &'t str, mark: &str) -> Vec<Mark<'t>> {
    let lines = catalog.lines().enumerate();
    lines
        // A mark is in a comment; the lines that explain the marks are no places to be filled in.
        .filter(|(_, line)| {
            let comment = line.split_once('#').map_or("", |(_, comment)| comment);
            comment.contains(mark) && !(line.contains("CHECK marks") && line.contains("FILL IN marks"))
        })
        .map(|(place, text)| Mark {
            line: place + 1,
            text: text.trim(),
        })
        .collect()
}

/// Whether this can hardly be the name of a column: a number, a day, an address, or no letter at all.
fn looks_like_data(name: &str) -> bool {
    name.parse::<f64>().is_ok()
        || name.parse::<toml::value::Datetime>().is_ok()
        || name.contains('@')
        || name.chars().count() > 128
        || !name.chars().any(char::is_alphabetic)
}
