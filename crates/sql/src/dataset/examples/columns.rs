//! Which columns of a declared table are learned from, and how they become numbers: public, from the catalog alone.

use super::{Coding, Encoding, owner_column, private_table, text_of};
use crate::Error;
use crate::catalog::{Catalog, Table};
use crate::values::facts::{Facts, Kind};

/// How a table's rows become examples of `label`: from `features`, or from all other columns that the catalog says enough about.
///
/// # Errors
/// When a column is not declared, or its declaration does not say how it becomes numbers. Depends on the catalog alone.
pub fn encoding(catalog: &Catalog, table: &str, label: &str, features: &[String]) -> Result<Encoding, Error> {
    let declared = private_table(catalog, table)?;
    let (label, _) = column(table, declared, label)?;
    let owner = owner_column(table, declared)?;
    let wanted: Vec<&str> = if features.is_empty() {
        let others = declared
            .columns
            .iter()
            .map(|(name, facts)| (name.as_str(), facts))
            .filter(|(name, facts)| *name != label && Some(*name) != owner && coding(facts).is_some());
        others.map(|(name, _)| name).collect()
    } else {
        features
            .iter()
            .map(|name| Ok(column(table, declared, name)?.0))
            .collect::<Result<_, Error>>()?
    };
    if wanted.contains(&label) {
        return Err(Error::refused(
            format!("`{label}` is what is learned, so it cannot be learned from"),
            "leave it out of the features",
        ));
    }
    let coded = |name: &str| -> Result<(String, Coding), Error> {
        let coding = coding(column(table, declared, name)?.1).ok_or_else(|| {
            Error::refused(
                format!("the catalog does not say how `{name}` becomes numbers"),
                "declare `bounds` of a number, or `values` of anything else; they must not come from the data",
            )
        })?;
        Ok((name.to_owned(), coding))
    };
    let features = wanted
        .iter()
        .map(|name| coded(name))
        .collect::<Result<Vec<_>, Error>>()?;
    let mut label = coded(label)?;
    if let Coding::Number { nullable, .. } = &mut label.1 {
        // Rows without a label are no examples.
        *nullable = false;
    }
    if features.is_empty() {
        return Err(Error::refused(
            "there is nothing to learn from",
            "declare `bounds` or `values` of other columns",
        ));
    }
    Ok(Encoding { features, label })
}

/// A column that is not learned from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub column: String,
    /// Why, in words.
    pub why: &'static str,
}

/// The columns of a table that an encoding does without, in their order.
///
/// # Errors
/// When there is no such private table. Depends on the catalog alone.
pub fn left_out(catalog: &Catalog, table: &str, encoding: &Encoding) -> Result<Vec<LeftOut>, Error> {
    let declared = private_table(catalog, table)?;
    let owner = owner_column(table, declared)?;
    let used = |name: &str| {
        let features = encoding.features.iter();
        features.chain([&encoding.label]).any(|(used, _)| used == name)
    };
    let others = declared.columns.iter().filter(|(name, _)| !used(name));
    Ok(others
        .map(|(name, facts)| LeftOut {
            column: name.clone(),
            why: match (coding(facts), facts.kind) {
                _ if Some(name.as_str()) == owner => "it says whose row it is",
                (Some(_), _) => "it is not among the features that were asked for",
                (None, Kind::Int | Kind::Float) if facts.range.is_some() => "its bounds leave a single value",
                (None, Kind::Int | Kind::Float) => {
                    "the catalog declares neither its `bounds` nor its `values`"
                }
                (None, _) => "the catalog does not declare its `values`",
            },
        })
        .collect())
}

/// A column by its name, in whatever case it is written: no two of a table differ in nothing else.
pub(super) fn column<'t>(
    table: &str,
    declared: &'t Table,
    name: &str,
) -> Result<(&'t str, &'t Facts), Error> {
    let lower = name.to_lowercase();
    let found = declared
        .columns
        .iter()
        .find(|(column, _)| column.to_lowercase() == lower);
    found.map(|(name, facts)| (name.as_str(), facts)).ok_or_else(|| {
        Error::refused(
            format!("table `{table}` has no column `{name}`"),
            "columns are named in the catalog",
        )
    })
}

/// How a declared column becomes numbers, if its declaration says so.
fn coding(facts: &Facts) -> Option<Coding> {
    if let Some(values) = &facts.values {
        let values = values.iter().map(text_of).collect::<Option<Vec<_>>>()?;
        return Some(Coding::OneOf {
            values,
            kind: facts.kind,
        });
    }
    match (facts.kind, facts.range) {
        (Kind::Bool, _) => Some(Coding::OneOf {
            values: vec!["false".to_owned(), "true".to_owned()],
            kind: Kind::Bool,
        }),
        (Kind::Int | Kind::Float, Some(range)) if range.low < range.high => Some(Coding::Number {
            low: range.low,
            high: range.high,
            nullable: facts.nullable,
            kind: facts.kind,
        }),
        _ => None,
    }
}
