//! What the walk over a plan of released tables knows of its columns and rows.

use super::ENDS;
use crate::Error;
use crate::understand::frontier::RELEASED;
use crate::understand::mistakes::unplannable;
use datafusion::common::Column;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Subquery};
use std::collections::BTreeSet;

/// Numbers that tell apart what would otherwise have the same name.
#[derive(Debug, Default)]
pub(super) struct Names {
    next: usize,
}

impl Names {
    fn fresh(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    /// Columns for the four ends of an interval.
    pub(super) fn ends(&mut self) -> [String; 4] {
        let number = self.fresh();
        ENDS.map(|end| format!("__deniable_{end}_{number}"))
    }

    /// Something that may fail to hold by itself, in other rows or beside others.
    pub(super) fn source(&mut self) -> BTreeSet<usize> {
        BTreeSet::from([self.fresh()])
    }
}

/// The ends of one column's interval.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    /// Where the four ends are. Of each pair either both are there or neither.
    pub(super) columns: [Column; 4],
    /// Which noisy numbers of the row it depends on: two may fail to hold independently.
    pub(super) sources: BTreeSet<usize>,
}

/// What is known of a column.
#[derive(Clone, Debug)]
pub(super) enum Known {
    /// It does not depend on noise.
    Exact,
    /// It is noisy, and within these ends with the stated probability.
    Within(Box<Ends>),
    /// It is noisy, and nothing is said about how much.
    Noisy(&'static str),
}

impl Known {
    pub(super) fn within(columns: [Column; 4], sources: BTreeSet<usize>) -> Self {
        Self::Within(Box::new(Ends { columns, sources }))
    }

    pub(super) fn is_exact(&self) -> bool {
        matches!(self, Self::Exact)
    }
}

/// A plan whose first columns are those that it had, in their order, and whose further columns are ends of intervals.
pub(super) struct Extended {
    pub(super) plan: LogicalPlan,
    /// Of each column that it had.
    pub(super) columns: Vec<Known>,
    /// Whether noise has decided which rows are there.
    pub(super) chosen: bool,
    /// Whether noise has decided the order of rows, so that it chooses where some of them are taken.
    pub(super) ordered: bool,
    /// The places of exact columns that are never all the same in two rows, if there are such.
    pub(super) named_by: Option<Vec<usize>>,
}

impl Extended {
    /// What is known of a column.
    pub(super) fn known(&self, column: &Column) -> Option<&Known> {
        let place = self.plan.schema().maybe_index_of_column(column)?;
        self.columns.get(place)
    }

    /// Whether an expression depends on a noisy number.
    pub(super) fn is_noisy(&self, expr: &Expr) -> bool {
        is_noisy(expr, &[self])
    }

    /// Whether no two rows are the same in these expressions, so that sorting by them leaves nothing to the order that rows had.
    pub(super) fn tells_apart<'a>(&self, exprs: impl IntoIterator<Item = &'a Expr>) -> bool {
        let places: Vec<usize> = exprs.into_iter().filter_map(|expr| self.place(expr)).collect();
        let named_by = self.named_by.as_ref();
        named_by.is_some_and(|names| names.iter().all(|place| places.contains(place)))
    }

    /// Which column an expression is, if it is one as it stands.
    pub(super) fn place(&self, expr: &Expr) -> Option<usize> {
        match expr {
            Expr::Alias(alias) => self.place(&alias.expr),
            Expr::Column(column) => self.plan.schema().maybe_index_of_column(column),
            _ => None,
        }
    }

    /// The same columns, then the ends again, whatever order the operator below put them in.
    pub(super) fn arranged(
        plan: LogicalPlan,
        places: Vec<usize>,
        columns: Vec<Known>,
    ) -> Result<LogicalPlan, Error> {
        let ends = columns.iter().flat_map(|known| match known {
            Known::Within(ends) => ends.columns.to_vec(),
            _ => Vec::new(),
        });
        let shown = places
            .into_iter()
            .map(|place| Column::from(plan.schema().qualified_field(place)));
        let exprs: Vec<Expr> = shown.chain(ends).map(Expr::Column).collect();
        LogicalPlanBuilder::from(plan)
            .project(exprs)
            .and_then(LogicalPlanBuilder::build)
            .map_err(unplannable)
    }
}

/// Whether an expression over the columns of these inputs depends on a noisy number.
pub(super) fn is_noisy(expr: &Expr, inputs: &[&Extended]) -> bool {
    let exact = |column: &Column| {
        let known = inputs.iter().find_map(|input| input.known(column));
        known.is_some_and(Known::is_exact)
    };
    let all_exact = || {
        let mut columns = inputs.iter().flat_map(|input| &input.columns);
        columns.all(Known::is_exact)
    };
    let subquery = |subquery: &Subquery| {
        reads_releases(&subquery.subquery) || (!subquery.outer_ref_columns.is_empty() && !all_exact())
    };
    let mut noisy = false;
    let walked = expr.apply(|part| {
        noisy |= match part {
            Expr::Column(column) => !exact(column),
            Expr::ScalarSubquery(inner) => subquery(inner),
            Expr::InSubquery(inner) => subquery(&inner.subquery),
            Expr::Exists(inner) => subquery(&inner.subquery),
            Expr::SetComparison(inner) => subquery(&inner.subquery),
            _ => false,
        };
        Ok(TreeNodeRecursion::Continue)
    });
    noisy || walked.is_err()
}

/// Whether a plan reads released tables, in subqueries of its expressions too.
pub(super) fn reads_releases(plan: &LogicalPlan) -> bool {
    let mut found = false;
    let walked = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            found |= scan.table_name.table().starts_with(RELEASED);
        }
        Ok(TreeNodeRecursion::Continue)
    });
    found || walked.is_err()
}
