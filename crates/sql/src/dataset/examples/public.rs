//! Rows of public tables and files as examples, coded as a model was trained: to measure it on.

use super::{Coding, Encoding, Examples, read_rows};
use crate::catalog::{Catalog, Owner, Source, Table};
use crate::values::facts::{Facts, Kind, Range};
use crate::{Error, sources};
use datafusion::prelude::SessionContext;
use std::path::Path;

/// The rows of a public table.
///
/// # Errors
/// When there is no such table, it is private, or it lacks a column. That depends on the catalog and on public data alone.
pub(crate) async fn read_public_table(
    catalog: &Catalog,
    session: &SessionContext,
    name: &str,
    encoding: &Encoding,
) -> Result<Examples, Error> {
    let table = catalog.table(name).ok_or_else(|| {
        let tables: Vec<&str> = catalog.tables.keys().map(String::as_str).collect();
        Error::refused(
            format!("there is no table `{name}`"),
            format!("the tables are {}", tables.join(", ")),
        )
    })?;
    if table.owner != Owner::Public {
        return Err(Error::refused(
            format!(
                "table `{name}` is private: what a model gets right on it would be reported without noise"
            ),
            "name a table that the catalog declares as public, or a public file with --public-file",
        ));
    }
    read_rows(session, &name.to_lowercase(), table, None, encoding).await
}

/// The rows of a public file that no catalog describes: each column is read as the model's own was declared.
///
/// # Errors
/// When the file cannot be read, or lacks a column.
pub(crate) async fn read_public_file(
    session: &SessionContext,
    path: &Path,
    encoding: &Encoding,
) -> Result<Examples, Error> {
    const NAME: &str = "public file";
    let extension = path.extension().and_then(|extension| extension.to_str());
    let source = match extension.map(str::to_lowercase).as_deref() {
        Some("csv" | "tsv") => Source::Csv(path.to_owned()),
        Some("parquet") => Source::Parquet(path.to_owned()),
        _ => {
            return Err(Error::refused(
                "the name of a public file does not say what is in it",
                "let it end in .csv, .tsv or .parquet",
            ));
        }
    };
    let mut table = Table::undeclared(source);
    table.owner = Owner::Public;
    let schema = sources::provider(&session.state(), NAME, &table).await?.schema();
    for (name, coding) in encoding.features.iter().chain([&encoding.label]) {
        let lower = name.to_lowercase();
        let mut alike = schema
            .fields()
            .iter()
            .map(|field| field.name())
            .filter(|field| field.to_lowercase() == lower);
        let (Some(column), None) = (alike.next(), alike.next()) else {
            return Err(Error::refused(
                format!("the public file has no column `{name}`, or several that differ in capitals alone"),
                "it needs the columns that the model learned from, and the one that it learned",
            ));
        };
        let (kind, range) = match coding {
            // Of an older model, which does not say what its numbers were declared as.
            Coding::Number {
                kind: Kind::Text,
                low,
                high,
                ..
            } => (Kind::Float, Range::new(*low, *high)),
            Coding::Number { kind, low, high, .. } => (*kind, Range::new(*low, *high)),
            Coding::OneOf { kind, .. } => (*kind, None),
        };
        let facts = Facts {
            range,
            ..Facts::unknown(kind)
        };
        table.columns.push((column.clone(), facts));
    }
    read_rows(session, NAME, &table, None, encoding).await
}
