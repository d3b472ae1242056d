//! Which groups a result has, and in how many of them one unit may count.

use crate::Error;
use crate::catalog::{Catalog, Limits};
use crate::understand::dialect::{GroupSelection, SelectOptions};
use crate::understand::expression::{Scope, Typed, together};
use crate::understand::relation::Rows;
use crate::values::facts::Value;
use accounting::Neighbors;
use datafusion::common::Column;
use std::collections::HashSet;

/// More groups than this are not listed: they are selected instead.
const MOST_LISTED: usize = 100_000;

/// The groups of a result.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    /// Where their names come from.
    pub(crate) selection: Selection,
    /// A unit counts in at most this many.
    pub(crate) per_unit: u64,
    /// Whether a unit may have rows in more, so that some are left out.
    pub(crate) sampled: bool,
}

/// Where the names of groups come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Selection {
    /// From the catalog and the query: all of these appear, empty ones included. Without keys, one group.
    Listed(Vec<Vec<Value>>),
    /// From the data, so a group appears only if enough units are in it, which costs δ.
    Threshold,
}

impl Groups {
    pub(crate) fn of(
        keys: &[Typed],
        rows: &Rows,
        limits: &Limits,
        options: &SelectOptions,
        catalog: &Catalog,
    ) -> Result<Self, Error> {
        let listed = listed(keys, &rows.scope());
        let selection = match (options.group_selection_strategy, listed) {
            (Some(GroupSelection::LaplaceThreshold), _) if !keys.is_empty() => Selection::Threshold,
            (Some(GroupSelection::PublicGroups), None) => {
                return Err(Error::refused(
                    "group_selection_strategy = PUBLIC_GROUPS, but the values of a key are not public",
                    "declare `values` or `bounds` of the column in the catalog, or leave the option out",
                ));
            }
            (_, Some(groups)) => Selection::Listed(groups),
            (_, None) => Selection::Threshold,
        };
        let selection = match options.min_privacy_units_per_group {
            Some(_) if options.group_selection_strategy == Some(GroupSelection::PublicGroups) => {
                return Err(Error::refused(
                    "public groups all appear, so a least number of units cannot be asked for",
                    "leave out min_privacy_units_per_group, or PUBLIC_GROUPS; or filter the result with HAVING, which is free",
                ));
            }
            Some(_) if !keys.is_empty() => Selection::Threshold,
            _ => selection,
        };
        if selection == Selection::Threshold && catalog.unit.neighbors == Neighbors::ChangeOne {
            return Err(Error::refused(
                "groups whose names are private are released only where a unit is added or removed, and the catalog says change_one",
                "declare the `values` of the grouping columns in the catalog",
            ));
        }
        let whose = &catalog.unit.whose;
        // A key that is a property of the unit puts all of a unit's rows in one group; so does having one row.
        let one_group = keys.iter().all(|key| key.facts.of_unit) || rows.rows_per_unit == Some(1);
        let (mut per_unit, mut sampled) = if one_group {
            (1, false)
        } else {
            let stated = limits.groups.ok_or_else(|| {
                Error::refused(
                    format!("nothing says in how many groups one {whose} may count"),
                    "set `groups` under [limits] in the catalog, or OPTIONS(max_groups_contributed = …)",
                )
            })?;
            (stated, true)
        };
        if let Some(rows) = rows.rows_per_unit.filter(|rows| *rows <= per_unit) {
            (per_unit, sampled) = (rows, false);
        }
        if let Selection::Listed(groups) = &selection {
            // In the data there may be other groups as well, of which nothing is released; they take part in the sampling.
            per_unit = per_unit.min(groups.len().max(1) as u64);
        }
        if per_unit == 0 {
            return Err(Error::refused(
                format!("one {whose} may count in 0 groups, so the answer says nothing"),
                "allow at least 1",
            ));
        }
        Ok(Self {
            selection,
            per_unit,
            sampled,
        })
    }
}

/// Every combination of the keys' public values; `None` if a key has none or there are too many. Keys of the same columns only have the combinations that a row can have.
fn listed(keys: &[Typed], scope: &Scope) -> Option<Vec<Vec<Value>>> {
    let mut all: Vec<Vec<Value>> = vec![vec![Value::Null; keys.len()]];
    for places in of_same_columns(keys) {
        let here: Vec<&Typed> = places.iter().map(|place| &keys[*place]).collect();
        let combinations = match here.as_slice() {
            [key] => alone(key)?,
            _ => together(&here, scope).or_else(|| apart(&here))?,
        };
        if all.len().checked_mul(combinations.len())? > MOST_LISTED {
            return None;
        }
        all = all
            .iter()
            .flat_map(|front| {
                combinations.iter().map(|combination| {
                    let mut group = front.clone();
                    for (place, value) in places.iter().zip(combination) {
                        group[*place] = value.clone();
                    }
                    group
                })
            })
            .collect();
    }
    Some(all)
}

/// The places of keys, those together that share a column, directly or through others.
fn of_same_columns(keys: &[Typed]) -> Vec<Vec<usize>> {
    let mut sets: Vec<(Vec<usize>, HashSet<Column>)> = Vec::new();
    for (place, key) in keys.iter().enumerate() {
        let mut places = vec![place];
        let mut columns: HashSet<Column> = key.expr.column_refs().into_iter().cloned().collect();
        sets.retain(|(others, theirs)| {
            let apart = columns.is_disjoint(theirs);
            if !apart {
                places.extend(others);
                columns.extend(theirs.iter().cloned());
            }
            apart
        });
        places.sort_unstable();
        sets.push((places, columns));
    }
    sets.sort_by_key(|(places, _)| places[0]);
    sets.into_iter().map(|(places, _)| places).collect()
}

/// A key's public values, and NULL if it may be that.
fn alone(key: &Typed) -> Option<Vec<Vec<Value>>> {
    let mut values = key.enumerable()?;
    if key.facts.nullable {
        values.push(Value::Null);
    }
    Some(values.into_iter().map(|value| vec![value]).collect())
}

/// The product of the keys' public values.
fn apart(keys: &[&Typed]) -> Option<Vec<Vec<Value>>> {
    let mut all: Vec<Vec<Value>> = vec![Vec::new()];
    for key in keys {
        let values = alone(key)?;
        if all.len().checked_mul(values.len())? > MOST_LISTED {
            return None;
        }
        all = all
            .iter()
            .flat_map(|front| values.iter().map(|value| [front.as_slice(), value].concat()))
            .collect();
    }
    Some(all)
}
