//! Dummy data for a catalog: rows that are invented from what is declared and from nothing else, to try queries on for free.
//!
//! It must not read a private table, and cannot: it is a function of the catalog.

use super::random::SplitMix64;
use crate::Error;
use crate::catalog::{Catalog, Owner, Provided, Source, Table};
use crate::values::facts::{Facts, Kind, Range, Value};
use accounting::Epsilon;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringViewArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{Field, Schema};
use std::sync::Arc;

/// How many units a dummy has.
pub const DUMMY_UNITS: u64 = 1000;
/// Rows of one unit, where the catalog does not say that there are fewer.
const ROWS_OF_A_UNIT: u64 = 3;
/// One value in so many is NULL, where it may be.
const NULL_EVERY: u64 = 20;
const MICROSECONDS_A_DAY: i64 = 86_400_000_000;
/// 2020-01-01 and 2024-12-31, in days since 1970: days where the catalog bounds none.
const DAYS: (i64, i64) = (18_262, 20_088);

/// The catalog with dummy rows in each private table, a budget that nobody will exhaust, and a ledger that is gone with it. Public tables stay as they are. The same catalog has the same dummy.
///
/// # Errors
/// When a table cannot be made of what is declared, or there is no room for its ledger.
pub fn dummy(catalog: &Catalog) -> Result<Catalog, Error> {
    let mut dummy = catalog.clone().with_temporary_ledger()?;
    dummy.name = format!("{} (dummy)", catalog.name);
    dummy.budget.epsilon = Epsilon::parse("1000000000")?;
    dummy.budget.shares.clear();
    let names: Vec<String> = catalog.tables.keys().cloned().collect();
    for (place, name) in names.iter().enumerate() {
        let Some(table) = dummy.tables.get_mut(name) else {
            continue;
        };
        if table.owner == Owner::Public {
            continue;
        }
        table.source = Source::Memory(Provided::default());
        // The order of the rows is ours.
        table.clustered = false;
        let rows = rows(table, place)?;
        dummy.provide_batches(name, vec![rows])?;
    }
    Ok(dummy)
}

/// The rows that [`dummy`] makes up for this table, for people to look at; `None` where there is no such table, or it is public and its rows are what they are.
///
/// # Errors
/// When a table cannot be made of what is declared.
pub fn dummy_rows(catalog: &Catalog, name: &str) -> Result<Option<RecordBatch>, Error> {
    let name = name.to_lowercase();
    let Some(place) = catalog.tables.keys().position(|known| *known == name) else {
        return Ok(None);
    };
    let table = &catalog.tables[&name];
    match table.owner {
        Owner::Public => Ok(None),
        _ => rows(table, place).map(Some),
    }
}

/// Unit after unit, each with one to three rows, of the table at this place of the catalog.
fn rows(table: &Table, place: usize) -> Result<RecordBatch, Error> {
    let random = &mut SplitMix64::new(place as u64);
    let most = match table.owner {
        Owner::EachRow => 1,
        _ => table.rows_per_unit.unwrap_or(ROWS_OF_A_UNIT).min(ROWS_OF_A_UNIT),
    };
    let units: Vec<u64> = (1..=DUMMY_UNITS)
        .flat_map(|unit| std::iter::repeat_n(unit, 1 + random.below(most) as usize))
        .collect();
    let mut fields = Vec::new();
    let mut arrays = Vec::new();
    for (name, facts) in &table.columns {
        let named = match &table.owner {
            // Keys of the other table count its rows, of which there are at least as many as units.
            Owner::Column(column) | Owner::Through { column, .. } if column == name => Named::Unit,
            _ if table.identifies(name) => Named::Row,
            _ => Named::Nothing,
        };
        let array = column(facts, named, &units, random);
        fields.push(Field::new(name, facts.kind.data_type(), true));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|_| {
        Error::catalog(
            "no dummy can be made of what is declared",
            "this is a defect of Deniable; please report the catalog",
        )
    })
}

/// What the values of a column name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    Nothing,
    Unit,
    /// The row itself: a key by which other tables reach their units.
    Row,
}

fn column(facts: &Facts, named: Named, units: &[u64], random: &mut SplitMix64) -> ArrayRef {
    let mut properties: Option<(u64, Value)> = None;
    let values: Vec<Value> = units
        .iter()
        .zip(1u64..)
        .map(|(&unit, row)| match named {
            Named::Unit => name(facts.kind, unit),
            Named::Row => name(facts.kind, row),
            Named::Nothing => match &properties {
                // A property of the unit is the same in all of its rows.
                Some((owner, value)) if facts.of_unit && *owner == unit => value.clone(),
                _ => {
                    let value = invented(facts, random);
                    properties = Some((unit, value.clone()));
                    value
                }
            },
        })
        .collect();
    array(facts.kind, &values)
}

/// A name by its number.
fn name(kind: Kind, number: u64) -> Value {
    match kind {
        Kind::Int => Value::Int(number as i64),
        Kind::Float => Value::Float(number as f64),
        Kind::Text => Value::Text(format!("dummy-{number}")),
        Kind::Bool => Value::Bool(number.is_multiple_of(2)),
        Kind::Date => Value::Date(number as i32),
        Kind::Timestamp => Value::Timestamp(number as i64 * MICROSECONDS_A_DAY),
    }
}

fn invented(facts: &Facts, random: &mut SplitMix64) -> Value {
    if facts.nullable && random.below(NULL_EVERY) == 0 {
        return Value::Null;
    }
    if let Some(values) = facts.values.as_deref().filter(|values| !values.is_empty()) {
        return values[random.below(values.len() as u64) as usize].clone();
    }
    let range = |low: f64, high: f64| facts.range.unwrap_or(Range { low, high });
    match facts.kind {
        Kind::Bool => Value::Bool(random.happens(0.5)),
        Kind::Int => Value::Int(whole(range(0.0, 100.0), random)),
        Kind::Float => {
            let Range { low, high } = range(0.0, 100.0);
            // Halved first: the width of a range may be more than any float.
            Value::Float(low + 2.0 * ((high / 2.0 - low / 2.0) * random.uniform()))
        }
        Kind::Text => Value::Text(format!("text {}", random.below(100))),
        Kind::Date => Value::Date(whole(range(DAYS.0 as f64, DAYS.1 as f64), random) as i32),
        Kind::Timestamp => {
            let day = MICROSECONDS_A_DAY as f64;
            Value::Timestamp(whole(range(DAYS.0 as f64 * day, DAYS.1 as f64 * day), random))
        }
    }
}

/// A whole number in the range.
fn whole(range: Range, random: &mut SplitMix64) -> i64 {
    let (low, high) = (range.low.ceil() as i64, range.high.floor() as i64);
    let width = high.wrapping_sub(low) as u64;
    match width.checked_add(1) {
        Some(count) if low <= high => low.wrapping_add(random.below(count) as i64),
        _ => low,
    }
}

fn array(kind: Kind, values: &[Value]) -> ArrayRef {
    macro_rules! of {
        ($array:ty, $variant:ident) => {
            Arc::new(<$array>::from_iter(values.iter().map(
                |value| match value {
                    Value::$variant(value) => Some(value.clone()),
                    _ => None,
                },
            )))
        };
    }
    match kind {
        Kind::Bool => of!(BooleanArray, Bool),
        Kind::Int => of!(Int64Array, Int),
        Kind::Float => Arc::new(Float64Array::from_iter(values.iter().map(|value| match value {
            Value::Float(value) => Some(*value),
            // Whole values of a list are written without a point.
            Value::Int(value) => Some(*value as f64),
            _ => None,
        }))),
        Kind::Text => of!(StringViewArray, Text),
        Kind::Date => of!(Date32Array, Date),
        Kind::Timestamp => of!(TimestampMicrosecondArray, Timestamp),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::blocking::Dataset;
    use crate::price::question::QueryRequest;

    const CATALOG: &str = r#"
name = "clinic"
[unit]
whose = "patient"
[budget]
epsilon = 1
delta = "1e-6"
[limits]
groups = 2
rows_per_group = 3
[tables.patients]
source = "nowhere.csv"
unit = "id"
rows_per_unit = 1
[tables.patients.columns]
id = { kind = "text" }
born = { kind = "date", bounds = ["1930-01-01", "2005-12-31"] }
sex = { kind = "text", values = ["f", "m"], nullable = false }
[tables.visits]
source = "nowhere.parquet"
unit_through = { column = "patient", table = "patients", key = "id" }
[tables.visits.columns]
patient = { kind = "text" }
minutes = { kind = "float", bounds = [0, 240], nullable = false }
at = { kind = "timestamp" }
"#;

    /// Counts of all rows and of a join, at an ε whose noise is 0 but for a probability below 1e-100.
    #[test]
    fn a_dummy_answers_what_the_data_would() {
        let folder = tempfile::tempdir().unwrap();
        let declared = Catalog::parse(CATALOG, folder.path()).unwrap();
        let dummy = dummy(&declared).unwrap();
        let dataset = Dataset::new(dummy).unwrap();
        let count = |sql: &str| {
            let request = QueryRequest {
                epsilon: Some(Epsilon::parse("1000000").unwrap()),
                ..QueryRequest::new(sql, "ann")
            };
            let answer = dataset.query(&request).unwrap().answer;
            answer.rows[0][0].value.as_i64().unwrap()
        };
        assert_eq!(count("SELECT COUNT(*) FROM patients"), DUMMY_UNITS as i64);
        let visits = count("SELECT COUNT(*) FROM visits");
        assert!((DUMMY_UNITS as i64..=3 * DUMMY_UNITS as i64).contains(&visits));
        assert_eq!(
            count("SELECT COUNT(*) FROM patients WHERE sex = 'f' OR sex = 'm'"),
            DUMMY_UNITS as i64
        );
        assert_eq!(
            count("SELECT COUNT(*) FROM visits WHERE minutes BETWEEN 0 AND 240"),
            visits
        );
        assert_eq!(
            count("SELECT COUNT(*) FROM patients WHERE born < DATE '1930-01-01'"),
            0
        );
        // The declared data was never there.
        assert!(!folder.path().join("nowhere.csv").exists());
    }

    #[test]
    fn whole_numbers_stay_in_their_range() {
        let mut random = SplitMix64::new(1);
        for (low, high) in [(0.0, 0.0), (-3.0, 3.0), (-1e300, 1e300), (0.5, 0.6)] {
            let drawn = whole(Range { low, high }, &mut random) as f64;
            assert!(drawn >= low.floor().max(-9.3e18) && drawn <= high.ceil().min(9.3e18));
        }
    }
}
