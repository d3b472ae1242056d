//! The columns of a table as attributes, where no release says which cells they have: from what the catalog declares of them.

use super::MOST_ATTRIBUTES;
use super::attribute::{Attribute, Cells};
use crate::Error;
use crate::catalog::Table;
use crate::values::facts::{Facts, Kind, Range, Value};
use crate::values::scalar::calendar;
use std::collections::BTreeMap;

/// Whole numbers with at most so many values have a cell each.
const MOST_SINGLE: f64 = 128.0;
/// So many bins have numbers of which nothing else is said.
const BINS: u32 = 32;
/// More bins are not made of a column.
const MOST_BINS: u32 = 1_000;
/// More values of a column are not told apart.
const MOST_VALUES: usize = 10_000;
/// Periods are as long as they have to be for this many.
const MOST_PERIODS: usize = 60;

/// Columns that rows are made of.
#[derive(Clone, Debug)]
pub(crate) struct ChosenColumns {
    pub(crate) attributes: Vec<Attribute>,
    /// Columns that are not among them, each with the reason.
    pub(crate) left_out: Vec<(String, &'static str)>,
}

/// The columns of a table that can be attributes: these, or all. `bins` says how many cells of equal width some have.
///
/// # Errors
/// When a column that is named is not there, or cannot be an attribute.
pub(crate) fn of_columns(
    table: &Table,
    named: &[String],
    bins: &BTreeMap<String, u32>,
) -> Result<ChosenColumns, Error> {
    for name in named.iter().chain(bins.keys()) {
        if table.column(name).is_none() {
            let known: Vec<&str> = table.columns.iter().map(|(name, _)| name.as_str()).collect();
            return Err(Error::refused(
                format!("the table declares no column `{name}`"),
                format!(
                    "its columns are {}; upper and lower case are told apart",
                    known.join(", ")
                ),
            ));
        }
    }
    let (mut attributes, mut left_out) = (Vec::new(), Vec::new());
    for (name, facts) in &table.columns {
        let wanted = named.iter().any(|one| one == name);
        if !wanted && !named.is_empty() {
            left_out.push((name.clone(), "it was not asked for"));
            continue;
        }
        let cells = match table.identifies(name) {
            true => Err("it says whose row it is"),
            false => cells(facts, bins.get(name).copied()),
        };
        match cells {
            Ok(cells) => attributes.push(Attribute {
                name: name.clone(),
                column: name.clone(),
                kind: facts.kind,
                cells,
                hierarchy: None,
            }),
            Err(reason) if wanted || bins.contains_key(name) => {
                return Err(Error::refused(
                    format!("no rows can be made with `{name}`: {reason}"),
                    "bins come from the catalog and never from the data: declare `values` or `bounds` of the column there",
                ));
            }
            Err(reason) => left_out.push((name.clone(), reason)),
        }
    }
    if attributes.is_empty() {
        return Err(Error::refused(
            "no column of this table has declared values or bounds, so there is nothing to make rows of",
            "bins come from the catalog and never from the data: declare `values` or `bounds` of its columns there",
        ));
    }
    if attributes.len() > MOST_ATTRIBUTES.min(128) {
        return Err(Error::refused(
            format!("{} columns, and rows are made of at most 128", attributes.len()),
            "name fewer with --columns",
        ));
    }
    Ok(ChosenColumns { attributes, left_out })
}

fn cells(facts: &Facts, bins: Option<u32>) -> Result<Cells, &'static str> {
    if bins.is_some_and(|bins| !(1..=MOST_BINS).contains(&bins)) {
        return Err("between 1 and 1000 bins are made of a column");
    }
    if let Some(values) = &facts.values {
        return match (bins, values.len() <= MOST_VALUES) {
            (Some(_), _) => Err("its values are listed, so it has no bins"),
            (None, false) => Err("it has more than 10000 values"),
            (None, true) => Ok(Cells::values(values.to_vec(), facts.nullable)),
        };
    }
    if facts.kind == Kind::Bool {
        let both = vec![Value::Bool(false), Value::Bool(true)];
        return Ok(Cells::values(both, facts.nullable));
    }
    let Some(range) = facts.range else {
        return Err("neither its values nor its bounds are declared");
    };
    match facts.kind {
        Kind::Int if bins.is_none() && range.high - range.low < MOST_SINGLE => {
            let values = (range.low as i64..=range.high as i64).map(Value::Int).collect();
            Ok(Cells::values(values, facts.nullable))
        }
        Kind::Int | Kind::Float => Ok(Cells::between(
            edges(facts.kind, range, bins.unwrap_or(BINS)),
            false,
            facts.nullable,
        )),
        Kind::Date | Kind::Timestamp if bins.is_some() => Err("days and moments have periods, not bins"),
        Kind::Date | Kind::Timestamp => periods(facts, range).ok_or("its bounds are too far apart"),
        _ => Err("neither its values nor its bounds are declared"),
    }
}

/// Edges of bins of equal width; of whole numbers as nearly as can be.
fn edges(kind: Kind, range: Range, bins: u32) -> Vec<Value> {
    let edge = |step: u32| {
        let share = f64::from(step) / f64::from(bins);
        let at = range.low * (1.0 - share) + range.high * share;
        match kind {
            Kind::Int => Value::Int(at.round() as i64),
            _ => Value::Float(at + 0.0),
        }
    };
    let mut edges = vec![edge(0)];
    for step in 1..=bins {
        let next = if step == bins {
            match kind {
                Kind::Int => Value::Int(range.high as i64),
                _ => Value::Float(range.high),
            }
        } else {
            edge(step)
        };
        let above = match (edges.last(), &next) {
            (Some(Value::Int(last)), Value::Int(next)) => last < next,
            (Some(Value::Float(last)), Value::Float(next)) => last < next,
            _ => false,
        };
        if above {
            edges.push(next);
        }
    }
    // A range of one number is one bin.
    if edges.len() == 1 {
        let only = edges[0].clone();
        edges.push(only);
    }
    edges
}

/// Days, months or years: the shortest of which there are not too many.
fn periods(facts: &Facts, range: Range) -> Option<Cells> {
    let day = |end: f64| match facts.kind {
        Kind::Date => end as i64,
        _ => (end as i64).div_euclid(calendar::DAY),
    };
    let (low, high) = (day(range.low), day(range.high));
    if (high - low) / 366 > MOST_VALUES as i64 {
        return None;
    }
    let value = |start: i64| match facts.kind {
        Kind::Date => i32::try_from(start).ok().map(Value::Date),
        _ => start.checked_mul(calendar::DAY).map(Value::Timestamp),
    };
    let mut best = None;
    for period in ["year", "quarter", "month", "day"] {
        if period == "day" && high - low > MOST_PERIODS as i64 {
            break;
        }
        let mut starts = calendar::periods(period, low, high);
        if best.is_some() && starts.len() > MOST_PERIODS {
            break;
        }
        // Where the last period ends, the next begins.
        let last = *starts.last().unwrap_or(&low);
        starts.extend(calendar::periods(period, last, last + 366).get(1));
        let edges: Option<Vec<Value>> = starts.into_iter().map(value).collect();
        best = edges
            .map(|edges| Cells::periods(edges, period, facts.nullable))
            .or(best);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(kind: Kind, low: f64, high: f64) -> Facts {
        Facts {
            range: Range::new(low, high),
            nullable: false,
            ..Facts::unknown(kind)
        }
    }

    #[test]
    fn cells_follow_from_declarations() {
        assert_eq!(cells(&number(Kind::Int, 0.0, 99.0), None).unwrap().len(), 100);
        assert_eq!(cells(&number(Kind::Int, 0.0, 99.0), Some(10)).unwrap().len(), 10);
        assert_eq!(cells(&number(Kind::Int, 0.0, 100_000.0), None).unwrap().len(), 32);
        assert_eq!(cells(&number(Kind::Int, 0.0, 3.0), Some(10)).unwrap().len(), 3);
        assert_eq!(cells(&number(Kind::Float, -1.0, 1.0), None).unwrap().len(), 32);
        // 2024-01-15 to 2024-02-10 are days, and from 2020 to 2025 months.
        assert_eq!(
            cells(&number(Kind::Date, 19_737.0, 19_763.0), None)
                .unwrap()
                .len(),
            27
        );
        assert_eq!(
            cells(&number(Kind::Date, 18_262.0, 20_088.0), None)
                .unwrap()
                .len(),
            60
        );
        let names = Facts {
            nullable: true,
            ..Facts::unknown(Kind::Bool)
        };
        assert_eq!(cells(&names, None).unwrap().len(), 3, "NULL is a value");
        assert!(cells(&Facts::unknown(Kind::Text), None).is_err());
        assert!(cells(&number(Kind::Int, 0.0, 9.0), Some(0)).is_err());
    }
}
