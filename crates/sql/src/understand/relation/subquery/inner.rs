//! The rows of a subquery, and the parts of its plan that look outside.

use crate::Error;
use crate::understand::mistakes::unplannable;
use crate::understand::relation::join::{Columns, equality};
use crate::understand::relation::{Rows, bare, resolve};
use crate::values::facts::Kind;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{BinaryExpr, Expr, Limit, LogicalPlan, LogicalPlanBuilder, Operator};
use std::sync::Arc;

/// The rows of a subquery, under names that nobody else has, and what ties them to a row outside.
pub(super) struct Inner {
    pub(super) side: Side,
    /// The columns, under their own names and under those that they have here.
    pub(super) written: Columns,
    pub(super) renamed: Columns,
    /// Conditions in which columns of the subquery are columns and those outside are outer references.
    pub(super) conditions: Vec<Expr>,
}

pub(super) enum Side {
    Private(Box<Rows>),
    Public(LogicalPlan),
}

impl Inner {
    pub(super) fn new(
        written: Columns,
        name: impl Fn(usize) -> String,
        conditions: Vec<Expr>,
        side: impl FnOnce(Vec<Expr>, &Columns) -> Result<Side, Error>,
    ) -> Result<Self, Error> {
        let renamed: Columns = written
            .iter()
            .enumerate()
            .map(|(place, (_, _, facts))| (None, name(place), facts.clone()))
            .collect();
        let exprs = written
            .iter()
            .zip(&renamed)
            .map(|((table, name, _), (_, to, _))| {
                Expr::Column(Column::new(table.clone(), name.clone())).alias(to)
            });
        Ok(Self {
            side: side(exprs.collect(), &renamed)?,
            written,
            renamed,
            conditions,
        })
    }

    /// Gives a column of a public side its own name back.
    pub(super) fn keep_name(&mut self, place: usize) -> Result<(), Error> {
        let name = self.written[place].1.clone();
        if let Side::Public(plan) = &mut self.side {
            let columns = plan.schema().columns().into_iter().enumerate();
            let exprs = columns.map(|(at, column)| match at == place {
                true => Expr::Column(column).alias(&name),
                false => Expr::Column(column),
            });
            *plan = LogicalPlanBuilder::from(plan.clone())
                .project(exprs)
                .and_then(LogicalPlanBuilder::build)
                .map_err(unplannable)?;
        }
        self.renamed[place].1 = name;
        Ok(())
    }

    /// The place and the kind of a column of the subquery.
    pub(super) fn find(&self, column: &Column) -> Result<(usize, Kind), Error> {
        let (table, name) = resolve(&self.written, column).ok_or_else(|| no_column(column))?;
        let at = self
            .written
            .iter()
            .position(|(other, same, _)| *other == table && *same == name);
        let at = at.ok_or_else(|| no_column(column))?;
        Ok((at, self.written[at].2.kind))
    }

    /// An expression over the names that columns have here: columns of the subquery are renamed, `outer` names the others.
    pub(super) fn translated(
        &self,
        expr: &Expr,
        outer: impl Fn(&Column) -> Result<Expr, Error>,
    ) -> Result<Expr, Error> {
        let mut problem = None;
        let changed = expr.clone().transform_up(|part| {
            let named = match &part {
                Expr::Column(column) => self.find(column).map(|(at, _)| bare(&self.renamed[at].1)),
                Expr::OuterReferenceColumn(_, column) => outer(column),
                _ => return Ok(Transformed::no(part)),
            };
            Ok(match named {
                Ok(named) => Transformed::yes(named),
                Err(error) => {
                    problem.get_or_insert(error);
                    Transformed::no(part)
                }
            })
        });
        match problem {
            Some(problem) => Err(problem),
            None => Ok(changed.map_err(unplannable)?.data),
        }
    }
}

/// An expression outside as a subquery would write it.
pub(super) fn outside(expr: &Expr) -> Result<Expr, Error> {
    let changed = expr.clone().transform_up(|part| {
        Ok(match part {
            Expr::Column(column) => {
                let field = Field::new(&column.name, DataType::Null, true);
                Transformed::yes(Expr::OuterReferenceColumn(Arc::new(field), column))
            }
            other => Transformed::no(other),
        })
    });
    Ok(changed.map_err(unplannable)?.data)
}

pub(super) fn compared(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

/// A plan without the conditions that look outside, and these.
pub(super) fn pulled(plan: &LogicalPlan) -> Result<(LogicalPlan, Vec<Expr>), Error> {
    match plan {
        LogicalPlan::Filter(filter) => {
            let (input, mut conditions) = pulled(&filter.input)?;
            let mut kept = Vec::new();
            for condition in split_conjunction(&filter.predicate) {
                if condition.contains_outer() {
                    conditions.push(condition.clone());
                } else {
                    kept.push(condition.clone());
                }
            }
            let Some(predicate) = conjunction(kept) else {
                return Ok((input, conditions));
            };
            let plan = LogicalPlanBuilder::from(input)
                .filter(predicate)
                .and_then(LogicalPlanBuilder::build)
                .map_err(unplannable)?;
            Ok((plan, conditions))
        }
        // An equality with a key holds of all rows of a group or of none.
        LogicalPlan::Aggregate(aggregate) if !aggregate.group_expr.is_empty() => {
            let (input, conditions) = pulled(&aggregate.input)?;
            if conditions.is_empty() {
                return Ok((plan.clone(), conditions));
            }
            for condition in &conditions {
                let (_, key) = sides(condition).ok_or_else(only_equalities)?;
                if !matches!(key, Expr::Column(_)) || !aggregate.group_expr.contains(&key) {
                    return Err(only_equalities());
                }
            }
            let plan = LogicalPlanBuilder::from(input)
                .aggregate(aggregate.group_expr.clone(), aggregate.aggr_expr.clone())
                .and_then(LogicalPlanBuilder::build)
                .map_err(unplannable)?;
            Ok((plan, conditions))
        }
        other => Ok((other.clone(), Vec::new())),
    }
}

/// The two sides of an equality, one of columns outside and one of columns of the subquery.
pub(super) fn sides(condition: &Expr) -> Option<(Expr, Expr)> {
    let outer = |expr: &Expr| expr.contains_outer() && expr.column_refs().is_empty();
    let inner = |expr: &Expr| !expr.contains_outer() && !expr.column_refs().is_empty();
    let (one, other) = equality(condition)?;
    if outer(one) && inner(other) {
        return Some((one.clone(), other.clone()));
    }
    (outer(other) && inner(one)).then(|| (other.clone(), one.clone()))
}

pub(super) fn is_count(call: &Expr) -> bool {
    match call.clone().unalias() {
        Expr::AggregateFunction(call) => {
            matches!(call.func.name(), "count" | "approx_distinct" | "regr_count")
        }
        _ => false,
    }
}

/// A plan without an order that changes nothing.
pub(super) fn unsorted(plan: &LogicalPlan) -> &LogicalPlan {
    match plan {
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => unsorted(&sort.input),
        other => other,
    }
}

/// Whether a limit leaves a row where there is one.
pub(super) fn keeps_a_row(limit: &Limit) -> bool {
    let number = |expr: &Option<Box<Expr>>| match expr.as_deref() {
        None => Some(None),
        Some(Expr::Literal(ScalarValue::Int64(Some(number)), _)) => Some(Some(*number)),
        Some(_) => None,
    };
    matches!(number(&limit.skip), Some(None | Some(0)))
        && number(&limit.fetch).is_some_and(|fetch| fetch.is_none_or(|fetch| fetch > 0))
}

pub(super) fn no_column(column: &Column) -> Error {
    Error::refused(
        format!("there is no column {} here, or more than one", column.flat_name()),
        "a subquery may use the columns of the query right around it; name the table too: table.column",
    )
}

pub(super) fn off_the_unit(whose: &str) -> Error {
    Error::refused(
        format!(
            "a subquery over private tables must look at rows of the same {whose}: otherwise one {whose} decides about rows of others"
        ),
        format!(
            "tie it to the {whose} with an equality of the columns that name the {whose}: EXISTS (SELECT 1 FROM inner WHERE inner.{whose} = outer.{whose} AND …), or {whose} IN (SELECT {whose} FROM …)"
        ),
    )
}

pub(super) fn only_equalities() -> Error {
    Error::refused(
        "a subquery that aggregates is tied to the row outside by equalities alone",
        "compare a column of the subquery with one outside: WHERE inner.x = outer.x; or join the tables on the privacy unit and aggregate then",
    )
}

pub(super) fn release_of_its_own() -> Error {
    Error::refused(
        "a subquery over everybody's rows stands for a value in each row: it would be a release of its own, with noise",
        "tie it to the privacy unit (WHERE inner.id = outer.id), or ask the inner query first and write its answer as a number",
    )
}

pub(super) fn not_understood() -> Error {
    Error::refused(
        "this subquery looks at the row outside in a way that is not understood",
        "use columns outside in its WHERE alone, and without LIMIT, UNION or a further subquery between",
    )
}
