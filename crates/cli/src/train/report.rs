//! Reports a session to the person at the terminal, or to a program.

use crate::account::figure;
use crate::terminal::{self, CliError, Interrupt, Progress, exit_code};
use report::{Figure, Scale, significant};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::{Duration, Instant};
use train::private::ModelReceipt;
use training::{Finished, Interrupted, Names, Observer, Outcome, Session, Step};

/// The part of a run's time that computing ε on the way may take: one in this many.
const SHARE: u32 = 20;

/// What the files of a run are called.
pub(super) const NAMES: Names = Names {
    text: "--text",
    validation: "--validation",
    checkpoint: "--checkpoint",
    model: "--out",
    plot: "--plot",
};

/// How a run is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    pub(super) json: bool,
    pub(super) quiet: bool,
}

/// Runs a session to its end, or until Ctrl-C, and reports the result.
pub(super) fn run(session: Session, shown: Shown) -> Result<(), CliError> {
    let session = session.with_names(NAMES);
    let mut watcher = Watcher::new(shown);
    let outcome = session.run(&mut watcher)?;
    drop(watcher);
    match outcome {
        Outcome::Interrupted(interrupted) => {
            terminal::print(&if shown.json {
                format!("{}\n", interrupted_json(&interrupted))
            } else {
                interrupted_text(&interrupted)
            })?;
            Err(
                CliError::bad_input("interrupted; the run is saved, and no model was written")
                    .with_hint(format!(
                        "resume it with `deniable train resume {}`; nothing is charged again",
                        interrupted.checkpoint.display()
                    ))
                    .with_code(exit_code::INTERRUPTED),
            )
        }
        Outcome::Finished(finished) => {
            terminal::print(&if shown.json {
                format!("{}\n", finished_json(&finished))
            } else {
                finished_text(&finished)
            })?;
            match (&session.origin().plot, drawn(&finished)) {
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
    }
}

/// Shows the progress of a run, and hears Ctrl-C and SIGTERM.
struct Watcher {
    shown: Shown,
    interrupt: Option<Interrupt>,
    bar: Option<Progress>,
    /// When ε was computed last, and how long that took.
    epsilon: (Instant, Duration),
}

impl Watcher {
    fn new(shown: Shown) -> Self {
        Self {
            shown,
            interrupt: None,
            bar: None,
            epsilon: (Instant::now(), Duration::from_millis(50)),
        }
    }
}

impl Observer for Watcher {
    fn go_on(&mut self) -> bool {
        // Before the first step Ctrl-C ends the program as usual: there is nothing to save yet that is not
        // saved.
        !self.interrupt.get_or_insert_with(Interrupt::listen).was_pressed()
    }

    fn step(&mut self, step: &Step<'_>) {
        let progress = step.progress();
        let hidden = self.shown.json || self.shown.quiet;
        let bar = self.bar.get_or_insert_with(|| {
            let bar = Progress::new("training", progress.steps, hidden);
            bar.advance(progress.step - 1);
            bar
        });
        bar.advance(1);
        if let Some(loss) = progress.not_private_loss {
            eprintln!(
                "step {}: loss {} (NOT private)",
                progress.step,
                significant(loss, 4)
            );
        }
        // A certified ε takes a moment, which nobody should wait for.
        if bar.is_shown() && self.epsilon.0.elapsed() > self.epsilon.1 * SHARE {
            let began = Instant::now();
            if let Ok(epsilon) = step.epsilon() {
                let speed = progress.steps_here as f64 / progress.seconds.max(1e-9);
                bar.label(format!(
                    "training, ε so far {}, {} steps a second",
                    significant(epsilon, 3),
                    significant(speed, 3)
                ));
            }
            self.epsilon = (Instant::now(), began.elapsed());
        }
    }
}

fn interrupted_text(interrupted: &Interrupted) -> String {
    let checkpoint = interrupted.checkpoint.display();
    format!(
        "resume    deniable train resume {checkpoint}\n\
         or        deniable train resume {checkpoint} --stop-at N, for a model of step N\n\
         {} of {} steps were taken (NOT private: how fast a run is depends on the data)\n",
        interrupted.not_private_steps_taken, interrupted.steps
    )
}

fn interrupted_json(interrupted: &Interrupted) -> Value {
    json!({
        "model": null,
        "steps_planned": interrupted.steps,
        "finished": false,
        "receipt": null,
        "checkpoint": interrupted.checkpoint.display().to_string(),
        "not_private": { "steps_taken": interrupted.not_private_steps_taken },
    })
}

fn finished_text(finished: &Finished) -> String {
    let parameters = finished.receipt.plan.parameters();
    let mut text = format!(
        "{}: {} parameters, {} of {} steps\n",
        finished.model.display(),
        finished.parameters,
        finished.end,
        finished.steps,
    );
    let guarantee = sql::readable(&finished.receipt.plan.guarantee());
    let _ = writeln!(
        text,
        "charged   {guarantee} (charge {})",
        finished.receipt.ledger_entry
    );
    let _ = writeln!(
        text,
        "noise     {} times the clipping norm {}, batches of {} on average",
        significant(exact::to_f64_up(parameters.multiplier.as_rational()), 4),
        significant(parameters.clip.start(), 3),
        parameters.normaliser
    );
    if let Some(most) = parameters.examples_per_unit {
        let _ = writeln!(text, "rows      at most {most} of each {}", parameters.whose);
    }
    if let Some(columns) = &finished.columns {
        let encoding = &columns.encoding;
        let names: Vec<&str> = encoding.features.iter().map(|(name, _)| name.as_str()).collect();
        let _ = writeln!(text, "learned   {} from {}", encoding.label.0, names.join(", "));
        for left in &columns.left_out {
            let _ = writeln!(text, "left out  {}: {}", left.column, left.why);
        }
    }
    if let Some(last) = finished.measurements.last() {
        let _ = writeln!(
            text,
            "{:<9} {} on public data",
            finished.measured,
            significant(last.value, 4)
        );
    }
    if let Some(checkpoint) = &finished.checkpoint {
        let _ = writeln!(
            text,
            "stopped   as asked; what was charged stays charged. The rest: deniable train resume {}",
            checkpoint.display()
        );
    }
    text
}

fn finished_json(finished: &Finished) -> Value {
    let columns = finished.columns.as_ref();
    json!({
        "model": finished.model.display().to_string(),
        "parameters": finished.parameters,
        "steps_taken": finished.end,
        "steps_planned": finished.steps,
        "finished": finished.checkpoint.is_none(),
        "receipt": finished.receipt,
        "label": columns.map(|columns| &columns.encoding.label.0),
        "features": columns.map(|columns| {
            columns.encoding.features.iter().map(|(name, _)| name).collect::<Vec<_>>()
        }),
        "left_out": columns.map(|columns| {
            let left_out = columns.left_out.iter();
            left_out.map(|left| json!({ "column": left.column, "why": left.why })).collect::<Vec<_>>()
        }),
        "measured": finished.measured,
        "validation": finished.measurements.iter().map(|measurement| json!({
            "step": measurement.step,
            "epsilon": measurement.epsilon,
            "value": measurement.value,
        })).collect::<Vec<_>>(),
    })
}

/// What was measured on public data against ε.
fn drawn(finished: &Finished) -> Option<Figure> {
    if finished.measurements.is_empty() {
        return None;
    }
    let points: Vec<(f64, f64)> = finished
        .measurements
        .iter()
        .map(|measurement| (measurement.epsilon, measurement.value))
        .collect();
    Some(
        Figure::new(format!(
            "{} on public data, as the budget is used",
            finished.measured
        ))
        .x_axis("ε so far", Scale::Linear)
        .y_axis(finished.measured, Scale::Linear)
        .line(finished.measured, &points),
    )
}

/// What a model guarantees, in words.
pub(super) fn guarantee(receipt: Option<&ModelReceipt>) -> String {
    match receipt {
        None => "trained WITHOUT privacy: it may have memorized its data".to_owned(),
        Some(receipt) => {
            let guarantee = sql::readable(&receipt.plan.guarantee());
            format!(
                "{guarantee}; trained on {}, planned for {} steps, charge {}",
                receipt.data,
                receipt.plan.parameters().steps,
                receipt.ledger_entry
            )
        }
    }
}
