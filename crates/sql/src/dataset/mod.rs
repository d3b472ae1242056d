//! A dataset that many can ask at once, from asynchronous programs.

mod asked;
pub mod blocking;
mod description;
mod examples;
mod explain;
mod explain_statement;
mod explain_text;
mod fingerprint;
mod forecast;
mod kept;
mod least_epsilon;
pub(crate) mod planned;
mod preview;
mod readable;
pub(crate) mod regression;
mod releases;
pub(crate) mod synthetic;
mod verification;
mod wanted_error;

use crate::catalog::Catalog;
use crate::dataset::blocking::{Answered, Shared, Stage};
use crate::dataset::description::{describe, tables_as_json};
use crate::finish::answer::{Answer, AnswerColumn};
use crate::finish::cut::CutEstimate;
pub use asked::{AskedTest, RegressionAsked, SynthesisAsked, keywords_for_options, table_of_model};
pub use examples::{Coding, Encoding, Examples, LeftOut, Texts, encoding, left_out};
pub use explain::{Explanation, OutputLine, Part, SetsLine, StatisticLine};
pub use explain_statement::is_explain;
#[cfg(test)]
pub(crate) use explain_statement::without_explain;
pub use explain_text::bounds_in_words;
pub use fingerprint::{Fingerprints, State};
pub use forecast::{AnsweredFor, Forecast, MOST_QUESTIONS, cost_of, largest_fitting};
pub use least_epsilon::WantedError;
pub use planned::{
    ListedAttribute, ListedRelease, ReleaseExplanation, ReleaseRequest, ReleasedTables, ResidualShare,
    TableForecast, WantedTableError,
};
pub use preview::Preview;
pub use readable::readable;
pub use regression::{Finding, Regressed, RegressionRequest, TestOf};
pub use synthetic::{
    CheckRequest, ColumnCells, LeftOutColumn, MODEL_CELLS, SynthesisExplanation, SynthesisRequest,
    SyntheticCheck, SyntheticColumn, SyntheticRelease, SyntheticRows, batches_of_parquet, rows_as_json,
};
pub use verification::{ComputedTwice, Judgement, Movement, Verification, VerifiedPlan};

use crate::price::question::QueryRequest;
use crate::{Error, sources};
use ledger::{Spent, Store};
use std::sync::Arc;
use tokio::runtime::Handle;

/// A catalog, its ledger and its engine. A copy of it is the same dataset.
///
/// Its methods run inside any tokio program, many questions at a time. Opening a ledger and charging wait for a disk or a database, so each question runs on a thread
/// that may wait, and the engine's tasks on the program's own threads. A question whose future is dropped goes on: what was charged is finished and saved, and asking
/// the same again finds it.
///
/// ```
/// use sql::{QueryRequest, Catalog, Dataset};
///
/// # const CATALOG: &str = r#"
/// # name = "shop"
/// # [unit]
/// # whose = "customer"
/// # neighbors = "add_remove"
/// # [budget]
/// # epsilon = 3
/// # ledger = "shop.ledger"
/// # [budget.query]
/// # epsilon = 1
/// # [limits]
/// # groups = 1
/// # rows_per_group = 1
/// # [tables.orders]
/// # source = "orders.csv"
/// # unit = "customer"
/// # [tables.orders.columns]
/// # customer = { kind = "int" }
/// # paid = { kind = "int", bounds = [0, 100], nullable = false }
/// # "#;
/// # let folder = tempfile::tempdir()?;
/// # std::fs::write(folder.path().join("orders.csv"), "customer,paid\n1,20\n2,30\n")?;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let dataset = Dataset::new(Catalog::parse(CATALOG, folder.path())?);
/// let (count, sum) = (QueryRequest::new("SELECT COUNT(*) FROM orders", "ann"), QueryRequest::new("SELECT SUM(paid) FROM orders", "bob"));
/// let (count, sum) = tokio::join!(dataset.query(&count), dataset.query(&sum));
/// assert!(!count?.repeated && !sum?.repeated);
/// # Ok::<(), sql::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Dataset {
    shared: Arc<Shared>,
    /// Where questions run; else on the runtime of whoever asks.
    engine: Option<Handle>,
}

impl std::fmt::Debug for Dataset {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Dataset({})", self.catalog().name)
    }
}

impl Dataset {
    /// A dataset with this catalog.
    pub fn new(catalog: Catalog) -> Self {
        Self {
            shared: Arc::new(Shared::new(catalog)),
            engine: None,
        }
    }

    /// The same dataset, whose questions run on this runtime. A program that serves others keeps its own runtime free of them: who waits for its turn there would feel how long
    /// a question takes.
    #[must_use]
    pub fn on_runtime(self, engine: Handle) -> Self {
        Self {
            engine: Some(engine),
            ..self
        }
    }

    /// A dataset with another catalog, whose questions run where those of this one do.
    #[must_use]
    pub fn beside(&self, catalog: Catalog) -> Self {
        Self {
            engine: self.engine.clone(),
            ..Self::new(catalog)
        }
    }

    /// The catalog.
    pub fn catalog(&self) -> &Catalog {
        self.shared.catalog()
    }

    /// Answers SHOW TABLES and DESCRIBE from the catalog, which is public: nothing is read and nothing charged. `None` for any other question.
    ///
    /// # Errors
    /// When there is no such table.
    pub fn describe(&self, sql: &str) -> Result<Option<Answer>, Error> {
        describe(sql, self.catalog())
    }

    /// The tables as the catalog declares them, as an object for programs.
    pub fn tables_as_json(&self) -> serde_json::Value {
        tables_as_json(self.catalog())
    }

    /// What the verifier derives of a query's plans. Spends nothing, reads no data.
    ///
    /// # Errors
    /// When the query is refused.
    pub async fn verification(&self, ask: &QueryRequest) -> Result<Verification, Error> {
        let ask = ask.clone();
        self.waiting(move |dataset| dataset.verification(&ask)).await
    }

    /// What a query would do and cost. Spends nothing, reads no data.
    ///
    /// # Errors
    /// When the query is refused.
    pub async fn explain(&self, ask: &QueryRequest, group_size: u64) -> Result<Explanation, Error> {
        let ask = ask.clone();
        self.waiting(move |dataset| dataset.explain(&ask, group_size))
            .await
    }

    /// Everything that can be said of a question before it is asked: what it would do and cost, how many like it fit, and the columns that its answer will have. Spends nothing, reads no private data.
    ///
    /// # Errors
    /// When the query is refused, or the ledger cannot be read.
    pub async fn preview(&self, ask: &QueryRequest, group_size: u64) -> Result<Preview, Error> {
        let ask = ask.clone();
        self.waiting(move |dataset| dataset.preview(&ask, group_size))
            .await
    }

    /// The columns that the answer will have. Spends nothing, reads no private data.
    ///
    /// # Errors
    /// When the query is refused.
    pub async fn columns(&self, ask: &QueryRequest) -> Result<Vec<AnswerColumn>, Error> {
        let ask = ask.clone();
        self.waiting(move |dataset| dataset.columns(&ask)).await
    }

    /// What is left for this question, and how many more like it fit.
    ///
    /// # Errors
    /// When the query is refused, or the ledger cannot be read.
    pub async fn forecast(&self, ask: &QueryRequest) -> Result<Forecast, Error> {
        let ask = ask.clone();
        self.waiting(move |dataset| dataset.forecast(&ask)).await
    }

    /// What earlier answers said of what the limits of this query cut, the newest first.
    ///
    /// # Errors
    /// When the query is refused, or the ledger cannot be read.
    pub async fn cut_before(&self, ask: &QueryRequest) -> Result<Vec<CutEstimate>, Error> {
        let ask = ask.clone();
        self.waiting(move |dataset| dataset.cut_before(&ask)).await
    }

    /// Answers EXPLAIN: a row for each line of what [`Dataset::explain`] says, and what is left. `None` for any other question. Spends nothing, reads no private data.
    ///
    /// # Errors
    /// When the query behind it is refused, or the ledger cannot be used.
    pub async fn query_plan(&self, ask: &QueryRequest) -> Result<Option<Answer>, Error> {
        let ask = ask.clone();
        self.waiting(move |dataset| dataset.query_plan(&ask)).await
    }

    /// Answers a query: the stored answer if it was asked before, else a new one, charged before the engine starts.
    ///
    /// # Errors
    /// When the query is refused, its price does not fit, or something fails after the charge.
    pub async fn query(&self, ask: &QueryRequest) -> Result<Answered, Error> {
        self.query_watched(ask, |_| ()).await
    }

    /// The same, telling how far it has come. A stored answer goes through no stage but the first two, and [`Stage::Computing`] where there is something to compute.
    ///
    /// # Errors
    /// As [`Dataset::query`].
    pub async fn query_watched(
        &self,
        ask: &QueryRequest,
        mut watch: impl FnMut(Stage) + Send + 'static,
    ) -> Result<Answered, Error> {
        let ask = ask.clone();
        self.waiting(move |dataset| dataset.query_watched(&ask, &mut watch))
            .await
    }

    /// The answer to the same question, if it was released before. Never charges.
    ///
    /// # Errors
    /// When the query is refused, or the ledger cannot be read.
    pub async fn saved(&self, ask: &QueryRequest) -> Result<Option<Answered>, Error> {
        let ask = ask.clone();
        self.waiting(move |dataset| dataset.saved(&ask)).await
    }

    /// Fits a model to a table, or tests: one charge, or none from a planned release or for what was fitted before.
    ///
    /// # Errors
    /// When the formula or its query is refused, its price does not fit, or the noise is too large for the model.
    pub async fn regress(
        &self,
        request: &RegressionRequest,
        mut watch: impl FnMut(Stage) + Send + 'static,
    ) -> Result<Regressed, Error> {
        let request = request.clone();
        self.waiting(move |dataset| dataset.regress(&request, &mut watch))
            .await
    }

    /// The query that [`Dataset::regress`] measures, and what it would cost. Spends nothing, reads no data.
    ///
    /// # Errors
    /// When the formula or its query is refused.
    pub async fn explain_regression(
        &self,
        request: &RegressionRequest,
    ) -> Result<(String, Explanation), Error> {
        let request = request.clone();
        self.waiting(move |dataset| dataset.explain_regression(&request))
            .await
    }

    /// What everything spent so far comes to, and what is left for an analyst.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn spent(&self, analyst: &str) -> Result<Spent, Error> {
        let analyst = analyst.to_owned();
        self.waiting(move |dataset| {
            let name = &dataset.catalog().name;
            let typical = dataset.catalog().budget.query_epsilon.as_ref();
            Ok(Spent::at(
                &dataset.place(),
                &dataset.rules()?,
                name,
                &analyst,
                typical,
            )?)
        })
        .await
    }

    /// Does something with the ledger, which is made if it is not there yet.
    ///
    /// # Errors
    /// When it cannot be opened, or the work fails.
    pub async fn with_ledger<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.waiting(move |dataset| dataset.with_ledger(work)).await
    }

    /// Runs it on a thread that may wait.
    pub(crate) async fn waiting<T: Send + 'static>(
        &self,
        work: impl FnOnce(&blocking::Dataset) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let engine = self.engine.clone().unwrap_or_else(Handle::current);
        let dataset = blocking::Dataset::on(Arc::clone(&self.shared), engine.clone());
        let done = engine.spawn_blocking(move || work(&dataset)).await;
        // Only a defect ends it so. What it said may quote data.
        done.unwrap_or_else(|failure| Err(sources::incident("the question", failure)))
    }
}
