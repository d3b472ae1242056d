//! Linear programs over the unit cube, by a primal-dual interior-point method of our own.
//!
//! Both programs are about x (the bits, relaxed to 0 ≤ x ≤ 1) and the two parts of what each answer is off
//! by:
//!
//! ```text
//! A·x + u − v = answers      0 ≤ x ≤ 1      u, v ≥ 0
//! ```
//!
//! - [`Fit::LeastAbsolute`]: minimize Σ(u + v). The likeliest bits under Laplace noise, and robust under any.
//! - [`Fit::Within`]: u, v ≤ E. Bounded noise makes every point that fits equally likely. The analytic centre
//!   is chosen, which is the one furthest from contradicting any answer.
//!
//! The equations of a Newton step shrink to one for each person, (Θ + Aᵀ·D·A)·dx = …, with diagonal Θ and D.
//! Their matrix is dense because A is, so a solver for sparse problems is no help. With bits in words and
//! sums in tables ([`super::matrix`]) it takes n²·m/16 additions, and the rest is a dense Cholesky
//! factorization.

use super::cholesky::Cholesky;
use super::queries::Queries;
use crate::Error;

/// What a solution should do with the answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fit {
    /// Make the sum of the distances from the answers least.
    LeastAbsolute,
    /// Be within this distance of every answer, and as central as it can be.
    Within(f64),
}

/// Numbers between 0 and a limit, or without one, and their prices.
struct Block {
    value: Vec<f64>,
    /// What staying above 0 is worth.
    at_zero: Vec<f64>,
    /// What staying below the limit is worth; empty if there is none.
    at_limit: Vec<f64>,
    limit: f64,
}

/// A direction for a block.
struct Step {
    value: Vec<f64>,
    at_zero: Vec<f64>,
    at_limit: Vec<f64>,
}

/// What complementary pairs should multiply to: `level`, less the product of these steps, which Newton's
/// method neglects.
struct Target<'a> {
    level: f64,
    neglected: Option<&'a [Step; 3]>,
}

/// All that the method moves: x, u and v, and the price of each answer.
struct Point {
    blocks: [Block; 3],
    prices: Vec<f64>,
}

/// So close to the optimum, relative to it, rounding at one half sees no difference.
const GAP: f64 = 1e-7;
/// A fit is met when it is missed by so little, relative to the limit.
const MISS: f64 = 1e-9;
/// Complementary pairs of the centre are within this of each other.
const CENTRED: f64 = 1e-3;
/// The method takes 10 to 30 steps whatever the size.
const MOST_STEPS: usize = 200;
/// How far to go towards the boundary: never onto it.
const SHORT_OF_THE_BOUNDARY: f64 = 0.995;

/// A point of the cube that fits the answers.
pub(super) fn solve(queries: &Queries, answers: &[f64], fit: Fit) -> Result<Vec<f64>, Error> {
    match fit {
        Fit::LeastAbsolute => least_absolute(queries, answers),
        Fit::Within(most) if most > 0.0 => centre(queries, answers, most),
        Fit::Within(_) => Err(Error::bad_setting(
            "answers without any noise leave no room inside the linear program",
            "allow a small distance, such as 0.5: it still singles out whole numbers",
        )),
    }
}

/// Mehrotra's predictor and corrector (1992).
fn least_absolute(queries: &Queries, answers: &[f64]) -> Result<Vec<f64>, Error> {
    let mut point = Point::around_the_residuals(queries, answers);
    for _ in 0..MOST_STEPS {
        let [bits, above, below] = &point.blocks;
        let distance: f64 = above.value.iter().chain(&below.value).sum();
        // The dual objective: prices of the answers, less what the limit 1 of each bit is worth.
        let proved = dot(answers, &point.prices) - bits.at_limit.iter().sum::<f64>();
        if distance - proved <= GAP * (1.0 + distance) {
            return Ok(point.into_bits());
        }
        let equations = Equations::at(&point, queries, answers, 1.0);
        let level = point.level();
        let predicted = equations.step(
            &point,
            &Target {
                level: 0.0,
                neglected: None,
            },
        );
        let (primal, dual) = point.room(&predicted.1);
        let reached = point.level_after(&predicted.1, primal, dual);
        let centring = (reached / level).powi(3).min(1.0);
        let corrected = equations.step(
            &point,
            &Target {
                level: centring * level,
                neglected: Some(&predicted.1),
            },
        );
        let (primal, dual) = point.room(&corrected.1);
        point.advance(
            &corrected,
            SHORT_OF_THE_BOUNDARY * primal,
            SHORT_OF_THE_BOUNDARY * dual,
        );
    }
    Err(stuck())
}

/// Newton's method for the analytic centre: all complementary pairs multiply to 1, wherever it starts.
fn centre(queries: &Queries, answers: &[f64], most: f64) -> Result<Vec<f64>, Error> {
    let mut point = Point::in_the_middle(queries, answers.len(), most);
    for _ in 0..MOST_STEPS {
        let equations = Equations::at(&point, queries, answers, 0.0);
        let missed = equations
            .missed
            .iter()
            .fold(0.0f64, |most, miss| most.max(miss.abs()));
        if missed <= MISS * (1.0 + most) && point.unevenness() <= CENTRED {
            return Ok(point.into_bits());
        }
        let step = equations.step(
            &point,
            &Target {
                level: 1.0,
                neglected: None,
            },
        );
        let (primal, dual) = point.room(&step.1);
        let length = (SHORT_OF_THE_BOUNDARY * primal.min(dual)).min(1.0);
        if length < 1e-12 {
            break;
        }
        point.advance(&step, length, length);
    }
    Err(stuck())
}

fn stuck() -> Error {
    Error::bad_setting(
        "no point of the unit cube fits the answers within the stated noise",
        "state more noise, or take the fit of least absolute distances, which always exists",
    )
}

impl Block {
    fn new(value: Vec<f64>, limit: f64, level: f64) -> Self {
        let at_zero = value.iter().map(|value| level / value).collect();
        let at_limit = if limit.is_finite() {
            value.iter().map(|value| level / (limit - value)).collect()
        } else {
            Vec::new()
        };
        Self {
            value,
            at_zero,
            at_limit,
            limit,
        }
    }

    /// Complementary pairs: a distance from a bound, and what staying away from it is worth.
    fn pairs(&self) -> impl Iterator<Item = (f64, f64)> {
        let lower = self.value.iter().copied().zip(self.at_zero.iter().copied());
        let upper = self
            .value
            .iter()
            .map(|value| self.limit - value)
            .zip(self.at_limit.iter().copied());
        lower.chain(upper)
    }

    /// The steps of those pairs.
    fn steps(step: &Step) -> impl Iterator<Item = (f64, f64)> {
        let lower = step.value.iter().copied().zip(step.at_zero.iter().copied());
        let upper = step
            .value
            .iter()
            .map(|value| -value)
            .zip(step.at_limit.iter().copied());
        lower.chain(upper)
    }
}

impl Point {
    /// Feasible in both programs: x = ½, all prices 0, and u − v what the answers are off by there, with room
    /// to both sides.
    fn around_the_residuals(queries: &Queries, answers: &[f64]) -> Self {
        let half = vec![0.5; queries.people()];
        let residuals: Vec<f64> = queries
            .by_query
            .times(&half)
            .iter()
            .zip(answers)
            .map(|(sum, answer)| answer - sum)
            .collect();
        let room = 1.0 + residuals.iter().map(|residual| residual.abs()).sum::<f64>() / answers.len() as f64;
        let part = |sign: f64| {
            let value: Vec<f64> = residuals
                .iter()
                .map(|residual| (sign * residual).max(0.0) + room)
                .collect();
            // A price of 0 leaves 1, what a unit of distance costs.
            Block {
                at_zero: vec![1.0; value.len()],
                at_limit: Vec::new(),
                value,
                limit: f64::INFINITY,
            }
        };
        Self {
            blocks: [Block::new(half, 1.0, room), part(1.0), part(-1.0)],
            prices: vec![0.0; answers.len()],
        }
    }

    /// The centre of all the bounds. The answers are not met yet.
    fn in_the_middle(queries: &Queries, answers: usize, most: f64) -> Self {
        let part = || Block::new(vec![most / 2.0; answers], most, 1.0);
        Self {
            blocks: [Block::new(vec![0.5; queries.people()], 1.0, 1.0), part(), part()],
            prices: vec![0.0; answers],
        }
    }

    /// What complementary pairs multiply to, on average.
    fn level(&self) -> f64 {
        let pairs = self.blocks.iter().flat_map(Block::pairs);
        let (sum, count) = pairs.fold((0.0, 0.0), |(sum, count), (gap, worth)| {
            (sum + gap * worth, count + 1.0)
        });
        sum / count
    }

    /// The same after these steps.
    fn level_after(&self, steps: &[Step; 3], primal: f64, dual: f64) -> f64 {
        let pairs = self.blocks.iter().flat_map(Block::pairs);
        let moves = steps.iter().flat_map(Block::steps);
        let (sum, count) =
            pairs
                .zip(moves)
                .fold((0.0, 0.0), |(sum, count), ((gap, worth), (towards, gained))| {
                    (
                        sum + (gap + primal * towards) * (worth + dual * gained),
                        count + 1.0,
                    )
                });
        sum / count
    }

    /// How far from 1 the product of a pair is, at most.
    fn unevenness(&self) -> f64 {
        let pairs = self.blocks.iter().flat_map(Block::pairs);
        pairs
            .map(|(gap, worth)| (gap * worth - 1.0).abs())
            .fold(0.0, f64::max)
    }

    /// How far the values, and what they are worth, can go before one becomes negative; at most the whole
    /// step.
    fn room(&self, steps: &[Step; 3]) -> (f64, f64) {
        let pairs = self.blocks.iter().flat_map(Block::pairs);
        let moves = steps.iter().flat_map(Block::steps);
        let (mut primal, mut dual) = (1.0 / SHORT_OF_THE_BOUNDARY, 1.0 / SHORT_OF_THE_BOUNDARY);
        for ((gap, worth), (towards, gained)) in pairs.zip(moves) {
            if towards < 0.0 {
                primal = f64::min(primal, -gap / towards);
            }
            if gained < 0.0 {
                dual = f64::min(dual, -worth / gained);
            }
        }
        (primal, dual)
    }

    fn advance(&mut self, (prices, steps): &(Vec<f64>, [Step; 3]), primal: f64, dual: f64) {
        for (block, step) in self.blocks.iter_mut().zip(steps) {
            add(&mut block.value, primal, &step.value);
            add(&mut block.at_zero, dual, &step.at_zero);
            add(&mut block.at_limit, dual, &step.at_limit);
        }
        add(&mut self.prices, dual, prices);
    }

    fn into_bits(self) -> Vec<f64> {
        let [bits, ..] = self.blocks;
        bits.value
    }
}

/// Newton's equations at a point, factored.
///
/// With s and q what staying above 0 and below the limit is worth, t the distance from the limit, and y the
/// prices, the steps satisfy
/// ```text
/// A·dx + du − dv = missed              Mᵀ·dy + ds − dq = owed          (M = [A, 1, −1])
/// s·dz + z·ds = target                 −q·dz + t·dq = target
/// ```
/// Without ds and dq: −θ·dz + Mᵀ·dy = f with θ = s/z + q/t. Without du and dv: A·dx + w·dy = g with w = 1/θᵤ +
/// 1/θᵥ. Without dy: one equation a person, (θₓ + Aᵀ·A/w)·dx = Aᵀ·g/w − fₓ.
struct Equations<'a> {
    queries: &'a Queries,
    /// What the answers are off by beyond u and v.
    missed: Vec<f64>,
    /// What the prices are off by, in each block.
    owed: [Vec<f64>; 3],
    stiffness: [Vec<f64>; 3],
    /// 1/w.
    weights: Vec<f64>,
    factored: Cholesky,
}

impl<'a> Equations<'a> {
    /// `cost` is that of a unit of u or v.
    fn at(point: &Point, queries: &'a Queries, answers: &[f64], cost: f64) -> Self {
        let [bits, above, below] = &point.blocks;
        let sums = queries.by_query.times(&bits.value);
        let missed = (0..answers.len())
            .map(|i| answers[i] - sums[i] - above.value[i] + below.value[i])
            .collect();
        let owed = |block: &Block, cost: f64, priced: &dyn Fn(usize) -> f64| -> Vec<f64> {
            let limited = |i: usize| block.at_limit.get(i).copied().unwrap_or(0.0);
            (0..block.value.len())
                .map(|i| cost - priced(i) - block.at_zero[i] + limited(i))
                .collect()
        };
        let person = queries.by_person.times(&point.prices);
        let owed = [
            owed(bits, 0.0, &|i| person[i]),
            owed(above, cost, &|i| point.prices[i]),
            owed(below, cost, &|i| -point.prices[i]),
        ];
        let stiffness = [bits, above, below].map(|block| {
            let lower = block
                .value
                .iter()
                .zip(&block.at_zero)
                .map(|(value, worth)| worth / value);
            if block.at_limit.is_empty() {
                lower.collect::<Vec<f64>>()
            } else {
                let upper = block
                    .value
                    .iter()
                    .zip(&block.at_limit)
                    .map(|(value, worth)| worth / (block.limit - value));
                lower.zip(upper).map(|(lower, upper)| lower + upper).collect()
            }
        });
        let weights: Vec<f64> = stiffness[1]
            .iter()
            .zip(&stiffness[2])
            .map(|(above, below)| 1.0 / (1.0 / above + 1.0 / below))
            .collect();
        let people = queries.people();
        let mut matrix = queries.by_person.shared_weights(&weights);
        for (place, stiffness) in stiffness[0].iter().enumerate() {
            matrix[place * people + place] += stiffness;
        }
        Self {
            queries,
            missed,
            owed,
            stiffness,
            weights,
            factored: Cholesky::of(matrix, people),
        }
    }

    /// The step of the prices and of each block towards a target.
    fn step(&self, point: &Point, target: &Target<'_>) -> (Vec<f64>, [Step; 3]) {
        let goals: [(Vec<f64>, Vec<f64>); 3] = std::array::from_fn(|which| target.of(point, which));
        // f, block by block.
        let forces: [Vec<f64>; 3] = std::array::from_fn(|which| {
            let (block, (lower, upper)) = (&point.blocks[which], &goals[which]);
            (0..block.value.len())
                .map(|i| {
                    let limited = upper
                        .get(i)
                        .map_or(0.0, |goal| goal / (block.limit - block.value[i]));
                    self.owed[which][i] - lower[i] / block.value[i] + limited
                })
                .collect()
        });
        let pulled: Vec<f64> = (0..self.missed.len())
            .map(|i| {
                self.missed[i] + forces[1][i] / self.stiffness[1][i] - forces[2][i] / self.stiffness[2][i]
            })
            .collect();
        let weighted: Vec<f64> = pulled
            .iter()
            .zip(&self.weights)
            .map(|(pull, weight)| pull * weight)
            .collect();
        let mut bits = self.queries.by_person.times(&weighted);
        add(&mut bits, -1.0, &forces[0]);
        self.factored.solve(&mut bits);
        let sums = self.queries.by_query.times(&bits);
        let prices: Vec<f64> = (0..pulled.len())
            .map(|i| self.weights[i] * (pulled[i] - sums[i]))
            .collect();
        let part = |which: usize, sign: f64| -> Vec<f64> {
            (0..prices.len())
                .map(|i| (sign * prices[i] - forces[which][i]) / self.stiffness[which][i])
                .collect()
        };
        let values = [bits, part(1, 1.0), part(2, -1.0)];
        let steps = std::array::from_fn(|which| {
            let (block, value, (lower, upper)) = (&point.blocks[which], &values[which], &goals[which]);
            let at_zero = (0..lower.len()).map(|i| (lower[i] - block.at_zero[i] * value[i]) / block.value[i]);
            let at_limit = (0..upper.len())
                .map(|i| (upper[i] + block.at_limit[i] * value[i]) / (block.limit - block.value[i]));
            Step {
                value: value.clone(),
                at_zero: at_zero.collect(),
                at_limit: at_limit.collect(),
            }
        });
        (prices, steps)
    }
}

impl Target<'_> {
    /// How far the product of each pair has to move, at zero and at the limit.
    fn of(&self, point: &Point, which: usize) -> (Vec<f64>, Vec<f64>) {
        let block = &point.blocks[which];
        let products = block.pairs().map(|(gap, worth)| self.level - gap * worth);
        let mut moves: Vec<f64> = match self.neglected {
            None => products.collect(),
            Some(steps) => {
                let neglected = Block::steps(&steps[which]).map(|(towards, gained)| towards * gained);
                products
                    .zip(neglected)
                    .map(|(product, neglected)| product - neglected)
                    .collect()
            }
        };
        let upper = moves.split_off(block.value.len());
        (moves, upper)
    }
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}

fn add(to: &mut [f64], times: f64, what: &[f64]) {
    for (sum, number) in to.iter_mut().zip(what) {
        *sum += times * number;
    }
}

#[cfg(test)]
mod tests;
