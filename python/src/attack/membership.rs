//! Membership: who was in the data.

use super::{quantity, stoppable};
use crate::errors::of_parameter;
use crate::work::waiting;
use accounting::{Delta, Epsilon};
use attack::membership::{Experiment, Limit, Noise, Population, Published, SCORES, Score, Scores, Tracing};
use pyo3::prelude::*;
use std::sync::atomic::Ordering;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(attack_trace, module)?)?;
    module.add_function(wrap_pyfunction!(attack_scores, module)?)?;
    module.add_function(wrap_pyfunction!(attack_study, module)?)?;
    Ok(())
}

fn noise(kind: &str, epsilon: Option<&str>, delta: &str) -> PyResult<Noise> {
    let epsilon = epsilon.map(|text| quantity(Epsilon::parse(text))).transpose()?;
    let delta = quantity(Delta::parse(delta))?;
    match (kind, epsilon) {
        (_, None) => Ok(Noise::None),
        ("gaussian", Some(epsilon)) => Ok(Noise::Gaussian(epsilon, delta)),
        ("laplace", Some(epsilon)) => Ok(Noise::Laplace(epsilon)),
        _ => Err(of_parameter(
            "noise must be gaussian or laplace\nhint: leave epsilon out where there was no noise",
        )),
    }
}

/// Deviations above a stranger, how often a stranger scores as high, and the likelihood ratio as a power of ten.
type Standing = (f64, f64, f64);

/// People held against published means. The second is the most members that any test accuses which accuses one stranger in a hundred.
#[pyfunction]
#[pyo3(signature = (people, means, frequencies, targets, kind, epsilon, delta))]
#[allow(
    clippy::too_many_arguments,
    reason = "it is called from one place, by position"
)]
fn attack_trace(
    py: Python<'_>,
    people: u32,
    means: Vec<f64>,
    frequencies: Vec<f64>,
    targets: Vec<Vec<bool>>,
    kind: &str,
    epsilon: Option<&str>,
    delta: &str,
) -> PyResult<(Vec<Standing>, f64)> {
    // Also refuses a frequency that is none.
    let population = Population::new(&frequencies).map_err(of_parameter)?;
    if people == 0 || means.is_empty() || means.len() != frequencies.len() {
        return Err(of_parameter(
            "a study needs people, and each attribute a mean and a frequency\nhint: give both with the same attributes in the same order",
        ));
    }
    if means.iter().any(|mean| !mean.is_finite()) {
        return Err(of_parameter(
            "a published mean is no number\nhint: leave out what was not published",
        ));
    }
    if targets.iter().any(|target| target.len() != means.len()) {
        return Err(of_parameter(
            "a target does not have one value for each attribute\nhint: give 1 for who has it and 0 for who has not",
        ));
    }
    let noise = noise(kind, epsilon, delta)?;
    let size = noise.size(means.len(), people).map_err(of_parameter)?;
    let allowed = noise.limit().map_or(1.0, |limit| limit.true_positives(0.01));
    let standings = waiting(py, move || {
        let tracing = Tracing::new(&Published {
            people,
            means: &means,
            frequencies: population.frequencies(),
            noise: &noise,
            size,
        });
        let standing = |target: &Vec<bool>| {
            let suspect = tracing.suspect(String::new(), target);
            (suspect.above, suspect.chance, suspect.ratio)
        };
        targets.iter().map(standing).collect()
    })?;
    Ok((standings, allowed))
}

/// How well scores tell members from strangers.
#[derive(IntoPyObject)]
struct Told {
    area: f64,
    area_error: f64,
    curve: Vec<(f64, f64)>,
    /// For each rate of false accusations: members and strangers accused, of how many each.
    accusations: Vec<(u64, u64, u64)>,
    /// The most area that (ε, δ) allows, and the most members at each rate.
    area_allowed: Option<f64>,
    allowed: Option<Vec<f64>>,
}

/// Scores of members and strangers, of independent trials.
#[pyfunction]
#[pyo3(signature = (inside, outside, rates, epsilon, delta))]
fn attack_scores(
    py: Python<'_>,
    inside: Vec<f64>,
    outside: Vec<f64>,
    rates: Vec<f64>,
    epsilon: Option<&str>,
    delta: &str,
) -> PyResult<Told> {
    if inside.len() < 2 || inside.len() != outside.len() {
        return Err(of_parameter(
            "there must be as many scores of members as of others, and two of each at least\nhint: take equally many of both at random",
        ));
    }
    if inside.iter().chain(&outside).any(|score| score.is_nan()) {
        return Err(of_parameter(
            "a score is not a number\nhint: give who has no score one in the middle",
        ));
    }
    let epsilon = epsilon.map(|text| quantity(Epsilon::parse(text))).transpose()?;
    let delta = quantity(Delta::parse(delta))?;
    let limit = epsilon.map(|epsilon| Limit {
        epsilon: epsilon.to_f64_up(),
        delta: delta.to_f64_up(),
    });
    waiting(py, move || {
        let scores = Scores { inside, outside };
        let accused = |rate: &f64| {
            let counted = scores.accusations(*rate);
            (counted.true_positives, counted.false_positives, counted.trials)
        };
        Told {
            area: scores.area(),
            area_error: scores.area_error(),
            curve: scores.curve(),
            accusations: rates.iter().map(accused).collect(),
            area_allowed: limit.map(|limit| limit.area()),
            allowed: limit.map(|limit| rates.iter().map(|rate| limit.true_positives(*rate)).collect()),
        }
    })
}

/// Scores of members and of strangers.
type Pairs = (Vec<f64>, Vec<f64>);

/// Synthetic studies, each tried on one member and on one stranger: the scores of one way of scoring.
#[pyfunction]
#[pyo3(signature = (people, attributes, trials, seed, score, kind, epsilon, delta))]
#[allow(
    clippy::too_many_arguments,
    reason = "it is called from one place, by position"
)]
fn attack_study(
    py: Python<'_>,
    people: u32,
    attributes: usize,
    trials: u64,
    seed: u64,
    score: &str,
    kind: &str,
    epsilon: Option<&str>,
    delta: &str,
) -> PyResult<Pairs> {
    let noise = noise(kind, epsilon, delta)?;
    let asked = match score {
        "inner-product" => Score::InnerProduct,
        "likelihood-ratio" => Score::LikelihoodRatio,
        _ => {
            return Err(of_parameter(
                "score must be inner-product or likelihood-ratio\nhint: the likelihood ratio is the better one where the noise is known",
            ));
        }
    };
    if !(20..=100_000_000).contains(&trials) || attributes > 1 << 26 {
        return Err(of_parameter(
            "trials must lie between 20 and 1e8, and attributes be at most 2^26\nhint: 2000 trials tell areas to about 0.01",
        ));
    }
    let found = stoppable(py, move |flag| {
        let experiment = Experiment {
            population: &Population::uniform(attributes, seed),
            people,
            noises: &[noise],
            trials,
            seed,
        };
        experiment.run(&|_| !flag.load(Ordering::Relaxed))
    })?
    .map_err(of_parameter)?;
    let place = SCORES.iter().position(|score| *score == asked).unwrap_or(0);
    let scores = found.into_iter().flatten().nth(place).unwrap_or_default();
    Ok((scores.inside, scores.outside))
}
