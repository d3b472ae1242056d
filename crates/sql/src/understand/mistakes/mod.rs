//! What is wrong with a query, in words that name the query's own tables, columns and functions rather than the engine's.
//!
//! The engine plans over tables without rows, so what it says depends on the query and the catalog alone.

mod types;

pub(crate) use types::{kind_word, needs_number};

use crate::Error;
use crate::catalog::Catalog;
use crate::understand::dialect::RESERVED;
use datafusion::common::utils::datafusion_strsim::levenshtein;
use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::Query;

/// Names that are listed in a hint at most.
const MOST_NAMES: usize = 30;

/// What is wrong, and what to do about it.
type Reported = (String, String);

/// What the engine's planner did not understand of a query.
pub(crate) fn explained(error: &DataFusionError, query: &Query, catalog: &Catalog) -> Error {
    let (what, hint) = reported(error, Some((query, catalog)));
    Error::refused(what, hint)
}

/// What the engine's planner does not do.
pub(crate) fn unplannable(error: DataFusionError) -> Error {
    let (what, hint) = reported(&error, None);
    Error::refused(format!("this cannot be planned: {what}"), hint)
}

fn reported(error: &DataFusionError, asked: Option<(&Query, &Catalog)>) -> Reported {
    match error {
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => reported(inner, asked),
        DataFusionError::Shared(inner) => reported(inner, asked),
        DataFusionError::Collection(errors) if !errors.is_empty() => reported(&errors[0], asked),
        DataFusionError::SchemaError(problem, _) => schema(problem),
        other => sentence(&other.strip_backtrace(), asked),
    }
}

fn schema(problem: &SchemaError) -> Reported {
    match problem {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let of = match &field.relation {
                Some(table) => format!(" of `{}`", table.table()),
                None => String::new(),
            };
            (
                format!("there is no column `{}`{of}", field.name),
                of_columns(field, valid_fields),
            )
        }
        SchemaError::AmbiguousReference { field } => (
            format!(
                "the column `{}` is in more than one of the tables of FROM",
                field.name
            ),
            format!(
                "write its table before it, for example a.{0} or b.{0}",
                field.name
            ),
        ),
        SchemaError::DuplicateQualifiedField { name, .. }
        | SchemaError::DuplicateUnqualifiedField { name } => (
            format!("two columns are called `{name}`"),
            "give one of them another name: … AS other_name".to_owned(),
        ),
    }
}

fn of_columns(field: &Column, valid: &[Column]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for column in valid {
        let same_table = match (&field.relation, &column.relation) {
            (Some(asked), Some(has)) => asked.table() == has.table(),
            _ => true,
        };
        let ours = column.name.starts_with(RESERVED);
        if same_table && !ours && !names.contains(&column.name.as_str()) {
            names.push(&column.name);
        }
    }
    if names.is_empty() && valid.is_empty() {
        return "say where it is: add FROM and a table".to_owned();
    }
    if names.is_empty() {
        return "is the name of its table right?".to_owned();
    }
    if let Some(other) = names
        .iter()
        .find(|name| **name != field.name && name.eq_ignore_ascii_case(&field.name))
    {
        return format!("write it in double quotes, as the catalog does: \"{other}\"");
    }
    nearest(&field.name, &names, "columns")
}

/// What may have been meant, or else what there is.
fn nearest(name: &str, names: &[&str], what: &str) -> String {
    let asked = name.to_lowercase();
    let distance = |other: &str| levenshtein(&asked, &other.to_lowercase());
    let meant = names.iter().min_by_key(|other| distance(other));
    match meant {
        Some(meant) if distance(meant) <= (asked.chars().count() / 3).max(1) => {
            format!("did you mean `{meant}`?")
        }
        _ if names.len() > MOST_NAMES => {
            format!(
                "the {what} are {}, and {} more",
                names[..MOST_NAMES].join(", "),
                names.len() - MOST_NAMES
            )
        }
        _ => format!("the {what} are {}", names.join(", ")),
    }
}

/// A table that the catalog does not have.
pub(crate) fn no_table(name: &str, catalog: &Catalog) -> Error {
    let (what, hint) = without_table(name, Some(catalog));
    Error::refused(what, hint)
}

fn without_table(name: &str, catalog: Option<&Catalog>) -> Reported {
    let hint = match catalog {
        Some(catalog) => {
            let tables: Vec<&str> = catalog.tables.keys().map(String::as_str).collect();
            nearest(name, &tables, "tables")
        }
        None => "SHOW TABLES lists them".to_owned(),
    };
    (format!("there is no table `{name}`"), hint)
}

/// The text between two marks.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(inner, _)| inner)
}

/// A name without the engine's catalog and schema before it, and without quotes.
fn last_part(name: &str) -> String {
    let plain = name.replace('"', "");
    plain.rsplit('.').next().unwrap_or(&plain).to_owned()
}

fn sentence(said: &str, asked: Option<(&Query, &Catalog)>) -> Reported {
    let catalog = asked.map(|(_, catalog)| catalog);
    if said.contains("table '")
        && said.contains("not found")
        && let Some(name) = between(said, "table '", "'")
    {
        return without_table(&last_part(name), catalog);
    }
    if let Some(name) = between(said, "Invalid function '", "'") {
        let scalar = crate::understand::expression::allowed_functions()
            .into_iter()
            .map(|(name, _)| name);
        let known: Vec<&str> = scalar.chain(AGGREGATES.iter().copied()).collect();
        let mut hint = nearest(name, &known, "functions");
        if !hint.starts_with("did you mean") {
            hint = "docs/sql.md lists the functions that are understood".to_owned();
        }
        return (format!("there is no function `{name}`"), hint);
    }
    if said.contains("must appear in the GROUP BY clause")
        && let Some(column) = between(said, "column \"", "\" must appear")
    {
        let column = last_part(column);
        return (
            format!("`{column}` is neither grouped by nor inside of an aggregate"),
            format!("add {column} to GROUP BY, or aggregate it: AVG({column}), COUNT({column}), …"),
        );
    }
    if said.contains("require unique expression names")
        && let Some(name) = between(said, "the expression \"", "\" at position")
    {
        return (
            format!("two columns are both {}", readable(name)),
            "leave one of them out, or give one another name: … AS other_name".to_owned(),
        );
    }
    let mut text = said.lines().next().unwrap_or_default().to_owned();
    for (theirs, ours) in TYPES {
        text = text.replace(theirs, ours);
    }
    if let Some(reported) = types::reported(&text, asked.map(|(query, _)| query)) {
        return reported;
    }
    for prefix in [
        "Error during planning: ",
        "This feature is not implemented: ",
        "Schema error: ",
        "Execution error: ",
        "SQL error: ",
        "Internal error: ",
        "type_coercion",
    ] {
        if let Some(rest) = text.strip_prefix(prefix) {
            text = rest.to_owned();
        }
    }
    text = text
        .replace("datafusion.public.", "")
        .replace("DataFusion", "Deniable");
    (
        text,
        "write it in a simpler way, for example with a subquery for each step; docs/sql.md lists what is understood"
            .to_owned(),
    )
}

/// A name that the engine made of an expression, as the query would write it: constants without their types, columns without their tables.
pub(crate) fn readable(name: &str) -> String {
    let mut text = String::new();
    let mut rest = name;
    while let Some(letter) = rest.chars().next() {
        let word = rest
            .find(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
            .map_or(rest, |end| &rest[..end]);
        let after = &rest[word.len()..];
        if CONSTANTS.contains(&word)
            && let Some(inside) = after.strip_prefix('(')
        {
            // A text is reported in double quotes, which it may hold itself: the last before a closing parenthesis ends it.
            let (constant, left) = match inside.strip_prefix('"') {
                Some(quoted) => match quoted.split_once("\")") {
                    Some((constant, left)) => (format!("'{constant}'"), left),
                    None => (format!("'{quoted}'"), ""),
                },
                None => match inside.split_once(')') {
                    Some((constant, left)) => (constant.to_owned(), left),
                    None => (inside.to_owned(), ""),
                },
            };
            text += &constant;
            rest = left;
        } else if let Some(column) = after.strip_prefix('.')
            && word.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
            && column.starts_with(|letter: char| letter.is_alphabetic() || letter == '_' || letter == '"')
        {
            rest = column;
        } else if word.is_empty() {
            text.push(letter);
            rest = &rest[letter.len_utf8()..];
        } else {
            text += word
                .strip_prefix(RESERVED)
                .map_or(word, |ours| ours.trim_start_matches('_'));
            rest = after;
        }
    }
    // What the engine makes of a star.
    text.replace("count(1)", "count(*)")
}

/// Whether a name is one that the engine made of an expression with a constant in it.
pub(crate) fn names_a_constant(name: &str) -> bool {
    CONSTANTS.iter().any(|of| name.contains(&format!("{of}(")))
}

/// What the engine writes before a constant.
const CONSTANTS: &[&str] = &[
    "Int64",
    "UInt64",
    "Int32",
    "Float64",
    "Float32",
    "Utf8",
    "Utf8View",
    "LargeUtf8",
    "Boolean",
    "Date32",
];

/// Names of types, longest first where one is a part of another.
const TYPES: &[(&str, &str)] = &[
    ("LargeUtf8", "text"),
    ("Utf8View", "text"),
    ("Utf8", "text"),
    ("Int64", "integer"),
    ("Int32", "integer"),
    ("Int16", "integer"),
    ("Int8", "integer"),
    ("Float64", "float"),
    ("Float32", "float"),
    ("Boolean", "boolean"),
    ("Date32", "date"),
    ("Timestamp(Microsecond, None)", "timestamp"),
    ("Timestamp(ns)", "timestamp"),
    ("Timestamp(µs)", "timestamp"),
];

/// The aggregates, for hints.
const AGGREGATES: &[&str] = &[
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "median",
    "variance",
    "var_pop",
    "var_samp",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "percentile_cont",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_nearly_right_are_suggested() {
        assert_eq!(
            nearest("adults", &["adult", "people"], "tables"),
            "did you mean `adult`?"
        );
        assert_eq!(
            nearest("x", &["adult", "people"], "tables"),
            "the tables are adult, people"
        );
        assert_eq!(last_part("datafusion.public.\"Adults\""), "Adults");
    }

    #[test]
    fn names_are_reported_as_a_query_writes_them() {
        for (theirs, ours) in [
            ("count(Int64(1))", "count(*)"),
            ("avg(people.age)", "avg(age)"),
            ("sum(people.age + Int64(1))", "sum(age + 1)"),
            (
                "date_trunc(Utf8(\"month\"),visits.day)",
                "date_trunc('month',day)",
            ),
            ("__deniable_quantile(t.y,Float64(0.5))", "quantile(y,0.5)"),
            ("Utf8(\"a", "'a'"),
            ("1.5 * größe", "1.5 * größe"),
        ] {
            assert_eq!(readable(theirs), ours);
        }
    }
}
