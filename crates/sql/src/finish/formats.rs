//! An answer for spreadsheets and programs.

use crate::finish::answer::{Answer, CellKind, Cost};
use crate::finish::cell::CellValue;
use serde_json::{Map, Value, json};

impl Answer {
    /// CSV: a header, then rows; each noisy column is followed by the ends of its interval. NULL is an empty field.
    ///
    /// Text is quoted where CSV needs it, and otherwise left as it is: a cell that starts with `=` stays what the data says.
    pub fn to_csv(&self) -> Vec<u8> {
        let answer = self;
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
        for row in &rows {
            writer
                .write_record(row)
                .expect("rows have one field for each heading, and memory takes them");
        }
        writer.into_inner().expect("memory takes it")
    }

    /// One object with everything.
    pub fn to_json(&self) -> Value {
        let answer = self;
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
        json!({
            "columns": answer.columns,
            "rows": rows,
            "confidence": answer.confidence,
            "bounds": answer.bounds,
            "cut": answer.cut,
            "cost": answer.cost.as_ref().map(Cost::to_json),
            "notes": answer.notes,
        })
    }
}

impl Cost {
    /// What an answer cost: the guarantee in words, and its numbers.
    pub fn to_json(&self) -> Value {
        json!({
            "guarantee": self.guarantee.to_string(),
            "epsilon": self.epsilon(),
            "delta": self.delta(),
            "charge": self.charge,
        })
    }
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
