//! + - * / % and the sign.

use super::bounds::{Arithmetic, Bounds};
use super::draft::{Draft, binary, call, float};
use super::{casts, dates, integers};
use crate::{Error, Kind};
use datafusion::common::ScalarValue;
use datafusion::functions::core::nullif;
use datafusion::logical_expr::Operator;

/// Integers with bounds below this fit in 64 bits: it is a little less than 2^63.
const INTEGERS: f64 = 9.2e18;

/// The bounds of integers that fit in 32 bits.
const SMALL: Bounds = Bounds {
    low: -2_147_483_648.0,
    high: 2_147_483_648.0,
};

/// One of + - * / %.
pub(super) fn operate(left: Draft, operator: Operator, right: Draft) -> Result<Draft, Error> {
    if let (Kind::Date, Kind::Date, Operator::Minus) = (left.kind, right.kind, operator) {
        return Ok(dates::days_between(&left, &right));
    }
    let (left, right) = numbers(left, operator, right)?;
    match operator {
        Operator::Divide => divide(left, right),
        Operator::Modulo => remainder(left, right),
        _ => ring(left, operator, right),
    }
}

/// The sign changed. A constant stays one.
pub(super) fn negate(operand: Draft) -> Result<Draft, Error> {
    match operand.literal {
        Some(ScalarValue::Int64(Some(value))) if value != i64::MIN => Ok(Draft::int(-value)),
        Some(ScalarValue::Float64(Some(value))) => Ok(Draft {
            numeric: operand.numeric,
            ..Draft::constant(Kind::Float, ScalarValue::Float64(Some(-value)))
        }),
        // The engine's own sign fails on the smallest integer when that is a constant.
        _ => operate(Draft::int(0), Operator::Minus, operand),
    }
}

/// Both sides as numbers.
fn numbers(left: Draft, operator: Operator, right: Draft) -> Result<(Draft, Draft), Error> {
    let adapt = |draft: Draft, other: Kind| {
        let other = if other.is_number() { other } else { Kind::Float };
        match draft.untyped || draft.text_literal().is_some() {
            true => casts::to(draft, other),
            false => Ok(draft),
        }
    };
    let (left_kind, right_kind) = (left.kind, right.kind);
    let left = adapt(left, right_kind)?;
    let right = adapt(right, left_kind)?;
    if left.kind.is_number() && right.kind.is_number() {
        return Ok((left, right));
    }
    let hint = match (left.kind, right.kind) {
        (Kind::Timestamp, Kind::Timestamp) => {
            "write EXTRACT(EPOCH FROM a) - EXTRACT(EPOCH FROM b) for seconds"
        }
        (Kind::Date | Kind::Timestamp, _) | (_, Kind::Date | Kind::Timestamp) => {
            "write date + INTERVAL '1 day', or date - date for days"
        }
        (Kind::Bool, _) | (_, Kind::Bool) => "CAST the truth value AS BIGINT: true is 1",
        _ => "CAST text AS DOUBLE; what cannot be read gives NULL",
    };
    Err(Error::refused(
        format!("{} {operator} {} has no meaning", left.kind, right.kind),
        hint,
    ))
}

/// Sums, differences and products.
fn ring(left: Draft, operator: Operator, right: Draft) -> Result<Draft, Error> {
    let combine = |left: Bounds, right: Bounds, arithmetic| match operator {
        Operator::Plus => left.add(right, arithmetic),
        Operator::Minus => left.subtract(right, arithmetic),
        _ => left.multiply(right, arithmetic),
    };
    if left.kind == Kind::Int && right.kind == Kind::Int {
        let assured = |draft: &Draft| match draft.small && !draft.bounds.within(SMALL.high) {
            true => SMALL,
            false => draft.bounds,
        };
        let fits = combine(assured(&left), assured(&right), Arithmetic::Integer).within(INTEGERS);
        let bounds = combine(left.bounds, right.bounds, Arithmetic::Integer);
        let result = whole(&left, operator, &right).with_bounds(bounds);
        return Ok(if fits { result } else { result.with_nulls() });
    }
    let result = |left: Draft, right: Draft| {
        let bounds = combine(left.bounds, right.bounds, Arithmetic::Float);
        let expr = binary(left.expr.clone(), operator, right.expr.clone());
        let result = Draft::above(expr, Kind::Float, &[&left, &right]).with_bounds(bounds);
        Draft {
            integral: left.integral && right.integral,
            ..result.computed(&[&left, &right])
        }
    };
    as_floats(left, right, result)
}

/// An operator on two integers, which gives an integer.
fn whole(left: &Draft, operator: Operator, right: &Draft) -> Draft {
    let expr = integers::operate(left.expr.clone(), operator, right.expr.clone());
    Draft::above(expr, Kind::Int, &[left, right]).typed_as(&[left, right])
}

/// An operator on two floats, of which PostgreSQL's type follows from what was written.
fn as_floats(left: Draft, right: Draft, apply: impl Fn(Draft, Draft) -> Draft) -> Result<Draft, Error> {
    let typed = Draft::null(Kind::Float).typed_as(&[&left, &right]);
    let result = apply(casts::to(left, Kind::Float)?, casts::to(right, Kind::Float)?);
    Ok(Draft {
        numeric: typed.numeric,
        ..result
    })
}

/// Division: of integers without a fraction. NULL where the divisor is zero.
fn divide(left: Draft, right: Draft) -> Result<Draft, Error> {
    if left.is_integer() && right.is_integer() {
        let bounds = left.bounds.divide(right.bounds, true, Arithmetic::Integer);
        // The smallest integer divided by −1 does not fit; a divisor that cannot be −1, or a dividend that has bounds, rules that out.
        let safe = right
            .int_literal()
            .is_some_and(|divisor| divisor != 0 && divisor != -1)
            || (left.bounds.low > -INTEGERS && never_zero(&right));
        let result = whole(&left, Operator::Divide, &right).with_bounds(bounds);
        let result = if safe { result } else { result.with_nulls() };
        return Ok(Draft {
            small: left.small,
            ..result
        });
    }
    as_floats(left, right, |left, right| {
        // A quotient by infinity is finite, so an overflow must not get here.
        let right = right.settled();
        let bounds = left
            .bounds
            .divide(right.bounds, right.integral, Arithmetic::Float);
        let right = nonzero(right);
        let expr = binary(left.expr.clone(), Operator::Divide, right.expr.clone());
        let result = Draft::above(expr, Kind::Float, &[&left, &right]).with_bounds(bounds);
        result.computed(&[&left, &right])
    })
}

/// The remainder, with the sign of the dividend; NULL where the divisor is zero.
fn remainder(left: Draft, right: Draft) -> Result<Draft, Error> {
    let bounds = left.bounds.remainder(right.bounds);
    if left.kind == Kind::Int && right.kind == Kind::Int {
        // It is smaller than the divisor, and both are whole.
        let largest = (right.bounds.absolute().high - 1.0).max(0.0);
        let bounds = Bounds::new(bounds.low.max(-largest), bounds.high.min(largest));
        let small = right.small || left.small;
        let result = whole(&left, Operator::Modulo, &right).with_bounds(bounds);
        let result = if never_zero(&right) {
            result
        } else {
            result.with_nulls()
        };
        return Ok(Draft { small, ..result });
    }
    as_floats(left, right, |left, right| {
        let right = nonzero(right.settled());
        let expr = binary(left.expr.clone(), Operator::Modulo, right.expr.clone());
        let result = Draft::above(expr, Kind::Float, &[&left, &right]).with_bounds(bounds);
        Draft {
            integral: left.integral && right.integral,
            ..result.partly_defined()
        }
    })
}

/// Whether zero is not among the numbers that it can be.
fn never_zero(draft: &Draft) -> bool {
    draft.bounds.low > 0.0 || draft.bounds.high < 0.0
}

/// A float that is NULL where it is zero.
pub(super) fn nonzero(draft: Draft) -> Draft {
    if draft.number_literal().is_some_and(|value| value != 0.0) {
        return draft;
    }
    Draft {
        expr: call(nullif(), vec![draft.expr, float(0.0)]),
        nullable: true,
        weight: draft.weight.saturating_add(2),
        literal: None,
        ..draft
    }
}
