//! What a curator declares of one column.

use super::document::{Node, Section};
use crate::Error;
use crate::values::facts::{Facts, Kind, Range, Value};
use crate::values::scalar::calendar;
use std::sync::Arc;
use toml::value::{Date, Datetime, Offset};

/// Whole numbers up to here are floats too, so that bounds on an integer column are exact.
const WHOLE: f64 = 9_007_199_254_740_992.0;

const DAY: i64 = 86_400;
const SECOND: i64 = 1_000_000;

/// A column as declared, and what other values than the declared ones are read as; `of_unit` is what the curator said, before the table adds what follows from it.
pub(super) fn column(node: &Node<'_>, public: bool) -> Result<(Facts, Option<String>), Error> {
    let mut section = node.section()?;
    let kind = kind(&section.need(
        "kind",
        "say what it holds: kind = \"bool\", \"int\", \"float\", \"text\", \"date\" or \"timestamp\"",
    )?)?;
    let mut facts = Facts::unknown(kind);
    if let Some(node) = section.take("bounds") {
        facts.range = Some(match kind {
            Kind::Date | Kind::Timestamp => period(&node, kind)?,
            _ => bounds(&node, kind)?,
        });
    }
    if let Some(node) = section.take("nullable") {
        facts.nullable = node.flag()?;
    }
    if let Some(node) = section.take("values") {
        let values = values(&node, kind)?;
        let hull = values.iter().filter_map(number).fold(None, |hull, number| {
            let point = Range {
                low: number,
                high: number,
            };
            Some(hull.map_or(point, |hull: Range| hull.hull(point)))
        });
        match (facts.range, hull) {
            (Some(range), Some(hull)) if hull.low < range.low || hull.high > range.high => {
                return Err(node.wrong(
                    "a value lies outside of `bounds`",
                    "widen the bounds or drop the value",
                ));
            }
            (None, Some(hull)) => facts.range = Some(hull),
            _ => {}
        }
        facts.values = Some(values);
    }
    let other = match section.take("other") {
        Some(node) => Some(other(&node, &mut facts)?),
        None => None,
    };
    if let Some(node) = section.take("periods") {
        if facts.values.is_some() {
            return Err(node.wrong(
                "`periods` are a list of values, and there is one",
                "drop one of them",
            ));
        }
        facts.values = Some(periods(&node, &facts)?);
    }
    facts.of_unit = of_unit(&mut section, public)?;
    section.finish()?;
    Ok((facts, other))
}

/// The value that stands for all that are not declared; it becomes the last of the declared ones, unless it is one already.
fn other(node: &Node<'_>, facts: &mut Facts) -> Result<String, Error> {
    const HINT: &str = "write for example values = [\"red\", \"green\"], other = \"other\"";
    let (Kind::Text, Some(values)) = (facts.kind, &facts.values) else {
        return Err(node.wrong("`other` is for columns of text with declared `values`", HINT));
    };
    let Some(text) = node.as_text() else {
        return Err(node.wrong("expected text in double quotes", HINT));
    };
    let other = bound::canonical_text(text).into_owned();
    let value = Value::Text(other.clone());
    if !values.contains(&value) {
        facts.values = Some(values.iter().cloned().chain([value]).collect());
    }
    Ok(other)
}

fn of_unit(section: &mut Section<'_>, public: bool) -> Result<bool, Error> {
    let Some(node) = section.take("of_unit") else {
        return Ok(false);
    };
    let of_unit = node.flag()?;
    if of_unit && public {
        return Err(node.wrong(
            "a public table has no units that its columns could describe",
            "drop this key",
        ));
    }
    Ok(of_unit)
}

fn kind(node: &Node<'_>) -> Result<Kind, Error> {
    Ok(match node.text()? {
        "bool" => Kind::Bool,
        "int" => Kind::Int,
        "float" => Kind::Float,
        "text" => Kind::Text,
        "date" => Kind::Date,
        "timestamp" => Kind::Timestamp,
        _ => {
            return Err(node.wrong(
                "there is no such kind",
                "expected \"bool\", \"int\", \"float\", \"text\", \"date\" or \"timestamp\"",
            ));
        }
    })
}

fn bounds(node: &Node<'_>, kind: Kind) -> Result<Range, Error> {
    const HINT: &str =
        "write the smallest and the largest value that shall count, as [0, 120]; values beyond are clamped";
    if !kind.is_number() {
        return Err(node.wrong(
            format!("bounds are for numbers, dates and timestamps, and this column is of kind {kind}"),
            "drop the bounds; for a column that groups, list its `values`",
        ));
    }
    let ends = node.array()?;
    let [low, high] = ends.as_slice() else {
        return Err(node.wrong("expected two numbers", HINT));
    };
    let end = |node: &Node<'_>| {
        let number = node
            .float()
            .ok_or_else(|| node.wrong("expected a finite number", HINT))?;
        let whole = number.fract() == 0.0 && number.abs() <= WHOLE;
        if kind == Kind::Int && !whole {
            return Err(node.wrong(
                "expected a whole number of at most 2^53 in size, because the column is of kind int",
                HINT,
            ));
        }
        Ok(number)
    };
    let (low, high) = (end(low)?, end(high)?);
    Range::new(low, high).ok_or_else(|| node.wrong("the first bound is above the second", HINT))
}

/// The first and the last day or moment, as days or microseconds since 1970.
fn period(node: &Node<'_>, kind: Kind) -> Result<Range, Error> {
    const HINT: &str =
        "write the first and the last day that groups are listed for, as [\"2020-01-01\", \"2023-12-31\"]";
    let ends = node.array()?;
    let [low, high] = ends.as_slice() else {
        return Err(node.wrong("expected two days", HINT));
    };
    let end = |node: &Node<'_>, last: bool| {
        let wrong = || {
            node.wrong(
                "expected a day such as 2026-11-15, or, in a column of timestamps of the years 1700 to 2254, a moment such as 2026-11-15T08:30:00",
                HINT,
            )
        };
        let moment = moment(node).ok_or_else(wrong)?;
        let day = days(&moment.date.ok_or_else(wrong)?);
        let number = match (kind, moment.time, moment.offset) {
            (Kind::Date, None, None) => day,
            // A day as the last one is all of that day.
            (Kind::Timestamp, None, None) => (day + i64::from(last)) * DAY * SECOND - i64::from(last),
            (Kind::Timestamp, Some(_), _) => microseconds(&moment).ok_or_else(wrong)?,
            _ => return Err(wrong()),
        };
        // Beyond, ends would not be exact.
        match number as f64 {
            number if number.abs() <= WHOLE => Ok(number),
            _ => Err(wrong()),
        }
    };
    let (low, high) = (end(low, false)?, end(high, true)?);
    Range::new(low, high).ok_or_else(|| node.wrong("the first bound is after the second", HINT))
}

/// Every period that has a day between the bounds, by its first day.
fn periods(node: &Node<'_>, facts: &Facts) -> Result<Arc<[Value]>, Error> {
    /// As many as are listed of whole numbers.
    const MOST: usize = 10_000;
    const HINT: &str = "expected \"day\", \"week\", \"month\", \"quarter\" or \"year\", for a column that holds the first day of each; of other days, group by date_trunc('month', x), which needs bounds alone";
    if !matches!(facts.kind, Kind::Date | Kind::Timestamp) {
        return Err(node.wrong(
            format!(
                "periods are for dates and timestamps, and this column is of kind {}",
                facts.kind
            ),
            "drop this key",
        ));
    }
    let Some(range) = facts.range else {
        return Err(node.wrong(
            "periods need `bounds`, between which they are listed",
            "declare bounds = [\"2020-01-01\", \"2023-12-31\"]",
        ));
    };
    let name = node.text()?;
    if !calendar::PERIODS.contains(&name) {
        return Err(node.wrong("there is no such period", HINT));
    }
    let microseconds = DAY * SECOND;
    let day = |end: f64| match facts.kind {
        Kind::Date => end as i64,
        _ => (end as i64).div_euclid(microseconds),
    };
    let starts = calendar::periods(name, day(range.low), day(range.high));
    if starts.len() > MOST {
        return Err(node.wrong(
            format!("there are more than {MOST} periods between the bounds"),
            "declare longer periods, or bounds that are nearer to each other",
        ));
    }
    let value = |start: i64| match facts.kind {
        Kind::Date => i32::try_from(start).ok().map(Value::Date),
        _ => start.checked_mul(microseconds).map(Value::Timestamp),
    };
    let values: Option<Vec<Value>> = starts.into_iter().map(value).collect();
    values
        .map(Arc::from)
        .ok_or_else(|| node.wrong("there is no such day in the calendar", HINT))
}

fn values(node: &Node<'_>, kind: Kind) -> Result<Arc<[Value]>, Error> {
    let elements = node.array()?;
    if elements.is_empty() {
        return Err(node.wrong(
            "an empty list of values",
            "list every value that the column may take, or drop the key",
        ));
    }
    let mut values: Vec<Value> = Vec::with_capacity(elements.len());
    let mut seen = std::collections::BTreeSet::new();
    for element in &elements {
        let value = value(element, kind)?;
        if !seen.insert(identity(&value)) {
            return Err(element.wrong("this value is listed twice", "list each value once"));
        }
        values.push(value);
    }
    Ok(values.into())
}

/// Something that is equal for equal values; in particular for 0.0 and −0.0, which a query cannot tell apart.
fn identity(value: &Value) -> (u64, String) {
    let (number, text) = match value {
        Value::Null => (0, ""),
        Value::Bool(value) => (u64::from(*value), ""),
        Value::Int(value) => (*value as u64, ""),
        Value::Float(value) => ((value + 0.0).to_bits(), ""),
        Value::Text(value) => (0, value.as_str()),
        Value::Date(value) => (i64::from(*value) as u64, ""),
        Value::Timestamp(value) => (*value as u64, ""),
    };
    (number, text.to_owned())
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(value) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        _ => None,
    }
}

/// A value of this kind.
pub(super) fn value(node: &Node<'_>, kind: Kind) -> Result<Value, Error> {
    let wrong = |expected: &str| {
        node.wrong(
            format!("expected {expected}"),
            format!("the column is of kind {kind}"),
        )
    };
    match kind {
        Kind::Bool => node
            .as_flag()
            .map(Value::Bool)
            .ok_or_else(|| wrong("true or false")),
        Kind::Int => node
            .integer()
            .map(Value::Int)
            .ok_or_else(|| wrong("a whole number of 64 bits")),
        Kind::Float => node
            .float()
            .map(|value| Value::Float(value + 0.0))
            .ok_or_else(|| wrong("a finite number")),
        // Data is compared with it in canonical form.
        Kind::Text => node
            .as_text()
            .map(|value| Value::Text(bound::canonical_text(value).into_owned()))
            .ok_or_else(|| wrong("text in double quotes")),
        Kind::Date => moment(node)
            .filter(|moment| moment.time.is_none() && moment.offset.is_none())
            .and_then(|moment| i32::try_from(days(&moment.date?)).ok())
            .map(Value::Date)
            .ok_or_else(|| wrong("a day such as 2026-11-15")),
        Kind::Timestamp => moment(node)
            .and_then(|moment| microseconds(&moment))
            .map(Value::Timestamp)
            .ok_or_else(|| wrong("a moment such as 2026-11-15T08:30:00")),
    }
}

/// A day or moment, as TOML's own or in quotes.
fn moment(node: &Node<'_>) -> Option<Datetime> {
    node.as_moment().or_else(|| node.as_text()?.parse().ok())
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar.
fn days(date: &Date) -> i64 {
    let (month, day) = (i64::from(date.month), i64::from(date.day));
    // Years begin in March, so that the leap day is the last of its year: months then begin on days (153 m + 2) / 5.
    let year = i64::from(date.year) - i64::from(month <= 2);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year;
    // 719,468 days lie between 0000-03-01 and 1970-01-01.
    days - 719_468
}

/// Microseconds since 1970-01-01 at UTC; a moment without an offset is taken to be there.
fn microseconds(moment: &Datetime) -> Option<i64> {
    let time = moment.time?;
    let minutes = match moment.offset {
        None | Some(Offset::Z) => 0,
        Some(Offset::Custom { minutes }) => i64::from(minutes),
    };
    let seconds = days(&moment.date?) * DAY
        + i64::from(time.hour) * 3600
        + i64::from(time.minute) * 60
        + i64::from(time.second.unwrap_or(0))
        - minutes * 60;
    Some(seconds * SECOND + i64::from(time.nanosecond.unwrap_or(0)) / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_1970() {
        let day = |text: &str| days(&text.parse::<Datetime>().unwrap().date.unwrap());
        assert_eq!(day("1970-01-01"), 0);
        assert_eq!(day("1969-12-31"), -1);
        assert_eq!(day("2000-02-29"), 11_016);
        assert_eq!(day("2000-03-01"), 11_017);
        assert_eq!(day("1900-03-01"), -25_508);
        assert_eq!(day("2026-11-15"), 20_772);
        assert_eq!(day("0001-01-01"), -719_162);
    }

    #[test]
    fn moments_are_at_utc() {
        let moment = |text: &str| microseconds(&text.parse::<Datetime>().unwrap()).unwrap();
        assert_eq!(moment("1970-01-01T00:00:01"), 1_000_000);
        assert_eq!(moment("1970-01-01T02:00:00+02:00"), 0);
        assert_eq!(moment("1970-01-01T00:00:00.000123Z"), 123);
        assert_eq!(moment("1969-12-31T23:59:59"), -1_000_000);
    }
}
