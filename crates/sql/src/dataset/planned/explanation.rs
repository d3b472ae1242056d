//! What a release will be like, before anything is spent.

use crate::Error;
use crate::catalog::{Catalog, Objective};
use crate::dataset::readable::readable;
use crate::price::planned::ReleasePlan;
use accounting::{Delta, Epsilon, Guarantee, Promise};
use report::{Column, HeatMap, Table, grouped, significant};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The mean distance of Gaussian noise of deviation 1 from zero: √(2/π).
const MEAN_DISTANCE: f64 = 0.797_884_560_802_865_4;
/// 95 % of Gaussian noise of deviation 1 are within this.
const HALF_WIDTH: f64 = 1.959_963_984_540_054;
/// The same of Laplace noise: ln 20 / √2. Sums of it are nearer to Gaussian noise.
const HALF_WIDTH_OF_LAPLACE: f64 = 2.118_272_435_617_024;
/// So many tables are listed for people.
const MOST_SHOWN: usize = 60;
/// So many parts of the cost.
const MOST_SHARES: usize = 12;

/// A release as it is planned: its tables and their errors, what it costs and where that goes.
#[derive(Clone, Debug, Serialize)]
pub struct ReleaseExplanation {
    /// Its name in the catalog.
    pub release: String,
    /// The table of which rows are counted.
    pub table: String,
    /// Which rows count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Whose privacy.
    pub unit: String,
    /// How many rows of a unit count in all cells together.
    pub rows_per_unit: u64,
    /// What is made small: `sum` or `worst`.
    pub objective: &'static str,
    /// What it costs.
    #[serde(serialize_with = "in_words")]
    pub guarantee: Guarantee,
    /// Its ε.
    pub epsilon: Option<Epsilon>,
    /// Its δ.
    pub delta: Delta,
    /// Whether all tables are made of one set of measurements, with Gaussian noise, so that they agree; else each has Laplace noise of its own.
    pub agree: bool,
    /// The tables, in the order of the catalog.
    pub tables: Vec<TableForecast>,
    /// How many cells they have together.
    pub cells: u64,
    /// The root of the mean of the variances of all cells.
    pub root_mean_squared_error: f64,
    /// The same if each table were asked alone, all for equal parts of the same cost.
    pub root_mean_squared_error_one_by_one: Option<f64>,
    /// Where the budget goes, the largest part first.
    pub shares: Vec<ResidualShare>,
    /// The bytes that measurements and tables take.
    pub memory: u64,
    /// For each attribute its levels, the finest first.
    pub levels: Vec<Vec<String>>,
}

/// A table as it will be.
#[derive(Clone, Debug, Serialize)]
pub struct TableForecast {
    /// What it is by, with `×` between; `total`.
    pub name: String,
    /// What it is by.
    pub by: Vec<String>,
    /// How many cells it has.
    pub cells: u64,
    /// The root of the mean of the variances of its cells.
    pub deviation: f64,
    /// The largest standard deviation of a cell.
    pub worst_deviation: f64,
    /// The expected distance of a cell from the truth of the bounded rows.
    pub expected_error: f64,
    /// Half of the width of a cell's 95 % interval.
    pub half_width: f64,
}

/// A part of the cost.
#[derive(Clone, Debug, Serialize)]
pub struct ResidualShare {
    /// What is measured: what these attributes tell together beyond fewer of them.
    pub measured: String,
    /// Its part; all are 1.
    pub share: f64,
}

fn in_words<S: serde::Serializer>(guarantee: &Guarantee, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(guarantee)
}

/// Explains a plan. Reads nothing.
pub(crate) fn explain(plan: &ReleasePlan, catalog: &Catalog) -> Result<ReleaseExplanation, Error> {
    let guarantee = plan.charge(&catalog.unit)?.guarantee;
    let domain = plan.plan.domain();
    let predicted = plan.predicted();
    let agree = plan.plan.is_gaussian();
    let half_width = if agree { HALF_WIDTH } else { HALF_WIDTH_OF_LAPLACE };
    let tables: Vec<TableForecast> = predicted
        .iter()
        .map(|one| {
            let deviation = one.mean_variance.sqrt();
            let axes = one.shape.axes().iter();
            TableForecast {
                name: plan.name_of(&one.shape),
                by: axes
                    .map(|axis| crate::price::planned::axis_name(domain, *axis).to_owned())
                    .collect(),
                cells: one.cells,
                deviation,
                worst_deviation: one.worst_variance.sqrt(),
                expected_error: deviation * MEAN_DISTANCE,
                half_width: one.worst_variance.sqrt() * half_width,
            }
        })
        .collect();
    let cells: u64 = tables.iter().map(|table| table.cells).sum();
    let squares: f64 = predicted
        .iter()
        .map(|one| one.mean_variance * one.cells as f64)
        .sum();
    let shares = plan.plan.shares();
    let levels = domain.attributes().iter().map(|attribute| {
        let names = attribute.levels().iter().map(|level| level.name().to_owned());
        names.collect()
    });
    Ok(ReleaseExplanation {
        release: plan.declared.release.name.clone(),
        table: plan.declared.release.table.clone(),
        condition: plan.declared.release.condition.clone(),
        unit: catalog.unit.whose.clone(),
        rows_per_unit: plan.declared.tabulation.rows,
        objective: match plan.declared.release.objective {
            Objective::Sum => "sum",
            Objective::Worst => "worst",
        },
        epsilon: match guarantee.promise() {
            Promise::Pure(epsilon) | Promise::Approximate(epsilon, _) => Some(epsilon.clone()),
            Promise::Concentrated(_) => None,
        },
        delta: plan.delta.clone(),
        agree: agree || predicted.len() == 1,
        guarantee,
        cells,
        root_mean_squared_error: (squares / cells.max(1) as f64).sqrt(),
        root_mean_squared_error_one_by_one: plan.deviation_one_by_one(),
        shares: shares
            .iter()
            .map(|share| ResidualShare {
                measured: plan.name_of(&share.residual),
                share: share.share,
            })
            .collect(),
        memory: plan.plan.memory(),
        levels: levels.collect(),
        tables,
    })
}

impl ReleaseExplanation {
    /// As people read it; `all`: with every table and every part of the cost.
    pub fn to_text(&self, all: bool) -> String {
        let mut text = String::new();
        let condition = self.condition.as_deref();
        let condition = condition.map_or(String::new(), |condition| format!(" WHERE {condition}"));
        let _ = writeln!(
            text,
            "release {}: {} tables of {}{condition}, {} cells, from one charge\ncost: {}",
            self.release,
            grouped(self.tables.len() as u64),
            self.table,
            grouped(self.cells),
            readable(&self.guarantee),
        );
        let rows = self.rows_per_unit;
        let _ = match rows {
            1 => writeln!(text, "each {} counts with one row", self.unit),
            rows => writeln!(
                text,
                "each {} counts with at most {rows} rows in all cells together, drawn at random",
                self.unit
            ),
        };
        text.push('\n');
        text += &self.table_of_errors(all);
        let _ = writeln!(
            text,
            "\nroot mean squared error of all cells: {}",
            significant(self.root_mean_squared_error, 4)
        );
        if !self.agree {
            text += "without a δ each table has noise of its own, and their totals do not agree: say delta = 1e-9\n";
        }
        if let Some(alone) = self.root_mean_squared_error_one_by_one {
            let _ = writeln!(
                text,
                "asked one by one for equal parts of the cost: {}, {} times as much, and totals would not agree",
                significant(alone, 4),
                significant(alone / self.root_mean_squared_error, 3)
            );
        }
        text += &self.where_it_goes(all);
        text
    }

    /// The expected errors of tables by one attribute, on the diagonal, and by two; of so many attributes and levels at most.
    pub fn heat_map(&self, most: usize) -> HeatMap {
        let names: Vec<&String> = self.levels.iter().flatten().take(most).collect();
        let mut errors = BTreeMap::new();
        for table in &self.tables {
            let pair = match table.by.as_slice() {
                [one] => (one, one),
                [one, other] => (one.min(other), one.max(other)),
                _ => continue,
            };
            errors.insert(pair, table.expected_error);
        }
        let error = |one: &String, other: &String| errors.get(&(one.min(other), one.max(other))).copied();
        let values = names
            .iter()
            .flat_map(|row| names.iter().map(move |column| error(row, column)));
        let values = values.collect();
        let names: Vec<String> = names.into_iter().cloned().collect();
        HeatMap::new(
            "Expected error of a cell, of tables by one attribute and by two",
            names.clone(),
            names,
            values,
        )
    }

    fn table_of_errors(&self, all: bool) -> String {
        let mut table = Table::new([
            Column::Left("table"),
            Column::Right("cells"),
            Column::Right("expected error"),
            Column::Right("± (95 %)"),
        ]);
        let most = if all { usize::MAX } else { MOST_SHOWN };
        for one in self.tables.iter().take(most) {
            table.row([
                one.name.clone(),
                grouped(one.cells),
                significant(one.expected_error, 3),
                significant(one.half_width, 3),
            ]);
        }
        let mut text = table.to_string();
        if let Some(more) = self.tables.len().checked_sub(most).filter(|more| *more > 0) {
            let _ = writeln!(text, "… and {more} more: --all lists them");
        }
        text
    }

    fn where_it_goes(&self, all: bool) -> String {
        let mut text = String::from("\nwhere the budget goes:\n");
        let most = if all { usize::MAX } else { MOST_SHARES };
        for one in self.shares.iter().take(most) {
            let _ = writeln!(text, "  {:>7}  {}", report::percent(one.share), one.measured);
        }
        let rest: f64 = self.shares.iter().skip(most).map(|one| one.share).sum();
        if self.shares.len() > most {
            let more = self.shares.len() - most;
            let _ = writeln!(
                text,
                "  {:>7}  {more} others: --all lists them",
                report::percent(rest)
            );
        }
        text
    }
}
