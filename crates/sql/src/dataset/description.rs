//! SHOW TABLES and DESCRIBE: what the catalog says. No data is read and nothing is charged.

use crate::Error;
use crate::catalog::{Catalog, Owner, Table};
use crate::finish::answer::{Answer, AnswerColumn, Cell, CellKind};
use crate::finish::estimate::CONFIDENCE;
use crate::understand::mistakes;
use crate::values::facts::{Facts, Kind, Value};
use crate::values::scalar::calendar::{day_as_text as day, moment_as_text as moment};
use serde_json::json;

/// Values of a column that are listed at most.
const MOST_VALUES: usize = 20;

/// Answers a question about the catalog; `None` if it is none.
pub(crate) fn describe(sql: &str, catalog: &Catalog) -> Result<Option<Answer>, Error> {
    let text = crate::understand::dialect::without_comments(sql);
    let text = text.trim().trim_end_matches(';').trim_end();
    let words: Vec<&str> = text.split_whitespace().collect();
    let upper: Vec<String> = words.iter().map(|word| word.to_uppercase()).collect();
    let upper: Vec<&str> = upper.iter().map(String::as_str).collect();
    match upper.as_slice() {
        ["SHOW", "TABLES"] => Ok(Some(tables(catalog))),
        ["DESCRIBE" | "DESC", "TABLE", _]
        | ["DESCRIBE" | "DESC", _]
        | ["SHOW", "COLUMNS", "FROM" | "IN", _] => {
            let name = words.last().copied().unwrap_or_default();
            named(name, catalog).map(|table| Some(columns(table)))
        }
        ["SHOW", ..] | ["DESCRIBE" | "DESC", ..] => Err(Error::refused(
            "of the catalog, tables and their columns are shown",
            "write SHOW TABLES or DESCRIBE name",
        )),
        _ => Ok(None),
    }
}

/// The tables as the catalog declares them, for programs: what may be asked, of which values, whose privacy it is.
pub(crate) fn tables_as_json(catalog: &Catalog) -> serde_json::Value {
    let tables = catalog.tables.iter().map(|(name, table)| {
        let columns = table.columns.iter().map(|(column, facts)| {
            let known = known(facts);
            let listed = facts.values.as_deref();
            json!({
                "name": column,
                "type": kind(facts.kind),
                "known_values": (!known.is_empty()).then_some(known),
                "nullable": facts.nullable,
                "bounds": ends(facts).map(|(low, high)| [low, high]),
                "values": listed.map(|values| values.iter().map(json_value).collect::<Vec<_>>()),
            })
        });
        json!({
            "name": name,
            "private": table.owner != Owner::Public,
            "unit": match &table.owner {
                Owner::Column(column) | Owner::Through { column, .. } => Some(column),
                Owner::Public | Owner::EachRow => None,
            },
            "rows_per_unit": table.rows_per_unit,
            "columns": columns.collect::<Vec<_>>(),
        })
    });
    json!({
        "dataset": catalog.name,
        "unit": catalog.unit.to_string(),
        "tables": tables.collect::<Vec<_>>(),
    })
}

/// A public value; days and moments as SQL writes them.
fn json_value(known: &Value) -> serde_json::Value {
    match known {
        Value::Bool(known) => json!(known),
        Value::Int(known) => json!(known),
        Value::Float(known) => json!(known),
        Value::Text(_) | Value::Date(_) | Value::Timestamp(_) | Value::Null => json!(value(known)),
    }
}

fn named<'a>(name: &str, catalog: &'a Catalog) -> Result<&'a Table, Error> {
    let plain = name.trim_matches('"');
    catalog
        .table(plain)
        .ok_or_else(|| mistakes::no_table(plain, catalog))
}

fn tables(catalog: &Catalog) -> Answer {
    let rows = catalog.tables.iter().map(|(name, table)| {
        let whose = match &table.owner {
            Owner::Public => "public".to_owned(),
            _ => match table.rows_per_unit {
                Some(1) => format!("private: one row for each {}", catalog.unit.whose),
                Some(rows) => format!("private: at most {rows} rows for each {}", catalog.unit.whose),
                None => format!("private: rows of {}s", catalog.unit.whose),
            },
        };
        let names: Vec<&str> = table.columns.iter().map(|(name, _)| name.as_str()).collect();
        vec![name.clone(), whose, names.join(", ")]
    });
    shown(&["table", "privacy", "columns"], rows.collect())
}

fn columns(table: &Table) -> Answer {
    let rows = table.columns.iter().map(|(name, facts)| {
        let null = if facts.nullable {
            "may be NULL"
        } else {
            "never NULL"
        };
        vec![
            name.clone(),
            kind(facts.kind).to_owned(),
            known(facts),
            null.to_owned(),
        ]
    });
    shown(&["column", "type", "known values", "null"], rows.collect())
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "boolean",
        Kind::Int => "integer",
        Kind::Float => "float",
        Kind::Text => "text",
        Kind::Date => "date",
        Kind::Timestamp => "timestamp",
    }
}

fn known(facts: &Facts) -> String {
    if let Some(values) = &facts.values {
        let mut listed: Vec<String> = values.iter().take(MOST_VALUES).filter_map(value).collect();
        if values.len() > listed.len() {
            listed.push(format!("and {} more", values.len() - listed.len()));
        }
        return listed.join(", ");
    }
    ends(facts).map_or_else(String::new, |(low, high)| format!("{low} to {high}"))
}

/// The ends of the declared range, as SQL writes them.
fn ends(facts: &Facts) -> Option<(String, String)> {
    let end = |end: f64| match facts.kind {
        Kind::Int | Kind::Float => Some(end.to_string()),
        // Whole days and microseconds, both far below 2⁵³.
        Kind::Date => Some(day(end as i64)),
        Kind::Timestamp => Some(moment(end as i64)),
        Kind::Bool | Kind::Text => None,
    };
    facts.range.and_then(|range| end(range.low).zip(end(range.high)))
}

fn value(value: &Value) -> Option<String> {
    match value {
        Value::Bool(value) => Some(value.to_string()),
        Value::Int(value) => Some(value.to_string()),
        Value::Float(value) => Some(value.to_string()),
        Value::Text(value) => Some(value.clone()),
        Value::Date(days) => Some(day(i64::from(*days))),
        Value::Timestamp(microseconds) => Some(moment(*microseconds)),
        Value::Null => None,
    }
}

fn shown(names: &[&str], rows: Vec<Vec<String>>) -> Answer {
    let columns = names.iter().map(|name| AnswerColumn {
        name: (*name).to_owned(),
        kind: CellKind::Text,
        noisy: false,
        chosen: false,
        no_interval: None,
    });
    let cell = |text: String| Cell {
        value: text.into(),
        low: None,
        high: None,
    };
    Answer {
        columns: columns.collect(),
        rows: rows
            .into_iter()
            .map(|row| row.into_iter().map(cell).collect())
            .collect(),
        confidence: CONFIDENCE,
        notes: Vec::new(),
        bounds: Vec::new(),
        cut: Vec::new(),
        cost: None,
    }
}
