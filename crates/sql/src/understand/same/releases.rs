//! What an aggregation releases.

use super::rows::{Relation, mark, table_mark};
use super::{Mark, Parts};
use crate::catalog::Catalog;
use crate::understand::aggregation::{Aggregation, Argument, Measure, Selection, Statistic};
use crate::understand::relation::table_of;
use accounting::{Delta, Epsilon};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::LogicalPlan;
use std::collections::BTreeSet;

/// What an aggregation releases, with the order of its keys and statistics in the query.
#[derive(Clone, Debug)]
pub(crate) struct Marks {
    /// The rows, and everything declared of the tables that they come from.
    rows: Mark,
    /// A mark for each key, in the order of the query.
    pub(crate) keys: Vec<Mark>,
    /// A mark for each statistic, in the order of the query.
    pub(crate) statistics: Vec<Mark>,
}

impl Marks {
    /// Of an aggregation over the rows of this plan, as it was written.
    pub(crate) fn of(
        aggregation: &Aggregation,
        rows: &LogicalPlan,
        catalog: &Catalog,
    ) -> Result<Self, DataFusionError> {
        let relation = Relation::of(rows, catalog)?;
        let mut keys = Vec::new();
        for key in &aggregation.keys {
            let listed = match aggregation.groups.selection {
                Selection::Listed(_) => Some((key.enumerable(), key.facts.nullable)),
                Selection::Threshold => None,
            };
            let value = mark(&key.expr, &relation, catalog)?;
            keys.push(Parts::of("key").mark(value).debug(listed).end());
        }
        let statistics = aggregation.statistics.iter();
        let statistics = statistics.map(|statistic| statistic_mark(statistic, &relation, catalog));
        // Also tables through which owners are reached.
        let mut tables = BTreeSet::new();
        aggregation.rows.plan.apply_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node
                && let Some((name, table)) = table_of(catalog, &scan.table_name)
            {
                tables.insert(table_mark(name, table, catalog));
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(Self {
            rows: Parts::of("private rows")
                .mark(relation.rows())
                .marks(tables)
                .debug((aggregation.rows.rows_per_unit, aggregation.rows.has_unit))
                .end(),
            keys,
            statistics: statistics.collect::<Result<_, _>>()?,
        })
    }

    /// Of the overview of what the limits of this aggregation cut. The names of its columns tell nothing apart, so it is known by what it is about.
    pub(crate) fn of_overview(&self, about: &Aggregation, overview: &Aggregation) -> Self {
        let whole = Parts::of("overview, format 2")
            .mark(self.rows)
            .marks(self.keys.iter().copied().collect::<BTreeSet<_>>())
            .marks(self.statistics.iter().copied().collect::<BTreeSet<_>>())
            .debug((about.groups.per_unit, about.groups.sampled));
        let whole = with_rows_in_all(whole, about).end();
        let statistic = |(place, one): (usize, &Statistic)| {
            Parts::of("of an overview")
                .mark(whole)
                .debug((place, one.steps, one.low, one.high, one.weight))
                .end()
        };
        Self {
            rows: whole,
            keys: Vec::new(),
            statistics: overview.statistics.iter().enumerate().map(statistic).collect(),
        }
    }

    /// Whether both release the same, in the same order.
    pub(crate) fn same_in_order(&self, other: &Self) -> bool {
        self.rows == other.rows && self.keys == other.keys && self.statistics == other.statistics
    }

    /// Everything that decides what is released, and how precisely: for which ε and δ, by which noise.
    pub(crate) fn release(
        &self,
        aggregation: &Aggregation,
        epsilon: &Epsilon,
        delta: &Delta,
        noise: Option<&'static str>,
        catalog: &Catalog,
    ) -> Mark {
        let sorted = |marks: &[Mark]| {
            let mut marks = marks.to_vec();
            marks.sort();
            marks
        };
        let groups = &aggregation.groups;
        let parts = Parts::of("release, format 2")
            .debug(&catalog.unit)
            .mark(self.rows)
            .marks(sorted(&self.keys))
            .marks(sorted(&self.statistics))
            .debug((
                groups.selection == Selection::Threshold,
                groups.per_unit,
                groups.sampled,
            ))
            .debug(aggregation.options.min_privacy_units_per_group)
            .text(&epsilon.to_string())
            .text(&delta.to_string())
            .debug(noise);
        let parts = with_rows_in_all(parts, aggregation);
        // Earlier versions clamped what they summed inside a unit: what they released is not this.
        let parts = match aggregation.rows.sums_inside {
            true => parts.text("exact sums inside"),
            false => parts,
        };
        parts.end()
    }
}

/// Says how many rows of a unit count in all groups together, where that is bounded.
fn with_rows_in_all(parts: Parts, aggregation: &Aggregation) -> Parts {
    match aggregation.in_all {
        Some(rows) => parts.text("rows in all groups").debug((rows.most, rows.in_group)),
        None => parts,
    }
}

fn statistic_mark(
    statistic: &Statistic,
    rows: &Relation,
    catalog: &Catalog,
) -> Result<Mark, DataFusionError> {
    let argument = |argument: &Argument| -> Result<Mark, DataFusionError> {
        let Argument {
            value,
            kind,
            steps,
            low,
            high,
            centre,
        } = argument;
        Ok(Parts::of("argument")
            .mark(mark(value, rows, catalog)?)
            .debug((kind, steps, low, high, centre))
            .end())
    };
    let parts = match &statistic.measure {
        Measure::Units => Parts::of("units"),
        Measure::Rows { most } => Parts::of("rows").debug(most),
        Measure::Present { argument: of, most } => Parts::of("present").mark(argument(of)?).debug(most),
        Measure::Sum {
            argument: of,
            low,
            high,
        } => Parts::of("sum").mark(argument(of)?).debug((low, high)),
        Measure::Mean { argument: of, most } => Parts::of("mean").mark(argument(of)?).debug(most),
        Measure::Tree {
            value,
            kind,
            range,
            most,
        } => Parts::of("tree")
            .mark(mark(value, rows, catalog)?)
            .debug((kind, range, most)),
        Measure::Histogram { place, bins, most } => Parts::of("histogram")
            .mark(mark(place, rows, catalog)?)
            .debug((bins, most)),
        Measure::Distinct { value, most } => Parts::of("distinct")
            .mark(mark(value, rows, catalog)?)
            .debug(most),
        // Known by what it is about, and by its name.
        Measure::OfAllUnits => Parts::of("of all units").text(&statistic.name),
    };
    Ok(parts
        .debug((statistic.steps, statistic.low, statistic.high, statistic.weight))
        .end())
}
