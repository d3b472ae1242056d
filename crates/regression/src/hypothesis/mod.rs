//! Tests from tables with noise: independence, and differences of proportions and means.
//!
//! The usual tests take counts for exact. With noise they find what is not there: Pearson's χ² of independent columns grows with the noise. Here the noise
//! is part of the covariance under the hypothesis. Where that is not enough, because noise is Laplace and large, or few rows are expected in a cell, the
//! p-value is counted among tables that are drawn under the hypothesis, with their noise.
//!
//! What is rejected at 5 % although it is true is between 4 and 6 % of cases, in the simulations of `tests/sizes.rs`.

mod apart;
mod drawn;
mod means;

pub use means::{Mean, check_means, difference_of_means, means};

use crate::distribution::{chi_square_above, normal_two_sided, t_quantile};
use crate::fit::CONFIDENCE;
use crate::matrix::Matrix;
use crate::{Coefficient, Error};
use serde::{Deserialize, Serialize};
use tables::{Measurements, Shape};

/// How many tables are drawn under the hypothesis.
pub const DRAWS: u32 = 9_999;

/// Values of one column, and cells of a table, of which independence is tested.
pub const MOST_VALUES: usize = 64;
/// See [`MOST_VALUES`].
pub const MOST_TESTED: usize = 1024;

/// Whether a table of so many values by so many is tested: what a test takes is bounded before anything is charged.
///
/// # Errors
/// When it is not, with what is.
pub fn check_size(rows: usize, columns: usize) -> Result<(), Error> {
    if rows.max(columns) <= MOST_VALUES && rows * columns <= MOST_TESTED {
        return Ok(());
    }
    Err(Error::TooLarge {
        what: format!("a table of {rows} by {columns} values is too large for this test"),
        hint: format!(
            "test columns of at most {MOST_VALUES} values and {MOST_TESTED} pairs of values: merge values, or use wider bins"
        ),
    })
}

/// How many standard deviations of its noise the total of a row or column has to stand out, or it is left out.
const NEEDED: f64 = 4.0;

/// A table of two columns, with noise.
#[derive(Clone, Debug)]
pub struct TwoWay {
    rows: Vec<String>,
    columns: Vec<String>,
    /// Row-major.
    counts: Vec<f64>,
    noise: TableNoise,
}

#[derive(Clone, Debug)]
enum TableNoise {
    Apart {
        variance: f64,
        gaussian: bool,
    },
    /// All pairs of cells, row-major.
    Together(Vec<f64>),
}

/// The result of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// What is tested.
    pub name: String,
    /// The statistic.
    pub statistic: f64,
    /// Its degrees of freedom, where it is a χ².
    pub freedom: Option<f64>,
    /// How likely it is to be as large if the hypothesis is true, noise included.
    pub p: f64,
    /// How the p-value is computed.
    pub method: String,
    /// How strong the association is, from 0 to 1 (Cramér's V), where that is told.
    pub strength: Option<f64>,
    /// What is estimated, where it is a difference.
    pub estimates: Vec<Coefficient>,
    /// What else there is to know.
    pub notes: Vec<String>,
}

impl TwoWay {
    /// Counts by two columns, row by row, each with noise of this variance.
    ///
    /// # Errors
    /// When there is not one count for each pair of values.
    pub fn new(
        rows: Vec<String>,
        columns: Vec<String>,
        counts: Vec<f64>,
        variance: f64,
        gaussian: bool,
    ) -> Result<Self, Error> {
        match counts.len() == rows.len() * columns.len() && variance >= 0.0 {
            true => Ok(Self {
                rows,
                columns,
                counts,
                noise: TableNoise::Apart { variance, gaussian },
            }),
            false => Err(Error::OtherCells),
        }
    }

    /// The table of two attributes of a planned release. Values of these names are left out: those that stand for NULL.
    ///
    /// # Errors
    /// When the release does not tell the table.
    pub fn of_release(
        measurements: &Measurements,
        rows: &str,
        columns: &str,
        null: &str,
    ) -> Result<Self, Error> {
        let not_covered = |what: String| {
            Error::NotCovered {
            what,
            hint: "the release needs the table by both columns (up_to = 2); without --release it is measured anew, for a charge".to_owned(),
        }
        };
        let domain = measurements.domain();
        let place = |name: &str| {
            let place = domain.place_of(name);
            place.ok_or_else(|| not_covered(format!("this release has no attribute {name}")))
        };
        let (one, other) = (place(rows)?, place(columns)?);
        let told = |_| {
            not_covered(format!(
                "this release does not tell the table by {rows} and {columns}"
            ))
        };
        let shape = Shape::of(&[one, other]).map_err(told)?;
        let table = measurements.table(&shape).map_err(told)?;
        let labels = |place: usize| -> Vec<String> {
            let attribute = &domain.attributes()[place];
            match attribute.levels()[0].labels() {
                Some(labels) => labels.to_vec(),
                None => (0..attribute.size()).map(|code| code.to_string()).collect(),
            }
        };
        let (row_labels, column_labels) = (labels(one), labels(other));
        let kept = |labels: &[String]| -> Vec<usize> {
            (0..labels.len()).filter(|code| labels[*code] != null).collect()
        };
        let (kept_rows, kept_columns) = (kept(&row_labels), kept(&column_labels));
        check_size(kept_rows.len(), kept_columns.len())?;
        let mut places = Vec::new();
        for row in &kept_rows {
            for column in &kept_columns {
                places.push(table.place_of(&match one < other {
                    true => [*row, *column],
                    false => [*column, *row],
                }));
            }
        }
        let units: Vec<Vec<f64>> = places
            .iter()
            .map(|place| {
                let mut unit = vec![0.0; table.values().len()];
                unit[*place] = 1.0;
                unit
            })
            .collect();
        let lists: Vec<&[f64]> = units.iter().map(Vec::as_slice).collect();
        Ok(Self {
            rows: kept_rows.iter().map(|code| row_labels[*code].clone()).collect(),
            columns: kept_columns
                .iter()
                .map(|code| column_labels[*code].clone())
                .collect(),
            counts: places.iter().map(|place| table.values()[*place]).collect(),
            noise: TableNoise::Together(measurements.covariances(&shape, &lists).map_err(told)?),
        })
    }

    /// The values of its rows.
    pub fn rows(&self) -> &[String] {
        &self.rows
    }

    /// The values of its columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    fn covariance(&self, combinations: &[Vec<f64>]) -> Matrix {
        let cells = self.counts.len();
        let mut matrix = Matrix::zero(combinations.len());
        let taken: Vec<Vec<f64>> = match &self.noise {
            TableNoise::Apart { variance, .. } => combinations
                .iter()
                .map(|weights| weights.iter().map(|weight| weight * variance).collect())
                .collect(),
            TableNoise::Together(covariance) => combinations
                .iter()
                .map(|weights| {
                    let lines = covariance.chunks_exact(cells);
                    lines.map(|line| crate::matrix::dot(line, weights)).collect()
                })
                .collect(),
        };
        for (row, one) in combinations.iter().enumerate() {
            for (column, other) in taken.iter().enumerate() {
                matrix.set(row, column, crate::matrix::dot(one, other));
            }
        }
        matrix
    }

    /// The table of these rows and columns alone.
    fn kept(&self, rows: &[usize], columns: &[usize]) -> Self {
        let width = self.columns.len();
        let places: Vec<usize> = rows
            .iter()
            .flat_map(|row| columns.iter().map(move |column| row * width + column))
            .collect();
        Self {
            rows: rows.iter().map(|row| self.rows[*row].clone()).collect(),
            columns: columns
                .iter()
                .map(|column| self.columns[*column].clone())
                .collect(),
            counts: places.iter().map(|place| self.counts[*place]).collect(),
            noise: match &self.noise {
                TableNoise::Apart { variance, gaussian } => TableNoise::Apart {
                    variance: *variance,
                    gaussian: *gaussian,
                },
                TableNoise::Together(covariance) => TableNoise::Together(
                    places
                        .iter()
                        .flat_map(|row| places.iter().map(move |column| row * self.counts.len() + column))
                        .map(|place| covariance[place])
                        .collect(),
                ),
            },
        }
    }

    /// Without rows and columns whose totals do not stand out from their noise. The choice reads totals alone, and says nothing about how rows and columns go together.
    fn standing_out(&self) -> (Self, Vec<String>) {
        let (height, width) = (self.rows.len(), self.columns.len());
        let stands_out = |cells: Vec<usize>| {
            let mut weights = vec![0.0; self.counts.len()];
            let total: f64 = cells.iter().map(|cell| self.counts[*cell]).sum();
            cells.iter().for_each(|cell| weights[*cell] = 1.0);
            total > (NEEDED * self.covariance(&[weights]).at(0, 0).sqrt()).max(1.0)
        };
        let rows: Vec<usize> = (0..height)
            .filter(|row| stands_out((0..width).map(|column| row * width + column).collect()))
            .collect();
        let columns: Vec<usize> = (0..width)
            .filter(|column| stands_out((0..height).map(|row| row * width + column).collect()))
            .collect();
        let mut left_out: Vec<String> = Vec::new();
        left_out.extend(
            (0..height)
                .filter(|row| !rows.contains(row))
                .map(|row| self.rows[row].clone()),
        );
        let out = (0..width).filter(|column| !columns.contains(column));
        left_out.extend(out.map(|column| self.columns[column].clone()));
        (self.kept(&rows, &columns), left_out)
    }
}

/// What a table says against independence.
pub(crate) struct Against {
    pub(crate) statistic: f64,
    /// Shares of rows and of columns.
    pub(crate) shares: (Vec<f64>, Vec<f64>),
    pub(crate) total: f64,
}

/// Shares are not below this, so that a table that was drawn has a covariance.
const LEAST_SHARE: f64 = 1e-6;

/// d is what cells have beyond what their row and column let expect, without the last of each, which follow. To first order d is a sum over cells of
/// (1\[row\] − p)(1\[column\] − q) times the count, so under independence its covariance is n·(diag p − ppᵀ)⊗(diag q − qqᵀ) and that of the noise. The statistic is
/// dᵀ·Cov⁻¹·d: without noise it is Pearson's χ².
pub(crate) fn against(table: &TwoWay) -> Option<Against> {
    let (height, width) = (table.rows.len(), table.columns.len());
    let total: f64 = table.counts.iter().sum();
    if total.is_nan() || total < 1.0 {
        return None;
    }
    let share = |sum: f64| (sum / total).max(LEAST_SHARE);
    let rows: Vec<f64> = (0..height)
        .map(|row| share(table.counts[row * width..][..width].iter().sum()))
        .collect();
    let columns: Vec<f64> = (0..width)
        .map(|column| share((0..height).map(|row| table.counts[row * width + column]).sum()))
        .collect();
    // The last row and the last column follow from the others.
    let kept = |row: usize, column: usize| row < height - 1 && column < width - 1;
    let differences: Vec<f64> = (0..table.counts.len())
        .map(|place| (place / width, place % width))
        .filter(|(row, column)| kept(*row, *column))
        .map(|(row, column)| table.counts[row * width + column] - total * rows[row] * columns[column])
        .collect();
    let statistic = match &table.noise {
        TableNoise::Apart { variance, .. } => {
            apart::statistic(&differences, (&rows, &columns), total, *variance)?
        }
        TableNoise::Together(_) => together(table, &differences, (&rows, &columns), total)?,
    };
    Some(Against {
        statistic,
        shares: (rows, columns),
        total,
    })
}

/// dᵀ·Cov⁻¹·d where the noise of cells varies together.
fn together(
    table: &TwoWay,
    differences: &[f64],
    (rows, columns): (&[f64], &[f64]),
    total: f64,
) -> Option<f64> {
    let (height, width) = (rows.len(), columns.len());
    let mut combinations = Vec::new();
    for (row, of_row) in rows.iter().enumerate().take(height - 1) {
        for (column, of_column) in columns.iter().enumerate().take(width - 1) {
            let mut weights = vec![0.0; table.counts.len()];
            for (place, weight) in weights.iter_mut().enumerate() {
                let by_row = f64::from(u8::from(place / width == row)) - of_row;
                let by_column = f64::from(u8::from(place % width == column)) - of_column;
                *weight = by_row * by_column;
            }
            combinations.push(weights);
        }
    }
    let mut covariance = table.covariance(&combinations);
    let of = |shares: &[f64], one: usize, other: usize| {
        f64::from(u8::from(one == other)) * shares[one] - shares[one] * shares[other]
    };
    for one in 0..combinations.len() {
        for other in 0..combinations.len() {
            let by_row = of(rows, one / (width - 1), other / (width - 1));
            let by_column = of(columns, one % (width - 1), other % (width - 1));
            covariance.add(one, other, total * by_row * by_column);
        }
    }
    Some(covariance.inverse()?.quadratic(differences))
}

/// Whether two columns are independent.
///
/// # Errors
/// When the table has fewer than two rows and columns that stand out from their noise.
pub fn independence(table: &TwoWay) -> Result<Test, Error> {
    independence_of(table, DRAWS)
}

/// The same with another number of tables drawn.
///
/// # Errors
/// As [`independence`].
pub fn independence_of(table: &TwoWay, draws: u32) -> Result<Test, Error> {
    check_size(table.rows.len(), table.columns.len())?;
    let (table, left_out) = table.standing_out();
    let draws = draws.min(apart::draws_within_reach(table.rows.len(), table.columns.len()));
    if table.rows.len() < 2 || table.columns.len() < 2 {
        return Err(Error::noisy(
            "fewer than two values have rows that stand out from the noise",
            0.0,
            NEEDED,
        ));
    }
    let found =
        against(&table).ok_or_else(|| Error::noisy("the table is hardly more than noise", 0.0, NEEDED))?;
    let freedom = ((table.rows.len() - 1) * (table.columns.len() - 1)) as f64;
    let least = least_expected(&found);
    let simulated = match table.noise {
        TableNoise::Apart { gaussian, .. } => !gaussian || least < 5.0,
        TableNoise::Together(_) => false,
    };
    let (p, method) = match simulated {
        true => (
            drawn::p_value(&table, &found, draws),
            format!("counted among {draws} tables drawn under independence, with their noise"),
        ),
        false => (
            chi_square_above(found.statistic, freedom),
            "χ² with the covariance of sampling and noise".to_owned(),
        ),
    };
    let mut notes = Vec::new();
    if !left_out.is_empty() {
        notes.push(format!(
            "left out, because too few rows stand out from the noise: {}",
            left_out.join(", ")
        ));
    }
    if least < 5.0 && !simulated {
        notes.push("fewer than 5 rows are expected in some cell: the p-value is rough".to_owned());
    }
    let smaller = table.rows.len().min(table.columns.len()) - 1;
    // What noise and sampling alone let expect is taken off.
    let excess = (found.statistic - freedom).max(0.0) / found.statistic.max(f64::MIN_POSITIVE);
    let pearson = pearson(&table, &found) * excess;
    Ok(Test {
        name: "independence".to_owned(),
        statistic: found.statistic,
        freedom: Some(freedom),
        p,
        method,
        strength: Some((pearson / (found.total * smaller as f64)).clamp(0.0, 1.0).sqrt()),
        estimates: Vec::new(),
        notes,
    })
}

fn least_expected(found: &Against) -> f64 {
    let least = |shares: &[f64]| shares.iter().copied().fold(1.0, f64::min);
    found.total * least(&found.shares.0) * least(&found.shares.1)
}

fn pearson(table: &TwoWay, found: &Against) -> f64 {
    let width = table.columns.len();
    let cells = table.counts.iter().enumerate();
    cells
        .map(|(place, count)| {
            let expected = found.total * found.shares.0[place / width] * found.shares.1[place % width];
            (count - expected).powi(2) / expected
        })
        .sum()
}

/// Whether the share of rows with value `event` of the columns is the same in two rows of the table.
///
/// # Errors
/// When a value does not exist, or has too few rows for the noise.
pub fn difference_of_proportions(table: &TwoWay, event: &str, groups: (&str, &str)) -> Result<Test, Error> {
    let find = |labels: &[String], name: &str| {
        let place = labels.iter().position(|label| label == name);
        place.ok_or_else(|| Error::Variable {
            what: format!("there is no value {name}"),
            hint: format!("there are {}", labels.join(", ")),
        })
    };
    let column = find(&table.columns, event)?;
    let (one, other) = (find(&table.rows, groups.0)?, find(&table.rows, groups.1)?);
    if one == other {
        return Err(Error::variable("the two groups are the same", "name two values"));
    }
    let width = table.columns.len();
    let share = |row: usize| -> Result<(f64, f64), Error> {
        let cells: Vec<f64> = table.counts[row * width..][..width].to_vec();
        let rows: f64 = cells.iter().sum();
        let mut weights = vec![0.0; table.counts.len()];
        weights[row * width..][..width].fill(1.0);
        let deviation = table.covariance(&[weights]).at(0, 0).sqrt();
        if rows.is_nan() || rows < (2.0 * NEEDED * deviation).max(1.0) {
            let what = format!("the rows of {} hardly stand out from it", table.rows[row]);
            return Err(Error::noisy(what, rows / deviation, 2.0 * NEEDED));
        }
        Ok((rows, (cells[column] / rows).clamp(0.0, 1.0)))
    };
    let ((rows_one, share_one), (rows_other, share_other)) = (share(one)?, share(other)?);
    // What a share takes of its noise, where the share is p.
    let weights = |row: usize, rows: f64, p: f64, sign: f64, into: &mut [f64]| {
        for (place, weight) in into[row * width..][..width].iter_mut().enumerate() {
            *weight += sign * (f64::from(u8::from(place == column)) - p) / rows;
        }
    };
    let noise = |of: &[(usize, f64, f64, f64)]| {
        let mut combination = vec![0.0; table.counts.len()];
        for (row, rows, p, sign) in of {
            weights(*row, *rows, *p, *sign, &mut combination);
        }
        table.covariance(&[combination]).at(0, 0)
    };
    let pooled = (rows_one * share_one + rows_other * share_other) / (rows_one + rows_other);
    let null = pooled * (1.0 - pooled) * (1.0 / rows_one + 1.0 / rows_other)
        + noise(&[(one, rows_one, pooled, 1.0), (other, rows_other, pooled, -1.0)]);
    let difference = share_one - share_other;
    let z = difference / null.sqrt();
    let half_width = |error: f64| error * t_quantile(CONFIDENCE, f64::INFINITY);
    let told = |name: String, estimate: f64, sampling: f64, noise: f64| {
        let error = (sampling + noise).sqrt();
        Coefficient {
            name,
            estimate,
            error,
            sampling_error: sampling.sqrt(),
            noise_error: noise.sqrt(),
            statistic: estimate / error,
            p: normal_two_sided(estimate / error),
            low: estimate - half_width(error),
            high: estimate + half_width(error),
        }
    };
    let sampling = |p: f64, rows: f64| p * (1.0 - p) / rows;
    let apart = [
        (one, rows_one, share_one, 1.0),
        (other, rows_other, share_other, -1.0),
    ];
    let mut shown = told(
        format!("{} − {}", groups.0, groups.1),
        difference,
        sampling(share_one, rows_one) + sampling(share_other, rows_other),
        noise(&apart),
    );
    shown.p = normal_two_sided(z);
    Ok(Test {
        name: "difference of proportions".to_owned(),
        statistic: z,
        freedom: None,
        p: normal_two_sided(z),
        method: "normal, with the variance of sampling and noise where both shares are the same".to_owned(),
        strength: None,
        estimates: vec![
            told(
                groups.0.to_owned(),
                share_one,
                sampling(share_one, rows_one),
                noise(&apart[..1]),
            ),
            told(
                groups.1.to_owned(),
                share_other,
                sampling(share_other, rows_other),
                noise(&apart[1..]),
            ),
            shown,
        ],
        notes: Vec::new(),
    })
}
