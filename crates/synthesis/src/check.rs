//! A private score of rows: how far they are from the data, on tables that were not measured.
//!
//! The distance of a table is a sum over its cells of |count − expected|. Noise on each count would make it look larger, by more the more cells there are. So the sum is made of exact counts, and noise is added to
//! it: one row moves it by at most one, however many cells there are. What comes out has no such bias, and its error is the same for small tables and large ones.

use crate::methods::rounded_up;
use crate::model::shape::{Shape, within};
use crate::model::{Model, tabulated};
use crate::{Error, Release};
use accounting::{PrivacyUnit, Rho};
use exact::to_f64_nearest;
use mechanism::{
    AdaptiveTables, Asking, Expected, Round, RoundResult, Rounds, STEPS_PER_ROW, Stated, Strategy,
};
use noise::Seeded;
use serde::Serialize;
use std::sync::Arc;

/// So many tables are looked at. The error of their mean does not depend on it; that of each grows with its root.
const MOST_TABLES: usize = 40;
/// Tables with more cells are not looked at, and no more cells in all.
const MOST_CELLS: u64 = 2_000_000;
/// No more rows are made to be compared.
const MOST_ROWS: f64 = 1_000_000.0;
/// A part of ρ is kept back, so that no rounding asks for more than there is.
const SAFE: f64 = 1.0 - 1e-9;
/// Two sides of a normal distribution beyond this have 2.5 % together. Two such intervals hold at once with 95 %.
const SIDES: f64 = 2.241_402_727_604_947;

/// A check of a release, before anything is charged.
#[derive(Clone, Debug)]
pub struct Check {
    mechanism: AdaptiveTables,
    tables: Vec<Table>,
    /// How many tables were wanted and never measured.
    held_out: usize,
    rows: usize,
    total: f64,
    total_deviation: f64,
    deviation: f64,
}

#[derive(Clone, Debug)]
struct Table {
    attributes: Vec<usize>,
    names: Vec<String>,
    cells: usize,
}

/// How far the rows are from the data, with intervals that hold with 95 %.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// 1000 times one less the mean distance: what SDNist calls the k-marginal score, of these tables.
    pub score: f64,
    /// The mean distance of the tables below, as a share of all rows: half the sum of differences of counts.
    pub distance: Estimated,
    /// How many rows were compared: as many as the data seems to have, at most a million.
    pub rows: usize,
    /// The standard deviation of the noise on the distance of each table, in rows.
    pub deviation: f64,
    /// How many tables that matter were never measured; as many as are listed below were drawn from them.
    pub held_out: usize,
    /// The tables, those that are furthest off first.
    pub tables: Vec<CheckedTable>,
}

/// A number with an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimated {
    /// The estimate.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// How far one table is from the data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedTable {
    /// By which attributes.
    pub by: Vec<String>,
    /// How many cells it has.
    pub cells: usize,
    /// Half the sum of differences of counts, as a share of all rows.
    pub distance: Estimated,
}

/// Asks once.
#[derive(Clone, Debug)]
struct Once(Round);

impl Strategy for Once {
    fn begin(&self) -> Box<dyn Asking + '_> {
        Box::new(self.clone())
    }
}

impl Asking for Once {
    fn next(&mut self, released: &[RoundResult], _: &Rho) -> Option<Round> {
        released.is_empty().then(|| self.0.clone())
    }
}

impl Check {
    /// Of the rows that follow from a release where nobody says how many, at a cost of ρ for a unit that has at most `rows` rows. Which tables are looked at follows from the release: those that matter and that no
    /// measured table has, or some of them, drawn by its seed.
    ///
    /// # Errors
    /// When nothing is held out, or there is no noise for this ρ.
    pub fn new(
        release: &Release,
        model: &Model,
        rho: Rho,
        rows: u64,
        unit: &PrivacyUnit,
    ) -> Result<Self, Error> {
        let sizes = release.sizes();
        let mut sets = held_out(release, model);
        let held_out = sets.len();
        let mut random = Seeded::new(release.seed());
        for last in (1..sets.len()).rev() {
            sets.swap(last, random.index(last + 1));
        }
        let mut left = MOST_CELLS;
        sets.retain(|set| {
            let rest = cells_of(set, &sizes).and_then(|cells| left.checked_sub(cells));
            left = rest.unwrap_or(left);
            rest.is_some()
        });
        sets.truncate(MOST_TABLES);
        sets.sort_unstable();
        if sets.is_empty() {
            return Err(Error::NothingHeldOut);
        }
        let (total, made) = (model.total(), model.total().round().clamp(1.0, MOST_ROWS));
        let columns = model.rows(made as usize, release.seed());
        let expected = sets.iter().map(|set| {
            let table = tabulated(&columns, &Shape::of(set, &sizes), total / made);
            Expected {
                attributes: set.clone(),
                counts: crate::methods::in_steps(&table),
            }
        });
        let expected: Vec<Expected> = expected.collect();
        // The sensitivities are those of the mechanism; what it charges is computed there, exactly.
        let one = AdaptiveTables::new(
            rho.clone(),
            sizes.clone(),
            rows,
            unit.neighbors,
            Arc::new(Once(Round::Compare {
                tables: Vec::new(),
                variance: exact::Rational::ONE,
            })),
        )?;
        let moved = to_f64_nearest(one.terms().sensitivity().l1());
        let share = SAFE * to_f64_nearest(rho.as_rational());
        let variance = rounded_up(sets.len() as f64 * moved * moved / (2.0 * share));
        let deviation = to_f64_nearest(&variance).sqrt();
        let round = Round::Compare {
            tables: expected,
            variance,
        };
        if one.cost(&round).is_none_or(|cost| cost > rho) {
            return Err(Error::CheckTooSmall);
        }
        let name = |place: &usize| release.domain().attributes()[*place].name().to_owned();
        let tables = sets.into_iter().map(|attributes| Table {
            names: attributes.iter().map(name).collect(),
            cells: Shape::of(&attributes, &sizes).cells(),
            attributes,
        });
        Ok(Self {
            tables: tables.collect(),
            mechanism: AdaptiveTables::new(rho, sizes, rows, unit.neighbors, Arc::new(Once(round)))?,
            held_out,
            rows: made as usize,
            total,
            total_deviation: model.total_deviation(),
            deviation,
        })
    }

    /// The mechanism, for an account.
    pub fn mechanism(&self) -> &AdaptiveTables {
        &self.mechanism
    }

    /// What came out of it.
    ///
    /// A distance counts rows against the estimated number of rows. As a share of the true number it differs by at most half of how far that estimate is off, in parts of it, so intervals count the noise on both, and what rounding to
    /// whole rows and to steps may do.
    ///
    /// # Errors
    /// When it is not of this check.
    pub fn report(&self, rounds: &Rounds) -> Result<CheckReport, Error> {
        let [
            RoundResult::Compared {
                tables, distances, ..
            },
        ] = &rounds.results[..]
        else {
            return Err(Error::OtherDomain);
        };
        let same = self.tables.iter().map(|table| &table.attributes).eq(tables);
        if !same || distances.len() != tables.len() {
            return Err(Error::OtherDomain);
        }
        let share = |rows: f64| 0.5 * rows / self.total;
        let of = |value: f64, deviation: f64, cells: f64| {
            let rounding = 1.0 + cells / (2.0 * STEPS_PER_ROW as f64);
            let beside = share(SIDES * (deviation + self.total_deviation) + rounding);
            Estimated {
                value: value.clamp(0.0, 1.0),
                low: (value - beside).clamp(0.0, 1.0),
                high: (value + beside).clamp(0.0, 1.0),
            }
        };
        let mut checked: Vec<CheckedTable> = self
            .tables
            .iter()
            .zip(distances)
            .map(|(table, distance)| CheckedTable {
                by: table.names.clone(),
                cells: table.cells,
                distance: of(share(*distance as f64), self.deviation, table.cells as f64),
            })
            .collect();
        checked.sort_by(|one, other| other.distance.value.total_cmp(&one.distance.value));
        let count = distances.len() as f64;
        // The mean of what was released, before any of it was cut to what a share may be.
        let mean = distances
            .iter()
            .map(|distance| share(*distance as f64))
            .sum::<f64>()
            / count;
        let cells = self.tables.iter().map(|table| table.cells as f64).sum::<f64>() / count;
        let distance = of(mean, self.deviation / count.sqrt(), cells);
        Ok(CheckReport {
            score: 1000.0 * (1.0 - distance.value),
            distance,
            rows: self.rows,
            deviation: self.deviation,
            held_out: self.held_out,
            tables: checked,
        })
    }
}

/// The wanted tables that no measured table has.
fn held_out(release: &Release, model: &Model) -> Vec<Vec<usize>> {
    let measured = model.sets();
    let sizes = release.sizes();
    let mut sets: Vec<Vec<usize>> = release
        .settings()
        .wanted
        .iter()
        .map(|wanted| wanted.attributes.clone())
        .filter(|set| !measured.iter().any(|known| within(set, known)))
        .filter(|set| cells_of(set, &sizes).is_some_and(|cells| cells <= MOST_CELLS))
        .collect();
    sets.sort_unstable();
    sets.dedup();
    sets
}

fn cells_of(attributes: &[usize], sizes: &[u32]) -> Option<u64> {
    attributes
        .iter()
        .try_fold(1u64, |cells, place| cells.checked_mul(u64::from(sizes[*place])))
}
