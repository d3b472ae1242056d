//! Comparisons and three-valued logic.

use super::casts;
use super::draft::{Draft, binary};
use crate::{Error, Kind};
use datafusion::logical_expr::expr::{InList, Like};
use datafusion::logical_expr::{Between, Expr, Operator};

/// How long a pattern may be. The engine turns some patterns into automata, whose size it limits.
const PATTERN: usize = 1000;

/// A truth value, or a refusal.
pub(super) fn truth(draft: Draft) -> Result<Draft, Error> {
    match draft.kind {
        _ if draft.untyped => Ok(Draft::null(Kind::Bool)),
        Kind::Bool => Ok(draft),
        Kind::Text if draft.text_literal().is_some() => casts::to(draft, Kind::Bool),
        kind => Err(Error::refused(
            format!("a condition is true or false, and this is {kind}"),
            "compare it with something: x <> 0",
        )),
    }
}

pub(super) fn not(operand: Draft) -> Result<Draft, Error> {
    let operand = truth(operand)?;
    // The engine's own negation, which writes NOT IN for NOT … IN.
    Ok(Draft::above(!operand.expr.clone(), Kind::Bool, &[&operand]))
}

pub(super) fn is_null(operand: Draft, null: bool) -> Draft {
    let operand = operand.settled();
    let inner = Box::new(operand.expr.clone());
    let expr = if null {
        Expr::IsNull(inner)
    } else {
        Expr::IsNotNull(inner)
    };
    Draft::above(expr, Kind::Bool, &[&operand]).without_nulls()
}

/// `IS TRUE` and its five relatives; `original` tells which.
pub(super) fn is_truth(original: &Expr, operand: Draft) -> Result<Draft, Error> {
    let operand = truth(operand)?;
    let inner = Box::new(operand.expr.clone());
    let expr = match original {
        Expr::IsTrue(_) => Expr::IsTrue(inner),
        Expr::IsFalse(_) => Expr::IsFalse(inner),
        Expr::IsUnknown(_) => Expr::IsUnknown(inner),
        Expr::IsNotTrue(_) => Expr::IsNotTrue(inner),
        Expr::IsNotFalse(_) => Expr::IsNotFalse(inner),
        _ => Expr::IsNotUnknown(inner),
    };
    Ok(Draft::above(expr, Kind::Bool, &[&operand]).without_nulls())
}

pub(super) fn compare(left: Draft, operator: Operator, right: Draft) -> Result<Draft, Error> {
    let (_, sides) = casts::unify(vec![left, right])?;
    let [left, right] = &sides[..] else {
        return Err(super::refuse::operator(operator));
    };
    let expr = binary(left.expr.clone(), operator, right.expr.clone());
    let result = Draft::above(expr, Kind::Bool, &[left, right]);
    Ok(match operator {
        Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => result.without_nulls(),
        _ => result,
    })
}

/// `x BETWEEN low AND high`, of three parts.
pub(super) fn between(parts: Vec<Draft>, negated: bool) -> Result<Draft, Error> {
    let (_, parts) = casts::unify(parts)?;
    let [operand, low, high] = &parts[..] else {
        return Err(super::refuse::operator(Operator::Lt));
    };
    let boxed = |draft: &Draft| Box::new(draft.expr.clone());
    let expr = Expr::Between(Between::new(boxed(operand), negated, boxed(low), boxed(high)));
    let result = Draft::above(expr, Kind::Bool, &[operand, low, high]);
    Ok(Draft {
        // The engine writes it as two comparisons.
        weight: result.weight.saturating_add(operand.weight),
        ..result
    })
}

/// `x IN (a, b, …)`, of x and the rest.
pub(super) fn in_list(parts: Vec<Draft>, negated: bool) -> Result<Draft, Error> {
    let (_, parts) = casts::unify(parts)?;
    let Some((operand, list)) = parts.split_first() else {
        return Err(super::refuse::operator(Operator::Eq));
    };
    let members = list.iter().map(|draft| draft.expr.clone()).collect();
    let expr = Expr::InList(InList::new(Box::new(operand.expr.clone()), members, negated));
    let all: Vec<&Draft> = parts.iter().collect();
    let result = Draft::above(expr, Kind::Bool, &all);
    Ok(Draft {
        // The engine writes short lists as comparisons.
        weight: result.weight.saturating_add(operand.weight.saturating_mul(3)),
        ..result
    })
}

/// `LIKE` and `ILIKE` with a constant pattern.
pub(super) fn like(operand: Draft, pattern: Draft, like: &Like) -> Result<Draft, Error> {
    let operand = match operand.untyped {
        true => Draft::null(Kind::Text),
        false => operand,
    };
    if operand.kind != Kind::Text {
        return Err(Error::refused(
            format!("LIKE needs text, and this is {}", operand.kind),
            "CAST it AS VARCHAR",
        ));
    }
    match pattern.text_literal() {
        Some(text) if text.len() <= PATTERN => {}
        _ => {
            return Err(Error::refused(
                format!("the pattern of LIKE must be a constant of at most {PATTERN} bytes"),
                "use starts_with, ends_with or contains to compare two columns",
            ));
        }
    }
    if like.escape_char.is_some_and(|escape| escape != '\\') {
        return Err(Error::refused(
            "LIKE has no other escape character than the backslash",
            "write LIKE '100\\%'",
        ));
    }
    let expr = Expr::Like(Like::new(
        like.negated,
        Box::new(operand.expr.clone()),
        Box::new(pattern.expr.clone()),
        None,
        like.case_insensitive,
    ));
    Ok(Draft::above(expr, Kind::Bool, &[&operand, &pattern]))
}
