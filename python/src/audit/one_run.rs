//! One run with canaries.

use super::{claimed, of_mistake};
use crate::errors::of_parameter;
use audit::one_run::{Tried, guess, judge, sides};
use exact::to_f64_up;
use noise::{Entropy as _, OsEntropy};
use pyo3::prelude::*;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(audit_one_run, module)?)?;
    Ok(())
}

/// What one run with canaries shows.
#[derive(IntoPyObject)]
struct OneRun {
    epsilon_lower: f64,
    refuted: Option<bool>,
    canaries: usize,
    included: usize,
    guesses: u64,
    correct: u64,
    allowed: Option<u64>,
    largest: f64,
}

/// Guesses by scores which canaries were in, and counts right guesses.
#[pyfunction]
#[pyo3(signature = (scores, included, epsilon, delta, confidence, each_side))]
fn audit_one_run(
    scores: Vec<f64>,
    included: Vec<bool>,
    epsilon: Option<&str>,
    delta: &str,
    confidence: f64,
    each_side: Option<usize>,
) -> PyResult<OneRun> {
    let claim = claimed(epsilon, Some(delta))?;
    let canaries = scores.len();
    if canaries != included.len() {
        return Err(of_parameter(
            "there are not as many scores as canaries\nhint: give each canary its score, in the same order, whether it was included or not",
        ));
    }
    if canaries < 2 {
        return Err(of_parameter(
            "fewer than two canaries show nothing\nhint: a thousand or more are usual",
        ));
    }
    let sides = match each_side {
        None => sides(canaries),
        Some(side) if (1..=canaries / 2).contains(&side) => vec![side],
        Some(_) => {
            return Err(of_parameter(format!(
                "guesses must lie between 1 and {}\nhint: it counts guesses on each side: this many in, and as many out",
                canaries / 2
            )));
        }
    };
    // Equal scores are told apart by their places. A caller may well have put all that were included first,
    // so places are drawn anew, without a look at the coins.
    let mut entropy = OsEntropy::new().map_err(of_parameter)?;
    let order = shuffled(canaries, &mut entropy);
    let scores: Vec<f64> = order.iter().map(|place| scores[*place]).collect();
    let mut guessed = Vec::new();
    for side in &sides {
        guessed.push(guess(&scores, *side, *side).map_err(|mistake| of_mistake(&mistake))?);
    }
    let coins: Vec<bool> = order.iter().map(|place| included[*place]).collect();
    let mut counts = Vec::new();
    for guesses in &guessed {
        let judged = judge(guesses, &coins).map_err(|mistake| of_mistake(&mistake))?;
        counts.push((judged.guesses as u64, judged.correct as u64));
    }
    let tried = Tried::new(canaries as u64, counts.clone()).map_err(of_parameter)?;
    let delta = to_f64_up(&claim.delta_or_zero().0);
    let found = tried.lower_bound(delta, confidence).map_err(of_parameter)?;
    let claimed = claim.epsilon.map(|epsilon| to_f64_up(&epsilon.0));
    let allowed = claimed
        .map(|epsilon| tried.most_allowed(found.best, epsilon, delta, confidence))
        .transpose()
        .map_err(of_parameter)?;
    let (guesses, correct) = counts[found.best];
    Ok(OneRun {
        epsilon_lower: found.epsilon,
        refuted: claimed.map(|epsilon| found.epsilon > epsilon),
        canaries,
        included: included.iter().filter(|inside| **inside).count(),
        guesses,
        correct,
        allowed,
        largest: tried.largest_bound(delta, confidence).map_err(of_parameter)?,
    })
}

/// All places in a random order (Fisher and Yates).
fn shuffled(count: usize, entropy: &mut OsEntropy) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for place in (1..count).rev() {
        let choices = place as u64 + 1;
        // Words at the end that would favour small places are drawn again.
        let most = u64::MAX - u64::MAX % choices;
        let mut bits = entropy.bits(64);
        while bits >= most {
            bits = entropy.bits(64);
        }
        order.swap(place, (bits % choices) as usize);
    }
    order
}
