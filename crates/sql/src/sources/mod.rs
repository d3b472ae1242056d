//! Where rows come from: files of CSV or Parquet, on this machine or in an object store, and PostgreSQL; all of them as plain relations whose columns are of six kinds.
//!
//! Nothing here decides about privacy. What it owes to privacy is that no value can raise an error, and that what an engine says about a failure, which may
//! quote data, is not reported.

mod checkup;
mod cluster;
mod delimited;
mod differences;
mod files;
mod guess;
mod header;
mod identifier;
mod incident;
mod objects;
mod parquet;
mod postgres;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod tests_support;
mod tree;
mod typed;

pub use checkup::{ColumnCheck, KeyCheck, TableCheck, UnitCheck, check};
pub use cluster::{Progress, cluster};
pub use differences::{Difference, counted, one_or_many, part_of};
pub use header::written;
pub use incident::incident;

pub(crate) use guess::{Guess, guess};
pub(crate) use identifier::kind_that_keeps;
pub(crate) use tree::partitions_in;

/// The object store of an address, with what the environment says about it. Asks it nothing.
///
/// # Errors
/// If the environment says too little.
pub(crate) fn objects(address: &ObjectAddress) -> Result<Arc<dyn ObjectStore>, Error> {
    Ok(objects::store("the object store", address)?.objects)
}

/// Whether an object, by the name that such a store has for it, is at an address or below it.
pub(crate) fn is_object_below(object: &object_store::path::Path, address: &ObjectAddress) -> bool {
    objects::name_of(address).is_ok_and(|name| object.prefix_matches(&name))
}

pub(crate) use postgres::{Described, Inside, Parameter, Statement, table_names};

use crate::Error;
use crate::catalog::{ObjectAddress, Provided, Root, Source, Table};
#[cfg(test)]
use crate::mutants::{Mutant, planted};
use crate::values::facts::{Facts, Kind, Value};
use bound::{Labelled, canonical, canonical_identifier, canonical_within};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{Column, ScalarValue, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit, when};
use object_store::ObjectStore;
use std::path::Path;
use std::sync::Arc;

/// The rows of a table, with the columns and types that they have where they lie. `name` is what errors call the table.
///
/// # Errors
/// When there is no such file or table, or it has no schema that can be used.
pub async fn provider(
    state: &SessionState,
    name: &str,
    table: &Table,
) -> Result<Arc<dyn TableProvider>, Error> {
    let what = format!("table `{name}`");
    match &table.source {
        Source::Csv(path) => delimited::delimited(&what, path, table),
        Source::Parquet(path) => parquet::of_files(state, &what, path).await,
        Source::ParquetTree(tree) => parquet::of_tree(state, &what, tree).await,
        Source::Postgres {
            connection,
            table: named,
        } => postgres::provider(&what, connection, named, table).await,
        Source::Memory(Provided(Some(rows))) => Ok(Arc::clone(rows) as Arc<dyn TableProvider>),
        Source::Memory(Provided(None)) => Err({
            Error::catalog(
                format!("{what} is to be given by the program that asks, and was not"),
                "call Catalog::provide_batches before the dataset is made, or name a file as its source",
            )
        }),
    }
}

/// The rows of a table as a plan with exactly the declared columns, in the declared order, each as its [`Kind::data_type`] and qualified by `name`.
///
/// A value that does not fit its kind is NULL; none can raise an error. Columns that tell whose rows these are keep every identifier apart ([`identifier`]). Days and moments are of the years 1 to 9999. Values are in canonical form (`bound::canonical`):
/// an infinity is the declared bound on its side, or NULL where none is declared. A text that is not declared is the column's `other` value where it has one. Other values outside of declared bounds and lists are left as they are.
///
/// # Errors
/// When the table cannot be opened, lacks a declared column, or has it in a type from which the kind cannot be made, or no identifier of that kind. That depends on its
/// schema alone.
pub async fn typed_scan(
    state: &SessionState,
    name: &str,
    table: &Table,
    texts: Texts,
) -> Result<LogicalPlan, Error> {
    let what = format!("table `{name}`");
    let engine = |error| incident(what.as_str(), error);
    let provider = provider(state, name, table).await?;
    let schema = provider.schema();
    let relation = TableReference::bare(name);
    let mut projected = Vec::with_capacity(table.columns.len());
    let mut expressions = Vec::with_capacity(table.columns.len());
    for (column, facts) in &table.columns {
        let Ok(index) = schema.index_of(column) else {
            return Err(Error::catalog(
                format!("{what} has no column `{column}`"),
                "names are compared as written, upper and lower case apart; drop it from the catalog, or rename it there",
            ));
        };
        projected.push(index);
        let value = converted(&what, &schema, index, facts.kind, table)?;
        let value = match facts.kind {
            #[cfg(test)]
            Kind::Float if planted(Mutant::Pruning) || planted(Mutant::SignedZero) => value,
            // In canonical form already.
            _ if table.identifies(column) => value,
            Kind::Float => match facts.range {
                Some(range) => canonical_within(value, range.low, range.high),
                None => canonical(value, Kind::Float),
            },
            Kind::Text if texts == Texts::Whole => value,
            kind => canonical(value, kind),
        };
        let value = match table.other.iter().find(|(name, _)| name == column) {
            Some((_, other)) => declared_or(value, facts, other).map_err(engine)?,
            None => value,
        };
        expressions.push(value.alias_qualified(Some(relation.clone()), column));
    }
    let labelled = Arc::new(Labelled::new(name, provider));
    LogicalPlanBuilder::scan(relation, provider_as_source(labelled), Some(projected))
        .and_then(|plan| plan.project(expressions))
        .and_then(|plan| plan.build())
        .map_err(engine)
}

/// A declared value as it is, NULL as NULL, and anything else as `other`: a function of the one cell.
fn declared_or(value: Expr, facts: &Facts, other: &str) -> Result<Expr, DataFusionError> {
    let text = |text: &str| lit(ScalarValue::Utf8View(Some(text.to_owned())));
    let declared = facts.values.iter().flat_map(|values| values.iter());
    let declared: Vec<Expr> = declared
        .filter_map(|value| match value {
            Value::Text(value) => Some(text(value)),
            _ => None,
        })
        .collect();
    // Where the value is NULL, so is the first test.
    when(value.clone().in_list(declared, false), value.clone())
        .when(value.is_not_null(), text(other))
        .end()
}

/// The column at `index`, as a value of this kind; one that tells whose rows these are injectively, and in canonical form.
fn converted(what: &str, schema: &SchemaRef, index: usize, kind: Kind, table: &Table) -> Result<Expr, Error> {
    let field = schema.field(index);
    let column = Expr::Column(Column::from_name(field.name()));
    let identifies = table.identifies(field.name());
    let conversion = match identifies {
        true => identifier::converted(column, field.data_type(), kind),
        false => typed::converted(column, field.data_type(), kind),
    };
    match conversion {
        Err(error) => Err(incident(what, error)),
        Ok(Some(expression)) if identifies => Ok(canonical_identifier(expression, kind)),
        Ok(Some(expression)) => Ok(expression),
        Ok(None) if identifies => {
            let of = field.data_type().to_string();
            Err(identifier::refused(what, field.name(), &of, kind))
        }
        Ok(None) => Err(Error::catalog(
            format!(
                "{what}: column `{}` holds values of type {}, which cannot be read as {kind}",
                field.name(),
                field.data_type()
            ),
            "declare another kind, or leave the column out",
        )),
    }
}

/// Whether texts are read as they are, for training, or in canonical form, for queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texts {
    /// As they are, however long.
    Whole,
    /// In Unicode normal form C, and cut.
    Canonical,
}

/// Reads the files of a table from their first byte to their last, in the order of their names, with the length and name of each before it; `false` for a table of a
/// database, which has no files.
///
/// # Errors
/// When a file cannot be read.
pub(crate) fn read_whole(table: &Table, take: &mut dyn FnMut(&[u8])) -> Result<bool, Error> {
    files::read_whole(&table.source, take)
}

/// Whether the rows lie in files of this machine.
pub(crate) fn has_files(source: &Source) -> bool {
    match source {
        Source::Csv(_) | Source::Parquet(_) => true,
        Source::ParquetTree(tree) => matches!(tree.root, Root::Directory(_)),
        Source::Postgres { .. } | Source::Memory(_) => false,
    }
}

/// Whether a directory holds Parquet or CSV files, by their names.
pub(crate) fn in_directory(path: &Path) -> Option<Source> {
    if files::files(path, &["parquet"]).is_ok() {
        Some(Source::Parquet(path.to_owned()))
    } else if files::files(path, &delimited::EXTENSIONS).is_ok() {
        Some(Source::Csv(path.to_owned()))
    } else {
        None
    }
}
