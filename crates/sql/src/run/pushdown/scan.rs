//! Where a statement begins: tables of the database, with values as the local scan has them (`sources::typed_scan`), and public rows that travel with it.

use super::NotWritten;
use super::constants::{self, day, moment, quoted_text, type_of};
use super::writer::{Cell, From, Relation, Writer};
use crate::catalog::Table;
#[cfg(test)]
use crate::mutants::{Mutant, planted};
use crate::run::measured::value;
use crate::sources::{Described, Parameter};
use crate::values::facts::{Facts, Kind, Value};
use bound::{MOST_TEXT, canonical_text};
use datafusion::arrow::array::RecordBatch;
use datafusion::common::DFSchema;
use std::collections::BTreeSet;

/// Public rows of more values than this do not travel with a statement.
const MOST_VALUES: usize = 1_000_000;

/// A table of the database, and its values in canonical form; integers, truth values, days and moments are so as they are asked for.
///
/// The step of a table whose values take more than a cast to ask for is a fence as well. That depends on what is declared and on the types of the database, so it is the same for all plans.
pub(super) fn table(
    name: &str,
    table: &Table,
    described: &Described,
    needed: &BTreeSet<usize>,
    writer: &mut Writer,
) -> Result<Relation, NotWritten> {
    let asked = |column: &str, kind: Kind| described.column(column, kind, table.identifies(column));
    let simple =
        |(column, facts): (&String, &Facts)| asked(column, facts.kind).is_none_or(|asked| asked.simple);
    let fence = match table
        .columns
        .iter()
        .map(|(column, facts)| (column, facts))
        .all(simple)
    {
        true => "",
        false => " OFFSET 0",
    };
    let mut cells = Vec::new();
    for (place, (column, facts)) in table.columns.iter().enumerate() {
        if !needed.contains(&place) {
            cells.push(None);
            continue;
        }
        let asked = asked(column, facts.kind).ok_or_else(|| {
            NotWritten::new(format!(
                "the database keeps column {column} of {name} in a type that is not on the list for {}",
                facts.kind
            ))
        })?;
        let sql = match facts.kind {
            Kind::Text if asked.simple => format!("({} COLLATE \"C\")", asked.sql),
            // Made here, so not kept apart from its row by the database: no more of it than decides about its canonical form.
            Kind::Text => format!("(left({}, {}) COLLATE \"C\")", asked.sql, MOST_TEXT + 1),
            _ => asked.sql,
        };
        cells.push(Some(Cell {
            atom: true,
            ..Cell::of(sql, facts.kind, &[])
        }));
    }
    let mut relation = writer.select(cells, From::Table(described.name.clone()), fence)?;
    for (cell, (column, facts)) in relation.columns.iter_mut().zip(&table.columns) {
        if let Some(asked) = cell {
            *asked = canonical(asked, column, facts, table)?;
        }
    }
    Ok(relation)
}

/// A value of a table in canonical form.
fn canonical(asked: &Cell, column: &str, facts: &Facts, table: &Table) -> Result<Cell, NotWritten> {
    #[cfg(test)]
    if planted(Mutant::NotCanonical) {
        return Ok(asked.clone());
    }
    let identifies = table.identifies(column);
    let value = &asked.sql;
    let cell = |sql: String| Cell::of(sql, facts.kind, &[asked]);
    match facts.kind {
        Kind::Text if identifies => return Ok(cell(constants::identifier(value))),
        Kind::Text => {}
        Kind::Float => {
            let range = facts.range.filter(|_| !identifies);
            let bounds = range.map(|range| [range.low, range.high]);
            return Ok(Cell {
                canonical_of: Some((value.clone(), bounds)),
                ..cell(constants::canonical_float(value, bounds))
            });
        }
        _ => return Ok(asked.clone()),
    }
    // PostgreSQL computes it on one processor alone.
    let text = |sql: String| Cell {
        function_of: Some(value.clone()),
        ..cell(sql)
    };
    let Some((_, other)) = table.other.iter().find(|(name, _)| name == column) else {
        return Ok(text(constants::canonical_text(value)));
    };
    let mut declared = Vec::new();
    for value in facts.values.iter().flat_map(|values| values.iter()) {
        // No canonical text is one that is not.
        if let Value::Text(text) = value
            && canonical_text(text) == *text
        {
            declared.push(quoted_text(text).ok_or_else(|| strange(column))?);
        }
    }
    let other = quoted_text(other).ok_or_else(|| strange(column))?;
    let declared = match declared.is_empty() {
        true => return Err(strange(column)),
        false => declared.join(", "),
    };
    Ok(text(constants::declared_text(value, &declared, &other)))
}

fn strange(column: &str) -> NotWritten {
    NotWritten::new(format!(
        "the declared values of {column} are none of PostgreSQL's"
    ))
}

/// Public rows as parameters, one for each column.
pub(super) fn held(
    name: &str,
    batches: &[RecordBatch],
    schema: &DFSchema,
    needed: &BTreeSet<usize>,
    writer: &mut Writer,
) -> Result<Relation, NotWritten> {
    let places: Vec<usize> = needed.iter().copied().collect();
    if let Some(relation) = writer.held(name, &places) {
        return Ok(relation);
    }
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    if rows.saturating_mul(needed.len().max(1)) > MOST_VALUES {
        return Err(NotWritten::new(
            "the public side of a join is too large to travel",
        ));
    }
    let mut cells: Vec<Option<Cell>> = Vec::new();
    let mut arrays = Vec::new();
    for (place, field) in schema.fields().iter().enumerate() {
        if !needed.contains(&place) {
            cells.push(None);
            continue;
        }
        let strange =
            || NotWritten::new("the public side of a join has values that are none of PostgreSQL's");
        let kind = Kind::of(field.data_type()).ok_or_else(strange)?;
        let mut values = Vec::with_capacity(rows);
        for batch in batches {
            for row in 0..batch.num_rows() {
                values.push(value(batch.column(place), row).map_err(|_| strange())?);
            }
        }
        let (parameter, travels_as) = parameter(kind, values).ok_or_else(strange)?;
        let number = writer.parameter(parameter);
        let alias = format!("v{number}");
        arrays.push((format!("${number}::{travels_as}[]"), alias.clone()));
        let collation = if kind == Kind::Text { " COLLATE \"C\"" } else { "" };
        let sql = format!("({alias}::{}{collation})", type_of(kind));
        cells.push(Some(Cell::of(sql, kind, &[])));
    }
    let from = match arrays.is_empty() {
        // Nothing of it is needed but how many there are.
        true => format!("generate_series(1, {rows}) AS v"),
        false => {
            let (texts, names): (Vec<String>, Vec<String>) = arrays.into_iter().unzip();
            format!("unnest({}) AS v({})", texts.join(", "), names.join(", "))
        }
    };
    let relation = writer.select(cells, From::Table(from), "")?;
    writer.hold(name, &places, &relation);
    Ok(relation)
}

/// A column as a parameter, and the type as which it travels: days and moments by their names. Values are of the one kind, or NULL.
fn parameter(kind: Kind, values: Vec<Value>) -> Option<(Parameter, &'static str)> {
    fn all<T>(values: Vec<Value>, of: impl Fn(Value) -> Option<T>) -> Option<Vec<Option<T>>> {
        let one = |value| match value {
            Value::Null => Some(None),
            value => of(value).map(Some),
        };
        values.into_iter().map(one).collect()
    }
    let text = |text: String| Some(text).filter(|text| !text.contains('\0'));
    Some(match kind {
        Kind::Bool => {
            let values = all(values, |value| match value {
                Value::Bool(value) => Some(value),
                _ => None,
            })?;
            (Parameter::Bools(values), "bool")
        }
        Kind::Int => {
            let values = all(values, |value| match value {
                Value::Int(value) => Some(value),
                _ => None,
            })?;
            (Parameter::Integers(values), "int8")
        }
        Kind::Float => {
            let values = all(values, |value| match value {
                Value::Float(value) if value.is_finite() => Some(value),
                _ => None,
            })?;
            (Parameter::Floats(values), "float8")
        }
        Kind::Text => {
            let values = all(values, |value| match value {
                Value::Text(value) => text(value),
                _ => None,
            })?;
            (Parameter::Texts(values), "text")
        }
        Kind::Date => {
            let values = all(values, |value| match value {
                Value::Date(value) => day(i64::from(value)),
                _ => None,
            })?;
            (Parameter::Texts(values), "text")
        }
        Kind::Timestamp => {
            let values = all(values, |value| match value {
                Value::Timestamp(value) => moment(value),
                _ => None,
            })?;
            (Parameter::Texts(values), "text")
        }
    })
}
