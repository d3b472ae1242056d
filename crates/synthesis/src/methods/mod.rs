//! Which tables are measured, and how exactly: decided from what was released, and nothing else.

mod aim;
mod independent;
mod mst;

use crate::model::Measured;
use crate::{Error, Impossible, Method, Settings, Wanted};
use accounting::{Epsilon, Neighbors, Rho};
use exact::{Rational, from_f64, to_f64_nearest};
use mechanism::{Asking, Round, RoundResult, Strategy};
use std::collections::BTreeSet;

/// Steps of mirror descent after each round: the model begins where it was.
const STEPS_A_ROUND: usize = 40;

/// Tables that no clique tells are read off so many rows of the model.
const SAMPLED: usize = 60_000;

/// A part of ρ is kept back, so that no rounding asks for more than there is.
const SAFE: f64 = 1.0 - 1e-9;

/// Cells of all tables together among which one is chosen: each is held with what it is expected to count. With more, a choice would take gigabytes, or be refused in the middle of a run.
const MOST_TOGETHER: u64 = 1 << 24;

/// The tables that fit together: the largest ones are left out first. Decided by their sizes alone.
fn within_reach<T>(tables: Vec<T>, sizes: &[u32], of: impl Fn(&T) -> &[usize]) -> Vec<T> {
    let cells = |place: &usize| {
        let sizes = of(&tables[*place])
            .iter()
            .map(|attribute| u64::from(sizes[*attribute]));
        sizes.fold(1, u64::saturating_mul)
    };
    let mut order: Vec<usize> = (0..tables.len()).collect();
    order.sort_by_key(cells);
    let mut together = 0u64;
    let fits = |place: &usize| {
        together = together.saturating_add(cells(place));
        together <= MOST_TOGETHER
    };
    let kept: BTreeSet<usize> = order.into_iter().take_while(fits).collect();
    let tables = tables.into_iter().enumerate();
    tables
        .filter(|(place, _)| kept.contains(place))
        .map(|(_, table)| table)
        .collect()
}

/// A strategy: a method with its settings.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    pub(crate) sizes: Vec<u32>,
    pub(crate) method: Method,
    pub(crate) wanted: Vec<Wanted>,
    /// Which rows cannot be.
    pub(crate) impossible: Vec<Impossible>,
    /// How many cells the model may have.
    pub(crate) cells: f64,
    pub(crate) rho: f64,
    /// How far a unit moves counts, squared.
    pub(crate) moved_squared: f64,
}

impl Rounds {
    pub(crate) fn new(
        sizes: &[u32],
        settings: &Settings,
        rho: &Rho,
        rows: u64,
        neighbors: Neighbors,
    ) -> Result<Self, Error> {
        // As `mechanism` has it: r² for rows that come or go, twice that where some come and some go.
        let sides = match neighbors {
            Neighbors::AddRemove => 1.0,
            Neighbors::ChangeOne => 2.0,
        };
        Ok(Self {
            sizes: sizes.to_vec(),
            method: settings.method,
            wanted: settings.wanted.clone(),
            impossible: settings.impossible.clone(),
            cells: settings.cells as f64,
            rho: to_f64_nearest(rho.as_rational()),
            moved_squared: sides * (rows as f64) * (rows as f64),
        })
    }

    /// A table to be measured at a cost of this ρ.
    pub(crate) fn measure(&self, attributes: &[usize], rho: f64) -> Round {
        Round::Measure {
            attributes: attributes.to_vec(),
            variance: rounded_up(self.variance_for(rho)),
        }
    }

    /// The variance of noise that costs this ρ.
    pub(crate) fn variance_for(&self, rho: f64) -> f64 {
        self.moved_squared / (2.0 * rho)
    }
}

impl Strategy for Rounds {
    fn begin(&self) -> Box<dyn Asking + '_> {
        match self.method {
            Method::Independent => Box::new(independent::Independent::new(self)),
            Method::Mst => Box::new(mst::Mst::new(self)),
            Method::Aim => Box::new(aim::Aim::new(self)),
        }
    }
}

/// The variance of the noise on counts by one attribute.
pub(crate) fn first_variance(method: Method, attributes: usize, moved_squared: f64, rho: f64) -> f64 {
    let each = match method {
        Method::Independent => rho / attributes as f64,
        Method::Mst => mst::FIRST * rho / attributes as f64,
        Method::Aim => aim::measuring(attributes, rho),
    };
    moved_squared / (2.0 * each)
}

/// A variance as a rational number of few digits, at least as large.
pub(crate) fn rounded_up(variance: f64) -> Rational {
    let tiny = 1.0 / 65_536.0;
    let steps = (variance / tiny).ceil().clamp(1.0, 1e15);
    from_f64(steps * tiny).expect("finite")
}

/// An ε for a choice that costs this ρ: ε²/8.
fn epsilon_of_choice(rho: f64) -> Option<Epsilon> {
    let epsilon = from_f64((8.0 * rho * SAFE).sqrt())?;
    Epsilon::rounded_down(&epsilon)
        .ok()
        .filter(|epsilon| *epsilon != Epsilon::ZERO)
}

/// What a measuring round released, as a table with noise.
pub(crate) fn measured(result: &RoundResult) -> Option<Measured> {
    match result {
        RoundResult::Measured {
            attributes,
            twice_variance,
            counts,
        } => Some(Measured {
            attributes: attributes.clone(),
            counts: counts.iter().map(|count| *count as f64).collect(),
            variance: to_f64_nearest(twice_variance.as_rational()) / 2.0,
        }),
        RoundResult::Chosen { .. } | RoundResult::Compared { .. } => None,
    }
}

/// Counts in the steps that scores are in.
pub(crate) fn in_steps(counts: &[f64]) -> Vec<i64> {
    let steps = mechanism::STEPS_PER_ROW as f64;
    counts
        .iter()
        .map(|count| (count * steps).round().clamp(-1e15, 1e15) as i64)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_tables_are_left_out_where_all_do_not_fit() {
        let sizes = [1000, 1000, 16, 2];
        let all: Vec<Vec<usize>> = vec![vec![0, 1, 2], vec![0], vec![0, 1, 3], vec![1, 2], vec![0, 1]];
        let kept = |sizes: &[u32]| within_reach(all.clone(), sizes, |table| table);
        // 16 and 2 million cells and a little more are too many, without the largest they are not.
        assert_eq!(kept(&sizes), all[1..]);
        assert_eq!(kept(&[10, 10, 16, 2]), all);
        assert_eq!(kept(&[u32::MAX, u32::MAX, u32::MAX, 2]), Vec::<Vec<usize>>::new());
    }
}
