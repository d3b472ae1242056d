//! `date_bin(stride, moment, origin)`: the start of the stride in which a moment lies, strides being counted from an origin.

use super::calendar::{DAY, FIRST_DAY, LAST_DAY};
use super::{moments, only};
use crate::Error;
use datafusion::arrow::array::TimestampMicrosecondArray;
use datafusion::arrow::datatypes::{DataType, IntervalMonthDayNano, TimeUnit};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use std::sync::Arc;

/// A stride in microseconds.
///
/// # Errors
/// When it is not above zero, is longer than a hundred years, has months, which are not all of one length, or parts of a microsecond.
pub(crate) fn stride(interval: IntervalMonthDayNano) -> Result<i64, Error> {
    const HINT: &str = "write INTERVAL '15 minutes' or INTERVAL '7 days'; for months, quarters and years use date_trunc('month', x)";
    if interval.months != 0 {
        return Err(Error::refused(
            "the stride of date_bin has months, which are not all of one length",
            HINT,
        ));
    }
    let days = i64::from(interval.days) * DAY;
    days.checked_add(interval.nanoseconds / 1_000)
        .filter(|stride| interval.nanoseconds % 1_000 == 0 && (1..=36_525 * DAY).contains(stride))
        .ok_or_else(|| {
            Error::refused(
                "the stride of date_bin is not between a microsecond and a hundred years",
                HINT,
            )
        })
}

/// The start of a moment's stride; `None` before the year 1.
///
/// All three are of the years 1 to 9999, so differences stay far inside 64 bits.
pub(crate) fn bin(stride: i64, moment: i64, origin: i64) -> Option<i64> {
    let start = origin + (moment - origin).div_euclid(stride) * stride;
    (FIRST_DAY * DAY..(LAST_DAY + 1) * DAY)
        .contains(&start)
        .then_some(start)
}

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DateBin {
    signature: Signature,
}

impl DateBin {
    pub(super) fn new() -> Self {
        Self {
            signature: Signature::variadic_any(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for DateBin {
    fn name(&self) -> &str {
        super::DATE_BIN
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Timestamp(TimeUnit::Microsecond, None))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (width, moment, origin) = match arguments.args.as_slice() {
            [width, moment] => (width, moment, None),
            [width, moment, origin] => (width, moment, Some(origin)),
            _ => return exec_err!("date_bin takes a stride, a timestamp and an origin"),
        };
        let stride = match width {
            ColumnarValue::Scalar(ScalarValue::IntervalMonthDayNano(Some(interval))) => stride(*interval)?,
            ColumnarValue::Scalar(ScalarValue::Int64(Some(stride))) if *stride > 0 => *stride,
            _ => return exec_err!("the stride of date_bin is a constant interval"),
        };
        let origin = match origin {
            None => Some(0),
            Some(ColumnarValue::Scalar(origin)) => moments(&origin.to_array()?)?.into_iter().next().flatten(),
            Some(ColumnarValue::Array(_)) => return exec_err!("the origin of date_bin is a constant"),
        };
        let moments = moments(&moment.to_array(arguments.number_rows)?)?;
        let starts = moments.into_iter().map(|moment| bin(stride, moment?, origin?));
        Ok(only(Arc::new(TimestampMicrosecondArray::from_iter(starts))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::calendar::HOUR;
    use super::*;

    #[test]
    fn moments_before_the_origin_round_down_too() {
        assert_eq!(bin(HOUR, 5 * HOUR + 1, 0), Some(5 * HOUR));
        assert_eq!(bin(HOUR, -1, 0), Some(-HOUR));
        assert_eq!(bin(7 * DAY, 0, 4 * DAY), Some(-3 * DAY), "weeks from a Monday");
        assert_eq!(bin(7 * DAY, 4 * DAY, 4 * DAY), Some(4 * DAY));
        assert_eq!(bin(36_525 * DAY, FIRST_DAY * DAY, 0), None, "before the year 1");
    }

    #[test]
    fn strides_are_of_one_length() {
        let interval = IntervalMonthDayNano::new;
        assert_eq!(stride(interval(0, 1, 0)).unwrap(), DAY);
        assert_eq!(stride(interval(0, 0, 900_000_000_000)).unwrap(), HOUR / 4);
        for bad in [
            interval(1, 0, 0),
            interval(0, 0, 0),
            interval(0, -1, 0),
            interval(0, 0, 1),
            interval(0, 40_000, 0),
        ] {
            assert!(stride(bad).unwrap_err().to_string().contains("hint: "));
        }
    }
}
