//! The coordinator's side: which workers there are, and a plan on them.

use crate::channels::Channels;
use crate::codec::Codec;
use crate::spread::{Cut, NotSpread, spread};
use crate::{Credentials, Functions, version};
use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::catalog::Session;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, internal_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::TaskContext;
use datafusion::execution::context::{QueryPlanner, SessionState};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion_distributed::{
    DistributedExec, DistributedExt, GetWorkerInfoRequest, RouteTasksEvent, RouteTasksEventResponse,
    SessionStateBuilderExt, WorkerResolver,
};
use futures::future::join_all;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tonic::metadata::MetadataMap;
use url::Url;

/// A worker that does not say its version within this time is not there.
const ANSWERS: Duration = Duration::from_secs(3);
/// How often memory has run out already: a worker gives more after that.
pub(crate) const ATTEMPT: &str = "deniable-memory";

/// Workers, and how to reach them.
#[derive(Clone)]
pub struct Cluster {
    workers: Vec<Url>,
    channels: Channels,
    functions: Arc<dyn Functions>,
    #[cfg(test)]
    pub(crate) mutant: Option<crate::spread::Mutant>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Cluster of {}", self.workers.len())
    }
}

impl Cluster {
    /// A cluster of these workers, at least one. Connects to nobody yet.
    pub fn new(workers: Vec<Url>, credentials: Credentials, functions: Arc<dyn Functions>) -> Self {
        Self {
            workers,
            channels: Channels::new(credentials),
            functions,
            #[cfg(test)]
            mutant: None,
        }
    }

    /// The workers that answer, and are of this version.
    ///
    /// # Errors
    /// If there is none, with how many are missing for which reason.
    pub async fn available(&self) -> Result<Vec<Url>> {
        let own = &version::version()?;
        let asked = self.workers.iter().map(|url| async move {
            let answered = async {
                let mut client = self.channels.client(url)?;
                client.get_worker_info(GetWorkerInfoRequest {}).await
            };
            match tokio::time::timeout(ANSWERS, answered).await {
                Ok(Ok(worker)) if worker.version == *own => Ok(url.clone()),
                Ok(Ok(_)) => Err("of another version"),
                Ok(Err(_)) => Err("refusing, or not to be reached"),
                Err(_) => Err("silent"),
            }
        });
        let (mut found, mut missing) = (Vec::new(), BTreeMap::<&str, usize>::new());
        for worker in join_all(asked).await {
            match worker {
                Ok(url) => found.push(url),
                Err(why) => *missing.entry(why).or_default() += 1,
            }
        }
        if found.is_empty() {
            // By number: where they are is the curator's business.
            let missing: Vec<String> = missing
                .iter()
                .map(|(why, count)| format!("{count} {why}"))
                .collect();
            return Err(exec_datafusion_err!("no worker is there: {}", missing.join(", ")));
        }
        Ok(found)
    }

    /// Whether a plan of one machine can be spread over workers.
    ///
    /// # Errors
    /// If it cannot, with the reason.
    pub fn check(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
        state: &SessionState,
        threads: usize,
    ) -> Result<(), NotSpread> {
        self.spread(plan, state, self.workers.len(), threads).map(drop)
    }

    fn spread(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
        state: &SessionState,
        workers: usize,
        threads: usize,
    ) -> Result<(Arc<dyn ExecutionPlan>, Codec), NotSpread> {
        let codec = Codec::new(Arc::clone(&self.functions), state.clone());
        let cut = Cut {
            // With one task there would be nothing to send.
            tasks: workers.max(2),
            // One part would count as partitioned by anything.
            threads: threads.max(2),
            codec: &codec,
            #[cfg(test)]
            mutant: self.mutant,
        };
        let spread = spread(plan, &cut)?;
        Ok((spread, codec))
    }

    /// Has workers prepare a plan of one machine, `threads` at a time on each. Sends nothing to them.
    ///
    /// # Errors
    /// If the plan cannot be spread.
    pub async fn prepare(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
        state: &SessionState,
        (workers, threads): (&[Url], usize),
        attempt: usize,
    ) -> Result<Prepared, NotSpread> {
        let (spread, codec) = self.spread(plan, state, workers.len(), threads)?;
        let mut headers = MetadataMap::new();
        headers.insert(ATTEMPT, attempt.into());
        let urls = workers.to_vec();
        let state = SessionStateBuilder::new_from_existing(state.clone())
            .with_query_planner(Arc::new(Given(spread)))
            .with_distributed_planner()
            .with_distributed_worker_resolver(Fixed(urls.clone()))
            .with_distributed_channel_resolver(self.channels.clone())
            .with_distributed_user_codec(codec)
            .with_distributed_route_tasks_handler(move |event: RouteTasksEvent<'_>| {
                let tasks = urls.iter().cycle().take(event.task_count).cloned();
                Some(Ok(RouteTasksEventResponse::new(tasks.collect())))
            })
            // Nothing that depends on data decides about a plan, and nothing about rows is collected.
            .with_distributed_dynamic_task_count(false)?
            .with_distributed_metrics_collection(false)?
            .with_distributed_broadcast_joins(false)?
            .with_distributed_partial_reduce(false)?
            .with_distributed_compression(None)?
            .with_distributed_shuffle_batch_size(state.config().batch_size())?
            .with_distributed_passthrough_headers(headers.into_headers())?
            .build();
        let nothing = LogicalPlanBuilder::empty(false).build()?;
        let planner = Arc::clone(state.query_planner());
        let plan = planner.create_physical_plan(&nothing, &state).await?;
        if !plan.is::<DistributedExec>() {
            return Err(NotSpread::Reason("nothing of it would run on a worker"));
        }
        Ok(Prepared {
            plan,
            context: state.task_ctx(),
        })
    }
}

/// A plan on workers.
pub struct Prepared {
    plan: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
}

impl Prepared {
    /// Its rows.
    ///
    /// # Errors
    /// If a worker fails, or falls silent.
    pub async fn collect(self) -> Result<Vec<RecordBatch>> {
        collect(self.plan, self.context).await
    }
}

/// Stands in for a planner: the plan is there already, and only its stages must be numbered.
#[derive(Debug)]
struct Given(Arc<dyn ExecutionPlan>);

#[async_trait]
impl QueryPlanner for Given {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        _: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match plan {
            LogicalPlan::EmptyRelation(_) => Ok(Arc::clone(&self.0)),
            _ => internal_err!("the plan is given already"),
        }
    }
}

struct Fixed(Vec<Url>);

impl WorkerResolver for Fixed {
    fn get_urls(&self) -> Result<Vec<Url>, DataFusionError> {
        Ok(self.0.clone())
    }
}
