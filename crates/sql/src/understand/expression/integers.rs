//! Arithmetic that the engine does not have: as PostgreSQL computes, and NULL where PostgreSQL would raise an error.
//!
//! The engine's own integers wrap around, fail on a division by zero, and fail on the smallest integer divided by −1; its casts cut floats
//! where PostgreSQL rounds them. A result here depends on the values of one row alone, and there is one for every row: whatever does not
//! fit in 64 bits is NULL.

use super::draft::{call, integer};
use crate::Kind;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

/// The smallest float that is no integer of 64 bits: 2^63.
const BEYOND: f64 = 9_223_372_036_854_775_808.0;

/// Where halves go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Halves {
    /// To the even neighbour, as PostgreSQL rounds `double precision`.
    Even,
    /// Away from zero, as PostgreSQL rounds `numeric`.
    Away,
}

impl Halves {
    /// The nearest whole float.
    pub(super) fn round(self, value: f64) -> f64 {
        match self {
            Self::Even => value.round_ties_even(),
            Self::Away => value.round(),
        }
    }

    /// The nearest integer, where there is one of 64 bits.
    pub(super) fn integer(self, value: f64) -> Option<i64> {
        let whole = self.round(value);
        // False for NaN too.
        (-BEYOND..BEYOND).contains(&whole).then_some(whole as i64)
    }
}

/// One of + - * / % on two integers: NULL beyond 64 bits and for a divisor of zero. Quotients are cut towards zero, and a remainder has the sign of the dividend.
pub(super) fn operate(left: Expr, operator: Operator, right: Expr) -> Expr {
    let form = match operator {
        Operator::Plus => Form::Sum,
        Operator::Minus => Form::Difference,
        Operator::Multiply => Form::Product,
        Operator::Divide => Form::Quotient,
        _ => Form::Remainder,
    };
    called(form, vec![left, right])
}

/// Whether the function of this name gives the same with its operands exchanged.
pub(crate) fn commutes(name: &str) -> bool {
    [Form::Sum, Form::Product]
        .iter()
        .any(|form| Total::new(*form).name() == name)
}

/// A float as an integer: NULL where none of 64 bits is near.
pub(super) fn nearest(value: Expr, halves: Halves) -> Expr {
    called(Form::Nearest(halves), vec![value])
}

/// An integer as a multiple of a number above zero: the nearest one, halves away from zero, or the one towards zero. NULL beyond 64 bits.
pub(super) fn multiple(value: Expr, of: i64, to_nearest: bool) -> Expr {
    let form = match to_nearest {
        true => Form::NearestMultiple,
        false => Form::MultipleTowardsZero,
    };
    called(form, vec![value, integer(of)])
}

/// A float rounded to a whole one.
pub(super) fn rounded(value: Expr, halves: Halves) -> Expr {
    called(Form::Rounded(halves), vec![value])
}

/// All of them, for who has to know them by name.
pub(crate) fn total_functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    let halves = [Halves::Even, Halves::Away];
    let forms = [
        Form::Sum,
        Form::Difference,
        Form::Product,
        Form::Quotient,
        Form::Remainder,
        Form::NearestMultiple,
        Form::MultipleTowardsZero,
    ];
    let rounding = halves
        .into_iter()
        .flat_map(|halves| [Form::Nearest(halves), Form::Rounded(halves)]);
    forms
        .into_iter()
        .chain(rounding)
        .map(|form| Arc::new(ScalarUDF::new_from_impl(Total::new(form))))
}

fn called(form: Form, arguments: Vec<Expr>) -> Expr {
    call(Arc::new(ScalarUDF::new_from_impl(Total::new(form))), arguments)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    Sum,
    Difference,
    Product,
    Quotient,
    Remainder,
    NearestMultiple,
    MultipleTowardsZero,
    Nearest(Halves),
    Rounded(Halves),
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Total {
    signature: Signature,
    form: Form,
}

impl Total {
    fn new(form: Form) -> Self {
        let arguments = match form {
            Form::Nearest(_) | Form::Rounded(_) => vec![Kind::Float.data_type()],
            _ => vec![Kind::Int.data_type(); 2],
        };
        Self {
            signature: Signature::exact(arguments, Volatility::Immutable),
            form,
        }
    }
}

impl ScalarUDFImpl for Total {
    fn name(&self) -> &str {
        match self.form {
            Form::Sum => "integer_sum",
            Form::Difference => "integer_difference",
            Form::Product => "integer_product",
            Form::Quotient => "integer_quotient",
            Form::Remainder => "integer_remainder",
            Form::NearestMultiple => "nearest_multiple",
            Form::MultipleTowardsZero => "multiple_towards_zero",
            Form::Nearest(Halves::Even) => "nearest_integer",
            Form::Nearest(Halves::Away) => "nearest_integer_away",
            Form::Rounded(Halves::Even) => "rounded",
            Form::Rounded(Halves::Away) => "rounded_away",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.form {
            Form::Rounded(_) => DataType::Float64,
            _ => DataType::Int64,
        })
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let result: ArrayRef = match (self.form, arrays.as_slice()) {
            (Form::Rounded(halves), [value]) => {
                let value = value.as_primitive::<Float64Type>();
                Arc::new(value.unary::<_, Float64Type>(|value| halves.round(value)))
            }
            (Form::Nearest(halves), [value]) => Arc::new(nearest_integers(value.as_primitive(), halves)),
            (form, [left, right]) if left.len() == right.len() => {
                let (left, right) = (left.as_primitive(), right.as_primitive());
                Arc::new(match form {
                    Form::Sum => each(left, right, i64::overflowing_add),
                    Form::Difference => each(left, right, i64::overflowing_sub),
                    Form::Product => each(left, right, i64::overflowing_mul),
                    Form::Quotient => each(left, right, |left, right| match right {
                        0 => (0, true),
                        _ => left.overflowing_div(right),
                    }),
                    Form::NearestMultiple => each(left, right, |value, of| multiple_of(value, of, true)),
                    Form::MultipleTowardsZero => each(left, right, |value, of| multiple_of(value, of, false)),
                    // Of the smallest integer by −1 the remainder is zero, although the quotient does not fit.
                    _ => each(left, right, |left, right| match right {
                        0 => (0, true),
                        _ => (left.wrapping_rem(right), false),
                    }),
                })
            }
            _ => return exec_err!("integer arithmetic has two sides of equal length"),
        };
        Ok(ColumnarValue::Array(result))
    }
}

/// A function of two integers that says where it is undefined.
fn each(left: &Int64Array, right: &Int64Array, function: impl Fn(i64, i64) -> (i64, bool)) -> Int64Array {
    let pairs = || left.values().iter().zip(right.values());
    let mut undefined = false;
    let values: Vec<i64> = pairs()
        .map(|(left, right)| {
            let (value, overflow) = function(*left, *right);
            undefined |= overflow;
            value
        })
        .collect();
    let mut nulls = NullBuffer::union(left.nulls(), right.nulls());
    if undefined {
        let defined = pairs().map(|(left, right)| !function(*left, *right).1);
        nulls = NullBuffer::union(nulls.as_ref(), Some(&NullBuffer::from_iter(defined)));
    }
    Int64Array::new(values.into(), nulls)
}

/// The multiple of a number, and whether there is none of 64 bits.
fn multiple_of(value: i64, of: i64, to_nearest: bool) -> (i64, bool) {
    if of <= 0 {
        return (0, true);
    }
    // The rest has the sign of the value and is less than the number in size, so it can be subtracted.
    let rest = value % of;
    match to_nearest && rest.unsigned_abs() >= of.unsigned_abs().div_ceil(2) {
        true => (value - rest).overflowing_add(of * rest.signum()),
        false => (value - rest, false),
    }
}

fn nearest_integers(values: &Float64Array, halves: Halves) -> Int64Array {
    values.unary_opt::<_, Int64Type>(|value| halves.integer(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDGES: [i64; 9] = [i64::MIN, i64::MIN + 1, -7, -1, 0, 1, 2, i64::MAX - 1, i64::MAX];

    #[test]
    fn every_pair_of_integers_has_a_result() {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for one in EDGES.map(Some).into_iter().chain([None]) {
            for other in EDGES.map(Some).into_iter().chain([None]) {
                left.push(one);
                right.push(other);
            }
        }
        let (left, right) = (Int64Array::from(left), Int64Array::from(right));
        type Checked = fn(i64, i64) -> Option<i64>;
        let forms: [(Form, Checked); 5] = [
            (Form::Sum, i64::checked_add),
            (Form::Difference, i64::checked_sub),
            (Form::Product, i64::checked_mul),
            (Form::Quotient, i64::checked_div),
            (Form::Remainder, |a, b| (b != 0).then(|| a.wrapping_rem(b))),
        ];
        for (form, expected) in forms {
            let arguments = ScalarFunctionArgs {
                args: vec![
                    ColumnarValue::Array(Arc::new(left.clone())),
                    ColumnarValue::Array(Arc::new(right.clone())),
                ],
                arg_fields: vec![],
                number_rows: left.len(),
                return_field: Arc::new(datafusion::arrow::datatypes::Field::new(
                    "result",
                    DataType::Int64,
                    true,
                )),
                config_options: Arc::default(),
            };
            let found = Total::new(form).invoke_with_args(arguments).unwrap();
            let found = found.into_array(left.len()).unwrap();
            let found = found.as_primitive::<Int64Type>();
            for (row, (one, other)) in left.iter().zip(&right).enumerate() {
                let expected = one.zip(other).and_then(|(one, other)| expected(one, other));
                let found = found.is_valid(row).then(|| found.value(row));
                assert_eq!(found, expected, "{form:?} of {one:?} and {other:?}");
            }
        }
    }

    #[test]
    fn multiples_are_the_nearest_or_towards_zero() {
        let multiple = |value, to_nearest| match multiple_of(value, 10, to_nearest) {
            (multiple, false) => Some(multiple),
            (_, true) => None,
        };
        let values = [-25, -24, -15, -5, -4, 0, 5, 14, 15];
        let nearest = values.map(|value| multiple(value, true).unwrap());
        assert_eq!(nearest, [-30, -20, -20, -10, 0, 0, 10, 10, 20]);
        let cut = values.map(|value| multiple(value, false).unwrap());
        assert_eq!(cut, [-20, -20, -10, 0, 0, 0, 0, 10, 10]);
        assert_eq!(multiple(i64::MIN, true), None);
        assert_eq!(multiple(i64::MAX, true), None);
        assert_eq!(multiple(i64::MIN, false), Some(i64::MIN + 8));
    }

    #[test]
    fn halves_go_where_postgresql_sends_them() {
        let floats = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4999999999999996];
        assert_eq!(
            floats.map(|value| Halves::Even.integer(value).unwrap()),
            [-2, -2, 0, 0, 2, 2, 2]
        );
        assert_eq!(
            floats.map(|value| Halves::Away.integer(value).unwrap()),
            [-3, -2, -1, 1, 2, 3, 2]
        );
        for none in [f64::NAN, f64::INFINITY, BEYOND, -BEYOND.next_up()] {
            assert_eq!(Halves::Even.integer(none), None);
        }
        assert_eq!(Halves::Away.integer(-BEYOND), Some(i64::MIN));
        assert_eq!(Halves::Even.integer(BEYOND.next_down()), Some(i64::MAX - 1023));
    }
}
