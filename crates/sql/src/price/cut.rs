//! What the limits of a question cut, estimated privately for a planned share of its ε.
//!
//! Beside each private GROUP BY that may cut something, two more are asked of the same rows. The *overview* says how many units there are, how many are over a limit, what they have
//! and what of it is cut. The *wide* one is the question itself under limits several times as wide, with little ε: where the overview sees that something was cut, the
//! intervals come from it, and hold the truth of all data as long as nobody is over the wide limits too. Both are read from the states of units that the bounding step keeps for the question
//! itself, in one pass over the rows ([`bound::Beside`]).
//!
//! # Privacy
//! Claim: each of these statistics moves by at most its sensitivity, as any other.
//! Proof: [`bound::Beside`] proves how far one unit moves its numbers. Of the wide ones, [`Beside::farthest`] is at most what the statistic's ends say, in as many groups as the aggregation names, so
//! `Statistic::sensitivity` holds. Of the overview, each number is one, without keys, whose ends are 0 and [`Beside::most`], or 0 and 1. That the ends say no less than the bounding step enforces is checked when
//! the plan is made ([`Cut::beside`]), before the charge. Both are priced and charged with the question, before any
//! row is read. For groups whose names are private, the wide one is asked for the groups that the question has released already.
//! Audited by: `one_unit_more_moves_no_further_than_priced` and the hunter, which look at every statistic of a question, these too; `an_overview_without_its_clamp_is_noticed`, `a_question_in_the_groups_of_its_estimate_is_noticed`.

use crate::Error;
use crate::catalog::Catalog;
use crate::understand::aggregation::{
    Aggregation, Argument, Groups, Measure, Output, Selection, Shape, Statistic, ends_of_mean, halved, in_all,
};
use crate::understand::dialect::SelectOptions;
use crate::understand::frontier::Split;
use crate::understand::mistakes::unplannable;
use crate::understand::relation::Rows;
use crate::understand::same::Marks;
use crate::values::steps::Steps;
use bound::{AmountOfVector, Beside, Coarse, Length, MOST_GROUPS_HELD, Partial};
use datafusion::arrow::datatypes::DataType;
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
    /// Of which statistic of the question a part is cut.
    pub(crate) measured: Option<usize>,
    /// How many times as wide the wide limits are.
    pub(crate) factor: u64,
    /// Of which statistic of the question each of the wide ones is the same under wider limits.
    from: Vec<usize>,
    limited: Limited,
}

/// The estimates of a question's aggregations. What they ask is appended to them.
pub(crate) fn plan(aggregations: &mut Vec<Aggregation>, wanted: bool) -> Result<Vec<Cut>, Error> {
    let mut cuts = Vec::new();
    for place in 0..aggregations.len() {
        let share = share(&aggregations[place].options, wanted)?;
        let Some(limited) = Limited::of(&aggregations[place]).filter(|_| share > Rational::ZERO) else {
            continue;
        };
        let Some(factor) = factor(&aggregations[place].groups) else {
            continue;
        };
        let Widened {
            aggregation: wide,
            outputs,
            from,
        } = Widened::of(&aggregations[place], factor);
        if wide.statistics.is_empty() {
            continue;
        }
        let cut = Cut {
            question: place,
            overview: aggregations.len(),
            wide: aggregations.len() + 1,
            outputs,
            share,
            of: limited.amount.name(),
            measured: limited.measured(&aggregations[place]),
            factor,
            from,
            limited,
        };
        let overview = cut.overview(&aggregations[place], &wide);
        cuts.push(cut);
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
#[derive(Clone, Debug)]
struct Limited {
    /// Rows that count in a group.
    rows: Option<u64>,
    /// Sums that are clamped, by statistic.
    sums: Vec<usize>,
    amount: Amount,
}

/// Of what a part is cut.
#[derive(Clone, Debug)]
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
        let in_all = aggregation.in_all.is_some();
        if most.is_none() && sums.is_empty() && !aggregation.groups.sampled && !in_all {
            return None;
        }
        let amount = match (most, sums.first()) {
            (None, Some(place)) if !in_all => Amount::Sum {
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

impl Limited {
    /// The statistic whose part is told by what is cut of the amount.
    fn measured(&self, aggregation: &Aggregation) -> Option<usize> {
        match &self.amount {
            Amount::Sum { place, .. } => Some(*place),
            Amount::Rows => {
                let mut statistics = aggregation.statistics.iter();
                statistics.position(|statistic| match &statistic.measure {
                    Measure::Rows { most } => self.rows.is_none_or(|least| *most == least),
                    _ => false,
                })
            }
        }
    }
}

/// Under no limit, a unit's rows in a group are told apart up to so many.
const ROWS_TOLD_APART: u64 = WIDE;

impl Cut {
    /// Whether the intervals of an output include what clamps of single values cut: sums alone are read once more with later clamps.
    pub(crate) fn values_too(aggregation: &Aggregation, output: usize) -> bool {
        let mut output = aggregation.outputs[output].clone();
        let statistics = output.uses();
        let mut measures = statistics
            .iter()
            .map(|place| &aggregation.statistics[**place].measure);
        measures.all(|measure| {
            matches!(
                measure,
                Measure::Sum { .. } | Measure::Units | Measure::Rows { .. }
            )
        })
    }

    /// What the bounding step reads beside the question. `own`: how it bounds what counts in all groups together; `numbers`: where the number of each statistic is; `place`: which of its arguments is this one.
    ///
    /// # Errors
    /// If a statistic is priced for less than it may move.
    pub(crate) fn beside(
        &self,
        aggregations: &[Aggregation],
        (own, numbers): (&[Length], &[(usize, usize)]),
        place: &mut dyn FnMut(&Argument) -> Result<usize, Error>,
    ) -> Result<Beside, Error> {
        let [question, overview, wide] =
            [self.question, self.overview, self.wide].map(|place| &aggregations[place]);
        let mut partials = Vec::new();
        for (wide, from) in wide.statistics.iter().zip(&self.from) {
            let fine = &question.statistics[*from];
            let at = match &fine.measure {
                Measure::Sum { argument, .. } => place(&argument.wider(self.factor))?,
                _ => fine.argument().map_or(Ok(0), &mut *place)?,
            };
            partials.push(coarse(fine, wide, self.factor, at)?);
        }
        let mut limits = Vec::new();
        if let Some(most) = self.limited.rows {
            let rows = |most: u64| Partial::Rows { most: most as i64 };
            limits.push((rows(most), rows(most + 1)));
        }
        for sum in &self.limited.sums {
            let statistic = &question.statistics[*sum];
            let argument = statistic.argument().ok_or_else(unpriced)?;
            let (at, wide) = (place(argument)?, place(&argument.wider(self.factor))?);
            let (low, high) = statistic.ends_of_sum().ok_or_else(unpriced)?;
            let clamped = |argument: usize, low: i64, high: i64| Partial::Sum { argument, low, high };
            // A sum is over its limit where clamping values and sum later gives another number.
            let later = clamped(wide, low.saturating_sub(1), high.saturating_add(1));
            limits.push((clamped(at, low, high), later));
        }
        let (narrow, widest, bits) = self.amount(question, wide);
        let (at, at_wide) = match &self.limited.amount {
            Amount::Sum { place: sum, .. } => {
                let argument = question.statistics[*sum].argument().ok_or_else(unpriced)?;
                (place(argument)?, place(&argument.wider(self.factor))?)
            }
            Amount::Rows => (0, 0),
        };
        let partial = |argument: usize, (low, high): (i64, i64)| match &self.limited.amount {
            Amount::Rows => Partial::Rows { most: high },
            Amount::Sum { .. } => Partial::Sum { argument, low, high },
        };
        let lengths = wide_lengths(wide, &mut partials)?;
        let of = match &self.limited.amount {
            Amount::Rows => own.first().map(|length| length.of),
            Amount::Sum { place, .. } => {
                let number = numbers.iter().find(|(statistic, _)| statistic == place);
                number.map(|(_, number)| *number)
            }
        };
        let vector = of.zip(self.vector(question, wide));
        let vector = vector.map(|(of, (finer, most))| AmountOfVector { of, finer, most });
        let beside = Beside {
            groups: (!question.keys.is_empty()).then_some(wide.groups.per_unit),
            partials,
            lengths,
            limits,
            amount: (partial(at, narrow), partial(at_wide, widest)),
            vector,
            bits,
        };
        let mut numbers = wide.statistics.iter().enumerate();
        if numbers.any(|(place, wide)| beside.farthest(place) > wide.farthest()) {
            return Err(unpriced());
        }
        let priced = overview.statistics[EVERYTHING..].iter();
        if priced
            .clone()
            .any(|statistic| beside.most(!question.keys.is_empty()) > statistic.farthest())
        {
            return Err(unpriced());
        }
        #[cfg(test)]
        if crate::mutants::planted(crate::mutants::Mutant::UnclampedCut) {
            let mut beside = beside;
            beside.amount.1 = partial(at_wide, (-FAR, FAR));
            return Ok(beside);
        }
        Ok(beside)
    }

    /// Between which ends the amount of a group lies that counts, between which under the wide limit, and by how many bits its steps are coarser, so that all groups of a unit together are
    /// as many steps as any other number.
    fn amount(&self, question: &Aggregation, wide: &Aggregation) -> ((i64, i64), (i64, i64), u32) {
        let (narrow, widest) = match &self.limited.amount {
            Amount::Rows if let Some((narrow, wide)) = question.in_all.zip(wide.in_all) => {
                ((0, narrow.in_group as i64), (0, wide.in_group as i64))
            }
            Amount::Rows => {
                let widest = self
                    .limited
                    .rows
                    .map_or(ROWS_TOLD_APART, |most| more(most, self.factor));
                let narrow = self.limited.rows.unwrap_or(widest);
                ((0, narrow as i64), (0, widest as i64))
            }
            Amount::Sum { place, .. } => {
                let ends = question.statistics[*place].ends_of_sum().unwrap_or_default();
                (ends, wider(ends, self.factor))
            }
        };
        if let Some((_, all)) = self.vector(question, wide) {
            return (narrow, widest, Steps::bits_over(i128::from(all)));
        }
        let groups = if question.keys.is_empty() {
            1
        } else {
            wide.groups.per_unit
        };
        let farthest = i128::from(widest.0.unsigned_abs().max(widest.1.unsigned_abs()));
        (narrow, widest, Steps::bits_over(farthest * i128::from(groups)))
    }

    /// Where what counts of the amount in all groups together is bounded: by how many bits its steps are finer than those of its argument, and how much of a unit is looked at, in these.
    fn vector(&self, question: &Aggregation, wide: &Aggregation) -> Option<(u32, u64)> {
        match &self.limited.amount {
            Amount::Rows => {
                let (own, wide) = question.in_all.zip(wide.in_all)?;
                let mut statistics = question.statistics.iter();
                let counted = statistics.find(|statistic| statistic.partial(0) == Some(own.partial()));
                Some(in_all::of_rows(wide, counted))
            }
            Amount::Sum { place, .. } => {
                in_all::of_itself(&question.statistics[*place])?;
                let at = self.from.iter().position(|from| from == place)?;
                in_all::of_itself(&wide.statistics[at])
            }
        }
    }

    /// How many units there are, how many of them are over a limit, what they have, and what of it is cut.
    fn overview(&self, question: &Aggregation, wide: &Aggregation) -> Aggregation {
        let rows = &question.rows;
        let mut story = rows.story.clone();
        story.push("looked at unit by unit, to estimate what the limits cut".to_owned());
        let (_, (low, high), bits) = self.amount(question, wide);
        let groups = if question.keys.is_empty() {
            1
        } else {
            wide.groups.per_unit
        };
        let farthest = halved(i128::from(low.unsigned_abs().max(high.unsigned_abs())), bits);
        let mut most = (farthest.unsigned_abs().saturating_mul(groups)).min(i64::MAX as u64) as i64;
        let mut exponent = match &self.limited.amount {
            Amount::Rows => 0,
            Amount::Sum { place, .. } => question.statistics[*place].steps.exponent(),
        };
        if let Some((finer, all)) = self.vector(question, wide) {
            exponent = match &self.limited.amount {
                Amount::Rows => -(finer as i32),
                Amount::Sum { .. } => exponent,
            };
            most = halved(i128::from(all), bits);
        }
        let steps = Steps::of(exponent + bits as i32);
        let name = self.limited.amount.name();
        // Who is over a limit is what must be seen best.
        let statistics = vec![
            Statistic::units(),
            Statistic::of_all_units(1, Steps::ones(), 4, "units over a limit".to_owned()),
            Statistic::of_all_units(most, steps, 1, name.clone()),
            Statistic::of_all_units(most, steps, 2, format!("cut of {name}")),
        ];
        Aggregation {
            unstated: None,
            rows: Rows {
                story,
                columns: Vec::new(),
                unit_columns: Vec::new(),
                rows_per_unit: Some(1),
                promised: false,
                clustered: false,
                whole: false,
                ..rows.clone()
            },
            keys: Vec::new(),
            rows_in_group: Some(1),
            groups: Groups {
                selection: Selection::Listed(vec![Vec::new()]),
                per_unit: 1,
                sampled: false,
            },
            in_all: None,
            outputs: (0..statistics.len())
                .map(|statistic| Output::Plain { statistic })
                .collect(),
            shape: statistics
                .iter()
                .map(|statistic| shape(&statistic.name))
                .collect(),
            statistics,
            options: question.options.clone(),
        }
    }
}

/// The overview's statistics, in their order.
pub(crate) const UNITS: usize = 0;
pub(crate) const OVER: usize = 1;
pub(crate) const EVERYTHING: usize = 2;
pub(crate) const CUT: usize = 3;

/// As wide as a planted defect makes it.
#[cfg(test)]
const FAR: i64 = 1 << 40;

fn unpriced() -> Error {
    Error::refused(
        "an estimate of what the limits cut may move further than its noise covers; nothing was charged",
        "this is a defect of Deniable; please report the query. OPTIONS(cut_share = 0) does without the estimate",
    )
}

/// How what counts in all groups together is bounded under wide limits. The rows of a unit are counted for that, if they are none of the numbers.
fn wide_lengths(wide: &Aggregation, partials: &mut Vec<Coarse>) -> Result<Vec<Length>, Error> {
    let statistics = partials.len();
    let rows = wide.in_all.map(|in_all| {
        let known = partials
            .iter()
            .position(|coarse| coarse.partial == in_all.partial());
        (in_all, known.unwrap_or(statistics))
    });
    if let Some((in_all, _)) = rows.filter(|(_, place)| *place == statistics) {
        partials.push(Coarse {
            partial: in_all.partial(),
            bits: 0,
        });
    }
    let numbers = wide.statistics.iter().zip(partials.iter()).enumerate();
    let numbers = numbers.map(|(place, (statistic, coarse))| (place, coarse.bits, statistic));
    in_all::lengths(numbers, rows, unpriced)
}

/// How the bounding step computes a statistic under wide limits, from the argument of the question's own.
fn coarse(fine: &Statistic, wide: &Statistic, factor: u64, at: usize) -> Result<Coarse, Error> {
    let bits = wide.steps.exponent() - fine.steps.exponent();
    let partial = match (&fine.measure, &wide.measure) {
        (Measure::Sum { low, high, .. }, _) => {
            let (low, high) = wider((*low, *high), factor);
            Partial::Sum {
                argument: at,
                low,
                high,
            }
        }
        (Measure::Mean { argument, .. }, Measure::Mean { most, .. }) => {
            let (low, high) = ends_of_mean(argument, *most);
            Partial::Mean {
                argument: at,
                most: *most as i64,
                low,
                high,
            }
        }
        _ => wide.partial(at).ok_or_else(unpriced)?,
    };
    Ok(Coarse {
        partial,
        bits: bits.max(0) as u32,
    })
}

/// So many times as many rows.
fn more(most: u64, factor: u64) -> u64 {
    most.saturating_mul(factor).min(MOST_ROWS.max(most))
}

/// More rows than that are not told apart under wide limits.
const MOST_ROWS: u64 = 1 << 24;

/// Ends that are so many times as far from zero, which lies between them.
fn wider((low, high): (i64, i64), factor: u64) -> (i64, i64) {
    let factor = i64::try_from(factor).unwrap_or(i64::MAX);
    (
        low.min(0).saturating_mul(factor),
        high.max(0).saturating_mul(factor),
    )
}

fn shape(name: &str) -> Shape {
    Shape {
        qualifier: None,
        name: name.to_owned(),
        data_type: DataType::Float64,
    }
}

/// How many times as wide the wide limits are. `None` where the native operators, which alone read numbers beside a question, do not keep twice as many groups of a unit.
fn factor(groups: &Groups) -> Option<u64> {
    if !groups.sampled {
        return (groups.per_unit <= MOST_GROUPS_HELD).then_some(WIDE);
    }
    let declared = match &groups.selection {
        Selection::Listed(groups) => groups.len() as u64,
        _ => u64::MAX,
    };
    // Where all groups that there are can be kept, they are.
    let kept = if declared.max(groups.per_unit) <= MOST_GROUPS_HELD {
        WIDE_WITH_GROUPS
    } else {
        MOST_GROUPS_HELD / groups.per_unit.max(1)
    };
    Some(kept.min(WIDE_WITH_GROUPS)).filter(|factor| *factor > 1)
}

/// A question under wide limits.
struct Widened {
    aggregation: Aggregation,
    /// For each output of the question, its place there.
    outputs: Vec<Option<usize>>,
    /// For each statistic, that of the question.
    from: Vec<usize>,
}

impl Widened {
    fn of(aggregation: &Aggregation, factor: u64) -> Self {
        let sampled = aggregation.groups.sampled;
        let mut wide = aggregation.clone();
        wide.rows
            .story
            .push("once more under wider limits, to estimate what the limits cut".to_owned());
        if sampled {
            wide.groups.per_unit = wide.groups.per_unit.saturating_mul(factor);
        }
        match &mut wide.groups.selection {
            Selection::Listed(groups) => {
                let declared = groups.len() as u64;
                wide.groups.per_unit = wide
                    .groups
                    .per_unit
                    .min(declared)
                    .max(aggregation.groups.per_unit);
            }
            // Those that the question releases.
            selection => *selection = Selection::Listed(Vec::new()),
        }
        let promised = aggregation.rows_in_group.unwrap_or(u64::MAX);
        let (mut statistics, mut from) = (Vec::new(), Vec::new());
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
                    from.push(**statistic);
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
        let most = |most: u64| more(most, factor).min(promised.max(most));
        wide.in_all = aggregation
            .in_all
            .map(|in_all| in_all.times(factor, most(in_all.in_group)));
        for (statistic, from) in statistics.iter_mut().zip(&from) {
            let of = &aggregation.statistics[*from];
            let ends = ends_under_wide_limits(of, factor, most);
            in_all::bound_wide(statistic, of, ends, (factor, wide.in_all));
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
        Widened {
            aggregation: wide,
            outputs,
            from,
        }
    }
}

/// Between which ends a unit's part of a statistic lies under wide limits, in steps of its argument.
fn ends_under_wide_limits(statistic: &Statistic, factor: u64, more: impl Fn(u64) -> u64) -> (i64, i64) {
    match &statistic.measure {
        Measure::Rows { most } | Measure::Present { most, .. } => (0, more(*most) as i64),
        Measure::Mean { argument, most } => ends_of_mean(argument, more(*most)),
        Measure::Sum { low, high, .. } => wider((*low, *high), factor),
        _ => (statistic.low, statistic.high),
    }
}

/// A statistic under wide limits, where it has any.
fn widened(statistic: &Statistic, factor: u64, promised: u64, sampled: bool) -> Option<Statistic> {
    let more = |most: &u64| more(*most, factor).min(promised.max(*most));
    let mut wide = match &statistic.measure {
        // Units are cut by groups alone.
        Measure::Units if sampled => Statistic::units(),
        Measure::Rows { most } => Statistic::rows(more(most)),
        Measure::Present { argument, most } => Statistic::present(argument.clone(), more(most), ""),
        Measure::Mean { argument, most } => {
            let most = more(most);
            let ends = [argument.low, argument.high].map(|end| i128::from(end) - i128::from(argument.centre));
            let ends = ends.map(|end| end * i128::from(most));
            let bits = Steps::bits_over(ends[0].abs().max(ends[1].abs()));
            let mut wide = Statistic::mean(argument.coarser(bits), most, "");
            // What the bounding step rounds is the sum, not its parts.
            (wide.low, wide.high) = (halved(ends[0].min(0), bits), halved(ends[1].max(0), bits));
            wide
        }
        Measure::Sum { argument, low, high } => {
            let (low, high) = wider((*low, *high), factor);
            let bits = Steps::bits_over(i128::from(low).abs().max(i128::from(high).abs()));
            let [low, high] = [low, high].map(|end| halved(i128::from(end), bits));
            Statistic::sum(argument.coarser(bits), low, high, "")
        }
        _ => return None,
    };
    wide.name.clone_from(&statistic.name);
    wide.weight = statistic.weight;
    Some(wide)
}
