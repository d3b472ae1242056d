//! Queries against a threshold, asked one by one under one charge.

use super::account::{Shared, raised};
use super::claim::Claim;
use super::input::Numbers;
use crate::errors::{Class, of_parameter};
use crate::work::waiting;
use exact::Rational;
use mechanism::{AboveThreshold, Account, Aggregate, Error, Sensitive, Sensitivity};
use noise::Grid;
use pyo3::prelude::*;
use std::sync::mpsc::{Sender, channel};

/// One query, and where its answer goes.
type Query = (i64, Sender<Result<Option<bool>, Error>>);

/// A noisy threshold that is kept on a thread of its own: what it compares with is as private as the data.
#[pyclass(frozen, module = "deniable._deniable")]
pub(crate) struct Session {
    ask: Sender<Query>,
    claim: Claim,
    scale: Rational,
    /// Whether the grid is the integers.
    whole: bool,
    number: u64,
    cost: String,
    process: u32,
}

/// What a session is opened with.
pub(crate) struct Opening {
    pub(crate) mechanism: AboveThreshold,
    pub(crate) sensitivity: Sensitivity,
    pub(crate) grid: Grid,
    pub(crate) claim: Claim,
    pub(crate) scale: Rational,
    pub(crate) whole: bool,
}

impl Session {
    /// Charges, and keeps the threshold until Python lets go of this.
    pub(crate) fn open(py: Python<'_>, shared: Shared, opening: Opening, purpose: String) -> PyResult<Self> {
        let (ask, queries) = channel::<Query>();
        let (open, opened) = channel();
        let Opening {
            mechanism,
            sensitivity,
            grid,
            claim,
            scale,
            whole,
        } = opening;
        let unit = shared.unit().clone();
        std::thread::spawn(move || {
            let mut account = match Account::open(shared) {
                Ok(account) => account,
                Err(error) => {
                    let _ = open.send(Err(error));
                    return;
                }
            };
            let mut session = match account.above_threshold(&mechanism, &purpose) {
                Ok(session) => session,
                Err(error) => {
                    let _ = open.send(Err(error));
                    return;
                }
            };
            let receipt = session.receipt();
            let cost = receipt.charge.guarantee.promise().to_string();
            let _ = open.send(Ok((receipt.number, cost)));
            for (query, answer) in queries {
                let query =
                    Aggregate::claimed(Sensitive::new(query), sensitivity.clone(), unit.clone(), grid);
                // The asker may have been interrupted.
                let _ = answer.send(session.ask(query));
            }
        });
        let (number, cost) = waiting(py, move || opened.recv())?
            .map_err(|_| ended())?
            .map_err(raised)?;
        Ok(Self {
            ask,
            claim,
            scale,
            whole,
            number,
            cost,
            process: std::process::id(),
        })
    }
}

fn ended() -> PyErr {
    Class::Engine.raise(
        "the session ended inside, which is a defect of Deniable; what was charged stays charged\nhint: open another session",
    )
}

#[pymethods]
impl Session {
    /// Whether the number is about at or above the threshold; `None` when the positive answers are used up.
    fn ask(&self, py: Python<'_>, number: Numbers) -> PyResult<Option<bool>> {
        if self.process != std::process::id() {
            return Err(raised(Error::Forked));
        }
        let number = match number {
            Numbers::Whole(values) if self.whole => Numbers::Whole(values),
            Numbers::Real(_) if self.whole => {
                return Err(of_parameter(
                    "this session is about whole numbers\nhint: give a whole number, or open the session with a threshold that is a float",
                ));
            }
            other => Numbers::Real(other.reals()),
        };
        let put = self.claim.put(number, &self.scale).map_err(of_parameter)?;
        let [steps] = put.steps.as_slice() else {
            return Err(of_parameter(
                "a session is asked one number at a time\nhint: give one number",
            ));
        };
        let (answer, answered) = channel();
        self.ask.send((*steps, answer)).map_err(|_| ended())?;
        waiting(py, move || answered.recv())?
            .map_err(|_| ended())?
            .map_err(raised)
    }

    #[getter]
    fn number(&self) -> u64 {
        self.number
    }

    #[getter]
    fn cost(&self) -> String {
        self.cost.clone()
    }
}
