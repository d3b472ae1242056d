//! Which questions have no limits for what they group by, though some could be found: see `understand::unstated`.

use crate::catalog::{Catalog, Owner};
use crate::understand::dialect::SelectOptions;
use crate::understand::relation::Rows;
use crate::understand::unstated::Unstated;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};
use std::collections::BTreeSet;

/// What a question groups by, for which limits may be found. `None` where the catalog or the query states limits, where the question's structure leaves one row a unit, and where rows are not simply those of one table.
pub(super) fn unstated(
    rows: &Rows,
    group_exprs: &[Expr],
    aggregates: &[Expr],
    options: &SelectOptions,
    catalog: &Catalog,
) -> Option<Unstated> {
    catalog.budget.find_limits.as_ref()?;
    let stated = options.max_groups_contributed.is_some() || options.max_rows_contributed.is_some();
    if stated || !rows.has_unit || rows.rows_per_unit == Some(1) || !rows.publics.is_empty() {
        return None;
    }
    let name = only_table(&rows.plan)?;
    let table = catalog.table(&name)?;
    if !matches!(table.owner, Owner::Column(_)) {
        return None;
    }
    let is_known = |name: &str| table.column(name).is_some();
    let grouping = match group_exprs {
        [] => None,
        [expr] => Some(match expr.clone().unalias() {
            Expr::Column(column) if is_known(&column.name) => column.name,
            expr => written(&expr, &is_known)?,
        }),
        _ => return None,
    };
    if grouping.is_none() && (table.limits.rows.is_some() || catalog.limits.rows.is_some()) {
        return None;
    }
    let positive = |name: &String| {
        let range = table.column(name).and_then(|facts| facts.range);
        range.is_some_and(|range| range.low >= 0.0 && range.high > 0.0)
    };
    let summed: BTreeSet<String> = aggregates.iter().flat_map(summed).filter(positive).collect();
    Some(Unstated {
        table: name,
        grouping,
        sums: summed.into_iter().collect(),
    })
}

/// The columns whose sums an aggregate needs.
fn summed(aggregate: &Expr) -> Vec<String> {
    let mut found = Vec::new();
    let _ = aggregate.apply(|node| {
        if let Expr::AggregateFunction(call) = node
            && ["sum", "avg"].contains(&call.func.name())
            && let [Expr::Column(column)] = call.params.args.as_slice()
        {
            found.push(column.name.clone());
        }
        Ok(TreeNodeRecursion::Continue)
    });
    found
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The name of the table, where a plan reads one and filters and projects its rows, no more.
fn only_table(plan: &LogicalPlan) -> Option<String> {
    let mut found = None;
    let mut simple = true;
    let _ = plan.apply(|node| {
        match node {
            LogicalPlan::TableScan(scan) if found.is_none() => {
                found = Some(scan.table_name.table().to_owned())
            }
            LogicalPlan::Filter(_) | LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) => {}
            _ => simple = false,
        }
        Ok(match simple {
            true => TreeNodeRecursion::Continue,
            false => TreeNodeRecursion::Stop,
        })
    });
    found.filter(|_| simple)
}

/// An expression as SQL that means the same again: a column, or a function of columns and constants. `None` of all others, for which no limits are found.
fn written(expr: &Expr, is_known: &dyn Fn(&str) -> bool) -> Option<String> {
    match expr {
        Expr::Alias(alias) => written(&alias.expr, is_known),
        Expr::Column(column) => is_known(&column.name).then(|| quoted(&column.name)),
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => {
            Some(format!("'{}'", text.replace('\'', "''")))
        }
        Expr::Literal(ScalarValue::Int64(Some(number)), _) => Some(number.to_string()),
        Expr::ScalarFunction(call) => {
            let arguments: Option<Vec<String>> = call
                .args
                .iter()
                .map(|argument| written(argument, is_known))
                .collect();
            Some(format!("{}({})", call.func.name(), arguments?.join(", ")))
        }
        _ => None,
    }
}
