//! Rows of a declared table as examples for training.
//!
//! How a row becomes numbers depends on the catalog alone: numbers are scaled by their declared bounds, values are counted off in their declared lists. Nothing
//! is learned from the data on the way, no mean, no vocabulary, so nothing has to be paid for.

mod order;

use crate::catalog::{Catalog, Owner, Table};
use crate::facts::{Facts, Kind, Value};
use crate::relation::unplannable;
use crate::{Error, sources};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Date32Type, Float64Type, Int64Type, TimestampMicrosecondType};
use datafusion::logical_expr::{LogicalPlanBuilder, col};
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use order::Order;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a column becomes numbers: public, and part of a trained model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coding {
    /// A number between these, as one between −1 and 1; and, where it may be missing, a second that is 1 if it is.
    Number {
        /// The smallest value.
        low: f64,
        /// The largest.
        high: f64,
        /// Whether it may be missing.
        nullable: bool,
    },
    /// One of these, as a 1 in its place and 0 in all others. What is not among them is all zeros.
    OneOf {
        /// The declared values, as text.
        values: Vec<String>,
    },
}

impl Coding {
    /// How many numbers it takes.
    pub fn width(&self) -> usize {
        match self {
            Self::Number { nullable, .. } => 1 + usize::from(*nullable),
            Self::OneOf { values } => values.len(),
        }
    }
}

/// How rows become examples: public, and part of a trained model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Encoding {
    /// The columns that are learned from, in order.
    pub features: Vec<(String, Coding)>,
    /// The column that is learned: classes, or a number.
    pub label: (String, Coding),
}

impl Encoding {
    /// How many numbers an example has.
    pub fn width(&self) -> usize {
        self.features.iter().map(|(_, coding)| coding.width()).sum()
    }

    /// The names of the classes; `None` where the label is a number.
    pub fn classes(&self) -> Option<&[String]> {
        match &self.label.1 {
            Coding::OneOf { values } => Some(values),
            Coding::Number { .. } => None,
        }
    }
}

/// Examples: private. No Debug, so that they cannot be printed by accident.
pub struct Examples {
    /// [`Encoding::width`] numbers an example, one example after the other.
    pub features: Vec<f32>,
    /// The place of the class, or the number between −1 and 1.
    pub labels: Vec<f32>,
    /// Which unit an example belongs to, counted from 0. Units and their examples are in the order of what is in them, wherever their rows lie.
    pub owners: Vec<u32>,
    /// How many units there are, also those whose rows are all no examples: whether somebody has a label is as private as the label.
    pub units: u32,
}

/// Texts: private. No Debug, so that they cannot be printed by accident.
pub struct Texts {
    /// One text a row.
    pub texts: Vec<String>,
    /// As in [`Examples`].
    pub owners: Vec<u32>,
    /// Likewise.
    pub units: u32,
}

/// How a table's rows become examples of `label`: from `features`, or from all other columns that the catalog says enough about.
///
/// # Errors
/// When a column is not declared, or its declaration does not say how it becomes numbers. Depends on the catalog alone.
pub fn encoding(catalog: &Catalog, table: &str, label: &str, features: &[String]) -> Result<Encoding, Error> {
    let declared = private_table(catalog, table)?;
    let label = label.to_lowercase();
    let owner = owner_column(table, declared)?;
    let wanted: Vec<String> = if features.is_empty() {
        let others = declared.columns.iter().filter(|(name, facts)| {
            *name != label && Some(name.as_str()) != owner && coding(facts).is_some()
        });
        others.map(|(name, _)| name.clone()).collect()
    } else {
        features.iter().map(|name| name.to_lowercase()).collect()
    };
    if wanted.contains(&label) {
        return Err(Error::refused(
            format!("`{label}` is what is learned, so it cannot be learned from"),
            "leave it out of the features",
        ));
    }
    let coded = |name: &str| -> Result<(String, Coding), Error> {
        let coding = coding(column(table, declared, name)?).ok_or_else(|| {
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
    let mut label = coded(&label)?;
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

/// Reads the examples. What does not fit a declaration is missing, and a row without a label or an owner is no example: each row is judged by itself.
pub(crate) async fn read(
    catalog: &Catalog,
    session: &SessionContext,
    table: &str,
    encoding: &Encoding,
) -> Result<Examples, Error> {
    let names = encoding.features.iter().map(|(name, _)| name.as_str());
    let names: Vec<&str> = names.chain([encoding.label.0.as_str()]).collect();
    let width = encoding.width();
    let mut examples = Examples {
        features: Vec::new(),
        labels: Vec::new(),
        owners: Vec::new(),
        units: 0,
    };
    examples.units = scan(catalog, session, table, &names, |columns, owners| {
        let label = coded_column(&columns[encoding.features.len()], &encoding.label.1)?;
        let features = encoding
            .features
            .iter()
            .zip(columns)
            .map(|((_, coding), column)| coded_column(column, coding))
            .collect::<Result<Vec<_>, Error>>()?;
        for (row, owner) in owners.iter().enumerate() {
            let (Some(owner), Some(label)) = (owner, label[row]) else {
                continue;
            };
            examples.owners.push(*owner);
            examples.labels.push(label);
            let start = examples.features.len();
            examples.features.resize(start + width, 0.0);
            let mut rest = &mut examples.features[start..];
            for ((_, coding), values) in encoding.features.iter().zip(&features) {
                let (here, after) = rest.split_at_mut(coding.width());
                match (coding, values[row]) {
                    (Coding::Number { .. }, Some(value)) => here[0] = value,
                    (Coding::Number { nullable: true, .. }, None) => here[1] = 1.0,
                    (Coding::OneOf { .. }, Some(place)) => here[place as usize] = 1.0,
                    (_, None) => {}
                }
                rest = after;
            }
        }
        Ok(())
    })
    .await?;
    Ok(examples.ordered(width))
}

impl Examples {
    fn ordered(self, width: usize) -> Self {
        let features = |row: usize| &self.features[row * width..][..width];
        let order = Order::of(&self.owners, |left, right| {
            let pairs = features(left).iter().zip(features(right));
            let differ = pairs
                .map(|(left, right)| left.total_cmp(right))
                .find(|order| order.is_ne());
            differ.unwrap_or_else(|| self.labels[left].total_cmp(&self.labels[right]))
        });
        Self {
            features: order
                .rows
                .iter()
                .flat_map(|row| features(*row))
                .copied()
                .collect(),
            labels: order.rows.iter().map(|row| self.labels[*row]).collect(),
            owners: order.owners,
            units: self.units,
        }
    }
}

/// Reads a column of text. A row without a text or an owner is left out.
pub(crate) async fn read_texts(
    catalog: &Catalog,
    session: &SessionContext,
    table: &str,
    name: &str,
) -> Result<Texts, Error> {
    let declared = private_table(catalog, table)?;
    let name = name.to_lowercase();
    if column(table, declared, &name)?.kind != Kind::Text {
        return Err(Error::refused(
            format!("`{name}` of table `{table}` is no text"),
            "name a column that is declared as text",
        ));
    }
    let mut texts = Texts {
        texts: Vec::new(),
        owners: Vec::new(),
        units: 0,
    };
    texts.units = scan(catalog, session, table, &[&name], |columns, owners| {
        let column = columns[0].as_string_view();
        for (row, owner) in owners.iter().enumerate() {
            if let Some(owner) = owner
                && column.is_valid(row)
            {
                texts.texts.push(column.value(row).to_owned());
                texts.owners.push(*owner);
            }
        }
        Ok(())
    })
    .await?;
    let order = Order::of(&texts.owners, |left, right| {
        texts.texts[left].cmp(&texts.texts[right])
    });
    let take = |row: &usize| std::mem::take(&mut texts.texts[*row]);
    Ok(Texts {
        texts: order.rows.iter().map(take).collect(),
        owners: order.owners,
        units: texts.units,
    })
}

fn private_table<'c>(catalog: &'c Catalog, name: &str) -> Result<&'c Table, Error> {
    let table = catalog.table(name).ok_or_else(|| {
        Error::refused(
            format!("there is no table `{name}`"),
            format!(
                "the tables are {}",
                catalog.tables.keys().cloned().collect::<Vec<_>>().join(", ")
            ),
        )
    })?;
    if table.owner == Owner::Public {
        return Err(Error::refused(
            format!("table `{name}` is public: there is nobody whose privacy training could cost"),
            "any library trains on public data; name a private table",
        ));
    }
    Ok(table)
}

/// The column that names the owner; `None` where each row is its own.
fn owner_column<'t>(name: &str, table: &'t Table) -> Result<Option<&'t str>, Error> {
    match &table.owner {
        Owner::EachRow => Ok(None),
        Owner::Column(column) => Ok(Some(column)),
        Owner::Public | Owner::Through { .. } => Err(Error::refused(
            format!("rows of table `{name}` do not name their owner themselves"),
            "train on a table with the unit's column",
        )),
    }
}

fn column<'t>(table: &str, declared: &'t Table, name: &str) -> Result<&'t Facts, Error> {
    let found = declared.columns.iter().find(|(column, _)| column == name);
    found.map(|(_, facts)| facts).ok_or_else(|| {
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
        return Some(Coding::OneOf { values });
    }
    match (facts.kind, facts.range) {
        (Kind::Bool, _) => Some(Coding::OneOf {
            values: vec!["false".to_owned(), "true".to_owned()],
        }),
        (Kind::Int | Kind::Float, Some(range)) if range.low < range.high => Some(Coding::Number {
            low: range.low,
            high: range.high,
            nullable: facts.nullable,
        }),
        _ => None,
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bool(value) => Some(value.to_string()),
        Value::Int(value) => Some(value.to_string()),
        Value::Float(value) => Some(value.to_string()),
        Value::Text(value) => Some(value.clone()),
        Value::Date(value) => Some(value.to_string()),
        Value::Timestamp(value) => Some(value.to_string()),
    }
}

/// Each row's number: scaled into [−1, 1], or the place of its value; `None` where it is missing or not declared.
fn coded_column(array: &ArrayRef, coding: &Coding) -> Result<Vec<Option<f32>>, Error> {
    let rows = 0..array.len();
    match coding {
        Coding::Number { low, high, .. } => {
            let numbers = cast(array, &DataType::Float64).map_err(|error| unplannable(error.into()))?;
            let numbers = numbers.as_primitive::<Float64Type>();
            let (middle, half) = ((low + high) / 2.0, (high - low) / 2.0);
            Ok(rows
                .map(|row| {
                    let value = numbers.is_valid(row).then(|| numbers.value(row))?;
                    (!value.is_nan()).then(|| ((value.clamp(*low, *high) - middle) / half) as f32)
                })
                .collect())
        }
        Coding::OneOf { values } => {
            let places: BTreeMap<&str, usize> = values
                .iter()
                .enumerate()
                .map(|(place, value)| (value.as_str(), place))
                .collect();
            Ok(rows
                .map(|row| {
                    let text = cell(array, row)?;
                    places.get(text.as_str()).map(|place| *place as f32)
                })
                .collect())
        }
    }
}

/// A value as text, as [`text_of`] writes it.
fn cell(array: &ArrayRef, row: usize) -> Option<String> {
    if array.is_null(row) {
        return None;
    }
    let value = match array.data_type() {
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Int64 => Value::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => Value::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8View => return Some(array.as_string_view().value(row).to_owned()),
        DataType::Date32 => Value::Date(array.as_primitive::<Date32Type>().value(row)),
        DataType::Timestamp(..) => {
            Value::Timestamp(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        _ => return None,
    };
    text_of(&value)
}

/// Passes the named columns of every batch on, with each row's owner; how many owners there are in all.
async fn scan(
    catalog: &Catalog,
    session: &SessionContext,
    name: &str,
    columns: &[&str],
    mut take: impl FnMut(&[ArrayRef], &[Option<u32>]) -> Result<(), Error>,
) -> Result<u32, Error> {
    let name = name.to_lowercase();
    let table = private_table(catalog, &name)?;
    let owner = owner_column(&name, table)?;
    let engine = |error| sources::incident(format!("table `{name}`"), error);
    let wanted = columns.iter().copied().chain(owner);
    let plan = sources::typed_scan(&session.state(), &name, table, sources::Texts::Whole).await?;
    let plan = LogicalPlanBuilder::from(plan)
        .project(wanted.enumerate().map(|(place, name)| {
            col(format!("\"{}\"", name.replace('"', "\"\""))).alias(format!("column{place}"))
        }))
        .and_then(LogicalPlanBuilder::build)
        .map_err(engine)?;
    let frame = session.execute_logical_plan(plan).await.map_err(engine)?;
    let mut stream = frame.execute_stream().await.map_err(engine)?;
    let mut known: BTreeMap<String, u32> = BTreeMap::new();
    let mut met = 0u32;
    while let Some(batch) = stream.next().await {
        let batch: RecordBatch = batch.map_err(engine)?;
        let owners: Vec<Option<u32>> = (0..batch.num_rows())
            .map(|row| {
                let mut new = || {
                    let number = met;
                    met = met.saturating_add(1);
                    number
                };
                match owner {
                    None => Some(new()),
                    Some(_) => {
                        let key = cell(batch.column(columns.len()), row)?;
                        Some(*known.entry(key).or_insert_with(new))
                    }
                }
            })
            .collect();
        take(&batch.columns()[..columns.len()], &owners)?;
    }
    Ok(met)
}
