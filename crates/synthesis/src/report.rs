//! How far synthetic rows are to be trusted: compared with what was measured, never with the data, so it costs nothing.

use crate::model::Model;
use crate::model::shape::Shape;
use crate::model::tabulated;
use crate::{Method, Release};
use mechanism::RoundResult;
use serde::Serialize;
use std::collections::BTreeMap;
use tables::Domain;

/// The mean distance of Gaussian noise of deviation 1 from zero: √(2/π).
const MEAN_DISTANCE: f64 = 0.797_884_560_802_865_4;
/// So many tables that were never looked at are named.
const MOST_UNLIKELY: usize = 40;

/// Synthetic rows beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// How tables were chosen.
    pub method: Method,
    /// How many rows were made.
    pub rows: usize,
    /// How many rows there seem to be in the data: from the noisy counts.
    pub estimated_rows: f64,
    /// The part of the charge that rounds used.
    pub rho_spent: f64,
    /// How many choices were made, each by an exponential mechanism.
    pub choices: usize,
    /// How many cells the model has.
    pub model_cells: usize,
    /// The tables that were measured, those that the rows fit worst first.
    pub measured: Vec<MeasuredTable>,
    /// Every pair of attributes, and what stands behind it.
    pub pairs: Vec<PairReport>,
    /// Wanted tables that nothing measured all attributes of together, the largest first.
    pub never_measured: Vec<UnlikelyTable>,
    /// How many there are of those.
    pub never_measured_count: usize,
}

/// A table that was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredTable {
    /// By which attributes.
    pub by: Vec<String>,
    /// How many cells it has.
    pub cells: usize,
    /// How often it was measured.
    pub times: usize,
    /// The standard deviation of the noise on each of its counts, all measurements together.
    pub deviation: f64,
    /// Half the sum of the distances between shares of synthetic rows and noisy shares.
    pub distance: f64,
    /// What noise alone would be expected to give: rows that were exactly right would be so far off.
    pub distance_of_noise: f64,
    /// What it means.
    pub standing: Standing,
}

/// How good a table of synthetic rows is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The rows agree with it as well as noise allows, and noise is small: below 5 % of all rows.
    Good,
    /// The rows agree with it as well as noise allows, and noise is not small.
    Noisy,
    /// The rows are further from it than noise explains: other tables pull them elsewhere, whole rows are too coarse, or the data has rows that are declared impossible.
    Off,
}

/// What stands behind two attributes together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairReport {
    /// The attributes.
    pub by: [String; 2],
    /// What stands behind them.
    pub connection: Connection,
}

/// What stands behind two attributes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Connection {
    /// A table by both was measured.
    Measured,
    /// Tables by each and others were measured, or declared rules hold them together: what they have in common goes through these.
    Through,
    /// Nothing that was measured connects them: in the rows they are independent, whatever the data.
    Independent,
}

/// A wanted table that was never measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnlikelyTable {
    /// By which attributes.
    pub by: Vec<String>,
    /// How many cells it has.
    pub cells: u64,
    /// How many of its pairs were measured.
    pub measured_pairs: usize,
    /// How many pairs it has.
    pub pairs: usize,
}

impl Report {
    /// Of these rows, a column of codes for each attribute, made from this model of this release.
    pub fn new(release: &Release, model: &Model, columns: &[Vec<u32>]) -> Self {
        let domain = release.domain();
        let measured = measured_tables(release, model, columns);
        let sets: Vec<Vec<usize>> = model.sets();
        let together = |these: &[usize]| sets.iter().any(|set| crate::model::shape::within(these, set));
        let parts = model.parts();
        let count = domain.attributes().len();
        let mut pairs = Vec::new();
        for first in 0..count {
            for second in first + 1..count {
                let connection = if together(&[first, second]) {
                    Connection::Measured
                } else if parts[first] == parts[second] {
                    Connection::Through
                } else {
                    Connection::Independent
                };
                let [first, second] = [first, second].map(|place| name(domain, place));
                pairs.push(PairReport {
                    by: [first, second],
                    connection,
                });
            }
        }
        let mut never: Vec<UnlikelyTable> = release
            .settings()
            .wanted
            .iter()
            .filter(|wanted| !together(&wanted.attributes))
            .map(|wanted| unlikely(release, &wanted.attributes, &together))
            .collect();
        // Those of which the fewest pairs are known come first.
        never.sort_by_key(|table| (table.measured_pairs, std::cmp::Reverse(table.cells)));
        let never_measured_count = never.len();
        never.truncate(MOST_UNLIKELY);
        let choices = release.rounds().results.iter();
        Self {
            method: release.settings().method,
            rows: columns.first().map_or(0, Vec::len),
            estimated_rows: model.total(),
            rho_spent: release.rounds().spent.to_f64_up(),
            choices: choices
                .filter(|result| matches!(result, RoundResult::Chosen { .. }))
                .count(),
            model_cells: model.cells(),
            measured,
            pairs,
            never_measured: never,
            never_measured_count,
        }
    }

    /// How many pairs stand on this.
    pub fn pairs_with(&self, connection: Connection) -> usize {
        self.pairs
            .iter()
            .filter(|pair| pair.connection == connection)
            .count()
    }
}

fn name(domain: &Domain, place: usize) -> String {
    domain.attributes()[place].name().to_owned()
}

fn unlikely(release: &Release, attributes: &[usize], together: &dyn Fn(&[usize]) -> bool) -> UnlikelyTable {
    let domain = release.domain();
    let mut pairs = (0, 0);
    for (at, first) in attributes.iter().enumerate() {
        for second in &attributes[at + 1..] {
            pairs.0 += usize::from(together(&[*first, *second]));
            pairs.1 += 1;
        }
    }
    let cells = attributes.iter().fold(1u64, |cells, place| {
        cells.saturating_mul(u64::from(domain.attributes()[*place].size()))
    });
    UnlikelyTable {
        by: attributes.iter().map(|place| name(domain, *place)).collect(),
        cells,
        measured_pairs: pairs.0,
        pairs: pairs.1,
    }
}

fn measured_tables(release: &Release, model: &Model, columns: &[Vec<u32>]) -> Vec<MeasuredTable> {
    // Several measurements of one table are one, averaged by their precision.
    let mut known: BTreeMap<Vec<usize>, (Vec<f64>, f64, usize)> = BTreeMap::new();
    for table in release.measured() {
        let precision = 1.0 / table.variance;
        let entry = known
            .entry(table.attributes)
            .or_insert_with(|| (vec![0.0; table.counts.len()], 0.0, 0));
        for (sum, count) in entry.0.iter_mut().zip(&table.counts) {
            *sum += precision * count;
        }
        entry.1 += precision;
        entry.2 += 1;
    }
    let rows = columns.first().map_or(0, Vec::len).max(1) as f64;
    let total = model.total();
    let sizes = release.sizes();
    let mut tables: Vec<MeasuredTable> = known
        .into_iter()
        .map(|(attributes, (sums, precision, times))| {
            let ours = tabulated(columns, &Shape::of(&attributes, &sizes), 1.0 / rows);
            let theirs = sums.iter().map(|sum| sum / precision / total);
            let distance = 0.5
                * ours
                    .iter()
                    .zip(theirs)
                    .map(|(one, other)| (one - other).abs())
                    .sum::<f64>();
            let deviation = (1.0 / precision).sqrt();
            let distance_of_noise = 0.5 * MEAN_DISTANCE * deviation * ours.len() as f64 / total;
            let standing = if distance > 1.5 * distance_of_noise + 0.01 {
                Standing::Off
            } else if distance_of_noise < 0.05 {
                Standing::Good
            } else {
                Standing::Noisy
            };
            MeasuredTable {
                by: attributes
                    .iter()
                    .map(|place| name(release.domain(), *place))
                    .collect(),
                cells: ours.len(),
                times,
                deviation,
                distance,
                distance_of_noise,
                standing,
            }
        })
        .collect();
    let excess = |table: &MeasuredTable| table.distance - table.distance_of_noise;
    tables.sort_by(|one, other| excess(other).total_cmp(&excess(one)));
    tables
}
