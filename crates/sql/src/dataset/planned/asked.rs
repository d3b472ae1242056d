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

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::logical_expr::{col, lit};
    use std::path::Path;

    /// The attributes of a release: whole numbers in bins, floats in bins with more beyond, text, and truth values with NULL.
    fn attributes() -> Vec<Attribute> {
        let text = "name = \"x\"\n[unit]\nwhose = \"person\"\n[budget]\nepsilon = 1\n\
            [tables.t]\nsource = \"t.csv\"\neach_row = true\n[tables.t.columns]\n\
            age = { kind = \"int\", bounds = [0, 99], nullable = false }\nx = { kind = \"float\", bounds = [0, 2], nullable = false }\n\
            sex = { kind = \"text\", values = [\"f\", \"m\", \"o\"], nullable = false }\nsmoker = { kind = \"bool\" }\n\
            [releases.r]\ntable = \"t\"\nepsilon = 1\nup_to = 1\n[releases.r.attributes]\n\
            age = { bins = [0, 18, 65, 99] }\nx = { bins = [0, 1, 2], beyond = true }\nsex = {}\nsmoker = {}\n";
        Catalog::parse(text, Path::new("/"))
            .unwrap()
            .releases
            .remove("r")
            .unwrap()
            .attributes
    }

    #[test]
    fn a_condition_takes_whole_cells_or_is_not_told() {
        let attributes = attributes();
        let taken = |condition: Expr| {
            let (place, factors) = taken(&condition, &attributes)?;
            let cells: String = factors
                .iter()
                .map(|factor| if *factor == 1.0 { '1' } else { '0' })
                .collect();
            Some((attributes[place].name.clone(), cells))
        };
        let told = |condition: Expr, attribute: &str, cells: &str| {
            assert_eq!(
                taken(condition.clone()),
                Some((attribute.to_owned(), cells.to_owned())),
                "{condition}"
            );
        };
        let (age, x, sex, smoker) = (|| col("age"), || col("x"), || col("sex"), || col("smoker"));
        // 0 to 17, 18 to 64 and 65 to 99, with both ends.
        told(age().lt(lit(18i64)), "age", "100");
        told(age().lt_eq(lit(17i64)), "age", "100");
        told(age().gt(lit(17.5)), "age", "011");
        told(age().gt_eq(lit(65i64)), "age", "001");
        told(age().between(lit(18i64), lit(64i64)), "age", "010");
        told(age().gt_eq(lit(18i64)).and(age().lt(lit(65i64))), "age", "010");
        told(age().lt(lit(18i64)).or(age().gt_eq(lit(65i64))), "age", "101");
        told(Expr::Not(Box::new(age().gt_eq(lit(65i64)))), "age", "110");
        told(age().eq(lit(200i64)), "age", "000");
        told(age().is_not_null(), "age", "111");
        for differs in [
            age().lt(lit(20i64)),
            age().eq(lit(18i64)),
            age().gt(lit(18i64)),
            age().in_list(vec![lit(3i64)], false),
            (age() + lit(1i64)).lt(lit(18i64)),
            age().lt(col("x")),
        ] {
            assert_eq!(taken(differs.clone()), None, "{differs}");
        }
        // Below 0, 0 to below 1, 1 to below 2, 2 and more.
        told(x().lt(lit(1.0)), "x", "1100");
        told(x().gt_eq(lit(2i64)), "x", "0001");
        told(lit(1.0).gt(x()), "x", "1100");
        assert_eq!(
            taken(x().lt_eq(lit(1.0))),
            None,
            "some of a cell are 1, and some are not"
        );
        told(sex().eq(lit("f")), "sex", "100");
        told(sex().not_eq(lit("f")), "sex", "011");
        told(sex().in_list(vec![lit("m"), lit("nobody")], false), "sex", "010");
        told(sex().in_list(vec![lit("m")], true), "sex", "101");
        // False, true and NULL: what is NULL is taken by neither.
        told(smoker(), "smoker", "010");
        told(Expr::Not(Box::new(smoker())), "smoker", "100");
        told(smoker().is_null(), "smoker", "001");
        told(smoker().not_eq(lit(true)), "smoker", "100");
        told(smoker().in_list(vec![lit(true)], true), "smoker", "100");
    }
}
