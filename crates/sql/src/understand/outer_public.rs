//! `public LEFT JOIN private … GROUP BY public columns`.
//!
//! A public row without a partner belongs to nobody, and to aggregates that pass over NULL it adds nothing but its group. So the aggregates are those of the inner join, whose rows all have owners, and
//! the groups are the keys of the public rows: the released groups are joined to these, after the noise. A group that was not released, because its name is private and few are in it, is NULL there.

use crate::Error;
use crate::catalog::Catalog;
use crate::understand::dialect::{PER_GROUP, PER_ROW, SELECT};
use crate::understand::mistakes::unplannable;
use crate::understand::relation::{contains_subquery, is_private};
use datafusion::common::{Column, DFSchema, JoinType};
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Expr, Join, LogicalPlan, LogicalPlanBuilder, Operator,
};
use std::sync::Arc;

/// Such a GROUP BY, in two parts.
pub(crate) struct OuterPublic {
    /// The same of rows that have a partner.
    pub(crate) inner: Aggregate,
    /// The keys of all public rows, each once; nothing without GROUP BY, where there is one group.
    keys: Option<LogicalPlan>,
}

/// Reads one; `None` where it is something else.
pub(crate) fn read(aggregate: &Aggregate, catalog: &Catalog) -> Result<Option<OuterPublic>, Error> {
    let mut conditions = Vec::new();
    let mut below = &aggregate.input;
    while let LogicalPlan::Filter(filter) = below.as_ref() {
        conditions.extend(split_conjunction(&filter.predicate).into_iter().cloned());
        below = &filter.input;
    }
    let LogicalPlan::Join(join) = below.as_ref() else {
        return Ok(None);
    };
    let (public, private) = match join.join_type {
        JoinType::Left => (&join.left, &join.right),
        JoinType::Right => (&join.right, &join.left),
        _ => return Ok(None),
    };
    let sets = aggregate
        .group_expr
        .iter()
        .any(|expr| matches!(expr, Expr::GroupingSet(_)));
    if sets || is_private(public, catalog) || !is_private(private, catalog) {
        return Ok(None);
    }
    let (marks, conditions): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(is_mark);
    if !conditions
        .iter()
        .all(|condition| is_of(condition, public.schema()))
    {
        return Err(Error::refused(
            "a condition on the private table would drop the public rows that this outer join keeps",
            "write the condition into ON, or use an inner join",
        ));
    }
    if !aggregate.group_expr.iter().all(|key| is_of(key, public.schema())) {
        return Err(Error::refused(
            "this outer join would make rows that belong to nobody, and GROUP BY names a private column of them",
            "group by columns of the public table, or use an inner join",
        ));
    }
    if !aggregate
        .aggr_expr
        .iter()
        .all(|call| passes_over(call, private.schema()))
    {
        return Err(Error::refused(
            "this outer join would make rows that belong to nobody, and COUNT(*) counts them",
            "count a column of the private table, as in COUNT(p.person_id), or use an inner join",
        ));
    }
    let matched = LogicalPlan::Join(Join {
        join_type: JoinType::Inner,
        ..join.clone()
    });
    let matched = matched
        .with_new_exprs(
            matched.expressions(),
            vec![join.left.as_ref().clone(), join.right.as_ref().clone()],
        )
        .map_err(unplannable)?;
    let keys = match aggregate.group_expr.is_empty() {
        true => None,
        false => Some(keys(public, &conditions, &aggregate.group_expr)?),
    };
    let matched = filtered(matched, conditions.into_iter().chain(marks))?;
    let inner = Aggregate::try_new(
        Arc::new(matched),
        aggregate.group_expr.clone(),
        aggregate.aggr_expr.clone(),
    );
    Ok(Some(OuterPublic {
        inner: inner.map_err(unplannable)?,
        keys,
    }))
}

impl OuterPublic {
    /// The released groups joined to the keys, under the names of the GROUP BY.
    pub(crate) fn joined(self, released: LogicalPlan, schema: &DFSchema) -> Result<LogicalPlan, Error> {
        let Some(keys) = self.keys else {
            return Ok(released);
        };
        let count = keys.schema().fields().len();
        let named = |place: usize| format!("__deniable_outer{place}");
        let shown = released.schema().columns().into_iter().enumerate();
        let shown: Vec<Expr> = shown
            .map(|(place, column)| Expr::Column(column).alias(named(place)))
            .collect();
        let right = LogicalPlanBuilder::from(released)
            .project(shown)
            .and_then(LogicalPlanBuilder::build)
            .map_err(unplannable)?;
        let column = |name: String| Expr::Column(Column::from_name(name));
        let on = (0..count).map(|place| {
            Expr::BinaryExpr(BinaryExpr::new(
                Box::new(column(key(place))),
                Operator::IsNotDistinctFrom,
                Box::new(column(named(place))),
            ))
        });
        let columns = schema.iter().enumerate().map(|(place, (qualifier, field))| {
            let name = if place < count { key(place) } else { named(place) };
            column(name).alias_qualified(qualifier.cloned(), field.name())
        });
        LogicalPlanBuilder::from(keys)
            .join_on(right, JoinType::Left, on)
            .and_then(|plan| plan.project(columns.collect::<Vec<_>>()))
            .and_then(LogicalPlanBuilder::build)
            .map_err(unplannable)
    }
}

fn key(place: usize) -> String {
    format!("__deniable_key_of_all{place}")
}

fn keys(public: &LogicalPlan, conditions: &[Expr], keys: &[Expr]) -> Result<LogicalPlan, Error> {
    let kept = filtered(public.clone(), conditions.iter().cloned())?;
    let shown = keys
        .iter()
        .enumerate()
        .map(|(place, expr)| expr.clone().unalias().alias(key(place)));
    LogicalPlanBuilder::from(kept)
        .project(shown.collect::<Vec<_>>())
        .and_then(LogicalPlanBuilder::distinct)
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)
}

fn filtered(plan: LogicalPlan, conditions: impl Iterator<Item = Expr>) -> Result<LogicalPlan, Error> {
    match conjunction(conditions) {
        None => Ok(plan),
        Some(condition) => LogicalPlanBuilder::from(plan)
            .filter(condition)
            .and_then(LogicalPlanBuilder::build)
            .map_err(unplannable),
    }
}

/// Whether it ties a SELECT to its options.
fn is_mark(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.func.name() == SELECT)
}

/// Whether an expression names columns of this side alone.
fn is_of(expr: &Expr, side: &DFSchema) -> bool {
    !contains_subquery(expr) && expr.column_refs().iter().all(|column| side.has_column(column))
}

/// Whether an aggregate passes over rows in which the columns of this side are NULL.
fn passes_over(call: &Expr, side: &DFSchema) -> bool {
    match call {
        Expr::Alias(alias) => passes_over(&alias.expr, side),
        Expr::AggregateFunction(call) => call
            .params
            .args
            .first()
            .is_some_and(|argument| is_null_with(argument, side)),
        _ => false,
    }
}

/// Whether an expression is NULL where all columns of this side are.
fn is_null_with(expr: &Expr, side: &DFSchema) -> bool {
    match expr {
        Expr::Column(column) => side.has_column(column),
        Expr::Alias(alias) => is_null_with(&alias.expr, side),
        Expr::Cast(cast) => is_null_with(&cast.expr, side),
        Expr::TryCast(cast) => is_null_with(&cast.expr, side),
        Expr::Negative(inner) => is_null_with(inner, side),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let arithmetic = matches!(
                op,
                Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo
            );
            arithmetic && (is_null_with(left, side) || is_null_with(right, side))
        }
        Expr::ScalarFunction(call) if [PER_ROW, PER_GROUP].contains(&call.func.name()) => call
            .args
            .first()
            .is_some_and(|argument| is_null_with(argument, side)),
        _ => false,
    }
}
