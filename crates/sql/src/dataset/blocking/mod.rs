//! A dataset that can be asked by a thread that waits for the answer: what the command line uses, and what [`crate::Dataset`] runs on threads of its own.

mod answering;
mod charging;
mod check;
mod flights;
mod found_limits;
mod from_release;
mod known_sizes;
mod planned;
mod query_plan;
mod regress;
mod synthetic;

use self::answering::Origin;
use self::flights::Flights;
pub use self::from_release::FromRelease;
pub use self::known_sizes::KnownSizes;
use crate::Error;
use crate::catalog::{Catalog, EngineKind, LedgerPlace};
use crate::dataset::description::{describe, tables_as_json};
use crate::dataset::examples::{self, Encoding, Examples, Texts};
use crate::dataset::explain::{Explanation, explain, name_engines};
use crate::dataset::explain_statement::{is_explain, plan_columns, without_explain};
use crate::dataset::verification::{Verification, verification};
use crate::finish::answer::{Answer, AnswerColumn, columns};
use crate::finish::cut::CutEstimate;
use crate::finish::formats::AsJson;
use crate::finish::post;
use crate::finish::saved::Saved;
use crate::price::question::{QueryRequest, Question};
use crate::run::engines::Engines;
use crate::understand::planner::Planner;
use crate::understand::unstated::{LimitsFound, Search};
use accounting::{Budget, Delta, Epsilon, Promise};
use datafusion::prelude::SessionConfig;
use exact::ratio;
use ledger::{Place, Rules, Store};
use mechanism::Sensitive;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::runtime::Handle;

/// How many ledgers are kept open for the next questions.
const MOST_IDLE_LEDGERS: usize = 32;

/// A catalog, its ledger and its engine, for programs that wait for each answer. Its methods must not be called from asynchronous code: there, use [`crate::Dataset`].
pub struct Dataset {
    shared: Arc<Shared>,
    runtime: Runtime,
}

/// What all questions about a dataset share.
pub(crate) struct Shared {
    catalog: Catalog,
    threads: usize,
    /// Made by the first question: what only looks at a budget needs neither.
    planner: OnceLock<Planner>,
    engines: OnceLock<Engines>,
    /// Ledgers that are open, and that no question uses now.
    stores: Mutex<Vec<Store>>,
    /// Questions that are answered now.
    flights: Flights,
    /// Limits that were found for what questions group by.
    found: Mutex<BTreeMap<Search, LimitsFound>>,
}

impl Shared {
    pub(crate) fn new(catalog: Catalog) -> Self {
        Self {
            catalog,
            threads: std::thread::available_parallelism().map_or(2, usize::from),
            planner: OnceLock::new(),
            engines: OnceLock::new(),
            stores: Mutex::new(Vec::new()),
            flights: Flights::default(),
            found: Mutex::default(),
        }
    }

    fn lock_found(&self) -> MutexGuard<'_, BTreeMap<Search, LimitsFound>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_stores(&self) -> MutexGuard<'_, Vec<Store>> {
        self.stores.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }
}

/// Where the engine's tasks run.
enum Runtime {
    Own(tokio::runtime::Runtime),
    /// That of the program, whose tasks wait on other threads.
    Callers(Handle),
}

impl Runtime {
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        match self {
            Self::Own(runtime) => runtime.block_on(future),
            Self::Callers(handle) => handle.block_on(future),
        }
    }
}

impl std::fmt::Debug for Dataset {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Dataset({})", self.shared.catalog.name)
    }
}

/// An answer, and where it came from.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The answer.
    pub answer: Answer,
    /// Whether the same was released before, so that it cost nothing now.
    pub repeated: bool,
    /// Whether an earlier charge paid for it, whose run was interrupted before its answer was saved.
    pub resumed: bool,
    /// What may still be spent by who asked, as an ε of one further release.
    pub left: ledger::Left,
    /// What was charged and what was answered, signed; `None` where nothing was charged, or there is no place for a key.
    pub receipt: Option<ledger::Receipt>,
}

impl Answered {
    /// One object with everything, for programs. To write a large answer, serialize it: then it is not there a second time as a [`serde_json::Value`].
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!(self)
    }
}

/// One object with everything, for programs.
impl Serialize for Answered {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Left<'a> {
            epsilon: &'a Epsilon,
            dataset: &'a Epsilon,
            share: &'a Option<Epsilon>,
        }
        #[derive(Serialize)]
        struct Everything<'a> {
            #[serde(flatten)]
            table: AsJson<'a>,
            repeated: bool,
            resumed: bool,
            left: Left<'a>,
            notes: &'a [String],
            receipt: &'a Option<ledger::Receipt>,
        }
        let everything = Everything {
            table: self.answer.as_json(),
            repeated: self.repeated,
            resumed: self.resumed,
            left: Left {
                epsilon: &self.left.epsilon,
                dataset: &self.left.dataset,
                share: &self.left.share,
            },
            notes: &self.answer.notes,
            receipt: &self.receipt,
        };
        everything.serialize(serializer)
    }
}

/// How far a question has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It was understood and priced.
    Understood,
    /// Nobody else in this program answers the same now. Next it is charged, or answered from what was released before.
    Begun,
    /// It was charged, for good. Now the data is read.
    Charged,
    /// The data was read, or could not be. If it was, noise is drawn now, which is done once under a charge.
    Measured,
    /// The noise was drawn; saving it and the query's own SQL over it are left.
    Drawn,
    /// What was released is saved, now or before, and the query's own SQL computes something of it. What that takes is the analyst's choice.
    Computing,
}

impl Dataset {
    /// A dataset with this catalog.
    ///
    /// # Errors
    /// When no threads can be started.
    pub fn new(catalog: Catalog) -> Result<Self, Error> {
        let shared = Shared::new(catalog);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(shared.threads)
            .enable_all()
            .build()
            .map_err(|error| Error::File {
                what: "the engine's threads could not be started".to_owned(),
                why: error.kind(),
                hint: "does the system allow more threads?".to_owned(),
            })?;
        Ok(Self {
            shared: Arc::new(shared),
            runtime: Runtime::Own(runtime),
        })
    }

    /// One that runs its tasks there. Its methods may then be called on threads that are allowed to wait.
    pub(crate) fn on(shared: Arc<Shared>, handle: Handle) -> Self {
        Self {
            shared,
            runtime: Runtime::Callers(handle),
        }
    }

    /// The catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.shared.catalog
    }

    /// Where the ledger is.
    pub fn place(&self) -> Place {
        match &self.shared.catalog.budget.ledger {
            LedgerPlace::File(path) => Place::File(path.clone()),
            LedgerPlace::Temporary(place) => Place::Temporary(place.clone()),
            // The tables of the database can be written by whoever can write the ledger in them; this file cannot.
            LedgerPlace::Postgres(connection) => Place::PostgresKeepingHead {
                address: connection.clone(),
                head: self.shared.catalog.directory.join("deniable.ledger.head"),
            },
        }
    }

    /// The rules that the catalog states. Half of δ is set aside for groups whose names are private.
    pub fn rules(&self) -> Result<Rules, Error> {
        let budget = &self.shared.catalog.budget;
        let pure = budget.delta == Delta::ZERO;
        let limit = if pure {
            Promise::Pure(budget.epsilon.clone())
        } else {
            Promise::Approximate(budget.epsilon.clone(), budget.delta.clone())
        };
        let reserve = if pure {
            Delta::ZERO
        } else {
            Delta::rounded_down(&(budget.delta.as_rational() * ratio(1, 2)))?
        };
        Ok(Rules {
            budget: Budget::new(limit, self.shared.catalog.unit.clone()),
            reserve,
            shares: budget.shares.clone(),
        })
    }

    /// The ledger, made if it is not there yet.
    pub fn ledger(&self) -> Result<Store, Error> {
        Ok(Store::open(&self.place(), &self.rules()?)?)
    }

    pub(crate) fn understand(&self, ask: &QueryRequest) -> Result<Question, Error> {
        let question = self.read_question(ask)?;
        let mut question = self.under_found_limits(ask, question)?;
        question.unknown_value.take().map_or(Ok(question), Err)
    }

    /// The same of a question whose constants may stand for others, as those of a prepared statement do.
    pub(crate) fn read_question(&self, ask: &QueryRequest) -> Result<Question, Error> {
        let planner = self.planner()?;
        self.runtime
            .block_on(Question::new(ask, &self.shared.catalog, planner))
    }

    /// The same under limits that were found for it.
    fn read_within(&self, ask: &QueryRequest, found: LimitsFound) -> Result<Question, Error> {
        let planner = self.planner()?;
        let reading = Question::within(ask, Some(found), &self.shared.catalog, planner);
        self.runtime.block_on(reading)
    }

    fn planner(&self) -> Result<&Planner, Error> {
        Ok(match self.shared.planner.get() {
            Some(planner) => planner,
            None => {
                let made = Planner::new(&self.shared.catalog)?;
                self.shared.planner.get_or_init(|| made)
            }
        })
    }

    /// The rows of a table as examples for training: private, so they are [`Sensitive`] and leave only as what a charged run of training releases.
    ///
    /// ```compile_fail,E0624
    /// fn rows(dataset: &sql::blocking::Dataset, encoding: &sql::Encoding) -> sql::Examples {
    ///     dataset.examples("people", encoding).unwrap().into_inner()
    /// }
    /// ```
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn examples(&self, table: &str, encoding: &Encoding) -> Result<Sensitive<Examples>, Error> {
        self.read_examples(table, encoding).map(Sensitive::new)
    }

    pub(crate) fn read_examples(&self, table: &str, encoding: &Encoding) -> Result<Examples, Error> {
        let session = self.engines().first()?;
        self.runtime
            .block_on(examples::read(&self.shared.catalog, &session, table, encoding))
    }

    /// The rows of a public table as examples, coded as a model was trained: to measure it on.
    ///
    /// # Errors
    /// When the table is private, lacks a column, or cannot be read.
    pub fn public_examples(&self, table: &str, encoding: &Encoding) -> Result<Examples, Error> {
        let session = self.engines().public()?;
        self.runtime.block_on(examples::read_public_table(
            &self.shared.catalog,
            &session,
            table,
            encoding,
        ))
    }

    /// A column of text, with each row's owner: private, so it is [`Sensitive`] and leaves only as what a charged run of training releases.
    ///
    /// ```compile_fail,E0609
    /// fn rows(dataset: &sql::blocking::Dataset) -> Vec<String> {
    ///     dataset.texts("notes", "text").unwrap().texts
    /// }
    /// ```
    /// ```compile_fail,E0616
    /// fn rows(dataset: &sql::blocking::Dataset) -> sql::Texts {
    ///     dataset.texts("notes", "text").unwrap().0
    /// }
    /// ```
    ///
    /// # Errors
    /// When there is no such column of text, or the table cannot be read.
    pub fn texts(&self, table: &str, column: &str) -> Result<Sensitive<Texts>, Error> {
        self.read_texts(table, column).map(Sensitive::new)
    }

    pub(crate) fn read_texts(&self, table: &str, column: &str) -> Result<Texts, Error> {
        let session = self.engines().first()?;
        self.runtime.block_on(examples::read_texts(
            &self.shared.catalog,
            &session,
            table,
            column,
        ))
    }

    /// Answers SHOW TABLES and DESCRIBE from the catalog, which is public: nothing is read and nothing charged. `None` for any other question.
    ///
    /// # Errors
    /// When there is no such table.
    pub fn describe(&self, sql: &str) -> Result<Option<Answer>, Error> {
        describe(sql, &self.shared.catalog)
    }

    /// The tables as the catalog declares them, as an object for programs.
    pub fn tables_as_json(&self) -> serde_json::Value {
        tables_as_json(&self.shared.catalog)
    }

    /// What the verifier derives of a query's plans: whose rows each operator gives, and how far one unit moves each number. Spends nothing, reads no data.
    ///
    /// # Errors
    /// When the query is refused.
    pub fn verification(&self, ask: &QueryRequest) -> Result<Verification, Error> {
        let question = self.understand(&without_explain(ask)?)?;
        let derived = verification(&question, self.engines(), &self.shared.catalog);
        self.runtime.block_on(derived)
    }

    /// What a query would do and cost. Spends nothing, reads no data.
    pub fn explain(&self, ask: &QueryRequest, group_size: u64) -> Result<Explanation, Error> {
        self.explanation_of(&self.understand(&without_explain(ask)?)?, group_size)
    }

    pub(crate) fn explanation_of(&self, question: &Question, group_size: u64) -> Result<Explanation, Error> {
        let catalog = &self.shared.catalog;
        let mut explanation = explain(question, catalog, group_size)?;
        if catalog.engine.kind != EngineKind::Local && !question.is_public() {
            let named = name_engines(&mut explanation, question, self.engines(), catalog);
            self.runtime.block_on(named)?;
        }
        Ok(explanation)
    }

    /// The same without saying who computes exact numbers, for which a database may have to be asked.
    pub(crate) fn explain_price(&self, ask: &QueryRequest, group_size: u64) -> Result<Explanation, Error> {
        let question = self.understand(ask)?;
        explain(&question, &self.shared.catalog, group_size)
    }

    /// The columns that the answer will have. Spends nothing, reads no private data.
    ///
    /// # Errors
    /// When the query is refused.
    pub fn columns(&self, ask: &QueryRequest) -> Result<Vec<AnswerColumn>, Error> {
        if is_explain(&ask.sql) {
            return Ok(plan_columns());
        }
        self.columns_of(&self.read_question(ask)?)
    }

    pub(crate) fn columns_of(&self, question: &Question) -> Result<Vec<AnswerColumn>, Error> {
        let post = &question.split.post;
        // Of public tables nothing is computed only to know its columns.
        if post::only_arranges(post) || question.is_public() {
            let released = self::answering::made_up(question)?;
            return Ok(columns(&post::arranged(post, released, &self.shared.catalog)?));
        }
        let session = self.engines().public()?;
        Ok(columns(&self.rehearse(question, &session)?))
    }

    /// What earlier answers said of what the limits of this query cut, the newest first. Reads the ledger, if there is one; spends nothing, since answers are public.
    pub fn cut_before(&self, ask: &QueryRequest) -> Result<Vec<CutEstimate>, Error> {
        let question = self.understand(&without_explain(ask)?)?;
        let about: Vec<String> = (0..question.visible).map(|place| question.about(place)).collect();
        let Some(mut store) = Store::open_existing(&self.place())? else {
            return Ok(Vec::new());
        };
        let mut found: Vec<CutEstimate> = Vec::new();
        for charge in store
            .charges()?
            .into_iter()
            .rev()
            .filter(|charge| charge.answered)
        {
            let stored = store.stored_answer(&charge.question)?;
            let saved = stored.and_then(|stored| serde_json::from_str::<Saved>(&stored.answer).ok());
            for estimate in saved.into_iter().flat_map(|saved| saved.cut) {
                let known = found.iter().any(|other| other.about == estimate.about);
                if about.contains(&estimate.about) && !known {
                    found.push(estimate);
                }
            }
        }
        Ok(found)
    }

    /// Answers a query: the stored answer if it was asked before, else a new one, charged before the engine starts.
    pub fn query(&self, ask: &QueryRequest) -> Result<Answered, Error> {
        self.query_watched(ask, &mut |_| ())
    }

    /// The same, telling how far it has come. A stored answer goes through no stage but the first two, and [`Stage::Computing`] where there is something to compute.
    pub fn query_watched(&self, ask: &QueryRequest, watch: &mut dyn FnMut(Stage)) -> Result<Answered, Error> {
        if let Some(plan) = self.query_plan(ask)? {
            return self.explained(ask, plan, &mut self.ledger_or_untouched()?);
        }
        // What is refused leaves no trace, not even an empty ledger.
        let question = self.understand(ask)?;
        watch(Stage::Understood);
        if question.is_public() {
            watch(Stage::Begun);
            let mut store = self.ledger_or_untouched()?;
            watch(Stage::Computing);
            return self.public_answer(ask, &question, &mut store);
        }
        let question = self.with_limits(ask, question, watch)?;
        self.with_ledger(|store| self.answered(ask, &question, store, watch))
    }

    /// The answer to the same question, if it was released before. Never charges.
    ///
    /// # Errors
    /// When the query is refused, or the ledger cannot be read.
    pub fn saved(&self, ask: &QueryRequest) -> Result<Option<Answered>, Error> {
        if let Some(plan) = self.query_plan(ask)? {
            return self
                .explained(ask, plan, &mut self.ledger_or_untouched()?)
                .map(Some);
        }
        let question = self.understand(ask)?;
        if question.is_public() {
            let mut store = self.ledger_or_untouched()?;
            return self.public_answer(ask, &question, &mut store).map(Some);
        }
        let digest = question.digest(&self.shared.catalog);
        self.with_ledger(|store| {
            let Some(earlier) = self.earlier(&question, &digest, store)? else {
                return Ok(None);
            };
            let kept = self.shown_again(&question, earlier, &mut |_| ())?;
            self.reported(kept, Origin::Saved, ask, store).map(Some)
        })
    }

    /// Does something with the ledger, which is made if it is not there yet. One that was opened before is used again: opening one checks a stretch of its chain.
    ///
    /// # Errors
    /// When it cannot be opened, or the work fails.
    pub fn with_ledger<T>(&self, work: impl FnOnce(&mut Store) -> Result<T, Error>) -> Result<T, Error> {
        let idle = self.shared.lock_stores().pop();
        let mut store = match idle {
            Some(store) => store,
            None => self.ledger()?,
        };
        let done = work(&mut store);
        // One that failed in itself is opened anew, and checked.
        if !matches!(done, Err(Error::Ledger(_) | Error::Mechanism(_))) {
            self.keep_idle(store);
        }
        done
    }

    /// Reads a ledger that is there, and makes none: `None` if there is none. One that a question has opened is used again.
    pub(crate) fn reading_ledger<T>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let idle = self.shared.lock_stores().pop();
        // One that is opened here was not held against the catalog's rules, so no question gets it.
        let Some(mut store) = idle else {
            let opened = Store::open_existing(&self.place())?;
            return opened.map(|mut store| work(&mut store)).transpose();
        };
        let done = work(&mut store);
        if !matches!(done, Err(Error::Ledger(_) | Error::Mechanism(_))) {
            self.keep_idle(store);
        }
        done.map(Some)
    }

    fn keep_idle(&self, store: Store) {
        let mut stores = self.shared.lock_stores();
        if stores.len() < MOST_IDLE_LEDGERS {
            stores.push(store);
        }
    }

    /// The same with a ledger that is open already.
    pub fn query_with(&self, ask: &QueryRequest, store: &mut Store) -> Result<Answered, Error> {
        if let Some(plan) = self.query_plan(ask)? {
            return self.explained(ask, plan, store);
        }
        let question = self.understand(ask)?;
        if question.is_public() {
            return self.public_answer(ask, &question, store);
        }
        let question = self.with_limits(ask, question, &mut |_| ())?;
        self.answered(ask, &question, store, &mut |_| ())
    }

    fn engines(&self) -> &Engines {
        self.shared
            .engines
            .get_or_init(|| Engines::new(SessionConfig::new().with_target_partitions(self.shared.threads)))
    }
}

/// The rows of a public file that no catalog describes as examples, coded as a model was trained.
///
/// # Errors
/// When the file lacks a column, or cannot be read.
pub fn public_file_examples(path: &std::path::Path, encoding: &Encoding) -> Result<Examples, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::File {
            what: "the engine could not be started".to_owned(),
            why: error.kind(),
            hint: "is there memory left?".to_owned(),
        })?;
    let session = Engines::new(SessionConfig::new().with_target_partitions(1)).public()?;
    runtime.block_on(examples::read_public_file(&session, path, encoding))
}
