//! Tables that are chosen and measured in rounds: a choice between two tables, and the chosen one with noise.
//!
//! It is where the rounds of an adaptive run meet: what is measured depends on what was chosen, and the loss of both adds up.

use crate::subject::{Plan, Subject};
use crate::{Error, explained};
use accounting::{Delta, Epsilon, Neighbors, Rho, epsilon_of_concentrated};
use audit::black_box::Feature;
use audit::exact_audit::{Finite, Lattice};
use audit::report::Claim;
use exact::{Interval, Rational, ratio};
use mechanism::{
    AdaptiveTables, Asking, Candidate, Cells, Round, RoundResult, Rounds, STEPS_PER_ROW, Strategy,
};
use std::sync::Arc;

/// Counts reach from −END to END; all beyond counts with the ends.
const END: i64 = 6;
/// What each table is expected to count: the first is fitted badly by rows of its second value, the second well.
const EXPECTED: [[i64; 2]; 2] = [[2, 0], [0, 4]];
/// How much the tables count beside each other.
const WEIGHTS: [u32; 2] = [2, 1];
/// Taken from both scores, in rows.
const PENALTY: i64 = 1;

/// ρ = ½ for a person with one row: a quarter for a choice, the rest for a table.
#[derive(Clone)]
pub(crate) struct Adaptive;

/// First a choice, then what was chosen.
#[derive(Clone, Debug)]
struct Twice {
    epsilon: Epsilon,
    variance: Rational,
}

impl Strategy for Twice {
    fn begin(&self) -> Box<dyn Asking + '_> {
        Box::new(self.clone())
    }
}

impl Asking for Twice {
    fn next(&mut self, released: &[RoundResult], _: &Rho) -> Option<Round> {
        match released {
            [] => Some(Round::Choose {
                candidates: (0..2).map(candidate).collect(),
                epsilon: self.epsilon.clone(),
            }),
            [RoundResult::Chosen { attributes, .. }] => Some(Round::Measure {
                attributes: attributes.clone(),
                variance: self.variance.clone(),
            }),
            _ => None,
        }
    }
}

fn candidate(place: usize) -> Candidate {
    Candidate {
        attributes: vec![place],
        expected: EXPECTED[place].iter().map(|rows| rows * STEPS_PER_ROW).collect(),
        weight: WEIGHTS[place],
        penalty: PENALTY * STEPS_PER_ROW,
    }
}

/// Rows in the cells of two attributes of two values each, by the first and then the second.
type People = [u32; 4];

/// The counts of one attribute.
fn counts(people: &People, place: usize) -> [i64; 2] {
    let [a, b, c, d] = people.map(i64::from);
    if place == 0 {
        [a + b, c + d]
    } else {
        [a + c, b + d]
    }
}

fn rho(stretch: &Rational) -> Rational {
    ratio(1, 2) * stretch * stretch
}

/// ε²/8 is a part of ρ, rounded down.
fn parameters(stretch: &Rational) -> Result<Twice, Error> {
    let epsilon = Epsilon::rounded_down(stretch).map_err(explained)?;
    let left = rho(stretch) - epsilon.as_rational() * epsilon.as_rational() * ratio(1, 8);
    Ok(Twice {
        epsilon,
        variance: ratio(1, 2) / left,
    })
}

impl Subject for Adaptive {
    const NAME: &'static str = "AdaptiveTables";
    const NEIGHBORS: Neighbors = Neighbors::AddRemove;
    type Data = People;
    type Input = Cells;
    type Output = Rounds;
    type Mechanism = AdaptiveTables;

    /// The (ε, δ) that every ρ-zCDP mechanism has.
    fn claim(&self) -> Result<Claim, Error> {
        let rho = Rho::exactly_or_up(&rho(&Rational::ONE)).map_err(explained)?;
        let delta = Delta::parse("0.01").map_err(explained)?;
        let epsilon = epsilon_of_concentrated(&rho, &delta).map_err(explained)?;
        Ok(Claim::new(
            epsilon.as_rational().clone(),
            delta.as_rational().clone(),
        ))
    }

    fn build(&self, stretch: &Rational) -> Result<AdaptiveTables, Error> {
        // What rounding adds does not end the run.
        let rho = Rho::rounded_up(&(rho(stretch) * ratio(1_000_001, 1_000_000))).map_err(explained)?;
        let strategy = Arc::new(parameters(stretch)?);
        AdaptiveTables::new(rho, vec![2, 2], 1, Neighbors::AddRemove, strategy).map_err(explained)
    }

    fn input(&self, data: &People) -> Cells {
        Cells::new(vec![vec![0, 0, 1, 1], vec![0, 1, 0, 1]], data.to_vec())
    }

    fn pairs(&self) -> Vec<[People; 2]> {
        vec![[[2, 1, 0, 0], [2, 1, 0, 1]], [[0, 0, 2, 2], [0, 0, 2, 3]]]
    }

    fn drawn(&self) -> [People; 2] {
        [[2, 1, 0, 0], [2, 1, 0, 1]]
    }

    fn features(&self) -> Vec<Feature<Rounds>> {
        vec![
            Feature::values("choice", |rounds: &Rounds| chosen(rounds) as i64),
            Feature::ordered("second count", second),
        ]
    }

    /// P[i chosen] · P[noise = k − n], by their definitions.
    fn cells(&self, mechanism: &AdaptiveTables, data: &People) -> Result<Finite, Error> {
        let (epsilon, variance) = asked(mechanism)?;
        let scale = Rational::from(2 * u64::from(WEIGHTS[0]) * STEPS_PER_ROW as u64) / epsilon.as_rational();
        let exponents: Vec<Rational> = (0..2)
            .map(|place| {
                let distances = counts(data, place).into_iter().zip(EXPECTED[place]);
                let wrong: i64 = distances.map(|(count, expected)| (count - expected).abs()).sum();
                let score = i64::from(WEIGHTS[place]) * wrong - PENALTY;
                Rational::from(score * STEPS_PER_ROW) / &scale
            })
            .collect();
        let lattice = Lattice::discrete_gaussian(&variance).map_err(explained)?;
        let centers = [counts(data, 0)[1], counts(data, 1)[1]];
        let recipe = move |bits: u32| {
            let work = bits + 16;
            let weights: Vec<Interval> = exponents.iter().map(|x| Interval::exp_of(x, work)).collect();
            let sum = weights[0].add(&weights[1]);
            let mut masses = Vec::new();
            for (weight, center) in weights.iter().zip(centers) {
                let choice = weight.div(&sum).expect("positive");
                let inside: Vec<Interval> = (1 - END..END).map(|k| lattice.mass(k - center, work)).collect();
                let zero = Interval::from_integer(0, work);
                let one = Interval::from_integer(1, work);
                let rest = inside.iter().fold(one, |rest, mass| rest.sub(mass)).max(&zero);
                masses.push(choice.mul(&rest).with_bits(bits));
                masses.extend(inside.iter().map(|mass| choice.mul(mass).with_bits(bits)));
            }
            masses
        };
        Finite::from_recipe(4 * END as usize, recipe).map_err(explained)
    }

    /// What is beyond the ends is one cell.
    fn cell(&self, _: &AdaptiveTables, output: &Rounds) -> usize {
        let count = second(output);
        let own = if count.abs() >= END {
            0
        } else {
            (count + END) as usize
        };
        chosen(output) * 2 * END as usize + own
    }

    fn plan(&self) -> Plan {
        Plan {
            exact_lack: 40,
            // A draw makes the tables of its samplers anew, so there are fewer of them.
            drawn_lack: [85, 60],
            draws: [10_000, 150_000],
            fitted: [4_000, 100_000],
        }
    }
}

/// The ε of the choice, and the variance of the noise.
fn asked(mechanism: &AdaptiveTables) -> Result<(Epsilon, Rational), Error> {
    let mut asking = mechanism.strategy().begin();
    let choice = asking.next(&[], mechanism.rho());
    let Some(Round::Choose { epsilon, .. }) = choice else {
        return Err(Error::new("a choice"));
    };
    let chosen = RoundResult::Chosen {
        place: 0,
        attributes: vec![0],
        candidates: 2,
        epsilon: epsilon.clone(),
    };
    match asking.next(&[chosen], mechanism.rho()) {
        Some(Round::Measure { variance, .. }) => Ok((epsilon, variance)),
        _ => Err(Error::new("a measurement")),
    }
}

fn chosen(rounds: &Rounds) -> usize {
    match rounds.results.first() {
        Some(RoundResult::Chosen { place, .. }) => *place,
        _ => 0,
    }
}

fn second(rounds: &Rounds) -> i64 {
    match rounds.results.get(1) {
        Some(RoundResult::Measured { counts, .. }) => counts[1],
        _ => 0,
    }
}
