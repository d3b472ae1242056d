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

use super::join::{
    Columns, column_named, depends_on_outside, equality, key_among, most_joined, public_columns,
};
use super::{PublicSide, Rows, UNIT, is_private, resolve, rows, unplannable};
use crate::Error;
use crate::catalog::Catalog;
use crate::expression::{Scope, accept};
use crate::facts::{Facts, Kind};
use bound::{Meeting, OwnerJoin};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, JoinType, ScalarValue};
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::logical_expr::expr::SetQuantifier;
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Distinct, Expr, LogicalPlan, LogicalPlanBuilder, Operator, Subquery, lit, not,
    when,
};
use std::sync::Arc;

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

/// The rows of a subquery, under names that nobody else has, and what ties them to a row outside.
struct Inner {
    side: Side,
    /// The columns, under their own names and under those that they have here.
    written: Columns,
    renamed: Columns,
    /// Conditions in which columns of the subquery are columns and those outside are outer references.
    conditions: Vec<Expr>,
}

enum Side {
    Private(Box<Rows>),
    Public(LogicalPlan),
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
                    if let Some((_, Expr::Column(column))) = sides(condition) {
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
            let (at, kind) = inner.find(&key)?;
            let outer = inner.translated(&outer, |column| Ok(Expr::Column(column.clone())))?;
            if self.rows.accept(&outer)?.facts.kind != kind {
                // Converted values may be equal without being the same, and then there would be several partners.
                return Err(Error::refused(
                    "a subquery is tied to the row outside by values of different kinds",
                    "CAST one side of the equality to the kind of the other",
                ));
            }
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
        // The key keeps its name, by which its rows are told to be too many.
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

    /// Reads the rows of a subquery. Says as well whether `compared`, which is one more condition, is what ties it to the owner.
    fn inner(
        &mut self,
        plan: &LogicalPlan,
        conditions: Vec<Expr>,
        compared: Option<&Expr>,
    ) -> Result<(Inner, bool), Error> {
        if depends_on_outside(plan) {
            return Err(not_understood());
        }
        let number = self.rows.columns.len();
        let name = |place: usize| format!("__deniable_inner{number}_{place}");
        if !is_private(plan, self.catalog) {
            let written = public_columns(plan, self.catalog);
            let inner = Inner::new(written, name, conditions, |exprs, _| {
                let renamed = LogicalPlanBuilder::from(plan.clone())
                    .project(exprs)
                    .and_then(LogicalPlanBuilder::build)
                    .map_err(unplannable)?;
                Ok(Side::Public(renamed))
            })?;
            return Ok((inner, false));
        }
        let mut mine = rows(plan, self.catalog)?;
        let ties = |condition: &Expr| self.ties(condition, &mine);
        let tied = compared.is_some_and(ties);
        // Rows meet by their owners, so that this condition holds of every pair.
        let (tying, conditions): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(ties);
        if !self.rows.has_unit || !mine.has_unit || (tying.is_empty() && !tied) {
            return Err(off_the_unit(&self.catalog.unit.whose));
        }
        let written = mine.columns.clone();
        let inner = Inner::new(written, name, conditions, |mut exprs, renamed| {
            exprs.push(mine.unit_expr().alias(format!("{UNIT}{number}")));
            mine.plan = LogicalPlanBuilder::from(mine.plan)
                .project(exprs)
                .and_then(LogicalPlanBuilder::build)
                .map_err(unplannable)?;
            mine.columns = renamed.clone();
            Ok(Side::Private(Box::new(mine)))
        })?;
        Ok((inner, tied))
    }

    /// Whether a condition says that the owner outside is that of the subquery's row.
    fn ties(&self, condition: &Expr, inner: &Rows) -> bool {
        let outer = |expr: &Expr| match expr {
            Expr::OuterReferenceColumn(_, column) => self.rows.names_unit(&Expr::Column(column.clone())),
            _ => false,
        };
        equality(condition).is_some_and(|(one, other)| {
            (outer(one) && inner.names_unit(other)) || (outer(other) && inner.names_unit(one))
        })
    }

    /// The conditions of a subquery over the columns of both sides, and whether they look at nothing but properties of the unit outside.
    fn accepted(&self, inner: &Inner, more: &[Expr], outer: &Columns) -> Result<(Vec<Expr>, bool), Error> {
        let mut columns = outer.clone();
        columns.extend(inner.renamed.iter().cloned().map(|(table, name, facts)| {
            let facts = Facts {
                of_unit: true,
                ..facts
            };
            (table, name, facts)
        }));
        let scope = Scope { columns };
        let mut accepted = Vec::new();
        let mut by_unit = true;
        for condition in inner.conditions.iter().chain(more) {
            let place = |column: &Column| {
                let (table, name) = resolve(&self.rows.columns, column).ok_or_else(|| no_column(column))?;
                let known = self.rows.columns.iter();
                let at = known
                    .clone()
                    .position(|(other, same, _)| *other == table && *same == name)
                    .ok_or_else(|| no_column(column))?;
                let (table, name, _) = &outer[at];
                Ok(Expr::Column(Column::new(table.clone(), name.clone())))
            };
            let typed = accept(&inner.translated(condition, place)?, &scope)?;
            if typed.facts.kind != Kind::Bool {
                return Err(Error::refused(
                    "a condition of a subquery must be true or false",
                    "compare two columns",
                ));
            }
            by_unit &= typed.facts.of_unit;
            accepted.push(typed.expr);
        }
        Ok((accepted, by_unit))
    }

    /// Adds a column: whether a row finds a partner in a subquery.
    fn whether(&mut self, inner: &Inner, more: &[Expr]) -> Result<Expr, Error> {
        let name = format!("__deniable_whether{}", self.rows.columns.len());
        let by_unit = match &inner.side {
            Side::Private(rows) => {
                let (accepted, by_unit) = self.accepted(inner, more, &self.rows.columns)?;
                let most = match accepted.is_empty() {
                    true => (u64::MAX, 1),
                    false => most_joined(&self.rows, rows, true),
                };
                self.meet(rows, accepted, Meeting::Whether(name.clone()), most)?;
                by_unit
            }
            Side::Public(side) => {
                // The engine calls the column that it adds `mark`, so nothing else may have that name.
                let outer: Columns = (0..)
                    .zip(&self.rows.columns)
                    .map(|(place, (_, _, facts))| (None, format!("__deniable_outer{place}"), facts.clone()))
                    .collect();
                let (accepted, by_unit) = self.accepted(inner, more, &outer)?;
                self.rows.plan = marked(&self.rows, &outer, side, accepted, &name).map_err(unplannable)?;
                self.rows.publics.push(PublicSide {
                    plan: side.clone(),
                    key: None,
                    repeats: false,
                });
                self.rows.clustered = false;
                by_unit
            }
        };
        self.rows.story.push(match inner.side {
            Side::Private(_) => format!(
                "whether a subquery has a row of the same {}",
                self.catalog.unit.whose
            ),
            Side::Public(_) => "whether a public row matches".to_owned(),
        });
        let facts = Facts {
            nullable: false,
            of_unit: by_unit,
            ..Facts::unknown(Kind::Bool)
        };
        self.rows.columns.push((None, name.clone(), facts));
        Ok(super::bare(&name))
    }

    /// Adds the columns of a subquery of which a row finds at most one partner; NULLs where it finds none. `key` is what a public side is looked up by.
    fn beside(&mut self, inner: &Inner, key: Vec<String>) -> Result<(), Error> {
        let (accepted, by_unit) = self.accepted(inner, &[], &self.rows.columns)?;
        match &inner.side {
            Side::Private(rows) => {
                let most = match accepted.is_empty() || rows.rows_per_unit == Some(1) {
                    true => (u64::MAX, 1),
                    false => most_joined(&self.rows, rows, true),
                };
                self.meet(rows, accepted, Meeting::PairsAndRest, most)?;
            }
            Side::Public(side) => {
                // The engine holds the left side of a join in memory: the public one.
                let joined = LogicalPlanBuilder::from(side.clone())
                    .join_on(self.rows.plan.clone(), JoinType::Right, accepted)
                    .and_then(LogicalPlanBuilder::build);
                self.rows.plan = joined.map_err(unplannable)?;
                self.rows.publics.push(PublicSide {
                    plan: side.clone(),
                    key: Some(key),
                    repeats: false,
                });
                self.rows.clustered = false;
            }
        }
        self.rows.story.push(match inner.side {
            Side::Private(_) => format!(
                "a subquery of the same {} stands for a value",
                self.catalog.unit.whose
            ),
            Side::Public(_) => "a public subquery stands for a value".to_owned(),
        });
        let of_subquery = |facts: &Facts| Facts {
            nullable: true,
            of_unit: by_unit && (facts.of_unit || matches!(inner.side, Side::Public(_))),
            ..facts.clone()
        };
        for (_, name, facts) in &inner.renamed {
            self.rows.columns.push((None, name.clone(), of_subquery(facts)));
        }
        // The other side's hidden column goes.
        let exprs = self.rows.all();
        let plan = LogicalPlanBuilder::from(self.rows.plan.clone())
            .project(exprs)
            .and_then(LogicalPlanBuilder::build);
        self.rows.plan = plan.map_err(unplannable)?;
        Ok(())
    }

    /// Rows of the same owner meet.
    fn meet(
        &mut self,
        inner: &Rows,
        conditions: Vec<Expr>,
        meeting: Meeting,
        (most_left, most_right): (u64, u64),
    ) -> Result<(), Error> {
        let hidden = inner
            .plan
            .schema()
            .columns()
            .pop()
            .map(|column| column_named(&inner.plan, &column.name));
        self.rows.plan = OwnerJoin {
            left: self.rows.plan.clone(),
            right: inner.plan.clone(),
            left_key: self.rows.unit_column(),
            right_key: hidden.ok_or_else(not_understood)?,
            filter: conjunction(conditions),
            meeting,
            most_left,
            most_right,
        }
        .plan()
        .map_err(unplannable)?;
        self.rows.clustered = false;
        self.rows.publics.extend(inner.publics.clone());
        self.rows.selects.extend(&inner.selects);
        self.rows.story.extend(inner.story.clone());
        if most_left != u64::MAX {
            let whose = &self.catalog.unit.whose;
            self.rows.story.push(format!(
                "of one {whose} at most {most_left} rows are compared with at most {most_right}"
            ));
        }
        Ok(())
    }
}

/// Rows beside whether each has a public partner. Each row is looked at alone, and none is repeated.
fn marked(
    rows: &Rows,
    outer: &Columns,
    side: &LogicalPlan,
    conditions: Vec<Expr>,
    name: &str,
) -> datafusion::common::Result<LogicalPlan> {
    let hidden = format!("{UNIT}_outer");
    let renamed = rows
        .columns
        .iter()
        .zip(outer)
        .map(|((table, name, _), (_, to, _))| {
            Expr::Column(Column::new(table.clone(), name.clone())).alias(to)
        });
    let unit = rows.has_unit.then(|| rows.unit_expr().alias(&hidden));
    let renamed = LogicalPlanBuilder::from(rows.plan.clone())
        .project(renamed.chain(unit))?
        .build()?;
    // A condition there has to be.
    let conditions = conjunction(conditions).unwrap_or_else(|| lit(true));
    let joined =
        LogicalPlanBuilder::from(side.clone()).join_on(renamed, JoinType::RightMark, [conditions])?;
    let restored = rows
        .columns
        .iter()
        .zip(outer)
        .map(|((table, name, _), (_, from, _))| {
            super::bare(from).alias_qualified(table.clone(), name.clone())
        });
    let unit = rows.has_unit.then(|| super::bare(&hidden).alias(UNIT));
    let found = joined
        .schema()
        .columns()
        .pop()
        .map(|mark| Expr::Column(mark).alias(name));
    joined.project(restored.chain(unit).chain(found))?.build()
}

impl Inner {
    fn new(
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
    fn keep_name(&mut self, place: usize) -> Result<(), Error> {
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
    fn find(&self, column: &Column) -> Result<(usize, Kind), Error> {
        let (table, name) = resolve(&self.written, column).ok_or_else(|| no_column(column))?;
        let at = self
            .written
            .iter()
            .position(|(other, same, _)| *other == table && *same == name);
        let at = at.ok_or_else(|| no_column(column))?;
        Ok((at, self.written[at].2.kind))
    }

    /// An expression over the names that columns have here: columns of the subquery are renamed, `outer` names the others.
    fn translated(&self, expr: &Expr, outer: impl Fn(&Column) -> Result<Expr, Error>) -> Result<Expr, Error> {
        let mut problem = None;
        let changed = expr.clone().transform_up(|part| {
            let named = match &part {
                Expr::Column(column) => self.find(column).map(|(at, _)| super::bare(&self.renamed[at].1)),
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
fn outside(expr: &Expr) -> Result<Expr, Error> {
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

fn compared(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

/// A plan without the conditions that look outside, and these.
fn pulled(plan: &LogicalPlan) -> Result<(LogicalPlan, Vec<Expr>), Error> {
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
fn sides(condition: &Expr) -> Option<(Expr, Expr)> {
    let outer = |expr: &Expr| expr.contains_outer() && expr.column_refs().is_empty();
    let inner = |expr: &Expr| !expr.contains_outer() && !expr.column_refs().is_empty();
    let (one, other) = equality(condition)?;
    if outer(one) && inner(other) {
        return Some((one.clone(), other.clone()));
    }
    (outer(other) && inner(one)).then(|| (other.clone(), one.clone()))
}

fn is_count(call: &Expr) -> bool {
    match call.clone().unalias() {
        Expr::AggregateFunction(call) => {
            matches!(call.func.name(), "count" | "approx_distinct" | "regr_count")
        }
        _ => false,
    }
}

/// A plan without an order that changes nothing.
fn unsorted(plan: &LogicalPlan) -> &LogicalPlan {
    match plan {
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => unsorted(&sort.input),
        other => other,
    }
}

/// Whether a limit leaves a row where there is one.
fn keeps_a_row(limit: &datafusion::logical_expr::Limit) -> bool {
    let number = |expr: &Option<Box<Expr>>| match expr.as_deref() {
        None => Some(None),
        Some(Expr::Literal(ScalarValue::Int64(Some(number)), _)) => Some(Some(*number)),
        Some(_) => None,
    };
    matches!(number(&limit.skip), Some(None | Some(0)))
        && number(&limit.fetch).is_some_and(|fetch| fetch.is_none_or(|fetch| fetch > 0))
}

fn no_column(column: &Column) -> Error {
    Error::refused(
        format!("there is no column {} here, or more than one", column.flat_name()),
        "a subquery may use the columns of the query right around it; name the table too: table.column",
    )
}

fn off_the_unit(whose: &str) -> Error {
    Error::refused(
        format!(
            "a subquery over private tables must look at rows of the same {whose}: otherwise one {whose} decides about rows of others"
        ),
        format!(
            "tie it to the {whose} with an equality of the columns that name the {whose}: EXISTS (SELECT 1 FROM inner WHERE inner.{whose} = outer.{whose} AND …), or {whose} IN (SELECT {whose} FROM …)"
        ),
    )
}

fn only_equalities() -> Error {
    Error::refused(
        "a subquery that aggregates is tied to the row outside by equalities alone",
        "compare a column of the subquery with one outside: WHERE inner.x = outer.x; or join the tables on the privacy unit and aggregate then",
    )
}

fn release_of_its_own() -> Error {
    Error::refused(
        "a subquery over everybody's rows stands for a value in each row: it would be a release of its own, with noise",
        "tie it to the privacy unit (WHERE inner.id = outer.id), or ask the inner query first and write its answer as a number",
    )
}

fn not_understood() -> Error {
    Error::refused(
        "this subquery looks at the row outside in a way that is not understood",
        "use columns outside in its WHERE alone, and without LIMIT, UNION or a further subquery between",
    )
}
