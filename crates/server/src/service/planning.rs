//! Plans, prices and explains a query before it is asked. That reads no private data and is free, but it is
//! work all the same. So it has a queue of its own, in which accounts take turns, one at a time each, and
//! waiting ends after a while.

use super::queue::{Limits, Queue};
use super::{Explained, Identity, Precision, Question, Service, unserved};
use crate::failure::{Code, Failure};
use sql::{Answer, AnswerColumn, Dataset, QueryRequest};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::runtime::{Handle, Runtime};

/// The number of rows in a group for which `explain` states errors.
const GROUP_SIZE: u64 = 1000;
/// How long an account waits for a turn, and how long a turn lasts before the account that waits for its
/// result is turned away.
const PATIENCE: Duration = Duration::from_secs(10);
const LASTS: Duration = Duration::from_secs(10);

/// Plans that are made at once: a question that is asked has processors left.
const AT_ONCE: usize = 2;

/// The threads that plan, as many as plans are made at once: the allocator keeps what each thread once had.
pub(super) fn threads() -> &'static Handle {
    static THREADS: LazyLock<Runtime> = LazyLock::new(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(AT_ONCE)
            .thread_name("planning")
            .enable_all()
            .build()
            .expect("the system allows a program a few threads")
    });
    THREADS.handle()
}

/// One plan of each account at a time.
pub(super) fn queue() -> Arc<Queue> {
    Queue::new(Limits {
        at_once: AT_ONCE,
        kept: 0,
        of_one: 1,
        waiting: 1024,
        waiting_of_one: 32,
    })
}

impl Service {
    /// What a question would do and cost. Free, and reads no private data, so it leaves when it is ready.
    ///
    /// # Errors
    /// When the question is refused, or too many are explained.
    pub async fn explain(
        &self,
        who: &Identity,
        question: &Question,
        precision: &Precision,
    ) -> Result<Explained, Failure> {
        self.admit(who)?;
        let mut request = question.request(who)?;
        let (dataset, wanted, verify) = (self.planner(), precision.wanted()?, precision.verify);
        let stated = precision.group_size;
        self.plan_in_turn(who, async move {
            let known = match (wanted, stated) {
                (Some(_), None) => dataset.known_sizes(&request).await?,
                _ => None,
            };
            let group_size = stated
                .or(known.map(|known| known.rows))
                .unwrap_or(GROUP_SIZE)
                .max(1);
            let epsilon = match wanted {
                None => None,
                Some(wanted) => Some(dataset.epsilon_for(&request, wanted, group_size).await?),
            };
            request.epsilon = epsilon.clone().or(request.epsilon);
            let sql::Preview {
                explanation,
                forecast,
                columns,
            } = dataset.preview(&request, group_size).await?;
            let verified = match verify {
                true => Some(dataset.verification(&request).await?),
                false => None,
            };
            Ok(Explained {
                epsilon,
                explanation,
                forecast,
                columns,
                verified,
            })
        })
        .await
    }

    /// What EXPLAIN answers: free.
    pub(super) async fn query_plan(
        &self,
        who: &Identity,
        request: &QueryRequest,
    ) -> Result<Option<Answer>, Failure> {
        let (dataset, request) = (self.planner(), request.clone());
        self.plan_in_turn(who, async move { dataset.query_plan(&request).await })
            .await
    }

    /// The columns that the answer will have, and nothing else: free.
    ///
    /// # Errors
    /// When the question is refused, or too many are planned.
    pub async fn columns(&self, who: &Identity, question: &Question) -> Result<Vec<AnswerColumn>, Failure> {
        self.admit(who)?;
        if let Some(answer) = self.dataset.describe(&question.sql)? {
            return Ok(answer.columns);
        }
        if let Some(answered) = self.held(question) {
            return Ok(answered.answer.columns.clone());
        }
        let (dataset, request) = (self.planner(), question.request(who)?);
        self.plan_in_turn(who, async move { dataset.columns(&request).await })
            .await
    }

    /// The same dataset, on the threads that plan.
    pub(super) fn planner(&self) -> Dataset {
        self.dataset.clone().on_runtime(threads().clone())
    }

    /// Does such work when it is this account's turn. An account that goes away leaves the line. Work that
    /// has begun keeps its turn until it has ended, even if nobody waits for it, so going away gains nobody a
    /// turn.
    pub(super) async fn plan_in_turn<T: Send + 'static>(
        &self,
        who: &Identity,
        work: impl Future<Output = Result<T, sql::Error>> + Send + 'static,
    ) -> Result<T, Failure> {
        let turn = self.planning.turn(who.name(), 1, Some(PATIENCE)).await;
        let turn = turn.map_err(unserved)?;
        let working = tokio::spawn(async move {
            let _turn = turn;
            work.await
        });
        match tokio::time::timeout(LASTS, working).await {
            Ok(Ok(done)) => Ok(done?),
            Ok(Err(_)) => Err(Failure::defect("the question could not be planned")),
            Err(_) => Err(Failure::new(
                Code::Busy,
                "planning this question takes longer than 10 seconds",
                "ask for fewer columns at once, or again when fewer people ask; nothing was charged",
            )),
        }
    }
}
