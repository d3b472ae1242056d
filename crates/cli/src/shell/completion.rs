//! What the Tab key offers: tables, columns, functions and keywords. All of it is in the catalog or in the
//! program, and so public.

use super::line::COMMANDS;
use sql::Catalog;
use std::collections::BTreeSet;

const KEYWORDS: [&str; 50] = [
    "AND",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "COUNT",
    "CROSS",
    "CUBE",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "ELSE",
    "END",
    "EXCEPT",
    "EXISTS",
    "EXTRACT",
    "FILTER",
    "FROM",
    "GROUP",
    "GROUPING",
    "HAVING",
    "ILIKE",
    "IN",
    "INNER",
    "INTERSECT",
    "IS",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NATURAL",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OVER",
    "PARTITION",
    "QUALIFY",
    "ROLLUP",
    "SELECT",
    "SETS",
    "THEN",
    "UNION",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
];
/// Behind these words stands a table.
const BEFORE_TABLES: [&str; 4] = ["from", "join", "describe", "\\describe"];

/// Everything that has a name.
#[derive(Debug)]
pub(super) struct Words {
    tables: Vec<(String, Vec<String>)>,
    /// Functions and keywords.
    others: Vec<String>,
}

impl Words {
    pub(super) fn of(catalog: &Catalog) -> Self {
        let columns =
            |table: &sql::catalog::Table| table.columns.iter().map(|(name, _)| name.clone()).collect();
        let tables = catalog
            .tables
            .iter()
            .map(|(name, table)| (name.clone(), columns(table)));
        let functions = sql::called_names().into_iter();
        let keywords = KEYWORDS.into_iter().map(str::to_owned);
        let others: BTreeSet<String> = functions.chain(keywords).collect();
        Self {
            tables: tables.collect(),
            others: others.into_iter().collect(),
        }
    }

    /// These tables with their columns, and a few others.
    #[cfg(test)]
    pub(super) fn named(tables: &[(&str, &[&str])]) -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let tables = tables.iter();
        Self {
            tables: tables
                .map(|(name, columns)| ((*name).to_owned(), owned(columns)))
                .collect(),
            others: owned(&["AVG", "SELECT", "date_trunc"]),
        }
    }

    /// Where the word begins in which the cursor is, and what it may become.
    pub(super) fn complete(&self, line: &str, cursor: usize) -> (usize, Vec<String>) {
        let before = line.get(..cursor).unwrap_or(line);
        if before.starts_with('\\') && !before.contains(char::is_whitespace) {
            let names = COMMANDS
                .iter()
                .filter_map(|(written, _)| written.split(' ').next());
            let fitting = names.filter(|name| name.starts_with(before));
            return (0, fitting.map(str::to_owned).collect());
        }
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let word = before.trim_end_matches(is_part).len();
        let (start, typed) = match before[..word].strip_suffix('"') {
            // In a quoted name, with its quote.
            Some(rest) => (rest.len(), &before[word..]),
            None => (word, &before[word..]),
        };
        let earlier = &before[..start];
        if let Some(qualified) = earlier.strip_suffix('.') {
            let table = &qualified[qualified.trim_end_matches(is_part).len()..];
            let columns = self
                .tables
                .iter()
                .filter(|(name, _)| name.eq_ignore_ascii_case(table));
            return (start, fitting(columns.flat_map(|(_, columns)| columns), typed));
        }
        let last = earlier.split_whitespace().next_back().unwrap_or_default();
        let tables = || self.tables.iter().map(|(name, _)| name);
        if BEFORE_TABLES.contains(&last.to_lowercase().as_str()) {
            return (start, fitting(tables(), typed));
        }
        if typed.is_empty() {
            return (start, Vec::new());
        }
        let columns = self.tables.iter().flat_map(|(_, columns)| columns);
        let mut found = fitting(columns.chain(tables()), typed);
        // People who write in small letters get them.
        let small = !typed.contains(char::is_uppercase);
        let others = self.others.iter().filter(|name| begins(name, typed));
        found.extend(others.map(|name| {
            if small {
                name.to_lowercase()
            } else {
                name.to_uppercase()
            }
        }));
        found.dedup();
        (start, found)
    }
}

/// The names that begin so, as SQL writes them.
fn fitting<'n>(names: impl Iterator<Item = &'n String>, typed: &str) -> Vec<String> {
    let found: BTreeSet<String> = names
        .filter(|name| begins(name, typed))
        .map(|name| quoted(name))
        .collect();
    found.into_iter().collect()
}

fn begins(name: &str, typed: &str) -> bool {
    name.to_lowercase().starts_with(&typed.to_lowercase())
}

/// A name that is not of small letters alone needs quotes in SQL.
fn quoted(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    let is_plain = name.chars().all(plain) && !name.starts_with(|first: char| first.is_ascii_digit());
    match is_plain {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Words {
        let people: &[&str] = &["age", "Full Name", "region"];
        Words::named(&[("people", people), ("visits", &["age_then", "cost"])])
    }

    #[test]
    fn tab_offers_what_may_stand_there() {
        for (line, start, offered) in [
            ("SELECT a", 7, vec!["age", "age_then", "avg"]),
            ("SELECT AV", 7, vec!["AVG"]),
            ("SELECT DATE", 7, vec!["DATE_TRUNC"]),
            ("SELECT COUNT(*) FROM ", 21, vec!["people", "visits"]),
            ("SELECT COUNT(*) FROM vi", 21, vec!["visits"]),
            ("SELECT visits.", 14, vec!["age_then", "cost"]),
            ("SELECT people.f", 14, vec!["\"Full Name\""]),
            ("SELECT \"Fu", 7, vec!["\"Full Name\""]),
            ("\\de", 0, vec!["\\describe"]),
            ("\\describe p", 10, vec!["people"]),
            ("SELECT ", 7, vec![]),
            ("SELECT zz", 7, vec![]),
        ] {
            let offered: Vec<String> = offered.into_iter().map(str::to_owned).collect();
            assert_eq!(words().complete(line, line.len()), (start, offered), "{line}");
        }
        // Text behind the cursor is another matter.
        assert_eq!(words().complete("SELECT re, cost FROM people", 9).1, ["region"]);
        assert_eq!(
            words().complete("é", 1),
            (0, Vec::new()),
            "a cursor inside of a letter"
        );
    }

    #[test]
    fn keywords_are_in_order_and_each_once() {
        assert!(KEYWORDS.is_sorted_by(|one, next| one < next));
    }
}
