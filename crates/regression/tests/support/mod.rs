//! People that are made up, counted into the cells of a model, with noise.

#![allow(dead_code, reason = "each test uses what it needs")]

use noise::Seeded;
use regression::{Cells, Family, Formula, Listed, Model, Variable};

pub(crate) fn listed(labels: &[&str]) -> Variable {
    Variable::Listed(Listed {
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        scores: None,
        missing: None,
        binned: false,
    })
}

pub(crate) fn scored(scores: &[f64]) -> Variable {
    Variable::Listed(Listed {
        labels: scores.iter().map(ToString::to_string).collect(),
        scores: Some(scores.to_vec()),
        missing: None,
        binned: false,
    })
}

pub(crate) fn model(formula: &str, family: Family, variables: &[(&str, Variable)]) -> Model {
    let variables: Vec<(String, Variable)> = variables
        .iter()
        .map(|(name, variable)| ((*name).to_owned(), variable.clone()))
        .collect();
    Model::new(Formula::parse(formula).unwrap(), family, &variables, &[]).unwrap()
}

/// The noise of a statistic: its standard deviation, and whether it is Gaussian or else Laplace.
#[derive(Clone, Copy)]
pub(crate) struct Noise {
    pub(crate) deviation: f64,
    pub(crate) gaussian: bool,
}

pub(crate) fn noise(seeded: &mut Seeded, noise: Noise) -> f64 {
    if noise.gaussian {
        return noise.deviation * seeded.normal();
    }
    let part = seeded.unit() - 0.5;
    -noise.deviation / std::f64::consts::SQRT_2 * part.signum() * (1.0 - 2.0 * part.abs()).ln()
}

/// Rows, each with a code for every axis of the model and its summed numbers in their own units.
pub(crate) fn cells(model: &Model, rows: &[(Vec<usize>, Vec<f64>)], of: Noise, seeded: &mut Seeded) -> Cells {
    let statistics = model.statistics();
    let mut numbers = vec![vec![0.0; model.cells().unwrap()]; statistics.len()];
    for (codes, values) in rows {
        let place = codes
            .iter()
            .zip(model.axes())
            .fold(0, |place, (code, axis)| place * axis.listed.labels.len() + code);
        let unit = |at: &Option<usize>| {
            at.map_or(1.0, |at| {
                let summed = &model.summed()[at];
                (values[at].clamp(summed.low, summed.high) - summed.middle()) / summed.half()
            })
        };
        for (numbers, (one, other)) in numbers.iter_mut().zip(&statistics) {
            numbers[place] += unit(one) * unit(other);
        }
    }
    for number in numbers.iter_mut().flatten() {
        *number += noise(seeded, of);
    }
    let variances = vec![of.deviation * of.deviation; statistics.len()];
    Cells::new(model, numbers, variances).unwrap()
}

/// Six standard errors of a share that is `expected` of `count` cases: farther with probability below 2e-9.
pub(crate) fn six_errors(expected: f64, count: usize) -> f64 {
    6.0 * (expected * (1.0 - expected) / count as f64).sqrt()
}
