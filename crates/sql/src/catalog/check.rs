//! What can only be checked when all tables are known: that every private row leads to a unit.

use super::table::Declared;
use super::{Owner, Source, Table};
use crate::Error;
use crate::values::facts::Kind;
use std::collections::BTreeMap;

/// That each chain of `unit_through` ends at a table that names its units, and that units are named alike everywhere.
pub(super) fn units(tables: &BTreeMap<String, Declared>) -> Result<(), Error> {
    for declared in tables.values() {
        step(tables, declared)?;
    }
    for declared in tables.values() {
        ends(tables, declared)?;
    }
    alike(tables)
}

/// Notes in each table which of its columns name units or lead to them.
pub(super) fn identifiers(tables: &mut BTreeMap<String, Declared>) {
    let mut found: Vec<(String, String)> = Vec::new();
    for (name, declared) in &*tables {
        match &declared.table.owner {
            Owner::Public | Owner::EachRow => {}
            Owner::Column(column) => found.push((name.clone(), column.clone())),
            Owner::Through { column, table, key } => {
                found.push((name.clone(), column.clone()));
                found.push((table.clone(), key.clone()));
            }
        }
    }
    for (name, column) in found {
        if let Some(declared) = tables.get_mut(&name)
            && !declared.table.identifiers.contains(&column)
        {
            declared.table.identifiers.push(column);
        }
    }
}

/// That no directory is named by who is in the data, or by what leads there: whether a question can be prepared would depend on it.
pub(super) fn partitions(tables: &BTreeMap<String, Declared>) -> Result<(), Error> {
    for declared in tables.values() {
        if let Source::ParquetTree(tree) = &declared.table.source
            && declared
                .table
                .identifiers
                .iter()
                .any(|column| tree.partitions.contains(column))
        {
            return Err(declared.owner.wrong(
                "a column that names units, or leads to them, is one of `partitions`",
                "directories would be named by persons, and a question could not be prepared without reading who is there; lay the files out by another column",
            ));
        }
    }
    Ok(())
}

/// That no column that names units, or leads to them, reads several values as one: all persons whose names are not declared would be one unit.
pub(super) fn others(tables: &BTreeMap<String, Declared>) -> Result<(), Error> {
    for declared in tables.values() {
        let identifies = |(column, _): &(String, String)| declared.table.identifiers.contains(column);
        if declared.table.other.iter().any(identifies) {
            return Err(declared.owner.wrong(
                "a column that names units, or leads to them, has an `other` value",
                "everybody whose name is not among its `values` would be one unit; drop `values` and `other` of that column",
            ));
        }
    }
    Ok(())
}

fn kind(table: &Table, column: &str) -> Option<Kind> {
    table.column(column).map(|facts| facts.kind)
}

/// One step of a chain.
fn step(tables: &BTreeMap<String, Declared>, declared: &Declared) -> Result<(), Error> {
    let Owner::Through { column, table, key } = &declared.table.owner else {
        return Ok(());
    };
    let wrong = |what: &str, hint: &str| Err(declared.owner.wrong(what, hint));
    let Some(next) = tables.get(table) else {
        return wrong("there is no such table", "declare it under [tables]");
    };
    if next.table.owner == Owner::Public {
        return wrong(
            "that table is public, so its rows lead to nobody",
            "name a private table, or the unit's own column with `unit`",
        );
    }
    match kind(&next.table, key) {
        None => wrong(
            "that table declares no such key column",
            "declare it there; names are compared as written, upper and lower case apart",
        ),
        Some(other) if kind(&declared.table, column) != Some(other) => wrong(
            "the column and the key are of different kinds, so no row would match",
            "declare both with the same kind",
        ),
        Some(_) => Ok(()),
    }
}

/// That following a chain comes to an end.
fn ends(tables: &BTreeMap<String, Declared>, start: &Declared) -> Result<(), Error> {
    let mut current = start;
    for _ in 0..tables.len() {
        match &current.table.owner {
            Owner::Through { table, .. } => match tables.get(table) {
                Some(next) => current = next,
                None => return Ok(()),
            },
            _ => return Ok(()),
        }
    }
    Err(start.owner.wrong(
        "these tables lead to each other in a circle, and never to a unit",
        "let one of them name the unit's own column with `unit`",
    ))
}

/// The same person must be the same unit in every table: `7` in one and `"7"` in another would be two.
fn alike(tables: &BTreeMap<String, Declared>) -> Result<(), Error> {
    let mut first: Option<Kind> = None;
    for declared in tables.values() {
        let Owner::Column(column) = &declared.table.owner else {
            continue;
        };
        let this = kind(&declared.table, column);
        match (first, this) {
            (Some(first), Some(this)) if first != this => {
                return Err(declared.owner.wrong(
                    "units are named by another kind of column here than in another table",
                    "declare the unit column with the same kind in every table",
                ));
            }
            (None, this) => first = this,
            _ => {}
        }
    }
    Ok(())
}
