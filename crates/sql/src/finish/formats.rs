//! An answer for spreadsheets and programs.

use crate::finish::answer::{Answer, AnswerColumn, Cell, CellKind, Cost};
use crate::finish::cell::CellValue;
use crate::finish::cut::CutEstimate;
use crate::price::bounds::ColumnBounds;
use ledger::{Sha256Text, write_canonical};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::fmt::{self, Write as _};

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
        let mut write = |fields: &[String]| {
            writer
                .write_record(fields)
                .expect("rows have one field for each heading, and memory takes them");
        };
        write(&header);
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
            write(&fields);
        }
        writer.into_inner().expect("memory takes it")
    }

    /// One object with everything.
    pub fn to_json(&self) -> Value {
        #[derive(Serialize)]
        struct Everything<'a> {
            #[serde(flatten)]
            table: AsJson<'a>,
            notes: &'a [String],
        }
        json!(Everything {
            table: self.as_json(),
            notes: &self.notes,
        })
    }

    /// Everything but the notes, which whoever writes it puts at its end. A row is made into JSON when it is written: the rows of a large answer as JSON take several times what they take here.
    pub(crate) fn as_json(&self) -> AsJson<'_> {
        AsJson {
            columns: &self.columns,
            rows: self.rows_as_json(),
            confidence: self.confidence,
            bounds: &self.bounds,
            cut: &self.cut,
            cost: self.cost.as_ref().map(Cost::to_json),
        }
    }

    /// Its columns and rows, and nothing else.
    pub(crate) fn table_as_json(&self) -> TableAsJson<'_> {
        TableAsJson {
            columns: &self.columns,
            rows: self.rows_as_json(),
        }
    }

    fn rows_as_json(&self) -> RowsAsJson<'_> {
        RowsAsJson {
            names: distinct_names(self),
            answer: self,
        }
    }
}

/// An answer without its notes, as it is shown to programs.
#[derive(Serialize)]
pub(crate) struct AsJson<'a> {
    columns: &'a [AnswerColumn],
    rows: RowsAsJson<'a>,
    confidence: f64,
    bounds: &'a [ColumnBounds],
    cut: &'a [CutEstimate],
    cost: Option<Value>,
}

/// Columns and rows.
#[derive(Serialize)]
pub(crate) struct TableAsJson<'a> {
    columns: &'a [AnswerColumn],
    rows: RowsAsJson<'a>,
}

/// The rows of an answer, an object each.
struct RowsAsJson<'a> {
    names: Vec<String>,
    answer: &'a Answer,
}

impl RowsAsJson<'_> {
    fn each(&self) -> impl ExactSizeIterator<Item = Value> {
        self.answer.rows.iter().map(|row| {
            let cells = self.answer.columns.iter().zip(row).map(|(column, cell)| {
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
            let names = self.names.iter().cloned();
            Value::Object(names.zip(cells).collect())
        })
    }
}

impl Serialize for RowsAsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.each())
    }
}

impl Answer {
    /// SHA-256 of the table itself, which a receipt signs: columns, rows and confidence as canonical JSON.
    pub fn table_sha256(&self) -> String {
        let rows = self.rows_as_json();
        digest_of_table(&json!(self.columns), &json!(self.confidence), |text| {
            text.write_char('[')?;
            for (place, row) in rows.each().enumerate() {
                if place > 0 {
                    text.write_char(',')?;
                }
                write_canonical(&row, text)?;
            }
            text.write_char(']')
        })
    }

    /// The same of an answer from [`Answer::to_json`], whoever wrote it down in between; `None` where there is no table in it.
    pub fn table_sha256_of(object: &Value) -> Option<String> {
        let (columns, confidence) = (object.get("columns")?, object.get("confidence")?);
        let rows = object.get("rows")?;
        Some(digest_of_table(columns, confidence, |text| {
            write_canonical(rows, text)
        }))
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

/// Of an object of these three, whose names are in the order of their bytes, as canonical JSON has them. The rows are not gathered before.
fn digest_of_table(
    columns: &Value,
    confidence: &Value,
    write_rows: impl FnOnce(&mut Sha256Text) -> fmt::Result,
) -> String {
    let mut text = Sha256Text::default();
    let written = (|| {
        text.write_str(r#"{"columns":"#)?;
        write_canonical(columns, &mut text)?;
        text.write_str(r#","confidence":"#)?;
        write_canonical(confidence, &mut text)?;
        text.write_str(r#","rows":"#)?;
        write_rows(&mut text)?;
        text.write_char('}')
    })();
    written.expect("a digest takes whatever is written");
    text.digits()
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
        // A receipt is about the table as canonical JSON, whoever writes it.
        let table = json!({"columns": object["columns"], "rows": object["rows"], "confidence": 0.95});
        let digest = ledger::sha256_of(&ledger::canonical_json(&table));
        assert_eq!(answer.table_sha256(), digest);
        assert_eq!(Answer::table_sha256_of(&object), Some(digest));
        assert_eq!(Answer::table_from_json(&json!({"columns": []})), None);
    }
}
