//! What a session reports: to its observer on the way, and at its end.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use train::private::{ModelReceipt, Progress, TrainingPlan};

/// Watches a session, and may interrupt it.
pub trait Observer {
    /// Whether to take a further step. Where not, the run is saved and can be resumed.
    fn go_on(&mut self) -> bool {
        true
    }

    /// A step was taken.
    fn step(&mut self, step: &Step<'_>) {
        let _ = step;
    }
}

/// Nobody watches: the run goes to its end.
impl Observer for () {}

/// A step that was taken.
#[derive(Debug)]
pub struct Step<'s> {
    pub(crate) progress: &'s Progress,
    pub(crate) plan: &'s TrainingPlan,
}

impl Step<'_> {
    /// How far the run is.
    pub fn progress(&self) -> &Progress {
        self.progress
    }

    /// The plan of the run.
    pub fn plan(&self) -> &TrainingPlan {
        self.plan
    }

    /// The certified ε of the steps so far. It takes a moment to compute.
    ///
    /// # Errors
    /// When it cannot be computed.
    pub fn epsilon(&self) -> Result<f64, Error> {
        Ok(self.plan.epsilon_after(self.progress.step)?.to_f64_up())
    }
}

/// One measurement on public validation data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// After this step.
    pub step: u64,
    /// The ε of all steps up to there.
    pub epsilon: f64,
    /// What was measured: see [`Finished::measured`].
    #[serde(rename = "measured")]
    pub value: f64,
}

/// All measurements of a run. They are at steps that the plan decides, and checkpoints hold them, so that
/// what is reported at the end does not depend on where a run was interrupted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Measurements(pub(crate) Vec<Measurement>);

impl Measurements {
    /// The name of their note.
    pub(crate) const NOTE: &str = "deniable.looks";

    /// Those that a checkpoint holds.
    pub(crate) fn of_notes(notes: &BTreeMap<String, String>) -> Self {
        let read = notes
            .get(Self::NOTE)
            .and_then(|text| serde_json::from_str(text).ok());
        read.unwrap_or_default()
    }

    pub(crate) fn to_note(&self) -> String {
        serde_json::to_string(self).expect("measurements are plain data")
    }
}

/// How a session ended.
#[derive(Debug)]
pub enum Outcome {
    /// At its end, with a model.
    Finished(Box<Finished>),
    /// Its observer said so: the run is saved, and there is no model.
    Interrupted(Interrupted),
}

/// A run with its model. All of it is public.
#[derive(Debug)]
pub struct Finished {
    /// Where the model was written.
    pub model: PathBuf,
    /// How many parameters it has.
    pub parameters: usize,
    /// The step at which the run was to end.
    pub end: u64,
    /// Steps that were planned and charged.
    pub steps: u64,
    /// What the model guarantees, to whom.
    pub receipt: ModelReceipt,
    /// Of a table: what was learned from what.
    pub columns: Option<Columns>,
    /// The checkpoint from which the rest of the plan can be resumed, where the run ended before its last
    /// planned step.
    pub checkpoint: Option<PathBuf>,
    /// What was measured on public data, such as `perplexity`.
    pub measured: &'static str,
    /// The result.
    pub measurements: Vec<Measurement>,
}

/// What was learned from which columns of a table.
#[derive(Debug)]
pub struct Columns {
    /// How rows become numbers.
    pub encoding: sql::Encoding,
    /// Columns that were left out, and why.
    pub left_out: Vec<sql::LeftOut>,
}

/// A run that was interrupted.
#[derive(Debug)]
pub struct Interrupted {
    /// From where it can be resumed.
    pub checkpoint: PathBuf,
    /// How many steps were taken. **Not private**: how fast a run is depends on the data.
    pub not_private_steps_taken: u64,
    /// Steps that were planned and charged.
    pub steps: u64,
}
