//! What a query would do and cost, before it does anything.

use crate::catalog::{Catalog, Limits, Owner};
use crate::finish::estimate::{CONFIDENCE, expected_half_width, half_width};
use crate::price::Price;
use crate::price::bounds::{ColumnBounds, IntervalOf, bounds, shown_outputs};
use crate::price::cut::Cut;
use crate::price::question::Question;
use crate::run::engine::{BoundedPlans, bounded_plans, form};
use crate::run::engines::Engines;
use crate::run::exact::who_computes;
use crate::run::publics::Publics;
use crate::understand::aggregation::{Aggregation, Measure, Output, Selection, UNLIMITED};
use crate::understand::mistakes::readable;
use crate::{Error, Kind};
use accounting::{Delta, Epsilon, Guarantee};
use bound::{Form, Secret};
use exact::to_f64_nearest;
use serde::Serialize;

/// A query's plan, sensitivities, costs and errors.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// Whose privacy.
    pub unit: String,
    /// The private parts of the query.
    pub parts: Vec<Part>,
    /// What bounds one unit's part in each column of the answer.
    pub bounds: Vec<ColumnBounds>,
    /// What could be done better.
    pub hints: Vec<String>,
    /// Whether sets of groups share their noise, where the query asks for several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sets: Option<SetsLine>,
    /// What is done with the released results.
    pub after: String,
    /// What everything costs together.
    #[serde(serialize_with = "in_words")]
    pub guarantee: Guarantee,
    /// The number of rows in a group for which errors are reported.
    pub group_size: u64,
}

/// How the noise of several sets of groups was chosen: those of a ROLLUP, CUBE or GROUPING SETS.
#[derive(Clone, Debug, Serialize)]
pub struct SetsLine {
    /// Whether they share their noise, so that totals agree.
    pub together: bool,
    /// The expected error of a number if they do: the root of the mean of the variances of all sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_together: Option<f64>,
    /// The same with noise for each set by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_apart: Option<f64>,
    /// All of this in words.
    pub words: String,
}

/// One private GROUP BY.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// Where the rows come from, step by step, and who owns them.
    pub rows: Vec<String>,
    /// How one unit's part is bounded.
    pub bounding: String,
    /// Which groups there are.
    pub groups: String,
    /// What is released for each group.
    pub statistics: Vec<StatisticLine>,
    /// What the columns of the result will be.
    pub outputs: Vec<OutputLine>,
    /// ε of this part.
    pub epsilon: Epsilon,
    /// δ of this part.
    pub delta: Delta,
    /// The engine's plan.
    pub plan: String,
    /// Who computes the exact numbers; nothing where the catalog names no engine but this program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Whether it only estimates what another part's limits cut.
    pub estimates_cut: bool,
}

/// A released statistic.
#[derive(Clone, Debug, Serialize)]
pub struct StatisticLine {
    /// What it is.
    pub name: String,
    /// One unit adds at least this to a group.
    pub low: f64,
    /// One unit adds at most this to a group.
    pub high: f64,
    /// How far one unit moves all groups together, in ℓ₁.
    pub l1: f64,
    /// The same in ℓ₂.
    pub l2: f64,
    /// In how many groups.
    pub coordinates: u64,
    /// Laplace or Gaussian.
    pub noise: &'static str,
    /// The standard deviation of the noise.
    pub deviation: f64,
    /// The part of the budget that it gets.
    pub share: f64,
}

/// An output column.
#[derive(Clone, Debug, Serialize)]
pub struct OutputLine {
    /// Its name.
    pub name: String,
    /// The column of the answer that shows it as it is, as the query calls that column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown_as: Option<String>,
    /// The expected error, where it does not depend on the data.
    pub expected_error: Option<f64>,
    /// Half of the width of its 95 % interval.
    pub half_width: Option<f64>,
    /// What that interval is about, as the answer will say it unless it notices that the limits cut something.
    pub interval_of: IntervalOf,
    /// Where the answer estimates what the limits cut: about half of the width of the interval that it tells instead when it notices something, if a twentieth is cut. That one includes what was cut.
    pub half_width_if_cut: Option<f64>,
    /// What the error is counted in.
    pub error_in: &'static str,
    /// The expected error over the largest value that a group of that size can have, for finding the ε of a wanted error.
    pub relative: Option<f64>,
}

/// A guarantee as people read it.
fn in_words<S: serde::Serializer>(guarantee: &Guarantee, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(guarantee)
}

/// Explains a question.
pub(crate) fn explain(question: &Question, catalog: &Catalog, group_size: u64) -> Result<Explanation, Error> {
    let passes = bounded_plans(question.measured(), &question.cuts, &any_key()?)?;
    let mut parts = question
        .split
        .aggregations
        .iter()
        .zip(&question.prices)
        .enumerate()
        .map(|(place, (aggregation, price))| {
            let mut reported = part(aggregation, price, catalog, group_size.max(1))?;
            reported.plan = plan_of(place, &passes);
            if let Some(cut) = question.cuts.iter().find(|cut| cut.question == place) {
                let wide = (&question.split.aggregations[cut.wide], &question.prices[cut.wide]);
                if_cut(
                    &mut reported.outputs,
                    (aggregation, cut),
                    wide,
                    group_size.max(1) as f64,
                );
            }
            if question.together.is_some() {
                // What is in no cell is left out of all sets.
                let outputs = reported.outputs.iter_mut();
                outputs.for_each(|output| output.interval_of = IntervalOf::BoundedData);
            }
            if place >= question.visible {
                reported.estimates_cut = true;
                // Nobody waits for these columns.
                reported.outputs = Vec::new();
            }
            Ok(reported)
        })
        .collect::<Result<Vec<Part>, Error>>()?;
    for (column, (part, output)) in shown_outputs(question) {
        let output = parts.get_mut(part).and_then(|part| part.outputs.get_mut(output));
        if let Some(output) = output {
            output.shown_as.get_or_insert(column);
        }
    }
    Ok(Explanation {
        unit: catalog.unit.to_string(),
        parts,
        hints: hints(question, catalog),
        bounds: bounds(question, &catalog.unit.whose, &[]),
        sets: sets(question),
        after: question.split.post.display_indent().to_string(),
        guarantee: question.guarantee(catalog)?,
        group_size,
    })
}

/// Which way the sets of a ROLLUP, CUBE or GROUPING SETS get their noise, and by how much the other is worse.
fn sets(question: &Question) -> Option<SetsLine> {
    let together = question.together.is_some();
    let errors = question.set_errors;
    let apart = "each set of groups has noise of its own, for its part of ε, so totals are not the sums of their parts";
    let words = match errors {
        Some(errors) if together => errors.agree(),
        Some(errors) => format!("{apart}. {}", errors.words()),
        None => {
            format!("{apart}: sets share noise where all count rows by public values, and a unit has one row")
        }
    };
    (question.split.sets > 1).then(|| SetsLine {
        together,
        error_together: errors.map(|errors| errors.together),
        error_apart: errors.map(|errors| errors.apart),
        words,
    })
}

/// Limits that nobody has looked for yet.
fn hints(question: &Question, catalog: &Catalog) -> Vec<String> {
    if let Some(search) = &question.search {
        return vec![format!(
            "limits for what it groups by are found first, for ε = {} of its ε. Errors here are for the limits that are stated, or for one row of each {}, and are others once limits are found",
            search.epsilon, catalog.unit.whose
        )];
    }
    let asked = question.split.aggregations.iter().take(question.visible);
    let mut several = asked.filter(|asked| asked.rows.has_unit && asked.rows.rows_per_unit != Some(1));
    if several.next().is_none() {
        return Vec::new();
    }
    let untuned = |name: &String| {
        let table = &catalog.tables[name];
        matches!(table.owner, Owner::Column(_))
            && table.rows_per_unit != Some(1)
            && table.limits == Limits::default()
    };
    let tables = question.tables(catalog).into_iter().filter(untuned);
    tables
        .map(|name| {
            format!("the limits of `{name}` were never tuned: run `deniable limits {name} --epsilon 0.1`")
        })
        .collect()
}

fn part(aggregation: &Aggregation, price: &Price, catalog: &Catalog, group_size: u64) -> Result<Part, Error> {
    let rows = &aggregation.rows;
    let whose = &catalog.unit.whose;
    let form = form(rows);
    let bounding = match form {
        Form::Plain => format!("none: one row a {whose}"),
        Form::Clustered => "streaming: rows come sorted by owner".to_owned(),
        Form::Partitioned => "in one pass, partitioned by owner".to_owned(),
        Form::Relational => "by relational operators".to_owned(),
    };
    let groups = match &aggregation.groups.selection {
        Selection::Listed(groups) if aggregation.keys.is_empty() => {
            debug_assert_eq!(groups.len(), 1);
            "one".to_owned()
        }
        Selection::Listed(groups) => format!(
            "{} declared ones, empty ones included; a {whose} counts in at most {}",
            groups.len(),
            aggregation.groups.per_unit
        ),
        Selection::Threshold => {
            let threshold = price.noise.iter().find_map(|noise| noise.threshold());
            format!(
                "those with about {} {whose}s or more (their names cost δ); a {whose} counts in at most {}",
                threshold.unwrap_or_default(),
                aggregation.groups.per_unit
            )
        }
    };
    let statistics = aggregation
        .statistics
        .iter()
        .enumerate()
        .map(|(place, statistic)| {
            let size = statistic.steps.size();
            let sensitivity = &price.sensitivities[place];
            StatisticLine {
                name: readable(&statistic.name),
                low: statistic.low as f64 * size,
                high: statistic.high as f64 * size,
                l1: to_f64_nearest(sensitivity.l1()) * size,
                l2: to_f64_nearest(sensitivity.l2_squared()).sqrt() * size,
                coordinates: sensitivity.coordinates(),
                noise: price.noise[place].name(),
                deviation: price.noise[place].deviation() * size,
                share: price.shares[place],
            }
        })
        .collect();
    let keys = aggregation.keys.len();
    let outputs = aggregation
        .outputs
        .iter()
        .zip(&aggregation.shape[keys..])
        .map(|(output, shape)| {
            line(
                output,
                readable(&shape.name),
                aggregation,
                price,
                group_size as f64,
            )
        })
        .collect();
    Ok(Part {
        rows: rows.story.clone(),
        bounding,
        groups,
        statistics,
        outputs,
        epsilon: price.epsilon.clone(),
        delta: price.delta.clone(),
        plan: String::new(),
        engine: None,
        estimates_cut: false,
    })
}

/// The engine's plan of an aggregation, or which pass it is read in.
fn plan_of(place: usize, passes: &[BoundedPlans]) -> String {
    let own = passes
        .iter()
        .find(|pass| pass.read.first().is_some_and(|read| read.aggregation == place));
    match own {
        Some(pass) => {
            let plans = pass.plans().map(|plan| plan.display_indent().to_string());
            plans.collect::<Vec<_>>().join("\n")
        }
        None => "Read in the same pass as the numbers that it is about.".to_owned(),
    }
}

/// Says of each part who computes its exact numbers. Asks the database for the schemas of tables, and reads no rows of private ones.
pub(crate) async fn name_engines(
    explanation: &mut Explanation,
    question: &Question,
    engines: &Engines,
    catalog: &Catalog,
) -> Result<(), Error> {
    let publics = Publics::shapes(&question.split)?;
    let key = any_key()?;
    let asked = bounded_plans(question.measured(), &question.cuts, &key)?;
    let read: Vec<Vec<usize>> = asked
        .iter()
        .map(|pass| pass.read.iter().map(|read| read.aggregation).collect())
        .collect();
    let names = who_computes(&asked, &publics, engines, catalog).await?;
    for (places, name) in read.into_iter().zip(names) {
        for place in places {
            if let Some(part) = explanation.parts.get_mut(place) {
                part.engine.clone_from(&name);
            }
        }
    }
    if question.together.is_some()
        && let Some((first, others)) = explanation.parts.split_first_mut()
    {
        others
            .iter_mut()
            .for_each(|part| part.engine.clone_from(&first.engine));
    }
    Ok(())
}

/// A key for plans that are only shown: they do not depend on it.
pub(crate) fn any_key() -> Result<Secret, Error> {
    Secret::new("0").map_err(crate::understand::mistakes::unplannable)
}

/// Adds the intervals that the answer will tell where it notices that something was cut: those of the same outputs under wide limits.
///
/// Of what is told by the part that is cut of everything, it is the best estimate's where a twentieth is cut.
fn if_cut(
    lines: &mut [OutputLine],
    (aggregation, cut): (&Aggregation, &Cut),
    (wide, price): (&Aggregation, &Price),
    rows: f64,
) {
    let (keys, wide_keys) = (aggregation.keys.len(), wide.keys.len());
    let shapes = aggregation.shape[keys..].iter().zip(&aggregation.outputs);
    for (line_of, (shape, own)) in lines.iter_mut().zip(shapes) {
        let place = wide.shape[wide_keys..]
            .iter()
            .position(|other| other.name == shape.name);
        if let Some(output) = place.and_then(|place| wide.outputs.get(place)) {
            let half = line(output, String::new(), wide, price, rows).half_width;
            // An average lies where its values do, however little is known of it.
            let most = match output {
                Output::Average { sum, .. } => match &wide.statistics[*sum].measure {
                    Measure::Mean { argument, .. } => {
                        (argument.high - argument.low) as f64 * argument.steps.size()
                    }
                    _ => f64::INFINITY,
                },
                _ => f64::INFINITY,
            };
            let far = half.map(|half| half.min(most));
            let corrected = match (own, line_of.half_width) {
                (Output::Plain { statistic }, Some(near)) if cut.measured == Some(*statistic) => {
                    let statistic = &aggregation.statistics[*statistic];
                    let of_a_row = match &statistic.measure {
                        Measure::Sum { argument, .. } => {
                            argument.low.unsigned_abs().max(argument.high.unsigned_abs()) as f64
                                * statistic.steps.size()
                        }
                        _ => 1.0,
                    };
                    let size = (statistic.low >= 0).then_some(of_a_row * rows);
                    size.zip(far)
                        .map(|(size, far)| expected_half_width(near, far, size, CUT_SHOWN))
                }
                _ => None,
            };
            line_of.half_width_if_cut = corrected.or(far);
        }
    }
}

/// Explanations show what an interval is like where this part is cut.
const CUT_SHOWN: f64 = 0.05;

/// What an interval is about where nothing of the cut is noticed: the bounds of the answer say the same.
fn interval_of(output: &Output, aggregation: &Aggregation) -> IntervalOf {
    // A unit with one row in a group has no other there that could be cut.
    let many = aggregation.rows_in_group != Some(1);
    let cut_before = !aggregation.rows.left_out.is_empty();
    let (mut limited, mut clamped) = (aggregation.groups.sampled || cut_before, false);
    for place in output.clone().uses() {
        match &aggregation.statistics[*place].measure {
            Measure::Units | Measure::OfAllUnits => {}
            Measure::Rows { .. }
            | Measure::Present { .. }
            | Measure::Distinct { .. }
            | Measure::Histogram { .. } => limited |= many,
            Measure::Sum { argument, .. } => {
                limited |= many;
                clamped |= argument.low > -UNLIMITED || argument.high < UNLIMITED;
            }
            Measure::Mean { .. } | Measure::Tree { .. } => {
                limited |= many;
                clamped = true;
            }
        }
    }
    match (limited, clamped) {
        (true, _) => IntervalOf::BoundedData,
        (false, true) => IntervalOf::AllRows,
        (false, false) => IntervalOf::WholeData,
    }
}

/// Expected errors for a group of this many rows.
fn line(output: &Output, name: String, aggregation: &Aggregation, price: &Price, rows: f64) -> OutputLine {
    let size = |statistic: usize| aggregation.statistics[statistic].steps.size();
    let expected = |statistic: usize| {
        let error = price.noise[statistic].accuracy().expected_absolute_error();
        error.map(|error| error * size(statistic))
    };
    let half =
        |statistic: usize, confidence: f64| half_width(&price.noise[statistic], confidence) * size(statistic);
    let largest = |statistic: usize| {
        let statistic = &aggregation.statistics[statistic];
        statistic.low.unsigned_abs().max(statistic.high.unsigned_abs()) as f64 * statistic.steps.size()
    };
    // What one row can add: 1 to a count, the larger bound to a sum.
    let of_a_row = |place: usize| match &aggregation.statistics[place].measure {
        Measure::Sum { argument, .. } => {
            let bound = argument.low.unsigned_abs().max(argument.high.unsigned_abs());
            (bound as f64 * argument.steps.size())
                .min(largest(place))
                .max(f64::MIN_POSITIVE)
        }
        _ => 1.0,
    };
    let two = f64::midpoint(1.0, CONFIDENCE);
    let interval_of = interval_of(output, aggregation);
    let half_width_if_cut = None;
    match output {
        Output::Plain { statistic } => OutputLine {
            expected_error: expected(*statistic),
            half_width: Some(half(*statistic, CONFIDENCE)),
            relative: expected(*statistic).map(|error| error / (of_a_row(*statistic) * rows)),
            error_in: "units of the value",
            interval_of,
            half_width_if_cut,
            shown_as: None,
            name,
        },
        Output::Average { sum, count, .. } => {
            // An average is at most half a range from its centre, and that much of the count's error comes with it.
            let spread = largest(*sum).max(f64::MIN_POSITIVE);
            let error = expected(*sum)
                .zip(expected(*count))
                .map(|(sum, count)| (sum + spread * count) / rows);
            OutputLine {
                expected_error: error,
                half_width: Some((half(*sum, two) + spread * half(*count, two)) / rows),
                relative: error.map(|error| error / spread),
                error_in: "units of the value",
                interval_of,
                half_width_if_cut,
                shown_as: None,
                name,
            }
        }
        Output::Variance {
            first, second, count, ..
        } => {
            let spread = largest(*second).max(f64::MIN_POSITIVE);
            let farthest = largest(*first);
            let error = expected(*first).zip(expected(*second)).zip(expected(*count)).map(
                |((first, second), count)| (2.0 * farthest * first + second + 2.0 * spread * count) / rows,
            );
            OutputLine {
                expected_error: error,
                half_width: None,
                relative: error.map(|error| error / spread),
                error_in: "squared units of the value, before a root",
                interval_of,
                half_width_if_cut,
                shown_as: None,
                name,
            }
        }
        Output::Pairs { moments, .. } => {
            // How far the averages of deviations and products are off, in parts of what they can be.
            let error = moments
                .places()
                .iter()
                .map(|place| {
                    expected(*place).map(|error| error / largest(*place).max(f64::MIN_POSITIVE) / rows)
                })
                .sum::<Option<f64>>();
            OutputLine {
                expected_error: error,
                half_width: None,
                relative: error,
                error_in: "parts of the bounds, of all sums that it is made of together",
                interval_of,
                half_width_if_cut,
                shown_as: None,
                name,
            }
        }
        Output::Mode { histogram, .. } => OutputLine {
            expected_error: expected(*histogram),
            half_width: Some(half(*histogram, CONFIDENCE)),
            relative: expected(*histogram).map(|error| error / rows),
            error_in: "rows, in the count of each value",
            interval_of,
            half_width_if_cut,
            shown_as: None,
            name,
        },
        Output::Truth { count, .. } => OutputLine {
            expected_error: expected(*count),
            half_width: Some(half(*count, CONFIDENCE)),
            relative: expected(*count).map(|error| error / rows),
            error_in: "rows, in the count that decides it",
            interval_of,
            half_width_if_cut,
            shown_as: None,
            name,
        },
        Output::Quantile { tree, .. } => {
            let blur = price.noise[*tree].deviation() * f64::from(45u8).sqrt();
            let whole = matches!(
                aggregation.statistics[*tree].measure,
                Measure::Tree { kind: Kind::Int, .. }
            );
            OutputLine {
                expected_error: Some(blur * 0.8),
                half_width: Some(blur * 1.96),
                relative: Some(blur * 0.8 / rows),
                error_in: if whole { "ranks" } else { "ranks of the value" },
                interval_of,
                half_width_if_cut,
                shown_as: None,
                name,
            }
        }
    }
}
