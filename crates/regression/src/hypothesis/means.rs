//! Means of groups and their difference, with a variance of each group's own (Welch).

use super::{NEEDED, Test};
use crate::cells::{Cells, Combination};
use crate::fit::coefficient;
use crate::linear::LEAST_VARIANCE;
use crate::model::{Response, Source};
use crate::{Coefficient, Error, Model};
use serde::{Deserialize, Serialize};

/// The mean of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    /// How many rows.
    pub rows: f64,
    /// The standard deviation of the values in it.
    pub deviation: f64,
    /// The mean with its errors.
    pub mean: Coefficient,
    /// The relative standard deviation of the estimate of the variance.
    #[serde(skip)]
    uncertainty: f64,
}

/// The mean of the response for each value of the only factor of a model of least squares. Values whose rows do not stand out from their noise are left out.
///
/// # Errors
/// When the model has other regressors.
pub fn means(model: &Model, cells: &Cells) -> Result<Vec<Mean>, Error> {
    check_means(model)?;
    let axis = &model.axes()[0];
    let codes = (0..axis.listed.labels.len()).filter(|code| Some(*code) != axis.listed.missing);
    Ok(codes.filter_map(|code| mean(model, cells, code)).collect())
}

/// Whether a model is one of group means: it has one factor, and nothing else.
///
/// # Errors
/// When it is not.
pub fn check_means(model: &Model) -> Result<(), Error> {
    let single = model
        .columns
        .iter()
        .skip(1)
        .all(|column| column.levels.len() == 1 && column.number.is_none());
    if !single || model.columns.len() < 2 || model.formula().terms().len() != 1 {
        return Err(Error::Formula {
            what: "means of groups need one factor".to_owned(),
            hint: "write it as: income ~ education".to_owned(),
        });
    }
    Ok(())
}

/// Whether the mean of the response is the same in two groups.
///
/// # Errors
/// When a group does not exist, or has too few rows for the noise.
pub fn difference_of_means(model: &Model, cells: &Cells, groups: (&str, &str)) -> Result<Test, Error> {
    let all = means(model, cells)?;
    let find = |name: &str| {
        let labels = &model.axes()[0].listed.labels;
        if !labels.iter().any(|label| label == name) {
            return Err(Error::variable(
                format!("there is no value {name}"),
                format!("there are {}", labels.join(", ")),
            ));
        }
        let found = all.iter().find(|mean| mean.mean.name == name);
        found.ok_or_else(|| {
            Error::noisy(
                format!("the rows of {name} hardly stand out from it"),
                0.0,
                NEEDED,
            )
        })
    };
    let (one, other) = (find(groups.0)?, find(groups.1)?);
    let variance = |mean: &Mean| mean.mean.sampling_error.powi(2);
    let sampling = variance(one) + variance(other);
    let noise = one.mean.noise_error.powi(2) + other.mean.noise_error.powi(2);
    // Both variances are estimated.
    let spread = (variance(one) * one.uncertainty).powi(2) + (variance(other) * other.uncertainty).powi(2);
    let difference = coefficient(
        format!("{} − {}", groups.0, groups.1),
        one.mean.estimate - other.mean.estimate,
        sampling,
        noise,
        spread.sqrt() / sampling.max(f64::MIN_POSITIVE),
    );
    Ok(Test {
        name: "difference of means".to_owned(),
        statistic: difference.statistic,
        freedom: None,
        p: difference.p,
        method: "Welch's t with the variance of sampling and noise".to_owned(),
        strength: None,
        estimates: vec![one.mean.clone(), other.mean.clone(), difference],
        notes: Vec::new(),
    })
}

/// In units of the design a mean is Σz / n, so its noise is to first order that of Σ(z − mean) / n.
fn mean(model: &Model, cells: &Cells, code: usize) -> Option<Mean> {
    let places = model.cells()?;
    let statistics = cells.numbers.len();
    // For each power of the response, what each cell's numbers count with.
    let sums: Vec<Combination> = (0..3)
        .map(|power| {
            let mut sum = vec![vec![0.0; places]; statistics];
            for cell in 0..places {
                let codes = model.cell_at(cell);
                let other_missing = codes
                    .iter()
                    .enumerate()
                    .any(|(axis, code)| model.axes()[axis].listed.missing == Some(*code));
                if codes[0] != code || other_missing {
                    continue;
                }
                match model.response {
                    Response::Number(Source::Summed(_)) => {
                        if let Some(statistic) = sum.get_mut(power) {
                            statistic[cell] = 1.0;
                        }
                    }
                    Response::Number(Source::Scored(axis)) => {
                        sum[0][cell] = model.score(axis, codes[axis]).powi(power as i32);
                    }
                    Response::Event { axis, code } => {
                        sum[0][cell] = f64::from(u8::from(power == 0 || codes[axis] == code));
                    }
                }
            }
            sum
        })
        .collect();
    let values = cells.values(&sums);
    let (rows, mean) = (values[0], values[1] / values[0]);
    let deviation = cells.covariance(&sums[..1]).at(0, 0).sqrt();
    if rows.is_nan() || rows < (2.0 * NEEDED * deviation).max(3.0) {
        return None;
    }
    let combined = |weights: [f64; 3]| -> Combination {
        let mut combination = vec![vec![0.0; places]; statistics];
        for (sum, weight) in sums.iter().zip(weights) {
            for (into, of) in combination.iter_mut().zip(sum) {
                for (into, of) in into.iter_mut().zip(of) {
                    *into += weight * of;
                }
            }
        }
        combination
    };
    let noise = cells
        .covariance(&[combined([-mean / rows, 1.0 / rows, 0.0])])
        .at(0, 0);
    // A variance is Σ(z − mean)² / (n − 1), as exact as its own noise.
    let squares = values[2] - rows * mean * mean;
    let squares_noise = cells
        .covariance(&[combined([mean * mean, -2.0 * mean, 1.0])])
        .at(0, 0)
        .sqrt();
    let freedom = rows - 1.0;
    let variance = ((squares + rows * noise) / freedom).max(LEAST_VARIANCE * squares_noise / freedom);
    let uncertainty = (2.0 / freedom + (squares_noise / freedom / variance).powi(2)).sqrt();
    let (middle, half) = match model.response {
        Response::Number(source) => model.scale(source),
        Response::Event { .. } => (0.0, 1.0),
    };
    Some(Mean {
        rows,
        deviation: variance.sqrt() * half,
        mean: coefficient(
            model.axes()[0].listed.labels[code].clone(),
            middle + half * mean,
            variance / rows * half * half,
            noise * half * half,
            uncertainty,
        ),
        uncertainty,
    })
}
