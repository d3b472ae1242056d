//! A run from its first step to its model: what is shown, kept and told on the way.

use super::model_file::{self, Described};
use super::origin::{self, Origin};
use crate::account::figure;
use crate::terminal::{self, CliError, Interrupt, Progress, exit_code, explained, fail};
use device::Device;
use report::{Figure, Scale, significant};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use train::model::Model;
use train::private::{Examples, Keeping, Trainer};

/// How often public validation data is looked at during a run.
const LOOKS: u64 = 20;
/// Of the time of a run, what telling ε on the way may take: one part in so many.
const TELLING: u32 = 20;

/// How a run is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    pub(super) json: bool,
    pub(super) quiet: bool,
}

/// One look at public validation data.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Look {
    step: u64,
    epsilon: f64,
    measured: f64,
}

/// All looks of a run. They are at steps that the plan decides, and checkpoints hold them, so that what is told at the end does not depend on where a run was interrupted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Looks(Vec<Look>);

impl Looks {
    /// The name of their note.
    const NOTE: &str = "deniable.looks";

    /// Those that a checkpoint holds.
    pub(super) fn of_notes(notes: &std::collections::BTreeMap<String, String>) -> Self {
        let read = notes
            .get(Self::NOTE)
            .and_then(|text| serde_json::from_str(text).ok());
        read.unwrap_or_default()
    }

    fn to_note(&self) -> String {
        serde_json::to_string(self).expect("looks are plain data")
    }
}

/// Refuses to begin a run where another is kept: its steps are paid for.
pub(super) fn check_free(checkpoint: &Path) -> Result<(), CliError> {
    if checkpoint.exists() {
        return fail(
            format!("the checkpoint {} already exists", checkpoint.display()),
            "go on with `deniable train resume`, name another place with --checkpoint, or delete it if it is of no more use",
        );
    }
    Ok(())
}

/// Where a run is kept, with what `resume` needs to know.
pub(super) fn keeping(origin: &Origin, described: &Described, checkpoint: &Path, looks: &Looks) -> Keeping {
    let origin_note = serde_json::to_string(origin).expect("an origin is plain data");
    Keeping {
        path: checkpoint.to_owned(),
        every: origin.every,
        notes: [
            (origin::NOTE.to_owned(), origin_note),
            (model_file::NOTE.to_owned(), described.to_note()),
            (Looks::NOTE.to_owned(), looks.to_note()),
        ]
        .into(),
    }
}

/// Takes all steps that are left, then writes the model and tells about it. `measure` looks at public data; `measured` is what it measures, and what it measured before.
///
/// # Privacy
///
/// Ctrl-C, or SIGTERM, keeps the run and makes no model: after how many steps it came depends on how fast they were, and so on the data, and both a number of steps and weights would show it. The number is told to who sits at
/// the terminal, as not private. What is published (the model, its receipt, what was measured) is of a step that the plan or --stop-at names; nothing more is written to the ledger.
pub(super) fn finish<D, M, E>(
    mut trainer: Trainer<'_, D, M, E>,
    (described, left_out): (&Described, &[sql::LeftOut]),
    origin: &Origin,
    checkpoint: &Path,
    shown: Shown,
    (measured, mut looks): (&'static str, Looks),
    mut measure: impl FnMut(&mut M, &D::Buffer) -> Option<f64>,
) -> Result<(), CliError>
where
    D: Device,
    M: Model<D, Batch = E::Batch>,
    E: Examples,
{
    let (steps, end) = (trainer.plan().parameters().steps, trainer.end());
    let epsilon_at = |trainer: &Trainer<'_, D, M, E>, step| -> Result<f64, CliError> {
        Ok(trainer.plan().epsilon_after(step).map_err(explained)?.to_f64_up())
    };
    let mut look = |trainer: &mut Trainer<'_, D, M, E>, step| -> Result<Option<Look>, CliError> {
        let (model, parameters) = trainer.model();
        let Some(measured) = measure(model, parameters) else {
            return Ok(None);
        };
        let epsilon = epsilon_at(trainer, step)?;
        Ok(Some(Look {
            step,
            epsilon,
            measured,
        }))
    };
    // The model says what it is, and not where its data lies.
    trainer.note(model_file::NOTE, &described.to_note());
    let interrupt = Interrupt::listen();
    let bar = Progress::new("training", steps, shown.json || shown.quiet);
    let (mut told, mut telling) = (Instant::now(), Duration::from_millis(50));
    let mut first = true;
    while !interrupt.was_pressed() {
        let Some(progress) = trainer.step().map_err(explained)? else {
            break;
        };
        if std::mem::take(&mut first) {
            bar.advance(progress.step - 1);
        }
        bar.advance(1);
        if let Some(loss) = progress.not_private_loss {
            eprintln!(
                "step {}: loss {} (NOT private)",
                progress.step,
                significant(loss, 4)
            );
        }
        // A certified ε takes a moment, which nobody should wait for.
        if bar.is_shown() && told.elapsed() > telling * TELLING {
            told = Instant::now();
            let epsilon = epsilon_at(&trainer, progress.step)?;
            bar.label(format!("training, ε so far {}", significant(epsilon, 3)));
            telling = told.elapsed();
        }
        if progress.step % (steps / LOOKS).max(1) == 0 {
            looks.0.extend(look(&mut trainer, progress.step)?);
            trainer.note_for_checkpoints(Looks::NOTE, &looks.to_note());
        }
        if progress.step % origin.every.max(1) == 0 && progress.step < end {
            trainer.keep().map_err(explained)?;
        }
    }
    drop(bar);
    // Also where the run was at its end already.
    if trainer.steps_taken() == end && looks.0.last().is_none_or(|last| last.step != end) {
        looks.0.extend(look(&mut trainer, end)?);
        trainer.note_for_checkpoints(Looks::NOTE, &looks.to_note());
    }
    trainer.keep().map_err(explained)?;
    if trainer.steps_taken() < end {
        let interrupted = Interrupted {
            checkpoint,
            not_private_steps_taken: trainer.steps_taken(),
            steps,
        };
        terminal::print(&if shown.json {
            format!("{}\n", interrupted.to_json())
        } else {
            interrupted.to_text()
        })?;
        return Err(interrupted.to_error());
    }
    let saved = trainer.saved_model().map_err(explained)?;
    let (model, _) = trainer.model();
    saved.write(model.layout(), &origin.out).map_err(explained)?;
    if end == steps {
        // It holds the key of the noise and is of no more use.
        let _ = std::fs::remove_file(checkpoint);
    }
    let receipt = saved.receipt.as_ref().expect("a private run has a receipt");
    let report = Report {
        out: origin.out.clone(),
        parameters: saved.parameters.len(),
        steps: (end, steps),
        receipt,
        columns: match described {
            Described::Table { encoding, .. } => Some((encoding, left_out)),
            Described::Language { .. } => None,
        },
        kept: (end < steps).then(|| checkpoint.to_owned()),
        measured,
        looks: looks.0,
    };
    terminal::print(&if shown.json {
        format!("{}\n", report.to_json())
    } else {
        report.to_text()
    })?;
    match (&origin.plot, report.figure()) {
        (Some(path), Some(drawn)) => figure::save(path, &drawn),
        (Some(_), None) => {
            eprintln!(
                "nothing was measured on public data, so there is nothing to draw\nhint: give public data with --validation"
            );
            Ok(())
        }
        (None, _) => Ok(()),
    }
}

/// A run that was interrupted: what its curator is told.
struct Interrupted<'r> {
    checkpoint: &'r Path,
    not_private_steps_taken: u64,
    steps: u64,
}

impl Interrupted<'_> {
    fn to_text(&self) -> String {
        let checkpoint = self.checkpoint.display();
        format!(
            "go on     deniable train resume {checkpoint}\n\
             or        deniable train resume {checkpoint} --stop-at N, for a model of step N\n\
             {} of {} steps were taken (NOT private: how fast a run is depends on the data)\n",
            self.not_private_steps_taken, self.steps
        )
    }

    /// With it the program ends, as a question that is interrupted does.
    fn to_error(&self) -> CliError {
        CliError::bad_input("interrupted; the run is kept, and no model was written")
            .with_hint(format!(
                "go on with `deniable train resume {}`; nothing is charged again",
                self.checkpoint.display()
            ))
            .with_code(exit_code::INTERRUPTED)
    }

    fn to_json(&self) -> Value {
        json!({
            "model": null,
            "steps_planned": self.steps,
            "finished": false,
            "receipt": null,
            "checkpoint": self.checkpoint.display().to_string(),
            "not_private": { "steps_taken": self.not_private_steps_taken },
        })
    }
}

struct Report<'r> {
    out: PathBuf,
    parameters: usize,
    /// The step at which the run was to end, and how many are planned.
    steps: (u64, u64),
    receipt: &'r train::private::ModelReceipt,
    /// Of a table: what was learned from what, and the columns that were left out.
    columns: Option<(&'r sql::Encoding, &'r [sql::LeftOut])>,
    /// Where the rest of the plan can go on.
    kept: Option<PathBuf>,
    measured: &'static str,
    looks: Vec<Look>,
}

impl Report<'_> {
    fn to_text(&self) -> String {
        let parameters = self.receipt.plan.parameters();
        let mut text = format!(
            "{}: {} parameters, {} of {} steps\n",
            self.out.display(),
            self.parameters,
            self.steps.0,
            self.steps.1,
        );
        let guarantee = crate::dataset::readable(&self.receipt.plan.guarantee());
        let _ = writeln!(
            text,
            "charged   {guarantee} (charge {})",
            self.receipt.ledger_entry
        );
        let _ = writeln!(
            text,
            "noise     {} times the clip norm {}, batches of {} on average",
            significant(exact::to_f64_up(parameters.multiplier.as_rational()), 4),
            significant(parameters.clip.start(), 3),
            parameters.normaliser
        );
        if let Some(most) = parameters.examples_per_unit {
            let _ = writeln!(text, "rows      at most {most} of each {}", parameters.whose);
        }
        if let Some((encoding, left_out)) = self.columns {
            let names: Vec<&str> = encoding.features.iter().map(|(name, _)| name.as_str()).collect();
            let _ = writeln!(text, "learned   {} from {}", encoding.label.0, names.join(", "));
            for left in left_out {
                let _ = writeln!(text, "left out  {}: {}", left.column, left.why);
            }
        }
        if let Some(last) = self.looks.last() {
            let _ = writeln!(
                text,
                "{:<9} {} on public data",
                self.measured,
                significant(last.measured, 4)
            );
        }
        if let Some(checkpoint) = &self.kept {
            let _ = writeln!(
                text,
                "stopped   as asked; what was charged stays charged, and goes on with: deniable train resume {}",
                checkpoint.display()
            );
        }
        text
    }

    fn to_json(&self) -> Value {
        json!({
            "model": self.out.display().to_string(),
            "parameters": self.parameters,
            "steps_taken": self.steps.0,
            "steps_planned": self.steps.1,
            "finished": self.kept.is_none(),
            "receipt": self.receipt,
            "label": self.columns.map(|(encoding, _)| &encoding.label.0),
            "features": self.columns.map(|(encoding, _)| {
                encoding.features.iter().map(|(name, _)| name).collect::<Vec<_>>()
            }),
            "left_out": self.columns.map(|(_, left_out)| {
                let left_out = left_out.iter();
                left_out.map(|left| json!({ "column": left.column, "why": left.why })).collect::<Vec<_>>()
            }),
            "measured": self.measured,
            "validation": self.looks.iter().map(|look| json!({
                "step": look.step,
                "epsilon": look.epsilon,
                "value": look.measured,
            })).collect::<Vec<_>>(),
        })
    }

    /// What was measured on public data against ε.
    fn figure(&self) -> Option<Figure> {
        if self.looks.is_empty() {
            return None;
        }
        let points: Vec<(f64, f64)> = self
            .looks
            .iter()
            .map(|look| (look.epsilon, look.measured))
            .collect();
        Some(
            Figure::new(format!("{} on public data, as the budget is used", self.measured))
                .x_axis("ε so far", Scale::Linear)
                .y_axis(self.measured, Scale::Linear)
                .line(self.measured, &points),
        )
    }
}
