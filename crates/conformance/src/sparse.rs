//! The sparse vector technique: which queries are about at or above a threshold.

use crate::subject::{Plan, Subject};
use crate::{Error, explained};
use accounting::{Epsilon, Neighbors};
use audit::black_box::Feature;
use audit::exact_audit::{Finite, LaplaceTable};
use audit::report::Claim;
use exact::{Interval, Rational, ratio};
use mechanism::{AboveThreshold, Sensitivity};
use noise::Grid;

/// How many queries are asked.
const QUERIES: usize = 6;
/// After this many positive answers it ends.
const POSITIVES: u32 = 2;

/// ε = 2 for queries that each move by 1, against a threshold of 0.
#[derive(Clone)]
pub(crate) struct Sparse;

/// All sequences of answers, which end at the last positive that is allowed.
fn transcripts() -> Vec<Vec<bool>> {
    let mut done = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(answers) = open.pop() {
        let positives = answers.iter().filter(|answer| **answer).count();
        if answers.len() == QUERIES || positives == POSITIVES as usize {
            done.push(answers);
        } else {
            open.extend([false, true].map(|answer| [answers.as_slice(), &[answer]].concat()));
        }
    }
    done.sort();
    done
}

fn place(answers: &[bool]) -> usize {
    transcripts()
        .binary_search_by(|known| known.as_slice().cmp(answers))
        .unwrap_or(usize::MAX)
}

impl Subject for Sparse {
    const NAME: &'static str = "AboveThreshold";
    const NEIGHBORS: Neighbors = Neighbors::AddRemove;
    type Data = [i64; QUERIES];
    type Input = Vec<i64>;
    type Output = Vec<bool>;
    type Mechanism = AboveThreshold;

    fn claim(&self) -> Result<Claim, Error> {
        Ok(Claim::pure(ratio(2, 1)))
    }

    fn build(&self, stretch: &Rational) -> Result<AboveThreshold, Error> {
        let epsilon = Epsilon::exactly_or_up(&(ratio(2, 1) * stretch)).map_err(explained)?;
        let sensitivity = Sensitivity::vector(QUERIES as u64, 1).map_err(explained)?;
        AboveThreshold::new(epsilon, 0, POSITIVES, sensitivity, Grid::new(0)).map_err(explained)
    }

    fn input(&self, data: &Self::Data) -> Vec<i64> {
        data.to_vec()
    }

    /// The first is closest: a positive answer to one of the last two costs a step of the query and one of
    /// the threshold.
    fn pairs(&self) -> Vec<[Self::Data; 2]> {
        vec![
            [[0, 0, 0, 0, -1, -1], [1, 1, 1, 1, -2, -2]],
            [[0, 0, 0, 0, -2, -2], [1, 1, 1, 1, -1, -1]],
            [[0, 1, 0, 1, 0, 1], [1, 0, 1, 0, 1, 0]],
            [[0; QUERIES], [1; QUERIES]],
        ]
    }

    /// What is low on one side is high on the other, so that every answer counts.
    fn drawn(&self) -> [Self::Data; 2] {
        [[0, 1, 0, 1, 0, 1], [1, 0, 1, 0, 1, 0]]
    }

    fn features(&self) -> Vec<Feature<Vec<bool>>> {
        vec![Feature::values("answers", |answers: &Vec<bool>| {
            place(answers) as i64
        })]
    }

    /// Σ_z P[ρ = z]·Π P[answerᵢ | z], for every sequence of answers.
    fn cells(&self, mechanism: &AboveThreshold, data: &Self::Data) -> Result<Finite, Error> {
        let answers = transcripts();
        let (first, second) = mechanism.scales();
        let (first, second, queries) = (first.clone(), second.clone(), *data);
        let recipe = move |bits: u32| {
            let reach = LaplaceTable::enough(&first, bits);
            let farthest = queries.iter().map(|query| query.abs()).max().unwrap_or(0);
            let of_threshold = LaplaceTable::new(&first, reach, bits);
            let of_query = LaplaceTable::new(&second, reach + farthest + 1, bits);
            let one = Interval::from_integer(1, bits);
            of_threshold.mean(answers.len(), reach, |z| {
                let above: Vec<Interval> = queries.iter().map(|query| of_query.tail(z - query)).collect();
                let probability = |answers: &Vec<bool>| {
                    let pairs = answers.iter().zip(&above);
                    pairs.fold(one.clone(), |product, (answer, above)| {
                        product.mul(&if *answer { above.clone() } else { one.sub(above) })
                    })
                };
                answers.iter().map(probability).collect()
            })
        };
        Finite::from_recipe(transcripts().len(), recipe).map_err(explained)
    }

    fn cell(&self, _: &AboveThreshold, output: &Vec<bool>) -> usize {
        place(output)
    }

    fn plan(&self) -> Plan {
        Plan {
            exact_lack: 20,
            drawn_lack: [75, 60],
            draws: [20_000, 500_000],
            fitted: [20_000, 200_000],
        }
    }
}
