//! `generate_series(a, b, step)` in FROM, written out as constants: then it is a public table as any other, and two queries with different series differ.

use crate::Error;
use crate::values::scalar::calendar::{DAY, HOUR, civil, day_of, moment_as_text};
use datafusion::sql::sqlparser::ast::{
    DataType, Expr, FunctionArg, FunctionArgExpr, Interval, Query, SetExpr, TableFactor, TimezoneInfo,
    UnaryOperator, Value, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::ops::ControlFlow;

/// Members of all series of a query together.
const MOST: usize = 10_000;

const WRITTEN: &str = "write generate_series(1, 10), generate_series(0, 100, 5) or generate_series(DATE '2024-01-01', DATE '2024-12-01', INTERVAL '1 month')";

/// Writes each series as a table of constants.
pub(crate) fn write_out(query: &mut Query) -> Result<(), Error> {
    match query.visit(&mut Series { members: 0 }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Series {
    members: usize,
}

impl VisitorMut for Series {
    type Break = Error;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        match self.table(factor) {
            Ok(None) => {}
            Ok(Some(table)) => *factor = table,
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}

impl Series {
    fn table(&mut self, factor: &TableFactor) -> Result<Option<TableFactor>, Error> {
        let TableFactor::Table {
            name,
            alias,
            args: Some(args),
            ..
        } = factor
        else {
            return Ok(None);
        };
        if !name.to_string().eq_ignore_ascii_case("generate_series") {
            return Ok(None);
        }
        let ends = args.args.iter().map(|argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(end)) => end_of(end),
            _ => None,
        });
        let ends: Option<Vec<End>> = ends.collect();
        let members = members(
            ends.as_deref().unwrap_or_default(),
            MOST.saturating_sub(self.members),
        )?;
        self.members += members.len();
        // As in PostgreSQL a series is called as its function, and its column as itself.
        let called = alias
            .as_ref()
            .map_or("generate_series", |alias| &alias.name.value);
        let column = alias.as_ref().and_then(|alias| alias.columns.first());
        let column = column.map_or(called, |column| &column.name.value);
        let quoted = |name: &str, quoted: bool| match quoted {
            true => format!("\"{}\"", name.replace('"', "\"\"")),
            false => name.to_owned(),
        };
        let in_quotes = |place: usize| {
            alias.as_ref().is_some_and(|alias| {
                let name = alias.columns.first().map(|column| &column.name);
                let name = name.filter(|_| place == 1).unwrap_or(&alias.name);
                name.quote_style.is_some()
            })
        };
        let text = format!(
            "SELECT * FROM (VALUES ({})) AS {} ({})",
            members.join("), ("),
            quoted(called, in_quotes(0)),
            quoted(column, in_quotes(1)),
        );
        let parsed = Parser::new(&GenericDialect)
            .try_with_sql(&text)
            .and_then(|mut parser| parser.parse_query());
        let found = parsed.ok().and_then(|query| match *query.body {
            SetExpr::Select(select) => select.from.into_iter().next(),
            _ => None,
        });
        found.map(|table| Some(table.relation)).ok_or_else(malformed)
    }
}

/// An argument of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Number(i64),
    /// Microseconds since 1970.
    Moment(i64),
    /// Months and microseconds.
    Interval(i64, i64),
}

/// The members of a series as SQL writes them.
fn members(ends: &[End], most: usize) -> Result<Vec<String>, Error> {
    let mut members = Vec::new();
    let mut add = |member: String| {
        if members.len() >= most {
            return Err(Error::refused(
                format!("the series of a query have at most {MOST} members together"),
                "write longer steps, or put the values into a public table",
            ));
        }
        members.push(member);
        Ok(())
    };
    let past = |at: i64, last: i64, step: i64| if step > 0 { at > last } else { at < last };
    match *ends {
        [End::Number(first), End::Number(last)] => {
            for number in first..=last {
                add(number.to_string())?;
            }
        }
        [End::Number(first), End::Number(last), End::Number(step)] if step != 0 => {
            let mut at = Some(first);
            while let Some(number) = at.filter(|number| !past(*number, last, step)) {
                add(number.to_string())?;
                at = number.checked_add(step);
            }
        }
        [End::Moment(first), End::Moment(last), End::Interval(months, rest)]
            if months.signum() * rest.signum() >= 0 && (months, rest) != (0, 0) =>
        {
            let mut at = first;
            while !past(at, last, months + rest) {
                add(format!("TIMESTAMP '{}'", moment_as_text(at)))?;
                at = later(at, months, rest);
            }
        }
        _ => return Err(malformed()),
    }
    if members.is_empty() {
        return Err(Error::refused("this series has no members", WRITTEN));
    }
    Ok(members)
}

/// The same day some months later, or the last one of a shorter month; and then some microseconds.
fn later(moment: i64, months: i64, rest: i64) -> i64 {
    let (day, of_day) = (moment.div_euclid(DAY), moment.rem_euclid(DAY));
    let (year, month, of_month) = civil(day);
    let counted = year * 12 + month - 1 + months;
    let (year, month) = (counted.div_euclid(12), counted.rem_euclid(12) + 1);
    let next = day_of(year + month / 12, month % 12 + 1, 1);
    let day = (day_of(year, month, 1) + of_month - 1).min(next - 1);
    day * DAY + of_day + rest
}

fn end_of(expression: &Expr) -> Option<End> {
    let text = |value: &Value| match value {
        Value::SingleQuotedString(text) => Some(text.clone()),
        _ => None,
    };
    match expression {
        Expr::Nested(inner) => end_of(inner),
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok().map(End::Number),
            _ => None,
        },
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => match end_of(expr)? {
            End::Number(number) => Some(End::Number(-number)),
            _ => None,
        },
        Expr::TypedString(typed) => cast(&text(&typed.value.value)?, &typed.data_type),
        Expr::Cast { expr, data_type, .. } => match expr.as_ref() {
            Expr::Value(value) => cast(&text(&value.value)?, data_type),
            // A date as a timestamp is its first moment.
            inner => end_of(inner).filter(|end| matches!(end, End::Moment(_)) && is_moment(data_type)),
        },
        Expr::Interval(Interval {
            value,
            leading_field,
            last_field: None,
            ..
        }) => {
            let Expr::Value(value) = value.as_ref() else {
                return None;
            };
            let number = match &value.value {
                Value::Number(digits, _) => digits.clone(),
                other => text(other)?,
            };
            match leading_field {
                None => interval(&number),
                Some(field) => interval(&format!("{number} {field}")),
            }
        }
        _ => None,
    }
}

fn is_moment(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Date | DataType::Timestamp(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone)
    )
}

fn cast(text: &str, data_type: &DataType) -> Option<End> {
    match data_type {
        DataType::Interval { .. } => interval(text),
        data_type if is_moment(data_type) => moment(text),
        _ => None,
    }
}

/// `1 month`, `2 weeks`, `90 minutes`.
fn interval(text: &str) -> Option<End> {
    let (number, unit) = text.trim().split_once(' ')?;
    let number: i64 = number.parse().ok()?;
    let unit = unit.trim().to_lowercase();
    let (months, rest) = match unit.strip_suffix('s').unwrap_or(&unit) {
        "year" => (12, 0),
        "quarter" => (3, 0),
        "month" => (1, 0),
        "week" => (0, 7 * DAY),
        "day" => (0, DAY),
        "hour" => (0, HOUR),
        "minute" => (0, HOUR / 60),
        "second" => (0, 1_000_000),
        _ => return None,
    };
    // A thousand years: the calendar ends before sums run over.
    let fits = number.unsigned_abs() <= 366_000;
    fits.then(|| End::Interval(number * months, number * rest))
}

/// `2024-02-29` or `2024-02-29 12:00:00`.
fn moment(text: &str) -> Option<End> {
    let (day, time) = text
        .trim()
        .split_once([' ', 'T'])
        .unwrap_or((text.trim(), "00:00"));
    let numbers = |text: &str, separator: char| -> Option<Vec<i64>> {
        let digits = |part: &str| part.bytes().all(|digit| digit.is_ascii_digit()) && part.len() <= 4;
        text.split(separator)
            .map(|part| part.parse().ok().filter(|_| digits(part)))
            .collect()
    };
    let [year, month, of_month] = numbers(day, '-')?[..] else {
        return None;
    };
    let days = day_of(year, month, of_month);
    let named =
        (1..=9999).contains(&year) && (1..=12).contains(&month) && civil(days) == (year, month, of_month);
    let (hours, minutes, seconds) = match numbers(time, ':')?[..] {
        [hours, minutes] => (hours, minutes, 0),
        [hours, minutes, seconds] => (hours, minutes, seconds),
        _ => return None,
    };
    let there = named && hours < 24 && minutes < 60 && seconds < 60;
    there.then(|| End::Moment(days * DAY + hours * HOUR + minutes * (HOUR / 60) + seconds * 1_000_000))
}

fn malformed() -> Error {
    Error::refused(
        "a series has constant ends of one kind, and a step that is not zero",
        WRITTEN,
    )
}

#[cfg(test)]
mod tests {
    use crate::understand::dialect::read;

    fn written(sql: &str) -> String {
        let mut query = read(sql).unwrap().query;
        match super::write_out(&mut query) {
            Ok(()) => query.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn series_are_tables_of_constants() {
        for (series, constants) in [
            ("generate_series(1, 3) AS g", "(VALUES (1), (2), (3)) AS g (g)"),
            (
                "generate_series(5, 1, -2) AS g(n)",
                "(VALUES (5), (3), (1)) AS g (n)",
            ),
            (
                "generate_series(7, 7)",
                "(VALUES (7)) AS generate_series (generate_series)",
            ),
            (
                "generate_series(DATE '2024-01-31', '2024-04-01'::date, INTERVAL '1 month') AS \"G\"",
                "(VALUES (TIMESTAMP '2024-01-31 00:00:00'), (TIMESTAMP '2024-02-29 00:00:00'), (TIMESTAMP '2024-03-29 00:00:00')) AS \"G\" (\"G\")",
            ),
            (
                "generate_series(TIMESTAMP '2024-02-28 18:30:00', DATE '2024-02-29', '6 hours'::interval) g",
                "(VALUES (TIMESTAMP '2024-02-28 18:30:00')) AS g (g)",
            ),
            (
                "generate_series(TIMESTAMP '2024-12-31 12:00', DATE '2025-01-02', INTERVAL '1' DAY) g",
                "(VALUES (TIMESTAMP '2024-12-31 12:00:00'), (TIMESTAMP '2025-01-01 12:00:00')) AS g (g)",
            ),
        ] {
            let expected = format!("SELECT * FROM {constants}");
            assert_eq!(written(&format!("SELECT * FROM {series}")), expected, "{series}");
        }
    }

    #[test]
    fn series_that_cannot_be_written_out_are_refused() {
        for series in [
            "generate_series(1, 3, 0)",
            "generate_series(1)",
            "generate_series(1, x)",
            "generate_series(3, 1)",
            "generate_series(1, 9223372036854775807)",
            "generate_series(9223372036854775806, 9223372036854775807, 9223372036854775807), generate_series(1, 10000)",
            "generate_series(DATE '2024-01-01', DATE '2024-02-01')",
            "generate_series(DATE '2024-01-01', DATE '2024-02-01', INTERVAL '0 days')",
            "generate_series(DATE '2024-02-30', DATE '2024-03-01', INTERVAL '1 day')",
            "generate_series(DATE '0001-01-01', DATE '9999-12-31', INTERVAL '1 day')",
            "generate_series(DATE '2024-01-01', 5, INTERVAL '1 day')",
        ] {
            let said = written(&format!("SELECT * FROM {series}"));
            assert!(said.contains("\nhint: "), "{series}: {said}");
        }
        assert_eq!(written("SELECT * FROM t"), "SELECT * FROM t");
    }
}
