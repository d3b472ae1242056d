//! The closed list of what may happen to a plan over private rows between SQL and its execution.
//!
//! The engine's own lists grow with its versions, and some of its rules look at more than one row: statistics of files, limits, filters that one operator
//! learns from the rows of another. Here each rule is on the list for a reason, and so is each operator. ARCHITECTURE.md, "Additive over units", has
//! the argument in one piece; the reasons below are its parts.

use super::exec::BoundExec;
use super::label::LabelExec;
use super::owner_join::{AnyOrderExec, OwnerJoinExec};
use super::owner_window::OwnerWindowExec;
use datafusion::catalog::memory::{DataSourceExec, MemorySourceConfig};
use datafusion::common::{Result, plan_err};
use datafusion::config::ConfigOptions;
use datafusion::datasource::physical_plan::{FileScanConfig, ParquetSource};
use datafusion::execution::SessionStateBuilder;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion::optimizer::common_subexpr_eliminate::CommonSubexprEliminate;
use datafusion::optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion::optimizer::optimize_projections::OptimizeProjections;
use datafusion::optimizer::optimize_unions::OptimizeUnions;
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::physical_optimizer::combine_partial_final_agg::CombinePartialFinalAggregate;
use datafusion::physical_optimizer::ensure_coop::EnsureCooperative;
use datafusion::physical_optimizer::ensure_requirements::EnsureRequirements;
use datafusion::physical_optimizer::projection_pushdown::ProjectionPushdown;
use datafusion::physical_optimizer::sanity_checker::SanityCheckPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, PartitionMode};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::streaming::StreamingTableExec;
use datafusion::physical_plan::union::{InterleaveExec, UnionExec};
use datafusion::physical_plan::windows::BoundedWindowAggExec;
use std::sync::Arc;

/// Puts the closed lists in place of the engine's own.
pub(crate) fn closed(builder: SessionStateBuilder) -> SessionStateBuilder {
    builder
        // Adds casts inside of expressions, from their types alone.
        .with_analyzer_rules(vec![Arc::new(TypeCoercion::new())])
        .with_optimizer_rules(vec![
            // A union of unions is one union: the same rows.
            Arc::new(OptimizeUnions::new()),
            // Expressions become simpler ones of the same row.
            Arc::new(SimplifyExpressions::new()),
            // For joins to public rows: which of a condition's parts are equalities. Joins of private tables are nodes of their own, which no rule looks into.
            Arc::new(ExtractEquijoinPredicate::new()),
            // A filter looks at one row. It moves below what leaves rows as they are (projections, unions, joins to public rows), below a GROUP BY where it reads keys
            // alone, and never into our own nodes. No scan takes a filter that reads rows: one of files in directories that are named by values takes those that read
            // such values alone, as a choice of directories, and the filter stays where it is.
            Arc::new(PushDownFilter::new()),
            // What is computed twice of a row is computed once.
            Arc::new(CommonSubexprEliminate::new()),
            // Columns that nobody needs are left out.
            Arc::new(OptimizeProjections::new()),
        ])
        .with_physical_optimizer_rules(vec![
            // Adds sorts and exchanges that operators ask for: rows change places, never values.
            Arc::new(EnsureRequirements::new()),
            // A partial and a final GROUP BY in one place are one.
            Arc::new(CombinePartialFinalAggregate::new()),
            // Columns that nobody needs are left out earlier.
            Arc::new(ProjectionPushdown::new()),
            // Lets other tasks have a turn.
            Arc::new(EnsureCooperative::new()),
            // Changes nothing; checks.
            Arc::new(SanityCheckPlan::new()),
        ])
}

/// Settings that the closed lists rely on. Those about statistics and filters that are learned have no rule left that would use them; they are off twice.
pub(crate) fn configure(options: &mut ConfigOptions) {
    let execution = &mut options.execution;
    execution.collect_statistics = false;
    let parquet = &mut execution.parquet;
    parquet.pruning = false;
    parquet.enable_page_index = false;
    parquet.bloom_filter_on_read = false;
    parquet.pushdown_filters = false;
    let optimizer = &mut options.optimizer;
    optimizer.enable_dynamic_filter_pushdown = false;
    optimizer.enable_join_dynamic_filter_pushdown = false;
    optimizer.enable_topk_dynamic_filter_pushdown = false;
    optimizer.enable_aggregate_dynamic_filter_pushdown = false;
    // A join to public rows holds the public side in memory and lets private rows pass by, each on its own.
    optimizer.repartition_joins = false;
    optimizer.prefer_hash_join = true;
    optimizer.enable_piecewise_merge_join = false;
}

/// Refuses a plan with an operator, or a way of using one, that is not on the list. Depends on the plan alone.
pub(crate) fn check(plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
    check_with(plan, &|_| false)
}

/// The same where some more operators are known to whoever asks: exchanges between machines, which move rows and change none.
pub(crate) fn check_with(
    plan: &Arc<dyn ExecutionPlan>,
    is_exchange: &dyn Fn(&Arc<dyn ExecutionPlan>) -> bool,
) -> Result<()> {
    if !is_exchange(plan) && !is_allowed(plan) {
        return plan_err!(
            "{} is not on the list of operators that may see private rows\nhint: this is a defect of Deniable; please report the query",
            plan.name()
        );
    }
    plan.children()
        .into_iter()
        .try_for_each(|child| check_with(child, is_exchange))
}

fn is_allowed(plan: &Arc<dyn ExecutionPlan>) -> bool {
    // Which rows a limit keeps depends on everybody's, and so does a filter that one operator learns from its rows for another.
    if plan.fetch().is_some() || !plan.dynamic_expressions_produced().is_empty() {
        return false;
    }
    let plain = plan.is::<StreamingTableExec>()
        || plan.is::<EmptyExec>()
        || plan.is::<PlaceholderRowExec>()
        // One row in, at most one row out, whatever the others are.
        || plan.is::<ProjectionExec>()
        || plan.is::<FilterExec>()
        // The same rows in other places.
        || plan.is::<AnyOrderExec>()
        || plan.is::<LabelExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<CooperativeExec>()
        || plan.is::<RepartitionExec>()
        || plan.is::<SortExec>()
        || plan.is::<SortPreservingMergeExec>()
        || plan.is::<UnionExec>()
        || plan.is::<InterleaveExec>()
        // By unit, or over what is bounded already: see who builds the plans.
        || plan.is::<AggregateExec>()
        || plan.is::<BoundedWindowAggExec>()
        || plan.is::<BoundExec>()
        || plan.is::<OwnerJoinExec>()
        // Partitioned by owner, whatever the query says.
        || plan.is::<OwnerWindowExec>();
    if plain {
        return true;
    }
    if let Some(scan) = plan.downcast_ref::<DataSourceExec>() {
        return is_plain_scan(scan);
    }
    // A private row meets the public side as it is in memory; no private row is held.
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return *join.partition_mode() == PartitionMode::CollectLeft && in_memory(join.left());
    }
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        return in_memory(join.left());
    }
    plan.downcast_ref::<CrossJoinExec>()
        .is_some_and(|join| in_memory(join.left()))
}

/// A scan of memory, or of Parquet files without anything that passes rows over because of what is known of a part of the file.
fn is_plain_scan(scan: &DataSourceExec) -> bool {
    if scan.data_source().is::<MemorySourceConfig>() {
        return true;
    }
    let Some(files) = scan.data_source().downcast_ref::<FileScanConfig>() else {
        return false;
    };
    let Some(parquet) = files.file_source().downcast_ref::<ParquetSource>() else {
        return false;
    };
    let options = &parquet.table_parquet_options().global;
    let learns = options.pruning || options.enable_page_index || options.bloom_filter_on_read;
    let ordered = !files.output_ordering.is_empty();
    files.file_source().filter().is_none() && !learns && !options.pushdown_filters && !ordered
}

/// Whether all that a plan reads is in memory, and public. Private rows in memory are read through an operator that says nothing of them ([`super::GivenRows`]), and so
/// are those that a join of owners reads.
pub(crate) fn in_memory(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if plan.is::<AnyOrderExec>() {
        return false;
    }
    if let Some(scan) = plan.downcast_ref::<DataSourceExec>() {
        return scan.data_source().is::<MemorySourceConfig>();
    }
    let children = plan.children();
    let leaf = children.is_empty();
    (!leaf || plan.is::<EmptyExec>() || plan.is::<PlaceholderRowExec>())
        && children.into_iter().all(in_memory)
}
