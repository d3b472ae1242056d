//! The walk over a parsed query: what cannot be meant is refused, markers are put in.

use super::depth::{RELATIONS, too_many_relations};
use super::markers::SELECT;
use super::options::{Clause, SelectOptions};
use super::{calls, clauses, spelling, windows};
use crate::Error;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Distinct, ExactNumberInfo, Expr, Ident, Query, Select, SelectFlavor,
    SelectItem, SetExpr, Statement, TimezoneInfo, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::Location;
use std::ops::ControlFlow;

/// Puts the markers in, and returns the options in the order of their numbers.
pub(super) fn rewrite(query: &mut Query, marked: Vec<Clause>) -> Result<Vec<SelectOptions>, Error> {
    only_selects(&query.body)?;
    windows::write_out(query)?;
    clauses::check(query)?;
    spelling::tell_columns_apart(&mut query.body);
    let (places, options): (Vec<_>, Vec<_>) = marked
        .into_iter()
        .map(|clause| (clause.select, clause.options))
        .unzip();
    let mut walk = Walk {
        places,
        found: vec![false; options.len()],
        written: Vec::new(),
    };
    if let ControlFlow::Break(error) = query.visit(&mut walk) {
        return Err(error);
    }
    if walk.found.contains(&false) {
        return Err(Error::Syntax {
            what: "WITH DIFFERENTIAL_PRIVACY stands where no query begins".into(),
            hint: "write it right after the SELECT of a query".into(),
        });
    }
    Ok(options)
}

/// The statement itself is made of selects; constant tables may only be joined to something.
fn only_selects(body: &SetExpr) -> Result<(), Error> {
    match body {
        SetExpr::Select(_) => Ok(()),
        SetExpr::Query(query) => only_selects(&query.body),
        SetExpr::SetOperation { left, right, .. } => {
            only_selects(left)?;
            only_selects(right)
        }
        SetExpr::Values(_) | SetExpr::Table(_) => Err(Error::refused(
            "VALUES and TABLE are not queries of their own",
            "write SELECT … FROM …; constants may stand in FROM (VALUES …) AS name (column)",
        )),
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
            Err(changes_data())
        }
    }
}

fn changes_data() -> Error {
    Error::refused(
        "the query would change data",
        "Deniable only reads; write SELECT … FROM …",
    )
}

struct Walk {
    /// Where each `SELECT` with a clause stands in the text.
    places: Vec<Location>,
    /// Which of them were met.
    found: Vec<bool>,
    /// How the columns of the selects around were written, where they have no name.
    written: Vec<Vec<Option<String>>>,
}

impl Walk {
    fn enter(&mut self, select: &mut Select) -> Result<(), Error> {
        if select.into.is_some() {
            return Err(changes_data());
        }
        if select.value_table_mode.is_some() {
            return Err(Error::refused(
                "SELECT AS STRUCT and SELECT AS VALUE have no private meaning",
                "select the columns one by one",
            ));
        }
        if select.projection.is_empty() && select.flavor == SelectFlavor::Standard {
            return Err(Error::Syntax {
                what: "a SELECT without columns".into(),
                hint: "say what to select: SELECT count(*) FROM …".into(),
            });
        }
        let joins = select.from.iter().map(|table| 1 + table.joins.len());
        if joins.sum::<usize>() > RELATIONS {
            return Err(too_many_relations());
        }
        let items = std::mem::take(&mut select.projection);
        for item in items {
            select.projection.extend(calls::expand(item)?);
        }
        let written = select.projection.iter().map(|item| match item {
            SelectItem::UnnamedExpr(expression) => Some(expression.to_string()),
            _ => None,
        });
        self.written.push(written.collect());
        Ok(())
    }

    fn leave(&mut self, select: &mut Select) -> Result<(), Error> {
        // A column keeps the name it had before its expression was rewritten.
        let written = self.written.pop().unwrap_or_default();
        for (item, written) in select.projection.iter_mut().zip(written) {
            if let (SelectItem::UnnamedExpr(expression), Some(written)) = (&*item, written)
                && expression.to_string() != written
            {
                *item = SelectItem::ExprWithAlias {
                    expr: expression.clone(),
                    alias: Ident::with_quote('"', written),
                };
            }
        }
        let place = select.select_token.0.span.start;
        let Some(number) = self.places.iter().position(|other| *other == place) else {
            return Ok(());
        };
        self.found[number] = true;
        if matches!(select.distinct, Some(Distinct::Distinct | Distinct::On(_))) {
            return Err(Error::refused(
                "SELECT WITH DIFFERENTIAL_PRIVACY DISTINCT has no meaning",
                "use GROUP BY: its rows are distinct already",
            ));
        }
        let marker = Expr::Function(calls::call(SELECT, vec![calls::number(&number.to_string())]));
        select.selection = Some(match select.selection.take() {
            None => marker,
            Some(condition) => Expr::BinaryOp {
                left: Box::new(marker),
                op: BinaryOperator::And,
                right: Box::new(Expr::Nested(Box::new(condition))),
            },
        });
        Ok(())
    }
}

/// The engine's planner drops the time zone of a cast silently, and computes with the places of a decimal before it looks whether they are possible.
fn readable_type(expression: &Expr) -> Result<(), Error> {
    let data_type = match expression {
        Expr::Cast { data_type, .. } => data_type,
        Expr::TypedString(typed) => &typed.data_type,
        _ => return Ok(()),
    };
    match data_type {
        DataType::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz)
        | DataType::Time(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => Err(Error::refused(
            "types with a time zone are not read",
            "write TIMESTAMP: timestamps are read without a time zone",
        )),
        DataType::Numeric(size)
        | DataType::Decimal(size)
        | DataType::Dec(size)
        | DataType::BigNumeric(size)
        | DataType::BigDecimal(size) => {
            let (digits, places) = match size {
                ExactNumberInfo::None => return Ok(()),
                ExactNumberInfo::Precision(digits) => (*digits, 0),
                ExactNumberInfo::PrecisionAndScale(digits, places) => (*digits, *places),
            };
            let most = i64::try_from(digits).unwrap_or(i64::MAX);
            if (1..=MOST_DIGITS).contains(&digits) && (0..=most).contains(&places) {
                return Ok(());
            }
            Err(Error::refused(
                format!("a decimal has 1 to {MOST_DIGITS} digits, and no more of them after the point"),
                "write NUMERIC(12, 2) for ten digits before the point and two after it; round(x, -2) rounds to hundreds",
            ))
        }
        _ => Ok(()),
    }
}

/// The most digits of a decimal that a cast may name.
const MOST_DIGITS: u64 = 38;

fn flow(result: Result<(), Error>) -> ControlFlow<Error> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

impl VisitorMut for Walk {
    type Break = Error;

    fn pre_visit_statement(&mut self, _: &mut Statement) -> ControlFlow<Error> {
        ControlFlow::Break(changes_data())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        flow(spelling::fetch_as_limit(query))
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        flow(self.enter(select))
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        flow(self.leave(select))
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<Error> {
        flow(
            readable_type(expression)
                .and_then(|()| spelling::lists(expression))
                .and_then(|()| calls::rewrite(expression)),
        )
    }
}
