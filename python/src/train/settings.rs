//! A run as the Python package describes it, and as the crate `training` understands it.

use super::of_training;
use crate::errors::{Class, of_parameter, of_sql};
use accounting::{Delta, Epsilon, Neighbors, PrivacyUnit, Promise};
use ledger::{Place, Rules, Store};
use pyo3::prelude::*;
use serde_json::json;
use sql::Catalog;
use sql::arrow::array::RecordBatch;
use sql::blocking::Dataset;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use train::Rule;
use train::models::Network;
use train::text::{Digits, Vocabulary};
use training::{
    Description, DeviceName, Learning, Length, Noise, Origin, Privacy, RateSchedule, Session, Source,
};

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
pub(super) struct Run {
    /// The public name of the data.
    name: String,
    /// A catalog whose table is learned from, if it is not rows of the program.
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
                    "the ledger has another budget than budget= states\nhint: leave out budget= to charge the ledger that is there. A second ledger for the same people would be a second budget",
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
    pub(super) fn session(
        &self,
        rows: Option<RecordBatch>,
        resume: bool,
        stop_at: Option<u64>,
    ) -> PyResult<Session> {
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
