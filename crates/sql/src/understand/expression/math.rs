//! Functions of numbers. Those that the engine fails on get arguments on which it does not.

use super::arithmetic::{nonzero, operate};
use super::bounds::Bounds;
use super::draft::{Draft, binary, call, float, integer, try_cast};
use super::functions::Call;
use super::{casts, choice, integers, logic};
use crate::{Error, Kind, Value};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::functions::core::{greatest, least, nullif};
use datafusion::functions::math;
use datafusion::logical_expr::{Expr, Operator, ScalarUDF};
use std::sync::Arc;

/// How many decimals may be asked for, before or after the point.
const PLACES: i64 = 15;

/// How many buckets there may be.
const BUCKETS: i64 = 100_000;

/// Integers of at most this size have an absolute value that fits.
const SAFE: f64 = 9.2e18;

/// How far results of functions without a last certain bit may stray, relatively.
const UNCERTAIN: f64 = 1e-12;

fn number(draft: Draft, name: &str) -> Result<Draft, Error> {
    if draft.untyped || draft.text_literal().is_some() {
        return casts::to(draft, Kind::Float);
    }
    match draft.kind {
        Kind::Int | Kind::Float => Ok(draft),
        kind => Err(Error::refused(
            format!("{name} needs a number, and this is {kind}"),
            "CAST it AS DOUBLE; what cannot be read gives NULL",
        )),
    }
}

fn real(draft: Draft, name: &str) -> Result<Draft, Error> {
    casts::to(number(draft, name)?, Kind::Float)
}

pub(super) fn absolute(mut call_: Call) -> Result<Draft, Error> {
    let [operand] = call_.take()?;
    let operand = number(operand, call_.name)?;
    let (bounds, small, integral) = (operand.bounds.absolute(), operand.small, operand.integral);
    if operand.kind == Kind::Float {
        let result = Draft::above(
            call(math::abs(), vec![operand.expr.clone()]),
            Kind::Float,
            &[&operand],
        );
        return Ok(Draft {
            integral,
            loose: operand.loose,
            ..result.with_bounds(bounds).typed_as(&[&operand])
        });
    }
    // The smallest integer has no absolute value.
    let inner = call(nullif(), vec![operand.expr.clone(), integer(i64::MIN)]);
    let result = Draft::above(call(math::abs(), vec![inner]), Kind::Int, &[&operand]);
    // Within its range an integer has one.
    let nullable = operand.nullable || !operand.bounds.within(SAFE);
    Ok(Draft {
        small,
        nullable,
        ..result.with_bounds(bounds).typed_as(&[&operand])
    })
}

/// A function that gives whole floats and never falls. Integers are whole already, but PostgreSQL makes floats of them, so they are divided with a fraction from here on.
fn whole(
    mut call_: Call,
    function: impl FnOnce(&Draft) -> Expr,
    on_bounds: impl Fn(f64) -> f64,
) -> Result<Draft, Error> {
    let [operand] = call_.take()?;
    let operand = number(operand, call_.name)?;
    if operand.kind == Kind::Int {
        return Ok(Draft {
            double: !operand.numeric,
            literal: None,
            ..operand
        });
    }
    let operand = operand.settled();
    let result = Draft::above(function(&operand), Kind::Float, &[&operand]).typed_as(&[&operand]);
    // Numbers between −1 and 0 are rounded to a negative zero.
    Ok(Draft {
        integral: true,
        ..result
            .with_bounds(operand.bounds.rising(on_bounds))
            .computed(&[&operand])
    })
}

pub(super) fn ceiling(call_: Call) -> Result<Draft, Error> {
    whole(
        call_,
        |operand| call(math::ceil(), vec![operand.expr.clone()]),
        f64::ceil,
    )
}

pub(super) fn floor(call_: Call) -> Result<Draft, Error> {
    whole(
        call_,
        |operand| call(math::floor(), vec![operand.expr.clone()]),
        f64::floor,
    )
}

/// `round(x)` and `round(x, places)`. Halves go away from zero where PostgreSQL has a `numeric`, and to the even neighbour where it has a `double precision`, of which
/// it rounds to no places but 0.
pub(super) fn round(call_: Call) -> Result<Draft, Error> {
    if call_.arguments.len() != 1 {
        let places = |places: i64| ScalarValue::Int32(i32::try_from(places).ok());
        return cut(call_, math::round(), true, places);
    }
    let halves = call_.arguments[0].halves();
    whole(
        call_,
        |operand| integers::rounded(operand.expr.clone(), halves),
        |end| halves.round(end),
    )
}

/// `trunc(x)` and `trunc(x, places)`, towards zero.
pub(super) fn truncate(call_: Call) -> Result<Draft, Error> {
    if call_.arguments.len() != 1 {
        return cut(call_, math::trunc(), false, |places| {
            ScalarValue::Int64(Some(places))
        });
    }
    whole(
        call_,
        |operand| call(math::trunc(), vec![operand.expr.clone()]),
        f64::trunc,
    )
}

fn cut(
    mut call_: Call,
    function: Arc<ScalarUDF>,
    to_nearest: bool,
    argument: fn(i64) -> ScalarValue,
) -> Result<Draft, Error> {
    let [operand, places] = call_.take()?;
    let operand = number(operand, call_.name)?;
    let places = places
        .int_literal()
        .filter(|places| places.abs() <= PLACES)
        .ok_or_else(|| {
            Error::refused(
                format!(
                    "the places of {} must be a constant from −{PLACES} to {PLACES}",
                    call_.name
                ),
                "write for example round(x, 2)",
            )
        })?;
    let step = 10f64.powi(-(places as i32));
    if operand.kind == Kind::Int {
        let typed = Draft {
            numeric: true,
            double: false,
            literal: None,
            ..operand.clone()
        };
        if places >= 0 {
            return Ok(typed);
        }
        // Without a detour over floats, which would not hit every half.
        let multiples = integers::multiple(operand.expr.clone(), 10i64.pow(-places as u32), to_nearest);
        let bounds = operand.bounds.widened(UNCERTAIN, step);
        let result = Draft::above(multiples, Kind::Int, &[&operand]).with_bounds(bounds);
        let fits = operand.small || operand.bounds.within(1e18);
        let result = result.typed_as(&[&typed]);
        return Ok(if fits { result } else { result.with_nulls() });
    }
    let operand = operand.settled();
    let arguments = vec![operand.expr.clone(), Expr::Literal(argument(places), None)];
    let bounds = operand.bounds.widened(UNCERTAIN, step);
    let result = Draft::above(call(function, arguments), Kind::Float, &[&operand]).with_bounds(bounds);
    Ok(Draft {
        integral: places <= 0,
        numeric: true,
        ..result.computed(&[&operand])
    })
}

/// −1, 0 or 1.
pub(super) fn sign(mut call_: Call) -> Result<Draft, Error> {
    let [operand] = call_.take()?;
    let operand = number(operand, call_.name)?;
    let (kind, numeric) = (operand.kind, operand.numeric);
    let operand = casts::to(operand, Kind::Float)?.settled();
    let expr = call(math::signum(), vec![operand.expr.clone()]);
    let expr = match kind {
        Kind::Int => try_cast(expr, DataType::Int64),
        _ => expr,
    };
    let result = Draft::above(expr, kind, &[&operand]);
    Ok(Draft {
        integral: true,
        small: kind == Kind::Int,
        numeric,
        double: kind == Kind::Int && !numeric,
        ..result.with_bounds(Bounds::new(-1.0, 1.0))
    })
}

/// NULL below zero, where the engine would fail.
pub(super) fn square_root(mut call_: Call) -> Result<Draft, Error> {
    let [operand] = call_.take()?;
    let operand = real(operand, call_.name)?.settled();
    let bounds = Bounds::new(operand.bounds.low.max(0.0), operand.bounds.high.max(0.0));
    // The largest float below zero. `greatest` gives it for all of them, and for NULL.
    let negative = float(-f64::from_bits(1));
    let inner = call(greatest(), vec![operand.expr.clone(), negative.clone()]);
    let inner = call(nullif(), vec![inner, negative]);
    let result = Draft::above(call(math::sqrt(), vec![inner]), Kind::Float, &[&operand]);
    Ok(result.with_bounds(bounds.rising(f64::sqrt)).with_nulls())
}

fn logarithm_of(operand: Draft, function: Arc<ScalarUDF>, on_bounds: fn(f64) -> f64) -> Draft {
    let operand = operand.settled();
    let bounds = match operand.bounds.low > 0.0 {
        true => operand.bounds.rising(on_bounds).widened(UNCERTAIN, UNCERTAIN),
        false => Bounds::UNKNOWN,
    };
    let result = Draft::above(
        call(function, vec![operand.expr.clone()]),
        Kind::Float,
        &[&operand],
    );
    // Of zero it is −∞ and below NaN; both become NULL.
    result.with_bounds(bounds).partly_defined()
}

pub(super) fn natural_logarithm(mut call_: Call) -> Result<Draft, Error> {
    let [operand] = call_.take()?;
    Ok(logarithm_of(real(operand, call_.name)?, math::ln(), f64::ln))
}

pub(super) fn binary_logarithm(mut call_: Call) -> Result<Draft, Error> {
    let [operand] = call_.take()?;
    Ok(logarithm_of(real(operand, call_.name)?, math::log2(), f64::log2))
}

/// `log10(x)`, `log(x)`, and `log(base, x)` as a quotient of logarithms.
pub(super) fn logarithm(mut call_: Call) -> Result<Draft, Error> {
    if call_.arguments.len() == 1 {
        let [operand] = call_.take()?;
        return Ok(logarithm_of(
            real(operand, call_.name)?,
            math::log10(),
            f64::log10,
        ));
    }
    let [base, operand] = call_.take()?;
    let base = logarithm_of(real(base, call_.name)?, math::ln(), f64::ln);
    let operand = logarithm_of(real(operand, call_.name)?, math::ln(), f64::ln);
    operate(operand, Operator::Divide, base)
}

pub(super) fn exponential(mut call_: Call) -> Result<Draft, Error> {
    let [operand] = call_.take()?;
    let operand = real(operand, call_.name)?.settled();
    let bounds = operand
        .bounds
        .rising(f64::exp)
        .widened(UNCERTAIN, f64::MIN_POSITIVE);
    let bounds = Bounds::new(bounds.low.max(0.0), bounds.high);
    let result = Draft::above(
        call(math::exp(), vec![operand.expr.clone()]),
        Kind::Float,
        &[&operand],
    );
    Ok(result.with_bounds(bounds).computed(&[&operand]))
}

/// `power(x, constant)`, or `power(constant above zero, x)`.
pub(super) fn power(mut call_: Call) -> Result<Draft, Error> {
    let [base, exponent] = call_.take()?;
    let base = real(base, call_.name)?.settled();
    let exponent = real(exponent, call_.name)?.settled();
    let (base, bounds) = match (base.number_literal(), exponent.number_literal()) {
        // The engine fails on zero to a negative power.
        (_, Some(power)) if power < 0.0 => (nonzero(base), Bounds::UNKNOWN),
        (_, Some(power)) => {
            let bounds = base.bounds;
            let ends = [bounds.low, bounds.high].map(|end: f64| end.powf(power));
            let known = bounds.range().is_some() && ends.iter().all(|end| end.is_finite());
            // Even whole powers fall up to zero and rise from there; all others rise where they are defined.
            let rises = power.fract() == 0.0 && power.rem_euclid(2.0) == 1.0;
            let low = match (bounds.low >= 0.0 || rises, bounds.high <= 0.0) {
                (true, _) => ends[0],
                (false, true) => ends[1],
                (false, false) => 0.0,
            };
            let high = if rises { ends[1] } else { ends[0].max(ends[1]) };
            match known {
                true => (base, Bounds::new(low, high).widened(UNCERTAIN, f64::MIN_POSITIVE)),
                false => (base, Bounds::UNKNOWN),
            }
        }
        (Some(constant), None) if constant > 0.0 => {
            let ends = [exponent.bounds.low, exponent.bounds.high].map(|end| constant.powf(end));
            let bounds = Bounds::new(ends[0].min(ends[1]), ends[0].max(ends[1]));
            (base, bounds.widened(UNCERTAIN, f64::MIN_POSITIVE))
        }
        _ => {
            return Err(Error::refused(
                "power takes a constant exponent, or a constant base above zero",
                "write power(x, 2), or exp(y * ln(x)) for two columns",
            ));
        }
    };
    let expr = call(math::power(), vec![base.expr.clone(), exponent.expr.clone()]);
    let result = Draft::above(expr, Kind::Float, &[&base, &exponent]).with_bounds(bounds);
    Ok(result.partly_defined())
}

/// `width_bucket(x, low, high, n)`: 0 below `low`, n + 1 from `high` on, and 1 to n in between.
pub(super) fn width_bucket(mut call_: Call) -> Result<Draft, Error> {
    let [operand, low, high, buckets] = call_.take()?;
    let operand = real(operand, call_.name)?.settled();
    let constants = (low.number_literal(), high.number_literal(), buckets.int_literal());
    let (low, high, buckets) = match constants {
        (Some(low), Some(high), Some(buckets))
            if low < high && (high - low).is_finite() && (1..=BUCKETS).contains(&buckets) =>
        {
            (low, high, buckets)
        }
        _ => {
            return Err(Error::refused(
                format!("width_bucket takes two constant bounds in order, and 1 to {BUCKETS} buckets"),
                "write width_bucket(x, 0, 100, 10)",
            ));
        }
    };
    let constant = |value: f64| Draft::constant(Kind::Float, ScalarValue::Float64(Some(value)));
    let conditions = vec![
        logic::compare(operand.clone(), Operator::Lt, constant(low))?,
        logic::compare(operand.clone(), Operator::GtEq, constant(high))?,
        logic::is_null(operand.clone(), false),
    ];
    // In the middle case 0 ≤ x − low ≤ high − low, so the place is at most n, and rounding is caught by the ends.
    let place = binary(operand.expr.clone(), Operator::Minus, float(low));
    let place = binary(place, Operator::Divide, float(high - low));
    let place = binary(place, Operator::Multiply, float(buckets as f64));
    let place = binary(try_cast(place, DataType::Int64), Operator::Plus, integer(1));
    let place = call(
        greatest(),
        vec![call(least(), vec![place, integer(buckets)]), integer(1)],
    );
    let place = Draft::above(place, Kind::Int, &[&operand]);
    let results = vec![Draft::int(0), Draft::int(buckets + 1), place];
    let result = choice::case(None, conditions, results, None)?;
    let listed = (0..=buckets + 1).map(Value::Int);
    Ok(Draft {
        values: (buckets < 1000).then(|| listed.collect()),
        nullable: operand.nullable,
        small: true,
        integral: true,
        ..result.with_bounds(Bounds::new(0.0, (buckets + 1) as f64))
    })
}
