//! `deniable.survey`: answers that are randomized where they are given, and estimates from the reports.
//!
//! A release of answers opens an account that can pay for exactly that, as the crate does it: randomizing
//! again spends again.

use crate::errors::of_parameter;
use crate::work::waiting;
use accounting::Epsilon;
use exact::to_f64_nearest;
use mechanism::{LocalMechanism, LocalNoise, Questionnaire, Sensitive};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use std::sync::Arc;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SurveyQuestion>()
}

fn of_survey(error: impl std::fmt::Display) -> PyErr {
    let text = error.to_string();
    of_parameter(if !text.contains("\nhint: ") {
        format!("{text}\nhint: help(deniable.survey.Survey) says what each parameter may be")
    } else {
        text.replace(
            "write it like --answers yes,no",
            "write it as answers=(\"yes\", \"no\")",
        )
    })
}

/// A question with its possible answers, and how they are randomized.
#[pyclass(frozen, module = "deniable._deniable")]
struct SurveyQuestion(Arc<Questionnaire>);

/// What reports say about one answer: the fraction, its deviation, and the ends of its interval.
type Fraction = (f64, f64, f64, f64);

#[pymethods]
impl SurveyQuestion {
    #[new]
    #[pyo3(signature = (answers, mechanism, epsilon, gamma))]
    fn new(
        answers: Vec<String>,
        mechanism: &str,
        epsilon: Option<&str>,
        gamma: Option<&str>,
    ) -> PyResult<Self> {
        let mechanism = match mechanism {
            "randomized-response" => LocalMechanism::RandomizedResponse,
            "unary" => LocalMechanism::Unary,
            "unary-symmetric" => LocalMechanism::UnarySymmetric,
            "local-hashing" => LocalMechanism::LocalHashing,
            _ => {
                return Err(of_parameter(
                    "this mechanism is not known\nhint: it is one of randomized-response, unary, unary-symmetric and local-hashing",
                ));
            }
        };
        let noise = match (epsilon, gamma) {
            (Some(epsilon), None) => LocalNoise::Epsilon(Epsilon::parse(epsilon).map_err(of_survey)?),
            (None, Some(gamma)) => LocalNoise::Gamma(crate::audit::number("gamma", gamma)?.0),
            _ => {
                return Err(of_parameter(
                    "how much noise?\nhint: give epsilon=1, or gamma=\"1/4\" for two answers, and not both",
                ));
            }
        };
        let question = Questionnaire::new(answers, mechanism, &noise).map_err(of_survey)?;
        Ok(Self(Arc::new(question)))
    }

    /// The possible answers, without spaces around them.
    fn answers(&self) -> Vec<String> {
        self.0.answers().to_vec()
    }

    /// Its ε, as an exact decimal and as the nearest float.
    fn epsilon(&self) -> (String, f64) {
        let epsilon = self.0.epsilon();
        (epsilon.to_string(), to_f64_nearest(epsilon.as_rational()))
    }

    /// With what probability a report supports the true answer, and any one other.
    fn supports(&self) -> (f64, f64) {
        let frequencies = self.0.frequencies();
        (
            to_f64_nearest(frequencies.true_support()),
            to_f64_nearest(frequencies.false_support()),
        )
    }

    /// How far estimates from so many reports are off at most, all of them together, with this probability.
    fn half_width(&self, reports: u64, confidence: f64) -> PyResult<f64> {
        self.0
            .frequencies()
            .half_width(reports, confidence)
            .map_err(of_survey)
    }

    /// One report for each answer, in one release, and what that cost.
    fn randomize(
        &self,
        py: Python<'_>,
        answers: Vec<PyBackedStr>,
        purpose: String,
    ) -> PyResult<(Vec<String>, String)> {
        let question = Arc::clone(&self.0);
        let released = waiting(py, move || {
            let numbers = question.numbers();
            let last = numbers
                .get(question.catch_all().as_bytes())
                .copied()
                .unwrap_or_default();
            // What is none of the answers counts as the last of them, so that no error tells what somebody
            // answered.
            let number = |answer: &PyBackedStr| {
                let answer = answer.as_bytes().trim_ascii();
                numbers.get(answer).copied().unwrap_or(last)
            };
            let sensitive = Sensitive::new(answers.iter().map(number).collect());
            question.randomize(sensitive, &purpose)
        })?;
        let (reports, receipt) = released.map_err(of_survey)?;
        Ok((reports, receipt.charge.guarantee.to_string()))
    }

    /// The fraction of each answer among those who gave these reports.
    fn estimate(
        &self,
        py: Python<'_>,
        reports: Vec<PyBackedStr>,
        confidence: f64,
    ) -> PyResult<Vec<Fraction>> {
        let question = Arc::clone(&self.0);
        let estimates = waiting(py, move || {
            let mut read = question.reports().map_err(|error| error.to_string())?;
            for (place, report) in reports.iter().enumerate() {
                if read.push(report.as_bytes()).is_none() {
                    return Err(format!(
                        "the report in place {place} is none of this mechanism\nhint: give the same answers, mechanism and noise as to randomize; places are counted from 0"
                    ));
                }
            }
            read.estimate(confidence).map_err(|error| error.to_string())
        })?;
        let fraction = |estimate: mechanism::Estimate| {
            (estimate.fraction, estimate.deviation, estimate.low, estimate.high)
        };
        Ok(estimates.map_err(of_survey)?.into_iter().map(fraction).collect())
    }
}
