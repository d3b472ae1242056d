//! What is asked of an engine: bounded plans of exact statistics.

use crate::Error;
#[cfg(test)]
use crate::mutants::{Mutant, planted};
use crate::price::cut::Cut;
use crate::understand::aggregation::{Aggregation, Argument, Measure, TREE_LEAVES, in_all};
use crate::understand::mistakes::unplannable;
use crate::understand::relation::Rows;
use crate::values::facts::{Kind, Range};
use crate::values::steps::Steps;
use bound::{Bounding, Form, Length, Partial, RowBounding, Secret, on_grid};
use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit};

/// How the bounding step is done, from what the catalog knows. There is none only where the catalog itself promises one row a unit.
pub(crate) fn form(rows: &Rows) -> Form {
    if !rows.has_unit || (rows.promised && rows.rows_per_unit == Some(1)) {
        Form::Plain
    } else if rows.clustered {
        Form::Clustered
    } else {
        Form::Partitioned
    }
}

/// The engine's plans for an aggregation, over scans that are not bound to data yet.
pub(crate) struct BoundedPlans {
    /// Groups and numbers.
    pub(crate) totals: LogicalPlan,
    /// What is read of these numbers, each for an aggregation of its own.
    pub(crate) read: Vec<Reading>,
    /// The same for rows in any order, where the catalog promises that they are sorted by unit.
    pub(crate) unsorted: Option<LogicalPlan>,
    /// One for each statistic that looks at single rows.
    pub(crate) single: Vec<(LogicalPlan, usize)>,
    pub(crate) keys: usize,
    /// Chooses the groups that count.
    pub(crate) secret: Secret,
}

/// Which numbers of a pass are those of an aggregation.
pub(crate) struct Reading {
    /// The aggregation, by its place in the question.
    pub(crate) aggregation: usize,
    /// Of which statistic each number is, and where it is.
    pub(crate) numbers: Vec<(usize, usize)>,
    /// Where the number of units is that a group needs one of to be there.
    pub(crate) units: Option<usize>,
    /// Whether the numbers describe all units, and are added up over all groups.
    pub(crate) of_all: bool,
}

impl BoundedPlans {
    /// The plans: that of the totals, and those of statistics that look at single rows.
    pub(crate) fn plans(&self) -> impl Iterator<Item = &LogicalPlan> {
        std::iter::once(&self.totals).chain(self.single.iter().map(|(plan, _)| plan))
    }
}

/// Plans the aggregations of a question: a pass for each that reads rows by itself, and for each of its statistics that looks at single rows. What the limits cut is read in the pass of what it is about.
pub(crate) fn bounded_plans(
    aggregations: &[Aggregation],
    cuts: &[Cut],
    secret: &Secret,
) -> Result<Vec<BoundedPlans>, Error> {
    bounded_plans_in(aggregations, cuts, secret, form)
}

/// The same with a choice of how the bounding step is done.
pub(crate) fn bounded_plans_in(
    aggregations: &[Aggregation],
    cuts: &[Cut],
    secret: &Secret,
    form: impl Fn(&Rows) -> Form,
) -> Result<Vec<BoundedPlans>, Error> {
    let beside = |place: usize| cuts.iter().any(|cut| [cut.overview, cut.wide].contains(&place));
    let passes = (0..aggregations.len()).filter(|place| !beside(*place));
    passes
        .map(|place| {
            let cut = cuts.iter().find(|cut| cut.question == place);
            bounded_plan(aggregations, place, cut, form(&aggregations[place].rows), secret)
        })
        .collect()
}

/// The arguments of a pass, each once.
#[derive(Default)]
struct Arguments(Vec<Expr>);

impl Arguments {
    fn place(&mut self, argument: &Argument, native: bool) -> Result<usize, Error> {
        let expr = argument.column(native)?;
        Ok(match self.0.iter().position(|other| *other == expr) {
            Some(place) => place,
            None => {
                self.0.push(expr);
                self.0.len() - 1
            }
        })
    }
}

fn bounded_plan(
    aggregations: &[Aggregation],
    place: usize,
    cut: Option<&Cut>,
    form: Form,
    secret: &Secret,
) -> Result<BoundedPlans, Error> {
    let aggregation = &aggregations[place];
    let rows = &aggregation.rows;
    let native = form != Form::Relational;
    let keys = aggregation.keys.len();
    let key_columns: Vec<Column> = (0..keys)
        .map(|place| Column::from_name(format!("group{place}")))
        .collect();
    let base = || -> Vec<Expr> {
        let unit = if rows.has_unit {
            rows.unit_expr()
        } else {
            lit(1i64)
        };
        let mut columns = vec![unit.alias("owner")];
        columns.extend(
            aggregation
                .keys
                .iter()
                .enumerate()
                .map(|(place, key)| key.expr.clone().unalias().alias(format!("group{place}"))),
        );
        columns
    };
    let project = |columns: Vec<Expr>| {
        LogicalPlanBuilder::from(rows.plan.clone())
            .project(columns)
            .and_then(LogicalPlanBuilder::build)
            .map_err(unplannable)
    };
    let groups = (keys > 0).then_some(aggregation.groups.per_unit);
    let mut columns = base();
    let mut arguments = Arguments::default();
    let mut partials = Vec::new();
    let mut totals = Vec::new();
    for (statistic, one) in aggregation.statistics.iter().enumerate() {
        let at = one
            .argument()
            .map_or(Ok(0), |argument| arguments.place(argument, native))?;
        if let Some(partial) = one.partial(at) {
            totals.push((statistic, partials.len()));
            partials.push(partial);
        }
    }
    let lengths = lengths(aggregation, &mut partials, &totals)?;
    let beside = cut
        .map(|cut| {
            let place = &mut |argument: &Argument| arguments.place(argument, native);
            cut.beside(aggregations, (&lengths, &totals), place)
        })
        .transpose()?;
    // Units tell which groups there are; under wider limits there are more.
    let mut units = None;
    if partials.is_empty() || beside.is_some() {
        let known = partials.iter().position(|partial| *partial == Partial::Units);
        units = known.or(Some(partials.len()));
        if known.is_none() {
            partials.push(Partial::Units);
        }
    }
    let mut read = vec![Reading {
        aggregation: place,
        numbers: totals,
        units: units.filter(|_| beside.is_some() && keys > 0),
        of_all: false,
    }];
    if let (Some(cut), Some(beside)) = (cut, &beside) {
        let (from, to) = (partials.len(), partials.len() + beside.partials.len());
        let numbered = |from: usize, to: usize| (from..to).enumerate().collect();
        read.push(Reading {
            aggregation: cut.overview,
            numbers: numbered(to, to + aggregations[cut.overview].statistics.len()),
            units: None,
            of_all: true,
        });
        read.push(Reading {
            aggregation: cut.wide,
            numbers: numbered(from, from + aggregations[cut.wide].statistics.len()),
            units: None,
            of_all: false,
        });
    }
    let arguments = arguments.0;
    columns.extend(
        arguments
            .iter()
            .enumerate()
            .map(|(place, expr)| expr.clone().alias(format!("argument{place}"))),
    );
    #[cfg(test)]
    let groups = match &beside {
        Some(beside) if planted(Mutant::GroupsOfTheEstimate) => beside.groups,
        _ => groups,
    };
    let bounding = Bounding {
        input: project(columns)?,
        unit: Column::from_name("owner"),
        keys: key_columns.clone(),
        arguments: (0..arguments.len())
            .map(|place| Column::from_name(format!("argument{place}")))
            .collect(),
        partials,
        groups,
        lengths,
        beside,
        secret: secret.clone(),
    };
    let unsorted = (form == Form::Clustered)
        .then(|| bounding.clone().plan(Form::Partitioned))
        .transpose()
        .map_err(unplannable)?;
    let totals = bounding.plan(form).map_err(unplannable)?;
    let mut single = Vec::new();
    for (place, statistic) in aggregation.statistics.iter().enumerate() {
        let (value, most) = match &statistic.measure {
            Measure::Tree {
                value,
                kind,
                range,
                most,
            } => (bin(value.clone(), *kind, *range, native)?, *most),
            Measure::Distinct { value, most } => (value.clone(), *most),
            Measure::Histogram { place, most, .. } => (place.clone(), *most),
            _ => continue,
        };
        let mut columns = base();
        columns.push(value.alias("single"));
        let bounding = RowBounding {
            input: project(columns)?,
            unit: Column::from_name("owner"),
            keys: key_columns.clone(),
            value: Column::from_name("single"),
            rows: most,
            groups,
            in_all: statistic.in_all.and(aggregation.in_all).map(|in_all| in_all.most),
            secret: secret.clone(),
        };
        let one = self::form(rows) == Form::Plain;
        let plan = match &statistic.measure {
            Measure::Tree { .. } | Measure::Histogram { .. } => bounding.histogram(one),
            _ => bounding.distinct(one),
        };
        single.push((plan.map_err(unplannable)?, place));
    }
    Ok(BoundedPlans {
        totals,
        read,
        unsorted,
        single,
        keys,
        secret: secret.clone(),
    })
}

/// What bounds a unit's numbers in all groups together. The number of its rows is counted for that, if it is none of the statistics.
fn lengths(
    aggregation: &Aggregation,
    partials: &mut Vec<Partial>,
    totals: &[(usize, usize)],
) -> Result<Vec<Length>, Error> {
    let rows = aggregation.in_all.map(|in_all| {
        let mut known = totals.iter().map(|(_, place)| *place);
        let known = known.find(|place| partials[*place] == in_all.partial());
        (in_all, known.unwrap_or(partials.len()))
    });
    if let Some((in_all, _)) = rows.filter(|(_, place)| *place == partials.len()) {
        partials.push(in_all.partial());
    }
    let numbers = totals.iter();
    let numbers = numbers.map(|(statistic, place)| (*place, 0, &aggregation.statistics[*statistic]));
    #[cfg_attr(not(test), expect(unused_mut, reason = "a planted defect changes them"))]
    let mut lengths = in_all::lengths(numbers, rows, unpriced)?;
    #[cfg(test)]
    if planted(Mutant::UnscaledVector) {
        lengths.iter_mut().for_each(|length| length.most = 1 << 50);
    }
    Ok(lengths)
}

fn unpriced() -> Error {
    Error::refused(
        "what one unit adds to all groups together may be more than its noise covers; nothing was charged",
        "this is a defect of Deniable; please report the query. OPTIONS(max_rows_contributed = …) does without that bound",
    )
}

/// The leaf of the tree in which a value lies, from 0. The first one is at most 2⁵² leaves from zero ([`leaf_steps`]), so the last one can be counted too.
fn bin(value: Expr, kind: Kind, range: Range, native: bool) -> Result<Expr, Error> {
    let leaf = leaf_steps(kind, range);
    let low = leaf.round(range.low);
    let placed = on_grid(value, kind, leaf.exponent(), low, low + TREE_LEAVES - 1, native);
    Ok(placed.map_err(unplannable)? - lit(low))
}

/// Leaves are a power of two wide, so that values fall into them exactly; integers at least 1.
///
/// However narrow the range is, a leaf is as wide as two neighbouring floats of the size of its ends are apart, and so no end is more than 2⁵² leaves from zero, where every place is counted exactly.
/// However wide it is, nothing overflows: its ends are divided before they are subtracted.
pub(crate) fn leaf_steps(kind: Kind, range: Range) -> Steps {
    let leaves = (TREE_LEAVES - 2) as f64;
    let width = range.high / leaves - range.low / leaves;
    let largest = range.low.abs().max(range.high.abs());
    // Of zero the logarithm is −∞, which as an integer is the least.
    let told_apart = largest.log2().floor() - f64::from(f64::MANTISSA_DIGITS - 2);
    let exponent = width.log2().ceil().max(told_apart) as i32;
    Steps::of(exponent.max(match kind {
        Kind::Int => 0,
        _ => Steps::FINEST,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers whose ranges are narrow, wide or at an end of what there is.
    const EDGES: [f64; 13] = [
        0.0,
        f64::MIN_POSITIVE,
        5e-324,
        1e-300,
        0.1,
        5.0,
        4096.0,
        1e12,
        9_007_199_254_740_992.0,
        9_223_372_036_854_775_808.0,
        1e250,
        1.7e308,
        f64::MAX,
    ];

    /// All ranges between these numbers, their negatives and their neighbours.
    fn ranges() -> Vec<Range> {
        let ends: Vec<f64> = EDGES
            .into_iter()
            .flat_map(|edge| [edge, edge.next_up(), edge.next_down()])
            .flat_map(|edge| [edge, -edge])
            .filter(|edge| edge.is_finite())
            .collect();
        let pairs = ends
            .iter()
            .flat_map(|low| ends.iter().map(move |high| (*low, *high)));
        pairs.filter_map(|(low, high)| Range::new(low, high)).collect()
    }

    #[test]
    fn every_range_has_leaves_that_can_be_counted() {
        for range in ranges() {
            for kind in [Kind::Int, Kind::Float] {
                let leaf = leaf_steps(kind, range);
                let low = leaf.round(range.low);
                assert!(low.unsigned_abs() <= 1 << 52, "{range:?} {kind}");
                let grid = bound::ValueGrid {
                    kind,
                    exponent: leaf.exponent(),
                    low: i64::MIN,
                    high: i64::MAX,
                };
                // Where the engine puts the ends: the first at the first leaf, and the last at one of them.
                assert_eq!(grid.place_of(range.low), low, "{range:?} {kind}");
                let last = grid.place_of(range.high) - low;
                assert!((0..TREE_LEAVES).contains(&last), "{range:?} {kind}: {last}");
                assert!(leaf.size().is_normal(), "{range:?} {kind}");
                let value = match kind {
                    Kind::Int => lit(1i64),
                    _ => lit(1.0f64),
                };
                for native in [true, false] {
                    let bin = bin(value.clone(), kind, range, native);
                    assert!(bin.is_ok(), "{range:?} {kind}: {bin:?}");
                }
            }
        }
    }
}
