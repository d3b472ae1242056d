//! EXPLAIN: what a query would do and cost, as the rows of an answer. Nothing is spent, and no private data is read.

use crate::Error;
use crate::finish::answer::{Answer, AnswerColumn, Cell, CellKind};
use crate::finish::estimate::CONFIDENCE;
use crate::price::question::QueryRequest;

/// The column of the answer, as PostgreSQL calls it.
const COLUMN: &str = "QUERY PLAN";

/// An EXPLAIN that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Explain {
    /// The query behind it. Blanks stand where EXPLAIN stood, so a mistake keeps its place.
    pub(crate) query: String,
    /// One row with an object for programs, in place of a row a line.
    pub(crate) json: bool,
    /// With the engine's plan.
    pub(crate) verbose: bool,
}

/// Whether it asks what a query would do, and not for its answer.
pub fn is_explain(sql: &str) -> bool {
    word(skip_blank(sql)).eq_ignore_ascii_case("EXPLAIN")
}

/// The query behind EXPLAIN, or the query itself.
pub(crate) fn without_explain(ask: &QueryRequest) -> Result<QueryRequest, Error> {
    let mut ask = ask.clone();
    if let Some(explain) = read(&ask.sql)? {
        ask.sql = explain.query;
    }
    Ok(ask)
}

/// Reads an EXPLAIN; `None` for anything else.
pub(crate) fn read(sql: &str) -> Result<Option<Explain>, Error> {
    if !is_explain(sql) {
        return Ok(None);
    }
    let (mut json, mut verbose) = (false, false);
    let mut rest = skip_blank(&skip_blank(sql)["EXPLAIN".len()..]);
    if let Some(inner) = rest.strip_prefix('(')
        && !begins_query(inner)
    {
        let (options, behind) = inner.split_once(')').ok_or_else(|| {
            Error::refused(
                "the options of EXPLAIN do not end",
                "write EXPLAIN (FORMAT JSON) SELECT …",
            )
        })?;
        for option in options.split(',') {
            take(option, &mut json, &mut verbose)?;
        }
        rest = behind;
    } else {
        loop {
            let first = word(rest);
            if !["ANALYZE", "ANALYSE", "VERBOSE"]
                .iter()
                .any(|known| first.eq_ignore_ascii_case(known))
            {
                break;
            }
            take(first, &mut json, &mut verbose)?;
            rest = skip_blank(&rest[first.len()..]);
        }
    }
    let begun = sql.len() - rest.len();
    let blanks = sql[..begun]
        .chars()
        .map(|character| if character == '\n' { '\n' } else { ' ' });
    let query = blanks.collect::<String>() + rest;
    if query.trim().is_empty() || is_explain(&query) {
        return Err(Error::refused(
            "EXPLAIN needs a query behind it",
            "write EXPLAIN SELECT …",
        ));
    }
    Ok(Some(Explain { query, json, verbose }))
}

/// Takes one option. Those that only choose what PostgreSQL shows of its own plan change nothing.
fn take(option: &str, json: &mut bool, verbose: &mut bool) -> Result<(), Error> {
    let mut words = option.split_whitespace();
    let name = words.next().unwrap_or_default().to_uppercase();
    let value = words.next().map(str::to_uppercase);
    let on = !matches!(value.as_deref(), Some("FALSE" | "OFF" | "0"));
    match name.as_str() {
        "ANALYZE" | "ANALYSE" if on => Err(Error::refused(
            "EXPLAIN ANALYZE would run the query, and how long that takes depends on private data",
            "write EXPLAIN SELECT …, which is free and shows cost and expected error; for the answer, ask the query itself",
        )),
        "FORMAT" => match value.as_deref() {
            Some("TEXT") => Ok(()),
            Some("JSON") => {
                *json = true;
                Ok(())
            }
            _ => Err(Error::refused(
                "EXPLAIN shows its plan as text or as JSON",
                "write EXPLAIN (FORMAT JSON) SELECT …",
            )),
        },
        "VERBOSE" => {
            *verbose = on;
            Ok(())
        }
        "ANALYZE" | "ANALYSE" | "COSTS" | "SETTINGS" | "GENERIC_PLAN" | "BUFFERS" | "SERIALIZE" | "WAL"
        | "TIMING" | "SUMMARY" | "MEMORY" => Ok(()),
        _ => Err(Error::refused(
            "this option of EXPLAIN is not known",
            "EXPLAIN takes FORMAT TEXT, FORMAT JSON and VERBOSE, as in EXPLAIN (VERBOSE, FORMAT JSON) SELECT …",
        )),
    }
}

/// Whether a parenthesis that begins so holds a query, and no options.
fn begins_query(inner: &str) -> bool {
    let inner = skip_blank(inner);
    let first = word(inner).to_uppercase();
    inner.starts_with('(') || matches!(first.as_str(), "SELECT" | "WITH" | "VALUES" | "TABLE" | "FROM")
}

/// The first word.
fn word(text: &str) -> &str {
    let end = text.find(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    &text[..end.unwrap_or(text.len())]
}

/// What follows blanks and comments.
fn skip_blank(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        rest = if let Some(comment) = rest.strip_prefix("--") {
            comment.find('\n').map_or("", |end| &comment[end..])
        } else if rest.starts_with("/*") {
            behind_comment(rest)
        } else {
            return rest;
        }
        .trim_start();
    }
}

/// What follows a comment in stars, in which there may be others.
fn behind_comment(text: &str) -> &str {
    let (mut depth, mut at) = (0_usize, 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        match bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth.saturating_sub(1), at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return &text[at..];
        }
    }
    ""
}

/// The column of a plan.
pub(crate) fn plan_columns() -> Vec<AnswerColumn> {
    vec![AnswerColumn {
        name: COLUMN.to_owned(),
        kind: CellKind::Text,
        noisy: false,
        chosen: false,
        no_interval: None,
    }]
}

/// A plan as the rows of an answer.
pub(crate) fn plan_answer(lines: Vec<String>) -> Answer {
    let cell = |line: String| Cell {
        value: line.into(),
        low: None,
        high: None,
    };
    Answer {
        columns: plan_columns(),
        rows: lines.into_iter().map(|line| vec![cell(line)]).collect(),
        confidence: CONFIDENCE,
        bounds: Vec::new(),
        cut: Vec::new(),
        notes: Vec::new(),
        cost: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explain_is_read_as_postgresql_reads_it() {
        for (sql, json, verbose) in [
            ("EXPLAIN SELECT 1", false, false),
            ("explain verbose SELECT 1", false, true),
            (
                "-- why?\nEXPLAIN /* (a /* b */) */ (FORMAT json) SELECT 1",
                true,
                false,
            ),
            ("EXPLAIN (VERBOSE, COSTS off, FORMAT TEXT) SELECT 1", false, true),
            ("EXPLAIN (ANALYZE false, VERBOSE 0) SELECT 1", false, false),
            ("EXPLAIN (SELECT 1)", false, false),
            ("EXPLAIN ((SELECT 1) UNION ALL (SELECT 2))", false, false),
            ("EXPLAIN(FORMAT JSON)SELECT 1", true, false),
        ] {
            let read = read(sql).unwrap().unwrap();
            assert_eq!((read.json, read.verbose), (json, verbose), "{sql}");
            let query = read.query.trim();
            assert!(sql.ends_with(query) && !is_explain(query), "{sql}: {query}");
            // A mistake keeps its place.
            assert_eq!(read.query.len(), sql.len(), "{sql}");
            assert_eq!(read.query.lines().count(), sql.lines().count(), "{sql}");
        }
        for sql in [
            "SELECT 1",
            "EXPLAINED",
            "",
            "-- EXPLAIN SELECT 1",
            "WITH explain AS (SELECT 1) SELECT 1",
        ] {
            assert_eq!(read(sql).unwrap(), None, "{sql}");
        }
    }

    #[test]
    fn what_would_run_the_query_is_refused_with_a_hint() {
        for sql in [
            "EXPLAIN ANALYZE SELECT 1",
            "explain analyse verbose SELECT 1",
            "EXPLAIN (ANALYZE) SELECT 1",
            "EXPLAIN (FORMAT JSON, ANALYZE true) SELECT 1",
            "EXPLAIN (FORMAT XML) SELECT 1",
            "EXPLAIN (SPEED) SELECT 1",
            "EXPLAIN (FORMAT JSON SELECT 1",
            "EXPLAIN",
            "EXPLAIN EXPLAIN SELECT 1",
        ] {
            let said = read(sql).unwrap_err().to_string();
            assert!(said.contains("hint: "), "{sql}: {said}");
        }
    }
}
