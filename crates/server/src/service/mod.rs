//! The one entrance: who asks, what, for how much, and an answer or a refusal. HTTP and the PostgreSQL wire only translate to and from it.

mod dummy;
mod history;
mod question;
mod queue;
mod sign_in;

pub(crate) use history::{Saved, unsigned};
pub(crate) use question::MOST_BYTES_OF_SQL;
pub use question::{BudgetView, Explained, Precision, Question};
use queue::{Place, Run, Running};
pub use sign_in::Identity;
use sign_in::PASSWORDS_AT_ONCE;

use crate::accounts;
use crate::failure::{Code, Failure};
use crate::governance;
use crate::journal::Journal;
use crate::metrics::Metrics;
use crate::schedule::Schedule;
use crate::server::Addresses;
use dummy::Dummy;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use ledger::{Left, Once};
use sql::{AnswerColumn, Answered, Dataset, QueryRequest, Stage};
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// Answers that are held in memory, for whoever asks the same in the same words.
const MOST_ANSWERS: usize = 4096;
/// Larger answers, and longer queries, are not held in memory.
const MOST_CELLS_HELD: usize = 10_000;
const MOST_SQL_HELD: usize = 4 << 10;
/// After this many looks those whose rates are full again are forgotten.
const LOOKS: usize = 4096;
/// The number of rows in a group for which `explain` states errors.
const GROUP_SIZE: u64 = 1000;

/// Settings of the service.
#[derive(Clone, Debug)]
pub struct Settings {
    /// When answers leave.
    pub schedule: Schedule,
    /// Questions that run at once. Each may take as much memory as the engine allows one question.
    pub at_once: usize,
    /// Questions that wait for their turn; more are refused.
    pub waiting: usize,
    /// Requests of one account in a second, on average.
    pub rate: NonZeroU32,
    /// Requests of one account that may come at once.
    pub burst: NonZeroU32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            schedule: Schedule::every(Duration::from_millis(250)),
            at_once: 4,
            waiting: 256,
            rate: const { NonZeroU32::new(50).unwrap() },
            burst: const { NonZeroU32::new(200).unwrap() },
        }
    }
}

/// The service that all entrances share.
pub struct Service {
    dataset: Dataset,
    settings: Settings,
    journal: Journal,
    metrics: Metrics,
    rates: DefaultKeyedRateLimiter<String>,
    turns: Arc<Semaphore>,
    queued: AtomicUsize,
    passwords: Semaphore,
    waiting_passwords: AtomicUsize,
    /// Attempts to guess a password, by account.
    guesses: DefaultKeyedRateLimiter<String>,
    /// How often rates were looked at, so that those who are gone are forgotten now and then.
    looks: AtomicUsize,
    /// Questions of each account that run or wait.
    of_account: Mutex<HashMap<String, usize>>,
    /// With the version of the data that each is about.
    answers: Mutex<HashMap<Question, (String, Arc<Answered>)>>,
    identities: Mutex<HashMap<String, (Identity, Instant)>>,
    running: Arc<Running>,
    ending: AtomicBool,
    /// Where the entrances are, for pages that tell people how to ask from elsewhere.
    addresses: OnceLock<Addresses>,
    dummy: Dummy,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Service({:?})", self.dataset)
    }
}

impl Service {
    /// A service for this dataset, and the task that writes its log, which ends when the service is gone. Runs inside a tokio runtime.
    ///
    /// # Errors
    /// When the ledger cannot be opened.
    pub async fn start(dataset: Dataset, settings: Settings) -> Result<(Arc<Self>, JoinHandle<()>), Failure> {
        // What is wrong with the ledger is reported now, and not to the first analyst.
        dataset
            .with_ledger(|store| Ok(store.check_not_rewound()?))
            .await?;
        let (journal, writing) = Journal::start(dataset.clone());
        let quota = Quota::per_second(settings.rate).allow_burst(settings.burst);
        let service = Self {
            dataset,
            journal,
            metrics: Metrics::default(),
            rates: RateLimiter::keyed(quota),
            turns: Arc::new(Semaphore::new(settings.at_once.max(1))),
            queued: AtomicUsize::new(0),
            passwords: Semaphore::new(PASSWORDS_AT_ONCE),
            waiting_passwords: AtomicUsize::new(0),
            guesses: RateLimiter::keyed(Quota::per_minute(const { NonZeroU32::new(10).unwrap() })),
            looks: AtomicUsize::new(0),
            of_account: Mutex::default(),
            answers: Mutex::default(),
            identities: Mutex::default(),
            running: Arc::default(),
            ending: AtomicBool::new(false),
            addresses: OnceLock::new(),
            dummy: Dummy::default(),
            settings,
        };
        service.journal.log("server-started", "", "");
        Ok((Arc::new(service), writing))
    }

    /// The dataset that is served.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    pub(crate) fn listens_on(&self, addresses: Addresses) {
        let _ = self.addresses.set(addresses);
    }

    /// Where the PostgreSQL wire is, once the server listens.
    pub(crate) fn wire_port(&self) -> Option<u16> {
        self.addresses.get().map(|addresses| addresses.wire.port())
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Takes no new questions, and waits for those that run: what was charged is finished and saved.
    pub async fn end(&self) {
        self.ending.store(true, Ordering::SeqCst);
        loop {
            let none = self.running.none.notified();
            if self.running.count.load(Ordering::SeqCst) == 0 {
                break;
            }
            none.await;
        }
        self.journal.log("server-ended", "", "");
    }

    /// What a question would do and cost. Free, and reads no private data, so it leaves at once.
    ///
    /// # Errors
    /// When the question is refused.
    pub async fn explain(
        &self,
        who: &Identity,
        question: &Question,
        precision: &Precision,
    ) -> Result<Explained, Failure> {
        self.admit(who)?;
        let mut request = question.request(who)?;
        let group_size = precision.group_size.unwrap_or(GROUP_SIZE).max(1);
        let epsilon = match precision.wanted()? {
            None => None,
            Some(wanted) => Some(self.dataset.epsilon_for(&request, wanted, group_size).await?),
        };
        request.epsilon = epsilon.clone().or(request.epsilon);
        let sql::Preview {
            explanation,
            forecast,
            columns,
        } = self.dataset.preview(&request, group_size).await?;
        Ok(Explained {
            epsilon,
            explanation,
            forecast,
            columns,
        })
    }

    /// The columns that the answer will have, and nothing else: free.
    ///
    /// # Errors
    /// When the question is refused.
    pub async fn columns(&self, who: &Identity, question: &Question) -> Result<Vec<AnswerColumn>, Failure> {
        self.admit(who)?;
        if let Some(answer) = self.dataset.describe(&question.sql)? {
            return Ok(answer.columns);
        }
        if let Some(answered) = self.held(question) {
            return Ok(answered.answer.columns.clone());
        }
        Ok(self.dataset.columns(&question.request(who)?).await?)
    }

    /// Answers a question: charged once, before the data is read, or from what was released before. Whatever comes of it leaves on the schedule. Where whoever waits for it goes
    /// away, the question goes on, and its answer is saved.
    ///
    /// # Errors
    /// When the question is refused, does not fit, or fails after its charge.
    pub async fn ask(
        self: &Arc<Self>,
        who: &Identity,
        question: &Question,
        idempotency_key: Option<&str>,
    ) -> Result<Arc<Answered>, Failure> {
        let since = Instant::now();
        let answered = self.answer(who, question, idempotency_key, since).await;
        self.settings.schedule.hold(since).await;
        self.metrics
            .question(answered.as_ref().err().map(|failure| failure.code));
        answered
    }

    async fn answer(
        self: &Arc<Self>,
        who: &Identity,
        question: &Question,
        idempotency_key: Option<&str>,
        since: Instant,
    ) -> Result<Arc<Answered>, Failure> {
        self.admit(who)?;
        let mut request = question.request(who)?;
        if let Some(key) = idempotency_key {
            if key.is_empty() || key.len() > 255 {
                return Err(Failure::new(
                    Code::BadRequest,
                    "an idempotency key has 1 to 255 characters",
                    "a random UUID is a good one",
                ));
            }
            let words = serde_json::to_string(question).expect("a question is plain data");
            request.once = Some(Once::new(who.name(), key, &words));
        }
        if let Some(answer) = self.dataset.describe(&question.sql)? {
            let left = self.left(who).await?;
            return Ok(Arc::new(Answered {
                answer,
                repeated: true,
                resumed: false,
                left,
                receipt: None,
            }));
        }
        // With a key the ledger is asked, which knows what the key was used for.
        let known = match request.once {
            None => self.held(question),
            Some(_) => None,
        };
        if let Some(known) = known {
            let left = self.left(who).await?;
            return Ok(Arc::new(Answered {
                repeated: true,
                resumed: false,
                left,
                ..Answered::clone(&known)
            }));
        }
        let service = Arc::clone(self);
        let (question, who) = (question.clone(), who.clone());
        // A task of its own: whoever waits may go away, what was charged is finished.
        let run = tokio::spawn(async move { service.run(&who, question, &request, since).await });
        run.await
            .unwrap_or_else(|_| Err(Failure::defect("the question failed")))
    }

    async fn run(
        &self,
        who: &Identity,
        question: Question,
        request: &QueryRequest,
        since: Instant,
    ) -> Result<Arc<Answered>, Failure> {
        let _run = Run::begin(&self.running);
        // The one that the question was asked of, or an earlier one: then it is not held for the next.
        let version = self.version();
        let answered = self.run_in_turn(who, request, since).await;
        if let Err(failure) = &answered
            && matches!(
                failure.code,
                Code::OverBudget | Code::QuestionCap | Code::DayCap | Code::NoShare
            )
        {
            self.journal.log("refused", who.name(), failure.code.name());
        }
        if let Err(failure) = &answered
            && failure.code == Code::Incident
        {
            // The words that the analyst gets: a number, and no data.
            self.journal.log("incident", who.name(), &failure.what);
        }
        let answered = Arc::new(answered?);
        if let Some(cost) = &answered.answer.cost
            && !answered.repeated
        {
            self.keep_request(cost.charge, who, &question);
        }
        let cells = answered.answer.rows.len() * answered.answer.columns.len();
        if cells <= MOST_CELLS_HELD && question.sql.len() <= MOST_SQL_HELD {
            let mut answers = self.lock_answers();
            if answers.len() >= MOST_ANSWERS {
                answers.clear();
            }
            answers.insert(question, (version, Arc::clone(&answered)));
        }
        Ok(answered)
    }

    /// Waits for a turn, and asks.
    async fn run_in_turn(
        &self,
        who: &Identity,
        request: &QueryRequest,
        since: Instant,
    ) -> Result<Answered, Failure> {
        let busy = || {
            Failure::new(
                Code::Busy,
                "too many questions wait for their turn",
                "ask again in a moment; nothing was charged",
            )
        };
        let _place = Place::of(self, who.name()).ok_or_else(busy)?;
        if self.queued.fetch_add(1, Ordering::SeqCst) >= self.settings.waiting {
            self.queued.fetch_sub(1, Ordering::SeqCst);
            return Err(busy());
        }
        let turn = self.turns.acquire().await;
        self.queued.fetch_sub(1, Ordering::SeqCst);
        let _turn = turn.map_err(|_| ending())?;
        // Who was revoked while they waited does not ask any more.
        self.still_signed_in(who).await?;
        let schedule = self.settings.schedule;
        let charged = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&charged);
        let watch = move |stage| match stage {
            Stage::Charged => noted.store(true, Ordering::SeqCst),
            Stage::Measured => schedule.hold_before_saving(since),
            Stage::Understood | Stage::Drawn => {}
        };
        let answered = self.dataset.query_watched(request, watch).await;
        if answered.is_err() && charged.load(Ordering::SeqCst) {
            // The turn is free, for those who wait for it, at the same moments as after an answer.
            schedule.hold_failure(since).await;
        }
        Ok(answered?)
    }

    /// What the asker may spend.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn budget(&self, who: &Identity) -> Result<BudgetView, Failure> {
        self.admit(who)?;
        let left = self.left(who).await?;
        let rules = self
            .dataset
            .with_ledger(|store| Ok(store.rules().budget.to_string()))
            .await?;
        Ok(BudgetView {
            account: who.name().to_owned(),
            rules,
            left: left.epsilon,
            left_of_dataset: left.dataset,
            share: who.account.share.clone(),
            per_question: who.account.caps.per_question.clone(),
            per_day: who.account.caps.per_day.clone(),
        })
    }

    async fn left(&self, who: &Identity) -> Result<Left, Failure> {
        let name = who.name().to_owned();
        Ok(self
            .dataset
            .with_ledger(move |store| Ok(store.left(&name)?))
            .await?)
    }

    /// Whether somebody may ask now.
    fn admit(&self, who: &Identity) -> Result<(), Failure> {
        if self.ending.load(Ordering::SeqCst) {
            return Err(ending());
        }
        if !who.role().may_ask() {
            return Err(forbidden());
        }
        self.check_rate(who.name())
    }

    pub(crate) fn check_rate(&self, key: &str) -> Result<(), Failure> {
        if self.looks.fetch_add(1, Ordering::Relaxed) % LOOKS == LOOKS - 1 {
            for rates in [&self.rates, &self.guesses] {
                rates.retain_recent();
                rates.shrink_to_fit();
            }
        }
        match self.rates.check_key(&key.to_owned()) {
            Ok(()) => Ok(()),
            Err(_) => Err(too_many()),
        }
    }

    /// Does something with accounts.
    pub(crate) async fn on_ledger<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut ledger::Store) -> Result<T, accounts::Error> + Send + 'static,
    ) -> Result<T, Failure> {
        // The dataset's own errors are about the ledger; those of accounts are carried through.
        Ok(self.dataset.with_ledger(move |store| Ok(work(store))).await??)
    }

    /// Does something with proposals.
    pub(crate) async fn on_governance<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut ledger::Store) -> Result<T, governance::Error> + Send + 'static,
    ) -> Result<T, Failure> {
        Ok(self.dataset.with_ledger(move |store| Ok(work(store))).await??)
    }

    /// What the data is called now: it may follow the calendar.
    fn version(&self) -> String {
        const DAY: i64 = 24 * 60 * 60 * 1000;
        self.dataset
            .catalog()
            .data
            .on_day(accounts::now().div_euclid(DAY))
    }

    /// An answer that is held in memory, if it is about the data as it is now.
    fn held(&self, question: &Question) -> Option<Arc<Answered>> {
        let (version, answered) = self.lock_answers().get(question).cloned()?;
        (version == self.version()).then_some(answered)
    }

    fn lock_answers(&self) -> std::sync::MutexGuard<'_, HashMap<Question, (String, Arc<Answered>)>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_identities(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Identity, Instant)>> {
        self.identities.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn forbidden() -> Failure {
    Failure::new(
        Code::Forbidden,
        "your role does not allow this",
        "analysts and curators ask questions, auditors read the ledger, operators see the server's health",
    )
}

fn too_many() -> Failure {
    Failure::new(
        Code::TooManyRequests,
        "too many requests of this account",
        "wait a little; nothing was charged",
    )
}

fn ending() -> Failure {
    Failure::new(
        Code::Ending,
        "the server ends",
        "ask again when it is back; a question that was charged is finished, and its answer is saved",
    )
}
