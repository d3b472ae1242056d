//! The same question to noise on a grid: does any output exclude the neighbour?

use crate::parallel::share;
use crate::{Error, Watch};
use accounting::{Budget, Epsilon, Neighbors, PrivacyUnit, Promise};
use exact::{Rational, to_f64_nearest};
use mechanism::{Account, Aggregate, Laplace, MemoryLedger, Sensitive, Sensitivity, Stated};
use noise::Grid;

/// Values noised by one release.
const VALUES_AT_A_TIME: u64 = 1 << 13;
/// Points up to this many scales away are counted one by one.
const SCALES_COUNTED: f64 = 8.0;
/// A point that privacy allows is called one-sided with at most this probability, all points together.
const FALSE_ALARM: f64 = 1e-9;

/// How often each grid point came from either of two values.
#[derive(Clone, Debug)]
pub struct GridTally {
    grid: Grid,
    /// The grid point that is counted first.
    first: i64,
    counts: [Vec<u32>; 2],
    draws: [u64; 2],
    off_grid: u64,
}

/// What the outputs gave away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridExposure {
    /// How many outputs were looked at, on either value.
    pub draws: [u64; 2],
    /// How many of them were not on the grid, so that a value could be reported by them.
    pub off_grid: u64,
    /// Grid points that came often enough to be reported.
    pub points_compared: u64,
    /// Those that came from one value only.
    pub points_one_sided: u64,
    /// How many outputs were such points.
    pub outputs_one_sided: u64,
    /// How often a point must have come to be compared.
    pub fewest: u64,
}

impl GridExposure {
    /// Outputs that exclude the neighbour.
    pub fn given_away(&self) -> u64 {
        self.off_grid + self.outputs_one_sided
    }
}

impl GridTally {
    /// Counts nothing yet, around values from 0 to 1 with noise of this scale.
    pub fn new(grid: Grid, scale: f64) -> Self {
        let first = grid.round(-SCALES_COUNTED * scale);
        let last = grid.round(1.0 + SCALES_COUNTED * scale);
        let points = usize::try_from(last - first + 1).unwrap_or(0);
        Self {
            grid,
            first,
            counts: [vec![0; points], vec![0; points]],
            draws: [0; 2],
            off_grid: 0,
        }
    }

    /// Counts one output on value number `side`.
    pub fn add(&mut self, side: usize, output: f64) {
        self.draws[side] += 1;
        let steps = self.grid.round(output);
        if self.grid.value(steps) != output {
            self.off_grid += 1;
        } else if let Some(count) = usize::try_from(steps - self.first)
            .ok()
            .and_then(|place| self.counts[side].get_mut(place))
        {
            *count = count.saturating_add(1);
        }
    }

    /// Adds what another tally of the same grid counted.
    fn merge(&mut self, other: &Self) {
        for side in 0..2 {
            self.draws[side] += other.draws[side];
            for (count, more) in self.counts[side].iter_mut().zip(&other.counts[side]) {
                *count = count.saturating_add(*more);
            }
        }
        self.off_grid += other.off_grid;
    }

    /// What the outputs gave away, if they claim this ε on these two values.
    ///
    /// Of equally many draws on both values, an output at a point is from the likelier value with probability
    /// at most e^ε/(1+e^ε). That all of t outputs at one point are from the same value then has a probability
    /// of at most 2·(e^ε/(1+e^ε))^t; t is such that over all points this is below 1e-9.
    pub fn exposure(&self, epsilon: f64) -> GridExposure {
        let points = self.counts[0].len() as f64;
        let one = (-epsilon).exp().ln_1p();
        let fewest = ((2.0 * points / FALSE_ALARM).ln() / one).ceil() as u64;
        let mut exposure = GridExposure {
            draws: self.draws,
            off_grid: self.off_grid,
            points_compared: 0,
            points_one_sided: 0,
            outputs_one_sided: 0,
            fewest,
        };
        for (first, second) in self.counts[0].iter().zip(&self.counts[1]) {
            let both = u64::from(*first) + u64::from(*second);
            if both >= fewest {
                exposure.points_compared += 1;
                if *first == 0 || *second == 0 {
                    exposure.points_one_sided += 1;
                    exposure.outputs_one_sided += both;
                }
            }
        }
        exposure
    }
}

/// Draws Deniable's own noise on 0 and on 1, so often on each, through the boundary that every release
/// passes, and looks for outputs that exclude the other value.
pub fn grid_noise(epsilon: &Epsilon, draws: u64, watch: &Watch<'_>) -> Result<GridExposure, Error> {
    if *epsilon == Epsilon::ZERO {
        return Err(mechanism::Error::NoEpsilon.into());
    }
    let scale = Rational::ONE / epsilon.as_rational();
    let grid = Grid::for_noise(&scale, &Rational::ONE);
    let (scale, claimed) = (to_f64_nearest(&scale), to_f64_nearest(epsilon.as_rational()));
    if !(0.01..=100.0).contains(&claimed) {
        return Err(Error::bad_setting(
            "ε must lie between 0.01 and 100 for points to be counted one by one",
            "1 is a usual choice",
        ));
    }
    let source = Source::new(epsilon, grid)?;
    // Fails here, where it can be reported, if there is no entropy.
    source.outputs(0, 1)?;
    let pieces = draws.div_ceil(VALUES_AT_A_TIME);
    let tallies = share(
        pieces,
        watch,
        || (GridTally::new(grid, scale), None),
        |(tally, fault), piece| {
            let values = VALUES_AT_A_TIME.min(draws - piece * VALUES_AT_A_TIME) as usize;
            for side in 0..2 {
                match source.outputs(side, values) {
                    Ok(outputs) => outputs.iter().for_each(|output| tally.add(side, *output)),
                    Err(error) => *fault = Some(error),
                }
            }
        },
    );
    let mut all = GridTally::new(grid, scale);
    for (tally, fault) in tallies {
        match fault {
            Some(error) => return Err(error),
            None => all.merge(&tally),
        }
    }
    Ok(all.exposure(claimed))
}

/// Releases of the values 0 and 1 in steps of a grid.
struct Source {
    laplace: Laplace,
    epsilon: Epsilon,
    person: PrivacyUnit,
    grid: Grid,
}

impl Source {
    fn new(epsilon: &Epsilon, grid: Grid) -> Result<Self, Error> {
        // One person moves one value of a release by 1, so each value has the noise of a single count.
        let sensitivity = Sensitivity::scalar(Rational::ONE / grid.step())?;
        Ok(Self {
            laplace: Laplace::new(epsilon.clone(), sensitivity, grid)?,
            epsilon: epsilon.clone(),
            person: PrivacyUnit::new("person", Neighbors::AddRemove),
            grid,
        })
    }

    /// This many values of 0 or of 1, as a reader sees them. Each call is about synthetic people of its own,
    /// who have an account of their own.
    fn outputs(&self, value: usize, values: usize) -> Result<Vec<f64>, Error> {
        let budget = Budget::new(Promise::Pure(self.epsilon.clone()), self.person.clone());
        let mut account = Account::open(MemoryLedger::new(budget))?;
        let exact = Sensitive::new(vec![self.grid.round(value as f64); values]);
        let sensitivity = self.laplace.terms().sensitivity().clone();
        let aggregate = Aggregate::claimed(exact, sensitivity, self.person.clone(), self.grid);
        Ok(account.release_by(&self.laplace, aggregate, "bits")?.reals())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seeded;
    use noise::DiscreteLaplace;

    fn epsilon(text: &str) -> Epsilon {
        Epsilon::parse(text).unwrap()
    }

    #[test]
    fn nothing_excludes_the_neighbour() {
        // Fresh entropy; a false alarm has probability 1e-9.
        let found = grid_noise(&epsilon("1"), 500_000, &|_| true).unwrap();
        assert_eq!(found.draws, [500_000; 2]);
        assert_eq!((found.given_away(), found.points_one_sided), (0, 0));
        assert!(found.points_compared > 1_000, "{found:?}");
        assert!(grid_noise(&Epsilon::ZERO, 10, &|_| true).is_err());
        assert!(grid_noise(&epsilon("0.001"), 10, &|_| true).is_err());
    }

    /// Noise with a hole in every second point, and noise off the grid: what this is here to catch.
    #[test]
    fn planted_holes_are_found() {
        let grid = Grid::new(-6);
        let noise = DiscreteLaplace::new(&Rational::from(64u8)).unwrap();
        let mut entropy = Seeded::new(5);
        let (mut sound, mut holed, mut off) = (
            GridTally::new(grid, 1.0),
            GridTally::new(grid, 1.0),
            GridTally::new(grid, 1.0),
        );
        for side in 0..2 {
            for _ in 0..100_000 {
                let steps = noise.sample(&mut entropy);
                sound.add(side, grid.value(grid.round(side as f64) + steps));
                holed.add(side, grid.value(2 * steps + side as i64));
                off.add(side, grid.value(steps) + side as f64 * 1e-3);
            }
        }
        assert_eq!(sound.exposure(1.0).given_away(), 0);
        assert!(sound.exposure(1.0).points_compared > 100);
        let found = holed.exposure(1.0);
        assert_eq!(found.points_one_sided, found.points_compared);
        assert!(found.given_away() > 150_000, "{found:?}");
        assert!(off.exposure(1.0).off_grid >= 99_000);
    }
}
