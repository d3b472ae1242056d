//! The bounding step as one node of a logical plan.

use super::owner_join::OwnerJoinNode;
use super::owner_window::OwnerWindowNode;
use super::totals::totals_schema;
use super::{Rule, relational};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, DFSchemaRef, Result, internal_err, not_impl_err};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt::Formatter;
use std::sync::Arc;

/// Reads `unit`, `key0…`, `argument0…` and gives `key0…`, `partial0…`: rows whose sums by key are the bounded totals. How far they are summed
/// already is up to who executes it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct ContributionBound {
    pub(crate) input: LogicalPlan,
    pub(crate) rule: Rule,
    pub(crate) native: Native,
    schema: DFSchemaRef,
}

/// How the native operator bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Native {
    /// Each unit has one row: nothing to bound but the values.
    Single,
    /// The rows come sorted by unit.
    Clustered,
    /// Rows come in any order.
    Partitioned,
    /// Rows come in any order, and all rows of a unit in one part of the input: an exchange between machines dealt them out.
    Dealt,
    /// The rows of some parts come sorted by unit, and other machines have the other parts: what is at the ends of parts is handed on as it is.
    SortedParts,
    /// What several machines handed on of their parts comes, and is joined.
    JoinedParts,
}

impl std::fmt::Display for Native {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Single => "one row a unit",
            Self::Clustered => "clustered",
            Self::Partitioned => "partitioned",
            Self::Dealt => "dealt out by unit",
            Self::SortedParts => "clustered, parts of it",
            Self::JoinedParts => "clustered, parts joined",
        })
    }
}

impl ContributionBound {
    pub(crate) fn plan(input: LogicalPlan, rule: Rule, native: Native) -> Result<LogicalPlan> {
        let node = Arc::new(Self::new(input, rule, native)?);
        Ok(LogicalPlan::Extension(Extension { node }))
    }

    fn new(input: LogicalPlan, rule: Rule, native: Native) -> Result<Self> {
        let totals = totals_schema(&rule, input.schema().as_arrow());
        Ok(Self {
            schema: Arc::new(DFSchema::try_from(totals)?),
            input,
            rule,
            native,
        })
    }

    /// The same with built-in operators and functions alone.
    fn relational(&self) -> Result<LogicalPlan> {
        match self.native {
            Native::Single => relational::of_single_rows(self.input.clone(), &self.rule),
            _ => relational::contributions(self.input.clone(), &self.rule),
        }
    }
}

/// The same plan with built-in operators and functions alone, for a cluster or a database.
pub fn to_relational(plan: LogicalPlan) -> Result<LogicalPlan> {
    let lowered = plan.transform_up_with_subqueries(|plan| {
        let LogicalPlan::Extension(extension) = &plan else {
            return Ok(Transformed::no(plan));
        };
        let node = extension.node.as_any();
        if let Some(node) = node.downcast_ref::<ContributionBound>() {
            return Ok(Transformed::yes(node.relational()?));
        }
        if node.is::<OwnerWindowNode>() {
            return not_impl_err!("windows over private rows have no form of built-in operators alone");
        }
        match node.downcast_ref::<OwnerJoinNode>() {
            Some(node) => Ok(Transformed::yes(node.join.relational()?)),
            None => Ok(Transformed::no(plan)),
        }
    })?;
    Ok(lowered.data)
}

impl PartialOrd for ContributionBound {
    /// Plans have no order that means anything.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for ContributionBound {
    fn name(&self) -> &str {
        "ContributionBound"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "ContributionBound: {}, ", self.native)?;
        match self.rule.limit() {
            Some(groups) => write!(formatter, "groups per unit: {groups}"),
            None => write!(formatter, "groups per unit: all"),
        }
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        match <[LogicalPlan; 1]>::try_from(inputs) {
            Ok([input]) => Self::new(input, self.rule.clone(), self.native),
            Err(_) => internal_err!("bounding reads one input"),
        }
    }
}
