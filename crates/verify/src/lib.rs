//! Every plan over private rows can be checked before it runs, by rules that know nothing of how it was made.
//!
//! What an answer promises rests on whose rows a plan reads, on the bound of what one unit adds, and on noise that is made for that bound. SQL is translated, priced and optimised by much code. Here
//! is little code that looks at the result alone: the engine's physical plan, what the catalog says of its scans, and what is about to be charged and drawn. From the leaves up it derives what holds of
//! the rows of each operator, by a closed table of rules. What has no rule is refused.
//!
//! # Privacy
//! Claim: if [`verify`] accepts, each released number is a sum over units (or a count of distinct values), one unit moves the vector of all its groups by at most the sensitivity that its noise was made
//! for, and the events of all noises are in the charge.
//! Proof: each [`Rule`] names its lemma in `proofs/`, where the rows of a plan are lists with owners; the theorems `native`, `sums` and `distincts` there are what a total is worth. The functions that a
//! rule asks something of (a filter, a projection, an aggregate) are looked up in closed lists, in `expression.rs` and `groups.rs`.
//! Assumes: what [`Leaves`] says of the scans; that the engine's operators compute what they are modelled as; that values are canonical, so that whoever compares two of them agrees on whether they are
//! equal; that totals stay below 2⁶³; that what is done with released numbers later reads them alone.
//! Audited by: `tests/planted`, and in `sql` by `tests::planted`.

mod defect;
mod expression;
mod groups;
mod judgement;
mod owners;
mod release;
mod rows;
mod rule;
mod verified;

pub use defect::{Defect, Kind};
pub use release::{Number, Release};
pub use rule::Rule;
pub use verified::{Readable, Verified, owned, public};

use accounting::Neighbors;
use bound::operators::{Operator, operator};
use datafusion::physical_expr::{Distribution, LexOrdering, Partitioning, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::union::{InterleaveExec, UnionExec};
use datafusion::physical_plan::windows::BoundedWindowAggExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use judgement::{Judgement, Placed, Rows};
use mechanism::{Charge, Sensitivity};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;
use verified::Proved;

/// What is said of the table that a scan reads, by whoever knows the catalog.
#[derive(Clone, Debug)]
pub enum Leaf {
    /// Public rows, read before the charge and held in memory.
    Public {
        /// Columns in which no two rows agree that are not NULL there.
        unique: Vec<BTreeSet<String>>,
    },
    /// Private rows.
    Private {
        /// How a row leads to its owner.
        owner: Naming,
        /// The catalog promises that a unit has at most so many rows.
        rows: Option<u64>,
        /// Columns by which rows of other tables lead to their owners: no two rows agree in one. With the name that other tables have for it.
        keys: Vec<(String, String)>,
    },
}

/// How a private row leads to its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Each row is one unit.
    EachRow,
    /// By its own column.
    Column(String),
    /// By a column that holds the key of a row of another table, whose owner it has.
    Through {
        /// The column.
        column: String,
        /// The key's name.
        key: String,
    },
}

type Plan = Arc<dyn ExecutionPlan>;

/// Whose rows a scan reads, or a table with a label; `None` if nobody knows.
pub type Leaves<'a> = dyn Fn(&Plan) -> Option<Leaf> + 'a;

/// Plans that give the same numbers, one of which is about to run, and what is released of them.
pub struct Part<'a> {
    /// The plans.
    pub plans: Vec<&'a Plan>,
    /// The releases.
    pub releases: Vec<Release<'a>>,
}

/// What was derived of an operator, for people.
#[derive(Clone, Debug)]
pub struct Node {
    /// The operator.
    pub operator: String,
    /// Whose rows it gives.
    pub says: String,
    /// By which rule.
    pub rule: Rule,
    /// Its inputs.
    pub inputs: Vec<Node>,
}

impl Node {
    /// The tree as text, two spaces a level.
    pub fn to_text(&self) -> String {
        fn write(node: &Node, depth: usize, into: &mut String) {
            let _ = writeln!(
                into,
                "{:depth$}{}: {} ({})",
                "",
                node.operator,
                node.says,
                node.rule.proof()
            );
            node.inputs.iter().for_each(|input| write(input, depth + 2, into));
        }
        let mut text = String::new();
        write(self, 0, &mut text);
        text
    }
}

/// Checks the plans of a question against what is charged for them.
///
/// # Errors
/// With the first reason why a plan has no rule, a number moves further than is claimed, noise is made for less, or a release is not charged.
pub fn verify(parts: &[Part<'_>], leaves: &Leaves<'_>, charge: &Charge) -> Result<Verified, Defect> {
    let unit = charge.guarantee.unit().clone();
    let proved = |part: &Part<'_>| Proved::new(part, leaves, unit.neighbors);
    let parts_proved = parts.iter().map(proved).collect::<Result<_, _>>()?;
    let releases: Vec<Release<'_>> = parts.iter().flat_map(|part| &part.releases).copied().collect();
    release::check_charge(&releases, charge)?;
    Ok(Verified {
        parts: parts_proved,
        unit,
    })
}

/// What is derived of a plan alone, without a release.
///
/// # Errors
/// As [`verify`].
pub fn derive(plan: &Plan, leaves: &Leaves<'_>) -> Result<Node, Defect> {
    judge(plan, leaves).map(|(_, tree)| tree)
}

/// The sensitivity of one number of a plan.
///
/// # Errors
/// As [`verify`].
pub fn sensitivity(
    plan: &Plan,
    leaves: &Leaves<'_>,
    number: Number,
    neighbors: Neighbors,
) -> Result<Sensitivity, Defect> {
    let (judgement, _) = judge(plan, leaves)?;
    release::sensitivity(&judgement.rows, number, neighbors)
}

fn judge(plan: &Plan, leaves: &Leaves<'_>) -> Result<(Judgement, Node), Defect> {
    if plan.fetch().is_some() || !plan.dynamic_expressions_produced().is_empty() {
        return Err(Defect::new(Kind::Limit, plan.name()));
    }
    if let Some(Operator::Label(label)) = operator(plan.as_ref()) {
        let leaf = leaves(plan).ok_or_else(|| Defect::new(Kind::Scan, label))?;
        let below = plan.children().into_iter().next();
        let below = below.ok_or_else(|| Defect::new(Kind::Operator, plan.name()))?;
        // What stands below is a scan of this table. A name inside of it would be another table's.
        let of_this = |scan: &Plan| match operator(scan.as_ref()) {
            Some(Operator::Label(_)) => None,
            _ => Some(leaf.clone()),
        };
        return judge(below, &of_this);
    }
    let mut inputs = Vec::new();
    let mut trees = Vec::new();
    let needs = plan.input_distribution_requirements();
    for (place, child) in plan.children().into_iter().enumerate() {
        // It reads the first part alone, and which rows are there is a matter of all of them.
        let one_part = matches!(
            needs.child_distribution(place),
            Some(Distribution::SinglePartition)
        );
        if one_part && child.output_partitioning().partition_count() != 1 {
            return Err(Defect::new(Kind::Place, plan.name()));
        }
        let (judgement, tree) = judge(child, leaves)?;
        inputs.push(judgement);
        trees.push(tree);
    }
    let mut judgement = by_rule(plan, inputs, leaves)?;
    judgement.placed.single |= plan.output_partitioning().partition_count() == 1;
    let tree = Node {
        operator: plan.name().to_owned(),
        says: says(&judgement.rows),
        rule: judgement.rule,
        inputs: trees,
    };
    Ok((judgement, tree))
}

/// The table: which rule an operator has.
fn by_rule(plan: &Plan, inputs: Vec<Judgement>, leaves: &Leaves<'_>) -> Result<Judgement, Defect> {
    let none = || Defect::new(Kind::Operator, plan.name());
    if plan.is::<UnionExec>() || plan.is::<InterleaveExec>() {
        return rows::united(inputs);
    }
    let mut inputs = inputs.into_iter();
    let (input, second) = match (inputs.next(), inputs.next(), inputs.next()) {
        (None, ..) => return rows::scan(plan, leaves),
        (Some(left), Some(right), None) => (left, Some(right)),
        (Some(input), None, _) => (input, None),
        _ => return Err(none()),
    };
    if let Some(right) = second {
        return match operator(plan.as_ref()) {
            Some(Operator::OwnerJoin {
                keys,
                filter,
                meeting,
                most,
            }) => owners::paired(plan, (keys, meeting, most), filter, (input, right)),
            Some(_) => Err(none()),
            None => rows::met(plan, input, right),
        };
    }
    if let Some(operator) = operator(plan.as_ref()) {
        return match operator {
            Operator::AnyOrder => {
                let order = Vec::new();
                let placed = Placed {
                    order,
                    ..input.placed.clone()
                };
                Ok(rows::moved(input, placed))
            }
            Operator::OwnerWindow { owner, .. } => owners::windowed(plan, owner, input),
            Operator::Bounding { .. } => owners::bounded(&operator, input),
            Operator::OwnerJoin { .. } | Operator::Label(_) => Err(none()),
        };
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return rows::filtered(filter, input);
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        return rows::projection(projection, input);
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        return groups::grouped(aggregate, input);
    }
    if let Some(window) = plan.downcast_ref::<BoundedWindowAggExec>() {
        return groups::windowed(window, input);
    }
    let placed = moved_to(plan, &input.placed)?;
    Ok(rows::moved(input, placed))
}

/// Where rows lie after an operator that moves them and changes none.
fn moved_to(plan: &Plan, before: &Placed) -> Result<Placed, Defect> {
    let sorted = |order: &LexOrdering| -> Result<Vec<_>, Defect> {
        let one = |one: &PhysicalSortExpr| {
            expression::check(&one.expr, &plan.schema(), &[])?;
            Ok((Arc::clone(&one.expr), one.options))
        };
        order.iter().map(one).collect()
    };
    if plan.is::<CooperativeExec>() {
        return Ok(before.clone());
    }
    if plan.is::<CoalescePartitionsExec>() {
        return Ok(Placed::single());
    }
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        return Ok(Placed {
            single: !sort.preserve_partitioning() || before.single,
            together: before.together.clone(),
            order: sorted(sort.expr())?,
        });
    }
    if let Some(merge) = plan.downcast_ref::<SortPreservingMergeExec>() {
        // Of parts that are sorted like this.
        let order = sorted(merge.expr())?;
        let mut pairs = before.order.iter().zip(&order);
        let is_merged = pairs.len() == order.len()
            && pairs
                .all(|((one, as_one), (other, as_other))| as_one == as_other && expression::same(one, other));
        return match is_merged {
            true => Ok(Placed {
                order,
                ..Placed::single()
            }),
            false => Err(Defect::new(
                Kind::Place,
                "a merge of parts that are not sorted for it",
            )),
        };
    }
    let Some(exchange) = plan.downcast_ref::<RepartitionExec>() else {
        return Err(Defect::new(Kind::Operator, plan.name()));
    };
    let Partitioning::Hash(by, _) = exchange.partitioning() else {
        return Ok(Placed::default());
    };
    by.iter()
        .try_for_each(|expr| expression::check(expr, &plan.schema(), &[]))?;
    Ok(Placed {
        together: by.iter().map(expression::place).collect(),
        ..Placed::default()
    })
}

/// For people.
fn says(rows: &Rows) -> String {
    match rows {
        Rows::Public { .. } => "public".to_owned(),
        Rows::Owned(rows) => match rows.owners() {
            Some(columns) => format!("owned by columns {columns:?}"),
            None => "each row is a unit's, and no column says whose".to_owned(),
        },
        Rows::Linked(_, key) => format!("each row leads to its owner by {key}"),
        Rows::States(_) => "states of groups".to_owned(),
        Rows::Contributions(rows) => format!("bounded, {} numbers of {} keys", rows.numbers.len(), rows.keys),
        Rows::Values(_) => "values of groups".to_owned(),
        Rows::Totals(totals) => format!("totals, {} columns", totals.columns.len()),
    }
}
