//! Running totals with noise of a square root of the sums.

use crate::noise::rounded_tail;
use crate::subject::{Plan, Subject, words};
use crate::{Error, explained};
use accounting::{Delta, Epsilon, Neighbors, smallest_multiplier};
use audit::black_box::Feature;
use audit::exact_audit::{Distribution, Finite, Gaussian};
use audit::report::{Claim, Distributions};
use exact::{Rational, power_of_two, ratio};
use mechanism::{Participation, RunningTotals, Sensitivity, SquaredMultiplier};
use noise::Grid;

/// Cells reach from −END to END; all beyond counts with the ends.
const END: i64 = 80;
/// What one unit adds at most, in one period.
const STEP: i64 = 4;

/// Three periods of one number, in one of which a unit counts.
#[derive(Clone)]
pub(crate) struct ThreeTotals;

fn parameters() -> Result<(Epsilon, Delta), Error> {
    Ok((
        Epsilon::parse("0.5").map_err(explained)?,
        Delta::parse("0.01").map_err(explained)?,
    ))
}

/// 8·C·x, by the definition of C: its first column is 1, 1/2, 3/8.
fn roots(x: [i64; 3]) -> [i64; 3] {
    [8 * x[0], 8 * x[1] + 4 * x[0], 8 * x[2] + 4 * x[1] + 3 * x[0]]
}

fn increments(data: &[i64]) -> [i64; 3] {
    [data[0], data[1], data[2]]
}

impl Subject for ThreeTotals {
    const NAME: &'static str = "RunningTotals";
    const NEIGHBORS: Neighbors = Neighbors::AddRemove;
    type Data = Vec<i64>;
    type Input = Vec<Vec<i64>>;
    type Output = Vec<Vec<i64>>;
    type Mechanism = RunningTotals;

    fn claim(&self) -> Result<Claim, Error> {
        Ok(Claim::new(ratio(1, 2), ratio(1, 100)))
    }

    fn build(&self, stretch: &Rational) -> Result<RunningTotals, Error> {
        let (epsilon, delta) = parameters()?;
        let sensitivity = Sensitivity::scalar(STEP).map_err(explained)?;
        if *stretch == Rational::ONE {
            let once = Participation::ONCE;
            return RunningTotals::analytic(epsilon, delta, 3, once, sensitivity, Grid::new(0))
                .map_err(explained);
        }
        let multiplier = smallest_multiplier(&epsilon, &delta).map_err(explained)? / stretch;
        let multiplier = SquaredMultiplier::of(&multiplier);
        RunningTotals::with_squared_multiplier(&multiplier, 3, Participation::ONCE, sensitivity, Grid::new(0))
            .map_err(explained)
    }

    fn input(&self, data: &Vec<i64>) -> Vec<Vec<i64>> {
        data.iter().map(|value| vec![*value]).collect()
    }

    fn pairs(&self) -> Vec<[Vec<i64>; 2]> {
        vec![
            [vec![0, 0, 0], vec![STEP, 0, 0]],
            [vec![0, STEP, 0], vec![0, 0, 0]],
            [vec![1, 2, 3], vec![1, 2, 3 - STEP]],
        ]
    }

    /// What totals are made of is C·x with normal noise on each coordinate. On the line through the two inputs it is normal with the means ⟨d, C·x⟩ and the variance ‖d‖²σ², where d = C·(x′ − x); across the line the two
    /// agree.
    fn distributions(&self, mechanism: &RunningTotals, pair: &[Vec<i64>; 2]) -> Result<Distributions, Error> {
        let [first, second] = [roots(increments(&pair[0])), roots(increments(&pair[1]))];
        let line = [0, 1, 2].map(|place| second[place] - first[place]);
        let along = |point: [i64; 3]| (0..3).map(|place| line[place] * point[place]).sum::<i64>();
        // Both factors of each product are eight times too large.
        let scale = power_of_two(-6);
        let variance = Rational::from(along(line)) * &scale * mechanism.variance();
        let normal = |point: [i64; 3]| -> Result<Distribution, Error> {
            let mean = Rational::from(along(point)) * &scale;
            Ok(Gaussian::new(&mean, &variance).map_err(explained)?.into())
        };
        Ok(Distributions::new(words(pair), [normal(first)?, normal(second)?]))
    }

    fn drawn(&self) -> [Vec<i64>; 2] {
        [vec![0, 0, 0], vec![STEP, 0, 0]]
    }

    fn features(&self) -> Vec<Feature<Vec<Vec<i64>>>> {
        let on_the_line = |totals: &Vec<Vec<i64>>| {
            let total = |period: usize| totals[period][0];
            let [first, second, third] = roots([total(0), total(1) - total(0), total(2) - total(1)]);
            8 * first + 4 * second + 3 * third
        };
        vec![
            Feature::ordered("on the line", on_the_line),
            Feature::ordered("the last total", |totals: &Vec<Vec<i64>>| totals[2][0]),
        ]
    }

    /// Of the first total, x + ⌊R·2^-24 + ½⌋ with R the rounding of a normal number: R·2^-24 ≥ k − ½ where that number is at least (k − ½)·2^24 − ½.
    fn cells(&self, mechanism: &RunningTotals, data: &Vec<i64>) -> Result<Finite, Error> {
        let (fine, center) = (mechanism.variance() * power_of_two(48), data[0]);
        let tail = move |k: i64, bits: u32| rounded_tail(&fine, (2 * (k - center) - 1) << 23, bits);
        crate::noise::from_tail(END, tail)
    }

    fn cell(&self, _: &RunningTotals, output: &Vec<Vec<i64>>) -> usize {
        (output[0][0].clamp(-END, END) + END) as usize
    }

    fn plan(&self) -> Plan {
        Plan {
            exact_lack: 5,
            drawn_lack: [60, 40],
            draws: [30_000, 300_000],
            fitted: [20_000, 200_000],
        }
    }
}
