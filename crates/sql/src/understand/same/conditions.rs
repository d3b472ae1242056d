//! What expressions compute, in whatever way they are written: conditions above all, which have the most ways.

use super::rows::{Reading, Relation};
use super::{Mark, Parts};
use crate::understand::expression::commutes;
use crate::understand::relation::select_marker;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::expr::{AggregateFunction, Between, InList};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, lit};
use std::collections::BTreeSet;

impl Reading<'_> {
    pub(super) fn expressions(&self, exprs: &[Expr], rows: &Relation) -> Result<Vec<Mark>, DataFusionError> {
        exprs.iter().map(|expr| self.expression(expr, rows)).collect()
    }

    pub(super) fn expression(&self, expr: &Expr, rows: &Relation) -> Result<Mark, DataFusionError> {
        let of = |expr: &Expr| self.expression(expr, rows);
        Ok(match expr {
            Expr::Alias(alias) => of(&alias.expr)?,
            Expr::Column(column) => match rows.schema.maybe_index_of_column(column) {
                Some(place) => rows.columns[place],
                None => Parts::of("name").debug(column).end(),
            },
            Expr::Literal(value, _) => Parts::of("constant")
                .text(&value.data_type().to_string())
                .debug(value.is_null())
                .text(&value.to_string())
                .end(),
            Expr::Not(inner) => self.signed(inner, true, rows)?,
            Expr::BinaryExpr(BinaryExpr {
                op: Operator::And | Operator::Or,
                ..
            })
            | Expr::Between(_)
            | Expr::InList(_) => self.signed(expr, false, rows)?,
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => compared(*op, of(left)?, of(right)?),
            Expr::ScalarFunction(call) if commutes(call.func.name()) => {
                let mut operands = self.expressions(&call.args, rows)?;
                operands.sort();
                Parts::of("call").text(call.func.name()).marks(operands).end()
            }
            // Every constant that is not NULL counts all rows.
            Expr::AggregateFunction(AggregateFunction { func, params })
                if func.name() == "count"
                    && !params.distinct
                    && params.filter.is_none()
                    && params.order_by.is_empty()
                    && matches!(params.args.as_slice(), [] | [Expr::Literal(_, _)])
                    && !matches!(params.args.first(), Some(Expr::Literal(value, _)) if value.is_null()) =>
            {
                Parts::of("count of rows").end()
            }
            other => self.as_written_above(other, rows)?,
        })
    }

    /// A condition, or the opposite of one.
    fn signed(&self, expr: &Expr, negated: bool, rows: &Relation) -> Result<Mark, DataFusionError> {
        let of = |expr: &Expr| self.expression(expr, rows);
        if let Some(op) = chain(expr, negated) {
            let links = self.links(expr, negated, op, rows)?;
            return Ok(match links.first() {
                Some(only) if links.len() == 1 => *only,
                _ => Parts::of("logic").debug(op).marks(links).end(),
            });
        }
        Ok(match expr {
            Expr::Alias(alias) => self.signed(&alias.expr, negated, rows)?,
            Expr::Not(inner) => self.signed(inner, !negated, rows)?,
            Expr::InList(InList {
                expr,
                list,
                negated: not_in,
            }) => {
                let values = list.iter().map(of);
                let values: BTreeSet<Mark> = values.collect::<Result<_, _>>()?;
                let negated = *not_in != negated;
                Parts::of("in").debug(negated).mark(of(expr)?).marks(values).end()
            }
            // Ends of several types: see [`chain`].
            Expr::Between(Between {
                expr,
                negated: not_between,
                low,
                high,
            }) => Parts::of("between")
                .debug(*not_between != negated)
                .marks([of(expr)?, of(low)?, of(high)?])
                .end(),
            plain if !negated => of(plain)?,
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if opposite(*op).is_some() => {
                compared(opposite(*op).unwrap_or(*op), of(left)?, of(right)?)
            }
            Expr::IsNull(inner) => self.as_written_above(&Expr::IsNotNull(inner.clone()), rows)?,
            Expr::IsNotNull(inner) => self.as_written_above(&Expr::IsNull(inner.clone()), rows)?,
            other => self.as_written_above(&Expr::Not(Box::new(other.clone())), rows)?,
        })
    }

    /// The links of a chain of AND, or of OR: see [`chain`].
    pub(super) fn links(
        &self,
        expr: &Expr,
        negated: bool,
        op: Operator,
        rows: &Relation,
    ) -> Result<BTreeSet<Mark>, DataFusionError> {
        let of = |expr: &Expr| self.expression(expr, rows);
        let mut links = BTreeSet::new();
        for (part, negated) in parts_of(expr, negated, op) {
            match part {
                Expr::Between(Between { expr, low, high, .. }) if chain(part, negated) == Some(op) => {
                    let [value, low, high] = [of(expr)?, of(low)?, of(high)?];
                    links.extend(if op == Operator::Or {
                        [
                            binary(Operator::Lt, value, low),
                            binary(Operator::Lt, high, value),
                        ]
                    } else {
                        [
                            binary(Operator::LtEq, low, value),
                            binary(Operator::LtEq, value, high),
                        ]
                    });
                }
                Expr::InList(InList { expr, list, .. }) if chain(part, negated) == Some(op) => {
                    let value = of(expr)?;
                    let equal = match op {
                        Operator::Or => Operator::Eq,
                        _ => Operator::NotEq,
                    };
                    for member in list {
                        links.insert(symmetric(equal, value, of(member)?));
                    }
                }
                // Where the options of a SELECT are found is no condition.
                marker if !negated && select_marker(marker).is_some() => {}
                other => {
                    links.insert(self.signed(other, negated, rows)?);
                }
            }
        }
        Ok(links)
    }

    /// An expression that no rule is about: itself as it is written, and what its parts compute.
    fn as_written_above(&self, expr: &Expr, rows: &Relation) -> Result<Mark, DataFusionError> {
        let mut below = Vec::new();
        expr.apply_children(|part| {
            below.push(self.expression(part, rows)?);
            Ok(TreeNodeRecursion::Continue)
        })?;
        let alone = expr
            .clone()
            .map_children(|_| Ok(Transformed::yes(lit(ScalarValue::Null))))?
            .data;
        let mut parts = Parts::of("expression")
            .text(alone.variant_name())
            .text(&alone.to_string());
        match expr {
            // A function may have parameters that its name does not show.
            Expr::ScalarFunction(call) => parts = parts.debug(&call.func),
            Expr::ScalarSubquery(inner) => parts = parts.marks(self.subquery(&inner.subquery, rows)?),
            Expr::InSubquery(inner) => {
                parts = parts.marks(self.subquery(&inner.subquery.subquery, rows)?);
            }
            Expr::Exists(inner) => parts = parts.marks(self.subquery(&inner.subquery.subquery, rows)?),
            Expr::SetComparison(inner) => {
                parts = parts.marks(self.subquery(&inner.subquery.subquery, rows)?);
            }
            _ => {}
        }
        Ok(parts.marks(below).end())
    }

    /// A subquery as it is written, and what the columns of the outer rows that it names are: by their names alone one could not tell.
    fn subquery(&self, plan: &LogicalPlan, rows: &Relation) -> Result<Vec<Mark>, DataFusionError> {
        let mut marks = vec![self.as_written(plan)?.base];
        plan.apply_with_subqueries(|node| {
            node.apply_expressions(|expr| {
                expr.apply(|part| {
                    if let Expr::OuterReferenceColumn(_, column) = part {
                        marks.push(self.expression(&Expr::Column(column.clone()), rows)?);
                    }
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        Ok(marks)
    }
}

/// Whether a condition, or the opposite of one, is a chain of AND or of OR, and of which. BETWEEN and IN are short for chains.
fn chain(expr: &Expr, negated: bool) -> Option<Operator> {
    let (plain, turned) = match expr {
        Expr::BinaryExpr(BinaryExpr { op, .. }) => match op {
            Operator::And => (Operator::And, Operator::Or),
            Operator::Or => (Operator::Or, Operator::And),
            _ => return None,
        },
        // The value of a BETWEEN is compared with both ends in one type, which is that of two comparisons where the ends have the same.
        Expr::Between(between) if !of_one_type(&[(*between.low).clone(), (*between.high).clone()]) => {
            return None;
        }
        Expr::Between(between) if between.negated => (Operator::Or, Operator::And),
        Expr::Between(_) => (Operator::And, Operator::Or),
        // The operand of a list of constants of several types is compared in a type of its own.
        Expr::InList(list) if !of_one_type(&list.list) => return None,
        Expr::InList(list) if list.negated => (Operator::And, Operator::Or),
        Expr::InList(_) => (Operator::Or, Operator::And),
        _ => return None,
    };
    Some(if negated { turned } else { plain })
}

/// Whether these are constants of one type, and not NULL. One alone is compared as `=` does in any case.
fn of_one_type(list: &[Expr]) -> bool {
    let data_type = |expr: &Expr| match expr {
        Expr::Literal(value, _) if !value.is_null() => Some(value.data_type()),
        _ => None,
    };
    match list {
        [] => false,
        [_] => true,
        [first, rest @ ..] => {
            let first = data_type(first);
            first.is_some() && rest.iter().all(|expr| data_type(expr) == first)
        }
    }
}

/// The links of a chain of AND, or of OR, and whether the opposite of each is meant.
fn parts_of(expr: &Expr, negated: bool, op: Operator) -> Vec<(&Expr, bool)> {
    let mut parts = Vec::new();
    let mut waiting = vec![(expr, negated)];
    while let Some((expr, negated)) = waiting.pop() {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, right, .. }) if chain(expr, negated) == Some(op) => {
                waiting.extend([(&**left, negated), (&**right, negated)]);
            }
            Expr::Alias(alias) => waiting.push((&alias.expr, negated)),
            Expr::Not(inner) => waiting.push((inner, !negated)),
            other => parts.push((other, negated)),
        }
    }
    parts
}

/// What holds where a comparison does not, NULL being neither. The order of values is total, of floats too.
fn opposite(op: Operator) -> Option<Operator> {
    Some(match op {
        Operator::Eq => Operator::NotEq,
        Operator::NotEq => Operator::Eq,
        Operator::Lt => Operator::GtEq,
        Operator::LtEq => Operator::Gt,
        Operator::Gt => Operator::LtEq,
        Operator::GtEq => Operator::Lt,
        Operator::IsDistinctFrom => Operator::IsNotDistinctFrom,
        Operator::IsNotDistinctFrom => Operator::IsDistinctFrom,
        _ => return None,
    })
}

/// An operator over two values, in one of the ways to write it.
fn compared(op: Operator, left: Mark, right: Mark) -> Mark {
    match op {
        Operator::Eq
        | Operator::NotEq
        | Operator::Plus
        | Operator::Multiply
        | Operator::IsDistinctFrom
        | Operator::IsNotDistinctFrom => symmetric(op, left, right),
        Operator::Gt => binary(Operator::Lt, right, left),
        Operator::GtEq => binary(Operator::LtEq, right, left),
        op => binary(op, left, right),
    }
}

fn binary(op: Operator, left: Mark, right: Mark) -> Mark {
    Parts::of("operator").debug(op).mark(left).mark(right).end()
}

pub(super) fn symmetric(op: Operator, left: Mark, right: Mark) -> Mark {
    binary(op, left.min(right), left.max(right))
}
