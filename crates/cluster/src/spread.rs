//! Where a plan is split, and which of its parts run on every worker.
//!
//! A plan of one machine becomes one of several. Each scan is dealt out to the workers, part of a file by
//! part of a file. Rows are exchanged where the plan exchanges them between threads, and by unit below an
//! operator that bounds. An operator that needs all rows in one place runs on the coordinator. An operator
//! for which this is not known to be right is refused, and one machine then computes the query.
//!
//! # Privacy
//! Claim: the plan gives the same integers. Proof, by induction over the plan. A part of it is either *whole*
//! (it runs once, on the coordinator) or *shared* (each worker has some of its rows, all of them together
//! exactly the rows of the plan on one machine, in any order).
//! - A scan of files is shared: the parts of files that the workers read are those of the one scan, each once
//!   ([`is_covered`] compares them).
//! - An operator that looks at one row at a time (a projection, a filter, a join to public rows that each
//!   worker has completely) leaves shared rows shared. Only joins that never return a row for a public row
//!   alone are accepted: every worker would return that row.
//! - An operator that needs equal keys in one place has them there: its input is partitioned by a hash of
//!   some of these keys, and such a partitioning comes from an exchange between all workers alone, since
//!   every exchange by hash becomes one. One part does not count as partitioned, as it does on one machine.
//! - An operator that bounds has all rows of a unit in one part, or reads sorted parts whose ends are joined
//!   on the coordinator, and is whole then: [`bound::remote`].
//! - A partial aggregation may see any rows: the final one reads all of its results for a key. Only those are
//!   accepted whose result does not depend on an order, bit for bit.
//! - An operator that needs all rows in one place reads a gathering of all parts of all workers, and is
//!   whole; so is everything above it. Each part ends with the number of its rows ([`super::seal`]).
//!
//! Audited by: `tests`, and by the tests of `sql` that hold this engine against the local one; mutants leave
//! out the exchange, and have every worker read all files.

use crate::codec::{Codec, Shipped};
use crate::seal::SealExec;
use bound::remote::{self, Needs};
use datafusion::arrow::datatypes::DataType;
use datafusion::catalog::memory::DataSourceExec;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, JoinType, Result};
use datafusion::datasource::physical_plan::{FileGroup, FileGroupPartitioner, FileScanConfig};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{Distribution, Partitioning, PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, PartitionMode};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::windows::BoundedWindowAggExec;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, ExecutionPlan, ExecutionPlanProperties, ReplaceChildrenOptions,
};
use datafusion_distributed::{DistributedLeafExec, NetworkCoalesceExec, NetworkShuffleExec};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why a plan runs on one machine.
#[derive(Debug)]
pub enum NotSpread {
    /// For people: the end of a sentence.
    Reason(&'static str),
    /// Something about the plan that the engine did not take.
    Engine(DataFusionError),
}

impl From<DataFusionError> for NotSpread {
    fn from(error: DataFusionError) -> Self {
        Self::Engine(error)
    }
}

type Plan = Arc<dyn ExecutionPlan>;

/// A part of a plan.
enum Part {
    /// Runs once, on the coordinator.
    Whole(Plan),
    /// Runs on every worker.
    Shared(Plan),
}

/// How a plan is cut.
pub(crate) struct Cut<'a> {
    /// How many tasks a stage has.
    pub(crate) tasks: usize,
    /// How many threads a task has.
    pub(crate) threads: usize,
    pub(crate) codec: &'a Codec,
    /// A defect that a test plants.
    #[cfg(test)]
    pub(crate) mutant: Option<Mutant>,
}

/// Defects that tests must find.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// Rows are exchanged between the threads of a worker, and not between workers; the ends of sorted parts
    /// are joined on each worker, and not on the coordinator.
    NoExchange,
    /// Every worker reads all files.
    AllFiles,
    /// Streams to the coordinator have no seal.
    NoSeal,
}

impl Cut<'_> {
    #[cfg(test)]
    fn planted(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }
}

/// The plan for several machines. It has one part.
///
/// # Errors
/// If it is not known how to spread it.
pub(crate) fn spread(plan: &Plan, cut: &Cut<'_>) -> Result<Plan, NotSpread> {
    let plan = match part(plan, cut)? {
        Part::Whole(plan) => plan,
        Part::Shared(plan) => gathered(plan, cut)?,
    };
    travels(&plan, false)?;
    Ok(match plan.output_partitioning().partition_count() {
        1 => plan,
        _ => Arc::new(CoalescePartitionsExec::new(plan)),
    })
}

/// Refuses a plan of which a node that is sent to workers has functions, and is not encoded by us.
fn travels(plan: &Plan, sent: bool) -> Result<(), NotSpread> {
    let mut functions = false;
    plan.apply_expressions(&mut |expression| {
        expression.apply(|expression| {
            functions |= expression.is::<ScalarFunctionExpr>();
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    if sent && functions && !plan.is::<Shipped>() {
        return Err(NotSpread::Reason("a function of it would not reach the workers"));
    }
    let sent = sent || plan.is::<NetworkCoalesceExec>();
    plan.children()
        .into_iter()
        .try_for_each(|child| travels(child, sent))
}

fn part(plan: &Plan, cut: &Cut<'_>) -> Result<Part, NotSpread> {
    if plan.fetch().is_some() {
        return Err(NotSpread::Reason("it keeps some rows only"));
    }
    match plan.children()[..] {
        [] => leaf(plan, cut),
        [child] => over_one(plan, child, cut),
        [public, private] => join(plan, public, private, cut),
        _ => Err(not_known(plan)),
    }
}

fn not_known(plan: &Plan) -> NotSpread {
    NotSpread::Reason(match plan.name() {
        "OwnerJoinExec" | "AnyOrderExec" => "it joins private tables",
        "OwnerWindowExec" => "it has window functions over private rows",
        "UnionExec" | "InterleaveExec" => "it puts several tables below each other",
        "StreamingTableExec" => "a table of it is not in Parquet files",
        _ => "it has an operator that workers do not take",
    })
}

fn leaf(plan: &Plan, cut: &Cut<'_>) -> Result<Part, NotSpread> {
    if plan.is::<EmptyExec>() {
        return Ok(Part::Shared(Arc::clone(plan)));
    }
    let scan = plan
        .downcast_ref::<DataSourceExec>()
        .and_then(|source| source.data_source().downcast_ref::<FileScanConfig>());
    let Some(scan) = scan else {
        return Err(NotSpread::Reason("a table of it is not in Parquet files"));
    };
    if !scan.output_ordering.is_empty() || scan.output_partitioning.is_some() || scan.limit.is_some() {
        return Err(not_known(plan));
    }
    let columns =
        |projected: &ProjectionExprs| projected.iter().all(|projected| projected.expr.is::<Column>());
    if !scan.file_source().projection().is_none_or(columns) {
        return Err(NotSpread::Reason("its files are read with expressions"));
    }
    let shares = dealt(scan, cut);
    #[cfg(test)]
    let shares = match cut.planted(Mutant::AllFiles) {
        true => vec![scan.file_groups.clone(); cut.tasks],
        false => shares,
    };
    #[cfg(test)]
    let planted = cut.planted(Mutant::AllFiles);
    #[cfg(not(test))]
    let planted = false;
    if !planted && !is_covered(scan, &shares) {
        return Err(NotSpread::Reason("its files cannot be dealt out"));
    }
    let shares = shares.into_iter().map(|groups| {
        let mut share = scan.clone();
        share.file_groups = groups;
        DataSourceExec::from_data_source(share) as Plan
    });
    let shares: Vec<Plan> = shares.collect();
    for share in &shares {
        cut.codec.check(share)?;
    }
    Ok(Part::Shared(Arc::new(DistributedLeafExec::try_new(
        Arc::clone(plan),
        shares,
    )?)))
}

/// What each task reads: as many groups of parts of files as it has threads.
fn dealt(scan: &FileScanConfig, cut: &Cut<'_>) -> Vec<Vec<FileGroup>> {
    let groups = cut.tasks * cut.threads;
    let dealt = FileGroupPartitioner::new()
        .with_target_partitions(groups)
        .with_repartition_file_min_size(0)
        .repartition_file_groups(&scan.file_groups)
        .unwrap_or_else(|| scan.file_groups.clone());
    let mut shares = vec![vec![Vec::new(); cut.threads]; cut.tasks];
    for (place, group) in dealt.into_iter().enumerate() {
        // More groups than there are places go round once more.
        let place = place % groups;
        shares[place % cut.tasks][place / cut.tasks].extend(group.into_inner());
    }
    let groups = |share: Vec<_>| share.into_iter().map(FileGroup::new).collect();
    shares.into_iter().map(groups).collect()
}

/// Whether the tasks together read exactly what one machine reads: every byte of every file as often as
/// there, which is once.
fn is_covered(scan: &FileScanConfig, shares: &[Vec<FileGroup>]) -> bool {
    let all = shares.iter().flatten();
    spans(&scan.file_groups).is_some_and(|expected| spans(all) == Some(expected))
}

/// The bytes of each file that are read, in order and joined; nothing if any of them is read twice.
fn spans<'a>(groups: impl IntoIterator<Item = &'a FileGroup>) -> Option<BTreeMap<String, Vec<(i64, i64)>>> {
    let mut spans: BTreeMap<String, Vec<(i64, i64)>> = BTreeMap::new();
    for file in groups.into_iter().flat_map(FileGroup::files) {
        let size = i64::try_from(file.object_meta.size).ok()?;
        let (start, end) = file
            .range
            .as_ref()
            .map_or((0, size), |range| (range.start, range.end));
        let span = spans.entry(file.object_meta.location.to_string()).or_default();
        span.push((start, end));
    }
    for span in spans.values_mut() {
        span.sort_unstable();
        let mut joined: Vec<(i64, i64)> = Vec::new();
        for &(start, end) in &*span {
            match joined.last_mut() {
                Some((_, last)) if start < *last => return None,
                Some((_, last)) if start == *last => *last = end,
                _ => joined.push((start, end)),
            }
        }
        *span = joined;
    }
    Some(spans)
}

fn over_one(plan: &Plan, child: &Plan, cut: &Cut<'_>) -> Result<Part, NotSpread> {
    let exchange = plan.downcast_ref::<RepartitionExec>();
    let in_place = plan.is::<CoalescePartitionsExec>() || plan.is::<CooperativeExec>();
    let known = in_place
        || exchange.is_some_and(|exchange| !exchange.preserve_order())
        || remote::needs(plan).is_some()
        || plan.is::<ProjectionExec>()
        || plan.is::<FilterExec>()
        || plan.is::<SortExec>()
        || plan.is::<SortPreservingMergeExec>()
        || plan.is::<BoundedWindowAggExec>()
        || plan.downcast_ref::<AggregateExec>().is_some_and(commutes);
    if !known {
        return Err(not_known(plan));
    }
    let child = match part(child, cut)? {
        Part::Whole(child) => return Ok(Part::Whole(over(plan, vec![child])?)),
        Part::Shared(child) => child,
    };
    if let Some(needs) = remote::needs(plan) {
        let bounded = match needs {
            Needs::Nothing => over(plan, vec![child])?,
            Needs::UnitsTogether => remote::over_dealt(plan, by_unit(child, cut)?)?,
            Needs::SortedParts => {
                #[cfg(test)]
                if cut.planted(Mutant::NoExchange) {
                    return Ok(Part::Shared(cut.codec.checked(over(plan, vec![child])?)?));
                }
                let parts = cut.codec.checked(remote::over_sorted_parts(plan, child)?)?;
                return Ok(Part::Whole(remote::joined(plan, all_parts(parts, cut)?)?));
            }
        };
        return Ok(Part::Shared(cut.codec.checked(bounded)?));
    }
    if exchange.is_some_and(|exchange| matches!(exchange.partitioning(), Partitioning::Hash(..))) {
        if !hashes_columns(plan) {
            return Err(NotSpread::Reason("its rows are exchanged by what is computed"));
        }
        let exchange = over(plan, vec![child])?;
        #[cfg(test)]
        if cut.planted(Mutant::NoExchange) {
            return Ok(Part::Shared(exchange));
        }
        return Ok(Part::Shared(Arc::new(NetworkShuffleExec::try_new(
            exchange, cut.tasks,
        )?)));
    }
    if exchange.is_some() || plan.is::<CooperativeExec>() {
        return Ok(Part::Shared(over(plan, vec![child])?));
    }
    if plan.is::<CoalescePartitionsExec>() || plan.is::<SortPreservingMergeExec>() {
        let all = all_parts(child, cut)?;
        return Ok(Part::Whole(over(plan, vec![all])?));
    }
    // A sort of all rows asks for no distribution if it reads one part; here that would be one part of each
    // worker.
    let sorts_all = plan
        .downcast_ref::<SortExec>()
        .is_some_and(|sort| !sort.preserve_partitioning());
    if sorts_all || matches!(required(plan, 0), Some(Distribution::SinglePartition)) {
        let all = gathered(child, cut)?;
        return Ok(Part::Whole(over(plan, vec![all])?));
    }
    if !is_partitioned(plan, &child) {
        return Err(NotSpread::Reason("its rows are not exchanged by key"));
    }
    shared(over(plan, vec![child])?, cut)
}

/// What an operator asks of one of its inputs.
fn required(plan: &Plan, input: usize) -> Option<Distribution> {
    let all = plan.input_distribution_requirements().into_per_child();
    all.into_iter().nth(input)
}

/// The same operator over other inputs.
pub(crate) fn over(plan: &Plan, children: Vec<Plan>) -> Result<Plan> {
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Arc::clone(plan).replace_children(children, options)
}

/// A node with expressions, on every worker.
fn shared(plan: Plan, cut: &Cut<'_>) -> Result<Part, NotSpread> {
    Ok(Part::Shared(Arc::new(Shipped::new(plan, cut.codec)?)))
}

/// A plan over public rows in memory, for every worker.
fn shipped(plan: &Plan, cut: &Cut<'_>) -> Result<Plan, NotSpread> {
    let children = plan.children();
    if children.is_empty() {
        return Ok(cut.codec.checked(Arc::clone(plan))?);
    }
    let children = children
        .into_iter()
        .map(|child| shipped(child, cut))
        .collect::<Result<_, _>>()?;
    Ok(Arc::new(Shipped::new(over(plan, children)?, cut.codec)?))
}

/// Whether equal keys are in one place, if the operator needs that.
pub(crate) fn is_partitioned(plan: &Plan, child: &Plan) -> bool {
    match (required(plan, 0), child.output_partitioning()) {
        (Some(Distribution::UnspecifiedDistribution), _) => true,
        // With more than one part, because one part counts as partitioned by anything.
        (Some(required), Partitioning::Hash(keys, _)) => {
            let apart = Partitioning::Hash(keys.clone(), 2);
            let equivalent = child.properties().equivalence_properties();
            !keys.is_empty() && apart.satisfaction(&required, equivalent, true).is_satisfied()
        }
        _ => false,
    }
}

/// Whether an exchange looks at columns alone: functions would travel without their parameters.
fn hashes_columns(plan: &Plan) -> bool {
    plan.downcast_ref::<RepartitionExec>()
        .is_some_and(|exchange| match exchange.partitioning() {
            Partitioning::Hash(keys, _) => keys.iter().all(|key| key.is::<Column>()),
            _ => false,
        })
}

/// All rows of a unit in one part of one task.
fn by_unit(child: Plan, cut: &Cut<'_>) -> Result<Plan, NotSpread> {
    let schema = child.schema();
    let unit: Arc<dyn PhysicalExpr> = Arc::new(Column::new(schema.field(0).name(), 0));
    let exchange = RepartitionExec::try_new(child, Partitioning::Hash(vec![unit], cut.threads))?;
    #[cfg(test)]
    if cut.planted(Mutant::NoExchange) {
        return Ok(Arc::new(exchange));
    }
    Ok(Arc::new(NetworkShuffleExec::try_new(
        Arc::new(exchange),
        cut.tasks,
    )?))
}

/// All parts of all tasks, each with its end, on the coordinator.
fn all_parts(child: Plan, cut: &Cut<'_>) -> Result<Plan, NotSpread> {
    #[cfg(test)]
    if cut.planted(Mutant::NoSeal) {
        return Ok(Arc::new(NetworkCoalesceExec::try_new(child, cut.tasks, 1)?));
    }
    let schema = child.schema();
    let sealed = Arc::new(SealExec::adding(child));
    let all = Arc::new(NetworkCoalesceExec::try_new(sealed, cut.tasks, 1)?);
    Ok(Arc::new(SealExec::taking_off(all, schema)))
}

/// The same as one part.
fn gathered(child: Plan, cut: &Cut<'_>) -> Result<Plan, NotSpread> {
    Ok(Arc::new(CoalescePartitionsExec::new(all_parts(child, cut)?)))
}

/// Whether the order in which rows, or partial results, come to an aggregation cannot show in its result.
fn commutes(aggregation: &AggregateExec) -> bool {
    aggregation.aggr_expr().iter().all(|call| {
        let floats = |data_type: &DataType| data_type.is_floating();
        let result = call.field();
        match call.fun().name() {
            "count" | "min" | "max" | "bool_and" | "bool_or" => true,
            "sum" => !floats(result.data_type()),
            // See `bound::sums`.
            "exact_sum_of_integers" | "exact_sum_of_floats" | "exact_average_of_floats" => true,
            _ => false,
        }
    })
}

/// A join to public rows: each worker has all of them in memory, and lets its private rows pass by.
fn join(plan: &Plan, public: &Plan, private: &Plan, cut: &Cut<'_>) -> Result<Part, NotSpread> {
    let kind = if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        (*join.partition_mode() == PartitionMode::CollectLeft).then_some(*join.join_type())
    } else if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        Some(*join.join_type())
    } else {
        plan.is::<CrossJoinExec>().then_some(JoinType::Inner)
    };
    let Some(kind) = kind else {
        return Err(not_known(plan));
    };
    // The others give rows for public rows that met nobody, which no worker can know.
    let by_private_row = matches!(
        kind,
        JoinType::Inner | JoinType::Right | JoinType::RightSemi | JoinType::RightAnti
    );
    if !by_private_row || !remote::is_public(public) {
        return Err(NotSpread::Reason(
            "it has a join that needs all private rows in one place",
        ));
    }
    match part(private, cut)? {
        Part::Whole(private) => {
            let children = vec![Arc::clone(public), private];
            Ok(Part::Whole(over(plan, children)?))
        }
        Part::Shared(private) => {
            if !matches!(required(plan, 1), Some(Distribution::UnspecifiedDistribution)) {
                return Err(not_known(plan));
            }
            shared(over(plan, vec![shipped(public, cut)?, private])?, cut)
        }
    }
}
