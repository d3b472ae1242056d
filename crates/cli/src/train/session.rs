//! A run from its first step to its model: what is shown, kept and told on the way.

use super::model_file::{self, Described};
use super::origin::{self, Origin};
use crate::account::figure;
use crate::plot::{Figure, Scale};
use crate::terminal::{self, CliError, Interrupt, Progress, explained, fail, significant};
use device::Device;
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
#[derive(Clone, Copy, Debug)]
struct Look {
    step: u64,
    epsilon: f64,
    measured: f64,
}

/// Refuses to begin a run where another is kept: its steps are paid for.
pub(super) fn check_free(checkpoint: &Path) -> Result<(), CliError> {
    if checkpoint.exists() {
        return fail(
            format!("a run is kept in {}", checkpoint.display()),
            "go on with `deniable train resume`, name another place with --checkpoint, or delete it if it is of no more use",
        );
    }
    Ok(())
}

/// Where a run is kept, with what `resume` needs to know.
pub(super) fn keeping(origin: &Origin, described: &Described, checkpoint: &Path) -> Keeping {
    let origin_note = serde_json::to_string(origin).expect("an origin is plain data");
    Keeping {
        path: checkpoint.to_owned(),
        every: origin.every,
        notes: [
            (origin::NOTE.to_owned(), origin_note),
            (model_file::NOTE.to_owned(), described.to_note()),
        ]
        .into(),
    }
}

/// Takes all steps that are left, then writes the model and tells about it. `measure` looks at public data; `measured` is what it measures.
pub(super) fn finish<D, M, E>(
    mut trainer: Trainer<'_, D, M, E>,
    described: &Described,
    origin: &Origin,
    checkpoint: &Path,
    shown: Shown,
    measured: &'static str,
    mut measure: impl FnMut(&mut M, &D::Buffer) -> Option<f64>,
) -> Result<(), CliError>
where
    D: Device,
    M: Model<D, Batch = E::Batch>,
    E: Examples,
{
    let steps = trainer.plan().parameters().steps;
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
    let mut looks: Vec<Look> = Vec::new();
    let (mut told, mut telling) = (Instant::now(), Duration::from_millis(50));
    let mut stopped = false;
    let mut first = true;
    loop {
        if interrupt.was_pressed() {
            stopped = true;
            break;
        }
        let Some(progress) = trainer.step().map_err(explained)? else {
            break;
        };
        if std::mem::take(&mut first) {
            bar.advance(progress.step - 1);
        }
        bar.advance(1);
        let every = |times: u64| progress.step % (steps / times).max(1) == 0 || progress.step == steps;
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
        if every(LOOKS) {
            looks.extend(look(&mut trainer, progress.step)?);
        }
        if progress.step % origin.every.max(1) == 0 && progress.step < steps {
            trainer.keep().map_err(explained)?;
        }
    }
    drop(bar);
    if stopped {
        // What is told is of the model that is written.
        let step = trainer.steps_taken();
        if step > 0 && looks.last().is_none_or(|last| last.step != step) {
            looks.extend(look(&mut trainer, step)?);
        }
    }
    // A run that stopped can go on; a model of what there is now is written all the same, and says how far it came.
    trainer.keep().map_err(explained)?;
    let saved = trainer.saved_model().map_err(explained)?;
    let (model, _) = trainer.model();
    saved.write(model.layout(), &origin.out).map_err(explained)?;
    if !stopped {
        // It holds the key of the noise and is of no more use.
        let _ = std::fs::remove_file(checkpoint);
    }
    let receipt = saved.receipt.as_ref().expect("a private run has a receipt");
    let report = Report {
        out: origin.out.clone(),
        parameters: saved.parameters.len(),
        steps: (receipt.steps_taken, steps),
        receipt,
        stopped: stopped.then(|| checkpoint.to_owned()),
        measured,
        looks,
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

struct Report<'r> {
    out: PathBuf,
    parameters: usize,
    steps: (u64, u64),
    receipt: &'r train::private::ModelReceipt,
    stopped: Option<PathBuf>,
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
        let guarantee = crate::dataset::readable(&self.receipt.plan.guarantee().to_string());
        let _ = writeln!(
            text,
            "charged   {guarantee} (charge {})",
            self.receipt.ledger_entry
        );
        if self.steps.0 < self.steps.1 {
            let _ = writeln!(
                text,
                "used      ε = {} by the steps that were taken; what was charged stays charged",
                significant(self.receipt.epsilon_used.to_f64_up(), 4)
            );
        }
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
        if let Some(last) = self.looks.last() {
            let _ = writeln!(
                text,
                "{:<9} {} on public data",
                self.measured,
                significant(last.measured, 4)
            );
        }
        if let Some(checkpoint) = &self.stopped {
            let _ = writeln!(
                text,
                "stopped   go on with: deniable train resume {}",
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
            "finished": self.stopped.is_none(),
            "receipt": self.receipt,
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
