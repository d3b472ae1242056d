//! What an engine gave, as a release reads it: exact statistics, the numbers of columns, and the names of groups. All of it is private; it goes into `Sensitive` values and nowhere else.

use crate::Error;
use crate::values::facts::Value;
use crate::values::group_name::encode;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Date32Type, Float64Type, Int64Type, TimestampMicrosecondType};
use std::collections::{BTreeMap, HashMap};

/// Exact statistics: private. No Debug, so that it cannot be printed by accident.
pub(crate) struct Measured {
    /// The groups that occur, by name, and where they are in the vectors below.
    pub(crate) groups: HashMap<Vec<u8>, usize>,
    /// For each statistic that is one number a group, its values; empty for the others.
    pub(crate) numbers: Vec<Vec<i64>>,
    /// For each statistic that is a tree, rows by (group, bin).
    pub(crate) bins: Vec<BTreeMap<(usize, i64), i64>>,
}

/// One number of a column; none is zero.
pub(crate) fn number(values: &datafusion::arrow::array::PrimitiveArray<Int64Type>, row: usize) -> i64 {
    if values.is_null(row) { 0 } else { values.value(row) }
}

/// The names of a batch's groups.
pub(crate) fn names(batch: &RecordBatch, keys: usize) -> Result<Vec<Vec<u8>>, Error> {
    let columns: Vec<&ArrayRef> = batch.columns()[..keys].iter().collect();
    (0..batch.num_rows())
        .map(|row| {
            let values = columns
                .iter()
                .map(|column| value(column, row))
                .collect::<Result<Vec<Value>, Error>>()?;
            Ok(encode(&values))
        })
        .collect()
}

/// One value of a column of a kind that we know.
pub(crate) fn value(column: &ArrayRef, row: usize) -> Result<Value, Error> {
    use datafusion::arrow::datatypes::DataType;
    if column.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match column.data_type() {
        DataType::Boolean => Value::Bool(column.as_boolean().value(row)),
        DataType::Int64 => Value::Int(column.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => Value::Float(column.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8View => Value::Text(column.as_string_view().value(row).to_owned()),
        DataType::Utf8 => Value::Text(column.as_string::<i32>().value(row).to_owned()),
        DataType::Date32 => Value::Date(column.as_primitive::<Date32Type>().value(row)),
        DataType::Timestamp(datafusion::arrow::datatypes::TimeUnit::Microsecond, _) => {
            Value::Timestamp(column.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        _ => {
            return Err(Error::refused(
                "groups of this type are not understood",
                "CAST the key to a number, text, a date or a timestamp",
            ));
        }
    })
}
