//! Released results: public from here on.

use crate::errors::of_parameter;
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array};
use arrow_schema::Field;
use exact::{Rational, from_f64, ratio, to_f64_up};
use mechanism::{Accuracy, RandomizedResponse, Receipt, Release};
use noise::Grid;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyCapsule, PyTuple};
use std::sync::Arc;

/// A released value, how far it may be off, and what it cost.
#[pyclass(frozen, module = "deniable._deniable")]
pub(crate) struct Released {
    value: Value,
    accuracy: Accuracy,
    grid: Grid,
    /// Whether numbers were rounded to the grid before the noise.
    rounded: bool,
    receipt: Receipt,
}

pub(crate) enum Value {
    One(i64),
    Many(Vec<i64>),
    Choice(usize),
    Answers(Vec<bool>),
}

impl Released {
    pub(crate) fn new<T>(release: Release<T>, rounded: bool, value: impl FnOnce(T) -> Value) -> Self {
        let (accuracy, grid) = (release.accuracy().clone(), release.grid());
        let receipt = release.receipt().clone();
        Self {
            value: value(release.into_value()),
            accuracy,
            grid,
            rounded,
            receipt,
        }
    }

    fn is_whole(&self) -> bool {
        !self.rounded && self.grid.exponent() == 0
    }

    /// How far each of `count` values may be off, as a real number.
    fn half_width(&self, confidence: f64, count: usize) -> PyResult<Option<f64>> {
        check(confidence)?;
        let Some(half) = self.accuracy.half_width(confidence, count).and_then(from_f64) else {
            return Ok(None);
        };
        let rounding = if self.rounded { ratio(1, 2) } else { Rational::ZERO };
        Ok(Some(to_f64_up(&((half + rounding) * self.grid.step()))))
    }

    fn buffer<'py>(
        py: Python<'py>,
        values: impl ExactSizeIterator<Item = [u8; 8]>,
    ) -> PyResult<Bound<'py, PyByteArray>> {
        PyByteArray::new_with(py, values.len() * 8, |bytes| {
            for (place, value) in bytes.chunks_exact_mut(8).zip(values) {
                place.copy_from_slice(&value);
            }
            Ok(())
        })
    }
}

fn check(confidence: f64) -> PyResult<()> {
    if confidence > 0.0 && confidence < 1.0 {
        return Ok(());
    }
    Err(of_parameter(
        "a confidence is not strictly between 0 and 1\nhint: give one such as 0.95",
    ))
}

/// Certainly not above the value, less the half width.
fn low(grid: Grid, steps: i64, half: f64) -> f64 {
    if steps == i64::MIN || steps == i64::MAX {
        return f64::NEG_INFINITY;
    }
    (grid.value(steps).next_down() - half).next_down()
}

/// Certainly not below the value and the half width.
fn high(grid: Grid, steps: i64, half: f64) -> f64 {
    if steps == i64::MIN || steps == i64::MAX {
        return f64::INFINITY;
    }
    (grid.value(steps).next_up() + half).next_up()
}

#[pymethods]
impl Released {
    /// `one`, `many`, `choice` or `answers`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.value {
            Value::One(_) => "one",
            Value::Many(_) => "many",
            Value::Choice(_) => "choice",
            Value::Answers(_) => "answers",
        }
    }

    /// Whether the values are whole numbers.
    #[getter]
    fn whole(&self) -> bool {
        self.is_whole()
    }

    /// The value: a number, the place of a choice, a list of answers, or a buffer of numbers of eight bytes.
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.value {
            Value::One(steps) if self.is_whole() => steps.into_bound_py_any(py),
            Value::One(steps) => self.grid.value(*steps).into_bound_py_any(py),
            Value::Many(steps) if self.is_whole() => {
                Self::buffer(py, steps.iter().map(|steps| steps.to_ne_bytes())).map(Bound::into_any)
            }
            Value::Many(steps) => {
                let values = steps.iter().map(|steps| self.grid.value(*steps).to_ne_bytes());
                Self::buffer(py, values).map(Bound::into_any)
            }
            Value::Choice(place) => place.into_bound_py_any(py),
            Value::Answers(answers) => answers.clone().into_bound_py_any(py),
        }
    }

    /// How far off it is at most, with this probability; of several values, all of them together. For a choice, how far its score is below the best.
    fn margin(&self, confidence: f64) -> PyResult<Option<f64>> {
        let count = match &self.value {
            Value::Many(steps) => steps.len(),
            _ => 1,
        };
        self.half_width(confidence, count)
    }

    /// The ends of the interval: two numbers, or two buffers of numbers.
    fn interval<'py>(&self, py: Python<'py>, confidence: f64) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let Some(half) = self.margin(confidence)? else {
            return Ok(None);
        };
        let grid = self.grid;
        match &self.value {
            Value::One(steps) => (low(grid, *steps, half), high(grid, *steps, half))
                .into_pyobject(py)
                .map(Some),
            Value::Many(steps) => {
                let lows = steps.iter().map(|steps| low(grid, *steps, half).to_ne_bytes());
                let highs = steps.iter().map(|steps| high(grid, *steps, half).to_ne_bytes());
                (Self::buffer(py, lows)?, Self::buffer(py, highs)?)
                    .into_pyobject(py)
                    .map(Some)
            }
            Value::Choice(_) | Value::Answers(_) => Ok(None),
        }
    }

    /// The place of its charge in the ledger.
    #[getter]
    fn number(&self) -> u64 {
        self.receipt.number
    }

    /// What it cost, in words.
    #[getter]
    fn cost(&self) -> String {
        self.receipt.charge.guarantee.promise().to_string()
    }

    /// What ran, as a ledger writes it.
    #[getter]
    fn event(&self) -> PyResult<String> {
        event_of(&self.receipt)
    }

    /// The values as an Arrow array.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let Value::Many(steps) = &self.value else {
            return Err(of_parameter(
                "one value is no array\nhint: use .value; several numbers that were released together are an array",
            ));
        };
        let array: ArrayRef = if self.is_whole() {
            Arc::new(Int64Array::from(steps.clone()))
        } else {
            Arc::new(Float64Array::from_iter_values(
                steps.iter().map(|steps| self.grid.value(*steps)),
            ))
        };
        let field = Arc::new(Field::new("value", array.data_type().clone(), false));
        Ok(pyo3_arrow::ffi::to_array_pycapsules(
            py,
            field,
            &array,
            requested_schema,
        )?)
    }
}

fn event_of(receipt: &Receipt) -> PyResult<String> {
    serde_json::to_string(&receipt.charge.event).map_err(of_parameter)
}

/// Randomized answers, and what they tell of all units together.
#[pyclass(frozen, module = "deniable._deniable")]
pub(crate) struct Reports {
    mechanism: RandomizedResponse,
    codes: Vec<u32>,
    receipt: Receipt,
}

impl Reports {
    pub(crate) fn new(mechanism: RandomizedResponse, release: Release<Vec<u32>>) -> Self {
        let receipt = release.receipt().clone();
        Self {
            mechanism,
            codes: release.into_value(),
            receipt,
        }
    }
}

#[pymethods]
impl Reports {
    /// The reported answers, as a buffer of whole numbers of eight bytes.
    fn codes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        Released::buffer(py, self.codes.iter().map(|code| i64::from(*code).to_ne_bytes()))
    }

    /// Of each answer: its fraction, the standard deviation of that, and the ends of an interval. All intervals hold together with this probability.
    fn estimate(&self, confidence: f64) -> PyResult<Vec<(f64, f64, f64, f64)>> {
        check(confidence)?;
        let estimates = self
            .mechanism
            .estimate(&self.codes, confidence)
            .map_err(of_parameter)?;
        Ok(estimates
            .into_iter()
            .map(|estimate| (estimate.fraction, estimate.deviation, estimate.low, estimate.high))
            .collect())
    }

    #[getter]
    fn number(&self) -> u64 {
        self.receipt.number
    }

    #[getter]
    fn cost(&self) -> String {
        self.receipt.charge.guarantee.promise().to_string()
    }

    #[getter]
    fn event(&self) -> PyResult<String> {
        event_of(&self.receipt)
    }
}
