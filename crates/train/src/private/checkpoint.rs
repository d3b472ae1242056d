//! A run between two processes. It holds the key of the noise, so it is as private as the data.

use super::plan::TrainingPlan;
use super::receipt::{flat, made_by, tensors};
use super::task::Recipe;
use crate::Error;
use crate::model::Parameter;
use crate::safetensors::Contents;
use mechanism::SavedTraining;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::Path;

/// The name under which the state is in the file.
const STATE: &str = "deniable.checkpoint";

/// The name of the digest of all of it.
const SEAL: &str = "deniable.checkpoint.seal";

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
        let secret = self.run.to_secret_text();
        let seal = self.seal(&state, &secret);
        contents.words.insert(STATE.to_owned(), state);
        contents.words.insert(format!("{STATE}.secret"), secret);
        contents.words.insert(SEAL.to_owned(), seal);
        contents.write(path, false)
    }

    /// A digest of weights, moments and notes together with the state and the place and key of the charge: bits that were damaged, and weights of another run, are noticed. It is no protection against somebody who writes the file,
    /// since the key is in it.
    fn seal(&self, state: &str, secret: &str) -> String {
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        for text in [SEAL, made_by().as_str(), secret, state] {
            add(text.as_bytes());
        }
        for (name, text) in &self.notes {
            add(name.as_bytes());
            add(text.as_bytes());
        }
        let mut bytes = Vec::new();
        for values in std::iter::once(&self.parameters).chain(&self.moments) {
            bytes.clear();
            match self.wide {
                true => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
                false => bytes.extend(values.iter().flat_map(|value| (*value as f32).to_le_bytes())),
            }
            add(&bytes);
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
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
        let secret = contents.words.remove(&format!("{STATE}.secret"));
        let secret = secret.ok_or_else(|| bad("it has no key"))?;
        let run = SavedTraining::from_secret_text(&secret).ok_or_else(|| bad("its key cannot be read"))?;
        let seal = contents.words.remove(SEAL);
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
        let checkpoint = Self {
            state,
            run,
            wide,
            parameters,
            moments,
            notes: contents.words,
        };
        if seal != Some(checkpoint.seal(&text, &secret)) {
            return Err(bad(
                "it is damaged: its weights, moments or words are not those that were written with this charge",
            ));
        }
        Ok(checkpoint)
    }
}
