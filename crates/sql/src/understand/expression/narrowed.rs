//! What a filter leaves of what is known of a column.
//!
//! `WHERE date >= '2026-01-01'` leaves fewer months to list, `WHERE city IN ('Ash', 'Bree')` two groups, and `WHERE income < 100000` a smaller range to clamp to. The filter itself is
//! applied to every row, so what is said here of the rows behind it is true of them. As everywhere, facts decide which groups are listed and what values are clamped to: a mistake would
//! cost accuracy and never privacy.

use super::values::{FOLLOWED, WORK, compute, enumerable, nodes, scalar, size, value};
use crate::values::facts::{Facts, Kind, Range, Value};
use crate::values::group_name::encode;
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::logical_expr::utils::split_binary;
use datafusion::logical_expr::{Expr, Operator};
use std::collections::HashMap;
use std::sync::Arc;

/// What is known of a column of the rows that a condition keeps, if the condition says anything about it. The condition is an accepted one, and about this column alone.
pub(crate) fn narrowed(condition: &Expr, column: &Column, facts: &Facts) -> Option<Facts> {
    tried(condition, column, facts).or_else(|| compared(condition, facts))
}

/// Of a column with few public values: those of which the condition is true.
fn tried(condition: &Expr, column: &Column, facts: &Facts) -> Option<Facts> {
    let listed = size(facts, false).filter(|listed| listed.saturating_mul(nodes(condition)) <= WORK)?;
    let mut all = enumerable(facts, false)?;
    if facts.nullable {
        all.push(Value::Null);
    }
    let scalars = all.iter().map(|value| scalar(value, facts.kind));
    let field = Arc::new(Field::new(&column.name, facts.kind.data_type(), true));
    let arrow = Arc::new(Schema::new(vec![field.clone()]));
    let fields = vec![(column.relation.clone(), field)];
    let schema = Arc::new(DFSchema::new_with_metadata(fields, HashMap::default()).ok()?);
    let batch = RecordBatch::try_new(arrow, vec![ScalarValue::iter_to_array(scalars).ok()?]).ok()?;
    let result = compute(condition, &schema, &batch)?;
    let result = result.as_boolean_opt()?;
    let holds = |place: usize| result.is_valid(place) && result.value(place);
    let left: Vec<Value> = (0..listed)
        .filter(|place| holds(*place))
        .map(|place| all[place].clone())
        .collect();
    let nullable = facts.nullable && holds(listed);
    // Where no declared value passes, rows that break the declaration may: all that is known of these is what was declared.
    let (range, values) = match left.len() {
        0 => (facts.range, facts.values.clone()),
        few if few == listed => (facts.range, facts.values.clone()),
        few => within(facts, left, few),
    };
    Some(Facts {
        range,
        values,
        nullable,
        ..facts.clone()
    })
}

/// The range and the values of what is left of a column's. Conditions say the same in any order.
fn within(facts: &Facts, left: Vec<Value>, few: usize) -> (Option<Range>, Option<Arc<[Value]>>) {
    let numbers = || left.iter().filter_map(number);
    let low = numbers().fold(f64::INFINITY, f64::min);
    let high = numbers().fold(f64::NEG_INFINITY, f64::max);
    let range = facts
        .range
        .map(|declared| Range::new(low.max(declared.low), high.min(declared.high)).unwrap_or(declared));
    let whole = matches!(facts.kind, Kind::Int | Kind::Date);
    let gapless = whole && range.is_some() && high - low + 1.0 == few as f64;
    (range, (!gapless).then(|| left.into()))
}

/// Of a column with many values, or values that nothing declares: what a comparison with constants says.
fn compared(condition: &Expr, facts: &Facts) -> Option<Facts> {
    let with = |range: Option<Range>, values: Option<Arc<[Value]>>| Facts {
        range,
        values,
        // No comparison is true of NULL.
        nullable: false,
        ..facts.clone()
    };
    let between = |low: Option<f64>, high: Option<f64>| {
        let range = facts.range.map(|declared| {
            let low = low.map_or(declared.low, |low| low.max(declared.low));
            let high = high.map_or(declared.high, |high| high.min(declared.high));
            // Where no declared value passes, others may, which are clamped to what was declared.
            Range::new(low, high).unwrap_or(declared)
        });
        if range.is_none() && facts.kind.is_number() {
            // Nothing is declared: what the condition says is what is known.
            let least = low.into_iter().chain(facts.at_least).reduce(f64::max);
            let range = least.zip(high).and_then(|(low, high)| Range::new(low, high));
            return Facts {
                at_least: least.filter(|_| range.is_none()),
                ..with(range, facts.values.clone())
            };
        }
        with(range, facts.values.clone())
    };
    if let Some(constants) = alternatives(condition) {
        return Some(with(
            facts.range,
            facts.values.clone().or_else(|| names(constants, facts.kind)),
        ));
    }
    match condition {
        Expr::IsNotNull(operand) if is_column(operand) => Some(with(facts.range, facts.values.clone())),
        Expr::BinaryExpr(binary) => {
            let (operator, constant) = match (&*binary.left, &*binary.right) {
                (left, Expr::Literal(constant, _)) if is_column(left) => (binary.op, constant),
                (Expr::Literal(constant, _), right) if is_column(right) => (binary.op.swap()?, constant),
                _ => return None,
            };
            let constant = value(constant)?;
            // Numbers of these kinds are whole, so less than one is at most the one before.
            let step = if facts.kind == Kind::Float { 0.0 } else { 1.0 };
            match operator {
                Operator::Lt => Some(between(None, Some(number(&constant)? - step))),
                Operator::LtEq => Some(between(None, Some(number(&constant)?))),
                Operator::Gt => Some(between(Some(number(&constant)? + step), None)),
                Operator::GtEq => Some(between(Some(number(&constant)?), None)),
                Operator::NotEq => Some(with(facts.range, facts.values.clone())),
                _ => None,
            }
        }
        Expr::Between(ends) if !ends.negated && is_column(&ends.expr) => {
            let end = |end: &Expr| match end {
                Expr::Literal(constant, _) => value(constant).as_ref().and_then(number),
                _ => None,
            };
            Some(between(Some(end(&ends.low)?), Some(end(&ends.high)?)))
        }
        _ => None,
    }
}

/// The constants that a column is one of: `c = 1 OR c = 2` and `c IN (1, 2)`.
fn alternatives(condition: &Expr) -> Option<Vec<Value>> {
    let constant = |expr: &Expr| match expr {
        Expr::Literal(constant, _) => value(constant),
        _ => None,
    };
    let mut all = Vec::new();
    for either in split_binary(condition, Operator::Or) {
        match either {
            Expr::BinaryExpr(binary) if binary.op == Operator::Eq => {
                all.push(match (&*binary.left, &*binary.right) {
                    (Expr::Column(_), other) | (other, Expr::Column(_)) => constant(other)?,
                    _ => return None,
                });
            }
            Expr::InList(list) if !list.negated && is_column(&list.expr) => {
                for member in &list.list {
                    all.push(constant(member)?);
                }
            }
            _ => return None,
        }
        if all.len() > FOLLOWED {
            return None;
        }
    }
    Some(all)
}

/// Rows behind such a filter have no other value, so the query itself says what its groups may be called. Floats have no names that are sure to be the same.
fn names(mut constants: Vec<Value>, kind: Kind) -> Option<Arc<[Value]>> {
    constants.sort_by_cached_key(|constant| encode(std::slice::from_ref(constant)));
    constants.dedup();
    (kind != Kind::Float && !constants.is_empty()).then(|| constants.into())
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Column(_))
}

/// Where a value lies, for values in an order.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(value) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        Value::Date(day) => Some(f64::from(*day)),
        Value::Timestamp(moment) => Some(*moment as f64),
        _ => None,
    }
}
