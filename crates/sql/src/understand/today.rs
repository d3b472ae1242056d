//! CURRENT_DATE, now() and age().
//!
//! Today changes between two questions that are the same, so it is the day of the data: what the catalog declares as its version, where that is a date. And `age(a, b)` is an interval, which is no kind of
//! private values; of it the whole years are understood, and the months beyond them, as numbers computed of the parts of both dates.

use crate::Error;
use crate::catalog::Catalog;
use crate::understand::dialect::LENGTH;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DateTimeField, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    ObjectNamePart, Query, Value, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::ops::ControlFlow;

/// Writes dates in place of CURRENT_DATE and its like, where the catalog says which day it is, and numbers in place of the years of ages.
pub(crate) fn write(query: &mut Query, catalog: &Catalog) -> Result<(), Error> {
    let today = catalog.data.day();
    match query.visit(&mut Today { today, written: 0 }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Today {
    /// The day of the data, as `2026-11-16`.
    today: Option<String>,
    /// How much text was written more than once: ages of ages grow.
    written: usize,
}

impl VisitorMut for Today {
    type Break = Error;

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<Error> {
        match self.replacement(expression) {
            Ok(None) => {}
            Ok(Some(replacement)) => *expression = replacement,
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}

impl Today {
    fn replacement(&mut self, expression: &Expr) -> Result<Option<Expr>, Error> {
        match expression {
            // A decade is ten years from one whose number ends with 0.
            Expr::Extract {
                field: DateTimeField::Decade,
                expr,
                ..
            } => decade(expr).map(Some),
            Expr::Extract { field, expr, .. } => match call(expr) {
                Some((name, age)) if name == "age" => {
                    let part = match field {
                        DateTimeField::Year => Some(Part::Years),
                        DateTimeField::Month => Some(Part::Months),
                        _ => None,
                    };
                    self.part_of_age(part, &age).map(Some)
                }
                _ => Ok(None),
            },
            Expr::Function(function) => {
                let (name, arguments) = match called(function) {
                    Some(called) => called,
                    None => return Ok(None),
                };
                match (name.as_str(), arguments.as_slice()) {
                    ("current_date" | "today", []) => self.day("DATE"),
                    ("now" | "current_timestamp" | "localtimestamp" | "transaction_timestamp", []) => {
                        self.day("TIMESTAMP")
                    }
                    ("date_part", [part, moment]) => match call(moment) {
                        Some((name, age)) if name == "age" => {
                            self.part_of_age(Part::named(part), &age).map(Some)
                        }
                        _ => Ok(None),
                    },
                    ("age", _) => Err(no_interval()),
                    _ => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    /// The day of the data as a constant. Where there is none, the engine's own function stays, which private rows refuse.
    fn day(&self, kind: &str) -> Result<Option<Expr>, Error> {
        self.today
            .as_ref()
            .map(|day| parsed(&format!("{kind} '{day}'")))
            .transpose()
    }

    /// The whole years between two dates, cut towards zero, as PostgreSQL counts them: a year is over on the day with the same name. With each date written as a number of eight digits, they are the
    /// difference without its last four. Months are counted alike, with twelve of them in a year; those of whole years are taken off.
    fn part_of_age(&mut self, part: Option<Part>, age: &[Expr]) -> Result<Expr, Error> {
        let part = part.ok_or_else(no_interval)?;
        let (later, earlier) = match age {
            [later, earlier] => (later.clone(), earlier.clone()),
            [earlier] => {
                let today = self.day("DATE")?.ok_or_else(|| {
                    Error::refused(
                        "age(x) counts up to today, and the catalog does not say which day the data are of",
                        "write the day: EXTRACT(YEAR FROM age(DATE '2026-11-16', x)); or declare it in the catalog: [data] version = \"2026-11-16\"",
                    )
                })?;
                (today, earlier.clone())
            }
            _ => return Err(no_interval()),
        };
        self.written += later.to_string().len() + earlier.to_string().len();
        if self.written > LENGTH {
            return Err(Error::refused(
                "with its ages written out the query is longer than a mebibyte",
                "compute an age in a subquery",
            ));
        }
        let (year, last) = match part {
            Part::Years => ("10000", "10000.0"),
            Part::Months => ("1200", "100.0"),
        };
        let (later, earlier) = (digits(&later, year)?, digits(&earlier, year)?);
        let difference = nested(both(later, BinaryOperator::Minus, earlier));
        let whole = both(difference, BinaryOperator::Divide, parsed(last)?);
        let mut cut = parsed("CAST(trunc(x) AS BIGINT)")?;
        if let Expr::Cast { expr, .. } = &mut cut {
            **expr = with_arguments(parsed("trunc(x)")?, vec![whole]);
        }
        Ok(match part {
            Part::Years => cut,
            Part::Months => nested(both(cut, BinaryOperator::Modulo, parsed("12")?)),
        })
    }
}

/// The tenth of a year, rounded down.
fn decade(date: &Expr) -> Result<Expr, Error> {
    let year = with_arguments(parsed("date_part(x)")?, vec![parsed("'year'")?, date.clone()]);
    let tenth = both(year, BinaryOperator::Divide, parsed("10.0")?);
    let mut whole = parsed("CAST(floor(x) AS BIGINT)")?;
    if let Expr::Cast { expr, .. } = &mut whole
        && let Expr::Floor { expr, .. } = &mut **expr
    {
        **expr = tenth;
    }
    Ok(whole)
}

/// The parts of an age that are understood.
#[derive(Clone, Copy)]
enum Part {
    Years,
    Months,
}

impl Part {
    /// As date_part names it.
    fn named(name: &Expr) -> Option<Self> {
        let Expr::Value(value) = name else { return None };
        let Value::SingleQuotedString(name) = &value.value else {
            return None;
        };
        match name.to_lowercase().as_str() {
            "year" | "years" => Some(Self::Years),
            "month" | "months" => Some(Self::Months),
            _ => None,
        }
    }
}

/// 20261116 for the sixteenth of November 2026, if a year counts 10000; 24323 and a last 16 if it counts 1200.
fn digits(date: &Expr, year: &str) -> Result<Expr, Error> {
    let part = |name: &str, times: &str| -> Result<Expr, Error> {
        let call = with_arguments(parsed("date_part(x)")?, vec![parsed(name)?, date.clone()]);
        Ok(both(call, BinaryOperator::Multiply, parsed(times)?))
    };
    let months = both(
        part("'year'", year)?,
        BinaryOperator::Plus,
        part("'month'", "100")?,
    );
    Ok(nested(both(months, BinaryOperator::Plus, part("'day'", "1")?)))
}

fn both(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(left),
        op,
        right: Box::new(right),
    }
}

fn nested(expression: Expr) -> Expr {
    Expr::Nested(Box::new(expression))
}

fn with_arguments(mut expression: Expr, arguments: Vec<Expr>) -> Expr {
    if let Expr::Function(function) = &mut expression
        && let FunctionArguments::List(list) = &mut function.args
    {
        let arguments = arguments.into_iter();
        list.args = arguments
            .map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)))
            .collect();
    }
    expression
}

/// An expression of our own.
fn parsed(text: &str) -> Result<Expr, Error> {
    let parsed = Parser::new(&GenericDialect)
        .try_with_sql(text)
        .and_then(|mut parser| parser.parse_expr());
    parsed.map_err(|_| {
        Error::refused(
            "a date cannot be written into the query",
            "this is a defect of Deniable; please report it",
        )
    })
}

/// The name and the plain arguments of a call, in whatever parentheses it is.
fn call(expression: &Expr) -> Option<(String, Vec<Expr>)> {
    match expression {
        Expr::Nested(inner) => call(inner),
        Expr::Function(function) => called(function),
        _ => None,
    }
}

fn called(function: &Function) -> Option<(String, Vec<Expr>)> {
    let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else {
        return None;
    };
    if name.quote_style.is_some() {
        return None;
    }
    let arguments = match &function.args {
        FunctionArguments::None => Vec::new(),
        FunctionArguments::List(list) => {
            let plain = list.args.iter().map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Some(argument.clone()),
                _ => None,
            });
            plain.collect::<Option<_>>()?
        }
        FunctionArguments::Subquery(_) => return None,
    };
    Some((name.value.to_lowercase(), arguments))
}

fn no_interval() -> Error {
    Error::refused(
        "age gives an interval, which is no kind of value here",
        "write EXTRACT(YEAR FROM age(a, b)) for whole years, and EXTRACT(MONTH FROM age(a, b)) for the months beyond them; a - b of two dates are days",
    )
}

#[cfg(test)]
mod tests {
    use crate::catalog::Catalog;
    use crate::understand::planner::Planner;
    use std::path::Path;

    fn planned(version: &str, sql: &str) -> Result<String, String> {
        let catalog = crate::sample::CATALOG.replace("[unit]", &format!("[data]\n{version}\n\n[unit]"));
        let catalog = Catalog::parse(&catalog, Path::new("sample")).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let planner = Planner::new(&catalog).unwrap();
        let planned = runtime.block_on(planner.plan(sql, &catalog));
        planned
            .map(|planned| planned.plan.display_indent().to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn today_is_the_day_of_the_data() {
        let asked = "SELECT COUNT(*) FROM people WHERE born < CURRENT_DATE AND born < now()";
        let written =
            "SELECT COUNT(*) FROM people WHERE born < DATE '2026-11-16' AND born < TIMESTAMP '2026-11-16'";
        let day = "version = \"2026-11-16\"";
        assert_eq!(planned(day, asked), planned(day, written));
        assert!(planned(day, asked).is_ok());
        // Of a month it is the first day.
        let month = "version = \"2026-11\"";
        let first = written.replace("2026-11-16", "2026-11-01");
        assert_eq!(planned(month, asked), planned(month, &first));
        let unknown = planned("version = \"third\"", asked).unwrap();
        assert!(unknown.to_lowercase().contains("current_date()"), "{unknown}");
    }

    #[test]
    fn ages_are_whole_years_and_months_or_refused() {
        let day = "version = \"2026-11-16\"";
        let one = "SELECT COUNT(*) FROM people WHERE EXTRACT(YEAR FROM age(born)) >= 18";
        let two = "SELECT COUNT(*) FROM people WHERE date_part('year', (age(CURRENT_DATE, born))) >= 18";
        assert_eq!(planned(day, one), planned(day, two));
        assert!(planned(day, one).is_ok(), "{:?}", planned(day, one));
        let months = "SELECT COUNT(*) FROM people WHERE EXTRACT(MONTH FROM age(born)) >= 6";
        let named = months.replace(
            "EXTRACT(MONTH FROM age(born))",
            "date_part('month', age(CURRENT_DATE, born))",
        );
        assert_eq!(planned(day, months), planned(day, &named));
        assert!(planned(day, months).is_ok(), "{:?}", planned(day, months));
        let said = planned("version = \"third\"", one).unwrap_err();
        assert!(
            said.contains("which day the data are of") && said.contains("hint: "),
            "{said}"
        );
        for sql in [
            "SELECT AVG(age(born)) FROM people",
            "SELECT AVG(EXTRACT(DAY FROM age(born))) FROM people",
            "SELECT COUNT(*) FROM people WHERE age(born) > INTERVAL '18 years'",
        ] {
            let said = planned(day, sql).unwrap_err();
            assert!(said.contains("EXTRACT(YEAR FROM age(a, b))"), "{sql}: {said}");
        }
        // The column that is called so is a column.
        assert!(planned(day, "SELECT AVG(age) FROM people").is_ok());
    }

    #[test]
    fn ages_of_ages_do_not_grow_for_ever() {
        let mut inner = "born".to_owned();
        for _ in 0..10 {
            inner = format!("CASE WHEN EXTRACT(YEAR FROM age({inner})) > 3 THEN born END");
        }
        let said = planned(
            "version = \"2026-11-16\"",
            &format!("SELECT COUNT(*) FROM people WHERE {inner} > born"),
        );
        // By its depth, or by its length.
        let said = said.expect_err("it would be written 59,049 times");
        assert!(
            said.contains("nests too deeply") || said.contains("longer than a mebibyte"),
            "{said}"
        );
    }
}
