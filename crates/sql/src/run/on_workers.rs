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
use crate::run::local::{Leave, planned};
use crate::run::publics::Publics;
use crate::run::scans::over_data;
use crate::run::workers::said;
use crate::understand::mistakes::unplannable;
use crate::{Error, sources};
use bound::{is_not_clustered, without_labels};
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

/// How often a plan is run before its failure is reported: as often after workers failed, and as often after memory ran out.
const ATTEMPTS: usize = 3;
/// Between two attempts: a worker that was started again has to come up.
const PAUSE: Duration = Duration::from_secs(1);

/// Plans on workers.
pub(crate) struct OnWorkers {
    cluster: Cluster,
    plans: Vec<Spread>,
    /// Those that answered before the charge.
    workers: Vec<Url>,
    threads: usize,
    timeout: Option<Duration>,
}

/// A plan over data that workers take.
struct Spread {
    plan: LogicalPlan,
    /// The same for rows in any order, where the plan takes rows that are sorted by unit.
    unsorted: Option<LogicalPlan>,
    /// Both as one machine would run them: what is verified, and then spread.
    planned: Vec<Arc<dyn ExecutionPlan>>,
}

/// A plan over data, and how one machine would run it.
type Checked = (LogicalPlan, Arc<dyn ExecutionPlan>);

impl Spread {
    fn new((plan, planned): Checked, unsorted: Option<Checked>) -> Self {
        let (unsorted, other) = unsorted.unzip();
        Self {
            plan,
            unsorted,
            planned: std::iter::once(planned).chain(other).collect(),
        }
    }
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
    let checked = async |plan: &LogicalPlan| -> Result<Result<Checked, NotSpread>, Error> {
        let plan = over_data(&publics.put_into(plan)?, &session, catalog).await?;
        let (planned, state) = for_workers(&plan, &session, threads).await?;
        let sent = without_labels(Arc::clone(&planned)).map_err(unplannable)?;
        Ok(cluster.check(&sent, &state, threads).map(|()| (plan, planned)))
    };
    let mut spread = Vec::new();
    let totals = (&plans.totals, plans.unsorted.as_ref());
    let single = plans.single.iter().map(|(plan, _)| (plan, None));
    for (plan, unsorted) in std::iter::once(totals).chain(single) {
        let unsorted = match unsorted {
            None => None,
            // Rows that are not sorted as the catalog promises have to be taken too.
            Some(unsorted) => match checked(unsorted).await? {
                Ok(unsorted) => Some(unsorted),
                Err(why) => return Ok(Err(reason(why))),
            },
        };
        spread.push(match (checked(plan).await?, unsorted) {
            (Ok(plan), unsorted) => Spread::new(plan, unsorted),
            (Err(_), Some(plan)) => Spread::new(plan, None),
            (Err(why), None) => return Ok(Err(reason(why))),
        });
    }
    Ok(Ok(OnWorkers {
        cluster,
        plans: spread,
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

    /// For each plan, what one machine may run.
    pub(crate) fn plans(&self) -> impl Iterator<Item = Vec<&Arc<dyn ExecutionPlan>>> {
        self.plans.iter().map(|spread| spread.planned.iter().collect())
    }

    /// The rows of each plan.
    pub(crate) async fn run(
        self,
        engines: &Engines,
        leave: &mut Leave<'_>,
    ) -> Result<Vec<Vec<RecordBatch>>, Error> {
        let mut all = Vec::new();
        for Spread { plan, unsorted, .. } in &self.plans {
            let leave = leave.next();
            let (mut plan, mut unsorted) = (plan, unsorted.as_ref());
            // Counted apart: how often workers failed, and how often memory ran out.
            let (mut failed, mut without_memory, mut again) = (0, 0, false);
            all.push(loop {
                let failure = match self.attempt(plan, (engines, leave), again, without_memory).await {
                    Ok(batches) => break batches,
                    Err(failure) => failure,
                };
                // Whether there is an answer must not depend on any one person's rows: see [`super::local::Step`].
                if failure.of_order
                    && let Some(any_order) = unsorted.take()
                {
                    plan = any_order;
                    (failed, without_memory) = (0, 0);
                    continue;
                }
                again = true;
                match failure.of_memory {
                    true => without_memory += 1,
                    false => failed += 1,
                }
                if failed.max(without_memory) == ATTEMPTS {
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
        (engines, leave): (&Engines, Leave<'_>),
        again: bool,
        without_memory: usize,
    ) -> Result<Vec<RecordBatch>, Failure> {
        let session = match engines.private(without_memory)? {
            Some(session) => session,
            None => engines.first()?,
        };
        // After a failure, whoever is left.
        let workers = match again {
            false => self.workers.clone(),
            true => self.cluster.available().await?,
        };
        let (planned, state) = for_workers(plan, &session, self.threads).await?;
        let sent = without_labels(leave.readable(planned)?.into_plan())?;
        let prepared = self
            .cluster
            .prepare(&sent, &state, (&workers, self.threads), without_memory)
            .await;
        let prepared = prepared.map_err(|why| Failure::other(format!("{why:?}")))?;
        let rows = prepared.collect();
        let rows = match self.timeout {
            None => rows.await,
            Some(timeout) => tokio::time::timeout(timeout, rows)
                .await
                .map_err(|_| Failure::other("the workers took longer than engine.timeout".to_owned()))?,
        };
        Ok(rows?)
    }
}

/// What went wrong, for the curator's eyes only, and whether more memory would help, or another order of rows.
struct Failure {
    words: String,
    of_memory: bool,
    of_order: bool,
}

impl Failure {
    /// One that may be over when the plan is run again.
    fn other(words: String) -> Self {
        Self {
            words,
            of_memory: false,
            of_order: false,
        }
    }
}

impl From<DataFusionError> for Failure {
    fn from(error: DataFusionError) -> Self {
        Self {
            words: error.to_string(),
            of_memory: matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)),
            of_order: is_not_clustered(&error),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::other(error.to_string())
    }
}
