//! An answer for spreadsheets and programs.

use crate::terminal::{CliError, fail};
use serde_json::{Map, Value, json};
use sql::{Answer, Answered, CellKind, CellValue, Cost};

/// CSV: a header, then rows; each noisy column is followed by the ends of its interval. NULL is an empty field.
///
/// Text is quoted where CSV needs it, and otherwise left as it is: a cell that starts with `=` stays what the data says.
pub(super) fn csv(answer: &Answer) -> Result<Vec<u8>, CliError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut header = Vec::new();
    for column in &answer.columns {
        header.push(column.name.clone());
        if column.has_intervals() {
            header.push(format!("{}_low", column.name));
            header.push(format!("{}_high", column.name));
        }
    }
    let mut rows = vec![header];
    for row in &answer.rows {
        let mut fields = Vec::new();
        for (column, cell) in answer.columns.iter().zip(row) {
            fields.push(match &cell.value {
                CellValue::Null => String::new(),
                value => value.to_string(),
            });
            if column.has_intervals() {
                let end = |end: Option<f64>| end.map_or(String::new(), |end| end.to_string());
                let (low, high) = cell.interval(column.kind);
                fields.extend([end(low), end(high)]);
            }
        }
        rows.push(fields);
    }
    let written = rows.iter().try_for_each(|row| writer.write_record(row));
    match (written, writer.into_inner()) {
        (Ok(()), Ok(bytes)) => Ok(bytes),
        _ => fail(
            "the answer cannot be written as CSV",
            "the same question is free: ask again with --format json",
        ),
    }
}

/// One object with everything.
pub(super) fn json(answer: &Answer, answered: Option<&Answered>) -> Value {
    let names = distinct_names(answer);
    let rows: Vec<Value> = answer
        .rows
        .iter()
        .map(|row| {
            let cells = answer.columns.iter().zip(row).map(|(column, cell)| {
                let mut reported = Map::new();
                reported.insert("value".to_owned(), json!(cell.value));
                if column.has_intervals() {
                    let (low, high) = cell.interval(column.kind);
                    let end = |end: Option<f64>| match (end, column.kind) {
                        (Some(end), CellKind::Int) if end.abs() < 2f64.powi(63) => json!(end as i64),
                        (end, _) => json!(end),
                    };
                    reported.insert("low".to_owned(), end(low));
                    reported.insert("high".to_owned(), end(high));
                }
                Value::Object(reported)
            });
            let names = names.iter().cloned();
            Value::Object(names.zip(cells).collect())
        })
        .collect();
    let mut object = json!({
        "columns": answer.columns,
        "rows": rows,
        "confidence": answer.confidence,
        "bounds": answer.bounds,
        "cut": answer.cut,
        "cost": answer.cost.as_ref().map(cost),
    });
    if let Some(answered) = answered {
        object["repeated"] = json!(answered.repeated);
        object["resumed"] = json!(answered.resumed);
        object["left"] = json!({
            "epsilon": answered.left.epsilon,
            "dataset": answered.left.dataset,
            "share": answered.left.share,
        });
    }
    object["notes"] = json!(answer.notes);
    object
}

/// What an answer cost: the guarantee in words, and its numbers.
pub(crate) fn cost(cost: &Cost) -> Value {
    json!({
        "guarantee": cost.guarantee.to_string(),
        "epsilon": cost.epsilon(),
        "delta": cost.delta(),
        "charge": cost.charge,
    })
}

/// The names of the columns as keys of an object: of columns of the same name, the second is `name_2`, and so on.
fn distinct_names(answer: &Answer) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for column in &answer.columns {
        let mut name = column.name.clone();
        let mut number = 2;
        while names.contains(&name) {
            name = format!("{}_{number}", column.name);
            number += 1;
        }
        names.push(name);
    }
    names
}
