//! A run on a thread of its own, which shows its steps and reacts to Ctrl-C.

use super::columns::Columns;
use super::of_training;
use super::settings::Run;
use crate::errors::{Class, of_parameter};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use train::private::{Progress, TrainingPlan};
use training::{Observer, Outcome, Step};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<TrainingStep>()?;
    module.add_function(wrap_pyfunction!(train_run, module)?)?;
    Ok(())
}

/// How long the interpreter's thread sleeps between two looks for Ctrl-C.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

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
                // A person who presses Ctrl-C twice does not want to wait for the step and its checkpoint;
                // they come by themselves.
                return Err(error);
            }
            raised = Some(error);
        }
    };
    let raised = raised.map(|error| error.into_value(py).into_any());
    Ok((described(py, ended)?.unbind(), raised))
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
