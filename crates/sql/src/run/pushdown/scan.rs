//! Where a statement begins: tables of the database, with values as the local scan has them (`sources::typed_scan`), and public rows that travel with it.

use super::NotWritten;
use super::constants::{self, day, moment, quoted_text, type_of};
use super::writer::{Cell, Relation, Writer};
use crate::catalog::Table;
#[cfg(test)]
use crate::mutants::{Mutant, planted};
use crate::run::engine::value;
use crate::sources::{Described, Parameter};
use crate::values::facts::{Kind, Value};
use datafusion::arrow::array::RecordBatch;
use datafusion::common::DFSchema;
use std::collections::BTreeSet;

/// Public rows of more values than this do not travel with a statement.
const MOST_VALUES: usize = 1_000_000;

/// What a value becomes in the next step.
type Next = Box<dyn Fn(&str) -> String>;

/// One column in the making: how the next step computes it of this one.
struct Making {
    sql: String,
    kind: Kind,
    steps: Vec<Next>,
}

/// A table of the database. The first step reads it, and the next ones put values in canonical form. Each is a fence, so that a value is computed once a row.
pub(super) fn table(
    name: &str,
    table: &Table,
    described: &Described,
    needed: &BTreeSet<usize>,
    writer: &mut Writer,
) -> Result<Relation, NotWritten> {
    let fence = " OFFSET 0";
    let mut making = Vec::new();
    for (place, (column, facts)) in table.columns.iter().enumerate() {
        if !needed.contains(&place) {
            making.push(None);
            continue;
        }
        let asked = described.column(column, facts.kind).ok_or_else(|| {
            NotWritten::new(format!(
                "the database keeps column {column} of {name} in a type that is not on the list for {}",
                facts.kind
            ))
        })?;
        let mut steps: Vec<Next> = Vec::new();
        let identifies = table.identifiers.contains(column);
        match facts.kind {
            Kind::Text if identifies => steps.push(Box::new(constants::identifier)),
            Kind::Text => {
                steps.push(Box::new(constants::normal_text));
                steps.push(Box::new(constants::cut_text));
            }
            Kind::Float => {
                let range = facts.range.filter(|_| !identifies);
                let bounds = range.map(|range| [range.low, range.high]);
                steps.push(Box::new(move |value| constants::canonical_float(value, bounds)));
            }
            _ => {}
        }
        if let Some((_, other)) = table.other.iter().find(|(name, _)| name == column) {
            let mut declared = Vec::new();
            for value in facts.values.iter().flat_map(|values| values.iter()) {
                if let Value::Text(text) = value {
                    declared.push(quoted_text(text).ok_or_else(|| strange(column))?);
                }
            }
            let other = quoted_text(other).ok_or_else(|| strange(column))?;
            let declared = match declared.is_empty() {
                true => return Err(strange(column)),
                false => declared.join(", "),
            };
            steps.push(Box::new(move |value| {
                format!("(CASE WHEN {value} IN ({declared}) THEN {value} WHEN {value} IS NOT NULL THEN {other} END COLLATE \"C\")")
            }));
        }
        let sql = match facts.kind {
            Kind::Text => format!("({asked} COLLATE \"C\")"),
            _ => asked,
        };
        making.push(Some(Making {
            sql,
            kind: facts.kind,
            steps,
        }));
    }
    let first = |making: &Option<Making>| {
        making
            .as_ref()
            .map(|making| Cell::of(making.sql.clone(), making.kind, &[]))
    };
    let cells = making.iter().map(first).collect();
    #[cfg(test)]
    if planted(Mutant::NotCanonical) {
        making
            .iter_mut()
            .flatten()
            .for_each(|making| making.steps.clear());
    }
    let most = making.iter().flatten().map(|making| making.steps.len()).max();
    let most = most.unwrap_or(0);
    // The fence is there in any case: a condition of ours never gets below those of the table.
    let mut relation = writer.select(cells, &described.name, fence)?;
    for step in 0..most {
        let cells = relation.columns.iter().zip(&making).map(|(cell, making)| {
            let (cell, making) = (cell.as_ref()?, making.as_ref()?);
            Some(match making.steps.get(step) {
                Some(next) => Cell::of(next(&cell.sql), cell.kind, &[]),
                None => cell.clone(),
            })
        });
        let cells = cells.collect();
        // Each step writes its operand several times, so each is computed before the next.
        relation = writer.select(cells, &relation.name, fence)?;
    }
    Ok(relation)
}

fn strange(column: &str) -> NotWritten {
    NotWritten::new(format!(
        "the declared values of {column} are none of PostgreSQL's"
    ))
}

/// Public rows as parameters, one for each column.
pub(super) fn held(
    batches: &[RecordBatch],
    schema: &DFSchema,
    needed: &BTreeSet<usize>,
    writer: &mut Writer,
) -> Result<Relation, NotWritten> {
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
        writer.parameters.push(parameter);
        let number = writer.parameters.len();
        let alias = format!("v{number}");
        arrays.push((format!("${number}::{travels_as}[]"), alias.clone()));
        let collation = if kind == Kind::Text { " COLLATE \"C\"" } else { "" };
        let sql = format!("({alias}::{}{collation})", type_of(kind));
        cells.push(Some(Cell::of(sql, kind, &[])));
    }
    if arrays.is_empty() {
        // Nothing of it is needed but how many there are.
        return writer.select(cells, &format!("generate_series(1, {rows}) AS v"), "");
    }
    let (texts, names): (Vec<String>, Vec<String>) = arrays.into_iter().unzip();
    let from = format!("unnest({}) AS v({})", texts.join(", "), names.join(", "));
    writer.select(cells, &from, "")
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
