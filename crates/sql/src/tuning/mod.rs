//! Finding limits privately: how many rows, groups and how large sums of one unit should count, and which bounds values have.
//!
//! Everything is read from histograms of units: how many units have this many rows, this many groups, so large a sum. Buckets grow geometrically, so few of them reach
//! far, and each histogram says at once, for every limit, how much it would cut.
//!
//! # Privacy
//! Claim: the histograms together cost the ε that is asked for, and what is made of them costs nothing.
//! Proof: each is an ordinary question, `SELECT bucket, COUNT(*) … GROUP BY bucket` over a subquery with one row a unit, so a unit is in one bucket of each, and its
//! sensitivity follows as that of any question. They are parts of one query, charged once before any row is read. Choosing limits is post-processing.

mod choice;
mod edit;
mod identifiers;
mod object;
mod spread;

pub use edit::{with_limits, without_found_bounds};

use crate::catalog::{Catalog, Limits, Owner, Table};
use crate::dataset::blocking::{Dataset, Stage};
use crate::dataset::largest_fitting;
use crate::price::cut::left_for_the_answer;
use crate::price::question::QueryRequest;
use crate::understand::aggregation::Selection;
use crate::understand::groupings::counted_by;
use crate::understand::unstated::Unstated;
use crate::values::facts::{Facts, Kind, Range};
use crate::{Answer, Error};
use accounting::{Delta, Epsilon, smallest_multiplier};
use choice::{Histogram, Noise, Tail};
use exact::{ratio, to_f64_nearest};
use std::collections::BTreeMap;

/// Which limits are to be found, and for how much.
#[derive(Clone, Debug)]
pub struct FindLimits {
    /// Of this table.
    pub table: String,
    /// What it may cost.
    pub epsilon: Epsilon,
    /// For queries that group by one of these columns or expressions of columns, such as `date_trunc('month', day)`; where none is named, columns with declared `values`.
    pub group_by: Vec<String>,
    /// Who asks.
    pub analyst: String,
}

/// Limits that were found.
#[derive(Clone, Debug)]
pub struct FoundLimits {
    /// Of this table.
    pub table: String,
    /// The limits.
    pub limits: Limits,
    /// Bounds of columns that had none.
    pub bounds: BTreeMap<String, Range>,
    /// What was seen, for people.
    pub profiles: Vec<Profile>,
    /// Columns without limits of their own, and why.
    pub left_out: Vec<Untuned>,
    /// The ε of a question for which the limits err least.
    pub question_epsilon: f64,
    /// What it cost.
    pub answer: Answer,
    /// Whether this was found before, so that it cost nothing now.
    pub repeated: bool,
}

/// What one histogram said.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Profile {
    /// Of what.
    pub of: String,
    /// The limit that was chosen.
    pub limit: f64,
    /// This many units are over it: an interval of 95 % that follows from the distribution of the noise.
    pub units_over: Between,
    /// This part of everything is cut by it; absent of bounds. What 95 % of the curves say that agree with what was seen, by their likelihood: no proof.
    pub cut: Option<Between>,
}

/// An estimate between two ends.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Between {
    /// The likeliest.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A column for which nothing was found, or looked for.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Untuned {
    /// The column.
    pub column: String,
    /// Why, for people.
    pub why: String,
}

/// One histogram.
#[derive(Clone, Debug, PartialEq)]
enum UnitQuantity {
    /// Rows of a unit.
    Rows,
    /// A unit's sum of a column.
    Sum(String),
    /// Groups of a unit.
    Groups(String),
    /// Rows of a unit in the group in which it has most.
    RowsInGroup(String),
    /// The largest value of a unit.
    Largest(String),
    /// The smallest value of a unit, with its sign changed.
    Smallest(String),
}

/// Limits of counts are looked for up to here.
const MOST_ROWS: f64 = (1u64 << 20) as f64;

impl UnitQuantity {
    /// Its part of the budget. How many rows units have is seen best, and tells how the others' tails fall.
    fn weight(&self) -> u64 {
        match self {
            Self::Rows => 12,
            Self::RowsInGroup(_) => 3,
            _ => 2,
        }
    }

    /// The ends of its buckets: a unit is in the first whose end is not below its number.
    fn edges(&self, table: &Table) -> Vec<f64> {
        let geometric = |first: f64, last: f64| {
            let octaves = (0..60).map(|octave| first * 2f64.powi(octave));
            let edges = octaves.flat_map(|start| (8..16).map(move |eighth| start * f64::from(eighth) / 8.0));
            edges.take_while(|edge| *edge <= last).collect::<Vec<f64>>()
        };
        match self {
            Self::Rows | Self::Groups(_) | Self::RowsInGroup(_) => {
                let mut edges: Vec<f64> = (1..8).map(f64::from).collect();
                edges.extend(geometric(8.0, MOST_ROWS));
                edges
            }
            Self::Sum(column) => {
                let high = range_of(table, column).map_or(1.0, |range| range.high);
                geometric(high / 8.0, high * f64::from(1 << 14))
            }
            Self::Largest(_) | Self::Smallest(_) => {
                let powers = || (-10..=40).map(|power| 2f64.powi(power));
                let below = powers().rev().map(|edge| -edge);
                below.chain([0.0]).chain(powers()).collect()
            }
        }
    }

    /// Whether it is always a whole number.
    fn is_whole(&self, table: &Table) -> bool {
        match self {
            Self::Rows | Self::Groups(_) | Self::RowsInGroup(_) => true,
            Self::Sum(column) | Self::Largest(column) | Self::Smallest(column) => {
                table.column(column).is_some_and(|facts| facts.kind == Kind::Int)
            }
        }
    }

    /// One row a unit, with the number that is put into buckets as `v`.
    fn per_unit(&self, (name, table): (&str, &Table), unit: &str) -> String {
        let (named, unit) = (quoted(name), quoted(unit));
        let of_rows = |value: String| format!("SELECT {unit}, {value} AS v FROM {named} GROUP BY {unit}");
        let of_groups = |value: &str, grouping: &str| {
            let grouping = match table.column(grouping) {
                Some(_) => quoted(grouping),
                None => format!("({grouping})"),
            };
            format!(
                "SELECT {unit}, {value} AS v FROM (SELECT {unit}, {grouping} AS grouped, COUNT(*) AS r FROM {named} GROUP BY {unit}, {grouping}) AS g GROUP BY {unit}"
            )
        };
        match self {
            Self::Rows => of_rows("COUNT(*)".to_owned()),
            Self::Sum(column) => of_rows(format!("SUM({})", quoted(column))),
            Self::Groups(column) => of_groups("COUNT(*)", column),
            Self::RowsInGroup(column) => of_groups("MAX(r)", column),
            Self::Largest(column) => of_rows(format!("MAX({})", quoted(column))),
            Self::Smallest(column) => of_rows(format!("-MIN({})", quoted(column))),
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Rows => "rows".to_owned(),
            Self::Sum(column) => format!("sum of {column}"),
            Self::Groups(column) => format!("groups by {column}"),
            Self::RowsInGroup(column) => format!("rows in one group by {column}"),
            Self::Largest(column) => format!("largest {column}"),
            Self::Smallest(column) => format!("smallest {column}, with its sign changed"),
        }
    }
}

fn range_of(table: &Table, column: &str) -> Option<Range> {
    table.column(column).and_then(|facts| facts.range)
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The histograms that are asked for, and the query that asks for all of them.
struct Planned {
    table: String,
    asked: Vec<UnitQuantity>,
    left_out: Vec<Untuned>,
    sql: String,
}

impl Planned {
    fn new(find: &FindLimits, catalog: &Catalog) -> Result<Self, Error> {
        let name = find.table.to_lowercase();
        let whose = &catalog.unit.whose;
        let table = catalog.table(&name).ok_or_else(|| {
            Error::refused(
                format!("the catalog declares no table `{}`", find.table),
                format!(
                    "it declares {}",
                    catalog.tables.keys().cloned().collect::<Vec<_>>().join(", ")
                ),
            )
        })?;
        let unit = match &table.owner {
            Owner::Column(unit) if table.rows_per_unit != Some(1) => unit,
            Owner::Public => {
                return Err(Error::refused(
                    format!("`{name}` is public: nobody's part in it is limited"),
                    "name a private table",
                ));
            }
            Owner::Through { .. } => {
                return Err(Error::refused(
                    format!(
                        "rows of `{name}` lead to their {whose} through another table, and limits are found where a column names the {whose}"
                    ),
                    "add that column to the table, or state limits yourself",
                ));
            }
            _ => {
                return Err(Error::refused(
                    format!("in `{name}` each {whose} has one row, so there are no limits to find"),
                    "name a table in which one may have several",
                ));
            }
        };
        let named = |grouping: &String| {
            let found = table
                .columns
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(grouping));
            let column = found.map(|(name, _)| name.clone());
            // An expression is understood with the query that it becomes a part of.
            let expression = grouping.contains(|letter: char| !letter.is_alphanumeric() && letter != '_');
            column.or_else(|| expression.then(|| grouping.trim().to_owned())).ok_or_else(|| {
                Error::refused(
                    format!("`{name}` has no column `{grouping}`"),
                    "name a column that the catalog declares, or an expression of columns: --group-by \"date_trunc('month', day)\"",
                )
            })
        };
        let groups: Vec<String> = if find.group_by.is_empty() {
            let grouping = |column: &str, facts: &Facts| {
                facts.values.is_some() && !facts.of_unit && !table.identifies(column)
            };
            let columns = table.columns.iter().filter(|(name, facts)| grouping(name, facts));
            columns.map(|(name, _)| name.clone()).collect()
        } else {
            find.group_by.iter().map(named).collect::<Result<_, Error>>()?
        };
        if groups.contains(unit) {
            return Err(Error::refused(
                format!(
                    "`{unit}` tells whose rows those of `{name}` are, and no answer has a group for each {whose}"
                ),
                "name columns that questions group by",
            ));
        }
        let mut asked = vec![UnitQuantity::Rows];
        let mut left_out = Vec::new();
        for (column, facts) in &table.columns {
            if column == unit || groups.contains(column) {
                continue;
            }
            if let Some(why) = identifiers::why_none(catalog, table, column) {
                left_out.push(Untuned {
                    column: column.clone(),
                    why,
                });
                continue;
            }
            let number = matches!(facts.kind, Kind::Int | Kind::Float);
            let why = match facts.range {
                _ if facts.of_unit => format!("all rows of one {whose} have the same value in it"),
                _ if facts.values.is_some() => "it has declared `values`; name it with --group-by if questions group by it".to_owned(),
                _ if !number => "it has no declared `values`; name it with --group-by if questions group by it".to_owned(),
                None => {
                    asked.extend([UnitQuantity::Largest(column.clone()), UnitQuantity::Smallest(column.clone())]);
                    continue;
                }
                Some(range) if range.low >= 0.0 && range.high > 0.0 => {
                    asked.push(UnitQuantity::Sum(column.clone()));
                    continue;
                }
                Some(_) => "its `bounds` reach below 0: what bounds a sum that may have either sign follows from the rows that count".to_owned(),
            };
            left_out.push(Untuned {
                column: column.clone(),
                why,
            });
        }
        for column in &groups {
            asked.extend([
                UnitQuantity::Groups(column.clone()),
                UnitQuantity::RowsInGroup(column.clone()),
            ]);
        }
        Self::of(name, unit, asked, left_out, (table, &find.epsilon))
    }

    /// What tells the limits for what one question groups by.
    fn for_question(of: &Unstated, epsilon: &Epsilon, catalog: &Catalog) -> Option<Result<Self, Error>> {
        let table = catalog.table(&of.table)?;
        let Owner::Column(unit) = &table.owner else {
            return None;
        };
        let mut asked = vec![UnitQuantity::Rows];
        asked.extend(of.sums.iter().cloned().map(UnitQuantity::Sum));
        if let Some(grouping) = &of.grouping {
            asked.extend([
                UnitQuantity::Groups(grouping.clone()),
                UnitQuantity::RowsInGroup(grouping.clone()),
            ]);
        }
        Some(Self::of(
            of.table.clone(),
            unit,
            asked,
            Vec::new(),
            (table, epsilon),
        ))
    }

    fn of(
        name: String,
        unit: &str,
        asked: Vec<UnitQuantity>,
        left_out: Vec<Untuned>,
        (table, total): (&Table, &Epsilon),
    ) -> Result<Self, Error> {
        let weights: u64 = asked.iter().map(UnitQuantity::weight).sum();
        let epsilon = |one: &UnitQuantity| {
            let part = ratio((one.weight() * 1000 / weights) as i64, 1000);
            Epsilon::rounded_down(&(total.as_rational() * part))
        };
        let sql = asked
            .iter()
            .enumerate()
            .map(|(place, one)| {
                let mut buckets = String::new();
                let edges = one.edges(table);
                for (bucket, edge) in edges.iter().enumerate() {
                    buckets += &format!(" WHEN v <= {edge} THEN {bucket}");
                }
                Ok(format!(
                    "SELECT {place} AS asked, b, n FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {}) b, COUNT(*) AS n FROM (SELECT {unit}, CASE{buckets} ELSE {} END AS b FROM ({}) AS per_unit) AS bucketed GROUP BY b) AS histogram{place}",
                    epsilon(one)?,
                    edges.len(),
                    one.per_unit((&name, table), unit),
                    unit = quoted(unit),
                ))
            })
            .collect::<Result<Vec<String>, Error>>()?
            .join(" UNION ALL ");
        Ok(Self {
            table: name,
            asked,
            left_out,
            sql,
        })
    }

    /// What is grouped by.
    fn groupings(&self) -> impl Iterator<Item = &String> {
        self.asked.iter().filter_map(|one| match one {
            UnitQuantity::Groups(grouping) => Some(grouping),
            _ => None,
        })
    }

    fn ask(&self, epsilon: &Epsilon, analyst: &str) -> QueryRequest {
        QueryRequest {
            epsilon: Some(epsilon.clone()),
            delta: Some(Delta::ZERO),
            purpose: Some(format!("limits of {}", self.table)),
            ..QueryRequest::new(self.sql.clone(), analyst)
        }
    }
}

impl Dataset {
    /// What finding limits would ask, for people, a histogram each; and the columns that would be left out. Spends nothing, reads no data.
    ///
    /// # Errors
    /// When there is no such table, or nothing to find in it.
    pub fn limits_asked(&self, find: &FindLimits) -> Result<(Vec<String>, Vec<Untuned>), Error> {
        let planned = Planned::new(find, self.catalog())?;
        self.explain_price(&planned.ask(&find.epsilon, &find.analyst), 1)?;
        self.numbers_of_groups(&planned)?;
        let words = planned.asked.iter().map(UnitQuantity::words).collect();
        Ok((words, planned.left_out))
    }

    /// Finds limits privately: charged like any question, and free when it was asked before.
    ///
    /// # Errors
    /// When it is refused or cannot be paid for, or when there are too few units to see anything.
    pub fn find_limits(&self, find: &FindLimits, watch: &mut dyn FnMut(Stage)) -> Result<FoundLimits, Error> {
        let catalog = self.catalog();
        let planned = Planned::new(find, catalog)?;
        let ask = planned.ask(&find.epsilon, &find.analyst);
        // Whatever can be refused is refused before the charge.
        self.explain_price(&ask, 1)?;
        self.numbers_of_groups(&planned)?;
        let answered = self
            .query_watched(&ask, watch)
            .map_err(|error| self.limits_over_budget(find, error))?;
        let question_epsilon = catalog.budget.query_epsilon.clone();
        let question_epsilon = question_epsilon.map_or(1.0, |epsilon| to_f64_nearest(epsilon.as_rational()));
        let Chosen {
            limits,
            bounds,
            profiles,
            unseen,
        } = self.chosen_from(&planned, &ask, &answered.answer, self.noise()?)?;
        let unseen = unseen.into_iter().map(|column| Untuned {
            column,
            why: format!(
                "there are too few {}s to see it at this ε; what was charged stays charged",
                catalog.unit.whose
            ),
        });
        Ok(FoundLimits {
            table: planned.table,
            limits,
            bounds,
            profiles,
            left_out: planned.left_out.into_iter().chain(unseen).collect(),
            question_epsilon,
            answer: answered.answer,
            repeated: answered.repeated,
        })
    }

    /// What the answer to a search says.
    fn chosen_from(
        &self,
        planned: &Planned,
        ask: &QueryRequest,
        answer: &Answer,
        noise: Noise,
    ) -> Result<Chosen, Error> {
        let explanation = self.explain_price(ask, 1)?;
        let parts = explanation.parts.iter();
        let deviations: Vec<f64> = parts.map(|part| part.statistics[0].deviation).collect();
        let table = &self.catalog().tables[&planned.table];
        let histograms = histograms(&planned.asked, table, answer, &deviations);
        let groups = self.numbers_of_groups(planned)?;
        chosen(&planned.asked, &histograms, (table, &groups), &noise)
    }

    /// The question that finds limits for what another question groups by.
    pub(crate) fn search_for(&self, of: &Unstated, epsilon: &Epsilon, analyst: &str) -> Option<QueryRequest> {
        let planned = Planned::for_question(of, epsilon, self.catalog())?.ok()?;
        Some(planned.ask(epsilon, analyst))
    }

    /// The limits that an answer to such a question tells, for a question with this ε of its own; none where too few units are seen.
    pub(crate) fn limits_told(
        &self,
        of: &Unstated,
        (epsilon, own): (&Epsilon, &Epsilon),
        answer: &Answer,
    ) -> Limits {
        let told = || {
            let planned = Planned::for_question(of, epsilon, self.catalog())?.ok()?;
            let ask = planned.ask(epsilon, "");
            let noise = self.noise_at(own).ok()?;
            let chosen = self.chosen_from(&planned, &ask, answer, noise).ok()?;
            match &of.grouping {
                None => Some(chosen.limits),
                Some(grouping) => chosen.limits.by.get(grouping).map(|by| Limits {
                    rows: by.rows.or(chosen.limits.rows),
                    ..by.clone()
                }),
            }
        };
        told().unwrap_or_default()
    }

    /// How many groups there are for each grouping, where that is public.
    fn numbers_of_groups(&self, planned: &Planned) -> Result<BTreeMap<String, f64>, Error> {
        let table = &self.catalog().tables[&planned.table];
        let mut numbers = BTreeMap::new();
        for grouping in planned.groupings() {
            let number = match table.column(grouping) {
                Some(facts) => possible_groups(facts),
                None => {
                    let counted = QueryRequest::new(counted_by(&planned.table, grouping), "");
                    match &self.read_question(&counted)?.split.aggregations[0]
                        .groups
                        .selection
                    {
                        Selection::Listed(groups) => Some(groups.len() as f64),
                        Selection::Threshold => None,
                    }
                }
            };
            numbers.extend(number.map(|number| (grouping.clone(), number)));
        }
        Ok(numbers)
    }

    /// The refusal in the words of whoever looks for limits: the query behind it is not theirs.
    fn limits_over_budget(&self, find: &FindLimits, error: Error) -> Error {
        let Error::OverBudget(mut over) = error else {
            return error;
        };
        over.fits = largest_fitting(|epsilon| {
            let cheaper = FindLimits {
                epsilon: epsilon.clone(),
                ..find.clone()
            };
            let planned = Planned::new(&cheaper, self.catalog());
            let ask = |planned: Planned| planned.ask(&cheaper.epsilon, &cheaper.analyst);
            planned.is_ok_and(|planned| self.would_fit(&ask(planned)).unwrap_or(false))
        });
        over.what = format!(
            "to find these limits costs {}, and you have ε = {} left",
            over.cost, over.left
        );
        over.hint = match &over.fits {
            Some(fits) => format!("--epsilon {fits} would fit, and sees less; nothing was charged"),
            None => "nothing of the kind fits any more, and nothing was charged: state limits in the catalog from what you know, or ask the curator".to_owned(),
        };
        Error::OverBudget(over)
    }

    /// The noise of a question that takes the catalog's defaults.
    fn noise(&self) -> Result<Noise, Error> {
        match &self.catalog().budget.query_epsilon {
            Some(epsilon) => self.noise_at(epsilon),
            None => self.noise_at(&Epsilon::parse("1")?),
        }
    }

    /// The noise of a question for this ε. Part of it goes to the estimate of what the limits cut.
    fn noise_at(&self, epsilon: &Epsilon) -> Result<Noise, Error> {
        let budget = &self.catalog().budget;
        let epsilon = Epsilon::rounded_down(&(epsilon.as_rational() * left_for_the_answer()))?;
        let gaussian = if budget.delta > Delta::ZERO && budget.query_delta > Delta::ZERO {
            Some(to_f64_nearest(&smallest_multiplier(
                &epsilon,
                &budget.query_delta,
            )?))
        } else {
            None
        };
        Ok(Noise {
            laplace: std::f64::consts::SQRT_2 / to_f64_nearest(epsilon.as_rational()),
            gaussian,
        })
    }
}

fn histograms(asked: &[UnitQuantity], table: &Table, answer: &Answer, deviations: &[f64]) -> Vec<Histogram> {
    let mut histograms: Vec<Histogram> = asked
        .iter()
        .zip(deviations)
        .map(|(one, deviation)| {
            let edges = one.edges(table);
            Histogram {
                counts: vec![0.0; edges.len() + 1],
                edges,
                deviation: *deviation,
                whole: one.is_whole(table),
            }
        })
        .collect();
    for row in &answer.rows {
        let [asked, bucket, units] = &row[..] else {
            continue;
        };
        let place = |cell: &crate::Cell| cell.value.as_i64().and_then(|place| usize::try_from(place).ok());
        if let (Some(asked), Some(bucket), Some(units)) = (place(asked), place(bucket), units.value.as_f64())
            && let Some(histogram) = histograms.get_mut(asked)
            && let Some(count) = histogram.counts.get_mut(bucket)
        {
            *count = units;
        }
    }
    histograms
}

/// What was chosen.
struct Chosen {
    limits: Limits,
    bounds: BTreeMap<String, Range>,
    profiles: Vec<Profile>,
    /// Columns of which nothing was seen above the noise.
    unseen: Vec<String>,
}

/// In how many groups rows can be that are grouped by this column, where that is public.
fn possible_groups(facts: &Facts) -> Option<f64> {
    let listed = match (&facts.values, facts.kind, facts.range) {
        (Some(values), _, _) => values.len() as f64,
        (None, Kind::Bool, _) => 2.0,
        (None, Kind::Int | Kind::Date, Some(range)) => range.high.floor() - range.low.ceil() + 1.0,
        _ => return None,
    };
    Some((listed + f64::from(u8::from(facts.nullable))).max(1.0))
}

fn chosen(
    asked: &[UnitQuantity],
    histograms: &[Histogram],
    (table, numbers_of_groups): (&Table, &BTreeMap<String, f64>),
    noise: &Noise,
) -> Result<Chosen, Error> {
    let mut tails: Vec<Option<Tail>> = histograms.iter().map(Tail::of).collect();
    let shape = asked
        .iter()
        .position(|one| *one == UnitQuantity::Rows)
        .and_then(|place| tails[place].clone());
    // What one row has of a column, where units have much.
    let mut a_row: BTreeMap<String, f64> = BTreeMap::new();
    for (one, found) in asked.iter().zip(&mut tails) {
        if let (UnitQuantity::Sum(column), Some(sums), Some(shape)) = (one, &found, &shape) {
            let (tail, scale) = spread::in_proportion(shape, sums);
            a_row.insert(column.clone(), scale);
            *found = Some(tail);
        }
    }
    let tail = |wanted: &UnitQuantity| {
        let place = asked.iter().position(|one| one == wanted);
        place.and_then(|place| tails[place].as_ref())
    };
    let rows = tail(&UnitQuantity::Rows).ok_or_else(|| {
        Error::refused(
            "there are too few units to see how many rows they have",
            "what was charged stays charged; allow more with --epsilon, or state limits yourself",
        )
    })?;
    let mut limits = Limits::default();
    let mut bounds = BTreeMap::new();
    let mut profiles = Vec::new();
    let mut unseen = Vec::new();
    for (one, found) in asked.iter().zip(&tails) {
        let Some(found) = found else {
            match one {
                UnitQuantity::Sum(column) | UnitQuantity::Groups(column) | UnitQuantity::Largest(column) => {
                    unseen.push(column.clone());
                }
                UnitQuantity::Rows | UnitQuantity::RowsInGroup(_) | UnitQuantity::Smallest(_) => {}
            }
            continue;
        };
        match one {
            UnitQuantity::Rows => {
                let limit = found.best_limit(true, noise);
                limits.rows = Some(limit as u64);
                profiles.push(found.profile(one.words(), limit, true));
            }
            UnitQuantity::Sum(column) => {
                let whole = one.is_whole(table);
                let limit = rounded(found.best_limit(whole, noise), whole);
                limits
                    .sums
                    .extend(Range::new(0.0, limit).map(|range| (column.clone(), range)));
                profiles.push(found.profile(one.words(), limit, true));
            }
            UnitQuantity::Groups(column) => {
                let Some(in_group) = tail(&UnitQuantity::RowsInGroup(column.clone())) else {
                    unseen.push(column.clone());
                    continue;
                };
                // Where it is not public how many groups there are, there are at least as many as one unit has.
                let groups = numbers_of_groups.get(column).copied().unwrap_or(found.largest);
                let found_limits = spread::best_limits(found, in_group, rows, groups, noise);
                let (per_unit, per_group) = (found_limits.groups, found_limits.in_group);
                let by = Limits {
                    groups: Some(per_unit as u64),
                    rows_per_group: Some(per_group as u64),
                    rows: found_limits.in_all.map(|rows| rows as u64),
                    ..Limits::default()
                };
                limits.groups = limits.groups.max(by.groups);
                limits.rows_per_group = limits.rows_per_group.max(by.rows_per_group);
                limits.by.insert(column.clone(), by);
                profiles.push(found.profile(one.words(), per_unit, true));
                profiles.push(in_group.profile(
                    UnitQuantity::RowsInGroup(column.clone()).words(),
                    per_group,
                    true,
                ));
            }
            UnitQuantity::RowsInGroup(_) | UnitQuantity::Smallest(_) => {}
            UnitQuantity::Largest(column) => {
                let Some(smallest) = tail(&UnitQuantity::Smallest(column.clone())) else {
                    unseen.push(column.clone());
                    continue;
                };
                let (low, high) = ((-smallest.largest).min(found.largest), found.largest);
                let (low, high) = if one.is_whole(table) {
                    (low.floor(), high.ceil())
                } else {
                    (low, high)
                };
                bounds.extend(Range::new(low, high).map(|range| (column.clone(), range)));
                profiles.push(smallest.profile(UnitQuantity::Smallest(column.clone()).words(), -low, false));
                profiles.push(found.profile(one.words(), high, false));
            }
        }
    }
    // A group's sum follows from its rows. Where at most this many count, half a row more is between this number and the next.
    for (column, all) in &limits.sums {
        let Some(a_row) = a_row.get(column) else {
            continue;
        };
        let high = range_of(table, column).map_or(f64::INFINITY, |range| range.high);
        let whole = table.column(column).is_some_and(|facts| facts.kind == Kind::Int);
        for by in limits.by.values_mut() {
            let rows = by.rows_per_group.unwrap_or(1) as f64;
            let limit = ((rows + 0.5) * a_row).min(rows * high).min(all.high);
            by.sums
                .extend(Range::new(0.0, rounded(limit, whole)).map(|range| (column.clone(), range)));
        }
    }
    Ok(Chosen {
        limits,
        bounds,
        profiles,
        unseen,
    })
}

/// To three digits, upwards: nobody needs more, and a file reads better.
fn rounded(limit: f64, whole: bool) -> f64 {
    let step = 10f64.powf(limit.log10().floor() - 2.0);
    let rounded = (limit / step).ceil() * step;
    // A power below one is not a decimal; what is printed shall be.
    let shown = if step >= 1.0 || whole {
        rounded.ceil()
    } else {
        (rounded * 1e6).ceil() / 1e6
    };
    if shown > 0.0 { shown } else { limit }
}

#[cfg(test)]
mod tests;
