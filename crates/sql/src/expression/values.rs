//! Public values: what an expression can be, known before anybody looks at data.

use super::bounds::Bounds;
use super::dates;
use super::draft::Draft;
use super::scope::Scope;
use crate::group_name::encode;
use crate::{Facts, Kind, Value};
use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::create_physical_expr;
use std::collections::HashMap;
use std::sync::Arc;

/// Sets of values are followed up to this size.
const FOLLOWED: usize = 1000;

/// Expressions larger than this are not computed on public values.
const COMPUTED: u64 = 1000;

/// Whole numbers are listed up to this many.
const LISTED: f64 = 10_000.0;

/// All values (without NULL) of something of which this is known, and whether its floats are whole, if they are few and public.
pub(super) fn enumerable(facts: &Facts, integral: bool) -> Option<Vec<Value>> {
    if let Some(values) = &facts.values {
        return Some(values.to_vec());
    }
    let whole: fn(f64) -> Value = match facts.kind {
        Kind::Date => |value| Value::Date(value as i32),
        Kind::Bool => return Some(vec![Value::Bool(false), Value::Bool(true)]),
        Kind::Int => |value| Value::Int(value as i64),
        Kind::Float if integral => Value::Float,
        _ => return None,
    };
    let range = facts.range?;
    let (low, high) = (range.low.ceil(), range.high.floor());
    // Below 2^53 floats hold every integer, so none is passed over.
    let exact = low.abs().max(high.abs()) <= 9_007_199_254_740_992.0;
    if !exact || high - low >= LISTED {
        return None;
    }
    let count = (high - low + 1.0).max(0.0) as u32;
    // Adding zero turns a negative zero into zero.
    Some(
        (0..count)
            .map(|step| whole(low + f64::from(step) + 0.0))
            .collect(),
    )
}

/// The public value that a constant of one of our kinds is; `None` for NULL and for what is not finite.
pub(super) fn value(scalar: &ScalarValue) -> Option<Value> {
    Some(match scalar {
        ScalarValue::Boolean(Some(value)) => Value::Bool(*value),
        ScalarValue::Int64(Some(value)) => Value::Int(*value),
        ScalarValue::Float64(Some(value)) if value.is_finite() => Value::Float(*value),
        ScalarValue::Utf8View(Some(value)) => Value::Text(value.clone()),
        ScalarValue::Date32(Some(value)) => Value::Date(*value),
        ScalarValue::TimestampMicrosecond(Some(value), None) => Value::Timestamp(*value),
        _ => return None,
    })
}

/// A public value as a constant of a kind; NULL if it is of another kind.
fn scalar(value: &Value, kind: Kind) -> ScalarValue {
    match (kind, value) {
        (Kind::Bool, Value::Bool(value)) => ScalarValue::Boolean(Some(*value)),
        (Kind::Int, Value::Int(value)) => ScalarValue::Int64(Some(*value)),
        (Kind::Float, Value::Float(value)) => ScalarValue::Float64(Some(*value)),
        (Kind::Float, Value::Int(value)) => ScalarValue::Float64(Some(*value as f64)),
        (Kind::Text, Value::Text(value)) => ScalarValue::Utf8View(Some(value.clone())),
        (Kind::Date, Value::Date(value)) => ScalarValue::Date32(Some(*value)),
        (Kind::Timestamp, Value::Timestamp(value)) => ScalarValue::TimestampMicrosecond(Some(*value), None),
        _ => ScalarValue::try_new_null(&kind.data_type()).unwrap_or(ScalarValue::Null),
    }
}

/// Where numbers among the values lie.
pub(super) fn bounds(values: &[Value]) -> Bounds {
    let mut hull: Option<Bounds> = None;
    for value in values {
        let one = match value {
            Value::Int(value) => Bounds::integer(*value),
            Value::Float(value) => Bounds::new(*value, *value),
            _ => continue,
        };
        hull = Some(hull.map_or(one, |hull| hull.hull(one)));
    }
    hull.unwrap_or(Bounds::UNKNOWN)
}

/// Both sets together; `None` when that is too much to follow.
pub(super) fn union(mut all: Vec<Value>, more: &[Value]) -> Option<Vec<Value>> {
    for value in more {
        if !all.contains(value) {
            all.push(value.clone());
        }
    }
    (all.len() <= FOLLOWED).then_some(all)
}

/// Each value once, in the order in which they come; `None` when they are too many to list.
fn distinct(mut values: Vec<Value>) -> Option<Vec<Value>> {
    let mut seen = std::collections::HashSet::new();
    values.retain(|value| seen.insert(encode(std::slice::from_ref(value))));
    (values.len() as f64 <= LISTED).then_some(values)
}

/// Public values of a column that stand for all it can be, as far as an expression of this granule is concerned, NULL included where it may be.
fn domain(facts: &Facts, granule: i64) -> Option<Vec<Value>> {
    match &facts.values {
        Some(values) if values.len() <= FOLLOWED => {
            Some(values.iter().cloned().chain([Value::Null]).collect())
        }
        Some(_) => None,
        None => {
            let mut tried = dates::tried(facts, granule)?;
            tried.extend(facts.nullable.then_some(Value::Null));
            Some(tried)
        }
    }
}

/// Computes an expression of one column with public values on all of them, and an expression of no column on nothing.
pub(super) fn deduce(draft: &mut Draft, scope: &Scope) {
    if draft.kind == Kind::Bool || draft.weight > COMPUTED {
        return;
    }
    let columns: Vec<Column> = draft.expr.column_refs().into_iter().cloned().collect();
    let column = match columns.as_slice() {
        [] => None,
        [column] => match scope
            .find(column)
            .and_then(|facts| Some((facts, domain(facts, draft.granule)?)))
        {
            Some((facts, values)) => Some((column, facts, values)),
            None => return,
        },
        _ => return,
    };
    // What is known already is narrowed by the bounds of days and moments alone.
    let narrows = |(_, facts, _): &(_, &Facts, _)| facts.values.is_none();
    if draft.values.is_some() && !column.as_ref().is_some_and(narrows) {
        return;
    }
    let inputs = column.map(|(column, facts, values)| {
        // Whatever is not among the values is read as NULL.
        let rows = values.iter().map(|value| scalar(value, facts.kind));
        (column, facts.kind, rows.collect::<Vec<_>>())
    });
    let Some(results) = compute(draft, inputs) else {
        return;
    };
    let found: Vec<Value> = results.iter().filter_map(value).collect();
    draft.nullable = found.len() < results.len();
    let Some(found) = distinct(found) else {
        return;
    };
    if draft.kind.is_number() && !found.is_empty() {
        draft.bounds = bounds(&found);
    }
    draft.values = Some(found.into());
}

/// The expression on a few public rows; `None` where the engine will not.
fn compute(draft: &Draft, inputs: Option<(&Column, Kind, Vec<ScalarValue>)>) -> Option<Vec<ScalarValue>> {
    let (fields, arrays, rows) = match inputs {
        None => (vec![], vec![], 1),
        Some((column, kind, rows)) => {
            let field = Arc::new(Field::new(&column.name, kind.data_type(), true));
            let count = rows.len();
            let array: ArrayRef = ScalarValue::iter_to_array(rows).ok()?;
            (vec![(column.relation.clone(), field)], vec![array], count)
        }
    };
    let arrow = Schema::new(fields.iter().map(|(_, field)| field.clone()).collect::<Vec<_>>());
    let schema = Arc::new(DFSchema::new_with_metadata(fields, HashMap::default()).ok()?);
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::new(arrow), arrays, &options).ok()?;
    let simplifier = ExprSimplifier::new(SimplifyContext::builder().with_schema(schema.clone()).build());
    let expr = simplifier.simplify(draft.expr.clone()).ok()?;
    let properties = ExecutionProps::new();
    let expr = create_physical_expr(&expr, &schema, &properties, &PhysicalPlanningContext::default()).ok()?;
    let results = expr.evaluate(&batch).ok()?.into_array(rows).ok()?;
    (0..rows)
        .map(|row| ScalarValue::try_from_array(&results, row).ok())
        .collect()
}
