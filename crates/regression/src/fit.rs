//! A fitted model: coefficients with errors that count noise and sampling.

use crate::distribution::{chi_square_above, f_above, t_quantile, t_two_sided};
use crate::matrix::Matrix;
use crate::{Error, Family, Model};
use serde::{Deserialize, Serialize};

/// A coefficient, a mean or a contrast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coefficient {
    /// What it is of.
    pub name: String,
    /// The estimate.
    pub estimate: f64,
    /// Its standard error, over samples of rows and over noise.
    pub error: f64,
    /// What the error would be without noise: that of sampling alone.
    pub sampling_error: f64,
    /// What the error would be if the rows were everybody: that of noise alone.
    pub noise_error: f64,
    /// The estimate in standard errors.
    pub statistic: f64,
    /// How likely it is to be as far from 0 if it were 0.
    pub p: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// A test of several numbers at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overall {
    /// Its statistic.
    pub statistic: f64,
    /// Its degrees of freedom.
    pub freedom: f64,
    /// Those of its denominator, where it is an F; else it is a χ².
    pub denominator: Option<f64>,
    /// How likely it is to be as large if there were no effect.
    pub p: f64,
}

/// A number of rows, with the standard deviation of its noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rows {
    /// The estimate.
    pub value: f64,
    /// The standard deviation of its noise.
    pub deviation: f64,
}

/// A fitted model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// The formula.
    pub formula: String,
    /// What is explained.
    pub response: String,
    /// The family.
    pub family: Family,
    /// The coefficients, the intercept first.
    pub coefficients: Vec<Coefficient>,
    /// Coefficients that are not estimated, because too few rows have the value for this noise.
    pub left_out: Vec<String>,
    /// How many rows.
    pub rows: Rows,
    /// For least squares: the standard deviation of what is not explained.
    pub residual_error: Option<f64>,
    /// For least squares the share of variance that is explained; for a logistic model McFadden's.
    pub r_squared: Option<f64>,
    /// The same, adjusted for the number of coefficients.
    pub adjusted_r_squared: Option<f64>,
    /// Whether anything is explained.
    pub overall: Option<Overall>,
    /// How likely intervals hold the truth.
    pub confidence: f64,
    /// What else there is to know.
    pub notes: Vec<String>,
    #[serde(skip)]
    pub(crate) spread: Spread,
}

/// The covariance of the coefficients, for contrasts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Spread {
    pub(crate) sampling: Option<Matrix>,
    pub(crate) noise: Option<Matrix>,
    /// The relative standard deviation of the estimate of the sampling variance.
    pub(crate) uncertainty: f64,
    /// For each value of the only factor, if there is one: its name and the place of its coefficient, `None` for the reference.
    pub(crate) groups: Vec<(String, Option<usize>)>,
}

/// With which probability intervals hold the truth.
pub const CONFIDENCE: f64 = 0.95;

/// An estimate that is normal, with what of its variance is estimated.
pub(crate) fn coefficient(
    name: String,
    estimate: f64,
    sampling: f64,
    noise: f64,
    uncertainty: f64,
) -> Coefficient {
    let variance = (sampling + noise).max(0.0);
    let error = variance.sqrt();
    // Welch and Satterthwaite: the variance of noise is known, that of sampling is estimated.
    let freedom = match sampling * uncertainty > 0.0 {
        true => 2.0 * (variance / (sampling * uncertainty)).powi(2),
        false => f64::INFINITY,
    };
    let freedom = freedom.max(1.0);
    let half = error * t_quantile(CONFIDENCE, freedom);
    let statistic = estimate / error;
    Coefficient {
        name,
        estimate,
        error,
        sampling_error: sampling.max(0.0).sqrt(),
        noise_error: noise.max(0.0).sqrt(),
        statistic,
        p: t_two_sided(statistic, freedom),
        low: estimate - half,
        high: estimate + half,
    }
}

/// Whether all coefficients but the first are 0 (Wald).
pub(crate) fn overall(estimates: &[f64], covariance: &Matrix, denominator: Option<f64>) -> Option<Overall> {
    let slopes = estimates.get(1..).filter(|slopes| !slopes.is_empty())?;
    let places: Vec<usize> = (1..estimates.len()).collect();
    let statistic = covariance.kept(&places).inverse()?.quadratic(slopes);
    let freedom = slopes.len() as f64;
    Some(match denominator {
        None => Overall {
            statistic,
            freedom,
            denominator,
            p: chi_square_above(statistic, freedom),
        },
        Some(rest) => Overall {
            statistic: statistic / freedom,
            freedom,
            denominator,
            p: f_above(statistic / freedom, freedom, rest),
        },
    })
}

impl Fit {
    /// A weighted sum of coefficients, by their names: a difference of two effects, or a prediction.
    ///
    /// # Errors
    /// When there is no such coefficient.
    pub fn contrast(&self, name: &str, weights: &[(&str, f64)]) -> Result<Coefficient, Error> {
        let mut vector = vec![0.0; self.coefficients.len()];
        for (wanted, weight) in weights {
            let place = self.coefficients.iter().position(|known| known.name == *wanted);
            let place = place.ok_or_else(|| {
                Error::variable(
                    format!("the model has no coefficient {wanted}"),
                    "names are those of the table of coefficients",
                )
            })?;
            vector[place] += weight;
        }
        Ok(self.combined(name.to_owned(), &vector))
    }

    fn combined(&self, name: String, vector: &[f64]) -> Coefficient {
        let of = |matrix: &Option<Matrix>| {
            matrix
                .as_ref()
                .map_or(f64::NAN, |matrix| matrix.quadratic(vector))
        };
        let pairs = self.coefficients.iter().zip(vector);
        coefficient(
            name,
            pairs.map(|(known, weight)| known.estimate * weight).sum(),
            of(&self.spread.sampling),
            of(&self.spread.noise),
            self.spread.uncertainty,
        )
    }

    /// For least squares on one factor alone: the mean of each of its values. Empty for other models.
    pub fn means(&self) -> Vec<Coefficient> {
        let vector = |place: Option<usize>| {
            let mut vector = vec![0.0; self.coefficients.len()];
            vector[0] = 1.0;
            if let Some(place) = place {
                vector[place] = 1.0;
            }
            vector
        };
        let groups = self.spread.groups.iter();
        groups
            .map(|(name, place)| self.combined(name.clone(), &vector(*place)))
            .collect()
    }

    /// All differences of two of those means. Their p-values are adjusted for how many there are (Holm), and so the chance of any false difference is 5 % at most;
    /// their intervals are each one's own.
    pub fn contrasts(&self) -> Vec<Coefficient> {
        let groups = &self.spread.groups;
        let mut contrasts = Vec::new();
        for (at, (later, of_later)) in groups.iter().enumerate() {
            for (earlier, of_earlier) in &groups[..at] {
                let mut vector = vec![0.0; self.coefficients.len()];
                if let Some(place) = of_later {
                    vector[*place] += 1.0;
                }
                if let Some(place) = of_earlier {
                    vector[*place] -= 1.0;
                }
                contrasts.push(self.combined(format!("{later} − {earlier}"), &vector));
            }
        }
        holm(&mut contrasts);
        contrasts
    }
}

/// Holm's step-down adjustment.
fn holm(contrasts: &mut [Coefficient]) {
    let mut order: Vec<usize> = (0..contrasts.len()).collect();
    order.sort_by(|one, other| contrasts[*one].p.total_cmp(&contrasts[*other].p));
    let mut least = 0.0f64;
    for (rank, place) in order.into_iter().enumerate() {
        let adjusted = contrasts_p(contrasts, place, rank).max(least).min(1.0);
        contrasts[place].p = adjusted;
        least = adjusted;
    }
}

fn contrasts_p(contrasts: &[Coefficient], place: usize, rank: usize) -> f64 {
    contrasts[place].p * (contrasts.len() - rank) as f64
}

/// The values of the only factor of a model of least squares, with the places of their coefficients among those that are kept.
pub(crate) fn groups(
    model: &Model,
    kept: &[usize],
    left_out: &[(usize, usize)],
) -> Vec<(String, Option<usize>)> {
    let [term] = model.formula().terms() else {
        return Vec::new();
    };
    let is_factor = term.parts.len() == 1 && model.columns.iter().all(|column| column.number.is_none());
    if !is_factor || model.family() != Family::Linear {
        return Vec::new();
    }
    let axis = &model.axes[0];
    let codes = (0..axis.listed.labels.len())
        .filter(|code| Some(*code) != axis.listed.missing && !left_out.contains(&(0, *code)));
    codes
        .filter_map(|code| {
            let name = axis.listed.labels[code].clone();
            if code == axis.reference {
                return Some((name, None));
            }
            let column = model
                .columns
                .iter()
                .position(|column| column.levels == [(0, code)])?;
            let place = kept.iter().position(|kept| *kept == column)?;
            Some((name, Some(place)))
        })
        .collect()
}
