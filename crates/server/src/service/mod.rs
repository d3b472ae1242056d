//! The one internal call: it takes who asks, what, and for how much, and returns an answer or a refusal. HTTP
//! and the PostgreSQL wire only translate to and from it.

mod attempts;
mod dummy;
mod held;
mod history;
mod models;
mod placed;
mod planning;
mod question;
mod queue;
mod releases;
mod running;
mod sign_in;
mod synthetic;
#[cfg(test)]
mod tests;

pub(crate) use history::{Asked, Saved, unsigned};
use placed::Outcome;
pub(crate) use question::MOST_BYTES_OF_SQL;
pub use question::{BudgetView, Explained, Precision, Question};
use queue::{Limits, NoTurn, Queue};
pub(crate) use releases::{MOST_CELLS, ReadTable, check_size};
pub use releases::{MadeRelease, PlanWanted, PlannedView};
use running::Running;
pub use sign_in::Identity;
pub(crate) use synthetic::Drawn;
pub use synthetic::{ListedRows, MadeRows};

use crate::accounts;
use crate::failure::{Code, Failure};
use crate::governance;
use crate::journal::Journal;
use crate::listen::Connections;
use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::schedule::Schedule;
use crate::server::Addresses;
use attempts::Attempts;
use dummy::Dummy;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use held::{Held, MOST_ANSWERS};
use ledger::{Left, Once};
use sql::{Answered, Dataset, QueryRequest};
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// After this many looks those whose rates are full again are forgotten.
const LOOKS: usize = 4096;
/// Queries that have begun, for each that the engine runs at once. A query keeps its place until its answer
/// leaves, so at most so many leave in T. Those that have begun wait for the engine behind each other, in a
/// time that counts as their own. So more places answer more short queries in a second, and fewer places
/// delay long ones less.
const PLACES_FOR_EACH_TURN: usize = 8;
/// A long question takes one place in line for each stretch of so many bytes.
const STRETCH: usize = 8 << 10;

/// Settings of the service.
#[derive(Clone, Debug)]
pub struct Settings {
    /// When answers leave.
    pub schedule: Schedule,
    /// Queries that run at once. Each may take as much memory as the engine allows one query.
    pub at_once: usize,
    /// Queries that wait in line, each of 8 KiB of SQL. More are refused, first those of the account that has
    /// the most.
    pub waiting: usize,
    /// How long a question waits in line before it is refused.
    pub patience: Duration,
    /// How long the server goes on after it was asked to end, for questions that were charged.
    pub drains: Duration,
    /// Requests of one account in a second, on average.
    pub rate: NonZeroU32,
    /// Requests of one account that may come at once.
    pub burst: NonZeroU32,
    /// What connections may take.
    pub connections: Connections,
    /// Whether a browser stays signed in where its address changes.
    pub roaming: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            schedule: Schedule::every(Duration::from_millis(250)),
            at_once: 4,
            waiting: 4096,
            patience: Duration::from_secs(30),
            drains: Duration::from_secs(60),
            rate: const { NonZeroU32::new(50).unwrap() },
            burst: const { NonZeroU32::new(200).unwrap() },
            connections: Connections::default(),
            roaming: false,
        }
    }
}

/// The service that all entrances share.
pub struct Service {
    dataset: Dataset,
    settings: Settings,
    journal: Journal,
    metrics: Metrics,
    memory: Memory,
    rates: DefaultKeyedRateLimiter<String>,
    /// For questions that have begun, until their answers leave.
    places: Arc<Queue>,
    /// For those of them that keep a processor busy without reading data: planned and charged, or drawn and
    /// saved.
    working: Arc<Queue>,
    /// For those of them whose data is read now.
    turns: Arc<Queue>,
    /// For those of them whose own SQL computes something of what was released: it takes as much memory as an
    /// analyst likes, so one of each account.
    computing: Arc<Queue>,
    /// For what is planned and priced, and not asked.
    planning: Arc<Queue>,
    /// For planned releases that are made, and for those that are read.
    releasing: Arc<Queue>,
    reading: Arc<Queue>,
    /// For synthetic rows that are drawn, and those that were drawn last.
    drawing: Arc<Queue>,
    rows_kept: Arc<synthetic::KeptRows>,
    /// Releases that were made since the server started.
    made: AtomicU64,
    attempts: Arc<Attempts>,
    /// How often rates were looked at, so that those who are gone are forgotten now and then.
    looks: AtomicUsize,
    answers: Held,
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
    /// A service for this dataset, and the task that writes its log, which ends when the service is gone.
    /// Runs inside a tokio runtime.
    ///
    /// # Errors
    /// When the ledger cannot be opened.
    pub async fn start(dataset: Dataset, settings: Settings) -> Result<(Arc<Self>, JoinHandle<()>), Failure> {
        // What is wrong with the ledger is reported now, and not to the first analyst.
        dataset
            .with_ledger(|store| Ok(store.check_not_rewound()?))
            .await?;
        let (journal, writing) = Journal::start(dataset.clone());
        let connections = settings.connections.within_open_files();
        let settings = Settings {
            connections,
            ..settings
        };
        let quota = Quota::per_second(settings.rate).allow_burst(settings.burst);
        let service = Self {
            dataset,
            journal,
            metrics: Metrics::default(),
            memory: Memory::default(),
            rates: RateLimiter::keyed(quota),
            places: Queue::new(places(&settings)),
            working: Queue::new(working(&settings)),
            turns: Queue::new(turns(&settings)),
            computing: Queue::new(computing(&settings)),
            planning: planning::queue(),
            releasing: releases::making(),
            reading: releases::reading(),
            drawing: synthetic::drawing(),
            rows_kept: Arc::default(),
            made: AtomicU64::new(0),
            attempts: Arc::default(),
            looks: AtomicUsize::new(0),
            answers: Held::default(),
            identities: Mutex::default(),
            running: Arc::default(),
            ending: AtomicBool::new(false),
            addresses: OnceLock::new(),
            dummy: Dummy::default(),
            settings,
        };
        service.recall_sessions().await;
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

    /// What connections may take.
    pub(crate) fn connections(&self) -> Connections {
        self.settings.connections
    }

    /// Bytes that connections and held answers keep now.
    pub fn bytes_kept(&self) -> usize {
        self.memory.used()
    }

    /// The bytes that all entrances keep for others.
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Takes no new questions, refuses those that wait, and finishes those that were charged, as far as the
    /// settings leave time. What is not finished then is written to the log; asking the same again returns it
    /// for the charge that was made.
    pub async fn end(&self) {
        self.ending.store(true, Ordering::SeqCst);
        for queue in [
            &self.places,
            &self.planning,
            &self.releasing,
            &self.reading,
            &self.drawing,
            self.dummy.queue(),
        ] {
            queue.close();
        }
        let ended = tokio::time::timeout(self.settings.drains, self.running.none()).await;
        if ended.is_err() {
            for (account, count) in self.running.by_account() {
                let about =
                    format!("{count} questions had not ended; asking again finishes what was charged");
                eprintln!("ending: of {account}, {about}");
                self.journal.log("questions-dropped", &account, about);
            }
        }
        self.journal.log("server-ended", "", "");
    }

    /// Answers a query: charged once, before the data is read, or from what was released before. Every
    /// outcome leaves on the schedule. If the client that waits for it goes away, the query goes on, and its
    /// answer is saved.
    ///
    /// # Errors
    /// When the question is refused, does not fit, or fails after its charge.
    pub async fn ask(
        self: &Arc<Self>,
        who: &Identity,
        question: &Question,
        idempotency_key: Option<&str>,
    ) -> Result<Arc<Answered>, Failure> {
        let came = Instant::now();
        let outcome = self.answer(who, question, idempotency_key, came).await;
        self.leave(came, outcome).await
    }

    async fn answer(
        self: &Arc<Self>,
        who: &Identity,
        question: &Question,
        idempotency_key: Option<&str>,
        came: Instant,
    ) -> Outcome<Arc<Answered>> {
        let request = match self.known(who, question, idempotency_key).await {
            Ok(Known::Answer(answered)) => return Outcome::of(came, Ok(answered)),
            Ok(Known::Request(request)) => request,
            Err(failure) => return Outcome::of(came, Err(failure)),
        };
        let service = Arc::clone(self);
        let (question, who) = (question.clone(), who.clone());
        // A task of its own: the client may go away, and a charged query is finished.
        let run = tokio::spawn(async move { service.run(&who, question, *request).await });
        run.await
            .unwrap_or_else(|_| Outcome::of(came, Err(Failure::defect("the question failed"))))
    }

    /// What can be answered without running anything, or the request that has to run.
    async fn known(
        &self,
        who: &Identity,
        question: &Question,
        idempotency_key: Option<&str>,
    ) -> Result<Known, Failure> {
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
        let described = match sql::is_explain(&question.sql) {
            true => self.query_plan(who, &request).await?,
            false => self.dataset.describe(&question.sql)?,
        };
        if let Some(answer) = described {
            let left = self.left(who).await?;
            return Ok(Known::Answer(Arc::new(Answered {
                answer,
                repeated: true,
                resumed: false,
                left,
                receipt: None,
            })));
        }
        // With a key the ledger is asked, which knows what the key was used for.
        let known = match request.once {
            None => self.held(question),
            Some(_) => None,
        };
        if let Some(known) = known {
            let left = self.left(who).await?;
            return Ok(Known::Answer(Arc::new(Answered {
                repeated: true,
                resumed: false,
                left,
                ..Answered::clone(&known)
            })));
        }
        Ok(Known::Request(Box::new(request)))
    }

    /// Waits in line for a place, and runs.
    async fn run(
        self: &Arc<Self>,
        who: &Identity,
        question: Question,
        request: QueryRequest,
    ) -> Outcome<Arc<Answered>> {
        let length = 1 + question.sql.len() / STRETCH;
        let service = Arc::clone(self);
        let ran = self.in_place(who, length, |watch| async move {
            // The one that the question was asked of, or an earlier one: then it is not held for the next.
            let version = service.version();
            let answered = service.dataset.query_watched(&request, watch).await?;
            Ok((version, answered))
        });
        let ran = ran.await;
        ran.map(|answered| self.settled(who, question, answered))
    }

    /// Notes the outcome of a query that ran.
    fn settled(
        &self,
        who: &Identity,
        question: Question,
        answered: Result<(String, Answered), Failure>,
    ) -> Result<Arc<Answered>, Failure> {
        if let Err(failure) = &answered {
            self.note_refusal(who, failure);
        }
        let (version, answered) = answered?;
        let answered = Arc::new(answered);
        if let Some(cost) = &answered.answer.cost
            && !answered.repeated
        {
            self.keep_request(cost.charge, who, &question);
        }
        self.answers
            .insert(&self.memory, who.name(), question, version, &answered);
        Ok(answered)
    }

    /// Writes down what a budget or a limit refused, and what a curator has to look at.
    fn note_refusal(&self, who: &Identity, failure: &Failure) {
        match failure.code {
            Code::OverBudget | Code::QuestionCap | Code::DayCap | Code::NoShare => {
                self.journal.log("refused", who.name(), failure.code.name());
            }
            // The words that the analyst gets: a number, and no data.
            Code::Incident => self.journal.log("incident", who.name(), &failure.what),
            _ => {}
        }
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
            self.rates.retain_recent();
            self.rates.shrink_to_fit();
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
        self.answers.get(question, &self.version())
    }

    fn lock_identities(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Identity, Instant)>> {
        self.identities.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of a question before it runs.
enum Known {
    Answer(Arc<Answered>),
    Request(Box<QueryRequest>),
}

/// Places for queries that have begun. Some are kept for accounts with a single query, and no account has
/// more than a quarter.
fn places(settings: &Settings) -> Limits {
    let at_once = settings.at_once.max(1);
    Limits {
        at_once: at_once * PLACES_FOR_EACH_TURN,
        kept: at_once,
        of_one: at_once * 2,
        waiting: settings.waiting,
        waiting_of_one: (settings.waiting / 64).max(64),
    }
}

/// Turns to work for queries that have a place: one more than there are processors, since some wait for a
/// database or a disk. A quarter is for accounts with a single query.
fn working(settings: &Settings) -> Limits {
    let at_once = std::thread::available_parallelism().map_or(2, usize::from) + 1;
    let kept = at_once.div_ceil(4);
    Limits {
        at_once,
        kept,
        of_one: at_once - kept,
        ..turns(settings)
    }
}

/// Turns of the engine, for queries that have a place. One is for accounts with a single query.
fn turns(settings: &Settings) -> Limits {
    let (at_once, places) = (settings.at_once.max(1), places(settings).at_once);
    Limits {
        at_once,
        kept: usize::from(at_once > 1),
        of_one: at_once.max(2) - 1,
        waiting: places,
        waiting_of_one: places,
    }
}

/// Turns to compute with released values, for questions that have a place: one for each account, so that
/// nobody waits for what somebody else computes.
fn computing(settings: &Settings) -> Limits {
    Limits {
        at_once: places(settings).at_once,
        kept: 0,
        of_one: 1,
        ..turns(settings)
    }
}

/// Why somebody who waited in line is not served.
fn unserved(none: NoTurn) -> Failure {
    match none {
        NoTurn::Full => Failure::new(
            Code::Busy,
            "too many questions wait for their turn, and yours are the most of them or would be",
            "ask again when your earlier ones are answered; nothing was charged",
        ),
        NoTurn::TooLong => Failure::new(
            Code::Busy,
            "the server was busy with other questions for too long",
            "ask again in a moment; nothing was charged",
        ),
        NoTurn::Closed => ending(),
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
        "ask again when it is back; nothing was charged for a question that is refused, and one that was charged is finished and saved",
    )
}
