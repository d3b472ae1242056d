//! Datasets: private SQL over files, databases and tables in memory. Objects come and go as JSON, the same
//! that the command line and the server write.

use crate::errors::{Class, of_parameter, of_sql};
use crate::regression;
use crate::releases::{self, LocalRelease};
use crate::synthetic::{self, LocalSynthetic};
use crate::table::ArrowTable;
use crate::work::{waiting, watching};
use accounting::{Delta, Epsilon};
use ledger::Spent;
use pyo3::prelude::*;
use serde_json::{Value, json};
use sql::blocking::Dataset as Asked;
use sql::{Answer, Catalog, QueryRequest, Stage, WantedError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A catalog, its ledger and its engine.
#[pyclass(frozen, module = "deniable", name = "LocalDataset")]
pub(crate) struct LocalDataset {
    pub(crate) asked: Arc<Asked>,
    pub(crate) analyst: String,
}

/// A question as Python asks it: numbers as decimals in text, so that none is rounded on the way.
struct Asking<'a> {
    sql: &'a str,
    epsilon: Option<&'a str>,
    delta: Option<&'a str>,
    cut_estimate: bool,
    purpose: Option<&'a str>,
}

impl LocalDataset {
    fn new(catalog: Catalog, analyst: &str) -> PyResult<Self> {
        Ok(Self {
            asked: Arc::new(Asked::new(catalog).map_err(of_sql)?),
            analyst: analyst.to_owned(),
        })
    }

    fn request(&self, asking: &Asking<'_>) -> PyResult<QueryRequest> {
        let epsilon = asking.epsilon.map(Epsilon::parse).transpose();
        let delta = asking.delta.map(Delta::parse).transpose();
        Ok(QueryRequest {
            epsilon: epsilon.map_err(of_parameter)?,
            delta: delta.map_err(of_parameter)?,
            cut_estimate: asking.cut_estimate,
            purpose: asking.purpose.map(str::to_owned),
            ..QueryRequest::new(asking.sql, &self.analyst)
        })
    }

    /// Does it without the interpreter's lock.
    pub(crate) fn work<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Asked) -> Result<T, sql::Error> + Send + 'static,
    ) -> PyResult<T> {
        let asked = Arc::clone(&self.asked);
        waiting(py, move || work(&asked))?.map_err(of_sql)
    }
}

#[pymethods]
impl LocalDataset {
    /// The dataset of a catalog.
    #[staticmethod]
    fn open(path: PathBuf, analyst: &str) -> PyResult<Self> {
        Self::new(Catalog::read(&path).map_err(of_sql)?, analyst)
    }

    /// Tables in memory, as this catalog declares them. Without a directory its ledger is gone with the object.
    #[staticmethod]
    fn of_tables(
        catalog: &str,
        tables: Vec<(String, PyRef<'_, ArrowTable>)>,
        directory: Option<PathBuf>,
        analyst: &str,
    ) -> PyResult<Self> {
        let mut catalog = match directory {
            Some(directory) => Catalog::parse(catalog, &directory),
            None => Catalog::parse(catalog, Path::new("")).and_then(Catalog::with_temporary_ledger),
        }
        .map_err(of_sql)?;
        for (name, table) in tables {
            // An empty table keeps its schema.
            let batches = if table.batches.is_empty() {
                vec![sql::arrow::array::RecordBatch::new_empty(Arc::clone(
                    &table.schema,
                ))]
            } else {
                table.batches.clone()
            };
            catalog.provide_batches(&name, batches).map_err(of_sql)?;
        }
        Self::new(catalog, analyst)
    }

    /// A dataset of invented rows with the same catalog, to try queries on.
    fn dummy(&self) -> PyResult<Self> {
        let dummy = sql::sample::dummy(self.asked.catalog());
        Self::new(dummy.map_err(of_sql)?, &self.analyst)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.asked.catalog().name
    }

    /// Answers a question: everything about the answer as JSON, and its table.
    ///
    /// While it takes time, `watch` is called with what is being done.
    #[pyo3(signature = (sql, epsilon=None, delta=None, cut_estimate=true, purpose=None, watch=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn query(
        &self,
        py: Python<'_>,
        sql: &str,
        epsilon: Option<&str>,
        delta: Option<&str>,
        cut_estimate: bool,
        purpose: Option<&str>,
        watch: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(String, ArrowTable)> {
        let asking = Asking {
            sql,
            epsilon,
            delta,
            cut_estimate,
            purpose,
        };
        let request = self.request(&asking)?;
        let doing = Arc::new(Mutex::new("understanding the question"));
        let (asked, reached) = (Arc::clone(&self.asked), Arc::clone(&doing));
        let work = move || {
            if let Some(answer) = asked.describe(&request.sql)? {
                return Ok((answer.to_json(), answer.to_batch()?));
            }
            let mut watch = |stage| {
                *reached.lock().unwrap_or_else(PoisonError::into_inner) = next_step(stage);
            };
            let answered = asked.query_watched(&request, &mut watch)?;
            Ok((answered.to_json(), answered.answer.to_batch()?))
        };
        let look = || match watch {
            Some(watch) => {
                let doing = *doing.lock().unwrap_or_else(PoisonError::into_inner);
                watch.call1((doing,)).map(|_| ())
            }
            None => Ok(()),
        };
        let (object, batch) = watching(py, work, look)?.map_err(of_sql)?;
        Ok((object.to_string(), ArrowTable::of(batch)))
    }

    /// What a question would do and cost, as JSON. Free.
    #[pyo3(signature = (sql, epsilon=None, delta=None, cut_estimate=true, error=None, group_size=1000))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn explain(
        &self,
        py: Python<'_>,
        sql: &str,
        epsilon: Option<&str>,
        delta: Option<&str>,
        cut_estimate: bool,
        error: Option<&str>,
        group_size: u64,
    ) -> PyResult<String> {
        let asking = Asking {
            sql,
            epsilon,
            delta,
            cut_estimate,
            purpose: None,
        };
        let mut request = self.request(&asking)?;
        let wanted = error.map(str::parse::<WantedError>).transpose();
        let wanted = wanted.map_err(|error| {
            of_parameter(format!(
                "the wanted error is no number that can be used\nhint: {error}"
            ))
        })?;
        let explained = self.work(py, move |dataset| {
            let found = match wanted {
                None => None,
                Some(wanted) => Some(dataset.epsilon_for(&request, wanted, group_size)?),
            };
            request.epsilon = found.clone().or(request.epsilon);
            let preview = dataset.preview(&request, group_size)?;
            let mut explained = json!({
                "explanation": preview.explanation,
                "forecast": preview.forecast,
                "columns": preview.columns,
            });
            if let Some(epsilon) = found {
                explained["epsilon"] = json!(epsilon);
            }
            Ok(explained)
        })?;
        Ok(explained.to_string())
    }

    /// What was spent and what is left, as JSON.
    fn budget(&self, py: Python<'_>) -> PyResult<String> {
        let analyst = self.analyst.clone();
        let budget: Value = self.work(py, move |dataset| {
            let rules = dataset.rules()?;
            let name = &dataset.catalog().name;
            let typical = dataset.catalog().budget.query_epsilon.as_ref();
            let spent = Spent::at(&dataset.place(), &rules, name, &analyst, typical)?;
            let used = spent.used.as_ref().and_then(|used| used.promise.as_ref());
            Ok(json!({
                "account": spent.analyst,
                "rules": spent.rules.to_string(),
                "left": spent.left.epsilon,
                "left_of_dataset": spent.left.dataset,
                "share": spent.left.share,
                "spent": used.map(ToString::to_string),
                "charges": spent.charges.iter().map(|charge| json!({
                    "number": charge.number,
                    "analyst": charge.analyst,
                    "purpose": charge.purpose,
                    "guarantee": charge.guarantee.to_string(),
                    "time": ledger::utc(charge.time),
                    "answered": charge.answered,
                })).collect::<Vec<_>>(),
            }))
        })?;
        Ok(budget.to_string())
    }

    /// The tables as the catalog declares them, as JSON.
    fn tables(&self) -> String {
        self.asked.tables_as_json().to_string()
    }

    /// The releases that the catalog plans, as JSON.
    fn releases(&self, py: Python<'_>) -> PyResult<String> {
        let releases = self.work(py, Asked::releases)?;
        Ok(json!({ "releases": releases }).to_string())
    }

    /// What a release will be like, as JSON. Free.
    #[pyo3(signature = (name, epsilon=None, error=None, cell_size=1000))]
    fn plan(
        &self,
        py: Python<'_>,
        name: &str,
        epsilon: Option<&str>,
        error: Option<&str>,
        cell_size: u64,
    ) -> PyResult<String> {
        releases::plan(self, py, name, epsilon, error, cell_size)
    }

    /// Makes a release, or finds it.
    ///
    /// While it takes time, `watch` is called with what is being done.
    #[pyo3(signature = (name, epsilon=None, watch=None))]
    fn release(
        &self,
        py: Python<'_>,
        name: &str,
        epsilon: Option<&str>,
        watch: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<LocalRelease> {
        releases::make(self, py, name, epsilon, watch)
    }

    /// What synthetic rows would be made of and what they cost, as JSON. Free.
    fn explain_synthesis(&self, py: Python<'_>, asked: &str) -> PyResult<String> {
        synthetic::explain(self, py, asked)
    }

    /// Measures what synthetic rows are made of, or finds it.
    #[pyo3(signature = (asked, watch=None))]
    fn synthesize(
        &self,
        py: Python<'_>,
        asked: &str,
        watch: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<LocalSynthetic> {
        synthetic::make(self, py, asked, watch)
    }

    /// The SQL that a model is measured by. Free.
    fn measured_by(&self, py: Python<'_>, asked: &str) -> PyResult<String> {
        regression::measured_by(self, py, asked)
    }

    /// Fits a model or tests, as JSON.
    #[pyo3(signature = (asked, watch=None))]
    fn regress(&self, py: Python<'_>, asked: &str, watch: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
        regression::regress(self, py, asked, watch)
    }

    fn __repr__(&self) -> String {
        format!("LocalDataset({})", self.asked.catalog().name)
    }
}

/// The table of an answer that a server sent as JSON.
#[pyfunction]
fn table_of_answer(json: &str) -> PyResult<ArrowTable> {
    let unreadable = || {
        Class::Engine.raise(
            "the server's answer cannot be read\nhint: does the server run the same version of Deniable?",
        )
    };
    let object: Value = serde_json::from_str(json).map_err(|_| unreadable())?;
    let answer = Answer::table_from_json(&object).ok_or_else(unreadable)?;
    Ok(ArrowTable::of(answer.to_batch().map_err(of_sql)?))
}

/// The path of the catalog of the sample data, made in this directory if it is not there yet.
#[pyfunction]
fn sample(py: Python<'_>, directory: PathBuf) -> PyResult<PathBuf> {
    waiting(py, move || sql::sample::ensure(&directory, |_, _| ()))?.map_err(of_sql)
}

/// What is done after this stage, for people who wait.
pub(crate) fn next_step(stage: Stage) -> &'static str {
    match stage {
        Stage::Understood | Stage::Begun => "charging",
        Stage::Charged => "charged; reading the data",
        Stage::Measured => "adding noise",
        Stage::Drawn => "saving the answer",
        Stage::Computing => "computing the rest of the query",
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<LocalDataset>()?;
    module.add_class::<LocalRelease>()?;
    module.add_function(wrap_pyfunction!(table_of_answer, module)?)?;
    module.add_function(wrap_pyfunction!(sample, module)?)
}
