//! Logistic and Poisson models from noisy counts of cells.
//!
//! The likelihood of a generalized linear model needs of the rows only, for each combination of the regressors' values, how many there are and the sum of their
//! responses: both are linear in the cells. So the estimating equation Σ over cells of x·(Σy − n·μ(xᵀβ)) = 0, which R's glm solves, is linear in the
//! released numbers. Their noise has mean 0, and so has the equation's at the true β; its covariance there is known. To first order
//! β̂ − β = J⁻¹·(score of the sample + noise of the score), with J = Σ n·μ′·x·xᵀ. The two errors are independent: their covariances J⁻¹ (that of any
//! book) and J⁻¹·Cov(noise of the score)·J⁻¹ add. As for least squares, every direction of J has to stand out from its noise.

use crate::cells::{Cells, Combination};
use crate::fit::{CONFIDENCE, Fit, Rows, Spread, coefficient, overall};
use crate::linear::{NEEDED, NEEDED_ROWS, check_noise, unscaling};
use crate::matrix::Matrix;
use crate::model::{Response, Source};
use crate::moments::Design;
use crate::{Error, Family, Model};

/// The equations of one model, in units of the design.
struct Equations<'a> {
    model: &'a Model,
    cells: &'a Cells,
    /// The factors of the kept columns in each cell.
    columns: Vec<&'a [f64]>,
    /// Whether a cell counts.
    counts: Vec<bool>,
    /// What a row of a cell adds to the response, beside what is summed.
    added: Vec<f64>,
    /// What one step of the summed response is.
    half: f64,
}

impl Equations<'_> {
    fn eta(&self, beta: &[f64], cell: usize) -> f64 {
        self.columns
            .iter()
            .zip(beta)
            .map(|(column, beta)| column[cell] * beta)
            .sum()
    }

    fn mean(&self, eta: f64) -> f64 {
        match self.model.family() {
            Family::Linear => eta,
            Family::Logistic => 1.0 / (1.0 + (-eta).exp()),
            Family::Poisson => eta.min(500.0).exp(),
        }
    }

    fn slope(&self, mean: f64) -> f64 {
        match self.model.family() {
            Family::Linear => 1.0,
            Family::Logistic => mean * (1.0 - mean),
            Family::Poisson => mean,
        }
    }

    /// The sum of responses in a cell.
    fn total(&self, cell: usize) -> f64 {
        let counted = self.added[cell] * self.cells.numbers[0][cell];
        match self.cells.numbers.get(1) {
            Some(sums) => counted + self.half * sums[cell],
            None => counted,
        }
    }

    fn score_and_information(&self, beta: &[f64]) -> (Vec<f64>, Matrix) {
        let size = self.columns.len();
        let mut score = vec![0.0; size];
        let mut information = Matrix::zero(size);
        for cell in self.used() {
            let mean = self.mean(self.eta(beta, cell));
            let rows = self.cells.numbers[0][cell];
            let rest = self.total(cell) - rows * mean;
            let weight = rows * self.slope(mean);
            for (row, one) in self.columns.iter().enumerate() {
                if one[cell] == 0.0 {
                    continue;
                }
                score[row] += one[cell] * rest;
                for (column, other) in self.columns.iter().enumerate().take(row + 1) {
                    information.add(row, column, weight * one[cell] * other[cell]);
                }
            }
        }
        for row in 0..size {
            for column in 0..row {
                information.set(column, row, information.at(row, column));
            }
        }
        (score, information)
    }

    fn used(&self) -> impl Iterator<Item = usize> + '_ {
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, counts)| **counts)
            .map(|(cell, _)| cell)
    }

    /// Σ over cells of `count(cell)` times rows and `sum(cell)` times what is summed.
    fn combination(&self, count: impl Fn(usize) -> f64, sum: impl Fn(usize) -> f64) -> Combination {
        let cells = self.counts.len();
        let mut combination = vec![vec![0.0; cells]; self.cells.numbers.len()];
        for cell in self.used() {
            combination[0][cell] = count(cell);
            if let Some(sums) = combination.get_mut(1) {
                sums[cell] = self.half * sum(cell);
            }
        }
        combination
    }

    /// The equations at β as combinations of the numbers.
    fn scores(&self, beta: &[f64]) -> Vec<Combination> {
        let means: Vec<f64> = (0..self.counts.len())
            .map(|cell| self.mean(self.eta(beta, cell)))
            .collect();
        let columns = self.columns.iter();
        columns
            .map(|column| {
                self.combination(
                    |cell| column[cell] * (self.added[cell] - means[cell]),
                    |cell| column[cell],
                )
            })
            .collect()
    }

    /// The noise of bᵀ·J·b.
    fn noise_along(&self, beta: &[f64], b: &[f64]) -> f64 {
        let combination = self.combination(
            |cell| {
                let slope = self.slope(self.mean(self.eta(beta, cell)));
                slope * self.eta(b, cell).powi(2)
            },
            |_| 0.0,
        );
        self.cells.covariance(&[combination]).at(0, 0)
    }

    /// The logarithm of the likelihood, but for what does not depend on β.
    fn likelihood(&self, beta: &[f64]) -> f64 {
        let of_cell = |cell: usize| {
            let eta = self.eta(beta, cell);
            let normalizer = match self.model.family() {
                Family::Linear => eta * eta / 2.0,
                Family::Logistic => eta.max(0.0) + (-eta.abs()).exp().ln_1p(),
                Family::Poisson => self.mean(eta),
            };
            self.total(cell) * eta - self.cells.numbers[0][cell] * normalizer
        };
        self.used().map(of_cell).sum()
    }

    fn solve(&self) -> Result<Vec<f64>, Error> {
        let rows: f64 = self.used().map(|cell| self.cells.numbers[0][cell]).sum();
        let mean = self.used().map(|cell| self.total(cell)).sum::<f64>() / rows;
        let start = match self.model.family() {
            Family::Linear => mean,
            Family::Logistic => (mean / (1.0 - mean)).ln(),
            Family::Poisson => mean.ln(),
        };
        if !start.is_finite() {
            return Err(Error::Diverges);
        }
        let mut beta = vec![0.0; self.columns.len()];
        beta[0] = start;
        for _ in 0..100 {
            let (score, information) = self.score_and_information(&beta);
            let Some(inverse) = information.inverse() else {
                return Err(Error::noisy(
                    "two regressors cannot be told apart, or one hardly varies",
                    0.0,
                    NEEDED,
                ));
            };
            let step = inverse.times(&score);
            let longest = step.iter().fold(0.0f64, |longest, step| longest.max(step.abs()));
            if !longest.is_finite() {
                return Err(Error::Diverges);
            }
            // No step is longer than what multiplies odds or means by e².
            let shortened = (2.0 / longest).min(1.0);
            for (beta, step) in beta.iter_mut().zip(&step) {
                *beta += shortened * step;
            }
            if beta.iter().any(|beta| beta.abs() > 60.0) {
                return Err(Error::Diverges);
            }
            if longest < 1e-10 {
                return Ok(beta);
            }
        }
        Err(Error::Diverges)
    }
}

pub(crate) fn fit(model: &Model, cells: &Cells) -> Result<Fit, Error> {
    let whole = Design::new(model, &[])?;
    let rare = rare(model, cells, &whole);
    let left_out: Vec<(usize, usize)> = rare
        .iter()
        .filter_map(|place| match model.columns[*place].levels[..] {
            [level] => Some(level),
            _ => None,
        })
        .collect();
    let kept: Vec<usize> = (0..model.columns.len())
        .filter(|place| {
            let column = &model.columns[*place];
            !rare.contains(place) && !column.levels.iter().any(|level| left_out.contains(level))
        })
        .collect();
    let design = if left_out.is_empty() {
        whole
    } else {
        Design::new(model, &left_out)?
    };
    let equations = equations(model, cells, &design, &kept);
    let beta = equations.solve()?;
    let (_, information) = equations.score_and_information(&beta);
    check_noise(&information, |b| equations.noise_along(&beta, b), NEEDED)?;
    let sampling = information.inverse().ok_or(Error::Diverges)?;
    let noise = cells.covariance(&equations.scores(&beta)).between(&sampling);
    let (outer, _) = unscaling(model, &kept);
    let estimates = outer.times(&beta);
    let (sampling, noise) = (sampling.between(&outer), noise.between(&outer));
    let rows = equations.combination(|_| 1.0, |_| 0.0);
    let r_squared = mcfadden(&equations, &beta);
    let coefficients = kept.iter().enumerate().map(|(place, column)| {
        coefficient(
            model.columns[*column].name.clone(),
            estimates[place],
            sampling.at(place, place),
            noise.at(place, place),
            0.0,
        )
    });
    let mut fit = Fit {
        formula: model.formula().to_string(),
        response: model.response_name(),
        family: model.family(),
        coefficients: coefficients.collect(),
        left_out: (0..model.columns.len())
            .filter(|place| !kept.contains(place))
            .map(|place| model.columns[place].name.clone())
            .collect(),
        rows: Rows {
            value: cells.values(std::slice::from_ref(&rows))[0],
            deviation: cells.covariance(&[rows]).at(0, 0).sqrt(),
        },
        residual_error: None,
        r_squared,
        adjusted_r_squared: None,
        overall: overall(&estimates, &sampling.sum(&noise), None),
        confidence: CONFIDENCE,
        notes: Vec::new(),
        spread: Spread {
            sampling: Some(sampling),
            noise: Some(noise),
            uncertainty: 0.0,
            groups: Vec::new(),
        },
    };
    if model.family() == Family::Poisson {
        fit.notes.push(
            "errors take counts for Poisson: where they vary more than that, errors are too small".to_owned(),
        );
    }
    Ok(fit)
}

fn equations<'a>(
    model: &'a Model,
    cells: &'a Cells,
    design: &'a Design<'a>,
    kept: &[usize],
) -> Equations<'a> {
    let last = design.factors.len() - 1;
    let (middle, half) = match model.response {
        Response::Number(source) => model.scale(source),
        Response::Event { .. } => (0.0, 1.0),
    };
    let summed = matches!(model.response, Response::Number(Source::Summed(_)));
    let counts: Vec<bool> = design.factors[0].iter().map(|one| *one != 0.0).collect();
    // A list of responses has the score of each cell in units of the design; a summed one adds its middle for each row.
    let added = design.factors[last].iter().map(|factor| match summed {
        true => middle,
        false => middle + half * factor,
    });
    Equations {
        added: added.collect(),
        columns: kept
            .iter()
            .map(|place| design.factors[*place].as_slice())
            .collect(),
        model,
        cells,
        counts,
        half,
    }
}

/// Values of factors whose rows do not stand out from their noise.
fn rare(model: &Model, cells: &Cells, design: &Design<'_>) -> Vec<usize> {
    (1..model.columns.len())
        .filter(|place| {
            let column = &model.columns[*place];
            if column.levels.is_empty() {
                return false;
            }
            let mut combination = vec![vec![0.0; design.factors[0].len()]; cells.numbers.len()];
            combination[0] = design.factors[*place]
                .iter()
                .map(|factor| factor * factor)
                .collect();
            let value = cells.values(std::slice::from_ref(&combination))[0];
            let deviation = cells.covariance(&[combination]).at(0, 0).sqrt();
            value.is_nan() || value < NEEDED_ROWS * deviation
        })
        .collect()
}

/// McFadden's R²: how much of the logarithm of the likelihood is explained. For counts it would need what was not measured.
fn mcfadden(equations: &Equations<'_>, beta: &[f64]) -> Option<f64> {
    if equations.model.family() != Family::Logistic {
        return None;
    }
    let rows: f64 = equations
        .used()
        .map(|cell| equations.cells.numbers[0][cell])
        .sum();
    let mean = equations.used().map(|cell| equations.total(cell)).sum::<f64>() / rows;
    let mut none = vec![0.0; beta.len()];
    none[0] = (mean / (1.0 - mean)).ln();
    Some((1.0 - equations.likelihood(beta) / equations.likelihood(&none)).clamp(0.0, 1.0))
}
