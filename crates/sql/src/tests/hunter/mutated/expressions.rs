//! Expressions, changed at random: another column, another literal, another comparison.

use super::super::Seeded;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, Column, IsNotNullExpr, IsNullExpr, Literal, NotExpr, binary,
};
use std::sync::Arc;

pub(super) type Expr = Arc<dyn PhysicalExpr>;

/// The columns of a type.
pub(super) fn columns_of(schema: &Schema, of: &DataType) -> Vec<usize> {
    let fields = schema.fields().iter().enumerate();
    fields
        .filter(|(_, field)| field.data_type() == of)
        .map(|(place, _)| place)
        .collect()
}

pub(super) fn column(schema: &Schema, place: usize) -> Expr {
    Arc::new(Column::new(schema.field(place).name(), place))
}

/// Some value of a type.
fn literal(of: &DataType, seeded: &mut Seeded) -> Option<Expr> {
    let value = match of {
        DataType::Int64 => {
            ScalarValue::Int64(*seeded.pick(&[None, Some(0), Some(1), Some(-1), Some(5), Some(i64::MAX)]))
        }
        DataType::Int32 => ScalarValue::Int32(*seeded.pick(&[None, Some(0), Some(1), Some(-7)])),
        DataType::UInt64 => ScalarValue::UInt64(*seeded.pick(&[None, Some(0), Some(1), Some(4)])),
        DataType::Float64 => {
            ScalarValue::Float64(*seeded.pick(&[None, Some(0.0), Some(1.0), Some(-3.25), Some(1e300)]))
        }
        DataType::Boolean => ScalarValue::Boolean(*seeded.pick(&[None, Some(true), Some(false)])),
        DataType::Date32 => ScalarValue::Date32(*seeded.pick(&[None, Some(0), Some(19_753)])),
        DataType::Utf8View => ScalarValue::Utf8View(
            seeded
                .pick(&[None, Some("a"), Some(""), Some("n9")])
                .map(str::to_owned),
        ),
        DataType::Utf8 => ScalarValue::Utf8(seeded.pick(&[None, Some("a"), Some("")]).map(str::to_owned)),
        other => ScalarValue::try_from(other).ok()?,
    };
    Some(Arc::new(Literal::new(value)))
}

/// Some expression of a type over rows of this schema.
pub(super) fn value(of: &DataType, schema: &Schema, seeded: &mut Seeded) -> Option<Expr> {
    let columns = columns_of(schema, of);
    let any = |seeded: &mut Seeded| column(schema, *seeded.pick(&columns));
    if columns.is_empty() {
        return literal(of, seeded);
    }
    match seeded.below(8) {
        0 | 1 => literal(of, seeded),
        2 => {
            let when = condition(schema, seeded)?;
            let (then, rest) = (any(seeded), literal(of, seeded)?);
            let rest = (!seeded.once_in(2)).then_some(rest);
            Some(Arc::new(CaseExpr::try_new(None, vec![(when, then)], rest).ok()?))
        }
        3 if *of == DataType::Int64 => {
            let operator = *seeded.pick(&[Operator::Plus, Operator::Minus, Operator::Multiply]);
            binary(any(seeded), operator, any(seeded), schema).ok()
        }
        _ => Some(any(seeded)),
    }
}

const COMPARISONS: [Operator; 7] = [
    Operator::Eq,
    Operator::NotEq,
    Operator::Lt,
    Operator::LtEq,
    Operator::Gt,
    Operator::GtEq,
    Operator::IsDistinctFrom,
];

/// Some condition on rows of this schema.
pub(super) fn condition(schema: &Schema, seeded: &mut Seeded) -> Option<Expr> {
    let places = schema.fields().len();
    if places == 0 {
        return literal(&DataType::Boolean, seeded);
    }
    let place = seeded.below(places);
    let of = schema.field(place).data_type().clone();
    let left = column(schema, place);
    Some(match seeded.below(6) {
        0 => Arc::new(IsNotNullExpr::new(left)),
        1 => Arc::new(IsNullExpr::new(left)),
        2 => literal(&DataType::Boolean, seeded)?,
        3 => {
            let right = column(schema, *seeded.pick(&columns_of(schema, &of)));
            binary(left, *seeded.pick(&COMPARISONS), right, schema).ok()?
        }
        _ => binary(left, *seeded.pick(&COMPARISONS), literal(&of, seeded)?, schema).ok()?,
    })
}

/// The expression with one place of it changed; of the same type.
pub(super) fn changed(expr: &Expr, schema: &Schema, seeded: &mut Seeded) -> Option<Expr> {
    let mut places = 0;
    expr.apply(|_| {
        places += 1;
        Ok(TreeNodeRecursion::Continue)
    })
    .ok()?;
    let wanted = seeded.below(places);
    let mut at = 0;
    let changed = Arc::clone(expr).transform_down(|one| {
        at += 1;
        if at != wanted + 1 {
            return Ok(Transformed::no(one));
        }
        Ok(match changed_here(&one, schema, seeded) {
            Some(other) => Transformed::new(other, true, TreeNodeRecursion::Stop),
            None => Transformed::no(one),
        })
    });
    let changed = changed.ok().filter(|changed| changed.transformed)?.data;
    let same = changed.data_type(schema).ok()? == expr.data_type(schema).ok()?;
    (same && changed.to_string() != expr.to_string()).then_some(changed)
}

fn changed_here(one: &Expr, schema: &Schema, seeded: &mut Seeded) -> Option<Expr> {
    let of = one.data_type(schema).ok()?;
    if one.is::<Literal>() {
        return literal(&of, seeded);
    }
    if let Some(both) = one.downcast_ref::<BinaryExpr>()
        && seeded.once_in(2)
    {
        let (left, right) = (Arc::clone(both.left()), Arc::clone(both.right()));
        return match both.op() {
            operator if COMPARISONS.contains(operator) => {
                binary(left, *seeded.pick(&COMPARISONS), right, schema).ok()
            }
            Operator::And => binary(left, Operator::Or, right, schema).ok(),
            Operator::Or => Some(right),
            Operator::Plus | Operator::Minus => binary(right, Operator::Minus, left, schema).ok(),
            _ => Some(left),
        };
    }
    if of == DataType::Boolean && seeded.once_in(3) {
        return Some(Arc::new(NotExpr::new(Arc::clone(one))));
    }
    // A part of the expression in place of it.
    let parts = one.children().into_iter();
    let parts: Vec<&Expr> = parts
        .filter(|part| part.data_type(schema).is_ok_and(|part| part == of))
        .collect();
    if !parts.is_empty() && seeded.once_in(2) {
        return Some(Arc::clone(*seeded.pick(&parts)));
    }
    value(&of, schema, seeded)
}
