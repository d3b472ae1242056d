//! Dates and timestamps. The engine's calendar has edges, and it fails beyond them; values near them are made NULL first.

use super::bounds::Bounds;
use super::casts;
use super::draft::{Draft, binary, call, cast};
use super::functions::Call;
use crate::{Error, Kind, Value};
use datafusion::arrow::datatypes::{DataType, IntervalMonthDayNano};
use datafusion::common::ScalarValue;
use datafusion::functions::core::nullif;
use datafusion::functions::datetime::{date_part, date_trunc};
use datafusion::logical_expr::{Expr, Operator};

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

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
const PARTS: [(&str, Option<(i64, i64)>); 15] = [
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
    let moment = maybe_null(temporal(moment, call_.name)?);
    let arguments = vec![text(name), moment.expr.clone()];
    let expr = call(date_part(), arguments);
    if *name == "epoch" {
        return Ok(Draft {
            numeric: true,
            ..Draft::above(expr, Kind::Float, &[&moment]).partly_defined()
        });
    }
    let part = Draft {
        numeric: true,
        ..Draft::above(cast(expr, DataType::Int64), Kind::Int, &[&moment])
    };
    let Some((low, high)) = *range else {
        return Ok(Draft { small: true, ..part });
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
    let moment = casts::to(temporal(moment, call_.name)?, Kind::Timestamp)?;
    let moment = years(moment, YEARS_1700_TO_2261);
    let expr = call(date_trunc(), vec![text(unit), moment.expr.clone()]);
    Ok(Draft::above(expr, Kind::Timestamp, &[&moment]))
}

/// Days between two days.
pub(super) fn days_between(left: &Draft, right: &Draft) -> Draft {
    let days = |draft: &Draft| cast(draft.expr.clone(), DataType::Int64);
    // Differences of 32-bit numbers fit in 64 bits.
    Draft::above(
        binary(days(left), Operator::Minus, days(right)),
        Kind::Int,
        &[left, right],
    )
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
