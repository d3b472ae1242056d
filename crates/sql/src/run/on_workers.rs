//! The engine of several machines: workers compute the rows of each plan, and this program puts them together.
//!
//! # Privacy
//! Claim: the integers are those of [`local`](super::local), to the last bit, however many workers there are, and whichever of them fail.
//! Proof: the plan is the local one, with the same key, made by the same planner with its closed list, and `cluster` spreads it over workers without changing what it gives. After a failure it is
//! run again from the beginning; nothing was drawn, so that the charge covers it. Whether workers compute a question depends on the question, the catalog and the schemas of files.
//! Assumes: workers are trusted like this machine.
//! Audited by: `tests::hunter::spread`.

use crate::catalog::Catalog;
use crate::run::engine::BoundedPlans;
use crate::run::engines::Engines;
use crate::run::local::planned;
use crate::run::publics::Publics;
use crate::run::scans::over_data;
use crate::run::workers::said;
use crate::{Error, sources};
use cluster::{Cluster, NotSpread};
use datafusion::arrow::array::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// How often a plan is run before its failure is reported.
const ATTEMPTS: usize = 3;
/// Between two attempts: a worker that was started again has to come up.
const PAUSE: Duration = Duration::from_secs(1);

/// Plans on workers.
pub(crate) struct OnWorkers {
    cluster: Cluster,
    plans: Vec<LogicalPlan>,
    /// Those that answered before the charge.
    workers: Vec<Url>,
    threads: usize,
    timeout: Option<Duration>,
}

/// Why workers do not compute a question; the end of a sentence.
pub(crate) struct Why(pub(crate) String);

/// Has workers prepare plans, if they can compute them; sends them nothing. Reads schemas, and no rows.
pub(crate) async fn on_workers(
    plans: &BoundedPlans,
    publics: &Publics,
    engines: &Engines,
    catalog: &Catalog,
) -> Result<Result<OnWorkers, Why>, Error> {
    let cluster = engines.cluster(&catalog.engine)?;
    let session = engines.first()?;
    let workers = catalog.engine.workers.as_ref();
    let threads = workers.and_then(|workers| workers.threads).map_or_else(
        || session.state().config().target_partitions(),
        |threads| threads as usize,
    );
    // Rows that lie sorted by unit are read as any others: a unit may lie where one worker's part of a file ends.
    let totals = plans.unsorted.as_ref().unwrap_or(&plans.totals.0);
    let mut over = Vec::new();
    for plan in std::iter::once(totals).chain(plans.single.iter().map(|(plan, _)| plan)) {
        let plan = over_data(&publics.put_into(plan)?, &session, catalog).await?;
        let (planned, state) = for_workers(&plan, &session, threads).await?;
        match cluster.check(&planned, &state, threads) {
            Ok(()) => over.push(plan),
            Err(why) => return Ok(Err(reason(why))),
        }
    }
    Ok(Ok(OnWorkers {
        cluster,
        plans: over,
        workers: Vec::new(),
        threads,
        timeout: catalog.engine.timeout,
    }))
}

fn reason(why: NotSpread) -> Why {
    Why(match why {
        NotSpread::Reason(reason) => reason.to_owned(),
        // What the engine says may print a plan, in which are the places of files.
        NotSpread::Engine(_) => "it uses something that is not sent to workers".to_owned(),
    })
}

/// The plan of one machine from which that of several is made: files are cut however small they are, so that everything is exchanged by key.
async fn for_workers(
    plan: &LogicalPlan,
    session: &SessionContext,
    threads: usize,
) -> Result<(Arc<dyn ExecutionPlan>, SessionState), Error> {
    let mut state = session.state();
    let options = state.config_mut().options_mut();
    options.execution.target_partitions = threads.max(2);
    options.optimizer.repartition_file_min_size = 0;
    // A projection that becomes part of a scan would be sent without the parameters of its functions; `cluster` refuses it.
    let rules = state.physical_optimizers().iter();
    let rules = rules
        .filter(|rule| rule.name() != "ProjectionPushdown")
        .cloned()
        .collect();
    let state = SessionStateBuilder::new_from_existing(state)
        .with_physical_optimizer_rules(rules)
        .build();
    planned(plan, state).await
}

impl OnWorkers {
    /// Finds the workers that are there.
    ///
    /// # Errors
    /// If there are none: before anything is charged.
    pub(crate) async fn with_workers(mut self) -> Result<Self, Error> {
        self.workers = self.cluster.available().await.map_err(|error| {
            Error::catalog(
                said(&error),
                "start them with `deniable worker`, of the version that asks; nothing was charged",
            )
        })?;
        Ok(self)
    }

    /// The rows of each plan.
    pub(crate) async fn run(self, engines: &Engines) -> Result<Vec<Vec<RecordBatch>>, Error> {
        let mut all = Vec::new();
        for plan in &self.plans {
            let (mut attempt, mut without_memory) = (0, 0);
            all.push(loop {
                let failure = match self.attempt(plan, engines, attempt, without_memory).await {
                    Ok(batches) => break batches,
                    Err(failure) => failure,
                };
                attempt += 1;
                without_memory += usize::from(failure.of_memory);
                if attempt == ATTEMPTS {
                    return Err(sources::incident("the tables", failure.words));
                }
                tokio::time::sleep(PAUSE).await;
            });
        }
        Ok(all)
    }

    /// One attempt, on the workers that are there now. Only after memory ran out is there more of it.
    async fn attempt(
        &self,
        plan: &LogicalPlan,
        engines: &Engines,
        attempt: usize,
        without_memory: usize,
    ) -> Result<Vec<RecordBatch>, Failure> {
        let session = match engines.private(without_memory)? {
            Some(session) => session,
            None => engines.first()?,
        };
        // After a failure, whoever is left.
        let workers = match attempt {
            0 => self.workers.clone(),
            _ => self.cluster.available().await?,
        };
        let (planned, state) = for_workers(plan, &session, self.threads).await?;
        let prepared = self
            .cluster
            .prepare(&planned, &state, (&workers, self.threads), without_memory)
            .await;
        let prepared = prepared.map_err(|why| Failure {
            words: format!("{why:?}"),
            of_memory: false,
        })?;
        let rows = prepared.collect();
        let rows = match self.timeout {
            None => rows.await,
            Some(timeout) => tokio::time::timeout(timeout, rows).await.map_err(|_| Failure {
                words: "the workers took longer than engine.timeout".to_owned(),
                of_memory: false,
            })?,
        };
        Ok(rows?)
    }
}

/// What went wrong, for the curator's eyes only, and whether more memory would help.
struct Failure {
    words: String,
    of_memory: bool,
}

impl From<DataFusionError> for Failure {
    fn from(error: DataFusionError) -> Self {
        Self {
            words: error.to_string(),
            of_memory: matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            words: error.to_string(),
            of_memory: false,
        }
    }
}
