//! Every column becomes one of six kinds, and no value on the way can raise an error: what does not fit becomes NULL.
//!
//! The engine's `TRY_CAST` is total for most pairs of types, and not for all: a moment outside the calendar raises when it becomes a day or text, and milliseconds
//! overflow when they become microseconds. Those go another way here, and pairs that nobody needs are refused when the table is opened, which
//! depends on its schema alone.

use crate::values::facts::Kind;
use datafusion::arrow::compute::can_cast_types;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, lit, try_cast, when};

const MICROSECONDS_A_DAY: i64 = 86_400_000_000;
/// 0001-01-01 and 9999-12-31, in days since 1970-01-01.
const FIRST_DAY: i32 = -719_162;
const LAST_DAY: i32 = 2_932_896;

/// `column`, which is of type `from`, as a value of this kind; `None` when no such conversion makes sense.
///
/// Days and moments are of the years 1 to 9999, and NULL otherwise: functions of the engine raise on those that no calendar has.
pub(super) fn converted(column: Expr, from: &DataType, kind: Kind) -> Result<Option<Expr>, DataFusionError> {
    let Some(value) = cast(column, from, kind)? else {
        return Ok(None);
    };
    let moment = |day: i32, rest: i64| {
        let microseconds = i64::from(day) * MICROSECONDS_A_DAY + rest;
        lit(ScalarValue::TimestampMicrosecond(Some(microseconds), None))
    };
    let (first, last) = match kind {
        Kind::Date => (
            lit(ScalarValue::Date32(Some(FIRST_DAY))),
            lit(ScalarValue::Date32(Some(LAST_DAY))),
        ),
        Kind::Timestamp => (moment(FIRST_DAY, 0), moment(LAST_DAY, MICROSECONDS_A_DAY - 1)),
        _ => return Ok(Some(value)),
    };
    when(value.clone().between(first, last), value).end().map(Some)
}

fn cast(column: Expr, from: &DataType, kind: Kind) -> Result<Option<Expr>, DataFusionError> {
    let to = kind.data_type();
    if *from == to {
        return Ok(Some(column));
    }
    // A column of which no value is known: what it is declared as, and nowhere there.
    if *from == DataType::Null {
        return Ok(Some(lit(ScalarValue::try_from(&to)?)));
    }
    if let DataType::Dictionary(_, values) = from {
        return cast(try_cast(column, values.as_ref().clone()), values, kind);
    }
    let moment = matches!(from, DataType::Timestamp(..));
    let text = matches!(from, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let number = from.is_numeric();
    let truth = matches!(from, DataType::Boolean);
    let day = matches!(from, DataType::Date32 | DataType::Date64);
    let makes_sense = match kind {
        Kind::Bool => from.is_integer() || text,
        Kind::Int | Kind::Float | Kind::Text => number || truth || text,
        Kind::Date | Kind::Timestamp => moment || day || text,
    };
    if !makes_sense {
        return Ok(None);
    }
    let microsecond = Kind::Timestamp.data_type();
    let expression = match (kind, from) {
        // With a time zone or without: what is kept is the moment at UTC.
        (Kind::Date, DataType::Timestamp(..)) => day_of(try_cast(column, microsecond))?,
        (Kind::Timestamp, DataType::Date64) => {
            let milliseconds = DataType::Timestamp(TimeUnit::Millisecond, None);
            try_cast(try_cast(column, milliseconds), microsecond)
        }
        _ if can_cast_types(from, &to) => try_cast(column, to),
        _ => return Ok(None),
    };
    Ok(Some(expression))
}

/// The day of a moment in microseconds. Division rounds toward zero, and days before 1970 round down.
fn day_of(moment: Expr) -> Result<Expr, DataFusionError> {
    let microseconds = try_cast(moment, DataType::Int64);
    let before = (microseconds.clone() + lit(1i64)) / lit(MICROSECONDS_A_DAY) - lit(1i64);
    let days = when(
        microseconds.clone().gt_eq(lit(0i64)),
        microseconds.clone() / lit(MICROSECONDS_A_DAY),
    )
    .when(microseconds.lt(lit(0i64)), before)
    .end()?;
    Ok(try_cast(try_cast(days, DataType::Int32), DataType::Date32))
}
