//! Goodness of fit.

use super::number;
use crate::errors::of_parameter;
use crate::work::waiting;
use audit::goodness::{self, Fit};
use exact::{Rational, ratio};
use pyo3::prelude::*;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(audit_fit, module)?)?;
    module.add_function(wrap_pyfunction!(audit_fit_categories, module)?)?;
    Ok(())
}

/// How a sample fits.
#[derive(IntoPyObject)]
struct Fitted {
    consistent: bool,
    statistic: f64,
    limit: f64,
    samples: u64,
}

impl From<Fit> for Fitted {
    fn from(fit: Fit) -> Self {
        let (statistic, limit, samples) = match fit {
            Fit::Consistent {
                statistic,
                limit,
                samples,
            }
            | Fit::Rejected {
                statistic,
                limit,
                samples,
                ..
            } => (statistic, limit, samples),
        };
        Self {
            consistent: fit.is_consistent(),
            statistic,
            limit,
            samples,
        }
    }
}

fn check_false_alarm(false_alarm: f64) -> PyResult<()> {
    if false_alarm > 0.0 && false_alarm < 1.0 {
        return Ok(());
    }
    Err(of_parameter(
        "false_alarm must lie strictly between 0 and 1\nhint: 1e-9 is a good one: a right sampler fails once in a billion tests",
    ))
}

/// Whole numbers against a named distribution.
#[pyfunction]
fn audit_fit(
    py: Python<'_>,
    samples: Vec<i64>,
    kind: String,
    width: &str,
    false_alarm: f64,
) -> PyResult<Fitted> {
    check_false_alarm(false_alarm)?;
    if samples.is_empty() {
        return Err(of_parameter(
            "there are no samples\nhint: a hundred thousand tell distributions apart that differ by a percent",
        ));
    }
    let width = number("the width of the distribution", width)?.0;
    if width < ratio(1, 100) || width > Rational::from(1_000_000u32) {
        return Err(of_parameter(
            "the scale or sigma must lie between 0.01 and 1e6\nhint: it is counted in steps of the whole numbers that were sampled",
        ));
    }
    let fit = waiting(py, move || match kind.as_str() {
        "discrete-laplace" => {
            let reference = goodness::discrete_laplace_cdf(&width);
            Some(goodness::cdf_test(&samples, reference, false_alarm))
        }
        "discrete-gaussian" => {
            let reference = goodness::discrete_gaussian_cdf(&(&width * &width));
            Some(goodness::cdf_test(&samples, reference, false_alarm))
        }
        "rounded-gaussian" => {
            let reference = goodness::rounded_gaussian_cdf(&width);
            Some(goodness::cdf_test(&samples, reference, false_alarm))
        }
        _ => None,
    })?;
    fit.map(Fitted::from).ok_or_else(|| {
        of_parameter(
            "this distribution is not known\nhint: discrete-laplace, discrete-gaussian and rounded-gaussian are; or give the probability of each label",
        )
    })
}

/// Counts of labels against their probabilities.
#[pyfunction]
fn audit_fit_categories(counts: Vec<u64>, probabilities: Vec<f64>, false_alarm: f64) -> PyResult<Fitted> {
    check_false_alarm(false_alarm)?;
    if counts.len() != probabilities.len() || counts.is_empty() {
        return Err(of_parameter(
            "there must be a probability for each count\nhint: name every label that can occur",
        ));
    }
    let in_range = probabilities
        .iter()
        .all(|probability| (0.0..=1.0).contains(probability));
    let total: u64 = counts.iter().sum();
    if !in_range || total == 0 || total >= 1 << 32 {
        return Err(of_parameter(
            "probabilities must lie between 0 and 1, and there must be a sample and fewer than 2^32\nhint: check what was counted",
        ));
    }
    Ok(goodness::categorical_test(&counts, &probabilities, false_alarm).into())
}
