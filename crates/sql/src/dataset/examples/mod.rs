//! Rows of a declared table as examples for training.
//!
//! How a row becomes numbers depends on the catalog alone: numbers are scaled by their declared bounds, values are counted off in their declared lists. Nothing
//! is learned from the data on the way, no mean, no vocabulary, so nothing has to be paid for.

mod columns;
mod order;
mod public;

pub use columns::{LeftOut, encoding, left_out};
pub(crate) use public::{read_public_file, read_public_table};

use crate::catalog::{Catalog, Owner, Table};
use crate::run::facts::{Facts, unverified};
use crate::understand::mistakes::unplannable;
use crate::values::facts::{Kind, Value};
use crate::{Error, sources};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Date32Type, Float64Type, Int64Type, TimestampMicrosecondType};
use datafusion::logical_expr::{LogicalPlanBuilder, col};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use order::Order;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

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
        /// What it is declared as.
        #[serde(with = "KindNote", default = "of_older_models")]
        kind: Kind,
    },
    /// One of these, as a 1 in its place and 0 in all others. What is not among them is all zeros.
    OneOf {
        /// The declared values, as text.
        values: Vec<String>,
        /// What they are declared as.
        #[serde(with = "KindNote", default = "of_older_models")]
        kind: Kind,
    },
}

/// What a model's file calls a kind.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Kind", rename_all = "snake_case")]
enum KindNote {
    Bool,
    Int,
    Float,
    Text,
    Date,
    Timestamp,
}

/// Files of models that say nothing of kinds: values are compared as they are written, and any number is one.
fn of_older_models() -> Kind {
    Kind::Text
}

impl Coding {
    /// How many numbers it takes.
    pub fn width(&self) -> usize {
        match self {
            Self::Number { nullable, .. } => 1 + usize::from(*nullable),
            Self::OneOf { values, .. } => values.len(),
        }
    }
}

/// How rows become examples: public, and part of a trained model.
///
/// ```
/// use sql::arrow::array::{Float64Array, RecordBatch, StringArray};
/// use sql::{Coding, Encoding, Kind};
/// use std::sync::Arc;
///
/// let encoding = Encoding {
///     features: vec![
///         ("age".to_owned(), Coding::Number { low: 0.0, high: 100.0, nullable: false, kind: Kind::Float }),
///         ("ward".to_owned(), Coding::OneOf { values: vec!["north".to_owned(), "south".to_owned()], kind: Kind::Text }),
///     ],
///     label: ("ill".to_owned(), Coding::OneOf { values: vec!["no".to_owned(), "yes".to_owned()], kind: Kind::Text }),
/// };
/// let rows = RecordBatch::try_from_iter([
///     ("Ward", Arc::new(StringArray::from(vec![Some("south"), None])) as _),
///     ("age", Arc::new(Float64Array::from(vec![75.0, 900.0])) as _),
/// ])?;
/// assert_eq!(encoding.features_of(&rows)?, [0.5, 0.0, 1.0, 1.0, 0.0, 0.0]);
/// assert!(encoding.features_of(&rows.project(&[0])?).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
            Coding::OneOf { values, .. } => Some(values),
            Coding::Number { .. } => None,
        }
    }

    /// Appends the numbers of a row to those before, from its columns that were coded.
    fn append(&self, coded: &[Vec<Option<f32>>], row: usize, numbers: &mut Vec<f32>) {
        let start = numbers.len();
        numbers.resize(start + self.width(), 0.0);
        let mut rest = &mut numbers[start..];
        for ((_, coding), values) in self.features.iter().zip(coded) {
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

    /// The rows of a batch as a model takes them, in their order and without labels: to predict for. What cannot be read as the model's columns were declared is missing, as it was in training.
    ///
    /// # Errors
    /// When a column is not there, or of a type that is never read as the declared one. That depends on the schema alone.
    pub fn features_of(&self, rows: &RecordBatch) -> Result<Vec<f32>, Error> {
        let schema = rows.schema();
        let coded = self
            .features
            .iter()
            .map(|(name, coding)| {
                let lower = name.to_lowercase();
                let place = schema
                    .fields()
                    .iter()
                    .position(|field| field.name().to_lowercase() == lower);
                let place = place.ok_or_else(|| {
                    Error::refused(
                        format!("the rows have no column `{name}`"),
                        "give the columns that the model learned from",
                    )
                })?;
                let kind = match coding {
                    // Of an older model, which does not say what its numbers were declared as.
                    Coding::Number { kind: Kind::Text, .. } => Kind::Float,
                    Coding::Number { kind, .. } | Coding::OneOf { kind, .. } => *kind,
                };
                let column = cast(rows.column(place), &kind.data_type()).map_err(|_| {
                    Error::refused(
                        format!("the column `{name}` has another type than the model learned from"),
                        "give the columns that the model learned from",
                    )
                })?;
                coded_column(&column, coding)
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let mut numbers = Vec::with_capacity(rows.num_rows() * self.width());
        for row in 0..rows.num_rows() {
            self.append(&coded, row, &mut numbers);
        }
        Ok(numbers)
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

/// Reads the examples of a private table. What does not fit a declaration is missing, and a row without a label or an owner is no example: each row is judged by itself.
pub(crate) async fn read(
    catalog: &Catalog,
    session: &SessionContext,
    table: &str,
    encoding: &Encoding,
) -> Result<Examples, Error> {
    let name = table.to_lowercase();
    let declared = private_table(catalog, &name)?;
    let owner = owner_column(&name, declared)?;
    read_rows(session, &name, declared, owner, encoding).await
}

/// The rows of a table, each with the unit that `owner` names, or as a unit of its own.
async fn read_rows(
    session: &SessionContext,
    name: &str,
    table: &Table,
    owner: Option<&str>,
    encoding: &Encoding,
) -> Result<Examples, Error> {
    let wanted = encoding.features.iter().chain([&encoding.label]);
    let names = wanted
        .map(|(column, _)| Ok(columns::column(name, table, column)?.0))
        .collect::<Result<Vec<&str>, Error>>()?;
    let width = encoding.width();
    let mut examples = Examples {
        features: Vec::new(),
        labels: Vec::new(),
        owners: Vec::new(),
        units: 0,
    };
    examples.units = scan(session, name, table, owner, &names, |columns, owners| {
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
            encoding.append(&features, row, &mut examples.features);
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
    let table = table.to_lowercase();
    let declared = private_table(catalog, &table)?;
    let (name, facts) = columns::column(&table, declared, name)?;
    if facts.kind != Kind::Text {
        return Err(Error::refused(
            format!("`{name}` of table `{table}` is no text"),
            "name a column that is declared as text",
        ));
    }
    let owner = owner_column(&table, declared)?;
    let mut texts = Texts {
        texts: Vec::new(),
        owners: Vec::new(),
        units: 0,
    };
    texts.units = scan(session, &table, declared, owner, &[name], |columns, owners| {
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
            let scaled = |value: f64| scaled(value.clamp(*low, *high), *low, *high);
            Ok(rows
                .map(|row| {
                    let value = numbers.is_valid(row).then(|| numbers.value(row))?;
                    (!value.is_nan()).then(|| scaled(value) as f32)
                })
                .collect())
        }
        Coding::OneOf { values, .. } => {
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

/// A number between two others as one from −1 to 1, however large or near to each other they are.
fn scaled(value: f64, low: f64, high: f64) -> f64 {
    let (middle, half) = (f64::midpoint(low, high), high / 2.0 - low / 2.0);
    match half > 0.0 {
        true => ((value - middle) / half).clamp(-1.0, 1.0),
        false => 0.0,
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
    session: &SessionContext,
    name: &str,
    table: &Table,
    owner: Option<&str>,
    columns: &[&str],
    mut take: impl FnMut(&[ArrayRef], &[Option<u32>]) -> Result<(), Error>,
) -> Result<u32, Error> {
    let engine = |error| sources::incident(format!("table `{name}`"), error);
    let wanted = columns.iter().copied().chain(owner);
    let plan = sources::typed_scan(&session.state(), name, table, sources::Texts::Whole).await?;
    let plan = LogicalPlanBuilder::from(plan)
        .project(wanted.enumerate().map(|(place, name)| {
            col(format!("\"{}\"", name.replace('"', "\"\""))).alias(format!("column{place}"))
        }))
        .and_then(LogicalPlanBuilder::build)
        .map_err(engine)?;
    let planned = session
        .state()
        .create_physical_plan(&plan)
        .await
        .map_err(engine)?;
    let facts = Facts::of_table(name, table);
    let leaves = |scan: &Arc<dyn ExecutionPlan>| facts.leaf(scan);
    let readable = match table.owner {
        Owner::Public => verify::public(planned, &leaves),
        _ => verify::owned(planned, &leaves, owner.map(|_| columns.len())),
    };
    let readable = readable.map_err(unverified)?;
    let mut stream = readable.stream(session.task_ctx()).map_err(engine)?;
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
