//! Subqueries inside of expressions over rows: `EXISTS`, `IN (SELECT …)`, `ANY`, `ALL`, and subqueries that stand for a value.
//!
//! Each becomes a join that leaves every row as it is and adds columns to it, and the expression then reads these columns:
//!
//! - Over private tables the subquery has to be tied to the owner by an equality, and rows meet by the hidden owner and by nothing else (`bound/owner_join`). What is
//!   added to a row is then a function of that row and of its owner's other rows. Whatever else the subquery demands is a filter on the pair.
//! - Over public tables each private row meets public rows alone, which are read before the charge (`publics`).
//!
//! An aggregate that stands for a value is computed for each owner first, as if the query had grouped by it (`per_unit`), so that a row finds at most one partner.
//!
//! NULL is PostgreSQL's: `x IN (…)` is NULL where no member equals x and x or a member is NULL. Rows whose owner is NULL are in no table (`scanned`), so they are no
//! members either; otherwise one such row would decide about everybody.

mod attach;
mod inner;

use super::join::{depends_on_outside, key_among};
use super::{Rows, is_private, rows};
use crate::Error;
use crate::catalog::Catalog;
use crate::understand::mistakes::unplannable;
use crate::values::facts::Kind;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, ScalarValue};
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::logical_expr::expr::SetQuantifier;
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, LogicalPlan, LogicalPlanBuilder, Operator, Subquery, lit, not, when,
};
use inner::{
    Inner, Side, compared, is_count, keeps_a_row, not_understood, off_the_unit, only_equalities, outside,
    pulled, release_of_its_own, sides, unsorted,
};

/// The key of a public side that has to have one row at most.
pub(crate) const ONE_ROW: &str = "__deniable_one_row";

/// Whether an expression has a subquery in it.
pub(crate) fn contains_subquery(expr: &Expr) -> bool {
    let found = expr.exists(|part| {
        Ok(matches!(
            part,
            Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_)
        ))
    });
    found.unwrap_or(true)
}

/// The rows with further columns, and the expressions with these in place of their subqueries.
pub(crate) fn attached(rows: Rows, exprs: Vec<Expr>, catalog: &Catalog) -> Result<(Rows, Vec<Expr>), Error> {
    if !exprs.iter().any(contains_subquery) {
        return Ok((rows, exprs));
    }
    let mut attaching = Attaching { rows, catalog };
    let exprs = exprs
        .into_iter()
        .map(|expr| attaching.replaced(expr))
        .collect::<Result<_, _>>()?;
    Ok((attaching.rows, exprs))
}

/// The same for conditions all of which have to be true: there it is one whether `x IN (…)` is false or NULL.
pub(super) fn attached_to_filter(
    rows: Rows,
    conditions: Vec<Expr>,
    catalog: &Catalog,
) -> Result<(Rows, Vec<Expr>), Error> {
    let mut attaching = Attaching { rows, catalog };
    let mut kept = Vec::new();
    for condition in conditions {
        kept.push(match condition {
            Expr::InSubquery(inner) if !inner.negated => {
                attaching.any(*inner.expr, Operator::Eq, &inner.subquery, true)?
            }
            other => attaching.replaced(other)?,
        });
    }
    Ok((attaching.rows, kept))
}

struct Attaching<'a> {
    rows: Rows,
    catalog: &'a Catalog,
}

impl Attaching<'_> {
    fn replaced(&mut self, expr: Expr) -> Result<Expr, Error> {
        if !contains_subquery(&expr) {
            return Ok(expr);
        }
        let mut problem = None;
        let changed = expr.transform_down(|expr| {
            let replacement = match &expr {
                _ if problem.is_some() => return Ok(Transformed::no(expr)),
                Expr::Exists(exists) => self.exists(&exists.subquery).map(|found| match exists.negated {
                    true => not(found),
                    false => found,
                }),
                Expr::InSubquery(inner) => self
                    .any(inner.expr.as_ref().clone(), Operator::Eq, &inner.subquery, false)
                    .map(|found| if inner.negated { not(found) } else { found }),
                Expr::SetComparison(compared) => {
                    let operand = compared.expr.as_ref().clone();
                    match (&compared.quantifier, compared.op.negate()) {
                        (SetQuantifier::Any, _) => self.any(operand, compared.op, &compared.subquery, false),
                        (SetQuantifier::All, Some(negated)) => {
                            self.any(operand, negated, &compared.subquery, false).map(not)
                        }
                        (SetQuantifier::All, None) => Err(not_understood()),
                    }
                }
                Expr::ScalarSubquery(subquery) => self.value(subquery),
                _ => return Ok(Transformed::no(expr)),
            };
            Ok(match replacement {
                Ok(replacement) => Transformed::new(replacement, true, TreeNodeRecursion::Jump),
                Err(error) => {
                    problem = Some(error);
                    Transformed::no(expr)
                }
            })
        });
        match problem {
            Some(problem) => Err(problem),
            None => Ok(changed.map_err(unplannable)?.data),
        }
    }

    fn exists(&mut self, subquery: &Subquery) -> Result<Expr, Error> {
        let mut plan = subquery.subquery.as_ref();
        if is_private(plan, self.catalog) || depends_on_outside(plan) {
            // Neither what is selected, nor in which order, nor how often says whether there is a row.
            loop {
                plan = match plan {
                    LogicalPlan::Projection(projection) => &projection.input,
                    LogicalPlan::Distinct(Distinct::All(input)) => input,
                    LogicalPlan::Sort(sort) if sort.fetch.is_none() => &sort.input,
                    LogicalPlan::Limit(limit) if keeps_a_row(limit) => &limit.input,
                    _ => break,
                };
            }
        }
        let (plan, conditions) = pulled(plan)?;
        let (inner, _) = self.inner(&plan, conditions, None)?;
        self.whether(&inner, &[])
    }

    /// `operand op ANY (subquery)`. Where only truth matters, it is false where it would be NULL.
    fn any(
        &mut self,
        operand: Expr,
        op: Operator,
        subquery: &Subquery,
        only_truth: bool,
    ) -> Result<Expr, Error> {
        let operand = self.replaced(operand)?;
        let (plan, member) = self.shown(subquery)?;
        let (plan, conditions) = pulled(&plan)?;
        let compared = compared(outside(&operand)?, op, member.clone());
        let (inner, tied) = self.inner(&plan, conditions.clone(), Some(&compared))?;
        if tied {
            // Owners are never NULL, neither here nor there.
            return self.whether(&inner, &[]);
        }
        let found = self.whether(&inner, std::slice::from_ref(&compared))?;
        if only_truth {
            return Ok(found);
        }
        let unknown = match inner.side {
            Side::Public(_) if op == Operator::Eq => {
                // In parts that can be looked up: which members equal x is one, and the others do not look at x.
                let build = |plan: datafusion::common::Result<LogicalPlanBuilder>| {
                    plan.and_then(LogicalPlanBuilder::build).map_err(unplannable)
                };
                let nulls = build(LogicalPlanBuilder::from(plan.clone()).filter(member.is_null()))?;
                let (nulls, _) = self.inner(&nulls, conditions.clone(), None)?;
                let has_null = self.whether(&nulls, &[])?;
                let some = match conditions.is_empty() {
                    true => build(LogicalPlanBuilder::from(plan).limit(0, Some(1)))?,
                    false => plan,
                };
                let (some, _) = self.inner(&some, conditions, None)?;
                let has_some = self.whether(&some, &[])?;
                has_null.or(operand.is_null().and(has_some))
            }
            _ => self.whether(&inner, &[compared.is_null()])?,
        };
        when(found, lit(true))
            .when(unknown, lit(ScalarValue::Boolean(None)))
            .otherwise(lit(false))
            .map_err(unplannable)
    }

    /// A subquery that stands for one value.
    fn value(&mut self, subquery: &Subquery) -> Result<Expr, Error> {
        let whole = subquery.subquery.as_ref();
        let private = is_private(whole, self.catalog);
        if !depends_on_outside(whole) {
            return match private {
                true => Err(release_of_its_own()),
                false => self.public_value(whole),
            };
        }
        let LogicalPlan::Projection(projection) = unsorted(whole) else {
            return Err(not_understood());
        };
        let [shown] = projection.expr.as_slice() else {
            return Err(not_understood());
        };
        let shown = shown.clone().unalias();
        if let LogicalPlan::Aggregate(aggregate) = projection.input.as_ref()
            && aggregate.group_expr.is_empty()
        {
            return self.total(&shown, aggregate);
        }
        let (plan, conditions) = pulled(&projection.input)?;
        let (inner, _) = self.inner(&plan, conditions, None)?;
        let several = || {
            Error::refused(
                "a subquery that stands for one value may have more than one row",
                "aggregate it, for example (SELECT MAX(…) FROM … WHERE …)",
            )
        };
        match &inner.side {
            Side::Private(rows) if rows.rows_per_unit == Some(1) => self.beside(&inner, Vec::new())?,
            Side::Private(_) => return Err(several()),
            Side::Public(_) => {
                let mut matched = Vec::new();
                for condition in &inner.conditions {
                    if let Some((outer, Expr::Column(column))) = sides(condition)
                        && self.determines(&inner, &outer, &column)?
                    {
                        matched.push(column.name.clone());
                    }
                }
                let key = key_among(&plan, &matched, self.catalog).ok_or_else(several)?;
                let key = key
                    .iter()
                    .filter_map(|name| inner.written.iter().position(|(_, other, _)| other == name))
                    .map(|place| inner.renamed[place].1.clone())
                    .collect();
                self.beside(&inner, key)?;
            }
        }
        inner.translated(&shown, |column| Ok(Expr::Column(column.clone())))
    }

    /// An aggregate of the rows that equalities tie to a row outside: computed for all values of what is compared, and looked up.
    fn total(&mut self, shown: &Expr, aggregate: &Aggregate) -> Result<Expr, Error> {
        let (plan, conditions) = pulled(&aggregate.input)?;
        if is_private(&plan, self.catalog) {
            let inner = rows(&plan, self.catalog)?;
            if !conditions.iter().any(|condition| self.ties(condition, &inner)) {
                return Err(off_the_unit(&self.catalog.unit.whose));
            }
        }
        let mut pairs = Vec::new();
        for condition in &conditions {
            pairs.push(sides(condition).ok_or_else(only_equalities)?);
        }
        let mut keys: Vec<Expr> = Vec::new();
        for (_, key) in &pairs {
            if !keys.contains(key) {
                keys.push(key.clone());
            }
        }
        let grouped = LogicalPlanBuilder::from(plan)
            .aggregate(keys.clone(), aggregate.aggr_expr.clone())
            .and_then(LogicalPlanBuilder::build)
            .map_err(unplannable)?;
        let columns = grouped.schema().columns();
        let place = |key: &Expr| keys.iter().position(|other| other == key).expect("it was put in");
        let conditions = pairs
            .iter()
            .map(|(outer, key)| outer.clone().eq(Expr::Column(columns[place(key)].clone())))
            .collect();
        let (inner, _) = self.inner(&grouped, conditions, None)?;
        let mut matched = Vec::new();
        for condition in &inner.conditions {
            let Some((outer, Expr::Column(key))) = sides(condition) else {
                return Err(only_equalities());
            };
            if !self.determines(&inner, &outer, &key)? {
                return Err(Error::refused(
                    "a subquery is tied to the row outside by values of different kinds, or by public floats",
                    "CAST one side of the equality to the kind of the other",
                ));
            }
            let (at, _) = inner.find(&key)?;
            matched.push(inner.renamed[at].1.clone());
        }
        self.beside(&inner, matched)?;
        // Of no rows a count is zero, and every other aggregate is NULL.
        let counts: Vec<String> = aggregate
            .aggr_expr
            .iter()
            .enumerate()
            .filter(|(_, call)| is_count(call))
            .map(|(place, _)| inner.renamed[keys.len() + place].1.clone())
            .collect();
        let value = inner.translated(shown, |column| Ok(Expr::Column(column.clone())))?;
        let value = value.transform_up(|part| {
            Ok(match &part {
                Expr::Column(column) if column.relation.is_none() && counts.contains(&column.name) => {
                    Transformed::yes(coalesce(vec![part, lit(0i64)]))
                }
                _ => Transformed::no(part),
            })
        });
        Ok(value.map_err(unplannable)?.data)
    }

    /// Whether a row outside says which value a column of the subquery has where they are equal. Converted values may be equal without being the same, and so may
    /// floats of public tables, which are grouped before they are canonical.
    fn determines(&self, inner: &Inner, outer: &Expr, column: &Column) -> Result<bool, Error> {
        let (_, kind) = inner.find(column)?;
        let outer = inner.translated(outer, |column| Ok(Expr::Column(column.clone())))?;
        let exact = kind != Kind::Float || matches!(inner.side, Side::Private(_));
        Ok(exact && self.rows.accept(&outer)?.facts.kind == kind)
    }

    /// A value that public tables alone determine.
    fn public_value(&mut self, plan: &LogicalPlan) -> Result<Expr, Error> {
        let shown = plan
            .schema()
            .columns()
            .pop()
            .map(Expr::Column)
            .ok_or_else(not_understood)?;
        let name = "__deniable_value";
        let plan = LogicalPlanBuilder::from(plan.clone())
            .project([shown.alias(name), lit(1i64).alias(ONE_ROW)])
            .and_then(LogicalPlanBuilder::build)
            .map_err(unplannable)?;
        let (mut inner, _) = self.inner(&plan, Vec::new(), None)?;
        // The key keeps its name, by which its rows are reported to be too many.
        inner.keep_name(1)?;
        inner.conditions = vec![lit(1i64).eq(Expr::Column(Column::from_name(ONE_ROW)))];
        self.beside(&inner, vec![ONE_ROW.to_owned()])?;
        inner.translated(&Expr::Column(Column::from_name(name)), |column| {
            Ok(Expr::Column(column.clone()))
        })
    }

    /// What a subquery with one column selects, and from what. A public one that stands for itself is left as it is.
    fn shown(&self, subquery: &Subquery) -> Result<(LogicalPlan, Expr), Error> {
        let mut plan = subquery.subquery.as_ref();
        if is_private(plan, self.catalog) || depends_on_outside(plan) {
            loop {
                plan = match plan {
                    // A member that is there twice is a member.
                    LogicalPlan::Distinct(Distinct::All(input)) => input,
                    LogicalPlan::Sort(sort) if sort.fetch.is_none() => &sort.input,
                    _ => break,
                };
            }
            if let LogicalPlan::Projection(projection) = plan
                && let [shown] = projection.expr.as_slice()
            {
                return Ok((projection.input.as_ref().clone(), shown.clone().unalias()));
            }
        }
        let column = plan.schema().columns().pop().ok_or_else(not_understood)?;
        Ok((plan.clone(), Expr::Column(column)))
    }
}
