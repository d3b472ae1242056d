//! `deniable.attack`: what an adversary makes of a release.
//!
//! Tables come as text of the crate's own documents, or as Arrow streams; questions to a Python callable are asked from Python, which has its errors and its Ctrl-C.

use crate::audit::of_mistake;
use crate::errors::of_parameter;
use crate::work::waiting;
use accounting::{Delta, Epsilon};
use attack::averaging::{self, Counter, Reply};
use attack::linear::{self, Fit, Method, Queries};
use attack::linkage::{self, Partition};
use attack::membership::{Experiment, Limit, Noise, Population, Published, SCORES, Score, Scores, Tracing};
use attack::published::document::Described;
use attack::published::{self, Domain, Effort, Engine, StatisticKind};
use attack::{Patience, Seeded, blocks, bound};
use audit::document::Mistake;
use noise::{Entropy, OsEntropy};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3_arrow::PyRecordBatchReader;
use sql::arrow::array::{Array, RecordBatch, RecordBatchReader};
use sql::arrow::datatypes::DataType;
use sql::arrow::util::display::{ArrayFormatter, FormatOptions};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(attack_census, module)?)?;
    module.add_function(wrap_pyfunction!(attack_table, module)?)?;
    module.add_function(wrap_pyfunction!(attack_margins, module)?)?;
    module.add_class::<SubsetQueries>()?;
    module.add_function(wrap_pyfunction!(attack_right_guesses, module)?)?;
    module.add_function(wrap_pyfunction!(attack_average, module)?)?;
    module.add_function(wrap_pyfunction!(attack_rewritings, module)?)?;
    module.add_function(wrap_pyfunction!(attack_difference, module)?)?;
    module.add_function(wrap_pyfunction!(attack_trace, module)?)?;
    module.add_function(wrap_pyfunction!(attack_scores, module)?)?;
    module.add_function(wrap_pyfunction!(attack_study, module)?)?;
    module.add_class::<CodedTable>()?;
    module.add_function(wrap_pyfunction!(attack_columns, module)?)?;
    module.add_function(wrap_pyfunction!(attack_uniqueness, module)?)?;
    module.add_function(wrap_pyfunction!(attack_link, module)?)?;
    Ok(())
}

/// Work that stops soon after nobody waits for it any more: what was found by then is of no use to anybody.
fn stoppable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Arc<AtomicBool>) -> T + Send + 'static,
) -> PyResult<T> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    let result = waiting(py, move || work(&flag));
    if result.is_err() {
        raised.store(true, Ordering::Relaxed);
    }
    result
}

fn patience(seconds: Option<f64>, flag: &Arc<AtomicBool>) -> Patience {
    // A time that no clock can tell is no limit.
    let lasting = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    lasting
        .map_or(Patience::endless(), Patience::lasting)
        .unless(Arc::clone(flag))
}

fn check_seconds(seconds: Option<f64>) -> PyResult<()> {
    if seconds.is_none_or(|seconds| seconds > 0.0) {
        return Ok(());
    }
    Err(of_parameter(
        "seconds must be a positive number\nhint: leave it out to search for as long as it takes",
    ))
}

fn quantity<T, E: std::fmt::Display>(parsed: Result<T, E>) -> PyResult<T> {
    parsed.map_err(|error| {
        let text = error.to_string();
        of_parameter(if text.contains("\nhint: ") {
            text
        } else {
            format!("{text}\nhint: write it as 1 or 1e-6")
        })
    })
}

/// A value of a person: a number, or the name of a category.
#[derive(IntoPyObject)]
enum Value {
    Number(i64),
    Name(String),
}

/// A published table whose people were looked for.
#[derive(IntoPyObject)]
struct Rebuilt {
    attributes: Vec<String>,
    solutions: Vec<Vec<Vec<Value>>>,
    complete: bool,
    out_of_time: bool,
    certain: Vec<Vec<Value>>,
    contradiction: Vec<String>,
    influence: Vec<(String, Option<usize>, bool)>,
    seconds: f64,
}

/// The census example as a document.
#[pyfunction]
fn attack_census() -> &'static str {
    published::document::CENSUS
}

/// Enough to see that solutions multiply when a number is left out.
const ENOUGH_WITHOUT: usize = 20;

/// The people behind a table that a document describes.
#[pyfunction]
#[pyo3(signature = (text, drop, limit, seconds, influence))]
fn attack_table(
    py: Python<'_>,
    text: &str,
    drop: Vec<String>,
    limit: usize,
    seconds: Option<f64>,
    influence: bool,
) -> PyResult<Rebuilt> {
    check_seconds(seconds)?;
    if !(1..=1_000_000).contains(&limit) {
        return Err(of_parameter(
            "limit must lie between 1 and a million\nhint: 100 are enough to see what solutions have in common",
        ));
    }
    let Described { mut table, .. } =
        published::document::parse(text).map_err(|mistake| of_mistake(&mistake))?;
    for name in &drop {
        let (group, kind) = match name.split_once('.') {
            None => (name.as_str(), None),
            Some((group, kind)) => {
                let known = StatisticKind::ALL
                    .into_iter()
                    .find(|known| known.to_string() == kind);
                (group, Some(known))
            }
        };
        let dropped = match kind {
            Some(None) => false,
            Some(Some(kind)) => table.suppress(group, Some(kind)),
            None => table.suppress(group, None),
        };
        if !dropped {
            return Err(of_parameter(
                "drop names a number that the table does not have\nhint: write the group's id for all its numbers, or one as 2A.mean",
            ));
        }
    }
    let rebuilt = stoppable(py, move |flag| -> Result<Rebuilt, attack::Error> {
        let effort = Effort {
            limit,
            patience: patience(seconds, flag),
            engine: Engine::default(),
        };
        let findings = published::reconstruct(&table, &effort)?;
        let record = |record: &published::Record| -> Vec<Value> {
            let values = record.iter().zip(&table.attributes);
            values
                .map(|(value, attribute)| match attribute.domain {
                    Domain::Integers { .. } => Value::Number(*value),
                    Domain::Categories(_) => Value::Name(attribute.domain.show(*value)),
                })
                .collect()
        };
        let contradicts = findings.complete && findings.solutions.is_empty();
        let contradiction = match contradicts {
            true => published::conflict(&table, &effort)?,
            false => None,
        };
        let influences = if influence && !contradicts {
            let fewer = Effort {
                limit: limit.min(ENOUGH_WITHOUT),
                ..effort
            };
            published::influence(&table, &fewer, |_| ())?
        } else {
            Vec::new()
        };
        Ok(Rebuilt {
            attributes: table
                .attributes
                .iter()
                .map(|attribute| attribute.name.clone())
                .collect(),
            solutions: findings
                .solutions
                .iter()
                .map(|people| people.iter().map(record).collect())
                .collect(),
            complete: findings.complete,
            out_of_time: findings.out_of_time,
            certain: findings.certain.iter().map(record).collect(),
            contradiction: contradiction
                .map(|conflict| conflict.cells.iter().map(ToString::to_string).collect())
                .unwrap_or_default(),
            influence: influences
                .into_iter()
                .map(|influence| {
                    (
                        influence.cell.to_string(),
                        influence.solutions,
                        influence.complete,
                    )
                })
                .collect(),
            seconds: findings.elapsed.as_secs_f64(),
        })
    })?;
    rebuilt.map_err(of_parameter)
}

/// What margins say about the cells of a block.
#[derive(IntoPyObject)]
struct Margins {
    categories: Vec<String>,
    cells: Vec<Vec<String>>,
    seen: Vec<(i64, i64)>,
    possible: Vec<(i64, i64)>,
    example: Vec<i64>,
    contradiction: Option<Vec<String>>,
}

/// The range of every cell of a block that a document describes.
#[pyfunction]
#[pyo3(signature = (text, seconds))]
fn attack_margins(py: Python<'_>, text: &str, seconds: Option<f64>) -> PyResult<Margins> {
    check_seconds(seconds)?;
    let block = blocks::document::parse(text).map_err(|mistake: Mistake| of_mistake(&mistake))?;
    let found = stoppable(py, move |flag| -> Result<Margins, attack::Error> {
        let effort = blocks::Effort {
            patience: patience(seconds, flag),
            ..blocks::Effort::default()
        };
        let found = blocks::ranges(&block, &effort, |_| ())?;
        let mut margins = Margins {
            categories: block
                .categories
                .iter()
                .map(|category| category.name.clone())
                .collect(),
            cells: (0..block.cells())
                .map(|cell| block.name(cell).into_iter().map(str::to_owned).collect())
                .collect(),
            seen: Vec::new(),
            possible: Vec::new(),
            example: Vec::new(),
            contradiction: None,
        };
        match found {
            blocks::Found::Consistent { example, ranges } => {
                margins.seen = ranges.iter().map(|range| range.seen).collect();
                margins.possible = ranges.iter().map(|range| range.possible).collect();
                margins.example = example;
            }
            blocks::Found::Contradiction(counts) => margins.contradiction = Some(counts),
        }
        Ok(margins)
    })?;
    found.map_err(of_parameter)
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

fn noise(kind: &str, epsilon: Option<&str>, delta: &str) -> PyResult<Noise> {
    let epsilon = epsilon.map(|text| quantity(Epsilon::parse(text))).transpose()?;
    let delta = quantity(Delta::parse(delta))?;
    match (kind, epsilon) {
        (_, None) => Ok(Noise::None),
        ("gaussian", Some(epsilon)) => Ok(Noise::Gaussian(epsilon, delta)),
        ("laplace", Some(epsilon)) => Ok(Noise::Laplace(epsilon)),
        _ => Err(of_parameter(
            "noise must be gaussian or laplace\nhint: leave epsilon out where there was no noise",
        )),
    }
}

/// Deviations above a stranger, how often a stranger scores as high, and the likelihood ratio as a power of ten.
type Standing = (f64, f64, f64);

/// People held against published means. The second is the most members that any test accuses which accuses one stranger in a hundred.
#[pyfunction]
#[pyo3(signature = (people, means, frequencies, targets, kind, epsilon, delta))]
#[allow(
    clippy::too_many_arguments,
    reason = "it is called from one place, by position"
)]
fn attack_trace(
    py: Python<'_>,
    people: u32,
    means: Vec<f64>,
    frequencies: Vec<f64>,
    targets: Vec<Vec<bool>>,
    kind: &str,
    epsilon: Option<&str>,
    delta: &str,
) -> PyResult<(Vec<Standing>, f64)> {
    // Also refuses a frequency that is none.
    let population = Population::new(&frequencies).map_err(of_parameter)?;
    if people == 0 || means.is_empty() || means.len() != frequencies.len() {
        return Err(of_parameter(
            "a study needs people, and each attribute a mean and a frequency\nhint: give both with the same attributes in the same order",
        ));
    }
    if means.iter().any(|mean| !mean.is_finite()) {
        return Err(of_parameter(
            "a published mean is no number\nhint: leave out what was not published",
        ));
    }
    if targets.iter().any(|target| target.len() != means.len()) {
        return Err(of_parameter(
            "a target does not have one value for each attribute\nhint: give 1 for who has it and 0 for who has not",
        ));
    }
    let noise = noise(kind, epsilon, delta)?;
    let size = noise.size(means.len(), people).map_err(of_parameter)?;
    let allowed = noise.limit().map_or(1.0, |limit| limit.true_positives(0.01));
    let standings = waiting(py, move || {
        let tracing = Tracing::new(&Published {
            people,
            means: &means,
            frequencies: population.frequencies(),
            noise: &noise,
            size,
        });
        let standing = |target: &Vec<bool>| {
            let suspect = tracing.suspect(String::new(), target);
            (suspect.above, suspect.chance, suspect.ratio)
        };
        targets.iter().map(standing).collect()
    })?;
    Ok((standings, allowed))
}

/// How well scores tell members from strangers.
#[derive(IntoPyObject)]
struct Told {
    area: f64,
    area_error: f64,
    curve: Vec<(f64, f64)>,
    /// For each rate of false accusations: members and strangers accused, of how many each.
    accusations: Vec<(u64, u64, u64)>,
    /// The most area that (ε, δ) allows, and the most members at each rate.
    area_allowed: Option<f64>,
    allowed: Option<Vec<f64>>,
}

/// Scores of members and strangers, of independent trials.
#[pyfunction]
#[pyo3(signature = (inside, outside, rates, epsilon, delta))]
fn attack_scores(
    py: Python<'_>,
    inside: Vec<f64>,
    outside: Vec<f64>,
    rates: Vec<f64>,
    epsilon: Option<&str>,
    delta: &str,
) -> PyResult<Told> {
    if inside.len() < 2 || inside.len() != outside.len() {
        return Err(of_parameter(
            "there must be as many scores of members as of others, and two of each at least\nhint: take equally many of both at random",
        ));
    }
    if inside.iter().chain(&outside).any(|score| score.is_nan()) {
        return Err(of_parameter(
            "a score is not a number\nhint: give who has no score one in the middle",
        ));
    }
    let epsilon = epsilon.map(|text| quantity(Epsilon::parse(text))).transpose()?;
    let delta = quantity(Delta::parse(delta))?;
    let limit = epsilon.map(|epsilon| Limit {
        epsilon: epsilon.to_f64_up(),
        delta: delta.to_f64_up(),
    });
    waiting(py, move || {
        let scores = Scores { inside, outside };
        let accused = |rate: &f64| {
            let counted = scores.accusations(*rate);
            (counted.true_positives, counted.false_positives, counted.trials)
        };
        Told {
            area: scores.area(),
            area_error: scores.area_error(),
            curve: scores.curve(),
            accusations: rates.iter().map(accused).collect(),
            area_allowed: limit.map(|limit| limit.area()),
            allowed: limit.map(|limit| rates.iter().map(|rate| limit.true_positives(*rate)).collect()),
        }
    })
}

/// Scores of members and of strangers.
type Pairs = (Vec<f64>, Vec<f64>);

/// Synthetic studies, each tried on one member and on one stranger: the scores of one way of scoring.
#[pyfunction]
#[pyo3(signature = (people, attributes, trials, seed, score, kind, epsilon, delta))]
#[allow(
    clippy::too_many_arguments,
    reason = "it is called from one place, by position"
)]
fn attack_study(
    py: Python<'_>,
    people: u32,
    attributes: usize,
    trials: u64,
    seed: u64,
    score: &str,
    kind: &str,
    epsilon: Option<&str>,
    delta: &str,
) -> PyResult<Pairs> {
    let noise = noise(kind, epsilon, delta)?;
    let asked = match score {
        "inner-product" => Score::InnerProduct,
        "likelihood-ratio" => Score::LikelihoodRatio,
        _ => {
            return Err(of_parameter(
                "score must be inner-product or likelihood-ratio\nhint: the likelihood ratio is the better one where the noise is known",
            ));
        }
    };
    if !(20..=100_000_000).contains(&trials) || attributes > 1 << 26 {
        return Err(of_parameter(
            "trials must lie between 20 and 1e8, and attributes be at most 2^26\nhint: 2000 trials tell areas to about 0.01",
        ));
    }
    let found = stoppable(py, move |flag| {
        let experiment = Experiment {
            population: &Population::uniform(attributes, seed),
            people,
            noises: &[noise],
            trials,
            seed,
        };
        experiment.run(&|_| !flag.load(Ordering::Relaxed))
    })?
    .map_err(of_parameter)?;
    let place = SCORES.iter().position(|score| *score == asked).unwrap_or(0);
    let scores = found.into_iter().flatten().nth(place).unwrap_or_default();
    Ok((scores.inside, scores.outside))
}

/// A table whose values are integers: equal values have equal codes. The values themselves are not kept.
#[pyclass(module = "deniable._deniable")]
struct CodedTable {
    table: linkage::Table,
}

#[pymethods]
impl CodedTable {
    #[new]
    fn new(names: Vec<String>) -> Self {
        Self {
            table: linkage::Table::new(names),
        }
    }

    /// Adds rows, given as columns of texts that are all of one length.
    fn push_columns(&mut self, columns: Vec<Vec<PyBackedStr>>) -> PyResult<()> {
        let rows = columns.first().map_or(0, Vec::len);
        if columns.len() != self.table.columns() || columns.iter().any(|column| column.len() != rows) {
            return Err(of_parameter(
                "the columns are not all of one length\nhint: every row needs a value in every column; None is one",
            ));
        }
        for row in 0..rows {
            self.table
                .push(columns.iter().map(|column| column[row].as_bytes()))
                .map_err(of_parameter)?;
        }
        Ok(())
    }

    /// Adds the rows of an Arrow stream, of these of its columns.
    fn push_stream(
        &mut self,
        py: Python<'_>,
        stream: PyRecordBatchReader,
        columns: Vec<String>,
    ) -> PyResult<()> {
        let reader = stream.into_reader()?;
        let schema = reader.schema();
        let places = columns
            .iter()
            .map(|name| {
                schema.index_of(name).map_err(|_| {
                    of_parameter(format!(
                        "there is no column `{name}`\nhint: names are taken to the letter"
                    ))
                })
            })
            .collect::<PyResult<Vec<usize>>>()?;
        for batch in reader {
            let batch = batch.map_err(|_| unreadable())?;
            self.push_batch(&batch, &places)?;
            py.check_signals()?;
        }
        Ok(())
    }

    /// How many rows there are.
    fn rows(&self) -> usize {
        self.table.rows()
    }
}

fn unreadable() -> PyErr {
    of_parameter(
        "the table cannot be read\nhint: give a data frame that can be exported to Arrow, or a dict of columns",
    )
}

impl CodedTable {
    fn push_batch(&mut self, batch: &RecordBatch, places: &[usize]) -> PyResult<()> {
        let options = FormatOptions::default();
        let columns = places
            .iter()
            .map(|place| {
                let column = batch.column(*place);
                let formatter =
                    ArrayFormatter::try_new(column.as_ref(), &options).map_err(|_| unreadable())?;
                Ok((formatter, is_float(column.as_ref())))
            })
            .collect::<PyResult<Vec<_>>>()?;
        let mut texts = vec![String::new(); columns.len()];
        for row in 0..batch.num_rows() {
            for ((formatter, float), text) in columns.iter().zip(&mut texts) {
                text.clear();
                write!(text, "{}", formatter.value(row)).map_err(|_| unreadable())?;
                // Whole numbers are the same whether a column holds them as integers or as floats, as one with gaps often does; and not a number is a gap.
                if *float {
                    match text.as_str() {
                        "NaN" => text.clear(),
                        "-0.0" => "0".clone_into(text),
                        whole if whole.ends_with(".0") => text.truncate(text.len() - 2),
                        _ => {}
                    }
                }
            }
            self.table
                .push(texts.iter().map(String::as_bytes))
                .map_err(of_parameter)?;
        }
        Ok(())
    }
}

fn is_float(column: &dyn Array) -> bool {
    match column.data_type() {
        DataType::Dictionary(_, value) => value.is_floating(),
        other => other.is_floating(),
    }
}

/// The names of a stream's columns.
#[pyfunction]
fn attack_columns(stream: PyRecordBatchReader) -> PyResult<Vec<String>> {
    let schema = stream.schema_ref()?;
    Ok(schema.fields().iter().map(|field| field.name().clone()).collect())
}

/// Whom columns single out.
#[derive(IntoPyObject)]
struct Unique {
    rows: usize,
    /// How many groups of equal rows there are of each size.
    groups: BTreeMap<usize, usize>,
    sets: Vec<(Vec<String>, usize)>,
    /// The largest probability with which a private release shows a group of one.
    shown_alone: Option<f64>,
}

/// How many rows all columns single out, and the smallest sets of columns that single out so many.
#[pyfunction]
#[pyo3(signature = (table, least, largest, epsilon, delta))]
fn attack_uniqueness(
    py: Python<'_>,
    table: PyRef<'_, CodedTable>,
    least: usize,
    largest: usize,
    epsilon: Option<&str>,
    delta: &str,
) -> PyResult<Unique> {
    let shown_alone = match epsilon {
        None => None,
        Some(text) => {
            let epsilon = quantity(Epsilon::parse(text))?;
            let delta = quantity(Delta::parse(delta))?;
            let shown = linkage::shown_probability(&epsilon, &delta, &[1]).map_err(of_parameter)?;
            shown.first().copied()
        }
    };
    let table = table.table.clone();
    stoppable(py, move |flag| {
        let columns: Vec<usize> = (0..table.columns()).collect();
        let profile = Partition::of(&table, &columns).profile();
        let sets = linkage::identifying_sets(&table, &columns, least.max(1), largest, &|_| {
            !flag.load(Ordering::Relaxed)
        });
        let named = |set: linkage::Identifying| {
            let names = set.columns.iter().map(|column| table.name(*column).to_owned());
            (names.collect(), set.alone)
        };
        Unique {
            rows: table.rows(),
            groups: profile.groups,
            sets: sets.into_iter().map(named).collect(),
            shown_alone,
        }
    })
}

/// What two tables have to do with each other.
#[derive(IntoPyObject)]
struct Linked {
    pairs: Vec<(u32, u32)>,
    alone_in_first: usize,
    several: usize,
    unmatched: usize,
    right: Option<usize>,
    wrong: Option<usize>,
    findable: Option<usize>,
}

/// Links the first rows of a table to the rest, and judges the links where a table of one column says who each row is.
#[pyfunction]
#[pyo3(signature = (both, first_rows, truth))]
fn attack_link(
    py: Python<'_>,
    both: PyRef<'_, CodedTable>,
    first_rows: usize,
    truth: Option<PyRef<'_, CodedTable>>,
) -> PyResult<Linked> {
    let table = both.table.clone();
    let people = truth.map(|truth| truth.table.codes(0).to_vec());
    if first_rows > table.rows() || people.as_ref().is_some_and(|people| people.len() != table.rows()) {
        return Err(of_parameter(
            "the two tables and the truth about them are not of one length\nhint: say of every row of both tables who it is",
        ));
    }
    waiting(py, move || {
        let links = linkage::link(&table, first_rows);
        let judged = people.map(|people| linkage::judge(&links.pairs, &people, first_rows));
        Linked {
            pairs: links.pairs,
            alone_in_first: links.alone_in_first,
            several: links.several,
            unmatched: links.unmatched,
            right: judged.map(|judged| judged.right),
            wrong: judged.map(|judged| judged.wrong),
            findable: judged.map(|judged| judged.findable),
        }
    })
}
