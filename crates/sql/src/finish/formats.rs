//! An answer for spreadsheets and programs.

use crate::finish::answer::{Answer, AnswerColumn, Cell, CellKind, Cost};
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

impl Answer {
    /// SHA-256 of the table itself, which a receipt signs: columns, rows and confidence as canonical JSON.
    pub fn table_sha256(&self) -> String {
        Self::table_sha256_of(&self.to_json()).expect("an answer has a table")
    }

    /// The same of an answer from [`Answer::to_json`], whoever wrote it down in between; `None` where there is no table in it.
    pub fn table_sha256_of(object: &Value) -> Option<String> {
        let parts =
            ["columns", "rows", "confidence"].map(|name| Some((name.to_owned(), object.get(name)?.clone())));
        let table: Map<String, Value> = parts.into_iter().collect::<Option<_>>()?;
        Some(ledger::sha256_of(&ledger::canonical_json(&Value::Object(table))))
    }

    /// The table of an answer from [`Answer::to_json`], for a program that got it from a server: columns, cells and intervals; `None` where it is no such object.
    pub fn table_from_json(object: &Value) -> Option<Self> {
        let columns: Vec<AnswerColumn> = serde_json::from_value(object.get("columns")?.clone()).ok()?;
        let mut answer = Self {
            columns,
            rows: Vec::new(),
            confidence: object.get("confidence")?.as_f64()?,
            bounds: Vec::new(),
            cut: Vec::new(),
            notes: Vec::new(),
            cost: None,
        };
        let names = distinct_names(&answer);
        let cell = |row: &Value, name: &String| serde_json::from_value::<Cell>(row.get(name)?.clone()).ok();
        let rows = object.get("rows")?.as_array()?.iter();
        answer.rows = rows
            .map(|row| names.iter().map(|name| cell(row, name)).collect())
            .collect::<Option<_>>()?;
        Some(answer)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_comes_back_from_its_json() {
        let column = |name: &str, kind, noisy| AnswerColumn {
            name: name.to_owned(),
            kind,
            noisy,
            chosen: false,
            no_interval: None,
        };
        let cell = |value: CellValue, ends: Option<(f64, f64)>| Cell {
            value,
            low: ends.map(|(low, _)| low),
            high: ends.map(|(_, high)| high),
        };
        let answer = Answer {
            columns: vec![
                column("n", CellKind::Int, true),
                // Two columns of one name are two columns.
                column("n", CellKind::Float, true),
                column("day", CellKind::Date, false),
            ],
            rows: vec![
                vec![
                    cell(CellValue::Int(7), Some((3.0, 11.0))),
                    cell(CellValue::Float(0.1), Some((-0.5, 0.7))),
                    cell(CellValue::Text("2024-02-29".to_owned()), None),
                ],
                vec![
                    cell(CellValue::Null, None),
                    cell(CellValue::Int(2), None),
                    cell(CellValue::Null, None),
                ],
            ],
            confidence: 0.95,
            bounds: Vec::new(),
            cut: Vec::new(),
            notes: Vec::new(),
            cost: None,
        };
        let object = answer.to_json();
        let back = Answer::table_from_json(&object).unwrap();
        assert_eq!(back.to_json(), object);
        assert_eq!(back.to_batch().unwrap(), answer.to_batch().unwrap());
        assert_eq!(Answer::table_from_json(&json!({"columns": []})), None);
    }
}
