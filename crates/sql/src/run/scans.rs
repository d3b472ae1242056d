//! Where the engine reads: each declared table of a plan, bound to its data.

use crate::catalog::{Catalog, Table};
use crate::run::facts::{Facts, unverified};
use crate::understand::mistakes::unplannable;
use crate::understand::relation::table_of;
use crate::{Error, sources};
use bound::{GivenRows, Labelled};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::common::TableReference;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::datasource::provider_as_source;
use datafusion::error::Result as EngineResult;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// The plan with each scan of a declared table bound to the table's data.
pub(crate) async fn over_data(
    plan: &LogicalPlan,
    session: &SessionContext,
    catalog: &Catalog,
) -> Result<LogicalPlan, Error> {
    let mut scans = HashMap::new();
    for (name, declared, table) in tables(plan, catalog) {
        if let Entry::Vacant(vacant) = scans.entry(name) {
            let texts = sources::Texts::Canonical;
            vacant.insert(sources::typed_scan(&session.state(), declared, table, texts).await?);
        }
    }
    bound_to(plan, &scans)
}

/// Runs a plan over data that reads public tables alone, or none.
///
/// # Errors
/// If it reads a private one; within, what the engine says.
pub(crate) async fn public_rows(
    plan: &LogicalPlan,
    session: &SessionContext,
    catalog: &Catalog,
) -> Result<EngineResult<SendableRecordBatchStream>, Error> {
    let planned = match session.state().create_physical_plan(plan).await {
        Ok(planned) => planned,
        Err(error) => return Ok(Err(error)),
    };
    let facts = Facts::new(catalog, std::iter::empty());
    let leaves = |scan: &Arc<dyn ExecutionPlan>| facts.leaf(scan);
    let readable = verify::public(planned, &leaves).map_err(unverified)?;
    Ok(readable.stream(session.task_ctx()))
}

/// A plan over empty tables of the declared columns: what a database computes, whose own columns and values the statement itself makes these of.
pub(crate) fn over_declared(plan: &LogicalPlan, catalog: &Catalog) -> Result<LogicalPlan, Error> {
    let mut scans = HashMap::new();
    for (name, declared, table) in tables(plan, catalog) {
        let columns = table.columns.iter();
        let columns = columns.map(|(column, facts)| Field::new(column, facts.kind.data_type(), true));
        let rows = GivenRows::new(Arc::new(Schema::new(columns.collect::<Vec<_>>())), Vec::new());
        let labelled = Labelled::new(declared, Arc::new(rows.map_err(unplannable)?));
        let relation = TableReference::bare(declared);
        let scan = LogicalPlanBuilder::scan(relation, provider_as_source(Arc::new(labelled)), None);
        scans.insert(
            name,
            scan.and_then(LogicalPlanBuilder::build).map_err(unplannable)?,
        );
    }
    bound_to(plan, &scans)
}

/// The declared tables that a plan reads: as they are named there, and as they are declared.
fn tables<'c>(plan: &LogicalPlan, catalog: &'c Catalog) -> Vec<(TableReference, &'c str, &'c Table)> {
    let mut names = Vec::new();
    let _ = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            names.push(scan.table_name.clone());
        }
        Ok(TreeNodeRecursion::Continue)
    });
    let declared = names.into_iter().filter_map(|name| {
        let (declared, table) = table_of(catalog, &name)?;
        Some((name, declared, table))
    });
    declared.collect()
}

fn bound_to(plan: &LogicalPlan, scans: &HashMap<TableReference, LogicalPlan>) -> Result<LogicalPlan, Error> {
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
