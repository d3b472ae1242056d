//! Numbers onto a grid: whole steps of 2^exponent, cut to a range. Total, whatever the number.

use super::registers::clamped;
use crate::Kind;
use datafusion::arrow::array::{Array, AsArray, Float64Array, Int64Array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, when,
};
use datafusion::prelude::{cast, floor, greatest, least, lit};
use std::sync::Arc;

/// 2⁶³, one more than an `i64` can hold, and the largest float below it.
const BEYOND: f64 = 9_223_372_036_854_775_808.0;
const HIGHEST: f64 = 9_223_372_036_854_774_784.0;
/// Beyond this every finite float is zero steps, or too many to count, so the exponent is cut here and powers of two stay floats.
const LARGEST_EXPONENT: i32 = 2000;

/// `value` in whole steps of 2^`exponent`: floor(value/2^exponent + ½) cut to [low, high]; an infinity is cut too; NULL and NaN become NULL.
///
/// Exact for every float and integer. `native` computes it in one pass; otherwise the expression is made of built-ins alone. Both are equal.
/// `kind` is that of the value, which must be a number.
pub fn on_grid(value: Expr, kind: Kind, exponent: i32, low: i64, high: i64, native: bool) -> Result<Expr> {
    if !kind.is_number() || low > high {
        return plan_err!(
            "{kind} cannot be put on this grid\nhint: grids are for numbers, and the lower end comes first"
        );
    }
    if native {
        let grid = ValueGrid {
            kind,
            exponent,
            low,
            high,
        };
        return Ok(grid.function().call(vec![value]));
    }
    match kind {
        Kind::Int => integer_on_grid(value, exponent, low, high),
        _ => float_on_grid(value, exponent, low, high),
    }
}

/// A grid, as [`on_grid`] puts values on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueGrid {
    /// What kind of number is put on it.
    pub kind: Kind,
    /// A step is 2 to this power.
    pub exponent: i32,
    /// The least number of steps.
    pub low: i64,
    /// The most.
    pub high: i64,
}

impl ValueGrid {
    /// Where a float is put on it, which is not NaN.
    pub fn place_of(self, value: f64) -> i64 {
        let (first, second) = factors(self.exponent);
        nearest(value * first * second).clamp(self.low, self.high)
    }

    /// The function that puts values on it.
    pub(crate) fn function(self) -> ScalarUDF {
        ScalarUDF::new_from_impl(OnGrid::new(self.kind, self.exponent, self.low, self.high))
    }
}

/// The grid onto which a function puts its argument, if it is the one that [`on_grid`] calls where it may: for who writes a plan in another language.
pub fn grid_of(function: &ScalarUDF) -> Option<ValueGrid> {
    let function = function.inner().downcast_ref::<OnGrid>()?;
    Some(ValueGrid {
        kind: function.kind,
        exponent: function.exponent,
        low: function.low,
        high: function.high,
    })
}

/// Reads back what [`on_grid`] makes of built-in functions alone: the value, and the grid. What is read says the same expression again, or it is none.
pub fn grid_of_expression(expression: &Expr) -> Option<(Expr, ValueGrid)> {
    fn sides(expr: &Expr) -> Option<(&Expr, &Expr)> {
        match expr {
            Expr::BinaryExpr(binary) => Some((&binary.left, &binary.right)),
            _ => None,
        }
    }
    fn integer(expr: &Expr) -> Option<i64> {
        match expr {
            Expr::Literal(ScalarValue::Int64(value), _) => *value,
            _ => None,
        }
    }
    /// The exponent of a power of two.
    fn exponent(expr: &Expr) -> Option<i32> {
        match expr {
            Expr::Literal(ScalarValue::Float64(Some(value)), _) => {
                Some((value.to_bits() >> 52) as i32 - 1023)
            }
            _ => None,
        }
    }
    let Expr::Case(case) = expression else {
        return None;
    };
    let otherwise = case.else_expr.as_deref()?;
    let (value, grid) = match &case.when_then_expr[..] {
        [(_, _), (above, high), (_, low)] => {
            let (product, second) = sides(sides(above)?.0)?;
            let (value, first) = sides(product)?;
            let grid = ValueGrid {
                kind: Kind::Float,
                exponent: -(exponent(first)? + exponent(second)?),
                low: integer(low)?,
                high: integer(high)?,
            };
            (value, grid)
        }
        [(first, one), (_, other)] => {
            let (one, other, operand) = (integer(one)?, integer(other)?, sides(first)?.0);
            let grid = |exponent: i32, low: i64, high: i64| ValueGrid {
                kind: Kind::Int,
                exponent,
                low,
                high,
            };
            match otherwise {
                // Steps of more than one, or of parts of it, or of one.
                Expr::BinaryExpr(sum) if sum.op == Operator::Plus => {
                    let (value, shift) = sides(&sum.left)?;
                    (value, grid(i32::try_from(integer(shift)?).ok()?, one, other))
                }
                Expr::BinaryExpr(shifted) if shifted.op == Operator::BitwiseShiftLeft => {
                    let shift = i32::try_from(integer(&shifted.right)?).ok()?;
                    (operand, grid(-shift, other, one))
                }
                _ => (operand, grid(0, other, one)),
            }
        }
        _ => return None,
    };
    let ValueGrid {
        kind,
        exponent,
        low,
        high,
    } = grid;
    let said = on_grid(value.clone(), kind, exponent, low, high, false).ok()?;
    (said == *expression).then(|| (value.clone(), grid))
}

fn integer_on_grid(value: Expr, exponent: i32, low: i64, high: i64) -> Result<Expr> {
    if exponent <= 0 {
        let shift = exponent.unsigned_abs();
        let (least, most) = shiftable(shift, low, high);
        // Between the limits the shifted value lies between the ends; from 64 on that is zero alone.
        let inside = match shift {
            0 | 64.. => value.clone(),
            _ => value.clone() << lit(i64::from(shift)),
        };
        return when(value.clone().gt(lit(most)), lit(high))
            .when(value.lt(lit(least)), lit(low))
            .otherwise(inside);
    }
    let steps = match exponent {
        // The quotient rounded down, and one more if its first binary digit is set.
        1..=63 => {
            let half = (value.clone() >> lit(i64::from(exponent) - 1)) & lit(1i64);
            (value >> lit(i64::from(exponent))) + half
        }
        // |value| ≤ 2⁶³ is at most half a step.
        _ => value & lit(0i64),
    };
    clamped(steps, low, high)
}

/// The least and most integers x with low ≤ x·2^shift ≤ high. There may be none; then every x is outside one of them.
pub fn shiftable(shift: u32, low: i64, high: i64) -> (i64, i64) {
    let shift = shift.min(64);
    let least = -((-i128::from(low)) >> shift);
    let most = i128::from(high) >> shift;
    // Both are at most as large as the ends they come from.
    (least as i64, most as i64)
}

fn float_on_grid(value: Expr, exponent: i32, low: i64, high: i64) -> Result<Expr> {
    let (first, second) = factors(exponent);
    let scaled = value * lit(first) * lit(second);
    let below = floor(scaled.clone());
    let rest = scaled.clone() - below.clone();
    let steps = below + when(rest.gt_eq(lit(0.5f64)), lit(1.0f64)).otherwise(lit(0.0f64))?;
    // Within what a cast can hold, so that it cannot fail wherever it is evaluated.
    let held = least(vec![greatest(vec![steps, lit(-BEYOND)]), lit(HIGHEST)]);
    let infinite = |sign: f64| lit(f64::INFINITY * sign);
    let nan = scaled
        .clone()
        .gt(infinite(1.0))
        .or(scaled.clone().lt(infinite(-1.0)));
    when(scaled.clone().is_null().or(nan), super::choice::null_integer())
        .when(scaled.clone().gt_eq(lit(BEYOND)), lit(high))
        .when(scaled.lt(lit(-BEYOND)), lit(low))
        .otherwise(clamped(cast(held, DataType::Int64), low, high)?)
}

/// 2^−exponent as a product of two floats. One multiplication can underflow only where the result is less than half a step, and overflow only
/// where the result does.
fn factors(exponent: i32) -> (f64, f64) {
    let exponent = -exponent.clamp(-LARGEST_EXPONENT, LARGEST_EXPONENT);
    let power = |exponent: i32| f64::from_bits(((exponent + 1023) as u64) << 52);
    (power(exponent / 2), power(exponent - exponent / 2))
}

/// floor(scaled + ½), or the end of all integers beyond which it lies.
#[inline]
fn nearest(scaled: f64) -> i64 {
    // `as` cuts the fraction off, and what lies beyond the ends of an integer. Where there is a fraction the float of the integer is
    // exact; where the ends were met the range is as well.
    let whole = scaled as i64;
    let rest = scaled - whole as f64;
    let above = i64::from(rest >= 0.5) - i64::from(rest < -0.5);
    whole.saturating_add(above)
}

/// The same in one pass.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OnGrid {
    signature: Signature,
    kind: Kind,
    exponent: i32,
    low: i64,
    high: i64,
}

impl OnGrid {
    fn new(kind: Kind, exponent: i32, low: i64, high: i64) -> Self {
        Self {
            signature: Signature::exact(vec![kind.data_type()], Volatility::Immutable),
            kind,
            exponent,
            low,
            high,
        }
    }

    fn integers(&self, values: &Int64Array) -> Int64Array {
        match self.exponent {
            ..=0 => {
                let shift = self.exponent.unsigned_abs();
                let (least, most) = shiftable(shift, self.low, self.high);
                values.unary(|value| match value {
                    _ if value > most => self.high,
                    _ if value < least => self.low,
                    _ => value.checked_shl(shift).unwrap_or(0),
                })
            }
            1..=63 => values.unary(|value| {
                let steps = (value >> self.exponent) + ((value >> (self.exponent - 1)) & 1);
                steps.clamp(self.low, self.high)
            }),
            64.. => values.unary(|_| 0i64.clamp(self.low, self.high)),
        }
    }

    fn floats(&self, values: &Float64Array) -> Int64Array {
        let (first, second) = factors(self.exponent);
        let steps: Int64Array =
            values.unary(|value| nearest(value * first * second).clamp(self.low, self.high));
        if !values.values().iter().any(|value| value.is_nan()) {
            return steps;
        }
        let numbers = NullBuffer::from_iter(values.values().iter().map(|value| !value.is_nan()));
        let nulls = NullBuffer::union(values.nulls(), Some(&numbers));
        Int64Array::new(steps.values().clone(), nulls)
    }
}

impl ScalarUDFImpl for OnGrid {
    fn name(&self) -> &str {
        "on_grid"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = arguments.args.as_slice() else {
            return exec_err!("on_grid takes one value");
        };
        let values = value.to_array(arguments.number_rows)?;
        let steps = match self.kind {
            Kind::Int => self.integers(values.as_primitive()),
            _ => self.floats(values.as_primitive()),
        };
        Ok(ColumnarValue::Array(Arc::new(steps)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::prelude::col;

    #[test]
    fn grids_are_read_back() {
        for kind in [Kind::Int, Kind::Float] {
            for exponent in [-900, -63, -20, -1, 0, 1, 20, 63, 900] {
                let expression = on_grid(col("x"), kind, exponent, -7, 9, false).unwrap();
                let read = grid_of_expression(&expression);
                if kind == Kind::Int && exponent.abs() > 63 {
                    continue;
                }
                let grid = ValueGrid {
                    kind,
                    exponent,
                    low: -7,
                    high: 9,
                };
                assert_eq!(read, Some((col("x"), grid)), "{kind} {exponent}");
            }
        }
        let other = when(col("x").gt(lit(1i64)), lit(1i64))
            .otherwise(col("x"))
            .unwrap();
        assert_eq!(grid_of_expression(&other), None);
    }
}
