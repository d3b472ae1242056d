//! Medians and other quantiles of a column.

use crate::subject::{Plan, Subject};
use crate::{Error, explained};
use accounting::{Delta, Epsilon, Neighbors, Promise};
use audit::black_box::Feature;
use audit::exact_audit::{Finite, LaplaceTable};
use audit::report::Claim;
use exact::{Interval, Rational, power_of_two, ratio};
use mechanism::{Bounds, Column, ProposeTestRelease, Quantile, Quantiles, SmoothMedian, Stated};
use noise::Grid;

fn bounds(upper: i64) -> Result<Bounds, Error> {
    Bounds::new(0, upper, Grid::new(0)).map_err(explained)
}

fn epsilon(stretch: &Rational) -> Result<Epsilon, Error> {
    Epsilon::exactly_or_up(stretch).map_err(explained)
}

/// What a pure mechanism promises.
fn promised(mechanism: &impl Stated) -> Rational {
    match mechanism.terms().promise() {
        Promise::Pure(epsilon) | Promise::Approximate(epsilon, _) => epsilon.as_rational().clone(),
        Promise::Concentrated(rho) => rho.as_rational().clone(),
    }
}

fn sorted(data: &[i64]) -> Vec<i64> {
    let mut sorted = data.to_vec();
    sorted.sort_unstable();
    sorted
}

/// −rate·distance of each point's ranks from the middle: what a median is chosen by, when one value changes.
pub(crate) fn scores(data: &[i64], upper: i64) -> Vec<Rational> {
    let target = Rational::from(data.len()) * ratio(1, 2);
    let score = |point: i64| {
        let low = data.iter().filter(|value| **value < point).count();
        let high = data.iter().filter(|value| **value <= point).count();
        let (beyond, short) = (Rational::from(low) - &target, &target - Rational::from(high));
        -beyond.max(short).max(Rational::ZERO)
    };
    (0..=upper).map(score).collect()
}

/// P(v) ∝ e^(ε·score/2).
fn median_distribution(data: &[i64], upper: i64, epsilon: &Rational) -> Result<Finite, Error> {
    let exponents: Vec<Rational> = scores(data, upper)
        .iter()
        .map(|score| score * epsilon * ratio(1, 2))
        .collect();
    Finite::from_exponents(&exponents).map_err(explained)
}

/// The median by the exponential mechanism over all points.
#[derive(Clone)]
pub(crate) struct Median;

/// The end of the range of [`Median`].
const MEDIAN_UPPER: i64 = 40;

impl Subject for Median {
    const NAME: &'static str = "Quantile";
    const NEIGHBORS: Neighbors = Neighbors::ChangeOne;
    type Data = Vec<i64>;
    type Input = Column;
    type Output = i64;
    type Mechanism = Quantile;

    fn claim(&self) -> Result<Claim, Error> {
        Ok(Claim::pure(Rational::ONE))
    }

    fn build(&self, stretch: &Rational) -> Result<Quantile, Error> {
        Quantile::new(
            epsilon(stretch)?,
            &ratio(1, 2),
            bounds(MEDIAN_UPPER)?,
            Self::NEIGHBORS,
        )
        .map_err(explained)
    }

    fn input(&self, data: &Vec<i64>) -> Column {
        Column::new(data.clone())
    }

    /// Closest where most points lose a rank and a few gain one.
    fn pairs(&self) -> Vec<[Vec<i64>; 2]> {
        vec![
            [vec![0, 0, 39, 40], vec![0, 39, 40, 40]],
            [vec![0, 0, 35, 40], vec![0, 35, 40, 40]],
            [vec![20; 5], vec![20, 20, 20, 20, 0]],
            [vec![1], vec![40]],
        ]
    }

    fn drawn(&self) -> [Vec<i64>; 2] {
        [vec![0, 0, 35, 40], vec![0, 35, 40, 40]]
    }

    fn features(&self) -> Vec<Feature<i64>> {
        Feature::<i64>::standard()
    }

    fn cells(&self, mechanism: &Quantile, data: &Vec<i64>) -> Result<Finite, Error> {
        median_distribution(data, MEDIAN_UPPER, &promised(mechanism))
    }

    fn cell(&self, _: &Quantile, output: &i64) -> usize {
        *output as usize
    }

    fn plan(&self) -> Plan {
        Plan {
            exact_lack: 20,
            drawn_lack: [60, 40],
            draws: [5_000, 100_000],
            fitted: [2_000, 50_000],
        }
    }
}

/// Two medians of the same column with half of ε each.
#[derive(Clone)]
pub(crate) struct TwoMedians;

/// The end of the range of [`TwoMedians`].
const TWO_UPPER: i64 = 12;

impl Subject for TwoMedians {
    const NAME: &'static str = "Quantiles";
    const NEIGHBORS: Neighbors = Neighbors::ChangeOne;
    type Data = Vec<i64>;
    type Input = Column;
    type Output = Vec<i64>;
    type Mechanism = Quantiles;

    fn claim(&self) -> Result<Claim, Error> {
        Ok(Claim::pure(ratio(2, 1)))
    }

    fn build(&self, stretch: &Rational) -> Result<Quantiles, Error> {
        let epsilon = epsilon(&(ratio(2, 1) * stretch))?;
        let fractions = [ratio(1, 2), ratio(1, 2)];
        Quantiles::new(&epsilon, &fractions, bounds(TWO_UPPER)?, Self::NEIGHBORS).map_err(explained)
    }

    fn input(&self, data: &Vec<i64>) -> Column {
        Column::new(data.clone())
    }

    fn pairs(&self) -> Vec<[Vec<i64>; 2]> {
        vec![
            [vec![0, 0, 12, 12], vec![0, 12, 12, 12]],
            [vec![0, 0, 11, 12], vec![0, 11, 12, 12]],
            [vec![0, 0, 9, 12], vec![0, 9, 12, 12]],
            [vec![6; 3], vec![6, 6, 0]],
        ]
    }

    fn drawn(&self) -> [Vec<i64>; 2] {
        [vec![0, 0, 9, 12], vec![0, 9, 12, 12]]
    }

    fn features(&self) -> Vec<Feature<Vec<i64>>> {
        vec![
            Feature::values("both", |both: &Vec<i64>| pair_cell(both) as i64),
            Feature::ordered("sum", |both: &Vec<i64>| both.iter().sum()),
            Feature::ordered("smaller", |both: &Vec<i64>| {
                both.iter().copied().min().unwrap_or(-1)
            }),
        ]
    }

    /// Two independent draws, in ascending order.
    fn cells(&self, mechanism: &Quantiles, data: &Vec<i64>) -> Result<Finite, Error> {
        let one = median_distribution(data, TWO_UPPER, &(promised(mechanism) * ratio(1, 2)))?;
        let width = TWO_UPPER as usize + 1;
        let ascending = |cell: usize| {
            let (a, b) = (cell / width, cell % width);
            a.min(b) * width + a.max(b)
        };
        Ok(one.product(&one).map(width * width, ascending))
    }

    fn cell(&self, _: &Quantiles, output: &Vec<i64>) -> usize {
        pair_cell(output)
    }

    fn plan(&self) -> Plan {
        Plan {
            exact_lack: 20,
            drawn_lack: [60, 50],
            draws: [10_000, 60_000],
            fitted: [2_000, 30_000],
        }
    }
}

fn pair_cell(both: &[i64]) -> usize {
    let [a, b] = both else { return usize::MAX };
    (a.min(b) * (TWO_UPPER + 1) + a.max(b)) as usize
}

/// Data in order between its bounds, as the definitions of smooth sensitivity and of propose-test-release see
/// it.
pub(crate) struct Ordered {
    values: Vec<i64>,
    upper: i64,
}

impl Ordered {
    pub(crate) fn new(data: &[i64], upper: i64) -> Self {
        Self {
            values: sorted(data),
            upper,
        }
    }

    /// Below the first row stands the lower bound, above the last the upper one.
    fn at(&self, rank: i64) -> i64 {
        if rank < 1 {
            return 0;
        }
        self.values.get(rank as usize - 1).copied().unwrap_or(self.upper)
    }

    fn middle(&self) -> i64 {
        (self.values.len() as i64 + 1) / 2
    }

    pub(crate) fn median(&self) -> i64 {
        self.at(self.middle())
    }

    /// A⁽ᵏ⁾: how far one more change can move the median once k rows were changed.
    pub(crate) fn spread(&self, changes: i64) -> i64 {
        let terms = (0..=changes + 1)
            .map(|up| self.at(self.middle() + up) - self.at(self.middle() + up - changes - 1));
        terms.max().unwrap_or(0)
    }

    /// The least k for which A⁽ᵏ⁾ exceeds the proposal.
    pub(crate) fn distance(&self, proposal: i64) -> i64 {
        let rows = self.values.len() as i64;
        (0..rows)
            .find(|changes| self.spread(*changes) > proposal)
            .unwrap_or(rows)
    }

    /// S = max over k of e^(−βk)·A⁽ᵏ⁾, but no noise is narrower than 2⁻³² grid steps at scale S/β.
    pub(crate) fn smooth(&self, decay: &Rational, bits: u32) -> Interval {
        let floor = Interval::from_rational(&(power_of_two(-32) * decay), bits);
        (0..=self.values.len() as i64).fold(floor, |largest, changes| {
            let weight = Interval::exp_of(&-(decay * Rational::from(changes)), bits);
            largest.max(&weight.scale(&self.spread(changes).into()))
        })
    }
}

/// The median with noise for the smooth sensitivity.
#[derive(Clone)]
pub(crate) struct Smooth;

/// The end of the range of [`Smooth`].
const SMOOTH_UPPER: i64 = 16;

impl Subject for Smooth {
    const NAME: &'static str = "SmoothMedian";
    const NEIGHBORS: Neighbors = Neighbors::ChangeOne;
    type Data = Vec<i64>;
    type Input = Column;
    type Output = i64;
    type Mechanism = SmoothMedian;

    fn claim(&self) -> Result<Claim, Error> {
        Ok(Claim::pure(Rational::ONE))
    }

    fn build(&self, stretch: &Rational) -> Result<SmoothMedian, Error> {
        SmoothMedian::new(epsilon(stretch)?, bounds(SMOOTH_UPPER)?).map_err(explained)
    }

    fn input(&self, data: &Vec<i64>) -> Column {
        Column::new(data.clone())
    }

    fn pairs(&self) -> Vec<[Vec<i64>; 2]> {
        vec![
            [vec![8; 7], vec![8, 8, 8, 8, 8, 8, 0]],
            [vec![0, 0, 0, 0, 16, 16, 16], vec![0, 0, 0, 16, 16, 16, 16]],
            [vec![0, 0, 16], vec![0, 16, 16]],
            [vec![5, 6, 7, 8, 9, 10, 11], vec![5, 6, 7, 16, 9, 10, 11]],
        ]
    }

    fn drawn(&self) -> [Vec<i64>; 2] {
        [vec![0, 0, 16], vec![0, 16, 16]]
    }

    fn features(&self) -> Vec<Feature<i64>> {
        Feature::<i64>::standard()
    }

    /// P[answer ≤ v] = ½ + arctan((v + ½ − f)/s)/π with s = S/β, but for the ends, where answers are cut.
    fn cells(&self, mechanism: &SmoothMedian, data: &Vec<i64>) -> Result<Finite, Error> {
        let decay = promised(mechanism) * ratio(1, 2);
        let ordered = Ordered::new(data, SMOOTH_UPPER);
        let recipe = move |bits: u32| {
            let work = bits + 48;
            let (zero, one) = (Interval::from_integer(0, work), Interval::from_integer(1, work));
            let median = ordered.median();
            let width = ordered.smooth(&decay, work + 64);
            let half = one.scale_by_power_of_two(-1);
            let at_most = |value: i64| {
                if value < 0 {
                    return zero.clone();
                }
                if value >= SMOOTH_UPPER {
                    return one.clone();
                }
                // (v + ½ − f)·β/S.
                let edge = (Rational::from(value - median) + ratio(1, 2)) * &decay;
                let edge = Interval::from_rational(&edge, work + 64);
                let turn = edge.div(&width).map(|edge| edge.with_bits(work).atan());
                let turn = turn.and_then(|turn| turn.div(&Interval::pi(work)));
                turn.map_or_else(|| zero.hull(&one), |turn| turn.add(&half))
            };
            (0..=SMOOTH_UPPER)
                .map(|value| at_most(value).sub(&at_most(value - 1)).max(&zero).with_bits(bits))
                .collect()
        };
        Finite::from_recipe(SMOOTH_UPPER as usize + 1, recipe).map_err(explained)
    }

    fn cell(&self, _: &SmoothMedian, output: &i64) -> usize {
        *output as usize
    }

    fn plan(&self) -> Plan {
        Plan {
            exact_lack: 75,
            drawn_lack: [90, 85],
            draws: [800, 20_000],
            fitted: [800, 10_000],
        }
    }
}

/// The median if a private test finds that it moves little.
#[derive(Clone)]
pub(crate) struct Proposed;

/// The end of the range of [`Proposed`].
const PROPOSED_UPPER: i64 = 40;
/// What one row is said to move the median by.
pub(crate) const PROPOSAL: i64 = 1;
/// Answers are distinguished within this many steps of the range.
const MARGIN: i64 = 8;

/// 2k+1 rows around a median of 20, which is k changes away from moving by more than 1; and one of them gone
/// to the end of the range, so that it is 19, and k−1 changes away.
fn one_leaves(changes: usize) -> [Vec<i64>; 2] {
    let (low, high) = (vec![19; changes], vec![20; changes]);
    [
        [low.clone(), high.clone(), vec![20]].concat(),
        [vec![0], low, high].concat(),
    ]
}

impl Subject for Proposed {
    const NAME: &'static str = "ProposeTestRelease";
    const NEIGHBORS: Neighbors = Neighbors::ChangeOne;
    type Data = Vec<i64>;
    type Input = Column;
    type Output = Option<i64>;
    type Mechanism = ProposeTestRelease;

    fn claim(&self) -> Result<Claim, Error> {
        Ok(Claim::new(ratio(2, 1), ratio(1, 200)))
    }

    /// Half of ε for the test and half for the answer.
    fn build(&self, stretch: &Rational) -> Result<ProposeTestRelease, Error> {
        let half = epsilon(stretch)?;
        let delta = Delta::parse("0.005").map_err(explained)?;
        ProposeTestRelease::new(&half, &half, delta, PROPOSAL, bounds(PROPOSED_UPPER)?).map_err(explained)
    }

    fn input(&self, data: &Vec<i64>) -> Column {
        Column::new(data.clone())
    }

    /// Closest where the test is about to turn and the median moves by the proposal; where it moves by far
    /// more, δ is all there is.
    fn pairs(&self) -> Vec<[Vec<i64>; 2]> {
        vec![
            one_leaves(5),
            one_leaves(4),
            one_leaves(6),
            [vec![0, 0, 40], vec![0, 40, 40]],
            [vec![20; 9], [vec![20; 8], vec![0]].concat()],
        ]
    }

    fn drawn(&self) -> [Vec<i64>; 2] {
        one_leaves(5)
    }

    fn features(&self) -> Vec<Feature<Option<i64>>> {
        vec![
            Feature::values("answered", |answer: &Option<i64>| i64::from(answer.is_some())),
            Feature::ordered("answer", |answer: &Option<i64>| answer.unwrap_or(-1_000_000)),
        ]
    }

    /// No answer, answers too low, each within the margin, and too high.
    fn cells(&self, mechanism: &ProposeTestRelease, data: &Vec<i64>) -> Result<Finite, Error> {
        let ordered = Ordered::new(data, PROPOSED_UPPER);
        let (distance, median) = (ordered.distance(PROPOSAL), ordered.median());
        let test_scale = ratio(2, 1) / promised(mechanism);
        let (scale, threshold) = (mechanism.scale().clone(), mechanism.threshold());
        let (first, last) = (-MARGIN, PROPOSED_UPPER + MARGIN);
        let recipe = move |bits: u32| {
            let work = bits + 16;
            let (zero, one) = (Interval::from_integer(0, work), Interval::from_integer(1, work));
            let passes =
                LaplaceTable::new(&test_scale, threshold + distance + 2, work).tail(threshold - distance);
            let answers = LaplaceTable::new(&scale, last - first + 2, work);
            let mut at_least = vec![one.clone()];
            at_least.extend((first..=last + 1).map(|answer| answers.tail(answer - median)));
            at_least.push(zero.clone());
            let given = at_least
                .windows(2)
                .map(|pair| pair[0].sub(&pair[1]).max(&zero).mul(&passes));
            std::iter::once(one.sub(&passes))
                .chain(given)
                .map(|mass| mass.with_bits(bits))
                .collect()
        };
        Finite::from_recipe((last - first + 4) as usize, recipe).map_err(explained)
    }

    fn cell(&self, _: &ProposeTestRelease, output: &Option<i64>) -> usize {
        let (first, last) = (-MARGIN, PROPOSED_UPPER + MARGIN);
        output.map_or(0, |answer| {
            (answer.clamp(first - 1, last + 1) - first + 2) as usize
        })
    }

    fn plan(&self) -> Plan {
        Plan {
            exact_lack: 10,
            drawn_lack: [20, 10],
            draws: [30_000, 500_000],
            fitted: [20_000, 200_000],
        }
    }
}
