//! What an analyst gets.

use crate::Error;
use crate::finish::cell::CellValue;
use crate::finish::cut::CutEstimate;
use crate::finish::post::{Certainty, Finished};
use crate::price::bounds::ColumnBounds;
use crate::understand::mistakes::unplannable;
use accounting::{Delta, Epsilon, Guarantee, Promise};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type, TimeUnit};
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
    /// What was charged; `None` where all of it is public, as a description of the tables, or a query over public ones.
    pub cost: Option<Cost>,
}

/// A column of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerColumn {
    /// Its name.
    pub name: String,
    /// What its values are.
    pub kind: CellKind,
    /// Whether noise had a part in its values: in the values themselves, or in which of them are there. The columns that are not noisy, taken together, would have the same rows
    /// whatever the noise was; only the order of rows may be another.
    pub noisy: bool,
    /// Whether it is noisy only because noise decided which rows are there: each value is a name of a group, a constant or a public value, as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chosen: bool,
    /// Why there are no intervals around its noisy values, where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_interval: Option<String>,
}

impl AnswerColumn {
    /// Whether its cells have intervals.
    pub fn has_intervals(&self) -> bool {
        self.noisy && self.no_interval.is_none()
    }

    /// Whether its values are no measurements: they say which row it is, and are right, even if noise decided that the row is there.
    pub fn is_label(&self) -> bool {
        !self.noisy || self.chosen
    }
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
    /// Days, as text such as 2024-02-29.
    Date,
    /// Moments, as text such as 2024-02-29T12:00:00.
    Timestamp,
    /// Anything else, as text.
    Text,
}

/// One value and its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// NULL where there is nothing.
    pub value: CellValue,
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
    pub guarantee: Guarantee,
    /// The number of the charge in the ledger.
    pub charge: u64,
}

impl Cost {
    /// Its ε; `None` where the guarantee is a ρ.
    pub fn epsilon(&self) -> Option<&Epsilon> {
        match self.guarantee.promise() {
            Promise::Pure(epsilon) | Promise::Approximate(epsilon, _) => Some(epsilon),
            Promise::Concentrated(_) => None,
        }
    }

    /// Its δ, 0 where it has none.
    pub fn delta(&self) -> Delta {
        match self.guarantee.promise() {
            Promise::Approximate(_, delta) => delta.clone(),
            Promise::Pure(_) | Promise::Concentrated(_) => Delta::ZERO,
        }
    }
}

/// Takes what the query made, so that each part of it is given back as soon as its rows are there.
pub(crate) fn answer(
    finished: Finished,
    bounds: Vec<ColumnBounds>,
    notes: Vec<String>,
    cost: Option<Cost>,
    confidence: f64,
) -> Result<Answer, Error> {
    let mut columns = columns(&finished);
    let mut rows = Vec::new();
    for batch in finished.batches {
        for (place, column) in columns.iter_mut().enumerate() {
            column.kind = kind_of(batch.column(place).data_type());
        }
        let mut cells = finished
            .columns
            .iter()
            .enumerate()
            .map(|(place, column)| Ok(cells(&batch, place, column.certainty)?.into_iter()))
            .collect::<Result<Vec<_>, Error>>()?;
        for _ in 0..batch.num_rows() {
            rows.push(cells.iter_mut().filter_map(Iterator::next).collect());
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

/// The cells of a column, a row each.
fn cells(batch: &RecordBatch, place: usize, certainty: Certainty) -> Result<Vec<Cell>, Error> {
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
    let ends = match certainty {
        Certainty::Interval { low, high } => Some((end(low), end(high))),
        Certainty::Exact | Certainty::Chosen | Certainty::NoInterval(_) => None,
    };
    let values = values(batch.column(place))?.into_iter().enumerate();
    let cells = values.map(|(row, value)| {
        let (low, high) = ends
            .as_ref()
            .map_or((None, None), |(low, high)| (low[row], high[row]));
        Cell { value, low, high }
    });
    Ok(cells.collect())
}

/// The columns of an answer, whatever its rows will be.
pub(crate) fn columns(finished: &Finished) -> Vec<AnswerColumn> {
    let columns = finished.columns.iter().map(|column| AnswerColumn {
        name: column.name.clone(),
        kind: kind_of(&column.data_type),
        noisy: column.certainty != Certainty::Exact,
        chosen: column.certainty == Certainty::Chosen,
        no_interval: column.certainty.no_interval().map(str::to_owned),
    });
    columns.collect()
}

fn kind_of(data_type: &DataType) -> CellKind {
    match data_type {
        DataType::Boolean => CellKind::Bool,
        data_type if data_type.is_integer() => CellKind::Int,
        data_type if data_type.is_numeric() => CellKind::Float,
        DataType::Date32 | DataType::Date64 => CellKind::Date,
        DataType::Timestamp(..) => CellKind::Timestamp,
        _ => CellKind::Text,
    }
}

fn values(column: &ArrayRef) -> Result<Vec<CellValue>, Error> {
    let rows = 0..column.len();
    let as_type = |to: DataType| cast(column, &to).map_err(|error| unplannable(error.into()));
    Ok(match kind_of(column.data_type()) {
        CellKind::Bool => {
            let array = column.as_boolean();
            rows.map(|row| {
                if array.is_null(row) {
                    CellValue::Null
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
                    CellValue::Null
                } else {
                    array.value(row).into()
                }
            })
            .collect()
        }
        CellKind::Float => {
            let array = as_type(DataType::Float64)?;
            let array = array.as_primitive::<Float64Type>();
            rows.map(|row| {
                if array.is_null(row) {
                    CellValue::Null
                } else {
                    array.value(row).into()
                }
            })
            .collect()
        }
        CellKind::Date | CellKind::Timestamp | CellKind::Text => {
            let options = FormatOptions::new();
            let formatter = ArrayFormatter::try_new(column.as_ref(), &options)
                .map_err(|error| unplannable(error.into()))?;
            rows.map(|row| {
                if column.is_null(row) {
                    CellValue::Null
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
                CellKind::Date | CellKind::Timestamp | CellKind::Text => {
                    let texts: ArrayRef =
                        Arc::new(StringArray::from_iter(cells().map(|cell| cell.value.as_str())));
                    moments(texts, column.kind)
                }
            };
            fields.push(Field::new(&column.name, array.data_type().clone(), true));
            arrays.push(array);
            if column.has_intervals() {
                for (end, high) in [("low", false), ("high", true)] {
                    let ends = cells().map(|cell| {
                        let (first, last) = cell.interval(column.kind);
                        if high { last } else { first }
                    });
                    let array: ArrayRef = match column.kind {
                        CellKind::Int => Arc::new(Int64Array::from_iter(ends.map(|end| Some(end? as i64)))),
                        _ => Arc::new(Float64Array::from_iter(ends)),
                    };
                    let name = format!("{}_{end}", column.name);
                    fields.push(Field::new(name, array.data_type().clone(), true));
                    arrays.push(array);
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

/// Texts as the days or moments that they are. Where one is none that Arrow can read, all stay text, so that nothing is lost.
fn moments(texts: ArrayRef, kind: CellKind) -> ArrayRef {
    let to = match kind {
        CellKind::Date => DataType::Date32,
        CellKind::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        _ => return texts,
    };
    match cast(&texts, &to) {
        Ok(array) if array.null_count() == texts.null_count() => array,
        _ => texts,
    }
}

/// The whole number that this end of an interval of whole numbers stands for. What was lost or gained in the last digits of a float is no reason for another one; else it is rounded outward.
fn whole(end: f64, outward: fn(f64) -> f64) -> f64 {
    let near = end.round();
    if (end - near).abs() <= near.abs().max(1.0) * 1e-9 {
        near
    } else {
        outward(end)
    }
}

impl Cell {
    /// The ends of its interval: whole numbers where its column has whole numbers.
    pub fn interval(&self, kind: CellKind) -> (Option<f64>, Option<f64>) {
        if kind != CellKind::Int {
            return (self.low, self.high);
        }
        (
            self.low.map(|low| whole(low, f64::floor)),
            self.high.map(|high| whole(high, f64::ceil)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(value: CellValue, low: Option<f64>, high: Option<f64>) -> Cell {
        Cell { value, low, high }
    }

    #[test]
    fn ends_of_whole_numbers_are_whole() {
        let count = cell(
            18_120.into(),
            Some(18_107.999_999_999_99),
            Some(18_132.000_000_000_01),
        );
        assert_eq!(count.interval(CellKind::Int), (Some(18_108.0), Some(18_132.0)));
        let wide = cell(5.into(), Some(-0.5), Some(7.25));
        assert_eq!(wide.interval(CellKind::Int), (Some(-1.0), Some(8.0)));
        assert_eq!(wide.interval(CellKind::Float), (Some(-0.5), Some(7.25)));
        assert_eq!(cell(5.into(), None, None).interval(CellKind::Int), (None, None));
    }

    #[test]
    fn a_batch_has_the_types_of_its_columns() {
        let kinds = [CellKind::Date, CellKind::Timestamp, CellKind::Int, CellKind::Date];
        let columns = kinds.iter().zip(["day", "moment", "count", "odd"]);
        let answer = Answer {
            columns: columns
                .map(|(kind, name)| AnswerColumn {
                    name: name.to_owned(),
                    kind: *kind,
                    noisy: *kind == CellKind::Int,
                    chosen: false,
                    no_interval: None,
                })
                .collect(),
            rows: vec![
                vec![
                    cell("2024-02-29".into(), None, None),
                    cell("2024-02-29T12:30:00.000001".into(), None, None),
                    cell(7.into(), Some(1.999_999_999_999), Some(12.4)),
                    cell("the day before".into(), None, None),
                ],
                vec![cell(CellValue::Null, None, None); 4],
            ],
            confidence: 0.95,
            notes: Vec::new(),
            bounds: Vec::new(),
            cut: Vec::new(),
            cost: None,
        };
        let batch = answer.to_batch().unwrap();
        let types: Vec<DataType> = batch
            .schema()
            .fields()
            .iter()
            .map(|field| field.data_type().clone())
            .collect();
        let moment = DataType::Timestamp(TimeUnit::Microsecond, None);
        assert_eq!(
            types,
            [
                DataType::Date32,
                moment,
                DataType::Int64,
                DataType::Int64,
                DataType::Int64,
                DataType::Utf8
            ]
        );
        let ends = |place: usize| batch.column(place).as_primitive::<Int64Type>().value(0);
        assert_eq!((ends(2), ends(3), ends(4)), (7, 2, 13));
        let day = batch
            .column(0)
            .as_primitive::<datafusion::arrow::datatypes::Date32Type>();
        assert_eq!(day.value(0), 19_782);
        assert!(batch.columns().iter().all(|column| column.is_null(1)));
    }
}
