//! What of a catalog is not so in the data, for `deniable check`.
//!
//! **Nothing here is private.** It is for the curator, who may see the data: exact counts, without noise and without a charge. No value of the data is reported all the same, but for values that the catalog lists.

use super::incident::incident;
use super::{converted, guess, provider};
use crate::Error;
use crate::catalog::{Catalog, Limits, Owner, Table, names_something};
use crate::values::facts::{Facts, Kind, Value};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Date32Type, Float64Type, Int64Type, SchemaRef, TimestampMicrosecondType};
use datafusion::common::{ScalarValue, TableReference};
use datafusion::dataframe::DataFrame;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// What was found in one table.
#[derive(Clone, Debug, Serialize)]
pub struct TableCheck {
    /// The table.
    pub table: String,
    /// Its state, as questions about it are distinguished.
    pub version: String,
    /// How many rows it has.
    pub rows: u64,
    /// Its units, where a column names them.
    pub units: Option<UnitCheck>,
    /// Columns of which no two rows should agree in all.
    pub keys: Vec<KeyCheck>,
    /// Its columns.
    pub columns: Vec<ColumnCheck>,
}

/// What was found of the units of a table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct UnitCheck {
    /// The column that names them.
    pub column: String,
    /// How many there are.
    pub units: u64,
    /// Rows that belong to nobody, because the unit is NULL: queries leave them out.
    pub rows_of_nobody: u64,
    /// How many of them are named as another one is but for blanks around it, upper and lower case, zeros in front or the form of its characters: persons, perhaps, who are written in two ways.
    pub written_alike: u64,
    /// How many rows a unit has at most, as the catalog promises.
    pub promised_rows: Option<u64>,
    /// Units that have more than that. Their privacy is not what is promised.
    pub units_above_promise: u64,
    /// How many rows of a unit count in a query without groups that does not say.
    pub limit: Option<u64>,
    /// Units that have more rows than that: a query without groups leaves some of them out.
    pub units_above_limit: u64,
    /// Whether the catalog says that the rows of a unit lie next to each other.
    pub said_to_be_clustered: bool,
    /// Whether they do.
    pub clustered: bool,
}

/// What was found of columns that should be a key.
#[derive(Clone, Debug, Serialize)]
pub struct KeyCheck {
    /// The columns.
    pub columns: Vec<String>,
    /// Rows that agree in all of them with a row before.
    pub repeated: u64,
    /// Whether the privacy of other tables' rows depends on it, because they find their units by it.
    pub leads_to_units: bool,
}

/// What was found of one column.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ColumnCheck {
    /// The column.
    pub column: String,
    /// Its declared kind.
    pub kind: String,
    /// Whether it tells whose rows these are, or those of another table.
    pub names_units: bool,
    /// Rows in which there is nothing: it is empty, missing or a marker of NULL.
    pub nulls: u64,
    /// Whether the catalog says that there are none.
    pub said_not_null: bool,
    /// Rows in which there is something that is not of the declared kind, or no identifier in its one spelling. It is read as NULL.
    pub unreadable: u64,
    /// The kind that fits what is there, where the declared one does not, or is text that is more than text.
    pub fitting_kind: Option<String>,
    /// What would have to stand for NULL then.
    pub fitting_nulls: Vec<String>,
    /// Rows below the declared bounds.
    pub below: u64,
    /// Rows above the declared bounds.
    pub above: u64,
    /// How many values the catalog lists.
    pub listed: u64,
    /// Those of them that no row has.
    pub never_seen: Vec<String>,
    /// Rows with a value that is not listed.
    pub not_listed: u64,
    /// How many different such values there are, counted up to 1,000.
    pub different_not_listed: u64,
    /// The value that those are read as, where the catalog names one.
    pub other: Option<String>,
}

/// This many different values that are not listed are distinguished.
const MOST_DIFFERENT: usize = 1000;

/// Compares one table of a catalog with its data. Reads all of it.
///
/// # Errors
/// When the table cannot be opened, or lacks a declared column.
pub async fn check(catalog: &Catalog, name: &str, table: &Table) -> Result<TableCheck, Error> {
    let what = format!("table `{name}`");
    let engine = |error| incident(what.as_str(), error);
    // One thread, so that rows come in the order of the file.
    let session = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(1));
    let provider = provider(&session.state(), name, table).await?;
    let schema = provider.schema();
    let mut expressions = Vec::new();
    for (column, facts) in &table.columns {
        let Ok(index) = schema.index_of(column) else {
            return Err(Error::catalog(
                format!("{what} has no column `{column}`"),
                "names are compared as written, upper and lower case apart; drop it from the catalog, or rename it there",
            ));
        };
        let own = Expr::Column(datafusion::common::Column::from_name(schema.field(index).name()));
        let place = expressions.len();
        expressions.push(converted(&what, &schema, index, facts.kind, table)?.alias(format!("v{place}")));
        expressions.push(own.is_not_null().alias(format!("p{place}")));
    }
    let plan = LogicalPlanBuilder::scan(TableReference::bare(name), provider_as_source(provider), None)
        .and_then(|plan| plan.project(expressions))
        .and_then(|plan| plan.build())
        .map_err(engine)?;
    let mut stream = DataFrame::new(session.state(), plan)
        .execute_stream()
        .await
        .map_err(engine)?;
    let mut found = Found::new(catalog, name, table)?;
    while let Some(batch) = stream.next().await {
        found.batch(table, &batch.map_err(engine)?);
    }
    let mut check = found.finish(table);
    fitting(&session, name, table, &schema, &mut check).await?;
    Ok(check)
}

/// Looks for the kinds that fit columns of text which are declared as something that does not, and those of texts that are numbers, days or truth values.
async fn fitting(
    session: &SessionContext,
    name: &str,
    table: &Table,
    schema: &SchemaRef,
    check: &mut TableCheck,
) -> Result<(), Error> {
    let is_text = |column: &ColumnCheck| {
        let field = schema.field_with_name(&column.column);
        field.is_ok_and(|field| Kind::of(field.data_type()) == Some(Kind::Text))
    };
    // Identifiers have advice of their own, and so have numbers of things and listed values.
    let in_question = |column: &&mut ColumnCheck| {
        let perhaps_more =
            column.kind == Kind::Text.to_string() && column.listed == 0 && !names_something(&column.column);
        !column.names_units && (column.unreadable > 0 || perhaps_more) && is_text(column)
    };
    let mut columns: Vec<&mut ColumnCheck> = check.columns.iter_mut().filter(in_question).collect();
    let names: Vec<String> = columns.iter().map(|column| column.column.clone()).collect();
    if names.is_empty() {
        return Ok(());
    }
    for (column, guess) in columns.iter_mut().zip(guess(session, name, table, &names).await?) {
        let kind = guess.kind.to_string();
        let says_something = column.unreadable > 0 || kind != column.kind;
        if guess.has_values && says_something {
            column.fitting_kind = Some(kind);
            column.fitting_nulls = guess.nulls.into_iter().map(str::to_owned).collect();
        }
    }
    Ok(())
}

/// What has been found so far.
struct Found {
    check: TableCheck,
    /// Of each column, how often each listed value was seen.
    listed: Vec<HashMap<Cell, u64>>,
    others: Vec<HashSet<Cell>>,
    /// Where the column of units is, how many rows each has, and whose the last row was.
    unit: Option<usize>,
    rows_of: HashMap<Cell, u64>,
    last: Option<Cell>,
    runs: u64,
    /// Where the columns of each key are, and what was seen of them.
    keys: Vec<SeenKeys>,
}

/// The places of a key's columns, and the values that were seen of them.
type SeenKeys = (Vec<usize>, HashSet<Vec<Option<Cell>>>);

/// A value that can be looked up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Cell {
    Number(u64),
    Text(String),
}

impl Cell {
    fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => return None,
            Value::Bool(value) => Self::Number(u64::from(*value)),
            Value::Int(value) | Value::Timestamp(value) => Self::Number(value.cast_unsigned()),
            Value::Float(value) => Self::Number((value + 0.0).to_bits()),
            Value::Date(value) => Self::Number(i64::from(*value).cast_unsigned()),
            Value::Text(value) => Self::Text(value.clone()),
        })
    }
}

impl Cell {
    /// What is left of an identifier without what people write in several ways.
    fn without_spelling(&self) -> Self {
        let Self::Text(text) = self else {
            return self.clone();
        };
        let text = bound::canonical_text(text).trim().to_lowercase();
        let digits = text.strip_prefix('+').unwrap_or(&text);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        Self::Text(match is_number {
            true => digits.trim_start_matches('0').to_owned(),
            false => text,
        })
    }
}

/// The value of a typed column in this row.
fn value(column: &ArrayRef, row: usize, facts: &Facts, exact: bool) -> Value {
    if column.is_null(row) {
        return Value::Null;
    }
    match facts.kind {
        Kind::Bool => Value::Bool(column.as_boolean().value(row)),
        Kind::Int => Value::Int(column.as_primitive::<Int64Type>().value(row)),
        Kind::Float => Value::Float(column.as_primitive::<Float64Type>().value(row)),
        Kind::Date => Value::Date(column.as_primitive::<Date32Type>().value(row)),
        Kind::Timestamp => Value::Timestamp(column.as_primitive::<TimestampMicrosecondType>().value(row)),
        Kind::Text => {
            let text = column.as_string_view().value(row);
            // Names of units are compared byte for byte, other texts in canonical form.
            Value::Text(if exact {
                text.to_owned()
            } else {
                bound::canonical_text(text).into_owned()
            })
        }
    }
}

impl Found {
    fn new(catalog: &Catalog, name: &str, table: &Table) -> Result<Self, Error> {
        let place = |column: &String| table.columns.iter().position(|(name, _)| name == column);
        let unit = match &table.owner {
            Owner::Column(column) => place(column),
            _ => None,
        };
        let leads: Vec<Vec<String>> = catalog
            .tables
            .values()
            .filter_map(|other| match &other.owner {
                Owner::Through { table, key, .. } if table == name => Some(vec![key.clone()]),
                _ => None,
            })
            .collect();
        let mut keys: Vec<KeyCheck> = Vec::new();
        for (columns, leads_to_units) in leads
            .iter()
            .map(|key| (key, true))
            .chain(table.keys.iter().map(|key| (key, false)))
        {
            if !keys.iter().any(|key| key.columns == *columns) {
                keys.push(KeyCheck {
                    columns: columns.clone(),
                    repeated: 0,
                    leads_to_units,
                });
            }
        }
        let places = keys
            .iter()
            .map(|key| (key.columns.iter().filter_map(place).collect(), HashSet::new()))
            .collect();
        let columns = table.columns.iter().map(|(column, facts)| ColumnCheck {
            column: column.clone(),
            kind: facts.kind.to_string(),
            names_units: table.identifies(column),
            said_not_null: !facts.nullable,
            listed: facts.values.as_ref().map_or(0, |values| values.len() as u64),
            other: other_of(table, column).map(str::to_owned),
            ..ColumnCheck::default()
        });
        let listed = table.columns.iter().map(|(_, facts)| {
            let values = facts.values.iter().flat_map(|values| values.iter());
            let cells = values.filter_map(Cell::of);
            cells.map(|cell| (cell, 0)).collect::<HashMap<Cell, u64>>()
        });
        Ok(Self {
            check: TableCheck {
                table: name.to_owned(),
                version: catalog.version_of(table),
                rows: 0,
                units: unit.map(|unit| UnitCheck {
                    column: table.columns[unit].0.clone(),
                    promised_rows: table.rows_per_unit,
                    limit: limit(&catalog.limits, table),
                    said_to_be_clustered: table.clustered,
                    ..UnitCheck::default()
                }),
                keys,
                columns: columns.collect(),
            },
            listed: listed.collect(),
            others: vec![HashSet::new(); table.columns.len()],
            unit,
            rows_of: HashMap::new(),
            last: None,
            runs: 0,
            keys: places,
        })
    }

    fn batch(&mut self, table: &Table, batch: &RecordBatch) {
        self.check.rows += batch.num_rows() as u64;
        for (place, (_, facts)) in table.columns.iter().enumerate() {
            let present = batch.column(2 * place + 1).as_boolean();
            self.column(place, facts, batch.column(2 * place), present);
        }
        let cell = |place: usize, row: usize| {
            let (name, facts) = &table.columns[place];
            let exact = table.identifies(name);
            Cell::of(&value(batch.column(2 * place), row, facts, exact))
        };
        if let Some(unit) = self.unit {
            for row in 0..batch.num_rows() {
                self.unit(cell(unit, row));
            }
        }
        for (key, (places, seen)) in self.check.keys.iter_mut().zip(&mut self.keys) {
            for row in 0..batch.num_rows() {
                let cells: Vec<_> = places.iter().map(|&place| cell(place, row)).collect();
                // What is NULL equals nothing.
                if cells.iter().all(Option::is_some) && !seen.insert(cells) {
                    key.repeated += 1;
                }
            }
        }
    }

    fn column(
        &mut self,
        place: usize,
        facts: &Facts,
        values: &ArrayRef,
        present: &datafusion::arrow::array::BooleanArray,
    ) {
        let check = &mut self.check.columns[place];
        for row in 0..values.len() {
            if !present.value(row) {
                check.nulls += 1;
                continue;
            }
            let value = value(values, row, facts, false);
            let number = match &value {
                Value::Int(number) => Some(*number as f64),
                Value::Float(number) => Some(*number),
                Value::Date(day) => Some(f64::from(*day)),
                Value::Timestamp(moment) => Some(*moment as f64),
                _ => None,
            };
            match Cell::of(&value) {
                None => check.unreadable += 1,
                Some(_) if number.is_some_and(f64::is_nan) => check.unreadable += 1,
                Some(cell) if facts.values.is_some() => match self.listed[place].get_mut(&cell) {
                    Some(seen) => *seen += 1,
                    None => {
                        check.not_listed += 1;
                        if self.others[place].len() < MOST_DIFFERENT {
                            self.others[place].insert(cell);
                        }
                    }
                },
                Some(_) => {
                    if let (Some(number), Some(range)) = (number, facts.range) {
                        check.below += u64::from(number < range.low);
                        check.above += u64::from(number > range.high);
                    }
                }
            }
        }
    }

    fn unit(&mut self, unit: Option<Cell>) {
        match unit {
            None => {
                if let Some(check) = &mut self.check.units {
                    check.rows_of_nobody += 1;
                }
            }
            Some(unit) => {
                if self.last.as_ref() != Some(&unit) {
                    self.runs += 1;
                    self.last = Some(unit.clone());
                }
                *self.rows_of.entry(unit).or_default() += 1;
            }
        }
    }

    fn finish(mut self, table: &Table) -> TableCheck {
        for (place, (column, facts)) in table.columns.iter().enumerate() {
            let check = &mut self.check.columns[place];
            check.different_not_listed = self.others[place].len() as u64;
            let other = other_of(table, column);
            // The group of all other values is there in case that there are some.
            let never = |value: &&Value| {
                !matches!((value, other), (Value::Text(text), Some(other)) if text == other)
                    && Cell::of(value).is_some_and(|cell| self.listed[place].get(&cell) == Some(&0))
            };
            let values = facts.values.iter().flat_map(|values| values.iter());
            check.never_seen = values.filter(never).map(shown).collect();
        }
        if let Some(check) = &mut self.check.units {
            let above = |limit: Option<u64>| match limit {
                None => 0,
                Some(limit) => self.rows_of.values().filter(|rows| **rows > limit).count() as u64,
            };
            check.units = self.rows_of.len() as u64;
            let spellings: HashSet<Cell> = self.rows_of.keys().map(Cell::without_spelling).collect();
            check.written_alike = check.units - spellings.len() as u64;
            check.units_above_promise = above(check.promised_rows);
            check.units_above_limit = above(check.limit);
            check.clustered = self.runs == check.units;
        }
        self.check
    }
}

/// The value that texts are read as which this column does not list.
fn other_of<'t>(table: &'t Table, column: &str) -> Option<&'t str> {
    let found = table.other.iter().find(|(name, _)| name == column);
    found.map(|(_, other)| other.as_str())
}

/// How many rows of a unit count in a query without groups that does not say.
fn limit(of_all: &Limits, table: &Table) -> Option<u64> {
    let in_one_group = |limits: &Limits| limits.rows.or(limits.rows_per_group);
    in_one_group(&table.limits).or(in_one_group(of_all))
}

/// A value that the catalog lists.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Text(text) => text.clone(),
        Value::Date(day) => ScalarValue::Date32(Some(*day)).to_string(),
        Value::Timestamp(moment) => ScalarValue::TimestampMicrosecond(Some(*moment), None).to_string(),
    }
}
