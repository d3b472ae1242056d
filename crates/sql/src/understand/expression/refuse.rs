//! Why something is not taken, and what to write instead.

use super::functions::FUNCTIONS;
use crate::Error;
use datafusion::common::utils::datafusion_strsim::levenshtein;
use datafusion::logical_expr::{Expr, Operator};

/// A kind of expression that has no place over private rows.
pub(super) fn expression(expr: &Expr) -> Error {
    let (what, hint) = match expr {
        Expr::ScalarSubquery(_) => (
            "a subquery is not allowed as a value here, because its rows cannot be matched to a privacy unit",
            "put it into WHERE or after SELECT, tied to the privacy unit; or ask the inner query first and use its answer as a constant",
        ),
        Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_) => (
            "EXISTS, IN (SELECT …), ANY and ALL are not allowed here, because their rows cannot be matched to a privacy unit",
            "put it into WHERE, tied to the privacy unit; or list the values: IN ('a', 'b')",
        ),
        Expr::OuterReferenceColumn(..) => (
            "a column of an outer query is used where a subquery cannot use it",
            "use it in the WHERE of the subquery, tied to the privacy unit; or join the tables on the privacy unit",
        ),
        Expr::Placeholder(_) => (
            "the query has a placeholder without a value",
            "write the value into the query",
        ),
        Expr::WindowFunction(_) => (
            "a window function is not allowed here, because its rows cannot be matched to a privacy unit",
            "write the window in a subquery, with PARTITION BY the privacy unit; or use it on the results of a private query",
        ),
        Expr::AggregateFunction(_) => (
            "an aggregate cannot stand inside an expression of rows",
            "aggregate in a subquery, grouped by the privacy unit",
        ),
        Expr::GroupingSet(_) => (
            "grouping sets cannot stand inside an expression",
            "write them directly in GROUP BY",
        ),
        Expr::Unnest(_) | Expr::HigherOrderFunction(_) | Expr::Lambda(_) | Expr::LambdaVariable(_) => {
            ("arrays are not a kind of private values", "store one value a row")
        }
        Expr::ScalarVariable(..) => ("variables are not read", "write the value into the query"),
        _ => (
            "this expression is not on the list of what runs over private rows",
            "use columns, constants, operators, CASE and the documented functions",
        ),
    };
    Error::refused(what, hint)
}

/// An operator that is not taken.
pub(super) fn operator(operator: Operator) -> Error {
    let hint = match operator {
        Operator::LikeMatch | Operator::ILikeMatch | Operator::NotLikeMatch | Operator::NotILikeMatch => {
            "use LIKE or ILIKE with a constant pattern"
        }
        Operator::IntegerDivide => "write a / b, which is cut towards zero for integers, or div(a, b)",
        Operator::BitwiseXor => "write power(a, b)",
        Operator::BitwiseAnd
        | Operator::BitwiseOr
        | Operator::BitwiseShiftLeft
        | Operator::BitwiseShiftRight => "use %, floor and / on numbers",
        _ => "the operators are + - * / % = <> < <= > >= || AND OR NOT LIKE ILIKE IN BETWEEN IS",
    };
    Error::refused(
        format!("the operator {operator} is not taken over private rows"),
        hint,
    )
}

/// A function that is not on the list.
pub(super) fn function(name: &str) -> Error {
    let volatile = [
        "random",
        "rand",
        "uuid",
        "gen_random_uuid",
        "now",
        "current_timestamp",
        "current_date",
        "current_time",
        "today",
    ];
    if volatile.contains(&name) {
        return Error::refused(
            format!("{name} gives another result each time, so the same question would not be the same"),
            "write the value as a constant, for example DATE '2020-12-31'; where the catalog declares the day of the data, [data] version = \"2020-12-31\", CURRENT_DATE and now() are that day",
        );
    }
    if name.starts_with("regexp") {
        return Error::refused(
            format!("{name} is not taken over private rows"),
            "the functions of regular expressions are regexp_like, regexp_substr, regexp_count and regexp_replace",
        );
    }
    let mut names: Vec<_> = FUNCTIONS.iter().map(|function| function.name).collect();
    names.sort_by_key(|other| levenshtein(other, name));
    names.truncate(5);
    Error::refused(
        format!(
            "the function {name} is not taken over private rows: nobody has shown that no data make it fail"
        ),
        format!("the nearest that are taken: {}", names.join(", ")),
    )
}
