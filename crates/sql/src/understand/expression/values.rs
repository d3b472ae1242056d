//! Public values: what an expression can be, known before anybody looks at data.
//!
//! What an expression can be is its image: it is computed, by the same engine that computes rows, on every combination of values that its columns can have. That needs columns of
//! which the catalog lists the values, or bounds integers; or parts that have few values whatever their columns hold, such as `floor(x / 10)` of a bounded
//! float or the month of a date, which then take the place of columns. Rows that break what the catalog says may have other values; of groups with such a name nothing is released.

use super::Typed;
use super::bounds::Bounds;
use super::dates;
use super::draft::Draft;
use super::scope::Scope;
use crate::values::group_name::encode;
use crate::{Facts, Kind, Value};
use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::create_physical_expr;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Unions of sets of values are followed up to this size.
pub(super) const FOLLOWED: usize = 1000;

/// Expressions larger than this are not computed on public values.
const COMPUTED: u64 = 1000;

/// Whole numbers are listed, and combinations of values computed, up to this many.
const LISTED: usize = 10_000;

/// The parts of expressions times the combinations that they are computed on, at most.
pub(super) const WORK: usize = 1_000_000;

/// A part of an expression with few public values, although its columns may have many.
#[derive(Debug)]
pub(super) struct Part {
    expr: Expr,
    facts: Facts,
    integral: bool,
}

/// How many values there are, without NULL, if they are few and public.
pub(super) fn size(facts: &Facts, integral: bool) -> Option<usize> {
    if let Some(values) = &facts.values {
        return Some(values.len()).filter(|size| *size <= LISTED);
    }
    match facts.kind {
        Kind::Bool => return Some(2),
        Kind::Int | Kind::Date => {}
        Kind::Float if integral => {}
        _ => return None,
    }
    let range = facts.range?;
    let (low, high) = (range.low.ceil(), range.high.floor());
    // Below 2^53 floats hold every integer, so none is passed over.
    let exact = low.abs().max(high.abs()) <= 9_007_199_254_740_992.0;
    (exact && high - low < LISTED as f64).then(|| (high - low + 1.0).max(0.0) as usize)
}

/// All values (without NULL) of something of which this is known, and whether its floats are whole, if they are few and public.
pub(super) fn enumerable(facts: &Facts, integral: bool) -> Option<Vec<Value>> {
    if let Some(values) = &facts.values {
        return Some(values.to_vec());
    }
    let whole: fn(f64) -> Value = match facts.kind {
        Kind::Date => |value| Value::Date(value as i32),
        Kind::Bool => return Some(vec![Value::Bool(false), Value::Bool(true)]),
        Kind::Int => |value| Value::Int(value as i64),
        _ => Value::Float,
    };
    let (count, low) = (size(facts, integral)?, facts.range?.low.ceil());
    // Adding zero turns a negative zero into zero.
    Some((0..count).map(|step| whole(low + step as f64 + 0.0)).collect())
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
pub(super) fn scalar(value: &Value, kind: Kind) -> ScalarValue {
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

/// Remembers a part of an expression that has few values of its own, for whatever is made of it.
pub(super) fn noted(draft: Draft, scope: &Scope) -> Draft {
    if draft.weight > COMPUTED || matches!(draft.expr, Expr::Column(_) | Expr::Literal(..)) {
        return draft;
    }
    let mut facts = draft.facts();
    if size(&facts, draft.integral).is_none() {
        return draft;
    }
    // Where the image can be computed, it says more than a range.
    if over_parts(&draft.expr, &draft.parts)
        .is_some_and(|expr| inputs(&[expr], &draft.parts, scope).is_some())
    {
        return draft;
    }
    facts.nullable |= draft.undefined;
    let part = Part {
        expr: draft.expr.clone(),
        facts,
        integral: draft.integral,
    };
    Draft {
        parts: vec![Arc::new(part)],
        ..draft
    }
}

/// Finds the values of an expression: its image, where that can be computed.
pub(super) fn deduce(draft: &mut Draft, scope: &Scope) {
    let known = draft.literal.is_some() || matches!(draft.expr, Expr::Column(_));
    if known || draft.kind == Kind::Bool || draft.weight > COMPUTED {
        return;
    }
    let images = of_moments(draft, scope).or_else(|| {
        let images = images(std::slice::from_ref(&draft.expr), &draft.parts, scope)?;
        Some(images.into_iter().flatten().collect())
    });
    let Some(mut found) = images else {
        return;
    };
    draft.nullable = found.contains(&Value::Null);
    found.retain(|value| *value != Value::Null);
    if draft.kind.is_number() && !found.is_empty() {
        draft.bounds = bounds(&found);
        // The names of numbers are in their order.
        found.sort_by_cached_key(|value| encode(std::slice::from_ref(value)));
    }
    draft.values = Some(found.into());
}

/// The image of an expression of one column of bounded days or moments: computed on values that stand for all, since the expression changes in steps (`dates`).
fn of_moments(draft: &Draft, scope: &Scope) -> Option<Vec<Value>> {
    let columns: HashSet<&Column> = draft.expr.column_refs();
    let column = columns.iter().next().filter(|_| columns.len() == 1)?;
    let facts = scope.find(column).filter(|facts| facts.values.is_none())?;
    let mut tried = dates::tried(facts, draft.granule)?;
    tried.extend(facts.nullable.then_some(Value::Null));
    if tried.is_empty() {
        return Some(Vec::new());
    }
    let values = tried.iter().map(|value| scalar(value, facts.kind));
    let field = Arc::new(Field::new(&column.name, facts.kind.data_type(), true));
    let arrow = Schema::new(vec![field.clone()]);
    let fields = vec![(column.relation.clone(), field)];
    let schema = Arc::new(DFSchema::new_with_metadata(fields, HashMap::default()).ok()?);
    let batch = RecordBatch::try_new(Arc::new(arrow), vec![ScalarValue::iter_to_array(values).ok()?]).ok()?;
    let result = compute(&draft.expr, &schema, &batch)?;
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for row in 0..batch.num_rows() {
        let value = value(&ScalarValue::try_from_array(&result, row).ok()?).unwrap_or(Value::Null);
        if seen.insert(encode(std::slice::from_ref(&value))) {
            found.push(value);
        }
    }
    (found.len() <= LISTED).then_some(found)
}

/// All combinations of values that several expressions have on the same row, NULL included, if their columns have few.
pub(crate) fn together(keys: &[&Typed], scope: &Scope) -> Option<Vec<Vec<Value>>> {
    let exprs: Vec<Expr> = keys.iter().map(|key| key.expr.clone().unalias()).collect();
    let mut found = images(&exprs, &[], scope)?;
    found.sort_by_cached_key(|values| encode(values));
    Some(found)
}

/// The column that stands for a part of an expression.
fn stand_in(place: usize) -> Column {
    Column::from_name(format!("__deniable_part{place}"))
}

/// An expression with columns in place of its parts.
fn over_parts(expr: &Expr, parts: &[Arc<Part>]) -> Option<Expr> {
    let replaced = expr.clone().transform_down(|node| {
        Ok(match parts.iter().position(|part| part.expr == node) {
            Some(place) => {
                let column = Expr::Column(stand_in(place));
                Transformed::new(column, true, TreeNodeRecursion::Jump)
            }
            None => Transformed::no(node),
        })
    });
    replaced.ok().map(|replaced| replaced.data)
}

pub(super) fn nodes(expr: &Expr) -> usize {
    let mut nodes = 0;
    let counted = expr.apply(|_| {
        nodes += 1;
        Ok(TreeNodeRecursion::Continue)
    });
    counted.map_or(usize::MAX, |_| nodes)
}

/// A column of an expression or a part of it, and what is known of it.
struct Input<'a> {
    column: Column,
    facts: &'a Facts,
    integral: bool,
}

/// The columns of expressions, if they have few combinations of values, and how many.
fn inputs<'a>(exprs: &[Expr], parts: &'a [Arc<Part>], scope: &'a Scope) -> Option<(Vec<Input<'a>>, usize)> {
    let mut columns: Vec<&Column> = exprs.iter().flat_map(|expr| expr.column_refs()).collect();
    columns.sort_by_key(|column| column.flat_name());
    columns.dedup();
    let most = LISTED.min(WORK / exprs.iter().map(nodes).fold(1, usize::saturating_add));
    let mut rows = 1;
    let mut inputs = Vec::with_capacity(columns.len());
    for column in columns {
        let part = (0..parts.len()).find(|place| stand_in(*place) == *column);
        let (facts, integral) = match part {
            Some(place) => (&parts[place].facts, parts[place].integral),
            None => (scope.find(column)?, false),
        };
        rows *= size(facts, integral)? + usize::from(facts.nullable);
        if rows > most {
            return None;
        }
        inputs.push(Input {
            column: column.clone(),
            facts,
            integral,
        });
    }
    Some((inputs, rows))
}

/// Computes expressions on all combinations of values that their columns can have: what they give, each combination once.
fn images(exprs: &[Expr], parts: &[Arc<Part>], scope: &Scope) -> Option<Vec<Vec<Value>>> {
    let exprs: Vec<Expr> = exprs
        .iter()
        .map(|expr| over_parts(expr, parts))
        .collect::<Option<_>>()?;
    let (inputs, rows) = inputs(&exprs, parts, scope)?;
    if rows == 0 {
        // No row has a value.
        return Some(Vec::new());
    }
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    let mut repeated = rows;
    for Input {
        column,
        facts,
        integral,
    } in inputs
    {
        let listed = enumerable(facts, integral)?;
        let mut values: Vec<ScalarValue> = listed.iter().map(|value| scalar(value, facts.kind)).collect();
        if facts.nullable {
            values.push(scalar(&Value::Null, facts.kind));
        }
        repeated /= values.len();
        let places: UInt32Array = (0..rows)
            .map(|row| Some((row / repeated % values.len()) as u32))
            .collect();
        arrays.push(take(&ScalarValue::iter_to_array(values).ok()?, &places, None).ok()?);
        let field = Arc::new(Field::new(&column.name, facts.kind.data_type(), true));
        fields.push((column.relation.clone(), field));
    }
    let arrow = Schema::new(fields.iter().map(|(_, field)| field.clone()).collect::<Vec<_>>());
    let schema = Arc::new(DFSchema::new_with_metadata(fields, HashMap::default()).ok()?);
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::new(arrow), arrays, &options).ok()?;
    let results: Vec<ArrayRef> = exprs
        .iter()
        .map(|expr| compute(expr, &schema, &batch))
        .collect::<Option<_>>()?;
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for row in 0..rows {
        let values: Vec<Value> = results
            .iter()
            .map(|result| Some(value(&ScalarValue::try_from_array(result, row).ok()?).unwrap_or(Value::Null)))
            .collect::<Option<_>>()?;
        if seen.insert(encode(&values)) {
            found.push(values);
        }
    }
    Some(found)
}

/// An expression on public rows; `None` where the engine will not.
pub(super) fn compute(expr: &Expr, schema: &Arc<DFSchema>, batch: &RecordBatch) -> Option<ArrayRef> {
    let simplifier = ExprSimplifier::new(SimplifyContext::builder().with_schema(schema.clone()).build());
    let expr = simplifier.simplify(expr.clone()).ok()?;
    let properties = ExecutionProps::new();
    let expr = create_physical_expr(&expr, schema, &properties, &PhysicalPlanningContext::default()).ok()?;
    expr.evaluate(batch).ok()?.into_array(batch.num_rows()).ok()
}
