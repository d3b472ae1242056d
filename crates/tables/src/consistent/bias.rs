//! How far whole numbers of at least 0 are from the truth on average, by the size of cells.

use super::{Fit, top_down};
use crate::Error;
use noise::{Keyed, RoundedGaussian};

/// What making numbers whole and not negative does to cells of one size, at one level.
#[derive(Clone, Debug, PartialEq)]
pub struct Bias {
    /// The level of the hierarchy.
    pub level: usize,
    /// The smallest cells that count here.
    pub from: i64,
    /// The largest ones.
    pub to: i64,
    /// How many cells there are.
    pub cells: u64,
    /// The mean of what is published less what is true.
    pub mean: f64,
    /// The standard error of that mean, from one simulation to another.
    pub error: f64,
    /// The root of the mean squared difference.
    pub root_mean_square: f64,
}

/// Sizes of cells: 0, 1 to 2, 3 to 9, 10 to 99, 100 to 999, and more.
const SIZES: [(i64, i64); 6] = [(0, 0), (1, 2), (3, 9), (10, 99), (100, 999), (1000, i64::MAX)];
/// Steps of the simulated noise: fine enough to look continuous.
const FINE: f64 = 1024.0;

/// The bias by size of cell, estimated from what was released: free, as it reads nothing else.
///
/// The published whole numbers are taken for the truth. Noise of the stated variances is drawn on each node again, `times` times; estimates and whole numbers are made of it in the same way; and what comes out is compared with what was taken for the truth.
/// This is the parametric bootstrap. It is itself off where the published numbers are: they have fewer small cells than there are in truth, and more zeros, so the bias of zeros is told too low where many small cells were lost.
///
/// # Errors
/// When there are no simulations, or numbers and hierarchy do not fit.
pub fn bias_by_size(
    fit: &Fit,
    measured: &[Vec<f64>],
    published: &[Vec<i64>],
    width: usize,
    times: u32,
    seed: u64,
) -> Result<Vec<Bias>, Error> {
    let tree = fit.tree();
    let fits = |numbers: &[usize], width: usize| {
        numbers.len() == tree.levels()
            && numbers
                .iter()
                .enumerate()
                .all(|(level, count)| *count == tree.size(level) * width)
    };
    let lengths: Vec<usize> = published.iter().map(Vec::len).collect();
    let variances: Vec<usize> = measured.iter().map(Vec::len).collect();
    if times == 0 || width == 0 || !fits(&lengths, width) || !fits(&variances, 1) {
        return Err(Error::OtherHierarchy);
    }
    let mut tallies = vec![[Tally::default(); SIZES.len()]; tree.levels()];
    for time in 0..times {
        let mut numbers = simulated(measured, published, width, seed, time)?;
        fit.estimates(&mut numbers, width);
        let whole = top_down(fit, &numbers, width)?;
        for (level, (whole, truth)) in whole.iter().zip(published).enumerate() {
            let mut sums = [(0u64, 0.0, 0.0); SIZES.len()];
            for (whole, truth) in whole.iter().zip(truth) {
                let size = SIZES
                    .iter()
                    .position(|(_, to)| truth <= to)
                    .unwrap_or(SIZES.len() - 1);
                let off = (whole - truth) as f64;
                sums[size] = (sums[size].0 + 1, sums[size].1 + off, sums[size].2 + off * off);
            }
            for (tally, (cells, sum, square)) in tallies[level].iter_mut().zip(sums) {
                tally.add(cells, sum, square);
            }
        }
    }
    let rows = tallies.iter().enumerate().flat_map(|(level, tallies)| {
        let found = tallies.iter().zip(SIZES).filter(|(tally, _)| tally.cells > 0);
        found
            .map(move |(tally, (from, to))| tally.report(level, from, to, times))
            .collect::<Vec<_>>()
    });
    Ok(rows.collect())
}

/// The published numbers with noise, as if they had been measured.
fn simulated(
    measured: &[Vec<f64>],
    published: &[Vec<i64>],
    width: usize,
    seed: u64,
    time: u32,
) -> Result<Vec<Vec<f64>>, Error> {
    let mut key = [0u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut stream = Keyed::new(key, u64::from(time));
    let mut row = vec![0i64; width];
    let mut numbers = Vec::with_capacity(published.len());
    for (published, variances) in published.iter().zip(measured) {
        let mut level: Vec<f64> = published.iter().map(|number| *number as f64).collect();
        let mut sampler: Option<(f64, RoundedGaussian)> = None;
        for (numbers, variance) in level.chunks_mut(width.max(1)).zip(variances) {
            // Neither what is exact nor what was not measured has noise that counts.
            if *variance <= 0.0 || !variance.is_finite() {
                continue;
            }
            if sampler.as_ref().is_none_or(|(known, _)| known != variance) {
                let fine = exact::from_f64(variance * FINE * FINE).ok_or(Error::BadVariance)?;
                let made = RoundedGaussian::new(&fine).map_err(mechanism::Error::from)?;
                sampler = Some((*variance, made));
            }
            if let Some((_, noise)) = &sampler {
                noise.fill(&mut row, &mut stream);
            }
            for (number, noise) in numbers.iter_mut().zip(&row) {
                *number += *noise as f64 / FINE;
            }
        }
        numbers.push(level);
    }
    Ok(numbers)
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    cells: u64,
    means: f64,
    squares_of_means: f64,
    squares: f64,
}

impl Tally {
    fn add(&mut self, cells: u64, sum: f64, square: f64) {
        if cells > 0 {
            let mean = sum / cells as f64;
            self.cells = cells;
            self.means += mean;
            self.squares_of_means += mean * mean;
            self.squares += square / cells as f64;
        }
    }

    fn report(&self, level: usize, from: i64, to: i64, times: u32) -> Bias {
        let times = f64::from(times);
        let mean = self.means / times;
        let variance = (self.squares_of_means / times - mean * mean).max(0.0) / (times - 1.0).max(1.0);
        Bias {
            level,
            from,
            to,
            cells: self.cells,
            mean,
            error: variance.sqrt(),
            root_mean_square: (self.squares / times).sqrt(),
        }
    }
}
