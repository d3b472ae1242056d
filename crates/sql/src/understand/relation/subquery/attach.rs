//! How a subquery's rows come to the rows outside: under names of their own, by owner or as public rows.

use super::Attaching;
use super::inner::{Inner, Side, no_column, not_understood, off_the_unit};
use crate::Error;
use crate::understand::expression::{Scope, accept};
use crate::understand::mistakes::unplannable;
use crate::understand::relation::join::{
    Columns, column_named, depends_on_outside, equality, fewer, most_joined, public_columns, surely_joined,
};
use crate::understand::relation::{PublicSide, Rows, UNIT, bare, is_private, resolve, rows};
use crate::values::facts::{Facts, Kind};
use bound::{Meeting, OwnerJoin};
use datafusion::common::{Column, JoinType};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit};

impl Attaching<'_> {
    /// Reads the rows of a subquery. Says as well whether `compared`, which is one more condition, is what ties it to the owner.
    pub(super) fn inner(
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
    pub(super) fn ties(&self, condition: &Expr, inner: &Rows) -> bool {
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
    pub(super) fn whether(&mut self, inner: &Inner, more: &[Expr]) -> Result<Expr, Error> {
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
        Ok(bare(&name))
    }

    /// Adds the columns of a subquery of which a row finds at most one partner; NULLs where it finds none. `key` is what a public side is looked up by.
    pub(super) fn beside(&mut self, inner: &Inner, key: Vec<String>) -> Result<(), Error> {
        let (accepted, by_unit) = self.accepted(inner, &[], &self.rows.columns)?;
        // That there is one partner at most is derived here, and not promised by the catalog: the bounding step looks after it.
        self.rows.promised = false;
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
        let sure = surely_joined(&self.rows, inner, (most_left, most_right));
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
        self.rows.sums_inside |= inner.sums_inside;
        self.rows.left_out.extend(inner.left_out.clone());
        if most_left != u64::MAX {
            let whose = &self.catalog.unit.whose;
            if self.rows.may_exceed(sure.0) || inner.may_exceed(sure.1) {
                self.rows.left_out.push(format!(
                    "the subquery compares at most {most_left} rows of each {whose} with at most {most_right}{}",
                    fewer((most_left, most_right), sure)
                ));
            }
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
        .map(|((table, name, _), (_, from, _))| bare(from).alias_qualified(table.clone(), name.clone()));
    let unit = rows.has_unit.then(|| bare(&hidden).alias(UNIT));
    let found = joined
        .schema()
        .columns()
        .pop()
        .map(|mark| Expr::Column(mark).alias(name));
    joined.project(restored.chain(unit).chain(found))?.build()
}
