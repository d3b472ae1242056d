//! How the engine learns of the native operators.

use super::canonical::{MOST_TEXT, rows_of_texts, texts_in};
use super::choice::Digest;
use super::exec::BoundExec;
use super::label::is_in_memory;
use super::node::{ContributionBound, Native};
use super::owner_join::{AnyOrderExec, JoinRule, OwnerJoinExec, OwnerJoinNode};
use super::owner_window::{OwnerWindowExec, OwnerWindowNode};
use super::totals::Shape;
use super::{Rule, key_columns, rules, sums};
use async_trait::async_trait;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::Session;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchema, Result, internal_err};
use datafusion::datasource::source_as_provider;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::{QueryPlanner, SessionState};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use datafusion::prelude::{SessionConfig, SessionContext, col};
use std::sync::Arc;

/// A session for plans over private rows: with our operators, and with none but the rules and operators of a closed list ([`super::rules`]).
pub fn session(config: SessionConfig, runtime: Arc<RuntimeEnv>) -> SessionContext {
    let mut config = config;
    rules::configure(config.options_mut());
    let builder = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_default_features()
        .with_query_planner(Arc::new(BoundPlanner { closed: true }));
    with_our_functions(rules::closed(builder).build())
}

/// Finds our aggregates by name, as a worker does that is sent a plan.
fn with_our_functions(state: SessionState) -> SessionContext {
    let context = SessionContext::new_with_state(state);
    sums::functions().for_each(|function| context.register_udaf(function));
    context
}

/// The same with the engine's own rules and whatever operators they choose. Not for private rows: it is what tests break on purpose.
#[doc(hidden)]
pub fn session_with_all_rules(config: SessionConfig, runtime: Arc<RuntimeEnv>) -> SessionContext {
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_default_features()
        .with_query_planner(Arc::new(BoundPlanner { closed: false }))
        .build();
    with_our_functions(state)
}

/// Plans queries as the engine does, with our operators.
#[derive(Debug)]
struct BoundPlanner {
    /// Whether a plan is refused that has other operators than those of the closed list.
    closed: bool,
}

#[async_trait]
impl QueryPlanner for BoundPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(BoundExtension)]);
        let reads = Reads::of(plan)?;
        let planned = match session.as_any().downcast_ref::<SessionState>() {
            Some(state) if reads.bounded => {
                let mut state = state.clone();
                let options = &mut state.config_mut().options_mut().optimizer;
                // Dealing batches out to threads in turn would tear apart what lies next to each other, and needs memory that we take. A file
                // is cut into parts that follow each other; a table in memory would be cut into batches of equal size, in any order.
                options.enable_round_robin_repartition = false;
                options.repartition_file_scans &= !(reads.clustered && reads.memory);
                planner.create_physical_plan(plan, &state).await?
            }
            _ => planner.create_physical_plan(plan, session).await?,
        };
        if self.closed {
            rules::check(&planned)?;
        }
        Ok(planned)
    }
}

/// What a plan reads, as far as it matters how rows reach us.
#[derive(Default)]
struct Reads {
    bounded: bool,
    clustered: bool,
    memory: bool,
}

impl Reads {
    fn of(plan: &LogicalPlan) -> Result<Self> {
        let mut reads = Self::default();
        plan.apply_with_subqueries(|plan| {
            match plan {
                LogicalPlan::Extension(extension) => {
                    let node = extension.node.as_any().downcast_ref::<ContributionBound>();
                    reads.bounded |= node.is_some();
                    reads.clustered |= node.is_some_and(|node| node.native == Native::Clustered);
                }
                LogicalPlan::TableScan(scan) => {
                    let provider = source_as_provider(&scan.source);
                    reads.memory |= provider.is_ok_and(|provider| is_in_memory(provider.as_ref()));
                }
                _ => {}
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(reads)
    }
}

struct BoundExtension;

#[async_trait]
impl ExtensionPlanner for BoundExtension {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if let Some(node) = node.as_any().downcast_ref::<OwnerJoinNode>() {
            return owner_join(node, inputs, session).map(Some);
        }
        if let (Some(node), [input]) = (node.as_any().downcast_ref::<OwnerWindowNode>(), inputs) {
            // One owner's rows are held: fewer where they hold many texts.
            let most = match texts_in(&input.schema()) {
                0 => node.window.most,
                texts => node.window.most.min(rows_of_texts(texts) as u64),
            };
            let any_order = Arc::new(AnyOrderExec::new(Arc::clone(input)));
            return Ok(Some(Arc::new(OwnerWindowExec::new(any_order, node.rule(most)?))));
        }
        let Some(node) = node.as_any().downcast_ref::<ContributionBound>() else {
            return Ok(None);
        };
        let [input] = inputs else {
            return internal_err!("bounding reads one input");
        };
        let bounded = bounding(Arc::clone(input), node.rule.clone(), node.native, session)?;
        Ok(Some(Arc::new(bounded)))
    }
}

/// The native operator over rows, with as many threads as the session has.
pub(crate) fn bounding(
    input: Arc<dyn ExecutionPlan>,
    rule: Rule,
    native: Native,
    session: &dyn Session,
) -> Result<BoundExec> {
    let schema = input.schema();
    let digests = match rule.limit() {
        Some(_) if native != Native::Single => Some(digests(&rule, &schema, session)?),
        _ => None,
    };
    let batch_size = session.config().batch_size();
    let shape = Arc::new(Shape::new(&rule, &schema, digests, batch_size));
    let threads = session.config().target_partitions();
    Ok(BoundExec::new(input, Arc::new(rule), shape, native, threads))
}

/// The texts of all pairs of one owner take at most so much, on disk.
const MOST_PAIRED_BYTES: usize = 4 << 30;

/// How many rows of one owner are joined: fewer where they hold many texts, so that those of the right side, which are held, take bounded memory, and the pairs of one owner, which
/// may go to disk, a bounded part of it. Depends on the columns that the plan needs.
pub fn rows_joined((left, right): (u64, u64), held_texts: usize, joined_texts: usize) -> (u64, u64) {
    let right = match held_texts {
        0 => right,
        texts => right.min(rows_of_texts(texts) as u64),
    };
    if left == u64::MAX {
        // Each row of the left side has as many partners as are held: nothing multiplies.
        return (left, right);
    }
    let pairs = (MOST_PAIRED_BYTES / MOST_TEXT / joined_texts.max(1)) as u64;
    (left.min((pairs / right).max(1)), right)
}

fn owner_join(
    node: &OwnerJoinNode,
    inputs: &[Arc<dyn ExecutionPlan>],
    session: &dyn Session,
) -> Result<Arc<dyn ExecutionPlan>> {
    let [left, right] = inputs else {
        return internal_err!("a join of owners reads two inputs");
    };
    let schema = node.joined_schema();
    let filter = node.join.filter.clone();
    let (most_left, most_right) = rows_joined(
        (node.join.most_left, node.join.most_right),
        texts_in(&right.schema()),
        texts_in(schema.as_arrow()),
    );
    let rule = JoinRule {
        keys: node.keys()?,
        filter: filter
            .map(|filter| session.create_physical_expr(filter, node.pair_schema()))
            .transpose()?,
        meeting: node.join.meeting.clone(),
        most_left,
        most_right,
        pairs: Arc::clone(node.pair_schema().inner()),
        schema: Arc::clone(schema.inner()),
    };
    let any_order = |input: &Arc<dyn ExecutionPlan>| Arc::new(AnyOrderExec::new(Arc::clone(input)));
    Ok(Arc::new(OwnerJoinExec::new(
        any_order(left),
        any_order(right),
        rule,
    )))
}

/// The digests of units and of groups, from the expressions of the relational plan.
fn digests(rule: &Rule, input: &Schema, session: &dyn Session) -> Result<(Digest, Digest)> {
    let digest = |expression: Expr, columns: std::ops::Range<usize>| -> Result<Digest> {
        let fields: Vec<_> = columns.map(|place| input.field(place).clone()).collect();
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let names = DFSchema::try_from(Arc::clone(&schema))?;
        let expression = session.create_physical_expr(expression, &names)?;
        Ok(Digest::new(expression, schema))
    };
    let keys = key_columns(rule).into_iter().zip(rule.keys.iter().cloned());
    let unit = rule.secret.of_unit(col("unit"), &rule.unit);
    Ok((
        digest(unit, 0..1)?,
        digest(rule.secret.of_group(keys)?, 1..1 + rule.keys.len())?,
    ))
}
