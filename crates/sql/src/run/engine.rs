//! What is asked of an engine: bounded plans of exact statistics. What comes back is private; it goes into `Sensitive` values and nowhere else.

use crate::Error;
use crate::understand::aggregation::{Aggregation, Measure, TREE_LEAVES};
use crate::understand::mistakes::unplannable;
use crate::understand::relation::Rows;
use crate::values::facts::{Kind, Range, Value};
use crate::values::group_name::encode;
use crate::values::steps::Steps;
use bound::{Bounding, Form, RowBounding, Secret, on_grid};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Date32Type, Float64Type, Int64Type, TimestampMicrosecondType};
use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit};
use std::collections::{BTreeMap, HashMap};

/// Exact statistics: private. No Debug, so that it cannot be printed by accident.
pub(crate) struct Measured {
    /// The groups that occur, by name, and where they are in the vectors below.
    pub(crate) groups: HashMap<Vec<u8>, usize>,
    /// For each statistic that is one number a group, its values; empty for the others.
    pub(crate) numbers: Vec<Vec<i64>>,
    /// For each statistic that is a tree, rows by (group, bin).
    pub(crate) bins: Vec<BTreeMap<(usize, i64), i64>>,
}

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
    /// Groups and numbers, and which statistic each `partial…` is.
    pub(crate) totals: (LogicalPlan, Vec<usize>),
    /// The same for rows in any order, where the catalog promises that they are sorted by unit.
    pub(crate) unsorted: Option<LogicalPlan>,
    /// One for each statistic that looks at single rows.
    pub(crate) single: Vec<(LogicalPlan, usize)>,
    pub(crate) keys: usize,
    /// Chooses the groups that count.
    pub(crate) secret: Secret,
}

impl BoundedPlans {
    /// The plans: that of the totals, and those of statistics that look at single rows.
    pub(crate) fn plans(&self) -> impl Iterator<Item = &LogicalPlan> {
        std::iter::once(&self.totals.0).chain(self.single.iter().map(|(plan, _)| plan))
    }
}

/// Plans an aggregation.
pub(crate) fn bounded_plans(
    aggregation: &Aggregation,
    form: Form,
    secret: &Secret,
) -> Result<BoundedPlans, Error> {
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
    let mut arguments: Vec<Expr> = Vec::new();
    let mut partials = Vec::new();
    let mut places = Vec::new();
    for (place, statistic) in aggregation.statistics.iter().enumerate() {
        let argument = statistic
            .argument()
            .map(|argument| argument.column(native))
            .transpose()?;
        let at = match argument {
            Some(expr) => arguments
                .iter()
                .position(|other| *other == expr)
                .unwrap_or_else(|| {
                    arguments.push(expr);
                    arguments.len() - 1
                }),
            None => 0,
        };
        if let Some(partial) = statistic.partial(at) {
            partials.push(partial);
            places.push(place);
        }
    }
    if partials.is_empty() {
        // Nothing but statistics of single rows: the totals then only tell which groups there are.
        partials.push(bound::Partial::Units);
    }
    columns.extend(
        arguments
            .iter()
            .enumerate()
            .map(|(place, expr)| expr.clone().alias(format!("argument{place}"))),
    );
    let bounding = Bounding {
        input: project(columns)?,
        unit: Column::from_name("owner"),
        keys: key_columns.clone(),
        arguments: (0..arguments.len())
            .map(|place| Column::from_name(format!("argument{place}")))
            .collect(),
        partials,
        groups,
        beside: None,
        secret: secret.clone(),
    };
    let unsorted = (form == Form::Clustered)
        .then(|| bounding.clone().plan(Form::Partitioned))
        .transpose()
        .map_err(unplannable)?;
    let totals = (bounding.plan(form).map_err(unplannable)?, places);
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
        unsorted,
        single,
        keys,
        secret: secret.clone(),
    })
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

/// One number of a column; none is zero.
pub(crate) fn number(values: &datafusion::arrow::array::PrimitiveArray<Int64Type>, row: usize) -> i64 {
    if values.is_null(row) { 0 } else { values.value(row) }
}

/// The names of a batch's groups.
pub(crate) fn names(batch: &RecordBatch, keys: usize) -> Result<Vec<Vec<u8>>, Error> {
    let columns: Vec<&ArrayRef> = batch.columns()[..keys].iter().collect();
    (0..batch.num_rows())
        .map(|row| {
            let values = columns
                .iter()
                .map(|column| value(column, row))
                .collect::<Result<Vec<Value>, Error>>()?;
            Ok(encode(&values))
        })
        .collect()
}

/// One value of a column of a kind that we know.
pub(crate) fn value(column: &ArrayRef, row: usize) -> Result<Value, Error> {
    use datafusion::arrow::datatypes::DataType;
    if column.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match column.data_type() {
        DataType::Boolean => Value::Bool(column.as_boolean().value(row)),
        DataType::Int64 => Value::Int(column.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => Value::Float(column.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8View => Value::Text(column.as_string_view().value(row).to_owned()),
        DataType::Utf8 => Value::Text(column.as_string::<i32>().value(row).to_owned()),
        DataType::Date32 => Value::Date(column.as_primitive::<Date32Type>().value(row)),
        DataType::Timestamp(datafusion::arrow::datatypes::TimeUnit::Microsecond, _) => {
            Value::Timestamp(column.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        _ => {
            return Err(Error::refused(
                "groups of this type are not understood",
                "CAST the key to a number, text, a date or a timestamp",
            ));
        }
    })
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
