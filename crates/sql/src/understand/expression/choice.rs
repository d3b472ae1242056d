//! Choosing between values: CASE, COALESCE, NULLIF, GREATEST and LEAST.

use super::bounds::Bounds;
use super::draft::{Draft, call};
use super::functions::Call;
use super::{casts, logic, values};
use crate::{Error, Kind, Value};
use datafusion::functions::core::{
    coalesce as coalesce_function, greatest, least, nullif as nullif_function,
};
use datafusion::logical_expr::Case;
use datafusion::logical_expr::Expr;
use std::sync::Arc;

/// Both forms of CASE.
pub(super) fn case(
    operand: Option<Draft>,
    conditions: Vec<Draft>,
    results: Vec<Draft>,
    otherwise: Option<Draft>,
) -> Result<Draft, Error> {
    let (operand, conditions) = match operand {
        None => {
            let conditions = conditions.into_iter().map(logic::truth);
            (None, conditions.collect::<Result<Vec<_>, _>>()?)
        }
        Some(operand) => {
            let mut parts = vec![operand];
            parts.extend(conditions);
            let (_, mut parts) = casts::unify(parts)?;
            let conditions = parts.split_off(1);
            (parts.pop(), conditions)
        }
    };
    let exhaustive = otherwise.is_some();
    let mut branches = results;
    branches.extend(otherwise);
    let (kind, branches) = casts::unify(branches)?;
    let boxed = |draft: &Draft| Box::new(draft.expr.clone());
    let expr = Expr::Case(Case {
        expr: operand.as_ref().map(boxed),
        when_then_expr: conditions
            .iter()
            .zip(&branches)
            .map(|(when, then)| (boxed(when), boxed(then)))
            .collect(),
        else_expr: branches.last().filter(|_| exhaustive).map(boxed),
    });
    let tests: Vec<&Draft> = operand.iter().chain(&conditions).collect();
    let mut result = one_of(expr, kind, &branches);
    for test in tests {
        result.of_unit &= test.of_unit;
        result.parts.extend(test.parts.iter().cloned());
        result.weight = result.weight.saturating_add(test.weight);
    }
    result.nullable = !exhaustive || branches.iter().any(|branch| branch.nullable);
    Ok(result)
}

/// The first that is not NULL.
pub(super) fn coalesce(call_: Call) -> Result<Draft, Error> {
    coalesce_all(call_.some()?)
}

pub(super) fn coalesce_all(parts: Vec<Draft>) -> Result<Draft, Error> {
    let (kind, parts) = casts::unify(parts)?;
    let expr = call(
        coalesce_function(),
        parts.iter().map(|part| part.expr.clone()).collect(),
    );
    let mut result = one_of(expr, kind, &parts);
    result.nullable = parts.iter().all(|part| part.nullable);
    // The engine writes it as a CASE, each part but the last twice.
    result.weight = result.weight.saturating_mul(2);
    Ok(result)
}

/// `nvl2(x, a, b)`: a unless x is NULL, and then b.
pub(super) fn nvl2(mut call_: Call) -> Result<Draft, Error> {
    let [tested, present, absent] = call_.take()?;
    let condition = logic::is_null(tested, false);
    case(None, vec![condition], vec![present], Some(absent))
}

/// NULL where both are equal, and the first elsewhere.
pub(super) fn nullif(mut call_: Call) -> Result<Draft, Error> {
    let [first, second] = call_.take()?;
    let (kind, parts) = casts::unify(vec![first, second])?;
    let [first, second] = &parts[..] else {
        return Err(call_.wrong());
    };
    let expr = call(nullif_function(), vec![first.expr.clone(), second.expr.clone()]);
    let result = Draft::above(expr, kind, &[first, second]);
    Ok(Draft {
        bounds: first.bounds,
        values: first.values.clone(),
        integral: first.integral,
        small: first.small,
        numeric: first.numeric,
        double: first.double,
        nullable: true,
        ..result
    })
}

/// The largest of its arguments that are not NULL.
pub(super) fn largest(call_: Call) -> Result<Draft, Error> {
    let (kind, parts) = casts::unify(call_.some()?)?;
    let expr = call(greatest(), parts.iter().map(|part| part.expr.clone()).collect());
    let mut result = one_of(expr, kind, &parts);
    result.nullable = parts.iter().all(|part| part.nullable);
    result.bounds = largest_bounds(&parts, |bounds| bounds);
    Ok(result)
}

/// The smallest of its arguments that are not NULL.
pub(super) fn smallest(call_: Call) -> Result<Draft, Error> {
    let (kind, parts) = casts::unify(call_.some()?)?;
    let expr = call(least(), parts.iter().map(|part| part.expr.clone()).collect());
    let mut result = one_of(expr, kind, &parts);
    result.nullable = parts.iter().all(|part| part.nullable);
    result.bounds = largest_bounds(&parts, Bounds::negate).negate();
    Ok(result)
}

/// Bounds of the largest of several, some of which may be NULL: at least the low end of each that never is.
fn largest_bounds(parts: &[Draft], turned: impl Fn(Bounds) -> Bounds) -> Bounds {
    let all = parts
        .iter()
        .filter(|part| !is_null(part))
        .map(|part| turned(part.bounds));
    let hull = all.reduce(Bounds::hull).unwrap_or(Bounds::UNKNOWN);
    let present = parts.iter().filter(|part| !part.nullable);
    let low = present
        .map(|part| turned(part.bounds).low)
        .fold(hull.low, f64::max);
    Bounds::new(low, hull.high)
}

/// A NULL constant says nothing about numbers.
fn is_null(draft: &Draft) -> bool {
    draft.literal.as_ref().is_some_and(|value| value.is_null())
}

/// A value that is one of several.
fn one_of(expr: Expr, kind: Kind, branches: &[Draft]) -> Draft {
    let parts: Vec<&Draft> = branches.iter().collect();
    let result = Draft::above(expr, kind, &parts);
    let numbers = branches.iter().filter(|branch| !is_null(branch));
    let bounds = numbers.map(|branch| branch.bounds).reduce(Bounds::hull);
    let mut all: Option<Vec<Value>> = Some(Vec::new());
    for branch in branches {
        all = match (all, &branch.values) {
            (Some(all), Some(values)) => values::union(all, values),
            _ => None,
        };
    }
    Draft {
        bounds: bounds.filter(|_| kind.is_number()).unwrap_or(Bounds::UNKNOWN),
        values: all.map(Arc::from),
        integral: branches.iter().all(|branch| branch.integral),
        small: branches.iter().all(|branch| branch.small),
        ..result.typed_as(&parts)
    }
}
