//! An answer as people read it: a line where there is an order, a table with bars and whiskers in it otherwise, and what the bounds cut.

use super::super::drawn;
use super::super::layout::{name, sentence};
use super::line;
use super::price::about;
use maud::{Markup, html};
use report::{grouped, significant};
use sql::{Answer, AnswerColumn, Cell, CellKind, CellValue};

/// More rows are in the files.
const MOST_ROWS: usize = 500;

/// The figures, the table and the notes.
pub(super) fn shown(answer: &Answer) -> Markup {
    let lines = line::of(answer);
    let drawn_as_line = |place: usize| {
        let mut figures = lines.iter().flat_map(|lines| &lines.figures);
        figures.any(|(column, _)| *column == place)
    };
    html! {
        @if let Some(lines) = &lines {
            @for (_, figure) in &lines.figures {
                figure class="line" { (drawn(figure.to_svg_without_style())) }
            }
            @for missing in &lines.missing { p class="quiet" { (sentence(missing)) } }
        }
        (table(answer, drawn_as_line))
        @if answer.rows.len() > MOST_ROWS {
            p class="quiet" { "The first " (MOST_ROWS) " of " (grouped(answer.rows.len() as u64)) " rows. The files have all of them." }
        }
        (notes(answer))
    }
}

/// A column that is drawn as a line has no bars.
fn table(answer: &Answer, drawn_as_line: impl Fn(usize) -> bool) -> Markup {
    let scales: Vec<Option<(f64, f64)>> = (0..answer.columns.len())
        .map(|place| scale(answer, place).filter(|_| !drawn_as_line(place)))
        .collect();
    let confidence = significant(100.0 * answer.confidence, 2);
    html! {
        div class="wide" {
            table class="answer" {
                thead { tr {
                    @for (column, scale) in answer.columns.iter().zip(&scales) {
                        th scope="col" class=[is_number(column.kind).then_some("number")] { (name(&column.name)) }
                        @if column.has_intervals() { th scope="col" class="number" { (confidence) " % interval" } }
                        @if scale.is_some() { th scope="col" class="drawing" { span class="unseen" { "as a bar" } } }
                    }
                } }
                tbody {
                    @for row in answer.rows.iter().take(MOST_ROWS) {
                        tr {
                            @for ((column, cell), scale) in answer.columns.iter().zip(row).zip(&scales) {
                                td class=[is_number(column.kind).then_some("number")] { (value(column, cell)) }
                                @if column.has_intervals() { td class="number interval" { (interval(column, cell)) } }
                                @if let Some(scale) = scale {
                                    td class="drawing" {
                                        @if let Some(value) = cell.value.as_f64() {
                                            (drawn(report::bar(value, ends(column, cell), *scale, 0)))
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        @if answer.rows.is_empty() { p class="quiet" { "No rows." } }
    }
}

pub(super) fn is_number(kind: CellKind) -> bool {
    matches!(kind, CellKind::Int | CellKind::Float)
}

/// What the bars of a column share; `None` where it is no measurement or no number.
fn scale(answer: &Answer, place: usize) -> Option<(f64, f64)> {
    let column = &answer.columns[place];
    if !is_number(column.kind) || column.is_label() {
        return None;
    }
    let cells = answer.rows.iter().take(MOST_ROWS).map(|row| &row[place]);
    let all = cells
        .flat_map(|cell| [cell.value.as_f64(), cell.low, cell.high])
        .flatten();
    let (low, high) = all.fold((0.0_f64, 0.0_f64), |(low, high), at| (low.min(at), high.max(at)));
    (high > low).then_some((low, high))
}

pub(super) fn ends(column: &AnswerColumn, cell: &Cell) -> Option<(f64, f64)> {
    let (low, high) = cell.interval(column.kind);
    low.zip(high)
}

/// Digits after the point that an interval leaves to be told: one more than it is wide.
fn decimals(column: &AnswerColumn, cell: &Cell) -> Option<usize> {
    let (low, high) = ends(column, cell)?;
    let half = (high - low) / 2.0;
    let readable = low.abs().max(high.abs()) < 1e9;
    (column.kind == CellKind::Float && half > 1e-6 && readable)
        .then(|| (1.0 - half.log10().floor()).clamp(0.0, 6.0) as usize)
}

fn interval(column: &AnswerColumn, cell: &Cell) -> String {
    let decimals = decimals(column, cell);
    let number = |value: f64, kind: CellKind| match decimals {
        Some(decimals) => rounded(value, decimals),
        None => number(value, kind),
    };
    match ends(column, cell) {
        Some((low, high)) => format!("{} to {}", number(low, column.kind), number(high, column.kind)),
        None => "unknown".to_owned(),
    }
}

fn number(value: f64, kind: CellKind) -> String {
    match kind {
        // Whole by now, and far below 2⁶³ where it is shown so.
        CellKind::Int if value.abs() < 1e15 => whole(value as i64),
        _ => significant(value, 6),
    }
}

/// With thousands apart, and a minus sign as wide as a digit.
fn rounded(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let sign = if value < 0.0 && text.contains(|digit: char| ('1'..='9').contains(&digit)) {
        "−"
    } else {
        ""
    };
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), grouped);
    format!("{sign}{whole}{rest}")
}

fn whole(value: i64) -> String {
    let sign = if value < 0 { "−" } else { "" };
    format!("{sign}{}", grouped(value.unsigned_abs()))
}

fn value(column: &AnswerColumn, cell: &Cell) -> Markup {
    html! {
        @match &cell.value {
            CellValue::Null => span class="quiet" { "NULL" },
            CellValue::Int(value) => (whole(*value)),
            CellValue::Float(value) => (decimals(column, cell).map_or_else(|| significant(*value, 6), |decimals| rounded(*value, decimals))),
            CellValue::Bool(value) => (value),
            CellValue::Text(text) => (name(text)),
        }
    }
}

/// What limits and bounds do to the answer, and what else there is to know.
fn notes(answer: &Answer) -> Markup {
    let measured = answer.columns.iter().filter(|column| !column.is_label());
    let without: Vec<(&str, &str)> = measured
        .filter_map(|column| Some((column.name.as_str(), column.no_interval.as_deref()?)))
        .collect();
    let chosen: Vec<&AnswerColumn> = answer.columns.iter().filter(|column| column.chosen).collect();
    let nothing = answer.bounds.is_empty() && answer.cut.is_empty() && answer.notes.is_empty();
    if nothing && without.is_empty() && chosen.is_empty() {
        return html! {};
    }
    html! {
        section class="notes" {
            h2 { "What counts" }
            ul {
                @for bound in &answer.bounds {
                    li { strong { (name(&bound.column)) } ": " (name(&bound.words)) "; " (about(bound.interval_of)) "." }
                }
                @for cut in &answer.cut { li { (sentence(&cut.words)) } }
                @for (column, why) in without { li { strong { (name(column)) } ": no interval, " (why) "." } }
                @for column in chosen { li { strong { (name(&column.name)) } ": noise decided which rows are here, and so which of its values." } }
                @for note in &answer.notes { li { (sentence(note)) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_their_interval_leaves() {
        let column = |kind| AnswerColumn {
            name: "x".to_owned(),
            kind,
            noisy: true,
            chosen: false,
            no_interval: None,
        };
        let cell = |value: f64, low: f64, high: f64| Cell {
            value: value.into(),
            low: Some(low),
            high: Some(high),
        };
        let shown = |value, low, high| {
            let cell = cell(value, low, high);
            let column = column(CellKind::Float);
            (
                super::value(&column, &cell).into_string(),
                interval(&column, &cell),
            )
        };
        assert_eq!(
            shown(49.6163, 48.3489, 50.8686),
            ("49.6".to_owned(), "48.3 to 50.9".to_owned())
        );
        assert_eq!(shown(0.012_345, 0.0121, 0.0125).0, "0.01235");
        assert_eq!(shown(-12_345.6, -13_000.0, -12_000.0).1, "−13,000 to −12,000");
        assert_eq!(shown(1.0, 1.0, 1.0).0, "1.00000");
        assert_eq!(
            interval(&column(CellKind::Int), &cell(5.0, -1234.0, 8.0)),
            "−1,234 to 8"
        );
    }
}
