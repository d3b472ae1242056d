//! Models from a planned release that was made before: free, because the release is public.
//!
//! Two routes. If the release tells the table by all columns of the formula together, that table is the cells of the model. If it tells the tables by each two
//! of them, least squares needs no more: every entry of M is a sum over rows of a product of two columns.

use crate::cells::{Cells, Noise};
use crate::matrix::Matrix;
use crate::model::{Column, Response, Source};
use crate::moments::Moments;
use crate::{Error, Family, Fit, Formula, Model, Variable, generalized, linear};
use tables::{Measurements, Shape};

/// The noise of the cells of one table.
#[derive(Clone, Debug)]
pub(crate) struct PlannedNoise {
    measurements: Measurements,
    shape: Shape,
    /// For each cell of the model, its place in the table.
    places: Vec<usize>,
}

impl PlannedNoise {
    pub(crate) fn covariance(&self, combinations: &[&[f64]]) -> Matrix {
        let ordered: Vec<Vec<f64>> = combinations
            .iter()
            .map(|combination| {
                let mut ordered = vec![0.0; combination.len()];
                for (place, factor) in self.places.iter().zip(*combination) {
                    ordered[*place] = *factor;
                }
                ordered
            })
            .collect();
        let lists: Vec<&[f64]> = ordered.iter().map(Vec::as_slice).collect();
        let covariances = self.measurements.covariances(&self.shape, &lists);
        let covariances = covariances.expect("the table was made from these measurements");
        let size = combinations.len();
        let mut matrix = Matrix::zero(size);
        for row in 0..size {
            for column in 0..size {
                matrix.set(row, column, covariances[row * size + column]);
            }
        }
        matrix
    }
}

impl Cells {
    /// The cells of a model whose columns are attributes of a planned release, by name.
    ///
    /// # Errors
    /// When the release has no such attributes, or does not tell the table by all of them.
    pub fn of_release(model: &Model, measurements: &Measurements) -> Result<Self, Error> {
        if !model.summed().is_empty() {
            return Err(not_covered("a release counts rows, and this model needs sums"));
        }
        let attributes = attributes(model, measurements)?;
        let shape = Shape::of(&attributes).map_err(told)?;
        if !measurements.covers(&shape) {
            return Err(not_covered(
                "this release does not tell the table by all columns of the formula",
            ));
        }
        let table = measurements.table(&shape).map_err(told)?;
        // Axes of a table are by attribute, those of a model by formula.
        let order: Vec<usize> = shape
            .axes()
            .iter()
            .filter_map(|axis| {
                attributes
                    .iter()
                    .position(|attribute| *attribute == usize::from(axis.attribute))
            })
            .collect();
        let places: Vec<usize> = (0..table.values().len())
            .map(|cell| {
                let codes = model.cell_at(cell);
                let ordered: Vec<usize> = order.iter().map(|axis| codes[*axis]).collect();
                table.place_of(&ordered)
            })
            .collect();
        Ok(Self {
            numbers: vec![places.iter().map(|place| table.values()[*place]).collect()],
            noise: Noise::Planned(Box::new(PlannedNoise {
                measurements: measurements.clone(),
                shape,
                places,
            })),
        })
    }
}

/// Fits a formula to a planned release, by whichever route it allows. `variables` are attributes of the release, by name, as lists.
///
/// # Errors
/// When the release does not tell what the model needs, or its noise is too large.
pub fn fit_release(
    formula: &Formula,
    family: Family,
    measurements: &Measurements,
    variables: &[(String, Variable)],
    references: &[(String, String)],
) -> Result<Fit, Error> {
    let model = Model::new(formula.clone(), family, variables, references)?;
    let mut fit = match Cells::of_release(&model, measurements) {
        Ok(cells) if family == Family::Linear => linear::fit(&model, &cells)?,
        Ok(cells) => generalized::fit(&model, &cells)?,
        Err(Error::NotCovered { .. }) if family == Family::Linear => {
            let model = Model::new(
                formula.clone(),
                family,
                &with_null(formula, variables)?,
                references,
            )?;
            linear::fit_moments(&model, &OfPairs::new(&model, measurements)?)?
        }
        Err(error) => return Err(error),
    };
    crate::note_bins(&model, &mut fit);
    Ok(fit)
}

/// From tables by two columns nobody can tell rows that are NULL in a third, so NULL is a value of a factor like any other.
fn with_null(formula: &Formula, variables: &[(String, Variable)]) -> Result<Vec<(String, Variable)>, Error> {
    let used = formula.regressors();
    let mut changed = variables.to_vec();
    for (name, variable) in &mut changed {
        let Variable::Listed(listed) = variable else {
            continue;
        };
        let regressor = used.iter().find(|part| part.name == *name);
        if listed.missing.is_none() || (regressor.is_none() && formula.response().name != *name) {
            continue;
        }
        if regressor.is_none_or(|part| listed.scores.is_some() && !part.factor) {
            return Err(not_covered(&format!(
                "{name} may be NULL, and tables by two columns do not tell which rows to leave out"
            )));
        }
        listed.missing = None;
    }
    Ok(changed)
}

fn attributes(model: &Model, measurements: &Measurements) -> Result<Vec<usize>, Error> {
    let domain = measurements.domain();
    let found = model.axes().iter().map(|axis| {
        let place = domain.place_of(&axis.name);
        let place =
            place.ok_or_else(|| not_covered(&format!("this release has no attribute {}", axis.name)))?;
        match domain.attributes()[place].size() as usize == axis.listed.labels.len() {
            true => Ok(place),
            false => Err(Error::OtherCells),
        }
    });
    found.collect()
}

fn told(error: tables::Error) -> Error {
    match error {
        tables::Error::NotCovered => {
            not_covered("this release does not tell the tables that the model needs")
        }
        other => not_covered(other.to_string().lines().next().unwrap_or_default()),
    }
}

fn not_covered(what: &str) -> Error {
    Error::NotCovered {
        what: what.to_owned(),
        hint: "least squares needs the tables by each two columns of the formula (up_to = 2), other families and interactions the table by all of them; \
               without --release it is measured anew, for a charge"
            .to_owned(),
    }
}

/// Moments from the tables by each two columns.
struct OfPairs {
    matrix: Matrix,
    size: usize,
    /// The place of each pair of columns among the sums; `None` where it is zero, as that of two values of a factor.
    places: Vec<Option<usize>>,
    sums: usize,
    covariances: Vec<f64>,
}

/// More pairs of columns than this take too long.
const MOST_PAIRS: usize = 6_000;

impl OfPairs {
    fn new(model: &Model, measurements: &Measurements) -> Result<Self, Error> {
        let attributes = attributes(model, measurements)?;
        let mut columns: Vec<Vec<(usize, Vec<f64>)>> = model
            .columns
            .iter()
            .map(|column| factors(model, &attributes, column))
            .collect();
        columns.push(response(model, &attributes));
        let size = columns.len();
        let mut places = vec![None; size * size];
        let mut products: Vec<Vec<(usize, Vec<f64>)>> = Vec::new();
        for row in 0..size {
            for column in 0..=row {
                if let Some(product) = product(&columns[row], &columns[column]) {
                    places[row * size + column] = Some(products.len());
                    places[column * size + row] = Some(products.len());
                    products.push(product);
                }
            }
        }
        if products.len() > MOST_PAIRS {
            return Err(Error::TooLarge {
                what: format!("{size} columns have more than {MOST_PAIRS} products"),
                hint: "use factors of fewer values".to_owned(),
            });
        }
        let lists: Vec<&[(usize, Vec<f64>)]> = products.iter().map(Vec::as_slice).collect();
        let (sums, covariances) = measurements.sums(&lists).map_err(told)?;
        let mut matrix = Matrix::zero(size);
        for row in 0..size {
            for column in 0..size {
                if let Some(place) = places[row * size + column] {
                    matrix.set(row, column, sums[place].value);
                }
            }
        }
        Ok(Self {
            matrix,
            size,
            places,
            sums: sums.len(),
            covariances,
        })
    }
}

impl Moments for OfPairs {
    fn matrix(&self) -> &Matrix {
        &self.matrix
    }

    fn noise_of(&self, b: &[f64]) -> Matrix {
        // Row k of M·b as a combination of the sums.
        let combinations: Vec<Vec<(usize, f64)>> = (0..self.size)
            .map(|row| {
                let of_row = &self.places[row * self.size..][..self.size];
                let taken = of_row.iter().zip(b).filter(|(_, weight)| **weight != 0.0);
                taken
                    .filter_map(|(place, weight)| Some(((*place)?, *weight)))
                    .collect()
            })
            .collect();
        let mut noise = Matrix::zero(self.size);
        for (row, one) in combinations.iter().enumerate() {
            for (column, other) in combinations.iter().enumerate().take(row + 1) {
                let mut covariance = 0.0;
                for (place, weight) in one {
                    let line = &self.covariances[place * self.sums..][..self.sums];
                    let along: f64 = other.iter().map(|(place, weight)| weight * line[*place]).sum();
                    covariance += weight * along;
                }
                noise.set(row, column, covariance);
                noise.set(column, row, covariance);
            }
        }
        noise
    }

    fn without(&self, _: &[(usize, usize)]) -> Option<Box<dyn Moments + '_>> {
        None
    }
}

/// A column as a product of one factor for each value of its attributes.
fn factors(model: &Model, attributes: &[usize], column: &Column) -> Vec<(usize, Vec<f64>)> {
    let mut factors: Vec<(usize, Vec<f64>)> = column
        .levels
        .iter()
        .map(|(axis, code)| {
            let size = model.axes[*axis].listed.labels.len();
            let of = (0..size).map(|other| f64::from(u8::from(other == *code)));
            (attributes[*axis], of.collect())
        })
        .collect();
    if let Some(Source::Scored(axis)) = column.number {
        factors.push((attributes[axis], scores(model, axis)));
    }
    factors
}

fn response(model: &Model, attributes: &[usize]) -> Vec<(usize, Vec<f64>)> {
    match model.response {
        Response::Event { axis, code } => {
            let size = model.axes[axis].listed.labels.len();
            let of = (0..size).map(|other| f64::from(u8::from(other == code)));
            vec![(attributes[axis], of.collect())]
        }
        Response::Number(Source::Scored(axis)) => vec![(attributes[axis], scores(model, axis))],
        Response::Number(Source::Summed(_)) => Vec::new(),
    }
}

fn scores(model: &Model, axis: usize) -> Vec<f64> {
    let size = model.axes[axis].listed.labels.len();
    (0..size).map(|code| model.score(axis, code)).collect()
}

/// The product of two columns; `None` if it is zero everywhere.
fn product(one: &[(usize, Vec<f64>)], other: &[(usize, Vec<f64>)]) -> Option<Vec<(usize, Vec<f64>)>> {
    let mut product = one.to_vec();
    for (attribute, factors) in other {
        match product.iter_mut().find(|(known, _)| known == attribute) {
            Some((_, known)) => {
                for (known, factor) in known.iter_mut().zip(factors) {
                    *known *= factor;
                }
            }
            None => product.push((*attribute, factors.clone())),
        }
    }
    let zero = product
        .iter()
        .any(|(_, factors)| factors.iter().all(|factor| *factor == 0.0));
    (!zero).then_some(product)
}
