//! Values of the wrong type, reported with the call and the column that the query itself writes.

use super::{Reported, between, last_part, readable};
use crate::understand::aggregates::aggregate_named;
use crate::understand::dialect::RESERVED;
use crate::values::facts::Kind;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Query, Visit, Visitor,
};
use std::ops::ControlFlow;

/// What the engine says about types, which it calls as people do by now; `None` where it is about something else.
pub(super) fn reported(said: &str, query: Option<&Query>) -> Option<Reported> {
    if let Some(reported) = of_a_condition(said).or_else(|| of_an_operator(said)) {
        return Some(reported);
    }
    if said.contains("Aggregate functions are not allowed in the WHERE clause") {
        return Some((
            "an aggregate in WHERE has no meaning: rows are chosen before they are counted".to_owned(),
            "write the condition after GROUP BY, in HAVING: HAVING COUNT(*) > 100".to_owned(),
        ));
    }
    if said.contains("Aggregate function calls cannot be nested") {
        return Some((
            "an aggregate inside of an aggregate has no meaning".to_owned(),
            "compute the inner one in a subquery: SELECT AVG(n) FROM (SELECT id, COUNT(*) AS n FROM t GROUP BY id) AS one".to_owned(),
        ));
    }
    of_a_call(said, query)
}

/// A number, text or date where a condition belongs.
fn of_a_condition(said: &str) -> Option<Reported> {
    let (what, kind) = if let Some(rest) = said.split_once("non-boolean predicate '") {
        let (predicate, kind) = rest.1.split_once("' returning ")?;
        (column(predicate), first_word(kind))
    } else {
        let kind = said.split_once("'NOT' requires a boolean expression, got ")?.1;
        ("what stands after NOT".to_owned(), first_word(kind))
    };
    Some((
        format!("a condition is true or false, and {what} is {}", a(kind)),
        "compare it with something: x > 0, x = 'a', x IS NOT NULL".to_owned(),
    ))
}

/// Operands that do not go together.
fn of_an_operator(said: &str) -> Option<Reported> {
    if let Some(operation) = between(said, "Cannot coerce arithmetic expression ", " to valid types") {
        return Some((
            format!("{operation} has no meaning"),
            "CAST(x AS DOUBLE) makes a number of text, and NULL of what cannot be read; EXTRACT(YEAR FROM day) makes one of a date".to_owned(),
        ));
    }
    if let Some((_, operation)) = said.split_once("string concat operation ") {
        return Some((
            format!("|| puts texts together, and {operation} has none"),
            "CAST(x AS VARCHAR) makes text of anything".to_owned(),
        ));
    }
    said.contains("Unary operator '-' only supports").then(|| {
        (
            "the minus sign is for numbers".to_owned(),
            "CAST(x AS DOUBLE) makes a number of text, and NULL of what cannot be read".to_owned(),
        )
    })
}

/// A call whose arguments the engine does not take.
fn of_a_call(said: &str, query: Option<&Query>) -> Option<Reported> {
    let (name, types) = call(said)?;
    // The engine has a name of its own for it.
    let upper = match name.as_str() {
        "var" => "VARIANCE".to_owned(),
        name => name.to_uppercase(),
    };
    let arguments = query
        .and_then(|query| arguments_of(query, &name))
        .unwrap_or_default();
    // Which argument it is about: the first that is no number, where all types are reported.
    let is_number = |kind: &str| matches!(kind, "integer" | "float") || kind.starts_with("Decimal");
    let wrong = types.iter().position(|kind| !is_number(kind));
    let written = |place: usize| match arguments.get(place) {
        Some(argument) => format!("`{argument}`"),
        None => "an argument".to_owned(),
    };
    if let Some(aggregate) = aggregate_named(&name) {
        return Some(match wrong {
            Some(place) => needs_number(&upper, &written(place), &types[place]),
            None => (
                format!("{upper} is written as {}", aggregate.written),
                format!("for example {}", aggregate.example),
            ),
        });
    }
    let number = said.contains("Numeric")
        || said.contains("requires integer")
        || said.contains("requires float")
        || said.contains("[float");
    let text = said.contains("requires String");
    let date = said.contains("requires Timestamp") || said.contains("requires Date");
    // The first argument of another type than is asked for.
    let place = types.iter().position(|kind| match kind.as_str() {
        "text" => !text,
        "date" | "timestamp" => !date,
        kind if is_number(kind) => !number,
        _ => true,
    });
    let place = place.or(if types.is_empty() { None } else { Some(0) });
    // Where one type alone is reported, and not one argument alone is there, it may be that of any.
    let place = place.filter(|_| types.len() > 1 || arguments.len() == 1);
    let Some(place) = place else {
        let shown = if name == "date_part" { "EXTRACT" } else { &name };
        let hint = if date {
            "it is for dates and timestamps; CAST(x AS DATE) makes a date of text".to_owned()
        } else {
            format!("`deniable sql` shows how {name} is written, with an example")
        };
        return Some((
            format!("the arguments of {shown} are not of the types that it takes"),
            hint,
        ));
    };
    let of = written(place);
    let inner = if of.starts_with('`') {
        of.trim_matches('`')
    } else {
        "x"
    };
    let kind = types[place].as_str();
    let hint = match kind {
        _ if text => format!("CAST({inner} AS VARCHAR) makes text of it"),
        "text" if number => {
            format!("CAST({inner} AS DOUBLE) makes a number of it; what cannot be read gives NULL")
        }
        "date" | "timestamp" if number => format!("EXTRACT(YEAR FROM {inner}) makes a number of it"),
        "text" if date => format!("CAST({inner} AS DATE) makes a date of it; what cannot be read gives NULL"),
        _ if date => "it is for dates and timestamps".to_owned(),
        _ => format!("`deniable sql` shows how {name} is written, with an example"),
    };
    Some((format!("{name} does not take {}, which {of} is", a(kind)), hint))
}

/// The name of the call that an error is about, and the types of its arguments as far as they are reported.
fn call(said: &str) -> Option<(String, Vec<String>)> {
    if let Some(call) = between(said, "argument types '", "'. You might") {
        let (name, types) = call.split_once('(')?;
        let types = types.strip_suffix(')').unwrap_or(types);
        let types = types.split(", ").filter(|kind| !kind.is_empty());
        return Some((name.to_owned(), types.map(str::to_owned).collect()));
    }
    if said.contains("SUM not supported for Null") {
        return Some(("sum".to_owned(), vec!["NULL".to_owned()]));
    }
    let name = between(said, "Function '", "'")?.to_owned();
    let kind = between(said, "(DataType: ", ")");
    Some((name, kind.into_iter().map(str::to_owned).collect()))
}

/// The arguments of the first call of this function, as the query writes them.
fn arguments_of(query: &Query, name: &str) -> Option<Vec<String>> {
    struct Find<'n>(&'n str);
    impl Visitor for Find<'_> {
        type Break = Vec<String>;

        fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<Vec<String>> {
            match expression {
                Expr::Function(call) if call.name.to_string().eq_ignore_ascii_case(self.0) => {
                    ControlFlow::Break(written(call))
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    match query.visit(&mut Find(name)) {
        ControlFlow::Break(arguments) => Some(arguments),
        ControlFlow::Continue(()) => None,
    }
}

fn written(call: &Function) -> Vec<String> {
    let FunctionArguments::List(list) = &call.args else {
        return Vec::new();
    };
    let arguments = list.args.iter().map(|argument| match argument {
        // Bounds that a query states are a call around its argument by now.
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(marker)))
            if marker.name.to_string().starts_with(RESERVED) =>
        {
            written(marker).into_iter().next().unwrap_or_default()
        }
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expression)) => expression.to_string(),
        other => other.to_string(),
    });
    arguments.collect()
}

/// An aggregate of numbers that was asked for something else.
pub(crate) fn needs_number(what: &str, of: &str, kind: &str) -> Reported {
    let inner = if of.starts_with('`') {
        of.trim_matches('`')
    } else {
        "x"
    };
    let hint = match kind {
        "text" => format!(
            "count its values: SELECT {inner}, COUNT(*) … GROUP BY {inner}; where it holds numbers, take CAST({inner} AS DOUBLE) and state bounds with contribution_bounds_per_row => (low, high)"
        ),
        "date" | "timestamp" => format!(
            "MIN({inner}), MAX({inner}) and PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY {inner}) are dates; EXTRACT(YEAR FROM {inner}) makes a number of it; how much there is when is COUNT(*) with GROUP BY date_trunc('month', {inner})"
        ),
        "boolean" => format!(
            "COUNTIF({inner}) counts the rows in which it is true, and AVG(CASE WHEN {inner} THEN 1 ELSE 0 END) is their part"
        ),
        _ => "use it on a number".to_owned(),
    };
    (format!("{what} needs a number, and {of} is {}", a(kind)), hint)
}

/// How the engine's planner, as people read it, calls a kind.
pub(crate) fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "boolean",
        Kind::Int => "integer",
        Kind::Float => "float",
        Kind::Text => "text",
        Kind::Date => "date",
        Kind::Timestamp => "timestamp",
    }
}

/// A type with its article.
fn a(kind: &str) -> String {
    match kind {
        "integer" => "an integer".to_owned(),
        "text" | "NULL" => kind.to_owned(),
        other => format!("a {other}"),
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// What the engine calls a column or an expression, as the query would.
fn column(name: &str) -> String {
    let plain = name
        .chars()
        .all(|letter| letter.is_alphanumeric() || matches!(letter, '.' | '_' | '"'));
    if plain {
        format!("`{}`", last_part(name))
    } else {
        format!("`{}`", readable(name))
    }
}
