//! Whole numbers of at least 0 for tables without a hierarchy, as marginals of one full table.
//!
//! Tables that are marginals of one table of whole numbers agree by construction, whichever they are. So the full table is what is looked for: not negative, and with marginals as close to the released ones as can be, each cell weighed by its
//! variance. That needs memory for every combination of values, so it is for domains of up to 4 million combinations; beyond, there are the unbiased tables, which agree, but may be negative.

use super::root;
use crate::Error;

/// The most cells of a full table.
const MOST_CELLS: usize = 1 << 22;

/// A released table over some axes of the full one.
#[derive(Clone, Copy, Debug)]
pub struct Margin<'a> {
    /// Which axes of the full table it keeps, in ascending order.
    pub axes: &'a [usize],
    /// Its numbers, in row-major order.
    pub values: &'a [f64],
    /// The variance of each number, the same for all.
    pub variance: f64,
}

/// A full table of whole numbers of at least 0 over axes of these sizes, in row-major order, whose marginals are close to the released ones.
///
/// Σ (marginal − released)²/variance is brought down over all tables that are not negative, by `steps` steps of accelerated projected gradients (Beck and Teboulle 2009); then the table is rounded with its total kept. `impossible` cells,
/// declared without looking at data, stay 0.
///
/// # Errors
/// When the full table has more than 4 million cells, a marginal does not fit it, or there is none.
pub fn whole_table(
    sizes: &[usize],
    margins: &[Margin<'_>],
    impossible: &dyn Fn(usize) -> bool,
    steps: u32,
) -> Result<Vec<i64>, Error> {
    let cells = sizes
        .iter()
        .try_fold(1usize, |cells, size| cells.checked_mul(*size));
    let Some(cells) = cells.filter(|cells| (1..=MOST_CELLS).contains(cells)) else {
        return Err(Error::FullTableTooLarge {
            allowed: MOST_CELLS as u64,
        });
    };
    let places: Vec<Vec<u32>> = margins
        .iter()
        .map(|margin| places(sizes, cells, margin))
        .collect::<Result<_, _>>()?;
    if margins.is_empty() {
        return Err(Error::NothingWanted);
    }
    let open: Vec<bool> = (0..cells).map(|cell| !impossible(cell)).collect();
    // The largest curvature is at most the sum of each marginal's: a cell of it is a sum of cells/len of the full table's.
    let curvature: f64 = margins
        .iter()
        .map(|margin| cells as f64 / margin.values.len() as f64 / margin.variance)
        .sum();
    let total = weighted_total(margins);
    let start = total.max(0.0) / open.iter().filter(|open| **open).count().max(1) as f64;
    let mut table: Vec<f64> = open.iter().map(|open| if *open { start } else { 0.0 }).collect();
    let (mut ahead, mut pace) = (table.clone(), 1.0f64);
    for _ in 0..steps {
        let slope = gradient(&ahead, margins, &places);
        let next_pace = f64::midpoint(1.0, (1.0 + 4.0 * pace * pace).sqrt());
        let momentum = (pace - 1.0) / next_pace;
        pace = next_pace;
        for (((value, ahead), slope), open) in table.iter_mut().zip(&mut ahead).zip(&slope).zip(&open) {
            let next = if *open {
                (*ahead - slope / curvature).max(0.0)
            } else {
                0.0
            };
            *ahead = next + momentum * (next - *value);
            *value = next;
        }
    }
    let kept: Vec<f64> = table
        .iter()
        .zip(&open)
        .filter(|(_, open)| **open)
        .map(|(value, _)| *value)
        .collect();
    let mut whole = root(&kept).into_iter();
    Ok(open
        .iter()
        .map(|open| if *open { whole.next().unwrap_or(0) } else { 0 })
        .collect())
}

/// The mean of the marginals' totals, by their inverse variances.
fn weighted_total(margins: &[Margin<'_>]) -> f64 {
    let weight = |margin: &Margin<'_>| 1.0 / (margin.variance * margin.values.len() as f64);
    let sum: f64 = margins
        .iter()
        .map(|margin| weight(margin) * margin.values.iter().sum::<f64>())
        .sum();
    sum / margins.iter().map(weight).sum::<f64>()
}

fn gradient(table: &[f64], margins: &[Margin<'_>], places: &[Vec<u32>]) -> Vec<f64> {
    let mut slope = vec![0.0; table.len()];
    for (margin, places) in margins.iter().zip(places) {
        let mut off: Vec<f64> = margin.values.iter().map(|value| -value).collect();
        for (value, place) in table.iter().zip(places) {
            off[*place as usize] += value;
        }
        for (slope, place) in slope.iter_mut().zip(places) {
            *slope += off[*place as usize] / margin.variance;
        }
    }
    slope
}

/// For each cell of the full table, its cell in the marginal.
fn places(sizes: &[usize], cells: usize, margin: &Margin<'_>) -> Result<Vec<u32>, Error> {
    let ascending = margin.axes.windows(2).all(|pair| pair[0] < pair[1]);
    let known = margin.axes.iter().all(|axis| *axis < sizes.len());
    let positive = margin.variance > 0.0 && margin.variance.is_finite();
    if !ascending
        || !known
        || !positive
        || margin.values.len() != margin.axes.iter().map(|axis| sizes[*axis]).product::<usize>()
    {
        return Err(Error::OtherHierarchy);
    }
    let place = |cell: usize| {
        let (mut rest, mut stride, mut place) = (cell, 1, 0);
        for (axis, size) in sizes.iter().enumerate().rev() {
            if margin.axes.contains(&axis) {
                place += rest % size * stride;
                stride *= size;
            }
            rest /= size;
        }
        place as u32
    };
    Ok((0..cells).map(place).collect())
}
