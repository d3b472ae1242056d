//! What an analyst gets.

use crate::Error;
use crate::bounds::ColumnBounds;
use crate::cut::CutEstimate;
use crate::post::Finished;
use crate::relation::unplannable;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use serde::{Deserialize, Serialize};

/// A private answer: a table with intervals, and what it cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The columns, in the order of the query.
    pub columns: Vec<AnswerColumn>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
    /// How likely each interval holds the truth: of which data, `bounds` says.
    pub confidence: f64,
    /// What bounds one unit's part in each column.
    #[serde(default)]
    pub bounds: Vec<ColumnBounds>,
    /// How much the bounds cut, where that was estimated.
    #[serde(default)]
    pub cut: Vec<CutEstimate>,
    /// What else there is to know: which groups appear, and the like.
    pub notes: Vec<String>,
    /// What was charged.
    pub cost: Cost,
}

/// A column of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerColumn {
    /// Its name.
    pub name: String,
    /// What its values are.
    pub kind: CellKind,
    /// Whether its cells have intervals.
    pub noisy: bool,
}

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellKind {
    /// True or false.
    Bool,
    /// Whole numbers.
    Int,
    /// Numbers.
    Float,
    /// Anything else, as text.
    Text,
}

/// One value and its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// JSON's null where there is nothing.
    pub value: serde_json::Value,
    /// The lower end of the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The upper end of the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// What an answer cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// The guarantee of this answer alone.
    pub guarantee: String,
    /// Its ε.
    pub epsilon: String,
    /// Its δ.
    pub delta: String,
    /// The number of the charge in the ledger.
    pub charge: u64,
}

pub(crate) fn answer(
    finished: &Finished,
    bounds: Vec<ColumnBounds>,
    notes: Vec<String>,
    cost: Cost,
    confidence: f64,
) -> Result<Answer, Error> {
    let mut columns: Vec<AnswerColumn> = (0..finished.shown)
        .map(|place| AnswerColumn {
            name: finished.names[place].clone(),
            kind: CellKind::Text,
            noisy: finished.intervals[place].is_some(),
        })
        .collect();
    let mut rows = Vec::new();
    for batch in &finished.batches {
        for (place, column) in columns.iter_mut().enumerate() {
            column.kind = kind_of(batch.column(place).data_type());
        }
        let shown = (0..finished.shown)
            .map(|place| values(batch.column(place)))
            .collect::<Result<Vec<_>, Error>>()?;
        let ends = finished
            .intervals
            .iter()
            .map(|ends| {
                let end = |at: usize| -> Vec<Option<f64>> {
                    let array = batch.column(at).as_primitive_opt::<Float64Type>();
                    array.map_or_else(
                        || vec![None; batch.num_rows()],
                        |array| {
                            array
                                .iter()
                                .map(|end| end.filter(|end| end.is_finite()))
                                .collect()
                        },
                    )
                };
                ends.map(|(low, high)| (end(low), end(high)))
            })
            .collect::<Vec<_>>();
        for row in 0..batch.num_rows() {
            rows.push(
                (0..finished.shown)
                    .map(|place| {
                        let (low, high) = match &ends[place] {
                            Some((low, high)) => (low[row], high[row]),
                            None => (None, None),
                        };
                        Cell {
                            value: shown[place][row].clone(),
                            low,
                            high,
                        }
                    })
                    .collect(),
            );
        }
    }
    Ok(Answer {
        columns,
        rows,
        confidence,
        bounds,
        cut: Vec::new(),
        notes,
        cost,
    })
}

fn kind_of(data_type: &DataType) -> CellKind {
    match data_type {
        DataType::Boolean => CellKind::Bool,
        data_type if data_type.is_integer() => CellKind::Int,
        data_type if data_type.is_numeric() => CellKind::Float,
        _ => CellKind::Text,
    }
}

fn values(column: &ArrayRef) -> Result<Vec<serde_json::Value>, Error> {
    use serde_json::Value;
    let rows = 0..column.len();
    let as_type = |to: DataType| cast(column, &to).map_err(|error| unplannable(error.into()));
    Ok(match kind_of(column.data_type()) {
        CellKind::Bool => {
            let array = column.as_boolean();
            rows.map(|row| {
                if array.is_null(row) {
                    Value::Null
                } else {
                    array.value(row).into()
                }
            })
            .collect()
        }
        CellKind::Int => {
            let array = as_type(DataType::Int64)?;
            let array = array.as_primitive::<Int64Type>();
            rows.map(|row| {
                if array.is_null(row) {
                    Value::Null
                } else {
                    array.value(row).into()
                }
            })
            .collect()
        }
        CellKind::Float => {
            let array = as_type(DataType::Float64)?;
            let array = array.as_primitive::<Float64Type>();
            // JSON has no NaN and no infinities: null.
            rows.map(|row| {
                if array.is_null(row) {
                    Value::Null
                } else {
                    array.value(row).into()
                }
            })
            .collect()
        }
        CellKind::Text => {
            let options = FormatOptions::new();
            let formatter = ArrayFormatter::try_new(column.as_ref(), &options)
                .map_err(|error| unplannable(error.into()))?;
            rows.map(|row| {
                if column.is_null(row) {
                    Value::Null
                } else {
                    formatter.value(row).to_string().into()
                }
            })
            .collect()
        }
    })
}

impl Answer {
    /// The answer as an Arrow batch: each noisy column is followed by `…_low` and `…_high`.
    pub fn to_batch(&self) -> Result<RecordBatch, Error> {
        use datafusion::arrow::array::{BooleanArray, Float64Array, Int64Array, StringArray};
        use datafusion::arrow::datatypes::{Field, Schema};
        use std::sync::Arc;
        let mut fields = Vec::new();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for (place, column) in self.columns.iter().enumerate() {
            let cells = || self.rows.iter().map(|row| &row[place]);
            let array: ArrayRef = match column.kind {
                CellKind::Bool => Arc::new(BooleanArray::from_iter(cells().map(|cell| cell.value.as_bool()))),
                CellKind::Int => Arc::new(Int64Array::from_iter(cells().map(|cell| cell.value.as_i64()))),
                CellKind::Float => Arc::new(Float64Array::from_iter(cells().map(|cell| cell.value.as_f64()))),
                CellKind::Text => Arc::new(StringArray::from_iter(cells().map(|cell| cell.value.as_str()))),
            };
            fields.push(Field::new(&column.name, array.data_type().clone(), true));
            arrays.push(array);
            if column.noisy {
                for (end, pick) in [
                    ("low", Cell::low as fn(&Cell) -> Option<f64>),
                    ("high", Cell::high),
                ] {
                    fields.push(Field::new(
                        format!("{}_{end}", column.name),
                        DataType::Float64,
                        true,
                    ));
                    arrays.push(Arc::new(Float64Array::from_iter(cells().map(pick))));
                }
            }
        }
        let options =
            datafusion::arrow::array::RecordBatchOptions::new().with_row_count(Some(self.rows.len()));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
            .map_err(|error| unplannable(error.into()))
    }

    /// Writes the answer as a Parquet file.
    pub fn write_parquet(&self, file: impl std::io::Write + Send) -> Result<(), Error> {
        use datafusion::parquet::arrow::ArrowWriter;
        let batch = self.to_batch()?;
        let failed = |_| Error::File {
            what: "the answer could not be written as Parquet".to_owned(),
            why: std::io::ErrorKind::Other,
            hint: "is there room, and may the file be written?".to_owned(),
        };
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).map_err(failed)?;
        writer.write(&batch).map_err(failed)?;
        writer.close().map_err(failed)?;
        Ok(())
    }
}

impl Cell {
    fn low(&self) -> Option<f64> {
        self.low
    }

    fn high(&self) -> Option<f64> {
        self.high
    }
}
