//! From one kind to another: what is asked for, and what mixing kinds needs.

use super::bounds::Bounds;
use super::draft::{Draft, binary, cast, integer, try_cast};
use super::{dates, functions, integers};
use crate::{Error, Kind};
use bound::MOST_TEXT;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;

/// The kind that a cast names.
pub(super) fn target(data_type: &DataType) -> Result<Kind, Error> {
    match data_type {
        DataType::Timestamp(_, Some(_)) => Err(Error::refused(
            "casts to a time zone are not taken over private rows: which local time exists depends on rules that change",
            "timestamps are read without a time zone; add a fixed INTERVAL, or convert the column where it is stored",
        )),
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => Err(Error::refused(
            "unsigned integers are not a kind of private values",
            "cast to BIGINT",
        )),
        other => Kind::of(other).ok_or_else(|| {
            Error::refused(
                format!("{other} is not a kind of private values"),
                "the kinds are BOOLEAN, BIGINT, DOUBLE, VARCHAR, DATE and TIMESTAMP",
            )
        }),
    }
}

/// A cast as the query writes it. Its result is of the type that it names, whatever PostgreSQL called its operand.
pub(super) fn written(draft: Draft, data_type: &DataType) -> Result<Draft, Error> {
    if let DataType::Decimal32(digits, places)
    | DataType::Decimal64(digits, places)
    | DataType::Decimal128(digits, places)
    | DataType::Decimal256(digits, places) = data_type
    {
        return decimal(draft, *digits, *places);
    }
    Ok(Draft {
        numeric: false,
        double: false,
        ..to(draft, target(data_type)?)?
    })
}

/// What the planner makes of NUMERIC and DECIMAL without digits.
const ANY_DECIMAL: (u8, i8) = (38, 10);

/// `NUMERIC` is a float here, rounded as decimals are where it names its places. NULL where there are more digits before the point than it has room for.
fn decimal(draft: Draft, digits: u8, places: i8) -> Result<Draft, Error> {
    let number = Draft {
        numeric: true,
        double: false,
        ..to(draft, Kind::Float)?
    };
    if (digits, places) == ANY_DECIMAL {
        return Ok(number);
    }
    let rounded = functions::read("round", vec![number, Draft::int(i64::from(places))])?.settled();
    let beyond = 10f64.powi(i32::from(digits) - i32::from(places));
    let end = |end: f64| ScalarValue::Float64(Some(end));
    Ok(rounded.between(end(-beyond), end(beyond)))
}

/// `CAST`: NULL for what cannot be read. A constant that cannot be read is refused.
pub(super) fn to(draft: Draft, kind: Kind) -> Result<Draft, Error> {
    if draft.untyped {
        return Ok(Draft::null(kind));
    }
    if draft.kind == kind {
        return Ok(draft);
    }
    allowed(draft.kind, kind)?;
    if let Some(value) = &draft.literal {
        return match (value, kind) {
            (ScalarValue::Float64(Some(value)), Kind::Int) => {
                let nearest = draft.halves().integer(*value);
                nearest.map(Draft::int).ok_or_else(|| unreadable(kind))
            }
            _ => constant(value, kind),
        };
    }
    let data_type = kind.data_type();
    let above = |expr, draft: &Draft| Draft::above(expr, kind, &[draft]);
    Ok(match (draft.kind, kind) {
        (Kind::Bool, Kind::Int | Kind::Float) => {
            let cast = above(cast(draft.expr.clone(), data_type), &draft);
            Draft {
                small: true,
                integral: true,
                ..cast.with_bounds(Bounds::new(0.0, 1.0))
            }
        }
        (Kind::Int, Kind::Float) => Draft {
            integral: true,
            ..above(cast(draft.expr.clone(), data_type), &draft).with_bounds(draft.bounds)
        },
        // With the statistics of a file the engine computes filters on the least and the largest value, and believes that every cast
        // keeps them in order. Of casts that may fail it believes nothing.
        (Kind::Bool | Kind::Int, Kind::Text) => above(try_cast(draft.expr.clone(), data_type), &draft),
        (Kind::Int, Kind::Bool) => above(binary(draft.expr.clone(), Operator::NotEq, integer(0)), &draft),
        // The nearest integer. What does not fit, NaN and infinity are NULL.
        (Kind::Float, Kind::Int) => {
            let halves = draft.halves();
            let bounds = draft.bounds.rising(|end| halves.round(end));
            above(integers::nearest(draft.expr.clone(), halves), &draft)
                .with_bounds(bounds)
                .with_nulls()
        }
        (Kind::Text, Kind::Float) => {
            let cast = above(try_cast(draft.expr.clone(), data_type), &draft);
            cast.with_nulls().partly_defined()
        }
        // The engine fails on days that its calendar does not have, even where it should give NULL.
        (Kind::Date | Kind::Timestamp, Kind::Text) | (Kind::Timestamp, Kind::Date) => {
            let column = dates::is_column(&draft);
            let draft = dates::in_calendar(draft);
            let cast = above(try_cast(draft.expr.clone(), data_type), &draft);
            match kind {
                Kind::Date => dates::day_of_moment(cast, &draft, column),
                _ => cast,
            }
        }
        (Kind::Date, Kind::Timestamp) => {
            let cast = above(try_cast(draft.expr.clone(), data_type), &draft).with_nulls();
            cast.with_bounds(dates::as_moments(draft.kind, draft.bounds))
        }
        _ => {
            let draft = draft.settled();
            above(try_cast(draft.expr.clone(), data_type), &draft).with_nulls()
        }
    })
}

fn allowed(from: Kind, to: Kind) -> Result<(), Error> {
    let hint = match (from, to) {
        (Kind::Float, Kind::Bool) => "write x <> 0",
        (Kind::Date | Kind::Timestamp, Kind::Int | Kind::Float) => "write EXTRACT(EPOCH FROM x)",
        (Kind::Int | Kind::Float, Kind::Date | Kind::Timestamp) => {
            "write TIMESTAMP '1970-01-01' for a constant; columns of seconds are declared in the catalog"
        }
        (Kind::Bool, Kind::Date | Kind::Timestamp) | (Kind::Date | Kind::Timestamp, Kind::Bool) => {
            "use CASE to say what is meant"
        }
        _ => return Ok(()),
    };
    Err(Error::refused(format!("{from} cannot be cast to {to}"), hint))
}

/// A constant as another kind.
pub(super) fn constant(value: &ScalarValue, kind: Kind) -> Result<Draft, Error> {
    if value.is_null() {
        return Ok(Draft::null(kind));
    }
    match value.cast_to(&kind.data_type()) {
        Ok(ScalarValue::Float64(Some(value))) if !value.is_finite() => Err(unreadable(kind)),
        Ok(ScalarValue::Utf8View(Some(text))) if text.len() > MOST_TEXT => Err(Error::refused(
            format!("a text in the query has more than {MOST_TEXT} bytes"),
            "texts over private rows are cut there; write a shorter one",
        )),
        Ok(value) if !value.is_null() => Ok(Draft::constant(kind, value)),
        _ => Err(unreadable(kind)),
    }
}

fn unreadable(kind: Kind) -> Error {
    let hint = match kind {
        Kind::Date => "write DATE '2020-12-31'",
        Kind::Timestamp => "write TIMESTAMP '2020-12-31 23:59:59'",
        Kind::Bool => "write TRUE or FALSE",
        _ => "compare values of the same kind, or CAST one of them",
    };
    Error::refused(format!("a constant in the query cannot be read as {kind}"), hint)
}

/// What mixing needs: integers become floats, days become moments, and constants become what they are compared with.
pub(super) fn convert(draft: Draft, kind: Kind) -> Result<Draft, Error> {
    match (draft.kind, kind) {
        _ if draft.untyped || draft.kind == kind || draft.text_literal().is_some() => to(draft, kind),
        (Kind::Int, Kind::Float) | (Kind::Date, Kind::Timestamp) => to(draft, kind),
        (from, kind) => Err(mismatch(from, kind)),
    }
}

/// One kind for all of them.
pub(super) fn unify(drafts: Vec<Draft>) -> Result<(Kind, Vec<Draft>), Error> {
    let mut common: Option<Kind> = None;
    // Constants in quotes and NULLs adapt to the others.
    for draft in drafts
        .iter()
        .filter(|draft| !draft.untyped && draft.text_literal().is_none())
    {
        common = Some(match (common, draft.kind) {
            (None, kind) => kind,
            (Some(one), other) if one == other => one,
            (Some(Kind::Int | Kind::Float), Kind::Int | Kind::Float) => Kind::Float,
            (Some(Kind::Date | Kind::Timestamp), Kind::Date | Kind::Timestamp) => Kind::Timestamp,
            (Some(one), other) => return Err(mismatch(one, other)),
        });
    }
    let kind = common.unwrap_or(Kind::Text);
    let typed = Draft::null(kind).typed_as(&drafts.iter().collect::<Vec<_>>());
    let drafts = drafts
        .into_iter()
        .map(|draft| {
            Ok(Draft {
                numeric: typed.numeric,
                double: typed.double,
                ..convert(draft.settled(), kind)?
            })
        })
        .collect::<Result<_, Error>>()?;
    Ok((kind, drafts))
}

fn mismatch(one: Kind, other: Kind) -> Error {
    Error::refused(
        format!("{one} and {other} do not mix"),
        format!("CAST one of them: a cast to {other} that fails gives NULL"),
    )
}
