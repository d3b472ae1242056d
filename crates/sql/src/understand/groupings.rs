//! Expressions for which a catalog states limits: `by."date_trunc('month', day)"` beside `by.department`.
//!
//! A person has visits in fewer months than days, so limits that suit one grouping do not suit another. What a query groups by is found among these by its meaning to the engine's planner, whatever
//! the spelling.

use crate::catalog::Catalog;
use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Keys of `limits.by` that are expressions, and what the planner makes of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groupings {
    known: Vec<(String, Expr)>,
}

impl Groupings {
    /// The keys that name no column of a table, each with the query that groups by it. What is no expression over its table is left to name a column of a subquery.
    pub(crate) fn candidates(catalog: &Catalog) -> Vec<(String, String)> {
        let mut candidates = Vec::new();
        for (name, table) in &catalog.tables {
            let stated = table.limits.by.keys().chain(catalog.limits.by.keys());
            for key in stated.filter(|key| table.column(key).is_none()) {
                candidates.push((key.clone(), counted_by(name, key)));
            }
        }
        candidates
    }

    /// Takes note of a key by the plan of its query.
    pub(crate) fn add(&mut self, key: String, plan: &LogicalPlan) {
        if let Some(expr) = grouped_by(plan) {
            self.known.push((key, unqualified(&expr)));
        }
    }

    /// The keys under which limits for what a query groups by may be stated: its column's name, or the expression.
    pub(crate) fn keys<'a>(&'a self, grouped_by: &Expr) -> Vec<&'a str> {
        let wanted = unqualified(grouped_by);
        let same = self.known.iter().filter(|(_, known)| *known == wanted);
        same.map(|(key, _)| key.as_str()).collect()
    }
}

/// A query that groups a table by an expression alone.
pub(crate) fn counted_by(table: &str, expression: &str) -> String {
    let table = table.replace('"', "\"\"");
    format!("SELECT COUNT(*) FROM \"{table}\" GROUP BY ({expression})")
}

/// What the one GROUP BY of a plan groups by.
fn grouped_by(plan: &LogicalPlan) -> Option<Expr> {
    let mut found = None;
    let walked = plan.apply(|node| {
        if let LogicalPlan::Aggregate(aggregate) = node {
            found = match aggregate.group_expr.as_slice() {
                [expr] => Some(expr.clone()),
                _ => None,
            };
            return Ok(TreeNodeRecursion::Stop);
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.ok().and(found)
}

/// Columns by their names alone: a query may call the table otherwise.
fn unqualified(expr: &Expr) -> Expr {
    let stripped = expr.clone().unalias().transform_up(|node| {
        Ok(match node {
            Expr::Column(column) => Transformed::yes(Expr::Column(Column::from_name(column.name))),
            other => Transformed::no(other),
        })
    });
    stripped.map_or_else(|_| expr.clone(), |stripped| stripped.data)
}
