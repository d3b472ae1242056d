//! Datasets: private SQL over files, databases and tables in memory. Objects come and go as JSON, the same that the command line and the server write.

use crate::errors::{Class, of_parameter, of_sql};
use crate::table::ArrowTable;
use crate::work::waiting;
use accounting::{Delta, Epsilon};
use ledger::Spent;
use pyo3::prelude::*;
use serde_json::{Value, json};
use sql::blocking::Dataset as Asked;
use sql::{Answer, Catalog, QueryRequest, WantedError};
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

/// A catalog, its ledger and its engine.
#[pyclass(frozen, module = "deniable", name = "LocalDataset")]
pub(crate) struct LocalDataset {
    asked: Arc<Asked>,
    analyst: String,
    /// Where the ledger is, if it is to be gone with the object.
    _folder: Option<Arc<TempDir>>,
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
    fn new(catalog: Catalog, analyst: &str, folder: Option<TempDir>) -> PyResult<Self> {
        Ok(Self {
            asked: Arc::new(Asked::new(catalog).map_err(of_sql)?),
            analyst: analyst.to_owned(),
            _folder: folder.map(Arc::new),
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
    fn work<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Asked) -> Result<T, sql::Error> + Send + 'static,
    ) -> PyResult<T> {
        let asked = Arc::clone(&self.asked);
        // The ledger's folder stays as long as somebody works with it, Ctrl-C or not.
        let folder = self._folder.clone();
        waiting(py, move || {
            let done = work(&asked);
            drop(folder);
            done
        })?
        .map_err(of_sql)
    }
}

#[pymethods]
impl LocalDataset {
    /// The dataset of a catalog.
    #[staticmethod]
    fn open(path: PathBuf, analyst: &str) -> PyResult<Self> {
        Self::new(Catalog::read(&path).map_err(of_sql)?, analyst, None)
    }

    /// Tables in memory, as this catalog declares them. Without a directory its ledger is gone with the object.
    #[staticmethod]
    fn of_tables(
        catalog: &str,
        tables: Vec<(String, PyRef<'_, ArrowTable>)>,
        directory: Option<PathBuf>,
        analyst: &str,
    ) -> PyResult<Self> {
        let (directory, folder) = match directory {
            Some(directory) => (directory, None),
            None => {
                let folder = temporary()?;
                (folder.path().to_owned(), Some(folder))
            }
        };
        let mut catalog = Catalog::parse(catalog, &directory).map_err(of_sql)?;
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
        Self::new(catalog, analyst, folder)
    }

    /// A dataset of invented rows with the same catalog, to try queries on.
    fn dummy(&self) -> PyResult<Self> {
        let folder = temporary()?;
        let dummy = sql::sample::dummy(self.asked.catalog(), &folder.path().join("dummy.ledger"));
        Self::new(dummy.map_err(of_sql)?, &self.analyst, Some(folder))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.asked.catalog().name
    }

    /// Answers a question: everything about the answer as JSON, and its table.
    #[pyo3(signature = (sql, epsilon=None, delta=None, cut_estimate=true, purpose=None))]
    fn query(
        &self,
        py: Python<'_>,
        sql: &str,
        epsilon: Option<&str>,
        delta: Option<&str>,
        cut_estimate: bool,
        purpose: Option<&str>,
    ) -> PyResult<(String, ArrowTable)> {
        let asking = Asking {
            sql,
            epsilon,
            delta,
            cut_estimate,
            purpose,
        };
        let request = self.request(&asking)?;
        let (object, batch) = self.work(py, move |dataset| {
            if let Some(answer) = dataset.describe(&request.sql)? {
                return Ok((answer.to_json(), answer.to_batch()?));
            }
            let answered = dataset.query(&request)?;
            Ok((answered.to_json(), answered.answer.to_batch()?))
        })?;
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
            let mut explained = json!({
                "explanation": dataset.explain(&request, group_size)?,
                "forecast": dataset.forecast(&request)?,
                "columns": dataset.columns(&request)?,
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
            let spent = Spent::at(&dataset.place(), &rules, name, &analyst)?;
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

fn temporary() -> PyResult<TempDir> {
    TempDir::with_prefix("deniable-").map_err(|error| {
        Class::File.raise(format!(
            "no temporary folder can be made: {}\nhint: name a ledger, or set TMPDIR to a folder that may be written",
            error.kind()
        ))
    })
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<LocalDataset>()?;
    module.add_function(wrap_pyfunction!(table_of_answer, module)?)?;
    module.add_function(wrap_pyfunction!(sample, module)?)
}
