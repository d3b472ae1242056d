//! SQL that a release has answered already: counts by its attributes, of rows that conditions on its attributes tell.
//!
//! Such a question is a sum of cells for each of its groups: those whose values have a factor 1 in each attribute that it names. Which cells a condition takes is computed on each cell; where a cell has
//! rows that fulfil it and rows that do not, the release does not tell, and the question is asked of the data as ever.

use crate::catalog::{Attribute, Catalog};
use crate::finish::estimate::{CONFIDENCE, Estimate};
use crate::price::planned::DeclaredRelease;
use crate::price::question::Question;
use crate::understand::aggregation::{Aggregation, Measure, Output, Selection};
use crate::understand::relation::table_of;
use crate::values::facts::Value;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use tables::Measurements;

/// For attributes by their places, a factor for each value.
pub(crate) type Factors = Vec<(usize, Vec<f64>)>;

/// More groups than this are not added up one by one.
const MOST_GROUPS: usize = 10_000;

/// What each group of each part of a question is a sum of; `None` if the release does not tell.
pub(crate) fn factors(
    question: &Question,
    release: &DeclaredRelease,
    catalog: &Catalog,
) -> Option<Vec<Vec<Factors>>> {
    // Rows that a condition leaves out are in no cell.
    if release.release.condition.is_some() || release.tabulation.rows != 1 {
        return None;
    }
    let asked = question.split.aggregations.iter().zip(&question.split.asked);
    let mut parts = asked.take(question.visible).peekable();
    parts.peek()?;
    parts
        .map(|(aggregation, rows)| of_aggregation(aggregation, rows, release, catalog))
        .collect()
}

/// Whether a release may tell this question: it counts rows by listed groups, and is about a table with one row a unit. Looks at the question alone.
pub(crate) fn may_be_told(question: &Question) -> bool {
    let mut asked = question
        .split
        .aggregations
        .iter()
        .take(question.visible)
        .peekable();
    asked.peek().is_some() && asked.all(|aggregation| counted_groups(aggregation).is_some())
}

/// The groups of an aggregation that does nothing but count rows; `None` if it does more.
fn counted_groups(aggregation: &Aggregation) -> Option<&[Vec<Value>]> {
    let Selection::Listed(groups) = &aggregation.groups.selection else {
        return None;
    };
    let counts = |output: &Output| {
        let Output::Plain { statistic } = output else {
            return false;
        };
        let measure = aggregation.statistics.get(*statistic).map(|one| &one.measure);
        matches!(measure, Some(Measure::Units | Measure::Rows { .. }))
    };
    // Where each unit has one row, rows are units, and nothing of any unit is cut.
    let one_row = aggregation.rows.rows_per_unit == Some(1);
    let few = groups.len() <= MOST_GROUPS;
    (one_row && few && aggregation.outputs.iter().all(counts)).then_some(groups)
}

/// The sums, with their intervals; `None` if what was measured does not tell them.
pub(crate) fn estimates(factors: &[Factors], measurements: &Measurements) -> Option<Vec<Estimate>> {
    let summed = factors.iter().map(|factors| {
        let sum = measurements.sum(factors).ok()?;
        Some(Estimate {
            value: Some(sum.value),
            interval: Some(sum.interval(CONFIDENCE)),
            wide: Some(sum.interval(f64::midpoint(1.0, CONFIDENCE))),
        })
    });
    summed.collect()
}

fn of_aggregation(
    aggregation: &Aggregation,
    rows: &LogicalPlan,
    release: &DeclaredRelease,
    catalog: &Catalog,
) -> Option<Vec<Factors>> {
    let groups = counted_groups(aggregation)?;
    let mut conditions = Vec::new();
    of_table(rows, release, catalog, &mut conditions)?;
    let attributes = &release.release.attributes;
    let mut filtered: Factors = Vec::new();
    for condition in conditions {
        multiply(&mut filtered, taken(condition, attributes)?);
    }
    let keys: Option<Vec<usize>> = aggregation
        .keys
        .iter()
        .map(|key| {
            let Expr::Column(column) = key.expr.clone().unalias() else {
                return None;
            };
            let is_meant = |one: &Attribute| one.column == column.name && one.cells.listed().is_some();
            attributes.iter().position(is_meant)
        })
        .collect();
    let keys = keys?;
    let of_group = |group: &Vec<Value>| {
        let mut factors = filtered.clone();
        for (attribute, value) in keys.iter().zip(group) {
            let cells = &attributes[*attribute].cells;
            let mut only = vec![0.0; cells.len()];
            only[cells.place_of(value)?] = 1.0;
            multiply(&mut factors, (*attribute, only));
        }
        Some(factors)
    };
    groups.iter().map(of_group).collect()
}

/// Adds a factor; two of one attribute become one.
fn multiply(factors: &mut Factors, (attribute, by): (usize, Vec<f64>)) {
    match factors.iter_mut().find(|(other, _)| *other == attribute) {
        Some((_, known)) => known.iter_mut().zip(by).for_each(|(known, by)| *known *= by),
        None => factors.push((attribute, by)),
    }
}

/// That these are rows of the release's table, and under which conditions.
fn of_table<'p>(
    rows: &'p LogicalPlan,
    release: &DeclaredRelease,
    catalog: &Catalog,
    conditions: &mut Vec<&'p Expr>,
) -> Option<()> {
    match rows {
        LogicalPlan::TableScan(scan) => {
            let (name, _) = table_of(catalog, &scan.table_name)?;
            (*name == release.release.table).then_some(())
        }
        LogicalPlan::Filter(filter) => {
            conditions.extend(split_conjunction(&filter.predicate));
            of_table(&filter.input, release, catalog, conditions)
        }
        LogicalPlan::SubqueryAlias(alias) => of_table(&alias.input, release, catalog, conditions),
        _ => None,
    }
}

/// Which cells of which attribute a condition takes.
fn taken(condition: &Expr, attributes: &[Attribute]) -> Option<(usize, Vec<f64>)> {
    let mut columns = condition.column_refs().into_iter();
    let (Some(column), None) = (columns.next(), columns.next()) else {
        return None;
    };
    let factor = |cell: &Content| {
        let holds = truth(condition, cell)?;
        Some(if holds == Truth::True { 1.0 } else { 0.0 })
    };
    let named = attributes
        .iter()
        .enumerate()
        .filter(|(_, one)| one.column == column.name);
    let mut decided = named.filter_map(|(place, attribute)| {
        let factors: Option<Vec<f64>> = contents(attribute).iter().map(factor).collect();
        Some((place, factors?))
    });
    decided.next()
}

/// What the rows of a cell have in a column.
enum Content {
    Value(Value),
    /// A number not below `low` and not above `high`, or below it if it is `open`; there is one for each number between.
    Between {
        low: f64,
        high: f64,
        open: bool,
    },
}

/// What is in each cell of an attribute.
fn contents(attribute: &Attribute) -> Vec<Content> {
    let cells = &attribute.cells;
    let mut contents: Vec<Content> = match cells.edges() {
        None => cells
            .listed()
            .unwrap_or_default()
            .iter()
            .cloned()
            .map(Content::Value)
            .collect(),
        Some((edges, closed, beyond)) => between(edges, closed, beyond),
    };
    if cells.null().is_some() {
        contents.push(Content::Value(Value::Null));
    }
    contents
}

fn between(edges: &[Value], closed: bool, beyond: bool) -> Vec<Content> {
    let number = |value: &Value| match value {
        Value::Int(value) => (*value as f64, true),
        Value::Float(value) => (*value, false),
        // Of days and moments nothing is compared.
        _ => (f64::NAN, false),
    };
    let mut ends: Vec<(f64, bool)> = edges.iter().map(number).collect();
    if beyond {
        let whole = ends.first().is_some_and(|(_, whole)| *whole);
        ends.insert(0, (f64::NEG_INFINITY, whole));
        ends.push((f64::INFINITY, whole));
    }
    let last = ends.len().saturating_sub(2);
    let pairs = ends.windows(2).enumerate();
    pairs
        .map(|(place, pair)| {
            let ((low, _), (high, whole)) = (pair[0], pair[1]);
            // The largest whole number below an edge is known.
            match (closed && place == last, whole) {
                (true, _) => Content::Between {
                    low,
                    high,
                    open: false,
                },
                (false, true) => Content::Between {
                    low,
                    high: high - 1.0,
                    open: false,
                },
                (false, false) => Content::Between {
                    low,
                    high,
                    open: true,
                },
            }
        })
        .collect()
}

/// SQL's three truth values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Truth {
    True,
    False,
    Null,
}

impl Truth {
    fn of(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }

    fn not(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Null => Self::Null,
        }
    }
}

/// Whether a condition on one column holds for all rows of a cell alike, and what it is then; `None` where it differs, or is of a form that is not looked at.
fn truth(condition: &Expr, cell: &Content) -> Option<Truth> {
    let null = matches!(cell, Content::Value(Value::Null));
    match condition {
        Expr::Alias(alias) => truth(&alias.expr, cell),
        Expr::Not(inner) => truth(inner, cell).map(Truth::not),
        Expr::IsNull(inner) if is_column(inner) => Some(Truth::of(null)),
        Expr::IsNotNull(inner) if is_column(inner) => Some(Truth::of(!null)),
        Expr::Column(_) => match cell {
            Content::Value(Value::Bool(value)) => Some(Truth::of(*value)),
            Content::Value(Value::Null) => Some(Truth::Null),
            _ => None,
        },
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::And | Operator::Or => {
                // NOT (a AND b) is NOT a OR NOT b.
                let turned = |truth: Truth| if *op == Operator::Or { truth.not() } else { truth };
                let (one, other) = (truth(left, cell)?, truth(right, cell)?);
                Some(turned(match (turned(one), turned(other)) {
                    (Truth::False, _) | (_, Truth::False) => Truth::False,
                    (Truth::True, Truth::True) => Truth::True,
                    _ => Truth::Null,
                }))
            }
            _ if is_column(left) => compared(cell, *op, right),
            _ if is_column(right) => compared(cell, op.swap()?, left),
            _ => None,
        },
        Expr::Between(between) if is_column(&between.expr) => {
            let low = compared(cell, Operator::GtEq, &between.low)?;
            let high = compared(cell, Operator::LtEq, &between.high)?;
            let within = match (low, high) {
                (Truth::True, Truth::True) => Truth::True,
                (Truth::False, _) | (_, Truth::False) => Truth::False,
                _ => Truth::Null,
            };
            Some(if between.negated { within.not() } else { within })
        }
        Expr::InList(list) if is_column(&list.expr) => {
            let mut found = Truth::False;
            for one in &list.list {
                match compared(cell, Operator::Eq, one)? {
                    Truth::True => found = Truth::True,
                    Truth::Null if found == Truth::False => found = Truth::Null,
                    _ => {}
                }
            }
            Some(if list.negated { found.not() } else { found })
        }
        _ => None,
    }
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Column(_))
}

/// A column compared with a constant.
fn compared(cell: &Content, op: Operator, constant: &Expr) -> Option<Truth> {
    let Expr::Literal(constant, _) = constant else {
        return None;
    };
    match cell {
        Content::Value(Value::Null) => Some(Truth::Null),
        Content::Value(value) => ordered(value, constant).and_then(|order| {
            Some(Truth::of(match op {
                Operator::Eq => order.is_eq(),
                Operator::NotEq => order.is_ne(),
                Operator::Lt => order.is_lt(),
                Operator::LtEq => order.is_le(),
                Operator::Gt => order.is_gt(),
                Operator::GtEq => order.is_ge(),
                _ => return None,
            }))
        }),
        Content::Between { low, high, open } => {
            let number = as_number(constant)?;
            let (low, high) = (*low, *high);
            if low.is_nan() || high.is_nan() {
                return None;
            }
            // Whether all numbers of the cell are below, and whether none is.
            let below = || match (high < number || (*open && high <= number), low >= number) {
                (true, _) => Some(Truth::True),
                (_, true) => Some(Truth::False),
                _ => None,
            };
            let not_above = || match (high <= number, low > number) {
                (true, _) => Some(Truth::True),
                (_, true) => Some(Truth::False),
                _ => None,
            };
            match op {
                Operator::Lt => below(),
                Operator::LtEq => not_above(),
                Operator::Gt => not_above().map(Truth::not),
                Operator::GtEq => below().map(Truth::not),
                Operator::Eq | Operator::NotEq => {
                    let outside = number < low || number > high || (*open && number >= high);
                    let alone = low == high && number == low && !*open;
                    let equal = (outside || alone).then(|| Truth::of(alone))?;
                    Some(if op == Operator::Eq { equal } else { equal.not() })
                }
                _ => None,
            }
        }
    }
}

/// How a value and a constant are ordered, where they are of one kind.
fn ordered(value: &Value, constant: &ScalarValue) -> Option<std::cmp::Ordering> {
    /// Whole numbers up to here are floats too.
    const WHOLE: u64 = 1 << 53;
    match (value, constant) {
        (Value::Bool(value), ScalarValue::Boolean(Some(constant))) => Some(value.cmp(constant)),
        (Value::Text(value), ScalarValue::Utf8(Some(constant)) | ScalarValue::Utf8View(Some(constant))) => {
            Some(value.as_str().cmp(&*bound::canonical_text(constant)))
        }
        (Value::Int(value), ScalarValue::Int64(Some(constant))) => Some(value.cmp(constant)),
        (Value::Int(value), constant) if value.unsigned_abs() <= WHOLE => {
            (*value as f64).partial_cmp(&as_number(constant)?)
        }
        (Value::Float(value), constant) => value.partial_cmp(&as_number(constant)?),
        _ => None,
    }
}

fn as_number(constant: &ScalarValue) -> Option<f64> {
    /// Whole numbers up to here are floats too.
    const WHOLE: u64 = 1 << 53;
    match constant {
        ScalarValue::Int64(Some(value)) if value.unsigned_abs() <= WHOLE => Some(*value as f64),
        ScalarValue::Float64(Some(value)) if value.is_finite() => Some(*value),
        _ => None,
    }
}
