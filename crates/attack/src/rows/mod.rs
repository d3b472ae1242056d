//! What synthetic rows tell of the people that they were made from.
//!
//! Rows that belong to nobody may still be copies of somebody, or near to them. Two adversaries look, and see the rows alone:
//!
//! - *Membership*: somebody whose own row is close to a synthetic one was probably in the data (distance to the closest record).
//! - *Linkage*: somebody of whom all columns but one are known has, in that one, probably the value that the closest rows have (attribute inference).
//!
//! People who were not in the data tell what such a guess is worth: rows say of them what the population says of everybody. Only a difference between members and strangers is about members, and (ε, δ) bounds it for
//! every adversary: one who accuses strangers with probability p accuses a member with probability at most e^ε·p + δ. Closeness alone proves nothing, neither that rows are private nor that they are not; a lower bound on ε takes
//! coins (`audit::one_run`).
//!
//! Columns are lists of codes, one a row, and all values of a column are equally far from each other.
//! ```
//! use attack::rows::{infer, membership, nearest};
//!
//! // Two synthetic rows of three columns, and two people.
//! let rows = [vec![0, 1], vec![5, 6], vec![2, 2]];
//! let people = [vec![0, 9], vec![5, 9], vec![2, 9]];
//! assert_eq!(nearest(&rows, &people), [0, 3]);
//! let (member, stranger) = ([vec![0], vec![5], vec![2]], [vec![9], vec![9], vec![9]]);
//! assert_eq!(membership(&rows, &member, &stranger).area(), 1.0);
//! // Of the first column nothing is known: the closest row tells it.
//! assert_eq!(infer(&rows, &member, 0), [Some(0)]);
//! ```

use crate::membership::Scores;
use std::collections::{BTreeMap, HashMap};

/// For each of these people, in how many columns they differ from the synthetic row that is closest to them. With no rows, in all of them.
///
/// # Panics
/// When columns of people and rows are not as many.
pub fn nearest(rows: &[Vec<u32>], people: &[Vec<u32>]) -> Vec<u32> {
    let distinct = Distinct::of(rows, None);
    (0..lines(people))
        .map(|person| {
            let codes = line(people, person);
            let closest = distinct
                .lines
                .iter()
                .map(|(line, _)| differences(line, &codes))
                .min();
            closest.unwrap_or(codes.len() as u32)
        })
        .collect()
}

/// Scores for whether somebody was in the data: the closer a synthetic row, the higher.
///
/// # Panics
/// When columns of people and rows are not as many.
pub fn membership(rows: &[Vec<u32>], members: &[Vec<u32>], strangers: &[Vec<u32>]) -> Scores {
    let scores = |people: &[Vec<u32>]| {
        let distances = nearest(rows, people).into_iter();
        distances.map(|distance| -f64::from(distance)).collect()
    };
    Scores {
        inside: scores(members),
        outside: scores(strangers),
    }
}

/// For each of these people, the value of the column `secret` that the closest rows have most often, judged by all other columns; of several the smallest. Nothing where there are no rows.
///
/// # Panics
/// When columns of people and rows are not as many, or there is no such column.
pub fn infer(rows: &[Vec<u32>], people: &[Vec<u32>], secret: usize) -> Vec<Option<u32>> {
    let distinct = Distinct::of(rows, Some(secret));
    let others: Vec<Vec<u32>> = without(people, secret);
    (0..lines(people))
        .map(|person| {
            let codes = line(&others, person);
            let mut votes: BTreeMap<u32, u64> = BTreeMap::new();
            let mut closest = u32::MAX;
            for (line, told) in &distinct.lines {
                let distance = differences(line, &codes);
                if distance < closest {
                    closest = distance;
                    votes.clear();
                }
                if distance == closest {
                    for (value, count) in told {
                        *votes.entry(*value).or_default() += count;
                    }
                }
            }
            // Of equal counts the first wins, which is the smallest value.
            let best = votes.into_iter().rev().max_by_key(|(_, count)| *count);
            best.map(|(value, _)| value)
        })
        .collect()
}

/// How often a secret value was guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inferred {
    /// Right guesses.
    pub right: u64,
    /// Of so many people.
    pub people: u64,
}

impl Inferred {
    /// Compares guesses with the truth.
    ///
    /// # Panics
    /// As [`infer`].
    pub fn of(rows: &[Vec<u32>], people: &[Vec<u32>], secret: usize) -> Self {
        let guesses = infer(rows, people, secret);
        let right = guesses.iter().zip(&people[secret]);
        Self {
            right: right.filter(|(guess, truth)| **guess == Some(**truth)).count() as u64,
            people: guesses.len() as u64,
        }
    }

    /// The share of right guesses.
    pub fn share(&self) -> f64 {
        self.right as f64 / (self.people as f64).max(1.0)
    }
}

/// Rows that differ, each with how often it has which value of the column that is left out.
struct Distinct {
    lines: Vec<(Vec<u32>, BTreeMap<u32, u64>)>,
}

impl Distinct {
    fn of(rows: &[Vec<u32>], left_out: Option<usize>) -> Self {
        let others = match left_out {
            Some(secret) => without(rows, secret),
            None => rows.to_vec(),
        };
        let mut places: HashMap<Vec<u32>, usize> = HashMap::new();
        let mut all: Vec<(Vec<u32>, BTreeMap<u32, u64>)> = Vec::new();
        let secrets = left_out.map(|secret| &rows[secret]);
        for (row, codes) in (0..lines(rows)).map(|row| (row, line(&others, row))) {
            let place = *places.entry(codes.clone()).or_insert(all.len());
            if place == all.len() {
                all.push((codes, BTreeMap::new()));
            }
            if let Some(secrets) = secrets {
                *all[place].1.entry(secrets[row]).or_default() += 1;
            }
        }
        Self { lines: all }
    }
}

fn lines(columns: &[Vec<u32>]) -> usize {
    columns.first().map_or(0, Vec::len)
}

fn line(columns: &[Vec<u32>], row: usize) -> Vec<u32> {
    columns.iter().map(|column| column[row]).collect()
}

fn without(columns: &[Vec<u32>], secret: usize) -> Vec<Vec<u32>> {
    let others = columns.iter().enumerate().filter(|(place, _)| *place != secret);
    others.map(|(_, column)| column.clone()).collect()
}

fn differences(one: &[u32], other: &[u32]) -> u32 {
    assert_eq!(one.len(), other.len(), "people and rows have the same columns");
    one.iter().zip(other).filter(|(one, other)| one != other).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::membership::Limit;
    use noise::Seeded;

    const COLUMNS: usize = 8;

    /// People whose last column mostly follows from the first two.
    fn people(count: usize, random: &mut Seeded) -> Vec<Vec<u32>> {
        let mut columns = vec![Vec::new(); COLUMNS];
        for _ in 0..count {
            let mut codes: Vec<u32> = (0..COLUMNS).map(|_| random.below(6) as u32).collect();
            if random.chance(0.7) {
                codes[COLUMNS - 1] = (codes[0] + codes[1]) % 6;
            }
            columns
                .iter_mut()
                .zip(codes)
                .for_each(|(column, code)| column.push(code));
        }
        columns
    }

    #[test]
    fn copies_are_found_and_other_rows_of_the_population_tell_nothing() {
        let mut random = Seeded::new(3);
        let (members, strangers) = (people(400, &mut random), people(400, &mut random));
        let others = people(400, &mut random);
        // A generator that hands out its data.
        let scores = membership(&members, &members, &strangers);
        assert!(scores.area() > 0.99, "{}", scores.area());
        let limit = Limit {
            epsilon: 1.0,
            delta: 1e-5,
        };
        assert!(scores.area() > limit.area());
        assert_eq!(
            Inferred::of(&members, &members, COLUMNS - 1),
            Inferred {
                right: 400,
                people: 400
            }
        );
        // Rows of nobody here: members and strangers are alike, and a secret that follows from other columns is guessed of both.
        let scores = membership(&others, &members, &strangers);
        assert!(
            (scores.area() - 0.5).abs() < 6.0 * scores.area_error(),
            "{}",
            scores.area()
        );
        let [inside, outside] =
            [&members, &strangers].map(|people| Inferred::of(&others, people, COLUMNS - 1));
        assert!(inside.share() > 0.25 && (inside.share() - outside.share()).abs() < 0.15);
    }

    #[test]
    fn distances_and_guesses_are_right() {
        // By hand: four rows of three columns.
        let rows = [vec![0, 0, 1, 0], vec![1, 1, 1, 2], vec![7, 8, 7, 8]];
        let people = [vec![0, 1, 3], vec![1, 1, 3], vec![7, 9, 3]];
        assert_eq!(nearest(&rows, &people), [0, 1, 3]);
        // The first person's rows without the last column say 7 and 8, once each; the third is as far from all, and 7 is the smaller.
        assert_eq!(infer(&rows, &people, 2), [Some(7), Some(7), Some(7)]);
        assert_eq!(Inferred::of(&rows, &people, 2).right, 1);
        let none = [vec![], vec![], vec![]];
        assert_eq!(nearest(&none, &people), [3, 3, 3]);
        assert_eq!(infer(&none, &people, 0), [None, None, None]);
    }
}
