//! Groups whose names are private: which of two are released, and with which counts.

use crate::noise::rounded_tail;
use crate::subject::{Plan, Subject};
use crate::{Error, explained};
use accounting::{Delta, Epsilon, Neighbors, smallest_multiplier};
use audit::black_box::Feature;
use audit::exact_audit::{Finite, LaplaceTable};
use audit::report::Claim;
use exact::{Interval, Rational, ratio};
use mechanism::{GaussianThreshold, LaplaceThreshold, OptimalThreshold, Sensitivity, SquaredMultiplier};

/// Names and counts.
type Groups = Vec<(i64, i64)>;

/// One unit is in at most two groups.
const GROUPS_PER_UNIT: u64 = 2;
/// δ in all.
const DELTA: &str = "0.01";

fn sensitivity() -> Result<Sensitivity, Error> {
    Sensitivity::vector(GROUPS_PER_UNIT, 1).map_err(explained)
}

fn delta() -> Result<Delta, Error> {
    Delta::parse(DELTA).map_err(explained)
}

fn epsilon(stretch: &Rational) -> Result<Epsilon, Error> {
    Epsilon::exactly_or_up(stretch).map_err(explained)
}

fn claim() -> Claim {
    Claim::new(Rational::ONE, ratio(1, 100))
}

/// Two groups of these sizes; one of size zero does not occur.
fn two(first: i64, second: i64) -> Groups {
    let named = [(0, first), (1, second)];
    named.into_iter().filter(|group| group.1 > 0).collect()
}

fn count(groups: &[(i64, i64)], name: i64) -> i64 {
    groups
        .iter()
        .find(|group| group.0 == name)
        .map_or(0, |group| group.1)
}

/// One unit more, in both groups or in one: large groups grow, and a new one appears.
fn grown(large: i64) -> Vec<[Groups; 2]> {
    vec![
        [two(large, large), two(large + 1, large + 1)],
        [two(large, 0), two(large + 1, 1)],
        [two(0, 0), two(1, 1)],
        [two(1, 0), two(2, 1)],
        [two(large, 2), two(large, 3)],
    ]
}

/// Noisy counts are distinguished from FIRST on, in this many cells.
const SPAN: i64 = 24;

/// The distribution of one group: hidden, each noisy count from the threshold on, and all beyond. `tail(k)`
/// is P[noise ≥ k].
fn one_group(
    threshold: i64,
    size: i64,
    tail: impl Fn(i64, u32) -> Interval + Send + Sync + 'static,
) -> Result<Finite, audit::Error> {
    Finite::from_recipe((SPAN + 2) as usize, move |bits| {
        let (zero, one) = (Interval::from_integer(0, bits), Interval::from_integer(1, bits));
        if size == 0 {
            let mut hidden = vec![zero; (SPAN + 2) as usize];
            hidden[0] = one;
            return hidden;
        }
        let mut at_least = vec![one];
        at_least.extend((0..=SPAN).map(|place| tail(threshold + place - size, bits)));
        at_least.push(zero.clone());
        at_least
            .windows(2)
            .map(|pair| pair[0].sub(&pair[1]).max(&zero))
            .collect()
    })
}

/// The cell of both groups together.
fn cell(threshold: i64, groups: &[(i64, i64)]) -> usize {
    let one = |name: i64| {
        let shown = groups.iter().find(|group| group.0 == name);
        shown.map_or(0, |group| (group.1 - threshold).clamp(0, SPAN) as usize + 1)
    };
    one(0) * (SPAN + 2) as usize + one(1)
}

fn features() -> Vec<Feature<Groups>> {
    vec![
        Feature::values("which groups", |groups: &Groups| {
            groups.iter().map(|group| 1 << group.0).sum()
        }),
        Feature::ordered("sum of counts", |groups: &Groups| {
            groups.iter().map(|group| group.1).sum()
        }),
        Feature::ordered("count of group 0", |groups: &Groups| count(groups, 0)),
        Feature::ordered("count of group 1", |groups: &Groups| count(groups, 1)),
        Feature::ordered("smaller count", |groups: &Groups| {
            count(groups, 0).min(count(groups, 1))
        }),
        Feature::ordered("larger count", |groups: &Groups| {
            count(groups, 0).max(count(groups, 1))
        }),
    ]
}

/// Laplace noise and a threshold.
#[derive(Clone)]
pub(crate) struct LaplaceGroups;

/// Large enough to be shown nearly always.
const LARGE: i64 = 24;

impl Subject for LaplaceGroups {
    const NAME: &'static str = "LaplaceThreshold";
    const NEIGHBORS: Neighbors = Neighbors::AddRemove;
    type Data = Groups;
    type Input = Groups;
    type Output = Groups;
    type Mechanism = LaplaceThreshold;

    fn claim(&self) -> Result<Claim, Error> {
        Ok(claim())
    }

    fn build(&self, stretch: &Rational) -> Result<LaplaceThreshold, Error> {
        LaplaceThreshold::new(epsilon(stretch)?, delta()?, sensitivity()?).map_err(explained)
    }

    fn input(&self, data: &Groups) -> Groups {
        data.clone()
    }

    fn pairs(&self) -> Vec<[Groups; 2]> {
        grown(LARGE)
    }

    fn drawn(&self) -> [Groups; 2] {
        [two(LARGE, LARGE), two(LARGE + 1, LARGE + 1)]
    }

    fn features(&self) -> Vec<Feature<Groups>> {
        features()
    }

    fn cells(&self, mechanism: &LaplaceThreshold, data: &Groups) -> Result<Finite, Error> {
        let group = |name: i64| {
            let scale = mechanism.scale().clone();
            let reach = mechanism.threshold() + SPAN + LARGE + 2;
            one_group(mechanism.threshold(), count(data, name), move |k, bits| {
                LaplaceTable::new(&scale, reach, bits).tail(k)
            })
        };
        let (first, second) = (group(0).map_err(explained)?, group(1).map_err(explained)?);
        Ok(first.product(&second))
    }

    fn cell(&self, mechanism: &LaplaceThreshold, output: &Groups) -> usize {
        cell(mechanism.threshold(), output)
    }

    fn plan(&self) -> Plan {
        Plan {
            exact_lack: 10,
            drawn_lack: [40, 20],
            draws: [40_000, 500_000],
            fitted: [20_000, 200_000],
        }
    }
}

/// Gaussian noise and a threshold.
#[derive(Clone)]
pub(crate) struct GaussianGroups;

impl Subject for GaussianGroups {
    const NAME: &'static str = "GaussianThreshold";
    const NEIGHBORS: Neighbors = Neighbors::AddRemove;
    type Data = Groups;
    type Input = Groups;
    type Output = Groups;
    type Mechanism = GaussianThreshold;

    fn claim(&self) -> Result<Claim, Error> {
        Ok(claim())
    }

    fn build(&self, stretch: &Rational) -> Result<GaussianThreshold, Error> {
        let (epsilon, delta) = (epsilon(&Rational::ONE)?, delta()?);
        if *stretch == Rational::ONE {
            return GaussianThreshold::new(epsilon, &delta, sensitivity()?).map_err(explained);
        }
        let half = Delta::rounded_down(&(delta.as_rational() * ratio(1, 2))).map_err(explained)?;
        let multiplier = smallest_multiplier(&epsilon, &half).map_err(explained)? / stretch;
        GaussianThreshold::with_squared_multiplier(&SquaredMultiplier::of(&multiplier), &half, sensitivity()?)
            .map_err(explained)
    }

    fn input(&self, data: &Groups) -> Groups {
        data.clone()
    }

    fn pairs(&self) -> Vec<[Groups; 2]> {
        grown(LARGE)
    }

    fn drawn(&self) -> [Groups; 2] {
        [two(LARGE, LARGE), two(LARGE + 1, LARGE + 1)]
    }

    fn features(&self) -> Vec<Feature<Groups>> {
        features()
    }

    fn cells(&self, mechanism: &GaussianThreshold, data: &Groups) -> Result<Finite, Error> {
        let group = |name: i64| {
            let variance = mechanism.variance().clone();
            one_group(mechanism.threshold(), count(data, name), move |k, bits| {
                rounded_tail(&variance, k, bits)
            })
        };
        let (first, second) = (group(0).map_err(explained)?, group(1).map_err(explained)?);
        Ok(first.product(&second))
    }

    fn cell(&self, mechanism: &GaussianThreshold, output: &Groups) -> usize {
        cell(mechanism.threshold(), output)
    }

    fn plan(&self) -> Plan {
        Plan {
            exact_lack: 20,
            drawn_lack: [50, 30],
            draws: [40_000, 500_000],
            fitted: [20_000, 200_000],
        }
    }
}

/// The largest probabilities of keeping a name that privacy allows.
#[derive(Clone)]
pub(crate) struct OptimalGroups;

impl Subject for OptimalGroups {
    const NAME: &'static str = "OptimalThreshold";
    const NEIGHBORS: Neighbors = Neighbors::AddRemove;
    type Data = Groups;
    type Input = Groups;
    type Output = Vec<i64>;
    type Mechanism = OptimalThreshold;

    fn claim(&self) -> Result<Claim, Error> {
        Ok(claim())
    }

    fn build(&self, stretch: &Rational) -> Result<OptimalThreshold, Error> {
        OptimalThreshold::new(epsilon(stretch)?, delta()?, sensitivity()?).map_err(explained)
    }

    fn input(&self, data: &Groups) -> Groups {
        data.clone()
    }

    fn pairs(&self) -> Vec<[Groups; 2]> {
        (0..14)
            .map(|size| [two(size, size), two(size + 1, size + 1)])
            .collect()
    }

    fn drawn(&self) -> [Groups; 2] {
        [two(6, 6), two(7, 7)]
    }

    fn features(&self) -> Vec<Feature<Vec<i64>>> {
        vec![Feature::values("which groups", |names: &Vec<i64>| {
            kept(names) as i64
        })]
    }

    fn cells(&self, mechanism: &OptimalThreshold, data: &Groups) -> Result<Finite, Error> {
        let group = |name: i64| {
            let (mechanism, size) = (mechanism.clone(), count(data, name) as u64);
            Finite::from_recipe(2, move |bits| {
                let kept = mechanism.keep_probability(size, bits);
                vec![Interval::from_integer(1, bits).sub(&kept), kept]
            })
        };
        let (first, second) = (group(0).map_err(explained)?, group(1).map_err(explained)?);
        // Bit 0 of the cell is group 0.
        Ok(second.product(&first))
    }

    fn cell(&self, _: &OptimalThreshold, output: &Vec<i64>) -> usize {
        kept(output)
    }

    fn plan(&self) -> Plan {
        Plan {
            exact_lack: 10,
            drawn_lack: [30, 20],
            draws: [40_000, 500_000],
            fitted: [20_000, 200_000],
        }
    }
}

fn kept(names: &[i64]) -> usize {
    names.iter().map(|name| 1usize << name).sum()
}
