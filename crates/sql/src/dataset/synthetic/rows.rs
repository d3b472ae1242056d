//! Rows as people and programs read them: columns of values, CSV, Parquet.

use super::made::Decoding;
use crate::values::facts::{Kind, Value};
use crate::values::scalar::calendar::{day_as_text, moment_as_text};
use datafusion::arrow::array::{
    Array, ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field as ArrowField, Schema, TimeUnit};
use datafusion::arrow::error::ArrowError;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use datafusion::parquet::errors::ParquetError;
use std::io::Write;
use std::sync::Arc;
use synthesis::{Decoded, Report};

/// Rows that nobody has: they follow from what was released, so they are public.
#[derive(Clone, Debug)]
pub struct SyntheticRows {
    /// The columns, in the order of the table.
    pub columns: Vec<SyntheticColumn>,
    /// How they compare with what was measured.
    pub report: Report,
}

/// A column of synthetic rows.
#[derive(Clone, Debug)]
pub struct SyntheticColumn {
    /// Its name.
    pub name: String,
    /// The kind of its values.
    pub kind: Kind,
    /// Its values, NULL among them.
    pub values: Vec<Value>,
}

impl SyntheticRows {
    pub(super) fn new(columns: &[Decoding], codes: &[Vec<u32>], seed: u64, report: Report) -> Self {
        let columns = columns
            .iter()
            .zip(codes)
            .enumerate()
            .map(|(place, (column, codes))| {
                // Another stream for each column, so that bins of two columns have nothing to do with each other.
                let seed = seed ^ (place as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let decoded = column.field.decoded(codes, seed);
                let values = decoded.into_iter().map(|decoded| value(column, decoded));
                SyntheticColumn {
                    name: column.name.clone(),
                    kind: column.kind,
                    values: values.collect(),
                }
            });
        Self {
            columns: columns.collect(),
            report,
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// Some of them, for programs: an object each, with days and moments as text.
    pub fn to_json(&self, range: std::ops::Range<usize>) -> serde_json::Value {
        let range = range.start.min(self.count())..range.end.min(self.count());
        let row = |row: usize| -> serde_json::Map<String, serde_json::Value> {
            let columns = self.columns.iter();
            columns
                .map(|column| (column.name.clone(), json_of(&column.values[row])))
                .collect()
        };
        range.map(row).collect()
    }

    /// As CSV, with a line of names first. NULL is an empty field; text that is empty has quotes.
    pub fn to_csv(&self) -> Vec<u8> {
        let mut text = String::new();
        let names: Vec<String> = self.columns.iter().map(|column| quoted(&column.name)).collect();
        text += &names.join(",");
        text.push('\n');
        for row in 0..self.count() {
            for (place, column) in self.columns.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                write_value(&column.values[row], &mut text);
            }
            text.push('\n');
        }
        text.into_bytes()
    }

    /// As a table of Arrow.
    ///
    /// # Errors
    /// What Arrow says.
    pub fn to_batch(&self) -> Result<RecordBatch, ArrowError> {
        let mut fields = Vec::new();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for column in &self.columns {
            let (kind, array) = array(column);
            fields.push(ArrowField::new(&column.name, kind, true));
            arrays.push(array);
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
    }

    /// As a Parquet file.
    ///
    /// # Errors
    /// What Parquet says.
    pub fn write_parquet(&self, target: impl Write + Send) -> Result<(), ParquetError> {
        let batch = self.to_batch()?;
        let mut writer = ArrowWriter::try_new(target, batch.schema(), None)?;
        writer.write(&batch)?;
        writer.close()?;
        Ok(())
    }
}

fn value(column: &Decoding, decoded: Decoded) -> Value {
    match decoded {
        Decoded::Null => Value::Null,
        Decoded::Listed(place) => column.values.get(place as usize).cloned().unwrap_or(Value::Null),
        Decoded::Real(number) => Value::Float(number),
        Decoded::Whole(number) => match column.kind {
            Kind::Date => i32::try_from(number).map_or(Value::Null, Value::Date),
            Kind::Timestamp => Value::Timestamp(number),
            Kind::Float => Value::Float(number as f64),
            _ => Value::Int(number),
        },
    }
}

/// A Parquet file of rows, as it was written here.
///
/// # Errors
/// When it is none.
pub fn batches_of_parquet(file: std::fs::File) -> Result<Vec<RecordBatch>, ParquetError> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)?.build()?;
    let batches: Result<Vec<RecordBatch>, ArrowError> = reader.collect();
    Ok(batches?)
}

/// Rows of such a file, as [`SyntheticRows::to_json`] has them. What has another type is null.
pub fn rows_as_json(batch: &RecordBatch, range: std::ops::Range<usize>) -> Vec<serde_json::Value> {
    let range = range.start.min(batch.num_rows())..range.end.min(batch.num_rows());
    let schema = batch.schema();
    let row = |row: usize| {
        let fields = schema.fields().iter().zip(batch.columns());
        let object: serde_json::Map<String, serde_json::Value> = fields
            .map(|(field, column)| (field.name().clone(), json_of(&value_at(column, row))))
            .collect();
        serde_json::Value::Object(object)
    };
    range.map(row).collect()
}

fn value_at(column: &ArrayRef, row: usize) -> Value {
    let any = column.as_any();
    if column.is_null(row) {
        Value::Null
    } else if let Some(values) = any.downcast_ref::<BooleanArray>() {
        Value::Bool(values.value(row))
    } else if let Some(values) = any.downcast_ref::<Int64Array>() {
        Value::Int(values.value(row))
    } else if let Some(values) = any.downcast_ref::<Float64Array>() {
        Value::Float(values.value(row))
    } else if let Some(values) = any.downcast_ref::<StringArray>() {
        Value::Text(values.value(row).into())
    } else if let Some(values) = any.downcast_ref::<Date32Array>() {
        Value::Date(values.value(row))
    } else if let Some(values) = any.downcast_ref::<TimestampMicrosecondArray>() {
        Value::Timestamp(values.value(row))
    } else {
        Value::Null
    }
}

fn json_of(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::Float(value) => (*value).into(),
        Value::Text(value) => value.as_str().into(),
        Value::Date(days) => day_as_text(i64::from(*days)).into(),
        Value::Timestamp(moment) => moment_as_text(*moment).into(),
    }
}

fn write_value(value: &Value, text: &mut String) {
    use std::fmt::Write as _;
    let written = match value {
        Value::Null => Ok(()),
        Value::Bool(value) => write!(text, "{value}"),
        Value::Int(value) => write!(text, "{value}"),
        Value::Float(value) => write!(text, "{value}"),
        Value::Text(value) => text.write_str(&quoted(value)),
        Value::Date(days) => text.write_str(&day_as_text(i64::from(*days))),
        Value::Timestamp(moment) => text.write_str(&moment_as_text(*moment)),
    };
    written.expect("a text takes whatever is written");
}

/// A field of text; with quotes where it would be read as something else.
fn quoted(text: &str) -> String {
    let plain = !text.is_empty() && !text.contains([',', '"', '\n', '\r']) && text.trim() == text;
    match plain {
        true => text.to_owned(),
        false => format!("\"{}\"", text.replace('"', "\"\"")),
    }
}

fn array(column: &SyntheticColumn) -> (DataType, ArrayRef) {
    let values = column.values.iter();
    match column.kind {
        Kind::Bool => {
            let read = values.map(|value| match value {
                Value::Bool(value) => Some(*value),
                _ => None,
            });
            (DataType::Boolean, Arc::new(read.collect::<BooleanArray>()))
        }
        Kind::Int => {
            let read = values.map(|value| match value {
                Value::Int(value) => Some(*value),
                _ => None,
            });
            (DataType::Int64, Arc::new(read.collect::<Int64Array>()))
        }
        Kind::Float => {
            let read = values.map(|value| match value {
                Value::Float(value) => Some(*value),
                Value::Int(value) => Some(*value as f64),
                _ => None,
            });
            (DataType::Float64, Arc::new(read.collect::<Float64Array>()))
        }
        Kind::Date => {
            let read = values.map(|value| match value {
                Value::Date(value) => Some(*value),
                _ => None,
            });
            (DataType::Date32, Arc::new(read.collect::<Date32Array>()))
        }
        Kind::Timestamp => {
            let read = values.map(|value| match value {
                Value::Timestamp(value) => Some(*value),
                _ => None,
            });
            (
                DataType::Timestamp(TimeUnit::Microsecond, None),
                Arc::new(read.collect::<TimestampMicrosecondArray>()),
            )
        }
        Kind::Text => {
            let read = values.map(|value| match value {
                Value::Text(value) => Some(value.as_str()),
                _ => None,
            });
            (DataType::Utf8, Arc::new(read.collect::<StringArray>()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written is read again, with whatever a column may hold.
    #[test]
    fn a_file_of_rows_is_read_again() {
        let columns = [
            (Kind::Bool, Value::Bool(true)),
            (Kind::Int, Value::Int(-3)),
            (Kind::Float, Value::Float(0.5)),
            (Kind::Text, Value::Text("a".into())),
            (Kind::Date, Value::Date(19_753)),
            (Kind::Timestamp, Value::Timestamp(1_700_000_000_000_000)),
        ];
        let columns = columns.into_iter().map(|(kind, value)| SyntheticColumn {
            name: kind.to_string(),
            kind,
            values: vec![value, Value::Null],
        });
        let columns: Vec<SyntheticColumn> = columns.collect();
        let fields = columns.iter().map(array);
        let named = columns.iter().zip(fields);
        let (fields, arrays): (Vec<_>, Vec<_>) = named
            .map(|(column, (kind, array))| (ArrowField::new(&column.name, kind, true), array))
            .unzip();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let read = batches_of_parquet(file).unwrap();
        let read: Vec<serde_json::Value> = read.iter().flat_map(|batch| rows_as_json(batch, 0..9)).collect();
        let expected = serde_json::json!([
            {"bool": true, "int": -3, "float": 0.5, "text": "a", "date": "2024-01-31", "timestamp": json_of(&Value::Timestamp(1_700_000_000_000_000))},
            {"bool": null, "int": null, "float": null, "text": null, "date": null, "timestamp": null},
        ]);
        assert_eq!(serde_json::json!(read), expected);
    }

    #[test]
    fn text_that_could_be_misread_has_quotes() {
        assert_eq!(quoted("plain text"), "plain text");
        assert_eq!(quoted(""), "\"\"");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"no\""), "\"say \"\"no\"\"\"");
        assert_eq!(quoted(" spaced"), "\" spaced\"");
    }
}
