//! Regular expressions over private rows: the pattern is a constant, and compiled here.

use super::bounds::Bounds;
use super::casts;
use super::draft::{Draft, call};
use super::functions::Call;
use crate::values::scalar::regular::{Compiled, SEARCHED, Task, similar};
use crate::values::scalar::regular_function;
use crate::{Error, Kind};
use datafusion::logical_expr::Operator;
use datafusion::logical_expr::expr::Like;

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

fn constant<'a>(draft: &'a Draft, what: &str) -> Result<&'a str, Error> {
    draft.text_literal().ok_or_else(|| {
        Error::refused(
            format!("{what} must be a constant text, so that it is known before anything is charged"),
            "write it into the query: x ~ '^[0-9]+$'",
        )
    })
}

/// A call on `operand`; the pattern stays an argument, so that plans can be read.
fn called(task: Task, compiled: Compiled, operand: &Draft, pattern: &Draft, kind: Kind) -> Draft {
    let arguments = vec![operand.expr.clone(), pattern.expr.clone()];
    let expr = call(regular_function(task, Some(compiled)), arguments);
    Draft::above(expr, kind, &[operand])
}

/// `regexp_like(x, pattern [, flags])` and its relatives.
fn function(mut call_: Call, task: Task, kind: Kind) -> Result<Draft, Error> {
    let name = call_.name;
    let most = if task == Task::Replace { 4 } else { 3 };
    let flags = match call_.arguments.len() == most {
        true => call_.arguments.pop(),
        false => None,
    };
    let flags = match &flags {
        Some(flags) => constant(flags, "the flags of a regular expression")?,
        None => "",
    };
    let replacement = match task {
        Task::Replace if call_.arguments.len() == 3 => call_.arguments.pop(),
        _ => None,
    };
    let [operand, pattern] = call_.take()?;
    let mut compiled = Compiled::new(constant(&pattern, "a regular expression")?, flags)?;
    if task == Task::Replace {
        let Some(replacement) = &replacement else {
            return Err(call_.wrong());
        };
        compiled = compiled.replacing(constant(replacement, "a replacement")?)?;
    }
    let operand = text(operand, name)?;
    Ok(called(task, compiled, &operand, &pattern, kind))
}

pub(super) fn like(call_: Call) -> Result<Draft, Error> {
    function(call_, Task::Like, Kind::Bool)
}

/// NULL where there is no match.
pub(super) fn substring(call_: Call) -> Result<Draft, Error> {
    Ok(function(call_, Task::Substring, Kind::Text)?.with_nulls())
}

pub(super) fn replace(call_: Call) -> Result<Draft, Error> {
    function(call_, Task::Replace, Kind::Text)
}

/// At most one match between any two characters.
pub(super) fn count(call_: Call) -> Result<Draft, Error> {
    let counted = function(call_, Task::Count, Kind::Int)?;
    Ok(Draft {
        small: true,
        ..counted.with_bounds(Bounds::new(0.0, SEARCHED as f64 + 1.0))
    })
}

/// `~`, `~*`, `!~` and `!~*`; `None` for other operators.
pub(super) fn operator(operator: Operator) -> Option<(bool, bool)> {
    match operator {
        Operator::RegexMatch => Some((false, false)),
        Operator::RegexIMatch => Some((true, false)),
        Operator::RegexNotMatch => Some((false, true)),
        Operator::RegexNotIMatch => Some((true, true)),
        _ => None,
    }
}

/// `x ~ 'pattern'`.
pub(super) fn matches(
    operand: Draft,
    pattern: &Draft,
    insensitive: bool,
    negated: bool,
) -> Result<Draft, Error> {
    let flags = if insensitive { "i" } else { "" };
    let compiled = Compiled::new(constant(pattern, "a regular expression")?, flags)?;
    let operand = text(operand, "a regular expression")?;
    let found = called(Task::Like, compiled, &operand, pattern, Kind::Bool);
    match negated {
        true => super::logic::not(found),
        false => Ok(found),
    }
}

/// `x SIMILAR TO 'pattern'`.
pub(super) fn similar_to(operand: Draft, pattern: Draft, like: &Like) -> Result<Draft, Error> {
    if like.escape_char.is_some_and(|escape| escape != '\\') {
        return Err(Error::refused(
            "SIMILAR TO has no other escape character than the backslash",
            "write SIMILAR TO '100\\%'",
        ));
    }
    let pattern = casts::to(pattern, Kind::Text)?;
    let written = similar(constant(&pattern, "the pattern of SIMILAR TO")?);
    let compiled = Compiled::new(&written, "")?;
    let operand = text(operand, "SIMILAR TO")?;
    let found = called(Task::Like, compiled, &operand, &pattern, Kind::Bool);
    match like.negated {
        true => super::logic::not(found),
        false => Ok(found),
    }
}
