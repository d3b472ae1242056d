//! Text. Positions, lengths and delimiters are constants, so that none of them can be out of range.

use super::bounds::Bounds;
use super::draft::{Draft, binary, call, cast, integer};
use super::functions::Call;
use super::{casts, choice, draft};
use crate::{Error, Kind};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::functions::{string, unicode};
use datafusion::logical_expr::{Expr, Operator, ScalarUDF};
use std::sync::Arc;

/// `replace` reads this many characters: the engine gathers its results where texts of a batch must fit in two gigabytes together.
const REPLACED: i64 = 1_000;

/// How many times longer `replace` may make a text, before it is cut.
const GROWTH: usize = 16;

/// Text, or a refusal; constants and NULL are text.
fn text(draft: Draft, name: &str) -> Result<Draft, Error> {
    match draft.kind {
        _ if draft.untyped => Ok(Draft::null(Kind::Text)),
        Kind::Text => Ok(draft),
        kind => Err(Error::refused(
            format!("{name} needs text, and this is {kind}"),
            "CAST it AS VARCHAR",
        )),
    }
}

fn simple(mut call_: Call, function: Arc<ScalarUDF>) -> Result<Draft, Error> {
    let [operand] = call_.take()?;
    let operand = text(operand, call_.name)?;
    let expr = call(function, vec![operand.expr.clone()]);
    Ok(Draft::written(expr, &[&operand]))
}

pub(super) fn lower(call_: Call) -> Result<Draft, Error> {
    simple(call_, string::lower())
}

/// A letter can become three.
pub(super) fn upper(call_: Call) -> Result<Draft, Error> {
    simple(call_, string::upper())
}

pub(super) fn reverse(call_: Call) -> Result<Draft, Error> {
    simple(call_, unicode::reverse())
}

fn trimmed(mut call_: Call, function: Arc<ScalarUDF>) -> Result<Draft, Error> {
    if call_.arguments.len() == 1 {
        return simple(call_, function);
    }
    let [operand, characters] = call_.take()?;
    let operand = text(operand, call_.name)?;
    if characters.text_literal().is_none() {
        return Err(constants(call_.name));
    }
    let arguments = vec![operand.expr.clone(), characters.expr.clone()];
    Ok(Draft::above(call(function, arguments), Kind::Text, &[&operand]))
}

pub(super) fn trim(call_: Call) -> Result<Draft, Error> {
    trimmed(call_, string::btrim())
}

pub(super) fn trim_left(call_: Call) -> Result<Draft, Error> {
    trimmed(call_, string::ltrim())
}

pub(super) fn trim_right(call_: Call) -> Result<Draft, Error> {
    trimmed(call_, string::rtrim())
}

/// A count of characters, which the engine gives in 32 bits.
fn count(expr: Expr, parts: &[&Draft]) -> Draft {
    let counted = Draft::above(cast(expr, DataType::Int64), Kind::Int, parts);
    Draft {
        small: true,
        ..counted.with_bounds(Bounds::new(0.0, f64::INFINITY))
    }
}

pub(super) fn length(mut call_: Call) -> Result<Draft, Error> {
    let [operand] = call_.take()?;
    let operand = text(operand, call_.name)?;
    let expr = call(unicode::character_length(), vec![operand.expr.clone()]);
    Ok(count(expr, &[&operand]))
}

/// Where the second text begins in the first, counted from 1; 0 when it does not.
pub(super) fn position(mut call_: Call) -> Result<Draft, Error> {
    let [operand, part] = call_.take()?;
    let (operand, part) = (text(operand, call_.name)?, text(part, call_.name)?);
    let expr = call(unicode::strpos(), vec![operand.expr.clone(), part.expr.clone()]);
    Ok(count(expr, &[&operand, &part]))
}

fn test(mut call_: Call, function: Arc<ScalarUDF>) -> Result<Draft, Error> {
    let [operand, part] = call_.take()?;
    let (operand, part) = (text(operand, call_.name)?, text(part, call_.name)?);
    let expr = call(function, vec![operand.expr.clone(), part.expr.clone()]);
    Ok(Draft::above(expr, Kind::Bool, &[&operand, &part]))
}

pub(super) fn starts_with(call_: Call) -> Result<Draft, Error> {
    test(call_, string::starts_with())
}

pub(super) fn ends_with(call_: Call) -> Result<Draft, Error> {
    test(call_, string::ends_with())
}

pub(super) fn contains(call_: Call) -> Result<Draft, Error> {
    test(call_, string::contains())
}

/// `substr(x, start)` and `substr(x, start, length)`. A length below zero is an error in the engine, so it is refused here.
pub(super) fn substring(mut call_: Call) -> Result<Draft, Error> {
    let name = call_.name;
    let length = match call_.arguments.len() {
        3 => {
            let length = call_.arguments.pop().and_then(|length| length.int_literal());
            Some(
                length
                    .filter(|length| *length >= 0)
                    .ok_or_else(|| constants(name))?,
            )
        }
        _ => None,
    };
    let [operand, start] = call_.take()?;
    let operand = text(operand, name)?;
    let start = start
        .int_literal()
        .filter(|start| *start > i64::MIN)
        .ok_or_else(|| constants(name))?;
    let mut arguments = vec![operand.expr.clone(), integer(start)];
    arguments.extend(length.map(integer));
    Ok(Draft::above(
        call(unicode::substr(), arguments),
        Kind::Text,
        &[&operand],
    ))
}

fn end(mut call_: Call, function: Arc<ScalarUDF>) -> Result<Draft, Error> {
    let [operand, length] = call_.take()?;
    let operand = text(operand, call_.name)?;
    let length = length.int_literal().filter(|length| *length > i64::MIN);
    let length = length.ok_or_else(|| constants(call_.name))?;
    let arguments = vec![operand.expr.clone(), integer(length)];
    Ok(Draft::above(call(function, arguments), Kind::Text, &[&operand]))
}

pub(super) fn left(call_: Call) -> Result<Draft, Error> {
    end(call_, unicode::left())
}

pub(super) fn right(call_: Call) -> Result<Draft, Error> {
    end(call_, unicode::right())
}

/// `a || b`: NULL when one of them is.
pub(super) fn join(left: Draft, right: Draft) -> Result<Draft, Error> {
    let (left, right) = (written(left)?, written(right)?);
    let expr = binary(left.expr.clone(), Operator::StringConcat, right.expr.clone());
    Ok(Draft::written(expr, &[&left, &right]))
}

/// `concat(a, b, …)` passes over NULLs. It is written with `||`, because the engine's own loses all its arguments when it finds them empty.
pub(super) fn concat(call_: Call) -> Result<Draft, Error> {
    let present = |part: Draft| {
        let part = written(part)?;
        if !part.nullable {
            return Ok(part);
        }
        let empty = Draft::constant(Kind::Text, ScalarValue::Utf8View(Some(String::new())));
        choice::coalesce_all(vec![part, empty])
    };
    let parts: Vec<Draft> = call_
        .some()?
        .into_iter()
        .map(present)
        .collect::<Result<_, Error>>()?;
    draft::balanced(parts, join)
}

/// Anything, as text.
fn written(draft: Draft) -> Result<Draft, Error> {
    casts::to(draft.settled(), Kind::Text)
}

/// `replace(x, from, to)` with constants.
pub(super) fn replace(mut call_: Call) -> Result<Draft, Error> {
    let [operand, from, to] = call_.take()?;
    let operand = text(operand, call_.name)?;
    let (Some(old), Some(new)) = (from.text_literal(), to.text_literal()) else {
        return Err(constants(call_.name));
    };
    if old.is_empty() {
        return Err(constants(call_.name));
    }
    if new.len().div_ceil(old.len()) > GROWTH {
        return Err(Error::refused(
            format!("this replace could make text more than {GROWTH} times longer"),
            "replace by a shorter text",
        ));
    }
    let cut = call(unicode::left(), vec![operand.expr.clone(), integer(REPLACED)]);
    let expr = call(string::replace(), vec![cut, from.expr.clone(), to.expr.clone()]);
    Ok(Draft::written(cast(expr, DataType::Utf8View), &[&operand]))
}

/// `split_part(x, delimiter, n)` with constants; n counts from 1, or from −1 at the end.
pub(super) fn split(mut call_: Call) -> Result<Draft, Error> {
    let [operand, delimiter, place] = call_.take()?;
    let operand = text(operand, call_.name)?;
    let place = place
        .int_literal()
        .filter(|place| *place != 0 && *place > i64::MIN);
    let (Some(place), Some(_)) = (place, delimiter.text_literal()) else {
        return Err(constants(call_.name));
    };
    let arguments = vec![operand.expr.clone(), delimiter.expr.clone(), integer(place)];
    Ok(Draft::above(
        call(string::split_part(), arguments),
        Kind::Text,
        &[&operand],
    ))
}

fn constants(name: &str) -> Error {
    Error::refused(
        format!(
            "{name} takes constants over private rows: positions that exist, lengths from 0 on, texts to look for"
        ),
        "write for example substr(x, 1, 3), split_part(x, '-', 2) or replace(x, 'old', 'new')",
    )
}
