//! Least squares from noisy moments.
//!
//! M = Σ x·xᵀ over rows is measured with noise E of known covariance, the response being the last entry of x. The estimate solves the noisy normal
//! equations, S·β = s. With b = (−β, 1), the noise of the equations at β is the first part of E·b, so to first order
//! β̂ − β = S⁻¹·(Σ x·(y − xᵀβ) + E·b): the error of sampling, with covariance σ²·S⁻¹ as in any book, and that of noise, with covariance
//! S⁻¹·Cov(E·b)·S⁻¹, which is known. They are independent, so they add. Second-order terms (noise of S times noise of S) are small where every
//! direction of S stands out from its noise; [`NEEDED`] says by how much, and a model that does not is refused.
//!
//! Least squares fits the noise of the moments as well, so the noisy sum of squares is too small by tr(S⁻¹·Cov(E·b)) in the mean; that is added back.

use crate::cells::Cells;
use crate::fit::{CONFIDENCE, Coefficient, Fit, Rows, Spread, coefficient, groups, overall};
use crate::matrix::Matrix;
use crate::model::{Response, Source};
use crate::moments::{Moments, OfCells};
use crate::{Error, Family, Model};

/// How many standard deviations of its noise the weakest direction of the regressors has to stand out.
pub(crate) const NEEDED: f64 = 8.0;

/// How many standard deviations of its noise the number of rows of a value has to stand out, or the value is left out.
pub(crate) const NEEDED_ROWS: f64 = 8.0;

/// A variance is at least this part of the standard deviation of its noise.
pub(crate) const LEAST_VARIANCE: f64 = 0.05;

pub(crate) fn fit(model: &Model, cells: &Cells) -> Result<Fit, Error> {
    if model.family() != Family::Linear {
        return Err(Error::OtherCells);
    }
    let moments = OfCells::new(model, cells, &[])?;
    fit_moments(model, &moments)
}

/// Values of factors whose rows do not stand out from their noise: they are not estimated.
pub(crate) fn rare(model: &Model, moments: &dyn Moments) -> Vec<usize> {
    let size = moments.matrix().size();
    (1..model.columns.len())
        .filter(|place| {
            let mut unit = vec![0.0; size];
            unit[*place] = 1.0;
            let deviation = moments.noise_of(&unit).at(*place, *place).sqrt();
            let value = moments.matrix().at(*place, *place);
            !model.columns[*place].levels.is_empty() && (value.is_nan() || value < NEEDED_ROWS * deviation)
        })
        .collect()
}

pub(crate) fn fit_moments(model: &Model, moments: &dyn Moments) -> Result<Fit, Error> {
    let rare = rare(model, moments);
    // The rows of a value that is not estimated are left out where cells tell them apart; else they count with the reference.
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
    let narrowed = if left_out.is_empty() {
        None
    } else {
        moments.without(&left_out)
    };
    let pooled = !left_out.is_empty() && narrowed.is_none();
    let moments = narrowed.as_deref().unwrap_or(moments);
    let solved = solve(moments, &kept)?;
    let mut fit = told(model, &kept, &left_out, &solved);
    fit.left_out = (0..model.columns.len())
        .filter(|place| !kept.contains(place))
        .map(|place| model.columns[place].name.clone())
        .collect();
    if pooled {
        fit.notes.push(
            "rows of values that are not estimated count with the reference, because this release does not tell them apart".to_owned(),
        );
    }
    Ok(fit)
}

/// Estimates in units of the design.
struct Solved {
    estimates: Vec<f64>,
    sampling: Matrix,
    noise: Matrix,
    rows: Rows,
    residual_variance: f64,
    /// The relative standard deviation of that.
    uncertainty: f64,
    r_squared: f64,
    floored: bool,
}

/// Whether the weakest direction stands out from its noise.
pub(crate) fn check_noise(
    matrix: &Matrix,
    noise_of: impl Fn(&[f64]) -> f64,
    needed: f64,
) -> Result<(), Error> {
    const WHAT: &str = "two regressors cannot be told apart, or one hardly varies";
    let weakest = matrix.weakest().ok_or_else(|| Error::noisy(WHAT, 0.0, needed))?;
    let deviation = noise_of(&weakest).max(0.0).sqrt();
    let ratio = matrix.quadratic(&weakest) / deviation;
    if deviation > 0.0 && ratio < needed {
        return Err(Error::noisy(WHAT, ratio, needed));
    }
    Ok(())
}

fn solve(moments: &dyn Moments, kept: &[usize]) -> Result<Solved, Error> {
    let whole = moments.matrix();
    let last = whole.size() - 1;
    let left = whole.kept(kept);
    let spread = |part: &[f64]| {
        let mut b = vec![0.0; whole.size()];
        for (place, entry) in kept.iter().zip(part) {
            b[*place] = *entry;
        }
        b
    };
    let noise_along = |part: &[f64]| {
        let b = spread(part);
        moments.noise_of(&b).quadratic(&b)
    };
    check_noise(&left, noise_along, NEEDED)?;
    let right: Vec<f64> = kept.iter().map(|place| whole.at(*place, last)).collect();
    let inverse = left
        .inverse()
        .ok_or_else(|| Error::noisy("the regressors do not vary", 0.0, NEEDED))?;
    let estimates = inverse.times(&right);
    let mut b = spread(&estimates.iter().map(|estimate| -estimate).collect::<Vec<_>>());
    b[last] = 1.0;
    let score = moments.noise_of(&b);
    let score_kept = score.kept(kept);
    let noise = score_kept.between(&inverse);
    let rows = Rows {
        value: whole.at(0, 0),
        deviation: noise_along(&[1.0]).max(0.0).sqrt(),
    };
    let freedom = rows.value - kept.len() as f64;
    if freedom < 1.0 {
        return Err(Error::noisy(
            "there are no more rows than coefficients",
            0.0,
            NEEDED,
        ));
    }
    let fitted: f64 = (0..kept.len())
        .map(|row| inverse.kept_row_dot(row, &score_kept))
        .sum();
    let squares = whole.quadratic(&b) + fitted;
    let deviation = score.quadratic(&b).max(0.0).sqrt() / freedom;
    // Noise may make the variance negative. The little that it is taken for then keeps the scale of its uncertainty; the noise of the estimates is larger by far.
    let floored = squares / freedom < deviation;
    let residual_variance = (squares / freedom).max(LEAST_VARIANCE * deviation).max(0.0);
    let uncertainty = (2.0 / freedom + (deviation / residual_variance.max(f64::MIN_POSITIVE)).powi(2)).sqrt();
    let total = whole.at(last, last) - whole.at(0, last).powi(2) / whole.at(0, 0);
    Ok(Solved {
        sampling: inverse.scaled(residual_variance),
        noise,
        rows,
        residual_variance,
        uncertainty,
        r_squared: (1.0 - squares / total).clamp(0.0, 1.0),
        floored,
        estimates,
    })
}

impl Matrix {
    /// One entry of the diagonal of the product of two symmetric matrices.
    fn kept_row_dot(&self, row: usize, other: &Self) -> f64 {
        (0..self.size())
            .map(|place| self.at(row, place) * other.at(place, row))
            .sum()
    }
}

/// How coefficients in units of the design become those of the columns: a matrix, and what is added to the intercept.
pub(crate) fn unscaling(model: &Model, kept: &[usize]) -> (Matrix, f64) {
    let (response_middle, response_half) = match model.response {
        Response::Number(source) if model.family() == Family::Linear => model.scale(source),
        _ => (0.0, 1.0),
    };
    let mut outer = Matrix::zero(kept.len());
    for (place, column) in kept.iter().enumerate() {
        let column = &model.columns[*column];
        let Some(source) = column.number else {
            outer.add(place, place, response_half);
            continue;
        };
        let (middle, half) = model.scale(source);
        outer.add(place, place, response_half / half);
        // What the number has at its zero belongs to the same column without it.
        let margin = kept.iter().position(|other| {
            let other = &model.columns[*other];
            other.number.is_none() && same_levels(&other.levels, &column.levels)
        });
        if let Some(margin) = margin {
            outer.add(margin, place, -response_half * middle / half);
        }
    }
    (outer, response_middle)
}

fn same_levels(one: &[(usize, usize)], other: &[(usize, usize)]) -> bool {
    one.len() == other.len() && one.iter().all(|level| other.contains(level))
}

fn told(model: &Model, kept: &[usize], left_out: &[(usize, usize)], solved: &Solved) -> Fit {
    let (outer, middle) = unscaling(model, kept);
    let mut estimates = outer.times(&solved.estimates);
    estimates[0] += middle;
    let sampling = solved.sampling.between(&outer);
    let noise = solved.noise.between(&outer);
    let coefficients: Vec<Coefficient> = kept
        .iter()
        .enumerate()
        .map(|(place, column)| {
            coefficient(
                model.columns[*column].name.clone(),
                estimates[place],
                sampling.at(place, place),
                noise.at(place, place),
                solved.uncertainty,
            )
        })
        .collect();
    let freedom = solved.rows.value - kept.len() as f64;
    let half = match model.response {
        Response::Number(source @ (Source::Scored(_) | Source::Summed(_))) => model.scale(source).1,
        Response::Event { .. } => 1.0,
    };
    let adjusted = 1.0 - (1.0 - solved.r_squared) * (solved.rows.value - 1.0) / freedom;
    let mut notes = Vec::new();
    if solved.floored {
        notes.push(
            "what is not explained is smaller than its noise; errors count with as much as it could be"
                .to_owned(),
        );
    }
    Fit {
        formula: model.formula().to_string(),
        response: model.response_name(),
        family: model.family(),
        overall: overall(&estimates, &sampling.sum(&noise), Some(freedom)),
        coefficients,
        left_out: Vec::new(),
        rows: solved.rows,
        residual_error: Some(solved.residual_variance.sqrt() * half),
        r_squared: Some(solved.r_squared),
        adjusted_r_squared: Some(adjusted.max(0.0)),
        confidence: CONFIDENCE,
        notes,
        spread: Spread {
            sampling: Some(sampling),
            noise: Some(noise),
            uncertainty: solved.uncertainty,
            groups: groups(model, kept, left_out),
        },
    }
}
