//! Dates and timestamps. The engine's calendar has edges, and it fails beyond them; values near them are made NULL first.

use super::bounds::{Arithmetic, Bounds};
use super::casts;
use super::draft::{Draft, binary, call, cast};
use super::functions::Call;
use crate::values::scalar;
use crate::values::scalar::calendar::{self, DAY, HOUR};
use crate::values::scalar::date_bin::stride;
use crate::values::scalar::to_char::Pattern;
use crate::{Error, Facts, Kind, Value};
use datafusion::arrow::datatypes::{DataType, IntervalMonthDayNano};
use datafusion::common::ScalarValue;
use datafusion::functions::core::nullif;
use datafusion::functions::datetime::{date_part, date_trunc};
use datafusion::logical_expr::{Expr, Operator};

/// Days from 1970 to the last day before the year 1, and to the first day of the year 10000.
const YEARS_1_TO_9999: (i32, i32) = (-719_163, 2_932_897);

/// Days from 1970 to the last day of 1699, and to the first day of 2262. Inside, nanoseconds since 1970 fit in 64 bits, and so do those of the start of the year.
const YEARS_1700_TO_2261: (i32, i32) = (-98_616, 106_651);

/// NULL outside the years 1 to 9999.
pub(super) fn in_calendar(draft: Draft) -> Draft {
    years(draft, YEARS_1_TO_9999)
}

/// NULL unless after the first moment of the day `low` and before that of the day `high`.
fn years(draft: Draft, (low, high): (i32, i32)) -> Draft {
    match draft.kind {
        Kind::Date => draft.between(ScalarValue::Date32(Some(low)), ScalarValue::Date32(Some(high))),
        _ => {
            // The last microsecond of the day `low`, so that the next day counts from its first moment.
            let moment = |moment| ScalarValue::TimestampMicrosecond(Some(moment), None);
            draft.between(
                moment((i64::from(low) + 1) * DAY - 1),
                moment(i64::from(high) * DAY),
            )
        }
    }
}

/// The parts of a date that can be extracted, with the range of those that have one.
pub(crate) const PARTS: [(&str, Option<(i64, i64)>); 15] = [
    ("year", None),
    ("isoyear", None),
    ("quarter", Some((1, 4))),
    ("month", Some((1, 12))),
    ("week", Some((1, 53))),
    ("day", Some((1, 31))),
    ("doy", Some((1, 366))),
    ("dow", Some((0, 6))),
    ("isodow", Some((1, 7))),
    ("hour", Some((0, 23))),
    ("minute", Some((0, 59))),
    ("second", Some((0, 59))),
    ("millisecond", Some((0, 59_999))),
    ("microsecond", Some((0, 59_999_999))),
    ("epoch", None),
];

/// Ranges up to this width are listed as public values.
const LISTED: i64 = 1000;

/// `EXTRACT(part FROM x)` and `date_part('part', x)`.
pub(super) fn part(mut call_: Call) -> Result<Draft, Error> {
    let [name, moment] = call_.take()?;
    let written = name.text_literal().map(str::to_lowercase).unwrap_or_default();
    let written = written.trim_matches(['\'', '"']);
    let singular = written.strip_suffix('s').unwrap_or(written);
    let Some((name, range)) = PARTS
        .iter()
        .find(|(name, _)| *name == written || *name == singular)
    else {
        let names: Vec<_> = PARTS.iter().map(|(name, _)| *name).collect();
        return Err(Error::refused(
            "this part of a date cannot be extracted",
            format!("the parts are {}", names.join(", ")),
        ));
    };
    let moment = temporal(moment, call_.name)?;
    let (column, lies) = (is_column(&moment), as_moments(moment.kind, moment.bounds));
    let moment = maybe_null(moment);
    let arguments = vec![text(name), moment.expr.clone()];
    let expr = call(date_part(), arguments);
    if *name == "epoch" {
        let seconds = lies.rising(|moment| moment / 1e6);
        return Ok(Draft {
            numeric: true,
            ..Draft::above(expr, Kind::Float, &[&moment])
                .with_bounds(seconds)
                .partly_defined()
        });
    }
    let granule = match *name {
        "hour" => HOUR,
        "minute" => HOUR / 60,
        "second" => 1_000_000,
        "millisecond" => 1_000,
        "microsecond" => 1,
        _ => DAY,
    };
    let part = Draft {
        numeric: true,
        ..Draft::above(cast(expr, DataType::Int64), Kind::Int, &[&moment]).stepping(granule, column)
    };
    let Some((low, high)) = *range else {
        // A year begins at the same place for all, and the year of a week is at most one off.
        let slack = if *name == "isoyear" { 1 } else { 0 };
        let year = |moment: f64| calendar::civil((moment / DAY as f64).floor() as i64).0;
        let years = match lies.range() {
            Some(range) => Bounds::new(
                (year(range.low) - slack) as f64,
                (year(range.high) + slack) as f64,
            ),
            None => Bounds::UNKNOWN,
        };
        return Ok(Draft {
            small: true,
            ..part.with_bounds(years)
        });
    };
    let listed = high - low < LISTED;
    Ok(Draft {
        small: true,
        values: listed.then(|| (low..=high).map(Value::Int).collect()),
        ..part.with_bounds(Bounds::new(low as f64, high as f64))
    })
}

/// Tells the engine that there may be NULLs.
///
/// Parts of days that its calendar does not have are NULL, but it declares the parts of a day that is never NULL to be never NULL either, and fails when it
/// finds otherwise. The smallest day is such a day, so making it NULL changes nothing else.
fn maybe_null(draft: Draft) -> Draft {
    let smallest = match draft.kind {
        Kind::Date => ScalarValue::Date32(Some(i32::MIN)),
        _ => ScalarValue::TimestampMicrosecond(Some(i64::MIN), None),
    };
    Draft {
        expr: call(nullif(), vec![draft.expr, Expr::Literal(smallest, None)]),
        nullable: true,
        weight: draft.weight.saturating_add(2),
        literal: None,
        ..draft
    }
}

/// `date_trunc('part', x)`, a timestamp.
pub(super) fn truncate(mut call_: Call) -> Result<Draft, Error> {
    const UNITS: [&str; 10] = [
        "microsecond",
        "millisecond",
        "second",
        "minute",
        "hour",
        "day",
        "week",
        "month",
        "quarter",
        "year",
    ];
    let [unit, moment] = call_.take()?;
    let written = unit.text_literal().map(str::to_lowercase).unwrap_or_default();
    let Some(unit) = UNITS.iter().find(|unit| **unit == written) else {
        return Err(Error::refused(
            "date_trunc does not know this unit",
            format!("the units are {}", UNITS.join(", ")),
        ));
    };
    let moment = temporal(moment, call_.name)?;
    let column = is_column(&moment);
    let moment = casts::to(moment, Kind::Timestamp)?;
    let moment = years(moment, YEARS_1700_TO_2261);
    let expr = call(date_trunc(), vec![text(unit), moment.expr.clone()]);
    let granule = match *unit {
        "microsecond" => 1,
        "millisecond" => 1_000,
        "second" => 1_000_000,
        "minute" => HOUR / 60,
        "hour" => HOUR,
        // All longer ones begin with a day.
        _ => DAY,
    };
    Ok(Draft::above(expr, Kind::Timestamp, &[&moment]).stepping(granule, column))
}

/// `to_char(x, 'YYYY-MM')`.
pub(super) fn to_char(mut call_: Call) -> Result<Draft, Error> {
    let [moment, pattern] = call_.take()?;
    let Some(read) = pattern.text_literal().map(Pattern::read) else {
        return Err(Error::refused(
            "the pattern of to_char must be a constant",
            "write for example to_char(x, 'YYYY-MM')",
        ));
    };
    let granule = read?.granule();
    let moment = temporal(moment, call_.name)?;
    let expr = call(scalar::to_char(), vec![moment.expr.clone(), pattern.expr.clone()]);
    let column = is_column(&moment);
    // The result is in canonical form: the function sees to that.
    Ok(Draft::above(expr, Kind::Text, &[&moment])
        .with_nulls()
        .stepping(granule, column))
}

/// `date_bin(stride, x, origin)`; the reader has made a number of microseconds of the stride.
pub(super) fn bin(mut call_: Call) -> Result<Draft, Error> {
    let origin = match call_.arguments.len() {
        3 => call_
            .arguments
            .pop()
            .map(|origin| temporal(origin, call_.name))
            .transpose()?,
        _ => None,
    };
    let [stride, moment] = call_.take()?;
    let origin = match origin {
        None => Some(0),
        Some(origin) => match casts::to(origin, Kind::Timestamp)?.literal {
            Some(ScalarValue::TimestampMicrosecond(origin, None)) => origin,
            _ => None,
        },
    };
    let (Some(stride), Some(origin)) = (stride.int_literal(), origin) else {
        return Err(Error::refused(
            "date_bin takes a constant interval and a constant origin",
            "write for example date_bin(INTERVAL '15 minutes', x, TIMESTAMP '2024-01-01')",
        ));
    };
    let moment = temporal(moment, call_.name)?;
    let column = is_column(&moment);
    let constant = ScalarValue::TimestampMicrosecond(Some(origin), None);
    let arguments = vec![
        super::draft::integer(stride),
        moment.expr.clone(),
        Expr::Literal(constant, None),
    ];
    let expr = call(scalar::date_bin(), arguments);
    // Strides begin at the origin plus multiples of themselves, which all are multiples of this.
    let granule = common(stride, origin.rem_euclid(stride));
    Ok(Draft::above(expr, Kind::Timestamp, &[&moment])
        .with_nulls()
        .stepping(granule, column))
}

/// The stride of `date_bin` as a constant number of microseconds.
pub(super) fn constant_stride(interval: IntervalMonthDayNano) -> Result<Draft, Error> {
    stride(interval).map(Draft::int)
}

/// The greatest common divisor; 0 is a multiple of everything.
pub(super) fn common(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { common(b, a % b) }
}

/// Days and moments.
pub(super) fn is_temporal(kind: Kind) -> bool {
    matches!(kind, Kind::Date | Kind::Timestamp)
}

/// Whether it is a column of moments as it is, so that a function of it that goes in steps does so in the column's values.
pub(super) fn is_column(draft: &Draft) -> bool {
    draft.kind == Kind::Timestamp && matches!(draft.expr, Expr::Column(_))
}

impl Draft {
    /// Says that this function of `column` is the same for all its moments in the same multiple of `granule` microseconds.
    fn stepping(self, granule: i64, column: bool) -> Self {
        Self {
            granule: if column { granule } else { self.granule },
            ..self
        }
    }
}

/// A day that was cut from a moment.
pub(super) fn day_of_moment(day: Draft, moment: &Draft, column: bool) -> Draft {
    let days = moment.bounds.rising(|moment| (moment / DAY as f64).floor());
    day.with_bounds(days).stepping(DAY, column)
}

/// Where moments lie, if these are the days on which they lie.
pub(super) fn as_moments(kind: Kind, bounds: Bounds) -> Bounds {
    match kind {
        Kind::Date => bounds.rising(|day| day * DAY as f64),
        _ => bounds,
    }
}

/// Moments are tried on at most this many values, a hundred years of days.
const TRIED: i64 = 36_600;

/// Public values of a column of days or moments on which an expression takes all the values that it takes between the column's bounds; `None` where they are too many.
///
/// Days are all tried. Of moments the first of each granule is, and the first of all: between them the expression does not change.
pub(super) fn tried(facts: &Facts, granule: i64) -> Option<Vec<Value>> {
    let range = facts.range?;
    let (low, high) = (range.low.ceil() as i64, range.high.floor() as i64);
    match facts.kind {
        Kind::Date if high - low < TRIED => (low..=high)
            .map(|day| i32::try_from(day).ok().map(Value::Date))
            .collect(),
        Kind::Timestamp => {
            let granule = if granule == 0 { DAY } else { granule };
            let (first, last) = (low.div_euclid(granule) + 1, high.div_euclid(granule));
            if last - first >= TRIED {
                return None;
            }
            let starts = (first..=last).map(|place| place * granule);
            let all = std::iter::once(low)
                .chain(starts)
                .filter(|moment| *moment <= high);
            Some(all.map(Value::Timestamp).collect())
        }
        _ => None,
    }
}

/// Days between two days.
pub(super) fn days_between(left: &Draft, right: &Draft) -> Draft {
    let days = |draft: &Draft| cast(draft.expr.clone(), DataType::Int64);
    // Differences of 32-bit numbers fit in 64 bits.
    let between = Draft::above(
        binary(days(left), Operator::Minus, days(right)),
        Kind::Int,
        &[left, right],
    );
    between.with_bounds(left.bounds.subtract(right.bounds, Arithmetic::Integer))
}

/// A day or a moment, later or earlier by a constant interval.
pub(super) fn moved(
    moment: Draft,
    operator: Operator,
    interval: IntervalMonthDayNano,
) -> Result<Draft, Error> {
    let moment = temporal(moment, "an INTERVAL")?;
    let IntervalMonthDayNano {
        months,
        days,
        nanoseconds,
    } = interval;
    let century = 100 * 366 * DAY * 1000;
    if months.unsigned_abs() > 12_000
        || days.unsigned_abs() > 366_000
        || nanoseconds.unsigned_abs() > century.unsigned_abs()
    {
        return Err(Error::refused(
            "the interval is too long",
            "at most a thousand years of months or days, or a hundred years of seconds",
        ));
    }
    if moment.kind == Kind::Date && nanoseconds != 0 {
        return Err(Error::refused(
            "a date has no hours to add to",
            "CAST the date AS TIMESTAMP first",
        ));
    }
    let (kind, moment) = (moment.kind, in_calendar(moment));
    let interval = Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(interval)), None);
    Ok(Draft::above(
        binary(moment.expr.clone(), operator, interval),
        kind,
        &[&moment],
    ))
}

fn temporal(draft: Draft, name: &str) -> Result<Draft, Error> {
    if draft.untyped || draft.text_literal().is_some() {
        return casts::to(draft, Kind::Timestamp);
    }
    match draft.kind {
        Kind::Date | Kind::Timestamp => Ok(draft),
        kind => Err(Error::refused(
            format!("{name} needs a date or a timestamp, and this is {kind}"),
            "CAST it AS DATE or AS TIMESTAMP; what cannot be read gives NULL",
        )),
    }
}

fn text(value: &str) -> Expr {
    Expr::Literal(ScalarValue::Utf8View(Some(value.into())), None)
}
