//! Scalar functions of our own: those that the engine lacks, or has in a way that fails on some values.
//!
//! Each is total and deterministic, and looks at one row: NULL where there is nothing to tell, whatever the data. What may be refused, such as a pattern, is a
//! constant of the query and is read before anything is charged. Over released results the same functions run, so that a name means one thing in all of a query.

pub(crate) mod calendar;
pub(crate) mod date_bin;
pub(crate) mod regular;
pub(crate) mod to_char;

use crate::Error;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF};
use std::sync::Arc;

pub(crate) const TO_CHAR: &str = "to_char";
pub(crate) const DATE_BIN: &str = "date_bin";
pub(crate) const REGEXP_LIKE: &str = "regexp_like";
pub(crate) const REGEXP_SUBSTR: &str = "regexp_substr";
pub(crate) const REGEXP_COUNT: &str = "regexp_count";
pub(crate) const REGEXP_REPLACE: &str = "regexp_replace";

/// `to_char(moment, pattern)`.
pub(crate) fn to_char() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(to_char::ToChar::new()))
}

/// `date_bin(stride, moment, origin)`.
pub(crate) fn date_bin() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(date_bin::DateBin::new()))
}

/// A function of regular expressions, whose pattern is compiled already or else among its arguments.
pub(crate) fn regular_function(task: regular::Task, compiled: Option<regular::Compiled>) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(regular::Regular::new(task, compiled)))
}

/// All of them, for the planner.
pub(crate) fn functions() -> Vec<Arc<ScalarUDF>> {
    let regular = regular::Task::ALL.map(|task| regular_function(task, None));
    [to_char(), date_bin()].into_iter().chain(regular).collect()
}

/// Over released results a refusal is an error of the engine, met when the plan is tried out before the charge.
impl From<Error> for DataFusionError {
    fn from(error: Error) -> Self {
        Self::Plan(error.to_string())
    }
}

/// A text that is the same for all rows.
fn constant_text(value: &ColumnarValue) -> Option<String> {
    match value {
        ColumnarValue::Scalar(
            ScalarValue::Utf8(Some(text))
            | ScalarValue::LargeUtf8(Some(text))
            | ScalarValue::Utf8View(Some(text)),
        ) => Some(text.clone()),
        _ => None,
    }
}

fn only(array: ArrayRef) -> ColumnarValue {
    ColumnarValue::Array(array)
}

/// Days and moments as microseconds since 1970; `None` outside the years 1 to 9999.
fn moments(values: &ArrayRef) -> Result<Vec<Option<i64>>> {
    use calendar::{DAY, FIRST_DAY, LAST_DAY};
    let named = |moment: i64| {
        (FIRST_DAY * DAY..(LAST_DAY + 1) * DAY)
            .contains(&moment)
            .then_some(moment)
    };
    let scaled = |value: i64, times: i64| value.checked_mul(times).and_then(named);
    Ok(match values.data_type() {
        DataType::Null => vec![None; values.len()],
        DataType::Date32 => values
            .as_primitive::<Date32Type>()
            .iter()
            .map(|day| scaled(i64::from(day?), DAY))
            .collect(),
        DataType::Timestamp(TimeUnit::Second, _) => values
            .as_primitive::<TimestampSecondType>()
            .iter()
            .map(|moment| scaled(moment?, 1_000_000))
            .collect(),
        DataType::Timestamp(TimeUnit::Millisecond, _) => values
            .as_primitive::<TimestampMillisecondType>()
            .iter()
            .map(|moment| scaled(moment?, 1_000))
            .collect(),
        DataType::Timestamp(TimeUnit::Microsecond, _) => values
            .as_primitive::<TimestampMicrosecondType>()
            .iter()
            .map(|moment| named(moment?))
            .collect(),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => values
            .as_primitive::<TimestampNanosecondType>()
            .iter()
            .map(|moment| named(moment?.div_euclid(1_000)))
            .collect(),
        other => return exec_err!("a date or a timestamp is needed here, and this is {other}"),
    })
}
