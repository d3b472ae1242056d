//! Private training of rows and texts that a Python program holds: columns in, a session of the crate `training`, a model's file out.
//!
//! Rows go through a catalog with a table in memory, as those of files do: what is declared of them decides how they become numbers, and the session charges the ledger before its first step.

use crate::errors::{Class, of_parameter, of_sql};
use accounting::{Delta, Epsilon, Neighbors, PrivacyUnit, Promise};
use ledger::{Place, Rules, Store};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use pyo3_arrow::input::{AnyArray, AnyRecordBatch};
use serde_json::json;
use sql::Catalog;
use sql::arrow::array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray, new_empty_array};
use sql::arrow::compute::{cast, concat, take};
use sql::arrow::datatypes::DataType;
use sql::blocking::Dataset;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use train::Rule;
use train::models::Network;
use train::private::{Progress, TrainingPlan};
use train::text::{Digits, Vocabulary};
use training::{
    Description, DeviceName, Learning, Length, ModelFile, Noise, Observer, Origin, Outcome, Privacy,
    RateSchedule, Session, Source, Step,
};

/// How long the interpreter's thread sleeps between two looks for Ctrl-C.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Columns of a table. Without a repr of what is in them, which may be private.
#[pyclass(module = "deniable._deniable", name = "TrainingColumns")]
#[derive(Default)]
struct Columns {
    names: Vec<String>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    fn push(&mut self, name: String, array: ArrayRef) -> PyResult<()> {
        if self
            .arrays
            .first()
            .is_some_and(|first| first.len() != array.len())
        {
            return Err(of_parameter(
                "the columns, labels and groups do not have the same number of rows\nhint: give X, y and groups with inconsistent numbers of samples made equal: one label and one group a row",
            ));
        }
        self.names.push(name);
        self.arrays.push(array);
        Ok(())
    }

    fn batch(&self) -> PyResult<RecordBatch> {
        let pairs = self.names.iter().zip(&self.arrays);
        RecordBatch::try_from_iter_with_nullable(pairs.map(|(name, array)| (name, array.clone(), true)))
            .map_err(|_| of_parameter("there are no columns\nhint: give at least one"))
    }
}

/// Any text or number as what training reads: numbers as floats, everything else as text.
fn plain(name: &str, array: &ArrayRef, number: bool) -> PyResult<ArrayRef> {
    let plain = match array.data_type() {
        DataType::Dictionary(_, values) => cast(array, values),
        _ => Ok(array.clone()),
    };
    let wanted = if number { DataType::Float64 } else { DataType::Utf8 };
    let refused = |_| {
        of_parameter(format!(
            "the type of the column `{name}` cannot be learned from\nhint: give numbers, or texts whose categories are declared"
        ))
    };
    cast(&plain.map_err(refused)?, &wanted).map_err(refused)
}

#[pymethods]
impl Columns {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The columns of anything with the Arrow stream interface, as they are.
    #[staticmethod]
    fn of_table(table: AnyRecordBatch) -> PyResult<Self> {
        let (batches, schema) = table.into_table()?.into_inner();
        let mut columns = Self::default();
        for (place, field) in schema.fields().iter().enumerate() {
            let chunks: Vec<&dyn sql::arrow::array::Array> =
                batches.iter().map(|batch| batch.column(place).as_ref()).collect();
            let array = if chunks.is_empty() {
                new_empty_array(field.data_type())
            } else {
                concat(&chunks)
                    .map_err(|_| of_parameter("this table cannot be read\nhint: give plain columns"))?
            };
            columns.push(field.name().clone(), array)?;
        }
        Ok(columns)
    }

    /// The names, in order.
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn __len__(&self) -> usize {
        self.arrays.first().map_or(0, |array| array.len())
    }

    /// A column of another table, as numbers or as text.
    fn copy_from(
        &mut self,
        table: PyRef<'_, Self>,
        place: usize,
        name: String,
        number: bool,
    ) -> PyResult<()> {
        let array = table
            .arrays
            .get(place)
            .ok_or_else(|| of_parameter("there is no such column\nhint: name one that the table has"))?;
        self.push(name.clone(), plain(&name, array, number)?)
    }

    /// Anything with the Arrow array interface, as numbers or as text.
    fn arrow(&mut self, name: String, array: AnyArray, number: bool) -> PyResult<()> {
        let (chunks, field) = array.into_chunked_array()?.into_inner();
        let chunks: Vec<&dyn sql::arrow::array::Array> = chunks.iter().map(|chunk| chunk.as_ref()).collect();
        let array = if chunks.is_empty() {
            new_empty_array(field.data_type())
        } else {
            concat(&chunks).map_err(|_| of_parameter("this array cannot be read\nhint: give a plain one"))?
        };
        self.push(name.clone(), plain(&name, &array, number)?)
    }

    /// Numbers, as the bytes of floats of 64 bits.
    fn numbers(&mut self, name: String, bytes: PyBackedBytes) -> PyResult<()> {
        let (numbers, _) = bytes.as_chunks::<8>();
        let array: Float64Array = numbers
            .iter()
            .map(|number| Some(f64::from_ne_bytes(*number)))
            .collect();
        self.push(name, Arc::new(array))
    }

    /// Texts by their places in a list, as the bytes of integers of 32 bits; a place that is not in it is missing.
    fn codes(&mut self, name: String, bytes: PyBackedBytes, values: Vec<String>) -> PyResult<()> {
        let (codes, _) = bytes.as_chunks::<4>();
        let place = |code: &[u8; 4]| {
            let place = i32::from_ne_bytes(*code);
            usize::try_from(place)
                .ok()
                .filter(|place| *place < values.len())
                .map(|_| place)
        };
        let places: Int32Array = codes.iter().map(place).collect();
        let texts = take(&StringArray::from(values.clone()), &places, None).map_err(|_| {
            of_parameter("these places cannot be read\nhint: give them as integers of 32 bits")
        })?;
        self.push(name, texts)
    }

    /// Texts; `None` where one is missing.
    fn texts(&mut self, name: String, texts: Vec<Option<String>>) -> PyResult<()> {
        self.push(name, Arc::new(StringArray::from(texts)))
    }
}

/// What is declared of a column: bounds of a number, values of a text, or neither.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Declared {
    name: String,
    bounds: Option<(f64, f64)>,
    values: Option<Vec<String>>,
    nullable: bool,
}

/// A run, as the Python package describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Run {
    /// The public name of the data.
    name: String,
    /// A catalog whose table is learned from, where it is not rows of the program.
    catalog: Option<PathBuf>,
    checkpoint: PathBuf,
    out: PathBuf,
    ledger: Option<PathBuf>,
    budget: Option<(String, String)>,
    unit: Option<String>,
    neighbors: Option<String>,
    /// The column that names units; each row is one otherwise.
    group: Option<String>,
    analyst: String,
    device: String,
    every: u64,
    epsilon: String,
    delta: String,
    clip: f64,
    adaptive_clip: Option<f64>,
    batch: u64,
    steps: Option<u64>,
    epochs: f64,
    size: Option<u64>,
    rows_per_unit: u64,
    exact_sums: bool,
    optimizer: String,
    rate: Option<f64>,
    schedule: String,
    seed: u64,
    threads: Option<usize>,
    at_once: usize,
    columns: Vec<Declared>,
    /// Of a table: the column that is learned. Of texts: the column of text.
    label: String,
    /// Of a catalog's table: the columns that are learned from, none for all that are declared.
    features: Vec<String>,
    hidden: Vec<usize>,
    /// `None` for a table.
    language: Option<LanguageSettings>,
}

/// What is particular to a language model.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct LanguageSettings {
    network: String,
    embedding: usize,
    hidden: usize,
    blocks: usize,
    heads: usize,
    dropout: f64,
    length: usize,
    tokens: usize,
    public_text: Option<String>,
    validation: Option<PathBuf>,
}

impl LanguageSettings {
    fn description(&self) -> PyResult<Description> {
        let (embedding, hidden, dropout) = (self.embedding, self.hidden, self.dropout);
        let network = match self.network.as_str() {
            "lstm" => Network::Lstm {
                embedding,
                hidden,
                dropout,
            },
            "gru" => Network::Gru {
                embedding,
                hidden,
                dropout,
            },
            "transformer" => Network::Transformer {
                context: self.length,
                width: hidden,
                heads: self.heads,
                blocks: self.blocks,
                tied: true,
                dropout,
            },
            _ => {
                return Err(of_parameter(
                    "there is no such network\nhint: \"lstm\", \"gru\" or \"transformer\"",
                ));
            }
        };
        let vocabulary = match &self.public_text {
            Some(text) => {
                Vocabulary::from_public_text(text, self.tokens, Digits::Single).map_err(of_parameter)?
            }
            None => training::public_vocabulary(self.tokens).map_err(of_training)?,
        };
        Ok(Description::Language {
            network,
            length: self.length,
            vocabulary: vocabulary.to_json(),
        })
    }
}

/// What training says, as exceptions.
fn of_training(error: training::Error) -> PyErr {
    use training::Error;
    let class = match &error {
        Error::Sql(_) => {
            let Error::Sql(error) = error else {
                return of_parameter(error);
            };
            return of_sql(error);
        }
        Error::OverBudget(over) => {
            let said = over.to_string();
            let (what, hint) = said.split_once("\nhint: ").unwrap_or((said.as_str(), ""));
            return of_sql(sql::Error::OverBudget(Box::new(sql::OverBudget {
                what: what.to_owned(),
                hint: hint.to_owned(),
                cost: over.cost.clone(),
                left: over.left.clone(),
                fits: over.fits.clone(),
            })));
        }
        Error::UnknownSize { whose } => {
            return of_parameter(format!(
                "about how many {whose}s are there?\nhint: say size=50000, a number that is public anyway and does not come from the data; size=\"public\" if the number in the data is no secret; or neighbors=\"change_one\""
            ));
        }
        Error::CheckpointExists { path } => {
            return Class::File.raise(format!(
                "the checkpoint {} already exists\nhint: fit with resume=True to go on with that run, name another place with checkpoint=, or delete it if it is of no more use; nothing was charged",
                path.display()
            ));
        }
        Error::Device(_) => {
            return Class::Engine.raise(format!("{error}\nhint: device=\"cpu\" computes on the processor"));
        }
        Error::Ledger(_) | Error::OtherUnit { .. } | Error::OtherRules(_) | Error::NoLedger { .. } => {
            Class::Ledger
        }
        Error::Train(train::Error::Mechanism(mechanism::Error::Refused(_))) => Class::Ledger,
        Error::Train(
            train::Error::File { .. } | train::Error::Unreadable { .. } | train::Error::BadFile { .. },
        )
        | Error::ModelExists { .. } => Class::File,
        _ => Class::Parameter,
    };
    class.raise(error)
}

/// A text as TOML writes it: JSON's escapes are among those of TOML.
fn quoted(text: &str) -> String {
    json!(text).to_string().replace('\u{7f}', "\\u007f")
}

fn path_text(path: &Path) -> PyResult<String> {
    let text = path.to_str().map(quoted);
    text.ok_or_else(|| of_parameter("the name of this file is no Unicode\nhint: choose another name"))
}

impl Run {
    fn ledger_place(&self) -> PyResult<&PathBuf> {
        let ledger = self.ledger.as_ref();
        ledger.ok_or_else(|| of_parameter("there is no ledger\nhint: name one with ledger="))
    }

    fn neighbors(&self) -> PyResult<Option<Neighbors>> {
        match self.neighbors.as_deref() {
            None => Ok(None),
            Some("add_remove") => Ok(Some(Neighbors::AddRemove)),
            Some("change_one") => Ok(Some(Neighbors::ChangeOne)),
            Some(_) => Err(of_parameter(
                "there are no such neighbors\nhint: \"add_remove\" or \"change_one\"",
            )),
        }
    }

    /// The budget and the unit: those of a ledger that is there, and otherwise as stated.
    fn rules(&self) -> PyResult<(PrivacyUnit, Epsilon, Delta, Option<Rules>)> {
        let path = self.ledger_place()?;
        let stated = match &self.budget {
            Some((epsilon, delta)) => Some((
                Epsilon::parse(epsilon).map_err(of_parameter)?,
                Delta::parse(delta).map_err(of_parameter)?,
            )),
            None => None,
        };
        let existing =
            Store::open_existing(&Place::File(path.clone())).map_err(|error| Class::Ledger.raise(error))?;
        let existing = existing.map(|store| store.rules().clone());
        let recorded = existing.as_ref().map(|rules| rules.budget.unit().clone());
        let recorded = recorded.unwrap_or_else(|| PrivacyUnit::new("person", Neighbors::AddRemove));
        let unit = PrivacyUnit::new(
            self.unit.clone().unwrap_or_else(|| recorded.whose.clone()),
            self.neighbors()?.unwrap_or(recorded.neighbors),
        );
        if let Some(rules) = &existing {
            let (epsilon, delta) = match rules.budget.limit() {
                Promise::Approximate(epsilon, delta) => (epsilon.clone(), delta.clone()),
                Promise::Pure(epsilon) => (epsilon.clone(), Delta::ZERO),
                Promise::Concentrated(_) => {
                    return Err(Class::Ledger.raise(
                        "the budget of this ledger is stated in ρ\nhint: training is charged to a ledger with ε and δ",
                    ));
                }
            };
            if stated.is_some_and(|stated| stated != (epsilon.clone(), delta.clone())) {
                return Err(Class::Ledger.raise(
                    "the ledger has another budget than budget= states\nhint: leave out budget= to charge the ledger that is there, or name another with ledger=",
                ));
            }
            return Ok((unit, epsilon, delta, existing));
        }
        let Some((epsilon, delta)) = stated else {
            return Err(Class::Ledger.raise(
                "there is no ledger yet where ledger= says\nhint: state the budget of a new one, ε and δ of all releases together: budget=(3, 1e-5)",
            ));
        };
        Ok((unit, epsilon, delta, None))
    }

    /// The catalog of rows in memory: everything in it is declared and public.
    fn catalog(&self, rows: RecordBatch) -> PyResult<Catalog> {
        let (unit, epsilon, delta, existing) = self.rules()?;
        let ledger = self.ledger_place()?;
        let mut text = format!(
            "name = {}\n[unit]\nwhose = {}\n[budget]\nepsilon = 1\nledger = {}\n[tables.{}]\nsource = \"memory\"\n",
            quoted(&self.name),
            quoted(&unit.whose),
            path_text(ledger)?,
            quoted(&self.name),
        );
        match &self.group {
            Some(column) => {
                let _ = writeln!(text, "unit = {}", quoted(column));
            }
            None => text.push_str("each_row = true\n"),
        }
        let _ = writeln!(text, "[tables.{}.columns]", quoted(&self.name));
        for column in &self.columns {
            let declared = match (&column.bounds, &column.values) {
                (Some((low, high)), _) => format!("kind = \"float\", bounds = [{low:?}, {high:?}]"),
                (None, Some(values)) => {
                    let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
                    format!("kind = \"text\", values = [{}]", values.join(", "))
                }
                (None, None) => "kind = \"text\"".to_owned(),
            };
            let _ = writeln!(
                text,
                "{} = {{ {declared}, nullable = {} }}",
                quoted(&column.name),
                column.nullable
            );
        }
        let folder = ledger.parent().unwrap_or(Path::new(""));
        let mut catalog = Catalog::parse(&text, folder).map_err(of_sql)?;
        catalog.unit = unit;
        catalog.budget.epsilon = epsilon;
        catalog.budget.delta = delta;
        if let Some(rules) = existing {
            catalog.budget.shares = rules.shares;
        }
        catalog.provide_batches(&self.name, vec![rows]).map_err(of_sql)?;
        Ok(catalog)
    }

    fn privacy(&self) -> PyResult<Privacy> {
        Ok(Privacy {
            noise: Noise::Target(Epsilon::parse(&self.epsilon).map_err(of_parameter)?),
            delta: Delta::parse(&self.delta).map_err(of_parameter)?,
            clip: self.clip,
            adaptive_clip: self.adaptive_clip,
            batch: self.batch,
            length: self.steps.map_or(Length::Passes(self.epochs), Length::Steps),
            size: self.size,
            size_is_public: false,
            examples_per_unit: self.rows_per_unit,
            exact_sums: self.exact_sums,
        })
    }

    fn threads(&self) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or(processors).clamp(1, processors)
    }

    fn learning(&self) -> PyResult<Learning> {
        Ok(Learning {
            rule: match self.optimizer.as_str() {
                "adam" => Rule::adam(),
                "adam_corrected" => Rule::noise_corrected_adam(1e-12),
                "adamw" => Rule::adamw(0.01),
                "sgd" => Rule::sgd(0.9),
                _ => {
                    return Err(of_parameter(
                        "there is no such optimizer\nhint: \"adam\", \"adam_corrected\", \"adamw\" or \"sgd\"",
                    ));
                }
            },
            rate: self.rate,
            schedule: match self.schedule.as_str() {
                "constant" => RateSchedule::Constant,
                "linear" => RateSchedule::Linear,
                "cosine" => RateSchedule::Cosine,
                _ => {
                    return Err(of_parameter(
                        "there is no such schedule\nhint: \"constant\", \"linear\" or \"cosine\"",
                    ));
                }
            },
            seed: self.seed,
            threads: self.threads(),
            at_once: self.at_once,
            show_private_loss: false,
        })
    }

    fn device(&self) -> PyResult<DeviceName> {
        match self.device.as_str() {
            "cpu" => Ok(DeviceName::Cpu),
            "cuda" => Ok(DeviceName::Cuda),
            _ => Err(of_parameter(
                "there is no such device\nhint: \"cpu\", \"cuda\" or \"auto\"",
            )),
        }
    }

    /// The session, before anything private was looked at.
    fn session(&self, rows: Option<RecordBatch>, resume: bool, stop_at: Option<u64>) -> PyResult<Session> {
        let given = match (&self.catalog, rows) {
            (None, Some(rows)) => Some(Dataset::new(self.catalog(rows)?).map_err(of_sql)?),
            _ => None,
        };
        let session = if resume {
            let session = Session::resumed(&self.checkpoint).map_err(of_training)?;
            let session = session.writing_to(&self.out, true).map_err(of_training)?;
            session.stopping_at(stop_at).on_threads(Some(self.threads()))
        } else {
            self.new_session(given.as_ref())?
        };
        Ok(match given {
            Some(dataset) => session.given(dataset),
            None => session,
        })
    }

    fn new_session(&self, given: Option<&Dataset>) -> PyResult<Session> {
        // Rows in memory have no catalog's file; what is noted in its place is never read.
        let catalog = self.catalog.clone().unwrap_or_else(|| PathBuf::from("memory"));
        let (table, column) = (self.name.clone(), self.label.clone());
        let source = match self.language {
            Some(_) => Source::Column {
                catalog,
                table,
                column,
            },
            None => Source::Table { catalog, table },
        };
        let description = match &self.language {
            Some(language) => language.description()?,
            None => {
                let declared = match given {
                    Some(_) => None,
                    None => source.dataset().map_err(of_training)?,
                };
                let declared = given.or(declared.as_ref()).map(Dataset::catalog);
                let declared = declared.ok_or_else(|| of_parameter("there are no rows\nhint: give some"))?;
                Description::Table {
                    encoding: sql::encoding(declared, &self.name, &self.label, &self.features)
                        .map_err(of_sql)?,
                    hidden: self.hidden.clone(),
                }
            }
        };
        let validation = self
            .language
            .as_ref()
            .and_then(|language| language.validation.clone());
        let origin = Origin {
            device: self.device()?,
            every: self.every,
            validation,
            ..Origin::new(source, &self.analyst, self.out.clone())
        };
        let checkpoint = self.checkpoint.clone();
        Ok(Session::new(
            description,
            origin,
            checkpoint,
            self.privacy()?,
            self.learning()?,
        ))
    }
}

/// A step that was taken: public, but for how long it took, which depends on the data.
#[pyclass(frozen, module = "deniable._deniable", name = "TrainingStep")]
struct TrainingStep {
    progress: Progress,
    plan: Arc<TrainingPlan>,
}

#[pymethods]
impl TrainingStep {
    /// Steps taken.
    #[getter]
    fn step(&self) -> u64 {
        self.progress.step
    }

    /// Steps planned.
    #[getter]
    fn steps(&self) -> u64 {
        self.progress.steps
    }

    /// Seconds since this process began or resumed the run.
    #[getter]
    fn seconds(&self) -> f64 {
        self.progress.seconds
    }

    /// Steps taken since then.
    #[getter]
    fn steps_here(&self) -> u64 {
        self.progress.steps_here
    }

    /// The clipping norm of the next step.
    #[getter]
    fn clip(&self) -> f64 {
        self.progress.clip
    }

    /// The certified ε of the steps so far.
    fn epsilon(&self, py: Python<'_>) -> PyResult<f64> {
        let (plan, step) = (&self.plan, self.progress.step);
        let epsilon = py.detach(|| plan.epsilon_after(step));
        Ok(epsilon.map_err(of_parameter)?.to_f64_up())
    }

    fn __repr__(&self) -> String {
        format!("TrainingStep({} of {})", self.progress.step, self.progress.steps)
    }
}

/// What the thread that trains tells the one that waits.
enum News {
    Step(TrainingStep),
    Ended(PyResult<Ended>),
}

/// How a run ended, with the model's file where there is one.
struct Ended {
    outcome: Outcome,
    model: Option<Vec<u8>>,
}

/// Stops when it is told to, and shows steps: each, or from time to time, and waits until each was seen.
struct Watch {
    stop: Arc<AtomicBool>,
    tell: Sender<News>,
    seen: Receiver<()>,
    between: Option<Duration>,
    last: Option<Instant>,
    plan: Option<Arc<TrainingPlan>>,
}

impl Observer for Watch {
    fn go_on(&mut self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn step(&mut self, step: &Step<'_>) {
        let Some(between) = self.between else { return };
        let progress = step.progress();
        let early = self.last.is_some_and(|last| last.elapsed() < between);
        if early && progress.step < progress.steps {
            return;
        }
        let plan = self.plan.get_or_insert_with(|| Arc::new(step.plan().clone()));
        let shown = TrainingStep {
            progress: progress.clone(),
            plan: plan.clone(),
        };
        if self.tell.send(News::Step(shown)).is_ok() {
            // Nobody answers where nobody waits any more.
            let _ = self.seen.recv();
        }
        self.last = Some(Instant::now());
    }
}

/// Runs a session on a thread of its own. What `observe` raises, and Ctrl-C, interrupt the run, which is saved; then both are returned: how it ended, and the exception.
#[pyfunction]
#[pyo3(signature = (columns, run, resume, stop_at, observe, between))]
fn train_run(
    py: Python<'_>,
    columns: Option<PyRef<'_, Columns>>,
    run: Run,
    resume: bool,
    stop_at: Option<u64>,
    observe: Option<Py<PyAny>>,
    between: f64,
) -> PyResult<(Py<PyDict>, Option<Py<PyAny>>)> {
    let rows = columns.map(|columns| columns.batch()).transpose()?;
    let (tell, mut news) = channel();
    let (answer, seen) = channel();
    let stop = Arc::new(AtomicBool::new(false));
    let between = observe
        .as_ref()
        .map(|_| Duration::from_secs_f64(between.clamp(0.0, 3600.0)));
    let mut watch = Watch {
        stop: stop.clone(),
        tell: tell.clone(),
        seen,
        between,
        last: None,
        plan: None,
    };
    std::thread::spawn(move || {
        let ended = run.session(rows, resume, stop_at).and_then(|session| {
            let outcome = session.run(&mut watch).map_err(of_training)?;
            let model = match &outcome {
                Outcome::Finished(finished) => Some(read_and_remove(&finished.model)?),
                Outcome::Interrupted(_) => None,
            };
            Ok(Ended { outcome, model })
        });
        // Otherwise a sender stays with the observer, and nobody learns that the thread is gone.
        drop(watch);
        let _ = tell.send(News::Ended(ended));
    });
    let mut raised: Option<PyErr> = None;
    let ended = loop {
        // Borrowed mutably: a receiver may be sent to another thread, and not shared.
        let waits = &mut news;
        let next = py.detach(move || waits.recv_timeout(BETWEEN_LOOKS));
        match next {
            Ok(News::Ended(ended)) => break ended?,
            Ok(News::Step(step)) => {
                if let (Some(observe), None) = (&observe, &raised)
                    && let Err(error) = observe.call1(py, (step,))
                {
                    stop.store(true, Ordering::Relaxed);
                    raised = Some(error);
                }
                let _ = answer.send(());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Class::Engine.raise(
                    "this failed inside, which is a defect of Deniable; what was charged stays charged\nhint: what it said may quote data and is not shown; set DENIABLE_PANICS=1 to see it, on data of your own. A run with a checkpoint can be resumed",
                ));
            }
        }
        if let Err(error) = py.check_signals() {
            stop.store(true, Ordering::Relaxed);
            let again = raised
                .as_ref()
                .is_some_and(|raised| raised.is_instance_of::<PyKeyboardInterrupt>(py));
            if again {
                // Who presses Ctrl-C twice does not want to wait for the step and its checkpoint; they come by themselves.
                return Err(error);
            }
            raised = Some(error);
        }
    };
    let raised = raised.map(|error| error.into_value(py).into_any());
    Ok((described(py, ended)?.unbind(), raised))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The model's file, which the package keeps in memory.
fn read_and_remove(path: &Path) -> PyResult<Vec<u8>> {
    let read = std::fs::read(path).map_err(|error| {
        Class::File.raise(format!(
            "the model could not be read again: {error}\nhint: it is at {}",
            path.display()
        ))
    })?;
    let _ = std::fs::remove_file(path);
    Ok(read)
}

/// How a run ended, for the package.
fn described<'py>(py: Python<'py>, ended: Ended) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("model", ended.model.map(|bytes| PyBytes::new(py, &bytes)))?;
    match ended.outcome {
        Outcome::Interrupted(interrupted) => {
            found.set_item("checkpoint", interrupted.checkpoint)?;
            found.set_item("steps", interrupted.steps)?;
        }
        Outcome::Finished(finished) => {
            found.set_item("checkpoint", finished.checkpoint)?;
            found.set_item("steps", finished.steps)?;
            found.set_item("end", finished.end)?;
            found.set_item("measured", finished.measured)?;
            let measurements = finished.measurements.iter();
            let measurements: Vec<(u64, f64, f64)> = measurements
                .map(|measurement| (measurement.step, measurement.epsilon, measurement.value))
                .collect();
            found.set_item("measurements", measurements)?;
        }
    }
    Ok(found)
}

/// Whether there is a GPU that training can use.
#[pyfunction]
fn cuda_is_there(py: Python<'_>) -> bool {
    py.detach(|| device::Cuda::new().is_ok())
}

/// A model that was read from its file. What a private model says costs nothing.
#[pyclass(frozen, module = "deniable._deniable", name = "TrainedModel")]
struct TrainedModel(Mutex<ModelFile>);

impl TrainedModel {
    fn language<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&mut training::Language) -> Result<T, training::Error> + Send,
    ) -> PyResult<T> {
        py.detach(|| match &mut *locked(&self.0) {
            ModelFile::Language(language) => ask(language).map_err(of_training),
            ModelFile::Tabular(_) => Err(of_parameter(
                "this is a model of rows of a table, not of text\nhint: use PrivateClassifier.load or PrivateRegressor.load",
            )),
        })
    }
}

#[pymethods]
impl TrainedModel {
    /// From the bytes of a file in the format safetensors.
    #[staticmethod]
    fn read(py: Python<'_>, bytes: PyBackedBytes) -> PyResult<Self> {
        let unwritten = |error: std::io::Error| {
            Class::File.raise(format!(
                "no temporary file can be written: {error}\nhint: is there room on the disk?"
            ))
        };
        py.detach(|| {
            let file = tempfile::NamedTempFile::new().map_err(unwritten)?;
            std::fs::write(file.path(), &*bytes).map_err(unwritten)?;
            let model = training::read_model(file.path()).map_err(|_| {
                Class::File.raise("this is no model of Deniable\nhint: use a file that save_safetensors or `deniable train` wrote")
            })?;
            Ok(Self(Mutex::new(model)))
        })
    }

    /// `language`, `classifier` or `regressor`.
    fn kind(&self) -> &'static str {
        match &*locked(&self.0) {
            ModelFile::Language(_) => "language",
            ModelFile::Tabular(rows) if rows.encoding.classes().is_some() => "classifier",
            ModelFile::Tabular(_) => "regressor",
        }
    }

    /// How rows become numbers, as JSON; `None` for a model of text.
    fn encoding(&self) -> Option<String> {
        match &*locked(&self.0) {
            ModelFile::Language(_) => None,
            ModelFile::Tabular(rows) => Some(json!(rows.encoding).to_string()),
        }
    }

    /// What the model guarantees, as JSON; `None` where it was trained without privacy.
    fn receipt(&self) -> Option<String> {
        let receipt = match &*locked(&self.0) {
            ModelFile::Language(language) => language.receipt.as_ref().map(|receipt| json!(receipt)),
            ModelFile::Tabular(rows) => rows.receipt.as_ref().map(|receipt| json!(receipt)),
        };
        receipt.map(|receipt| receipt.to_string())
    }

    /// For each row the probabilities of the classes, or a number: floats of 64 bits one after the other, and how many a row has.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        columns: PyRef<'_, Columns>,
    ) -> PyResult<(Bound<'py, PyBytes>, usize)> {
        let rows = columns.batch()?;
        let answers = py.detach(|| match &mut *locked(&self.0) {
            ModelFile::Tabular(model) => model.predict(&rows).map_err(of_training),
            ModelFile::Language(_) => Err(of_parameter(
                "this is a model of text, not of rows of a table\nhint: use PrivateLanguageModel.load",
            )),
        })?;
        let width = answers.first().map_or(1, Vec::len);
        let bytes: Vec<u8> = answers
            .iter()
            .flatten()
            .flat_map(|number| number.to_ne_bytes())
            .collect();
        Ok((PyBytes::new(py, &bytes), width))
    }

    /// Continues a text.
    fn generate(
        &self,
        py: Python<'_>,
        prompt: &str,
        tokens: usize,
        temperature: f64,
        seed: u64,
    ) -> PyResult<String> {
        self.language(py, |language| {
            language.generate(prompt, tokens, temperature, seed)
        })
    }

    /// The perplexity on a public text, how many tokens it has, and the perplexity of its own frequencies.
    fn evaluate(&self, py: Python<'_>, text: &str) -> PyResult<(f64, u64, f64)> {
        let measured = self.language(py, |language| language.evaluate(text))?;
        Ok((measured.perplexity, measured.tokens, measured.unigram_perplexity))
    }
}

/// The Python-facing names of this file.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Columns>()?;
    module.add_class::<TrainingStep>()?;
    module.add_class::<TrainedModel>()?;
    module.add_function(wrap_pyfunction!(train_run, module)?)?;
    module.add_function(wrap_pyfunction!(cuda_is_there, module)?)
}
