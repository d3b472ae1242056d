//! Where the engine reads: each declared table of a plan, bound to its data.

use crate::catalog::Catalog;
use crate::understand::mistakes::unplannable;
use crate::understand::relation::table_of;
use crate::{Error, sources};
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;
use std::collections::HashMap;

/// The plan with each scan of a declared table bound to the table's data.
pub(crate) async fn over_data(
    plan: &LogicalPlan,
    session: &SessionContext,
    catalog: &Catalog,
) -> Result<LogicalPlan, Error> {
    let mut scans = HashMap::new();
    let mut names = Vec::new();
    let _ = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            names.push(scan.table_name.clone());
        }
        Ok(TreeNodeRecursion::Continue)
    });
    for name in names {
        if let Some((declared, table)) = table_of(catalog, &name)
            && !scans.contains_key(&name)
        {
            let scan =
                sources::typed_scan(&session.state(), declared, table, sources::Texts::Canonical).await?;
            scans.insert(name, scan);
        }
    }
    let bound = plan.clone().transform_down_with_subqueries(|node| {
        Ok(match &node {
            LogicalPlan::TableScan(scan) => match scans.get(&scan.table_name) {
                Some(bound) => Transformed::new(bound.clone(), true, TreeNodeRecursion::Jump),
                None => Transformed::no(node),
            },
            _ => Transformed::no(node),
        })
    });
    Ok(bound.map_err(unplannable)?.data)
}
