//! Reconstruction and averaging by asking questions.

use crate::errors::of_parameter;
use crate::work::waiting;
use attack::averaging::{self, Counter, Reply};
use attack::linear::{self, Fit, Method, Queries};
use attack::{Seeded, bound};
use noise::{Entropy as _, OsEntropy};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use std::sync::Arc;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SubsetQueries>()?;
    module.add_function(wrap_pyfunction!(attack_right_guesses, module)?)?;
    module.add_function(wrap_pyfunction!(attack_average, module)?)?;
    module.add_function(wrap_pyfunction!(attack_rewritings, module)?)?;
    module.add_function(wrap_pyfunction!(attack_difference, module)?)?;
    Ok(())
}

/// Random sets of people to ask about, and what answers say about each person.
#[pyclass(frozen, module = "deniable._deniable")]
struct SubsetQueries(Arc<Queries>);

#[pymethods]
impl SubsetQueries {
    /// Sets into which each person comes with probability one half.
    #[new]
    #[pyo3(signature = (people, count, seed=None))]
    fn new(people: usize, count: usize, seed: Option<u64>) -> PyResult<Self> {
        let seed = match seed {
            Some(seed) => seed,
            None => OsEntropy::new().map_err(of_parameter)?.bits(64),
        };
        let queries = Queries::random(people, count, &mut Seeded::new(seed)).map_err(of_parameter)?;
        Ok(Self(Arc::new(queries)))
    }

    /// The people of one query.
    fn subset(&self, index: usize) -> PyResult<Vec<usize>> {
        if index >= self.0.count() {
            return Err(of_parameter(
                "there is no such query\nhint: they are counted from 0",
            ));
        }
        Ok(self.0.subset(index).people().collect())
    }

    /// What each person's bit seems to be, and the bits that this is rounded to. `within` is the distance of every answer for the method of that name.
    #[pyo3(signature = (answers, method, within=None))]
    fn estimate(
        &self,
        py: Python<'_>,
        answers: Vec<f64>,
        method: &str,
        within: Option<f64>,
    ) -> PyResult<(Vec<f64>, Vec<bool>)> {
        let method = match (method, within) {
            ("least-squares", None) => Method::LeastSquares,
            ("least-absolute", None) => Method::LinearProgram(Fit::LeastAbsolute),
            ("within", Some(most)) => Method::LinearProgram(Fit::Within(most)),
            _ => {
                return Err(of_parameter(
                    "method must be least-squares, least-absolute or within, and the last alone has a distance\nhint: least-squares is the fastest; give within=E for noise of at most E",
                ));
            }
        };
        let queries = Arc::clone(&self.0);
        let estimates =
            waiting(py, move || linear::estimate(&queries, &answers, method))?.map_err(of_parameter)?;
        let bits = linear::rounded(&estimates);
        Ok((estimates, bits))
    }

    /// Which part of the bits least squares gets right, about, when answers are off by this standard deviation.
    fn expected(&self, answers: usize, deviation: f64) -> f64 {
        linear::expected_of_least_squares(self.0.people(), answers, deviation)
    }
}

/// How often a guess between two equally likely facts can be right at most.
#[pyfunction]
fn attack_right_guesses(epsilon: f64, delta: f64) -> PyResult<f64> {
    if !(epsilon >= 0.0 && (0.0..=1.0).contains(&delta)) {
        return Err(of_parameter(
            "epsilon must not be negative, and delta must lie between 0 and 1\nhint: write 1 and 1e-6",
        ));
    }
    Ok(bound::right_guesses(epsilon, delta))
}

/// A Python callable that returns a pair: what kind of reply, and its number.
struct Asking<'py>(Bound<'py, PyAny>);

impl Counter for Asking<'_> {
    type Error = PyErr;

    fn ask(&mut self, account: usize, question: &str) -> PyResult<Reply> {
        let (kind, value): (PyBackedStr, f64) = self.0.call1((account, question))?.extract()?;
        Ok(match &*kind {
            "fresh" => Reply::Fresh(value),
            "repeated" => Reply::Repeated(value),
            _ => Reply::Refused,
        })
    }
}

/// How asking many times went.
#[derive(IntoPyObject)]
struct Course {
    averages: Vec<Option<f64>>,
    fresh: usize,
    repeated: usize,
    refused: usize,
}

/// Asks all questions in turn and averages the fresh answers.
#[pyfunction]
fn attack_average(
    py: Python<'_>,
    ask: Bound<'_, PyAny>,
    questions: Vec<String>,
    accounts: usize,
) -> PyResult<Course> {
    // The callable may be of another language than Python, which hears no Ctrl-C by itself.
    let mut heard = Ok(());
    let course = averaging::campaign(&mut Asking(ask), accounts, questions, || {
        if heard.is_ok() {
            heard = py.check_signals();
        }
    })?;
    heard?;
    Ok(Course {
        averages: course.averages,
        fresh: course.fresh,
        repeated: course.repeated,
        refused: course.refused,
    })
}

/// One question in this many forms.
#[pyfunction]
fn attack_rewritings(
    table: String,
    conditions: Vec<String>,
    never_negative: String,
    count: usize,
) -> Vec<String> {
    let question = averaging::Question {
        table,
        conditions,
        never_negative,
    };
    (0..count).map(|number| question.rewritten(number)).collect()
}

/// What two counts say about the one person in whom they differ.
#[pyfunction]
fn attack_difference(ask: Bound<'_, PyAny>, with_her: &str, without_her: &str) -> PyResult<Option<bool>> {
    averaging::difference(&mut Asking(ask), with_her, without_her)
}
