//! Choices among candidates by their scores: exponential, permute-and-flip, noisy max.

use crate::subject::{Plan, Subject};
use crate::{Error, explained};
use accounting::{Epsilon, Neighbors};
use audit::black_box::Feature;
use audit::exact_audit::{Finite, LaplaceTable};
use audit::report::Claim;
use exact::{Integer, Interval, Rational, ratio};
use mechanism::{ExponentialMechanism, Mechanism, NoisyMax, PermuteAndFlip, Sensitivity};
use std::marker::PhantomData;

/// How many candidates there are.
const CANDIDATES: usize = 3;

/// What the three have in common.
pub(crate) trait Contest: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    type Mechanism: Mechanism<Vec<i64>, Output = usize>;

    fn build(epsilon: Epsilon, sensitivity: Sensitivity) -> Result<Self::Mechanism, mechanism::Error>;
    /// The distribution of the winner, by the definition.
    fn distribution(mechanism: &Self::Mechanism, scores: &[i64]) -> Result<Finite, audit::Error>;
    /// The best score of the input that is drawn on, where all others are 0: the smaller, the more often a
    /// loser wins; the larger, the closer to ε.
    const LEAD: i64;
    fn plan() -> Plan;
}

/// ε = 2 for scores that each move by 1.
#[derive(Clone)]
pub(crate) struct Choice<C>(PhantomData<C>);

impl<C> Choice<C> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<C: Contest> Subject for Choice<C> {
    const NAME: &'static str = C::NAME;
    const NEIGHBORS: Neighbors = Neighbors::AddRemove;
    type Data = [i64; CANDIDATES];
    type Input = Vec<i64>;
    type Output = usize;
    type Mechanism = C::Mechanism;

    fn claim(&self) -> Result<Claim, Error> {
        Ok(Claim::pure(ratio(2, 1)))
    }

    fn build(&self, stretch: &Rational) -> Result<C::Mechanism, Error> {
        let epsilon = Epsilon::exactly_or_up(&(ratio(2, 1) * stretch)).map_err(explained)?;
        let sensitivity = Sensitivity::vector(CANDIDATES as u64, 1).map_err(explained)?;
        C::build(epsilon, sensitivity).map_err(explained)
    }

    fn input(&self, data: &Self::Data) -> Vec<i64> {
        data.to_vec()
    }

    /// The first is closest: one who is far behind gains a step and all others lose one.
    fn pairs(&self) -> Vec<[Self::Data; 2]> {
        vec![
            [[0, 40, 0], [1, 39, -1]],
            [[0, 3, 0], [1, 2, -1]],
            [[2, 2, 2], [3, 1, 1]],
            [[0, 0, 1], [1, -1, 0]],
        ]
    }

    fn drawn(&self) -> [Self::Data; 2] {
        [[0, C::LEAD, 0], [1, C::LEAD - 1, -1]]
    }

    fn features(&self) -> Vec<Feature<usize>> {
        vec![Feature::values("winner", |winner: &usize| *winner as i64)]
    }

    fn cells(&self, mechanism: &C::Mechanism, data: &Self::Data) -> Result<Finite, Error> {
        C::distribution(mechanism, data).map_err(explained)
    }

    fn cell(&self, _: &C::Mechanism, output: &usize) -> usize {
        *output
    }

    fn plan(&self) -> Plan {
        C::plan()
    }
}

/// P(i) ∝ e^(uᵢ/s).
#[derive(Clone)]
pub(crate) struct Exponential;

impl Contest for Exponential {
    const NAME: &'static str = "ExponentialMechanism";
    const LEAD: i64 = 3;
    type Mechanism = ExponentialMechanism;

    fn build(epsilon: Epsilon, sensitivity: Sensitivity) -> Result<ExponentialMechanism, mechanism::Error> {
        ExponentialMechanism::new(epsilon, sensitivity, CANDIDATES)
    }

    fn distribution(mechanism: &ExponentialMechanism, scores: &[i64]) -> Result<Finite, audit::Error> {
        let scale = mechanism.scale();
        let exponents: Vec<Rational> = scores
            .iter()
            .map(|score| Rational::from(*score) / &scale)
            .collect();
        Finite::from_exponents(&exponents)
    }

    fn plan() -> Plan {
        Plan {
            exact_lack: 5,
            drawn_lack: [40, 20],
            draws: [20_000, 250_000],
            fitted: [5_000, 100_000],
        }
    }
}

/// Every candidate tosses a coin that shows heads with probability e^(−(max−uᵢ)/s), and one of the heads
/// wins.
#[derive(Clone)]
pub(crate) struct Flip;

impl Contest for Flip {
    const NAME: &'static str = "PermuteAndFlip";
    const LEAD: i64 = 2;
    type Mechanism = PermuteAndFlip;

    fn build(epsilon: Epsilon, sensitivity: Sensitivity) -> Result<PermuteAndFlip, mechanism::Error> {
        PermuteAndFlip::new(epsilon, sensitivity, CANDIDATES)
    }

    /// Every set of heads, each of its members equally often.
    fn distribution(mechanism: &PermuteAndFlip, scores: &[i64]) -> Result<Finite, audit::Error> {
        let scale = mechanism.scale();
        let best = scores.iter().copied().max().unwrap_or(0);
        let short: Vec<Rational> = scores
            .iter()
            .map(|score| Rational::from(score - best) / &scale)
            .collect();
        Finite::from_recipe(scores.len(), move |bits| {
            let work = bits + 16;
            let one = Interval::from_integer(1, work);
            let coins: Vec<Interval> = short.iter().map(|x| Interval::exp_of(x, work)).collect();
            let mut masses = vec![Interval::from_integer(0, work); coins.len()];
            for heads in 1u32..1 << coins.len() {
                let shown = |place: usize| heads >> place & 1 == 1;
                let probability = coins
                    .iter()
                    .enumerate()
                    .fold(one.clone(), |product, (place, coin)| {
                        product.mul(&if shown(place) { coin.clone() } else { one.sub(coin) })
                    });
                let share = probability.div_integer(&Integer::from(heads.count_ones()));
                for (_, mass) in masses.iter_mut().enumerate().filter(|(place, _)| shown(*place)) {
                    *mass = mass.add(&share);
                }
            }
            masses
        })
    }

    fn plan() -> Plan {
        Plan {
            exact_lack: 5,
            drawn_lack: [30, 10],
            draws: [12_000, 250_000],
            fitted: [4_000, 100_000],
        }
    }
}

/// Laplace noise on each score.
#[derive(Clone)]
pub(crate) struct Noisy;

impl Contest for Noisy {
    const NAME: &'static str = "NoisyMax";
    const LEAD: i64 = 3;
    type Mechanism = NoisyMax;

    fn build(epsilon: Epsilon, sensitivity: Sensitivity) -> Result<NoisyMax, mechanism::Error> {
        NoisyMax::new(epsilon, sensitivity, CANDIDATES)
    }

    /// P[i] = Σ_k P[Zᵢ = k]·Π_{j<i} P[uⱼ+Zⱼ < uᵢ+k]·Π_{j>i} P[uⱼ+Zⱼ ≤ uᵢ+k].
    fn distribution(mechanism: &NoisyMax, scores: &[i64]) -> Result<Finite, audit::Error> {
        let (scale, scores) = (mechanism.scale().clone(), scores.to_vec());
        let apart = scores.iter().max().unwrap_or(&0) - scores.iter().min().unwrap_or(&0);
        Finite::from_recipe(scores.len(), move |bits| {
            let reach = LaplaceTable::enough(&scale, bits);
            let table = LaplaceTable::new(&scale, reach + apart + 2, bits);
            let wins = |i: usize, k: i64| {
                let others = (0..scores.len()).filter(|j| *j != i);
                others.fold(Interval::from_integer(1, bits), |product, j| {
                    // By symmetry P[Z ≤ r] = P[Z ≥ −r].
                    let most = scores[i] + k - scores[j] - i64::from(j < i);
                    product.mul(&table.tail(-most))
                })
            };
            let each = 0..scores.len();
            each.map(|i| table.mean(1, reach, |k| vec![wins(i, k)]).remove(0))
                .collect()
        })
    }

    fn plan() -> Plan {
        Plan {
            exact_lack: 5,
            drawn_lack: [40, 30],
            draws: [40_000, 1_000_000],
            fitted: [20_000, 300_000],
        }
    }
}
