//! A run between two processes. It holds the key of the noise, so it is as private as the data.

use super::plan::TrainingPlan;
use super::receipt::{flat, made_by, tensors};
use super::task::Recipe;
use crate::Error;
use crate::model::Parameter;
use crate::safetensors::Contents;
use mechanism::SavedTraining;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The name under which the state is in the file.
const STATE: &str = "deniable.checkpoint";

/// Everything that a run needs to be resumed as if nothing had happened: see [`Trainer`](super::Trainer).
#[derive(Debug)]
pub struct Checkpoint {
    pub(crate) state: State,
    pub(crate) run: SavedTraining,
    /// Whether numbers are saved in 64 bits.
    pub(crate) wide: bool,
    pub(crate) parameters: Vec<f64>,
    pub(crate) moments: Vec<Vec<f64>>,
    /// What the caller noted: which command, which model.
    pub notes: std::collections::BTreeMap<String, String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    pub(crate) plan: TrainingPlan,
    pub(crate) recipe: Recipe,
    pub(crate) clip: f64,
    pub(crate) data: String,
    pub(crate) digest: String,
    pub(crate) made_by: String,
}

impl Checkpoint {
    /// The plan of the run.
    pub fn plan(&self) -> &TrainingPlan {
        &self.state.plan
    }

    /// How it trains.
    pub fn recipe(&self) -> &Recipe {
        &self.state.recipe
    }

    /// Resumes with this many threads; the run stays the same.
    pub fn set_threads(&mut self, threads: usize) {
        self.state.recipe.threads = threads;
    }

    /// How many steps were taken.
    pub fn steps_taken(&self) -> u64 {
        self.run.drawn()
    }

    /// Writes it, whole or not at all, so that nobody else can read it.
    ///
    /// # Errors
    /// When the file cannot be written; the one before is as it was.
    pub fn write(&self, layout: &[Parameter], path: &Path) -> Result<(), Error> {
        let mut contents = Contents {
            tensors: tensors(layout, &self.parameters, "", self.wide),
            words: self.notes.clone(),
        };
        for (name, values) in self.state.recipe.rule.moments().iter().zip(&self.moments) {
            contents
                .tensors
                .extend(tensors(layout, values, &format!("{name}."), self.wide));
        }
        let state = serde_json::to_string(&self.state).map_err(|error| Error::File {
            path: path.display().to_string(),
            source: error.into(),
        })?;
        contents.words.insert(STATE.to_owned(), state);
        contents
            .words
            .insert(format!("{STATE}.secret"), self.run.to_secret_text());
        contents.write(path, false)
    }

    /// What the caller noted, before the model's layout is known.
    ///
    /// # Errors
    /// When the file is no checkpoint.
    pub fn notes(path: &Path) -> Result<std::collections::BTreeMap<String, String>, Error> {
        let mut words = Contents::read(path, "checkpoint")?.words;
        words.retain(|name, _| !name.starts_with(STATE));
        Ok(words)
    }

    /// Reads one of a model of this layout.
    ///
    /// # Errors
    /// When the file is no checkpoint, or of another model or version.
    pub fn read(layout: &[Parameter], path: &Path) -> Result<Self, Error> {
        let mut contents = Contents::read(path, "checkpoint")?;
        let bad = |reason: &str| Error::BadFile {
            path: path.display().to_string(),
            what: "checkpoint",
            reason: reason.to_owned(),
        };
        let text = contents
            .words
            .remove(STATE)
            .ok_or_else(|| bad("it has no state of a run"))?;
        let state: State = serde_json::from_str(&text).map_err(|_| bad("its state cannot be read"))?;
        let run = contents.words.remove(&format!("{STATE}.secret"));
        let run = run.and_then(|text| SavedTraining::from_secret_text(&text));
        let run = run.ok_or_else(|| bad("its key cannot be read"))?;
        if state.made_by != made_by() {
            return Err(Error::OtherRun { what: "version" });
        }
        let wide = contents.tensors.iter().any(|tensor| tensor.wide);
        let other = Error::OtherRun { what: "model" };
        let Some(parameters) = flat(layout, &mut contents, "") else {
            return Err(other);
        };
        let mut moments = Vec::new();
        for name in state.recipe.rule.moments() {
            let Some(values) = flat(layout, &mut contents, &format!("{name}.")) else {
                return Err(other);
            };
            moments.push(values);
        }
        Ok(Self {
            state,
            run,
            wide,
            parameters,
            moments,
            notes: contents.words,
        })
    }
}
