//! Joins whose condition stands after WHERE: `FROM visits v, people p WHERE v.person = p.person`.
//!
//! For inner joins it makes no difference whether an equality stands after ON or after WHERE, nor in which order tables are joined. But whether a join is
//! understood at all, and how often it repeats a row, is derived from the join's own condition. So equalities are brought to the joins that they are about, before
//! anybody asks whose rows these are. It depends on the query and the catalog alone.

use super::is_private;
use super::join::{conditions, depends_on_outside};
use crate::Error;
use crate::catalog::Catalog;
use crate::understand::mistakes::unplannable;
use datafusion::common::{Column, ExprSchema, JoinType, NullEquality};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, Filter, LogicalPlan, LogicalPlanBuilder, Operator};

/// What a filter reads, with its equalities between tables in the joins, and what is left to filter by.
pub(super) fn understood(filter: &Filter, catalog: &Catalog) -> Result<(LogicalPlan, Vec<Expr>), Error> {
    let written: Vec<Expr> = split_conjunction(&filter.predicate)
        .into_iter()
        .cloned()
        .collect();
    let mut tables = Tables::default();
    tables.flatten(&filter.input);
    let (joining, rest): (Vec<Expr>, Vec<Expr>) = written
        .iter()
        .cloned()
        .partition(|condition| is_equality(condition) && tables.mentioned(condition).len() > 1);
    if joining.is_empty() || tables.all.iter().any(|table| depends_on_outside(table)) {
        return Ok((filter.input.as_ref().clone(), written));
    }
    tables.conditions.extend(joining);
    let joined = tables.joined(catalog)?;
    // The columns in the order in which the query named the tables.
    let (found, wanted) = (joined.schema().columns(), filter.input.schema().columns());
    if found == wanted {
        return Ok((joined, rest));
    }
    let restored = LogicalPlanBuilder::from(joined)
        .project(wanted.into_iter().map(Expr::Column))
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)?;
    Ok((restored, rest))
}

/// An equality of expressions that look at nothing but the row.
fn is_equality(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryExpr(binary) if binary.op == Operator::Eq)
        && !expr.contains_outer()
        && !super::subquery::contains_subquery(expr)
}

/// Tables that are joined by inner joins, in the order of the query, and all that these joins demand.
#[derive(Default)]
struct Tables<'a> {
    all: Vec<&'a LogicalPlan>,
    conditions: Vec<Expr>,
}

impl<'a> Tables<'a> {
    fn flatten(&mut self, plan: &'a LogicalPlan) {
        match plan {
            LogicalPlan::Join(join)
                if join.join_type == JoinType::Inner
                    && join.null_equality == NullEquality::NullEqualsNothing =>
            {
                self.flatten(&join.left);
                self.flatten(&join.right);
                self.conditions.extend(conditions(join));
            }
            table => self.all.push(table),
        }
    }

    fn table_of(&self, column: &Column) -> Option<usize> {
        self.all
            .iter()
            .position(|table| table.schema().has_column(column))
    }

    /// The tables whose columns an expression reads.
    fn mentioned(&self, expr: &Expr) -> Vec<usize> {
        let mut tables: Vec<usize> = expr
            .column_refs()
            .into_iter()
            .filter_map(|column| self.table_of(column))
            .collect();
        tables.sort_unstable();
        tables.dedup();
        tables
    }

    /// The joins, one table at a time: first a private one, then always the first that an equality ties to those before it.
    fn joined(mut self, catalog: &Catalog) -> Result<LogicalPlan, Error> {
        let private: Vec<bool> = self.all.iter().map(|table| is_private(table, catalog)).collect();
        let classes = self.equal_columns();
        let first = private.iter().position(|private| *private).unwrap_or(0);
        let mut placed = vec![first];
        let mut left: Vec<usize> = (0..self.all.len()).filter(|table| *table != first).collect();
        let mut plan = self.all[first].clone();
        while !left.is_empty() {
            let tied = left
                .iter()
                .position(|table| self.is_tied(*table, &placed, &classes));
            let table = left.remove(tied.unwrap_or(0));
            let mut here: Vec<Expr> = Vec::new();
            if private[table] {
                here.extend(self.implied(table, &placed, &classes));
            }
            placed.push(table);
            let mentioned: Vec<Vec<usize>> = self.conditions.iter().map(|one| self.mentioned(one)).collect();
            let mut later = Vec::new();
            for (condition, mentioned) in std::mem::take(&mut self.conditions).into_iter().zip(mentioned) {
                if mentioned.iter().all(|table| placed.contains(table)) {
                    here.push(condition);
                } else {
                    later.push(condition);
                }
            }
            self.conditions = later;
            let mut seen = Vec::new();
            here.retain(|condition| {
                let new = !seen.contains(condition);
                seen.push(condition.clone());
                new
            });
            let builder = LogicalPlanBuilder::from(plan);
            let other = self.all[table].clone();
            let joined = match here.is_empty() {
                true => builder.cross_join(other),
                false => builder.join_on(other, JoinType::Inner, here),
            };
            plan = joined.and_then(LogicalPlanBuilder::build).map_err(unplannable)?;
        }
        Ok(plan)
    }

    /// Columns that the equalities make the same, as far as no conversion is between them.
    fn equal_columns(&self) -> Vec<Vec<Column>> {
        let mut classes: Vec<Vec<Column>> = Vec::new();
        let kind = |column: &Column| {
            let schema = self.all[self.table_of(column)?].schema();
            schema.data_type(column).ok().cloned()
        };
        for condition in &self.conditions {
            let Expr::BinaryExpr(binary) = condition else {
                continue;
            };
            let (Operator::Eq, Expr::Column(one), Expr::Column(other)) =
                (binary.op, binary.left.as_ref(), binary.right.as_ref())
            else {
                continue;
            };
            if kind(one).is_none() || kind(one) != kind(other) {
                continue;
            }
            let (mut same, others): (Vec<_>, Vec<_>) = classes
                .into_iter()
                .partition(|class| class.contains(one) || class.contains(other));
            classes = others;
            let mut merged: Vec<Column> = same.drain(..).flatten().collect();
            for column in [one, other] {
                if !merged.contains(column) {
                    merged.push(column.clone());
                }
            }
            classes.push(merged);
        }
        classes
    }

    fn is_tied(&self, table: usize, placed: &[usize], classes: &[Vec<Column>]) -> bool {
        let direct = self.conditions.iter().filter(|one| is_equality(one)).any(|one| {
            let mentioned = self.mentioned(one);
            mentioned.len() > 1
                && mentioned.contains(&table)
                && mentioned
                    .iter()
                    .all(|other| *other == table || placed.contains(other))
        });
        direct || self.implied(table, placed, classes).next().is_some()
    }

    /// Equalities between a table and those before it that follow from others: a = b and b = c say that a = c.
    fn implied(&self, table: usize, placed: &[usize], classes: &[Vec<Column>]) -> impl Iterator<Item = Expr> {
        classes.iter().filter_map(move |class| {
            let mine = class.iter().find(|column| self.table_of(column) == Some(table))?;
            let theirs = class.iter().find(|column| {
                self.table_of(column)
                    .is_some_and(|other| other != table && placed.contains(&other))
            })?;
            Some(Expr::Column(theirs.clone()).eq(Expr::Column(mine.clone())))
        })
    }
}
