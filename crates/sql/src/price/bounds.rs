//! What bounds one unit's part in each column of an answer, in words and as data. It follows from the query and the catalog alone.

use crate::price::question::Question;
use crate::understand::aggregation::{Aggregation, Measure, Output, Statistic, UNLIMITED, in_all};
use crate::understand::frontier::{RELEASED, column_name};
use crate::values::facts::Kind;
use crate::values::scalar::calendar::{day_as_text, moment_as_text};
use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What the intervals of an output include of what its limits cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Included {
    /// Of units with at most this many times what counts.
    pub(crate) times: u64,
    /// Whether that rests on groups losing about the same part.
    pub(crate) alike: bool,
    /// Whether what clamps of single values cut is included too.
    pub(crate) values: bool,
}

/// All that bounds one unit's part in a column of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnBounds {
    /// The column.
    pub column: String,
    /// Whose part is bounded.
    pub unit: String,
    /// Rows of one unit that count in a group; absent where rows are not limited by number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_per_unit: Option<u64>,
    /// Groups in which one unit counts; absent where all of a unit's rows are in one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups_per_unit: Option<u64>,
    /// Rows of one unit that count in all groups together; a unit with more is scaled down. Absent where its groups alone limit them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_in_all_groups: Option<u64>,
    /// What one unit's sum in all groups together is scaled down to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sums_in_all_groups: Vec<Clamp>,
    /// Different values of one unit that count in a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct_per_unit: Option<u64>,
    /// What values are clamped to, one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clamps: Vec<Clamp>,
    /// What one unit's sum in a group is clamped to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unit_sums: Vec<Clamp>,
    /// What of a unit is left out before anything is counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// What the intervals of this column are about.
    pub interval_of: IntervalOf,
    /// The intervals rely on this: no unit has more than this many times what the limits let count. Absent where they rely on nothing of the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_within_times: Option<u64>,
    /// The intervals rely on groups losing about the same part to the limits.
    #[serde(default, skip_serializing_if = "is_false")]
    pub interval_if_alike: bool,
    /// All of this in words.
    pub words: String,
}

fn is_false(truth: &bool) -> bool {
    !truth
}

/// A range to which numbers are clamped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clamp {
    /// Which numbers.
    pub of: String,
    /// Smaller ones count as this.
    pub low: f64,
    /// Larger ones count as this.
    pub high: f64,
}

/// What an interval holds with the stated confidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntervalOf {
    /// The truth of the data as it is.
    WholeData,
    /// The truth of all rows in all groups, each value clamped as it is said.
    AllRows,
    /// The truth of the data within these bounds: what they cut is not in it.
    BoundedData,
}

/// What sets of groups that are planned together leave out.
const IN_NO_CELL: &str = "rows with a key whose value is not declared count in no set of groups, so that totals are the sums of their parts";

/// The bounds of each column that a query shows and that comes from private statistics.
///
/// `included` says, for each aggregation and output, what its intervals include of what was cut.
pub(crate) fn bounds(
    question: &Question,
    whose: &str,
    included: &[Vec<Option<Included>>],
) -> Vec<ColumnBounds> {
    let post = &question.split.post;
    let names = post.schema().fields().iter().map(|field| field.name().clone());
    let shown = crate::understand::dialect::as_written(names.collect())
        .into_iter()
        .enumerate();
    shown
        .filter_map(|(place, name)| {
            let sources = sources(post, place);
            let mut reported = ColumnBounds {
                column: name,
                unit: whose.to_owned(),
                rows_per_unit: None,
                groups_per_unit: None,
                rows_in_all_groups: None,
                sums_in_all_groups: Vec::new(),
                distinct_per_unit: None,
                clamps: Vec::new(),
                unit_sums: Vec::new(),
                left_out: Vec::new(),
                interval_of: IntervalOf::BoundedData,
                interval_within_times: None,
                interval_if_alike: false,
                words: String::new(),
            };
            let mut private = false;
            let mut all_rows = true;
            let mut all_values = true;
            let mut alike = false;
            let mut times: Option<u64> = None;
            for (part, column) in sources {
                let Some(aggregation) = question.split.aggregations.get(part) else {
                    continue;
                };
                let Some(output) = column.checked_sub(aggregation.keys.len()) else {
                    continue;
                };
                private = true;
                let within = included.get(part).and_then(|outputs| outputs.get(output));
                let within = within.copied().flatten();
                all_rows &= within.is_some();
                all_values &= within.is_some_and(|within| within.values);
                alike |= within.is_some_and(|within| within.alike);
                times = times.into_iter().chain(within.map(|within| within.times)).min();
                add(aggregation, output, &mut reported);
            }
            if question.together.is_some() && private {
                reported.left_out.push(IN_NO_CELL.to_owned());
            }
            let no_limits = reported.rows_per_unit.is_none()
                && reported.groups_per_unit.is_none()
                && reported.rows_in_all_groups.is_none()
                && reported.sums_in_all_groups.is_empty()
                && reported.distinct_per_unit.is_none()
                && reported.unit_sums.is_empty();
            reported.interval_of = match reported.clamps.is_empty() {
                _ if !reported.left_out.is_empty() => IntervalOf::BoundedData,
                true if no_limits || all_rows => IntervalOf::WholeData,
                false if all_values => IntervalOf::WholeData,
                false if no_limits || all_rows => IntervalOf::AllRows,
                _ => IntervalOf::BoundedData,
            };
            if !no_limits && reported.interval_of != IntervalOf::BoundedData {
                reported.interval_within_times = times;
                reported.interval_if_alike = alike;
            }
            reported.words = words(&reported);
            private.then_some(reported)
        })
        .collect()
}

/// Adds what bounds one output of an aggregation.
fn add(aggregation: &Aggregation, output: usize, reported: &mut ColumnBounds) {
    let least = |one: Option<u64>, other: u64| Some(one.map_or(other, |one| one.min(other)));
    let groups = &aggregation.groups;
    if groups.sampled {
        reported.groups_per_unit = least(reported.groups_per_unit, groups.per_unit);
    }
    for what in &aggregation.rows.left_out {
        if !reported.left_out.contains(what) {
            reported.left_out.push(what.clone());
        }
    }
    // A unit with one row in a group has no other there that could be cut.
    let many = aggregation.rows_in_group != Some(1);
    let mut output = aggregation.outputs[output].clone();
    // Dates are measured as numbers, which say nothing to people.
    let date: Option<fn(i64) -> String> = match &output {
        Output::Quantile { kind: Kind::Date, .. } => Some(day_as_text),
        Output::Quantile {
            kind: Kind::Timestamp,
            ..
        } => Some(moment_as_text),
        _ => None,
    };
    for place in output.uses() {
        let statistic = &aggregation.statistics[*place];
        if let Some((finer, most)) = in_all::of_itself(statistic) {
            let most = (most >> finer) as f64 * statistic.steps.size() * 2f64.powi(finer as i32);
            once(
                &mut reported.sums_in_all_groups,
                Clamp {
                    of: subject(statistic).to_owned(),
                    low: if statistic.low < 0 { -most } else { 0.0 },
                    high: if statistic.high > 0 { most } else { 0.0 },
                },
            );
        } else if let (Some(rows), Some(_)) = (aggregation.in_all, statistic.in_all) {
            reported.rows_in_all_groups = least(reported.rows_in_all_groups, rows.most);
        }
        let clamp = |low: i64, high: i64, size: f64| Clamp {
            of: subject(statistic).to_owned(),
            low: low as f64 * size,
            high: high as f64 * size,
        };
        match &statistic.measure {
            Measure::Rows { most } | Measure::Present { most, .. } | Measure::Histogram { most, .. }
                if many =>
            {
                reported.rows_per_unit = least(reported.rows_per_unit, *most);
            }
            Measure::Sum { argument, low, high } => {
                let size = argument.steps.size();
                if argument.low > -UNLIMITED || argument.high < UNLIMITED {
                    once(
                        &mut reported.clamps,
                        clamp(argument.low, argument.high, argument.steps.size()),
                    );
                }
                if many {
                    once(&mut reported.unit_sums, clamp(*low, *high, size));
                }
            }
            // Squares are an inner matter of variances.
            Measure::Mean { argument, most } => {
                if !statistic.name.contains("squares of") {
                    once(
                        &mut reported.clamps,
                        clamp(argument.low, argument.high, argument.steps.size()),
                    );
                }
                if many {
                    reported.rows_per_unit = least(reported.rows_per_unit, *most);
                }
            }
            Measure::Tree { range, most, .. } => {
                let of = subject(statistic).to_owned();
                match date {
                    Some(text) => {
                        let (low, high) = (text(range.low as i64), text(range.high as i64));
                        let clamped = format!("{of} is clamped to {low}..{high}");
                        if !reported.left_out.contains(&clamped) {
                            reported.left_out.push(clamped);
                        }
                    }
                    None => once(
                        &mut reported.clamps,
                        Clamp {
                            of,
                            low: range.low,
                            high: range.high,
                        },
                    ),
                }
                if many {
                    reported.rows_per_unit = least(reported.rows_per_unit, *most);
                }
            }
            Measure::Distinct { most, .. } if many => {
                reported.distinct_per_unit = least(reported.distinct_per_unit, *most);
            }
            _ => {}
        }
    }
}

fn once(clamps: &mut Vec<Clamp>, clamp: Clamp) {
    if !clamps.contains(&clamp) {
        clamps.push(clamp);
    }
}

/// What a statistic is about, from its name for people: `sum of minutes` is about `minutes`.
fn subject(statistic: &Statistic) -> &str {
    let starts = [
        "sum of ",
        "deviations of ",
        "ranks of ",
        "rows with ",
        "distinct ",
    ];
    let name = statistic.name.as_str();
    let found = starts.iter().find_map(|start| name.strip_prefix(start));
    found.unwrap_or(name)
}

/// One sentence.
fn words(reported: &ColumnBounds) -> String {
    let unit = &reported.unit;
    let mut counts = Vec::new();
    if let Some(rows) = reported.rows_per_unit {
        counts.push(format!("with at most {rows} row{}", plural(rows)));
    }
    if let Some(values) = reported.distinct_per_unit {
        counts.push(format!("with at most {values} different value{}", plural(values)));
    }
    if let Some(groups) = reported.groups_per_unit {
        counts.push(format!("in at most {groups} group{}", plural(groups)));
    }
    if let Some(rows) = reported.rows_in_all_groups {
        counts.push(format!(
            "with at most {rows} row{} in all groups together, scaled down if there are more",
            plural(rows)
        ));
    }
    let mut parts = Vec::new();
    if !counts.is_empty() {
        parts.push(format!("each {unit} counts {}", counts.join(" and ")));
    }
    for clamp in &reported.clamps {
        parts.push(format!(
            "{} is clamped to {}..{}",
            clamp.of, clamp.low, clamp.high
        ));
    }
    for clamp in &reported.unit_sums {
        parts.push(format!(
            "a {unit}'s sum of {} to {}..{}",
            clamp.of, clamp.low, clamp.high
        ));
    }
    for clamp in &reported.sums_in_all_groups {
        parts.push(format!(
            "a {unit}'s sum of {} in all groups together is scaled down to {}..{}",
            clamp.of, clamp.low, clamp.high
        ));
    }
    parts.extend(reported.left_out.iter().cloned());
    if parts.is_empty() {
        return format!("nothing of any {unit} is cut");
    }
    parts.join("; ")
}

fn plural(number: u64) -> &'static str {
    if number == 1 { "" } else { "s" }
}

/// The released columns that a column of the rest of the query is made of: (aggregation, column). Where an operator is not known, all of them.
fn sources(plan: &LogicalPlan, place: usize) -> BTreeSet<(usize, usize)> {
    let of_exprs = |exprs: &[Expr]| -> BTreeSet<(usize, usize)> {
        let mut found = BTreeSet::new();
        for expr in exprs {
            for column in expr.column_refs() {
                found.extend(of_column(plan, column));
            }
        }
        found
    };
    match plan {
        LogicalPlan::TableScan(scan) => {
            let part = scan.table_name.table().strip_prefix(RELEASED);
            let field = plan.schema().field(place).name();
            let column = (0..plan.schema().fields().len()).find(|at| column_name(*at) == *field);
            part.and_then(|part| part.parse().ok())
                .zip(column)
                .into_iter()
                .collect()
        }
        LogicalPlan::Projection(projection) => of_exprs(&projection.expr[place..=place]),
        LogicalPlan::Aggregate(aggregate) => {
            let exprs: Vec<Expr> = aggregate
                .group_expr
                .iter()
                .chain(&aggregate.aggr_expr)
                .cloned()
                .collect();
            exprs.get(place).map_or_else(BTreeSet::new, |expr| {
                let named = of_exprs(std::slice::from_ref(expr));
                // COUNT(*) over released rows names no column, but counts what all of them decide.
                if named.is_empty() {
                    everything(&aggregate.input)
                } else {
                    named
                }
            })
        }
        LogicalPlan::Union(union) => union
            .inputs
            .iter()
            .flat_map(|input| sources(input, place))
            .collect(),
        LogicalPlan::Filter(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Subquery(_) => sources(plan.inputs()[0], place),
        other => {
            let (qualifier, field) = other.schema().qualified_field(place);
            let found = of_column(other, &Column::new(qualifier.cloned(), field.name().clone()));
            if found.is_empty() {
                everything(other)
            } else {
                found
            }
        }
    }
}

/// What a column of one of the inputs is made of.
fn of_column(plan: &LogicalPlan, column: &Column) -> BTreeSet<(usize, usize)> {
    for input in plan.inputs() {
        if let Some(place) = input.schema().maybe_index_of_column(column) {
            return sources(input, place);
        }
    }
    BTreeSet::new()
}

/// The columns of the answer that show an output as it is: their names, each with the aggregation and the place among its outputs.
pub(crate) fn shown_outputs(question: &Question) -> Vec<(String, (usize, usize))> {
    let post = &question.split.post;
    let names = post.schema().fields().iter().map(|field| field.name().clone());
    let shown = crate::understand::dialect::as_written(names.collect())
        .into_iter()
        .enumerate();
    shown
        .filter_map(|(place, name)| {
            let (part, column) = untouched(post, place)?;
            let keys = question.split.aggregations.get(part)?.keys.len();
            Some((name, (part, column.checked_sub(keys)?)))
        })
        .collect()
}

/// The released column that this column is, where nothing is computed with it.
fn untouched(plan: &LogicalPlan, place: usize) -> Option<(usize, usize)> {
    match plan {
        LogicalPlan::TableScan(_) => sources(plan, place).pop_first(),
        LogicalPlan::Projection(projection) => {
            let mut expr = projection.expr.get(place)?;
            while let Expr::Alias(alias) = expr {
                expr = &alias.expr;
            }
            let Expr::Column(column) = expr else { return None };
            let place = projection.input.schema().maybe_index_of_column(column)?;
            untouched(&projection.input, place)
        }
        LogicalPlan::Filter(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::SubqueryAlias(_) => untouched(plan.inputs()[0], place),
        _ => None,
    }
}

/// Every released column below.
fn everything(plan: &LogicalPlan) -> BTreeSet<(usize, usize)> {
    if matches!(plan, LogicalPlan::TableScan(_)) {
        return (0..plan.schema().fields().len())
            .flat_map(|place| sources(plan, place))
            .collect();
    }
    plan.inputs().into_iter().flat_map(everything).collect()
}
