//! Writing found limits into a catalog's text, where everything else stays as it is, comments too.

use super::FoundLimits;
use crate::Error;
use crate::catalog::toml_text::key as key_text;
use crate::catalog::{Catalog, Limits};
use std::fmt::Write;
use std::path::Path;

/// What marks the lines that were written here.
const MARK: &str = "# Found by `deniable limits`";
/// What marks bounds of a column that were.
const BOUNDS_MARK: &str = "  # bounds found by `deniable limits`";

/// The catalog's text without the bounds of a table's columns that were found here: what was asked when they were found can be asked again, and is free.
pub fn without_found_bounds(text: &str, table: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    in_columns(&mut lines, table, remove_bounds);
    lines.join("\n") + "\n"
}

/// The catalog's text with these limits in it. `directory` is where the catalog is.
///
/// # Errors
/// When the text declares the table in a way in which a section of limits cannot be added: then the lines are reported, to be added by hand.
pub fn with_limits(text: &str, found: &FoundLimits, directory: &Path) -> Result<String, Error> {
    let section = section(found);
    let mut lines = without_limits(text, &found.table);
    for (column, range) in &found.bounds {
        let key = key_text(column);
        in_columns(&mut lines, &found.table, |line| {
            let rest = line.trim().strip_prefix(&key);
            if rest.is_some_and(|rest| rest.trim_start().starts_with('=')) {
                remove_bounds(line);
                add_bounds(line, range.low, range.high);
            }
        });
    }
    let mut edited = lines.join("\n").trim_end().to_owned();
    edited.push_str("\n\n");
    edited.push_str(&section);
    let declared = Catalog::parse(&edited, directory).ok();
    let table = declared.as_ref().and_then(|catalog| catalog.table(&found.table));
    let bounded = |(column, range): (&String, &crate::Range)| {
        table
            .and_then(|table| table.column(column))
            .and_then(|facts| facts.range)
            == Some(*range)
    };
    if table.is_some_and(|table| table.limits == found.limits) && found.bounds.iter().all(bounded) {
        return Ok(edited);
    }
    let mut by_hand = section;
    for (column, range) in &found.bounds {
        let _ = writeln!(
            by_hand,
            "# {}: bounds = [{}, {}]",
            column,
            number(range.low),
            number(range.high)
        );
    }
    Err(Error::catalog(
        "the limits were found, but this catalog is written in a way in which they cannot be added",
        format!("add these lines yourself, in place of the table's other limits:\n{by_hand}"),
    ))
}

fn section(found: &FoundLimits) -> String {
    let limits = &found.limits;
    let (paid, charge) = match &found.answer.cost {
        Some(cost) => (cost.guarantee.promise().to_string(), cost.charge),
        None => ("nothing".to_owned(), 0),
    };
    let mut section = format!(
        "{MARK}, for {paid} (charge {charge}); they err least in questions of ε = {}.\n[tables.{}.limits]\n",
        found.question_epsilon,
        key_text(&found.table)
    );
    for entry in entries(limits) {
        section.push_str(&entry);
        section.push('\n');
    }
    if !limits.by.is_empty() {
        for (column, by) in &limits.by {
            let _ = writeln!(
                section,
                "by.{} = {{ {} }}",
                key_text(column),
                entries(by).join(", ")
            );
        }
    }
    section
}

fn entries(limits: &Limits) -> Vec<String> {
    let counts = [
        ("rows", limits.rows),
        ("groups", limits.groups),
        ("rows_per_group", limits.rows_per_group),
    ];
    let mut entries: Vec<String> = counts
        .iter()
        .filter_map(|(name, count)| count.map(|count| format!("{name} = {count}")))
        .collect();
    for (column, range) in &limits.sums {
        entries.push(format!(
            "sums.{} = [{}, {}]",
            key_text(column),
            number(range.low),
            number(range.high)
        ));
    }
    entries
}

/// A number as TOML writes it.
fn number(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 {
        format!("{value:.0}")
    } else {
        format!("{value:?}")
    }
}

/// The lines without the table's limits.
fn without_limits(text: &str, table: &str) -> Vec<String> {
    let start = format!("[tables.{}.limits", key_text(table));
    let mut lines: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let trimmed = line.trim().to_lowercase();
        if trimmed.starts_with('[') {
            inside = trimmed.starts_with(&format!("{start}]")) || trimmed.starts_with(&format!("{start}."));
            if inside && lines.last().is_some_and(|line| line.starts_with(MARK)) {
                lines.pop();
            }
        }
        if !inside {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// Does something with each line of the table's columns.
fn in_columns(lines: &mut [String], table: &str, mut act: impl FnMut(&mut String)) {
    let header = format!("[tables.{}.columns]", key_text(table));
    let mut inside = false;
    for line in lines {
        let trimmed = line.trim();
        if trimmed.starts_with('[') {
            inside = trimmed.to_lowercase().starts_with(&header);
        } else if inside {
            act(line);
        }
    }
}

/// Adds bounds to a column's line.
fn add_bounds(line: &mut String, low: f64, high: f64) {
    if let Some(end) = line.find('}') {
        *line = format!(
            "{}, bounds = [{}, {}] }}{BOUNDS_MARK}{}",
            line[..end].trim_end(),
            number(low),
            number(high),
            &line[end + 1..]
        );
    }
}

/// Takes bounds that were added out of a column's line again.
fn remove_bounds(line: &mut String) {
    const START: &str = ", bounds = [";
    let Some(mark) = line.find(BOUNDS_MARK) else {
        return;
    };
    let bounds = line[..mark]
        .rfind(START)
        .and_then(|start| Some((start, start + line[start..mark].find(']')? + 1)));
    if let Some((start, end)) = bounds {
        *line = format!(
            "{}{}{}",
            &line[..start],
            &line[end..mark],
            &line[mark + BOUNDS_MARK.len()..]
        );
    }
}
