//! Expressions: closed lists of what is a function of one row and cannot raise an error, and what is known of its values.
//!
//! What is looked up is the engine's own type of an expression, the function that a call holds with its volatility, and the types of operands. Functions of ours are told by their type,
//! those of the engine by their names: a session for private rows has no others of these names.

use super::defect::{Defect, Kind};
use super::judgement::{Known, Owned};
use bound::{CanonicalForm, canonical_form_of, grid_of};
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions, new_null_array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::{Operator, TypeSignature, Volatility};
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal,
    NotExpr, TryCastExpr,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use std::sync::Arc;

/// Functions of the engine and of ours that are total: they map one row's values to one value, and never fail for values of the types that they take.
const FUNCTIONS: &str = "
    canonical_float canonical_identifier canonical_integer canonical_text on_grid
    part_of_length too_long shortened
    abs ceil exp floor isnan iszero ln log log10 log2 nanvl power round signum sqrt trunc
    coalesce greatest least nullif nvl nvl2
    ascii btrim character_length concat concat_ws contains ends_with left lower lpad ltrim md5 octet_length overlay
    replace reverse right rpad rtrim split_part starts_with strpos substr translate upper
    date_part date_trunc
    integer_sum integer_difference integer_product integer_quotient integer_remainder
    nearest_integer nearest_integer_away nearest_multiple multiple_towards_zero rounded rounded_away";

/// Functions that are total if the constants among their arguments are right, each with the place of the argument that is none.
const WITH_CONSTANTS: [(&str, usize); 6] = [
    ("date_bin", 1),
    ("regexp_count", 0),
    ("regexp_like", 0),
    ("regexp_replace", 0),
    ("regexp_substr", 0),
    ("to_char", 0),
];

fn refused(what: impl Into<String>) -> Defect {
    Defect::new(Kind::Expression, what)
}

/// Whether an expression is a function of one row that cannot raise an error, given what is known of the row's columns.
pub(crate) fn check(expr: &Arc<dyn PhysicalExpr>, input: &Schema, known: &[Known]) -> Result<(), Defect> {
    let all = || {
        expr.children()
            .into_iter()
            .try_for_each(|child| check(child, input, known))
    };
    if let Some(column) = expr.downcast_ref::<Column>() {
        return match column.index() < input.fields().len() {
            true => Ok(()),
            false => Err(refused("a column that there is not")),
        };
    }
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        if !is_total(binary, input, known) {
            return Err(refused(format!("{binary} on these operands")));
        }
        return all();
    }
    if let Some(cast) = expr.downcast_ref::<CastExpr>() {
        let from = cast
            .expr()
            .data_type(input)
            .map_err(|_| refused("a cast of what has no type"))?;
        if !cast_is_total(&from, cast.cast_type()) && !operand_fits(cast) {
            return Err(refused(format!("a cast from {from} to {}", cast.cast_type())));
        }
        return all();
    }
    if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
        if call.fun().signature().volatility != Volatility::Immutable {
            return Err(refused(format!("{} is not the same each time", call.name())));
        }
        if !takes_these(call, input) {
            return Err(refused(format!("{} on these operands", call.name())));
        }
        let called = call.fun().name();
        let total = FUNCTIONS.split_whitespace().any(|name| name == called);
        if !total && !takes_its_constants(call, input) {
            return Err(refused(format!("the function {called}")));
        }
        return all();
    }
    let known = expr.is::<Literal>()
        || expr.is::<CaseExpr>()
        || expr.is::<TryCastExpr>()
        || expr.is::<InListExpr>()
        || expr.is::<IsNullExpr>()
        || expr.is::<IsNotNullExpr>()
        || expr.is::<LikeExpr>()
        || expr.is::<NotExpr>();
    match known {
        true => all(),
        false => Err(refused("an expression of a type that is not on the list")),
    }
}

/// Whether a function of numbers gets numbers of the types that it names. What else it does with others, it does only where there are rows.
fn takes_these(call: &ScalarFunctionExpr, input: &Schema) -> bool {
    let TypeSignature::Exact(named) = &call.fun().signature().type_signature else {
        return true;
    };
    let of_numbers = named
        .iter()
        .all(|of| matches!(of, DataType::Int64 | DataType::Float64));
    let mut pairs = call.args().iter().zip(named);
    let same = |(argument, of): (&Arc<dyn PhysicalExpr>, &DataType)| {
        argument.data_type(input).is_ok_and(|found| found == *of)
    };
    !of_numbers || call.args().len() == named.len() && pairs.all(same)
}

/// Whether all arguments but one are constants with which the function works. What they are is read before any row, so a row of NULLs tells.
fn takes_its_constants(call: &ScalarFunctionExpr, input: &Schema) -> bool {
    let of_rows = WITH_CONSTANTS.iter().find(|(name, _)| *name == call.fun().name());
    let Some((_, of_rows)) = of_rows else {
        return false;
    };
    let mut arguments = call.args().iter().enumerate();
    let constant = arguments.all(|(place, argument)| place == *of_rows || argument.is::<Literal>());
    let nullable = |field: &Arc<Field>| Arc::new(field.as_ref().clone().with_nullable(true));
    let schema = Arc::new(Schema::new(
        input.fields().iter().map(nullable).collect::<Vec<_>>(),
    ));
    let nothing = input
        .fields()
        .iter()
        .map(|field| new_null_array(field.data_type(), 1));
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(schema, nothing.collect(), &options);
    constant && row.is_ok_and(|row| call.evaluate(&row).is_ok())
}

/// Comparisons and logic always; sums, differences and products, which wrap around; quotients of floats, and of others by a constant that is neither 0 nor −1 or by what is positive.
fn is_total(binary: &BinaryExpr, input: &Schema, known: &[Known]) -> bool {
    match binary.op() {
        Operator::And
        | Operator::Or
        | Operator::Eq
        | Operator::NotEq
        | Operator::Lt
        | Operator::LtEq
        | Operator::Gt
        | Operator::GtEq
        | Operator::IsDistinctFrom
        | Operator::IsNotDistinctFrom
        | Operator::Plus
        | Operator::Minus
        | Operator::Multiply
        | Operator::StringConcat
        | Operator::BitwiseShiftLeft
        | Operator::BitwiseShiftRight
        | Operator::BitwiseAnd => true,
        Operator::Divide | Operator::Modulo => {
            let by = binary.right();
            let float = by.data_type(input).is_ok_and(|of| of.is_floating());
            let positive = || between(by, known).is_some_and(|(low, _)| low > 0);
            float || integer(by).map_or_else(positive, |value| value != 0 && value != -1)
        }
        _ => false,
    }
}

fn is_text(of: &DataType) -> bool {
    matches!(of, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_moment(of: &DataType) -> bool {
    matches!(of, DataType::Timestamp(TimeUnit::Microsecond, None))
}

/// Casts that have a result for every value.
fn cast_is_total(from: &DataType, to: &DataType) -> bool {
    if from == to || *from == DataType::Null || (is_text(from) && is_text(to)) {
        return true;
    }
    let whole = from.is_integer();
    match to {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            whole
                || from.is_floating()
                || matches!(from, DataType::Boolean | DataType::Date32)
                || is_moment(from)
        }
        DataType::Float64 => whole || from.is_floating() || *from == DataType::Boolean,
        DataType::Int64 => {
            is_moment(from)
                || matches!(
                    from,
                    DataType::Boolean
                        | DataType::Int8
                        | DataType::Int16
                        | DataType::Int32
                        | DataType::UInt8
                        | DataType::UInt16
                        | DataType::UInt32
                        | DataType::Date32
                )
        }
        DataType::Int32 => matches!(from, DataType::Date32 | DataType::Int8 | DataType::Int16),
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            matches!(from, DataType::Int64 | DataType::Date32)
        }
        DataType::Date32 => *from == DataType::Int32 || is_moment(from),
        _ => false,
    }
}

/// Casts that have a result for every value that there can be: of floats that were cut to what 64 bits hold, NaN too, by `least(greatest(x, low), high)`.
fn operand_fits(cast: &CastExpr) -> bool {
    /// 2⁶³, the least float that is too large.
    const END: f64 = 9_223_372_036_854_775_808.0;
    let held = || {
        let [inner, high] = arguments(cast.expr(), "least")? else {
            return None;
        };
        let [_, low] = arguments(inner, "greatest")? else {
            return None;
        };
        Some(float(low)? >= -END && float(high)? < END)
    };
    *cast.cast_type() == DataType::Int64 && held() == Some(true)
}

/// The arguments of a call of this function.
fn arguments<'a>(expr: &'a Arc<dyn PhysicalExpr>, name: &str) -> Option<&'a [Arc<dyn PhysicalExpr>]> {
    let call = expr.downcast_ref::<ScalarFunctionExpr>()?;
    (call.fun().name() == name).then(|| call.args())
}

fn float(expr: &Arc<dyn PhysicalExpr>) -> Option<f64> {
    match literal(expr)? {
        ScalarValue::Float64(value) => *value,
        _ => None,
    }
}

/// The place of the column that an expression is.
pub(crate) fn place(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    expr.downcast_ref::<Column>().map(Column::index)
}

/// The same expression over columns that are elsewhere, without their names; `None` where one of them is nowhere.
pub(crate) fn elsewhere(
    expr: &Arc<dyn PhysicalExpr>,
    to: impl Fn(usize) -> Option<usize>,
) -> Option<Arc<dyn PhysicalExpr>> {
    let mut lost = false;
    let moved = Arc::clone(expr).transform_up(|expr| match place(&expr) {
        None => Ok(Transformed::no(expr)),
        Some(from) => {
            lost |= to(from).is_none();
            Ok(Transformed::yes(Arc::new(Column::new(
                "",
                to(from).unwrap_or(from),
            ))))
        }
    });
    moved.ok().filter(|_| !lost).map(|moved| moved.data)
}

/// The same expression; columns are the same by their places, whatever they are called.
pub(crate) fn same(one: &Arc<dyn PhysicalExpr>, other: &Arc<dyn PhysicalExpr>) -> bool {
    elsewhere(one, Some) == elsewhere(other, Some)
}

pub(crate) fn integer(expr: &Arc<dyn PhysicalExpr>) -> Option<i128> {
    match literal(expr)? {
        ScalarValue::Int64(Some(value)) => Some(i128::from(*value)),
        ScalarValue::Int32(Some(value)) => Some(i128::from(*value)),
        ScalarValue::UInt64(Some(value)) => Some(i128::from(*value)),
        _ => None,
    }
}

fn literal(expr: &Arc<dyn PhysicalExpr>) -> Option<&ScalarValue> {
    expr.downcast_ref::<Literal>().map(Literal::value)
}

fn is_null_literal(expr: &Arc<dyn PhysicalExpr>) -> bool {
    literal(expr).is_some_and(ScalarValue::is_null)
}

pub(crate) fn is_false(expr: &Arc<dyn PhysicalExpr>) -> bool {
    literal(expr) == Some(&ScalarValue::Boolean(Some(false)))
}

/// Whether an expression names the owner as a column does.
pub(crate) fn names_owner(expr: &Arc<dyn PhysicalExpr>, rows: &Owned, input: &Schema) -> bool {
    keeps(expr, &|column| rows.is_owner(column), rows.read, input)
}

/// Whether an expression is one of these names as it is; or, on its way from a scan, converted by a function that never makes two names one and gives NULL for what it cannot convert.
pub(crate) fn keeps(
    expr: &Arc<dyn PhysicalExpr>,
    is_name: &dyn Fn(usize) -> bool,
    read: bool,
    input: &Schema,
) -> bool {
    if let Some(column) = place(expr) {
        return is_name(column);
    }
    if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
        let [of] = call.args() else { return false };
        let form = canonical_form_of(call.fun());
        return matches!(form, Some(CanonicalForm::Identifier | CanonicalForm::Integer))
            && keeps(of, is_name, read, input);
    }
    // A name or NULL, by a condition on the same row.
    if let Some(case) = expr.downcast_ref::<CaseExpr>() {
        let rest = case.else_expr().is_none_or(is_null_literal);
        let [(_, name)] = case.when_then_expr() else {
            return false;
        };
        return rest && case.expr().is_none() && keeps(name, is_name, read, input);
    }
    let converted = match (
        expr.downcast_ref::<TryCastExpr>(),
        expr.downcast_ref::<CastExpr>(),
    ) {
        (Some(cast), _) => Some((cast.expr(), cast.cast_type())),
        (_, Some(cast)) => Some((cast.expr(), cast.cast_type())),
        _ => None,
    };
    converted.is_some_and(|(of, to)| {
        let from = of.data_type(input);
        read && from.is_ok_and(|from| is_injective(&from, to)) && keeps(of, is_name, read, input)
    })
}

/// Conversions of identifiers that never make two of them one, where they give no NULL.
fn is_injective(from: &DataType, to: &DataType) -> bool {
    let scale_zero = matches!(
        from,
        DataType::Decimal32(_, 0) | DataType::Decimal64(_, 0) | DataType::Decimal128(_, 0)
    );
    let whole = from.is_integer() || *from == DataType::Boolean || scale_zero;
    match (from, to) {
        (DataType::Null, _) => true,
        (DataType::Dictionary(_, values), to) => values.as_ref() == to || is_injective(values, to),
        _ if is_text(from) => is_text(to),
        (_, DataType::Int64) => whole,
        (_, to) if is_text(to) => from.is_integer() || *from == DataType::Boolean,
        (DataType::Date32, DataType::Timestamp(TimeUnit::Microsecond, None)) => true,
        (
            DataType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond | TimeUnit::Microsecond, _),
            DataType::Timestamp(TimeUnit::Microsecond, None),
        ) => true,
        _ => from == to,
    }
}

/// Whether an expression is the same in all rows: it is computed of constants alone.
pub(crate) fn is_constant(expr: &Arc<dyn PhysicalExpr>, columns: &[Known]) -> bool {
    match place(expr) {
        Some(column) => columns.get(column).is_some_and(|known| known.constant),
        None => expr
            .children()
            .into_iter()
            .all(|child| is_constant(child, columns)),
    }
}

/// Between which integers every value lies that is not NULL.
pub(crate) fn between(expr: &Arc<dyn PhysicalExpr>, columns: &[Known]) -> Option<(i64, i64)> {
    if let Some(column) = place(expr) {
        return columns.get(column)?.between;
    }
    if expr.is::<Literal>() {
        let value = i64::try_from(integer(expr)?).ok()?;
        return Some((value, value));
    }
    if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
        if let Some(grid) = grid_of(call.fun()) {
            return Some((grid.low, grid.high));
        }
        let ends = (call.fun().name() == "coalesce").then(|| call.args().iter());
        return union(ends?.map(|value| between(value, columns)));
    }
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        let (low, high) = between(binary.left(), columns)?;
        let (least, most) = between(binary.right(), columns)?;
        return match binary.op() {
            Operator::Plus => Some((low.checked_add(least)?, high.checked_add(most)?)),
            Operator::Minus => Some((low.checked_sub(most)?, high.checked_sub(least)?)),
            _ => None,
        };
    }
    let case = expr.downcast_ref::<CaseExpr>()?;
    if case.expr().is_some() {
        return None;
    }
    let branches = case
        .when_then_expr()
        .iter()
        .map(|(_, then)| between(then, columns));
    let rest = match case.else_expr() {
        None => return union(branches),
        Some(rest) if is_null_literal(rest) => return union(branches),
        Some(rest) => rest,
    };
    // What is left is not less than, and not more than, what was asked before.
    let (mut low, mut high) = between(rest, columns).unwrap_or((i64::MIN, i64::MAX));
    for (when, _) in case.when_then_expr() {
        let Some(asked) = when
            .downcast_ref::<BinaryExpr>()
            .filter(|asked| asked.left() == rest)
        else {
            continue;
        };
        let Some(end) = integer(asked.right()).and_then(|end| i64::try_from(end).ok()) else {
            continue;
        };
        match asked.op() {
            Operator::Lt => low = low.max(end),
            Operator::Gt => high = high.min(end),
            _ => {}
        }
    }
    if low > high || (low, high) == (i64::MIN, i64::MAX) {
        return None;
    }
    union(branches.chain([Some((low, high))]))
}

fn union(mut all: impl Iterator<Item = Option<(i64, i64)>>) -> Option<(i64, i64)> {
    let first = all.next()??;
    all.try_fold(first, |(low, high), next| {
        let (least, most) = next?;
        Some((low.min(least), high.max(most)))
    })
}
