//! Sums of products of two columns of the design, the response being the last column: all that least squares needs.

use crate::cells::{Cells, Combination};
use crate::matrix::Matrix;
use crate::model::{Response, Source};
use crate::{Error, Model};

/// Noisy moments: M with an estimate of Σ x·xᵀ over rows, x with the response as its last entry.
pub(crate) trait Moments {
    /// The estimate.
    fn matrix(&self) -> &Matrix;
    /// The covariance of the noise of M·b.
    fn noise_of(&self, b: &[f64]) -> Matrix;
    /// The columns whose rows can be left out: without them a value of a factor is not compared with anything.
    fn without(&self, left_out: &[(usize, usize)]) -> Option<Box<dyn Moments + '_>>;
}

/// Numbers of the design in one cell: a factor for each column, beside what is summed.
pub(crate) struct Design<'a> {
    model: &'a Model,
    /// For each column and the response, which summed number it takes; `None` for the count.
    summed: Vec<Option<usize>>,
    /// For each column and the response, its factor in each cell.
    pub(crate) factors: Vec<Vec<f64>>,
}

/// More numbers than this are not held.
const MOST_NUMBERS: usize = 8_000_000;

/// Whether a model's moments fit in memory: told by the model alone.
pub(crate) fn check_size(model: &Model) -> Result<(), Error> {
    let cells = model.cells().unwrap_or(usize::MAX);
    let columns = model.columns.len() + 1;
    let needed = cells
        .checked_mul(columns)
        .and_then(|numbers| numbers.checked_mul(model.statistics().len()));
    match needed {
        Some(needed) if needed <= MOST_NUMBERS => Ok(()),
        _ => Err(Error::TooLarge {
            what: format!("{columns} coefficients over {cells} cells do not fit in memory"),
            hint: "use fewer or wider bins, or fewer factors".to_owned(),
        }),
    }
}

impl<'a> Design<'a> {
    pub(crate) fn new(model: &'a Model, left_out: &[(usize, usize)]) -> Result<Self, Error> {
        check_size(model)?;
        let (cells, columns) = (model.cells().unwrap_or(0), model.columns.len() + 1);
        let mut factors = vec![vec![0.0; cells]; columns];
        #[expect(clippy::needless_range_loop, reason = "a cell has a place in several columns")]
        for cell in 0..cells {
            let codes = model.cell_at(cell);
            let out = codes.iter().enumerate().any(|(axis, code)| {
                model.axes[axis].listed.missing == Some(*code) || left_out.contains(&(axis, *code))
            });
            if out {
                continue;
            }
            for (place, column) in model.columns.iter().enumerate() {
                if column.levels.iter().all(|(axis, code)| codes[*axis] == *code) {
                    factors[place][cell] = match column.number {
                        Some(Source::Scored(axis)) => model.score(axis, codes[axis]),
                        _ => 1.0,
                    };
                }
            }
            factors[columns - 1][cell] = match model.response {
                Response::Number(Source::Scored(axis)) => model.score(axis, codes[axis]),
                Response::Number(Source::Summed(_)) => 1.0,
                Response::Event { axis, code } => f64::from(u8::from(codes[axis] == code)),
            };
        }
        let mut summed: Vec<Option<usize>> = model
            .columns
            .iter()
            .map(|column| match column.number {
                Some(Source::Summed(place)) => Some(place),
                _ => None,
            })
            .collect();
        summed.push(match model.response {
            Response::Number(Source::Summed(place)) => Some(place),
            _ => None,
        });
        Ok(Self {
            model,
            summed,
            factors,
        })
    }

    fn statistic(&self, one: Option<usize>, other: Option<usize>) -> usize {
        let pair = if one <= other { (one, other) } else { (other, one) };
        let place = self.model.statistics().iter().position(|known| *known == pair);
        place.expect("all pairs are measured for least squares")
    }

    /// M·b as combinations of the numbers.
    fn score(&self, b: &[f64]) -> Vec<Combination> {
        let statistics = self.model.statistics().len();
        let cells = self.factors[0].len();
        // What b takes of each summed number, and of the count, in each cell.
        let mut kinds: Vec<(Option<usize>, Vec<f64>)> = Vec::new();
        for ((factors, summed), weight) in self.factors.iter().zip(&self.summed).zip(b) {
            if *weight == 0.0 {
                continue;
            }
            let place = kinds
                .iter()
                .position(|(kind, _)| kind == summed)
                .unwrap_or_else(|| {
                    kinds.push((*summed, vec![0.0; cells]));
                    kinds.len() - 1
                });
            for (taken, factor) in kinds[place].1.iter_mut().zip(factors) {
                *taken += weight * factor;
            }
        }
        let columns = self.factors.iter().zip(&self.summed);
        columns
            .map(|(factors, summed)| {
                let mut combination = vec![vec![0.0; cells]; statistics];
                for (kind, taken) in &kinds {
                    let to = &mut combination[self.statistic(*summed, *kind)];
                    for ((to, factor), taken) in to.iter_mut().zip(factors).zip(taken) {
                        *to += factor * taken;
                    }
                }
                combination
            })
            .collect()
    }
}

/// Moments from the cells of a model.
pub(crate) struct OfCells<'a> {
    cells: &'a Cells,
    design: Design<'a>,
    matrix: Matrix,
}

impl<'a> OfCells<'a> {
    pub(crate) fn new(
        model: &'a Model,
        cells: &'a Cells,
        left_out: &[(usize, usize)],
    ) -> Result<Self, Error> {
        let design = Design::new(model, left_out)?;
        let size = design.factors.len();
        let mut matrix = Matrix::zero(size);
        for row in 0..size {
            for column in 0..=row {
                let numbers = &cells.numbers[design.statistic(design.summed[row], design.summed[column])];
                let (one, other) = (&design.factors[row], &design.factors[column]);
                let value: f64 = (0..numbers.len())
                    .map(|cell| one[cell] * other[cell] * numbers[cell])
                    .sum();
                matrix.set(row, column, value);
                matrix.set(column, row, value);
            }
        }
        Ok(Self {
            cells,
            design,
            matrix,
        })
    }
}

impl Moments for OfCells<'_> {
    fn matrix(&self) -> &Matrix {
        &self.matrix
    }

    fn noise_of(&self, b: &[f64]) -> Matrix {
        self.cells.covariance(&self.design.score(b))
    }

    fn without(&self, left_out: &[(usize, usize)]) -> Option<Box<dyn Moments + '_>> {
        let moments = OfCells::new(self.design.model, self.cells, left_out);
        moments.ok().map(|moments| Box::new(moments) as Box<dyn Moments>)
    }
}
