//! What our own operators are, for whoever checks a physical plan without knowing how it was made.

use super::exec::BoundExec;
use super::label::LabelExec;
use super::node::Native;
use super::owner_join::{AnyOrderExec, OwnerJoinExec};
use super::owner_window::OwnerWindowExec;
use super::{Beside, Length, Meeting, Partial};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// How the rows of a unit reach an operator that bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Each unit has one row, as somebody promised.
    OneRow,
    /// Any rows in any order, or sorted ones whose order it checks.
    AllRows,
    /// A part of the rows, as other machines have them.
    SomeRows,
}

/// One of our operators, with what it was told.
#[derive(Debug)]
pub enum Operator<'a> {
    /// The same rows, of whose order nothing is known.
    AnyOrder,
    /// The rows of the table of this name.
    Label(&'a str),
    /// Reads the unit, so many keys, and arguments; gives the keys and numbers whose sums by key are bounded totals.
    Bounding {
        /// How rows reach it.
        way: Way,
        /// How many keys follow the unit.
        keys: usize,
        /// What each number is.
        partials: &'a [Partial],
        /// How many groups of a unit count.
        groups: Option<u64>,
        /// Bounds on the length of a unit's numbers over all groups.
        lengths: &'a [Length],
        /// What else is read in the same pass.
        beside: Option<&'a Beside>,
    },
    /// Joins rows of one owner.
    OwnerJoin {
        /// The places of the owner in both inputs.
        keys: (usize, usize),
        /// What else has to hold of a pair.
        filter: Option<&'a Arc<dyn PhysicalExpr>>,
        /// What becomes of the rows.
        meeting: &'a Meeting,
        /// How many rows of an owner are taken on each side.
        most: (u64, u64),
    },
    /// Windows over one owner's rows: all columns of its input, and then what is computed.
    OwnerWindow {
        /// The place of the owner.
        owner: usize,
        /// How many columns are computed.
        computed: usize,
    },
}

/// Which of our operators this is; `None` if it is none of them.
pub fn operator(plan: &dyn ExecutionPlan) -> Option<Operator<'_>> {
    if plan.is::<AnyOrderExec>() {
        return Some(Operator::AnyOrder);
    }
    if let Some(named) = plan.downcast_ref::<LabelExec>() {
        return Some(Operator::Label(named.label()));
    }
    if let Some(bounding) = plan.downcast_ref::<BoundExec>() {
        let rule = bounding.rule();
        return Some(Operator::Bounding {
            way: match bounding.native() {
                Native::Single => Way::OneRow,
                Native::Clustered | Native::Partitioned => Way::AllRows,
                Native::Dealt | Native::SortedParts | Native::JoinedParts => Way::SomeRows,
            },
            keys: rule.keys.len(),
            partials: &rule.partials,
            groups: rule.groups,
            lengths: &rule.lengths,
            beside: rule.beside.as_ref(),
        });
    }
    if let Some(join) = plan.downcast_ref::<OwnerJoinExec>() {
        let rule = join.rule();
        return Some(Operator::OwnerJoin {
            keys: rule.keys,
            filter: rule.filter.as_ref(),
            meeting: &rule.meeting,
            most: (rule.most_left, rule.most_right),
        });
    }
    let window = plan.downcast_ref::<OwnerWindowExec>()?.rule();
    Some(Operator::OwnerWindow {
        owner: window.owner,
        computed: window.values.len(),
    })
}

/// The native operator that bounds, over any rows: for tests of who checks plans.
///
/// # Errors
/// If the rule does not fit the rows.
#[doc(hidden)]
pub fn bounding_over(
    input: Arc<dyn ExecutionPlan>,
    (way, keys, groups): (Way, usize, Option<u64>),
    partials: Vec<Partial>,
    session: &dyn datafusion::catalog::Session,
) -> datafusion::common::Result<Arc<dyn ExecutionPlan>> {
    let schema = input.schema();
    let mut types = schema.fields().iter().map(|field| field.data_type().clone());
    let rule = super::Rule {
        unit: types
            .next()
            .unwrap_or(datafusion::arrow::datatypes::DataType::Null),
        keys: types.take(keys).collect(),
        partials,
        groups,
        lengths: Vec::new(),
        beside: None,
        secret: super::Secret::new("00112233445566778899aabbccddeeff")?,
    };
    let native = match way {
        Way::OneRow => Native::Single,
        Way::AllRows => Native::Partitioned,
        Way::SomeRows => Native::Dealt,
    };
    Ok(Arc::new(super::planner::bounding(input, rule, native, session)?))
}
