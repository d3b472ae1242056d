//! The exact verifier.

use super::{claimed, of_mistake};
use crate::work::waiting;
use audit::document::{self, Claim, Format, Mistake, Question, Verified};
use audit::exact_audit::Answer;
use exact::Interval;
use pyo3::prelude::*;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(audit_exact, module)?)?;
    Ok(())
}

/// What a number lies between.
#[derive(IntoPyObject)]
struct Range {
    lower: f64,
    upper: f64,
    /// The number itself as a fraction, where it is known and short.
    exact: Option<String>,
}

/// A fraction of more digits than this is no help to anybody.
const LONGEST_FRACTION: usize = 200;

impl Range {
    fn of(interval: &Interval) -> Self {
        let (lower, upper) = (interval.lower(), interval.upper());
        let exact = (lower == upper)
            .then(|| lower.to_string())
            .filter(|text| text.len() <= LONGEST_FRACTION);
        Self {
            lower: interval.to_f64_down(),
            upper: interval.to_f64_up(),
            exact,
        }
    }
}

/// What the exact verifier found.
#[derive(IntoPyObject)]
struct Exact {
    words: String,
    lines: Vec<String>,
    /// The smallest ε, where there is a finite one.
    epsilon: Option<Range>,
    /// Where there is none: what δ falls towards as ε grows.
    delta_at_least: Option<Range>,
    delta: Option<Range>,
    holds: Option<bool>,
}

impl Exact {
    fn of(verified: &Verified) -> Self {
        let answer = verified.epsilon.as_ref().map(|(_, answer)| answer);
        let (epsilon, delta_at_least) = match answer {
            None => (None, None),
            Some(Answer::Finite(least)) => (Some(Range::of(least)), None),
            Some(Answer::NoFinite { smallest_delta }) => (None, Some(Range::of(smallest_delta))),
        };
        let text = verified.to_text();
        Self {
            words: verified.pair.words.clone(),
            lines: text.lines().skip(1).map(|line| line.trim().to_owned()).collect(),
            epsilon,
            delta_at_least,
            delta: verified.delta.as_ref().map(|(_, least)| Range::of(least)),
            holds: verified.verdict.as_ref().map(|(_, holds)| *holds),
        }
    }
}

/// The verifier on a document in JSON. `claim` asks whether (ε, δ) holds; without it the smallest δ at ε, or the smallest ε at δ.
#[pyfunction]
#[pyo3(signature = (description, epsilon, delta, claim, words))]
fn audit_exact(
    py: Python<'_>,
    description: String,
    epsilon: Option<&str>,
    delta: Option<&str>,
    claim: bool,
    words: Option<String>,
) -> PyResult<Exact> {
    let asked = claimed(epsilon, delta)?;
    let question = if claim {
        Question {
            claim: asked,
            ..Question::default()
        }
    } else {
        Question {
            epsilon: asked.epsilon,
            delta: asked.delta,
            claim: Claim::default(),
        }
    };
    let answered = waiting(py, move || -> Result<Exact, Mistake> {
        let mut pair = document::parse(&description, Format::Json)?;
        // What is no file is not called one.
        pair.words = words.unwrap_or(pair.words);
        Ok(Exact::of(&document::answer(pair, question)?))
    })?;
    answered.map_err(|mistake| of_mistake(&mistake))
}
