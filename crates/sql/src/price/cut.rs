//! What the limits of a question cut, estimated privately for a planned share of its ε.
//!
//! Beside each private GROUP BY that may cut something, two more are asked of the same rows. The *overview* has one row a unit: whether it is over a limit, what it has
//! and what of it is cut. The *wide* one is the question itself under limits several times as wide, with little ε: where the overview sees that something was cut, the
//! intervals come from it, and hold the truth of all data as long as nobody is over the wide limits too.
//!
//! # Privacy
//! Claim: each of these statistics moves by at most its sensitivity, as any other.
//! Proof: they are statistics like any other, over rows that are a function of one unit's rows: the overview groups by the unit, and has one row for each, so
//! what a unit adds is one number clamped to [0, b] (b = 1 for who is over a limit), and `Statistic::sensitivity` holds with one group. The wide one is bounded by `bound`
//! like the question itself, with its own numbers of rows and groups, from which its sensitivity is derived. Both are priced and charged with the question, before any
//! row is read. For groups whose names are private, the wide one is asked for the groups that the question has released already.
//! Audited by: `one_unit_more_moves_no_further_than_priced` and the hunter, which look at every statistic of a question, these too; `an_overview_without_its_clamp_is_noticed`.

use crate::Error;
use crate::catalog::Catalog;
use crate::understand::aggregation::{
    Aggregation, Argument, Groups, Measure, Output, Selection, Shape, Statistic, halved,
};
use crate::understand::dialect::SelectOptions;
use crate::understand::frontier::Split;
use crate::understand::mistakes::unplannable;
use crate::understand::relation::{Rows, UNIT, bare};
use crate::understand::same::Marks;
use crate::values::facts::{Facts, Kind, Range};
use crate::values::steps::Steps;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::TableReference;
use datafusion::functions_aggregate::expr_fn::{count, max, sum};
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, lit, when};
use exact::{Rational, parse_decimal, ratio};

/// What an estimate takes of a question's ε, unless the question says otherwise.
const SHARE: (i64, u64) = (1, 20);

/// The part of a question's ε that is left for its own answer, where something may be cut and nothing else is said.
pub(crate) fn left_for_the_answer() -> Rational {
    Rational::ONE - ratio(SHARE.0, SHARE.1)
}

/// Rows and sums under wide limits may be this many times as large; where groups are limited too, four times, and groups four times.
const WIDE: u64 = 16;
const WIDE_WITH_GROUPS: u64 = 4;

/// The estimate that belongs to one private GROUP BY of a question: where its parts are among the aggregations.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    /// What it is about.
    pub(crate) question: usize,
    /// One row a unit.
    pub(crate) overview: usize,
    /// The same under wide limits.
    pub(crate) wide: usize,
    /// For each output of the question, that of the wide one.
    pub(crate) outputs: Vec<Option<usize>>,
    /// Its part of ε, both halves together.
    pub(crate) share: Rational,
    /// Of what a part is cut.
    pub(crate) of: String,
    /// How many times as wide the wide limits are.
    pub(crate) factor: u64,
}

/// The estimates of a question's aggregations. What they ask is appended to them.
pub(crate) fn plan(aggregations: &mut Vec<Aggregation>, wanted: bool) -> Result<Vec<Cut>, Error> {
    let mut cuts = Vec::new();
    for place in 0..aggregations.len() {
        let share = share(&aggregations[place].options, wanted)?;
        let Some(limited) = Limited::of(&aggregations[place]).filter(|_| share > Rational::ZERO) else {
            continue;
        };
        let (wide, outputs, factor) = wide(&aggregations[place]);
        let overview = overview(&aggregations[place], &limited)?;
        if wide.statistics.is_empty() {
            continue;
        }
        cuts.push(Cut {
            question: place,
            overview: aggregations.len(),
            wide: aggregations.len() + 1,
            outputs,
            share,
            of: limited.amount.name(),
            factor,
        });
        aggregations.extend([overview, wide]);
    }
    Ok(cuts)
}

/// Tells the estimates apart from those of other questions, so that they are saved and found with what they are about.
pub(crate) fn mark(split: &mut Split, cuts: &[Cut], catalog: &Catalog) -> Result<(), Error> {
    for cut in cuts {
        let of = &split.marks[cut.question];
        let overview = of.of_overview(
            &split.aggregations[cut.question],
            &split.aggregations[cut.overview],
        );
        let wide = &split.aggregations[cut.wide];
        let wide = Marks::of(wide, &split.asked[cut.question], catalog).map_err(unplannable)?;
        split.marks.extend([overview, wide]);
    }
    Ok(())
}

fn share(options: &SelectOptions, wanted: bool) -> Result<Rational, Error> {
    let default = if wanted {
        ratio(SHARE.0, SHARE.1)
    } else {
        Rational::ZERO
    };
    let Some(stated) = &options.cut_share else {
        return Ok(default);
    };
    let wrong = || {
        Error::refused(
            "cut_share is a part of ε, from 0 to 0.5",
            "write OPTIONS(cut_share = 0.05), or cut_share = 0 to do without the estimate",
        )
    };
    let share = parse_decimal(stated).map_err(|_| wrong())?;
    if share < Rational::ZERO || share > ratio(1, 2) {
        return Err(wrong());
    }
    Ok(if wanted { share } else { Rational::ZERO })
}

/// What can be cut of a unit.
struct Limited {
    /// Rows that count in a group.
    rows: Option<u64>,
    /// Sums that are clamped, by statistic.
    sums: Vec<usize>,
    amount: Amount,
}

/// Of what a part is cut.
enum Amount {
    Rows,
    /// Of this statistic's argument, in steps.
    Sum {
        place: usize,
        name: String,
    },
}

impl Amount {
    fn name(&self) -> String {
        match self {
            Self::Rows => "rows".to_owned(),
            Self::Sum { name, .. } => name.clone(),
        }
    }
}

impl Limited {
    /// `None` where nothing can be cut.
    fn of(aggregation: &Aggregation) -> Option<Self> {
        let rows = &aggregation.rows;
        if !rows.has_unit || rows.rows_per_unit == Some(1) {
            return None;
        }
        // The curator's word, or the query's, that a unit has no more rows.
        let cuts = |most: &u64| aggregation.rows_in_group.is_none_or(|promised| *most < promised);
        let many = aggregation.rows_in_group != Some(1);
        let statistics = || aggregation.statistics.iter().enumerate();
        let most = statistics().filter_map(|(_, statistic)| match &statistic.measure {
            Measure::Rows { most }
            | Measure::Present { most, .. }
            | Measure::Mean { most, .. }
            | Measure::Tree { most, .. } => Some(*most),
            _ => None,
        });
        let most = most.min().filter(cuts);
        let sums: Vec<usize> = statistics()
            .filter(|(_, statistic)| many && matches!(statistic.measure, Measure::Sum { .. }))
            .map(|(place, _)| place)
            .collect();
        if most.is_none() && sums.is_empty() && !aggregation.groups.sampled {
            return None;
        }
        let amount = match (most, sums.first()) {
            (None, Some(place)) => Amount::Sum {
                place: *place,
                name: aggregation.statistics[*place].name.clone(),
            },
            _ => Amount::Rows,
        };
        Some(Self {
            rows: most,
            sums,
            amount,
        })
    }
}

/// What a unit has, and what of it is cut: one row a unit.
fn overview(aggregation: &Aggregation, limited: &Limited) -> Result<Aggregation, Error> {
    let rows = &aggregation.rows;
    let per_unit = aggregation.groups.per_unit.min(1 << 20) as i64;
    let groups = if aggregation.groups.sampled {
        per_unit
    } else {
        i64::MAX
    };
    let mut keys = vec![rows.unit_expr().alias(UNIT)];
    for (place, key) in aggregation.keys.iter().enumerate() {
        keys.push(key.expr.clone().unalias().alias(format!("__key{place}")));
    }
    let mut measures = vec![count(lit(1i64)).alias("__rows")];
    for place in &limited.sums {
        if let Some(argument) = aggregation.statistics[*place].argument() {
            measures.push(sum(argument.column(false)?).alias(format!("__sum{place}")));
        }
    }
    let either = |one: Option<Expr>, other: Expr| Some(one.map_or(other.clone(), |one| one.or(other)));
    let flag = |condition: Option<Expr>| match condition {
        None => Ok(lit(0i64)),
        Some(condition) => when(condition, lit(1i64))
            .otherwise(lit(0i64))
            .map_err(unplannable),
    };
    let most_of = |expr: Expr, most: i64| {
        when(expr.clone().gt(lit(most)), lit(most))
            .otherwise(expr)
            .map_err(unplannable)
    };
    // In one group of a unit: is it over, what is there, what is kept.
    let mut over = limited.rows.map(|most| bare("__rows").gt(lit(most as i64)));
    let mut bounds = (0i64, 0i64);
    for place in &limited.sums {
        if let Measure::Sum { low, high, .. } = aggregation.statistics[*place].measure {
            let total = || bare(&format!("__sum{place}"));
            over = either(over, total().lt(lit(low)).or(total().gt(lit(high))));
            if matches!(limited.amount, Amount::Sum { place: other, .. } if other == *place) {
                bounds = (low, high);
            }
        }
    }
    let (all, kept, largest) = match &limited.amount {
        Amount::Rows => {
            let most = limited.rows.unwrap_or(WIDE).min(1 << 20) as i64;
            let kept = match limited.rows {
                Some(_) => most_of(bare("__rows"), most)?,
                None => bare("__rows"),
            };
            (bare("__rows"), kept, most)
        }
        // A sum's distance from zero.
        Amount::Sum { place, .. } => {
            let total = || bare(&format!("__sum{place}"));
            let distance = when(total().lt(lit(0i64)), lit(0i64) - total())
                .otherwise(total())
                .map_err(unplannable)?;
            let kept = when(
                total().lt(lit(0i64)),
                most_of(distance.clone(), bounds.0.saturating_neg())?,
            )
            .otherwise(most_of(distance.clone(), bounds.1)?)
            .map_err(unplannable)?;
            let largest = bounds.0.saturating_neg().max(bounds.1).max(1);
            (distance, kept, largest)
        }
    };
    let over = flag(over)?;
    let in_groups = LogicalPlanBuilder::from(rows.plan.clone())
        .aggregate(keys, measures)
        .and_then(|plan| {
            plan.project(vec![
                bare(UNIT),
                all.alias("__all"),
                kept.alias("__kept"),
                over.alias("__over"),
            ])
        });
    let of_units = in_groups
        .and_then(|plan| {
            plan.aggregate(
                vec![bare(UNIT)],
                vec![
                    count(lit(1i64)).alias("__groups"),
                    sum(bare("__all")).alias("__all"),
                    sum(bare("__kept")).alias("__kept"),
                    max(bare("__over")).alias("__over"),
                ],
            )
        })
        .map_err(unplannable)?;
    // Which groups of a unit count is chosen by chance: of what it has in them, this much is kept in the mean. A unit has at least one group.
    let dropped = || bare("__groups").gt(lit(groups));
    let kept = when(dropped(), bare("__kept") * lit(per_unit) / bare("__groups"))
        .otherwise(bare("__kept"))
        .map_err(unplannable)?;
    let over = flag(Some(dropped().or(bare("__over").gt(lit(0i64)))))?;
    let plan = of_units
        .project(vec![
            bare(UNIT),
            over.alias("over"),
            bare("__all").alias("everything"),
            (bare("__all") - kept).alias("cut"),
        ])
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)?;
    let names = ["over", "everything", "cut"];
    let unnamed: Option<TableReference> = None;
    let mut story = rows.story.clone();
    story.push("looked at unit by unit, to estimate what the limits cut".to_owned());
    let one_a_unit = Rows {
        plan,
        columns: names
            .iter()
            .map(|name| (unnamed.clone(), (*name).to_owned(), Facts::unknown(Kind::Int)))
            .collect(),
        unit_columns: Vec::new(),
        rows_per_unit: Some(1),
        promised: false,
        clustered: false,
        whole: false,
        story,
        ..rows.clone()
    };
    // What a unit may have, in all groups in which it counts, several times over.
    let most = i128::from(largest) * i128::from(per_unit) * i128::from(WIDE);
    let most = most.min(1 << 50) as f64;
    let mut statistics = vec![Statistic::units()];
    // Who is over a limit is what must be seen best.
    for (name, most, weight) in [("over", 1.0, 4), ("everything", most, 1), ("cut", most, 2)] {
        let range = Range { low: 0.0, high: most };
        let argument = Argument::new(bare(name), Kind::Int, range, 1)?;
        let high = argument.high;
        let mut statistic = Statistic::sum(argument, 0, high, name);
        statistic.name = match name {
            "over" => "units over a limit".to_owned(),
            "cut" => format!("cut of {}", limited.amount.name()),
            _ => limited.amount.name(),
        };
        statistic.weight = weight;
        #[cfg(test)]
        if name == "cut" && crate::mutants::planted(crate::mutants::Mutant::UnclampedCut) {
            statistic.unclamp();
        }
        statistics.push(statistic);
    }
    Ok(Aggregation {
        rows: one_a_unit,
        keys: Vec::new(),
        rows_in_group: Some(1),
        groups: Groups {
            selection: Selection::Listed(vec![Vec::new()]),
            per_unit: 1,
            sampled: false,
        },
        outputs: (0..statistics.len())
            .map(|statistic| Output::Plain { statistic })
            .collect(),
        shape: statistics
            .iter()
            .map(|statistic| shape(&statistic.name))
            .collect(),
        statistics,
        options: aggregation.options.clone(),
    })
}

fn shape(name: &str) -> Shape {
    Shape {
        qualifier: None,
        name: name.to_owned(),
        data_type: DataType::Float64,
    }
}

/// The same under wide limits; with, for each output, its place there.
fn wide(aggregation: &Aggregation) -> (Aggregation, Vec<Option<usize>>, u64) {
    let sampled = aggregation.groups.sampled;
    let factor = if sampled { WIDE_WITH_GROUPS } else { WIDE };
    let mut wide = aggregation.clone();
    wide.rows
        .story
        .push("once more under wider limits, to estimate what the limits cut".to_owned());
    if sampled {
        wide.groups.per_unit = wide.groups.per_unit.saturating_mul(factor);
    }
    match &mut wide.groups.selection {
        Selection::Listed(groups) => {
            wide.groups.per_unit = wide.groups.per_unit.min(groups.len().max(1) as u64)
        }
        // Those that the question releases.
        selection => *selection = Selection::Listed(Vec::new()),
    }
    let promised = aggregation.rows_in_group.unwrap_or(u64::MAX);
    let mut statistics = Vec::new();
    let mut places = vec![None; aggregation.statistics.len()];
    let mut outputs = Vec::new();
    let mut kept = Vec::new();
    for (place, output) in aggregation.outputs.iter().enumerate() {
        let understood = matches!(output, Output::Plain { .. } | Output::Average { .. });
        let mut moved = output.clone();
        let mut uses = moved.uses();
        let all = understood
            && uses.iter().all(|statistic| {
                widened(&aggregation.statistics[**statistic], factor, promised, sampled).is_some()
            });
        if !all {
            outputs.push(None);
            continue;
        }
        for statistic in &mut uses {
            let at = *places[**statistic].get_or_insert_with(|| {
                statistics.extend(widened(
                    &aggregation.statistics[**statistic],
                    factor,
                    promised,
                    sampled,
                ));
                statistics.len() - 1
            });
            **statistic = at;
        }
        outputs.push(Some(kept.len()));
        kept.push((place, moved));
    }
    let keys = aggregation.keys.len();
    let mut shape = aggregation.shape[..keys].to_vec();
    shape.extend(
        kept.iter()
            .map(|(place, _)| aggregation.shape[keys + place].clone()),
    );
    wide.shape = shape;
    wide.outputs = kept.into_iter().map(|(_, output)| output).collect();
    wide.statistics = statistics;
    (wide, outputs, factor)
}

/// A statistic under wide limits, where it has any.
fn widened(statistic: &Statistic, factor: u64, promised: u64, sampled: bool) -> Option<Statistic> {
    let more = |most: &u64| most.saturating_mul(factor).min(promised.max(*most)).min(1 << 24);
    let mut wide = match &statistic.measure {
        // Units are cut by groups alone.
        Measure::Units if sampled => Statistic::units(),
        Measure::Rows { most } => Statistic::rows(more(most)),
        Measure::Present { argument, most } => Statistic::present(argument.clone(), more(most), ""),
        Measure::Mean { argument, most } => {
            let most = more(most);
            let largest = (argument.low - argument.centre)
                .abs()
                .max((argument.high - argument.centre).abs());
            let bits = Steps::bits_over(i128::from(largest) * i128::from(most));
            Statistic::mean(argument.coarser(bits), most, "")
        }
        Measure::Sum { argument, low, high } => {
            let [low, high] = [low, high].map(|end| i128::from(*end) * i128::from(factor));
            let bits = Steps::bits_over(low.abs().max(high.abs()));
            Statistic::sum(argument.coarser(bits), halved(low, bits), halved(high, bits), "")
        }
        _ => return None,
    };
    wide.name.clone_from(&statistic.name);
    wide.weight = statistic.weight;
    Some(wide)
}
